#include "tests/unit/module_fixture.h"

/* One op in generic form with these operand types, result types and attributes; each type list is
 * `A, B`. */
static module *one_op(
	const char *name, const char *in, const char *out, const char *attrs, const char *regions)
{
	strbuf b;
	strbuf_init(&b);
	strbuf_puts(&b, "func.func @main(");
	uint32_t n_in = 0, n_out = out[0] != 0;
	for (const char *p = in; *p;) { /* operands are arguments %0, %1 .. */
		uint32_t depth = 0;
		strbuf_printf(&b, "%s%%a%u: ", n_in ? ", " : "", n_in);
		for (n_in++; *p && (depth || *p != ','); p++) {
			depth += (*p == '<') - (*p == '>');
			strbuf_putc(&b, *p);
		}
		p += *p == ',';
	}
	for (uint32_t depth = 0, i = 0; out[i]; i++) {
		depth += (out[i] == '<') - (out[i] == '>');
		n_out += !depth && out[i] == ',';
	}
	strbuf_printf(&b, ") {\n  %s", n_out ? "%r" : "");
	if (n_out > 1)
		strbuf_printf(&b, ":%u", n_out);
	strbuf_printf(&b, "%s\"%s\"(", n_out ? " = " : "", name);
	for (uint32_t i = 0; i < n_in; i++)
		strbuf_printf(&b, "%s%%a%u", i ? ", " : "", i);
	strbuf_printf(&b, ") %s {%s} : (%s) -> (%s)\n  return\n}\n", regions, attrs, in, out);
	module *m = read_ok(b.p);
	strbuf_release(&b);
	return m;
}

struct sample {
	const char *name, *in, *out, *attrs;
	const char *message; /* NULL: fine */
};

#define T(dims) "tensor<" dims "xf32>"
#define S "tensor<f32>"
#define I "tensor<i32>"
static const struct sample samples[] = {
	{"stablehlo.add", T("4x8") "," T("4x8"), T("4x8"), "", NULL},
	{"stablehlo.add", T("4x8") "," T("4x9"), T("4x8"), "",
		"add: shapes of operand 1 and the result differ (tensor<4x9xf32> vs tensor<4x8xf32>)"},
	{"stablehlo.add", T("4"), T("4"), "", "add: 1 operands, expected 2"},
	{"stablehlo.abs", "i32", "i32", "", "expected a ranked tensor"},
	{"stablehlo.select", "tensor<i1>," T("4") "," T("4"), T("4"), "", NULL},
	{"stablehlo.select", "tensor<2xi1>," T("4") "," T("4"), T("4"), "", "operand 0"},
	{"stablehlo.clamp", S "," T("4") "," S, T("4"), "", NULL},
	{"stablehlo.bitcast_convert", "tensor<4xi64>", "tensor<4x2xi32>", "", NULL},
	{"stablehlo.bitcast_convert", "tensor<4xi64>", "tensor<5x2xi32>", "", "dimension 0"},
	{"stablehlo.broadcast_in_dim", T("4"), T("2x4"), "broadcast_dimensions = array<i64: 1>", NULL},
	{"stablehlo.broadcast_in_dim", T("4"), T("2x4"), "broadcast_dimensions = array<i64: 0>",
		"is 4, dimension 0 of the result 2"},
	{"stablehlo.broadcast_in_dim", T("4"), T("2x4"), "broadcast_dimensions = array<i64: 2>",
		"expected a dimension from 0 to 1"},
	{"stablehlo.broadcast_in_dim", T("4"), T("2x4"), "", "has 0 entries, expected 1"},
	{"stablehlo.concatenate", T("2x4") "," T("3x4"), T("5x4"), "dimension = 0 : i64", NULL},
	{"stablehlo.concatenate", T("2x4") "," T("3x4"), T("6x4"), "dimension = 0 : i64",
		"is 6, expected 5"},
	{"stablehlo.concatenate", T("2x4") "," T("3x4"), T("5x4"), "dimension = -1 : i64",
		"dimension is -1"},
	{"stablehlo.iota", "", T("4"), "iota_dimension = 1 : i64", "iota_dimension is 1"},
	{"stablehlo.pad", T("4") "," S, T("9"),
		"edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = "
		"array<i64: 1>",
		NULL},
	{"stablehlo.pad", T("4") "," S, T("8"),
		"edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = "
		"array<i64: 1>",
		"is 8, expected 9"},
	{"stablehlo.pad", T("4") "," S, T("8"),
		"edge_padding_low = array<i64: 1, 2>, edge_padding_high = array<i64: 1>, interior_padding "
		"= array<i64: 1>",
		"has 2 entries"},
	{"stablehlo.reshape", T("4x6"), T("3x8"), "", NULL},
	{"stablehlo.reshape", T("4x6"), T("3x9"), "", "24 elements become 27"},
	{"stablehlo.reverse", T("4x6"), T("4x6"), "dimensions = array<i64: 1, 1>", "dimension 1 twice"},
	{"stablehlo.slice", T("9"), T("3"),
		"start_indices = array<i64: 1>, limit_indices = array<i64: 9>, strides = array<i64: 3>",
		NULL},
	{"stablehlo.slice", T("9"), T("2"),
		"start_indices = array<i64: 1>, limit_indices = array<i64: 9>, strides = array<i64: 3>",
		"is 2, expected 3"},
	{"stablehlo.slice", T("9"), T("3"),
		"start_indices = array<i64: 1>, limit_indices = array<i64: 10>, strides = array<i64: 3>",
		"[1:10:3] is no range"},
	{"stablehlo.slice", T("9"), T("3"),
		"start_indices = array<i64: 1>, limit_indices = array<i64: 9>, strides = array<i64: 0>",
		"no range"},
	{"stablehlo.transpose", T("4x6"), T("6x4"), "permutation = array<i64: 1, 0>", NULL},
	{"stablehlo.transpose", T("4x6"), T("4x6"), "permutation = array<i64: 1, 0>",
		"is 4, expected 6"},
	{"stablehlo.transpose", T("4x6"), T("6x4"), "permutation = array<i64: 0, 0>", "twice"},
	{"stablehlo.dynamic_slice", T("4x6") "," I "," I, T("2x6"), "slice_sizes = array<i64: 2, 6>",
		NULL},
	{"stablehlo.dynamic_slice", T("4x6") "," I, T("2x6"), "slice_sizes = array<i64: 2, 6>",
		"1 start indices for rank 2"},
	{"stablehlo.dynamic_slice", T("4x6") "," I "," I, T("5x6"), "slice_sizes = array<i64: 5, 6>",
		"slice size 5"},
	{"stablehlo.dynamic_update_slice", T("4") "," T("2") "," I, T("4"), "", NULL},
	{"stablehlo.dynamic_update_slice", T("4") "," T("5") "," I, T("4"), "", "larger than 4"},
	{"stablehlo.dynamic_update_slice", T("4") "," T("2"), T("4"), "", "0 start indices"},
	{"stablehlo.gather", T("4x8") ",tensor<3x1xi32>", T("3x8"),
		"dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
		"start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>",
		NULL},
	{"stablehlo.gather", T("4x8") ",tensor<3x1xi32>", T("3x7"),
		"dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
		"start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>",
		"is 7, expected 8"},
	{"stablehlo.gather", T("4x8") ",tensor<3x1xi32>", T("3x8"),
		"dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [9], "
		"start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>",
		"collapsed_slice_dims has 9"},
	{"stablehlo.gather", T("4x8") ",tensor<3x1xi32>", T("3x8"),
		"dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
		"start_index_map = [0], index_vector_dim = 5>, slice_sizes = array<i64: 1, 8>",
		"index_vector_dim is 5"},
	{"stablehlo.gather", T("4x8") ",tensor<3x1xi32>", T("3x8"), "slice_sizes = array<i64: 1, 8>",
		"start_index_map"},
	{"stablehlo.dot_general", T("4x8") "," T("8x6"), T("4x6"),
		"dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
		"rhs_contracting_dimensions = [0]>",
		NULL},
	{"stablehlo.dot_general", T("4x4096") "," T("1024x6"), T("4x6"),
		"dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
		"rhs_contracting_dimensions = [0]>",
		"dot_general: contracting dims differ (4096 vs 1024)"},
	{"stablehlo.dot_general", T("4x8") "," T("8x6"), T("6x4"),
		"dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
		"rhs_contracting_dimensions = [0]>",
		"is 6, expected 4"},
	{"stablehlo.dot_general", T("4x8") "," T("8x6"), T("4x6"),
		"dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], "
		"rhs_contracting_dimensions = [0]>",
		"contracting has 2"},
	{"stablehlo.dot_general", T("4x4") "," T("4x4"), T("4x4"),
		"dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], "
		"rhs_batching_dimensions = [0], lhs_contracting_dimensions = [0], "
		"rhs_contracting_dimensions = [0]>",
		"batching and contracting"},
	{"stablehlo.dot", T("4x8") "," T("8"), T("4"), "", NULL},
	{"stablehlo.dot", T("4x8") "," T("7"), T("4"), "", "(8 vs 7)"},
	{"stablehlo.convolution", T("1x8x8x4") "," T("3x3x4x16"), T("1x6x6x16"),
		"dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, "
		"batch_group_count = 1 : i64, feature_group_count = 1 : i64",
		NULL},
	{"stablehlo.convolution", T("1x8x8x4") "," T("3x3x4x16"), T("1x8x8x16"),
		"dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, padding = "
		"dense<1> : tensor<2x2xi64>",
		NULL},
	{"stablehlo.convolution", T("1x8x8x4") "," T("3x3x4x16"), T("1x6x7x16"),
		"dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>",
		"is 7, expected 6"},
	{"stablehlo.convolution", T("1x8x8x4") "," T("3x3x2x16"), T("1x6x6x16"),
		"dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>",
		"takes 2 input features"},
	{"stablehlo.convolution", T("1x8x4") "," T("3x3x4x16"), T("1x6x6x16"),
		"dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>",
		"input has 2 spatial dimensions for rank 3"},
	{"stablehlo.convolution", T("1x8x8x4") "," T("3x3x4x16"), T("1x6x6x16"),
		"dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, "
		"window_strides = array<i64: 1>",
		"has 1 entries, expected 2"},
	{"stablehlo.cholesky", T("4x5"), T("4x5"), "lower = true", "square"},
	{"stablehlo.triangular_solve", T("4x4") "," T("5x4"), T("5x4"), "left_side = true",
		"is 5, expected 4"},
	{"stablehlo.fft", "tensor<8xcomplex<f32>>", "tensor<8xcomplex<f32>>",
		"fft_length = array<i64: 8, 8>", "2 entries for rank 1"},
	{"stablehlo.batch_norm_inference", T("2x4") "," T("4") "," T("4") "," T("4") "," T("5"),
		T("2x4"), "feature_index = 1 : i64", "is 5, expected 4"},
	{"stablehlo.all_gather", T("4"), T("8"), "all_gather_dim = 3 : i64", "all_gather_dim is 3"},
	{"stablehlo.optimization_barrier", T("4") "," T("5"), T("4") "," T("4"), "",
		"result 1 has type"},
	{"stablehlo.get_tuple_element", "tuple<i32, f32>", "f32", "index = 2 : i32", "no element 2"},
	{"chlo.top_k", T("4x8"), T("4x3") ",tensor<4x3xi32>", "k = 2 : i64", "is 3, expected 2"},
	{"sdy.reshard", T("4"), T("5"), "sharding = #sdy.sharding<mesh<[\"a\"=2]>, [{}]>",
		"result 0 has type"},
	{"foo.anything", T("4") ",i32", T("5"), "", NULL},
};

static void expect(module *m, const char *name, const char *message)
{
	diag d;
	diag_clear(&d);
	status s = module_verify_types(m, &d);
	if (!message) {
		ck_assert_msg(s == ST_OK, "%s: %s", name, d.msg);
	} else {
		ck_assert_msg(s == ST_ERR_INVALID, "%s: expected '%s'", name, message);
		ck_assert_msg(strstr(d.msg, message) != NULL, "'%s' does not say '%s'", d.msg, message);
		ck_assert_uint_ge(d.line, 1);
	}
	module_free(m);
}

START_TEST(single_ops)
{
	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		const struct sample *s = &samples[i];
		expect(one_op(s->name, s->in, s->out, s->attrs, ""), s->name, s->message);
	}
}
END_TEST

#define ADDER(type) \
	"({\n^bb0(%l: " type ", %r2: " type "):\n  %s = stablehlo.add %l, %r2 : " type \
	"\n  stablehlo.return %s : " type "\n})"

START_TEST(ops_with_regions)
{
	expect(
		one_op("stablehlo.reduce", T("4x8") "," S, T("4"), "dimensions = array<i64: 1>", ADDER(S)),
		"reduce", NULL);
	expect(
		one_op("stablehlo.reduce", T("4x8") "," S, T("8"), "dimensions = array<i64: 1>", ADDER(S)),
		"reduce", "is 8, expected 4");
	expect(
		one_op("stablehlo.reduce", T("4x8") "," S, T("4"), "dimensions = array<i64: 2>", ADDER(S)),
		"reduce", "dimensions has 2");
	expect(one_op("stablehlo.reduce", T("4x8") "," S, T("4"), "dimensions = array<i64: 1>", ""),
		"reduce", "0 regions, expected 1");
	expect(one_op("stablehlo.reduce_window", T("4x8") "," S, T("2x8"),
			   "window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>", ADDER(S)),
		"reduce_window", NULL);
	expect(one_op("stablehlo.reduce_window", T("4x8") "," S, T("3x8"),
			   "window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>", ADDER(S)),
		"reduce_window", "is 3, expected 2");
	expect(one_op("stablehlo.reduce_window", T("4x8") "," S, T("2x8"),
			   "window_dimensions = array<i64: 2>", ADDER(S)),
		"reduce_window", "has 1 entries");
	static const char *const scatter =
		"scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
		"inserted_window_dims = [0], "
		"scatter_dims_to_operand_dims = [0], index_vector_dim = 1>";
	expect(one_op("stablehlo.scatter", T("4x8") ",tensor<3x1xi32>," T("3x8"), T("4x8"), scatter,
			   ADDER(S)),
		"scatter", NULL);
	expect(one_op("stablehlo.scatter", T("4x8") ",tensor<3x1xi32>," T("2x8"), T("4x8"), scatter,
			   ADDER(S)),
		"scatter", "is 2, expected 3");
	expect(one_op("stablehlo.scatter", T("4x8") ",tensor<3x1xi32>," T("3x9"), T("4x8"), scatter,
			   ADDER(S)),
		"scatter", "larger than 8");
	expect(one_op("stablehlo.scatter", T("4x8") ",tensor<3x1xi32>," T("3"), T("4x8"), scatter,
			   ADDER(S)),
		"scatter", "update_window_dims has 1");
	expect(one_op("stablehlo.sort", T("4x8"), T("4x8"), "dimension = 2 : i64", ADDER(S)), "sort",
		"dimension is 2");
	expect(one_op("stablehlo.while", T("4"), T("4"), "",
			   "({\n^bb0(%x: " T("4") "):\n  stablehlo.return %x : " T("4") "\n}, {\n^bb0(%x: " T(
				   "4") "):\n  stablehlo.return %x : " T("4") "\n})"),
		"while", "the condition returns tensor<4xf32>");
	expect(one_op("stablehlo.case", I, T("4"), "",
			   "({\n  %c = stablehlo.constant dense<0.0> : " T("5") "\n  stablehlo.return %c : " T(
				   "5") "\n})"),
		"case", "returned value 0 has type tensor<5xf32>, expected tensor<4xf32>");
}
END_TEST

static void expect_text(const char *text, uint32_t line, const char *message)
{
	module *m = read_ok(text);
	diag d;
	diag_clear(&d);
	ck_assert_msg(module_verify_types(m, &d) == ST_ERR_INVALID, "%s", text);
	ck_assert_msg(strstr(d.msg, message) != NULL, "'%s' does not say '%s'", d.msg, message);
	ck_assert_uint_eq(d.line, line);
	ck_assert_str_eq(d.file, "test.mlir");
	module_free(m);
}

START_TEST(functions)
{
	expect_text(
		"func.func @main(%a: tensor<4xf32>) -> tensor<5xf32> {\n  return %a : tensor<4xf32>\n}\n",
		2, "expected tensor<5xf32>");
	expect_text("func.func @main(%a: tensor<4xf32>) {\n  return %a : tensor<4xf32>\n}\n", 2,
		"1 values, the function has 0 results");
	expect_text(
		"func.func @main(%a: tensor<4xf32>) {\n  call @g(%a) : (tensor<4xf32>) -> ()\n  return\n}\n"
		"func.func private @g(%a: tensor<5xf32>) {\n  return\n}\n",
		2, "operand 0 has type tensor<4xf32>, expected tensor<5xf32>");
	expect_text("func.func @main() {\n  call @g() : () -> ()\n  return\n}\nfunc.func private @g() "
				"{\n  call @main() : () -> ()\n  return\n}\n",
		6, "'@main' calls itself");
}
END_TEST

START_TEST(manual_computations)
{
	static const char form[] = "func.func @main(%%a: tensor<8x4xf32>) {\n"
							   "  %%0 = sdy.manual_computation(%%a) in_shardings=[%s] "
							   "out_shardings=[<@mesh, [{\"a\"}, {}]>] manual_axes={\"a\"} "
							   "(%%x: tensor<%sxf32>) {\n    sdy.return %%x : tensor<%sxf32>\n  } "
							   ": (tensor<8x4xf32>) -> tensor<8x4xf32>\n  return\n}\n"
							   "sdy.mesh @mesh = <[\"a\"=2]>\n";
	char text[1024];
	snprintf(text, sizeof text, form, "<@mesh, [{\"a\"}, {}]>", "4x4", "4x4");
	expect(read_ok(text), "manual_computation", NULL);
	snprintf(text, sizeof text, form, "<@mesh, [{\"a\"}]>", "4x4", "4x4");
	expect_text(text, 2, "doesn't match tensor rank: 1 != 2");
	snprintf(text, sizeof text, form, "", "4x4", "4x4");
	expect_text(text, 2, "in_shardings has 0 shardings, expected 1");
	snprintf(text, sizeof text, form, "<@mesh, [{\"a\"}, {}]>", "4", "4");
	expect_text(text, 2, "inside, expected tensor<4x4xf32> of tensor<8x4xf32>");
	snprintf(text, sizeof text, form, "<@mesh, [{\"a\"}, {}]>", "8x4", "8x4");
	expect_text(text, 2, "operand 0 is tensor<8x4xf32> inside, expected tensor<4x4xf32>");
	snprintf(text, sizeof text, form, "<mesh<[\"a\"=2, \"b\"=2]>, [{\"a\"}, {}]>", "4x4", "4x4");
	expect_text(text, 2, "same mesh");
}
END_TEST

/* An op on a tensor that is sharded as it says, on axes x=2, y=4 and z=8. */
static void expect_sdy(const char *sharding_text, const char *op, const char *message)
{
	char text[1024];
	snprintf(text, sizeof text,
		"sdy.mesh @m = <[\"x\"=2, \"y\"=4, \"z\"=8]>\nfunc.func @main(%%a: tensor<8x16xf32>) {\n"
		"  %%0 = sdy.sharding_constraint %%a <@m, %s> : tensor<8x16xf32>\n  %%1 = %s : "
		"tensor<8x16xf32>\n  return\n}\n",
		sharding_text, op);
	if (message)
		return expect_text(text, 4, message);
	module *m = read_ok(text);
	diag d;
	diag_clear(&d);
	ck_assert_msg(module_verify_types(m, &d) == ST_OK, "%s: %s", op, d.msg);
	module_free(m);
}

START_TEST(collectives)
{
	expect_sdy("[{\"x\", \"y\"}, {}]",
		"sdy.all_gather [{\"y\"}, {}] %0 out_sharding=<@m, [{\"x\"}, {}]>", NULL);
	expect_sdy("[{\"z\"}, {}]",
		"sdy.all_gather [{\"z\":(2)4}, {}] %0 out_sharding=<@m, [{\"z\":(1)2}, {}]>", NULL);
	expect_sdy("[{\"x\", \"y\"}, {}]",
		"sdy.all_gather [{\"x\"}, {}] %0 out_sharding=<@m, [{\"y\"}, {}]>",
		"can't apply axis \"x\"");
	expect_sdy("[{\"x\"}, {}]", "sdy.all_gather [{\"x\"}] %0 out_sharding=<@m, [{}, {}]>",
		"axes for 1 dimensions");
	expect_sdy("[{\"x\"}, {}]", "sdy.all_gather [{\"x\"}, {\"x\"}] %0 out_sharding=<@m, [{}, {}]>",
		"duplicate axis ref: \"x\"");
	expect_sdy("[{\"x\"}, {}]", "sdy.all_gather [{\"w\"}, {}] %0 out_sharding=<@m, [{}, {}]>",
		"unknown axis name: \"w\"");
	expect_sdy("[{}, {}]", "sdy.all_slice [{\"x\"}, {}] %0 out_sharding=<@m, [{\"y\"}, {}]>",
		"does not match the expected {\"x\"}");
	expect_sdy("[{\"z\":(1)2}, {}]",
		"sdy.all_slice [{\"z\":(2)4}, {}] %0 out_sharding=<@m, [{\"z\"}, {}]>", NULL);
	expect_sdy("[{\"x\"}, {}]",
		"sdy.all_to_all [{\"x\"}: 0->1] %0 out_sharding=<@m, [{}, {\"x\"}]>", NULL);
	expect_sdy("[{\"x\"}, {}]",
		"sdy.all_to_all [{\"x\"}: 0->2] %0 out_sharding=<@m, [{}, {\"x\"}]>", "out of range");
	expect_sdy("[{\"x\"}, {}]",
		"sdy.all_to_all [{\"x\"}: 0->0] %0 out_sharding=<@m, [{}, {\"x\"}]>",
		"overlapping source and target");
	expect_sdy("[{\"x\"}, {}]", "sdy.all_to_all [] %0 out_sharding=<@m, [{}, {\"x\"}]>", "empty");
	expect_sdy("[{\"x\"}, {}]", "sdy.collective_permute %0 out_sharding=<@m, [{\"y\"}, {}]>",
		"into 4 parts");
	expect_sdy("[{}, {}], unreduced={\"x\"}",
		"sdy.all_reduce {\"x\"} %0 out_sharding=<@m, [{}, {}]>", NULL);
	expect_sdy("[{\"x\"}, {}]", "sdy.all_reduce {\"x\"} %0 out_sharding=<@m, [{\"x\"}, {}]>",
		"overlaps with the operand's dimension");
	expect_sdy(
		"[{}, {}]", "sdy.all_reduce {\"y\", \"x\"} %0 out_sharding=<@m, [{}, {}]>", "not ordered");
	expect_sdy("[{}, {}], unreduced={\"x\"}",
		"sdy.reduce_scatter [{\"x\"}, {}] %0 out_sharding=<@m, [{\"x\"}, {}]>", NULL);
	expect_sdy("[{\"x\"}, {}]",
		"sdy.sharded_to_unreduced [{\"x\"}, {}] %0 out_sharding=<@m, [{}, {}], unreduced={\"x\"}>",
		NULL);
	expect_sdy("[{\"x\"}, {}]",
		"sdy.sharded_to_unreduced [{\"x\"}, {}] %0 out_sharding=<@m, [{}, {}]>",
		"unreduced axes are not");
	expect_sdy("[{}, {}]",
		"sdy.replicated_to_unreduced {\"x\"} %0 out_sharding=<@m, [{}, {}], unreduced={\"x\"}>",
		NULL);
	expect_sdy("[{}, {}]", "sdy.all_gather [{}, {}] %a out_sharding=<@m, [{}, {}]>",
		"operand without sharding");
	expect_sdy("[{}, {}]", "sdy.propagation_barrier %0 allowed_direction=BOTH", "blocks nothing");
	expect_sdy("[{}, {}]", "sdy.data_flow_edge %0", "result of sdy.sharding_constraint");
	expect_sdy("[{}, {}]", "sdy.data_flow_edge %a", "used by other operations");
}
END_TEST

START_TEST(rules_in_the_text)
{
	static const char *const cases[][2] = {
		{"([i, j])->([i, j]) {i=8, j=16}", NULL},
		{"([i, jk])->([i, jk]) {i=8, j=4, k=4} need_replication={j} blocked_propagation={i}, "
		 "custom",
			NULL},
		{"([i, j])->([i, j]) {i=8}", "a size for every factor"},
		{"([i])->([i, j]) {i=8, j=16}", "mapping rank must match: 1 != 2"},
		{"([i, i])->([i, j]) {i=8, j=16}", "cannot reuse factors"},
		{"([i, jk])->([i, jk]) {i=8, j=16, k=1}", "factor of size 1"},
		{"([i, j])->([i, j]) {i=8, j=16, k=3}", "factor 2 of size 3 is not used"},
		{"([i, j])->([i, j]) {i=8, j=16} reduction={j}", "cannot be in result mappings"},
		{"([i, j])->([i, j]) {i=8, j=16} permutation={j, i}", "sorted"},
		{"([i, j])->([i, j]) {i=8, j=16} need_replication={i} permutation={i}", "only be in one"},
		{"([i, j], [i, j])->([i, j]) {i=8, j=16}", "more mappings than operands"},
		{"([i, j]) {i=8, j=16}", "expected '->'"},
		{"([i, j])->([i, j]) {j=8, i=16}", "factors in order"},
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char op[512];
		snprintf(op, sizeof op,
			"stablehlo.negate %%0 {sdy.sharding_rule = #sdy.op_sharding_rule<%s>}", cases[i][0]);
		expect_sdy("[{}, {}]", op, cases[i][1]);
	}
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, single_ops);
	tcase_add_test(t, ops_with_regions);
	tcase_add_test(t, functions);
	tcase_add_test(t, manual_computations);
	tcase_add_test(t, collectives);
	tcase_add_test(t, rules_in_the_text);
}

int main(void) { return run_added(add_tests, "verify"); }
