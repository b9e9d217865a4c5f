#include "tests/unit/module_fixture.h"

static char *printed(const module *m, bool locations)
{
	strbuf b;
	strbuf_init(&b);
	module_print(m, &(print_options){locations}, &b);
	return b.p;
}

static void prints_as(const char *text, const char *want)
{
	module *m = read_ok(text);
	char *got = printed(m, false);
	ck_assert_str_eq(got, want);
	free(got);
	module_free(m);
}

/* Printing, reading and printing again changes nothing, and neither the program nor its shardings.
 */
static void round_trip(const char *file)
{
	module *m, *again;
	diag d;
	diag_clear(&d);
	ck_assert_int_eq(module_read_file(file, NULL, &m, &d), ST_OK);
	char prints[4][72];
	module_fingerprint(m, prints[0]);
	module_sharding_fingerprint(m, prints[1]);
	for (int locations = 0; locations < 2; locations++) {
		char *first = printed(m, locations);
		if (module_read(first, strlen(first), "printed", NULL, &again, &d) != ST_OK)
			ck_abort_msg("%s printed, %u:%u: %s", file, d.line, d.col, d.msg);
		structure_ok(again);
		char *second = printed(again, locations);
		ck_assert_str_eq(first, second);
		module_fingerprint(again, prints[2]);
		module_sharding_fingerprint(again, prints[3]);
		ck_assert_str_eq(prints[0], prints[2]);
		ck_assert_str_eq(prints[1], prints[3]);
		module_free(again);
		free(first);
		free(second);
	}
	module_free(m);
}

START_TEST(files_survive)
{
	round_trip("tests/unit/data/ops.mlir");
	round_trip("tests/unit/data/ops_generic.mlir");
	round_trip("tests/corpus/mlp_tiny.mlir.zst");
	round_trip("tests/corpus/transformer_scan.mlir.zst");
	round_trip("tests/corpus/convnet.mlir.zst");
}
END_TEST

static const char canonical[] =
	"module @m attributes {mhlo.num_partitions = 8 : i32} {\n"
	"  sdy.mesh @mesh = <[\"a\"=2, \"b\"=4]>\n"
	"  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, "
	"[{\"a\"}, {?}]>, tf.aliasing_output = 0 : i32}, "
	"%arg1: tensor<4x8xf32>) -> (tensor<8x8xf32> {jax.result_info = \"r\"}) {\n"
	"    %0 = stablehlo.tanh %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{\"a\"}, "
	"{}]>]>} : tensor<8x4xf32>\n"
	"    %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, "
	"DEFAULT] : (tensor<8x4xf32>, tensor<4x8xf32>)"
	" -> tensor<8x8xf32>\n"
	"    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>\n"
	"    %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [1] : "
	"(tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>\n"
	"    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>\n"
	"    %4 = stablehlo.compare LT, %3, %1, FLOAT : (tensor<8x8xf32>, tensor<8x8xf32>) -> "
	"tensor<8x8xi1>\n"
	"    %5 = stablehlo.select %4, %3, %1 : tensor<8x8xi1>, tensor<8x8xf32>\n"
	"    %6 = sdy.sharding_constraint %5 <@mesh, [{}, {\"b\"}]> : tensor<8x8xf32>\n"
	"    %values, %indices = \"chlo.top_k\"(%6) {k = 2 : i64} : (tensor<8x8xf32>) -> "
	"(tensor<8x2xf32>, tensor<8x2xi32>)\n"
	"    %7:2 = stablehlo.optimization_barrier %6, %5 : tensor<8x8xf32>, tensor<8x8xf32>\n"
	"    %8 = call @f(%7#1) : (tensor<8x8xf32>) -> tensor<8x8xf32>\n"
	"    return %8 : tensor<8x8xf32>\n"
	"  }\n"
	"  func.func private @f(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>) {\n"
	"    return %arg0 : tensor<8x8xf32>\n"
	"  }\n"
	"}\n";

START_TEST(simple_ops_are_pretty) { prints_as(canonical, canonical); }
END_TEST

START_TEST(regions)
{
	static const char text[] =
		"module {\n"
		"  func.func @main(%a: tensor<i32>) -> (tensor<i32>) {\n"
		"    %0 = stablehlo.while(%i = %a) : tensor<i32> attributes {k = 1 : i64} cond {\n"
		"      %1 = stablehlo.compare LT, %i, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
		"      stablehlo.return %1 : tensor<i1>\n"
		"    } do {\n"
		"      %1 = func.call @main(%i) : (tensor<i32>) -> tensor<i32>\n"
		"      stablehlo.return %1 : tensor<i32>\n"
		"    }\n"
		"    %1 = \"foo.op\"(%0) ({\n"
		"    ^bb0(%x: tensor<i32>):\n"
		"      \"foo.end\"(%x) : (tensor<i32>) -> ()\n"
		"    }, {\n"
		"    }) {z = unit} : (tensor<i32>) -> tensor<i32>\n"
		"    return %1 : tensor<i32>\n"
		"  }\n"
		"}\n";
	char want[sizeof text];
	strcpy(want, text);
	memmove(strstr(want, "z = unit") + 1, strstr(want, "z = unit") + 8,
		strlen(strstr(want, "z = unit") + 8) + 1);
	prints_as(text, want);
}
END_TEST

START_TEST(names_never_clash)
{
	module *m = read_body("%x: tensor<f32>", "tensor<f32>",
		"%y = stablehlo.abs %x : tensor<f32>\n%y_0 = stablehlo.abs %y : tensor<f32>\n%0 = "
		"stablehlo.abs %y_0 : tensor<f32>\n"
		"return %0 : tensor<f32>");
	/* copies take the names of their originals */
	op_id y = first_op(m, OP_ABS);
	for (int i = 0; i < 3; i++)
		op_insert_after(m, op_clone(m, y, NULL, 0), y);
	type_id t = value_at(m, op_result(m, y, 0))->type;
	value_id in = op_result(m, y, 0);
	op_insert_after(m, op_new(m, OP_NEGATE, 0, &in, 1, &t, 1, 0, 0), y);
	char *text = printed(m, false);
	module *again = read_ok(text); /* a clash would be a redefinition */
	ck_assert_ptr_nonnull(strstr(text, "%y = stablehlo.abs %x"));
	ck_assert_ptr_nonnull(strstr(text, "%0 = stablehlo.negate %y"));
	free(text);
	module_free(again);
	module_free(m);
}
END_TEST

START_TEST(locations_are_kept)
{
	static const char text[] =
		"#loc1 = loc(\"params['w']\")\n"
		"#loc2 = loc(\"f.py\":1:2)\n"
		"module {\n"
		"  func.func @main(%arg0: tensor<f32> loc(#loc1)) -> (tensor<f32>) {\n"
		"    %0 = stablehlo.abs %arg0 : tensor<f32> loc(\"a\"(#loc2))\n"
		"    return %0 : tensor<f32> loc(unknown)\n"
		"  } loc(#loc2)\n"
		"} loc(unknown)\n";
	module *m = read_ok(text);
	char *with = printed(m, true), *without = printed(m, false);
	ck_assert_str_eq(with, text);
	ck_assert_ptr_null(strstr(without, "loc"));
	free(with);
	free(without);
	module_free(m);
}
END_TEST

/* Results without a sharding among others that have one get an open one. */
START_TEST(missing_shardings_are_open)
{
	module *m = read_body("%a: tensor<4x8xf32>, %b: tensor<8xi32>", "tensor<8xi32>",
		"%0:2 = stablehlo.optimization_barrier %a, %b {sdy.sharding = "
		"#sdy.sharding_per_value<[<@mesh, [{\"a\"}, {}]>, <@mesh, [{}]>]>}"
		" : tensor<4x8xf32>, tensor<8xi32>\nreturn %0#1 : tensor<8xi32>");
	value_get(m, op_result(m, first_op(m, OP_OPTIMIZATION_BARRIER), 1))->sharding = SHARDING_NONE;
	char *text = printed(m, false);
	ck_assert_ptr_nonnull(
		strstr(text, "#sdy.sharding_per_value<[<@mesh, [{\"a\"}, {}]>, <@mesh, [{?}]>]>"));
	free(text);
	module_free(m);
}
END_TEST

START_TEST(one_op)
{
	module *m = read_ok(canonical);
	strbuf b;
	strbuf_init(&b);
	op_print(m, first_op(m, OP_SELECT), &b);
	ck_assert_str_eq(b.p, "%5 = stablehlo.select %4, %3, %1 : tensor<8x8xi1>, tensor<8x8xf32>");
	strbuf_clear(&b);
	attr_print(m, op_attr(m, first_op(m, OP_DOT_GENERAL), "dot_dimension_numbers"), &b);
	ck_assert_str_eq(
		b.p, "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>");
	strbuf_clear(&b);
	type_print(m, value_at(m, op_result(m, first_op(m, OP_COMPARE), 0))->type, &b);
	ck_assert_str_eq(b.p, "tensor<8x8xi1>");
	strbuf_release(&b);
	module_free(m);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, files_survive);
	tcase_add_test(t, simple_ops_are_pretty);
	tcase_add_test(t, regions);
	tcase_add_test(t, names_never_clash);
	tcase_add_test(t, locations_are_kept);
	tcase_add_test(t, missing_shardings_are_open);
	tcase_add_test(t, one_op);
}

int main(void) { return run_added(add_tests, "print"); }
