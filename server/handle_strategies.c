#include "server/server.h"

#include <stdlib.h>
#include <unistd.h>

enum { SLOTS = 256, CACHED_BYTES = 256 << 10, APPLY_MS = 300000 };

/* Strategies never change: the ones asked for lately are kept as ready responses, one per slot. */
typedef struct strategy_cache {
	struct {
		pthread_mutex_t mutex;
		char id[ID_BYTES];
		struct MHD_Response *response;
	} slots[SLOTS];
} strategy_cache;

void strategies_cache_init(server *srv)
{
	srv->cache = xcalloc(1, sizeof *srv->cache);
	for (int i = 0; i < SLOTS; i++)
		pthread_mutex_init(&srv->cache->slots[i].mutex, NULL);
}

void strategies_cache_release(server *srv)
{
	for (int i = 0; i < SLOTS; i++) {
		if (srv->cache->slots[i].response)
			MHD_destroy_response(srv->cache->slots[i].response);
		pthread_mutex_destroy(&srv->cache->slots[i].mutex);
	}
	free(srv->cache);
}

static struct MHD_Response *document_response(strbuf *document, const char *id)
{
	char tag[ID_BYTES + 2];
	snprintf(tag, sizeof tag, "\"%s\"", id);
	struct MHD_Response *response = MHD_create_response_from_buffer(document->n, document->p, MHD_RESPMEM_MUST_FREE);
	strbuf_init(document);
	MHD_add_response_header(response, "Content-Type", "application/json");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Cache-Control", "private, max-age=31536000, immutable");
	MHD_add_response_header(response, "ETag", tag);
	return response;
}

/* A response that others may drop from its slot has to be queued under the slot's lock: from then on the connection holds it too. */
static bool queue_cached(request *r, const char *id, unsigned slot)
{
	bool hit = false;
	pthread_mutex_lock(&r->srv->cache->slots[slot].mutex);
	if (!strcmp(r->srv->cache->slots[slot].id, id)) {
		hit = true;
		connections_phase(r->srv->connections, r->conn, PHASE_SEND);
		metric_add(r->srv, requests, 1);
		r->sent = MHD_queue_response(r->conn, 200, r->srv->cache->slots[slot].response);
	}
	pthread_mutex_unlock(&r->srv->cache->slots[slot].mutex);
	r->answered = hit;
	return hit;
}

static void cache_response(server *srv, const char *id, unsigned slot, strbuf *document)
{
	struct MHD_Response *fresh = document_response(document, id), *old;
	pthread_mutex_lock(&srv->cache->slots[slot].mutex);
	old = srv->cache->slots[slot].response;
	srv->cache->slots[slot].response = fresh;
	snprintf(srv->cache->slots[slot].id, ID_BYTES, "%.71s", id);
	pthread_mutex_unlock(&srv->cache->slots[slot].mutex);
	if (old)
		MHD_destroy_response(old);
}

static void reply_document(request *r, const char *id)
{
	server *srv = r->srv;
	const char *match = request_header(r, "If-None-Match");
	unsigned slot = (unsigned)(hash_bytes(id, strlen(id), 0) % SLOTS);
	bool same = match && strstr(match, id);
	if (!same && queue_cached(r, id, slot))
		return;
	strbuf b;
	strbuf_init(&b);
	db *c = store_reader(srv->store);
	if (!c || !strategy_document(c, id, &b)) {
		strbuf_release(&b);
		reply_failure(r, PROBLEM_NOT_FOUND, "there is no strategy '%.100s'", id);
		return;
	}
	if (same) {
		strbuf_clear(&b);
		reply_response(r, 304, document_response(&b, id));
	} else if (b.n <= CACHED_BYTES) {
		cache_response(srv, id, slot, &b);
		if (!queue_cached(r, id, slot)) /* another strategy took the slot in between */
			reply_failure(r, PROBLEM_UNAVAILABLE, "try again");
	} else {
		reply_response(r, 200, document_response(&b, id));
	}
}

/* ---------------------------------------------------------------- the module with the strategy applied */

typedef struct apply_task { /* lives in request.state */
	task task;
	request *r;
	char id[ID_BYTES], module[ID_BYTES];
	bool as_zstd;
} apply_task;

static void reply_text(request *r, const char *path, bool as_zstd)
{
	struct MHD_Response *response = objects_response(path, as_zstd);
	if (!response) {
		reply_failure(r, PROBLEM_INTERNAL, "the module is missing from the store");
		return;
	}
	reply_response(r, 200, response);
	reply_header(r, "Content-Type", "text/plain; charset=utf-8");
	reply_header(r, "X-Content-Type-Options", "nosniff");
	reply_header(r, "Cache-Control", "private, max-age=31536000, immutable");
}

static void run_apply(apply_task *t, const char *document, const char *result, problem *why)
{
	server *srv = t->r->srv;
	char module[512];
	run_result run;
	child_limits limits = {.memory_bytes = srv->opt.worker_memory, .nice = (int)srv->opt.worker_nice, .threads = 1};
	objects_path(store_objects(srv->store), "objects", t->module, module);
	char *argv[] = {srv->worker, "apply", module, "--strategy", (char *)document, "-o", (char *)result, NULL};
	metric_add(srv, tool_runs, 1);
	child_run(srv->worker, argv, &limits, APPLY_MS, 1 << 20, tasks_stop_flag(srv->tools), &run);
	if (run.stopped)
		problem_set(why, PROBLEM_UNAVAILABLE, "the daemon is stopping");
	else if (run.exit_code != 0)
		problem_set(why, PROBLEM_INTERNAL, "applying the strategy failed (%d): %.300s", run.exit_code, run.err.p ? run.err.p : "");
	else if (!objects_store_file(store_objects(srv->store), result, "emitted", t->id))
		problem_set(why, PROBLEM_STORAGE, "the module cannot be written: the disk is full or broken");
	run_result_release(&run);
}

static void apply_run(task *base, bool stopping)
{
	apply_task *t = (apply_task *)base;
	request *r = t->r;
	objects *o = store_objects(r->srv->store);
	char document[512], result[512], path[512];
	problem why = {0};
	diag d = {0};
	strbuf text;
	strbuf_init(&text);
	int fd = objects_temp(o, document), out = objects_temp(o, result);
	db *c = store_reader(r->srv->store);
	if (stopping)
		problem_set(&why, PROBLEM_UNAVAILABLE, "the daemon is stopping");
	else if (fd < 0 || out < 0 || !c || !strategy_document(c, t->id, &text) || file_write(document, text.p, text.n, &d) != ST_OK)
		problem_set(&why, PROBLEM_STORAGE, "cannot write a temporary file");
	else
		run_apply(t, document, result, &why);
	strbuf_release(&text);
	if (fd >= 0)
		close(fd), unlink(document);
	if (out >= 0)
		close(out), unlink(result);
	objects_path(o, "emitted", t->id, path);
	if (why.kind)
		reply_problem(r, &why);
	else
		reply_text(r, path, t->as_zstd);
	request_resume(r);
}

static void reply_applied(request *r, const char *id)
{
	char module[ID_BYTES], path[512];
	const char *accept = request_header(r, "Accept-Encoding");
	bool as_zstd = accept && strstr(accept, "zstd");
	db *c = store_reader(r->srv->store);
	if (!c || !strategy_module(c, id, module)) {
		reply_failure(r, PROBLEM_NOT_FOUND, "there is no strategy '%.100s'", id);
		return;
	}
	objects_path(store_objects(r->srv->store), "emitted", id, path);
	if (access(path, R_OK) == 0) {
		reply_text(r, path, as_zstd);
		return;
	}
	apply_task *t = xcalloc(1, sizeof *t);
	t->task.run = apply_run;
	t->r = r;
	t->as_zstd = as_zstd;
	snprintf(t->id, sizeof t->id, "%s", id);
	memcpy(t->module, module, sizeof module);
	r->state = t;
	r->free_state = free;
	request_park(r);
	if (!tasks_submit(r->srv->tools, &t->task)) {
		reply_failure(r, PROBLEM_TOO_MANY, "too much is waiting for the tools");
		request_resume(r);
	}
}

void handle_strategy_get(request *r)
{
	char *dot = strrchr(r->id, '.');
	if (dot && !strcmp(dot, ".mlir")) {
		*dot = 0;
		reply_applied(r, r->id);
	} else {
		reply_document(r, r->id);
	}
}
