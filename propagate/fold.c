/* The folded program: layers in the middle are left out, and what read a layer that is gone reads
 * the one that took its place. The layers that are kept next to each other read each other just as
 * neighbours do everywhere else, so nothing that works op by op can tell the difference. */
#include "propagate/program_internal.h"

#include <stdlib.h>

typedef struct folder {
	const program *from;
	program *to;
	folding *f;
	layering ly;
	node_id *node_before, *node_to; /* node_to: in the folded program; of a layer left out, its
	                                   counterpart in `middle` */
	pval_id *val_before;
	int32_t low, middle, skip; /* layers (middle, middle + skip] are left out */
	bool tight, failed;
} folder;

static bool is_left_out(const folder *x, int32_t layer)
{
	return layer != LAYER_NONE && layer > x->middle && layer <= x->middle + x->skip;
}

static int32_t layer_of_val(const folder *x, pval_id v)
{
	node_id def = x->from->vals.p[v].def;
	return def == ID_NONE ? x->ly.val_layer[v] : x->ly.node_layer[def];
}

/* Where a value is there first: that of an edge with the op whose results and arguments it stands
 * for. */
static node_id first_seen(const program *p, node_id def)
{
	if (p->nodes.p[def].kind != NODE_EDGE)
		return def;
	const ir_value *owner = value_at(p->m, op_operand(p->m, p->nodes.p[def].op, 0));
	return p->node_of[owner->is_arg ? p->m->regions.p[owner->def].parent : owner->def];
}

/* An edge that nothing behind a loop uses is dead, but not its value inside. */
static bool is_dead_val(const folder *x, pval_id v)
{
	node_id def = x->from->vals.p[v].def;
	return def != ID_NONE && x->from->nodes.p[def].dead &&
		x->from->nodes.p[first_seen(x->from, def)].dead;
}

static int32_t new_layer(const folder *x, int32_t layer)
{
	return layer == LAYER_NONE ? LAYER_NONE
							   : layer - x->low -
			(layer > x->middle + x->skip    ? x->skip
					: is_left_out(x, layer) ? layer - x->middle
											: 0);
}

/* Where a chain of counterparts arrives after `skip` steps from a layer left out, on the side of
 * `layer`. */
static uint32_t step_out(
	folder *x, uint32_t id, const uint32_t *next, const uint32_t *before, int32_t layer)
{
	for (int32_t i = 0; i < x->skip && id != ID_NONE; i++)
		id = layer <= x->middle ? next[id] : before[id];
	x->failed |= id == ID_NONE;
	return id;
}

/* Layers add to a sum of scalars in any order. Where one that is left out did, the sum is what it
 * was before: what the ops that are kept see is the sum that they alone make, in the order in which
 * they stand. ID_NONE: v is not such a sum. */
static pval_id sum_before(const folder *x, pval_id v)
{
	const program *p = x->from;
	while (is_left_out(x, layer_of_val(x, v))) {
		node_id def = p->vals.p[v].def;
		pval_id sum = ID_NONE;
		if (def == ID_NONE || !layers_is_scalar_op(p, def))
			return ID_NONE;
		for (uint32_t k = 0; k < p->nodes.p[def].n_operands; k++) {
			pval_id from = p->slots.p[p->nodes.p[def].slots + k];
			node_id maker = p->vals.p[from].def;
			if (maker == ID_NONE || layers_is_number(p, from) || !layers_is_scalar_op(p, maker))
				continue;
			if (sum != ID_NONE)
				return ID_NONE;
			sum = from;
		}
		if (sum == ID_NONE)
			return ID_NONE;
		v = sum;
	}
	return v;
}

/* What stands for a value where something of that layer reads it. */
static pval_id seen_from(folder *x, pval_id v, int32_t layer)
{
	if (!is_left_out(x, layer_of_val(x, v)))
		return v;
	if (layer == LAYER_NONE) {
		x->failed = true;
		return ID_NONE;
	}
	return step_out(x, v, x->ly.val_next, x->val_before, layer);
}

/* Of the numbers that counterparts of layers that look the same read, all read the one that stands
 * first in the program. */
static pval_id common_number(const folder *x, node_id i, uint32_t k, pval_id v)
{
	const program *p = x->from;
	const layering *ly = &x->ly;
	if (ly->node_layer[i] < ly->first || ly->node_layer[i] > ly->last || !layers_is_number(p, v))
		return v;
	while (x->node_before[i] != ID_NONE && ly->node_layer[x->node_before[i]] >= ly->first)
		i = x->node_before[i];
	for (; i != ID_NONE && ly->node_layer[i] <= ly->last; i = ly->node_next[i]) {
		pval_id other = p->slots.p[p->nodes.p[i].slots + k];
		if (layers_is_number(p, other) && p->vals.p[other].def < p->vals.p[v].def)
			v = other;
	}
	return v;
}

/* ---------------------------------------------------------------- numbering */

static void find_before(folder *x)
{
	for (node_id n = 0; n < x->from->nodes.n; n++)
		x->node_before[n] = ID_NONE;
	for (pval_id v = 0; v < x->from->vals.n; v++)
		x->val_before[v] = ID_NONE;
	for (node_id n = 0; n < x->from->nodes.n; n++)
		if (x->ly.node_next[n] != ID_NONE)
			x->node_before[x->ly.node_next[n]] = n;
	for (pval_id v = 0; v < x->from->vals.n; v++)
		if (x->ly.val_next[v] != ID_NONE)
			x->val_before[x->ly.val_next[v]] = v;
}

static uint32_t layer_size(const folder *x, int32_t layer)
{
	uint32_t n = 0;
	for (node_id i = 0; i < x->from->nodes.n; i++)
		n += x->ly.node_layer[i] == layer;
	return n;
}

/* Around `middle` as many layers as can see each other are kept on both sides, and one more at
 * either end, where what comes before the first and after the last layer still shows. A layer that
 * is not quite like the others is often there already: at the last one, and when it is to be tight
 * also at the first. */
static void choose_layers(folder *x)
{
	x->low = x->ly.first;
	for (node_id n = 0; n < x->from->nodes.n; n++)
		if (x->ly.node_layer[n] != LAYER_NONE)
			x->low = MIN(x->low, x->ly.node_layer[n]);
	for (pval_id v = 0; v < x->from->vals.n; v++)
		if (x->ly.val_layer[v] != LAYER_NONE)
			x->low = MIN(x->low, x->ly.val_layer[v]);
	uint32_t size = layer_size(x, x->ly.first);
	int32_t reach = (int32_t)x->ly.reach;
	x->f->tight = x->tight && 2 * layer_size(x, x->ly.first - 1) >= size;
	x->middle = x->ly.first + reach + !x->f->tight;
	x->skip = x->ly.last - reach - (2 * layer_size(x, x->ly.last + 1) < size) - x->middle;
}

static void number_nodes(folder *x)
{
	node_id n = 0;
	for (node_id i = 0; i < x->from->nodes.n; i++)
		x->node_to[i] =
			x->from->nodes.p[i].dead || is_left_out(x, x->ly.node_layer[i]) ? ID_NONE : n++;
	/* counterparts in `middle` of what is left out: along the chains, whatever way they run through
	 * the program */
	for (node_id i = 0; i < x->from->nodes.n; i++) {
		if (x->ly.node_layer[i] != x->middle || x->from->nodes.p[i].dead)
			continue;
		node_id k = x->ly.node_next[i];
		for (int32_t s = 0; s < x->skip && k != ID_NONE; s++, k = x->ly.node_next[k])
			x->node_to[k] = x->node_to[i];
	}
	for (node_id i = 0; i < x->from->nodes.n; i++)
		x->failed |= x->node_to[i] == ID_NONE && !x->from->nodes.p[i].dead;
}

static void number_vals(folder *x)
{
	folding *f = x->f;
	pval_id n = 0;
	for (pval_id v = 0; v < x->from->vals.n; v++) {
		f->val_of[v] = is_dead_val(x, v) || is_left_out(x, layer_of_val(x, v)) ? ID_NONE : n;
		if (f->val_of[v] != ID_NONE)
			f->val_origin[n++] = v;
	}
	for (pval_id v = 0; v < x->from->vals.n; v++) {
		if (layer_of_val(x, v) != x->middle || f->val_of[v] == ID_NONE)
			continue;
		pval_id k = x->ly.val_next[v];
		for (int32_t s = 0; s < x->skip && k != ID_NONE; s++, k = x->ly.val_next[k])
			f->val_of[k] = f->val_of[v];
	}
	for (pval_id v = 0; v < x->from->vals.n; v++)
		x->failed |= f->val_of[v] == ID_NONE && !is_dead_val(x, v);
}

/* ---------------------------------------------------------------- copying */

static void copy_slots(folder *x, node_id i, node *to)
{
	const node *n = &x->from->nodes.p[i];
	int32_t layer = x->ly.node_layer[i];
	bool returns = n->kind == NODE_TERMINATOR && n->parent == ID_NONE;
	to->slots = x->to->slots.n;
	for (uint32_t k = 0; k < (uint32_t)n->n_operands + n->n_results; k++) {
		pval_id v = x->from->slots.p[n->slots + k];
		if (returns && is_left_out(x, layer_of_val(x, v))) {
			to->n_operands--;
			continue;
		}
		v = k < n->n_operands ? common_number(x, i, k, v) : v;
		pval_id sum =
			k < n->n_operands && is_left_out(x, layer_of_val(x, v)) ? sum_before(x, v) : ID_NONE;
		v = sum != ID_NONE ? sum : seen_from(x, v, layer);
		node_id def = x->failed ? ID_NONE : x->from->vals.p[v].def;
		/* what an op reads must still stand before it */
		x->failed |= def != ID_NONE && k < n->n_operands && n->kind != NODE_EDGE &&
			first_seen(x->from, def) >= i;
		if (x->failed || is_dead_val(x, v)) {
			x->failed = true;
			return;
		}
		vec_push(&x->to->slots, x->f->val_of[v]);
		vec_push(&x->to->slot_node, x->node_to[i]);
		vec_push(&x->to->slot_value, x->from->vals.p[v].value);
	}
}

static void copy_nodes(folder *x)
{
	const program *p = x->from;
	for (node_id i = 0; i < p->nodes.n && !x->failed; i++) {
		if (p->nodes.p[i].dead || is_left_out(x, x->ly.node_layer[i]))
			continue;
		node n = p->nodes.p[i];
		n.parent = n.parent == ID_NONE ? ID_NONE : x->node_to[n.parent];
		n.end = x->to->nodes.n + 1;
		for (node_id k = i + 1; k < p->nodes.p[i].end; k++) /* its body is in the same layer */
			n.end += !p->nodes.p[k].dead;
		x->f->node_layer[x->to->nodes.n] = new_layer(x, x->ly.node_layer[i]);
		copy_slots(x, i, &n);
		vec_push(&x->to->nodes, n);
	}
	x->to->main_end = x->to->nodes.n;
	for (node_id i = 0; i < p->nodes.n && !x->failed; i++) {
		node_id k = x->ly.node_next[i];
		if (p->nodes.p[i].dead || is_left_out(x, x->ly.node_layer[i]))
			continue;
		if (k != ID_NONE && x->ly.node_layer[i] == x->middle)
			k = step_out(x, k, x->ly.node_next, x->node_before, x->middle);
		x->f->node_next[x->node_to[i]] = k == ID_NONE ? ID_NONE : x->node_to[k];
	}
}

/* The nodes that see a change of v, as they are numbered now. */
static void copy_watchers(folder *x, pval_id v, pval *to)
{
	const pval *from = &x->from->vals.p[v];
	int32_t layer = layer_of_val(x, v);
	to->notify = x->to->notify.n;
	to->n_notify = 0;
	for (uint32_t i = 0; i < from->n_touch; i++) {
		node_id n = x->from->notify.p[from->notify + i];
		if (i == from->n_notify)
			to->n_notify = x->to->notify.n - to->notify;
		if (x->from->nodes.p[n].dead)
			continue;
		if (is_left_out(x, x->ly.node_layer[n])) {
			if (layer == LAYER_NONE)
				continue;
			n = step_out(x, n, x->ly.node_next, x->node_before, layer);
			if (x->failed)
				return;
		}
		vec_push(&x->to->notify, x->node_to[n]);
	}
	to->n_touch = x->to->notify.n - to->notify;
	if (from->n_notify == from->n_touch)
		to->n_notify = to->n_touch;
}

static pval_id next_val(folder *x, pval_id v)
{
	pval_id k = x->ly.val_next[v];
	if (k != ID_NONE && layer_of_val(x, v) == x->middle)
		k = step_out(x, k, x->ly.val_next, x->val_before, x->middle);
	return k == ID_NONE ? ID_NONE : x->f->val_of[k];
}

static void copy_vals(folder *x)
{
	const program *p = x->from;
	for (pval_id v = 0; v < p->vals.n && !x->failed; v++) {
		if (is_dead_val(x, v) || is_left_out(x, layer_of_val(x, v)))
			continue;
		pval to = p->vals.p[v];
		if (to.def != ID_NONE)
			to.def = x->node_to[to.def];
		if (to.arg_index >= 0)
			to.arg_index = (int32_t)x->to->args.n;
		to.uses = to.n_uses = 0;
		x->f->val_layer[x->to->vals.n] = new_layer(x, layer_of_val(x, v));
		x->f->val_next[x->to->vals.n] = next_val(x, v);
		copy_watchers(x, v, &to);
		if (to.arg_index >= 0)
			vec_push(&x->to->args, x->to->vals.n);
		vec_push(&x->to->vals, to);
	}
	for (uint32_t i = 0; i < p->results.n && !x->failed; i++) {
		pval_id v = p->results.p[i];
		if (is_left_out(x, layer_of_val(x, v)))
			continue;
		pval_id returned = seen_from(x, p->returned.p[i], layer_of_val(x, v));
		if (returned == ID_NONE)
			return;
		x->to->vals.p[x->f->val_of[v]].result_index = (int32_t)x->to->results.n;
		vec_push(&x->to->results, x->f->val_of[v]);
		vec_push(&x->to->returned, x->f->val_of[returned]);
	}
}

/* ---------------------------------------------------------------- blocks */

typedef struct cutter {
	node_id *alive, *place; /* nodes that are not dead, in order; by node: its place there */
	bool *cut;              /* by place: a block begins */
	VEC(uint32_t) todo;
	uint32_t n;
} cutter;

static void add_cut(cutter *c, uint32_t at)
{
	if (at >= c->n || c->cut[at])
		return;
	c->cut[at] = true;
	vec_push(&c->todo, at);
}

/* Do counterparts of two neighbours stand next to each other too? */
static bool stay_together(const cutter *c, const node_id *to, node_id a, node_id b)
{
	return to[a] == ID_NONE ? to[b] == ID_NONE
							: to[b] != ID_NONE && c->place[to[b]] == c->place[to[a]] + 1;
}

/* Blocks are stretches of one layer whose counterparts are stretches too: where one begins, one
 * begins in every layer. */
static void find_cuts(const folder *x, cutter *c)
{
	uint32_t n = x->from->nodes.n;
	*c = (cutter){.alive = xmalloc((n + 1) * sizeof *c->alive),
		.place = xmalloc((n + 1) * sizeof *c->place),
		.cut = xcalloc(n + 1, 1)};
	for (node_id i = 0; i < n; i++) {
		c->place[i] = c->n;
		if (!x->from->nodes.p[i].dead)
			c->alive[c->n++] = i;
	}
	for (uint32_t k = 0; k < c->n; k++) {
		node_id a = k ? c->alive[k - 1] : ID_NONE, b = c->alive[k];
		if (!k || x->ly.node_layer[a] != x->ly.node_layer[b] ||
			!stay_together(c, x->ly.node_next, a, b) || !stay_together(c, x->node_before, a, b))
			add_cut(c, k);
	}
	while (c->todo.n) {
		node_id i = c->alive[vec_pop(&c->todo)];
		if (x->ly.node_next[i] != ID_NONE)
			add_cut(c, c->place[x->ly.node_next[i]]);
		if (x->node_before[i] != ID_NONE)
			add_cut(c, c->place[x->node_before[i]]);
	}
}

static void cut_blocks(folding *f, const folder *x)
{
	cutter c;
	find_cuts(x, &c);
	for (uint32_t k = 0; k < c.n; k++) {
		node_id i = c.alive[k], n = x->node_to[i];
		if (is_left_out(x, x->ly.node_layer[i]))
			continue;
		if (c.cut[k])
			vec_push(&f->blocks, (fold_block){.first = n, .end = n + 1, .layer = f->node_layer[n]});
		else
			f->blocks.p[f->blocks.n - 1].end = n + 1;
	}
	free(c.alive);
	free(c.place);
	free(c.cut);
	vec_release(&c.todo);
	/* A chain is named after the block of its first layer. */
	uint32_t *chain_at = xmalloc((f->p->nodes.n + 1) * sizeof *chain_at), chains = 0;
	for (node_id n = 0; n <= f->p->nodes.n; n++)
		chain_at[n] = ID_NONE;
	for (uint32_t b = 0; b < f->blocks.n; b++) {
		if (f->blocks.p[b].layer != LAYER_NONE && chain_at[f->blocks.p[b].first] != ID_NONE)
			continue;
		for (node_id n = f->blocks.p[b].first; n != ID_NONE; n = f->node_next[n])
			chain_at[n] = chains;
		chains++;
	}
	for (uint32_t b = 0; b < f->blocks.n; b++)
		f->blocks.p[b].chain = chain_at[f->blocks.p[b].first];
	free(chain_at);
}

/* Around the middle, blocks of one chain are the same nodes in the same order. */
static bool blocks_agree(const folding *f)
{
	int32_t from = f->middle - (int32_t)f->reach, to = f->middle + (int32_t)f->reach;
	uint32_t *block_at = xmalloc((f->p->nodes.n + 1) * sizeof *block_at);
	bool agree = from >= 0;
	for (uint32_t b = 0; b < f->blocks.n; b++)
		for (node_id n = f->blocks.p[b].first; n < f->blocks.p[b].end; n++)
			block_at[n] = b;
	for (uint32_t b = 0; b < f->blocks.n && agree; b++) {
		const fold_block *x = &f->blocks.p[b];
		if (x->layer < from || x->layer >= to)
			continue;
		node_id next = f->node_next[x->first];
		agree = next != ID_NONE;
		if (!agree)
			break;
		const fold_block *y = &f->blocks.p[block_at[next]];
		agree =
			y->first == next && y->layer == x->layer + 1 && y->end - y->first == x->end - x->first;
		for (node_id n = x->first; n < x->end && agree; n++)
			agree = f->node_next[n] == y->first + (n - x->first);
	}
	free(block_at);
	return agree;
}

/* The full program as a row of blocks of the folded one. */
static bool find_order(folding *f, const folder *x)
{
	uint32_t b = 0;
	node_id expected = ID_NONE;
	uint32_t *first_of = xmalloc((f->p->nodes.n + 1) * sizeof *first_of);
	for (node_id n = 0; n <= f->p->nodes.n; n++)
		first_of[n] = ID_NONE;
	for (uint32_t i = 0; i < f->blocks.n; i++)
		first_of[f->blocks.p[i].first] = i;
	bool fits = true;
	for (node_id i = 0; i < x->from->nodes.n && fits; i++) {
		if (x->from->nodes.p[i].dead)
			continue;
		node_id n = x->node_to[i];
		int32_t layer = x->ly.node_layer[i];
		if (layer != LAYER_NONE)
			layer -= x->low;
		if (expected != ID_NONE) {
			fits = n == expected && layer == f->order_layer.p[f->order_layer.n - 1];
		} else {
			b = first_of[n];
			fits = b != ID_NONE;
			vec_push(&f->order, b);
			vec_push(&f->order_layer, layer);
		}
		if (fits)
			expected = n + 1 == f->blocks.p[b].end ? ID_NONE : n + 1;
	}
	free(first_of);
	return fits && expected == ID_NONE;
}

/* A chain as it stands in the full program: where its blocks of `middle` and of the layer behind it
 * are. */
typedef struct pass_chain {
	uint32_t chain;
	int32_t at, step;
} pass_chain;

static int by_place(const void *a, const void *b)
{
	const pass_chain *x = a, *y = b;
	return x->at != y->at     ? (x->at < y->at ? -1 : 1)
		: x->chain < y->chain ? -1
							  : x->chain > y->chain;
}

/* Chains of one pass follow each other within one layer. Two loops over all layers, such as one
 * over moments and one over updates, have equal steps, but the second begins when the first has
 * been through all layers. list has room for all chains; returns their passes. */
static int32_t *number_passes(pass_chain *list, uint32_t n, uint32_t chains)
{
	int32_t *pass = xcalloc(chains + 1, sizeof *pass), number = 0;
	qsort(list, n, sizeof *list, by_place);
	for (uint32_t i = 0, first = 0; i < n; i++) {
		if (!i || list[i].step != list[first].step ||
			list[i].at - list[first].at >= abs(list[first].step)) {
			first = i;
			number++;
		}
		pass[list[i].chain] = number;
	}
	return pass;
}

/* folding.node_pass: from the places of `middle` and the layer behind it in the full program. */
static void find_passes(folding *f, const folder *x)
{
	uint32_t chains = 0, n = 0;
	for (uint32_t b = 0; b < f->blocks.n; b++)
		chains = MAX(chains, f->blocks.p[b].chain + 1);
	pass_chain *list = xmalloc((chains + 1) * sizeof *list);
	uint32_t *at = xmalloc((chains + 1) * sizeof *at);
	memset(at, 0xff, (chains + 1) * sizeof *at);
	for (uint32_t i = 0; i < f->order.n; i++)
		if (f->order_layer.p[i] == f->middle)
			at[f->blocks.p[f->order.p[i]].chain] = i;
	for (uint32_t i = 0; i < f->order.n; i++) {
		uint32_t chain = f->blocks.p[f->order.p[i]].chain;
		if (f->order_layer.p[i] == f->middle + 1 && at[chain] != ID_NONE)
			list[n++] = (pass_chain){chain, (int32_t)at[chain], (int32_t)i - (int32_t)at[chain]};
	}
	int32_t *pass = number_passes(list, n, chains);
	f->node_pass = xcalloc(f->p->nodes.n + 1, sizeof *f->node_pass);
	f->full_pass = xcalloc(f->full->nodes.n + 1, sizeof *f->full_pass);
	for (uint32_t b = 0; b < f->blocks.n; b++)
		for (node_id k = f->blocks.p[b].first; k < f->blocks.p[b].end; k++)
			f->node_pass[k] = f->blocks.p[b].layer == LAYER_NONE ? 0 : pass[f->blocks.p[b].chain];
	for (node_id k = 0; k < f->full->nodes.n; k++)
		if (x->node_to[k] != ID_NONE)
			f->full_pass[k] = f->node_pass[x->node_to[k]];
	free(list);
	free(at);
	free(pass);
}

/* ---------------------------------------------------------------- all of it */

/* Arguments of regions are looked up by their values in the module. */
static void map_values(folder *x)
{
	uint32_t n = x->from->m->values.n;
	x->to->pval_of = xmalloc((n + 1) * sizeof *x->to->pval_of);
	for (value_id v = 0; v < n; v++) {
		pval_id full = x->from->pval_of[v];
		x->to->pval_of[v] = full == ID_NONE ? ID_NONE : x->f->val_of[full];
	}
}

static void map_io(folding *f)
{
	const program *p = f->full;
	f->arg_of = xmalloc((p->args.n + 1) * sizeof *f->arg_of);
	f->result_of = xmalloc((p->results.n + 1) * sizeof *f->result_of);
	for (uint32_t i = 0; i < p->args.n; i++)
		f->arg_of[i] = (uint32_t)f->p->vals.p[f->val_of[p->args.p[i]]].arg_index;
	for (uint32_t i = 0; i < p->results.n; i++)
		f->result_of[i] = (uint32_t)f->p->vals.p[f->val_of[p->results.p[i]]].result_index;
}

static void build(folder *x)
{
	folding *f = x->f;
	uint32_t nn = x->from->nodes.n + 1, nv = x->from->vals.n + 1;
	find_before(x);
	choose_layers(x);
	x->failed = x->skip < 1;
	f->val_of = xmalloc(nv * sizeof *f->val_of);
	f->val_origin = xmalloc(nv * sizeof *f->val_origin);
	f->val_layer = xmalloc(nv * sizeof *f->val_layer);
	f->val_next = xmalloc(nv * sizeof *f->val_next);
	f->val_before = xmalloc(nv * sizeof *f->val_before);
	f->node_layer = xmalloc(nn * sizeof *f->node_layer);
	f->node_next = xmalloc(nn * sizeof *f->node_next);
	if (!x->failed)
		number_nodes(x);
	if (!x->failed)
		number_vals(x);
	if (!x->failed)
		copy_nodes(x);
	if (!x->failed)
		copy_vals(x);
	if (x->failed)
		return;
	for (pval_id v = 0; v < x->to->vals.n; v++)
		f->val_before[v] = ID_NONE;
	for (pval_id v = 0; v < x->to->vals.n; v++)
		if (f->val_next[v] != ID_NONE)
			f->val_before[f->val_next[v]] = v;
	program_link_uses(x->to);
	map_values(x);
	map_io(f);
	f->middle = x->middle - x->low;
	f->copies = (uint32_t)x->skip;
	f->reach = x->ly.reach;
	for (node_id n = 0; n < x->to->nodes.n; n++)
		if (f->node_layer[n] != LAYER_NONE)
			f->n_layers = MAX(f->n_layers, (uint32_t)f->node_layer[n] + 1);
	cut_blocks(f, x);
	fold_find_band(f);
	fold_find_slices(f, &x->ly);
	x->failed = !blocks_agree(f) || !find_order(f, x);
	if (!x->failed)
		find_passes(f, x);
}

folding *folding_of(const program *full, const layering *ly, bool tight)
{
	folder x = {.from = full, .ly = *ly, .tight = tight};
	x.f = xcalloc(1, sizeof *x.f);
	x.to = xcalloc(1, sizeof *x.to);
	*x.to = (program){.m = full->m, .rules = full->rules, .mesh = full->mesh};
	*x.f = (folding){.full = full, .p = x.to};
	x.node_before = xmalloc((full->nodes.n + 1) * sizeof *x.node_before);
	x.node_to = xmalloc((full->nodes.n + 1) * sizeof *x.node_to);
	x.val_before = xmalloc((full->vals.n + 1) * sizeof *x.val_before);
	build(&x);
	free(x.node_before);
	free(x.node_to);
	free(x.val_before);
	if (!x.failed)
		return x.f;
	folding_free(x.f);
	return NULL;
}

folding *folding_new(const program *full, bool tight)
{
	layering ly;
	if (!layers_find(full, &ly))
		return NULL;
	folding *f = folding_of(full, &ly, tight);
	layers_release(&ly);
	return f;
}

void folding_free(folding *f)
{
	if (!f)
		return;
	program_free(f->p);
	free(f->val_of);
	free(f->val_origin);
	free(f->val_layer);
	free(f->val_next);
	free(f->val_before);
	free(f->node_layer);
	free(f->node_next);
	free(f->node_pass);
	free(f->full_pass);
	free(f->arg_of);
	free(f->band_of);
	free(f->band_name);
	free(f->cut_apart);
	free(f->result_of);
	vec_release(&f->blocks);
	vec_release(&f->order);
	vec_release(&f->order_layer);
	free(f);
}
