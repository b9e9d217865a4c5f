/* The inside of a store, for store.c and store_write.c. */
#ifndef SW_STORE_PRIVATE_H
#define SW_STORE_PRIVATE_H

#include "server/server.h"

enum { STORE_VERSION = 1 };

struct store {
	char *dir, path[512];
	int lock_fd;
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
bool writer_start(store *s);
void writer_stop(store *s);

#endif
