/* The strategies of a store that were measured on the devices they were made for. */
#include "batch/batch.h"
#include "server/server.h"

#include <stdlib.h>

static bool take(store *st, sqlite3_stmt *s, measured_row *row)
{
	snprintf(row->strategy, sizeof row->strategy, "%s", column_text(s, 0));
	snprintf(row->fingerprint, sizeof row->fingerprint, "%s", column_text(s, 2));
	snprintf(row->name, sizeof row->name, "%.120s", column_text(s, 3));
	snprintf(row->mesh, sizeof row->mesh, "%.120s", column_text(s, 4));
	row->step_ns = sqlite3_column_int64(s, 5);
	row->measurements = sqlite3_column_int64(s, 6);
	strbuf_add(&row->document, column_text(s, 7), (size_t)sqlite3_column_bytes(s, 7));
	objects_path(store_objects(st), "objects", column_text(s, 1), row->module_path);
	return !objects_lost(store_objects(st), "objects", column_text(s, 1));
}

status store_measured(const char *dir, const char *device, measured_row **out, uint32_t *out_n,
	uint32_t *out_lost, diag *d)
{
	VEC(measured_row) rows = {0};
	*out_lost = 0;
	log_to(-1);
	store *st = store_peek(dir, d);
	if (!st)
		return d->code;
	db *c = store_reader(st);
	sqlite3_stmt *s = NULL;
	/* The store's views are its own, and this connection only reads. */
	bool ok = c &&
		sqlite3_exec(c->handle, "PRAGMA trusted_schema = ON", NULL, NULL, NULL) == SQLITE_OK &&
		sqlite3_prepare_v2(c->handle,
			"SELECT t.id, t.module, t.fingerprint, m.name, t.mesh, r.step_ns, r.measurements, "
			"t.document FROM measured_strategies r"
			" JOIN strategies t ON t.id = r.strategy JOIN modules m ON m.id = t.module WHERE "
			"t.device = ?1 ORDER BY t.fingerprint, t.mesh, t.id",
			-1, &s, NULL) == SQLITE_OK;
	if (ok)
		bind_text(s, 1, device);
	int rc = SQLITE_ERROR;
	while (ok && (rc = statement_step(s)) == SQLITE_ROW) {
		measured_row row = {0};
		if (take(st, s, &row)) {
			vec_push(&rows, row);
		} else {
			strbuf_release(&row.document);
			++*out_lost;
		}
	}
	status result = ok && rc == SQLITE_DONE
		? ST_OK
		: diag_set(d, ST_ERR_IO, "the store '%.300s' cannot be read", dir);
	sqlite3_finalize(s);
	store_close(st);
	*out = rows.p;
	*out_n = rows.n;
	return result;
}

void measured_rows_free(measured_row *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		strbuf_release(&rows[i].document);
	free(rows);
}
