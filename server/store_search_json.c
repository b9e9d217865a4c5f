/* A search as JSON. */
#include "server/evidence.h"
#include "server/store_private.h"

static void json_column_int(strbuf *out, const char *key, sqlite3_stmt *s, int at)
{
	if (sqlite3_column_type(s, at) == SQLITE_NULL)
		json_raw(out, key, "null");
	else
		json_int(out, key, sqlite3_column_int64(s, at));
}

static void json_column_text(strbuf *out, const char *key, sqlite3_stmt *s, int at)
{
	json_text(out, key, sqlite3_column_type(s, at) == SQLITE_NULL ? NULL : column_text(s, at));
}

static bool state_is_final(const char *state)
{
	return strcmp(state, "queued") && strcmp(state, "running");
}

void search_row_json(sqlite3_stmt *s, strbuf *out)
{
	bool best = sqlite3_column_type(s, 15) != SQLITE_NULL;
	strbuf_putc(out, '{');
	json_column_text(out, "id", s, 0);
	json_column_text(out, "state", s, 1);
	json_column_text(out, "strategy", s, 18);
	json_bool(out, "partial", sqlite3_column_int(s, 19));
	json_column_text(out, "module", s, 2);
	json_column_text(out, "fingerprint", s, 3);
	json_column_text(out, "mesh", s, 4);
	json_column_text(out, "device", s, 5);
	json_int(out, "memory_bytes", sqlite3_column_int64(s, 6));
	json_column_text(out, "objective", s, 7);
	json_column_text(out, "budget", s, 8);
	json_int(out, "attempt", sqlite3_column_int64(s, 11));
	json_int(out, "failures", sqlite3_column_int64(s, 12));
	json_bool(out, "canceling", sqlite3_column_int(s, 13) && !state_is_final(column_text(s, 1)));
	json_int(out, "evaluations", sqlite3_column_int64(s, 14));
	if (best) {
		json_key(out, "best");
		strbuf_putc(out, '{');
		json_column_int(out, "runtime_ns", s, 15);
		json_column_int(out, "peak_bytes", s, 16);
		json_bool(out, "fits", sqlite3_column_int(s, 17));
		strbuf_putc(out, '}');
	} else {
		json_raw(out, "best", "null");
	}
	json_raw(out, "error", sqlite3_column_type(s, 20) == SQLITE_NULL ? "null" : column_text(s, 20));
	if (sqlite3_column_type(s, 10) != SQLITE_NULL)
		json_raw(out, "request", column_text(s, 10)); /* left out of lists: it may be large */
	json_text(out, "owner", column_text(s, 25)[0] ? column_text(s, 25) : NULL);
	json_int(out, "priority", sqlite3_column_int64(s, 26));
	json_raw(out, "tags", column_text(s, 27));
	json_raw(out, "labels", column_text(s, 28));
	json_time(out, "created", sqlite3_column_int64(s, 21));
	json_time(out, "started", sqlite3_column_int64(s, 22));
	json_time(out, "ended", sqlite3_column_int64(s, 23));
	json_int(out, "revision", sqlite3_column_int64(s, 24));
	strbuf_putc(out, '}');
}

bool search_add_verification(db *c, const char *id, strbuf *out)
{
	out->n--;
	json_key(out, "verification");
	found f = verification_json(c, id, false, out);
	if (f == FOUND_NONE)
		strbuf_puts(out, "null");
	strbuf_putc(out, '}');
	return f != FOUND_FAILED;
}

found search_json(db *c, const char *id, strbuf *out, int64_t *rev, bool *final)
{
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_GET);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, id);
	found f = db_step(c, s);
	if (f == FOUND) {
		search_row_json(s, out);
		if (rev)
			*rev = sqlite3_column_int64(s, 24);
		if (final)
			*final = state_is_final(column_text(s, 1));
	}
	sqlite3_reset(s);
	return f == FOUND && !search_add_verification(c, id, out) ? FOUND_FAILED : f;
}

found search_json_full(db *c, const char *id, strbuf *out, document_ref *document)
{
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_GET);
	char strategy[ID_BYTES] = "";
	*document = (document_ref){0};
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, id);
	found f = db_step(c, s);
	if (f == FOUND) {
		search_row_json(s, out);
		copy(strategy, sizeof strategy, column_text(s, 18));
	}
	sqlite3_reset(s);
	if (f == FOUND && !search_add_verification(c, id, out))
		return FOUND_FAILED;
	if (f != FOUND || !strategy[0])
		return f;
	out->n--; /* the closing brace */
	json_key(out, "document");
	if (document_find(c, strategy, document, out) != FOUND)
		return FOUND_FAILED; /* the row of the search says that there is one */
	if (document->bytes <= DOCUMENT_WHOLE)
		strbuf_putc(out, '}');
	return FOUND;
}
