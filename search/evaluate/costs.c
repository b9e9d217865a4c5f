/* What states cost, shared by all evaluators of a problem: trees, chains and composites that come
 * to the same shardings by themselves need not all lower and simulate them. A cost depends on the
 * state alone, so answers do not depend on who was first. */
#include "search/evaluate/evaluate.h"

#include <pthread.h>
#include <stdlib.h>

struct cost_memo {
	pthread_mutex_t lock;
	index_map known;
	VEC(cost) costs;
	size_t most;
};

cost_memo *cost_memo_new(size_t bytes)
{
	cost_memo *m = xcalloc(1, sizeof *m);
	pthread_mutex_init(&m->lock, NULL);
	index_init(&m->known);
	m->most = MAX(bytes / (sizeof(cost) + 4 * (sizeof(uint64_t) + sizeof(uint32_t))), 1);
	return m;
}

void cost_memo_free(cost_memo *m)
{
	if (!m)
		return;
	pthread_mutex_destroy(&m->lock);
	index_release(&m->known);
	vec_release(&m->costs);
	free(m);
}

bool cost_memo_find(cost_memo *m, uint64_t state, cost *out)
{
	uint32_t id;
	pthread_mutex_lock(&m->lock);
	uint32_t it = index_first(&m->known, state);
	bool found = index_next(&m->known, state, &it, &id);
	if (found)
		*out = m->costs.p[id];
	pthread_mutex_unlock(&m->lock);
	return found;
}

static void unlock(void *lock) { pthread_mutex_unlock(lock); }

void cost_memo_add(cost_memo *m, uint64_t state, const cost *c)
{
	unwind u;
	pthread_mutex_lock(&m->lock);
	unwind_push(&u, unlock, &m->lock);
	if (m->costs.n == m->most) {
		index_clear(&m->known);
		m->costs.n = 0;
	}
	vec_reserve(&m->costs, m->costs.n + 1); /* before anything names it: memory may be out */
	index_add(&m->known, state, m->costs.n);
	vec_push(&m->costs, *c);
	unwind_pop(&u);
	pthread_mutex_unlock(&m->lock);
}
