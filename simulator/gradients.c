/* Products that make gradients of arguments, and what XLA for TPU keeps for them.
 *
 * Nothing waits for such a gradient but the update of its argument, so XLA's scheduler is free to
 * run the product late. It does so with windowed einsums that scatter the gradient: they run behind
 * the last product of the backward pass, and what they read is kept until then. Where gathers run
 * beside work it does so, too, with gradients that all devices sum up for an update by parts, which
 * is gathered behind it (ZeRO-2 over all devices). All others run in program order (libtpu 0.0.51;
 * docs/judged.md, "Where XLA puts temporaries"). */
#include <stdlib.h>

#include "simulator/state.h"

/* By value: is it an argument of main, or made of such and of constants element by element? */
static bool *made_of_arguments(const program *p)
{
	bool *made = xcalloc(MAX(p->vals.n, 1), sizeof *made);
	for (uint32_t i = 0; i < p->args.n; i++)
		made[p->args.p[i]] = true;
	for (node_id n = 0; n < p->nodes.n; n++) {
		const node *x = &p->nodes.p[n];
		const pval_id *slots = node_slots(p, x);
		bool all = passes_elements(x) || !x->n_operands;
		for (uint32_t i = 0; all && i < x->n_operands; i++)
			all = made[slots[i]];
		for (uint32_t i = 0; all && i < x->n_results; i++)
			made[slots[x->n_operands + i]] = true;
	}
	return made;
}

/* By value: does a product read it, or what is made of it? What loops and branches read may. */
static bool *leads_to_products(const program *p)
{
	bool *leads = xcalloc(MAX(p->vals.n, 1), sizeof *leads);
	for (node_id n = p->nodes.n; n-- > 0;) {
		const node *x = &p->nodes.p[n];
		const pval_id *slots = node_slots(p, x);
		bool to = is_product(x) || x->kind == NODE_EDGE || x->kind == NODE_REGION;
		for (uint32_t i = 0; !to && i < x->n_results; i++)
			to = leads[slots[x->n_operands + i]];
		for (uint32_t i = 0; to && i < x->n_operands; i++)
			leads[slots[i]] = true;
	}
	return leads;
}

static bool has_size_of_argument(const program *p, pval_id v)
{
	const ir_type *ty = pval_type(p, v);
	for (uint32_t i = 0; i < p->args.n; i++) {
		const ir_type *of = pval_type(p, p->args.p[i]);
		if (ty->kind == TYPE_TENSOR && of->kind == TYPE_TENSOR && of->elements == ty->elements)
			return true;
	}
	return false;
}

void find_gradients(simulator *s)
{
	const program *p = s->p;
	bool *made = made_of_arguments(p), *leads = leads_to_products(p);
	s->gradients = xcalloc(MAX(p->nodes.n, 1), sizeof *s->gradients);
	for (node_id n = 0; n < p->nodes.n; n++) {
		const node *x = &p->nodes.p[n];
		const pval_id *slots = node_slots(p, x);
		s->gradients[n] = is_product(x) && x->parent == ID_NONE && x->n_operands == 2 &&
			!made[slots[0]] && !made[slots[1]] && !leads[slots[2]] &&
			has_size_of_argument(p, slots[2]);
	}
	free(made);
	free(leads);
}

void find_softmax_gradients(simulator *s)
{
	const program *p = s->p;
	node_id *of = xmalloc(MAX(p->vals.n, 1) * sizeof *of); /* the one product that it is made of */
	s->differentiated = xcalloc(MAX(p->nodes.n, 1), sizeof *s->differentiated);
	for (uint32_t v = 0; v < p->vals.n; v++)
		of[v] = ID_NONE;
	for (node_id n = 0; n < p->nodes.n; n++) {
		const node *x = &p->nodes.p[n];
		const pval_id *slots = node_slots(p, x);
		if (x->n_results != 1 || x->kind == NODE_EDGE || x->kind == NODE_REGION)
			continue;
		pval_id result = slots[x->n_operands];
		if (is_product(x)) {
			of[result] = n;
			continue;
		}
		if (!passes_elements(x))
			continue;
		const ir_type *ty = pval_type(p, result);
		bool several = false;
		for (uint32_t i = 0; i < x->n_operands; i++) {
			const ir_type *from = pval_type(p, slots[i]);
			node_id product = of[slots[i]];
			if (product == ID_NONE || from->elements != ty->elements)
				continue;
			several |= of[result] != ID_NONE && of[result] != product;
			if (several)
				s->differentiated[product] = s->differentiated[of[result]] = true;
			of[result] = product;
		}
		if (several)
			of[result] = ID_NONE;
	}
	free(of);
}

bool makes_gradient(const simulator *s, const lowered *l, lop_id o)
{
	return s->ops[o].class == CLASS_MATMUL && l->ops.p[o].node != ID_NONE &&
		s->gradients[l->ops.p[o].node];
}

/* What a kernel reads of temporaries, through what it computes for itself. */
static void keep_operands(simulator *s, const lowered *l, lop_id at, lop_id root)
{
	s->stack.n = 0;
	vec_push(&s->stack, at);
	while (s->stack.n) {
		const lop *o = &l->ops.p[s->stack.p[--s->stack.n]];
		for (uint32_t i = 0; i < o->n_operands; i++) {
			sim_val *v = &s->vals[base_of(s, operand_at(l, o, i))];
			const sim_op *def = &s->ops[v->def];
			if (!v->kept_late && !v->materialised &&
				(def->mode == MODE_COPIED || (def->mode == MODE_FUSED && def->root == root)))
				vec_push(&s->stack, v->def);
			v->kept_late = true;
		}
	}
}

/* The product in the kernel that makes what a collective reads, where that is a gradient. */
static lop_id reduced_gradient(const simulator *s, const lowered *l, const lop *o)
{
	const sim_op *def = &s->ops[s->vals[base_of(s, operand_at(l, o, 0))].def];
	lop_id m = def->root == ID_NONE ? ID_NONE : s->ops[def->root].first_member;
	while (m != ID_NONE && !makes_gradient(s, l, m))
		m = s->ops[m].next;
	return m;
}

/* Does an all_reduce over all devices make what a device takes its own part of, to gather what it
 * made of that? */
static bool is_gathered_again(const simulator *s, const lowered *l, const lop *o)
{
	enum { MOST = 4 /* ops of an update one behind the other, each with what is nested in it */ };
	if (o->coll != COLL_ALL_REDUCE || lop_group_size(o) != mesh_links_slice_devices(&s->links))
		return false;
	for (uint32_t i = 0; i < MOST; i++) {
		const sim_val *v = &s->vals[o->results];
		lop_id reader = MIN(v->external_min, MIN(v->copied_min, v->group_min));
		o = reader == ID_NONE ? NULL : &l->ops.p[reader];
		if (o && o->kind == LOP_COLLECTIVE)
			return o->coll == COLL_ALL_SLICE || o->coll == COLL_ALL_GATHER;
		if (!o || o->kind != LOP_COMPUTE || o->n_results != 1)
			return false;
	}
	return false;
}

static void keep_late(simulator *s, const lowered *l, lop_id product)
{
	sim_op *root = &s->ops[s->ops[product].root];
	keep_operands(s, l, product, s->ops[product].root);
	root->waits = true;
	s->late.until = MAX(s->late.until, s->ops[product].root);
}

void keep_for_gradients(simulator *s, const lowered *l)
{
	s->late = (late_gradients){0};
	for (uint32_t n = 0; n < s->windows.n; n++) {
		lop_id at = s->windows.p[n];
		if (s->ops[at].window == WINDOW_SCATTER && makes_gradient(s, l, at))
			keep_late(s, l, at);
	}
	if (!(s->dev.asynchronous >> COLL_ALL_GATHER & 1))
		return;
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		if (o->kind != LOP_COLLECTIVE || !(is_reduced_whole(s, o) || is_gathered_again(s, l, o)))
			continue;
		lop_id at = reduced_gradient(s, l, o);
		if (at != ID_NONE)
			keep_late(s, l, at);
	}
}
