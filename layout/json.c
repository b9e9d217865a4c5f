#include "layout/pieces.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- reading shardings */

/* Where a value stands, for messages: "dims[1]", "replicated". */
struct place {
	const char *list;
	int64_t index; /* -1: none */
};

static status fail_at(struct place p, diag *d, status code, const char *fmt, ...) PRINTF_LIKE(4, 5);
static status fail_at(struct place p, diag *d, status code, const char *fmt, ...)
{
	char msg[320];
	va_list args;
	va_start(args, fmt);
	vsnprintf(msg, sizeof msg, fmt, args);
	va_end(args);
	if (p.index < 0)
		return diag_set(d, code, "%s: %s", p.list, msg);
	return diag_set(d, code, "%s[%lld]: %s", p.list, (long long)p.index, msg);
}

static status unknown_axis(const sharding_table *t, mesh_id m, str name, struct place p, diag *d)
{
	char hint[160];
	nearest near = {.wanted = name};
	for (uint32_t i = 0; i < t->meshes.p[m].n_axes; i++)
		nearest_consider(&near, strtab_get(&t->names, t->meshes.p[m].axis_names[i]));
	return fail_at(p, d, ST_ERR_INVALID, "unknown axis name: \"" STR_FMT "\"%s", STR_ARG(name),
		nearest_hint(&near, hint));
}

/* "axis" or "axis:(PRE)SIZE"; an axis that has such a name itself goes first. */
static status read_axis(sharding_table *t, mesh_id m, const cJSON *item, struct place p,
	axes_buf *out, uint32_t *n_refs, diag *d)
{
	if (!cJSON_IsString(item))
		return fail_at(p, d, ST_ERR_INVALID, "expected an axis name as a string");
	str text = str_of(item->valuestring);
	if (*n_refs == MAX_TENSOR_AXES)
		return fail_at(p, d, ST_ERR_LIMIT,
			"axis \"" STR_FMT "\" is one too many: a sharding has at most %d axes", STR_ARG(text),
			MAX_TENSOR_AXES);
	uint32_t axis = mesh_axis_find(t, m, text);
	++*n_refs;
	if (axis != ID_NONE) {
		out->a[out->n++] = mesh_full_axis(t, m, axis);
		return ST_OK;
	}
	const char *open = strstr(item->valuestring, ":("), *close = open ? strchr(open, ')') : NULL;
	int64_t pre, size, next;
	if (!open)
		return unknown_axis(t, m, text, p, d);
	str name = {text.p, (size_t)(open - text.p)};
	axis = mesh_axis_find(t, m, name);
	if (axis == ID_NONE)
		return unknown_axis(t, m, name, p, d);
	if (!close || !str_to_i64((str){open + 2, (size_t)(close - open - 2)}, &pre) ||
		!str_to_i64(str_of(close + 1), &size))
		return fail_at(p, d, ST_ERR_PARSE,
			"expected a sub-axis like \"" STR_FMT ":(2)4\", found \"" STR_FMT "\"", STR_ARG(name),
			STR_ARG(text));
	int64_t full = t->meshes.p[m].axis_sizes[axis];
	if (pre < 1 || size < 2 || !mul_i64(pre, size, &next) || full % next)
		return fail_at(p, d, ST_ERR_INVALID,
			"sub-axis \"" STR_FMT "\" doesn't divide the size of the full axis %lld", STR_ARG(text),
			(long long)full);
	out->a[out->n++] = axis_make(axis, pre, size);
	return ST_OK;
}

static status read_axes(sharding_table *t, mesh_id m, const cJSON *list, struct place p,
	axes_buf *out, uint32_t *n_refs, diag *d)
{
	const cJSON *item;
	if (!cJSON_IsArray(list))
		return fail_at(p, d, ST_ERR_INVALID, "expected a list of axis names");
	cJSON_ArrayForEach(item, list) TRY(read_axis(t, m, item, p, out, n_refs, d));
	return ST_OK;
}

static status read_dims(sharding_table *t, mesh_id m, const cJSON *dims, uint32_t rank,
	sharding_edit *e, uint32_t *n_refs, diag *d)
{
	int64_t n = 0;
	const cJSON *item;
	if (!cJSON_IsArray(dims))
		return diag_set(d, ST_ERR_INVALID, "expected a list of axis names per dimension");
	cJSON_ArrayForEach(item, dims) n++;
	if (n > MAX_RANK)
		return diag_set(d, ST_ERR_LIMIT,
			"the sharding has %lld dimensions, at most %d are supported", (long long)n, MAX_RANK);
	if (rank != ID_NONE && n != rank)
		return diag_set(d, ST_ERR_INVALID, "the sharding has %lld dimensions, the tensor has %u",
			(long long)n, rank);
	sharding_edit_init(e, m, (uint32_t)n, true);
	uint32_t i = 0;
	cJSON_ArrayForEach(item, dims)
	{
		TRY(read_axes(t, m, item, (struct place){"dims", i}, &e->dims[i].axes, n_refs, d));
		i++;
	}
	return ST_OK;
}

/* One entry per dimension, or NULL with ST_OK when the key is absent. */
static status per_dim(
	const cJSON *json, const char *key, uint32_t rank, const cJSON **first, diag *d)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, key);
	*first = NULL;
	if (!list)
		return ST_OK;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != (int)rank)
		return diag_set(
			d, ST_ERR_INVALID, "\"%s\" needs one entry for each of the %u dimensions", key, rank);
	*first = list->child;
	return ST_OK;
}

static status read_open(const cJSON *json, sharding_edit *e, diag *d)
{
	const cJSON *item;
	TRY(per_dim(json, "open", e->rank, &item, d));
	for (uint32_t i = 0; item; item = item->next, i++) {
		if (!cJSON_IsBool(item))
			return fail_at((struct place){"open", i}, d, ST_ERR_INVALID, "expected true or false");
		e->dims[i].closed = !cJSON_IsTrue(item);
	}
	return ST_OK;
}

static status read_priorities(const cJSON *json, sharding_edit *e, diag *d)
{
	const cJSON *item;
	TRY(per_dim(json, "priority", e->rank, &item, d));
	for (uint32_t i = 0; item; item = item->next, i++) {
		double v = cJSON_IsNumber(item) ? item->valuedouble : -1;
		if (!(v >= 0 && v <= INT16_MAX) || v != (double)(int16_t)v)
			return fail_at((struct place){"priority", i}, d, ST_ERR_INVALID,
				"expected a whole number from 0 to %d", INT16_MAX);
		if (v > 0 && !(e->dims[i].closed && e->dims[i].axes.n == 0))
			e->dims[i].priority = (int16_t)v;
	}
	return ST_OK;
}

static status read_extra(sharding_table *t, const cJSON *json, const char *key, sharding_edit *e,
	axes_buf *out, uint32_t *n_refs, diag *d)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, key);
	if (!list)
		return ST_OK;
	TRY(read_axes(t, e->mesh, list, (struct place){key, -1}, out, n_refs, d));
	axes_sort_merge(out);
	return ST_OK;
}

static status read_object(sharding_table *t, mesh_id m, const cJSON *json, uint32_t rank,
	sharding_edit *out, uint32_t *n_refs, diag *d)
{
	static const char *const keys[] = {"dims", "open", "priority", "replicated", "unreduced"};
	const cJSON *item;
	cJSON_ArrayForEach(item, json)
	{
		bool known = false;
		for (size_t i = 0; i < COUNT_OF(keys); i++)
			known = known || strcmp(item->string, keys[i]) == 0;
		if (!known)
			return diag_set(d, ST_ERR_INVALID,
				"unknown key \"%s\" in a sharding, expected dims, open, priority, replicated or "
				"unreduced",
				item->string);
	}
	const cJSON *dims = cJSON_GetObjectItemCaseSensitive(json, "dims");
	if (!dims)
		return diag_set(d, ST_ERR_INVALID, "a sharding object needs \"dims\"");
	TRY(read_dims(t, m, dims, rank, out, n_refs, d));
	TRY(read_open(json, out, d));
	TRY(read_priorities(json, out, d));
	TRY(read_extra(t, json, "replicated", out, &out->replicated, n_refs, d));
	return read_extra(t, json, "unreduced", out, &out->unreduced, n_refs, d);
}

status sharding_from_json(
	sharding_table *t, mesh_id m, const cJSON *json, uint32_t rank, sharding_edit *out, diag *d)
{
	char msg[256];
	uint32_t n_refs = 0;
	if (cJSON_IsObject(json))
		TRY(read_object(t, m, json, rank, out, &n_refs, d));
	else
		TRY(read_dims(t, m, json, rank, out, &n_refs, d));
	if (!sharding_check(t, out, NULL, msg, sizeof msg))
		return diag_set(d, ST_ERR_INVALID, "%s", msg);
	return ST_OK;
}

status json_text_parse(str text, cJSON **out, diag *d)
{
	const char *end = NULL;
	cJSON *json = cJSON_ParseWithLengthOpts(text.p, text.n, &end, false);
	size_t at = end ? (size_t)(end - text.p) : 0;
	while (json && at < text.n && strchr(" \t\r\n", text.p[at]) && text.p[at])
		at++;
	if (!json || at < text.n) {
		cJSON_Delete(json);
		return diag_at(d, text.p, text.n, at, ST_ERR_PARSE,
			json ? "expected the end of the JSON text" : "not valid JSON from here");
	}
	*out = json;
	return ST_OK;
}

status sharding_from_json_text(
	sharding_table *t, mesh_id m, str text, uint32_t rank, sharding_edit *out, diag *d)
{
	cJSON *json;
	TRY(json_text_parse(text, &json, d));
	status s = sharding_from_json(t, m, json, rank, out, d);
	cJSON_Delete(json);
	return s;
}

/* ---------------------------------------------------------------- writing shardings */

static cJSON *axes_to_json(const sharding_table *t, mesh_id m, const axes_buf *l)
{
	const device_mesh *mesh = &t->meshes.p[m];
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t axis = axis_index(l->a[i]);
		strbuf b;
		strbuf_init(&b);
		strbuf_str(&b, strtab_get(&t->names, mesh->axis_names[axis]));
		if (axis_size(l->a[i]) != mesh->axis_sizes[axis])
			strbuf_printf(
				&b, ":(%lld)%lld", (long long)axis_pre(l->a[i]), (long long)axis_size(l->a[i]));
		cJSON_AddItemToArray(list, cJSON_CreateString(b.p ? b.p : ""));
		strbuf_release(&b);
	}
	return list;
}

cJSON *sharding_to_json(const sharding_table *t, const sharding_edit *e)
{
	cJSON *dims = cJSON_CreateArray();
	bool open = false, priority = false;
	for (uint32_t d = 0; d < e->rank; d++) {
		cJSON_AddItemToArray(dims, axes_to_json(t, e->mesh, &e->dims[d].axes));
		open = open || !e->dims[d].closed;
		priority = priority || e->dims[d].priority > 0;
	}
	if (!open && !priority && !e->replicated.n && !e->unreduced.n)
		return dims;

	cJSON *json = cJSON_CreateObject();
	cJSON_AddItemToObject(json, "dims", dims);
	cJSON *opens = cJSON_AddArrayToObject(json, "open"),
		  *priorities = cJSON_AddArrayToObject(json, "priority");
	for (uint32_t d = 0; d < e->rank; d++) {
		cJSON_AddItemToArray(opens, cJSON_CreateBool(!e->dims[d].closed));
		cJSON_AddItemToArray(priorities, cJSON_CreateNumber(MAX(e->dims[d].priority, 0)));
	}
	cJSON_AddItemToObject(json, "replicated", axes_to_json(t, e->mesh, &e->replicated));
	cJSON_AddItemToObject(json, "unreduced", axes_to_json(t, e->mesh, &e->unreduced));
	return json;
}

/* ---------------------------------------------------------------- meshes */

static bool whole_number(const cJSON *item, int64_t *out)
{
	if (!cJSON_IsNumber(item) ||
		!(item->valuedouble >= -9007199254740992.0 && item->valuedouble <= 9007199254740992.0))
		return false;
	*out = (int64_t)item->valuedouble;
	return (double)*out == item->valuedouble;
}

static status read_mesh_axis(sharding_table *t, const cJSON *item, int64_t index, str_id *name,
	int64_t *size, str_id *link, diag *d)
{
	struct place p = {"axes", index};
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(item, "name"),
				*s = cJSON_GetObjectItemCaseSensitive(item, "size");
	const cJSON *l = cJSON_GetObjectItemCaseSensitive(item, "link");
	if (!cJSON_IsObject(item))
		return fail_at(p, d, ST_ERR_INVALID, "expected {\"name\":.., \"size\":..}");
	if (!cJSON_IsString(n) || !n->valuestring[0])
		return fail_at(p, d, ST_ERR_INVALID, "expected a \"name\"");
	/* Names go into quoted MLIR text as they are. */
	for (const char *c = n->valuestring; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == '"' || *c == '\\' || *c == 0x7f)
			return fail_at(p, d, ST_ERR_INVALID,
				"axis name \"%s\" holds a quote, a backslash or a control character",
				n->valuestring);
	if (!whole_number(s, size))
		return fail_at(
			p, d, ST_ERR_INVALID, "axis \"%s\" needs a \"size\", a whole number", n->valuestring);
	if (l && !cJSON_IsNull(l) && !cJSON_IsString(l))
		return fail_at(
			p, d, ST_ERR_INVALID, "the \"link\" of axis \"%s\" is not a string", n->valuestring);
	*name = strtab_add(&t->names, str_of(n->valuestring));
	*link = cJSON_IsString(l) ? strtab_add(&t->names, str_of(l->valuestring)) : 0;
	return ST_OK;
}

/* *ids is NULL when there is no order; freed by caller. */
static status read_device_order(const cJSON *json, int64_t **ids, uint32_t *n, diag *d)
{
	const cJSON *order = cJSON_GetObjectItemCaseSensitive(json, "device_order"), *item;
	VEC(int64_t) list = {0};
	status s = ST_OK;
	*n = 0;
	*ids = NULL;
	if (!order || cJSON_IsNull(order))
		return ST_OK;
	if (!cJSON_IsArray(order))
		return diag_set(d, ST_ERR_INVALID, "device_order: expected a list of device numbers");
	cJSON_ArrayForEach(item, order)
	{
		int64_t id = 0;
		if (list.n == MAX_DEVICES)
			s = fail_at((struct place){"device_order", list.n}, d, ST_ERR_LIMIT,
				"more than %d devices", MAX_DEVICES);
		else if (!whole_number(item, &id))
			s = fail_at((struct place){"device_order", list.n}, d, ST_ERR_INVALID,
				"expected a device number");
		if (s != ST_OK)
			break;
		vec_push(&list, id);
	}
	*ids = list.p;
	*n = list.n;
	return s;
}

status mesh_from_json(sharding_table *t, const cJSON *json, mesh_spec *out, diag *d)
{
	str_id names[MAX_MESH_AXES + 1], links[MAX_MESH_AXES + 1] = {0};
	int64_t sizes[MAX_MESH_AXES + 1], *ids;
	device_mesh m = {
		.name = strtab_add(&t->names, STR("mesh")), .axis_names = names, .axis_sizes = sizes};
	const cJSON *axes_json = cJSON_GetObjectItemCaseSensitive(json, "axes"), *item;
	if (!cJSON_IsObject(json) || !cJSON_IsArray(axes_json) || !axes_json->child)
		return diag_set(d, ST_ERR_INVALID,
			"a mesh is {\"axes\":[{\"name\":\"data\",\"size\":4},..]} with at least one axis");
	cJSON_ArrayForEach(item, axes_json)
	{
		TRY(read_mesh_axis(
			t, item, m.n_axes, &names[m.n_axes], &sizes[m.n_axes], &links[m.n_axes], d));
		if (m.n_axes++ == MAX_MESH_AXES)
			break; /* mesh_check names the limit */
	}
	char msg[256];
	status s = read_device_order(json, &ids, &m.n_device_ids, d);
	m.device_ids = ids;
	if (s == ST_OK && (s = mesh_check(t, &m, NULL, msg, sizeof msg)) != ST_OK)
		diag_set(d, s, "%s", msg);
	if (s == ST_OK) {
		out->mesh = mesh_intern(t, &m);
		memcpy(out->links, links, sizeof out->links);
	}
	free(ids);
	return s;
}

static status mesh_from_json_text(sharding_table *t, str text, mesh_spec *out, diag *d)
{
	cJSON *json;
	TRY(json_text_parse(text, &json, d));
	status s = mesh_from_json(t, json, out, d);
	cJSON_Delete(json);
	return s;
}

status mesh_from_text(sharding_table *t, const char *text, mesh_spec *out, diag *d)
{
	enum { MAX_MESH_FILE = 1 << 28 };
	str s = str_of(text);
	bool is_file =
		s.n && (!memchr(s.p, '=', s.n) || (s.n > 5 && memcmp(s.p + s.n - 5, ".json", 5) == 0));
	if (s.n && s.p[strspn(s.p, " \t\r\n")] == '{')
		return mesh_from_json_text(t, s, out, d);
	if (!is_file) {
		memset(out->links, 0, sizeof out->links);
		return mesh_parse_flag(t, text, &out->mesh, d);
	}
	strbuf bytes;
	strbuf_init(&bytes);
	status r = file_read(text, MAX_MESH_FILE, &bytes, d);
	if (r == ST_ERR_NOT_FOUND && d)
		snprintf(d->msg, sizeof d->msg,
			"mesh '%.200s' is neither axis=size,axis=size,.. nor a file", text);
	if (r == ST_OK)
		r = mesh_from_json_text(t, (str){bytes.p, bytes.n}, out, d);
	if (r != ST_OK && d)
		diag_in_file(d, text);
	strbuf_release(&bytes);
	return r;
}

cJSON *mesh_to_json(const sharding_table *t, const mesh_spec *s)
{
	const device_mesh *m = &t->meshes.p[s->mesh];
	cJSON *json = cJSON_CreateObject(), *axes_json = cJSON_AddArrayToObject(json, "axes");
	for (uint32_t i = 0; i < m->n_axes; i++) {
		cJSON *axis = cJSON_CreateObject();
		cJSON_AddStringToObject(axis, "name", strtab_get(&t->names, m->axis_names[i]).p);
		cJSON_AddNumberToObject(axis, "size", (double)m->axis_sizes[i]);
		if (s->links[i])
			cJSON_AddStringToObject(axis, "link", strtab_get(&t->names, s->links[i]).p);
		cJSON_AddItemToArray(axes_json, axis);
	}
	if (m->n_device_ids) {
		cJSON *order = cJSON_AddArrayToObject(json, "device_order");
		for (uint32_t i = 0; i < m->n_device_ids; i++)
			cJSON_AddItemToArray(order, cJSON_CreateNumber((double)m->device_ids[i]));
	}
	return json;
}
