/* The program of one device inside one manual computation over all mesh axes, as shard_map makes
 * it: what is outside sees whole arrays with shardings, so that jit, checkpoints and donation treat
 * them as any other; inside, nothing is left to partition. */
#include "lower/emit.h"

static func *old_func(const emitter *e) { return module_func(e->m, e->old_main); }

static lval_id argument_lval(const emitter *e, uint32_t i) { return e->l->ops.p[i].results; }

static const lop *return_op(const emitter *e) { return &e->l->ops.p[e->l->ops.n - 1]; }

static lval_id result_lval(const emitter *e, uint32_t i)
{
	return e->l->operands.p[return_op(e)->operands + i];
}

/* Shardings of main are even (cache_io), and partial sums do not cross the edge of a manual
 * computation. */
static status check_edge(emitter *e, lval_id v, const char *what, uint32_t i)
{
	const lval *x = &e->l->vals.p[v];
	const sharding *s = sharding_get(e->m->shardings, x->sharding);
	const op_id main = module_main(e->p->m)->op;
	if (s->n_unreduced)
		return op_error(e->p->m, main, e->d, ST_ERR_UNSUPPORTED,
			"%s %u is unreduced: expected whole sums at the edge of a manual computation", what, i);
	if (!emit_is_even(e, x->type, x->sharding))
		return op_error(e->p->m, main, e->d, ST_ERR_UNSUPPORTED,
			"%s %u is cut unevenly: expected parts of one size", what, i);
	return ST_OK;
}

status emit_global_open(emitter *e, op_id main)
{
	module *m = e->m;
	const func *old = old_func(e);
	uint32_t n_args = old->n_args, n_results = return_op(e)->n_operands;
	value_id old_args = op_region(m, e->old_main, 0)->args;
	region_id outside = op_at(m, main)->regions;
	value_id *operands = arena_array(&e->mem, value_id, n_args);
	type_id *types = arena_array(&e->mem, type_id, n_results);
	for (uint32_t i = 0; i < n_args; i++) {
		TRY(check_edge(e, argument_lval(e, i), "argument", i));
		operands[i] = region_add_arg(
			m, outside, value_at(m, old_args + i)->type, value_at(m, old_args + i)->loc);
	}
	for (uint32_t i = 0; i < n_results; i++) {
		TRY(check_edge(e, result_lval(e, i), "result", i));
		types[i] = old->result_types[i];
	}
	e->manual = op_new(m, OP_SDY_MANUAL_COMPUTATION, 0, operands, n_args, types, n_results, 1,
		op_at(m, e->old_main)->loc);
	op_append(m, e->manual, outside);
	e->body = e->at = op_at(m, e->manual)->regions;
	return ST_OK;
}

/* XLA refuses an alias between buffers of different shard shapes: such a donation is only an offer.
 */
static attr_id argument_attrs(emitter *e, const func *old, uint32_t i)
{
	attr_id dict = old->arg_attrs[i],
			target = dict == ID_NONE ? ID_NONE : attr_child(e->m, dict, "tf.aliasing_output");
	if (target == ID_NONE)
		return dict;
	int64_t r = attr_get(e->m, target)->i;
	const lval *a = &e->l->vals.p[argument_lval(e, i)];
	if (r < 0 || r >= return_op(e)->n_operands ||
		e->l->vals.p[result_lval(e, (uint32_t)r)].sharding == a->sharding)
		return dict;
	return attr_offer_donation(e->m, dict);
}

void emit_global_close(emitter *e, op_id main)
{
	module *m = e->m;
	uint32_t n_results = op_at(m, e->manual)->n_results;
	value_id *values = arena_array(&e->mem, value_id, n_results);
	type_id *types = arena_array(&e->mem, type_id, n_results);
	for (uint32_t i = 0; i < n_results; i++) {
		values[i] = op_result(m, e->manual, i);
		types[i] = value_at(m, values[i])->type;
	}
	op_append(
		m, op_new(m, OP_FUNC_RETURN, 0, values, n_results, NULL, 0, 0, 0), op_at(m, main)->regions);
	func *f = func_add(m, main, STR("main"), types, n_results);
	const func *old = old_func(e);
	for (uint32_t i = 0; i < f->n_args; i++)
		f->arg_attrs[i] = argument_attrs(e, old, i);
	for (uint32_t i = 0; i < n_results; i++)
		f->result_attrs[i] = old->result_attrs[i];
}

/* Closed dims, on the mesh of the program, without priorities. */
static sharding_id edge_sharding(const emitter *e, lval_id v)
{
	sharding_edit edit;
	sharding_to_edit(e->m->shardings, e->l->vals.p[v].sharding, &edit);
	edit.mesh = e->p->mesh;
	for (uint32_t d = 0; d < edit.rank; d++) {
		edit.dims[d].closed = true;
		edit.dims[d].priority = -1;
	}
	edit.replicated.n = 0;
	return sharding_intern(e->m->shardings, &edit);
}

void emit_global_shardings(emitter *e)
{
	module *m = e->m;
	mesh_declare(m, e->p->mesh);
	func *f = module_main(m);
	value_id args = op_region(m, f->op, 0)->args;
	uint32_t n_results = op_at(m, e->manual)->n_results;
	sharding_id *in = arena_array(&e->mem, sharding_id, f->n_args),
				*out = arena_array(&e->mem, sharding_id, n_results);
	for (uint32_t i = 0; i < f->n_args; i++)
		in[i] = m->values.p[args + i].sharding = edge_sharding(e, argument_lval(e, i));
	for (uint32_t i = 0; i < n_results; i++)
		out[i] = f->result_shardings[i] = edge_sharding(e, result_lval(e, i));
	op_attr_set(m, e->manual, "in_shardings", attr_shardings(m, in, f->n_args));
	op_attr_set(m, e->manual, "out_shardings", attr_shardings(m, out, n_results));
	op_attr_set(m, e->manual, "manual_axes", attr_axis_names(m, e->p->mesh, UINT32_MAX));
}
