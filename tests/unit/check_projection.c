/* Tensor sharding <-> factor shardings: sub-axes at factor borders, overflow, padding, strided
 * views. */
#include "tests/unit/factor_fixture.h"

static const char *list_text(bench *b, const axes_buf *l)
{
	static char text[256];
	strbuf s;
	strbuf_init(&s);
	for (uint32_t i = 0; i < l->n; i++) {
		if (i)
			strbuf_putc(&s, ' ');
		axis_print(b->t, b->mesh, l->a[i], &s);
	}
	snprintf(text, sizeof text, "%s", s.p ? s.p : "");
	strbuf_release(&s);
	return text;
}

static void check_factors(
	bench *b, const char *rule_text, const char *sharding_text, const char *const expected[])
{
	tensor_factors *f = malloc(sizeof *f);
	const rule *r = rule_get(&b->rules, bench_rule(b, rule_text));
	sharding_id sh = bench_sharding(b, sharding_text);
	project_to_factors(r, 0, b->t, sh, b->mesh, false, f);
	for (uint32_t i = 0; i < r->n_factors; i++) {
		if (!expected[i]) {
			ck_assert(!f->factor[i].present);
			continue;
		}
		ck_assert(f->factor[i].present);
		ck_assert_str_eq(list_text(b, &f->factor[i].axes), expected[i]);
	}
	ck_assert_uint_eq(project_to_sharding(r, 0, b->t, b->mesh, f, sh), sh);
	free(f);
}

START_TEST(axes_go_to_factors)
{
	bench b;
	bench_init(&b, "a=2,b=4,c=8,d=3");
	/* each factor takes what divides it; an axis is split at the border */
	check_factors(&b, "<([ij])->([i, j]) {i=2, j=4}>", "[{\"a\", \"b\"}]",
		(const char *const[]){"\"a\"", "\"b\""});
	check_factors(&b, "<([ij])->([i, j]) {i=2, j=4}>", "[{\"c\"}]",
		(const char *const[]){"\"c\":(1)2", "\"c\":(2)4"});
	check_factors(&b, "<([ijk])->([i, j, k]) {i=4, j=4, k=4}>", "[{\"c\", \"b\"}]",
		(const char *const[]){"\"c\":(1)4", "\"c\":(4)2 \"b\":(1)2", "\"b\":(2)2"});
	/* the minor-most takes everything that is left, divisible or not */
	check_factors(
		&b, "<([i])->([i]) {i=5}>", "[{\"a\", \"b\"}]", (const char *const[]){"\"a\" \"b\""});
	/* only part of the major factor is used */
	check_factors(
		&b, "<([ij])->([i, j]) {i=8, j=4}>", "[{\"b\"}]", (const char *const[]){"\"b\"", ""});
	bench_release(&b);
}
END_TEST

START_TEST(axes_without_common_divisor_overflow)
{
	bench b;
	bench_init(&b, "a=2,b=4,c=8,d=3");
	check_factors(&b, "<([ijk])->([i, j, k]) {i=4, j=4, k=4}>", "[{\"a\", \"d\", \"b\"}]",
		(const char *const[]){"\"a\"", "", NULL});
	tensor_factors *f = malloc(sizeof *f);
	const rule *r = rule_get(&b.rules, bench_rule(&b, "<([ijk])->([i, j, k]) {i=4, j=4, k=4}>"));
	project_to_factors(
		r, 0, b.t, bench_sharding(&b, "[{\"a\", \"d\", \"b\", ?}]"), b.mesh, false, f);
	ck_assert_str_eq(list_text(&b, &f->factor[0].overflow), "\"d\" \"b\"");
	ck_assert(!f->factor[0].closed && !f->factor[0].minor_most);
	ck_assert(f->factor[1].closed && !f->factor[1].overflow.n);
	free(f);
	bench_release(&b);
}
END_TEST

START_TEST(closed_open_and_missing)
{
	bench b;
	bench_init(&b, "a=2,b=4");
	tensor_factors *f = malloc(sizeof *f);
	const rule *r = rule_get(&b.rules, bench_rule(&b, "<([ij, k])->([i, j, k]) {i=2, j=4, k=4}>"));
	project_to_factors(
		r, 0, b.t, bench_sharding(&b, "[{\"a\"}, {?}], replicated={\"b\"}"), b.mesh, false, f);
	ck_assert(f->factor[0].closed && f->factor[1].closed && !f->factor[2].closed);
	ck_assert(!f->factor[0].minor_most && f->factor[1].minor_most && f->factor[2].minor_most);
	ck_assert_str_eq(list_text(&b, &f->replicated), "\"b\"");
	project_to_factors(r, 0, b.t, SHARDING_NONE, b.mesh, false, f);
	ck_assert(!f->factor[0].closed && !f->factor[2].closed);
	ck_assert_uint_eq(project_to_sharding(r, 0, b.t, b.mesh, f, SHARDING_NONE), SHARDING_NONE);
	project_to_factors(r, 0, b.t, SHARDING_NONE, b.mesh, true, f);
	ck_assert(f->factor[0].closed && f->factor[2].closed);
	free(f);
	bench_release(&b);
}
END_TEST

START_TEST(back_to_a_sharding)
{
	bench b;
	bench_init(&b, "a=2,b=4,c=8");
	tensor_factors *f = malloc(sizeof *f);
	const rule *r = rule_get(&b.rules, bench_rule(&b, "<([ij])->([i, j]) {i=4, j=8}>"));
	axis_ref whole = mesh_full_axis(b.t, b.mesh, 2), head = axis_make(axis_index(whole), 1, 4),
			 tail = axis_make(axis_index(whole), 4, 2);
	project_to_factors(r, 0, b.t, SHARDING_NONE, b.mesh, false, f);
	/* parts of one axis on both sides of a border become the axis again */
	f->factor[0].axes = (axes_buf){.a = {head}, .n = 1};
	f->factor[1].axes = (axes_buf){.a = {tail}, .n = 1};
	ck_assert_uint_eq(project_to_sharding(r, 0, b.t, b.mesh, f, SHARDING_NONE),
		bench_sharding(&b, "[{\"c\", ?}]"));
	/* behind a factor that is not fully cut nothing can follow */
	f->factor[0].axes = (axes_buf){.a = {mesh_full_axis(b.t, b.mesh, 0)}, .n = 1};
	ck_assert_uint_eq(project_to_sharding(r, 0, b.t, b.mesh, f, SHARDING_NONE),
		bench_sharding(&b, "[{\"a\", ?}]"));
	free(f);
	bench_release(&b);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("projection");
	tcase_add_test(tc, axes_go_to_factors);
	tcase_add_test(tc, axes_without_common_divisor_overflow);
	tcase_add_test(tc, closed_open_and_missing);
	tcase_add_test(tc, back_to_a_sharding);
	return run_suite(tc, "projection");
}
