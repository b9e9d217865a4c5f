/* Private to layout: modules that were lowered for GSPMD. */
#ifndef SW_LAYOUT_GSPMD_H
#define SW_LAYOUT_GSPMD_H

#include "layout/layout.h"

/* ---- gspmd_module.c */

/* What a sharding is of, for messages. */
typedef struct gspmd_place {
	op_id op;
	const char *what; /* "argument", "result"; NULL: the op */
	uint32_t index;
} gspmd_place;

/* The mhlo.sharding of an op, for a value of that type; *manual: the axes it is manual over, by
 * bit. Dims that the op leaves unspecified are open. */
status gspmd_read_op(module *m, mesh_id mesh, op_id o, type_id type, uint32_t *manual,
	sharding_edit *out, diag *d) MUST_USE;
/* ERR_UNSUPPORTED where what an op is manual over are not the axes of the shard_maps around it. */
status gspmd_is_within(
	const module *m, op_id o, uint32_t manual, uint32_t around, diag *d) MUST_USE;

/* ---- gspmd_manual.c */

/* By function: the axes that the shard_maps around its calls are manual over, by bit; GSPMD_MIXED
 * where its calls differ in that. */
#define GSPMD_MIXED UINT32_MAX
typedef struct gspmd_contexts {
	uint32_t *manual;
} gspmd_contexts;
status gspmd_contexts_find(gspmd_contexts *c, module *m, mesh_id mesh, diag *d) MUST_USE;
void gspmd_contexts_release(gspmd_contexts *c);
/* Of the function that an op is in. */
uint32_t gspmd_around(const gspmd_contexts *c, const module *m, op_id o);
/* Writes every shard_map as a manual computation. */
status gspmd_take_shard_maps(const gspmd_contexts *c, module *m, mesh_id mesh, diag *d) MUST_USE;

#endif
