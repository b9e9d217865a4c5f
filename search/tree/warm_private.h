/* Private to warm*.c: how what a plan decides about is called.
 *	warm_tell.c   names, and decisions in terms of them
 *	warm.c        decisions of a document read as plans here */
#ifndef SW_SEARCH_WARM_PRIVATE_H
#define SW_SEARCH_WARM_PRIVATE_H

#include "search/tree/warm.h"

/* "params['layers'][12]['w']" is "params['layers'][#]['w']". */
void warm_fold_name(const char *name, strbuf *out);
void warm_arg_name(const problem *pb, uint32_t a, strbuf *out);
uint32_t warm_arg_rank(const problem *pb, uint32_t a);
str warm_axis_name(const problem *pb, uint32_t axis);
int64_t warm_axis_length(const problem *pb, uint32_t axis);
/* DIM_LARGEST and DIM_KEEP, which are words, for the numbers are dims. */
extern const char *const warm_dim_words[2];
/* The op that a class of inner dims begins at. */
str warm_site_op(const problem *pb, const activation_class *sc);
bool warm_same_site(const problem *pb, const activation_class *a, const activation_class *b);

#endif
