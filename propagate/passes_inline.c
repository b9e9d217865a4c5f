/* MLIR's inline, symbol-dce and canonicalize, as far as they act on these dialects. */
#include "propagate/passes.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- canonicalize */

/* Where a constant goes: the body of the closest op that sees nothing of its surroundings. */
static region_id isolated_region(const module *m, op_id o)
{
	region_id r = op_at(m, o)->parent;
	for (;;) {
		op_id owner = m->regions.p[r].parent;
		if (owner == ID_NONE)
			return r;
		uint16_t kind = op_at(m, owner)->kind;
		if (kind == OP_FUNC || kind == OP_SDY_MANUAL_COMPUTATION ||
			kind == OP_SDY_NAMED_COMPUTATION || kind == OP_BUILTIN_MODULE)
			return r;
		r = op_at(m, owner)->parent;
	}
}

/* Constants move to the front of their function, newest first, and equal ones become one, as MLIR's
 * folder does. A run of constants that is at the front already stays as it is. */
static void hoist_constants(module *m, op_id root)
{
	op_list ops = {0};
	index_map seen;
	index_init(&seen);
	ops_pre_order(m, root, &ops);
	bool *owned = xcalloc(m->ops.n, sizeof *owned);
	for (uint32_t i = 0; i < ops.n; i++) {
		op_id o = ops.p[i];
		if (op_at(m, o)->kind != OP_CONSTANT)
			continue;
		region_id r = isolated_region(m, o);
		attr_id value = op_attr(m, o, "value");
		if (value == ID_NONE)
			continue;
		uint64_t h = hash_combine(attr_hash(m, value), r);
		uint32_t it = index_first(&seen, h), other = ID_NONE;
		bool found = false;
		while (!found && index_next(&seen, h, &it, &other))
			found = isolated_region(m, other) == r &&
				attr_equal(m, value, op_attr(m, other, "value")) &&
				value_at(m, op_result(m, other, 0))->type == value_at(m, op_result(m, o, 0))->type;
		if (found) {
			value_replace_uses(m, op_result(m, o, 0), op_result(m, other, 0), ID_NONE);
			op_erase(m, o);
			continue;
		}
		op_id front = m->regions.p[r].first, prev = op_at(m, o)->prev;
		if (op_at(m, o)->parent != r || (front != o && (prev == ID_NONE || !owned[prev]))) {
			op_unlink(m, o);
			op_insert_before(m, o, front);
		}
		owned[o] = true;
		index_add(&seen, h, o);
	}
	free(owned);
	index_release(&seen);
	vec_release(&ops);
}

/* Of the collectives these alone go when nobody reads them. */
static bool unused_all_to_all(const module *m, op_id o)
{
	return op_at(m, o)->kind == OP_SDY_ALL_TO_ALL && !value_has_uses(m, op_result(m, o, 0));
}

static void erase_dead(module *m, op_id root)
{
	op_list ops = {0};
	ops_pre_order(m, root, &ops);
	for (uint32_t i = ops.n; i-- > 0;)
		if (ops.p[i] != root && !op_erased(m, ops.p[i]) &&
			(op_dead(m, ops.p[i]) || unused_all_to_all(m, ops.p[i])))
			op_erase(m, ops.p[i]);
	vec_release(&ops);
}

/* reshard(reshard(x)) is one reshard when nothing else reads the inner one. */
static void fold_reshards(module *m, op_id root)
{
	op_list ops = {0};
	ops_pre_order(m, root, &ops);
	for (uint32_t i = 0; i < ops.n; i++) {
		op_id o = ops.p[i];
		if (op_erased(m, o) || op_at(m, o)->kind != OP_SDY_RESHARD)
			continue;
		op_id inner = value_def(m, op_operand(m, o, 0));
		if (inner == ID_NONE || op_at(m, inner)->kind != OP_SDY_RESHARD ||
			!value_one_use(m, op_result(m, inner, 0)))
			continue;
		op_set_operand(m, o, 0, op_operand(m, inner, 0));
		op_erase(m, inner);
	}
	vec_release(&ops);
}

/* Arguments of a manual computation that its body does not read are dropped. */
static void drop_unused_inputs(module *m, op_id root)
{
	op_list ops = {0};
	ops_pre_order(m, root, &ops);
	for (uint32_t i = 0; i < ops.n; i++) {
		op_id o = ops.p[i];
		if (op_erased(m, o) || op_at(m, o)->kind != OP_SDY_MANUAL_COMPUTATION)
			continue;
		region_id r = op_at(m, o)->regions;
		uint32_t n = m->regions.p[r].n_args, kept = 0;
		attr_id in = op_attr(m, o, "in_shardings");
		if (n != op_at(m, o)->n_operands || in == ID_NONE || attr_get(m, in)->n != n)
			continue;
		value_id args = m->regions.p[r].args, *operands = xmalloc((n + 1) * sizeof *operands);
		sharding_id *shardings = xmalloc((n + 1) * sizeof *shardings);
		for (uint32_t k = 0; k < n; k++) {
			if (!value_has_uses(m, args + k))
				continue;
			operands[kept] = op_operand(m, o, k);
			shardings[kept] = attr_get(m, in)->shardings[k];
			if (kept != k) {
				/* the argument takes the place of an unused one before it */
				ir_value moved = *value_at(m, args + k);
				moved.index = kept;
				moved.first_use = ID_NONE;
				*value_get(m, args + kept) = moved;
				value_replace_uses(m, args + k, args + kept, ID_NONE);
			}
			kept++;
		}
		if (kept != n) {
			m->regions.p[r].n_args = kept;
			op_set_operands(m, o, operands, kept);
			op_set_shardings(m, o, "in_shardings", shardings, kept);
		}
		free(operands);
		free(shardings);
	}
	vec_release(&ops);
}

static void canonicalize(module *m, op_id root)
{
	hoist_constants(m, root);
	fold_reshards(m, root);
	collectives_fold(m, root);
	erase_dead(m, root);
	drop_unused_inputs(m, root);
	erase_dead(m, root);
}

/* The pipeline's own canonicalizer knows the collective patterns only, but it folds and removes
 * dead ops all the same. */
status pass_collective_canonicalize(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	hoist_constants(m, ID_NONE);
	collectives_fold(m, ID_NONE);
	erase_dead(m, ID_NONE);
	return ST_OK;
}

status pass_canonicalize(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	str only = option_text(options, n_options, "enable-patterns", "");
	if (str_is(only, "sdy-collective") || str_is(only, "{sdy-collective}"))
		return pass_collective_canonicalize(m, options, n_options, d);
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = op_at(m, o)->next)
		if (op_at(m, o)->kind == OP_FUNC)
			canonicalize(m, o);
	return ST_OK;
}

/* ---------------------------------------------------------------- symbol-dce */

static void mark_symbols(const module *m, attr_id a, op_list *queue, bool *live)
{
	const attr *at = attr_get(m, a);
	if (at->kind == ATTR_SYMBOL) {
		const func *f = module_func_named(m, at->text);
		if (f && !live[f->op]) {
			live[f->op] = true;
			vec_push(queue, f->op);
		}
	}
	for (uint32_t i = 0; at->children && i < at->n; i++)
		mark_symbols(m, at->children[i].value, queue, live);
}

status pass_symbol_dce(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	op_list queue = {0};
	bool *live = xcalloc(m->ops.n + 1, sizeof *live);
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = op_at(m, o)->next) {
		const func *f = module_func(m, o);
		if (!f || !f->is_private) {
			live[o] = true;
			vec_push(&queue, o);
		}
	}
	while (queue.n) {
		op_id root = vec_pop(&queue);
		for (op_id o = root; o != ID_NONE; o = op_walk_next(m, root, o))
			for (uint32_t i = 0; i < op_at(m, o)->n_attrs; i++)
				mark_symbols(m, m->op_attrs.p[op_at(m, o)->first_attr + i].value, &queue, live);
	}
	for (op_id o = m->regions.p[m->body].first, next; o != ID_NONE; o = next) {
		next = op_at(m, o)->next;
		if (!live[o])
			op_erase(m, o);
	}
	free(live);
	vec_release(&queue);
	return ST_OK;
}

/* ---------------------------------------------------------------- inline */

typedef struct inliner {
	module *m;
	uint8_t *state;    /* per func: 0 new, 1 in progress, 2 done */
	VEC(value_id) map; /* value of the callee -> its copy; all ID_NONE between calls */
	uint64_t copied;
	diag *d;
} inliner;

static void cover_values(inliner *in)
{
	vec_reserve(&in->map, in->m->values.n);
	while (in->map.n < in->m->values.n)
		in->map.p[in->map.n++] = ID_NONE;
}

static void forget_copies(inliner *in, op_id root)
{
	const module *m = in->m;
	for (op_id o = root; o != ID_NONE; o = op_walk_next(m, root, o)) {
		const ir_op *op = op_at(m, o);
		for (uint32_t i = 0; i < op->n_results; i++)
			in->map.p[op->results + i] = ID_NONE;
		for (uint32_t r = 0; r < op->n_regions; r++)
			for (uint32_t i = 0; i < m->regions.p[op->regions + r].n_args; i++)
				in->map.p[m->regions.p[op->regions + r].args + i] = ID_NONE;
	}
}

static status inline_call(inliner *in, op_id call, func *callee)
{
	module *m = in->m;
	const ir_region *body = op_region(m, callee->op, 0);
	op_id end = region_terminator(m, op_at(m, callee->op)->regions);
	if (body->n_args != op_at(m, call)->n_operands || end == ID_NONE ||
		op_at(m, end)->n_operands != op_at(m, call)->n_results)
		return op_error(m, call, in->d, ST_ERR_INVALID,
			"call of @" STR_FMT ": its signature differs from the function's",
			STR_ARG(strtab_get(&m->strs, callee->name)));
	cover_values(in);
	for (uint32_t i = 0; i < body->n_args; i++)
		in->map.p[body->args + i] = op_operand(m, call, i);
	uint32_t before = m->ops.n;
	for (op_id o = op_region(m, callee->op, 0)->first; o != end; o = op_at(m, o)->next) {
		cover_values(in);
		op_insert_before(m, op_clone(m, o, in->map.p, in->map.n), call);
	}
	in->copied += m->ops.n - before;
	for (uint32_t i = 0; i < op_at(m, call)->n_results; i++)
		value_replace_uses(m, op_result(m, call, i), in->map.p[op_operand(m, end, i)], ID_NONE);
	op_erase(m, call);
	forget_copies(in, callee->op);
	if (in->copied > MAX_PASS_OPS)
		return op_error(
			m, callee->op, in->d, ST_ERR_LIMIT, "inlining makes more than %d ops", MAX_PASS_OPS);
	return ST_OK;
}

/* Callees first, so that what is copied is final; calls in a cycle stay. Depth is bounded by the
 * number of functions on a chain of calls: an explicit stack keeps long chains off the C stack. */
static status inline_into(inliner *in, uint32_t first)
{
	module *m = in->m;
	VEC(uint32_t) stack = {0};
	status st = ST_OK;
	vec_push(&stack, first);
	while (stack.n && st == ST_OK) {
		uint32_t f = stack.p[stack.n - 1];
		op_id root = m->funcs.p[f].op;
		op_list calls = {0};
		bool waits = false;
		in->state[f] = 1;
		for (op_id o = root; o != ID_NONE; o = op_walk_next(m, root, o)) {
			func *callee = call_target(m, o);
			if (!callee || op_region(m, callee->op, 0)->empty)
				continue;
			uint32_t c = (uint32_t)(callee - m->funcs.p);
			if (in->state[c] == 0) {
				vec_push(&stack, c);
				waits = true;
				break;
			}
			if (in->state[c] == 2)
				vec_push(&calls, o);
		}
		for (uint32_t i = 0; i < calls.n && !waits && st == ST_OK; i++)
			st = inline_call(in, calls.p[i], call_target(m, calls.p[i]));
		vec_release(&calls);
		if (!waits) {
			canonicalize(m, root);
			in->state[f] = 2;
			stack.n--;
		}
	}
	vec_release(&stack);
	return st;
}

/* Use lists as reading the printed module would make them: the order of uses after moving code
 * around is no property of the program. */
static void renew_uses(module *m)
{
	op_list ops = {0};
	ops_post_order(m, ID_NONE, &ops);
	for (uint32_t i = 0; i < m->values.n; i++)
		m->values.p[i].first_use = ID_NONE;
	for (uint32_t i = 0; i < ops.n; i++) {
		const ir_op *op = op_at(m, ops.p[i]);
		for (uint32_t k = 0; k < op->n_operands; k++) {
			slot_id s = op->operands + k;
			ir_value *v = value_get(m, m->slots.p[s].value);
			m->slots.p[s].prev = ID_NONE;
			m->slots.p[s].next = v->first_use;
			if (v->first_use != ID_NONE)
				m->slots.p[v->first_use].prev = s;
			v->first_use = s;
		}
	}
	vec_release(&ops);
}

status pass_inline(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options;
	inliner in = {.m = m, .state = xcalloc(m->funcs.n + 1, 1), .d = d};
	status st = ST_OK;
	for (uint32_t f = 0; f < m->funcs.n && st == ST_OK; f++)
		if (!in.state[f] && !op_erased(m, m->funcs.p[f].op))
			st = inline_into(&in, f);
	free(in.state);
	vec_release(&in.map);
	renew_uses(m);
	return st;
}
