/* Trip counts of counted loops, in the form that jax's scan and fori_loop leave: a counter in the
 * carry, compared with a bound that does not change, and incremented by a constant. What else ends
 * a loop, or a counter that starts with an argument, leaves the count unknown, as it is to XLA
 * (known_trip_count), but not the bound. */
#include "propagate/program_internal.h"

static bool is_body_of(const module *m, region_id r, value_id v, uint32_t *index)
{
	const ir_value *x = value_at(m, v);
	if (!x->is_arg || x->def != r)
		return false;
	*index = x->index;
	return true;
}

static bool number_of(const module *m, value_id v, uint32_t *left, int64_t *out);

/* Does an iteration hand this carry on as it got it? */
static bool is_carried_along(const module *m, const ir_op *loop, uint32_t i)
{
	op_id end = region_terminator(m, loop->regions + 1);
	uint32_t back;
	return end != ID_NONE && i < op_at(m, end)->n_operands &&
		is_body_of(m, loop->regions + 1, op_operand(m, end, i), &back) && back == i;
}

/* Arithmetic on numbers, as XLA folds it before it looks at loops. */
static bool computed(const module *m, op_id o, uint32_t *left, int64_t *out)
{
	const ir_op *op = op_at(m, o);
	int64_t x, y;
	if (op->n_operands != 2 || !number_of(m, op_operand(m, o, 0), left, &x) ||
		!number_of(m, op_operand(m, o, 1), left, &y))
		return false;
	switch (op->kind) {
	case OP_ADD: return !__builtin_add_overflow(x, y, out);
	case OP_SUBTRACT: return !__builtin_sub_overflow(x, y, out);
	case OP_MULTIPLY: return !__builtin_mul_overflow(x, y, out);
	case OP_MAXIMUM: *out = MAX(x, y); return true;
	case OP_MINIMUM: *out = MIN(x, y); return true;
	default: return false;
	}
}

/* A scalar that is the same whenever the program runs: a constant, what is computed from some, or
 * one that loops around it carry along. Conversions of scalars and constraints on them do not
 * change the number. */
static bool number_of(const module *m, value_id v, uint32_t *left, int64_t *out)
{
	const ir_value *x = value_at(m, v);
	if (!*left)
		return false;
	--*left;
	if (x->is_arg) {
		op_id o = m->regions.p[x->def].parent;
		const ir_op *loop = o == ID_NONE ? NULL : op_at(m, o);
		return loop && loop->kind == OP_WHILE && loop->n_regions == 2 &&
			x->index < loop->n_operands && is_carried_along(m, loop, x->index) &&
			number_of(m, op_operand(m, o, x->index), left, out);
	}
	const ir_op *def = op_at(m, x->def);
	if (def->kind == OP_CONSTANT || def->kind == OP_SDY_CONSTANT)
		return op_constant_int(m, x->def, out);
	if ((def->kind == OP_CONVERT || def->kind == OP_RESHAPE ||
			def->kind == OP_SDY_SHARDING_CONSTRAINT) &&
		def->n_operands)
		return number_of(m, op_operand(m, x->def, 0), left, out);
	return computed(m, x->def, left, out);
}

static bool constant_of(const module *m, value_id v, int64_t *out)
{
	uint32_t left = 32; /* values on the way to constants */
	return number_of(m, v, &left, out);
}

/* The constant that an iteration adds to carry i. */
static bool step_of(const module *m, const ir_op *loop, uint32_t i, int64_t *out)
{
	region_id body = loop->regions + 1;
	op_id end = region_terminator(m, body);
	if (end == ID_NONE || i >= op_at(m, end)->n_operands)
		return false;
	op_id add = value_def(m, op_operand(m, end, i));
	if (add == ID_NONE || op_at(m, add)->n_operands != 2)
		return false;
	uint16_t kind = op_at(m, add)->kind;
	uint32_t at;
	if (is_body_of(m, body, op_operand(m, add, 0), &at) && at == i &&
		(kind == OP_ADD || kind == OP_SUBTRACT)) {
		if (!constant_of(m, op_operand(m, add, 1), out) || *out == INT64_MIN)
			return false;
		*out = kind == OP_ADD ? *out : -*out;
		return true;
	}
	return kind == OP_ADD && is_body_of(m, body, op_operand(m, add, 1), &at) && at == i &&
		constant_of(m, op_operand(m, add, 0), out);
}

/* Iterations while from (+ k * step) < bound. */
static bool count_up(int64_t from, int64_t step, int64_t bound, int64_t *out)
{
	int64_t span;
	if (step <= 0 || __builtin_sub_overflow(bound, from, &span))
		return false;
	*out = span <= 0 ? 0 : (span - 1) / step + 1;
	return true;
}

/* Iterations that comparison `test` of the condition of loop o allows. bound: a counter that begins
 * at nobody knows what begins at 0. */
static bool trips_by(const module *m, op_id o, op_id test, bool bounded, int64_t *out)
{
	const ir_op *loop = op_at(m, o);
	if (test == ID_NONE || op_at(m, test)->kind != OP_COMPARE)
		return false;
	str word = op_text(m, test, "comparison_direction");
	bool less = str_is(word, "LT") || str_is(word, "LE"),
		 equal = str_is(word, "LE") || str_is(word, "GE"), apart = str_is(word, "NE");
	if (!less && !apart && !str_is(word, "GT") && !str_is(word, "GE"))
		return false;
	for (uint32_t side = 0; side < 2; side++) {
		uint32_t i;
		int64_t from = 0, step, bound, n;
		if (!is_body_of(m, loop->regions, op_operand(m, test, side), &i) || i >= loop->n_operands ||
			(!constant_of(m, op_operand(m, o, i), &from) && !bounded) ||
			!step_of(m, loop, i, &step) || !constant_of(m, op_operand(m, test, 1 - side), &bound))
			continue;
		if (from <= INT64_MIN + 1 || step <= INT64_MIN + 1 || bound <= INT64_MIN + 1)
			return false;
		bool up = apart ? step > 0 : less == (side == 0); /* counter < bound, either way round */
		if (!up) {
			from = -from;
			step = -step;
			bound = -bound;
		}
		if ((equal && bound == INT64_MAX) || !count_up(from, step, bound + equal, &n))
			return false;
		if (apart && (bound < from || (bound - from) % step)) /* it never gets there */
			return false;
		*out = n;
		return true;
	}
	return false;
}

/* What the condition of a loop says; ID_NONE: nothing that an op makes. */
static op_id condition_of(const module *m, op_id o)
{
	const ir_op *loop = op_at(m, o);
	op_id end = loop->n_regions == 2 ? region_terminator(m, loop->regions) : ID_NONE;
	return end == ID_NONE || op_at(m, end)->n_operands != 1 ? ID_NONE
															: value_def(m, op_operand(m, end, 0));
}

bool while_trips(const module *m, op_id o, int64_t *out)
{
	return trips_by(m, o, condition_of(m, o), false, out);
}

/* The least of what the comparisons allow that must all hold. */
static bool bound_by_all(const module *m, op_id o, op_id test, uint32_t depth, int64_t *out)
{
	enum { MAX_CONDITIONS = 6 }; /* nested; those of real loops are one or two */
	if (test == ID_NONE || op_at(m, test)->kind != OP_AND || depth == MAX_CONDITIONS)
		return trips_by(m, o, test, true, out);
	int64_t a, b;
	bool first = bound_by_all(m, o, value_def(m, op_operand(m, test, 0)), depth + 1, &a),
		 second = bound_by_all(m, o, value_def(m, op_operand(m, test, 1)), depth + 1, &b);
	*out = first && second ? MIN(a, b) : first ? a : b;
	return first || second;
}

bool while_bound(const module *m, op_id o, int64_t *out)
{
	enum { MOST = 1 << 20 }; /* beyond, a bound is there to say that there is none */
	return bound_by_all(m, o, condition_of(m, o), 0, out) && *out > 0 && *out <= MOST;
}
