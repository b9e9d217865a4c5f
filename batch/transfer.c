/* A store as one file, backups, and retention by hand.
 *
 * The file of an export is a database of the store's schema, with the views, and a table beside
 * them: texts(id, zstd), the texts of its modules as they lie in objects/. One of an earlier
 * version is brought up to date when it is imported, in a copy. */
#include "batch/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_US (86400ll * 1000000)
enum { MOST_TEXT = 1 << 30 };

static status failed(const char *what, const char *path, const char *why, diag *d)
{
	return diag_set(d, ST_ERR_IO, "%s '%.300s': %s", what, path, why);
}

static void remove_database(const char *path)
{
	static const char *const ends[] = {"", "-wal", "-shm",
		"-journal"}; /* a copy from before an upgrade is left: tmp/ is emptied at the next start */
	char name[620];
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		snprintf(name, sizeof name, "%.600s%s", path, ends[i]);
		unlink(name);
	}
}

/* ---------------------------------------------------------------- backup */

/* One text from a store's objects to another's. */
static bool copy_text(objects *from, objects *to, const char *id)
{
	char path[512], temp[512];
	objects_path(from, "objects", id, path);
	int fd = objects_temp(to, temp);
	bool ok = fd >= 0 && file_copy(path, fd);
	if (fd >= 0)
		close(fd);
	ok = ok && objects_publish(to, temp, "objects", id);
	if (!ok && fd >= 0)
		unlink(temp);
	return ok;
}

static status copy_texts(db *c, objects *from, objects *to, int64_t *out_lost, diag *d)
{
	sqlite3_stmt *s = db_statement(c, SQL_MODULE_IDS);
	found more;
	status st = ST_OK;
	*out_lost = 0;
	while (st == ST_OK && (more = db_step(c, s)) == FOUND) {
		const char *id = column_text(s, 0);
		if (objects_lost(from, "objects", id))
			++*out_lost;
		else if (!copy_text(from, to, id))
			st = failed("a text cannot be copied to", to->dir, strerror(errno), d);
	}
	if (s)
		sqlite3_reset(s);
	return st == ST_OK && more == FOUND_FAILED
		? failed("cannot read", from->dir, sqlite3_errmsg(c->handle), d)
		: st;
}

status store_backup(const char *dir, const char *to, int64_t *out_lost, diag *d)
{
	char path[600];
	objects mine = {0};
	db copy = {0};
	log_to(-1); /* what goes wrong is told by d */
	store *st = store_peek(dir, d);
	if (!st)
		return d->code;
	db *c = store_reader(st);
	status s = ST_OK;
	snprintf(path, sizeof path, "%.400s/shardwright.db", to);
	if (mkdir(to, 0700) != 0)
		s = diag_set(d, errno == EEXIST ? ST_ERR_INVALID : ST_ERR_IO,
			"cannot make the folder '%.300s': %s", to, strerror(errno));
	else if ((s = objects_open(&mine, to, d)) == ST_OK && (!c || !database_copy(c, path)))
		s = failed(
			"cannot write", path, c ? sqlite3_errmsg(c->handle) : "the store cannot be read", d);
	/* Of the rows of the copy: what comes to the store meanwhile is not in it. */
	if (s == ST_OK && !db_open(&copy, path, SQLITE_OPEN_READONLY, NULL, "PRAGMA query_only = ON"))
		s = failed("cannot open", path, sqlite3_errmsg(copy.handle), d);
	if (s == ST_OK)
		s = copy_texts(&copy, store_objects(st), &mine, out_lost, d);
	db_close(&copy);
	store_close(st);
	return s;
}

status store_verify(const char *dir, FILE *out, diag *d)
{
	bool ok = store_check(dir, out, d);
	return d->code != ST_OK ? d->code : ok ? ST_OK : ST_ERR_INVALID;
}

/* ---------------------------------------------------------------- export */

#define CHOSEN \
	" FROM searches s JOIN modules m ON m.id = s.module WHERE s.state = 'succeeded' AND " \
	"s.partial = 0" \
	" AND (?1 IS NULL OR m.id = ?1 OR m.fingerprint = ?1 OR m.name = ?1) AND (?2 IS NULL OR " \
	"s.mesh = ?2) AND (?3 IS NULL OR s.device = ?3)" \
	" AND (?4 IS NULL OR EXISTS (SELECT 1 FROM labels l WHERE l.module = m.id AND l.label = ?4))"

static sqlite3_stmt *choose(source *s, const char *columns, const transfer_filter *f)
{
	strbuf sql = {0};
	strbuf_printf(&sql, "SELECT %s" CHOSEN, columns);
	sqlite3_stmt *q = source_prepare(s, s->from, sql.p);
	strbuf_release(&sql);
	const char *values[] = {f->module, f->mesh, f->device, f->label};
	for (int i = 0; q && i < 4; i++)
		bind_text(q, i + 1, values[i]);
	return q;
}

/* file_read would decode it. */
static bool read_packed(const char *path, strbuf *out)
{
	char piece[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;
	while (fd >= 0 && out->n <= MOST_TEXT && (n = read(fd, piece, sizeof piece)) > 0)
		strbuf_add(out, piece, (size_t)n);
	int error = n > 0 ? EFBIG : errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return n == 0;
}

/* A module that an answer names, with its labels and its text. */
static bool put_module(source *s, sqlite3 *to, objects *o, const char *id)
{
	char path[512];
	strbuf text = {0};
	sqlite3_stmt *insert =
		source_prepare(s, to, "INSERT OR IGNORE INTO texts(id, zstd) VALUES (?1, ?2)");
	bool ok = insert &&
		source_copy_rows(
			s, to, "modules", MODULE_COLUMNS, " WHERE id = ?1", id, &s->counts.modules) &&
		source_copy_rows(s, to, "labels", LABEL_COLUMNS, " WHERE module = ?1", id, NULL);
	objects_path(o, "objects", id, path);
	if (ok && !objects_lost(o, "objects", id)) { /* a lost text is the daemon's to tell */
		ok = read_packed(path, &text);
		if (!ok)
			snprintf(s->error, sizeof s->error, "the text of a module cannot be read: %s",
				strerror(errno));
		bind_text(insert, 1, id);
		ok = ok && sqlite3_bind_blob64(insert, 2, text.p, text.n, SQLITE_STATIC) == SQLITE_OK &&
			(statement_step(insert) == SQLITE_DONE || source_note(s, to));
	}
	sqlite3_finalize(insert);
	strbuf_release(&text);
	return ok;
}

static bool put_answers(source *s, sqlite3 *to, objects *o, const transfer_filter *f)
{
	int rc = SQLITE_ERROR;
	sqlite3_stmt *rows = choose(s, "DISTINCT m.id", f);
	bool ok = rows != NULL;
	while (ok && (rc = statement_step(rows)) == SQLITE_ROW)
		ok = put_module(s, to, o, column_text(rows, 0));
	ok = ok && (rc == SQLITE_DONE || source_note(s, s->from));
	sqlite3_finalize(rows);
	rows = ok ? choose(s, "s.number", f) : NULL;
	ok = rows != NULL;
	while (ok && (rc = statement_step(rows)) == SQLITE_ROW) {
		sqlite3_stmt *one =
			source_prepare(s, s->from, "SELECT " SEARCH_COLUMNS " FROM searches WHERE number = ?1");
		if (one)
			sqlite3_bind_int64(one, 1, sqlite3_column_int64(rows, 0));
		ok = one && statement_step(one) == SQLITE_ROW && source_take_search(s, to, one);
		sqlite3_finalize(one);
	}
	ok = ok && (rc == SQLITE_DONE || source_note(s, s->from));
	sqlite3_finalize(rows);
	return ok;
}

/* An import takes no file with triggers: they would be somebody else's program. */
static bool drop_triggers(sqlite3 *to)
{
	sqlite3_stmt *q = NULL;
	char *sql = NULL;
	bool ok = sqlite3_prepare_v2(to,
				  "SELECT group_concat('DROP TRIGGER \"' || name || '\";', '') FROM sqlite_schema "
				  "WHERE type = 'trigger'",
				  -1, &q, NULL) == SQLITE_OK &&
		statement_step(q) == SQLITE_ROW && (sql = sqlite3_mprintf("%s", column_text(q, 0))) != NULL;
	sqlite3_finalize(q);
	ok = ok && sqlite3_exec(to, sql, NULL, NULL, NULL) == SQLITE_OK;
	sqlite3_free(sql);
	return ok;
}

/* Of the answers to one question the best, in one snapshot of the store. */
static status write_export(
	source *s, const char *path, objects *o, const transfer_filter *f, diag *d)
{
	db to = {0};
	bool ok = db_open(&to, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL,
		"PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
	status st = ok ? store_migrate(&to, path, d)
				   : failed("cannot write", path, sqlite3_errmsg(to.handle), d);
	if (st == ST_OK) {
		ok = sqlite3_exec(to.handle,
				 "BEGIN; CREATE TABLE texts (id TEXT PRIMARY KEY, zstd BLOB NOT NULL) STRICT", NULL,
				 NULL, NULL) == SQLITE_OK &&
			sqlite3_exec(s->from, "BEGIN", NULL, NULL, NULL) == SQLITE_OK &&
			put_answers(s, to.handle, o, f) && drop_triggers(to.handle) &&
			sqlite3_exec(to.handle, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
		if (!ok)
			st =
				failed("cannot write", path, s->error[0] ? s->error : sqlite3_errmsg(to.handle), d);
		sqlite3_exec(s->from, "COMMIT", NULL, NULL, NULL);
	}
	db_close(&to);
	return st;
}

/* The whole file takes the place of another one, which may not be a device or a pipe. */
static bool may_replace(const char *file)
{
	struct stat st;
	return stat(file, &st) != 0 || S_ISREG(st.st_mode);
}

status store_export(
	const char *dir, const char *file, const transfer_filter *f, merge_counts *out, diag *d)
{
	char part[600];
	strbuf mesh = {0};
	problem why = {0};
	transfer_filter chosen = *f;
	log_to(-1);
	if (!may_replace(file))
		return diag_set(
			d, ST_ERR_INVALID, "cannot write '%.300s': it exists, and is no regular file", file);
	if (f->mesh && !mesh_text_check(f->mesh, &mesh, &why)) {
		strbuf_release(&mesh);
		return diag_set(d, ST_ERR_INVALID, "the mesh '%.100s': %.300s", f->mesh, why.detail);
	}
	chosen.mesh = f->mesh ? mesh.p : NULL;
	store *st = store_peek(dir, d);
	if (!st) {
		strbuf_release(&mesh);
		return d->code;
	}
	db *c = store_reader(st);
	source s = {.from = c ? c->handle : NULL};
	snprintf(part, sizeof part, "%.590s.part", file);
	remove_database(part);
	status result = c ? write_export(&s, part, store_objects(st), &chosen, d)
					  : failed("cannot read", dir, "no connection", d);
	if (result == ST_OK && (!file_sync(part, O_RDONLY) || rename(part, file) != 0))
		result = failed("cannot write", file, strerror(errno), d);
	if (result != ST_OK)
		remove_database(part);
	store_close(st);
	strbuf_release(&mesh);
	*out = s.counts;
	return result;
}

/* ---------------------------------------------------------------- import */

/* A file that cannot be read now is not therefore one that is no export. */
static status unreadable(sqlite3 *from, int rc, const char *why, diag *d)
{
	bool its_own = db_damaged(rc) || rc == SQLITE_ERROR;
	return its_own ? diag_set(d, ST_ERR_INVALID, "this is no export of a store: %s", why)
				   : diag_set(d, ST_ERR_IO, "the file cannot be read now: %s",
						 why[0] ? why : sqlite3_errmsg(from));
}

static status prepare_rows(source *s, const char *sql, sqlite3_stmt **out, diag *d)
{
	int rc = sqlite3_prepare_v2(s->from, sql, -1, out, NULL);
	return rc == SQLITE_OK ? ST_OK : unreadable(s->from, rc, sqlite3_errmsg(s->from), d);
}

/* A text is taken once it has the hash that names it. */
static status take_text(objects *o, const char *id, const void *p, size_t n, diag *d)
{
	char temp[512];
	int fd = objects_temp(o, temp);
	bool written = fd >= 0 && write_all(fd, p, n);
	if (fd >= 0)
		close(fd);
	status st = ST_OK;
	text_state state = written ? file_state(temp, id) : TEXT_UNREAD;
	if (!written)
		st = diag_set(d, ST_ERR_IO, "the text of a module cannot be written: %s", strerror(errno));
	else if (state == TEXT_UNREAD)
		st = diag_set(d, ST_ERR_IO, "the text of a module cannot be read: %s", strerror(errno));
	else if (state != TEXT_INTACT)
		st = diag_set(d, ST_ERR_INVALID,
			"the text of the module '%.80s' is damaged, or is another one: nothing is taken", id);
	else if (!objects_publish(o, temp, "objects", id))
		st = diag_set(d, ST_ERR_IO, "the text of a module cannot be written: %s", strerror(errno));
	if (st != ST_OK && fd >= 0)
		unlink(temp);
	return st;
}

static bool id_is_hash(const char *id)
{
	return strlen(id) == ID_BYTES - 1 && !strncmp(id, "sha256:", 7) &&
		strspn(id + 7, "0123456789abcdef") == 64;
}

static status take_texts(source *s, store *into, diag *d)
{
	objects *o = store_objects(into);
	sqlite3_stmt *rows = NULL;
	int rc = SQLITE_DONE;
	status st = prepare_rows(
		s, "SELECT m.id, t.zstd FROM modules m LEFT JOIN texts t ON t.id = m.id", &rows, d);
	while (st == ST_OK && (rc = statement_step(rows)) == SQLITE_ROW) {
		const char *id = column_text(rows, 0);
		if (!id_is_hash(id))
			st = diag_set(d, ST_ERR_INVALID, "'%.80s' is no id of a module", id);
		else if (objects_lost(o, "objects", id) && sqlite3_column_type(rows, 1) != SQLITE_NULL)
			st = take_text(
				o, id, sqlite3_column_blob(rows, 1), (size_t)sqlite3_column_bytes(rows, 1), d);
	}
	if (st == ST_OK && rc != SQLITE_DONE)
		st = unreadable(s->from, rc, sqlite3_errmsg(s->from), d);
	sqlite3_finalize(rows);
	return st;
}

static status check_each_document(source *s, diag *d)
{
	sqlite3_stmt *rows = NULL;
	int rc = SQLITE_DONE;
	status st = prepare_rows(s,
		"SELECT id, document, json_valid(document) AND document ->> '$.format' = "
		"'shardwright.strategy/1'"
		" AND document ->> '$.cost.runtime_ns' = runtime_ns AND document ->> '$.cost.peak_bytes' = "
		"peak_bytes FROM strategies",
		&rows, d);
	while (st == ST_OK && (rc = statement_step(rows)) == SQLITE_ROW) {
		char id[ID_BYTES];
		sha256_name(column_text(rows, 1), (size_t)sqlite3_column_bytes(rows, 1), id);
		if (strcmp(id, column_text(rows, 0)) || !sqlite3_column_int(rows, 2))
			st = diag_set(d, ST_ERR_INVALID,
				"the strategy '%.80s' is damaged, or is another one: nothing is taken",
				column_text(rows, 0));
	}
	if (st == ST_OK && rc != SQLITE_DONE)
		st = unreadable(s->from, rc, sqlite3_errmsg(s->from), d);
	sqlite3_finalize(rows);
	return st;
}

/* See db_verdict: what SQLite finds wrong once may be a shortage of memory. */
static status check_documents(source *s, diag *d)
{
	diag first = {0};
	status st = check_each_document(s, &first);
	if (st == ST_ERR_INVALID && check_each_document(s, d) == ST_OK)
		return diag_set(d, ST_ERR_IO, "the strategies cannot be read now");
	return st == ST_OK || d->code != ST_OK ? st : diag_set(d, st, "%s", first.msg);
}

/* Whether the first value of a query is this one. */
static status first_is(db *c, const char *file, const char *sql, const char *good, diag *d)
{
	char said[200];
	verdict v = db_verdict(c, sql, good, said);
	if (v == VERDICT_BAD)
		return diag_set(
			d, ST_ERR_INVALID, "'%.300s' is damaged, or is no export of a store: %s", file, said);
	return v == VERDICT_GOOD ? ST_OK : failed("cannot read", file, said, d);
}

/* The file in a copy of this version, in the target's tmp/: it stays as it is, and it may be of an
 * earlier version. */
static status open_copy(store *into, const char *file, char temp[512], db *out, diag *d)
{
	int fd = objects_temp(store_objects(into), temp);
	status st =
		fd >= 0 && file_copy(file, fd) ? ST_OK : failed("cannot copy", file, strerror(errno), d);
	if (fd >= 0)
		close(fd);
	if (st == ST_OK &&
		!db_open(out, temp, SQLITE_OPEN_READWRITE, NULL, "PRAGMA cell_size_check = ON"))
		st = failed("cannot open", file, sqlite3_errmsg(out->handle), d);
	if (st == ST_OK) {
		/* Tables that are none, and triggers, would be somebody else's program. */
		st = first_is(out, file, "PRAGMA quick_check(1)", "ok", d);
		if (st == ST_OK)
			st = first_is(out, file,
				"SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' OR (type = 'view' AND "
				"name IN"
				" ('modules', 'searches', 'strategies', 'events', 'labels', 'tags', 'texts', "
				"'verification_jobs', 'verifications', 'measurements'))",
				"0", d);
		if (st == ST_OK)
			st = store_migrate(out, temp, d);
	}
	return st;
}

status store_import(const char *dir, const char *file, merge_counts *out, diag *d)
{
	metrics counters = {0};
	char temp[512] = "";
	db copy = {0};
	log_to(-1);
	if (access(file, R_OK) != 0)
		return diag_set(d, ST_ERR_NOT_FOUND, "cannot read '%.300s': %s", file, strerror(errno));
	store *into = store_open(dir, &counters, d);
	if (!into)
		return d->code;
	status st = open_copy(into, file, temp, &copy, d);
	source s = {.op = {.run = source_merge_run}, .from = copy.handle};
	if (st == ST_OK)
		st = check_documents(&s, d);
	if (st == ST_OK)
		st = take_texts(&s, into, d);
	if (st == ST_OK && store_write(into, &s.op) != ST_OK)
		st = diag_set(d, ST_ERR_IO, "'%.300s' cannot be imported: %s", file,
			s.error[0] ? s.error : "the disk is full or broken");
	db_close(&copy);
	if (temp[0])
		remove_database(temp);
	store_close(into);
	*out = s.counts;
	return st;
}

/* ---------------------------------------------------------------- retention */

static status size_now(db *c, const char *dir, int64_t *out, diag *d)
{
	*out = store_bytes(c);
	return *out >= 0 ? ST_OK : failed("cannot read", dir, sqlite3_errmsg(c->handle), d);
}

status store_prune(
	const char *dir, int64_t keep_days, int64_t keep_bytes, prune_counts *out, diag *d)
{
	metrics counters = {0};
	log_to(-1);
	store *s = store_open(dir, &counters, d);
	if (!s)
		return d->code;
	retention r = {.op = {.run = retention_run},
		.before_us = keep_days ? wall_us() - keep_days * DAY_US : 0,
		.most_bytes = keep_bytes};
	db *c = store_reader(s);
	status st = c ? ST_OK : failed("cannot read", dir, "no connection", d);
	if (st == ST_OK)
		st = size_now(c, dir, &out->bytes_before, d);
	do {
		if (st == ST_OK && store_write(s, &r.op) != ST_OK)
			st = failed("cannot write", dir, "the disk is full or broken", d);
	} while (st == ST_OK && r.more);
	if (st == ST_OK)
		store_sweep(store_objects(s), c);
	if (st == ST_OK)
		st = size_now(c, dir, &out->bytes_after, d);
	out->strategies = r.strategies;
	out->searches = r.searches;
	out->modules = r.modules;
	store_close(s);
	return st;
}
