/* Whole plans: composites, descents from them, what is near a plan, and what paths of decisions came to. */
#include "tests/unit/search_fixture.h"
#include "tests/unit/run_suite.h"

static void setup_problem(fixture *f, problem *pb, const char *text, const char *mesh_text)
{
	diag d = {0};
	setup(f, text, mesh_text);
	ck_assert_msg(problem_init(pb, f->m, &f->o, &d) == ST_OK, "%s", d.msg);
}

static bool never(void *unused)
{
	(void)unused;
	return false;
}
static bool always(void *unused)
{
	(void)unused;
	return true;
}

/* What a descent tells: each plan better than the one before it, and in time. */
typedef struct telling {
	uint64_t used;
	int64_t energy;
} telling;

static void told(void *user, plan *pl, uint64_t used, int64_t energy)
{
	telling *t = user;
	ck_assert_uint_ge(used, t->used);
	ck_assert_int_lt(energy, t->energy);
	ck_assert(pl->n <= MAX_PLAN);
	*t = (telling){used, energy};
}

/* Refines a plan as far as it goes; *before, *after: its energy in replays. */
static uint64_t refine_on(fixture *f, const problem *pb, arena *mem, plan *pl, refine_depth depth, uint64_t budget, bool (*stop)(void *), int64_t *before, int64_t *after)
{
	evaluator *ev[LOGICAL_TREES];
	action_list actions = {0};
	cost c;
	bool allowed;
	int64_t energy;
	for (int i = 0; i < LOGICAL_TREES; i++)
		ev[i] = evaluator_new(pb);
	actions_make((problem *)pb, UINT32_MAX, NULL, &actions);
	evaluator_run(ev[0], pl, NULL);
	evaluator_replay(ev[0], &c, &allowed);
	*before = plan_energy(pb, &c);
	telling t = {0, *before};
	crew *with = crew_new(ev, (int)f->o.threads, stop, NULL);
	refiner *rf = refiner_new(pb, with, mem, &actions, told, &t);
	uint64_t used = refiner_improve(rf, pl, depth, budget, &energy);
	ck_assert_int_eq(t.energy, energy);
	refiner_free(rf);
	crew_free(with);
	evaluator_run(ev[0], pl, NULL);
	evaluator_replay(ev[0], &c, &allowed);
	*after = plan_energy(pb, &c);
	ck_assert_int_eq(*after, energy);
	for (int i = 0; i < LOGICAL_TREES; i++)
		evaluator_free(ev[i]);
	vec_release(&actions);
	return used;
}

/* Down, within the budget, for any number of threads. */
START_TEST(refined_plans)
{
	fixture f;
	problem pb;
	arena mem = {0};
	int64_t before, after;
	setup_problem(&f, &pb, mlp, "data=4,model=4");
	plan *start = xcalloc(1, sizeof *start), *pl = xcalloc(1, sizeof *pl), *other = xcalloc(1, sizeof *other);
	const action *batch = action_of_role(&pb, ROLE_ACTION_DATA_PARALLEL, 0);
	for (uint32_t axis = 0; axis < 2; axis++) { /* both weights by rows before the batch: every product is summed up */
		static const uint32_t weights[] = {0, 1};
		action rows = action_manual(&pb, weights, 2, 0, axis);
		plan_insert(start, start->n, &rows, "test");
	}
	plan_insert(start, start->n, batch, "test");
	*pl = *start;
	uint64_t used = refine_on(&f, &pb, &mem, pl, REFINE_ALIKE, 500, never, &before, &after);
	ck_assert(used > 1 && used <= 500);
	ck_assert_int_lt(after, before);
	f.o.threads = 3;
	*other = *start;
	ck_assert_uint_eq(refine_on(&f, &pb, &mem, other, REFINE_ALIKE, 500, never, &before, &after), used);
	ck_assert(plan_same(pl, other));
	for (uint64_t budget = 0; budget < 40; budget++) {
		*pl = *start;
		ck_assert_uint_le(refine_on(&f, &pb, &mem, pl, REFINE_GROUPS, budget, never, &before, &after), budget);
		ck_assert_int_le(after, before);
	}
	*pl = *start;
	refine_on(&f, &pb, &mem, pl, REFINE_GROUPS, 500, always, &before, &after);
	ck_assert(plan_same(pl, start));
	free(start);
	free(pl);
	free(other);
	arena_release(&mem);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

/* What each depth adds to the one before: from nothing decided there is nothing to change; roles are added; groups are decided on
 * their own. */
START_TEST(depths_of_refining)
{
	fixture f;
	problem pb;
	arena mem = {0};
	int64_t before, alike, apart, groups;
	setup_problem(&f, &pb, mlp, "data=4,model=4");
	plan *pl = xcalloc(1, sizeof *pl);
	refine_on(&f, &pb, &mem, pl, REFINE_ALIKE, 500, never, &before, &alike);
	ck_assert(alike == before && pl->n == 0);
	refine_on(&f, &pb, &mem, pl, REFINE_APART, 500, never, &before, &apart);
	ck_assert_int_lt(apart, alike);
	for (uint32_t i = 0; i < pl->n; i++)
		ck_assert(pl->decisions[i].group == ID_NONE);
	refine_on(&f, &pb, &mem, pl, REFINE_GROUPS, 500, never, &before, &groups);
	ck_assert_int_lt(groups, apart);
	free(pl);
	arena_release(&mem);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

/* Two descents that meet: the second one ends there, and has no energy of its own. */
START_TEST(descents_that_meet)
{
	fixture f;
	problem pb;
	arena mem = {0};
	action_list actions = {0};
	evaluator *ev[LOGICAL_TREES];
	int64_t first, second;
	setup_problem(&f, &pb, mlp, "data=4,model=4");
	for (int i = 0; i < LOGICAL_TREES; i++)
		ev[i] = evaluator_new(&pb);
	actions_make(&pb, UINT32_MAX, NULL, &actions);
	telling t = {0, INT64_MAX};
	crew *with = crew_new(ev, 1, never, NULL);
	refiner *rf = refiner_new(&pb, with, &mem, &actions, told, &t);
	plan *pl = xcalloc(1, sizeof *pl), *other = xcalloc(1, sizeof *other);
	uint64_t used = refiner_improve(rf, pl, REFINE_GROUPS, 500, &first);
	ck_assert(used > 0 && first < INT64_MAX);
	t = (telling){0, INT64_MAX};
	ck_assert_uint_eq(refiner_improve(rf, other, REFINE_GROUPS, 500, &second), 0); /* all it looks at was costed before */
	ck_assert_int_eq(second, INT64_MAX);
	refiner_free(rf);
	crew_free(with);
	free(pl);
	free(other);
	for (int i = 0; i < LOGICAL_TREES; i++)
		evaluator_free(ev[i]);
	vec_release(&actions);
	arena_release(&mem);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

START_TEST(plans_and_twins)
{
	fixture f;
	problem pb;
	arena mem = {0};
	setup_problem(&f, &pb, mlp, "data=4,model=4");
	action batch = *action_of_role(&pb, ROLE_ACTION_DATA_PARALLEL, 0), twin = action_on_axis(&pb, &batch, 1), zero = *action_of_role(&pb, ROLE_ACTION_ZERO3, 1);
	ck_assert(twin.axis == 1 && twin.on_role && twin.role == ROLE_ACTION_DATA_PARALLEL);
	ck_assert(action_is_twin(&batch, &twin) && !action_is_twin(&batch, &batch) && !action_is_twin(&batch, &zero));
	twin.fixed = true;
	ck_assert(!action_is_twin(&batch, &twin));
	plan *pl = xcalloc(1, sizeof *pl);
	for (uint32_t i = 0; i < MAX_PLAN + 3; i++)
		plan_insert(pl, 0, i % 2 ? &batch : &zero, "test");
	ck_assert_uint_eq(pl->n, MAX_PLAN);
	ck_assert(pl->decisions[0].role == ROLE_ACTION_DATA_PARALLEL && pl->decisions[1].role == ROLE_ACTION_ZERO3);
	plan_drop(pl, 0);
	ck_assert(pl->n == MAX_PLAN - 1 && pl->decisions[0].role == ROLE_ACTION_ZERO3 && !strcmp(pl->tactics[0], "test"));
	/* x and y are groups of their own; what is left is no longer the whole role */
	uint32_t x = pb.group_of[2], all = pl->decisions[1].n_targets;
	ck_assert(pb.group_of[3] != x && all == 2);
	ck_assert(plan_leave_out(&pb, &mem, pl, 1, x));
	ck_assert(pl->decisions[1].n_targets == 1 && pl->decisions[1].targets[0].arg == 3 && !pl->decisions[1].on_role);
	ck_assert(!plan_leave_out(&pb, &mem, pl, 1, x));                 /* not in it any more */
	ck_assert(!plan_leave_out(&pb, &mem, pl, 1, pb.group_of[3]));    /* nothing would be left */
	/* nothing about a group: decisions that are about it alone go, on the axes given */
	pl->n = 0;
	plan_insert(pl, 0, &batch, "test");
	plan_insert(pl, 1, &zero, "test");
	batch.axis = 1;
	plan_insert(pl, 2, &batch, "test");
	plan_clear_group(&pb, &mem, pl, x, 1u << 0);
	ck_assert(pl->n == 3 && pl->decisions[0].n_targets == 1 && pl->decisions[2].n_targets == 2);
	plan_clear_group(&pb, &mem, pl, pb.group_of[3], 1u << 0);
	ck_assert(pl->n == 2 && pl->decisions[0].role == ROLE_ACTION_ZERO3 && pl->decisions[1].n_targets == 2);
	/* axes change places, but for what is fixed */
	pl->decisions[0].fixed = true;
	plan_exchange_axes(&pb, pl, 0, 1, ID_NONE);
	ck_assert(pl->decisions[0].axis == 1 && pl->decisions[1].axis == 0 && pl->n == 2);
	/* those of one group alone */
	pl->decisions[0].fixed = false;
	pl->decisions[0].group = x;
	plan_exchange_axes(&pb, pl, 0, 1, x);
	ck_assert(pl->decisions[0].axis == 0 && pl->decisions[1].axis == 0);
	plan_exchange_axes(&pb, pl, 0, 1, pb.group_of[3]);
	ck_assert(pl->decisions[0].axis == 0 && pl->decisions[1].axis == 0);
	free(pl);
	arena_release(&mem);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

/* Momentum: w' = w - m', m' = m / 2 + gradient; the batch is one argument. */
static const char *const momentum =
	"module @jit_step {\n"
	"  func.func public @main(%arg0: tensor<64x32xf32> {tf.aliasing_output = 0 : i32} loc(\"params['w']\"), %arg1: tensor<64x32xf32> {tf.aliasing_output = 1 : i32} "
	"loc(\"state['w']\"), %arg2: tensor<32x64xf32> {tf.aliasing_output = 2 : i32} loc(\"params['v']\"), %arg3: tensor<8x64xf32> loc(\"batch\")) -> "
	"(tensor<64x32xf32>, tensor<64x32xf32>, tensor<32x64xf32>) {\n"
	"    %0 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>\n"
	"    %1 = stablehlo.dot_general %arg3, %0, contracting_dims = [0] x [0] : (tensor<8x64xf32>, tensor<8x32xf32>) -> tensor<64x32xf32>\n"
	"    %2 = stablehlo.dot_general %0, %arg3, contracting_dims = [0] x [0] : (tensor<8x32xf32>, tensor<8x64xf32>) -> tensor<32x64xf32>\n"
	"    %half = stablehlo.constant dense<5.000000e-01> : tensor<64x32xf32>\n"
	"    %3 = stablehlo.multiply %arg1, %half : tensor<64x32xf32>\n"
	"    %4 = stablehlo.add %3, %1 : tensor<64x32xf32>\n"
	"    %5 = stablehlo.subtract %arg0, %4 : tensor<64x32xf32>\n"
	"    %6 = stablehlo.dot_general %0, %arg2, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<8x64xf32>\n"
	"    %7 = stablehlo.dot_general %0, %6, contracting_dims = [0] x [0] : (tensor<8x32xf32>, tensor<8x64xf32>) -> tensor<32x64xf32>\n"
	"    %8 = stablehlo.subtract %arg2, %7 : tensor<32x64xf32>\n"
	"    return %5, %4, %8 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<32x64xf32>\n"
	"  }\n"
	"}\n";

/* The state of a parameter is found; of a ZeRO decision a group's parameters change between whole and cut, their state does not. */
START_TEST(parameters_and_their_state)
{
	fixture f;
	problem pb;
	arena mem = {0};
	setup_problem(&f, &pb, momentum, "data=4");
	ck_assert(pb.roles[0] == ROLE_PARAMETER && pb.roles[1] == ROLE_STATE && pb.roles[2] == ROLE_PARAMETER);
	ck_assert(pb.param_of[1] == 0 && pb.param_of[0] == ID_NONE && pb.param_of[2] == ID_NONE && pb.param_of[3] == ID_NONE);
	plan *pl = xcalloc(1, sizeof *pl);
	const action *zero3 = action_of_role(&pb, ROLE_ACTION_ZERO3, 0), *batch = action_of_role(&pb, ROLE_ACTION_DATA_PARALLEL, 0);
	plan_insert(pl, 0, batch, "test");
	ck_assert_uint_eq(plan_zero_at(pl), 1); /* none: the end */
	plan_insert(pl, 0, zero3, "test");
	ck_assert_uint_eq(plan_zero_at(pl), 0);
	uint32_t group = pb.group_of[0];
	ck_assert(pb.group_of[2] != group && !plan_exchange_zero(&pb, &mem, pl, 1, group)); /* the batch decision has no parameters */
	ck_assert(!plan_exchange_zero(&pb, &mem, pl, 0, pb.group_of[1]));                   /* a group of state alone */
	for (int turn = 0; turn < 2; turn++) { /* there and back */
		ck_assert(plan_exchange_zero(&pb, &mem, pl, 0, group) && !pl->decisions[0].on_role && pl->decisions[0].n_targets == zero3->n_targets);
		for (uint32_t i = 0; i < zero3->n_targets; i++) {
			action_target t = pl->decisions[0].targets[i];
			ck_assert(t.arg == zero3->targets[i].arg && t.dim == (t.arg == 0 && !turn ? DIM_KEEP : DIM_LARGEST));
		}
	}
	free(pl);
	arena_release(&mem);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

static uint64_t compose_on(fixture *f, const problem *pb, const action_list *actions, uint64_t budget, bool (*stop)(void *), composition *out)
{
	evaluator *ev[LOGICAL_TREES];
	for (int i = 0; i < LOGICAL_TREES; i++)
		ev[i] = evaluator_new(pb);
	crew *with = crew_new(ev, (int)f->o.threads, stop, NULL);
	uint64_t used = compose(pb, with, actions, budget, out);
	crew_free(with);
	for (int i = 0; i < LOGICAL_TREES; i++)
		evaluator_free(ev[i]);
	return used;
}

/* Ways to cut batch and weights are found, and plans come best first. */
START_TEST(composite_plans)
{
	fixture f;
	problem pb;
	action_list actions = {0};
	setup_problem(&f, &pb, mlp, "data=4,model=4");
	actions_make(&pb, UINT32_MAX, NULL, &actions);
	composition *c = xcalloc(1, sizeof *c), *again = xcalloc(1, sizeof *again);
	uint64_t used = compose_on(&f, &pb, &actions, 2000, never, c);
	ck_assert(used > 0 && used <= 2000 && c->n > 1 && c->n_recipes > 0);
	evaluator *ev = evaluator_new(&pb);
	score before = {.fits = true};
	bool batch = false, weights = false;
	for (uint32_t i = 0; i < c->n; i++) {
		cost now;
		bool allowed;
		plan pl = c->plans[i];
		evaluator_run(ev, &pl, NULL);
		evaluator_replay(ev, &now, &allowed);
		ck_assert(allowed && !score_less(score_of(&pb, &now), before));
		before = score_of(&pb, &now);
		for (uint32_t k = 0; k < pl.n; k++)
			batch |= pl.decisions[k].on_role && pl.decisions[k].role == ROLE_ACTION_DATA_PARALLEL;
	}
	for (uint32_t i = 0; i < c->n_recipes; i++)
		for (uint32_t k = 0; k < c->recipes[i].n; k++) {
			const action *a = &c->recipes[i].decisions[k];
			weights |= a->kind == ACTION_PARTITION && pb.roles[a->targets[0].arg] == ROLE_PARAMETER;
		}
	ck_assert(batch && weights);
	/* any number of threads, any second time */
	f.o.threads = 3;
	ck_assert_uint_eq(compose_on(&f, &pb, &actions, 2000, never, again), used);
	ck_assert_uint_eq(again->n, c->n);
	for (uint32_t i = 0; i < c->n; i++) {
		ck_assert_uint_eq(again->plans[i].n, c->plans[i].n);
		for (uint32_t k = 0; k < c->plans[i].n; k++)
			ck_assert(again->plans[i].decisions[k].axis == c->plans[i].decisions[k].axis && again->plans[i].decisions[k].targets == c->plans[i].decisions[k].targets);
	}
	/* a budget is kept; nothing is tried when it is time to stop */
	for (uint64_t budget = 0; budget < 40; budget += 3)
		ck_assert(compose_on(&f, &pb, &actions, budget, never, again) <= budget);
	ck_assert_uint_eq(compose_on(&f, &pb, &actions, 0, never, again), 0);
	ck_assert_uint_eq(again->n, 0);
	compose_on(&f, &pb, &actions, 2000, always, again);
	ck_assert_uint_eq(again->n, 0);
	evaluator_free(ev);
	free(c);
	free(again);
	vec_release(&actions);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

/* The effects of an action are found by what they depend on and nothing else; a memo that is full starts over. */
START_TEST(remembered_effects)
{
	enum { VALUES = 6, ARGS = 2 };
	action_target one = {1, 0}, same = {1, 0}, two = {2, 0};
	action a = {.axis = 0, .targets = &one, .n_targets = 1}, like = {.axis = 0, .targets = &same, .n_targets = 1}, b = {.axis = 1, .targets = &two, .n_targets = 1};
	sharding_id state[VALUES] = {1, 2, 3, 4, 5, 6};
	uint32_t kept[ARGS] = {0, 3};
	effect_memo *m = effects_new(VALUES, ARGS, 1 << 14);
	ck_assert(!effects_find(m, &a, state, kept));
	/* value 2 is asked for first; where it is 3 what argument 1 keeps matters too, where it is 9 value 4 does */
	value_is first[] = {{2, 3}, {VALUES + 1, 3}}, second[] = {{2, 9}, {4, 5}}, third[] = {{2, 9}, {4, 8}}, change[] = {{0, 7}, {5, 8}};
	uint32_t dims[] = {12};
	effects_add(m, &a, first, 2, change, 2, &(effect){.done = true, .stable = true, .hash = 5, .dims = dims, .n_dims = 1});
	effects_add(m, &a, second, 2, change, 0, &(effect){.uneven = true});
	effects_add(m, &a, third, 2, change, 2, &(effect){.done = true, .stable = true, .hash = 5, .dims = dims, .n_dims = 1});
	change[0].v = dims[0] = 0;
	const effect *known = effects_find(m, &like, state, kept);
	ck_assert(known && known->done && known->stable && known->hash == 5 && known->n_values == 2 && known->n_dims == 1 && known->dims[0] == 12);
	ck_assert(effect_value(known, 0).v == 0 && effect_value(known, 0).is == 7 && effect_value(known, 1).v == 5 && effect_value(known, 1).is == 8);
	ck_assert(!effects_find(m, &b, state, kept));
	state[4] = 11; /* nobody asks for it yet */
	ck_assert(effects_find(m, &a, state, kept) == known);
	kept[1] = 1;
	ck_assert(!effects_find(m, &a, state, kept));
	state[2] = 9;
	ck_assert(!effects_find(m, &a, state, kept));
	state[4] = 5;
	ck_assert(effects_find(m, &a, state, kept)->uneven && !effects_find(m, &a, state, kept)->done);
	state[4] = 8;
	ck_assert(effects_find(m, &a, state, kept) == known); /* kept once */
	/* what does not fit into a word is not remembered, what is there already changes nothing */
	value_is large = {1, UINT32_MAX / 2};
	effects_add(m, &b, &large, 1, change, 0, &(effect){.uneven = true});
	state[1] = large.is;
	ck_assert(!effects_find(m, &b, state, kept));
	effects_add(m, &a, third, 2, change, 0, &(effect){.uneven = true});
	ck_assert(effects_find(m, &a, state, kept) == known);
	for (uint32_t i = 0; i < 1000; i++)
		effects_add(m, &b, &(value_is){0, i}, 1, change, 2, &(effect){.done = true, .hash = i});
	ck_assert(!effects_find(m, &a, state, kept));
	state[0] = 999;
	ck_assert_uint_eq(effects_find(m, &b, state, kept)->hash, 999);
	effects_free(m);
}
END_TEST

/* Where nothing fits, what comes nearer to the limit is better, but not whatever it takes. */
START_TEST(too_large_is_memory_and_some_time)
{
	const int64_t mib = 1 << 20;
	cost small = {.peak_bytes = 23040 * mib, .runtime_ns = 1990000000}, fast = {.peak_bytes = 24064 * mib, .runtime_ns = 551000000};
	ck_assert_int_lt(cost_too_large(&fast), cost_too_large(&small)); /* a twentieth of the memory for 3.6 times the time */
	small.runtime_ns = 661000000;
	ck_assert_int_lt(cost_too_large(&small), cost_too_large(&fast)); /* the same for a fifth */
	small = (cost){.peak_bytes = 12032 * mib, .runtime_ns = 50 * fast.runtime_ns};
	ck_assert_int_lt(cost_too_large(&small), cost_too_large(&fast)); /* half of the memory is worth nearly any time */
	/* falls with either, and is more than any time of a step */
	int64_t last = INT64_MAX;
	for (cost c = {.peak_bytes = INT64_MAX / 4, .runtime_ns = INT64_MAX / 4}; c.peak_bytes > 4; c.peak_bytes -= c.peak_bytes / 4, c.runtime_ns -= c.runtime_ns / 4) {
		int64_t now = cost_too_large(&c);
		ck_assert_int_le(now, last);
		ck_assert_int_gt(now, c.peak_bytes < mib ? 0 : mib);
		last = now;
	}
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("plans");
	tcase_set_timeout(t, 300);
	tcase_add_test(t, composite_plans);
	tcase_add_test(t, refined_plans);
	tcase_add_test(t, depths_of_refining);
	tcase_add_test(t, descents_that_meet);
	tcase_add_test(t, plans_and_twins);
	tcase_add_test(t, parameters_and_their_state);
	tcase_add_test(t, remembered_effects);
	tcase_add_test(t, too_large_is_memory_and_some_time);
	return run_suite(t, "plans");
}
