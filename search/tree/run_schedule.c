/* The tactics of a schedule, one after the other, and how a budget is shared between them. */
#include "search/tree/runner.h"

/* Is the axis on that dim already, by a decision or by propagation? */
static bool has_axis(const runner *r, sharding_id id, uint32_t dim, uint32_t axis)
{
	const sharding_table *t = r->pb.m->shardings;
	axes a = id == SHARDING_NONE ? (axes){0} : sharding_dim(sharding_get(t, id), dim);
	for (uint32_t i = 0; i < a.n; i++)
		if (a.a[i] == mesh_full_axis(t, r->pb.mesh, axis))
			return true;
	return false;
}

/* The name of the first argument or value of the tactic that does not have the axis; nothing is
 * appended where all have it. */
static void first_without(runner *r, const tactic *tc, strbuf *name)
{
	for (uint32_t i = 0; i < tc->n_values; i++)
		if (!has_axis(
				r, evaluator_value(r->ev[0], tc->values[i].arg), tc->values[i].dim, tc->axis)) {
			strbuf_puts(name, "the value at ");
			loc_print(r->pb.m,
				op_at(r->pb.m, r->pb.p->nodes.p[r->pb.p->vals.p[tc->values[i].arg].def].op)->loc,
				name);
			return;
		}
	for (uint32_t i = 0; i < tc->n_args && !tc->values; i++)
		if (!has_axis(r, evaluator_arg(r->ev[0], tc->args[i]), tc->dimension, tc->axis)) {
			module_arg_name(r->base, tc->args[i], name);
			return;
		}
}

/* What a manual tactic asks for and none of its arguments can take; none of it is an error where it
 * is so already. */
static status refuse_manual(runner *r, const tactic *tc, diag *d)
{
	strbuf name = {0};
	first_without(r, tc, &name);
	if (!name.n)
		return ST_OK;
	str axis = strtab_get(
		&r->pb.m->shardings->names, r->pb.m->shardings->meshes.p[r->pb.mesh].axis_names[tc->axis]);
	status s = diag_set(d, ST_ERR_INVALID,
		"schedule: tactics[%u]: manual: cannot shard dimension %u of %s over '" STR_FMT
		"': the axis is in use there, pinned, or does not divide it",
		(uint32_t)(tc - r->tactics.p), tc->values ? tc->values->dim : tc->dimension, name.p,
		STR_ARG(axis));
	strbuf_release(&name);
	return s;
}

/* Adds one fixed decision to the plan. */
static status run_fixed(runner *r, const tactic *tc, diag *d)
{
	action a = tc->values ? action_constrain(tc->values, tc->n_values, tc->values->dim, tc->axis)
		: tc->kind == TACTIC_MANUAL
		? action_manual(&r->pb, tc->args, tc->n_args, tc->dimension, tc->axis)
		: action_role(&r->pb, tc->role, tc->axis, tc->allowed);
	plan *pl = &r->plan;
	a.fixed = FIXED_BY_USER;
	/* What came before does not have this decision: the schedule's word counts more than a better
	 * answer without it. */
	r->best_score = (score){false, INT64_MAX, INT64_MAX};
	r->n_tried = 0;
	r->first_candidate = r->candidates.n;
	r->frontier.points.n = 0;
	evaluator_run(r->ev[0], pl, NULL);
	bool can = evaluator_can(r->ev[0], &a);
	if (tc->kind == TACTIC_MANUAL && !can)
		TRY(refuse_manual(r, tc, d));
	r->n_manual += can && !a.on_role;
	if (can)
		plan_insert(pl, pl->n, &a, tc->title);
	r->out->evaluations++;
	return runner_try(r, pl, tc->title, d);
}

/* Without a budget: enough for large programs, and for small ones as many as take about a second.
 * An evaluation's time follows the nodes of the program that is costed: the folded one, or all of
 * it where nothing folds, or too little to cost from. What takes some nine seconds is the most, of
 * which reading the program and preparing the search take as much as a hundred evaluations of all
 * of it. */
static uint64_t default_evaluations(const problem *pb)
{
	bool folded = pb->fold && !pb->costs_whole;
	uint64_t whole = MAX(pb->p->nodes.n, 1u),
			 nodes = folded ? MAX(pb->fold->p->nodes.n, 1u) : whole;
	uint64_t wanted = MIN(MAX(BUDGET_NODES / nodes, (uint64_t)LEAST_BUDGET), (uint64_t)MOST_BUDGET),
			 left = ALL_NODES - MIN((uint64_t)ALL_NODES, PREPARING * whole);
	return MIN(folded ? wanted : (uint64_t)MOST_BUDGET, MAX(left / nodes, (uint64_t)LEAST_OF_ALL));
}

static bool searches(const tactic *tc)
{
	return tc->kind == TACTIC_AUTO || tc->kind == TACTIC_POLISH;
}

/* What the budget has left after tactics that name their own is shared evenly between the others.
 */
status runner_schedule(runner *r, diag *d)
{
	const search_options *o = r->user;
	uint64_t total = o->evaluations ? o->evaluations
		: o->time_limit_ns          ? UINT64_MAX / 4
									: default_evaluations(&r->pb),
			 own = 0;
	uint32_t shares = 0;
	for (uint32_t i = 0; i < r->tactics.n; i++) {
		own += r->tactics.p[i].evaluations;
		shares += searches(&r->tactics.p[i]) && !r->tactics.p[i].evaluations;
	}
	for (uint32_t i = 0; i < r->tactics.n; i++) {
		const tactic *tc = &r->tactics.p[i];
		/* Time left is shared evenly between the tactics left; what one does not use goes to the
		 * next, as evaluations do. */
		int64_t now = runner_elapsed(r);
		r->deadline_ns = !o->time_limit_ns ? 0
			: now < o->time_limit_ns       ? now + (o->time_limit_ns - now) / (r->tactics.n - i)
										   : now;
		own -= tc->evaluations;
		if (!searches(tc)) {
			TRY(run_fixed(r, tc, d));
		} else if (!runner_stops(r)) {
			uint64_t left = total - MIN(total, own + r->out->evaluations);
			uint64_t budget = tc->evaluations ? tc->evaluations : left / shares;
			shares -= !tc->evaluations;
			if (budget)
				TRY(runner_search(r, tc, budget, d));
		}
	}
	bool searched = r->tactics.n && searches(&r->tactics.p[r->tactics.n - 1]);
	r->may_be_simpler = searched && total > WORTH_SIMPLIFYING;
	return r->may_be_simpler && !runner_stops(r) ? runner_simplify(r, d) : ST_OK;
}
