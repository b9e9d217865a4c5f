/* Priors of the tree: how often what a node says of the axes is what plans cut that won elsewhere.
 */
#ifndef SW_SEARCH_PRIORS_H
#define SW_SEARCH_PRIORS_H

#include "search/tree/tactics.h"

enum { MOST_STATISTICS = 256 /* plans */ };
typedef struct tactic_priors tactic_priors;
/* Statistics: a JSON array of plans, each an array with an entry for each mesh axis, an array of
 * words: what the axis cuts ("batch", "weights", "data", "zero2", "zero3"). Plans beyond the most
 * are not looked at. NULL with d filled: it is no such array. */
tactic_priors *tactic_priors_read(const char *json, diag *d);
uint32_t tactic_priors_plans(const tactic_priors *p);
void tactic_priors_free(tactic_priors *p);
/* 1, and the more the more of these plans do what the path says of the axes; 1 where nothing is
 * known (NULL), or the path says nothing of tactics. */
double tactic_prior(
	const tactic_priors *p, const tactic_space *ts, const uint32_t *path, uint32_t depth);
/* Do more than a few of the plans have the tactic on such an axis set; NULL: on all axes, each in
 * its own way? True where there are no plans. */
bool tactic_is_likely(
	const tactic_priors *p, const tactic_space *ts, const axis_set *set, tactic_id t);

#endif
