/* What a store keeps. A strategy goes when nobody has asked for it for so long, or, where the store
 * is above its size, in the order of last use; with it go the searches it answered. Searches
 * without a strategy go by age, modules by their last upload once no search names them. What waits
 * or runs stays. Each operation is small: requests are not kept waiting. */
#include "server/searches.h"
#include "server/store_private.h"

#include <stdlib.h>

enum { AT_ONCE = 50 };
#define NEW_US \
	(3600ll * 1000000) /* nothing goes within an hour of its last use, whatever the size */

typedef VEC(struct { char id[ID_BYTES]; }) id_list;

static bool collect(db *c, statement_id which, int64_t before_us, id_list *out)
{
	sqlite3_stmt *s = db_statement(c, which);
	found f;
	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, before_us);
	sqlite3_bind_int(s, 2, AT_ONCE);
	sqlite3_bind_int64(s, 3, wall_us());
	out->n = 0;
	while ((f = db_step(c, s)) == FOUND) {
		vec_reserve(out, out->n + 1);
		snprintf(out->p[out->n++].id, ID_BYTES, "%s", column_text(s, 0));
	}
	sqlite3_reset(s);
	return f == FOUND_NONE;
}

static bool drop(db *c, statement_id which, const char *id, int64_t *out_count)
{
	sqlite3_stmt *s = db_statement(c, which);
	if (!s)
		return false;
	bind_text(s, 1, id);
	if (!statement_finish(s))
		return false;
	*out_count += sqlite3_changes(c->handle);
	return true;
}

static bool drop_strategies(db *c, retention *a, int64_t before_us, id_list *ids)
{
	if (!collect(c, SQL_OLD_STRATEGIES, before_us, ids))
		return false;
	for (uint32_t i = 0; i < ids->n; i++)
		if (!drop(c, SQL_STRATEGY_SEARCHES_DELETE, ids->p[i].id, &a->searches) ||
			!drop(c, SQL_STRATEGY_DELETE, ids->p[i].id, &a->strategies))
			return false;
	a->more = a->more || ids->n == AT_ONCE;
	return true;
}

static bool drop_all(
	db *c, statement_id which, statement_id how, retention *a, int64_t *out_count, id_list *ids)
{
	if (!collect(c, which, a->before_us, ids))
		return false;
	for (uint32_t i = 0; i < ids->n; i++)
		if (!drop(c, how, ids->p[i].id, out_count))
			return false;
	a->more = a->more || ids->n == AT_ONCE;
	return true;
}

int64_t store_bytes(db *c)
{
	sqlite3_stmt *s = db_statement(c, SQL_SIZE_USED);
	int64_t n = db_step(c, s) == FOUND ? sqlite3_column_int64(s, 0) : -1;
	if (s)
		sqlite3_reset(s);
	return n;
}

status retention_run(db *c, write_op *op)
{
	retention *a = (retention *)op;
	id_list ids = {0};
	int64_t dropped = a->strategies;
	a->more = false;
	bool ok = !a->before_us ||
		(drop_strategies(c, a, a->before_us, &ids) &&
			drop_all(c, SQL_OLD_SEARCHES, SQL_SEARCH_DELETE, a, &a->searches, &ids) &&
			drop_all(c, SQL_OLD_MODULES, SQL_MODULE_DELETE, a, &a->modules, &ids));
	if (ok && a->most_bytes) {
		int64_t used = store_bytes(c);
		ok = used >= 0;
		if (ok && used > a->most_bytes) {
			int64_t newest = wall_us() - NEW_US, limit = a->before_us;
			a->before_us = newest;
			ok = drop_strategies(c, a, newest, &ids) &&
				drop_all(c, SQL_OLD_MODULES, SQL_MODULE_DELETE, a, &a->modules, &ids);
			a->before_us = limit;
			a->more = a->more && a->strategies > dropped;
		}
	}
	vec_release(&ids);
	return ok ? ST_OK : ST_ERR_IO;
}

/* ---------------------------------------------------------------- files that no row names */

typedef struct known {
	db *c;
	const char *sql;
} known;

/* What could not be looked up stays. */
static bool is_known(void *cls, const char *id)
{
	known *k = cls;
	sqlite3_stmt *s = NULL;
	bool there = true;
	if (sqlite3_prepare_v2(k->c->handle, k->sql, -1, &s, NULL) == SQLITE_OK) {
		bind_text(s, 1, id);
		there = statement_step(s) != SQLITE_DONE;
	}
	sqlite3_finalize(s);
	return there;
}

void store_sweep(objects *o, db *c)
{
	static const char *const derived[] = {
		"emitted", "exact", "annotate", "explanation", "outline", "timeline",
#define X(name) "as-" #name,
		STRATEGY_NOTATIONS(X)
#undef X
	};
	known modules = {c, "SELECT 1 FROM modules WHERE id = ?1"},
		  strategies = {c, "SELECT 1 FROM strategies WHERE id = ?1"};
	objects_sweep(o, "objects", is_known, &modules);
	objects_sweep(o, "arguments", is_known, &modules);
	for (size_t i = 0; i < COUNT_OF(derived); i++)
		objects_sweep(o, derived[i], is_known, &strategies);
}
