/* What the JSON gate lets in and what it refuses, with positions. */
#include "server/server.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

static bool passes(const char *text)
{
	return json_gate(text, strlen(text), 1 << 20, NULL) == ST_OK;
}

START_TEST(test_accepts)
{
	static const char *const good[] = {"0", "-0", "-1.5e-3", "1E+2", "\"\"",
		"\"\\u00e9\\ud83d\\ude00\\n\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"", "true", "null", "[]", "{}",
		" [ 1 , { \"a\" : [ ] } ] \r\n", "{\"a\":1,\"A\":2}", "{\"a\":{\"a\":1},\"b\":{\"a\":1}}"};
	for (size_t i = 0; i < COUNT_OF(good); i++)
		ck_assert_msg(passes(good[i]), "%s", good[i]);
}
END_TEST

START_TEST(test_refuses)
{
	static const char *const bad[] = {"", " ", "01", "1.", ".5", "+1", "-", "1e", "1e400", "NaN",
		"Infinity", "nul", "'a'", "\"", "\"\\", "\"\\u12\"", "\"\\u0000\"", "\"\\ud800\"",
		"\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\t\"", "\"\xff\"", "\"\xc0\x80\"",
		"\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "[1,]", "[,1]", "[1 2]", "[1",
		"{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{\"a\":1 \"b\":2}", "{\"a\":1,\"a\":2}",
		"{\"a\":1,\"\\u0061\":2}", "1 2", "{} x", "\xef\xbb\xbf{}"};
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		ck_assert_msg(!passes(bad[i]), "%s", bad[i]);
}
END_TEST

static char *repeat(const char *a, const char *middle, const char *b, int n)
{
	strbuf t;
	strbuf_init(&t);
	for (int i = 0; i < n; i++)
		strbuf_puts(&t, a);
	strbuf_puts(&t, middle);
	for (int i = 0; i < n; i++)
		strbuf_puts(&t, b);
	return t.p;
}

START_TEST(test_limits)
{
	static const struct {
		const char *a, *middle, *b;
		int n;
		bool good;
	} rows[] = {
		{"[", "", "]", 64, true},
		{"[", "", "]", 65, false},
		{"{\"a\":", "1", "}", 63, true},
		{"{\"a\":", "1", "}", 64, false},
		{"[", "", "", 200000, false},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char *text = repeat(rows[i].a, rows[i].middle, rows[i].b, rows[i].n);
		ck_assert_msg(passes(text) == rows[i].good, "row %zu", i);
		free(text);
	}
	strbuf t;
	strbuf_init(&t);
	for (int i = 0; i < 256; i++)
		strbuf_printf(&t, "%c\"%d\":1", i ? ',' : '{', i);
	strbuf_putc(&t, '}');
	ck_assert(passes(t.p));
	t.p[t.n - 1] = ',';
	strbuf_puts(&t, "\"x\":1}");
	ck_assert(!passes(t.p));
	strbuf_release(&t);
	ck_assert_int_eq(json_gate("[1234]", 6, 5, NULL), ST_ERR_LIMIT);
}
END_TEST

START_TEST(test_positions)
{
	diag d = {0};
	const char text[] = "{\n  \"a\": 1,\n  \"b\": 02\n}";
	ck_assert_int_eq(json_gate(text, strlen(text), 1 << 20, &d), ST_ERR_PARSE);
	ck_assert_int_eq(d.line, 3);
	ck_assert_int_eq(d.col, 8);
}
END_TEST

/* Every damaged text is either refused, or cJSON reads it too. */
START_TEST(test_agrees_with_the_parser)
{
	const char base[] =
		"{\"a\":[1,2.5e3,\"x\\u00e9\\n\"],\"b\":{\"c\":true,\"d\":null},\"e\":\"\xc3\xa9\"}";
	rng r;
	rng_seed(&r, 1, 2);
	int accepted = 0;
	for (int i = 0; i < 20000; i++) {
		char text[sizeof base];
		memcpy(text, base, sizeof base);
		for (uint32_t k = rng_below(&r, 3) + 1; k; k--)
			text[rng_below(&r, sizeof base - 1)] = (char)rng_next(&r);
		diag d = {0};
		cJSON *o = json_parse(text, sizeof base - 1, 1 << 20, &d);
		ck_assert(o || d.code == ST_ERR_PARSE);
		accepted += o != NULL;
		cJSON_Delete(o);
	}
	ck_assert_int_gt(accepted, 100);
}
END_TEST

START_TEST(test_written_strings_are_read_back)
{
	strbuf b;
	strbuf_init(&b);
	json_string(&b, "a\"\\\n\x01<\xc3\xa9\xff>");
	ck_assert_str_eq(b.p, "\"a\\\"\\\\\\n\\u0001<\xc3\xa9?>\"");
	ck_assert(passes(b.p));
	strbuf_release(&b);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("gate");
	tcase_add_test(tc, test_accepts);
	tcase_add_test(tc, test_refuses);
	tcase_add_test(tc, test_limits);
	tcase_add_test(tc, test_positions);
	tcase_add_test(tc, test_agrees_with_the_parser);
	tcase_add_test(tc, test_written_strings_are_read_back);
	return run_suite(tc, "json gate");
}
