/* Ops nested in their readers: programs for costs have far fewer ops, and cost what they cost
 * without. */
#include "search/evaluate/evaluator.h"
#include "tests/unit/problem_fixture.h"
#include "tests/unit/run_suite.h"

#include <string.h>

enum { MOST_DECISIONS = 6 };

/* Lowers and simulates without nesting. */
typedef struct plain {
	lower_cache *cache;
	lowered *low;
	simulator *sim;
} plain;

static plain plain_new(const fixture *f, const evaluator *ev)
{
	plain x = {lower_cache_new(f->pb.p, ev->t), lowered_new(f->pb.p, ev->t),
		simulator_new(f->pb.p, ev->t, &f->dev, &ev->links, &f->pb.dn)};
	lower_cache_device(
		x.cache, f->dev.target, device_torus_dims(&f->dev), mesh_links_slice_devices(&ev->links));
	if (ev->fold)
		simulator_unfolded(x.sim, ev->fold);
	return x;
}

static void plain_free(plain *x)
{
	simulator_free(x->sim);
	lowered_free(x->low);
	lower_cache_free(x->cache);
}

static void same_costs(const cost *a, const cost *b)
{
	ck_assert_int_eq(a->runtime_ns, b->runtime_ns);
	ck_assert_int_eq(a->compute_ns, b->compute_ns);
	ck_assert_int_eq(a->communication_ns, b->communication_ns);
	ck_assert_int_eq(a->exposed_communication_ns, b->exposed_communication_ns);
	ck_assert_int_eq(a->peak_bytes, b->peak_bytes);
	ck_assert(a->flops_per_device == b->flops_per_device);
	ck_assert(!memcmp(a->collectives, b->collectives, sizeof a->collectives));
}

/* The loop's contraction wants its second operand with the heads in front, and so what that is made
 * from. */
#define KEYS "tensor<16x2048x4x128xbf16>"
static const char reordering[] =
	"func.func public @main(%state: " KEYS
	", %x: tensor<16x4x128xbf16>) -> tensor<16x4x2048xbf16> {\n"
	"%zero = stablehlo.constant dense<0> : tensor<i32>\n%start = stablehlo.constant dense<0.0> : "
	"tensor<16x4x2048xbf16>\n"
	"%0:3 = stablehlo.while(%i = %zero, %s = %state, %o = %start) : tensor<i32>, " KEYS
	", tensor<16x4x2048xbf16>\n"
	"cond {\n%n = stablehlo.constant dense<8> : tensor<i32>\n"
	"%c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> "
	"tensor<i1>\nstablehlo.return %c : tensor<i1>\n"
	"} do {\n%one = stablehlo.constant dense<1> : tensor<i32>\n%k = stablehlo.add %i, %one : "
	"tensor<i32>\n"
	"%1 = stablehlo.negate %s : " KEYS "\n%2 = stablehlo.abs %1 : " KEYS
	"\n%3 = stablehlo.negate %2 : " KEYS "\n"
	"%y = stablehlo.dot_general %x, %3, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x "
	"[3] : (tensor<16x4x128xbf16>, " KEYS ") -> tensor<16x4x2048xbf16>\n"
	"stablehlo.return %k, %s, %y : tensor<i32>, " KEYS ", tensor<16x4x2048xbf16>\n}\n"
	"return %0#2 : tensor<16x4x2048xbf16>\n}\n";

static const struct row {
	const char *program, *device, *mesh; /* of the corpus, or a text */
	uint32_t paths;
	uint32_t most; /* ops that are left, in percent, of the state without decisions */
	bool apart;    /* some ops do not go with their readers after all */
} rows[] = {
	{"mlp", "tpu-v5e", "data=4,model=4", 60, 60, false},
	{"transformer_4", "tpu-v5e", "data=4,model=4", 20, 60, true},
	{"transformer_4", "h100", "data=2,seq=2,model=4", 20, 60, false},
	{"transformer_32", "tpu-v5p", "data=4,model=4", 6, 60, true},    /* folded */
	{"transformer_scan", "a100", "data=16,model=16", 20, 80, false}, /* loops */
	{"accumulate_tiny", "tpu-v5e", "data=2,model=2", 30, 80, true},  /* sums that a loop carries */
	{"lora_tiny", "tpu-v5e", "data=2,model=2", 30, 80, true},        /* sums of partial sums */
	{"encoder_decoder_tiny", "a100", "data=2,model=2", 30, 80, false},
	{"unet_tiny", "tpu-v5p", "data=2,model=2", 10, 80, true},
	{"resnet_tiny", "a100", "data=3,model=2", 20, 80, false}, /* axes that do not divide */
	{"mixed_precision_tiny", "tpu-v6e", "data=2,model=2", 30, 80, false},
	{"moe", "tpu-v5e", "data=4,model=4", 15, 60, true},
	{"decode", "tpu-v5e", "data=4,model=4", 30, 90, false},
	{"shard_map_step_tiny", "tpu-v5e", "data=2,model=2", 200, 80,
		false}, /* parts of axes: the module's own mesh has more devices */
	{reordering, "tpu-v5e", "x=2,y=2", 30, 95, false},
	{reordering, "h100", "x=2,y=2", 30, 95, false},
};

START_TEST(costs_are_those_without)
{
	const struct row *row = &rows[_i % (int)COUNT_OF(rows)];
	bool exact = _i >= (int)COUNT_OF(rows);
	fixture f;
	rng r;
	cost nested, whole;
	if (row->program == reordering) {
		f = (fixture){0};
		strbuf_puts(&f.text, row->program);
		fix_problem(&f, row->device, row->mesh, false);
	} else {
		setup_corpus(&f, row->program, row->device, row->mesh, false);
	}
	f.o.apply = exact ? APPLY_EXACT : APPLY_ANNOTATE;
	evaluator *ev = evaluator_new(&f.pb);
	coster *c = evaluator_coster(ev, WHOLE);
	plain x = plain_new(&f, ev);
	rng_seed(&r, 3, 0);
	for (uint32_t k = 0; k < row->paths; k++) {
		evaluator_undo(ev, 0);
		for (uint32_t i = 0; i < MOST_DECISIONS; i++) {
			evaluator_cost(ev, &nested);
			coster_load(ev, c, WHOLE);
			lower_cache_reshard_after_forward(x.cache, nested.reshards_after_forward);
			lower_program(x.cache, c->costed, apply_level(f.o.apply), f.dev.target, x.low);
			simulate(x.sim, x.low, &whole);
			same_costs(&nested, &whole);
			if (!k && !i) {
				ck_assert(coster_find(ev, c, WHOLE, &nested));
				same_costs(&nested, &whole);
				ck_assert_msg(exact || c->low->ops.n * 100 <= x.low->ops.n * row->most,
					"%s: %u of %u", row->program, c->low->ops.n, x.low->ops.n);
			}
			evaluator_decide(ev, &f.actions.p[rng_below(&r, f.actions.n)]);
		}
	}
	ck_assert_msg(exact || (evaluator_statistics(ev).apart > 0) == row->apart, "%s: %d",
		row->program, (int)evaluator_statistics(ev).apart);
	plain_free(&x);
	evaluator_free(ev);
	teardown(&f);
}
END_TEST

/* A compiler for CPUs widens what is not an argument: nothing is nested. */
START_TEST(not_on_cpus)
{
	fixture f;
	setup_corpus(&f, "mlp", "cpu", "data=4,model=4", false);
	uint8_t *ways = xmalloc(f.pb.p->nodes.n + 1);
	simulator_nesting(f.pb.p, f.m->shardings, TARGET_CPU, ways);
	for (node_id n = 0; n < f.pb.p->nodes.n; n++)
		ck_assert_int_eq(ways[n], NEST_NOT);
	free(ways);
	teardown(&f);
}
END_TEST

static void fix_text(fixture *f, const char *text)
{
	*f = (fixture){0};
	strbuf_puts(&f->text, text);
	fix_problem(f, "tpu-v5e", "x=2", false);
}

/* What the program without decisions has nested, in order: the nodes' ops, each behind the op it is
 * nested in. */
static void list_nested(const fixture *f, char *out, size_t size)
{
	cost c;
	evaluator *ev = evaluator_new(&f->pb);
	evaluator_cost(ev, &c);
	const lowered *l = ev->cost[WHOLE].low;
	size_t n = 0;
	out[0] = 0;
	for (lop_id i = 0; i < l->ops.n; i++) {
		const nest *x = l->ops.p[i].nest;
		if (!x)
			continue;
		n += (size_t)snprintf(out + n, size - n, "%s%s(%u)", n ? " " : "",
			op_infos[l->p->nodes.p[l->ops.p[i].node].op_kind].text + strlen("stablehlo."),
			l->ops.p[i].n_operands);
		for (uint32_t k = 0; k < x->n_ops; k++)
			n += (size_t)snprintf(out + n, size - n, " <%s",
				op_infos[l->p->nodes.p[nested_node(&l->ops.p[i], &x->ops[k])].op_kind].text +
					strlen("stablehlo."));
	}
	evaluator_free(ev);
}

#define T "tensor<64x64xf32>"
#define DOT(out, a, b) \
	out " = stablehlo.dot_general " a ", " b ", contracting_dims = [1] x [0] : (" T ", " T \
		") -> " T "\n"

static const struct shape {
	const char *name, *body, *nested;
} shapes[] = {
	{"a chain, constants dropped",
		"%c = stablehlo.constant dense<2.0> : tensor<f32>\n %b = stablehlo.broadcast_in_dim %c, "
		"dims = [] : (tensor<f32>) -> " T "\n"
		"%1 = stablehlo.multiply %x, %b : " T "\n %2 = stablehlo.negate %1 : " T "\n"
		"%r = stablehlo.tanh %2 : " T "\n",
		"tanh(1) <multiply <negate"},
	{"read twice: stays",
		"%1 = stablehlo.negate %x : " T "\n %2 = stablehlo.tanh %1 : " T
		"\n %r = stablehlo.multiply %2, %1 : " T "\n",
		"multiply(2) <tanh"},
	{"something stands in between",
		"%1 = stablehlo.negate %x : " T
		"\n" DOT("%2", "%x", "%y") "%r = stablehlo.multiply %1, %2 : " T "\n",
		""},
	{"what is made of constants goes anywhere",
		"%1 = stablehlo.iota dim = 0 : " T "\n %2 = stablehlo.negate %1 : " T
		"\n" DOT("%3", "%x", "%y") "%r = stablehlo.multiply %2, %3 : " T "\n",
		"multiply(1) <iota <negate"},
	{"a sum of two sums may be one",
		DOT("%1", "%x", "%y") DOT("%2", "%y", "%x") "%3 = stablehlo.add %1, %2 : " T
													"\n %r = stablehlo.tanh %3 : " T "\n",
		""},
	{"trees have branches",
		"%1 = stablehlo.negate %x : " T "\n %2 = stablehlo.tanh %y : " T
		"\n %3 = stablehlo.multiply %1, %2 : " T "\n"
		"%r = stablehlo.subtract %3, %x : " T "\n",
		"subtract(3) <negate <tanh <multiply"},
};

START_TEST(what_is_nested)
{
	const struct shape *s = &shapes[_i];
	fixture f;
	char text[2048], nested[256];
	snprintf(text, sizeof text,
		"func.func public @main(%%x: " T ", %%y: " T ") -> " T " {\n%s return %%r : " T "\n}\n",
		s->body);
	fix_text(&f, text);
	list_nested(&f, nested, sizeof nested);
	ck_assert_msg(!strcmp(nested, s->nested), "%s: %s", s->name, nested);
	teardown(&f);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("nested");
	tcase_add_loop_test(t, costs_are_those_without, 0, 2 * COUNT_OF(rows));
	tcase_add_test(t, not_on_cpus);
	tcase_add_loop_test(t, what_is_nested, 0, COUNT_OF(shapes));
	return run_suite(t, "nested");
}
