/* search: from a module and a mesh to a strategy document.
 *
 *   problem/     the imported program, roles, groups of arguments that shard alike, what may be decided
 *   evaluate/    decision lists: what they come to (decide -> propagate -> undo), what that costs, their replay; evaluators side by side
 *   strategy/    strategies in modules and documents, tables, what each decision brings
 *   tree/        Monte Carlo tree search over tactics with local searches at its leaves; schedules, candidates for the answer, its report
 *
 * Two truths are kept apart: the evaluator's (incremental, this decision order) and the replay's
 * (one Shardy run over all annotations). Only replayed costs are reported and compared with
 * baselines. */
#ifndef SW_SEARCH_H
#define SW_SEARCH_H

#include "layout/layout.h"
#include "search/options.h"
#include "simulator/simulator.h"

#include <stdatomic.h>

/* ---------------------------------------------------------------- strategy documents */

typedef enum role { ROLE_PARAMETER, ROLE_STATE, ROLE_DATA, ROLE_OTHER, ROLE_COUNT } role;
const char *role_name(role r);

typedef enum action_kind { ACTION_PARTITION, ACTION_REPLICATE, ACTION_CONSTRAIN } action_kind;

typedef struct strategy_constraint {
	str function, location; /* location: for people */
	uint32_t op, result;    /* op: pre-order index in the function of the input module */
	sharding_id sharding;
} strategy_constraint;
typedef struct strategy_action {
	str tactic;
	action_kind kind;
	const uint32_t *members; /* argument indices */
	const uint32_t *sites;   /* ACTION_CONSTRAIN: indices into the strategy's constraints */
	uint32_t n_members, n_sites, dimension;
	uint32_t axis;
	uint32_t step; /* a decision on a whole role that chose several dimensions makes several actions
	                  of one step */
	int64_t delta_runtime_ns, delta_peak_bytes;
} strategy_action;
typedef struct strategy_compiler_option {
	str name, value;
} strategy_compiler_option;
/* How much there is to a plan: what people have to follow, and a compiler to get right. */
typedef struct plan_size {
	uint32_t decisions, kinds, constraints; /* kinds: of collectives */
	uint32_t unlike;     /* arguments cut otherwise than their counterpart in the first layer */
	int64_t collectives; /* instructions of the compiled level */
} plan_size;
/* The cheapest plan that was found, where a simpler one is the answer: they cost the same, as far
 * as the model can tell. */
typedef struct simpler_than {
	bool any;
	int64_t uncertainty_ppm, runtime_ns, peak_bytes;
	plan_size own, cheapest;
} simpler_than;
/* Shardings are ids in the module's table; SHARDING_NONE: undecided. Arrays live in the strategy's
 * arena. */
typedef struct strategy {
	arena mem;
	mesh_id mesh;
	apply_way apply;
	int64_t trip_count;          /* as module.trip_count when it was costed; 0: not given */
	uint32_t n_compiler_options; /* what its cost assumes beyond the compiler's defaults */
	strategy_compiler_option *compiler_options;
	bool has_links;
	const char *axis_links[MAX_MESH_AXES]; /* link class of the device profile per axis, NULL:
	                                          default filling */
	uint32_t n_args, n_results, n_constraints, n_actions;
	sharding_id *args, *results;
	sharding_id
		*propagated; /* by argument: what the last replay made of it; SHARDING_NONE before one */
	strategy_constraint *constraints;
	strategy_action *actions;
	simpler_than simpler;
} strategy;
void strategy_init(strategy *s, mesh_id mesh, uint32_t n_args, uint32_t n_results);
void strategy_release(strategy *s);
void strategy_copy(strategy *to, const strategy *from);

/* The strategy gets these options of the profile, by place, instead of those that it had. */
void strategy_choose_options(strategy *s, const device *dev, uint32_t chosen);
/* The device as the strategy's program finds it: with those of its compiler options that the
 * profile knows. Returns the first one that it does not; NULL where it knows all. */
const strategy_compiler_option *strategy_device(const strategy *s, const device *dev, device *out);

/* Reads the strategy parts of a document: mesh, arguments, results, constraints, actions (without
 * their deltas). Arguments match by index, or by name glob when an entry has no index (hand-written
 * documents). device: name in the document or "". */
status strategy_read(const module *m, const char *json, size_t n, strategy *out, char device[64],
	int64_t *memory_limit, diag *d) MUST_USE;
/* A copy of the module that carries the strategy: one mesh, partition counts, argument and result
 * shardings, constraints. What the module had before stays where the strategy says nothing. */
status strategy_apply(const module *m, const strategy *s, module **out, diag *d) MUST_USE;

/* The module that XLA gets, as text with locations: annotated, or as s->apply says with the program
 * of one device in it. */
status strategy_write(
	const module *m, const strategy *s, const device *dev, strbuf *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- searching */

typedef enum objective { OBJECTIVE_RUNTIME, OBJECTIVE_MEMORY } objective;

typedef struct search_pin { /* --pin GLOB:SHARDING */
	const char *glob, *sharding;
} search_pin;
typedef struct search_forbid { /* --forbid GLOB:DIM:AXIS */
	const char *glob, *axis;
	uint32_t dimension;
} search_forbid;
typedef struct search_baseline { /* --baseline FILE: text of a strategy document */
	const char *name, *json;
	size_t n;
} search_baseline;

/* A strategy document of another search, for a program of the same structure (module_structure):
 * the search begins with what its decisions mean here. */
typedef struct search_start {
	const char *name, *json; /* name: for the answer, such as its id in a store */
	size_t n;
} search_start;

/* A baseline whose strategy the caller wants: filled by a search that succeeds, then the caller's
 * to release. */
typedef struct search_kept {
	const char *name;
	bool found;
	strategy s;
} search_kept;

/* A node of the search tree as it stands: a partial composite plan, or a whole one. */
typedef struct search_node {
	uint32_t parent;        /* its place in the list, before the node's own; UINT32_MAX: the root */
	char what[128];         /* what it adds to its parent, for people */
	uint64_t evaluations;   /* spent below it; one at least for each plan */
	uint32_t plans, costed; /* whole plans below it, and how many of them have been costed */
	int64_t runtime_ns, peak_bytes; /* of the best of these; 0 where none has been costed */
	bool fits, done;                /* done: nothing is left to try below it */
} search_node;
typedef struct baseline_result {
	str name;
	bool fits;
	cost cost;
} baseline_result;

typedef struct search_event {
	bool incumbent; /* else a progress tick */
	uint64_t evaluation;
	int64_t elapsed_ns;
	const char *tactic;
	cost cost; /* of the incumbent, replayed */
	bool fits;
	const baseline_result
		*baselines; /* those replayed so far; as all lists here, good until the callback returns */
	uint32_t n_baselines;
	const search_node
		*nodes; /* the most visited ones, where tree_interval_ns says that it is time; else none */
	uint32_t n_nodes;
} search_event;

typedef struct search_options {
	mesh_id mesh;
	const device *device;
	const char *const *axis_links; /* per mesh axis, NULL: default filling */
	int64_t memory_limit;          /* 0: the device's usable memory */
	objective objective;
	const char *schedule_json; /* NULL: default schedule */
	uint64_t evaluations;      /* 0: default */
	int64_t time_limit_ns;     /* 0: none; otherwise anytime */
	uint64_t seed;
	uint32_t threads;        /* 0: all cores */
	int64_t uncertainty_ppm; /* of costs, in millionths: among plans this near to the cheapest the
	                            simplest is the answer; 0: the cheapest is; UNCERTAINTY_OF_WAY: as
	                            much as costs of plans applied that way are off by */
	bool open_results;
	apply_way apply;              /* how XLA will get the plan, which costs depend on */
	bool apply_exact_if_possible; /* exact where the whole program can be written so, annotate
	                                 otherwise, whatever apply says */
	bool best_compiler_options;   /* choose among those of the device's profile */
	const search_pin *pins;
	uint32_t n_pins;
	const search_forbid *forbids;
	uint32_t n_forbids;
	const char *const *groups; /* --group GLOB: arguments that match one shard alike; those of the
	                              schedule come besides */
	uint32_t n_groups;
	const search_baseline *baselines;
	uint32_t n_baselines;
	const search_start *starts;    /* NULL: the search begins with nothing */
	uint32_t n_starts;             /* those beyond MOST_STARTS are not looked at */
	const char *tactic_statistics; /* what axes cut in plans that won elsewhere, from which tactics
	                                  have their priors (tactic_priors_read); NULL: nothing */
	search_kept *kept;             /* a name that no baseline has is an error */
	uint32_t n_kept;
	uint32_t
		alternatives; /* so many plans besides the answer that do something else, if there are */
	const atomic_int *stop; /* not NULL and nonzero: answer with the best so far */
	void (*on_event)(void *user, const search_event *e);
	int64_t tree_interval_ns; /* > 0: so often, and at the end of each tree, a progress tick lists
	                             its nodes */
	void *user;
	uint32_t without; /* parts of the search to leave out, WITHOUT_*: for experiments (tests/bench),
	                     0 otherwise */
	int64_t cache_bytes; /* of the memo tables of all evaluators together; 0: default */
	bool unfolded;       /* evaluate repeated layers one by one */
	bool check; /* compare every incremental state with an unmemoised re-execution (slow, for tests)
	             */
} search_options;
/* Relaxed: nothing else is read because of it. */
static inline bool search_is_stopped(const search_options *o)
{
	return o->stop && atomic_load_explicit(o->stop, memory_order_relaxed);
}
enum {
	WITHOUT_GROUPS = 1,        /* every argument decides for itself */
	WITHOUT_TREE = 2,          /* leaves take turns */
	WITHOUT_TACTICS = 4,       /* no composite plans: one leaf */
	WITHOUT_DESCENTS = 8,      /* walks only */
	WITHOUT_WALKS = 16,        /* descents only */
	WITHOUT_LOCAL_SEARCH = 32, /* composite plans as they are */
};
#define SEARCH_DEFAULT_CACHE_BYTES ((int64_t)1 << 30)

typedef struct given_group { /* of the user's */
	str glob;
	uint32_t *members, n; /* argument indices */
} given_group;

/* A plan besides the answer. */
typedef struct plan_alternative {
	strategy s;
	cost cost;
	bool fits;
	uint32_t compiler_options; /* as search_result's */
	str difference;            /* from the answer, for people */
} plan_alternative;
/* Of plans none of which takes both less time and less memory than another one. */
typedef struct pareto_point {
	str name; /* of a baseline; "": of none */
	bool is_answer;
	int64_t peak_bytes, runtime_ns;
} pareto_point;
typedef struct started { /* what became of a search_start */
	str name;
	uint32_t plans; /* that its decisions may mean; 0: nothing in it was understood */
	cost cost;      /* of the best of them, as the search sees it */
	bool fits;
} started;
typedef struct incumbent_mark {
	uint64_t evaluation;
	int64_t elapsed_ns, runtime_ns, peak_bytes;
} incumbent_mark;
typedef struct listed_op { /* ops of one name at one place of the source */
	str op, location;
	uint32_t count;
	int64_t bytes; /* of the values that they keep replicated */
	int64_t trips; /* loops: how often each counts */
	bool bounded;  /* .. at most as often as its counter allows */
} listed_op;
typedef VEC(listed_op) listed_ops;

typedef struct search_result {
	arena mem;
	strategy best;       /* best.apply: the way that was costed */
	char not_exact[256]; /* why it is not exact though that was asked for where possible; "" */
	cost cost;
	bool fits, interrupted;
	uint32_t compiler_options; /* bits by place in the device's profile: what cost assumes beyond
	                              the compiler's defaults */
	uint32_t better_options;   /* those that the answer would gain by, where it has none */
	int64_t better_runtime_ns; /* with them */
	int64_t memory_limit;
	role *roles;        /* by argument */
	uint32_t *group_of; /* by argument: those of one group stand at the same place of repeated
	                       layers; ID_NONE: of none */
	given_group *given; /* by group of the user's */
	uint32_t n_given;
	VEC(baseline_result) baselines;
	VEC(incumbent_mark) incumbents;
	VEC(plan_alternative) alternatives; /* best first */
	VEC(started) starts;
	uint32_t prior_plans;  /* that the tree's priors are counted from */
	const char *decisions; /* JSON: those of the answer, for other programs of this structure; NULL:
	                          it has none */
	listed_ops unsupported; /* without a sharding rule */
	listed_ops whole;     /* of a plan that is applied exactly: ops that cannot run on parts, whose
	                         operands are gathered around them */
	listed_ops uncounted; /* loops whose trip count the program does not say */
	const char
		*pairing; /* how results were paired with arguments: "donation", "dataflow", "none" */
	uint64_t evaluations, replays, nodes /* of search trees */, groups;
	uint64_t lists_cut;                 /* neighbourhoods that had more plans than are looked at */
	int64_t elapsed_ns, replay_gap_ppm; /* incremental against replay, of the answer */
	int64_t uncertainty_ppm;            /* that it went by */
	cost incremental;                   /* the evaluator's view of the answer */
	cost smallest; /* of all strategies that were replayed: the one with the least memory */
	VEC(pareto_point)
	pareto; /* where nothing fits: least memory first, as these plans would be applied */
	int64_t donatable_bytes; /* of results that replace an argument, where no argument is donated; 0
	                            otherwise */
	int64_t least_devices;   /* > 0: fewer cannot hold the arguments */
	int64_t least_runtime_ns, least_peak_bytes; /* no strategy on this mesh needs less: matmuls and
	                                               arguments over all devices */
} search_result;

status search_run(module *m, const search_options *o, search_result *out, diag *d) MUST_USE;
void search_result_release(search_result *r);

/* Facts about main that need no mesh, for answers that are not searches (evaluate, explain). */
status search_roles(const module *m, role *out /* by argument */, diag *d) MUST_USE;

/* ---------------------------------------------------------------- documents and tables */

/* The document of docs/strategy-document.md. Terminated JSON text appended to out. */
status document_write(const module *m, const search_options *o, const search_result *r, strbuf *out,
	diag *d) MUST_USE;
/* A strategy document as tables for people: groups of arguments with their shardings, decisions,
 * collectives, baselines. */
struct cJSON;
void report_document(const struct cJSON *document, bool color, uint32_t columns,
	strbuf *out); /* columns: of the terminal; 0: as many as are needed */
/* The document with rows of arguments that are alike in place of each: what a first look at a large
 * program needs, as JSON text appended to out. */
status strategy_outline(str json, strbuf *out, diag *d) MUST_USE;
void report_cost(const cost *c, int64_t memory_limit, strbuf *out);
/* Loops whose number of iterations the program does not say, by source location, with what each
 * counts (node.trips): "uncounted_loops" of a cost, left out where there are none;
 * and as lines of a table. */
void add_uncounted_loops(struct cJSON *to, const program *p);
void report_uncounted_loops(const struct cJSON *of, strbuf *out);
/* What each decision of a strategy brings and what else could be decided there, as JSON (see
 * docs/strategy-document.md); most_alternatives: replays spent per decision on those. *out is the
 * caller's to delete. */
status explain_strategy(module *m, const strategy *s, const device *dev, int64_t memory_limit,
	uint32_t most_alternatives, struct cJSON **out, diag *d) MUST_USE;
void report_explanation(const struct cJSON *explanation, strbuf *out);

#endif
