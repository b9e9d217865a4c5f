/* The search tree: partial composite plans, whole ones at its leaves, and a local search from each
 * leaf that is worth it. */
#ifndef SW_SEARCH_TREE_H
#define SW_SEARCH_TREE_H

#include "search/tree/local_search.h"
#include "search/tree/priors.h"

typedef struct tree tree;
typedef struct tree_leaf {
	uint32_t node;
	cost first,
		c; /* of its own plan; of the best one so far, replayed where a local search has begun */
	bool costed, merged, whole; /* merged: another one's plan comes to the same; whole: its descent
	                               came to its end */
	descent *search;            /* NULL: not begun */
} tree_leaf;

tree *tree_new(const problem *pb, local_search *ls, uint64_t seed);
void tree_free(tree *t);
/* What paths are of and what won elsewhere (NULL: nothing is known), from which leaves that are
 * added from now on have their priors. */
void tree_set_priors(tree *t, const tactic_space *ts, const tactic_priors *priors);
/* A leaf, unless there is one of its path. */
void tree_add(tree *t, const completion *c);
/* One visit, or several first ones at once, with at most so many evaluations. *changed: the leaf
 * whose plan became better; ID_NONE. False: nothing is left to do. */
bool tree_visit(tree *t, uint64_t budget, uint64_t *used, uint32_t *changed);
/* After what energies depend on has changed. */
void tree_rescore(tree *t);
const tree_leaf *tree_leaf_at(const tree *t, uint32_t leaf);
const plan *tree_plan(const tree *t, uint32_t leaf);
const plan *tree_first_plan(const tree *t, uint32_t leaf); /* before its local search */
/* The best leaf, and then the next best one after another; ID_NONE: there is none. Those that
 * others came to are left out. */
uint32_t tree_next_best(const tree *t, uint32_t after);
uint32_t tree_size(const tree *t); /* nodes */
/* tree_list.c: the nodes that most was spent on, at most so many, each behind its parent. Returns
 * how many. */
uint32_t tree_list(const tree *t, const tactic_space *ts, uint32_t most, search_node *out);

#endif
