/* The supervisor thread: claims queued searches, starts a worker for each, reads what the workers
 * tell, ends them.
 *
 *   free slot + queued row -> claim (committed) -> work/ID-ATTEMPT/ -> worker
 *   worker: events on standard error, one strategy document on standard output, exit code
 *   end     exit 0, 2 with a document        succeeded (2: nothing fits, the document says so)
 *           exit 130 after our SIGTERM       canceled, or succeeded but partial when the time limit was the reason
 *           exit 1, 64                       failed, with the worker's message
 *           out of memory                    failed, 422: another attempt would end the same
 *           anything else                    crashed: back to the queue until search_attempts is reached
 *   A start that fails for want of descriptors, processes or memory is no attempt: the claim is
 * taken back, and the next start
 *   waits a while.
 *
 * A result that cannot be committed (full disk) is kept and offered again. */
#include "server/server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TICK_MS = 500,
	EVENT_INTERVAL_MS = 500,
	GRACE_MS = 5000,
	STDERR_TAIL = 16 << 10,
	MOST_LINE = 32 << 10,               /* of an event: a search tree has up to 64 nodes */
	MOST_ARGUMENTS = 3 * 2 * 1000 + 64, /* as many pins, forbids and groups as spec.c takes, each
	                                       with its flag, and the others */
	RETRY_MS = 5000,
	LOOK_MS = 1000,
	START_PAUSE_MS =
		2000, /* after a start that failed for want of something; doubles up to the most */
	MOST_START_PAUSE_MS = 30000,
};

typedef enum slot_state {
	SLOT_FREE,
	SLOT_RUNNING,
	SLOT_DONE
} slot_state; /* DONE: its result waits to be committed */

typedef struct slot {
	slot_state state;
	char id[SEARCH_ID_BYTES];
	int64_t attempt;
	char module[ID_BYTES];
	child worker;
	bool out_ended, err_ended, canceled, overtime, flooded;
	int64_t started_ns, deadline_ns, kill_ns,
		ended_ns;          /* kill_ns: when SIGKILL follows SIGTERM, 0: no SIGTERM yet */
	strbuf out, err, tail; /* err: unread lines; tail: the last lines that are no events */
	search_event waiting;  /* the newest event, held back to keep the rate down; kind NULL: none */
	int64_t last_event_ns;
	search_finish finish;
	int64_t alive_ns, look_ns,
		cpu_ticks; /* when it last spoke or computed; when to look again; what it had taken then */
	bool out_of_memory, frozen;
	int64_t kills; /* kernel_memory_kills() at its start */
	int64_t retry_ns;
} slot;

struct supervisor {
	server *srv;
	pthread_t thread;
	int wake_fd;
	atomic_bool stop;
	_Atomic int64_t turned_ns;
	pthread_mutex_t mutex; /* of cancels; a leaf */
	VEC(struct { char id[SEARCH_ID_BYTES]; }) cancels;
	int64_t next_beat_ns, next_look_ns;
	bool queue_empty;                 /* nothing to claim until a kick or the next look */
	int64_t start_ns, start_pause_ns; /* no start before start_ns; the pause of the last failure, 0:
	                                     the last one went well */
	uint32_t slot_count;
	slot slots[];
};

static void work_path(const supervisor *v, const slot *s, const char *file, char path[600])
{
	snprintf(path, 600, "%s/work/%s-%lld%s%s", store_objects(v->srv->store)->dir, s->id,
		(long long)s->attempt, file[0] ? "/" : "", file);
}

static const char *const work_files[] = {"mesh.json", "device.json", "schedule.json",
	"start-0.json", "start-1.json", "start-2.json", "start-3.json", "tactics.json"};
enum { FIRST_START_FILE = 3, STATISTICS_FILE = 7 };

static void remove_work(const supervisor *v, const slot *s)
{
	char path[600];
	for (size_t i = 0; i < COUNT_OF(work_files); i++) {
		work_path(v, s, work_files[i], path);
		unlink(path);
	}
	work_path(v, s, "", path);
	rmdir(path);
}

/* ---------------------------------------------------------------- events */

static void event_done(write_op *op)
{
	search_event *e = (search_event *)op;
	server *srv = e->cls;
	if (op->result == ST_OK)
		srv->search_changed(srv, e->id);
	free(e->detail);
	free(e);
}

static void flush_event(supervisor *v, slot *s)
{
	if (!s->waiting.kind)
		return;
	search_event *e = xmalloc(sizeof *e);
	*e = s->waiting;
	e->op.run = search_event_run;
	e->op.done = event_done;
	e->cls = v->srv;
	memcpy(e->id, s->id, sizeof e->id);
	e->attempt = s->attempt;
	s->waiting.kind = NULL;
	s->waiting.detail = NULL;
	s->last_event_ns = clock_ns();
	store_submit(v->srv->store, &e->op);
}

static int64_t number_of(const cJSON *o, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
	return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 9007199254740992.0
		? (int64_t)item->valuedouble
		: 0;
}

static void take_event(slot *s, const cJSON *o)
{
	const cJSON *kind = cJSON_GetObjectItemCaseSensitive(o, "event"),
				*seconds = cJSON_GetObjectItemCaseSensitive(o, "seconds");
	bool incumbent = cJSON_IsString(kind) && !strcmp(kind->valuestring, "incumbent");
	if (!incumbent && !(cJSON_IsString(kind) && !strcmp(kind->valuestring, "progress")))
		return;
	search_event *e = &s->waiting;
	/* A progress line never pushes out an incumbent that still waits; it only brings its counters
	 * up to date. */
	if (incumbent || !e->kind)
		e->kind = incumbent ? "incumbent" : "progress";
	char *detail = search_detail(o);
	if (detail) {
		free(e->detail);
		e->detail = detail;
	}
	e->evaluation = number_of(o, "evaluation");
	bool plausible =
		cJSON_IsNumber(seconds) && seconds->valuedouble >= 0 && seconds->valuedouble < 1e9;
	e->milliseconds = plausible ? (int64_t)(seconds->valuedouble * 1000) : 0;
	if (incumbent) {
		e->runtime_ns = number_of(o, "runtime_ns");
		e->peak_bytes = number_of(o, "peak_bytes");
		e->fits = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "fits"));
	}
}

static void keep_tail(slot *s, const char *line, size_t n)
{
	if (s->tail.n + n + 1 > STDERR_TAIL)
		return; /* the first message is the one that explains */
	strbuf_add(&s->tail, line, n);
	strbuf_putc(&s->tail, '\n');
}

static void take_lines(slot *s)
{
	size_t at = 0;
	for (char *end; s->err.n > at && (end = memchr(s->err.p + at, '\n', s->err.n - at));
		 at = (size_t)(end - s->err.p) + 1) {
		const char *line = s->err.p + at;
		size_t n = (size_t)(end - line);
		cJSON *o = n && line[0] == '{' ? json_parse(line, n, MOST_LINE, NULL) : NULL;
		if (cJSON_IsObject(o))
			take_event(s, o);
		else
			keep_tail(s, line, n);
		cJSON_Delete(o);
	}
	memmove(s->err.p ? s->err.p : "", s->err.p ? s->err.p + at : "", s->err.n - at);
	s->err.n -= at;
}

/* ---------------------------------------------------------------- start */

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

static void begin_finish(slot *s, search_outcome outcome)
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
static void pause_starts(supervisor *v)
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
		begin_finish(s, OUTCOME_FAILED);
		s->finish.error = why;
	} else {
		begin_finish(s, OUTCOME_NOT_STARTED);
		pause_starts(v);
	}
}

/* Fills free slots from the queue. */
static void claim(supervisor *v)
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

/* ---------------------------------------------------------------- end */

static void end_worker(slot *s, int signal_number)
{
	/* Its group first: the worker leads one of its own, unless it has not come that far yet. */
	if (s->state == SLOT_RUNNING && kill(-s->worker.pid, signal_number) != 0)
		kill(s->worker.pid, signal_number);
}

static void ask_to_end(slot *s)
{
	if (s->state != SLOT_RUNNING || s->kill_ns)
		return;
	s->kill_ns = clock_ns() + GRACE_MS * 1000000ll;
	end_worker(s, SIGTERM);
}

static void trim(strbuf *b)
{
	while (b->n && strchr(" \t\r\n", b->p[b->n - 1]))
		b->p[--b->n] = 0;
}

static void judge(server *srv, slot *s, int wait_status)
{
	int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
	trim(&s->out);
	bool document = s->out.n > 0 && !s->flooded;
	begin_finish(s, OUTCOME_CRASHED);
	search_finish *f = &s->finish;
	strbuf_add(&s->tail, "", 0);
	s->out_of_memory =
		!s->flooded && !s->kill_ns && !s->frozen && died_of_memory(code, s->tail.p, s->kills);
	if (code == 1 && str_starts(str_of(s->tail.p), "libgomp: ")) {
		problem_set(&f->error, PROBLEM_INTERNAL, "the worker could not start its threads: %.400s",
			s->tail.p);
	} else if (code == 1 && objects_lost(store_objects(srv->store), "objects", s->module)) {
		f->outcome = OUTCOME_FAILED;
		store_look_for_lost(srv->store);
		problem_set(&f->error, PROBLEM_INTERNAL,
			"the text of the module is lost: upload it again and ask again");
	} else if (code == 1 || code == 64) {
		f->outcome = OUTCOME_FAILED;
		worker_error(s->tail.p, &f->error);
	} else if (s->out_of_memory) {
		f->outcome = OUTCOME_FAILED;
		problem_set(&f->error, PROBLEM_UNPROCESSABLE,
			"the worker ran out of memory; its limit is %lld MiB (--worker-memory)",
			(long long)srv->opt.worker_memory >> 20);
	} else if (s->frozen) {
		problem_set(&f->error, PROBLEM_INTERNAL, "the worker neither computed nor spoke for %lld s",
			(long long)srv->opt.worker_silence);
	} else if (code == EXIT_NOT_STARTED) {
		f->outcome = OUTCOME_NOT_STARTED;
	} else if (document && (code == 0 || code == 2)) {
		f->outcome = OUTCOME_SUCCEEDED;
		f->partial = s->overtime;
	} else if (s->canceled) {
		f->outcome = OUTCOME_CANCELED;
		f->partial = true;
		document = document && code == 130;
	} else if (s->overtime && document && code == 130) {
		f->outcome = OUTCOME_SUCCEEDED;
		f->partial = true;
	} else if (s->overtime) {
		f->outcome = OUTCOME_FAILED;
		problem_set(&f->error, PROBLEM_UNPROCESSABLE, "no answer within the limit of %lld s",
			(long long)srv->opt.search_seconds);
	} else if (s->flooded) {
		f->outcome = OUTCOME_FAILED;
		problem_set(&f->error, PROBLEM_UNPROCESSABLE,
			"the worker's output passed the limit of %lld MiB", (long long)answer_limit(srv) >> 20);
	} else {
		problem_set(&f->error, PROBLEM_INTERNAL, "the worker ended with %s %d%s%.400s",
			WIFSIGNALED(wait_status) ? "signal" : "code",
			WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : code, s->tail.n ? ": " : "",
			s->tail.p);
	}
	if (f->outcome != OUTCOME_FAILED && f->outcome != OUTCOME_CRASHED && document) {
		f->document = s->out.p;
		f->document_bytes = s->out.n;
	}
}

static void count_end(server *srv, const slot *s)
{
	const search_finish *f = &s->finish;
	if (!f->accepted)
		log_warn("event=late_result search=%s attempt=%lld", s->id, (long long)s->attempt);
	else if (f->requeued || f->outcome == OUTCOME_CRASHED)
		metric_add(srv, workers_crashed, f->outcome == OUTCOME_CRASHED);
	if (f->accepted && !f->requeued) {
		switch (f->outcome) {
		case OUTCOME_SUCCEEDED: metric_add(srv, searches_succeeded, 1); break;
		case OUTCOME_CANCELED:
		case OUTCOME_RELEASED:
		case OUTCOME_NOT_STARTED: metric_add(srv, searches_canceled, 1); break;
		case OUTCOME_FAILED:
		case OUTCOME_CRASHED: metric_add(srv, searches_failed, 1); break;
		}
	}
	metric_add(srv, workers_out_of_memory, f->accepted && s->out_of_memory);
	log_info("event=search_ended search=%s attempt=%lld outcome=%d requeued=%d", s->id,
		(long long)s->attempt, f->outcome, f->requeued);
}

/* Offers a result to the store; when that fails the slot keeps it. */
static void commit_result(supervisor *v, slot *s)
{
	int64_t now = clock_ns();
	if (s->state != SLOT_DONE || now < s->retry_ns)
		return;
	if (store_write(v->srv->store, &s->finish.op) != ST_OK) {
		s->retry_ns = now + RETRY_MS * 1000000ll;
		return;
	}
	count_end(v->srv, s);
	if (s->finish.outcome == OUTCOME_SUCCEEDED && v->srv->answer_found)
		v->srv->answer_found(v->srv);
	v->srv->search_changed(v->srv, s->id);
	remove_work(v, s);
	strbuf_release(&s->out);
	strbuf_release(&s->err);
	strbuf_release(&s->tail);
	free(s->waiting.detail);
	s->waiting.detail = NULL;
	s->state = SLOT_FREE;
	v->queue_empty = false;
}

/* The worker's pipes have ended: it is gone, or about to go. */
static void reap(supervisor *v, slot *s)
{
	int wait_status;
	if (s->state != SLOT_RUNNING || !s->out_ended || !s->err_ended)
		return;
	if (!s->ended_ns)
		s->ended_ns = clock_ns();
	if (waitpid(s->worker.pid, &wait_status, WNOHANG) == 0) {
		if (clock_ns() - s->ended_ns > GRACE_MS * 1000000ll)
			end_worker(s, SIGKILL);
		return;
	}
	close(s->worker.out);
	close(s->worker.err);
	metric_add(v->srv, workers_running, -1);
	flush_event(v, s);
	histogram_add(&v->srv->metrics.search_seconds, clock_ns() - s->started_ns);
	judge(v->srv, s, wait_status);
	if (s->finish.outcome == OUTCOME_NOT_STARTED)
		pause_starts(v);
	else
		v->start_pause_ns = 0;
}

/* A worker's heartbeat is that it speaks or takes CPU time: one that is stopped, or waits for
 * itself, does neither. */
static void check_heartbeat(supervisor *v, slot *s, int64_t now)
{
	if (s->state != SLOT_RUNNING || now < s->look_ns || s->frozen)
		return;
	int64_t ticks = child_cpu_ticks(s->worker.pid);
	s->look_ns = now + LOOK_MS * 1000000ll;
	if (ticks != s->cpu_ticks)
		s->alive_ns = now;
	s->cpu_ticks = ticks;
	if (now - s->alive_ns < v->srv->opt.worker_silence * 1000000000)
		return;
	log_warn("event=worker_frozen search=%s pid=%d", s->id, (int)s->worker.pid);
	s->frozen = true;
	end_worker(s, SIGKILL);
	s->out_ended = s->err_ended = true;
}

/* A worker that has been killed may have left a process that holds its pipes: the exit of the
 * worker itself counts. */
static void check_time(slot *s, int64_t now)
{
	if (s->state != SLOT_RUNNING)
		return;
	if (now >= s->deadline_ns && !s->kill_ns) {
		s->overtime = true;
		ask_to_end(s);
	}
	if (s->kill_ns && now >= s->kill_ns) {
		end_worker(s, SIGKILL);
		s->out_ended = s->err_ended = true;
	}
}

/* ---------------------------------------------------------------- the loop */

static void read_worker(const server *srv, slot *s)
{
	if (!s->out_ended &&
		!read_available(s->worker.out, &s->out, (size_t)answer_limit(srv), &s->out_ended))
		s->flooded = true;
	if (!s->err_ended && !read_available(s->worker.err, &s->err, 1 << 20, &s->err_ended))
		s->flooded = true;
	if (s->err.n)
		s->alive_ns = clock_ns();
	take_lines(s);
	if (s->err_ended && s->err.n) {
		keep_tail(s, s->err.p, s->err.n);
		s->err.n = 0;
	}
	if (s->flooded) {
		end_worker(s, SIGKILL);
		s->out_ended = s->err_ended = true;
	}
}

static void take_cancels(supervisor *v)
{
	pthread_mutex_lock(&v->mutex);
	for (uint32_t k = 0; k < v->cancels.n; k++)
		for (uint32_t i = 0; i < v->slot_count; i++)
			if (v->slots[i].state == SLOT_RUNNING && !strcmp(v->slots[i].id, v->cancels.p[k].id)) {
				v->slots[i].canceled = true;
				ask_to_end(&v->slots[i]);
			}
	v->cancels.n = 0;
	pthread_mutex_unlock(&v->mutex);
}

static void beat(supervisor *v)
{
	server *srv = v->srv;
	search_beat b = {.op = {.run = search_beat_run}, .lease_us = srv->opt.lease * 1000000};
	b.ids = xcalloc(v->slot_count, sizeof *b.ids);
	for (uint32_t i = 0; i < v->slot_count; i++)
		if (v->slots[i].state != SLOT_FREE)
			memcpy(b.ids[b.count++], v->slots[i].id, SEARCH_ID_BYTES);
	if (store_write(srv->store, &b.op) != ST_OK)
		log_warn("event=heartbeat_failed");
	free(b.ids);
	v->next_beat_ns = clock_ns() + MAX(srv->opt.lease * 1000000000 / 6, 200000000);
}

static bool any_running(const supervisor *v)
{
	for (uint32_t i = 0; i < v->slot_count; i++)
		if (v->slots[i].state != SLOT_FREE)
			return true;
	return false;
}

/* Waits for output of a worker, a kick, or the next thing that is due. */
static void wait_for_work(supervisor *v, struct pollfd *p)
{
	bool hurry = false;
	p[0] = (struct pollfd){v->wake_fd, POLLIN, 0};
	for (uint32_t i = 0; i < v->slot_count; i++) {
		slot *s = &v->slots[i];
		bool running = s->state == SLOT_RUNNING;
		p[1 + 2 * i] = (struct pollfd){running && !s->out_ended ? s->worker.out : -1, POLLIN, 0};
		p[2 + 2 * i] = (struct pollfd){running && !s->err_ended ? s->worker.err : -1, POLLIN, 0};
		hurry = hurry || (running && s->out_ended && s->err_ended);
	}
	poll(p, 1 + 2 * v->slot_count, hurry ? 2 : any_running(v) ? TICK_MS / 2 : TICK_MS);
	uint64_t count;
	if ((p[0].revents & POLLIN) && read(v->wake_fd, &count, sizeof count) > 0)
		v->queue_empty = false;
}

static void turn(supervisor *v, struct pollfd *p)
{
	wait_for_work(v, p);
	take_cancels(v);
	int64_t now = clock_ns();
	atomic_store_explicit(&v->turned_ns, now, memory_order_relaxed);
	for (uint32_t i = 0; i < v->slot_count; i++) {
		slot *s = &v->slots[i];
		if (s->state == SLOT_RUNNING) {
			read_worker(v->srv, s);
			check_time(s, now);
			check_heartbeat(v, s, now);
			if (now - s->last_event_ns >= EVENT_INTERVAL_MS * 1000000ll)
				flush_event(v, s);
			reap(v, s);
		}
		commit_result(v, s);
	}
	if (now >= v->next_beat_ns)
		beat(v);
	if (now >= v->next_look_ns) { /* crashed searches whose pause is over, expired leases */
		v->next_look_ns = now + LOOK_MS * 1000000ll;
		v->queue_empty = false;
	}
	claim(v);
	take_cancels(v); /* one may have been canceled between its claim and its start */
}

/* Their work is lost but for what the store knows; the searches go back to the queue. */
static void release_all(supervisor *v)
{
	for (uint32_t i = 0; i < v->slot_count; i++) {
		slot *s = &v->slots[i];
		if (s->state == SLOT_RUNNING) {
			end_worker(s, SIGKILL);
			waitpid(s->worker.pid, NULL, 0);
			close(s->worker.out);
			close(s->worker.err);
			metric_add(v->srv, workers_running, -1);
			begin_finish(s, OUTCOME_RELEASED);
		}
		s->retry_ns = 0;
		commit_result(v, s);
		strbuf_release(&s->out);
		strbuf_release(&s->err);
		strbuf_release(&s->tail);
		free(s->waiting.detail);
		s->waiting.detail = NULL;
	}
}

static void *supervisor_main(void *cls)
{
	supervisor *v = cls;
	struct pollfd *p = xcalloc(1 + 2 * v->slot_count, sizeof *p);
	while (!atomic_load(&v->stop))
		turn(v, p);
	release_all(v);
	free(p);
	return NULL;
}

supervisor *supervisor_new(server *srv)
{
	supervisor *v = xcalloc(1, sizeof *v + (size_t)srv->opt.workers * sizeof v->slots[0]);
	v->srv = srv;
	v->turned_ns = clock_ns();
	v->slot_count = (uint32_t)srv->opt.workers;
	v->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&v->mutex, NULL);
	if (v->wake_fd >= 0 && pthread_create(&v->thread, NULL, supervisor_main, v) == 0)
		return v;
	free(v);
	return NULL;
}

int64_t supervisor_turned_ns(supervisor *v)
{
	return atomic_load_explicit(&v->turned_ns, memory_order_relaxed);
}

void supervisor_kick(supervisor *v)
{
	uint64_t one = 1;
	if (write(v->wake_fd, &one, sizeof one) < 0)
		return; /* the counter is full: it is awake already */
}

void supervisor_cancel(supervisor *v, const char *id)
{
	pthread_mutex_lock(&v->mutex);
	vec_reserve(&v->cancels, v->cancels.n + 1);
	snprintf(v->cancels.p[v->cancels.n++].id, SEARCH_ID_BYTES, "%s", id);
	pthread_mutex_unlock(&v->mutex);
	supervisor_kick(v);
}

void supervisor_stop(supervisor *v)
{
	atomic_store(&v->stop, true);
	supervisor_kick(v);
	pthread_join(v->thread, NULL);
	close(v->wake_fd);
	vec_release(&v->cancels);
	pthread_mutex_destroy(&v->mutex);
	free(v);
}
