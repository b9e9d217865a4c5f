/* Strategies: reading a document, and the annotated module that carries one. */
#include "search/strategy/strategy.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

void strategy_init(strategy *s, mesh_id mesh, uint32_t n_args, uint32_t n_results)
{
	*s = (strategy){.mesh = mesh, .n_args = n_args, .n_results = n_results};
	s->args = arena_zarray(&s->mem, sharding_id, n_args + 1);
	s->results = arena_zarray(&s->mem, sharding_id, n_results + 1);
	s->propagated = arena_zarray(&s->mem, sharding_id, n_args + 1);
}

void strategy_release(strategy *s)
{
	arena_release(&s->mem);
	*s = (strategy){0};
}

static str copy_str(arena *a, str s) { return (str){arena_strdup(a, s.p, s.n), s.n}; }

void strategy_copy(strategy *to, const strategy *from)
{
	strategy_init(to, from->mesh, from->n_args, from->n_results);
	to->apply = from->apply;
	to->trip_count = from->trip_count;
	to->simpler = from->simpler;
	to->n_compiler_options = from->n_compiler_options;
	to->compiler_options =
		arena_array(&to->mem, strategy_compiler_option, from->n_compiler_options);
	for (uint32_t i = 0; i < from->n_compiler_options; i++)
		to->compiler_options[i] =
			(strategy_compiler_option){copy_str(&to->mem, from->compiler_options[i].name),
				copy_str(&to->mem, from->compiler_options[i].value)};
	to->has_links = from->has_links;
	for (uint32_t i = 0; i < MAX_MESH_AXES; i++)
		to->axis_links[i] = from->axis_links[i]
			? arena_strdup(&to->mem, from->axis_links[i], strlen(from->axis_links[i]))
			: NULL;
	memcpy(to->args, from->args, from->n_args * sizeof *to->args);
	memcpy(to->results, from->results, from->n_results * sizeof *to->results);
	memcpy(to->propagated, from->propagated, from->n_args * sizeof *to->propagated);
	to->n_constraints = from->n_constraints;
	to->constraints = arena_array(&to->mem, strategy_constraint, from->n_constraints);
	for (uint32_t i = 0; i < from->n_constraints; i++) {
		to->constraints[i] = from->constraints[i];
		to->constraints[i].function = copy_str(&to->mem, from->constraints[i].function);
		to->constraints[i].location = copy_str(&to->mem, from->constraints[i].location);
	}
	to->n_actions = from->n_actions;
	to->actions = arena_array(&to->mem, strategy_action, from->n_actions);
	for (uint32_t i = 0; i < from->n_actions; i++) {
		strategy_action *a = &to->actions[i];
		*a = from->actions[i];
		a->tactic = copy_str(&to->mem, a->tactic);
		uint32_t *members = arena_array(&to->mem, uint32_t, a->n_members);
		memcpy(members, a->members, a->n_members * sizeof *members);
		a->members = members;
		uint32_t *sites = arena_array(&to->mem, uint32_t, a->n_sites);
		if (a->n_sites)
			memcpy(sites, a->sites, a->n_sites * sizeof *sites);
		a->sites = sites;
	}
}

/* ---------------------------------------------------------------- reading */

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

/* Pre-order index -> op of a function; ID_NONE beyond its end. */
static op_id op_by_index(const module *m, op_id function, uint32_t index)
{
	op_id o = op_walk_next(m, function, function);
	while (o != ID_NONE && index--)
		o = op_walk_next(m, function, o);
	return o;
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

mesh_id module_own_mesh(const module *m, mesh_id wanted)
{
	sharding_table *t = m->shardings;
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = m->ops.p[o].next) {
		if (m->ops.p[o].kind != OP_SDY_MESH)
			continue;
		mesh_id own = mesh_declared(m, o);
		if (own == ID_NONE || !mesh_same_devices(t, own, wanted))
			continue;
		const device_mesh *a = &t->meshes.p[own], *b = &t->meshes.p[wanted];
		bool names = a->n_axes == b->n_axes;
		for (uint32_t i = 0; names && i < a->n_axes; i++)
			names = a->axis_names[i] == b->axis_names[i];
		if (names)
			return own;
	}
	return ID_NONE;
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

void strategy_choose_options(strategy *s, const device *dev, uint32_t chosen)
{
	s->n_compiler_options = 0;
	s->compiler_options = arena_array(&s->mem, strategy_compiler_option, MAX_COMPILER_OPTIONS);
	for (uint32_t i = 0; i < dev->n_compiler_options; i++)
		if (chosen >> i & 1)
			s->compiler_options[s->n_compiler_options++] =
				(strategy_compiler_option){copy_str(&s->mem, str_of(dev->compiler_options[i].name)),
					copy_str(&s->mem, str_of(dev->compiler_options[i].value))};
}

const strategy_compiler_option *strategy_device(const strategy *s, const device *dev, device *out)
{
	uint32_t chosen = 0;
	const strategy_compiler_option *unknown = NULL;
	for (uint32_t i = 0; i < s->n_compiler_options; i++) {
		const strategy_compiler_option *option = &s->compiler_options[i];
		uint32_t k = device_option(dev, option->name, option->value);
		if (k != UINT32_MAX)
			chosen |= 1u << k;
		else if (!unknown)
			unknown = option;
	}
	device_with_options(dev, chosen, out);
	return unknown;
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
	TRY(read_compiler_options(r, root));
	simpler_from_json(root, &r->s->simpler);
	snprintf(device_name, 64, "%s", cJSON_IsString(name) ? name->valuestring : "");
	*memory_limit = cJSON_IsNumber(limit) && limit->valuedouble > 0 && limit->valuedouble < 9e15
		? (int64_t)limit->valuedouble
		: 0;
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

/* ---------------------------------------------------------------- applying */

static void set_module_attr(module *m, const char *name, attr_id value)
{
	VEC(named_attr) list = {0};
	str_id id = strtab_add(&m->strs, str_of(name));
	if (m->module_attrs != ID_NONE) {
		const attr *old = attr_get(m, m->module_attrs);
		for (uint32_t i = 0; i < old->n; i++)
			if (old->children[i].name != id)
				vec_push(&list, old->children[i]);
	}
	vec_push(&list, (named_attr){id, value});
	named_attr *own = arena_array(&m->mem, named_attr, list.n);
	memcpy(own, list.p, list.n * sizeof *own);
	m->module_attrs =
		attr_new(m, &(attr){.kind = ATTR_DICT, .type = ID_NONE, .n = list.n, .children = own});
	vec_release(&list);
}

static bool declares(const module *m, mesh_id mesh)
{
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = m->ops.p[o].next)
		if (m->ops.p[o].kind == OP_SDY_MESH && mesh_declared(m, o) == mesh)
			return true;
	return false;
}

static bool mesh_used(const module *m, mesh_id mesh)
{
	for (value_id v = 0; v < m->values.n; v++) {
		sharding_id id = m->values.p[v].sharding;
		if (id != SHARDING_NONE && sharding_get(m->shardings, id)->mesh == mesh)
			return true;
	}
	return false;
}

static sharding_id on_mesh(sharding_table *t, sharding_id id, mesh_id mesh)
{
	if (id == SHARDING_NONE)
		return id;
	const device_mesh *at = &t->meshes.p[sharding_get(t, id)->mesh];
	if (at->n_axes || at->maximal)
		return id;
	sharding_edit e;
	sharding_to_edit(t, id, &e);
	e.mesh = mesh;
	return sharding_intern(t, &e);
}

void module_fill_empty_mesh(module *m, mesh_id mesh)
{
	for (value_id v = 0; v < m->values.n; v++)
		m->values.p[v].sharding = on_mesh(m->shardings, m->values.p[v].sharding, mesh);
	for (uint32_t f = 0; f < m->funcs.n; f++)
		for (uint32_t i = 0; i < m->funcs.p[f].n_results; i++)
			m->funcs.p[f].result_shardings[i] =
				on_mesh(m->shardings, m->funcs.p[f].result_shardings[i], mesh);
}

/* An emitted module has one mesh: the strategy's. Declarations that nothing uses give way to it.
 * Those of one device stay: a callback runs there. */
static status declare_mesh(module *m, mesh_id mesh, diag *d)
{
	module_fill_empty_mesh(m, mesh);
	op_id next;
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = next) {
		next = m->ops.p[o].next;
		if (m->ops.p[o].kind != OP_SDY_MESH)
			continue;
		mesh_id other = mesh_declared(m, o);
		if (other == mesh || (other != ID_NONE && m->shardings->meshes.p[other].maximal))
			continue;
		if (other != ID_NONE && mesh_used(m, other))
			return op_error(m, o, d, ST_ERR_INVALID,
				"the module has shardings on this mesh, the strategy is for another");
		op_erase(m, o);
	}
	if (declares(m, mesh))
		return ST_OK;
	mesh_declare(m, mesh);
	return ST_OK;
}

static bool same_cut(const sharding_table *t, sharding_id a, sharding_id b)
{
	if (a == SHARDING_NONE || b == SHARDING_NONE)
		return a == b;
	const sharding *x = sharding_get(t, a), *y = sharding_get(t, b);
	if (x->rank != y->rank)
		return false;
	for (uint32_t d = 0; d < x->rank; d++)
		if (!axes_equal(sharding_dim(x, d), sharding_dim(y, d)))
			return false;
	return true;
}

/* Whether a donated argument and its result have shards of one shape whatever propagation does with
 * what nobody decided. */
static bool surely_same_cut(const module *m, sharding_id a, sharding_id b, const ir_type *ty)
{
	if (a == SHARDING_NONE && b == SHARDING_NONE)
		return ty->rank == 0;
	return same_cut(m->shardings, a, b);
}

/* XLA refuses an alias between buffers of different shard shapes: such a donation is only an offer,
 * which it takes where they are equal. */
static void soften_donation(module *m, func *main, uint32_t arg)
{
	attr_id dict = main->arg_attrs[arg];
	attr_id target = dict == ID_NONE ? ID_NONE : attr_child(m, dict, "tf.aliasing_output");
	if (target == ID_NONE)
		return;
	int64_t r = attr_get(m, target)->i;
	value_id v = op_region(m, main->op, 0)->args + arg;
	if (r < 0 || r >= main->n_results ||
		surely_same_cut(m, m->values.p[v].sharding, main->result_shardings[r], value_type(m, v)))
		return;
	main->arg_attrs[arg] = attr_offer_donation(m, dict);
}

static status add_constraints(module *m, const strategy *s, diag *d)
{
	/* Ops first, since indices count those of the input module. */
	op_id *at = xmalloc((s->n_constraints + 1) * sizeof *at);
	status st = ST_OK;
	for (uint32_t i = 0; i < s->n_constraints && st == ST_OK; i++) {
		func *f = module_func_named(m, s->constraints[i].function);
		at[i] = f ? op_by_index(m, f->op, s->constraints[i].op) : ID_NONE;
		if (at[i] == ID_NONE || s->constraints[i].result >= m->ops.p[at[i]].n_results)
			st = diag_set(
				d, ST_ERR_INVALID, "strategy: constraints[%u] names no value of this module", i);
	}
	for (uint32_t i = 0; i < s->n_constraints && st == ST_OK; i++) {
		value_id v = op_result(m, at[i], s->constraints[i].result);
		type_id ty = m->values.p[v].type;
		op_id c = op_new(m, OP_SDY_SHARDING_CONSTRAINT,
			strtab_add(&m->strs, STR("sdy.sharding_constraint")), &v, 1, &ty, 1, 0,
			m->ops.p[at[i]].loc);
		m->values.p[op_result(m, c, 0)].sharding = s->constraints[i].sharding;
		op_insert_after(m, c, at[i]);
		value_replace_uses(m, v, op_result(m, c, 0), c);
	}
	free(at);
	return st;
}

status strategy_apply(const module *m, const strategy *s, module **out, diag *d)
{
	*out = NULL;
	module *c = module_clone(m);
	func *main = module_main(c);
	status st = main && main->n_args == s->n_args && main->n_results == s->n_results
		? module_take_gspmd(c, s->mesh, d)
		: diag_set(d, ST_ERR_INVALID, "the strategy is for a main with %u arguments and %u results",
			  s->n_args, s->n_results);
	if (st == ST_OK)
		st = declare_mesh(c, s->mesh, d);
	if (st == ST_OK)
		st = add_constraints(c, s, d);
	if (st != ST_OK) {
		module_free(c);
		return st;
	}
	main = module_main(c);
	value_id args = op_region(c, main->op, 0)->args;
	for (uint32_t a = 0; a < s->n_args; a++)
		if (s->args[a] != SHARDING_NONE)
			c->values.p[args + a].sharding = s->args[a];
	for (uint32_t r = 0; r < s->n_results; r++)
		if (s->results[r] != SHARDING_NONE)
			main->result_shardings[r] = s->results[r];
	for (uint32_t a = 0; a < s->n_args; a++)
		soften_donation(c, main, a);
	set_module_attr(
		c, "mhlo.num_partitions", attr_int(c, c->shardings->meshes.p[s->mesh].n_devices, "i32"));
	set_module_attr(c, "mhlo.num_replicas", attr_int(c, 1, "i32"));
	*out = c;
	return ST_OK;
}

status strategy_write(const module *m, const strategy *s, const device *dev, strbuf *out, diag *d)
{
	module *annotated;
	evaluation ev;
	TRY(strategy_apply(m, s, &annotated, d));
	status st = ST_OK;
	device own;
	strategy_device(s, dev, &own);
	if (s->apply == APPLY_ANNOTATE) {
		module_print(annotated, &(print_options){.locations = true}, out);
	} else if ((st = simulate_module(annotated, &own, s->apply, s->has_links ? s->axis_links : NULL,
					NULL, &ev, d)) == ST_OK) { /* lowered, not costed */
		st = lower_emit_mlir(ev.low, EMIT_GLOBAL, out, d);
		evaluation_release(&ev);
	}
	module_free(annotated);
	return st;
}
