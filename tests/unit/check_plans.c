/* Whole plans: composites, descents from them, what is near a plan, and what paths of decisions
 * came to. */
#include "search/evaluate/state.h"
#include "search/tree/local_search.h"
#include "search/tree/tactics.h"
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

/* Local searches of a problem. */
typedef struct searching {
	evaluator *ev[MOST_EVALUATORS];
	worker_pool *pool;
	scope of;
	arena mem;
	goal goal;
	local_search *ls;
} searching;

static void begin_searching(searching *s, const fixture *f, problem *pb, bool (*stop)(void *))
{
	*s = (searching){.goal = goal_of_answer(pb)};
	for (int i = 0; i < MOST_EVALUATORS; i++)
		s->ev[i] = evaluator_new(pb);
	scope_init(&s->of, pb, UINT32_MAX, NULL);
	s->pool = pool_new(s->ev, (int)f->o.threads, stop, NULL);
	s->ls = xmalloc(sizeof *s->ls);
	local_search_init(s->ls, pb, &s->goal, s->pool, &s->of, &s->mem, 150);
}

static void end_searching(searching *s)
{
	local_search_release(s->ls);
	free(s->ls);
	scope_release(&s->of);
	arena_release(&s->mem);
	pool_free(s->pool);
	for (int i = 0; i < MOST_EVALUATORS; i++)
		evaluator_free(s->ev[i]);
}

/* Descends from a plan until it would look farther than that; returns evaluations used. Each step
 * is better or tells that it is not. */
static uint64_t descend(
	searching *s, descent *d, plan *pl, level far, uint64_t budget, int64_t *before, int64_t *after)
{
	uint64_t used = 0;
	descent_begin(s->ls, d, pl, 1, 0);
	*before = plan_energy(&s->goal, &d->c);
	for (int steps = 0; steps < 400 && d->at <= far && !d->done && used < budget; steps++) {
		bool better;
		int64_t was = plan_energy(&s->goal, &d->c);
		used += descent_step(s->ls, d, budget - used, &better);
		ck_assert(better == (plan_energy(&s->goal, &d->c) < was));
		ck_assert(better || plan_energy(&s->goal, &d->c) == was);
	}
	*after = plan_energy(&s->goal, &d->c);
	cost c;
	bool allowed;
	*pl = d->pl;
	evaluator_run(s->ev[0], pl, NULL);
	evaluator_replay(s->ev[0], &s->goal, &c, &allowed);
	ck_assert_int_eq(plan_energy(&s->goal, &c), *after);
	return used;
}

/* Down, within the budget, for any number of threads. */
START_TEST(descents)
{
	fixture f;
	problem pb;
	searching s, other;
	int64_t before, after, same;
	setup_problem(&f, &pb, mlp, "data=4,model=4");
	plan *start = xcalloc(1, sizeof *start), *pl = xcalloc(1, sizeof *pl),
		 *again = xcalloc(1, sizeof *again);
	descent *d = xcalloc(1, sizeof *d);
	for (uint32_t axis = 0; axis < 2;
		 axis++) { /* both weights by rows before the batch: every product is summed up */
		static const uint32_t weights[] = {0, 1};
		action rows = action_manual(&pb, weights, 2, 0, axis);
		plan_insert(start, start->n, &rows, "test");
	}
	plan_insert(start, start->n, action_of_role(&pb, ROLE_ACTION_DATA_PARALLEL, 0), "test");
	*pl = *again = *start;
	begin_searching(&s, &f, &pb, never);
	uint64_t used = descend(&s, d, pl, GROUPS, 2000, &before, &after);
	ck_assert(used > 1 && used <= 2000);
	ck_assert_int_lt(after, before);
	f.o.threads = 3;
	begin_searching(&other, &f, &pb, never);
	ck_assert_uint_eq(descend(&other, d, again, GROUPS, 2000, &before, &same), used);
	ck_assert(plan_same(pl, again) && same == after);
	end_searching(&other);
	end_searching(&s);
	for (uint64_t budget = 0; budget < 40; budget += 3) {
		begin_searching(&s, &f, &pb, never);
		*pl = *start;
		ck_assert_uint_le(descend(&s, d, pl, SAMPLED, budget, &before, &after), budget);
		ck_assert_int_le(after, before);
		end_searching(&s);
	}
	begin_searching(&s, &f, &pb, always);
	*pl = *start;
	ck_assert_uint_eq(descend(&s, d, pl, SAMPLED, 500, &before, &after), 0);
	ck_assert(plan_same(pl, start));
	end_searching(&s);
	free(d);
	free(start);
	free(pl);
	free(again);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

/* What each level adds to the one before: from nothing decided there is nothing to change; roles
 * are added; groups are decided on their own. */
START_TEST(levels_of_a_descent)
{
	fixture f;
	problem pb;
	searching s;
	int64_t before, alike, apart, groups;
	setup_problem(&f, &pb, mlp, "data=4,model=4");
	plan *pl = xcalloc(1, sizeof *pl);
	descent *d = xcalloc(1, sizeof *d);
	begin_searching(&s, &f, &pb, never);
	descend(&s, d, pl, ALIKE, 500, &before, &alike);
	ck_assert(alike == before && pl->n == 0);
	end_searching(&s);
	begin_searching(&s, &f, &pb, never);
	descend(&s, d, pl, APART, 500, &before, &apart);
	ck_assert_int_lt(apart, alike);
	for (uint32_t i = 0; i < pl->n; i++)
		ck_assert(pl->decisions[i].group == ID_NONE);
	end_searching(&s);
	begin_searching(&s, &f, &pb, never);
	descend(&s, d, pl, GROUPS, 500, &before, &groups);
	ck_assert_int_lt(groups, apart);
	end_searching(&s);
	free(pl);
	free(d);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

/* Of two descents that meet the second one is done. */
START_TEST(descents_that_meet)
{
	fixture f;
	problem pb;
	searching s;
	setup_problem(&f, &pb, mlp, "data=4,model=4");
	plan *pl = xcalloc(1, sizeof *pl);
	descent *first = xcalloc(1, sizeof *first), *second = xcalloc(1, sizeof *second);
	begin_searching(&s, &f, &pb, never);
	descent_begin(s.ls, first, pl, 1, 0);
	descent_begin(s.ls, second, pl, 1, 1);
	ck_assert(!first->done && second->done);
	end_searching(&s);
	free(pl);
	free(first);
	free(second);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

/* A walk ends, too, and what it keeps is never worse. */
START_TEST(walks_end)
{
	fixture f;
	problem pb;
	searching s;
	setup_problem(&f, &pb, mlp, "data=4,model=4");
	plan *pl = xcalloc(1, sizeof *pl);
	descent *d = xcalloc(1, sizeof *d);
	begin_searching(&s, &f, &pb, never);
	descent_begin(s.ls, d, pl, 1, 0);
	int64_t last = plan_energy(&s.goal, &d->c);
	int steps = 0;
	for (; !d->done && steps < 2000; steps++) {
		bool better;
		descent_step(s.ls, d, 1000, &better);
		ck_assert_int_le(plan_energy(&s.goal, &d->c), last);
		last = plan_energy(&s.goal, &d->c);
	}
	ck_assert(d->done && d->at == SAMPLED);
	end_searching(&s);
	free(pl);
	free(d);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

START_TEST(plans_and_twins)
{
	fixture f;
	problem pb;
	arena mem = {0};
	scope of;
	setup_problem(&f, &pb, mlp, "data=4,model=4");
	scope_init(&of, &pb, UINT32_MAX, NULL);
	action batch = *action_of_role(&pb, ROLE_ACTION_DATA_PARALLEL, 0),
		   twin = action_on_axis(&of, &batch, 1), zero = *action_of_role(&pb, ROLE_ACTION_ZERO3, 1);
	ck_assert(twin.axis == 1 && twin.on_role && twin.role == ROLE_ACTION_DATA_PARALLEL);
	ck_assert(action_is_twin(&batch, &twin) && !action_is_twin(&batch, &batch) &&
		!action_is_twin(&batch, &zero));
	twin.fixed = true;
	ck_assert(!action_is_twin(&batch, &twin));
	plan *pl = xcalloc(1, sizeof *pl);
	for (uint32_t i = 0; i < MAX_PLAN + 3; i++)
		plan_insert(pl, 0, i % 2 ? &batch : &zero, "test");
	ck_assert_uint_eq(pl->n, MAX_PLAN);
	ck_assert(pl->decisions[0].role == ROLE_ACTION_DATA_PARALLEL &&
		pl->decisions[1].role == ROLE_ACTION_ZERO3);
	plan_drop(pl, 0);
	ck_assert(pl->n == MAX_PLAN - 1 && pl->decisions[0].role == ROLE_ACTION_ZERO3 &&
		!strcmp(pl->tactics[0], "test"));
	/* x and y are groups of their own; what is left is no longer the whole role */
	uint32_t x = pb.group_of[2], all = pl->decisions[1].n_targets;
	ck_assert(pb.group_of[3] != x && all == 2);
	ck_assert(plan_leave_out(&pb, &mem, pl, 1, x));
	ck_assert(pl->decisions[1].n_targets == 1 && pl->decisions[1].targets[0].arg == 3 &&
		!pl->decisions[1].on_role);
	ck_assert(!plan_leave_out(&pb, &mem, pl, 1, x));              /* not in it any more */
	ck_assert(!plan_leave_out(&pb, &mem, pl, 1, pb.group_of[3])); /* nothing would be left */
	/* nothing about a group: decisions that are about it alone go, on the axes given */
	pl->n = 0;
	plan_insert(pl, 0, &batch, "test");
	plan_insert(pl, 1, &zero, "test");
	batch.axis = 1;
	plan_insert(pl, 2, &batch, "test");
	plan_clear_group(&pb, &mem, pl, x, 1u << 0);
	ck_assert(pl->n == 3 && pl->decisions[0].n_targets == 1 && pl->decisions[2].n_targets == 2);
	plan_clear_group(&pb, &mem, pl, pb.group_of[3], 1u << 0);
	ck_assert(pl->n == 2 && pl->decisions[0].role == ROLE_ACTION_ZERO3 &&
		pl->decisions[1].n_targets == 2);
	/* axes change places, but for what is fixed */
	pl->decisions[0].fixed = true;
	plan_exchange_axes(&of, pl, 0, 1, ID_NONE);
	ck_assert(pl->decisions[0].axis == 1 && pl->decisions[1].axis == 0 && pl->n == 2);
	/* those of one group alone */
	pl->decisions[0].fixed = false;
	pl->decisions[0].group = x;
	plan_exchange_axes(&of, pl, 0, 1, x);
	ck_assert(pl->decisions[0].axis == 0 && pl->decisions[1].axis == 0);
	plan_exchange_axes(&of, pl, 0, 1, pb.group_of[3]);
	ck_assert(pl->decisions[0].axis == 0 && pl->decisions[1].axis == 0);
	free(pl);
	scope_release(&of);
	arena_release(&mem);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

/* Momentum: w' = w - m', m' = m / 2 + gradient; the batch is one argument. */
static const char *const momentum =
	"module @jit_step {\n"
	"  func.func public @main(%arg0: tensor<64x32xf32> {tf.aliasing_output = 0 : i32} "
	"loc(\"params['w']\"), %arg1: tensor<64x32xf32> {tf.aliasing_output = 1 : i32} "
	"loc(\"state['w']\"), %arg2: tensor<32x64xf32> {tf.aliasing_output = 2 : i32} "
	"loc(\"params['v']\"), %arg3: tensor<8x64xf32> loc(\"batch\")) -> "
	"(tensor<64x32xf32>, tensor<64x32xf32>, tensor<32x64xf32>) {\n"
	"    %0 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [1] x [0] : "
	"(tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>\n"
	"    %1 = stablehlo.dot_general %arg3, %0, contracting_dims = [0] x [0] : (tensor<8x64xf32>, "
	"tensor<8x32xf32>) -> tensor<64x32xf32>\n"
	"    %2 = stablehlo.dot_general %0, %arg3, contracting_dims = [0] x [0] : (tensor<8x32xf32>, "
	"tensor<8x64xf32>) -> tensor<32x64xf32>\n"
	"    %half = stablehlo.constant dense<5.000000e-01> : tensor<64x32xf32>\n"
	"    %3 = stablehlo.multiply %arg1, %half : tensor<64x32xf32>\n"
	"    %4 = stablehlo.add %3, %1 : tensor<64x32xf32>\n"
	"    %5 = stablehlo.subtract %arg0, %4 : tensor<64x32xf32>\n"
	"    %6 = stablehlo.dot_general %0, %arg2, contracting_dims = [1] x [0] : (tensor<8x32xf32>, "
	"tensor<32x64xf32>) -> tensor<8x64xf32>\n"
	"    %7 = stablehlo.dot_general %0, %6, contracting_dims = [0] x [0] : (tensor<8x32xf32>, "
	"tensor<8x64xf32>) -> tensor<32x64xf32>\n"
	"    %8 = stablehlo.subtract %arg2, %7 : tensor<32x64xf32>\n"
	"    return %5, %4, %8 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<32x64xf32>\n"
	"  }\n"
	"}\n";

/* The state of a parameter is found; of a ZeRO decision a group's parameters change between whole
 * and cut, their state does not. */
START_TEST(parameters_and_their_state)
{
	fixture f;
	problem pb;
	arena mem = {0};
	setup_problem(&f, &pb, momentum, "data=4");
	ck_assert(pb.roles[0] == ROLE_PARAMETER && pb.roles[1] == ROLE_STATE &&
		pb.roles[2] == ROLE_PARAMETER);
	ck_assert(pb.param_of[1] == 0 && pb.param_of[0] == ID_NONE && pb.param_of[2] == ID_NONE &&
		pb.param_of[3] == ID_NONE);
	plan *pl = xcalloc(1, sizeof *pl);
	const action *zero3 = action_of_role(&pb, ROLE_ACTION_ZERO3, 0),
				 *batch = action_of_role(&pb, ROLE_ACTION_DATA_PARALLEL, 0);
	plan_insert(pl, 0, batch, "test");
	ck_assert_uint_eq(plan_zero_at(pl), 1); /* none: the end */
	plan_insert(pl, 0, zero3, "test");
	ck_assert_uint_eq(plan_zero_at(pl), 0);
	uint32_t group = pb.group_of[0];
	ck_assert(pb.group_of[2] != group &&
		!plan_exchange_zero(&pb, &mem, pl, 1, group)); /* the batch decision has no parameters */
	ck_assert(!plan_exchange_zero(&pb, &mem, pl, 0, pb.group_of[1])); /* a group of state alone */
	for (int turn = 0; turn < 2; turn++) {                            /* there and back */
		ck_assert(plan_exchange_zero(&pb, &mem, pl, 0, group) && !pl->decisions[0].on_role &&
			pl->decisions[0].n_targets == zero3->n_targets);
		for (uint32_t i = 0; i < zero3->n_targets; i++) {
			action_target t = pl->decisions[0].targets[i];
			ck_assert(t.arg == zero3->targets[i].arg &&
				t.dim == (t.arg == 0 && !turn ? DIM_KEEP : DIM_LARGEST));
		}
	}
	free(pl);
	arena_release(&mem);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

/* Finds tactics and lists composite plans; returns evaluations used. */
static uint64_t complete(const fixture *f, problem *pb, uint64_t budget, bool (*stop)(void *),
	tactic_space *ts, completion_list *out)
{
	searching s;
	begin_searching(&s, f, pb, stop);
	*ts = (tactic_space){.pb = pb, .goal = &s.goal, .pool = s.pool, .of = &s.of};
	out->n = 0;
	if (tactics_find(ts, budget))
		completions_list(ts, 400, out);
	uint64_t used = ts->used;
	end_searching(&s);
	return used;
}

/* What cuts batch and weights is found, and every plan has a path of its own. */
START_TEST(composite_plans)
{
	fixture f;
	problem pb;
	setup_problem(&f, &pb, mlp, "data=4,model=4");
	completion_list list = {0}, again = {0};
	tactic_space *ts = xcalloc(1, sizeof *ts);
	uint64_t used = complete(&f, &pb, 2000, never, ts, &list);
	ck_assert(used > 0 && used <= 2000 && list.n > 20);
	bool batch = false, weights = false;
	for (uint32_t i = 0; i < list.n; i++) {
		const completion *c = &list.p[i];
		for (uint32_t k = 0; k < i; k++)
			ck_assert(list.p[k].depth != c->depth ||
				memcmp(list.p[k].path, c->path, c->depth * sizeof *c->path));
		for (uint32_t k = 0; k < c->pl.n; k++)
			batch |=
				c->pl.decisions[k].on_role && c->pl.decisions[k].role == ROLE_ACTION_DATA_PARALLEL;
	}
	for (uint32_t i = 0; i < ts->n_sets; i++)
		for (tactic_id t = CUTS_WEIGHTS; t < TACTICS; t++)
			for (uint32_t k = 0; k < ts->sets[i].instance[t].n; k++) {
				const action *a = &ts->sets[i].instance[t].decisions[k];
				weights |=
					a->kind == ACTION_PARTITION && pb.roles[a->targets[0].arg] == ROLE_PARAMETER;
			}
	ck_assert(batch && weights);
	/* any number of threads, any second time */
	f.o.threads = 3;
	ck_assert_uint_eq(complete(&f, &pb, 2000, never, ts, &again), used);
	ck_assert_uint_eq(again.n, list.n);
	for (uint32_t i = 0; i < list.n; i++) {
		ck_assert_uint_eq(again.p[i].pl.n, list.p[i].pl.n);
		for (uint32_t k = 0; k < list.p[i].pl.n; k++)
			ck_assert(again.p[i].pl.decisions[k].axis == list.p[i].pl.decisions[k].axis &&
				again.p[i].pl.decisions[k].n_targets == list.p[i].pl.decisions[k].n_targets);
	}
	/* a budget is kept; nothing is tried when it is time to stop */
	for (uint64_t budget = 0; budget < 40; budget += 3)
		ck_assert(complete(&f, &pb, budget, never, ts, &again) <= budget);
	ck_assert_uint_eq(complete(&f, &pb, 0, never, ts, &again), 0);
	ck_assert_uint_eq(complete(&f, &pb, 2000, always, ts, &again), 0);
	free(ts);
	vec_release(&list);
	vec_release(&again);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

/* The effects of an action are found by what they depend on and nothing else; a memo that is full
 * starts over. */
START_TEST(remembered_effects)
{
	enum { VALUES = 6, ARGS = 2 };
	action_target one = {1, 0}, same = {1, 0}, two = {2, 0};
	action a = {.axis = 0, .targets = &one, .n_targets = 1},
		   like = {.axis = 0, .targets = &same, .n_targets = 1},
		   b = {.axis = 1, .targets = &two, .n_targets = 1};
	sharding_id state[VALUES] = {1, 2, 3, 4, 5, 6};
	uint32_t kept[ARGS] = {0, 3};
	decision_memo *m = decision_memo_new(VALUES, ARGS, 1 << 14);
	ck_assert(!decision_memo_find(m, &a, state, kept));
	/* value 2 is asked for first; where it is 3 what argument 1 keeps matters too, where it is 9
	 * value 4 does */
	value_is first[] = {{2, 3}, {VALUES + 1, 3}}, second[] = {{2, 9}, {4, 5}},
			 third[] = {{2, 9}, {4, 8}}, change[] = {{0, 7}, {5, 8}};
	uint32_t sizes[] = {12};
	decision_memo_add(m, &a, first, 2, change, 2,
		&(effect){.done = true, .stable = true, .hash = 5, .dims = sizes, .n_dims = 1});
	decision_memo_add(m, &a, second, 2, change, 0, &(effect){.uneven = true});
	decision_memo_add(m, &a, third, 2, change, 2,
		&(effect){.done = true, .stable = true, .hash = 5, .dims = sizes, .n_dims = 1});
	change[0].v = sizes[0] = 0;
	const effect *known = decision_memo_find(m, &like, state, kept);
	ck_assert(known && known->done && known->stable && known->hash == 5 && known->n_values == 2 &&
		known->n_dims == 1 && known->dims[0] == 12);
	ck_assert(effect_value(known, 0).v == 0 && effect_value(known, 0).is == 7 &&
		effect_value(known, 1).v == 5 && effect_value(known, 1).is == 8);
	ck_assert(!decision_memo_find(m, &b, state, kept));
	state[4] = 11; /* nobody asks for it yet */
	ck_assert(decision_memo_find(m, &a, state, kept) == known);
	kept[1] = 1;
	ck_assert(!decision_memo_find(m, &a, state, kept));
	state[2] = 9;
	ck_assert(!decision_memo_find(m, &a, state, kept));
	state[4] = 5;
	ck_assert(decision_memo_find(m, &a, state, kept)->uneven &&
		!decision_memo_find(m, &a, state, kept)->done);
	state[4] = 8;
	ck_assert(decision_memo_find(m, &a, state, kept) == known); /* kept once */
	/* what does not fit into a word is not remembered, what is there already changes nothing */
	value_is large = {1, UINT32_MAX / 2};
	decision_memo_add(m, &b, &large, 1, change, 0, &(effect){.uneven = true});
	state[1] = large.is;
	ck_assert(!decision_memo_find(m, &b, state, kept));
	decision_memo_add(m, &a, third, 2, change, 0, &(effect){.uneven = true});
	ck_assert(decision_memo_find(m, &a, state, kept) == known);
	for (uint32_t i = 0; i < 1000; i++)
		decision_memo_add(
			m, &b, &(value_is){0, i}, 1, change, 2, &(effect){.done = true, .hash = i});
	ck_assert(!decision_memo_find(m, &a, state, kept));
	state[0] = 999;
	ck_assert_uint_eq(decision_memo_find(m, &b, state, kept)->hash, 999);
	decision_memo_free(m);
}
END_TEST

/* Where nothing fits, what comes nearer to the limit is better, but not whatever it takes. */
START_TEST(too_large_is_memory_and_some_time)
{
	const int64_t mib = 1 << 20;
	cost small = {.peak_bytes = 23040 * mib, .runtime_ns = 1990000000},
		 fast = {.peak_bytes = 24064 * mib, .runtime_ns = 551000000};
	ck_assert_int_lt(cost_too_large(&fast),
		cost_too_large(&small)); /* a twentieth of the memory for 3.6 times the time */
	small.runtime_ns = 661000000;
	ck_assert_int_lt(cost_too_large(&small), cost_too_large(&fast)); /* the same for a fifth */
	small = (cost){.peak_bytes = 12032 * mib, .runtime_ns = 50 * fast.runtime_ns};
	ck_assert_int_lt(cost_too_large(&small),
		cost_too_large(&fast)); /* half of the memory is worth nearly any time */
	/* falls with either, and is more than any time of a step */
	int64_t last = INT64_MAX;
	for (cost c = {.peak_bytes = INT64_MAX / 4, .runtime_ns = INT64_MAX / 4}; c.peak_bytes > 4;
		 c.peak_bytes -= c.peak_bytes / 4, c.runtime_ns -= c.runtime_ns / 4) {
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
	tcase_add_test(t, composite_plans);
	tcase_add_test(t, descents);
	tcase_add_test(t, levels_of_a_descent);
	tcase_add_test(t, descents_that_meet);
	tcase_add_test(t, walks_end);
	tcase_add_test(t, plans_and_twins);
	tcase_add_test(t, parameters_and_their_state);
	tcase_add_test(t, remembered_effects);
	tcase_add_test(t, too_large_is_memory_and_some_time);
	return run_suite(t, "plans");
}
