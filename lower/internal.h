/* Private to lower/: the cache of pure facts and the functions that lower's files share. */
#ifndef SW_LOWER_INTERNAL_H
#define SW_LOWER_INTERNAL_H

#include "lower/lower.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- reshard.c */

/* The steps between two shardings of equal rank, neither SHARDING_NONE. dims: the tensor's shape.
 * Steps live in mem. */
void reshard_steps(sharding_table *t, sharding_id from, sharding_id to, const int64_t *dims,
	arena *mem, reshard_plan *out);
/* No dim has axes (a missing sharding has none). */
bool sharding_is_replicated(const sharding_table *t, sharding_id id);

/* ---------------------------------------------------------------- explicit.c */

/* One op for the choice of common axes. */
typedef struct explicit_op {
	const rule *rule;
	uint16_t op_kind;
	const int64_t *sizes;  /* global elements of every tensor */
	const sharding_id *in; /* by tensor: operands, then results; SHARDING_NONE = replicated */
	mesh_id mesh;
	bool partitioner;     /* as XLA's partitioner chooses, not Shardy */
	uint32_t windowed[3]; /* convolutions: input's, kernel's and result's dims that windows move
	                         along; all of them where features are in groups */
	bool wide;            /* convolutions: some window has more than one place */
	bool depthwise;       /* convolutions: every group of features has one of the input */
	bool whole;           /* XLA's partitioner runs it on whole operands */
	bool *changed; /* optional, out, by tensor: its axes are dealt out to factors anew, if only
	                  those of size 1, so that the sharding may come out as it was */
} explicit_op;
/* at: the sharding every tensor is computed with; the same id as in `in` where nothing changes.
 * reduce: axes over which the results must be summed, sorted and merged, without the unreduced axes
 * of result 0. Returns the sharding to which the result is gathered behind that, before anything
 * else reads it; SHARDING_NONE but for some contractions of XLA's partitioner. */
sharding_id explicit_shardings(
	sharding_table *t, const explicit_op *op, arena *scratch, sharding_id *at, axes_buf *reduce);
/* The result's sharding that Shardy gives a dot whose operands agree before it looks for common
 * axes; `in` of the result when the case does not apply. */
sharding_id explicit_dot_result(sharding_table *t, const explicit_op *op, arena *scratch);
/* Axes of the reduction factors as the first operand that has each factor is sharded. */
void explicit_reduction_axes(
	sharding_table *t, const explicit_op *op, arena *scratch, axes_buf *out);
/* Elements of a that b does not cover, as a set of axes. */
void axes_difference(axes a, axes b, axes_buf *out);

/* ---------------------------------------------------------------- partition_dot.c */

/* Axes by factor with which XLA's partitioner computes a contraction; those of contracted factors
 * are summed over behind it. at: 3 * n_factors lists, by side (left, right, result) and factor,
 * empty where the side has not the factor. class: by factor, 0 batch, 1 contracted, 2 free of the
 * left, 3 of the right. sizes: global elements by side. common: n_factors empty lists, filled from
 * mem. True: the result is gathered behind the product (and the sum), to lists that after gets; it
 * has room for n_factors. */
bool partition_dot(const axes *at, const uint8_t *class, uint32_t n_factors, const int64_t *sizes,
	axes mesh, arena *mem, axes *common, axes *after);

/* ---------------------------------------------------------------- top_k.c */

/* Of our own program: is what a top_k finds in so many equal parts of its dim less than the keys?
 */
bool top_k_moves_less(const ir_type *keys, int64_t k, int64_t parts);

/* ---------------------------------------------------------------- partition_reshard.c */

/* Where XLA's partitioner passes between two shardings of a value before it goes on to the second;
 * SHARDING_NONE: it goes directly. */
sharding_id partition_halfway(sharding_table *t, sharding_id from, sharding_id to);

/* ---------------------------------------------------------------- cache.c */

typedef struct reshard_entry {
	sharding_id from, to;
	type_id type;
	bool partitioner; /* as XLA's partitioner goes */
	reshard_plan plan;
	const int64_t *bytes; /* local bytes after every step */
} reshard_entry;

/* A step along several dims as steps along one each (by_dim.c). */
typedef struct split_entry {
	uint8_t kind;
	sharding_id in, out;
	type_id type;
	uint32_t n;
	const collective_step *steps;
	const int64_t *bytes; /* local, after every step */
} split_entry;

/* A node plan and what building needs to know about it; facts of (class, slot shardings). */
static inline bool overlaps_any(axes l, axis_ref a)
{
	for (uint32_t i = 0; i < l.n; i++)
		if (axis_overlaps(l.a[i], a))
			return true;
	return false;
}

typedef struct plan_entry {
	uint32_t class, n_slots;
	uint8_t planner;
	const sharding_id *slots; /* the key */
	node_plan plan;
	const int64_t *bytes;                  /* by slot: local bytes at plan.at */
	const collective_step *reduce;         /* by result, when plan.reduce has axes */
	const collective_step *reduce_windows; /* of a convolution: what is summed behind that; NULL:
	                                          nothing */
	const reshard_entry *gather_first;     /* of a scatter: in front of the sum; NULL: not */
	const reshard_entry **gather; /* by result, of a dot and a top_k: its parts are gathered, behind
	                                 the sum; NULL: not */
	const struct halo_plan *halo; /* what is fetched from neighbours first; NULL: nothing */
	sharding_id
		via;    /* of a dot: its result passes through this sharding; SHARDING_NONE: it does not */
	bool still; /* one result, and nothing moves or is summed before the op or behind it */
} plan_entry;

struct plain_entry {
	sharding_id plain; /* SHARDING_NONE: not known yet */
	sharding_id bare;  /* plain without axes of one device; of plain shardings, SHARDING_NONE: not
	                      known yet */
	bool unreduced;
};
struct byte_entry { /* the last answer for one pval */
	sharding_id sharding;
	int64_t bytes;
};
enum { IO_SLOTS = 1 << 11 };
struct io_entry { /* of an argument or result of main */
	sharding_id in, out;
	type_id type;
	bool known;
};

enum {               /* what a node has to do with the width of elements */
	NODE_ROUNDS = 1, /* a contraction in default precision: TPU takes its operands in bfloat16 */
	NODE_CONVERTS,
	NODE_KEYS, /* a top_k: TPU sorts and packs words of 32 bits */
};
/* Who decides where an op runs. */
enum {
	PLANNER_SHARDY, /* insert-explicit-reshards */
	PLANNER_XLA,    /* XLA's partitioner: the compiled level */
	PLANNER_EXACT,  /* ourselves: the exact level */
};
static inline uint8_t planner_of(lower_level l)
{
	return l == LEVEL_COMPILED ? PLANNER_XLA : l == LEVEL_EXACT ? PLANNER_EXACT : PLANNER_SHARDY;
}
struct lower_cache {
	const program *p;
	sharding_table *t;
	arena mem, scratch, keep; /* keep: facts of the program alone */
	uint64_t facts;           /* lowered.facts: another number whenever mem starts over */
	mesh_id mesh;
	index_map reshard_index, plan_index, class_index, step_index, split_index;
	VEC(reshard_entry *) reshards;
	VEC(plan_entry *) plans;
	VEC(node_id) classes; /* by class: its first node */
	VEC(const collective_step *) reduce_steps;
	VEC(const split_entry *) splits;
	VEC(struct plain_entry) plain; /* by sharding id */
	sharding_id replicated[MAX_RANK + 1];
	uint32_t *node_class; /* nodes of equal class have equal plans at equal shardings */
	const plan_entry *
		*last; /* by node: the plan of the previous call, most often the one of this call too */
	uint8_t *node_reduction; /* lop.reduction of the node's results */
	const collective_step *
		*given; /* by node: what the program itself communicates there; NULL: nothing, or unknown */
	pval_id *onto;       /* by node: of a scatter, what it adds to instead of zeros; of the addition
	                        behind it, what	   the scatter makes; ID_NONE (onto.c) */
	uint8_t *node_width; /* by node: NODE_ROUNDS, NODE_CONVERTS, NODE_KEYS, 0 */
	struct byte_entry *bytes; /* by pval */
	struct io_entry *io;      /* IO_SLOTS */
	sharding_id *now;         /* by pval: plain sharding in the current call */
	sharding_id *was;         /* by pval: what `now` was found for */
	uint8_t was_planner;      /* .. and how */
	struct lower_work *work;  /* lowered.c */
	node_id *marks;
	uint32_t n_marks;
	struct nesting *nesting; /* nest.c; NULL: nothing is nested */
	bool ones;               /* the mesh has axes of one device */
	bool unreduced;          /* some sharding so far has partial sums */
	lower_target target;
	uint32_t torus_dims;
	int64_t slice_devices; /* 0: all of the mesh */
	bool reshards_after_forward;
	uint8_t planner; /* as whom plans of nodes are wanted now */
	size_t limit;    /* bytes of facts, 0: none */
};

/* The same dims without anything but closed axes, on the program's mesh; equal data placement gives
 * equal ids. */
sharding_id cache_find_plain(lower_cache *c, sharding_id id); /* of one that is not known yet */
static inline bool plain_is_known(const lower_cache *c, sharding_id id)
{
	return id < c->plain.n && c->plain.p[id].plain != SHARDING_NONE;
}
static inline sharding_id cache_plain(lower_cache *c, sharding_id id, uint32_t rank)
{
	if (id == SHARDING_NONE)
		return c->replicated[rank];
	return plain_is_known(c, id) ? c->plain.p[id].plain : cache_find_plain(c, id);
}
static inline bool cache_has_unreduced(lower_cache *c, sharding_id plain)
{
	if (!c->unreduced)
		return false;
	if (!plain_is_known(c, plain))
		cache_find_plain(c, plain);
	return c->plain.p[plain].unreduced;
}
/* The same without axes of one device, for which XLA's partitioner has no word. */
sharding_id cache_bare(lower_cache *c, sharding_id plain);
/* The sharding that Shardy leaves on an argument or result of main: cut where it does not divide,
 * without sub-axes in open dims. */
sharding_id cache_io(lower_cache *c, sharding_id id, type_id type);
/* The plain sharding a value is lowered with; c->planner is set. */
static inline sharding_id cache_now(lower_cache *c, const sharding_id *shardings, pval_id v)
{
	const pval *x = &c->p->vals.p[v];
	sharding_id sh = shardings[v];
	if (x->arg_index >= 0 || x->result_index >= 0)
		sh = cache_io(c, sh, x->type);
	sh = sh != SHARDING_NONE ? cache_plain(c, sh, 0)
							 : c->replicated[type_get(c->p->m, x->type)->rank];
	return c->ones && c->planner == PLANNER_XLA ? cache_bare(c, sh) : sh;
}
const reshard_entry *cache_reshard(lower_cache *c, sharding_id from, sharding_id to, type_id type);
/* slots: plain shardings. */
const plan_entry *cache_find_plan(lower_cache *c, node_id n, const sharding_id *slots,
	uint32_t n_slots); /* other than the last */
static inline bool same_slots(const sharding_id *a, const sharding_id *b, uint32_t n)
{
	while (n && a[n - 1] == b[n - 1])
		n--;
	return !n;
}
static inline const plan_entry *cache_node(lower_cache *c, node_id n, const sharding_id *slots)
{
	const plan_entry *e = c->last[n];
	uint32_t n_slots = (uint32_t)c->p->nodes.p[n].n_operands + c->p->nodes.p[n].n_results;
	return e && e->planner == c->planner && same_slots(e->slots, slots, n_slots)
		? e
		: cache_find_plan(c, n, slots, n_slots);
}
/* all_reduce over axes of a value that keeps its sharding. */
const collective_step *cache_reduce_step(lower_cache *c, axes list, sharding_id at);
int64_t cache_bytes(lower_cache *c, pval_id v, sharding_id plain);
int64_t type_bytes(const lower_cache *c, sharding_id id, type_id type);

/* ---------------------------------------------------------------- by_dim.c */

/* NULL: the step is along one dim. type: of the whole value. by_axis: a reduce_scatter over one
 * mesh axis after the other. */
const split_entry *cache_split(
	lower_cache *c, const collective_step *s, type_id type, bool by_axis);
/* tpu_reduces_whole of the program's mesh. */
bool cache_reduces_whole(const lower_cache *c, axes over);

/* ---------------------------------------------------------------- given.c */

/* NULL for other ops, and where the groups do not lie along whole mesh axes. */
const collective_step *given_step(lower_cache *c, node_id id);

/* ---------------------------------------------------------------- halo.c */

/* One dim that a window moves along: in of the operand, kernel of the second one (-1: none), out of
 * the result. Window p covers p stride - low + dilation [0, size); of these places every base-th
 * holds an element. */
typedef struct halo_window {
	int32_t in, kernel, out;
	int64_t size, stride, low, base, dilation;
} halo_window;
/* Of a convolution: one per dim in space; of reduce_window, select_and_scatter, slice and pad: one
 * per dim. out: MAX_RANK. */
uint32_t halo_windows(const program *p, const node *n, halo_window *out);
typedef __int128 wide;
typedef struct halo_range {
	wide start, end;
} halo_range;
/* Elements of the operand, some of them outside of it, that so many windows from one on read with
 * so many of their taps. */
halo_range halo_reads(const halo_window *w, wide place, int64_t places, wide tap, int64_t taps);
/* Windows, some of them no places of the result, that reach into these elements; of windows without
 * holes. */
halo_range halo_readers(const halo_window *w, wide first, wide end);
/* A permute that fetches a border of an operand: bytes move; what it leaves has `after`, of the
 * last step of an operand all of it with its borders. Steps of equal `what` on one value, after the
 * same steps, fetch the same. */
typedef struct halo_step {
	uint32_t operand;
	uint64_t what;
	const collective_step *step;
	int64_t bytes, after;
} halo_step;
typedef struct halo_plan {
	const halo_step *steps; /* by operand */
	uint32_t n;
} halo_plan;
/* For a node that computes with `at`; in c->mem; NULL: no borders. */
const halo_plan *halo_of(lower_cache *c, const node *n, const sharding_id *at);
/* Do two nodes look at the same windows of their operands? Equal hashes then. */
bool halo_alike(const program *p, const node *a, const node *b);
uint64_t halo_hash(const program *p, const node *n);

/* ---------------------------------------------------------------- onto.c */

/* A constant of one number, or a broadcast of one; of zeros. */
bool is_splat_constant(const program *p, pval_id v);
bool is_splat_zero(const program *p, pval_id v);
bool is_made_zero(const module *m, value_id v); /* the same of a value of a module */
/* Is the node such a scatter, then onto of it and of the addition. Scatters in program order. */
void scatter_find_onto(const program *p, node_id id, pval_id *onto);

/* ---------------------------------------------------------------- emit_ops.c */

/* Does the program of one device compute the node from parts, sharded as the plan says? Else it
 * needs whole operands. The plan has shardings of t. */
bool emit_runs_on_parts(const program *p, sharding_table *t, node_id id, const node_plan *plan);
/* Nodes of equal rules and types for which that is the same at equal plans. */
bool emit_alike(const program *p, const node *a, const node *b);

/* ---------------------------------------------------------------- lowered.c */

/* A permute of a border that is there already. */
typedef struct fetched_border {
	lval_id from, before, made; /* before: what the step before it left, ID_NONE */
	uint64_t what;
	int64_t bytes;
	lop_id region;
} fetched_border;

/* Arrays of building and optimizing, reused. */
struct lower_work {
	lval_id *current; /* by pval */
	lowered placed;   /* what optimize reads */
	bool regions;     /* there are some in it */
	VEC(sharding_id) slots;
	VEC(lval_id) values;
	VEC(lop_id) open;            /* regions around the current place */
	VEC(lop_id) first_use;       /* by value, and behind it lowered_dependences: compiled.c */
	VEC(fetched_border) fetched; /* in this program */
	VEC(lop_id) widths;    /* what lowered_optimize wrote of nodes with a node_width, in order */
	VEC(uint32_t) rounded; /* by value: uses that round it; compiled.c */
	struct optimizer *optimizer;
};
/* Operands are pushed by lowered_add_operand right after, then the results. */
static inline lop_id lowered_add_op(lowered *l, lop_kind kind, node_id by, lop_id region)
{
	vec_push(&l->ops,
		(lop){.kind = (uint8_t)kind,
			.node = by,
			.operands = l->operands.n,
			.results = l->vals.n,
			.combined = 1,
			.region = region});
	return l->ops.n - 1;
}

static inline void lowered_add_operand(lowered *l, lop_id o, lval_id v)
{
	vec_push(&l->operands, v);
	l->ops.p[o].n_operands++;
	l->vals.p[v].n_uses++;
}
/* All operands at once. */
static inline void lowered_add_operands(lowered *l, lop_id o, const lval_id *list, uint32_t n)
{
	vec_reserve(&l->operands, l->operands.n + n);
	lval_id *to = l->operands.p + l->operands.n;
	lval *vals = l->vals.p;
	for (uint32_t i = 0; i < n; i++) {
		to[i] = list[i];
		vals[list[i]].n_uses++;
	}
	l->operands.n += n;
	l->ops.p[o].n_operands += n;
}

static inline lval_id lowered_add_result(
	lowered *l, lop_id o, pval_id origin, sharding_id sh, type_id type, int64_t bytes)
{
	l->ops.p[o].n_results++;
	vec_push(
		&l->vals, (lval){.origin = origin, .sharding = sh, .def = o, .bytes = bytes, .type = type});
	return l->vals.n - 1;
}
/* A collective with its result. */
lval_id lowered_add_collective(lowered *l, const collective_step *s, lval_id operand, int64_t bytes,
	node_id node, lop_id region);
void lowered_clear(lowered *l);
/* Constraint, reshard, barrier: nothing but a change of sharding. */
static inline bool is_reshard_op(uint16_t kind)
{
	return kind == OP_SDY_RESHARD || kind == OP_SDY_SHARDING_CONSTRAINT ||
		kind == OP_SDY_PROPAGATION_BARRIER;
}

/* ---------------------------------------------------------------- nest.c */

/* Before a program with the shardings of c->now. */
void nest_begin(lower_cache *c);
void nest_value_changed(lower_cache *c, pval_id v); /* in c->now */
/* Builds the node if it is nested, dropped, or has something nested; false: it is to be built as
 * any other. */
bool nest_build(lower_cache *c, lowered *l, node_id id, lop_id region);
/* Was something not sharded as c->now says? */
bool nest_misfits(const lower_cache *c);
void nest_forget(lower_cache *c); /* c->mem starts over */
size_t nest_index_bytes(const lower_cache *c);
void nesting_free(struct nesting *x);

/* ---------------------------------------------------------------- optimize.c, compiled.c */
void lowered_optimize(
	lower_cache *c, lower_level level, lower_target target, const lowered *placed, lowered *out);
void lowered_compile(lower_cache *c, lower_target target, lowered *l);
/* Drops all facts when they have become too many. */
void cache_bound(lower_cache *c);
void optimizer_forget(struct optimizer *o);
struct optimizer *optimizer_new(void);
void optimizer_free(struct optimizer *o);

#endif
