/* Private to lower/emit*.c: the module of one device under construction. */
#ifndef SW_LOWER_EMIT_H
#define SW_LOWER_EMIT_H

#include "lower/internal.h"

typedef struct emitter {
	const lowered *l;
	const program *p;
	module *m;           /* a copy of the program's module; the new main is built in it, then the old code goes */
	const mesh *mesh;    /* NULL: one device */
	int64_t n_devices;
	region_id at;        /* where ops are appended */
	value_id *value;     /* by lval */
	bool *summed;        /* by lval: made whole where it was computed, so its all_reduce is not needed */
	value_id device;     /* replica_id, ID_NONE until it is needed */
	region_id body;      /* of main */
	loc_id loc;          /* of the lop that is being written */
	arena mem;
	diag *d;
} emitter;

/* ---------------------------------------------------------------- emit_collectives.c */

/* The type of one device's shard; ID_NONE when a dim is not cut evenly. */
type_id emit_local_type(emitter *e, type_id type, sharding_id sh);
value_id emit_constant(emitter *e, type_id type, const char *text);
op_id emit_op(emitter *e, op_kind kind, const value_id *operands, uint32_t n, type_id result, uint32_t n_regions);
value_id emit_collective(emitter *e, const collective_step *s, value_id v, op_kind reduction);
/* All of a value that is cut as sh; and back. */
value_id emit_whole(emitter *e, value_id v, sharding_id sh);
value_id emit_shard(emitter *e, value_id v, sharding_id sh);

/* ---------------------------------------------------------------- emit_ops.c */

/* The op of a node on shards, or on whole values where shards would not do. */
status emit_compute(emitter *e, const lop *o) MUST_USE;
/* The op by which partial results of a node are combined; OP_UNKNOWN when it is no single op. */
op_kind emit_reduction(const module *m, op_id o);

#endif
