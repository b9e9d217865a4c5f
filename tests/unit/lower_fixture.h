/* Annotated programs, propagated and lowered. */
#ifndef LOWER_FIXTURE_H
#define LOWER_FIXTURE_H

#include <check.h>
#include <stdlib.h>

#include "lower/lower.h"
#include "tests/unit/run_suite.h"

typedef struct lowering {
	module *m;
	rule_table rules;
	program *p;
	propagation *s;
	lower_cache *cache;
	lowered *out;
} lowering;

/* text: functions; the mesh is put in front. */
static inline void lowering_read(lowering *x, const char *mesh_text, const char *text)
{
	diag d = {0};
	strbuf all;
	strbuf_init(&all);
	strbuf_printf(&all, "sdy.mesh @mesh = %s\n%s", mesh_text, text);
	*x = (lowering){0};
	ck_assert_msg(module_read(all.p, all.n, "test.mlir", NULL, &x->m, &d) == ST_OK, "%u:%u: %s\n%s",
		d.line, d.col, d.msg, all.p);
	strbuf_release(&all);
	ck_assert_msg(passes_import(x->m, false, &d) == ST_OK, "%s", d.msg);
	rule_table_init(&x->rules);
	ck_assert_msg(program_new(x->m, &x->rules, READ_AS_XLA, &x->p, &d) == ST_OK, "%s", d.msg);
	const propagate_options options = {
		.strategy = STRATEGY_AGGRESSIVE, .op_priority = true, .user_priority = true};
	x->s = propagation_new(x->p, x->m->shardings, &options);
	propagation_reset(x->s);
	propagation_run(x->s);
	x->cache = lower_cache_new(x->p, x->m->shardings);
	x->out = lowered_new(x->p, x->m->shardings);
}

static inline void lowering_release(lowering *x)
{
	lowered_free(x->out);
	lower_cache_free(x->cache);
	propagation_free(x->s);
	program_free(x->p);
	rule_table_release(&x->rules);
	module_free(x->m);
}

/* Every value is defined before it is read, counted right, and of the size its sharding says. */
static inline void check_structure(const lowering *x)
{
	const lowered *l = x->out;
	uint32_t *uses = calloc(l->vals.n + 1, sizeof *uses), depth = 0;
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		for (uint32_t k = 0; k < o->n_operands; k++) {
			lval_id v = l->operands.p[o->operands + k];
			ck_assert_uint_lt(v, l->vals.n);
			ck_assert_uint_lt(l->vals.p[v].def, i);
			uses[v]++;
		}
		for (lval_id v = o->results; v < o->results + o->n_results; v++) {
			ck_assert_uint_eq(l->vals.p[v].def, i);
			int64_t whole = sharding_local_bytes(
				l->shardings, l->vals.p[v].sharding, type_get(x->m, l->vals.p[v].type));
			if (!o->halo)
				ck_assert_int_eq(l->vals.p[v].bytes, l->vals.p[v].narrow ? whole / 2 : whole);
		}
		if (o->kind == LOP_COLLECTIVE) {
			ck_assert(o->n_operands == 1 || (o->halo && o->n_operands == 2));
			ck_assert_uint_eq(o->n_results, 1);
			ck_assert_int_ge(o->halo ? l->vals.p[o->results].bytes : o->bytes,
				o->halo ? o->bytes : l->vals.p[o->results].bytes);
		}
		depth += o->kind == LOP_REGION;
		depth -= o->kind == LOP_REGION_END;
	}
	ck_assert_uint_eq(depth, 0);
	for (lval_id v = 0; v < l->vals.n; v++)
		ck_assert_uint_eq(uses[v], l->vals.p[v].n_uses);
	ck_assert_uint_eq(l->ops.p[l->ops.n - 1].kind, LOP_RETURN);
	free(uses);
}

static inline void lower_to(lowering *x, lower_level level, lower_target target)
{
	lower_program(x->cache, propagation_shardings(x->s), level, target, x->out);
	check_structure(x);
}

/* "all_reduce=1 all_gather=2", in the order of the table, kinds without any left out. */
static inline void check_counts(
	lowering *x, lower_level level, lower_target target, const char *want)
{
	lower_to(x, level, target);
	int64_t counts[COLL_COUNT];
	lowered_counts(x->out, counts);
	char got[256] = "";
	size_t n = 0;
	for (int k = 0; k < COLL_COUNT; k++)
		if (counts[k])
			n += (size_t)snprintf(got + n, sizeof got - n, "%s%s=%lld", n ? " " : "",
				collective_name((collective_kind)k), (long long)counts[k]);
	ck_assert_str_eq(got, want);
}

#endif
