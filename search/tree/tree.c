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
#include "search/tree/tree_private.h"

#include <math.h>
#include <stdlib.h>

enum { THOUSAND = 1000 };

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

/* What a leaf may come to: its energy now, less what is left to gain. */
static double expectation(const tree *t, const tree_leaf *l)
{
	if (!is_costed(&l->c))
		return HUGE_VAL;
	double left = l->search ? 1 - (double)MIN(l->search->at, SAMPLED) / SAMPLED : 1;
	return (double)plan_energy(t->ls->goal, &l->c) *
		exp(t->gained ? left * t->gain / t->gained : 0);
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
		t->best = MIN(t->best, plan_energy(t->ls->goal, &l->c));
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

/* The leaf of the best plan, where its descent is over and walks from it are not: they get every
 * second evaluation: in some programs no other leaf's descent comes to what they find. ID_NONE: not
 * now. */
static uint32_t select_walk(tree *t)
{
	uint32_t best = tree_next_best(t, ID_NONE);
	const descent *d = best == ID_NONE ? NULL : t->states.p[best].search;
	if (t->pb->o->without & WITHOUT_TREE || !d || d->at != SAMPLED || d->done) {
		t->walk_waits = 0;
		return ID_NONE;
	}
	return t->walk_waits >= 0 ? best : ID_NONE;
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
		t->best = MIN(t->best, plan_energy(t->ls->goal, &l->c));
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
		t->gain += log(
			(double)plan_energy(t->ls->goal, &l->c) / (double)plan_energy(t->ls->goal, &l->first));
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
	uint32_t walk = select_walk(t);
	if (walk != ID_NONE)
		leaf = walk;
	*used = go_on(t, leaf, budget, &better);
	t->walk_waits += walk == ID_NONE ? (int64_t)*used : -(int64_t)*used;
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
		int64_t e = plan_energy(t->ls->goal, &t->states.p[i].c),
				last = after == ID_NONE ? -1 : plan_energy(t->ls->goal, &t->states.p[after].c);
		bool behind = after == ID_NONE || e > last || (e == last && i > after);
		if (t->states.p[i].costed && !t->states.p[i].merged && behind &&
			(best == ID_NONE || e < plan_energy(t->ls->goal, &t->states.p[best].c)))
			best = i;
	}
	return best;
}

uint32_t tree_size(const tree *t) { return t->nodes.n; }
