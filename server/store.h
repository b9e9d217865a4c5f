/* The database: connections, reads and writes. */
#ifndef SW_SERVER_STORE_H
#define SW_SERVER_STORE_H

#include "server/objects.h"
#include "server/observe.h"
#include <sqlite3.h>

/* ---------------------------------------------------------------- store.c, store_write.c */

/* Statements by name: prepared once per connection. */
#define STATEMENT(id, sql) SQL_##id,
typedef enum statement_id {
#include "server/statements.def"
	SQL_COUNT
} statement_id;
#undef STATEMENT

typedef struct db { /* one connection and its statements; one thread at a time */
	sqlite3 *handle;
	sqlite3_stmt *statements[SQL_COUNT];
} db;
/* flags: SQLITE_OPEN_*; vfs: NULL for SQLite's own. False: c->handle says why, and is to be closed
 * all the same. */
bool db_open(db *c, const char *path, int flags, const char *vfs, const char *pragmas);
/* Whether a check finds `good`, and what it found or failed with. SQLite takes JSON that it has no
 * memory to read for damaged: a bad verdict is one that is given twice. */
typedef enum verdict { VERDICT_GOOD, VERDICT_BAD, VERDICT_NONE } verdict;
verdict db_verdict(db *c, const char *sql, const char *good, char said[200]);
/* Whether this result code says that the file is damaged, as against: cannot be read now. */
bool db_damaged(int rc);
void db_close(db *c);
/* Brings a database to this program's version; an older one is copied first (beside `path`). */
status store_migrate(db *c, const char *path, diag *d) MUST_USE;
/* Reset and without bindings; NULL on failure (logged). */
sqlite3_stmt *db_statement(db *c, statement_id id);
/* A value that cannot be bound makes the next step of this thread fail. bind_bytes: not copied. */
void bind_text(sqlite3_stmt *s, int at, const char *text);
void bind_bytes(sqlite3_stmt *s, int at, const char *p, size_t n);
void bind_value(sqlite3_stmt *s, int at, const sqlite3_value *value);
const char *column_text(sqlite3_stmt *s, int at); /* "" for NULL */

/* A read has three ends, and only SQLite's "no row" says that there is no such thing. */
typedef enum found { FOUND_FAILED = -1, FOUND_NONE, FOUND } found;
/* sqlite3_step of a statement (NULL: failed) whose values were bound by the functions above. */
int statement_step(sqlite3_stmt *s);
/* Steps s (NULL: failed) to its next row; a failure is logged. */
found db_step(db *c, sqlite3_stmt *s);

typedef struct write_op write_op;
struct write_op {
	/* Inside a transaction, on the writer thread. A status other than ST_OK undoes this op alone.
	 */
	status (*run)(db *c, write_op *op);
	/* After COMMIT, or after failure; on the writer thread; may free op. NULL for store_write. */
	void (*done)(write_op *op);
	status result;
	write_op *next;
};

typedef struct store store;
/* Creates or migrates the database, takes the lock of the folder, recovers searches that a killed
 * daemon left running. */
store *store_open(const char *dir, metrics *m, diag *d) MUST_USE;
/* alone: keeps SQLite's index in this process and the file locked, so that the store may lie on a
 * network file system; no other program can read it meanwhile. */
store *store_open_by(const char *dir, bool alone, metrics *m, diag *d) MUST_USE;
int store_version(void); /* of this program's stores */
/* Opens a store of this program's version for reading alone: without its lock, beside a daemon,
 * changing nothing. NULL with d filled; ST_ERR_NOT_FOUND when there is none. For store_reader,
 * store_objects and store_close only. */
store *store_peek(const char *dir, diag *d) MUST_USE;
/* All of a database into a new file, as it is at one moment; others may write meanwhile. On disk
 * when true. c is for nothing but reading afterwards, if it was so before, yet no longer guarded
 * against writes. */
bool database_copy(db *c, const char *to);
void store_close(store *s); /* after the last submit */
/* Thread-safe. Ops run in order. */
void store_submit(store *s, write_op *op);
status store_write(store *s, write_op *op); /* waits for the commit */
/* This thread's read-only connection, closed when the thread ends; NULL on failure. */
db *store_reader(store *s);
/* False while the last write failed (full or broken disk, or another program holds the lock of the
 * database), and from a start in such a state on: reads go on. */
bool store_writable(store *s);
/* Module texts that rows name and that are not in objects/. store_look_for_lost counts them anew.
 */
int64_t store_lost(store *s);
void store_look_for_lost(store *s);
/* --check: reads everything there is and tells on out what is wrong; false when something is, with
 * d where it could not be found out. Changes nothing, and may run beside a daemon. */
bool store_check(const char *dir, FILE *out, diag *d);
objects *store_objects(store *s);

#endif
