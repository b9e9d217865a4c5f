/* What an elementwise op, and those in front of it that are made for it alone or from one value,
 * are made from: what a kernel with all of them in it reads. Nested ops count as if they stood in
 * front of the op, so that a program costs the same with and without them. */
#include "simulator/state.h"

static void add_leaf(sim_op *to, lval_id v)
{
	for (uint32_t i = 0; i < to->n_leaves && i < MOST_LEAVES; i++)
		if (to->leaves[i] == v)
			return;
	if (to->n_leaves < MOST_LEAVES)
		to->leaves[to->n_leaves] = v;
	to->n_leaves = (uint8_t)MIN(to->n_leaves + 1, MOST_LEAVES + 1);
}

/* Is it more than a constant, or what is made of such? */
static bool is_computed(const simulator *s, const lowered *l, lval_id v)
{
	const sim_op *def = &s->ops[s->vals[v].def];
	const lop *o = &l->ops.p[s->vals[v].def];
	return def->class == CLASS_ELEMENTWISE ? def->spreads || def->n_leaves > 0
										   : o->kind != LOP_COMPUTE || o->n_operands > 0;
}

static int64_t leaf_bytes(const simulator *s, const sim_op *o)
{
	int64_t bytes = o->n_leaves > MOST_LEAVES ? INT64_MAX : 0;
	for (uint32_t i = 0; i < o->n_leaves && i < MOST_LEAVES; i++)
		bytes = sat_add(bytes, s->vals[o->leaves[i]].bytes);
	return bytes;
}

bool is_cheaper_apart(const simulator *s, const sim_op *o, int64_t bytes, uint32_t readers)
{
	return readers > 1 &&
		sat_add(sat_mul(leaf_bytes(s, o), readers - 1), o->spreads) >
		sat_mul(bytes, (int64_t)readers + 1);
}

/* Is it made from what a matmul makes for it alone, and no wider? Then the matmul's kernel makes
 * it. */
static bool is_behind_matmul(const simulator *s, const lowered *l, const sim_op *o, int64_t bytes)
{
	for (uint32_t i = 0; i < o->n_leaves && i < MOST_LEAVES; i++)
		if (s->ops[s->vals[o->leaves[i]].def].class == CLASS_MATMUL &&
			l->vals.p[o->leaves[i]].n_uses == 1 && bytes <= s->vals[o->leaves[i]].bytes)
			return true;
	return false;
}

/* Is the value made again in each of its readers? */
static bool is_made_again(const simulator *s, const lowered *l, const sim_op *def, lval_id v)
{
	int64_t bytes = s->vals[v].bytes;
	uint32_t readers = l->vals.p[v].n_uses;
	return def->n_leaves == 1 || readers == 1 ||
		(!is_behind_matmul(s, l, def, bytes) && !is_cheaper_apart(s, def, bytes, readers));
}

/* spread: what reads the value is made from little itself; written: bytes of what reads it */
static void read_leaf(
	const simulator *s, const lowered *l, sim_op *so, lval_id v, bool spread, int64_t written)
{
	const sim_op *def = &s->ops[s->vals[v].def];
	if (spread || def->spread || is_little(s->vals[v].bytes, written)) {
		so->spreads |= is_computed(s, l, v);
		return;
	}
	if (def->class != CLASS_ELEMENTWISE || def->segment != so->segment || def->tile == TILE_ENDS ||
		!is_made_again(s, l, def, v)) {
		add_leaf(so, v);
		return;
	}
	so->spreads |= def->spreads;
	for (uint32_t k = 0; k < def->n_leaves && k < MOST_LEAVES; k++)
		add_leaf(so, def->leaves[k]);
	if (def->n_leaves > MOST_LEAVES)
		so->n_leaves = def->n_leaves;
}

void find_leaves(const simulator *s, const lowered *l, const lop *o, sim_op *so)
{
	const nest *n = o->nest;
	const lval_id *operand = l->operands.p + o->operands;
	if (!n) {
		for (uint32_t i = 0; i < o->n_operands; i++)
			read_leaf(s, l, so, operand[i], false, s->vals[o->results].bytes);
		return;
	}
	const sim_nested *nested = nested_of(s, o);
	bool spread[MAX_NESTED];
	for (uint32_t j = n->n_ops; j-- > 0;)
		spread[j] = nested[j].spread || nested[j].little ||
			(n->ops[j].reader != NEST_ROOT && spread[n->ops[j].reader]);
	for (uint32_t j = 0; j < n->n_ops; j++)
		for (uint32_t i = 0; i < n->ops[j].n_reads; i++)
			if (n->reads[n->ops[j].first_read + i] == NEST_OPERAND)
				read_leaf(s, l, so, *operand++, spread[j], nested[j].bytes);
	for (const lval_id *end = l->operands.p + o->operands + o->n_operands; operand < end; operand++)
		read_leaf(s, l, so, *operand, false, s->vals[o->results].bytes);
}
