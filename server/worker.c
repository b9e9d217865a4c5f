/* The worker program: where it is, whether it runs confined, which devices it knows, what its cost
 * model is called. */
#include "server/server.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { ASK_MS = 30000 };

static status cannot_run(const char *program, diag *d)
{
	return diag_set(d, ST_ERR_NOT_FOUND,
		"the worker program '%.300s' cannot be run: %s; see --worker-binary", program,
		strerror(errno));
}

static status find_program(server *srv, diag *d)
{
	ssize_t n;
	if (srv->opt.worker_binary[0]) {
		char *full = realpath(srv->opt.worker_binary, NULL); /* workers run elsewhere */
		if (!full)
			return cannot_run(srv->opt.worker_binary, d);
		snprintf(srv->worker, sizeof srv->worker, "%s", full);
		free(full);
	} else if ((n = readlink("/proc/self/exe", srv->worker, sizeof srv->worker - 1)) > 0) {
		srv->worker[n] = 0;
		char *slash = strrchr(srv->worker, '/');
		snprintf(slash, sizeof srv->worker - (size_t)(slash - srv->worker), "/shardwright");
	}
	return access(srv->worker, X_OK) == 0 ? ST_OK : cannot_run(srv->worker, d);
}

static status ask_version(server *srv, bool confined, bool *works, diag *d)
{
	char *argv[] = {srv->worker, "version", NULL};
	child_limits limits = {.confined = confined};
	run_result run;
	child_run(srv->worker, argv, &limits, ASK_MS, 4096, NULL, &run);
	int error = run.start_error;
	*works = !run.not_started && run.exit_code == 0;
	run_result_release(&run);
	return error ? diag_set(d, ST_ERR_IO, "no worker can be started now: %s", strerror(error))
				 : ST_OK;
}

/* Where the worker's libraries lie in places that the sandbox does not know, workers run without it
 * rather than not at all. A shortage tells nothing of the kind: the sandbox has to fail before and
 * behind a run without it that works. */
static status find_confinement(server *srv, diag *d)
{
	bool confined = true, without = false;
	srv->confined = sandbox_possible();
	if (!srv->confined)
		return ST_OK;
	TRY(ask_version(srv, true, &confined, d));
	if (!confined)
		TRY(ask_version(srv, false, &without, d));
	if (without)
		TRY(ask_version(srv, true, &confined, d));
	if (without && !confined) {
		srv->confined = false;
		log_warn("event=no_sandbox worker=%s", log_quoted(srv->worker).text);
	}
	return ST_OK;
}

/* The names of the device profiles, and the whole answer for GET /v1/devices. */
static status read_devices(server *srv, diag *d)
{
	char *argv[] = {srv->worker, "devices", "--json", NULL};
	child_limits limits = {.confined = srv->confined};
	run_result run;
	child_run(srv->worker, argv, &limits, ASK_MS, 16 << 20, NULL, &run);
	cJSON *root = run.exit_code == 0 ? json_parse(run.out.p, run.out.n, 16 << 20, NULL) : NULL;
	srv->devices_json = root ? xstrdup(run.out.p) : NULL;
	run_result_release(&run);
	if (!root)
		return diag_set(d, ST_ERR_INTERNAL,
			"'%.300s devices --json' failed: is it the shardwright program?", srv->worker);
	const cJSON *list =
		cJSON_IsArray(root) ? root : cJSON_GetObjectItemCaseSensitive(root, "devices");
	srv->device_names = xcalloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *srv->device_names);
	for (const cJSON *item = list ? list->child : NULL; item; item = item->next) {
		const cJSON *name =
			cJSON_IsString(item) ? item : cJSON_GetObjectItemCaseSensitive(item, "name");
		if (cJSON_IsString(name))
			srv->device_names[srv->device_count++] =
				arena_strdup(&srv->opt.mem, name->valuestring, strlen(name->valuestring));
	}
	cJSON_Delete(root);
	return ST_OK;
}

/* The tool answers in one line: shardwright VERSION (cost model VERSION, ..). */
static status read_version(server *srv, diag *d)
{
	static const char mark[] = "cost model ";
	char *argv[] = {srv->worker, "version", NULL};
	child_limits limits = {.confined = srv->confined};
	run_result run;
	child_run(srv->worker, argv, &limits, ASK_MS, 4096, NULL, &run);
	char *line = run.out.p, *model = line ? strstr(line, mark) : NULL;
	if (run.exit_code != 0 || !model) {
		run_result_release(&run);
		return diag_set(
			d, ST_ERR_INTERNAL, "'%.300s version' does not name its cost model", srv->worker);
	}
	line[strcspn(line, "\r\n")] = 0;
	model += strlen(mark);
	snprintf(srv->cost_model, sizeof srv->cost_model, "%.*s", (int)strcspn(model, ",)"), model);
	snprintf(srv->tool_version, sizeof srv->tool_version, "%s", line);
	run_result_release(&run);
	return ST_OK;
}

status worker_find(server *srv, diag *d)
{
	TRY(find_program(srv, d));
	if (!srv->opt.worker_memory && sandbox_possible())
		srv->opt.worker_memory = worker_memory_share(srv);
	TRY(find_confinement(srv, d));
	TRY(read_devices(srv, d));
	return read_version(srv, d);
}

void worker_release(server *srv)
{
	free(srv->devices_json);
	free(srv->device_names);
}
