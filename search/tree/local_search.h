/* Local search from a plan, a neighbourhood at a time: a descent through levels of moves that grow
 * where the smaller ones lead nowhere, then walks of random moves that take steps up, too, less
 * and less (threshold accepting, Dueck and Scheuer 1990), each from the best plan. Whatever finds a
 * better plan begins the descent again. It can be left after each step and taken up later: the tree
 * decides. */
#ifndef SW_SEARCH_LOCAL_SEARCH_H
#define SW_SEARCH_LOCAL_SEARCH_H

#include "search/tree/moves.h"

/* What local searches of one tactic share. */
typedef struct local_search {
	const problem *pb;
	const goal *goal;
	worker_pool *pool;
	neighbourhood near;
	cost costs[MOST_VARIANTS]; /* of those near */
	regrouping_list regroupings;
	sampler draws;
	index_map passed; /* states that descents came through */
	uint32_t n_passed;
	uint32_t n_manual; /* decisions that a plan has to keep */
	uint64_t patience; /* evaluations of regroupings without a better plan */
	uint64_t budget, used;
	uint64_t lists_cut; /* neighbourhoods of more than MOST_VARIANTS */
} local_search;

/* One of them, as far as it has come. */
typedef struct descent {
	plan pl;   /* the best so far */
	cost c;    /* of it, replayed; NOT_COSTED: it may not be an answer */
	plan here; /* where the walk is */
	int64_t here_energy;
	level at;      /* what is tried next */
	uint32_t next; /* regrouping */
	bool found;    /* a regrouping of this round was better */
	uint64_t patience,
		idle;               /* of regroupings: how long without a better plan, and how long it is */
	uint32_t walked, walks; /* steps of this walk, and whole walks since the plan became better */
	uint64_t news;          /* evaluations of this walk: with fewer than steps it is the last */
	rng random;
	bool done; /* nothing is left to try, or another descent came through its plan */
} descent;

void local_search_init(local_search *ls, const problem *pb, const goal *g, worker_pool *pool,
	const scope *of, arena *mem, uint64_t patience);
void local_search_release(local_search *ls);
/* Replays the plan. */
void descent_begin(local_search *ls, descent *d, const plan *pl, uint64_t seed, uint32_t number);
/* One neighbourhood, of at most so many evaluations; returns those used. *better: the plan became
 * better. */
uint64_t descent_step(local_search *ls, descent *d, uint64_t budget, bool *better);

#endif
