/* What the steps of a search (search.c) share. A function is used by those that stand below it in
 * this header, never the other way round. */
#ifndef SW_SEARCH_RUNNER_H
#define SW_SEARCH_RUNNER_H

#include "search/tree/schedule.h"
#include "search/strategy/strategy.h"

/* A strategy that was the best so far when it was found. */
typedef struct candidate {
	strategy s;
	cost c, incremental; /* replayed; the evaluator's view */
	plan *pl;            /* NULL: a user's baseline */
	listed_ops whole;    /* of search_result.whole, once it is costed as it is applied */
	bool
		confirmed; /* by a replay of its module; of a baseline that is kept: it may be the answer */
} candidate;

typedef struct runner {
	search_options o; /* with the module's own mesh */
	const search_options *user;
	device dev;   /* with the compiler's options that are tried; o.device then */
	module *base; /* the input with mesh and pins: what strategies are applied to */
	problem pb;   /* the same from runner_prepare on */
	goal goal;    /* of the present tactic */
	evaluator *ev[MOST_EVALUATORS];
	worker_pool *pool; /* of these evaluators */
	arena mem;         /* what plans point into; globs of groups */
	tactic_list tactics;
	group_list groups;       /* o.groups are these */
	plan plan;               /* what the schedule's tactics came to so far */
	plan others[MAX_OTHERS]; /* the best plans of late, for moves that borrow from another one */
	uint32_t n_others;
	VEC(plan) others_found;    /* best plans of leaves, for alternatives */
	VEC(candidate) candidates; /* each better than the one before */
	VEC(candidate)
	baselines;          /* of plans that are applied exactly: to be costed as they are written */
	candidate smallest; /* of search_result.smallest; where plans are applied exactly */
	VEC(candidate) on_front;       /* where nothing fits: as they are written */
	candidate simplest;            /* the answer, where it is not the cheapest plan */
	VEC(near_plan) near, composed; /* of the last tree; of the baselines that may be the answer */
	frontier frontier;             /* of all plans that were costed, as evaluators see them */
	bool may_be_simpler;           /* the schedule ends with a search */
	uint32_t n_manual;             /* decisions of manual tactics so far: the answer has them all */
	uint32_t first_candidate;      /* earlier ones lack what the schedule wants */
	candidate *answer;
	score best_score;
	search_result *out;
	search_node *nodes; /* of the tree, for the next event */
	uint32_t n_nodes;
	int64_t nodes_ns;              /* when they were told last; 0: never */
	int64_t start_ns, deadline_ns; /* of the present tactic when the budget is time; 0: none */
	uint64_t tried[MAX_TRIED];     /* hashes of replayed states */
	uint32_t n_tried;
	int threads;
} runner;

/* runner.c */
int64_t runner_elapsed(const runner *r);
bool runner_stops(void *r); /* out of time, or told to stop */
void runner_tell(runner *r, bool incumbent, const char *tactic);

/* incumbents.c */
const candidate *runner_best(const runner *r); /* NULL: none yet */
void candidate_release(candidate *c);
plan *plan_copy(const plan *pl);
/* The replay of the plan that is on the first evaluator. With `check` also that of its module,
 * which must cost the same; with open results it need not, for a module whose donated results come
 * out differently frees other buffers. */
status runner_replay(runner *r, const plan *pl, cost *out, bool *allowed, diag *d) MUST_USE;
/* Replays a plan; it becomes the answer when it beats the present one. */
status runner_try(runner *r, plan *pl, const char *tactic, diag *d) MUST_USE;
/* The same of what has been replayed. Takes or releases what the candidate has. */
void runner_offer(runner *r, candidate *c, bool allowed, const char *tactic);
/* What pl, which is on the first evaluator, or s costs: it may be what needs the least memory. */
void runner_note_smallest(runner *r, const cost *c, const plan *pl, const strategy *s);

/* simpler.c: plans to choose the answer from, and the choice. */
void runner_near(runner *r, const plan *pl, const cost *c);
void runner_forget_near(runner *r); /* those of an earlier tactic */
/* The answer is the simplest plan of those that cost as much as the cheapest, as far as the model
 * can tell (search_options.uncertainty_ppm). *best: the cheapest, then the answer. */
status runner_choose_simpler(runner *r, candidate **best, diag *d) MUST_USE;
/* Takes decisions out of the answer that bring nothing: it is for people too. */
status runner_simplify(runner *r, diag *d) MUST_USE;

/* compiler_options.c: options of the device's compiler. All that may help are on while plans are
 * searched for, where the user wants the best ones; the answer keeps those that it gains by. Else
 * it says what it would gain. */
void runner_try_options(runner *r);
status runner_settle_options(runner *r, diag *d) MUST_USE;

/* alternatives.c: plans besides the answer, best first, as many as were asked for. */
void runner_remember(runner *r, const plan *pl);
status runner_alternatives(runner *r, diag *d) MUST_USE;

/* pareto.c: where nothing fits, what time less memory costs. */
void runner_see(void *r, const plan *pl, const cost *c); /* a plan that was costed */
/* Costs those plans as they would be applied; one of them may be better than the answer. */
status runner_confirm_front(runner *r, candidate **best, diag *d) MUST_USE;
void runner_list_front(runner *r);

/* automatic.c: an automatic tactic or a polish, with at most so many evaluations. */
status runner_search(runner *r, const tactic *tc, uint64_t budget, diag *d) MUST_USE;

/* ---------------------------------------------------------------- steps of search.c, in their
 * order */

status runner_prepare(runner *r, diag *d) MUST_USE;   /* prepare.c */
status runner_baselines(runner *r, diag *d) MUST_USE; /* baselines.c */
status runner_schedule(runner *r, diag *d) MUST_USE;  /* run_schedule.c */
/* confirm.c: r->answer is the last candidate, as the module that it is written into is costed. */
status runner_confirm(runner *r, diag *d) MUST_USE;
status runner_report(runner *r, diag *d) MUST_USE; /* result.c: all that it is reported with */

#endif
