/* The model cannot tell plans apart whose costs differ by less than it is wrong itself: among these
 * the simplest one is the answer. Its advantage is certain, that of the cheapest one is not.
 *
 * Among       what the search replayed, the baselines, the leaves of its tree before and after their local searches, and the cheapest
 *             plan less the decisions that it can do without
 * Near        step at most (1 + uncertainty x share) of the cheapest one's, and no slower than a baseline that fits. Share: of the cheapest
 *             plan's decisions, or of its collectives, that it does without; the larger one. So what brings more than its part of the
 *             uncertainty stays
 * Fits        with the same margin, or no more memory than the cheapest one needs
 * Simpler     nothing of plan_size is more, and decisions or collectives are fewer
 * Simplest    fewest decisions; then kinds of collectives, collectives, constraints, arguments unlike those of other layers; then the step
 *
 * Pins and manual decisions stay. Of plans for which memory is the objective, and where nothing
 * fits, the cheapest is the answer. */
#include "search/tree/runner.h"

#include <stdlib.h>

static void count_collectives(const cost *c, plan_size *size)
{
	for (int k = 0; k < COLL_COUNT; k++) {
		size->kinds += c->collectives[k].count > 0;
		size->collectives = sat_add(size->collectives, c->collectives[k].count);
	}
}

/* Of what a plan costs, without its constraints and arguments. */
static plan_size size_of_plan(const plan *pl, const cost *c)
{
	plan_size size = {.decisions = pl->n};
	count_collectives(c, &size);
	return size;
}

static sharding_id argument_sharding(const strategy *s, uint32_t arg)
{
	return s->args[arg] == SHARDING_NONE ? s->propagated[arg] : s->args[arg];
}

static plan_size size_of(const runner *r, const candidate *c)
{
	const problem *pb = &r->pb;
	plan_size size = size_of_plan(c->pl, &c->c);
	uint32_t *first = xmalloc((pb->n_groups + 1) * sizeof *first);
	memset(first, 0xff, (pb->n_groups + 1) * sizeof *first);
	size.constraints = c->s.n_constraints;
	for (uint32_t a = 0; a < pb->n_args; a++) {
		uint32_t g = pb->group_of[a];
		if (g == ID_NONE)
			continue;
		if (first[g] == ID_NONE)
			first[g] = a;
		size.unlike += !sharding_same_axes(
			pb->m->shardings, argument_sharding(&c->s, a), argument_sharding(&c->s, first[g]));
	}
	free(first);
	return size;
}

static bool is_no_more(const plan_size *a, const plan_size *b)
{
	return a->decisions <= b->decisions && a->kinds <= b->kinds &&
		a->collectives <= b->collectives && a->constraints <= b->constraints &&
		a->unlike <= b->unlike;
}

static bool is_simpler(const plan_size *a, const plan_size *b)
{
	return is_no_more(a, b) && (a->decisions < b->decisions || a->collectives < b->collectives);
}

static int compare_sizes(const plan_size *a, const plan_size *b)
{
	const int64_t x[] = {a->decisions, a->kinds, a->collectives, a->constraints, a->unlike},
				  y[] = {b->decisions, b->kinds, b->collectives, b->constraints, b->unlike};
	for (uint32_t i = 0; i < COUNT_OF(x); i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static int64_t with_margin(int64_t n, int64_t ppm)
{
	return sat_add(n, (int64_t)((__int128)n * ppm / 1000000));
}

/* ---------------------------------------------------------------- plans to choose from */

void runner_forget_near(runner *r) { r->near.n = 0; }

void runner_near(runner *r, const plan *pl, const cost *c)
{
	if (r->o.uncertainty_ppm && r->near.n < MOST_NEAR)
		vec_push(&r->near, (near_plan){*pl, *c});
}

/* What the answer has to be, for a plan to take its place. */
typedef struct bar {
	const candidate *cheapest;
	plan_size size;
	int64_t baseline_ns, peak_bytes, ppm; /* baseline_ns: the fastest one that fits */
} bar;

/* n ppm (of - left) / of */
static int64_t part_of(int64_t n, int64_t ppm, int64_t left, int64_t of)
{
	return of > left ? (int64_t)((__int128)n * ppm * (of - left) / of / 1000000) : 0;
}

/* The longest step of a plan of that size. */
static int64_t most_runtime(const bar *b, const plan_size *size)
{
	int64_t n = b->cheapest->c.runtime_ns;
	int64_t by_decisions = part_of(n, b->ppm, size->decisions, b->size.decisions),
			by_collectives = part_of(n, b->ppm, size->collectives, b->size.collectives);
	return MIN(sat_add(n, MAX(by_decisions, by_collectives)), b->baseline_ns);
}

static bool passes(const bar *b, const plan_size *size, const cost *c)
{
	int64_t peak = c->peak_bytes <= b->cheapest->c.peak_bytes ? c->peak_bytes
															  : with_margin(c->peak_bytes, b->ppm);
	return c->runtime_ns <= most_runtime(b, size) && peak <= b->peak_bytes;
}

/* Before its replay: it may. */
static bool may_pass(const bar *b, const near_plan *p)
{
	plan_size size = size_of_plan(&p->pl, &p->c);
	return is_simpler(&size, &b->size) &&
		p->c.runtime_ns - p->c.runtime_ns / SLACK_OF <= most_runtime(b, &size);
}

static int simpler_first(const void *a, const void *b)
{
	const near_plan *x = a, *y = b;
	plan_size of_x = size_of_plan(&x->pl, &x->c), of_y = size_of_plan(&y->pl, &y->c);
	int c = compare_sizes(&of_x, &of_y);
	if (!c && x->c.runtime_ns != y->c.runtime_ns)
		c = x->c.runtime_ns < y->c.runtime_ns ? -1 : 1;
	return c ? c : plan_compare(&x->pl, &y->pl);
}

static bool keeps_manual(const runner *r, const plan *pl)
{
	return plan_manual(pl, FIXED_BY_USER) >= r->n_manual;
}

/* Leaves out, from the last decision on, what the plan can do without. */
static void reduce(runner *r, const bar *b)
{
	near_plan *p = xmalloc(sizeof *p), *trial = xmalloc(sizeof *trial);
	bool allowed;
	*p = (near_plan){*b->cheapest->pl, b->cheapest->c};
	uint32_t before = p->pl.n;
	for (uint32_t i = p->pl.n; i-- > 0 && !search_is_stopped(r->user);) {
		if (i >= p->pl.n || p->pl.decisions[i].fixed == FIXED_BY_USER)
			continue;
		trial->pl = p->pl;
		plan_drop(&trial->pl, i);
		evaluator_run(r->ev[0], &trial->pl, NULL);
		evaluator_replay(r->ev[0], &r->goal, &trial->c, &allowed);
		r->out->evaluations++;
		plan_size size = size_of_plan(&trial->pl, &trial->c);
		if (allowed && keeps_manual(r, &trial->pl) && passes(b, &size, &trial->c) &&
			is_no_more(&size, &b->size))
			*p = *trial;
	}
	if (p->pl.n < before)
		vec_push(&r->near, *p);
	free(p);
	free(trial);
}

/* All of them, with costs as the evaluator sees them. */
static void gather(runner *r, const bar *b)
{
	for (uint32_t i = r->first_candidate; i < r->candidates.n; i++)
		if (r->candidates.p[i].pl)
			vec_push(&r->near, (near_plan){*r->candidates.p[i].pl, r->candidates.p[i].c});
	for (uint32_t i = 0; i < r->composed.n && !r->first_candidate; i++)
		vec_push(&r->near, r->composed.p[i]);
	reduce(r, b);
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->near.n; i++)
		if (may_pass(b, &r->near.p[i]))
			r->near.p[n++] = r->near.p[i];
	r->near.n = n;
	if (n)
		qsort(r->near.p, n, sizeof *r->near.p, simpler_first);
}

/* ---------------------------------------------------------------- the choice */

/* The plan as it would be applied: is it near enough, and simpler? */
static status judge(runner *r, const bar *b, candidate *c, bool *is_answer, diag *d)
{
	bool allowed;
	evaluator_strategy(r->ev[0], c->pl, &c->s);
	r->out->replays++;
	TRY(replay_applied(&r->pb, r->base, &c->s, &c->c, &allowed, NULL, d));
	plan_size size = size_of(r, c);
	*is_answer = allowed && passes(b, &size, &c->c) && is_simpler(&size, &b->size);
	if (*is_answer)
		c->s.simpler = (simpler_than){.any = true,
			.uncertainty_ppm = b->ppm,
			.runtime_ns = b->cheapest->c.runtime_ns,
			.peak_bytes = b->cheapest->c.peak_bytes,
			.own = size,
			.cheapest = b->size};
	return ST_OK;
}

static status choose(runner *r, const bar *b, candidate **best, diag *d)
{
	uint32_t replayed = 0, written = 0;
	for (uint32_t i = 0; i < r->near.n && replayed < MOST_REPLAYED && written < MOST_WRITTEN; i++) {
		candidate c = {0};
		plan *pl = &r->near.p[i].pl;
		bool allowed, is_answer;
		evaluator_run(r->ev[0], pl, &c.incremental);
		if (!keeps_manual(r, pl))
			continue;
		replayed++;
		r->out->replays++;
		evaluator_replay(r->ev[0], &r->goal, &c.c, &allowed);
		plan_size size = size_of_plan(pl, &c.c);
		if (!allowed || !passes(b, &size, &c.c) || !is_no_more(&size, &b->size))
			continue;
		written++;
		c.pl = plan_copy(pl);
		status st = judge(r, b, &c, &is_answer, d);
		if (st == ST_OK && is_answer) {
			r->simplest = c;
			*best = &r->simplest;
			return ST_OK;
		}
		candidate_release(&c);
		TRY(st);
	}
	return ST_OK;
}

status runner_choose_simpler(runner *r, candidate **best, diag *d)
{
	const candidate *cheapest = *best;
	const search_result *out = r->out;
	bool fits = cheapest->c.peak_bytes <= r->pb.memory_limit;
	if (!r->o.uncertainty_ppm || !r->may_be_simpler || !cheapest->pl || !fits ||
		r->o.objective != OBJECTIVE_RUNTIME || search_is_stopped(r->user))
		return ST_OK;
	bar b = {.cheapest = cheapest,
		.size = size_of(r, cheapest),
		.ppm = r->o.uncertainty_ppm,
		.baseline_ns = INT64_MAX,
		.peak_bytes = r->pb.memory_limit};
	for (uint32_t i = 0; i < out->baselines.n; i++)
		if (out->baselines.p[i].fits)
			b.baseline_ns = MIN(b.baseline_ns, out->baselines.p[i].cost.runtime_ns);
	gather(r, &b);
	return choose(r, &b, best, d);
}

status runner_simplify(runner *r, diag *d)
{
	const candidate *answer = runner_best(r);
	if (!answer || !answer->pl)
		return ST_OK;
	plan *pl = xmalloc(sizeof *pl), *trial = xmalloc(sizeof *trial);
	cost c;
	bool allowed;
	*pl = *answer->pl;
	evaluator_run(r->ev[0], pl, NULL);
	evaluator_replay(r->ev[0], &r->goal, &c, &allowed);
	score best = score_final(&r->pb, &c);
	uint32_t before = pl->n;
	for (uint32_t i = pl->n; i-- > 0 && !runner_stops(r);) {
		if (i >= pl->n || pl->decisions[i].fixed == FIXED_BY_USER)
			continue;
		*trial = *pl;
		plan_drop(trial, i);
		evaluator_run(r->ev[0], trial, NULL);
		evaluator_replay(r->ev[0], &r->goal, &c, &allowed);
		r->out->evaluations++;
		score s = score_final(&r->pb, &c);
		if (allowed && s.fits == best.fits && s.primary <= best.primary) {
			best = s;
			*pl = *trial;
		}
	}
	status st = ST_OK;
	if (pl->n < before) {
		/* As good is enough here. */
		r->best_score.secondary = INT64_MAX;
		r->n_tried = 0;
		st = runner_try(r, pl, "search", d);
	}
	free(pl);
	free(trial);
	return st;
}
