/* What plans come to and what they cost: decision lists, evaluators, replays, and evaluators that
 * work side by side. */
#ifndef SW_SEARCH_EVALUATE_H
#define SW_SEARCH_EVALUATE_H

#include "search/problem/problem.h"

enum { MAX_PLAN = 24, MOST_EVALUATORS = 4 };

/* costs.c: costs by state (evaluator_hash), for any number of threads; a full memo starts over. */
typedef struct cost_memo cost_memo;
cost_memo *cost_memo_new(size_t bytes);
void cost_memo_free(cost_memo *m);
bool cost_memo_find(cost_memo *m, uint64_t state, cost *out);
void cost_memo_add(cost_memo *m, uint64_t state, const cost *c);

/* ---------------------------------------------------------------- fold_choice.c */

status problem_init(
	problem *pb, const module *annotated, const search_options *o, diag *d) MUST_USE;
void problem_release(problem *pb);

/* ---------------------------------------------------------------- plan.c */

/* A decision list. step: its position, which becomes the user priority in the annotated module. */
typedef struct plan {
	uint32_t n;
	action decisions[MAX_PLAN];
	const char *tactics[MAX_PLAN];
} plan;

/* plan.c: what the parts of the search that write whole plans do with them. Behind the last place
 * of a full plan nothing fits. */
void plan_insert(plan *pl, uint32_t at, const action *a, const char *tactic);
void plan_drop(plan *pl, uint32_t at);
void plan_move(plan *pl, uint32_t at, uint32_t to); /* to: its place afterwards */
/* Place of the first ZeRO decision on whole roles, or the end: ZeRO keeps parameters off the axes
 * that it cuts, so what else is decided about them comes before. */
uint32_t plan_zero_at(const plan *pl);
/* An order for plans of equal worth, fewer decisions first: the same whether a program is folded or
 * not, as that of states is not. */
int plan_compare(const plan *a, const plan *b);
uint32_t plan_first_free(const plan *pl); /* the first decision that a schedule did not fix */
/* How many decisions it has of manual tactics, or (least: FIXED_BY_SEARCH) also of automatic ones
 * before: one that no longer applies drops out when a plan is run. */
uint32_t plan_manual(const plan *pl, fixed_by least);
/* Decisions that are kept (fixed) around those of another plan: what begins and what names
 * arguments in front, the others last. */
void plan_keep(const plan *kept, plan *pl);
bool plan_same(const plan *a, const plan *b);
/* Leaves a group out of a decision on a whole role: near the memory limit only some of the state
 * needs to be cut. New targets come from mem. False when that changes nothing or leaves nothing. */
bool plan_leave_out(const problem *pb, arena *mem, plan *pl, uint32_t at, uint32_t group);
/* The parameters of the group that the decision cuts together with their state are kept whole
 * instead, those it keeps whole are cut; false when it has none of the group or decides about no
 * state. */
bool plan_exchange_zero(const problem *pb, arena *mem, plan *pl, uint32_t at, uint32_t group);
/* Each of the two axes does what the other one did, but for fixed decisions. group: to that group
 * alone; ID_NONE: to all. */
void plan_exchange_axes(const scope *of, plan *pl, uint32_t axis, uint32_t other, uint32_t group);
void plan_clear_axis(plan *pl, uint32_t axis);
/* The axis does what the other one does, next to it in the order, and nothing else. */
void plan_imitate_axis(const scope *of, plan *pl, uint32_t axis, uint32_t other);
/* Nothing but fixed decisions and constraints says anything about a group on these axes (bits) any
 * more. New targets come from mem. */
void plan_clear_group(const problem *pb, arena *mem, plan *pl, uint32_t group, uint32_t axis_mask);
/* On another axis: of a whole role what the scope's is there. */
action action_on_axis(const scope *of, const action *a, uint32_t axis);
bool action_same(const action *a, const action *b); /* the same kind, axis and targets */
/* Is b, which is not fixed, the same decision as a on another axis? */
bool action_is_twin(const action *a, const action *b);
/* What every answer is compared with: replicated, data_parallel, data_parallel_first_axis, zero2,
 * zero3. */
void baseline_plan(const problem *pb, const char *name, plan *out);

/* ---------------------------------------------------------------- scores.c */

/* What plans are compared by. */
typedef struct goal {
	objective objective;
	int64_t memory_limit;
	bool nothing_fits; /* so far: energies are cost_too_large */
} goal;
goal goal_of_answer(const problem *pb); /* the user's; a tactic may have another objective */
/* What walks go down on: the objective, growing with every byte over the limit; INT64_MAX of what
 * is not costed. */
int64_t plan_energy(const goal *g, const cost *c);
/* Of what does not fit, when nothing does: memory and a little time, the one definition that
 * searches and answers go by. */
int64_t cost_too_large(const cost *c);

typedef struct score { /* ordered: smaller is better */
	bool fits;
	int64_t primary, secondary;
} score;
score score_of(const goal *g, const cost *c);
score score_final(const problem *pb, const cost *c); /* by goal_of_answer */
bool score_less(score a, score b);

/* ---------------------------------------------------------------- frontier.c */

typedef struct near_plan {
	plan pl;
	cost c; /* as an evaluator or a replay has it */
} near_plan;
/* The Pareto front of time over memory: least memory first, each faster than the one before. Of
 * many, those that tell most about the curve. */
typedef struct frontier {
	VEC(near_plan) points;
} frontier;
/* False where a plan takes no more of both. */
bool frontier_add(frontier *f, const plan *pl, const cost *c);
/* Leaves so many, two at least: the first, the last, and between them what adds most to the curve.
 */
void frontier_thin(frontier *f, uint32_t most);
void frontier_release(frontier *f);

/* ---------------------------------------------------------------- evaluator.c */

typedef struct evaluator evaluator;
evaluator *evaluator_new(const problem *pb);
void evaluator_free(evaluator *ev);
uint32_t evaluator_depth(const evaluator *ev);
/* Applies an action; false (and nothing changed) when no target can take it or it changes nothing.
 */
bool evaluator_decide(evaluator *ev, const action *a);
bool evaluator_can(evaluator *ev, const action *a); /* cheap necessary test */
void evaluator_undo(evaluator *ev, uint32_t depth); /* back to that many decisions */
/* Depends on the axes of all values, on which axes arguments keep free of, not on the path that led
 * there. */
uint64_t evaluator_hash(const evaluator *ev);
void evaluator_cost(evaluator *ev, cost *out);
/* The same as plans are compared by: a state in which arguments of a user's group differ, which no
 * answer may be, is the slower the more do. */
void evaluator_rate(evaluator *ev, cost *out);
/* No more run time and peak memory than this state costs, nor than any state that decisions on the
 * axes of `further` (a bit each) can make of it; 0: of the state alone. The other fields of the
 * cost are not all set. A fraction of what costing takes. */
void evaluator_bound(evaluator *ev, uint32_t further, cost *least);
/* From the start: decides the whole plan (decisions that no longer apply are dropped from it) and
 * costs it. */
void evaluator_run(evaluator *ev, plan *pl, cost *out);
/* Cost of the present state as a replay will find it: one fresh propagation of the strategy's
 * annotations. *allowed: no argument ended with a forbidden axis, nor unlike others of a user's
 * group. */
void evaluator_replay(evaluator *ev, const goal *g, cost *out, bool *allowed);
/* The strategy of the decisions now on the evaluator, shardings in the module's table. */
void evaluator_strategy(evaluator *ev, const plan *pl, strategy *out);
/* Shardings of main's arguments now, as ids of the module's table. */
sharding_id evaluator_arg(evaluator *ev, uint32_t arg);
sharding_id evaluator_value(evaluator *ev, pval_id v); /* of the whole program */
/* Targets that the last decision really changed, for the document. */
uint32_t evaluator_targets(evaluator *ev, uint32_t step, const action_target **out);
/* Constraints (by their index in the strategy) that the decision at a step made or took part in;
 * memory from mem. */
const uint32_t *evaluator_sites(evaluator *ev, uint32_t at, arena *mem, uint32_t *n);
/* Recomputes the current state without memo tables and without folding and compares; false when it
 * differs. */
bool evaluator_self_check(evaluator *ev, const plan *pl);
/* With search_options.check every decision and every cost of the folded program is compared with
 * the whole program's: did one differ? */
bool evaluator_broken(const evaluator *ev);
typedef struct evaluator_stats {
	uint64_t folded, whole; /* costs computed from the folded program, from the whole one; */
	uint64_t known;         /* computed before, by some evaluator of the problem */
	uint64_t unfolded;      /* decisions that the folded program could not take */
	uint64_t apart;         /* lowered once more, with less nested */
} evaluator_stats;
evaluator_stats evaluator_statistics(const evaluator *ev);

/* ---------------------------------------------------------------- replay.c */

/* The axes of a sharding, every dim closed, with one priority for the dims that have axes: how a
 * result is pinned. */
sharding_id sharding_pin(
	sharding_table *t, mesh_id mesh, sharding_id id, uint32_t rank, int16_t priority);
/* How many arguments of user's groups have other axes than their group's first. p: the program
 * whose values have these shardings, its argument arg_of[a] stands for a (NULL: it has the same).
 */
uint32_t unlike_arguments(const problem *pb, const sharding_table *t, const program *p,
	const uint32_t *arg_of, const sharding_id *shardings);
bool sharding_same_axes(const sharding_table *t, sharding_id a, sharding_id b);
/* Replays a strategy on the original module; pins results of undecided donated arguments to what
 * their argument got (iterated until it holds), writing them into s. *allowed: as of
 * evaluator_replay. */
status replay_strategy(const problem *pb, const module *original, strategy *s, cost *out,
	bool *allowed, diag *d) MUST_USE;
/* The same with the cost of what is handed over (simulate_applied), which keep, if there is one, is
 * the evaluation of. */
status replay_applied(const problem *pb, const module *original, strategy *s, cost *out,
	bool *allowed, evaluation *keep, diag *d) MUST_USE;
/* .. and what is applied exactly is shown to see, if there is one, before it is written. */
typedef void see_plan(void *user, const evaluation *ev);
status replay_seen(const problem *pb, const module *original, strategy *s, cost *out, bool *allowed,
	see_plan *see, void *user, evaluation *keep, diag *d) MUST_USE;

/* ---------------------------------------------------------------- worker_pool.c */

#define NOT_COSTED \
	(INT64_MAX / 16) /* time and bytes of what is out of budget: worse than anything */
static inline bool is_costed(const cost *c) { return c->runtime_ns < NOT_COSTED; }

/* What states cost. */
typedef struct evaluation_cache {
	index_map index;
	VEC(uint64_t) states;
	VEC(cost) costs;
} evaluation_cache;

/* Evaluators that work side by side, and what they costed: a state is an evaluation once only. ev:
 * MOST_EVALUATORS of them. */
typedef struct worker_pool worker_pool;
worker_pool *pool_new(evaluator *const *ev, int threads, bool (*stop)(void *), void *stop_arg);
void pool_free(worker_pool *c);
/* From now on each plan that pool_cost finds the cost of is shown to see, in the order of its list.
 */
typedef void see_costed(void *user, const plan *pl, const cost *c);
void pool_watch(worker_pool *c, see_costed *see, void *user);
/* For what is done one after the other. */
evaluator *pool_first(const worker_pool *c);
bool pool_stops(const worker_pool *c);
/* Decides n plans (decisions that do not apply are dropped from them) and costs them, with at most
 * so many evaluations: what is beyond them, or comes after a stop, is NOT_COSTED. Returns
 * evaluations used. */
uint64_t pool_cost(worker_pool *c, plan *plans, uint32_t n, uint64_t budget, cost *costs);

/* One of several jobs: what it asks for next depends on what it got. Sees what was known before any
 * of them began, and its own. */
typedef struct job {
	evaluator *ev;
	const worker_pool *of;
	const evaluation_cache *known;
	evaluation_cache own;
} job;
typedef void pool_work(void *user, uint32_t i, job *s);
void job_cost(job *s, cost *out); /* of the state that its evaluator is in */
uint64_t job_used(const job *s);
/* Does n jobs. Returns evaluations used: states that several jobs asked for count once. */
uint64_t pool_do(worker_pool *c, uint32_t n, pool_work *work, void *user);

#endif
