/* Shared by roles.c and reach.c. */
#ifndef SW_SEARCH_ROLES_H
#define SW_SEARCH_ROLES_H

#include "search/problem/problem.h"

/* reach.c: what a value gets into by the next call. arg_of_result: which argument a result
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
