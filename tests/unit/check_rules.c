/* The rule of every kind of op: one example each. */
#include "tests/unit/module_fixture.h"

#include "propagate/propagate.h"

static const struct {
	const char *args, *line, *rule; /* NULL: none */
	const char *conservative;       /* when it differs */
} examples[] = {
	/* the worked examples of the propagation page */
	{"%a: tensor<8x2xf32>, %b: tensor<2x4xf32>",
		"%r = stablehlo.dot %a, %b : (tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>",
		"<([i, k], [k, j])->([i, j]) {i=8, j=4, k=2} reduction={k}>", NULL},
	{"%a: tensor<2x4x32xf32>",
		"%r = stablehlo.reshape %a : (tensor<2x4x32xf32>) -> tensor<8x32xf32>",
		"<([i, j, k])->([ij, k]) {i=2, j=4, k=32}>", NULL},
	{"%a: tensor<8x32xf32>", "%r = stablehlo.reshape %a : (tensor<8x32xf32>) -> tensor<2x4x32xf32>",
		"<([ij, k])->([i, j, k]) {i=2, j=4, k=32}>", NULL},
	{"%a: tensor<8x4xf32>", "%r = stablehlo.reshape %a : (tensor<8x4xf32>) -> tensor<2x16xf32>",
		"<([ij, k])->([i, jk]) {i=2, j=4, k=4}>", NULL},
	{"%a: tensor<3x2xf32>", "%r = stablehlo.reshape %a : (tensor<3x2xf32>) -> tensor<2x3xf32>",
		"<([i, l])->([j, k]) {i=3, j=2, k=3, l=2}>", NULL},
	/* elementwise and shape */
	{"%a: tensor<4x8xf32>", "%r = stablehlo.tanh %a : tensor<4x8xf32>",
		"<([i, j])->([i, j]) {i=4, j=8}>", NULL},
	{"%p: tensor<i1>, %a: tensor<4xf32>",
		"%r = stablehlo.select %p, %a, %a : tensor<i1>, tensor<4xf32>",
		"<([], [i], [i])->([i]) {i=4}>", NULL},
	{"%a: tensor<4xf32>", "%r = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4x2xbf16>",
		"<([i])->([i, j]) {i=4, j=2} need_replication={j}>", NULL},
	{"%a: tensor<1x4xf32>",
		"%r = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<1x4xf32>) -> "
		"tensor<3x5x4xf32>",
		"<([i, l])->([j, k, l]) {i=1, j=3, k=5, l=4}>", NULL},
	{"%a: tensor<4x2xf32>, %b: tensor<4x6xf32>",
		"%r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<4x2xf32>, tensor<4x6xf32>) -> "
		"tensor<4x8xf32>",
		"<([i, j], [i, j])->([i, j]) {i=4, j=8} need_replication={j}>",
		"<([i, j], [i, k])->([i, l]) {i=4, j=1, k=1, l=1}>"},
	{"%a: tensor<8x4xf32>",
		"%r = stablehlo.slice %a [0:4, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>",
		"<([i, j])->([i, j]) {i=8, j=4} permutation={i}>",
		"<([i, j])->([i, j]) {i=8, j=4} permutation={i} blocked_propagation={i}>"},
	{"%a: tensor<8x4xf32>", "%r = stablehlo.reverse %a, dims = [1] : tensor<8x4xf32>",
		"<([i, j])->([i, j]) {i=8, j=4} permutation={j}>", NULL},
	{"%a: tensor<8x4xf32>",
		"%r = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>",
		"<([j, i])->([i, j]) {i=4, j=8}>", NULL},
	{"%a: tensor<8x4xf32>, %i: tensor<i32>",
		"%r = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 4] : (tensor<8x4xf32>, tensor<i32>, "
		"tensor<i32>) -> tensor<1x4xf32>",
		"<([i, j], [], [])->([i, j]) {i=8, j=4} need_replication={i} blocked_propagation={i}>",
		NULL},
	{"%a: tensor<8x4xf32>, %u: tensor<1x4xf32>, %i: tensor<i32>",
		"%r = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<8x4xf32>, tensor<1x4xf32>, "
		"tensor<i32>, tensor<i32>) -> tensor<8x4xf32>",
		"<([i, k], [j, k], [], [])->([i, k]) {i=8, j=1, k=4} need_replication={j}>", NULL},
	{"%a: tensor<8x4xf32>, %n: tensor<2x1xi32>",
		"%r = \"stablehlo.gather\"(%a, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = "
		"[1], collapsed_slice_dims = [0], start_index_map = [0], "
		"index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : "
		"(tensor<8x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>",
		"<([k, j], [i, l])->([i, j]) {i=2, j=4, k=8, l=1} reduction={k} need_replication={l}>",
		NULL},
	/* contractions */
	{"%a: tensor<2x8x4xf32>, %b: tensor<2x4x6xf32>",
		"%r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x "
		"[1] : (tensor<2x8x4xf32>, tensor<2x4x6xf32>) -> tensor<2x8x6xf32>",
		"<([i, j, l], [i, l, k])->([i, j, k]) {i=2, j=8, k=6, l=4} reduction={l}>", NULL},
	{"%a: tensor<8x4xf32>, %z: tensor<f32>",
		"%r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : "
		"(tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>",
		"<([i, j], [])->([j]) {i=8, j=4} reduction={i}>", NULL},
	{"%a: tensor<8x8xf32>", "%r = stablehlo.cholesky %a, lower = true : tensor<8x8xf32>",
		"<([i, j])->([i, j]) {i=8, j=8} need_replication={i, j}>", NULL},
	/* custom calls */
	{"%a: tensor<8xf32>",
		"%r = stablehlo.custom_call @MoveToHost(%a) : (tensor<8xf32>) -> tensor<8xf32>",
		"<([i])->([i]) {i=8}>", NULL},
	{"%a: tensor<2x8x4xf32>",
		"%r:2 = stablehlo.custom_call @Qr(%a) : (tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, "
		"tensor<2x4xf32>)",
		"<([i, j, k])->([i, j, k], [i, l]) {i=2, j=8, k=4, l=4} need_replication={j, k, l}>", NULL},
	{"%a: tensor<8xf32>",
		"%r = stablehlo.custom_call @unheard_of(%a) : (tensor<8xf32>) -> tensor<8xf32>", NULL,
		NULL},
	{"%a: tensor<8xf32>",
		"%r = stablehlo.custom_call @unheard_of(%a) {sdy.sharding_rule = "
		"#sdy.op_sharding_rule<([i])->([j]) {i=8, j=8}, custom>} : (tensor<8xf32>) -> "
		"tensor<8xf32>",
		"<([i])->([j]) {i=8, j=8}, custom>", NULL},
};

static void expect_rule(uint32_t i, bool conservative)
{
	const char *wanted =
		conservative && examples[i].conservative ? examples[i].conservative : examples[i].rule;
	strbuf lines, out;
	strbuf_init(&lines);
	strbuf_init(&out);
	strbuf_printf(&lines, "%s\n func.return", examples[i].line);
	module *m = read_body(examples[i].args, "", lines.p);
	rule_table rules;
	rule_id id;
	rule_table_init(&rules);
	op_id end = op_at(m, module_main(m)->op)->regions;
	rule_status st =
		rule_of_op(&rules, m, op_at(m, region_terminator(m, end))->prev, conservative, &id);
	ck_assert_msg((st == RULE_FOUND) == (wanted != NULL), "%s", examples[i].line);
	if (wanted) {
		rule_print(rule_get(&rules, id), &out);
		ck_assert_str_eq(out.p, wanted);
	}
	rule_table_release(&rules);
	strbuf_release(&lines);
	strbuf_release(&out);
	module_free(m);
}

START_TEST(examples_have_their_rules) { expect_rule((uint32_t)_i, false); }
END_TEST

START_TEST(conservative_examples) { expect_rule((uint32_t)_i, true); }
END_TEST

START_TEST(a_rule_for_other_ranks_is_not_taken)
{
	module *m = read_body("%a: tensor<8xf32>", "",
		"%r = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, "
		"j=8}>} : tensor<8xf32>\n func.return");
	rule_table rules;
	rule_id id;
	rule_table_init(&rules);
	ck_assert_int_eq(rule_of_op(&rules, m, nth_op(m, OP_ABS, 0), false, &id), RULE_UNSUPPORTED);
	ck_assert_uint_eq(id, RULE_NONE);
	rule_table_release(&rules);
	module_free(m);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_loop_test(t, examples_have_their_rules, 0, (int)COUNT_OF(examples));
	tcase_add_loop_test(t, conservative_examples, 0, (int)COUNT_OF(examples));
	tcase_add_test(t, a_rule_for_other_ranks_is_not_taken);
}

int main(void) { return run_added(add_tests, "rules"); }
