/* A top_k along a dim that is cut: the largest of every part, then the largest of these. Equal keys
 * stay in the order of their positions: parts are gathered in that order, and the sort is stable.
 */
#include "lower/emit.h"

/* The largest of a device's part, and where they are in all of the dim. */
static void largest_of_part(
	emitter *e, const node *n, value_id part, axes cut, value_id found[2], const type_id types[2])
{
	int64_t own = value_type(e->m, part)->dims[value_type(e->m, part)->rank - 1];
	op_id o = emit_copy_op(e, n, &part, types);
	const ir_type positions = *type_get(e->m, types[1]);
	const value_id sum[2] = {
		op_result(e->m, o, 1), emit_broadcast(e, emit_offset(e, cut, own), NULL, 0, &positions)};
	found[0] = op_result(e->m, o, 0);
	found[1] = op_result(e->m, emit_op(e, OP_ADD, sum, 2, types[1], 0), 0);
}

/* Keys and positions in falling order of keys, as top_k has it: NaN and signs of zero count. */
static void sort_falling(emitter *e, value_id pair[2], uint32_t dim)
{
	const type_id types[2] = {value_at(e->m, pair[0])->type, value_at(e->m, pair[1])->type};
	op_id o = op_new(e->m, OP_SORT, 0, pair, 2, types, 2, 1, e->loc);
	op_append(e->m, o, e->at);
	op_attr_set(e->m, o, "dimension", attr_int(e->m, dim, "i64"));
	op_attr_set(
		e->m, o, "is_stable", attr_new(e->m, &(attr){.kind = ATTR_BOOL, .type = ID_NONE, .i = 1}));
	region_id here = e->at;
	e->at = op_at(e->m, o)->regions;
	value_id args[4];
	for (uint32_t i = 0; i < COUNT_OF(args); i++)
		args[i] = region_add_arg(e->m, e->at,
			type_tensor(e->m, (elem)type_get(e->m, types[i / 2])->elem, 0, NULL), e->loc);
	value_id greater = emit_compare_totally(e, "GT", args[0], args[1]);
	emit_op(e, OP_RETURN, &greater, 1, ID_NONE, 0);
	e->at = here;
	for (uint32_t i = 0; i < 2; i++)
		pair[i] = op_result(e->m, o, i);
}

bool emit_takes_candidates(const emitter *e, const node *n, const lop *o)
{
	if (n->op_kind != OP_CHLO_TOP_K)
		return false;
	const sharding *s = sharding_get(e->m->shardings, o->plan->at[0]);
	const ir_type *found = emit_slot_type(e, n, n->n_operands);
	return s->rank && o->plan->at[0] == o->plan->at[n->n_operands] && s->dims[s->rank - 1].n &&
		top_k_moves_less(
			emit_slot_type(e, n, 0), found->dims[s->rank - 1], sharding_dim_parts(s, s->rank - 1));
}

void emit_top_k(emitter *e, const node *n, const lop *o)
{
	const sharding *s = sharding_get(e->m->shardings, o->plan->at[0]);
	uint32_t dim = s->rank - 1;
	axes cut = sharding_dim(s, dim);
	value_id part = e->value[e->l->operands.p[o->operands]], found[2];
	type_id types[2];
	int64_t k = emit_slot_type(e, n, n->n_operands)->dims[dim];
	for (uint32_t r = 0; r < 2; r++) {
		const ir_type *local = value_type(e->m, part);
		int64_t dims[MAX_RANK];
		memcpy(dims, local->dims, local->rank * sizeof *dims);
		dims[dim] = k;
		types[r] = type_tensor(
			e->m, (elem)emit_slot_type(e, n, n->n_operands + r)->elem, local->rank, dims);
	}
	largest_of_part(e, n, part, cut, found, types);
	for (uint32_t r = 0; r < 2; r++)
		found[r] = emit_gather(e, found[r], dim, cut, k * axes_product(cut));
	sort_falling(e, found, dim);
	for (uint32_t r = 0; r < 2; r++)
		e->value[o->results + r] = emit_stretch(e, found[r], dim, 0, k);
}
