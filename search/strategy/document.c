/* Writes strategy documents (docs/strategy-document.md). */
#include "search/strategy/strategy.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

/* What propagation left of an undecided argument: its axes as a plain list. */
static cJSON *propagated_json(const sharding_table *t, sharding_id id, uint32_t rank)
{
	sharding_edit *e = xmalloc(sizeof *e);
	if (id == SHARDING_NONE)
		sharding_edit_init(e, 0, rank, true);
	else
		sharding_to_edit(t, id, e);
	for (uint32_t d = 0; d < e->rank; d++) {
		e->dims[d].closed = true;
		e->dims[d].priority = -1;
	}
	e->replicated.n = e->unreduced.n = 0;
	cJSON *j = sharding_to_json(t, e);
	free(e);
	return j;
}

static cJSON *sharding_json(const sharding_table *t, sharding_id id)
{
	if (id == SHARDING_NONE)
		return cJSON_CreateNull();
	sharding_edit *e = xmalloc(sizeof *e);
	sharding_to_edit(t, id, e);
	/* Priorities stand beside the sharding, so that the plain list form holds whatever is closed.
	 */
	for (uint32_t d = 0; d < e->rank; d++)
		e->dims[d].priority = -1;
	cJSON *j = sharding_to_json(t, e);
	free(e);
	return j;
}

static cJSON *priorities_json(const sharding_table *t, sharding_id id)
{
	cJSON *list = cJSON_CreateArray();
	const sharding *s = id == SHARDING_NONE ? NULL : sharding_get(t, id);
	for (uint32_t d = 0; s && d < s->rank; d++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(MAX(s->dims[d].priority, 0)));
	return list;
}

static cJSON *arguments_json(const module *m, const strategy *s, const search_result *r)
{
	cJSON *list = cJSON_CreateArray();
	func *main = module_main((module *)(uintptr_t)m);
	value_id args = op_region(m, main->op, 0)->args;
	strbuf b = {0};
	for (uint32_t a = 0; a < s->n_args; a++) {
		cJSON *o = cJSON_CreateObject();
		cJSON_AddNumberToObject(o, "index", a);
		strbuf_clear(&b);
		module_arg_name(m, a, &b);
		cJSON_AddStringToObject(o, "name", b.p);
		strbuf_clear(&b);
		type_print(m, m->values.p[args + a].type, &b);
		cJSON_AddStringToObject(o, "type", b.p);
		cJSON_AddStringToObject(o, "role", role_name(r->roles[a]));
		if (r->group_of[a] != ID_NONE)
			cJSON_AddNumberToObject(o, "group", r->group_of[a]);
		cJSON_AddItemToObject(o, "sharding", sharding_json(m->shardings, s->args[a]));
		if (s->args[a] == SHARDING_NONE)
			cJSON_AddItemToObject(o, "propagated",
				propagated_json(
					m->shardings, s->propagated[a], type_get(m, m->values.p[args + a].type)->rank));
		else
			cJSON_AddItemToObject(o, "priority", priorities_json(m->shardings, s->args[a]));
		cJSON_AddItemToArray(list, o);
	}
	strbuf_release(&b);
	return list;
}

static cJSON *results_json(const module *m, const strategy *s)
{
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < s->n_results; i++) {
		cJSON *o = cJSON_CreateObject();
		cJSON_AddNumberToObject(o, "index", i);
		cJSON_AddItemToObject(o, "sharding", sharding_json(m->shardings, s->results[i]));
		if (s->results[i] != SHARDING_NONE)
			cJSON_AddItemToObject(o, "priority", priorities_json(m->shardings, s->results[i]));
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

static cJSON *constraints_json(const module *m, const strategy *s)
{
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < s->n_constraints; i++) {
		const strategy_constraint *c = &s->constraints[i];
		cJSON *o = cJSON_CreateObject();
		document_add_text(o, "function", c->function);
		cJSON_AddNumberToObject(o, "op", c->op);
		cJSON_AddNumberToObject(o, "result", c->result);
		document_add_text(o, "location", c->location);
		cJSON_AddItemToObject(o, "sharding", sharding_json(m->shardings, c->sharding));
		cJSON_AddItemToObject(o, "priority", priorities_json(m->shardings, c->sharding));
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

static cJSON *actions_json(const module *m, const strategy *s)
{
	static const char *const kinds[] = {[ACTION_PARTITION] = "partition",
		[ACTION_REPLICATE] = "replicate",
		[ACTION_CONSTRAIN] = "constrain"};
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < s->n_actions; i++) {
		const strategy_action *a = &s->actions[i];
		cJSON *o = cJSON_CreateObject(), *members = cJSON_CreateArray(),
			  *delta = cJSON_CreateObject();
		cJSON_AddNumberToObject(o, "step", a->step);
		document_add_text(o, "tactic", a->tactic);
		cJSON_AddStringToObject(o, "kind", kinds[a->kind]);
		for (uint32_t k = 0; k < a->n_members; k++)
			cJSON_AddItemToArray(members, cJSON_CreateNumber(a->members[k]));
		cJSON_AddItemToObject(o, "members", members);
		if (a->n_sites) {
			cJSON *sites = cJSON_AddArrayToObject(o, "constraints");
			for (uint32_t k = 0; k < a->n_sites; k++)
				cJSON_AddItemToArray(sites, cJSON_CreateNumber(a->sites[k]));
		}
		cJSON_AddNumberToObject(o, "dimension", a->dimension);
		document_add_text(o, "axis",
			strtab_get(&m->shardings->names, m->shardings->meshes.p[s->mesh].axis_names[a->axis]));
		cJSON_AddNumberToObject(delta, "runtime_ns", (double)a->delta_runtime_ns);
		cJSON_AddNumberToObject(delta, "peak_bytes", (double)a->delta_peak_bytes);
		cJSON_AddItemToObject(o, "delta", delta);
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

static cJSON *mesh_axes_json(const module *m, mesh_id id, const char *const *axis_links)
{
	const device_mesh *mh = &m->shardings->meshes.p[id];
	cJSON *o = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(o, "axes");
	for (uint32_t i = 0; i < mh->n_axes; i++) {
		cJSON *a = cJSON_CreateObject();
		document_add_text(a, "name", strtab_get(&m->shardings->names, mh->axis_names[i]));
		cJSON_AddNumberToObject(a, "size", (double)mh->axis_sizes[i]);
		if (axis_links && axis_links[i])
			cJSON_AddStringToObject(a, "link", axis_links[i]);
		cJSON_AddItemToArray(list, a);
	}
	if (mh->n_device_ids) {
		cJSON *order = cJSON_AddArrayToObject(o, "device_order");
		for (uint32_t i = 0; i < mh->n_device_ids; i++)
			cJSON_AddItemToArray(order, cJSON_CreateNumber((double)mh->device_ids[i]));
	}
	return o;
}

/* What the search began with. */
static cJSON *starts_json(const search_result *r)
{
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < r->starts.n; i++) {
		const started *x = &r->starts.p[i];
		cJSON *o = cJSON_CreateObject();
		document_add_text(o, "strategy", x->name);
		cJSON_AddNumberToObject(o, "plans", x->plans);
		if (x->plans) {
			cJSON_AddNumberToObject(o, "runtime_ns", (double)x->cost.runtime_ns);
			cJSON_AddNumberToObject(o, "peak_bytes", (double)x->cost.peak_bytes);
			cJSON_AddBoolToObject(o, "fits", x->fits);
		}
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

/* What the user asked to be kept: whoever plans more for this program has to keep it too. */
static void add_asked(cJSON *s, const search_options *o)
{
	strbuf text = {0};
	cJSON *pins = o->n_pins ? cJSON_AddArrayToObject(s, "pins") : NULL,
		  *forbids = o->n_forbids ? cJSON_AddArrayToObject(s, "forbids") : NULL;
	for (uint32_t i = 0; i < o->n_pins; i++) {
		strbuf_clear(&text);
		strbuf_printf(&text, "%s:%s", o->pins[i].glob, o->pins[i].sharding);
		cJSON_AddItemToArray(pins, cJSON_CreateString(text.p));
	}
	for (uint32_t i = 0; i < o->n_forbids; i++) {
		strbuf_clear(&text);
		strbuf_printf(
			&text, "%s:%u:%s", o->forbids[i].glob, o->forbids[i].dimension, o->forbids[i].axis);
		cJSON_AddItemToArray(forbids, cJSON_CreateString(text.p));
	}
	strbuf_release(&text);
	if (o->open_results)
		cJSON_AddTrueToObject(s, "open_results");
}

static cJSON *search_json(const search_options *o, const search_result *r)
{
	cJSON *s = cJSON_CreateObject(), *list = cJSON_CreateArray();
	double seconds = (double)r->elapsed_ns / 1e9;
	cJSON_AddNumberToObject(s, "seed", (double)o->seed);
	cJSON_AddNumberToObject(s, "uncertainty_ppm", (double)r->uncertainty_ppm);
	cJSON_AddNumberToObject(s, "evaluations", (double)r->evaluations);
	cJSON_AddNumberToObject(s, "replays", (double)r->replays);
	cJSON_AddNumberToObject(s, "seconds", seconds);
	cJSON_AddNumberToObject(s, "evaluations_per_second",
		seconds > 0 ? (double)(int64_t)((double)r->evaluations / seconds) : 0);
	cJSON_AddNumberToObject(s, "nodes", (double)r->nodes);
	cJSON_AddNumberToObject(s, "lists_cut", (double)r->lists_cut);
	cJSON_AddNumberToObject(s, "groups", (double)r->groups);
	cJSON_AddStringToObject(s, "result_pairing", r->pairing);
	add_asked(s, o);
	cJSON_AddNumberToObject(s, "replay_gap_ppm", (double)r->replay_gap_ppm);
	cJSON *bound = cJSON_AddObjectToObject(s, "bound");
	cJSON_AddNumberToObject(bound, "runtime_ns", (double)r->least_runtime_ns);
	cJSON_AddNumberToObject(bound, "peak_bytes", (double)r->least_peak_bytes);
	if (*r->not_exact)
		cJSON_AddStringToObject(s, "not_exact", r->not_exact);
	cJSON_AddBoolToObject(s, "interrupted", r->interrupted);
	for (uint32_t i = 0; i < r->incumbents.n; i++) {
		cJSON *e = cJSON_CreateObject();
		cJSON_AddNumberToObject(e, "evaluation", (double)r->incumbents.p[i].evaluation);
		cJSON_AddNumberToObject(e, "seconds", (double)r->incumbents.p[i].elapsed_ns / 1e9);
		cJSON_AddNumberToObject(e, "runtime_ns", (double)r->incumbents.p[i].runtime_ns);
		cJSON_AddNumberToObject(e, "peak_bytes", (double)r->incumbents.p[i].peak_bytes);
		cJSON_AddItemToArray(list, e);
	}
	cJSON_AddItemToObject(s, "incumbents", list);
	if (o->n_starts)
		cJSON_AddItemToObject(s, "warm_start", starts_json(r));
	if (o->tactic_statistics)
		cJSON_AddNumberToObject(s, "prior_plans", r->prior_plans);
	return s;
}

/* Where nothing fits: what is needed, and what would help. */
static cJSON *too_large_json(const search_result *r)
{
	cJSON *o = cJSON_CreateObject();
	cJSON_AddNumberToObject(o, "smallest_peak_bytes", (double)r->smallest.peak_bytes);
	cJSON_AddNumberToObject(o, "smallest_runtime_ns", (double)r->smallest.runtime_ns);
	if (r->least_devices)
		cJSON_AddNumberToObject(o, "least_devices", (double)r->least_devices);
	if (r->donatable_bytes)
		cJSON_AddNumberToObject(o, "donation_saves_bytes", (double)r->donatable_bytes);
	document_add_pareto(o, r);
	/* without temporaries it would fit: computing them again instead of keeping them helps */
	if (r->cost.peak_bytes - r->cost.temporary_bytes <= r->memory_limit)
		cJSON_AddNumberToObject(
			o, "rematerialise_bytes", (double)(r->cost.peak_bytes - r->memory_limit));
	return o;
}

static cJSON *compiler_options_json(const device *dev, uint32_t chosen)
{
	cJSON *o = cJSON_CreateObject();
	for (uint32_t i = 0; i < dev->n_compiler_options; i++)
		if (chosen >> i & 1)
			cJSON_AddStringToObject(
				o, dev->compiler_options[i].name, dev->compiler_options[i].value);
	return o;
}

/* What the plan would gain by options that its cost does not assume. */
static cJSON *better_options_json(const device *dev, const search_result *r)
{
	cJSON *o = cJSON_CreateObject();
	cJSON_AddItemToObject(o, "compiler_options", compiler_options_json(dev, r->better_options));
	cJSON_AddNumberToObject(o, "runtime_ns", (double)r->better_runtime_ns);
	return o;
}

/* Each is a document of its own once what it says stands in the place of what the answer says. */
static cJSON *alternatives_json(const module *m, const device *dev, const search_result *r)
{
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < r->alternatives.n; i++) {
		const plan_alternative *a = &r->alternatives.p[i];
		cJSON *o = cJSON_CreateObject();
		cJSON_AddBoolToObject(o, "fits", a->fits);
		cJSON_AddStringToObject(o, "apply", apply_name(a->s.apply));
		cJSON_AddBoolToObject(o, "reshard_after_forward", a->s.apply == APPLY_EXACT_RESHARDED);
		cJSON_AddItemToObject(o, "arguments", arguments_json(m, &a->s, r));
		cJSON_AddItemToObject(o, "results", results_json(m, &a->s));
		cJSON_AddItemToObject(o, "constraints", constraints_json(m, &a->s));
		cJSON_AddItemToObject(
			o, "compiler_options", compiler_options_json(dev, a->compiler_options));
		cJSON_AddItemToObject(o, "cost", cost_to_json(&a->cost));
		document_add_text(o, "difference", a->difference);
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

static cJSON *groups_json(const search_result *r)
{
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < r->n_given; i++) {
		cJSON *o = cJSON_CreateObject();
		document_add_text(o, "glob", r->given[i].glob);
		cJSON *members = cJSON_AddArrayToObject(o, "members");
		for (uint32_t k = 0; k < r->given[i].n; k++)
			cJSON_AddItemToArray(members, cJSON_CreateNumber(r->given[i].members[k]));
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

/* What made it, and of which module it is. */
static void add_origin(cJSON *root, const module *m, uint32_t n_args)
{
	cJSON *tool = cJSON_CreateObject(), *about = cJSON_CreateObject();
	char fingerprint[72], structure[72];
	module_fingerprint(m, fingerprint);
	module_structure(m, structure);
	uint32_t ops = 0;
	for (op_id op = op_walk_first(m, ID_NONE); op != ID_NONE; op = op_walk_next(m, ID_NONE, op))
		ops++;
	cJSON_AddStringToObject(tool, "version", SHARDWRIGHT_VERSION);
	cJSON_AddStringToObject(tool, "cost_model", COST_MODEL_VERSION);
	cJSON_AddStringToObject(tool, "shardy", "jaxlib 0.10.2");
	cJSON_AddItemToObject(root, "tool", tool);
	document_add_text(about, "name", strtab_get(&m->strs, m->name));
	cJSON_AddStringToObject(about, "fingerprint", fingerprint);
	cJSON_AddStringToObject(about, "structure", structure);
	cJSON_AddNumberToObject(about, "ops", ops);
	cJSON_AddNumberToObject(about, "arguments", n_args);
	cJSON_AddItemToObject(root, "module", about);
}

status document_write(
	const module *m, const search_options *o, const search_result *r, strbuf *out, diag *d)
{
	cJSON *root = cJSON_CreateObject(), *list;
	cJSON_AddStringToObject(root, "format", "shardwright.strategy/1");
	add_origin(root, m, r->best.n_args);
	cJSON_AddItemToObject(root, "mesh", mesh_axes_json(m, r->best.mesh, o->axis_links));
	cJSON_AddStringToObject(root, "device", o->device->name);
	cJSON_AddNumberToObject(root, "memory_limit_bytes", (double)r->memory_limit);
	if (m->trip_count)
		cJSON_AddNumberToObject(root, "trip_count", (double)m->trip_count);
	cJSON_AddBoolToObject(root, "fits", r->fits);
	cJSON_AddStringToObject(root, "apply", apply_name(r->best.apply));
	if (r->best.apply == APPLY_EXACT_RESHARDED)
		cJSON_AddTrueToObject(root, "reshard_after_forward");
	if (r->best.simpler.any)
		cJSON_AddItemToObject(root, "simpler", simpler_to_json(&r->best.simpler));
	if (!r->fits)
		cJSON_AddItemToObject(root, "too_large", too_large_json(r));
	if (r->n_given)
		cJSON_AddItemToObject(root, "groups", groups_json(r));
	cJSON_AddItemToObject(root, "arguments", arguments_json(m, &r->best, r));
	cJSON_AddItemToObject(root, "results", results_json(m, &r->best));
	cJSON_AddItemToObject(root, "constraints", constraints_json(m, &r->best));
	cJSON_AddItemToObject(root, "actions", actions_json(m, &r->best));
	if (r->decisions)
		cJSON_AddRawToObject(root, "decisions", r->decisions);
	cJSON *cost_json = cost_to_json(&r->cost);
	add_listed_loops(cost_json, &r->uncounted, m->trip_count);
	cJSON_AddItemToObject(root, "cost", cost_json);
	list = cJSON_AddArrayToObject(root, "baselines");
	for (uint32_t i = 0; i < r->baselines.n; i++) {
		cJSON *b = cJSON_CreateObject();
		document_add_text(b, "name", r->baselines.p[i].name);
		cJSON_AddBoolToObject(b, "fits", r->baselines.p[i].fits);
		cJSON_AddItemToObject(b, "cost", cost_to_json(&r->baselines.p[i].cost));
		cJSON_AddItemToArray(list, b);
	}
	cJSON_AddItemToObject(
		root, "compiler_options", compiler_options_json(o->device, r->compiler_options));
	if (r->better_options)
		cJSON_AddItemToObject(root, "better_compiler_options", better_options_json(o->device, r));
	cJSON_AddItemToObject(root, "unsupported", listed_ops_json(&r->unsupported));
	if (apply_is_exact(r->best.apply))
		cJSON_AddItemToObject(root, "runs_whole", listed_ops_json(&r->whole));
	if (o->alternatives)
		cJSON_AddItemToObject(root, "alternatives", alternatives_json(m, o->device, r));
	cJSON_AddItemToObject(root, "search", search_json(o, r));
	char *text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	if (!text)
		return diag_set(d, ST_ERR_MEMORY, "cannot print the strategy document");
	strbuf_puts(out, text);
	strbuf_putc(out, '\n');
	cJSON_free(text);
	return ST_OK;
}
