/* Where loops and branches begin and end: copies of what they carry. */
#include "simulator/kernel.h"

/* What a loop runs on copies of is copied in front of it and, where the loop's result has a buffer
 * of its own, behind it. */
int64_t border_copies_ns(const simulator *s, const lowered *l, const lop *o, const lop *open)
{
	int64_t ns = 0;
	for (uint32_t i = 0; i < o->n_results && i < open->n_results && i < open->n_operands; i++) {
		if (!loop_copies(s, l, open, i) || s->vals[o->results + i].base != o->results + i)
			continue;
		const ir_type *ty = type_get(l->p->m, l->vals.p[open->results + i].type);
		ns = sat_add(ns,
			reorder_time_ns(
				&s->dev, s->vals[open->results + i].bytes, elem_bits((enum elem)ty->elem)));
	}
	return ns;
}

/* From which place of a loop what it yields at place i comes as it is: i itself for all else. */
static uint32_t carried_from(const lowered *l, const lop *end, const lop *open, uint32_t i)
{
	lval_id v = operand_at(l, end, i);
	return v >= open->results && v < open->results + open->n_results ? v - open->results : i;
}

/* Is place i the first of a ring of places that trade what they hold? */
static bool leads_ring(const lowered *l, const lop *end, const lop *open, uint32_t i, uint32_t n)
{
	uint32_t at = carried_from(l, end, open, i);
	for (uint32_t steps = 1; at > i && at < n && steps < n; steps++)
		at = carried_from(l, end, open, at);
	return at == i;
}

/* What a loop carries to another place is copied there in every turn, on TPU; of values that trade
 * places one is put aside first (the key schedule of random bits, rolled: three copies for two). */
int64_t border_traded_ns(const simulator *s, const lowered *l, const lop *end, const lop *open)
{
	int64_t ns = 0;
	uint32_t n = s->dev.target == TARGET_TPU ? MIN(end->n_operands, open->n_results) : 0;
	for (uint32_t i = 0; i < n; i++) {
		lval_id v = open->results + i;
		const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
		if (carried_from(l, end, open, i) == i || ty->kind != TYPE_TENSOR || ty->elements <= 1)
			continue;
		int64_t copies = leads_ring(l, end, open, i, n) ? 2 : 1,
				bytes = sat_mul(2, s->vals[v].bytes);
		ns = sat_add(
			ns, sat_mul(copies, sat_add(s->dev.op_launch_ns, memory_time_ns(&s->dev, bytes))));
	}
	return ns;
}
