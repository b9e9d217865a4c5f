#include "server/server.h"

#include <stdlib.h>

static struct MHD_Response *document_response(strbuf *document, const char *id)
{
	char tag[ID_BYTES + 2];
	snprintf(tag, sizeof tag, "\"%s\"", id);
	return response_of_text(document,
		(const char *const[][2]){{"Content-Type", "application/json"},
			{"X-Content-Type-Options", "nosniff"}, {"Cache-Control", UNCHANGING},
			{"Vary", "Authorization"}, {"ETag", tag}, {NULL, NULL}});
}

static void tag_document(request *r, const char *id)
{
	char tag[ID_BYTES + 2];
	snprintf(tag, sizeof tag, "\"%s\"", id);
	reply_unchanging(r);
	reply_header(r, "ETag", tag);
}

static void reply_document(request *r, const char *id)
{
	server *srv = r->srv;
	const char *match = request_header(r, "If-None-Match");
	size_t n = strlen(id);
	bool same = match && strstr(match, id);
	if (!same && response_cache_queue(srv->responses, r, id, n))
		return;
	document_ref d;
	strbuf b = {0};
	db *c = store_reader(srv->store);
	uint64_t generation = response_cache_generation(srv->responses);
	if (!reply_unless_found(r, c ? document_find(c, id, &d, &b) : FOUND_FAILED,
			"there is no strategy '%.100s'", id)) {
		strbuf_release(&b);
		return;
	}
	if (same) {
		strbuf_clear(&b);
		reply_buffer(r, 304, "application/json", &b);
		tag_document(r, id);
	} else if (d.bytes > DOCUMENT_WHOLE) {
		reply_document_json(r, 200, &b, &d, "");
		tag_document(r, id);
	} else {
		int64_t bytes = (int64_t)b.n;
		struct MHD_Response *response = document_response(&b, id);
		request_answer(r, 200, response);
		if (response && !response_cache_put(srv->responses, id, n, generation, id, response, bytes))
			MHD_destroy_response(response);
	}
}

void handle_strategy_get(request *r)
{
	char *dot = strrchr(r->id, '.');
	if (dot && !strcmp(dot, ".mlir")) {
		*dot = 0;
		reply_applied(r, r->id);
	} else {
		reply_document(r, r->id);
	}
}
