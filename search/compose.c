/* Composite plans to start from: each axis cuts the batch, weights, or other dims of the data such as the sequence, by its recipes,
 * and optimizer state and parameters may be cut over more axes on top (ZeRO). So what people write by hand (Megatron, expert and
 * sequence parallelism, channels) is among the first plans that are costed. What is fast but takes too much memory gets the
 * decisions that save most of it for the least time. */
#include "search/composer.h"

#include <stdlib.h>

enum { MOST_PLANS = 256, MOST_ODD = 1, MOST_REPAIRED = 2, MOST_ADDED = 64 /* actions tried at once */, MOST_SPLITS = 4, REPAIR_STEPS = 4, MOST_REPLAYED = 2 * COMPOSE_KEEP };

/* ---------------------------------------------------------------- what they combine to */

/* Every axis is in one of these units. */
typedef struct combination {
	uint32_t n;
	const unit *units[MAX_COMPOSED_AXES];
	axis_way ways[MAX_COMPOSED_AXES];
} combination;

static void add_over(const composer *k, plan *pl, role_action which, uint32_t mask)
{
	for (uint32_t i = 0; i < k->n_axes; i++)
		if (mask >> i & 1)
			composer_append_role(k->pb, pl, which, k->axes[i]);
}

static uint32_t all_axes(const composer *k) { return (1u << k->n_axes) - 1; }

/* What the units do with something else than the batch alone and that comes in this place, in their order. */
static bool append_recipes(const composer *k, const combination *c, place where, plan *pl)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const plan *recipe = &k->units[c->units[i]->like].recipe[c->ways[i]];
		if (c->ways[i] == CUTS_BATCH || composer_ways[c->ways[i]].placed != where)
			continue;
		if (!recipe->n)
			return false;
		for (uint32_t r = 0; r < recipe->n; r++)
			composer_insert(k, c->units[i], pl, pl->n, &recipe->decisions[r]);
	}
	return true;
}

static uint32_t batch_axes(const combination *c)
{
	uint32_t batch = 0;
	for (uint32_t i = 0; i < c->n; i++)
		batch |= cuts_batch(c->ways[i]) ? c->units[i]->mask : 0;
	return batch;
}

/* Parameters with their state over the axes of zero3 (ZeRO-3), and then state alone over those of zero2 (ZeRO-2). */
static void list_plan(composer *k, const combination *c, uint32_t zero3, uint32_t zero2)
{
	if (k->n_plans == k->cap)
		return;
	plan *pl = &k->plans[k->n_plans];
	pl->n = 0;
	if (!append_recipes(k, c, BEFORE_BATCH, pl))
		return;
	add_over(k, pl, ROLE_ACTION_DATA_PARALLEL, batch_axes(c));
	if (!append_recipes(k, c, BEHIND_BATCH, pl))
		return;
	add_over(k, pl, ROLE_ACTION_ZERO3, zero3);
	add_over(k, pl, ROLE_ACTION_ZERO2, zero2);
	k->n_plans += append_recipes(k, c, BEHIND_ZERO, pl);
}

/* Parameters over one of the batch axes, or over all but one, and state over all: what has to be gathered is near, or of few devices. */
static void list_hybrids(composer *k, const combination *c)
{
	uint32_t batch = batch_axes(c), all = all_axes(k);
	for (uint32_t i = 0; i < k->n_axes; i++) {
		uint32_t one = 1u << i, others = batch & ~one;
		if (!(batch & one) || !others)
			continue;
		list_plan(k, c, one, all & ~one);
		if (others & (others - 1)) /* of two axes, the others are one too */
			list_plan(k, c, others, all & ~others);
	}
}

static void list_zero_ways(composer *k, const combination *c)
{
	uint32_t batch = batch_axes(c), all = all_axes(k);
	list_plan(k, c, 0, 0);
	if (batch && batch != all)
		list_plan(k, c, 0, batch);
	list_plan(k, c, 0, all);
	if (batch && batch != all)
		list_plan(k, c, batch, 0);
	list_plan(k, c, all, 0);
	if (batch && batch != all)
		list_plan(k, c, all & ~batch, batch);
	list_hybrids(k, c);
}

/* The state cut over all axes, parameters too, or neither. */
static void list_split_plans(composer *k)
{
	static const struct { bool zero3, zero2; } ways[] = {{.zero2 = true}, {.zero3 = true}, {0}};
	for (uint32_t i = 0; i < k->n_splits; i++) {
		const split *sp = &k->splits[i];
		for (uint32_t z = 0; z < COUNT_OF(ways) && sp->recipe.n && k->n_plans < k->cap; z++) {
			plan *pl = &k->plans[k->n_plans++];
			uint32_t at = composer_begin_split(k, sp, pl), behind = pl->n - at;
			for (uint32_t r = 0; r < sp->recipe.n; r++)
				composer_insert(k, sp->second, pl, pl->n - behind, &sp->recipe.decisions[r]);
			add_over(k, pl, ROLE_ACTION_ZERO3, ways[z].zero3 ? all_axes(k) : 0);
			add_over(k, pl, ROLE_ACTION_ZERO2, ways[z].zero2 ? all_axes(k) : 0);
		}
	}
}

/* Which combinations come in which order: what is usual; what is alike, or two axes together; what is odd on one unit. */
enum { USUAL, ALIKE_OR_PAIRED, ODD, RANKS };
static uint32_t rank_of(const composer *k, const combination *c)
{
	uint32_t odd = 0;
	bool alike = true, paired = false, mixed = false;
	for (uint32_t i = 0; i < c->n; i++) {
		bool pair = c->units[i]->sort == PAIR;
		odd += composer_ways[c->ways[i]].odd && !pair;
		alike &= c->ways[i] == c->ways[0] && c->units[i]->sort == c->units[0]->sort;
		mixed |= !pair && c->ways[i] != c->ways[0];
		paired |= pair;
	}
	if (paired)
		return odd || mixed ? RANKS : ALIKE_OR_PAIRED;
	if (!odd)
		return USUAL;
	return alike ? ALIKE_OR_PAIRED : odd <= MOST_ODD && odd + k->n_axes <= MAX_COMPOSED_AXES ? ODD : RANKS;
}

/* All ways of the combination's units, when they are of the rank. */
static void list_ways(composer *k, combination *c, uint32_t rank)
{
	uint32_t total = 1;
	for (uint32_t i = 0; i < c->n; i++)
		total *= AXIS_WAYS;
	for (uint32_t code = 0; code < total; code++) {
		bool possible = true;
		uint32_t rest = code;
		for (uint32_t i = 0; i < c->n; i++, rest /= AXIS_WAYS) {
			c->ways[i] = rest % AXIS_WAYS;
			possible &= (composer_ways[c->ways[i]].units & c->units[i]->sort) != 0;
		}
		if (possible && rank_of(k, c) == rank)
			list_zero_ways(k, c);
	}
}

/* One unit of several axes, or none (NULL), and every other axis on its own. */
static combination combine(const composer *k, const unit *several)
{
	combination c = {0};
	for (uint32_t i = 0; i < k->n_axes; i++)
		if (!several || !(several->mask >> i & 1))
			c.units[c.n++] = &k->units[i];
	if (several)
		c.units[c.n++] = several;
	return c;
}

static void list_plans(composer *k)
{
	list_split_plans(k);
	k->n_split_plans = k->n_plans;
	for (uint32_t rank = 0; rank < RANKS; rank++)
		for (uint32_t i = k->n_axes - 1; i < k->n_units; i++) { /* the last of one axis stands for them all */
			combination c = combine(k, k->units[i].sort == ONE ? NULL : &k->units[i]);
			list_ways(k, &c, rank);
		}
}

static void cost_plans(composer *k)
{
	cost *costs = xmalloc((k->n_plans + 1) * sizeof *costs);
	k->used += crew_cost(k->with, k->plans, k->n_plans, k->n_plans, costs);
	for (uint32_t i = 0; i < k->n_plans; i++)
		k->outcomes[i] = (outcome){.c = costs[i], .done = is_costed(&costs[i])};
	free(costs);
}

/* ---------------------------------------------------------------- what does not fit */

static double over(const problem *pb, const cost *c) { return MAX((double)c->peak_bytes / (double)MAX(pb->memory_limit, 1) - 1, 0.0); }

/* What a plan is worth as a start: what is a little too large can be made to fit. */
static double promise(const problem *pb, const cost *c) { return (double)c->runtime_ns * (1 + 2 * over(pb, c)); }

static void cost_additions(composer *k)
{
	plan *with = xmalloc(MOST_ADDED * sizeof *with);
	for (uint32_t first = 0; first < k->actions->n; first += MOST_ADDED) {
		uint32_t n = MIN(k->actions->n - first, (uint32_t)MOST_ADDED);
		for (uint32_t i = 0; i < n; i++) {
			with[i] = k->repaired;
			plan_insert(&with[i], plan_zero_at(&with[i]), &k->actions->p[first + i], "compose");
		}
		k->used += crew_cost(k->with, with, n, n, k->after + first);
	}
	free(with);
}

/* The addition that makes it fit for the least time, or that saves most memory for the time it costs; ID_NONE. */
static uint32_t best_addition(const composer *k, const cost *now)
{
	uint32_t best = ID_NONE;
	double best_price = 0;
	bool best_fits = false;
	for (uint32_t i = 0; i < k->actions->n; i++) {
		const cost *c = &k->after[i];
		if (!is_costed(c) || c->peak_bytes >= now->peak_bytes)
			continue;
		bool fits = c->peak_bytes <= k->pb->memory_limit;
		double time = (double)(c->runtime_ns - now->runtime_ns), saved = (double)(now->peak_bytes - c->peak_bytes);
		double price = fits || time < 0 ? time : time / saved;
		if (best != ID_NONE && (best_fits != fits ? best_fits : best_price <= price))
			continue;
		best = i;
		best_price = price;
		best_fits = fits;
	}
	return best;
}

static void repair(composer *k, uint64_t budget, uint32_t at)
{
	cost now = k->outcomes[at].c;
	k->repaired = k->plans[at];
	for (int step = 0; step < REPAIR_STEPS && over(k->pb, &now) > 0 && k->repaired.n < MAX_PLAN && k->used + k->actions->n <= budget; step++) {
		cost_additions(k);
		uint32_t best = best_addition(k, &now);
		if (best == ID_NONE || crew_stops(k->with))
			break;
		plan_insert(&k->repaired, plan_zero_at(&k->repaired), &k->actions->p[best], "compose");
		now = k->after[best];
	}
	k->plans[k->n_plans] = k->repaired;
	k->outcomes[k->n_plans++] = (outcome){.c = now, .done = true};
}

/* The most promising of the first n plans that takes too much memory and is faster than all that do not; ID_NONE. */
static uint32_t most_promising(const composer *k, uint32_t n, const bool *taken)
{
	uint32_t best = ID_NONE;
	int64_t least = INT64_MAX; /* time of what fits */
	for (uint32_t i = 0; i < k->n_plans; i++) {
		const outcome *o = &k->outcomes[i];
		if (o->done && over(k->pb, &o->c) == 0)
			least = MIN(least, o->c.runtime_ns);
	}
	for (uint32_t i = 0; i < n; i++) {
		const outcome *o = &k->outcomes[i];
		if (o->done && !taken[i] && over(k->pb, &o->c) > 0 && o->c.runtime_ns < least &&
		    (best == ID_NONE || promise(k->pb, &o->c) < promise(k->pb, &k->outcomes[best].c)))
			best = i;
	}
	return best;
}

static void take_alike(const composer *k, uint32_t n, uint32_t at, bool *taken)
{
	for (uint32_t i = 0; i < n; i++) /* the same on an axis like it */
		taken[i] |= k->outcomes[i].c.runtime_ns == k->outcomes[at].c.runtime_ns;
}

/* The most promising plans that take too much memory. What is still faster than all that fits is where a polish may start. */
static void repair_plans(composer *k, uint64_t budget, composition *out)
{
	uint32_t n = k->n_plans;
	k->after = xcalloc(k->actions->n + 1, sizeof *k->after);
	bool *taken = xcalloc(n + 1, sizeof *taken);
	for (int round = 0; round < MOST_REPAIRED; round++) {
		uint32_t best = most_promising(k, n, taken);
		if (best == ID_NONE || crew_stops(k->with))
			break;
		take_alike(k, n, best, taken);
		repair(k, budget, best);
	}
	memset(taken, 0, n * sizeof *taken);
	uint32_t large;
	while (out->n_large < COUNT_OF(out->large) && (large = most_promising(k, n, taken)) != ID_NONE) {
		out->large[out->n_large++] = k->plans[large];
		take_alike(k, n, large, taken);
	}
	free(taken);
	free(k->after);
}

/* ---------------------------------------------------------------- all */

static bool is_better(const problem *pb, const outcome *a, const outcome *b) { return score_less(score_of(pb, &a->c), score_of(pb, &b->c)); }

static uint32_t best_outcome(const composer *k)
{
	uint32_t best = ID_NONE;
	for (uint32_t i = 0; i < k->n_plans; i++)
		if (k->outcomes[i].done && (best == ID_NONE || is_better(k->pb, &k->outcomes[i], &k->outcomes[best])))
			best = i;
	return best;
}

/* In its place among those kept: a replay may be faster than it looked. */
static void keep(const composer *k, composition *out, uint32_t which, uint32_t *kept)
{
	uint32_t at = out->n++;
	while (at > 0 && is_better(k->pb, &k->outcomes[which], &k->outcomes[kept[at - 1]])) {
		out->plans[at] = out->plans[at - 1];
		kept[at] = kept[at - 1];
		at--;
	}
	out->plans[at] = k->plans[which];
	kept[at] = which;
}

/* The best ones as replays see them. */
static void keep_best(composer *k, composition *out)
{
	uint32_t best, replays = 0, splits = 0, kept[COMPOSE_KEEP];
	while (out->n < COMPOSE_KEEP && (best = best_outcome(k)) != ID_NONE) {
		outcome *o = &k->outcomes[best];
		if (best < k->n_split_plans && splits == MOST_SPLITS) { /* they are much alike, and not to crowd out others */
			o->done = false;
			continue;
		}
		if (!o->replayed && replays++ < MOST_REPLAYED) {
			bool allowed;
			evaluator_run(crew_lead(k->with), &k->plans[best], NULL);
			evaluator_replay(crew_lead(k->with), &o->c, &allowed);
			o->replayed = true;
			o->done = allowed;
			continue;
		}
		if (!o->replayed)
			break;
		splits += best < k->n_split_plans;
		keep(k, out, best, kept);
		for (uint32_t i = 0; i < k->n_plans; i++) /* what costs the same is the same, on an axis like it */
			if (i != best && !is_better(k->pb, o, &k->outcomes[i]) && !is_better(k->pb, &k->outcomes[i], o))
				k->outcomes[i].done = false;
		o->done = false;
	}
}

uint64_t compose(const problem *pb, crew *with, const action_list *actions, uint64_t budget, composition *out)
{
	composer *k = xcalloc(1, sizeof *k);
	*k = (composer){.pb = pb, .with = with, .actions = actions};
	*out = (composition){0};
	if (budget && composer_find_recipes(k, budget * 3 / 4)) {
		k->cap = (uint32_t)MIN(budget - MIN(budget, k->used), (uint64_t)MOST_PLANS);
		k->plans = xcalloc(k->cap + MOST_REPAIRED, sizeof *k->plans);
		k->outcomes = xcalloc(k->cap + MOST_REPAIRED, sizeof *k->outcomes);
		list_plans(k);
		cost_plans(k);
		if (pb->objective == OBJECTIVE_RUNTIME)
			repair_plans(k, budget, out);
	}
	keep_best(k, out);
	for (uint32_t i = 0; i < k->n_axes && k->n_units; i++)
		for (axis_way way = CUTS_WEIGHTS; way < AXIS_WAYS; way++)
			if (k->units[i].recipe[way].n)
				out->recipes[out->n_recipes++] = k->units[i].recipe[way];
	uint64_t used = k->used;
	free(k->plans);
	free(k->outcomes);
	free(k);
	return used;
}
