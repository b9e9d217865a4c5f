/* Runs a schedule: prepares the module (mesh, pins), replays the baselines, then lets each tactic refine the plans at
 * hand. Automatic tactics grow a fixed number of logical trees, whoever works them off; results are merged in tree order
 * at fixed evaluation counts, so that neither threads nor timing change the answer. Every candidate for the answer is
 * replayed first. */
#include "search/runner.h"

#include <stdlib.h>

/* Of the budget, an automatic tactic having 1: behind composite plans and their descents trees find little. */
enum { POLISH_SHARE = 4, POLISH_SHARE_COMPOSED = 10 };

int64_t runner_elapsed(const runner *r) { return clock_ns() - r->start_ns; }

bool runner_stops(void *arg)
{
	const runner *r = arg;
	return (r->user->stop && *r->user->stop) || (r->deadline_ns && runner_elapsed(r) > r->deadline_ns);
}

void runner_tell(runner *r, bool incumbent, const char *tactic)
{
	if (!r->user->on_event)
		return;
	search_event e = {.incumbent = incumbent, .evaluation = r->out->evaluations, .elapsed_ns = runner_elapsed(r), .tactic = tactic, .cost = r->out->cost, .fits = r->out->fits};
	r->user->on_event(r->user->user, &e);
}

static void open_evaluator(void *user, int i)
{
	runner *r = user;
	r->ev[i] = evaluator_new(&r->pb);
}

/* Adds one fixed decision to every plan at hand. */
static status run_fixed(runner *r, const tactic *tc, diag *d)
{
	action a = tc->kind == TACTIC_MANUAL ? action_manual(&r->pb, tc->args, tc->n_args, tc->dimension, tc->axis)
					     : action_role(&r->pb, tc->role, tc->axis, tc->allowed);
	a.fixed = true;
	/* What came before does not have this decision: the schedule's word counts more than a better answer without it. */
	r->best_score = (score){false, INT64_MAX, INT64_MAX};
	r->n_tried = 0;
	r->first_candidate = r->candidates.n;
	free(r->composed);
	r->composed = NULL;
	r->n_manual += tc->kind == TACTIC_MANUAL;
	for (uint32_t i = 0; i < r->n_bases; i++) {
		plan *pl = &r->bases[i];
		evaluator_run(r->ev[0], pl, NULL);
		if (tc->kind == TACTIC_MANUAL && !evaluator_can(r->ev[0], &a))
			return diag_set(d, ST_ERR_INVALID, "schedule: a manual tactic cannot shard dimension %u of its arguments: the axis is in use there, pinned, or does not divide it",
					tc->dimension);
		if (pl->n < MAX_PLAN && evaluator_can(r->ev[0], &a)) {
			pl->decisions[pl->n] = a;
			pl->tactics[pl->n++] = tc->title;
		}
		r->out->evaluations++;
		TRY(runner_try(r, pl, tc->title, d));
	}
	return ST_OK;
}

/* Without a budget: enough for large programs, and for small ones as many as take about a second. An evaluation's time follows the
 * nodes of the program that is costed. Where nothing folds, or too little to cost from, they are all of the program's: then what takes some nine seconds is the most,
 * of which reading the program and preparing the search take as much as a hundred evaluations. */
static uint64_t default_evaluations(const problem *pb)
{
	enum { NODES = 6000000, LEAST = 4400, MOST = 16000, WHOLE_NODES = 21000000, PREPARING = 100, WHOLE_LEAST = 100 };
	bool folded = pb->fold && !pb->costs_whole;
	uint64_t nodes = MAX((folded ? pb->fold->p : pb->p)->nodes.n, 1u), whole = WHOLE_NODES / nodes;
	uint64_t most = folded ? MOST : whole > PREPARING + WHOLE_LEAST ? MIN(whole - PREPARING, (uint64_t)MOST) : WHOLE_LEAST;
	return MIN(MIN(MAX(NODES / nodes, (uint64_t)LEAST), (uint64_t)MOST), most);
}

static status run_schedule(runner *r, diag *d)
{
	enum { COMPOSE_SHARE = 2 /* at most this part of the budget */, EARLY_SHARE = 12, EARLY_MOST = 400 };
	const search_options *o = r->user;
	uint64_t total = o->evaluations ? o->evaluations : o->time_limit_ns ? UINT64_MAX / 4 : default_evaluations(&r->pb), fixed = 0;
	uint32_t shares = 0, polish_share = o->schedule_json ? POLISH_SHARE : POLISH_SHARE_COMPOSED;
	/* Composites rarely need their part of a budget in time, and bring most of what there is to gain. */
	r->deadline_ns = o->time_limit_ns ? runner_elapsed(r) + MAX(o->time_limit_ns - runner_elapsed(r), 0) / COMPOSE_SHARE : 0;
	if (!o->schedule_json && !(o->without & WITHOUT_COMPOSITES)) {
		TRY(runner_compose(r, total, total / COMPOSE_SHARE, d));
		r->pb.nothing_fits = !r->best_score.fits;
		if (!(o->without & WITHOUT_POLISH))
			TRY(runner_polish(r, MIN(total / EARLY_SHARE, (uint64_t)EARLY_MOST), d));
	}
	for (uint32_t i = 0; i < r->tactics.n; i++) {
		const tactic *tc = &r->tactics.p[i];
		fixed += tc->evaluations;
		shares += tc->evaluations ? 0 : tc->kind == TACTIC_AUTO ? 1 : tc->kind == TACTIC_POLISH ? polish_share : 0;
	}
	uint64_t left = total > fixed + r->out->evaluations ? total - fixed - r->out->evaluations : 0, share = shares ? left / shares : 0;
	r->n_bases = 1;
	r->bases[0].n = 0;
	for (uint32_t i = 0; i < r->tactics.n; i++) {
		const tactic *tc = &r->tactics.p[i];
		/* Time left is shared evenly between the tactics left; what one does not use goes to the next. */
		int64_t now = runner_elapsed(r);
		r->deadline_ns = !o->time_limit_ns ? 0 : now < o->time_limit_ns ? now + (o->time_limit_ns - now) / (r->tactics.n - i) : now;
		r->pb.nothing_fits = !r->best_score.fits;
		if (tc->kind == TACTIC_MANUAL || tc->kind == TACTIC_NAMED)
			TRY(run_fixed(r, tc, d));
		else if (!runner_stops(r) && tc->kind == TACTIC_AUTO)
			TRY(runner_auto(r, tc, tc->evaluations ? tc->evaluations : share, d));
		else if (!runner_stops(r))
			TRY(runner_last_polish(r, tc->evaluations ? tc->evaluations : share * polish_share, d));
	}
	return ST_OK;
}

/* How the plan is applied, before anything is costed. */
static status settle_apply(runner *r, diag *d)
{
	diag why = {0};
	if (r->o.apply != APPLY_EXACT && !r->o.apply_exact_if_possible)
		return ST_OK;
	status s = lower_check_emits(r->pb.p, r->pb.m->shardings, r->pb.mesh, &why);
	if (s != ST_OK && !r->o.apply_exact_if_possible) {
		*d = why;
		return s;
	}
	r->o.apply = s == ST_OK ? APPLY_EXACT : APPLY_ANNOTATE;
	snprintf(r->out->not_exact, sizeof r->out->not_exact, "%.*s", (int)sizeof r->out->not_exact - 1, s == ST_OK ? "" : why.msg);
	return ST_OK;
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
	r->threads = (int)MIN(o->threads ? o->threads : (uint32_t)parallel_cores(), (uint32_t)LOGICAL_TREES);
	status s = ST_OK;
	if (!module_main(m))
		s = diag_set(d, ST_ERR_INVALID, "the module has no function 'main'");
	if (s == ST_OK)
		s = runner_settle_mesh(r, d);
	if (s == ST_OK)
		s = runner_apply_pins(r, d);
	if (s == ST_OK)
		s = problem_init(&r->pb, r->base, &r->o, d);
	if (s == ST_OK)
		s = settle_apply(r, d);
	if (s == ST_OK)
		s = runner_apply_forbids(r, d);
	if (s == ST_OK)
		s = schedule_read(&r->pb, o->schedule_json, &r->tactics, d);
	if (s == ST_OK) {
		parallel_for(LOGICAL_TREES, r->threads, open_evaluator, r);
		r->crew = crew_new(r->ev, r->threads, runner_stops, r);
		s = runner_baselines(r, d);
	}
	if (s == ST_OK)
		s = run_schedule(r, d);
	if (s == ST_OK) {
		for (int i = 0; i < LOGICAL_TREES && s == ST_OK; i++)
			if (evaluator_broken(r->ev[i]))
				s = diag_set(d, ST_ERR_INTERNAL, "an evaluation of the folded program differs from one of the whole program");
		if (s == ST_OK)
			s = runner_confirm(r, d);
	}
	if (s == ST_OK) {
		if (o->check && r->answer->pl) {
			evaluator_run(r->ev[0], r->answer->pl, NULL);
			if (!evaluator_self_check(r->ev[0], r->answer->pl))
				s = diag_set(d, ST_ERR_INTERNAL, "the incremental state differs from its unmemoised re-execution");
		}
		if (s == ST_OK)
			s = runner_report(r, d);
	}
	crew_free(r->crew);
	for (int i = 0; i < LOGICAL_TREES; i++) {
		evaluator_free(r->ev[i]);
		arena_release(&r->chain_mem[i]);
	}
	for (uint32_t i = 0; i < r->candidates.n; i++)
		candidate_release(&r->candidates.p[i]);
	vec_release(&r->candidates);
	for (uint32_t i = 0; i < r->baselines.n; i++)
		candidate_release(&r->baselines.p[i]);
	vec_release(&r->baselines);
	candidate_release(&r->smallest);
	free(r->composed);
	vec_release(&r->composed_of);
	vec_release(&r->tactics);
	problem_release(&r->pb);
	module_free(r->base);
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
	vec_release(&r->unsupported);
	vec_release(&r->whole);
	arena_release(&r->mem);
	*r = (search_result){0};
}
