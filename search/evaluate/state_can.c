/* What can be decided in a search state. */
#include "search/evaluate/state_private.h"

bool uses_axis(axes l, uint32_t axis)
{
	for (uint32_t i = 0; i < l.n; i++)
		if (axis_index(l.a[i]) == axis)
			return true;
	return false;
}

static bool holds_axis(const search_state *w, sharding_id id, uint32_t axis)
{
	if (id == SHARDING_NONE)
		return false;
	const sharding *s = sharding_get(w->t, id);
	for (uint32_t d = 0; d < s->rank; d++)
		if (uses_axis(sharding_dim(s, d), axis))
			return true;
	return uses_axis(sharding_replicated(s), axis) || uses_axis(sharding_unreduced(s), axis);
}

/* The open dim that the whole axis cuts, as propagation alone leaves it; ID_NONE when there is
 * none. */
uint32_t propagated_dim(const search_state *w, const sharding *s, uint32_t axis)
{
	for (uint32_t d = 0; d < s->rank; d++) {
		axes l = sharding_dim(s, d);
		for (uint32_t i = 0; i < l.n && !s->dims[d].closed; i++)
			if (l.a[i] == mesh_full_axis(w->t, w->pb->mesh, axis))
				return d;
	}
	return ID_NONE;
}

/* An inner value takes the axis on the target's dim when no dim of it has the axis yet, and it
 * divides; it is kept off an axis that it does not have. Where the user constrains, propagation
 * gives way: the axis is held where it is, or leaves the dim that it came to. */
bool can_constrain(const search_state *w, const action *a, const action_target *target)
{
	sharding_id id = propagation_shardings(w->prop)[target->arg];
	const sharding *s = id == SHARDING_NONE ? NULL : sharding_get(w->t, id);
	const ir_type *ty = pval_type(w->p, target->arg);
	bool taken = holds_axis(w, id, a->axis);
	if (w->noted[target->arg] == ID_NONE || (target->dim != DIM_KEEP && target->dim >= ty->rank))
		return false;
	if (taken && action_holds(a)) {
		if (target->dim != DIM_KEEP && uses_axis(sharding_dim(s, target->dim), a->axis))
			return true;
		taken = propagated_dim(w, s, a->axis) == ID_NONE;
	}
	int64_t size = axis_size(mesh_full_axis(w->t, w->pb->mesh, a->axis)),
			parts = s && target->dim != DIM_KEEP ? sharding_dim_parts(s, target->dim) : 1;
	return !taken && (target->dim == DIM_KEEP || ty->dims[target->dim] % (parts * size) == 0);
}

/* The dim that can take the axis: the wanted one, or the largest shard for DIM_LARGEST; ID_NONE
 * when none can. */
uint32_t dim_for(const search_state *w, const action_target *target, uint32_t axis)
{
	pval_id v = w->p->args.p[target->arg];
	const ir_type *ty = pval_type(w->p, v);
	sharding_id id = propagation_shardings(w->prop)[v];
	const sharding *s = id == SHARDING_NONE ? NULL : sharding_get(w->t, id);
	if (w->pinned[target->arg] || w->kept[target->arg] >> axis & 1)
		return ID_NONE;
	if (holds_axis(w, id, axis))
		return ID_NONE;
	int64_t size = axis_size(mesh_full_axis(w->t, w->pb->mesh, axis)), best = 0;
	uint32_t chosen = ID_NONE;
	const int64_t *dims = problem_dims(w->pb, w->origin[target->arg]);
	for (uint32_t d = 0; d < ty->rank; d++) {
		if (target->dim != DIM_LARGEST && d != target->dim)
			continue;
		int64_t parts = s ? sharding_dim_parts(s, d) : 1;
		if (dims[d] <= 0 || dims[d] % (parts * size) != 0 ||
			problem_forbids(w->pb, w->origin[target->arg], d, axis))
			continue;
		if (dims[d] / parts > best) {
			best = dims[d] / parts;
			chosen = d;
		}
	}
	return chosen;
}

bool state_can(const search_state *w, const action *a)
{
	if (w->depth == MAX_PLAN)
		return false;
	for (uint32_t i = 0; i < a->n_targets; i++) {
		uint32_t arg = a->targets[i].arg;
		if (a->kind == ACTION_CONSTRAIN) {
			if (can_constrain(w, a, &a->targets[i]))
				return true;
		} else if (a->targets[i].dim == DIM_KEEP) {
			if (a->kind == ACTION_REPLICATE && !w->pinned[arg] && !(w->kept[arg] >> a->axis & 1))
				return true;
		} else if (dim_for(w, &a->targets[i], a->axis) != ID_NONE) {
			return true;
		}
	}
	return false;
}
