/* A search request: JSON -> checked fields -> canonical JSON and cache key. Every refusal names its
 * field by JSON pointer. */
#include "server/evidence.h"

#include "search/options.h"

#include <math.h>
#include <stdlib.h>

enum {
	AXIS_LIMIT = 32, /* as the reader of modules has it */
	NAME_LIMIT = 64,
	DEVICE_LIMIT = 1 << 24,
	LIST_LIMIT = 1000,
	TEXT_LIMIT = 4096,
	TACTIC_LIMIT = 256,
	PRIORITY_LIMIT = 100,
};
#define INTEGER_LIMIT ((int64_t)1 << 53)

static const char *keep(search_spec *s, const char *text)
{
	return arena_strdup(&s->mem, text, strlen(text));
}
static const cJSON *field(const cJSON *o, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(o, name);
}

/* Pointers come from literals and indices only, or from keys of the request, which are cut. */
typedef struct pointer {
	char text[256];
} pointer;

static pointer below(const char *base, const char *key)
{
	pointer p;
	size_t n = (size_t)snprintf(p.text, sizeof p.text, "%s/", base);
	for (; *key && n < sizeof p.text - 3; key++) { /* RFC 6901: ~ and / are written ~0 and ~1 */
		if (*key == '~' || *key == '/') {
			p.text[n++] = '~';
			p.text[n++] = *key == '~' ? '0' : '1';
		} else {
			p.text[n++] = *key;
		}
	}
	p.text[n] = 0;
	return p;
}

static pointer element(const char *base, int i)
{
	char index[16];
	snprintf(index, sizeof index, "%d", i);
	return below(base, index);
}

bool check_fields(const cJSON *o, const char *base, const char *known, problem *why)
{
	if (!cJSON_IsObject(o))
		return problem_at(why, base, "expected an object");
	for (const cJSON *item = o->child; item; item = item->next) {
		char spaced[NAME_LIMIT + 3];
		int n = snprintf(spaced, sizeof spaced, " %s ", item->string);
		if (n >= (int)sizeof spaced || strchr(item->string, ' ') || !strstr(known, spaced))
			return problem_at(
				why, below(base, item->string).text, "unknown field, expected one of:%s", known);
	}
	return true;
}

static bool check_integer(
	const cJSON *item, const char *base, int64_t least, int64_t most, int64_t *out, problem *why)
{
	if (!cJSON_IsNumber(item) || item->valuedouble != floor(item->valuedouble) ||
		item->valuedouble < (double)least || item->valuedouble > (double)most)
		return problem_at(
			why, base, "expected an integer from %lld to %lld", (long long)least, (long long)most);
	*out = (int64_t)item->valuedouble;
	return true;
}

/* Texts become arguments of a worker process: bounded, and without control characters. */
static bool check_text(const cJSON *item, const char *base, size_t limit, problem *why)
{
	if (!cJSON_IsString(item) || !item->valuestring[0] || strlen(item->valuestring) > limit)
		return problem_at(why, base, "expected a text of 1 to %zu bytes", limit);
	for (const char *c = item->valuestring; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return problem_at(why, base, "control characters are not accepted");
	return true;
}

/* ---------------------------------------------------------------- mesh */

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

typedef struct axes {
	uint32_t n;
	str names[AXIS_LIMIT];
	int64_t devices;
} axes;

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
		ok = check_integer(item, element(at, i).text, 0, devices - 1, &v, why);
		if (ok && seen[v])
			ok = problem_at(why, element(at, i).text, "device %lld occurs twice", (long long)v);
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
		pointer base = element("/mesh/axes", i), at_name = below(base.text, "name"),
				at_size = below(base.text, "size");
		int64_t size;
		if (!check_fields(axis, base.text, " name size link ", why) ||
			!check_text(field(axis, "name"), at_name.text, NAME_LIMIT, why) ||
			!check_integer(field(axis, "size"), at_size.text, 1, DEVICE_LIMIT, &size, why) ||
			!add_axis(
				a, str_of(field(axis, "name")->valuestring), size, at_name.text, canonical, why))
			return false;
		const cJSON *link = field(axis, "link");
		if (link && !check_text(link, below(base.text, "link").text, NAME_LIMIT, why))
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

static bool read_mesh(search_spec *s, const cJSON *root, axes *a, problem *why)
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

/* ---------------------------------------------------------------- schedule */

static bool check_axis(const axes *a, const cJSON *item, const char *base, problem *why)
{
	if (!cJSON_IsString(item))
		return problem_at(why, base, "expected the name of an axis");
	for (uint32_t i = 0; i < a->n; i++)
		if (str_is(a->names[i], item->valuestring))
			return true;
	return problem_at(why, base, "the mesh has no axis '%.100s'", item->valuestring);
}

static bool check_word(const cJSON *item, const char *base, const char *const *words, problem *why)
{
	for (int i = 0; cJSON_IsString(item) && words[i]; i++)
		if (!strcmp(item->valuestring, words[i]))
			return true;
	strbuf list;
	strbuf_init(&list);
	for (int i = 0; words[i]; i++)
		strbuf_printf(&list, "%s\"%s\"", i ? ", " : "", words[i]);
	problem_at(why, base, "expected one of %s", list.p);
	strbuf_release(&list);
	return false;
}

static const char *const objectives[] = {"runtime", "memory", NULL};
static const char *const option_choices[] = {"default", "best", NULL};
static const char *const prior_choices[] = {"store", "uniform", NULL};
static const char *const apply_ways[] = {
	"auto", "exact", "annotate", NULL}; /* the default is the first */
static const char *const named_tactics[] = {"data_parallel", "zero2", "zero3", "replicate", NULL};

/* Fields that tactics share; a missing one is fine here, the worker knows what each tactic needs.
 */
static bool check_tactic_fields(const axes *a, const cJSON *t, const char *base, problem *why)
{
	int64_t v;
	const cJSON *item = field(t, "axis"), *list = field(t, "axes");
	if (item && !check_axis(a, item, below(base, "axis").text, why))
		return false;
	if (list && !cJSON_IsArray(list))
		return problem_at(why, below(base, "axes").text, "expected an array of axis names");
	int i = 0;
	for (item = list ? list->child : NULL; item; item = item->next, i++)
		if (!check_axis(a, item, element(below(base, "axes").text, i).text, why))
			return false;
	if ((item = field(t, "objective")) &&
		!check_word(item, below(base, "objective").text, objectives, why))
		return false;
	if ((item = field(t, "evaluations")) &&
		!check_integer(item, below(base, "evaluations").text, 1, 1000000000, &v, why))
		return false;
	if ((item = field(t, "dimension")) &&
		!check_integer(item, below(base, "dimension").text, 0, 63, &v, why))
		return false;
	return true;
}

static bool check_tactic(const axes *a, const cJSON *t, const char *base, problem *why)
{
	static const struct {
		const char *kind, *fields;
	} kinds[] = {
		{"manual", " arguments values class_of dimension axis sharding role indices index "},
		{"auto", " axes objective arguments evaluations role indices index "},
		{"polish", " axes objective evaluations arguments role "},
	};
	if (!cJSON_IsObject(t))
		return problem_at(why, base, "expected a tactic, an object");
	const cJSON *named = field(t, "named");
	if (named)
		return check_fields(
				   t, base, " named axis axes arguments values role indices index ", why) &&
			check_word(named, below(base, "named").text, named_tactics, why) &&
			check_tactic_fields(a, t, base, why);
	for (size_t k = 0; k < COUNT_OF(kinds); k++) {
		const cJSON *body = field(t, kinds[k].kind);
		pointer inner = below(base, kinds[k].kind);
		if (body)
			return check_fields(t, base, " manual auto polish ", why) &&
				check_fields(body, inner.text, kinds[k].fields, why) &&
				check_tactic_fields(a, body, inner.text, why);
	}
	return problem_at(why, base, "expected one of \"manual\", \"named\", \"auto\", \"polish\"");
}

static bool check_groups(const cJSON *list, problem *why)
{
	static const char base[] = "/schedule/groups";
	if (list && (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > LIST_LIMIT))
		return problem_at(
			why, base, "expected an array of at most %d globs over argument names", LIST_LIMIT);
	int i = 0;
	for (const cJSON *item = list ? list->child : NULL; item; item = item->next, i++)
		if (!check_text(item, element(base, i).text, TEXT_LIMIT, why))
			return false;
	return true;
}

static bool read_schedule(search_spec *s, const cJSON *root, const axes *a, problem *why)
{
	const cJSON *schedule = field(root, "schedule");
	if (!schedule)
		return true;
	if (!check_fields(schedule, "/schedule", " tactics groups ", why) ||
		!check_groups(field(schedule, "groups"), why))
		return false;
	const cJSON *tactics = field(schedule, "tactics");
	int n = cJSON_IsArray(tactics) ? cJSON_GetArraySize(tactics) : 0;
	if (n < 1 || n > TACTIC_LIMIT)
		return problem_at(
			why, "/schedule/tactics", "expected an array of 1 to %d tactics", TACTIC_LIMIT);
	int i = 0;
	for (const cJSON *t = tactics->child; t; t = t->next, i++)
		if (!check_tactic(a, t, element("/schedule/tactics", i).text, why))
			return false;
	char *text = cJSON_PrintUnformatted(schedule);
	s->schedule_json = keep(s, text);
	cJSON_free(text);
	return true;
}

/* ---------------------------------------------------------------- the rest */

static bool read_module(search_spec *s, const cJSON *root, problem *why)
{
	const cJSON *item = field(root, "module");
	const char *id = cJSON_IsString(item) ? item->valuestring : "";
	if (strlen(id) != ID_BYTES - 1 || strncmp(id, "sha256:", 7) ||
		strspn(id + 7, "0123456789abcdef") != 64)
		return problem_at(why, "/module",
			"expected the id that POST /v1/modules answered, sha256: and 64 hexadecimal digits");
	memcpy(s->module, id, ID_BYTES);
	return true;
}

static bool read_device(search_spec *s, const cJSON *root, const char *const *devices,
	uint32_t device_count, problem *why)
{
	const cJSON *item = field(root, "device");
	s->device = "default";
	if (!item)
		return true;
	if (cJSON_IsObject(item)) {
		char *text = cJSON_PrintUnformatted(item);
		s->device = "custom";
		s->device_json = keep(s, text);
		cJSON_free(text);
		return true;
	}
	if (!check_text(item, "/device", 128, why))
		return false;
	bool known = !devices;
	for (uint32_t i = 0; i < device_count; i++)
		known = known || !strcmp(devices[i], item->valuestring);
	if (!known)
		return problem_at(why, "/device",
			"there is no device profile '%.100s'; GET /v1/devices lists them, an object describes "
			"another one",
			item->valuestring);
	s->device = keep(s, item->valuestring);
	return true;
}

static bool read_memory(search_spec *s, const cJSON *root, problem *why)
{
	const cJSON *item = field(root, "memory");
	if (!item)
		return true;
	if (cJSON_IsNumber(item))
		return check_integer(item, "/memory", 1, INTEGER_LIMIT, &s->memory_bytes, why);
	if (cJSON_IsString(item) && size_parse(str_of(item->valuestring), &s->memory_bytes) &&
		s->memory_bytes > 0)
		return true;
	return problem_at(why, "/memory", "expected bytes, or a size such as \"16GiB\"");
}

static bool read_number(const cJSON *root, search_option_id id, int64_t *out, problem *why)
{
	const search_option *o = &search_option_table[id];
	const cJSON *item = field(root, o->field);
	return !item || check_integer(item, below("", o->field).text, o->least, o->most, out, why);
}

static bool read_budget(search_spec *s, const cJSON *root, problem *why)
{
	const cJSON *evaluations = field(root, "evaluations"), *seconds = field(root, "seconds");
	s->budget = "default";
	if (evaluations && seconds)
		return problem_at(why, "/seconds", "give evaluations or seconds, not both");
	if (evaluations) {
		s->budget = "evaluations";
		return read_number(root, SEARCH_OPTION_EVALUATIONS, &s->budget_amount, why);
	}
	if (seconds) {
		s->budget = "seconds";
		if (!cJSON_IsNumber(seconds) ||
			!(seconds->valuedouble >= 0.001 && seconds->valuedouble <= 604800))
			return problem_at(why, "/seconds", "expected a number from 0.001 to 604800");
		s->budget_amount = (int64_t)(seconds->valuedouble * 1000);
	}
	return true;
}

/* form: as in GLOB:SHARDING, a colon that each text needs. */
static bool read_list(search_spec *s, const cJSON *root, const char *name, const char *form,
	text_list *out, problem *why)
{
	const cJSON *list = field(root, name);
	pointer base = below("", name);
	if (!list)
		return true;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : LIST_LIMIT + 1;
	if (n > LIST_LIMIT)
		return problem_at(why, base.text, "expected an array of at most %d texts", LIST_LIMIT);
	out->v = arena_array(&s->mem, const char *, n);
	for (const cJSON *item = list->child; item; item = item->next) {
		pointer at = element(base.text, (int)out->n);
		if (!check_text(item, at.text, TEXT_LIMIT, why))
			return false;
		if (strchr(form, ':') && !strchr(item->valuestring, ':'))
			return problem_at(why, at.text,
				"expected 'GLOB:..' with a colon, as the flags of the same name take it");
		out->v[out->n++] = keep(s, item->valuestring);
	}
	return true;
}

static bool read_lists(search_spec *s, const cJSON *root, problem *why)
{
	return true
#define LIST(id, flag, field, argument, help) &&read_list(s, root, #field, argument, &s->field, why)
#include "search/options.def"
		;
}

static bool read_tags(search_spec *s, const cJSON *root, problem *why)
{
	const cJSON *list = field(root, "tags");
	int n = !list ? 0 : cJSON_IsArray(list) ? cJSON_GetArraySize(list) : MOST_NAMES + 1;
	if (n > MOST_NAMES)
		return problem_at(why, "/tags", "expected an array of at most %d names", MOST_NAMES);
	s->tags = arena_array(&s->mem, const char *, MAX(n, 1));
	for (const cJSON *item = list ? list->child : NULL; item; item = item->next) {
		if (!name_check(cJSON_IsString(item) ? item->valuestring : "",
				element("/tags", (int)s->tag_count).text, why))
			return false;
		s->tags[s->tag_count++] = keep(s, item->valuestring);
	}
	return true;
}

static bool read_options(search_spec *s, const cJSON *root, problem *why)
{
	const cJSON *item = field(root, "objective");
	s->objective = "runtime";
	if (item && !check_word(item, "/objective", objectives, why))
		return false;
	if (item)
		s->objective = keep(s, item->valuestring);
	if ((item = field(root, "apply")) && !check_word(item, "/apply", apply_ways, why))
		return false;
	s->apply = item && strcmp(item->valuestring, apply_ways[0]) ? keep(s, item->valuestring) : NULL;
	if ((item = field(root, "compiler_options")) &&
		!check_word(item, "/compiler_options", option_choices, why))
		return false;
	s->best_compiler_options = item && !strcmp(item->valuestring, "best");
	if ((item = field(root, "priors")) && !check_word(item, "/priors", prior_choices, why))
		return false;
	s->store_priors = item ? !strcmp(item->valuestring, "store") : SEARCH_DEFAULT_STORE_PRIORS;
	s->seed = s->uncertainty_ppm = -1;
	if (!read_number(root, SEARCH_OPTION_SEED, &s->seed, why) ||
		!read_number(root, SEARCH_OPTION_THREADS, &s->threads, why) ||
		!read_number(root, SEARCH_OPTION_ALTERNATIVES, &s->alternatives, why) ||
		!read_number(root, SEARCH_OPTION_TRIP_COUNT, &s->trip_count, why) ||
		!read_number(root, SEARCH_OPTION_UNCERTAINTY, &s->uncertainty_ppm, why))
		return false;
	if (s->uncertainty_ppm == SEARCH_DEFAULT_UNCERTAINTY_PPM)
		s->uncertainty_ppm = -1; /* the same question */
	if ((item = field(root, "priority")) &&
		!check_integer(item, "/priority", -PRIORITY_LIMIT, PRIORITY_LIMIT, &s->priority, why))
		return false;
	if ((item = field(root, "verify")) &&
		!check_integer(item, "/verify", 1, MOST_PLANS, &s->verify, why))
		return false;
	if ((item = field(root, "open_results")) && !cJSON_IsBool(item))
		return problem_at(why, "/open_results", "expected true or false");
	s->open_results = cJSON_IsTrue(item);
	if ((item = field(root, "warm_start")) && !cJSON_IsBool(item))
		return problem_at(why, "/warm_start", "expected true or false");
	s->cold = cJSON_IsFalse(item);
	return true;
}

static void json_list(strbuf *b, const char *key, const char **items, uint32_t n)
{
	if (!n)
		return;
	json_key(b, key);
	for (uint32_t i = 0; i < n; i++) {
		strbuf_putc(b, i ? ',' : '[');
		json_string(b, items[i]);
	}
	strbuf_putc(b, ']');
}

/* What changes the answer, budget apart. */
static void write_question(const search_spec *s, strbuf *b)
{
	if (s->mesh_json)
		json_raw(b, "mesh", s->mesh_json);
	else
		json_text(b, "mesh", s->mesh_text);
	if (s->device_json)
		json_raw(b, "device", s->device_json);
	else if (strcmp(s->device, "default"))
		json_text(b, "device", s->device);
	if (s->memory_bytes)
		json_int(b, "memory", s->memory_bytes);
	json_text(b, "objective", s->objective);
	if (s->schedule_json)
		json_raw(b, "schedule", s->schedule_json);
#define LIST(id, flag, field, argument, help) json_list(b, #field, s->field.v, s->field.n);
#include "search/options.def"
	if (s->open_results)
		json_bool(b, "open_results", true);
	if (s->apply)
		json_text(b, "apply", s->apply);
	if (s->best_compiler_options)
		json_text(b, "compiler_options", "best");
	if (s->alternatives)
		json_int(b, "alternatives", s->alternatives);
	if (s->trip_count)
		json_int(b, "trip_count", s->trip_count);
	if (s->uncertainty_ppm >= 0)
		json_int(b, "uncertainty_ppm", s->uncertainty_ppm);
}

static void write_canonical(search_spec *s)
{
	strbuf b;
	strbuf_init(&b);
	strbuf_putc(&b, '{');
	json_text(&b, "module", s->module);
	write_question(s, &b);
	if (!strcmp(s->budget, "evaluations"))
		json_int(&b, "evaluations", s->budget_amount);
	if (!strcmp(s->budget, "seconds")) {
		json_key(&b, "seconds");
		strbuf_printf(
			&b, "%lld.%03d", (long long)(s->budget_amount / 1000), (int)(s->budget_amount % 1000));
	}
	if (s->seed >= 0)
		json_int(&b, "seed", s->seed);
	if (s->threads)
		json_int(&b, "threads", s->threads);
	if (s->priority)
		json_int(&b, "priority", s->priority);
	if (s->cold)
		json_bool(&b, "warm_start", false);
	if (s->store_priors != SEARCH_DEFAULT_STORE_PRIORS)
		json_text(&b, "priors", s->store_priors ? "store" : "uniform");
	json_list(&b, "tags", s->tags, s->tag_count);
	if (s->verify)
		json_int(&b, "verify", s->verify);
	strbuf_putc(&b, '}');
	s->json = keep(s, b.p);
	strbuf_release(&b);
}

bool spec_parse(search_spec *s, const char *p, size_t n, const char *const *devices,
	uint32_t device_count, problem *why)
{
	memset(s, 0, sizeof *s);
	arena_init(&s->mem);
	diag d = {0};
	cJSON *root = json_parse(p, n, MAX_JSON_BYTES, &d);
	if (!root)
		return problem_from_diag(why, PROBLEM_BAD_JSON, &d);
	axes a = {0};
#define FIELD_BOTH(name) name " "
#define FIELD_REQUEST(name) name " "
#define FIELD_NOWHERE(name) ""
	static const char known[] = " module "
#define OPTION(id, flag, field, kind, asked, argument, least, most, help) FIELD_##asked(field)
#include "search/options.def"
								"priority tags verify warm_start ";
	bool ok = check_fields(root, "", known, why) && read_module(s, root, why) &&
		read_mesh(s, root, &a, why) && read_device(s, root, devices, device_count, why) &&
		read_memory(s, root, why) && read_schedule(s, root, &a, why) && read_budget(s, root, why) &&
		read_lists(s, root, why) && read_tags(s, root, why) && read_options(s, root, why);
	if (ok)
		write_canonical(s);
	cJSON_Delete(root);
	return ok;
}

void spec_release(search_spec *s) { arena_release(&s->mem); }

void spec_key(const search_spec *s, const char *fingerprint, const char *shardings,
	const char *cost_model, char out[ID_BYTES])
{
	strbuf b;
	strbuf_init(&b);
	strbuf_printf(&b, "key1\n%s\n%s\n%s\n", fingerprint, shardings, cost_model);
	uint32_t globs = 0;
#define LIST(id, flag, field, argument, help) globs += s->field.n;
#include "search/options.def"
	if (s->schedule_json || globs)
		strbuf_printf(&b, "%s\n", s->module);
	strbuf_putc(&b, '{');
	write_question(s, &b);
	sha256_name(b.p, b.n, out);
	strbuf_release(&b);
}
