/* Shared by the files that compile the planning program; private to propagate/. */
#ifndef SW_PROGRAM_INTERNAL_H
#define SW_PROGRAM_INTERNAL_H

#include "propagate/propagate.h"

/* Who calls every function, in the order of the module. */
typedef struct callers {
	const module *m;
	op_id *calls;
	uint32_t *from, n; /* by function: where its calls are */
} callers;
void callers_init(callers *c, const module *m);
void callers_release(callers *c);
/* The calls of a function; the list lives as long as c. */
const op_id *callers_of(const callers *c, const func *f, uint32_t *n);

/* The data_flow_edge or func_data_flow_edge that owns a value (its only user), or ID_NONE. */
op_id edge_of_owner(const module *m, value_id owner);
/* Values that flow into an edge, given its owner: calls take(user, value) for each, in Shardy's
 * order. */
typedef void (*take_value)(void *user, value_id v);
void edge_sources(const module *m, value_id owner, take_value take, void *user);
/* The other values that the edge of this owner stands for (arguments of a loop's regions). */
void edge_other_targets(const module *m, value_id owner, take_value take, void *user);

/* Takes the uses that a node's op makes of values off their counts; bodies made of nodes apart. */
void node_drop_uses(const program *p, const node *n, uint32_t *uses);

/* program_notify.c: which nodes see a change of which value. */
void program_link(program *p);
/* Of these the uses alone: slots by the pval they read, ascending. No pval has any yet. */
void program_link_uses(program *p);
/* program_loops.c: trip count of a while op; false when it is not a counted loop. */
bool while_trips(const module *m, op_id o, int64_t *out);
/* The most iterations that the counter of a loop allows which may end early or begin late: one that
 * begins at nobody knows what begins at 0. False: it says none, or more than a million. */
bool while_bound(const module *m, op_id o, int64_t *out);

/* Foldings reach no further: the most layers between an op and what it reads. */
enum { MAX_REACH = 2 };
bool layers_is_number(
	const program *p, pval_id v); /* a constant of one element outside of loops and branches */
bool layers_is_scalar_op(const program *p,
	node_id
		n); /* one outside of loops and branches that makes a number from numbers, elementwise */
/* fold_band.c: which values are in the band, once the folded program is there. */
void fold_find_band(folding *f);
void fold_find_slices(folding *f, const layering *ly); /* folding.cut_apart */

static inline bool node_propagates(const program *p, const node *n)
{
	return (n->kind == NODE_OP || n->kind == NODE_EDGE) && n->rule != RULE_NONE &&
		rule_get(p->rules, n->rule)->n_factors;
}

#endif
