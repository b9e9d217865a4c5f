/* What one evaluator is made of. Search states, costers and propagations are made when they are
 * first asked for: most evaluators never need those of the whole program. */
#include "search/evaluate/evaluator.h"

#include <stdlib.h>

/* A part of the memory that memo tables may take. There are two search states, two costers with two
 * parts each, and two propagations for replays. */
size_t memo_part(const problem *pb)
{
	int64_t all = pb->o->cache_bytes ? pb->o->cache_bytes : SEARCH_DEFAULT_CACHE_BYTES;
	return (size_t)(all / MOST_EVALUATORS / (2 * STATE_PARTS + 2 * 2 + 2));
}

propagation *evaluator_propagation(evaluator *ev, const program *p)
{
	propagate_options po = {
		.strategy = STRATEGY_AGGRESSIVE, .op_priority = true, .user_priority = true};
	propagation *s = propagation_new(p, ev->t, &po);
	propagation_limit(s, memo_part(ev->pb), 0);
	return s;
}

search_state *evaluator_state(evaluator *ev, int way)
{
	if (!ev->on[way])
		ev->on[way] = state_new(ev->pb, way == FOLDED ? ev->fold : NULL, ev->t, memo_part(ev->pb));
	return ev->on[way];
}

coster *evaluator_coster(evaluator *ev, int way)
{
	coster *c = &ev->cost[way];
	const problem *pb = ev->pb;
	const program *p = way == FOLDED ? ev->fold->p : pb->p;
	if (c->lower)
		return c;
	c->lower = lower_cache_new(p, ev->t);
	lower_cache_device(c->lower, pb->o->device->target, device_torus_dims(pb->o->device),
		mesh_links_slice_devices(&ev->links));
	c->low = lowered_new(p, ev->t);
	c->sim = simulator_new(p, ev->t, pb->o->device, &ev->links, way == FOLDED ? &ev->dn : &pb->dn);
	c->costed = xcalloc(p->vals.n + 1, sizeof *c->costed);
	lower_cache_limit(c->lower, memo_part(pb));
	simulator_limit(c->sim, memo_part(pb));
	if (way == FOLDED) {
		node_id *firsts = xmalloc((ev->fold->blocks.n + 1) * sizeof *firsts);
		for (uint32_t b = 0; b < ev->fold->blocks.n; b++)
			firsts[b] = ev->fold->blocks.p[b].first;
		lower_cache_mark(c->lower, firsts, ev->fold->blocks.n);
		free(firsts);
		simulator_fold(c->sim, ev->fold);
	} else if (ev->fold) {
		simulator_unfolded(c->sim, ev->fold);
	}
	uint8_t *ways = xmalloc(p->nodes.n + 1);
	simulator_nesting(p, ev->t, pb->o->device->target, ways);
	lower_cache_nest(c->lower, ways);
	free(ways);
	return c;
}

void coster_release(coster *c)
{
	if (!c->lower)
		return;
	simulator_free(c->sim);
	lowered_free(c->low);
	lower_cache_free(c->lower);
	free(c->costed);
	vec_release(&c->matmuls);
}
