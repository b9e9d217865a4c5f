/* What passes share: walks, purity, attribute equality, shardings of a whole module, options. */
#include "propagate/passes.h"

#include <stdlib.h>

void ops_pre_order(const module *m, op_id root, op_list *out)
{
	for (op_id o = op_walk_first(m, root); o != ID_NONE; o = op_walk_next(m, root, o))
		vec_push(out, o);
}

/* The reader bounds nesting, so the recursion is bounded. */
static void post_order(const module *m, op_id o, op_list *out)
{
	const ir_op *op = op_at(m, o);
	for (uint32_t r = 0; r < op->n_regions; r++)
		for (op_id inner = m->regions.p[op->regions + r].first; inner != ID_NONE;
			 inner = op_at(m, inner)->next)
			post_order(m, inner, out);
	vec_push(out, o);
}

void ops_post_order(const module *m, op_id root, op_list *out)
{
	if (root != ID_NONE) {
		post_order(m, root, out);
		return;
	}
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = op_at(m, o)->next)
		post_order(m, o, out);
}

/* Without uses Shardy's drivers erase it. A custom_call has effects only when it says so. Nesting
 * is bounded by the reader. */
bool op_pure(const module *m, op_id o)
{
	const ir_op *op = op_at(m, o);
	uint32_t flags = op_infos[op->kind].flags;
	if (flags & OPF_PURE)
		return true;
	if (op->kind == OP_CUSTOM_CALL) {
		attr_id effect = op_attr(m, o, "has_side_effect");
		return effect == ID_NONE || !attr_get(m, effect)->i;
	}
	if (op->kind == OP_OPTIMIZATION_BARRIER)
		return true;
	if (!(flags & OPF_DATAFLOW) && op->kind != OP_IF)
		return false;
	for (uint32_t r = 0; r < op->n_regions; r++)
		for (op_id inner = m->regions.p[op->regions + r].first; inner != ID_NONE;
			 inner = op_at(m, inner)->next)
			if (!(op_infos[op_at(m, inner)->kind].flags & OPF_TERMINATOR) && !op_pure(m, inner))
				return false;
	return true;
}

bool op_dead(const module *m, op_id o)
{
	const ir_op *op = op_at(m, o);
	if (op_infos[op->kind].flags & (OPF_TERMINATOR | OPF_SYMBOL))
		return false;
	for (uint32_t i = 0; i < op->n_results; i++)
		if (value_has_uses(m, op->results + i))
			return false;
	return op_pure(m, o);
}

bool op_elementwise(const module *m, op_id o)
{
	const ir_op *op = op_at(m, o);
	if (op->kind != OP_BITCAST_CONVERT)
		return op_infos[op->kind].flags & OPF_ELEMENTWISE;
	const ir_type *in = value_type(m, op_operand(m, o, 0)), *out = value_type(m, op->results);
	return in->rank == out->rank && !memcmp(in->dims, out->dims, in->rank * sizeof *in->dims);
}

/* ---------------------------------------------------------------- attributes */

void op_copy_attrs(module *m, op_id from, op_id to, const char *except)
{
	for (uint32_t i = 0; i < op_at(m, from)->n_attrs; i++) {
		named_attr a = m->op_attrs.p[op_at(m, from)->first_attr + i];
		char name[128];
		str text = strtab_get(&m->strs, a.name);
		if (text.n >= sizeof name || (except && str_is(text, except)))
			continue;
		memcpy(name, text.p, text.n);
		name[text.n] = 0;
		op_attr_set(m, to, name, a.value);
	}
}

/* ---------------------------------------------------------------- shardings */

sharding_id op_sharding_at(const module *m, op_id o, const char *name, uint32_t i)
{
	attr_id a = op_attr(m, o, name);
	if (a == ID_NONE || attr_get(m, a)->kind != ATTR_SHARDINGS || i >= attr_get(m, a)->n)
		return SHARDING_NONE;
	return attr_get(m, a)->shardings[i];
}

void op_set_shardings(module *m, op_id o, const char *name, const sharding_id *ids, uint32_t n)
{
	op_attr_set(m, o, name, attr_shardings(m, ids, n));
}

sharding_id sharding_open(module *m, mesh_id mesh, uint32_t rank)
{
	sharding_edit e;
	sharding_edit_init(&e, mesh, rank, false);
	return sharding_intern(m->shardings, &e);
}

static void transform_value(module *m, value_id v, sharding_fn f, void *context)
{
	sharding_id old = value_at(m, v)->sharding;
	if (old != SHARDING_NONE)
		value_get(m, v)->sharding = f(m, old, context);
}

static void transform_list(module *m, op_id o, const char *name, sharding_fn f, void *context)
{
	attr_id a = op_attr(m, o, name);
	if (a == ID_NONE || attr_get(m, a)->kind != ATTR_SHARDINGS)
		return;
	uint32_t n = attr_get(m, a)->n;
	sharding_id *ids = xmalloc((n + 1) * sizeof *ids);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = f(m, attr_get(m, a)->shardings[i], context);
	op_set_shardings(m, o, name, ids, n);
	free(ids);
}

void shardings_transform(module *m, sharding_fn f, void *context)
{
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		if (op_at(m, o)->kind == OP_FUNC) {
			func *fn = module_func(m, o);
			value_id args = op_region(m, o, 0)->args;
			for (uint32_t i = 0; i < fn->n_args; i++)
				transform_value(m, args + i, f, context);
			for (uint32_t i = 0; i < fn->n_results; i++)
				if (fn->result_shardings[i] != SHARDING_NONE)
					fn->result_shardings[i] = f(m, fn->result_shardings[i], context);
			continue;
		}
		for (uint32_t i = 0; i < op_at(m, o)->n_results; i++)
			transform_value(m, op_result(m, o, i), f, context);
		if (!op_at(m, o)->n_results)
			transform_list(m, o, "sdy.sharding", f, context);
		if (op_at(m, o)->kind == OP_SDY_MANUAL_COMPUTATION ||
			op_at(m, o)->kind == OP_SDY_NAMED_COMPUTATION) {
			transform_list(m, o, "in_shardings", f, context);
			transform_list(m, o, "out_shardings", f, context);
		}
	}
}

/* ---------------------------------------------------------------- options, calls */

str option_text(const pass_option *options, uint32_t n, const char *name, const char *absent)
{
	for (uint32_t i = n; i-- > 0;)
		if (str_is(options[i].name, name))
			return options[i].value;
	return str_of(absent);
}

bool option_bool(const pass_option *options, uint32_t n, const char *name, bool absent)
{
	str v = option_text(options, n, name, absent ? "true" : "false");
	return !v.n || str_is(v, "true") || str_is(v, "1");
}

func *call_target(const module *m, op_id call)
{
	return op_at(m, call)->kind == OP_CALL ? module_func_named(m, op_text(m, call, "callee"))
										   : NULL;
}
