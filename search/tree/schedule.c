/* Schedules: PartIR's tactics as JSON (docs/schedules.md). A later tactic refines, it never undoes
 * an earlier one. */
#include "search/tree/schedule.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

static uint32_t axis_named(const problem *pb, const char *name)
{
	return mesh_axis_find(pb->m->shardings, pb->mesh, str_of(name));
}

static status bad(diag *d, uint32_t i, const char *what)
{
	return diag_set(d, ST_ERR_INVALID, "schedule: tactics[%u]: %s", i, what);
}

static role role_named(const char *name)
{
	for (role r = 0; r < ROLE_COUNT; r++)
		if (!strcmp(name, role_name(r)))
			return r;
	return ROLE_COUNT;
}

/* "arguments": a glob over names, a role, an index, or a list of these. */
static bool match_arguments(problem *pb, const cJSON *spec, bool *allowed)
{
	if (cJSON_IsArray(spec)) {
		bool any = false;
		for (const cJSON *c = spec->child; c; c = c->next)
			any |= !cJSON_IsArray(c) && match_arguments(pb, c, allowed);
		return any;
	}
	bool any = false;
	role r = cJSON_IsString(spec) ? role_named(spec->valuestring) : ROLE_COUNT;
	strbuf name;
	strbuf_init(&name);
	for (uint32_t a = 0; a < pb->n_args; a++) {
		strbuf_clear(&name);
		module_arg_name(pb->m, a, &name);
		bool hit = cJSON_IsNumber(spec) ? spec->valuedouble == (double)a
			: r < ROLE_COUNT            ? pb->roles[a] == r
			: cJSON_IsString(spec)      ? glob_match(spec->valuestring, (str){name.p, name.n})
										: false;
		if (hit)
			allowed[a] = any = true;
	}
	strbuf_release(&name);
	return any;
}

static status only_keys(const cJSON *o, const char *keys, uint32_t i, diag *d)
{
	for (const cJSON *c = o->child; c; c = c->next) {
		char word[64];
		snprintf(word, sizeof word, " %s ", c->string);
		if (strchr(c->string, ' ') || !strstr(keys, word))
			return diag_set(d, ST_ERR_INVALID,
				"schedule: tactics[%u]: unknown key '%s', expected one of%s", i, c->string, keys);
	}
	return ST_OK;
}

static status number(const cJSON *o, const char *key, uint64_t *out, uint32_t i, diag *d)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	if (!v)
		return ST_OK;
	if (!cJSON_IsNumber(v) || v->valuedouble < 0 || v->valuedouble > 9007199254740992.0 ||
		v->valuedouble != (double)(uint64_t)v->valuedouble)
		return diag_set(
			d, ST_ERR_INVALID, "schedule: tactics[%u]: '%s' must be a whole number", i, key);
	*out = (uint64_t)v->valuedouble;
	return ST_OK;
}

static status read_axis(problem *pb, const cJSON *v, uint32_t *out, uint32_t i, diag *d)
{
	if (!cJSON_IsString(v))
		return bad(d, i, "expected 'axis': the name of a mesh axis");
	*out = axis_named(pb, v->valuestring);
	if (*out == ID_NONE)
		return diag_set(d, ST_ERR_INVALID, "schedule: tactics[%u]: the mesh has no axis '%s'", i,
			v->valuestring);
	return ST_OK;
}

static status read_arguments(
	problem *pb, const cJSON *spec, tactic *t, bool required, uint32_t i, diag *d)
{
	if (!spec)
		return required ? bad(d, i, "expected 'arguments': a glob, an index or a role") : ST_OK;
	t->allowed = arena_zarray(&pb->mem, bool, pb->n_args + 1);
	if (!match_arguments(pb, spec, t->allowed))
		return diag_set(d, ST_ERR_INVALID, "schedule: tactics[%u]: '%s' names no argument", i,
			cJSON_IsString(spec) ? spec->valuestring : "arguments");
	diag part = {0};
	if (problem_takes_whole_groups(pb, t->allowed, &part) != ST_OK)
		return bad(d, i, part.msg);
	t->args = arena_array(&pb->mem, uint32_t, pb->n_args + 1);
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (t->allowed[a])
			t->args[t->n_args++] = a;
	return ST_OK;
}

static status read_manual(problem *pb, const cJSON *o, tactic *t, uint32_t i, diag *d)
{
	const cJSON *arguments = cJSON_GetObjectItemCaseSensitive(o, "arguments"),
				*values = cJSON_GetObjectItemCaseSensitive(o, "values"),
				*class_of = cJSON_GetObjectItemCaseSensitive(o, "class_of");
	TRY(only_keys(o, " arguments values class_of dimension axis ", i, d));
	if (!!arguments + !!values + !!class_of != 1)
		return bad(d, i,
			"expected one of 'arguments': a glob, an index or a role; 'values': a glob over source "
			"locations; 'class_of': as 'arguments'");
	if (!values)
		TRY(read_arguments(pb, arguments ? arguments : class_of, t, true, i, d));
	TRY(read_axis(pb, cJSON_GetObjectItemCaseSensitive(o, "axis"), &t->axis, i, d));
	uint64_t dim = 0;
	TRY(number(o, "dimension", &dim, i, d));
	for (uint32_t k = 0; k < t->n_args && arguments; k++) {
		uint32_t rank = pval_type(pb->p, pb->p->args.p[t->args[k]])->rank;
		if (dim >= rank)
			return diag_set(d, ST_ERR_INVALID,
				"schedule: tactics[%u]: argument %u has rank %u, no dimension %llu", i, t->args[k],
				rank, (unsigned long long)dim);
	}
	t->kind = TACTIC_MANUAL;
	t->dimension = (uint32_t)MIN(dim, (uint64_t)MAX_RANK);
	snprintf(t->title, sizeof t->title, "manual");
	return arguments ? ST_OK : schedule_values(pb, values, t, i, d);
}

static status read_named(
	problem *pb, const cJSON *o, const char *name, tactic *t, uint32_t i, diag *d)
{
	const cJSON *values = cJSON_GetObjectItemCaseSensitive(o, "values");
	TRY(only_keys(o,
		strcmp(name, "replicate") ? " named axis arguments " : " named axis arguments values ", i,
		d));
	TRY(read_axis(pb, cJSON_GetObjectItemCaseSensitive(o, "axis"), &t->axis, i, d));
	if (values && cJSON_GetObjectItemCaseSensitive(o, "arguments"))
		return bad(d, i, "'arguments' and 'values' exclude each other");
	TRY(read_arguments(pb, cJSON_GetObjectItemCaseSensitive(o, "arguments"), t, false, i, d));
	t->role = role_action_find(name);
	if (t->role < ROLE_ACTION_COUNT) {
		t->kind = TACTIC_NAMED;
		t->dimension = DIM_KEEP;
		snprintf(t->title, sizeof t->title, "%s", name);
		return values ? schedule_values(pb, values, t, i, d) : ST_OK;
	}
	return diag_set(d, ST_ERR_INVALID,
		"schedule: tactics[%u]: unknown tactic '%s', expected data_parallel, zero2, zero3 or "
		"replicate",
		i, name);
}

static status read_auto(problem *pb, const cJSON *o, tactic *t, uint32_t i, diag *d)
{
	TRY(only_keys(o, " axes objective arguments evaluations ", i, d));
	t->kind = TACTIC_AUTO;
	t->objective = pb->o->objective;
	const cJSON *axes_json = cJSON_GetObjectItemCaseSensitive(o, "axes"),
				*objective_json = cJSON_GetObjectItemCaseSensitive(o, "objective");
	if (axes_json && !cJSON_IsArray(axes_json))
		return bad(d, i, "'axes' must be a list of mesh axes");
	for (const cJSON *c = axes_json ? axes_json->child : NULL; c; c = c->next) {
		uint32_t axis;
		TRY(read_axis(pb, c, &axis, i, d));
		t->axis_mask |= 1u << axis;
	}
	if (!t->axis_mask)
		t->axis_mask = UINT32_MAX;
	if (objective_json) {
		if (!cJSON_IsString(objective_json) ||
			(strcmp(objective_json->valuestring, "runtime") &&
				strcmp(objective_json->valuestring, "memory")))
			return bad(d, i, "'objective' must be runtime or memory");
		t->objective = objective_json->valuestring[0] == 'm' ? OBJECTIVE_MEMORY : OBJECTIVE_RUNTIME;
	}
	TRY(read_arguments(pb, cJSON_GetObjectItemCaseSensitive(o, "arguments"), t, false, i, d));
	TRY(number(o, "evaluations", &t->evaluations, i, d));
	snprintf(t->title, sizeof t->title, "auto");
	return ST_OK;
}

static status read_polish(const cJSON *o, tactic *t, uint32_t i, diag *d)
{
	TRY(only_keys(o, " evaluations ", i, d));
	t->kind = TACTIC_POLISH;
	TRY(number(o, "evaluations", &t->evaluations, i, d));
	snprintf(t->title, sizeof t->title, "polish");
	return ST_OK;
}

static status read_tactics(problem *pb, const cJSON *root, tactic_list *out, diag *d)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "tactics");
	if (!cJSON_IsObject(root) || !cJSON_IsArray(list))
		return diag_set(d, ST_ERR_INVALID, "schedule: expected an object {\"tactics\":[..]}");
	for (const cJSON *c = root->child; c; c = c->next)
		if (strcmp(c->string, "tactics") && strcmp(c->string, "groups"))
			return diag_set(d, ST_ERR_INVALID,
				"schedule: unknown key '%s', expected tactics or groups", c->string);
	uint32_t i = 0;
	for (const cJSON *c = list->child; c; c = c->next, i++) {
		tactic t = {.objective = pb->o->objective};
		const cJSON *named = cJSON_GetObjectItemCaseSensitive(c, "named"), *inner = c->child;
		if (!cJSON_IsObject(c) || !inner)
			return bad(
				d, i, "expected {\"manual\":..}, {\"named\":..}, {\"auto\":..} or {\"polish\":..}");
		if (named && cJSON_IsString(named))
			TRY(read_named(pb, c, named->valuestring, &t, i, d));
		else if (!cJSON_IsObject(inner) || inner->next)
			return bad(d, i,
				"expected one of manual, auto, polish with an object, or named with a string");
		else if (!strcmp(inner->string, "manual"))
			TRY(read_manual(pb, inner, &t, i, d));
		else if (!strcmp(inner->string, "auto"))
			TRY(read_auto(pb, inner, &t, i, d));
		else if (!strcmp(inner->string, "polish"))
			TRY(read_polish(inner, &t, i, d));
		else
			return diag_set(
				d, ST_ERR_INVALID, "schedule: tactics[%u]: unknown tactic '%s'", i, inner->string);
		if (out->n >= MAX_PLAN)
			return diag_set(d, ST_ERR_LIMIT, "schedule: more than %d tactics", MAX_PLAN);
		vec_push(out, t);
	}
	return ST_OK;
}

static status parse_schedule(const char *json, cJSON **out, diag *d)
{
	const char *end = NULL;
	*out = cJSON_ParseWithLengthOpts(json, strlen(json) + 1, &end, 1);
	if (!*out)
		return diag_at(d, json, strlen(json), end ? (size_t)(end - json) : 0, ST_ERR_PARSE,
			"schedule: invalid JSON");
	return ST_OK;
}

static bool has_group(const group_list *l, const char *glob)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (!strcmp(l->p[i], glob))
			return true;
	return false;
}

static status read_groups(const cJSON *list, arena *mem, group_list *out, diag *d)
{
	if (list && !cJSON_IsArray(list))
		return diag_set(
			d, ST_ERR_INVALID, "schedule: 'groups' must be a list of globs over argument names");
	uint32_t i = 0;
	for (const cJSON *c = list ? list->child : NULL; c; c = c->next, i++) {
		if (!cJSON_IsString(c) || !*c->valuestring)
			return diag_set(
				d, ST_ERR_INVALID, "schedule: groups[%u]: expected a glob over argument names", i);
		if (!has_group(out, c->valuestring))
			vec_push(out, arena_strdup(mem, c->valuestring, strlen(c->valuestring)));
	}
	return ST_OK;
}

status schedule_groups(const search_options *o, arena *mem, group_list *out, diag *d)
{
	cJSON *root = NULL;
	for (uint32_t i = 0; i < o->n_groups; i++)
		if (!has_group(out, o->groups[i]))
			vec_push(out, o->groups[i]);
	if (o->schedule_json)
		TRY(parse_schedule(o->schedule_json, &root, d));
	status s = read_groups(cJSON_GetObjectItemCaseSensitive(root, "groups"), mem, out, d);
	cJSON_Delete(root);
	if (s == ST_OK && out->n > MAX_GROUPS)
		s = diag_set(d, ST_ERR_LIMIT, "more than %d groups", MAX_GROUPS);
	return s;
}

status schedule_read(problem *pb, const char *json, tactic_list *out, diag *d)
{
	if (!json) {
		vec_push(out,
			(tactic){.kind = TACTIC_AUTO,
				.axis_mask = UINT32_MAX,
				.objective = pb->o->objective,
				.title = "auto"});
		return ST_OK;
	}
	cJSON *root;
	TRY(parse_schedule(json, &root, d));
	status s = read_tactics(pb, root, out, d);
	cJSON_Delete(root);
	return s;
}
