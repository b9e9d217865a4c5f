/* From a pair of ops to the counterparts of all layers, and the numbers of these. */
#include "propagate/layers_internal.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- growing */

static bool may_pair(const finder *f, node_id a, node_id b)
{
	const node *x = &f->p->nodes.p[a], *y = &f->p->nodes.p[b];
	return f->ly->node_next[a] == ID_NONE && f->node_before[b] == ID_NONE && !f->node_held[a] &&
		!f->node_held[b] && f->looks[a] == f->looks[b] && x->dead == y->dead;
}

/* Makes b the counterpart of a, with all of their units. */
static bool pair_nodes(finder *f, node_id a, node_id b)
{
	layering *ly = f->ly;
	node_id ua = f->unit[a], ub = f->unit[b], n = f->unit_end[ua] - ua;
	if (ly->node_next[a] == b)
		return true;
	if (ua == ub || a - ua != b - ub || f->unit_end[ub] - ub != n || f->p->nodes.p[ua].dead)
		return false;
	for (node_id k = 0; k < n; k++)
		if (!may_pair(f, ua + k, ub + k))
			return false;
	for (node_id k = 0; k < n; k++) {
		ly->node_next[ua + k] = ub + k;
		f->node_before[ub + k] = ua + k;
		vec_push(&f->todo, ua + k);
		f->grown++;
	}
	return true;
}

static bool is_counterpart(const finder *f, uint32_t slot_a, uint32_t slot_b)
{
	const program *p = f->p;
	node_id a = p->slot_node.p[slot_a], b = p->slot_node.p[slot_b];
	return f->looks[a] == f->looks[b] &&
		slot_a - p->nodes.p[a].slots == slot_b - p->nodes.p[b].slots && !p->nodes.p[a].dead &&
		!p->nodes.p[b].dead;
}

static uint32_t count_like(const finder *f, const pval *v, uint32_t slot)
{
	uint32_t n = 0;
	for (uint32_t i = v->uses; i < v->uses + v->n_uses; i++)
		n += is_counterpart(f, slot, f->p->uses.p[i]);
	return n;
}

/* Users that look alike correspond in their order. */
static void pair_users(finder *f, pval_id a, pval_id b)
{
	enum { MAX_USERS = 64 };
	const program *p = f->p;
	const pval *va = &p->vals.p[a], *vb = &p->vals.p[b];
	if (va->n_uses > MAX_USERS || vb->n_uses > MAX_USERS)
		return;
	for (uint32_t i = va->uses; i < va->uses + va->n_uses; i++) {
		uint32_t slot = p->uses.p[i], before = 0;
		if (f->ly->node_next[p->slot_node.p[slot]] != ID_NONE ||
			count_like(f, va, slot) != count_like(f, vb, slot))
			continue;
		for (uint32_t k = va->uses; k < i; k++)
			before += is_counterpart(f, slot, p->uses.p[k]);
		for (uint32_t k = vb->uses; k < vb->uses + vb->n_uses; k++)
			if (is_counterpart(f, slot, p->uses.p[k]) && !before--) {
				pair_nodes(f, p->slot_node.p[slot], p->slot_node.p[p->uses.p[k]]);
				break;
			}
	}
}

static void pair_values(finder *f, pval_id a, pval_id b)
{
	const pval *va = &f->p->vals.p[a], *vb = &f->p->vals.p[b];
	if (a == b || f->ly->val_next[a] != ID_NONE || f->val_before[b] != ID_NONE || f->val_held[a] ||
		f->val_held[b] || va->type != vb->type || (va->arg_index < 0) != (vb->arg_index < 0) ||
		(va->def == ID_NONE) != (vb->def == ID_NONE))
		return;
	if (layers_is_number(f->p, a) || (va->def != ID_NONE && !pair_nodes(f, va->def, vb->def)))
		return;
	f->ly->val_next[a] = b;
	f->val_before[b] = a;
	pair_users(f, a, b);
}

void layers_clear(finder *f)
{
	for (node_id n = 0; n < f->p->nodes.n; n++)
		if (!f->node_held[n]) {
			f->ly->node_layer[n] = LAYER_NONE;
			f->ly->node_next[n] = f->node_before[n] = ID_NONE;
		}
	for (pval_id v = 0; v < f->p->vals.n; v++)
		if (!f->val_held[v]) {
			f->ly->val_layer[v] = LAYER_NONE;
			f->ly->val_next[v] = f->val_before[v] = ID_NONE;
		}
	f->todo.n = f->later.n = f->grown = 0;
}

/* Counterparts are paired one to one, so they form chains that end and rings. A ring is a wrong
 * guess: it has no first layer, and whatever reads it would be given numbers without end. Without
 * rings every walk along counterparts ends. ring: room for n flags. */
static void drop_rings(uint32_t n, uint32_t *next, uint32_t *before, bool *ring)
{
	memset(ring, true, n);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = before[i] == ID_NONE ? i : ID_NONE; k != ID_NONE; k = next[k])
			ring[k] = false;
	for (uint32_t i = 0; i < n; i++)
		if (ring[i])
			next[i] = before[i] = ID_NONE;
}

/* Numbers a chain of counterparts through one of its nodes. */
static void number_chain(finder *f, node_id in, int32_t layer)
{
	node_id at = f->unit[in], n = at, middle;
	uint32_t length = 1;
	for (; f->node_before[n] != ID_NONE; layer--, length++)
		n = f->node_before[n];
	for (node_id k = f->ly->node_next[at]; k != ID_NONE; k = f->ly->node_next[k])
		length++;
	middle = n;
	for (uint32_t i = 0; n != ID_NONE; n = f->ly->node_next[n], i++, layer++) {
		for (node_id k = n; k < f->unit_end[n]; k++)
			f->ly->node_layer[k] = layer;
		if (i == length / 2)
			middle = n;
	}
	for (node_id k = middle; k < f->unit_end[middle]; k++)
		vec_push(&f->todo, k);
}

static void number_val_chain(finder *f, pval_id at, int32_t layer)
{
	pval_id v = at;
	for (; f->val_before[v] != ID_NONE; layer--)
		v = f->val_before[v];
	for (; v != ID_NONE; v = f->ly->val_next[v])
		f->ly->val_layer[v] = layer++;
}

/* What the middle of a chain reads, or is read by, is in the same layer unless it has one already.
 */
static void number_around(finder *f, node_id x, bool summed)
{
	const program *p = f->p;
	const node *n = &p->nodes.p[x];
	int32_t layer = f->ly->node_layer[x];
	for (uint32_t i = 0; i < (uint32_t)n->n_operands + n->n_results; i++) {
		pval_id v = p->slots.p[n->slots + i];
		const pval *pv = &p->vals.p[v];
		if (f->ly->val_next[v] == ID_NONE && f->val_before[v] == ID_NONE)
			continue;
		if (!summed && layers_is_summed(p, v)) {
			vec_push(&f->later, x);
			continue;
		}
		if (pv->def != ID_NONE && f->ly->node_layer[pv->def] == LAYER_NONE &&
			(f->ly->node_next[pv->def] != ID_NONE || f->node_before[pv->def] != ID_NONE))
			number_chain(f, pv->def, layer);
		if (f->ly->val_layer[v] == LAYER_NONE)
			number_val_chain(f, v, pv->def == ID_NONE ? layer : f->ly->node_layer[pv->def]);
		for (uint32_t u = pv->uses; u < pv->uses + pv->n_uses; u++) {
			node_id user = p->slot_node.p[p->uses.p[u]];
			if (f->ly->node_layer[user] == LAYER_NONE &&
				(f->ly->node_next[user] != ID_NONE || f->node_before[user] != ID_NONE))
				number_chain(f, user, f->ly->val_layer[v]);
		}
	}
}

/* Values are in the layer of what makes them, arguments in that of what reads them last: a
 * parameter's update, which its new value is the result of, may be in another layer than the ops
 * that read it first. */
static void number_vals(finder *f)
{
	const program *p = f->p;
	layering *ly = f->ly;
	for (pval_id v = 0; v < p->vals.n; v++)
		if (ly->val_layer[v] != LAYER_NONE && p->vals.p[v].def != ID_NONE)
			ly->val_layer[v] = ly->node_layer[p->vals.p[v].def];
	for (pval_id v = 0; v < p->vals.n; v++) {
		if (ly->val_layer[v] == LAYER_NONE || p->vals.p[v].def != ID_NONE ||
			f->val_before[v] != ID_NONE || f->val_held[v])
			continue;
		pval_id middle = v;
		for (pval_id fast = v; fast != ID_NONE && ly->val_next[fast] != ID_NONE;
			 fast = ly->val_next[ly->val_next[fast]])
			middle = ly->val_next[middle];
		const pval *m = &p->vals.p[middle];
		int32_t layer = LAYER_NONE;
		for (uint32_t u = m->uses + m->n_uses; u-- > m->uses && layer == LAYER_NONE;)
			layer = ly->node_layer[p->slot_node.p[p->uses.p[u]]];
		if (layer == LAYER_NONE)
			continue;
		int32_t by = layer - ly->val_layer[middle];
		for (pval_id k = v; k != ID_NONE; k = ly->val_next[k])
			ly->val_layer[k] += by;
	}
}

void layers_drop_orphans(finder *f)
{
	layering *ly = f->ly;
	for (pval_id v = 0; v < f->p->vals.n; v++) {
		node_id def = f->p->vals.p[v].def;
		if (def == ID_NONE || ly->node_next[def] != ID_NONE || f->node_before[def] != ID_NONE)
			continue;
		if (f->val_before[v] != ID_NONE)
			ly->val_next[f->val_before[v]] = ID_NONE;
		if (ly->val_next[v] != ID_NONE)
			f->val_before[ly->val_next[v]] = ID_NONE;
		ly->val_next[v] = f->val_before[v] = ID_NONE;
		ly->val_layer[v] = LAYER_NONE;
	}
}

static void drop_all_rings(finder *f)
{
	uint32_t n = MAX(f->p->nodes.n, f->p->vals.n);
	bool *ring = xmalloc(n + 1);
	drop_rings(f->p->nodes.n, f->ly->node_next, f->node_before, ring);
	drop_rings(f->p->vals.n, f->ly->val_next, f->val_before, ring);
	free(ring);
	layers_drop_orphans(f);
}

/* Few counterparts are no layers: something at an end that happens to look like something else. Nor
 * is what only a ring led to. */
static void drop_short_chains(finder *f)
{
	layering *ly = f->ly;
	for (node_id i = 0; i < f->p->nodes.n; i++) {
		uint32_t length = 0;
		for (node_id k = f->node_before[i] == ID_NONE ? i : ID_NONE;
			 k != ID_NONE && length < MIN_LAYERS; k = ly->node_next[k])
			length++;
		bool none = length && (length < MIN_LAYERS || ly->node_layer[i] == LAYER_NONE);
		for (node_id k = none ? i : ID_NONE, next; k != ID_NONE; k = next) {
			next = ly->node_next[k];
			ly->node_layer[k] = LAYER_NONE;
			ly->node_next[k] = f->node_before[k] = ID_NONE;
		}
	}
	layers_drop_orphans(f);
}

void layers_grow(finder *f, node_id a, node_id b)
{
	const program *p = f->p;
	layers_clear(f);
	pair_nodes(f, a, b);
	while (f->todo.n || f->later.n) {
		bool summed = !f->todo.n, wait = false;
		node_id x = summed ? vec_pop(&f->later) : vec_pop(&f->todo), y = f->ly->node_next[x];
		const node *nx = &p->nodes.p[x], *ny = &p->nodes.p[y];
		for (uint32_t i = 0; i < (uint32_t)nx->n_operands + nx->n_results; i++) {
			pval_id va = p->slots.p[nx->slots + i], vb = p->slots.p[ny->slots + i];
			if (summed || !layers_is_summed(p, va))
				pair_values(f, va, vb);
			else
				wait = true;
		}
		if (wait)
			vec_push(&f->later, x);
	}
	drop_all_rings(f);
	number_chain(f, a, 0);
	while (f->todo.n || f->later.n)
		f->todo.n ? number_around(f, vec_pop(&f->todo), false)
				  : number_around(f, vec_pop(&f->later), true);
	drop_short_chains(f);
	layers_follow_text(f);
	number_vals(f);
}
