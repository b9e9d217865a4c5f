/* Stacks of which a loop takes one part in every turn, as a scan does of what it runs over.
 *
 * XLA for TPU lays what goes into a loop, and comes from no other loop, as it lays an argument of
 * that shape: in the order of dims that wastes least of a tile. 256 words of 16 heads of 64 numbers
 * have the words in the lanes. A part is then one lane of every tile, and taking it is a kernel
 * that all tiles pass through. (libtpu 0.0.51 for v5e, v5p and v6e: `sliced` in
 * tests/judged/kernels.py, and docs/lowering-and-cost.md.) */
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

void find_sliced(simulator *s)
{
	const program *p = s->p;
	s->sliced = xcalloc(MAX(p->nodes.n, 1), sizeof *s->sliced);
	for (node_id i = 0; i < p->nodes.n && s->dev.target == TARGET_TPU; i++) {
		const node *n = &p->nodes.p[i];
		if (n->op_kind == OP_DYNAMIC_SLICE && n->parent != ID_NONE &&
			p->nodes.p[n->parent].op_kind == OP_WHILE && comes_from_outside(p, node_slots(p, n)[0]))
			s->sliced[i] = sliced_dim(p, n);
	}
}

int64_t elements_in_lane(const simulator *s, const lowered *l, const lop *o)
{
	uint32_t dim = s->sliced[o->node];
	if (!dim)
		return 0;
	lval_id v = operand_at(l, o, 0);
	const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
	tile_dims tile;
	device_stored_bytes(&s->dev, s->t, l->vals.p[v].sharding, ty, ALL_MINORS, &tile);
	if (tile.minor != dim - 1)
		return 0;
	const sharding *sh = sharding_get(s->t, l->vals.p[v].sharding);
	int64_t part = 1, tiles = s->dev.tile_minor;
	for (uint32_t d = 0; d < ty->rank; d++) {
		int64_t n = ceil_div(ty->dims[d], sharding_dim_parts(sh, d)),
				whole = d == tile.second ? s->dev.tile_second : 1;
		if (d == tile.minor)
			continue;
		part = sat_mul(part, n);
		tiles = sat_mul(tiles, sat_mul(ceil_div(n, whole), whole));
	}
	return part < s->dev.tile_minor ? 0 : tiles;
}
