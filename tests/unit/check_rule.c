/* Interned rules and their text. */
#include "tests/unit/module_fixture.h"

#include "propagate/propagate.h"

static rule_table rules;

static void setup(void) { rule_table_init(&rules); }
static void teardown(void) { rule_table_release(&rules); }

static void round_trip(const char *text)
{
	rule_id id;
	diag d;
	strbuf out;
	diag_clear(&d);
	strbuf_init(&out);
	ck_assert_msg(rule_parse(&rules, str_of(text), false, &id, &d) == ST_OK, "%s: %s", text, d.msg);
	rule_print(rule_get(&rules, id), &out);
	ck_assert_str_eq(out.p, text);
	strbuf_release(&out);
}

static void refused(const char *text, uint32_t col, const char *part)
{
	rule_id id = 7;
	diag d;
	diag_clear(&d);
	ck_assert_msg(rule_parse(&rules, str_of(text), false, &id, &d) != ST_OK, "%s", text);
	ck_assert_uint_eq(id, RULE_NONE);
	ck_assert_msg(strstr(d.msg, part) && d.col == col, "%s: '%s' at %u", text, d.msg, d.col);
}

START_TEST(text_round_trips)
{
	round_trip("<([i, k], [k, j])->([i, j]) {i=8, j=4, k=2} reduction={k}>");
	round_trip("<([ij, k])->([i, jk]) {i=2, j=4, k=4}>");
	round_trip("<([])->([])>");
	round_trip("<()->([i]) {i=4}>");
	round_trip(
		"<([i, j])->([i, k]) {i=2, j=4, k=3} need_replication={j, k} blocked_propagation={j}>");
	round_trip("<([i])->([i]) {i=8} permutation={i}, custom>");
}
END_TEST

START_TEST(factor_names_go_past_z)
{
	strbuf wide;
	strbuf_init(&wide);
	strbuf_puts(&wide,
		"<([i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, z_1, z_2])->([z_2z_1]) {i=2");
	for (char c = 'j'; c <= 'z'; c++)
		strbuf_printf(&wide, ", %c=2", c);
	strbuf_puts(&wide, ", z_1=2, z_2=2}>");
	round_trip(wide.p);
	strbuf_release(&wide);
}
END_TEST

START_TEST(equal_rules_have_equal_ids)
{
	rule_id a, b, c;
	ck_assert(rule_parse(&rules, STR("([i])->([i]) {i=4}"), false, &a, NULL) == ST_OK);
	ck_assert(rule_parse(&rules, STR("<([i])->([i]) {i=4}>"), false, &b, NULL) == ST_OK);
	ck_assert(rule_parse(&rules, STR("([i])->([i]) {i=5}"), false, &c, NULL) == ST_OK);
	ck_assert_uint_eq(a, b);
	ck_assert_uint_ne(a, c);
	int64_t dims[] = {4};
	ir_type ty = {.kind = TYPE_TENSOR, .rank = 1, .dims = dims};
	ck_assert_uint_eq(rule_identity(&rules, &ty, 1, 1), a);
}
END_TEST

START_TEST(bad_text_is_refused)
{
	refused("<([i])->([i])", 14, "expected >");
	refused("([h])->([i]) {i=4}", 3, "a factor");
	refused("([i, i])->([i]) {i=4}", 6, "does not have yet");
	refused("([i])->([i]) {j=4}", 15, "in order");
	refused("([i])->([i]) {i=4} reduction={i}", 33, "no reduction factor in a result");
	refused("([ij])->([i, j]) {i=1, j=4}", 28, "no factor of size 1");
	refused("([z_99])->([i]) {i=1}", 3, "more than 64 factors");
	refused("", 1, "expected (");
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, text_round_trips);
	tcase_add_test(t, factor_names_go_past_z);
	tcase_add_test(t, equal_rules_have_equal_ids);
	tcase_add_test(t, bad_text_is_refused);
}

int main(void) { return run_added(add_tests, "rule"); }
