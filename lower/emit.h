/* Private to lower/emit*.c: the module of one device under construction. */
#ifndef SW_LOWER_EMIT_H
#define SW_LOWER_EMIT_H

#include "lower/internal.h"

/* A number for every device, and this device's. */
typedef struct emit_table {
	const int64_t *by_logical;
	value_id value;
} emit_table;

/* What an op gave that reads something gathered, and the region it is in. */
typedef struct emit_reader {
	lval_id result;
	region_id region;
} emit_reader;
enum { READERS_AHEAD = 2, READERS_KEPT = 16 };

typedef struct emitter {
	const lowered *l;
	const program *p;
	module *
		m; /* a copy of the program's module; the new main is built in it, then the old code goes */
	const device_mesh *mesh; /* NULL: one device */
	int64_t n_devices;
	region_id at;    /* where ops are appended */
	value_id *value; /* by lval */
	bool *summed;  /* by lval: made whole where it was computed, so its all_reduce is not needed */
	bool *reduced; /* by lval: partial results that a collective sums as they are */
	emit_form form;
	value_id device;        /* replica_id or partition_id, ID_NONE until it is needed */
	VEC(emit_table) tables; /* looked up already */
	op_id prologue;         /* the last op of what all of the body may use; ID_NONE: none yet */
	region_id body;         /* of main, or of its manual computation */
	op_id old_main;         /* the program's */
	op_id manual;           /* EMIT_GLOBAL: the manual computation */
	loc_id loc;             /* of the lop that is being written */
	index_map gathers;      /* emit_again.c: lops, by operand and what they give */
	emit_reader readers[READERS_KEPT]; /* a ring of the latest ones */
	uint32_t n_readers;
	lop_id *last_use; /* by lval */
	tensor_factors
		*projected; /* room for one projection, which is too large to make anew for every op */
	arena mem;
	diag *d;
} emitter;

/* ---------------------------------------------------------------- emit_again.c */

/* The operand of an all_gather; behind a barrier where an equal gather has been written. */
value_id emit_again(emitter *e, const lop *gather, value_id v);
/* Before the first op is written. */
void emit_find_last_uses(emitter *e);
/* An op has been written. */
void emit_note_reader(emitter *e, const lop *o);

/* ---------------------------------------------------------------- emit_global.c */

/* Arguments of the new main, and the manual computation that takes them; e->body becomes its
 * region. ERR_UNSUPPORTED where the program's arguments or results cannot cross the edge of one. */
status emit_global_open(emitter *e, op_id main) MUST_USE;
/* Behind the body: main's return, its names and donations. */
void emit_global_close(emitter *e, op_id main);
/* When nothing of the old program is left: the mesh, and shardings of main and of the manual
 * computation. */
void emit_global_shardings(emitter *e);

/* Factors that the tensors of an op are cut along. */
typedef struct cut_factors {
	uint64_t cut, uneven, unlike; /* masks; uneven: some device has padding; unlike: not cut alike
	                                 in all tensors that have it */
	bool odd;                     /* a dim without factors is cut */
	axes axes[MAX_FACTORS];
} cut_factors;

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
value_id emit_broadcast(emitter *e, value_id v, const int64_t *dims, uint32_t n, const ir_type *to);
value_id emit_compare(emitter *e, const char *way, value_id a, value_id b);
/* Of floats in their total order. */
value_id emit_compare_totally(emitter *e, const char *way, value_id a, value_id b);
value_id emit_select(
	emitter *e, value_id where, value_id v, value_id otherwise); /* otherwise: a scalar */
/* Padded at the end of dim d, or cut off there. */
value_id emit_resized(emitter *e, value_id v, uint32_t d, int64_t size);
/* The scalar fill (ID_NONE: zero) where a part of dim d, of `size` elements in all and cut by the
 * axes, is padding. */
value_id emit_masked(emitter *e, value_id v, uint32_t d, axes cut, int64_t size, value_id fill);
/* Partial sums whose sum over the axes is v. */
value_id emit_summand(emitter *e, value_id v, axes l);
/* All of a value of that type that is cut as sh; and back. */
value_id emit_whole(emitter *e, value_id v, type_id type, sharding_id sh);
value_id emit_shard(emitter *e, value_id v, sharding_id sh);

/* ---------------------------------------------------------------- emit_collectives.c */

/* Devices here are logical ones: their positions in the mesh. */
int64_t emit_coordinate(const device_mesh *m, int64_t logical, axes l);
/* The logical device with another coordinate along the axes. */
int64_t emit_peer(const device_mesh *m, int64_t logical, axes l, int64_t at);
value_id emit_constant(emitter *e, type_id type, const char *text);
attr_id emit_dense(emitter *e, type_id type, const char *text, size_t n);
op_id emit_op(emitter *e, op_kind kind, const value_id *operands, uint32_t n, type_id result,
	uint32_t n_regions);
value_id emit_device_id(emitter *e);
/* This device's entry of a list by logical device, as a scalar i32. */
value_id emit_by_device(emitter *e, const int64_t *by_logical);
/* Coordinate of this device along the axes, times scale, as a scalar i32. */
value_id emit_offset(emitter *e, axes l, int64_t scale);
/* Along dim d; size: of one device's part behind it. */
value_id emit_gather(emitter *e, value_id v, uint32_t d, axes l, int64_t size);
value_id emit_slice(emitter *e, value_id v, uint32_t d, axes l, int64_t size);
value_id emit_sum(emitter *e, value_id v, axes l, op_kind reduction);
/* The own part along dim d of the sum over the axes. */
value_id emit_scatter(emitter *e, value_id v, uint32_t d, axes l, int64_t size);
/* source: by logical device, whose v it gets; -1: zeros. No device sends to two. */
value_id emit_sent(emitter *e, value_id v, const int64_t *source);
/* The only region of an op: one op on two scalars. */
void emit_body(emitter *e, op_id o, elem k, op_kind reduction);
/* A step of a reshard, or a reduce_scatter, of a value of that type; where the two cuts do not
 * nest, by way of the whole value. */
value_id emit_collective(emitter *e, const collective_step *s, value_id v, type_id whole);
/* The same of what every device has the sum of already: a reduce_scatter moves nothing. */
value_id emit_own_part(emitter *e, const collective_step *s, value_id v, type_id whole);

/* ---------------------------------------------------------------- emit_index.c */

/* The factor is a dim of the first operand that indices of a gather or scatter point into, one
 * element at a time. */
bool emit_indexes(const emitter *e, const node *n, const rule *r, uint32_t f);
/* Positions in the device's part. inside: where a gather's are there, by the dims of the result
 * that are no offsets. */
value_id emit_local_indices(
	emitter *e, const node *n, const lop *o, value_id indices, value_id *inside);
/* The result of a gather with zeros where it is not inside. */
value_id emit_gathered_inside(emitter *e, const node *n, value_id v, value_id inside);

/* ---------------------------------------------------------------- emit_scatter.c */

/* The scatter on other operands, which are changed, with other result types. */
op_id emit_plain_scatter(emitter *e, const node *n, value_id *operands, const type_id *types);

/* ---------------------------------------------------------------- emit_ranges.c */

/* Elements [start, start + length) of dim d of a value, start by logical device; v: a part of the
 * dim, of `size` elements in all and cut by the axes. What lies outside is the scalar fill; with
 * ID_NONE it may be anything. No size may be 0. */
value_id emit_range(emitter *e, value_id v, uint32_t d, axes cut, int64_t size,
	const int64_t *start, int64_t length, value_id fill);
/* Along one dim: a slice, the same from a scalar on, the same from a number by logical device on,
 * padding, a concatenation. */
value_id emit_stretch(emitter *e, value_id v, uint32_t d, int64_t from, int64_t to);
value_id emit_dynamic_stretch(emitter *e, value_id v, uint32_t d, value_id from, int64_t size);
value_id emit_own_stretch(emitter *e, value_id v, uint32_t d, const int64_t *from, int64_t size);
value_id emit_padded(emitter *e, value_id v, uint32_t d, int64_t low, int64_t high,
	value_id fill); /* ID_NONE: zeros */
value_id emit_joined(emitter *e, const value_id *list, uint32_t n, uint32_t d);
value_id emit_number(emitter *e, type_id type, int64_t x); /* integers */
/* n integers in a row, from the scalar on. */
value_id emit_positions(emitter *e, int64_t n, value_id first);
/* v where the positions, one for each place of dim d, are in [from, to), the other value (or
 * scalar) elsewhere; INT64_MIN and INT64_MAX: no bound. */
value_id emit_choice(emitter *e, value_id positions, int64_t from, int64_t to, uint32_t d,
	value_id v, value_id otherwise);

/* ---------------------------------------------------------------- emit_windows.c */

/* What a device reads of a dim that a window moves along, and where its windows lie in it. */
typedef struct placed_windows {
	int64_t *start,
		*skip; /* by device: its first element; places in front of its own part of the result */
	int64_t length, low, high; /* elements; padding around them */
	int64_t places;            /* windows, those in front included */
} placed_windows;
/* For places of the result that are cut by the axes, and taps that are (of a kernel in reverse
 * order). False: devices find their first element behind holes of different sizes. */
bool emit_place_windows(emitter *e, const halo_window *w, int64_t places, axes cut, axes taps_cut,
	bool reversed, placed_windows *out);
attr_id emit_padding(emitter *e, const int64_t *pairs, uint32_t windows);
/* No tensor is empty, and nothing so large that sums of products of it overflow. */
bool emit_is_modest(const emitter *e, const node *n, const halo_window *w, uint32_t windows);
/* A convolution's dims in space may be cut in any way: what c says of them is replaced by what the
 * program written here does. False: it has to run whole. */
bool emit_convolution_fits(emitter *e, const node *n, const lop *o, const rule *r, cut_factors *c);
/* A dim in space of an operand or the result of a convolution. */
bool emit_is_in_space(const emitter *e, const node *n, uint32_t slot, uint32_t d);
/* The op whose result is the device's part, or its summand. operands, type: on parts; the former
 * are changed. */
op_id emit_convolution(emitter *e, const node *n, const lop *o, const cut_factors *c,
	value_id *operands, type_id type);
/* ---------------------------------------------------------------- emit_moves.c */

/* An op that reads other places of dims than it writes; false: not one of these, or it has to run
 * whole. */
bool emit_moved(emitter *e, const node *n, const lop *o);
/* The same before anything is written; of windows whose start value would count more than once true
 * all the same. */
bool emit_may_move(emitter *e, const node *n, const lop *o);

/* ---------------------------------------------------------------- emit_top_k.c */

/* A top_k whose plan has it look through parts of its dim. */
bool emit_takes_candidates(const emitter *e, const node *n, const lop *o);
/* Its results, of all of the dim: what is gathered on the way is written, too. */
void emit_top_k(emitter *e, const node *n, const lop *o);

/* ---------------------------------------------------------------- emit_ops.c */

/* The type of an operand or result of the whole program. */
const ir_type *emit_slot_type(const emitter *e, const node *n, uint32_t slot);
/* The op on other operands with other result types. */
op_id emit_copy_op(emitter *e, const node *n, const value_id *operands, const type_id *types);
/* What the body, of two arguments, makes of them: one op, or OP_UNKNOWN. */
op_kind emit_body_op(const module *m, const ir_region *body);
bool emit_is_idempotent(op_kind k);
bool emit_is_number(const emitter *e, value_id v, double number); /* a constant in decimal digits */
bool emit_is_zero(const emitter *e, value_id v);

/* ERR_UNSUPPORTED for an op that has no counterpart in the program of one device. */
status emit_check_supported(emitter *e, const node *n) MUST_USE;
/* The op of a node on shards, or on whole values where shards would not do. */
status emit_compute(emitter *e, const lop *o) MUST_USE;
/* The op by which partial results of a node are combined; OP_UNKNOWN when it is no single op. */
op_kind emit_reduction(const module *m, op_id o);

#endif
