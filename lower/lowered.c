/* Builds the flat per-device program from the planning program and its shardings: one pass over
 * main's nodes in pre-order. Operands are resharded before the op that reads them, results after
 * it, as insert-explicit-reshards and reshard-to-collectives do; nothing is shared at this level.
 */
#include "lower/internal.h"

#include <stdlib.h>

typedef struct builder {
	lower_cache *c;
	const program *p;
	lowered *out;
	struct lower_work *w;
	bool shares_borders; /* XLA for TPU permutes equal borders once */
	bool strict;         /* ops without a rule need whole operands: above the placed level */
	bool nests;          /* nest.c */
	lop_id region;
} builder;

/* ---------------------------------------------------------------- arrays */

lowered *lowered_new(const program *p, sharding_table *t)
{
	lowered *l = xcalloc(1, sizeof *l);
	l->p = p;
	l->shardings = t;
	return l;
}

void lowered_free(lowered *l)
{
	if (!l)
		return;
	vec_release(&l->ops);
	vec_release(&l->vals);
	vec_release(&l->operands);
	vec_release(&l->results);
	vec_release(&l->starts);
	vec_release(&l->spans);
	free(l);
}

void lowered_clear(lowered *l)
{
	l->ops.n = l->vals.n = l->operands.n = l->results.n = l->starts.n = l->spans.n = 0;
}

lval_id lowered_add_collective(
	lowered *l, const collective_step *s, lval_id operand, int64_t bytes, node_id by, lop_id region)
{
	const lval from = l->vals.p[operand];
	lop_id o = lowered_add_op(l, LOP_COLLECTIVE, by, region);
	lop *x = &l->ops.p[o];
	x->coll = s->kind;
	x->step = s;
	/* what is gathered are parts, padding included */
	x->bytes =
		MAX(s->kind == COLL_ALL_GATHER ? sat_mul(from.bytes, axes_product(s->axes)) : from.bytes,
			bytes);
	lowered_add_operand(l, o, operand);
	return lowered_add_result(l, o, from.origin, s->out, from.type, bytes);
}

/* ---------------------------------------------------------------- resharding */

static sharding_id without_unreduced(builder *b, sharding_id id, sharding_id like)
{
	sharding_edit e;
	sharding_to_edit(b->c->t, id, &e);
	axes_copy(&e.unreduced, sharding_unreduced(sharding_get(b->c->t, like)));
	return sharding_intern(b->c->t, &e);
}

/* Partial sums that the user does not take as such are summed first. */
static lval_id reduce_value(builder *b, lval_id v, sharding_id like, node_id by)
{
	lowered *l = b->out;
	sharding_id at = l->vals.p[v].sharding;
	axes_buf missing;
	axes_difference(sharding_unreduced(sharding_get(b->c->t, at)),
		sharding_unreduced(sharding_get(b->c->t, like)), &missing);
	if (!missing.n)
		return v;
	axes_sort_merge(&missing);
	const collective_step *s =
		cache_reduce_step(b->c, axes_of(&missing), without_unreduced(b, at, like));
	return lowered_add_collective(l, s, v, l->vals.p[v].bytes, by, b->region);
}

static lval_id reshard_anew(builder *b, lval_id v, sharding_id to, node_id by)
{
	lowered *l = b->out;
	if (cache_has_unreduced(b->c, l->vals.p[v].sharding))
		v = reduce_value(b, v, to, by);
	if (l->vals.p[v].sharding == to)
		return v;
	const reshard_entry *e = cache_reshard(b->c, l->vals.p[v].sharding, to, l->vals.p[v].type);
	for (uint32_t i = 0; i < e->plan.n; i++)
		v = lowered_add_collective(l, &e->plan.steps[i], v, e->bytes[i], by, b->region);
	if (e->plan.n)
		l->vals.p[v].sharding = to;
	return v;
}

static inline lval_id reshard_value(builder *b, lval_id v, sharding_id to, node_id by)
{
	return b->out->vals.p[v].sharding == to ? v : reshard_anew(b, v, to, by);
}

/* ---------------------------------------------------------------- ops */

static lval_id current_of(const builder *b, const node *n, uint32_t slot)
{
	return b->w->current[b->p->slots.p[n->slots + slot]];
}

/* The slots' shardings in w->slots: operands as they are now, results as they are wanted; and the
 * operands in w->values. */
static inline __attribute__((always_inline)) void gather_slots(builder *b, const node *n)
{
	uint32_t n_slots = (uint32_t)n->n_operands + n->n_results;
	vec_reserve(&b->w->slots, n_slots);
	vec_reserve(&b->w->values, n->n_operands);
	const pval_id *slots = b->p->slots.p + n->slots;
	const lval_id *current = b->w->current;
	const lval *vals = b->out->vals.p;
	const sharding_id *now = b->c->now;
	sharding_id *s = b->w->slots.p;
	lval_id *values = b->w->values.p;
	for (uint32_t i = 0; i < n->n_operands; i++) {
		values[i] = current[slots[i]];
		s[i] = vals[values[i]].sharding;
	}
	for (uint32_t i = n->n_operands; i < n_slots; i++)
		s[i] = now[slots[i]];
}

/* Operands with partial sums are summed unless the result has the same ones. */
static void reduce_operands(builder *b, const node *n, node_id id)
{
	bool any = false;
	for (uint32_t i = 0; i < n->n_operands; i++)
		any |= cache_has_unreduced(b->c, b->w->slots.p[i]);
	if (!any || !n->n_results)
		return;
	for (uint32_t i = 0; i < n->n_operands; i++) {
		b->w->values.p[i] = reduce_value(b, b->w->values.p[i], b->w->slots.p[n->n_operands], id);
		b->w->slots.p[i] = b->out->vals.p[b->w->values.p[i]].sharding;
	}
}

static lval_id fetch_border(
	builder *b, lval_id from, lval_id before, const halo_step *s, node_id id)
{
	for (uint32_t i = b->w->fetched.n; b->shares_borders && i-- > 0;) {
		const fetched_border *f = &b->w->fetched.p[i];
		if (f->from == from && f->before == before && f->what == s->what && f->bytes == s->bytes &&
			f->region == b->region)
			return f->made;
	}
	lowered *l = b->out;
	lval_id made = lowered_add_collective(l, s->step, from, s->after, id, b->region);
	lop *o = &l->ops.p[l->vals.p[made].def];
	o->given = o->halo = true;
	o->bytes = s->bytes;
	if (before != ID_NONE)
		lowered_add_operand(l, l->vals.p[made].def, before);
	vec_push(&b->w->fetched, (fetched_border){from, before, made, s->what, s->bytes, b->region});
	return made;
}

static void fetch_borders(builder *b, const halo_plan *h, lval_id *values, node_id id)
{
	lval_id before = ID_NONE;
	for (uint32_t i = 0; i < h->n; i++) {
		uint32_t k = h->steps[i].operand;
		before = fetch_border(b, values[k], before, &h->steps[i], id);
		if (i + 1 == h->n || h->steps[i + 1].operand != k) {
			values[k] = before;
			before = ID_NONE;
		}
	}
}

/* Nothing but the op and its result. */
static void add_still(builder *b, node_id id, const node *n, const plan_entry *e)
{
	lowered *l = b->out;
	pval_id v = b->p->slots.p[n->slots + n->n_operands];
	lop_id o = lowered_add_op(l, LOP_COMPUTE, id, b->region);
	l->ops.p[o].plan = &e->plan;
	lowered_add_operands(l, o, b->w->values.p, n->n_operands);
	b->w->current[v] = lowered_add_result(
		l, o, v, e->plan.at[n->n_operands], b->p->vals.p[v].type, e->bytes[n->n_operands]);
}

static void build_planned(builder *b, node_id id)
{
	const node *n = &b->p->nodes.p[id];
	lowered *l = b->out;
	gather_slots(b, n);
	sharding_id *slots = b->w->slots.p;
	lval_id *values = b->w->values.p;
	if (b->c->planner == PLANNER_XLA && b->c->onto[id] != ID_NONE) {
		lval_id x = b->w->current[b->c->onto[id]];
		if (n->op_kind != OP_SCATTER) {
			b->w->current[node_slots(b->p, n)[2]] =
				reshard_value(b, x, b->c->now[node_slots(b->p, n)[2]], id);
			return;
		}
		values[0] = x;
		slots[0] = l->vals.p[x].sharding;
	}
	if (b->c->unreduced)
		reduce_operands(b, n, id);
	const plan_entry *e = cache_node(b->c, id, slots);
	if (e->still) {
		add_still(b, id, n, e);
		return;
	}
	const sharding_id *at = e->plan.at;
	for (uint32_t i = 0; i < n->n_operands; i++)
		if (slots[i] != at[i])
			values[i] = reshard_value(b, values[i], at[i], id);
	if (e->halo)
		fetch_borders(b, e->halo, values, id);
	lop_id o = lowered_add_op(l, LOP_COMPUTE, id, b->region);
	l->ops.p[o].plan = &e->plan;
	lowered_add_operands(l, o, values, n->n_operands);
	lval_id first = l->vals.n;
	const pval_id *results = b->p->slots.p + n->slots + n->n_operands;
	vec_reserve(&l->vals, first + n->n_results);
	lval *made = l->vals.p + first;
	const pval *wanted = b->p->vals.p;
	for (uint32_t r = 0, i = n->n_operands; r < n->n_results; r++, i++)
		made[r] = (lval){.origin = results[r],
			.sharding = at[i],
			.def = o,
			.bytes = e->bytes[i],
			.type = wanted[results[r]].type};
	l->vals.n += n->n_results;
	l->ops.p[o].n_results = n->n_results;
	for (uint32_t r = 0; r < n->n_results; r++) {
		pval_id v = results[r];
		lval_id x = first + r;
		for (uint32_t g = 0; e->gather_first && g < e->gather_first->plan.n; g++) {
			x = lowered_add_collective(
				l, &e->gather_first->plan.steps[g], x, e->gather_first->bytes[g], id, b->region);
			l->ops.p[l->vals.p[x].def].given = true;
		}
		const collective_step *sums[] = {e->reduce ? &e->reduce[r] : NULL, e->reduce_windows};
		for (uint32_t k = 0; k < COUNT_OF(sums); k++)
			if (sums[k]) {
				x = lowered_add_collective(l, sums[k], x, l->vals.p[x].bytes, id, b->region);
				l->ops.p[l->vals.p[x].def].reduction = b->c->node_reduction[id];
			}
		const reshard_entry *gather = e->gather ? e->gather[r] : NULL;
		for (uint32_t g = 0; gather && g < gather->plan.n; g++) {
			x = lowered_add_collective(
				l, &gather->plan.steps[g], x, gather->bytes[g], id, b->region);
			lop *moved = &l->ops.p[l->vals.p[x].def];
			moved->given = true; /* no reshard that could go another way */
			moved->halo = n->op_kind == OP_CHLO_TOP_K;
		}
		if (e->via != SHARDING_NONE && !e->gather)
			x = reshard_value(b, x, e->via, id);
		b->w->current[v] = reshard_value(b, x, b->c->now[v], id);
	}
}

static lval_id add_given(
	builder *b, node_id id, lval_id x, const node_plan *plan, sharding_id at, uint32_t r)
{
	const node *n = &b->p->nodes.p[id];
	const collective_step *s = b->c->given[id];
	lowered *l = b->out;
	pval_id v = b->p->slots.p[n->slots + n->n_operands + r];
	int64_t bytes = cache_bytes(b->c, v, at);
	lop_id o = lowered_add_op(l, LOP_COLLECTIVE, id, b->region);
	lop *to = &l->ops.p[o];
	to->coll = s->kind;
	to->step = s;
	to->given = true;
	to->plan = plan;
	to->bytes = MAX(l->vals.p[x].bytes, bytes);
	lowered_add_operand(l, o, x);
	return lowered_add_result(l, o, v, at, b->p->vals.p[v].type, bytes);
}

/* What the program itself communicates, in a manual computation. */
static void build_given(builder *b, node_id id)
{
	const node *n = &b->p->nodes.p[id];
	for (uint32_t r = 0; r < n->n_results; r++) {
		lval_id x = current_of(b, n, r);
		pval_id v = b->p->slots.p[n->slots + n->n_operands + r];
		x = add_given(b, id, x, NULL, b->out->vals.p[x].sharding, r);
		b->w->current[v] = reshard_value(b, x, b->c->now[v], id);
	}
}

/* The same in our own program, where it is an op that runs with a plan like any other. */
static void build_given_planned(builder *b, node_id id)
{
	const node *n = &b->p->nodes.p[id];
	pval_id v = b->p->slots.p[n->slots + 1];
	gather_slots(b, n);
	const node_plan *plan = &cache_node(b->c, id, b->w->slots.p)->plan;
	lval_id x = reshard_value(b, current_of(b, n, 0), plan->at[0], id);
	x = add_given(b, id, x, plan, plan->at[1], 0);
	b->w->current[v] = reshard_value(b, x, b->c->now[v], id);
}

static uint32_t rank_of(const builder *b, sharding_id id)
{
	return sharding_get(b->c->t, id)->rank;
}

/* Where such an op runs: as its first operand with the result's rank is sharded. */
static sharding_id shards_of(const builder *b, const node *n)
{
	uint32_t rank =
		n->n_results ? pval_type(b->p, b->p->slots.p[n->slots + n->n_operands])->rank : 0;
	for (uint32_t i = 0; i < n->n_operands; i++) {
		sharding_id from = b->out->vals.p[current_of(b, n, i)].sharding;
		if (rank_of(b, from) == rank)
			return from;
	}
	return b->c->replicated[rank];
}

/* Ops without a rule: sources, ops that only change the sharding, and those that nobody knows how
 * to cut. */
static void build_opaque(builder *b, node_id id)
{
	const node *n = &b->p->nodes.p[id];
	lowered *l = b->out;
	if (is_reshard_op(n->op_kind)) {
		pval_id v = b->p->slots.p[n->slots + 1];
		b->w->current[v] = reshard_value(b, current_of(b, n, 0), b->c->now[v], id);
		return;
	}
	if (n->op_kind == OP_SDY_SHARDING_GROUP)
		return;
	/* Elementwise ops are cut all the same. */
	bool barrier = n->op_kind == OP_OPTIMIZATION_BARRIER,
		 shards = b->strict && !barrier && n->elementwise;
	bool whole = b->strict && !barrier && !shards && n->n_operands && n->kind == NODE_OPAQUE;
	sharding_id at = shards ? shards_of(b, n) : SHARDING_NONE;
	vec_reserve(&b->w->values, n->n_operands);
	for (uint32_t i = 0; i < n->n_operands; i++) {
		lval_id x = current_of(b, n, i);
		uint32_t rank = type_get(b->p->m, l->vals.p[x].type)->rank;
		if (barrier)
			x = reshard_value(b, x, b->c->now[b->p->slots.p[n->slots + n->n_operands + i]], id);
		else if (shards && rank == rank_of(b, at))
			x = reshard_value(b, x, at, id);
		else if (whole)
			x = reshard_value(b, x, b->c->replicated[rank], id);
		b->w->values.p[i] = x;
	}
	lop_id o = lowered_add_op(l, LOP_COMPUTE, id, b->region);
	lowered_add_operands(l, o, b->w->values.p, n->n_operands);
	gather_slots(b, n);
	l->ops.p[o].plan = &cache_node(b->c, id, b->w->slots.p)->plan;
	lval_id first = l->vals.n;
	for (uint32_t r = 0; r < n->n_results; r++) {
		pval_id v = b->p->slots.p[n->slots + n->n_operands + r];
		uint32_t rank = pval_type(b->p, v)->rank;
		sharding_id sh = whole                 ? b->c->replicated[rank]
			: shards && rank == rank_of(b, at) ? at
											   : b->c->now[v];
		lowered_add_result(l, o, v, sh, b->p->vals.p[v].type, cache_bytes(b->c, v, sh));
	}
	for (uint32_t r = 0; r < n->n_results; r++) {
		pval_id v = b->p->slots.p[n->slots + n->n_operands + r];
		b->w->current[v] = reshard_value(b, first + r, b->c->now[v], id);
	}
}

/* ---------------------------------------------------------------- regions */

static const manual_edge *edge_of(const program *p, pval_id v)
{
	node_id def = p->vals.p[v].def;
	uint32_t low = 0, high = p->manual_edges.n;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		if (p->manual_edges.p[mid].node < def)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->manual_edges.n && p->manual_edges.p[low].node == def ? &p->manual_edges.p[low]
																		 : NULL;
}

/* Outside a manual computation: the manual axes of its entry, then the free axes. Inside: the free
 * axes alone. */
static sharding_id cross_edge(
	builder *b, const manual_edge *e, sharding_id inside, sharding_id outside)
{
	if (!e)
		return inside != SHARDING_NONE ? inside : outside;
	sharding_edit edit;
	sharding_to_edit(
		b->c->t, inside != SHARDING_NONE ? cache_plain(b->c, e->outer, 0) : outside, &edit);
	edit.replicated.n = edit.unreduced.n = 0;
	for (uint32_t d = 0; d < edit.rank; d++) {
		axes_buf *l = &edit.dims[d].axes;
		uint32_t n = 0;
		for (uint32_t i = 0; i < l->n; i++)
			if ((e->axes >> axis_index(l->a[i]) & 1) == (inside != SHARDING_NONE))
				l->a[n++] = l->a[i];
		l->n = n;
		axes more = inside != SHARDING_NONE ? sharding_dim(sharding_get(b->c->t, inside), d)
											: (axes){NULL, 0};
		for (uint32_t i = 0; i < more.n && l->n < MAX_TENSOR_AXES; i++)
			l->a[l->n++] = more.a[i];
	}
	return cache_plain(b->c, sharding_intern(b->c->t, &edit), edit.rank);
}

static pval_id result_of(const builder *b, const node *n, uint32_t r)
{
	return b->p->slots.p[n->slots + n->n_operands + r];
}

/* The pval of argument i of a region, ID_NONE when there is none. */
static pval_id region_arg(const builder *b, const node *n, uint32_t region, uint32_t i)
{
	const module *m = b->p->m;
	if (region >= op_at(m, n->op)->n_regions || i >= op_region(m, n->op, region)->n_args)
		return ID_NONE;
	return b->p->pval_of[op_region(m, n->op, region)->args + i];
}

/* The sharding operand i of a region op is read with. */
static sharding_id entry_sharding(builder *b, const node *n, uint32_t i, lval_id v)
{
	if (n->op_kind == OP_WHILE && i < n->n_results)
		return b->c->now[result_of(b, n, i)];
	pval_id arg = region_arg(b, n, 0, i);
	if (arg == ID_NONE)
		return b->out->vals.p[v].sharding;
	return cross_edge(b, edge_of(b->p, arg), b->c->now[arg], SHARDING_NONE);
}

/* cond and body of a while share their arguments; other regions have their own. */
static void add_region_args(builder *b, lop_id o, const node *n)
{
	const module *m = b->p->m;
	for (uint32_t r = 0; r < op_at(m, n->op)->n_regions; r++)
		for (uint32_t i = 0; i < op_region(m, n->op, r)->n_args; i++) {
			pval_id arg = region_arg(b, n, r, i);
			if (arg == ID_NONE)
				continue;
			if (r && n->op_kind == OP_WHILE) {
				pval_id first = region_arg(b, n, 0, i);
				if (first != ID_NONE)
					b->w->current[arg] = b->w->current[first];
				continue;
			}
			sharding_id sh = n->op_kind == OP_WHILE && i < n->n_results
				? b->c->now[result_of(b, n, i)]
				: b->c->now[arg];
			b->w->current[arg] = lowered_add_result(
				b->out, o, arg, sh, b->p->vals.p[arg].type, cache_bytes(b->c, arg, sh));
		}
}

static void open_region(builder *b, node_id id)
{
	const node *n = &b->p->nodes.p[id];
	lowered *l = b->out;
	vec_reserve(&b->w->values, n->n_operands);
	for (uint32_t i = 0; i < n->n_operands; i++) {
		lval_id x = current_of(b, n, i);
		b->w->values.p[i] = reshard_value(b, x, entry_sharding(b, n, i, x), id);
	}
	lop_id o = lowered_add_op(l, LOP_REGION, id, b->region);
	l->ops.p[o].trips = n->trips;
	for (uint32_t i = 0; i < n->n_operands; i++)
		lowered_add_operand(l, o, b->w->values.p[i]);
	add_region_args(b, o, n);
	vec_push(&b->w->open, o);
	b->w->regions = true;
	b->region = o;
}

static void leave_region(builder *b, lop_id end, const node *n, lop_id outer)
{
	b->w->open.n--;
	b->region = outer;
	for (uint32_t r = 0; r < n->n_results; r++) {
		pval_id v = result_of(b, n, r);
		b->w->current[v] = lowered_add_result(
			b->out, end, v, b->c->now[v], b->p->vals.p[v].type, cache_bytes(b->c, v, b->c->now[v]));
	}
}

/* A region's return: the next region of the op begins, or the op ends. */
static void close_region(builder *b, node_id id)
{
	const node *end = &b->p->nodes.p[id], *n = &b->p->nodes.p[end->parent];
	lowered *l = b->out;
	bool last = end->region + 1u == op_at(b->p->m, n->op)->n_regions,
		 is_test = n->op_kind == OP_WHILE && !last;
	vec_reserve(&b->w->values, end->n_operands);
	for (uint32_t i = 0; i < end->n_operands; i++) {
		lval_id x = current_of(b, end, i);
		if (!is_test && i < n->n_results) {
			pval_id r = result_of(b, n, i);
			const manual_edge *e = edge_of(b->p, r);
			x = reshard_value(
				b, x, e ? cross_edge(b, e, SHARDING_NONE, b->c->now[r]) : b->c->now[r], id);
		}
		b->w->values.p[i] = x;
	}
	lop_id region = b->w->open.p[b->w->open.n - 1], outer = l->ops.p[region].region;
	lop_id o = lowered_add_op(
		l, last ? LOP_REGION_END : LOP_REGION_ELSE, end->parent, last ? outer : region);
	for (uint32_t i = 0; i < end->n_operands; i++)
		lowered_add_operand(l, o, b->w->values.p[i]);
	if (last)
		leave_region(b, o, n, outer);
}

/* Regions that no known return ends: what they yield is unknown. */
static void close_ended(builder *b, node_id id)
{
	while (b->w->open.n) {
		lop_id region = b->w->open.p[b->w->open.n - 1];
		node_id of = b->out->ops.p[region].node;
		if (id < b->p->nodes.p[of].end)
			return;
		lop_id outer = b->out->ops.p[region].region;
		leave_region(
			b, lowered_add_op(b->out, LOP_REGION_END, of, outer), &b->p->nodes.p[of], outer);
	}
}

/* ---------------------------------------------------------------- main */

static void build_arguments(builder *b)
{
	for (uint32_t i = 0; i < b->p->args.n; i++) {
		pval_id v = b->p->args.p[i];
		lop_id o = lowered_add_op(b->out, LOP_ARGUMENT, ID_NONE, ID_NONE);
		b->w->current[v] = lowered_add_result(
			b->out, o, v, b->c->now[v], b->p->vals.p[v].type, cache_bytes(b->c, v, b->c->now[v]));
	}
}

static void build_nodes(builder *b)
{
	const program *p = b->p;
	node_id mark = b->c->n_marks ? b->c->marks[0] : ID_NONE; /* the next one */
	for (node_id id = p->main_first; id < p->main_end;) {
		const node *n = &p->nodes.p[id];
		close_ended(b, id);
		for (; mark <= id; mark = b->c->marks[b->out->starts.n])
			vec_push(&b->out->starts, b->out->ops.n);
		if (n->dead) {
			id = n->end;
			continue;
		}
		switch ((node_kind)n->kind) {
		case NODE_OP:
			if (b->nests && nest_build(b->c, b->out, id, b->region))
				break;
			if (b->c->given[id] && b->c->planner == PLANNER_XLA)
				build_given(b, id);
			else if (b->c->given[id] && b->c->planner == PLANNER_EXACT && n->n_operands == 1 &&
				n->n_results == 1)
				build_given_planned(b, id);
			else if (is_reshard_op(n->op_kind))
				build_opaque(b, id);
			else
				build_planned(b, id);
			break;
		case NODE_OPAQUE:
			if (!b->nests || !nest_build(b->c, b->out, id, b->region))
				build_opaque(b, id);
			break;
		case NODE_REGION:
			if (op_at(p->m, n->op)->n_regions)
				open_region(b, id);
			else
				build_opaque(b, id);
			break;
		case NODE_TERMINATOR:
			if (n->parent != ID_NONE)
				close_region(b, id);
			break;
		case NODE_RESULT:
			vec_push(&b->out->results,
				reshard_value(b, current_of(b, n, 0), b->c->now[p->slots.p[n->slots + 1]], id));
			break;
		case NODE_EDGE: break; /* the value and its edge are one */
		}
		id++;
	}
}

static void find_shardings(lower_cache *c, const sharding_id *shardings)
{
	bool same_way = c->was_planner == c->planner;
	for (pval_id v = 0; v < c->p->vals.n; v++)
		if (!same_way || c->was[v] != shardings[v]) {
			sharding_id before = c->now[v];
			c->was[v] = shardings[v];
			c->now[v] = cache_now(c, shardings, v);
			if (c->nesting && c->now[v] != before)
				nest_value_changed(c, v);
		}
	c->was_planner = c->planner;
}

/* False when something was not sharded as nesting took it to be. */
static bool build_all(
	lower_cache *c, lowered *out, lower_level level, lower_target target, bool nested)
{
	lowered_clear(out);
	c->work->open.n = c->work->fetched.n = 0;
	c->work->regions = false;
	vec_reserve(&out->ops, c->p->nodes.n + c->p->args.n + 1);
	vec_reserve(&out->vals, c->p->vals.n);
	vec_reserve(&out->operands, c->p->slots.n);
	builder b = {.c = c,
		.p = c->p,
		.out = out,
		.w = c->work,
		.strict = level != LEVEL_PLACED,
		.shares_borders = target == TARGET_TPU,
		.region = ID_NONE,
		.nests = nested};
	if (nested)
		nest_begin(c);
	build_arguments(&b);
	build_nodes(&b);
	lop_id end = lowered_add_op(out, LOP_RETURN, ID_NONE, ID_NONE);
	for (uint32_t i = 0; i < out->results.n; i++)
		lowered_add_operand(out, end, out->results.p[i]);
	return !nested || !nest_misfits(c);
}

void lower_program(lower_cache *c, const sharding_id *shardings, lower_level level,
	lower_target target, lowered *out)
{
	lowered *first = level == LEVEL_PLACED ? out : &c->work->placed;
	cache_bound(c);
	c->planner = planner_of(level);
	first->p = c->p;
	first->shardings = c->t;
	find_shardings(c, shardings);
	/* what becomes of partial sums depends on the ops behind them */
	if (!build_all(c, first, level, target, c->nesting && level_is_costed(level) && !c->unreduced))
		(void)build_all(c, first, level, target, false);
	if (level != LEVEL_PLACED) {
		lowered_clear(out);
		out->p = c->p;
		out->shardings = c->t;
		lowered_optimize(c, level, target, first, out);
	}
	out->level = level;
	out->target = target;
	out->reshards_after_forward = level == LEVEL_EXACT && c->reshards_after_forward;
	out->facts = c->facts;
	if (level_is_costed(level))
		lowered_compile(c, target, out);
}
