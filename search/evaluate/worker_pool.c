/* Evaluators that cost many plans side by side. Who takes which plan depends on who is free; what
 * counts as an evaluation does not: what is known before a batch is read only while it runs, and
 * what it costed is entered afterwards, in the order of its plans. */
#include "search/evaluate/evaluate.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Then it starts over: about 70 MB. Not a share of search_options.cache_bytes, on which no answer
 * may depend. */
enum { MOST_STATES = 1 << 18 };

struct worker_pool {
	evaluator *ev[MOST_EVALUATORS];
	int threads;
	bool (*stop)(void *);
	void *stop_arg;
	see_costed *see; /* NULL: nobody looks on */
	void *see_arg;
	evaluation_cache known;
	struct share { /* of what is to be done: each worker's own */
		atomic_uint next;
		uint32_t end;
	} shares[MOST_EVALUATORS];
	int workers;
	plan *plans;
	cost *costs;
	uint64_t *states; /* by plan, with room for cap */
	uint32_t cap;
	pool_work *work;
	void *work_user;
	job *jobs;
};

/* ---------------------------------------------------------------- the evaluation cache */

static const cost *cache_find(const evaluation_cache *l, uint64_t state)
{
	uint32_t id, it = index_first(&l->index, state);
	return index_next(&l->index, state, &it, &id) ? &l->costs.p[id] : NULL;
}

static void cache_add(evaluation_cache *l, uint64_t state, const cost *c)
{
	index_add(&l->index, state, l->costs.n);
	vec_push(&l->states, state);
	vec_push(&l->costs, *c);
}

/* Returns whether it was new. */
static bool cache_enter(evaluation_cache *l, uint64_t state, const cost *c)
{
	if (cache_find(l, state))
		return false;
	cache_add(l, state, c);
	return true;
}

static void cache_release(evaluation_cache *l)
{
	index_release(&l->index);
	vec_release(&l->states);
	vec_release(&l->costs);
}

static void make_room(evaluation_cache *l)
{
	if (l->costs.n < MOST_STATES)
		return;
	index_clear(&l->index);
	l->states.n = l->costs.n = 0;
}

/* ---------------------------------------------------------------- plans */

/* From the worker's own share first, then from those of others. Neighbours in a list, and what has
 * about the same place in the next list, are alike, and each evaluator remembers for itself what
 * decisions came to. */
static bool take_next(worker_pool *c, int worker, uint32_t *out)
{
	for (int i = 0; i < c->workers; i++) {
		struct share *x = &c->shares[(worker + i) % c->workers];
		*out = atomic_load_explicit(&x->next, memory_order_relaxed) < x->end
			? atomic_fetch_add_explicit(&x->next, 1, memory_order_relaxed)
			: x->end;
		if (*out < x->end)
			return true;
	}
	return false;
}

static void run_on_all(worker_pool *c, uint32_t n, void (*work)(void *, int))
{
	c->workers = (int)MIN((uint32_t)MIN(c->threads, MOST_EVALUATORS), n);
	for (int i = 0; i < c->workers; i++) {
		atomic_store_explicit(&c->shares[i].next,
			(uint32_t)((uint64_t)n * (uint32_t)i / (uint32_t)c->workers), memory_order_relaxed);
		c->shares[i].end = (uint32_t)((uint64_t)n * ((uint32_t)i + 1) / (uint32_t)c->workers);
	}
	parallel_for(c->workers, c->workers, work, c);
}

static void cost_some(void *user, int worker)
{
	worker_pool *c = user;
	evaluator *ev = c->ev[worker];
	for (uint32_t i; take_next(c, worker, &i);) {
		c->costs[i] = (cost){.runtime_ns = NOT_COSTED, .peak_bytes = NOT_COSTED};
		if (c->stop(c->stop_arg))
			continue;
		evaluator_run(ev, &c->plans[i], NULL);
		c->states[i] = evaluator_hash(ev);
		const cost *known = cache_find(&c->known, c->states[i]);
		if (known)
			c->costs[i] = *known;
		else
			evaluator_rate(ev, &c->costs[i]);
	}
}

uint64_t pool_cost(worker_pool *c, plan *plans, uint32_t n, uint64_t budget, cost *costs)
{
	uint64_t used = 0;
	uint32_t done = 0;
	for (uint32_t part; done < n && (part = (uint32_t)MIN(n - done, budget - used)); done += part) {
		make_room(&c->known);
		if (part > c->cap)
			c->states = xrealloc(c->states, (c->cap = part) * sizeof *c->states);
		c->plans = plans + done;
		c->costs = costs + done;
		run_on_all(c, part, cost_some);
		for (uint32_t i = 0; i < part; i++) {
			if (!is_costed(&c->costs[i]) || !cache_enter(&c->known, c->states[i], &c->costs[i]))
				continue;
			used++;
			if (c->see)
				c->see(c->see_arg, &c->plans[i], &c->costs[i]);
		}
	}
	for (; done < n; done++)
		costs[done] = (cost){.runtime_ns = NOT_COSTED, .peak_bytes = NOT_COSTED};
	return used;
}

/* ---------------------------------------------------------------- jobs */

void job_cost(job *j, cost *out)
{
	uint64_t state = evaluator_hash(j->ev);
	const cost *known = cache_find(j->known, state);
	if (!known)
		known = cache_find(&j->own, state);
	if (known) {
		*out = *known;
		return;
	}
	evaluator_rate(j->ev, out);
	cache_add(&j->own, state, out);
}

uint64_t job_used(const job *j) { return j->own.costs.n; }

static void do_some(void *user, int worker)
{
	worker_pool *c = user;
	for (uint32_t i; take_next(c, worker, &i);) {
		c->jobs[i] = (job){.ev = c->ev[worker], .of = c, .known = &c->known};
		c->work(c->work_user, i, &c->jobs[i]);
	}
}

uint64_t pool_do(worker_pool *c, uint32_t n, pool_work *work, void *user)
{
	uint64_t used = 0;
	make_room(&c->known);
	c->work = work;
	c->work_user = user;
	c->jobs = xcalloc(n + 1, sizeof *c->jobs);
	run_on_all(c, n, do_some);
	for (uint32_t i = 0; i < n; i++) {
		evaluation_cache *own = &c->jobs[i].own;
		for (uint32_t k = 0; k < own->costs.n; k++)
			used += cache_enter(&c->known, own->states.p[k], &own->costs.p[k]);
		cache_release(own);
	}
	free(c->jobs);
	c->jobs = NULL;
	return used;
}

/* ---------------------------------------------------------------- its life */

void pool_watch(worker_pool *c, see_costed *see, void *user)
{
	c->see = see;
	c->see_arg = user;
}

bool pool_stops(const worker_pool *c) { return c->stop(c->stop_arg); }
evaluator *pool_first(const worker_pool *c) { return c->ev[0]; }

worker_pool *pool_new(evaluator *const *ev, int threads, bool (*stop)(void *), void *stop_arg)
{
	worker_pool *c = xcalloc(1, sizeof *c);
	*c = (worker_pool){.threads = threads, .stop = stop, .stop_arg = stop_arg};
	memcpy(c->ev, ev, sizeof c->ev);
	index_init(&c->known.index);
	return c;
}

void pool_free(worker_pool *c)
{
	if (!c)
		return;
	cache_release(&c->known);
	free(c->states);
	free(c);
}
