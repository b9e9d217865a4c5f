/* What compilers and machines said of strategies, and what new searches begin with. */
#ifndef SW_SERVER_EVIDENCE_H
#define SW_SERVER_EVIDENCE_H

#include "server/searches.h"

/* ---------------------------------------------------------------- store_verify.c: what compilers
 * say of a search's plans
 *
 *   queued -> running -> done | failed
 *      ^---------'   the lease ran out: the verifier died
 *
 * A job is of a search, and is taken once that has succeeded. A result is taken once, WHERE attempt
 * = ? AND state = 'running'. */

enum {
	MOST_ALTERNATIVES = 16 /* as of `search --alternatives` */,
	MOST_PLANS = 64,
	MOST_VERIFICATIONS = 256
};
/* Asks for `plans` programs of a search; no less than what was asked before. Writer thread. */
bool verification_ask(db *c, const char *search, int64_t plans);
/* Whether that many were asked for already, and have not failed. */
found verification_asked(db *c, const char *search, int64_t plans);
/* The job of a search with its rows, or else with the chosen one. */
found verification_json(db *c, const char *search, bool with_rows, strbuf *out);
/* Whether nothing is to be waited for: it has ended, or there is none. FOUND, or FOUND_FAILED. */
found verification_over(db *c, const char *search, bool *over);
/* {"verifications": [..]} of all searches that planned or chose a strategy. */
bool verifications_of_strategy(db *c, const char *strategy, strbuf *out);

typedef struct verification_claim {
	write_op op;
	const char *verifier; /* or NULL */
	const char *devices;  /* JSON array of profile names; NULL: any */
	int64_t lease_us;
	/* out */
	bool found;
	char search[SEARCH_ID_BYTES];
	int64_t attempt;
	strbuf json;
} verification_claim;
status verification_claim_run(db *c, write_op *op);

typedef struct verification_beat {
	write_op op;
	char search[SEARCH_ID_BYTES];
	int64_t attempt, lease_us;
	bool held; /* out */
} verification_beat;
status verification_beat_run(db *c, write_op *op);

typedef struct verification_row { /* -1: not known */
	const char *plan, *apply, *source, *compiler, *version, *options, *reason;
	int64_t runtime_ns, peak_bytes, predicted_runtime_ns, predicted_peak_bytes;
	double seconds;
	bool fits, chosen;
} verification_row;

typedef struct verification_result {
	write_op op;
	char search[SEARCH_ID_BYTES];
	int64_t attempt;
	const verification_row *rows;
	uint32_t row_count;
	const char *document; /* of the chosen row, where it is not the planned strategy; else NULL */
	const char *error;    /* no rows could be made, because of this; else NULL */
	/* out */
	bool found, held,
		repeated;            /* held: taken now; repeated: the same attempt has answered before */
	bool refused;            /* the document is not of this program and mesh */
	char strategy[ID_BYTES]; /* the answer of the search from now on; "": as before */
} verification_result;
status verification_result_run(db *c, write_op *op);

/* ---------------------------------------------------------------- store_measure.c: what strategies
 * took on real machines */

enum { MOST_MEASUREMENTS = 1000 }; /* of one strategy */
typedef struct measured_step {     /* texts NULL, numbers -1: not told */
	int64_t step_ns, peak_bytes, steps, measured_us;
	const char *device; /* NULL: that of the strategy */
	const char *hardware, *jax, *jaxlib, *compiler, *source;
	char *options; /* JSON */
} measured_step;
/* The body of a POST; texts live as long as o, the rest until measurement_release. False with why
 * filled. */
bool measurement_parse(measured_step *m, const cJSON *o, problem *why);
void measurement_release(measured_step *m);

typedef struct measurement_add {
	write_op op;
	measured_step what;
	char strategy[ID_BYTES], owner[64];
	repeat_key repeat;
	/* out */
	char id[SEARCH_ID_BYTES]; /* "m-" and 32 hex digits */
	bool found, full;         /* the strategy is there; it has as many as it may */
	bool repeated, reused;    /* its key is known: for this request, for another one */
	strbuf json;              /* the measurement */
} measurement_add;
status measurement_add_run(db *c, write_op *op);
/* {"measurements": n, "step_ns", "peak_bytes"} as answers compare them, or null with FOUND_NONE. */
found measured_json(db *c, const char *strategy, strbuf *out);
/* {"measurements": [..], "measured": as measured_json}, the oldest first. */
bool measurements_of_strategy(db *c, const char *strategy, strbuf *out);

/* ---------------------------------------------------------------- store_starts.c: what a search
 * may begin with */

enum { MOST_STORE_STARTS = 4 };
typedef struct start_found {
	char id[ID_BYTES]; /* of a strategy */
	strbuf document;
} start_found;
typedef struct starts { /* starts_release, also after a failure */
	uint32_t n;
	start_found list[MOST_STORE_STARTS];
} starts;
typedef struct start_query {
	const char *structure, *module, *mesh, *device; /* structure "": unknown, which finds nothing;
	                                                   module: id, where the store has it */
} start_query;
/* The structure of a module of the store, "" where it is not known. False: it could not be read. */
bool starts_structure(db *c, const char *module, char out[ID_BYTES]);
/* Strategies of modules of the structure, the likeliest to be of use first. False: they could not
 * be read. */
bool starts_find(db *c, const start_query *q, starts *out);
/* Statistics of tactics (search_options.tactic_statistics): what axes cut in the best strategies of
 * modules of the structure on meshes of so many axes, of all modules where there are none. False:
 * they could not be read. */
bool starts_statistics(db *c, const start_query *q, uint32_t n_axes, strbuf *out);
void starts_release(starts *s);

#endif
