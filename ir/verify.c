#include "ir/ir.h"

#include <stdlib.h>

enum { MAX_DEPTH = 4096 }; /* of regions, after inlining; printing recurses */

typedef struct structure {
	const module *m;
	diag *d;
	uint32_t *place; /* by op: number in pre-order, from 1; 0: not in the module */
} structure;

static status broken(const structure *s, op_id o, const char *what)
{
	str name = strtab_get(&s->m->strs, op_at(s->m, o)->name);
	return op_error(s->m, o, s->d, ST_ERR_INTERNAL, STR_FMT " (op %u): %s", STR_ARG(name), o, what);
}

static status check_links(const structure *s, region_id r)
{
	const ir_region *region = &s->m->regions.p[r];
	op_id prev = ID_NONE;
	for (op_id o = region->first; o != ID_NONE; prev = o, o = op_at(s->m, o)->next) {
		if (op_at(s->m, o)->parent != r || op_at(s->m, o)->prev != prev)
			return broken(s, o, "its links to its neighbours are wrong");
		if (op_at(s->m, o)->flags & OPS_ERASED)
			return broken(s, o, "it is erased, but still in a region");
		bool terminator = op_infos[op_at(s->m, o)->kind].flags & OPF_TERMINATOR;
		if (terminator && op_at(s->m, o)->next != ID_NONE)
			return broken(s, o, "a terminator in the middle of a region");
	}
	if (region->last != prev)
		return diag_set(s->d, ST_ERR_INTERNAL, "region %u does not end with its last op", r);
	return ST_OK;
}

static status check_regions(const structure *s, op_id o)
{
	const ir_op *op = op_at(s->m, o);
	for (uint32_t i = 0; i < op->n_regions; i++) {
		region_id r = op->regions + i;
		const ir_region *region = &s->m->regions.p[r];
		if (region->parent != o)
			return broken(s, o, "a region belongs to another op");
		TRY(check_links(s, r));
		for (uint32_t k = 0; k < region->n_args; k++) {
			const ir_value *v = value_at(s->m, region->args + k);
			if (!v->is_arg || v->def != r || v->index != k)
				return broken(s, o, "a block argument belongs to another region");
		}
		if (region->empty || op->kind == OP_UNKNOWN || op->kind == OP_BUILTIN_MODULE)
			continue;
		if (region->last == ID_NONE ||
			(region_terminator(s->m, r) == ID_NONE &&
				op_at(s->m, region->last)->kind != OP_UNKNOWN))
			return broken(s, o, "a region has no terminator");
	}
	return ST_OK;
}

/* The value is defined before the op, in its region or in one around it that is not cut off by a
 * function. */
static bool visible(const structure *s, value_id v, op_id user)
{
	const ir_value *at = value_at(s->m, v);
	region_id home = at->is_arg ? at->def : op_at(s->m, at->def)->parent;
	if (!at->is_arg && !s->place[at->def])
		return false;
	for (op_id o = user;;) {
		region_id r = op_at(s->m, o)->parent;
		if (r == home)
			return at->is_arg || (at->def != o && s->place[at->def] < s->place[o]);
		if (r == ID_NONE || s->m->regions.p[r].parent == ID_NONE ||
			op_at(s->m, s->m->regions.p[r].parent)->kind == OP_FUNC)
			return false;
		o = s->m->regions.p[r].parent;
	}
}

static status check_operands(const structure *s, op_id o)
{
	const ir_op *op = op_at(s->m, o);
	for (uint32_t i = 0; i < op->n_operands && op->kind != OP_FUNC; i++) {
		const use_slot *u = &s->m->slots.p[op->operands + i];
		if (u->owner != o)
			return broken(s, o, "an operand slot belongs to another op");
		if (!visible(s, u->value, o))
			return broken(s, o, "an operand is not defined before it");
	}
	for (uint32_t i = 0; i < op->n_results; i++) {
		const ir_value *v = value_at(s->m, op->results + i);
		if (v->is_arg || v->def != o || v->index != i)
			return broken(s, o, "a result belongs to another op");
	}
	return ST_OK;
}

/* Each list holds slots of its value only, doubly linked; together they hold every operand exactly
 * once. */
static status check_uses(const structure *s, uint64_t n_operands)
{
	uint64_t found = 0;
	for (value_id v = 0; v < s->m->values.n; v++) {
		slot_id prev = ID_NONE;
		for (slot_id u = value_at(s->m, v)->first_use; u != ID_NONE;
			 prev = u, u = s->m->slots.p[u].next) {
			const use_slot *slot = &s->m->slots.p[u];
			const ir_op *owner = op_at(s->m, slot->owner);
			if (slot->value != v || slot->prev != prev || ++found > s->m->slots.n)
				return diag_set(s->d, ST_ERR_INTERNAL, "the use list of value %u is broken", v);
			if (u < owner->operands || u >= owner->operands + owner->n_operands)
				return diag_set(
					s->d, ST_ERR_INTERNAL, "value %u is used by a slot that is no operand", v);
		}
	}
	if (found != n_operands)
		return diag_set(s->d, ST_ERR_INTERNAL, "%llu uses for %llu operands",
			(unsigned long long)found, (unsigned long long)n_operands);
	return ST_OK;
}

static uint32_t depth_of(const module *m, op_id o)
{
	uint32_t n = 0;
	for (; o != ID_NONE; o = op_at(m, o)->parent == ID_NONE ? ID_NONE : op_parent(m, o))
		n++;
	return n;
}

static status check_structure(structure *s)
{
	const module *m = s->m;
	uint32_t n = 0;
	TRY(check_links(s, m->body));
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		if (s->place[o])
			return broken(s, o, "it is in the module twice");
		s->place[o] = ++n;
		TRY(check_regions(s, o));
		if (op_at(m, o)->n_regions && depth_of(m, o) > MAX_DEPTH)
			return op_error(
				m, o, s->d, ST_ERR_LIMIT, "regions nested deeper than the limit of %d", MAX_DEPTH);
	}
	uint64_t n_operands = 0;
	for (op_id o = 0; o < m->ops.n; o++) {
		/* detached ops are a pass's scratch: their uses count, their place does not */
		if (op_at(m, o)->kind != OP_FUNC)
			n_operands += op_at(m, o)->n_operands;
		if (s->place[o])
			TRY(check_operands(s, o));
	}
	return check_uses(s, n_operands);
}

status module_verify(const module *m, diag *d)
{
	structure s = {m, d, xcalloc(m->ops.n, sizeof *s.place)};
	status st = check_structure(&s);
	free(s.place);
	return st;
}
