/* What a worker says of its tree is kept field by field, and not at all where it is no tree. */
#include "server/server.h"
#include "tests/unit/run_suite.h"

#include <stdlib.h>

static char *detail_of(const char *text)
{
	cJSON *o = cJSON_Parse(text);
	ck_assert_ptr_nonnull(o);
	char *out = search_detail(o);
	cJSON_Delete(o);
	return out;
}

START_TEST(known_fields_are_kept)
{
	char *d = detail_of(
		"{\"baselines\":[{\"name\":\"zero2\",\"runtime_ns\":5,\"peak_bytes\":6,\"fits\":true,"
		"\"other\":1}],"
		"\"tree\":[{\"what\":\"all plans\",\"evaluations\":9,\"done\":false},"
		"{\"what\":\"data: "
		"\\\"x\\\"\",\"parent\":0,\"evaluations\":-4,\"runtime_ns\":1e300,\"fits\":\"yes\"},7]}");
	ck_assert_ptr_null(d); /* 7 has no parent, so it is a second root */
	d = detail_of(
		"{\"baselines\":[{\"name\":\"zero2\",\"runtime_ns\":5,\"peak_bytes\":6,\"fits\":true,"
		"\"other\":1}],"
		"\"tree\":[{\"what\":\"all plans\",\"evaluations\":9,\"done\":false},"
		"{\"what\":\"data: "
		"\\\"x\\\"\",\"parent\":0,\"evaluations\":-4,\"runtime_ns\":1e300,\"fits\":\"yes\"}]}");
	ck_assert_str_eq(d,
		"\"baselines\":[{\"name\":\"zero2\",\"runtime_ns\":5,\"peak_bytes\":6,\"fits\":true}],"
		"\"tree\":[{\"what\":\"all plans\",\"evaluations\":9,\"done\":false},"
		"{\"what\":\"data: "
		"\\\"x\\\"\",\"parent\":0,\"evaluations\":0,\"runtime_ns\":0,\"fits\":false}]");
	free(d);
}
END_TEST

START_TEST(what_is_no_tree_is_dropped)
{
	ck_assert_ptr_null(detail_of("{}"));
	ck_assert_ptr_null(detail_of("{\"tree\":[]}"));
	ck_assert_ptr_null(detail_of("{\"baselines\":[],\"tree\":{}}"));
	ck_assert_ptr_null(detail_of("{\"baselines\":[],\"tree\":[{\"parent\":0}]}"));
	ck_assert_ptr_null(detail_of("{\"baselines\":[],\"tree\":[{},{\"parent\":2},{\"parent\":1}]}"));
	ck_assert_ptr_null(detail_of("{\"baselines\":[],\"tree\":[{},{}]}"));
	char *d = detail_of("{\"baselines\":[],\"tree\":[]}");
	ck_assert_str_eq(d, "\"baselines\":[],\"tree\":[]");
	free(d);
}
END_TEST

/* However much a worker says, a row of the store stays small. */
START_TEST(lists_and_texts_have_limits)
{
	strbuf b = {0};
	strbuf_puts(&b, "{\"baselines\":[],\"tree\":[{\"what\":\"");
	for (int i = 0; i < 500; i++)
		strbuf_putc(&b, 'w');
	strbuf_puts(&b, "\"}");
	for (int i = 0; i < 2000; i++)
		strbuf_puts(&b, ",{\"what\":\"x\",\"parent\":0}");
	strbuf_puts(&b, "]}");
	char *d = detail_of(b.p);
	int n = 0;
	for (const char *at = d; (at = strstr(at, "\"parent\"")); at++)
		n++;
	ck_assert_int_eq(n, 63);
	ck_assert_ptr_null(strstr(d, "ww"));
	free(d);
	strbuf_release(&b);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("search_detail");
	tcase_add_test(t, known_fields_are_kept);
	tcase_add_test(t, what_is_no_tree_is_dropped);
	tcase_add_test(t, lists_and_texts_have_limits);
	return run_suite(t, "search_detail");
}
