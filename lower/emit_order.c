/* Order on the links. They do one thing after the other, in the timeline of a plan in the order of the program. Compilers for TPU start the gather of
 * a parameter as early as they can: a collective whose result the core waits for may find the links taken for as long as that gather travels.
 * So the parameter of a long gather goes through an optimization_barrier together with what the last such collective in front of it gave. */
#include "lower/emit.h"

enum { LONG_GATHER_BYTES = 32 << 20 };

/* The argument that a value is made from by one op after the other, ID_NONE: by others. */
static lval_id made_from(const lowered *l, lval_id v)
{
	for (;;) {
		const lop *o = &l->ops.p[l->vals.p[v].def];
		if (o->kind == LOP_ARGUMENT)
			return v;
		if (o->kind != LOP_COMPUTE || o->n_operands != 1 || o->nest)
			return ID_NONE;
		v = l->operands.p[o->operands];
	}
}

static bool is_waited_for(const lop *o)
{
	return o->kind == LOP_COLLECTIVE && !o->erased && !o->halo && !o->given && o->coll != COLL_ALL_GATHER && o->coll != COLL_COLLECTIVE_PERMUTE;
}

static void tie(emitter *e, lop_id waited, lval_id argument)
{
	for (uint32_t i = 0; i < e->ties.n; i++)
		if (e->ties.p[i].argument == argument && e->ties.p[i].behind == waited)
			return;
	vec_push(&e->ties, (emit_tie){waited, argument});
}

void emit_find_ties(emitter *e)
{
	const lowered *l = e->l;
	if (l->target != TARGET_TPU || e->form != EMIT_GLOBAL)
		return;
	lop_id *first_use = arena_array(&e->mem, lop_id, l->vals.n + 1), waited = ID_NONE;
	lowered_first_uses(l, first_use);
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		if (o->region != ID_NONE)
			continue;
		if (is_waited_for(o))
			waited = i;
		if (waited == ID_NONE || o->kind != LOP_COLLECTIVE || o->erased || o->coll != COLL_ALL_GATHER || o->bytes < LONG_GATHER_BYTES)
			continue;
		lval_id argument = made_from(l, l->operands.p[o->operands]);
		if (argument != ID_NONE && first_use[l->ops.p[waited].results] <= first_use[o->results])
			tie(e, waited, argument);
	}
}

void emit_ties(emitter *e, lop_id waited)
{
	for (uint32_t i = 0; i < e->ties.n; i++) {
		if (e->ties.p[i].behind != waited)
			continue;
		lval_id v[2] = {e->l->ops.p[waited].results, e->ties.p[i].argument};
		value_id operands[2] = {e->value[v[0]], e->value[v[1]]};
		type_id types[2] = {value_at(e->m, operands[0])->type, value_at(e->m, operands[1])->type};
		op_id o = op_new(e->m, OP_OPTIMIZATION_BARRIER, 0, operands, 2, types, 2, 0, e->loc);
		op_append(e->m, o, e->at);
		for (uint32_t k = 0; k < 2; k++)
			e->value[v[k]] = op_result(e->m, o, k);
	}
}
