/* A polish: chains from different plans, on threads, that meet; and the answer without what brings nothing. */
#include "search/runner.h"

#include <stdlib.h>

enum { POLISH_ROUNDS = 12, WORTH_SIMPLIFYING = 10 * MAX_PLAN, FIRST_HEAT = 80000, MAX_RECIPES = 32, MAX_STARTS = 2 + MAX_BASES + 3 + COMPOSE_KEEP };
/* Of a last polish's budget: the descent at its end; behind composites chains have less to find. What composites take, at most, with a schedule. */
enum { DESCENT_SHARE = 6, DESCENT_SHARE_COMPOSED = 3, COMPOSE_SHARE = 2 };

typedef struct workshop {
	runner *r;
	polisher *chains[LOGICAL_TREES];
	uint64_t part;
	uint32_t heat;
	const plan *starts[LOGICAL_TREES], *go_to[LOGICAL_TREES]; /* go_to: NULL: on from where it is */
	const action_list *actions;
	const plan *recipes;
	uint32_t n_recipes;
} workshop;

static void open_chain(void *user, uint32_t i, scout *s)
{
	workshop *w = user;
	uint64_t chain = (uint64_t)i + LOGICAL_TREES * w->r->polished;
	w->chains[i] = polisher_new(s, &w->r->pb, w->starts[i], w->actions, w->recipes, w->n_recipes, w->r->o.seed + 1000 * chain, &w->r->chain_mem[i]);
}

static void walk_chain(void *user, uint32_t i, scout *s)
{
	workshop *w = user;
	if (w->go_to[i])
		polisher_go_to(w->chains[i], s, w->go_to[i]);
	polisher_walk(w->chains[i], s, w->part, w->heat);
}

static void add_plan(plan *list, uint32_t *n, uint32_t limit, const plan *pl)
{
	for (uint32_t i = 0; i < *n; i++)
		if (plan_same(&list[i], pl))
			return;
	if (*n < limit)
		list[(*n)++] = *pl;
}

/* How each plan at hand uses each axis, on axis 0: what the polish may do with any axis. */
static void add_recipes(const runner *r, plan *list, uint32_t *n, uint32_t limit, const plan *from)
{
	plan *own = xmalloc(sizeof *own);
	for (uint32_t axis = 0; axis < r->pb.n_axes; axis++) {
		own->n = 0;
		for (uint32_t i = 0; i < from->n; i++)
			if (from->decisions[i].axis == axis) {
				action a = from->decisions[i];
				a = a.on_role ? *action_of_role(&r->pb, a.role, 0) : a;
				a.axis = 0;
				a.fixed = false;
				own->decisions[own->n] = a;
				own->tactics[own->n++] = from->tactics[i];
			}
		if (own->n)
			add_plan(list, n, limit, own);
	}
	free(own);
}

static int chain_by_score(const void *a, const void *b)
{
	const polish_best *x = *(const polish_best *const *)a, *y = *(const polish_best *const *)b;
	return score_less(x->s, y->s) ? -1 : score_less(y->s, x->s) ? 1 : plan_compare(&x->pl, &y->pl);
}

static int chain_of(const workshop *w, const polish_best *best)
{
	int i = 0;
	while (polisher_best(w->chains[i]) != best)
		i++;
	return i;
}

/* Takes decisions away that bring nothing: the answer is for people too. */
static status simplify(runner *r, diag *d)
{
	plan *pl = xmalloc(sizeof *pl), *trial = xmalloc(sizeof *trial);
	cost c;
	*pl = *runner_best(r)->pl;
	bool allowed;
	evaluator_run(r->ev[0], pl, NULL);
	evaluator_replay(r->ev[0], &c, &allowed);
	score best = score_final(&r->pb, &c);
	uint32_t before = pl->n;
	for (uint32_t i = pl->n; i-- > 0 && !runner_stops(r);) {
		if (i >= pl->n || pl->decisions[i].fixed)
			continue;
		*trial = *pl;
		plan_drop(trial, i);
		evaluator_run(r->ev[0], trial, NULL);
		evaluator_replay(r->ev[0], &c, &allowed);
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
		st = runner_try(r, pl, "polish", d);
	}
	free(pl);
	free(trial);
	return st;
}

status runner_polish(runner *r, uint64_t budget, diag *d)
{
	static const char *const starts_of[] = {"data_parallel", "zero2", "zero3"};
	if (!budget)
		return ST_OK;
	action_list actions = {0};
	actions_make(&r->pb, UINT32_MAX, NULL, &actions);
	actions_split(&r->pb, UINT32_MAX, &actions);
	plan *starts = xcalloc(MAX_STARTS, sizeof *starts), *recipes = xcalloc(MAX_RECIPES, sizeof *recipes), *baseline = xmalloc(sizeof *baseline);
	uint32_t n = 0, n_recipes = 0;
	const candidate *best = runner_best(r);
	if (best && best->pl)
		add_plan(starts, &n, MAX_STARTS, best->pl);
	for (uint32_t i = 0; r->composed && i < MIN(r->composed->n_large, 1u); i++)
		add_plan(starts, &n, MAX_STARTS, &r->composed->large[i]);
	for (uint32_t i = 0; r->composed && i < MIN(r->composed->n, (uint32_t)COMPOSED_STARTS); i++)
		add_plan(starts, &n, MAX_STARTS, &r->composed->plans[i]);
	for (uint32_t i = 0; i < r->n_bases; i++)
		if (r->bases[i].n || !r->composed)
			add_plan(starts, &n, MAX_STARTS, &r->bases[i]);
	for (uint32_t i = 0; i < n; i++)
		add_recipes(r, recipes, &n_recipes, MAX_RECIPES, &starts[i]);
	for (uint32_t i = 0; r->composed && i < r->composed->n_recipes; i++)
		add_recipes(r, recipes, &n_recipes, MAX_RECIPES, &r->composed->recipes[i]);
	for (uint32_t i = 0; i < COUNT_OF(starts_of); i++) {
		baseline_plan(&r->pb, starts_of[i], baseline);
		add_recipes(r, recipes, &n_recipes, MAX_RECIPES, baseline);
		if (!r->user->schedule_json)
			add_plan(starts, &n, MAX_STARTS, baseline);
	}
	free(baseline);
	workshop w = {.r = r, .actions = &actions, .recipes = recipes, .n_recipes = n_recipes};
	for (uint32_t i = 0; i < LOGICAL_TREES; i++)
		w.starts[i] = &starts[i % n];
	uint64_t used = crew_do(r->crew, LOGICAL_TREES, open_chain, &w);
	r->out->evaluations += used;
	r->polished++;
	const polish_best *order[LOGICAL_TREES];
	int64_t end = r->deadline_ns;
	status s = ST_OK;
	plan *met = xcalloc(LOGICAL_TREES, sizeof *met);
	for (uint32_t round = 0; round < POLISH_ROUNDS && !runner_stops(r) && s == ST_OK; round++) {
		uint32_t left = POLISH_ROUNDS - round;
		for (int i = 0; i < LOGICAL_TREES; i++) {
			met[i] = polisher_best(w.chains[i])->pl;
			polisher_meet(w.chains[i], met, LOGICAL_TREES);
		}
		w.part = (budget - MIN(used, budget)) / left / LOGICAL_TREES + 1;
		if (end) /* the chains cool down in time, too */
			r->deadline_ns = runner_elapsed(r) + MAX(end - runner_elapsed(r), 0) / left;
		w.heat = FIRST_HEAT / (POLISH_ROUNDS * POLISH_ROUNDS) * (left - 1) * (left - 1);
		uint64_t costed = crew_do(r->crew, LOGICAL_TREES, walk_chain, &w);
		memset(w.go_to, 0, sizeof w.go_to);
		used += costed;
		r->out->evaluations += costed;
		r->deadline_ns = end;
		for (int i = 0; i < LOGICAL_TREES; i++)
			order[i] = polisher_best(w.chains[i]);
		qsort(order, LOGICAL_TREES, sizeof *order, chain_by_score);
		runner_tell(r, false, "polish");
		/* What is clearly better is replayed at once, so that an interrupt finds it. */
		if (score_less(order[0]->s, r->best_score) && (order[0]->s.fits != r->best_score.fits || order[0]->s.primary < r->best_score.primary / 100 * 99)) {
			plan *pl = xmalloc(sizeof *pl);
			*pl = order[0]->pl;
			s = runner_try(r, pl, "polish", d);
			free(pl);
		}
		/* Towards the end the chains gather at the best plans. */
		if (round * 2 >= POLISH_ROUNDS)
			w.go_to[chain_of(&w, order[LOGICAL_TREES - 1])] = &met[chain_of(&w, order[0])]; /* as it is at the next round */
	}
	for (uint32_t i = 0; i < LOGICAL_TREES && s == ST_OK; i++) {
		plan *pl = xmalloc(sizeof *pl);
		*pl = polisher_best(w.chains[i])->pl;
		s = runner_try(r, pl, "polish", d);
		free(pl);
	}
	for (int i = 0; i < LOGICAL_TREES; i++)
		polisher_free(w.chains[i]);
	free(met);
	free(starts);
	free(recipes);
	vec_release(&actions);
	return s;
}

status runner_last_polish(runner *r, uint64_t budget, diag *d)
{
	if (r->user->schedule_json) {
		uint64_t before = r->out->evaluations;
		TRY(runner_compose_polish(r, budget / COMPOSE_SHARE, d));
		budget -= MIN(budget, r->out->evaluations - before);
	}
	uint64_t descent = budget / (r->composed ? DESCENT_SHARE_COMPOSED : DESCENT_SHARE);
	TRY(runner_polish(r, budget - descent, d));
	TRY(runner_descend(r, descent, d));
	const candidate *best = runner_best(r);
	return best && best->pl && budget > WORTH_SIMPLIFYING && !runner_stops(r) ? simplify(r, d) : ST_OK;
}
