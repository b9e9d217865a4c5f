#include "server/server.h"

static void reply_constant(request *r, const char *type, const char *p, size_t n)
{
	reply_response(r, 200, MHD_create_response_from_buffer(n, (void *)(uintptr_t)p, MHD_RESPMEM_PERSISTENT));
	reply_header(r, "Content-Type", type);
	reply_header(r, "X-Content-Type-Options", "nosniff");
	reply_header(r, "Cache-Control", "no-cache");
}

void handle_devices(request *r) { reply_constant(r, "application/json", r->srv->devices_json, strlen(r->srv->devices_json)); }
void handle_version(request *r) { reply_constant(r, "application/json", r->srv->version_json, strlen(r->srv->version_json)); }
void handle_healthz(request *r) { reply_constant(r, "text/plain; charset=utf-8", "ok\n", 3); }

/* Everything else works: uploading a text whose file is gone stores it again. */
static void reply_ready_but(request *r, int64_t lost)
{
	strbuf b;
	strbuf_init(&b);
	strbuf_printf(&b, "ready\nlost_objects %lld\n", (long long)lost);
	reply_buffer(r, 200, "text/plain; charset=utf-8", &b);
	reply_header(r, "Cache-Control", "no-cache");
}

void handle_readyz(request *r)
{
	if (!store_writable(r->srv->store))
		reply_failure(r, PROBLEM_UNAVAILABLE, "the store cannot be written: what it holds is served, nothing new is taken");
	else if (store_lost(r->srv->store))
		reply_ready_but(r, store_lost(r->srv->store));
	else
		reply_constant(r, "text/plain; charset=utf-8", "ready\n", 6);
}

void handle_openapi(request *r)
{
	embedded e = embedded_openapi();
	reply_constant(r, "application/json", e.p, e.n);
}

void handle_page(request *r)
{
	embedded e = embedded_page();
	reply_constant(r, "text/html; charset=utf-8", e.p, e.n);
	reply_header(r, "Content-Security-Policy", r->srv->page_policy);
	reply_header(r, "Referrer-Policy", "no-referrer");
}

static void count_states(db *c, strbuf *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_COUNT_STATES);
	strbuf_puts(out, "# HELP shardwright_searches searches in the store\n# TYPE shardwright_searches gauge\n");
	while (s && sqlite3_step(s) == SQLITE_ROW)
		strbuf_printf(out, "shardwright_searches{state=\"%s\"} %lld\n", column_text(s, 0), (long long)sqlite3_column_int64(s, 1));
	if (s)
		sqlite3_reset(s);
	s = db_statement(c, SQL_COUNT_ROWS);
	if (s && sqlite3_step(s) == SQLITE_ROW)
		strbuf_printf(out,
			"# HELP shardwright_modules modules in the store\n# TYPE shardwright_modules gauge\nshardwright_modules %lld\n"
			"# HELP shardwright_strategies strategies in the store\n# TYPE shardwright_strategies gauge\nshardwright_strategies %lld\n",
			(long long)sqlite3_column_int64(s, 0), (long long)sqlite3_column_int64(s, 1));
	if (s)
		sqlite3_reset(s);
}

static void print_gauge(strbuf *out, const char *name, const char *help, int64_t value)
{
	strbuf_printf(out, "# HELP shardwright_%s %s\n# TYPE shardwright_%s gauge\nshardwright_%s %lld\n", name, help, name, name,
		(long long)value);
}

void handle_metrics(request *r)
{
	strbuf b;
	strbuf_init(&b);
	server *srv = r->srv;
	metrics_print(&srv->metrics, &b);
	print_gauge(&b, "memory_bytes", "what bodies and answers hold of the budget", atomic_load(&srv->memory.used));
	print_gauge(&b, "memory_limit_bytes", "the budget", srv->memory.limit);
	print_gauge(&b, "memory_refusals", "requests and answers the budget refused", atomic_load(&srv->memory.refused));
	print_gauge(&b, "objects_lost", "module texts that are missing from the store", store_lost(srv->store));
	db *c = store_reader(r->srv->store);
	if (c)
		count_states(c, &b);
	reply_buffer(r, 200, "text/plain; version=0.0.4; charset=utf-8", &b);
}
