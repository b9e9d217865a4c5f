/* One op in factor space: the compact form that the strategies work on; private to propagate/. Axis
 * lists are views into interned shardings or into the arena of the step, so expanding a factor is
 * one assignment. */
#ifndef SW_FACTORS_H
#define SW_FACTORS_H

#include "propagate/propagate.h"

typedef struct factor_cell {
	axes axes, overflow;
	bool present, closed, minor_most;
} factor_cell;

/* Directions by factor: bit f of forward tells that factor f may carry axes from operands to
 * results. */
typedef struct factor_directions {
	uint64_t forward, backward;
} factor_directions;
static inline direction factor_direction(factor_directions d, uint32_t f)
{
	return (direction)((d.forward >> f & 1) | (d.backward >> f & 1) << 1);
}

typedef struct factor_grid {
	const rule *rule;
	const sharding_table *shardings;
	mesh_id mesh;
	bool conservative, elementwise;
	uint32_t n_tensors;
	factor_directions dirs;
	factor_cell *cells;           /* tensor * n_factors + factor */
	axes *replicated, *unreduced; /* by tensor */
	bool *changed;                /* by tensor: some factor was expanded */
	arena *mem;
} factor_grid;

static inline factor_cell *grid_cell(const factor_grid *g, uint32_t tensor, uint32_t factor)
{
	return &g->cells[tensor * g->rule->n_factors + factor];
}

/* projection.c */
void grid_init(factor_grid *g, const rule *r, const sharding_table *t, mesh_id mesh, arena *mem);
/* Fills the cells of one tensor from its sharding; SHARDING_NONE (or a sharding of another rank)
 * has no axes. */
void grid_project(factor_grid *g, uint32_t tensor, sharding_id sh, bool missing_closed);
/* The sharding that the cells of a tensor stand for. */
void grid_sharding(const factor_grid *g, uint32_t tensor, sharding_edit *out);

/* basic.c: shared by both strategies */
/* Axes that all tensors agree on along a factor, major to minor, conflicts with other factors not
 * looked at. The list lives in the grid's arena and may be written to. */
axes compatible_major_axes(const factor_grid *g, uint32_t factor);
/* What tensor can take of axis a as next axis of factor, after axes of total size prev: false when
 * nothing. */
bool prefix_within_factor(const factor_grid *g, uint32_t tensor, uint32_t factor, axis_ref a,
	int64_t prev, axis_ref *out);
/* What is left of a beside the axes of the tensor's other factors. */
bool prefix_across_factors(
	const factor_grid *g, uint32_t tensor, uint32_t factor, axis_ref a, axis_ref *out);
bool is_sub_axis(const factor_grid *g, axis_ref a);
/* Gives the factor of a tensor the longer list; false when it does not have the factor or is no
 * strict prefix. */
bool grid_expand(factor_grid *g, uint32_t tensor, uint32_t factor, axes list);
void propagate_basic(factor_grid *g);

/* aggressive.c */
void propagate_aggressive(factor_grid *g);

#endif
