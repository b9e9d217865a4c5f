/* The mesh of a search request, as text or as an object. */
#include "server/spec_private.h"

static bool name_is_valid(str name)
{
	if (!name.n || name.n > NAME_LIMIT)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
		if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '.' || c == '-')))
			return false;
	}
	return true;
}

static bool add_axis(axes *a, str name, int64_t size, const char *base, strbuf *text, problem *why)
{
	if (a->n == AXIS_LIMIT)
		return problem_at(why, base, "a mesh has at most %d axes", AXIS_LIMIT);
	if (!name_is_valid(name))
		return problem_at(why, base,
			"'" STR_FMT "' is no axis name: letters, digits, '_', '.' and '-', at most %d",
			(int)MIN(name.n, 100), name.p, NAME_LIMIT);
	for (uint32_t i = 0; i < a->n; i++)
		if (str_equal(a->names[i], name))
			return problem_at(why, base, "the axis '" STR_FMT "' occurs twice", STR_ARG(name));
	if (size < 1 || !mul_i64(a->devices, size, &a->devices) || a->devices > DEVICE_LIMIT)
		return problem_at(why, base,
			"the axis '" STR_FMT
			"' has size %lld: sizes are at least 1 and multiply to at most %d devices",
			STR_ARG(name), (long long)size, DEVICE_LIMIT);
	a->names[a->n++] = name;
	strbuf_printf(text, "%s" STR_FMT "=%lld", text->n ? "," : "", STR_ARG(name), (long long)size);
	return true;
}

static bool read_mesh_text(
	axes *a, const char *text, const char *base, strbuf *canonical, problem *why)
{
	for (const char *p = text;; p++) {
		const char *end = strchrnul(p, ','), *equals = memchr(p, '=', (size_t)(end - p));
		int64_t size;
		if (!equals || !str_to_i64((str){equals + 1, (size_t)(end - equals) - 1}, &size))
			return problem_at(why, base, "expected NAME=SIZE,.. such as data=4,model=4");
		if (!add_axis(a, (str){p, (size_t)(equals - p)}, size, base, canonical, why))
			return false;
		p = end;
		if (!*p)
			return true;
	}
}

bool mesh_text_check(const char *text, strbuf *canonical, problem *why)
{
	axes a = {.devices = 1};
	return read_mesh_text(&a, text, "/mesh", canonical, why);
}

static bool check_order(const cJSON *order, int64_t devices, problem *why)
{
	if (!cJSON_IsArray(order) || cJSON_GetArraySize(order) != devices)
		return problem_at(why, "/mesh/device_order", "expected an array of %lld device numbers",
			(long long)devices);
	bool *seen = xcalloc((size_t)devices, 1), ok = true;
	int i = 0;
	for (const cJSON *item = order->child; item && ok; item = item->next, i++) {
		int64_t v;
		const char *at = "/mesh/device_order";
		ok = check_integer(item, pointer_at(at, i).text, 0, devices - 1, &v, why);
		if (ok && seen[v])
			ok = problem_at(why, pointer_at(at, i).text, "device %lld occurs twice", (long long)v);
		else if (ok)
			seen[v] = true;
	}
	free(seen);
	return ok;
}

static bool read_mesh_object(
	search_spec *s, const cJSON *mesh, axes *a, strbuf *canonical, problem *why)
{
	if (!check_fields(mesh, "/mesh", " axes device_order ", why))
		return false;
	const cJSON *list = field(mesh, "axes"), *order = field(mesh, "device_order");
	if (!cJSON_IsArray(list) || !list->child)
		return problem_at(
			why, "/mesh/axes", "expected an array of axes such as {\"name\":\"data\",\"size\":4}");
	bool linked = false;
	int i = 0;
	for (const cJSON *axis = list->child; axis; axis = axis->next, i++) {
		pointer base = pointer_at("/mesh/axes", i), at_name = pointer_below(base.text, "name"),
				at_size = pointer_below(base.text, "size");
		int64_t size;
		if (!check_fields(axis, base.text, " name size link ", why) ||
			!check_text(field(axis, "name"), at_name.text, NAME_LIMIT, why) ||
			!check_integer(field(axis, "size"), at_size.text, 1, DEVICE_LIMIT, &size, why) ||
			!add_axis(
				a, str_of(field(axis, "name")->valuestring), size, at_name.text, canonical, why))
			return false;
		const cJSON *link = field(axis, "link");
		if (link && !check_text(link, pointer_below(base.text, "link").text, NAME_LIMIT, why))
			return false;
		linked = linked || link;
	}
	if (order && !check_order(order, a->devices, why))
		return false;
	if (linked || order) {
		char *text = cJSON_PrintUnformatted(mesh);
		s->mesh_json = keep(s, text);
		cJSON_free(text);
	}
	return true;
}

bool spec_read_mesh(search_spec *s, const cJSON *root, axes *a, problem *why)
{
	const cJSON *mesh = field(root, "mesh");
	strbuf canonical;
	strbuf_init(&canonical);
	a->devices = 1;
	bool ok;
	if (cJSON_IsString(mesh))
		ok = check_text(mesh, "/mesh", TEXT_LIMIT, why) &&
			read_mesh_text(a, mesh->valuestring, "/mesh", &canonical, why);
	else if (cJSON_IsObject(mesh))
		ok = read_mesh_object(s, mesh, a, &canonical, why);
	else
		ok = problem_at(why, "/mesh", "expected a mesh, \"data=4,model=4\" or {\"axes\":[..]}");
	if (ok)
		s->mesh_text = keep(s, canonical.p);
	strbuf_release(&canonical);
	return ok;
}
