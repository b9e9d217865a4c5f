/* One group, or class of inner dims, decided anew, whatever the plan says of it. */
#include "search/tree/moves.h"

#include <stdlib.h>

/* A place in the order that makes a difference: what comes in between decides about other groups,
 * or the same on another axis. */
static bool is_place(const plan *pl, uint32_t at)
{
	const action *before = at > plan_first_free(pl) ? &pl->decisions[at - 1] : NULL;
	return !before || at == pl->n ||
		(before->group == ID_NONE && before->kind != ACTION_CONSTRAIN &&
			!action_is_twin(before, &pl->decisions[at]));
}

/* At every place, on every one of the axes (bits), in their order and in the opposite one. */
static void list_decided(neighbourhood *nb, const plan *rest, const action *a, uint32_t axis_mask)
{
	plan *v;
	for (uint32_t at = plan_first_free(rest); at <= rest->n; at++)
		for (int reversed = 0; reversed < (axis_mask & (axis_mask - 1) ? 2 : 1); reversed++) {
			if (!is_place(rest, at) || !(v = neighbourhood_add(nb, rest)))
				continue;
			for (uint32_t k = 0; k < nb->n_axes; k++) {
				uint32_t axis = nb->axes[reversed ? k : nb->n_axes - 1 - k];
				action own = action_on_axis(nb->of, a, axis);
				if (axis_mask >> axis & 1)
					plan_insert(v, at, &own, "search");
			}
		}
}

/* Nothing or any of the group's dims on these axes. */
static void list_regrouped(neighbourhood *nb, const plan *pl, uint32_t group, uint32_t axis_mask)
{
	plan *rest = xmalloc(sizeof *rest);
	uint32_t first = 0;
	while (!(axis_mask >> first & 1))
		first++;
	*rest = *pl;
	plan_clear_group(nb->pb, nb->mem, rest, group, axis_mask);
	neighbourhood_add(nb, rest);
	for (uint32_t i = 0; i < nb->of->actions.n; i++)
		if (nb->of->actions.p[i].group == group && nb->of->actions.p[i].axis == first)
			list_decided(nb, rest, &nb->of->actions.p[i], axis_mask);
	free(rest);
}

/* The action with the first n targets of nb->targets instead, but for parts of the user's groups.
 */
static action retargeted(const neighbourhood *nb, const action *a, uint32_t n)
{
	action own = *a;
	n = problem_keep_whole_groups(nb->pb, nb->targets, n);
	action_target *t = arena_array(nb->mem, action_target, n + 1);
	memcpy(t, nb->targets, n * sizeof *t);
	own.group = ID_NONE;
	own.targets = t;
	own.n_targets = n;
	return own;
}

/* Every second argument of the action's. */
static action every_second(const neighbourhood *nb, const action *a, bool odd)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < a->n_targets; i++)
		if (nb->odd[a->targets[i].arg] == odd)
			nb->targets[n++] = a->targets[i];
	return retargeted(nb, a, n);
}

/* At every place. */
static void list_together(neighbourhood *nb, const plan *rest, const action *decisions, uint32_t n)
{
	plan *v;
	for (uint32_t at = plan_first_free(rest); at <= rest->n; at++)
		if (is_place(rest, at) && (v = neighbourhood_add(nb, rest)))
			for (uint32_t i = n; i-- > 0;)
				plan_insert(v, at, &decisions[i], "search");
}

/* Nothing, or the inner dims of the class on these axes. */
static void list_reconstrained(
	neighbourhood *nb, const plan *pl, const activation_class *sc, uint32_t axis_mask)
{
	plan *rest = xmalloc(sizeof *rest);
	uint32_t first = 0;
	while (!(axis_mask >> first & 1))
		first++;
	*rest = *pl;
	for (uint32_t i = rest->n; i-- > 0;) {
		const action *a = &rest->decisions[i];
		if (a->kind == ACTION_CONSTRAIN && a->targets == sc->targets && axis_mask >> a->axis & 1 &&
			!a->fixed)
			plan_drop(rest, i);
	}
	if (rest->n < pl->n)
		neighbourhood_add(nb, rest);
	for (uint32_t i = 0; i < nb->of->actions.n; i++)
		if (nb->of->actions.p[i].kind == ACTION_CONSTRAIN &&
			nb->of->actions.p[i].targets == sc->targets && nb->of->actions.p[i].axis == first)
			list_decided(nb, rest, &nb->of->actions.p[i], axis_mask);
	free(rest);
}

/* Parameters of a group with the state that belongs to them, as an action on whole roles has them:
 * whole with their state cut, or cut too. False when the group has no parameters with state. */
static bool zero_action(const neighbourhood *nb, uint32_t group, bool whole, action *out)
{
	const problem *pb = nb->pb;
	uint32_t n = 0, states = 0;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t a = 0; a < pb->n_args; a++) {
			uint32_t param = pass ? pb->param_of[a] : a;
			if (param == ID_NONE || pb->group_of[param] != group || pb->group_of[a] == ID_NONE ||
				pb->roles[param] != ROLE_PARAMETER)
				continue;
			nb->targets[n++] = (action_target){a, pass || !whole ? DIM_LARGEST : DIM_KEEP};
			states += (uint32_t)pass;
		}
	*out = retargeted(nb, &(action){.kind = ACTION_PARTITION, .dim = DIM_LARGEST, .weight = 1}, n);
	return states;
}

/* Does the group hold nothing but state of the other one's parameters? */
static bool holds_state_of(const problem *pb, uint32_t group, uint32_t of)
{
	for (uint32_t i = pb->group_first[group]; i < pb->group_first[group + 1]; i++) {
		uint32_t param = pb->param_of[pb->group_members[i]];
		if (param == ID_NONE || pb->group_of[param] != of)
			return false;
	}
	return true;
}

static void clear_with_state(const neighbourhood *nb, plan *pl, uint32_t group, uint32_t axis_mask)
{
	for (uint32_t g = 0; g < nb->pb->n_groups; g++)
		if (g == group || holds_state_of(nb->pb, g, group))
			plan_clear_group(nb->pb, nb->mem, pl, g, axis_mask);
}

/* A parameter and its state, both decided anew: each alone is often worse where both together are
 * better. */
static void list_zeroed(neighbourhood *nb, const plan *pl, uint32_t group, uint32_t axis_mask)
{
	action a;
	plan *rest = NULL;
	for (int whole = 0; whole < 2 && zero_action(nb, group, whole, &a); whole++) {
		if (!rest) {
			rest = xmalloc(sizeof *rest);
			*rest = *pl;
			clear_with_state(nb, rest, group, axis_mask);
			neighbourhood_add(nb, rest);
		}
		list_decided(nb, rest, &a, axis_mask);
	}
	free(rest);
}

/* The action with the state of the group's parameters, cut like them: a replay might cut it in a
 * way of its own. */
static action with_state(const neighbourhood *nb, const action *a)
{
	const problem *pb = nb->pb;
	uint32_t n = a->n_targets;
	memcpy(nb->targets, a->targets, n * sizeof *nb->targets);
	for (uint32_t s = 0; s < pb->n_args; s++) {
		uint32_t param = pb->param_of[s];
		if (param == ID_NONE || pb->group_of[param] != a->group || pb->group_of[s] == ID_NONE)
			continue;
		const ir_type *own = pval_type(pb->p, pb->p->args.p[s]),
					  *of = pval_type(pb->p, pb->p->args.p[param]);
		if (own->rank > a->dim &&
			own->dims[a->dim] == of->dims[a->dim]) /* moments of rows or columns have other dims */
			nb->targets[n++] = (action_target){s, a->dim};
	}
	return retargeted(nb, a, n);
}

/* One dim on the action's axis and another one on the other's; turns: the other way round in every
 * second argument, too. */
static void list_crossed_dims(
	neighbourhood *nb, const plan *rest, const action *a, const action *b, bool turns)
{
	list_together(nb, rest, (action[]){*a, *b}, 2);
	if (!turns || a->n_targets != b->n_targets)
		return;
	for (uint32_t i = 0; i < a->n_targets; i++)
		if (nb->pb->given[a->targets[i].arg] != ID_NONE)
			return;
	action turned[] = {every_second(nb, a, false), every_second(nb, a, true),
		every_second(nb, b, false), every_second(nb, b, true)};
	turned[1].axis = b->axis;
	turned[3].axis = a->axis;
	list_together(nb, rest, turned, COUNT_OF(turned));
}

/* Where the group is one of parameters, first with their state, then alone: of two that look the
 * same, the first is tried. */
static void list_crossed(neighbourhood *nb, const plan *pl, uint32_t group, uint32_t axis_mask)
{
	const problem *pb = nb->pb;
	const action *on[2][MAX_RANK];
	uint32_t n[2] = {0, 0}, first = 0;
	while (!(axis_mask >> first & 1))
		first++;
	for (uint32_t i = 0; i < nb->of->actions.n; i++) {
		const action *a = &nb->of->actions.p[i];
		uint32_t which = a->axis != first;
		if (a->group == group && axis_mask >> a->axis & 1)
			on[which][n[which]++] = a;
	}
	if (!n[0] || !n[1])
		return;
	/* Many are of layers that a folded program has as one: each would have to be costed on its own.
	 */
	uint32_t members = pb->group_first[group + 1] - pb->group_first[group];
	bool turns = members > 1 && members <= MOST_TURNED;
	plan *rest = xmalloc(sizeof *rest);
	for (int with = pb->roles[pb->group_members[pb->group_first[group]]] == ROLE_PARAMETER;
		 with >= 0; with--) {
		*rest = *pl;
		if (with)
			clear_with_state(nb, rest, group, axis_mask);
		else
			plan_clear_group(pb, nb->mem, rest, group, axis_mask);
		for (uint32_t i = 0; i < n[0]; i++)
			for (uint32_t k = 0; k < n[1]; k++) {
				const action *a = on[0][i], *b = on[1][k];
				if (a->dim == b->dim)
					continue;
				action c = with ? with_state(nb, a) : *a, d = with ? with_state(nb, b) : *b;
				list_crossed_dims(nb, rest, &c, &d, turns);
			}
	}
	free(rest);
}

/* ---------------------------------------------------------------- all of them */

/* All axes together, where there are several, and each; returns how many. */
static uint32_t axis_masks(const neighbourhood *nb, uint32_t masks[MAX_MESH_AXES + 1])
{
	uint32_t n = 0, all = 0;
	for (uint32_t i = 0; i < nb->n_axes; i++)
		all |= 1u << nb->axes[i];
	if (nb->n_axes > 1)
		masks[n++] = all;
	for (uint32_t i = 0; i < nb->n_axes; i++)
		masks[n++] = 1u << nb->axes[i];
	return n;
}

void regroupings_list(const neighbourhood *nb, regrouping_list *out)
{
	const problem *pb = nb->pb;
	uint32_t masks[MAX_MESH_AXES + 1], n = axis_masks(nb, masks);
	for (int alone = 0; alone < 2; alone++) {
		uint32_t first = alone ? 1 : 0, end = alone ? n : MIN(n, 1u);
		for (uint32_t g = 0; g < pb->n_groups; g++)
			for (uint32_t i = first; i < end; i++)
				vec_push(out, (regrouping){.group = nb->groups[g], .mask = masks[i]});
		for (uint32_t c = 0; c < pb->n_activation_classes; c++)
			for (uint32_t i = first; i < end; i++)
				vec_push(out,
					(regrouping){
						.group = ID_NONE, .sc = &pb->activation_classes[c], .mask = masks[i]});
	}
	for (uint32_t g = 0; g < pb->n_groups; g++)
		for (uint32_t i = 0; i < nb->n_axes; i++)
			for (uint32_t k = i + 1; k < nb->n_axes; k++)
				vec_push(out,
					(regrouping){.group = nb->groups[g],
						.mask = 1u << nb->axes[i] | 1u << nb->axes[k],
						.crossed = true});
}

static void list_regrouping(neighbourhood *nb, const plan *pl, const regrouping *x)
{
	if (x->group == ID_NONE) {
		list_reconstrained(nb, pl, x->sc, x->mask);
	} else if (x->crossed) {
		list_crossed(nb, pl, x->group, x->mask);
	} else {
		list_regrouped(nb, pl, x->group, x->mask);
		list_zeroed(nb, pl, x->group, x->mask);
	}
}

uint32_t regroupings_of(neighbourhood *nb, const plan *pl, const regrouping_list *all,
	uint32_t from, uint32_t ends[REGROUPINGS])
{
	uint32_t n = 0;
	neighbourhood_clear(nb);
	while (n < REGROUPINGS && from + n < all->n && nb->n < REGROUPINGS) {
		uint32_t before = nb->n;
		list_regrouping(nb, pl, &all->p[from + n]);
		if (n && nb->n == MOST_VARIANTS) { /* perhaps not all of its own */
			nb->n = before;
			nb->cut = false; /* it is the first one next time */
			break;
		}
		ends[n++] = nb->n;
	}
	return n;
}
