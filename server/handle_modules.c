#include "server/server.h"

#include <stdlib.h>

typedef struct module_task { /* lives in request.state */
	task task;
	request *r;
	module_row row;
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

/* Tool thread. */
static void module_run(task *base, bool stopping)
{
	module_task *t = (module_task *)base;
	request *r = t->r;
	problem why = {0};
	status s = ST_ERR_INVALID;
	if (stopping)
		problem_set(&why, PROBLEM_UNAVAILABLE, "the daemon is stopping");
	else
		s = module_add(r->srv, r->up, tasks_stop_flag(r->srv->tools), &t->row, &why);
	if (why.kind) {
		reply_problem(r, &why);
	} else if (s != ST_OK) {
		reply_store_failure(r, s);
	} else {
		log_audit("event=upload module=%s owner=\"%s\"", t->row.id, r->owner);
		reply_module(r, 201, &t->row);
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
