/* Constants and scalars: every use gets its own copy before propagation, so that no sharding
 * travels through them, and equal copies become one again after it. */
#include "propagate/passes.h"

#include <stdlib.h>

typedef struct splitter {
	module *m;
	bool *constant, *expansion; /* per op: a constant expression; a broadcast of a scalar */
	op_list constants, expansions;
	value_id *map;  /* value -> its copy, for the expression being copied */
	uint32_t n_map; /* values and ops that existed before the pass */
	VEC(value_id) touched;
	VEC(value_id) stack;
	bool *
		varies; /* per name of a function or named computation: more than constant-preserving ops */
	func_cloner cloner;
	status st;
} splitter;

static bool is_scalar(const module *m, value_id v)
{
	return value_type(m, v)->kind == TYPE_TENSOR && !value_type(m, v)->rank;
}

/* Does a call or a computation keep constants constant? By the original name of what it runs. */
static str_id computation_name(const module *m, op_id o)
{
	const func *f = call_target(m, o);
	str name = f ? func_original_name(m, f->op) : op_text(m, o, "name");
	return strtab_find(&m->strs, name);
}

/* Are its results constant when its operands are? */
static bool preserves_constants(const splitter *s, op_id o)
{
	switch (op_at(s->m, o)->kind) {
	case OP_CALL:
	case OP_SDY_NAMED_COMPUTATION: {
		str_id name = computation_name(s->m, o);
		return name == UINT32_MAX || !s->varies[name];
	}
	case OP_BROADCAST_IN_DIM:
	case OP_RESHAPE:
	case OP_SLICE: return true;
	default: return op_elementwise(s->m, o) && op_pure(s->m, o);
	}
}

static bool constant_expression(const splitter *s, op_id o)
{
	const ir_op *op = op_at(s->m, o);
	if (op->kind == OP_SDY_CONSTANT || op->kind == OP_IOTA)
		return true;
	if (!preserves_constants(s, o))
		return false;
	for (uint32_t i = 0; i < op->n_operands; i++) {
		op_id def = value_def(s->m, op_operand(s->m, o, i));
		if (def == ID_NONE || !s->constant[def])
			return false;
	}
	return true;
}

static void copy_groups(splitter *s, op_id o)
{
	module *m = s->m;
	for (uint32_t r = 0; r < op_at(m, o)->n_results; r++)
		for (slot_id u = value_at(m, op_result(m, o, r))->first_use; u != ID_NONE;
			 u = m->slots.p[u].next)
			if (op_at(m, m->slots.p[u].owner)->kind == OP_SDY_SHARDING_GROUP)
				op_insert_before(m, op_clone(m, m->slots.p[u].owner, s->map, s->n_map), o);
}

static bool needs_copy(const splitter *s, value_id v)
{
	op_id def = value_def(s->m, v);
	return def != ID_NONE && !is_scalar(s->m, v) && s->map[v] == ID_NONE;
}

/* Copies the expression that computes v, operands first, each op right before its original; scalars
 * are shared. */
static value_id copy_expression(splitter *s, value_id root)
{
	module *m = s->m;
	if (is_scalar(m, root))
		return root;
	s->touched.n = s->stack.n = 0;
	vec_push(&s->stack, root);
	while (s->stack.n) {
		value_id v = s->stack.p[s->stack.n - 1];
		op_id o = value_def(m, v);
		uint32_t waiting = s->stack.n;
		for (uint32_t i = op_at(m, o)->n_operands; i-- > 0 && s->map[v] == ID_NONE;)
			if (needs_copy(s, op_operand(m, o, i)))
				vec_push(&s->stack, op_operand(m, o, i));
		if (s->stack.n > waiting)
			continue;
		s->stack.n--;
		if (s->map[v] != ID_NONE)
			continue;
		op_id copy = op_clone(m, o, s->map, s->n_map);
		op_insert_before(m, copy, o);
		if (op_at(m, copy)->kind == OP_CALL && s->st == ST_OK)
			s->st = func_clone_for_call(&s->cloner, copy);
		for (uint32_t i = 0; i < op_at(m, o)->n_results; i++)
			vec_push(&s->touched, op_result(m, o, i));
		copy_groups(s, o);
	}
	value_id copy = s->map[root];
	for (uint32_t i = 0; i < s->touched.n; i++)
		s->map[s->touched.p[i]] = ID_NONE;
	return copy;
}

static void mark_varying(splitter *s, op_id o, op_id root)
{
	const module *m = s->m;
	str_id name = strtab_find(&m->strs, func_original_name(m, root));
	if (name != UINT32_MAX)
		s->varies[name] = true;
	for (op_id at = op_parent(m, o); at != ID_NONE; at = op_parent(m, at))
		if (op_at(m, at)->kind == OP_SDY_NAMED_COMPUTATION) {
			name = computation_name(m, at);
			if (name != UINT32_MAX)
				s->varies[name] = true;
			return;
		}
}

static void visit(splitter *s, op_id o, op_id root)
{
	module *m = s->m;
	if (op_at(m, o)->kind == OP_SDY_SHARDING_GROUP || op_at(m, o)->kind == OP_FUNC)
		return;
	if (constant_expression(s, o)) {
		s->constant[o] = true;
		vec_push(&s->constants, o);
		return;
	}
	if (!preserves_constants(s, o) && !(op_infos[op_at(m, o)->kind].flags & OPF_TERMINATOR))
		mark_varying(s, o, root);
	if (op_at(m, o)->kind == OP_BROADCAST_IN_DIM && is_scalar(m, op_operand(m, o, 0))) {
		s->expansion[o] = true;
		vec_push(&s->expansions, o);
		return;
	}
	for (uint32_t i = 0; i < op_at(m, o)->n_operands && s->st == ST_OK; i++) {
		value_id v = op_operand(m, o, i);
		op_id def = value_def(m, v);
		if (def != ID_NONE && (s->constant[def] || s->expansion[def]))
			op_set_operand(m, o, i, copy_expression(s, v));
	}
}

/* The originals go when only sharding groups still name them; latest first, so that operands follow
 * their users. */
static void erase_original(module *m, op_id o)
{
	for (uint32_t r = 0; r < op_at(m, o)->n_results; r++)
		for (slot_id u = value_at(m, op_result(m, o, r))->first_use; u != ID_NONE;
			 u = m->slots.p[u].next)
			if (op_at(m, m->slots.p[u].owner)->kind != OP_SDY_SHARDING_GROUP)
				return;
	for (uint32_t r = 0; r < op_at(m, o)->n_results; r++)
		while (value_has_uses(m, op_result(m, o, r)))
			op_erase(m, m->slots.p[value_at(m, op_result(m, o, r))->first_use].owner);
	op_erase(m, o);
}

static bool is_inside(const module *m, op_id o, op_id outer)
{
	while (o != ID_NONE && o != outer)
		o = op_parent(m, o);
	return o == outer;
}

/* The ops of a region in order, without those inside named computations, which are regions of their
 * own. */
static void split_region(splitter *s, op_id owner, op_id root)
{
	module *m = s->m;
	op_list ops = {0};
	for (op_id o = op_walk_next(m, owner, owner); o != ID_NONE;) {
		vec_push(&ops, o);
		op_id next = op_walk_next(m, owner, o);
		if (op_at(m, o)->kind == OP_SDY_NAMED_COMPUTATION)
			while (next != ID_NONE && is_inside(m, next, o))
				next = op_walk_next(m, owner, next);
		o = next;
	}
	s->constants.n = s->expansions.n = 0;
	for (uint32_t i = 0; i < ops.n && s->st == ST_OK; i++) {
		visit(s, ops.p[i], root);
		if (m->ops.n > MAX_PASS_OPS)
			s->st = op_error(m, ops.p[i], s->cloner.d, ST_ERR_LIMIT,
				"copies of constants make more than %d ops", MAX_PASS_OPS);
	}
	for (uint32_t i = 0; i < s->expansions.n; i++)
		erase_original(m, s->expansions.p[i]);
	for (uint32_t i = s->constants.n; i-- > 0;)
		erase_original(m, s->constants.p[i]);
	vec_release(&ops);
}

static void split_function(splitter *s, op_id root)
{
	op_list ops = {0};
	ops_post_order(s->m, root, &ops);
	for (uint32_t i = 0; i < ops.n; i++)
		if (op_at(s->m, ops.p[i])->kind == OP_SDY_NAMED_COMPUTATION)
			split_region(s, ops.p[i], root);
	vec_release(&ops);
	split_region(s, root, root);
}

/* Constants that no folder merges; names of computations become ids. */
static void prepare(module *m)
{
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		if (op_at(m, o)->kind == OP_CONSTANT) {
			op_get(m, o)->kind = OP_SDY_CONSTANT;
			op_get(m, o)->name = OP_SDY_CONSTANT;
		}
		if (op_at(m, o)->kind == OP_SDY_NAMED_COMPUTATION)
			strtab_add(&m->strs, op_text(m, o, "name"));
		if (op_at(m, o)->kind == OP_FUNC)
			strtab_add(&m->strs, func_original_name(m, o));
	}
}

status pass_constant_or_scalar_splitter(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options;
	prepare(m);
	op_list funcs = {0};
	splitter s = {.m = m, .n_map = m->values.n};
	funcs_callees_first(m, &funcs);
	func_cloner_init(&s.cloner, m, d);
	s.constant = xcalloc(m->ops.n + 1, sizeof *s.constant);
	s.expansion = xcalloc(m->ops.n + 1, sizeof *s.expansion);
	s.varies = xcalloc(m->strs.strs.n + 1, sizeof *s.varies);
	s.map = xmalloc((s.n_map + 1) * sizeof *s.map);
	memset(s.map, 0xff, (s.n_map + 1) * sizeof *s.map);
	for (uint32_t i = 0; i < funcs.n && s.st == ST_OK; i++)
		split_function(&s, funcs.p[i]);
	free(s.constant);
	free(s.expansion);
	free(s.varies);
	free(s.map);
	func_cloner_release(&s.cloner);
	vec_release(&s.constants);
	vec_release(&s.expansions);
	vec_release(&s.touched);
	vec_release(&s.stack);
	vec_release(&funcs);
	return s.st;
}

/* ---------------------------------------------------------------- merger */

/* A stablehlo.constant and an sdy.constant of the same attributes are merged too, into whichever is
 * first. */
static bool mergeable(const module *m, op_id o)
{
	uint16_t kind = op_at(m, o)->kind;
	return kind == OP_CONSTANT || kind == OP_SDY_CONSTANT ||
		(kind == OP_BROADCAST_IN_DIM && is_scalar(m, op_operand(m, o, 0)));
}

static uint64_t merge_hash(const module *m, op_id o)
{
	const ir_op *op = op_at(m, o);
	const ir_value *result = value_at(m, op->results);
	uint64_t h = hash_combine((uint64_t)op->parent << 32 | result->type,
		(uint64_t)result->sharding << 16 | (op->kind == OP_BROADCAST_IN_DIM));
	if (op->n_operands)
		return hash_combine(h, op_operand(m, o, 0));
	attr_id value = op_attr(m, o, "value");
	return value == ID_NONE ? h : hash_combine(h, attr_hash(m, value));
}

static bool merge_equal(const module *m, op_id a, op_id b)
{
	const ir_op *x = op_at(m, a), *y = op_at(m, b);
	const ir_value *u = value_at(m, x->results), *v = value_at(m, y->results);
	return (x->kind == OP_BROADCAST_IN_DIM) == (y->kind == OP_BROADCAST_IN_DIM) &&
		x->parent == y->parent && u->type == v->type && u->sharding == v->sharding &&
		(!x->n_operands || op_operand(m, a, 0) == op_operand(m, b, 0)) && attrs_equal(m, a, b);
}

status pass_constant_or_scalar_merger(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	op_list ops = {0};
	index_map seen;
	index_init(&seen);
	ops_post_order(m, ID_NONE, &ops);
	for (uint32_t i = 0; i < ops.n; i++) {
		op_id o = ops.p[i], other;
		if (!mergeable(m, o) || op_at(m, o)->n_results != 1)
			continue;
		uint64_t h = merge_hash(m, o);
		uint32_t it = index_first(&seen, h);
		bool found = false;
		while (!found && index_next(&seen, h, &it, &other))
			found = merge_equal(m, o, other);
		if (!found) {
			index_add(&seen, h, o);
			continue;
		}
		value_replace_uses(m, op_result(m, o, 0), op_result(m, other, 0), ID_NONE);
		op_erase(m, o);
	}
	index_release(&seen);
	vec_release(&ops);
	return ST_OK;
}
