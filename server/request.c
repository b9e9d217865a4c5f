/* What handlers ask of a request, and how one waits for another thread. */
#include "server/server.h"

const char *request_header(request *r, const char *name)
{
	return MHD_lookup_connection_value(r->conn, MHD_HEADER_KIND, name);
}
const char *request_query(request *r, const char *name)
{
	return MHD_lookup_connection_value(r->conn, MHD_GET_ARGUMENT_KIND, name);
}

bool request_hold(request *r, int64_t bytes, problem *why)
{
	if (!memory_take(&r->srv->memory, bytes))
		return memory_refused(why);
	r->held += bytes;
	return true;
}

bool request_search_id(request *r, char id[SEARCH_ID_BYTES])
{
	size_t n = strlen(r->id);
	if (n != SEARCH_ID_BYTES - 1) {
		reply_failure(r, PROBLEM_NOT_FOUND, "there is no search '%.100s'", r->id);
		return false;
	}
	memcpy(id, r->id, SEARCH_ID_BYTES);
	return true;
}

bool request_repeat_key(request *r, repeat_key *out, problem *why)
{
	const char *key = request_header(r, "Idempotency-Key");
	snprintf(out->owner, sizeof out->owner, "%s", r->owner);
	for (const char *c = key; c && *c; c++)
		if (*c < 0x21 || *c > 0x7e)
			return problem_set(why, PROBLEM_BAD_REQUEST,
				"Idempotency-Key: expected 1 to %zu visible characters of ASCII",
				sizeof out->key - 1);
	if (key && (!*key || strlen(key) >= sizeof out->key))
		return problem_set(why, PROBLEM_BAD_REQUEST,
			"Idempotency-Key: expected 1 to %zu visible characters of ASCII", sizeof out->key - 1);
	snprintf(out->key, sizeof out->key, "%s", key ? key : "");
	return true;
}

void request_park(request *r)
{
	r->parked = true;
	MHD_suspend_connection(r->conn);
}

void request_resume(request *r) { MHD_resume_connection(r->conn); }

bool request_watch(
	request *r, const char *id, uint64_t generation, int64_t deadline_ns, void (*again)(request *r))
{
	r->again = again;
	r->parked = watch_park(r->srv->hub, &r->watch, id, generation, r->conn, deadline_ns);
	return r->parked;
}

void request_let_go(request *r)
{
	upload_free(r->up);
	r->up = NULL;
	strbuf_release(&r->body);
	memory_give(&r->srv->memory, r->held);
	r->held = 0;
}
