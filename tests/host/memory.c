/* Memory that runs out inside a call: every STRIDE-th allocation of a whole run (reading and
 * searching) fails in turn, and so do all after it, or it alone. Each run ends with SW_ERROR_MEMORY
 * or with the answer of a run in which nothing failed, and leaves as many blocks as it found. So do
 * compressed files, every allocation of reading them, which leave no descriptor either.
 *
 * malloc is this program's, for the libraries below, too. STRIDE=1 takes every allocation; the
 * default a few seconds. */
#define _POSIX_C_SOURCE 200809L
#include "shardwright.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#if defined(__SANITIZE_ADDRESS__) || \
	defined(__SANITIZE_THREAD__) /* have a malloc of their own: what the library itself calls is \
                                    wrapped when this is linked */
#define OURS(name) __wrap_##name
#define THEIRS(name) __real_##name
void *OURS(malloc)(size_t), *OURS(calloc)(size_t, size_t), *OURS(realloc)(void *, size_t),
	OURS(free)(void *);
#else /* glibc's has these names besides */
#define OURS(name) name
#define THEIRS(name) __libc_##name
#endif
void *THEIRS(malloc)(size_t), *THEIRS(calloc)(size_t, size_t), *THEIRS(realloc)(void *, size_t),
	THEIRS(free)(void *);
static atomic_long allocations, live, fails_at, fails_until;

static int fails(void)
{
	long n = atomic_fetch_add(&allocations, 1) + 1;
	return n >= atomic_load(&fails_at) && n < atomic_load(&fails_until);
}

static void *counted(void *p)
{
	if (p)
		atomic_fetch_add(&live, 1);
	return p;
}

void *OURS(malloc)(size_t n) { return fails() ? NULL : counted(THEIRS(malloc)(n)); }
void *OURS(calloc)(size_t n, size_t size)
{
	return fails() ? NULL : counted(THEIRS(calloc)(n, size));
}
void *OURS(realloc)(void *p, size_t n)
{
	if (fails())
		return NULL;
	return p ? THEIRS(realloc)(p, n) : counted(THEIRS(malloc)(n));
}
void OURS(free)(void *p)
{
	if (p)
		atomic_fetch_sub(&live, 1);
	THEIRS(free)(p);
}

static void fail(long from, long until)
{
	atomic_store(&allocations, 0);
	atomic_store(&fails_at, from);
	atomic_store(&fails_until, until);
}
static void fail_no_more(void) { fail(0, 0); }

static const char text[] =
	"module @jit_f {\n"
	"  func.func public @main(%arg0: tensor<512x1024xf32> loc(\"params['w1']\"), %arg1: "
	"tensor<1024x512xf32> loc(\"params['w2']\"), "
	"%arg2: tensor<256x512xf32> loc(\"batch['x']\")) -> tensor<256x512xf32> {\n"
	"    %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0] : "
	"(tensor<256x512xf32>, tensor<512x1024xf32>) -> tensor<256x1024xf32>\n"
	"    %1 = stablehlo.tanh %0 : tensor<256x1024xf32>\n"
	"    %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0] : "
	"(tensor<256x1024xf32>, tensor<1024x512xf32>) -> tensor<256x512xf32>\n"
	"    return %2 : tensor<256x512xf32>\n"
	"  }\n"
	"}\n";

typedef struct outcome {
	int code; /* 0: an answer */
	int64_t runtime_ns, peak_bytes;
	int64_t again; /* of the next search of a module that a search failed on; 0: none */
	char message[512];
} outcome;

static outcome failed(const sw_error *err)
{
	outcome o = {.code = err->code ? err->code : -1};
	snprintf(o.message, sizeof o.message, "%s", err->message);
	return o;
}

static outcome search(sw_module *m, unsigned threads)
{
	static const sw_pin pin = {"params['w1']", "[[],[\"model\"]]"};
	sw_error err = {0};
	sw_options o = sw_default_options();
	o.mesh = "data=2,model=2";
	o.evaluations = 60;
	o.threads = threads;
	o.pins = &pin;
	o.n_pins = 1;
	o.schedule_json = "{\"tactics\":[{\"auto\":{}}]}";
	sw_plan *p = sw_search(m, &o, &err);
	if (!p)
		return failed(&err);
	outcome out = {.runtime_ns = sw_plan_runtime_ns(p), .peak_bytes = sw_plan_peak_bytes(p)};
	if (sw_plan_json(p)[0] != '{' || !strstr(sw_plan_mlir(p), "sdy.mesh"))
		out.code = -1;
	sw_plan_free(p);
	return out;
}

static outcome read_and_search(unsigned threads)
{
	sw_error err = {0};
	sw_module *m = sw_module_parse(text, strlen(text), "memory.mlir", &err);
	if (!m)
		return failed(&err);
	outcome o = search(m, threads);
	if (o.code == SW_ERROR_MEMORY) { /* the module is what it was */
		fail_no_more();
		o.again = search(m, threads).runtime_ns;
	}
	sw_module_free(m);
	return o;
}

static int wrong(const char *how, long at, const outcome *o, const outcome *want, long left)
{
	int ok = o->code ? o->code == SW_ERROR_MEMORY && !strcmp(o->message, "out of memory")
					 : o->runtime_ns == want->runtime_ns && o->peak_bytes == want->peak_bytes;
	ok = ok && (!o->again || o->again == want->runtime_ns);
	if (ok && left == 0)
		return 0;
	fprintf(stderr,
		"memory: %s at allocation %ld: code %d (%s), %lld ns, then %lld ns, %ld blocks left\n", how,
		at, o->code, o->message, (long long)o->runtime_ns, (long long)o->again, left);
	return 1;
}

/* The descriptor that the next file would get. */
static int next_descriptor(void)
{
	int fd = dup(1);
	close(fd);
	return fd;
}

static outcome read_file(const char *path)
{
	sw_error err = {0};
	sw_module *m = sw_module_read(path, &err);
	sw_module_free(m);
	return m ? (outcome){0} : failed(&err);
}

/* How many runs were wrong. */
static long check_file(const char *path)
{
	long bad = 0;
	read_file(path); /* what libraries allocate once */
	fail_no_more();
	outcome want = read_file(path);
	long n = atomic_load(&allocations);
	if (want.code)
		return wrong(path, 0, &(outcome){.code = -1}, &want, 0);
	for (long at = 1; at <= n; at++)
		for (int alone = 0; alone < 2; alone++) {
			long before = atomic_load(&live);
			int descriptor = next_descriptor();
			fail(at, alone ? at + 1 : INT32_MAX);
			outcome o = read_file(path);
			fail_no_more();
			bad += wrong(
				path, at, &o, &want, atomic_load(&live) - before + next_descriptor() - descriptor);
		}
	printf("memory: %s, %ld allocations.\n", path, n);
	return bad;
}

static long check_files(void)
{
	char path[] = "/tmp/shardwright-memory-XXXXXX";
	int fd = mkstemp(path);
	gzFile gz = fd >= 0 ? gzdopen(fd, "wb") : NULL;
	if (!gz || gzputs(gz, text) <= 0 || gzclose(gz) != Z_OK) {
		perror(path);
		return 1;
	}
	long bad = check_file(path) + check_file("tests/corpus/mlp_tiny.mlir.zst");
	unlink(path);
	return bad;
}

int main(void)
{
	const char *given = getenv("STRIDE");
	long stride = given ? atol(given) : 97, bad = 0, runs = 0, errors = 0;
	if (stride < 1) {
		fprintf(stderr, "memory: STRIDE=%s: expected a number from 1 on\n", given);
		return 64;
	}
	for (unsigned threads = 1; threads <= 2; threads++) {
		fail_no_more();
		read_and_search(threads); /* what libraries allocate once */
		fail_no_more();
		outcome want = read_and_search(threads);
		long n = atomic_load(&allocations);
		if (want.code) {
			fprintf(stderr, "memory: no answer even with memory: %s\n", want.message);
			return 1;
		}
		for (long at = 1; at <= n; at += stride)
			for (int alone = 0; alone < 2; alone++) {
				long before = atomic_load(&live);
				fail(at, alone ? at + 1 : INT32_MAX);
				outcome o = read_and_search(threads);
				fail_no_more();
				bad += wrong(alone ? "one failure" : "failures from on", at, &o, &want,
					atomic_load(&live) - before);
				errors += o.code == SW_ERROR_MEMORY;
				runs++;
			}
		printf("memory: %u thread%s, %ld allocations, every %ld.\n", threads,
			threads > 1 ? "s" : "", n, stride);
	}
	if (!errors) {
		fprintf(stderr, "memory: no run was out of memory: the test looks at the wrong place\n");
		bad++;
	}
	long files = check_files();
	if (files)
		fprintf(stderr, "memory: %ld readings of compressed files failed\n", files);
	printf("memory: %ld passed, %ld failed, %ld of them out of memory\n", runs - bad, bad, errors);
	return bad || files;
}
