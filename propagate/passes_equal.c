/* Equal ops become one, as XLA for TPU makes them before it propagates: what backward passes
 * compute again from the same values is then the value of the forward pass, and is sharded as that
 * is. Constants, what is computed from them alone, and scalars spread over a tensor count as equal
 * but stay: every use of them would get its own copy again (passes_constants.c). Not a pass of
 * Shardy's. */
#include "propagate/passes.h"

#include <stdlib.h>

enum { MAX_BODY = 16 }; /* ops of a body that is compared */

typedef struct merger {
	module *m;
	index_map seen;
	uint32_t *position; /* of every op in the walk */
	value_id *same;     /* by value: the first that equals it */
	bool *constant;     /* by op */
	VEC(value_id) touched;
} merger;

static bool mergeable(const module *m, op_id o)
{
	const ir_op *op = op_at(m, o);
	/* equal permutes are one, as borders that the forward and the backward pass want are */
	bool pure = op_infos[op->kind].flags & OPF_PURE || op->kind == OP_HLO_COLLECTIVE_PERMUTE;
	if (!pure || !op->n_results || op->n_regions > 1)
		return false;
	for (uint32_t i = 0; i < op->n_results; i++)
		if (!value_is_tensor(m, op->results + i))
			return false;
	return true;
}

static bool is_scalar(const module *m, value_id v)
{
	return value_type(m, v)->kind == TYPE_TENSOR && !value_type(m, v)->rank;
}

static bool is_constant(const merger *g, op_id o)
{
	const ir_op *op = op_at(g->m, o);
	if (op->kind == OP_CONSTANT || op->kind == OP_SDY_CONSTANT || op->kind == OP_IOTA)
		return true;
	if (op->kind != OP_BROADCAST_IN_DIM && op->kind != OP_RESHAPE && op->kind != OP_SLICE &&
		!op_elementwise(g->m, o))
		return false;
	for (uint32_t i = 0; i < op->n_operands; i++) {
		op_id def = value_def(g->m, op_operand(g->m, o, i));
		if (def == ID_NONE || !g->constant[def])
			return false;
	}
	return true;
}

static bool stays(const merger *g, op_id o)
{
	return g->constant[o] ||
		(op_at(g->m, o)->kind == OP_BROADCAST_IN_DIM && is_scalar(g->m, op_operand(g->m, o, 0)));
}

static uint64_t equal_hash(const merger *g, op_id o)
{
	const module *m = g->m;
	const ir_op *op = op_at(m, o);
	uint64_t h = hash_combine((uint64_t)op->parent << 32 | op->name,
				 (uint64_t)op->n_results << 32 | op->n_attrs),
			 attrs = 0;
	for (uint32_t i = 0; i < op->n_operands; i++)
		h = hash_combine(h, g->same[op_operand(m, o, i)]);
	for (uint32_t i = 0; i < op->n_results; i++)
		h = hash_combine(h,
			(uint64_t)value_at(m, op->results + i)->type << 32 |
				value_at(m, op->results + i)->sharding);
	for (uint32_t i = 0; i < op->n_attrs; i++) /* in any order */
		attrs += hash_combine(m->op_attrs.p[op->first_attr + i].name,
			attr_hash(m, m->op_attrs.p[op->first_attr + i].value));
	return hash_combine(h, attrs);
}

static bool same_results(const module *m, const ir_op *a, const ir_op *b)
{
	for (uint32_t i = 0; i < a->n_results; i++) {
		const ir_value *x = value_at(m, a->results + i), *y = value_at(m, b->results + i);
		if (x->type != y->type || x->sharding != y->sharding)
			return false;
	}
	return true;
}

static bool same_shape(const module *m, op_id oa, op_id ob)
{
	const ir_op *a = op_at(m, oa), *b = op_at(m, ob);
	return a->kind == b->kind && a->name == b->name && a->n_operands == b->n_operands &&
		a->n_results == b->n_results && a->n_regions == b->n_regions && attrs_equal(m, oa, ob) &&
		same_results(m, a, b);
}

/* The value of body b that stands where v stands in body a; v itself when it is of neither. */
static value_id counterpart(const module *m, region_id a, region_id b, const op_id *ops_a,
	const op_id *ops_b, uint32_t n, value_id v)
{
	const ir_region *ra = &m->regions.p[a], *rb = &m->regions.p[b];
	if (v >= ra->args && v < ra->args + ra->n_args)
		return rb->args + (v - ra->args);
	for (uint32_t i = 0; i < n; i++)
		if (v >= op_at(m, ops_a[i])->results &&
			v < op_at(m, ops_a[i])->results + op_at(m, ops_a[i])->n_results)
			return op_at(m, ops_b[i])->results + (v - op_at(m, ops_a[i])->results);
	return v;
}

static bool same_body(const module *m, region_id a, region_id b)
{
	if (m->regions.p[a].n_args != m->regions.p[b].n_args)
		return false;
	for (uint32_t i = 0; i < m->regions.p[a].n_args; i++)
		if (value_at(m, m->regions.p[a].args + i)->type !=
			value_at(m, m->regions.p[b].args + i)->type)
			return false;
	op_id ops_a[MAX_BODY], ops_b[MAX_BODY], x = m->regions.p[a].first, y = m->regions.p[b].first;
	uint32_t n = 0;
	for (; x != ID_NONE && y != ID_NONE && n < MAX_BODY;
		 x = op_at(m, x)->next, y = op_at(m, y)->next, n++) {
		if (!same_shape(m, x, y) || op_at(m, x)->n_regions)
			return false;
		for (uint32_t i = 0; i < op_at(m, x)->n_operands; i++)
			if (counterpart(m, a, b, ops_a, ops_b, n, op_operand(m, x, i)) != op_operand(m, y, i))
				return false;
		ops_a[n] = x;
		ops_b[n] = y;
	}
	return x == ID_NONE && y == ID_NONE;
}

static bool equal(const merger *g, op_id oa, op_id ob)
{
	const module *m = g->m;
	const ir_op *a = op_at(m, oa), *b = op_at(m, ob);
	if (a->parent != b->parent || !same_shape(m, oa, ob))
		return false;
	for (uint32_t i = 0; i < a->n_operands; i++)
		if (g->same[op_operand(m, oa, i)] != g->same[op_operand(m, ob, i)])
			return false;
	return !a->n_regions || same_body(m, a->regions, b->regions);
}

static int by_slot(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Uses as a reader would have met them: propagation visits them in that order. */
static void sort_uses(merger *g, value_id v)
{
	module *m = g->m;
	uint32_t n = 0;
	for (slot_id s = value_at(m, v)->first_use; s != ID_NONE; s = m->slots.p[s].next)
		n++;
	uint64_t *uses = xmalloc((n + 1) * sizeof *uses);
	n = 0;
	for (slot_id s = value_at(m, v)->first_use; s != ID_NONE; s = m->slots.p[s].next)
		uses[n++] = (uint64_t)g->position[m->slots.p[s].owner] << 32 | s;
	qsort(uses, n, sizeof *uses, by_slot);
	for (uint32_t i = 0; i < n; i++) {
		op_id owner = m->slots.p[(slot_id)uses[i]].owner;
		op_set_operand(m, owner, (slot_id)uses[i] - op_at(m, owner)->operands, v);
	}
	free(uses);
}

static void merge_into(merger *g, op_id kept, op_id o)
{
	module *m = g->m;
	for (uint32_t i = 0; i < op_at(m, o)->n_results; i++) {
		value_replace_uses(m, op_result(m, o, i), op_result(m, kept, i), ID_NONE);
		if (!(op_at(m, kept)->flags & OPS_MERGED))
			vec_push(&g->touched, op_result(m, kept, i));
	}
	op_get(m, kept)->flags |= OPS_MERGED;
	op_erase(m, o);
}

void ops_merge_equal(module *m)
{
	merger g = {.m = m,
		.position = xcalloc(m->ops.n + 1, sizeof *g.position),
		.same = xmalloc((m->values.n + 1) * sizeof *g.same),
		.constant = xcalloc(m->ops.n + 1, sizeof *g.constant)};
	index_init(&g.seen);
	for (value_id v = 0; v < m->values.n; v++)
		g.same[v] = v;
	uint32_t n = 0;
	for (op_id o = op_walk_first(m, ID_NONE), next; o != ID_NONE; o = next) {
		g.position[o] = n++;
		next = op_walk_next(m, ID_NONE, o);
		if (!mergeable(m, o) || op_at(m, o)->next == ID_NONE)
			continue;
		g.constant[o] = is_constant(&g, o);
		op_id after = op_at(m, o)->next,
			  other = ID_NONE; /* behind its body; a terminator is last */
		uint64_t h = equal_hash(&g, o);
		bool found = false;
		for (uint32_t it = index_first(&g.seen, h); !found && index_next(&g.seen, h, &it, &other);)
			found = equal(&g, other, o);
		if (!found) {
			index_add(&g.seen, h, o);
			continue;
		}
		if (stays(&g, o)) {
			for (uint32_t i = 0; i < op_at(m, o)->n_results; i++)
				g.same[op_result(m, o, i)] = op_result(m, other, i);
			continue;
		}
		merge_into(&g, other, o);
		next = after;
	}
	for (uint32_t i = 0; i < g.touched.n; i++)
		sort_uses(&g, g.touched.p[i]);
	index_release(&g.seen);
	vec_release(&g.touched);
	free(g.position);
	free(g.same);
	free(g.constant);
}
