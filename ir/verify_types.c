#include "ir/verify.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- what all checks share */

status fault(const checker *c, const char *fmt, ...)
{
	char msg[sizeof c->d->msg];
	va_list args;
	va_start(args, fmt);
	vsnprintf(msg, sizeof msg, fmt, args);
	va_end(args);
	str name = strtab_get(&c->m->strs, op_at(c->m, c->o)->name);
	const char *dot = memchr(name.p, '.', name.n);
	bool hlo = str_starts(name, "stablehlo.") || str_starts(name, "chlo.");
	str shown = dot && hlo ? (str){dot + 1, name.n - (size_t)(dot + 1 - name.p)} : name;
	return op_error(c->m, c->o, c->d, ST_ERR_INVALID, STR_FMT ": %s", STR_ARG(shown), msg);
}

bool same_dims(const ir_type *a, const ir_type *b)
{
	if (a->kind != b->kind || a->rank != b->rank)
		return false;
	for (uint32_t i = 0; i < a->rank; i++)
		if (!same_size(a->dims[i], b->dims[i]))
			return false;
	return true;
}

status check_same_dims(
	const checker *c, const ir_type *a, const char *a_name, const ir_type *b, const char *b_name)
{
	if (same_dims(a, b))
		return ST_OK;
	return fault(c, "shapes of %s and %s differ (" STR_FMT " vs " STR_FMT ")", a_name, b_name,
		STR_ARG(a->text), STR_ARG(b->text));
}

ints get_ints(const checker *c, const char *path)
{
	ints l;
	l.v = op_ints(c->m, c->o, path, &l.n);
	return l;
}

status check_dim_list(const checker *c, const char *name, ints list, uint32_t bound)
{
	uint32_t seen = 0;
	for (uint32_t i = 0; i < list.n; i++) {
		if (list.v[i] < 0 || list.v[i] >= bound)
			return fault(c, "%s has %lld, expected a dimension from 0 to %d", name,
				(long long)list.v[i], (int)bound - 1);
		if (seen >> list.v[i] & 1)
			return fault(c, "%s has dimension %lld twice", name, (long long)list.v[i]);
		seen |= 1u << list.v[i];
	}
	return ST_OK;
}

status check_length(const checker *c, const char *name, ints list, uint32_t n)
{
	return list.n == n ? ST_OK : fault(c, "%s has %u entries, expected %u", name, list.n, n);
}

status check_dim(const checker *c, const char *name, uint32_t rank, uint32_t *out)
{
	int64_t v = op_int(c->m, c->o, name, -1);
	if (v < 0 || v >= rank)
		return fault(
			c, "%s is %lld, expected a dimension from 0 to %d", name, (long long)v, (int)rank - 1);
	*out = (uint32_t)v;
	return ST_OK;
}

status check_dim_size(const checker *c, const char *what, uint32_t d, int64_t found, int64_t wanted)
{
	return same_size(found, wanted) ? ST_OK
									: fault(c, "dimension %u of %s is %lld, expected %lld", d, what,
										  (long long)found, (long long)wanted);
}

/* ---------------------------------------------------------------- signatures */

static status check_type_list(
	const checker *c, const char *what, uint32_t i, type_id found, type_id wanted)
{
	if (found == wanted)
		return ST_OK;
	return fault(c, "%s %u has type " STR_FMT ", expected " STR_FMT, what, i,
		STR_ARG(type_get(c->m, found)->text), STR_ARG(type_get(c->m, wanted)->text));
}

/* The terminator of region r hands over values of the types of the results of c->o. */
static status check_yields(const checker *c, region_id r)
{
	const ir_op *op = op_at(c->m, c->o);
	op_id last = region_terminator(c->m, r);
	if (last == ID_NONE)
		return fault(c, "a region has no terminator");
	if (op_at(c->m, last)->n_operands != op->n_results)
		return fault(c, "a region returns %u values, expected %u", op_at(c->m, last)->n_operands,
			op->n_results);
	for (uint32_t i = 0; i < op->n_results; i++)
		TRY(check_type_list(c, "returned value", i, value_at(c->m, op_operand(c->m, last, i))->type,
			value_at(c->m, op->results + i)->type));
	return ST_OK;
}

static status check_args_as_operands(const checker *c, uint32_t region)
{
	const ir_op *op = op_at(c->m, c->o);
	const ir_region *r = op_region(c->m, c->o, region);
	if (r->n_args != op->n_operands)
		return fault(
			c, "region %u has %u arguments, expected %u", region, r->n_args, op->n_operands);
	for (uint32_t i = 0; i < r->n_args; i++)
		TRY(check_type_list(c, "block argument", i, value_at(c->m, r->args + i)->type,
			value_at(c->m, op_operand(c->m, c->o, i))->type));
	return ST_OK;
}

status check_one_type(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	if (op->n_results != op->n_operands)
		return fault(c, "%u results for %u operands", op->n_results, op->n_operands);
	for (uint32_t i = 0; i < op->n_results; i++)
		TRY(check_type_list(c, "result", i, value_at(c->m, op->results + i)->type,
			value_at(c->m, op_operand(c->m, c->o, i))->type));
	return ST_OK;
}

status check_while(const checker *c)
{
	TRY(check_one_type(c));
	TRY(check_args_as_operands(c, 0));
	TRY(check_args_as_operands(c, 1));
	op_id test = region_terminator(c->m, op_at(c->m, c->o)->regions);
	if (test == ID_NONE || op_at(c->m, test)->n_operands != 1)
		return fault(c, "the condition returns no single value");
	const ir_type *t = value_type(c->m, op_operand(c->m, test, 0));
	if (t->kind != TYPE_TENSOR || t->rank || t->elem != ELEM_I1)
		return fault(c, "the condition returns " STR_FMT ", expected tensor<i1>", STR_ARG(t->text));
	return check_yields(c, op_at(c->m, c->o)->regions + 1);
}

/* case and if */
status check_branches(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	const ir_type *t = in_type(c, 0);
	if (t->kind != TYPE_TENSOR || t->rank)
		return fault(c, "the selector has type " STR_FMT ", expected a scalar", STR_ARG(t->text));
	for (uint32_t i = 0; i < op->n_regions; i++) {
		if (op_region(c->m, c->o, i)->n_args)
			return fault(c, "branch %u has arguments", i);
		TRY(check_yields(c, op->regions + i));
	}
	return ST_OK;
}

status check_call(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	str name = op_text(c->m, c->o, "callee");
	const func *f = module_func_near(c->m, c->o, name);
	if (!f)
		return fault(c, "the function '@" STR_FMT "' is not defined", STR_ARG(name));
	if (op->n_operands != f->n_args || op->n_results != f->n_results)
		return fault(c, "%u operands and %u results, '@" STR_FMT "' has %u and %u", op->n_operands,
			op->n_results, STR_ARG(name), f->n_args, f->n_results);
	for (uint32_t i = 0; i < f->n_args; i++)
		TRY(check_type_list(c, "operand", i, value_at(c->m, op_operand(c->m, c->o, i))->type,
			value_at(c->m, op_region(c->m, f->op, 0)->args + i)->type));
	for (uint32_t i = 0; i < f->n_results; i++)
		TRY(check_type_list(
			c, "result", i, value_at(c->m, op->results + i)->type, f->result_types[i]));
	return ST_OK;
}

status check_func(const checker *c)
{
	const func *f = module_func(c->m, c->o);
	if (!f)
		return fault(c, "it is not registered as a function");
	op_id parent = op_parent(c->m, c->o);
	if (parent != ID_NONE && op_at(c->m, parent)->kind != OP_BUILTIN_MODULE)
		return fault(c, "a function inside another operation");
	if (op_region(c->m, c->o, 0)->empty)
		return ST_OK;
	op_id last = region_terminator(c->m, op_at(c->m, c->o)->regions);
	if (last == ID_NONE || op_at(c->m, last)->kind != OP_FUNC_RETURN)
		return fault(c, "the function does not end with a return");
	checker at = {.m = c->m, .o = last, .d = c->d};
	if (op_at(c->m, last)->n_operands != f->n_results)
		return fault(&at, "%u values, the function has %u results", op_at(c->m, last)->n_operands,
			f->n_results);
	for (uint32_t i = 0; i < f->n_results; i++)
		TRY(check_type_list(
			&at, "value", i, value_at(c->m, op_operand(c->m, last, i))->type, f->result_types[i]));
	return ST_OK;
}

status check_get_tuple_element(const checker *c)
{
	const ir_type *t = in_type(c, 0);
	int64_t i = op_int(c->m, c->o, "index", -1);
	if (t->kind != TYPE_TUPLE || i < 0 || i >= t->n_parts)
		return fault(c, "no element %lld in " STR_FMT, (long long)i, STR_ARG(t->text));
	return check_type_list(
		c, "result", 0, value_at(c->m, op_result(c->m, c->o, 0))->type, t->parts[i]);
}

status check_tuple(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	const ir_type *t = out_type(c, 0);
	if (t->kind != TYPE_TUPLE || t->n_parts != op->n_operands)
		return fault(c, "%u operands for " STR_FMT, op->n_operands, STR_ARG(t->text));
	for (uint32_t i = 0; i < op->n_operands; i++)
		TRY(check_type_list(
			c, "operand", i, value_at(c->m, op_operand(c->m, c->o, i))->type, t->parts[i]));
	return ST_OK;
}

/* ---------------------------------------------------------------- simple ops */

static status check_ranked(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	for (uint32_t i = 0; i < op->n_operands + op->n_results; i++) {
		const ir_type *t = i < op->n_operands ? in_type(c, i) : out_type(c, i - op->n_operands);
		if (t->kind != TYPE_TENSOR || t->bare)
			return fault(c, "%s %u has type " STR_FMT ", expected a ranked tensor",
				i < op->n_operands ? "operand" : "result",
				i < op->n_operands ? i : i - op->n_operands, STR_ARG(t->text));
	}
	return ST_OK;
}

status check_pointwise(const checker *c)
{
	TRY(check_ranked(c));
	const ir_op *op = op_at(c->m, c->o);
	char name[32];
	for (uint32_t i = 0; i < op->n_operands; i++) {
		snprintf(name, sizeof name, "operand %u", i);
		TRY(check_same_dims(c, in_type(c, i), name, out_type(c, 0), "the result"));
	}
	return ST_OK;
}

/* Conditions and bounds may be scalars. */
status check_select(const checker *c)
{
	TRY(check_ranked(c));
	bool clamp = op_at(c->m, c->o)->kind == OP_CLAMP;
	static const char *const names[] = {"operand 0", "operand 1", "operand 2"};
	for (uint32_t i = 0; i < 3; i++) {
		bool may_be_scalar = clamp ? i != 1 : i == 0;
		if (!may_be_scalar || in_type(c, i)->rank)
			TRY(check_same_dims(c, in_type(c, i), names[i], out_type(c, 0), "the result"));
	}
	return ST_OK;
}

/* Collectives on any number of tensors: result i is shaped like operand i. */
status check_pairs(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	if (op->n_operands != op->n_results)
		return fault(c, "%u results for %u operands", op->n_results, op->n_operands);
	for (uint32_t i = 0; i < op->n_operands; i++)
		TRY(check_same_dims(c, in_type(c, i), "an operand", out_type(c, i), "its result"));
	return ST_OK;
}

status check_constant(const checker *c)
{
	attr_id a = op_attr(c->m, c->o, "value");
	attr_kind kind = a == ID_NONE ? ATTR_UNIT : (attr_kind)attr_get(c->m, a)->kind;
	if ((kind != ATTR_DENSE && kind != ATTR_RAW) || attr_get(c->m, a)->type == ID_NONE)
		return fault(c, "the value is no literal with a tensor type");
	return check_same_dims(
		c, type_get(c->m, attr_get(c->m, a)->type), "the value", out_type(c, 0), "the result");
}

/* ---------------------------------------------------------------- sdy */

status check_named_computation(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	TRY(check_sharding_list(c, "in_shardings", op->n_operands, false));
	TRY(check_sharding_list(c, "out_shardings", op->n_results, true));
	TRY(check_args_as_operands(c, 0));
	return check_yields(c, op->regions);
}

/* ---------------------------------------------------------------- table */

/* The columns of ops.def: how many operands, results and regions later code may rely on, and the
 * check of the rest. */
enum { MANY = MAX_OPERANDS };
typedef struct count {
	uint32_t min, max;
} count;

#define FROM(n) (-1 - (n))
#define LEAST(n) ((n) < 0 ? -1 - (n) : (n))
#define MOST(n) ((n) < 0 ? MANY : (n))
#define check_none NULL
static const struct {
	count in, out, regions;
	check_fn check;
	bool ranked;
} rows[OP_COUNT] = {
#define OP(id, text, form, in, out, regions, check, rule, cost, emit, flags) \
	[OP_##id] = {{LEAST(in), MOST(in)}, {LEAST(out), MOST(out)}, {LEAST(regions), MOST(regions)}, \
		check_##check, RANKED_##check},
#include "ir/ops.def"
#undef OP
};

static status check_count(const checker *c, const char *what, uint32_t found, count asked)
{
	if (found >= asked.min && found <= asked.max)
		return ST_OK;
	if (asked.min == asked.max)
		return fault(c, "%u %s, expected %u", found, what, asked.min);
	return fault(c, "%u %s, expected at least %u", found, what, asked.min);
}

static status check_op(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	/* the operands field of a function is no list */
	TRY(check_count(c, "operands", op->kind == OP_FUNC ? 0 : op->n_operands, rows[op->kind].in));
	TRY(check_count(c, "results", op->n_results, rows[op->kind].out));
	TRY(check_count(c, "regions", op->n_regions, rows[op->kind].regions));
	bool may_be_empty =
		op->kind == OP_UNKNOWN || op->kind == OP_FUNC || op->kind == OP_BUILTIN_MODULE;
	for (uint32_t i = 0; i < op->n_regions && !may_be_empty; i++)
		if (op_region(c->m, c->o, i)->last == ID_NONE)
			return fault(c, "region %u is empty", i);
	if (rows[op->kind].ranked)
		TRY(check_ranked(c));
	if (!op->n_results)
		TRY(check_no_result_sharding(c));
	for (uint32_t i = 0; i < op->n_results && c->in_manual; i++)
		TRY(check_free_axes(c, value_at(c->m, op->results + i)->sharding));
	if (c->has_rules)
		TRY(check_rule(c));
	return rows[op->kind].check ? rows[op->kind].check(c) : ST_OK;
}

/* ---------------------------------------------------------------- recursion */

enum { NEW, OPEN, DONE };

/* Calls must not come back: passes inline them. Depth first over functions with the place in each
 * body on a stack. */
static status check_recursion(const module *m, diag *d)
{
	struct frame {
		uint32_t f;
		op_id at;
	};
	uint8_t *state = xcalloc(m->funcs.n, 1);
	struct frame *stack = xmalloc((m->funcs.n + 1) * sizeof *stack);
	status s = ST_OK;
	for (uint32_t root = 0; root < m->funcs.n && s == ST_OK; root++) {
		uint32_t n = 0;
		if (state[root] == NEW && !(op_at(m, m->funcs.p[root].op)->flags & OPS_ERASED)) {
			state[root] = OPEN;
			stack[n++] = (struct frame){root, m->funcs.p[root].op};
		}
		while (n && s == ST_OK) {
			struct frame *top = &stack[n - 1];
			op_id o = top->at = op_walk_next(m, m->funcs.p[top->f].op, top->at);
			if (o == ID_NONE) {
				state[top->f] = DONE;
				n--;
				continue;
			}
			const func *callee = op_at(m, o)->kind == OP_CALL
				? module_func_near(m, o, op_text(m, o, "callee"))
				: NULL;
			uint32_t f = callee ? (uint32_t)(callee - m->funcs.p) : 0;
			if (callee && state[f] == OPEN)
				s = op_error(m, o, d, ST_ERR_INVALID, "call: '@" STR_FMT "' calls itself",
					STR_ARG(strtab_get(&m->strs, callee->name)));
			else if (callee && state[f] == NEW) {
				state[f] = OPEN;
				stack[n++] = (struct frame){f, callee->op};
			}
		}
	}
	free(state);
	free(stack);
	return s;
}

status module_verify_types(const module *m, diag *d)
{
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_at(m, o)->next)
		if (op_at(m, o)->kind == OP_BUILTIN_MODULE)
			return op_error(m, o, d, ST_ERR_UNSUPPORTED,
				"a module inside a module is kept as it is, but not planned");
	return module_verify_ops(m, d);
}

status module_verify_ops(const module *m, diag *d)
{
	checker c = {
		.m = m, .d = d, .has_rules = strtab_find(&m->strs, STR("sdy.sharding_rule")) != UINT32_MAX};
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		c.o = o;
		TRY(check_op(&c));
		c.in_manual |= op_at(m, o)->kind == OP_SDY_MANUAL_COMPUTATION;
	}
	return check_recursion(m, d);
}
