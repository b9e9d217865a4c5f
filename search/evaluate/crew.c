/* Evaluators that cost many plans side by side. Who takes which plan depends on who is free; what
 * counts as an evaluation does not: what is known before a batch is read only while it runs, and
 * what it costed is entered afterwards, in the order of its plans. */
#include "search/evaluate/evaluate.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Then it starts over: about 70 MB. Not a share of search_options.cache_bytes, on which no answer
 * may depend. */
enum { MOST_STATES = 1 << 18 };

struct crew {
	evaluator *ev[MOST_EVALUATORS];
	int threads;
	bool (*stop)(void *);
	void *stop_arg;
	ledger known;
	struct share { /* of what is to be done: each worker's own */
		atomic_uint next;
		uint32_t end;
	} shares[MOST_EVALUATORS];
	int workers;
	plan *plans;
	cost *costs;
	uint64_t *states; /* by plan, with room for cap */
	uint32_t cap;
	crew_job *job;
	void *job_user;
	scout *scouts; /* by job */
};

/* ---------------------------------------------------------------- ledgers */

static const cost *ledger_find(const ledger *l, uint64_t state)
{
	uint32_t id, it = index_first(&l->index, state);
	return index_next(&l->index, state, &it, &id) ? &l->costs.p[id] : NULL;
}

static void ledger_add(ledger *l, uint64_t state, const cost *c)
{
	index_add(&l->index, state, l->costs.n);
	vec_push(&l->states, state);
	vec_push(&l->costs, *c);
}

/* Returns whether it was new. */
static bool ledger_enter(ledger *l, uint64_t state, const cost *c)
{
	if (ledger_find(l, state))
		return false;
	ledger_add(l, state, c);
	return true;
}

static void ledger_release(ledger *l)
{
	index_release(&l->index);
	vec_release(&l->states);
	vec_release(&l->costs);
}

static void make_room(ledger *l)
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
static bool take_next(crew *c, int worker, uint32_t *out)
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

static void run_on_all(crew *c, uint32_t n, void (*work)(void *, int))
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
	crew *c = user;
	evaluator *ev = c->ev[worker];
	for (uint32_t i; take_next(c, worker, &i);) {
		c->costs[i] = (cost){.runtime_ns = NOT_COSTED, .peak_bytes = NOT_COSTED};
		if (c->stop(c->stop_arg))
			continue;
		evaluator_run(ev, &c->plans[i], NULL);
		c->states[i] = evaluator_hash(ev);
		const cost *known = ledger_find(&c->known, c->states[i]);
		if (known)
			c->costs[i] = *known;
		else
			evaluator_rate(ev, &c->costs[i]);
	}
}

uint64_t crew_cost(crew *c, plan *plans, uint32_t n, uint64_t budget, cost *costs)
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
		for (uint32_t i = 0; i < part; i++)
			used += is_costed(&c->costs[i]) && ledger_enter(&c->known, c->states[i], &c->costs[i]);
	}
	for (; done < n; done++)
		costs[done] = (cost){.runtime_ns = NOT_COSTED, .peak_bytes = NOT_COSTED};
	return used;
}

/* ---------------------------------------------------------------- jobs */

void scout_cost(scout *s, cost *out)
{
	uint64_t state = evaluator_hash(s->ev);
	const cost *known = ledger_find(s->known, state);
	if (!known)
		known = ledger_find(&s->own, state);
	if (known) {
		*out = *known;
		return;
	}
	evaluator_rate(s->ev, out);
	ledger_add(&s->own, state, out);
}

uint64_t scout_used(const scout *s) { return s->own.costs.n; }
bool scout_stops(const scout *s) { return crew_stops(s->of); }

static void do_some(void *user, int worker)
{
	crew *c = user;
	for (uint32_t i; take_next(c, worker, &i);) {
		c->scouts[i] = (scout){.ev = c->ev[worker], .of = c, .known = &c->known};
		c->job(c->job_user, i, &c->scouts[i]);
	}
}

uint64_t crew_do(crew *c, uint32_t n, crew_job *job, void *user)
{
	uint64_t used = 0;
	make_room(&c->known);
	c->job = job;
	c->job_user = user;
	c->scouts = xcalloc(n + 1, sizeof *c->scouts);
	run_on_all(c, n, do_some);
	for (uint32_t i = 0; i < n; i++) {
		ledger *own = &c->scouts[i].own;
		for (uint32_t k = 0; k < own->costs.n; k++)
			used += ledger_enter(&c->known, own->states.p[k], &own->costs.p[k]);
		ledger_release(own);
	}
	free(c->scouts);
	c->scouts = NULL;
	return used;
}

/* ---------------------------------------------------------------- its life */

bool crew_stops(const crew *c) { return c->stop(c->stop_arg); }
evaluator *crew_lead(const crew *c) { return c->ev[0]; }

crew *crew_new(evaluator *const *ev, int threads, bool (*stop)(void *), void *stop_arg)
{
	crew *c = xcalloc(1, sizeof *c);
	*c = (crew){.threads = threads, .stop = stop, .stop_arg = stop_arg};
	memcpy(c->ev, ev, sizeof c->ev);
	index_init(&c->known.index);
	return c;
}

void crew_free(crew *c)
{
	if (!c)
		return;
	ledger_release(&c->known);
	free(c->states);
	free(c);
}
