/* Candidates for the answer: every one is replayed first, and better than those before. Baselines
 * are the first of them. */
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
static void runner_take(runner *r, const candidate *c, bool allowed, const char *tactic_name)
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

/* pl, which is on the first evaluator, or s: what it costs. */
static void note_smallest(runner *r, const cost *c, const plan *pl, const strategy *s)
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

/* Is a candidate what its plan promised? What is written for one device has work that plans do not
 * count, such as tables of positions: little, or it is not. */
static bool keeps_promise(const runner *r, score promised, score found)
{
	enum { PART = 32 };
	if (apply_is_exact(r->o.apply) && promised.fits == found.fits)
		promised.primary += promised.primary / PART;
	return !score_less(promised, found);
}

/* The replay of the plan that is on the first evaluator. With `check` also that of its module,
 * which must cost the same; with open results it need not, for a module whose donated results come
 * out differently frees other buffers. */
static status runner_replay(runner *r, const plan *pl, cost *out, bool *allowed, diag *d)
{
	r->out->replays++;
	evaluator_replay(r->ev[0], out, allowed);
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
		note_smallest(r, &c.c, pl, NULL);
	if (is_taken(r, &c, allowed)) {
		evaluator_strategy(r->ev[0], pl, &c.s);
		c.pl = plan_copy(pl);
		runner_take(r, &c, allowed, tactic_name);
	}
	return ST_OK;
}

/* Costs a candidate as it is applied. */
static status cost_applied(runner *r, candidate *c, bool *allowed, diag *d)
{
	runner_watch watch = {r, &c->whole};
	return replay_seen(&r->pb, r->base, &c->s, &c->c, allowed, runner_list_whole, &watch, NULL, d);
}

/* Of a large program, whose every costing as it is applied takes a good part of a second, those
 * baselines keep what their plans cost that would have to gain more by being written than any does.
 */
static bool may_be_best(const runner *r, const candidate *c, const candidate *best)
{
	enum { LARGE = 16384 /* nodes */, PART = 8 };
	cost least = c->c;
	least.runtime_ns -= least.runtime_ns / PART;
	least.peak_bytes -= least.peak_bytes / PART;
	return r->pb.p->nodes.n <= LARGE ||
		score_less(score_final(&r->pb, &least), score_final(&r->pb, &best->c));
}

/* Baselines are costed as they would be applied, too, and none of them may be better than the
 * answer. Who is told to stop gets what their plans cost. */
static status confirm_baselines(runner *r, candidate **best, diag *d)
{
	for (uint32_t i = 0; i < r->baselines.n && !search_is_stopped(r->user); i++) {
		candidate *c = &r->baselines.p[i];
		bool allowed;
		if (!may_be_best(r, c, *best))
			continue;
		r->out->replays++;
		TRY(cost_applied(r, c, &allowed, d));
		r->out->baselines.p[i].cost = c->c;
		r->out->baselines.p[i].fits = c->c.peak_bytes <= r->pb.memory_limit;
		if (c->confirmed && allowed && !r->first_candidate &&
			score_less(score_final(&r->pb, &c->c), score_final(&r->pb, &(*best)->c)))
			*best = c;
	}
	return ST_OK;
}

/* Where the answer does not fit as it is written, the strategy with the least memory may. */
static status confirm_smallest(runner *r, candidate **best, diag *d)
{
	candidate *c = &r->smallest;
	bool allowed;
	if (!apply_is_exact(r->o.apply) || (*best)->c.peak_bytes <= r->pb.memory_limit)
		return ST_OK;
	if (c->pl && (*best)->pl && plan_same(c->pl, (*best)->pl)) { /* it was costed just now */
		r->out->smallest = (*best)->c;
		return ST_OK;
	}
	TRY(cost_applied(r, c, &allowed, d));
	r->out->smallest = c->c;
	if (allowed && !r->first_candidate &&
		score_less(score_final(&r->pb, &c->c), score_final(&r->pb, &(*best)->c)))
		*best = c;
	return ST_OK;
}

/* The last one of the curve is the answer, as it is costed. */
static void tell_cost_as_written(runner *r)
{
	const incumbent_mark *last = &r->out->incumbents.p[r->out->incumbents.n - 1];
	const cost *c = &r->out->cost;
	bool told = !apply_is_exact(r->o.apply) && r->answer != &r->simplest;
	if (told || (last->runtime_ns == c->runtime_ns && last->peak_bytes == c->peak_bytes))
		return;
	vec_push(&r->out->incumbents,
		(incumbent_mark){r->out->evaluations, runner_elapsed(r), c->runtime_ns, c->peak_bytes});
	runner_tell(r, true, r->answer == &r->simplest ? "simpler" : "as written");
}

/* "params['w'] is [{"data"}, {}]" */
static void tell_argument(const problem *pb, uint32_t arg, sharding_id id, strbuf *out)
{
	const sharding_table *t = pb->m->shardings;
	uint32_t rank = pval_type(pb->p, pb->p->args.p[arg])->rank;
	module_arg_name(pb->m, arg, out);
	strbuf_puts(out, " is [");
	for (uint32_t dim = 0; dim < rank; dim++) {
		strbuf_puts(out, dim ? ", " : "");
		axes_print(t, pb->mesh,
			id == SHARDING_NONE ? (axes){0} : sharding_dim(sharding_get(t, id), dim), out);
	}
	strbuf_putc(out, ']');
}

/* The first candidate may be all that there is, where what is pinned leads to other shardings than
 * the user's groups may have. */
static status check_groups(const runner *r, const strategy *s, diag *d)
{
	const problem *pb = &r->pb;
	for (uint32_t a = 0; a < pb->n_args; a++) {
		uint32_t first = pb->given[a] == ID_NONE ? a : pb->given_first[pb->given[a]];
		if (sharding_same_axes(pb->m->shardings, s->propagated[a], s->propagated[first]))
			continue;
		strbuf one = {0}, other = {0};
		tell_argument(pb, first, s->propagated[first], &one);
		tell_argument(pb, a, s->propagated[a], &other);
		diag_set(d, ST_ERR_INVALID,
			"group '%.100s': no plan was found that shards its arguments alike; in the best one "
			"%.140s, %.140s",
			pb->o->groups[pb->given[a]], one.p, other.p);
		strbuf_release(&one);
		strbuf_release(&other);
		return ST_ERR_INVALID;
	}
	return ST_OK;
}

/* The answer is the last candidate, as the module that it is written into is costed. The others are
 * there in case that is not what its plan promised. */
status runner_confirm(runner *r, diag *d)
{
	candidate *best = NULL;
	for (uint32_t i = r->candidates.n; i-- > r->first_candidate;) {
		candidate *c = &r->candidates.p[i];
		score promised = score_final(&r->pb, &c->c);
		bool allowed = true, first = i == r->first_candidate; /* there is always that one */
		if (!c->confirmed || apply_is_exact(r->o.apply)) {
			r->out->replays++;
			TRY(cost_applied(r, c, &allowed, d));
		}
		if ((allowed || (first && !best)) &&
			(!best || score_less(score_final(&r->pb, &c->c), score_final(&r->pb, &best->c))))
			best = c;
		if (best == c && keeps_promise(r, promised, score_final(&r->pb, &c->c)))
			break;
	}
	TRY(confirm_baselines(r, &best, d));
	TRY(confirm_smallest(r, &best, d));
	TRY(check_groups(r, &best->s, d));
	TRY(runner_choose_simpler(r, &best, d));
	r->answer = best;
	r->out->best = best->s;
	r->out->cost = best->c;
	r->out->fits = best->c.peak_bytes <= r->pb.memory_limit;
	tell_cost_as_written(r);
	r->out->incremental = best->incremental;
	best->s = (strategy){0};
	return ST_OK;
}

/* ---------------------------------------------------------------- baselines */

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
		note_smallest(r, &c->c, c->pl, &c->s);
	if (allowed && c->pl)
		vec_push(&r->composed, (near_plan){*c->pl, c->c});
	if (is_taken(r, c, allowed))
		runner_take(r, c, allowed, name);
	else
		candidate_release(c);
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
