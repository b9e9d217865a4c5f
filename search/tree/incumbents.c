/* Candidates for the answer: every one is replayed first, and better than those before. */
#include "search/tree/runner.h"

#include <stdlib.h>

const candidate *runner_best(const runner *r)
{
	return r->candidates.n > r->first_candidate ? &r->candidates.p[r->candidates.n - 1] : NULL;
}

/* The first one is there whatever it is, so that there is an answer. */
static bool is_taken(const runner *r, const candidate *c, bool allowed)
{
	return !runner_best(r) || (allowed && score_less(score_final(&r->pb, &c->c), r->best_score));
}

/* Whatever is allowed is better than what is not. */
static void take(runner *r, const candidate *c, bool allowed, const char *tactic_name)
{
	vec_push(&r->candidates, *c);
	r->best_score = allowed ? score_final(&r->pb, &c->c)
							: (score){.primary = INT64_MAX, .secondary = INT64_MAX};
	r->out->cost = c->c;
	r->out->fits = c->c.peak_bytes <= r->pb.memory_limit;
	vec_push(&r->out->incumbents,
		(incumbent_mark){r->out->evaluations, runner_elapsed(r), c->c.runtime_ns, c->c.peak_bytes});
	runner_tell(r, true, tactic_name);
}

void candidate_release(candidate *c)
{
	strategy_release(&c->s);
	vec_release(&c->whole);
	free(c->pl);
}

plan *plan_copy(const plan *pl)
{
	plan *to = xmalloc(sizeof *to);
	*to = *pl;
	return to;
}

void runner_note_smallest(runner *r, const cost *c, const plan *pl, const strategy *s)
{
	cost *least = &r->out->smallest;
	if (least->peak_bytes &&
		(c->peak_bytes > least->peak_bytes ||
			(c->peak_bytes == least->peak_bytes && c->runtime_ns >= least->runtime_ns)))
		return;
	*least = *c;
	if (!apply_is_exact(r->o.apply))
		return;
	candidate_release(&r->smallest);
	r->smallest = (candidate){.c = *c, .incremental = *c, .pl = pl ? plan_copy(pl) : NULL};
	if (s)
		strategy_copy(&r->smallest.s, s);
	else
		evaluator_strategy(r->ev[0], pl, &r->smallest.s);
}

status runner_replay(runner *r, const plan *pl, cost *out, bool *allowed, diag *d)
{
	r->out->replays++;
	evaluator_replay(r->ev[0], &r->goal, out, allowed);
	if (!r->o.check || r->o.open_results)
		return ST_OK;
	strategy s;
	cost whole;
	bool same;
	evaluator_strategy(r->ev[0], pl, &s);
	status st = replay_strategy(&r->pb, r->base, &s, &whole, &same, d);
	strategy_release(&s);
	if (st == ST_OK && (same != *allowed || memcmp(&whole, out, sizeof whole)))
		st = diag_set(
			d, ST_ERR_INTERNAL, "a replay on the compiled program differs from one of the module");
	return st;
}

void runner_offer(runner *r, candidate *c, bool allowed, const char *tactic_name)
{
	if (is_taken(r, c, allowed))
		take(r, c, allowed, tactic_name);
	else
		candidate_release(c);
}

status runner_try(runner *r, plan *pl, const char *tactic_name, diag *d)
{
	candidate c = {0};
	evaluator_run(r->ev[0], pl, &c.incremental);
	if (r->candidates.n > r->first_candidate && plan_manual(pl, FIXED_BY_USER) < r->n_manual)
		return ST_OK;
	uint64_t h = evaluator_hash(r->ev[0]);
	for (uint32_t i = 0; i < r->n_tried; i++)
		if (r->tried[i] == h)
			return ST_OK;
	if (r->n_tried < MAX_TRIED)
		r->tried[r->n_tried++] = h;
	bool allowed;
	TRY(runner_replay(r, pl, &c.c, &allowed, d));
	if (allowed)
		runner_note_smallest(r, &c.c, pl, NULL);
	if (is_taken(r, &c, allowed)) {
		evaluator_strategy(r->ev[0], pl, &c.s);
		c.pl = plan_copy(pl);
		take(r, &c, allowed, tactic_name);
	}
	return ST_OK;
}
