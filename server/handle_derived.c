/* What a worker makes of a module or a strategy on first demand, and what is kept of it beside the
 * modules: the module with a strategy applied, what explains a strategy, the timeline of its step,
 * its shardings ready to paste, the arguments of a module. */
#include "server/server.h"

#include <stdlib.h>
#include <unistd.h>

enum { DERIVE_MS = 300000, MOST_ARGV = 16 };

#define TEXT "text/plain; charset=utf-8"

typedef struct derived_task derived_task;

/* kind: the folder of the store. prints: the worker's output is the result, else it writes the file
 * it is given. */
typedef struct derived {
	const char *kind, *type;
	bool prints;
	const char *notation; /* of the shardings alone; NULL: something else */
	bool alone;           /* the module is not needed */
	void (*arguments)(const derived_task *t, const char *const files[], const char **argv);
} derived;

struct derived_task { /* lives in request.state */
	task task;
	request *r;
	const derived *what;
	char id[ID_BYTES], module[ID_BYTES], device[256];
	char *profile;      /* of the device, where the request described one, else NULL */
	int64_t trip_count; /* that the request gave, else 0 */
	char trips[24];     /* as text */
	bool of_module, as_zstd;
};

/* The temporary files of a run; PROFILE is only there where the task has one. */
enum { DOCUMENT, RESULT, PROFILE, FILES };

static void add(const char **argv, const char *a)
{
	while (*argv)
		argv++;
	*argv = a;
}

static void add_device(const derived_task *t, const char *const files[], const char **argv)
{
	add(argv, t->profile ? "--device-file" : "--device");
	add(argv, t->profile ? files[PROFILE] : t->device);
}

static void apply_with(
	const derived_task *t, const char *way, const char *const files[], const char **argv)
{
	argv[0] = "apply";
	const char *more[] = {"--strategy", files[DOCUMENT], "-o", files[RESULT]};
	for (size_t i = 0; i < COUNT_OF(more); i++)
		add(argv, more[i]);
	if (way)
		add(argv, "--apply"), add(argv, way);
	if (t->profile)
		add_device(t, files, argv);
}

static void apply_as_document(const derived_task *t, const char *const files[], const char **argv)
{
	apply_with(t, NULL, files, argv);
}
static void apply_exact(const derived_task *t, const char *const files[], const char **argv)
{
	apply_with(t, "exact", files, argv);
}
static void apply_annotate(const derived_task *t, const char *const files[], const char **argv)
{
	apply_with(t, "annotate", files, argv);
}

static void explain(const derived_task *t, const char *const files[], const char **argv)
{
	argv[0] = "explain";
	const char *more[] = {"--strategy", files[DOCUMENT], "--json"};
	for (size_t i = 0; i < COUNT_OF(more); i++)
		add(argv, more[i]);
	add_device(t, files, argv);
}

static void trace(const derived_task *t, const char *const files[], const char **argv)
{
	argv[0] = "simulate";
	if (t->trip_count)
		add(argv, "--trip-count"), add(argv, t->trips);
	add(argv, "--trace");
	add(argv, files[RESULT]);
	add_device(t, files, argv);
}

static void list_arguments(const derived_task *t, const char *const files[], const char **argv)
{
	(void)t, (void)files;
	argv[0] = "fingerprint";
	add(argv, "--arguments");
}

static void write_outline(const derived_task *t, const char *const files[], const char **argv)
{
	(void)t;
	argv[0] = "convert";
	add(argv, "--strategy"), add(argv, files[DOCUMENT]), add(argv, "--outline");
}

static void write_shardings(const derived_task *t, const char *const files[], const char **argv)
{
	argv[0] = "convert";
	const char *more[] = {"--strategy", files[DOCUMENT], "--to", t->what->notation};
	for (size_t i = 0; i < COUNT_OF(more); i++)
		add(argv, more[i]);
}

/* applied[0] is the way the document says. */
static const derived applied[] = {
	{"emitted", TEXT, false, NULL, false, apply_as_document},
	{"exact", TEXT, false, NULL, false, apply_exact},
	{"annotate", TEXT, false, NULL, false, apply_annotate},
};
static const derived explanation = {"explanation", "application/json", true, NULL, false, explain};
static const derived outline = {"outline", "application/json", true, NULL, true, write_outline};
static const derived timeline = {"timeline", "application/json", false, NULL, false, trace};
static const derived arguments = {
	"arguments", "application/json", true, NULL, false, list_arguments};
static const derived shardings[] = {
#define X(name) {"as-" #name, TEXT, true, #name, true, write_shardings},
	STRATEGY_NOTATIONS(X)
#undef X
};

/* ---------------------------------------------------------------- making one */

static bool write_document(server *srv, const char *id, int fd, problem *why)
{
	document_ref d;
	strbuf b;
	strbuf_init(&b);
	db *c = store_reader(srv->store);
	bool ok = c && document_find(c, id, &d, &b) == FOUND, written = true;
	char *piece = xmalloc(DOCUMENT_WHOLE);
	if (ok && b.n)
		written = write_all(fd, b.p, b.n);
	for (int64_t at = 0, n; ok && written && !b.n && at < d.bytes; at += n) {
		n = MIN(d.bytes - at, (int64_t)DOCUMENT_WHOLE);
		ok = document_read(c, &d, at, piece, n);
		written = !ok || write_all(fd, piece, (size_t)n);
	}
	free(piece);
	strbuf_release(&b);
	if (!ok)
		return problem_set(why, PROBLEM_UNAVAILABLE, "the store could not be read: try again");
	return written || problem_errno(why, "cannot write a temporary file");
}

static void judge(const derived_task *t, const derived *what, const run_result *run, problem *why)
{
	server *srv = t->r->srv;
	const char *said = run->err.p ? run->err.p : "";
	bool asked_so = what == &applied[1] || what == &applied[2],
		 fine = run->exit_code == 0 || (run->exit_code == 2 && what == &explanation);
	if (!run_was_fair(run, &srv->opt, why))
		metric_add(srv, workers_out_of_memory, run->out_of_memory);
	else if (!fine && objects_lost(store_objects(srv->store), "objects", t->module))
		problem_set(why, PROBLEM_INTERNAL, "the text of the module is lost: upload it again");
	else if (run->exit_code == 1 && what->notation)
		problem_set(
			why, PROBLEM_UNPROCESSABLE, "it cannot be written as %s: %.300s", what->notation, said);
	else if (run->exit_code == 1 && asked_so)
		problem_set(why, PROBLEM_UNPROCESSABLE, "it cannot be applied so: %.300s", said);
	else if (!fine)
		problem_set(why, PROBLEM_INTERNAL, "making the %s failed (%d): %.300s", what->kind,
			run->exit_code, said);
}

/* Runs the worker over the temporary files and keeps what it made. input: a .zst file of the store.
 */
static void run_worker(derived_task *t, const derived *what, const char *input,
	const char *const files[], int result, problem *why)
{
	server *srv = t->r->srv;
	run_result run;
	const char *argv[MOST_ARGV] = {srv->worker};
	child_limits limits = tool_limits(srv);
	limits.writes = !what->prints;
	what->arguments(t, files, argv + 1);
	if (!what->alone)
		add(argv, input);
	metric_add(srv, tool_runs, 1);
	child_run(srv->worker, (char **)argv, &limits, DERIVE_MS,
		what->prints ? answer_limit(srv) : 1 << 20, tasks_stop_flag(srv->tools), &run);
	judge(t, what, &run, why);
	if (!why->kind && what->prints && !write_all(result, run.out.p ? run.out.p : "", run.out.n))
		problem_errno(why, "cannot write a temporary file");
	if (!why->kind &&
		!objects_store_file(store_objects(srv->store), files[RESULT], what->kind, t->id))
		problem_set(why, PROBLEM_STORAGE, "the %s cannot be written: the disk is full or broken",
			what->kind);
	run_result_release(&run);
}

static void make(derived_task *t, const derived *what, const char *input, problem *why)
{
	objects *o = store_objects(t->r->srv->store);
	char names[FILES][512];
	const char *files[FILES] = {names[DOCUMENT], names[RESULT], names[PROFILE]};
	int fds[FILES] = {-1, -1, -1};
	for (int i = 0; i < FILES && !why->kind; i++)
		if ((i != PROFILE || t->profile) && (fds[i] = objects_temp(o, names[i])) < 0)
			problem_errno(why, "cannot make a temporary file");
	if (!why->kind && t->profile && !write_all(fds[PROFILE], t->profile, strlen(t->profile)))
		problem_errno(why, "cannot write a temporary file");
	if (!why->kind && (t->of_module || write_document(t->r->srv, t->id, fds[DOCUMENT], why)))
		run_worker(t, what, input, files, fds[RESULT], why);
	for (int i = 0; i < FILES; i++)
		if (fds[i] >= 0)
			close(fds[i]), unlink(names[i]);
}

/* A timeline is that of the module with the strategy applied, which is made first. */
static void make_all(derived_task *t, problem *why)
{
	objects *o = store_objects(t->r->srv->store);
	char module[512], plan[512];
	objects_path(o, "objects", t->module, module);
	if (t->what != &timeline) {
		make(t, t->what, module, why);
		return;
	}
	objects_path(o, applied[0].kind, t->id, plan);
	if (access(plan, R_OK) != 0)
		make(t, &applied[0], module, why);
	if (!why->kind)
		make(t, &timeline, plan, why);
}

/* ---------------------------------------------------------------- the request */

static void reply_kept(request *r, const derived *what, const char *path, bool as_zstd)
{
	problem why = {0};
	struct MHD_Response *response = objects_response(path, as_zstd, &r->srv->memory, &why);
	if (!response) {
		reply_problem(r, &why);
		return;
	}
	reply_response(r, 200, response);
	reply_header(r, "Content-Type", what->type);
	reply_header(r, "X-Content-Type-Options", "nosniff");
	reply_unchanging(r);
}

static void derived_run(task *base, bool stopping)
{
	derived_task *t = (derived_task *)base;
	request *r = t->r;
	char path[512];
	problem why = {0};
	if (stopping)
		problem_set(&why, PROBLEM_UNAVAILABLE, "the daemon is stopping");
	else
		make_all(t, &why);
	objects_path(store_objects(r->srv->store), t->what->kind, t->id, path);
	if (why.kind)
		reply_problem(r, &why);
	else
		reply_kept(r, t->what, path, t->as_zstd);
	request_resume(r);
}

static void derived_free(void *cls)
{
	derived_task *t = cls;
	free(t->profile);
	free(t);
}

/* Takes t. */
static void reply_derived(request *r, derived_task *t, const char *id)
{
	char path[512];
	const char *accept = request_header(r, "Accept-Encoding");
	t->task.run = derived_run;
	t->r = r;
	t->as_zstd = accept && strstr(accept, "zstd");
	snprintf(t->id, sizeof t->id, "%s", id);
	r->state = t;
	r->free_state = derived_free;
	objects_path(store_objects(r->srv->store), t->what->kind, id, path);
	if (access(path, R_OK) == 0) {
		reply_kept(r, t->what, path, t->as_zstd);
		return;
	}
	request_park(r);
	if (!tasks_submit(r->srv->tools, &t->task)) {
		reply_failure(r, PROBLEM_TOO_MANY, "too much is waiting for the tools");
		request_resume(r);
	}
}

static void reply_of_strategy(request *r, const derived *what, const char *id)
{
	derived_task *t = xcalloc(1, sizeof *t);
	db *c = store_reader(r->srv->store);
	t->what = what;
	if (reply_unless_found(r,
			c ? strategy_origin(c, id, t->module, t->device, &t->profile, &t->trip_count)
			  : FOUND_FAILED,
			"there is no strategy '%.100s'", id))
		snprintf(t->trips, sizeof t->trips, "%lld", (long long)t->trip_count),
			reply_derived(r, t, id);
	else
		derived_free(t);
}

void handle_strategy_explanation(request *r) { reply_of_strategy(r, &explanation, r->id); }
void handle_strategy_outline(request *r) { reply_of_strategy(r, &outline, r->id); }
void handle_strategy_timeline(request *r) { reply_of_strategy(r, &timeline, r->id); }

void handle_strategy_shardings(request *r)
{
	const char *to = request_query(r, "to");
	for (size_t i = 0; i < COUNT_OF(shardings) && to; i++)
		if (!strcmp(to, shardings[i].notation)) {
			reply_of_strategy(r, &shardings[i], r->id);
			return;
		}
	strbuf names = {0};
#define X(name) strbuf_puts(&names, " " #name);
	STRATEGY_NOTATIONS(X)
#undef X
	reply_failure(
		r, PROBLEM_BAD_FIELD, "to: expected one of%s, found '%.40s'", names.p, to ? to : "");
	strbuf_release(&names);
}

void handle_module_arguments(request *r)
{
	module_row m;
	db *c = store_reader(r->srv->store);
	if (!reply_unless_found(
			r, c ? module_find(c, r->id, &m) : FOUND_FAILED, "there is no module '%.100s'", r->id))
		return;
	derived_task *t = xcalloc(1, sizeof *t);
	t->what = &arguments;
	t->of_module = true;
	snprintf(t->module, sizeof t->module, "%s", m.id);
	reply_derived(r, t, m.id);
}

void reply_applied(request *r, const char *id)
{
	const char *way = request_query(r, "apply");
	const derived *what = way ? NULL : &applied[0];
	for (size_t i = 1; i < COUNT_OF(applied) && way; i++)
		if (!strcmp(way, applied[i].kind))
			what = &applied[i];
	if (what)
		reply_of_strategy(r, what, id);
	else
		reply_failure(
			r, PROBLEM_BAD_FIELD, "apply: expected exact or annotate, found '%.40s'", way);
}
