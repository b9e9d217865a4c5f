/* Who waits for which search. A bucket's generation grows with every notification: whoever read it
 * before looking at the database can park without missing what happened in between. Spurious
 * wake-ups (another search of the bucket) are fine. */
#include "server/http.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 256 };

typedef struct bucket {
	pthread_mutex_t mutex;
	watcher *first;
	uint64_t generation;
} bucket;

struct watch_hub {
	bucket buckets[BUCKETS];
	atomic_bool stopped;
};

watch_hub *watch_new(void)
{
	watch_hub *h = xcalloc(1, sizeof *h);
	for (int i = 0; i < BUCKETS; i++)
		pthread_mutex_init(&h->buckets[i].mutex, NULL);
	return h;
}

void watch_free(watch_hub *h)
{
	for (int i = 0; i < BUCKETS; i++)
		pthread_mutex_destroy(&h->buckets[i].mutex);
	free(h);
}

static bucket *bucket_of(watch_hub *h, const char *id)
{
	return &h->buckets[hash_bytes(id, strlen(id), 0) % BUCKETS];
}

uint64_t watch_generation(watch_hub *h, const char *id)
{
	bucket *b = bucket_of(h, id);
	pthread_mutex_lock(&b->mutex);
	uint64_t g = b->generation;
	pthread_mutex_unlock(&b->mutex);
	return g;
}

bool watch_park(watch_hub *h, watcher *w, const char *id, uint64_t generation,
	struct MHD_Connection *conn, int64_t deadline_ns)
{
	bucket *b = bucket_of(h, id);
	pthread_mutex_lock(&b->mutex);
	bool park = b->generation == generation && !atomic_load(&h->stopped);
	if (park) {
		/* Suspended before it can be found: a resume never comes first. */
		MHD_suspend_connection(conn);
		w->conn = conn;
		w->deadline_ns = deadline_ns;
		snprintf(w->id, sizeof w->id, "%s", id);
		w->next = b->first;
		w->link = &b->first;
		if (b->first)
			b->first->link = &w->next;
		b->first = w;
	}
	pthread_mutex_unlock(&b->mutex);
	return park;
}

/* Unlinked first: from the resume on, w belongs to the connection's thread again. */
static void wake(watcher *w)
{
	struct MHD_Connection *conn = w->conn;
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
	MHD_resume_connection(conn);
}

void watch_notify(watch_hub *h, const char *id)
{
	bucket *b = bucket_of(h, id);
	pthread_mutex_lock(&b->mutex);
	b->generation++;
	for (watcher *w = b->first, *next; w; w = next) {
		next = w->next;
		if (!strcmp(w->id, id))
			wake(w);
	}
	pthread_mutex_unlock(&b->mutex);
}

void watch_expire(watch_hub *h, int64_t now_ns)
{
	for (int i = 0; i < BUCKETS; i++) {
		bucket *b = &h->buckets[i];
		pthread_mutex_lock(&b->mutex);
		for (watcher *w = b->first, *next; w; w = next) {
			next = w->next;
			if (w->deadline_ns <= now_ns)
				wake(w);
		}
		pthread_mutex_unlock(&b->mutex);
	}
}

void watch_stop(watch_hub *h)
{
	atomic_store(&h->stopped, true);
	watch_expire(h, INT64_MAX);
}

bool watch_stopped(watch_hub *h) { return atomic_load(&h->stopped); }
