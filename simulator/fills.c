/* Values that are filled with one number: zeros that a scatter adds to, and those that a loop
 * writes what it makes into, turn by turn.
 *
 * libtpu 0.0.51 leaves the latter as they are where the loop writes all of them from the first
 * place on. It fills them where the loop runs from the last place to the first, and where the zeros
 * of another loop are of the same type: equal ones are one value to it (`stacked` in
 * tests/judged/kernels.py). */
#include "simulator/kernel.h"

enum { LONGEST_INDEX = 8 };

static uint16_t kind_of(const lowered *l, node_id id)
{
	return id == ID_NONE ? OP_UNKNOWN : l->p->nodes.p[id].op_kind;
}

/* Is an index worked out by a subtraction, as that of a loop which runs backwards? */
static bool is_counted_down(const lowered *l, lval_id index, uint32_t depth)
{
	const lop *o = &l->ops.p[l->vals.p[index].def];
	if (o->kind != LOP_COMPUTE || depth > LONGEST_INDEX)
		return false;
	for (uint32_t i = 0; o->nest && i < o->nest->n_ops; i++)
		if (kind_of(l, o->node - o->nest->ops[i].before) == OP_SUBTRACT)
			return true;
	uint16_t kind = kind_of(l, o->node);
	if (kind == OP_SUBTRACT)
		return true;
	if (kind != OP_SELECT && kind != OP_ADD && kind != OP_CONVERT && kind != OP_RESHAPE)
		return false;
	for (uint32_t i = 0; i < o->n_operands; i++)
		if (is_counted_down(l, operand_at(l, o, i), depth + 1))
			return true;
	return false;
}

/* Does the loop write from the last place of operand k to the first? */
static bool is_written_backwards(const simulator *s, const lowered *l, lop_id loop, uint32_t k)
{
	const lop *open = &l->ops.p[loop], *close = &l->ops.p[s->ops[loop].end];
	if (k >= open->n_results || k >= close->n_operands)
		return false;
	const lop *made = &l->ops.p[l->vals.p[operand_at(l, close, k)].def];
	if (made->kind != LOP_COMPUTE || kind_of(l, made->node) != OP_DYNAMIC_UPDATE_SLICE)
		return false;
	for (uint32_t i = 2; i < made->n_operands; i++)
		if (is_counted_down(l, operand_at(l, made, i), 0))
			return true;
	return false;
}

static bool is_splat_of(const simulator *s, const lowered *l, lval_id v, const lval *like)
{
	if (l->vals.p[v].type != like->type || l->vals.p[v].sharding != like->sharding)
		return false;
	const sim_op *def = &s->ops[s->vals[base_of(s, v)].def];
	return def->work != UINT32_MAX && def->class == CLASS_ELEMENTWISE && work_at(s, def)->fills;
}

/* Does the loop begin with such a value, and is one written backwards? */
static bool takes(
	const simulator *s, const lowered *l, lop_id loop, const lval *like, bool *backwards)
{
	const lop *o = &l->ops.p[loop];
	bool found = false;
	for (uint32_t k = 0; k < o->n_operands; k++)
		if (is_splat_of(s, l, operand_at(l, o, k), like)) {
			found = true;
			*backwards |= is_written_backwards(s, l, loop, k);
		}
	return found;
}

static bool is_left_unfilled(const simulator *s, const lowered *l, lval_id v, lop_id reader)
{
	bool backwards = false;
	uint32_t loops = 0;
	for (uint32_t i = 0; i < s->loops.n; i++)
		if (takes(s, l, s->loops.p[i], &l->vals.p[v], &backwards))
			loops += times(s, s->loops.p[i], reader);
	return loops <= 1 && !backwards;
}

int64_t kernel_filled_elements(const simulator *s, const lowered *l, const kernel *k)
{
	const sim_op *so = &s->ops[k->root];
	const lop *o = &l->ops.p[k->root];
	if (s->dev.target != TARGET_TPU || k->members != 1 || k->n_reads > 1 ||
		(k->n_reads && !is_little(k->read[0].elements, k->written)) || o->n_results != 1 ||
		so->work == UINT32_MAX || so->class != CLASS_ELEMENTWISE || !work_at(s, so)->fills)
		return 0;
	const sim_val *v = &s->vals[o->results];
	lop_id reader = MIN(v->external_min, MIN(v->copied_min, v->group_min));
	if (reader == ID_NONE)
		return k->written;
	if (l->ops.p[reader].kind == LOP_REGION)
		return is_left_unfilled(s, l, o->results, reader) ? 0 : k->written;
	if (s->ops[reader].class != CLASS_OTHER)
		return k->written;
	/* a scatter of single rows fills what it adds to itself */
	return s->ops[reader].windows_work ? in_whole_tiles(&s->ops[reader], k->written) : 0;
}
