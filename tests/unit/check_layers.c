/* Finding layers: whatever the pattern of a program's layers, what is found are chains of
 * counterparts that end, each a layer further, and what is folded from them costs exactly what the
 * whole program does. */
#include "tests/unit/problem_fixture.h"
#include "tests/unit/run_suite.h"

#include <stdlib.h>

#define X "tensor<16x32xf32>"
#define W "tensor<32x32xf32>"
#define B "tensor<32xf32>"
#define STACKED "tensor<40x32xf32>"

enum { KINDS = 4, MAX_LAYERS = 40, MAX_STEPS = 6 };

/* A kind of layers is a row of steps from one activation to the next; small letters are elementwise
 * ops. */
typedef struct kind {
	char steps[MAX_STEPS + 1];
} kind;

typedef struct pattern {
	kind kinds[KINDS];
	uint8_t layer[MAX_LAYERS]; /* of a kind */
	uint32_t n, second;        /* second: the layer that a second stack begins with */
	bool shared;               /* all layers have the weights of the first */
	bool train;
	bool summed; /* what every layer comes to is added up in one kernel behind them */
} pattern;

/* ---------------------------------------------------------------- random patterns */

/* d: times a weight. m: masked by what all layers share. r: plus what the layer began with. c: plus
 * what the first stack came to. k: plus the layer's part of what is stacked for all. */
static void random_kind(rng *r, kind *k)
{
	static const char steps[] = "ddmrtsnbck";
	uint32_t n = 1 + rng_below(r, MAX_STEPS);
	for (uint32_t i = 0; i < n; i++)
		k->steps[i] = steps[rng_below(r, sizeof steps - 1)];
	k->steps[rng_below(r, n)] = 'd';
	k->steps[n] = 0;
}

/* Like another kind but for one step. */
static void vary_kind(rng *r, const kind *from, kind *to)
{
	kind other;
	*to = *from;
	random_kind(r, &other);
	to->steps[rng_below(r, (uint32_t)strlen(to->steps))] = other.steps[0];
	to->steps[0] = strchr(to->steps, 'd') ? to->steps[0] : 'd';
}

static void add_layers(pattern *p, const uint8_t *of, uint32_t n)
{
	for (uint32_t i = 0; i < n && p->n < MAX_LAYERS; i++)
		p->layer[p->n++] = of[i];
}

/* Runs of one kind, a short pattern again and again, that with something in between every few
 * times, or anything. */
static void random_pattern(rng *r, pattern *p)
{
	uint8_t part[12];
	uint32_t how = rng_below(r, 6), n = 1 + rng_below(r, 4), most = how == 4 ? 16 : 28;
	*p = (pattern){.shared = rng_below(r, 8) == 0, .train = rng_below(r, 2)};
	random_kind(r, &p->kinds[0]);
	for (uint32_t k = 1; k < KINDS; k++)
		if (rng_below(r, 2))
			vary_kind(r, &p->kinds[rng_below(r, k)], &p->kinds[k]);
		else
			random_kind(r, &p->kinds[k]);
	for (uint32_t i = 0; i < n; i++)
		part[i] = (uint8_t)rng_below(r, KINDS);
	if (how == 5) { /* A A A .., and B B B .. beside it */
		memset(part, 0, sizeof part);
		add_layers(p, part, 8 + rng_below(r, 5));
		p->second = p->n;
		memset(part, 1, sizeof part);
		add_layers(p, part, 8 + rng_below(r, 5));
		return;
	}
	if (how == 0) /* A B A B .. */
		part[0] = 0, part[1] = 1, n = 2;
	while (p->n < 4 + rng_below(r, most)) {
		if (how == 1) { /* A A A A B B B .. */
			memset(part, part[0], sizeof part);
			n = 1 + rng_below(r, 12);
		}
		add_layers(p, part, n);
		if (how == 1 || how == 4)
			part[0] = (uint8_t)rng_below(r, KINDS);
		if (how == 2 && rng_below(r, 3) == 0) { /* with something in between */
			uint8_t between = (uint8_t)rng_below(r, KINDS);
			add_layers(p, &between, 1);
		}
	}
}

/* ---------------------------------------------------------------- as text */

static void write_part(strbuf *t, uint32_t i, uint32_t in, uint32_t out)
{
	strbuf_printf(t,
		"    %%k%u = stablehlo.slice %%stacked [%u:%u, 0:32] : (" STACKED ") -> tensor<1x32xf32>\n"
		"    %%kr%u = stablehlo.reshape %%k%u : (tensor<1x32xf32>) -> " B "\n",
		out, i, i + 1, out, out);
	strbuf_printf(t,
		"    %%kb%u = stablehlo.broadcast_in_dim %%kr%u, dims = [1] : (" B ") -> " X
		"\n    %%v%u = stablehlo.add %%v%u, %%kb%u : " X "\n",
		out, out, out, in, out);
}

/* Writes the steps of a layer; %x<i> is what it begins with. Steps are numbered from *step on,
 * their values are %v<step>. */
static void write_layer(strbuf *t, const pattern *p, uint32_t i, uint32_t *step, uint32_t first)
{
	static const char *const ops[128] = {['t'] = "tanh", ['s'] = "sine", ['n'] = "negate"};
	for (const char *c = p->kinds[p->layer[i]].steps; *c; c++, (*step)++) {
		uint32_t w = p->shared ? 0 : i, in = *step, out = *step + 1;
		if (*c == 'd')
			strbuf_printf(t,
				"    %%v%u = stablehlo.dot_general %%v%u, %%w%u, contracting_dims = [1] x [0] : (" X
				", " W ") -> " X "\n",
				out, in, w);
		else if (*c == 'm')
			strbuf_printf(t,
				"    %%v%u = stablehlo.select %%mask, %%v%u, %%zero : tensor<16x32xi1>, " X "\n",
				out, in);
		else if (*c == 'r')
			strbuf_printf(t, "    %%v%u = stablehlo.add %%v%u, %%v%u : " X "\n", out, in, first);
		else if (*c == 'c')
			strbuf_printf(t, "    %%v%u = stablehlo.add %%v%u, %s : " X "\n", out, in,
				p->second && i >= p->second ? "%cross" : "%v0");
		else if (*c == 'k')
			write_part(t, i, in, out);
		else if (*c == 'b')
			strbuf_printf(t,
				"    %%b%u_%u = stablehlo.broadcast_in_dim %%b%u, dims = [1] : (" B ") -> " X
				"\n    %%v%u = stablehlo.add %%v%u, %%b%u_%u : " X "\n",
				out, w, w, out, in, out, w);
		else
			strbuf_printf(t, "    %%v%u = stablehlo.%s %%v%u : " X "\n", out, ops[(int)*c], in);
	}
}

/* Gradients of the weights as if every op were its own gradient. */
static void write_updates(strbuf *t, const pattern *p, uint32_t last)
{
	uint32_t step = last;
	strbuf_printf(t, "    %%g%u = stablehlo.multiply %%v%u, %%v%u : " X "\n", last, last, last);
	for (uint32_t i = p->n; i-- > 0;) {
		const char *steps = p->kinds[p->layer[i]].steps;
		bool first = true;
		for (size_t k = strlen(steps); k-- > 0; step--) {
			uint32_t w = p->shared ? 0 : i;
			if (steps[k] == 'd')
				strbuf_printf(t,
					"    %%g%u = stablehlo.dot_general %%g%u, %%w%u, contracting_dims = [1] x [1] "
					": (" X ", " W ") -> " X "\n",
					step - 1, step, w);
			else
				strbuf_printf(t, "    %%g%u = stablehlo.multiply %%g%u, %%v%u : " X "\n", step - 1,
					step, step);
			if (!first || (steps[k] != 'd' && k))
				continue;
			first = false;
			strbuf_printf(t,
				"    %%p%u = stablehlo.dot_general %%v%u, %%g%u, contracting_dims = [0] x [0] : (" X
				", " X ") -> " W "\n",
				i, step - 1, step);
			strbuf_printf(t, "    %%nw%u = stablehlo.subtract %%w%u, %%p%u : " W "\n", i, w, i);
		}
	}
}

/* ends: the step that each layer came to. */
static void write_sum(strbuf *t, const pattern *p, const uint32_t *ends)
{
	strbuf_printf(t, "    %%t0 = stablehlo.add %%v%u, %%v0 : " X "\n", ends[0]);
	for (uint32_t i = 1; i < p->n; i++)
		strbuf_printf(t, "    %%t%u = stablehlo.add %%t%u, %%v%u : " X "\n", i, i - 1, ends[i]);
	strbuf_printf(t,
		"    %%none = stablehlo.constant dense<0.0> : tensor<f32>\n"
		"    %%sum = stablehlo.reduce(%%t%u init: %%none) applies stablehlo.add across dimensions "
		"= [0] : (" X ", tensor<f32>) -> " B "\n",
		p->n - 1);
}

static void write_pattern(strbuf *t, const pattern *p)
{
	uint32_t weights = p->shared ? 1 : p->n, step = 0, ends[MAX_LAYERS] = {0};
	strbuf_init(t);
	strbuf_puts(t,
		"module @m {\n  func.func public @main(%v0: " X
		", %mask: tensor<16x32xi1>, %stacked: " STACKED);
	for (uint32_t i = 0; i < weights; i++)
		strbuf_printf(t, ", %%w%u: " W ", %%b%u: " B, i, i);
	strbuf_puts(t, ") -> (" X);
	for (uint32_t i = 0; i < p->n && p->train; i++)
		strbuf_puts(t, ", " W);
	strbuf_puts(t, p->summed ? ", " B : "");
	strbuf_puts(t, ") {\n    %zero = stablehlo.constant dense<0.0> : " X "\n");
	for (uint32_t i = 0; i < p->n; i++) {
		if (p->second && i == p->second)
			strbuf_printf(t, "    %%cross = stablehlo.logistic %%v%u : " X "\n", step);
		write_layer(t, p, i, &step, step);
		ends[i] = step;
	}
	if (p->summed)
		write_sum(t, p, ends);
	if (p->train)
		write_updates(t, p, step);
	strbuf_printf(t, "    return %%v%u", step);
	for (uint32_t i = 0; i < p->n && p->train; i++)
		strbuf_printf(t, ", %%nw%u", i);
	strbuf_puts(t, p->summed ? ", %sum : " X : " : " X);
	for (uint32_t i = 0; i < p->n && p->train; i++)
		strbuf_puts(t, ", " W);
	strbuf_puts(t, p->summed ? ", " B : "");
	strbuf_puts(t, "\n  }\n}\n");
}

static void setup(fixture *f, const pattern *p, const char *on)
{
	*f = (fixture){0};
	write_pattern(&f->text, p);
	fix_problem(f, on, "a=2,b=4", true);
}

/* ---------------------------------------------------------------- what is found */

/* next pairs one to one, and no chain comes back to where it was. */
static void check_chains(const uint32_t *next, uint32_t n)
{
	bool *taken = xcalloc(n + 1, 1);
	for (uint32_t i = 0; i < n; i++) {
		ck_assert(next[i] == ID_NONE || !taken[next[i]]);
		if (next[i] != ID_NONE)
			taken[next[i]] = true;
	}
	uint32_t seen = 0;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = taken[i] ? ID_NONE : i; k != ID_NONE; k = next[k])
			seen++;
	ck_assert_uint_eq(seen, n); /* a ring has no first one */
	free(taken);
}

static bool check_layers(const program *p)
{
	layering ly;
	if (!layers_find(p, &ly))
		return false;
	check_chains(ly.node_next, p->nodes.n);
	check_chains(ly.val_next, p->vals.n);
	for (node_id n = 0; n < p->nodes.n; n++)
		if (ly.node_next[n] != ID_NONE) {
			const node *x = &p->nodes.p[n], *y = &p->nodes.p[ly.node_next[n]];
			ck_assert_int_eq(ly.node_layer[ly.node_next[n]], ly.node_layer[n] + 1);
			ck_assert_uint_eq(x->rule, y->rule);
			ck_assert_uint_eq(x->n_operands, y->n_operands);
		}
	layers_release(&ly);
	return true;
}

/* Returns how many costs came from the folded program. */
static uint64_t random_walk(fixture *f, rng *r, uint32_t steps, int which)
{
	cost c;
	evaluator *ev = evaluator_new(&f->pb);
	for (uint32_t k = 0; k < steps && f->actions.n; k++) {
		if (evaluator_depth(ev) > 4)
			evaluator_undo(ev, 0);
		if (evaluator_decide(ev, &f->actions.p[rng_below(r, f->actions.n)]))
			evaluator_cost(ev, &c);
		ck_assert_msg(!evaluator_broken(ev), "pattern %d", which);
	}
	uint64_t folded = evaluator_statistics(ev).folded;
	evaluator_free(ev);
	return folded;
}

START_TEST(random_patterns)
{
	rng r;
	uint32_t with_layers = 0, folded = 0;
	rng_seed(&r, 1, 0);
	for (int i = 0; i < 400; i++) {
		pattern p;
		fixture f;
		random_pattern(&r, &p);
		setup(&f, &p, i % 3 ? "tpu-v5e" : "h100");
		with_layers += check_layers(f.pb.p);
		folded += f.pb.fold != NULL;
		if (f.pb.fold)
			random_walk(&f, &r, 16, i);
		teardown(&f);
	}
	ck_assert_uint_gt(with_layers, 40);
	ck_assert_uint_gt(folded, 20);
}
END_TEST

/* An encoder and a decoder, whose layers read what the encoder came to behind its last layer: both
 * are folded, also where one has more layers, and where layers slice what is stacked for all. */
START_TEST(stacks_fold_beside_each_other)
{
	static const uint8_t counts[][2] = {{12, 12}, {16, 13}, {12, 15}};
	rng r;
	uint64_t folded = 0;
	rng_seed(&r, 5, 0);
	for (uint32_t c = 0; c < COUNT_OF(counts); c++) {
		fixture f;
		pattern p = {.kinds = {{"dktrb"}, {"dcsdnr"}}, .train = true};
		memset(p.layer, 0, counts[c][0]);
		memset(p.layer + counts[c][0], 1, counts[c][1]);
		p.second = counts[c][0];
		p.n = (uint32_t)counts[c][0] + counts[c][1];
		setup(&f, &p, "tpu-v5e");
		ck_assert(f.pb.fold);
		ck_assert_uint_ge(f.pb.fold->copies + 7, MIN(counts[c][0], counts[c][1]));
		uint32_t layer = 0; /* ops of a layer of each stack: forward, backward, update */
		for (int k = 0; k < 2; k++)
			layer += 2 * (uint32_t)strlen(p.kinds[k].steps) + 2;
		ck_assert_uint_le(f.pb.fold->p->nodes.n + f.pb.fold->copies * layer, f.pb.p->nodes.n);
		folded += random_walk(&f, &r, 40, (int)c);
		teardown(&f);
	}
	ck_assert_uint_gt(folded, 0);
}
END_TEST

static void check_summed(const char *steps, bool train, uint64_t seed)
{
	fixture f;
	rng r;
	pattern p = {.n = 24, .train = train, .summed = true};
	memcpy(p.kinds[0].steps, steps, strlen(steps));
	rng_seed(&r, seed, 0);
	setup(&f, &p, "tpu-v5e");
	ck_assert(f.pb.fold);
	ck_assert_uint_ge(f.pb.fold->copies, 10);
	ck_assert_uint_gt(random_walk(&f, &r, 30, 0), 0);
	teardown(&f);
}

/* One kernel behind all layers reads something of each: as many values as there are layers. Of
 * these the folded program has few enough for the kernel to be joined to another one, the whole
 * program has not. */
START_TEST(a_kernel_reads_all_layers)
{
	check_summed("d", false, 7);
	check_summed("brd", true, 7);
	check_summed("dkdd", true, 7);
	check_summed("tdtd", true, 7);
	check_summed("dsrs", true, 7);
}
END_TEST

/* What all layers read is made again in a few readers, and for all of them where they are many:
 * those are all layers', though it stands in the first of them. */
START_TEST(all_layers_read_one_value)
{
	check_summed("dbm", false, 7);
	check_summed("dms", false, 7);
	check_summed("csdrk", false, 7);
	check_summed("tscdmn", false, 7);
}
END_TEST

/* Every layer adds its own number, and all of them multiply by one of these. */
START_TEST(numbers_stand_in_no_layer)
{
	enum { LAYERS = 20, EVERYWHERE = 7 };
	fixture f = {0};
	rng r;
	strbuf *t = &f.text;
	strbuf_init(t);
	strbuf_puts(t, "module @m {\n  func.func public @main(%x0: " X);
	for (int i = 0; i < LAYERS; i++)
		strbuf_printf(t, ", %%w%d: " W, i);
	strbuf_puts(t, ") -> " X " {\n");
	for (int i = 0; i < LAYERS; i++) {
		strbuf_printf(t,
			"    %%n%d = stablehlo.constant dense<%d.0> : tensor<f32>\n    %%m%d = "
			"stablehlo.constant dense<%d.0> : tensor<f32>\n",
			i, i, i, EVERYWHERE);
		strbuf_printf(t,
			"    %%bn%d = stablehlo.broadcast_in_dim %%n%d, dims = [] : (tensor<f32>) -> " X "\n",
			i, i);
		strbuf_printf(t,
			"    %%bm%d = stablehlo.broadcast_in_dim %%m%d, dims = [] : (tensor<f32>) -> " X "\n",
			i, i);
		strbuf_printf(t,
			"    %%d%d = stablehlo.dot_general %%x%d, %%w%d, contracting_dims = [1] x [0] : (" X
			", " W ") -> " X "\n",
			i, i, i);
		strbuf_printf(t,
			"    %%a%d = stablehlo.add %%d%d, %%bn%d : " X
			"\n    %%x%d = stablehlo.multiply %%a%d, %%bm%d : " X "\n",
			i, i, i, i + 1, i, i);
	}
	strbuf_printf(t, "    return %%x%d : " X "\n  }\n}\n", LAYERS);
	fix_problem(&f, "tpu-v5e", "a=2,b=4", true);
	ck_assert(f.pb.fold);
	ck_assert_uint_ge(f.pb.fold->copies, LAYERS - 8);
	rng_seed(&r, 3, 0);
	random_walk(&f, &r, 60, 0);
	teardown(&f);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("layers");
	tcase_add_test(tc, random_patterns);
	tcase_add_test(tc, stacks_fold_beside_each_other);
	tcase_add_test(tc, a_kernel_reads_all_layers);
	tcase_add_test(tc, all_layers_read_one_value);
	tcase_add_test(tc, numbers_stand_in_no_layer);
	return run_suite(tc, "layers");
}
