/* Reads a strategy from its document. */
#include "search/strategy/strategy.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

typedef struct reader {
	const module *m;
	sharding_table *t;
	const func *main;
	strategy *s;
	diag *d;
} reader;

static status read_sharding(
	reader *r, const cJSON *entry, const ir_type *ty, const char *what, sharding_id *out)
{
	const cJSON *sh = cJSON_GetObjectItemCaseSensitive(entry, "sharding"),
				*priority = cJSON_GetObjectItemCaseSensitive(entry, "priority");
	*out = SHARDING_NONE;
	if (!sh || cJSON_IsNull(sh))
		return ST_OK;
	sharding_edit *e = xmalloc(sizeof *e);
	diag own = {0};
	char why[256];
	status st = sharding_from_json(r->t, r->s->mesh, sh, ty->rank, e, &own);
	uint32_t d = 0;
	if (st == ST_OK && cJSON_IsArray(priority))
		for (const cJSON *p = priority->child; p && d < e->rank; p = p->next, d++)
			if (cJSON_IsNumber(p) && p->valuedouble > 0 && p->valuedouble < INT16_MAX &&
				(e->dims[d].axes.n || !e->dims[d].closed))
				e->dims[d].priority = (int16_t)p->valuedouble;
	if (st != ST_OK)
		diag_set(r->d, st, "strategy: sharding of %s: %s", what, own.msg);
	else if (!sharding_check(r->t, e, ty, why, sizeof why))
		st = diag_set(r->d, ST_ERR_INVALID, "strategy: sharding of %s: %s", what, why);
	else
		*out = sharding_intern(r->t, e);
	free(e);
	return st;
}

/* One entry of "arguments" or "results": by index, or by glob over names for hand-written
 * documents. */
static status read_entry(reader *r, const cJSON *entry, bool result, uint32_t at)
{
	const char *list = result ? "results" : "arguments";
	uint32_t n = result ? r->main->n_results : r->main->n_args;
	sharding_id *into = result ? r->s->results : r->s->args;
	const cJSON *index = cJSON_GetObjectItemCaseSensitive(entry, "index"),
				*name = cJSON_GetObjectItemCaseSensitive(entry, "name");
	char what[64];
	value_id args = op_region(r->m, r->main->op, 0)->args;
	if (!cJSON_IsObject(entry))
		return diag_set(r->d, ST_ERR_INVALID, "strategy: %s[%u]: expected an object", list, at);
	if (cJSON_IsNumber(index)) {
		if (index->valuedouble < 0 || index->valuedouble >= n ||
			index->valuedouble != (double)(uint32_t)index->valuedouble)
			return diag_set(r->d, ST_ERR_INVALID, "strategy: %s[%u]: index %g, but main has %u",
				list, at, index->valuedouble, n);
		uint32_t i = (uint32_t)index->valuedouble;
		snprintf(what, sizeof what, "%s[%u]", list, at);
		return read_sharding(r, entry,
			result ? type_get(r->m, r->main->result_types[i]) : value_type(r->m, args + i), what,
			&into[i]);
	}
	if (result || !cJSON_IsString(name))
		return diag_set(r->d, ST_ERR_INVALID, "strategy: %s[%u]: expected an 'index'%s", list, at,
			result ? "" : " or a 'name'");
	bool hit = false;
	strbuf own = {0};
	status st = ST_OK;
	for (uint32_t i = 0; i < n && st == ST_OK; i++) {
		strbuf_clear(&own);
		module_arg_name(r->m, i, &own);
		if (!glob_match(name->valuestring, (str){own.p, own.n}))
			continue;
		hit = true;
		snprintf(what, sizeof what, "argument %.48s", own.p);
		st = read_sharding(r, entry, value_type(r->m, args + i), what, &into[i]);
	}
	strbuf_release(&own);
	if (st == ST_OK && !hit)
		return diag_set(r->d, ST_ERR_INVALID, "strategy: '%s' names no argument of the module",
			name->valuestring);
	return st;
}

static status read_constraint(reader *r, const cJSON *entry, uint32_t at)
{
	const cJSON *function = cJSON_GetObjectItemCaseSensitive(entry, "function"),
				*op = cJSON_GetObjectItemCaseSensitive(entry, "op"),
				*result = cJSON_GetObjectItemCaseSensitive(entry, "result"),
				*location_json = cJSON_GetObjectItemCaseSensitive(entry, "location");
	str fname = cJSON_IsString(function) ? str_of(function->valuestring) : STR("main");
	func *f = module_func_named((module *)(uintptr_t)r->m, fname);
	if (!f || !cJSON_IsNumber(op) || op->valuedouble < 0 || op->valuedouble > UINT32_MAX)
		return diag_set(r->d, ST_ERR_INVALID,
			"strategy: constraints[%u]: expected a 'function' of the module and an 'op' index", at);
	strategy_constraint *c = &r->s->constraints[r->s->n_constraints];
	*c = (strategy_constraint){.op = (uint32_t)op->valuedouble,
		.result =
			cJSON_IsNumber(result) && result->valuedouble >= 0 ? (uint32_t)result->valuedouble : 0};
	op_id o = op_by_index(r->m, f->op, c->op);
	if (o == ID_NONE || c->result >= r->m->ops.p[o].n_results)
		return diag_set(r->d, ST_ERR_INVALID,
			"strategy: constraints[%u]: function " STR_FMT " has no op %u with result %u", at,
			STR_ARG(fname), c->op, c->result);
	char what[64];
	snprintf(what, sizeof what, "constraints[%u]", at);
	TRY(read_sharding(
		r, entry, value_type(r->m, op_result(r->m, o, c->result)), what, &c->sharding));
	if (c->sharding == SHARDING_NONE)
		return diag_set(
			r->d, ST_ERR_INVALID, "strategy: constraints[%u]: expected a 'sharding'", at);
	c->function = copy_str(&r->s->mem, fname);
	c->location = copy_str(
		&r->s->mem, cJSON_IsString(location_json) ? str_of(location_json->valuestring) : STR(""));
	r->s->n_constraints++;
	return ST_OK;
}

static status read_action(reader *r, const cJSON *entry, uint32_t at)
{
	static const char *const kinds[] = {[ACTION_PARTITION] = "partition",
		[ACTION_REPLICATE] = "replicate",
		[ACTION_CONSTRAIN] = "constrain"};
	const cJSON *tactic = cJSON_GetObjectItemCaseSensitive(entry, "tactic"),
				*kind = cJSON_GetObjectItemCaseSensitive(entry, "kind"),
				*members = cJSON_GetObjectItemCaseSensitive(entry, "members"),
				*dimension = cJSON_GetObjectItemCaseSensitive(entry, "dimension"),
				*axis = cJSON_GetObjectItemCaseSensitive(entry, "axis"),
				*step = cJSON_GetObjectItemCaseSensitive(entry, "step"),
				*sites = cJSON_GetObjectItemCaseSensitive(entry, "constraints");
	uint32_t k = 0, size = (uint32_t)cJSON_GetArraySize(members);
	while (k < COUNT_OF(kinds) && !(cJSON_IsString(kind) && !strcmp(kind->valuestring, kinds[k])))
		k++;
	uint32_t index = cJSON_IsString(axis)
		? mesh_axis_find(r->t, r->s->mesh, str_of(axis->valuestring))
		: ID_NONE;
	if (k == COUNT_OF(kinds) || !cJSON_IsArray(members) || index == ID_NONE ||
		(dimension &&
			(!cJSON_IsNumber(dimension) || dimension->valuedouble < 0 ||
				dimension->valuedouble >= MAX_RANK)))
		return diag_set(r->d, ST_ERR_INVALID,
			"strategy: actions[%u]: expected a 'kind' (partition, replicate or constrain), "
			"'members', 'dimension' and an 'axis' of the mesh",
			at);
	strategy_action *a = &r->s->actions[r->s->n_actions];
	uint32_t *own = arena_array(&r->s->mem, uint32_t, size);
	*a = (strategy_action){.tactic = copy_str(&r->s->mem,
							   cJSON_IsString(tactic) ? str_of(tactic->valuestring) : STR("")),
		.kind = (action_kind)k,
		.members = own,
		.dimension = dimension ? (uint32_t)dimension->valuedouble : 0,
		.axis = index,
		.step = cJSON_IsNumber(step) && step->valuedouble >= 0 && step->valuedouble < UINT32_MAX
			? (uint32_t)step->valuedouble
			: at};
	for (const cJSON *m = members->child; m; m = m->next) {
		if (!cJSON_IsNumber(m) || m->valuedouble < 0 || m->valuedouble >= r->main->n_args)
			return diag_set(r->d, ST_ERR_INVALID,
				"strategy: actions[%u]: 'members' must be indices of arguments, main has %u", at,
				r->main->n_args);
		own[a->n_members++] = (uint32_t)m->valuedouble;
	}
	uint32_t *own_sites =
		arena_array(&r->s->mem, uint32_t, cJSON_IsArray(sites) ? cJSON_GetArraySize(sites) : 0);
	a->sites = own_sites;
	for (const cJSON *m = cJSON_IsArray(sites) ? sites->child : NULL; m; m = m->next) {
		if (!cJSON_IsNumber(m) || m->valuedouble < 0 || m->valuedouble >= r->s->n_constraints)
			return diag_set(r->d, ST_ERR_INVALID,
				"strategy: actions[%u]: 'constraints' must be indices into the %u constraints", at,
				r->s->n_constraints);
		own_sites[a->n_sites++] = (uint32_t)m->valuedouble;
	}
	r->s->n_actions++;
	return ST_OK;
}

static status read_compiler_options(reader *r, const cJSON *root)
{
	const cJSON *options = cJSON_GetObjectItemCaseSensitive(root, "compiler_options");
	if (options && !cJSON_IsObject(options))
		return diag_set(r->d, ST_ERR_INVALID,
			"strategy: 'compiler_options': expected an object of names and values");
	uint32_t size = (uint32_t)cJSON_GetArraySize(options);
	r->s->compiler_options = arena_zarray(&r->s->mem, strategy_compiler_option, size);
	for (const cJSON *c = options ? options->child : NULL; c; c = c->next) {
		if (!cJSON_IsString(c))
			return diag_set(r->d, ST_ERR_INVALID,
				"strategy: 'compiler_options': '%.60s': expected a string", c->string);
		r->s->compiler_options[r->s->n_compiler_options++] = (strategy_compiler_option){
			copy_str(&r->s->mem, str_of(c->string)), copy_str(&r->s->mem, str_of(c->valuestring))};
	}
	return ST_OK;
}

/* How the plan is applied, and what its cost counts loops as. */
static status read_way(reader *r, const cJSON *root)
{
	const cJSON *apply = cJSON_GetObjectItemCaseSensitive(root, "apply");
	if (apply && (!cJSON_IsString(apply) || !apply_find(apply->valuestring, &r->s->apply)))
		return diag_set(
			r->d, ST_ERR_INVALID, "strategy: 'apply': expected \"exact\" or \"annotate\"");
	const cJSON *reshards = cJSON_GetObjectItemCaseSensitive(root, "reshard_after_forward");
	if (reshards && !cJSON_IsBool(reshards))
		return diag_set(
			r->d, ST_ERR_INVALID, "strategy: 'reshard_after_forward': expected true or false");
	if (cJSON_IsTrue(reshards) && !apply_is_exact(r->s->apply))
		return diag_set(r->d, ST_ERR_INVALID,
			"strategy: 'reshard_after_forward' is for plans that are applied exactly: expected "
			"\"apply\": \"exact\"");
	if (cJSON_IsTrue(reshards))
		r->s->apply = APPLY_EXACT_RESHARDED;
	const cJSON *trips = cJSON_GetObjectItemCaseSensitive(root, "trip_count");
	if (trips &&
		(!cJSON_IsNumber(trips) || trips->valuedouble < 1 || trips->valuedouble > MOST_TRIPS ||
			trips->valuedouble != (double)(int64_t)trips->valuedouble))
		return diag_set(r->d, ST_ERR_INVALID,
			"strategy: 'trip_count': expected a whole number from 1 to %d", MOST_TRIPS);
	r->s->trip_count = trips ? (int64_t)trips->valuedouble : 0;
	return ST_OK;
}

static status read_lists(reader *r, const cJSON *root)
{
	enum { ARGUMENTS, RESULTS, CONSTRAINTS, ACTIONS, LISTS };
	static const char *const names[LISTS] = {"arguments", "results", "constraints", "actions"};
	for (int k = 0; k < LISTS; k++) {
		const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, names[k]);
		if (list && !cJSON_IsArray(list))
			return diag_set(r->d, ST_ERR_INVALID, "strategy: '%s' must be a list", names[k]);
		uint32_t at = 0, size = (uint32_t)cJSON_GetArraySize(list);
		if (k == CONSTRAINTS)
			r->s->constraints = arena_zarray(&r->s->mem, strategy_constraint, size);
		if (k == ACTIONS)
			r->s->actions = arena_zarray(&r->s->mem, strategy_action, size);
		for (const cJSON *c = list ? list->child : NULL; c; c = c->next, at++)
			TRY(k == CONSTRAINTS   ? read_constraint(r, c, at)
					: k == ACTIONS ? read_action(r, c, at)
								   : read_entry(r, c, k == RESULTS, at));
	}
	return ST_OK;
}

static status read_root(reader *r, const cJSON *root, char device_name[64], int64_t *memory_limit)
{
	const cJSON *mesh = cJSON_GetObjectItemCaseSensitive(root, "mesh"),
				*name = cJSON_GetObjectItemCaseSensitive(root, "device"),
				*limit = cJSON_GetObjectItemCaseSensitive(root, "memory_limit_bytes");
	if (!cJSON_IsObject(root) || !mesh)
		return diag_set(r->d, ST_ERR_INVALID, "strategy: expected a document with a 'mesh'");
	mesh_spec spec;
	if (cJSON_IsString(mesh))
		TRY(mesh_from_text(r->t, mesh->valuestring, &spec, r->d));
	else
		TRY(mesh_from_json(r->t, mesh, &spec, r->d));
	mesh_id own = module_own_mesh(r->m, spec.mesh);
	strategy_init(r->s, own != ID_NONE ? own : spec.mesh, r->main->n_args, r->main->n_results);
	for (uint32_t i = 0; i < r->t->meshes.p[spec.mesh].n_axes; i++)
		if (spec.links[i]) {
			str link = strtab_get(&r->t->names, spec.links[i]);
			r->s->axis_links[i] = arena_strdup(&r->s->mem, link.p, link.n);
			r->s->has_links = true;
		}
	TRY(read_way(r, root));
	TRY(read_compiler_options(r, root));
	simpler_from_json(root, &r->s->simpler);
	snprintf(device_name, 64, "%s", cJSON_IsString(name) ? name->valuestring : "");
	*memory_limit = cJSON_IsNumber(limit) && limit->valuedouble > 0 && limit->valuedouble < 9e15
		? (int64_t)limit->valuedouble
		: 0;
	return read_lists(r, root);
}

status strategy_read(const module *m, const char *json, size_t n, strategy *out,
	char device_name[64], int64_t *memory_limit, diag *d)
{
	*out = (strategy){0};
	const char *end = NULL;
	func *main = module_main((module *)(uintptr_t)m);
	if (!main)
		return diag_set(d, ST_ERR_INVALID, "the module has no function 'main'");
	cJSON *root = cJSON_ParseWithLengthOpts(json, n + 1, &end, 1);
	if (!root)
		return diag_at(
			d, json, n, end ? (size_t)(end - json) : 0, ST_ERR_PARSE, "strategy: invalid JSON");
	reader r = {m, m->shardings, main, out, d};
	status s = read_root(&r, root, device_name, memory_limit);
	cJSON_Delete(root);
	if (s != ST_OK)
		strategy_release(out);
	return s;
}
