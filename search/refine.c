/* Descent from a whole plan, through neighbourhoods that grow where the smaller ones lead nowhere:
 *
 *   1. two axes change places, or, of two, one does what the other one does (of more: in 2);
 *      each decision, with its twins on other axes, is left out, decided first, last or before ZeRO, or keeps off one group of what it cuts,
 *      or of a ZeRO decision the parameters of one group are kept whole rather than cut, or cut rather than kept whole;
 *      random walks rarely change the same on all axes at once, and a plan that treats its axes alike is often left no other way
 *   2. each decision that has twins without them; one repeated on an axis more; a decision about a whole role more, at any place
 *   3. every decision comes as late as that costs nothing, so that there is room in front of it; then
 *      one group, or class of inner dims, after the other is decided anew: nothing or any of its dims, or its parameters with their
 *      state, on all axes alike, in their order or the opposite one, or on one; then one dim on one axis and another on a second,
 *      in all of the group or the other way round in every second of its members (chains of weights that are cut both ways: over
 *      which axis the values come out of one, over that axis the next one takes them in). Each before all else, behind all else or
 *      behind a decision about many groups
 *
 * In 1 and 2 the best neighbour is taken, in 3 the best one of each group. What is taken is better in a replay, too. */
#include "search/internal.h"

#include <stdlib.h>

enum { MOST_VARIANTS = 192, MOST_REPLAYS = 3 /* in a step */, PATIENCE = 4 /* a quarter of the budget without a better plan */, MOST_TURNED = 8 /* members of a group */,
       BATCH = 48 /* variants costed at once, if there are as many */ };

struct refiner {
	const problem *pb;
	crew *with;
	arena *mem;
	const action_list *actions;
	uint32_t n_axes, axes[MAX_MESH_AXES]; /* that cut anything */
	uint32_t n;
	plan *variants;
	cost *costs;
	struct thinned { /* by variant: which group it leaves out of which decision; at: ID_NONE for other variants */
		uint32_t at, group;
	} *thinned;
	uint32_t *groups; /* those of most bytes first */
	uint64_t patience, bored; /* regroup ends at so many evaluations after the last better plan, which is at so many of all */
	action_target *targets; /* room for those of one action */
	bool *odd; /* by argument: every second one of its group, in the order in which the program uses them */
	uint64_t budget, used;
	index_map passed; /* states that descents came through */
	uint32_t n_passed;
	uint64_t start; /* all used when the present descent began */
	refined *tell;
	void *user;
};

static plan *add_variant(refiner *rf, const plan *from)
{
	if (rf->n == MOST_VARIANTS)
		return NULL;
	rf->variants[rf->n] = *from;
	rf->thinned[rf->n].at = ID_NONE;
	return &rf->variants[rf->n++];
}

static uint32_t first_free(const plan *pl)
{
	uint32_t first = 0;
	while (first < pl->n && pl->decisions[first].fixed)
		first++;
	return first;
}

/* ---------------------------------------------------------------- one decision */

/* The first twin of a decision, or itself. */
static uint32_t first_twin(const plan *pl, uint32_t at)
{
	uint32_t i = 0;
	while (i < at && !action_is_twin(&pl->decisions[at], &pl->decisions[i]))
		i++;
	return i;
}
static bool has_twin(const plan *pl, uint32_t at)
{
	for (uint32_t i = 0; i < pl->n; i++)
		if (action_is_twin(&pl->decisions[at], &pl->decisions[i]))
			return true;
	return false;
}

/* Takes the decision out of the plan, with twins all of them, in their order. */
static void take_out(plan *pl, const action *a, bool twins, plan *taken)
{
	taken->n = 0;
	for (uint32_t i = 0; i < pl->n;) {
		const action *b = &pl->decisions[i];
		if (b->fixed || !((twins && action_is_twin(a, b)) || (b->axis == a->axis && b->targets == a->targets && b->kind == a->kind))) {
			i++;
			continue;
		}
		plan_insert(taken, taken->n, b, pl->tactics[i]);
		plan_drop(pl, i);
	}
}

static void list_moved(refiner *rf, const plan *pl, const action *a, bool twins)
{
	plan *taken = xmalloc(sizeof *taken), *rest = xmalloc(sizeof *rest), *v;
	*rest = *pl;
	take_out(rest, a, twins, taken);
	add_variant(rf, rest);
	if ((v = add_variant(rf, rest)))
		for (uint32_t i = 0; i < taken->n; i++)
			plan_insert(v, first_free(rest) + i, &taken->decisions[i], taken->tactics[i]);
	if ((v = add_variant(rf, rest)))
		for (uint32_t i = 0; i < taken->n; i++)
			plan_insert(v, v->n, &taken->decisions[i], taken->tactics[i]);
	uint32_t zero = plan_zero_at(rest);
	if (zero > first_free(rest) && zero < rest->n && (v = add_variant(rf, rest)))
		for (uint32_t i = 0; i < taken->n; i++)
			plan_insert(v, zero + i, &taken->decisions[i], taken->tactics[i]);
	free(taken);
	free(rest);
}

typedef bool group_change(const problem *, arena *, plan *, uint32_t at, uint32_t group);

static bool change(const refiner *rf, plan *pl, const action *a, uint32_t at, uint32_t group, bool twins, group_change *how)
{
	if (!how(rf->pb, rf->mem, pl, at, group))
		return false;
	for (uint32_t k = 0; k < pl->n && twins; k++)
		if (k != at && action_is_twin(a, &pl->decisions[k]))
			how(rf->pb, rf->mem, pl, k, group);
	return true;
}

static bool thin(const refiner *rf, plan *pl, const action *a, uint32_t at, uint32_t group, bool twins)
{
	return change(rf, pl, a, at, group, twins, plan_leave_out);
}

static void list_thinned(refiner *rf, const plan *pl, uint32_t at, bool twins)
{
	const action a = pl->decisions[at];
	uint32_t last = ID_NONE;
	if (a.group != ID_NONE || a.kind == ACTION_CONSTRAIN)
		return;
	for (uint32_t i = 0; i < a.n_targets; i++) {
		uint32_t group = rf->pb->group_of[a.targets[i].arg];
		bool known = group == last;
		for (uint32_t k = 0; k < i && !known; k++)
			known = rf->pb->group_of[a.targets[k].arg] == group;
		last = group;
		plan *v = known ? NULL : add_variant(rf, pl);
		if (!v)
			continue;
		if (thin(rf, v, &a, at, group, twins))
			rf->thinned[rf->n - 1] = (struct thinned){at, group};
		else
			rf->n--;
		if ((v = add_variant(rf, pl)) && !change(rf, v, &a, at, group, twins, plan_exchange_zero))
			rf->n--;
	}
}

/* twins: decisions with their twins, once; otherwise those that have any, alone. */
static void list_changed(refiner *rf, const plan *pl, bool twins)
{
	for (uint32_t at = 0; at < pl->n; at++) {
		if (pl->decisions[at].fixed || (twins ? first_twin(pl, at) < at : !has_twin(pl, at)))
			continue;
		list_moved(rf, pl, &pl->decisions[at], twins);
		list_thinned(rf, pl, at, twins);
	}
}

static void list_added(refiner *rf, const plan *pl)
{
	for (uint32_t i = 0; i < rf->actions->n; i++)
		for (uint32_t at = first_free(pl); rf->actions->p[i].on_role && at <= pl->n; at++) {
			plan *v = add_variant(rf, pl);
			if (v)
				plan_insert(v, at, &rf->actions->p[i], "refine");
		}
}

/* The same over one axis more, in front of the decision or behind it. */
static void list_spread(refiner *rf, const plan *pl)
{
	for (uint32_t at = first_free(pl); at < pl->n; at++)
		for (uint32_t i = 0; i < rf->n_axes; i++) {
			const action *a = &pl->decisions[at];
			bool there = a->on_role || a->axis == rf->axes[i];
			for (uint32_t k = 0; k < pl->n && !there; k++)
				there = pl->decisions[k].axis == rf->axes[i] && action_is_twin(&pl->decisions[k], a);
			for (uint32_t behind = 0; behind < 2 && !there; behind++) {
				action own = action_on_axis(rf->pb, a, rf->axes[i]);
				plan *v = add_variant(rf, pl);
				if (v)
					plan_insert(v, at + behind, &own, "refine");
			}
		}
}

/* Axes of one size may be worth different things. */
static void list_exchanged(refiner *rf, const plan *pl)
{
	for (uint32_t i = 0; i < rf->n_axes; i++)
		for (uint32_t k = i + 1; k < rf->n_axes; k++) {
			plan *v = add_variant(rf, pl);
			if (v)
				plan_exchange_axes(rf->pb, v, rf->axes[i], rf->axes[k]);
		}
}

/* What one axis does can be best for two, by way of which no smaller step leads. */
static void list_imitated(refiner *rf, const plan *pl)
{
	for (uint32_t i = 0; i < rf->n_axes; i++)
		for (uint32_t k = 0; k < rf->n_axes; k++) {
			plan *v = i != k ? add_variant(rf, pl) : NULL;
			if (v)
				plan_imitate_axis(rf->pb, v, rf->axes[i], rf->axes[k]);
		}
}

/* Of three axes two that do the same too early leave the third no way: seeds came up to 6% apart. */
static refine_depth imitation(const refiner *rf) { return rf->n_axes == 2 ? REFINE_ALIKE : REFINE_APART; }

/* ---------------------------------------------------------------- one group */

/* A place in the order that makes a difference: what comes in between decides about other groups. */
static bool is_place(const plan *pl, uint32_t at)
{
	const action *before = at > first_free(pl) ? &pl->decisions[at - 1] : NULL;
	return !before || at == pl->n || (before->group == ID_NONE && before->kind != ACTION_CONSTRAIN);
}

/* At every place, on every one of the axes (bits), in their order and in the opposite one. */
static void list_decided(refiner *rf, const plan *rest, const action *a, uint32_t axis_mask)
{
	plan *v;
	for (uint32_t at = first_free(rest); at <= rest->n; at++)
		for (int reversed = 0; reversed < (axis_mask & (axis_mask - 1) ? 2 : 1); reversed++) {
			if (!is_place(rest, at) || !(v = add_variant(rf, rest)))
				continue;
			for (uint32_t k = 0; k < rf->n_axes; k++) {
				uint32_t axis = rf->axes[reversed ? k : rf->n_axes - 1 - k];
				action own = action_on_axis(rf->pb, a, axis);
				if (axis_mask >> axis & 1)
					plan_insert(v, at, &own, "refine");
			}
		}
}

/* Nothing or any of the group's dims on these axes. */
static void list_regrouped(refiner *rf, const plan *pl, uint32_t group, uint32_t axis_mask)
{
	plan *rest = xmalloc(sizeof *rest);
	uint32_t first = 0;
	while (!(axis_mask >> first & 1))
		first++;
	*rest = *pl;
	plan_clear_group(rf->pb, rf->mem, rest, group, axis_mask);
	add_variant(rf, rest);
	for (uint32_t i = 0; i < rf->actions->n; i++)
		if (rf->actions->p[i].group == group && rf->actions->p[i].axis == first)
			list_decided(rf, rest, &rf->actions->p[i], axis_mask);
	free(rest);
}

/* The action with the first n targets of rf->targets instead. */
static action retargeted(const refiner *rf, const action *a, uint32_t n)
{
	action own = *a;
	action_target *t = arena_array(rf->mem, action_target, n + 1);
	memcpy(t, rf->targets, n * sizeof *t);
	own.group = ID_NONE;
	own.targets = t;
	own.n_targets = n;
	return own;
}

/* Every second argument of the action's. */
static action every_second(const refiner *rf, const action *a, bool odd)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < a->n_targets; i++)
		if (rf->odd[a->targets[i].arg] == odd)
			rf->targets[n++] = a->targets[i];
	return retargeted(rf, a, n);
}

/* At every place. */
static void list_together(refiner *rf, const plan *rest, const action *decisions, uint32_t n)
{
	plan *v;
	for (uint32_t at = first_free(rest); at <= rest->n; at++)
		if (is_place(rest, at) && (v = add_variant(rf, rest)))
			for (uint32_t i = n; i-- > 0;)
				plan_insert(v, at, &decisions[i], "refine");
}

/* Nothing, or the inner dims of the class on these axes. */
static void list_reconstrained(refiner *rf, const plan *pl, const site_class *sc, uint32_t axis_mask)
{
	plan *rest = xmalloc(sizeof *rest);
	uint32_t first = 0;
	while (!(axis_mask >> first & 1))
		first++;
	*rest = *pl;
	for (uint32_t i = rest->n; i-- > 0;) {
		const action *a = &rest->decisions[i];
		if (a->kind == ACTION_CONSTRAIN && a->targets == sc->targets && axis_mask >> a->axis & 1 && !a->fixed)
			plan_drop(rest, i);
	}
	if (rest->n < pl->n)
		add_variant(rf, rest);
	for (uint32_t i = 0; i < rf->actions->n; i++)
		if (rf->actions->p[i].kind == ACTION_CONSTRAIN && rf->actions->p[i].targets == sc->targets && rf->actions->p[i].axis == first)
			list_decided(rf, rest, &rf->actions->p[i], axis_mask);
	free(rest);
}

/* Parameters of a group with the state that belongs to them, as an action on whole roles has them: whole with their state cut, or
 * cut too. False when the group has no parameters with state. */
static bool zero_action(const refiner *rf, uint32_t group, bool whole, action *out)
{
	const problem *pb = rf->pb;
	uint32_t n = 0, states = 0;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t a = 0; a < pb->n_args; a++) {
			uint32_t param = pass ? pb->param_of[a] : a;
			if (param == ID_NONE || pb->group_of[param] != group || pb->group_of[a] == ID_NONE || pb->roles[param] != ROLE_PARAMETER)
				continue;
			rf->targets[n++] = (action_target){a, pass || !whole ? DIM_LARGEST : DIM_KEEP};
			states += (uint32_t)pass;
		}
	*out = retargeted(rf, &(action){.kind = ACTION_PARTITION, .dim = DIM_LARGEST, .weight = 1}, n);
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

static void clear_with_state(const refiner *rf, plan *pl, uint32_t group, uint32_t axis_mask)
{
	for (uint32_t g = 0; g < rf->pb->n_groups; g++)
		if (g == group || holds_state_of(rf->pb, g, group))
			plan_clear_group(rf->pb, rf->mem, pl, g, axis_mask);
}

/* A parameter and its state, both decided anew: each alone is often worse where both together are better. */
static void list_zeroed(refiner *rf, const plan *pl, uint32_t group, uint32_t axis_mask)
{
	action a;
	plan *rest = NULL;
	for (int whole = 0; whole < 2 && zero_action(rf, group, whole, &a); whole++) {
		if (!rest) {
			rest = xmalloc(sizeof *rest);
			*rest = *pl;
			clear_with_state(rf, rest, group, axis_mask);
		}
		list_decided(rf, rest, &a, axis_mask);
	}
	free(rest);
}

/* The action with the state of the group's parameters, cut like them: a replay might cut it in a way of its own. */
static action with_state(const refiner *rf, const action *a)
{
	const problem *pb = rf->pb;
	uint32_t n = a->n_targets;
	memcpy(rf->targets, a->targets, n * sizeof *rf->targets);
	for (uint32_t s = 0; s < pb->n_args; s++) {
		uint32_t param = pb->param_of[s];
		if (param != ID_NONE && pb->group_of[param] == a->group && pb->group_of[s] != ID_NONE && pval_type(pb->p, pb->p->args.p[s])->rank > a->dim)
			rf->targets[n++] = (action_target){s, a->dim};
	}
	return retargeted(rf, a, n);
}

/* One dim on the action's axis and another one on the other's; turns: the other way round in every second argument, too. */
static void list_crossed_dims(refiner *rf, const plan *rest, const action *a, const action *b, bool turns)
{
	list_together(rf, rest, (action[]){*a, *b}, 2);
	if (!turns || a->n_targets != b->n_targets)
		return;
	action turned[] = {every_second(rf, a, false), every_second(rf, a, true), every_second(rf, b, false), every_second(rf, b, true)};
	turned[1].axis = b->axis;
	turned[3].axis = a->axis;
	list_together(rf, rest, turned, COUNT_OF(turned));
}

/* Where the group is one of parameters, first with their state, then alone: of two that look the same, the first is tried. */
static void list_crossed(refiner *rf, const plan *pl, uint32_t group, uint32_t axis_mask)
{
	const problem *pb = rf->pb;
	const action *on[2][MAX_RANK];
	uint32_t n[2] = {0, 0}, first = 0;
	while (!(axis_mask >> first & 1))
		first++;
	for (uint32_t i = 0; i < rf->actions->n; i++) {
		const action *a = &rf->actions->p[i];
		uint32_t which = a->axis != first;
		if (a->group == group && axis_mask >> a->axis & 1)
			on[which][n[which]++] = a;
	}
	if (!n[0] || !n[1])
		return;
	/* Many are of layers that a folded program has as one: each would have to be costed on its own. */
	uint32_t members = pb->group_first[group + 1] - pb->group_first[group];
	bool turns = members > 1 && members <= MOST_TURNED;
	plan *rest = xmalloc(sizeof *rest);
	for (int with = pb->roles[pb->group_members[pb->group_first[group]]] == ROLE_PARAMETER; with >= 0; with--) {
		*rest = *pl;
		if (with)
			clear_with_state(rf, rest, group, axis_mask);
		else
			plan_clear_group(pb, rf->mem, rest, group, axis_mask);
		for (uint32_t i = 0; i < n[0]; i++)
			for (uint32_t k = 0; k < n[1]; k++) {
				const action *a = on[0][i], *b = on[1][k];
				if (a->dim == b->dim)
					continue;
				action c = with ? with_state(rf, a) : *a, d = with ? with_state(rf, b) : *b;
				list_crossed_dims(rf, rest, &c, &d, turns);
			}
	}
	free(rest);
}

/* ---------------------------------------------------------------- descent */

static int64_t replayed(refiner *rf, plan *pl)
{
	cost c;
	bool allowed;
	evaluator_run(crew_lead(rf->with), pl, NULL);
	evaluator_replay(crew_lead(rf->with), &c, &allowed);
	return allowed ? plan_energy(rf->pb, &c) : INT64_MAX;
}

/* The one of those from the first to the last that is better than *now in a replay, too. */
static uint32_t best_variant(refiner *rf, uint32_t first, uint32_t end, int64_t *now)
{
	for (int tries = 0; tries < MOST_REPLAYS; tries++) {
		int64_t least = *now;
		uint32_t best = ID_NONE;
		for (uint32_t i = first; i < end; i++) {
			int64_t e = plan_energy(rf->pb, &rf->costs[i]);
			if (e < least) {
				least = e;
				best = i;
			}
		}
		if (best == ID_NONE)
			return ID_NONE;
		least = replayed(rf, &rf->variants[best]);
		if (least < *now) {
			*now = least;
			return best;
		}
		int64_t gone = rf->costs[best].runtime_ns;
		for (uint32_t i = first; i < end; i++) /* most likely the same state */
			if (rf->costs[i].runtime_ns == gone)
				rf->costs[i].runtime_ns = rf->costs[i].peak_bytes = NOT_COSTED;
	}
	return ID_NONE;
}

/* All groups that a decision does better without, at once. Twins are as alike in the plan as they were for each group. */
static void list_thinned_together(refiner *rf, const plan *pl, bool twins, int64_t now)
{
	uint32_t n = rf->n;
	for (uint32_t at = 0; at < pl->n; at++) {
		uint32_t groups = 0;
		plan *v = NULL;
		for (uint32_t i = 0; i < n; i++) {
			if (rf->thinned[i].at != at || plan_energy(rf->pb, &rf->costs[i]) >= now)
				continue;
			if (!v && !(v = add_variant(rf, pl)))
				return;
			const action a = v->decisions[at];
			groups += thin(rf, v, &a, at, rf->thinned[i].group, twins);
		}
		rf->n -= v && groups < 2;
	}
}

static void cost_listed(refiner *rf, uint32_t first)
{
	rf->used += crew_cost(rf->with, rf->variants + first, rf->n - first, rf->budget - MIN(rf->budget, rf->used), rf->costs + first);
}

/* The best of these variants becomes the plan; false when none is better. */
static bool take_best(refiner *rf, plan *pl, uint32_t first, uint32_t end, int64_t *now)
{
	uint32_t best = best_variant(rf, first, end, now);
	if (best == ID_NONE)
		return false;
	*pl = rf->variants[best];
	rf->tell(rf->user, pl, rf->used - rf->start, *now);
	return true;
}

static bool change_decisions(refiner *rf, plan *pl, bool twins, int64_t *now)
{
	if (!rf->n)
		return false;
	cost_listed(rf, 0);
	uint32_t n = rf->n;
	list_thinned_together(rf, pl, twins, *now);
	if (rf->n > n)
		cost_listed(rf, n);
	return take_best(rf, pl, 0, rf->n, now);
}

static bool is_over(const refiner *rf) { return rf->used >= MIN(rf->budget, rf->bored) || crew_stops(rf->with); }

/* All axes together, where there are several, and each; returns how many. */
static uint32_t axis_masks(const refiner *rf, uint32_t masks[MAX_MESH_AXES + 1])
{
	uint32_t n = 0, all = 0;
	for (uint32_t i = 0; i < rf->n_axes; i++)
		all |= 1u << rf->axes[i];
	if (rf->n_axes > 1)
		masks[n++] = all;
	for (uint32_t i = 0; i < rf->n_axes; i++)
		masks[n++] = 1u << rf->axes[i];
	return n;
}

/* The last place that the decision can take at the same cost. */
static uint32_t last_place(refiner *rf, const plan *pl, uint32_t at)
{
	uint32_t last = at;
	rf->n = 0;
	for (uint32_t to = at; to < pl->n; to++) {
		plan *v = add_variant(rf, pl);
		if (v)
			plan_move(v, at, to);
	}
	cost_listed(rf, 0);
	bool costed = is_costed(&rf->costs[0]); /* else it is time to end */
	for (uint32_t i = 1; i < rf->n && costed; i++)
		if (rf->variants[i].n == pl->n && rf->costs[i].runtime_ns == rf->costs[0].runtime_ns && rf->costs[i].peak_bytes <= rf->costs[0].peak_bytes)
			last = at + i;
	return last;
}

/* Every decision comes as late as that costs nothing: what is decided in front of it then has more to say. */
static void postpone(refiner *rf, plan *pl, int64_t *now)
{
	plan *v = xmalloc(sizeof *v);
	*v = *pl;
	for (uint32_t at = v->n; at-- > first_free(v);)
		if (!v->decisions[at].fixed)
			plan_move(v, at, last_place(rf, v, at));
	int64_t then = replayed(rf, v);
	if (then <= *now) {
		*now = then;
		*pl = *v;
	}
	free(v);
}

/* One thing that is decided anew. */
typedef struct regrouping {
	uint32_t group;       /* ID_NONE: a class of inner dims */
	const site_class *sc;
	uint32_t mask;        /* axes */
	bool crossed;         /* of two axes: one dim on the one, another on the other */
} regrouping;
typedef VEC(regrouping) regrouping_list;

/* Every group and every class of inner dims, on all axes alike and on each; then every group on two axes at once. */
static void list_regroupings(const refiner *rf, regrouping_list *out)
{
	const problem *pb = rf->pb;
	uint32_t masks[MAX_MESH_AXES + 1], n = axis_masks(rf, masks);
	for (uint32_t g = 0; g < pb->n_groups; g++)
		for (uint32_t i = 0; i < n; i++)
			vec_push(out, (regrouping){.group = rf->groups[g], .mask = masks[i]});
	for (uint32_t c = 0; c < pb->n_site_classes; c++)
		for (uint32_t i = 0; i < n; i++)
			vec_push(out, (regrouping){.group = ID_NONE, .sc = &pb->site_classes[c], .mask = masks[i]});
	for (uint32_t g = 0; g < pb->n_groups; g++)
		for (uint32_t i = 0; i < rf->n_axes; i++)
			for (uint32_t k = i + 1; k < rf->n_axes; k++)
				vec_push(out, (regrouping){.group = rf->groups[g], .mask = 1u << rf->axes[i] | 1u << rf->axes[k], .crossed = true});
}

static void list_regrouping(refiner *rf, const plan *pl, const regrouping *x)
{
	if (x->group == ID_NONE) {
		list_reconstrained(rf, pl, x->sc, x->mask);
	} else if (x->crossed) {
		list_crossed(rf, pl, x->group, x->mask);
	} else {
		list_regrouped(rf, pl, x->group, x->mask);
		list_zeroed(rf, pl, x->group, x->mask);
	}
}

/* Lists as many of them as make a good batch, one after the other: threads wait for each other after each. ends: of their variants.
 * Returns how many. */
static uint32_t list_batch(refiner *rf, const plan *pl, const regrouping_list *all, uint32_t from, uint32_t ends[BATCH])
{
	uint32_t n = 0;
	rf->n = 0;
	while (n < BATCH && from + n < all->n && rf->n < BATCH) {
		uint32_t before = rf->n;
		list_regrouping(rf, pl, &all->p[from + n]);
		if (n && rf->n == MOST_VARIANTS) { /* perhaps not all of its own */
			rf->n = before;
			break;
		}
		ends[n++] = rf->n;
	}
	return n;
}

static bool regroup(refiner *rf, plan *pl, int64_t *now)
{
	bool better = false;
	regrouping_list all = {0};
	uint32_t ends[BATCH];
	postpone(rf, pl, now);
	list_regroupings(rf, &all);
	rf->bored = rf->used + rf->patience;
	for (uint32_t next = 0; next < all.n && !is_over(rf);) {
		uint32_t n = list_batch(rf, pl, &all, next, ends);
		cost_listed(rf, 0);
		bool taken = false; /* what is listed behind it is of the plan before */
		for (uint32_t i = 0; i < n && !taken; i++, next++)
			taken = take_best(rf, pl, i ? ends[i - 1] : 0, ends[i], now);
		if (taken)
			rf->bored = rf->used + rf->patience;
		better |= taken;
	}
	vec_release(&all);
	return better;
}

/* Did another descent come through the state of the plan last replayed? */
static bool has_passed(refiner *rf)
{
	uint64_t h = evaluator_hash(crew_lead(rf->with));
	uint32_t id, it = index_first(&rf->passed, h);
	if (index_next(&rf->passed, h, &it, &id))
		return true;
	index_add(&rf->passed, h, rf->n_passed++);
	return false;
}

uint64_t refiner_improve(refiner *rf, plan *pl, refine_depth depth, uint64_t budget, int64_t *energy)
{
	int64_t now = replayed(rf, pl);
	refine_depth level = REFINE_ALIKE;
	rf->start = rf->used;
	rf->budget = rf->start + budget;
	rf->patience = budget / PATIENCE;
	while (level <= depth && rf->used < rf->budget && !crew_stops(rf->with)) {
		rf->n = 0;
		if (level == imitation(rf))
			list_imitated(rf, pl);
		if (level == REFINE_ALIKE) {
			list_exchanged(rf, pl);
			list_changed(rf, pl, true);
		} else if (level == REFINE_APART) {
			list_changed(rf, pl, false);
			list_spread(rf, pl);
			list_added(rf, pl);
		}
		bool better = level == REFINE_GROUPS ? regroup(rf, pl, &now) : change_decisions(rf, pl, level == REFINE_ALIKE, &now);
		level = better ? REFINE_ALIKE : level + 1;
		if (better && has_passed(rf)) {
			now = INT64_MAX;
			break;
		}
	}
	*energy = now;
	return rf->used - rf->start;
}

typedef struct sized_group {
	int64_t bytes;
	uint32_t group;
} sized_group;
static int by_bytes(const void *a, const void *b)
{
	const sized_group *x = a, *y = b;
	return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : x->group < y->group ? -1 : x->group > y->group;
}

static void sort_groups(refiner *rf)
{
	const problem *pb = rf->pb;
	sized_group *list = xcalloc(pb->n_groups + 1, sizeof *list);
	rf->groups = xmalloc((pb->n_groups + 1) * sizeof *rf->groups);
	for (uint32_t g = 0; g < pb->n_groups; g++) {
		list[g].group = g;
		for (uint32_t i = pb->group_first[g]; i < pb->group_first[g + 1]; i++)
			list[g].bytes = sat_add(list[g].bytes, pb->arg_bytes[pb->group_members[i]]);
	}
	qsort(list, pb->n_groups, sizeof *list, by_bytes);
	for (uint32_t g = 0; g < pb->n_groups; g++)
		rf->groups[g] = list[g].group;
	free(list);
}

typedef struct use {
	node_id first;
	uint32_t arg;
} use;
static int by_use(const void *a, const void *b)
{
	const use *x = a, *y = b;
	return x->first != y->first ? (x->first < y->first ? -1 : 1) : x->arg < y->arg ? -1 : x->arg > y->arg;
}

static void find_odd(refiner *rf)
{
	const problem *pb = rf->pb;
	const program *p = pb->p;
	node_id *first = xmalloc((pb->n_args + 1) * sizeof *first);
	use *members = xmalloc((pb->n_args + 1) * sizeof *members);
	memset(first, 0xff, pb->n_args * sizeof *first); /* ID_NONE: never */
	for (node_id n = p->nodes.n; n-- > 0;) {
		const node *nd = &p->nodes.p[n];
		const pval_id *slots = node_slots(p, nd);
		for (uint32_t i = 0; i < nd->n_operands; i++)
			if (p->vals.p[slots[i]].arg_index >= 0)
				first[p->vals.p[slots[i]].arg_index] = n;
	}
	rf->odd = xcalloc(pb->n_args + 1, sizeof *rf->odd);
	for (uint32_t g = 0; g < pb->n_groups; g++) {
		const uint32_t *args = &pb->group_members[pb->group_first[g]];
		uint32_t n = pb->group_first[g + 1] - pb->group_first[g];
		for (uint32_t i = 0; i < n; i++)
			members[i] = (use){first[args[i]], args[i]};
		qsort(members, n, sizeof *members, by_use);
		for (uint32_t i = 0; i < n; i++)
			rf->odd[members[i].arg] = i % 2;
	}
	for (uint32_t a = 0; a < pb->n_args; a++) /* state goes with its parameter */
		if (pb->param_of[a] != ID_NONE)
			rf->odd[a] = rf->odd[pb->param_of[a]];
	free(members);
	free(first);
}

refiner *refiner_new(const problem *pb, crew *with, arena *mem, const action_list *actions, refined *tell, void *user)
{
	refiner *rf = xcalloc(1, sizeof *rf);
	*rf = (refiner){.pb = pb, .with = with, .mem = mem, .actions = actions, .tell = tell, .user = user};
	rf->variants = xmalloc(MOST_VARIANTS * sizeof *rf->variants);
	rf->costs = xmalloc(MOST_VARIANTS * sizeof *rf->costs);
	rf->thinned = xmalloc(MOST_VARIANTS * sizeof *rf->thinned);
	for (uint32_t axis = 0; axis < pb->n_axes; axis++)
		if (axis_size(mesh_full_axis(pb->m->shardings, pb->mesh, axis)) > 1)
			rf->axes[rf->n_axes++] = axis;
	rf->targets = xmalloc((pb->n_args + 1) * sizeof *rf->targets);
	sort_groups(rf);
	find_odd(rf);
	index_init(&rf->passed);
	return rf;
}

void refiner_free(refiner *rf)
{
	if (!rf)
		return;
	index_release(&rf->passed);
	free(rf->targets);
	free(rf->groups);
	free(rf->odd);
	free(rf->variants);
	free(rf->costs);
	free(rf->thinned);
	free(rf);
}
