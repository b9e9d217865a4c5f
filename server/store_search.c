/* How a search comes into the store: an answer that is there, one in flight, or a new row; and the
 * events that tell of it. */
#include "server/evidence.h"
#include "server/store_private.h"

#include <stdlib.h>
#include <unistd.h>

/* ---------------------------------------------------------------- events */

bool event_add(db *c, const char *id, const char *kind, const char *body)
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
