/* Shared by the files that run a schedule: run.c, prepare.c, incumbents.c, grove.c, starts.c, workshop.c, result.c. */
#ifndef SW_SEARCH_RUNNER_H
#define SW_SEARCH_RUNNER_H

#include "search/internal.h"

enum { MAX_BASES = 3, MAX_TRIED = 256, COMPOSED_STARTS = 3 /* plans that other tactics start from */ };

/* A strategy that was the best so far when it was found. */
typedef struct candidate {
	strategy s;
	cost c, incremental;     /* replayed; the evaluator's view */
	plan *pl;                /* NULL: a user's baseline */
	bool confirmed;          /* by a replay of its module; of a baseline that is kept: it may be the answer */
} candidate;

typedef struct runner {
	search_options o; /* with the module's own mesh */
	const search_options *user;
	module *base;     /* the input with mesh and pins: what strategies are applied to */
	problem pb;
	evaluator *ev[LOGICAL_TREES];
	crew *crew; /* of these evaluators */
	arena chain_mem[LOGICAL_TREES]; /* what polished plans point into */
	tactic_list tactics;
	plan bases[MAX_BASES];
	uint32_t n_bases;
	composition *composed; /* NULL: none that has the schedule's decisions so far */
	action_list composed_of;
	uint32_t polished; /* how often */
	VEC(candidate) candidates;  /* each better than the one before */
	VEC(candidate) baselines;   /* of plans that are applied exactly: to be costed as they are written */
	candidate smallest;         /* of search_result.smallest; where plans are applied exactly */
	uint32_t n_manual;          /* decisions of manual tactics so far: the answer has them all */
	uint32_t first_candidate;   /* earlier ones lack what the schedule wants */
	candidate *answer;
	score best_score;
	search_result *out;
	int64_t start_ns, deadline_ns; /* of the present tactic when the budget is time; 0: none */
	uint64_t tried[MAX_TRIED]; /* hashes of replayed states */
	uint32_t n_tried;
	status descent;      /* what came of the plans that the present descent told of */
	diag *descent_diag;
	int threads;
} runner;

/* run.c */
int64_t runner_elapsed(const runner *r);
bool runner_stops(void *r); /* out of time, or told to stop */
void runner_tell(runner *r, bool incumbent, const char *tactic);

/* prepare.c: the module's own mesh when it has one with the same axes; pins and forbidden axes of the user. */
status runner_settle_mesh(runner *r, diag *d) MUST_USE;
status runner_apply_pins(runner *r, diag *d) MUST_USE;
status runner_apply_forbids(runner *r, diag *d) MUST_USE;

/* incumbents.c */
const candidate *runner_best(const runner *r); /* NULL: none yet */
void candidate_release(candidate *c);
/* Replays a plan; it becomes the answer when it beats the present one. */
status runner_try(runner *r, plan *pl, const char *tactic, diag *d) MUST_USE;
status runner_baselines(runner *r, diag *d) MUST_USE;
/* The answer is the last candidate, as the module that it is written into is costed. */
status runner_confirm(runner *r, diag *d) MUST_USE;

/* grove.c: the trees of an automatic tactic. */
status runner_auto(runner *r, const tactic *tc, uint64_t budget, diag *d) MUST_USE;

/* starts.c: composite plans and their descents, of a whole budget of so many evaluations. */
status runner_compose(runner *r, uint64_t total, uint64_t budget, diag *d) MUST_USE;
/* For a schedule with decisions of its own, which its plans keep: what a polish may start from besides, with a part of its budget. */
status runner_compose_polish(runner *r, uint64_t budget, diag *d) MUST_USE;
/* From the answer so far to the nearest plan that no single step makes better. */
status runner_descend(runner *r, uint64_t budget, diag *d) MUST_USE;

/* workshop.c: the chains of a polish. */
status runner_polish(runner *r, uint64_t budget, diag *d) MUST_USE;
status runner_last_polish(runner *r, uint64_t budget, diag *d) MUST_USE;

/* result.c: what the answer is reported with. */
status runner_report(runner *r, diag *d) MUST_USE;

#endif
