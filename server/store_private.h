/* The inside of a store, for store.c and store_write.c. */
#ifndef SW_STORE_PRIVATE_H
#define SW_STORE_PRIVATE_H

#include "server/store.h"

#include <pthread.h>

enum { STORE_VERSION = 9 };

struct store {
	char *dir, path[512];
	int lock_fd;
	const char *
		vfs; /* NULL: SQLite's own; "unix-excl" where its file of shared memory could not be made */
	bool recovered; /* of the writer: what a dead daemon left running is back in the queue */
	_Atomic int64_t lost;
	objects objects;
	metrics *metrics;
	pthread_key_t reader_key;
	db writer; /* of the writer thread alone, once it runs */
	pthread_t thread;
	atomic_bool writable;
	int64_t
		told_ns; /* of the writer thread: when the log was last told that nothing can be written */
	pthread_mutex_t mutex; /* of the fields below; a leaf */
	pthread_cond_t wake;
	write_op *head, **tail;
	bool stop;
};

static inline void copy(char *to, size_t n, const char *from) { snprintf(to, n, "%s", from); }

/* store_migrate.c */
status store_read_version(db *c, const char *path, int64_t *out_version, diag *d) MUST_USE;
/* One statement without rows. */
bool statement_finish(sqlite3_stmt *s);
/* store_search.c */
bool event_add(db *c, const char *id, const char *kind, const char *body);
/* store_search.c: the event that a search has come to a state; strategy may be NULL. */
bool event_state(db *c, const char *id, const char *state, const char *strategy);
/* store_search.c: `prefix`, a dash and 32 random hex digits. */
void id_random(char prefix, char id[SEARCH_ID_BYTES]);
/* store_queue.c: adds what a running search has taken until now to its owner's use. */
bool owner_charge(db *c, const char *id);
/* The row of SEARCH_GET or LIST_SEARCHES as JSON. */
void search_row_json(sqlite3_stmt *s, strbuf *out);
/* Behind the row of a search, in place of its closing brace. */
bool search_add_verification(db *c, const char *id, strbuf *out);
/* Takes what a dead daemon left running back to the queue, once; false: not possible yet. */
bool store_recover(store *s);
/* A write that changes nothing. */
bool writer_probe(db *c);
bool writer_start(store *s);
void writer_stop(store *s);

#endif
