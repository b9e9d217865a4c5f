/* Sharding constraints and sharding groups. */
#include "propagate/passes.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- apply-sharding-constraints */

static bool fully_closed(const module *m, sharding_id id)
{
	const sharding *s = sharding_get(m->shardings, id);
	for (uint32_t d = 0; d < s->rank; d++)
		if (!s->dims[d].closed)
			return false;
	return true;
}

static uint16_t user_kind(const module *m, slot_id u)
{
	return op_at(m, m->slots.p[u].owner)->kind;
}
static uint32_t user_operand(const module *m, slot_id u)
{
	return u - op_at(m, m->slots.p[u].owner)->operands;
}

/* What a use asks its value to be: the sharding of a constraint, a manual computation's
 * in_sharding; else none. */
static sharding_id demanded(const module *m, slot_id u)
{
	op_id owner = m->slots.p[u].owner;
	if (user_kind(m, u) == OP_SDY_SHARDING_CONSTRAINT)
		return value_at(m, op_result(m, owner, 0))->sharding;
	if (user_kind(m, u) == OP_SDY_MANUAL_COMPUTATION)
		return op_sharding_at(m, owner, "in_shardings", user_operand(m, u));
	return SHARDING_NONE;
}

/* A closed demand becomes the value's own sharding when nothing else has a say. */
static bool should_apply(module *m, value_id input, sharding_id wanted)
{
	if (value_sharding(m, input) != SHARDING_NONE || wanted == SHARDING_NONE ||
		!fully_closed(m, wanted))
		return false;
	for (slot_id u = value_at(m, input)->first_use; u != ID_NONE; u = m->slots.p[u].next) {
		sharding_id other = demanded(m, u);
		if (other != SHARDING_NONE && other != wanted)
			return false;
	}
	return true;
}

static void place_after_value(module *m, op_id o, value_id v)
{
	if (!value_at(m, v)->is_arg)
		op_insert_after(m, o, value_at(m, v)->def);
	else if (m->regions.p[value_at(m, v)->def].first != ID_NONE)
		op_insert_before(m, o, m->regions.p[value_at(m, v)->def].first);
	else
		op_append(m, o, value_at(m, v)->def);
}

/* An edge takes the unreduced axes alone. */
static void set_unreduced(module *m, value_id v, const sharding *wanted)
{
	sharding_edit e;
	sharding_edit_init(&e, wanted->mesh, wanted->rank, false);
	axes_copy(&e.unreduced, sharding_unreduced(wanted));
	value_set_sharding(m, v, sharding_intern(m->shardings, &e));
}

static void apply(module *m, value_id input, sharding_id wanted, op_id constraint)
{
	if (!should_apply(m, input, wanted))
		return;
	/* several values share the sharding of an edge: a constraint on one must not become theirs */
	if (!value_is_on_edge(m, input)) {
		value_set_sharding(m, input, wanted);
		if (constraint != ID_NONE)
			op_store_rule(m, constraint, false);
		return;
	}
	if (sharding_unreduced(sharding_get(m->shardings, wanted)).n)
		set_unreduced(m, input, sharding_get(m->shardings, wanted));
	if (constraint == ID_NONE) {
		type_id type = value_at(m, input)->type;
		constraint = op_new(
			m, OP_SDY_SHARDING_CONSTRAINT, 0, &input, 1, &type, 1, 0, value_at(m, input)->loc);
		value_get(m, op_result(m, constraint, 0))->sharding = wanted;
	} else {
		op_unlink(m, constraint);
	}
	place_after_value(m, constraint, input);
	value_replace_uses(m, input, op_result(m, constraint, 0), constraint);
}

/* ---------------------------------------------------------------- chains of constraints */

static op_id only_user(const module *m, value_id v, uint16_t kind)
{
	slot_id u = value_at(m, v)->first_use;
	return value_one_use(m, v) && user_kind(m, u) == kind ? m->slots.p[u].owner : ID_NONE;
}

/* Does a constraint or a manual computation other than `except` read the value? */
static bool is_constrained(const module *m, value_id v, op_id except)
{
	for (slot_id u = value_at(m, v)->first_use; u != ID_NONE; u = m->slots.p[u].next)
		if (m->slots.p[u].owner != except &&
			(user_kind(m, u) == OP_SDY_SHARDING_CONSTRAINT ||
				user_kind(m, u) == OP_SDY_MANUAL_COMPUTATION))
			return true;
	return false;
}

/* The end of a chain x -> head -> .. -> tail of two or more single-use constraints on an unsharded
 * value that no other constraint reads; ID_NONE when head starts none. */
static op_id chain_tail(module *m, op_id head)
{
	value_id input = op_operand(m, head, 0);
	op_id def = value_def(m, input), tail = head;
	if (def != ID_NONE && op_at(m, def)->kind == OP_SDY_SHARDING_CONSTRAINT)
		return ID_NONE;
	for (op_id next = head; next != ID_NONE;
		 next = only_user(m, op_result(m, tail, 0), OP_SDY_SHARDING_CONSTRAINT))
		tail = next;
	if (tail == head || value_sharding(m, input) != SHARDING_NONE ||
		is_constrained(m, input, head) || is_constrained(m, op_result(m, tail, 0), ID_NONE))
		return ID_NONE;
	return tail;
}

/* order: position of every op in its block, as the pass found them. Constraints that moved up went
 * to blocks' earlier places, which only makes later ops later. */
static void redirect_chain(module *m, op_id head, const uint32_t *order, uint32_t n_order)
{
	op_id tail = chain_tail(m, head);
	if (tail == ID_NONE)
		return;
	value_id input = op_operand(m, head, 0);
	for (slot_id u = value_at(m, input)->first_use, next; u != ID_NONE; u = next) {
		next = m->slots.p[u].next;
		op_id owner = m->slots.p[u].owner;
		if (op_at(m, owner)->kind != OP_FUNC_RETURN &&
			op_at(m, owner)->parent == op_at(m, tail)->parent && owner < n_order &&
			order[owner] > order[tail])
			op_set_operand(m, owner, user_operand(m, u), op_result(m, tail, 0));
	}
}

status pass_apply_sharding_constraints(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	op_list ops = {0};
	ops_post_order(m, ID_NONE, &ops);
	uint32_t n_order = m->ops.n, *order = xcalloc((size_t)n_order + 1, sizeof *order);
	for (uint32_t i = 0; i < ops.n; i++)
		order[ops.p[i]] = i;
	for (uint32_t i = 0; i < ops.n; i++) {
		op_id o = ops.p[i];
		if (op_at(m, o)->kind == OP_SDY_SHARDING_CONSTRAINT) {
			redirect_chain(m, o, order, n_order);
			apply(m, op_operand(m, o, 0), value_at(m, op_result(m, o, 0))->sharding, o);
		} else if (op_at(m, o)->kind == OP_SDY_MANUAL_COMPUTATION) {
			for (uint32_t k = 0; k < op_at(m, o)->n_operands; k++)
				apply(m, op_operand(m, o, k), op_sharding_at(m, o, "in_shardings", k), ID_NONE);
		}
	}
	free(order);
	vec_release(&ops);
	return ST_OK;
}

status pass_sharding_constraint_to_reshard(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o))
		if (op_at(m, o)->kind == OP_SDY_SHARDING_CONSTRAINT) {
			op_get(m, o)->kind = OP_SDY_RESHARD;
			op_get(m, o)->name = OP_SDY_RESHARD;
			op_attr_remove(m, o, "sdy.sharding_rule");
		}
	return ST_OK;
}

/* ---------------------------------------------------------------- sharding groups */

typedef struct group_use {
	op_id op;
	int64_t id;
} group_use;
typedef struct groups {
	VEC(group_use) uses;
	VEC(int64_t) ids;     /* distinct, ascending */
	VEC(uint32_t) leader; /* per id: index of the smallest id of its class */
} groups;

static int64_t group_id(const module *m, op_id o) { return op_int(m, o, "group_id", 0); }

static int compare_ids(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static uint32_t find_id(const groups *g, int64_t id)
{
	const int64_t *at = bsearch(&id, g->ids.p, g->ids.n, sizeof id, compare_ids);
	return (uint32_t)(at - g->ids.p);
}

static uint32_t find_leader(groups *g, uint32_t i)
{
	while (g->leader.p[i] != i)
		i = g->leader.p[i] = g->leader.p[g->leader.p[i]];
	return i;
}

static void collect_groups(const module *m, groups *g)
{
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o))
		if (op_at(m, o)->kind == OP_SDY_SHARDING_GROUP) {
			vec_push(&g->uses, (group_use){o, group_id(m, o)});
			vec_push(&g->ids, group_id(m, o));
		}
	if (g->ids.n)
		qsort(g->ids.p, g->ids.n, sizeof *g->ids.p, compare_ids);
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->ids.n; i++)
		if (!n || g->ids.p[n - 1] != g->ids.p[i])
			g->ids.p[n++] = g->ids.p[i];
	g->ids.n = n;
	for (uint32_t i = 0; i < n; i++)
		vec_push(&g->leader, i);
}

static op_id enclosing_manual(const module *m, op_id o)
{
	for (o = op_parent(m, o); o != ID_NONE && op_at(m, o)->kind != OP_SDY_MANUAL_COMPUTATION;)
		o = op_parent(m, o);
	return o;
}

static status check_groups(const module *m, const groups *g, diag *d)
{
	op_id *first = xmalloc((g->ids.n + 1) * sizeof *first);
	status st = ST_OK;
	memset(first, 0xff, (g->ids.n + 1) * sizeof *first);
	for (uint32_t i = 0; i < g->uses.n && st == ST_OK; i++) {
		op_id o = g->uses.p[i].op, *other = &first[find_id(g, g->uses.p[i].id)];
		if (*other == ID_NONE) {
			*other = o;
			continue;
		}
		const ir_type *a = value_type(m, op_operand(m, o, 0)),
					  *b = value_type(m, op_operand(m, *other, 0));
		if (enclosing_manual(m, o) != enclosing_manual(m, *other))
			st = op_error(m, o, d, ST_ERR_INVALID,
				"ShardingGroupOps values cannot cross ManualComputationOp boundaries for groupId: "
				"%lld",
				(long long)g->uses.p[i].id);
		else if (a->rank != b->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims))
			st = op_error(m, o, d, ST_ERR_INVALID,
				"ShardingGroupOps values must have the same shape for groupId: %lld",
				(long long)g->uses.p[i].id);
	}
	free(first);
	return st;
}

/* Groups that share a value become one; ids are renumbered in the order in which groups first
 * appear. */
static void unify_groups(module *m, groups *g)
{
	for (uint32_t i = 0; i < g->uses.n; i++) {
		value_id v = op_operand(m, g->uses.p[i].op, 0);
		for (slot_id u = value_at(m, v)->first_use; u != ID_NONE; u = m->slots.p[u].next) {
			if (user_kind(m, u) != OP_SDY_SHARDING_GROUP)
				continue;
			uint32_t a = find_leader(g, find_id(g, g->uses.p[i].id)),
					 b = find_leader(g, find_id(g, group_id(m, m->slots.p[u].owner)));
			g->leader.p[MAX(a, b)] = MIN(a, b);
		}
	}
	uint32_t *number = xmalloc((g->ids.n + 1) * sizeof *number), next = 0;
	memset(number, 0xff, (g->ids.n + 1) * sizeof *number);
	for (uint32_t i = 0; i < g->uses.n; i++) {
		uint32_t leader = find_leader(g, find_id(g, g->uses.p[i].id));
		if (number[leader] == UINT32_MAX)
			number[leader] = next++;
		uint32_t id = number[leader];
		attr_id old = op_attr(m, g->uses.p[i].op, "group_id");
		attr a = old == ID_NONE ? (attr){.kind = ATTR_INT, .type = ID_NONE} : *attr_get(m, old);
		a.i = id;
		op_attr_set(m, g->uses.p[i].op, "group_id", attr_new(m, &a));
	}
	free(number);
}

/* One membership per value is enough: after unification all groups of a value are the same. */
static void erase_duplicates(module *m, groups *g)
{
	for (uint32_t i = 0; i < g->uses.n; i++) {
		op_id o = g->uses.p[i].op;
		if (op_erased(m, o))
			continue;
		for (slot_id u = value_at(m, op_operand(m, o, 0))->first_use, next; u != ID_NONE;
			 u = next) {
			next = m->slots.p[u].next;
			if (m->slots.p[u].owner != o && user_kind(m, u) == OP_SDY_SHARDING_GROUP)
				op_erase(m, m->slots.p[u].owner);
		}
	}
}

status pass_sharding_group_import(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options;
	groups g = {0};
	collect_groups(m, &g);
	status st = check_groups(m, &g, d);
	if (st == ST_OK) {
		unify_groups(m, &g);
		erase_duplicates(m, &g);
	}
	vec_release(&g.uses);
	vec_release(&g.ids);
	vec_release(&g.leader);
	return st;
}

status pass_remove_sharding_groups(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	op_list ops = {0};
	ops_pre_order(m, ID_NONE, &ops);
	for (uint32_t i = 0; i < ops.n; i++)
		if (op_at(m, ops.p[i])->kind == OP_SDY_SHARDING_GROUP)
			op_erase(m, ops.p[i]);
	vec_release(&ops);
	return ST_OK;
}
