/* Finds the layers of an unrolled program. Two ops that are counterparts in neighbouring layers
 * have counterparts as operands and as users, so from one such pair the whole correspondence is
 * grown along definitions and uses: forward pass, backward pass and update alike, however they are
 * ordered in the text. The pair to start from is a guess: two ops that look alike within a few
 * steps. A guess that is wrong grows into little, and what is grown is checked: layers count only
 * where every op of a layer stands to its neighbours as its counterpart in the next layer does.
 *
 * A loop or a branch of main, all that is in it and the edges of its results are one unit: a layer
 * has the whole of it, at the same places as its counterpart, or nothing.
 *
 * A program may have several stacks of layers (an encoder and a decoder). One is found after the
 * other, in what is left, and put beside those before: a layer then has one of each stack. */
#include "propagate/layers_internal.h"

#include <stdlib.h>

enum {
	RADIUS = 3,
	MAX_GUESSES = 6,
	MIN_SHARE = 4,   /* layers hold at least 1/4 of all nodes */
	STACK_SHARE = 8, /* each stack of them at least that */
	MAX_STACKS = 4
};

/* ---------------------------------------------------------------- which layers look the same */

/* The first of a chain of counterparts stands for all of them. */
static void find_heads(const finder *f, uint32_t *node_head, uint32_t *val_head)
{
	for (node_id n = 0; n < f->p->nodes.n; n++)
		if (f->node_before[n] == ID_NONE)
			for (node_id k = n; k != ID_NONE; k = f->ly->node_next[k])
				node_head[k] = n;
	for (pval_id v = 0; v < f->p->vals.n; v++)
		if (f->val_before[v] == ID_NONE)
			for (pval_id k = v; k != ID_NONE; k = f->ly->val_next[k])
				val_head[k] = v;
}

/* Layers are hashed as sets of ops with what each of them reads: counterparts so many layers away,
 * or the same value. */
static void hash_layers(const finder *f, bool all, int32_t low, uint64_t *hash, uint32_t *reach)
{
	const program *p = f->p;
	layering *ly = f->ly;
	uint32_t *node_head = xmalloc((p->nodes.n + 1) * sizeof *node_head),
			 *val_head = xmalloc((p->vals.n + 1) * sizeof *val_head);
	find_heads(f, node_head, val_head);
	for (node_id i = 0; i < p->nodes.n; i++) {
		const node *n = &p->nodes.p[i];
		if (ly->node_layer[i] == LAYER_NONE || (f->node_held[i] && !all))
			continue;
		uint64_t h = node_head[i];
		for (uint32_t k = 0; k < (uint32_t)n->n_operands + n->n_results; k++) {
			pval_id v = p->slots.p[n->slots + k];
			bool none = ly->val_layer[v] == LAYER_NONE || (f->val_held[v] && !all);
			int32_t away = none ? 0 : ly->val_layer[v] - ly->node_layer[i];
			if (layers_is_number(p, v))
				h = hash_combine(h, f->looks[p->vals.p[v].def]);
			else if (!none && layers_is_summed(p, v) && layers_is_scalar_op(p, i)) {
				h = hash_combine(
					h, val_head[v]); /* from any layer: nothing about a scalar depends on which */
				continue;
			} else
				h = hash_combine(h,
					none ? (uint64_t)v << 8 : (uint64_t)val_head[v] << 8 | (uint8_t)(away + 100));
			reach[ly->node_layer[i] - low] =
				MAX(reach[ly->node_layer[i] - low], (uint32_t)abs(away));
		}
		hash[ly->node_layer[i] - low] += hash_mix(h);
	}
	/* Arguments with nothing but a layer count too, and what is no part of a layer tells its reach
	 * by being read. */
	for (pval_id v = 0; v < p->vals.n; v++)
		if (ly->val_layer[v] != LAYER_NONE && p->vals.p[v].arg_index >= 0 &&
			(all || !f->val_held[v]))
			hash[ly->val_layer[v] - low] += hash_mix(val_head[v]);
	free(node_head);
	free(val_head);
}

static void layer_range(const finder *f, bool all, int32_t *low, int32_t *high)
{
	*low = INT32_MAX;
	*high = INT32_MIN + 1;
	for (node_id n = 0; n < f->p->nodes.n; n++)
		if (f->ly->node_layer[n] != LAYER_NONE && (all || !f->node_held[n])) {
			*low = MIN(*low, f->ly->node_layer[n]);
			*high = MAX(*high, f->ly->node_layer[n]);
		}
	for (pval_id v = 0; v < f->p->vals.n; v++)
		if (f->ly->val_layer[v] != LAYER_NONE && (all || !f->val_held[v])) {
			*low = MIN(*low, f->ly->val_layer[v]);
			*high = MAX(*high, f->ly->val_layer[v]);
		}
}

/* The longest run of layers that look the same: of all stacks, or of the one that was grown last.
 */
static void find_run(finder *f, bool all)
{
	layering *ly = f->ly;
	int32_t low, high;
	ly->first = 0;
	ly->last = -1;
	layer_range(f, all, &low, &high);
	if (high <= low)
		return;
	uint32_t n = (uint32_t)(high - low) + 1, best = 0;
	uint64_t *hash = xcalloc(n, sizeof *hash);
	uint32_t *reach = xcalloc(n, sizeof *reach);
	hash_layers(f, all, low, hash, reach);
	for (uint32_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && hash[to] == hash[from];)
			to++;
		if (to - from <= best || reach[from] > MAX_REACH)
			continue;
		best = to - from;
		ly->first = low + (int32_t)from;
		ly->last = low + (int32_t)to - 1;
		ly->reach = MAX(reach[from], 1);
	}
	free(hash);
	free(reach);
}

/* ---------------------------------------------------------------- guesses */

/* How a node and its surroundings look, so many steps around. */
static uint64_t *colour_nodes(const finder *f)
{
	const program *p = f->p;
	uint64_t *of_val = xmalloc((p->vals.n + 1) * sizeof *of_val),
			 *next = xmalloc((p->vals.n + 1) * sizeof *next);
	uint64_t *of_node = xcalloc(p->nodes.n + 1, sizeof *of_node);
	for (pval_id v = 0; v < p->vals.n; v++)
		of_val[v] = hash_mix(p->vals.p[v].type + 1);
	for (int round = 0; round < RADIUS; round++) {
		memcpy(next, of_val, p->vals.n * sizeof *next);
		for (node_id i = 0; i < p->nodes.n; i++) {
			const node *n = &p->nodes.p[i];
			if (n->dead || n->kind == NODE_TERMINATOR || n->kind == NODE_RESULT)
				continue;
			uint64_t h = f->looks[i];
			for (uint32_t k = 0; k < (uint32_t)n->n_operands + n->n_results; k++)
				h = hash_combine(h, of_val[p->slots.p[n->slots + k]]);
			of_node[i] = h;
			for (uint32_t k = 0; k < (uint32_t)n->n_operands + n->n_results; k++)
				next[p->slots.p[n->slots + k]] += hash_combine(h, k);
		}
		for (pval_id v = 0; v < p->vals.n; v++)
			of_val[v] = hash_mix(next[v]);
	}
	free(of_val);
	free(next);
	return of_node;
}

typedef struct coloured {
	uint64_t colour;
	node_id node;
} coloured;

static int by_colour(const void *a, const void *b)
{
	const coloured *x = a, *y = b;
	if (x->colour != y->colour)
		return x->colour < y->colour ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

typedef struct guess {
	uint32_t size, nodes; /* of the colour; nodes in all colours of this size */
	node_id a, b;
} guess;

static int by_nodes(const void *a, const void *b)
{
	const guess *x = a, *y = b;
	if (x->nodes != y->nodes)
		return x->nodes > y->nodes ? -1 : 1;
	return x->size > y->size ? -1 : x->size < y->size;
}

/* One guess per size of colours, its two middle ops; the sizes that cover most nodes first. Returns
 * how many. */
static uint32_t list_guesses(const finder *f, const uint64_t *colour, guess *out)
{
	enum { MAX_SIZES = 512 };
	coloured *list = xmalloc((f->p->nodes.n + 1) * sizeof *list);
	guess *sizes = xmalloc(MAX_SIZES * sizeof *sizes);
	uint32_t n = 0, n_sizes = 0;
	for (node_id i = 0; i < f->p->nodes.n; i++)
		if (colour[i] && f->unit[i] == i && !f->node_held[i] &&
			(f->p->nodes.p[i].n_results != 1 ||
				!layers_is_number(
					f->p, f->p->slots.p[f->p->nodes.p[i].slots + f->p->nodes.p[i].n_operands])))
			list[n++] = (coloured){colour[i], i};
	qsort(list, n, sizeof *list, by_colour);
	for (uint32_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && list[to].colour == list[from].colour;)
			to++;
		uint32_t size = to - from, s = 0;
		if (size < MIN_LAYERS / 2)
			continue;
		while (s < n_sizes && sizes[s].size != size)
			s++;
		if (s == MAX_SIZES)
			continue;
		node_id a = list[from + size / 2 - 1].node;
		if (s == n_sizes)
			sizes[n_sizes++] = (guess){size, 0, a, list[from + size / 2].node};
		sizes[s].nodes += size;
		if (a <
			sizes[s].a) { /* colours are hashes: take the earliest op, so that they order nothing */
			sizes[s].a = a;
			sizes[s].b = list[from + size / 2].node;
		}
	}
	qsort(sizes, n_sizes, sizeof *sizes, by_nodes);
	n_sizes = MIN(n_sizes, (uint32_t)MAX_GUESSES);
	memcpy(out, sizes, n_sizes * sizeof *out);
	free(list);
	free(sizes);
	return n_sizes;
}

static uint32_t nodes_between(const finder *f, bool all)
{
	uint32_t n = 0;
	for (node_id i = 0; i < f->p->nodes.n; i++)
		n += f->ly->node_layer[i] != LAYER_NONE && (all || !f->node_held[i]) &&
			f->ly->node_layer[i] >= f->ly->first && f->ly->node_layer[i] <= f->ly->last;
	return n;
}

static bool is_summed_on(const finder *f, node_id n)
{
	const program *p = f->p;
	const pval *v = &p->vals.p[p->slots.p[p->nodes.p[n].slots + p->nodes.p[n].n_operands]];
	for (uint32_t u = v->uses; u < v->uses + v->n_uses; u++)
		if (f->ly->node_layer[p->slot_node.p[p->uses.p[u]]] != LAYER_NONE &&
			layers_is_scalar_op(p, p->slot_node.p[p->uses.p[u]]))
			return true;
	return false;
}

/* What ends a sum over all layers often looks like a step of it, and all layers refer to it: it is
 * of none. */
static void drop_outer_sums(finder *f)
{
	layering *ly = f->ly;
	for (node_id n = f->p->nodes.n; n-- > 0;) {
		if (ly->node_layer[n] == LAYER_NONE ||
			(ly->node_layer[n] >= ly->first && ly->node_layer[n] <= ly->last) ||
			!layers_is_scalar_op(f->p, n) || is_summed_on(f, n))
			continue;
		node_id next = ly->node_next[n], before = f->node_before[n];
		if (next != ID_NONE)
			f->node_before[next] = ID_NONE;
		if (before != ID_NONE)
			ly->node_next[before] = ID_NONE;
		ly->node_next[n] = f->node_before[n] = ID_NONE;
		ly->node_layer[n] = LAYER_NONE;
	}
	layers_drop_orphans(f);
}

/* Grows the most layers that a guess among what is in none leads to. Returns how many nodes are in
 * those that look the same. */
static uint32_t grow_best(finder *f, const uint64_t *colour)
{
	guess guesses[MAX_GUESSES], chosen = {0};
	uint32_t n = list_guesses(f, colour, guesses), best = 0;
	for (uint32_t g = 0; g < n; g++) {
		layers_grow(f, guesses[g].a, guesses[g].b);
		find_run(f, false);
		uint32_t share = f->ly->last - f->ly->first + 1 >= MIN_LAYERS ? nodes_between(f, false) : 0;
		/* A guess that skips layers finds fewer and larger ones. */
		if (share > best || (share && share + share / 8 > best && f->grown > chosen.nodes)) {
			best = MAX(best, share);
			chosen = (guess){.nodes = f->grown, .a = guesses[g].a, .b = guesses[g].b};
		}
	}
	if (best * STACK_SHARE < f->p->nodes.n || !best)
		return 0;
	layers_grow(f, chosen.a, chosen.b);
	find_run(f, false);
	return best;
}

static void shift_grown(finder *f, int32_t by)
{
	for (node_id n = 0; n < f->p->nodes.n; n++)
		if (!f->node_held[n] && f->ly->node_layer[n] != LAYER_NONE)
			f->ly->node_layer[n] += by;
	for (pval_id v = 0; v < f->p->vals.n; v++)
		if (!f->val_held[v] && f->ly->val_layer[v] != LAYER_NONE)
			f->ly->val_layer[v] += by;
}

static uint32_t count_layer(const finder *f, int32_t layer)
{
	uint32_t n = 0;
	for (node_id i = 0; i < f->p->nodes.n; i++)
		n += !f->node_held[i] && f->ly->node_layer[i] == layer;
	return n;
}

/* Chains go on beyond the first and last layers of their stack where something looks like a part of
 * one more. That is left to other stacks. */
static void find_ends(const finder *f, int32_t *low, int32_t *high)
{
	uint32_t size = count_layer(f, f->ly->first);
	*low = f->ly->first;
	*high = f->ly->last;
	while (2 * count_layer(f, *low - 1) >= size)
		(*low)--;
	while (2 * count_layer(f, *high + 1) >= size)
		(*high)++;
}

static void hold_links(uint32_t n, const bool *held, uint32_t *next, uint32_t *before)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!held[i])
			continue;
		if (next[i] != ID_NONE && !held[next[i]])
			next[i] = ID_NONE;
		if (before[i] != ID_NONE && !held[before[i]])
			before[i] = ID_NONE;
	}
}

/* What was grown last is a stack. low, high: of its layers, as they were numbered then. */
static void hold_grown(finder *f, int32_t low, int32_t high)
{
	const program *p = f->p;
	const layering *ly = f->ly;
	for (node_id n = 0; n < p->nodes.n; n++)
		f->node_held[n] |= ly->node_layer[n] >= low && ly->node_layer[n] <= high;
	for (pval_id v = 0; v < p->vals.n; v++)
		f->val_held[v] |= ly->val_layer[v] >= low && ly->val_layer[v] <= high &&
			(p->vals.p[v].def == ID_NONE || f->node_held[p->vals.p[v].def]);
	hold_links(p->nodes.n, f->node_held, f->ly->node_next, f->node_before);
	hold_links(p->vals.n, f->val_held, f->ly->val_next, f->val_before);
}

static uint32_t count_free(const finder *f)
{
	uint32_t n = 0;
	for (node_id i = 0; i < f->p->nodes.n; i++)
		n += f->ly->node_layer[i] == LAYER_NONE;
	return n;
}

/* Puts one stack after the other beside those before, as long as more nodes are in layers that look
 * the same. Returns how many are. */
static uint32_t find_stacks(finder *f)
{
	layering *ly = f->ly, kept = *ly;
	uint64_t *colour = colour_nodes(f);
	uint32_t found = 0;
	for (int stack = 0; stack < MAX_STACKS && grow_best(f, colour); stack++) {
		int32_t low, high, by = stack ? kept.first - ly->first : 0;
		find_ends(f, &low, &high);
		shift_grown(f, by);
		find_run(f, true);
		uint32_t now = ly->last - ly->first + 1 >= MIN_LAYERS ? nodes_between(f, true) : 0;
		if (now <= found)
			break;
		found = now;
		kept = *ly;
		if (count_free(f) * STACK_SHARE < f->p->nodes.n) {
			low = INT32_MIN + 1;
			high = INT32_MAX;
			by = 0;
		}
		hold_grown(f, low + by, high + by);
		if (high == INT32_MAX)
			break;
	}
	layers_clear(f);
	*ly = kept;
	free(colour);
	return found;
}

static void finder_init(finder *f, const program *p, layering *out)
{
	uint32_t nn = p->nodes.n + 1, nv = p->vals.n + 1;
	*out = (layering){.node_layer = xmalloc(nn * sizeof(int32_t)),
		.val_layer = xmalloc(nv * sizeof(int32_t)),
		.node_next = xmalloc(nn * sizeof(node_id)),
		.val_next = xmalloc(nv * sizeof(pval_id)),
		.last = -1};
	*f = (finder){.p = p,
		.ly = out,
		.looks = xmalloc(nn * sizeof(uint64_t)),
		.node_before = xmalloc(nn * sizeof(node_id)),
		.val_before = xmalloc(nv * sizeof(pval_id)),
		.node_held = xcalloc(nn, sizeof(bool)),
		.val_held = xcalloc(nv, sizeof(bool)),
		.unit = xmalloc(nn * sizeof(node_id)),
		.unit_end = xmalloc(nn * sizeof(node_id))};
	layers_find_units(f);
	layers_look(f);
}

static void finder_release(finder *f)
{
	free(f->looks);
	free(f->unit);
	free(f->unit_end);
	free(f->node_before);
	free(f->val_before);
	free(f->node_held);
	free(f->val_held);
	vec_release(&f->todo);
	vec_release(&f->later);
}

bool layers_find(const program *p, layering *out)
{
	finder f;
	*out = (layering){.last = -1};
	if (p->group_members.n || p->manual_edges.n || p->main_first != 0 || p->main_end != p->nodes.n)
		return false;
	finder_init(&f, p, out);
	uint32_t found = find_stacks(&f);
	bool enough = found && found * MIN_SHARE >= p->nodes.n;
	if (enough)
		drop_outer_sums(&f);
	finder_release(&f);
	if (!enough)
		layers_release(out);
	return enough;
}

void layers_release(layering *ly)
{
	free(ly->node_layer);
	free(ly->val_layer);
	free(ly->node_next);
	free(ly->val_next);
	*ly = (layering){.last = -1};
}
