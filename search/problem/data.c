/* Which arguments are data, and along which of their dims examples lie. */
#include "search/problem/roles.h"

#include <stdlib.h>

static bool is_float(const ir_type *ty)
{
	return ty->elem >= ELEM_F4E2M1FN && ty->elem <= ELEM_F64;
}

bool is_numeric(const ir_type *ty)
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

void find_data(problem *pb, bool any_carried)
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

void guess_data(problem *pb)
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
