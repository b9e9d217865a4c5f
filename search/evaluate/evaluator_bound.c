/* What a state, and all that further decisions can make of it, cost at least, without lowering it.
 * Decisions only ever add axes: every device keeps at least its part of the arguments, divided by
 * all axes that may still cut them, and runs all matmuls, divided by all axes that do not cut them
 * yet. (Matmuls of smaller parts are not more efficient, and ceil(x / k) >= ceil(x) / k.) Kernels
 * run one after the other, so that the matmuls' times add up; all other kernels, and what is
 * communicated, come on top. */
#include "search/evaluate/evaluator.h"

#include <stdlib.h>

/* How often the node runs in a step of the whole program; 0 where one of several branches runs. */
static int64_t executions_of(const program *p, const folding *f, node_id n)
{
	int64_t times = f ? fold_weight(f, f->node_layer[n]) : 1;
	for (node_id r = p->nodes.p[n].parent; r != ID_NONE; r = p->nodes.p[r].parent) {
		uint16_t kind = p->nodes.p[r].op_kind;
		if (kind == OP_CASE || kind == OP_IF)
			return 0;
		if (kind == OP_WHILE)
			times = sat_mul(times, MAX(p->nodes.p[r].trips, 0));
	}
	return times;
}

static bool is_contraction(uint16_t kind)
{
	return kind == OP_DOT_GENERAL || kind == OP_DOT || kind == OP_CONVOLUTION;
}

static void find_matmuls(coster *c, const program *p, const folding *f)
{
	c->matmuls_known = true;
	for (node_id n = p->main_first; n < p->main_end; n++) {
		const node *x = &p->nodes.p[n];
		int64_t times =
			x->dead || !is_contraction(x->op_kind) || x->kind != NODE_OP || x->rule == RULE_NONE
			? 0
			: executions_of(p, f, n);
		if (times)
			vec_push(&c->matmuls, (bound_part){n, times});
	}
}

/* Mesh axes that cut the sharding all the way. */
static uint32_t axes_in(const evaluator *ev, sharding_id id)
{
	uint32_t used = 0;
	const sharding *s = sharding_get(ev->t, id);
	for (uint32_t d = 0; d < s->rank; d++) {
		axes l = sharding_dim(s, d);
		for (uint32_t i = 0; i < l.n; i++)
			if (axis_size(l.a[i]) ==
				axis_size(mesh_full_axis(ev->t, ev->pb->mesh, axis_index(l.a[i]))))
				used |= 1u << axis_index(l.a[i]);
	}
	return used;
}

static int64_t devices_of(const evaluator *ev, uint32_t mask)
{
	int64_t n = 1;
	for (uint32_t axis = 0; axis < ev->pb->n_axes; axis++)
		if (mask >> axis & 1)
			n *= axis_size(mesh_full_axis(ev->t, ev->pb->mesh, axis));
	return n;
}

static int64_t least_bytes(evaluator *ev, coster *c, const program *p, uint32_t further)
{
	const folding *f = is_folded(ev) ? ev->fold : NULL;
	int64_t sum = 0;
	for (uint32_t a = 0; a < p->args.n; a++) {
		pval_id v = p->args.p[a];
		int64_t bytes = lower_value_bytes(c->lower, apply_level(ev->pb->o->apply), c->costed, v);
		uint32_t left = state_pinned(present(ev), a) || !pval_type(p, v)->rank
			? 0
			: further & ~state_kept(present(ev), a);
		if (left && c->costed[v] != SHARDING_NONE)
			left &= ~axes_in(ev, c->costed[v]);
		sum = sat_add(
			sum, sat_mul(bytes / devices_of(ev, left), f ? fold_weight(f, f->val_layer[v]) : 1));
	}
	return sum;
}

static int64_t least_ns(evaluator *ev, coster *c, const program *p, uint32_t further)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < c->matmuls.n; i++) {
		node_id n = c->matmuls.p[i].node;
		const node_plan *np =
			lower_node_plan(c->lower, apply_level(ev->pb->o->apply), c->costed, n);
		if (!np)
			continue;
		uint32_t left = further;
		for (uint32_t k = 0;
			 left && k < (uint32_t)p->nodes.p[n].n_operands + p->nodes.p[n].n_results; k++)
			left &= ~axes_in(ev, np->at[k]);
		int64_t ns =
			simulator_matmul_ns(c->sim, lower_facts(c->lower), n, np, devices_of(ev, left));
		sum = sat_add(sum, sat_mul(ns, c->matmuls.p[i].times));
	}
	return sum;
}

void evaluator_bound(evaluator *ev, uint32_t further, cost *least)
{
	int way = is_folded(ev) ? FOLDED : WHOLE;
	coster *c = evaluator_coster(ev, way);
	const program *p = way == FOLDED ? ev->fold->p : ev->pb->p;
	if (!c->matmuls_known)
		find_matmuls(c, p, way == FOLDED ? ev->fold : NULL);
	coster_load(ev, c, way);
	*least = (cost){.runtime_ns = least_ns(ev, c, p, further),
		.argument_bytes = least_bytes(ev, c, p, further)};
	least->compute_ns = least->runtime_ns;
	least->peak_bytes = least->argument_bytes;
}
