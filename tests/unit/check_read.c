#include "tests/unit/module_fixture.h"

static module *read_data(const char *name)
{
	module *m;
	diag d;
	diag_clear(&d);
	if (module_read_file(name, NULL, &m, &d) != ST_OK)
		ck_abort_msg("%s:%u:%u: %s", name, d.line, d.col, d.msg);
	return m;
}

/* Ops that the data files cannot have: the compilers they were printed by do not know the quantised
 * types. */
static bool not_in_data(op_kind k)
{
	return k == OP_UNKNOWN || k == OP_BUILTIN_MODULE || k == OP_UNIFORM_QUANTIZE ||
		k == OP_UNIFORM_DEQUANTIZE;
}

START_TEST(every_op_in_both_forms)
{
	static const char *const files[] = {
		"tests/unit/data/ops.mlir", "tests/unit/data/ops_generic.mlir"};
	char prints[2][72];
	for (int i = 0; i < 2; i++) {
		module *m = read_data(files[i]);
		bool seen[OP_COUNT] = {false};
		for (op_id o = 0; o < m->ops.n; o++)
			seen[op_at(m, o)->kind] = true;
		for (int k = 0; k < OP_COUNT; k++)
			ck_assert_msg(
				seen[k] || not_in_data((op_kind)k), "%s: no %s", files[i], op_infos[k].text);
		structure_ok(m);
		diag d;
		diag_clear(&d);
		ck_assert_msg(module_verify_types(m, &d) == ST_OK, "%s:%u: %s", files[i], d.line, d.msg);
		module_fingerprint(m, prints[i]);
		module_free(m);
	}
	ck_assert_str_eq(prints[0], prints[1]);
}
END_TEST

START_TEST(modules_inside_the_module)
{
	module *m = read_ok("module {\nfunc.func @f() {\n  return\n}\nmodule @inner attributes {a.b = "
						"1 : i64} {\n  func.func @f(%arg0: tensor<4xf32>) {\n    return\n  }\n"
						"  func.func @g(%arg0: tensor<4xf32>) {\n    call @f(%arg0) : "
						"(tensor<4xf32>) -> ()\n    return\n  }\n}\n}\n");
	op_id call = first_op(m, OP_CALL), inner = first_op(m, OP_BUILTIN_MODULE);
	ck_assert_uint_eq(module_func_near(m, call, STR("f"))->n_args, 1);
	ck_assert_uint_eq(module_func_named(m, STR("f"))->n_args, 0);
	ck_assert_ptr_null(module_func_named(m, STR("g")));
	diag d;
	diag_clear(&d);
	ck_assert_int_eq(module_verify_ops(m, &d), ST_OK);
	ck_assert_int_eq(module_verify_types(m, &d), ST_ERR_UNSUPPORTED);
	strbuf text;
	strbuf_init(&text);
	op_print(m, inner, &text);
	ck_assert_msg(str_starts((str){text.p, text.n},
					  "module @inner attributes {a.b = 1 : i64} {\n  func.func @f("),
		"%s", text.p);
	strbuf_release(&text);
	module_free(m);
}
END_TEST

static void ints_are(const module *m, op_id o, const char *path, const char *want)
{
	strbuf b;
	strbuf_init(&b);
	uint32_t n;
	const int64_t *v = op_ints(m, o, path, &n);
	for (uint32_t i = 0; i < n; i++)
		strbuf_printf(&b, i ? ",%lld" : "%lld", (long long)v[i]);
	ck_assert_msg(
		strcmp(b.p ? b.p : "", want) == 0, "%s is %s, expected %s", path, b.p ? b.p : "", want);
	strbuf_release(&b);
}

START_TEST(pretty_attributes_have_generic_names)
{
	module *m = read_data("tests/unit/data/ops.mlir");
	op_id dot = nth_op(m, OP_DOT_GENERAL, 1), conv = first_op(m, OP_CONVOLUTION);
	ints_are(m, dot, "dot_dimension_numbers.lhs_batching_dimensions", "0");
	ints_are(m, dot, "dot_dimension_numbers.lhs_contracting_dimensions", "2");
	ints_are(m, dot, "dot_dimension_numbers.rhs_contracting_dimensions", "1");
	ck_assert_uint_ne(op_attr(m, dot, "algorithm"), ID_NONE);
	ints_are(m, conv, "dimension_numbers.input_batch_dimension", "0");
	ints_are(m, conv, "dimension_numbers.input_feature_dimension", "3");
	ints_are(m, conv, "dimension_numbers.input_spatial_dimensions", "1,2");
	ints_are(m, conv, "dimension_numbers.kernel_input_feature_dimension", "2");
	ints_are(m, conv, "dimension_numbers.kernel_output_feature_dimension", "3");
	ints_are(m, conv, "dimension_numbers.kernel_spatial_dimensions", "0,1");
	ints_are(m, conv, "dimension_numbers.output_spatial_dimensions", "1,2");
	ints_are(m, conv, "window_strides", "2,2");
	ints_are(m, conv, "padding", "0,1,0,1");
	ints_are(m, conv, "window_reversal", "0,0");
	ints_are(m, first_op(m, OP_SLICE), "start_indices", "1,0");
	ints_are(m, first_op(m, OP_SLICE), "limit_indices", "3,8");
	ints_are(m, first_op(m, OP_SLICE), "strides", "1,2");
	ints_are(m, first_op(m, OP_PAD), "edge_padding_high", "2,0");
	ints_are(m, first_op(m, OP_TRANSPOSE), "permutation", "1,0");
	ints_are(m, first_op(m, OP_GATHER), "dimension_numbers.offset_dims", "1");
	ints_are(m, first_op(m, OP_GATHER), "dimension_numbers.index_vector_dim", "1");
	ints_are(m, first_op(m, OP_SCATTER), "scatter_dimension_numbers.inserted_window_dims", "0");
	ints_are(m, first_op(m, OP_HLO_ALL_GATHER), "replica_groups", "0,1");
	ints_are(m, first_op(m, OP_REDUCE_WINDOW), "padding", "0,0,0,0");
	ints_are(m, first_op(m, OP_CHLO_TOP_K), "k", "2");
	ck_assert(str_is(op_text(m, first_op(m, OP_COMPARE), "comparison_direction"), "LT"));
	ck_assert(str_is(op_text(m, first_op(m, OP_CUSTOM_CALL), "call_target_name"), "foo"));
	ck_assert(str_is(
		op_text(m, first_op(m, OP_SDY_PROPAGATION_BARRIER), "allowed_direction"), "FORWARD"));
	ck_assert(
		str_is(op_text(m, first_op(m, OP_SDY_ALL_GATHER), "gathering_axes"), "[{\"a\"}, {}]"));
	module_free(m);
}
END_TEST

START_TEST(short_reduce_has_a_body)
{
	module *m = read_body("%a: tensor<4x8xf32>, %i: tensor<f32>", "tensor<4xf32>",
		"%0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [1] : "
		"(tensor<4x8xf32>, tensor<f32>) -> "
		"tensor<4xf32>\nreturn %0 : tensor<4xf32>");
	op_id r = first_op(m, OP_REDUCE);
	const ir_region *body = op_region(m, r, 0);
	ck_assert_uint_eq(body->n_args, 2);
	ck_assert_int_eq(op_at(m, body->first)->kind, OP_ADD);
	ck_assert_int_eq(op_at(m, body->last)->kind, OP_RETURN);
	ck_assert_uint_eq(op_operand(m, body->last, 0), op_result(m, body->first, 0));
	ints_are(m, r, "dimensions", "1");
	module_free(m);
}
END_TEST

START_TEST(shardings_are_on_values)
{
	module *m = read_ok(
		"func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"a\"}, {}]>, "
		"tf.aliasing_output = 0 : i32}, %b: tensor<8x4xf32>)\n"
		"    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"b\"}]>, "
		"jax.result_info = \"r\"}) {\n"
		"  %0 = stablehlo.add %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{\"a\"}, "
		"{?}]>]>, k = 1 : i64} : tensor<8x4xf32>\n"
		"  %1 = sdy.sharding_constraint %0 <@mesh, [{}, {\"b\"}]> : tensor<8x4xf32>\n"
		"  %2 = sdy.sharding_constraint %1 <mesh<[\"z\"=2]>, [{}, {\"z\"}]> : tensor<8x4xf32>\n"
		"  %3:2 = stablehlo.optimization_barrier %1, %2 {sdy.sharding = "
		"#sdy.sharding_per_value<[<@mesh, [{\"a\"}, {}]>, <@mesh, [{}, {}]>]>} : "
		"tensor<8x4xf32>, tensor<8x4xf32>\n"
		"  return %1 : tensor<8x4xf32>\n}\n"
		"sdy.mesh @mesh = <[\"a\"=2, \"b\"=4]>\n"); /* the mesh may come last */
	const func *f = module_main(m);
	value_id a = op_region(m, f->op, 0)->args;
	ck_assert_uint_ne(value_at(m, a)->sharding, SHARDING_NONE);
	ck_assert_uint_eq(value_at(m, a + 1)->sharding, SHARDING_NONE);
	ck_assert_uint_ne(f->result_shardings[0], SHARDING_NONE);
	ck_assert_uint_ne(attr_child(m, f->arg_attrs[0], "tf.aliasing_output"), ID_NONE);
	ck_assert_uint_eq(attr_child(m, f->arg_attrs[0], "sdy.sharding"), ID_NONE);
	ck_assert_uint_eq(f->arg_attrs[1], ID_NONE);
	op_id add = first_op(m, OP_ADD), constraint = first_op(m, OP_SDY_SHARDING_CONSTRAINT),
		  barrier = first_op(m, OP_OPTIMIZATION_BARRIER);
	ck_assert_uint_eq(op_attr(m, add, "sdy.sharding"), ID_NONE);
	ck_assert_uint_eq(op_at(m, add)->n_attrs, 1);
	ck_assert_uint_eq(value_at(m, op_result(m, constraint, 0))->sharding, f->result_shardings[0]);
	ck_assert_uint_eq(op_at(m, constraint)->n_attrs, 0);
	ck_assert_uint_eq(value_at(m, op_result(m, barrier, 0))->sharding, value_at(m, a)->sharding);
	sharding_id inline_mesh =
		value_at(m, op_result(m, nth_op(m, OP_SDY_SHARDING_CONSTRAINT, 1), 0))->sharding;
	ck_assert_uint_eq(
		m->shardings->meshes.p[sharding_get(m->shardings, inline_mesh)->mesh].name, 0);
	module_free(m);
}
END_TEST

START_TEST(locations_resolve)
{
	module *m = read_ok(
		"#loc1 = loc(\"params['w']\")\n"
		"module @m {\n"
		"  func.func @main(%a: tensor<f32> loc(#loc1), %b: tensor<f32> loc(\"x.py\":1:2)) -> "
		"tensor<f32> {\n"
		"    %0 = stablehlo.add %a, %a : tensor<f32> loc(#loc4)\n"
		"    %1 = stablehlo.abs %0 : tensor<f32> loc(callsite(\"f\"(\"y.py\":3:4) at #loc))\n"
		"    %2 = stablehlo.abs %1 : tensor<f32> loc(fused<\"tag\">[\"g\", #loc3])\n"
		"    %3 = stablehlo.abs %2 : tensor<f32> loc(unknown)\n"
		"    return %3 : tensor<f32> loc(#loc)\n"
		"  } loc(#loc)\n"
		"} loc(#loc)\n"
		"#loc = loc(unknown)\n"
		"#loc3 = loc(\"dir/file.py\":40:21 to :46)\n"
		"#loc4 = loc(\"jit(f)/add\"(#loc5))\n"
		"#loc5 = loc(\"inner\"(#loc3))\n");
	const location *add = &m->locs.p[op_at(m, first_op(m, OP_ADD))->loc];
	ck_assert(str_is(add->name, "jit(f)/add"));
	ck_assert(str_is(add->file, "dir/file.py"));
	ck_assert_uint_eq(add->line, 40);
	ck_assert_uint_eq(add->col, 21);
	ck_assert(str_is(add->raw, "#loc4"));
	const location *call = &m->locs.p[op_at(m, nth_op(m, OP_ABS, 0))->loc];
	ck_assert(str_is(call->name, "f") && call->line == 3);
	ck_assert(str_is(m->locs.p[op_at(m, nth_op(m, OP_ABS, 1))->loc].name, "g"));
	ck_assert_uint_eq(op_at(m, nth_op(m, OP_ABS, 2))->loc, 0);
	strbuf b;
	strbuf_init(&b);
	module_arg_name(m, 0, &b);
	ck_assert_str_eq(b.p, "params['w']");
	strbuf_clear(&b);
	module_arg_name(m, 1, &b);
	ck_assert_str_eq(b.p, "arg1");
	strbuf_release(&b);
	module_free(m);
}
END_TEST

START_TEST(odd_but_legal)
{
	module *m = read_ok(
		"// a comment\n!t = tensor<4xf32>\n#map = affine_map<(d0) -> (d0)>\n"
		"module @\"odd name\" attributes {m.map = #map, m.x = #foo.bar<a -> {b, \"}\"}>} {\n"
		"  func.func @main(%arg0: !t, %q: tensor<4x!quant.uniform<i8:f32, 2.0e+00:15>>, %u: "
		"tensor<*xf32>, %d: tensor<?x8xf32, #stablehlo.bounds<4, ?>>)"
		" -> !t {\n"
		"    %0 = \"foo.op\"(%arg0) <{p = 1 : i32}> ({\n    ^bb0(%x: tensor<f32>):\n      "
		"\"foo.yield\"(%x) : (tensor<f32>) -> ()\n    }) : (!t) -> !foo.type<\"a>\", [1]>\n"
		"    %1:2, %named = \"foo.three\"(%0) {d = distinct[0]<\"x\">, f = 1.5e-3 : f32, h = "
		"0x7F800000 : f32, big = 18446744073709551615 : ui64, n = [1, [2.0, true]],"
		" s = @a::@b, v = dense<> : tensor<0xi32>, t = i32, fn = (i32, f32) -> (), r = array<f32: "
		"1.0, 2.0>} : (!foo.type<\"a>\", [1]>) -> (i32, i32, !t)\n"
		"    \"foo.none\"() : () -> ()\n"
		"    %2 = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>\n"
		"    %3 = stablehlo.constant dense<\"0x0000803F00000040\"> : tensor<2xf32>\n"
		"    return %named : !t\n  }\n}\n");
	op_id three = nth_op(m, OP_UNKNOWN, 2);
	ck_assert_uint_eq(op_at(m, three)->n_results, 3);
	ck_assert(str_is(strtab_get(&m->strs, op_at(m, three)->name), "foo.three"));
	ck_assert(str_is(op_text(m, three, "s"), "a::@b"));
	const ir_type *q = value_type(m, op_region(m, module_main(m)->op, 0)->args + 1);
	ck_assert_int_eq(q->elem, ELEM_QUANT);
	ck_assert_int_eq(q->rank, 1);
	ck_assert_int_eq(
		value_type(m, op_region(m, module_main(m)->op, 0)->args + 2)->kind, TYPE_OTHER);
	ck_assert(value_type(m, op_region(m, module_main(m)->op, 0)->args + 3)->dynamic);
	structure_ok(m);
	module_free(m);
}
END_TEST

#define F(args, lines) "func.func @main(" args ") {\n" lines "\n  return\n}\n"

START_TEST(errors_have_places)
{
	read_fails(F("%a: tensor<4xf32>", "  %0 = stablehlo.add %a, %b : tensor<4xf32>"),
		ST_ERR_INVALID, 2, 26, "undeclared SSA value name '%b'");
	read_fails(F("%a: tensor<4xf32>", "  %a = stablehlo.abs %a : tensor<4xf32>"), ST_ERR_INVALID, 2,
		3, "redefinition of SSA value '%a'");
	read_fails(F("%a: tensor<4xf32>", "  %0 = stablehlo.abs %a : tensor<5xf32>"), ST_ERR_INVALID, 2,
		22, "'%a' has type tensor<4xf32>, but is used as tensor<5xf32>");
	read_fails(F("%a: tensor<4xf32>", "  %0:2 = stablehlo.abs %a : tensor<4xf32>"), ST_ERR_INVALID,
		2, 3, "2 names for 1 results");
	read_fails(F("%a: tensor<4xf32>", "  %0 = stablehlo.abs %a#1 : tensor<4xf32>"), ST_ERR_INVALID,
		2, 22, "no result number 1");
	read_fails(
		F("%a: tensor<4xf32>",
			"  %0 = \"stablehlo.abs\"(%a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"),
		ST_ERR_INVALID, 2, 30, "2 operand types for 1 operands");
	read_fails(F("%a: tensor<4xf32>", "  %0 = stablehlo.nonsense %a : tensor<4xf32>"), ST_ERR_PARSE,
		2, 8, "unknown operation 'stablehlo.nonsense'");
	read_fails(F("%a: tensor<4xf32>", "  %0 = stablehlo.gather %a : tensor<4xf32>"), ST_ERR_PARSE,
		2, 8, "generic form");
	read_fails(F("%a: tensor<4xf32>", "  call @f() : () -> ()"), ST_ERR_INVALID, 2, 3,
		"undefined function '@f'");
	read_fails(F("%a: tensor<4xq32>", ""), ST_ERR_PARSE, 1, 30, "unknown element type 'q32'");
	read_fails(F("%a: tensor<4*f32>", ""), ST_ERR_PARSE, 1, 28, "expected 'x' after a dimension");
	read_fails(F("", "  %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<4xi32>"), ST_ERR_INVALID,
		2, 33, "3 elements");
	read_fails(F("", "  %0 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<4xi32>"),
		ST_ERR_INVALID, 2, 33, "nested lists");
	read_fails(F("", "  %0 = stablehlo.constant dense<\"0x0000\"> : tensor<4xf32>"), ST_ERR_INVALID,
		2, 33, "2 bytes");
	read_fails(F("", "  %0 = stablehlo.iota dim = 0 : tensor<4xf32> loc(#loc9)"), ST_ERR_PARSE, 2,
		51, "never defined");
	read_fails(F("", "  %0 = stablehlo.iota dim = 0 {a = 1 : i32, a = 2 : i32} : tensor<4xf32>"),
		ST_ERR_PARSE, 2, 8, "given twice");
	read_fails(F("", "  %0 = stablehlo.iota dim = 0 {a = #unknown} : tensor<4xf32>"), ST_ERR_PARSE,
		2, 36, "undefined attribute alias");
	read_fails(F("", "") F("", ""), ST_ERR_INVALID, 5, 11, "redefinition of symbol '@main'");
	read_fails("func.func @f() {\n}\n", ST_ERR_PARSE, 2, 1, "expected func.return before the end");
	read_fails(F("", "  return"), ST_ERR_PARSE, 2, 3, "not the last operation");
	read_fails(
		F("", "  \"foo.x\"() ({\n  ^bb0:\n    \"foo.y\"() : () -> ()\n  ^bb1:\n  }) : () -> ()"),
		ST_ERR_UNSUPPORTED, 5, 3, "second block");
	read_fails("module {\n}\nmodule {\n}\n", ST_ERR_PARSE, 3, 1, "another module");
	read_fails(F("%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@nomesh, [{}]>}", ""),
		ST_ERR_INVALID, 1, 65, "nomesh");
	read_fails("sdy.mesh @mesh = <[\"a\"=2]>\n" F(
				   "%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}", ""),
		ST_ERR_INVALID, 2, 20, "");
	read_fails("sdy.mesh @mesh = <[\"a\"=0]>\n", ST_ERR_INVALID, 1, 20, "");
	read_fails(
		F("%a: tensor<4xf32>", "  %0 = stablehlo.abs %a {sdy.sharding = 1 : i32} : tensor<4xf32>"),
		ST_ERR_PARSE, 2, 26, "expected #sdy.sharding");
	/* values of one function are not seen in another, nor those of a region after it */
	read_fails(F("%a: tensor<4xf32>",
				   "") "func.func @g() {\n  %0 = stablehlo.abs %a : tensor<4xf32>\n  return\n}\n",
		ST_ERR_INVALID, 6, 22, "undeclared SSA value name '%a'");
}
END_TEST

START_TEST(limits_are_errors)
{
	strbuf b;
	strbuf_init(&b);
	strbuf_puts(&b, "module attributes {a = ");
	for (int i = 0; i < 100000; i++)
		strbuf_putc(&b, '[');
	read_fails(b.p, ST_ERR_LIMIT, 1, 88, "nested deeper");
	strbuf_clear(&b);
	strbuf_puts(&b, "func.func @f(%a: ");
	for (int i = 0; i < 100000; i++)
		strbuf_puts(&b, "tuple<");
	read_fails(b.p, ST_ERR_LIMIT, 1, 402, "nested deeper");
	strbuf_clear(&b);
	strbuf_puts(&b, "func.func @f() {\n");
	for (int i = 0; i < 100000; i++)
		strbuf_puts(&b, "\"a.b\"() ({\n");
	read_fails(b.p, ST_ERR_LIMIT, 65, 11, "nested deeper");
	strbuf_release(&b);
	read_fails(
		"func.func @f(%a: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) {\n}",
		ST_ERR_LIMIT, 1, 73, "24 dimensions");
	read_fails("func.func @f(%a: tensor<4294967296x4294967296xf32>) {\n}", ST_ERR_LIMIT, 1, 36,
		"2^56 elements");
	read_fails(
		"func.func @f(%a: tensor<99999999999999999999xf32>) {\n}", ST_ERR_LIMIT, 1, 25, "64 bits");
	module *m;
	diag d;
	diag_clear(&d);
	read_options small = {.max_bytes = 10};
	ck_assert_int_eq(module_read("module {\n}\n", 11, NULL, &small, &m, &d), ST_ERR_LIMIT);
	ck_assert_ptr_null(m);
}
END_TEST

/* Cut anywhere, the text is refused (or, between the last pieces, whole), and nothing is read
 * beyond its end. */
START_TEST(truncation_is_an_error)
{
	strbuf text;
	strbuf_init(&text);
	diag d;
	diag_clear(&d);
	ck_assert_int_eq(file_read("tests/unit/data/ops.mlir", 1 << 20, &text, &d), ST_OK);
	const char *close = strstr(text.p, "\n}\n");
	size_t whole = (size_t)(close - text.p) + 2;
	for (size_t n = 40; n < whole; n += n % 61 + 59) {
		char *exact = malloc(n); /* no byte after the end, for the sanitiser */
		memcpy(exact, text.p, n);
		module *m;
		diag_clear(&d);
		ck_assert_msg(module_read(exact, n, "cut", NULL, &m, &d) != ST_OK, "cut at %zu", n);
		ck_assert_uint_gt(d.line, 0);
		free(exact);
	}
	strbuf_release(&text);
}
END_TEST

START_TEST(damaged_text_is_survived)
{
	strbuf text;
	strbuf_init(&text);
	diag d;
	diag_clear(&d);
	ck_assert_int_eq(file_read("tests/unit/data/ops_generic.mlir", 1 << 20, &text, &d), ST_OK);
	rng r;
	rng_seed(&r, 11, 0);
	for (int i = 0; i < 100; i++) {
		char *copy = malloc(text.n);
		memcpy(copy, text.p, text.n);
		for (int k = 0; k < 3; k++)
			copy[rng_below(&r, (uint32_t)text.n)] = (char)rng_next(&r);
		module *m;
		diag_clear(&d);
		if (module_read(copy, text.n, "damaged", NULL, &m, &d) == ST_OK) {
			structure_ok(m);
			diag_clear(&d);
			(void)!module_verify_types(m, &d);
			module_free(m);
		}
		free(copy);
	}
	strbuf_release(&text);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, every_op_in_both_forms);
	tcase_add_test(t, modules_inside_the_module);
	tcase_add_test(t, pretty_attributes_have_generic_names);
	tcase_add_test(t, short_reduce_has_a_body);
	tcase_add_test(t, shardings_are_on_values);
	tcase_add_test(t, locations_resolve);
	tcase_add_test(t, odd_but_legal);
	tcase_add_test(t, errors_have_places);
	tcase_add_test(t, limits_are_errors);
	tcase_add_test(t, truncation_is_an_error);
	tcase_add_test(t, damaged_text_is_survived);
}

int main(void) { return run_added(add_tests, "read"); }
