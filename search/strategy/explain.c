/* What each decision of a strategy brings: the strategy without it is replayed, and what else could
 * have been decided for the same arguments: another dimension, another axis, keeping them whole.
 * Everything else stays as it is.
 *
 * A document of the search has actions. Deciding them again, one after the other, gives the same
 * strategy, and so a variant is the same list with one of them changed: what propagation made of a
 * decision goes with it. A document written by hand has shardings only: there a decision is a cut
 * that arguments of one name pattern and type share. */
#include "search/strategy/explain.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

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
	vec_push(list,
		(source){.kind = kind, .where = copy_str(&x->mem, where), .op = copy_str(&x->mem, op)});
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
		x->patterns[a] = copy_str(&x->mem, (str){pattern.p, pattern.n});
	}
	strbuf_release(&name);
	strbuf_release(&pattern);
}

/* ---------------------------------------------------------------- the document */

static void add_axis(explainer *x, cJSON *o, uint32_t axis)
{
	if (axis != ID_NONE)
		document_add_text(o, "axis",
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
		document_add_text(o, "op", s->op);
		document_add_text(o, "location", s->where);
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
	found.members = explain_variant(x, i, &other, &t);
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
	document_add_text(o, "tactic", dc->tactic);
	decision_json(x, dc, o);
	bool inner = dc->inner;
	for (uint32_t i = 0; i < dc->n; i++) {
		cJSON_AddItemToArray(members, cJSON_CreateNumber(dc->members[i]));
		add_name(inner ? x->s->constraints[dc->members[i]].location : x->patterns[dc->members[i]],
			names);
	}
	cJSON_AddItemToObject(o, inner ? "constraints" : "members", members);
	cJSON_AddItemToObject(o, "names", names);
	explain_variant(x, at, NULL, &t);
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
		st = explain_plan(x, m);
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
