/* Folding: a program with repeated layers is evaluated from a few of them, and every state and
 * every cost is exactly that of the whole program; what treats layers differently unfolds. */
#include "tests/unit/problem_fixture.h"
#include "tests/unit/run_suite.h"

#include <stdlib.h>

enum {
	FORWARD = 0,
	TRAIN = 1,
	ODD_LAYER = 2 /* one layer in the middle is another */,
	LOOPS = 4 /* in layers, before and behind them */,
	BRANCHES = 8,
	CLIP = 16 /* gradients are scaled by the norm of them all, which is summed in the order of
	             layers' names */
};

#define X "tensor<16x32xf32>"
#define W "tensor<32x32xf32>"
#define B "tensor<32xf32>"
#define R "tensor<16xf32>"

/* %y = %x times the sum of its row. */
static void normalise(strbuf *t, const char *y, const char *x, uint32_t i)
{
	strbuf_printf(t,
		"    %%%sr%u = stablehlo.reduce(%%%s%u init: %%zero) applies stablehlo.add across "
		"dimensions = [1] : (" X ", tensor<f32>) -> " R "\n",
		y, i, x, i);
	strbuf_printf(t,
		"    %%%sb%u = stablehlo.broadcast_in_dim %%%sr%u, dims = [0] : (" R ") -> " X "\n", y, i,
		y, i);
	strbuf_printf(t, "    %%%s%u = stablehlo.multiply %%%s%u, %%%sb%u : " X "\n", y, i, x, i, y, i);
}

static const char *activation(uint32_t layer, uint32_t layers, int kind)
{
	return kind & ODD_LAYER && layer == layers / 2 ? "sine" : "tanh";
}

/* %y: %x multiplied by a weight so many times. Nothing reads the loop's third value; inside there
 * is a product of it to sum. */
static void loop(strbuf *t, const char *y, const char *x, const char *w, int trips)
{
	strbuf_printf(t,
		"    %%%s_0 = stablehlo.constant dense<0> : tensor<i32>\n    %%%s_1 = stablehlo.constant "
		"dense<1> : tensor<i32>\n"
		"    %%%s_n = stablehlo.constant dense<%d> : tensor<i32>\n",
		y, y, y, trips);
	strbuf_printf(t,
		"    %%%s_l:3 = stablehlo.while(%%%s_i = %%%s_0, %%%s_z = %%%s, %%%s_e = %%%s) : "
		"tensor<i32>, " X ", " X "\n    cond {\n",
		y, y, y, y, x, y, x);
	strbuf_printf(t,
		"      %%%s_t = stablehlo.compare LT, %%%s_i, %%%s_n : (tensor<i32>, tensor<i32>) -> "
		"tensor<i1>\n      stablehlo.return %%%s_t : tensor<i1>\n    } do {\n",
		y, y, y, y);
	strbuf_printf(t,
		"      %%%s_d = stablehlo.dot_general %%%s_z, %%%s, contracting_dims = [1] x [0] : (" X
		", " W ") -> " X "\n",
		y, y, w);
	strbuf_printf(t,
		"      %%%s_f = stablehlo.dot_general %%%s_e, %%%s, contracting_dims = [1] x [0] : (" X
		", " W ") -> " X "\n",
		y, y, w);
	strbuf_printf(t,
		"      %%%s_g = stablehlo.multiply %%%s_f, %%%s_d : " X
		"\n      %%%s_h = stablehlo.tanh %%%s_g : " X "\n",
		y, y, y, y, y);
	strbuf_printf(t, "      %%%s_j = stablehlo.add %%%s_i, %%%s_1 : tensor<i32>\n", y, y, y);
	strbuf_printf(t,
		"      stablehlo.return %%%s_j, %%%s_h, %%%s_d : tensor<i32>, " X ", " X "\n    }\n", y, y,
		y);
	strbuf_printf(t, "    %%%s = stablehlo.negate %%%s_l#1 : " X "\n", y, y);
}

/* %y: %x multiplied by the weight, or its sine. */
static void branch(strbuf *t, const char *y, const char *x, const char *w)
{
	strbuf_printf(t,
		"    %%%s = \"stablehlo.case\"(%%way) ({\n      %%%s_d = stablehlo.dot_general %%%s, %%%s, "
		"contracting_dims = [1] x [0] : (" X ", " W ") -> " X "\n",
		y, y, x, w);
	strbuf_printf(t,
		"      stablehlo.return %%%s_d : " X "\n    }, {\n      %%%s_e = stablehlo.sine %%%s : " X
		"\n",
		y, y, x);
	strbuf_printf(t, "      stablehlo.return %%%s_e : " X "\n    }) : (tensor<i32>) -> " X "\n", y);
}

static const char *name(char out[16], const char *of, uint32_t i)
{
	snprintf(out, 16, "%s%u", of, i);
	return out;
}

static void forward_pass(strbuf *t, uint32_t layers, int kind)
{
	char y[16], x[16], w[16];
	bool loops = kind & LOOPS, branches = kind & BRANCHES;
	strbuf_puts(t,
		"    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n    %way = stablehlo.constant "
		"dense<1> : tensor<i32>\n");
	if (loops)
		loop(t, "x0", "in", "w0", 4);
	else
		strbuf_puts(t, "    %x0 = stablehlo.negate %in : " X "\n");
	for (uint32_t i = 0; i < layers; i++) {
		normalise(t, "y", "x", i);
		strbuf_printf(t,
			"    %%d%u = stablehlo.dot_general %%y%u, %%w%u, contracting_dims = [1] x [0] : (" X
			", " W ") -> " X "\n",
			i, i, i);
		strbuf_printf(t,
			"    %%s%u = stablehlo.broadcast_in_dim %%b%u, dims = [1] : (" B ") -> " X "\n", i, i);
		strbuf_printf(t, "    %%a%u = stablehlo.add %%d%u, %%s%u : " X "\n", i, i, i);
		strbuf_printf(t, "    %%%s%u = stablehlo.%s %%a%u : " X "\n", loops || branches ? "m" : "h",
			i, activation(i, layers, kind), i);
		if (loops)
			loop(t, name(y, "h", i), name(x, "m", i), name(w, "w", i), 3);
		else if (branches)
			branch(t, name(y, "h", i), name(x, "m", i), name(w, "w", i));
		if (!branches) /* with them the residual stream is elementwise: ready as early as what goes
		                  into the branches lets it be */
			strbuf_printf(t,
				"    %%o%u = stablehlo.dot_general %%h%u, %%w%u, contracting_dims = [1] x [0] : (" X
				", " W ") -> " X "\n",
				i, i, i);
		strbuf_printf(t, "    %%x%u = stablehlo.add %%x%u, %%%s%u : " X "\n", i + 1, i,
			branches ? "h" : "o", i);
	}
}

static int by_name(const void *a, const void *b)
{
	char x[16], y[16];
	return strcmp(name(x, "", *(const uint32_t *)a), name(y, "", *(const uint32_t *)b));
}

/* %cp: %p divided by the norm of all. A layer "10" is added before one called "2", as JAX walks a
 * dict. */
static void clip(strbuf *t, uint32_t layers)
{
	uint32_t order[64];
	for (uint32_t i = 0; i < layers; i++)
		order[i] = i;
	qsort(order, layers, sizeof *order, by_name);
	strbuf_puts(t, "    %sum0 = stablehlo.negate %zero : tensor<f32>\n");
	for (uint32_t k = 0; k < layers; k++) {
		uint32_t i = order[k];
		strbuf_printf(t,
			"    %%sp%u = stablehlo.multiply %%p%u, %%p%u : " W
			"\n    %%sq%u = stablehlo.multiply %%q%u, %%q%u : " B "\n",
			i, i, i, i, i, i);
		strbuf_printf(t,
			"    %%np%u = stablehlo.reduce(%%sp%u init: %%zero) applies stablehlo.add across "
			"dimensions = [0, 1] : (" W ", tensor<f32>) -> tensor<f32>\n",
			i, i);
		strbuf_printf(t,
			"    %%nq%u = stablehlo.reduce(%%sq%u init: %%zero) applies stablehlo.add across "
			"dimensions = [0] : (" B ", tensor<f32>) -> tensor<f32>\n",
			i, i);
		strbuf_printf(t,
			"    %%half%u = stablehlo.add %%sum%u, %%np%u : tensor<f32>\n    %%sum%u = "
			"stablehlo.add %%half%u, %%nq%u : tensor<f32>\n",
			k, k, i, k + 1, k, i);
	}
	strbuf_printf(t,
		"    %%norm = stablehlo.sqrt %%sum%u : tensor<f32>\n    %%norms = "
		"stablehlo.broadcast_in_dim %%norm, dims = [] : (tensor<f32>) -> " W "\n",
		layers);
	for (uint32_t i = 0; i < layers; i++)
		strbuf_printf(t, "    %%cp%u = stablehlo.divide %%p%u, %%norms : " W "\n", i, i);
}

/* Gradients from the last layer to the first, then updates in the order of the arguments. */
static void backward_pass(strbuf *t, uint32_t layers, int kind)
{
	strbuf_printf(
		t, "    %%g%u = stablehlo.multiply %%x%u, %%x%u : " X "\n", layers, layers, layers);
	for (uint32_t i = layers; i-- > 0;) {
		strbuf_printf(t, "    %%u%u = stablehlo.multiply %%g%u, %%h%u : " X "\n", i, i + 1, i);
		strbuf_printf(t,
			"    %%p%u = stablehlo.dot_general %%x%u, %%u%u, contracting_dims = [0] x [0] : (" X
			", " X ") -> " W "\n",
			i, i, i);
		strbuf_printf(t,
			"    %%q%u = stablehlo.reduce(%%u%u init: %%zero) applies stablehlo.add across "
			"dimensions = [0] : (" X ", tensor<f32>) -> " B "\n",
			i, i);
		strbuf_printf(t,
			"    %%r%u = stablehlo.dot_general %%u%u, %%w%u, contracting_dims = [1] x [1] : (" X
			", " W ") -> " X "\n",
			i, i, i);
		normalise(t, "v", "r", i);
		strbuf_printf(t, "    %%g%u = stablehlo.add %%g%u, %%v%u : " X "\n", i, i + 1, i);
	}
	if (kind & CLIP)
		clip(t, layers);
	for (uint32_t i = 0; i < layers; i++) {
		strbuf_printf(t, "    %%k%u = stablehlo.multiply %%%s%u, %%w%u : " W "\n", i,
			kind & CLIP ? "cp" : "p", i, i);
		strbuf_printf(t,
			"    %%nw%u = stablehlo.subtract %%w%u, %%k%u : " W
			"\n    %%nb%u = stablehlo.subtract %%b%u, %%q%u : " B "\n",
			i, i, i, i, i, i);
	}
}

static void write_program(strbuf *t, uint32_t layers, int kind)
{
	strbuf_init(t);
	strbuf_puts(t, "module @m {\n  func.func public @main(%in: " X);
	for (uint32_t i = 0; i < layers; i++)
		strbuf_printf(t, ", %%w%u: " W ", %%b%u: " B, i, i);
	strbuf_puts(t, ") -> (" X);
	for (uint32_t i = 0; i < layers && kind & TRAIN; i++)
		strbuf_puts(t, ", " W ", " B);
	strbuf_puts(t, ") {\n");
	forward_pass(t, layers, kind);
	if (kind & TRAIN)
		backward_pass(t, layers, kind);
	char last[16];
	if (kind & LOOPS)
		loop(t, "out", name(last, "x", layers), "w0", 2);
	strbuf_printf(t, "    return %%%s", kind & LOOPS ? "out" : name(last, "x", layers));
	for (uint32_t i = 0; i < layers && kind & TRAIN; i++)
		strbuf_printf(t, ", %%nw%u, %%nb%u", i, i);
	strbuf_puts(t, " : " X);
	for (uint32_t i = 0; i < layers && kind & TRAIN; i++)
		strbuf_puts(t, ", " W ", " B);
	strbuf_puts(t, "\n  }\n}\n");
}

static void setup(
	fixture *f, uint32_t layers, int kind, const char *device_name, const char *mesh_text)
{
	*f = (fixture){0};
	write_program(&f->text, layers, kind);
	fix_problem(f, device_name, mesh_text, true);
}

/* The action on one of its targets alone. */
static action on_one(const action *a, uint32_t which)
{
	action one = *a;
	one.targets = a->targets + which % a->n_targets;
	one.n_targets = 1;
	return one;
}

static evaluator_stats random_walk(fixture *f, uint64_t seed, uint32_t steps, uint32_t uneven_of_8)
{
	rng r;
	cost c;
	rng_seed(&r, seed, 0);
	evaluator *ev = evaluator_new(&f->pb);
	for (uint32_t k = 0; k < steps; k++) {
		if (evaluator_depth(ev) > 5)
			evaluator_undo(ev, rng_below(&r, 6));
		action a = f->actions.p[rng_below(&r, f->actions.n)];
		if (rng_below(&r, 8) < uneven_of_8)
			a = on_one(&a, rng_below(&r, 1000));
		if (evaluator_decide(ev, &a))
			evaluator_cost(ev, &c);
		else if (rng_below(&r, 4) == 0)
			evaluator_undo(ev, 0);
		ck_assert_msg(!evaluator_broken(ev), "step %u", k);
	}
	evaluator_stats st = evaluator_statistics(ev);
	evaluator_free(ev);
	return st;
}

static const char *const meshes[] = {"a=4", "a=2,b=4", "a=2,b=2,c=2"};
static const char *const devices[] = {"tpu-v5e", "h100", "cpu"};

/* A real training step of 32 layers folds, but for what a constraint may do at the ends of a
 * stream. */
START_TEST(training_step)
{
	for (uint32_t i = 0; i < COUNT_OF(meshes); i++) {
		fixture f;
		setup_corpus(&f, "transformer_32", devices[i], meshes[i], true);
		ck_assert(f.pb.fold);
		ck_assert_uint_lt(4 * f.pb.fold->p->nodes.n, f.pb.p->nodes.n);
		evaluator_stats st = random_walk(&f, i, 50, 0);
		ck_assert_uint_gt(st.folded, 10);
		ck_assert_uint_le(8 * st.whole, st.folded);
		teardown(&f);
	}
}
END_TEST

/* Who is given the annotated module knows of its layers what the search does. */
START_TEST(modules_cost_what_their_plans_do)
{
	fixture f;
	setup_corpus(&f, "transformer_32", "tpu-v5e", "data=4,model=4", true);
	evaluator *ev = evaluator_new(&f.pb);
	rng r;
	uint64_t compared = 0;
	rng_seed(&r, 7, 0);
	for (uint32_t k = 0; k < 6; k++) {
		plan pl = {0};
		cost expected, found;
		goal answer = goal_of_answer(&f.pb);
		bool allowed;
		strategy s;
		diag d = {0};
		for (uint32_t n = k; pl.n < n; pl.n++) {
			pl.decisions[pl.n] = f.actions.p[rng_below(&r, f.actions.n)];
			pl.tactics[pl.n] = "test";
		}
		evaluator_run(ev, &pl, &expected);
		evaluator_replay(ev, &answer, &expected, &allowed);
		evaluator_strategy(ev, &pl, &s);
		ck_assert_msg(replay_strategy(&f.pb, f.m, &s, &found, &allowed, &d) == ST_OK, "%s", d.msg);
		ck_assert_msg(!memcmp(&expected, &found, sizeof found),
			"plan %u: %lld ns, by its module %lld", k, (long long)expected.runtime_ns,
			(long long)found.runtime_ns);
		compared += evaluator_statistics(ev).folded;
		strategy_release(&s);
	}
	ck_assert_uint_gt(compared, 0);
	evaluator_free(ev);
	teardown(&f);
}
END_TEST

START_TEST(folded_equals_whole)
{
	static const int kinds[] = {FORWARD, TRAIN, LOOPS, TRAIN | LOOPS, BRANCHES, TRAIN | BRANCHES};
	for (uint32_t k = 0; k < COUNT_OF(kinds); k++) {
		uint64_t folded = 0;
		for (uint32_t i = 0; i < COUNT_OF(meshes); i++) {
			fixture f;
			setup(&f, 14 + 2 * i, kinds[k], devices[i], meshes[i]);
			ck_assert(f.pb.fold);
			folded += random_walk(&f, k * 10 + i, 200, 0).folded;
			teardown(&f);
		}
		ck_assert_msg(folded > 0, "kind %d", kinds[k]);
	}
}
END_TEST

/* However many steps of the sum lie between two layers, all of the layers are alike. */
START_TEST(sums_in_the_order_of_names)
{
	uint64_t folded = 0;
	for (uint32_t i = 0; i < COUNT_OF(meshes); i++) {
		fixture f;
		setup(&f, 24 + 13 * i, TRAIN | CLIP, devices[i], meshes[i]);
		ck_assert(f.pb.fold);
		ck_assert_uint_ge(f.pb.fold->copies, 12);
		folded += random_walk(&f, 500 + i, 100, 0).folded;
		teardown(&f);
	}
	ck_assert_uint_gt(folded, 40);
}
END_TEST

/* What is still on the chip when it is read depends on how much is written in between, and so on
 * the layers that were left out. */
START_TEST(memory_on_the_chip)
{
	int64_t before = 0;
	for (uint32_t i = 0; i < 6; i++) {
		fixture f;
		setup(&f, 14, i & 1 ? FORWARD : TRAIN, "tpu-v5e", "a=2,b=4");
		f.dev.on_chip_bytes = i / 2 ? (int64_t)2048 << 2 * (i / 2) : 0;
		evaluator_stats st = random_walk(&f, 200 + i, 100, 0);
		ck_assert_uint_gt(st.folded, 0);
		if (i % 2 == 0) { /* the first state, without decisions */
			evaluator *ev = evaluator_new(&f.pb);
			cost c;
			evaluator_cost(ev, &c);
			ck_assert(!i || c.compute_ns < before);
			before = c.compute_ns;
			evaluator_free(ev);
		}
		teardown(&f);
	}
}
END_TEST

START_TEST(what_treats_layers_differently_unfolds)
{
	for (uint32_t i = 0; i < COUNT_OF(meshes); i++) {
		fixture f;
		setup(&f, 14, FORWARD, devices[i], meshes[i]);
		ck_assert(f.pb.fold);
		evaluator_stats st = random_walk(&f, 100 + i, 300, 2);
		ck_assert_uint_gt(st.folded, 0);
		ck_assert_uint_gt(st.unfolded, 0);
		teardown(&f);
	}
}
END_TEST

/* How a decision spreads through this program depends on its number of layers modulo 3. */
START_TEST(what_depends_on_the_number_of_layers)
{
	for (uint32_t layers = 8; layers < 17; layers++) {
		fixture f;
		setup(&f, layers, TRAIN, "tpu-v5e", "a=4");
		random_walk(&f, layers, 150, 1);
		teardown(&f);
	}
}
END_TEST

/* What all layers come to must have come there in the same steps. */
START_TEST(the_way_counts)
{
	fixture f;
	setup(&f, 14, FORWARD, "tpu-v5e", "a=2,b=4");
	const folding *fold = f.pb.fold;
	sharding_table *t = f.m->shardings;
	sharding_id half, both;
	propagate_options po = {
		.strategy = STRATEGY_AGGRESSIVE, .op_priority = true, .user_priority = true};
	propagation *s = propagation_new(fold->p, t, &po);
	sharding_edit e;
	sharding_edit_init(&e, f.o.mesh, 2, false);
	axes_push_merge(&e.dims[0].axes, mesh_full_axis(t, f.o.mesh, 0));
	half = sharding_intern(t, &e);
	axes_push_merge(&e.dims[1].axes, mesh_full_axis(t, f.o.mesh, 1));
	both = sharding_intern(t, &e);
	for (int odd = 0; odd < 2; odd++) {
		propagation_reset(s);
		uint32_t n = 0;
		for (uint32_t a = 0; a < fold->p->args.n; a++) {
			pval_id v = fold->p->args.p[a];
			if (fold->band_of[v] == ID_NONE || pval_type(fold->p, v)->rank != 2)
				continue;
			if (!odd || n++)
				propagation_set(s, v, half);
			propagation_set(s, v, both);
		}
		for (uint32_t a = 0; a < fold->p->args.n; a++)
			ck_assert(fold_is_even(fold, t, propagation_shardings(s), fold->p->args.p[a]));
		ck_assert_int_eq(fold_is_sure(fold, s, 0), !odd);
	}
	propagation_free(s);
	teardown(&f);
}
END_TEST

/* A layer that is another is none of those that are folded; few layers are not folded at all. */
START_TEST(layers_that_are_no_layers)
{
	fixture f;
	setup(&f, 26, TRAIN | ODD_LAYER, "tpu-v5e", "a=2,b=4");
	if (f.pb.fold)
		ck_assert_uint_le(f.pb.fold->copies, 12);
	random_walk(&f, 3, 150, 1);
	teardown(&f);
	setup(&f, 4, TRAIN, "tpu-v5e", "a=2,b=4");
	ck_assert(!f.pb.fold);
	teardown(&f);
}
END_TEST

START_TEST(folding_is_about_many_layers)
{
	fixture f;
	setup(&f, 40, TRAIN, "tpu-v5e", "a=4");
	ck_assert(f.pb.fold);
	ck_assert_uint_ge(f.pb.fold->copies, 33);
	teardown(&f);
}
END_TEST

/* The same answer, but for how fast it comes, whether layers are folded or not and whatever the
 * memo tables may hold. */
START_TEST(answers_depend_on_neither_folding_nor_memory)
{
	enum { WAY_FOLDED, WAY_UNFOLDED, WAY_SMALL, WAYS };
	cost costs[WAYS];
	uint64_t evaluations[WAYS];
	for (int way = 0; way < WAYS; way++) {
		fixture f;
		search_result r;
		diag d = {0};
		setup(&f, 12, TRAIN, "tpu-v5e", "a=2,b=4");
		f.o.check = false;
		f.o.unfolded = way == WAY_UNFOLDED;
		f.o.cache_bytes = way == WAY_SMALL ? 1 << 18 : 0;
		f.o.seed = 3;
		f.o.threads = 1;
		f.o.evaluations = 300;
		ck_assert_msg(search_run(f.m, &f.o, &r, &d) == ST_OK, "%s", d.msg);
		costs[way] = r.cost;
		evaluations[way] = r.evaluations;
		search_result_release(&r);
		teardown(&f);
	}
	for (int way = 1; way < WAYS; way++) {
		ck_assert_mem_eq(&costs[0], &costs[way], sizeof costs[0]);
		ck_assert_uint_eq(evaluations[0], evaluations[way]);
	}
}
END_TEST

#ifndef __SANITIZE_ADDRESS__
/* Allocations of this process, counted. */
static uint64_t allocations;
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
void *malloc(size_t n)
{
	allocations++;
	return __libc_malloc(n);
}
void *calloc(size_t n, size_t size)
{
	allocations++;
	return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n)
{
	allocations++;
	return __libc_realloc(p, n);
}

/* States seen before are evaluated without allocating anything, folded or not. */
START_TEST(no_allocation_in_the_loop)
{
	for (int unfolded = 0; unfolded < 2; unfolded++) {
		fixture f;
		setup(&f, 12, FORWARD, "tpu-v5e", "a=2,b=4");
		f.o.check = false;
		if (unfolded) {
			folding_free(f.pb.fold);
			f.pb.fold = NULL;
		}
		evaluator *ev = evaluator_new(&f.pb);
		uint64_t before = 0;
		for (int pass = 0; pass < 3; pass++) {
			rng r;
			cost c;
			rng_seed(&r, 8, 0);
			before = allocations;
			evaluator_undo(ev, 0);
			for (uint32_t k = 0; k < 100; k++) {
				if (evaluator_depth(ev) > 4)
					evaluator_undo(ev, rng_below(&r, 5));
				if (evaluator_decide(ev, &f.actions.p[rng_below(&r, f.actions.n)]))
					evaluator_cost(ev, &c);
			}
		}
		ck_assert_uint_eq(allocations - before, 0);
		evaluator_free(ev);
		teardown(&f);
	}
}
END_TEST
#endif

int main(void)
{
	TCase *t = tcase_create("fold");
	tcase_add_test(t, training_step);
	tcase_add_test(t, modules_cost_what_their_plans_do);
	tcase_add_test(t, folded_equals_whole);
	tcase_add_test(t, sums_in_the_order_of_names);
	tcase_add_test(t, what_depends_on_the_number_of_layers);
	tcase_add_test(t, memory_on_the_chip);
	tcase_add_test(t, what_treats_layers_differently_unfolds);
	tcase_add_test(t, the_way_counts);
	tcase_add_test(t, layers_that_are_no_layers);
	tcase_add_test(t, folding_is_about_many_layers);
	tcase_add_test(t, answers_depend_on_neither_folding_nor_memory);
#ifndef __SANITIZE_ADDRESS__
	tcase_add_test(t, no_allocation_in_the_loop);
#endif
	return run_suite(t, "fold");
}
