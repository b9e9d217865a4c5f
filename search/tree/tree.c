/* Monte Carlo tree search over tactics. A node is a partial composite plan: which axes are joined,
 * what tactic each of these sets has, how state and parameters are cut (ZeRO). A leaf is a whole
 * plan; a visit costs it the first time, and later goes on with its local search where that
 * stopped. So one budget is spent by one rule.
 *
 * Selection   Q + C P sqrt(N) / (1 + n) (PUCT, Rosin 2011; Silver et al. 2017), visits counted in evaluations: a step of a local search takes
 *             many. P: the node's prior (priors.h), 1 for all where nothing is known.
 * Value       of a node the least energy that is expected below it: Q = 1 for the best plan so far, 0 for one that is worse by SPREAD or
 *             more. A plan is expected to gain, in what is left of its descent, what others gained in theirs; what has not been costed
 *             is worth what its parent is.
 * Merging     leaves that come to the same cost are one, and so are local searches that come to the same state.
 * Bound       a node all of whose leaves are done is done. */
#include "search/tree/tree.h"

#include <math.h>
#include <stdlib.h>

enum { THOUSAND = 1000 };

typedef struct tree_node {
	uint32_t parent, key, first_child, next; /* next: sibling; ID_NONE */
	uint32_t leaf;                           /* ID_NONE: inner node */
	double prior;                            /* see tactic_prior */
	uint64_t used;                           /* evaluations below it */
	double expected;  /* the least energy of leaves below it that are not done; HUGE_VAL: none was
	                     costed */
	bool done, waits; /* waits: to be costed in the present batch */
} tree_node;

struct tree {
	const problem *pb;
	local_search *ls;
	uint64_t seed;
	VEC(tree_node) nodes;
	completion_list leaves;
	VEC(tree_leaf) states; /* of leaves */
	const tactic_space *ts;
	const tactic_priors *priors; /* NULL: nothing is known */
	int64_t best;                /* least energy of all */
	double gain;                 /* logarithm of what whole descents gained, summed up */
	uint32_t gained;             /* descents */
	uint32_t turn;
	cost costs[LEAVES_AT_ONCE];
	plan batch[LEAVES_AT_ONCE];
};

/* ---------------------------------------------------------------- its shape */

static uint32_t add_node(tree *t, uint32_t parent, uint32_t key)
{
	uint32_t id = t->nodes.n;
	vec_push(&t->nodes,
		(tree_node){.parent = parent,
			.key = key,
			.first_child = ID_NONE,
			.next = ID_NONE,
			.leaf = ID_NONE,
			.prior = 1,
			.expected = HUGE_VAL});
	if (parent == ID_NONE)
		return id;
	uint32_t *link = &t->nodes.p[parent].first_child;
	while (*link != ID_NONE)
		link = &t->nodes.p[*link].next;
	*link = id;
	return id;
}

static uint32_t child_with(tree *t, uint32_t parent, uint32_t key)
{
	uint32_t c = t->nodes.p[parent].first_child;
	while (c != ID_NONE && t->nodes.p[c].key != key)
		c = t->nodes.p[c].next;
	return c != ID_NONE ? c : add_node(t, parent, key);
}

tree *tree_new(const problem *pb, local_search *ls, uint64_t seed)
{
	tree *t = xcalloc(1, sizeof *t);
	t->pb = pb;
	t->ls = ls;
	t->seed = seed;
	t->best = INT64_MAX;
	add_node(t, ID_NONE, 0);
	return t;
}

void tree_free(tree *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->states.n; i++)
		free(t->states.p[i].search);
	vec_release(&t->states);
	vec_release(&t->nodes);
	vec_release(&t->leaves);
	free(t);
}

void tree_set_priors(tree *t, const tactic_space *ts, const tactic_priors *priors)
{
	t->ts = ts;
	t->priors = priors;
}

void tree_add(tree *t, const completion *c)
{
	uint32_t at = 0;
	if (t->leaves.n == MOST_LEAVES)
		return;
	for (uint32_t i = 0; i < c->depth; i++) {
		uint32_t known = t->nodes.n;
		at = child_with(t, at, c->path[i]);
		if (at == known)
			t->nodes.p[at].prior = tactic_prior(t->priors, t->ts, c->path, i + 1);
	}
	if (t->nodes.p[at].leaf != ID_NONE)
		return;
	t->nodes.p[at].leaf = t->leaves.n;
	vec_push(&t->leaves, *c);
	vec_push(&t->states,
		(tree_leaf){.node = at, .c = {.runtime_ns = NOT_COSTED, .peak_bytes = NOT_COSTED}});
}

/* ---------------------------------------------------------------- values */

static int64_t energy(const tree *t, const cost *c)
{
	return is_costed(c) ? plan_energy(t->ls->goal, c) : INT64_MAX;
}

/* What a leaf may come to: its energy now, less what is left to gain. */
static double expectation(const tree *t, const tree_leaf *l)
{
	if (!is_costed(&l->c))
		return HUGE_VAL;
	double left = l->search ? 1 - (double)MIN(l->search->at, SAMPLED) / SAMPLED : 1;
	return (double)energy(t, &l->c) * exp(t->gained ? left * t->gain / t->gained : 0);
}

static void back_up(tree *t, uint32_t id, uint64_t used)
{
	for (; id != ID_NONE; id = t->nodes.p[id].parent) {
		tree_node *n = &t->nodes.p[id];
		n->used += used;
		if (n->leaf != ID_NONE)
			continue;
		n->expected = HUGE_VAL;
		n->done = true;
		for (uint32_t c = n->first_child; c != ID_NONE; c = t->nodes.p[c].next)
			if (!t->nodes.p[c].done) {
				n->expected = MIN(n->expected, t->nodes.p[c].expected);
				n->done = false;
			}
	}
}

void tree_rescore(tree *t)
{
	t->best = INT64_MAX;
	for (uint32_t i = 0; i < t->states.n; i++) {
		const tree_leaf *l = &t->states.p[i];
		t->best = MIN(t->best, energy(t, &l->c));
		t->nodes.p[l->node].expected = expectation(t, l);
	}
	for (uint32_t i = t->nodes.n; i-- > 0;) /* children come behind their parents */
		if (t->nodes.p[i].leaf == ID_NONE) {
			tree_node *n = &t->nodes.p[i];
			n->expected = HUGE_VAL;
			for (uint32_t c = n->first_child; c != ID_NONE; c = t->nodes.p[c].next)
				if (!t->nodes.p[c].done)
					n->expected = MIN(n->expected, t->nodes.p[c].expected);
		}
}

static double worth(const tree *t, double expected)
{
	return MIN(
		1.0, MAX(0.0, 1 - (expected / (double)MAX(t->best, 1) - 1) / ((double)SPREAD / THOUSAND)));
}

/* ---------------------------------------------------------------- visits */

/* The child to go to; ID_NONE: all are done or wait. */
static uint32_t select_child(const tree *t, const tree_node *n)
{
	double most = -1, root = sqrt((double)n->used / VISIT + 1);
	uint32_t best = ID_NONE;
	for (uint32_t c = n->first_child; c != ID_NONE; c = t->nodes.p[c].next) {
		const tree_node *k = &t->nodes.p[c];
		if (k->done || k->waits)
			continue;
		double u = worth(t, k->expected < HUGE_VAL ? k->expected : n->expected) +
			(double)EXPLORATION / THOUSAND * k->prior * root / (1 + (double)k->used / VISIT);
		if (u > most) {
			most = u;
			best = c;
		}
	}
	return best;
}

/* For comparison (tests/bench): leaves in turn, each as much as the others. */
static uint32_t select_in_turn(tree *t)
{
	for (uint32_t i = 0; i < t->states.n; i++) {
		tree_node *n = &t->nodes.p[t->states.p[t->turn++ % t->states.n].node];
		if (!n->done && !n->waits)
			return n->leaf;
	}
	return ID_NONE;
}

static uint32_t select_leaf(tree *t)
{
	uint32_t at = 0;
	if (t->pb->o->without & WITHOUT_TREE)
		return select_in_turn(t);
	while (at != ID_NONE && t->nodes.p[at].leaf == ID_NONE)
		at = select_child(t, &t->nodes.p[at]);
	return at == ID_NONE ? ID_NONE : t->nodes.p[at].leaf;
}

/* A leaf waits, and every node that has no other one to go to. */
static void set_waiting(tree *t, uint32_t id)
{
	t->nodes.p[id].waits = true;
	for (id = t->nodes.p[id].parent; id != ID_NONE; id = t->nodes.p[id].parent) {
		tree_node *n = &t->nodes.p[id];
		n->waits = true;
		for (uint32_t c = n->first_child; c != ID_NONE; c = t->nodes.p[c].next)
			n->waits &= t->nodes.p[c].waits || t->nodes.p[c].done;
	}
}

/* Another leaf costs the same: most likely it is the same on an axis like it. */
static bool is_known(const tree *t, uint32_t leaf)
{
	const cost *c = &t->states.p[leaf].c;
	for (uint32_t i = 0; i < t->states.n; i++)
		if (i != leaf && t->states.p[i].costed && !t->states.p[i].merged &&
			t->states.p[i].first.runtime_ns == c->runtime_ns &&
			t->states.p[i].first.peak_bytes == c->peak_bytes)
			return true;
	return false;
}

static uint64_t cost_batch(tree *t, const uint32_t *leaves, uint32_t n, uint64_t budget)
{
	for (uint32_t i = 0; i < n; i++)
		t->batch[i] = t->leaves.p[leaves[i]].pl;
	uint64_t used = pool_cost(t->ls->pool, t->batch, n, budget, t->costs);
	for (uint32_t i = 0; i < n; i++) {
		tree_leaf *l = &t->states.p[leaves[i]];
		tree_node *nd = &t->nodes.p[l->node];
		t->leaves.p[leaves[i]].pl = t->batch[i];
		l->c = l->first = t->costs[i];
		l->merged = !is_costed(&l->c) || is_known(t, leaves[i]);
		l->costed = true;
		nd->done = l->merged;
		nd->expected = expectation(t, l);
		t->best = MIN(t->best, energy(t, &l->c));
		back_up(t, l->node, 1);
	}
	for (uint32_t i = 0; i < t->nodes.n; i++)
		t->nodes.p[i].waits = false;
	return used;
}

static uint64_t go_on(tree *t, uint32_t leaf, uint64_t budget, bool *better)
{
	tree_leaf *l = &t->states.p[leaf];
	tree_node *n = &t->nodes.p[l->node];
	uint64_t used = 0;
	level was = l->search ? l->search->at : ALIKE;
	if (!l->search) {
		l->search = xmalloc(sizeof *l->search);
		descent_begin(t->ls, l->search, &t->leaves.p[leaf].pl, t->seed, leaf);
		*better = true;
	} else {
		used = descent_step(t->ls, l->search, budget, better);
	}
	l->c = l->search->c;
	n->done = l->search->done;
	back_up(t, l->node, used);
	if (was == GROUPS && l->search->at == SAMPLED && !l->whole && is_costed(&l->c)) {
		l->whole = true;
		t->gain += log((double)energy(t, &l->c) / (double)energy(t, &l->first));
		t->gained++;
	}
	tree_rescore(t);
	return used;
}

bool tree_visit(tree *t, uint64_t budget, uint64_t *used, uint32_t *changed)
{
	uint32_t list[LEAVES_AT_ONCE], n = 0, leaf = ID_NONE;
	*changed = ID_NONE;
	*used = 0;
	while (n < MIN((uint64_t)LEAVES_AT_ONCE, budget) && (leaf = select_leaf(t)) != ID_NONE &&
		!t->states.p[leaf].costed) {
		set_waiting(t, t->states.p[leaf].node);
		list[n++] = leaf;
	}
	if (n) {
		*used = cost_batch(t, list, n, budget);
		return true;
	}
	if (leaf == ID_NONE)
		return false;
	bool better = false;
	*used = go_on(t, leaf, budget, &better);
	*changed = better ? leaf : ID_NONE;
	return true;
}

const tree_leaf *tree_leaf_at(const tree *t, uint32_t leaf) { return &t->states.p[leaf]; }

const plan *tree_plan(const tree *t, uint32_t leaf)
{
	return t->states.p[leaf].search ? &t->states.p[leaf].search->pl : &t->leaves.p[leaf].pl;
}

const plan *tree_first_plan(const tree *t, uint32_t leaf) { return &t->leaves.p[leaf].pl; }

uint32_t tree_next_best(const tree *t, uint32_t after)
{
	uint32_t best = ID_NONE;
	for (uint32_t i = 0; i < t->states.n; i++) {
		int64_t e = energy(t, &t->states.p[i].c),
				last = after == ID_NONE ? -1 : energy(t, &t->states.p[after].c);
		bool behind = after == ID_NONE || e > last || (e == last && i > after);
		if (t->states.p[i].costed && !t->states.p[i].merged && behind &&
			(best == ID_NONE || e < energy(t, &t->states.p[best].c)))
			best = i;
	}
	return best;
}

uint32_t tree_size(const tree *t) { return t->nodes.n; }

/* ---------------------------------------------------------------- to look at */

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
			if (known && (!n->runtime_ns || energy(t, &l->c) < energy(t, &best))) {
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
