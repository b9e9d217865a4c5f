/* How often each strategy answers: counted here, written down by the way every few seconds, so that
 * an answer from the store waits for no disk. A daemon that is killed loses the last of them, which
 * is no promise of any kind. */
#include "server/searches.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 1024, FULL = 768, FLUSH_SECONDS = 5 };

typedef struct counted {
	char strategy[ID_BYTES];
	int64_t hits;
} counted;

typedef struct flush {
	write_op op;
	int64_t now_us;
	uint32_t n;
	counted rows[];
} flush;

struct hits {
	store *store;
	pthread_mutex_t mutex; /* of what follows; a leaf */
	counted slots[SLOTS];
	uint32_t used;
	int64_t next_ns;
};

hits *hits_new(store *s)
{
	hits *h = xcalloc(1, sizeof *h);
	h->store = s;
	pthread_mutex_init(&h->mutex, NULL);
	return h;
}

void hits_free(hits *h)
{
	if (h)
		pthread_mutex_destroy(&h->mutex);
	free(h);
}

void hits_add(hits *h, const char *strategy)
{
	uint64_t at = hash_bytes(strategy, strlen(strategy), 0);
	pthread_mutex_lock(&h->mutex);
	while (h->slots[at % SLOTS].hits && strcmp(h->slots[at % SLOTS].strategy, strategy))
		at++;
	counted *c = &h->slots[at % SLOTS];
	if (!c->hits && h->used < FULL) {
		h->used++;
		snprintf(c->strategy, sizeof c->strategy, "%s", strategy);
		c->hits = 1;
	} else if (c->hits) {
		c->hits++;
	}
	pthread_mutex_unlock(&h->mutex);
}

static status flush_run(db *c, write_op *op)
{
	const flush *f = (const flush *)op;
	for (uint32_t i = 0; i < f->n; i++) {
		sqlite3_stmt *s = db_statement(c, SQL_USE_COUNT);
		if (!s)
			return ST_ERR_IO;
		bind_text(s, 1, f->rows[i].strategy);
		sqlite3_bind_int64(s, 2, f->rows[i].hits);
		sqlite3_bind_int64(s, 3, f->now_us);
		if (statement_step(s) != SQLITE_DONE)
			return ST_ERR_IO;
	}
	return ST_OK;
}

static void flush_done(write_op *op) { free(op); }

void hits_flush(hits *h, bool now)
{
	pthread_mutex_lock(&h->mutex);
	bool due =
		h->used && store_writable(h->store) && (now || clock_ns() >= h->next_ns || h->used == FULL);
	flush *f = due ? xcalloc(1, sizeof *f + h->used * sizeof f->rows[0]) : NULL;
	for (uint32_t i = 0; f && i < SLOTS; i++)
		if (h->slots[i].hits) {
			f->rows[f->n++] = h->slots[i];
			h->slots[i].hits = 0;
		}
	if (f) {
		h->used = 0;
		h->next_ns = clock_ns() + FLUSH_SECONDS * 1000000000ll;
	}
	pthread_mutex_unlock(&h->mutex);
	if (!f)
		return;
	f->op.run = flush_run;
	f->op.done = flush_done;
	f->now_us = wall_us();
	store_submit(h->store, &f->op);
}
