/* The JSON body of a request. */
#include "server/http.h"

enum { PARSED_BYTES = 24 }; /* of memory for a byte of text */

cJSON *request_json(request *r, const strbuf *text, size_t limit, problem *why)
{
	diag d = {0};
	if (!request_hold(r, (int64_t)text->n * PARSED_BYTES, why))
		return NULL;
	cJSON *root = json_parse(text->p ? text->p : "", text->n, limit, &d);
	if (!root)
		problem_from_diag(why, PROBLEM_BAD_JSON, &d);
	return root;
}
