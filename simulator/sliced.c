/* Stacks of which a loop takes one part in every turn, as a scan does of what it runs over.
 *
 * XLA for TPU lays what goes into a loop, and comes from no other loop, as it lays an argument of
 * that shape: in the order of dims that wastes least of a tile. 256 words of 16 heads of 64 numbers
 * have the words in the lanes. What is turned from values of three dims, so that their second one
 * is counted, keeps that one in the rows of tiles. A part is then one lane, or one row, of every
 * tile, and taking it is a kernel that all tiles pass through. (libtpu 0.0.51 for v5e, v5p and v6e:
 * `sliced` in tests/judged/kernels.py, and docs/lowering-and-cost.md.) */
#include "simulator/state.h"

/* The one dim along which the node takes a part that is one long, + 1; 0: it is no such slice. */
static uint8_t sliced_dim(const program *p, const node *n)
{
	const pval_id *slots = node_slots(p, n);
	const ir_type *from = pval_type(p, slots[0]), *to = pval_type(p, slots[n->n_operands]);
	uint8_t dim = 0;
	for (uint32_t d = 0; d < from->rank; d++) {
		if (from->dims[d] == to->dims[d])
			continue;
		if (dim || to->dims[d] != 1)
			return 0;
		dim = (uint8_t)(d + 1);
	}
	return dim;
}

/* Is it what a loop gets from outside and hands on, and no result of another loop? */
static bool comes_from_outside(const program *p, pval_id v)
{
	node_id edge = p->vals.p[v].def;
	if (edge == ID_NONE || p->nodes.p[edge].kind != NODE_EDGE)
		return false;
	const node *n = &p->nodes.p[edge];
	const pval_id *from = node_slots(p, n);
	bool outside = false;
	for (uint32_t i = 0; i < n->n_operands; i++) {
		if (from[i] == v)
			continue;
		node_id def = p->vals.p[from[i]].def;
		if (outside || (def != ID_NONE && p->nodes.p[def].kind == NODE_EDGE))
			return false;
		outside = true;
	}
	return outside;
}

/* Does the stack come out of a transposition that brought its second dim of three to the front,
 * with nothing but elementwise work behind that? */
static bool is_turned_stack(const program *p, pval_id v)
{
	enum { MOST = 8 /* ops behind it */ };
	const node *edge = &p->nodes.p[p->vals.p[v].def];
	const pval_id *outer = node_slots(p, edge);
	pval_id at = outer[0] == v && edge->n_operands > 1 ? outer[1] : outer[0];
	for (uint32_t i = 0; i < MOST; i++) {
		node_id def = p->vals.p[at].def;
		if (def == ID_NONE || pval_type(p, at)->rank != 3)
			return false;
		const node *n = &p->nodes.p[def];
		if (n->op_kind == OP_TRANSPOSE) {
			uint32_t rank;
			const int64_t *from = op_ints(p->m, n->op, "permutation", &rank);
			return from[0] == 1 && from[1] == 0;
		}
		if (!n->elementwise && n->op_kind != OP_CONVERT && n->op_kind != OP_SLICE)
			return false;
		at = node_slots(p, n)[0];
	}
	return false;
}

void find_sliced(simulator *s)
{
	const program *p = s->p;
	s->sliced = xcalloc(MAX(p->nodes.n, 1), sizeof *s->sliced);
	for (node_id i = 0; i < p->nodes.n && s->dev.target == TARGET_TPU; i++) {
		const node *n = &p->nodes.p[i];
		if (n->op_kind == OP_DYNAMIC_SLICE && n->parent != ID_NONE &&
			p->nodes.p[n->parent].op_kind == OP_WHILE && comes_from_outside(p, node_slots(p, n)[0]))
			s->sliced[i] = (stack_slice){sliced_dim(p, n), is_turned_stack(p, node_slots(p, n)[0])};
	}
}

int64_t elements_passed(const simulator *s, const lowered *l, const lop *o)
{
	const stack_slice *slice = &s->sliced[o->node];
	if (!slice->dim)
		return 0;
	lval_id v = operand_at(l, o, 0);
	const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
	const sharding *sh = sharding_get(s->t, l->vals.p[v].sharding);
	uint32_t counted = slice->dim - 1u;
	tile_dims tile;
	device_stored_bytes(&s->dev, s->t, l->vals.p[v].sharding, ty, ALL_MINORS, &tile);
	bool in_lanes = tile.minor == counted,
		 in_rows = slice->turned && !counted && ty->dims[0] % s->dev.tile_second == 0;
	if (!in_lanes && !in_rows)
		return 0;
	int64_t part = 1, passed = in_lanes ? s->dev.tile_minor : s->dev.tile_second;
	for (uint32_t d = 0; d < ty->rank; d++) {
		int64_t n = ceil_div(ty->dims[d], sharding_dim_parts(sh, d)),
				whole = in_lanes && d == tile.second ? s->dev.tile_second : 1;
		if (d == counted)
			continue;
		part = sat_mul(part, n);
		passed = sat_mul(passed, sat_mul(ceil_div(n, whole), whole));
	}
	return part < s->dev.tile_minor ? 0 : passed;
}
