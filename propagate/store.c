/* From the engine's state back into the module. */
#include "propagate/engine.h"

static sharding_id open_sharding(sharding_table *t, mesh_id mesh, const ir_type *ty)
{
	sharding_edit e;
	sharding_edit_init(&e, mesh, ty->kind == TYPE_TENSOR ? ty->rank : 0, false);
	return sharding_intern(t, &e);
}

/* The attribute of an op lists all its results: with one sharding there, the others are written as
 * open. */
static void complete_results(module *m, op_id o)
{
	const ir_op *op = op_at(m, o);
	mesh_id mesh = ID_NONE;
	for (uint32_t i = 0; i < op->n_results && mesh == ID_NONE; i++) {
		sharding_id sh = value_at(m, op->results + i)->sharding;
		if (sh != SHARDING_NONE)
			mesh = sharding_get(m->shardings, sh)->mesh;
	}
	if (mesh == ID_NONE)
		return;
	for (uint32_t i = 0; i < op->n_results; i++) {
		ir_value *v = value_get(m, op->results + i);
		if (v->sharding == SHARDING_NONE)
			v->sharding = open_sharding(m->shardings, mesh, type_get(m, v->type));
	}
}

/* Computations keep their shardings in lists of their own. */
static bool has_lists(const module *m, op_id o)
{
	return op_at(m, o)->kind == OP_SDY_MANUAL_COMPUTATION ||
		op_at(m, o)->kind == OP_SDY_NAMED_COMPUTATION;
}

void program_store(const program *p, propagation *s, module *m)
{
	func *main = module_main(m);
	for (pval_id v = 0; v < p->vals.n; v++) {
		const pval *x = &p->vals.p[v];
		if (x->value != ID_NONE)
			value_get(m, x->value)->sharding = s->shardings[v];
		else if (x->result_index >= 0)
			main->result_shardings[x->result_index] = s->shardings[v];
	}
	for (node_id n = p->nodes.n; n-- > 0;) {
		if (s->erased[n])
			op_erase(
				m, p->nodes.p[n].op); /* users come later in the program, so they are gone by now */
		else if (p->nodes.p[n].kind != NODE_RESULT && op_at(m, p->nodes.p[n].op)->n_results > 1 &&
			!has_lists(m, p->nodes.p[n].op))
			complete_results(m, p->nodes.p[n].op);
	}
}
