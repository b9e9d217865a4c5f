/* libmicrohttpd on one side, routes and handlers on the other. A request lives through these calls
 * of serve():
 *   first     the head is there: hygiene, route, token, sizes; a refusal is sent before the body
 *   data      body bytes go into a buffer or an upload
 *   complete  the handler runs: it prepares a reply, or parks the request
 *   again     a parked request was resumed: its reply is ready, or the handler looks again */
#include "server/server.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define GUESS_PAUSE_NS 1000000000ll
enum {
	JSON_KEPT = 4
}; /* copies of a JSON body until its request ends: the buffer with its room to grow, the canonical
      text */
enum {
	MAX_IGNORED_BYTES = 64 << 10,
	MAX_DISCARDED_BYTES = 32 << 20,
	BACKLOG = 511,
	CONNECTION_MEMORY = 32 << 10,
	CONNECTION_BYTES = 40 << 10,
	MOST_DESCRIPTORS = 4 << 20,
	RETRY_SECONDS = 5
};

/* ---------------------------------------------------------------- replies */

const char *request_header(request *r, const char *name)
{
	return MHD_lookup_connection_value(r->conn, MHD_HEADER_KIND, name);
}
const char *request_query(request *r, const char *name)
{
	return MHD_lookup_connection_value(r->conn, MHD_GET_ARGUMENT_KIND, name);
}

/* What is said where there is no memory for a response: made at the start. */
static bool make_last_resort(server *srv)
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

static void drop_reply(request *r)
{
	if (r->reply && r->reply != r->srv->last_resort)
		MHD_destroy_response(r->reply);
	r->reply = NULL;
}

void reply_response(request *r, unsigned code, struct MHD_Response *response)
{
	drop_reply(r);
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

bool request_hold(request *r, int64_t bytes, problem *why)
{
	if (!memory_take(&r->srv->memory, bytes))
		return memory_refused(why);
	r->held += bytes;
	return true;
}

void reply_store_failure(request *r, status s)
{
	if (s == ST_ERR_IO)
		reply_failure(
			r, PROBLEM_STORAGE, "the store cannot be written: the disk is full or broken");
	else
		reply_failure(r, PROBLEM_INTERNAL, "the store failed");
}

bool request_search_id(request *r, char id[SEARCH_ID_BYTES])
{
	size_t n = strlen(r->id);
	if (n != SEARCH_ID_BYTES - 1) {
		reply_failure(r, PROBLEM_NOT_FOUND, "there is no search '%.100s'", r->id);
		return false;
	}
	memcpy(id, r->id, SEARCH_ID_BYTES);
	return true;
}

bool request_repeat_key(request *r, repeat_key *out, problem *why)
{
	const char *key = request_header(r, "Idempotency-Key");
	snprintf(out->owner, sizeof out->owner, "%s", r->owner);
	for (const char *c = key; c && *c; c++)
		if (*c < 0x21 || *c > 0x7e)
			return problem_set(why, PROBLEM_BAD_REQUEST,
				"Idempotency-Key: expected 1 to %zu visible characters of ASCII",
				sizeof out->key - 1);
	if (key && (!*key || strlen(key) >= sizeof out->key))
		return problem_set(why, PROBLEM_BAD_REQUEST,
			"Idempotency-Key: expected 1 to %zu visible characters of ASCII", sizeof out->key - 1);
	snprintf(out->key, sizeof out->key, "%s", key ? key : "");
	return true;
}

/* ---------------------------------------------------------------- parking */

void request_park(request *r)
{
	r->parked = true;
	MHD_suspend_connection(r->conn);
}

void request_resume(request *r) { MHD_resume_connection(r->conn); }

bool request_watch(
	request *r, const char *id, uint64_t generation, int64_t deadline_ns, void (*again)(request *r))
{
	r->again = again;
	r->parked = watch_park(r->srv->hub, &r->watch, id, generation, r->conn, deadline_ns);
	return r->parked;
}

static enum MHD_Result queue(request *r, unsigned code, struct MHD_Response *response)
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
	r->sent = response ? queue(r, code, response)
					   : queue(r, MHD_HTTP_SERVICE_UNAVAILABLE, r->srv->last_resort);
}

static enum MHD_Result send_reply(request *r)
{
	enum MHD_Result ok = queue(r, r->reply_code, r->reply);
	drop_reply(r);
	return ok;
}

/* ---------------------------------------------------------------- the head of a request */

typedef struct head {
	int lengths, hosts, codings;
	bool bad_coding, bad_length;
} head;

static enum MHD_Result count_header(
	void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
	head *h = cls;
	(void)kind;
	value = value ? value : "";
	if (!strcasecmp(key, "Content-Length")) {
		h->lengths++;
		h->bad_length = h->bad_length || !value[0] || value[strspn(value, "0123456789")];
	} else if (!strcasecmp(key, "Transfer-Encoding")) {
		h->codings++;
		h->bad_coding = h->bad_coding || strcasecmp(value, "chunked");
	} else if (!strcasecmp(key, "Host")) {
		h->hosts++;
	}
	return MHD_YES;
}

/* Heads that two HTTP programs may read differently are refused: between them requests get
 * smuggled. */
static bool check_head(request *r, const char *version)
{
	head h = {0};
	MHD_get_connection_values(r->conn, MHD_HEADER_KIND, count_header, &h);
	problem *p = &r->why;
	if (h.lengths > 1 || h.bad_length)
		return problem_set(
			p, PROBLEM_BAD_REQUEST, "more than one Content-Length, or one that is no number");
	if (h.lengths && h.codings)
		return problem_set(p, PROBLEM_BAD_REQUEST, "both Content-Length and Transfer-Encoding");
	if (h.hosts > 1 || (!h.hosts && strcmp(version, MHD_HTTP_VERSION_1_0)))
		return problem_set(p, PROBLEM_BAD_REQUEST, "expected exactly one Host");
	const char *host = request_header(r, "Host");
	if (h.hosts && !check_host(r, host ? host : ""))
		return false;
	if (h.codings > 1 || h.bad_coding)
		return problem_set(p, PROBLEM_UNSUPPORTED_CODING, "the only transfer coding is chunked");
	return true;
}

static bool check_token(request *r)
{
	server *srv = r->srv;
	if (!r->route->scope || peer_is_trusted(r))
		return true;
	if (!srv->tokens)
		return srv->opt.insecure || !peer_is_local(r) ||
			problem_set(&r->why, PROBLEM_FORBIDDEN,
				"over the Unix socket this user, and whoever comes through a proxy, needs a token "
				"(--tokens)");
	int scopes = tokens_check(srv->tokens, request_header(r, "Authorization"), r->owner);
	r->admin = scopes & SCOPE_ADMIN;
	if (!scopes)
		return problem_set(
			&r->why, PROBLEM_UNAUTHORIZED, "send a token as Authorization: Bearer TOKEN");
	if (!(scopes & r->route->scope))
		return problem_set(
			&r->why, PROBLEM_FORBIDDEN, "the token '%s' lacks the scope for this", r->owner);
	return true;
}

static bool word_in_list(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = list; n && *p; p += strcspn(p, ","), p += *p == ',')
		if (!strncmp(p, word, n) && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

static enum MHD_Result check_parameter(
	void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
	request *r = cls;
	(void)kind;
	(void)value;
	if (!word_in_list(r->route->query, key))
		problem_set(&r->why, PROBLEM_BAD_REQUEST,
			"unknown query parameter '%.100s', expected one of: %s", key,
			r->route->query[0] ? r->route->query : "none");
	return MHD_YES;
}

static bool media_type_is(const char *header, const char *type)
{
	size_t n = strlen(type);
	return header && !strncasecmp(header, type, n) &&
		(!header[n] || header[n] == ';' || header[n] == ' ');
}

static bool check_module_body(request *r, const char *type, int64_t length)
{
	const char *coding = request_header(r, "Content-Encoding");
	bool stored = r->route->body == BODY_MODULE, json = r->route->body == BODY_LARGE_JSON;
	int64_t limit = stored ? r->srv->opt.upload_limit : MAX_TOOL_BYTES;
	upload_coding how = CODING_ANY;
	if (json && !media_type_is(type, "application/json"))
		return problem_set(&r->why, PROBLEM_MEDIA_TYPE, "expected Content-Type: application/json");
	if (!json &&
		(media_type_is(type, "multipart/form-data") || media_type_is(type, "application/json")))
		return problem_set(
			&r->why, PROBLEM_MEDIA_TYPE, "send the module itself as the body, not %.60s", type);
	if (coding && (!strcasecmp(coding, "gzip") || !strcasecmp(coding, "x-gzip")))
		how = CODING_GZIP;
	else if (coding && !strcasecmp(coding, "zstd"))
		how = CODING_ZSTD;
	else if (coding && strcasecmp(coding, "identity"))
		return problem_set(&r->why, PROBLEM_MEDIA_TYPE,
			"Content-Encoding is '%.60s', expected gzip, zstd or none", coding);
	if (length > limit)
		return problem_set(&r->why, PROBLEM_TOO_LARGE, "the body has %lld bytes, the limit is %lld",
			(long long)length, (long long)limit);
	r->up = upload_new(stored ? store_objects(r->srv->store) : NULL, &r->srv->memory, how, limit,
		stored ? r->srv->opt.module_limit : MAX_TOOL_BYTES, &r->why);
	return r->up != NULL;
}

static bool check_body(request *r, const char *method)
{
	const char *length_text = request_header(r, "Content-Length"),
			   *type = request_header(r, "Content-Type");
	int64_t length = 0;
	if (length_text && !str_to_i64(str_of(length_text), &length))
		length = INT64_MAX;
	if (strcmp(method, "POST"))
		return !length && !request_header(r, "Transfer-Encoding")
			? true
			: problem_set(&r->why, PROBLEM_BAD_REQUEST, "%.16s takes no body", method);
	switch (r->route->body) {
	case BODY_MODULE:
	case BODY_TEXT:
	case BODY_LARGE_JSON: return check_module_body(r, type, length);
	case BODY_JSON:
		if (!media_type_is(type, "application/json"))
			return problem_set(
				&r->why, PROBLEM_MEDIA_TYPE, "expected Content-Type: application/json");
		if (request_header(r, "Content-Encoding") &&
			strcasecmp(request_header(r, "Content-Encoding"), "identity"))
			return problem_set(&r->why, PROBLEM_MEDIA_TYPE, "a JSON body is not compressed");
		if (length > MAX_JSON_BYTES)
			return problem_set(&r->why, PROBLEM_TOO_LARGE,
				"the body has %lld bytes, the limit is %d", (long long)length, MAX_JSON_BYTES);
		return true;
	case BODY_NONE: break;
	}
	return length <= MAX_IGNORED_BYTES ||
		problem_set(&r->why, PROBLEM_TOO_LARGE, "no body is expected here");
}

/* Looked at again once the body is there: its chunks pass the gate later than the head. */
static bool check_gate(request *r)
{
	if (!r->gate)
		return problem_set(
			&r->why, PROBLEM_INTERNAL, "this connection did not pass the request gate");
	const char *reason = gate_refusal(r->gate, r->number);
	return !reason || problem_set(&r->why, PROBLEM_BAD_REQUEST, "%s", reason);
}

/* Everything that can be refused before the body arrives. */
static bool check_request(request *r, const char *url, const char *method, const char *version)
{
	if (!check_gate(r) || !check_head(r, version)) {
		metric_add(r->srv, rejected_heads, 1);
		r->ambiguous = true;
		return false;
	}
	const char *as = strcmp(method, "HEAD") ? method : "GET";
	r->route = route_find(as, url, r->id, r->allow);
	if (!r->route)
		return r->allow[0] ? problem_set(&r->why, PROBLEM_METHOD, "%.200s takes %s", url, r->allow)
						   : problem_set(&r->why, PROBLEM_NOT_FOUND, "nothing is at %.200s", url);
	if (!check_origin(r, method) || !check_token(r))
		return false;
	MHD_get_connection_values(r->conn, MHD_GET_ARGUMENT_KIND, check_parameter, r);
	if (r->why.kind)
		return false;
	if (atomic_load(&r->srv->stopping))
		return problem_set(&r->why, PROBLEM_UNAVAILABLE, "the daemon is stopping");
	return check_body(r, method);
}

static request *request_new(server *srv, struct MHD_Connection *conn)
{
	request *r = xcalloc(1, sizeof *r);
	r->srv = srv;
	r->conn = conn;
	r->started_ns = clock_ns();
	r->number = connections_request(conn, &r->gate);
	atomic_fetch_add(&srv->requests_active, 1);
	return r;
}

static void reply_refusal(request *r)
{
	reply_problem(r, &r->why);
	if (r->why.kind == PROBLEM_METHOD)
		reply_header(r, "Allow", r->allow);
	if (r->ambiguous || (r->gate && gate_refusal(r->gate, r->number)))
		reply_header(r, "Connection", "close");
}

static enum MHD_Result begin(request *r, const char *url, const char *method, const char *version)
{
	connections_phase(r->srv->connections, r->conn, PHASE_BODY);
	if (check_request(r, url, method, version))
		return MHD_YES;
	/* Answering now saves the client its body, but ends the connection, and a client in the middle
	 * of sending may never see the answer: bodies of a bearable size are taken in and dropped
	 * first. */
	const char *length = request_header(r, "Content-Length");
	int64_t bytes = 0;
	bool guess = r->why.kind == PROBLEM_UNAUTHORIZED && request_header(r, "Authorization");
	bool bearable =
		(!length || (str_to_i64(str_of(length), &bytes) && bytes <= MAX_DISCARDED_BYTES)) &&
		(guess || !request_header(r, "Expect"));
	if (bearable && !r->ambiguous)
		return MHD_YES;
	reply_refusal(r);
	if (!r->ambiguous)
		reply_header(r, "Connection", "close");
	return send_reply(r);
}

void request_let_go(request *r)
{
	upload_free(r->up);
	r->up = NULL;
	strbuf_release(&r->body);
	memory_give(&r->srv->memory, r->held);
	r->held = 0;
}

static enum MHD_Result take_data(request *r, const char *p, size_t n)
{
	if (r->why.kind) {
		/* A refusal can only be sent once the body has ended; one that does not end is cut off. */
		r->discarded += (int64_t)n;
		return r->discarded > MAX_DISCARDED_BYTES ? MHD_NO : MHD_YES;
	}
	size_t limit = r->route->body == BODY_JSON ? MAX_JSON_BYTES : MAX_IGNORED_BYTES;
	if (r->up)
		upload_feed(r->up, p, n, &r->why);
	else if (r->body.n + n > limit)
		problem_set(
			&r->why, PROBLEM_TOO_LARGE, "the body has more than the limit of %zu bytes", limit);
	else if (request_hold(r, (int64_t)n * JSON_KEPT, &r->why))
		strbuf_add(&r->body, p, n);
	if (r->why.kind) /* what follows is thrown away: so is what came */
		request_let_go(r);
	return MHD_YES;
}

/* Whoever guesses at tokens waits for each answer, and is named in the log. */
static bool slow_down(request *r)
{
	char peer[PEER_BYTES];
	if (r->why.kind != PROBLEM_UNAUTHORIZED || !request_header(r, "Authorization"))
		return false;
	peer_text(r, peer);
	log_audit("event=token_refused address=%s route=%s", peer, r->route->pattern);
	metric_add(r->srv, tokens_refused, 1);
	static const char nobody[] = "";
	return request_watch(r, nobody, watch_generation(r->srv->hub, nobody),
		clock_ns() + GUESS_PAUSE_NS, reply_refusal);
}

static enum MHD_Result serve(void *cls, struct MHD_Connection *conn, const char *url,
	const char *method, const char *version, const char *data, size_t *data_n, void **context)
{
	server *srv = cls;
	request *r = *context;
	if (!r) {
		*context = r = request_new(srv, conn);
		return begin(r, url, method, version);
	}
	if (*data_n) {
		size_t n = *data_n;
		*data_n = 0;
		return take_data(r, data, n);
	}
	r->parked = false;
	if (!r->handled) {
		r->handled = true;
		connections_phase(srv->connections, conn, PHASE_WORK);
		bool whole = check_gate(r);
		if (whole && r->up && !r->why.kind)
			upload_end(r->up, &r->why);
		if (r->why.kind && !slow_down(r))
			reply_refusal(r);
		else if (!r->why.kind)
			r->route->handle(r);
	} else if (!r->reply && r->again) {
		r->again(r);
	}
	if (r->parked)
		return MHD_YES; /* another thread may be filling in the reply right now: do not look */
	if (r->answered)
		return r->sent;
	return r->reply ? send_reply(r) : MHD_NO;
}

static void completed(
	void *cls, struct MHD_Connection *conn, void **context, enum MHD_RequestTerminationCode why)
{
	server *srv = cls;
	request *r = *context;
	(void)why;
	if (!r)
		return;
	connections_phase(srv->connections, conn, PHASE_IDLE);
	if (r->state)
		r->free_state(r->state);
	drop_reply(r);
	request_let_go(r);
	free(r);
	*context = NULL;
	atomic_fetch_sub(&srv->requests_active, 1);
}

/* ---------------------------------------------------------------- sockets */

static bool is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 &&
		IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static status check_reach(server *srv, const struct sockaddr *a, diag *d)
{
	if (!is_loopback(a) && !srv->tokens && !srv->opt.insecure)
		return diag_set(d, ST_ERR_INVALID,
			"'%s' is reachable by others: give --tokens FILE, or --insecure to let everybody in",
			srv->activated ? "the service manager's socket" : srv->opt.listen);
	if (!srv->opt.address_connections && !is_loopback(a))
		srv->opt.address_connections = 64;
	return ST_OK;
}

static uint16_t port_of(const struct sockaddr_storage *a)
{
	return ntohs(a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
										  : ((const struct sockaddr_in *)a)->sin_port);
}

/* One that the service manager opened. */
static status take_tcp(server *srv, diag *d)
{
	struct sockaddr_storage bound;
	socklen_t n = sizeof bound;
	if (getsockname(srv->tcp_fd, (struct sockaddr *)&bound, &n) != 0)
		return diag_set(d, ST_ERR_IO, "the service manager's socket: %s", strerror(errno));
	srv->port = port_of(&bound);
	return check_reach(srv, (struct sockaddr *)&bound, d);
}

static status bind_address(server *srv, const struct addrinfo *a, diag *d)
{
	int on = 1;
	TRY(check_reach(srv, a->ai_addr, d));
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return diag_set(d, ST_ERR_IO, "cannot make a socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	struct sockaddr_storage bound;
	socklen_t n = sizeof bound;
	if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0 ||
		getsockname(fd, (struct sockaddr *)&bound, &n) != 0) {
		diag_set(d, ST_ERR_IO, "cannot listen on '%s': %s", srv->opt.listen, strerror(errno));
		close(fd);
		return ST_ERR_IO;
	}
	srv->tcp_fd = fd;
	srv->port = port_of(&bound);
	return ST_OK;
}

static status open_tcp(server *srv, diag *d)
{
	char host[256];
	const char *address = srv->opt.listen, *colon = strrchr(address, ':');
	if (!colon || (size_t)(colon - address) >= sizeof host)
		return diag_set(d, ST_ERR_INVALID, "--listen is '%s', expected HOST:PORT", address);
	bool brackets = address[0] == '[' && colon > address && colon[-1] == ']';
	snprintf(host, sizeof host, "%.*s", (int)(colon - address) - 2 * brackets, address + brackets);
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
					*list = NULL;
	int rc = getaddrinfo(host[0] ? host : NULL, colon + 1, &hints, &list);
	if (rc != 0)
		return diag_set(d, ST_ERR_INVALID, "--listen is '%s': %s", address, gai_strerror(rc));
	status s = bind_address(srv, list, d);
	freeaddrinfo(list);
	return s;
}

static status open_local(server *srv, diag *d)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const char *path = srv->opt.unix_socket;
	if (strlen(path) >= sizeof a.sun_path)
		return diag_set(
			d, ST_ERR_INVALID, "--unix: the path is longer than %zu bytes", sizeof a.sun_path - 1);
	memcpy(a.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0) {
		close(fd);
		return diag_set(d, ST_ERR_INVALID, "somebody serves on '%s' already", path);
	}
	if (errno == ECONNREFUSED)
		unlink(path); /* left by a daemon that was killed */
	gid_t group = 0;
	if (srv->opt.unix_group[0] && !group_find(srv->opt.unix_group, &group)) {
		if (fd >= 0)
			close(fd);
		return diag_set(
			d, ST_ERR_INVALID, "--unix-group is '%s', which is no group", srv->opt.unix_group);
	}
	mode_t before = umask(0177);
	bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
	umask(before);
	if (ok && srv->opt.unix_group[0])
		ok = chown(path, (uid_t)-1, group) == 0 && chmod(path, 0660) == 0;
	ok = ok && listen(fd, BACKLOG) == 0;
	if (!ok) {
		diag_set(d, ST_ERR_IO, "cannot listen on '%s': %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return ST_ERR_IO;
	}
	srv->local_fd = fd;
	return ST_OK;
}

static void mhd_log(void *cls, const char *fmt, va_list args)
{
	char text[400];
	(void)cls;
	vsnprintf(text, sizeof text, fmt, args);
	log_warn("event=http text=%s", log_quoted(text).text);
}

/* Percent-decoding, but a %00 stays as it is: decoded it would cut the text short. */
static size_t unescape(void *cls, struct MHD_Connection *conn, char *text)
{
	(void)cls;
	(void)conn;
	return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

static int64_t http_threads(const options *o)
{
	return o->http_threads ? o->http_threads : MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 2), 4);
}

static struct MHD_Daemon *start_daemon(
	server *srv, int fd, int64_t most, int64_t per_address, bool tls)
{
	const options *o = &srv->opt;
	int64_t threads = http_threads(o);
	struct MHD_OptionItem items[] = {
		{MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)mhd_log, NULL},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)completed, srv},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)connections_notify, srv->connections},
		{MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape, NULL},
		{MHD_OPTION_LISTEN_SOCKET, fd, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, (intptr_t)most, NULL},
		{MHD_OPTION_PER_IP_CONNECTION_LIMIT, (intptr_t)per_address, NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)o->idle_timeout, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL},
		{MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
		{threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)threads, NULL},
		{MHD_OPTION_END, 0, NULL},
	};
	struct MHD_OptionItem secure[] = {
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_callback()},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
		{MHD_OPTION_END, 0, NULL},
	};
	return MHD_start_daemon((tls ? MHD_USE_TLS : 0) | MHD_USE_EPOLL_INTERNAL_THREAD |
			MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
		0, NULL, NULL, serve, srv, MHD_OPTION_ARRAY, items, MHD_OPTION_ARRAY,
		tls ? secure : &secure[COUNT_OF(secure) - 1], MHD_OPTION_END);
}

/* A connection holds its own descriptor, and at most one of a file: an upload's or an answer's.
 * What the daemon needs to read, write and start workers is kept aside, so that connections end
 * before it does. */
static int64_t most_by_descriptors(const options *o)
{
	struct rlimit files;
	int64_t reserve = 64 + 8 * (o->workers + o->tool_threads) + 4 * http_threads(o);
	rlim_t want = (rlim_t)(2 * o->connections + reserve);
	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return o->connections;
	if (files.rlim_cur < want) {
		files.rlim_cur = MIN(want, files.rlim_max);
		setrlimit(RLIMIT_NOFILE, &files);
		getrlimit(RLIMIT_NOFILE, &files);
	}
	return files.rlim_cur == RLIM_INFINITY ? o->connections
										   : ((int64_t)files.rlim_cur - reserve) / 2;
}

static void fit_connections(options *o)
{
	int64_t files = most_by_descriptors(o), by_memory = memory_of_process() / 4 / CONNECTION_BYTES,
			most = MAX(MIN(files, by_memory), 8);
	if (o->connections <= most)
		return;
	log_warn("event=fewer_connections wanted=%lld taken=%lld by=%s", (long long)o->connections,
		(long long)most, files < by_memory ? "descriptors" : "memory");
	o->connections = most;
}

status http_start(server *srv, diag *d)
{
	if (!make_last_resort(srv))
		return diag_set(d, ST_ERR_INTERNAL, "there is no memory to start with");
	if (!systemd_sockets(&srv->tcp_fd, &srv->local_fd, d))
		return d->code;
	srv->activated = srv->tcp_fd >= 0 || srv->local_fd >= 0;
	bool tcp = srv->activated ? srv->tcp_fd >= 0 : srv->opt.listen[0],
		 unix_socket = srv->activated ? srv->local_fd >= 0 : srv->opt.unix_socket[0];
	if (!tcp && !unix_socket)
		return diag_set(d, ST_ERR_INVALID, "nothing to serve on: give --listen or --unix");
	struct rlimit files;
	if (!srv->opt.tls_cert[0] != !srv->opt.tls_key[0])
		return diag_set(d, ST_ERR_INVALID, "--tls-cert and --tls-key go together");
	if (srv->opt.tls_cert[0])
		TRY(tls_load(&srv->opt, d));
	fit_connections(&srv->opt);
	if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
		!gate_init(MIN((size_t)files.rlim_cur, (size_t)MOST_DESCRIPTORS)))
		return diag_set(
			d, ST_ERR_INTERNAL, "the HTTP library does not read through the request gate");
	/* Those that come over the Unix socket have connections of their own: the network cannot take
	 * them. */
	int64_t local = !unix_socket ? 0
		: !tcp                   ? srv->opt.connections
								 : MAX(srv->opt.connections / 4, 4);
	int64_t remote = srv->opt.connections - local;
	if (tcp) {
		TRY(srv->activated ? take_tcp(srv, d) : open_tcp(srv, d));
		int64_t each =
			srv->opt.address_connections ? srv->opt.address_connections : MAX(remote / 2, 1);
		srv->tcp = start_daemon(srv, srv->tcp_fd, remote, each, srv->opt.tls_cert[0] != 0);
		if (!srv->tcp)
			return diag_set(d, ST_ERR_INTERNAL, "cannot start the HTTP server");
	}
	if (unix_socket) {
		if (!srv->activated)
			TRY(open_local(srv, d));
		srv->local = start_daemon(srv, srv->local_fd, local, 0, false);
		if (!srv->local)
			return diag_set(d, ST_ERR_INTERNAL, "cannot start the HTTP server");
	}
	return ST_OK;
}

typedef int (*epoll_ctl_function)(int, int, int, struct epoll_event *);

/* libmicrohttpd takes the listening socket out of a thread's epoll set both in MHD_quiesce_daemon
 * and in that thread once it sees the flag, and 0.9.75 ends the process when the second of them
 * finds it gone. It calls epoll_ctl() through the dynamic linker, and so finds this one: what is
 * not there is removed. */
int epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
	static _Atomic(epoll_ctl_function) next; /* its only writers write the same */
	epoll_ctl_function call = atomic_load_explicit(&next, memory_order_relaxed);
	if (!call) {
		*(void **)&call = dlsym(RTLD_NEXT, "epoll_ctl");
		atomic_store_explicit(&next, call, memory_order_relaxed);
	}
	int failed = call(set, op, fd, event);
	return failed && op == EPOLL_CTL_DEL && errno == ENOENT ? 0 : failed;
}

void http_quiesce(server *srv)
{
	if (srv->tcp)
		MHD_quiesce_daemon(srv->tcp);
	if (srv->local)
		MHD_quiesce_daemon(srv->local);
	if (srv->activated)
		return; /* who comes now waits in its queue for the next start */
	/* New clients are refused. Closed only behind MHD_stop_daemon: its thread may be about to take
	 * the socket out of its epoll set, and ends the process when that is no socket any more. */
	if (srv->tcp_fd >= 0)
		shutdown(srv->tcp_fd, SHUT_RDWR);
	if (srv->local_fd >= 0) {
		shutdown(srv->local_fd, SHUT_RDWR);
		unlink(srv->opt.unix_socket);
	}
}

void http_stop(server *srv)
{
	if (srv->tcp)
		MHD_stop_daemon(srv->tcp);
	if (srv->local)
		MHD_stop_daemon(srv->local);
	if (srv->last_resort)
		MHD_destroy_response(srv->last_resort);
	if (srv->tcp_fd >= 0)
		close(srv->tcp_fd);
	if (srv->local_fd >= 0)
		close(srv->local_fd);
}
