/* One random move. Axes often do the same, and changing that on one alone is a step up: so a move
 * may also change it on all of them. */
#include "search/tree/moves.h"

/* What a move works on. */
typedef struct draw {
	const sampler *s;
	rng *random;
	plan *pl;
	uint32_t at; /* a decision that may be changed; ID_NONE: none was found */
	uint32_t axis, other;
	bool twins;
} draw;
typedef bool move_sample(const draw *d);

/* The end, or any place behind the fixed decisions, which stay in front. */
static uint32_t pick_place(const draw *d)
{
	uint32_t first = plan_first_free(d->pl);
	return rng_below(d->random, 2) ? d->pl->n : first + rng_below(d->random, d->pl->n - first + 1);
}

static const action *pick_action(const draw *d)
{
	uint64_t pick = rng_next(d->random) % d->s->weight_sum;
	uint32_t a = 0;
	while (pick >= d->s->of->sampled.p[a].weight)
		pick -= d->s->of->sampled.p[a++].weight;
	return &d->s->of->sampled.p[a];
}

static bool sample_exchanged(const draw *d)
{
	if (d->axis == d->other)
		return false;
	plan_exchange_axes(d->s->of, d->pl, d->axis, d->other, ID_NONE);
	return true;
}

static bool sample_imitated(const draw *d)
{
	if (d->axis == d->other)
		return false;
	plan_imitate_axis(d->s->of, d->pl, d->axis, d->other);
	return true;
}

static bool sample_spread(const draw *d)
{
	if (d->at == ID_NONE)
		return false;
	action a = action_on_axis(d->s->of, &d->pl->decisions[d->at], d->axis);
	plan_insert(d->pl, d->at + 1, &a, d->pl->tactics[d->at]);
	return true;
}

static bool sample_added(const draw *d)
{
	uint32_t place = pick_place(d);
	const action *a = pick_action(d);
	plan_insert(d->pl, place, a, "search");
	for (uint32_t i = 0; i < d->s->n_axes && d->twins; i++)
		if (d->s->axes[i] != a->axis) {
			action twin = action_on_axis(d->s->of, a, d->s->axes[i]);
			plan_insert(d->pl, place + 1, &twin, "search");
		}
	return true;
}

static bool sample_elsewhere(const draw *d)
{
	if (d->at == ID_NONE)
		return false;
	d->pl->decisions[d->at] = action_on_axis(d->s->of, &d->pl->decisions[d->at], d->axis);
	return true;
}

/* On all axes at once: a cut over two axes can pay where each alone does not. */
static bool sample_anew(const draw *d)
{
	const action *a = pick_action(d);
	uint32_t group = a->group;
	if (group == ID_NONE)
		return false;
	plan_clear_group(d->s->pb, d->s->mem, d->pl, group, UINT32_MAX);
	for (uint32_t axis = 0; axis < d->s->pb->n_axes; axis++) {
		const action *chosen = NULL;
		uint32_t n = 1; /* not cut over this axis */
		for (uint32_t i = 0; i < d->s->of->sampled.n; i++) {
			const action *b = &d->s->of->sampled.p[i];
			if (b->group == group && b->axis == axis && b->n_targets == a->n_targets &&
				rng_below(d->random, ++n) == 0)
				chosen = b;
		}
		if (chosen)
			plan_insert(d->pl, pick_place(d), chosen, "search");
	}
	return true;
}

static bool sample_dropped(const draw *d)
{
	if (d->at == ID_NONE)
		return false;
	const action was = d->pl->decisions[d->at];
	plan_drop(d->pl, d->at);
	for (uint32_t i = d->pl->n; i-- > 0 && d->twins;)
		if (action_is_twin(&was, &d->pl->decisions[i]))
			plan_drop(d->pl, i);
	return true;
}

static bool sample_replaced(const draw *d)
{
	if (d->at == ID_NONE)
		return false;
	const action *a = pick_action(d), was = d->pl->decisions[d->at];
	d->pl->decisions[d->at] = d->twins ? action_on_axis(d->s->of, a, was.axis) : *a;
	d->pl->tactics[d->at] = "search";
	for (uint32_t i = 0; i < d->pl->n && d->twins; i++)
		if (action_is_twin(&was, &d->pl->decisions[i])) {
			d->pl->decisions[i] = action_on_axis(d->s->of, a, d->pl->decisions[i].axis);
			d->pl->tactics[i] = "search";
		}
	return true;
}

static bool sample_placed(const draw *d)
{
	if (d->at == ID_NONE)
		return false;
	const action a = d->pl->decisions[d->at];
	const char *tactic = d->pl->tactics[d->at];
	plan_drop(d->pl, d->at);
	plan_insert(d->pl, pick_place(d), &a, tactic);
	return true;
}

static bool sample_thinned(const draw *d)
{
	const problem *pb = d->s->pb;
	if (d->at == ID_NONE || d->pl->decisions[d->at].kind == ACTION_CONSTRAIN)
		return false;
	const action was = d->pl->decisions[d->at];
	uint32_t group = pb->group_of[was.targets[rng_below(d->random, was.n_targets)].arg];
	for (uint32_t i = 0; i < d->pl->n && d->twins; i++)
		if (action_is_twin(&was, &d->pl->decisions[i]))
			plan_leave_out(pb, d->s->mem, d->pl, i, group);
	return plan_leave_out(pb, d->s->mem, d->pl, d->at, group);
}

static bool sample_instance(const draw *d)
{
	if (!d->s->n_instances)
		return false;
	const plan *instance = &d->s->instances[rng_below(d->random, d->s->n_instances)];
	if (rng_below(d->random, 3))
		plan_clear_axis(d->pl, d->axis);
	uint32_t place = pick_place(d);
	for (uint32_t i = 0; i < instance->n; i++) {
		action a = action_on_axis(d->s->of, &instance->decisions[i], d->axis);
		plan_insert(d->pl, place + i, &a, instance->tactics[i]);
	}
	return true;
}

/* Decisions that no longer apply drop out when the plan is run. */
static bool sample_spliced(const draw *d)
{
	if (!d->s->n_others)
		return false;
	const plan *other = &d->s->others[rng_below(d->random, d->s->n_others)];
	uint32_t fixed = plan_first_free(d->pl);
	for (uint32_t i = fixed; i < d->pl->n; i++)
		if (d->pl->decisions[i].fixed) /* it would be cut off */
			return false;
	d->pl->n = fixed + rng_below(d->random, d->pl->n - fixed + 1);
	for (uint32_t i = rng_below(d->random, 2) ? 0 : rng_below(d->random, other->n + 1);
		 i < other->n; i++)
		if (!other->decisions[i].fixed)
			plan_insert(d->pl, d->pl->n, &other->decisions[i], other->tactics[i]);
	return true;
}

static const struct {
	uint32_t share;
	move_sample *sample;
} rows[MOVES] = {
#define MOVE(name, two, others, share, lists, samples) [MOVE_##name] = {share, samples},
#include "search/tree/moves.def"
#undef MOVE
};

bool sample_move(const sampler *s, rng *random, plan *pl)
{
	enum { ALL_SHARES = 100 };
	draw d = {.s = s, .random = random, .pl = pl, .at = ID_NONE};
	if (!s->weight_sum || !s->n_axes)
		return false;
	d.twins = s->n_axes > 1 && rng_below(random, TWINS_ONE_IN) == 0;
	uint32_t pick = rng_below(random, ALL_SHARES);
	d.axis = s->axes[rng_below(random, s->n_axes)];
	d.other = s->axes[rng_below(random, s->n_axes)];
	move_id move = 0;
	while (pick >= rows[move].share)
		pick -= rows[move++].share;
	if (pl->n) {
		uint32_t at = rng_below(random, pl->n);
		d.at = pl->decisions[at].fixed ? ID_NONE : at;
	}
	return rows[move].sample(&d);
}
