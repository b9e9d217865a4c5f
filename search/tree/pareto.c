/* Where nothing fits, one answer is one choice of many: the front of time over memory, of all that
 * the search costed. */
#include "search/tree/runner.h"

#include <stdlib.h>

/* Costing a plan of a large program as it is applied takes a good part of a second. */
enum { POINTS = 8, POINTS_OF_LARGE = 4 };

void runner_see(void *user, const plan *pl, const cost *c)
{
	runner *r = user;
	frontier_add(&r->frontier, pl, c);
}

/* Keeps the list a front: equal ones are told once. */
static void add_point(search_result *out, const cost *c, str name, bool is_answer)
{
	pareto_point x = {name, is_answer, c->peak_bytes, c->runtime_ns};
	uint32_t at = 0, end;
	while (at < out->pareto.n && out->pareto.p[at].peak_bytes < x.peak_bytes)
		at++;
	if (at && out->pareto.p[at - 1].runtime_ns <= x.runtime_ns)
		return;
	if (at < out->pareto.n && out->pareto.p[at].peak_bytes == x.peak_bytes &&
		out->pareto.p[at].runtime_ns <= x.runtime_ns)
		return;
	for (end = at; end < out->pareto.n && out->pareto.p[end].runtime_ns >= x.runtime_ns;)
		end++;
	vec_reserve(&out->pareto, out->pareto.n + 1);
	pareto_point *p = out->pareto.p;
	memmove(p + at + 1, p + end, (out->pareto.n - end) * sizeof *p);
	p[at] = x;
	out->pareto.n += 1 + at - end;
}

/* Costs the plan as it would be applied. */
static status write_plan(runner *r, const plan *pl, diag *d)
{
	candidate c = {.pl = plan_copy(pl)};
	bool allowed = false;
	status st = ST_OK;
	evaluator_run(r->ev[0], c.pl, &c.incremental);
	if (plan_manual(c.pl, FIXED_BY_USER) >= r->n_manual) {
		r->out->replays++;
		evaluator_replay(r->ev[0], &r->goal, &c.c, &allowed);
	}
	if (allowed) {
		evaluator_strategy(r->ev[0], c.pl, &c.s);
		st = replay_applied(&r->pb, r->base, &c.s, &c.c, &allowed, NULL, d);
	}
	if (st == ST_OK && allowed)
		vec_push(&r->on_front, c);
	else
		candidate_release(&c);
	return st;
}

status runner_confirm_front(runner *r, candidate **best, diag *d)
{
	if ((*best)->c.peak_bytes <= r->pb.memory_limit)
		return ST_OK;
	frontier_thin(&r->frontier, r->pb.p->nodes.n > LARGE_NODES ? POINTS_OF_LARGE : POINTS);
	for (uint32_t i = 0; i < r->frontier.points.n && !search_is_stopped(r->user); i++)
		TRY(write_plan(r, &r->frontier.points.p[i].pl, d));
	for (uint32_t i = 0; i < r->on_front.n; i++)
		if (score_less(score_final(&r->pb, &r->on_front.p[i].c), score_final(&r->pb, &(*best)->c)))
			*best = &r->on_front.p[i];
	return ST_OK;
}

static bool is_near(int64_t a, int64_t b)
{
	return MAX(a, b) - MIN(a, b) <= MAX(a, b) / NEWS_ONE_IN;
}

/* Leaves out what has no name and is hardly another point than one beside it. */
static void drop_twins(search_result *out)
{
	pareto_point *p = out->pareto.p;
	uint32_t n = 0;
	for (uint32_t i = 0; i < out->pareto.n; i++) {
		bool twin = n && is_near(p[n - 1].peak_bytes, p[i].peak_bytes) &&
			is_near(p[n - 1].runtime_ns, p[i].runtime_ns);
		if (twin && !p[i].is_answer && !p[i].name.n)
			continue;
		n -= twin && !p[n - 1].is_answer && !p[n - 1].name.n;
		p[n++] = p[i];
	}
	out->pareto.n = n;
}

/* A strategy may need less memory as it is written than its plan promised, and be the smallest. */
static void list_point(search_result *out, const cost *c, str name)
{
	if (c->peak_bytes < out->smallest.peak_bytes)
		out->smallest = *c;
	add_point(out, c, name, false);
}

void runner_list_front(runner *r)
{
	search_result *out = r->out;
	if (out->fits)
		return;
	add_point(out, &out->cost, (str){0}, true);
	for (uint32_t i = 0; i < out->baselines.n; i++)
		list_point(out, &out->baselines.p[i].cost, out->baselines.p[i].name);
	for (uint32_t i = 0; i < r->on_front.n; i++)
		list_point(out, &r->on_front.p[i].c, (str){0});
	add_point(out, &out->smallest, (str){0}, false);
	drop_twins(out);
}
