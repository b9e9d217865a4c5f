/* Private to state*.c.
 *	state.c          its life, hashes, what is asked of it
 *	state_can.c      what can be decided
 *	state_decide.c   deciding, and back */
#ifndef SW_SEARCH_STATE_PRIVATE_H
#define SW_SEARCH_STATE_PRIVATE_H

#include "search/evaluate/state.h"

enum { PRIORITY_UNSET = 255, SET_SLOTS = 1 << 10 };

typedef struct step {
	uint32_t mark;                   /* trail length before */
	uint32_t applied, changes, dims; /* lengths of the logs before */
	uint64_t hash;
} step;
typedef struct arg_change { /* undo log of one argument */
	uint32_t arg;
	uint32_t kept;
	bool decided;
} arg_change;
typedef struct set_slot { /* a sharding with one more axis, every dim closed */
	sharding_id from, to;
	type_id type;
	uint32_t dim, axis;
	bool used;
} set_slot;

/* At which step the dim of a value first got axes, and at which it last got any; PRIORITY_UNSET: it
 * has none. */
typedef struct dim_steps {
	uint8_t first, last;
} dim_steps;
typedef struct dim_change {
	uint32_t at; /* in steps_of */
	dim_steps was;
} dim_change;

struct search_state {
	const problem *pb;
	const folding *fold; /* NULL: the whole program */
	const program *p;
	sharding_table *t;
	propagation *prop;
	uint32_t n_args, depth;
	step steps[MAX_PLAN];
	decision_memo *memo;
	bool no_memo;
	uint32_t *stamps, stamp; /* by pval: the decision that last changed it */
	VEC(value_is) values;    /* what the last decision changed, and to what */
	VEC(effect_arg) args;    /* .. and all else that is remembered of it */
	VEC(uint32_t) dims;
	VEC(pval_id) asked;
	VEC(value_is) reads;
	uint64_t hash;
	VEC(uint64_t) sharding_hashes; /* by sharding id, 0: not computed */
	bool *decided, *pinned;
	uint32_t *kept;   /* by argument: axes it was told to stay free of */
	uint32_t *origin; /* by argument: one of the problem's that it stands for */
	uint32_t *noted; /* by pval: row in steps_of of arguments and of values that may be constrained;
	                    ID_NONE */
	uint32_t n_noted;
	dim_steps *steps_of; /* [noted][MAX_RANK] */
	VEC(action_target) applied;
	VEC(arg_change) changes;
	VEC(dim_change) dim_log;
	set_slot *sets;
	bool uneven; /* the last decision failed because the layers that must be alike are not, or came
	                to be so in different ways */
};

/* state.c: the hash of a sharding, which is kept. */
uint64_t find_hash(search_state *w, sharding_id id);
static inline uint64_t content_hash(search_state *w, sharding_id id)
{
	if (id == SHARDING_NONE)
		return 0;
	uint64_t known = id < w->sharding_hashes.n ? w->sharding_hashes.p[id] : 0;
	return known ? known : find_hash(w, id);
}

/* A value's part in the hash of the state. */
static inline uint64_t value_hash(search_state *w, pval_id v, sharding_id id)
{
	uint64_t content = content_hash(w, id);
	return content ? hash_combine(v + 1, content) : 0;
}

/* state_can.c */
bool uses_axis(axes l, uint32_t axis);
uint32_t propagated_dim(const search_state *w, const sharding *s, uint32_t axis);
bool can_constrain(const search_state *w, const action *a, const action_target *target);
uint32_t dim_for(const search_state *w, const action_target *target, uint32_t axis);

#endif
