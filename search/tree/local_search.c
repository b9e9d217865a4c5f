#include "search/tree/local_search.h"

#include <stdlib.h>

enum { PPM = 1000000 };

/* Replays the plan on the first evaluator, which has its state then. */
static cost replayed(local_search *ls, plan *pl)
{
	cost c;
	bool allowed;
	evaluator *ev = pool_first(ls->pool);
	evaluator_run(ev, pl, NULL);
	evaluator_replay(ev, ls->goal, &c, &allowed);
	if (!allowed || plan_manual(pl, FIXED_BY_SEARCH) < ls->n_manual)
		c = (cost){.runtime_ns = NOT_COSTED, .peak_bytes = NOT_COSTED};
	return c;
}

/* Did a descent come through the state of the plan that was just replayed? */
static bool has_passed(local_search *ls)
{
	uint64_t h = evaluator_hash(pool_first(ls->pool));
	uint32_t id, it = index_first(&ls->passed, h);
	if (index_next(&ls->passed, h, &it, &id))
		return true;
	index_add(&ls->passed, h, ls->n_passed++);
	return false;
}

static level first_level(const local_search *ls)
{
	return ls->pb->o->without & WITHOUT_DESCENTS ? SAMPLED : ALIKE;
}

/* Takes the plan, which is better and was just replayed: the descent begins again. */
static void take(local_search *ls, descent *d, const plan *pl, const cost *c)
{
	d->pl = *pl;
	d->c = *c;
	d->done = has_passed(ls);
	d->at = first_level(ls);
	d->walked = d->walks = 0;
	d->news = 0;
}

/* Takes the best one of those from the first to the last, if it is better in a replay, too. */
static bool take_best(local_search *ls, descent *d, uint32_t first, uint32_t end)
{
	for (int tries = 0; tries < MOST_REPLAYS; tries++) {
		int64_t least = plan_energy(ls->goal, &d->c);
		uint32_t best = ID_NONE;
		for (uint32_t i = first; i < end; i++) {
			int64_t e = plan_energy(ls->goal, &ls->costs[i]);
			if (e < least) {
				least = e;
				best = i;
			}
		}
		if (best == ID_NONE)
			return false;
		cost c = replayed(ls, &ls->near.variants[best]);
		if (plan_energy(ls->goal, &c) < plan_energy(ls->goal, &d->c)) {
			take(ls, d, &ls->near.variants[best], &c);
			return true;
		}
		int64_t gone = ls->costs[best].runtime_ns;
		for (uint32_t i = first; i < end; i++) /* most likely the same state */
			if (ls->costs[i].runtime_ns == gone)
				ls->costs[i].runtime_ns = ls->costs[i].peak_bytes = NOT_COSTED;
	}
	return false;
}

static void cost_listed(local_search *ls, uint32_t first)
{
	ls->used += pool_cost(ls->pool, ls->near.variants + first, ls->near.n - first,
		ls->budget - MIN(ls->budget, ls->used), ls->costs + first);
}

/* ---------------------------------------------------------------- decisions */

/* All groups that a decision does better without, at once. Twins are as alike in the plan as they
 * were for each group. */
static void list_thinned_together(local_search *ls, const descent *d, bool twins)
{
	uint32_t n = ls->near.n;
	for (uint32_t at = 0; at < d->pl.n; at++) {
		uint32_t groups = 0;
		plan *v = NULL;
		for (uint32_t i = 0; i < n; i++) {
			if (ls->near.thinned[i].at != at ||
				plan_energy(ls->goal, &ls->costs[i]) >= plan_energy(ls->goal, &d->c))
				continue;
			if (!v && !(v = neighbourhood_add(&ls->near, &d->pl)))
				return;
			groups += leave_out_group(&ls->near, v, at, ls->near.thinned[i].group, twins);
		}
		ls->near.n -= v && groups < 2;
	}
}

static void change_decisions(local_search *ls, descent *d)
{
	ls->near.fits = d->c.peak_bytes <= ls->pb->memory_limit;
	neighbourhood_list(&ls->near, &d->pl, d->at);
	cost_listed(ls, 0);
	uint32_t n = ls->near.n;
	list_thinned_together(ls, d, d->at == ALIKE);
	if (ls->near.n > n)
		cost_listed(ls, n);
	ls->lists_cut += ls->near.cut;
	if (!take_best(ls, d, 0, ls->near.n))
		d->at++;
}

/* ---------------------------------------------------------------- groups */

/* The last place that the decision can take at the same cost. */
static uint32_t last_place(local_search *ls, const plan *pl, uint32_t at)
{
	uint32_t last = at;
	neighbourhood_clear(&ls->near);
	for (uint32_t to = at; to < pl->n; to++) {
		plan *v = neighbourhood_add(&ls->near, pl);
		if (v)
			plan_move(v, at, to);
	}
	cost_listed(ls, 0);
	bool costed = is_costed(&ls->costs[0]); /* else it is time to end */
	for (uint32_t i = 1; i < ls->near.n && costed; i++)
		if (ls->near.variants[i].n == pl->n && ls->costs[i].runtime_ns == ls->costs[0].runtime_ns &&
			ls->costs[i].peak_bytes <= ls->costs[0].peak_bytes)
			last = at + i;
	return last;
}

/* Every decision comes as late as that costs nothing: what is decided in front of it then has more
 * to say. */
static void postpone(local_search *ls, descent *d)
{
	plan *v = xmalloc(sizeof *v);
	*v = d->pl;
	for (uint32_t at = v->n; at-- > plan_first_free(v);)
		if (!v->decisions[at].fixed)
			plan_move(v, at, last_place(ls, v, at));
	cost c = replayed(ls, v);
	if (plan_energy(ls->goal, &c) <= plan_energy(ls->goal, &d->c)) {
		d->c = c;
		d->pl = *v;
	}
	free(v);
}

/* A part of a round over all regroupings. Behind a round that found something, smaller moves may
 * again. */
static void decide_groups(local_search *ls, descent *d)
{
	uint32_t ends[REGROUPINGS];
	if (!d->next) {
		postpone(ls, d);
		d->idle = 0;
		d->found = false;
	}
	uint64_t before = ls->used;
	uint32_t n = regroupings_of(&ls->near, &d->pl, &ls->regroupings, d->next, ends);
	bool taken = false; /* what is listed behind it is of the plan before */
	ls->lists_cut += ls->near.cut;
	cost_listed(ls, 0);
	for (uint32_t i = 0; i < n && !taken; i++, d->next++)
		taken = take_best(ls, d, i ? ends[i - 1] : 0, ends[i]);
	d->found |= taken;
	d->idle = taken ? 0 : d->idle + ls->used - before;
	d->at = GROUPS;
	if (d->next < ls->regroupings.n && d->idle < d->patience)
		return;
	d->next = 0;
	d->patience = MAX(d->patience / LATER_PATIENCE, (uint64_t)LEAST_LATER_PATIENCE);
	d->at = d->found ? ALIKE : SAMPLED;
}

/* ---------------------------------------------------------------- walks */

static void walk(local_search *ls, descent *d)
{
	if (!d->walked) {
		d->here = d->pl;
		d->here_energy = plan_energy(ls->goal, &d->c);
	}
	uint32_t left = WALK_STEPS - ++d->walked;
	uint64_t heat = FIRST_HEAT / (WALK_STEPS * WALK_STEPS) * left * left;
	neighbourhood_clear(&ls->near);
	for (int i = 0; i < WALK_MOVES; i++) {
		plan *v = neighbourhood_add(&ls->near, &d->here);
		ls->near.n -= !sample_move(&ls->draws, &d->random, v);
	}
	uint64_t before = ls->used;
	cost_listed(ls, 0);
	d->news += ls->used - before;
	for (uint32_t i = 0; i < ls->near.n; i++) {
		int64_t e = plan_energy(ls->goal, &ls->costs[i]);
		/* u * u: small steps up are taken more often than large ones. */
		uint64_t u = rng_below(&d->random, 1001), allowance = heat * u / 1000 * u / 1000;
		if (e == INT64_MAX || e == d->here_energy ||
			plan_manual(&ls->near.variants[i], FIXED_BY_SEARCH) < ls->n_manual ||
			(double)e > (double)d->here_energy * (1 + (double)allowance / PPM))
			continue;
		d->here = ls->near.variants[i];
		d->here_energy = e;
		break;
	}
	if (d->walked == WALK_STEPS) {
		d->walked = 0;
		d->done = ++d->walks == WALKS || d->news < WALK_STEPS;
		d->news = 0;
	}
	take_best(ls, d, 0, ls->near.n);
}

/* ---------------------------------------------------------------- all */

void descent_begin(local_search *ls, descent *d, const plan *pl, uint64_t seed, uint32_t number)
{
	*d = (descent){.pl = *pl, .patience = ls->patience, .at = first_level(ls)};
	d->c = replayed(ls, &d->pl);
	d->done = has_passed(ls) || ls->pb->o->without & WITHOUT_LOCAL_SEARCH;
	rng_seed(&d->random, seed, number);
}

uint64_t descent_step(local_search *ls, descent *d, uint64_t budget, bool *better)
{
	uint64_t before = ls->used;
	int64_t was = plan_energy(ls->goal, &d->c);
	ls->budget = before + budget;
	if (d->at < GROUPS)
		change_decisions(ls, d);
	else if (d->at == GROUPS)
		decide_groups(ls, d);
	else
		walk(ls, d);
	d->done |= d->at == SAMPLED && ls->pb->o->without & WITHOUT_WALKS;
	*better = plan_energy(ls->goal, &d->c) < was;
	return ls->used - before;
}

void local_search_init(local_search *ls, const problem *pb, const goal *g, worker_pool *pool,
	const scope *of, arena *mem, uint64_t patience)
{
	*ls = (local_search){.pb = pb, .goal = g, .pool = pool, .patience = patience};
	neighbourhood_init(&ls->near, pb, of, mem);
	regroupings_list(&ls->near, &ls->regroupings);
	ls->draws =
		(sampler){.pb = pb, .mem = mem, .of = of, .n_axes = ls->near.n_axes, .axes = ls->near.axes};
	for (uint32_t i = 0; i < of->sampled.n; i++)
		ls->draws.weight_sum += of->sampled.p[i].weight;
	index_init(&ls->passed);
}

void local_search_release(local_search *ls)
{
	neighbourhood_release(&ls->near);
	vec_release(&ls->regroupings);
	index_release(&ls->passed);
}
