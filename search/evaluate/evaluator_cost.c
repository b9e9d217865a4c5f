/* What the state that an evaluator is in costs: lowered and simulated, unless something of it is
 * remembered. */
#include "search/evaluate/evaluator.h"

#include <stdlib.h>

/* The shardings that are lowered: inputs cut to what divides, and in the steady state a paired
 * result leaves the step as its argument entered it. */
static void find_costed(evaluator *ev, coster *c, const program *p, const int32_t *result_of_arg)
{
	program_trim_io(p, ev->t, c->costed);
	for (uint32_t a = 0; a < p->args.n; a++)
		if (result_of_arg[a] >= 0)
			c->costed[p->results.p[result_of_arg[a]]] = c->costed[p->args.p[a]];
}

/* False when layers of the folded program come out differently. */
static bool cost_with(evaluator *ev, coster *c, int way, bool reshards)
{
	bool alike = true;
	uint32_t n_apart;
	const node_id *apart = NULL;
	lower_cache_reshard_after_forward(c->lower, reshards);
	do {
		if (apart)
			lower_cache_unnest(c->lower, apart, n_apart);
		lower_program(
			c->lower, c->costed, apply_level(ev->pb->o->apply), ev->pb->o->device->target, c->low);
		if (way == FOLDED)
			alike = simulate_folded(c->sim, c->low, &c->cost);
		else
			simulate(c->sim, c->low, &c->cost);
		apart = simulator_apart(c->sim, &n_apart);
		ev->stats.apart += n_apart > 0;
	} while (n_apart);
	return alike;
}

/* Gathered parameters are held from the forward to the backward pass where there is memory for
 * that, else gathered again. */
static bool cost_anew(evaluator *ev, coster *c, int way)
{
	const search_options *o = ev->pb->o;
	if (!cost_with(ev, c, way, o->apply == APPLY_EXACT_RESHARDED))
		return false;
	cost held = c->cost;
	if (o->apply != APPLY_EXACT ||
		(o->objective != OBJECTIVE_MEMORY && held.peak_bytes <= ev->pb->memory_limit))
		return true;
	if (!cost_with(ev, c, way, true))
		return false;
	if (!score_less(score_final(ev->pb, &c->cost), score_final(ev->pb, &held)))
		c->cost = held;
	return true;
}

/* What is lowered depends on the axes that cut what: different states can come to the same, and a
 * replay mostly comes to what was costed before. False when layers of the folded program come out
 * differently. */
bool coster_find(evaluator *ev, coster *c, int way, cost *out)
{
	cost_memo *costs = ev->pb->o->check ? NULL : ev->pb->costs;
	uint32_t n = (way == FOLDED ? ev->fold->p : ev->pb->p)->vals.n;
	uint64_t h = costs ? hash_combine(state_hash_of(present(ev), c->costed, n), (uint64_t)way) : 0;
	c->known = costs && cost_memo_find(costs, h, out);
	if (c->known)
		return true;
	if (!cost_anew(ev, c, way))
		return false;
	*out = c->cost;
	if (costs)
		cost_memo_add(costs, h, out);
	return true;
}

void coster_load(evaluator *ev, coster *c, int way)
{
	const program *p = way == FOLDED ? ev->fold->p : ev->pb->p;
	const sharding_id *state = state_shardings(present(ev));
	if (way == WHOLE && is_folded(ev))
		for (pval_id v = 0; v < p->vals.n; v++)
			c->costed[v] =
				ev->fold->val_of[v] == ID_NONE ? SHARDING_NONE : state[ev->fold->val_of[v]];
	else
		memcpy(c->costed, state, p->vals.n * sizeof *c->costed);
	find_costed(ev, c, p, way == FOLDED ? ev->result_of_arg : ev->pb->result_of_arg);
}

static void cost_whole(evaluator *ev, cost *out)
{
	coster *c = evaluator_coster(ev, WHOLE);
	coster_load(ev, c, WHOLE);
	coster_find(ev, c, WHOLE, out);
}

/* From the folded program alone; false when its layers come out differently. */
static bool cost_folded(evaluator *ev, cost *out)
{
	coster *c = evaluator_coster(ev, FOLDED);
	coster_load(ev, c, FOLDED);
	return coster_find(ev, c, FOLDED, out);
}

void evaluator_cost(evaluator *ev, cost *out)
{
	cost_memo *costs = ev->pb->o->check ? NULL : ev->pb->costs;
	uint64_t state = state_hash(present(ev));
	if (costs && cost_memo_find(costs, state, out)) {
		ev->stats.known++;
		return;
	}
	bool folded = is_folded(ev) && cost_folded(ev, out);
	if (!folded)
		cost_whole(ev, out);
	if (ev->cost[folded ? FOLDED : WHOLE].known)
		ev->stats.known++;
	else
		folded ? ev->stats.folded++ : ev->stats.whole++;
	if (folded && ev->pb->o->check) {
		cost whole;
		cost_whole(ev, &whole);
		ev->broken |= memcmp(&whole, out, sizeof whole) != 0;
	}
	if (costs)
		cost_memo_add(costs, state, out);
}

void evaluator_rate(evaluator *ev, cost *out)
{
	evaluator_cost(ev, out);
	bool folded = is_folded(ev);
	uint32_t unlike = unlike_arguments(ev->pb, ev->t, folded ? ev->fold->p : ev->pb->p,
		folded ? ev->fold->arg_of : NULL, state_shardings(present(ev)));
	if (unlike)
		out->runtime_ns = sat_mul(out->runtime_ns, 2 + (int64_t)unlike);
}
