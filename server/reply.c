/* Answers: texts that count against the memory budget, files, documents that are read while they
 * are sent, problems. */
#include "server/server.h"
#include "server/http_private.h"

#include <stdlib.h>
#include <unistd.h>

enum { RETRY_SECONDS = 5 };

/* What is said where there is no memory for a response: made at the start. */
bool reply_last_resort(server *srv)
{
	static char text[] = "{\"type\":\"urn:shardwright:problem:unavailable\",\"title\":\"Try again "
						 "later\",\"status\":503,\"detail\":\"there is no memory for an answer\"}";
	srv->last_resort =
		MHD_create_response_from_buffer(sizeof text - 1, text, MHD_RESPMEM_PERSISTENT);
	return srv->last_resort &&
		MHD_add_response_header(srv->last_resort, "Content-Type", "application/problem+json") ==
		MHD_YES &&
		MHD_add_response_header(srv->last_resort, "Cache-Control", "no-store") == MHD_YES &&
		MHD_add_response_header(srv->last_resort, "Retry-After", "5") == MHD_YES;
}

void reply_drop(request *r)
{
	if (r->reply && r->reply != r->srv->last_resort)
		MHD_destroy_response(r->reply);
	r->reply = NULL;
}

void reply_response(request *r, unsigned code, struct MHD_Response *response)
{
	reply_drop(r);
	r->reply = response ? response : r->srv->last_resort;
	r->reply_code = response ? code : MHD_HTTP_SERVICE_UNAVAILABLE;
}

/* An answer that lacks a header, of its type or its safety, is none. */
void reply_header(request *r, const char *name, const char *value)
{
	if (r->reply != r->srv->last_resort &&
		MHD_add_response_header(r->reply, name, value) != MHD_YES)
		reply_response(r, 0, NULL);
}

struct MHD_Response *response_of_text(strbuf *b, const char *const (*headers)[2])
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(b->n, b->p, MHD_RESPMEM_MUST_FREE);
	if (!response)
		strbuf_release(b);
	strbuf_init(b);
	for (; response && (*headers)[0]; headers++)
		if (MHD_add_response_header(response, (*headers)[0], (*headers)[1]) != MHD_YES) {
			MHD_destroy_response(response);
			response = NULL;
		}
	return response;
}

typedef struct kept { /* a text that counts against the budget until the client has taken it */
	memory *m;
	char *p;
	int64_t bytes;
} kept;

static void kept_free(void *cls)
{
	kept *k = cls;
	memory_give(k->m, k->bytes);
	free(k->p);
	free(k);
}

static void own_text(request *r, unsigned code, const char *type, strbuf *b)
{
	kept *k = xmalloc(sizeof *k);
	*k = (kept){&r->srv->memory, b->p, (int64_t)b->cap};
	struct MHD_Response *response =
		MHD_create_response_from_buffer_with_free_callback_cls(b->n, b->p, kept_free, k);
	strbuf_init(b);
	if (!response)
		kept_free(k);
	reply_response(r, code, response);
	reply_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	reply_header(r, "X-Content-Type-Options", "nosniff");
}

void reply_buffer(request *r, unsigned code, const char *type, strbuf *b)
{
	strbuf_add(b, "", 0);
	if (memory_take(&r->srv->memory, (int64_t)b->cap)) {
		own_text(r, code, type, b);
		return;
	}
	problem why = {0};
	strbuf_release(b);
	memory_refused(&why);
	reply_problem(r, &why);
}

void reply_file(request *r, unsigned code, const char *type, int fd, int64_t bytes)
{
	struct MHD_Response *response = MHD_create_response_from_fd64((uint64_t)bytes, fd);
	if (!response)
		close(fd);
	reply_response(r, code, response);
	reply_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	reply_header(r, "X-Content-Type-Options", "nosniff");
}

typedef struct wrapped { /* lives as long as its response */
	server *srv;
	strbuf head;
	document_ref document;
	const char *tail;
	int64_t held;
} wrapped;

static ssize_t wrapped_read(void *cls, uint64_t pos, char *buf, size_t max)
{
	wrapped *w = cls;
	uint64_t document = (uint64_t)w->document.bytes;
	if (pos < w->head.n) {
		size_t n = MIN(max, w->head.n - pos);
		memcpy(buf, w->head.p + pos, n);
		return (ssize_t)n;
	}
	pos -= w->head.n;
	if (pos < document) {
		size_t n = MIN(max, document - pos);
		db *c = store_reader(w->srv->store);
		bool ok = c && document_read(c, &w->document, (int64_t)pos, buf, (int64_t)n);
		return ok ? (ssize_t)n : MHD_CONTENT_READER_END_WITH_ERROR;
	}
	pos -= document;
	size_t n = MIN(max, strlen(w->tail) - pos);
	memcpy(buf, w->tail + pos, n);
	return (ssize_t)n;
}

static void wrapped_free(void *cls)
{
	wrapped *w = cls;
	memory_give(&w->srv->memory, w->held);
	strbuf_release(&w->head);
	free(w);
}

void reply_document_json(
	request *r, unsigned code, strbuf *head, const document_ref *d, const char *tail)
{
	problem why = {0};
	int64_t bytes = (int64_t)head->cap + DOCUMENT_WHOLE;
	if (!memory_take(&r->srv->memory, bytes)) {
		strbuf_release(head);
		memory_refused(&why);
		reply_problem(r, &why);
		return;
	}
	wrapped *w = xcalloc(1, sizeof *w);
	*w = (wrapped){r->srv, *head, *d, tail, bytes};
	strbuf_init(head);
	uint64_t size = w->head.n + (uint64_t)d->bytes + strlen(tail);
	struct MHD_Response *response =
		MHD_create_response_from_callback(size, DOCUMENT_WHOLE, wrapped_read, w, wrapped_free);
	if (!response)
		wrapped_free(w);
	reply_response(r, code, response);
	reply_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
	reply_header(r, "X-Content-Type-Options", "nosniff");
}

void reply_json(request *r, unsigned code, strbuf *b)
{
	reply_buffer(r, code, "application/json", b);
	reply_header(r, "Cache-Control", "no-cache");
}

void reply_nothing(request *r)
{
	static char none[1];
	reply_response(
		r, MHD_HTTP_NO_CONTENT, MHD_create_response_from_buffer(0, none, MHD_RESPMEM_PERSISTENT));
	reply_header(r, "X-Content-Type-Options", "nosniff");
	reply_header(r, "Cache-Control", "no-cache");
}

void reply_unchanging(request *r)
{
	reply_header(r, "Cache-Control", UNCHANGING);
	reply_header(r, "Vary", "Authorization");
}

void reply_problem(request *r, const problem *p)
{
	strbuf b;
	strbuf_init(&b);
	problem_json(p, &b);
	strbuf_add(&b, "", 0);
	memory_take_anyway(&r->srv->memory, (int64_t)b.cap);
	own_text(r, (unsigned)problem_status(p->kind), "application/problem+json", &b);
	reply_header(r, "Cache-Control", "no-store");
	bool later =
		p->kind == PROBLEM_TOO_MANY || p->kind == PROBLEM_UNAVAILABLE || p->kind == PROBLEM_STORAGE;
	if (p->retry_after || later) {
		char seconds[16];
		snprintf(seconds, sizeof seconds, "%d", p->retry_after ? p->retry_after : RETRY_SECONDS);
		reply_header(r, "Retry-After", seconds);
	}
	if (p->kind == PROBLEM_UNAUTHORIZED)
		reply_header(r, "WWW-Authenticate", "Bearer");
	if (p->kind == PROBLEM_MEDIA_TYPE)
		reply_header(r, "Accept-Encoding", "gzip, zstd, identity");
}

void reply_failure(request *r, problem_kind kind, const char *fmt, ...)
{
	problem p = {0};
	char detail[sizeof p.detail];
	va_list args;
	va_start(args, fmt);
	vsnprintf(detail, sizeof detail, fmt, args);
	va_end(args);
	problem_set(&p, kind, "%s", detail);
	reply_problem(r, &p);
}

void reply_read_failure(request *r)
{
	reply_failure(r, PROBLEM_UNAVAILABLE, "the store could not be read: try again");
}

bool reply_unless_found(request *r, found f, const char *fmt, ...)
{
	char detail[sizeof r->why.detail];
	if (f == FOUND)
		return true;
	va_list args;
	va_start(args, fmt);
	vsnprintf(detail, sizeof detail, fmt, args);
	va_end(args);
	if (f == FOUND_NONE)
		reply_failure(r, PROBLEM_NOT_FOUND, "%s", detail);
	else
		reply_read_failure(r);
	return false;
}

void reply_store_failure(request *r, status s)
{
	if (s == ST_ERR_IO)
		reply_failure(
			r, PROBLEM_STORAGE, "the store cannot be written: the disk is full or broken");
	else
		reply_failure(r, PROBLEM_INTERNAL, "the store failed");
}

/* ---------------------------------------------------------------- sending */

static enum MHD_Result request_send(request *r, unsigned code, struct MHD_Response *response)
{
	server *srv = r->srv;
	int64_t took = clock_ns() - r->started_ns;
	metric_add(srv, requests, 1);
	if (code >= 500 && code != 501 && code != 504)
		metric_add(srv, responses_5xx, 1);
	else if (code >= 400)
		metric_add(srv, responses_4xx, 1);
	if (!r->stream)
		connections_phase(srv->connections, r->conn, PHASE_SEND);
	if (!r->stream && r->route && !r->wait_until_ns)
		histogram_add(&srv->metrics.request_seconds[route_index(r->route)], took);
	if (srv->opt.log_requests) {
		char peer[PEER_BYTES];
		peer_text(r, peer);
		log_info("event=request method=%s route=%s id=%s status=%u ms=%.1f owner=%s address=%s",
			r->route ? r->route->method : "?", r->route ? r->route->pattern : "?",
			log_quoted(r->id).text, code, (double)took / 1e6, log_quoted(r->owner).text, peer);
	}
	return MHD_queue_response(r->conn, code, response);
}

void request_answer(request *r, unsigned code, struct MHD_Response *response)
{
	r->answered = true;
	r->sent = response ? request_send(r, code, response)
					   : request_send(r, MHD_HTTP_SERVICE_UNAVAILABLE, r->srv->last_resort);
}

enum MHD_Result reply_send(request *r)
{
	enum MHD_Result ok = request_send(r, r->reply_code, r->reply);
	reply_drop(r);
	return ok;
}
