#include "clients/cli/daemon.h"

#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

enum {
	MOST_TRIES = 4,
	MOST_PAUSE_SECONDS = 5,
	FIRST_PAUSE_MS =
		100, /* between tries of a daemon that does not answer; doubles up to the most */
	MOST_PAUSE_MS = 1000,
	PACK_FROM = 64 << 10, /* smaller modules travel as they are */
};

static void answer_clear(answer *a)
{
	strbuf_clear(&a->body);
	a->code = 0;
	a->tag[0] = a->error[0] = 0;
	a->retry_after = 1;
}

static size_t take_body(char *p, size_t size, size_t n, void *cls)
{
	strbuf_add(cls, p, size * n);
	return size * n;
}

static size_t take_header(char *p, size_t size, size_t n, void *cls)
{
	answer *a = cls;
	size_t len = size * n;
	while (len && (p[len - 1] == '\r' || p[len - 1] == '\n'))
		len--;
	if (len > 5 && !strncasecmp(p, "ETag:", 5)) {
		p += 5, len -= 5;
		while (len && *p == ' ')
			p++, len--;
		snprintf(a->tag, sizeof a->tag, "%.*s", (int)len, p);
	} else if (len > 12 && !strncasecmp(p, "Retry-After:", 12)) {
		a->retry_after = atoi(p + 12);
	}
	return size * n;
}

bool client_open(client *c, const char *server)
{
	if (!server)
		server = getenv("SHARDWRIGHT_SERVER");
	if (!server || !*server)
		server = "http://127.0.0.1:7070";
	c->server = server;
	c->connect_ms = CONNECT_MS;
	c->deadline_ns = INT64_MAX;
	c->retry_ns = 0;
	c->answered = false;
	c->socket[0] = 0;
	size_t n = strlen(server);
	while (n && server[n - 1] == '/')
		n--;
	if (!strncmp(server, "unix:", 5)) {
		snprintf(c->socket, sizeof c->socket, "%s", server + 5);
		snprintf(c->base, sizeof c->base, "http://localhost");
	} else {
		snprintf(c->base, sizeof c->base, "%s%.*s", strstr(server, "://") ? "" : "http://", (int)n,
			server);
	}
	curl_global_init(CURL_GLOBAL_DEFAULT);
	c->curl = curl_easy_init();
	return c->curl != NULL;
}

void client_close(client *c)
{
	if (c->curl)
		curl_easy_cleanup(c->curl);
	curl_global_cleanup();
}

static struct curl_slist *add_token(struct curl_slist *headers)
{
	const char *token = getenv("SHARDWRIGHT_TOKEN");
	if (!token || !*token)
		return headers;
	strbuf line;
	strbuf_init(&line);
	strbuf_printf(&line, "Authorization: Bearer %s", token);
	headers = curl_slist_append(headers, line.p);
	strbuf_release(&line);
	return headers;
}

/* headers: a NULL-terminated list of lines. */
static void perform(client *c, const char *method, const char *path, const char *body, size_t n,
	const char *const *lines, answer *a)
{
	struct curl_slist *headers =
		curl_slist_append(NULL, "Expect:"); /* no round trip before the body */
	strbuf url;
	strbuf_init(&url);
	strbuf_printf(&url, "%s%s", c->base, path);
	for (; lines && *lines; lines++)
		headers = curl_slist_append(headers, *lines);
	headers = add_token(headers);
	answer_clear(a);
	curl_easy_reset(c->curl);
	curl_easy_setopt(c->curl, CURLOPT_URL, url.p);
	curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)c->connect_ms);
	if (c->deadline_ns != INT64_MAX)
		curl_easy_setopt(
			c->curl, CURLOPT_TIMEOUT_MS, (long)MAX((c->deadline_ns - clock_ns()) / 1000000, 1));
	curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &a->body);
	curl_easy_setopt(c->curl, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(c->curl, CURLOPT_HEADERDATA, a);
	if (c->socket[0])
		curl_easy_setopt(c->curl, CURLOPT_UNIX_SOCKET_PATH, c->socket);
	if (!strcmp(method, "POST")) {
		curl_easy_setopt(c->curl, CURLOPT_POST, 1L);
		curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body ? body : "");
		curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
	}
	CURLcode rc = curl_easy_perform(c->curl);
	if (rc == CURLE_OK)
		curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &a->code);
	/* A proxy without a daemon behind it. The daemon's own refusals are problems, 504 too. */
	const char *type = NULL;
	if (rc == CURLE_OK && (a->code == 502 || a->code == 504) &&
		(curl_easy_getinfo(c->curl, CURLINFO_CONTENT_TYPE, &type) != CURLE_OK || !type ||
			strncmp(type, "application/problem+json", 24))) {
		snprintf(a->error, sizeof a->error, "no answer from %.150s: %ld from a proxy", c->server,
			a->code);
		a->code = 0;
	}
	a->timed_out = rc == CURLE_OPERATION_TIMEDOUT;
	if (rc != CURLE_OK)
		snprintf(a->error, sizeof a->error, "no answer from %.150s: %.100s", c->server,
			curl_easy_strerror(rc));
	strbuf_add(&a->body, "", 0);
	curl_slist_free_all(headers);
	strbuf_release(&url);
}

bool client_is_late(const client *c) { return clock_ns() >= c->deadline_ns; }

/* Not past the deadline. */
static void pause_ms(const client *c, int64_t ms)
{
	int64_t left = c->deadline_ns == INT64_MAX ? ms : (c->deadline_ns - clock_ns()) / 1000000;
	usleep((useconds_t)MAX(MIN(ms, left), 1) * 1000);
}

void client_call(client *c, const char *method, const char *path, const char *body, size_t n,
	const char *const *lines, answer *a)
{
	int64_t pause = FIRST_PAUSE_MS, began = clock_ns();
	for (int busy = 1;;) {
		perform(c, method, path, body, n, lines, a);
		c->answered = c->answered || a->code;
		int64_t patience = c->retry_ns >= 0 ? c->retry_ns
			: c->answered                   ? RESTART_SECONDS * 1000000000ll
											: 0;
		bool restart = !a->code && clock_ns() - began < patience;
		bool again = restart || ((a->code == 429 || a->code == 503) && busy++ < MOST_TRIES);
		if (!again || client_is_late(c))
			return;
		pause_ms(c, restart ? pause : MIN(MAX(a->retry_after, 1), MOST_PAUSE_SECONDS) * 1000);
		pause = MIN(2 * pause, MOST_PAUSE_MS);
	}
}

const char *client_text(const cJSON *o, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
	return cJSON_IsString(item) ? item->valuestring : NULL;
}

double client_number(const cJSON *o, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* What the daemon sends ends on a terminal: control characters do not. */
static void add_safe(strbuf *out, const char *s)
{
	for (; s && *s; s++)
		strbuf_putc(out, (unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s);
}

void client_problem(const cJSON *p, const char *file, strbuf *out)
{
	const char *detail = client_text(p, "detail"), *title = client_text(p, "title"),
			   *excerpt = client_text(p, "excerpt");
	const cJSON *errors = cJSON_GetObjectItemCaseSensitive(p, "errors");
	const char *pointer = client_text(cJSON_GetArrayItem(errors, 0), "pointer");
	if (file && client_number(p, "line") > 0)
		strbuf_printf(
			out, "%s:%.0f:%.0f: ", file, client_number(p, "line"), client_number(p, "column"));
	strbuf_puts(out, "error: ");
	if (pointer) {
		add_safe(out, pointer);
		strbuf_puts(out, ": ");
	}
	add_safe(out, detail ? detail : title ? title : "the daemon gave no reason");
	if (excerpt) {
		strbuf_putc(out, '\n');
		add_safe(out, excerpt);
	}
}

void client_refusal(const client *c, const answer *a, const char *file, strbuf *out)
{
	cJSON *p = a->code ? cJSON_ParseWithLength(a->body.p, a->body.n) : NULL;
	if (!a->code)
		strbuf_printf(out, "error: %s", a->error);
	else if (p)
		client_problem(p, file, out);
	else
		strbuf_printf(out, "error: %s answered %ld", c->server, a->code);
	cJSON_Delete(p);
}

bool client_is_final(const char *state)
{
	return state && strcmp(state, "queued") && strcmp(state, "running");
}

bool client_upload(client *c, const char *path, const char *label, char id[80], answer *a, diag *d)
{
	strbuf text = {0}, packed = {0};
	if (file_read(path, (size_t)1 << 30, &text, d) != ST_OK)
		return false;
	const char *body = text.p;
	size_t n = text.n;
	if (n >= PACK_FROM) {
		size_t room = ZSTD_compressBound(n);
		packed.p = xmalloc(room);
		packed.n = ZSTD_compress(packed.p, room, text.p, text.n, 1);
		if (!ZSTD_isError(packed.n)) {
			body = packed.p;
			n = packed.n;
		}
	}
	char named[300];
	const char *lines[] = {"Content-Type: application/octet-stream", NULL, NULL, NULL};
	int more = 1;
	if (body == packed.p)
		lines[more++] = "Content-Encoding: zstd";
	snprintf(named, sizeof named, "X-Shardwright-Label: %s", label ? label : "");
	if (label)
		lines[more] = named;
	client_call(c, "POST", "/v1/modules", body, n, lines, a);
	bool ok = a->code == 200 || a->code == 201;
	if (ok) {
		cJSON *module = cJSON_ParseWithLength(a->body.p, a->body.n);
		snprintf(id, 80, "%s", client_text(module, "id") ? client_text(module, "id") : "");
		cJSON_Delete(module);
	}
	strbuf_release(&text);
	strbuf_release(&packed);
	return ok;
}
