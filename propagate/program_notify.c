/* Who sees a change: for every value the nodes to queue again, in the order in which Shardy's
 * pattern pushes them, and the slots that read it. */
#include "propagate/passes.h"
#include "propagate/program_internal.h"

#include <stdlib.h>

typedef struct linker {
	program *p;
	uint32_t *seen; /* by node: stamp of the value it was last added for */
	uint32_t stamp, first;
	callers callers; /* without a module: no edge goes across calls */
} linker;

static void push_node(linker *l, node_id n)
{
	if (n == ID_NONE || l->seen[n] == l->stamp || !node_propagates(l->p, &l->p->nodes.p[n]))
		return;
	l->seen[n] = l->stamp;
	vec_push(&l->p->notify, n);
}

static bool is_computation(uint16_t kind)
{
	return kind == OP_SDY_MANUAL_COMPUTATION || kind == OP_SDY_NAMED_COMPUTATION;
}

/* The edge that a use is a source of. Operands of manual and named computations never find theirs:
 * Shardy looks at the operand instead of the body's argument. */
static op_id edge_of_source(const module *m, const use_slot *use, uint32_t index)
{
	const ir_op *user = op_at(m, use->owner);
	bool yields = op_infos[user->kind].flags & OPF_TERMINATOR;
	op_id o = yields ? op_parent(m, use->owner) : use->owner;
	if (o == ID_NONE || !(op_infos[op_at(m, o)->kind].flags & OPF_DATAFLOW) ||
		index >= op_at(m, o)->n_results)
		return ID_NONE;
	if (is_computation(op_at(m, o)->kind) && !yields)
		return ID_NONE;
	return edge_of_owner(m, op_at(m, o)->results + index);
}

static node_id node_of_edge(const program *p, value_id owner)
{
	op_id edge = edge_of_owner(p->m, owner);
	return edge == ID_NONE ? ID_NONE : p->node_of[edge];
}

/* What a function returns flows into its calls' results, what a call passes into the function's
 * arguments. */
static bool push_across_calls(linker *l, op_id user, uint32_t index)
{
	const module *m = l->p->m;
	if (op_at(m, user)->kind == OP_CALL) {
		const func *f = call_target(m, user);
		if (f && !op_region(m, f->op, 0)->empty && index < f->n_args)
			push_node(l, node_of_edge(l->p, op_region(m, f->op, 0)->args + index));
		return true;
	}
	op_id parent = op_at(m, user)->kind == OP_FUNC_RETURN ? op_parent(m, user) : ID_NONE;
	if (parent == ID_NONE || op_at(m, parent)->kind != OP_FUNC)
		return false;
	uint32_t n;
	const op_id *calls = callers_of(&l->callers, module_func(m, parent), &n);
	for (uint32_t i = 0; i < n; i++)
		if (index < op_at(m, calls[i])->n_results)
			push_node(l, node_of_edge(l->p, op_result(m, calls[i], index)));
	return true;
}

static void push_users(void *user, value_id v)
{
	linker *l = user;
	const module *m = l->p->m;
	for (slot_id s = value_at(m, v)->first_use; s != ID_NONE; s = m->slots.p[s].next) {
		const use_slot *use = &m->slots.p[s];
		uint32_t index = s - op_at(m, use->owner)->operands;
		if (l->callers.m && push_across_calls(l, use->owner, index))
			continue;
		op_id edge = edge_of_source(m, use, index);
		push_node(l, l->p->node_of[edge != ID_NONE ? edge : use->owner]);
	}
}

static void link_pval(linker *l, pval_id id)
{
	program *p = l->p;
	pval *v = &p->vals.p[id];
	l->stamp = id + 1;
	v->notify = p->notify.n;
	if (v->value != ID_NONE) {
		const node *def = v->def == ID_NONE ? NULL : &p->nodes.p[v->def];
		if (def && def->kind == NODE_EDGE)
			edge_other_targets(p->m, op_operand(p->m, def->op, 0), push_users, l);
		push_node(l, v->def);
		push_users(l, v->value);
	}
	v->n_notify = p->notify.n - v->notify;
	push_node(l, v->def);
	for (uint32_t i = v->uses; i < v->uses + v->n_uses; i++) {
		node_id n = p->slot_node.p[p->uses.p[i]];
		if (p->nodes.p[n].kind == NODE_RESULT && l->seen[n] != l->stamp) {
			l->seen[n] = l->stamp;
			vec_push(&p->notify, n);
		}
		push_node(l, n);
	}
	if (v->result_index >= 0)
		vec_push(&p->notify, v->def);
	v->n_touch = p->notify.n - v->notify;
}

void program_link_uses(program *p)
{
	for (node_id i = 0; i < p->nodes.n; i++)
		for (uint32_t s = 0; s < p->nodes.p[i].n_operands; s++)
			p->vals.p[p->slots.p[p->nodes.p[i].slots + s]].n_uses++;
	uint32_t total = 0;
	for (pval_id v = 0; v < p->vals.n; v++) {
		p->vals.p[v].uses = total;
		total += p->vals.p[v].n_uses;
		p->vals.p[v].n_uses = 0;
	}
	vec_reserve(&p->uses, total);
	p->uses.n = total;
	for (node_id i = 0; i < p->nodes.n; i++)
		for (uint32_t s = 0; s < p->nodes.p[i].n_operands; s++) {
			pval *v = &p->vals.p[p->slots.p[p->nodes.p[i].slots + s]];
			p->uses.p[v->uses + v->n_uses++] = p->nodes.p[i].slots + s;
		}
}

void program_link(program *p)
{
	program_link_uses(p);
	linker l = {.p = p, .seen = xcalloc(p->nodes.n + 1, sizeof *l.seen)};
	for (node_id n = 0; n < p->nodes.n && !l.callers.m; n++)
		if (p->nodes.p[n].kind == NODE_EDGE && p->nodes.p[n].op_kind == OP_SDY_FUNC_DATA_FLOW_EDGE)
			callers_init(&l.callers, p->m);
	for (pval_id v = 0; v < p->vals.n; v++)
		link_pval(&l, v);
	free(l.seen);
	callers_release(&l.callers);
}
