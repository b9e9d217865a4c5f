/* What a settle depends on. It visits the nodes that see a changed value, and each of its steps is
 * a function of the node's values; a value of a sharding group takes its members along. Everything
 * else is as it was, and was settled. */
#include "propagate/engine.h"

#include <stdlib.h>

void reads_release(settle_reads *r)
{
	vec_release(&r->list);
	free(r->vals);
	free(r->nodes);
}

static void begin(propagation *s, uint32_t mark)
{
	settle_reads *r = &s->reads;
	if (!r->vals || r->stamp == UINT32_MAX) {
		reads_release(r);
		*r = (settle_reads){.vals = xcalloc(s->p->vals.n + 1, sizeof *r->vals),
			.nodes = xcalloc(s->p->nodes.n + 1, sizeof *r->nodes)};
	}
	r->stamp++;
	r->list.n = 0;
	for (uint32_t i = s->trail.n; i-- > mark;) {
		const trail_change *c = &s->trail.p[i];
		r->vals[c->v].changed = r->stamp;
		r->vals[c->v].before = c->old;
	}
}

static inline void list_value(propagation *s, pval_id v)
{
	value_read *x = &s->reads.vals[v];
	if (x->listed == s->reads.stamp)
		return;
	x->listed = s->reads.stamp;
	vec_push(
		&s->reads.list, (value_is){v, x->changed == s->reads.stamp ? x->before : s->shardings[v]});
}

/* Who sees the value, and what else they see. */
static void follow(propagation *s, pval_id v)
{
	settle_reads *r = &s->reads;
	const program *p = s->p;
	const audience *by = &s->audiences[v];
	for (uint32_t i = 0; i < by->n_touch; i++) {
		node_id n = p->notify.p[by->first + i];
		const plan *pl = &s->plans[n];
		if (r->nodes[n] == r->stamp || s->erased[n])
			continue;
		r->nodes[n] = r->stamp;
		for (uint32_t k = 0; k < pl->n_slots; k++)
			list_value(s, p->slots.p[pl->slots + k]);
	}
	if (by->group == ID_NONE)
		return;
	for (uint32_t i = p->group_first.p[by->group]; i < p->group_first.p[by->group + 1]; i++)
		list_value(s, p->group_members.p[i]);
}

/* What is followed soon is fetched into the cache: values change in no order of memory, and in
 * large programs nearly every look at one would wait for main memory. Each step reads what the one
 * before has fetched. */
static inline void fetch_ahead(const propagation *s, uint32_t i)
{
	enum { STEP = 6, MOST_NODES = 4 };
	const settle_reads *r = &s->reads;
	if (i + 3 * STEP >= s->trail.n)
		return;
	const trail_change *c = &s->trail.p[i];
	__builtin_prefetch(&s->audiences[c[3 * STEP].v]);
	__builtin_prefetch(&r->vals[c[3 * STEP].v]);
	const audience *by = &s->audiences[c[2 * STEP].v];
	__builtin_prefetch(&s->p->notify.p[by->first]);
	by = &s->audiences[c[STEP].v];
	for (uint32_t k = 0; k < MIN(by->n_touch, (uint32_t)MOST_NODES); k++) {
		node_id n = s->p->notify.p[by->first + k];
		__builtin_prefetch(&s->plans[n]);
		__builtin_prefetch(&r->nodes[n]);
	}
	by = &s->audiences[c[STEP / 2].v];
	for (uint32_t k = 0; k < MIN(by->n_touch, (uint32_t)MOST_NODES); k++)
		__builtin_prefetch(&s->p->slots.p[s->plans[s->p->notify.p[by->first + k]].slots]);
}

uint32_t propagation_reads(
	propagation *s, uint32_t mark, const pval_id *first, uint32_t n_first, const value_is **out)
{
	settle_reads *r = &s->reads;
	begin(s, mark);
	for (uint32_t i = 0; i < n_first; i++)
		list_value(s, first[i]);
	for (uint32_t i = mark; i < s->trail.n; i++) {
		pval_id v = s->trail.p[i].v;
		fetch_ahead(s, i);
		list_value(s, v);
		if (r->vals[v].followed == r->stamp)
			continue;
		r->vals[v].followed = r->stamp;
		follow(s, v);
	}
	*out = r->list.p;
	return r->list.n;
}
