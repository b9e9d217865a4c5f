/* What axes may cut: recipes for composite plans, of each axis, and where there are three or more of every two together, as if
 * they were one of their common size. A recipe is found with the batch over all other axes: every action is tried on its own,
 * then one after the other is kept if it makes the step faster. Mostly that is done with the optimizer state cut over all axes
 * (ZeRO-2): as long as every device updates all of it, what cuts the state looks best whatever it does to the layers. */
#include "search/composer.h"

#include <stdlib.h>

enum { MOST_KEPT = 12 /* actions of a recipe */, MOST_TRIED = 24 /* one after the other, best first */ };

const way_row composer_ways[AXIS_WAYS] = {
	[CUTS_BATCH] = {.units = ONE},
#define WAY(name, ...) [CUTS_##name] = {__VA_ARGS__},
	WAYS(WAY)
#undef WAY
};

typedef struct trial {
	const action *a;
	int64_t time;
} trial;

static void append(plan *pl, const action *a, const char *tactic) { plan_insert(pl, pl->n, a, tactic); }
void composer_append_role(const problem *pb, plan *pl, role_action which, uint32_t axis)
{
	append(pl, action_of_role(pb, which, axis), role_action_names[which]);
}

/* ---------------------------------------------------------------- what a unit cuts */

/* What the plan is to bring down: memory is not looked at as long as time is the goal, for other axes may take care of it. */
static bool try_plan(const composer *k, scout *s, plan *pl, int64_t *out)
{
	uint32_t wanted = pl->n;
	cost c;
	evaluator_run(s->ev, pl, NULL);
	if (pl->n < wanted)
		return false;
	scout_cost(s, &c);
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

void composer_insert(const composer *k, const unit *u, plan *pl, uint32_t at, const action *a)
{
	for (uint32_t i = 0; i < k->n_axes; i++)
		if (u->mask >> i & 1) {
			action own = *a;
			own.axis = k->axes[i];
			plan_insert(pl, at++, &own, "compose");
		}
}

static bool is_over(const composer *k, const scout *s) { return scout_used(s) >= k->part || crew_stops(k->with); }

/* Adds to `now`, before its last `behind` decisions, what makes it faster, and to the recipe. Returns what try_plan says of it then. */
static int64_t extend(const composer *k, scout *s, const unit *u, dims cut, plan *now, uint32_t behind, plan *recipe)
{
	uint32_t listed = 0;
	int64_t best;
	while (!(u->mask >> listed & 1))
		listed++;
	if (is_over(k, s) || !try_plan(k, s, now, &best))
		return INT64_MAX;
	plan *next = xmalloc(sizeof *next);
	VEC(trial) trials = {0};
	for (uint32_t i = 0; i < k->actions->n && !is_over(k, s); i++) {
		const action *a = &k->actions->p[i];
		if (a->axis != k->axes[listed] || a->on_role || cuts_weights(k->pb, a) != (cut == WEIGHTS))
			continue;
		*next = *now;
		composer_insert(k, u, next, next->n - behind, a);
		trial t = {.a = a};
		if (try_plan(k, s, next, &t.time))
			vec_push(&trials, t);
	}
	if (trials.n)
		qsort(trials.p, trials.n, sizeof *trials.p, by_time);
	for (uint32_t i = 0; i < MIN(trials.n, (uint32_t)MOST_TRIED) && recipe->n < MOST_KEPT && !is_over(k, s); i++) {
		int64_t time;
		*next = *now;
		composer_insert(k, u, next, next->n - behind, trials.p[i].a);
		if (!try_plan(k, s, next, &time) || time >= best)
			continue;
		best = time;
		*now = *next;
		append(recipe, trials.p[i].a, "compose");
	}
	vec_release(&trials);
	free(next);
	return best;
}

/* What else is decided when a way is found; returns how many decisions come behind its recipe. */
static uint32_t surround(const composer *k, scout *s, const unit *u, const way_row *w, plan *now)
{
	for (uint32_t i = 0; i < k->n_axes; i++)
		if (w->batch != BATCH_NONE && !(u->mask >> i & 1))
			composer_append_role(k->pb, now, ROLE_ACTION_DATA_PARALLEL, k->axes[i]);
	for (uint32_t i = 0; i < k->n_axes; i++)
		if (w->batch == BATCH_ALL && u->mask >> i & 1)
			composer_append_role(k->pb, now, ROLE_ACTION_DATA_PARALLEL, k->axes[i]);
	evaluator_run(s->ev, now, NULL); /* drops what does not apply */
	uint32_t batch = now->n;
	for (uint32_t i = 0; i < k->n_axes; i++)
		if (w->state == STATE_ZERO3_HERE && u->mask >> i & 1)
			composer_append_role(k->pb, now, ROLE_ACTION_ZERO3, k->axes[i]);
	for (uint32_t i = 0; i < k->n_axes; i++)
		if (w->state == STATE_ZERO2 || (w->state == STATE_ZERO3_HERE && !(u->mask >> i & 1)))
			composer_append_role(k->pb, now, ROLE_ACTION_ZERO2, k->axes[i]);
	evaluator_run(s->ev, now, NULL);
	return w->placed == BEFORE_BATCH ? now->n : w->placed == BEHIND_BATCH ? now->n - batch : 0;
}

static void append_batch(const composer *k, const unit *u, plan *pl)
{
	for (uint32_t i = 0; i < k->n_axes; i++)
		if (u->mask >> i & 1)
			composer_append_role(k->pb, pl, ROLE_ACTION_DATA_PARALLEL, k->axes[i]);
}

uint32_t composer_begin_split(const composer *k, const split *sp, plan *pl)
{
	pl->n = 0;
	for (uint32_t r = 0; r < sp->given->n; r++)
		composer_insert(k, sp->first, pl, pl->n, &sp->given->decisions[r]);
	uint32_t at[SPLIT_PLACES];
	at[SPLIT_BEFORE] = pl->n;
	append_batch(k, sp->place == SPLIT_BEHIND ? sp->first : sp->second, pl);
	at[SPLIT_BETWEEN] = pl->n;
	append_batch(k, sp->place == SPLIT_BEHIND ? sp->second : sp->first, pl);
	at[SPLIT_BEHIND] = pl->n;
	return at[sp->place];
}

static void find_split(void *user, uint32_t i, scout *s)
{
	composer *k = user;
	split *sp = &k->splits[k->first_split + i];
	plan *now = xcalloc(1, sizeof *now);
	uint32_t at = composer_begin_split(k, sp, now), n = now->n;
	for (uint32_t i = 0; i < k->n_axes; i++)
		composer_append_role(k->pb, now, ROLE_ACTION_ZERO2, k->axes[i]);
	evaluator_run(s->ev, now, NULL);
	if (sp->given->n && now->n >= n) /* all of it applies */
		sp->best = extend(k, s, sp->second, WEIGHTS, now, now->n - at, &sp->recipe);
	free(now);
}

/* A way of a unit, and those that go on from it. */
static void find_way(void *user, uint32_t i, scout *s)
{
	composer *k = user;
	unit *u = k->findings[i].u;
	axis_way way = k->findings[i].way;
	const way_row *w = &composer_ways[way];
	plan *now = xcalloc(1, sizeof *now), *more = xmalloc(sizeof *more);
	uint32_t behind = surround(k, s, u, w, now);
	if (behind || w->placed != BEFORE_BATCH)
		extend(k, s, u, w->cuts, now, behind, &u->recipe[way]);
	for (axis_way next = way + 1; next < AXIS_WAYS; next++)
		if (composer_ways[next].after == way && composer_ways[next].units & u->sort) {
			u->recipe[next] = u->recipe[way];
			*more = *now;
			extend(k, s, u, composer_ways[next].cuts, more, behind, &u->recipe[next]);
		}
	free(now);
	free(more);
}

/* Does the unit find the way on its own, and not what goes on from another one? */
static bool is_found(const composer *k, uint32_t at, axis_way way)
{
	const unit *u = &k->units[at];
	return way != CUTS_BATCH && u->like == at && composer_ways[way].units & u->sort && composer_ways[way].after == CUTS_BATCH;
}

/* Weights of pairs before the batch come on top: few findings use up their part. */
static void find_ways(composer *k, uint64_t budget)
{
	uint32_t n = 0, extra = 0;
	for (uint32_t i = 0; i < k->n_units; i++)
		for (axis_way way = 0; way < AXIS_WAYS; way++)
			if (is_found(k, i, way)) {
				extra += k->units[i].sort == PAIR && way == CUTS_WEIGHTS_BEFORE_BATCH;
				k->findings[n++] = (struct finding){&k->units[i], way};
			}
	k->part = budget / (n - extra);
	k->used += crew_do(k->with, n, find_way, k);
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
	for (uint32_t i = 0; i < k->n_units; i++)
		for (axis_way way = CUTS_WEIGHTS; way < AXIS_WAYS; way++)
			for (axis_way before = CUTS_WEIGHTS; before < way; before++)
				if (composer_ways[before].placed == BEHIND_BATCH && composer_ways[way].placed == BEHIND_BATCH &&
				    same_recipe(&k->units[i].recipe[before], &k->units[i].recipe[way]))
					k->units[i].recipe[way].n = 0;
}

/* ---------------------------------------------------------------- units */

static int64_t size_of(const composer *k, uint32_t axis) { return axis_size(mesh_full_axis(k->pb->m->shardings, k->pb->mesh, k->axes[axis])); }

/* Both are of as many axes, of the same sizes in their order. */
static bool is_like(const composer *k, const unit *a, const unit *b)
{
	uint32_t i = 0, j = 0;
	if (a->sort != b->sort || (a->sort == PAIR && a != b))
		return false;
	for (;; i++, j++) {
		while (i < k->n_axes && !(a->mask >> i & 1))
			i++;
		while (j < k->n_axes && !(b->mask >> j & 1))
			j++;
		if (i == k->n_axes || j == k->n_axes)
			return i == j;
		if (size_of(k, i) != size_of(k, j))
			return false;
	}
}

static void add_unit(composer *k, uint32_t sort, uint32_t mask)
{
	unit *u = &k->units[k->n_units];
	*u = (unit){.sort = sort, .mask = mask};
	while (!is_like(k, u, &k->units[u->like]))
		u->like++;
	k->n_units++;
}

/* False: no axis cuts anything, or there are too many. */
static bool find_units(composer *k)
{
	for (uint32_t a = 0; a < k->pb->n_axes; a++) {
		if (!problem_axis_cuts(k->pb, a))
			continue;
		if (k->n_axes == MAX_COMPOSED_AXES)
			return false;
		k->axes[k->n_axes++] = a;
	}
	uint32_t n = k->n_axes;
	for (uint32_t i = 0; i < n; i++)
		add_unit(k, ONE, 1u << i);
	for (uint32_t i = 0; i < n && n > 2; i++)
		for (uint32_t j = i + 1; j < n; j++)
			add_unit(k, PAIR, 1u << i | 1u << j);
	if (n > 1)
		add_unit(k, ALL, (1u << n) - 1);
	return n > 0;
}

static void list_splits(composer *k)
{
	for (uint32_t i = 0; i < k->n_units; i++)
		for (uint32_t j = 0; j < k->n_units; j++)
			for (split_place at = 0; at < SPLIT_PLACES; at++)
				if (!(k->units[i].mask & k->units[j].mask) && (k->units[i].mask | k->units[j].mask) == (1u << k->n_axes) - 1 && k->n_splits < MAX_SPLITS - (SPLIT_PLACES - 1))
					k->splits[k->n_splits++] = (split){.first = &k->units[i],
									   .second = &k->units[j],
									   .given = &k->units[k->units[i].like].recipe[CUTS_WEIGHTS_BEFORE_BATCH],
									   .place = at};
}

static void list_turned_splits(composer *k)
{
	const split *best = NULL;
	k->first_split = k->n_splits;
	for (uint32_t i = 0; i < k->n_splits; i++) {
		const split *sp = &k->splits[i];
		bool new = sp->recipe.n && !same_recipe(&sp->recipe, &k->units[sp->second->like].recipe[CUTS_WEIGHTS_BEFORE_BATCH]);
		if (sp->place == SPLIT_BEFORE && new && (!best || sp->best < best->best))
			best = sp;
	}
	for (split_place at = SPLIT_BETWEEN; best && at < SPLIT_PLACES; at++)
		k->splits[k->n_splits++] = (split){.first = best->second, .second = best->first, .given = &best->recipe, .place = at};
}

/* What all splits from the first one on may take, each the same. */
static void find_splits(composer *k, uint64_t budget)
{
	uint32_t n = k->n_splits - k->first_split;
	k->part = n ? (budget - MIN(budget, k->used)) / n : 0;
	k->used += crew_do(k->with, n, find_split, k);
}

bool composer_find_recipes(composer *k, uint64_t budget)
{
	if (!find_units(k))
		return false;
	find_ways(k, budget);
	drop_same_recipes(k);
	list_splits(k);
	find_splits(k, budget);
	list_turned_splits(k);
	find_splits(k, budget);
	return true;
}
