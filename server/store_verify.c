/* The queue of searches whose plans a verifier compiles, and what it found.
 *
 * A job belongs to a search and can be taken once that has succeeded, so nothing has to happen when
 * a search ends. A lease that runs out makes it free again; attempt fences results that come late.
 * A result is taken whole, in one transaction, or not at all. */
#include "server/evidence.h"

enum { MOST_LOSSES = 5 };

static bool finish(sqlite3_stmt *s)
{
	int rc;
	while ((rc = statement_step(s)) == SQLITE_ROW)
		continue;
	return sqlite3_reset(s) == SQLITE_OK && rc == SQLITE_DONE;
}

static void bind_count(sqlite3_stmt *s, int at, int64_t value)
{
	if (value >= 0)
		sqlite3_bind_int64(s, at, value);
	else
		sqlite3_bind_null(s, at);
}

/* ---------------------------------------------------------------- asking */

bool verification_ask(db *c, const char *search, int64_t plans)
{
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_ASK);
	if (!s)
		return false;
	bind_text(s, 1, search);
	sqlite3_bind_int64(s, 2, plans);
	sqlite3_bind_int64(s, 3, wall_us());
	return finish(s);
}

found verification_asked(db *c, const char *search, int64_t plans)
{
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_ASKED);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, search);
	sqlite3_bind_int64(s, 2, plans);
	found f = db_step(c, s);
	sqlite3_reset(s);
	return f;
}

/* ---------------------------------------------------------------- what is known, as JSON */

static void text_or_null(strbuf *out, const char *key, sqlite3_stmt *s, int at)
{
	json_text(out, key, sqlite3_column_type(s, at) == SQLITE_NULL ? NULL : column_text(s, at));
}

/* The rows of a search, or of all searches that planned or chose a strategy, as an array. */
static bool rows_json(
	db *c, const char *search, const char *strategy, bool only_chosen, strbuf *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_ROWS);
	int64_t n = 0;
	found f;
	if (!s)
		return false;
	bind_text(s, 1, search);
	bind_text(s, 2, strategy);
	if (!only_chosen)
		strbuf_putc(out, '[');
	while ((f = db_step(c, s)) == FOUND) {
		if (only_chosen && !sqlite3_column_int(s, 1))
			continue;
		if (n++ && !only_chosen)
			strbuf_putc(out, ',');
		strbuf_puts(out, column_text(s, 0));
	}
	sqlite3_reset(s);
	if (only_chosen && !n)
		strbuf_puts(out, "null");
	if (!only_chosen)
		strbuf_putc(out, ']');
	return f == FOUND_NONE;
}

found verification_json(db *c, const char *search, bool with_rows, strbuf *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_JOB);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, search);
	found f = db_step(c, s);
	if (f == FOUND) {
		strbuf_putc(out, '{');
		text_or_null(out, "state", s, 0);
		json_int(out, "plans", sqlite3_column_int64(s, 1));
		json_int(out, "attempt", sqlite3_column_int64(s, 2));
		text_or_null(out, "planned", s, 3);
		text_or_null(out, "error", s, 4);
		text_or_null(out, "verifier", s, 5);
		json_time(out, "created", sqlite3_column_int64(s, 6));
		json_time(out, "started", sqlite3_column_int64(s, 7));
		json_time(out, "ended", sqlite3_column_int64(s, 8));
	}
	sqlite3_reset(s);
	if (f != FOUND)
		return f;
	json_key(out, with_rows ? "verifications" : "best");
	if (!rows_json(c, search, NULL, !with_rows, out))
		return FOUND_FAILED;
	strbuf_putc(out, '}');
	return FOUND;
}

found verification_over(db *c, const char *search, bool *over)
{
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_JOB);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, search);
	found f = db_step(c, s);
	*over =
		f != FOUND || (strcmp(column_text(s, 0), "queued") && strcmp(column_text(s, 0), "running"));
	sqlite3_reset(s);
	return f == FOUND_FAILED ? f : FOUND;
}

bool verifications_of_strategy(db *c, const char *strategy, strbuf *out)
{
	strbuf_putc(out, '{');
	json_key(out, "verifications");
	bool ok = rows_json(c, NULL, strategy, false, out);
	strbuf_putc(out, '}');
	return ok;
}

/* ---------------------------------------------------------------- taking */

static bool give_up_lost(db *c, int64_t now)
{
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_GIVE_UP);
	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, now);
	sqlite3_bind_int64(s, 2, MOST_LOSSES);
	return finish(s);
}

static bool write_task(db *c, verification_claim *a, int64_t plans)
{
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_TASK);
	if (!s)
		return false;
	bind_text(s, 1, a->search);
	bool ok = db_step(c, s) == FOUND;
	if (ok) {
		strbuf *out = &a->json;
		strbuf_clear(out);
		strbuf_putc(out, '{');
		json_text(out, "search", a->search);
		json_int(out, "attempt", a->attempt);
		json_int(out, "plans", plans);
		json_int(out, "lease_seconds", a->lease_us / 1000000);
		text_or_null(out, "strategy", s, 0);
		text_or_null(out, "module", s, 1);
		text_or_null(out, "mesh", s, 2);
		text_or_null(out, "device", s, 3);
		json_int(out, "memory_limit_bytes", sqlite3_column_int64(s, 4));
		json_raw(out, "device_profile",
			sqlite3_column_type(s, 5) == SQLITE_NULL ? "null" : column_text(s, 5));
		strbuf_putc(out, '}');
	}
	sqlite3_reset(s);
	return ok;
}

status verification_claim_run(db *c, write_op *op)
{
	verification_claim *a = (verification_claim *)op;
	int64_t now = wall_us(), plans = 0;
	if (!give_up_lost(c, now))
		return ST_ERR_IO;
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_CLAIM);
	if (!s)
		return ST_ERR_IO;
	sqlite3_bind_int64(s, 1, now);
	sqlite3_bind_int64(s, 2, now + a->lease_us);
	bind_text(s, 3, a->verifier);
	bind_text(s, 4, a->devices);
	found f = db_step(c, s);
	a->found = f == FOUND;
	if (a->found) {
		snprintf(a->search, sizeof a->search, "%s", column_text(s, 0));
		a->attempt = sqlite3_column_int64(s, 1);
		plans = sqlite3_column_int64(s, 2);
		f = db_step(c, s); /* RETURNING has changed the row only once it is done */
	}
	sqlite3_reset(s);
	if (f != FOUND_NONE)
		return ST_ERR_IO;
	return !a->found || write_task(c, a, plans) ? ST_OK : ST_ERR_IO;
}

status verification_beat_run(db *c, write_op *op)
{
	verification_beat *a = (verification_beat *)op;
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_BEAT);
	if (!s)
		return ST_ERR_IO;
	bind_text(s, 1, a->search);
	sqlite3_bind_int64(s, 2, a->attempt);
	sqlite3_bind_int64(s, 3, wall_us() + a->lease_us);
	if (!finish(s))
		return ST_ERR_IO;
	a->held = sqlite3_changes(c->handle) == 1;
	return ST_OK;
}

/* ---------------------------------------------------------------- a result */

/* The search answers with this strategy from now on. */
static bool replace_answer(db *c, const char *search, const char *strategy)
{
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_ANSWER);
	if (!s)
		return false;
	bind_text(s, 1, search);
	bind_text(s, 2, strategy);
	if (!finish(s) || !(s = db_statement(c, SQL_SEARCH_END_NUMBERS)))
		return false;
	bind_text(s, 1, search);
	bind_text(s, 2, strategy);
	return finish(s);
}

/* The state of the job as this result finds it, and the strategy that was planned. */
static bool look(db *c, verification_result *a, char planned[ID_BYTES])
{
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_JOB);
	if (!s)
		return false;
	bind_text(s, 1, a->search);
	found f = db_step(c, s);
	a->found = f == FOUND;
	a->held = a->repeated = false;
	if (a->found) {
		const char *state = column_text(s, 0);
		bool same = sqlite3_column_int64(s, 2) == a->attempt,
			 first = sqlite3_column_type(s, 3) == SQLITE_NULL;
		a->held = same && !strcmp(state, "running");
		a->repeated = same && (!strcmp(state, "done") || !strcmp(state, "failed"));
		snprintf(planned, ID_BYTES, "%s", column_text(s, first ? 9 : 3));
	}
	sqlite3_reset(s);
	return f != FOUND_FAILED;
}

static bool insert_strategy(db *c, verification_result *a, const char *planned)
{
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_STRATEGY);
	if (!s)
		return false;
	sha256_name(a->document, strlen(a->document), a->strategy);
	bind_text(s, 1, a->strategy);
	bind_text(s, 2, a->search);
	bind_text(s, 3, planned);
	bind_text(s, 4, a->document);
	sqlite3_bind_int64(s, 5, wall_us());
	return finish(s);
}

static bool insert_row(
	db *c, const verification_result *a, const verification_row *row, const char *planned)
{
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_ROW);
	if (!s)
		return false;
	const char *texts[] = {
		row->plan, row->apply, row->source, row->compiler, row->version, row->options};
	bind_text(s, 1, a->search);
	sqlite3_bind_int64(s, 2, a->attempt);
	bind_text(s, 3, row->chosen && a->strategy[0] ? a->strategy : NULL);
	bind_text(s, 4, planned);
	for (int i = 0; i < (int)COUNT_OF(texts); i++)
		bind_text(s, 5 + i, texts[i]);
	bind_count(s, 11, row->runtime_ns);
	bind_count(s, 12, row->peak_bytes);
	sqlite3_bind_int(s, 13, row->fits);
	sqlite3_bind_int64(s, 14, row->predicted_runtime_ns);
	sqlite3_bind_int64(s, 15, row->predicted_peak_bytes);
	sqlite3_bind_double(s, 16, row->seconds);
	bind_text(s, 17, row->reason);
	sqlite3_bind_int(s, 18, row->chosen);
	sqlite3_bind_int64(s, 19, wall_us());
	return finish(s);
}

static bool end_job(db *c, const verification_result *a, const char *planned)
{
	sqlite3_stmt *s = db_statement(c, SQL_VERIFY_END);
	if (!s)
		return false;
	bind_text(s, 1, a->search);
	sqlite3_bind_int64(s, 2, a->attempt);
	bind_text(s, 3, a->error ? "failed" : "done");
	bind_text(s, 4, a->error);
	bind_text(s, 5, planned);
	sqlite3_bind_int64(s, 6, wall_us());
	return finish(s);
}

/* Of the same program for the same mesh: else an answer would change into another one's. */
static bool document_fits(db *c, const char *document, const char *planned)
{
	sqlite3_stmt *s = db_statement(c, SQL_DOCUMENT_CHECK);
	if (!s)
		return false;
	bind_text(s, 1, document);
	bool ok = db_step(c, s) == FOUND && sqlite3_column_int(s, 0) == 1;
	sqlite3_reset(s);
	if (!ok || !(s = db_statement(c, SQL_VERIFY_SAME)))
		return false;
	bind_text(s, 1, document);
	bind_text(s, 2, planned);
	ok = db_step(c, s) == FOUND && sqlite3_column_int(s, 0) == 1;
	sqlite3_reset(s);
	return ok;
}

status verification_result_run(db *c, write_op *op)
{
	verification_result *a = (verification_result *)op;
	char planned[ID_BYTES] = "";
	a->strategy[0] = 0;
	a->refused = false;
	if (!look(c, a, planned))
		return ST_ERR_IO;
	if (!a->held)
		return ST_OK;
	a->refused = a->document && !document_fits(c, a->document, planned);
	if (a->refused)
		return ST_OK;
	bool ok = (!a->document || insert_strategy(c, a, planned)) && end_job(c, a, planned);
	for (uint32_t i = 0; i < a->row_count && ok; i++) {
		if (a->rows[i].chosen && !a->document)
			snprintf(a->strategy, sizeof a->strategy, "%s", planned);
		ok = insert_row(c, a, &a->rows[i], planned);
	}
	return ok && (!a->strategy[0] || replace_answer(c, a->search, a->strategy)) ? ST_OK : ST_ERR_IO;
}
