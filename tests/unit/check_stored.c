/* Bytes that values take in a TPU's main memory beside their elements: those of libtpu 0.0.51's
 * buffers. */
#include "simulator/simulator.h"
#include "tests/unit/module_fixture.h"

enum { M = 1 << 20 };

static int64_t temporary_bytes(
	const char *name, const char *args, const char *results, const char *lines)
{
	module *m = read_body(args, results, lines);
	device dev;
	cost c;
	diag d = {0};
	ck_assert_int_eq(device_find(name, &dev, NULL), ST_OK);
	ck_assert_msg(simulate_applied(m, &dev, APPLY_EXACT, NULL, &c, NULL, &d) == ST_OK, "%s", d.msg);
	module_free(m);
	return c.temporary_bytes;
}

/* Logits that are products in bfloat16 and widened for a loss that gathers from them: both are
 * kept, for all else reads the narrow ones. */
#define X "tensor<16384x1024xbf16>"
#define W "tensor<1024x8192xbf16>"
#define NARROW "tensor<16384x8192xbf16>"
#define WIDE "tensor<16384x8192xf32>"
#define SUMS "tensor<16384xf32>"
#define PLACES "tensor<16384x2xi32>"
#define LOGITS \
	"%y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (" X ", " W ") -> " NARROW \
	"\n%f = stablehlo.convert %y : (" NARROW ") -> " WIDE \
	"\n%zero = stablehlo.constant dense<0.0> : tensor<f32>" \
	"\n%e = stablehlo.exponential %f : " WIDE "\n%s = stablehlo.reduce(%e init: %zero) applies " \
	"stablehlo.add across dimensions = [1] : (" WIDE ", tensor<f32>) -> " SUMS "\n"
#define PICK \
	"%p = \"stablehlo.gather\"(%f, %i) {dimension_numbers = " \
	"#stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], " \
	"index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (" WIDE ", " PLACES ") -> " SUMS \
	"\n"
#define GRADIENT \
	"%b = stablehlo.broadcast_in_dim %s, dims = [0] : (" SUMS ") -> " WIDE \
	"\n%d = stablehlo.divide %e, %b : " WIDE "\n%h = stablehlo.convert %d : (" WIDE ") -> " NARROW \
	"\n%v = stablehlo.dot_general %x, %h, contracting_dims = [0] x [0] : (" X ", " NARROW \
	") -> " W "\n"

START_TEST(test_widened_beside_its_readers)
{
	int64_t picked = temporary_bytes("tpu-v5e", "%x: " X ", %w: " W ", %i: " PLACES, W ", " SUMS,
				LOGITS PICK GRADIENT "return %v, %p : " W ", " SUMS),
			summed = temporary_bytes(
				"tpu-v5e", "%x: " X ", %w: " W, W, LOGITS GRADIENT "return %v : " W);
	ck_assert_int_ge(picked, (512 + 256) * (int64_t)M);
	ck_assert_int_lt(picked, (512 + 256 + 16) * (int64_t)M);
	ck_assert_int_lt(summed, 512 * (int64_t)M);
}
END_TEST

/* Scores of 49 places lie in tiles of 56 x 128, not with one of the dims of their batch in a tile.
 */
#define Q "tensor<1024x16x49x32xbf16>"
#define SCORES "tensor<1024x16x49x49xf32>"
#define ALL_OF(name) \
	"stablehlo.reduce(" name " init: %zero) applies stablehlo.add across dimensions = " \
	"[0, 1, 2, 3] : (" SCORES ", tensor<f32>) -> tensor<f32>\n"

START_TEST(test_matrices_of_a_batch_fill_tiles)
{
	int64_t bytes = temporary_bytes("tpu-v5e", "%q: " Q ", %k: " Q, "tensor<f32>, tensor<f32>",
		"%s = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = "
		"[3] x [3] : (" Q ", " Q ") -> " SCORES "\n"
		"%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
		"%a = " ALL_OF(
			"%s") "%b = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> " SCORES
				  "\n%c = stablehlo.subtract %s, %b : " SCORES "\n%d = stablehlo.tanh %c : " SCORES
				  "\n%e = " ALL_OF("%d") "return %a, %e : tensor<f32>, tensor<f32>");
	ck_assert_int_ge(bytes, 448 * (int64_t)M);
	ck_assert_int_lt(bytes, 460 * (int64_t)M);
}
END_TEST

/* A table with rows of half the lanes is copied with padding, and what is read of it has padding,
 * too. */
#define ROWS(width) \
	temporary_bytes("tpu-v5e", "%t: tensor<1048576x" width "xf32>, %i: tensor<65536x1xi32>", \
		"tensor<65536x" width "xf32>", \
		"%g = \"stablehlo.gather\"(%t, %i) {dimension_numbers = #stablehlo.gather<offset_dims = " \
		"[1], " \
		"collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = " \
		"array<i64: 1, " width ">} : (tensor<1048576x" width \
		"xf32>, tensor<65536x1xi32>) -> tensor<65536x" width "xf32>\n" \
		"%h = stablehlo.tanh %g : tensor<65536x" width "xf32>\n" \
		"return %h : tensor<65536x" width "xf32>")

START_TEST(test_narrow_rows_are_padded)
{
	int64_t half = ROWS("64"), whole = ROWS("128");
	ck_assert_int_ge(half, 512 * (int64_t)M); /* libtpu: 512 MiB, and none of whole lanes */
	ck_assert_int_lt(half, (512 + 40) * (int64_t)M);
	ck_assert_int_lt(whole, 40 * (int64_t)M);
}
END_TEST

/* A loop stacks 256 states of 64 x 64 numbers, 8 of them at a time. The counted dim would waste
 * nothing in the lanes, but is none of a tile. */
#define STATES "tensor<8x64x64xf32>"
#define STACK "tensor<256x8x64x64xf32>"
START_TEST(test_stacks_keep_the_counted_dim_out_of_tiles)
{
	int64_t bytes = temporary_bytes("tpu-v5e", "%x: " STATES, STATES,
		"%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
		"%first = stablehlo.constant dense<0> : tensor<i32>\n"
		"%one = stablehlo.constant dense<1> : tensor<i32>\n"
		"%last = stablehlo.constant dense<256> : tensor<i32>\n"
		"%empty = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> " STACK "\n"
		"%r:3 = stablehlo.while(%i = %first, %s = %x, %all = %empty) : tensor<i32>, " STATES
		", " STACK "\n cond {\n  %more = stablehlo.compare LT, %i, %last : (tensor<i32>, "
		"tensor<i32>) -> tensor<i1>\n  stablehlo.return %more : tensor<i1>\n } do {\n"
		"  %t = stablehlo.tanh %s : " STATES "\n"
		"  %row = stablehlo.reshape %t : (" STATES ") -> tensor<1x8x64x64xf32>\n"
		"  %u = stablehlo.dynamic_update_slice %all, %row, %i, %first, %first, %first : (" STACK
		", tensor<1x8x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> " STACK
		"\n  %n = stablehlo.add %i, %one : tensor<i32>\n"
		"  stablehlo.return %n, %t, %u : tensor<i32>, " STATES ", " STACK "\n }\n"
		"%sum = stablehlo.reduce(%r#2 init: %zero) applies stablehlo.add across dimensions = [0] : "
		"(" STACK ", tensor<f32>) -> " STATES "\nreturn %sum : " STATES);
	ck_assert_int_ge(bytes, 2 * 32 * (int64_t)M);
	ck_assert_int_lt(bytes, (2 * 32 + 8) * (int64_t)M);
}
END_TEST

/* A concatenation is written where two products read it, and not where one does. */
#define HALF "tensor<131072x256xbf16>"
#define BOTH "tensor<131072x512xbf16>"
#define WEIGHT "tensor<512x512xbf16>"
#define JOINED "%j = stablehlo.concatenate %a, %b, dim = 1 : (" HALF ", " HALF ") -> " BOTH "\n"
#define PRODUCT(name, weight) \
	name " = stablehlo.dot_general %j, " weight ", contracting_dims = [1] x [0] : (" BOTH \
		 ", " WEIGHT ") -> " BOTH "\n"

START_TEST(test_concatenations_of_several_products)
{
	int64_t one = temporary_bytes("tpu-v5e", "%a: " HALF ", %b: " HALF ", %w: " WEIGHT, BOTH,
				JOINED PRODUCT("%p", "%w") "return %p : " BOTH),
			two = temporary_bytes("tpu-v5e",
				"%a: " HALF ", %b: " HALF ", %w: " WEIGHT ", %v: " WEIGHT, BOTH ", " BOTH,
				JOINED PRODUCT("%p", "%w") PRODUCT("%q", "%v") "return %p, %q : " BOTH ", " BOTH);
	ck_assert_int_eq(one, 0);
	ck_assert_int_eq(two, 128 * (int64_t)M);
}
END_TEST

static void add_tests(TCase *t)
{
	const TTest *tests[] = {test_widened_beside_its_readers, test_matrices_of_a_batch_fill_tiles,
		test_narrow_rows_are_padded, test_stacks_keep_the_counted_dim_out_of_tiles,
		test_concatenations_of_several_products};
	for (uint32_t i = 0; i < COUNT_OF(tests); i++)
		tcase_add_test(t, tests[i]);
}

int main(void) { return run_added(add_tests, "stored"); }
