#include "server/server.h"
#include "server/store_private.h"

#include <stdlib.h>
#include <unistd.h>

enum { CRASH_PAUSE_US = 1000000 };

static void copy(char *to, size_t n, const char *from) { snprintf(to, n, "%s", from); }

/* ---------------------------------------------------------------- modules */

found module_find(db *c, const char *id, module_row *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_MODULE_FIND);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, id);
	found f = db_step(c, s);
	if (f == FOUND) {
		copy(out->id, sizeof out->id, column_text(s, 0));
		copy(out->fingerprint, sizeof out->fingerprint, column_text(s, 1));
		copy(out->shardings, sizeof out->shardings, column_text(s, 2));
		copy(out->name, sizeof out->name, column_text(s, 3));
		out->ops = sqlite3_column_int64(s, 4);
		out->arguments = sqlite3_column_int64(s, 5);
		out->text_bytes = sqlite3_column_int64(s, 6);
		copy(out->structure, sizeof out->structure, column_text(s, 7));
		out->uploaded_us = sqlite3_column_int64(s, 8);
	}
	sqlite3_reset(s);
	return f;
}

bool module_json(db *c, const module_row *m, strbuf *out)
{
	strbuf_putc(out, '{');
	json_text(out, "id", m->id);
	json_text(out, "fingerprint", m->fingerprint);
	json_text(out, "shardings", m->shardings);
	json_text(out, "structure", m->structure[0] ? m->structure : NULL);
	json_text(out, "name", m->name);
	json_int(out, "ops", m->ops);
	json_int(out, "arguments", m->arguments);
	json_int(out, "bytes", m->text_bytes);
	json_key(out, "labels");
	bool ok = labels_json(c, m->id, out) == FOUND;
	strbuf_putc(out, '}');
	return ok;
}

status module_insert(db *c, const module_row *m, int64_t stored_bytes)
{
	sqlite3_stmt *s = db_statement(c, SQL_MODULE_INSERT);
	if (!s)
		return ST_ERR_IO;
	bind_text(s, 1, m->id);
	bind_text(s, 2, m->fingerprint);
	bind_text(s, 3, m->shardings);
	bind_text(s, 4, m->name);
	sqlite3_bind_int64(s, 5, m->ops);
	sqlite3_bind_int64(s, 6, m->arguments);
	sqlite3_bind_int64(s, 7, m->text_bytes);
	sqlite3_bind_int64(s, 8, stored_bytes);
	sqlite3_bind_int64(s, 9, wall_us());
	bind_text(s, 10, m->structure[0] ? m->structure : NULL);
	return statement_finish(s) ? ST_OK : ST_ERR_IO;
}

/* ---------------------------------------------------------------- events */

static bool event_add(db *c, const char *id, const char *kind, const char *body)
{
	sqlite3_stmt *s = db_statement(c, SQL_EVENT_INSERT);
	if (!s)
		return false;
	bind_text(s, 1, id);
	bind_text(s, 2, kind);
	sqlite3_bind_int64(s, 3, wall_us());
	bind_text(s, 4, body);
	return statement_finish(s);
}

bool event_state(db *c, const char *id, const char *state, const char *strategy)
{
	strbuf b;
	strbuf_init(&b);
	strbuf_putc(&b, '{');
	json_text(&b, "id", id);
	json_text(&b, "state", state);
	if (strategy && strategy[0])
		json_text(&b, "strategy", strategy);
	strbuf_putc(&b, '}');
	bool ok = event_add(c, id, "state", b.p);
	strbuf_release(&b);
	return ok;
}

/* ---------------------------------------------------------------- create */

static found find_id(
	db *c, statement_id statement, const char *key, const search_spec *p, char id[SEARCH_ID_BYTES])
{
	sqlite3_stmt *s = db_statement(c, statement);
	id[0] = 0;
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, key);
	bind_text(s, 2, p->budget);
	sqlite3_bind_int64(s, 3, p->budget_amount);
	if (sqlite3_bind_parameter_count(s) > 3)
		sqlite3_bind_int64(s, 4, p->seed);
	found f = db_step(c, s);
	if (f == FOUND)
		copy(id, SEARCH_ID_BYTES, column_text(s, 0));
	sqlite3_reset(s);
	return f;
}

found search_cached(
	db *c, const char *key, const search_spec *p, bool own_seed, char id[SEARCH_ID_BYTES])
{
	return find_id(c, own_seed ? SQL_SEED_CACHED : SQL_SEARCH_CACHED, key, p, id);
}

/* False: they could not be counted. */
static bool look_for_room(db *c, search_create *a)
{
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_WAITING);
	if (!s)
		return false;
	bind_text(s, 1, a->owner);
	bool ok = db_step(c, s) == FOUND;
	a->queue_full = ok && sqlite3_column_int64(s, 0) >= a->queue_limit;
	a->owner_full =
		ok && !a->queue_full && a->owner_limit && sqlite3_column_int64(s, 1) >= a->owner_limit;
	sqlite3_reset(s);
	return ok;
}

void id_random(char prefix, char id[SEARCH_ID_BYTES])
{
	unsigned char random[16];
	if (getentropy(random, sizeof random) != 0) /* allocates nothing */
		abort(); /* without randomness nothing here is safe to go on */
	id[0] = prefix;
	id[1] = '-';
	for (int i = 0; i < 16; i++)
		snprintf(id + 2 + 2 * i, 3, "%02x", random[i]);
}

static bool insert_search(db *c, const search_create *a)
{
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_INSERT);
	if (!s)
		return false;
	const search_spec *p = a->spec;
	int64_t now = wall_us();
	bind_text(s, 1, a->id);
	bind_text(s, 2, a->key);
	bind_text(s, 3, p->budget);
	sqlite3_bind_int64(s, 4, p->budget_amount);
	bind_text(s, 5, p->module);
	bind_text(s, 6, a->fingerprint);
	bind_text(s, 7, p->mesh_text);
	bind_text(s, 8, p->device);
	sqlite3_bind_int64(s, 9, p->memory_bytes);
	bind_text(s, 10, p->objective);
	bind_text(s, 11, p->json);
	bind_text(s, 12, a->owner);
	sqlite3_bind_int(s, 13, a->max_failures);
	sqlite3_bind_int64(s, 14, now);
	sqlite3_bind_int64(s, 15, p->priority);
	sqlite3_bind_int64(s, 16, search_rank_us(p, now));
	return statement_finish(s) && event_state(c, a->id, "queued", NULL);
}

/* What the store has or is doing already. Looked up again here: one of them may have come since the
 * reader looked. */
static found find_existing(db *c, search_create *a)
{
	const search_spec *p = a->spec;
	if (a->fresh)
		return FOUND_NONE;
	found f = search_cached(c, a->key, p, a->own_seed, a->id);
	a->cached = f == FOUND;
	return f == FOUND_NONE
		? find_id(c, a->own_seed ? SQL_SEED_FLIGHT : SQL_SEARCH_FLIGHT, a->key, p, a->id)
		: f;
}

static status reply_of(db *c, search_create *a)
{
	strbuf_clear(&a->json);
	found f = a->cached ? search_json_full(c, a->id, &a->json, &a->document)
						: search_json(c, a->id, &a->json, NULL, NULL);
	return f == FOUND ? ST_OK : ST_ERR_IO;
}

/* The search that the same request led to before; FOUND_NONE also when it is gone. */
static found find_repeated(db *c, search_create *a)
{
	bool same, final;
	found f =
		a->repeat.key[0] ? repeat_find(c, &a->repeat, a->id, sizeof a->id, &same) : FOUND_NONE;
	if (f != FOUND)
		return f;
	strbuf_clear(&a->json);
	f = search_json(c, a->id, &a->json, NULL, &final);
	if (f != FOUND)
		return f;
	a->reused = !same;
	a->repeated = a->existing = same;
	a->cached = same && final && strstr(a->json.p, "\"state\":\"succeeded\"");
	return FOUND;
}

status search_create_run(db *c, write_op *op)
{
	search_create *a = (search_create *)op;
	a->changed = a->existing = a->cached = a->queue_full = a->owner_full = a->repeated = a->reused =
		false;
	found f = find_repeated(c, a);
	if (f == FOUND)
		return a->reused ? ST_OK : reply_of(c, a);
	f = f == FOUND_NONE ? find_existing(c, a) : f;
	if (f == FOUND_FAILED)
		return ST_ERR_IO;
	a->existing = f == FOUND;
	if (!a->existing) {
		if (!look_for_room(c, a))
			return ST_ERR_IO;
		if (a->queue_full || a->owner_full)
			return ST_OK;
		id_random('s', a->id);
		if (!insert_search(c, a))
			return ST_ERR_IO;
	}
	if (!tags_add(c, a->id, a->spec, &a->changed) ||
		(a->repeat.key[0] && !repeat_keep(c, &a->repeat, a->id)))
		return ST_ERR_IO;
	sqlite3_stmt *revised = a->changed && a->existing ? db_statement(c, SQL_SEARCH_REVISED) : NULL;
	if (revised) {
		bind_text(revised, 1, a->id);
		if (!statement_finish(revised))
			return ST_ERR_IO;
	}
	if (a->spec->verify && !verification_ask(c, a->id, a->spec->verify))
		return ST_ERR_IO;
	return reply_of(c, a);
}

/* ---------------------------------------------------------------- the resource as JSON */

static void json_column_int(strbuf *out, const char *key, sqlite3_stmt *s, int at)
{
	if (sqlite3_column_type(s, at) == SQLITE_NULL)
		json_raw(out, key, "null");
	else
		json_int(out, key, sqlite3_column_int64(s, at));
}

static void json_column_text(strbuf *out, const char *key, sqlite3_stmt *s, int at)
{
	json_text(out, key, sqlite3_column_type(s, at) == SQLITE_NULL ? NULL : column_text(s, at));
}

static bool state_is_final(const char *state)
{
	return strcmp(state, "queued") && strcmp(state, "running");
}

void search_row_json(sqlite3_stmt *s, strbuf *out)
{
	bool best = sqlite3_column_type(s, 15) != SQLITE_NULL;
	strbuf_putc(out, '{');
	json_column_text(out, "id", s, 0);
	json_column_text(out, "state", s, 1);
	json_column_text(out, "strategy", s, 18);
	json_bool(out, "partial", sqlite3_column_int(s, 19));
	json_column_text(out, "module", s, 2);
	json_column_text(out, "fingerprint", s, 3);
	json_column_text(out, "mesh", s, 4);
	json_column_text(out, "device", s, 5);
	json_int(out, "memory_bytes", sqlite3_column_int64(s, 6));
	json_column_text(out, "objective", s, 7);
	json_column_text(out, "budget", s, 8);
	json_int(out, "attempt", sqlite3_column_int64(s, 11));
	json_int(out, "failures", sqlite3_column_int64(s, 12));
	json_bool(out, "canceling", sqlite3_column_int(s, 13) && !state_is_final(column_text(s, 1)));
	json_int(out, "evaluations", sqlite3_column_int64(s, 14));
	if (best) {
		json_key(out, "best");
		strbuf_putc(out, '{');
		json_column_int(out, "runtime_ns", s, 15);
		json_column_int(out, "peak_bytes", s, 16);
		json_bool(out, "fits", sqlite3_column_int(s, 17));
		strbuf_putc(out, '}');
	} else {
		json_raw(out, "best", "null");
	}
	json_raw(out, "error", sqlite3_column_type(s, 20) == SQLITE_NULL ? "null" : column_text(s, 20));
	if (sqlite3_column_type(s, 10) != SQLITE_NULL)
		json_raw(out, "request", column_text(s, 10)); /* left out of lists: it may be large */
	json_text(out, "owner", column_text(s, 25)[0] ? column_text(s, 25) : NULL);
	json_int(out, "priority", sqlite3_column_int64(s, 26));
	json_raw(out, "tags", column_text(s, 27));
	json_raw(out, "labels", column_text(s, 28));
	json_time(out, "created", sqlite3_column_int64(s, 21));
	json_time(out, "started", sqlite3_column_int64(s, 22));
	json_time(out, "ended", sqlite3_column_int64(s, 23));
	json_int(out, "revision", sqlite3_column_int64(s, 24));
	strbuf_putc(out, '}');
}

bool search_add_verification(db *c, const char *id, strbuf *out)
{
	out->n--;
	json_key(out, "verification");
	found f = verification_json(c, id, false, out);
	if (f == FOUND_NONE)
		strbuf_puts(out, "null");
	strbuf_putc(out, '}');
	return f != FOUND_FAILED;
}

found search_json(db *c, const char *id, strbuf *out, int64_t *rev, bool *final)
{
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_GET);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, id);
	found f = db_step(c, s);
	if (f == FOUND) {
		search_row_json(s, out);
		if (rev)
			*rev = sqlite3_column_int64(s, 24);
		if (final)
			*final = state_is_final(column_text(s, 1));
	}
	sqlite3_reset(s);
	return f == FOUND && !search_add_verification(c, id, out) ? FOUND_FAILED : f;
}

found search_json_full(db *c, const char *id, strbuf *out, document_ref *document)
{
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_GET);
	char strategy[ID_BYTES] = "";
	*document = (document_ref){0};
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, id);
	found f = db_step(c, s);
	if (f == FOUND) {
		search_row_json(s, out);
		copy(strategy, sizeof strategy, column_text(s, 18));
	}
	sqlite3_reset(s);
	if (f == FOUND && !search_add_verification(c, id, out))
		return FOUND_FAILED;
	if (f != FOUND || !strategy[0])
		return f;
	out->n--; /* the closing brace */
	json_key(out, "document");
	if (document_find(c, strategy, document, out) != FOUND)
		return FOUND_FAILED; /* the row of the search says that there is one */
	if (document->bytes <= DOCUMENT_WHOLE)
		strbuf_putc(out, '}');
	return FOUND;
}

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
