/* Baselines: the first candidates for the answer, which is never worse than the best of them. */
#include "search/tree/runner.h"

#include <stdlib.h>

static sharding_id pinned_sharding(const runner *r, uint32_t arg)
{
	return r->pb.m->values.p[r->pb.p->vals.p[r->pb.p->args.p[arg]].value].sharding;
}

/* Before a candidate's strategy goes its way: a copy for the caller who asked for it. */
static void keep_baseline(runner *r, const char *name, const candidate *c)
{
	for (uint32_t i = 0; i < r->o.n_kept; i++)
		if (!r->o.kept[i].found && !strcmp(r->o.kept[i].name, name)) {
			strategy_copy(&r->o.kept[i].s, &c->s);
			r->o.kept[i].s.apply = apply_as(c->s.apply, r->o.apply);
			r->o.kept[i].found = true;
		}
}

static status all_kept(const runner *r, diag *d)
{
	for (uint32_t i = 0; i < r->o.n_kept; i++) {
		char hint[160];
		nearest near = {.wanted = str_of(r->o.kept[i].name)};
		for (uint32_t k = 0; k < r->out->baselines.n; k++)
			nearest_consider(&near, r->out->baselines.p[k].name);
		if (!r->o.kept[i].found)
			return diag_set(d, ST_ERR_NOT_FOUND, "no baseline '%s'%s", r->o.kept[i].name,
				nearest_hint(&near, hint));
	}
	return ST_OK;
}

/* Takes c->s and c->pl. */
static void add_baseline(runner *r, const char *name, candidate *c, bool allowed)
{
	baseline_result b = {.name = {arena_strdup(&r->out->mem, name, strlen(name)), strlen(name)},
		.cost = c->c,
		.fits = c->c.peak_bytes <= r->pb.memory_limit};
	/* A user's baseline may say what a pin says otherwise: it is shown, but cannot be the answer.
	 */
	for (uint32_t a = 0; a < r->pb.n_args; a++)
		allowed &= !r->pb.pinned[a] || c->s.args[a] == SHARDING_NONE ||
			c->s.args[a] == pinned_sharding(r, a);
	vec_push(&r->out->baselines, b);
	if (apply_is_exact(r->o.apply)) {
		candidate kept = {.c = c->c,
			.incremental = c->incremental,
			.pl = c->pl ? plan_copy(c->pl) : NULL,
			.confirmed = allowed};
		strategy_copy(&kept.s, &c->s);
		vec_push(&r->baselines, kept);
	}
	keep_baseline(r, name, c);
	if (allowed)
		runner_note_smallest(r, &c->c, c->pl, &c->s);
	if (allowed && c->pl)
		vec_push(&r->composed, (near_plan){*c->pl, c->c});
	runner_offer(r, c, allowed, name);
}

/* Who is told to stop gets the first one, so that there is an answer. */
status runner_baselines(runner *r, diag *d)
{
	static const char *const names[] = {
		"replicated", "data_parallel", "data_parallel_first_axis", "zero2", "zero3"};
	plan *pl = xmalloc(sizeof *pl);
	status s = ST_OK;
	bool allowed;
	for (uint32_t i = 0; i < COUNT_OF(names) && s == ST_OK; i++) {
		candidate c = {0};
		if (i == 2 && r->pb.n_axes < 2)
			continue; /* the same as data_parallel */
		if (i && runner_stops(r))
			break;
		baseline_plan(&r->pb, names[i], pl);
		evaluator_run(r->ev[0], pl, &c.incremental);
		r->out->evaluations++;
		s = runner_replay(r, pl, &c.c, &allowed, d);
		if (s != ST_OK)
			break;
		evaluator_strategy(r->ev[0], pl, &c.s);
		c.pl = plan_copy(pl);
		add_baseline(r, names[i], &c, allowed);
	}
	free(pl);
	for (uint32_t i = 0; i < r->o.n_baselines && s == ST_OK && !runner_stops(r); i++) {
		candidate c = {.confirmed = true};
		char device_name[64];
		int64_t limit;
		diag own = {0};
		s = strategy_read(
			r->base, r->o.baselines[i].json, r->o.baselines[i].n, &c.s, device_name, &limit, &own);
		if (s != ST_OK)
			return diag_set(d, s, "baseline %s: %s", r->o.baselines[i].name, own.msg);
		r->out->replays++;
		s = replay_strategy(&r->pb, r->base, &c.s, &c.c, &allowed, d);
		if (s == ST_OK)
			add_baseline(r, r->o.baselines[i].name, &c, allowed);
		else
			candidate_release(&c);
	}
	return s == ST_OK ? all_kept(r, d) : s;
}
