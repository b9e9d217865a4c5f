/* Everything that can be refused before a request's body arrives: what is ambiguous, the route, who
 * asks, parameters, type and size of the body. */
#include "server/server.h"
#include "server/http_private.h"

typedef struct head {
	int lengths, hosts, codings;
	bool bad_coding, bad_length;
} head;

static enum MHD_Result count_header(
	void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
	head *h = cls;
	(void)kind;
	value = value ? value : "";
	if (!strcasecmp(key, "Content-Length")) {
		h->lengths++;
		h->bad_length = h->bad_length || !value[0] || value[strspn(value, "0123456789")];
	} else if (!strcasecmp(key, "Transfer-Encoding")) {
		h->codings++;
		h->bad_coding = h->bad_coding || strcasecmp(value, "chunked");
	} else if (!strcasecmp(key, "Host")) {
		h->hosts++;
	}
	return MHD_YES;
}

/* Heads that two HTTP programs may read differently are refused: between them requests get
 * smuggled. */
static bool check_head(request *r, const char *version)
{
	head h = {0};
	MHD_get_connection_values(r->conn, MHD_HEADER_KIND, count_header, &h);
	problem *p = &r->why;
	if (h.lengths > 1 || h.bad_length)
		return problem_set(
			p, PROBLEM_BAD_REQUEST, "more than one Content-Length, or one that is no number");
	if (h.lengths && h.codings)
		return problem_set(p, PROBLEM_BAD_REQUEST, "both Content-Length and Transfer-Encoding");
	if (h.hosts > 1 || (!h.hosts && strcmp(version, MHD_HTTP_VERSION_1_0)))
		return problem_set(p, PROBLEM_BAD_REQUEST, "expected exactly one Host");
	const char *host = request_header(r, "Host");
	if (h.hosts && !check_host(r, host ? host : ""))
		return false;
	if (h.codings > 1 || h.bad_coding)
		return problem_set(p, PROBLEM_UNSUPPORTED_CODING, "the only transfer coding is chunked");
	return true;
}

static bool check_token(request *r)
{
	server *srv = r->srv;
	if (!r->route->scope || peer_is_trusted(r))
		return true;
	if (!srv->tokens)
		return srv->opt.insecure || !peer_is_local(r) ||
			problem_set(&r->why, PROBLEM_FORBIDDEN,
				"over the Unix socket this user, and whoever comes through a proxy, needs a token "
				"(--tokens)");
	int scopes = tokens_check(srv->tokens, request_header(r, "Authorization"), r->owner);
	r->admin = scopes & SCOPE_ADMIN;
	if (!scopes)
		return problem_set(
			&r->why, PROBLEM_UNAUTHORIZED, "send a token as Authorization: Bearer TOKEN");
	if (!(scopes & r->route->scope))
		return problem_set(
			&r->why, PROBLEM_FORBIDDEN, "the token '%s' lacks the scope for this", r->owner);
	return true;
}

static bool word_in_list(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = list; n && *p; p += strcspn(p, ","), p += *p == ',')
		if (!strncmp(p, word, n) && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

static enum MHD_Result check_parameter(
	void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
	request *r = cls;
	(void)kind;
	(void)value;
	if (!word_in_list(r->route->query, key))
		problem_set(&r->why, PROBLEM_BAD_REQUEST,
			"unknown query parameter '%.100s', expected one of: %s", key,
			r->route->query[0] ? r->route->query : "none");
	return MHD_YES;
}

static bool media_type_is(const char *header, const char *type)
{
	size_t n = strlen(type);
	return header && !strncasecmp(header, type, n) &&
		(!header[n] || header[n] == ';' || header[n] == ' ');
}

static bool check_module_body(request *r, const char *type, int64_t length)
{
	const char *coding = request_header(r, "Content-Encoding");
	bool stored = r->route->body == BODY_MODULE, json = r->route->body == BODY_LARGE_JSON;
	int64_t limit = stored ? r->srv->opt.upload_limit : MAX_TOOL_BYTES;
	upload_coding how = CODING_ANY;
	if (json && !media_type_is(type, "application/json"))
		return problem_set(&r->why, PROBLEM_MEDIA_TYPE, "expected Content-Type: application/json");
	if (!json &&
		(media_type_is(type, "multipart/form-data") || media_type_is(type, "application/json")))
		return problem_set(
			&r->why, PROBLEM_MEDIA_TYPE, "send the module itself as the body, not %.60s", type);
	if (coding && (!strcasecmp(coding, "gzip") || !strcasecmp(coding, "x-gzip")))
		how = CODING_GZIP;
	else if (coding && !strcasecmp(coding, "zstd"))
		how = CODING_ZSTD;
	else if (coding && strcasecmp(coding, "identity"))
		return problem_set(&r->why, PROBLEM_MEDIA_TYPE,
			"Content-Encoding is '%.60s', expected gzip, zstd or none", coding);
	if (length > limit)
		return problem_set(&r->why, PROBLEM_TOO_LARGE, "the body has %lld bytes, the limit is %lld",
			(long long)length, (long long)limit);
	r->up = upload_new(stored ? store_objects(r->srv->store) : NULL, &r->srv->memory, how, limit,
		stored ? r->srv->opt.module_limit : MAX_TOOL_BYTES, &r->why);
	return r->up != NULL;
}

static bool check_body(request *r, const char *method)
{
	const char *length_text = request_header(r, "Content-Length"),
			   *type = request_header(r, "Content-Type");
	int64_t length = 0;
	if (length_text && !str_to_i64(str_of(length_text), &length))
		length = INT64_MAX;
	if (strcmp(method, "POST"))
		return !length && !request_header(r, "Transfer-Encoding")
			? true
			: problem_set(&r->why, PROBLEM_BAD_REQUEST, "%.16s takes no body", method);
	switch (r->route->body) {
	case BODY_MODULE:
	case BODY_TEXT:
	case BODY_LARGE_JSON: return check_module_body(r, type, length);
	case BODY_JSON:
		if (!media_type_is(type, "application/json"))
			return problem_set(
				&r->why, PROBLEM_MEDIA_TYPE, "expected Content-Type: application/json");
		if (request_header(r, "Content-Encoding") &&
			strcasecmp(request_header(r, "Content-Encoding"), "identity"))
			return problem_set(&r->why, PROBLEM_MEDIA_TYPE, "a JSON body is not compressed");
		if (length > MAX_JSON_BYTES)
			return problem_set(&r->why, PROBLEM_TOO_LARGE,
				"the body has %lld bytes, the limit is %d", (long long)length, MAX_JSON_BYTES);
		return true;
	case BODY_NONE: break;
	}
	return length <= MAX_IGNORED_BYTES ||
		problem_set(&r->why, PROBLEM_TOO_LARGE, "no body is expected here");
}

/* Looked at again once the body is there: its chunks pass the gate later than the head. */
bool head_passed(request *r)
{
	if (!r->gate)
		return problem_set(
			&r->why, PROBLEM_INTERNAL, "this connection did not pass the request gate");
	const char *reason = gate_refusal(r->gate, r->number);
	return !reason || problem_set(&r->why, PROBLEM_BAD_REQUEST, "%s", reason);
}

/* RFC 9112, 3.2.2: a target may name scheme and host as well, as proxies are asked. Both hosts have
 * to be ours. *url becomes its path. */
static bool check_target(request *r, const char **url)
{
	enum { MOST_BYTES = 300 };
	size_t scheme = !strncasecmp(*url, "http://", 7) ? 7
		: !strncasecmp(*url, "https://", 8)          ? 8
													 : 0;
	if (!scheme)
		return true;
	const char *host = *url + scheme;
	size_t n = strcspn(host, "/");
	char authority[MOST_BYTES];
	snprintf(authority, sizeof authority, "%.*s", (int)MIN(n, MOST_BYTES - 1), host);
	*url = host[n] ? host + n : "/";
	return check_host(r, authority);
}

/* Everything that can be refused before the body arrives. */
bool head_check(request *r, const char *url, const char *method, const char *version)
{
	if (!head_passed(r) || !check_head(r, version) || !check_target(r, &url)) {
		metric_add(r->srv, rejected_heads, 1);
		r->ambiguous = true;
		return false;
	}
	const char *as = strcmp(method, "HEAD") ? method : "GET";
	r->route = route_find(as, url, r->id, r->allow);
	if (!r->route)
		return r->allow[0] ? problem_set(&r->why, PROBLEM_METHOD, "%.200s takes %s", url, r->allow)
						   : problem_set(&r->why, PROBLEM_NOT_FOUND, "nothing is at %.200s", url);
	if (!check_origin(r, method) || !check_token(r))
		return false;
	MHD_get_connection_values(r->conn, MHD_GET_ARGUMENT_KIND, check_parameter, r);
	if (r->why.kind)
		return false;
	if (atomic_load(&r->srv->stopping))
		return problem_set(&r->why, PROBLEM_UNAVAILABLE, "the daemon is stopping");
	return check_body(r, method);
}
