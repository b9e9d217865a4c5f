/* One op given by its rule and shardings as text, and a step on it, for the tests of factor
 * propagation. */
#ifndef FACTOR_FIXTURE_H
#define FACTOR_FIXTURE_H

#include <check.h>
#include <stdlib.h>

#include "propagate/propagate.h"
#include "tests/unit/run_suite.h"

typedef struct bench {
	sharding_table *t;
	mesh_id mesh;
	rule_table rules;
} bench;

static inline void bench_init(bench *b, const char *mesh_text)
{
	diag d = {0};
	b->t = sharding_table_new();
	ck_assert_msg(mesh_parse_flag(b->t, mesh_text, &b->mesh, &d) == ST_OK, "%s", d.msg);
	rule_table_init(&b->rules);
}

static inline void bench_release(bench *b)
{
	rule_table_release(&b->rules);
	sharding_table_unref(b->t);
}

/* `[{"a"}, {?}]` on the bench's mesh, "-" for none. */
static inline sharding_id bench_sharding(bench *b, const char *text)
{
	if (!strcmp(text, "-"))
		return SHARDING_NONE;
	diag d = {0};
	sharding_edit e;
	strbuf full;
	strbuf_init(&full);
	strbuf_printf(&full, "<@mesh, %s>", text);
	ck_assert_msg(
		sharding_parse(b->t, (str){full.p, full.n}, &e, &d) == ST_OK, "%s: %s", text, d.msg);
	strbuf_release(&full);
	return sharding_intern(b->t, &e);
}

static inline rule_id bench_rule(bench *b, const char *text)
{
	diag d = {0};
	rule_id r;
	ck_assert_msg(
		rule_parse(&b->rules, str_of(text), false, &r, &d) == ST_OK, "%s: %s", text, d.msg);
	return r;
}

typedef struct step_case {
	const char *rule;
	strategy_kind strategy;
	direction dir;
	bool pass_through_only, conservative, elementwise;
	const char *in[6], *out[6];
} step_case;

/* Takes the step and compares every tensor; a second step from there must change nothing. */
static inline void bench_step(bench *b, const step_case *c)
{
	program p = {.rules = &b->rules, .mesh = b->mesh};
	rule_id r = bench_rule(b, c->rule);
	const rule *of = rule_get(&b->rules, r);
	uint32_t n = (uint32_t)of->n_operands + of->n_results;
	node nd = {.rule = r,
		.kind = NODE_OP,
		.n_operands = of->n_operands,
		.n_results = of->n_results,
		.elementwise = c->elementwise};
	sharding_id in[6], out[6], again[6];
	bool differs = false;
	for (uint32_t i = 0; i < n; i++)
		in[i] = bench_sharding(b, c->in[i]);
	bool changed = transfer_step(
		&p, b->t, &nd, c->strategy, c->dir, c->pass_through_only, c->conservative, in, out);
	for (uint32_t i = 0; i < n; i++) {
		strbuf got;
		strbuf_init(&got);
		if (out[i] != SHARDING_NONE)
			sharding_print(b->t, out[i], &got);
		ck_assert_msg(out[i] == bench_sharding(b, c->out[i]), "%s: tensor %u is %s, not %s",
			c->rule, i, got.p ? got.p : "-", c->out[i]);
		strbuf_release(&got);
		differs |= in[i] != out[i];
	}
	ck_assert_int_eq(changed, differs);
	ck_assert(!transfer_step(
		&p, b->t, &nd, c->strategy, c->dir, c->pass_through_only, c->conservative, out, again));
}

#endif
