/* Joint polish: tactics that take one axis at a time can end in data parallelism on every axis, so the whole plan is
 * revisited: each decision dropped, moved to another axis, brought forward or replaced, axes exchanged throughout, new
 * decisions added. Neighbours are tried in a random order, a handful at a time; when a handful holds an improvement, its best
 * becomes the plan. (Taking the first improvement wanders off along small ones, looking at all neighbours costs too much.) */
#include "search/internal.h"

#include <stdlib.h>

enum { HANDFUL = 16 };

typedef struct polisher {
	evaluator *ev;
	const problem *pb;
	plan best, trial;
	score best_score;
	cost best_cost;
	bool improved;
	uint64_t used, limit;
	index_map seen;
	uint64_t here, best_hash; /* states of the plan whose neighbours are tried, and of the best one */
	bool (*stop)(void *);
	void *stop_arg;
} polisher;

static bool out_of_budget(const polisher *ps) { return ps->used >= ps->limit || (ps->stop && ps->stop(ps->stop_arg)); }

/* Costs a plan and keeps it when it beats everything so far. */
static void consider(polisher *ps, plan *candidate)
{
	evaluator_run(ps->ev, candidate, NULL);
	uint64_t h = evaluator_hash(ps->ev);
	uint32_t id;
	if (h == ps->here)
		return; /* the decision does not apply or changes nothing: no new state */
	ps->used++;
	uint32_t it = index_first(&ps->seen, h);
	if (index_next(&ps->seen, h, &it, &id))
		return;
	index_add(&ps->seen, h, 1);
	cost c;
	evaluator_cost(ps->ev, &c);
	score s = score_of(ps->pb, &c);
	if (score_less(s, ps->best_score)) {
		ps->best = *candidate;
		ps->best_score = s;
		ps->best_cost = c;
		ps->best_hash = h;
		ps->improved = true;
	}
}

static void retarget(polisher *ps, action *a, uint32_t axis)
{
	if (a->on_role)
		*a = *action_of_role(ps->pb, a->role, axis);
	else
		a->axis = axis;
}

typedef enum move_kind { MOVE_DROP, MOVE_AXIS, MOVE_EXCHANGE, MOVE_FORWARD, MOVE_ADD, MOVE_REPLACE } move_kind;
typedef struct move {
	move_kind kind;
	uint32_t at, by; /* decision; axis, other axis or action */
} move;

/* All neighbours of a plan. Drops and additions that the worklist forbids fall out when they are tried. */
static uint32_t list_moves(const polisher *ps, const plan *pl, const action_list *actions, move *out)
{
	uint32_t n = 0, axes = ps->pb->n_axes;
	for (uint32_t i = 0; i < pl->n; i++) {
		if (pl->decisions[i].fixed)
			continue;
		out[n++] = (move){MOVE_DROP, i, 0};
		if (i + 1 < pl->n && !pl->decisions[i + 1].fixed)
			out[n++] = (move){MOVE_FORWARD, i, 0};
		for (uint32_t axis = 0; axis < axes; axis++)
			if (axis != pl->decisions[i].axis)
				out[n++] = (move){MOVE_AXIS, i, axis};
		for (uint32_t k = 0; k < actions->n; k++)
			out[n++] = (move){MOVE_REPLACE, i, k};
	}
	for (uint32_t a = 0; a < axes; a++)
		for (uint32_t b = a + 1; b < axes; b++)
			out[n++] = (move){MOVE_EXCHANGE, a, b};
	for (uint32_t k = 0; k < actions->n && pl->n < MAX_PLAN; k++)
		out[n++] = (move){MOVE_ADD, pl->n, k};
	return n;
}

static uint32_t most_moves(const polisher *ps, const action_list *actions)
{
	uint32_t axes = ps->pb->n_axes;
	return MAX_PLAN * (2 + axes + actions->n) + axes * axes + actions->n;
}

static void apply_move(polisher *ps, const plan *from, const action_list *actions, move mv)
{
	plan *t = &ps->trial;
	*t = *from;
	switch (mv.kind) {
	case MOVE_DROP:
		t->n--;
		memmove(&t->decisions[mv.at], &t->decisions[mv.at + 1], (t->n - mv.at) * sizeof *t->decisions);
		memmove(&t->tactics[mv.at], &t->tactics[mv.at + 1], (t->n - mv.at) * sizeof *t->tactics);
		break;
	case MOVE_FORWARD: {
		action swap = t->decisions[mv.at];
		const char *tactic = t->tactics[mv.at];
		t->decisions[mv.at] = t->decisions[mv.at + 1];
		t->tactics[mv.at] = t->tactics[mv.at + 1];
		t->decisions[mv.at + 1] = swap;
		t->tactics[mv.at + 1] = tactic;
		break;
	}
	case MOVE_AXIS:
		retarget(ps, &t->decisions[mv.at], mv.by);
		break;
	case MOVE_EXCHANGE:
		for (uint32_t i = 0; i < t->n; i++) {
			uint32_t axis = from->decisions[i].axis;
			if (from->decisions[i].fixed)
				continue;
			if (axis == mv.at || axis == mv.by)
				retarget(ps, &t->decisions[i], axis == mv.at ? mv.by : mv.at);
		}
		break;
	case MOVE_ADD:
		t->n++;
		/* fall through */
	case MOVE_REPLACE:
		t->decisions[mv.at] = actions->p[mv.by];
		t->tactics[mv.at] = "polish";
		break;
	}
}

uint64_t polish_plan(evaluator *ev, const problem *pb, plan *pl, score *best, cost *best_cost, const action_list *actions, uint64_t evaluations,
                     uint64_t seed, bool (*stop)(void *), void *stop_arg)
{
	polisher *ps = xcalloc(1, sizeof *ps);
	*ps = (polisher){.ev = ev, .pb = pb, .limit = evaluations, .stop = stop, .stop_arg = stop_arg};
	rng random;
	rng_seed(&random, seed, 77);
	ps->best = *pl;
	evaluator_run(ev, &ps->best, &ps->best_cost);
	ps->best_score = score_of(pb, &ps->best_cost);
	ps->used = 1;
	ps->best_hash = ps->here = evaluator_hash(ev);
	index_add(&ps->seen, ps->here, 1);
	plan *from = xmalloc(sizeof *from);
	move *moves = xmalloc(most_moves(ps, actions) * sizeof *moves);
	do {
		ps->improved = false;
		ps->here = ps->best_hash;
		*from = ps->best;
		uint64_t handful = ps->used + HANDFUL;
		for (uint32_t left = list_moves(ps, from, actions, moves); left > 0 && !out_of_budget(ps); left--) {
			if (ps->used >= handful) {
				if (ps->improved)
					break;
				handful += HANDFUL;
			}
			uint32_t pick = rng_below(&random, left);
			apply_move(ps, from, actions, moves[pick]);
			moves[pick] = moves[left - 1];
			consider(ps, &ps->trial);
		}
	} while (ps->improved && ps->used < ps->limit);
	*pl = ps->best;
	*best = ps->best_score;
	*best_cost = ps->best_cost;
	uint64_t used = ps->used;
	free(from);
	free(moves);
	index_release(&ps->seen);
	free(ps);
	return used;
}
