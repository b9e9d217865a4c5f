/* Passes on small modules. */
#include "tests/unit/module_fixture.h"

#include "propagate/propagate.h"

static void run(module *m, const char *passes)
{
	diag d;
	diag_clear(&d);
	ck_assert_msg(passes_run(m, passes, &d) == ST_OK, "%s: %s", passes, d.msg);
}

static uint32_t count(const module *m, op_kind kind)
{
	uint32_t n = 0;
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o))
		n += op_at(m, o)->kind == kind;
	return n;
}

static void sharded_as(const module *m, value_id v, const char *text)
{
	strbuf b;
	strbuf_init(&b);
	ck_assert_uint_ne(value_at(m, v)->sharding, SHARDING_NONE);
	sharding_print(m->shardings, value_at(m, v)->sharding, &b);
	ck_assert_str_eq(b.p, text);
	strbuf_release(&b);
}

static const char calls[] =
	"func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
	"  %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>\n  %1 = call @f(%0) : (tensor<8xf32>) "
	"-> tensor<8xf32>\n  return %1 : tensor<8xf32>\n}\n"
	"func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {\n  %0 = call @g(%a) : "
	"(tensor<8xf32>) -> tensor<8xf32>\n"
	"  %1 = stablehlo.add %0, %0 : tensor<8xf32>\n  return %1 : tensor<8xf32>\n}\n"
	"func.func private @g(%a: tensor<8xf32>) -> tensor<8xf32> {\n  %0 = stablehlo.abs %a : "
	"tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n"
	"func.func private @unused() {\n  return\n}\n";

START_TEST(inline_leaves_one_function)
{
	module *m = read_ok(calls);
	run(m, "inline,symbol-dce");
	ck_assert_uint_eq(count(m, OP_FUNC), 1);
	ck_assert_uint_eq(count(m, OP_CALL), 0);
	ck_assert_uint_eq(count(m, OP_ABS), 2);
	ck_assert_uint_eq(count(m, OP_ADD), 2);
	module_free(m);
}
END_TEST

START_TEST(recursion_ends_in_an_error)
{
	module *m =
		read_ok("func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n  %0 = call @main(%a) : "
				"(tensor<8xf32>) -> tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n");
	ck_assert_int_eq(passes_run(m, "inline", NULL), ST_ERR_INVALID);
	ck_assert_uint_eq(count(m, OP_CALL), 1);
	module_free(m);
}
END_TEST

START_TEST(calls_become_computations_and_calls_again)
{
	module *m = read_ok(calls);
	run(m, "symbol-dce,sdy-flatten-call-graph");
	ck_assert_uint_eq(count(m, OP_FUNC), 5);
	run(m, "symbol-dce,sdy-import-func-calls");
	ck_assert_uint_eq(count(m, OP_FUNC), 1);
	ck_assert_uint_eq(count(m, OP_SDY_NAMED_COMPUTATION), 4);
	ck_assert_uint_eq(count(m, OP_SDY_DATA_FLOW_EDGE), 8);
	run(m,
		"sdy-export-named-computations,sdy-propagate-to-func-results,sdy-unflatten-call-graph,"
		"symbol-dce");
	ck_assert_uint_eq(count(m, OP_FUNC), 3);
	ck_assert_uint_eq(count(m, OP_CALL), 3);
	module_free(m);
}
END_TEST

START_TEST(constants_are_split_and_merged)
{
	module *m = read_body("%a: tensor<8xf32>", "tensor<8xf32>",
		"%c = stablehlo.constant dense<1.0> : tensor<8xf32>\n%n = stablehlo.negate %c : "
		"tensor<8xf32>\n%0 = stablehlo.add %a, %n : tensor<8xf32>\n"
		"%1 = stablehlo.multiply %0, %n : tensor<8xf32>\nfunc.return %1 : tensor<8xf32>");
	run(m, "sdy-constant-or-scalar-splitter");
	ck_assert_uint_eq(count(m, OP_CONSTANT), 0);
	ck_assert_uint_eq(count(m, OP_SDY_CONSTANT), 2);
	ck_assert_uint_eq(count(m, OP_NEGATE), 2);
	ck_assert_uint_ne(
		op_operand(m, nth_op(m, OP_ADD, 0), 1), op_operand(m, nth_op(m, OP_MULTIPLY, 0), 1));
	run(m, "func.func(sdy-constant-or-scalar-merger)");
	ck_assert_uint_eq(count(m, OP_SDY_CONSTANT), 1);
	module_free(m);
}
END_TEST

static const char loop[] =
	"%0:2 = stablehlo.while(%i = %k, %x = %a) : tensor<i32>, tensor<8xf32>\n cond {\n  %c = "
	"stablehlo.constant dense<3> : tensor<i32>\n"
	"  %1 = stablehlo.compare LT, %i, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n  "
	"stablehlo.return %1 : tensor<i1>\n } do {\n"
	"  %2 = stablehlo.tanh %x : tensor<8xf32>\n  stablehlo.return %i, %2 : tensor<i32>, "
	"tensor<8xf32>\n }\nfunc.return %0#1 : tensor<8xf32>";

START_TEST(loops_get_edges_and_lose_them)
{
	module *m = read_body(
		"%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"a\"}]>}, %k: tensor<i32>",
		"tensor<8xf32>", loop);
	run(m, "sdy-add-data-flow-edges");
	ck_assert_uint_eq(count(m, OP_SDY_DATA_FLOW_EDGE), 2);
	run(m, "sdy-user-priority-propagate,func.func(sdy-sink-data-flow-edges)");
	ck_assert_uint_eq(count(m, OP_SDY_DATA_FLOW_EDGE), 0);
	op_id o = nth_op(m, OP_WHILE, 0);
	sharded_as(m, op_result(m, o, 0), "<@mesh, []>");
	sharded_as(m, op_result(m, o, 1), "<@mesh, [{\"a\", ?}]>");
	module_free(m);
}
END_TEST

/* jaxlib ends in a check without a main. */
START_TEST(edges_across_calls_need_no_main)
{
	module *m =
		read_ok("sdy.mesh @mesh = <[\"a\"=2]>\n"
				"func.func @step(%a: tensor<8xf32>) -> tensor<8xf32> {\n  %0 = call @f(%a) : "
				"(tensor<8xf32>) -> tensor<8xf32>\n"
				"  return %0 : tensor<8xf32>\n}\n"
				"func.func private @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, "
				"[{\"a\"}]>}) -> tensor<8xf32> {\n"
				"  %0 = stablehlo.abs %a : tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n");
	run(m, "sdy-add-func-data-flow-edges,sdy-user-priority-propagate");
	ck_assert_uint_eq(count(m, OP_SDY_FUNC_DATA_FLOW_EDGE), 3);
	run(m, "sdy-sink-func-data-flow-edges");
	ck_assert_uint_eq(count(m, OP_SDY_FUNC_DATA_FLOW_EDGE), 0);
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o))
		if (op_at(m, o)->kind == OP_CALL || op_at(m, o)->kind == OP_ABS)
			sharded_as(m, op_result(m, o, 0), "<@mesh, [{\"a\", ?}]>");
	module_free(m);
}
END_TEST

START_TEST(shardings_are_closed_and_divided)
{
	module *m =
		read_body("%a: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"b\", ?}p1, {?}]>}",
			"tensor<6x8xf32>", "func.return %a : tensor<6x8xf32>");
	value_id a = op_region(m, module_main(m)->op, 0)->args;
	run(m, "sdy-update-non-divisible-input-output-shardings");
	sharded_as(m, a, "<@mesh, [{\"b\":(1)2, ?}, {?}]>");
	run(m, "sdy-remove-sub-axes-in-input-output-shardings");
	sharded_as(m, a, "<@mesh, [{?}, {?}]>");
	run(m, "sdy-close-shardings");
	sharded_as(m, a, "<@mesh, [{}, {}]>");
	module_free(m);
}
END_TEST

START_TEST(inlined_meshes_get_symbols)
{
	module *m = read_body(
		"%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<[\"x\"=2]>, [{\"x\"}]>}, %b: "
		"tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<[\"a\"=2, \"b\"=4]>, [{\"a\"}]>}",
		"tensor<8xf32>", "func.return %a : tensor<8xf32>");
	value_id a = op_region(m, module_main(m)->op, 0)->args;
	run(m, "sdy-lift-inlined-meshes");
	ck_assert_uint_eq(count(m, OP_SDY_MESH), 2);
	sharded_as(m, a, "<@mesh_0, [{\"x\"}]>");
	sharded_as(m, a + 1, "<@mesh, [{\"a\"}]>");
	module_free(m);
}
END_TEST

START_TEST(constraints_reach_their_inputs)
{
	module *m = read_body("%a: tensor<8xf32>", "tensor<8xf32>",
		"%0 = stablehlo.abs %a : tensor<8xf32>\n%1 = sdy.sharding_constraint %0 <@mesh, [{\"a\"}]> "
		": tensor<8xf32>\n"
		"%2 = sdy.sharding_constraint %1 <@mesh, [{\"b\"}]> : tensor<8xf32>\n%3 = stablehlo.add "
		"%0, %2 : tensor<8xf32>\nfunc.return %3 : tensor<8xf32>");
	run(m, "sdy-apply-sharding-constraints");
	sharded_as(m, op_result(m, nth_op(m, OP_ABS, 0), 0), "<@mesh, [{\"a\"}]>");
	/* a chain of constraints: later uses of its input read its end */
	ck_assert_uint_eq(op_operand(m, nth_op(m, OP_ADD, 0), 0),
		op_result(m, nth_op(m, OP_SDY_SHARDING_CONSTRAINT, 1), 0));
	run(m, "func.func(sdy-sharding-constraint-to-reshard)");
	ck_assert_uint_eq(count(m, OP_SDY_RESHARD), 2);
	module_free(m);
}
END_TEST

START_TEST(groups_are_united)
{
	module *m = read_body("%a: tensor<8xf32>, %b: tensor<8xf32>", "tensor<8xf32>",
		"sdy.sharding_group %a group_id=7 : tensor<8xf32>\nsdy.sharding_group %a group_id=5 : "
		"tensor<8xf32>\n"
		"sdy.sharding_group %b group_id=7 : tensor<8xf32>\nfunc.return %a : tensor<8xf32>");
	run(m, "sdy-sharding-group-import");
	ck_assert_uint_eq(count(m, OP_SDY_SHARDING_GROUP), 2);
	ck_assert_int_eq(op_int(m, nth_op(m, OP_SDY_SHARDING_GROUP, 1), "group_id", -1), 0);
	run(m, "sdy-remove-sharding-groups");
	ck_assert_uint_eq(count(m, OP_SDY_SHARDING_GROUP), 0);
	module_free(m);
}
END_TEST

START_TEST(import_gives_chlo_ops_rules)
{
	static const struct {
		op_kind kind;
		const char *rule;
	} cases[] = {{OP_CHLO_ERF, "<([i, j])->([i, j]) {i=8, j=4}>"},
		{OP_CHLO_TOP_K,
			"<([i, j])->([i, j], [i, j]) {i=8, j=4} need_replication={j} "
			"blocked_propagation={j}>"}};
	module *m = read_body("%a: tensor<8x4xf32>", "tensor<8x2xf32>, tensor<8x2xi32>",
		"%0 = chlo.erf %a : tensor<8x4xf32> -> tensor<8x4xf32>\n"
		"%1, %2 = chlo.top_k(%0, k = 2) : tensor<8x4xf32> -> (tensor<8x2xf32>, tensor<8x2xi32>)\n"
		"func.return %1, %2 : tensor<8x2xf32>, tensor<8x2xi32>");
	rule_table rules;
	rule_id id;
	rule_table_init(&rules);
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		ck_assert_int_eq(
			rule_of_op(&rules, m, nth_op(m, cases[i].kind, 0), false, &id), RULE_UNSUPPORTED);
	ck_assert_int_eq(passes_import(m, false, NULL), ST_OK);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		strbuf text;
		strbuf_init(&text);
		ck_assert_int_eq(
			rule_of_op(&rules, m, nth_op(m, cases[i].kind, 0), false, &id), RULE_FOUND);
		rule_print(rule_get(&rules, id), &text);
		ck_assert_str_eq(text.p, cases[i].rule);
		strbuf_release(&text);
	}
	rule_table_release(&rules);
	module_free(m);
}
END_TEST

/* XLA for TPU makes one of equal ops, in the order in which they stand, bodies included; what
 * differs in an attribute, in a body, in a sharding or in its block stays. */
START_TEST(equal_ops_become_one)
{
#define SUM(r, v, op) \
	"%" r " = \"stablehlo.reduce\"(%" v \
	", %z) ({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%s = stablehlo." op \
	" %p, %q : tensor<f32>\n" \
	"stablehlo.return %s : tensor<f32>\n}) {dimensions = array<i64: 0>} : (tensor<8xf32>, " \
	"tensor<f32>) -> tensor<f32>\n"
	static const char text[] =
		"%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
		"%0 = stablehlo.tanh %a : tensor<8xf32>\n"
		"%1 = stablehlo.exponential %0 : tensor<8xf32>\n"
		"%2 = stablehlo.tanh %a : tensor<8xf32>\n"
		"%3 = stablehlo.exponential %2 : tensor<8xf32>\n"
		"%4 = stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{\"a\"}]>]>} : "
		"tensor<8xf32>\n"
		"%5 = stablehlo.slice %3 [0:4] : (tensor<8xf32>) -> tensor<4xf32>\n"
		"%6 = stablehlo.slice %1 [0:4] : (tensor<8xf32>) -> tensor<4xf32>\n"
		"%7 = stablehlo.slice %1 [4:8] : (tensor<8xf32>) -> tensor<4xf32>\n" SUM(
			"8", "1", "add") SUM("9", "3", "add") SUM("10", "1",
			"maximum") "func.return %4, %5, %6, %7, %8, %9, %10 : tensor<8xf32>, tensor<4xf32>, "
					   "tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>";
	for (int merges = 0; merges < 2; merges++) {
		module *m = read_body("%a: tensor<8xf32>",
			"tensor<8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, "
			"tensor<f32>",
			text);
		ck_assert_int_eq(passes_import(m, merges, NULL), ST_OK);
		ck_assert_uint_eq(count(m, OP_TANH), merges ? 2 : 3);
		ck_assert_uint_eq(count(m, OP_EXPONENTIAL), merges ? 1 : 2);
		ck_assert_uint_eq(count(m, OP_SLICE), merges ? 2 : 3);
		ck_assert_uint_eq(count(m, OP_REDUCE), merges ? 2 : 3);
		op_id first = nth_op(m, OP_TANH, 0);
		ck_assert_int_eq(op_at(m, first)->flags & OPS_MERGED, merges ? OPS_MERGED : 0);
		ck_assert_int_eq(op_at(m, nth_op(m, OP_TANH, merges ? 1 : 2))->flags & OPS_MERGED, 0);
		/* newest use first: of the exponential the sum and the maximum, then the slices from the
		 * last one on */
		value_id v = op_result(m, nth_op(m, OP_EXPONENTIAL, 0), 0);
		uint32_t before = UINT32_MAX, uses = 0;
		for (slot_id s = value_at(m, v)->first_use; merges && s != ID_NONE;
			 s = m->slots.p[s].next, uses++) {
			ck_assert_uint_lt(m->slots.p[s].owner, before);
			before = m->slots.p[s].owner;
		}
		ck_assert_uint_eq(uses, merges ? 4 : 0);
		module_free(m);
	}
#undef SUM
}
END_TEST

/* .. and of equal permutes, as of borders that two windows over one value want. */
START_TEST(equal_permutes_become_one)
{
#define PERMUTE(r, v, pairs) \
	"%" r " = \"stablehlo.collective_permute\"(%" v \
	") {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = " \
	"dense<" pairs "> : tensor<1x2xi64>} : (tensor<8xf32>) -> tensor<8xf32>\n"
	static const char text[] = PERMUTE("0", "a", "[[0, 1]]") PERMUTE("1", "a", "[[1, 0]]")
		PERMUTE("2", "a", "[[0, 1]]") "func.return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, "
									  "tensor<8xf32>";
#undef PERMUTE
	for (int merges = 0; merges < 2; merges++) {
		module *m =
			read_body("%a: tensor<8xf32>", "tensor<8xf32>, tensor<8xf32>, tensor<8xf32>", text);
		ck_assert_int_eq(passes_import(m, merges, NULL), ST_OK);
		ck_assert_uint_eq(count(m, OP_HLO_COLLECTIVE_PERMUTE), merges ? 2 : 3);
		module_free(m);
	}
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, inline_leaves_one_function);
	tcase_add_test(t, recursion_ends_in_an_error);
	tcase_add_test(t, calls_become_computations_and_calls_again);
	tcase_add_test(t, constants_are_split_and_merged);
	tcase_add_test(t, loops_get_edges_and_lose_them);
	tcase_add_test(t, edges_across_calls_need_no_main);
	tcase_add_test(t, shardings_are_closed_and_divided);
	tcase_add_test(t, inlined_meshes_get_symbols);
	tcase_add_test(t, constraints_reach_their_inputs);
	tcase_add_test(t, groups_are_united);
	tcase_add_test(t, import_gives_chlo_ops_rules);
	tcase_add_test(t, equal_ops_become_one);
	tcase_add_test(t, equal_permutes_become_one);
}

int main(void) { return run_added(add_tests, "passes"); }
