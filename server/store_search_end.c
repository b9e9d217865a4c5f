/* A search from the queue to its end: claims, events, results that are taken once, cancels, leases.
 */
#include "server/searches.h"
#include "server/store_private.h"

#include <stdlib.h>

enum { CRASH_PAUSE_US = 1000000 };

/* ---------------------------------------------------------------- run */

static bool add_event(db *c, const search_event *a, bool incumbent)
{
	strbuf b;
	strbuf_init(&b);
	strbuf_putc(&b, '{');
	json_int(&b, "evaluation", a->evaluation);
	json_key(&b, "seconds");
	strbuf_printf(
		&b, "%lld.%03d", (long long)(a->milliseconds / 1000), (int)(a->milliseconds % 1000));
	if (incumbent) {
		json_int(&b, "runtime_ns", a->runtime_ns);
		json_int(&b, "peak_bytes", a->peak_bytes);
		json_bool(&b, "fits", a->fits);
	} else if (a->detail) {
		strbuf_printf(&b, ",%s", a->detail);
	}
	strbuf_putc(&b, '}');
	bool ok = event_add(c, a->id, incumbent ? "incumbent" : "progress", b.p);
	strbuf_release(&b);
	return ok;
}

/* A tree takes kilobytes: of those of a search only the newest stays. */
static bool supersede(db *c, const char *id)
{
	sqlite3_stmt *s = db_statement(c, SQL_EVENT_SUPERSEDE);
	if (!s)
		return false;
	bind_text(s, 1, id);
	return statement_finish(s);
}

status search_event_run(db *c, write_op *op)
{
	search_event *a = (search_event *)op;
	bool incumbent = !strcmp(a->kind, "incumbent");
	sqlite3_stmt *s = db_statement(c, incumbent ? SQL_SEARCH_INCUMBENT : SQL_SEARCH_PROGRESS);
	if (!s)
		return ST_ERR_IO;
	bind_text(s, 1, a->id);
	sqlite3_bind_int64(s, 2, a->attempt);
	sqlite3_bind_int64(s, 3, a->evaluation);
	if (incumbent) {
		sqlite3_bind_int64(s, 4, a->runtime_ns);
		sqlite3_bind_int64(s, 5, a->peak_bytes);
		sqlite3_bind_int(s, 6, a->fits);
	}
	if (!statement_finish(s))
		return ST_ERR_IO;
	if (!sqlite3_changes(c->handle))
		return ST_OK; /* late: the search has ended or was started again */
	bool ok = !incumbent || add_event(c, a, true);
	if (ok && (!incumbent || a->detail))
		ok = add_event(c, a, false);
	if (ok && a->detail)
		ok = supersede(c, a->id);
	return ok ? ST_OK : ST_ERR_IO;
}

/* ---------------------------------------------------------------- end */

static bool requeue(db *c, const char *id, int failures, int64_t not_before_us)
{
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_REQUEUE);
	if (!s)
		return false;
	bind_text(s, 1, id);
	sqlite3_bind_int(s, 2, failures);
	sqlite3_bind_int64(s, 3, not_before_us);
	return statement_finish(s) && event_state(c, id, "queued", NULL);
}

/* No worker was started, so none can come late with an answer for this number of the attempt. */
static bool unclaim(db *c, const char *id)
{
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_UNCLAIM);
	if (!s)
		return false;
	bind_text(s, 1, id);
	return statement_finish(s) && event_state(c, id, "queued", NULL);
}

static bool end_search(db *c, const char *id, const char *state, const char *strategy, bool partial,
	const char *error, int failures)
{
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_END);
	if (!s)
		return false;
	bind_text(s, 1, id);
	bind_text(s, 2, state);
	bind_text(s, 3, strategy && strategy[0] ? strategy : NULL);
	sqlite3_bind_int(s, 4, partial);
	bind_text(s, 5, error);
	sqlite3_bind_int64(s, 6, wall_us());
	sqlite3_bind_int(s, 7, failures);
	if (!statement_finish(s))
		return false;
	if (strategy && strategy[0]) {
		if (!(s = db_statement(c, SQL_SEARCH_END_NUMBERS)))
			return false;
		bind_text(s, 1, id);
		bind_text(s, 2, strategy);
		if (!statement_finish(s))
			return false;
	}
	/* The last event first: numbers follow the highest one there is, and a stream has seen the one
	 * that goes. */
	if (!event_state(c, id, state, strategy) || !(s = db_statement(c, SQL_EVENT_THIN)))
		return false;
	bind_text(s, 1, id);
	return statement_finish(s);
}

typedef struct owned {
	char module[ID_BYTES], fingerprint[ID_BYTES], device[256], objective[32];
	strbuf mesh;
	int failures, max_failures;
	bool cancel;
} owned;

static found find_owned(db *c, const search_finish *a, owned *o)
{
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_OWNED);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, a->id);
	sqlite3_bind_int64(s, 2, a->attempt);
	found f = db_step(c, s);
	if (f == FOUND) {
		copy(o->module, sizeof o->module, column_text(s, 0));
		copy(o->fingerprint, sizeof o->fingerprint, column_text(s, 1));
		strbuf_puts(&o->mesh, column_text(s, 2));
		copy(o->device, sizeof o->device, column_text(s, 3));
		copy(o->objective, sizeof o->objective, column_text(s, 4));
		o->failures = sqlite3_column_int(s, 5);
		o->max_failures = sqlite3_column_int(s, 6);
		o->cancel = sqlite3_column_int(s, 7);
	}
	sqlite3_reset(s);
	return f;
}

static found document_is_strategy(db *c, const char *p, size_t n)
{
	if (n > MAX_DOCUMENT_BYTES || memchr(p, 0, n))
		return FOUND_NONE;
	sqlite3_stmt *s = db_statement(c, SQL_DOCUMENT_CHECK);
	if (!s)
		return FOUND_FAILED;
	bind_bytes(s, 1, p, n);
	found f = db_step(c, s);
	if (f == FOUND && sqlite3_column_int(s, 0) != 1)
		f = FOUND_NONE;
	sqlite3_reset(s);
	return f;
}

static bool insert_strategy(db *c, const search_finish *a, const owned *o)
{
	sqlite3_stmt *s = db_statement(c, SQL_STRATEGY_INSERT);
	if (!s)
		return false;
	bind_text(s, 1, a->strategy);
	bind_text(s, 2, a->id);
	bind_text(s, 3, o->module);
	bind_text(s, 4, o->fingerprint);
	bind_text(s, 5, o->mesh.p);
	bind_text(s, 6, o->device);
	bind_text(s, 7, o->objective);
	sqlite3_bind_int(s, 8, a->partial);
	bind_bytes(s, 9, a->document, a->document_bytes);
	sqlite3_bind_int64(s, 10, wall_us());
	return statement_finish(s);
}

/* Of a module from before there were structures. */
static bool note_structure(db *c, const search_finish *a, const owned *o)
{
	sqlite3_stmt *s = db_statement(c, SQL_MODULE_STRUCTURE_SET);
	if (!s)
		return false;
	bind_text(s, 1, o->module);
	bind_bytes(s, 2, a->document, a->document_bytes);
	return statement_finish(s);
}

static bool end_with_error(db *c, const search_finish *a, const char *state, int failures)
{
	strbuf error;
	strbuf_init(&error);
	problem_json(&a->error, &error);
	bool ok = end_search(c, a->id, state, NULL, false, a->error.kind ? error.p : NULL, failures);
	strbuf_release(&error);
	return ok;
}

static bool finish_owned(db *c, search_finish *a, const owned *o)
{
	search_outcome outcome = a->outcome;
	if ((outcome == OUTCOME_RELEASED || outcome == OUTCOME_NOT_STARTED) && o->cancel)
		return end_search(c, a->id, "canceled", NULL, false, NULL, 0);
	if (outcome == OUTCOME_RELEASED) {
		a->requeued = true;
		return requeue(c, a->id, 0, 0);
	}
	if (outcome == OUTCOME_NOT_STARTED) {
		a->requeued = true;
		return unclaim(c, a->id);
	}
	found sound = a->document ? document_is_strategy(c, a->document, a->document_bytes) : FOUND;
	if (sound == FOUND_FAILED)
		return false; /* of the store, and no word on the worker */
	if (sound == FOUND_NONE) {
		problem_set(&a->error, PROBLEM_INTERNAL, "the worker's answer is not a strategy document");
		outcome = OUTCOME_CRASHED;
	}
	if (outcome == OUTCOME_CRASHED && o->cancel)
		return end_search(c, a->id, "canceled", NULL, false, NULL, 0);
	if (outcome == OUTCOME_CRASHED && o->failures + 1 < o->max_failures) {
		a->requeued = true;
		return requeue(c, a->id, 1, wall_us() + CRASH_PAUSE_US * (o->failures + 1));
	}
	if (outcome == OUTCOME_CRASHED || outcome == OUTCOME_FAILED)
		return end_with_error(c, a, "failed", outcome == OUTCOME_CRASHED);
	if (a->document) {
		sha256_name(a->document, a->document_bytes, a->strategy);
		if (!insert_strategy(c, a, o) || !note_structure(c, a, o))
			return false;
	}
	return end_search(c, a->id, outcome == OUTCOME_CANCELED ? "canceled" : "succeeded", a->strategy,
		a->partial, NULL, 0);
}

status search_finish_run(db *c, write_op *op)
{
	search_finish *a = (search_finish *)op;
	owned o = {0};
	a->requeued = false;
	a->strategy[0] = 0;
	found f = find_owned(c, a, &o);
	a->accepted = f == FOUND;
	/* What it took counts, however it ended. */
	bool charged = f != FOUND || a->outcome == OUTCOME_NOT_STARTED || owner_charge(c, a->id);
	bool ok = f == FOUND_NONE || (f == FOUND && charged && finish_owned(c, a, &o));
	strbuf_release(&o.mesh);
	return ok ? ST_OK : ST_ERR_IO;
}

/* ---------------------------------------------------------------- cancel */

status search_cancel_run(db *c, write_op *op)
{
	search_cancel *a = (search_cancel *)op;
	char state[16] = "";
	bool pending = false;
	a->changed = a->was_running = false;
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_GET);
	if (!s)
		return ST_ERR_IO;
	bind_text(s, 1, a->id);
	found f = db_step(c, s);
	a->found = f == FOUND;
	if (a->found) {
		copy(state, sizeof state, column_text(s, 1));
		pending = sqlite3_column_int(s, 13);
		a->forbidden = !a->any && strcmp(column_text(s, 25), a->owner) != 0;
	}
	sqlite3_reset(s);
	if (!a->found)
		return f == FOUND_NONE ? ST_OK : ST_ERR_IO;
	if (a->forbidden)
		return ST_OK;
	if (!strcmp(state, "queued")) {
		a->changed = true;
		if (!end_search(c, a->id, "canceled", NULL, false, NULL, 0))
			return ST_ERR_IO;
	} else if (!strcmp(state, "running")) {
		a->was_running = true;
		a->changed = !pending;
		s = db_statement(c, SQL_SEARCH_CANCEL_RUNNING);
		if (s)
			bind_text(s, 1, a->id);
		if (a->changed && !statement_finish(s))
			return ST_ERR_IO;
	}
	strbuf_clear(&a->json);
	return search_json(c, a->id, &a->json, NULL, NULL) == FOUND ? ST_OK : ST_ERR_IO;
}

/* ---------------------------------------------------------------- leases */

/* Ids from a statement with one text column; they are acted upon after it is done. False: not all
 * could be read. */
static bool collect_ids(db *c, sqlite3_stmt *s, char (**out)[SEARCH_ID_BYTES], uint32_t *out_n)
{
	VEC(struct { char id[SEARCH_ID_BYTES]; }) ids = {0};
	found f;
	while ((f = db_step(c, s)) == FOUND) {
		vec_reserve(&ids, ids.n + 1);
		copy(ids.p[ids.n++].id, SEARCH_ID_BYTES, column_text(s, 0));
	}
	if (s)
		sqlite3_reset(s);
	*out = (char(*)[SEARCH_ID_BYTES])ids.p;
	*out_n = ids.n;
	return f == FOUND_NONE;
}

status search_beat_run(db *c, write_op *op)
{
	search_beat *a = (search_beat *)op;
	int64_t now = wall_us();
	bool ok = true;
	for (uint32_t i = 0; i < a->count && ok; i++) {
		sqlite3_stmt *s = db_statement(c, SQL_SEARCH_BEAT);
		if (s) {
			bind_text(s, 1, a->ids[i]);
			sqlite3_bind_int64(s, 2, now + a->lease_us);
		}
		ok = statement_finish(s);
	}
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_EXPIRED);
	if (s)
		sqlite3_bind_int64(s, 1, now);
	char(*expired)[SEARCH_ID_BYTES];
	uint32_t n;
	ok = collect_ids(c, s, &expired, &n) && ok;
	for (uint32_t i = 0; i < n && ok; i++)
		ok = requeue(c, expired[i], 0, 0);
	free(expired);
	return ok ? ST_OK : ST_ERR_IO;
}

status search_recover(db *c, int64_t *out_count)
{
	/* The lock of the store says that no other daemon runs them, and workers die with their daemon.
	 */
	char(*ids)[SEARCH_ID_BYTES];
	uint32_t n;
	bool ok = collect_ids(c, db_statement(c, SQL_SEARCH_RUNNING), &ids, &n) &&
		sqlite3_exec(c->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
	for (uint32_t i = 0; i < n && ok; i++) {
		sqlite3_stmt *s = db_statement(c, SQL_SEARCH_GET);
		if (s)
			bind_text(s, 1, ids[i]);
		ok = db_step(c, s) == FOUND;
		bool cancel = ok && sqlite3_column_int(s, 13);
		if (s)
			sqlite3_reset(s);
		if (ok)
			ok = cancel ? end_search(c, ids[i], "canceled", NULL, false, NULL, 0)
						: requeue(c, ids[i], 0, 0);
	}
	ok = ok && sqlite3_exec(c->handle, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
	if (!ok && !sqlite3_get_autocommit(c->handle))
		sqlite3_exec(c->handle, "ROLLBACK", NULL, NULL, NULL);
	free(ids);
	*out_count = n;
	return ok ? ST_OK : ST_ERR_IO;
}
