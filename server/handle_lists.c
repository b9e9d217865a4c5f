/* Lists of searches, strategies and modules, page by page. */
#include "server/server.h"

enum { MOST_PAGE = 1000, DEFAULT_PAGE = 100 };

bool request_page_size(request *r, int64_t *out)
{
	const char *size = request_query(r, "page_size");
	*out = DEFAULT_PAGE;
	if (!size || (str_to_i64(str_of(size), out) && *out >= 1 && *out <= MOST_PAGE))
		return true;
	reply_failure(
		r, PROBLEM_BAD_REQUEST, "page_size is '%.60s', expected 1 to %d", size, MOST_PAGE);
	return false;
}

static bool read_page(request *r, list_filter *f)
{
	const char *token = request_query(r, "page_token");
	f->before = INT64_MAX;
	if (!request_page_size(r, &f->page_size))
		return false;
	if (token && !str_to_i64(str_of(token), &f->before)) {
		reply_failure(r, PROBLEM_BAD_REQUEST, "page_token is not one that a list has answered");
		return false;
	}
	return true;
}

static void reply_list(request *r, bool (*list)(db *c, const list_filter *f, strbuf *out))
{
	list_filter f = {.module = request_query(r, "module"),
		.device = request_query(r, "device"),
		.state = request_query(r, "state"),
		.label = request_query(r, "label"),
		.tag = request_query(r, "tag"),
		.owner = request_query(r, "owner"),
		.verification = request_query(r, "verification")};
	const char *mesh = request_query(r, "mesh");
	problem why = {0};
	strbuf canonical, b;
	strbuf_init(&canonical);
	strbuf_init(&b);
	db *c = store_reader(r->srv->store);
	if (mesh && !mesh_text_check(mesh, &canonical, &why)) {
		reply_problem(r, &why);
	} else if (!c) {
		reply_read_failure(r);
	} else if (read_page(r, &f)) {
		f.mesh = mesh ? canonical.p : NULL;
		if (list(c, &f, &b))
			reply_json(r, 200, &b);
		else
			reply_read_failure(r);
	}
	strbuf_release(&canonical);
	strbuf_release(&b);
}

/* Of a list's query; a reply has been made where it is none of these words. */
static bool query_is_of(
	request *r, const char *name, const char *const *words, size_t n, const char *expected)
{
	const char *text = request_query(r, name);
	for (size_t i = 0; text && i < n; i++)
		if (!strcmp(words[i], text))
			return true;
	if (text)
		reply_failure(r, PROBLEM_BAD_REQUEST, "%s is '%.60s', expected %s", name, text, expected);
	return !text;
}

void handle_search_list(request *r)
{
	static const char *const states[] = {"queued", "running", "succeeded", "failed", "canceled"};
	static const char *const verifications[] = {
		"any", "queued", "running", "done", "failed", "canceled"};
	if (query_is_of(r, "state", states, COUNT_OF(states),
			"queued, running, succeeded, failed or canceled") &&
		query_is_of(r, "verification", verifications, COUNT_OF(verifications),
			"any, queued, running, done, failed or canceled"))
		reply_list(r, list_searches);
}

void handle_strategy_list(request *r) { reply_list(r, list_strategies); }
