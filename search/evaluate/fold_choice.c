/* Whether repeated layers are evaluated once: the folding that suits most plans, tried on some of
 * them. */
#include "search/evaluate/evaluate.h"

static bool is_stopped(const problem *pb) { return search_is_stopped(pb->o); }

/* Do common plans, and all but few of some random decisions, come out of the folding? Who is told
 * to stop takes it. */
static bool folding_suits(problem *pb)
{
	static const char *const names[] = {"data_parallel", "zero2", "zero3"};
	evaluator *ev = evaluator_new(pb);
	plan *pl = xmalloc(sizeof *pl);
	action_list actions = {0};
	cost c;
	rng r;
	for (uint32_t i = 0; i < COUNT_OF(names) && !is_stopped(pb); i++) {
		baseline_plan(pb, names[i], pl);
		evaluator_run(ev, pl, &c);
	}
	bool suits = !evaluator_statistics(ev).whole;
	actions_make(pb, UINT32_MAX, NULL, &actions);
	rng_seed(&r, 1, 0);
	for (uint32_t i = 0; i < FOLD_PATHS * FOLD_DEPTH && suits && actions.n && !is_stopped(pb);
		 i++) {
		if (i % FOLD_DEPTH == 0)
			evaluator_undo(ev, 0);
		if (evaluator_decide(ev, &actions.p[rng_below(&r, actions.n)]))
			evaluator_cost(ev, &c);
	}
	evaluator_stats st = evaluator_statistics(ev);
	suits = suits && st.whole * FOLD_ONE_OF <= st.whole + st.folded;
	pb->costs_whole = 2 * st.whole > st.whole + st.folded;
	vec_release(&actions);
	free(pl);
	evaluator_free(ev);
	return suits;
}

/* The tight folding when it suits. The other is taken as it is, but what it saves decides on the
 * default budget. */
static void choose_folding(problem *pb)
{
	layering ly;
	if (!layers_find(pb->p, &ly))
		return;
	pb->fold = folding_of(pb->p, &ly, true);
	if (pb->fold && !folding_suits(pb) && pb->fold->tight) {
		folding_free(pb->fold);
		pb->fold = folding_of(pb->p, &ly, false);
		pb->costs_whole = false;
		if (pb->fold)
			folding_suits(pb);
	}
	layers_release(&ly);
}

enum { COSTS_SHARE = 64 /* of the memory for memo tables */ };

status problem_init(problem *pb, const module *annotated, const search_options *o, diag *d)
{
	TRY(problem_read(pb, annotated, o, d));
	if (!o->unfolded && !search_is_stopped(o)) /* else little is evaluated any more */
		choose_folding(pb);
	pb->costs = cost_memo_new(
		(size_t)(o->cache_bytes ? o->cache_bytes : SEARCH_DEFAULT_CACHE_BYTES) / COSTS_SHARE);
	return ST_OK;
}

void problem_release(problem *pb)
{
	cost_memo_free(pb->costs);
	problem_forget(pb);
}
