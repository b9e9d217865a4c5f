/* Decision lists: what the parts of the search that write whole plans do with them. */
#include "search/evaluate/evaluate.h"

void plan_insert(plan *pl, uint32_t at, const action *a, const char *tactic)
{
	if (pl->n == MAX_PLAN)
		return;
	memmove(&pl->decisions[at + 1], &pl->decisions[at], (pl->n - at) * sizeof *pl->decisions);
	memmove(&pl->tactics[at + 1], &pl->tactics[at], (pl->n - at) * sizeof *pl->tactics);
	pl->n++;
	pl->decisions[at] = *a;
	pl->tactics[at] = tactic;
}

uint32_t plan_first_free(const plan *pl)
{
	uint32_t first = 0;
	while (first < pl->n && pl->decisions[first].fixed)
		first++;
	return first;
}

uint32_t plan_manual(const plan *pl, fixed_by least)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < pl->n; i++)
		n += pl->decisions[i].fixed >= least && !pl->decisions[i].on_role;
	return n;
}

void plan_keep(const plan *kept, plan *pl)
{
	uint32_t first = plan_first_free(kept), in_front = 0, fixed = 0;
	for (uint32_t i = 0; i < kept->n; i++)
		fixed += kept->decisions[i].fixed != NOT_FIXED;
	pl->n = MIN(pl->n, MAX_PLAN - fixed);
	for (uint32_t i = 0; i < kept->n; i++)
		if (kept->decisions[i].fixed)
			plan_insert(pl, i < first || !kept->decisions[i].on_role ? in_front++ : pl->n,
				&kept->decisions[i], kept->tactics[i]);
}

void plan_drop(plan *pl, uint32_t at)
{
	pl->n--;
	memmove(&pl->decisions[at], &pl->decisions[at + 1], (pl->n - at) * sizeof *pl->decisions);
	memmove(&pl->tactics[at], &pl->tactics[at + 1], (pl->n - at) * sizeof *pl->tactics);
}

void plan_move(plan *pl, uint32_t at, uint32_t to)
{
	const action a = pl->decisions[at];
	const char *tactic = pl->tactics[at];
	plan_drop(pl, at);
	plan_insert(pl, to, &a, tactic);
}

uint32_t plan_zero_at(const plan *pl)
{
	uint32_t at = 0;
	while (at < pl->n &&
		!(pl->decisions[at].on_role &&
			(pl->decisions[at].role == ROLE_ACTION_ZERO2 ||
				pl->decisions[at].role == ROLE_ACTION_ZERO3)))
		at++;
	return at;
}

action action_on_axis(const scope *of, const action *a, uint32_t axis)
{
	action moved = *a;
	if (a->on_role)
		return *scope_role(of, a->role, axis);
	moved.axis = axis;
	moved.fixed = NOT_FIXED; /* nobody asked for that one */
	return moved;
}

void plan_exchange_axes(const scope *of, plan *pl, uint32_t axis, uint32_t other, uint32_t group)
{
	for (uint32_t i = 0; i < pl->n; i++) {
		uint32_t has = pl->decisions[i].axis;
		if (!pl->decisions[i].fixed && (has == axis || has == other) &&
			(group == ID_NONE || pl->decisions[i].group == group))
			pl->decisions[i] = action_on_axis(of, &pl->decisions[i], has == axis ? other : axis);
	}
}

void plan_clear_axis(plan *pl, uint32_t axis)
{
	for (uint32_t i = pl->n; i-- > 0;)
		if (pl->decisions[i].axis == axis && !pl->decisions[i].fixed)
			plan_drop(pl, i);
}

void plan_imitate_axis(const scope *of, plan *pl, uint32_t axis, uint32_t other)
{
	plan_clear_axis(pl, axis);
	for (uint32_t i = 0; i < pl->n; i++)
		if (pl->decisions[i].axis == other) {
			action a = action_on_axis(of, &pl->decisions[i], axis);
			plan_insert(pl, i + 1, &a, pl->tactics[i]);
			i++;
		}
}

static bool same_targets(const action *a, const action *b)
{
	return a->n_targets == b->n_targets &&
		(a->targets == b->targets ||
			!memcmp(a->targets, b->targets, a->n_targets * sizeof *a->targets));
}

bool action_is_twin(const action *a, const action *b)
{
	return a->axis != b->axis && a->kind == b->kind && a->on_role == b->on_role &&
		(!a->on_role || a->role == b->role) && !b->fixed && same_targets(a, b);
}

static int compare(int64_t a, int64_t b) { return a < b ? -1 : a > b; }

int plan_compare(const plan *a, const plan *b)
{
	int c = compare(a->n, b->n);
	for (uint32_t i = 0; i < a->n && !c; i++) {
		const action *x = &a->decisions[i], *y = &b->decisions[i];
		if (!(c = compare(x->axis, y->axis)) && !(c = compare(x->kind, y->kind)))
			c = compare(x->n_targets, y->n_targets);
		for (uint32_t k = 0; k < x->n_targets && !c; k++)
			if (!(c = compare(x->targets[k].arg, y->targets[k].arg)))
				c = compare(x->targets[k].dim, y->targets[k].dim);
	}
	return c;
}

bool action_same(const action *a, const action *b)
{
	return a->axis == b->axis && a->kind == b->kind && action_holds(a) == action_holds(b) &&
		same_targets(a, b);
}

bool plan_same(const plan *a, const plan *b)
{
	bool same = a->n == b->n;
	for (uint32_t i = 0; i < a->n && same; i++)
		same = a->decisions[i].axis == b->decisions[i].axis &&
			same_targets(&a->decisions[i], &b->decisions[i]);
	return same;
}

bool plan_leave_out(const problem *pb, arena *mem, plan *pl, uint32_t at, uint32_t group)
{
	action *a = &pl->decisions[at];
	if (a->group != ID_NONE || a->kind == ACTION_CONSTRAIN)
		return false;
	uint32_t n = 0;
	for (uint32_t i = 0; i < a->n_targets; i++)
		n += pb->group_of[a->targets[i].arg] != group;
	if (!n || n == a->n_targets)
		return false;
	action_target *left = arena_array(mem, action_target, n);
	n = 0;
	for (uint32_t i = 0; i < a->n_targets; i++)
		if (pb->group_of[a->targets[i].arg] != group)
			left[n++] = a->targets[i];
	if (a->on_role)
		pl->tactics[at] = role_action_names[a->role];
	a->targets = left;
	a->n_targets = n;
	a->on_role = false;
	return true;
}

bool plan_exchange_zero(const problem *pb, arena *mem, plan *pl, uint32_t at, uint32_t group)
{
	action *a = &pl->decisions[at];
	bool changed = false, has_state = false;
	if (a->group != ID_NONE || a->kind != ACTION_PARTITION)
		return false;
	action_target *t = arena_array(mem, action_target, a->n_targets);
	for (uint32_t i = 0; i < a->n_targets; i++) {
		t[i] = a->targets[i];
		has_state |= pb->roles[t[i].arg] == ROLE_STATE;
		if (pb->group_of[t[i].arg] != group || pb->roles[t[i].arg] != ROLE_PARAMETER)
			continue;
		t[i].dim = t[i].dim == DIM_KEEP ? DIM_LARGEST : DIM_KEEP;
		changed = true;
	}
	if (!changed || !has_state)
		return false;
	if (a->on_role)
		pl->tactics[at] = role_action_names[a->role];
	a->targets = t;
	a->on_role = false;
	return true;
}

void plan_clear_group(const problem *pb, arena *mem, plan *pl, uint32_t group, uint32_t axis_mask)
{
	for (uint32_t i = pl->n; i-- > 0;) {
		const action *d = &pl->decisions[i];
		if (d->fixed || d->kind == ACTION_CONSTRAIN || !(axis_mask >> d->axis & 1))
			continue;
		if (d->group == group ||
			(!plan_leave_out(pb, mem, pl, i, group) && pb->group_of[d->targets[0].arg] == group))
			plan_drop(pl, i);
	}
}

/* ---------------------------------------------------------------- baselines */

static void add_role(const problem *pb, plan *pl, role_action which, uint32_t axis)
{
	if (pl->n == MAX_PLAN || !problem_axis_cuts(pb, axis))
		return;
	pl->decisions[pl->n] = *action_of_role(pb, which, axis);
	pl->tactics[pl->n++] = role_action_names[which];
}

void baseline_plan(const problem *pb, const char *name, plan *out)
{
	out->n = 0;
	if (!strcmp(name, "replicated"))
		return;
	bool one_axis = !strcmp(name, "data_parallel_first_axis");
	role_action zero = role_action_find(name);
	uint32_t last = one_axis && pb->n_axes ? 1 : pb->n_axes;
	for (uint32_t axis = 0; axis < last; axis++)
		add_role(pb, out, ROLE_ACTION_DATA_PARALLEL, axis);
	for (uint32_t axis = 0; axis < last && (zero == ROLE_ACTION_ZERO2 || zero == ROLE_ACTION_ZERO3);
		 axis++)
		add_role(pb, out, zero, axis);
}
