/* What the finding of layers asks of one op: how it looks, which unit it is part of, whether it is
 * a number or adds up numbers. */
#include "propagate/layers_internal.h"

/* ---------------------------------------------------------------- how an op looks */

static uint64_t hash_attr(const module *m, attr_id id)
{
	if (id == ID_NONE)
		return 1;
	const attr *a = attr_get(m, id);
	uint64_t h = hash_combine(a->kind * 2 + a->splat, (uint64_t)a->i);
	h = hash_combine(h, a->type);
	if (a->text.n)
		h = hash_bytes(a->text.p, a->text.n, h);
	if (a->word.n)
		h = hash_bytes(a->word.p, a->word.n, h);
	for (uint32_t i = 0; i < a->n && a->ints && a->kind != ATTR_DENSE; i++)
		h = hash_combine(h, (uint64_t)a->ints[i]);
	for (uint32_t i = 0; i < a->n && a->children; i++)
		h = hash_combine(hash_combine(h, a->children[i].name), hash_attr(m, a->children[i].value));
	for (uint32_t i = 0; i < a->n && a->shardings; i++)
		h = hash_combine(h, a->shardings[i]);
	return h;
}

/* Layers take their parts out of what is stacked or split for all of them: where a slice begins
 * and ends says nothing, but for how much it takes, which is in its type (folding.cut_apart). */
static bool is_place(const module *m, const ir_op *op, named_attr a)
{
	str name = strtab_get(&m->strs, a.name);
	return op->kind == OP_SLICE && (str_is(name, "start_indices") || str_is(name, "limit_indices"));
}

/* The value of a constant says nothing, but for whether it is one number. */
static uint64_t hash_op(const module *m, op_id o)
{
	const ir_op *op = op_at(m, o);
	uint64_t h = hash_combine(op->kind, op->name);
	bool constant = op->kind == OP_CONSTANT || op->kind == OP_SDY_CONSTANT;
	for (uint32_t i = 0; i < op->n_attrs; i++) {
		named_attr a = m->op_attrs.p[op->first_attr + i];
		h = hash_combine(h, a.name);
		if (is_place(m, op, a))
			continue;
		h = hash_combine(h, constant ? attr_get(m, a.value)->splat : hash_attr(m, a.value));
	}
	for (uint32_t r = 0; r < op->n_regions; r++)
		for (op_id in = op_region(m, o, r)->first; in != ID_NONE; in = op_at(m, in)->next)
			h = hash_combine(h, hash_op(m, in));
	return h;
}

static uint64_t look_of(const program *p, const node *n)
{
	uint64_t flags = n->kind | (uint64_t)n->fixed_direction << 8 | (uint64_t)n->elementwise << 16 |
		(uint64_t)n->pass_through_op << 17 | (uint64_t)n->forward_only_op << 18 |
		(uint64_t)n->operands_single_use << 19 | (uint64_t)n->pure << 20;
	uint64_t h =
		hash_combine(hash_combine(flags, n->rule), (uint64_t)n->n_operands << 16 | n->n_results);
	h = hash_combine(h, (uint64_t)n->trips << 1 | n->trips_known);
	h = hash_combine(h, n->kind == NODE_RESULT ? OP_RETURN : hash_op(p->m, n->op));
	for (uint32_t i = 0; i < (uint32_t)n->n_operands + n->n_results; i++)
		h = hash_combine(h, p->vals.p[p->slots.p[n->slots + i]].type);
	return h;
}

/* ---------------------------------------------------------------- units */

static bool is_edge_of(const program *p, node_id edge, node_id region)
{
	const module *m = p->m;
	return edge < p->nodes.n && p->nodes.p[edge].kind == NODE_EDGE &&
		value_def(m, op_operand(m, p->nodes.p[edge].op, 0)) == p->nodes.p[region].op;
}

void layers_find_units(finder *f)
{
	const program *p = f->p;
	for (node_id n = 0, end; n < p->nodes.n; n = end) {
		end = p->nodes.p[n].end;
		while (p->nodes.p[n].kind == NODE_REGION && is_edge_of(p, end, n))
			end++;
		f->unit_end[n] = end;
		for (node_id k = n; k < end; k++)
			f->unit[k] = n;
	}
}

/* ---------------------------------------------------------------- numbers */

/* What is a number of the program stands in no layer: layers read equal ones wherever they mean
 * something else by them (the number of a dropout and a rotation of its bits), and which one it is
 * makes no difference to what is asked of a layer. */
bool layers_is_number(const program *p, pval_id v)
{
	node_id def = p->vals.p[v].def;
	if (def == ID_NONE || p->nodes.p[def].parent != ID_NONE || pval_type(p, v)->rank)
		return false;
	return p->nodes.p[def].op_kind == OP_CONSTANT || p->nodes.p[def].op_kind == OP_SDY_CONSTANT;
}

/* ---------------------------------------------------------------- sums of scalars */

static bool is_scalar(const program *p, pval_id v)
{
	const ir_type *t = pval_type(p, v);
	return t->kind == TYPE_TENSOR && !t->rank;
}

bool layers_is_scalar_op(const program *p, node_id n)
{
	const node *x = &p->nodes.p[n];
	if (x->kind != NODE_OP || x->parent != ID_NONE || !x->elementwise || !x->n_operands ||
		x->n_results != 1)
		return false;
	for (uint32_t i = 0; i < (uint32_t)x->n_operands + x->n_results; i++)
		if (!is_scalar(p, p->slots.p[x->slots + i]))
			return false;
	return true;
}

bool layers_is_summed(const program *p, pval_id v)
{
	node_id def = p->vals.p[v].def;
	return def != ID_NONE && layers_is_scalar_op(p, def);
}

void layers_look(finder *f)
{
	for (node_id n = 0; n < f->p->nodes.n; n++)
		f->looks[n] = look_of(f->p, &f->p->nodes.p[n]);
}
