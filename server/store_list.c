#include "server/server.h"

static void open_page(strbuf *out, const char *key)
{
	strbuf_putc(out, '{');
	json_key(out, key);
	strbuf_putc(out, '[');
}

/* The position to go on from, when the page is full. */
static void close_page(strbuf *out, bool full, int64_t last)
{
	strbuf_putc(out, ']');
	if (full) {
		json_key(out, "next_page");
		strbuf_printf(out, "\"%lld\"", (long long)last);
	} else {
		json_raw(out, "next_page", "null");
	}
	strbuf_putc(out, '}');
}

void list_searches(db *c, const list_filter *f, strbuf *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_LIST_SEARCHES);
	int64_t n = 0, last = 0;
	open_page(out, "searches");
	if (s) {
		sqlite3_bind_int64(s, 1, f->before);
		bind_text(s, 2, f->state);
		bind_text(s, 3, f->module);
		bind_text(s, 4, f->mesh);
		bind_text(s, 5, f->device);
		sqlite3_bind_int64(s, 6, f->page_size);
		for (; sqlite3_step(s) == SQLITE_ROW; n++) {
			last = sqlite3_column_int64(s, 0);
			if (n)
				strbuf_putc(out, ',');
			search_json(c, column_text(s, 1), out, NULL, NULL);
		}
		sqlite3_reset(s);
	}
	close_page(out, n == f->page_size, last);
}

void list_strategies(db *c, const list_filter *f, strbuf *out)
{
	static const char *const texts[] = {"id", "search", "module", "fingerprint", "name", "mesh", "device", "objective"};
	static const char *const numbers[] = {"runtime_ns", "peak_bytes", "communication_ns", "evaluations"};
	sqlite3_stmt *s = db_statement(c, SQL_LIST_STRATEGIES);
	int64_t n = 0, last = 0;
	open_page(out, "strategies");
	if (s) {
		sqlite3_bind_int64(s, 1, f->before);
		bind_text(s, 2, f->module);
		bind_text(s, 3, f->mesh);
		bind_text(s, 4, f->device);
		sqlite3_bind_int64(s, 5, f->page_size);
		for (; sqlite3_step(s) == SQLITE_ROW; n++) {
			last = sqlite3_column_int64(s, 0);
			if (n)
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
			json_time(out, "created", sqlite3_column_int64(s, 17));
			strbuf_putc(out, '}');
		}
		sqlite3_reset(s);
	}
	close_page(out, n == f->page_size, last);
}

bool strategy_document(db *c, const char *id, strbuf *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_STRATEGY_DOCUMENT);
	if (!s)
		return false;
	bind_text(s, 1, id);
	bool found = sqlite3_step(s) == SQLITE_ROW;
	if (found)
		strbuf_add(out, column_text(s, 0), (size_t)sqlite3_column_bytes(s, 0));
	sqlite3_reset(s);
	return found;
}

bool strategy_module(db *c, const char *id, char module[ID_BYTES])
{
	sqlite3_stmt *s = db_statement(c, SQL_STRATEGY_MODULE);
	if (!s)
		return false;
	bind_text(s, 1, id);
	bool found = sqlite3_step(s) == SQLITE_ROW;
	if (found)
		snprintf(module, ID_BYTES, "%s", column_text(s, 0));
	sqlite3_reset(s);
	return found;
}

static bool event_is_final(const char *kind, const char *body)
{
	return !strcmp(kind, "state")
		&& (strstr(body, "\"state\":\"succeeded\"") || strstr(body, "\"state\":\"failed\"") || strstr(body, "\"state\":\"canceled\""));
}

void events_stream(db *c, const char *id, int64_t after, strbuf *out, int64_t *last, bool *final)
{
	sqlite3_stmt *s = db_statement(c, SQL_EVENT_LIST);
	if (!s)
		return;
	bind_text(s, 1, id);
	sqlite3_bind_int64(s, 2, after);
	while (sqlite3_step(s) == SQLITE_ROW) {
		*last = sqlite3_column_int64(s, 0);
		strbuf_printf(out, "id: %lld\nevent: %s\ndata: %s\n\n", (long long)*last, column_text(s, 1), column_text(s, 2));
		*final = event_is_final(column_text(s, 1), column_text(s, 2));
	}
	sqlite3_reset(s);
}
