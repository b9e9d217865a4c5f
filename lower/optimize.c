/* The optimized level: textbook rewrites of the placed program, read from one set of arrays and written to another.
 *
 *   1 forward   equal reshards of one value become one; a reshard back to where the value came from is the value
 *   2 backward  use counts of what is left: dead code goes
 *   3 forward   which values could stay partial sums (linear ops on all_reduce results with one use)
 *   4 backward  which do: those that flow into a sum of partial sums over the same axes; at the compiled level also those
 *               that a loop accumulates: they are reduced behind the loop
 *   5 forward   write: chains of reshards are planned again from end to end, all_reduce + all_slice becomes
 *               reduce_scatter, a sum of partial sums is reduced once, and a scalar's broadcast (the zeros that a scatter
 *               adds to) is not moved but made again where it is wanted
 *
 * Gathers of parameters are not shared between uses: holding a gathered parameter from forward to backward is what
 * sharding parameters is meant to avoid. XLA does share them: at the compiled level equal gathers are one, on TPU where
 * they are near to each other. And there only sums of what has just been reduced are reduced once,
 * not what a scatter wrote with what another op made, and nothing on CPU. */
#include "lower/internal.h"

#include <stdlib.h>

typedef struct fact { /* of a value of the placed program */
	const collective_step *partial; /* all_reduce that could come later */
	sharding_id at; /* of the partial sum: reshards in between could come later too */
	const collective_step *pending; /* all_reduce that the reshards behind it will do or fold */
	const collective_step *carried; /* of a loop's result: all_reduce that was in its body; compiled level */
	type_id carried_as; /* what it is reduced as, if not as what it is; ID_NONE */
	lval_id alias;  /* the value that stands for it */
	lval_id base;   /* first value of the chain of reshards it is in */
	lval_id now;    /* in the new program */
	lop_id user;    /* one of the ops that read it */
	lop_id again;   /* of a reshard: the broadcast of a scalar that is made again instead; else ID_NONE */
	uint32_t uses;
	bool parameter; /* an argument of main that is no integer, possibly converted */
	bool sum, need; /* a sum of partial sums; stays partial */
	lval_id term;   /* of an addition whose partial sums are added first: the one it adds; compiled level */
	bool later;     /* it leaves out what is whole, for a later one to add */
	bool joins;     /* the addition that adds it */
	bool scattered; /* partial: what scatters wrote, compiled level alone */
} fact;

/* reduce_scatter instead of all_reduce and all_slice. */
typedef struct scatter_entry {
	axes reduced;
	sharding_id from, to;
	type_id type;
	bool possible;
	collective_step scatter, rest;
	bool has_rest;
	int64_t scatter_bytes, rest_bytes;
} scatter_entry;

/* How far from the end a value is read. */
typedef struct reading {
	uint32_t highest; /* 1 + height of the user that is farthest from the end; 0: nothing reads it */
	uint32_t lowest;  /* height of the user that is nearest to the end */
	lop_id nearest;   /* that user */
} reading;

struct optimizer {
	VEC(fact) facts;
	VEC(lop_id) moved; /* by placed op: its place in the new program */
	VEC(uint32_t) height;  /* by placed op: find_heights */
	VEC(reading) readings; /* by placed value: find_heights */
	VEC(uint32_t) loops;  /* heights of the loops around the current op */
	VEC(bool) live;    /* by placed op */
	VEC(lop_id) linear; /* placed ops that partial sums come from or could pass through */
	index_map seen;
	index_map scatter_index;
	VEC(scatter_entry *) scatters;
};

typedef struct pass {
	lower_cache *c;
	struct optimizer *o;
	fact *f;
	const lowered *in;
	lowered *out;
	lop_id *moved;
	bool *live;
	lower_level level;
	lower_target target;
	bool heights;  /* are known */
	/* what there is in the program, so that passes that look for it need not */
	bool regions, all_reduces, sums, scattered, joins;
} pass;

struct optimizer *optimizer_new(void)
{
	struct optimizer *o = xcalloc(1, sizeof *o);
	index_init(&o->seen);
	index_init(&o->scatter_index);
	return o;
}

void optimizer_forget(struct optimizer *o)
{
	for (uint32_t i = 0; i < o->scatters.n; i++)
		free(o->scatters.p[i]);
	o->scatters.n = 0;
	index_clear(&o->scatter_index);
}

void optimizer_free(struct optimizer *o)
{
	if (!o)
		return;
	optimizer_forget(o);
	vec_release(&o->facts);
	vec_release(&o->moved);
	vec_release(&o->height);
	vec_release(&o->readings);
	vec_release(&o->loops);
	vec_release(&o->live);
	vec_release(&o->linear);
	index_release(&o->seen);
	index_release(&o->scatter_index);
	vec_release(&o->scatters);
	free(o);
}

static lval_id operand_of(const lowered *l, const lop *o, uint32_t i) { return l->operands.p[o->operands + i]; }
static uint16_t kind_of(const pass *p, const lop *o) { return o->node == ID_NONE ? OP_UNKNOWN : p->c->p->nodes.p[o->node].op_kind; }
static bool is_reshard(const lop *o) { return o->kind == LOP_COLLECTIVE && o->coll != COLL_ALL_REDUCE && !o->given; }
static bool is_all_reduce(const lop *o) { return o->kind == LOP_COLLECTIVE && o->coll == COLL_ALL_REDUCE && !o->given; }

/* ---------------------------------------------------------------- how far apart ops are */

/* TPU: two equal gathers are one when the longest way to the end of the program from the first one's nearest user is at most
 * so many ops longer than the second one's. Measured on programs of known depth; XLA's pass for it takes such a number. */
enum { NEAR_OPS = 100 };

/* The region whose op a value is; its arguments are its own. */
static lop_id home_of(const lowered *l, lval_id v)
{
	lop_id def = l->vals.p[v].def;
	return l->ops.p[def].kind == LOP_REGION ? def : l->ops.p[def].region;
}

static void note_reading(reading *r, lop_id user, uint32_t height)
{
	r->highest = MAX(r->highest, height + 1);
	if (height < r->lowest) {
		r->lowest = height;
		r->nearest = user;
	}
}

/* A value is read by an op of that height; from inside a loop around which it was made it is the loop that reads it. */
static void read_at(pass *p, lval_id v, lop_id user, lop_id region, uint32_t height)
{
	lop_id home = home_of(p->in, v);
	uint32_t out = 0;
	for (; region != home && region != ID_NONE; out++)
		region = p->in->ops.p[region].region;
	if (out && out <= p->o->loops.n)
		height = p->o->loops.p[p->o->loops.n - out];
	note_reading(&p->o->readings.p[v], user, height);
}

/* Height: how many ops the longest way from an op to the end of its region has. */
static void find_heights(pass *p)
{
	const lowered *l = p->in;
	struct optimizer *o = p->o;
	vec_reserve(&o->height, l->ops.n);
	vec_reserve(&o->readings, l->vals.n);
	reading *readings = o->readings.p;
	uint32_t *heights = o->height.p;
	for (lval_id v = 0; v < l->vals.n; v++)
		readings[v] = (reading){0, UINT32_MAX, ID_NONE};
	o->loops.n = 0;
	for (lop_id i = l->ops.n; i-- > 0;) {
		const lop *x = &l->ops.p[i];
		uint32_t h = 0;
		for (lval_id v = x->results, end = v + x->n_results; v < end; v++)
			h = MAX(h, readings[v].highest);
		if (!p->regions) {
			heights[i] = h;
			const lval_id *operands = l->operands.p + x->operands;
			for (uint32_t k = 0; k < x->n_operands; k++)
				note_reading(&readings[operands[k]], i, h);
			continue;
		}
		if (x->kind == LOP_REGION_END)
			vec_push(&o->loops, h);
		else if (x->kind == LOP_REGION)
			h = vec_pop(&o->loops);
		o->height.p[i] = h;
		bool ends = x->kind == LOP_REGION_END || x->kind == LOP_REGION_ELSE;
		for (uint32_t k = 0; k < x->n_operands; k++) {
			lval_id v = operand_of(l, x, k);
			read_at(p, v, i, ends ? home_of(l, v) : x->region, ends ? 0 : h);
		}
	}
	p->heights = true;
}

static bool has_regions(const lowered *l)
{
	for (lop_id i = 0; i < l->ops.n; i++)
		if (l->ops.p[i].kind == LOP_REGION)
			return true;
	return false;
}

static bool are_far(pass *p, lval_id first, lop_id second)
{
	if (p->level != LEVEL_COMPILED || p->target != TARGET_TPU || p->in->ops.p[second].coll != COLL_ALL_GATHER)
		return false;
	if (!p->heights)
		find_heights(p);
	return p->o->readings.p[first].lowest > p->o->height.p[second] + NEAR_OPS;
}

/* ---------------------------------------------------------------- 1: equal reshards */

/* Is region `outer` the same as or around region `inner`? */
static bool region_holds(const lowered *l, lop_id outer, lop_id inner)
{
	while (inner != outer && inner != ID_NONE)
		inner = l->ops.p[inner].region;
	return inner == outer;
}

static bool keeps_parameter(const pass *p, const lop *o)
{
	if (o->kind == LOP_ARGUMENT)
		return !elem_is_int(type_get(p->c->p->m, p->in->vals.p[o->results].type)->elem);
	if (o->kind == LOP_COLLECTIVE)
		return p->f[operand_of(p->in, o, 0)].parameter;
	if (o->kind != LOP_COMPUTE || o->n_operands != 1 || !p->f[operand_of(p->in, o, 0)].parameter)
		return false;
	uint16_t kind = kind_of(p, o);
	const lval *from = &p->in->vals.p[operand_of(p->in, o, 0)], *to = &p->in->vals.p[o->results];
	return (kind == OP_CONVERT || kind == OP_RESHAPE || kind == OP_TRANSPOSE || kind == OP_BROADCAST_IN_DIM) &&
	       type_get(p->c->p->m, from->type)->elements == type_get(p->c->p->m, to->type)->elements;
}

/* The marked stretch that an op is in; what is before the first counts to it. */
static uint32_t stretch_of(const lowered *l, lop_id o)
{
	uint32_t low = 0, high = l->starts.n;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		if (l->starts.p[mid] <= o)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : 0;
}

/* v is the value of `first` too. */
static void share(pass *p, lval_id first, lval_id v)
{
	if (!p->heights)
		return;
	reading *r = &p->o->readings.p[first];
	const reading *other = &p->o->readings.p[v];
	if (p->in->starts.n && p->in->ops.p[p->in->vals.p[v].def].coll == COLL_ALL_GATHER) {
		uint32_t a = stretch_of(p->in, r->nearest), b = stretch_of(p->in, p->in->vals.p[v].def);
		vec_push(&p->out->spans, (lowered_span){MIN(a, b), MAX(a, b)});
	}
	if (other->lowest < r->lowest) {
		r->lowest = other->lowest;
		r->nearest = other->nearest;
	}
}

/* The value that an earlier equal reshard made, or that was there before a reshard that is undone. */
static lval_id find_equal(pass *p, const lop *o, lval_id v)
{
	const lowered *l = p->in;
	lval_id from = p->f[operand_of(l, o, 0)].alias;
	const lop *def = &l->ops.p[l->vals.p[from].def];
	if (is_reshard(def)) {
		lval_id before = p->f[operand_of(l, def, 0)].alias;
		if (l->vals.p[before].sharding == l->vals.p[v].sharding)
			return before;
	}
	if (o->coll == COLL_ALL_GATHER && p->f[from].parameter && p->level != LEVEL_COMPILED)
		return v;
	uint64_t h = hash_combine((uint64_t)from << 32 | o->step->out, o->coll);
	uint32_t other;
	lval_id last = ID_NONE;
	for (uint32_t it = index_first(&p->o->seen, h); index_next(&p->o->seen, h, &it, &other);) {
		const lop *x = &l->ops.p[l->vals.p[other].def];
		if (x->coll == o->coll && x->step->out == o->step->out && p->f[operand_of(l, x, 0)].alias == from &&
		    region_holds(l, x->region, o->region) && (last == ID_NONE || other > last))
			last = other;
	}
	if (last != ID_NONE && !are_far(p, last, l->vals.p[v].def)) {
		share(p, last, v);
		return last;
	}
	index_add(&p->o->seen, h, v);
	return v;
}

static bool spreads_scalar(const pass *p, const lop *o)
{
	return o->kind == LOP_COMPUTE && kind_of(p, o) == OP_BROADCAST_IN_DIM && type_get(p->c->p->m, p->in->vals.p[operand_of(p->in, o, 0)].type)->rank == 0;
}

static lop_id broadcast_behind(const pass *p, const lop *o)
{
	lval_id from = p->f[operand_of(p->in, o, 0)].alias;
	lop_id def = p->in->vals.p[from].def;
	return spreads_scalar(p, &p->in->ops.p[def]) ? def : p->f[from].again;
}

/* Is it one that find_partial, choose_partial and find_joins have to look at? */
static bool is_linear(const pass *p, const lop *o)
{
	if (o->n_results != 1 || o->kind != LOP_COMPUTE)
		return o->kind == LOP_COLLECTIVE;
	switch (kind_of(p, o)) {
	case OP_ADD:
		return true;
	case OP_SUBTRACT:
	case OP_CONVERT:
	case OP_NEGATE:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_DIVIDE:
	case OP_MULTIPLY:
		return p->level != LEVEL_COMPILED;
	default:
		return false;
	}
}

static void share_reshards(pass *p)
{
	const lowered *l = p->in;
	index_clear(&p->o->seen);
	p->o->linear.n = 0;
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		/* the compiled level shares gathers of parameters too */
		bool parameter = p->level != LEVEL_COMPILED && o->n_results == 1 && keeps_parameter(p, o);
		for (lval_id v = o->results, end = v + o->n_results; v < end; v++)
			p->f[v] = (fact){.alias = v, .base = v, .now = ID_NONE, .user = ID_NONE, .again = ID_NONE, .parameter = parameter};
		p->all_reduces |= is_all_reduce(o);
		if (is_linear(p, o))
			vec_push(&p->o->linear, i);
		if (is_reshard(o)) {
			p->f[o->results].alias = find_equal(p, o, o->results);
			p->f[o->results].again = broadcast_behind(p, o);
		}
	}
}

/* ---------------------------------------------------------------- 2: uses */

static bool find_live(const pass *p, const lop *o)
{
	if (o->kind != LOP_COMPUTE && o->kind != LOP_COLLECTIVE)
		return true;
	for (lval_id v = o->results, end = v + o->n_results; v < end; v++)
		if (p->f[v].uses)
			return true;
	return o->kind == LOP_COMPUTE && !p->c->p->nodes.p[o->node].pure;
}

static void count_uses(pass *p)
{
	const lowered *l = p->in;
	for (lop_id i = l->ops.n; i-- > 0;) {
		const lop *o = &l->ops.p[i];
		p->live[i] = find_live(p, o);
		if (!p->live[i])
			continue;
		const lop *reads = is_reshard(o) && p->f[o->results].again != ID_NONE ? &l->ops.p[p->f[o->results].again] : o;
		for (uint32_t k = 0; k < reads->n_operands; k++) {
			fact *f = &p->f[p->f[operand_of(l, reads, k)].alias];
			f->uses++;
			f->user = i;
		}
	}
}

/* ---------------------------------------------------------------- 3, 4: partial sums */

static sharding_id sharding_of(const pass *p, lval_id v) { return p->in->vals.p[v].sharding; }

/* Reads a partial sum that nothing else reads, in the region where it was made. */
static const fact *partial_operand(const pass *p, const lop *o, uint32_t i)
{
	lval_id v = p->f[operand_of(p->in, o, i)].alias;
	const fact *f = &p->f[v];
	return f->partial && f->uses == 1 && p->in->ops.p[p->in->vals.p[v].def].region == o->region ? f : NULL;
}

static bool widens(const pass *p, const lop *o)
{
	const type *from = type_get(p->c->p->m, p->in->vals.p[operand_of(p->in, o, 0)].type), *to = type_get(p->c->p->m, p->in->vals.p[o->results].type);
	return !elem_is_int(from->elem) && !elem_is_int(to->elem) && elem_bits(to->elem) >= elem_bits(from->elem);
}

/* The partial sum is where the op reads it: no reshard would have to move behind the op. */
static const fact *in_place(const pass *p, const lop *o, uint32_t i)
{
	const fact *f = partial_operand(p, o, i);
	return f && f->at == sharding_of(p, p->f[operand_of(p->in, o, i)].alias) ? f : NULL;
}

/* The operand whose partial sum the op's result is too; for sums the first of two. */
static const fact *partial_source(const pass *p, const lop *o, bool *sum)
{
	const fact *a, *b;
	*sum = false;
	uint16_t kind = kind_of(p, o);
	if (p->level == LEVEL_COMPILED && (kind != OP_ADD || p->target == TARGET_CPU))
		return NULL;
	switch (kind) {
	case OP_ADD:
	case OP_SUBTRACT:
		a = partial_operand(p, o, 0);
		b = partial_operand(p, o, 1);
		*sum = a && b && a->at == b->at && a->scattered == b->scattered && axes_equal(a->partial->axes, b->partial->axes);
		return *sum ? a : NULL;
	case OP_CONVERT:
		return widens(p, o) ? partial_operand(p, o, 0) : NULL;
	case OP_NEGATE:
		return partial_operand(p, o, 0);
	case OP_RESHAPE:
	case OP_TRANSPOSE:
		return in_place(p, o, 0);
	case OP_DIVIDE:
		return p->f[p->f[operand_of(p->in, o, 1)].alias].partial ? NULL : in_place(p, o, 0);
	case OP_MULTIPLY:
		a = in_place(p, o, 0);
		b = in_place(p, o, 1);
		return a && b ? NULL : a ? a : b;
	default:
		return NULL;
	}
}

static void find_partial(pass *p)
{
	const lowered *l = p->in;
	for (uint32_t i = 0; i < p->o->linear.n; i++) {
		const lop *o = &l->ops.p[p->o->linear.p[i]];
		if (o->n_results != 1 || !p->f[o->results].uses)
			continue;
		fact *f = &p->f[o->results];
		if (is_all_reduce(o)) {
			bool plain = sharding_of(p, operand_of(l, o, 0)) == sharding_of(p, o->results);
			f->scattered = p->level == LEVEL_COMPILED && kind_of(p, o) == OP_SCATTER;
			p->scattered |= f->scattered;
			f->partial = plain && o->reduction == 0 ? o->step : NULL;
			f->at = sharding_of(p, o->results);
			continue;
		}
		const fact *from = is_reshard(o) ? partial_operand(p, o, 0) : o->kind == LOP_COMPUTE ? partial_source(p, o, &f->sum) : NULL;
		if (!from)
			continue;
		f->partial = from->partial;
		f->scattered = from->scattered;
		p->sums |= f->sum;
		bool moves = is_reshard(o) || from->at != sharding_of(p, operand_of(l, o, 0));
		f->at = moves ? from->at : sharding_of(p, o->results);
	}
}

static void choose_partial(pass *p)
{
	const lowered *l = p->in;
	for (uint32_t i = p->o->linear.n; i-- > 0;) {
		const lop *o = &l->ops.p[p->o->linear.p[i]];
		if (o->n_results != 1 || is_all_reduce(o))
			continue;
		const fact *f = &p->f[o->results];
		if (!f->partial || (!f->sum && !f->need))
			continue;
		for (uint32_t k = 0; k < o->n_operands; k++)
			if (partial_operand(p, o, k))
				p->f[p->f[operand_of(l, o, k)].alias].need = true;
	}
}

/* ---------------------------------------------------------------- 4: additions in another order */

/* Reduced in that region, where it is, and read once. */
static bool is_term(const pass *p, lval_id v, lop_id region)
{
	const fact *f = &p->f[v];
	const lop *def = &p->in->ops.p[p->in->vals.p[v].def];
	return f->uses == 1 && def->region == region && f->partial && !f->need && f->at == sharding_of(p, v) && (f->sum || is_all_reduce(def));
}

static bool is_addition(const pass *p, lval_id v, lop_id region)
{
	const lop *def = &p->in->ops.p[p->in->vals.p[v].def];
	return def->kind == LOP_COMPUTE && def->region == region && kind_of(p, def) == OP_ADD && !p->f[v].sum && !p->f[v].need;
}

/* The operand of an addition that is a term that a scatter wrote, reduced like `like` (ID_NONE: anyhow), while the other one
 * is none; ID_NONE when there is no such operand. *rest: the other one. */
static lval_id term_of(const pass *p, lval_id v, lval_id like, lval_id *rest)
{
	const lop *o = &p->in->ops.p[p->in->vals.p[v].def];
	lval_id a = p->f[operand_of(p->in, o, 0)].alias, b = p->f[operand_of(p->in, o, 1)].alias;
	bool first = is_term(p, a, o->region);
	if (first == is_term(p, b, o->region))
		return ID_NONE;
	lval_id term = first ? a : b;
	const fact *f = &p->f[term], *g = &p->f[like == ID_NONE ? term : like];
	*rest = first ? b : a;
	return f->scattered && f->at == g->at && axes_equal(f->partial->axes, g->partial->axes) ? term : ID_NONE;
}

/* ((x + a) + b) + c, all but x written by scatters and reduced over the same axes, becomes x + (a + b + c): one all_reduce.
 * XLA does so with scatters alone. */
static void join_terms(pass *p, lval_id top)
{
	lop_id region = p->in->ops.p[p->in->vals.p[top].def].region;
	lval_id first = ID_NONE, rest = ID_NONE, below = ID_NONE;
	for (lval_id v = top; is_addition(p, v, region) && (v == top || p->f[v].uses == 1); v = rest) {
		lval_id term = term_of(p, v, first, &rest);
		if (term == ID_NONE)
			break;
		if (v == top) {
			first = term;
			continue;
		}
		p->f[v].later = p->f[term].need = true;
		p->f[v].term = term;
		below = v;
	}
	if (below == ID_NONE)
		return;
	p->joins = true;
	p->f[top].joins = p->f[first].need = true;
	p->f[top].term = first;
}

static void find_joins(pass *p)
{
	for (uint32_t i = p->o->linear.n; i-- > 0;) {
		lop_id id = p->o->linear.p[i];
		const lop *o = &p->in->ops.p[id];
		if (o->kind == LOP_COMPUTE && p->live[id] && !p->f[o->results].later)
			join_terms(p, o->results);
	}
}

/* ---------------------------------------------------------------- 4: what loops accumulate */

enum { MAX_TERMS = 16 };

/* The all_reduces whose sum v is, possibly converted or transposed, all over the same axes and made and read in that loop
 * alone; false when something else is in it. */
static bool collect_terms(const pass *p, lval_id v, lop_id loop, lval_id *terms, uint32_t *n)
{
	const lowered *l = p->in;
	v = p->f[v].alias;
	const lop *def = &l->ops.p[l->vals.p[v].def];
	const fact *f = &p->f[v];
	if (f->uses != 1 || def->region != loop || *n == MAX_TERMS)
		return false;
	if (is_term(p, v, loop)) {
		terms[(*n)++] = v;
		return axes_equal(f->partial->axes, p->f[terms[0]].partial->axes);
	}
	uint16_t kind = def->kind == LOP_COMPUTE ? kind_of(p, def) : OP_UNKNOWN;
	if (kind == OP_TRANSPOSE || kind == OP_RESHAPE || (kind == OP_CONVERT && widens(p, def)))
		return collect_terms(p, operand_of(l, def, 0), loop, terms, n);
	return kind == OP_ADD && collect_terms(p, operand_of(l, def, 0), loop, terms, n) && collect_terms(p, operand_of(l, def, 1), loop, terms, n);
}

/* What it is reduced as behind the loop: GPU keeps the narrow type that was reduced in it. */
static type_id narrow_type(const pass *p, lval_id added)
{
	const lop *def = &p->in->ops.p[p->in->vals.p[added].def];
	bool widened = p->target == TARGET_GPU && def->kind == LOP_COMPUTE && kind_of(p, def) == OP_CONVERT;
	return widened ? p->in->vals.p[operand_of(p->in, def, 0)].type : ID_NONE;
}

/* The loop adds the terms to what it carries, and does nothing else with it. One term moves, the others stay. */
static void carry(pass *p, lop_id loop, lval_id carried, lval_id yielded, lval_id result)
{
	const lowered *l = p->in;
	const lop *add = &l->ops.p[l->vals.p[yielded].def];
	if (add->kind != LOP_COMPUTE || kind_of(p, add) != OP_ADD || add->region != loop || p->f[yielded].uses != 1 || p->f[carried].uses != 1)
		return;
	lval_id a = p->f[operand_of(l, add, 0)].alias, b = p->f[operand_of(l, add, 1)].alias, terms[MAX_TERMS];
	uint32_t n = 0;
	if (b == carried) {
		b = a;
		a = carried;
	}
	if (a != carried || !collect_terms(p, b, loop, terms, &n))
		return;
	p->f[terms[n - 1]].need = true;
	p->f[result].carried = cache_reduce_step(p->c, p->f[terms[0]].partial->axes, sharding_of(p, result));
	p->f[result].carried_as = narrow_type(p, b);
}

/* A sum of all_reduces over the iterations is reduced once, behind the loop. */
static void find_carried(pass *p)
{
	const lowered *l = p->in;
	p->o->loops.n = 0;
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *end = &l->ops.p[i];
		if (end->kind == LOP_REGION)
			vec_push(&p->o->loops, i);
		if (end->kind != LOP_REGION_END)
			continue;
		lop_id loop = vec_pop(&p->o->loops);
		const lop *start = &l->ops.p[loop];
		if (kind_of(p, end) != OP_WHILE || start->n_results != end->n_operands || end->n_results != end->n_operands)
			continue;
		for (uint32_t k = 0; k < end->n_operands; k++)
			carry(p, loop, start->results + k, p->f[operand_of(l, end, k)].alias, end->results + k);
	}
}

/* ---------------------------------------------------------------- reduce_scatter */

/* Takes from the front of a dim's sliced axes those that are reduced, as a whole or in part. */
static void split_dim(axes sliced, axes reduced, axes_buf *taken, axes_buf *rest)
{
	uint32_t i = 0;
	for (; i < sliced.n; i++) {
		axis_ref a = sliced.a[i], part = 0;
		for (uint32_t k = 0; k < reduced.n && !part; k++)
			if (axis_contains(reduced.a[k], a))
				part = a;
			else if (axis_is_prefix(reduced.a[k], a))
				part = reduced.a[k];
		if (!part)
			break;
		axes_push_merge(taken, part);
		if (part == a)
			continue;
		axis_ref left;
		if (axis_suffix_without_overlap(a, part, &left))
			axes_push_merge(rest, left);
		i++;
		break;
	}
	for (; i < sliced.n; i++)
		axes_push_merge(rest, sliced.a[i]);
}

static axes keep_list(arena *mem, const axes_buf *l)
{
	axis_ref *a = arena_array(mem, axis_ref, l->n);
	if (l->n)
		memcpy(a, l->a, l->n * sizeof *a);
	return (axes){a, l->n};
}

static collective_step by_dim_step(lower_cache *c, collective_kind kind, sharding_id from, const axes_buf *moved, uint32_t rank)
{
	sharding_edit e;
	sharding_to_edit(c->t, from, &e);
	axes *dims = arena_array(&c->mem, axes, rank);
	axes_buf all = {.n = 0};
	for (uint32_t d = 0; d < rank; d++) {
		dims[d] = keep_list(&c->mem, &moved[d]);
		for (uint32_t i = 0; i < moved[d].n; i++) {
			axes_push_merge(&e.dims[d].axes, moved[d].a[i]);
			all.a[all.n++] = moved[d].a[i];
		}
	}
	axes_sort_merge(&all);
	return (collective_step){.kind = (uint8_t)kind, .in = from, .out = sharding_intern(c->t, &e), .axes = keep_list(&c->mem, &all), .dim_axes = dims};
}

static void fill_scatter(lower_cache *c, scatter_entry *e, const collective_step *slice)
{
	uint32_t rank = sharding_get(c->t, e->from)->rank;
	axes_buf taken[MAX_RANK], rest[MAX_RANK];
	int64_t size = 1;
	bool any_rest = false;
	for (uint32_t d = 0; d < rank; d++) {
		taken[d].n = rest[d].n = 0;
		split_dim(slice->dim_axes[d], e->reduced, &taken[d], &rest[d]);
		size *= axes_product(axes_of(&taken[d]));
		any_rest |= rest[d].n != 0;
	}
	e->possible = size == axes_product(e->reduced);
	if (!e->possible)
		return;
	e->scatter = by_dim_step(c, COLL_REDUCE_SCATTER, e->from, taken, rank);
	e->scatter_bytes = type_bytes(c, e->scatter.out, e->type);
	e->has_rest = any_rest;
	if (any_rest) {
		e->rest = by_dim_step(c, COLL_ALL_SLICE, e->scatter.out, rest, rank);
		e->rest_bytes = type_bytes(c, e->rest.out, e->type);
	}
}

/* NULL when the reduced axes are not all sliced. */
static const scatter_entry *find_scatter(pass *p, axes reduced, const collective_step *slice, type_id type)
{
	struct optimizer *o = p->o;
	uint64_t h = hash_combine(hash_bytes(reduced.a, reduced.n * sizeof *reduced.a, type), (uint64_t)slice->in << 32 | slice->out);
	uint32_t id;
	for (uint32_t it = index_first(&o->scatter_index, h); index_next(&o->scatter_index, h, &it, &id);) {
		const scatter_entry *e = o->scatters.p[id];
		if (e->from == slice->in && e->to == slice->out && e->type == type && axes_equal(e->reduced, reduced))
			return e->possible ? e : NULL;
	}
	scatter_entry *e = xcalloc(1, sizeof *e);
	*e = (scatter_entry){.reduced = reduced, .from = slice->in, .to = slice->out, .type = type};
	fill_scatter(p->c, e, slice);
	index_add(&o->scatter_index, h, o->scatters.n);
	vec_push(&o->scatters, e);
	return e->possible ? e : NULL;
}

/* ---------------------------------------------------------------- 5: writing */

static lval_id now_of(const pass *p, lval_id v) { return p->f[p->f[v].alias].now; }
static lop_id moved_region(const pass *p, const lop *o) { return o->region == ID_NONE ? ID_NONE : p->moved[o->region]; }

static lval_id write_all_reduce(pass *p, const collective_step *s, lval_id v, const lop *like)
{
	return lowered_add_collective(p->out, s, v, p->out->vals.p[v].bytes, like->node, moved_region(p, like));
}

/* Read by a reshard alone, and not by one inside a loop around which v was made. */
static bool feeds_reshard(const pass *p, lval_id v)
{
	const lop *ops = p->in->ops.p;
	const fact *f = &p->f[v];
	return f->uses == 1 && is_reshard(&ops[f->user]) && p->f[ops[f->user].results].again == ID_NONE &&
	       ops[f->user].region == ops[p->in->vals.p[v].def].region;
}

/* v := all_reduce(x), now or by the reshards that follow. */
static void finish_reduce(pass *p, lval_id v, lval_id x, const collective_step *s, const lop *like)
{
	p->f[v].now = x;
	if (feeds_reshard(p, v))
		p->f[v].pending = s;
	else
		p->f[v].now = write_all_reduce(p, s, x, like);
}

/* x, perhaps an unfinished sum over `reduce`, from one sharding to another on behalf of o. */
static lval_id write_plan(pass *p, lval_id x, const collective_step *reduce, const lop *reducer, sharding_id from, lval_id v, const lop *o)
{
	const lval *to = &p->in->vals.p[v];
	const reshard_entry *e = cache_reshard(p->c, from, to->sharding, to->type);
	lop_id region = moved_region(p, o);
	uint32_t i = 0;
	if (reduce) {
		const scatter_entry *s = (p->level != LEVEL_COMPILED || p->target != TARGET_CPU) && e->plan.n && e->plan.steps[0].kind == COLL_ALL_SLICE ?
						 find_scatter(p, reduce->axes, &e->plan.steps[0], to->type) : NULL;
		if (s) {
			x = lowered_add_collective(p->out, &s->scatter, x, s->scatter_bytes, reducer->node, region);
			if (s->has_rest)
				x = lowered_add_collective(p->out, &s->rest, x, s->rest_bytes, o->node, region);
			i = 1;
		} else {
			x = write_all_reduce(p, reduce, x, reducer);
		}
	}
	for (; i < e->plan.n; i++)
		x = lowered_add_collective(p->out, &e->plan.steps[i], x, e->bytes[i], o->node, region);
	p->out->vals.p[x].sharding = to->sharding;
	return x;
}

/* The broadcast of a scalar once more, as v is wanted. */
static lval_id write_again(pass *p, const lop *broadcast, lval_id v, const lop *o)
{
	const lowered *l = p->in;
	const lval *made = &l->vals.p[broadcast->results], *to = &l->vals.p[v];
	sharding_id slots[2] = {p->c->replicated[0], to->sharding};
	lop_id n = lowered_add_op(p->out, LOP_COMPUTE, broadcast->node, moved_region(p, o));
	p->out->ops.p[n].plan = &cache_node(p->c, broadcast->node, slots)->plan;
	lowered_add_operand(p->out, n, now_of(p, operand_of(l, broadcast, 0)));
	return lowered_add_result(p->out, n, made->origin, to->sharding, to->type, to->bytes);
}

static void write_reshards(pass *p, const lop *o)
{
	const lowered *l = p->in;
	lval_id v = o->results;
	if (p->f[v].again != ID_NONE) {
		p->f[v].now = write_again(p, &l->ops.p[p->f[v].again], v, o);
		return;
	}
	lval_id from = p->f[operand_of(l, o, 0)].alias, base = p->f[from].base;
	if (p->f[v].need) {
		p->f[v].now = p->f[from].now;
		return;
	}
	if (feeds_reshard(p, v)) {
		p->f[v].base = base; /* the last of the chain plans it from end to end */
		return;
	}
	p->f[v].now = write_plan(p, p->f[base].now, p->f[base].pending, &l->ops.p[l->vals.p[base].def], l->vals.p[base].sharding, v, o);
}

/* The result of an op on partial sums: still one, or summed here and brought to where it is wanted. */
static void finish_partial(pass *p, const lop *o)
{
	lval_id v = o->results, x = p->f[v].now;
	const fact *f = &p->f[v];
	if (!f->partial || (!f->sum && !f->need))
		return;
	lval *now = &p->out->vals.p[x];
	if (now->sharding != f->at) {
		sharding_id slots[3] = {f->at, f->at, f->at};
		p->out->ops.p[now->def].plan = &cache_node(p->c, o->node, slots)->plan;
		now->sharding = f->at;
		now->bytes = cache_bytes(p->c, now->origin, f->at);
	}
	if (f->need)
		return;
	const collective_step *s = cache_reduce_step(p->c, f->partial->axes, f->at);
	if (f->at == p->in->vals.p[v].sharding)
		finish_reduce(p, v, x, s, o);
	else
		p->f[v].now = write_plan(p, x, s, o, f->at, v, o);
}

static void reduce_carried(pass *p, lval_id v, const lop *end)
{
	const fact *f = &p->f[v];
	if (f->carried_as == ID_NONE || feeds_reshard(p, v)) {
		finish_reduce(p, v, f->now, f->carried, end);
		return;
	}
	int64_t bytes = type_bytes(p->c, f->carried->out, f->carried_as);
	lval_id x = lowered_add_collective(p->out, f->carried, f->now, bytes, end->node, moved_region(p, end));
	lval *to = &p->out->vals.p[x];
	to->type = f->carried_as;
	p->out->ops.p[to->def].bytes = bytes;
	p->f[v].now = x;
}

/* The op of a, reading other values. */
static lval_id write_addition(pass *p, lval_id a, lval_id x, lval_id y)
{
	const lop *o = &p->in->ops.p[p->in->vals.p[a].def];
	lop_id n = lowered_add_op(p->out, LOP_COMPUTE, o->node, moved_region(p, o));
	p->out->ops.p[n].plan = o->plan;
	lowered_add_operand(p->out, n, x);
	lowered_add_operand(p->out, n, y);
	const lval *v = &p->in->vals.p[a];
	return lowered_add_result(p->out, n, v->origin, v->sharding, v->type, v->bytes);
}

/* The whole operand of an addition with a term. */
static lval_id whole_of(const pass *p, lval_id v)
{
	const lop *o = &p->in->ops.p[p->in->vals.p[v].def];
	lval_id a = p->f[operand_of(p->in, o, 0)].alias;
	return a == p->f[v].term ? p->f[operand_of(p->in, o, 1)].alias : a;
}

/* The sum of the terms so far, without what is whole. */
static lval_id write_terms(pass *p, lval_id v)
{
	lval_id below = whole_of(p, v), term = p->f[p->f[v].term].now;
	return p->f[below].later ? write_addition(p, v, term, p->f[below].now) : term;
}

static void write_joined(pass *p, lval_id top)
{
	lval_id sum = write_terms(p, top), whole = top;
	do
		whole = whole_of(p, whole);
	while (p->f[whole].later);
	const lop *o = &p->in->ops.p[p->in->vals.p[top].def];
	p->f[top].now = write_addition(p, top, now_of(p, whole), write_all_reduce(p, p->f[p->f[top].term].partial, sum, o));
}

static void write_op(pass *p, lop_id id)
{
	const lowered *l = p->in;
	const lop *o = &l->ops.p[id];
	lowered *out = p->out;
	lop_id n = out->ops.n;
	lop copy = *o;
	copy.region = moved_region(p, o);
	copy.operands = out->operands.n;
	copy.results = out->vals.n;
	vec_push(&out->ops, copy);
	p->moved[id] = n;
	vec_reserve(&out->operands, out->operands.n + o->n_operands);
	vec_reserve(&out->vals, out->vals.n + o->n_results);
	fact *f = p->f;
	const lval_id *operands = l->operands.p + o->operands;
	lval_id *reads = out->operands.p + out->operands.n, first = out->vals.n;
	lval *vals = out->vals.p;
	for (uint32_t k = 0; k < o->n_operands; k++) {
		reads[k] = f[f[operands[k]].alias].now;
		vals[reads[k]].n_uses++;
	}
	out->operands.n += o->n_operands;
	for (uint32_t r = 0; r < o->n_results; r++) {
		vals[first + r] = l->vals.p[o->results + r];
		vals[first + r].def = n;
		vals[first + r].n_uses = 0;
		f[o->results + r].now = first + r;
	}
	out->vals.n += o->n_results;
	if (p->sums && o->kind == LOP_COMPUTE && o->n_results == 1)
		finish_partial(p, o);
	for (lval_id v = o->results; o->kind == LOP_REGION_END && v < o->results + o->n_results; v++)
		if (p->f[v].carried)
			reduce_carried(p, v, o);
}

static void write_all(pass *p)
{
	const lowered *l = p->in;
	lop_id start = l->starts.n ? l->starts.p[0] : ID_NONE; /* the next one */
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		for (; start <= i; start = p->out->starts.n < l->starts.n ? l->starts.p[p->out->starts.n] : ID_NONE)
			vec_push(&p->out->starts, p->out->ops.n);
		if (!p->live[i])
			continue;
		if (p->joins && o->n_results == 1 && p->f[o->results].later) {
			p->f[o->results].now = write_terms(p, o->results);
		} else if (p->joins && o->n_results == 1 && p->f[o->results].joins) {
			write_joined(p, o->results);
		} else if (is_reshard(o)) {
			write_reshards(p, o);
		} else if (is_all_reduce(o)) {
			lval_id v = o->results, x = now_of(p, operand_of(l, o, 0));
			if (p->f[v].need) {
				p->f[v].now = x;
				continue;
			}
			if (o->reduction == 0) {
				finish_reduce(p, v, x, o->step, o);
			} else {
				p->f[v].now = write_all_reduce(p, o->step, x, o);
				p->out->ops.p[p->out->ops.n - 1].reduction = o->reduction;
			}
		} else {
			write_op(p, i);
		}
	}
	for (uint32_t i = 0; i < l->results.n; i++)
		vec_push(&p->out->results, now_of(p, l->results.p[i]));
}

void lowered_optimize(lower_cache *c, lower_level level, lower_target target, const lowered *placed, lowered *out)
{
	struct optimizer *o = c->work->optimizer;
	vec_reserve(&o->facts, placed->vals.n);
	vec_reserve(&o->moved, placed->ops.n);
	vec_reserve(&o->live, placed->ops.n);
	vec_reserve(&out->ops, placed->ops.n);
	vec_reserve(&out->vals, placed->vals.n);
	vec_reserve(&out->operands, placed->operands.n);
	pass p = {.c = c, .o = o, .f = o->facts.p, .in = placed, .out = out, .moved = o->moved.p, .live = o->live.p, .level = level, .target = target};
	p.regions = has_regions(placed);
	share_reshards(&p);
	count_uses(&p);
	if (p.all_reduces)
		find_partial(&p);
	if (p.sums)
		choose_partial(&p);
	if (level == LEVEL_COMPILED && target != TARGET_CPU) {
		if (p.scattered)
			find_joins(&p);
		if (p.all_reduces && p.regions)
			find_carried(&p);
	}
	write_all(&p);
}
