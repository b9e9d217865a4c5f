/* Shared by recipes.c, which finds what axes may cut, and compose.c, which combines it to plans. */
#ifndef SW_SEARCH_COMPOSER_H
#define SW_SEARCH_COMPOSER_H

#include "search/internal.h"

enum { MAX_UNITS = MAX_COMPOSED_AXES + MAX_COMPOSED_AXES * (MAX_COMPOSED_AXES - 1) / 2 + 1 };

typedef struct outcome {
	cost c;
	bool done, replayed;
} outcome;

/* ---------------------------------------------------------------- ways to use an axis */

/* Before the batch: the batch is cut where the recipe leaves it alone, for layers of both sorts. Shardy's priorities order dims,
 * not the axes of one, so what all axes do comes before the batch of all of them. */
typedef enum place { BEFORE_BATCH, BEHIND_BATCH, BEHIND_ZERO } place;
/* What else is decided when it is found: which axes cut the batch, and how the optimizer state is cut. */
typedef enum batch_over { BATCH_NONE, BATCH_OTHERS, BATCH_ALL } batch_over;
typedef enum state_cut { STATE_WHOLE, STATE_ZERO2, STATE_ZERO3_HERE /* and ZeRO-2 over the others */ } state_cut;
typedef enum dims { WEIGHTS, DATA } dims;
/* Sorts of units, as bits. */
enum { ONE = 1, PAIR = 2 /* of three axes or more */, ALL = 4 /* of two or more */ };

/*      name                  found for         with the batch and the state     cuts     after what               placed        odd */
#define WAYS(WAY)                                                                                                                         \
	WAY(WEIGHTS,              ONE | PAIR,       BATCH_OTHERS,  STATE_ZERO2,      WEIGHTS, CUTS_BATCH,              BEHIND_BATCH, false)    \
	WAY(WEIGHTS_DATA,         ONE,              BATCH_OTHERS,  STATE_ZERO2,      DATA,    CUTS_WEIGHTS,            BEHIND_BATCH, true)     \
	WAY(WEIGHTS_BEFORE_BATCH, ONE | PAIR | ALL, BATCH_ALL,     STATE_ZERO2,      WEIGHTS, CUTS_BATCH,              BEFORE_BATCH, true)     \
	WAY(DATA,                 ONE | PAIR,       BATCH_OTHERS,  STATE_WHOLE,      DATA,    CUTS_BATCH,              BEHIND_BATCH, true)     \
	WAY(DATA_ZERO,            ONE,              BATCH_OTHERS,  STATE_ZERO2,      DATA,    CUTS_BATCH,              BEHIND_BATCH, true)     \
	WAY(DATA_WEIGHTS_ZERO,    ONE,              BATCH_OTHERS,  STATE_ZERO2,      WEIGHTS, CUTS_DATA_ZERO,          BEHIND_BATCH, true)     \
	WAY(DATA_AFTER_ZERO,      ONE,              BATCH_OTHERS,  STATE_ZERO3_HERE, DATA,    CUTS_BATCH,              BEHIND_ZERO,  true)     \
	WAY(WEIGHTS_ALONE,        ONE,              BATCH_NONE,    STATE_WHOLE,      WEIGHTS, CUTS_BATCH,              BEHIND_BATCH, true)

typedef enum axis_way {
	CUTS_BATCH, /* and nothing else: no recipe */
#define WAY(name, ...) CUTS_##name,
	WAYS(WAY)
#undef WAY
	AXIS_WAYS
} axis_way;
typedef struct way_row {
	uint32_t units;
	batch_over batch;
	state_cut state;
	dims cuts;
	axis_way after; /* goes on from that one's recipe */
	place placed;
	bool odd;
} way_row;
extern const way_row composer_ways[AXIS_WAYS];
static inline bool cuts_batch(axis_way w) { return w == CUTS_BATCH || composer_ways[w].batch == BATCH_ALL; }

/* Axes that do the same, as if they were one. */
typedef struct unit {
	uint32_t sort, mask; /* bits of the composer's axes */
	uint32_t like;       /* whose recipes it takes: its own, or those of one of its size before it */
	plan recipe[AXIS_WAYS]; /* axes of decisions say nothing */
} unit;

/* Where the second one's recipe stands: before the batch, between the batch over its own axes and that over the first one's, behind. */
typedef enum split_place { SPLIT_BEFORE, SPLIT_BETWEEN, SPLIT_BEHIND, SPLIT_PLACES } split_place;
enum { MAX_SPLITS = 2 * MAX_COMPOSED_AXES * SPLIT_PLACES + SPLIT_PLACES - 1 };
/* Two units that share all axes, both of which cut weights and the batch: what the second one cuts is found where the first one's
 * recipe stands. Each on its own they would cut the same dims. The first one's is of WEIGHTS_BEFORE_BATCH. The best split before the
 * batch is turned round as well: what the second one found there is given, and the first one is asked again in the other places. */
typedef struct split {
	const unit *first, *second;
	const plan *given; /* the first one's */
	split_place place;
	plan recipe;       /* the second one's */
	int64_t best;      /* what try_plan says with both */
} split;

typedef struct composer {
	const problem *pb;
	crew *with;
	const action_list *actions;
	uint32_t n_axes, axes[MAX_COMPOSED_AXES]; /* that cut anything */
	uint32_t n_units;
	unit units[MAX_UNITS]; /* first those of one axis, in their order */
	split splits[MAX_SPLITS];
	uint32_t n_splits, first_split; /* to be found */
	uint32_t n_split_plans, n_plans, cap; /* those of splits come first */
	plan *plans;
	outcome *outcomes;
	plan repaired;
	cost *after;     /* by action: the repaired plan with it */
	struct finding {
		unit *u;
		axis_way way;
	} findings[MAX_UNITS * AXIS_WAYS];
	uint64_t part;   /* evaluations of one finding */
	uint64_t used;
} composer;

/* Finds units and what they cut, with at most so many evaluations. False: no axis cuts anything, or there are too many. */
bool composer_find_recipes(composer *k, uint64_t budget);
void composer_append_role(const problem *pb, plan *pl, role_action which, uint32_t axis);
/* The first unit's recipe and the batch over all axes, minor those of the unit whose weights are cut behind it; returns where the
 * second unit's recipe goes. */
uint32_t composer_begin_split(const composer *k, const split *sp, plan *pl);
/* A decision on all axes of a unit, from a place on. */
void composer_insert(const composer *k, const unit *u, plan *pl, uint32_t at, const action *a);

#endif
