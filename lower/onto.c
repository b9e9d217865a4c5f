/* What XLA makes of x + scatter(zeros, ..) before it partitions: scatter(x, ..). The other summand
 * is then read where the scatter works, which may be elsewhere than where the sum is wanted. Sums
 * of two scatters stay what they are. */
#include "lower/internal.h"

static const node *maker_of(const program *p, pval_id v)
{
	return p->vals.p[v].def == ID_NONE ? NULL : &p->nodes.p[p->vals.p[v].def];
}

static const attr *dense_splat(const module *m, op_id constant)
{
	attr_id id = op_attr(m, constant, "value");
	const attr *a = id == ID_NONE ? NULL : attr_get(m, id);
	return a && a->kind == ATTR_DENSE && a->splat ? a : NULL;
}

static const attr *splat_of(const program *p, pval_id v)
{
	const node *n = maker_of(p, v);
	while (n && n->op_kind == OP_BROADCAST_IN_DIM)
		n = maker_of(p, node_slots(p, n)[0]);
	if (!n || (n->op_kind != OP_CONSTANT && n->op_kind != OP_SDY_CONSTANT))
		return NULL;
	return dense_splat(p->m, n->op);
}

bool is_splat_constant(const program *p, pval_id v) { return splat_of(p, v) != NULL; }

static bool is_zero(const attr *a)
{
	char text[64], *end;
	if (!a || !a->text.n || a->text.n >= sizeof text)
		return false;
	memcpy(text, a->text.p, a->text.n);
	text[a->text.n] = 0;
	return strtod(text, &end) == 0 && end != text && !*end;
}

bool is_splat_zero(const program *p, pval_id v) { return is_zero(splat_of(p, v)); }

bool is_made_zero(const module *m, value_id v)
{
	const ir_value *x = value_at(m, v);
	while (!x->is_arg && op_at(m, x->def)->kind == OP_BROADCAST_IN_DIM)
		x = value_at(m, op_operand(m, x->def, 0));
	return !x->is_arg && op_at(m, x->def)->kind == OP_CONSTANT && is_zero(dense_splat(m, x->def));
}

void scatter_find_onto(const program *p, node_id id, pval_id *onto)
{
	const node *n = &p->nodes.p[id];
	if (n->op_kind != OP_SCATTER || n->n_operands != 3 || n->n_results != 1 ||
		!is_splat_zero(p, node_slots(p, n)[0]))
		return;
	pval_id made = node_slots(p, n)[3];
	if (p->vals.p[made].n_uses != 1)
		return;
	uint32_t slot = p->uses.p[p->vals.p[made].uses];
	node_id sum = p->slot_node.p[slot];
	const node *s = &p->nodes.p[sum];
	if (s->op_kind != OP_ADD || s->kind != NODE_OP || s->parent != n->parent)
		return;
	pval_id other = node_slots(p, s)[slot == s->slots];
	node_id def = p->vals.p[other].def;
	if (def != ID_NONE &&
		(def >= id || p->nodes.p[def].op_kind == OP_SCATTER || onto[def] != ID_NONE))
		return;
	onto[id] = other;
	onto[sum] = made;
}
