/* Rows on their way from one store to another, for merge.c and transfer.c. */
#ifndef SW_BATCH_ROWS_H
#define SW_BATCH_ROWS_H

#include "batch/batch.h"
#include "server/server.h"

typedef struct source {
	write_op op; /* first: what the writer of the target sees */
	sqlite3 *from;
	merge_counts counts;
	char error[300]; /* the first one */
} source;

#define SEARCH_COLUMNS \
	"id, key, budget, budget_amount, module, fingerprint, mesh, device, memory_bytes, objective, " \
	"request, owner, state, cancel, attempt," \
	" failures, max_failures, not_before_us, lease_us, evaluations, best_runtime_ns, " \
	"best_peak_bytes, best_fits, strategy, partial, error," \
	" created_us, started_us, ended_us, revision"
#define STRATEGY_COLUMNS \
	"id, search, module, fingerprint, mesh, device, objective, memory_limit_bytes, fits, " \
	"partial, runtime_ns, peak_bytes, communication_ns," \
	" evaluations, cost_model, document, created_us"
#define JOB_COLUMNS \
	"search, plans, state, attempt, losses, lease_us, verifier, planned, error, created_us, " \
	"started_us, ended_us"
#define VERIFICATION_COLUMNS \
	"search, attempt, strategy, plan, apply, source, compiler, version, options, runtime_ns, " \
	"peak_bytes, fits, predicted_runtime_ns," \
	" predicted_peak_bytes, seconds, reason, chosen, created_us"
#define MEASUREMENT_COLUMNS \
	"id, strategy, device, step_ns, peak_bytes, steps, hardware, jax, jaxlib, compiler, options, " \
	"source, owner, measured_us, created_us"
#define LABEL_COLUMNS "module, label, owner, created_us"
#define MODULE_COLUMNS \
	"id, fingerprint, shardings, name, ops, arguments, text_bytes, stored_bytes, created_us, " \
	"structure, uploaded_us"

/* Keeps db's error; false. */
bool source_note(source *s, sqlite3 *db);
sqlite3_stmt *source_prepare(source *s, sqlite3 *db, const char *sql);
/* INSERT OR IGNORE of the row that `row` stands on. */
bool source_insert_row(source *s, sqlite3 *to, const char *table, const char *columns,
	sqlite3_stmt *row, int64_t *out_new);
/* All rows that a query with one parameter gives; key NULL: without it. */
bool source_copy_rows(source *s, sqlite3 *to, const char *table, const char *columns,
	const char *where, const char *key, int64_t *out_new);
/* A search that has ended, with its strategy, events, tags, verification and measurements. row:
 * SEARCH_COLUMNS. */
bool source_take_search(source *s, sqlite3 *to, sqlite3_stmt *row);
/* All that a source has; its modules' texts are the caller's, before. */
status source_merge_run(db *c, write_op *op);
/* The bytes of a file, as they are. */
bool file_copy(const char *from, int to);

#endif
