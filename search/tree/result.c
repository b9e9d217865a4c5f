/* What the answer is reported with: its decisions and what each brought, unsupported ops, facts
 * about the search. */
#include "search/tree/runner.h"
#include "search/tree/warm.h"

#include <cjson/cJSON.h>

typedef VEC(strategy_action) action_rows;

/* A decision on inner values. of: its axis, step and what it brought. */
static void add_constraint(
	runner *r, const action *a, const char *title, strategy_action of, action_rows *rows)
{
	strategy *s = &r->out->best;
	of.tactic = copy_str(&s->mem, str_of(title));
	of.kind = a->dim == DIM_KEEP ? ACTION_REPLICATE : ACTION_CONSTRAIN;
	of.dimension = a->dim == DIM_KEEP ? 0 : a->dim;
	of.sites = evaluator_sites(r->ev[0], of.step, &s->mem, &of.n_sites);
	vec_push(rows, of);
}

/* A decision on arguments. One on a whole role chose its dimensions one by one: one row per
 * dimension, of which the first carries what it brought. */
static void add_partitions(
	runner *r, const action *a, const char *title, strategy_action of, action_rows *rows)
{
	strategy *s = &r->out->best;
	const action_target *targets;
	uint32_t n = evaluator_targets(r->ev[0], of.step, &targets);
	for (uint32_t dim = 0; dim <= DIM_KEEP; dim++) {
		uint32_t *members = arena_array(&s->mem, uint32_t, n), k = 0;
		for (uint32_t t = 0; t < n; t++)
			if (targets[t].dim == dim)
				members[k++] = targets[t].arg;
		if (!k)
			continue;
		of.tactic = copy_str(&s->mem, str_of(a->on_role ? role_action_names[a->role] : title));
		of.kind = dim == DIM_KEEP ? ACTION_REPLICATE : ACTION_PARTITION;
		of.dimension = dim == DIM_KEEP ? 0 : dim;
		of.members = members;
		of.n_members = k;
		vec_push(rows, of);
		of.delta_runtime_ns = of.delta_peak_bytes = 0;
	}
}

static void fill_actions(runner *r)
{
	strategy *s = &r->out->best;
	const plan *pl = r->answer->pl;
	if (!pl)
		return;
	evaluator *ev = r->ev[0];
	cost before, after;
	action_rows rows = {0};
	evaluator_undo(ev, 0);
	evaluator_cost(ev, &before);
	uint32_t steps = 0;
	for (uint32_t i = 0; i < pl->n; i++) {
		const action *a = &pl->decisions[i];
		if (!evaluator_decide(ev, a))
			continue;
		evaluator_cost(ev, &after);
		strategy_action of = {.axis = a->axis,
			.step = steps++,
			.delta_runtime_ns = after.runtime_ns - before.runtime_ns,
			.delta_peak_bytes = after.peak_bytes - before.peak_bytes};
		if (a->kind == ACTION_CONSTRAIN)
			add_constraint(r, a, pl->tactics[i], of, &rows);
		else
			add_partitions(r, a, pl->tactics[i], of, &rows);
		before = after;
	}
	s->n_actions = rows.n;
	s->actions = arena_array(&s->mem, strategy_action, rows.n);
	if (rows.n)
		memcpy(s->actions, rows.p, rows.n * sizeof *rows.p);
	vec_release(&rows);
}

static void fill_unsupported(runner *r)
{
	const problem *pb = &r->pb;
	for (node_id i = 0; i < pb->p->nodes.n; i++) {
		const node *n = &pb->p->nodes.p[i];
		rule_id id;
		if (n->kind != NODE_OPAQUE ||
			rule_of_op(&r->pb.rules, pb->m, n->op, false, &id) != RULE_UNSUPPORTED)
			continue;
		int64_t bytes = node_whole_bytes(pb->p, n);
		if (bytes) /* nothing is kept replicated of what is empty */
			listed_op_add(&r->out->mem, pb->m, n->op, bytes, &r->out->unsupported);
	}
}

/* What would help where nothing fits. */
static void fill_helps(runner *r)
{
	search_result *out = r->out;
	const problem *pb = &r->pb;
	int64_t devices = 1;
	for (uint32_t axis = 0; axis < pb->n_axes; axis++)
		devices = sat_mul(devices, axis_size(mesh_full_axis(pb->m->shardings, pb->mesh, axis)));
	if (out->least_peak_bytes > pb->memory_limit)
		out->least_devices =
			ceil_div(sat_mul(out->least_peak_bytes, devices), MAX(pb->memory_limit, 1));
	if (!strcmp(pb->pairing, "dataflow") && !out->cost.alias_bytes)
		out->donatable_bytes = MIN(out->cost.argument_bytes, out->cost.output_bytes);
	if (!out->smallest.peak_bytes || out->cost.peak_bytes < out->smallest.peak_bytes)
		out->smallest = out->cost;
}

static void fill_groups(runner *r)
{
	search_result *out = r->out;
	const problem *pb = &r->pb;
	out->n_given = r->groups.n;
	out->given = arena_array(&out->mem, given_group, r->groups.n + 1);
	for (uint32_t k = 0; k < r->groups.n; k++) {
		given_group *g = &out->given[k];
		size_t n = strlen(r->groups.p[k]);
		*g = (given_group){.glob = {arena_strdup(&out->mem, r->groups.p[k], n), n},
			.members = arena_array(&out->mem, uint32_t, pb->n_args)};
		for (uint32_t a = 0; a < pb->n_args; a++)
			if (pb->given[a] == k)
				g->members[g->n++] = a;
	}
}

static void fill_facts(runner *r)
{
	search_result *out = r->out;
	const problem *pb = &r->pb;
	out->memory_limit = pb->memory_limit;
	out->pairing = pb->pairing;
	out->groups = pb->n_groups;
	out->roles = arena_array(&out->mem, role, pb->n_args + 1);
	memcpy(out->roles, pb->roles, pb->n_args * sizeof *out->roles);
	out->group_of = arena_array(&out->mem, uint32_t, pb->n_args + 1);
	memcpy(out->group_of, pb->group_of, pb->n_args * sizeof *out->group_of);
	if (r->answer->pl && out->cost.runtime_ns > 0)
		out->replay_gap_ppm =
			(int64_t)((__int128)(out->incremental.runtime_ns - out->cost.runtime_ns) * 1000000 /
				out->cost.runtime_ns);
	cost least;
	evaluator_undo(r->ev[0], 0);
	evaluator_bound(r->ev[0], UINT32_MAX, &least);
	out->least_runtime_ns = least.runtime_ns;
	out->least_peak_bytes = least.peak_bytes;
	fill_helps(r);
	out->interrupted = search_is_stopped(r->user);
	out->elapsed_ns = runner_elapsed(r);
}

static void fill_decisions(runner *r)
{
	if (!r->answer->pl)
		return;
	char *text = warm_tell(&r->pb, r->answer->pl);
	r->out->decisions = arena_strdup(&r->out->mem, text, strlen(text));
	cJSON_free(text);
}

status runner_report(runner *r, diag *d)
{
	fill_actions(r);
	fill_decisions(r);
	fill_unsupported(r);
	fill_groups(r);
	list_uncounted_loops(r->pb.p, &r->out->mem, &r->out->uncounted);
	fill_facts(r);
	r->out->best.apply = apply_as(r->out->best.apply, r->o.apply);
	r->out->whole = r->answer->whole;
	r->answer->whole = (listed_ops){0};
	TRY(runner_alternatives(r, d));
	TRY(runner_settle_options(r, d));
	runner_list_front(r);
	return ST_OK;
}
