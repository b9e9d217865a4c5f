/* Building and changing a module: creation of ops, their place in regions, uses, copies.
 *
 * Use lists are kept newest first, exactly as MLIR keeps them, because the order in which
 * propagation visits users decides ties between shardings. */
#include "ir/build.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- uses */

static void use_add(module *m, slot_id s)
{
	use_slot *u = &m->slots.p[s];
	ir_value *v = &m->values.p[u->value];
	u->prev = ID_NONE;
	u->next = v->first_use;
	if (u->next != ID_NONE)
		m->slots.p[u->next].prev = s;
	v->first_use = s;
}

static void use_drop(module *m, slot_id s)
{
	use_slot *u = &m->slots.p[s];
	if (u->prev != ID_NONE)
		m->slots.p[u->prev].next = u->next;
	else
		m->values.p[u->value].first_use = u->next;
	if (u->next != ID_NONE)
		m->slots.p[u->next].prev = u->prev;
}

static void use_move(module *m, slot_id s, value_id to)
{
	use_drop(m, s);
	m->slots.p[s].value = to;
	use_add(m, s);
}

void op_give_operands(module *m, op_id o, const value_id *operands, uint32_t n)
{
	ir_op *op = op_get(m, o);
	op->operands = m->slots.n;
	op->n_operands = n;
	for (uint32_t i = 0; i < n; i++) {
		vec_push(&m->slots, (use_slot){.value = operands[i], .owner = o});
		use_add(m, m->slots.n - 1);
	}
}

void op_give_results(module *m, op_id o, const type_id *types, uint32_t n)
{
	ir_op *op = op_get(m, o);
	op->results = m->values.n;
	op->n_results = n;
	for (uint32_t i = 0; i < n; i++)
		vec_push(
			&m->values, (ir_value){.type = types[i], .def = o, .index = i, .first_use = ID_NONE});
}

void op_set_operand(module *m, op_id o, uint32_t i, value_id v)
{
	use_move(m, op_at(m, o)->operands + i, v);
}

void op_set_operands(module *m, op_id o, const value_id *operands, uint32_t n)
{
	ir_op *op = op_get(m, o);
	uint32_t kept = MIN(n, op->n_operands);
	for (uint32_t i = 0; i < kept; i++)
		use_move(m, op->operands + i, operands[i]);
	for (uint32_t i = n; i < op->n_operands; i++)
		use_drop(m, op->operands + i);
	op->n_operands = kept;
	if (n == kept)
		return;
	/* Slots of one op are contiguous: the old ones move to the end and keep their places in the use
	 * lists. */
	slot_id from = op->operands, to = m->slots.n;
	vec_reserve(&m->slots, to + n);
	m->slots.n += n;
	for (uint32_t i = 0; i < kept; i++) {
		use_slot u = m->slots.p[from + i];
		m->slots.p[to + i] = u;
		if (u.prev != ID_NONE)
			m->slots.p[u.prev].next = to + i;
		else
			m->values.p[u.value].first_use = to + i;
		if (u.next != ID_NONE)
			m->slots.p[u.next].prev = to + i;
	}
	for (uint32_t i = kept; i < n; i++) {
		m->slots.p[to + i] = (use_slot){.value = operands[i], .owner = o};
		use_add(m, to + i);
	}
	op->operands = to;
	op->n_operands = n;
}

void value_replace_uses(module *m, value_id from, value_id to, op_id except)
{
	if (from == to)
		return;
	for (slot_id s = m->values.p[from].first_use, next; s != ID_NONE; s = next) {
		next = m->slots.p[s].next;
		if (m->slots.p[s].owner != except)
			use_move(m, s, to);
	}
}

/* ---------------------------------------------------------------- ops and regions */

op_id op_create(module *m, op_kind kind, str_id name, loc_id loc, uint32_t src)
{
	vec_push(&m->ops,
		(ir_op){.kind = (uint16_t)kind,
			.name = kind == OP_UNKNOWN ? name : (str_id)kind,
			.parent = ID_NONE,
			.prev = ID_NONE,
			.next = ID_NONE,
			.loc = loc,
			.src = src});
	return m->ops.n - 1;
}

void op_give_regions(module *m, op_id o, uint32_t n)
{
	ir_op *op = op_get(m, o);
	op->regions = m->regions.n;
	op->n_regions = n;
	for (uint32_t i = 0; i < n; i++)
		vec_push(&m->regions,
			(ir_region){.parent = o,
				.first = ID_NONE,
				.last = ID_NONE,
				.args = m->values.n,
				.empty = true});
}

op_id op_new(module *m, op_kind kind, str_id name, const value_id *operands, uint32_t n_operands,
	const type_id *result_types, uint32_t n_results, uint32_t n_regions, loc_id loc)
{
	op_id o = op_create(m, kind, name, loc, UINT32_MAX);
	op_give_operands(m, o, operands, n_operands);
	op_give_results(m, o, result_types, n_results);
	op_give_regions(m, o, n_regions);
	return o;
}

value_id region_add_arg(module *m, region_id r, type_id t, loc_id loc)
{
	ir_region *region = &m->regions.p[r];
	if (region->n_args == 0)
		region->args = m->values.n;
	assert(region->args + region->n_args == m->values.n);
	region->empty = false;
	vec_push(&m->values,
		(ir_value){.type = t,
			.def = r,
			.index = region->n_args,
			.first_use = ID_NONE,
			.loc = loc,
			.is_arg = true});
	region->n_args++;
	return m->values.n - 1;
}

/* Links o between prev and next (ID_NONE: end of the region). */
static void link_op(module *m, op_id o, region_id r, op_id prev, op_id next)
{
	ir_op *op = op_get(m, o);
	ir_region *region = &m->regions.p[r];
	op->parent = r;
	op->prev = prev;
	op->next = next;
	region->empty = false;
	*(prev == ID_NONE ? &region->first : &op_get(m, prev)->next) = o;
	*(next == ID_NONE ? &region->last : &op_get(m, next)->prev) = o;
}

void op_insert_before(module *m, op_id o, op_id before)
{
	link_op(m, o, op_at(m, before)->parent, op_at(m, before)->prev, before);
}
void op_insert_after(module *m, op_id o, op_id after)
{
	link_op(m, o, op_at(m, after)->parent, after, op_at(m, after)->next);
}
void op_append(module *m, op_id o, region_id r) { link_op(m, o, r, m->regions.p[r].last, ID_NONE); }

void op_unlink(module *m, op_id o)
{
	ir_op *op = op_get(m, o);
	if (op->parent == ID_NONE)
		return;
	ir_region *region = &m->regions.p[op->parent];
	*(op->prev == ID_NONE ? &region->first : &op_get(m, op->prev)->next) = op->next;
	*(op->next == ID_NONE ? &region->last : &op_get(m, op->next)->prev) = op->prev;
	op->parent = op->prev = op->next = ID_NONE;
}

void op_erase(module *m, op_id o)
{
	op_unlink(m, o);
	for (op_id at = o; at != ID_NONE; at = op_walk_next(m, o, at)) {
		ir_op *op = op_get(m, at);
		for (uint32_t i = 0; i < op->n_operands; i++)
			use_drop(m, op->operands + i);
		op->n_operands = 0;
		op->flags |= OPS_ERASED;
	}
}

/* ---------------------------------------------------------------- copies */

struct cloning {
	value_id *map; /* original -> copy, ID_NONE: itself */
	uint32_t n_map;
};

static value_id mapped(const struct cloning *c, value_id v)
{
	return v < c->n_map && c->map[v] != ID_NONE ? c->map[v] : v;
}

static void note(struct cloning *c, value_id from, value_id to)
{
	if (from < c->n_map)
		c->map[from] = to;
}

static void copy_value_facts(module *m, value_id from, value_id to)
{
	const ir_value *v = value_at(m, from);
	ir_value *copy = value_get(m, to);
	copy->sharding = v->sharding;
	copy->name = v->name;
	copy->loc = v->loc;
}

/* The op itself, with regions that have arguments but no ops yet. */
static op_id clone_shell(module *m, op_id o, struct cloning *c)
{
	op_id copy =
		op_create(m, op_at(m, o)->kind, op_at(m, o)->name, op_at(m, o)->loc, op_at(m, o)->src);
	op_get(m, copy)->flags = op_at(m, o)->flags;
	uint32_t n = op_at(m, o)->n_attrs;
	vec_reserve(&m->op_attrs, m->op_attrs.n + n);
	if (n)
		memcpy(m->op_attrs.p + m->op_attrs.n, m->op_attrs.p + op_at(m, o)->first_attr,
			n * sizeof *m->op_attrs.p);
	op_get(m, copy)->first_attr = m->op_attrs.n;
	op_get(m, copy)->n_attrs = n;
	m->op_attrs.n += n;

	op_give_operands(m, copy, NULL, 0);
	op_get(m, copy)->n_operands = op_at(m, o)->n_operands;
	for (uint32_t i = 0; i < op_at(m, o)->n_operands; i++) {
		vec_push(&m->slots, (use_slot){.value = mapped(c, op_operand(m, o, i)), .owner = copy});
		use_add(m, m->slots.n - 1);
	}
	op_give_results(m, copy, NULL, 0);
	op_get(m, copy)->n_results = op_at(m, o)->n_results;
	for (uint32_t i = 0; i < op_at(m, o)->n_results; i++) {
		value_id from = op_result(m, o, i);
		vec_push(&m->values,
			(ir_value){
				.type = value_at(m, from)->type, .def = copy, .index = i, .first_use = ID_NONE});
		copy_value_facts(m, from, m->values.n - 1);
		note(c, from, m->values.n - 1);
	}
	op_give_regions(m, copy, op_at(m, o)->n_regions);
	for (uint32_t i = 0; i < op_at(m, o)->n_regions; i++) {
		region_id r = op_at(m, copy)->regions + i, source = op_at(m, o)->regions + i;
		m->regions.p[r].args = m->values.n;
		for (uint32_t k = 0; k < m->regions.p[source].n_args; k++) {
			value_id from = m->regions.p[source].args + k;
			value_id to = region_add_arg(m, r, value_at(m, from)->type, value_at(m, from)->loc);
			copy_value_facts(m, from, to);
			note(c, from, to);
		}
		m->regions.p[r].empty = m->regions.p[source].empty;
	}
	return copy;
}

static void clone_func(module *m, op_id o, op_id copy)
{
	const func *f = module_func(m, o);
	if (!f)
		return;
	func old = *f;
	func *new = func_add(m, copy, strtab_get(&m->strs, old.name), old.result_types, old.n_results);
	new->is_private = old.is_private;
	for (uint32_t i = 0; i < old.n_args; i++)
		new->arg_attrs[i] = old.arg_attrs[i];
	for (uint32_t i = 0; i < old.n_results; i++) {
		new->result_attrs[i] = old.result_attrs[i];
		new->result_shardings[i] = old.result_shardings[i];
	}
}

op_id op_clone(module *m, op_id o, value_id *map, uint32_t n_map)
{
	struct cloning c = {map, n_map};
	value_id *whole = NULL;
	if (op_at(m, o)->n_regions && n_map < m->values.n) {
		/* values inside the regions need places too */
		c.n_map = m->values.n;
		c.map = whole = xmalloc(c.n_map * sizeof *whole);
		memset(whole, 0xff, c.n_map * sizeof *whole);
		if (n_map)
			memcpy(whole, map, n_map * sizeof *whole);
	}
	op_id copy = clone_shell(m, o, &c);
	clone_func(m, o, copy);
	/* Depth first with both trees in step: `at` is the next original to copy, `into` its region's
	 * copy. */
	op_id at = o, twin = copy;
	for (;;) {
		op_id next = op_walk_next(m, o, at);
		if (next == ID_NONE)
			break;
		/* The copy of next's region: under twin when next is inside `at`, else under the copy of an
		 * ancestor. */
		region_id r = op_at(m, next)->parent;
		op_id owner = m->regions.p[r].parent;
		while (at != owner) {
			at = op_parent(m, at);
			twin = op_parent(m, twin);
		}
		region_id into = op_at(m, twin)->regions + (r - op_at(m, owner)->regions);
		at = next;
		twin = clone_shell(m, next, &c);
		op_append(m, twin, into);
	}
	if (whole && n_map)
		memcpy(map, whole, n_map * sizeof *map);
	free(whole);
	return copy;
}
