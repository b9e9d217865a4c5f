/* An automatic tactic: a fixed number of logical trees, whoever works them off, merged in tree order. */
#include "search/runner.h"

#include <stdlib.h>

enum { ROUND_EVALUATIONS = 32, REPLAYS_PER_TACTIC = 3 };

static int by_score(const void *a, const void *b)
{
	const tree_best *x = *(tree_best *const *)a, *y = *(tree_best *const *)b;
	if (score_less(x->s, y->s))
		return -1;
	if (score_less(y->s, x->s))
		return 1;
	return plan_compare(&x->pl, &y->pl);
}

/* The trees of one automatic tactic, worked off by whatever threads there are. */
typedef struct grove {
	runner *r;
	const tactic *tc;
	const action_list *actions;
	tree *trees[LOGICAL_TREES];
	uint64_t part, done[LOGICAL_TREES];
} grove;

static void plant(void *user, int i)
{
	grove *g = user;
	runner *r = g->r;
	g->trees[i] = tree_new(r->ev[i], &r->pb, &r->bases[(uint32_t)i % r->n_bases], g->actions, g->tc->title, r->o.seed, (uint32_t)i);
}

static void grow(void *user, int i)
{
	grove *g = user;
	g->done[i] = tree_grow(g->trees[i], g->part, runner_stops, g->r);
}

status runner_auto(runner *r, const tactic *tc, uint64_t budget, diag *d)
{
	action_list actions = {0};
	actions_make(&r->pb, tc->axis_mask, tc->allowed, &actions);
	if (!actions.n || !budget) {
		vec_release(&actions);
		return ST_OK;
	}
	grove g = {.r = r, .tc = tc, .actions = &actions};
	r->pb.objective = tc->objective;
	parallel_for(LOGICAL_TREES, r->threads, plant, &g);
	tree **trees = g.trees;
	uint64_t used = 0;
	while (used < budget && !runner_stops(r)) {
		g.part = MIN((uint64_t)ROUND_EVALUATIONS, (budget - used + LOGICAL_TREES - 1) / LOGICAL_TREES);
		parallel_for(LOGICAL_TREES, r->threads, grow, &g);
		uint64_t sum = 0;
		for (int i = 0; i < LOGICAL_TREES; i++)
			sum += g.done[i];
		used += sum;
		r->out->evaluations += sum;
		runner_tell(r, false, tc->title);
		if (!sum)
			break;
	}
	VEC(const tree_best *) all = {0};
	for (int i = 0; i < LOGICAL_TREES; i++) {
		const tree_best *list;
		uint32_t n = tree_results(trees[i], &list);
		tree_stats st = tree_statistics(trees[i]);
		r->out->nodes += st.nodes;
		r->out->full_evaluations += st.full;
		r->out->table_hits += st.hits;
		for (uint32_t k = 0; k < n; k++)
			vec_push(&all, &list[k]);
	}
	qsort(all.p, all.n, sizeof *all.p, by_score);
	status s = ST_OK;
	uint32_t bases = 0, replays = 0;
	plan *pl = xmalloc(sizeof *pl), *kept = xcalloc(MAX_BASES, sizeof *kept);
	for (uint32_t i = 0; i < all.n && s == ST_OK; i++) {
		if (i && all.p[i]->hash == all.p[i - 1]->hash)
			continue;
		*pl = all.p[i]->pl;
		if (bases < MAX_BASES - 1)
			kept[bases++] = *pl;
		if (replays++ < REPLAYS_PER_TACTIC)
			s = runner_try(r, pl, tc->title, d);
	}
	/* When memory rules, the fastest state that does not fit yet may fit once a later axis shards it too. */
	const tree_best *fastest = NULL;
	for (uint32_t i = 0; i < all.n; i++)
		if (!fastest || all.p[i]->c.runtime_ns < fastest->c.runtime_ns)
			fastest = all.p[i];
	if (fastest && bases && fastest->hash != all.p[0]->hash)
		kept[bases++] = fastest->pl;
	if (bases) {
		memcpy(r->bases, kept, bases * sizeof *kept);
		r->n_bases = bases;
	}
	free(pl);
	free(kept);
	for (int i = 0; i < LOGICAL_TREES; i++)
		tree_free(trees[i]);
	r->pb.objective = r->o.objective;
	vec_release(&all);
	vec_release(&actions);
	return s;
}
