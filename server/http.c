/* libmicrohttpd on one side, routes and handlers on the other. A request lives through these calls
 * of http_serve():
 *   first     the head is there: hygiene, route, token, sizes; a refusal is sent before the body
 *   data      body bytes go into a buffer or an upload
 *   complete  the handler runs: it prepares a reply, or parks the request
 *   again     a parked request was resumed: its reply is ready, or the handler looks again */
#include "server/server.h"
#include "server/http_private.h"

#include <stdlib.h>

#define GUESS_PAUSE_NS 1000000000ll
enum {
	JSON_KEPT = 4
}; /* copies of a JSON body until its request ends: the buffer with its room to grow, the canonical
      text */
enum { MAX_DISCARDED_BYTES = 32 << 20 };

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
	if (head_check(r, url, method, version))
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
	return reply_send(r);
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

enum MHD_Result http_serve(void *cls, struct MHD_Connection *conn, const char *url,
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
		bool whole = head_passed(r);
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
	return r->reply ? reply_send(r) : MHD_NO;
}

void http_completed(
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
	reply_drop(r);
	request_let_go(r);
	free(r);
	*context = NULL;
	atomic_fetch_sub(&srv->requests_active, 1);
}
