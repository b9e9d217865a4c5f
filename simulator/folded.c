/* The cost of a program with many alike layers, from the lowered form of its folded program
 * (propagate/fold.c).
 *
 * What an op turns into depends on its neighbours alone: lowering, fusion and the work of kernels
 * are computed on the folded program. When they come out the same in the layers around `middle`,
 * they would come out the same in every layer that was left out, for each of those has such a layer
 * on both sides. That is checked, op by op; where they differ (simulate_folded returns false) the
 * whole program has to be lowered. What has a state that runs through the whole program, the
 * timeline, the combining of collectives and the sum of live bytes, is run layer after layer, with
 * the whole program's order and numbers, on what was found out about one of them. So the result is
 * exactly the unfolded one.
 *
 * An op of the folded program stands for one in every instance of its block. A reference between
 * `middle` and a layer nearby is relative: it stays as many layers away. Any other names one op of
 * the whole program. */
#include <stdlib.h>

#include "simulator/state.h"

enum { NO_KEY = UINT8_MAX };

/* One op of the whole program as seen from an instance of a block. */
typedef struct far_ref {
	uint32_t chain; /* relative: of the target's block; otherwise the instance */
	int32_t away;   /* layers */
	bool relative;
} far_ref;

/* What an instance of a block does, kernels that wait for nothing and that nothing waits for put
 * together. */
typedef struct act {
	uint32_t run;
	uint8_t kind;                 /* run_kind */
	uint8_t key;                  /* of collectives: its combined instruction */
	uint32_t first_read, n_reads; /* in folder.reads */
	far_ref used, made;           /* collectives: block of the first use, and its position there; of
	                                 lop_combines_from */
	uint32_t used_at, made_at;
	int64_t ns, flops;           /* RUN_KERNEL without reads, moment and arguments to fetch */
	int64_t traffic_ns, last_ns; /* of these: see memory_busy */
} act;
typedef struct read_ref {
	far_ref from;
	uint32_t moment; /* of the block */
} read_ref;

struct folder {
	const folding *f;
	uint32_t n_layers;          /* of the whole program */
	uint32_t n_chains, n_short; /* n_short: layers of the folded program */
	uint32_t *block_at;         /* [chain][layer of the folded program] */
	uint32_t *instance_at;      /* [chain][layer] */
	uint32_t *instance_of;      /* by block: its first instance */
	int64_t *block_written;     /* by block: bytes that its ops write */
	int64_t *written_at;        /* by instance: bytes that are written in front of it */
	uint32_t *moments_from,
		*moments_at; /* by block: its first moment; by instance: the same in the whole program */
	uint32_t *acts_from;         /* by block, and the end */
	memory_level *sums;          /* by block */
	bool *beyond;                /* by layer of the folded program: find_beyond */
	uint32_t at, length, shift;  /* the block whose counterpart is looked for now: its ops, and how
	                                much later they are there */
	uint32_t *block_of, *offset; /* by op: its block, and its place there */
	int32_t *layer;              /* by op; of arguments, which all come first, that of the value */
	uint8_t *spots;              /* by op: op_spot */
	bool *number;                /* by op: in a layer, and makes one number */
	uint32_t ops_cap, n_args;
	uint32_t *first_use; /* by value */
	uint32_t *after;     /* lowered_dependences, but of programs for CPU */
	uint32_t first_use_cap;
	lop_id last_combining; /* lowered_last_combining */
	VEC(act) acts;
	VEC(read_ref) reads;
	VEC(uint32_t) now_reads;
	VEC(moment) moments;
	lop_id keys[MAX_OPEN_GROUPS];
	uint32_t n_keys;
	bool alike;
};

/* ---------------------------------------------------------------- the folding, once */

void simulator_fold(simulator *s, const folding *f)
{
	struct folder *x = s->folder = xcalloc(1, sizeof *x);
	x->f = f;
	s->copies = f->copies;
	x->n_short = f->n_layers;
	x->n_layers = f->n_layers + f->copies;
	for (uint32_t b = 0; b < f->blocks.n; b++)
		x->n_chains = MAX(x->n_chains, f->blocks.p[b].chain + 1);
	x->block_at = xmalloc((size_t)x->n_chains * x->n_short * sizeof *x->block_at);
	x->instance_at = xmalloc((size_t)x->n_chains * x->n_layers * sizeof *x->instance_at);
	x->instance_of = xmalloc((f->blocks.n + 1) * sizeof *x->instance_of);
	memset(x->block_at, 0xff, (size_t)x->n_chains * x->n_short * sizeof *x->block_at);
	memset(x->instance_at, 0xff, (size_t)x->n_chains * x->n_layers * sizeof *x->instance_at);
	for (uint32_t b = 0; b < f->blocks.n; b++)
		if (f->blocks.p[b].layer != LAYER_NONE)
			x->block_at[f->blocks.p[b].chain * x->n_short + (uint32_t)f->blocks.p[b].layer] = b;
	for (uint32_t i = f->order.n; i-- > 0;) {
		x->instance_of[f->order.p[i]] = i;
		if (f->order_layer.p[i] != LAYER_NONE)
			x->instance_at[f->blocks.p[f->order.p[i]].chain * x->n_layers +
				(uint32_t)f->order_layer.p[i]] = i;
	}
	s->passes = f->node_pass;
	x->block_written = xmalloc((f->blocks.n + 1) * sizeof *x->block_written);
	x->written_at = xmalloc((f->order.n + 1) * sizeof *x->written_at);
	x->moments_from = xmalloc((f->blocks.n + 1) * sizeof *x->moments_from);
	x->moments_at = xmalloc((f->order.n + 1) * sizeof *x->moments_at);
	x->acts_from = xmalloc((f->blocks.n + 1) * sizeof *x->acts_from);
	x->sums = xmalloc((f->blocks.n + 1) * sizeof *x->sums);
	x->beyond = xmalloc((x->n_short + 1) * sizeof *x->beyond);
}

void simulator_unfolded(simulator *s, const folding *f) { s->passes = f->full_pass; }

void folder_free(struct folder *x)
{
	if (!x)
		return;
	free(x->block_at);
	free(x->instance_at);
	free(x->instance_of);
	free(x->block_written);
	free(x->written_at);
	free(x->moments_from);
	free(x->moments_at);
	free(x->acts_from);
	free(x->sums);
	free(x->beyond);
	free(x->block_of);
	free(x->offset);
	free(x->layer);
	free(x->spots);
	free(x->number);
	free(x->first_use);
	free(x->after);
	vec_release(&x->acts);
	vec_release(&x->reads);
	vec_release(&x->now_reads);
	vec_release(&x->moments);
	free(x);
}

/* ---------------------------------------------------------------- where ops are */

static lop_id block_start(const lowered *l, uint32_t b)
{
	return b == 0 ? 0 : b < l->starts.n ? l->starts.p[b] : l->ops.n;
}

/* Can something in `middle` be meant relatively when it refers to that layer? Fused ops run with
 * their last member, so that one layer more than ops read of each other is in reach. */
static bool is_near(const struct folder *x, int32_t layer)
{
	return layer != LAYER_NONE && abs(layer - x->f->middle) <= (int32_t)x->f->reach + 1;
}

static uint8_t spot_of(const struct folder *x, int32_t layer)
{
	return layer == x->f->middle ? SPOT_MIDDLE : is_near(x, layer) ? SPOT_NEAR : SPOT_FAR;
}

static bool makes_number(const lowered *l, lop_id o)
{
	const lop *op = &l->ops.p[o];
	return op->n_results == 1 && !type_get(l->p->m, l->vals.p[op->results].type)->rank;
}

void folder_place(simulator *s, const lowered *l)
{
	struct folder *x = s->folder;
	if (x->ops_cap < l->ops.n) {
		x->ops_cap = l->ops.n + l->ops.n / 4;
		x->block_of = xrealloc(x->block_of, x->ops_cap * sizeof *x->block_of);
		x->offset = xrealloc(x->offset, x->ops_cap * sizeof *x->offset);
		x->layer = xrealloc(x->layer, x->ops_cap * sizeof *x->layer);
		x->spots = xrealloc(x->spots, x->ops_cap * sizeof *x->spots);
		x->number = xrealloc(x->number, x->ops_cap * sizeof *x->number);
	}
	for (uint32_t b = 0; b < x->f->blocks.n; b++) {
		lop_id start = block_start(l, b), end = block_start(l, b + 1);
		int32_t layer = x->f->blocks.p[b].layer;
		for (lop_id i = start; i < end; i++) {
			x->block_of[i] = b;
			x->offset[i] = i - start;
			x->layer[i] = layer;
			x->number[i] = layer != LAYER_NONE && makes_number(l, i);
		}
		if (start < end)
			memset(x->spots + start, spot_of(x, layer), end - start);
	}
	for (x->n_args = 0; x->n_args < l->ops.n && l->ops.p[x->n_args].kind == LOP_ARGUMENT;
		 x->n_args++) {
		int32_t layer = x->f->val_layer[l->vals.p[l->ops.p[x->n_args].results].origin];
		x->layer[x->n_args] = layer;
		x->number[x->n_args] = false;
		x->spots[x->n_args] = spot_of(x, layer);
	}
	/* what returns from main stands behind the last block, but belongs to all layers */
	if (l->ops.n && l->ops.p[l->ops.n - 1].kind == LOP_RETURN) {
		x->layer[l->ops.n - 1] = LAYER_NONE;
		x->spots[l->ops.n - 1] = SPOT_FAR;
	}
	s->spots = x->spots;
	memset(x->block_written, 0, x->f->blocks.n * sizeof *x->block_written);
}

/* ---------------------------------------------------------------- what is written in between */

int64_t folder_add_written(simulator *s, lop_id o, int64_t bytes)
{
	int64_t *sum = &s->folder->block_written[s->folder->block_of[o]], before = *sum;
	*sum = sat_add(*sum, bytes);
	return before;
}

int64_t folder_end_written(simulator *s)
{
	struct folder *x = s->folder;
	int64_t sum = 0;
	for (uint32_t i = 0; i < x->f->order.n; i++) {
		x->written_at[i] = sum;
		sum = sat_add(sum, x->block_written[x->f->order.p[i]]);
	}
	return sum;
}

int64_t folder_written_before(const simulator *s, lop_id op)
{
	const struct folder *x = s->folder;
	return x->written_at[x->instance_of[x->block_of[op]]] + s->ops[op].written;
}

int64_t folder_written_between(const simulator *s, lop_id op, lop_id later)
{
	const struct folder *x = s->folder;
	uint32_t b = x->block_of[op], c = x->block_of[later], from = x->instance_of[b],
			 to = x->instance_of[c];
	const fold_block *def = &x->f->blocks.p[b], *use = &x->f->blocks.p[c];
	if (is_near(x, def->layer) && is_near(x, use->layer)) /* as many layers apart as here */
		from = x->instance_at[def->chain * x->n_layers +
			(uint32_t)(x->f->order_layer.p[to] + def->layer - use->layer)];
	return x->written_at[to] + s->ops[later].written - x->written_at[from] - s->ops[op].written;
}

/* ---------------------------------------------------------------- are the layers alike? */

static bool is_counterpart(
	const struct folder *x, const lowered *l, lop_id o, lop_id other, int32_t dir)
{
	if (o < x->n_args) {
		pval_id v = l->vals.p[l->ops.p[o].results].origin;
		for (int32_t d = dir; d; d -= dir > 0 ? 1 : -1)
			v = dir > 0 ? x->f->val_next[v] : x->f->val_before[v];
		return other < x->n_args && l->vals.p[l->ops.p[other].results].origin == v;
	}
	const fold_block *b = &x->f->blocks.p[x->block_of[o]], *c = &x->f->blocks.p[x->block_of[other]];
	return c->chain == b->chain && c->layer == b->layer + dir && x->offset[other] == x->offset[o] &&
		other >= x->n_args;
}

/* Of which layers the counterparts `dir` layers on are out of reach. */
static void find_beyond(const struct folder *x, int32_t dir)
{
	for (int32_t layer = 0; layer < (int32_t)x->n_short; layer++)
		x->beyond[layer] = !is_near(x, layer + dir) ||
			(fold_in_band(x->f, layer) && !fold_in_band(x->f, layer + dir));
}

/* The op that o refers to is what its counterpart `dir` layers on, which refers to other, would
 * refer to. */
static inline bool refs_agree(
	const struct folder *x, const lowered *l, lop_id o, lop_id other, int32_t dir)
{
	/* most refer to their own block, at the same place of the other one */
	if (o - x->at < x->length && other - o == x->shift && MIN(o, other) >= x->n_args)
		return true;
	if (o == ID_NONE || other == ID_NONE || x->spots[o] == SPOT_FAR)
		return o == other;
	/* beyond: the check in the other direction sees it */
	return x->beyond[x->layer[o]] || is_counterpart(x, l, o, other, dir);
}

bool folder_adds_numbers(const simulator *s, lop_id o)
{
	return s->folder->number[o] && s->ops[o].class == CLASS_ELEMENTWISE;
}

/* A step of a sum over layers that is computed where the sum is used. Layers may be added in any
 * order (those called "10" and "2"), so counterparts may read sums from layers at any distance;
 * where the kernel that computes all of them is, the sum's own place and order make no difference.
 */
static bool is_sum_step(const simulator *s, const lowered *l, lval_id v)
{
	lop_id o = l->vals.p[v].def;
	return o != ID_NONE && folder_adds_numbers(s, o) && s->ops[o].mode == MODE_FUSED &&
		!s->vals[v].materialised;
}

/* Two steps of such sums, of any layers, that end up in one kernel. */
static bool sums_agree(const simulator *s, const lowered *l, lval_id v, lval_id w)
{
	if (!is_sum_step(s, l, v) || !is_sum_step(s, l, w))
		return false;
	lop_id a = l->vals.p[v].def, b = l->vals.p[w].def;
	return s->ops[a].root == s->ops[b].root && s->spots[s->ops[a].root] == SPOT_FAR;
}

static bool values_agree(const simulator *s, const lowered *l, lval_id v, lval_id w, int32_t dir)
{
	const lval *a = &l->vals.p[v], *b = &l->vals.p[w];
	return v - l->ops.p[a->def].results == w - l->ops.p[b->def].results &&
		refs_agree(s->folder, l, a->def, b->def, dir);
}

/* Do equal ones of two layers wait for the same of theirs before they can join an instruction? */
static bool combine_from_agree(
	const simulator *s, const lowered *l, lop_id o, lop_id p, int32_t dir)
{
	const lop_id *after = s->folder->after;
	if (!lop_combines(l, &l->ops.p[o]) || !lop_combines(l, &l->ops.p[p]))
		return true;
	lop_id a = lop_combines_from(l, o, after), b = lop_combines_from(l, p, after);
	return (!a && !b) || (a && b && refs_agree(s->folder, l, a, b, dir));
}

static bool results_agree(const simulator *s, const lowered *l, lval_id v, lval_id w, int32_t dir)
{
	const sim_val *a = &s->vals[v], *b = &s->vals[w];
	return a->bytes == b->bytes && a->materialised == b->materialised &&
		a->constant == b->constant && a->output == b->output && a->carried == b->carried &&
		a->off_chip == b->off_chip && l->vals.p[v].bytes == l->vals.p[w].bytes &&
		l->vals.p[v].type == l->vals.p[w].type && l->vals.p[v].sharding == l->vals.p[w].sharding &&
		values_agree(s, l, a->base, b->base, dir) &&
		(refs_agree(s->folder, l, a->last_use, b->last_use, dir) || sums_agree(s, l, v, w)) &&
		/* combining asks who waits for a collective, and what that waits for */
		(l->ops.p[a->def].kind != LOP_COLLECTIVE ||
			(refs_agree(s->folder, l, s->folder->first_use[v], s->folder->first_use[w], dir) &&
				combine_from_agree(s, l, a->def, b->def, dir)));
}

static bool runs_agree(const simulator *s, const lowered *l, lop_id o, lop_id p, int32_t dir)
{
	const run *a = &s->runs.p[s->ops[o].run], *b = &s->runs.p[s->ops[p].run];
	if (a->kind != b->kind || a->link != b->link || a->coll != b->coll || a->ns != b->ns ||
		/* what a collective adds depends on its turn: run_act */
		(a->kind != RUN_COLLECTIVE && a->follows_ns != b->follows_ns) || a->bytes != b->bytes ||
		a->flops != b->flops || a->early_ns != b->early_ns || a->near_ns != b->near_ns ||
		a->fetch_ns != b->fetch_ns || a->copy_ns != b->copy_ns || a->direct_ns != b->direct_ns ||
		a->pieces != b->pieces || a->n_reads != b->n_reads ||
		(a->moment == ID_NONE) != (b->moment == ID_NONE))
		return false;
	for (uint32_t i = 0; i < a->n_reads; i++)
		if (!refs_agree(s->folder, l, s->runs.p[s->moments.p[s->reads.p[a->first_read + i]].run].op,
				s->runs.p[s->moments.p[s->reads.p[b->first_read + i]].run].op, dir))
			return false;
	return true;
}

/* Slices of the same size begin at different places, which are remembered apart. The dims that they
 * cut are whole (fold_is_even), so that what they compute with is all that counts. */
static bool plans_agree(const lowered *l, const lop *o, const lop *p)
{
	const node_plan *a = o->plan, *b = p->plan;
	if (a == b)
		return true;
	if (!a || !b || o->node == ID_NONE || p->node == ID_NONE ||
		l->p->nodes.p[o->node].op_kind != OP_SLICE || l->p->nodes.p[p->node].op_kind != OP_SLICE)
		return false;
	return a->at[0] == b->at[0] && a->at[1] == b->at[1] && axes_equal(a->reduce, b->reduce) &&
		a->whole == b->whole;
}

/* work: also what kernels and buffers add up to, which depends on all this but which no neighbour
 * looks at. */
static bool ops_agree(
	const simulator *s, const lowered *l, lop_id x, lop_id y, int32_t dir, bool work)
{
	const lop *o = &l->ops.p[x], *p = &l->ops.p[y];
	const sim_op *a = &s->ops[x], *b = &s->ops[y];
	if (o->kind != p->kind || o->coll != p->coll || o->reduction != p->reduction ||
		o->erased != p->erased || o->n_operands != p->n_operands || o->n_results != p->n_results ||
		o->bytes != p->bytes || !plans_agree(l, o, p) ||
		(o->step && !axes_equal(o->step->axes, p->step->axes)))
		return false;
	if (a->class != b->class || a->mode != b->mode || a->has_matmul != b->has_matmul ||
		a->side != b->side || !refs_agree(s->folder, l, a->root, b->root, dir) ||
		!refs_agree(s->folder, l, a->begin, b->begin, dir) ||
		!refs_agree(s->folder, l, o->region, p->region, dir))
		return false;
	if (o->nest != p->nest && !nests_agree(o->nest, p->nest))
		return false;
	if (work && memcmp(&s->delta[x], &s->delta[y], sizeof s->delta[x]))
		return false;
	for (uint32_t i = 0; i < o->n_operands; i++)
		if (!values_agree(s, l, operand_at(l, o, i), operand_at(l, p, i), dir) &&
			!sums_agree(s, l, operand_at(l, o, i), operand_at(l, p, i)))
			return false;
	for (uint32_t i = 0; i < o->n_results; i++)
		if (!results_agree(s, l, o->results + i, p->results + i, dir))
			return false;
	return !work ||
		(a->mode != MODE_ROOT &&
			((o->kind != LOP_REGION && o->kind != LOP_REGION_END) ||
				form_of(l, o) == FORM_INLINE)) ||
		runs_agree(s, l, x, y, dir);
}

static bool blocks_agree(simulator *s, const lowered *l, uint32_t b, uint32_t c, int32_t dir)
{
	lop_id x = block_start(l, b), y = block_start(l, c), end = block_start(l, b + 1);
	if (c == ID_NONE || block_start(l, c + 1) - y != end - x)
		return false;
	s->folder->at = x;
	s->folder->length = end - x;
	s->folder->shift = y - x;
	for (; x < end; x++, y++)
		if (!ops_agree(s, l, x, y, dir, x < y))
			return false;
	return true;
}

static bool layers_agree(simulator *s, const lowered *l)
{
	const struct folder *x = s->folder;
	int32_t reach = (int32_t)x->f->reach;
	for (int32_t dir = -reach; dir <= reach; dir++) {
		find_beyond(x, dir);
		for (uint32_t b = 0; b < x->f->blocks.n; b++)
			if (dir && x->f->blocks.p[b].layer == x->f->middle &&
				!blocks_agree(s, l, b,
					x->block_at[x->f->blocks.p[b].chain * x->n_short +
						(uint32_t)(x->f->middle + dir)],
					dir))
				return false;
	}
	return true;
}

/* No layer that stands for many lies where it matters how many there are. */
static bool spans_are_whole(const struct folder *x, const lowered *l)
{
	for (uint32_t i = 0; i < l->spans.n; i++)
		for (uint32_t b = l->spans.p[i].from;
			 l->spans.p[i].from != l->spans.p[i].to && b <= l->spans.p[i].to; b++)
			if (x->f->blocks.p[b].layer == x->f->middle)
				return false;
	return true;
}

/* ---------------------------------------------------------------- what blocks do */

/* A reference from op o to another as every instance of o's block sees it. */
static far_ref ref_of(struct folder *x, lop_id o, lop_id to)
{
	const fold_block *from = &x->f->blocks.p[x->block_of[o]],
					 *target = &x->f->blocks.p[x->block_of[to]];
	bool middle = x->layer[to] != LAYER_NONE &&
		(from->layer == x->f->middle || target->layer == x->f->middle);
	if (middle && is_near(x, from->layer) && is_near(x, target->layer))
		return (far_ref){
			.chain = target->chain, .away = target->layer - from->layer, .relative = true};
	x->alike &= target->layer != x->f->middle; /* which one? */
	return (far_ref){.chain = x->instance_of[x->block_of[to]]};
}

static uint32_t resolve(const struct folder *x, const far_ref *r, uint32_t instance)
{
	return r->relative ? x->instance_at[r->chain * x->n_layers +
							 (uint32_t)(x->f->order_layer.p[instance] + r->away)]
					   : r->chain;
}

static uint8_t key_of(struct folder *x, const lowered *l, lop_id o)
{
	if (!lop_combines(l, &l->ops.p[o]))
		return NO_KEY;
	uint32_t k = 0;
	while (k < x->n_keys && !lops_combine_alike(l, x->keys[k], o, x->first_use, x->last_combining))
		k++;
	if (k == MAX_OPEN_GROUPS) {
		x->alike = false; /* which of them are open at a time is not known here */
		return NO_KEY;
	}
	if (k == x->n_keys)
		x->keys[x->n_keys++] = o;
	return (uint8_t)k;
}

static void find_first_uses(struct folder *x, const lowered *l)
{
	if (x->first_use_cap < l->vals.n) {
		x->first_use_cap = l->vals.n + l->vals.n / 4;
		x->first_use = xrealloc(x->first_use, x->first_use_cap * sizeof *x->first_use);
		x->after = xrealloc(x->after, x->first_use_cap * sizeof *x->after);
	}
	lowered_first_uses(l, x->first_use);
	if (l->target != TARGET_CPU)
		lowered_dependences(l, x->after);
	x->last_combining = lowered_last_combining(l);
}

/* What sums something up over all layers reads every one of them. */
static void add_reads(simulator *s, const run *r)
{
	struct folder *x = s->folder;
	for (uint32_t i = 0; i < r->n_reads; i++) {
		uint32_t m = s->reads.p[r->first_read + i];
		lop_id from = s->runs.p[s->moments.p[m].run].op;
		uint32_t n = times(s, from, r->op), chain = x->f->blocks.p[x->block_of[from]].chain;
		if (n == 1)
			vec_push(&x->reads, (read_ref){ref_of(x, r->op, from), m});
		for (uint32_t k = 0; k < n && n > 1; k++)
			vec_push(&x->reads,
				(read_ref){
					{.chain = x->instance_at[chain * x->n_layers + (uint32_t)x->f->middle + k]},
					m});
	}
}

static void add_act(simulator *s, const lowered *l, uint32_t id, bool first)
{
	struct folder *x = s->folder;
	const run *r = &s->runs.p[id];
	bool plain =
		r->kind == RUN_KERNEL && !r->n_reads && r->moment == ID_NONE && !r->fetch_ns && !r->copy_ns;
	act *last = first ? NULL : &x->acts.p[x->acts.n - 1];
	if (plain && last && last->run == ID_NONE) {
		last->last_ns = MAX(sat_add(last->last_ns, r->direct_ns), sat_add(last->ns, r->direct_ns));
		last->traffic_ns = sat_add(last->traffic_ns, r->direct_ns);
		last->ns = sat_add(last->ns, r->ns);
		last->flops = sat_add(last->flops, r->flops);
		return;
	}
	act a = {.run = plain ? ID_NONE : id,
		.kind = r->kind,
		.key = NO_KEY,
		.first_read = x->reads.n,
		.ns = r->ns,
		.flops = r->flops,
		.traffic_ns = r->direct_ns,
		.last_ns = r->direct_ns};
	if (r->kind == RUN_COLLECTIVE) {
		lop_id use = x->first_use[l->ops.p[r->op].results];
		a.key = key_of(x, l, r->op);
		/* In a region the use there ends what is combined. Without one the next layer's region
		 * would join in. */
		x->alike &= use != ID_NONE || l->ops.p[r->op].region == ID_NONE;
		if (use == ID_NONE)
			a.used_at = ID_NONE;
		else
			a.used = ref_of(x, r->op, use), a.used_at = x->offset[use];
		if (a.key != NO_KEY) {
			lop_id made = lop_combines_from(l, r->op, x->after);
			if (made)
				a.made = ref_of(x, r->op, made), a.made_at = x->offset[made];
			else /* from the start on */
				a.made_at = ID_NONE;
		}
	}
	add_reads(s, r);
	a.n_reads = x->reads.n - a.first_read;
	vec_push(&x->acts, a);
}

static void make_acts(simulator *s, const lowered *l)
{
	struct folder *x = s->folder;
	uint32_t id = 0, moments = 0;
	x->acts.n = x->reads.n = x->n_keys = 0;
	for (uint32_t b = 0; b < x->f->blocks.n; b++) {
		x->acts_from[b] = x->acts.n;
		x->moments_from[b] = moments;
		for (bool first = true; id < s->runs.n && s->runs.p[id].op < block_start(l, b + 1);
			 id++, first = false) {
			add_act(s, l, id, first);
			moments += s->runs.p[id].moment != ID_NONE;
		}
	}
	x->acts_from[x->f->blocks.n] = x->acts.n;
	for (uint32_t i = 0; i < x->reads.n; i++) /* moments are numbered by block from here on */
		x->reads.p[i].moment -=
			x->moments_from[x->block_of[s->runs.p[s->moments.p[x->reads.p[i].moment].run].op]];
}

/* ---------------------------------------------------------------- running them */

/* Does a collective lead a combined instruction, or what does it add to one? */
static void take_turn(
	simulator *s, const lowered *l, const act *a, uint32_t instance, combine_group *groups)
{
	struct folder *x = s->folder;
	run *r = &s->runs.p[a->run];
	const lop *o = &l->ops.p[r->op];
	r->leads = true;
	if (a->key == NO_KEY)
		return;
	uint64_t at =
		a->made_at == ID_NONE ? 0 : (uint64_t)resolve(x, &a->made, instance) << 32 | a->made_at;
	uint64_t used = a->used_at == ID_NONE
		? UINT64_MAX
		: (uint64_t)resolve(x, &a->used, instance) << 32 | a->used_at;
	combine_group *g = &groups[a->key];
	r->leads = !combine_joins(l, o, g, at, used, r->bytes);
	uint8_t link;
	if (!r->leads)
		r->follows_ns = collective_lookup(s, o, (collective_kind)r->as, g->bytes - r->bytes, &link);
}

static void run_act(simulator *s, const lowered *l, const act *a, uint32_t block, uint32_t instance,
	combine_group *groups)
{
	struct folder *x = s->folder;
	if (a->run == ID_NONE) {
		memory_busy(s, s->now, a->traffic_ns, a->last_ns);
		s->now = sat_add(s->now, a->ns);
		s->sum.compute = sat_add(s->sum.compute, sat_mul(a->ns, s->multiplier));
		s->sum.flops = sat_add(s->sum.flops, sat_mul(a->flops, s->multiplier));
		return;
	}
	run *r = &s->runs.p[a->run];
	vec_reserve(&x->now_reads, a->n_reads);
	for (uint32_t i = 0; i < a->n_reads; i++) {
		const read_ref *from = &x->reads.p[a->first_read + i];
		x->now_reads.p[i] = x->moments_at[resolve(x, &from->from, instance)] + from->moment;
	}
	uint32_t to = r->moment == ID_NONE
		? ID_NONE
		: x->moments_at[instance] + r->moment - x->moments_from[block];
	if (r->kind == RUN_COLLECTIVE)
		take_turn(s, l, a, instance, groups);
	timeline_run(s, l, r, to, x->now_reads.p, a->n_reads);
}

/* The moments of the whole program take the place of the folded program's. */
static void spread_moments(simulator *s)
{
	struct folder *x = s->folder;
	const folding *f = x->f;
	uint32_t total = 0;
	for (uint32_t i = 0; i < f->order.n; i++) {
		uint32_t b = f->order.p[i];
		uint32_t n =
			(b + 1 < f->blocks.n ? x->moments_from[b + 1] : s->moments.n) - x->moments_from[b];
		x->moments_at[i] = total;
		vec_reserve(&x->moments, total + n);
		if (n)
			memcpy(
				x->moments.p + total, s->moments.p + x->moments_from[b], n * sizeof *x->moments.p);
		total += n;
	}
	x->moments.n = total;
	moment *p = s->moments.p;
	uint32_t cap = s->moments.cap;
	s->moments.p = x->moments.p;
	s->moments.n = x->moments.n;
	s->moments.cap = x->moments.cap;
	x->moments.p = p;
	x->moments.cap = cap;
}

static void run_blocks(simulator *s, const lowered *l)
{
	struct folder *x = s->folder;
	combine_group groups[MAX_OPEN_GROUPS];
	memset(groups, 0, sizeof *groups * x->n_keys);
	timeline_begin(s);
	for (uint32_t i = 0; i < x->f->order.n; i++) {
		uint32_t b = x->f->order.p[i];
		for (uint32_t k = x->acts_from[b]; k < x->acts_from[b + 1]; k++)
			run_act(s, l, &x->acts.p[k], b, i, groups);
	}
	timeline_end(s);
}

static uint32_t last_instance(const struct folder *x, uint32_t block)
{
	uint32_t last = 0;
	for (uint32_t i = x->instance_of[block]; i < x->f->order.n; i++)
		last = x->f->order.p[i] == block ? i : last;
	return last;
}

/* The block in which gradients come to an end. */
static void step_through(simulator *s, const lowered *l, uint32_t block, memory_level *level)
{
	for (lop_id i = block_start(l, block), end = block_start(l, block + 1); i < end; i++) {
		level_step(level, &s->delta[i]);
		if (i == s->late.until)
			level->live -= s->late.bytes;
	}
}

static void find_folded_peak(simulator *s, const lowered *l)
{
	struct folder *x = s->folder;
	for (uint32_t b = 0; b < x->f->blocks.n; b++) {
		memory_level sum = {.peak = INT64_MIN};
		for (lop_id i = block_start(l, b), end = block_start(l, b + 1); i < end; i++)
			level_step(&sum, &s->delta[i]);
		x->sums[b] = sum;
	}
	memory_level level = {0};
	uint32_t late = last_instance(x, x->block_of[s->late.until]);
	for (uint32_t i = 0; i < x->f->order.n; i++) {
		if (i == late) {
			step_through(s, l, x->f->order.p[i], &level);
			continue;
		}
		const memory_level *sum = &x->sums[x->f->order.p[i]];
		if (sum->peak != INT64_MIN)
			level.peak = MAX(level.peak, level.live + sum->peak);
		level.live += sum->live;
	}
	s->temporary = level.peak;
}

uint32_t folder_val_weight(const simulator *s, pval_id v)
{
	return fold_weight(s->folder->f, s->folder->f->val_layer[v]);
}

uint32_t folder_weight(const simulator *s, lop_id o)
{
	return fold_weight(s->folder->f, s->folder->layer[o]);
}

bool run_folded(simulator *s, const lowered *l)
{
	struct folder *x = s->folder;
	find_first_uses(x, l);
	x->alike = l->starts.n == x->f->blocks.n && spans_are_whole(x, l) && layers_agree(s, l);
	if (x->alike)
		make_acts(s, l);
	if (!x->alike)
		return false;
	spread_moments(s);
	run_blocks(s, l);
	find_folded_peak(s, l);
	return true;
}
