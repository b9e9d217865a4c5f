/* The search against exhaustive enumeration on small programs, and its promises: never worse than a
 * baseline, equal answers for any number of threads, exact undo, pins, forbids, schedules, budgets.
 */
#include "tests/unit/search_fixture.h"
#include "tests/unit/run_suite.h"

/* Prime sizes: nothing divides. */
static const char *const indivisible =
	"module @m {\n"
	"  func.func public @main(%arg0: tensor<7x13xf32>, %arg1: tensor<13x11xf32>) -> "
	"tensor<7x11xf32> {\n"
	"    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : "
	"(tensor<7x13xf32>, tensor<13x11xf32>) -> tensor<7x11xf32>\n"
	"    return %0 : tensor<7x11xf32>\n"
	"  }\n"
	"}\n";

static void expect_run(fixture *f, search_result *r)
{
	diag d = {0};
	status s = search_run(f->m, &f->o, r, &d);
	ck_assert_msg(s == ST_OK, "%s", d.msg);
}

/* ---------------------------------------------------------------- exhaustive */

typedef struct exhaustive {
	evaluator *ev;
	const problem *pb;
	const action_list *actions;
	index_map seen;
	score best;
	cost best_cost;
	bool any;
	uint32_t states;
} exhaustive;

static void visit(exhaustive *x, uint32_t depth)
{
	uint64_t h = evaluator_hash(x->ev);
	uint32_t id, it = index_first(&x->seen, h);
	if (index_next(&x->seen, h, &it, &id))
		return;
	index_add(&x->seen, h, 1);
	x->states++;
	cost c;
	evaluator_cost(x->ev, &c);
	score s = score_final(x->pb, &c);
	if (!x->any || score_less(s, x->best)) {
		x->best = s;
		x->best_cost = c;
		x->any = true;
	}
	if (depth == 0)
		return;
	uint32_t at = evaluator_depth(x->ev);
	for (uint32_t a = 0; a < x->actions->n; a++)
		if (evaluator_decide(x->ev, &x->actions->p[a])) {
			visit(x, depth - 1);
			evaluator_undo(x->ev, at);
		}
}

static exhaustive enumerate(fixture *f, uint32_t depth)
{
	diag d = {0};
	problem pb;
	action_list actions = {0};
	ck_assert_msg(problem_init(&pb, f->m, &f->o, &d) == ST_OK, "%s", d.msg);
	exhaustive x = {.ev = evaluator_new(&pb), .pb = &pb, .actions = &actions};
	actions_make(&pb, UINT32_MAX, NULL, &actions);
	visit(&x, depth);
	evaluator_free(x.ev);
	index_release(&x.seen);
	vec_release(&actions);
	problem_release(&pb);
	return x;
}

static void reaches_optimum(const char *mesh_text, int64_t memory, objective wanted)
{
	fixture f;
	search_result r;
	setup(&f, mlp, mesh_text);
	f.o.memory_limit = memory;
	f.o.objective = wanted;
	exhaustive x = enumerate(&f, 4);
	ck_assert_uint_gt(x.states, 20);
	expect_run(&f, &r);
	ck_assert_msg(
		!score_less(x.best,
			(score){r.fits,
				wanted == OBJECTIVE_MEMORY || !r.fits ? r.cost.peak_bytes : r.cost.runtime_ns,
				wanted == OBJECTIVE_MEMORY || !r.fits ? r.cost.runtime_ns : r.cost.peak_bytes}),
		"%s: exhaustive search of %u states finds %lld ns and %lld bytes, the tree search %lld ns "
		"and %lld bytes",
		mesh_text, x.states, (long long)x.best_cost.runtime_ns, (long long)x.best_cost.peak_bytes,
		(long long)r.cost.runtime_ns, (long long)r.cost.peak_bytes);
	search_result_release(&r);
	teardown(&f);
}

START_TEST(optimum_runtime) { reaches_optimum("data=2,model=2", 1ll << 34, OBJECTIVE_RUNTIME); }
END_TEST
START_TEST(optimum_one_axis) { reaches_optimum("x=8", 1ll << 34, OBJECTIVE_RUNTIME); }
END_TEST
START_TEST(optimum_memory) { reaches_optimum("data=2,model=2", 1ll << 34, OBJECTIVE_MEMORY); }
END_TEST
START_TEST(optimum_tight) { reaches_optimum("data=2,model=4", 6 << 20, OBJECTIVE_RUNTIME); }
END_TEST

/* ---------------------------------------------------------------- promises */

static void same_answer(const search_result *a, const search_result *b)
{
	ck_assert_int_eq(a->cost.runtime_ns, b->cost.runtime_ns);
	ck_assert_int_eq(a->cost.peak_bytes, b->cost.peak_bytes);
	ck_assert_uint_eq(a->evaluations, b->evaluations);
	ck_assert_uint_eq(a->nodes, b->nodes);
	ck_assert_uint_eq(a->best.n_actions, b->best.n_actions);
	ck_assert_uint_eq(a->incumbents.n, b->incumbents.n);
}

START_TEST(threads_do_not_matter)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		search_result r[3];
		fixture f[3];
		for (int i = 0; i < 3; i++) {
			setup(&f[i], mlp, "data=2,model=4");
			f[i].o.threads = (uint32_t)i + 1;
			f[i].o.seed = seed;
			f[i].o.evaluations = 300;
			expect_run(&f[i], &r[i]);
			strbuf a = {0}, b = {0};
			diag d = {0};
			ck_assert_int_eq(document_write(f[i].m, &f[i].o, &r[i], &a, &d), ST_OK);
			ck_assert_uint_gt(a.n, 500);
			strbuf_release(&a);
			strbuf_release(&b);
		}
		same_answer(&r[0], &r[1]);
		same_answer(&r[0], &r[2]);
		for (int i = 0; i < 3; i++) {
			search_result_release(&r[i]);
			teardown(&f[i]);
		}
	}
}
END_TEST

START_TEST(never_worse_than_baselines)
{
	static const char *const meshes[] = {"x=2", "x=4,y=2", "x=2,y=2,z=2", "x=1,y=8", "x=3"};
	for (size_t i = 0; i < COUNT_OF(meshes); i++) {
		fixture f;
		search_result r;
		setup(&f, mlp, meshes[i]);
		f.o.evaluations = 60;
		expect_run(&f, &r);
		ck_assert_uint_ge(r.baselines.n, 4);
		for (uint32_t b = 0; b < r.baselines.n; b++)
			ck_assert_msg(!r.baselines.p[b].fits ||
					(r.fits && r.cost.runtime_ns <= r.baselines.p[b].cost.runtime_ns),
				"%s is better on %s", r.baselines.p[b].name.p, meshes[i]);
		search_result_release(&r);
		teardown(&f);
	}
}
END_TEST

START_TEST(undo_is_exact)
{
	fixture f;
	diag d = {0};
	problem pb;
	action_list actions = {0};
	setup(&f, mlp, "data=2,model=4");
	ck_assert_int_eq(problem_init(&pb, f.m, &f.o, &d), ST_OK);
	evaluator *ev = evaluator_new(&pb);
	actions_make(&pb, UINT32_MAX, NULL, &actions);
	ck_assert_uint_gt(actions.n, 6);
	rng random;
	rng_seed(&random, 11, 0);
	uint64_t hashes[MAX_PLAN + 1];
	cost costs[MAX_PLAN + 1];
	plan path = {0};
	for (int k = 0; k < 400; k++) {
		uint32_t depth = evaluator_depth(ev);
		hashes[depth] = evaluator_hash(ev);
		evaluator_cost(ev, &costs[depth]);
		if (depth == 5 || rng_below(&random, 3) == 0) {
			uint32_t to = rng_below(&random, depth + 1);
			evaluator_undo(ev, to);
			path.n = to;
			cost c;
			evaluator_cost(ev, &c);
			ck_assert_uint_eq(evaluator_hash(ev), hashes[to]);
			ck_assert_int_eq(c.runtime_ns, costs[to].runtime_ns);
			ck_assert_int_eq(c.peak_bytes, costs[to].peak_bytes);
		} else {
			const action *a = &actions.p[rng_below(&random, actions.n)];
			if (evaluator_decide(ev, a)) {
				path.decisions[path.n] = *a;
				path.tactics[path.n++] = "test";
			}
			if (k % 20 == 0)
				ck_assert(evaluator_self_check(ev, &path));
		}
	}
	evaluator_free(ev);
	vec_release(&actions);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

START_TEST(roles_and_pairs)
{
	fixture f;
	diag d = {0};
	problem pb;
	setup(&f, mlp, "data=2");
	ck_assert_int_eq(problem_init(&pb, f.m, &f.o, &d), ST_OK);
	ck_assert_str_eq(pb.pairing, "donation");
	ck_assert_int_eq(pb.roles[0], ROLE_PARAMETER);
	ck_assert_int_eq(pb.roles[2], ROLE_DATA);
	ck_assert_int_eq(pb.result_of_arg[1], 1);
	problem_release(&pb);
	teardown(&f);
	/* Without donation the dataflow pairs the updates. */
	char *plain = strdup(mlp);
	for (char *c; (c = strstr(plain, "{tf.aliasing_output = "));)
		memset(c, ' ', strlen("{tf.aliasing_output = 0 : i32}"));
	setup(&f, plain, "data=2");
	ck_assert_int_eq(problem_init(&pb, f.m, &f.o, &d), ST_OK);
	ck_assert_str_eq(pb.pairing, "dataflow");
	ck_assert_int_eq(pb.result_of_arg[0], 0);
	ck_assert_int_eq(pb.result_of_arg[1], 1);
	ck_assert_int_eq(pb.result_of_arg[2], -1);
	problem_release(&pb);
	teardown(&f);
	free(plain);
}
END_TEST

/* What the evaluator expects of a replay is what a replay on the annotated module finds, inner
 * constraints included. */
START_TEST(expected_replays_are_replays)
{
	fixture f;
	diag d = {0};
	problem pb;
	setup(&f, mlp, "data=2,model=2");
	ck_assert_int_eq(problem_init(&pb, f.m, &f.o, &d), ST_OK);
	ck_assert_uint_gt(pb.n_activation_classes, 0);
	action_list actions = {0};
	actions_make(&pb, UINT32_MAX, NULL, &actions);
	rng random;
	rng_seed(&random, 3, 0);
	evaluator *ev = evaluator_new(&pb);
	uint32_t constrained = 0;
	for (int k = 0; k < 60; k++) {
		plan pl = {0};
		cost expected, found;
		goal answer = goal_of_answer(&pb);
		bool allowed, constrains = false;
		strategy s;
		for (uint32_t n = 1 + rng_below(&random, 4); pl.n < n; pl.n++) {
			/* Every second plan begins with a constraint. */
			do
				pl.decisions[pl.n] = actions.p[rng_below(&random, actions.n)];
			while (k % 2 && pl.n == 0 && pl.decisions[0].kind != ACTION_CONSTRAIN);
			pl.tactics[pl.n] = "test";
		}
		evaluator_run(ev, &pl, NULL);
		for (uint32_t i = 0; i < pl.n; i++)
			constrains |= pl.decisions[i].kind == ACTION_CONSTRAIN;
		evaluator_replay(ev, &answer, &expected, &allowed);
		evaluator_strategy(ev, &pl, &s);
		ck_assert(constrains == (s.n_constraints > 0));
		ck_assert_msg(replay_strategy(&pb, f.m, &s, &found, &allowed, &d) == ST_OK, "%s", d.msg);
		ck_assert_int_eq(expected.runtime_ns, found.runtime_ns);
		ck_assert_int_eq(expected.peak_bytes, found.peak_bytes);
		constrained += constrains;
		strategy_release(&s);
	}
	ck_assert_uint_gt(constrained, 10);
	evaluator_free(ev);
	vec_release(&actions);
	problem_release(&pb);
	teardown(&f);
}
END_TEST

/* A decoding step: only the cache is carried. What lies along the tokens' batch is data, the cache
 * too; weights are parameters though no step updates them, and so is a table of positions; a random
 * key is neither. */
static const char *const decoding =
	"module @m {\n"
	"  func.func public @main(%tokens: tensor<8x4xi32>, %embed: tensor<64x16xf32>, %positions: "
	"tensor<4x16xf32>, %w: tensor<16x32xf32>, %key: tensor<2xui32>,\n"
	"      %cache: tensor<3x8x32xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<3x8x32xf32>, "
	"tensor<2xui32>) {\n"
	"    %0 = \"stablehlo.gather\"(%embed, %tokens) <{dimension_numbers = "
	"#stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], "
	"index_vector_dim = 2>, slice_sizes = array<i64: 1, 16>}> : (tensor<64x16xf32>, "
	"tensor<8x4xi32>) -> tensor<8x4x16xf32>\n"
	"    %1 = stablehlo.broadcast_in_dim %positions, dims = [1, 2] : (tensor<4x16xf32>) -> "
	"tensor<8x4x16xf32>\n"
	"    %2 = stablehlo.add %0, %1 : tensor<8x4x16xf32>\n"
	"    %3 = stablehlo.dot_general %2, %w, contracting_dims = [2] x [0] : (tensor<8x4x16xf32>, "
	"tensor<16x32xf32>) -> tensor<8x4x32xf32>\n"
	"    %4 = stablehlo.transpose %3, dims = [1, 0, 2] : (tensor<8x4x32xf32>) -> "
	"tensor<4x8x32xf32>\n"
	"    %5 = stablehlo.slice %4 [0:3, 0:8, 0:32] : (tensor<4x8x32xf32>) -> tensor<3x8x32xf32>\n"
	"    %6 = stablehlo.add %5, %cache : tensor<3x8x32xf32>\n"
	"    %7 = stablehlo.dot_general %6, %w, contracting_dims = [2] x [1] : (tensor<3x8x32xf32>, "
	"tensor<16x32xf32>) -> tensor<3x8x16xf32>\n"
	"    %8 = stablehlo.dot_general %7, %w, contracting_dims = [2] x [0] : (tensor<3x8x16xf32>, "
	"tensor<16x32xf32>) -> tensor<3x8x32xf32>\n"
	"    return %8, %key : tensor<3x8x32xf32>, tensor<2xui32>\n"
	"  }\n"
	"}\n";

START_TEST(roles_by_dims)
{
	static const role want[] = {
		ROLE_DATA, ROLE_PARAMETER, ROLE_PARAMETER, ROLE_PARAMETER, ROLE_OTHER, ROLE_DATA};
	static const uint32_t batch[] = {0, ID_NONE, ID_NONE, ID_NONE, ID_NONE, 1};
	fixture f;
	diag d = {0};
	problem pb;
	setup(&f, decoding, "data=2");
	ck_assert_int_eq(problem_init(&pb, f.m, &f.o, &d), ST_OK);
	for (uint32_t a = 0; a < COUNT_OF(want); a++) {
		ck_assert_msg(pb.roles[a] == want[a], "argument %u is %s", a, role_name(pb.roles[a]));
		ck_assert_msg(
			pb.batch_dim[a] == batch[a], "argument %u has batch dim %d", a, (int)pb.batch_dim[a]);
	}
	problem_release(&pb);
	teardown(&f);
}
END_TEST

/* A search without one of its parts is still a search: at least as good as the baselines, within
 * its budget. */
START_TEST(parts_left_out)
{
	for (uint32_t part = 0; part < 7; part++) {
		fixture f;
		search_result r;
		setup(&f, mlp, "x=4,y=2");
		f.o.evaluations = 400;
		f.o.without = part ? 1u << (part - 1) : 0;
		expect_run(&f, &r);
		ck_assert_uint_le(r.evaluations, 400 + 64);
		ck_assert_uint_gt(r.nodes, 1);
		for (uint32_t b = 0; b < r.baselines.n; b++)
			ck_assert_int_le(r.cost.runtime_ns, r.baselines.p[b].cost.runtime_ns);
		search_result_release(&r);
		teardown(&f);
	}
}
END_TEST

START_TEST(pins_and_forbids)
{
	fixture f;
	search_result r;
	diag d = {0};
	search_pin pins[] = {{"params*w1*", "[[],[\"model\"]]"}, {"params*", "[[\"data\"],[]]"}};
	setup(&f, mlp, "data=2,model=4");
	f.o.evaluations = 100;
	f.o.pins = pins;
	f.o.n_pins = 1;
	expect_run(&f, &r);
	const sharding *s = sharding_get(f.m->shardings, r.best.args[0]);
	ck_assert_uint_eq(s->dims[0].n, 0);
	ck_assert_uint_eq(s->dims[1].n, 1);
	search_result_release(&r);
	teardown(&f);

	setup(&f, mlp, "data=2,model=4");
	f.o.pins = pins;
	f.o.n_pins = 2;
	ck_assert_int_eq(search_run(f.m, &f.o, &r, &d), ST_ERR_INVALID);
	ck_assert_ptr_nonnull(strstr(d.msg, "params*w1*"));
	ck_assert_ptr_nonnull(strstr(d.msg, "'params*:"));
	diag_clear(&d);
	f.o.n_pins = 1;
	pins[0].sharding = "[[],[\"nowhere\"]]";
	ck_assert_int_eq(search_run(f.m, &f.o, &r, &d), ST_ERR_INVALID);
	ck_assert_ptr_nonnull(strstr(d.msg, "nowhere"));
	teardown(&f);

	search_forbid forbids[] = {{"batch*", "data", 0}, {"batch*", "model", 0}};
	setup(&f, mlp, "data=2,model=4");
	f.o.forbids = forbids;
	f.o.n_forbids = 2;
	f.o.evaluations = 200;
	expect_run(&f, &r);
	for (uint32_t a = 2; a < 4; a++)
		if (r.best.args[a] != SHARDING_NONE)
			ck_assert_uint_eq(sharding_get(f.m->shardings, r.best.args[a])->dims[0].n, 0);
	search_result_release(&r);
	teardown(&f);
}
END_TEST

START_TEST(schedules)
{
	fixture f;
	search_result r;
	diag d = {0};
	setup(&f, mlp, "data=2,model=4");
	f.o.schedule_json = "{\"tactics\":[{\"manual\":{\"arguments\":\"batch*\",\"dimension\":0,"
						"\"axis\":\"data\"}},{\"named\":\"zero3\",\"axis\":\"data\"}]}";
	expect_run(&f, &r);
	ck_assert_uint_ge(r.evaluations, 2);
	search_result_release(&r);
	static const char *const wrong[][2] = {
		{"{\"tactics\":[{\"manual\":{\"arguments\":\"nothing*\",\"dimension\":0,\"axis\":\"data\"}}"
		 "]}",
			"nothing*"},
		{"{\"tactics\":[{\"named\":\"zero9\",\"axis\":\"data\"}]}", "zero9"},
		{"{\"tactics\":[{\"named\":\"zero2\",\"axis\":\"rows\"}]}", "rows"},
		{"{\"tactics\":[{\"auto\":{\"axis\":[\"data\"]}}]}", "axis"},
		{"{\"tactics\":7}", "tactics"},
		{"{\"tactics\":[", "JSON"},
	};
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		f.o.schedule_json = wrong[i][0];
		diag_clear(&d);
		ck_assert_int_ne(search_run(f.m, &f.o, &r, &d), ST_OK);
		ck_assert_msg(strstr(d.msg, wrong[i][1]) != NULL, "%s", d.msg);
	}
	teardown(&f);
}
END_TEST

START_TEST(edges_of_the_problem)
{
	fixture f;
	search_result r;
	/* nothing divides: the answer is replication, and it is defined */
	setup(&f, indivisible, "x=4,y=2");
	expect_run(&f, &r);
	ck_assert(r.fits);
	search_result_release(&r);
	teardown(&f);
	/* one device, one evaluation, a memory limit that nothing meets */
	setup(&f, mlp, "x=1");
	f.o.evaluations = 1;
	f.o.memory_limit = 1024;
	expect_run(&f, &r);
	ck_assert(!r.fits);
	ck_assert_int_gt(r.cost.peak_bytes, 1024);
	search_result_release(&r);
	teardown(&f);
	/* a million devices */
	setup(&f, mlp, "x=1024,y=1024");
	f.o.evaluations = 50;
	expect_run(&f, &r);
	search_result_release(&r);
	teardown(&f);
	/* interrupted before it began: the first baseline is the answer, and nothing else is waited for
	 */
	atomic_int stop = 1;
	setup(&f, mlp, "x=4");
	f.o.stop = &stop;
	expect_run(&f, &r);
	ck_assert(r.interrupted);
	ck_assert_uint_eq(r.baselines.n, 1);
	search_result_release(&r);
	teardown(&f);
}
END_TEST

typedef struct stopping {
	const search_result *r;
	atomic_int stop;
	uint64_t evaluations, replays; /* when it was told to stop */
} stopping;

static void stop_search(void *user, const search_event *e)
{
	stopping *s = user;
	if (e->evaluation < 100 || s->evaluations)
		return;
	s->evaluations = e->evaluation;
	s->replays = s->r->replays;
	atomic_store(&s->stop, 1);
}

/* Who is told to stop gets the best so far, replayed as it is applied: no alternative, no baseline,
 * no second best plan is replayed any more. */
START_TEST(little_is_done_after_a_stop)
{
	enum { MOST = 2 };
	fixture f;
	search_result r, whole;
	setup(&f, mlp, "x=2,y=2");
	f.o.alternatives = 4;
	f.o.apply = APPLY_EXACT;
	stopping s = {.r = &r};
	f.o.stop = &s.stop;
	f.o.on_event = stop_search;
	f.o.user = &s;
	expect_run(&f, &r);
	ck_assert(r.interrupted);
	ck_assert_uint_ge(s.evaluations, 100);
	ck_assert_uint_eq(r.evaluations, s.evaluations);
	ck_assert_uint_le(r.replays, s.replays + MOST);
	ck_assert_uint_eq(r.alternatives.n, 0);
	/* where nobody stops it, that many evaluations are followed by more than that */
	f.o.stop = NULL;
	f.o.on_event = NULL;
	f.o.evaluations = s.evaluations;
	expect_run(&f, &whole);
	ck_assert_uint_gt(whole.replays, s.replays + MOST + 4);
	search_result_release(&r);
	search_result_release(&whole);
	teardown(&f);
}
END_TEST

START_TEST(strategy_round_trip)
{
	fixture f;
	search_result r;
	diag d = {0};
	strbuf text = {0};
	char device_name[64];
	int64_t limit;
	strategy again;
	module *annotated;
	cost c;
	setup(&f, mlp, "data=2,model=4");
	f.o.evaluations = 300;
	expect_run(&f, &r);
	ck_assert_int_eq(document_write(f.m, &f.o, &r, &text, &d), ST_OK);
	ck_assert_msg(
		strategy_read(f.m, text.p, text.n, &again, device_name, &limit, &d) == ST_OK, "%s", d.msg);
	ck_assert_str_eq(device_name, "tpu-v5e");
	for (uint32_t a = 0; a < again.n_args; a++)
		ck_assert_uint_eq(again.args[a], r.best.args[a]);
	ck_assert_int_eq(strategy_apply(f.m, &again, &annotated, &d), ST_OK);
	ck_assert_int_eq(
		simulate_applied(annotated, &f.dev, APPLY_ANNOTATE, NULL, &c, NULL, &d), ST_OK);
	ck_assert_int_eq(c.runtime_ns, r.cost.runtime_ns);
	ck_assert_int_eq(c.peak_bytes, r.cost.peak_bytes);
	module_free(annotated);
	strategy_release(&again);
	strbuf_release(&text);
	search_result_release(&r);
	teardown(&f);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("search");
	tcase_add_test(t, optimum_runtime);
	tcase_add_test(t, optimum_one_axis);
	tcase_add_test(t, optimum_memory);
	tcase_add_test(t, optimum_tight);
	tcase_add_test(t, threads_do_not_matter);
	tcase_add_test(t, never_worse_than_baselines);
	tcase_add_test(t, undo_is_exact);
	tcase_add_test(t, roles_and_pairs);
	tcase_add_test(t, roles_by_dims);
	tcase_add_test(t, expected_replays_are_replays);
	tcase_add_test(t, parts_left_out);
	tcase_add_test(t, pins_and_forbids);
	tcase_add_test(t, schedules);
	tcase_add_test(t, edges_of_the_problem);
	tcase_add_test(t, little_is_done_after_a_stop);
	tcase_add_test(t, strategy_round_trip);
	return run_suite(t, "search");
}
