/* Data flow edges across calls, for pipelines that leave functions as they are: one op per argument
 * of a function and per result of a call, added before propagation and folded back after it. */
#include "propagate/passes.h"
#include "propagate/program_internal.h"

#include <stdlib.h>

void callers_init(callers *c, const module *m)
{
	*c = (callers){.m = m, .from = xcalloc(m->funcs.n + 1, sizeof *c->from)};
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		const func *f = call_target(m, o);
		c->n += f != NULL;
		if (f)
			c->from[f - m->funcs.p]++;
	}
	c->calls = xmalloc((c->n + 1) * sizeof *c->calls);
	uint32_t end = 0;
	for (uint32_t f = 0; f < m->funcs.n; f++)
		c->from[f] = end += c->from[f];
	c->from[m->funcs.n] = end;
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		const func *f = call_target(m, o);
		if (f)
			c->calls[--c->from[f - m->funcs.p]] = o;
	}
	for (uint32_t f = 0; f < m->funcs.n;
		 f++) /* filled from the end: back into the module's order */
		for (uint32_t i = c->from[f], k = c->from[f + 1]; i + 1 < k; i++, k--) {
			op_id o = c->calls[i];
			c->calls[i] = c->calls[k - 1];
			c->calls[k - 1] = o;
		}
}

void callers_release(callers *c)
{
	free(c->from);
	free(c->calls);
}

const op_id *callers_of(const callers *c, const func *f, uint32_t *n)
{
	uint32_t i = (uint32_t)(f - c->m->funcs.p);
	*n = c->from[i + 1] - c->from[i];
	return c->calls + c->from[i];
}

static bool has_body(const module *m, const func *f)
{
	return op_at(m, f->op)->n_regions && !op_region(m, f->op, 0)->empty;
}

static void add_edge(module *m, value_id owner, op_id before)
{
	type_id type = value_at(m, owner)->type;
	loc_id loc = value_at(m, owner)->is_arg ? value_at(m, owner)->loc
											: op_at(m, value_at(m, owner)->def)->loc;
	op_id edge = op_new(m, OP_SDY_FUNC_DATA_FLOW_EDGE, 0, &owner, 1, &type, 1, 0, loc);
	value_get(m, op_result(m, edge, 0))->sharding = value_at(m, owner)->sharding;
	op_insert_before(m, edge, before);
	value_replace_uses(m, owner, op_result(m, edge, 0), edge);
}

status pass_add_func_data_flow_edges(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	const func *main_func = module_main(m);
	op_list ops = {0};
	ops_pre_order(m, ID_NONE, &ops);
	for (uint32_t i = 0; i < ops.n; i++) {
		const func *f = op_at(m, ops.p[i])->kind == OP_FUNC ? module_func(m, ops.p[i]) : NULL;
		op_id before = f
			? (has_body(m, f) && f != main_func ? op_region(m, f->op, 0)->first : ID_NONE)
			: op_at(m, ops.p[i])->next;
		if (before == ID_NONE || (!f && !call_target(m, ops.p[i])))
			continue;
		value_id first = f ? op_region(m, f->op, 0)->args : op_at(m, ops.p[i])->results;
		uint32_t n = f ? f->n_args : op_at(m, ops.p[i])->n_results;
		for (uint32_t k = 0; k < n; k++)
			if (value_is_tensor(m, first + k))
				add_edge(m, first + k, before);
	}
	vec_release(&ops);
	return ST_OK;
}

status pass_sink_func_data_flow_edges(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	op_list ops = {0};
	ops_pre_order(m, ID_NONE, &ops);
	for (uint32_t i = 0; i < ops.n; i++) {
		op_id o = ops.p[i];
		if (op_at(m, o)->kind != OP_SDY_FUNC_DATA_FLOW_EDGE)
			continue;
		value_id owner = op_operand(m, o, 0);
		sharding_id s = value_at(m, op_result(m, o, 0))->sharding,
					old = value_at(m, owner)->sharding;
		if (s == SHARDING_NONE && old != SHARDING_NONE) /* what the edge lost, or never had */
			s = sharding_open(
				m, sharding_get(m->shardings, old)->mesh, sharding_get(m->shardings, old)->rank);
		if (s != SHARDING_NONE)
			value_set_sharding(m, owner, s);
		value_replace_uses(m, op_result(m, o, 0), owner, ID_NONE);
		op_erase(m, o);
	}
	vec_release(&ops);
	return ST_OK;
}
