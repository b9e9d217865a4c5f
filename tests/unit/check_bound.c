/* Bounds: no state costs less than what is said of it, nor does any state that further decisions
 * make of it. */
#include "tests/unit/problem_fixture.h"
#include "tests/unit/run_suite.h"

enum { MOST_DECISIONS = 7 };

/* Paths of random decisions: every state against its own bound and those of all states before it.
 * Gives the largest part of a state's run time that its bound saw, in percent. */
static int64_t walk(fixture *f, uint64_t seed, uint32_t paths)
{
	rng r;
	int64_t closest = 0;
	rng_seed(&r, seed, 0);
	evaluator *ev = evaluator_new(&f->pb);
	for (uint32_t k = 0; k < paths; k++) {
		cost own, c, later[MOST_DECISIONS + 1];
		evaluator_undo(ev, 0);
		for (uint32_t tries = 0; evaluator_depth(ev) < MOST_DECISIONS && tries < 20; tries++) {
			uint32_t depth = evaluator_depth(ev);
			evaluator_bound(ev, UINT32_MAX, &later[depth]);
			evaluator_bound(ev, 0, &own);
			evaluator_cost(ev, &c);
			ck_assert_int_le(own.runtime_ns, c.runtime_ns);
			ck_assert_int_le(own.peak_bytes, c.peak_bytes);
			ck_assert_int_le(own.argument_bytes, c.argument_bytes);
			for (uint32_t i = 0; i <= depth; i++) {
				ck_assert_int_le(later[i].runtime_ns, c.runtime_ns);
				ck_assert_int_le(later[i].peak_bytes, c.peak_bytes);
			}
			closest = MAX(closest, own.runtime_ns * 100 / MAX(c.runtime_ns, 1));
			evaluator_decide(ev, &f->actions.p[rng_below(&r, f->actions.n)]);
		}
	}
	evaluator_free(ev);
	return closest;
}

static const struct row {
	const char *program, *device, *mesh;
	uint32_t paths;
	int64_t sees; /* percent of the run time, at least once */
} rows[] = {
	{"mlp", "tpu-v5e", "data=4,model=4", 60, 10},
	{"transformer_4", "a100", "data=4,model=4", 15, 60},
	{"transformer_32", "tpu-v5p", "data=2,seq=2,model=4", 15, 40}, /* folded */
	{"transformer_scan", "h100", "data=16,model=16", 20, 40},      /* loops */
	{"moe", "h100", "data=4,model=4", 15, 30},
	{"convnet", "tpu-v5p", "replica=2,data=2,model=4", 25, 10},
	{"decode", "tpu-v5e", "data=4,model=4", 25, 1},
	{"ssm_tiny", "tpu-v5e", "data=2,model=2", 25, 0}, /* mostly launches */
	{"shard_map_step_tiny", "cpu", "x=2,y=3", 25, 0},
	{"resnet_tiny", "a100", "data=3,model=2", 25, 0}, /* axes that do not divide */
};

START_TEST(nothing_costs_less)
{
	const struct row *row = &rows[_i];
	fixture f;
	setup_corpus(&f, row->program, row->device, row->mesh, false);
	int64_t closest = walk(&f, 7, row->paths);
	ck_assert_msg(closest >= row->sees, "%s: %lld%%", row->program, (long long)closest);
	teardown(&f);
}
END_TEST

/* Decisions that keep an argument whole, and the axes it has, take away what can still be divided.
 */
START_TEST(what_is_decided_counts)
{
	fixture f;
	cost open, kept, own;
	setup_corpus(&f, "mlp", "tpu-v5e", "data=4,model=4", false);
	evaluator *ev = evaluator_new(&f.pb);
	evaluator_bound(ev, UINT32_MAX, &open);
	evaluator_bound(ev, 0, &own);
	ck_assert_int_gt(own.argument_bytes, 8 * open.argument_bytes);
	ck_assert_int_gt(own.runtime_ns, 8 * open.runtime_ns);
	for (uint32_t axis = 0; axis < 2; axis++)
		ck_assert(evaluator_decide(ev, action_of_role(&f.pb, ROLE_ACTION_REPLICATE, axis)));
	evaluator_bound(ev, UINT32_MAX, &kept);
	ck_assert_int_eq(kept.argument_bytes, own.argument_bytes);
	evaluator_free(ev);
	teardown(&f);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("bound");
	tcase_add_loop_test(t, nothing_costs_less, 0, (int)COUNT_OF(rows));
	tcase_add_test(t, what_is_decided_counts);
	return run_suite(t, "bound");
}
