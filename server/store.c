/* Opening: lock the folder, open the database, check it, migrate it, recover what a killed daemon
 * left.
 *
 * A store that can be read but not written serves what it has. Behind another program's write lock
 * the recovery waits for the first write that succeeds. On a full disk SQLite cannot even make its
 * file of shared memory: then its index lives in this process (the VFS "unix-excl"), and until the
 * next start other programs cannot open the database beside the daemon. */
#include "server/searches.h"
#include "server/store_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 5000, START_BUSY_MS = 1000 };

#define STATEMENT(id, sql) [SQL_##id] = sql,
static const char *const statement_texts[] = {
#include "server/statements.def"
};
#undef STATEMENT

/* ---------------------------------------------------------------- connections and statements */

sqlite3_stmt *db_statement(db *c, statement_id id)
{
	sqlite3_stmt **s = &c->statements[id];
	if (!*s &&
		sqlite3_prepare_v3(
			c->handle, statement_texts[id], -1, SQLITE_PREPARE_PERSISTENT, s, NULL) != SQLITE_OK) {
		log_warn("event=prepare_failed statement=%d error=%s", id,
			log_quoted(sqlite3_errmsg(c->handle)).text);
		return NULL;
	}
	sqlite3_reset(*s);
	sqlite3_clear_bindings(*s);
	return *s;
}

/* A value of the statement that this thread is about to run could not be bound, for lack of memory:
 * run without it, it would find nothing. */
static _Thread_local bool unbound;

int statement_step(sqlite3_stmt *s)
{
	bool whole = !unbound;
	unbound = false;
	return !s ? SQLITE_ERROR : whole ? sqlite3_step(s) : SQLITE_NOMEM;
}

found db_step(db *c, sqlite3_stmt *s)
{
	int rc = statement_step(s);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return rc == SQLITE_ROW ? FOUND : FOUND_NONE;
	log_warn("event=read_failed error=%s", log_quoted(sqlite3_errmsg(c->handle)).text);
	return FOUND_FAILED;
}

void bind_text(sqlite3_stmt *s, int at, const char *text)
{
	if (!text)
		sqlite3_bind_null(s, at);
	else if (sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT) != SQLITE_OK)
		unbound = true;
}

void bind_bytes(sqlite3_stmt *s, int at, const char *p, size_t n)
{
	if (sqlite3_bind_text(s, at, p, (int)n, SQLITE_STATIC) != SQLITE_OK)
		unbound = true;
}

void bind_value(sqlite3_stmt *s, int at, const sqlite3_value *value)
{
	if (sqlite3_bind_value(s, at, value) != SQLITE_OK)
		unbound = true;
}

const char *column_text(sqlite3_stmt *s, int at)
{
	const char *t = (const char *)sqlite3_column_text(s, at);
	if (!t && sqlite3_errcode(sqlite3_db_handle(s)) == SQLITE_NOMEM)
		memory_out(); /* SQLite has dropped the value: "" would be a lie */
	return t ? t : "";
}

void db_close(db *c)
{
	for (int i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(c->statements[i]);
	sqlite3_close(c->handle);
	c->handle = NULL;
	memset(c->statements, 0, sizeof c->statements);
}

bool db_open(db *c, const char *path, int flags, const char *vfs, const char *pragmas)
{
	memset(c, 0, sizeof *c);
	if (sqlite3_open_v2(path, &c->handle, flags | SQLITE_OPEN_NOMUTEX, vfs) == SQLITE_OK) {
		sqlite3_busy_timeout(c->handle, BUSY_MS);
		if (sqlite3_exec(c->handle, pragmas, NULL, NULL, NULL) == SQLITE_OK)
			return true;
	}
	return false;
}

static void reader_close(void *cls)
{
	db *c = cls;
	db_close(c);
	free(c);
}

db *store_reader(store *s)
{
	db *c = pthread_getspecific(s->reader_key);
	if (c)
		return c;
	c = xcalloc(1, sizeof *c);
	if (!db_open(c, s->path, SQLITE_OPEN_READONLY, s->vfs,
			"PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;")) {
		log_warn("event=reader_failed error=%s", log_quoted(sqlite3_errmsg(c->handle)).text);
		reader_close(c);
		return NULL;
	}
	pthread_setspecific(s->reader_key, c);
	return c;
}

/* ---------------------------------------------------------------- open and close */

bool db_damaged(int rc) { return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB; }

static verdict verdict_once(db *c, const char *sql, const char *good, char said[200])
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(c->handle, sql, -1, &s, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	snprintf(said, 200, "%s", rc == SQLITE_ROW ? column_text(s, 0) : sqlite3_errmsg(c->handle));
	sqlite3_finalize(s);
	if (rc != SQLITE_ROW)
		return db_damaged(rc) ? VERDICT_BAD : VERDICT_NONE;
	return strcmp(said, good) ? VERDICT_BAD : VERDICT_GOOD;
}

verdict db_verdict(db *c, const char *sql, const char *good, char said[200])
{
	char again[200];
	verdict v = verdict_once(c, sql, good, said);
	return v == VERDICT_BAD && verdict_once(c, sql, good, again) != VERDICT_BAD ? VERDICT_NONE : v;
}

static status check_health(db *c, const char *path, diag *d)
{
	char said[200];
	verdict v = db_verdict(c, "PRAGMA quick_check(1)", "ok", said);
	if (v == VERDICT_NONE)
		return diag_set(d, ST_ERR_IO, "'%s' cannot be read now: %s", path, said);
	return v == VERDICT_GOOD
		? ST_OK
		: diag_set(d, ST_ERR_IO, "'%s' is damaged: %s; restore a backup (docs/operations.md)", path,
			  said);
}

/* The folder's full name: workers run elsewhere. */
static status make_folder(store *s, const char *dir, diag *d)
{
	if ((mkdir(dir, 0700) != 0 && errno != EEXIST) || !(s->dir = realpath(dir, NULL)))
		return diag_set(d, ST_ERR_IO, "cannot make the folder '%.300s': %s", dir, strerror(errno));
	if (strlen(s->dir) > 400)
		return diag_set(d, ST_ERR_INVALID, "the path of the store is longer than 400 bytes");
	snprintf(s->path, sizeof s->path, "%.400s/shardwright.db", s->dir);
	return ST_OK;
}

static status lock_folder(store *s, diag *d)
{
	char path[600];
	snprintf(path, sizeof path, "%s/lock", s->dir);
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock_fd < 0)
		return diag_set(d, ST_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0)
		return diag_set(
			d, ST_ERR_INVALID, "the store '%s' is in use by another daemon or batch", s->dir);
	return ST_OK;
}

static bool open_writer(store *s, const char *vfs)
{
	static const char pragmas[] =
		"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
		"PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 67108864;";
	s->vfs = vfs;
	return db_open(&s->writer, s->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs, pragmas);
}

/* The disk, and not the database, is what is wrong. */
static bool is_disk_trouble(const db *c)
{
	int code = sqlite3_errcode(c->handle);
	return code == SQLITE_IOERR || code == SQLITE_FULL || code == SQLITE_CANTOPEN ||
		code == SQLITE_READONLY;
}

bool store_recover(store *s)
{
	int64_t count = 0;
	if (s->recovered)
		return true;
	s->recovered = search_recover(&s->writer, &count) == ST_OK;
	if (s->recovered && count)
		log_info("event=recovered searches=%lld", (long long)count);
	return s->recovered;
}

static status open_database(store *s, diag *d)
{
	struct stat st;
	bool there = stat(s->path, &st) == 0 && st.st_size > 0;
	if (!open_writer(s, s->vfs)) {
		bool again = there && is_disk_trouble(&s->writer);
		diag_set(again ? NULL : d, ST_ERR_IO, "cannot open the database '%s': %s", s->path,
			sqlite3_errmsg(s->writer.handle));
		if (!again)
			return ST_ERR_IO;
		log_warn(
			"event=no_shared_memory error=%s", log_quoted(sqlite3_errmsg(s->writer.handle)).text);
		db_close(&s->writer);
		if (!open_writer(s, "unix-excl"))
			return diag_set(d, ST_ERR_IO, "cannot open the database '%s': %s", s->path,
				sqlite3_errmsg(s->writer.handle));
	}
	TRY(store_migrate(&s->writer, s->path, d));
	TRY(check_health(&s->writer, s->path, d));
	sqlite3_busy_timeout(s->writer.handle, START_BUSY_MS);
	bool writable = store_recover(s) && writer_probe(&s->writer);
	if (!writable)
		log_warn("event=read_only error=%s", log_quoted(sqlite3_errmsg(s->writer.handle)).text);
	sqlite3_busy_timeout(s->writer.handle, BUSY_MS);
	atomic_store(&s->writable, writable);
	store_sweep(&s->objects, &s->writer);
	return ST_OK;
}

store *store_open(const char *dir, metrics *m, diag *d) { return store_open_by(dir, false, m, d); }

store *store_open_by(const char *dir, bool alone, metrics *m, diag *d)
{
	store *s = xcalloc(1, sizeof *s);
	s->vfs = alone ? "unix-excl" : NULL;
	s->lock_fd = -1;
	s->metrics = m;
	pthread_key_create(&s->reader_key, reader_close);
	/* The lock comes before the clean-up of temporary files: they may be another daemon's. */
	if (make_folder(s, dir, d) == ST_OK && lock_folder(s, d) == ST_OK &&
		objects_open(&s->objects, s->dir, d) == ST_OK && open_database(s, d) == ST_OK &&
		writer_start(s)) {
		store_look_for_lost(s);
		return s;
	}
	diag_set(d, ST_ERR_IO, "cannot start the writer thread");
	db_close(&s->writer);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	pthread_key_delete(s->reader_key);
	free(s->dir);
	free(s);
	return NULL;
}

static status check_version(store *s, diag *d)
{
	int64_t version;
	db *c = store_reader(s);
	if (!c)
		return diag_set(d, ST_ERR_IO, "cannot open the database '%s'", s->path);
	TRY(store_read_version(c, s->path, &version, d));
	if (version < STORE_VERSION)
		return diag_set(d, ST_ERR_INVALID,
			"'%s' has version %lld: a batch or a daemon that opens it brings it to version %d",
			s->path, (long long)version, STORE_VERSION);
	return ST_OK;
}

store *store_peek(const char *dir, diag *d)
{
	struct stat st;
	store *s = xcalloc(1, sizeof *s);
	s->lock_fd = -1;
	s->dir = realpath(dir, NULL);
	if (s->dir)
		snprintf(s->path, sizeof s->path, "%.400s/shardwright.db", s->dir);
	if (!s->dir || stat(s->path, &st) != 0) {
		if (errno == ENOMEM || errno == EIO) /* which tells nothing about what there is */
			diag_set(d, ST_ERR_IO, "'%.300s' cannot be read now: %s", dir, strerror(errno));
		else
			diag_set(
				d, ST_ERR_NOT_FOUND, "there is no store in '%.300s': %s", dir, strerror(errno));
		free(s->dir);
		free(s);
		return NULL;
	}
	pthread_key_create(&s->reader_key, reader_close);
	s->objects.dir = s->dir;
	if (check_version(s, d) == ST_OK)
		return s;
	store_close(s);
	return NULL;
}

void store_close(store *s)
{
	if (s->writer.handle)
		writer_stop(s);
	db *own = pthread_getspecific(s->reader_key);
	if (own)
		reader_close(own);
	pthread_key_delete(s->reader_key);
	if (s->writer.handle) {
		sqlite3_exec(s->writer.handle, "PRAGMA optimize", NULL, NULL, NULL);
		db_close(&s->writer);
		close(s->lock_fd);
	}
	free(s->dir);
	free(s);
}

bool store_writable(store *s) { return atomic_load(&s->writable); }
objects *store_objects(store *s) { return &s->objects; }
