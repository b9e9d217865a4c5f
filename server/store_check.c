/* Texts that are lost, and --check: all of a store is read, nothing is changed. */
#include "server/searches.h"
#include "server/store_private.h"

#include <errno.h>
#include <sys/stat.h>

static bool count_lost(db *c, const objects *o, int64_t *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_MODULE_IDS);
	found more;
	*out = 0;
	while ((more = db_step(c, s)) == FOUND)
		*out += objects_lost(o, "objects", column_text(s, 0));
	if (s)
		sqlite3_reset(s);
	return more == FOUND_NONE;
}

void store_look_for_lost(store *s)
{
	int64_t n;
	db *c = store_reader(s);
	if (!c || !count_lost(c, &s->objects, &n))
		return;
	if (atomic_exchange(&s->lost, n) != n && n)
		log_warn("event=objects_lost count=%lld", (long long)n);
}

int64_t store_lost(store *s) { return atomic_load(&s->lost); }

/* A shortage or a failed read tells nothing about the database: it goes to d. */
static void report_failure(db *c, const char *what, int rc, FILE *out, diag *d)
{
	if (db_damaged(rc))
		fprintf(out, "%s: %s\n", what, sqlite3_errmsg(c->handle));
	else
		diag_set(d, ST_ERR_IO, "%s: the database cannot be read now: %s", what,
			sqlite3_errmsg(c->handle));
}

/* Every row of a PRAGMA that lists faults; false when there is one, or when it fails. */
static bool report_pragma(db *c, const char *sql, const char *good, FILE *out, diag *d)
{
	sqlite3_stmt *s = NULL;
	char said[200];
	if (good && db_verdict(c, sql, good, said) == VERDICT_NONE) {
		diag_set(d, ST_ERR_IO, "%s: the database cannot be read now: %s", sql, said);
		return false;
	}
	bool ok = true;
	int rc = sqlite3_prepare_v2(c->handle, sql, -1, &s, NULL);
	while ((rc == SQLITE_OK || rc == SQLITE_ROW) && (rc = sqlite3_step(s)) == SQLITE_ROW)
		if (!good || strcmp(column_text(s, 0), good)) {
			fprintf(out, "%s: %s\n", sql, column_text(s, 0));
			ok = false;
		}
	if (rc != SQLITE_DONE)
		report_failure(c, sql, rc, out, d);
	sqlite3_finalize(s);
	return ok && rc == SQLITE_DONE;
}

static bool report_objects(db *c, const objects *o, FILE *out, diag *d)
{
	sqlite3_stmt *s = db_statement(c, SQL_MODULE_IDS);
	int64_t count = 0, bad = 0, unread = 0;
	found more;
	while ((more = db_step(c, s)) == FOUND) {
		const char *id = column_text(s, 0);
		text_state state = objects_state(o, "objects", id);
		int error = errno;
		count++;
		bad += state == TEXT_LOST || state == TEXT_DAMAGED;
		if (state == TEXT_UNREAD) {
			unread++;
			fprintf(out, "%s: the text cannot be read: %s\n", id, strerror(error));
		} else if (state != TEXT_INTACT) {
			fprintf(out, "%s: the text is %s\n", id,
				state == TEXT_LOST ? "lost: upload it again"
								   : "damaged: remove its file and upload it again");
		}
	}
	if (more == FOUND_FAILED)
		report_failure(c, "modules", sqlite3_errcode(c->handle), out, d);
	if (s)
		sqlite3_reset(s);
	fprintf(out, "%lld modules, %lld texts lost or damaged\n", (long long)count, (long long)bad);
	if (unread)
		diag_set(d, ST_ERR_IO, "%lld texts cannot be read: check again", (long long)unread);
	return more == FOUND_NONE && !bad && !unread;
}

bool store_check(const char *dir, FILE *out, diag *d)
{
	store s = {.lock_fd = -1};
	struct stat st;
	db c;
	snprintf(s.path, sizeof s.path, "%.400s/shardwright.db", dir);
	if (stat(s.path, &st) != 0) {
		diag_set(d, ST_ERR_NOT_FOUND, "there is no store in '%.300s': %s", dir, strerror(errno));
		return false;
	}
	bool ok = db_open(&c, s.path, SQLITE_OPEN_READONLY, NULL,
		"PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;");
	if (ok) {
		s.objects.dir = dir;
		ok = report_pragma(&c, "PRAGMA integrity_check", "ok", out, d);
		ok = report_pragma(&c, "PRAGMA foreign_key_check", NULL, out, d) && ok;
		ok = report_objects(&c, &s.objects, out, d) && ok;
	} else {
		diag_set(d, ST_ERR_IO, "cannot open '%s': %s", s.path, sqlite3_errmsg(c.handle));
	}
	db_close(&c);
	return ok;
}

int store_version(void) { return STORE_VERSION; }
