/* Composite plans to start from: each axis cuts the batch, weights, or other dims of the data such as the sequence, and optimizer
 * state and parameters may be cut over more axes on top (ZeRO). What exactly an axis cuts is found on that axis alone, with the
 * batch over all others: every action is tried on its own, then one after the other is kept if it makes the step faster. That is
 * done with the optimizer state whole and with the state cut over all axes (ZeRO-2): as long as every device updates all of it,
 * what cuts the state looks best whatever it does to the layers. So what people write by hand (Megatron, expert and sequence
 * parallelism, channels) is among the first plans that are costed. What is fast but takes too much memory gets the decisions that
 * save most of it for the least time. */
#include "search/internal.h"

#include <stdlib.h>

enum { MOST_KEPT = 12 /* actions of a recipe */, MOST_TRIED = 24 /* one after the other, best first */, MOST_PLANS = 512, MOST_ODD = 1,
       MOST_REPAIRED = 2, REPAIR_STEPS = 4, MOST_REPLAYED = 16 };

/* Over the axes that cut the batch, or over all. Mixed: parameters over the other axes, state over all. */
typedef enum zero_way { ZERO_NONE, ZERO2_BATCH, ZERO2_ALL, ZERO3_BATCH, ZERO3_ALL, ZERO_MIXED, ZERO_WAYS } zero_way;

typedef struct trial {
	const action *a;
	int64_t time;
} trial;
typedef struct outcome {
	cost c;
	bool done, replayed;
} outcome;

/* What an axis does. With weights before the batch, the batch is cut where the weights leave it alone: layers of both sorts.
 * These weights come before the batch of all axes: Shardy's priorities order dims, not the axes of one. Weights alone: what is
 * best when no axis cuts the batch. */
typedef enum axis_way { CUTS_BATCH, CUTS_WEIGHTS, CUTS_WEIGHTS_WITH_ZERO, CUTS_WEIGHTS_AND_DATA, CUTS_WEIGHTS_AND_DATA_WITH_ZERO, CUTS_WEIGHTS_BEFORE_BATCH,
			CUTS_DATA, CUTS_DATA_WITH_ZERO, CUTS_DATA_AND_WEIGHTS_WITH_ZERO, CUTS_DATA_AFTER_ZERO, CUTS_WEIGHTS_ALONE, CUTS_ALL_WEIGHTS_BEFORE_BATCH, AXIS_WAYS } axis_way;
static bool is_before_batch(axis_way way) { return way == CUTS_WEIGHTS_BEFORE_BATCH || way == CUTS_ALL_WEIGHTS_BEFORE_BATCH; }
static bool cuts_batch(axis_way way) { return way == CUTS_BATCH || is_before_batch(way); }
static bool is_odd(axis_way way) { return way > CUTS_WEIGHTS_WITH_ZERO; }

typedef struct composer {
	const problem *pb;
	evaluator *const *ev;
	const action_list *actions;
	uint32_t n_axes, axes[MAX_COMPOSED_AXES]; /* that cut anything */
	uint32_t like[MAX_COMPOSED_AXES];         /* whose recipes it takes: its own, or those of one of its size before it */
	plan recipe[MAX_COMPOSED_AXES][AXIS_WAYS];
	uint32_t n_plans, cap;
	plan *plans;
	outcome *outcomes;
	plan repaired;
	outcome *after;  /* by action: the repaired plan with it */
	uint64_t part;   /* evaluations of one finding */
	uint64_t used[LOGICAL_TREES];
	struct known_states { /* by tree: many actions lead to the same state */
		index_map index;
		VEC(cost) costs;
	} known[LOGICAL_TREES];
	bool (*stop)(void *);
	void *stop_arg;
} composer;

static void append(plan *pl, const action *a, const char *tactic) { plan_insert(pl, pl->n, a, tactic); }
static void append_role(const problem *pb, plan *pl, role_action which, uint32_t axis) { append(pl, action_of_role(pb, which, axis), role_action_names[which]); }

/* Of the state that a tree's evaluator is in. */
static void cost_state(composer *k, int tree, cost *out)
{
	struct known_states *known = &k->known[tree];
	uint64_t h = evaluator_hash(k->ev[tree]);
	uint32_t id, it = index_first(&known->index, h);
	if (!index_next(&known->index, h, &it, &id)) {
		evaluator_cost(k->ev[tree], out);
		k->used[tree]++;
		index_add(&known->index, h, known->costs.n);
		vec_push(&known->costs, *out);
		return;
	}
	*out = known->costs.p[id];
}

/* ---------------------------------------------------------------- which tensors an axis cuts */

/* What the plan is to bring down: memory is not looked at as long as time is the goal, for other axes may take care of it. */
static bool try_plan(composer *k, int tree, plan *pl, int64_t *out)
{
	uint32_t wanted = pl->n;
	cost c;
	evaluator_run(k->ev[tree], pl, NULL);
	if (pl->n < wanted)
		return false;
	cost_state(k, tree, &c);
	*out = k->pb->objective == OBJECTIVE_MEMORY ? c.peak_bytes : c.runtime_ns;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const trial *x = a, *y = b;
	return x->time != y->time ? (x->time < y->time ? -1 : 1) : x->a < y->a ? -1 : x->a > y->a;
}

/* Weights: parameters and their state. Data: the rest, and values inside the program. */
static bool cuts_weights(const problem *pb, const action *a)
{
	role r = a->kind == ACTION_CONSTRAIN ? ROLE_OTHER : pb->roles[a->targets[0].arg];
	return r == ROLE_PARAMETER || r == ROLE_STATE;
}

/* Over an axis, or over every one (ID_NONE), before the last `behind` decisions. */
static void insert_over(const composer *k, plan *pl, uint32_t behind, const action *a, uint32_t axis)
{
	uint32_t at = pl->n - behind;
	for (uint32_t i = 0; i < k->n_axes; i++)
		if (axis == ID_NONE || k->axes[i] == axis) {
			action own = *a;
			own.axis = k->axes[i];
			plan_insert(pl, at++, &own, "compose");
		}
}

/* Adds to `now`, before its last `behind` decisions, what makes it faster, and to the recipe. axis: ID_NONE for every one. */
static void extend(composer *k, int tree, uint32_t axis, bool weights, uint64_t end, plan *now, uint32_t behind, plan *recipe)
{
	uint32_t listed = axis == ID_NONE ? k->axes[0] : axis;
	int64_t best;
	if (k->used[tree] >= end || !try_plan(k, tree, now, &best))
		return;
	plan *next = xmalloc(sizeof *next);
	VEC(trial) trials = {0};
	for (uint32_t i = 0; i < k->actions->n && k->used[tree] < end && !k->stop(k->stop_arg); i++) {
		const action *a = &k->actions->p[i];
		if (a->axis != listed || a->on_role || cuts_weights(k->pb, a) != weights)
			continue;
		*next = *now;
		insert_over(k, next, behind, a, axis);
		trial t = {.a = a};
		if (try_plan(k, tree, next, &t.time))
			vec_push(&trials, t);
	}
	if (trials.n)
		qsort(trials.p, trials.n, sizeof *trials.p, by_time);
	for (uint32_t i = 0; i < MIN(trials.n, (uint32_t)MOST_TRIED) && recipe->n < MOST_KEPT && k->used[tree] < end && !k->stop(k->stop_arg); i++) {
		int64_t time;
		*next = *now;
		insert_over(k, next, behind, trials.p[i].a, axis);
		if (!try_plan(k, tree, next, &time) || time >= best)
			continue;
		best = time;
		*now = *next;
		append(recipe, trials.p[i].a, "compose");
	}
	vec_release(&trials);
	free(next);
}

/* What can be found apart from the rest. */
typedef enum finding { FINDS_WEIGHTS_THEN_DATA, FINDS_WEIGHTS_THEN_DATA_WITH_ZERO, FINDS_WEIGHTS_BEFORE_BATCH, FINDS_DATA, FINDS_DATA_THEN_WEIGHTS_WITH_ZERO,
		       FINDS_DATA_AFTER_ZERO, FINDS_WEIGHTS_ALONE, FINDS_ALL_WEIGHTS_BEFORE_BATCH, FINDINGS } finding;

static void find_ways(composer *k, int tree, uint32_t at, finding which)
{
	plan *now = xcalloc(1, sizeof *now), *recipe = k->recipe[at];
	uint32_t axis = k->axes[at];
	uint64_t end = k->used[tree] + k->part;
	for (uint32_t i = 0; i < k->n_axes && which != FINDS_WEIGHTS_ALONE; i++)
		if (i != at)
			append_role(k->pb, now, ROLE_ACTION_DATA_PARALLEL, k->axes[i]);
	evaluator_run(k->ev[tree], now, NULL); /* drops what does not apply */
	uint32_t others = now->n;
	bool before = which == FINDS_WEIGHTS_BEFORE_BATCH || which == FINDS_ALL_WEIGHTS_BEFORE_BATCH;
	if (before)
		append_role(k->pb, now, ROLE_ACTION_DATA_PARALLEL, axis);
	for (uint32_t i = 0; i < k->n_axes && (which == FINDS_WEIGHTS_THEN_DATA_WITH_ZERO || which == FINDS_DATA_THEN_WEIGHTS_WITH_ZERO || before); i++)
		append_role(k->pb, now, ROLE_ACTION_ZERO2, k->axes[i]);
	if (which == FINDS_DATA_AFTER_ZERO)
		append_role(k->pb, now, ROLE_ACTION_ZERO3, axis);
	for (uint32_t i = 0; i < k->n_axes && which == FINDS_DATA_AFTER_ZERO; i++)
		if (i != at)
			append_role(k->pb, now, ROLE_ACTION_ZERO2, k->axes[i]);
	evaluator_run(k->ev[tree], now, NULL);
	uint32_t behind = now->n - others;
	switch (which) {
	case FINDS_WEIGHTS_THEN_DATA:
		extend(k, tree, axis, true, end, now, 0, &recipe[CUTS_WEIGHTS]);
		recipe[CUTS_WEIGHTS_AND_DATA] = recipe[CUTS_WEIGHTS];
		extend(k, tree, axis, false, end, now, 0, &recipe[CUTS_WEIGHTS_AND_DATA]);
		break;
	case FINDS_WEIGHTS_THEN_DATA_WITH_ZERO:
		extend(k, tree, axis, true, end, now, behind, &recipe[CUTS_WEIGHTS_WITH_ZERO]);
		recipe[CUTS_WEIGHTS_AND_DATA_WITH_ZERO] = recipe[CUTS_WEIGHTS_WITH_ZERO];
		extend(k, tree, axis, false, end, now, behind, &recipe[CUTS_WEIGHTS_AND_DATA_WITH_ZERO]);
		break;
	case FINDS_WEIGHTS_BEFORE_BATCH:
		if (behind)
			extend(k, tree, axis, true, end, now, now->n, &recipe[CUTS_WEIGHTS_BEFORE_BATCH]);
		break;
	case FINDS_ALL_WEIGHTS_BEFORE_BATCH:
		if (at == 0 && k->n_axes > 1)
			extend(k, tree, ID_NONE, true, end, now, now->n, &recipe[CUTS_ALL_WEIGHTS_BEFORE_BATCH]);
		break;
	case FINDS_DATA:
		extend(k, tree, axis, false, end, now, 0, &recipe[CUTS_DATA]);
		break;
	case FINDS_DATA_THEN_WEIGHTS_WITH_ZERO:
		extend(k, tree, axis, false, end, now, behind, &recipe[CUTS_DATA_WITH_ZERO]);
		recipe[CUTS_DATA_AND_WEIGHTS_WITH_ZERO] = recipe[CUTS_DATA_WITH_ZERO];
		extend(k, tree, axis, true, end, now, behind, &recipe[CUTS_DATA_AND_WEIGHTS_WITH_ZERO]);
		break;
	case FINDS_DATA_AFTER_ZERO:
		extend(k, tree, axis, false, end, now, 0, &recipe[CUTS_DATA_AFTER_ZERO]);
		break;
	default:
		extend(k, tree, axis, true, end, now, 0, &recipe[CUTS_WEIGHTS_ALONE]);
	}
	free(now);
}

/* A way that another one found too. */
static bool same_recipe(const plan *a, const plan *b)
{
	bool same = a->n == b->n;
	for (uint32_t i = 0; i < a->n && same; i++)
		same = a->decisions[i].targets == b->decisions[i].targets && a->decisions[i].kind == b->decisions[i].kind;
	return same;
}

static void drop_same_recipes(composer *k)
{
	for (uint32_t i = 0; i < k->n_axes; i++)
		for (axis_way way = CUTS_WEIGHTS; way < AXIS_WAYS; way++)
			for (axis_way before = CUTS_WEIGHTS; before < way; before++)
				if (!is_before_batch(before) && !is_before_batch(way) && way != CUTS_DATA_AFTER_ZERO && same_recipe(&k->recipe[i][before], &k->recipe[i][way]))
					k->recipe[i][way].n = 0;
}

static void find_recipes(void *user, int tree)
{
	composer *k = user;
	uint32_t n = 0;
	for (uint32_t i = 0; i < k->n_axes; i++)
		for (finding which = 0; which < FINDINGS; which++)
			if (k->like[i] == i && n++ % LOGICAL_TREES == (uint32_t)tree)
				find_ways(k, tree, i, which);
}

/* ---------------------------------------------------------------- what they combine to */

static void add_zero(const composer *k, plan *pl, zero_way way, uint32_t batch)
{
	role_action which = way == ZERO2_BATCH || way == ZERO2_ALL || way == ZERO_MIXED ? ROLE_ACTION_ZERO2 : ROLE_ACTION_ZERO3;
	bool all = way == ZERO2_ALL || way == ZERO3_ALL;
	for (uint32_t i = 0; i < k->n_axes && way == ZERO_MIXED; i++)
		if (!(batch >> i & 1))
			append_role(k->pb, pl, ROLE_ACTION_ZERO3, k->axes[i]);
	for (uint32_t i = 0; i < k->n_axes && way != ZERO_NONE; i++)
		if (all || batch >> i & 1)
			append_role(k->pb, pl, which, k->axes[i]);
}

typedef enum recipe_place { BEFORE_BATCH, BEHIND_BATCH, BEHIND_ZERO } recipe_place;

/* What the axes do with something else than the batch alone and that comes in this place, in their order. */
static bool append_recipes(const composer *k, const axis_way *ways, recipe_place place, plan *pl)
{
	for (uint32_t i = 0; i < k->n_axes; i++) {
		const plan *recipe = &k->recipe[ways[i] == CUTS_ALL_WEIGHTS_BEFORE_BATCH ? 0 : k->like[i]][ways[i]];
		recipe_place own = is_before_batch(ways[i]) ? BEFORE_BATCH : ways[i] == CUTS_DATA_AFTER_ZERO ? BEHIND_ZERO : BEHIND_BATCH;
		if (ways[i] == CUTS_BATCH || own != place)
			continue;
		if (!recipe->n)
			return false;
		for (uint32_t r = 0; r < recipe->n; r++) {
			action a = recipe->decisions[r];
			a.axis = k->axes[i];
			append(pl, &a, "compose");
		}
	}
	return true;
}

static bool make_plan(const composer *k, const axis_way *ways, zero_way zero, plan *pl)
{
	uint32_t batch = 0;
	pl->n = 0;
	if (!append_recipes(k, ways, BEFORE_BATCH, pl))
		return false;
	for (uint32_t i = 0; i < k->n_axes; i++)
		if (cuts_batch(ways[i])) {
			append_role(k->pb, pl, ROLE_ACTION_DATA_PARALLEL, k->axes[i]);
			batch |= 1u << i;
		}
	if (!append_recipes(k, ways, BEHIND_BATCH, pl))
		return false;
	bool some = batch && batch != (1u << k->n_axes) - 1;
	if ((zero == ZERO2_BATCH || zero == ZERO3_BATCH || zero == ZERO_MIXED) && !some)
		return false; /* over no axis, or over all */
	add_zero(k, pl, zero, batch);
	return append_recipes(k, ways, BEHIND_ZERO, pl);
}

/* At most one axis does something unusual, none on meshes of many axes; or all do the same. */
static bool is_usual(const composer *k, const axis_way *ways)
{
	uint32_t odd = 0;
	bool alike = true, some_all = false;
	for (uint32_t i = 0; i < k->n_axes; i++) {
		odd += is_odd(ways[i]);
		alike &= ways[i] == ways[0];
		some_all |= ways[i] == CUTS_ALL_WEIGHTS_BEFORE_BATCH;
	}
	return alike || (!some_all && odd <= MOST_ODD && odd + k->n_axes <= MAX_COMPOSED_AXES);
}

static void list_plans(composer *k)
{
	uint32_t total = 1;
	for (uint32_t i = 0; i < k->n_axes; i++)
		total *= AXIS_WAYS;
	for (uint32_t code = 0; code < total; code++) {
		axis_way ways[MAX_COMPOSED_AXES];
		uint32_t rest = code;
		for (uint32_t i = 0; i < k->n_axes; i++, rest /= AXIS_WAYS)
			ways[i] = rest % AXIS_WAYS;
		for (zero_way zero = 0; zero < ZERO_WAYS && is_usual(k, ways); zero++)
			if (k->n_plans < k->cap && make_plan(k, ways, zero, &k->plans[k->n_plans]))
				k->n_plans++;
	}
}

static void cost_plans(void *user, int tree)
{
	composer *k = user;
	for (uint32_t i = (uint32_t)tree; i < k->n_plans && !k->stop(k->stop_arg); i += LOGICAL_TREES) {
		evaluator_run(k->ev[tree], &k->plans[i], NULL);
		cost_state(k, tree, &k->outcomes[i].c);
		k->outcomes[i].done = true;
	}
}

/* ---------------------------------------------------------------- what does not fit */

static double over(const problem *pb, const cost *c) { return MAX((double)c->peak_bytes / (double)MAX(pb->memory_limit, 1) - 1, 0.0); }

/* What a plan is worth as a start: what is a little too large can be made to fit. */
static double promise(const problem *pb, const cost *c) { return (double)c->runtime_ns * (1 + 2 * over(pb, c)); }

/* ZeRO keeps parameters off the axes that it cuts: what else is decided about them comes before. */
static uint32_t zero_at(const plan *pl)
{
	uint32_t at = 0;
	while (at < pl->n && !(pl->decisions[at].on_role && (pl->decisions[at].role == ROLE_ACTION_ZERO2 || pl->decisions[at].role == ROLE_ACTION_ZERO3)))
		at++;
	return at;
}

static void cost_additions(void *user, int tree)
{
	composer *k = user;
	plan *pl = xmalloc(sizeof *pl);
	for (uint32_t i = (uint32_t)tree; i < k->actions->n && !k->stop(k->stop_arg); i += LOGICAL_TREES) {
		*pl = k->repaired;
		plan_insert(pl, zero_at(pl), &k->actions->p[i], "compose");
		evaluator_run(k->ev[tree], pl, NULL);
		k->after[i].done = true;
		cost_state(k, tree, &k->after[i].c);
	}
	free(pl);
}

/* The addition that makes it fit for the least time, or that saves most memory for the time it costs; ID_NONE. */
static uint32_t best_addition(const composer *k, const cost *now)
{
	uint32_t best = ID_NONE;
	double best_price = 0;
	bool best_fits = false;
	for (uint32_t i = 0; i < k->actions->n; i++) {
		const cost *c = &k->after[i].c;
		if (!k->after[i].done || c->peak_bytes >= now->peak_bytes)
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

static uint64_t all_used(const composer *k)
{
	uint64_t n = 0;
	for (int i = 0; i < LOGICAL_TREES; i++)
		n += k->used[i];
	return n;
}

static void repair(composer *k, int threads, uint64_t budget, uint32_t at)
{
	cost now = k->outcomes[at].c;
	k->repaired = k->plans[at];
	for (int step = 0; step < REPAIR_STEPS && over(k->pb, &now) > 0 && k->repaired.n < MAX_PLAN && all_used(k) + k->actions->n <= budget; step++) {
		memset(k->after, 0, k->actions->n * sizeof *k->after);
		parallel_for(LOGICAL_TREES, threads, cost_additions, k);
		uint32_t best = best_addition(k, &now);
		if (best == ID_NONE || k->stop(k->stop_arg))
			break;
		plan_insert(&k->repaired, zero_at(&k->repaired), &k->actions->p[best], "compose");
		now = k->after[best].c;
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
static void repair_plans(composer *k, int threads, uint64_t budget, composition *out)
{
	uint32_t n = k->n_plans;
	k->after = xcalloc(k->actions->n + 1, sizeof *k->after);
	bool *taken = xcalloc(n + 1, sizeof *taken);
	for (int round = 0; round < MOST_REPAIRED; round++) {
		uint32_t best = most_promising(k, n, taken);
		if (best == ID_NONE || k->stop(k->stop_arg))
			break;
		take_alike(k, n, best, taken);
		repair(k, threads, budget, best);
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

static int64_t size_of(const composer *k, uint32_t axis) { return axis_size(mesh_full_axis(k->pb->m->shardings, k->pb->mesh, axis)); }

/* Returns how many axes find recipes of their own; 0: there are too many axes. */
static uint32_t find_axes(composer *k)
{
	uint32_t own = 0;
	for (uint32_t a = 0; a < k->pb->n_axes; a++) {
		if (size_of(k, a) == 1)
			continue;
		if (k->n_axes == MAX_COMPOSED_AXES)
			return 0;
		uint32_t i = k->n_axes++, like = 0;
		k->axes[i] = a;
		while (size_of(k, k->axes[like]) != size_of(k, a))
			like++;
		k->like[i] = like;
		own += like == i;
	}
	return own;
}

static bool is_better(const problem *pb, const outcome *a, const outcome *b) { return score_less(score_of(pb, &a->c), score_of(pb, &b->c)); }

static uint32_t best_outcome(const composer *k)
{
	uint32_t best = ID_NONE;
	for (uint32_t i = 0; i < k->n_plans; i++)
		if (k->outcomes[i].done && (best == ID_NONE || is_better(k->pb, &k->outcomes[i], &k->outcomes[best])))
			best = i;
	return best;
}

/* The best ones as replays see them. */
static void keep_best(composer *k, composition *out)
{
	uint32_t best, replays = 0;
	while (out->n < COMPOSE_KEEP && (best = best_outcome(k)) != ID_NONE) {
		outcome *o = &k->outcomes[best];
		if (!o->replayed && replays++ < MOST_REPLAYED) {
			bool allowed;
			evaluator_run(k->ev[0], &k->plans[best], NULL);
			evaluator_replay(k->ev[0], &o->c, &allowed);
			o->replayed = true;
			o->done = allowed;
			continue;
		}
		if (!o->replayed)
			break;
		out->plans[out->n++] = k->plans[best];
		for (uint32_t i = 0; i < k->n_plans; i++) /* what costs the same is the same, on an axis like it */
			if (i != best && !is_better(k->pb, o, &k->outcomes[i]) && !is_better(k->pb, &k->outcomes[i], o))
				k->outcomes[i].done = false;
		o->done = false;
	}
}

uint64_t compose(const problem *pb, evaluator *const *ev, int threads, const action_list *actions, uint64_t budget, bool (*stop)(void *), void *stop_arg,
		 composition *out)
{
	composer *k = xcalloc(1, sizeof *k);
	*k = (composer){.pb = pb, .ev = ev, .actions = actions, .stop = stop, .stop_arg = stop_arg};
	*out = (composition){0};
	for (int i = 0; i < LOGICAL_TREES; i++)
		index_init(&k->known[i].index);
	uint32_t own = find_axes(k);
	if (own && budget) {
		k->part = budget / 2 / (own * FINDINGS);
		parallel_for(LOGICAL_TREES, threads, find_recipes, k);
		drop_same_recipes(k);
		k->cap = (uint32_t)MIN(budget / 2, (uint64_t)MOST_PLANS);
		k->plans = xcalloc(k->cap + MOST_REPAIRED, sizeof *k->plans);
		k->outcomes = xcalloc(k->cap + MOST_REPAIRED, sizeof *k->outcomes);
		list_plans(k);
		parallel_for(LOGICAL_TREES, threads, cost_plans, k);
		if (pb->objective == OBJECTIVE_RUNTIME)
			repair_plans(k, threads, budget, out);
	}
	keep_best(k, out);
	for (uint32_t i = 0; i < k->n_axes; i++)
		for (axis_way way = CUTS_WEIGHTS; way < AXIS_WAYS && own; way++)
			if (k->like[i] == i && k->recipe[i][way].n)
				out->recipes[out->n_recipes++] = k->recipe[i][way];
	uint64_t used = all_used(k);
	for (int i = 0; i < LOGICAL_TREES; i++) {
		index_release(&k->known[i].index);
		vec_release(&k->known[i].costs);
	}
	free(k->plans);
	free(k->outcomes);
	free(k);
	return used;
}
