/* What dataflow says about main's arguments: which result carries each one to the next step, and
 * which role it plays. */
#include "search/problem/roles.h"

#include <stdlib.h>

const char *role_name(role r)
{
	static const char *const names[ROLE_COUNT] = {[ROLE_PARAMETER] = "parameter",
		[ROLE_STATE] = "state",
		[ROLE_DATA] = "data",
		[ROLE_OTHER] = "other"};
	return names[r];
}

/* ---------------------------------------------------------------- dataflow */

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

/* Distance from a returned value back to every argument of its dims through carrying ops; breadth
 * first, bounded. */
static void nearest_arguments(const program *p, pval_id from, const ir_type *want, uint32_t *seen,
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

/* Without donation the state result of an argument is the one it reaches with the fewest updates in
 * between: nearest pairs first, each argument and result once. */
static void pair_by_dataflow(problem *pb)
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

/* State is carried to the next step and only ever updated elementwise; a parameter is carried and
 * also feeds the computation (contractions, lookups, broadcasts, convolutions, loops). */
static bool only_updated(
	const program *p, pval_id arg, uint32_t *seen, uint32_t stamp, pval_id *stack)
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

/* Marks the values that replace an argument: what is returned, and what that is before it is
 * converted, moved, selected, or handed out of the branches of a conditional. The argument itself
 * may be among them: where a step is left out, the old value stays. */
static void mark_replacements(
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

/* Is what becomes of an argument, up to what replaces it, elementwise, spread or reduced, in loops
 * and branches too? No parameter is: where a model uses it, something is contracted, looked up or
 * moved in windows. replaced: of values, stamp where they replace it. */
static bool only_replaced(const program *p, pval_id arg, const uint32_t *replaced, uint32_t *seen,
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

/* ---------------------------------------------------------------- roles */

static bool is_float(const ir_type *ty)
{
	return ty->elem >= ELEM_F4E2M1FN && ty->elem <= ELEM_F64;
}

/* What a weight or an activation may be made of. */
static bool is_numeric(const ir_type *ty)
{
	return is_float(ty) || ty->elem == ELEM_I8 || ty->elem == ELEM_UI8 || ty->elem == ELEM_I4 ||
		ty->elem == ELEM_UI4 || ty->elem == ELEM_I2 || ty->elem == ELEM_UI2 ||
		ty->elem == ELEM_QUANT || ty->elem == ELEM_C64 || ty->elem == ELEM_C128;
}

/* Token ids, labels, edges: wide integers that are not the words of a random key. */
static bool is_index(const ir_type *ty)
{
	bool wide = ty->elem == ELEM_I32 || ty->elem == ELEM_I64 || ty->elem == ELEM_UI32 ||
		ty->elem == ELEM_UI64 || ty->elem == ELEM_I16;
	return ty->rank > 0 && wide && !(ty->elem == ELEM_UI32 && ty->rank == 1 && ty->dims[0] <= 4);
}

/* Marks what depends on the values marked so far; loops need another pass until nothing is new. */
static void mark_derived(const program *p, bool *derived)
{
	for (bool more = true; more;) {
		more = false;
		for (node_id i = 0; i < p->nodes.n; i++) {
			const node *n = &p->nodes.p[i];
			const pval_id *slots = node_slots(p, n);
			bool any = false;
			if (n->kind == NODE_RESULT || n->kind == NODE_TERMINATOR)
				continue;
			for (uint32_t k = 0; k < n->n_operands; k++)
				any |= derived[slots[k]];
			for (uint32_t k = n->n_operands; any && k < (uint32_t)n->n_operands + n->n_results; k++)
				if (!derived[slots[k]])
					more = derived[slots[k]] = true;
		}
	}
}

/* Where data meets weights, the dims that only the data has count examples (or their positions):
 * the classes of these. */
static void mark_example_dims(
	const program *p, const dim_classes *c, const bool *derived, bool *example)
{
	for (node_id i = 0; i < p->nodes.n; i++) {
		const node *n = &p->nodes.p[i];
		const pval_id *slots = node_slots(p, n);
		uint32_t data = ID_NONE, n_data = 0, others = 0;
		if (!node_contracts(p, n))
			continue;
		for (uint32_t k = 0; k < n->n_operands; k++) {
			if (!pval_type(p, slots[k])->rank)
				continue;
			if (derived[slots[k]]) {
				data = k;
				n_data++;
			} else {
				others++;
			}
		}
		if (n_data != 1 || !others)
			continue;
		const rule *r = rule_get(p->rules, n->rule);
		uint64_t shared = 0;
		for (uint32_t k = 0; k < n->n_operands; k++)
			for (uint32_t d = 0; k != data && d < pval_type(p, slots[k])->rank; d++)
				if (rule_major_factor(r, k, d) != ID_NONE)
					shared |= 1ull << rule_major_factor(r, k, d);
		for (uint32_t d = 0; d < pval_type(p, slots[data])->rank; d++) {
			uint32_t f = rule_major_factor(r, data, d);
			if (f != ID_NONE && !(shared >> f & 1) && r->factor_types[f] == FACTOR_PASS_THROUGH)
				example[c->of[c->first[slots[data]] + d]] = true;
		}
	}
}

static uint32_t first_dim_in(const program *p, const dim_classes *c, uint32_t arg, const bool *set)
{
	pval_id v = p->args.p[arg];
	for (uint32_t d = 0; d < pval_type(p, v)->rank; d++)
		if (set[c->of[c->first[v] + d]])
			return d;
	return ID_NONE;
}

/* A table of positions or a mask is spread over the whole batch by the ops that only move it. */
static bool spreads_over_batch(
	const program *p, const dim_classes *c, pval_id v, const bool *batch, int depth)
{
	const pval *pv = &p->vals.p[v];
	bool spreads = false;
	for (uint32_t u = 0; u < pv->n_uses && !spreads && depth; u++) {
		const node *user = &p->nodes.p[p->slot_node.p[p->uses.p[pv->uses + u]]];
		if (user->kind != NODE_OP || user->n_operands != 1 || user->n_results != 1)
			continue;
		pval_id r = node_slots(p, user)[1];
		for (uint32_t d = 0; d < pval_type(p, r)->rank; d++)
			spreads |= batch[c->of[c->first[r] + d]];
		spreads = spreads || spreads_over_batch(p, c, r, batch, depth - 1);
	}
	return spreads;
}

static void add_batch(problem *pb, const dim_classes *c, uint32_t arg, uint32_t dim, bool *batch)
{
	pb->roles[arg] = ROLE_DATA;
	pb->batch_dim[arg] = dim;
	if (dim != ID_NONE)
		batch[c->of[c->first[pb->p->args.p[arg]] + dim]] = true;
}

/* Marks what the results that replace arguments are made of. */
static void mark_needed(const problem *pb, bool *needed)
{
	const program *p = pb->p;
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (pb->result_of_arg[a] >= 0)
			needed[p->returned.p[pb->result_of_arg[a]]] = true;
	for (bool more = true; more;) {
		more = false;
		for (node_id i = p->nodes.n; i-- > 0;) {
			const node *n = &p->nodes.p[i];
			const pval_id *slots = node_slots(p, n);
			bool any = false;
			for (uint32_t k = n->n_operands; k < (uint32_t)n->n_operands + n->n_results; k++)
				any |= needed[slots[k]];
			for (uint32_t k = 0; any && k < n->n_operands; k++)
				if (!needed[slots[k]])
					more = needed[slots[k]] = true;
		}
	}
}

/* Marks the classes of dims along which those values are computed apart from each other: none of
 * them is contracted, reduced or cut. */
static void mark_apart(const problem *pb, const dim_classes *c, bool *apart)
{
	const program *p = pb->p;
	bool *needed = xcalloc(p->vals.n + 1, sizeof *needed);
	mark_needed(pb, needed);
	memset(apart, true, c->first[p->vals.n]);
	for (node_id i = 0; i < p->nodes.n; i++) {
		const node *n = &p->nodes.p[i];
		const pval_id *slots = node_slots(p, n);
		uint32_t tensors = (uint32_t)n->n_operands + n->n_results;
		bool any = false;
		for (uint32_t k = n->n_operands; k < tensors; k++)
			any |= needed[slots[k]];
		if (!any || n->rule == RULE_NONE)
			continue;
		const rule *r = rule_get(p->rules, n->rule);
		for (uint32_t k = 0; k < tensors; k++)
			for (uint32_t d = 0; d < pval_type(p, slots[k])->rank; d++) {
				uint32_t f = rule_major_factor(r, k, d);
				if (pval_type(p, slots[k])->dims[d] > 1 &&
					(f == ID_NONE || r->factor_types[f] != FACTOR_PASS_THROUGH))
					apart[c->of[c->first[slots[k]] + d]] = false;
			}
	}
	free(needed);
}

static bool is_carried_tensor(const problem *pb, uint32_t arg)
{
	const ir_type *ty = pval_type(pb->p, pb->p->args.p[arg]);
	return pb->result_of_arg[arg] >= 0 && is_numeric(ty) && ty->rank;
}

/* The first class of such dims that every tensor carried from call to call has, and so has what
 * replaces it; ID_NONE. */
static uint32_t shared_class(const problem *pb, const dim_classes *c, const bool *apart)
{
	const program *p = pb->p;
	uint32_t carried = 0, first = ID_NONE, found = ID_NONE;
	uint32_t *count = xcalloc(c->first[p->vals.n] + 1, sizeof *count);
	for (uint32_t a = 0; a < pb->n_args; a++) {
		if (!is_carried_tensor(pb, a))
			continue;
		pval_id v = p->args.p[a], new = p->returned.p[pb->result_of_arg[a]];
		const ir_type *ty = pval_type(p, v);
		first = carried ? first : v;
		for (uint32_t d = 0; d < ty->rank && pval_type(p, new)->rank == ty->rank; d++) {
			uint32_t class = c->of[c->first[v] + d];
			if (ty->dims[d] > 1 && apart[class] && count[class] == carried &&
				c->of[c->first[new] + d] == class)
				count[class]++;
		}
		carried++;
	}
	for (uint32_t d = carried ? pval_type(p, first)->rank : 0; d-- > 0;)
		if (count[c->of[c->first[first] + d]] == carried)
			found = c->of[c->first[first] + d];
	free(count);
	return found;
}

/* A simulation: positions and velocities of many systems that know nothing of each other. They are
 * the data though each call replaces them, and what has no dim along the systems, a controller's
 * weights, is not. No training step has such a dim: every dim of a weight is contracted somewhere
 * on the way to its gradient, or summed over. */
static bool find_simulated(problem *pb, const dim_classes *c)
{
	const program *p = pb->p;
	bool *batch = xcalloc(c->first[p->vals.n] + 1, sizeof *batch);
	mark_apart(pb, c, batch);
	uint32_t class = shared_class(pb, c, batch);
	memset(batch, false, c->first[p->vals.n]);
	if (class != ID_NONE) {
		batch[class] = true;
		for (uint32_t a = 0; a < pb->n_args; a++) {
			uint32_t d = pb->roles[a] == ROLE_OTHER ? ID_NONE : first_dim_in(p, c, a, batch);
			if (d != ID_NONE)
				add_batch(pb, c, a, d, batch);
		}
	}
	free(batch);
	return class != ID_NONE;
}

/* Data are the index tensors and whatever else has a dim along which examples lie; what is carried
 * from step to step only when it lies along the batch of those (a cache of keys, not a table of
 * positions). Without index tensors the floats that no step carries are the data. */
static void find_data(problem *pb, bool any_carried)
{
	enum { MAX_MOVES = 6 };
	const program *p = pb->p;
	dim_classes c;
	dim_classes_init(&c, p, true);
	uint32_t n_dims = c.first[p->vals.n];
	bool *derived = xcalloc(p->vals.n + 1, sizeof *derived),
		 *example = xcalloc(n_dims + 1, sizeof *example),
		 *batch = xcalloc(n_dims + 1, sizeof *batch);
	bool any_index = false;
	for (uint32_t a = 0; a < pb->n_args; a++)
		any_index |= is_index(pval_type(p, p->args.p[a])) && pb->result_of_arg[a] < 0;
	for (uint32_t a = 0; a < pb->n_args; a++) {
		const ir_type *ty = pval_type(p, p->args.p[a]);
		derived[p->args.p[a]] =
			any_index ? is_index(ty) : is_numeric(ty) && ty->rank && pb->result_of_arg[a] < 0;
	}
	bool simulated = !any_index && any_carried && find_simulated(pb, &c);
	if (any_index || any_carried) {
		mark_derived(p, derived);
		mark_example_dims(p, &c, derived, example);
	}
	for (uint32_t a = 0; a < pb->n_args && !simulated; a++) {
		const ir_type *ty = pval_type(p, p->args.p[a]);
		if (is_index(ty)) {
			uint32_t d = first_dim_in(p, &c, a, example);
			add_batch(pb, &c, a, d != ID_NONE || pb->result_of_arg[a] >= 0 ? d : 0, batch);
		} else if (!any_index && any_carried && pb->result_of_arg[a] < 0 && is_numeric(ty) &&
			ty->rank) {
			uint32_t d = first_dim_in(p, &c, a, example);
			add_batch(pb, &c, a, d != ID_NONE ? d : 0, batch);
		}
	}
	for (uint32_t a = 0; a < pb->n_args && !simulated; a++) {
		const ir_type *ty = pval_type(p, p->args.p[a]);
		if (!ty->rank || pb->roles[a] == ROLE_DATA || pb->roles[a] == ROLE_STATE)
			continue;
		uint32_t d = first_dim_in(p, &c, a, batch);
		if (d == ID_NONE && pb->result_of_arg[a] < 0 && is_numeric(ty) &&
			!spreads_over_batch(p, &c, p->args.p[a], batch, MAX_MOVES))
			d = first_dim_in(p, &c, a, example);
		if (d != ID_NONE)
			add_batch(pb, &c, a, d, batch);
	}
	free(derived);
	free(example);
	free(batch);
	dim_classes_release(&c);
}

/* A forward pass over floats alone says nothing: the arguments whose leading size is the leading
 * size of a result are data (weights seldom share the batch size; the role only steers baselines
 * and weights). */
static void guess_data(problem *pb)
{
	const program *p = pb->p;
	for (uint32_t a = 0; a < pb->n_args; a++) {
		const ir_type *ty = pval_type(p, p->args.p[a]);
		for (uint32_t r = 0; r < pb->n_results && pb->roles[a] == ROLE_PARAMETER; r++) {
			const ir_type *rt = pval_type(p, p->results.p[r]);
			if (ty->rank && rt->rank && rt->dims[0] > 1 && ty->dims[0] == rt->dims[0]) {
				pb->roles[a] = ROLE_DATA;
				pb->batch_dim[a] = 0;
			}
		}
	}
}

typedef struct state_search {
	problem *pb;
	uint32_t parameter;
} state_search;

static void add_state(void *user, uint32_t arg, uint32_t distance)
{
	state_search *ss = user;
	(void)distance;
	if (ss->pb->roles[arg] == ROLE_STATE)
		ss->pb->param_of[arg] = ss->parameter;
}

/* What the new value of a parameter is made of elementwise is its state. */
static void find_states(problem *pb)
{
	const program *p = pb->p;
	uint32_t *seen = xcalloc(p->vals.n, sizeof *seen), *dist = xmalloc(p->vals.n * sizeof *dist);
	pval_id *queue = xmalloc(p->vals.n * sizeof *queue);
	for (uint32_t a = 0; a < pb->n_args; a++)
		pb->param_of[a] = ID_NONE;
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (pb->roles[a] == ROLE_PARAMETER && pb->result_of_arg[a] >= 0)
			nearest_arguments(p, p->returned.p[pb->result_of_arg[a]], pval_type(p, p->args.p[a]),
				seen, a + 1, queue, dist, add_state, &(state_search){pb, a});
	free(seen);
	free(dist);
	free(queue);
}

/* Moments that the update uses as a whole: norms of them, means of their rows, products, roots.
 * What goes into the parameter is made of the new value then, and the old one is only ever updated
 * to become that. A cache of keys is as well: data is found first. */
static void find_moments(problem *pb)
{
	const program *p = pb->p;
	uint32_t *seen = xcalloc(p->vals.n, sizeof *seen),
			 *replaced = xcalloc(p->vals.n, sizeof *replaced);
	uint32_t *arg_of_result = xmalloc((pb->n_results + 1) * sizeof *arg_of_result);
	pval_id *stack = xmalloc(p->vals.n * sizeof *stack);
	for (uint32_t r = 0; r < pb->n_results; r++)
		arg_of_result[r] = ID_NONE;
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (pb->result_of_arg[a] >= 0)
			arg_of_result[pb->result_of_arg[a]] = a;
	for (uint32_t a = 0; a < pb->n_args; a++) {
		if (pb->roles[a] != ROLE_PARAMETER || pb->result_of_arg[a] < 0)
			continue;
		mark_replacements(pb, a, replaced, a + 1, stack);
		if (only_replaced(p, p->args.p[a], replaced, seen, a + 1, stack))
			pb->roles[a] = ROLE_STATE;
	}
	find_states(pb);
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (pb->roles[a] == ROLE_STATE && pb->param_of[a] == ID_NONE)
			pb->param_of[a] =
				parameter_made_of(pb, p->args.p[a], arg_of_result, seen, pb->n_args + a + 1, stack);
	find_owned(pb, arg_of_result);
	free(seen);
	free(replaced);
	free(arg_of_result);
	free(stack);
}

void problem_find_roles(problem *pb)
{
	const program *p = pb->p;
	pb->pairing = "none";
	for (uint32_t a = 0; a < pb->n_args; a++) {
		pb->batch_dim[a] = ID_NONE;
		pb->result_of_arg[a] = pb->dn.result_of_arg[a] >= 0 ? pb->dn.result_of_arg[a] : -1;
		if (pb->result_of_arg[a] >= 0)
			pb->pairing = "donation";
	}
	if (!strcmp(pb->pairing, "none"))
		pair_by_dataflow(pb);

	bool any_carried = false, any_data = false;
	for (uint32_t a = 0; a < pb->n_args; a++)
		any_carried |= pb->result_of_arg[a] >= 0;
	uint32_t *seen = xcalloc(p->vals.n, sizeof *seen);
	pval_id *stack = xmalloc(p->vals.n * sizeof *stack);
	for (uint32_t a = 0; a < pb->n_args; a++) {
		const ir_type *ty = pval_type(p, p->args.p[a]);
		if (ty->rank == 0 || ty->elements == 0)
			pb->roles[a] = ROLE_OTHER;
		else if (pb->result_of_arg[a] >= 0)
			pb->roles[a] =
				only_updated(p, p->args.p[a], seen, a + 1, stack) ? ROLE_STATE : ROLE_PARAMETER;
		else
			pb->roles[a] = is_numeric(ty) ? ROLE_PARAMETER : ROLE_OTHER;
	}
	free(seen);
	free(stack);
	find_data(pb, any_carried);
	find_moments(pb);
	for (uint32_t a = 0; a < pb->n_args; a++)
		any_data |= pb->roles[a] == ROLE_DATA;
	if (!any_data)
		guess_data(pb);
}

status search_roles(const module *m, role *out, diag *d)
{
	problem pb = {0};
	rule_table_init(&pb.rules);
	pb.m = module_clone(m);
	status s = passes_import(pb.m, false, d);
	if (s == ST_OK)
		s = program_new(pb.m, &pb.rules, READ_AS_XLA, &pb.p, d);
	if (s == ST_OK)
		s = donation_read(pb.m, &pb.dn, d);
	if (s == ST_OK) {
		pb.n_args = pb.p->args.n;
		pb.n_results = pb.p->results.n;
		pb.roles = arena_zarray(&pb.mem, role, pb.n_args + 1);
		pb.result_of_arg = arena_array(&pb.mem, int32_t, pb.n_args + 1);
		pb.batch_dim = arena_array(&pb.mem, uint32_t, pb.n_args + 1);
		pb.param_of = arena_array(&pb.mem, uint32_t, pb.n_args + 1);
		problem_find_roles(&pb);
		memcpy(out, pb.roles, pb.n_args * sizeof *out);
	}
	problem_forget(&pb);
	return s;
}
