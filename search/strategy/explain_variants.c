/* Variants of a strategy that is explained: by its decisions, where deciding the document's actions
 * again gives the same; else by its shardings. */
#include "search/strategy/explain.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- by shardings */

static void set_argument(explainer *x, strategy *t, uint32_t arg, sharding_id id)
{
	int32_t r = x->pb.result_of_arg[arg];
	/* A result that was given its argument's sharding goes with it. */
	if (r >= 0 && t->results[r] != SHARDING_NONE && t->results[r] == t->args[arg])
		t->results[r] = id;
	t->args[arg] = id;
}

static bool drop_axis(sharding_edit *e, uint32_t dim, uint32_t axis)
{
	axes_buf *l = &e->dims[dim].axes;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < l->n; i++)
		if (axis_index(l->a[i]) != axis)
			l->a[kept++] = l->a[i];
	bool dropped = kept < l->n;
	l->n = kept;
	return dropped;
}

static bool among(axes l, uint32_t axis)
{
	for (uint32_t i = 0; i < l.n; i++)
		if (axis_index(l.a[i]) == axis)
			return true;
	return false;
}

static bool uses_axis(const sharding_edit *e, uint32_t axis)
{
	bool used = among(axes_of(&e->replicated), axis) || among(axes_of(&e->unreduced), axis);
	for (uint32_t d = 0; d < e->rank; d++)
		used |= among(axes_of(&e->dims[d].axes), axis);
	return used;
}

/* Without the decision: its axis leaves the members, and propagation may do there as it likes. */
static void take_away(explainer *x, const decision *dc, strategy *t)
{
	strategy_copy(t, x->s);
	sharding_table *table = x->pb.m->shardings;
	sharding_edit e;
	for (uint32_t i = 0; i < dc->n; i++) {
		sharding_to_edit(table, t->args[dc->members[i]], &e);
		if (dc->kind == ACTION_PARTITION)
			drop_axis(&e, dc->dim, dc->axis);
		bool any = false;
		for (uint32_t d = 0; d < e.rank; d++) {
			any |= e.dims[d].axes.n > 0;
			e.dims[d].closed = false;
		}
		set_argument(x, t, dc->members[i], any ? sharding_intern(table, &e) : SHARDING_NONE);
	}
}

/* Another decision for the same members; the number of members that can take it. */
static uint32_t decide_otherwise(
	explainer *x, const decision *dc, const decision *other, strategy *t)
{
	strategy_copy(t, x->s);
	sharding_table *table = x->pb.m->shardings;
	sharding_edit e;
	uint32_t taken = 0;
	for (uint32_t i = 0; i < dc->n; i++) {
		uint32_t arg = dc->members[i];
		const ir_type *ty = pval_type(x->pb.p, x->pb.p->args.p[arg]);
		sharding_to_edit(table, t->args[arg], &e);
		int16_t priority = -1;
		if (dc->kind == ACTION_PARTITION) {
			priority = e.dims[dc->dim].priority;
			drop_axis(&e, dc->dim, dc->axis);
			if (!e.dims[dc->dim].axes.n)
				e.dims[dc->dim].priority = -1;
		}
		if (other->kind == ACTION_PARTITION) {
			axis_ref axis = mesh_full_axis(table, x->pb.mesh, other->axis);
			if (other->dim >= e.rank || uses_axis(&e, other->axis) ||
				ty->dims[other->dim] %
						(axes_product(axes_of(&e.dims[other->dim].axes)) * axis_size(axis)) !=
					0)
				continue;
			if (!e.dims[other->dim].axes.n)
				e.dims[other->dim].priority = priority;
			axes_push_merge(&e.dims[other->dim].axes, axis);
		}
		for (uint32_t d = 0; d < e.rank; d++)
			e.dims[d].closed = true;
		set_argument(x, t, arg, sharding_intern(table, &e));
		taken++;
	}
	return taken;
}

/* ---------------------------------------------------------------- by decisions */

/* One action with the arguments of some decisions as targets. */
static action as_action(explainer *x, const decision *const *of, uint32_t n)
{
	uint32_t total = 0, at = 0;
	for (uint32_t k = 0; k < n; k++)
		total += of[k]->n;
	action_target *targets = arena_array(&x->mem, action_target, total);
	action a = {.kind = ACTION_REPLICATE,
		.axis = of[0]->axis,
		.group = ID_NONE,
		.dim = of[0]->dim,
		.weight = 1,
		.targets = targets,
		.n_targets = total};
	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t i = 0; i < of[k]->n; i++) {
			uint32_t member = of[k]->members[i];
			targets[at++] = (action_target){of[k]->inner ? x->site[member] : member,
				of[k]->kind == ACTION_REPLICATE ? DIM_KEEP : of[k]->dim};
		}
		if (of[k]->inner || of[k]->kind != ACTION_REPLICATE)
			a.kind = of[k]->inner ? ACTION_CONSTRAIN : of[k]->kind;
		if (of[k]->inner)
			a.fixed =
				FIXED_BY_USER; /* as the search that made the document, or its schedule, had it */
	}
	return a;
}

static void push(plan *pl, action a)
{
	if (pl->n == MAX_PLAN)
		return;
	pl->decisions[pl->n] = a;
	pl->tactics[pl->n++] = "explain";
}

/* A step of the plan without one of its decisions. */
static void push_step(explainer *x, uint32_t step, uint32_t without, plan *pl)
{
	const decision *of[MAX_RANK + 1]; /* one per dimension, one for those kept whole */
	uint32_t n = 0;
	for (uint32_t k = 0; k < x->decisions.n && n < COUNT_OF(of); k++)
		if (x->decisions.p[k].step == step && k != without)
			of[n++] = &x->decisions.p[k];
	if (n)
		push(pl, as_action(x, of, n));
}

/* What the search would say of the plan. */
static void export_plan(explainer *x, plan *pl, strategy *t)
{
	cost c;
	bool allowed;
	goal g = goal_of_answer(&x->pb);
	evaluator_run(x->ev, pl, NULL);
	evaluator_replay(x->ev, &g, &c, &allowed); /* chooses priorities */
	evaluator_strategy(x->ev, pl, t);
}

/* The strategy of the plan without decision i, or with another one in its place; how many members
 * that one changed. */
static uint32_t replan(explainer *x, uint32_t i, const decision *other, strategy *t)
{
	const decision *dc = &x->decisions.p[i];
	plan *pl = xcalloc(1, sizeof *pl);
	const action_target *targets;
	uint32_t taken = 0;
	for (uint32_t step = 0; step < x->base.n; step++) {
		if (step != dc->step) {
			push(pl, x->base.decisions[step]);
			continue;
		}
		push_step(x, step, i, pl);
		if (!other)
			continue;
		decision same_members = *other;
		same_members.members = dc->members;
		same_members.n = dc->n;
		same_members.inner = dc->inner;
		const decision *of[] = {&same_members};
		action a = as_action(x, of, 1);
		push(pl, a);
		evaluator_run(x->ev, pl, NULL);
		if (pl->n && pl->decisions[pl->n - 1].targets == a.targets)
			taken = evaluator_targets(x->ev, pl->n - 1, &targets);
		if (!taken)
			break;
	}
	if (taken || !other)
		export_plan(x, pl, t);
	free(pl);
	return taken;
}

/* The inner values that decisions name are found in the program. Is there a counterpart of each,
 * and has each decision something to decide? */
static bool give_sites(explainer *x)
{
	const strategy *s = x->s;
	bool usable = s->n_actions, *decided = arena_zarray(&x->mem, bool, s->n_constraints + 1);
	for (uint32_t i = 0; i < s->n_actions; i++)
		for (uint32_t k = 0; k < s->actions[i].n_sites; k++)
			decided[s->actions[i].sites[k]] = true;
	x->site = arena_array(&x->mem, pval_id, s->n_constraints + 1);
	for (uint32_t i = 0; i < s->n_constraints; i++) {
		action_target given = {ID_NONE, 0};
		if (!decided[i]) /* a replay holds it, which costs as much or is not this plan's */
			continue;
		x->site[i] = given.arg = str_equal(s->constraints[i].function, STR("main"))
			? problem_site(&x->pb, s->constraints[i].op, s->constraints[i].result)
			: ID_NONE;
		usable = usable && x->site[i] != ID_NONE;
		if (usable)
			problem_give_sites(&x->pb, &given, 1);
	}
	for (uint32_t i = 0; i < s->n_actions && usable; i++)
		usable = s->actions[i].n_sites || s->actions[i].n_members;
	return usable;
}

status explain_plan(explainer *x, module *m)
{
	strategy t;
	cost c;
	bool allowed;
	const strategy *s = x->s;
	if (!give_sites(x))
		return ST_OK;
	uint32_t steps = 0;
	for (uint32_t i = 0; i < s->n_actions; i++) {
		const strategy_action *a = &s->actions[i];
		bool inner = a->n_sites;
		decision dc = {.tactic = a->tactic,
			.kind = a->kind,
			.inner = inner,
			.dim = a->dimension,
			.axis = a->axis,
			.n = inner ? a->n_sites : a->n_members};
		steps += i == 0 || a->step != a[-1].step || a->axis != a[-1].axis;
		dc.step = steps - 1;
		dc.members = arena_array(&x->mem, uint32_t, dc.n);
		memcpy(dc.members, inner ? a->sites : a->members, dc.n * sizeof *dc.members);
		vec_push(&x->decisions, dc);
	}
	for (uint32_t step = 0; step < steps; step++)
		push_step(x, step, ID_NONE, &x->base);
	x->ev = evaluator_new(&x->pb);
	evaluator_run(x->ev, &x->base, NULL);
	bool same = x->base.n == steps;
	status st = ST_OK;
	if (same) {
		export_plan(x, &x->base, &t);
		st = replay_applied(&x->pb, m, &t, &c, &allowed, NULL, x->d);
		same =
			st == ST_OK && c.runtime_ns == x->cost.runtime_ns && c.peak_bytes == x->cost.peak_bytes;
		strategy_release(&t);
	}
	if (!same) {
		evaluator_free(x->ev);
		x->ev = NULL;
		x->decisions.n = 0;
	}
	return st;
}

uint32_t explain_variant(explainer *x, uint32_t i, const decision *other, strategy *out)
{
	const decision *dc = &x->decisions.p[i];
	if (x->ev)
		return replan(x, i, other, out);
	if (other)
		return decide_otherwise(x, dc, other, out);
	take_away(x, dc, out);
	return 0;
}
