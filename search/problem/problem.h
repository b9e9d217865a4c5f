/* What a search decides about: arguments with their roles, groups of them, classes of inner dims,
 * and the actions on these. */
#ifndef SW_SEARCH_PROBLEM_H
#define SW_SEARCH_PROBLEM_H

#include "search/constants.h"
#include "search/search.h"

/* ---------------------------------------------------------------- problem.c, roles.c, groups.c */

typedef struct problem {
	module *m; /* imported copy */
	rule_table rules;
	program *p;
	folding *fold;           /* NULL: no layers to fold, or asked not to */
	bool costs_whole;        /* there is one, but most costs need the whole program */
	struct cost_memo *costs; /* NULL: every evaluator costs its states itself */
	donation dn;
	uint32_t n_args, n_results;
	role *roles;
	int32_t *result_of_arg; /* steady state: this result keeps the argument's sharding; -1: none */
	const char *pairing;
	uint32_t *param_of;  /* by argument: the parameter that a state belongs to; ID_NONE: none, or no
	                        state */
	uint32_t *batch_dim; /* by argument: the dim along which data is independent; ID_NONE: none */
	uint32_t *group_of;  /* by argument; ID_NONE when pinned or without dims */
	uint32_t n_groups;
	uint32_t *group_first,
		*group_members; /* members of group g: group_members[group_first[g] .. group_first[g+1]) */
	uint32_t *given;    /* by argument: which group of the user's it is in, an index of o->groups;
	                       ID_NONE: in none */
	const int64_t **given_dims; /* by group of the user's: what divides every member's dim */
	uint32_t *given_first;      /* its first member */
	bool *pinned;               /* arguments whose sharding the user fixed */
	arena mem;
	const search_options *o;
	mesh_id mesh;
	uint32_t n_axes;
	bool *forbidden; /* [arg][dim < MAX_RANK][axis] */
	int64_t memory_limit;
	int64_t *arg_bytes;
	struct action *role_actions;                 /* [ROLE_ACTION_COUNT][n_axes], on all arguments */
	struct activation_class *activation_classes; /* largest first */
	uint32_t n_activation_classes;
	uint32_t *site_op, n_site_ops; /* by op id: pre-order index in main of the input module, ID_NONE
	                                  for all others */
	pval_id *
		given_sites; /* values that a schedule or a document constrains, which may be in no class */
	uint32_t n_given_sites;
} problem;

/* All but the folding and the memo of costs (problem_init of search/evaluate). */
status problem_read(
	problem *pb, const module *annotated, const search_options *o, diag *d) MUST_USE;
void problem_forget(problem *pb);
/* Fills roles, batch_dim, result_of_arg and pairing from the program. */
void problem_find_roles(problem *pb);
/* groups.c: fills group_of and what belongs to it. Errors: those of problem_find_given. */
status problem_find_groups(problem *pb, diag *d) MUST_USE;
/* Fills activation_classes and site_op; original: the module that the imported one was cloned from.
 */
void problem_find_sites(problem *pb, const module *original);
/* Can the value carry a constraint? One that an op of main in the input module defines, its loops
 * and branches included. */
bool problem_is_site(const problem *pb, pval_id v);
/* The value of that result of an op of main in the input module; ID_NONE when it is none that can
 * carry a constraint. */
pval_id problem_site(const problem *pb, uint32_t op_index, uint32_t result);

/* given.c: fills given and given_dims from search_options.groups. Errors: a glob that matches
 * nothing, arguments of two globs, members that differ in rank or role, or of which some are
 * pinned. */
status problem_find_given(problem *pb, diag *d) MUST_USE;
/* An error, where an argument of a user's group is allowed and another one is not. */
status problem_takes_whole_groups(const problem *pb, const bool *allowed, diag *d) MUST_USE;
/* "pin 'x' names no argument; did you mean 'y'?" */
status names_no_argument(
	const module *m, uint32_t n_args, const char *what, const char *glob, diag *d);

bool problem_axis_cuts(const problem *pb, uint32_t axis); /* into more than one part */
/* Dims by which an argument's are chosen: of a user's group all members have the same. */
static inline const int64_t *problem_dims(const problem *pb, uint32_t arg)
{
	return pb->given[arg] == ID_NONE ? pval_type(pb->p, pb->p->args.p[arg])->dims
									 : pb->given_dims[pb->given[arg]];
}
static inline bool problem_forbids(const problem *pb, uint32_t arg, uint32_t dim, uint32_t axis)
{
	return pb->forbidden && pb->forbidden[((size_t)arg * MAX_RANK + dim) * pb->n_axes + axis];
}

/* Does a sharding put a forbidden axis on a dim of the argument? */
bool problem_forbids_sharding(
	const problem *pb, const sharding_table *t, uint32_t arg, sharding_id id);

/* ---------------------------------------------------------------- classes.c */

typedef struct dim_classes {
	uint32_t *first; /* by pval: index of its dim 0 in of */
	uint32_t *of;    /* by dim: representative of its class */
} dim_classes;
/* across_contractions: contractions hold dims together too; otherwise tensors before and after one
 * are kept apart. */
void dim_classes_init(dim_classes *c, const program *p, bool across_contractions);
void dim_classes_release(dim_classes *c);
/* Does the node sum products of several tensors? */
bool node_contracts(const program *p, const node *n);
/* The factor that a dim starts with; ID_NONE for a dim of size 1 that has none. */
uint32_t rule_major_factor(const rule *r, uint32_t tensor, uint32_t dim);

/* ---------------------------------------------------------------- actions.c */

/* A target's dim may be chosen when the action is applied: the largest one the axis still divides.
 */
enum { DIM_LARGEST = 254, DIM_KEEP = 255 /* close the argument as it is */ };
typedef struct action_target {
	uint32_t arg; /* argument; for ACTION_CONSTRAIN a pval */
	uint32_t dim;
} action_target;
/* Leaves out arguments of a user's group of which others are no targets; returns how many targets
 * there are then (given.c). */
uint32_t problem_keep_whole_groups(const problem *pb, action_target *t, uint32_t n);
/* Internal dims that are constrained together. */
typedef struct activation_class {
	action_target *targets;
	uint32_t n;
	int64_t bytes; /* of all tensors that have the dim */
} activation_class;
/* Evaluators that are made from now on can constrain these values, too. */
void problem_give_sites(problem *pb, const action_target *targets, uint32_t n);
/* The first value, and its dim, of the stream that a dim of an argument belongs to; false: none can
 * carry a constraint. */
bool problem_first_of_class(const problem *pb, uint32_t arg, uint32_t dim, action_target *out);
/* Actions on whole roles, per axis. */
typedef enum role_action {
	ROLE_ACTION_DATA_PARALLEL,
	ROLE_ACTION_ZERO2,
	ROLE_ACTION_ZERO3,
	ROLE_ACTION_REPLICATE,
	ROLE_ACTION_COUNT
} role_action;
extern const char *const role_action_names[ROLE_ACTION_COUNT];
/* ROLE_ACTION_COUNT when there is none of that name. */
role_action role_action_find(const char *name);
/* Decisions of a schedule's manual and named tactics stay; those of an automatic one until a polish
 * may change them. */
typedef enum fixed_by { NOT_FIXED, FIXED_BY_SEARCH, FIXED_BY_USER } fixed_by;
typedef struct action {
	action_kind kind;
	uint32_t axis;
	uint32_t group; /* ID_NONE for actions on whole roles */
	uint32_t dim;
	uint32_t weight; /* how often random moves pick it, > 0 */
	bool on_role;
	role_action role; /* when on_role */
	fixed_by fixed;   /* what keeps it in the plan */
	const action_target *targets;
	uint32_t n_targets;
} action;
typedef VEC(action) action_list;
/* Constraints of a schedule hold what propagation gave already, so that no later decision takes it
 * away. */
static inline bool action_holds(const action *a)
{
	return a->kind == ACTION_CONSTRAIN && a->fixed == FIXED_BY_USER;
}
/* All actions on the given axes (bit mask) and arguments (NULL: all). Memory from pb->mem. */
void actions_make(problem *pb, uint32_t axis_mask, const bool *allowed, action_list *out);
/* Made once, by problem_init; afterwards read-only, from any thread. */
void actions_make_roles(problem *pb);
const action *action_of_role(const problem *pb, role_action which, uint32_t axis);
/* The same, restricted to some arguments (NULL: all). */
action action_role(problem *pb, role_action which, uint32_t axis, const bool *allowed);
action action_manual(problem *pb, const uint32_t *args, uint32_t n, uint32_t dim, uint32_t axis);
/* On inner values; dim: of all of them, or DIM_KEEP. */
action action_constrain(const action_target *targets, uint32_t n, uint32_t dim, uint32_t axis);
/* Finer actions: single members of small groups. */
void actions_split(problem *pb, uint32_t axis_mask, action_list *out);

/* What a tactic of a schedule may decide. */
typedef struct scope {
	uint32_t axis_mask;
	uint32_t n_axes;     /* of the mesh */
	action_list actions; /* on these axes and arguments */
	action_list sampled; /* the same, and finer ones */
	action *roles;       /* [ROLE_ACTION_COUNT][n_axes], on these arguments */
} scope;
/* allowed: by argument; NULL: all. Memory of targets from pb->mem. */
void scope_init(scope *s, problem *pb, uint32_t axis_mask, const bool *allowed);
void scope_release(scope *s);
static inline const action *scope_role(const scope *s, role_action which, uint32_t axis)
{
	return &s->roles[which * s->n_axes + axis];
}

#endif
