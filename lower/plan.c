/* How single nodes run, without lowering the program around them: for bounds on what a program
 * costs. */
#include "lower/internal.h"

const node_plan *lower_node_plan(
	lower_cache *c, lower_level level, const sharding_id *shardings, node_id id)
{
	const node *n = &c->p->nodes.p[id];
	uint32_t n_slots = (uint32_t)n->n_operands + n->n_results;
	c->planner = planner_of(level);
	vec_reserve(&c->work->slots, n_slots);
	for (uint32_t i = 0; i < n_slots; i++) {
		c->work->slots.p[i] = cache_now(c, shardings, c->p->slots.p[n->slots + i]);
		if (cache_has_unreduced(c, c->work->slots.p[i]))
			return NULL;
	}
	return &cache_node(c, id, c->work->slots.p)->plan;
}

int64_t lower_value_bytes(
	lower_cache *c, lower_level level, const sharding_id *shardings, pval_id v)
{
	c->planner = planner_of(level);
	return cache_bytes(c, v, cache_now(c, shardings, v));
}

uint64_t lower_facts(const lower_cache *c) { return c->facts; }
