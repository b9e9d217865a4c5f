/* Tactics of the search tree: what mesh axes cut, found once each, and the composite plans that
 *they combine to.
 *	tactics.def     the table
 *	axis_sets.c     which axes there are, alone and together
 *	tactics.c       how instances stand in plans
 *	instances.c     finds them
 *	completions.c   lists composite plans */
#ifndef SW_SEARCH_TACTICS_H
#define SW_SEARCH_TACTICS_H

#include "search/evaluate/evaluate.h"

/* Before the batch: the batch is cut where the instance leaves it alone, for layers of both sorts.
 * Shardy's priorities order dims, not the axes of one, so what all axes do comes before the batch
 * of all of them. */
typedef enum place { BEFORE_BATCH, BEHIND_BATCH, BEHIND_ZERO } place;
/* What else is decided when it is found: which axes cut the batch, and how the optimizer state is
 * cut. */
typedef enum batch_over { BATCH_NONE, BATCH_OTHERS, BATCH_ALL } batch_over;
typedef enum state_cut {
	STATE_WHOLE,
	STATE_ZERO2,
	STATE_ZERO3_HERE /* and ZeRO-2 over the others */
} state_cut;
typedef enum dims { WEIGHTS, DATA } dims;
/* Sizes of axis sets, as bits. */
enum { ONE_AXIS = 1, TWO_AXES = 2 /* of three or more */, ALL_AXES = 4 /* of two or more */ };

typedef enum tactic_id {
	CUTS_BATCH, /* and nothing else: no instance */
#define TACTIC(name, ...) CUTS_##name,
#include "search/tree/tactics.def"
#undef TACTIC
	TACTICS
} tactic_id;
typedef struct tactic_row {
	uint32_t sets; /* sizes that it is found for */
	batch_over batch;
	state_cut state;
	dims cuts;
	tactic_id after; /* goes on from that one's instance */
	place placed;
	bool usual; /* what people write */
	const char *words;
} tactic_row;
extern const tactic_row tactic_rows[TACTICS];
static inline bool cuts_batch(tactic_id t)
{
	return t == CUTS_BATCH || tactic_rows[t].batch == BATCH_ALL;
}

enum {
	MAX_COMPOSED_AXES = 4,
	MAX_AXIS_SETS = MAX_COMPOSED_AXES + MAX_COMPOSED_AXES * (MAX_COMPOSED_AXES - 1) / 2 + 1
};

/* Axes that do the same, as if they were one. */
typedef struct axis_set {
	uint32_t size, mask; /* bits of the space's axes */
	uint32_t like; /* whose instances it takes: its own, or those of one of its size before it */
	plan instance[TACTICS]; /* axes of decisions say nothing */
} axis_set;

/* Where the second one's instance stands: before the batch, between the batch over its own axes and
 * that over the first one's, behind. */
typedef enum split_place { SPLIT_BEFORE, SPLIT_BETWEEN, SPLIT_BEHIND, SPLIT_PLACES } split_place;
enum { MAX_SPLITS = 2 * MAX_COMPOSED_AXES * SPLIT_PLACES + SPLIT_PLACES - 1 };
/* Two axis sets that share all axes, both of which cut weights and the batch: what the second one
 * cuts is found where the first one's instance stands. Each on its own they would cut the same
 * dims. The first one's is of WEIGHTS_BEFORE_BATCH. The best split before the batch is turned round
 * as well: what the second one found there is given, and the first one is asked again in the other
 * places. */
typedef struct split {
	const axis_set *first, *second;
	const plan *given; /* the first one's */
	split_place place;
	plan instance; /* the second one's */
	int64_t best;  /* what try_plan says with both */
} split;

typedef struct tactic_space {
	const problem *pb;
	const goal *goal;
	worker_pool *pool;
	const scope *of;
	uint32_t n_axes, axes[MAX_COMPOSED_AXES]; /* of the scope, that cut anything */
	uint32_t n_sets;
	axis_set sets[MAX_AXIS_SETS]; /* first those of one axis, in their order */
	split splits[MAX_SPLITS];
	uint32_t n_splits, first_split; /* to be found */
	struct finding {
		axis_set *set;
		tactic_id tactic;
	} findings[MAX_AXIS_SETS * TACTICS];
	uint64_t part;  /* evaluations of one finding */
	uint64_t spare; /* what may be used besides the budget, where it does for a few findings only
	                   and weights of all axes before the batch are found on top */
	uint64_t used;
	const struct tactic_priors *priors; /* NULL: nothing is known of what is likely */
	bool some_left;                     /* unlikely tactics are not found yet */
} tactic_space;

/* tactics.c: what a tactic cuts, as bits (AXIS_BATCH ..). */
uint32_t tactic_cuts(tactic_id t);
void append_role(const scope *of, plan *pl, role_action which, uint32_t axis);
/* A decision on all axes of a set, from a place on. */
void insert_on_axes(
	const tactic_space *ts, const axis_set *set, plan *pl, uint32_t at, const action *a);
/* The first set's instance and the batch over all axes, minor those of the set whose weights are
 * cut behind it; returns where the second set's instance goes. */
uint32_t begin_split(const tactic_space *ts, const split *sp, plan *pl);

/* axis_sets.c: False: no axis cuts anything, or there are too many. */
bool axis_sets_find(tactic_space *ts);

/* instances.c: finds axis sets and instances of tactics, with at most so many evaluations and
 * `spare` ones: where there are priors, of those that are likely. False: no axis cuts anything, or
 * there are too many. */
bool tactics_find(tactic_space *ts, uint64_t budget);
/* And of all others. */
void tactics_find_rest(tactic_space *ts, uint64_t budget);

/* A composite plan, and its path in the tree: which axes are joined, what each set does, how state
 * and parameters are cut (ZeRO). */
enum { MAX_PATH = MAX_COMPOSED_AXES + 2 };
typedef struct completion {
	plan pl;
	uint32_t depth, path[MAX_PATH];
} completion;
typedef VEC(completion) completion_list;
/* The last step of a path, in words: "data: weights", "ZeRO-2 over data". */
void completion_words(
	const tactic_space *ts, const uint32_t *path, uint32_t depth, char *out, size_t size);
/* What axes cut, as bits. */
enum {
	AXIS_BATCH = 1,
	AXIS_WEIGHTS = 2,
	AXIS_DATA = 4,
	AXIS_ZERO2 = 8,
	AXIS_ZERO3 = 16,
	AXIS_CUTS_END = 32
};
typedef struct path_cuts {
	uint32_t n; /* axes */
	struct {
		uint32_t said, cuts; /* which of the bits the path says, and those of them that are set */
	} axes[MAX_COMPOSED_AXES];
	uint32_t alike; /* axes that are joined: they cut the same */
} path_cuts;
/* What the steps of a path say of the axes. False: nothing, it is no composite plan's. */
bool completion_cuts(const tactic_space *ts, const uint32_t *path, uint32_t depth, path_cuts *out);
/* At most so many, what is usual first. */
void completions_list(const tactic_space *ts, uint32_t most, completion_list *out);

#endif
