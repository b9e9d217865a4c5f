/* What carries a tensor from one call to the next: which result takes an argument's place, and what
 * becomes of the argument until it does. */
#include "search/problem/roles.h"

#include <stdlib.h>

/* Ops through which a tensor stays "the same tensor, updated": elementwise, and shape-preserving
 * moves. */
static bool carries(const program *p, const node *n)
{
	return n->kind == NODE_OP &&
		(n->elementwise || n->op_kind == OP_RESHAPE || n->op_kind == OP_TRANSPOSE ||
			n->op_kind == OP_DYNAMIC_UPDATE_SLICE) &&
		n->n_results == 1 && p != NULL;
}

static bool same_dims(const ir_type *a, const ir_type *b)
{
	return a->rank == b->rank &&
		(a->rank == 0 || !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims));
}

void nearest_arguments(const program *p, pval_id from, const ir_type *want, uint32_t *seen,
	uint32_t stamp, pval_id *queue, uint32_t *dist,
	void (*found)(void *, uint32_t arg, uint32_t distance), void *user)
{
	enum { MAX_VISITS = 4096 };
	uint32_t head = 0, tail = 0;
	queue[tail] = from;
	dist[tail++] = 0;
	seen[from] = stamp;
	while (head < tail) {
		pval_id v = queue[head];
		uint32_t d = dist[head++];
		const pval *pv = &p->vals.p[v];
		if (pv->arg_index >= 0) {
			if (same_dims(pval_type(p, v), want))
				found(user, (uint32_t)pv->arg_index, d);
			continue;
		}
		if (pv->def == ID_NONE)
			continue;
		const node *n = &p->nodes.p[pv->def];
		/* A loop's or barrier's result comes from its edge's first source, the initial value. */
		if (!carries(p, n) && n->kind != NODE_EDGE)
			continue;
		for (uint32_t i = 0; i < n->n_operands; i++) {
			pval_id u = node_slots(p, n)[i];
			if (seen[u] == stamp || tail == MAX_VISITS ||
				pval_type(p, u)->elements != want->elements)
				continue;
			seen[u] = stamp;
			queue[tail] = u;
			dist[tail++] = d + 1;
		}
	}
}

typedef struct pair_candidate {
	uint32_t distance, result, arg;
} pair_candidate;
typedef struct pair_search {
	const program *p;
	VEC(pair_candidate) list;
	uint32_t result;
} pair_search;

static void add_candidate(void *user, uint32_t arg, uint32_t distance)
{
	pair_search *ps = user;
	const program *p = ps->p;
	if (pval_type(p, p->args.p[arg])->elem == pval_type(p, p->results.p[ps->result])->elem)
		vec_push(&ps->list, (pair_candidate){distance, ps->result, arg});
}

static int by_distance(const void *a, const void *b)
{
	const pair_candidate *x = a, *y = b;
	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	if (x->result != y->result)
		return x->result < y->result ? -1 : 1;
	return x->arg < y->arg ? -1 : x->arg > y->arg;
}

void roles_pair_by_dataflow(problem *pb)
{
	const program *p = pb->p;
	uint32_t n = p->vals.n;
	uint32_t *seen = xcalloc(n, sizeof *seen), *dist = xmalloc(n * sizeof *dist);
	pval_id *queue = xmalloc(n * sizeof *queue);
	pair_search ps = {.p = p};
	for (uint32_t r = 0; r < pb->n_results; r++) {
		const ir_type *want = pval_type(p, p->results.p[r]);
		ps.result = r;
		if (want->rank > 0)
			nearest_arguments(
				p, p->returned.p[r], want, seen, r + 1, queue, dist, add_candidate, &ps);
	}
	if (ps.list.n)
		qsort(ps.list.p, ps.list.n, sizeof *ps.list.p, by_distance);
	bool *taken = xcalloc(pb->n_results + 1, sizeof *taken);
	for (uint32_t i = 0; i < ps.list.n; i++) {
		pair_candidate c = ps.list.p[i];
		/* Distance 0 returns the argument itself: nothing was updated, nothing is carried. */
		if (c.distance && !taken[c.result] && pb->result_of_arg[c.arg] < 0) {
			taken[c.result] = true;
			pb->result_of_arg[c.arg] = (int32_t)c.result;
			pb->pairing = "dataflow";
		}
	}
	free(taken);
	free(seen);
	free(dist);
	free(queue);
	vec_release(&ps.list);
}

bool only_updated(const program *p, pval_id arg, uint32_t *seen, uint32_t stamp, pval_id *stack)
{
	uint32_t n = 0;
	stack[n++] = arg;
	seen[arg] = stamp;
	const ir_type *ty = pval_type(p, arg);
	while (n) {
		pval_id v = stack[--n];
		const pval *pv = &p->vals.p[v];
		for (uint32_t u = 0; u < pv->n_uses; u++) {
			const node *user = &p->nodes.p[p->slot_node.p[p->uses.p[pv->uses + u]]];
			if (user->kind == NODE_TERMINATOR || user->kind == NODE_RESULT)
				continue;
			if (!carries(p, user))
				return false;
			pval_id r = node_slots(p, user)[user->n_operands];
			if (pval_type(p, r)->elements != ty->elements)
				return false;
			if (seen[r] != stamp) {
				seen[r] = stamp;
				stack[n++] = r;
			}
		}
	}
	return true;
}

void mark_replacements(
	const problem *pb, uint32_t arg, uint32_t *seen, uint32_t stamp, pval_id *stack)
{
	const program *p = pb->p;
	uint32_t n = 0;
	stack[n++] = p->returned.p[pb->result_of_arg[arg]];
	seen[stack[0]] = stamp;
	while (n) {
		pval_id v = stack[--n];
		const node *def = p->vals.p[v].def == ID_NONE ? NULL : &p->nodes.p[p->vals.p[v].def];
		if (!def ||
			!(def->kind == NODE_EDGE ||
				(def->kind == NODE_OP &&
					(def->op_kind == OP_CONVERT || def->op_kind == OP_RESHAPE ||
						def->op_kind == OP_TRANSPOSE || def->op_kind == OP_SELECT))))
			continue;
		for (uint32_t i = def->kind == NODE_OP && def->op_kind == OP_SELECT; i < def->n_operands;
			 i++) {
			pval_id u = node_slots(p, def)[i];
			if (seen[u] != stamp) {
				seen[u] = stamp;
				stack[n++] = u;
			}
		}
	}
}

/* Ops that keep to the elements, spread them or add them up; also as a product of vectors. */
static bool keeps_to_elements(const program *p, const node *n)
{
	return n->n_results == 1 &&
		(carries(p, n) || n->kind == NODE_EDGE || n->op_kind == OP_BROADCAST_IN_DIM ||
			n->op_kind == OP_REDUCE ||
			(n->op_kind == OP_DOT_GENERAL &&
				pval_type(p, node_slots(p, n)[n->n_operands])->elements == 1));
}

bool only_replaced(const program *p, pval_id arg, const uint32_t *replaced, uint32_t *seen,
	uint32_t stamp, pval_id *stack)
{
	uint32_t n = 0;
	stack[n++] = arg;
	seen[arg] = stamp;
	while (n) {
		pval_id v = stack[--n];
		const pval *pv = &p->vals.p[v];
		for (uint32_t u = 0; u < pv->n_uses && (v == arg || replaced[v] != stamp); u++) {
			const node *user = &p->nodes.p[p->slot_node.p[p->uses.p[pv->uses + u]]];
			if (user->kind == NODE_TERMINATOR || user->kind == NODE_RESULT ||
				user->kind == NODE_REGION) /* regions have edges */
				continue;
			if (!keeps_to_elements(p, user))
				return false;
			pval_id r = node_slots(p, user)[user->n_operands];
			if (seen[r] != stamp) {
				seen[r] = stamp;
				stack[n++] = r;
			}
		}
	}
	return true;
}
