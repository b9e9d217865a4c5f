/* What is known of steps with strategies of a store, from clocks and from compilers.
 *
 * Measured are those that somebody recorded, and those of verifications on real devices; compiled
 * are steps of a compiler's schedule. A verification has a document of its own for what it chose
 * only: its other plans are the search's answer and that answer's alternatives, applied and with
 * the compiler options that its row says. Baselines that were not chosen have no document. */
#include "batch/batch.h"
#include "costmodel/costmodel.h"
#include "server/server.h"

#include <stdlib.h>

/* The median of what was recorded of each strategy on the devices it was made for. */
static const char measured_sql[] =
	"SELECT t.id, t.module, t.fingerprint, m.name, t.mesh, r.step_ns, '', t.document "
	"FROM measured_strategies r JOIN strategies t ON t.id = r.strategy "
	"JOIN modules m ON m.id = t.module WHERE t.device = ?1 ORDER BY t.fingerprint, t.mesh, t.id";

/* Of each search the last result, of each program of a strategy the last search; what is recorded
 * counts instead of what a verification measured. document: NULL where none is kept; same_model:
 * predicted and costed by this cost model. */
static const char verified_sql[] =
	"WITH found AS (SELECT v.*, p.id AS planned, p.module, p.fingerprint, p.mesh,"
	" CASE WHEN o.id IS NOT NULL THEN o.document WHEN v.plan = 'this plan' THEN p.document"
	" WHEN v.plan GLOB 'alternative [0-9]*' THEN json_patch("
	" json_remove(p.document, '$.actions', '$.decisions', '$.simpler', '$.alternatives'),"
	" p.document -> ('$.alternatives[' || (substr(v.plan, 13) - 1) || ']')) END AS document,"
	" coalesce(o.cost_model, p.cost_model) = ?3 AS same_model,"
	" row_number() OVER (PARTITION BY p.id, v.plan, v.apply, v.options ORDER BY v.number DESC)"
	" AS place"
	" FROM verifications v JOIN verification_jobs j ON j.search = v.search"
	" JOIN strategies p ON p.id = j.planned LEFT JOIN strategies o ON o.id = v.strategy"
	" WHERE p.device = ?1 AND v.source = ?2 AND v.reason IS NULL AND v.runtime_ns > 0"
	" AND v.attempt = (SELECT max(attempt) FROM verifications w WHERE w.search = v.search))"
	"SELECT coalesce(f.strategy, f.planned), f.module, f.fingerprint, m.name, f.mesh, f.runtime_ns,"
	" f.plan || ', ' || f.apply || iif(f.options = '{}', '', ', with options'),"
	" json_set(f.document, '$.apply', f.apply, '$.compiler_options', json(f.options)), "
	"f.same_model "
	"FROM found f JOIN modules m ON m.id = f.module WHERE f.place = 1 AND (?2 = 'compiled' OR "
	"NOT EXISTS (SELECT 1 FROM measured_strategies r WHERE r.strategy = f.strategy)) "
	"ORDER BY f.fingerprint, f.mesh, f.planned, f.number";

typedef struct reading {
	store *st;
	step_source source;
	VEC(known_step) rows;
	known_steps_left *left;
} reading;

static void take(reading *r, sqlite3_stmt *s, bool verified)
{
	if (sqlite3_column_type(s, 7) == SQLITE_NULL) {
		r->left->undocumented++;
		return;
	}
	if (verified && r->source == STEP_COMPILED && !sqlite3_column_int(s, 8)) {
		r->left->other_model++;
		return;
	}
	if (objects_lost(store_objects(r->st), "objects", column_text(s, 1))) {
		r->left->lost++;
		return;
	}
	known_step row = {.source = r->source, .step_ns = sqlite3_column_int64(s, 5)};
	snprintf(row.strategy, sizeof row.strategy, "%s", column_text(s, 0));
	snprintf(row.fingerprint, sizeof row.fingerprint, "%s", column_text(s, 2));
	snprintf(row.name, sizeof row.name, "%.120s", column_text(s, 3));
	snprintf(row.mesh, sizeof row.mesh, "%.120s", column_text(s, 4));
	snprintf(row.plan, sizeof row.plan, "%.120s", column_text(s, 6));
	strbuf_add(&row.document, column_text(s, 7), (size_t)sqlite3_column_bytes(s, 7));
	objects_path(store_objects(r->st), "objects", column_text(s, 1), row.module_path);
	vec_push(&r->rows, row);
}

static bool read_rows(reading *r, db *c, const char *sql, const char *profile)
{
	bool verified = sql == verified_sql;
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(c->handle, sql, -1, &s, NULL);
	if (rc == SQLITE_OK) {
		bind_text(s, 1, profile);
		if (verified) {
			bind_text(s, 2, r->source == STEP_COMPILED ? "compiled" : "measured");
			bind_text(s, 3, COST_MODEL_VERSION);
		}
		while ((rc = statement_step(s)) == SQLITE_ROW)
			take(r, s, verified);
	}
	sqlite3_finalize(s);
	return rc == SQLITE_DONE;
}

/* Two ordered lists have become one. */
static int by_program(const void *a, const void *b)
{
	const known_step *x = a, *y = b;
	int c = strcmp(x->fingerprint, y->fingerprint);
	c = c ? c : strcmp(x->mesh, y->mesh);
	c = c ? c : strcmp(x->plan, y->plan);
	return c ? c : strcmp(x->strategy, y->strategy);
}

status store_known_steps(const char *dir, const char *profile, step_source source, known_step **out,
	uint32_t *out_n, known_steps_left *left, diag *d)
{
	log_to(-1);
	*left = (known_steps_left){0};
	reading r = {.st = store_peek(dir, d), .source = source, .left = left};
	if (!r.st)
		return d->code;
	db *c = store_reader(r.st);
	/* The store's views are its own, and this connection only reads. */
	bool ok = c &&
		sqlite3_exec(c->handle, "PRAGMA trusted_schema = ON", NULL, NULL, NULL) == SQLITE_OK &&
		(source == STEP_COMPILED || read_rows(&r, c, measured_sql, profile)) &&
		read_rows(&r, c, verified_sql, profile);
	status st = ok ? ST_OK : diag_set(d, ST_ERR_IO, "the store '%.300s' cannot be read", dir);
	store_close(r.st);
	if (r.rows.n)
		qsort(r.rows.p, r.rows.n, sizeof *r.rows.p, by_program);
	*out = r.rows.p;
	*out_n = r.rows.n;
	return st;
}

void known_steps_free(known_step *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		strbuf_release(&rows[i].document);
	free(rows);
}
