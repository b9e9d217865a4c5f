/* What the default schedule begins with: composite plans, and descents from them. */
#include "search/runner.h"

#include <stdlib.h>

enum { REFINE_SHARE = 3 /* fifths of what composite plans leave */, LEAST_COMPOSED = 1000 /* evaluations for those of a schedule */ };

typedef struct refined_plan {
	plan *pl;
	int64_t energy;
	uint32_t number;
	bool refined, alike; /* alike: to one that a descent went far from */
	refine_depth depth;
} refined_plan;

static int by_energy(const void *a, const void *b)
{
	const refined_plan *x = a, *y = b;
	return x->energy != y->energy ? (x->energy < y->energy ? -1 : 1) : x->number < y->number ? -1 : x->number > y->number;
}

static bool decides_alike(const action *a, const action *b)
{
	return a->kind == b->kind && a->dim == b->dim && (a->kind == ACTION_CONSTRAIN ? a->targets == b->targets : a->group == b->group);
}

/* Of what the plan says of single groups and classes of inner dims, so much is said in the other one, too, on whatever axis. */
static uint32_t said_in(const plan *pl, const plan *other, uint32_t *of)
{
	uint32_t n = 0;
	*of = 0;
	for (uint32_t i = 0; i < pl->n; i++) {
		const action *a = &pl->decisions[i];
		bool said = false;
		if (a->group == ID_NONE && a->kind != ACTION_CONSTRAIN)
			continue;
		for (uint32_t k = 0; k < other->n && !said; k++)
			said = decides_alike(a, &other->decisions[k]);
		n += said;
		++*of;
	}
	return n;
}

/* Descents from plans that are alike often come to the same: does one say most of what the other one says? */
static bool is_alike(const plan *a, const plan *b)
{
	uint32_t n_a, n_b, said_a = said_in(a, b, &n_a), said_b = said_in(b, a, &n_b);
	if (!n_a || !n_b)
		return n_a == n_b;
	return said_a * 4 >= n_a * 3 || said_b * 4 >= n_b * 3;
}

/* What is clearly better is replayed at once, so that an interrupt finds it and who looks on sees it. */
static void tell_refined(void *user, plan *pl, uint64_t used, int64_t energy)
{
	runner *r = user;
	if (energy >= plan_energy(&r->pb, &r->out->cost) / 100 * 99 || r->descent != ST_OK)
		return;
	r->out->evaluations += used;
	r->descent = runner_try(r, pl, "refine", r->descent_diag);
	r->out->evaluations -= used;
}

static refiner *open_refiner(runner *r, diag *d)
{
	r->descent = ST_OK;
	r->descent_diag = d;
	return refiner_new(&r->pb, r->crew, &r->chain_mem[0], &r->composed_of, tell_refined, r);
}

/* The next one of these that no descent went so far from: one that is like no other of those, rather. UINT32_MAX: none. */
static uint32_t next_start(const refined_plan *list, uint32_t n, refine_depth depth)
{
	for (int alike = 0; alike < 2; alike++)
		for (uint32_t i = 0; i < n; i++)
			if (!(list[i].refined && list[i].depth >= depth) && list[i].alike == alike)
				return i;
	return UINT32_MAX;
}

/* The first composite plans a little and the best of them as far as it goes; then the others, and the best that are left. */
static status refine_composed(runner *r, uint64_t budget, diag *d)
{
	static const struct { uint32_t n; refine_depth depth; uint64_t each; } stages[] = {
		{6, REFINE_ALIKE, 40}, {1, REFINE_GROUPS, UINT32_MAX}, {UINT32_MAX, REFINE_ALIKE, 40}, {6, REFINE_GROUPS, UINT32_MAX}};
	composition *cm = r->composed;
	uint32_t n = cm->n_large + cm->n;
	refined_plan *list = xcalloc(n + 1, sizeof *list);
	refiner *rf = open_refiner(r, d);
	int64_t best = INT64_MAX;
	status s = ST_OK;
	for (uint32_t i = 0; i < n; i++)
		list[i] = (refined_plan){.energy = INT64_MAX, .number = i, .pl = i < cm->n_large ? &cm->large[i] : &cm->plans[i - cm->n_large]};
	for (uint32_t k = 0; k < COUNT_OF(stages); k++) {
		for (uint32_t i; budget && s == ST_OK && (i = next_start(list, MIN(n, stages[k].n), stages[k].depth)) < n;) {
			for (uint32_t other = 0; other < n && stages[k].depth == REFINE_GROUPS; other++)
				list[other].alike |= is_alike(list[i].pl, list[other].pl);
			uint64_t used = refiner_improve(rf, list[i].pl, stages[k].depth, MIN(budget, stages[k].each), &list[i].energy);
			list[i].refined = true;
			list[i].depth = stages[k].depth;
			budget -= MIN(used, budget);
			r->out->evaluations += used;
			best = MIN(best, list[i].energy);
			s = r->descent;
			if (s == ST_OK && list[i].energy == best)
				s = runner_try(r, list[i].pl, "compose", d);
		}
		qsort(list, n, sizeof *list, by_energy);
		uint32_t kept = 0;
		for (uint32_t i = 0; i < n; i++) /* equal times: the same plan; none: another one's way */
			if (!list[i].refined || (list[i].energy < INT64_MAX && (!kept || list[i].energy != list[kept - 1].energy)))
				list[kept++] = list[i];
		n = kept;
	}
	plan *sorted = xmalloc((n + 1) * sizeof *sorted);
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = *list[i].pl;
	cm->n_large = 0;
	cm->n = MIN(n, (uint32_t)COMPOSE_KEEP);
	memcpy(cm->plans, sorted, cm->n * sizeof *sorted);
	free(sorted);
	refiner_free(rf);
	free(list);
	return s;
}

status runner_descend(runner *r, uint64_t budget, diag *d)
{
	const candidate *best = runner_best(r);
	if (!best || !best->pl || !budget || (r->user->without & WITHOUT_REFINE))
		return ST_OK;
	if (!r->composed_of.n)
		actions_make(&r->pb, UINT32_MAX, NULL, &r->composed_of);
	plan *pl = xmalloc(sizeof *pl);
	int64_t energy;
	*pl = *best->pl;
	refiner *rf = open_refiner(r, d);
	r->out->evaluations += refiner_improve(rf, pl, REFINE_GROUPS, budget, &energy);
	status s = r->descent == ST_OK && energy < INT64_MAX ? runner_try(r, pl, "refine", d) : r->descent;
	refiner_free(rf);
	free(pl);
	return s;
}

/* The default schedule begins with what people would write, and what is near it. */
status runner_compose(runner *r, uint64_t total, uint64_t budget, diag *d)
{
	r->composed = xcalloc(1, sizeof *r->composed);
	actions_make(&r->pb, UINT32_MAX, NULL, &r->composed_of);
	r->out->evaluations += compose(&r->pb, r->crew, &r->composed_of, budget, r->composed);
	runner_tell(r, false, "compose");
	for (uint32_t i = 0; i < MIN(r->composed->n, (uint32_t)COMPOSED_STARTS); i++)
		TRY(runner_try(r, &r->composed->plans[i], "compose", d));
	if (r->user->without & WITHOUT_REFINE)
		return ST_OK;
	return refine_composed(r, (total - MIN(total, r->out->evaluations)) / 5 * REFINE_SHARE, d);
}

/* The decisions of a schedule's own around the plan: what begins the schedule and what names arguments in front, the others last. */
static void keep_to_schedule(const plan *own, plan *pl)
{
	uint32_t first = plan_first_free(own), in_front = 0, fixed = 0;
	for (uint32_t i = 0; i < own->n; i++)
		fixed += own->decisions[i].fixed;
	pl->n = MIN(pl->n, MAX_PLAN - fixed);
	for (uint32_t i = 0; i < own->n; i++)
		if (own->decisions[i].fixed)
			plan_insert(pl, i < first || !own->decisions[i].on_role ? in_front++ : pl->n, &own->decisions[i], own->tactics[i]);
}

status runner_compose_polish(runner *r, uint64_t budget, diag *d)
{
	if (r->composed || budget < LEAST_COMPOSED || (r->user->without & WITHOUT_COMPOSITES))
		return ST_OK;
	uint64_t before = r->out->evaluations;
	composition *cm = r->composed = xcalloc(1, sizeof *cm);
	int64_t end = r->deadline_ns;
	status s = ST_OK;
	if (end)
		r->deadline_ns = runner_elapsed(r) + MAX(end - runner_elapsed(r), 0) / 2;
	if (!r->composed_of.n)
		actions_make(&r->pb, UINT32_MAX, NULL, &r->composed_of);
	r->out->evaluations += compose(&r->pb, r->crew, &r->composed_of, budget / 2, cm);
	for (uint32_t i = 0; i < cm->n; i++)
		keep_to_schedule(&r->bases[0], &cm->plans[i]);
	for (uint32_t i = 0; i < cm->n_large; i++)
		keep_to_schedule(&r->bases[0], &cm->large[i]);
	runner_tell(r, false, "compose");
	if (!(r->user->without & WITHOUT_REFINE))
		s = refine_composed(r, budget - MIN(budget, r->out->evaluations - before), d);
	r->deadline_ns = end;
	return s;
}
