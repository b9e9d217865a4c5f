/* Joint polish: tactics that take one axis at a time can end in data parallelism on every axis, so whole plans are
 * revisited over all axes at once. A chain walks from plan to neighbouring plan: decisions are dropped, added, replaced,
 * moved to another axis or to another place in the order, axes are exchanged, and an axis takes over all that is decided on
 * another one, or one of the ways to use an axis that the tactics found. Axes often do the same, and changing that on one
 * alone is a step up: so a step may also change it on all of them. Threshold accepting (Dueck and Scheuer 1990): a
 * neighbour that is worse is taken too while the heat allows it, so that the chain leaves the local optimum it started in. */
#include "search/internal.h"

#include <stdlib.h>

enum { PPM = 1000000, TWINS_ONE_IN = 3 /* steps that change what several axes do, on all of them */,
       IDLE_MOVES = 64, IDLE_WALKS = 3 /* per evaluation, to plans that were known, to states that were: then the chain is done */ };

typedef struct seen_state {
	uint64_t hash;
	cost c;
	bool replayed;
} seen_state;

typedef struct tried_plan {
	uint64_t hash; /* of the decisions */
	uint32_t state;
} tried_plan;

struct polisher {
	scout *s; /* of the present call */
	const problem *pb;
	const action_list *actions;
	const plan *recipes, *others;
	uint32_t n_recipes, n_others;
	arena *mem; /* for targets of thinned actions */
	uint64_t weight_sum;
	uint32_t n_manual; /* decisions that a plan has to keep */
	uint32_t n_axes, axes[MAX_MESH_AXES]; /* that cut anything */
	rng random;
	plan here, trial;
	uint64_t here_hash;
	int64_t here_energy;
	polish_best best;
	index_map index;
	VEC(seen_state) seen;
	index_map tried; /* decision lists: which state they led to */
	VEC(tried_plan) plans;
};

/* ---------------------------------------------------------------- moves */

/* A decision that may be changed; ID_NONE when the one picked may not. */
static uint32_t pick_free(polisher *ps, const plan *t)
{
	if (!t->n)
		return ID_NONE;
	uint32_t at = rng_below(&ps->random, t->n);
	return t->decisions[at].fixed ? ID_NONE : at;
}

/* The end, or any place behind the fixed decisions, which stay in front. */
static uint32_t pick_place(polisher *ps, const plan *t)
{
	uint32_t first = plan_first_free(t);
	return rng_below(&ps->random, 2) ? t->n : first + rng_below(&ps->random, t->n - first + 1);
}

static const action *pick_action(polisher *ps)
{
	uint64_t pick = rng_next(&ps->random) % ps->weight_sum;
	uint32_t a = 0;
	while (pick >= ps->actions->p[a].weight)
		pick -= ps->actions->p[a++].weight;
	return &ps->actions->p[a];
}

static void add_recipe(polisher *ps, plan *t, uint32_t axis)
{
	if (!ps->n_recipes)
		return;
	const plan *recipe = &ps->recipes[rng_below(&ps->random, ps->n_recipes)];
	if (rng_below(&ps->random, 3))
		plan_clear_axis(t, axis);
	uint32_t place = pick_place(ps, t);
	for (uint32_t i = 0; i < recipe->n; i++) {
		action a = action_on_axis(ps->pb, &recipe->decisions[i], axis);
		plan_insert(t, place + i, &a, recipe->tactics[i]);
	}
}

/* Decides a group anew, on all axes at once: a cut over two axes can pay where each alone does not. */
static bool decide_group(polisher *ps, plan *t)
{
	const action *a = pick_action(ps);
	uint32_t group = a->group;
	if (group == ID_NONE)
		return false;
	plan_clear_group(ps->pb, ps->mem, t, group, UINT32_MAX);
	for (uint32_t axis = 0; axis < ps->pb->n_axes; axis++) {
		const action *chosen = NULL;
		uint32_t n = 1; /* not cut over this axis */
		for (uint32_t i = 0; i < ps->actions->n; i++) {
			const action *b = &ps->actions->p[i];
			if (b->group == group && b->axis == axis && b->n_targets == a->n_targets && rng_below(&ps->random, ++n) == 0)
				chosen = b;
		}
		if (chosen)
			plan_insert(t, pick_place(ps, t), chosen, "polish");
	}
	return true;
}

/* Decisions that no longer apply drop out when the plan is run. */
static bool splice(polisher *ps, plan *t)
{
	if (!ps->n_others)
		return false;
	const plan *other = &ps->others[rng_below(&ps->random, ps->n_others)];
	uint32_t fixed = plan_first_free(t);
	t->n = fixed + rng_below(&ps->random, t->n - fixed + 1);
	for (uint32_t i = rng_below(&ps->random, 2) ? 0 : rng_below(&ps->random, other->n + 1); i < other->n; i++)
		plan_insert(t, t->n, &other->decisions[i], other->tactics[i]);
	return true;
}

typedef enum move_kind {
	MOVE_ADD,
	MOVE_DROP,
	MOVE_REPLACE,
	MOVE_AXIS,
	MOVE_PLACE,
	MOVE_TWIN, /* the same decision on another axis too */
	MOVE_THIN,
	MOVE_GROUP,
	MOVE_RECIPE,
	MOVE_IMITATE,
	MOVE_EXCHANGE,
	MOVE_SPLICE, /* the beginning of this plan, then what another chain has */
	MOVE_COUNT
} move_kind;
static const uint8_t move_share[MOVE_COUNT] = {/* of 100 */
	[MOVE_ADD] = 16, [MOVE_DROP] = 12, [MOVE_REPLACE] = 12, [MOVE_AXIS] = 6, [MOVE_PLACE] = 5, [MOVE_TWIN] = 5, [MOVE_THIN] = 6,
	[MOVE_GROUP] = 16, [MOVE_RECIPE] = 8, [MOVE_IMITATE] = 5, [MOVE_EXCHANGE] = 4, [MOVE_SPLICE] = 5};

/* A random neighbour of the plan into trial; false when the move picked has nothing to work on. */
static bool propose(polisher *ps)
{
	plan *t = &ps->trial;
	bool twins = ps->n_axes > 1 && rng_below(&ps->random, TWINS_ONE_IN) == 0;
	uint32_t pick = rng_below(&ps->random, 100), axis = ps->axes[rng_below(&ps->random, ps->n_axes)], other = ps->axes[rng_below(&ps->random, ps->n_axes)], at = ID_NONE;
	move_kind kind = MOVE_ADD;
	while (pick >= move_share[kind])
		pick -= move_share[kind++];
	*t = ps->here;
	if (kind >= MOVE_DROP && kind <= MOVE_THIN && (at = pick_free(ps, t)) == ID_NONE)
		return false;
	if ((kind == MOVE_IMITATE || kind == MOVE_EXCHANGE) && axis == other)
		return false;
	const action was = at == ID_NONE ? (action){0} : t->decisions[at];
	switch (kind) {
	case MOVE_ADD: {
		uint32_t place = pick_place(ps, t);
		const action *a = pick_action(ps);
		plan_insert(t, place, a, "polish");
		for (uint32_t i = 0; i < ps->n_axes && twins; i++)
			if (ps->axes[i] != a->axis) {
				action twin = action_on_axis(ps->pb, a, ps->axes[i]);
				plan_insert(t, place + 1, &twin, "polish");
			}
		break;
	}
	case MOVE_DROP:
		plan_drop(t, at);
		for (uint32_t i = t->n; i-- > 0 && twins;)
			if (action_is_twin(&was, &t->decisions[i]))
				plan_drop(t, i);
		break;
	case MOVE_REPLACE: {
		const action *a = pick_action(ps);
		t->decisions[at] = twins ? action_on_axis(ps->pb, a, was.axis) : *a;
		t->tactics[at] = "polish";
		for (uint32_t i = 0; i < t->n && twins; i++)
			if (action_is_twin(&was, &t->decisions[i])) {
				t->decisions[i] = action_on_axis(ps->pb, a, t->decisions[i].axis);
				t->tactics[i] = "polish";
			}
		break;
	}
	case MOVE_AXIS:
		t->decisions[at] = action_on_axis(ps->pb, &t->decisions[at], axis);
		break;
	case MOVE_PLACE: {
		action a = t->decisions[at];
		const char *tactic = t->tactics[at];
		plan_drop(t, at);
		plan_insert(t, pick_place(ps, t), &a, tactic);
		break;
	}
	case MOVE_TWIN: {
		action a = action_on_axis(ps->pb, &t->decisions[at], axis);
		a.fixed = false;
		plan_insert(t, at + 1, &a, t->tactics[at]);
		break;
	}
	case MOVE_THIN: {
		if (was.kind == ACTION_CONSTRAIN)
			return false;
		uint32_t group = ps->pb->group_of[was.targets[rng_below(&ps->random, was.n_targets)].arg];
		for (uint32_t i = 0; i < t->n && twins; i++)
			if (action_is_twin(&was, &t->decisions[i]))
				plan_leave_out(ps->pb, ps->mem, t, i, group);
		return plan_leave_out(ps->pb, ps->mem, t, at, group);
	}
	case MOVE_GROUP:
		return decide_group(ps, t);
	case MOVE_RECIPE:
		add_recipe(ps, t, axis);
		break;
	case MOVE_IMITATE:
		plan_imitate_axis(ps->pb, t, axis, other);
		break;
	case MOVE_SPLICE:
		return splice(ps, t);
	default:
		plan_exchange_axes(ps->pb, t, axis, other, ID_NONE);
	}
	return true;
}

/* ---------------------------------------------------------------- walking */

static uint64_t plan_hash(const plan *pl)
{
	uint64_t h = pl->n;
	for (uint32_t i = 0; i < pl->n; i++) {
		const action *a = &pl->decisions[i];
		h = hash_combine(h, hash_bytes(a->targets, a->n_targets * sizeof *a->targets, (uint64_t)a->kind << 8 | a->axis));
	}
	return h;
}

/* The state that a list of decisions is known to lead to; NULL: not tried yet. */
static seen_state *state_of_plan(polisher *ps, uint64_t hash)
{
	uint32_t id;
	for (uint32_t it = index_first(&ps->tried, hash); index_next(&ps->tried, hash, &it, &id);)
		if (ps->plans.p[id].hash == hash)
			return &ps->seen.p[ps->plans.p[id].state];
	return NULL;
}

/* The scout's present state, costed once. */
static seen_state *state_here(polisher *ps, uint64_t hash)
{
	uint32_t id;
	for (uint32_t it = index_first(&ps->index, hash); index_next(&ps->index, hash, &it, &id);)
		if (ps->seen.p[id].hash == hash)
			return &ps->seen.p[id];
	seen_state s = {.hash = hash};
	scout_cost(ps->s, &s.c);
	index_add(&ps->index, hash, ps->seen.n);
	vec_push(&ps->seen, s);
	return &ps->seen.p[ps->seen.n - 1];
}

/* A new best has to hold in a replay: from then on the state costs what the replay says. */
static void note_best(polisher *ps, const plan *pl, seen_state *state)
{
	if (ps->best.set && !score_less(score_of(ps->pb, &state->c), ps->best.s))
		return;
	if (!state->replayed) {
		bool allowed;
		evaluator_replay(ps->s->ev, &state->c, &allowed);
		if (!allowed)
			state->c.runtime_ns = state->c.peak_bytes = INT64_MAX / 8;
		state->replayed = true;
	}
	score s = score_of(ps->pb, &state->c);
	if (!ps->best.set || score_less(s, ps->best.s))
		ps->best = (polish_best){.pl = *pl, .s = s, .c = state->c, .hash = state->hash, .set = true};
}

void polisher_meet(polisher *ps, const plan *others, uint32_t n)
{
	ps->others = others;
	ps->n_others = n;
}

void polisher_go_to(polisher *ps, scout *with, const plan *pl)
{
	ps->s = with;
	ps->here = *pl;
	evaluator_run(with->ev, &ps->here, NULL);
	ps->here_hash = evaluator_hash(with->ev);
	seen_state *state = state_here(ps, ps->here_hash);
	note_best(ps, &ps->here, state);
	ps->here_energy = plan_energy(ps->pb, &state->c);
}

polisher *polisher_new(scout *with, const problem *pb, const plan *start, const action_list *actions, const plan *recipes, uint32_t n_recipes, uint64_t seed,
		       arena *mem)
{
	polisher *ps = xcalloc(1, sizeof *ps);
	ps->pb = pb;
	ps->actions = actions;
	ps->recipes = recipes;
	ps->n_recipes = n_recipes;
	ps->mem = mem;
	for (uint32_t a = 0; a < actions->n; a++)
		ps->weight_sum += actions->p[a].weight;
	for (uint32_t axis = 0; axis < pb->n_axes; axis++)
		if (problem_axis_cuts(pb, axis))
			ps->axes[ps->n_axes++] = axis;
	rng_seed(&ps->random, seed, 77);
	polisher_go_to(ps, with, start);
	ps->n_manual = plan_manual(&ps->here);
	return ps;
}

void polisher_free(polisher *ps)
{
	if (!ps)
		return;
	index_release(&ps->index);
	vec_release(&ps->seen);
	index_release(&ps->tried);
	vec_release(&ps->plans);
	free(ps);
}

const polish_best *polisher_best(const polisher *ps) { return &ps->best; }

/* Where the trial leads; NULL: it leaves no room for a decision that the user made. */
static seen_state *evaluate_trial(polisher *ps)
{
	uint64_t list = plan_hash(&ps->trial);
	seen_state *state = state_of_plan(ps, list);
	if (state)
		return state;
	evaluator_run(ps->s->ev, &ps->trial, NULL);
	if (plan_manual(&ps->trial) < ps->n_manual)
		return NULL;
	state = state_here(ps, evaluator_hash(ps->s->ev));
	index_add(&ps->tried, list, ps->plans.n);
	vec_push(&ps->plans, (tried_plan){list, (uint32_t)(state - ps->seen.p)});
	note_best(ps, &ps->trial, state);
	return state;
}

static void move_to_trial(polisher *ps, const seen_state *state, int64_t energy)
{
	ps->here = ps->trial;
	ps->here_hash = state->hash;
	ps->here_energy = energy;
}

void polisher_walk(polisher *ps, scout *with, uint64_t evaluations, uint32_t heat)
{
	uint64_t end = scout_used(with) + evaluations, moves = 0, walked = ps->plans.n;
	if (!ps->weight_sum || !ps->n_axes)
		return;
	ps->s = with;
	while (scout_used(with) < end && moves++ / IDLE_MOVES < evaluations && (ps->plans.n - walked) / IDLE_WALKS < evaluations && !scout_stops(with)) {
		if (!propose(ps))
			continue;
		const seen_state *state = evaluate_trial(ps);
		if (!state || state->hash == ps->here_hash)
			continue;
		int64_t energy = plan_energy(ps->pb, &state->c);
		/* u * u: small steps up are taken more often than large ones. */
		uint64_t u = rng_below(&ps->random, 1001), allowance = (uint64_t)heat * u / 1000 * u / 1000;
		if ((double)energy <= (double)ps->here_energy * (1 + (double)allowance / PPM))
			move_to_trial(ps, state, energy);
	}
}
