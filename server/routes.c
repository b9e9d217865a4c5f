#include "server/http.h"

#define LIST_QUERY "module,mesh,device,page_size,page_token"

static const route routes[] = {
	{"POST", "/v1/modules", handle_module_post, BODY_MODULE, SCOPE_SUBMIT, ""},
	{"GET", "/v1/modules", handle_module_list, BODY_NONE, SCOPE_READ,
		"module,label,page_size,page_token"},
	{"POST", "/v1/modules/{id}/labels", handle_module_labels, BODY_JSON, SCOPE_SUBMIT, ""},
	{"GET", "/v1/modules/{id}", handle_module_get, BODY_NONE, SCOPE_READ, ""},
	{"GET", "/v1/modules/{id}/arguments", handle_module_arguments, BODY_NONE, SCOPE_READ, ""},
	{"POST", "/v1/searches", handle_search_post, BODY_JSON, SCOPE_SUBMIT, ""},
	{"GET", "/v1/searches", handle_search_list, BODY_NONE, SCOPE_READ,
		"state,verification,tag,owner,label," LIST_QUERY},
	{"GET", "/v1/searches/{id}", handle_search_get, BODY_NONE, SCOPE_READ, "wait,until"},
	{"GET", "/v1/searches/{id}/events", handle_search_events, BODY_NONE, SCOPE_READ,
		"last_event_id,until"},
	{"POST", "/v1/searches/{id}/cancel", handle_search_cancel, BODY_NONE, SCOPE_SUBMIT, ""},
	{"GET", "/v1/strategies", handle_strategy_list, BODY_NONE, SCOPE_READ, "tag,label," LIST_QUERY},
	{"GET", "/v1/strategies/{id}", handle_strategy_get, BODY_NONE, SCOPE_READ, "apply"},
	{"GET", "/v1/strategies/{id}/explanation", handle_strategy_explanation, BODY_NONE, SCOPE_READ,
		""},
	{"GET", "/v1/strategies/{id}/shardings", handle_strategy_shardings, BODY_NONE, SCOPE_READ,
		"to"},
	{"GET", "/v1/strategies/{id}/outline", handle_strategy_outline, BODY_NONE, SCOPE_READ, ""},
	{"GET", "/v1/strategies/{id}/timeline", handle_strategy_timeline, BODY_NONE, SCOPE_READ, ""},
	{"GET", "/v1/strategies/{id}/verifications", handle_strategy_verifications, BODY_NONE,
		SCOPE_READ, ""},
	{"GET", "/v1/strategies/{id}/measurements", handle_measurement_list, BODY_NONE, SCOPE_READ, ""},
	{"POST", "/v1/strategies/{id}/measurements", handle_measurement_post, BODY_JSON, SCOPE_SUBMIT,
		""},
	{"GET", "/v1/searches/{id}/verifications", handle_search_verifications, BODY_NONE, SCOPE_READ,
		""},
	{"POST", "/v1/verifications/claim", handle_verification_claim, BODY_JSON, SCOPE_ADMIN, ""},
	{"POST", "/v1/verifications/{id}/heartbeat", handle_verification_heartbeat, BODY_JSON,
		SCOPE_ADMIN, ""},
	{"POST", "/v1/verifications/{id}/result", handle_verification_result, BODY_LARGE_JSON,
		SCOPE_ADMIN, ""},
	{"GET", "/v1/layout", handle_layout, BODY_NONE, SCOPE_READ, "mesh,shape,sharding"},
	{"POST", "/v1/simulate", handle_simulate, BODY_TEXT, SCOPE_SUBMIT, "device,ops,trip_count"},
	{"POST", "/v1/opt", handle_opt, BODY_TEXT, SCOPE_SUBMIT, "passes"},
	{"GET", "/v1/devices", handle_devices, BODY_NONE, SCOPE_READ, ""},
	{"GET", "/v1/version", handle_version, BODY_NONE, SCOPE_READ, ""},
	{"GET", "/healthz", handle_healthz, BODY_NONE, 0, ""},
	{"GET", "/readyz", handle_readyz, BODY_NONE, 0, ""},
	{"GET", "/metrics", handle_metrics, BODY_NONE, SCOPE_READ, ""},
	{"GET", "/openapi.json", handle_openapi, BODY_NONE, 0, ""},
	{"GET", "/", handle_page, BODY_NONE, 0, ""},
	{"GET", "/worker.js", handle_page_worker, BODY_NONE, 0, ""},
};

_Static_assert(COUNT_OF(routes) <= MOST_ROUTES, "a histogram for each route");
uint32_t route_index(const route *r) { return (uint32_t)(r - routes); }
const route *route_at(uint32_t i) { return i < COUNT_OF(routes) ? &routes[i] : NULL; }

/* id receives what stands at {id}; a segment is never empty. */
static bool path_matches(const char *pattern, const char *path, char id[256])
{
	id[0] = 0;
	while (*pattern) {
		if (*pattern == '{') {
			size_t n = strcspn(path, "/");
			if (n == 0 || n >= 256)
				return false;
			memcpy(id, path, n);
			id[n] = 0;
			path += n;
			pattern = strchr(pattern, '}') + 1;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return !*path;
}

const route *route_find(const char *method, const char *path, char id[256], char allow[64])
{
	size_t n = 0;
	allow[0] = 0;
	for (size_t i = 0; i < COUNT_OF(routes); i++) {
		if (!path_matches(routes[i].pattern, path, id))
			continue;
		if (!strcmp(routes[i].method, method))
			return &routes[i];
		n += (size_t)snprintf(allow + n, 64 - n, "%s%s", n ? ", " : "",
			strcmp(routes[i].method, "GET") ? routes[i].method : "GET, HEAD");
	}
	id[0] = 0;
	return NULL;
}
