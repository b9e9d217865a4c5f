/* A search request: JSON -> checked fields -> canonical JSON and cache key. Every refusal names its
 * field by JSON pointer. */
#include "server/evidence.h"
#include "server/spec_private.h"

#include "search/options.h"

#include <math.h>
#include <stdlib.h>

enum { PRIORITY_LIMIT = 100 };

pointer pointer_below(const char *base, const char *key)
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

pointer pointer_at(const char *base, int i)
{
	char index[16];
	snprintf(index, sizeof index, "%d", i);
	return pointer_below(base, index);
}

bool check_fields(const cJSON *o, const char *base, const char *known, problem *why)
{
	if (!cJSON_IsObject(o))
		return problem_at(why, base, "expected an object");
	for (const cJSON *item = o->child; item; item = item->next) {
		char spaced[NAME_LIMIT + 3];
		int n = snprintf(spaced, sizeof spaced, " %s ", item->string);
		if (n >= (int)sizeof spaced || strchr(item->string, ' ') || !strstr(known, spaced))
			return problem_at(why, pointer_below(base, item->string).text,
				"unknown field, expected one of:%s", known);
	}
	return true;
}

bool check_integer(
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
bool check_text(const cJSON *item, const char *base, size_t limit, problem *why)
{
	if (!cJSON_IsString(item) || !item->valuestring[0] || strlen(item->valuestring) > limit)
		return problem_at(why, base, "expected a text of 1 to %zu bytes", limit);
	for (const char *c = item->valuestring; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return problem_at(why, base, "control characters are not accepted");
	return true;
}

bool check_word(const cJSON *item, const char *base, const char *const *words, problem *why)
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

const char *const spec_objectives[] = {"runtime", "memory", NULL};
static const char *const option_choices[] = {"default", "best", NULL};
static const char *const prior_choices[] = {"store", "uniform", NULL};
static const char *const apply_ways[] = {
	"auto", "exact", "annotate", NULL}; /* the default is the first */

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
	return !item ||
		check_integer(item, pointer_below("", o->field).text, o->least, o->most, out, why);
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
	pointer base = pointer_below("", name);
	if (!list)
		return true;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : LIST_LIMIT + 1;
	if (n > LIST_LIMIT)
		return problem_at(why, base.text, "expected an array of at most %d texts", LIST_LIMIT);
	out->v = arena_array(&s->mem, const char *, n);
	for (const cJSON *item = list->child; item; item = item->next) {
		pointer at = pointer_at(base.text, (int)out->n);
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
				pointer_at("/tags", (int)s->tag_count).text, why))
			return false;
		s->tags[s->tag_count++] = keep(s, item->valuestring);
	}
	return true;
}

static bool read_options(search_spec *s, const cJSON *root, problem *why)
{
	const cJSON *item = field(root, "objective");
	s->objective = "runtime";
	if (item && !check_word(item, "/objective", spec_objectives, why))
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
		spec_read_mesh(s, root, &a, why) && read_device(s, root, devices, device_count, why) &&
		read_memory(s, root, why) && spec_read_schedule(s, root, &a, why) &&
		read_budget(s, root, why) && read_lists(s, root, why) && read_tags(s, root, why) &&
		read_options(s, root, why);
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
