/* What a search request asks. */
#ifndef SW_SERVER_SPEC_H
#define SW_SERVER_SPEC_H

#include "server/json.h"

/* ---------------------------------------------------------------- spec.c: what a search request
 * asks */

typedef struct text_list {
	const char **v;
	uint32_t n;
} text_list;

typedef struct search_spec {
	char module[ID_BYTES];
	const char *mesh_text; /* "data=4,model=4" */
	const char
		*mesh_json;     /* canonical {"axes":[..]}, when links or an order are given; else NULL */
	const char *device; /* name of a profile, or "custom" */
	const char *device_json;
	int64_t memory_bytes;  /* 0: the profile's */
	const char *objective; /* "runtime" | "memory" */
	const char *apply;     /* "exact" | "annotate"; NULL: auto */
	bool best_compiler_options;
	bool store_priors; /* the tree's priors are what won in the store; no part of the question */
	const char *schedule_json; /* or NULL */
#define LIST(id, flag, field, argument, help) text_list field;
#include "search/options.def"
	const char *budget;    /* "default", "evaluations", "seconds" */
	int64_t budget_amount; /* evaluations, or milliseconds */
	int64_t seed;          /* -1: none given */
	int64_t threads;       /* 0: the daemon's */
	bool open_results;
	bool cold;        /* begins with nothing from the store; no part of the question */
	int64_t priority; /* among the owner's searches, higher first */
	const char **tags;
	uint32_t tag_count;
	int64_t alternatives;    /* plans besides the answer */
	int64_t trip_count;      /* of loops that do not say theirs; 0: none given */
	int64_t uncertainty_ppm; /* of costs; -1: the search's default */
	int64_t verify;          /* programs that a verifier is to compile; 0: none */
	const char *json;        /* the request, canonical, as stored and as read back by spec_parse */
	arena mem;
} search_spec;

/* Checks a request body against every rule that needs no module: fields, types, ranges, mesh,
 * globs. devices: names the worker knows (NULL: not checked). */
bool spec_parse(search_spec *s, const char *p, size_t n, const char *const *devices,
	uint32_t device_count, problem *why);
void spec_release(search_spec *s);
/* The cache key: hex sha256 over module fingerprint, its shardings, mesh, device, memory,
 * objective, schedule, pins, groups and the cost-model version. Globs match argument names, which a
 * fingerprint does not cover, so the module's id joins in when the request has any. The budget is
 * not in it: an answer serves every request with the same kind of budget and no larger. */
void spec_key(const search_spec *s, const char *fingerprint, const char *shardings,
	const char *cost_model, char out[ID_BYTES]);
/* Whether o is an object with no other fields; base: its JSON pointer. known: names separated by
 * spaces, with a space at both ends. */
bool check_fields(const cJSON *o, const char *base, const char *known, problem *why);
/* "data=4,model=4" in canonical form; false when it is not a mesh. */
bool mesh_text_check(const char *text, strbuf *canonical, problem *why);

#endif
