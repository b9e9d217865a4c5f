/* POST /v1/simulate and /v1/opt: one short worker run each, off the HTTP threads, with limits of
 * size and time. */
#include "search/options.h"
#include "server/server.h"

#include <stdlib.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 8, MOST_ARGUMENT_BYTES = 4096 };

typedef struct tool_task { /* lives in request.state */
	task task;
	request *r;
	const char *type;
	char *argv[MOST_ARGUMENTS + 2];
	int argc, file_at; /* argv[file_at]: the module's temporary file */
} tool_task;

/* A large answer waits for its reader in a file that has no name any more, not in memory. */
static void reply_output(request *r, const char *type, strbuf *out)
{
	char file[512];
	int fd = out->n > DOCUMENT_WHOLE ? objects_temp(store_objects(r->srv->store), file) : -1;
	if (fd >= 0)
		unlink(file);
	if (fd >= 0 && write_all(fd, out->p, out->n)) {
		reply_file(r, 200, type, fd, (int64_t)out->n);
		return;
	}
	if (fd >= 0)
		close(fd);
	reply_buffer(r, 200, type, out);
}

static void judge(const run_result *run, const options *o, problem *why)
{
	if (run->timed_out)
		problem_set(
			why, PROBLEM_UNPROCESSABLE, "it took longer than %lld s", (long long)o->tool_seconds);
	else if (!run_was_fair(run, o, why))
		return;
	else if (run->exit_code == 1 || run->exit_code == 64)
		worker_error(run->err.p, why);
	else if (run->exit_code != 0 && run->exit_code != 2)
		problem_set(why, PROBLEM_INTERNAL, "the worker ended with %d", run->exit_code);
}

static void tool_run(task *base, bool stopping)
{
	tool_task *t = (tool_task *)base;
	request *r = t->r;
	server *srv = r->srv;
	char file[512];
	problem why = {0};
	run_result run = {0};
	int fd = stopping ? -1 : objects_temp(store_objects(srv->store), file);
	if (stopping) {
		problem_set(&why, PROBLEM_UNAVAILABLE, "the daemon is stopping");
	} else if (fd < 0 || !write_all(fd, upload_text(r->up)->p, upload_text(r->up)->n)) {
		problem_errno(&why, "cannot write a temporary file");
	} else {
		request_let_go(r);
		child_limits limits = tool_limits(srv);
		t->argv[t->file_at] = file;
		metric_add(srv, tool_runs, 1);
		child_run(srv->worker, t->argv, &limits, srv->opt.tool_seconds * 1000, answer_limit(srv),
			tasks_stop_flag(srv->tools), &run);
		metric_add(srv, workers_out_of_memory, run.out_of_memory);
		judge(&run, &srv->opt, &why);
	}
	if (fd >= 0) {
		close(fd);
		unlink(file);
	}
	if (why.kind)
		reply_problem(r, &why);
	else
		reply_output(r, t->type, &run.out);
	run_result_release(&run);
	request_resume(r);
}

static void tool_free(void *cls)
{
	tool_task *t = cls;
	for (int i = 1; i < t->argc; i++)
		if (i != t->file_at)
			free(t->argv[i]);
	free(t);
}

static void add(tool_task *t, const char *text) { t->argv[t->argc++] = xstrdup(text); }

static tool_task *tool_new(request *r, const char *verb, const char *type)
{
	tool_task *t = xcalloc(1, sizeof *t);
	t->task.run = tool_run;
	t->r = r;
	t->type = type;
	t->argv[t->argc++] = r->srv->worker;
	add(t, verb);
	r->state = t;
	r->free_state = tool_free;
	return t;
}

static void tool_start(tool_task *t)
{
	request *r = t->r;
	t->file_at = t->argc++;
	request_park(r);
	if (!tasks_submit(r->srv->tools, &t->task)) {
		reply_failure(r, PROBLEM_TOO_MANY, "too much is waiting for the tools");
		request_resume(r);
	}
}

void handle_simulate(request *r)
{
	const char *device = request_query(r, "device"), *ops = request_query(r, "ops"),
			   *trips = request_query(r, "trip_count");
	int64_t trip_count;
	bool known = !device;
	for (uint32_t i = 0; i < r->srv->device_count; i++)
		known = known || !strcmp(r->srv->device_names[i], device);
	if (!known) {
		reply_failure(r, PROBLEM_BAD_REQUEST,
			"there is no device profile '%.100s'; GET /v1/devices lists them", device);
		return;
	}
	if (ops && strcmp(ops, "true") && strcmp(ops, "false")) {
		reply_failure(r, PROBLEM_BAD_REQUEST, "ops is '%.60s', expected true or false", ops);
		return;
	}
	int64_t most = search_option_table[SEARCH_OPTION_TRIP_COUNT].most;
	if (trips &&
		!(str_to_i64(str_of(trips), &trip_count) && trip_count >= 1 && trip_count <= most)) {
		reply_failure(r, PROBLEM_BAD_REQUEST,
			"trip_count is '%.60s', expected a whole number from 1 to %lld", trips,
			(long long)most);
		return;
	}
	tool_task *t = tool_new(r, "simulate", "application/json");
	add(t, "--json");
	if (ops && !strcmp(ops, "true"))
		add(t, "--ops");
	if (device) {
		add(t, "--device");
		add(t, device);
	}
	if (trips) {
		add(t, "--trip-count");
		add(t, trips);
	}
	tool_start(t);
}

void handle_opt(request *r)
{
	const char *passes = request_query(r, "passes");
	if (!passes || !passes[0] || strlen(passes) > MOST_ARGUMENT_BYTES) {
		reply_failure(r, PROBLEM_BAD_REQUEST,
			"expected passes=P1,P2{option=value},.. of at most %d bytes", MOST_ARGUMENT_BYTES);
		return;
	}
	tool_task *t = tool_new(r, "opt", "text/plain; charset=utf-8");
	add(t, "--passes");
	add(t, passes);
	tool_start(t);
}
