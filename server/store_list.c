#include "server/searches.h"
#include "server/store_private.h"

static void open_page(strbuf *out, const char *key)
{
	strbuf_putc(out, '{');
	json_key(out, key);
	strbuf_putc(out, '[');
}

/* The position to go on from, when the page is full. */
static void close_page(strbuf *out, bool full, const char *last)
{
	strbuf_putc(out, ']');
	json_text(out, "next_page", full ? last : NULL);
	strbuf_putc(out, '}');
}

bool list_searches(db *c, const list_filter *f, strbuf *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_LIST_SEARCHES);
	int64_t n = 0;
	char last[32] = "";
	if (!s)
		return false;
	open_page(out, "searches");
	sqlite3_bind_int64(s, 1, f->before);
	bind_text(s, 2, f->state);
	bind_text(s, 3, f->module);
	bind_text(s, 4, f->mesh);
	bind_text(s, 5, f->device);
	sqlite3_bind_int64(s, 6, f->page_size);
	bind_text(s, 7, f->label);
	bind_text(s, 8, f->tag);
	bind_text(s, 9, f->owner);
	bind_text(s, 10, f->verification);
	found more = FOUND;
	while (out->n < LIST_BYTES && (more = db_step(c, s)) == FOUND) {
		snprintf(last, sizeof last, "%lld", (long long)sqlite3_column_int64(s, 29));
		if (n++)
			strbuf_putc(out, ',');
		search_row_json(s, out);
		if (!search_add_verification(c, column_text(s, 0), out)) {
			more = FOUND_FAILED;
			break;
		}
	}
	sqlite3_reset(s);
	close_page(out, n == f->page_size || more == FOUND, last);
	return more != FOUND_FAILED;
}

bool list_strategies(db *c, const list_filter *f, strbuf *out)
{
	static const char *const texts[] = {
		"id", "search", "module", "fingerprint", "name", "mesh", "device", "objective"};
	static const char *const numbers[] = {
		"runtime_ns", "peak_bytes", "communication_ns", "evaluations"};
	sqlite3_stmt *s = db_statement(c, SQL_LIST_STRATEGIES);
	int64_t n = 0;
	char last[32] = "";
	if (!s)
		return false;
	open_page(out, "strategies");
	sqlite3_bind_int64(s, 1, f->before);
	bind_text(s, 2, f->module);
	bind_text(s, 3, f->mesh);
	bind_text(s, 4, f->device);
	sqlite3_bind_int64(s, 5, f->page_size);
	bind_text(s, 6, f->label);
	bind_text(s, 7, f->tag);
	found more = FOUND;
	while (out->n < LIST_BYTES && (more = db_step(c, s)) == FOUND) {
		snprintf(last, sizeof last, "%lld", (long long)sqlite3_column_int64(s, 0));
		if (n++)
			strbuf_putc(out, ',');
		strbuf_putc(out, '{');
		for (int i = 0; i < (int)COUNT_OF(texts); i++)
			json_text(out, texts[i], column_text(s, 1 + i));
		json_int(out, "memory_limit_bytes", sqlite3_column_int64(s, 9));
		json_bool(out, "fits", sqlite3_column_int(s, 10));
		json_bool(out, "partial", sqlite3_column_int(s, 11));
		for (int i = 0; i < (int)COUNT_OF(numbers); i++)
			json_int(out, numbers[i], sqlite3_column_int64(s, 12 + i));
		json_text(out, "cost_model", column_text(s, 16));
		json_raw(out, "tags", column_text(s, 18));
		json_raw(out, "labels", column_text(s, 19));
		json_raw(out, "verified",
			sqlite3_column_type(s, 22) == SQLITE_NULL ? "null" : column_text(s, 22));
		json_raw(out, "measured",
			sqlite3_column_type(s, 23) == SQLITE_NULL ? "null" : column_text(s, 23));
		json_int(out, "hits", sqlite3_column_int64(s, 20));
		json_time(out, "last_hit", sqlite3_column_int64(s, 21));
		json_time(out, "created", sqlite3_column_int64(s, 17));
		strbuf_putc(out, '}');
	}
	sqlite3_reset(s);
	close_page(out, n == f->page_size || more == FOUND, last);
	return more != FOUND_FAILED;
}

bool list_modules(db *c, const list_filter *f, strbuf *out)
{
	static const char *const texts[] = {"id", "fingerprint", "shardings", "name"};
	static const char *const numbers[] = {"ops", "arguments", "bytes"};
	sqlite3_stmt *s = db_statement(c, SQL_LIST_MODULES);
	int64_t n = 0;
	char last[ID_BYTES + 32] = "";
	if (!s)
		return false;
	open_page(out, "modules");
	sqlite3_bind_int64(s, 1, f->before);
	bind_text(s, 2, f->before_id);
	bind_text(s, 3, f->module);
	bind_text(s, 4, f->label);
	sqlite3_bind_int64(s, 5, f->page_size);
	found more = FOUND;
	while (out->n < LIST_BYTES && (more = db_step(c, s)) == FOUND) {
		snprintf(
			last, sizeof last, "%lld-%s", (long long)sqlite3_column_int64(s, 7), column_text(s, 0));
		strbuf_puts(out, n++ ? ",{" : "{");
		for (int i = 0; i < (int)COUNT_OF(texts); i++)
			json_text(out, texts[i], column_text(s, i));
		for (int i = 0; i < (int)COUNT_OF(numbers); i++)
			json_int(out, numbers[i], sqlite3_column_int64(s, 4 + i));
		json_raw(out, "labels", column_text(s, 8));
		json_time(out, "created", sqlite3_column_int64(s, 7));
		strbuf_putc(out, '}');
	}
	sqlite3_reset(s);
	close_page(out, n == f->page_size || more == FOUND, last);
	return more != FOUND_FAILED;
}

/* ---------------------------------------------------------------- strategy documents */

static sqlite3_blob *document_open(db *c, int64_t number)
{
	sqlite3_blob *b = NULL;
	if (sqlite3_blob_open(c->handle, "main", "strategies", "document", number, 0, &b) == SQLITE_OK)
		return b;
	log_warn("event=read_failed error=%s", log_quoted(sqlite3_errmsg(c->handle)).text);
	sqlite3_blob_close(b);
	return NULL;
}

static bool append_blob(sqlite3_blob *b, int n, strbuf *out)
{
	char *text = xmalloc((size_t)n);
	bool ok = sqlite3_blob_read(b, text, n, 0) == SQLITE_OK;
	if (ok)
		strbuf_add(out, text, (size_t)n);
	free(text);
	return ok;
}

found document_find(db *c, const char *id, document_ref *out, strbuf *whole)
{
	sqlite3_stmt *s = db_statement(c, SQL_STRATEGY_NUMBER);
	*out = (document_ref){0};
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, id);
	found f = db_step(c, s);
	if (f == FOUND)
		out->number = sqlite3_column_int64(s, 0);
	snprintf(out->id, sizeof out->id, "%s", id);
	sqlite3_reset(s);
	if (f != FOUND)
		return f;
	sqlite3_blob *b = document_open(c, out->number);
	if (!b)
		return FOUND_FAILED;
	out->bytes = sqlite3_blob_bytes(b);
	bool ok = out->bytes > DOCUMENT_WHOLE || append_blob(b, (int)out->bytes, whole);
	sqlite3_blob_close(b);
	return ok ? FOUND : FOUND_FAILED;
}

/* Opened anew for each piece: an open one would keep the log of the database from being taken in
 * while a slow client reads. */
bool document_read(db *c, const document_ref *d, int64_t at, void *to, int64_t n)
{
	sqlite3_blob *b = document_open(c, d->number);
	bool ok = b && sqlite3_blob_bytes(b) == d->bytes &&
		sqlite3_blob_read(b, to, (int)n, (int)at) == SQLITE_OK;
	sqlite3_blob_close(b);
	return ok;
}

found strategy_origin(db *c, const char *id, char module[ID_BYTES], char device[256],
	char **profile, int64_t *trip_count)
{
	*profile = NULL;
	*trip_count = 0;
	sqlite3_stmt *s = db_statement(c, SQL_STRATEGY_ORIGIN);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, id);
	found f = db_step(c, s);
	if (f == FOUND) {
		snprintf(module, ID_BYTES, "%s", column_text(s, 0));
		snprintf(device, 256, "%s", column_text(s, 1));
		if (sqlite3_column_type(s, 2) != SQLITE_NULL)
			*profile = xstrdup(column_text(s, 2));
		*trip_count = sqlite3_column_int64(s, 3);
	}
	sqlite3_reset(s);
	return f;
}

static bool event_is_final(const char *kind, const char *body)
{
	return !strcmp(kind, "state") &&
		(strstr(body, "\"state\":\"succeeded\"") || strstr(body, "\"state\":\"failed\"") ||
			strstr(body, "\"state\":\"canceled\""));
}

bool events_stream(db *c, const char *id, int64_t after, strbuf *out, int64_t *last, bool *final)
{
	sqlite3_stmt *s = db_statement(c, SQL_EVENT_LIST);
	if (!s)
		return false;
	bind_text(s, 1, id);
	sqlite3_bind_int64(s, 2, after);
	found more;
	while ((more = db_step(c, s)) == FOUND) {
		*last = sqlite3_column_int64(s, 0);
		strbuf_printf(out, "id: %lld\nevent: %s\ndata: %s\n\n", (long long)*last, column_text(s, 1),
			column_text(s, 2));
		*final = *final || event_is_final(column_text(s, 1), column_text(s, 2));
	}
	sqlite3_reset(s);
	return more == FOUND_NONE;
}
