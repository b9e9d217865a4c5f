/* Where every axis came from: the log of changes, written while a run is recorded, and what is read
 * out of it.
 *
 * Steps are taken again on the shardings that the log says were there, to see along which factor an
 * axis moved and which tensor of the op had it. Parts of one axis may have come on different ways:
 * an origin stands for one part. */
#include "propagate/engine.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- writing */

static void log_trail(propagation *s, uint32_t from, pval_id first)
{
	change_log *l = s->log;
	for (; from < s->trail.n; from++) {
		change_entry e = l->now;
		e.v = s->trail.p[from].v;
		e.old = s->trail.p[from].old;
		e.new = s->shardings[e.v];
		if (first != ID_NONE && e.v != first) {
			e.cause = CAUSE_GROUP;
			e.member = first;
		}
		vec_push(&l->list, e);
	}
}

void log_update(propagation *s, uint32_t from, node_id n, uint32_t slot, step_mode mode,
	uint32_t round, bool first)
{
	change_entry *now = &s->log->now;
	now->cause = CAUSE_STEP;
	now->node = n;
	now->slot = (uint16_t)slot;
	now->mode = (uint8_t)mode;
	now->op_priority = s->options.op_priority && round != ROUND_NONE ? (int16_t)round : -1;
	now->step += first;
	log_trail(s, from, node_slots(s->p, &s->p->nodes.p[n])[slot]);
}

void log_round(propagation *s, uint32_t from, change_cause cause, int32_t user_priority)
{
	s->log->now.cause = (uint8_t)cause;
	s->log->now.user_priority = (int16_t)user_priority;
	log_trail(s, from, ID_NONE);
}

void propagation_run_logged(propagation *s, change_log *l)
{
	l->list.n = 0;
	l->now =
		(change_entry){.node = ID_NONE, .member = ID_NONE, .user_priority = -1, .op_priority = -1};
	vec_reserve(&l->start, s->p->vals.n);
	l->start.n = s->p->vals.n;
	if (l->start.n)
		memcpy(l->start.p, s->shardings, l->start.n * sizeof *l->start.p);
	s->log = l;
	propagation_run(s);
	s->log = NULL;
}

void change_log_release(change_log *l)
{
	vec_release(&l->list);
	vec_release(&l->start);
}

/* ---------------------------------------------------------------- reading */

typedef struct tracer {
	const program *p;
	sharding_table *t;
	const change_log *log;
	origin_table *out;
	sharding_id *state, *in; /* by pval; by slot of the step */
	uint32_t step;           /* that grids are of */
	bool has_grid;
	arena mem;
	factor_grid before, after;
} tracer;

/* What of the axis is in none of the list, part by part. Overlapping parts of which neither end
 * divides the other share nothing that could be named. */
static void parts_outside(axis_ref a, axes list, uint32_t i, axes_buf *out)
{
	axis_ref part;
	for (; i < list.n; i++) {
		if (!axis_overlap(a, list.a[i], &part))
			continue;
		if (axis_prefix_without_overlap(a, list.a[i], &part))
			parts_outside(part, list, i + 1, out);
		if (axis_suffix_without_overlap(a, list.a[i], &part))
			parts_outside(part, list, i + 1, out);
		return;
	}
	if (out->n < MAX_TENSOR_AXES)
		out->a[out->n++] = a;
}

static axes dim_axes(const sharding_table *t, sharding_id sh, uint32_t d)
{
	const sharding *s = sharding_get(t, sh);
	return sh == SHARDING_NONE || d >= s->rank ? (axes){NULL, 0} : sharding_dim(s, d);
}

static uint32_t rank_of(const sharding_table *t, sharding_id sh)
{
	return sh == SHARDING_NONE ? 0 : sharding_get(t, sh)->rank;
}

static void add(tracer *x, axis_origin o)
{
	o.alive = true;
	o.next = x->out->newest[o.v];
	x->out->newest[o.v] = x->out->list.n;
	vec_push(&x->out->list, o);
}

/* The same axis with every part of it that another value's dim has an origin for, that one as its
 * parent. What is left over has none: the axes that a manual_computation is manual over belong to
 * the op itself. */
static void add_from(tracer *x, axis_origin o, pval_id from, uint32_t from_dim)
{
	axes_buf rest = {.a = {o.axis}, .n = 1};
	for (uint32_t i = x->out->newest[from]; i != ID_NONE && rest.n; i = x->out->list.p[i].next) {
		axes_buf left = {.n = 0};
		axis_ref has = x->out->list.p[i].axis, common;
		if (x->out->list.p[i].dim != from_dim)
			continue;
		for (uint32_t k = 0; k < rest.n; k++) {
			parts_outside(rest.a[k], (axes){&has, 1}, 0, &left);
			if (!axis_overlap(rest.a[k], has, &common))
				continue;
			axis_origin part = o;
			part.axis = common;
			part.parent = i;
			add(x, part);
		}
		rest = left;
	}
	for (uint32_t k = 0; k < rest.n; k++) {
		axis_origin part = o;
		part.axis = rest.a[k];
		part.manual = true;
		add(x, part);
	}
}

/* ---------------------------------------------------------------- steps */

/* The grid of a step before and after it. */
static void load_step(tracer *x, const change_entry *c)
{
	const node *n = &x->p->nodes.p[c->node];
	const pval_id *slots = node_slots(x->p, n);
	uint32_t n_slots = (uint32_t)n->n_operands + n->n_results;
	const manual_edge *manual = manual_edge_of(x->p, c->node);
	const rule *r = rule_get(x->p->rules, n->rule);
	for (uint32_t k = 0; k < n_slots; k++)
		x->in[k] = x->state[slots[k]];
	if (manual)
		x->in[n_slots - 1] = manual_enter(x->t, manual, x->in[n_slots - 1]);
	arena_rewind(&x->mem, (arena_mark){x->mem.head, 0});
	x->step = c->step;
	x->has_grid = transfer_grid(r, x->t, c->mode, x->in, n_slots, &x->mem, &x->before) &&
		transfer_grid(r, x->t, c->mode, x->in, n_slots, &x->mem, &x->after);
	if (!x->has_grid)
		return;
	if (c->mode & MODE_BASIC)
		propagate_basic(&x->after);
	else
		propagate_aggressive(&x->after);
}

uint32_t tensor_dim_of_factor(const rule *r, uint32_t tensor, uint32_t factor)
{
	for (uint32_t d = 0; r->tensor_first[tensor] + d < r->tensor_first[tensor + 1]; d++) {
		const struct rule_dim *dim = &r->dims[r->tensor_first[tensor] + d];
		for (uint32_t k = 0; k < dim->n; k++)
			if (r->dim_factors[dim->first + k] == factor)
				return d;
	}
	return ID_NONE;
}

/* One part, which tensor t had, is explained; the rest goes on looking. */
static void take_part(
	tracer *x, const change_entry *c, axis_origin o, axis_ref part, axes_buf *rest)
{
	axes_buf left = {.n = 0};
	uint32_t dim = tensor_dim_of_factor(x->before.rule, o.from_slot, o.factor);
	for (uint32_t k = 0; k < rest->n; k++) {
		if (axis_overlap(rest->a[k], part, &o.axis))
			add_from(x, o, node_slots(x->p, &x->p->nodes.p[c->node])[o.from_slot], dim);
		parts_outside(rest->a[k], (axes){&part, 1}, 0, &left);
	}
	*rest = left;
}

/* What one factor of the dim took from tensors [from, to): from the first that had it. */
static void trace_tensors(
	tracer *x, const change_entry *c, axis_origin o, uint32_t from, uint32_t to, axes_buf *rest)
{
	axes got = grid_cell(&x->after, c->slot, o.factor)->axes;
	for (uint32_t t = from; t < to; t++) {
		axes has = grid_cell(&x->before, t, o.factor)->axes;
		o.from_slot = (uint16_t)t;
		for (uint32_t i = 0; i < has.n && t != c->slot; i++)
			for (uint32_t k = 0; k < got.n && rest->n; k++) {
				axis_ref common;
				if (axis_overlap(has.a[i], got.a[k], &common))
					take_part(x, c, o, common, rest);
			}
	}
}

/* Operands explain results and results operands, as far as they can. */
static void trace_factor(tracer *x, const change_entry *c, axis_origin o, axes_buf *rest)
{
	uint32_t n_operands = x->before.rule->n_operands, n = x->before.n_tensors;
	if (c->slot < n_operands)
		trace_tensors(x, c, o, n_operands, n, rest);
	trace_tensors(x, c, o, 0, n_operands, rest);
	trace_tensors(x, c, o, n_operands, n, rest);
}

static void trace_step(tracer *x, const change_entry *c, axis_origin o)
{
	const rule *r = x->before.rule;
	const struct rule_dim *dim = &r->dims[r->tensor_first[c->slot] + o.dim];
	axes_buf rest = {.a = {o.axis}, .n = 1};
	for (uint32_t k = 0; k < dim->n && rest.n; k++) {
		o.factor = r->dim_factors[dim->first + k];
		trace_factor(x, c, o, &rest);
	}
	assert(!rest.n);
}

/* ---------------------------------------------------------------- changes */

/* Origins of axes that the value lost end; of those that it kept in part, the part goes on. */
static void drop(tracer *x, const change_entry *c)
{
	for (uint32_t i = x->out->newest[c->v], older; i != ID_NONE; i = older) {
		axis_origin o = x->out->list.p[i];
		axes now = dim_axes(x->t, c->new, o.dim);
		axes_buf gone = {.n = 0};
		older = o.next;
		if (!o.alive)
			continue;
		parts_outside(o.axis, now, 0, &gone);
		if (!gone.n)
			continue;
		x->out->list.p[i].alive = false;
		for (uint32_t k = 0; k < now.n; k++) {
			axis_origin part = o;
			if (axis_overlap(o.axis, now.a[k], &part.axis))
				add(x, part);
		}
	}
}

static void bring(tracer *x, const change_entry *c, uint32_t index, uint32_t dim, axis_ref a)
{
	axis_origin o = {.v = c->v, .dim = (uint8_t)dim, .axis = a, .change = index, .parent = ID_NONE};
	if (c->cause == CAUSE_STEP && x->has_grid)
		trace_step(x, c, o);
	else if (c->cause == CAUSE_GROUP)
		add_from(x, o, c->member, dim);
	else
		add(x, o);
}

static void follow(tracer *x, uint32_t index)
{
	const change_entry *c = &x->log->list.p[index];
	if (c->cause == CAUSE_STEP && c->step != x->step)
		load_step(x, c);
	drop(x, c);
	for (uint32_t d = 0; d < rank_of(x->t, c->new); d++) {
		axes now = dim_axes(x->t, c->new, d), old = dim_axes(x->t, c->old, d);
		axes_buf fresh = {.n = 0};
		for (uint32_t i = 0; i < now.n; i++)
			parts_outside(now.a[i], old, 0, &fresh);
		for (uint32_t i = 0; i < fresh.n; i++)
			bring(x, c, index, d, fresh.a[i]);
	}
	x->state[c->v] = c->new;
}

void origins_find(const program *p, sharding_table *t, const change_log *log, origin_table *out)
{
	uint32_t n = p->vals.n, most = 1;
	for (node_id i = 0; i < p->nodes.n; i++)
		most = MAX(most, (uint32_t)p->nodes.p[i].n_operands + p->nodes.p[i].n_results);
	tracer x = {.p = p, .t = t, .log = log, .out = out, .in = xmalloc(most * sizeof *x.in)};
	*out = (origin_table){.newest = xmalloc((n + 1) * sizeof *out->newest)};
	memset(out->newest, 0xff, n * sizeof *out->newest);
	x.state = xmalloc((n + 1) * sizeof *x.state);
	if (n)
		memcpy(x.state, log->start.p, n * sizeof *x.state);
	arena_init(&x.mem);
	for (pval_id v = 0; v < n; v++)
		for (uint32_t d = 0; d < rank_of(t, x.state[v]); d++)
			for (uint32_t i = 0; i < dim_axes(t, x.state[v], d).n; i++)
				add(&x,
					(axis_origin){.v = v,
						.dim = (uint8_t)d,
						.axis = dim_axes(t, x.state[v], d).a[i],
						.change = ID_NONE,
						.parent = ID_NONE});
	for (uint32_t i = 0; i < log->list.n; i++)
		follow(&x, i);
	arena_release(&x.mem);
	free(x.in);
	free(x.state);
}

void origins_release(origin_table *o)
{
	vec_release(&o->list);
	free(o->newest);
	o->newest = NULL;
}
