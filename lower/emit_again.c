/* Gathers that are made again (lowered.reshards_after_forward). A compiler makes one of equal
 * gathers, and then holds what it gives from the first reader to the last. Behind an
 * optimization_barrier the operand is another value to it. The barrier also takes what an earlier
 * op with a gathered operand gave, so that the second gather does not move up to the first: it can
 * travel while READERS_AHEAD such ops and more are computed. */
#include "lower/emit.h"

static value_id behind_barrier(emitter *e, value_id v, value_id tie)
{
	value_id operands[2] = {v, tie};
	type_id types[2] = {
		value_at(e->m, v)->type, tie == ID_NONE ? ID_NONE : value_at(e->m, tie)->type};
	uint32_t n = tie == ID_NONE ? 1 : 2;
	op_id o = op_new(e->m, OP_OPTIMIZATION_BARRIER, 0, operands, n, types, n, 0, e->loc);
	op_append(e->m, o, e->at);
	return op_result(e->m, o, 0);
}

/* What an op gave READERS_AHEAD readers ago or earlier, that can be read here and is still alive,
 * so that nothing is held for the barrier. ID_NONE: nothing; then where the gather is made is left
 * to the compiler. */
static value_id earlier_result(const emitter *e, lop_id now)
{
	for (uint32_t i = READERS_AHEAD; i <= MIN(e->n_readers, READERS_KEPT); i++) {
		const emit_reader *r = &e->readers[(e->n_readers - i) % READERS_KEPT];
		if (r->region == e->at && e->last_use[r->result] > now)
			return e->value[r->result];
	}
	return ID_NONE;
}

value_id emit_again(emitter *e, const lop *gather, value_id v)
{
	uint64_t h = hash_combine((uint64_t)v << 32 | gather->step->out, gather->coll);
	uint32_t other;
	for (uint32_t it = index_first(&e->gathers, h); index_next(&e->gathers, h, &it, &other);) {
		const lop *o = &e->l->ops.p[other];
		if (e->value[e->l->operands.p[o->operands]] == v && o->step->out == gather->step->out)
			return behind_barrier(e, v, earlier_result(e, (lop_id)(gather - e->l->ops.p)));
	}
	index_add(&e->gathers, h, (uint32_t)(gather - e->l->ops.p));
	return v;
}

void emit_note_reader(emitter *e, const lop *o)
{
	for (uint32_t i = 0; i < o->n_operands; i++) {
		const lop *def = &e->l->ops.p[e->l->vals.p[e->l->operands.p[o->operands + i]].def];
		if (def->kind != LOP_COLLECTIVE || def->coll != COLL_ALL_GATHER || !o->n_results)
			continue;
		e->readers[e->n_readers++ % READERS_KEPT] = (emit_reader){o->results, e->at};
		return;
	}
}

void emit_find_last_uses(emitter *e)
{
	e->last_use = arena_zarray(&e->mem, lop_id, e->l->vals.n + 1);
	for (lop_id i = 0; i < e->l->ops.n; i++)
		for (uint32_t k = 0; k < e->l->ops.p[i].n_operands; k++)
			e->last_use[e->l->operands.p[e->l->ops.p[i].operands + k]] = i;
}
