/* What the whole program said of decisions of the folded one, shared by all evaluators of a problem: whoever asks, the answer to
 * a list of decisions is the same. */
#include "search/internal.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAX_VERDICTS = 1 << 20 };

struct verdicts {
	pthread_mutex_t lock;
	index_map known;
};

verdicts *verdicts_new(void)
{
	verdicts *v = xcalloc(1, sizeof *v);
	pthread_mutex_init(&v->lock, NULL);
	index_init(&v->known);
	return v;
}

void verdicts_free(verdicts *v)
{
	if (!v)
		return;
	pthread_mutex_destroy(&v->lock);
	index_release(&v->known);
	free(v);
}

bool verdicts_find(verdicts *v, uint64_t key, bool *holds)
{
	uint32_t id;
	pthread_mutex_lock(&v->lock);
	uint32_t it = index_first(&v->known, key);
	bool found = index_next(&v->known, key, &it, &id);
	pthread_mutex_unlock(&v->lock);
	*holds = found && id;
	return found;
}

void verdicts_add(verdicts *v, uint64_t key, bool holds)
{
	pthread_mutex_lock(&v->lock);
	if (v->known.n == MAX_VERDICTS)
		index_clear(&v->known);
	index_add(&v->known, key, holds);
	pthread_mutex_unlock(&v->lock);
}
