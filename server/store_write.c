/* The writer thread. It takes what has queued up, at most BATCH operations, runs them in one
 * transaction, each behind a savepoint of its own, and tells their owners after COMMIT: one fsync
 * serves many requests, nobody waits for a lock.
 *
 * An operation that fails is undone alone. A COMMIT that fails (full disk) fails the batch; while
 * the store cannot be written, a probe every few seconds finds out when it can again, even when
 * nobody asks. */
#include "server/store.h"
#include "server/store_private.h"

#include <time.h>

enum { BATCH = 64, PROBE_SECONDS = 5, TELL_SECONDS = 30 };

static bool step(db *c, statement_id id)
{
	sqlite3_stmt *s = db_statement(c, id);
	int rc = statement_step(s);
	if (s)
		sqlite3_reset(s);
	return rc == SQLITE_DONE || rc == SQLITE_ROW;
}

bool statement_finish(sqlite3_stmt *s)
{
	int rc = statement_step(s);
	if (s)
		sqlite3_reset(s);
	return rc == SQLITE_DONE;
}

/* Statements that stopped at a row would keep the transaction open. */
static void reset_all(db *c)
{
	for (int i = 0; i < SQL_COUNT; i++)
		if (c->statements[i])
			sqlite3_reset(c->statements[i]);
}

static void run_one(db *c, write_op *op)
{
	if (sqlite3_get_autocommit(c->handle) || !step(c, SQL_SAVEPOINT)) {
		op->result = ST_ERR_IO; /* an earlier failure rolled everything back */
		return;
	}
	op->result = op->run(c, op);
	reset_all(c);
	bool whole = sqlite3_get_autocommit(c->handle) ||
		((op->result == ST_OK || step(c, SQL_UNDO)) && step(c, SQL_RELEASE));
	if (!whole) {
		step(c, SQL_ROLLBACK); /* half of an operation is not to be committed with the others */
		op->result = ST_ERR_IO;
	}
}

static status probe_run(db *c, write_op *op)
{
	(void)op;
	char sql[48];
	snprintf(sql, sizeof sql, "PRAGMA user_version = %d", STORE_VERSION);
	return sqlite3_exec(c->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? ST_OK : ST_ERR_IO;
}

/* The daemon looks for work each second, which fails, too. */
static void tell(store *s, bool was_writable, const char *why)
{
	int64_t now = clock_ns();
	if (!was_writable && s->told_ns && now - s->told_ns < TELL_SECONDS * 1000000000ll)
		return;
	s->told_ns = now;
	log_warn("event=transaction_failed error=%s", log_quoted(why).text);
}

static void run_batch(store *s, write_op *batch)
{
	db *c = &s->writer;
	int64_t start = clock_ns(), count = 0;
	bool was = atomic_load(&s->writable);
	/* Many operations find nothing to do, and a transaction without a write succeeds on a full
	 * disk: it shows that there is room again only by what the probe writes. */
	bool ok = store_recover(s) && step(c, SQL_BEGIN) && (was || probe_run(c, NULL) == ST_OK);
	for (write_op *op = batch; op; op = op->next, count++) {
		if (ok)
			run_one(c, op);
		else
			op->result = ST_ERR_IO;
	}
	ok = ok && !sqlite3_get_autocommit(c->handle) && step(c, SQL_COMMIT);
	if (!ok) {
		tell(s, was, sqlite3_errmsg(c->handle));
		reset_all(c);
		if (!sqlite3_get_autocommit(c->handle))
			step(c, SQL_ROLLBACK);
		for (write_op *op = batch; op; op = op->next)
			op->result = ST_ERR_IO;
		atomic_fetch_add(&s->metrics->store_errors, 1);
	}
	atomic_store(&s->writable, ok);
	atomic_fetch_add(&s->metrics->store_commits, 1);
	atomic_fetch_add(&s->metrics->store_writes, count);
	int64_t took = clock_ns() - start;
	atomic_fetch_add(&s->metrics->store_commit_nanoseconds, took);
	histogram_add(&s->metrics->commit_seconds, took);
	for (write_op *op = batch, *next; op; op = next) {
		next = op->next; /* done may free it */
		op->done(op);
	}
}

bool writer_probe(db *c)
{
	bool ok = step(c, SQL_BEGIN) && probe_run(c, NULL) == ST_OK && step(c, SQL_COMMIT);
	reset_all(c);
	if (!sqlite3_get_autocommit(c->handle))
		step(c, SQL_ROLLBACK);
	return ok;
}

static void probe_done(write_op *op) { (void)op; }

/* Detaches up to BATCH operations; waits for the first one. NULL: stopped, and nothing is left. */
static write_op *next_batch(store *s, write_op *probe)
{
	write_op *batch = NULL, **end = &batch;
	pthread_mutex_lock(&s->mutex);
	while (!s->head && !s->stop) {
		if (atomic_load(&s->writable)) {
			pthread_cond_wait(&s->wake, &s->mutex);
			continue;
		}
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += PROBE_SECONDS;
		if (pthread_cond_timedwait(&s->wake, &s->mutex, &until) != 0 && !s->head && !s->stop) {
			pthread_mutex_unlock(&s->mutex);
			probe->next = NULL;
			return probe;
		}
	}
	for (int i = 0; i < BATCH && s->head; i++) {
		*end = s->head;
		end = &s->head->next;
		s->head = s->head->next;
	}
	*end = NULL;
	if (!s->head)
		s->tail = &s->head;
	pthread_mutex_unlock(&s->mutex);
	return batch;
}

static void *writer_main(void *cls)
{
	store *s = cls;
	write_op probe = {.run = probe_run, .done = probe_done};
	for (write_op *batch; (batch = next_batch(s, &probe));)
		run_batch(s, batch);
	return NULL;
}

bool writer_start(store *s)
{
	s->tail = &s->head;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->wake, NULL);
	return pthread_create(&s->thread, NULL, writer_main, s) == 0;
}

void writer_stop(store *s)
{
	pthread_mutex_lock(&s->mutex);
	s->stop = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->mutex);
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->mutex);
	pthread_cond_destroy(&s->wake);
}

void store_submit(store *s, write_op *op)
{
	op->next = NULL;
	pthread_mutex_lock(&s->mutex);
	*s->tail = op;
	s->tail = &op->next;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->mutex);
}

/* ---------------------------------------------------------------- waiting for a write */

typedef struct waiting_op {
	write_op op;
	write_op *inner;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	bool finished;
} waiting_op;

static status waiting_run(db *c, write_op *op)
{
	return ((waiting_op *)op)->inner->run(c, ((waiting_op *)op)->inner);
}

static void waiting_done(write_op *op)
{
	waiting_op *w = (waiting_op *)op;
	pthread_mutex_lock(&w->mutex);
	w->finished = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->mutex); /* the waiter frees w only after it got the mutex */
}

status store_write(store *s, write_op *op)
{
	waiting_op w = {.op = {.run = waiting_run, .done = waiting_done}, .inner = op};
	pthread_mutex_init(&w.mutex, NULL);
	pthread_cond_init(&w.wake, NULL);
	store_submit(s, &w.op);
	pthread_mutex_lock(&w.mutex);
	while (!w.finished)
		pthread_cond_wait(&w.wake, &w.mutex);
	pthread_mutex_unlock(&w.mutex);
	pthread_mutex_destroy(&w.mutex);
	pthread_cond_destroy(&w.wake);
	return op->result = w.op.result;
}
