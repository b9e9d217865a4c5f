/* lower: from a propagated program to per-device code with collectives, at four levels:
 *   placed     as Shardy places collectives (insert-explicit-reshards full, reshard-to-collectives)
 *   optimized  textbook rewrites on top: sum before reduce, all_reduce + slice to reduce_scatter,
 * common gathers
 *   compiled   what XLA's partitioner and passes emit for a target, combining included
 *   exact      our program of one device as a target's compiler takes it: the optimized level, combining included
 *
 *   reshard.c      sharding -> sharding as a sequence of collectives (pure)     explicit.c  per-op common axes (pure)
 *   cache.c        both memoised, local sizes                                  lowered.c   the placed per-device program
 *   by_dim.c       steps along several dims as steps along one
 *   halo.c         borders that windows over cut dims reach into
 *   given.c        collectives that the program itself names                 onto.c      scatters that are added to something
 *   nest.c         ops that are part of their readers
 *   optimize.c     the optimized level, with optimize_share, _sums and _scatter.c compiled.c  the compiled level
 *   passes.c       the two passes on a module                                  count.c     counts and lists for people
 *   emit.c emit_global.c emit_ops.c emit_index.c emit_scatter.c emit_parts.c emit_collectives.c
 * emit_again.c emit_ranges.c emit_windows.c emit_moves.c
 *                  per-device MLIR
 */
#ifndef SW_LOWER_H
#define SW_LOWER_H

#include "propagate/propagate.h"

/* Row: identifier, name in JSON and in sdy. */
/* clang-format off */
#define COLLECTIVE_TABLE(X) \
	X(ALL_REDUCE, "all_reduce") X(ALL_GATHER, "all_gather") X(REDUCE_SCATTER, "reduce_scatter") \
	X(ALL_TO_ALL, "all_to_all") X(COLLECTIVE_PERMUTE, "collective_permute") X(ALL_SLICE, "all_slice")
/* clang-format on */
typedef enum collective_kind {
#define X(id, name) COLL_##id,
	COLLECTIVE_TABLE(X)
#undef X
		COLL_COUNT
} collective_kind;
const char *collective_name(collective_kind k);

/* One collective of a reshard. gathered/sliced axes per dim for all_gather, all_slice,
 * reduce_scatter; moves for all_to_all; the union of the axes that communicate is `axes`, which is
 * what a cost needs. */
typedef struct collective_step {
	uint8_t kind;
	sharding_id in, out;
	axes axes;            /* communicating axes, sorted by mesh order; lives in the cache's arena */
	const axes *dim_axes; /* rank lists, for printing: all_gather / all_slice / reduce_scatter */
	struct a2a_move {
		axes axes;
		uint16_t source, target;
	} const *moves;
	uint32_t n_moves;
} collective_step;
typedef struct reshard_plan {
	uint32_t n;
	const collective_step *steps;
} reshard_plan;

/* Whose compiler makes the program. */
typedef enum lower_target { TARGET_TPU, TARGET_GPU, TARGET_CPU } lower_target;
/* What the target's compiler makes of a top_k. */
typedef enum top_k_way {
	TOP_K_SORT,     /* a sort of keys and positions, partitioned as one */
	TOP_K_OF_PARTS, /* those of each part in one pass, and of what is gathered of them the largest;
	                   all of it on every device where some devices have the same part */
	TOP_K_PACKED,   /* keys and positions in one word; all of it on every device */
	TOP_K_WHOLE,    /* all of it on every device */
} top_k_way;
/* Of a chlo.top_k, by the rows and the k that it has in the whole program. */
top_k_way top_k_way_of_op(const program *p, node_id id, lower_target target);

/* Memoised pure facts of lowering for one program and sharding table. One thread each. */
typedef struct lower_cache lower_cache;
lower_cache *lower_cache_new(const program *p, sharding_table *t);
void lower_cache_free(lower_cache *c);
/* The most bytes that facts may take; beyond them lower_program starts over with none. 0: no limit,
 * as at first. What was lowered before is no longer valid then. */
void lower_cache_limit(lower_cache *c, size_t bytes);

/* Whose compiler partitions, TPU's at first; dims of the torus that the devices of a slice form, 2
 * at first, and how many those are, 0: all of the mesh, as at first. On TPU these decide what
 * becomes of a reduce_scatter over all of them. */
void lower_cache_device(
	lower_cache *c, lower_target target, uint32_t torus_dims, int64_t slice_devices);
/* At the exact level: are gathers of parameters made again by each of their readers, so that nobody
 * holds what they give from the forward to the backward pass (reshard_after_forward of FSDP)? Not
 * at first: compilers make one of equal gathers, however far apart they are. Then a sum over all
 * devices is scattered axis by axis, too, where it is an all_reduce otherwise (optimize.c,
 * forms_scatter). */
void lower_cache_reshard_after_forward(lower_cache *c, bool on);

/* Over all devices of a slice XLA for TPU makes an all_reduce of a reduce_scatter, in a torus of
 * three dims and in a square. Seen in libtpu 0.0.51's programs: v5e and v6e 4x4, v5e 8x8 and 16x16,
 * each of two slices of v5e 4x4 and 16x16, v5p 2x2x2, 2x2x4, 2x4x4 and 4x4x4 do; v5e 2x2, 2x4, 4x8,
 * v6e 2x4 and v5p 2x2x1 do not, and no group of some of the devices does, along one dim or several.
 * Larger squares and tori are taken to be as these; none was compiled. */
bool tpu_reduces_whole(int64_t devices, int64_t group, uint32_t torus_dims);

/* Nodes, ascending, whose beginnings lowered programs tell. Collectives of marked programs are not
 * combined: whoever marks stretches of a program does so to repeat them, and combines what that
 * gives (combine_joins). */
void lower_cache_mark(lower_cache *c, const node_id *nodes, uint32_t n);

/* What a node may be where only costs are asked for. */
typedef enum nest_way {
	NEST_NOT,
	NEST_INSIDE,   /* elementwise, read by one elementwise op: part of that op (nested_op) */
	NEST_ANYWHERE, /* the same, made of constants alone: wherever it stands */
	NEST_DROPPED,  /* the broadcast of a constant, read by one elementwise op: nothing that a cost
	                  depends on */
	NEST_CONSTANT, /* reads nothing and takes no time: may stand between an op and what is nested in
	                  it */
} nest_way;
/* From now on programs at levels that are costed are for simulate() alone: nodes are nested as
 * `ways` (by node) allow, where all that they and their readers compute with stays where it is and
 * nothing runs in between. That halves the number of ops. Costs are those of the program without
 * nesting. */
void lower_cache_nest(lower_cache *c, const uint8_t *ways);
/* These nodes no longer. */
void lower_cache_unnest(lower_cache *c, const node_id *nodes, uint32_t n);

/* Steps from one sharding to another of a tensor type, as Shardy's greedy machine makes them. */
const reshard_plan *lower_reshard(lower_cache *c, sharding_id from, sharding_id to, type_id type);

/* How one node runs (insert-explicit-reshards, full version): the shardings at which its operands
 * are read and its results are produced, and the axes over which its results must be summed. Slots:
 * operands then results. */
typedef struct node_plan {
	const sharding_id *at; /* per slot, the sharding the op computes with */
	axes reduce;           /* all_reduce of every result over these axes; n = 0: none */
	bool whole; /* exact level: the op cannot run on the parts that its operands have: they are
	               gathered around it */
} node_plan;

/* ---------------------------------------------------------------- the per-device program */

typedef enum lop_kind {
	LOP_ARGUMENT, /* result: an argument of main */
	LOP_COMPUTE,  /* one node */
	LOP_COLLECTIVE,
	LOP_REGION,      /* while, case, manual computation: operands are the op's (while: the initial
	                    values), results the	  region arguments (while: one set for cond and body); the
	                    body follows up to its LOP_REGION_END */
	LOP_REGION_ELSE, /* end of a region, start of the next of the same op (while: cond, then body;
	                    case: each branch); operands: values that the region before it yields */
	LOP_REGION_END,  /* operands: values yielded by the last region; results: the op's results */
	LOP_RETURN,      /* of main; operands in result order */
} lop_kind;

typedef uint32_t lval_id, lop_id;
/* Ops that are part of the one op that reads them, and what that op's own node reads. A read is
 * NEST_OPERAND, the next operand of the lop, or the number of a nested op. Operands of nested ops
 * come first, in their order, then the node's own. */
enum { NEST_OPERAND = UINT8_MAX, NEST_ROOT = UINT8_MAX, MAX_NESTED = 64 };
typedef struct nested_op {
	const node_plan *plan;
	int64_t bytes;       /* local, of its result */
	uint32_t before;     /* its node is so many in front of the lop's */
	uint8_t reader;      /* a nested op; NEST_ROOT: the lop's own node */
	uint8_t n_reads;     /* without what was dropped */
	uint16_t first_read; /* in nest.reads */
} nested_op;
typedef struct nest {
	const nested_op *ops; /* ascending in program order */
	const uint8_t *reads;
	uint8_t n_ops, n_reads; /* n_reads: of the lop's own node, the last ones */
	uint16_t first_read;    /* .. from here on */
	uint16_t n_operands;    /* of the lop, and how many of them nested ops read */
	uint16_t n_nested_operands;
} nest; /* shared by ops whose trees are alike */
typedef struct lop {
	uint8_t kind, coll; /* collective_kind */
	uint8_t reduction;  /* of all_reduce / reduce_scatter: 0 add, 1 max, 2 min, 3 other */
	bool erased;
	bool halo;  /* LOP_COLLECTIVE, levels that are costed: given, and written with the op that
	               it is for. A permute of borders: operands are the value and, behind the first of
	               several permutes, what the one before it left; bytes: of the border. A gather of
	               what a top_k found in parts */
	bool given; /* LOP_COLLECTIVE: the program's own; only at the levels that are costed it is more
	               than a LOP_COMPUTE */
	node_id node; /* the node it comes from; ID_NONE for arguments of main */
	uint32_t operands, n_operands;
	lval_id results;
	uint16_t n_results;
	bool kept_all_reduce; /* compiled level: a reduce_scatter that XLA for TPU keeps an all_reduce,
	                         with a slice behind it */
	uint16_t combined; /* compiled level: how many logical collectives one instruction carries; on
	                      the first of them, 0 on the others, which have no latency of their own */
	int64_t ahead;     /* bytes of the members in front of it in that instruction */
	lop_id region;     /* enclosing LOP_REGION or ID_NONE */
	const node_plan *plan; /* LOP_COMPUTE; also LOP_COLLECTIVE that are given, at the exact level */
	const collective_step *step; /* LOP_COLLECTIVE */
	union {
		int64_t bytes; /* LOP_COLLECTIVE: local bytes of the larger side, per execution */
		int64_t trips; /* LOP_REGION: executions of the body */
	};
	const struct nest
		*nest; /* LOP_COMPUTE: what of its operands was nested or dropped; NULL: nothing */
} lop;
static inline node_id nested_node(const lop *o, const nested_op *x) { return o->node - x->before; }
/* Devices that take part in a collective together. */
static inline int64_t lop_group_size(const lop *o) { return axes_product(o->step->axes); }
typedef struct lval {
	pval_id origin; /* program value whose data it is (possibly partial or differently sharded) */
	sharding_id sharding;
	int64_t bytes; /* local, before tile padding */
	lop_id def;
	type_id type;
	uint32_t n_uses;
	bool narrow; /* compiled level: held in two bytes of its four, as the matmuls that read it take
	                it */
} lval;
typedef enum lower_level {
	LEVEL_PLACED,
	LEVEL_OPTIMIZED,
	LEVEL_COMPILED, /* of the annotated program: what the target's partitioner and passes make of
	                   its shardings */
	LEVEL_EXACT,    /* of our own program of one device (EMIT_GLOBAL): what is written, and what the
	                   target's passes combine */
} lower_level;
static inline bool level_is_costed(lower_level l) { return l >= LEVEL_COMPILED; }

/* Two marked stretches: what was gathered for the one, the other reads too, because they are near
 * to each other in this program. In one that repeats stretches in between they may not be. */
typedef struct lowered_span {
	uint32_t from, to;
} lowered_span;

/* Flat arrays, reused between calls: nothing is allocated once they have grown. Plans and steps
 * live in the cache. Erased lops stay with erased = true. */
typedef struct lowered {
	const program *p;
	sharding_table *shardings;
	VEC(lop) ops;
	VEC(lval) vals;
	VEC(lval_id) operands;
	lower_level level;
	lower_target target;
	bool reshards_after_forward; /* equal gathers are kept apart */
	VEC(lval_id) results;        /* of main */
	VEC(lop_id)
	starts; /* by mark of the cache (lower_cache_mark): the first op at or behind that node */
	VEC(lowered_span) spans; /* of a marked program */
	uint64_t facts; /* plans and steps are those of the cache as long as this stays the same; no two
	                   caches share a number */
} lowered;
lowered *lowered_new(const program *p, sharding_table *t);
void lowered_free(lowered *l);
/* shardings: by pval, as propagation left them (a missing one is replicated). */
/* The placed level is what Shardy gives; above it, ops without a rule get whole operands unless
 * they are elementwise. */
void lower_program(lower_cache *c, const sharding_id *shardings, lower_level level,
	lower_target target, lowered *out);

/* How a node runs at a costed level of a program with these shardings, by itself; NULL where
 * partial sums among its operands make that depend on what is around it. Lives until the next
 * lower_program. */
const node_plan *lower_node_plan(
	lower_cache *c, lower_level level, const sharding_id *shardings, node_id n);
/* Bytes of one device's part of a value there. */
int64_t lower_value_bytes(
	lower_cache *c, lower_level level, const sharding_id *shardings, pval_id v);
/* lowered.facts of these plans. */
uint64_t lower_facts(const lower_cache *c);

/* Combining at the compiled level: collectives of equal kind, devices, element type and loop become
 * one instruction while none of them has to wait for the result of another, up to a size.
 * Positions: any numbers in program order. */
typedef struct combine_group { /* all zero: no instruction is open */
	uint64_t closes;           /* the first op that reads a member's result */
	int64_t bytes;             /* of the larger sides of its members */
	uint16_t n;
} combine_group;
enum {
	MAX_OPEN_GROUPS = 64 /* at a time: kinds times sets of devices times element types; those beyond
	                        are not combined */
};
bool lop_combines(const lowered *l, const lop *o);
/* By value, the first op that reads it (ID_NONE: none does); of collectives that compilers move,
 * behind what only hands it on. Those are all in the program of one device and on GPU, and
 * all_reduces on TPU. */
void lowered_first_uses(const lowered *l, lop_id *first_use);
/* By value of a program for GPU, behind which op it can be made: the last one on the way to it that
 * reads what a collective made, as twice its number; and 1 where the value itself is only that. */
void lowered_dependences(const lowered *l, lop_id *after);
/* From where in the program on it can be in an instruction: the op itself; of one that compilers
 * move what makes its operand, on GPU what that must wait for. after: lowered_dependences. */
lop_id lop_combines_from(const lowered *l, lop_id o, const lop_id *after);
/* The last op that may be a member; ID_NONE: there is none. */
lop_id lowered_last_combining(const lowered *l);
/* Of those that compilers for TPU and CPU move, what is only read behind the last of them, as
 * gradients are by an optimizer, has instructions of its own: what is read earlier does not end
 * them. */
bool lops_combine_alike(const lowered *l, lop_id a, lop_id b, const lop_id *first_use, lop_id last);
/* True: the collective is one more member of the open instruction. False: it opens a new one. */
bool combine_joins(const lowered *l, const lop *o, combine_group *g, uint64_t at,
	uint64_t first_use, int64_t bytes);

/* Static instruction counts by kind (combined ones count once). */
void lowered_counts(const lowered *l, int64_t counts[COLL_COUNT]);
/* Executions per step of the lop: product of the trip counts around it. */
int64_t lop_executions(const lowered *l, lop_id o);
/* Is it a collective that the program's text has? given.c */
bool lop_is_own(const lowered *l, const lop *o);

/* One collective of a list for people: axes on the program's mesh, bytes of the larger side per
 * execution, op: the IR op it belongs to (ID_NONE: none). All but all_slice, in program order. */
typedef struct collective_record {
	collective_kind kind;
	axes axes;
	int64_t bytes, trip_count;
	uint16_t combined;
	op_id op;
	lop_id lop;
} collective_record;
typedef void (*collective_visit)(void *user, const collective_record *c);
void lowered_collectives(const lowered *l, collective_visit visit, void *user);

/* How the program of one device is written. */
typedef enum emit_form {
	EMIT_DEVICE, /* by itself, for one replica per device: replica k is device k of the mesh (by
	                device id), arguments and results of main are that device's parts */
	EMIT_GLOBAL, /* as the body of one manual computation over all axes of the mesh: arguments and
	                results of main are whole, with their shardings, donation and names; one
	                partition per device */
} emit_form;
/* Per-device MLIR of the placed, optimized or exact level with sdy collectives turned into
 * stablehlo ones on local types. What ops with windows or shifts along cut dims read of other parts
 * is exchanged. Ops that shards alone would get wrong (random numbers, custom calls, sorts along a
 * cut dim) run on whole operands and are sliced. Parts of a dim that is not cut evenly are padded
 * to the size of the first. ERR_UNSUPPORTED, with the position, for ops of EMIT_REFUSED. */
status lower_emit_mlir(const lowered *l, emit_form form, strbuf *out, diag *d) MUST_USE;

/* Can it be written whatever the shardings are? ERR_UNSUPPORTED, with the position, for the first
 * op that stands against it. */
status lower_check_emits(const program *p, const sharding_table *t, mesh_id mesh, diag *d) MUST_USE;

/* How it writes an op. */
typedef enum emit_way {
	EMIT_SHARDS,  /* on shards, where its attributes and the way it is cut allow it; else whole */
	EMIT_MANUAL,  /* the same, in the body of a manual computation; elsewhere refused */
	EMIT_WHOLE,   /* on whole operands; every device keeps its part of the results */
	EMIT_INLINED, /* gone before a program is lowered */
	EMIT_REFUSED, /* ERR_UNSUPPORTED */
} emit_way;
emit_way emit_way_of(op_kind k);
const char *emit_refusal(op_kind k); /* why; NULL when it is not EMIT_REFUSED */

/* Registers sdy-insert-explicit-reshards and sdy-reshard-to-collectives with the pass table. */
void lower_register_passes(void);

#endif
