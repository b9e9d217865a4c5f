/* The first pass of the optimized level: equal reshards of one value become one, where holding it
 * for so long is what XLA would do. */
#include "lower/optimize.h"

/* ---------------------------------------------------------------- how far apart ops are */

/* TPU: two equal gathers are one when the longest way to the end of the program from the first
 * one's nearest user is at most so many ops longer than the second one's. Measured on programs of
 * known depth; XLA's pass for it takes such a number. */
enum { NEAR_OPS = 100 };

/* The region whose op a value is; its arguments are its own. */
static lop_id home_of(const lowered *l, lval_id v)
{
	lop_id def = l->vals.p[v].def;
	return l->ops.p[def].kind == LOP_REGION ? def : l->ops.p[def].region;
}

static void note_reading(reading *r, lop_id user, uint32_t height)
{
	if (height + 1 > r->highest) {
		r->highest = height + 1;
		r->farthest = user;
	}
	if (height < r->lowest) {
		r->lowest = height;
		r->nearest = user;
	}
}

/* A value is read by an op of that height; from inside a loop around which it was made it is the
 * loop that reads it. */
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

/* What is nested in an op of height h is read as far from the end as if it stood in front of it. */
static void read_nested(pass *p, lop_id id, uint32_t h)
{
	const lop *x = &p->in->ops.p[id];
	const nest *n = x->nest;
	uint32_t heights[MAX_NESTED], k = 0;
	for (uint32_t j = n->n_ops; j-- > 0;)
		heights[j] = 1 + (n->ops[j].reader == NEST_ROOT ? h : heights[n->ops[j].reader]);
	for (uint32_t j = 0; j < n->n_ops; j++)
		for (uint32_t i = 0; i < n->ops[j].n_reads; i++)
			if (n->reads[n->ops[j].first_read + i] == NEST_OPERAND)
				read_at(p, operand_of(p->in, x, k++), id, x->region, heights[j]);
	for (; k < x->n_operands; k++)
		read_at(p, operand_of(p->in, x, k), id, x->region, h);
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
		readings[v] = (reading){0, UINT32_MAX, ID_NONE, ID_NONE};
	o->loops.n = 0;
	for (lop_id i = l->ops.n; i-- > 0;) {
		const lop *x = &l->ops.p[i];
		uint32_t h = 0;
		for (lval_id v = x->results, end = v + x->n_results; v < end; v++)
			h = MAX(h, readings[v].highest);
		if (x->nest) {
			heights[i] = h;
			read_nested(p, i, h);
			continue;
		}
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

static bool are_far(pass *p, lval_id first, lop_id second)
{
	if (p->level != LEVEL_COMPILED || p->target != TARGET_TPU ||
		p->in->ops.p[second].coll != COLL_ALL_GATHER)
		return false;
	if (!p->heights)
		find_heights(p);
	lop_id home = home_of(p->in, first),
		   at = second; /* of one in a loop it counts how far that is from the end */
	while (p->in->ops.p[at].region != home && p->in->ops.p[at].region != ID_NONE)
		at = p->in->ops.p[at].region;
	return p->o->readings.p[first].lowest > p->o->height.p[at] + NEAR_OPS;
}

/* ---------------------------------------------------------------- 1: equal reshards */

/* Is region `outer` the same as or around region `inner`? */
static bool region_holds(const lowered *l, lop_id outer, lop_id inner)
{
	while (inner != outer && inner != ID_NONE)
		inner = l->ops.p[inner].region;
	return inner == outer;
}

/* Is the op in the region of its op that is open now, not in one before it? */
static bool in_same_branch(const pass *p, const lop *x)
{
	return x->region == ID_NONE || p->moved[x->region] < (lop_id)(x - p->in->ops.p);
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
	return (kind == OP_CONVERT || kind == OP_RESHAPE || kind == OP_TRANSPOSE ||
			   kind == OP_BROADCAST_IN_DIM) &&
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

/* What reads the results of an op on the longest way from it to the end; ID_NONE at the end. */
static lop_id farthest_reader(const pass *p, lop_id o)
{
	const lop *x = &p->in->ops.p[o];
	lop_id to = ID_NONE;
	for (lval_id v = x->results; v < x->results + x->n_results && to == ID_NONE; v++)
		if (p->o->readings.p[v].highest == p->o->height.p[o])
			to = p->o->readings.p[v].farthest;
	return to;
}

/* How far `first` and `second` are from each other lies in what is on the longest way from the
 * one's reader until it is as near to the end as the other one is, wherever in the program that is.
 */
static lowered_span span_between(const pass *p, lop_id reader, lop_id second)
{
	uint32_t a = stretch_of(p->in, reader), b = stretch_of(p->in, second);
	lowered_span s = {MIN(a, b), MAX(a, b)};
	for (lop_id o = reader; o != ID_NONE && p->o->height.p[o] > p->o->height.p[second];
		 o = farthest_reader(p, o)) {
		uint32_t at = stretch_of(p->in, o);
		s = (lowered_span){MIN(s.from, at), MAX(s.to, at)};
	}
	return s;
}

/* v is the value of `first` too. */
static void share(pass *p, lval_id first, lval_id v)
{
	if (!p->heights)
		return;
	reading *r = &p->o->readings.p[first];
	const reading *other = &p->o->readings.p[v];
	lop_id second = p->in->vals.p[v].def;
	if (p->in->starts.n && p->in->ops.p[second].coll == COLL_ALL_GATHER)
		vec_push(&p->out->spans, span_between(p, r->nearest, second));
	if (other->lowest < r->lowest) {
		r->lowest = other->lowest;
		r->nearest = other->nearest;
	}
}

/* The value that an earlier equal reshard made, or that was there before a reshard that is undone.
 */
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
	if (o->coll == COLL_ALL_GATHER && p->f[from].parameter &&
		(!level_is_costed(p->level) || (p->level == LEVEL_EXACT && p->c->reshards_after_forward)))
		return v;
	uint64_t h = hash_combine((uint64_t)from << 32 | o->step->out, o->coll);
	uint32_t other;
	lval_id last = ID_NONE;
	for (uint32_t it = index_first(&p->o->seen, h); index_next(&p->o->seen, h, &it, &other);) {
		const lop *x = &l->ops.p[l->vals.p[other].def];
		if (x->coll == o->coll && x->step->out == o->step->out &&
			p->f[operand_of(l, x, 0)].alias == from && region_holds(l, x->region, o->region) &&
			in_same_branch(p, x) && (last == ID_NONE || other > last))
			last = other;
	}
	if (last != ID_NONE && !are_far(p, last, l->vals.p[v].def)) {
		share(p, last, v);
		return last;
	}
	index_add(&p->o->seen, h, v);
	return v;
}

/* Also one that spreads what a constant number was spread over, as jax.vmap writes zeros, where
 * every device has all of that. */
static bool spreads_scalar(const pass *p, const lop *o)
{
	if (o->kind != LOP_COMPUTE || kind_of(p, o) != OP_BROADCAST_IN_DIM)
		return false;
	const lval *from = &p->in->vals.p[operand_of(p->in, o, 0)];
	uint32_t rank = type_get(p->c->p->m, from->type)->rank;
	return rank == 0 ||
		(from->sharding == p->c->replicated[rank] && is_splat_constant(p->c->p, from->origin));
}

static lop_id broadcast_behind(const pass *p, const lop *o)
{
	lval_id from = p->f[operand_of(p->in, o, 0)].alias;
	lop_id def = p->in->vals.p[from].def;
	return spreads_scalar(p, &p->in->ops.p[def]) ? def : p->f[from].again;
}

/* Is it one that find_partial and choose_partial have to look at? */
static bool is_linear(const pass *p, const lop *o)
{
	if (o->n_results != 1 || o->kind != LOP_COMPUTE)
		return o->kind == LOP_COLLECTIVE;
	switch (kind_of(p, o)) {
	case OP_ADD: return true;
	case OP_SUBTRACT:
	case OP_CONVERT:
	case OP_NEGATE:
	case OP_RESHAPE:
	case OP_REDUCE:
	case OP_TRANSPOSE:
	case OP_DIVIDE:
	case OP_MULTIPLY: return p->level != LEVEL_COMPILED;
	default: return false;
	}
}

void pass_share_reshards(pass *p)
{
	const lowered *l = p->in;
	const fact plain = {.now = ID_NONE, .user = ID_NONE, .again = ID_NONE};
	index_clear(&p->o->seen);
	p->o->linear.n = 0;
	for (lval_id v = 0; v < l->vals.n; v++) {
		p->f[v] = plain;
		p->f[v].alias = p->f[v].base = v;
	}
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		if (o->kind == LOP_REGION ||
			o->kind == LOP_REGION_ELSE) /* until it is written: where its open region begins */
			p->moved[o->kind == LOP_REGION ? i : o->region] = i;
		/* the compiled level shares gathers of parameters too */
		if (p->level != LEVEL_COMPILED && o->n_results == 1)
			p->f[o->results].parameter = keeps_parameter(p, o);
		if (is_linear(p, o))
			vec_push(&p->o->linear, i);
		if (o->kind != LOP_COLLECTIVE)
			continue;
		p->all_reduces |= is_all_reduce(o);
		if (is_reshard(o)) {
			p->f[o->results].alias = find_equal(p, o, o->results);
			p->f[o->results].again = broadcast_behind(p, o);
		}
	}
}
