#include "server/server.h"

#include <stdlib.h>

enum { SLOTS = 256, CACHE_SHARE = 8 }; /* of the memory budget, which it stands beside */

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
