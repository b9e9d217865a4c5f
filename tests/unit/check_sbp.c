/* The worked examples of OneFlow's document on SBP inference, and boxing carried out on numbers. */
#include "layout/layout.h"
#include "sbp/sbp.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <cjson/cJSON.h>
#include <stdlib.h>

static module *m;
static sbp_inference x;

static status infer(const char *text, diag *d)
{
	ck_assert_msg(module_read(text, strlen(text), "m.mlir", NULL, &m, d) == ST_OK, "%s", d->msg);
	ck_assert_msg(module_verify_types(m, d) == ST_OK, "%s", d->msg);
	return sbp_infer(m, ID_NONE, &x, d);
}

static void inferred(const char *text)
{
	diag d = {0};
	ck_assert_msg(infer(text, &d) == ST_OK, "%u:%u %s", d.line, d.col, d.msg);
}

static void done(void)
{
	sbp_inference_release(&x);
	module_free(m);
}

#define ADD(MESH, SBP1, SBP2) \
	"sdy.mesh @mesh = " MESH "\n" \
	"func.func @main(%t1: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, " SBP1 \
	">}, %t2: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, " SBP2 \
	">}) -> tensor<2x4xf32> {\n" \
	"  %0 = stablehlo.add %t1, %t2 : tensor<2x4xf32>\n  return %0 : tensor<2x4xf32>\n}\n"

/* "S(0) S(0) S(0)" */
static void words_are(const sbp_candidates *c, uint32_t i, const char *want)
{
	strbuf b;
	strbuf_init(&b);
	for (uint32_t k = 0; k < c->n_operands + c->n_results; k++) {
		strbuf_puts(&b, k ? " " : "");
		sbp_word_print(candidate_words(c, i)[k], &b);
	}
	ck_assert_str_eq(b.p, want);
	strbuf_release(&b);
}

static void chosen_is(uint32_t op, const char *want)
{
	const sbp_op_record *r = &x.ops.p[op];
	strbuf b;
	strbuf_init(&b);
	for (uint32_t k = 0; k < r->candidates.n_operands + r->candidates.n_results; k++) {
		nd_sbp s = sbp_chosen(r, k, x.placement.n);
		strbuf_puts(&b, k ? " " : "");
		nd_sbp_print(&s, x.placement.n, &b);
	}
	ck_assert_str_eq(b.p, want);
	strbuf_release(&b);
}

/* seeds.md 4.1, 4.6: t1 S(0) + t2 S(1), both 2x4 float32 on ranks [0, 1]. */
START_TEST(add_of_two_splits)
{
	inferred(ADD("<[\"x\"=2]>", "[{\"x\"}, {}]", "[{}, {\"x\"}]"));
	const sbp_op_record *r = &x.ops.p[0];
	ck_assert_uint_eq(x.ops.n, 1);
	ck_assert_uint_eq(r->candidates.n, 4);
	words_are(&r->candidates, 0, "S(0) S(0) S(0)");
	words_are(&r->candidates, 1, "S(1) S(1) S(1)");
	words_are(&r->candidates, 2, "P P P");
	words_are(&r->candidates, 3, "B B B");
	static const int64_t order[] = {-10, -10, 0, 0}, cost[] = {0 + 32, 32 + 0, INT64_MAX, 32 + 32};
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_int_eq(sbp_order_value(&r->candidates, i, r->hints, 0, false), order[i]);
		ck_assert_int_eq(sbp_copy_cost(&r->candidates, i, r->hints, 0, &x.placement), cost[i]);
	}
	/* S(0) and S(1) tie on both: the first of the list */
	chosen_is(0, "S(0) S(0) S(0)");
	ck_assert_uint_eq(x.boxings.n, 1);
	ck_assert_uint_eq(x.boxings.p[0].operand, 1);
	ck_assert_uint_eq(x.steps.n, 1);
	ck_assert_int_eq(x.steps.p[0].kind, BOXING_ALL_TO_ALL);
	done();
}
END_TEST

/* seeds.md 4.6: a split and a broadcast give all broadcast, whichever of the inputs it is. */
START_TEST(split_and_broadcast_is_broadcast)
{
	static const char *const texts[] = {ADD("<[\"x\"=2]>", "[{}, {}]", "[{\"x\"}, {}]"),
		ADD("<[\"x\"=2]>", "[{\"x\"}, {}]", "[{}, {}]"),
		ADD("<[\"x\"=2]>", "[{}, {\"x\"}]", "[{}, {}]")};
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		inferred(texts[i]);
		const sbp_op_record *r = &x.ops.p[0];
		uint32_t split = i == 2;
		ck_assert_int_eq(sbp_order_value(&r->candidates, split, r->hints, 0, false), -10);
		ck_assert_int_eq(
			sbp_copy_cost(&r->candidates, split, r->hints, 0, &x.placement), INT32_MAX);
		ck_assert_int_eq(sbp_order_value(&r->candidates, 3, r->hints, 0, false), -10);
		ck_assert_int_eq(sbp_copy_cost(&r->candidates, 3, r->hints, 0, &x.placement), 32);
		chosen_is(0, "B B B");
		ck_assert_int_eq(x.steps.p[0].kind, BOXING_ALL_GATHER);
		done();
	}
}
END_TEST

/* seeds.md 4.6: the JSON of the list and of the result. */
START_TEST(oneflow_json)
{
	inferred(ADD("<[\"x\"=2]>", "[{\"x\"}, {}]", "[{}, {\"x\"}]"));
	cJSON *root = sbp_explain_json(m, &x),
		  *op = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "ops"), 0);
	static const char *const want[] = {
		"{\"bn_in_op2sbp_parallel\":{\"in_0\":{\"split_parallel\":{\"axis\":\"0\"}},\"in_1\":{"
		"\"split_parallel\":{\"axis\":\"0\"}},\"out_0\":{\"split_parallel\":{\"axis\":\"0\"}}}}",
		"{\"bn_in_op2sbp_parallel\":{\"in_0\":{\"split_parallel\":{\"axis\":\"1\"}},\"in_1\":{"
		"\"split_parallel\":{\"axis\":\"1\"}},\"out_0\":{\"split_parallel\":{\"axis\":\"1\"}}}}",
		"{\"bn_in_op2sbp_parallel\":{\"in_0\":{\"partial_sum_parallel\":{}},\"in_1\":{\"partial_"
		"sum_parallel\":{}},\"out_0\":{\"partial_sum_parallel\":{}}}}",
		"{\"bn_in_op2sbp_parallel\":{\"in_0\":{\"broadcast_parallel\":{}},\"in_1\":{\"broadcast_"
		"parallel\":{}},\"out_0\":{\"broadcast_parallel\":{}}}}",
	};
	for (int i = 0; i < 4; i++) {
		char *text =
			cJSON_PrintUnformatted(cJSON_GetArrayItem(cJSON_GetObjectItem(op, "sbp_signature"), i));
		ck_assert_str_eq(text, want[i]);
		cJSON_free(text);
	}
	char *text = cJSON_PrintUnformatted(cJSON_GetObjectItem(op, "nd_sbp_signature"));
	ck_assert_str_eq(text,
		"{\"bn_in_op2nd_sbp\":{\"in_0\":{\"sbp_parallel\":[{\"split_parallel\":{\"axis\":\"0\"}}]},"
		"\"in_1\":{\"sbp_parallel\":[{"
		"\"split_parallel\":{\"axis\":\"0\"}}]},\"out_0\":{\"sbp_parallel\":[{\"split_parallel\":{"
		"\"axis\":\"0\"}}]}}}");
	cJSON_free(text);
	cJSON_Delete(root);
	done();
}
END_TEST

/* seeds.md 4.3: (broadcast, split(0)) on ranks [[0, 1], [2, 3]], and what a placement's hierarchy
 * is. */
START_TEST(two_dimensions)
{
	sharding_table *t = sharding_table_new();
	mesh_id mesh;
	tensor_spec spec;
	layout l;
	diag d = {0};
	static const int64_t shape[] = {2, 2};
	ck_assert_int_eq(mesh_parse_flag(t, "r=2,c=2", &mesh, &d), ST_OK);
	ck_assert_int_eq(
		notation_parse(t, NOTATION_SBP, mesh, 2,
			STR("placement(\"cpu\", ranks=[[0, 1], [2, 3]]), [broadcast, split(0)]"), &spec, &d),
		ST_OK);
	ck_assert_int_eq(layout_init(&l, t, &spec.e, shape, 2, &d), ST_OK);
	for (int64_t device = 0; device < 4; device++) {
		index_range r[2];
		layout_ranges(&l, device, r);
		ck_assert(r[0].begin == device % 2 && r[0].end == device % 2 + 1 && r[1].begin == 0 &&
			r[1].end == 2);
	}
	layout_release(&l);
	sharding_table_unref(t);
	inferred(ADD("<[\"r1\"=2, \"r2\"=3]>", "[{}, {}]", "[{}, {}]"));
	ck_assert(x.placement.n == 2 && x.placement.sizes[0] == 2 && x.placement.sizes[1] == 3);
	done();
	inferred(ADD("<[\"r\"=6]>", "[{}, {}]", "[{}, {}]"));
	ck_assert(x.placement.n == 1 && x.placement.sizes[0] == 6);
	done();
}
END_TEST

/* seeds.md 4.7: n 1-D signatures give n^k N-D ones; every slot is one 1-D signature of all inputs
 * and outputs together. */
START_TEST(nd_signatures)
{
	inferred(ADD("<[\"a\"=2, \"b\"=2]>", "[{\"a\"}, {\"b\"}]", "[{\"a\"}, {\"b\"}]"));
	ck_assert_uint_eq(x.ops.p[0].candidates.n, 4); /* 4 x 4 = 16 on two dimensions */
	chosen_is(0, "(S(0), S(1)) (S(0), S(1)) (S(0), S(1))");
	ck_assert_uint_eq(x.boxings.n, 0);
	ck_assert_int_eq(x.ops.p[0].choice.order, -20);
	done();
	inferred(ADD("<[\"a\"=2, \"b\"=2]>", "[{\"a\"}, {\"b\"}]", "[{\"a\"}, {}]"));
	chosen_is(0, "(S(0), B) (S(0), B) (S(0), B)");
	done();
	/* 2 rows over 2 x 2 devices: the second split of them does not fit */
	inferred(ADD("<[\"a\"=2, \"b\"=2]>", "[{\"a\"}, {\"b\"}]", "[{}, {\"a\", \"b\"}]"));
	const sbp_op_record *r = &x.ops.p[0];
	uint16_t rows[] = {0, 0};
	ck_assert(!sbp_fits_shape(&r->candidates, rows, 1, 0, &x.placement) &&
		sbp_fits_shape(&r->candidates, rows, 1, 1, &x.placement));
	done();
}
END_TEST

/* Refinement against all n^k signatures: the least copy cost, then the most inputs whose whole N-D
 * SBP is there. */
START_TEST(greedy_against_all)
{
	static const char *const shardings[] = {"[{}, {}]", "[{\"a\"}, {}]", "[{}, {\"a\"}]",
		"[{\"b\"}, {}]", "[{}, {\"b\"}]", "[{\"a\"}, {\"b\"}]", "[{\"b\"}, {\"a\"}]",
		"[{\"a\", \"b\"}, {}]", "[{}, {\"a\", \"b\"}]"};
	uint32_t best = 0, all = 0;
	for (size_t i = 0; i < COUNT_OF(shardings); i++)
		for (size_t k = 0; k < COUNT_OF(shardings); k++) {
			char text[1024];
			snprintf(text, sizeof text,
				"sdy.mesh @mesh = <[\"a\"=2, \"b\"=2]>\nfunc.func @main(%%t1: tensor<8x4xf32> "
				"{sdy.sharding = #sdy.sharding<@mesh, %s>}, %%t2: tensor<8x4xf32> "
				"{sdy.sharding = #sdy.sharding<@mesh, %s>}) -> tensor<8x4xf32> {\n  %%0 = "
				"stablehlo.add %%t1, %%t2 : tensor<8x4xf32>\n  return %%0 : tensor<8x4xf32>\n}\n",
				shardings[i], shardings[k]);
			inferred(text);
			const sbp_op_record *r = &x.ops.p[0];
			sbp_choice found = r->choice;
			bool beaten = false;
			for (uint16_t p = 0; p < r->candidates.n; p++)
				for (uint16_t q = 0; q < r->candidates.n; q++) {
					int64_t order = 0,
							cost =
								sat_add(sbp_copy_cost(&r->candidates, p, r->hints, 0, &x.placement),
									sbp_copy_cost(&r->candidates, q, r->hints, 1, &x.placement));
					for (uint32_t in = 0; in < 2; in++)
						order -= 10 *
							(sbp_equal(
								 candidate_words(&r->candidates, p)[in], r->hints[in].sbp.at[0]) &&
								sbp_equal(candidate_words(&r->candidates, q)[in],
									r->hints[in].sbp.at[1]));
					beaten =
						beaten || cost < found.cost || (cost == found.cost && order < found.order);
				}
			best += !beaten;
			all++;
			done();
		}
	ck_assert_uint_eq(all, 81);
	ck_assert_uint_eq(best, 81);
}
END_TEST

/* seeds.md 4.5: all inputs have one placement. 4.6: constraints; nothing left is an error. All at
 * the op's position. */
START_TEST(errors)
{
	static const struct {
		const char *text, *words;
		uint32_t line;
	} lines[] = {
		{"sdy.mesh @a = <[\"x\"=2]>\nsdy.mesh @b = <[\"y\"=4]>\nfunc.func @main(%t1: tensor<8xf32> "
		 "{sdy.sharding = #sdy.sharding<@a, [{\"x\"}]>}, %t2: tensor<8xf32> "
		 "{sdy.sharding = #sdy.sharding<@b, [{\"y\"}]>}) -> tensor<8xf32> {\n  %0 = stablehlo.add "
		 "%t1, %t2 : tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n",
			"inputs have different placements: operand 0 is on @a, operand 1 on @b", 4},
		{"sdy.mesh @a = <[\"x\"=2]>\nfunc.func @main(%t1: tensor<8xf32> {sdy.sharding = "
		 "#sdy.sharding<@a, [{\"x\"}]>}) -> tensor<8xf32> {\n"
		 "  %0 = stablehlo.exponential %t1 {sdy.sharding = #sdy.sharding_per_value<[<@a, [{}], "
		 "unreduced={\"x\"}>]>} : tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n",
			"no valid SBP signature", 3},
		{"sdy.mesh @a = <[\"x\"=2, \"y\"=2]>\nfunc.func @main(%t1: tensor<8xf32> {sdy.sharding = "
		 "#sdy.sharding<@a, [{\"y\", \"x\"}]>}) -> tensor<8xf32> {\n"
		 "  return %t1 : tensor<8xf32>\n}\n",
			"argument 0: no SBP: dimension 0 is cut against the order of the mesh", 2},
		{"func.func @main(%t1: tensor<8xf32>) -> tensor<8xf32> {\n  return %t1 : "
		 "tensor<8xf32>\n}\n",
			"declares no mesh", 1},
	};
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		diag d = {0};
		ck_assert_int_ne(infer(lines[i].text, &d), ST_OK);
		ck_assert_msg(strstr(d.msg, lines[i].words), "%s", d.msg);
		ck_assert_uint_eq(d.line, lines[i].line);
		done();
	}
}
END_TEST

START_TEST(constraints)
{
	/* t1 S(0) + t2 S(0) with the result held to S(1): the order value is 0 for all, the constraint
	 * decides */
	inferred("sdy.mesh @a = <[\"x\"=2]>\nfunc.func @main(%t1: tensor<2x4xf32> {sdy.sharding = "
			 "#sdy.sharding<@a, [{\"x\"}, {}]>}) -> tensor<2x4xf32> {\n"
			 "  %0 = stablehlo.add %t1, %t1 {sdy.sharding = #sdy.sharding_per_value<[<@a, [{}, "
			 "{\"x\"}]>]>} : tensor<2x4xf32>\n"
			 "  %1 = stablehlo.add %0, %0 : tensor<2x4xf32>\n  return %1 : tensor<2x4xf32>\n}\n");
	const sbp_op_record *r = &x.ops.p[0];
	ck_assert_int_eq(r->choice.order, 0);
	for (uint32_t i = 0; i < r->candidates.n; i++) {
		ck_assert_int_eq(sbp_order_value(&r->candidates, i, r->hints, 0, true), 0);
		ck_assert_int_eq(sbp_fits_constraint(&r->candidates, i, 0, &r->constraint), i == 1);
	}
	chosen_is(0, "S(1) S(1) S(1)");
	chosen_is(1, "S(1) S(1) S(1)");
	done();
}
END_TEST

/* A sharding that leaves everything open asks for nothing. */
START_TEST(open_shardings)
{
	inferred("sdy.mesh @a = <[\"x\"=2]>\nfunc.func @main(%t1: tensor<2x4xf32> {sdy.sharding = "
			 "#sdy.sharding<@a, [{\"x\"}, {}]>}) -> tensor<2x4xf32> {\n"
			 "  %0 = stablehlo.add %t1, %t1 {sdy.sharding = #sdy.sharding_per_value<[<@a, [{?}, "
			 "{?}]>]>} : tensor<2x4xf32>\n  return %0 : tensor<2x4xf32>\n}\n");
	ck_assert(!x.ops.p[0].constraint.given[0]);
	chosen_is(0, "S(0) S(0) S(0)");
	done();
}
END_TEST

/* seeds.md 4.6, outside rule: without inputs -1 per output that is S(0). */
START_TEST(sources)
{
	static const sbp words[] = {{SBP_SPLIT, 0}, {SBP_SPLIT, 1}, {SBP_SPLIT, 0}, {SBP_SPLIT, 0}};
	sbp_candidates c = {.n = 2, .n_operands = 0, .n_results = 2, .words = words};
	ck_assert_int_eq(sbp_order_value(&c, 0, NULL, 0, false), -1);
	ck_assert_int_eq(sbp_order_value(&c, 1, NULL, 0, false), -2);
}
END_TEST

/* seeds.md 4.4: equal shape, dtype, SBP, placement and constraint are inferred once. */
START_TEST(cache)
{
	inferred("sdy.mesh @a = <[\"x\"=2]>\nfunc.func @main(%t1: tensor<2x4xf32> {sdy.sharding = "
			 "#sdy.sharding<@a, [{\"x\"}, {}]>}, %t2: tensor<2x4xf32>, %t3: tensor<4x4xf32> "
			 "{sdy.sharding = "
			 "#sdy.sharding<@a, [{\"x\"}, {}]>}) -> tensor<2x4xf32> {\n"
			 "  %0 = stablehlo.add %t1, %t1 : tensor<2x4xf32>\n"
			 "  %1 = stablehlo.add %0, %0 : tensor<2x4xf32>\n"   /* the same */
			 "  %2 = stablehlo.add %t2, %t2 : tensor<2x4xf32>\n" /* another SBP */
			 "  %3 = stablehlo.add %t3, %t3 : tensor<4x4xf32>\n" /* another shape */
			 "  %4 = stablehlo.add %1, %1 {sdy.sharding = #sdy.sharding_per_value<[<@a, [{\"x\"}, "
			 "{}]>]>} : tensor<2x4xf32>\n" /* a constraint */
			 "  return %1 : tensor<2x4xf32>\n}\n");
	static const bool cached[] = {false, true, false, false, false};
	for (uint32_t i = 0; i < 5; i++)
		ck_assert_int_eq(x.ops.p[i].cached, cached[i]);
	done();
}
END_TEST

/* One split per factor of the sharding rule, partial where a factor is reduced and through what is
 * linear. */
START_TEST(signatures_from_rules)
{
	inferred("sdy.mesh @a = <[\"x\"=2]>\nfunc.func @main(%a: tensor<8x16xf32> {sdy.sharding = "
			 "#sdy.sharding<@a, [{}, {\"x\"}]>}, %b: tensor<16x4xf32> {sdy.sharding = "
			 "#sdy.sharding<@a, [{\"x\"}, {}]>}) "
			 "-> tensor<f32> {\n"
			 "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
			 "(tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>\n"
			 "  %1 = stablehlo.reshape %0 : (tensor<8x4xf32>) -> tensor<32xf32>\n"
			 "  %2 = stablehlo.multiply %1, %1 : tensor<32xf32>\n"
			 "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
			 "  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0] : "
			 "(tensor<32xf32>, tensor<f32>) -> tensor<f32>\n"
			 "  return %3 : tensor<f32>\n}\n");
	static const char *const dot[] = {
		"S(0) B S(0)", "B S(1) S(1)", "S(1) S(0) P", "P B P", "B P P", "B B B"};
	static const char *const reshape[] = {
		"S(0) S(0)", "P P", "B B"}; /* the minor part of dim 0 is no split */
	static const char *const multiply[] = {"S(0) S(0) S(0)", "P B P", "B P P", "B B B"};
	static const char *const reduce[] = {"S(0) P P", "P P P", "B B B"};
	static const struct {
		const char *const *words;
		uint32_t n;
		const char *chosen;
	} ops[] = {
		{dot, 6, "S(1) S(0) P"}, {reshape, 3, "P P"}, {multiply, 4, "P B P"}, {reduce, 3, "P P P"}};
	ck_assert_uint_eq(x.ops.n, COUNT_OF(ops));
	for (uint32_t i = 0; i < COUNT_OF(ops); i++) {
		ck_assert_uint_eq(x.ops.p[i].candidates.n, ops[i].n);
		for (uint32_t k = 0; k < ops[i].n; k++)
			words_are(&x.ops.p[i].candidates, k, ops[i].words[k]);
		chosen_is(i, ops[i].chosen);
	}
	/* what a sum begins with is added once: a summand that is zero on all but the first device */
	/* the product of a sum with itself is no sum of products: one of them is summed first; nor is
	 * the result of main a partial sum */
	ck_assert_uint_eq(x.boxings.n, 3);
	ck_assert_int_eq(x.steps.p[1].kind, BOXING_ZERO);
	ck_assert_int_eq(x.steps.p[0].kind, BOXING_ALL_REDUCE);
	ck_assert_int_eq(x.steps.p[x.steps.n - 1].kind, BOXING_ALL_REDUCE);
	done();
}
END_TEST

/* What several ops of a block want of one value is made once. */
START_TEST(shared_boxing)
{
	inferred("sdy.mesh @a = <[\"x\"=2]>\nfunc.func @main(%t: tensor<2x4xf32> {sdy.sharding = "
			 "#sdy.sharding<@a, [{\"x\"}, {}]>}, %u: tensor<2x4xf32>) -> tensor<2x4xf32> {\n"
			 "  %0 = stablehlo.add %t, %u : tensor<2x4xf32>\n  %1 = stablehlo.multiply %0, %t : "
			 "tensor<2x4xf32>\n  return %1 : tensor<2x4xf32>\n}\n");
	ck_assert_uint_eq(x.boxings.n, 2);
	ck_assert(x.boxings.p[0].same == ID_NONE && x.boxings.p[1].same == 0 && x.steps.n == 1);
	uint32_t before = m->ops.n;
	sbp_annotate(m, &x);
	ck_assert_uint_eq(m->ops.n, before + 1);
	diag d = {0};
	ck_assert_msg(module_verify(m, &d) == ST_OK, "%s", d.msg);
	done();
}
END_TEST

/* A loop's value keeps the SBP it comes in with; a constant takes that of the first round. */
START_TEST(loops)
{
	inferred(
		"sdy.mesh @a = <[\"x\"=2]>\nfunc.func @main(%t: tensor<8x4xf32> {sdy.sharding = "
		"#sdy.sharding<@a, [{\"x\"}, {}]>}, %n: tensor<i32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) "
		"{\n"
		"  %c = stablehlo.constant dense<0.0> : tensor<8x4xf32>\n  %i = stablehlo.constant "
		"dense<0> : tensor<i32>\n  %one = stablehlo.constant dense<1> : tensor<i32>\n"
		"  %0:3 = stablehlo.while(%k = %i, %acc = %c, %v = %t) : tensor<i32>, tensor<8x4xf32>, "
		"tensor<8x4xf32>\n"
		"  cond {\n    %p = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> "
		"tensor<i1>\n    stablehlo.return %p : tensor<i1>\n  } do {\n"
		"    %s = stablehlo.add %acc, %v : tensor<8x4xf32>\n    %j = stablehlo.add %k, %one : "
		"tensor<i32>\n"
		"    stablehlo.return %j, %s, %v : tensor<i32>, tensor<8x4xf32>, tensor<8x4xf32>\n  }\n"
		"  return %0#1, %0#2 : tensor<8x4xf32>, tensor<8x4xf32>\n}\n");
	ck_assert_uint_eq(x.boxings.n, 0);
	ck_assert_uint_eq(x.results.n, 2);
	for (uint32_t i = 0; i < 2; i++)
		ck_assert(sbp_equal(x.results.p[i].sbp.at[0], sbp_split(0)));
	done();
}
END_TEST

/* ---------------------------------------------------------------- boxing on numbers */

enum { SIDE = 12, MAX_DEVICES_HERE = 12 };
typedef struct local { /* a device's part */
	uint32_t n[2];
	double v[SIDE * SIDE];
} local;

static double *at(local *l, uint32_t r, uint32_t c) { return &l->v[r * l->n[1] + c]; }
static double global_at(uint32_t r, uint32_t c) { return 1 + r * SIDE + c; }

static uint32_t coordinate(const sbp_placement *p, uint32_t device, uint32_t k)
{
	for (uint32_t i = p->n; i-- > k + 1;)
		device /= (uint32_t)p->sizes[i];
	return device % (uint32_t)p->sizes[k];
}

/* The part that the words leave a device, partial sums apart. */
static void slice_of(
	const sbp_placement *p, const nd_sbp *s, uint32_t device, uint32_t begin[2], uint32_t size[2])
{
	begin[0] = begin[1] = 0;
	size[0] = size[1] = SIDE;
	for (uint32_t k = 0; k < p->n; k++)
		if (s->at[k].kind == SBP_SPLIT) {
			uint32_t dim = s->at[k].dim;
			size[dim] /= (uint32_t)p->sizes[k];
			begin[dim] += coordinate(p, device, k) * size[dim];
		}
}

static uint32_t n_devices(const sbp_placement *p)
{
	uint32_t n = 1;
	for (uint32_t k = 0; k < p->n; k++)
		n *= (uint32_t)p->sizes[k];
	return n;
}

/* Summands differ by device and add up. */
static void fill(const sbp_placement *p, const nd_sbp *s, local *of)
{
	for (uint32_t d = 0; d < n_devices(p); d++) {
		uint32_t begin[2];
		slice_of(p, s, d, begin, of[d].n);
		double share = 1;
		for (uint32_t k = 0; k < p->n; k++)
			if (s->at[k].kind == SBP_PARTIAL) /* 1 - n(n-1)/2, 1, 2, .. sum to 1 */
				share *= coordinate(p, d, k)
					? coordinate(p, d, k)
					: 1 - (double)p->sizes[k] * ((double)p->sizes[k] - 1) / 2;
		for (uint32_t r = 0; r < of[d].n[0]; r++)
			for (uint32_t c = 0; c < of[d].n[1]; c++)
				*at(&of[d], r, c) = share * global_at(begin[0] + r, begin[1] + c);
	}
}

/* Same coordinates but along [first, last]. */
static bool together(const sbp_placement *p, uint32_t a, uint32_t b, const boxing_step *s)
{
	for (uint32_t k = 0; k < p->n; k++)
		if ((k < s->first || k > s->last) && coordinate(p, a, k) != coordinate(p, b, k))
			return false;
	return true;
}

static void copy_block(local *to, uint32_t r0, uint32_t c0, local *from, uint32_t fr, uint32_t fc,
	uint32_t rows, uint32_t columns, bool sum)
{
	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t c = 0; c < columns; c++) {
			double v = *at(from, fr + r, fc + c);
			*at(to, r0 + r, c0 + c) = sum ? *at(to, r0 + r, c0 + c) + v : v;
		}
}

static void carry_out(const sbp_placement *p, const boxing_step *s, local *of)
{
	static local old[MAX_DEVICES_HERE];
	uint32_t n = n_devices(p);
	memcpy(old, of, n * sizeof *old);
	for (uint32_t d = 0; d < n; d++) {
		uint32_t members[MAX_DEVICES_HERE], size = 0, me = 0;
		for (uint32_t e = 0; e < n; e++)
			if (together(p, d, e, s)) {
				me = e == d ? size : me;
				members[size++] = e;
			}
		local *l = &of[d];
		uint32_t rows = old[d].n[0], columns = old[d].n[1];
		memset(l->v, 0, sizeof l->v);
		switch (s->kind) {
		case BOXING_ALL_REDUCE:
			for (uint32_t i = 0; i < size; i++)
				copy_block(l, 0, 0, &old[members[i]], 0, 0, rows, columns, true);
			break;
		case BOXING_REDUCE_SCATTER:
		case BOXING_SLICE: {
			uint32_t part[2] = {rows, columns};
			part[s->to] /= size;
			memcpy(l->n, part, sizeof part);
			for (uint32_t i = 0; i < size; i++)
				if (s->kind == BOXING_REDUCE_SCATTER || i == me)
					copy_block(l, 0, 0, &old[members[i]], s->to == 0 ? me * part[0] : 0,
						s->to == 1 ? me * part[1] : 0, part[0], part[1], true);
			break;
		}
		case BOXING_ALL_GATHER:
			l->n[s->from] *= size;
			for (uint32_t i = 0; i < size; i++)
				copy_block(l, s->from == 0 ? i * rows : 0, s->from == 1 ? i * columns : 0,
					&old[members[i]], 0, 0, rows, columns, false);
			break;
		case BOXING_ALL_TO_ALL: {
			uint32_t part[2] = {rows, columns};
			part[s->to] /= size;
			l->n[s->from] *= size;
			l->n[s->to] /= size;
			for (uint32_t i = 0; i < size; i++)
				copy_block(l, s->from == 0 ? i * part[0] : 0, s->from == 1 ? i * part[1] : 0,
					&old[members[i]], s->to == 0 ? me * part[0] : 0, s->to == 1 ? me * part[1] : 0,
					part[0], part[1], false);
			break;
		}
		case BOXING_PAD:
			l->n[s->from] *= size;
			copy_block(l, s->from == 0 ? me * rows : 0, s->from == 1 ? me * columns : 0, &old[d], 0,
				0, rows, columns, false);
			break;
		case BOXING_ZERO:
			if (me == 0)
				copy_block(l, 0, 0, &old[d], 0, 0, rows, columns, false);
			break;
		default: ck_abort();
		}
	}
}

/* Devices that differ only where the words say partial add up to the part that the words leave
 * them. */
static bool is_right(const sbp_placement *p, const nd_sbp *s, local *of)
{
	for (uint32_t d = 0; d < n_devices(p); d++) {
		uint32_t begin[2], size[2];
		slice_of(p, s, d, begin, size);
		if (of[d].n[0] != size[0] || of[d].n[1] != size[1])
			return false;
		for (uint32_t r = 0; r < size[0]; r++)
			for (uint32_t c = 0; c < size[1]; c++) {
				double sum = 0;
				for (uint32_t e = 0; e < n_devices(p); e++) {
					bool same = true;
					for (uint32_t k = 0; k < p->n; k++)
						same = same &&
							(s->at[k].kind == SBP_PARTIAL ||
								coordinate(p, d, k) == coordinate(p, e, k));
					sum += same ? *at(&of[e], r, c) : 0;
				}
				if (sum != global_at(begin[0] + r, begin[1] + c))
					return false;
			}
	}
	return true;
}

static nd_sbp nth(uint32_t i, uint32_t n)
{
	static const sbp words[] = {
		{SBP_BROADCAST, 0}, {SBP_PARTIAL, 0}, {SBP_SPLIT, 0}, {SBP_SPLIT, 1}};
	nd_sbp s = {0};
	for (uint32_t k = 0; k < n; k++, i /= 4)
		s.at[k] = words[i % 4];
	return s;
}

START_TEST(every_boxing)
{
	static const sbp_placement placements[] = {
		{.n = 1, .sizes = {4}}, {.n = 2, .sizes = {2, 3}}, {.n = 3, .sizes = {3, 2, 2}}};
	static local of[MAX_DEVICES_HERE];
	uint32_t pairs = 0, most = 0;
	for (size_t i = 0; i < COUNT_OF(placements); i++) {
		const sbp_placement *p = &placements[i];
		uint32_t n = 1u << (2 * p->n);
		for (uint32_t a = 0; a < n; a++)
			for (uint32_t b = 0; b < n; b++) {
				nd_sbp from = nth(a, p->n), to = nth(b, p->n);
				boxing_step steps[MAX_BOXING];
				strbuf text;
				fill(p, &from, of);
				ck_assert(is_right(p, &from, of));
				uint32_t count = sbp_boxing(&from, &to, p, SIDE * SIDE * 4, steps);
				ck_assert((count == 0) == (a == b));
				for (uint32_t k = 0; k < count; k++) {
					ck_assert_int_eq(boxing_moves(steps[k].kind), steps[k].bytes > 0);
					carry_out(p, &steps[k], of);
				}
				strbuf_init(&text);
				nd_sbp_print(&from, p->n, &text);
				strbuf_puts(&text, " -> ");
				nd_sbp_print(&to, p->n, &text);
				ck_assert_msg(is_right(p, &to, of), "%s", text.p);
				strbuf_release(&text);
				most = MAX(most, count);
				pairs++;
			}
	}
	ck_assert_uint_eq(pairs, 16 + 256 + 4096);
	ck_assert_uint_le(most, MAX_BOXING);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("sbp");
	tcase_add_test(c, add_of_two_splits);
	tcase_add_test(c, split_and_broadcast_is_broadcast);
	tcase_add_test(c, oneflow_json);
	tcase_add_test(c, two_dimensions);
	tcase_add_test(c, nd_signatures);
	tcase_add_test(c, greedy_against_all);
	tcase_add_test(c, errors);
	tcase_add_test(c, constraints);
	tcase_add_test(c, open_shardings);
	tcase_add_test(c, sources);
	tcase_add_test(c, cache);
	tcase_add_test(c, signatures_from_rules);
	tcase_add_test(c, loops);
	tcase_add_test(c, shared_boxing);
	tcase_add_test(c, every_boxing);
	return run_suite(c, "sbp");
}
