/* What is in the store: modules, searches and their answers, names, lists; who is next and what
 * goes. */
#ifndef SW_SERVER_SEARCHES_H
#define SW_SERVER_SEARCHES_H

#include "server/spec.h"
#include "server/store.h"

/* ---------------------------------------------------------------- store_search.c: the life of a
 * search
 *
 *   queued -> running -> succeeded | failed | canceled
 *      ^---------'   worker crash, daemon restart, expired lease
 *
 * attempt counts starts and fences results: a result is taken once, WHERE id = ? AND attempt = ?
 * AND state = 'running'. failures counts crashes only; a restart of the daemon costs nothing, and
 * neither does a start that failed for want of descriptors, processes or memory: that claim is
 * taken back. */

typedef struct module_row {
	char id[ID_BYTES], fingerprint[ID_BYTES], shardings[ID_BYTES],
		structure[ID_BYTES]; /* structure: "": not known */
	char name[256];
	int64_t ops, arguments, text_bytes, uploaded_us;
} module_row;
found module_find(db *c, const char *id, module_row *out);
/* With its labels; false: they could not be read. */
bool module_json(db *c, const module_row *m, strbuf *out);
status module_insert(db *c, const module_row *m, int64_t stored_bytes);

/* modules.c: lets a worker read the module in `path`: fills all of row but id and text_bytes. stop
 * (may be NULL): polled, ends it. False with why filled. */
bool module_check(
	struct server *srv, const char *path, const atomic_bool *stop, module_row *row, problem *why);
enum {
	DOCUMENT_WHOLE = 256 << 10
}; /* up to here a document is handled in one piece, beyond it in pieces of this size */
typedef struct document_ref { /* a strategy document in the database; number 0: none */
	int64_t number, bytes;
	char id[ID_BYTES];
} document_ref;
/* A document of at most DOCUMENT_WHOLE bytes is appended to whole; a larger one is for
 * document_read. */
found document_find(db *c, const char *id, document_ref *out, strbuf *whole);
/* Bytes [at, at + n) of it; false on failure. */
bool document_read(db *c, const document_ref *d, int64_t at, void *to, int64_t n);

/* ---------------------------------------------------------------- store_names.c */

enum {
	GIVEN_NAME_BYTES = 100,
	MOST_NAMES = 16
}; /* of one label or tag; labels or tags of one request */
/* A label or tag. False with why filled (at pointer). */
bool name_check(const char *text, const char *pointer, problem *why);
/* Labels of a module as a JSON array. */
found labels_json(db *c, const char *module, strbuf *out);
/* Changes nothing when the module has it already, has as many as it may, or is not there. */
bool label_add(db *c, const char *module, const char *label, const char *owner);

typedef struct labels_change {
	write_op op;
	char module[ID_BYTES], owner[64];
	bool any; /* also labels of other owners */
	const char *const *add, *const *remove;
	uint32_t add_count, remove_count;
	bool forbidden; /* out: one of them is somebody else's; nothing was changed */
} labels_change;
status labels_change_run(db *c, write_op *op);

bool tags_add(db *c, const char *search, const search_spec *spec, bool *out_changed);

typedef struct repeat_key { /* of a request that may be sent twice; key "": it is none */
	char owner[64], key[256], digest[ID_BYTES];
} repeat_key;
/* What a request with this key led to, for a day; *out_same: it was this request. */
found repeat_find(db *c, const repeat_key *r, char *resource, size_t resource_size, bool *out_same);
bool repeat_keep(db *c, const repeat_key *r, const char *resource);

typedef struct module_about { /* what an upload says beside the text */
	write_op op;
	char module[ID_BYTES], owner[64];
	const char *label; /* or NULL */
	bool seen;         /* it was there: its last upload is now */
	repeat_key repeat;
	bool reused; /* out: the key was another request's; nothing was changed */
} module_about;
/* Only looks for the key. */
status module_about_check(db *c, module_about *a);
status module_about_run(db *c, write_op *op);
/* modules.c. Checks the text of an upload that has ended, publishes its file and commits its row,
 * with what the request says of it in the same transaction (about may be NULL). ST_ERR_INVALID with
 * why filled when the text is refused or the file cannot be written, another status when the row
 * cannot. Acknowledged once ST_OK. */
status module_add(struct server *srv, const upload *up, module_about *about,
	const atomic_bool *stop, module_row *row, problem *why) MUST_USE;

/* ---------------------------------------------------------------- store_queue.c */

typedef struct share {
	char owner[64];
	int64_t weight;
} share;
typedef VEC(share) shares;
/* "training=3,research=1"; an owner that is not in it has weight 1. */
status shares_parse(shares *out, const char *text, diag *d) MUST_USE;
typedef struct fair_rules { /* immutable while the supervisor runs */
	const shares *shares;
	int64_t most_running; /* searches of one owner at a time, 0: any number */
} fair_rules;
/* The place of a search among those of its owner and priority. */
int64_t search_rank_us(const search_spec *s, int64_t now_us);

typedef struct search_create {
	write_op op;
	const search_spec *spec;
	char key[ID_BYTES];
	char fingerprint[ID_BYTES];
	char owner[64];
	bool fresh;    /* neither a stored answer nor a search in flight will do */
	bool own_seed; /* only those of this seed will, see search_cached */
	int64_t queue_limit,
		owner_limit; /* searches that may wait, in all and of one owner; 0: any number */
	int max_failures;
	repeat_key repeat;
	/* out */
	char id[SEARCH_ID_BYTES];
	bool existing, cached, queue_full, owner_full;
	bool repeated, reused; /* its key is known: for this request, for another one */
	strbuf json;
	document_ref document;
	bool changed; /* names that answers show */
} search_create;
status search_create_run(db *c, write_op *op);

/* The search that answered this key with at least this budget; "" in id when there is none.
 * own_seed: with this budget and this seed, and begun with nothing, so that it says what that seed
 * finds. */
found search_cached(
	db *c, const char *key, const search_spec *p, bool own_seed, char id[SEARCH_ID_BYTES]);
/* The resource as JSON, with its verification. rev and final (may be NULL) tell its version and
 * whether it has ended. */
found search_json(db *c, const char *id, strbuf *out, int64_t *rev, bool *final);
/* The same with the strategy document of a search that has one, which *document names. One of more
 * than DOCUMENT_WHOLE bytes is not copied: out then ends behind the key "document"; document and
 * closing brace are the caller's. */
found search_json_full(db *c, const char *id, strbuf *out, document_ref *document);

typedef struct search_claim {
	write_op op;
	int64_t lease_us;
	const fair_rules *rules; /* NULL: equal shares */
	bool found;
	char id[SEARCH_ID_BYTES];
	int64_t attempt;
	strbuf request;
	char module[ID_BYTES];
	int64_t waited_us; /* since it was asked for */
} search_claim;
status search_claim_run(db *c, write_op *op);

typedef struct search_event {
	write_op op;
	char id[SEARCH_ID_BYTES];
	int64_t attempt;
	const char *kind; /* "progress" or "incumbent" */
	int64_t evaluation, milliseconds;
	int64_t runtime_ns, peak_bytes; /* of an incumbent */
	bool fits;
	char *detail; /* of search_detail, for a progress event of its own; whoever frees the event
	                 frees it; NULL: none */
	void *cls;
} search_event;
status search_event_run(db *c, write_op *op);
/* What an event of a worker says of baselines and search tree, as fields of an object; the caller's
 * to free. NULL: nothing, or nothing that can be trusted. */
char *search_detail(const cJSON *event);

typedef enum search_outcome {
	OUTCOME_SUCCEEDED,
	OUTCOME_CANCELED,
	OUTCOME_FAILED,
	OUTCOME_CRASHED,
	OUTCOME_RELEASED,
	OUTCOME_NOT_STARTED
} search_outcome;
typedef struct search_finish {
	write_op op;
	char id[SEARCH_ID_BYTES];
	int64_t attempt;
	search_outcome outcome;
	bool partial;
	const char *document; /* or NULL */
	size_t document_bytes;
	problem error; /* of FAILED and CRASHED */
	/* out */
	bool accepted, requeued;
	char strategy[ID_BYTES];
} search_finish;
status search_finish_run(db *c, write_op *op);

typedef struct search_cancel {
	write_op op;
	char id[SEARCH_ID_BYTES];
	bool any; /* also one that belongs to another owner */
	char owner[64];
	/* out */
	bool found, forbidden, was_running, changed;
	strbuf json;
} search_cancel;
status search_cancel_run(db *c, write_op *op);

typedef struct search_beat { /* extends leases of the live ones, requeues what expired */
	write_op op;
	int64_t lease_us;
	uint32_t count;
	char (*ids)[SEARCH_ID_BYTES];
} search_beat;
status search_beat_run(db *c, write_op *op);
/* At open: what a dead daemon left running goes back to the queue. */
status search_recover(db *c, int64_t *out_count);

/* ---------------------------------------------------------------- store_list.c */

typedef struct list_filter {
	const char *module, *mesh, *device, *state, *label, *tag, *owner,
		*verification;         /* NULL: any; verification "any": where one was asked for */
	int64_t page_size, before; /* before: position from a page token, INT64_MAX: from the start */
	char before_id[ID_BYTES];  /* of modules, which have a time and an id as position */
} list_filter;
enum { LIST_BYTES = 1 << 20 };
/* A page ends early where it has LIST_BYTES. False: a read failed. */
bool list_searches(db *c, const list_filter *f, strbuf *out);
bool list_strategies(db *c, const list_filter *f, strbuf *out);
bool list_modules(db *c, const list_filter *f, strbuf *out);
/* What a strategy was found for: the module's id, the profile's name, and the profile itself where
 * the request described one, else NULL (JSON, owned by the caller). */
found strategy_origin(db *c, const char *id, char module[ID_BYTES], char device[256],
	char **profile, int64_t *trip_count);
/* Events after `after` as an event stream; sets *last and, when the final one of the search itself
 * is among them, *final. Those of its verification may come behind it. False: a read failed. */
bool events_stream(db *c, const char *id, int64_t after, strbuf *out, int64_t *last, bool *final);

/* ---------------------------------------------------------------- store_retention.c */

typedef struct retention {
	write_op op;
	int64_t before_us;  /* what was last used before then goes; 0: nothing by age */
	int64_t most_bytes; /* of the store; 0: nothing by size */
	int64_t strategies, searches, modules; /* out: what went; adds up over runs */
	bool more;                             /* out: run it again */
} retention;
status retention_run(db *c, write_op *op);
/* What the rows and the texts of modules take, -1 when it cannot be read. */
int64_t store_bytes(db *c);
/* Removes files of the store that no row names any more. */
void store_sweep(objects *o, db *c);
/* retain.c: in the daemon, every hour, as --keep-days and --keep-size say. Called often, from one
 * thread. */
void retain_if_due(struct server *srv);

/* ---------------------------------------------------------------- hits.c */

typedef struct hits hits; /* thread-safe */
hits *hits_new(store *s);
void hits_free(hits *h);
void hits_add(hits *h, const char *strategy);
/* Writes down what has come together, when it is time or `now`. */
void hits_flush(hits *h, bool now);

#endif
