/* Values whose last dim is not the one in the lanes, and the copies where they meet those that have
 * it there.
 *
 * XLA for TPU lets what is summed up along its last dim lie so that this dim is in the rows of
 * tiles, as long as a product may write it so: the sum then needs no exchange between lanes. What
 * elementwise ops connect lies alike. An argument, the rows that a gather takes out of a table or a
 * scatter adds to one, and what main returns have the last dim in the lanes: they are copied where
 * they meet such a value. Leading dims that are merged or split, as the tokens that an embedding's
 * gradient adds up, keep all that is connected with them from being turned; so do loops and
 * convolutions. (libtpu 0.0.51 for v5e, v5p and v6e: `turned` in tests/judged/kernels.py, and
 * docs/lowering-and-cost.md.) */
#include <stdlib.h>

#include "simulator/kernel.h"

enum { SUMMED = 1, MULTIPLIED = 2, KEPT = 4, TURNS = SUMMED | MULTIPLIED };

/* Values that elementwise ops connect, by value of the program. */
typedef struct connection {
	pval_id *parent;
	uint8_t *flags; /* of the first of a set */
} connection;

static pval_id first_of(connection *c, pval_id v)
{
	while (c->parent[v] != v)
		v = c->parent[v] = c->parent[c->parent[v]];
	return v;
}

static bool same_dims(const program *p, pval_id a, pval_id b)
{
	const ir_type *x = pval_type(p, a), *y = pval_type(p, b);
	return x->kind == TYPE_TENSOR && y->kind == TYPE_TENSOR && x->rank >= 2 && x->rank == y->rank &&
		!memcmp(x->dims, y->dims, x->rank * sizeof *x->dims);
}

static void connect(const program *p, connection *c, pval_id a, pval_id b)
{
	if (!same_dims(p, a, b))
		return;
	pval_id x = first_of(c, a), y = first_of(c, b);
	c->parent[MAX(x, y)] = MIN(x, y);
	c->flags[MIN(x, y)] |= c->flags[MAX(x, y)];
}

static void mark(connection *c, pval_id v, uint8_t flags) { c->flags[first_of(c, v)] |= flags; }

/* Sums along the last dim and not along all of them. */
static bool sums_rows(const program *p, const node *x)
{
	uint32_t n;
	(void)op_ints(p->m, x->op, "dimensions", &n);
	return n < pval_type(p, node_slots(p, x)[0])->rank && sums_lanes(p, x);
}

/* A reshape that merges or splits dims in front of the last one; dims of one element are none. */
static bool merges_rows(const program *p, const node *x)
{
	const ir_type *from = pval_type(p, node_slots(p, x)[0]),
				  *to = pval_type(p, node_slots(p, x)[x->n_operands]);
	if (from->kind != TYPE_TENSOR || to->kind != TYPE_TENSOR || !from->rank || !to->rank ||
		from->dims[from->rank - 1] != to->dims[to->rank - 1])
		return false;
	uint32_t i = 0, k = 0;
	for (;; i++, k++) {
		while (i < from->rank && from->dims[i] == 1)
			i++;
		while (k < to->rank && to->dims[k] == 1)
			k++;
		if (i == from->rank || k == to->rank)
			return i != from->rank || k != to->rank;
		if (from->dims[i] != to->dims[k])
			return true;
	}
}

static uint32_t scattered_dims(const program *p, const node *x)
{
	uint32_t windows;
	(void)op_ints(p->m, x->op, "scatter_dimension_numbers.update_window_dims", &windows);
	return pval_type(p, node_slots(p, x)[x->n_operands - 1])->rank - windows;
}

static void connect_node(const program *p, connection *c, const node *x)
{
	const pval_id *slots = node_slots(p, x);
	uint32_t n = x->n_operands + x->n_results;
	switch (x->op_kind) {
	case OP_DOT:
	case OP_DOT_GENERAL: mark(c, slots[x->n_operands], MULTIPLIED); return;
	case OP_REDUCE:
		if (sums_rows(p, x))
			mark(c, slots[0], SUMMED);
		return;
	case OP_CONCATENATE: /* parts lie alike */
		for (uint32_t i = 1; i < x->n_operands; i++)
			connect(p, c, slots[0], slots[i]);
		mark(c, slots[x->n_operands], KEPT);
		return;
	case OP_RESHAPE:
		if (merges_rows(p, x)) {
			mark(c, slots[0], KEPT);
			mark(c, slots[1], KEPT);
		}
		return;
	case OP_SCATTER: /* XLA makes one dim of those that it scatters along */
		if (scattered_dims(p, x) > 1)
			mark(c, slots[x->n_operands - 1], KEPT);
		return;
	default: break;
	}
	bool keeps = x->kind == NODE_EDGE || x->kind == NODE_REGION || x->op_kind == OP_CONVOLUTION;
	bool connects = x->elementwise || x->op_kind == OP_CONVERT;
	for (uint32_t i = 0; i < n; i++) {
		if (slots[i] == ID_NONE) /* a token */
			continue;
		if (keeps)
			mark(c, slots[i], KEPT);
		else if (connects)
			connect(p, c, slots[n - 1], slots[i]);
	}
}

void find_turned(simulator *s)
{
	const program *p = s->p;
	uint32_t n = MAX(p->vals.n, 1);
	s->may_turn = xcalloc(n, sizeof *s->may_turn);
	if (s->dev.target != TARGET_TPU || !s->dev.transposed_elements_s)
		return;
	connection c = {xmalloc(n * sizeof *c.parent), xcalloc(n, 1)};
	for (pval_id v = 0; v < n; v++)
		c.parent[v] = v;
	for (node_id i = 0; i < p->nodes.n; i++)
		connect_node(p, &c, &p->nodes.p[i]);
	for (pval_id v = 0; v < p->vals.n; v++)
		s->may_turn[v] = (c.flags[first_of(&c, v)] & (TURNS | KEPT)) == TURNS;
	free(c.parent);
	free(c.flags);
}

/* Where its rows fill whole lanes and are as many as it has columns. Rows: the dim in front of the
 * last one, or the first where that does not fill lanes. Fewer columns than lanes lie so in any
 * case: kernel_add_rows. */
static bool is_turned(const simulator *s, const lowered *l, lval_id v)
{
	pval_id origin = l->vals.p[v].origin;
	if (origin == ID_NONE || !s->may_turn[origin])
		return false;
	const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
	if (ty->kind != TYPE_TENSOR || ty->dynamic || ty->rank < 2)
		return false;
	const sharding *sh = sharding_get(l->shardings, l->vals.p[v].sharding);
	int64_t part[3];
	const uint32_t dims[] = {ty->rank - 1, ty->rank - 2, 0};
	for (uint32_t i = 0; i < 3; i++)
		part[i] = ceil_div(ty->dims[dims[i]], sharding_dim_parts(sh, dims[i]));
	int64_t rows = part[1] % s->dev.tile_minor ? part[2] : part[1];
	return rows % s->dev.tile_minor == 0 && rows >= part[0] && part[0] >= s->dev.tile_minor;
}

/* The copy of a value, n times. Between places on the chip it is soon made, which the copies of
 * some TPUs never write to; more than a quarter of it is seldom free. */
static void turn(simulator *s, const lowered *l, kernel *k, lval_id v, int64_t n, bool there)
{
	int64_t bytes = s->vals[v].bytes;
	int sides = !there + (s->dev.products_off_chip || bytes > s->dev.on_chip_bytes / 4);
	if (sides)
		k->apart_ns = sat_add(k->apart_ns,
			sat_mul(n, transposed_time_ns(&s->dev, bytes, stored_bits(s, l, v), sides)));
}

/* Gathers and scatters of whole rows; those of single elements XLA makes other ops of. */
static bool moves_rows(const program *p, const node *x)
{
	const pval_id *slots = node_slots(p, x);
	const ir_type *table = pval_type(p, slots[0]),
				  *rows = pval_type(
					  p, slots[x->op_kind == OP_GATHER ? x->n_operands : x->n_operands - 1]);
	return table->rank && rows->rank && table->dims[table->rank - 1] == rows->dims[rows->rank - 1];
}

/* Ops that leave what they make in rows: with the last dim in the lanes. */
static bool leaves_rows(const simulator *s, const lop *o)
{
	if (o->kind != LOP_COMPUTE || o->node == ID_NONE)
		return false;
	const node *x = &s->p->nodes.p[o->node];
	switch (x->op_kind) {
	case OP_GATHER:
	case OP_SCATTER: return moves_rows(s->p, x);
	case OP_SLICE:
	case OP_DYNAMIC_SLICE:
	case OP_DYNAMIC_UPDATE_SLICE:
	case OP_SORT: return true;
	default: return false;
	}
}

/* Ops that take operand i so. */
static bool wants_rows(const simulator *s, const lop *o, uint32_t i)
{
	if (o->kind != LOP_COMPUTE || o->node == ID_NONE)
		return false;
	const node *x = &s->p->nodes.p[o->node];
	switch (x->op_kind) {
	case OP_GATHER: return i == 0 && moves_rows(s->p, x);
	case OP_SCATTER: return moves_rows(s->p, x);
	case OP_DYNAMIC_UPDATE_SLICE:
	case OP_SORT: return true;
	default: return false;
	}
}

/* What an op leaves so for others that are turned, and what main returns of these. */
void kernel_turn_results(simulator *s, const lowered *l, kernel *k, lop_id id, int64_t n)
{
	const lop *o = &l->ops.p[id];
	for (lval_id v = o->results, end = v + o->n_results; v < end; v++)
		if ((s->vals[v].output || leaves_rows(s, o)) && is_turned(s, l, v))
			turn(s, l, k, v, n, stays(s, l, &s->vals[v]));
}

/* Operand i of an op, in buffer v: arguments of main beside what is turned, and what is turned
 * where it has to be in rows. Collectives leave it as it was. */
void kernel_turn_operand(
	simulator *s, const lowered *l, kernel *k, lop_id id, uint32_t i, lval_id v, int64_t n)
{
	sim_val *val = &s->vals[v];
	if (val->turned || !is_turned(s, l, v))
		return;
	const lop *reader = &l->ops.p[id], *maker = &l->ops.p[val->def];
	while (maker->kind == LOP_COLLECTIVE && maker->n_operands)
		maker = &l->ops.p[l->vals.p[operand_at(l, maker, 0)].def];
	bool in_rows = s->vals[maker->results].argument || leaves_rows(s, maker),
		 wanted = wants_rows(s, reader, i);
	if (in_rows ? !s->vals[maker->results].argument || s->ops[id].class != CLASS_ELEMENTWISE
				: !wanted)
		return;
	val->turned = true;
	turn(s, l, k, v, n, v == s->prefetched.val || reaches(s, l, val, k->at));
}
