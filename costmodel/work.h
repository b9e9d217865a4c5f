/* Private to costmodel: one op with the shardings it computes with, and what the cost functions
 * share. */
#ifndef SW_COSTMODEL_WORK_H
#define SW_COSTMODEL_WORK_H

#include "costmodel/costmodel.h"

typedef struct op_view {
	const program *p;
	const sharding_table *t;
	const node *n;
	const sharding_id *at;
} op_view;

/* Slots: operands, then results. NULL for a slot that carries no tensor. */
static inline const ir_type *slot_type(const op_view *v, uint32_t slot)
{
	pval_id pv = slot < (uint32_t)v->n->n_operands + v->n->n_results ? node_slots(v->p, v->n)[slot]
																	 : ID_NONE;
	const ir_type *ty = pv == ID_NONE ? NULL : pval_type(v->p, pv);
	return ty && ty->kind == TYPE_TENSOR && !ty->dynamic ? ty : NULL;
}
static inline uint32_t result_slot(const op_view *v, uint32_t i) { return v->n->n_operands + i; }
/* Local size of a dim; 1 when the slot or dim does not exist. */
int64_t local_dim(const op_view *v, uint32_t slot, int64_t dim);
int64_t local_elements(const op_view *v, uint32_t slot);
int64_t local_bytes(const op_view *v, uint32_t slot);

/* contract.c */
void cost_dot(const op_view *v, op_work *w);
void cost_convolution(const op_view *v, op_work *w);
void cost_attention(const op_view *v, op_work *w);

/* linalg.c */
int64_t dft_stages(int64_t points); /* products one after the other */
void cost_cholesky(const op_view *v, op_work *w);
void cost_triangular_solve(const op_view *v, op_work *w);
/* Of a custom call with that target; false when it is no linear algebra. */
bool cost_linalg_call(const op_view *v, str target, op_work *w);

#endif
