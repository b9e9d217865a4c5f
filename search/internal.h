/* Shared by the files of search/ only. */
#ifndef SW_SEARCH_INTERNAL_H
#define SW_SEARCH_INTERNAL_H

#include "search/search.h"

enum { MAX_PLAN = 24, LOGICAL_TREES = 4 };

/* ---------------------------------------------------------------- problem.c, roles.c, groups.c */

typedef struct problem {
	module *m; /* imported copy */
	rule_table rules;
	program *p;
	folding *fold; /* NULL: no layers to fold, or asked not to */
	bool costs_whole;         /* there is one, but most costs need the whole program */
	struct cost_memo *costs; /* NULL: every evaluator costs its states itself */
	donation dn;
	uint32_t n_args, n_results;
	role *roles;
	int32_t *result_of_arg; /* steady state: this result keeps the argument's sharding; -1: none */
	const char *pairing;
	uint32_t *param_of;     /* by argument: the parameter that a state belongs to; ID_NONE: none, or no state */
	uint32_t *batch_dim;    /* by argument: the dim along which data is independent; ID_NONE: none */
	uint32_t *group_of;     /* by argument; ID_NONE when pinned or without dims */
	uint32_t n_groups;
	uint32_t *group_first, *group_members; /* members of group g: group_members[group_first[g] .. group_first[g+1]) */
	bool *pinned;           /* arguments whose sharding the user fixed */
	arena mem;
	const search_options *o;
	mesh_id mesh;
	uint32_t n_axes;
	bool *forbidden;        /* [arg][dim < MAX_RANK][axis] */
	int64_t memory_limit;
	bool nothing_fits; /* so far: plans are compared by cost_too_large */
	int64_t *arg_bytes;
	objective objective;    /* of the present tactic */
	struct action *role_actions; /* [ROLE_ACTION_COUNT][n_axes], on all arguments */
	struct site_class *site_classes; /* largest first */
	uint32_t n_site_classes;
	uint32_t *site_op; /* by op id: pre-order index in main of the input module, ID_NONE for all others */
} problem;

/* costs.c: costs by state (evaluator_hash), for any number of threads; a full memo starts over. */
typedef struct cost_memo cost_memo;
cost_memo *cost_memo_new(size_t bytes);
void cost_memo_free(cost_memo *m);
bool cost_memo_find(cost_memo *m, uint64_t state, cost *out);
void cost_memo_add(cost_memo *m, uint64_t state, const cost *c);

status problem_init(problem *pb, const module *annotated, const search_options *o, diag *d) MUST_USE;
void problem_release(problem *pb);
/* Fills roles, batch_dim, result_of_arg and pairing from the program. */
void problem_find_roles(problem *pb);
void problem_find_groups(problem *pb);
/* Fills site_classes and site_op; original: the module that the imported one was cloned from. */
void problem_find_sites(problem *pb, const module *original);
/* The value of a site class that an op of main in the input module defines; ID_NONE when it defines none. */
pval_id problem_site(const problem *pb, uint32_t op_index, uint32_t result);
bool problem_axis_cuts(const problem *pb, uint32_t axis); /* into more than one part */
static inline bool problem_forbids(const problem *pb, uint32_t arg, uint32_t dim, uint32_t axis)
{
	return pb->forbidden && pb->forbidden[((size_t)arg * MAX_RANK + dim) * pb->n_axes + axis];
}

/* Does a sharding put a forbidden axis on a dim of the argument? */
bool problem_forbids_sharding(const problem *pb, const sharding_table *t, uint32_t arg, sharding_id id);

/* ---------------------------------------------------------------- classes.c */

typedef struct dim_classes {
	uint32_t *first; /* by pval: index of its dim 0 in of */
	uint32_t *of;    /* by dim: representative of its class */
} dim_classes;
/* across_contractions: contractions hold dims together too; otherwise tensors before and after one are kept apart. */
void dim_classes_init(dim_classes *c, const program *p, bool across_contractions);
void dim_classes_release(dim_classes *c);
/* Does the node sum products of several tensors? */
bool node_contracts(const program *p, const node *n);
/* The factor that a dim starts with; ID_NONE for a dim of size 1 that has none. */
uint32_t rule_major_factor(const rule *r, uint32_t tensor, uint32_t dim);

/* ---------------------------------------------------------------- actions.c */

/* A target's dim may be chosen when the action is applied: the largest one the axis still divides. */
enum { DIM_LARGEST = 254, DIM_KEEP = 255 /* close the argument as it is */ };
typedef struct action_target {
	uint32_t arg; /* argument; for ACTION_CONSTRAIN a pval */
	uint32_t dim;
} action_target;
/* Internal dims that are constrained together. */
typedef struct site_class {
	action_target *targets;
	uint32_t n;
	int64_t bytes; /* of all tensors that have the dim */
} site_class;
/* Actions on whole roles, per axis. */
typedef enum role_action { ROLE_ACTION_DATA_PARALLEL, ROLE_ACTION_ZERO2, ROLE_ACTION_ZERO3, ROLE_ACTION_REPLICATE, ROLE_ACTION_COUNT } role_action;
extern const char *const role_action_names[ROLE_ACTION_COUNT];
/* ROLE_ACTION_COUNT when there is none of that name. */
role_action role_action_find(const char *name);
typedef struct action {
	action_kind kind;
	uint32_t axis;
	uint32_t group;  /* ID_NONE for actions on whole roles */
	uint32_t dim;
	uint32_t weight; /* how often the polish picks it, > 0 */
	bool on_role;
	role_action role; /* when on_role */
	bool fixed;       /* a schedule's manual or named tactic made it: later tactics keep it */
	const action_target *targets;
	uint32_t n_targets;
} action;
typedef VEC(action) action_list;
/* All actions on the given axes (bit mask) and arguments (NULL: all). Memory from pb->mem. */
void actions_make(problem *pb, uint32_t axis_mask, const bool *allowed, action_list *out);
/* Made once, by problem_init; afterwards read-only, from any thread. */
void actions_make_roles(problem *pb);
const action *action_of_role(const problem *pb, role_action which, uint32_t axis);
/* The same, restricted to some arguments (NULL: all). */
action action_role(problem *pb, role_action which, uint32_t axis, const bool *allowed);
action action_manual(problem *pb, const uint32_t *args, uint32_t n, uint32_t dim, uint32_t axis);
/* Finer actions for the polish: single members of small groups. */
void actions_split(problem *pb, uint32_t axis_mask, action_list *out);

/* ---------------------------------------------------------------- walker.c, evaluator.c */

/* A decision list. step: its position, which becomes the user priority in the annotated module. */
typedef struct plan {
	uint32_t n;
	action decisions[MAX_PLAN];
	const char *tactics[MAX_PLAN];
} plan;

/* plan.c: what the parts of the search that write whole plans do with them. Behind the last place of a full plan nothing fits. */
void plan_insert(plan *pl, uint32_t at, const action *a, const char *tactic);
void plan_drop(plan *pl, uint32_t at);
void plan_move(plan *pl, uint32_t at, uint32_t to); /* to: its place afterwards */
/* Place of the first ZeRO decision on whole roles, or the end: ZeRO keeps parameters off the axes that it cuts, so what else is decided
 * about them comes before. */
uint32_t plan_zero_at(const plan *pl);
/* An order for plans of equal worth, fewer decisions first: the same whether a program is folded or not, as that of states is not. */
int plan_compare(const plan *a, const plan *b);
uint32_t plan_first_free(const plan *pl); /* the first decision that a schedule did not fix */
uint32_t plan_manual(const plan *pl);     /* how many decisions of manual tactics it has: one that no longer applies drops out when a plan is run */
bool plan_same(const plan *a, const plan *b);
/* Leaves a group out of a decision on a whole role: near the memory limit only some of the state needs to be cut. New targets
 * come from mem. False when that changes nothing or leaves nothing. */
bool plan_leave_out(const problem *pb, arena *mem, plan *pl, uint32_t at, uint32_t group);
/* The parameters of the group that the decision cuts together with their state are kept whole instead, those it keeps whole
 * are cut; false when it has none of the group or decides about no state. */
bool plan_exchange_zero(const problem *pb, arena *mem, plan *pl, uint32_t at, uint32_t group);
/* Each of the two axes does what the other one did, but for fixed decisions. group: to that group alone; ID_NONE: to all. */
void plan_exchange_axes(const problem *pb, plan *pl, uint32_t axis, uint32_t other, uint32_t group);
void plan_clear_axis(plan *pl, uint32_t axis);
/* The axis does what the other one does, next to it in the order, and nothing else. */
void plan_imitate_axis(const problem *pb, plan *pl, uint32_t axis, uint32_t other);
/* Nothing but fixed decisions and constraints says anything about a group on these axes (bits) any more. New targets come from
 * mem. */
void plan_clear_group(const problem *pb, arena *mem, plan *pl, uint32_t group, uint32_t axis_mask);
action action_on_axis(const problem *pb, const action *a, uint32_t axis);
bool action_same(const action *a, const action *b); /* the same kind, axis and targets */
/* Is b, which is not fixed, the same decision as a on another axis? */
bool action_is_twin(const action *a, const action *b);
/* What walks go down on: the objective, growing with every byte over the limit. */
int64_t plan_energy(const problem *pb, const cost *c);
/* Of what does not fit, when nothing does: memory and a little time, the one definition that searches and answers go by. */
int64_t cost_too_large(const cost *c);

typedef struct score { /* ordered: smaller is better */
	bool fits;
	int64_t primary, secondary;
} score;
/* By the objective of the present tactic; score_final: by the search's. */
score score_of(const problem *pb, const cost *c);
score score_final(const problem *pb, const cost *c);
bool score_less(score a, score b);

/* effects.c: what decisions came to, by what they depend on. */
typedef struct effect_arg { /* of an argument that is decided now */
	uint32_t arg, kept;
} effect_arg;
typedef struct effect { /* all but the flags: of a decision that was taken, what it changed */
	bool done, uneven, stable;
	uint8_t bits;
	uint32_t n_values, n_args, n_applied, n_dims;
	uint64_t hash; /* the bits of the state's that changed */
	const uint32_t *values; /* packed: effect_value */
	const effect_arg *args;
	const action_target *applied;
	const uint32_t *dims;
} effect;
static inline value_is effect_value(const effect *e, uint32_t i) { return read_unpack(e->bits, e->values[i]); }
typedef struct effect_memo effect_memo;
effect_memo *effects_new(uint32_t n_values, uint32_t n_args, size_t limit);
void effects_free(effect_memo *m);
void effects_clear(effect_memo *m);
/* In the state with these shardings by value and axes kept free by argument; NULL: not known. Valid until something is added. */
const effect *effects_find(const effect_memo *m, const action *a, const sharding_id *values, const uint32_t *kept);
/* Copies all but the action's targets, which must outlive the memo; values: o's. reads: all that it depends on, values or, numbered
 * behind them, arguments with the axes they are kept free of; as read_tree_add has them. Starts over when it is full. */
void effects_add(effect_memo *m, const action *a, const value_is *reads, uint32_t n_reads, const value_is *values, uint32_t n_values, const effect *o);

/* walker.c: the path on one program. fold: NULL for the problem's own; otherwise arguments are the folded program's. Its memos take
 * WALKER_PARTS times memo_bytes at most. */
enum { STEP_PARTS = 1, SETTLE_PARTS = 3, EFFECT_PARTS = 9, WALKER_PARTS = STEP_PARTS + SETTLE_PARTS + EFFECT_PARTS };
typedef struct walker walker;
walker *walker_new(const problem *pb, const folding *fold, sharding_table *t, size_t memo_bytes);
void walker_free(walker *w);
void walker_restart(walker *w, bool no_memo); /* without decisions; computes where it starts from again */
uint32_t walker_depth(const walker *w);
uint64_t walker_hash(const walker *w);
/* The same of any n values of the walker's sharding table. */
uint64_t walker_hash_of(walker *w, const sharding_id *state, uint32_t n);
const sharding_id *walker_state(walker *w); /* by pval */
bool walker_can(const walker *w, const action *a);
bool walker_decide(walker *w, const action *a);
/* The last decision failed because layers that must be alike came out differently, or became so in different steps: then it may
 * depend on how many there are. */
bool walker_was_uneven(const walker *w);
void walker_undo(walker *w, uint32_t depth);
bool walker_decided(const walker *w, uint32_t arg);
bool walker_pinned(const walker *w, uint32_t arg);
uint32_t walker_kept(const walker *w, uint32_t arg); /* axes that decisions keep it free of, a bit each */
/* Step at which the dim first, or last, got axes; 0: it has none, or got them at the first step. */
typedef enum priority_of { FIRST_AXES, LAST_AXES } priority_of;
uint8_t walker_priority(const walker *w, pval_id v, uint32_t dim, priority_of when);
bool walker_priorities_differ(const walker *w); /* of any dim, the one from the other */
/* Targets that the decision at this depth really changed. */
uint32_t walker_applied(const walker *w, uint32_t at, const action_target **out);
/* Equal shardings of all values, equal facts about all arguments; `whole` walks the problem's own program. */
bool walker_same_state(walker *w, walker *whole);

typedef struct evaluator evaluator;
evaluator *evaluator_new(const problem *pb);
void evaluator_free(evaluator *ev);
uint32_t evaluator_depth(const evaluator *ev);
/* Applies an action; false (and nothing changed) when no target can take it or it changes nothing. */
bool evaluator_decide(evaluator *ev, const action *a);
bool evaluator_can(evaluator *ev, const action *a); /* cheap necessary test */
void evaluator_undo(evaluator *ev, uint32_t depth);       /* back to that many decisions */
/* Depends on the axes of all values, on which axes arguments keep free of, not on the path that led there. */
uint64_t evaluator_hash(const evaluator *ev);
void evaluator_cost(evaluator *ev, cost *out);
/* No more run time and peak memory than this state costs, nor than any state that decisions on the axes of `further` (a bit each)
 * can make of it; 0: of the state alone. The other fields of the cost are not all set. A fraction of what costing takes. */
void evaluator_bound(evaluator *ev, uint32_t further, cost *least);
/* From the start: decides the whole plan (decisions that no longer apply are dropped from it) and costs it. */
void evaluator_run(evaluator *ev, plan *pl, cost *out);
/* Cost of the present state as a replay will find it: one fresh propagation of the strategy's annotations. *allowed: no
 * argument ended with a forbidden axis. */
void evaluator_replay(evaluator *ev, cost *out, bool *allowed);
/* The strategy of the decisions now on the evaluator, shardings in the module's table. */
void evaluator_strategy(evaluator *ev, const plan *pl, strategy *out);
/* Shardings of main's arguments now, as ids of the module's table. */
sharding_id evaluator_arg(evaluator *ev, uint32_t arg);
/* Targets that the last decision really changed, for the document. */
uint32_t evaluator_targets(evaluator *ev, uint32_t step, const action_target **out);
/* Constraints (by their index in the strategy) that the decision at a step made or took part in; memory from mem. */
const uint32_t *evaluator_sites(evaluator *ev, uint32_t at, arena *mem, uint32_t *n);
/* Recomputes the current state without memo tables and without folding and compares; false when it differs. */
bool evaluator_self_check(evaluator *ev, const plan *pl);
/* With search_options.check every decision and every cost of the folded program is compared with the whole program's:
 * did one differ? */
bool evaluator_broken(const evaluator *ev);
typedef struct evaluator_stats {
	uint64_t folded, whole; /* costs computed from the folded program, from the whole one; */
	uint64_t known;         /* computed before, by some evaluator of the problem */
	uint64_t unfolded;      /* decisions that the folded program could not take */
	uint64_t apart;         /* lowered once more, with less nested */
} evaluator_stats;
evaluator_stats evaluator_statistics(const evaluator *ev);

/* ---------------------------------------------------------------- strategy.c */

/* The mesh that the module declares with the same axes and devices, so that its shardings and a strategy's agree; ID_NONE
 * when it declares none. */
mesh_id module_own_mesh(const module *m, mesh_id wanted);
/* Shardings on a mesh without axes, as JAX writes for random keys outside of any mesh, say the same on every mesh: they get this one. */
void module_fill_empty_mesh(module *m, mesh_id mesh);

/* ---------------------------------------------------------------- replay.c */

enum { REPLAY_ROUNDS = 3 };
/* The axes of a sharding, every dim closed, with one priority for the dims that have axes: how a result is pinned. */
sharding_id sharding_pin(sharding_table *t, mesh_id mesh, sharding_id id, uint32_t rank, int16_t priority);
bool sharding_same_axes(const sharding_table *t, sharding_id a, sharding_id b);
/* Replays a strategy on the original module; pins results of undecided donated arguments to what their argument got
 * (iterated until it holds), writing them into s. *allowed: no argument ended with a forbidden axis. */
status replay_strategy(const problem *pb, const module *original, strategy *s, cost *out, bool *allowed, diag *d) MUST_USE;
/* The same with the cost of what is handed over (simulate_applied), which keep, if there is one, is the evaluation of. */
status replay_applied(const problem *pb, const module *original, strategy *s, cost *out, bool *allowed, evaluation *keep, diag *d) MUST_USE;

/* ---------------------------------------------------------------- tree.c */

typedef struct tree tree;
typedef struct tree_best { /* the best states a tree met, best first, distinct */
	plan pl;
	score s;
	cost c;
	uint64_t hash;
} tree_best;
enum { TREE_KEEP = 4 };
/* ev: exclusively used by this tree. base: decisions that every state starts from. */
tree *tree_new(evaluator *ev, const problem *pb, const plan *base, const action_list *actions, const char *tactic, uint64_t seed, uint32_t index);
void tree_free(tree *t);
/* Runs until `evaluations` more states were costed or stop says so. Returns how many were. */
uint64_t tree_grow(tree *t, uint64_t evaluations, bool (*stop)(void *), void *stop_arg);
uint32_t tree_results(const tree *t, const tree_best **out);
typedef struct tree_stats {
	uint64_t nodes, evaluations, full, hits;
} tree_stats;
tree_stats tree_statistics(const tree *t);

/* ---------------------------------------------------------------- crew.c */

#define NOT_COSTED (INT64_MAX / 16) /* time and bytes of what is out of budget: worse than anything */
static inline bool is_costed(const cost *c) { return c->runtime_ns < NOT_COSTED; }

/* What states cost. */
typedef struct ledger {
	index_map index;
	VEC(uint64_t) states;
	VEC(cost) costs;
} ledger;

/* Evaluators that work side by side, and what they costed: a state is an evaluation once only. ev: LOGICAL_TREES of them. */
typedef struct crew crew;
crew *crew_new(evaluator *const *ev, int threads, bool (*stop)(void *), void *stop_arg);
void crew_free(crew *c);
/* For what is done one after the other. */
evaluator *crew_lead(const crew *c);
bool crew_stops(const crew *c);
/* Decides n plans (decisions that do not apply are dropped from them) and costs them, with at most so many evaluations: what is
 * beyond them, or comes after a stop, is NOT_COSTED. Returns evaluations used. */
uint64_t crew_cost(crew *c, plan *plans, uint32_t n, uint64_t budget, cost *costs);

/* One of several jobs: what it asks for next depends on what it got. Sees what was known before any of them began, and its own. */
typedef struct scout {
	evaluator *ev;
	const crew *of;
	const ledger *known;
	ledger own;
} scout;
typedef void crew_job(void *user, uint32_t i, scout *s);
void scout_cost(scout *s, cost *out); /* of the state that its evaluator is in */
uint64_t scout_used(const scout *s);
bool scout_stops(const scout *s);
/* Does n jobs. Returns evaluations used: states that several jobs asked for count once. */
uint64_t crew_do(crew *c, uint32_t n, crew_job *job, void *user);

/* ---------------------------------------------------------------- polish.c */

typedef struct polisher polisher;
typedef struct polish_best {
	bool set;
	plan pl;
	score s;
	cost c;
	uint64_t hash;
} polish_best;
/* A chain of plans that starts at one. recipes: plans on a single axis, ways to use it. All arguments but the scout must outlive
 * it; mem is exclusively its own, and the plans it finds point into mem. with: of the job that makes it, or walks. */
polisher *polisher_new(scout *with, const problem *pb, const plan *start, const action_list *actions, const plan *recipes, uint32_t n_recipes, uint64_t seed,
		       arena *mem);
void polisher_free(polisher *ps);
/* Walks until so many more states were evaluated. heat: by how many millionths a step may be worse than where it starts. */
void polisher_walk(polisher *ps, scout *with, uint64_t evaluations, uint32_t heat);
/* Plans of other chains, which the walk may borrow from until it is given others. */
void polisher_meet(polisher *ps, const plan *others, uint32_t n);
void polisher_go_to(polisher *ps, scout *with, const plan *pl);
const polish_best *polisher_best(const polisher *ps);

/* ---------------------------------------------------------------- compose.c */

enum { MAX_COMPOSED_AXES = 4, COMPOSE_KEEP = 16 };
typedef struct composition {
	uint32_t n, n_recipes;
	plan plans[COMPOSE_KEEP];             /* best first */
	uint32_t n_large;
	plan large[2];                        /* faster, but take a little too much memory */
	plan recipes[8 * MAX_COMPOSED_AXES];  /* plans on a single axis: what it cuts */
} composition;
/* Costs the composite plans of at most so many evaluations, on meshes of up to MAX_COMPOSED_AXES axes that cut anything.
 * actions must outlive the plans. Returns evaluations used. */
uint64_t compose(const problem *pb, crew *with, const action_list *actions, uint64_t budget, composition *out);

/* ---------------------------------------------------------------- refine.c */

typedef struct refiner refiner;
/* How far from a plan its descent looks: decisions with their twins on all axes; each alone, and roles more; groups. */
typedef enum refine_depth { REFINE_ALIKE, REFINE_APART, REFINE_GROUPS } refine_depth;
/* Told of every better plan of a descent, which has used so many evaluations; energy: as replayed. */
typedef void refined(void *user, plan *pl, uint64_t used, int64_t energy);
/* Descends from plans. All must outlive it; what plans point into comes from mem. */
refiner *refiner_new(const problem *pb, crew *with, arena *mem, const action_list *actions, refined *tell, void *user);
void refiner_free(refiner *rf);
/* With at most so many evaluations; returns those used. *energy: the plan's at the end, replayed;
 * INT64_MAX when it came to where another one's descent had been. */
uint64_t refiner_improve(refiner *rf, plan *pl, refine_depth depth, uint64_t budget, int64_t *energy);

/* ---------------------------------------------------------------- baselines.c */
void baseline_plan(const problem *pb, const char *name, plan *out);

/* ---------------------------------------------------------------- report.c */

/* Names that differ in numbers only have one pattern: layers[0] .. layers[31] become layers[*]. */
void report_name_pattern(str name, strbuf *out);

/* ---------------------------------------------------------------- schedule.c */

typedef enum tactic_kind { TACTIC_MANUAL, TACTIC_NAMED, TACTIC_AUTO, TACTIC_POLISH } tactic_kind;
typedef struct tactic {
	tactic_kind kind;
	char title[96];
	uint32_t axis_mask; /* auto */
	uint32_t axis, dimension; /* manual, named */
	role_action role;   /* named */
	uint32_t *args, n_args; /* manual; auto: arguments it may touch (n_args = all when no filter) */
	bool *allowed;
	objective objective;
	uint64_t evaluations;
} tactic;
typedef VEC(tactic) tactic_list;
/* JSON of DESIGN 5.3, or the default when NULL: one automatic tactic per axis, then a polish. */
status schedule_read(problem *pb, const char *json, tactic_list *out, diag *d) MUST_USE;

#endif
