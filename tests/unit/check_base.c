#include "base/base.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

START_TEST(diagnostics)
{
	diag d = {0};
	const char *text = "one\ntwo three\nfour";
	ck_assert_int_eq(diag_at(&d, text, strlen(text), 8, ST_ERR_PARSE, "bad %d", 7), ST_ERR_PARSE);
	ck_assert_uint_eq(d.line, 2);
	ck_assert_uint_eq(d.col, 5);
	ck_assert_str_eq(d.msg, "bad 7");
	ck_assert_str_eq(d.excerpt, "two three");
	ck_assert_uint_eq(d.caret, 5);
	diag_set(&d, ST_ERR_IO, "later");
	ck_assert_str_eq(d.msg, "bad 7"); /* the first error wins */
	ck_assert_int_eq(status_exit_code(ST_ERR_PARSE), 1);
	ck_assert_int_eq(status_exit_code(ST_ERR_INTERRUPTED), 130);
	/* far out in a very long line the column stays in view */
	char *line = xmalloc(100001);
	memset(line, 'x', 100000);
	line[100000] = 0;
	line[70000] = '!';
	diag_clear(&d);
	diag_at(&d, line, 100000, 70000, ST_ERR_PARSE, "here");
	ck_assert_uint_eq(d.col, 70001);
	ck_assert_int_eq(d.excerpt[d.caret - 1], '!');
	diag_clear(&d);
	diag_at(&d, text, strlen(text), 1000, ST_ERR_PARSE, "past the end");
	ck_assert_uint_eq(d.line, 3);
	free(line);
}
END_TEST

START_TEST(arenas)
{
	arena a;
	arena_init(&a);
	char *p = arena_alloc(&a, 10);
	memcpy(p, "123456789", 10);
	arena_mark mark = arena_save(&a);
	size_t used = a.used_bytes;
	for (size_t i = 1; i < 2000; i++) {
		char *q = arena_zalloc(&a, i);
		ck_assert_uint_eq((uintptr_t)q % 16, 0);
		ck_assert_int_eq(q[i - 1], 0);
		memset(q, 255, i);
	}
	arena_rewind(&a, mark);
	ck_assert_uint_eq(a.used_bytes, used);
	ck_assert_str_eq(p, "123456789");
	ck_assert_ptr_nonnull(arena_alloc(&a, 50u << 20));
	arena_release(&a);
	ck_assert_uint_eq(a.used_bytes, 0);
}
END_TEST

START_TEST(globs_and_sizes)
{
	static const struct {
		const char *pattern, *text;
		bool match;
	} globs[] = {
		{"params*", "params['w1']", true},
		{"*", "", true},
		{"?", "", false},
		{"a?c", "abc", true},
		{"a*c", "abcbc", true},
		{"a*c", "abcb", false},
		{"*['w1']", "params['w1']", true},
		{"[ab]", "a", false},
		{"**x**", "zzxzz", true},
		{"", "a", false},
		{"batch*y*", "batch['x']", false},
	};
	for (size_t i = 0; i < COUNT_OF(globs); i++)
		ck_assert_msg(glob_match(globs[i].pattern, str_of(globs[i].text)) == globs[i].match,
			"%s on %s", globs[i].pattern, globs[i].text);
	static const struct {
		const char *text;
		int64_t bytes; /* -1: refused */
	} sizes[] = {{"16GiB", 16ll << 30}, {"300GB", 300000000000}, {"1.5KiB", 1536}, {"7", 7},
		{"0B", 0}, {"", -1}, {"GiB", -1}, {"16 GiB", 16ll << 30}, {"16  GiB", -1}, {"16 ", -1},
		{" 16", -1}, {"-1", -1}, {"1e9", -1}, {"99999999999TiB", -1}, {"16gib", -1},
		{"1.5.5GB", -1}};
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		int64_t out;
		bool ok = size_parse(str_of(sizes[i].text), &out);
		ck_assert_msg(
			ok == (sizes[i].bytes >= 0) && (!ok || out == sizes[i].bytes), "%s", sizes[i].text);
	}
	int64_t n;
	ck_assert(str_to_i64(STR("9223372036854775807"), &n) && n == INT64_MAX);
	ck_assert(!str_to_i64(STR("9223372036854775808"), &n));
}
END_TEST

START_TEST(builders)
{
	strbuf b;
	strbuf_init(&b);
	strbuf_i64(&b, INT64_MIN);
	ck_assert_str_eq(b.p, "-9223372036854775808");
	strbuf_clear(&b);
	strbuf_printf(&b, "%s-%d", "x", 5);
	strbuf_bytes(&b, 3ll << 29);
	ck_assert_str_eq(b.p, "x-51.50 GiB");
	strbuf_clear(&b);
	strbuf_duration(&b, 1234567);
	ck_assert_str_eq(b.p, "1.23 ms");
	strbuf_release(&b);
}
END_TEST

START_TEST(tables)
{
	strtab t;
	strtab_init(&t);
	char name[16];
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < 5000; i++) {
			snprintf(name, sizeof name, "v%u", i);
			ck_assert_uint_eq(strtab_add(&t, str_of(name)), i + 1);
		}
	ck_assert_uint_eq(strtab_find(&t, STR("nope")), UINT32_MAX);
	ck_assert_uint_eq(strtab_add(&t, STR("")), 0);
	strtab_release(&t);
	/* equal hashes are told apart by the owner: all of them come back, each once */
	index_map ix;
	index_init(&ix);
	for (uint32_t i = 0; i < 100; i++)
		index_add(&ix, 42, i);
	uint32_t it = index_first(&ix, 42), id, n = 0;
	bool seen[100] = {false};
	for (; index_next(&ix, 42, &it, &id); n++) {
		ck_assert(id < 100 && !seen[id]);
		seen[id] = true;
	}
	ck_assert_uint_eq(n, 100);
	it = index_first(&ix, 43);
	ck_assert(!index_next(&ix, 43, &it, &id));
	index_release(&ix);
}
END_TEST

START_TEST(random_numbers)
{
	rng a, b, c;
	rng_seed(&a, 1, 0);
	rng_seed(&b, 1, 0);
	rng_seed(&c, 1, 1);
	uint32_t counts[7] = {0}, differ = 0;
	for (int i = 0; i < 70000; i++) {
		uint32_t x = rng_below(&a, 7);
		ck_assert_uint_eq(x, rng_below(&b, 7));
		differ += x != rng_below(&c, 7);
		counts[x]++;
	}
	ck_assert_uint_gt(differ, 50000);
	for (int i = 0; i < 7; i++)
		ck_assert(counts[i] > 9000 && counts[i] < 11000);
}
END_TEST

START_TEST(files)
{
	char path[] = "check_base_XXXXXX", gz[64], zst[64];
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	diag d = {0};
	strbuf out;
	strbuf_init(&out);
	strbuf text;
	strbuf_init(&text);
	for (int i = 0; i < 20000; i++)
		strbuf_printf(&text, "line %d\n", i);
	ck_assert_int_eq(file_write(path, text.p, text.n, &d), ST_OK);
	ck_assert_int_eq(file_read(path, 1 << 30, &out, &d), ST_OK);
	ck_assert(out.n == text.n && !memcmp(out.p, text.p, text.n));
	ck_assert_int_eq(file_read(path, 100, &out, &d), ST_ERR_LIMIT);
	/* compressed ones are decoded, bounded and checked for truncation */
	snprintf(gz, sizeof gz, "%s.gz", path);
	gzFile g = gzopen(gz, "wb");
	gzwrite(g, text.p, (unsigned)text.n);
	gzclose(g);
	diag_clear(&d);
	ck_assert_int_eq(file_read(gz, 1 << 30, &out, &d), ST_OK);
	ck_assert(out.n == text.n && !memcmp(out.p, text.p, text.n));
	ck_assert_int_eq(file_read(gz, 1000, &out, &d), ST_ERR_LIMIT);
	size_t cap = ZSTD_compressBound(text.n);
	char *packed = xmalloc(cap);
	size_t n = ZSTD_compress(packed, cap, text.p, text.n, 3);
	snprintf(zst, sizeof zst, "%s.zst", path);
	ck_assert_int_eq(file_write(zst, packed, n, &d), ST_OK);
	diag_clear(&d);
	ck_assert_int_eq(file_read(zst, 1 << 30, &out, &d), ST_OK);
	ck_assert(out.n == text.n && !memcmp(out.p, text.p, text.n));
	ck_assert_int_eq(bytes_decode(packed, n / 2, 1 << 30, &out, &d), ST_ERR_PARSE);
	diag_clear(&d);
	ck_assert_int_eq(file_read("no/such/file", 100, &out, &d), ST_ERR_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(d.msg, "no/such/file"));
	diag_clear(&d);
	ck_assert_int_eq(file_read(".", 100, &out, &d), ST_ERR_NOT_FOUND);
	ck_assert_int_eq(file_write("no/such/folder/x", "a", 1, &d), ST_ERR_IO);
	/* a shortage of descriptors says nothing about the file */
	struct rlimit was, none = {0};
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
	none.rlim_max = was.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	diag_clear(&d);
	ck_assert_int_eq(file_read(path, 1 << 30, &out, &d), ST_ERR_IO);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
	free(packed);
	unlink(path);
	unlink(gz);
	unlink(zst);
	strbuf_release(&out);
	strbuf_release(&text);
	char name[72];
	sha256_name("abc", 3, name);
	ck_assert_str_eq(
		name, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
END_TEST

static char undone[8];
static void undo(void *letter) { strncat(undone, letter, 1); }

static void run_out(void *how)
{
	unwind a, b, c;
	unwind_push(&a, undo, "a");
	unwind_push(&b, undo, "b");
	unwind_push(&c, undo, "c");
	unwind_pop(&c);
	if (how)
		memory_out();
	unwind_pop(&b);
	unwind_pop(&a);
}

static void run_out_inside(void *whole)
{
	unwind d;
	unwind_push(&d, undo, "d");
	ck_assert(!memory_guard(NULL, run_out, "inside"));
	ck_assert_str_eq(undone, "ba");
	*(bool *)whole = true;
	memory_out();
}

/* What is pushed is undone, last first, and what was popped is not; an inner guard does not end an
 * outer one. */
START_TEST(memory_that_runs_out)
{
	bool went_on = false;
	ck_assert(memory_guard(NULL, run_out, NULL));
	ck_assert_str_eq(undone, "");
	ck_assert(!memory_guard(NULL, run_out_inside, &went_on));
	ck_assert(went_on);
	ck_assert_str_eq(undone, "bad");
	ck_assert_ptr_null(memory_heap());
}
END_TEST

/* Without a guard the program ends. */
START_TEST(memory_out_is_the_end) { memory_out(); }
END_TEST

int main(void)
{
	TCase *t = tcase_create("base");
	tcase_add_test(t, diagnostics);
	tcase_add_test(t, arenas);
	tcase_add_test(t, globs_and_sizes);
	tcase_add_test(t, builders);
	tcase_add_test(t, tables);
	tcase_add_test(t, random_numbers);
	tcase_add_test(t, files);
	tcase_add_test(t, memory_that_runs_out);
	tcase_add_test_raise_signal(t, memory_out_is_the_end, SIGABRT);
	return run_suite(t, "base");
}
