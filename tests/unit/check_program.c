/* Compiling a module into the planning program. */
#include "tests/unit/program_fixture.h"

static const node *find(const program *p, uint16_t kind)
{
	for (node_id n = 0; n < p->nodes.n; n++)
		if (p->nodes.p[n].op_kind == kind && p->nodes.p[n].kind != NODE_RESULT)
			return &p->nodes.p[n];
	ck_abort_msg("no node of kind %u", kind);
	return NULL;
}

static const char *loop_text(
	strbuf *out, const char *from, const char *limit, const char *step, const char *word)
{
	strbuf_clear(out);
	strbuf_printf(out,
		"module {\nsdy.mesh @mesh = <[\"a\"=2]>\n"
		"func.func @main(%%x: tensor<8xf32>, %%n: tensor<i32>) -> tensor<8xf32> {\n"
		"  %%c = stablehlo.constant dense<%s> : tensor<i32>\n"
		"  %%w:2 = stablehlo.while(%%i = %%c, %%a = %%x) : tensor<i32>, tensor<8xf32>\n"
		"   cond {\n"
		"    %%l = stablehlo.constant dense<%s> : tensor<i32>\n"
		"    %%p = stablehlo.compare %s, %%i, %%l : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
		"    stablehlo.return %%p : tensor<i1>\n"
		"  } do {\n"
		"    %%s = stablehlo.constant dense<%s> : tensor<i32>\n"
		"    %%j = stablehlo.add %%i, %%s : tensor<i32>\n"
		"    %%b = stablehlo.tanh %%a : tensor<8xf32>\n"
		"    stablehlo.return %%j, %%b : tensor<i32>, tensor<8xf32>\n"
		"  }\n"
		"  %%e = sdy.data_flow_edge %%w#1 : tensor<8xf32>\n"
		"  return %%e : tensor<8xf32>\n}\n}\n",
		from, limit, word, step);
	return out->p;
}

START_TEST(trip_counts)
{
	static const struct {
		const char *from, *limit, *step, *word;
		int64_t trips; /* -1: unknown */
	} cases[] = {
		{"0", "32", "1", "LT", 32},
		{"0", "32", "5", "LT", 7},
		{"3", "3", "1", "LT", 0},
		{"0", "31", "1", "LE", 32},
		{"10", "0", "-1", "GT", 10},
		{"10", "0", "-3", "GE", 4},
		{"0", "10", "0", "LT", -1},
		{"0", "10", "1", "NE", 10},
		{"10", "0", "-2", "NE", 5},
		{"4", "4", "1", "NE", 0},
		{"0", "10", "3", "NE", -1},
		{"10", "0", "1", "NE", -1},
		{"0", "10", "0", "NE", -1},
		{"0", "10", "-1", "LT", -1},
	};
	strbuf text;
	strbuf_init(&text);
	for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
		planned x;
		planned_read(
			&x, loop_text(&text, cases[i].from, cases[i].limit, cases[i].step, cases[i].word));
		const node *n = find(x.p, OP_WHILE);
		ck_assert_int_eq(n->trips_known, cases[i].trips >= 0);
		ck_assert_int_eq(n->trips, cases[i].trips >= 0 ? cases[i].trips : 1);
		planned_release(&x);
	}
	strbuf_release(&text);
}
END_TEST

/* A loop that may end early, or begins at an argument, counts to the bound of its counter, or to
 * what is given; to no bound that is there to say that there is none. */
START_TEST(trip_bounds)
{
	static const struct {
		const char *start, *limit, *test;
		int64_t given, trips;
		bool bounded;
	} cases[] = {
		{"%c", "40", "%both", 0, 40, true},
		{"%c", "40", "%both", 7, 7, true},
		{"%c", "40", "%both", 90, 90, true},
		{"%n", "40", "%p", 0, 40, true},
		{"%c", "40", "%q", 0, 1, false},
		{"%c", "40", "%q", 7, 7, false},
		{"%c", "2000000000", "%both", 0, 1, false},
	};
	for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
		strbuf text = {0};
		strbuf_printf(&text,
			"module {\nfunc.func @main(%%x: tensor<f32>, %%n: tensor<i32>) -> tensor<f32> {\n"
			"  %%c = stablehlo.constant dense<0> : tensor<i32>\n"
			"  %%w:2 = stablehlo.while(%%i = %s, %%a = %%x) : tensor<i32>, tensor<f32>\n"
			"   cond {\n    %%l = stablehlo.constant dense<%s> : tensor<i32>\n"
			"    %%p = stablehlo.compare LT, %%i, %%l : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
			"    %%q = stablehlo.compare LT, %%a, %%a : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
			"    %%both = stablehlo.and %%q, %%p : tensor<i1>\n"
			"    stablehlo.return %s : tensor<i1>\n   } do {\n"
			"    %%s = stablehlo.constant dense<1> : tensor<i32>\n"
			"    %%j = stablehlo.add %%i, %%s : tensor<i32>\n"
			"    %%b = stablehlo.tanh %%a : tensor<f32>\n"
			"    stablehlo.return %%j, %%b : tensor<i32>, tensor<f32>\n   }\n"
			"  return %%w#1 : tensor<f32>\n}\n}\n",
			cases[i].start, cases[i].limit, cases[i].test);
		planned x;
		planned_read(&x, text.p);
		program *p;
		diag d = {0};
		x.m->trip_count = cases[i].given;
		ck_assert_int_eq(program_new(x.m, &x.rules, READ_AS_XLA, &p, &d), ST_OK);
		const node *n = find(p, OP_WHILE);
		ck_assert(!n->trips_known);
		ck_assert_int_eq(n->trips, cases[i].trips);
		ck_assert_int_eq(n->trips_bounded, cases[i].bounded);
		program_free(p);
		planned_release(&x);
		strbuf_release(&text);
	}
}
END_TEST

/* An inner loop that starts and ends with numbers that the outer one carries along, one of them
 * computed. */
static const char carried[] =
	"module {\n"
	"func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {\n"
	"  %c0 = stablehlo.constant dense<0> : tensor<i32>\n  %c3 = stablehlo.constant dense<3> : "
	"tensor<i32>\n"
	"  %c2 = stablehlo.constant dense<2> : tensor<i32>\n  %six = stablehlo.multiply %c3, %c2 : "
	"tensor<i32>\n"
	"  %w:4 = stablehlo.while(%i = %c0, %a = %x, %lo = %c0, %hi = %six) : tensor<i32>, "
	"tensor<8xf32>, tensor<i32>, tensor<i32>\n"
	"   cond {\n    %p = stablehlo.compare LT, %i, %START : (tensor<i32>, tensor<i32>) -> "
	"tensor<i1>\n    stablehlo.return %p : tensor<i1>\n  } do {\n"
	"    %v:2 = stablehlo.while(%k = %lo, %b = %a) : tensor<i32>, tensor<8xf32>\n"
	"     cond {\n      %q = stablehlo.compare LT, %k, %hi : (tensor<i32>, tensor<i32>) -> "
	"tensor<i1>\n      stablehlo.return %q : tensor<i1>\n    } do {\n"
	"      %d = stablehlo.tanh %b : tensor<8xf32>\n      %one = stablehlo.constant dense<1> : "
	"tensor<i32>\n      %l = stablehlo.add %one, %k : tensor<i32>\n"
	"      stablehlo.return %l, %d : tensor<i32>, tensor<8xf32>\n    }\n"
	"    %st = stablehlo.constant dense<1> : tensor<i32>\n    %j = stablehlo.add %i, %st : "
	"tensor<i32>\n"
	"    stablehlo.return %j, %v#1, %lo, %BACK : tensor<i32>, tensor<8xf32>, tensor<i32>, "
	"tensor<i32>\n  }\n"
	"  return %w#1 : tensor<8xf32>\n}\n}\n";

static void carried_trips(
	const char *start, const char *back, int64_t given, int64_t outer, int64_t inner)
{
	strbuf text = {0};
	const char *s = strstr(carried, "START"), *b = strstr(carried, "BACK");
	strbuf_printf(&text, "%.*s%s%.*s%s%s", (int)(s - carried), carried, start, (int)(b - s - 5),
		s + 5, back, b + 4);
	planned x;
	planned_read(&x, text.p);
	program *p;
	diag d = {0};
	x.m->trip_count = given;
	ck_assert_int_eq(program_new(x.m, &x.rules, READ_AS_XLA, &p, &d), ST_OK);
	int64_t want[] = {outer, inner};
	uint32_t k = 0;
	for (node_id i = 0; i < p->nodes.n; i++)
		if (p->nodes.p[i].op_kind == OP_WHILE) {
			int64_t expected = want[k++];
			ck_assert_int_eq(p->nodes.p[i].trips, expected ? expected : MAX(given, 1));
			ck_assert_int_eq(p->nodes.p[i].trips_known, expected != 0);
		}
	ck_assert_uint_eq(k, 2);
	program_free(p);
	planned_release(&x);
	strbuf_release(&text);
}

START_TEST(carried_trip_counts)
{
	carried_trips("c3", "hi", 0, 3, 6);
	carried_trips("n", "hi", 0, 0, 6); /* an argument of main */
	carried_trips("n", "hi", 40, 0, 6);
	carried_trips("c3", "i", 0, 3, 0); /* another end every time */
	carried_trips("c3", "i", 7, 3, 0);
}
END_TEST

/* XLA takes a broadcast that only adds dims of one element for a reshape: rows come through it
 * before the columns of %b come through the contraction. As Shardy's passes take it they come last.
 */
START_TEST(broadcasts_without_new_elements)
{
	static const char text[] = "module {\nsdy.mesh @mesh = <[\"a\"=2]>\n"
							   "func.func @main(%x: tensor<16x4xf32> {sdy.sharding = "
							   "#sdy.sharding<@mesh, [{\"a\"}, {}]>},\n"
							   "                %b: tensor<4x8xf32> {sdy.sharding = "
							   "#sdy.sharding<@mesh, [{}, {\"a\"}]>}) -> tensor<16x1x8xf32> {\n"
							   "  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : "
							   "(tensor<16x4xf32>) -> tensor<16x1x4xf32>\n"
							   "  %1 = stablehlo.dot_general %0, %b, contracting_dims = [2] x [0] "
							   ": (tensor<16x1x4xf32>, tensor<4x8xf32>) -> tensor<16x1x8xf32>\n"
							   "  return %1 : tensor<16x1x8xf32>\n}\n}\n";
	static const propagate_options rounds = {.strategy = STRATEGY_AGGRESSIVE, .op_priority = true};
	for (int xla = 0; xla < 2; xla++) {
		planned x;
		planned_read_as(&x, text, xla ? READ_AS_XLA : READ_AS_WRITTEN);
		ck_assert_int_eq(find(x.p, OP_BROADCAST_IN_DIM)->pass_through_op, xla);
		propagation *s = propagation_new(x.p, x.m->shardings, &rounds);
		propagation_run(s);
		const node *dot = find(x.p, OP_DOT_GENERAL);
		const sharding *got =
			sharding_get(x.m->shardings, propagation_shardings(s)[node_slots(x.p, dot)[2]]);
		ck_assert_uint_eq(sharding_dim(got, 0).n, xla ? 1 : 0);
		ck_assert_uint_eq(sharding_dim(got, 2).n, xla ? 0 : 1);
		propagation_free(s);
		planned_release(&x);
	}
}
END_TEST

/* Both operands offer "a" for a free dim. A contraction that only a transpose reads, which swaps
 * them, takes the second one's where XLA simplifies before it propagates. */
#define PLAIN "8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"a\"}]>}"
#define BATCHED "2x8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {\"a\"}]>}"
#define CONTRACTION(operand, result, dims, from, to, then, returned) \
	"module {\nsdy.mesh @mesh = <[\"a\"=2]>\nfunc.func @main(%x: tensor<" operand \
	", %y: tensor<" operand ") -> " returned " {\n  %0 = stablehlo.dot_general %x, %y, " dims \
	" : (tensor<" from ">, tensor<" from ">) -> tensor<" result \
	">\n  %1 = stablehlo.transpose %0, dims = " to " : (tensor<" result ">) -> tensor<" result \
	">\n" then "}\n}\n"
#define ONE(type) "  return %1 : tensor<" type ">\n", "tensor<" type ">"
#define BOTH(type) \
	"  return %0, %1 : tensor<" type ">, tensor<" type ">\n", "(tensor<" type ">, tensor<" type ">)"
#define OF_MATRICES(to, then) \
	EXPAND(PLAIN, "4x4xf32", "contracting_dims = [0] x [0]", "8x4xf32", to, then)
#define OF_BATCHES(to, then) \
	EXPAND(BATCHED, "2x4x4xf32", "batching_dims = [0] x [0], contracting_dims = [1] x [1]", \
		"2x8x4xf32", to, then)
#define EXPAND(...) CONTRACTION(__VA_ARGS__)
static const struct {
	const char *text;
	uint32_t first; /* free dim of the result */
	bool swapped;
} contractions[] = {
	{OF_MATRICES("[1, 0]", ONE("4x4xf32")), 0, true},
	{OF_MATRICES("[0, 1]", ONE("4x4xf32")), 0, false},
	{OF_MATRICES("[1, 0]", BOTH("4x4xf32")), 0, false},
	{OF_BATCHES("[0, 2, 1]", ONE("2x4x4xf32")), 1, true},
	{OF_BATCHES("[0, 1, 2]", ONE("2x4x4xf32")), 1, false},
	{OF_BATCHES("[0, 2, 1]", BOTH("2x4x4xf32")), 1, false},
};

START_TEST(swapped_contractions)
{
	static const propagate_options rounds = {.strategy = STRATEGY_AGGRESSIVE, .op_priority = true};
	uint32_t first = contractions[_i].first;
	for (program_reading how = READ_AS_XLA; how <= READ_SIMPLIFIED; how++) {
		planned x;
		planned_read_as(&x, contractions[_i].text, how);
		propagation *s = propagation_new(x.p, x.m->shardings, &rounds);
		propagation_run(s);
		const node *dot = find(x.p, OP_DOT_GENERAL);
		const sharding *got =
			sharding_get(x.m->shardings, propagation_shardings(s)[node_slots(x.p, dot)[2]]);
		bool swapped = how == READ_SIMPLIFIED && contractions[_i].swapped;
		ck_assert_uint_eq(sharding_dim(got, first).n, !swapped);
		ck_assert_uint_eq(sharding_dim(got, first + 1).n, swapped);
		propagation_free(s);
		planned_release(&x);
	}
}
END_TEST

START_TEST(edges_share_a_pval)
{
	strbuf text;
	strbuf_init(&text);
	planned x;
	planned_read(&x, loop_text(&text, "0", "4", "1", "LT"));
	const program *p = x.p;
	const node *loop = find(p, OP_WHILE), *edge = find(p, OP_SDY_DATA_FLOW_EDGE),
			   *tanh = find(p, OP_TANH);
	ck_assert_int_eq(loop->kind, NODE_REGION);
	ck_assert_int_eq(edge->kind, NODE_EDGE);
	ck_assert_uint_eq(edge->n_operands, 2); /* operand and what the body returns */
	pval_id e = node_slots(p, edge)[2];
	ck_assert_uint_eq(node_slots(p, edge)[0], p->args.p[0]);
	ck_assert_uint_eq(node_slots(p, edge)[1], node_slots(p, tanh)[1]);
	ck_assert_uint_eq(node_slots(p, tanh)[0], e);
	ck_assert_uint_eq(node_slots(p, loop)[3], e); /* second result */
	ck_assert_uint_eq(p->returned.p[0], e);
	ck_assert_uint_eq(tanh->parent, (node_id)(loop - p->nodes.p));
	ck_assert_uint_eq(tanh->region, 1);
	ck_assert_uint_gt(loop->end, (node_id)(tanh - p->nodes.p));
	ck_assert(edge->operands_single_use && edge->pass_through_op);
	/* Sharding the argument reaches the body, the result and main's result. */
	propagation *s = propagation_new(p, x.m->shardings,
		&(propagate_options){.strategy = STRATEGY_AGGRESSIVE, .op_priority = true});
	propagation_set(s, p->args.p[0], planned_sharding(&x, "[{\"a\"}]"));
	propagation_settle(s);
	ck_assert_uint_eq(propagation_shardings(s)[e], planned_sharding(&x, "[{\"a\", ?}]"));
	ck_assert_uint_eq(
		propagation_shardings(s)[p->results.p[0]], planned_sharding(&x, "[{\"a\", ?}]"));
	propagation_free(s);
	planned_release(&x);
	strbuf_release(&text);
}
END_TEST

START_TEST(dead_ops)
{
	planned x;
	planned_read(&x,
		"module {\nsdy.mesh @mesh = <[\"a\"=2]>\n"
		"func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"a\"}]>}) -> "
		"tensor<8xf32> {\n"
		"  %0 = stablehlo.tanh %x : tensor<8xf32>\n"
		"  %1 = stablehlo.negate %x : tensor<8xf32>\n"
		"  %2 = stablehlo.abs %1 : tensor<8xf32>\n"
		"  return %0 : tensor<8xf32>\n}\n}\n");
	ck_assert(find(x.p, OP_NEGATE)->dead && find(x.p, OP_ABS)->dead && !find(x.p, OP_TANH)->dead);
	ck_assert(find(x.p, OP_TANH)->operands_single_use);
	propagation *s =
		propagation_new(x.p, x.m->shardings, &(propagate_options){.strategy = STRATEGY_AGGRESSIVE});
	propagation_run(s);
	program_store(x.p, s, x.m);
	strbuf out;
	strbuf_init(&out);
	module_print(x.m, &(print_options){0}, &out);
	ck_assert_ptr_null(strstr(out.p, "negate"));
	ck_assert_ptr_null(strstr(out.p, "abs"));
	ck_assert_ptr_nonnull(
		strstr(out.p, "tanh %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{\"a\", ?}]>]>}"));
	ck_assert_ptr_nonnull(
		strstr(out.p, "-> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"a\", ?}]>})"));
	strbuf_release(&out);
	propagation_free(s);
	planned_release(&x);
}
END_TEST

START_TEST(links_are_sound)
{
	rng r;
	rng_seed(&r, 3, (uint64_t)_i);
	strbuf text;
	strbuf_init(&text);
	random_text(&r, 50, &text);
	planned x;
	planned_read(&x, text.p);
	const program *p = x.p;
	for (pval_id v = 0; v < p->vals.n; v++) {
		for (uint32_t u = 0; u < p->vals.p[v].n_uses; u++)
			ck_assert_uint_eq(p->slots.p[p->uses.p[p->vals.p[v].uses + u]], v);
		ck_assert_uint_le(p->vals.p[v].n_notify, p->vals.p[v].n_touch);
	}
	for (node_id n = 0; n < p->nodes.n; n++)
		for (uint32_t k = 0; k < (uint32_t)p->nodes.p[n].n_operands + p->nodes.p[n].n_results;
			 k++) {
			ck_assert_uint_eq(p->slot_node.p[p->nodes.p[n].slots + k], n);
			/* every node that may act on a value hears of its changes */
			const pval *v = &p->vals.p[node_slots(p, &p->nodes.p[n])[k]];
			bool found = p->nodes.p[n].rule == RULE_NONE;
			for (uint32_t i = v->notify; i < v->notify + v->n_touch; i++)
				found |= p->notify.p[i] == n;
			ck_assert(found);
		}
	planned_release(&x);
	strbuf_release(&text);
}
END_TEST

START_TEST(refused)
{
	module *m;
	diag d = {0};
	rule_table rules;
	program *p;
	const char *text = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n  %0 = "
					   "stablehlo.tanh %x : tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n";
	ck_assert_int_eq(module_read(text, strlen(text), "t", NULL, &m, &d), ST_OK);
	rule_table_init(&rules);
	ck_assert_int_eq(program_new(m, &rules, READ_AS_WRITTEN, &p, &d), ST_ERR_UNSUPPORTED);
	ck_assert_ptr_null(p);
	ck_assert_ptr_nonnull(strstr(d.msg, "static shape"));
	rule_table_release(&rules);
	module_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("program");
	tcase_add_test(tc, trip_counts);
	tcase_add_test(tc, trip_bounds);
	tcase_add_test(tc, carried_trip_counts);
	tcase_add_test(tc, broadcasts_without_new_elements);
	tcase_add_loop_test(tc, swapped_contractions, 0, (int)COUNT_OF(contractions));
	tcase_add_test(tc, edges_share_a_pval);
	tcase_add_test(tc, dead_ops);
	tcase_add_loop_test(tc, links_are_sound, 0, 4);
	tcase_add_test(tc, refused);
	return run_suite(tc, "program");
}
