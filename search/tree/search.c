/* A search from the module to the answer: prepares the problem, replays the baselines, lets each
 * tactic of the schedule refine the plan at hand, and confirms the best one. Neither threads nor
 * timing change the answer. */
#include "search/tree/runner.h"

#include <stdlib.h>

static void open_evaluator(void *user, int i)
{
	runner *r = user;
	r->ev[i] = evaluator_new(&r->pb);
}

static void runner_release(runner *r)
{
	pool_free(r->pool);
	for (int i = 0; i < MOST_EVALUATORS; i++)
		evaluator_free(r->ev[i]);
	arena_release(&r->mem);
	for (uint32_t i = 0; i < r->candidates.n; i++)
		candidate_release(&r->candidates.p[i]);
	vec_release(&r->candidates);
	for (uint32_t i = 0; i < r->baselines.n; i++)
		candidate_release(&r->baselines.p[i]);
	vec_release(&r->baselines);
	candidate_release(&r->smallest);
	candidate_release(&r->simplest);
	for (uint32_t i = 0; i < r->on_front.n; i++)
		candidate_release(&r->on_front.p[i]);
	vec_release(&r->on_front);
	vec_release(&r->near);
	vec_release(&r->composed);
	frontier_release(&r->frontier);
	vec_release(&r->others_found);
	vec_release(&r->tactics);
	vec_release(&r->groups);
	free(r->nodes);
	problem_release(&r->pb);
	module_free(r->base);
}

static void open_evaluators(runner *r)
{
	parallel_for(MOST_EVALUATORS, r->threads, open_evaluator, r);
	r->pool = pool_new(r->ev, r->threads, runner_stops, r);
	pool_watch(r->pool, runner_see, r);
}

static status check_folding(const runner *r, diag *d)
{
	for (int i = 0; i < MOST_EVALUATORS; i++)
		if (evaluator_broken(r->ev[i]))
			return diag_set(d, ST_ERR_INTERNAL,
				"an evaluation of the folded program differs from one of the whole program");
	return ST_OK;
}

/* With `check`: the evaluator's state of the answer is the same without anything remembered. */
static status check_answer(const runner *r, diag *d)
{
	if (!r->o.check || !r->answer->pl)
		return ST_OK;
	evaluator_run(r->ev[0], r->answer->pl, NULL);
	return evaluator_self_check(r->ev[0], r->answer->pl)
		? ST_OK
		: diag_set(
			  d, ST_ERR_INTERNAL, "the incremental state differs from its unmemoised re-execution");
}

/* From the module to the answer. */
static status run(runner *r, diag *d)
{
	if (!module_main(r->base))
		return diag_set(d, ST_ERR_INVALID, "the module has no function 'main'");
	TRY(runner_prepare(r, d));
	open_evaluators(r);
	TRY(runner_baselines(r, d));
	TRY(runner_schedule(r, d));
	TRY(check_folding(r, d));
	TRY(runner_confirm(r, d));
	TRY(check_answer(r, d));
	return runner_report(r, d);
}

status search_run(module *m, const search_options *o, search_result *out, diag *d)
{
	runner *r = xcalloc(1, sizeof *r);
	*out = (search_result){0};
	r->o = *o;
	r->user = o;
	r->out = out;
	r->start_ns = clock_ns();
	r->base = module_clone(m);
	r->threads =
		(int)MIN(o->threads ? o->threads : (uint32_t)parallel_cores(), (uint32_t)MOST_EVALUATORS);
	status s = run(r, d);
	runner_release(r);
	free(r);
	if (s != ST_OK)
		search_result_release(out);
	return s;
}

void search_result_release(search_result *r)
{
	strategy_release(&r->best);
	vec_release(&r->baselines);
	vec_release(&r->incumbents);
	vec_release(&r->starts);
	for (uint32_t i = 0; i < r->alternatives.n; i++)
		strategy_release(&r->alternatives.p[i].s);
	vec_release(&r->alternatives);
	vec_release(&r->pareto);
	vec_release(&r->unsupported);
	vec_release(&r->whole);
	vec_release(&r->uncounted);
	arena_release(&r->mem);
	*r = (search_result){0};
}
