/* The compiled level: what is left to do for a target on a program that was already built
 * (explicit.c) and rewritten (optimize.c) as XLA does:
 *
 *   - a gather that only feeds a conversion to a narrower type is made after it, so that the narrow
 * type travels;
 *   - on TPU a float32 operand of a contraction in default precision is rounded before it is
 * resharded;
 *   - on TPU a top_k is a sort before it is partitioned: keys travel in words of 32 bits, and come
 * back all of them;
 *   - on TPU some reduce_scatters are all_reduces, each with a slice;
 *   - collectives of equal kind, devices and element type become one instruction while none of them
 * has to wait for the
 *     result of another, up to the target's size. Members stay in the list: the first has their number in `combined`,
 *     the others 0. */
#include "lower/internal.h"

#include <stdlib.h>
#include <string.h>

/* Bytes and members of one combined instruction. GPU: the defaults of XLA's combiners (30 MiB + 7
 * bytes for gathers, reductions and scatters); the same taken for TPU, whose value is not
 * published. CPU combines all_reduce alone, by number. */
typedef struct combine_limits {
	int64_t bytes;
	uint16_t members;
	bool reduce_only;
} combine_limits;
static const combine_limits limits[] =
	{
		[TARGET_TPU] = {(30 << 20) + 7, 256, false},
		[TARGET_GPU] = {(30 << 20) + 7, 256, false},
		[TARGET_CPU] = {INT64_MAX, 256, true},
},
							moved_limits[] = {
								/* TPU: libtpu 0.0.51 puts gradients of 108 MiB into one all_reduce,
                                   of 145 into two; gathers and scatters stay on their own */
								[TARGET_TPU] = {120 << 20, 256, true},
								[TARGET_GPU] = {(30 << 20) + 7, 256, false},
								[TARGET_CPU] = {INT64_MAX, 256, true},
};

/* ---------------------------------------------------------------- narrow type first */

static bool narrows(const lower_cache *c, const lowered *l, const lop *o)
{
	if (c->node_width[o->node] != NODE_CONVERTS || o->nest)
		return false;
	const module *m = c->p->m;
	const ir_type *from = type_get(m, l->vals.p[l->operands.p[o->operands]].type),
				  *to = type_get(m, l->vals.p[o->results].type);
	return elem_bits(to->elem) < elem_bits(from->elem);
}

/* gather(x) -> g, convert(g) -> r becomes convert(x) -> g, gather(g) -> r, in the same two places.
 */
static void convert_before_gather(lower_cache *c, lowered *l, lop_id convert)
{
	lop *o = &l->ops.p[convert];
	lval_id g = l->operands.p[o->operands], r = o->results;
	lop *gather = &l->ops.p[l->vals.p[g].def];
	if (gather->kind != LOP_COLLECTIVE || gather->coll != COLL_ALL_GATHER || gather->given ||
		l->vals.p[g].n_uses != 1 || gather->region != o->region)
		return;
	sharding_id from = l->vals.p[l->operands.p[gather->operands]].sharding;
	const sharding_id slots[2] = {from, from};
	const plan_entry *e = cache_node(c, o->node, slots);
	if (e->plan.at[0] != from || e->plan.at[1] != from)
		return;
	lval *x = &l->vals.p[g];
	x->type = l->vals.p[r].type;
	x->origin = l->vals.p[r].origin;
	x->sharding = from;
	x->bytes = cache_bytes(c, x->origin, from);
	lop was_gather = *gather, was_convert = *o;
	uint32_t in = was_gather.operands, mid = was_convert.operands;
	*gather = was_convert;
	gather->operands = in;
	gather->results = g;
	gather->plan = &e->plan;
	*o = was_gather;
	o->operands = mid;
	o->results = r;
	o->bytes = MAX(x->bytes, l->vals.p[r].bytes);
}

/* A float32 value, if a reshard made it, or a collective of the program's own: XLA for TPU rounds
 * both first. */
static void halve(lowered *l, lval_id id)
{
	lval *v = &l->vals.p[id];
	lop *o = &l->ops.p[v->def];
	if (o->kind != LOP_COLLECTIVE || o->halo || o->coll == COLL_ALL_REDUCE ||
		o->coll == COLL_REDUCE_SCATTER || type_get(l->p->m, v->type)->elem != ELEM_F32)
		return;
	v->narrow = true;
	v->bytes /= 2;
	o->bytes /= 2;
}

/* What a reshard brings to contractions alone travels and is kept in two bytes. */
static void round_before_reshards(lower_cache *c, lowered *l)
{
	if (!l->vals.n)
		return;
	vec_reserve(&c->work->rounded, l->vals.n);
	uint32_t *rounded = c->work->rounded.p;
	memset(rounded, 0, l->vals.n * sizeof *rounded);
	for (uint32_t n = 0; n < c->work->widths.n; n++) {
		const lop *o = &l->ops.p[c->work->widths.p[n]];
		bool rounds = o->kind == LOP_COMPUTE &&
			c->node_width[o->node] ==
				NODE_ROUNDS; /* a convert may have changed places with a gather */
		for (uint32_t k = 0; rounds && k < o->n_operands; k++) {
			lval_id v = l->operands.p[o->operands + k];
			if (++rounded[v] == l->vals.p[v].n_uses)
				halve(l, v);
		}
	}
}

/* What an all_to_all brings to a top_k that is a sort, and to nothing else: 16-bit keys share a
 * word with their positions; others come back with them. What is gathered for one that packs both
 * into a word stays. */
static void send_words_of_keys(lowered *l, const lop *top_k)
{
	const lval *v = &l->vals.p[l->operands.p[top_k->operands]];
	lop *o = v->def == ID_NONE ? NULL : &l->ops.p[v->def];
	int bits = elem_bits(type_get(l->p->m, v->type)->elem);
	bool packed = top_k_way_of_op(l->p, top_k->node, l->target) == TOP_K_PACKED;
	if (!o || o->kind != LOP_COLLECTIVE || lop_is_own(l, o) ||
		o->coll != (packed ? COLL_ALL_GATHER : COLL_ALL_TO_ALL) || v->n_uses != 1 || bits > 32)
		return;
	enum { WORD_BITS = 32 };
	int64_t arrays = packed ? 1 : bits < WORD_BITS ? 2 : 3;
	o->bytes = sat_mul(o->bytes, arrays * WORD_BITS / MAX(bits, 1));
}

/* ---------------------------------------------------------------- combining */

/* Which collective the compiler has in its place when it combines. */
static collective_kind combined_as(const lop *o)
{
	return o->kept_all_reduce ? COLL_ALL_REDUCE : (collective_kind)o->coll;
}

/* Does the compiler move it between what makes its operand and what reads it? What the program of
 * one device says, XLA for TPU every all_reduce, and XLA for GPU every collective. */
static bool may_move(const lowered *l, const lop *o)
{
	return l->level == LEVEL_EXACT || o->given || l->target == TARGET_GPU ||
		(l->target == TARGET_TPU && combined_as(o) == COLL_ALL_REDUCE);
}

static const combine_limits *limits_of(const lowered *l, const lop *o)
{
	return &(may_move(l, o) ? moved_limits : limits)[l->target];
}

/* What counts of the bytes of its larger side. XLA's combiners for GPU count results. */
static int64_t combining_bytes(const lowered *l, const lop *o, int64_t bytes)
{
	bool scatters = l->target == TARGET_GPU && o->coll == COLL_REDUCE_SCATTER;
	return scatters ? bytes / lop_group_size(o) : bytes;
}

bool lop_combines(const lowered *l, const lop *o)
{
	if (o->kind != LOP_COLLECTIVE || o->erased)
		return false;
	/* one that is too large stays alone, and ends nothing */
	if (l->target == TARGET_GPU && combining_bytes(l, o, o->bytes) > limits_of(l, o)->bytes)
		return false;
	if (limits_of(l, o)->reduce_only)
		return combined_as(o) == COLL_ALL_REDUCE;
	return o->coll == COLL_ALL_REDUCE || o->coll == COLL_ALL_GATHER ||
		o->coll == COLL_REDUCE_SCATTER;
}

lop_id lowered_last_combining(const lowered *l)
{
	lop_id i = l->ops.n;
	while (i-- > 0)
		if (lop_combines(l, &l->ops.p[i]))
			return i;
	return ID_NONE;
}

bool lops_combine_alike(const lowered *l, lop_id a, lop_id b, const lop_id *first_use, lop_id last)
{
	const lop *x = &l->ops.p[a], *y = &l->ops.p[b];
	if (l->target != TARGET_GPU && may_move(l, x) && may_move(l, y) &&
		(first_use[x->results] > last) != (first_use[y->results] > last))
		return false;
	if (combined_as(x) != combined_as(y) || x->reduction != y->reduction ||
		x->region != y->region || !axes_equal(x->step->axes, y->step->axes))
		return false;
	const lval *v = &l->vals.p[x->results], *w = &l->vals.p[y->results];
	if (l->target == TARGET_GPU && x->coll == COLL_ALL_GATHER)
		return true;
	return v->narrow == w->narrow &&
		type_get(l->p->m, v->type)->elem == type_get(l->p->m, w->type)->elem;
}

bool combine_joins(const lowered *l, const lop *o, combine_group *g, uint64_t at,
	uint64_t first_use, int64_t bytes)
{
	const combine_limits *lim = limits_of(l, o);
	int64_t together = sat_add(g->bytes, bytes);
	if (g->n && at < g->closes && g->n < lim->members &&
		combining_bytes(l, o, together) <= lim->bytes) {
		g->bytes = together;
		g->closes = MIN(g->closes, first_use);
		g->n++;
		return true;
	}
	*g = (combine_group){first_use, bytes, 1};
	return false;
}

static bool node_hands_on(const lowered *l, node_id n)
{
	const node *x = &l->p->nodes.p[n];
	if (x->op_kind == OP_REDUCE) { /* over dims of one element: a reshape */
		const pval_id *slots = node_slots(l->p, x);
		return x->n_results == 1 &&
			pval_type(l->p, slots[0])->elements == pval_type(l->p, slots[x->n_operands])->elements;
	}
	return x->op_kind == OP_CONVERT || x->op_kind == OP_RESHAPE || x->op_kind == OP_TRANSPOSE;
}

/* A device's own part of what was reduced: in a program of one device a dynamic_slice, whose place
 * is not looked at. */
static bool is_own_part(const lowered *l, const lop *o)
{
	if (o->kind == LOP_COLLECTIVE)
		return o->coll == COLL_ALL_SLICE;
	return o->kind == LOP_COMPUTE && !o->nest && l->p->nodes.p[o->node].op_kind == OP_DYNAMIC_SLICE;
}

/* Does an op, with what is nested in it, only hand on what it reads, so that compilers do it with
 * whoever reads that? */
static bool hands_on(const lowered *l, const lop *o)
{
	if (o->kind != LOP_COMPUTE || o->n_results != 1)
		return false;
	bool starts = l->p->nodes.p[o->node].op_kind == OP_REDUCE &&
		!o->nest; /* its second operand is what the sum starts from */
	bool does = o->n_operands == 1u + starts && node_hands_on(l, o->node);
	for (uint32_t i = 0; does && o->nest && i < o->nest->n_ops; i++)
		does = node_hands_on(l, nested_node(o, &o->nest->ops[i]));
	return does;
}

static bool is_addition(const lowered *l, const lop *o)
{
	return o->kind == LOP_COMPUTE && !o->nest && o->n_operands == 2 &&
		l->p->nodes.p[o->node].op_kind == OP_ADD;
}

/* Elementwise work on single numbers, as on the terms of a loss, waits for whoever reads it. */
static bool is_on_a_number(const lowered *l, const lop *o)
{
	return o->kind == LOP_COMPUTE && o->n_results == 1 && l->p->nodes.p[o->node].elementwise &&
		type_get(l->p->m, l->vals.p[o->results].type)->elements == 1;
}

/* Is a value the sum of all_reduces, at most as many additions behind them? */
static bool is_reduced(const lowered *l, lval_id v, uint32_t additions)
{
	lop_id def = l->vals.p[v].def;
	const lop *o = def == ID_NONE ? NULL : &l->ops.p[def];
	if (!o)
		return false;
	const lval_id *in = l->operands.p + o->operands;
	if (o->kind == LOP_COLLECTIVE && o->coll != COLL_ALL_SLICE)
		return combined_as(o) == COLL_ALL_REDUCE;
	if (hands_on(l, o) || is_own_part(l, o))
		return is_reduced(l, in[0], additions);
	return additions && is_addition(l, o) && is_reduced(l, in[0], additions - 1) &&
		is_reduced(l, in[1], additions - 1);
}

/* So does adding up what was reduced, as gradients of a weight that is read several times. */
static bool adds_reduced(const lowered *l, const lop *o)
{
	enum { MOST = 8 /* additions behind each other */ };
	return is_addition(l, o) && is_reduced(l, l->operands.p[o->operands], MOST) &&
		is_reduced(l, l->operands.p[o->operands + 1], MOST);
}

/* Done where what it makes is read, and not where the program has it. */
static bool waits_for_reader(const lowered *l, const lop *o)
{
	return hands_on(l, o) || is_on_a_number(l, o) || is_own_part(l, o) || adds_reduced(l, o);
}

void lowered_first_uses(const lowered *l, lop_id *first_use)
{
	for (lval_id v = 0; v < l->vals.n; v++)
		first_use[v] = ID_NONE;
	for (lop_id i = l->ops.n; i-- > 0;) {
		const lop *o = &l->ops.p[i];
		lop_id handed = waits_for_reader(l, o) ? first_use[o->results] : i;
		for (uint32_t k = 0; k < o->n_operands; k++) {
			lval_id v = l->operands.p[o->operands + k];
			const lop *def = &l->ops.p[l->vals.p[v].def];
			bool moves = def->kind != LOP_COLLECTIVE || is_own_part(l, def) || may_move(l, def);
			first_use[v] = MIN(first_use[v], moves ? handed : i);
		}
	}
}

/* Whether a value is what a collective made, or only that handed on, is kept in the lowest bit. */
static lop_id after_of(lop_id i, bool made) { return i << 1 | made; }

void lowered_dependences(const lowered *l, lop_id *after)
{
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		lop_id last = o->region == ID_NONE ? 0 : o->region;
		bool reads = false;
		for (uint32_t k = 0; k < o->n_operands; k++) {
			lval_id v = l->operands.p[o->operands + k];
			if (l->ops.p[l->vals.p[v].def].region != o->region)
				continue;
			last = MAX(last, after[v] >> 1);
			reads |= after[v] & 1;
		}
		bool collective = o->kind == LOP_COLLECTIVE, hands = reads && waits_for_reader(l, o);
		if (reads && !hands)
			last = i;
		for (uint32_t k = 0; k < o->n_results; k++)
			after[o->results + k] =
				o->kind == LOP_REGION ? after_of(i, false) : after_of(last, collective || hands);
	}
}

lop_id lop_combines_from(const lowered *l, lop_id id, const lop_id *after)
{
	const lop *o = &l->ops.p[id];
	if (!may_move(l, o))
		return id;
	lval_id in = l->operands.p[o->operands];
	lop_id def = l->vals.p[in].def;
	if (l->ops.p[def].region != o->region)
		return id;
	return l->target == TARGET_CPU ? def : after[in] & 1 ? id : after[in] >> 1;
}

/* Leaves out what was opened in a region that has ended: every loop has instructions of its own. */
static uint32_t still_open(
	const lowered *l, lop_id region, lop_id *first, combine_group *open, uint32_t n)
{
	uint32_t kept = 0;
	for (uint32_t g = 0; g < n; g++) {
		lop_id of = l->ops.p[first[g]].region, at = region;
		while (of != ID_NONE && at != ID_NONE && at != of)
			at = l->ops.p[at].region;
		if (of == ID_NONE || at == of)
			first[kept] = first[g], open[kept++] = open[g];
	}
	return kept;
}

static void combine(lower_cache *c, lowered *l)
{
	vec_reserve(&c->work->first_use, 2 * l->vals.n);
	lop_id *first_use = c->work->first_use.p, *after = first_use + l->vals.n,
		   first[MAX_OPEN_GROUPS];
	lowered_first_uses(l, first_use);
	if (l->target != TARGET_CPU)
		lowered_dependences(l, after);
	lop_id last = lowered_last_combining(l);
	combine_group open[MAX_OPEN_GROUPS];
	uint32_t n_open = 0;
	for (lop_id i = 0; i < l->ops.n; i++) {
		lop *o = &l->ops.p[i];
		if (!lop_combines(l, o))
			continue;
		uint32_t g = 0;
		while (g < n_open && !lops_combine_alike(l, first[g], i, first_use, last))
			g++;
		if (g == MAX_OPEN_GROUPS)
			g = n_open = still_open(l, o->region, first, open, n_open);
		if (g == MAX_OPEN_GROUPS)
			continue;
		if (g == n_open)
			open[n_open++] = (combine_group){0};
		if (combine_joins(
				l, o, &open[g], lop_combines_from(l, i, after), first_use[o->results], o->bytes)) {
			l->ops.p[first[g]].combined = open[g].n;
			o->combined = 0;
			o->ahead = open[g].bytes - o->bytes;
		} else {
			first[g] = i;
		}
	}
}

/* XLA for TPU makes no reduce_scatter of a sum over all devices of a square or a torus, and none of
 * a value of one dim, as a bias is: the texts of 76 annotated plans have none (libtpu 0.0.51). What
 * it keeps joins the other all_reduces. */
static void find_kept_all_reduces(const lower_cache *c, lowered *l)
{
	for (lop_id i = 0; i < l->ops.n; i++) {
		lop *o = &l->ops.p[i];
		o->kept_all_reduce = l->level == LEVEL_COMPILED && o->kind == LOP_COLLECTIVE && !o->given &&
			o->coll == COLL_REDUCE_SCATTER &&
			(type_get(l->p->m, l->vals.p[o->results].type)->rank < 2 ||
				cache_reduces_whole(c, o->step->axes));
	}
}

void lowered_compile(lower_cache *c, lower_target target, lowered *l)
{
	for (uint32_t i = 0; i < c->work->widths.n; i++) {
		lop_id o = c->work->widths.p[i];
		if (narrows(c, l, &l->ops.p[o]))
			convert_before_gather(c, l, o);
		if (target == TARGET_TPU && l->level == LEVEL_COMPILED &&
			c->node_width[l->ops.p[o].node] == NODE_KEYS)
			send_words_of_keys(l, &l->ops.p[o]);
	}
	if (target == TARGET_TPU) {
		round_before_reshards(c, l);
		find_kept_all_reduces(c, l);
	}
	if (!c->n_marks)
		combine(c, l);
}
