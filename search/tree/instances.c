/* Finds what axes may cut: instances of tactics, of each axis, and where there are three or more of
 * every two together, as if they were one of their common size. An instance is found with the batch
 * over all other axes: every action is tried on its own, then one after the other is kept if it
 * makes the step faster. Mostly that is done with the optimizer state cut over all axes (ZeRO-2):
 * as long as every device updates all of it, what cuts the state looks best whatever it does to the
 * layers. */
#include "search/tree/priors.h"

#include <stdlib.h>

typedef struct trial {
	const action *a;
	int64_t time;
} trial;

/* ---------------------------------------------------------------- what an axis set cuts */

/* What the plan is to bring down: memory is not looked at as long as time is the goal, for other
 * axes may take care of it. */
static bool try_plan(const tactic_space *ts, job *j, plan *pl, int64_t *out)
{
	uint32_t wanted = pl->n;
	cost c;
	evaluator_run(j->ev, pl, NULL);
	if (pl->n < wanted)
		return false;
	job_cost(j, &c);
	*out = ts->goal->objective == OBJECTIVE_MEMORY ? c.peak_bytes : c.runtime_ns;
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

static bool is_over(const tactic_space *ts, const job *j)
{
	return job_used(j) >= ts->part || pool_stops(ts->pool);
}

static int by_weight(const void *a, const void *b)
{
	const trial *x = a, *y = b;
	return x->a->weight != y->a->weight ? (x->a->weight > y->a->weight ? -1 : 1)
		: x->a < y->a                   ? -1
										: x->a > y->a;
}

static int by_listing(const void *a, const void *b)
{
	const trial *x = a, *y = b;
	return x->a < y->a ? -1 : x->a > y->a;
}

/* Actions over that axis that cut such dims. What is left to use up may not do for all of them and
 * for going on with the best: then the most weighty ones are tried. */
static uint32_t list_trials(
	const tactic_space *ts, const job *j, uint32_t axis, dims cut, trial *out)
{
	uint32_t n = 0;
	uint64_t left = ts->part - MIN(ts->part, job_used(j)),
			 kept = MIN(left / TRIED_PART, (uint64_t)MOST_TRIED);
	for (uint32_t i = 0; i < ts->of->actions.n; i++) {
		const action *a = &ts->of->actions.p[i];
		if (a->axis == axis && !a->on_role && cuts_weights(ts->pb, a) == (cut == WEIGHTS))
			out[n++].a = a;
	}
	if (n + kept <= left || !n)
		return n;
	qsort(out, n, sizeof *out, by_weight);
	n = (uint32_t)(left - kept);
	qsort(out, n, sizeof *out, by_listing);
	return n;
}

/* Adds to `now`, before its last `behind` decisions, what makes it faster, and to the instance.
 * Returns what try_plan says of it then. */
static int64_t extend(const tactic_space *ts, job *j, const axis_set *set, dims cut, plan *now,
	uint32_t behind, plan *instance)
{
	uint32_t listed = 0;
	int64_t best;
	while (!(set->mask >> listed & 1))
		listed++;
	if (is_over(ts, j) || !try_plan(ts, j, now, &best))
		return INT64_MAX;
	plan *next = xmalloc(sizeof *next);
	trial *trials = xmalloc((ts->of->actions.n + 1) * sizeof *trials);
	uint32_t wanted = list_trials(ts, j, ts->axes[listed], cut, trials), n = 0;
	for (uint32_t i = 0; i < wanted && !is_over(ts, j); i++) {
		trial t = trials[i];
		*next = *now;
		insert_on_axes(ts, set, next, next->n - behind, t.a);
		if (try_plan(ts, j, next, &t.time))
			trials[n++] = t;
	}
	qsort(trials, n, sizeof *trials, by_time);
	for (uint32_t i = 0;
		 i < MIN(n, (uint32_t)MOST_TRIED) && instance->n < MOST_KEPT && !is_over(ts, j); i++) {
		int64_t time;
		*next = *now;
		insert_on_axes(ts, set, next, next->n - behind, trials[i].a);
		if (!try_plan(ts, j, next, &time) || time >= best)
			continue;
		best = time;
		*now = *next;
		plan_insert(instance, instance->n, trials[i].a, "tactic");
	}
	free(trials);
	free(next);
	return best;
}

/* What else is decided when a tactic is found; returns how many decisions come behind its instance.
 */
static uint32_t surround(
	const tactic_space *ts, job *j, const axis_set *set, const tactic_row *w, plan *now)
{
	for (uint32_t i = 0; i < ts->n_axes; i++)
		if (w->batch != BATCH_NONE && !(set->mask >> i & 1))
			append_role(ts->of, now, ROLE_ACTION_DATA_PARALLEL, ts->axes[i]);
	for (uint32_t i = 0; i < ts->n_axes; i++)
		if (w->batch == BATCH_ALL && set->mask >> i & 1)
			append_role(ts->of, now, ROLE_ACTION_DATA_PARALLEL, ts->axes[i]);
	evaluator_run(j->ev, now, NULL); /* drops what does not apply */
	uint32_t batch = now->n;
	for (uint32_t i = 0; i < ts->n_axes; i++)
		if (w->state == STATE_ZERO3_HERE && set->mask >> i & 1)
			append_role(ts->of, now, ROLE_ACTION_ZERO3, ts->axes[i]);
	for (uint32_t i = 0; i < ts->n_axes; i++)
		if (w->state == STATE_ZERO2 || (w->state == STATE_ZERO3_HERE && !(set->mask >> i & 1)))
			append_role(ts->of, now, ROLE_ACTION_ZERO2, ts->axes[i]);
	evaluator_run(j->ev, now, NULL);
	return w->placed == BEFORE_BATCH ? now->n : w->placed == BEHIND_BATCH ? now->n - batch : 0;
}

static void find_split(void *user, uint32_t i, job *j)
{
	tactic_space *ts = user;
	split *sp = &ts->splits[ts->first_split + i];
	plan *now = xcalloc(1, sizeof *now);
	uint32_t at = begin_split(ts, sp, now), n = now->n;
	for (uint32_t x = 0; x < ts->n_axes; x++)
		append_role(ts->of, now, ROLE_ACTION_ZERO2, ts->axes[x]);
	evaluator_run(j->ev, now, NULL);
	if (sp->given->n && now->n >= n) /* all of it applies */
		sp->best = extend(ts, j, sp->second, WEIGHTS, now, now->n - at, &sp->instance);
	free(now);
}

/* A tactic of an axis set, and those that go on from it. */
static void find_tactic(void *user, uint32_t i, job *j)
{
	tactic_space *ts = user;
	axis_set *set = ts->findings[i].set;
	tactic_id t = ts->findings[i].tactic;
	const tactic_row *w = &tactic_rows[t];
	plan *now = xcalloc(1, sizeof *now), *more = xmalloc(sizeof *more);
	uint32_t behind = surround(ts, j, set, w, now);
	if (behind || w->placed != BEFORE_BATCH)
		extend(ts, j, set, w->cuts, now, behind, &set->instance[t]);
	for (tactic_id next = t + 1; next < TACTICS; next++)
		if (tactic_rows[next].after == t && tactic_rows[next].sets & set->size) {
			set->instance[next] = set->instance[t];
			*more = *now;
			extend(ts, j, set, tactic_rows[next].cuts, more, behind, &set->instance[next]);
		}
	free(now);
	free(more);
}

/* Does the axis set find the tactic on its own, and not what goes on from another one? */
static bool is_found(const tactic_space *ts, uint32_t at, tactic_id t)
{
	const axis_set *set = &ts->sets[at];
	return t != CUTS_BATCH && set->like == at && tactic_rows[t].sets & set->size &&
		tactic_rows[t].after == CUTS_BATCH;
}

/* A tactic, or one that goes on from it. */
static bool is_likely(const tactic_space *ts, const axis_set *set, tactic_id t)
{
	bool likely = !ts->priors || tactic_is_likely(ts->priors, ts, set, t);
	for (tactic_id next = t + 1; next < TACTICS && !likely; next++)
		likely = tactic_rows[next].after == t && tactic_is_likely(ts->priors, ts, set, next);
	return likely;
}

/* Of n findings the first ones, and that of what all axes do as if they were one; returns how many
 * those are. */
static uint32_t keep_first(tactic_space *ts, uint32_t n, uint32_t first)
{
	for (uint32_t i = first; i < n; i++)
		if (ts->findings[i].set->size == ALL_AXES &&
			ts->findings[i].tactic == CUTS_WEIGHTS_BEFORE_BATCH)
			ts->findings[first++] = ts->findings[i];
	return first;
}

/* Weights of pairs before the batch come on top, and data that all axes cut: few findings use up
 * their part. Where the parts
 * are too small for half of the actions, the first findings get enough, and less is used up than
 * may be: local search finds then what they did not. Weights of all axes before the batch come
 * besides, for their plans need no other finding, and use what there is to spare. Returns what
 * splits may use up with them. */
static uint64_t find_tactics(tactic_space *ts, uint64_t budget, bool likely)
{
	uint32_t n = 0, extra = 0;
	for (uint32_t i = 0; i < ts->n_sets; i++)
		for (tactic_id t = 0; t < TACTICS; t++)
			if (is_found(ts, i, t)) {
				if (is_likely(ts, &ts->sets[i], t) != likely) {
					ts->some_left |= likely;
					continue;
				}
				extra += (ts->sets[i].size == TWO_AXES && t == CUTS_WEIGHTS_BEFORE_BATCH) ||
					t == CUTS_DATA_ALONE;
				ts->findings[n++] = (struct finding){&ts->sets[i], t};
			}
	if (n == extra)
		return budget;
	uint64_t part = budget / (n - extra), tried = ts->of->actions.n / ts->n_axes, all = budget;
	if (part < ENOUGH && part < tried / 2) {
		all = budget = budget * FEW_FIND_PART / FEW_FIND_OF;
		uint32_t first = (uint32_t)MAX(budget / ENOUGH, 1u);
		if ((budget + ts->spare) / (first + 1) < TOO_FEW) {
			n = first;
		} else {
			n = keep_first(ts, n, first);
			budget += n > first ? ts->spare : 0;
		}
		extra = 0;
	}
	ts->part = budget / (n - extra);
	ts->used += pool_do(ts->pool, n, find_tactic, ts);
	return all;
}

/* A tactic that another one found too. */
static bool same_instance(const plan *a, const plan *b)
{
	bool same = a->n == b->n;
	for (uint32_t i = 0; i < a->n && same; i++)
		same = a->decisions[i].targets == b->decisions[i].targets &&
			a->decisions[i].kind == b->decisions[i].kind;
	return same;
}

static void drop_same_instances(tactic_space *ts)
{
	for (uint32_t i = 0; i < ts->n_sets; i++)
		for (tactic_id t = CUTS_WEIGHTS; t < TACTICS; t++)
			for (tactic_id before = CUTS_WEIGHTS; before < t; before++)
				if (tactic_rows[before].placed == BEHIND_BATCH &&
					tactic_rows[t].placed == BEHIND_BATCH &&
					same_instance(&ts->sets[i].instance[before], &ts->sets[i].instance[t]))
					ts->sets[i].instance[t].n = 0;
}

/* ---------------------------------------------------------------- splits */

static void list_splits(tactic_space *ts)
{
	for (uint32_t i = 0; i < ts->n_sets; i++)
		for (uint32_t j = 0; j < ts->n_sets; j++)
			for (split_place at = 0; at < SPLIT_PLACES; at++)
				if (!(ts->sets[i].mask & ts->sets[j].mask) &&
					(ts->sets[i].mask | ts->sets[j].mask) == (1u << ts->n_axes) - 1 &&
					ts->n_splits < MAX_SPLITS - (SPLIT_PLACES - 1))
					ts->splits[ts->n_splits++] = (split){.first = &ts->sets[i],
						.second = &ts->sets[j],
						.given = &ts->sets[ts->sets[i].like].instance[CUTS_WEIGHTS_BEFORE_BATCH],
						.place = at};
}

static void list_turned_splits(tactic_space *ts)
{
	const split *best = NULL;
	ts->first_split = ts->n_splits;
	for (uint32_t i = 0; i < ts->n_splits; i++) {
		const split *sp = &ts->splits[i];
		bool new = sp->instance.n &&
			!same_instance(
				&sp->instance, &ts->sets[sp->second->like].instance[CUTS_WEIGHTS_BEFORE_BATCH]);
		if (sp->place == SPLIT_BEFORE && new && (!best || sp->best < best->best))
			best = sp;
	}
	for (split_place at = SPLIT_BETWEEN; best && at < SPLIT_PLACES; at++)
		ts->splits[ts->n_splits++] = (split){
			.first = best->second, .second = best->first, .given = &best->instance, .place = at};
}

/* What all splits from the first one on may take, each the same. */
static void find_splits(tactic_space *ts, uint64_t budget)
{
	uint32_t n = ts->n_splits - ts->first_split;
	ts->part = n ? (budget - MIN(budget, ts->used)) / n : 0;
	ts->used += pool_do(ts->pool, n, find_split, ts);
}

static void find_all_splits(tactic_space *ts, uint64_t budget)
{
	list_splits(ts);
	find_splits(ts, budget);
	list_turned_splits(ts);
	find_splits(ts, budget);
}

/* Splits go on from weights before the batch. */
static bool splits_are_likely(const tactic_space *ts)
{
	return !ts->priors || tactic_is_likely(ts->priors, ts, NULL, CUTS_WEIGHTS_BEFORE_BATCH);
}

bool tactics_find(tactic_space *ts, uint64_t budget)
{
	if (!axis_sets_find(ts))
		return false;
	budget = find_tactics(ts, budget, true);
	drop_same_instances(ts);
	if (splits_are_likely(ts))
		find_all_splits(ts, budget);
	else
		ts->some_left = true;
	return true;
}

void tactics_find_rest(tactic_space *ts, uint64_t budget)
{
	uint64_t all = ts->used + budget;
	ts->some_left = false;
	ts->spare = 0;
	find_tactics(ts, budget, false);
	drop_same_instances(ts);
	if (!splits_are_likely(ts))
		find_all_splits(ts, all);
}
