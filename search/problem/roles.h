/* Shared by roles.c and what it asks: carried.c, data.c, reach.c. */
#ifndef SW_SEARCH_ROLES_H
#define SW_SEARCH_ROLES_H

#include "search/problem/problem.h"

/* ---------------------------------------------------------------- carried.c */

/* Distance from a returned value back to every argument of its dims through carrying ops; breadth
 * first, bounded. */
void nearest_arguments(const program *p, pval_id from, const ir_type *want, uint32_t *seen,
	uint32_t stamp, pval_id *queue, uint32_t *dist,
	void (*found)(void *, uint32_t arg, uint32_t distance), void *user);
/* Without donation the state result of an argument is the one it reaches with the fewest updates in
 * between: nearest pairs first, each argument and result once. */
void roles_pair_by_dataflow(problem *pb);
/* State is carried to the next step and only ever updated elementwise; a parameter is carried and
 * also feeds the computation (contractions, lookups, broadcasts, convolutions, loops). */
bool only_updated(const program *p, pval_id arg, uint32_t *seen, uint32_t stamp, pval_id *stack);
/* Marks the values that replace an argument: what is returned, and what that is before it is
 * converted, moved, selected, or handed out of the branches of a conditional. The argument itself
 * may be among them: where a step is left out, the old value stays. */
void mark_replacements(
	const problem *pb, uint32_t arg, uint32_t *seen, uint32_t stamp, pval_id *stack);
/* Is what becomes of an argument, up to what replaces it, elementwise, spread or reduced, in loops
 * and branches too? No parameter is: where a model uses it, something is contracted, looked up or
 * moved in windows. replaced: of values, stamp where they replace it. */
bool only_replaced(const program *p, pval_id arg, const uint32_t *replaced, uint32_t *seen,
	uint32_t stamp, pval_id *stack);

/* ---------------------------------------------------------------- data.c */

/* What a weight or an activation may be made of. */
bool is_numeric(const ir_type *ty);
/* Data are the index tensors and whatever else has a dim along which examples lie; what is carried
 * from step to step only when it lies along the batch of those (a cache of keys, not a table of
 * positions). Without index tensors the floats that no step carries are the data. */
void find_data(problem *pb, bool any_carried);
/* A forward pass over floats alone says nothing: the arguments whose leading size is the leading
 * size of a result are data (weights seldom share the batch size; the role only steers baselines
 * and weights). */
void guess_data(problem *pb);

/* ---------------------------------------------------------------- reach.c */

/* What a value gets into by the next call. arg_of_result: which argument a result
 * replaces, ID_NONE: none. */

/* The one parameter whose new value is made of v; ID_NONE: of none, of several, or too far away to
 * tell. Single numbers, as the norm of all gradients, bind nothing together. seen: of values, none
 * of them is stamp; queue: room for all. */
uint32_t parameter_made_of(const problem *pb, pval_id v, const uint32_t *arg_of_result,
	uint32_t *seen, uint32_t stamp, pval_id *queue);
/* Tensors that are called parameters so far, but get into no loss, only into the next values of one
 * parameter and what belongs to it: they are its state, whatever the update does with them. */
void find_owned(problem *pb, const uint32_t *arg_of_result);

#endif
