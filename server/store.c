/* Opening: lock the folder, open the database, check it, migrate it, recover what a killed daemon left. */
#include "server/server.h"
#include "server/store_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APPLICATION_ID = 0x53574431 }; /* "SWD1" */

#define STATEMENT(id, sql) [SQL_##id] = sql,
static const char *const statement_texts[] = {
#include "server/statements.def"
};
#undef STATEMENT

/* ---------------------------------------------------------------- connections and statements */

sqlite3_stmt *db_statement(db *c, statement_id id)
{
	sqlite3_stmt **s = &c->statements[id];
	if (!*s && sqlite3_prepare_v3(c->handle, statement_texts[id], -1, SQLITE_PREPARE_PERSISTENT, s, NULL) != SQLITE_OK) {
		log_warn("event=prepare_failed statement=%d error=\"%s\"", id, sqlite3_errmsg(c->handle));
		return NULL;
	}
	sqlite3_reset(*s);
	sqlite3_clear_bindings(*s);
	return *s;
}

void bind_text(sqlite3_stmt *s, int at, const char *text)
{
	if (text)
		sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_null(s, at);
}

const char *column_text(sqlite3_stmt *s, int at)
{
	const char *t = (const char *)sqlite3_column_text(s, at);
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

static bool db_open(db *c, const char *path, int flags, const char *pragmas)
{
	memset(c, 0, sizeof *c);
	if (sqlite3_open_v2(path, &c->handle, flags | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK) {
		sqlite3_busy_timeout(c->handle, 5000);
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
	if (!db_open(c, s->path, SQLITE_OPEN_READONLY, "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;")) {
		log_warn("event=reader_failed error=\"%s\"", sqlite3_errmsg(c->handle));
		reader_close(c);
		return NULL;
	}
	pthread_setspecific(s->reader_key, c);
	return c;
}

/* ---------------------------------------------------------------- migration */

static int64_t pragma_number(db *c, const char *sql)
{
	sqlite3_stmt *s;
	int64_t v = -1;
	if (sqlite3_prepare_v2(c->handle, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		v = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return v;
}

/* Step i brings a database of version i to i + 1. Released steps never change. */
static const char *migration(int64_t version) { return version == 0 ? embedded_schema().p : NULL; }

static status migrate(db *c, const char *path, diag *d)
{
	int64_t version = pragma_number(c, "PRAGMA user_version"), application = pragma_number(c, "PRAGMA application_id");
	if (version < 0 || application < 0)
		return diag_set(d, ST_ERR_IO, "'%s' cannot be read: %s", path, sqlite3_errmsg(c->handle));
	if (version > STORE_VERSION)
		return diag_set(d, ST_ERR_INVALID, "'%s' has version %lld, this program knows versions up to %d", path, (long long)version,
			STORE_VERSION);
	if (application != APPLICATION_ID && (application != 0 || version != 0 || pragma_number(c, "SELECT count(*) FROM sqlite_schema") != 0))
		return diag_set(d, ST_ERR_INVALID, "'%s' is a database of another program", path);
	for (; version < STORE_VERSION; version++) {
		char *tail = sqlite3_mprintf("PRAGMA application_id = %d; PRAGMA user_version = %lld; COMMIT", APPLICATION_ID, version + 1);
		bool ok = sqlite3_exec(c->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK
			&& sqlite3_exec(c->handle, migration(version), NULL, NULL, NULL) == SQLITE_OK
			&& sqlite3_exec(c->handle, tail, NULL, NULL, NULL) == SQLITE_OK;
		sqlite3_free(tail);
		if (!ok) {
			diag_set(d, ST_ERR_IO, "'%s' cannot be brought to version %lld: %s", path, (long long)version + 1, sqlite3_errmsg(c->handle));
			sqlite3_exec(c->handle, "ROLLBACK", NULL, NULL, NULL);
			return ST_ERR_IO;
		}
	}
	return ST_OK;
}

static status check_health(db *c, const char *path, diag *d)
{
	sqlite3_stmt *s = NULL;
	status result = ST_OK;
	if (sqlite3_prepare_v2(c->handle, "PRAGMA quick_check(1)", -1, &s, NULL) != SQLITE_OK || sqlite3_step(s) != SQLITE_ROW
		|| strcmp(column_text(s, 0), "ok"))
		result = diag_set(d, ST_ERR_IO, "'%s' is damaged: %s; restore a backup (docs/operations.md)", path,
			s && sqlite3_column_count(s) ? column_text(s, 0) : sqlite3_errmsg(c->handle));
	sqlite3_finalize(s);
	return result;
}

/* ---------------------------------------------------------------- open and close */

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
		return diag_set(d, ST_ERR_INVALID, "the store '%s' is in use by another daemon", s->dir);
	return ST_OK;
}

static bool module_known(void *cls, const char *id)
{
	module_row row;
	return module_find(cls, id, &row);
}

static status open_database(store *s, diag *d)
{
	static const char pragmas[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
				      "PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 67108864;";
	if (!db_open(&s->writer, s->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, pragmas))
		return diag_set(d, ST_ERR_IO, "cannot open the database '%s': %s", s->path, sqlite3_errmsg(s->writer.handle));
	TRY(migrate(&s->writer, s->path, d));
	TRY(check_health(&s->writer, s->path, d));
	int64_t recovered = 0;
	if (search_recover(&s->writer, &recovered) != ST_OK)
		return diag_set(d, ST_ERR_IO, "cannot requeue interrupted searches: %s", sqlite3_errmsg(s->writer.handle));
	if (recovered)
		log_info("event=recovered searches=%lld", (long long)recovered);
	objects_sweep(&s->objects, module_known, &s->writer);
	return ST_OK;
}

store *store_open(const char *dir, metrics *m, diag *d)
{
	store *s = xcalloc(1, sizeof *s);
	s->lock_fd = -1;
	s->metrics = m;
	pthread_key_create(&s->reader_key, reader_close);
	/* The lock comes before the clean-up of temporary files: they may be another daemon's. */
	if (make_folder(s, dir, d) == ST_OK && lock_folder(s, d) == ST_OK && objects_open(&s->objects, s->dir, d) == ST_OK
		&& open_database(s, d) == ST_OK && writer_start(s)) {
		atomic_store(&s->writable, true);
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

void store_close(store *s)
{
	writer_stop(s);
	db *own = pthread_getspecific(s->reader_key);
	if (own)
		reader_close(own);
	pthread_key_delete(s->reader_key);
	sqlite3_exec(s->writer.handle, "PRAGMA optimize", NULL, NULL, NULL);
	db_close(&s->writer);
	close(s->lock_fd);
	free(s->dir);
	free(s);
}

bool store_writable(store *s) { return atomic_load(&s->writable); }
objects *store_objects(store *s) { return &s->objects; }
