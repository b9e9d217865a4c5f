#include "server/server.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { CHECK_MS = 300000, CHECK_OUTPUT = 1 << 20 };

typedef struct module_task { /* lives in request.state */
	task task;
	write_op op;
	request *r;
	module_row row;
	int64_t stored_bytes;
} module_task;

static void reply_module(request *r, unsigned code, const module_row *m)
{
	strbuf b;
	char location[128];
	strbuf_init(&b);
	module_json(m, &b);
	reply_json(r, code, &b);
	snprintf(location, sizeof location, "/v1/modules/%s", m->id);
	reply_header(r, "Location", location);
}

static status insert_run(db *c, write_op *op)
{
	module_task *t = (module_task *)((char *)op - offsetof(module_task, op));
	return module_insert(c, &t->row, t->stored_bytes);
}

static bool copy_text(const cJSON *o, const char *name, char *to, size_t n)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
	if (cJSON_IsString(item))
		snprintf(to, n, "%s", item->valuestring);
	return cJSON_IsString(item);
}

static bool read_fingerprint(const strbuf *out, module_row *m)
{
	diag d = {0};
	cJSON *root = json_parse(out->p, out->n, CHECK_OUTPUT, &d);
	if (!root)
		return false;
	const cJSON *ops = cJSON_GetObjectItemCaseSensitive(root, "ops"), *arguments = cJSON_GetObjectItemCaseSensitive(root, "arguments");
	bool ok = copy_text(root, "fingerprint", m->fingerprint, sizeof m->fingerprint)
		&& copy_text(root, "shardings", m->shardings, sizeof m->shardings) && cJSON_IsNumber(ops) && cJSON_IsNumber(arguments);
	copy_text(root, "name", m->name, sizeof m->name);
	if (ok) {
		m->ops = (int64_t)ops->valuedouble;
		m->arguments = (int64_t)arguments->valuedouble;
	}
	cJSON_Delete(root);
	return ok;
}

/* Runs the fingerprint worker on the text; fills why unless it is a valid module. */
static bool check_module(module_task *t, problem *why)
{
	server *srv = t->r->srv;
	run_result run;
	child_limits limits = tool_limits(srv);
	char *argv[] = {srv->worker, "fingerprint", (char *)upload_temp(t->r->up), "--json", NULL};
	metric_add(srv, tool_runs, 1);
	child_run(srv->worker, argv, &limits, CHECK_MS, CHECK_OUTPUT, tasks_stop_flag(srv->tools), &run);
	if (!run_was_fair(&run, &srv->opt, why))
		metric_add(srv, workers_out_of_memory, run.out_of_memory);
	else if (run.exit_code == 1)
		worker_error(run.err.p, why);
	else if (run.exit_code != 0)
		problem_set(why, PROBLEM_UNPROCESSABLE, "the module could not be checked: the worker ended with %d (crash, or out of memory)",
			run.exit_code);
	else if (!read_fingerprint(&run.out, &t->row))
		problem_set(why, PROBLEM_INTERNAL, "the worker's answer is not understood");
	run_result_release(&run);
	return !why->kind;
}

/* Tool thread: check, publish the file, commit the row, answer. */
static void module_run(task *base, bool stopping)
{
	module_task *t = (module_task *)base;
	request *r = t->r;
	objects *o = store_objects(r->srv->store);
	problem why = {0};
	struct stat st = {0};
	if (stopping)
		problem_set(&why, PROBLEM_UNAVAILABLE, "the daemon is stopping");
	else if (check_module(t, &why)) {
		stat(upload_temp(r->up), &st);
		t->stored_bytes = st.st_size;
		if (!objects_publish(o, upload_temp(r->up), "objects", t->row.id))
			problem_set(&why, PROBLEM_STORAGE, "the module cannot be written: the disk is full or broken");
	}
	if (why.kind) {
		reply_problem(r, &why);
	} else {
		t->op.run = insert_run;
		status s = store_write(r->srv->store, &t->op);
		if (s == ST_OK) {
			if (store_lost(r->srv->store))
				store_look_for_lost(r->srv->store); /* this may have been one of them */
			metric_add(r->srv, modules_added, 1);
			log_audit("event=upload module=%s owner=\"%s\"", t->row.id, r->owner);
			reply_module(r, 201, &t->row);
		} else {
			reply_store_failure(r, s);
		}
	}
	request_resume(r);
}

void handle_module_post(request *r)
{
	server *srv = r->srv;
	module_row known;
	db *c = store_reader(srv->store);
	metric_add(srv, upload_bytes, upload_wire_bytes(r->up));
	found f = c ? module_find(c, upload_id(r->up), &known) : FOUND_FAILED;
	if (f == FOUND_FAILED) {
		reply_read_failure(r);
		return;
	}
	if (f == FOUND && !objects_lost(store_objects(srv->store), "objects", known.id)) {
		reply_module(r, 200, &known);
		return;
	}
	if (upload_unwritten(r->up)) {
		reply_problem(r, upload_unwritten(r->up));
		return;
	}
	module_task *t = xcalloc(1, sizeof *t);
	t->task.run = module_run;
	t->r = r;
	snprintf(t->row.id, sizeof t->row.id, "%s", upload_id(r->up));
	t->row.text_bytes = upload_text_bytes(r->up);
	r->state = t;
	r->free_state = free;
	request_park(r);
	if (!tasks_submit(srv->tools, &t->task)) {
		reply_failure(r, PROBLEM_TOO_MANY, "too many modules wait to be checked");
		request_resume(r);
	}
}

void handle_module_get(request *r)
{
	char *dot = strrchr(r->id, '.');
	bool text = dot && !strcmp(dot, ".mlir");
	module_row m;
	if (text)
		*dot = 0;
	db *c = store_reader(r->srv->store);
	if (!reply_unless_found(r, c ? module_find(c, r->id, &m) : FOUND_FAILED, "there is no module '%.100s'", r->id))
		return;
	if (!text) {
		strbuf b;
		strbuf_init(&b);
		module_json(&m, &b);
		reply_json(r, 200, &b);
		return;
	}
	char path[512];
	const char *accept = request_header(r, "Accept-Encoding");
	objects_path(store_objects(r->srv->store), "objects", m.id, path);
	problem why = {0};
	struct MHD_Response *response = objects_response(path, accept && strstr(accept, "zstd"), &r->srv->memory, &why);
	if (!response) {
		if (why.kind == PROBLEM_INTERNAL && !store_lost(r->srv->store))
			store_look_for_lost(r->srv->store);
		reply_problem(r, &why);
		return;
	}
	reply_response(r, 200, response);
	reply_header(r, "Content-Type", "text/plain; charset=utf-8");
	reply_header(r, "X-Content-Type-Options", "nosniff");
	reply_header(r, "Cache-Control", "private, max-age=31536000, immutable");
}
