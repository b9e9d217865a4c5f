/* Monte Carlo tree search over decisions. Nodes are states, merged when their effective shardings are equal, so the
 * tree is a graph; an iteration walks down by PUCT, adds one state, costs it, continues with a short random rollout and
 * costs where that ends. Values are integers (ppm), so sums do not depend on the order of anything.
 *
 * Selection   Q + C * P * sqrt(N) / (1 + n), P the same for all actions; Q mixes the mean with the best value below, since the
 *             best plan is wanted.
 * Widening    only the first WIDEN * sqrt(N) actions are looked at: whole roles first, inner dims last.
 * Value       reference / (reference + run time) where the plan fits; where it does not, less than any plan that fits
 *             and falling with every byte over the limit. */
#include "search/internal.h"

#include <math.h>
#include <stdlib.h>

enum { VALUE_ONE = 1000000, ROLLOUT_DEPTH = 3, WIDEN_FIRST = 8, WIDEN = 3, TREE_DEPTH = 8 };
static const double EXPLORATION = 0.35;

typedef struct edge {
	uint32_t action, child; /* child ID_NONE: not tried; CHILD_DEAD: changes nothing or duplicates a sibling */
	uint32_t visits;
} edge;
enum { CHILD_DEAD = UINT32_MAX - 1 };
typedef struct tree_node {
	uint64_t hash;
	uint32_t visits, first_edge, n_edges;
	int64_t sum, best; /* values in ppm */
	int64_t value;     /* of the state itself */
	bool expanded, exhausted;
} tree_node;

struct tree {
	evaluator *ev;
	const problem *pb;
	const plan *base;
	const action_list *actions;
	const char *tactic;
	rng random;
	VEC(tree_node) nodes;
	VEC(edge) edges;
	index_map by_hash;
	tree_best best[TREE_KEEP];
	uint32_t n_best;
	int64_t reference; /* cost of the base state: 0.5 on the value scale */
	tree_stats stats;
	uint32_t stale; /* iterations without a new state */
};

static int64_t value_of(const tree *t, const cost *c)
{
	const problem *pb = t->pb;
	int64_t measure = pb->objective == OBJECTIVE_MEMORY ? c->peak_bytes : c->runtime_ns;
	int64_t time_part = (int64_t)((double)VALUE_ONE * (double)t->reference / ((double)t->reference + (double)MAX(measure, 1)));
	if (c->peak_bytes <= pb->memory_limit)
		return VALUE_ONE / 2 + time_part / 2;
	int64_t fit = (int64_t)((double)VALUE_ONE * (double)pb->memory_limit / (double)c->peak_bytes);
	return fit * 2 / 5 + time_part / 20;
}

static void remember(tree *t, const cost *c, uint64_t hash, const uint32_t *path, uint32_t depth)
{
	score s = score_of(t->pb, c);
	uint32_t at = 0;
	for (uint32_t i = 0; i < t->n_best; i++)
		if (t->best[i].hash == hash)
			return;
	while (at < t->n_best && !score_less(s, t->best[at].s))
		at++;
	if (at == TREE_KEEP)
		return;
	uint32_t last = MIN(t->n_best, (uint32_t)TREE_KEEP - 1);
	memmove(&t->best[at + 1], &t->best[at], (last - at) * sizeof *t->best);
	t->n_best = last + 1;
	tree_best *b = &t->best[at];
	b->pl = *t->base;
	for (uint32_t i = 0; i < depth && b->pl.n < MAX_PLAN; i++) {
		b->pl.decisions[b->pl.n] = t->actions->p[path[i]];
		b->pl.tactics[b->pl.n++] = t->tactic;
	}
	b->s = s;
	b->c = *c;
	b->hash = hash;
}

/* The node of the evaluator's current state; costs it when it is new. */
static uint32_t node_here(tree *t, const uint32_t *path, uint32_t depth)
{
	uint64_t hash = evaluator_hash(t->ev);
	uint32_t id;
	t->stats.evaluations++;
	for (uint32_t it = index_first(&t->by_hash, hash); !(t->pb->o->without & WITHOUT_MERGING) && index_next(&t->by_hash, hash, &it, &id);)
		if (t->nodes.p[id].hash == hash) {
			t->stats.hits++;
			return id;
		}
	cost c;
	evaluator_cost(t->ev, &c);
	t->stats.full++;
	t->stale = 0;
	remember(t, &c, hash, path, depth);
	id = t->nodes.n;
	int64_t v = value_of(t, &c);
	vec_push(&t->nodes, (tree_node){.hash = hash, .value = v, .best = v});
	index_add(&t->by_hash, hash, id);
	t->stats.nodes++;
	return id;
}

/* The worklist of this state: what propagation has decided already is not on it. */
static void expand(tree *t, uint32_t id)
{
	uint32_t first = t->edges.n;
	for (uint32_t a = 0; a < t->actions->n; a++)
		if (t->pb->o->without & WITHOUT_WORKLIST || evaluator_can(t->ev, &t->actions->p[a]))
			vec_push(&t->edges, (edge){.action = a, .child = ID_NONE});
	tree_node *n = &t->nodes.p[id];
	n->first_edge = first;
	n->n_edges = t->edges.n - first;
	n->expanded = true;
}

static uint32_t select_edge(const tree *t, const tree_node *n)
{
	uint32_t best = ID_NONE, wide = MIN(n->n_edges, (uint32_t)(WIDEN_FIRST + WIDEN * sqrt((double)n->visits)));
	double best_score = -1, root = sqrt((double)n->visits + 1);
	double parent = n->visits ? (double)n->sum / n->visits / VALUE_ONE : (double)n->value / VALUE_ONE;
	uint32_t seen = 0;
	for (uint32_t i = 0; i < n->n_edges && seen < wide; i++) {
		const edge *e = &t->edges.p[n->first_edge + i];
		if (e->child == CHILD_DEAD)
			continue;
		seen++;
		double q = parent * 0.95;
		if (e->child != ID_NONE) {
			const tree_node *c = &t->nodes.p[e->child];
			if (c->exhausted)
				continue;
			double mean = c->visits ? (double)c->sum / c->visits : (double)c->value;
			q = (0.4 * mean + 0.6 * (double)c->best) / VALUE_ONE;
		}
		double u = q + EXPLORATION * (4.0 / n->n_edges + 0.05) * root / (1 + e->visits);
		if (u > best_score) {
			best_score = u;
			best = i;
		}
	}
	return best;
}

/* A few random further decisions; returns the value of where they lead. */
static int64_t rollout(tree *t, uint32_t *path, uint32_t depth)
{
	uint32_t steps = rng_below(&t->random, ROLLOUT_DEPTH + 1), start = depth;
	for (uint32_t k = 0; k < steps && depth < TREE_DEPTH; k++) {
		bool moved = false;
		for (int attempt = 0; attempt < 6 && !moved && t->actions->n; attempt++) {
			uint32_t a = rng_below(&t->random, t->actions->n);
			if (evaluator_decide(t->ev, &t->actions->p[a])) {
				path[depth++] = a;
				moved = true;
			}
		}
		if (!moved)
			break;
	}
	if (depth == start)
		return 0;
	uint32_t last = node_here(t, path, depth); /* may move the nodes */
	return t->nodes.p[last].value;
}

static void iterate(tree *t)
{
	uint32_t path[TREE_DEPTH + ROLLOUT_DEPTH + 1], visited[TREE_DEPTH + 1], via[TREE_DEPTH + 1], depth = 0, id = 0;
	evaluator_undo(t->ev, t->base->n);
	visited[0] = 0;
	bool fresh = false;
	while (depth < TREE_DEPTH && !fresh) {
		if (!t->nodes.p[id].expanded)
			expand(t, id);
		uint32_t chosen = select_edge(t, &t->nodes.p[id]);
		if (chosen == ID_NONE) {
			t->nodes.p[id].exhausted = true;
			break;
		}
		uint32_t e = t->nodes.p[id].first_edge + chosen;
		path[depth] = t->edges.p[e].action;
		if (!evaluator_decide(t->ev, &t->actions->p[path[depth]])) {
			t->edges.p[e].child = CHILD_DEAD;
			continue;
		}
		if (t->edges.p[e].child == ID_NONE) {
			uint32_t before = t->nodes.n, child = node_here(t, path, depth + 1);
			/* Another action that led to the same state: one edge to it is enough. */
			bool duplicate = child == id;
			const tree_node *n = &t->nodes.p[id];
			for (uint32_t i = 0; i < n->n_edges && !duplicate; i++)
				duplicate = n->first_edge + i != e && t->edges.p[n->first_edge + i].child == child;
			if (duplicate) {
				t->edges.p[e].child = CHILD_DEAD;
				evaluator_undo(t->ev, t->base->n + depth);
				t->stale++;
				if (t->stale > 10000)
					return;
				continue;
			}
			t->edges.p[e].child = child;
			fresh = child == before;
		}
		via[depth] = e;
		id = t->edges.p[e].child;
		visited[++depth] = id;
	}
	int64_t value = t->nodes.p[id].value;
	if (depth < TREE_DEPTH)
		value = MAX(value, rollout(t, path, depth));
	for (uint32_t i = 0; i <= depth; i++) {
		tree_node *n = &t->nodes.p[visited[i]];
		n->visits++;
		n->sum += value;
		n->best = MAX(n->best, value);
		if (i < depth)
			t->edges.p[via[i]].visits++;
	}
	t->stale++;
}

tree *tree_new(evaluator *ev, const problem *pb, const plan *base, const action_list *actions, const char *tactic, uint64_t seed, uint32_t index)
{
	tree *t = xcalloc(1, sizeof *t);
	t->ev = ev;
	t->pb = pb;
	t->actions = actions;
	t->tactic = tactic;
	plan *own = xmalloc(sizeof *own);
	*own = *base;
	t->base = own;
	rng_seed(&t->random, seed, index);
	cost c;
	evaluator_run(ev, own, &c);
	t->reference = MAX(pb->objective == OBJECTIVE_MEMORY ? c.peak_bytes : c.runtime_ns, 1);
	node_here(t, NULL, 0);
	return t;
}

void tree_free(tree *t)
{
	if (!t)
		return;
	free((void *)(uintptr_t)t->base);
	vec_release(&t->nodes);
	vec_release(&t->edges);
	index_release(&t->by_hash);
	free(t);
}

uint64_t tree_grow(tree *t, uint64_t evaluations, bool (*stop)(void *), void *stop_arg)
{
	enum { GIVE_UP = 400 }; /* iterations that found nothing new: the space is explored as far as this tree goes */
	uint64_t start = t->stats.evaluations;
	while (t->stats.evaluations - start < evaluations && t->stale < GIVE_UP && !t->nodes.p[0].exhausted && !(stop && stop(stop_arg)))
		iterate(t);
	return t->stats.evaluations - start;
}

uint32_t tree_results(const tree *t, const tree_best **out)
{
	*out = t->best;
	return t->n_best;
}

tree_stats tree_statistics(const tree *t) { return t->stats; }
