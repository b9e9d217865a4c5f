/* Explanations: every axis has one origin that ends at an annotation, losses have a reason, and
 * sentences on small programs whose answers are known. */
#include "tests/unit/program_fixture.h"

/* ---------------------------------------------------------------- properties on random programs */

static const char *const annotations[] = {
	"[{\"a\"}, {}]",
	"[{}, {\"a\"}]",
	"[{\"b\", ?}, {?}]",
	"[{?}, {\"b\":(1)2, ?}]",
	"[{\"a\", \"c\", ?}, {\"b\", ?}]",
	"[{?}, {\"c\"}p1]",
	"[{?}, {?}], replicated={\"a\"}",
	"[{\"b\":(2)2, ?}, {\"a\", ?}p2]",
	"[{\"a\"}p1, {\"b\"}p2]",
	"[{\"c\", ?}p1, {?}]",
	"[{\"b\":(1)2, ?}p1, {\"b\":(2)2, ?}]",
};

static void annotate(planned *x, propagation *s, rng *r)
{
	for (uint32_t n = 2 + rng_below(r, 6); n--;) {
		pval_id v;
		do
			v = rng_below(r, 2) ? x->p->args.p[rng_below(r, x->p->args.n)]
								: rng_below(r, x->p->vals.n);
		while (pval_type(x->p, v)->rank != 2);
		propagation_set(
			s, v, planned_sharding(x, annotations[rng_below(r, COUNT_OF(annotations))]));
	}
}

/* The live origins of one dim cover this axis from its first part to its last, none twice. Returns
 * how many they are. */
static uint32_t covered(const origin_table *o, pval_id v, uint32_t d, axis_ref a)
{
	uint32_t n = 0;
	int64_t parts = 1;
	for (uint32_t i = o->newest[v]; i != ID_NONE; i = o->list.p[i].next) {
		const axis_origin *x = &o->list.p[i];
		if (!x->alive || x->dim != d || !axis_overlaps(x->axis, a))
			continue;
		ck_assert(axis_contains(a, x->axis));
		for (uint32_t k = x->next; k != ID_NONE; k = o->list.p[k].next)
			ck_assert(!o->list.p[k].alive || o->list.p[k].dim != d ||
				!axis_overlaps(o->list.p[k].axis, x->axis));
		parts *= axis_size(x->axis);
		n++;
	}
	ck_assert_int_eq(parts, axis_size(a));
	return n;
}

/* Following parents ends at something the user wrote, and that has the axis. */
static void ends_at_annotation(
	const planned *x, const change_log *log, const origin_table *o, uint32_t i)
{
	axis_ref part = o->list.p[i].axis;
	for (; o->list.p[i].parent != ID_NONE; i = o->list.p[i].parent) {
		ck_assert_uint_lt(o->list.p[i].parent, i);
		ck_assert(axis_contains(o->list.p[i].axis, part));
	}
	const axis_origin *end = &o->list.p[i];
	ck_assert(end->change == ID_NONE || log->list.p[end->change].cause == CAUSE_RESTORE);
	const sharding *start = sharding_get(x->m->shardings, log->start.p[end->v]);
	bool has = false;
	for (uint32_t k = 0; k < start->dims[end->dim].n; k++)
		has |= axis_contains(sharding_dim(start, end->dim).a[k], part);
	ck_assert(log->start.p[end->v] != SHARDING_NONE && has && !end->manual);
}

/* Of two updates of one value in one step the later one holds, and the op does not see that it
 * changed. */
static bool reads_twice(const program *p, node_id n)
{
	const pval_id *slots = node_slots(p, &p->nodes.p[n]);
	for (uint32_t i = 1; i < p->nodes.p[n].n_operands; i++)
		for (uint32_t k = 0; k < i; k++)
			if (slots[i] == slots[k])
				return true;
	return false;
}

START_TEST(every_axis_has_one_origin)
{
	rng r;
	rng_seed(&r, 17, (uint64_t)_i);
	strbuf text;
	strbuf_init(&text);
	random_text(&r, 5 + rng_below(&r, 60), &text);
	planned x;
	planned_read(&x, text.p);
	propagate_options o = {
		.strategy = (strategy_kind)(_i % 3), .op_priority = _i & 1, .user_priority = _i % 5 != 0};
	propagation *s = propagation_new(x.p, x.m->shardings, &o);
	change_log log = {0};
	origin_table origins;
	loss_list losses = {0};
	annotate(&x, s, &r);
	propagation_run_logged(s, &log);
	origins_find(x.p, x.m->shardings, &log, &origins);
	for (pval_id v = 0; v < x.p->vals.n; v++) {
		sharding_id sh = propagation_shardings(s)[v];
		uint32_t alive = 0, seen = 0;
		for (uint32_t i = origins.newest[v]; i != ID_NONE; i = origins.list.p[i].next) {
			alive += origins.list.p[i].alive;
			if (origins.list.p[i].alive)
				ends_at_annotation(&x, &log, &origins, i);
		}
		for (uint32_t d = 0; sh && d < sharding_get(x.m->shardings, sh)->rank; d++)
			for (uint32_t i = 0; i < sharding_dim(sharding_get(x.m->shardings, sh), d).n; i++)
				seen +=
					covered(&origins, v, d, sharding_dim(sharding_get(x.m->shardings, sh), d).a[i]);
		ck_assert_uint_eq(alive, seen);
		losses_find(x.p, x.m->shardings, &o, propagation_shardings(s), v, &losses);
		for (uint32_t i = 0; i < losses.n; i++)
			ck_assert_msg(losses.p[i].reason != LOSS_NO_STEP || reads_twice(x.p, losses.p[i].node),
				"value %u, node %u\n%s", v, losses.p[i].node, text.p);
	}
	vec_release(&losses);
	origins_release(&origins);
	change_log_release(&log);
	propagation_free(s);
	planned_release(&x);
	strbuf_release(&text);
}
END_TEST

/* Recording changes nothing, and stops when told to. */
START_TEST(recording_is_silent)
{
	rng r;
	rng_seed(&r, 19, (uint64_t)_i);
	strbuf text;
	strbuf_init(&text);
	random_text(&r, 40, &text);
	planned x;
	planned_read(&x, text.p);
	propagate_options o = {.op_priority = true, .user_priority = true};
	propagation *s = propagation_new(x.p, x.m->shardings, &o),
				*other = propagation_new(x.p, x.m->shardings, &o);
	change_log log = {0};
	rng copy = r;
	annotate(&x, s, &r);
	annotate(&x, other, &copy);
	propagation_run_logged(s, &log);
	propagation_run(other);
	ck_assert_uint_eq(state_hash(&x, s), state_hash(&x, other));
	uint32_t n = log.list.n;
	annotate(&x, s, &r);
	propagation_settle(s);
	ck_assert_uint_eq(log.list.n, n);
	change_log_release(&log);
	propagation_free(s);
	propagation_free(other);
	planned_release(&x);
	strbuf_release(&text);
}
END_TEST

/* ---------------------------------------------------------------- sentences */

static void tells(const char *passes, const char *body, const char *const *selectors, uint32_t n,
	const char *expected)
{
	diag d = {0};
	module *m;
	explanation *e;
	strbuf text, page;
	strbuf_init(&text);
	strbuf_init(&page);
	strbuf_printf(&text, "module {\nsdy.mesh @mesh = <[\"a\"=2, \"b\"=4]>\n%s}\n", body);
	ck_assert_msg(module_read(text.p, text.n, "test.mlir", NULL, &m, &d) == ST_OK, "%u:%u: %s\n%s",
		d.line, d.col, d.msg, text.p);
	ck_assert_msg(explanation_new(m, selectors, n, 20, &e, &d) == ST_OK, "%s", d.msg);
	ck_assert_msg(passes_run(m, passes, &d) == ST_OK, "%s", d.msg);
	explanation_print(e, m, &page);
	ck_assert_msg(!strcmp(page.p, expected), "%s\nnot\n%s", page.p, expected);
	explanation_free(m, e);
	module_free(m);
	strbuf_release(&text);
	strbuf_release(&page);
}

#define TELLS(passes, body, expected, ...) \
	tells(passes, body, (const char *const[]){__VA_ARGS__}, \
		COUNT_OF(((const char *const[]){__VA_ARGS__})), expected)

START_TEST(path_to_the_annotation)
{
	TELLS("sdy-propagation-pipeline",
		"func.func @main(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"a\"}, "
		"{}]>} loc(\"batch['x']\"),\n"
		"  %w1: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"b\"}p1]>}, %w2: "
		"tensor<256x64xf32>) -> tensor<16x64xf32> {\n"
		"  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<16x64xf32>, "
		"tensor<64x256xf32>) -> tensor<16x256xf32> loc(\"m.py\":4:2)\n"
		"  %1 = stablehlo.tanh %0 : tensor<16x256xf32>\n"
		"  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<16x256xf32>, "
		"tensor<256x64xf32>) -> tensor<16x64xf32>\n"
		"  return %2 : tensor<16x64xf32>\n}\n",
		"%w2, tensor<256x64xf32>: none -> <@mesh, [{\"b\", ?}, {?}]>\n"
		"  %w2 dim 0 got \"b\" from the other operand %1 of stablehlo.dot_general at line 7, "
		"factor k, sideways, user priority 1, op priority 3\n"
		"    %1 dim 1 got \"b\" from operand %0 of stablehlo.tanh at line 6, factor j, forward, "
		"user priority 1, op priority 2\n"
		"    %0 dim 1 got \"b\" from operand %w1 of stablehlo.dot_general at m.py:4:2, factor j, "
		"forward, user priority 1, op priority 2\n"
		"    %w1 dim 1 has \"b\" from its own annotation in the module, with user priority 1\n\n"
		"%2, stablehlo.dot_general at line 7, tensor<16x64xf32>: none -> <@mesh, [{\"a\", ?}, "
		"{?}]>\n"
		"  %2 dim 0 got \"a\" from operand %1 of this op, factor i, forward, user priority 0, op "
		"priority 2\n"
		"    %1 dim 0 got \"a\" from operand %0 of stablehlo.tanh at line 6, factor i, forward, "
		"user priority 0, op priority 2\n"
		"    %0 dim 0 got \"a\" from operand %x (batch['x']) of stablehlo.dot_general at m.py:4:2, "
		"factor i, forward, user priority 0, op priority 2\n"
		"    %x (batch['x']) dim 0 has \"a\" from its own annotation in the module\n\n"
		"2 of 2 values that were asked for\n",
		"%2", "w2");
}
END_TEST

START_TEST(conflict_between_factors)
{
	const char *body = "func.func @main(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, "
					   "[{\"a\"}, {}]>},\n"
					   "  %w: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, "
					   "{\"a\"}]>}) -> tensor<16x8xf32> {\n"
					   "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : "
					   "(tensor<16x64xf32>, tensor<64x8xf32>) -> tensor<16x8xf32>\n"
					   "  return %0 : tensor<16x8xf32>\n}\n";
	TELLS("sdy-aggressive-propagate", body,
		"%0, stablehlo.dot_general at line 5, tensor<16x8xf32>: none -> <@mesh, [{\"a\", ?}, "
		"{?}]>\n"
		"  %0 dim 0 got \"a\" from operand %x of this op, factor i, forward\n"
		"    %x dim 0 has \"a\" from its own annotation in the module\n"
		"  dim 1 did not take \"a\" from operand %w of this op, factor j: lost it to dim 0, factor "
		"i, which has \"a\" from operand %x\n\n"
		"1 of 1 values that were asked for\n",
		"%0");
	TELLS("sdy-basic-propagate", body,
		"%0, stablehlo.dot_general at line 5, tensor<16x8xf32>: none -> none\n"
		"  dim 0 did not take \"a\" from operand %x of this op, factor i: the basic strategy lets "
		"nothing through that another tensor of the op "
		"cannot take: operand %w dim 1, factor j, has \"a\" from an annotation\n"
		"  dim 1 did not take \"a\" from operand %w of this op, factor j: the basic strategy lets "
		"nothing through that another tensor of the op "
		"cannot take: operand %x dim 0, factor i, has \"a\" from an annotation\n\n"
		"1 of 1 values that were asked for\n",
		"%0");
}
END_TEST

START_TEST(closed_replicated_and_order)
{
	TELLS("sdy-aggressive-propagate",
		"func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"a\"}, "
		"{\"b\"}]>},\n"
		"  %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}], "
		"replicated={\"b\"}>},\n"
		"  %z: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"b\", ?}, {?}]>}) -> "
		"tensor<8x8xf32> {\n"
		"  %0 = stablehlo.add %x, %y : tensor<8x8xf32>\n"
		"  %1 = stablehlo.add %x, %z : tensor<8x8xf32>\n"
		"  %2 = stablehlo.add %0, %1 : tensor<8x8xf32>\n"
		"  return %2 : tensor<8x8xf32>\n}\n",
		"%y, tensor<8x8xf32>: <@mesh, [{}, {?}], replicated={\"b\"}> -> <@mesh, [{}, {?}], "
		"replicated={\"b\"}>\n"
		"  dim 0 did not take \"a\" from the other operand %x of stablehlo.add at line 6, factor "
		"i: the dim is closed\n"
		"  dim 1 did not take \"b\" from the other operand %x of stablehlo.add at line 6, factor "
		"j: it is explicitly replicated over the axis\n\n"
		"%z, tensor<8x8xf32>: <@mesh, [{\"b\", ?}, {?}]> -> <@mesh, [{\"b\", ?}, {?}]>\n"
		"  %z dim 0 has \"b\" from its own annotation in the module\n"
		"  dim 0 did not take \"a\" from the other operand %x of stablehlo.add at line 7, factor "
		"i: lost to \"b\", which dim 0, factor i, has in its "
		"place from an annotation\n"
		"  dim 1 did not take \"b\" from the other operand %x of stablehlo.add at line 7, factor "
		"j: lost it to dim 0, factor i, which has \"b\" from an "
		"annotation\n\n"
		"2 of 2 values that were asked for\n",
		"y", "z");
}
END_TEST

START_TEST(groups_barriers_constraints)
{
	TELLS("sdy-propagation-pipeline",
		"func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) "
		"{\n"
		"  sdy.sharding_group %x group_id=0 : tensor<8xf32>\n"
		"  %0 = stablehlo.tanh %x : tensor<8xf32>\n"
		"  %1 = stablehlo.tanh %y : tensor<8xf32>\n"
		"  sdy.sharding_group %1 group_id=0 : tensor<8xf32>\n"
		"  %2 = sdy.propagation_barrier %1 allowed_direction=BACKWARD : tensor<8xf32>\n"
		"  %3 = sdy.sharding_constraint %0 <@mesh, [{\"a\"}]> : tensor<8xf32>\n"
		"  return %3, %2 : tensor<8xf32>, tensor<8xf32>\n}\n",
		"%1, stablehlo.tanh at line 6, tensor<8xf32>: none -> <@mesh, [{\"a\", ?}]>\n"
		"  %1 dim 0 got \"a\" from %x: both are in one sharding group\n"
		"    %x dim 0 got \"a\" from result %0 of stablehlo.tanh at line 5, factor i, backward, "
		"user priority 0, op priority 1\n"
		"    %0 dim 0 has \"a\" before propagation, from the sharding_constraint on it at line "
		"9\n\n"
		"%2, sdy.propagation_barrier at line 8, tensor<8xf32>: none -> none\n"
		"  dim 0 did not take \"a\" from operand %1 of this op, factor i: the op lets nothing "
		"through in this direction\n\n"
		"2 of 2 values that were asked for\n",
		"%1", "%2");
}
END_TEST

START_TEST(loops_and_manual_computations)
{
	TELLS("sdy-propagation-pipeline",
		"func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"a\"}]>}) -> "
		"tensor<8xf32> {\n"
		"  %c = stablehlo.constant dense<0> : tensor<i32>\n"
		"  %0:2 = stablehlo.while(%i = %x, %k = %c) : tensor<8xf32>, tensor<i32>\n"
		"  cond {\n"
		"    %p = stablehlo.compare LT, %k, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
		"    stablehlo.return %p : tensor<i1>\n"
		"  } do {\n"
		"    %t = stablehlo.tanh %i : tensor<8xf32>\n"
		"    stablehlo.return %t, %k : tensor<8xf32>, tensor<i32>\n"
		"  }\n"
		"  %1 = stablehlo.tanh %0#0 : tensor<8xf32>\n"
		"  return %1 : tensor<8xf32>\n}\n",
		"%0#0, stablehlo.while at line 5, tensor<8xf32>: none -> <@mesh, [{\"a\", ?}]>\n"
		"  %0#0 dim 0 got \"a\" from %x through the data flow of stablehlo.while at line 5, factor "
		"i, forward, user priority 0, op priority 0\n"
		"    %x dim 0 has \"a\" from its own annotation in the module\n\n"
		"%t, stablehlo.tanh at line 10, tensor<8xf32>: none -> <@mesh, [{\"a\", ?}]>\n"
		"  %t dim 0 got \"a\" from %x through the data flow of stablehlo.while at line 5, factor "
		"i, sideways, user priority 0, op priority 0\n"
		"    %x dim 0 has \"a\" from its own annotation in the module\n\n"
		"2 of 2 values that were asked for\n",
		"%t", "%i");
	TELLS("sdy-propagation-pipeline",
		"func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
		"  %0 = stablehlo.tanh %x : tensor<8xf32>\n"
		"  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{\"a\", ?}]>] "
		"out_shardings=[<@mesh, [{\"a\", ?}]>] manual_axes={\"a\"} (%m: tensor<4xf32>) {\n"
		"    %2 = stablehlo.tanh %m : tensor<4xf32>\n"
		"    sdy.return %2 : tensor<4xf32>\n"
		"  } : (tensor<8xf32>) -> tensor<8xf32>\n"
		"  return %1 : tensor<8xf32>\n}\n",
		"%x, tensor<8xf32>: none -> <@mesh, [{\"a\", ?}]>\n"
		"  %x dim 0 got \"a\" from result %0 of stablehlo.tanh at line 4, factor i, backward, user "
		"priority 0, op priority 0\n"
		"    %0 dim 0 got \"a\" from %m through the data flow of sdy.manual_computation at line 5, "
		"factor i, backward, user priority 0, op priority 0; "
		"it is one of the axes that the op is manual over\n\n"
		"1 of 1 values that were asked for\n",
		"x");
}
END_TEST

/* Layers that tell the same story are told once; conflicts come before the rest. */
START_TEST(stories)
{
	tells("sdy-aggressive-propagate",
		"func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"a\"}]>}) -> "
		"tensor<8xf32> {\n"
		"  %0 = stablehlo.tanh %x : tensor<8xf32> loc(\"m.py\":1:1)\n"
		"  %1 = stablehlo.tanh %0 : tensor<8xf32> loc(\"m.py\":1:1)\n"
		"  %2 = stablehlo.tanh %1 : tensor<8xf32> loc(\"m.py\":1:1)\n"
		"  %3 = stablehlo.negate %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{\"b\", "
		"?}]>]>} : tensor<8xf32> loc(\"m.py\":2:1)\n"
		"  return %3 : tensor<8xf32>\n}\n",
		NULL, 0,
		"%2, stablehlo.tanh at m.py:1:1, tensor<8xf32>: none -> <@mesh, [{\"a\", ?}]>\n"
		"  %2 dim 0 got \"a\" from operand %1 of this op, factor i, forward\n"
		"    %1 dim 0 got \"a\" from operand %0 of stablehlo.tanh at m.py:1:1, factor i, forward\n"
		"    %0 dim 0 got \"a\" from operand %x of stablehlo.tanh at m.py:1:1, factor i, forward\n"
		"    %x dim 0 has \"a\" from its own annotation in the module\n"
		"  dim 0 did not take \"b\" from result %3 of stablehlo.negate at m.py:2:1, factor i: lost "
		"to \"a\", which dim 0, factor i, has in its place "
		"from operand %1\n\n"
		"result 0, func.return at line 8, tensor<8xf32>: none -> <@mesh, [{\"b\", ?}]>\n"
		"  result 0 dim 0 got \"b\" from %3 through the function's return, factor i, forward\n"
		"    %3 dim 0 has \"b\" from its own annotation in the module\n\n"
		"%0, stablehlo.tanh at m.py:1:1, tensor<8xf32>: none -> <@mesh, [{\"a\", ?}]>\n"
		"  %0 dim 0 got \"a\" from operand %x of this op, factor i, forward\n"
		"    %x dim 0 has \"a\" from its own annotation in the module\n"
		"  (1 more like this)\n\n"
		"4 values changed, 3 of 3 stories told, conflicts first\n");
}
END_TEST

START_TEST(nobody_of_that_name)
{
	diag d = {0};
	module *m;
	explanation *e;
	const char *text = "module {\nfunc.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n  return "
					   "%x : tensor<8xf32>\n}\n}\n";
	static const char *const wrong[] = {"%7", "model.py:3", "params*"},
							 *const right[] = {"%x", "arg0", "x", "result0", "*"};
	ck_assert(module_read(text, strlen(text), "test.mlir", NULL, &m, &d) == ST_OK);
	for (uint32_t i = 0; i < COUNT_OF(wrong); i++) {
		diag_clear(&d);
		ck_assert_int_eq(explanation_new(m, &wrong[i], 1, 20, &e, &d), ST_ERR_NOT_FOUND);
		ck_assert(strstr(d.msg, wrong[i]) && !m->explanation);
	}
	for (uint32_t i = 0; i < COUNT_OF(right); i++) {
		ck_assert_int_eq(explanation_new(m, &right[i], 1, 20, &e, &d), ST_OK);
		explanation_free(m, e);
	}
	module_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("explain");
	tcase_add_loop_test(tc, every_axis_has_one_origin, 0, 400);
	tcase_add_loop_test(tc, recording_is_silent, 0, 10);
	tcase_add_test(tc, path_to_the_annotation);
	tcase_add_test(tc, conflict_between_factors);
	tcase_add_test(tc, closed_replicated_and_order);
	tcase_add_test(tc, groups_barriers_constraints);
	tcase_add_test(tc, loops_and_manual_computations);
	tcase_add_test(tc, stories);
	tcase_add_test(tc, nobody_of_that_name);
	return run_suite(tc, "explain");
}
