/* Which axes a value could not take from the tensors of the ops around it, and what they lost to.
 * Axes are never taken away while propagation runs, so what stood in the way then still does: the
 * last state tells. */
#include "propagate/engine.h"

#include <stdlib.h>

typedef struct judge {
	const program *p;
	sharding_table *t;
	const propagate_options *options;
	const sharding_id *shardings;
	VEC(sharding_id) in;
	arena mem;
	factor_grid g;
} judge;

static bool overlaps_any(axis_ref a, axes list, axis_ref *which)
{
	for (uint32_t i = 0; i < list.n; i++)
		if (axis_overlaps(a, list.a[i])) {
			*which = list.a[i];
			return true;
		}
	return false;
}

static bool contained(axes list, axis_ref a)
{
	for (uint32_t i = 0; i < list.n; i++)
		if (axis_contains(list.a[i], a))
			return true;
	return false;
}

/* Another factor of the tensor that has the axis, or a part of it. */
static bool taken_by(
	const factor_grid *g, uint32_t tensor, uint32_t factor, axis_ref a, axis_loss *out)
{
	for (uint32_t f = 0; f < g->rule->n_factors; f++) {
		const factor_cell *c = grid_cell(g, tensor, f);
		if (f == factor || !c->present ||
			(!overlaps_any(a, c->axes, &out->winner) &&
				!overlaps_any(a, c->overflow, &out->winner)))
			continue;
		out->winner_slot = (uint16_t)tensor;
		out->winner_factor = (uint16_t)f;
		return true;
	}
	return false;
}

/* Why the factor of a tensor cannot grow by an axis, apart from its other factors. */
static loss_reason refusal(
	const factor_grid *g, uint32_t tensor, uint32_t factor, axis_ref a, axis_ref *by)
{
	const factor_cell *c = grid_cell(g, tensor, factor);
	if (overlaps_any(a, g->replicated[tensor], by))
		return LOSS_REPLICATED;
	if (overlaps_any(a, g->unreduced[tensor], by))
		return LOSS_UNREDUCED;
	const rule *r = g->rule;
	uint32_t d = tensor_dim_of_factor(r, tensor, factor);
	const struct rule_dim *dim = &r->dims[r->tensor_first[tensor] + d];
	for (uint32_t k = 0; k < dim->n && r->dim_factors[dim->first + k] != factor; k++)
		if (grid_cell(g, tensor, r->dim_factors[dim->first + k])->overflow.n)
			return LOSS_PARTIAL;
	return c->closed ? LOSS_CLOSED : LOSS_SIZE;
}

/* Who has something else where the axis stands in the list of the tensor it would come from. */
static bool disputed(
	const factor_grid *g, uint32_t from, uint32_t factor, axis_ref a, axis_loss *out)
{
	axes list = grid_cell(g, from, factor)->axes;
	for (uint32_t t = 0; t < g->n_tensors; t++) {
		const factor_cell *c = grid_cell(g, t, factor);
		if (t == from || !c->present)
			continue;
		for (uint32_t i = 0; i < list.n && i < c->axes.n; i++) {
			if (!axis_is_prefix(list.a[i], c->axes.a[i]) &&
				!axis_is_prefix(c->axes.a[i], list.a[i])) {
				out->winner = c->axes.a[i];
				out->winner_slot = (uint16_t)t;
				out->winner_factor = (uint16_t)factor;
				return true;
			}
			if (list.a[i] == a)
				break;
		}
	}
	return false;
}

/* The first axis of the list that the tensor does not take, and why; false when it would take them
 * all. */
static bool first_refused(
	const factor_grid *g, uint32_t tensor, uint32_t factor, axes list, uint32_t *at, axis_loss *out)
{
	int64_t prev = 1;
	for (uint32_t i = 0; i < list.n; i++) {
		axis_ref kept = list.a[i], other;
		*at = i;
		if (!prefix_within_factor(g, tensor, factor, list.a[i], prev, &kept)) {
			out->reason = (uint8_t)refusal(g, tensor, factor, list.a[i], &other);
			return true;
		}
		if (kept != list.a[i] || !prefix_across_factors(g, tensor, factor, kept, &other) ||
			other != kept) {
			out->reason = taken_by(g, tensor, factor, list.a[i], out)
				? LOSS_TAKEN
				: (uint8_t)refusal(g, tensor, factor, list.a[i], &other);
			return true;
		}
		if (g->conservative && is_sub_axis(g, kept)) {
			out->reason = LOSS_SUB_AXIS;
			return true;
		}
		prev = sat_mul(prev, axis_size(kept));
	}
	return false;
}

static bool refused(const factor_grid *g, uint32_t tensor, uint32_t factor, axes list, axis_loss *l)
{
	uint32_t at;
	if (!first_refused(g, tensor, factor, list, &at, l))
		return false;
	if (!axis_overlaps(list.a[at], l->axis)) {
		for (uint32_t i = 0; i < at; i++)
			if (axis_overlaps(list.a[i], l->axis))
				return false; /* what was refused stands behind it */
		l->winner = list.a[at];
		l->winner_slot = (uint16_t)tensor;
		l->winner_factor = (uint16_t)factor;
		l->reason = LOSS_BEHIND;
	}
	return true;
}

/* The basic strategy asks every tensor of the op, also those without the factor: for the list as
 * far as the axis. */
static bool refused_elsewhere(
	const factor_grid *g, uint32_t tensor, uint32_t factor, axes list, axis_loss *l)
{
	if (grid_cell(g, tensor, factor)->present)
		return refused(g, tensor, factor, list, l);
	for (uint32_t i = 0; i < list.n; i++) {
		if (taken_by(g, tensor, factor, list.a[i], l))
			return true;
		if (axis_overlaps(list.a[i], l->axis))
			return false;
	}
	return false;
}

/* A factor in front of this one, in its dim, that is not cut in full: what comes behind would need
 * a strided view. */
static bool behind_partial(const factor_grid *g, uint32_t tensor, uint32_t factor)
{
	const rule *r = g->rule;
	const struct rule_dim *dim =
		&r->dims[r->tensor_first[tensor] + tensor_dim_of_factor(r, tensor, factor)];
	for (uint32_t k = 0; k < dim->n && r->dim_factors[dim->first + k] != factor; k++) {
		uint32_t f = r->dim_factors[dim->first + k];
		if (axes_product(grid_cell(g, tensor, f)->axes) < r->factor_sizes[f])
			return true;
	}
	return false;
}

static void find_reason(const judge *x, factor_grid *g, axis_loss *l)
{
	bool basic = x->options->strategy == STRATEGY_BASIC;
	uint32_t f = l->factor, n_operands = g->rule->n_operands;
	direction needed = l->from_slot < n_operands ? DIR_FORWARD : DIR_BACKWARD;
	l->reason = LOSS_NO_STEP;
	if (g->rule->blocked >> f & 1) {
		l->reason = LOSS_BLOCKED;
		return;
	}
	if (!(factor_direction(g->dirs, f) & needed)) {
		l->reason = LOSS_DIRECTION;
		return;
	}
	axes list = compatible_major_axes(g, f);
	axis_ref any;
	if (!overlaps_any(l->axis, list, &any)) {
		/* what another factor of the value has explains more than the order along this one */
		if (taken_by(g, l->slot, f, l->axis, l))
			l->reason = LOSS_TAKEN;
		else if (disputed(g, l->from_slot, f, l->axis, l))
			l->reason = LOSS_ORDER;
		else
			l->reason = LOSS_BEHIND;
		return;
	}
	if (refused(g, l->slot, f, list, l))
		return;
	for (uint32_t t = 0; basic && t < g->n_tensors; t++)
		if (t != l->slot && refused_elsewhere(g, t, f, list, l)) {
			l->reason = LOSS_OTHER;
			l->winner_slot = (uint16_t)t;
			return;
		}
	if (behind_partial(g, l->slot, f))
		l->reason = LOSS_PARTIAL;
	for (uint32_t t = n_operands; g->elementwise && l->slot < n_operands && t < g->n_tensors; t++)
		if (grid_cell(g, t, f)->present && !contained(grid_cell(g, t, f)->axes, l->axis)) {
			l->reason = LOSS_RESULT;
			l->winner_slot = (uint16_t)t;
		}
}

static bool has_loss(const loss_list *out, uint32_t from, const axis_loss *l)
{
	for (uint32_t i = from; i < out->n; i++)
		if (out->p[i].slot == l->slot && out->p[i].factor == l->factor && out->p[i].axis == l->axis)
			return true;
	return false;
}

/* One factor of one slot of a node. */
static void compare_factor(judge *x, node_id n, uint32_t slot, uint32_t factor, loss_list *out)
{
	factor_grid *g = &x->g;
	uint32_t first = out->n;
	axes held = grid_cell(g, slot, factor)->axes;
	for (uint32_t t = 0; t < g->n_tensors; t++) {
		axes list = grid_cell(g, t, factor)->axes;
		for (uint32_t i = 0; t != slot && i < list.n; i++) {
			axis_loss l = {.dim = (uint8_t)tensor_dim_of_factor(g->rule, slot, factor),
				.slot = (uint16_t)slot,
				.from_slot = (uint16_t)t,
				.factor = (uint16_t)factor,
				.node = n,
				.axis = list.a[i]};
			if (contained(held, l.axis) || has_loss(out, first, &l))
				continue;
			find_reason(x, g, &l);
			vec_push(out, l);
		}
	}
}

static void compare_node(judge *x, node_id i, pval_id v, loss_list *out)
{
	const node *n = &x->p->nodes.p[i];
	uint32_t n_slots = (uint32_t)n->n_operands + n->n_results;
	const pval_id *slots = node_slots(x->p, n);
	vec_reserve(&x->in, n_slots);
	if (n->rule == RULE_NONE || n->dead)
		return;
	const rule *r = rule_get(x->p->rules, n->rule);
	const manual_edge *manual = manual_edge_of(x->p, i);
	for (uint32_t k = 0; k < n_slots; k++)
		x->in.p[k] = x->shardings[slots[k]];
	if (manual)
		x->in.p[n_slots - 1] = manual_enter(x->t, manual, x->in.p[n_slots - 1]);
	step_mode mode = round_directions(x->p->rules, n, OP_PRIORITY_ROUNDS - 1) |
		(n->elementwise ? MODE_ELEMENTWISE : 0) |
		(x->options->conservative && n->kind == NODE_OP ? MODE_CONSERVATIVE : 0);
	arena_rewind(&x->mem, (arena_mark){x->mem.head, 0});
	if (!transfer_grid(r, x->t, mode, x->in.p, n_slots, &x->mem, &x->g))
		return;
	for (uint32_t k = 0; k < n_slots; k++)
		for (uint32_t f = 0; slots[k] == v && f < r->n_factors; f++)
			if (grid_cell(&x->g, k, f)->present)
				compare_factor(x, i, k, f, out);
}

void losses_find(const program *p, sharding_table *t, const propagate_options *o,
	const sharding_id *shardings, pval_id v, loss_list *out)
{
	const pval *x = &p->vals.p[v];
	node_id last = ID_NONE;
	judge j = {.p = p, .t = t, .options = o, .shardings = shardings};
	out->n = 0;
	arena_init(&j.mem);
	if (x->def != ID_NONE)
		compare_node(&j, x->def, v, out);
	for (uint32_t i = 0; i < x->n_uses; i++) {
		node_id n = p->slot_node.p[p->uses.p[x->uses + i]];
		if (n != last && n != x->def)
			compare_node(&j, n, v, out);
		last = n;
	}
	arena_release(&j.mem);
	vec_release(&j.in);
}
