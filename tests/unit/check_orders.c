/* Loops run on copies of arguments that do not lie in the order of dims that is wanted in them.
 * From what XLA's compilers make of the corpus (docs/fidelity.md): TPU's copy the caches and the
 * projections by heads in front of the loop of `decode`, GPU's the caches alone; GPU's copy the
 * stacked weights of `transformer_scan` that ZeRO-3 gathers along an inner dim. */
#include "simulator/simulator.h"
#include "tests/unit/module_fixture.h"

#include <inttypes.h>

typedef struct loop_case {
	const char *device, *state, *cut; /* what the loop reads or updates, and its sharding */
	const char *in, *in_cut, *out;    /* %x and %y */
	const char *body;                 /* makes %y, and %u where it updates */
	bool updates, copied;
	int64_t narrow; /* Mi elements of 16 bits that are copied into the loop */
} loop_case;

#define DOT(dims, a, b, out) \
	"%y = stablehlo.dot_general %x, %s, " dims " : (" a ", " b ") -> " out "\n"
#define Q "tensor<16x4x128xbf16>"
#define K "tensor<16x2048x4x128xbf16>"
#define H "tensor<16x4x2048x128xbf16>"
#define S "tensor<16x4x2048xbf16>"
#define SCORES DOT("batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3]", Q, K, S)
#define SCORES_BY_HEADS \
	DOT("batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [3]", Q, H, S)
#define UPDATE \
	"%v = stablehlo.reshape %x : (" Q ") -> tensor<16x1x4x128xbf16>\n" \
	"%u = stablehlo.dynamic_update_slice %s, %v, %zero, %i, %zero, %zero : (" K \
	", tensor<16x1x4x128xbf16>, tensor<i32>, tensor<i32>, " \
	"tensor<i32>, tensor<i32>) -> " K "\n" \
	"%y = stablehlo.dot_general %x, %u, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] " \
	"x [3] : (" Q ", " K ") -> " S "\n"
#define W "tensor<4096x16x128xbf16>"
#define X "tensor<16x4096xbf16>"
#define Y "tensor<16x16x128xbf16>"
#define W2 "tensor<65536x2x128xbf16>"
#define X2 "tensor<16x65536xbf16>"
#define Y2 "tensor<16x2x128xbf16>"
#define PROJECT "contracting_dims = [1] x [0]"
#define STACK "tensor<8x1024x2048xf32>"
#define LAYER \
	"%p = stablehlo.dynamic_slice %s, %i, %zero, %zero, sizes = [1, 1024, 2048] : (" STACK \
	", tensor<i32>, tensor<i32>, " \
	"tensor<i32>) -> tensor<1x1024x2048xf32>\n" \
	"%w = stablehlo.reshape %p : (tensor<1x1024x2048xf32>) -> tensor<1024x2048xf32>\n" \
	"%y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (" A \
	", tensor<1024x2048xf32>) -> " B "\n"
#define A "tensor<16x1024xf32>"
#define B "tensor<16x2048xf32>"
#define WHOLE3 "{}, {}, {}"
#define WHOLE4 "{}, {}, {}, {}"

static const loop_case cases[] = {
	/* a library wants the batch in front, a matrix unit off its tiles */
	{"h100", K, WHOLE4, Q, WHOLE3, S, SCORES, false, true, 16},
	{"tpu-v5e", K, WHOLE4, Q, WHOLE3, S, SCORES, false, true, 16},
	{"h100", K, WHOLE4, Q, WHOLE3, S, UPDATE, true, true, 16},
	{"tpu-v5e", K, WHOLE4, Q, WHOLE3, S, UPDATE, true, true, 16},
	{"h100", H, WHOLE4, Q, WHOLE3, S, SCORES_BY_HEADS, false, false, 0},
	{"tpu-v5e", H, WHOLE4, Q, WHOLE3, S, SCORES_BY_HEADS, false, false, 0},
	/* heads and their elements fill the tiles of a projection, unless the device has one head */
	{"tpu-v5e", W, WHOLE3, X, "{}, {}", Y, DOT(PROJECT, X, W, Y), false, true, 8},
	{"h100", W, WHOLE3, X, "{}, {}", Y, DOT(PROJECT, X, W, Y), false, false, 0},
	{"tpu-v5e", W2, "{}, {\"a\"}, {}", X2, "{}, {}", Y2, DOT(PROJECT, X2, W2, Y2), false, false, 0},
	/* GPUs gather along the outermost dim, of those that are not 1 */
	{"h100", STACK, "{}, {}, {\"a\"}p1", A, "{\"a\"}, {}", B, LAYER, false, true, 0},
	{"h100", STACK, "{}, {\"a\"}p1, {}", A, "{\"a\"}, {}", B, LAYER, false, false, 0},
	{"tpu-v5e", STACK, "{}, {}, {\"a\"}p1", A, "{\"a\"}, {}", B, LAYER, false, false, 0},
};

/* reorders: elements per second */
static cost cost_of(const loop_case *x, int64_t reorders)
{
	strbuf args, results, lines;
	strbuf_init(&args);
	strbuf_init(&results);
	strbuf_init(&lines);
	strbuf_printf(&args,
		"%%state: %s {sdy.sharding = #sdy.sharding<@mesh, [%s]>%s}, %%x: %s {sdy.sharding = "
		"#sdy.sharding<@mesh, [%s]>}",
		x->state, x->cut, x->updates ? ", tf.aliasing_output = 1 : i32" : "", x->in, x->in_cut);
	strbuf_printf(&results,
		x->updates ? "%s, %s {sdy.sharding = #sdy.sharding<@mesh, [%s]>}" : "%s", x->out, x->state,
		x->cut);
	strbuf_printf(&lines,
		"%%zero = stablehlo.constant dense<0> : tensor<i32>\n%%start = stablehlo.constant "
		"dense<0.0> : %s\n"
		"%%0:3 = stablehlo.while(%%i = %%zero, %%s = %%state, %%o = %%start) : tensor<i32>, %s, "
		"%s\n"
		"cond {\n%%n = stablehlo.constant dense<8> : tensor<i32>\n"
		"%%c = stablehlo.compare LT, %%i, %%n, SIGNED : (tensor<i32>, tensor<i32>) -> "
		"tensor<i1>\nstablehlo.return %%c : tensor<i1>\n"
		"} do {\n%%one = stablehlo.constant dense<1> : tensor<i32>\n%%k = stablehlo.add %%i, %%one "
		": tensor<i32>\n%s"
		"stablehlo.return %%k, %s, %%y : tensor<i32>, %s, %s\n}\n",
		x->out, x->state, x->out, x->body, x->updates ? "%u" : "%s", x->state, x->out);
	strbuf_printf(&lines, x->updates ? "return %%0#2, %%0#1 : %s, %s" : "return %%0#2 : %s", x->out,
		x->state);
	module *m = read_body(args.p, results.p, lines.p);
	device dev;
	cost c;
	diag d = {0};
	ck_assert_int_eq(device_find(x->device, &dev, NULL), ST_OK);
	dev.reorder_elements_s = reorders;
	ck_assert_msg(
		simulate_module(m, &dev, APPLY_ANNOTATE, NULL, &c, NULL, &d) == ST_OK, "%s", d.msg);
	module_free(m);
	strbuf_release(&args);
	strbuf_release(&results);
	strbuf_release(&lines);
	return c;
}

START_TEST(test_copies_of_loops)
{
	enum { LEAST = 16 << 20 }; /* all states are that large on a device, and nothing else is */
	for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
		cost c = cost_of(&cases[i], 0), slow = cost_of(&cases[i], 1 << 20);
		ck_assert_msg((c.temporary_bytes >= LEAST) == cases[i].copied, "case %u: %" PRId64 " bytes",
			i, c.temporary_bytes);
		int64_t copies = 1 + cases[i].updates; /* into the loop, and out of it */
		ck_assert_msg(slow.compute_ns - c.compute_ns == copies * cases[i].narrow * 1000000000,
			"case %u: %" PRId64 " ns", i, slow.compute_ns - c.compute_ns);
		ck_assert_msg(
			slow.runtime_ns - c.runtime_ns == slow.compute_ns - c.compute_ns, "case %u", i);
		ck_assert_msg(!cases[i].updates || c.alias_bytes >= LEAST, "case %u",
			i); /* copied back into what was donated */
	}
}
END_TEST

/* Layers of weights that a loop rounds one by one are all rounded in front of it on TPU, and kept
 * while it runs. Behind a barrier, too; what is not narrower afterwards stays. */
#define ROUND(barrier, to, out) \
	"%p = stablehlo.dynamic_slice %s, %i, %zero, %zero, sizes = [1, 1024, 2048] : (" STACK \
	", tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1024x2048xf32>\n" \
	"%r = stablehlo.reshape %p : (tensor<1x1024x2048xf32>) -> tensor<1024x2048xf32>\n" barrier \
	"%w = stablehlo.convert %q : (tensor<1024x2048xf32>) -> tensor<1024x2048x" to ">\n" \
	"%b = stablehlo.convert %x : (" A ") -> tensor<16x1024x" to ">\n" \
	"%y = stablehlo.dot_general %b, %w, contracting_dims = [1] x [0] : (tensor<16x1024x" to \
	">, tensor<1024x2048x" to ">) -> " out "\n"
#define STRAIGHT "%q = stablehlo.reshape %r : (tensor<1024x2048xf32>) -> tensor<1024x2048xf32>\n"
#define BARRIER "%q = stablehlo.optimization_barrier %r : tensor<1024x2048xf32>\n"

START_TEST(test_layers_are_rounded_before_loops)
{
	enum { ROUNDED = 32 << 20 };
	static const struct {
		const char *device, *body;
		bool rounds;
	} of[] = {{"tpu-v5e", ROUND(STRAIGHT, "bf16", B), true},
		{"tpu-v5e", ROUND(BARRIER, "bf16", B), true}, {"tpu-v5e", ROUND(STRAIGHT, "f32", B), false},
		{"h100", ROUND(STRAIGHT, "bf16", B), false}};
	for (uint32_t i = 0; i < COUNT_OF(of); i++) {
		loop_case x = {.device = of[i].device,
			.state = STACK,
			.cut = WHOLE3,
			.in = A,
			.in_cut = "{}, {}",
			.out = B,
			.body = of[i].body};
		ck_assert_msg((cost_of(&x, 0).temporary_bytes >= ROUNDED) == of[i].rounds, "case %u", i);
	}
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, test_copies_of_loops);
	tcase_add_test(t, test_layers_are_rounded_before_loops);
}

int main(void) { return run_added(add_tests, "orders"); }
