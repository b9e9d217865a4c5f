/* Arguments that must shard alike: corresponding arguments of repeated layers, found by structure.
 * Colour refinement to a fixpoint would tell every layer of a chain apart by its distance from the
 * ends, so it runs a bounded number of rounds: enough to tell the tensors of one layer apart (wq
 * from wk), too few to see the ends from the middle. Where an end is seen all the same (the last
 * layer's output projection feeds the logits), the few that differ only in the last round join the
 * many. */
#include "search/problem/problem.h"

#include <stdlib.h>

enum { RADIUS = 3, MANY = 4 /* times as many: the rest are ends of the same chain */ };

/* What an op is, apart from its operands: kind, rule and how many tensors it has. */
static uint64_t node_colour(const node *n)
{
	return hash_combine(
		hash_combine(n->op_kind, n->rule), (uint64_t)n->n_operands << 16 | n->n_results);
}

/* colour after RADIUS rounds; coarse gets the colour one round earlier. */
static uint64_t *refine(const problem *pb, uint64_t *coarse)
{
	const program *p = pb->p;
	uint32_t n = p->vals.n;
	uint64_t *colour = xmalloc(n * sizeof *colour), *next = xmalloc(n * sizeof *next);
	for (pval_id v = 0; v < n; v++) {
		colour[v] = hash_mix(p->vals.p[v].type + 1);
		if (p->vals.p[v].arg_index >= 0)
			colour[v] = hash_combine(colour[v], pb->roles[p->vals.p[v].arg_index] + 1);
	}
	for (int round = 0; round < RADIUS; round++) {
		if (round + 1 == RADIUS)
			memcpy(coarse, colour, n * sizeof *coarse);
		memcpy(next, colour, n * sizeof *next);
		for (node_id i = 0; i < p->nodes.n; i++) {
			const node *nd = &p->nodes.p[i];
			const pval_id *slots = node_slots(p, nd);
			uint32_t tensors = (uint32_t)nd->n_operands + nd->n_results;
			/* Terminators and loops see every value of a function at once: they say nothing local.
			 */
			if (nd->kind == NODE_TERMINATOR || nd->kind == NODE_REGION || nd->kind == NODE_RESULT)
				continue;
			uint64_t whole = node_colour(nd);
			for (uint32_t s = 0; s < tensors; s++)
				whole += hash_combine(s + 1, colour[slots[s]]);
			/* Addition: a value's users count as a multiset. */
			for (uint32_t s = 0; s < tensors; s++)
				next[slots[s]] += hash_combine(whole, s + 1);
		}
		for (pval_id v = 0; v < n; v++)
			colour[v] = hash_mix(next[v]);
	}
	free(next);
	return colour;
}

typedef struct keyed {
	uint32_t given; /* by the user: arguments of one are alike whatever their colours */
	uint64_t coarse, colour;
	uint32_t arg;
} keyed;
static int by_colour(const void *a, const void *b)
{
	const keyed *x = a, *y = b;
	if (x->given != y->given)
		return x->given < y->given ? -1 : 1;
	if (x->coarse != y->coarse)
		return x->coarse < y->coarse ? -1 : 1;
	if (x->colour != y->colour)
		return x->colour < y->colour ? -1 : 1;
	return x->arg < y->arg ? -1 : x->arg > y->arg;
}

/* list is sorted by coarse colour, then colour. Where one colour holds MANY times as many as all
 * others of its coarse class together, the others take it over. */
static void join_ends(keyed *list, uint32_t n)
{
	for (uint32_t from = 0, end; from < n; from = end) {
		uint32_t most = 0, run = 0;
		uint64_t winner = 0;
		for (end = from; end < n && list[end].given == list[from].given &&
			 list[end].coarse == list[from].coarse;
			 end++) {
			run = end > from && list[end].colour == list[end - 1].colour ? run + 1 : 1;
			if (run > most) {
				most = run;
				winner = list[end].colour;
			}
		}
		if ((end - from - most) * MANY <= most)
			for (uint32_t i = from; i < end; i++)
				list[i].colour = winner;
	}
}

static int by_first(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static bool alike(const keyed *a, const keyed *b)
{
	return a->given == b->given && a->coarse == b->coarse && a->colour == b->colour;
}

status problem_find_groups(problem *pb, diag *d)
{
	/* Below this many arguments a program has no repeated layers worth folding: every argument
	 * decides for itself. */
	enum { SINGLE_ARGUMENTS = 16 };
	TRY(problem_find_given(pb, d));
	uint64_t *coarse = xmalloc((pb->p->vals.n + 1) * sizeof *coarse), *colour = refine(pb, coarse);
	keyed *list = xmalloc((pb->n_args + 1) * sizeof *list);
	uint32_t n = 0;
	pb->group_of = arena_array(&pb->mem, uint32_t, pb->n_args + 1);
	for (uint32_t a = 0; a < pb->n_args; a++) {
		pb->group_of[a] = ID_NONE;
		pval_id v = pb->p->args.p[a];
		if (pb->pinned[a] || pval_type(pb->p, v)->rank == 0)
			continue;
		if (pb->given[a] != ID_NONE)
			list[n++] = (keyed){pb->given[a], 0, 0, a};
		else if (pb->n_args <= SINGLE_ARGUMENTS || pb->o->without & WITHOUT_GROUPS)
			list[n++] = (keyed){ID_NONE, a, a, a};
		else
			list[n++] = (keyed){ID_NONE, coarse[v], colour[v], a};
	}
	free(colour);
	free(coarse);
	qsort(list, n, sizeof *list, by_colour);
	join_ends(list, n);
	qsort(list, n, sizeof *list, by_colour);
	/* Groups in the order of their first argument, so that colours (hashes) order nothing. */
	uint32_t *first = xmalloc((n + 1) * sizeof *first),
			 *start_of = xmalloc((pb->n_args + 1) * sizeof *start_of);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || !alike(&list[i], &list[i - 1])) {
			start_of[list[i].arg] = i;
			first[pb->n_groups++] = list[i].arg;
		}
	qsort(first, pb->n_groups, sizeof *first, by_first);
	pb->group_first = arena_array(&pb->mem, uint32_t, pb->n_groups + 1);
	pb->group_members = arena_array(&pb->mem, uint32_t, n + 1);
	uint32_t at = 0;
	for (uint32_t g = 0; g < pb->n_groups; g++) {
		pb->group_first[g] = at;
		uint32_t i = start_of[first[g]];
		for (keyed k = list[i]; i < n && alike(&list[i], &k); i++) {
			pb->group_of[list[i].arg] = g;
			pb->group_members[at++] = list[i].arg;
		}
	}
	pb->group_first[pb->n_groups] = at;
	free(first);
	free(start_of);
	free(list);
	return ST_OK;
}
