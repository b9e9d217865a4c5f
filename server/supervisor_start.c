/* How the supervisor starts workers: claims of searches, their files, their arguments. */
#include "server/supervisor_private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MOST_ARGUMENTS = 3 * 2 * 1000 + 64, /* as many pins, forbids and groups as spec.c takes, each
	                                       with its flag, and the others */
	START_PAUSE_MS =
		2000, /* after a start that failed for want of something; doubles up to the most */
	MOST_START_PAUSE_MS = 30000,
};

static void work_path(const supervisor *v, const slot *s, const char *file, char path[600])
{
	snprintf(path, 600, "%s/work/%s-%lld%s%s", store_objects(v->srv->store)->dir, s->id,
		(long long)s->attempt, file[0] ? "/" : "", file);
}

static const char *const work_files[] = {"mesh.json", "device.json", "schedule.json",
	"start-0.json", "start-1.json", "start-2.json", "start-3.json", "tactics.json"};
enum { FIRST_START_FILE = 3, STATISTICS_FILE = 7 };

void slot_remove_work(const supervisor *v, const slot *s)
{
	char path[600];
	for (size_t i = 0; i < COUNT_OF(work_files); i++) {
		work_path(v, s, work_files[i], path);
		unlink(path);
	}
	work_path(v, s, "", path);
	rmdir(path);
}

typedef struct arguments {
	char *v[MOST_ARGUMENTS];
	int n;
	arena mem;
} arguments;

static void add(arguments *a, const char *flag, const char *value)
{
	if (a->n + 3 > MOST_ARGUMENTS)
		return; /* never: see MOST_ARGUMENTS */
	a->v[a->n++] = arena_strdup(&a->mem, flag, strlen(flag));
	if (value)
		a->v[a->n++] = arena_strdup(&a->mem, value, strlen(value));
}

static void add_list(arguments *a, const char *flag, const text_list *values)
{
	for (uint32_t i = 0; i < values->n; i++)
		add(a, flag, values->v[i]);
}

static void add_number(arguments *a, const char *flag, int64_t value)
{
	char text[32];
	snprintf(text, sizeof text, "%lld", (long long)value);
	add(a, flag, text);
}

/* With the unit: the command asks back about a small number without one. */
static void add_bytes(arguments *a, const char *flag, int64_t value)
{
	char text[32];
	snprintf(text, sizeof text, "%lldB", (long long)value);
	add(a, flag, text);
}

/* A field that is JSON goes to the worker as a file. */
static bool add_file(supervisor *v, const slot *s, arguments *a, const char *flag, const char *file,
	const char *json)
{
	char path[600];
	work_path(v, s, file, path);
	add(a, flag, path);
	return file_write(path, json, strlen(json), NULL) == ST_OK;
}

/* A request may ask for fewer threads than the daemon gives, never for more. */
static int64_t threads_of(const supervisor *v, const search_spec *p)
{
	int64_t most = v->srv->opt.worker_threads;
	return p->threads ? MIN(p->threads, most ? most : parallel_cores()) : most;
}

static uint32_t axes_of(const char *mesh_text)
{
	uint32_t n = 0;
	for (; *mesh_text; mesh_text++)
		n += *mesh_text == '=';
	return n;
}

/* What won so far, for the tree's priors; as with starts, nothing where it cannot be read. */
static bool add_statistics(supervisor *v, const slot *s, const start_query *q, arguments *a)
{
	strbuf statistics = {0};
	bool ok = true;
	if (starts_statistics(store_reader(v->srv->store), q, axes_of(q->mesh), &statistics)) {
		char path[600];
		work_path(v, s, work_files[STATISTICS_FILE], path);
		add(a, "--tactic-statistics", path);
		ok = file_write(path, statistics.p, statistics.n, NULL) == ST_OK;
	}
	strbuf_release(&statistics);
	return ok;
}

/* What is begun with comes from the store as it is now; where it cannot be read, the search begins
 * with nothing. */
static bool add_starts(supervisor *v, const slot *s, const search_spec *p, arguments *a)
{
	char structure[ID_BYTES];
	db *c = store_reader(v->srv->store);
	starts kept = {0};
	if (p->cold || !v->srv->opt.warm_start || !c || !starts_structure(c, p->module, structure))
		return true;
	bool ok = true;
	start_query q = {
		.structure = structure, .module = p->module, .mesh = p->mesh_text, .device = p->device};
	if (starts_find(c, &q, &kept))
		for (uint32_t i = 0; i < kept.n && ok; i++) {
			char path[600];
			work_path(v, s, work_files[FIRST_START_FILE + i], path);
			add(a, "--start", path);
			ok = file_write(path, kept.list[i].document.p, kept.list[i].document.n, NULL) == ST_OK;
		}
	starts_release(&kept);
	return ok && (!p->store_priors || add_statistics(v, s, &q, a));
}

static bool build_arguments(supervisor *v, const slot *s, const search_spec *p, arguments *a)
{
	char module[512];
	objects_path(store_objects(v->srv->store), "objects", p->module, module);
	bool ok = true;
	add(a, v->srv->worker, "search");
	add(a, module, NULL);
	if (p->mesh_json)
		ok = ok && add_file(v, s, a, "--mesh", "mesh.json", p->mesh_json);
	else
		add(a, "--mesh", p->mesh_text);
	if (p->device_json)
		ok = ok && add_file(v, s, a, "--device-file", "device.json", p->device_json);
	else if (strcmp(p->device, "default"))
		add(a, "--device", p->device);
	if (p->schedule_json)
		ok = ok && add_file(v, s, a, "--schedule", "schedule.json", p->schedule_json);
	if (p->memory_bytes)
		add_bytes(a, "--memory", p->memory_bytes);
	add(a, "--objective", p->objective);
	if (!strcmp(p->budget, "evaluations"))
		add_number(a, "--evaluations", p->budget_amount);
	if (!strcmp(p->budget, "seconds")) {
		char text[48];
		snprintf(text, sizeof text, "%lld.%03d", (long long)(p->budget_amount / 1000),
			(int)(p->budget_amount % 1000));
		add(a, "--seconds", text);
	}
	if (p->seed >= 0)
		add_number(a, "--seed", p->seed);
	int64_t threads = threads_of(v, p);
	if (threads)
		add_number(a, "--threads", threads);
	if (v->srv->opt.worker_cache)
		add_number(a, "--cache-memory", v->srv->opt.worker_cache);
#define LIST(id, flag, field, argument, help) add_list(a, "--" flag, &p->field);
#include "search/options.def"
	if (p->open_results)
		add(a, "--open-results", NULL);
	if (p->trip_count)
		add_number(a, "--trip-count", p->trip_count);
	if (p->uncertainty_ppm >= 0)
		add_number(a, "--uncertainty-ppm", p->uncertainty_ppm);
	if (p->apply)
		add(a, "--apply", p->apply);
	if (p->best_compiler_options)
		add(a, "--compiler-options", "best");
	/* a verifier compiles them, too */
	int64_t alternatives = MAX(p->alternatives, MIN(p->verify, (int64_t)MOST_ALTERNATIVES));
	if (alternatives)
		add_number(a, "--alternatives", alternatives);
	ok = ok && add_starts(v, s, p, a);
	add(a, "--json", "--progress-json");
	a->v[a->n] = NULL;
	return ok;
}

/* False with why filled when the stored request is not one; false without when something was short.
 */
static bool start_worker(
	supervisor *v, slot *s, const char *request_line, size_t request_n, problem *why)
{
	char path[600];
	search_spec spec;
	arguments *a = xcalloc(1, sizeof *a);
	arena_init(&a->mem);
	work_path(v, s, "", path);
	s->kills = kernel_memory_kills();
	bool ok = spec_parse(&spec, request_line, request_n, NULL, 0, why) &&
		(mkdir(path, 0700) == 0 || errno == EEXIST);
	if (ok && (ok = build_arguments(v, s, &spec, a))) {
		child_limits limits = tool_limits(v->srv);
		limits.threads = (int)threads_of(v, &spec);
		limits.dir = path;
		ok = child_start(v->srv->worker, a->v, &limits, &s->worker);
	}
	if (!ok)
		log_warn("event=worker_not_started search=%s error=%s", s->id,
			log_quoted(why->kind ? why->detail : strerror(errno)).text);
	spec_release(&spec);
	arena_release(&a->mem);
	free(a);
	return ok;
}

void slot_begin_finish(slot *s, search_outcome outcome)
{
	search_finish *f = &s->finish;
	memset(f, 0, sizeof *f);
	f->op.run = search_finish_run;
	memcpy(f->id, s->id, sizeof f->id);
	f->attempt = s->attempt;
	f->outcome = outcome;
	s->state = SLOT_DONE;
	s->retry_ns = 0;
}

/* Something was short, and may be for a while: the search keeps its place in the queue, and the
 * next start waits. */
void supervisor_pause_starts(supervisor *v)
{
	v->start_pause_ns = MIN(
		MAX(2 * v->start_pause_ns, START_PAUSE_MS * 1000000ll), MOST_START_PAUSE_MS * 1000000ll);
	v->start_ns = clock_ns() + v->start_pause_ns;
	metric_add(v->srv, workers_not_started, 1);
}

static void start_claimed(supervisor *v, slot *s, const search_claim *c)
{
	problem why = {0};
	if (start_worker(v, s, c->request.p, c->request.n, &why)) {
		s->state = SLOT_RUNNING;
		s->alive_ns = s->started_ns = clock_ns();
		metric_add(v->srv, workers_started, 1);
		metric_add(v->srv, workers_running, 1);
	} else if (why.kind) {
		slot_begin_finish(s, OUTCOME_FAILED);
		s->finish.error = why;
	} else {
		slot_begin_finish(s, OUTCOME_NOT_STARTED);
		supervisor_pause_starts(v);
	}
}

/* Fills free slots from the queue. */
void supervisor_claim(supervisor *v)
{
	server *srv = v->srv;
	for (uint32_t i = 0; i < v->slot_count && !v->queue_empty; i++) {
		slot *s = &v->slots[i];
		if (s->state != SLOT_FREE || clock_ns() < v->start_ns)
			continue;
		search_claim c = {.op = {.run = search_claim_run},
			.lease_us = srv->opt.lease * 1000000,
			.rules = &srv->rules};
		if (store_write(srv->store, &c.op) != ST_OK || !c.found) {
			v->queue_empty = true;
		} else {
			histogram_add(&srv->metrics.queue_seconds, c.waited_us * 1000);
			memset(s, 0, sizeof *s);
			memcpy(s->id, c.id, sizeof s->id);
			s->attempt = c.attempt;
			memcpy(s->module, c.module, sizeof s->module);
			s->deadline_ns = clock_ns() + srv->opt.search_seconds * 1000000000;
			start_claimed(v, s, &c);
			srv->search_changed(srv, s->id);
		}
		strbuf_release(&c.request);
	}
}
