/* Several stores into one. Rows are copied value by value, each source in one transaction of the
 * target: a merge that is killed can be started again. An answer is taken unless the target has one
 * to the same question, with no smaller budget, that is as good: of two tasks that both ended a
 * job, one counts. What a seed found that began with nothing is told apart from what others found.
 * Of several answers a store gives the best. */
#include "batch/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

bool source_note(source *s, sqlite3 *handle)
{
	if (!s->error[0])
		snprintf(s->error, sizeof s->error, "%s", sqlite3_errmsg(handle));
	return false;
}

sqlite3_stmt *source_prepare(source *s, sqlite3 *handle, const char *sql)
{
	sqlite3_stmt *p = NULL;
	if (sqlite3_prepare_v2(handle, sql, -1, &p, NULL) != SQLITE_OK)
		source_note(s, handle);
	return p;
}

/* Inserts the row that `row` stands on, unless one with its key is there. Not by OR IGNORE, which
 * leaves out what fails a CHECK, too: that of JSON does where SQLite has no memory to read it. */
bool source_insert_row(source *s, sqlite3 *to, const char *table, const char *columns,
	sqlite3_stmt *row, int64_t *out_new)
{
	int n = sqlite3_column_count(row);
	strbuf sql = {0};
	strbuf_printf(&sql, "INSERT INTO %s(%s) VALUES (", table, columns);
	for (int i = 0; i < n; i++)
		strbuf_puts(&sql, i ? ", ?" : "?");
	strbuf_puts(&sql, ") ON CONFLICT DO NOTHING");
	sqlite3_stmt *insert = source_prepare(s, to, sql.p);
	strbuf_release(&sql);
	for (int i = 0; insert && i < n; i++)
		bind_value(insert, i + 1, sqlite3_column_value(row, i));
	bool ok = insert && (statement_step(insert) == SQLITE_DONE || source_note(s, to));
	if (ok && out_new)
		*out_new += sqlite3_changes(to);
	sqlite3_finalize(insert);
	return ok;
}

/* All rows that a query with one parameter gives; key NULL: without it. */
bool source_copy_rows(source *s, sqlite3 *to, const char *table, const char *columns,
	const char *where, const char *key, int64_t *out_new)
{
	char *sql = sqlite3_mprintf("SELECT %s FROM %s%s", columns, table, where);
	sqlite3_stmt *rows = source_prepare(s, s->from, sql);
	sqlite3_free(sql);
	bool ok = rows != NULL;
	int rc = SQLITE_DONE;
	if (ok && key)
		bind_text(rows, 1, key);
	while (ok && (rc = statement_step(rows)) == SQLITE_ROW)
		ok = source_insert_row(s, to, table, columns, rows, out_new);
	ok = ok && (rc == SQLITE_DONE || source_note(s, s->from));
	sqlite3_finalize(rows);
	return ok;
}

typedef enum standing {
	STANDING_FAILED = -1,
	STANDING_NEW,
	STANDING_BETTER,
	STANDING_KNOWN
} standing;

/* What the target has beside this answer. Costs compare: the key has cost model, memory and
 * objective in it. */
static standing compare(source *s, sqlite3 *to, sqlite3_stmt *search)
{
	sqlite3_stmt *q = source_prepare(s, to,
		"SELECT best_fits, CASE objective WHEN 'memory' THEN best_peak_bytes ELSE best_runtime_ns "
		"END AS cost FROM searches"
		" WHERE key = ?2 AND budget = ?3 AND budget_amount >= ?4 AND state = 'succeeded' AND "
		"partial = 0 AND id <> ?1"
		" AND (?5 ->> '$.seed' IS NULL OR ?5 ->> '$.warm_start' IS NOT 0 OR (budget_amount = ?4 "
		"AND request ->> '$.seed' = ?5 ->> '$.seed'"
		" AND request ->> '$.warm_start' = 0))"
		" ORDER BY best_fits DESC, cost LIMIT 1");
	if (!q)
		return STANDING_FAILED;
	for (int i = 0; i < 4; i++)
		bind_value(q, i + 1, sqlite3_column_value(search, i));
	bind_value(q, 5, sqlite3_column_value(search, 10));
	int rc = statement_step(q);
	bool by_memory = !strcmp(column_text(search, 9), "memory");
	int fits = sqlite3_column_int(search, 22);
	int64_t cost = sqlite3_column_int64(search, by_memory ? 21 : 20);
	standing result = rc == SQLITE_DONE ? STANDING_NEW
		: rc != SQLITE_ROW              ? STANDING_FAILED
										: STANDING_KNOWN;
	if (rc == SQLITE_ROW &&
		(fits > sqlite3_column_int(q, 0) ||
			(fits == sqlite3_column_int(q, 0) && cost < sqlite3_column_int64(q, 1))))
		result = STANDING_BETTER;
	sqlite3_finalize(q);
	return result;
}

/* One number; -1: it cannot be read. */
static int64_t ask(source *s, sqlite3 *from, const char *sql, const char *id, const char *other)
{
	sqlite3_stmt *q = source_prepare(s, from, sql);
	if (q)
		bind_text(q, 1, id);
	if (q && sqlite3_bind_parameter_count(q) > 1)
		bind_text(q, 2, other);
	int64_t n = q && statement_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : -1;
	if (n < 0)
		source_note(s, from);
	sqlite3_finalize(q);
	return n;
}

/* What compilers and machines said of an answer is worth more than that another plan is as good by
 * simulation. */
static int64_t is_backed(source *s, const char *search, const char *strategy)
{
	return ask(s, s->from,
		"SELECT EXISTS (SELECT 1 FROM verification_jobs WHERE search = ?1 AND state = 'done')"
		" OR EXISTS (SELECT 1 FROM measurements WHERE strategy = ?2)",
		search, strategy);
}

static bool copy_strategies(source *s, sqlite3 *to, const char *where, const char *key)
{
	return source_copy_rows(s, to, "strategies", STRATEGY_COLUMNS, where, key, NULL);
}

/* A verification that has ended, unless the target has one of this search. Its answer is the
 * search's from then on. */
static bool take_verification(source *s, sqlite3 *to, const char *search, const char *strategy)
{
	int64_t fresh = 0;
	if (!copy_strategies(s, to,
			" WHERE id IN (SELECT planned FROM verification_jobs WHERE search = ?1) OR id IN"
			" (SELECT strategy FROM verifications WHERE search = ?1)",
			search) ||
		!source_copy_rows(s, to, "verification_jobs", JOB_COLUMNS,
			" WHERE search = ?1 AND state = 'done'", search, &fresh))
		return false;
	if (!fresh)
		return true;
	s->counts.verifications += fresh;
	return source_copy_rows(s, to, "verifications", VERIFICATION_COLUMNS,
			   " WHERE search = ?1 ORDER BY number", search, NULL) &&
		ask(s, to,
			"UPDATE searches SET (strategy, best_runtime_ns, best_peak_bytes, best_fits) = (SELECT "
			"id, runtime_ns, peak_bytes, fits"
			" FROM strategies WHERE id = ?2) WHERE id = ?1 RETURNING 1",
			search, strategy) == 1;
}

static bool take_measurements(source *s, sqlite3 *to, const char *search, const char *strategy)
{
	return source_copy_rows(s, to, "measurements", MEASUREMENT_COLUMNS,
			   " WHERE strategy = ?1 ORDER BY number", strategy, &s->counts.measurements) &&
		source_copy_rows(s, to, "measurements", MEASUREMENT_COLUMNS,
			" WHERE strategy IN (SELECT planned FROM verification_jobs"
			" WHERE search = ?1 AND state = 'done') ORDER BY number",
			search, &s->counts.measurements);
}

/* A search that has ended, with its strategy and its events. row: SEARCH_COLUMNS. */
bool source_take_search(source *s, sqlite3 *to, sqlite3_stmt *row)
{
	const char *id = column_text(row, 0), *strategy = (const char *)sqlite3_column_text(row, 23);
	bool succeeded = !strcmp(column_text(row, 12), "succeeded");
	standing beside = succeeded ? compare(s, to, row) : STANDING_NEW;
	int64_t fresh = 0;
	if (beside == STANDING_FAILED)
		return source_note(s, to);
	int64_t backed = beside == STANDING_KNOWN ? is_backed(s, id, strategy) : 0;
	if (backed < 0)
		return false;
	if (beside == STANDING_KNOWN && !backed) {
		s->counts.known++;
		return true;
	}
	if (strategy && !copy_strategies(s, to, " WHERE id = ?1", strategy))
		return false;
	if (!source_insert_row(s, to, "searches", SEARCH_COLUMNS, row, &fresh) ||
		!source_copy_rows(s, to, "events", "search, sequence, kind, at_us, body",
			" WHERE search = ?1", id, NULL) ||
		!source_copy_rows(s, to, "tags", "search, tag", " WHERE search = ?1", id, NULL) ||
		(strategy &&
			(!take_verification(s, to, id, strategy) || !take_measurements(s, to, id, strategy))))
		return false;
	s->counts.answers += succeeded ? fresh : 0;
	s->counts.better += beside == STANDING_BETTER ? fresh : 0;
	s->counts.known += succeeded ? !fresh : 0;
	s->counts.failed += succeeded ? 0 : fresh;
	return true;
}

/* What comes from another store was uploaded to this one after all that it has. */
static bool order_uploads(source *s, sqlite3 *to)
{
	return sqlite3_exec(to,
			   "UPDATE modules SET upload = (SELECT max(upload) FROM modules) + n.place FROM"
			   " (SELECT id, row_number() OVER (ORDER BY uploaded_us, id) AS place FROM modules"
			   " WHERE upload = 0) n WHERE n.id = modules.id",
			   NULL, NULL, NULL) == SQLITE_OK ||
		source_note(s, to);
}

status source_merge_run(db *c, write_op *op)
{
	source *s = (source *)op;
	sqlite3 *to = c->handle;
	s->counts = (merge_counts){0};
	bool ok = source_copy_rows(s, to, "modules", MODULE_COLUMNS, "", NULL, &s->counts.modules) &&
		order_uploads(s, to) && source_copy_rows(s, to, "labels", LABEL_COLUMNS, "", NULL, NULL);
	sqlite3_stmt *rows = ok
		? source_prepare(s, s->from,
			  "SELECT " SEARCH_COLUMNS
			  " FROM searches WHERE state IN ('succeeded', 'failed') ORDER BY number")
		: NULL;
	int rc = SQLITE_ERROR;
	ok = rows != NULL;
	while (ok && (rc = statement_step(rows)) == SQLITE_ROW)
		ok = source_take_search(s, to, rows);
	ok = ok && (rc == SQLITE_DONE || source_note(s, s->from));
	sqlite3_finalize(rows);
	/* Of strategies, too, that answer no search any more. */
	ok = ok && copy_strategies(s, to, " WHERE id IN (SELECT strategy FROM measurements)", NULL) &&
		source_copy_rows(s, to, "measurements", MEASUREMENT_COLUMNS, " ORDER BY number", NULL,
			&s->counts.measurements);
	return ok ? ST_OK : ST_ERR_IO;
}

/* ---------------------------------------------------------------- texts of modules */

bool file_copy(const char *from, int to)
{
	char piece[1 << 16];
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;
	bool ok = fd >= 0;
	while (ok && (n = read(fd, piece, sizeof piece)) > 0)
		ok = write_all(to, piece, (size_t)n);
	if (fd >= 0)
		close(fd);
	return ok && n == 0;
}

/* Before the rows that name them. */
static status copy_texts(source *s, store *into, const char *dir, diag *d)
{
	objects *mine = store_objects(into), theirs = {.dir = dir};
	sqlite3_stmt *rows = source_prepare(s, s->from, "SELECT id FROM modules");
	status st = rows ? ST_OK : diag_set(d, ST_ERR_IO, "'%.300s' cannot be read: %s", dir, s->error);
	int rc = SQLITE_DONE;
	while (st == ST_OK && (rc = statement_step(rows)) == SQLITE_ROW) {
		const char *id = column_text(rows, 0);
		char from[512], temp[512];
		if (!objects_lost(mine, "objects", id) || objects_lost(&theirs, "objects", id))
			continue; /* a lost text is the daemon's to tell; the answers are whole without it */
		objects_path(&theirs, "objects", id, from);
		int to = objects_temp(mine, temp);
		bool ok = to >= 0 && file_copy(from, to);
		if (to >= 0)
			close(to);
		if (!ok || !objects_publish(mine, temp, "objects", id)) {
			unlink(temp);
			st = diag_set(d, ST_ERR_IO,
				"the text of a module cannot be copied from '%.300s': the disk is full or broken",
				dir);
		}
	}
	if (st == ST_OK && rc != SQLITE_DONE)
		st = diag_set(d, ST_ERR_IO, "'%.300s' cannot be read: %s", dir, sqlite3_errmsg(s->from));
	sqlite3_finalize(rows);
	return st;
}

/* ---------------------------------------------------------------- one source */

/* A task that was ended, or had a full disk, while it made its store left one of an earlier
 * version: opened once, it is one of this version. */
static status bring_up_to_date(const char *dir, diag *d)
{
	metrics counters = {0};
	store *s = store_open_by(dir, true, &counters, d);
	if (!s)
		return d->code;
	store_close(s);
	return ST_OK;
}

static status check_source(source *s, const char *dir, int64_t *out_version, diag *d)
{
	sqlite3_stmt *p = source_prepare(s, s->from, "PRAGMA user_version");
	int64_t version = *out_version =
		p && statement_step(p) == SQLITE_ROW ? sqlite3_column_int64(p, 0) : -1;
	sqlite3_finalize(p);
	if (version < 0)
		return diag_set(d, ST_ERR_IO, "'%.300s' cannot be read: %s", dir, sqlite3_errmsg(s->from));
	if (version > store_version())
		return diag_set(d, ST_ERR_INVALID, "'%.300s' has version %lld, expected %d", dir,
			(long long)version, store_version());
	return ST_OK;
}

static bool is_there(const char *dir, const char *name)
{
	char path[1024];
	return snprintf(path, sizeof path, "%s/%s", dir, name) < (int)sizeof path &&
		access(path, F_OK) == 0;
}

/* The lock and the database of a store that nobody has open. */
static status open_source(source *s, const char *dir, int *out_lock, int64_t *out_version, diag *d)
{
	strbuf path = {0};
	status result = ST_OK;
	strbuf_printf(&path, "%s/lock", dir);
	*out_lock = open(path.p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (*out_lock < 0 || flock(*out_lock, LOCK_EX | LOCK_NB) != 0)
		result = diag_set(d, ST_ERR_INVALID,
			"the store '%.300s' is in use: merge it when its batch has ended", dir);
	strbuf_clear(&path);
	strbuf_printf(&path, "%s/shardwright.db", dir);
	/* Written to only where a task was killed: its log is taken in. Network file systems cannot
	 * share SQLite's index. */
	if (result == ST_OK &&
		sqlite3_open_v2(path.p, &s->from, SQLITE_OPEN_READWRITE, "unix-excl") != SQLITE_OK)
		result =
			diag_set(d, ST_ERR_IO, "cannot open '%.300s': %s", path.p, sqlite3_errmsg(s->from));
	if (result == ST_OK)
		result = check_source(s, dir, out_version, d);
	strbuf_release(&path);
	return result;
}

static void close_source(source *s, int lock)
{
	sqlite3_close(s->from);
	s->from = NULL;
	if (lock >= 0)
		close(lock);
}

static void add_counts(merge_counts *out, const merge_counts *more)
{
	out->stores++;
	out->modules += more->modules;
	out->answers += more->answers;
	out->better += more->better;
	out->known += more->known;
	out->failed += more->failed;
	out->verifications += more->verifications;
	out->measurements += more->measurements;
}

static status merge_one(store *into, const char *dir, merge_counts *out, diag *d)
{
	source s = {.op = {.run = source_merge_run}};
	int lock = -1;
	int64_t version = 0;
	if (!is_there(dir, "shardwright.db")) {
		if (!is_there(dir, "lock")) /* a task makes it first: it came no further */
			return diag_set(d, ST_ERR_NOT_FOUND, "there is no store in '%.300s'", dir);
		out->stores++;
		return ST_OK;
	}
	status result = open_source(&s, dir, &lock, &version, d);
	if (result == ST_OK && version < store_version()) {
		close_source(&s, lock);
		lock = -1;
		result = bring_up_to_date(dir, d);
		if (result == ST_OK)
			result = open_source(&s, dir, &lock, &version, d);
	}
	if (result == ST_OK)
		result = copy_texts(&s, into, dir, d);
	if (result == ST_OK && store_write(into, &s.op) != ST_OK)
		result = diag_set(d, ST_ERR_IO, "'%.300s' cannot be merged: %s", dir,
			s.error[0] ? s.error : "the disk is full or broken");
	close_source(&s, lock);
	if (result == ST_OK)
		add_counts(out, &s.counts);
	return result;
}

status merge_stores(
	const char *into, const char *const *dirs, uint32_t n, merge_counts *out, diag *d)
{
	metrics counters = {0};
	log_to(-1); /* what goes wrong is told by d */
	store *to = store_open_by(into, true, &counters, d);
	if (!to)
		return d->code;
	status st = ST_OK;
	for (uint32_t i = 0; i < n && st == ST_OK; i++)
		st = merge_one(to, dirs[i], out, d);
	store_close(to);
	return st;
}
