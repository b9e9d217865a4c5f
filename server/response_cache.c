/* Ready answers by what was asked, one per slot: strategies, which never change, and answers of the
 * store to a search request, by the bytes of its body. The latter show names that people gave: a
 * change of one makes every answer of before out of date. */
#include "server/server.h"

#include <stdlib.h>

enum {
	SLOTS = 512,
	CACHE_SHARE = 8,
	MOST_KEY = 4096
}; /* of the memory budget, which it stands beside */

typedef struct slot {
	pthread_mutex_t mutex;
	char *key;
	size_t key_n;
	uint64_t generation;
	struct MHD_Response *response;
	char strategy[ID_BYTES]; /* whose use is counted, or "" */
	int64_t bytes;
} slot;

struct response_cache {
	server *srv;
	int64_t limit;
	_Atomic int64_t bytes; /* of all of them */
	_Atomic uint64_t generation;
	slot slots[SLOTS];
};

response_cache *response_cache_new(server *srv)
{
	response_cache *c = xcalloc(1, sizeof *c);
	c->srv = srv;
	c->limit = srv->memory.limit / CACHE_SHARE;
	for (int i = 0; i < SLOTS; i++)
		pthread_mutex_init(&c->slots[i].mutex, NULL);
	return c;
}

void response_cache_free(response_cache *c)
{
	for (int i = 0; c && i < SLOTS; i++) {
		if (c->slots[i].response)
			MHD_destroy_response(c->slots[i].response);
		free(c->slots[i].key);
		pthread_mutex_destroy(&c->slots[i].mutex);
	}
	free(c);
}

uint64_t response_cache_generation(response_cache *c) { return atomic_load(&c->generation); }
void response_cache_outdate(response_cache *c) { atomic_fetch_add(&c->generation, 1); }

static slot *slot_of(response_cache *c, const char *key, size_t n)
{
	return &c->slots[hash_bytes(key, n, 0) % SLOTS];
}

/* A response that others may drop from its slot has to be queued under the slot's lock: from then
 * on the connection holds it too. */
bool response_cache_queue(response_cache *c, request *r, const char *key, size_t n)
{
	slot *s = slot_of(c, key, n);
	char strategy[ID_BYTES] = "";
	pthread_mutex_lock(&s->mutex);
	bool hit = s->response && s->key_n == n && !memcmp(s->key, key, n) &&
		s->generation == atomic_load_explicit(&c->generation, memory_order_acquire);
	if (hit) {
		memcpy(strategy, s->strategy, sizeof strategy);
		request_answer(r, 200, s->response);
	}
	pthread_mutex_unlock(&s->mutex);
	if (strategy[0])
		hits_add(c->srv->hits, strategy);
	return hit;
}

bool response_cache_put(response_cache *c, const char *key, size_t n, uint64_t generation,
	const char *strategy, struct MHD_Response *response, int64_t bytes)
{
	slot *s = slot_of(c, key, n);
	struct MHD_Response *old = NULL;
	bytes += (int64_t)n;
	if (n > MOST_KEY)
		return false;
	pthread_mutex_lock(&s->mutex);
	int64_t more = bytes - s->bytes;
	bool room = atomic_fetch_add(&c->bytes, more) + more <= c->limit || more <= 0;
	if (room) {
		old = s->response;
		s->response = response;
		s->bytes = bytes;
		s->generation = generation;
		s->key = xrealloc(s->key, MAX(n, 1));
		memcpy(s->key, key, n);
		s->key_n = n;
		snprintf(s->strategy, sizeof s->strategy, "%s", strategy);
	} else {
		atomic_fetch_sub(&c->bytes, more);
	}
	pthread_mutex_unlock(&s->mutex);
	if (old)
		MHD_destroy_response(old);
	return room;
}
