#include "server/server.h"

#include <stdlib.h>

#define SEEN_US (1800ll * 1000000)

typedef struct module_task { /* lives in request.state */
	module_about about;      /* first: what the writer sees */
	task task;
	request *r;
	module_row row;
} module_task;

static module_task *task_of(task *t)
{
	return (module_task *)((char *)t - offsetof(module_task, task));
}

static void reply_module(request *r, unsigned code, const module_row *m)
{
	strbuf b;
	char location[128];
	db *c = store_reader(r->srv->store);
	strbuf_init(&b);
	if (!c || !module_json(c, m, &b)) {
		strbuf_release(&b);
		reply_read_failure(r);
		return;
	}
	reply_json(r, code, &b);
	snprintf(location, sizeof location, "/v1/modules/%s", m->id);
	reply_header(r, "Location", location);
}

static void reply_taken(module_task *t, unsigned code, status s)
{
	request *r = t->r;
	char peer[PEER_BYTES];
	if (s != ST_OK) {
		reply_store_failure(r, s);
	} else if (t->about.reused) {
		reply_failure(
			r, PROBLEM_UNPROCESSABLE, "this Idempotency-Key was given with another request");
	} else {
		if (t->about.label)
			response_cache_outdate(r->srv->responses);
		peer_text(r, peer);
		log_audit("event=upload module=%s label=%s owner=%s address=%s", t->row.id,
			log_quoted(t->about.label).text, log_quoted(r->owner).text, peer);
		reply_module(r, code, &t->row);
	}
}

/* Tool thread. */
static void module_run(task *base, bool stopping)
{
	module_task *t = task_of(base);
	request *r = t->r;
	problem why = {0};
	status s = ST_ERR_INVALID;
	if (stopping)
		problem_set(&why, PROBLEM_UNAVAILABLE, "the daemon is stopping");
	else
		s = module_add(r->srv, r->up, &t->about, tasks_stop_flag(r->srv->tools), &t->row, &why);
	if (why.kind)
		reply_problem(r, &why);
	else
		reply_taken(t, 201, s);
	request_resume(r);
}

/* Writer thread: the module was there, and has a new name. */
static void module_named(write_op *op)
{
	module_task *t = (module_task *)op;
	reply_taken(t, 200, op->result);
	request_resume(t->r);
}

/* False with why filled. */
static bool read_about(request *r, module_about *a, problem *why)
{
	a->label = request_header(r, "X-Shardwright-Label");
	snprintf(a->module, sizeof a->module, "%s", upload_id(r->up));
	snprintf(a->owner, sizeof a->owner, "%s", r->owner);
	snprintf(a->repeat.digest, sizeof a->repeat.digest, "%s", upload_id(r->up));
	if (a->label && !name_check(a->label, "", why))
		return problem_set(why, PROBLEM_BAD_REQUEST, "X-Shardwright-Label is malformed"),
			   why->kind = PROBLEM_BAD_REQUEST, false;
	return request_repeat_key(r, &a->repeat, why);
}

/* Retention keeps what was uploaded within the last hour: a commit per half an hour tells it. */
static bool was_seen_lately(const module_row *m)
{
	int64_t ago = wall_us() - m->uploaded_us;
	return ago >= 0 && ago < SEEN_US;
}

static void name_known(module_task *t, const module_row *known)
{
	request *r = t->r;
	t->about.seen = !was_seen_lately(known);
	if ((!t->about.label && !t->about.repeat.key[0] && !t->about.seen) ||
		!store_writable(r->srv->store)) {
		reply_module(r, 200, known);
		return;
	}
	t->row = *known;
	t->about.op.run = module_about_run;
	t->about.op.done = module_named;
	request_park(r);
	store_submit(r->srv->store, &t->about.op);
}

void handle_module_post(request *r)
{
	server *srv = r->srv;
	module_row known;
	problem why = {0};
	db *c = store_reader(srv->store);
	module_task *t = xcalloc(1, sizeof *t);
	t->task.run = module_run;
	t->r = r;
	r->state = t;
	r->free_state = free;
	metric_add(srv, upload_bytes, upload_wire_bytes(r->up));
	if (!read_about(r, &t->about, &why)) {
		reply_problem(r, &why);
		return;
	}
	found f = c ? module_find(c, upload_id(r->up), &known) : FOUND_FAILED;
	if (f == FOUND_FAILED) {
		reply_read_failure(r);
		return;
	}
	if (f == FOUND && !objects_lost(store_objects(srv->store), "objects", known.id)) {
		name_known(t, &known);
		return;
	}
	if (upload_unwritten(r->up)) {
		reply_problem(r, upload_unwritten(r->up));
		return;
	}
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
	if (!reply_unless_found(
			r, c ? module_find(c, r->id, &m) : FOUND_FAILED, "there is no module '%.100s'", r->id))
		return;
	if (!text) {
		reply_module(r, 200, &m);
		return;
	}
	char path[512];
	const char *accept = request_header(r, "Accept-Encoding");
	objects_path(store_objects(r->srv->store), "objects", m.id, path);
	problem why = {0};
	struct MHD_Response *response =
		objects_response(path, accept && strstr(accept, "zstd"), &r->srv->memory, &why);
	if (!response) {
		if (why.kind == PROBLEM_INTERNAL && !store_lost(r->srv->store))
			store_look_for_lost(r->srv->store);
		reply_problem(r, &why);
		return;
	}
	reply_response(r, 200, response);
	reply_header(r, "Content-Type", "text/plain; charset=utf-8");
	reply_header(r, "X-Content-Type-Options", "nosniff");
	reply_unchanging(r);
}
