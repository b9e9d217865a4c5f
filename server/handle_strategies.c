#include "server/server.h"

#include <stdlib.h>
#include <unistd.h>

enum { SLOTS = 256, APPLY_MS = 300000, CACHE_SHARE = 8 }; /* of the memory budget, which it stands beside */

/* Strategies never change: the ones asked for lately are kept as ready responses, one per slot. */
typedef struct strategy_cache {
	_Atomic int64_t bytes; /* of all of them */
	struct {
		pthread_mutex_t mutex;
		char id[ID_BYTES];
		struct MHD_Response *response;
		int64_t bytes;
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

/* False: there is no room for it, and the document stays the caller's. */
static bool cache_response(server *srv, const char *id, unsigned slot, strbuf *document)
{
	strategy_cache *all = srv->cache;
	int64_t bytes = (int64_t)document->n;
	struct MHD_Response *old = NULL;
	pthread_mutex_lock(&all->slots[slot].mutex);
	int64_t more = bytes - all->slots[slot].bytes;
	bool room = atomic_fetch_add(&all->bytes, more) + more <= srv->memory.limit / CACHE_SHARE || more <= 0;
	if (room) {
		old = all->slots[slot].response;
		all->slots[slot].response = document_response(document, id);
		all->slots[slot].bytes = bytes;
		snprintf(all->slots[slot].id, ID_BYTES, "%.71s", id);
	} else {
		atomic_fetch_sub(&all->bytes, more);
	}
	pthread_mutex_unlock(&all->slots[slot].mutex);
	if (old)
		MHD_destroy_response(old);
	return room;
}

static void tag_document(request *r, const char *id)
{
	char tag[ID_BYTES + 2];
	snprintf(tag, sizeof tag, "\"%s\"", id);
	reply_header(r, "Cache-Control", "private, max-age=31536000, immutable");
	reply_header(r, "ETag", tag);
}

static void reply_document(request *r, const char *id)
{
	server *srv = r->srv;
	const char *match = request_header(r, "If-None-Match");
	unsigned slot = (unsigned)(hash_bytes(id, strlen(id), 0) % SLOTS);
	bool same = match && strstr(match, id);
	if (!same && queue_cached(r, id, slot))
		return;
	document_ref d;
	strbuf b;
	strbuf_init(&b);
	db *c = store_reader(srv->store);
	if (!reply_unless_found(r, c ? document_find(c, id, &d, &b) : FOUND_FAILED, "there is no strategy '%.100s'", id)) {
		strbuf_release(&b);
		return;
	}
	if (same)
		strbuf_clear(&b);
	else if (b.n && cache_response(srv, id, slot, &b) && queue_cached(r, id, slot))
		return;
	if (same || b.n)
		reply_buffer(r, same ? 304 : 200, "application/json", &b);
	else if (d.bytes > DOCUMENT_WHOLE)
		reply_document_json(r, 200, &b, &d, "");
	else
		reply_failure(r, PROBLEM_UNAVAILABLE, "try again"); /* another strategy took the slot in between */
	if (r->reply_code < 400)
		tag_document(r, id);
}

/* ---------------------------------------------------------------- the module with the strategy applied */

typedef struct apply_task { /* lives in request.state */
	task task;
	request *r;
	char id[ID_BYTES], module[ID_BYTES];
	const char *way; /* as the query says, NULL: as the document does */
	bool as_zstd;
} apply_task;

/* Where modules applied in that way are kept. */
static const char *kind_of(const char *way) { return way ? way : "emitted"; }

static void reply_text(request *r, const char *path, bool as_zstd)
{
	problem why = {0};
	struct MHD_Response *response = objects_response(path, as_zstd, &r->srv->memory, &why);
	if (!response) {
		reply_problem(r, &why);
		return;
	}
	reply_response(r, 200, response);
	reply_header(r, "Content-Type", "text/plain; charset=utf-8");
	reply_header(r, "X-Content-Type-Options", "nosniff");
	reply_header(r, "Cache-Control", "private, max-age=31536000, immutable");
}

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

static void run_apply(apply_task *t, const char *document, const char *result, problem *why)
{
	server *srv = t->r->srv;
	char module[512];
	run_result run;
	child_limits limits = tool_limits(srv);
	limits.writes = true;
	objects_path(store_objects(srv->store), "objects", t->module, module);
	char *argv[] = {srv->worker, "apply", module, "--strategy", (char *)document, "-o", (char *)result, t->way ? "--apply" : NULL, (char *)t->way, NULL};
	metric_add(srv, tool_runs, 1);
	child_run(srv->worker, argv, &limits, APPLY_MS, 1 << 20, tasks_stop_flag(srv->tools), &run);
	if (!run_was_fair(&run, &srv->opt, why))
		metric_add(srv, workers_out_of_memory, run.out_of_memory);
	else if (run.exit_code != 0 && objects_lost(store_objects(srv->store), "objects", t->module))
		problem_set(why, PROBLEM_INTERNAL, "the text of the module is lost: upload it again");
	else if (run.exit_code == 1 && t->way)
		problem_set(why, PROBLEM_UNPROCESSABLE, "it cannot be applied so: %.300s", run.err.p ? run.err.p : "");
	else if (run.exit_code != 0)
		problem_set(why, PROBLEM_INTERNAL, "applying the strategy failed (%d): %.300s", run.exit_code, run.err.p ? run.err.p : "");
	else if (!objects_store_file(store_objects(srv->store), result, kind_of(t->way), t->id))
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
	int fd = objects_temp(o, document), out = fd < 0 ? -1 : objects_temp(o, result);
	if (stopping)
		problem_set(&why, PROBLEM_UNAVAILABLE, "the daemon is stopping");
	else if (out < 0)
		problem_errno(&why, "cannot make a temporary file");
	else if (write_document(r->srv, t->id, fd, &why))
		run_apply(t, document, result, &why);
	if (fd >= 0)
		close(fd), unlink(document);
	if (out >= 0)
		close(out), unlink(result);
	objects_path(o, kind_of(t->way), t->id, path);
	if (why.kind)
		reply_problem(r, &why);
	else
		reply_text(r, path, t->as_zstd);
	request_resume(r);
}

static void reply_applied(request *r, const char *id)
{
	static const char *const ways[] = {"exact", "annotate"};
	char module[ID_BYTES], path[512];
	const char *way = request_query(r, "apply");
	if (way && strcmp(way, ways[0]) && strcmp(way, ways[1])) {
		reply_failure(r, PROBLEM_BAD_FIELD, "apply: expected exact or annotate, found '%.40s'", way);
		return;
	}
	way = way ? ways[strcmp(way, ways[0]) != 0] : NULL;
	const char *accept = request_header(r, "Accept-Encoding");
	bool as_zstd = accept && strstr(accept, "zstd");
	db *c = store_reader(r->srv->store);
	if (!reply_unless_found(r, c ? strategy_module(c, id, module) : FOUND_FAILED, "there is no strategy '%.100s'", id))
		return;
	objects_path(store_objects(r->srv->store), kind_of(way), id, path);
	if (access(path, R_OK) == 0) {
		reply_text(r, path, as_zstd);
		return;
	}
	apply_task *t = xcalloc(1, sizeof *t);
	t->task.run = apply_run;
	t->r = r;
	t->as_zstd = as_zstd;
	t->way = way;
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
