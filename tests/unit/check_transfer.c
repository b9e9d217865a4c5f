/* One op's step and its memo: meshes, one table for many rules, bounded size. */
#include "propagate/engine.h"
#include "tests/unit/factor_fixture.h"

#define ADD "<([i, j], [i, j])->([i, j]) {i=16, j=16}>"

START_TEST(needs_one_mesh)
{
	bench b;
	bench_init(&b, "a=2,b=4");
	transfer x;
	rule_id r = bench_rule(&b, ADD);
	transfer_init(&x, &b.rules, b.t);
	sharding_edit e;
	sharding_edit_init(&e, b.mesh, 2, false);
	e.dims[0].axes = (axes_buf){.a = {mesh_full_axis(b.t, b.mesh, 0)}, .n = 1};
	sharding_id here = sharding_intern(b.t, &e);
	device_mesh other = b.t->meshes.p[b.mesh];
	int64_t sizes[2] = {2, 2};
	other.name = strtab_add(&b.t->names, STR("other"));
	mesh_id twin = mesh_intern(b.t, &other);
	other.axis_sizes = sizes;
	other.n_devices = 4;
	other.name = strtab_add(&b.t->names, STR("small"));
	mesh_id small = mesh_intern(b.t, &other),
			empty = mesh_intern(b.t, &(device_mesh){.n_devices = 1});
	uint32_t n;
	transfer_updates(
		&x, r, mode_directions(DIR_BOTH, DIR_BOTH), (sharding_id[]){here, 0, 0}, 3, &n);
	ck_assert_uint_eq(n, 2);
	static const struct {
		int mesh;
		uint32_t updates;
	} cases[] = {{0, 2}, {1, 0}, {2, 2}};
	for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
		sharding_edit_init(&e, (mesh_id[]){twin, small, empty}[cases[i].mesh], 2, false);
		transfer_updates(&x, r, mode_directions(DIR_BOTH, DIR_BOTH),
			(sharding_id[]){here, sharding_intern(b.t, &e), 0}, 3, &n);
		ck_assert_uint_eq(n, cases[i].updates);
	}
	transfer_updates(&x, r, mode_directions(DIR_BOTH, DIR_BOTH), (sharding_id[]){0, 0, 0}, 3, &n);
	ck_assert_uint_eq(n, 0);
	transfer_release(&x);
	bench_release(&b);
}
END_TEST

static sharding_id random_sharding(bench *b, rng *r)
{
	static const char *const texts[] = {"-", "[{\"a\"}, {}]", "[{?}, {\"a\", ?}]",
		"[{\"b\", ?}, {?}]", "[{\"b\":(1)2, ?}, {\"a\"}]", "[{}, {\"b\":(2)2}]",
		"[{\"a\", \"b\"}, {?}]", "[{?}, {?}], replicated={\"b\"}"};
	return bench_sharding(b, texts[rng_below(r, COUNT_OF(texts))]);
}

/* Every answer from the memo is the one computed afresh, for all modes mixed in one table. */
START_TEST(memo_answers_as_computed)
{
	static const char *const rules[] = {ADD,
		"<([i, k], [k, j])->([i, j]) {i=16, j=16, k=16} reduction={k}>",
		"<([j, i], [i, j])->([j, i]) {i=16, j=16}>",
		"<([i, jk], [i, jk])->([i, jk]) {i=16, j=2, k=8}>"};
	bench b;
	bench_init(&b, "a=2,b=4");
	transfer memo, plain;
	transfer_init(&memo, &b.rules, b.t);
	transfer_init(&plain, &b.rules, b.t);
	plain.no_memo = true;
	rng r;
	rng_seed(&r, 5, 5);
	for (uint32_t i = 0; i < 20000; i++) {
		rule_id rid = bench_rule(&b, rules[rng_below(&r, COUNT_OF(rules))]);
		step_mode mode = mode_directions((direction)rng_below(&r, 4), (direction)rng_below(&r, 4)) |
			rng_below(&r, 8) << 4;
		sharding_id in[3] = {
			random_sharding(&b, &r), random_sharding(&b, &r), random_sharding(&b, &r)};
		uint32_t n, m;
		const transfer_update *x = transfer_updates(&memo, rid, mode, in, 3, &n),
							  *y = transfer_updates(&plain, rid, mode, in, 3, &m);
		ck_assert_uint_eq(n, m);
		for (uint32_t k = 0; k < n; k++)
			ck_assert(x[k].slot == y[k].slot && x[k].sharding == y[k].sharding);
	}
	ck_assert_uint_gt(memo.stats.memo_hits, 300);
	transfer_release(&memo);
	transfer_release(&plain);
	bench_release(&b);
}
END_TEST

/* Nothing is given up by a step: what a tensor had stays a prefix of what it gets. */
START_TEST(steps_only_refine)
{
	bench b;
	bench_init(&b, "a=2,b=4");
	transfer x;
	transfer_init(&x, &b.rules, b.t);
	rule_id rid = bench_rule(&b, "<([i, k], [k, j])->([i, j]) {i=16, j=16, k=16} reduction={k}>");
	rng r;
	rng_seed(&r, 6, 6);
	for (uint32_t i = 0; i < 3000; i++) {
		sharding_id in[3] = {
			random_sharding(&b, &r), random_sharding(&b, &r), random_sharding(&b, &r)};
		uint32_t n;
		const transfer_update *u = transfer_updates(
			&x, rid, mode_directions(DIR_BOTH, DIR_BOTH) | (i & 1 ? MODE_BASIC : 0), in, 3, &n);
		for (uint32_t k = 0; k < n; k++) {
			const sharding *now = sharding_get(b.t, u[k].sharding);
			for (uint32_t d = 0; d < 2; d++) {
				axes had = in[u[k].slot] ? sharding_dim(sharding_get(b.t, in[u[k].slot]), d)
										 : (axes){NULL, 0};
				ck_assert_int_ne(axes_prefix(had, sharding_dim(now, d)), PREFIX_NOT);
			}
		}
	}
	transfer_release(&x);
	bench_release(&b);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("transfer");
	tcase_add_test(tc, needs_one_mesh);
	tcase_add_test(tc, memo_answers_as_computed);
	tcase_add_test(tc, steps_only_refine);
	return run_suite(tc, "transfer");
}
