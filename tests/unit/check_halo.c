/* Borders of windows over cut dims. Shapes and sizes are those of XLA's partitioner on a small
 * convolutional network. */
#include "tests/unit/lower_fixture.h"

#define MESH "<[\"d\"=4, \"m\"=2]>"
#define SPACE "{sdy.sharding = #sdy.sharding<@mesh, [{}, {\"d\"}, {\"m\"}, {}]>}"
#define LINES "{sdy.sharding = #sdy.sharding<@mesh, [{}, {\"d\"}, {}, {}]>}"
#define CONVOLUTION(x, w, dims, window) \
	"  %r = stablehlo.convolution(%" x ", %" w ") dim_numbers = " dims ", window = {" window \
	"} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
#define FORWARD "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
#define BY_INPUT "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]"
#define BY_KERNEL "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]"
#define BODY(op) \
	"({\n  ^bb0(%p: tensor<bf16>, %q: tensor<bf16>):\n    %s = " op \
	" : tensor<bf16>\n    stablehlo.return %s : tensor<bf16>\n  })"

static const struct {
	const char *name, *text, *permuted;
} cases[] = {
	{"both sides, dim after dim",
		"func.func @main(%x: tensor<64x64x64x3xbf16> " SPACE
		", %w: tensor<5x5x3x64xbf16>) -> (tensor<64x64x64x64xbf16> " SPACE
		") {\n" CONVOLUTION("x", "w", FORWARD,
			"pad = [[2, 2], [2, 2]]") "(tensor<64x64x64x3xbf16>, tensor<5x5x3x64xbf16>) -> "
									  "tensor<64x64x64x64xbf16>\n"
									  "  return %r : tensor<64x64x64x64xbf16>\n}\n",
		"24576 24576 15360 15360"},
	{"windows of one element take none",
		"func.func @main(%x: tensor<64x32x32x64xbf16> " SPACE
		", %w: tensor<1x1x64x64xbf16>) -> (tensor<64x32x32x64xbf16> " SPACE
		") {\n" CONVOLUTION("x", "w", FORWARD,
			"") "(tensor<64x32x32x64xbf16>, tensor<1x1x64x64xbf16>) -> tensor<64x32x32x64xbf16>\n"
				"  return %r : tensor<64x32x32x64xbf16>\n}\n",
		""},
	{"with steps, one side",
		"func.func @main(%x: tensor<64x32x32x64xbf16> " SPACE
		", %w: tensor<3x3x64x128xbf16>) -> (tensor<64x16x16x128xbf16> " SPACE
		") {\n" CONVOLUTION("x", "w", FORWARD,
			"stride = [2, 2], pad = [[0, 1], [0, 1]]") "(tensor<64x32x32x64xbf16>, "
													   "tensor<3x3x64x128xbf16>) -> "
													   "tensor<64x16x16x128xbf16>\n  return %r : "
													   "tensor<64x16x16x128xbf16>\n}\n",
		"131072 73728"},
	{"between holes",
		"func.func @main(%x: tensor<64x8x8x256xbf16> " SPACE
		", %w: tensor<3x3x128x256xbf16>) -> (tensor<64x16x16x128xbf16> " SPACE
		") {\n" CONVOLUTION("x", "w", BY_INPUT,
			"pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2], reverse = [true, true]") "(tensor<"
																				   "64x8x8x256xbf16"
																				   ">, "
																				   "tensor<"
																				   "3x3x128x256xbf1"
																				   "6>) -> "
																				   "tensor<"
																				   "64x16x16x128xbf"
																				   "16>\n  return "
																				   "%r : "
																				   "tensor<"
																				   "64x16x16x128xbf"
																				   "16>\n}\n",
		"131072 98304"},
	{"places are contracted",
		"func.func @main(%x: tensor<64x32x32x64xbf16> " SPACE
		", %w: tensor<64x32x32x64xbf16> " SPACE
		") -> tensor<3x3x64x64xbf16> {\n" CONVOLUTION("x", "w", BY_KERNEL,
			"pad = [[1, 1], [1, 1]]") "(tensor<64x32x32x64xbf16>, tensor<64x32x32x64xbf16>) -> "
									  "tensor<3x3x64x64xbf16>\n"
									  "  return %r : tensor<3x3x64x64xbf16>\n}\n",
		"131072 131072 81920 81920"},
	{"places with steps are contracted",
		"func.func @main(%x: tensor<64x32x32x64xbf16> " SPACE
		", %w: tensor<64x16x16x128xbf16> " SPACE
		") -> tensor<3x3x64x128xbf16> {\n" CONVOLUTION("x", "w", BY_KERNEL,
			"pad = [[0, 1], [0, 1]], rhs_dilate = [2, 2]") "(tensor<64x32x32x64xbf16>, "
														   "tensor<64x16x16x128xbf16>) -> "
														   "tensor<3x3x64x128xbf16>\n  return %r : "
														   "tensor<3x3x64x128xbf16>\n}\n",
		"131072 73728"},
	{"reduce_window",
		"func.func @main(%x: tensor<64x64x64x64xbf16> " SPACE
		") -> (tensor<64x32x32x64xbf16> " SPACE
		") {\n  %z = stablehlo.constant dense<0.0> : tensor<bf16>\n"
		"  %r = \"stablehlo.reduce_window\"(%x, %z) <{padding = dense<[[0, 0], [0, 1], [0, 1], [0, "
		"0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>, "
		"window_strides = array<i64: 1, 2, 2, 1>}> " BODY(
			"stablehlo.maximum %p, %q") " : (tensor<64x64x64x64xbf16>, tensor<bf16>) -> "
										"tensor<64x32x32x64xbf16>\n"
										"  return %r : tensor<64x32x32x64xbf16>\n}\n",
		"262144 139264"},
	{"select_and_scatter between a pad and a slice that shift parts",
		"func.func @main(%x: tensor<64x64x64x64xbf16> " SPACE
		", %g: tensor<64x32x32x64xbf16> " SPACE ") -> (tensor<64x64x64x64xbf16> " SPACE ") {\n"
		"  %z = stablehlo.constant dense<0.0> : tensor<bf16>\n"
		"  %y = stablehlo.pad %x, %z, low = [0, 0, 0, 0], high = [0, 1, 1, 0], interior = [0, 0, "
		"0, 0] : (tensor<64x64x64x64xbf16>, tensor<bf16>) -> tensor<64x65x65x64xbf16>\n"
		"  %t = \"stablehlo.select_and_scatter\"(%y, %g, %z) <{padding = dense<0> : "
		"tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>, "
		"window_strides = array<i64: 1, 2, 2, 1>}> ({\n  ^bb0(%p: tensor<bf16>, %q: "
		"tensor<bf16>):\n    %s = stablehlo.compare GE, %p, %q : (tensor<bf16>, tensor<bf16>) -> "
		"tensor<i1>\n"
		"    stablehlo.return %s : tensor<i1>\n  }, {\n  ^bb0(%p: tensor<bf16>, %q: "
		"tensor<bf16>):\n    %s = stablehlo.add %p, %q : tensor<bf16>\n    stablehlo.return %s : "
		"tensor<bf16>\n  })"
		" : (tensor<64x65x65x64xbf16>, tensor<64x32x32x64xbf16>, tensor<bf16>) -> "
		"tensor<64x65x65x64xbf16>\n"
		"  %r = stablehlo.slice %t [0:64, 0:64, 0:64, 0:64] : (tensor<64x65x65x64xbf16>) -> "
		"tensor<64x64x64x64xbf16>\n"
		"  return %r : tensor<64x64x64x64xbf16>\n}\n",
		"786432 139264 540672 540672 172032 344064 262144 81920 811008 131072"},
	{"from several neighbours",
		"func.func @main(%x: tensor<8x8x1x1xbf16> " LINES
		", %w: tensor<7x1x1x1xbf16>) -> (tensor<8x8x1x1xbf16> " LINES ") {\n" CONVOLUTION("x", "w",
			FORWARD, "pad = [[3, 3], [0, 0]]") "(tensor<8x8x1x1xbf16>, tensor<7x1x1x1xbf16>) -> "
											   "tensor<8x8x1x1xbf16>\n"
											   "  return %r : tensor<8x8x1x1xbf16>\n}\n",
		"32 16 32 16"},
};

static void permutes(const lowered *l, char *out, size_t size)
{
	size_t n = 0;
	*out = 0;
	for (lop_id i = 0; i < l->ops.n; i++)
		if (l->ops.p[i].kind == LOP_COLLECTIVE && l->ops.p[i].coll == COLL_COLLECTIVE_PERMUTE &&
			n < size)
			n += (size_t)snprintf(
				out + n, size - n, "%s%lld", n ? " " : "", (long long)l->ops.p[i].bytes);
}

START_TEST(borders)
{
	lowering x;
	char got[512];
	lowering_read(&x, MESH, cases[_i].text);
	for (lower_target t = TARGET_TPU; t <= TARGET_CPU; t++) {
		lower_to(&x, LEVEL_COMPILED, t);
		permutes(x.out, got, sizeof got);
		ck_assert_msg(!strcmp(got, cases[_i].permuted), "%s: %s, expected %s", cases[_i].name, got,
			cases[_i].permuted);
	}
	lower_to(&x, LEVEL_OPTIMIZED, TARGET_TPU);
	permutes(x.out, got, sizeof got);
	ck_assert_str_eq(got, "");
	lowering_release(&x);
}
END_TEST

/* A convolution and the gradient of its kernel look at one value. Its border in the first dim is
 * the same; in the second one the former has zeros around the whole. */
START_TEST(tpu_fetches_a_border_once)
{
	static const char text[] =
		"func.func @main(%x: tensor<64x32x32x64xbf16> " SPACE
		", %w: tensor<3x3x64x64xbf16>, %g: tensor<64x32x32x64xbf16> " SPACE ") -> "
		"(tensor<64x32x32x64xbf16> " SPACE
		", tensor<3x3x64x64xbf16>) {\n" CONVOLUTION("x", "w", FORWARD,
			"pad = [[1, 1], [1, 1]]") "(tensor<64x32x32x64xbf16>, tensor<3x3x64x64xbf16>) -> "
									  "tensor<64x32x32x64xbf16>\n"
									  "  %k = stablehlo.convolution(%x, %g) dim_numbers "
									  "= " BY_KERNEL ", window = {pad = [[1, 1], [1, 1]]} "
									  "{batch_group_count = 1 : i64, feature_group_count = 1 : "
									  "i64} : (tensor<64x32x32x64xbf16>, tensor<64x32x32x64xbf16>) "
									  "-> tensor<3x3x64x64xbf16>\n"
									  "  return %r, %k : tensor<64x32x32x64xbf16>, "
									  "tensor<3x3x64x64xbf16>\n}\n";
	lowering x;
	char got[512];
	lowering_read(&x, MESH, text);
	for (lower_target t = TARGET_TPU; t <= TARGET_GPU; t++) {
		lower_to(&x, LEVEL_COMPILED, t);
		permutes(x.out, got, sizeof got);
		ck_assert_str_eq(got,
			t == TARGET_TPU ? "131072 131072 81920 81920 81920 81920"
							: "131072 131072 81920 81920 131072 131072 81920 81920");
	}
	lowering_release(&x);
}
END_TEST

/* Parts of three elements in four are padded to one each: four are gathered. */
START_TEST(gathers_move_padding)
{
	lowering x;
	lowering_read(&x, MESH,
		"func.func @main(%x: tensor<3x8xf32>) -> (tensor<3x8xf32> {sdy.sharding = "
		"#sdy.sharding<@mesh, [{}, {}]>}) {\n"
		"  %y = sdy.sharding_constraint %x <@mesh, [{\"d\"}, {}]> : tensor<3x8xf32>\n  %r = "
		"stablehlo.tanh %y : tensor<3x8xf32>\n"
		"  return %r : tensor<3x8xf32>\n}\n");
	lower_to(&x, LEVEL_COMPILED, TARGET_TPU);
	int64_t bytes = 0;
	for (lop_id i = 0; i < x.out->ops.n; i++)
		if (x.out->ops.p[i].kind == LOP_COLLECTIVE && x.out->ops.p[i].coll == COLL_ALL_GATHER)
			bytes = x.out->ops.p[i].bytes;
	ck_assert_int_eq(bytes, 4 * 8 * 4);
	lowering_release(&x);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("halo");
	tcase_add_loop_test(t, borders, 0, COUNT_OF(cases));
	tcase_add_test(t, tpu_fetches_a_border_once);
	tcase_add_test(t, gathers_move_padding);
	return run_suite(t, "halo");
}
