/* The inside of a store, for store.c and store_write.c. */
#ifndef SW_STORE_PRIVATE_H
#define SW_STORE_PRIVATE_H

#include "server/server.h"

enum { STORE_VERSION = 3 };

struct store {
	char *dir, path[512];
	int lock_fd;
	const char *vfs;       /* NULL: SQLite's own; "unix-excl" where its file of shared memory could not be made */
	bool recovered;        /* of the writer: what a dead daemon left running is back in the queue */
	_Atomic int64_t lost;
	objects objects;
	metrics *metrics;
	pthread_key_t reader_key;
	db writer; /* of the writer thread alone, once it runs */
	pthread_t thread;
	atomic_bool writable;
	pthread_mutex_t mutex; /* of the fields below; a leaf */
	pthread_cond_t wake;
	write_op *head, **tail;
	bool stop;
};

void db_close(db *c);
/* The row of SEARCH_GET or LIST_SEARCHES as JSON. */
void search_row_json(sqlite3_stmt *s, strbuf *out);
/* Takes what a dead daemon left running back to the queue, once; false: not possible yet. */
bool store_recover(store *s);
/* A write that changes nothing. */
bool writer_probe(db *c);
bool writer_start(store *s);
void writer_stop(store *s);

#endif
