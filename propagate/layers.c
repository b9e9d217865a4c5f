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
#include "propagate/program_internal.h"

#include <stdlib.h>

enum {
	RADIUS = 3,
	MIN_LAYERS = 6,
	MAX_GUESSES = 6,
	MIN_SHARE = 4,   /* layers hold at least 1/4 of all nodes */
	STACK_SHARE = 8, /* each stack of them at least that */
	MAX_STACKS = 4
};

typedef struct finder {
	const program *p;
	uint64_t *looks; /* by node: all that decides how it is propagated, lowered and costed, operands
	                    apart */
	node_id *unit, *unit_end; /* by node: the first of the unit it is in; by first of a unit: behind
	                             its last */
	layering *ly;
	node_id *node_before;
	pval_id *val_before;
	bool *node_held, *val_held; /* in layers of a stack that was found before */
	VEC(node_id)
	todo; /* nodes whose pair has not been followed yet; then chains whose neighbours have no layer
	         yet */
	VEC(node_id)
	later; /* nodes that read results of scalar ops, which are followed when nothing else is left */
	uint32_t grown;
} finder;

/* ---------------------------------------------------------------- how an op looks */

static uint64_t hash_attr(const module *m, attr_id id)
{
	if (id == ID_NONE)
		return 1;
	const attr *a = attr_get(m, id);
	uint64_t h = hash_combine(a->kind * 2 + a->splat, (uint64_t)a->i);
	h = hash_combine(h, a->type);
	if (a->text.n)
		h = hash_bytes(a->text.p, a->text.n, h);
	if (a->word.n)
		h = hash_bytes(a->word.p, a->word.n, h);
	for (uint32_t i = 0; i < a->n && a->ints && a->kind != ATTR_DENSE; i++)
		h = hash_combine(h, (uint64_t)a->ints[i]);
	for (uint32_t i = 0; i < a->n && a->children; i++)
		h = hash_combine(hash_combine(h, a->children[i].name), hash_attr(m, a->children[i].value));
	for (uint32_t i = 0; i < a->n && a->shardings; i++)
		h = hash_combine(h, a->shardings[i]);
	return h;
}

/* Layers take their parts out of what is stacked or split for all of them: where a slice begins
 * and ends says nothing, but for how much it takes, which is in its type (folding.cut_apart). */
static bool is_place(const module *m, const ir_op *op, named_attr a)
{
	str name = strtab_get(&m->strs, a.name);
	return op->kind == OP_SLICE &&
		(str_is(name, "start_indices") || str_is(name, "limit_indices"));
}

/* The value of a constant says nothing, but for whether it is one number. */
static uint64_t hash_op(const module *m, op_id o)
{
	const ir_op *op = op_at(m, o);
	uint64_t h = hash_combine(op->kind, op->name);
	bool constant = op->kind == OP_CONSTANT || op->kind == OP_SDY_CONSTANT;
	for (uint32_t i = 0; i < op->n_attrs; i++) {
		named_attr a = m->op_attrs.p[op->first_attr + i];
		h = hash_combine(h, a.name);
		if (is_place(m, op, a))
			continue;
		h = hash_combine(h, constant ? attr_get(m, a.value)->splat : hash_attr(m, a.value));
	}
	for (uint32_t r = 0; r < op->n_regions; r++)
		for (op_id in = op_region(m, o, r)->first; in != ID_NONE; in = op_at(m, in)->next)
			h = hash_combine(h, hash_op(m, in));
	return h;
}

static uint64_t look_of(const program *p, const node *n)
{
	uint64_t flags = n->kind | (uint64_t)n->fixed_direction << 8 | (uint64_t)n->elementwise << 16 |
		(uint64_t)n->pass_through_op << 17 | (uint64_t)n->forward_only_op << 18 |
		(uint64_t)n->operands_single_use << 19 | (uint64_t)n->pure << 20;
	uint64_t h =
		hash_combine(hash_combine(flags, n->rule), (uint64_t)n->n_operands << 16 | n->n_results);
	h = hash_combine(h, (uint64_t)n->trips << 1 | n->trips_known);
	h = hash_combine(h, n->kind == NODE_RESULT ? OP_RETURN : hash_op(p->m, n->op));
	for (uint32_t i = 0; i < (uint32_t)n->n_operands + n->n_results; i++)
		h = hash_combine(h, p->vals.p[p->slots.p[n->slots + i]].type);
	return h;
}

/* ---------------------------------------------------------------- units */

static bool is_edge_of(const program *p, node_id edge, node_id region)
{
	const module *m = p->m;
	return edge < p->nodes.n && p->nodes.p[edge].kind == NODE_EDGE &&
		value_def(m, op_operand(m, p->nodes.p[edge].op, 0)) == p->nodes.p[region].op;
}

static void find_units(finder *f)
{
	const program *p = f->p;
	for (node_id n = 0, end; n < p->nodes.n; n = end) {
		end = p->nodes.p[n].end;
		while (p->nodes.p[n].kind == NODE_REGION && is_edge_of(p, end, n))
			end++;
		f->unit_end[n] = end;
		for (node_id k = n; k < end; k++)
			f->unit[k] = n;
	}
}

/* ---------------------------------------------------------------- numbers */

/* What is a number of the program stands in no layer: layers read equal ones wherever they mean
 * something else by them (the number of a dropout and a rotation of its bits), and which one it is
 * makes no difference to what is asked of a layer. */
bool layers_is_number(const program *p, pval_id v)
{
	node_id def = p->vals.p[v].def;
	if (def == ID_NONE || p->nodes.p[def].parent != ID_NONE || pval_type(p, v)->rank)
		return false;
	return p->nodes.p[def].op_kind == OP_CONSTANT || p->nodes.p[def].op_kind == OP_SDY_CONSTANT;
}

/* ---------------------------------------------------------------- sums of scalars */

static bool is_scalar(const program *p, pval_id v)
{
	const ir_type *t = pval_type(p, v);
	return t->kind == TYPE_TENSOR && !t->rank;
}

bool layers_is_scalar_op(const program *p, node_id n)
{
	const node *x = &p->nodes.p[n];
	if (x->kind != NODE_OP || x->parent != ID_NONE || !x->elementwise || !x->n_operands ||
		x->n_results != 1)
		return false;
	for (uint32_t i = 0; i < (uint32_t)x->n_operands + x->n_results; i++)
		if (!is_scalar(p, p->slots.p[x->slots + i]))
			return false;
	return true;
}

/* What a scalar op made from scalars alone. Layers that each add something to a sum (the norm of
 * all gradients) do so in the order of their names: "10" comes before "2". So such a value says
 * little about which layers are neighbours. */
static bool is_summed(const program *p, pval_id v)
{
	node_id def = p->vals.p[v].def;
	return def != ID_NONE && layers_is_scalar_op(p, def);
}

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
		f->val_held[b] ||
		va->type != vb->type || (va->arg_index < 0) != (vb->arg_index < 0) ||
		(va->def == ID_NONE) != (vb->def == ID_NONE))
		return;
	if (layers_is_number(f->p, a) || (va->def != ID_NONE && !pair_nodes(f, va->def, vb->def)))
		return;
	f->ly->val_next[a] = b;
	f->val_before[b] = a;
	pair_users(f, a, b);
}

static void clear(finder *f)
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
		if (!summed && is_summed(p, v)) {
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

/* ---------------------------------------------------------------- layers as they stand in the
 * program */

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

/* Counterparts were numbered along reads, which may put an op into the layer before or behind the
 * one it stands in. Where ops of several chains alternate, those of one layer are made to stand
 * together: the first chain met says where its layers begin. */
static void follow_text(finder *f)
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

/* Values whose ops have no counterparts any more have none. */
static void drop_orphans(finder *f)
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
	drop_orphans(f);
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
	drop_orphans(f);
}

static void grow(finder *f, node_id a, node_id b)
{
	const program *p = f->p;
	clear(f);
	pair_nodes(f, a, b);
	while (f->todo.n || f->later.n) {
		bool summed = !f->todo.n, wait = false;
		node_id x = summed ? vec_pop(&f->later) : vec_pop(&f->todo), y = f->ly->node_next[x];
		const node *nx = &p->nodes.p[x], *ny = &p->nodes.p[y];
		for (uint32_t i = 0; i < (uint32_t)nx->n_operands + nx->n_results; i++) {
			pval_id va = p->slots.p[nx->slots + i], vb = p->slots.p[ny->slots + i];
			if (summed || !is_summed(p, va))
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
	follow_text(f);
	number_vals(f);
}

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
static void hash_layers(
	const finder *f, bool all, int32_t low, uint64_t *hash, uint32_t *reach)
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
			else if (!none && is_summed(p, v) && layers_is_scalar_op(p, i)) {
				h = hash_combine(
					h, val_head[v]); /* from any layer: nothing about a scalar depends on which */
				continue;
			} else
				h = hash_combine(h,
					none ? (uint64_t)v << 8
						 : (uint64_t)val_head[v] << 8 | (uint8_t)(away + 100));
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

/* The longest run of layers that look the same: of all stacks, or of the one that was grown last. */
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
		n += f->ly->node_layer[i] != LAYER_NONE && (all || !f->node_held[i]) && f->ly->node_layer[i] >= f->ly->first &&
			f->ly->node_layer[i] <= f->ly->last;
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
	drop_orphans(f);
}

/* Grows the most layers that a guess among what is in none leads to. Returns how many nodes are in
 * those that look the same. */
static uint32_t grow_best(finder *f, const uint64_t *colour)
{
	guess guesses[MAX_GUESSES], chosen = {0};
	uint32_t n = list_guesses(f, colour, guesses), best = 0;
	for (uint32_t g = 0; g < n; g++) {
		grow(f, guesses[g].a, guesses[g].b);
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
	grow(f, chosen.a, chosen.b);
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
	clear(f);
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
	find_units(f);
	for (node_id n = 0; n < p->nodes.n; n++)
		f->looks[n] = look_of(p, &p->nodes.p[n]);
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
