/* One op's factors on the tensors that it reads and makes, for whoever chooses the axes that they
 * have in common: Shardy's rules (explicit.c) or XLA's partitioner (partition_op.c). */
#ifndef SW_LOWER_GRID_H
#define SW_LOWER_GRID_H

#include "lower/internal.h"

typedef struct cell { /* one factor of one tensor */
	axes axes, overflow;
	bool present, closed, minor_most;
} cell;

typedef struct grid {
	const rule *rule;
	const explicit_op *op;
	const sharding_table *t;
	arena *mem;
	uint32_t n_tensors;
	cell *cells;  /* tensor * n_factors + factor */
	axes *common; /* by factor */
	axes *after;  /* by factor: of the result once it is gathered behind the op; NULL: it is not */
} grid;

static inline cell *at_cell(const grid *g, uint32_t tensor, uint32_t f)
{
	return &g->cells[tensor * g->rule->n_factors + f];
}
static inline uint32_t rank_of(const rule *r, uint32_t tensor)
{
	return r->tensor_first[tensor + 1] - r->tensor_first[tensor];
}
static inline bool is_type(const grid *g, uint32_t f, factor_type type)
{
	return g->rule->factor_types[f] == type;
}

/* Cuts the list in front of the first part of it that overlaps the others; true when it did. */
bool truncate_by(arena *mem, axes *l, axes others);

/* Gives the factors the axes with which XLA's partitioner computes the op: it goes op by op from
 * the shardings that propagation left, and most ops are computed where their result is wanted,
 * reductions where their first operand is. common: empty lists, filled from mem. False for ops that
 * are not modelled: those that look at their neighbours' elements, and convolutions that windows
 * cut. */
bool choose_as_partitioner(grid *g);

#endif
