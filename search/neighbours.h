/* Plans near another one, for its descent.
 *	neighbours.c   what is left out, moved, repeated or added, and what axes do instead of each other
 *	regroupings.c  what is decided anew: groups and classes of inner dims */
#ifndef SW_SEARCH_NEIGHBOURS_H
#define SW_SEARCH_NEIGHBOURS_H

#include "search/internal.h"

enum { MOST_VARIANTS = 192, REGROUPINGS = 48 /* in a list, at most; variants that make one long enough */ };

/* A list of variants; when it is full, nothing is added. Targets of new decisions come from mem. */
typedef struct neighbours {
	const problem *pb;
	arena *mem;
	const action_list *actions;
	uint32_t n_axes, axes[MAX_MESH_AXES]; /* that cut anything */
	uint32_t n;
	plan *variants;
	struct thinned { /* by variant: which group it leaves out of which decision; at: ID_NONE for other variants */
		uint32_t at, group;
	} *thinned;
	uint32_t *groups;       /* those of most bytes first */
	action_target *targets; /* room for those of one action */
	bool *odd;              /* by argument: every second one of its group, in the order in which the program uses them */
} neighbours;

void neighbours_init(neighbours *nb, const problem *pb, arena *mem, const action_list *actions);
void neighbours_release(neighbours *nb);
/* The same plan once more, to be changed; NULL: the list is full. */
plan *neighbours_add(neighbours *nb, const plan *from);

/* Adds what there is near the plan.
 *	changed    each decision is left out, decided first, last or before ZeRO, keeps off one group of what it cuts, or of a ZeRO decision
 *	           the parameters of one group are kept whole rather than cut, or cut rather than kept whole. twins: decisions with their
 *	           twins, once; otherwise those that have any, alone
 *	added      decisions about whole roles, at every place
 *	spread     each decision on one axis more, in front of it or behind it
 *	elsewhere  each decision on another axis instead, and state on that axis too
 *	exchanged  two axes change places: in all that is decided, or for one group
 *	idle       one axis does nothing
 *	imitated   one axis does what another one does */
void neighbours_changed(neighbours *nb, const plan *pl, bool twins);
void neighbours_added(neighbours *nb, const plan *pl);
void neighbours_spread(neighbours *nb, const plan *pl);
void neighbours_elsewhere(neighbours *nb, const plan *pl);
void neighbours_exchanged(neighbours *nb, const plan *pl);
void neighbours_idle(neighbours *nb, const plan *pl);
void neighbours_exchanged_for_groups(neighbours *nb, const plan *pl);
void neighbours_imitated(neighbours *nb, const plan *pl);
/* Leaves the group out of the decision, and of its twins; false when that changes nothing or leaves nothing. */
bool neighbours_thin(const neighbours *nb, plan *pl, uint32_t at, uint32_t group, bool twins);

/* One thing that is decided anew. */
typedef struct regrouping {
	uint32_t group;       /* ID_NONE: a class of inner dims */
	const site_class *sc;
	uint32_t mask;        /* axes */
	bool crossed;         /* of two axes: one dim on the one, another on the other */
} regrouping;
typedef VEC(regrouping) regrouping_list;

/* Every group and every class of inner dims, on all axes alike; then on each; then every group on two axes at once. */
void regroupings_list(const neighbours *nb, regrouping_list *out);
/* Variants of as many of them as make a good list, in the place of what was there: threads wait for each other after each. ends: of
 * their variants. Returns how many. */
uint32_t regroupings_of(neighbours *nb, const plan *pl, const regrouping_list *all, uint32_t from, uint32_t ends[REGROUPINGS]);

#endif
