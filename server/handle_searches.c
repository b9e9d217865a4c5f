#include "server/server.h"

#include <stdlib.h>

enum { MOST_WAIT_SECONDS = 60, PARSED_BYTES = 24 };

/* ---------------------------------------------------------------- create */

typedef struct search_post { /* lives in request.state; create stands first: its write_op is what
	                            the writer sees */
	search_create create;
	search_spec spec;
	request *r;
} search_post;

static void search_post_free(void *cls)
{
	search_post *t = cls;
	spec_release(&t->spec);
	strbuf_release(&t->create.json);
	free(t);
}

static void reply_search(request *r, unsigned code, const char *id, strbuf *json,
	const document_ref *document, const char *cache_status)
{
	char location[96];
	if (document && document->bytes > DOCUMENT_WHOLE) {
		reply_document_json(r, code, json, document, "}");
		reply_header(r, "Cache-Control", "no-cache");
	} else {
		reply_json(r, code, json);
	}
	snprintf(location, sizeof location, "/v1/searches/%s", id);
	reply_header(r, "Location", location);
	reply_header(r, "Cache-Status", cache_status);
}

static void audit(request *r, const char *action, const char *search)
{
	char peer[PEER_BYTES];
	peer_text(r, peer);
	log_audit(
		"event=%s search=%s owner=%s address=%s", action, search, log_quoted(r->owner).text, peer);
}

#define CACHE_HIT "shardwright; hit"

static void reply_hit(request *r, search_create *a)
{
	metric_add(r->srv, cache_hits, 1);
	if (a->document.id[0])
		hits_add(r->srv->hits, a->document.id);
	reply_search(r, 200, a->id, &a->json, &a->document, CACHE_HIT);
}

/* The same, and the answer is kept for whoever sends these bytes again. */
static void reply_kept(request *r, search_create *a, uint64_t generation)
{
	char location[96];
	const char *body = r->body.p;
	int64_t bytes = (int64_t)a->json.n;
	if (a->document.bytes > DOCUMENT_WHOLE || a->spec->tag_count || a->spec->verify) {
		reply_hit(r, a);
		return;
	}
	snprintf(location, sizeof location, "/v1/searches/%s", a->id);
	struct MHD_Response *response = response_of_text(&a->json,
		(const char *const[][2]){{"Content-Type", "application/json"},
			{"X-Content-Type-Options", "nosniff"}, {"Cache-Control", "no-cache"},
			{"Location", location}, {"Cache-Status", CACHE_HIT}, {NULL, NULL}});
	metric_add(r->srv, cache_hits, 1);
	hits_add(r->srv->hits, a->document.id);
	request_answer(r, 200, response);
	if (response &&
		!response_cache_put(
			r->srv->responses, body, r->body.n, generation, a->document.id, response, bytes))
		MHD_destroy_response(response);
}

/* Writer thread, after COMMIT. */
static void search_created(write_op *op)
{
	search_post *t = (search_post *)op;
	request *r = t->r;
	server *srv = r->srv;
	search_create *a = &t->create;
	if (op->result == ST_OK && (a->changed || a->spec->verify))
		response_cache_outdate(srv->responses);
	if (op->result != ST_OK) {
		reply_store_failure(r, op->result);
	} else if (a->queue_full) {
		reply_failure(
			r, PROBLEM_TOO_MANY, "%lld searches are waiting already", (long long)a->queue_limit);
	} else if (a->owner_full) {
		reply_failure(r, PROBLEM_TOO_MANY, "%lld of your searches are waiting already",
			(long long)a->owner_limit);
	} else if (a->reused) {
		reply_failure(
			r, PROBLEM_UNPROCESSABLE, "this Idempotency-Key was given with another request");
	} else if (a->cached) {
		reply_hit(r, a);
	} else {
		audit(r, a->repeated ? "repeat" : a->existing ? "join" : "submit", a->id);
		metric_add(srv, cache_misses, 1);
		if (a->existing)
			metric_add(srv, searches_deduplicated, 1);
		else
			metric_add(srv, searches_created, 1);
		reply_search(r, 202, a->id, &a->json, NULL,
			a->existing ? "shardwright; fwd=miss; collapsed" : "shardwright; fwd=miss");
		reply_header(r, "Retry-After", "1");
		if (!a->existing)
			supervisor_kick(srv->supervisor);
	}
	request_resume(r);
}

static bool has_directive(const char *header, const char *directive)
{
	size_t n = strlen(directive);
	for (const char *p = header; p && *p; p += strcspn(p, ","), p += *p == ',') {
		p += strspn(p, " \t");
		if (!strncasecmp(p, directive, n) && (!p[n] || strchr(" \t,;", p[n])))
			return true;
	}
	return false;
}

/* The parser builds a tree beside the text, of up to PARSED_BYTES for each of its bytes; it is gone
 * when this returns. */
static bool parse_body(request *r, search_spec *spec, problem *why)
{
	server *srv = r->srv;
	int64_t bytes = (int64_t)r->body.n * PARSED_BYTES;
	if (!memory_take(&srv->memory, bytes))
		return memory_refused(why);
	bool ok = spec_parse(
		spec, r->body.p ? r->body.p : "", r->body.n, srv->device_names, srv->device_count, why);
	memory_give(&srv->memory, bytes);
	return ok;
}

/* The bytes of a request that was answered from the store before say all that has to be known. */
static bool answer_again(request *r)
{
	if (!r->body.n || request_header(r, "Idempotency-Key") ||
		has_directive(request_header(r, "Cache-Control"), "no-cache") ||
		!response_cache_queue(r->srv->responses, r, r->body.p, r->body.n))
		return false;
	metric_add(r->srv, cache_hits, 1);
	return true;
}

static void submit_search(request *r, search_post *t, const module_row *module)
{
	server *srv = r->srv;
	search_create *a = &t->create;
	a->op.run = search_create_run;
	a->op.done = search_created;
	a->spec = &t->spec;
	a->queue_limit = srv->opt.queue;
	a->owner_limit = srv->opt.owner_queue;
	a->max_failures = (int)srv->opt.search_attempts;
	snprintf(a->fingerprint, sizeof a->fingerprint, "%s", module->fingerprint);
	request_park(r);
	store_submit(srv->store, &a->op);
}

void handle_search_post(request *r)
{
	server *srv = r->srv;
	problem why = {0};
	module_row module;
	if (answer_again(r))
		return;
	search_post *t = xcalloc(1, sizeof *t);
	search_create *a = &t->create;
	r->state = t;
	r->free_state = search_post_free;
	t->r = r;
	a->spec = &t->spec;
	if (!parse_body(r, &t->spec, &why)) {
		reply_problem(r, &why);
		return;
	}
	db *c = store_reader(srv->store);
	uint64_t generation = response_cache_generation(srv->responses);
	found f = c ? module_find(c, t->spec.module, &module) : FOUND_FAILED;
	if (f == FOUND_FAILED) {
		reply_read_failure(r);
		return;
	}
	if (f == FOUND_NONE) {
		problem_at(&why, "/module",
			"there is no module '%s': upload it with POST /v1/modules first", t->spec.module);
		why.kind = PROBLEM_NOT_FOUND;
		reply_problem(r, &why);
		return;
	}
	spec_key(&t->spec, module.fingerprint, module.shardings, srv->cost_model, a->key);
	const char *cache = request_header(r, "Cache-Control");
	bool only_cached = has_directive(cache, "only-if-cached") ||
		has_directive(request_header(r, "Prefer"), "only-if-cached");
	a->fresh = has_directive(cache, "no-cache") && !only_cached;
	snprintf(a->owner, sizeof a->owner, "%s", r->owner);
	if (!request_repeat_key(r, &a->repeat, &why)) {
		reply_problem(r, &why);
		return;
	}
	sha256_name(t->spec.json, strlen(t->spec.json) + a->fresh,
		a->repeat.digest); /* with its end, when it is to be fresh */
	/* Answers come from here; only what has to be written down goes to the writer, while it can
	 * write. */
	bool noted =
		(a->repeat.key[0] || t->spec.tag_count) && !only_cached && store_writable(srv->store);
	f = a->fresh || noted ? FOUND_NONE : search_cached(c, a->key, &t->spec, false, a->id);
	if (f == FOUND && t->spec.verify && !only_cached) {
		f = verification_asked(c, a->id, t->spec.verify);
		if (f == FOUND_NONE) { /* the answer is there, and something to write all the same */
			submit_search(r, t, &module);
			return;
		}
	}
	if (f == FOUND)
		f = search_json_full(c, a->id, &a->json, &a->document);
	if (f == FOUND_FAILED) {
		reply_read_failure(r);
		return;
	}
	if (f == FOUND) {
		reply_kept(r, a, generation);
		return;
	}
	if (only_cached) {
		metric_add(srv, cache_misses, 1);
		reply_failure(r, PROBLEM_NOT_CACHED, "the store has no answer to this yet");
		return;
	}
	if (objects_lost(store_objects(srv->store), "objects", module.id)) {
		problem_at(&why, "/module",
			"the text of the module '%s' is lost: upload it again with POST /v1/modules",
			module.id);
		why.kind = PROBLEM_NOT_FOUND;
		reply_problem(r, &why);
		return;
	}
	submit_search(r, t, &module);
}

/* ---------------------------------------------------------------- read and wait */

/* "30s", "500ms", "30": nanoseconds, cut to the most; -1 when malformed. */
static int64_t parse_wait(const char *text)
{
	int64_t v;
	size_t n = strspn(text, "0123456789");
	if (!str_to_i64((str){text, n}, &v))
		return -1;
	bool ms = !strcmp(text + n, "ms");
	if (!ms && text[n] && strcmp(text + n, "s"))
		return -1;
	int64_t most = ms ? MOST_WAIT_SECONDS * 1000ll : MOST_WAIT_SECONDS;
	return MIN(v, most) * (ms ? 1000000 : 1000000000);
}

/* With If-None-Match, "something new" is a change of revision; without, the end of the search, or
 * of its verification too. */
static void search_look(request *r)
{
	server *srv = r->srv;
	db *c = store_reader(srv->store);
	const char *match = request_header(r, "If-None-Match");
	strbuf b;
	strbuf_init(&b);
	for (;;) {
		uint64_t generation = watch_generation(srv->hub, r->id);
		int64_t revision;
		bool final;
		strbuf_clear(&b);
		found f = c ? search_json(c, r->id, &b, &revision, &final) : FOUND_FAILED;
		if (f == FOUND && final && request_query(r, "until"))
			f = verification_over(c, r->id, &final);
		if (!reply_unless_found(r, f, "there is no search '%.100s'", r->id)) {
			strbuf_release(&b);
			return;
		}
		char tag[32];
		snprintf(tag, sizeof tag, "\"%lld\"", (long long)revision);
		bool same = match && strstr(match, tag);
		bool wait = final ? false : match ? same : true;
		if (wait && clock_ns() < r->wait_until_ns && !watch_stopped(srv->hub)) {
			if (request_watch(r, r->id, generation, r->wait_until_ns, search_look))
				break;
			continue;
		}
		if (same)
			strbuf_clear(&b);
		reply_json(r, same ? 304 : 200, &b);
		reply_header(r, "ETag", tag);
		return;
	}
	strbuf_release(&b);
}

void handle_search_get(request *r)
{
	const char *text = request_query(r, "wait");
	int64_t wait = text ? parse_wait(text) : 0;
	if (wait < 0) {
		reply_failure(
			r, PROBLEM_BAD_REQUEST, "wait is '%.60s', expected a time such as 30s or 500ms", text);
		return;
	}
	const char *until = request_query(r, "until");
	if (until && strcmp(until, "verified")) {
		reply_failure(r, PROBLEM_BAD_REQUEST, "until is '%.60s', expected verified", until);
		return;
	}
	r->wait_until_ns = text ? clock_ns() + wait : 0;
	search_look(r);
}

/* ---------------------------------------------------------------- cancel */

typedef struct cancel_post {
	search_cancel cancel;
	request *r;
} cancel_post;

static void cancel_post_free(void *cls)
{
	strbuf_release(&((cancel_post *)cls)->cancel.json);
	free(cls);
}

static void search_canceled(write_op *op)
{
	cancel_post *t = (cancel_post *)op;
	request *r = t->r;
	search_cancel *a = &t->cancel;
	if (op->result != ST_OK) {
		reply_store_failure(r, op->result);
	} else if (!a->found) {
		reply_failure(r, PROBLEM_NOT_FOUND, "there is no search '%.100s'", r->id);
	} else if (a->forbidden) {
		reply_failure(r, PROBLEM_FORBIDDEN,
			"the search belongs to somebody else; its owner or an admin may cancel it");
	} else {
		audit(r, "cancel", a->id);
		reply_json(r, a->was_running ? 202 : 200, &a->json);
		if (a->was_running)
			supervisor_cancel(r->srv->supervisor, a->id);
		else if (a->changed)
			metric_add(r->srv, searches_canceled, 1);
		if (a->changed)
			watch_notify(r->srv->hub, a->id);
	}
	request_resume(r);
}

void handle_search_cancel(request *r)
{
	char id[SEARCH_ID_BYTES];
	if (!request_search_id(r, id))
		return;
	cancel_post *t = xcalloc(1, sizeof *t);
	t->r = r;
	t->cancel.op.run = search_cancel_run;
	t->cancel.op.done = search_canceled;
	memcpy(t->cancel.id, id, sizeof id);
	t->cancel.any = !r->srv->tokens || r->admin;
	snprintf(t->cancel.owner, sizeof t->cancel.owner, "%s", r->owner);
	r->state = t;
	r->free_state = cancel_post_free;
	request_park(r);
	store_submit(r->srv->store, &t->cancel.op);
}
