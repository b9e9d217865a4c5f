/* Layers as they stand in the program. */
#include "propagate/layers_internal.h"

#include <stdlib.h>

static node_id chain_middle(const finder *f, node_id head)
{
	node_id slow = head;
	for (node_id fast = head; fast != ID_NONE && f->ly->node_next[fast] != ID_NONE;
		 fast = f->ly->node_next[f->ly->node_next[fast]])
		slow = f->ly->node_next[slow];
	return slow;
}

static void shift_chain(finder *f, node_id head, int32_t by)
{
	for (node_id n = head; n != ID_NONE; n = f->ly->node_next[n])
		for (node_id k = n; k < f->unit_end[n]; k++)
			f->ly->node_layer[k] += by;
}

/* Layers of a stretch of the program begin at the nodes of one chain (`head`). The layer that this
 * makes n's; LAYER_NONE when n is not between two of them. */
static int32_t layer_between(const finder *f, node_id head, node_id n)
{
	node_id at = ID_NONE;
	bool behind = false;
	for (node_id k = head; k != ID_NONE; k = f->ly->node_next[k]) {
		if (k > n)
			behind = true;
		else if (at == ID_NONE || k > at)
			at = k;
	}
	return at == ID_NONE || !behind ? LAYER_NONE : f->ly->node_layer[at];
}

enum { MAX_AWAY = 4 };

/* Votes for how far a stretch should be shifted to stand with what is in the same layer as one of
 * its nodes: what the node reads, and, counting more, what reads the same argument (a weight of a
 * layer). */
static void vote(const finder *f, const node_id *head_of, const uint32_t *stretch, uint32_t s,
	node_id i, uint32_t votes[2 * MAX_AWAY + 1])
{
	enum { ARGUMENT_VOTES = 8 };
	const program *p = f->p;
	const int32_t *layer = f->ly->node_layer;
	for (uint32_t k = 0; k < p->nodes.p[i].n_operands; k++) {
		const pval *v = &p->vals.p[p->slots.p[p->nodes.p[i].slots + k]];
		if (v->def != ID_NONE && layer[v->def] != LAYER_NONE && stretch[head_of[v->def]] < s &&
			abs(layer[v->def] - layer[i]) <= MAX_AWAY)
			votes[layer[v->def] - layer[i] + MAX_AWAY]++;
		for (uint32_t u = v->uses;
			 v->def == ID_NONE && u < v->uses + MIN(v->n_uses, (uint32_t)MAX_AWAY); u++) {
			node_id user = p->slot_node.p[p->uses.p[u]];
			if (layer[user] != LAYER_NONE && stretch[head_of[user]] < s &&
				abs(layer[user] - layer[i]) <= MAX_AWAY)
				votes[layer[user] - layer[i] + MAX_AWAY] += ARGUMENT_VOTES;
		}
	}
}

/* Where a layer begins is a matter of taste in each stretch; between stretches it should be the
 * same layer. */
static void align_stretches(
	finder *f, const node_id *head_of, const uint32_t *stretch, uint32_t n_stretches)
{
	for (uint32_t s = 1; s < n_stretches; s++) {
		uint32_t votes[2 * MAX_AWAY + 1] = {0}, best = MAX_AWAY;
		for (node_id i = 0; i < f->p->nodes.n; i++)
			if (f->ly->node_layer[i] != LAYER_NONE && stretch[head_of[i]] == s)
				vote(f, head_of, stretch, s, i, votes);
		for (uint32_t v = 0; v < COUNT_OF(votes); v++)
			if (votes[v] > votes[best])
				best = v;
		for (node_id i = 0; i < f->p->nodes.n && best != MAX_AWAY; i++)
			if (f->ly->node_layer[i] != LAYER_NONE && f->node_before[i] == ID_NONE &&
				stretch[i] == s)
				shift_chain(f, i, (int32_t)best - MAX_AWAY);
	}
}

void layers_follow_text(finder *f)
{
	enum { MAX_STRETCHES = 64 };
	layering *ly = f->ly;
	node_id heads[MAX_STRETCHES], n = f->p->nodes.n, *head_of = xmalloc((n + 1) * sizeof *head_of);
	uint32_t *stretch = xmalloc((n + 1) * sizeof *stretch); /* by first of a chain */
	bool *middle = xcalloc(n + 1, sizeof *middle);
	uint32_t n_heads = 0;
	for (node_id i = 0; i < n; i++)
		stretch[i] = ID_NONE;
	for (node_id i = 0; i < n; i++)
		if (f->unit[i] == i && f->node_before[i] == ID_NONE && ly->node_layer[i] != LAYER_NONE) {
			for (node_id k = i; k != ID_NONE; k = ly->node_next[k])
				for (node_id in = k; in < f->unit_end[k]; in++)
					head_of[in] = i;
			middle[chain_middle(f, i)] = !f->node_held[i];
		}
	/* in the order in which the middles of the chains stand in the program */
	for (node_id i = 0; i < n; i++) {
		if (!middle[i])
			continue;
		node_id next = ly->node_next[i];
		uint32_t placed = ID_NONE;
		for (uint32_t h = 0; h < n_heads && placed == ID_NONE && next != ID_NONE; h++) {
			int32_t layer = layer_between(f, heads[h], i);
			if (layer == LAYER_NONE || layer_between(f, heads[h], next) != layer + 1)
				continue;
			shift_chain(f, head_of[i], layer - ly->node_layer[i]);
			placed = h;
		}
		if (placed == ID_NONE && n_heads < MAX_STRETCHES) {
			placed = n_heads;
			heads[n_heads++] = head_of[i];
		}
		stretch[head_of[i]] = placed;
	}
	align_stretches(f, head_of, stretch, n_heads);
	free(head_of);
	free(stretch);
	free(middle);
}
