/* Steepest descent from a whole plan by what its decisions are: each, with its twins on other axes, is left out, decided first or
 * last, or keeps off one group of what it cuts; when that leads nowhere, each without its twins. Random walks rarely change the
 * same on all axes at once, and a plan that treats its axes alike is often left no other way. */
#include "search/internal.h"

#include <stdlib.h>

enum { MOST_VARIANTS = 128, MOST_STEPS = 8, MOST_REPLAYS = 3 /* in a step */ };

typedef struct refiner {
	const problem *pb;
	evaluator *const *ev;
	arena *mem;
	uint32_t n;
	plan *variants;
	cost *costs;
	bool (*stop)(void *);
	void *stop_arg;
} refiner;

/* The first twin of a decision, or itself. */
static uint32_t first_twin(const plan *pl, uint32_t at)
{
	uint32_t i = 0;
	while (i < at && !action_is_twin(&pl->decisions[at], &pl->decisions[i]))
		i++;
	return i;
}
static bool has_twin(const plan *pl, uint32_t at)
{
	for (uint32_t i = 0; i < pl->n; i++)
		if (action_is_twin(&pl->decisions[at], &pl->decisions[i]))
			return true;
	return false;
}

static plan *add_variant(refiner *rf, const plan *from)
{
	if (rf->n == MOST_VARIANTS)
		return NULL;
	rf->variants[rf->n] = *from;
	return &rf->variants[rf->n++];
}

/* Takes the decision out of the plan, with twins all of them, in their order. */
static void take_out(plan *pl, const action *a, bool twins, plan *taken)
{
	taken->n = 0;
	for (uint32_t i = 0; i < pl->n;) {
		const action *b = &pl->decisions[i];
		if (b->fixed || !((twins && action_is_twin(a, b)) || (b->axis == a->axis && b->targets == a->targets && b->kind == a->kind))) {
			i++;
			continue;
		}
		plan_insert(taken, taken->n, b, pl->tactics[i]);
		plan_drop(pl, i);
	}
}

static uint32_t first_free(const plan *pl)
{
	uint32_t first = 0;
	while (first < pl->n && pl->decisions[first].fixed)
		first++;
	return first;
}

static void list_moved(refiner *rf, const plan *pl, const action *a, bool twins)
{
	plan *taken = xmalloc(sizeof *taken), *rest = xmalloc(sizeof *rest), *v;
	*rest = *pl;
	take_out(rest, a, twins, taken);
	add_variant(rf, rest);
	if ((v = add_variant(rf, rest)))
		for (uint32_t i = 0; i < taken->n; i++)
			plan_insert(v, first_free(rest) + i, &taken->decisions[i], taken->tactics[i]);
	if ((v = add_variant(rf, rest)))
		for (uint32_t i = 0; i < taken->n; i++)
			plan_insert(v, v->n, &taken->decisions[i], taken->tactics[i]);
	free(taken);
	free(rest);
}

static void list_thinned(refiner *rf, const plan *pl, uint32_t at, bool twins)
{
	const action *a = &pl->decisions[at];
	uint32_t last = ID_NONE;
	if (a->group != ID_NONE || a->kind == ACTION_CONSTRAIN)
		return;
	for (uint32_t i = 0; i < a->n_targets; i++) {
		uint32_t group = rf->pb->group_of[a->targets[i].arg];
		bool known = group == last;
		for (uint32_t k = 0; k < i && !known; k++)
			known = rf->pb->group_of[a->targets[k].arg] == group;
		last = group;
		plan *v = known ? NULL : add_variant(rf, pl);
		if (!v)
			continue;
		if (!plan_leave_out(rf->pb, rf->mem, v, at, group)) {
			rf->n--;
			continue;
		}
		for (uint32_t k = 0; k < pl->n && twins; k++)
			if (action_is_twin(a, &pl->decisions[k]))
				plan_leave_out(rf->pb, rf->mem, v, k, group);
	}
}

/* twins: decisions with their twins, once; otherwise those that have any, alone. */
static void list_variants(refiner *rf, const plan *pl, bool twins)
{
	rf->n = 0;
	for (uint32_t at = 0; at < pl->n; at++) {
		if (pl->decisions[at].fixed || (twins ? first_twin(pl, at) < at : !has_twin(pl, at)))
			continue;
		list_moved(rf, pl, &pl->decisions[at], twins);
		list_thinned(rf, pl, at, twins);
	}
}

static void cost_variants(void *user, int tree)
{
	refiner *rf = user;
	for (uint32_t i = (uint32_t)tree; i < rf->n; i += LOGICAL_TREES) {
		rf->costs[i] = (cost){.runtime_ns = INT64_MAX / 16, .peak_bytes = INT64_MAX / 16};
		if (!rf->stop(rf->stop_arg))
			evaluator_run(rf->ev[tree], &rf->variants[i], &rf->costs[i]);
	}
}

static int64_t replayed(refiner *rf, plan *pl)
{
	cost c;
	bool allowed;
	evaluator_run(rf->ev[0], pl, NULL);
	evaluator_replay(rf->ev[0], &c, &allowed);
	return allowed ? plan_energy(rf->pb, &c) : INT64_MAX;
}

/* The one that is better than *now in a replay, too. */
static uint32_t best_variant(refiner *rf, int64_t *now)
{
	for (int tries = 0; tries < MOST_REPLAYS; tries++) {
		int64_t least = *now;
		uint32_t best = ID_NONE;
		for (uint32_t i = 0; i < rf->n; i++) {
			int64_t e = plan_energy(rf->pb, &rf->costs[i]);
			if (e < least) {
				least = e;
				best = i;
			}
		}
		if (best == ID_NONE)
			return ID_NONE;
		least = replayed(rf, &rf->variants[best]);
		if (least < *now) {
			*now = least;
			return best;
		}
		int64_t gone = rf->costs[best].runtime_ns;
		for (uint32_t i = 0; i < rf->n; i++) /* most likely the same state */
			if (rf->costs[i].runtime_ns == gone)
				rf->costs[i].runtime_ns = rf->costs[i].peak_bytes = INT64_MAX / 16;
	}
	return ID_NONE;
}

uint64_t refine_plan(const problem *pb, evaluator *const *ev, int threads, arena *mem, plan *pl, uint64_t budget, bool (*stop)(void *), void *stop_arg)
{
	refiner rf = {.pb = pb, .ev = ev, .mem = mem, .stop = stop, .stop_arg = stop_arg};
	uint64_t used = 1;
	if (!budget)
		return 0;
	rf.variants = xmalloc(MOST_VARIANTS * sizeof *rf.variants);
	rf.costs = xmalloc(MOST_VARIANTS * sizeof *rf.costs);
	int64_t now = replayed(&rf, pl);
	bool twins = true;
	for (int step = 0; step < MOST_STEPS && !stop(stop_arg); step++) {
		list_variants(&rf, pl, twins);
		if (used + rf.n > budget)
			break;
		parallel_for(LOGICAL_TREES, threads, cost_variants, &rf);
		used += rf.n;
		uint32_t best = best_variant(&rf, &now);
		if (best != ID_NONE)
			*pl = rf.variants[best];
		else if (!twins)
			break;
		twins = best != ID_NONE;
	}
	free(rf.variants);
	free(rf.costs);
	return used;
}
