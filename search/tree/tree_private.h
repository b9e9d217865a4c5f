/* Private to tree*.c: what a search tree is made of.
 *	tree.c        its shape, values, visits
 *	tree_list.c   the tree as it stands, for people */
#ifndef SW_SEARCH_TREE_PRIVATE_H
#define SW_SEARCH_TREE_PRIVATE_H

#include "search/tree/tree.h"

typedef struct tree_node {
	uint32_t parent, key, first_child, next; /* next: sibling; ID_NONE */
	uint32_t leaf;                           /* ID_NONE: inner node */
	double prior;                            /* see tactic_prior */
	uint64_t used;                           /* evaluations below it */
	double expected;  /* the least energy of leaves below it that are not done; HUGE_VAL: none was
	                     costed */
	bool done, waits; /* waits: to be costed in the present batch */
} tree_node;

struct tree {
	const problem *pb;
	local_search *ls;
	uint64_t seed;
	VEC(tree_node) nodes;
	completion_list leaves;
	VEC(tree_leaf) states; /* of leaves */
	const tactic_space *ts;
	const tactic_priors *priors; /* NULL: nothing is known */
	int64_t best;                /* least energy of all */
	double gain;                 /* logarithm of what whole descents gained, summed up */
	uint32_t gained;             /* descents */
	uint32_t turn;
	int64_t
		walk_waits; /* evaluations that other leaves had and the walk from the best plan had not */
	cost costs[LEAVES_AT_ONCE];
	plan batch[LEAVES_AT_ONCE];
};

#endif
