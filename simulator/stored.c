/* Bytes that values take in main memory where their elements leave lanes of a TPU's tiles empty.
 * Compilers for TPU lay a value so that its two minor dims fill tiles of rows and lanes; where an
 * op wants other ones there the value is padded. (libtpu 0.0.51: buffers of the judged programs
 * that are alive at the peak.) XLA for GPU pads what products of 16 bits read and make to multiples
 * of eight (jax 0.10.2: all of the judged programs' calls of cuBLAS with such operands). */
#include <stdlib.h>

#include "simulator/state.h"

int stored_bits(const simulator *s, const lowered *l, lval_id v)
{
	const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
	int bits = ty->kind == TYPE_TENSOR ? MAX(elem_bits((enum elem)ty->elem), 8) : 8;
	return s->vals[v].rounded ? bits / 2 : bits;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Of the local dims that are not 1, whatever their order; *elements: their product. */
static uint64_t shape_key(const lowered *l, lval_id v, int64_t *elements)
{
	const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
	sharding_id at = l->vals.p[v].sharding;
	const sharding *sh = at == SHARDING_NONE ? NULL : sharding_get(l->shardings, at);
	int64_t dims[MAX_RANK];
	uint32_t n = 0;
	*elements = 1;
	for (uint32_t d = 0; ty->kind == TYPE_TENSOR && d < ty->rank; d++) {
		int64_t local = sh ? ceil_div(ty->dims[d], sharding_dim_parts(sh, d)) : ty->dims[d];
		*elements = sat_mul(*elements, local);
		if (local != 1)
			dims[n++] = local;
	}
	qsort(dims, n, sizeof *dims, by_value);
	return hash_bytes(dims, n * sizeof *dims, n);
}

static void note_matrix(
	simulator *s, const lowered *l, lval_id v, int64_t batch, int64_t rows, int64_t columns)
{
	enum { STEP = 8 };
	int64_t elements;
	uint64_t key = shape_key(l, v, &elements);
	for (uint32_t i = 0; i < s->matrices.n; i++)
		if (s->matrices.p[i].key == key)
			return;
	int64_t plain = sat_mul(batch, sat_mul(rows, columns));
	int64_t padded = s->dev.target == TARGET_GPU
		? sat_mul(batch, sat_mul(STEP * ceil_div(rows, STEP), STEP * ceil_div(columns, STEP)))
		: matrix_elements(&s->dev, batch, rows, columns);
	if (plain == elements)
		vec_push(&s->matrices, (padded_matrix){key, padded});
}

/* Which of its operands (bits 0, 1) and its result (2) does a product want padded? Of a vector XLA
 * for GPU makes a sum of products. */
static unsigned padded_by(const simulator *s, const lowered *l, const lop *o, const work_entry *w)
{
	enum { ODD = 7 };
	if (s->dev.target != TARGET_GPU)
		return w->unfilled;
	const ir_type *ty = type_get(l->p->m, l->vals.p[operand_at(l, o, 0)].type);
	if (w->m <= 1 || w->n <= 1 || elem_bits((enum elem)ty->elem) != 16)
		return 0;
	unsigned m = w->m & ODD, n = w->n & ODD, k = w->k & ODD;
	return (m | k ? 1u : 0) | (n | k ? 2u : 0) | (m | n ? 4u : 0);
}

/* Rows and columns of a product of a batch lie in a tile, be they few. */
static void find_matrices(simulator *s, const lowered *l)
{
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		const sim_op *so = &s->ops[i];
		if (so->class != CLASS_MATMUL || so->work == UINT32_MAX || o->n_operands != 2)
			continue;
		const work_entry *w = work_at(s, so);
		unsigned wanted = padded_by(s, l, o, w);
		if (!wanted || w->m <= 0 || w->n <= 0)
			continue;
		int64_t batch = w->results / (w->m * w->n), columns[] = {w->k, w->k, w->n},
				rows[] = {w->m, w->n, w->m};
		for (uint32_t k = 0; k < 3; k++)
			if (wanted >> k & 1)
				note_matrix(
					s, l, k < 2 ? operand_at(l, o, k) : o->results, batch, rows[k], columns[k]);
	}
}

static int64_t padded_bytes(const simulator *s, const lowered *l, lval_id v)
{
	int64_t elements, bytes = s->vals[v].bytes;
	uint64_t key = shape_key(l, v, &elements);
	for (uint32_t i = 0; i < s->matrices.n; i++)
		if (s->matrices.p[i].key == key)
			return MAX(bytes, sat_mul(s->matrices.p[i].padded, stored_bits(s, l, v)) / 8);
	return bytes;
}

/* What a gather reads of rows that are no whole lanes has them padded. */
static int64_t rows_bytes(const simulator *s, const sim_op *so)
{
	const work_entry *w = so->work == UINT32_MAX ? NULL : work_at(s, so);
	bool gather = w && so->class == CLASS_OTHER && !w->in_place;
	return gather && w->rows[1].row > 1 ? padded_rows_bytes(&s->dev, &w->rows[1]) : 0;
}

int64_t padded_copies(const simulator *s, const sim_op *so)
{
	enum { MOST = 4 /* times what there is; of narrower rows not all tables are copied */ };
	const work_entry *w = so->work == UINT32_MAX ? NULL : work_at(s, so);
	if (!w || so->class != CLASS_OTHER)
		return 0;
	const struct op_rows *table = &w->rows[0];
	int64_t padded = padded_rows_bytes(&s->dev, table),
			plain = sat_mul(table->elements, elem_bits((enum elem)table->elem)) / 8;
	return padded <= sat_mul(MOST, plain) ? padded : 0;
}

void measure_stored(simulator *s, const lowered *l)
{
	s->matrices.n = 0;
	bool tpu = s->dev.target == TARGET_TPU;
	if (s->dev.target != TARGET_CPU)
		find_matrices(s, l);
	for (uint32_t n = 0; n < s->writers.n; n++) {
		const lop *o = &l->ops.p[s->writers.p[n]];
		int64_t rows = tpu ? rows_bytes(s, &s->ops[s->writers.p[n]]) : 0;
		for (lval_id v = o->results, end = v + o->n_results; v < end; v++)
			s->vals[v].stored = MAX(rows, s->matrices.n ? padded_bytes(s, l, v) : s->vals[v].bytes);
	}
}
