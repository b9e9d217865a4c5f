/* What bodies and answers take together. Whoever is about to hold bytes of a client's choosing
 * takes them from the budget first and is refused, with 503 and Retry-After, when it is spent: many
 * clients at once must not add up to the end of the daemon. Behind the budget lies a reserve for
 * what nobody counts; it is given up when an allocation fails, and while it is gone nothing more is
 * taken in. */
#include "server/server.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* A worker's tables may take 1 GiB (search --cache-memory); a thread reserves a stack and a heap.
 */
#define WORKER_BYTES (2ll << 30)
#define THREAD_BYTES (144ll << 20)

enum {
	RESERVE_BYTES = 16 << 20,
	PAUSE_US = 20000,
	MOST_PAUSES = 500,
	STACK_BYTES = 2 << 20,
	ARENAS = 2
};
#define LEAST_BUDGET (16ll << 20)
#define MOST_BUDGET (2ll << 30)

static _Atomic(void *) reserve;

/* For base's allocators: the first call frees the reserve, later ones wait for others to end what
 * they hold. */
static bool free_reserve(void)
{
	static _Atomic int pauses;
	void *mine = atomic_exchange(&reserve, NULL);
	if (mine) {
		atomic_store(&pauses, 0);
		munmap(mine, RESERVE_BYTES);
		log_warn("event=memory_reserve_used");
		return true;
	}
	usleep(PAUSE_US);
	return atomic_fetch_add(&pauses, 1) < MOST_PAUSES;
}

/* SQLite's and OpenSSL's allocations wait as base's do, but may fail in the end; GMP's may not. */
#define PATIENTLY(call) \
	void *got; \
	while (!(got = (call)) && free_reserve()) \
		; \
	return got

static sqlite3_mem_methods plain;
static void *sqlite_malloc(int n) { PATIENTLY(plain.xMalloc(n)); }
static void *sqlite_realloc(void *p, int n) { PATIENTLY(plain.xRealloc(p, n)); }

static void *openssl_malloc(size_t n, const char *file, int line)
{
	(void)file, (void)line;
	if (!n)
		return NULL;
	PATIENTLY(malloc(n));
}

static void *openssl_realloc(void *p, size_t n, const char *file, int line)
{
	(void)file, (void)line;
	if (!n) {
		free(p);
		return NULL;
	}
	PATIENTLY(realloc(p, n));
}

static void openssl_free(void *p, const char *file, int line)
{
	(void)file, (void)line;
	free(p);
}

/* GMP does the arithmetic of handshakes for GnuTLS, and aborts the process when it gets nothing. */
static void *gmp_realloc(void *p, size_t before, size_t n)
{
	(void)before;
	return xrealloc(p, n);
}

static void gmp_free(void *p, size_t n)
{
	(void)n;
	free(p);
}

static void make_gmp_patient(void)
{
	typedef void setter(
		void *(*)(size_t), void *(*)(void *, size_t, size_t), void (*)(void *, size_t));
	union {
		void *symbol;
		setter *set;
	} gmp = {.symbol = dlsym(RTLD_DEFAULT, "__gmp_set_memory_functions")};
	if (gmp.symbol)
		gmp.set(xmalloc, gmp_realloc, gmp_free);
}

static void make_libraries_patient(void)
{
	make_gmp_patient();
	CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc, openssl_free);
	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain) != SQLITE_OK)
		return;
	sqlite3_mem_methods patient = plain;
	patient.xMalloc = sqlite_malloc;
	patient.xRealloc = sqlite_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &patient);
}

static int64_t read_number(const char *path)
{
	char text[64] = "";
	int64_t v = INT64_MAX;
	FILE *f = fopen(path, "re");
	if (f && fgets(text, sizeof text, f)) {
		text[strcspn(text, "\n")] = 0;
		if (!str_to_i64(str_of(text), &v))
			v = INT64_MAX; /* "max" */
	}
	if (f)
		fclose(f);
	return v;
}

int64_t memory_of_machine(void)
{
	int64_t most = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	int64_t group = MIN(read_number("/sys/fs/cgroup/memory.max"),
		read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
	return MIN(most, group);
}

int64_t memory_of_process(void)
{
	struct rlimit space;
	int64_t most = memory_of_machine();
	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY &&
		(int64_t)space.rlim_cur < most)
		most = (int64_t)space.rlim_cur;
	return most;
}

void memory_init(memory *m, int64_t limit)
{
	int64_t whole = memory_of_process();
	make_libraries_patient();
	cJSON_InitHooks(&(cJSON_Hooks){xmalloc, free});
	mallopt(M_ARENA_MAX, ARENAS); /* each reserves 64 MiB of address space */
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
	m->limit = limit ? limit : MIN(MAX(whole / 4, LEAST_BUDGET), MOST_BUDGET);
	sqlite3_soft_heap_limit64(MAX(m->limit / 8, 8 << 20));
	memory_hook = free_reserve;
	memory_recover();
}

void memory_recover(void)
{
	if (atomic_load(&reserve))
		return;
	/* Address space is what runs out under a limit: the pages are never touched. */
	void *fresh = mmap(NULL, RESERVE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		 *none = NULL;
	if (fresh != MAP_FAILED && !atomic_compare_exchange_strong(&reserve, &none, fresh))
		munmap(fresh, RESERVE_BYTES);
}

bool memory_take(memory *m, int64_t bytes)
{
	/* Small ones may use the last quarter: a few large bodies do not shut everybody out. */
	int64_t limit = bytes <= MEMORY_SMALL ? m->limit : m->limit - m->limit / 4;
	int64_t before = atomic_fetch_add_explicit(&m->used, bytes, memory_order_relaxed);
	if (before + bytes <= limit && atomic_load_explicit(&reserve, memory_order_relaxed))
		return true;
	memory_give(m, bytes);
	atomic_fetch_add_explicit(&m->refused, 1, memory_order_relaxed);
	return false;
}

void memory_take_anyway(memory *m, int64_t bytes)
{
	atomic_fetch_add_explicit(&m->used, bytes, memory_order_relaxed);
}
void memory_give(memory *m, int64_t bytes)
{
	atomic_fetch_sub_explicit(&m->used, bytes, memory_order_relaxed);
}

bool memory_refused(problem *why)
{
	problem_set(why, PROBLEM_UNAVAILABLE,
		"the memory for bodies and answers is in use (--memory): try again");
	why->retry_after = 5;
	return false;
}

int64_t answer_limit(const server *srv)
{
	/* Twice for each that may be under way, since a buffer doubles; the rest of the budget is for
	 * clients. */
	return MIN((int64_t)MAX_DOCUMENT_BYTES,
		srv->memory.limit / (4 + 2 * (srv->opt.workers + srv->opt.tool_threads)));
}

int64_t worker_memory_share(const server *srv)
{
	int64_t threads = srv->opt.worker_threads ? srv->opt.worker_threads : parallel_cores();
	int64_t each = memory_of_process() / 4 * 3 / srv->opt.workers;
	return MAX(each, WORKER_BYTES + threads * THREAD_BYTES);
}
