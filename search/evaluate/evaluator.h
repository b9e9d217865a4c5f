/* Private to evaluator*.c: what one evaluator has.
 *	evaluator.c          its life and the path of decisions
 *	evaluator_parts.c    what it is made of, when that is first needed
 *	evaluator_cost.c     what states cost
 *	evaluator_folded.c   actions of the whole program on the folded one
 *	evaluator_bound.c    what states and all that can come of them cost at least
 *	evaluator_answer.c   what is told of a path: targets, shardings, the strategy
 *	evaluator_replay.c   the strategy, propagated afresh as XLA will do it */
#ifndef SW_EVALUATOR_H
#define SW_EVALUATOR_H

#include "search/evaluate/state.h"

enum { FOLDED, WHOLE, WAYS };

/* A matmul of the program, and how often a step runs it. */
typedef struct bound_part {
	node_id node;
	int64_t times;
} bound_part;

/* What costs one program. */
typedef struct coster {
	lower_cache *lower;
	lowered *low;
	simulator *sim;
	sharding_id *costed; /* by pval: what is lowered, with results as the next step needs them */
	bool known;          /* the last cost asked for was remembered */
	cost cost;
	bool matmuls_known; /* evaluator_bound.c: these, */
	VEC(bound_part) matmuls;
} coster;

/* An action of the whole program on the folded one. */
typedef struct folded_action {
	const action_target *key, *targets;
	uint32_t n_key, n_targets;
	bool inner; /* targets are values, not arguments */
	bool even;  /* what stands for several layers does so for this action too */
} folded_action;

/* A path, and what its replay came to: its cost, and what it chose for the path. */
typedef struct replay_kept {
	action path[MAX_PLAN];
	uint32_t depth;
	bool known, allowed;
	goal g;
	cost c;
	priority_of priority;
	VEC(pval_id) held;
} replay_kept;

struct evaluator {
	const problem *pb;
	const folding *fold; /* NULL: nothing is folded */
	sharding_table *t;
	mesh_links links;
	search_state *on[WAYS]; /* made when they are first needed */
	coster cost[WAYS];
	uint32_t depth,
		uneven_from;       /* decisions from here on need the whole program; ID_NONE: none does */
	action path[MAX_PLAN]; /* so that a plan that shares its beginning starts from there */
	bool broken;
	evaluator_stats stats;
	propagation *fresh[WAYS]; /* for replays */
	priority_of priority;  /* what the answer takes for the user priority of a dim; the last replay
	                          of this path chose it */
	VEC(sharding_id) pins; /* by result */

	/* folding */
	arena mem;
	int32_t *result_of_arg; /* of the folded program, as in the problem */
	donation dn;
	uint32_t *class_size;      /* by the first of the values in the band that are counterparts */
	uint32_t *seen, *seen_dim; /* by class: targets counted, their dim */
	uint32_t *target_of;       /* by pval of the folded program */
	index_map by_targets;
	VEC(folded_action) actions;
	VEC(action_target) expanded;
	VEC(pval_id) sites; /* constrained values */
	VEC(pval_id) held;  /* values that the last replay of this path holds to what the path led to */
	replay_kept last;   /* plans are replayed as steps of a descent, and then as candidates */
};

static inline bool is_folded(const evaluator *ev) { return ev->fold && ev->uneven_from == ID_NONE; }
static inline search_state *present(const evaluator *ev)
{
	return ev->on[is_folded(ev) ? FOLDED : WHOLE];
}

/* What stands for a target of the whole program: an argument, or for a constraint a value; ID_NONE:
 * it is dead. */
static inline uint32_t fold_target(const evaluator *ev, bool inner, uint32_t target)
{
	return inner ? ev->fold->val_of[target] : ev->fold->arg_of[target];
}
static inline pval_id fold_value(const evaluator *ev, bool inner, uint32_t folded)
{
	return inner ? folded : ev->fold->p->args.p[folded];
}

/* ---------------------------------------------------------------- evaluator_parts.c */

/* The memory that a memo table may take. */
size_t memo_part(const problem *pb);
propagation *evaluator_propagation(evaluator *ev, const program *p);
/* These are made when they are first asked for. */
search_state *evaluator_state(evaluator *ev, int way);
coster *evaluator_coster(evaluator *ev, int way);
void coster_release(coster *c);

/* ---------------------------------------------------------------- evaluator_cost.c */

/* Makes c->costed the state that the path is in on this program. */
void coster_load(evaluator *ev, coster *c, int way);
/* The cost of what c->costed says; false when layers of the folded program come out differently. */
bool coster_find(evaluator *ev, coster *c, int way, cost *out);

/* ---------------------------------------------------------------- evaluator_folded.c */

/* Decides whether this evaluator walks the problem's folded program, and makes what that needs. */
void fold_begin(evaluator *ev);
const folded_action *fold_action(evaluator *ev, const action *a);
action with_targets(const action *a, const folded_action *f);
/* Numbers targets of the folded program, for target_index: which of them stands for one of the
 * whole program's; ID_NONE. */
void mark_targets(evaluator *ev, bool inner, const action_target *list, uint32_t n);
uint32_t target_index(const evaluator *ev, bool inner, uint32_t target);

/* ---------------------------------------------------------------- evaluator_answer.c */

/* What the answer says of an argument (own: of the program that the path is on), in any table that
 * has the evaluator's meshes under the same ids. */
sharding_id export_argument(evaluator *ev, uint32_t own, sharding_table *into);
sharding_id export_sharding(
	evaluator *ev, pval_id v, sharding_table *into); /* the same of a constrained value */
/* Of a value that a replay holds: its axes, closed, before anything else propagates. */
sharding_id export_held(evaluator *ev, pval_id v, sharding_table *into);
/* Into ev->sites: the constrained values, each once, in the order of the decisions. */
void list_sites(evaluator *ev);
/* Into ev->sites, behind them: values that the last replay holds, those of all layers. */
void list_held(evaluator *ev);
static inline pval_id present_value(const evaluator *ev, pval_id v)
{
	return is_folded(ev) ? ev->fold->val_of[v] : v;
}

#endif
