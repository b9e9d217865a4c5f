/* Descent from a whole plan, through neighbourhoods that grow where the smaller ones lead nowhere:
 *
 *   1. two axes change places, or one does nothing; of two, one does what the other one does, or they change places for one group (of more: in 2);
 *      each decision, with its twins on other axes, is left out, decided first, last or before ZeRO, or keeps off one group of what it cuts,
 *      or of a ZeRO decision the parameters of one group are kept whole rather than cut, or cut rather than kept whole;
 *      random walks rarely change the same on all axes at once, and a plan that treats its axes alike is often left no other way
 *   2. each decision that has twins without them; one repeated on an axis more; a decision about a whole role more, at any place;
 *      one on another axis instead, and state over the axis that it leaves
 *   3. every decision comes as late as that costs nothing, so that there is room in front of it; then
 *      one group, or class of inner dims, after the other is decided anew: nothing or any of its dims, or its parameters with their
 *      state, on all axes alike, in their order or the opposite one, or on one; then one dim on one axis and another on a second,
 *      in all of the group or the other way round in every second of its members (chains of weights that are cut both ways: over
 *      which axis the values come out of one, over that axis the next one takes them in). Each before all else, behind all else or
 *      behind a decision about many groups
 *
 * In 1 and 2 the best neighbour is taken, in 3 the best one of each group. What is taken is better in a replay, too. */
#include "search/neighbours.h"

#include <stdlib.h>

enum { MOST_REPLAYS = 3 /* in a step */ };
/* So many evaluations without a better plan end what decides groups anew: a quarter of the budget, and of that when a descent comes to it
 * again, which rarely brings anything. */
enum { PATIENCE = 4, LEAST_PATIENCE = 150, LEAST_PATIENCE_LATER = 50 };

struct refiner {
	const problem *pb;
	crew *with;
	neighbours near;
	cost costs[MOST_VARIANTS]; /* of those near */
	uint64_t patience, bored; /* the next regroup ends at so many evaluations after the last better plan, which is at so many of all */
	uint64_t budget, used;
	index_map passed; /* states that descents came through */
	uint32_t n_passed;
	uint32_t n_manual; /* decisions that a plan has to keep */
	uint64_t start; /* all used when the present descent began */
	refined *tell;
	void *user;
};

static int64_t replayed(refiner *rf, plan *pl)
{
	cost c;
	bool allowed;
	evaluator_run(crew_lead(rf->with), pl, NULL);
	evaluator_replay(crew_lead(rf->with), &c, &allowed);
	return allowed && plan_manual(pl) >= rf->n_manual ? plan_energy(rf->pb, &c) : INT64_MAX;
}

/* The one of those from the first to the last that is better than *now in a replay, too. */
static uint32_t best_variant(refiner *rf, uint32_t first, uint32_t end, int64_t *now)
{
	for (int tries = 0; tries < MOST_REPLAYS; tries++) {
		int64_t least = *now;
		uint32_t best = ID_NONE;
		for (uint32_t i = first; i < end; i++) {
			int64_t e = plan_energy(rf->pb, &rf->costs[i]);
			if (e < least) {
				least = e;
				best = i;
			}
		}
		if (best == ID_NONE)
			return ID_NONE;
		least = replayed(rf, &rf->near.variants[best]);
		if (least < *now) {
			*now = least;
			return best;
		}
		int64_t gone = rf->costs[best].runtime_ns;
		for (uint32_t i = first; i < end; i++) /* most likely the same state */
			if (rf->costs[i].runtime_ns == gone)
				rf->costs[i].runtime_ns = rf->costs[i].peak_bytes = NOT_COSTED;
	}
	return ID_NONE;
}

/* All groups that a decision does better without, at once. Twins are as alike in the plan as they were for each group. */
static void list_thinned_together(refiner *rf, const plan *pl, bool twins, int64_t now)
{
	uint32_t n = rf->near.n;
	for (uint32_t at = 0; at < pl->n; at++) {
		uint32_t groups = 0;
		plan *v = NULL;
		for (uint32_t i = 0; i < n; i++) {
			if (rf->near.thinned[i].at != at || plan_energy(rf->pb, &rf->costs[i]) >= now)
				continue;
			if (!v && !(v = neighbours_add(&rf->near, pl)))
				return;
			groups += neighbours_thin(&rf->near, v, at, rf->near.thinned[i].group, twins);
		}
		rf->near.n -= v && groups < 2;
	}
}

static void cost_listed(refiner *rf, uint32_t first)
{
	rf->used += crew_cost(rf->with, rf->near.variants + first, rf->near.n - first, rf->budget - MIN(rf->budget, rf->used), rf->costs + first);
}

/* The best of these variants becomes the plan; false when none is better. */
static bool take_best(refiner *rf, plan *pl, uint32_t first, uint32_t end, int64_t *now)
{
	uint32_t best = best_variant(rf, first, end, now);
	if (best == ID_NONE)
		return false;
	*pl = rf->near.variants[best];
	rf->tell(rf->user, pl, rf->used - rf->start, *now);
	return true;
}

static bool change_decisions(refiner *rf, plan *pl, bool twins, int64_t *now)
{
	if (!rf->near.n)
		return false;
	cost_listed(rf, 0);
	uint32_t n = rf->near.n;
	list_thinned_together(rf, pl, twins, *now);
	if (rf->near.n > n)
		cost_listed(rf, n);
	return take_best(rf, pl, 0, rf->near.n, now);
}

static bool is_over(const refiner *rf) { return rf->used >= MIN(rf->budget, rf->bored) || crew_stops(rf->with); }

/* The last place that the decision can take at the same cost. */
static uint32_t last_place(refiner *rf, const plan *pl, uint32_t at)
{
	uint32_t last = at;
	rf->near.n = 0;
	for (uint32_t to = at; to < pl->n; to++) {
		plan *v = neighbours_add(&rf->near, pl);
		if (v)
			plan_move(v, at, to);
	}
	cost_listed(rf, 0);
	bool costed = is_costed(&rf->costs[0]); /* else it is time to end */
	for (uint32_t i = 1; i < rf->near.n && costed; i++)
		if (rf->near.variants[i].n == pl->n && rf->costs[i].runtime_ns == rf->costs[0].runtime_ns && rf->costs[i].peak_bytes <= rf->costs[0].peak_bytes)
			last = at + i;
	return last;
}

/* Every decision comes as late as that costs nothing: what is decided in front of it then has more to say. */
static void postpone(refiner *rf, plan *pl, int64_t *now)
{
	plan *v = xmalloc(sizeof *v);
	*v = *pl;
	for (uint32_t at = v->n; at-- > plan_first_free(v);)
		if (!v->decisions[at].fixed)
			plan_move(v, at, last_place(rf, v, at));
	int64_t then = replayed(rf, v);
	if (then <= *now) {
		*now = then;
		*pl = *v;
	}
	free(v);
}

static bool regroup(refiner *rf, plan *pl, int64_t *now)
{
	bool better = false;
	regrouping_list all = {0};
	uint32_t ends[REGROUPINGS];
	uint64_t patience = rf->patience;
	rf->patience = MAX(patience / PATIENCE, (uint64_t)LEAST_PATIENCE_LATER);
	postpone(rf, pl, now);
	regroupings_list(&rf->near, &all);
	rf->bored = rf->used + patience;
	for (uint32_t next = 0; next < all.n && !is_over(rf);) {
		uint32_t n = regroupings_of(&rf->near, pl, &all, next, ends);
		cost_listed(rf, 0);
		bool taken = false; /* what is listed behind it is of the plan before */
		for (uint32_t i = 0; i < n && !taken; i++, next++)
			taken = take_best(rf, pl, i ? ends[i - 1] : 0, ends[i], now);
		if (taken)
			rf->bored = rf->used + patience;
		better |= taken;
	}
	vec_release(&all);
	return better;
}

/* Did another descent come through the state of the plan last replayed? */
static bool has_passed(refiner *rf)
{
	uint64_t h = evaluator_hash(crew_lead(rf->with));
	uint32_t id, it = index_first(&rf->passed, h);
	if (index_next(&rf->passed, h, &it, &id))
		return true;
	index_add(&rf->passed, h, rf->n_passed++);
	return false;
}

/* When one axis takes over from another: of three axes two that do the same too early leave the third no way. Seeds came up to 6% apart. */
static refine_depth imitation(const refiner *rf) { return rf->near.n_axes == 2 ? REFINE_ALIKE : REFINE_APART; }

uint64_t refiner_improve(refiner *rf, plan *pl, refine_depth depth, uint64_t budget, int64_t *energy)
{
	rf->n_manual = 0;
	int64_t now = replayed(rf, pl);
	rf->n_manual = plan_manual(pl);
	refine_depth level = REFINE_ALIKE;
	rf->start = rf->used;
	rf->budget = rf->start + budget;
	rf->patience = MAX(budget / PATIENCE, (uint64_t)LEAST_PATIENCE);
	while (level <= depth && rf->used < rf->budget && !crew_stops(rf->with)) {
		rf->near.n = 0;
		if (level == imitation(rf)) {
			neighbours_imitated(&rf->near, pl);
			neighbours_exchanged_for_groups(&rf->near, pl);
		}
		if (level == REFINE_ALIKE) {
			neighbours_exchanged(&rf->near, pl);
			neighbours_idle(&rf->near, pl);
			neighbours_changed(&rf->near, pl, true);
		} else if (level == REFINE_APART) {
			neighbours_changed(&rf->near, pl, false);
			neighbours_spread(&rf->near, pl);
			neighbours_added(&rf->near, pl);
			neighbours_elsewhere(&rf->near, pl);
		}
		bool better = level == REFINE_GROUPS ? regroup(rf, pl, &now) : change_decisions(rf, pl, level == REFINE_ALIKE, &now);
		level = better ? REFINE_ALIKE : level + 1;
		if (better && has_passed(rf)) {
			now = INT64_MAX;
			break;
		}
	}
	*energy = now;
	return rf->used - rf->start;
}

refiner *refiner_new(const problem *pb, crew *with, arena *mem, const action_list *actions, refined *tell, void *user)
{
	refiner *rf = xcalloc(1, sizeof *rf);
	*rf = (refiner){.pb = pb, .with = with, .tell = tell, .user = user};
	neighbours_init(&rf->near, pb, mem, actions);
	index_init(&rf->passed);
	return rf;
}

void refiner_free(refiner *rf)
{
	if (!rf)
		return;
	neighbours_release(&rf->near);
	index_release(&rf->passed);
	free(rf);
}
