/* What each decision of a strategy brings: the strategy without it is replayed, and what else could
 * have been decided for the same arguments: another dimension, another axis, keeping them whole.
 * Everything else stays as it is.
 *
 * A document of the search has actions. Deciding them again, one after the other, gives the same
 * strategy, and so a variant is the same list with one of them changed: what propagation made of a
 * decision goes with it. A document written by hand has shardings only: there a decision is a cut
 * that arguments of one name pattern and type share. */
#include "search/evaluate/evaluate.h"
#include "search/strategy/strategy.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

typedef struct decision {
	str tactic;
	action_kind kind;
	bool inner;           /* it is about inner values */
	uint32_t *members, n; /* arguments; of inner values indices of constraints */
	uint32_t dim, axis;   /* axis ID_NONE: kept whole over all axes */
	uint32_t step;        /* of the plan */
} decision;

/* Collectives of one kind from one line of the source. */
typedef struct source {
	uint8_t kind;
	str where, op;
	int64_t count, bytes, time_ns;
	bool windowed; /* one of them runs inside of a contraction's loop */
} source;
typedef VEC(source) source_list;

typedef struct explainer {
	problem pb;
	search_options o;
	const strategy *s;
	int64_t limit;
	uint32_t most; /* alternatives per decision */
	arena mem;
	cost cost;
	source_list sources;
	str *patterns; /* of argument names, by argument */
	VEC(decision) decisions;
	evaluator *ev; /* NULL: by shardings */
	pval_id *
		site; /* by constraint: the value it is on; ID_NONE: none that the search would constrain */
	plan base; /* its steps have the decisions' arguments as targets */
	diag *d;
} explainer;

static str keep(arena *a, str s) { return (str){arena_strdup(a, s.p ? s.p : "", s.n), s.n}; }

/* ---------------------------------------------------------------- collectives by source */

static int by_time(const void *a, const void *b)
{
	const source *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

static source *source_at(explainer *x, source_list *list, uint8_t kind, str where, str op)
{
	for (uint32_t k = 0; k < list->n; k++)
		if (list->p[k].kind == kind && str_equal(list->p[k].where, where) &&
			str_equal(list->p[k].op, op))
			return &list->p[k];
	vec_push(list, (source){.kind = kind, .where = keep(&x->mem, where), .op = keep(&x->mem, op)});
	return &list->p[list->n - 1];
}

/* Adds `sign` times the collectives of an evaluation. */
static void add_sources(explainer *x, const evaluation *ev, int64_t sign, source_list *list)
{
	uint32_t n_events;
	const op_event *events = simulator_events(ev->sim, &n_events);
	strbuf where = {0};
	for (uint32_t i = 0; i < n_events; i++) {
		const lop *l = &ev->low->ops.p[events[i].op];
		if (l->kind != LOP_COLLECTIVE || l->erased || l->coll == COLL_ALL_SLICE)
			continue;
		str op = STR("");
		strbuf_clear(&where);
		if (l->node != ID_NONE) {
			op_id o = ev->p->nodes.p[l->node].op;
			loc_print(ev->p->m, ev->p->m->ops.p[o].loc, &where);
			op = strtab_get(&ev->p->m->strs, ev->p->m->ops.p[o].name);
		}
		source *at = source_at(x, list, l->coll, (str){where.p ? where.p : "", where.n}, op);
		int64_t times = lop_executions(ev->low, events[i].op);
		at->count += sign * times;
		at->windowed |= events[i].windowed;
		at->bytes = sat_add(at->bytes, sign * sat_mul(times, l->bytes));
		at->time_ns =
			sat_add(at->time_ns, sign * sat_mul(times, events[i].end_ns - events[i].start_ns));
	}
	strbuf_release(&where);
}

/* ---------------------------------------------------------------- what if */

/* Cost of a changed strategy in the steady state of the loop; sources, when wanted, get its
 * collectives less those of the whole. */
static status cost_of(explainer *x, module *m, strategy *t, cost *out, source_list *change)
{
	bool allowed;
	evaluation ev;
	TRY(replay_applied(&x->pb, m, t, out, &allowed, change ? &ev : NULL, x->d));
	if (!change)
		return ST_OK;
	add_sources(x, &ev, 1, change);
	evaluation_release(&ev);
	for (uint32_t i = 0; i < x->sources.n; i++) {
		const source *s = &x->sources.p[i];
		source *at = source_at(x, change, s->kind, s->where, s->op);
		at->count -= s->count;
		at->bytes -= s->bytes;
		at->time_ns -= s->time_ns;
	}
	return ST_OK;
}

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

/* ---------------------------------------------------------------- the same by decisions */

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

/* Whether the document's actions, decided again, cost what the document costs; then variants go by
 * them. */
static status plan_actions(explainer *x, module *m)
{
	strategy t;
	cost c;
	bool allowed;
	const strategy *s = x->s;
	uint32_t decided = 0;
	bool usable = s->n_actions;
	x->site = arena_array(&x->mem, pval_id, s->n_constraints + 1);
	for (uint32_t i = 0; i < s->n_constraints; i++) {
		action_target given = {ID_NONE, 0};
		x->site[i] = given.arg = str_equal(s->constraints[i].function, STR("main"))
			? problem_site(&x->pb, s->constraints[i].op, s->constraints[i].result)
			: ID_NONE;
		usable = usable && x->site[i] != ID_NONE;
		if (usable)
			problem_give_sites(&x->pb, &given, 1);
	}
	for (uint32_t i = 0; i < s->n_actions && usable; i++) {
		decided += s->actions[i].n_sites;
		usable = s->actions[i].n_sites || s->actions[i].n_members;
	}
	if (!usable || decided < s->n_constraints)
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

/* ---------------------------------------------------------------- decisions by shardings */

static void add_member(explainer *x, action_kind kind, uint32_t dim, uint32_t axis, uint32_t arg)
{
	type_id ty = x->pb.p->vals.p[x->pb.p->args.p[arg]].type;
	for (uint32_t i = 0; i < x->decisions.n; i++) {
		decision *dc = &x->decisions.p[i];
		uint32_t first = dc->members[0];
		if (dc->kind == kind && dc->dim == dim && dc->axis == axis &&
			str_equal(x->patterns[first], x->patterns[arg]) &&
			x->pb.p->vals.p[x->pb.p->args.p[first]].type == ty) {
			dc->members[dc->n++] = arg;
			return;
		}
	}
	decision dc = {.tactic = STR(""),
		.kind = kind,
		.dim = dim,
		.axis = axis,
		.n = 1,
		.members = arena_array(&x->mem, uint32_t, x->s->n_args)};
	dc.members[0] = arg;
	vec_push(&x->decisions, dc);
}

static void find_decisions(explainer *x)
{
	const strategy *s = x->s;
	for (uint32_t a = 0; a < s->n_args; a++) {
		if (s->args[a] == SHARDING_NONE || !pval_type(x->pb.p, x->pb.p->args.p[a])->rank)
			continue;
		const sharding *sh = sharding_get(x->pb.m->shardings, s->args[a]);
		bool cut = false;
		for (uint32_t d = 0; d < sh->rank; d++) {
			axes l = sharding_dim(sh, d);
			for (uint32_t i = 0; i < l.n; i++) {
				cut = true;
				if (i == 0 ||
					axis_index(l.a[i]) !=
						axis_index(l.a[i - 1])) /* sub-axes of one axis go together */
					add_member(x, ACTION_PARTITION, d, axis_index(l.a[i]), a);
			}
		}
		if (!cut)
			add_member(x, ACTION_REPLICATE, 0, ID_NONE, a);
	}
}

static void find_names(explainer *x, module *m)
{
	strbuf name = {0}, pattern = {0};
	x->patterns = arena_array(&x->mem, str, x->s->n_args + 1);
	for (uint32_t a = 0; a < x->s->n_args; a++) {
		strbuf_clear(&name);
		module_arg_name(m, a, &name);
		report_name_pattern((str){name.p, name.n}, &pattern);
		x->patterns[a] = keep(&x->mem, (str){pattern.p, pattern.n});
	}
	strbuf_release(&name);
	strbuf_release(&pattern);
}

/* ---------------------------------------------------------------- the document */

static void add_text(cJSON *o, const char *key, str s)
{
	strbuf b = {0};
	strbuf_str(&b, s);
	cJSON_AddStringToObject(o, key, b.p ? b.p : "");
	strbuf_release(&b);
}

static void add_axis(explainer *x, cJSON *o, uint32_t axis)
{
	if (axis != ID_NONE)
		add_text(o, "axis",
			strtab_get(&x->pb.m->shardings->names,
				x->pb.m->shardings->meshes.p[x->pb.mesh].axis_names[axis]));
}

static void add_cost(explainer *x, cJSON *o, const cost *c)
{
	cJSON_AddNumberToObject(o, "runtime_ns", (double)c->runtime_ns);
	cJSON_AddNumberToObject(o, "peak_bytes", (double)c->peak_bytes);
	cJSON_AddBoolToObject(o, "fits", c->peak_bytes <= x->limit);
}

/* Costliest first; rows that balance out are left out. */
static cJSON *sources_json(source_list *list)
{
	cJSON *out = cJSON_CreateArray();
	if (list->n)
		qsort(list->p, list->n, sizeof *list->p, by_time);
	for (uint32_t i = 0; i < list->n; i++) {
		const source *s = &list->p[i];
		if (!s->count && !s->bytes)
			continue;
		cJSON *o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "kind", collective_name((collective_kind)s->kind));
		add_text(o, "op", s->op);
		add_text(o, "location", s->where);
		cJSON_AddNumberToObject(o, "executions", (double)s->count);
		cJSON_AddNumberToObject(o, "bytes", (double)s->bytes);
		cJSON_AddNumberToObject(o, "time_ns", (double)s->time_ns);
		if (s->windowed)
			cJSON_AddTrueToObject(o, "windowed_einsum");
		cJSON_AddItemToArray(out, o);
	}
	return out;
}

static void decision_json(explainer *x, const decision *dc, cJSON *o)
{
	static const char *const kinds[] = {[ACTION_PARTITION] = "partition",
		[ACTION_REPLICATE] = "replicate",
		[ACTION_CONSTRAIN] = "constrain"};
	cJSON_AddStringToObject(o, "kind", kinds[dc->kind]);
	if (dc->kind != ACTION_REPLICATE)
		cJSON_AddNumberToObject(o, "dimension", dc->dim);
	add_axis(x, o, dc->axis);
}

typedef struct alternative {
	decision what;
	cost c;
	uint32_t members;
} alternative;

static int by_cost(const void *a, const void *b)
{
	const alternative *x = a, *y = b;
	if (x->c.runtime_ns != y->c.runtime_ns)
		return x->c.runtime_ns < y->c.runtime_ns ? -1 : 1;
	if (x->what.axis != y->what.axis)
		return x->what.axis < y->what.axis ? -1 : 1;
	return x->what.dim < y->what.dim ? -1 : x->what.dim > y->what.dim;
}

typedef struct alternatives {
	VEC(alternative) list;
	uint32_t tried;
} alternatives;

static status try_otherwise(explainer *x, module *m, uint32_t i, decision other, alternatives *out)
{
	const decision *dc = &x->decisions.p[i];
	if (out->tried == x->most ||
		(other.kind == dc->kind && other.axis == dc->axis &&
			(other.dim == dc->dim || other.kind == ACTION_REPLICATE)))
		return ST_OK;
	strategy t = {0};
	alternative found = {.what = other};
	found.members = x->ev ? replan(x, i, &other, &t) : decide_otherwise(x, dc, &other, &t);
	status st = ST_OK;
	if (found.members) {
		out->tried++;
		st = cost_of(x, m, &t, &found.c, NULL);
		if (st == ST_OK)
			vec_push(&out->list, found);
	}
	strategy_release(&t);
	return st;
}

/* Nearest first: the same axis on another dimension, no cut at all, then the other axes. */
static status list_alternatives(explainer *x, module *m, uint32_t at, alternatives *out)
{
	const decision *dc = &x->decisions.p[at];
	uint32_t rank = 0;
	bool inner = dc->inner;
	action_kind cut = inner ? ACTION_CONSTRAIN : ACTION_PARTITION;
	for (uint32_t i = 0; i < dc->n; i++)
		rank = MAX(rank,
			pval_type(x->pb.p, inner ? x->site[dc->members[i]] : x->pb.p->args.p[dc->members[i]])
				->rank);
	for (uint32_t d = 0; d < rank && dc->axis != ID_NONE; d++)
		TRY(try_otherwise(x, m, at, (decision){.kind = cut, .dim = d, .axis = dc->axis}, out));
	TRY(try_otherwise(x, m, at, (decision){.kind = ACTION_REPLICATE, .axis = dc->axis}, out));
	for (uint32_t d = 0; d < rank; d++)
		for (uint32_t axis = 0; axis < x->pb.n_axes; axis++)
			if (axis != dc->axis && problem_axis_cuts(&x->pb, axis))
				TRY(try_otherwise(x, m, at, (decision){.kind = cut, .dim = d, .axis = axis}, out));
	return ST_OK;
}

/* Each name pattern once. */
static void add_name(str pattern, cJSON *names)
{
	for (const cJSON *n = names->child; n; n = n->next)
		if (str_equal(str_of(n->valuestring), pattern))
			return;
	cJSON_AddItemToArray(names, cJSON_CreateString(pattern.p));
}

static status explain_decision(explainer *x, module *m, uint32_t at, cJSON *o)
{
	const decision *dc = &x->decisions.p[at];
	cJSON *members = cJSON_CreateArray(), *names = cJSON_CreateArray(), *without, *list;
	source_list change = {0};
	alternatives alt = {0};
	strategy t;
	cost c;
	add_text(o, "tactic", dc->tactic);
	decision_json(x, dc, o);
	bool inner = dc->inner;
	for (uint32_t i = 0; i < dc->n; i++) {
		cJSON_AddItemToArray(members, cJSON_CreateNumber(dc->members[i]));
		add_name(inner ? x->s->constraints[dc->members[i]].location : x->patterns[dc->members[i]],
			names);
	}
	cJSON_AddItemToObject(o, inner ? "constraints" : "members", members);
	cJSON_AddItemToObject(o, "names", names);
	if (x->ev)
		replan(x, at, NULL, &t);
	else
		take_away(x, dc, &t);
	status st = cost_of(x, m, &t, &c, &change);
	strategy_release(&t);
	if (st == ST_OK) {
		without = cJSON_AddObjectToObject(o, "without");
		add_cost(x, without, &c);
		cJSON_AddItemToObject(without, "collectives", sources_json(&change));
		st = list_alternatives(x, m, at, &alt);
	}
	if (alt.list.n)
		qsort(alt.list.p, alt.list.n, sizeof *alt.list.p, by_cost);
	list = cJSON_AddArrayToObject(o, "alternatives");
	for (uint32_t i = 0; i < alt.list.n; i++) {
		cJSON *a = cJSON_CreateObject();
		decision_json(x, &alt.list.p[i].what, a);
		cJSON_AddNumberToObject(a, "members", alt.list.p[i].members);
		add_cost(x, a, &alt.list.p[i].c);
		cJSON_AddItemToArray(list, a);
	}
	vec_release(&alt.list);
	vec_release(&change);
	return st;
}

static status explain_whole(explainer *x, module *m, cJSON *root)
{
	module *annotated;
	evaluation ev;
	TRY(strategy_apply(m, x->s, &annotated, x->d));
	status st =
		simulate_applied(annotated, x->o.device, x->o.apply, x->o.axis_links, &x->cost, &ev, x->d);
	if (st == ST_OK) {
		add_sources(x, &ev, 1, &x->sources);
		evaluation_release(&ev);
		cJSON_AddStringToObject(root, "device", x->o.device->name);
		cJSON_AddNumberToObject(root, "memory_limit_bytes", (double)x->limit);
		cJSON_AddBoolToObject(root, "fits", x->cost.peak_bytes <= x->limit);
		cJSON *whole = cost_to_json(&x->cost);
		add_uncounted_loops(whole, x->pb.p);
		cJSON_AddItemToObject(root, "cost", whole);
		cJSON_AddItemToObject(root, "collectives", sources_json(&x->sources));
	}
	module_free(annotated);
	return st;
}

/* A strategy whose paired results come out as their arguments is in the steady state, and so must
 * its variants be; one that leaves them apart is compared as it is. */
static status settle(explainer *x, module *m)
{
	strategy t;
	cost c;
	bool allowed;
	strategy_copy(&t, x->s);
	status st = replay_strategy(&x->pb, m, &t, &c, &allowed, x->d);
	if (st == ST_OK)
		x->o.open_results = memcmp(t.results, x->s->results, t.n_results * sizeof *t.results) != 0;
	strategy_release(&t);
	return st;
}

status explain_strategy(module *m, const strategy *s, const device *dev, int64_t memory_limit,
	uint32_t most_alternatives, cJSON **out, diag *d)
{
	TRY(module_take_gspmd(m, s->mesh, d));
	explainer *x = xcalloc(1, sizeof *x);
	cJSON *root = cJSON_CreateObject(), *list;
	x->s = s;
	x->d = d;
	x->most = most_alternatives;
	x->limit = memory_limit ? memory_limit : dev->usable_bytes;
	x->o = (search_options){.mesh = s->mesh,
		.device = dev,
		.axis_links = s->has_links ? s->axis_links : NULL,
		.memory_limit = x->limit,
		.apply = s->apply};
	status st = problem_init(&x->pb, m, &x->o, d);
	if (st == ST_OK)
		st = explain_whole(x, m, root);
	if (st == ST_OK)
		st = settle(x, m);
	if (st == ST_OK) {
		find_names(x, m);
		st = plan_actions(x, m);
	}
	if (st == ST_OK && !x->ev)
		find_decisions(x);
	if (s->simpler.any)
		cJSON_AddItemToObject(root, "simpler", simpler_to_json(&s->simpler));
	list = cJSON_AddArrayToObject(root, "decisions");
	for (uint32_t i = 0; i < x->decisions.n && st == ST_OK; i++) {
		cJSON *o = cJSON_CreateObject();
		cJSON_AddItemToArray(list, o);
		st = explain_decision(x, m, i, o);
	}
	evaluator_free(x->ev);
	vec_release(&x->sources);
	vec_release(&x->decisions);
	problem_release(&x->pb);
	arena_release(&x->mem);
	free(x);
	if (st == ST_OK)
		*out = root;
	else
		cJSON_Delete(root);
	return st;
}
