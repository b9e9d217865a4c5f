#include "server/server.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <zlib.h>

static void reply_constant(request *r, const char *type, const char *p, size_t n)
{
	reply_response(
		r, 200, MHD_create_response_from_buffer(n, (void *)(uintptr_t)p, MHD_RESPMEM_PERSISTENT));
	reply_header(r, "Content-Type", type);
	reply_header(r, "X-Content-Type-Options", "nosniff");
	reply_header(r, "Cache-Control", "no-cache");
}

void handle_devices(request *r)
{
	reply_constant(r, "application/json", r->srv->devices_json, strlen(r->srv->devices_json));
}
void handle_version(request *r)
{
	reply_constant(r, "application/json", r->srv->version_json, strlen(r->srv->version_json));
}
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
		reply_failure(r, PROBLEM_UNAVAILABLE,
			"the store cannot be written: what it holds is served, nothing new is taken");
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

/* ---------------------------------------------------------------- the page for people */

static void digest_text(const char *p, size_t n, char out[64])
{
	unsigned char digest[SHA256_BYTES];
	sha256(p, n, digest);
	EVP_EncodeBlock((unsigned char *)out, digest, sizeof digest);
}

static void add_hash(
	strbuf *policy, const char *directive, str page, const char *open, const char *close)
{
	const char *from = memmem(page.p, page.n, open, strlen(open));
	const char *end = from ? strstr(from, close) : NULL;
	char text[64];
	if (!end)
		return;
	from += strlen(open);
	digest_text(from, (size_t)(end - from), text);
	strbuf_printf(policy, "; %s 'sha256-%s'", directive, text);
}

/* Nothing compressed where zlib has no memory: the page is then served as it is. */
static void compress_page(str page, strbuf *out)
{
	z_stream z = {0};
	strbuf_init(out);
	if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, MAX_MEM_LEVEL,
			Z_DEFAULT_STRATEGY) != Z_OK)
		return;
	size_t most = deflateBound(&z, page.n);
	char *to = xmalloc(most);
	z.next_in = (unsigned char *)(uintptr_t)page.p;
	z.avail_in = (uInt)page.n;
	z.next_out = (unsigned char *)to;
	z.avail_out = (uInt)most;
	if (deflate(&z, Z_FINISH) == Z_STREAM_END)
		strbuf_add(out, to, most - z.avail_out);
	deflateEnd(&z);
	free(to);
}

/* Only the page's own script and style, known by their hashes, may run, and nothing may turn text
 * into markup. The one policy for trusted types gives the address of the page's service worker. */
void page_prepare(server *srv)
{
	embedded e = embedded_page();
	str page = {e.p, e.n};
	char text[64];
	strbuf policy;
	strbuf_init(&policy);
	strbuf_puts(&policy,
		"default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action "
		"'none'; frame-ancestors 'none'; worker-src 'self'; "
		"require-trusted-types-for 'script'; trusted-types shardwright");
	add_hash(&policy, "script-src", page, "<script type=\"module\">", "</script>");
	add_hash(&policy, "style-src", page, "<style>", "</style>");
	snprintf(srv->page_policy, sizeof srv->page_policy, "%s", policy.p);
	strbuf_release(&policy);
	digest_text(e.p, e.n, text);
	snprintf(srv->page_tag, sizeof srv->page_tag, "\"%s\"", text);
	compress_page(page, &srv->page_gzip);
}

void page_release(server *srv) { strbuf_release(&srv->page_gzip); }

void handle_page(request *r)
{
	embedded e = embedded_page();
	const strbuf *small = &r->srv->page_gzip;
	const char *match = request_header(r, "If-None-Match"),
			   *accept = request_header(r, "Accept-Encoding");
	bool gzip = small->n && accept && strstr(accept, "gzip"),
		 same = match && strstr(match, r->srv->page_tag);
	const char *p = gzip ? small->p : e.p;
	size_t n = same ? 0 : gzip ? small->n : e.n;
	reply_response(r, same ? 304 : 200,
		MHD_create_response_from_buffer(n, (void *)(uintptr_t)p, MHD_RESPMEM_PERSISTENT));
	reply_header(r, "Content-Type", "text/html; charset=utf-8");
	if (gzip && !same)
		reply_header(r, "Content-Encoding", "gzip");
	reply_header(r, "Vary", "Accept-Encoding");
	reply_header(r, "ETag", r->srv->page_tag);
	reply_header(r, "X-Content-Type-Options", "nosniff");
	reply_header(r, "Cache-Control", "no-cache");
	reply_header(r, "Content-Security-Policy", r->srv->page_policy);
	reply_header(r, "Referrer-Policy", "no-referrer");
}

/* The page's service worker, which keeps the page and asks nobody but this daemon. */
void handle_page_worker(request *r)
{
	embedded e = embedded_page_worker();
	reply_constant(r, "text/javascript; charset=utf-8", e.p, e.n);
	reply_header(r, "Content-Security-Policy", "default-src 'none'; connect-src 'self'");
}

static void count_states(db *c, strbuf *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_COUNT_STATES);
	strbuf_puts(out,
		"# HELP shardwright_searches searches in the store\n# TYPE shardwright_searches gauge\n");
	while (s && sqlite3_step(s) == SQLITE_ROW)
		strbuf_printf(out, "shardwright_searches{state=\"%s\"} %lld\n", column_text(s, 0),
			(long long)sqlite3_column_int64(s, 1));
	if (s)
		sqlite3_reset(s);
	s = db_statement(c, SQL_COUNT_ROWS);
	if (s && sqlite3_step(s) == SQLITE_ROW)
		strbuf_printf(out,
			"# HELP shardwright_modules modules in the store\n# TYPE shardwright_modules "
			"gauge\nshardwright_modules %lld\n"
			"# HELP shardwright_strategies strategies in the store\n# TYPE shardwright_strategies "
			"gauge\nshardwright_strategies %lld\n",
			(long long)sqlite3_column_int64(s, 0), (long long)sqlite3_column_int64(s, 1));
	if (s)
		sqlite3_reset(s);
}

static void print_gauge(strbuf *out, const char *name, const char *help, int64_t value)
{
	strbuf_printf(out,
		"# HELP shardwright_%s %s\n# TYPE shardwright_%s gauge\nshardwright_%s %lld\n", name, help,
		name, name, (long long)value);
}

static void print_times(const metrics *m, strbuf *out)
{
	const route *way;
	histogram_head("request_seconds",
		"from the head of a request until its answer is ready, without long polls and event "
		"streams",
		out);
	for (uint32_t i = 0; (way = route_at(i)); i++) {
		char label[128];
		snprintf(label, sizeof label, "method=\"%s\",route=\"%s\"", way->method, way->pattern);
		if (atomic_load(&m->request_seconds[i].count))
			histogram_print(&m->request_seconds[i], "request_seconds", label, out);
	}
	histogram_head("queue_seconds", "from a request until its worker starts", out);
	histogram_print(&m->queue_seconds, "queue_seconds", "", out);
	histogram_head("search_seconds", "of one worker", out);
	histogram_print(&m->search_seconds, "search_seconds", "", out);
	histogram_head("commit_seconds", "of one transaction", out);
	histogram_print(&m->commit_seconds, "commit_seconds", "", out);
}

void handle_metrics(request *r)
{
	strbuf b;
	strbuf_init(&b);
	server *srv = r->srv;
	metrics_print(&srv->metrics, &b);
	print_gauge(&b, "requests_open", "requests under way, those that wait and streams included",
		atomic_load(&srv->requests_active));
	print_gauge(&b, "memory_bytes", "what bodies and answers hold of the budget",
		atomic_load(&srv->memory.used));
	print_gauge(&b, "memory_limit_bytes", "the budget", srv->memory.limit);
	print_gauge(&b, "memory_refusals", "requests and answers the budget refused",
		atomic_load(&srv->memory.refused));
	print_gauge(
		&b, "objects_lost", "module texts that are missing from the store", store_lost(srv->store));
	print_times(&srv->metrics, &b);
	db *c = store_reader(r->srv->store);
	if (c)
		count_states(c, &b);
	reply_buffer(r, 200, "text/plain; version=0.0.4; charset=utf-8", &b);
}
