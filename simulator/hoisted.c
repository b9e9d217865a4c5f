/* What XLA for TPU takes out of loops. A conversion of what a loop hands on as it is, to a type
 * that is no wider, is done once, in front of the loop: weights that a decoder rounds in every
 * turn. */
#include "simulator/state.h"

/* Does the body hand on the argument that it gets, in its place? */
static bool is_handed_on(const module *m, region_id body, value_id argument)
{
	const ir_region *r = &m->regions.p[body];
	if (argument < r->args || argument >= r->args + r->n_args || r->empty || r->last == ID_NONE)
		return false;
	uint32_t place = argument - r->args;
	return place < op_at(m, r->last)->n_operands && op_operand(m, r->last, place) == argument;
}

static bool is_hoisted(const program *p, const node *n)
{
	enum { BODY = 1 };
	const node *loop = n->parent == ID_NONE ? NULL : &p->nodes.p[n->parent];
	if (n->op_kind != OP_CONVERT || !loop || loop->op_kind != OP_WHILE || n->region != BODY)
		return false;
	const pval_id *slots = node_slots(p, n);
	const ir_type *from = pval_type(p, slots[0]), *to = pval_type(p, slots[1]);
	return elem_bits(to->elem) <= elem_bits(from->elem) && from->elements > 1 &&
		is_handed_on(p->m, op_at(p->m, loop->op)->regions + BODY, op_operand(p->m, n->op, 0));
}

void find_hoisted(simulator *s)
{
	s->hoisted = xcalloc(MAX(s->p->nodes.n, 1), sizeof *s->hoisted);
	for (node_id n = 0; n < s->p->nodes.n; n++)
		s->hoisted[n] = is_hoisted(s->p, &s->p->nodes.p[n]);
}
