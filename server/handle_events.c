/* Event streams: the events of a search as server-sent events. What is sent comes from the
 * database, so a client that lost its connection goes on with Last-Event-ID, and a stream opened
 * after the end tells the whole story. */
#include "server/server.h"

#include <stdlib.h>

enum {
	BLOCK = 16 << 10,
	STREAM_BYTES = 64 << 10
}; /* the block of its response, and up to 200 events */

typedef struct stream { /* lives as long as its response */
	server *srv;
	struct MHD_Connection *conn;
	watcher watch;
	char id[SEARCH_ID_BYTES];
	int64_t last, heartbeat_ns;
	bool final, until_verified;
	strbuf pending;
	size_t at;
} stream;

static ssize_t send_pending(stream *t, char *buf, size_t max)
{
	size_t n = MIN(max, t->pending.n - t->at);
	memcpy(buf, t->pending.p + t->at, n);
	t->at += n;
	t->heartbeat_ns = clock_ns() + t->srv->opt.stream_heartbeat * 1000000000;
	return (ssize_t)n;
}

/* A client may resume behind the last event of a search that has ended: nothing will ever come. */
static bool search_is_over(db *c, const char *id, bool verified)
{
	strbuf unused;
	bool final = false;
	strbuf_init(&unused);
	found f = search_json(c, id, &unused, NULL, &final);
	strbuf_release(&unused);
	bool over = f == FOUND && final;
	return over && verified ? verification_over(c, id, &over) == FOUND && over : over;
}

static ssize_t stream_read(void *cls, uint64_t pos, char *buf, size_t max)
{
	stream *t = cls;
	(void)pos;
	if (t->at < t->pending.n)
		return send_pending(t, buf, max);
	db *c = store_reader(t->srv->store);
	if (!c)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	while (!t->final && !watch_stopped(t->srv->hub)) {
		uint64_t generation = watch_generation(t->srv->hub, t->id);
		bool over = search_is_over(c, t->id,
			t->until_verified); /* asked first: its last event may come between two reads */
		strbuf_clear(&t->pending);
		t->at = 0;
		if (!events_stream(c, t->id, t->last, &t->pending, &t->last, &t->final))
			return MHD_CONTENT_READER_END_WITH_ERROR; /* cut off, not ended: the client comes again
			                                             with its last id */
		t->final = t->final && !t->until_verified;
		if (!t->pending.n && over)
			break;
		if (!t->pending.n && clock_ns() >= t->heartbeat_ns)
			strbuf_puts(&t->pending, ": still here\n\n");
		if (t->pending.n)
			return send_pending(t, buf, max);
		if (watch_park(t->srv->hub, &t->watch, t->id, generation, t->conn, t->heartbeat_ns))
			return 0;
	}
	return MHD_CONTENT_READER_END_OF_STREAM;
}

static void stream_free(void *cls)
{
	stream *t = cls;
	metric_add(t->srv, streams_open, -1);
	memory_give(&t->srv->memory, STREAM_BYTES);
	strbuf_release(&t->pending);
	free(t);
}

static bool read_last_id(request *r, int64_t *out)
{
	const char *text = request_header(r, "Last-Event-ID");
	text = text ? text : request_query(r, "last_event_id");
	*out = 0;
	return !text || str_to_i64(str_of(text), out);
}

void handle_search_events(request *r)
{
	server *srv = r->srv;
	db *c = store_reader(srv->store);
	strbuf b;
	int64_t last;
	char id[SEARCH_ID_BYTES];
	if (!request_search_id(r, id))
		return;
	strbuf_init(&b);
	found f = c ? search_json(c, r->id, &b, NULL, NULL) : FOUND_FAILED;
	strbuf_release(&b);
	if (!reply_unless_found(r, f, "there is no search '%.100s'", r->id))
		return;
	if (!read_last_id(r, &last)) {
		reply_failure(r, PROBLEM_BAD_REQUEST, "Last-Event-ID is not an id of this stream");
		return;
	}
	const char *until = request_query(r, "until");
	if (until && strcmp(until, "verified")) {
		reply_failure(r, PROBLEM_BAD_REQUEST, "until is '%.60s', expected verified", until);
		return;
	}
	if (metric_add(srv, streams_open, 1) >= srv->opt.streams) {
		metric_add(srv, streams_open, -1);
		reply_failure(r, PROBLEM_TOO_MANY, "%lld event streams are open already",
			(long long)srv->opt.streams);
		return;
	}
	problem why = {0};
	if (!memory_take(&srv->memory, STREAM_BYTES)) {
		metric_add(srv, streams_open, -1);
		memory_refused(&why);
		reply_problem(r, &why);
		return;
	}
	stream *t = xcalloc(1, sizeof *t);
	t->srv = srv;
	t->conn = r->conn;
	t->last = last;
	t->until_verified = until != NULL;
	memcpy(t->id, id, sizeof id);
	strbuf_puts(&t->pending, "retry: 3000\n\n");
	t->heartbeat_ns = clock_ns();
	struct MHD_Response *response =
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, stream_read, t, stream_free);
	if (!response)
		stream_free(t);
	reply_response(r, 200, response);
	reply_header(r, "Content-Type", "text/event-stream");
	reply_header(r, "Cache-Control", "no-store");
	reply_header(r, "X-Accel-Buffering", "no");
	r->stream = true;
}
