/* Plans near another one.
 *	moves.def       the table
 *	moves.c         what is left out, moved, repeated or added, and what axes do instead of each other
 *	regroupings.c   what is decided anew: groups and classes of inner dims
 *	sampled.c       one random move */
#ifndef SW_SEARCH_MOVES_H
#define SW_SEARCH_MOVES_H

#include "search/evaluate/evaluate.h"

/* How far from a plan a descent looks: decisions with their twins on all axes; each alone, and
 * roles more; groups; then it samples. */
typedef enum level { ALIKE, APART, GROUPS, SAMPLED, NEVER } level;
typedef enum move_id {
#define MOVE(name, ...) MOVE_##name,
#include "search/tree/moves.def"
#undef MOVE
	MOVES
} move_id;

/* Around a plan: a list of variants; when it is full, nothing is added, and it is cut. Targets of
 * new decisions come from mem. */
typedef struct neighbourhood {
	const problem *pb;
	const scope *of;
	arena *mem;
	uint32_t n_axes, axes[MAX_MESH_AXES]; /* of the scope, that cut anything */
	uint32_t n;
	plan *variants;
	struct thinned { /* by variant: which group it leaves out of which decision; at: ID_NONE for
		                other variants */
		uint32_t at, group;
	} * thinned;
	uint32_t *groups;       /* those of most bytes first */
	action_target *targets; /* room for those of one action */
	bool *odd; /* by argument: every second one of its group, in the order in which the program uses
	              them */
	bool fits; /* the plan does */
	bool cut;  /* a variant found the list full */
} neighbourhood;

void neighbourhood_init(neighbourhood *nb, const problem *pb, const scope *of, arena *mem);
void neighbourhood_release(neighbourhood *nb);
/* The same plan once more, to be changed; NULL: the list is full. */
plan *neighbourhood_add(neighbourhood *nb, const plan *from);
/* Without variants, and not cut. */
void neighbourhood_clear(neighbourhood *nb);
/* Everything that moves of a descent's level lead to. */
void neighbourhood_list(neighbourhood *nb, const plan *pl, level at);
/* Leaves the group out of the decision, and of its twins; false when that changes nothing or leaves
 * nothing. */
bool leave_out_group(const neighbourhood *nb, plan *pl, uint32_t at, uint32_t group, bool twins);

/* The lists of moves.def; the list that a move adds to, and the plan. */
typedef void move_list(neighbourhood *nb, const plan *pl);
move_list list_exchanged, list_idle, list_imitated, list_exchanged_for_groups, list_changed_alike,
	list_changed_apart, list_memory_savers, list_spread, list_added, list_elsewhere;

/* ---------------------------------------------------------------- regroupings.c */

/* One thing that is decided anew. */
typedef struct regrouping {
	uint32_t group; /* ID_NONE: a class of inner dims */
	const activation_class *sc;
	uint32_t mask; /* axes */
	bool crossed;  /* of two axes: one dim on the one, another on the other */
} regrouping;
typedef VEC(regrouping) regrouping_list;

/* Every group and every class of inner dims, on all axes alike; then on each; then every group on
 * two axes at once. */
void regroupings_list(const neighbourhood *nb, regrouping_list *out);
/* Variants of as many of them as make a good list, in the place of what was there: threads wait for
 * each other after each. ends: of their variants. Returns how many. */
uint32_t regroupings_of(neighbourhood *nb, const plan *pl, const regrouping_list *all,
	uint32_t from, uint32_t ends[REGROUPINGS]);

/* ---------------------------------------------------------------- sampled.c */

/* What random moves draw from. */
typedef struct sampler {
	const problem *pb;
	arena *mem;
	const scope *of;
	uint64_t weight_sum;            /* of its sampled actions */
	const plan *instances, *others; /* plans on axis 0; plans to borrow from */
	uint32_t n_instances, n_others;
	uint32_t n_axes;
	const uint32_t *axes;
} sampler;
/* Makes *pl a random neighbour; false when the move picked has nothing to work on. */
bool sample_move(const sampler *s, rng *random, plan *pl);

#endif
