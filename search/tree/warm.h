/* Plans of other searches as beginnings of this one. */
#ifndef SW_SEARCH_WARM_H
#define SW_SEARCH_WARM_H

#include "search/evaluate/evaluate.h"

struct cJSON;
/* The decisions of a plan in terms that other programs of its structure have, too: tactics of whole
 * roles, arguments by name without numbers, role and rank, inner dims by the op that they begin at;
 * axes by name. A JSON array, owned by the caller (cJSON_free). */
char *warm_tell(const problem *pb, const plan *pl);
/* The plans that the decisions of a document may mean here: one for each way to lay its axes onto
 * this mesh, the likeliest first. What has no counterpart is left out. allowed: by argument, as of
 * has it; NULL: all. Memory of targets from mem. Returns how many; none where the document tells no
 * decisions. */
uint32_t warm_plans(const problem *pb, const scope *of, const bool *allowed, arena *mem,
	const struct cJSON *document, plan out[MOST_WARM_PLANS]);

#endif
