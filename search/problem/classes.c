/* Dimension classes: dims of different tensors that the ops between them hold together, since they
 * are one factor of an op's sharding rule. A dim made of several factors goes with its major one.
 */
#include "search/problem/problem.h"

#include <stdlib.h>

static uint32_t find(uint32_t *parent, uint32_t x)
{
	while (parent[x] != x)
		x = parent[x] = parent[parent[x]];
	return x;
}

bool node_contracts(const program *p, const node *n)
{
	uint32_t tensors = 0, reductions = 0;
	if (n->kind != NODE_OP || n->rule == RULE_NONE)
		return false;
	const rule *r = rule_get(p->rules, n->rule);
	for (uint32_t i = 0; i < n->n_operands; i++)
		tensors += pval_type(p, node_slots(p, n)[i])->rank > 0;
	for (uint32_t f = 0; f < r->n_factors; f++)
		reductions += r->factor_types[f] == FACTOR_REDUCTION;
	return tensors > 1 && reductions;
}

void dim_classes_init(dim_classes *c, const program *p, bool across_contractions)
{
	c->first = xmalloc((p->vals.n + 1) * sizeof *c->first);
	uint32_t n = 0;
	for (pval_id v = 0; v < p->vals.n; v++) {
		c->first[v] = n;
		n += pval_type(p, v)->rank;
	}
	c->first[p->vals.n] = n;
	c->of = xmalloc((n + 1) * sizeof *c->of);
	for (uint32_t i = 0; i < n; i++)
		c->of[i] = i;
	for (node_id i = 0; i < p->nodes.n; i++) {
		const node *nd = &p->nodes.p[i];
		uint32_t seen[MAX_FACTORS], tensors = (uint32_t)nd->n_operands + nd->n_results;
		if (nd->rule == RULE_NONE || (!across_contractions && node_contracts(p, nd)))
			continue;
		const rule *r = rule_get(p->rules, nd->rule);
		for (uint32_t f = 0; f < r->n_factors; f++)
			seen[f] = ID_NONE;
		for (uint32_t t = 0; t < tensors; t++)
			for (uint32_t d = 0; d < pval_type(p, node_slots(p, nd)[t])->rank; d++) {
				uint32_t f = rule_major_factor(r, t, d), at = c->first[node_slots(p, nd)[t]] + d;
				if (f == ID_NONE)
					continue;
				if (seen[f] == ID_NONE)
					seen[f] = at;
				else
					c->of[find(c->of, at)] = find(c->of, seen[f]);
			}
	}
	for (uint32_t i = 0; i < n; i++)
		c->of[i] = find(c->of, i);
}

void dim_classes_release(dim_classes *c)
{
	free(c->first);
	free(c->of);
	*c = (dim_classes){0};
}

uint32_t rule_major_factor(const rule *r, uint32_t tensor, uint32_t dim)
{
	const struct rule_dim *rd = &r->dims[r->tensor_first[tensor] + dim];
	return rd->n ? r->dim_factors[rd->first] : ID_NONE;
}
