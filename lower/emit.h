/* Private to lower/emit*.c: the module of one device under construction. */
#ifndef SW_LOWER_EMIT_H
#define SW_LOWER_EMIT_H

#include "lower/internal.h"

/* A coordinate of this device, times a factor. */
typedef struct emit_offset_entry {
	axes along;
	int64_t scale;
	value_id value;
} emit_offset_entry;

typedef struct emitter {
	const lowered *l;
	const program *p;
	module *m;           /* a copy of the program's module; the new main is built in it, then the old code goes */
	const mesh *mesh;    /* NULL: one device */
	int64_t n_devices;
	region_id at;        /* where ops are appended */
	value_id *value;     /* by lval */
	bool *summed;        /* by lval: made whole where it was computed, so its all_reduce is not needed */
	bool *reduced;       /* by lval: partial results that a collective sums as they are */
	emit_form form;
	value_id device;     /* replica_id or partition_id, ID_NONE until it is needed */
	VEC(emit_offset_entry) offsets; /* tables that were looked up already */
	op_id prologue;      /* the last op of what all of the body may use; ID_NONE: none yet */
	region_id body;      /* of main, or of its manual computation */
	op_id old_main;      /* the program's */
	op_id manual;        /* EMIT_GLOBAL: the manual computation */
	loc_id loc;          /* of the lop that is being written */
	arena mem;
	diag *d;
} emitter;

/* ---------------------------------------------------------------- emit_global.c */

/* Arguments of the new main, and the manual computation that takes them; e->body becomes its region. ERR_UNSUPPORTED where the
 * program's arguments or results cannot cross the edge of one. */
status emit_global_open(emitter *e, op_id main) MUST_USE;
/* Behind the body: main's return, its names and donations. */
void emit_global_close(emitter *e, op_id main);
/* When nothing of the old program is left: the mesh, and shardings of main and of the manual computation. */
void emit_global_shardings(emitter *e);

/* ---------------------------------------------------------------- emit_parts.c */

int64_t emit_part(int64_t size, int64_t parts); /* ceil(size / parts) */
/* The type of one device's part, padding included. */
type_id emit_local_type(emitter *e, type_id type, sharding_id sh);
bool emit_is_even(const emitter *e, type_id type, sharding_id sh); /* no device has padding */
/* Parts of the finer of two cuts of a dim do not lie across the bounds of the coarser one. */
bool emit_cuts_nest(int64_t size, int64_t a, int64_t b);
bool emit_has_zero(const emitter *e, type_id type); /* to pad with */
type_id emit_resized_type(emitter *e, value_id v, uint32_t d, int64_t size);
value_id emit_scalar_zero(emitter *e, value_id like);
value_id emit_broadcast(emitter *e, value_id v, const int64_t *dims, uint32_t n, const struct type *to);
value_id emit_compare(emitter *e, const char *direction, value_id a, value_id b);
value_id emit_select(emitter *e, value_id where, value_id v, value_id otherwise); /* otherwise: a scalar */
/* Padded at the end of dim d, or cut off there. */
value_id emit_resized(emitter *e, value_id v, uint32_t d, int64_t size);
/* The scalar fill (ID_NONE: zero) where a part of dim d, of `size` elements in all and cut by the axes, is padding. */
value_id emit_masked(emitter *e, value_id v, uint32_t d, axes cut, int64_t size, value_id fill);
/* Partial sums whose sum over the axes is v. */
value_id emit_summand(emitter *e, value_id v, axes l);
/* All of a value of that type that is cut as sh; and back. */
value_id emit_whole(emitter *e, value_id v, type_id type, sharding_id sh);
value_id emit_shard(emitter *e, value_id v, sharding_id sh);

/* ---------------------------------------------------------------- emit_collectives.c */

value_id emit_constant(emitter *e, type_id type, const char *text);
op_id emit_op(emitter *e, op_kind kind, const value_id *operands, uint32_t n, type_id result, uint32_t n_regions);
value_id emit_device_id(emitter *e);
/* Coordinate of this device along the axes, times scale, as a scalar i32. */
value_id emit_offset(emitter *e, axes l, int64_t scale);
/* Along dim d; size: of one device's part behind it. */
value_id emit_gather(emitter *e, value_id v, uint32_t d, axes l, int64_t size);
value_id emit_slice(emitter *e, value_id v, uint32_t d, axes l, int64_t size);
value_id emit_sum(emitter *e, value_id v, axes l, op_kind reduction);
/* The own part along dim d of the sum over the axes. */
value_id emit_scatter(emitter *e, value_id v, uint32_t d, axes l, int64_t size);
/* The only region of an op: one op on two scalars. */
void emit_body(emitter *e, op_id o, elem k, op_kind reduction);
/* A step of a reshard, or a reduce_scatter, of a value of that type; where the two cuts do not nest, by way of the whole value. */
value_id emit_collective(emitter *e, const collective_step *s, value_id v, type_id whole);
/* The same of what every device has the sum of already: a reduce_scatter moves nothing. */
value_id emit_own_part(emitter *e, const collective_step *s, value_id v, type_id whole);

/* ---------------------------------------------------------------- emit_index.c */

/* The factor is a dim of the first operand that indices of a gather or scatter point into, one element at a time. */
bool emit_indexes(const emitter *e, const node *n, const rule *r, uint32_t f);
/* Positions in the device's part. inside: where a gather's are there, by the dims of the result that are no offsets. */
value_id emit_local_indices(emitter *e, const node *n, const lop *o, value_id indices, value_id *inside);
/* The result of a gather with zeros where it is not inside. */
value_id emit_gathered_inside(emitter *e, const node *n, value_id v, value_id inside);

/* ---------------------------------------------------------------- emit_ops.c */

/* The op of a node on shards, or on whole values where shards would not do. */
status emit_compute(emitter *e, const lop *o) MUST_USE;
/* The op by which partial results of a node are combined; OP_UNKNOWN when it is no single op. */
op_kind emit_reduction(const module *m, op_id o);

#endif
