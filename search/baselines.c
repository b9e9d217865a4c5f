/* The baselines every answer is compared with, as plans of role actions. */
#include "search/internal.h"

static void add(const problem *pb, plan *pl, role_action which, uint32_t axis)
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
		add(pb, out, ROLE_ACTION_DATA_PARALLEL, axis);
	for (uint32_t axis = 0; axis < last && (zero == ROLE_ACTION_ZERO2 || zero == ROLE_ACTION_ZERO3); axis++)
		add(pb, out, zero, axis);
}
