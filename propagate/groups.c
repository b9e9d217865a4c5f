/* Sharding groups before propagation: members that start out alike get one sharding; where they do
 * not, open constraints take their places, so that the group can still hold. */
#include "propagate/passes.h"

#include <stdlib.h>

typedef struct member {
	int64_t group;
	uint32_t order;
	value_id value;
} member;

static int compare_members(const void *x, const void *y)
{
	const member *a = x, *b = y;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static bool says_something(const module *m, sharding_id id)
{
	if (id == SHARDING_NONE)
		return false;
	const sharding *s = sharding_get(m->shardings, id);
	for (uint32_t d = 0; d < s->rank; d++)
		if (s->dims[d].n || s->dims[d].closed)
			return true;
	return false;
}

static void constrain(module *m, value_id v, mesh_id mesh)
{
	type_id type = value_at(m, v)->type;
	op_id o = op_new(m, OP_SDY_SHARDING_CONSTRAINT, 0, &v, 1, &type, 1, 0, value_at(m, v)->loc);
	if (value_at(m, v)->is_arg)
		op_insert_before(m, o, m->regions.p[value_at(m, v)->def].first);
	else
		op_insert_after(m, o, value_at(m, v)->def);
	value_get(m, op_result(m, o, 0))->sharding = sharding_open(m, mesh, value_type(m, v)->rank);
	value_replace_uses(m, v, op_result(m, o, 0), o);
}

/* Members may be arguments of regions, or results of computations: their shardings are an edge's or
 * a list's. */
static void sync_group(module *m, const member *list, uint32_t n)
{
	sharding_id common = SHARDING_NONE;
	bool conflict = false;
	for (uint32_t i = 0; i < n && !conflict; i++) {
		sharding_id sh = value_sharding(m, list[i].value);
		if (!says_something(m, sh))
			continue;
		conflict = common != SHARDING_NONE && sh != common;
		common = common == SHARDING_NONE ? sh : common;
	}
	if (common == SHARDING_NONE)
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (conflict)
			constrain(m, list[i].value, sharding_get(m->shardings, common)->mesh);
		else
			value_set_sharding(m, list[i].value, common);
	}
}

void sharding_groups_sync(module *m)
{
	op_list ops = {0};
	VEC(member) members = {0};
	ops_pre_order(m, ID_NONE, &ops);
	for (uint32_t i = 0; i < ops.n; i++)
		if (op_at(m, ops.p[i])->kind == OP_SDY_SHARDING_GROUP && op_at(m, ops.p[i])->n_operands)
			vec_push(&members,
				(member){op_int(m, ops.p[i], "group_id", 0), i, op_operand(m, ops.p[i], 0)});
	if (members.n)
		qsort(members.p, members.n, sizeof *members.p, compare_members);
	for (uint32_t first = 0, end; first < members.n; first = end) {
		for (end = first + 1; end < members.n && members.p[end].group == members.p[first].group;
			 end++)
			;
		sync_group(m, members.p + first, end - first);
	}
	vec_release(&members);
	vec_release(&ops);
}
