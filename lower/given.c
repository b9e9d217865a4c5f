/* Collectives that the program itself names, inside manual computations: the mesh axes that their
 * groups lie along. */
#include "lower/internal.h"

static bool is_given(uint16_t kind, uint8_t *coll)
{
	switch (kind) {
	case OP_HLO_ALL_REDUCE: *coll = COLL_ALL_REDUCE; return true;
	case OP_HLO_ALL_GATHER: *coll = COLL_ALL_GATHER; return true;
	case OP_HLO_REDUCE_SCATTER: *coll = COLL_REDUCE_SCATTER; return true;
	case OP_HLO_ALL_TO_ALL: *coll = COLL_ALL_TO_ALL; return true;
	case OP_HLO_COLLECTIVE_PERMUTE: *coll = COLL_COLLECTIVE_PERMUTE; return true;
	default: return false;
	}
}

bool lop_is_own(const lowered *l, const lop *o)
{
	uint8_t coll;
	return o->given && is_given(l->p->nodes.p[o->node].op_kind, &coll);
}

/* Device ids, n to a row: groups, or pairs of source and target. */
static const int64_t *rows_of(const module *m, op_id o, uint8_t coll, uint32_t *n, int64_t *in_row)
{
	const char *name = coll == COLL_COLLECTIVE_PERMUTE ? "source_target_pairs" : "replica_groups";
	attr_id a = op_attr(m, o, name);
	const attr *list = a == ID_NONE ? NULL : attr_get(m, a);
	if (!list || list->kind != ATTR_DENSE || list->type == ID_NONE ||
		type_get(m, list->type)->rank != 2)
		return NULL;
	*in_row = type_get(m, list->type)->dims[1];
	return op_ints(m, o, name, n);
}

const collective_step *given_step(lower_cache *c, node_id id)
{
	const node *n = &c->p->nodes.p[id];
	uint8_t coll;
	if (c->mesh == ID_NONE || !is_given(n->op_kind, &coll) || !n->n_operands ||
		n->n_operands != n->n_results)
		return NULL;
	const device_mesh *mesh = &c->t->meshes.p[c->mesh];
	uint32_t count;
	int64_t in_row, stride = 1, product = 1;
	const int64_t *ids = rows_of(c->p->m, n->op, coll, &count, &in_row);
	if (!ids || !in_row || count < in_row || mesh->n_device_ids)
		return NULL;
	axis_ref *list = arena_array(&c->keep, axis_ref, mesh->n_axes);
	uint32_t n_axes = 0;
	for (uint32_t i = mesh->n_axes; i-- > 0; stride *= mesh->axis_sizes[i]) {
		bool varies = false;
		for (uint32_t k = 0; k < count && !varies; k++)
			varies = ids[k] / stride % mesh->axis_sizes[i] !=
				ids[k - k % in_row] / stride % mesh->axis_sizes[i];
		if (!varies)
			continue;
		list[n_axes++] = axis_make(i, 1, mesh->axis_sizes[i]);
		product *= mesh->axis_sizes[i];
	}
	if (!n_axes || (coll != COLL_COLLECTIVE_PERMUTE && product != in_row))
		return NULL;
	for (uint32_t i = 0; i < n_axes / 2; i++) {
		axis_ref a = list[i];
		list[i] = list[n_axes - 1 - i];
		list[n_axes - 1 - i] = a;
	}
	collective_step *s = arena_array(&c->keep, collective_step, 1);
	sharding_id at = c->replicated[pval_type(c->p, c->p->slots.p[n->slots])->rank];
	*s = (collective_step){.kind = coll, .in = at, .out = at, .axes = {list, n_axes}};
	return s;
}
