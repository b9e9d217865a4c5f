/* Trip counts of counted loops, in the form that jax's scan and fori_loop leave: a counter in the carry, compared with
 * a bound that does not change, and incremented by a constant. */
#include "propagate/program_internal.h"

static bool is_body_of(const module *m, region_id r, value_id v, uint32_t *index)
{
	const value *x = value_at(m, v);
	if (!x->is_arg || x->def != r)
		return false;
	*index = x->index;
	return true;
}

/* Conversions of scalars and constraints on them do not change the number. */
static bool constant_of(const module *m, value_id v, int64_t *out)
{
	for (op_id def; (def = value_def(m, v)) != ID_NONE; v = op_operand(m, def, 0)) {
		uint16_t kind = op_at(m, def)->kind;
		if (kind == OP_CONSTANT || kind == OP_SDY_CONSTANT)
			return op_constant_int(m, def, out);
		if ((kind != OP_CONVERT && kind != OP_RESHAPE && kind != OP_SDY_SHARDING_CONSTRAINT) || !op_at(m, def)->n_operands)
			return false;
	}
	return false;
}

/* A value of the loop that is the same in every iteration: a constant, or carried along unchanged from one. */
static bool invariant_of(const module *m, const op *loop, op_id o, region_id where, value_id v, int64_t *out)
{
	uint32_t i;
	if (constant_of(m, v, out))
		return true;
	if (!is_body_of(m, where, v, &i) || i >= loop->n_operands)
		return false;
	op_id end = region_terminator(m, loop->regions + 1);
	uint32_t back;
	if (end == ID_NONE || i >= op_at(m, end)->n_operands || !is_body_of(m, loop->regions + 1, op_operand(m, end, i), &back) || back != i)
		return false;
	return constant_of(m, op_operand(m, o, i), out);
}

/* The constant that an iteration adds to carry i. */
static bool step_of(const module *m, const op *loop, op_id o, uint32_t i, int64_t *out)
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
	if (is_body_of(m, body, op_operand(m, add, 0), &at) && at == i && (kind == OP_ADD || kind == OP_SUBTRACT)) {
		if (!invariant_of(m, loop, o, body, op_operand(m, add, 1), out) || *out == INT64_MIN)
			return false;
		*out = kind == OP_ADD ? *out : -*out;
		return true;
	}
	return kind == OP_ADD && is_body_of(m, body, op_operand(m, add, 1), &at) && at == i &&
	       invariant_of(m, loop, o, body, op_operand(m, add, 0), out);
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

bool while_trips(const module *m, op_id o, int64_t *out)
{
	*out = 1;
	const op *loop = op_at(m, o);
	if (loop->n_regions != 2)
		return false;
	op_id end = region_terminator(m, loop->regions);
	op_id test = end == ID_NONE || op_at(m, end)->n_operands != 1 ? ID_NONE : value_def(m, op_operand(m, end, 0));
	if (test == ID_NONE || op_at(m, test)->kind != OP_COMPARE)
		return false;
	str word = op_text(m, test, "comparison_direction");
	bool less = str_is(word, "LT") || str_is(word, "LE"), equal = str_is(word, "LE") || str_is(word, "GE");
	if (!less && !str_is(word, "GT") && !str_is(word, "GE"))
		return false;
	for (uint32_t side = 0; side < 2; side++) {
		uint32_t i;
		int64_t from, step, bound, n;
		if (!is_body_of(m, loop->regions, op_operand(m, test, side), &i) || i >= loop->n_operands ||
		    !constant_of(m, op_operand(m, o, i), &from) || !step_of(m, loop, o, i, &step) ||
		    !invariant_of(m, loop, o, loop->regions, op_operand(m, test, 1 - side), &bound))
			continue;
		bool up = less == (side == 0); /* counter < bound, either way round */
		if (from <= INT64_MIN + 1 || step <= INT64_MIN + 1 || bound <= INT64_MIN + 1)
			return false;
		if (!up) {
			from = -from;
			step = -step;
			bound = -bound;
		}
		if (equal && bound == INT64_MAX)
			return false;
		if (!count_up(from, step, bound + equal, &n))
			return false;
		*out = n;
		return true;
	}
	return false;
}
