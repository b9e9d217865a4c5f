/* The tree as it stands: the nodes that most was spent on. */
#include "search/tree/tree_private.h"

#include <stdlib.h>

typedef struct visited {
	uint32_t node;
	uint64_t used;
} visited;

static int more_used(const void *a, const void *b)
{
	const visited *x = a, *y = b;
	return x->used != y->used ? (x->used < y->used ? 1 : -1) : x->node < y->node ? -1 : 1;
}

/* What leaves say of all nodes above them. */
static void sum_up(const tree *t, const uint32_t *row_of, search_node *out)
{
	for (uint32_t i = 0; i < t->states.n; i++) {
		const tree_leaf *l = &t->states.p[i];
		bool known = l->costed && is_costed(&l->c);
		for (uint32_t at = l->node; at != ID_NONE; at = t->nodes.p[at].parent) {
			if (row_of[at] == ID_NONE)
				continue;
			search_node *n = &out[row_of[at]];
			n->plans++;
			n->costed += l->costed;
			cost best = {.runtime_ns = n->runtime_ns, .peak_bytes = n->peak_bytes};
			if (known &&
				(!n->runtime_ns ||
					plan_energy(t->ls->goal, &l->c) < plan_energy(t->ls->goal, &best))) {
				n->runtime_ns = l->c.runtime_ns;
				n->peak_bytes = l->c.peak_bytes;
				n->fits = l->c.peak_bytes <= t->pb->memory_limit;
			}
		}
	}
}

/* Below a node at most as much was used as in it, and its number is smaller: no node comes without
 * the one above it. */
uint32_t tree_list(const tree *t, const tactic_space *ts, uint32_t most, search_node *out)
{
	uint32_t n = MIN(most, t->nodes.n), path[MAX_PATH];
	visited *order = xcalloc(t->nodes.n, sizeof *order);
	uint32_t *row_of = xcalloc(t->nodes.n, sizeof *row_of);
	for (uint32_t i = 0; i < t->nodes.n; i++)
		order[i] = (visited){i, t->nodes.p[i].used};
	qsort(order, t->nodes.n, sizeof *order, more_used);
	memset(row_of, 0xff, t->nodes.n * sizeof *row_of);
	for (uint32_t i = 0; i < n; i++) {
		const tree_node *nd = &t->nodes.p[order[i].node];
		uint32_t depth = 0;
		row_of[order[i].node] = i;
		for (uint32_t at = order[i].node; t->nodes.p[at].parent != ID_NONE;
			 at = t->nodes.p[at].parent)
			depth++;
		for (uint32_t at = order[i].node, k = depth; k-- > 0; at = t->nodes.p[at].parent)
			path[k] = t->nodes.p[at].key;
		out[i] = (search_node){.parent = nd->parent == ID_NONE ? UINT32_MAX : row_of[nd->parent],
			.evaluations = nd->used,
			.done = nd->done};
		completion_words(ts, path, depth, out[i].what, sizeof out[i].what);
	}
	sum_up(t, row_of, out);
	free(order);
	free(row_of);
	return n;
}
