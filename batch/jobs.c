/* JOBS -> jobs. Each line is a search request of the HTTP interface, whose module is a path, with a
 * priority. */
#include "batch/batch.h"
#include "costmodel/costmodel.h"
#include "search/options.h"
#include "server/server.h"

#include <stdlib.h>

enum { MOST_JOBS = 100000 }; /* each takes 1.7 KB, and few lines make many by seeds and shapes */
#define MOST_JOBS_BYTES ((size_t)256 << 20)
#define MOST_PRIORITY 1000000

#define FIELD_BOTH(name) name " "
#define FIELD_REQUEST(name) ""
#define FIELD_NOWHERE(name) ""
static const char fields[] = " module "
#define OPTION(id, flag, field, kind, asked, argument, least, most, help) FIELD_##asked(field)
#include "search/options.def"
							 "warm_start priority seeds ";

const char *batch_fields(void) { return fields; }

bool batch_is_field(const char *name)
{
	char spaced[32];
	int n = snprintf(spaced, sizeof spaced, " %s ", name);
	return n < (int)sizeof spaced && n > 2 && !strchr(name, ' ') && strstr(fields, spaced);
}

/* ---------------------------------------------------------------- one job */

/* A text that ends in .json names the file that holds the field. */
static bool read_file_field(batch *b, const batch_place *at, cJSON *o, const char *field)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, field);
	size_t n = cJSON_IsString(item) ? strlen(item->valuestring) : 0;
	if (n <= 5 || strcmp(item->valuestring + n - 5, ".json"))
		return true;
	diag d = {0};
	strbuf text = {0};
	cJSON *value = NULL;
	if (file_read(item->valuestring, MAX_JSON_BYTES, &text, &d) == ST_OK) {
		value = json_parse(text.p, text.n, MAX_JSON_BYTES, &d);
		diag_in_file(&d, item->valuestring);
	}
	strbuf_release(&text);
	if (!value) {
		char detail[900];
		if (d.line)
			snprintf(detail, sizeof detail, "%s:%u:%u: %s", d.file, d.line, d.col, d.msg);
		else
			snprintf(detail, sizeof detail, "%s", d.msg);
		batch_fault_at(b, at, field, detail);
		return false;
	}
	cJSON_ReplaceItemInObjectCaseSensitive(o, field, value);
	return true;
}

/* The command line knows second names of devices, requests only the first. */
static bool name_device(batch *b, const batch_place *at, cJSON *o)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(o, "device");
	device dev;
	diag d = {0};
	if (!cJSON_IsString(item))
		return true;
	if (device_find(item->valuestring, &dev, &d) != ST_OK) {
		batch_fault_at(b, at, "device", d.msg);
		return false;
	}
	cJSON_SetValuestring(item, dev.name);
	return true;
}

/* An integer that is a job's and no request's: it leaves the object. */
static bool take_integer(batch *b, const batch_place *at, cJSON *o, const char *field,
	int64_t least, int64_t most, int64_t *out)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, field);
	if (!item)
		return true;
	if (!cJSON_IsNumber(item) ||
		!(item->valuedouble >= (double)least && item->valuedouble <= (double)most) ||
		item->valuedouble != (double)(int64_t)item->valuedouble) {
		char detail[96];
		snprintf(detail, sizeof detail, "expected an integer from %lld to %lld", (long long)least,
			(long long)most);
		batch_fault_at(b, at, field, detail);
		return false;
	}
	*out = (int64_t)item->valuedouble;
	cJSON_DeleteItemFromObjectCaseSensitive(o, field);
	return true;
}

/* The path of the module, the priority and the number of seeds leave the object: the rest is a
 * search request. */
static bool take_own_fields(batch *b, const batch_place *at, cJSON *o, batch_job *job)
{
	for (const cJSON *item = o->child; item; item = item->next)
		if (!batch_is_field(item->string)) {
			char detail[256];
			snprintf(detail, sizeof detail, "unknown field, expected one of:%s", fields);
			batch_fault_at(b, at, item->string, detail);
			return false;
		}
	const cJSON *module_json = cJSON_GetObjectItemCaseSensitive(o, "module");
	if (!cJSON_IsString(module_json) || !module_json->valuestring[0]) {
		batch_fault_at(b, at, "module", "expected the path of a module");
		return false;
	}
	job->module = arena_strdup(&b->mem, module_json->valuestring, strlen(module_json->valuestring));
	if (!take_integer(b, at, o, "priority", -MOST_PRIORITY, MOST_PRIORITY, &job->priority) ||
		!take_integer(b, at, o, "seeds", 1, BATCH_MOST_SEEDS, &job->seeds))
		return false;
	cJSON_ReplaceItemInObjectCaseSensitive(o, "module", cJSON_CreateString(BATCH_NO_MODULE));
	return true;
}

static bool parse_request(const cJSON *o, search_spec *spec, problem *why)
{
	char *text = cJSON_PrintUnformatted(o);
	bool ok = spec_parse(spec, text, strlen(text), NULL, 0, why);
	cJSON_free(text);
	return ok;
}

static int64_t devices_of(const char *mesh)
{
	int64_t n = 1, size;
	for (const char *p = strchr(mesh, '='); p; p = strchr(p + 1, '='))
		if (str_to_i64((str){p + 1, strcspn(p + 1, ",")}, &size))
			n = sat_mul(n, size);
	return n;
}

/* What an answer is remembered for does not have seed and threads in it: neither has what makes two
 * jobs the same, unless a job is one of several seeds. */
static char *question_of(const cJSON *o, const batch_job *job)
{
	cJSON *copy = cJSON_Duplicate(o, true);
	search_spec spec;
	problem why = {0};
	if (!job->seeds)
		cJSON_DeleteItemFromObjectCaseSensitive(copy, "seed");
	cJSON_DeleteItemFromObjectCaseSensitive(copy, "threads");
	char *text = NULL;
	if (parse_request(copy, &spec, &why)) {
		strbuf b = {0};
		strbuf_printf(&b, "%s\n%s\n%s", job->module, spec.json, job->seeds ? "of its seed" : "");
		text = b.p;
	}
	spec_release(&spec);
	cJSON_Delete(copy);
	return text;
}

typedef struct reader {
	batch *b;
	index_map known; /* of questions */
	VEC(char *) questions;
	int64_t seeds; /* of a job that does not say; 0: as it stands */
	bool full;
} reader;

static uint32_t find_same(reader *r, const cJSON *o, const batch_job *job)
{
	char *text = question_of(o, job);
	uint64_t h = hash_bytes(text ? text : "", text ? strlen(text) : 0, 0);
	uint32_t id, it = index_first(&r->known, h);
	while (index_next(&r->known, h, &it, &id))
		if (text && r->questions.p[id] && !strcmp(r->questions.p[id], text)) {
			vec_push(&r->questions, NULL);
			free(text);
			return id;
		}
	index_add(&r->known, h, r->questions.n);
	vec_push(&r->questions, text);
	return r->questions.n - 1;
}

static bool add_checked(reader *r, const batch_place *at, const cJSON *o, batch_job job)
{
	batch *b = r->b;
	search_spec spec;
	problem why = {0};
	bool ok = parse_request(o, &spec, &why);
	if (ok) {
		job.request = arena_strdup(&b->mem, spec.json, strlen(spec.json));
		job.mesh = arena_strdup(&b->mem, spec.mesh_text, strlen(spec.mesh_text));
		job.device = arena_strdup(&b->mem, spec.device, strlen(spec.device));
		job.memory_bytes = spec.memory_bytes;
		job.devices = devices_of(job.mesh);
		job.same_as = find_same(r, o, &job);
		if (job.same_as != b->jobs.n) {
			b->duplicates++;
			batch_job *first = &b->jobs.p[job.same_as];
			first->priority = MAX(first->priority, job.priority);
			job.next_same = first->next_same;
			first->next_same = b->jobs.n;
		}
		vec_push(&b->jobs, job);
	} else {
		batch_fault_at(b, at, why.pointer[0] ? why.pointer + 1 : "", why.detail);
	}
	spec_release(&spec);
	return ok;
}

/* One job per seed, from the seed that the job has on. Each begins with nothing that the store has:
 * what one seed found would be where the next one starts. */
static bool add_seeds(reader *r, const batch_place *at, const cJSON *o, batch_job job)
{
	const cJSON *seed = cJSON_GetObjectItemCaseSensitive(o, "seed");
	const double most = (double)search_option_table[SEARCH_OPTION_SEED].most,
				 first = seed ? seed->valuedouble : SEARCH_DEFAULT_SEED;
	if (r->b->jobs.n + MAX(job.seeds, 1) > MOST_JOBS) {
		r->full = true;
		return false;
	}
	if (!job.seeds ||
		(seed &&
			(!cJSON_IsNumber(seed) || !(first >= 0 && first <= most) ||
				first != (double)(int64_t)first)))
		return add_checked(r, at, o, job); /* tells what is wrong with the seed */
	if (first + (double)(job.seeds - 1) > most) {
		batch_fault_at(r->b, at, "seed", "too large for as many seeds");
		return false;
	}
	if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "warm_start"))) {
		batch_fault_at(
			r->b, at, "warm_start", "each of several seeds begins with nothing: leave it out");
		return false;
	}
	bool ok = true;
	job.first = r->b->jobs.n;
	for (int64_t k = 0; k < job.seeds && ok; k++) {
		cJSON *one = cJSON_Duplicate(o, true);
		cJSON_DeleteItemFromObjectCaseSensitive(one, "seed");
		job.seed = (int64_t)first + k;
		cJSON_AddNumberToObject(one, "seed", (double)job.seed);
		if (!cJSON_HasObjectItem(one, "warm_start"))
			cJSON_AddFalseToObject(one, "warm_start");
		ok = add_checked(r, at, one, job);
		cJSON_Delete(one);
	}
	return ok;
}

static void add_swept(reader *r, const batch_place *at, cJSON *o, batch_job job)
{
	batch *b = r->b;
	if (cJSON_HasObjectItem(o, "mesh")) {
		batch_fault_at(b, at, "mesh", "--sweep makes the meshes: leave it out");
		return;
	}
	const cJSON *device_json = cJSON_GetObjectItemCaseSensitive(o, "device");
	char *profile = cJSON_IsObject(device_json) ? cJSON_PrintUnformatted(device_json) : NULL;
	batch_shapes shapes = {0};
	diag d = {0};
	if (batch_sweep(cJSON_IsString(device_json) ? device_json->valuestring : "default", profile,
			b->sweep, &shapes, &d) != ST_OK)
		batch_fault_at(b, at, "device", d.msg);
	bool ok = true;
	for (uint32_t i = 0; i < shapes.n && ok; i++) {
		cJSON *one = cJSON_Duplicate(o, true);
		cJSON_AddStringToObject(one, "mesh", shapes.p[i].mesh);
		ok = add_seeds(r, at, one, job);
		cJSON_Delete(one);
	}
	cJSON_free(profile);
	vec_release(&shapes);
}

/* o is changed. */
static void add_job(reader *r, const batch_place *at, cJSON *o)
{
	batch *b = r->b;
	batch_job job = {.line = at->line, .col = 1, .seeds = r->seeds, .first = b->jobs.n};
	if (!cJSON_IsObject(o)) {
		batch_fault(b, at->line, 1,
			"expected an object such as {\"module\":\"step.mlir\",\"mesh\":\"data=4,model=4\"}");
		return;
	}
	if (!take_own_fields(b, at, o, &job) || !read_file_field(b, at, o, "mesh") ||
		!read_file_field(b, at, o, "device") || !read_file_field(b, at, o, "schedule") ||
		!name_device(b, at, o))
		return;
	if (b->sweep)
		add_swept(r, at, o, job);
	else
		add_seeds(r, at, o, job);
}

/* ---------------------------------------------------------------- lines */

static void read_line(reader *r, const char *p, size_t n, uint32_t line)
{
	diag d = {0};
	while (n && strchr(" \t\r", p[n - 1]))
		n--;
	if (!n || strspn(p, " \t") >= n)
		return;
	cJSON *o = json_parse(p, n, MAX_JSON_BYTES, &d);
	if (o)
		add_job(r, &(batch_place){.line = line, .text = p, .n = n}, o);
	else
		batch_fault(r->b, line, d.col, "%s", d.msg);
	cJSON_Delete(o);
}

static void read_row(void *cls, cJSON *row, uint32_t line, const batch_cells *cells)
{
	add_job(cls, &(batch_place){.line = line, .cells = cells}, row);
}

static status read_text(reader *r, const char *p, size_t n, diag *d)
{
	if (n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3)) /* spreadsheets write a byte order mark */
		p += 3, n -= 3;
	size_t blank = 0;
	while (blank < n && strchr(" \t\r\n", p[blank]))
		blank++;
	if (blank == n)
		return diag_set(d, ST_ERR_INVALID, "no jobs in it");
	if (p[blank] != '{' && p[blank] != '[')
		return batch_read_table(p, n, r->b, read_row, r, d);
	uint32_t line = 1;
	for (size_t at = 0; at < n && !r->full; line++) {
		const char *end = memchr(p + at, '\n', n - at);
		size_t len = end ? (size_t)(end - p) - at : n - at;
		read_line(r, p + at, len, line);
		at += len + 1;
	}
	return ST_OK;
}

status batch_read_text(
	const char *path, const char *p, size_t n, const batch_reading *how, batch *out, diag *d)
{
	memset(out, 0, sizeof *out);
	arena_init(&out->mem);
	out->path = path;
	out->sweep = how->sweep;
	reader r = {.b = out, .seeds = how->seeds};
	index_init(&r.known);
	status st = read_text(&r, p, n, d);
	if (st == ST_OK && r.full)
		st = diag_set(d, ST_ERR_LIMIT, "more than %d jobs", MOST_JOBS);
	if (st != ST_OK)
		diag_in_file(d, out->path);
	batch_measure(out);
	for (uint32_t i = 0; i < r.questions.n; i++)
		free(r.questions.p[i]);
	vec_release(&r.questions);
	index_release(&r.known);
	return st;
}

status batch_read(const char *path, const batch_reading *how, batch *out, diag *d)
{
	strbuf text = {0};
	status st = file_read(path, MOST_JOBS_BYTES, &text, d);
	if (st == ST_OK)
		st = batch_read_text(!strcmp(path, "-") ? "standard input" : path, text.p ? text.p : "",
			text.n, how, out, d);
	strbuf_release(&text);
	return st;
}

void batch_name(const batch *b, char out[BATCH_ID_BYTES])
{
	strbuf all = {0};
	for (uint32_t i = 0; i < b->jobs.n; i++)
		strbuf_printf(&all, "%s\n%s\n%s", b->jobs.p[i].module, b->jobs.p[i].request,
			b->jobs.p[i].seeds ? "of its seed\n" : "");
	sha256_name(all.p, all.n, out);
	strbuf_release(&all);
}

void batch_release(batch *b)
{
	vec_release(&b->jobs);
	vec_release(&b->faults);
	arena_release(&b->mem);
}
