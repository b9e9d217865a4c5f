/* Requests and their answers. */
#ifndef SW_SERVER_HTTP_H
#define SW_SERVER_HTTP_H

#include "server/access.h"
#include "server/searches.h"

/* ---------------------------------------------------------------- watch.c */

typedef struct watch_hub watch_hub;
typedef struct watcher {
	struct watcher *next, **link;
	struct MHD_Connection *conn; /* parked while linked */
	int64_t deadline_ns;
	char id[SEARCH_ID_BYTES];
} watcher;
watch_hub *watch_new(void);
void watch_free(watch_hub *h);
/* Read before the state is read; a change in between makes watch_park refuse. */
uint64_t watch_generation(watch_hub *h, const char *id);
/* Suspends conn until watch_notify(id), the deadline or watch_stop; false (not suspended) when
 * something happened since `generation` or the hub has stopped. Call from a handler or content
 * reader of conn only. */
bool watch_park(watch_hub *h, watcher *w, const char *id, uint64_t generation,
	struct MHD_Connection *conn, int64_t deadline_ns);
void watch_notify(watch_hub *h, const char *id);
void watch_expire(watch_hub *h, int64_t now_ns); /* the reaper calls it */
void watch_stop(watch_hub *h);
bool watch_stopped(watch_hub *h);

/* ---------------------------------------------------------------- a request: from http.c to the
 * handler of its route and back */

typedef enum body_kind { BODY_NONE, BODY_JSON, BODY_MODULE, BODY_TEXT, BODY_LARGE_JSON } body_kind;
typedef struct route {
	const char *method, *pattern; /* "{id}" stands for one path segment */
	void (*handle)(request *r);
	body_kind body;
	int scope;         /* 0: open to all */
	const char *query; /* known parameters, comma-separated, "" for none */
} route;

struct request {
	server *srv;
	struct MHD_Connection *conn;
	const route *route;
	char id[256]; /* the {id} of the path */
	char owner[64];
	bool admin; /* may act on what belongs to others */
	int64_t started_ns;
	gate *gate;
	uint64_t number; /* of the connection's requests, from 1 */
	problem why;     /* set before or while the body arrives: the answer once it is complete */
	char allow[64];  /* of a 405 */
	strbuf body;     /* BODY_JSON, BODY_NONE */
	upload *up;      /* BODY_MODULE, BODY_TEXT, BODY_LARGE_JSON */
	struct MHD_Response *reply;
	unsigned reply_code;
	bool ambiguous; /* where the request ends is not certain: the connection has to end with it */
	bool handled, parked, stream; /* parked: this call suspended the connection; HTTP thread only */
	bool answered;                /* queued already; sent tells whether that worked */
	enum MHD_Result sent;
	int64_t discarded;
	int64_t held;              /* bytes taken from the memory budget, given back with the request */
	void (*again)(request *r); /* continues a parked request that has no reply yet */
	void *state;               /* of the handler; freed by free_state */
	void (*free_state)(void *state);
	watcher watch;
	int64_t wait_until_ns;
};

/* ---------------------------------------------------------------- listen.c, http.c */

/* Start and stop serving. daemon handles are in srv. */
status http_start(server *srv, diag *d) MUST_USE;
void http_quiesce(server *srv);
void http_stop(server *srv);

/* ---------------------------------------------------------------- request.c, body.c */

/* Parks the request: call before handing it to another thread, which ends with request_resume. */
void request_park(request *r);
/* Waits for a change of search `id` until deadline_ns, then calls again; false: something changed,
 * look again now. */
bool request_watch(request *r, const char *id, uint64_t generation, int64_t deadline_ns,
	void (*again)(request *r));
void request_resume(request *r);
const char *request_header(request *r, const char *name);
const char *request_query(request *r, const char *name);
/* Takes bytes from the memory budget until the request ends; false with why filled when it is
 * spent. */
bool request_hold(request *r, int64_t bytes, problem *why);
/* Frees the body of a request whose handler needs it no more. */
void request_let_go(request *r);
/* Idempotency-Key of the request into out, "" without one; false with why filled when it is
 * malformed. digest is the caller's. */
bool request_repeat_key(request *r, repeat_key *out, problem *why);
/* False (and a 404 is prepared) when the {id} of the path cannot be a search's; else it is copied.
 */
bool request_search_id(request *r, char id[SEARCH_ID_BYTES]);
/* A text as JSON, by json_parse; the tree is counted into the memory budget and owned by the
 * caller. NULL with why filled. */
cJSON *request_json(request *r, const strbuf *text, size_t limit, problem *why);

/* ---------------------------------------------------------------- reply.c, objects_response.c */

/* True when it was found. Else the answer is prepared: 404 with the text, or 503 because the store
 * could not be read. */
bool reply_unless_found(request *r, found f, const char *fmt, ...) PRINTF_LIKE(3, 4);
void reply_read_failure(request *r);
/* A large answer that lies in a file: fd becomes the response's. */
void reply_file(request *r, unsigned code, const char *type, int fd, int64_t bytes);
/* JSON around a document that is read while it is sent: head, the document, tail. head is emptied.
 */
void reply_document_json(
	request *r, unsigned code, strbuf *head, const document_ref *d, const char *tail);
/* Prepare the answer; sent when the handler returns or, for a parked request, when it is resumed. b
 * is emptied. */
void reply_buffer(request *r, unsigned code, const char *type, strbuf *b);
void reply_json(request *r, unsigned code, strbuf *b);
void reply_nothing(request *r); /* 204, without a type */
/* response NULL: there was no memory for it; 503. */
void reply_response(request *r, unsigned code, struct MHD_Response *response);
/* Takes the text over; headers: pairs of name and value, {NULL, NULL} at the end. NULL: no memory.
 */
struct MHD_Response *response_of_text(strbuf *b, const char *const (*headers)[2]);
/* Answers at once with a response that others hold too; from a handler only, in place of a reply.
 */
void request_answer(request *r, unsigned code, struct MHD_Response *response);
void reply_problem(request *r, const problem *p);
void reply_failure(request *r, problem_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
void reply_header(request *r, const char *name, const char *value);
/* What is answered never changes: whoever asked may keep it, but only gives it to requests with the
 * token that it was given to. */
#define UNCHANGING "private, max-age=31536000, immutable"
void reply_unchanging(request *r);
/* The writer failed: 507 when the disk is the reason, else 500. */
void reply_store_failure(request *r, status s);
/* A response that streams the decoded text of a .zst file, or the file as it is when the client
 * takes zstd. NULL with why filled: INTERNAL when the file is not there, UNAVAILABLE when it could
 * not be read now. */
struct MHD_Response *objects_response(
	const char *path, bool as_zstd, memory *m, struct problem *why);

/* ---------------------------------------------------------------- response_cache.c */

typedef struct response_cache response_cache; /* thread-safe */
response_cache *response_cache_new(struct server *srv);
void response_cache_free(response_cache *c);
/* Read it before the store is read. */
uint64_t response_cache_generation(response_cache *c);
/* Something that answers show has changed. */
void response_cache_outdate(response_cache *c);
/* Answers r; false: nothing is kept for these bytes. */
bool response_cache_queue(response_cache *c, request *r, const char *key, size_t n);
/* Keeps a response of `bytes` bytes, and takes it over; false: there is no room for it. strategy:
 * what it is a use of, or "". */
bool response_cache_put(response_cache *c, const char *key, size_t n, uint64_t generation,
	const char *strategy, struct MHD_Response *response, int64_t bytes);

/* ---------------------------------------------------------------- routes.c, handle_*.c */

/* The route, or NULL; *allow then lists the methods of the path ("" when the path is unknown). id
 * receives {id}. */
const route *route_find(const char *method, const char *path, char id[256], char allow[64]);

uint32_t route_index(const route *r);
const route *route_at(uint32_t i); /* NULL behind the last */

void handle_module_post(request *r);
void handle_module_get(request *r);
void handle_module_list(request *r);
void handle_module_labels(request *r);
void handle_search_post(request *r);
void handle_search_get(request *r);
void handle_search_list(request *r);
void handle_search_cancel(request *r);
void handle_search_events(request *r);
void handle_strategy_list(request *r);
void handle_strategy_get(request *r);
void handle_simulate(request *r);
void handle_opt(request *r);
void handle_devices(request *r);
void handle_version(request *r);
void handle_healthz(request *r);
void handle_readyz(request *r);
void handle_metrics(request *r);
void handle_openapi(request *r);
void handle_page(request *r);
void handle_page_worker(request *r);
void handle_strategy_explanation(request *r);
void handle_strategy_outline(request *r);
void handle_strategy_timeline(request *r);
void handle_strategy_shardings(request *r);
void handle_module_arguments(request *r);
void handle_layout(request *r);
void handle_verification_claim(request *r);
void handle_verification_heartbeat(request *r);
void handle_verification_result(request *r);
void handle_search_verifications(request *r);
void handle_strategy_verifications(request *r);
void handle_measurement_post(request *r);
void handle_measurement_list(request *r);
/* page_size and page_token as they stand; false: the answer is prepared. */
bool request_page_size(request *r, int64_t *out);
/* Answers with the module that strategy `id` is applied to. */
void reply_applied(request *r, const char *id);
/* The page's headers and its compressed form, from what is embedded; call once before serving. */
void page_prepare(server *srv);
void page_release(server *srv);

#endif
