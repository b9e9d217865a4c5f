/* What dataflow says about main's arguments: which result carries each one to the next step, and
 * which role it plays. */
#include "search/problem/roles.h"

#include <stdlib.h>

const char *role_name(role r)
{
	static const char *const names[ROLE_COUNT] = {[ROLE_PARAMETER] = "parameter",
		[ROLE_STATE] = "state",
		[ROLE_DATA] = "data",
		[ROLE_OTHER] = "other"};
	return names[r];
}

typedef struct state_search {
	problem *pb;
	uint32_t parameter;
} state_search;

static void add_state(void *user, uint32_t arg, uint32_t distance)
{
	state_search *ss = user;
	(void)distance;
	if (ss->pb->roles[arg] == ROLE_STATE)
		ss->pb->param_of[arg] = ss->parameter;
}

/* What the new value of a parameter is made of elementwise is its state. */
static void find_states(problem *pb)
{
	const program *p = pb->p;
	uint32_t *seen = xcalloc(p->vals.n, sizeof *seen), *dist = xmalloc(p->vals.n * sizeof *dist);
	pval_id *queue = xmalloc(p->vals.n * sizeof *queue);
	for (uint32_t a = 0; a < pb->n_args; a++)
		pb->param_of[a] = ID_NONE;
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (pb->roles[a] == ROLE_PARAMETER && pb->result_of_arg[a] >= 0)
			nearest_arguments(p, p->returned.p[pb->result_of_arg[a]], pval_type(p, p->args.p[a]),
				seen, a + 1, queue, dist, add_state, &(state_search){pb, a});
	free(seen);
	free(dist);
	free(queue);
}

/* Moments that the update uses as a whole: norms of them, means of their rows, products, roots.
 * What goes into the parameter is made of the new value then, and the old one is only ever updated
 * to become that. A cache of keys is as well: data is found first. */
static void find_moments(problem *pb)
{
	const program *p = pb->p;
	uint32_t *seen = xcalloc(p->vals.n, sizeof *seen),
			 *replaced = xcalloc(p->vals.n, sizeof *replaced);
	uint32_t *arg_of_result = xmalloc((pb->n_results + 1) * sizeof *arg_of_result);
	pval_id *stack = xmalloc(p->vals.n * sizeof *stack);
	for (uint32_t r = 0; r < pb->n_results; r++)
		arg_of_result[r] = ID_NONE;
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (pb->result_of_arg[a] >= 0)
			arg_of_result[pb->result_of_arg[a]] = a;
	for (uint32_t a = 0; a < pb->n_args; a++) {
		if (pb->roles[a] != ROLE_PARAMETER || pb->result_of_arg[a] < 0)
			continue;
		mark_replacements(pb, a, replaced, a + 1, stack);
		if (only_replaced(p, p->args.p[a], replaced, seen, a + 1, stack))
			pb->roles[a] = ROLE_STATE;
	}
	find_states(pb);
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (pb->roles[a] == ROLE_STATE && pb->param_of[a] == ID_NONE)
			pb->param_of[a] =
				parameter_made_of(pb, p->args.p[a], arg_of_result, seen, pb->n_args + a + 1, stack);
	find_owned(pb, arg_of_result);
	free(seen);
	free(replaced);
	free(arg_of_result);
	free(stack);
}

void problem_find_roles(problem *pb)
{
	const program *p = pb->p;
	pb->pairing = "none";
	for (uint32_t a = 0; a < pb->n_args; a++) {
		pb->batch_dim[a] = ID_NONE;
		pb->result_of_arg[a] = pb->dn.result_of_arg[a] >= 0 ? pb->dn.result_of_arg[a] : -1;
		if (pb->result_of_arg[a] >= 0)
			pb->pairing = "donation";
	}
	if (!strcmp(pb->pairing, "none"))
		roles_pair_by_dataflow(pb);

	bool any_carried = false, any_data = false;
	for (uint32_t a = 0; a < pb->n_args; a++)
		any_carried |= pb->result_of_arg[a] >= 0;
	uint32_t *seen = xcalloc(p->vals.n, sizeof *seen);
	pval_id *stack = xmalloc(p->vals.n * sizeof *stack);
	for (uint32_t a = 0; a < pb->n_args; a++) {
		const ir_type *ty = pval_type(p, p->args.p[a]);
		if (ty->rank == 0 || ty->elements == 0)
			pb->roles[a] = ROLE_OTHER;
		else if (pb->result_of_arg[a] >= 0)
			pb->roles[a] =
				only_updated(p, p->args.p[a], seen, a + 1, stack) ? ROLE_STATE : ROLE_PARAMETER;
		else
			pb->roles[a] = is_numeric(ty) ? ROLE_PARAMETER : ROLE_OTHER;
	}
	free(seen);
	free(stack);
	find_data(pb, any_carried);
	find_moments(pb);
	for (uint32_t a = 0; a < pb->n_args; a++)
		any_data |= pb->roles[a] == ROLE_DATA;
	if (!any_data)
		guess_data(pb);
}

status search_roles(const module *m, role *out, diag *d)
{
	problem pb = {0};
	rule_table_init(&pb.rules);
	pb.m = module_clone(m);
	status s = passes_import(pb.m, false, d);
	if (s == ST_OK)
		s = program_new(pb.m, &pb.rules, READ_AS_XLA, &pb.p, d);
	if (s == ST_OK)
		s = donation_read(pb.m, &pb.dn, d);
	if (s == ST_OK) {
		pb.n_args = pb.p->args.n;
		pb.n_results = pb.p->results.n;
		pb.roles = arena_zarray(&pb.mem, role, pb.n_args + 1);
		pb.result_of_arg = arena_array(&pb.mem, int32_t, pb.n_args + 1);
		pb.batch_dim = arena_array(&pb.mem, uint32_t, pb.n_args + 1);
		pb.param_of = arena_array(&pb.mem, uint32_t, pb.n_args + 1);
		problem_find_roles(&pb);
		memcpy(out, pb.roles, pb.n_args * sizeof *out);
	}
	problem_forget(&pb);
	return s;
}
