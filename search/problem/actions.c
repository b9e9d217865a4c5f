#include "search/problem/problem.h"

static const action_target *targets_copy(problem *pb, const action_target *t, uint32_t n)
{
	action_target *copy = arena_array(&pb->mem, action_target, n);
	if (n)
		memcpy(copy, t, n * sizeof *t);
	return copy;
}

static uint32_t log2_floor(int64_t v)
{
	uint32_t n = 0;
	while (v > 1) {
		v >>= 1;
		n++;
	}
	return n;
}

/* How often random moves pick a group's actions: by what the group holds, and which role tends to
 * decide run time. */
static uint32_t group_weight(const problem *pb, uint32_t g)
{
	static const uint32_t of_role[ROLE_COUNT] = {
		[ROLE_PARAMETER] = 3, [ROLE_STATE] = 1, [ROLE_DATA] = 6, [ROLE_OTHER] = 1};
	int64_t bytes = 0;
	for (uint32_t i = pb->group_first[g]; i < pb->group_first[g + 1]; i++)
		bytes = sat_add(bytes, pb->arg_bytes[pb->group_members[i]]);
	return of_role[pb->roles[pb->group_members[pb->group_first[g]]]] *
		(1 + log2_floor(MAX(bytes, 1)));
}

const char *const role_action_names[ROLE_ACTION_COUNT] = {
	[ROLE_ACTION_DATA_PARALLEL] = "data_parallel",
	[ROLE_ACTION_ZERO2] = "zero2",
	[ROLE_ACTION_ZERO3] = "zero3",
	[ROLE_ACTION_REPLICATE] = "replicate"};

role_action role_action_find(const char *name)
{
	role_action r = 0;
	while (r < ROLE_ACTION_COUNT && strcmp(name, role_action_names[r]))
		r++;
	return r;
}

void actions_make_roles(problem *pb)
{
	pb->role_actions = arena_array(&pb->mem, action, (size_t)ROLE_ACTION_COUNT * pb->n_axes);
	for (role_action r = 0; r < ROLE_ACTION_COUNT; r++)
		for (uint32_t axis = 0; axis < pb->n_axes; axis++)
			pb->role_actions[r * pb->n_axes + axis] = action_role(pb, r, axis, NULL);
}

const action *action_of_role(const problem *pb, role_action which, uint32_t axis)
{
	return &pb->role_actions[which * pb->n_axes + axis];
}

action action_role(problem *pb, role_action which, uint32_t axis, const bool *allowed)
{
	VEC(action_target) t = {0};
	bool data = which == ROLE_ACTION_DATA_PARALLEL, zero2 = which == ROLE_ACTION_ZERO2,
		 zero3 = which == ROLE_ACTION_ZERO3, keep = which == ROLE_ACTION_REPLICATE;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t a = 0; a < pb->n_args; a++) {
			if (pb->pinned[a] || (allowed && !allowed[a]) ||
				pval_type(pb->p, pb->p->args.p[a])->rank == 0)
				continue;
			role r = pb->roles[a];
			/* Parameters first, so that ZeRO-2 closes them before the state propagates. */
			if (pass == 0) {
				if (data && r == ROLE_DATA && pb->batch_dim[a] != ID_NONE)
					vec_push(&t, (action_target){a, pb->batch_dim[a]});
				else if (zero2 && r == ROLE_PARAMETER)
					vec_push(&t, (action_target){a, DIM_KEEP});
				else if (zero3 && r == ROLE_PARAMETER)
					vec_push(&t, (action_target){a, DIM_LARGEST});
				else if (keep)
					vec_push(&t, (action_target){a, DIM_KEEP});
			} else if ((zero2 || zero3) && r == ROLE_STATE) {
				vec_push(&t, (action_target){a, DIM_LARGEST});
			}
		}
	action made = {
		.kind = keep ? ACTION_REPLICATE : ACTION_PARTITION,
		.axis = axis,
		.group = ID_NONE,
		.dim = DIM_LARGEST,
		.weight = data ? 200 : 60,
		.on_role = true,
		.role = which,
		.targets = targets_copy(pb, t.p, t.n),
		.n_targets = t.n,
	};
	vec_release(&t);
	return made;
}

action action_manual(problem *pb, const uint32_t *args, uint32_t n, uint32_t dim, uint32_t axis)
{
	action_target *t = arena_array(&pb->mem, action_target, n);
	for (uint32_t i = 0; i < n; i++)
		t[i] = (action_target){args[i], dim};
	return (action){.kind = ACTION_PARTITION,
		.axis = axis,
		.group = ID_NONE,
		.dim = dim,
		.weight = 100,
		.targets = t,
		.n_targets = n};
}

action action_constrain(const action_target *targets, uint32_t n, uint32_t dim, uint32_t axis)
{
	return (action){.kind = ACTION_CONSTRAIN,
		.axis = axis,
		.group = ID_NONE,
		.dim = dim,
		.weight = 2,
		.targets = targets,
		.n_targets = n};
}

static void push_partitions(problem *pb, const uint32_t *members, uint32_t n, uint32_t group,
	uint32_t weight, uint32_t axis_mask, action_list *out)
{
	const int64_t *dims = problem_dims(pb, members[0]);
	uint32_t rank = pval_type(pb->p, pb->p->args.p[members[0]])->rank;
	for (uint32_t axis = 0; axis < pb->n_axes; axis++) {
		int64_t size = axis_size(mesh_full_axis(pb->m->shardings, pb->mesh, axis));
		if (!(axis_mask >> axis & 1) || size == 1)
			continue;
		for (uint32_t d = 0; d < rank; d++) {
			if (dims[d] < size || dims[d] % size != 0)
				continue;
			action_target *t = arena_array(&pb->mem, action_target, n);
			uint32_t taken = 0;
			for (uint32_t i = 0; i < n; i++)
				if (!problem_forbids(pb, members[i], d, axis))
					t[taken++] = (action_target){members[i], d};
			if (taken)
				vec_push(out,
					(action){.kind = ACTION_PARTITION,
						.axis = axis,
						.group = group,
						.dim = d,
						.weight = weight,
						.targets = t,
						.n_targets = taken});
		}
	}
}

/* Internal dims come last: most programs are decided by their arguments. */
static void push_constraints(problem *pb, uint32_t axis_mask, action_list *out)
{
	for (uint32_t axis = 0; axis < pb->n_axes; axis++) {
		int64_t size = axis_size(mesh_full_axis(pb->m->shardings, pb->mesh, axis));
		if (!(axis_mask >> axis & 1) || size == 1)
			continue;
		for (uint32_t k = 0; k < pb->n_activation_classes; k++) {
			const activation_class *sc = &pb->activation_classes[k];
			if (pval_type(pb->p, sc->targets[0].arg)->dims[sc->targets[0].dim] % size == 0)
				vec_push(out, action_constrain(sc->targets, sc->n, sc->targets[0].dim, axis));
		}
	}
}

void actions_make(problem *pb, uint32_t axis_mask, const bool *allowed, action_list *out)
{
	for (uint32_t axis = 0; axis < pb->n_axes; axis++) {
		if (!(axis_mask >> axis & 1) || !problem_axis_cuts(pb, axis))
			continue;
		for (role_action r = ROLE_ACTION_DATA_PARALLEL; r <= ROLE_ACTION_ZERO3; r++) {
			action a = allowed ? action_role(pb, r, axis, allowed) : *action_of_role(pb, r, axis);
			bool partitions = false;
			for (uint32_t i = 0; i < a.n_targets; i++)
				partitions |= a.targets[i].dim != DIM_KEEP;
			if (partitions)
				vec_push(out, a);
		}
	}
	uint32_t *members = arena_array(&pb->mem, uint32_t, pb->n_args + 1);
	for (uint32_t g = 0; g < pb->n_groups; g++) {
		uint32_t n = 0;
		for (uint32_t i = pb->group_first[g]; i < pb->group_first[g + 1]; i++)
			if (!allowed || allowed[pb->group_members[i]])
				members[n++] = pb->group_members[i];
		if (n == 0)
			continue;
		push_partitions(pb, members, n, g, group_weight(pb, g), axis_mask, out);
	}
	if (!allowed)
		push_constraints(pb, axis_mask, out);
}

void actions_split(problem *pb, uint32_t axis_mask, action_list *out)
{
	enum { MAX_SPLIT = 8 };
	for (uint32_t g = 0; g < pb->n_groups; g++) {
		uint32_t n = pb->group_first[g + 1] - pb->group_first[g];
		if (n < 2 || n > MAX_SPLIT || pb->given[pb->group_members[pb->group_first[g]]] != ID_NONE)
			continue;
		for (uint32_t i = pb->group_first[g]; i < pb->group_first[g + 1]; i++)
			push_partitions(pb, &pb->group_members[i], 1, g, 1, axis_mask, out);
	}
}

void scope_init(scope *s, problem *pb, uint32_t axis_mask, const bool *allowed)
{
	*s = (scope){.axis_mask = axis_mask, .n_axes = pb->n_axes, .roles = pb->role_actions};
	actions_make(pb, axis_mask, allowed, &s->actions);
	for (uint32_t i = 0; i < s->actions.n; i++)
		vec_push(&s->sampled, s->actions.p[i]);
	if (!allowed) {
		actions_split(pb, axis_mask, &s->sampled);
		return;
	}
	s->roles = arena_array(&pb->mem, action, (size_t)ROLE_ACTION_COUNT * pb->n_axes);
	for (role_action r = 0; r < ROLE_ACTION_COUNT; r++)
		for (uint32_t axis = 0; axis < pb->n_axes; axis++)
			s->roles[r * pb->n_axes + axis] = action_role(pb, r, axis, allowed);
}

void scope_release(scope *s)
{
	vec_release(&s->actions);
	vec_release(&s->sampled);
}
