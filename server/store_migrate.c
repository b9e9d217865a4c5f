/* The version of a database, and how an older one becomes one of this program. Before the first
 * step a copy of the whole database is put beside it, shardwright.db.version-N: a step that went
 * wrong in a way that no check sees can be taken back. */
#include "server/embed.h"
#include "server/store_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APPLICATION_ID = 0x53574431 }; /* "SWD1" */

static int64_t pragma_number(db *c, const char *sql)
{
	sqlite3_stmt *s;
	int64_t v = -1;
	if (sqlite3_prepare_v2(c->handle, sql, -1, &s, NULL) == SQLITE_OK &&
		sqlite3_step(s) == SQLITE_ROW)
		v = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return v;
}

/* Step i brings a database of version i to i + 1. Released steps never change. */
static const char *migration(int64_t version)
{
	embedded (*const steps[])(void) = {embedded_schema, embedded_schema_2, embedded_schema_3,
		embedded_schema_4, embedded_schema_5, embedded_schema_6, embedded_schema_7,
		embedded_schema_8, embedded_schema_9};
	_Static_assert(COUNT_OF(steps) == STORE_VERSION, "a step for each version");
	return steps[version]().p;
}

status store_read_version(db *c, const char *path, int64_t *out_version, diag *d)
{
	int64_t version = pragma_number(c, "PRAGMA user_version"),
			application = pragma_number(c, "PRAGMA application_id");
	*out_version = version;
	int64_t tables =
		application == APPLICATION_ID ? 0 : pragma_number(c, "SELECT count(*) FROM sqlite_schema");
	if (version < 0 || application < 0 || tables < 0)
		return diag_set(d, ST_ERR_IO, "'%s' cannot be read: %s", path, sqlite3_errmsg(c->handle));
	if (version > STORE_VERSION)
		return diag_set(d, ST_ERR_INVALID,
			"'%s' has version %lld, this program knows versions up to %d", path, (long long)version,
			STORE_VERSION);
	if (application != APPLICATION_ID && (application != 0 || version != 0 || tables != 0))
		return diag_set(d, ST_ERR_INVALID, "'%s' is a database of another program", path);
	return ST_OK;
}

bool database_copy(db *c, const char *to)
{
	char temp[600];
	snprintf(temp, sizeof temp, "%.560s.part", to);
	unlink(temp);
	/* A reader takes it for a write, and the store's own checks for somebody else's. */
	char *sql = sqlite3_mprintf(
		"PRAGMA query_only = OFF; PRAGMA trusted_schema = ON; VACUUM INTO %Q", temp);
	bool ok = sql && sqlite3_exec(c->handle, sql, NULL, NULL, NULL) == SQLITE_OK;
	sqlite3_free(sql); /* NULL, for want of memory, would be a statement that does nothing */
	ok = ok && chmod(temp, 0600) == 0 && file_sync(temp, O_RDONLY) && rename(temp, to) == 0;
	if (!ok)
		unlink(temp);
	return ok;
}

/* One that is there already is of an earlier try, and nobody has written since. */
static status keep_copy(db *c, const char *path, int64_t version, diag *d)
{
	char copy[560];
	snprintf(copy, sizeof copy, "%s.version-%lld", path, (long long)version);
	if (access(copy, F_OK) == 0)
		return ST_OK;
	if (!database_copy(c, copy))
		return diag_set(d, ST_ERR_IO,
			"'%s' has version %lld and is not brought to %d, since no copy of it can be written: "
			"%s",
			path, (long long)version, STORE_VERSION,
			sqlite3_errcode(c->handle) == SQLITE_OK ? strerror(errno) : sqlite3_errmsg(c->handle));
	log_info("event=store_copied version=%lld copy=%s", (long long)version, log_quoted(copy).text);
	return ST_OK;
}

status store_migrate(db *c, const char *path, diag *d)
{
	int64_t version;
	TRY(store_read_version(c, path, &version, d));
	if (version > 0 && version < STORE_VERSION)
		TRY(keep_copy(c, path, version, d));
	for (; version < STORE_VERSION; version++) {
		char *tail =
			sqlite3_mprintf("PRAGMA application_id = %d; PRAGMA user_version = %lld; COMMIT",
				APPLICATION_ID, version + 1);
		bool ok = tail &&
			sqlite3_exec(c->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
			sqlite3_exec(c->handle, migration(version), NULL, NULL, NULL) == SQLITE_OK &&
			sqlite3_exec(c->handle, tail, NULL, NULL, NULL) == SQLITE_OK;
		sqlite3_free(tail);
		if (!ok) {
			diag_set(d, ST_ERR_IO, "'%s' cannot be brought to version %lld: %s", path,
				(long long)version + 1, sqlite3_errmsg(c->handle));
			sqlite3_exec(c->handle, "ROLLBACK", NULL, NULL, NULL);
			return ST_ERR_IO;
		}
	}
	return ST_OK;
}
