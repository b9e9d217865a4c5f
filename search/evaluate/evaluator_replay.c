/* The strategy of a path, propagated afresh as XLA will do it: results are pinned to what their
 * arguments got until that holds. On the folded program where its layers come out alike. */
#include "search/evaluate/evaluator.h"

#include <stdlib.h>

/* A program to replay on; arguments and results are its own. */
typedef struct stage {
	const program *p;
	propagation *prop;
	const int32_t *result_of_arg;
	bool folded;
} stage;

static stage stage_on(evaluator *ev, int way)
{
	stage st = {.folded = way == FOLDED, .p = ev->pb->p, .result_of_arg = ev->pb->result_of_arg};
	if (way == FOLDED) {
		st.p = ev->fold->p;
		st.result_of_arg = ev->result_of_arg;
	}
	if (!ev->fresh[way])
		ev->fresh[way] = evaluator_propagation(ev, st.p);
	st.prop = ev->fresh[way];
	return st;
}

static void annotate_sites(evaluator *ev, const stage *st)
{
	if (!st->folded) {
		list_sites(ev);
		uint32_t decided = ev->sites.n;
		list_held(ev);
		for (uint32_t i = 0; i < ev->sites.n; i++) {
			pval_id own = present_value(ev, ev->sites.p[i]);
			propagation_set(st->prop, ev->sites.p[i],
				i < decided ? export_sharding(ev, own, ev->t) : export_held(ev, own, ev->t));
		}
		return;
	}
	for (uint32_t i = 0; i < ev->held.n; i++)
		propagation_set(st->prop, ev->held.p[i], export_held(ev, ev->held.p[i], ev->t));
	for (uint32_t i = 0; i < ev->depth; i++) {
		const action_target *targets;
		uint32_t n =
			ev->path[i].kind == ACTION_CONSTRAIN ? state_applied(present(ev), i, &targets) : 0;
		for (uint32_t k = 0; k < n; k++)
			propagation_set(st->prop, targets[k].arg, export_sharding(ev, targets[k].arg, ev->t));
	}
}

/* The strategy's shardings, as strategy_apply would write them into the module. */
static int16_t annotate(evaluator *ev, const stage *st)
{
	int16_t last = -1;
	propagation_reset(st->prop);
	for (uint32_t a = 0; a < st->p->args.n; a++) {
		uint32_t own = st->folded || !is_folded(ev) ? a : ev->fold->arg_of[a];
		pval_id v = st->p->args.p[a];
		sharding_id id = propagation_shardings(st->prop)[v];
		bool decided = state_decided(present(ev), own);
		if (decided && !state_pinned(present(ev), own))
			propagation_set(st->prop, v, id = export_argument(ev, own, ev->t));
		if (id == SHARDING_NONE || !decided)
			continue;
		for (uint32_t d = 0; d < sharding_get(ev->t, id)->rank; d++)
			last = MAX(last, sharding_get(ev->t, id)->dims[d].priority);
		if (st->result_of_arg[a] >= 0)
			propagation_set(st->prop, st->p->results.p[st->result_of_arg[a]], id);
	}
	annotate_sites(ev, st);
	return last > 0 ? last : -1;
}

/* One fresh propagation, with results pinned to what their argument got until that holds. */
static void run_stage(evaluator *ev, const stage *st)
{
	sharding_id *at = propagation_shardings(st->prop);
	vec_reserve(&ev->pins, st->p->results.n);
	if (st->p->results.n)
		memset(ev->pins.p, 0, st->p->results.n * sizeof *ev->pins.p);
	for (int round = 0;; round++) {
		int16_t late = annotate(ev, st);
		for (uint32_t r = 0; r < st->p->results.n; r++)
			if (ev->pins.p[r] != SHARDING_NONE)
				propagation_set(st->prop, st->p->results.p[r], ev->pins.p[r]);
		propagation_run(st->prop);
		bool settled = true;
		for (uint32_t a = 0; a < st->p->args.n; a++) {
			int32_t r = st->result_of_arg[a];
			if (r < 0)
				continue;
			pval_id av = st->p->args.p[a], rv = st->p->results.p[r];
			if (!sharding_same_axes(ev->t, at[av], at[rv])) {
				ev->pins.p[r] =
					sharding_pin(ev->t, ev->pb->mesh, at[av], pval_type(st->p, av)->rank, late);
				settled = false;
			}
		}
		if (settled || round == REPLAY_ROUNDS)
			return;
	}
}

static bool stage_is_sure(const evaluator *ev, const stage *st)
{
	for (pval_id v = 0; v < st->p->vals.n; v++)
		if (!fold_is_even(ev->fold, ev->t, propagation_shardings(st->prop), v))
			return false;
	return fold_is_sure(ev->fold, st->prop, 0);
}

static bool stage_is_allowed(const evaluator *ev, const stage *st)
{
	if (unlike_arguments(ev->pb, ev->t, st->p, st->folded ? ev->fold->arg_of : NULL,
			propagation_shardings(st->prop)))
		return false;
	for (uint32_t a = 0; ev->pb->forbidden && a < ev->pb->n_args; a++) {
		uint32_t own = st->folded ? ev->fold->arg_of[a] : a;
		if (own != ID_NONE &&
			problem_forbids_sharding(
				ev->pb, ev->t, a, propagation_shardings(st->prop)[st->p->args.p[own]]))
			return false;
	}
	return true;
}

static void trim_stage(evaluator *ev, const stage *st, coster *c)
{
	memcpy(c->costed, propagation_shardings(st->prop), st->p->vals.n * sizeof *c->costed);
	program_trim_io(st->p, ev->t, c->costed);
}

static bool replay_folded(evaluator *ev, cost *out, bool *allowed)
{
	stage st = stage_on(ev, FOLDED);
	run_stage(ev, &st);
	if (!stage_is_sure(ev, &st))
		return false;
	coster *c = evaluator_coster(ev, FOLDED);
	trim_stage(ev, &st, c);
	*allowed = stage_is_allowed(ev, &st);
	return coster_find(ev, c, FOLDED, out);
}

static void replay_whole(evaluator *ev, cost *out, bool *allowed)
{
	stage st = stage_on(ev, WHOLE);
	run_stage(ev, &st);
	coster *c = evaluator_coster(ev, WHOLE);
	trim_stage(ev, &st, c);
	*allowed = stage_is_allowed(ev, &st);
	coster_find(ev, c, WHOLE, out);
}

/* On the program that the path is on; false where that is the folded one, and layers come out
 * unlike. */
static bool replay_on_path(evaluator *ev, cost *out, bool *allowed)
{
	if (!is_folded(ev)) {
		replay_whole(ev, out, allowed);
		return true;
	}
	if (!replay_folded(ev, out, allowed))
		return false;
	if (ev->pb->o->check) {
		cost whole;
		replay_whole(ev, &whole, allowed);
		ev->broken |= memcmp(&whole, out, sizeof whole) != 0;
	}
	return true;
}

static void replay(evaluator *ev, cost *out, bool *allowed)
{
	if (!replay_on_path(ev, out, allowed))
		replay_whole(ev, out, allowed);
}

/* The first value of the stage that a constraint can hold and that came out otherwise than where
 * the path led; ID_NONE. whole: for each value of the program that the path is on, one of the whole
 * program. */
static pval_id first_lost(evaluator *ev, const stage *st, const pval_id *whole)
{
	const sharding_id *at = propagation_shardings(st->prop), *state = state_shardings(present(ev));
	for (pval_id v = 0; v < st->p->vals.n; v++) {
		pval_id own = st->folded ? v : present_value(ev, v);
		if (own == ID_NONE || whole[own] == ID_NONE || sharding_same_axes(ev->t, at[v], state[own]))
			continue;
		bool held = false;
		for (uint32_t i = 0; i < ev->held.n && !held; i++)
			held = ev->held.p[i] == own;
		if (!held)
			return own;
	}
	return ID_NONE;
}

static pval_id *list_holdable(evaluator *ev)
{
	uint32_t n = (is_folded(ev) ? ev->fold->p : ev->pb->p)->vals.n;
	pval_id *whole = xmalloc((n + 1) * sizeof *whole);
	for (pval_id v = 0; v < n; v++)
		whole[v] = ID_NONE;
	for (pval_id v = 0; v < ev->pb->p->vals.n; v++) {
		pval_id own = present_value(ev, v);
		if (own != ID_NONE && whole[own] == ID_NONE && problem_is_site(ev->pb, v))
			whole[own] = v;
	}
	return whole;
}

/* Makes *out what was just replayed, if that is better. */
static bool take_better(const goal *g, const cost *c, bool c_allowed, cost *out, bool *allowed)
{
	if (!c_allowed || (*allowed && !score_less(score_of(g, c), score_of(g, out))))
		return false;
	*out = *c;
	*allowed = true;
	return true;
}

/* Holds the first value that came out otherwise in the last replay. False: there is none, or as
 * many as may be are held. */
static bool hold_next(evaluator *ev, const pval_id *whole)
{
	stage st = stage_on(ev, is_folded(ev) ? FOLDED : WHOLE);
	pval_id lost = ev->held.n < MOST_HELD ? first_lost(ev, &st, whole) : ID_NONE;
	if (lost == ID_NONE)
		return false;
	vec_push(&ev->held, lost);
	return true;
}

/* What is written for one device may hold any value to what decisions led to, whatever their order
 * said of it that annotations of arguments cannot say. So, as long as a replay is worse than the
 * state, the first value that came out otherwise is constrained. Where layers come out unlike on
 * the way, only the last step is costed, as whole programs take as long as many evaluations. */
static void hold(evaluator *ev, const goal *g, cost *out, bool *allowed)
{
	cost planned, c;
	bool c_allowed, costed = true;
	evaluator_rate(ev, &planned);
	int64_t wanted = plan_energy(g, &planned);
	wanted += wanted / HELD_PART;
	if (*allowed && plan_energy(g, out) <= wanted)
		return;
	pval_id *whole = list_holdable(ev);
	uint32_t best = 0;
	if (ev->priority == FIRST_AXES && state_priorities_differ(present(ev)))
		replay(ev, &c, &c_allowed); /* the last one was the other way */
	while (hold_next(ev, whole)) {
		costed = replay_on_path(ev, &c, &c_allowed);
		if (!costed || !take_better(g, &c, c_allowed, out, allowed))
			continue;
		best = ev->held.n;
		if (plan_energy(g, out) <= wanted)
			break;
	}
	if (!costed) {
		replay_whole(ev, &c, &c_allowed);
		if (take_better(g, &c, c_allowed, out, allowed))
			best = ev->held.n;
	}
	ev->held.n = best;
	free(whole);
}

/* Is this the path that was replayed last, for the same goal? */
static bool is_kept(const evaluator *ev, const goal *g)
{
	const replay_kept *k = &ev->last;
	bool same = k->known && k->depth == ev->depth && k->g.objective == g->objective &&
		k->g.memory_limit == g->memory_limit && k->g.nothing_fits == g->nothing_fits;
	for (uint32_t i = 0; i < ev->depth && same; i++)
		same = action_same(&k->path[i], &ev->path[i]);
	return same;
}

/* The last replay, with what it chose for the path. */
static void keep(evaluator *ev, const goal *g, const cost *c, bool allowed)
{
	replay_kept *k = &ev->last;
	memcpy(k->path, ev->path, ev->depth * sizeof *k->path);
	k->depth = ev->depth;
	k->g = *g;
	k->c = *c;
	k->allowed = allowed;
	k->priority = ev->priority;
	k->held.n = 0;
	for (uint32_t i = 0; i < ev->held.n; i++)
		vec_push(&k->held, ev->held.p[i]);
	k->known = true;
}

static void restore(evaluator *ev, cost *out, bool *allowed)
{
	const replay_kept *k = &ev->last;
	*out = k->c;
	*allowed = k->allowed;
	ev->priority = k->priority;
	ev->held.n = 0;
	for (uint32_t i = 0; i < k->held.n; i++)
		vec_push(&ev->held, k->held.p[i]);
}

/* A dim that got an axis by propagation and another one by a later decision can say only one of the
 * two steps: with the first the later axis comes too early, with the last its own earlier ones come
 * late. Which is nearer to what was decided differs. */
void evaluator_replay(evaluator *ev, const goal *g, cost *out, bool *allowed)
{
	cost last;
	bool last_allowed;
	if (is_kept(ev, g)) {
		restore(ev, out, allowed);
		return;
	}
	ev->priority = FIRST_AXES;
	ev->held.n = 0;
	replay(ev, out, allowed);
	if (state_priorities_differ(present(ev))) {
		ev->priority = LAST_AXES;
		replay(ev, &last, &last_allowed);
		if (!take_better(g, &last, last_allowed, out, allowed))
			ev->priority = FIRST_AXES;
	}
	hold(ev, g, out, allowed);
	keep(ev, g, out, *allowed);
}
