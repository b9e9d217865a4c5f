/* The engine over a running daemon: uploads modules, posts searches, polls them. */
#include "batch/batch.h"
#include "clients/cli/batch_remote.h"
#include "clients/cli/daemon.h"

#include <stdlib.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 64 };

typedef struct sent_module {
	const char *path;
	char id[80], error[BATCH_ERROR_BYTES]; /* id empty: error says why it was refused */
} sent_module;

typedef struct remote {
	batch_engine engine; /* first */
	client c;
	bool only_cached;
	VEC(sent_module *) modules;
	index_map by_path;
	arena mem;
} remote;

/* A refusal as one line; true when another try may go better. */
static bool refusal(const remote *r, const answer *a, const char *file, char out[BATCH_ERROR_BYTES])
{
	strbuf why = {0};
	client_refusal(&r->c, a, file, &why);
	const char *text = str_starts(str_of(why.p), "error: ") ? why.p + 7 : why.p;
	snprintf(out, BATCH_ERROR_BYTES, "%.*s", (int)strcspn(text, "\n"), text);
	strbuf_release(&why);
	return a->code == 429 || a->code == 503 || a->code == 507;
}

/* ---------------------------------------------------------------- modules */

/* A file stands for the module it holds: its id is the hash of its text. */
static bool hash_file(const char *path, char id[80], diag *d)
{
	strbuf text = {0};
	bool ok = file_read(path, (size_t)1 << 30, &text, d) == ST_OK;
	if (ok)
		sha256_name(text.p, text.n, id);
	strbuf_release(&text);
	return ok;
}

static batch_asked send_module(remote *r, const char *path, const sent_module **out, diag *d)
{
	uint64_t h = hash_bytes(path, strlen(path), 0);
	uint32_t id, it = index_first(&r->by_path, h);
	while (index_next(&r->by_path, h, &it, &id))
		if (!strcmp(r->modules.p[id]->path, path)) {
			*out = r->modules.p[id];
			return BATCH_ASK_STARTED;
		}
	sent_module m = {.path = arena_strdup(&r->mem, path, strlen(path))};
	answer a = {0};
	diag why = {0};
	batch_asked asked = BATCH_ASK_STARTED;
	if (!strncmp(path, "sha256:", 7))
		snprintf(m.id, sizeof m.id, "%s", path);
	else if (r->only_cached) {
		if (!hash_file(path, m.id, &why))
			snprintf(m.error, sizeof m.error, "%s", why.msg);
	} else if (!client_upload(&r->c, path, NULL, m.id, &a, &why)) {
		if (why.code != ST_OK)
			snprintf(m.error, sizeof m.error, "%s", why.msg);
		else if (refusal(r, &a, path, m.error))
			asked = BATCH_ASK_LATER;
		else if (!a.code)
			asked = BATCH_ASK_BROKEN;
	}
	strbuf_release(&a.body);
	if (asked != BATCH_ASK_STARTED) {
		diag_set(d, ST_ERR_IO, "%s", m.error);
		return asked;
	}
	sent_module *kept = arena_zalloc(&r->mem, sizeof *kept);
	*kept = m;
	index_add(&r->by_path, h, r->modules.n);
	vec_push(&r->modules, kept);
	*out = kept;
	return asked;
}

/* ---------------------------------------------------------------- answers */

static double baseline_order(const cJSON *b, bool memory)
{
	return client_number(
		cJSON_GetObjectItemCaseSensitive(b, "cost"), memory ? "peak_bytes" : "runtime_ns");
}

static void take_baseline(const cJSON *document, bool memory, batch_result *out)
{
	const cJSON *item, *best = NULL;
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(document, "baselines"))
	{
		bool fits = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "fits"));
		bool best_fits = best && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(best, "fits"));
		if (!best || (fits && !best_fits) ||
			(fits == best_fits && baseline_order(item, memory) < baseline_order(best, memory)))
			best = item;
	}
	if (!best)
		return;
	const cJSON *cost = cJSON_GetObjectItemCaseSensitive(best, "cost");
	out->has_baseline = true;
	snprintf(out->baseline, sizeof out->baseline, "%s",
		client_text(best, "name") ? client_text(best, "name") : "");
	out->baseline_ns = (int64_t)client_number(cost, "runtime_ns");
	out->baseline_peak_bytes = (int64_t)client_number(cost, "peak_bytes");
	out->baseline_fits = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(best, "fits"));
}

static bool take_document(
	remote *r, const cJSON *document, batch_result *out, const char *objective)
{
	answer a = {0};
	cJSON *fetched = NULL;
	if (!cJSON_IsObject(document)) {
		char path[160];
		snprintf(path, sizeof path, "/v1/strategies/%.100s", out->strategy);
		client_call(&r->c, "GET", path, NULL, 0, NULL, &a);
		document = fetched = a.code == 200 ? cJSON_ParseWithLength(a.body.p, a.body.n) : NULL;
	}
	const cJSON *search = cJSON_GetObjectItemCaseSensitive(document, "search");
	take_baseline(document, objective && !strcmp(objective, "memory"), out);
	out->search_ns = (int64_t)(client_number(search, "seconds") * 1e9);
	bool ok = document != NULL;
	cJSON_Delete(fetched);
	strbuf_release(&a.body);
	return ok;
}

/* The resource of a search. False: it is not there to be read. */
static bool take_search(remote *r, const cJSON *search, batch_result *out)
{
	const char *state = client_text(search, "state"), *strategy = client_text(search, "strategy"),
			   *id = client_text(search, "id");
	const cJSON *best = cJSON_GetObjectItemCaseSensitive(search, "best"),
				*error = cJSON_GetObjectItemCaseSensitive(search, "error");
	if (!state || !id)
		return false;
	snprintf(out->search, sizeof out->search, "%s", id);
	if (!client_is_final(state)) {
		out->state = BATCH_RUNNING;
		return true;
	}
	out->state = strategy ? BATCH_SUCCEEDED : BATCH_FAILED;
	if (!strategy) {
		const char *detail = client_text(error, "detail");
		snprintf(out->error, sizeof out->error, "%s", detail ? detail : "the search was canceled");
		return true;
	}
	snprintf(out->strategy, sizeof out->strategy, "%s", strategy);
	out->runtime_ns = (int64_t)client_number(best, "runtime_ns");
	out->peak_bytes = (int64_t)client_number(best, "peak_bytes");
	out->fits = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(best, "fits"));
	out->evaluations = (int64_t)client_number(search, "evaluations");
	out->partial = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(search, "partial"));
	return take_document(r, cJSON_GetObjectItemCaseSensitive(search, "document"), out,
		client_text(search, "objective"));
}

static bool look(batch_engine *e, batch_result *out, diag *d)
{
	remote *r = (remote *)e;
	char path[160];
	answer a = {0};
	snprintf(path, sizeof path, "/v1/searches/%.100s", out->search);
	client_call(&r->c, "GET", path, NULL, 0, NULL, &a);
	cJSON *search = a.code == 200 ? cJSON_ParseWithLength(a.body.p, a.body.n) : NULL;
	char error[BATCH_ERROR_BYTES] = "the daemon's answer is not understood";
	if (!take_search(r, search, out) && (a.code == 200 || !refusal(r, &a, NULL, error)))
		diag_set(d, ST_ERR_IO, "%s", error);
	cJSON_Delete(search);
	strbuf_release(&a.body);
	return d->code == ST_OK && (out->state == BATCH_SUCCEEDED || out->state == BATCH_FAILED);
}

/* A daemon answers with what any seed found. For the answer of one seed it is asked anew, and by
 * this line it knows the question again when the batch is run again. */
static void repeat_line(const char *body, char out[128])
{
	char id[80];
	sha256_name(body, strlen(body), id);
	snprintf(out, 128, "Idempotency-Key: batch-%s", id);
}

static batch_asked post(
	remote *r, const batch_job *job, const char *module, batch_result *out, diag *d)
{
	cJSON *o = cJSON_Parse(job->request);
	cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(o, "module"), module);
	char *body = cJSON_PrintUnformatted(o);
	char repeat[128];
	const char *const plain[] = {"Content-Type: application/json",
		r->only_cached ? "Cache-Control: only-if-cached" : NULL, NULL};
	const char *const of_seed[] = {
		"Content-Type: application/json", "Cache-Control: no-cache", repeat, NULL};
	answer a = {0};
	repeat_line(body, repeat);
	client_call(
		&r->c, "POST", "/v1/searches", body, strlen(body), job->seeds ? of_seed : plain, &a);
	cJSON *search =
		a.code == 200 || a.code == 202 ? cJSON_ParseWithLength(a.body.p, a.body.n) : NULL;
	batch_asked asked = BATCH_ASK_ENDED;
	char error[BATCH_ERROR_BYTES];
	if (search && take_search(r, search, out)) {
		out->stored = a.code == 200;
		asked = a.code == 200 ? BATCH_ASK_ENDED : BATCH_ASK_STARTED;
	} else if (r->only_cached &&
		(a.code == 504 || a.code == 404)) { /* 404: not even the module is there */
		out->state = BATCH_WAITING;
	} else if (refusal(r, &a, NULL, error)) {
		asked = BATCH_ASK_LATER;
	} else if (a.code >= 400 && a.code < 500 && a.code != 401 && a.code != 403) {
		out->state = BATCH_FAILED;
		snprintf(out->error, sizeof out->error, "%s", error);
	} else {
		asked = BATCH_ASK_BROKEN;
	}
	if (asked == BATCH_ASK_LATER || asked == BATCH_ASK_BROKEN)
		diag_set(d, ST_ERR_IO, "%s", error);
	cJSON_Delete(search);
	strbuf_release(&a.body);
	cJSON_free(body);
	cJSON_Delete(o);
	return asked;
}

static batch_asked ask(batch_engine *e, const batch_job *job, batch_result *out, diag *d)
{
	remote *r = (remote *)e;
	const sent_module *m = NULL;
	batch_asked asked = send_module(r, job->module, &m, d);
	if (asked != BATCH_ASK_STARTED)
		return asked;
	if (m->id[0] && job->seeds && r->only_cached) { /* what a daemon has of one seed cannot be asked
		                                               without asking for the search */
		out->state = BATCH_WAITING;
		return BATCH_ASK_ENDED;
	}
	if (m->id[0])
		return post(r, job, m->id, out, d);
	out->state = BATCH_FAILED;
	snprintf(out->error, sizeof out->error, "%s", m->error);
	return BATCH_ASK_ENDED;
}

static void wait_a_while(batch_engine *e, int ms)
{
	(void)e;
	usleep((useconds_t)ms * 1000);
}

static void close_remote(batch_engine *e)
{
	remote *r = (remote *)e;
	client_close(&r->c);
	vec_release(&r->modules);
	index_release(&r->by_path);
	arena_release(&r->mem);
	free(r);
}

batch_engine *batch_remote_open(const char *server, bool only_cached, diag *d)
{
	remote *r = xcalloc(1, sizeof *r);
	r->engine = (batch_engine){.most_at_once = MOST_AT_ONCE,
		.ask = ask,
		.look = look,
		.wait = wait_a_while,
		.close = close_remote};
	r->only_cached = only_cached;
	arena_init(&r->mem);
	index_init(&r->by_path);
	if (client_open(&r->c, server))
		return &r->engine;
	diag_set(d, ST_ERR_INTERNAL, "libcurl cannot be started");
	close_remote(&r->engine);
	return NULL;
}
