/* Pretty forms with regions. */
#include "ir/read.h"

/* ---------------------------------------------------------------- while */

/* `(%iterArg = %init, ..)`: operands on their stack, names of the block arguments on theirs. */
static status loop_inits(reader *r)
{
	lexer *l = &r->lex;
	TRY(lex_expect(l, '('));
	if (lex_take(l, ')'))
		return ST_OK;
	do {
		struct result_name name = {.n = 1};
		TRY(read_value_name(r, &name.name, &name.at));
		vec_push(&r->names, name);
		TRY(lex_expect(l, '='));
		TRY(push_operand(r));
	} while (lex_take(l, ','));
	return lex_expect(l, ')');
}

static status loop_region(reader *r, const draft *d, uint32_t names, uint32_t index)
{
	lexer *l = &r->lex;
	TRY(lex_expect(l, '{'));
	TRY(lex_enter(l));
	uint32_t mark = scope_open(r);
	region_id region = op_at(r->m, d->op)->regions + index;
	for (uint32_t i = 0; i < draft_results(r, d); i++) {
		const struct result_name name = r->names.p[names + i];
		value_id v = region_add_arg(r->m, region, r->types.p[d->types + i], 0);
		value_get(r->m, v)->name = value_name_id(r, name.name);
		TRY(bind_values(r, name.at, name.name, v, 1));
	}
	TRY(read_region_ops(r, region, false));
	scope_close(r, mark);
	lex_leave(l);
	return ST_OK;
}

status form_while(reader *r, draft *d)
{
	lexer *l = &r->lex;
	uint32_t names = r->names.n;
	TRY(loop_inits(r));
	uint32_t n = draft_operands(r, d), i = 0;
	if (n) {
		TRY(lex_expect(l, ':'));
		do {
			type_id t;
			TRY(read_type(r, &t));
			if (i < n)
				TRY(check_operand(r, d, i, t));
			i++;
			vec_push(&r->types, t);
		} while (lex_take(l, ','));
		if (i != n)
			return lex_error(l, d->at, ST_ERR_INVALID, "%u types for %u values", i, n);
	}
	if (lex_take_word(l, "attributes")) {
		TRY(lex_expect(l, '{'));
		TRY(read_attr_entries(r, "}"));
	}
	op_give_regions(r->m, d->op, 2);
	TRY(lex_expect_word(l, "cond"));
	TRY(loop_region(r, d, names, 0));
	TRY(lex_expect_word(l, "do"));
	TRY(loop_region(r, d, names, 1));
	r->names.n = names;
	return ST_OK;
}

/* ---------------------------------------------------------------- reduce */

/* `(%a init: %i), (%b init: %j)` */
static status reduce_inputs(reader *r, draft *d)
{
	lexer *l = &r->lex;
	uint32_t base = r->inits.n;
	do {
		TRY(lex_expect(l, '('));
		TRY(push_operand(r));
		TRY(lex_expect_word(l, "init"));
		TRY(lex_expect(l, ':'));
		TRY(push_operand(r));
		struct operand init = vec_pop(&r->operands);
		vec_push(&r->inits, init);
		TRY(lex_expect(l, ')'));
	} while (lex_take(l, ','));
	for (uint32_t i = base; i < r->inits.n; i++)
		vec_push(&r->operands, r->inits.p[i]);
	r->inits.n = base;
	return draft_operands(r, d) <= MAX_OPERANDS
		? ST_OK
		: lex_error(l, d->at, ST_ERR_LIMIT, "more operands than the limit of %d", MAX_OPERANDS);
}

/* Body of `applies stablehlo.add`: two scalars of the init's type, the op, a return. */
static status implied_body(reader *r, draft *d, op_kind kind)
{
	module *m = r->m;
	if (draft_operands(r, d) != 2)
		return lex_error(&r->lex, d->at, ST_ERR_INVALID,
			"the short form of reduce takes one input, found %u operands", draft_operands(r, d));
	type_id t = value_at(m, r->operands.p[d->operands + 1].value)->type;
	region_id body = op_at(m, d->op)->regions;
	value_id a = region_add_arg(m, body, t, 0), b = region_add_arg(m, body, t, 0);
	uint32_t src = op_at(m, d->op)->src;
	op_id o = op_create(m, kind, 0, 0, src);
	op_give_operands(m, o, (value_id[]){a, b}, 2);
	op_give_results(m, o, &t, 1);
	op_append(m, o, body);
	op_id end = op_create(m, OP_RETURN, 0, 0, src);
	value_id result = op_result(m, o, 0);
	op_give_operands(m, end, &result, 1);
	op_append(m, end, body);
	return ST_OK;
}

/* `(%l: T, %r: T) (%l: U, %r: U)`: the left ones of all inputs come first in the block. */
static status reducer_args(reader *r, region_id body, uint32_t n)
{
	lexer *l = &r->lex;
	struct {
		struct result_name name;
		type_id t;
		loc_id loc;
	} right[64]; /* inputs of one reduce */
	if (n > COUNT_OF(right))
		return lex_error(l, l->p, ST_ERR_LIMIT, "more inputs of a reduce than the limit of %zu",
			COUNT_OF(right));
	for (uint32_t i = 0; i < n; i++) {
		TRY(lex_expect(l, '('));
		TRY(read_block_arg(r, body));
		TRY(lex_expect(l, ','));
		TRY(read_value_name(r, &right[i].name.name, &right[i].name.at));
		TRY(lex_expect(l, ':'));
		TRY(read_type(r, &right[i].t));
		TRY(read_loc(r, &right[i].loc));
		TRY(lex_expect(l, ')'));
	}
	for (uint32_t i = 0; i < n; i++) {
		value_id v = region_add_arg(r->m, body, right[i].t, right[i].loc);
		value_get(r->m, v)->name = value_name_id(r, right[i].name.name);
		TRY(bind_values(r, right[i].name.at, right[i].name.name, v, 1));
	}
	return ST_OK;
}

static status reducer(reader *r, draft *d)
{
	lexer *l = &r->lex;
	TRY(lex_expect_word(l, "reducer"));
	uint32_t mark = scope_open(r);
	region_id body = op_at(r->m, d->op)->regions;
	TRY(reducer_args(r, body, draft_operands(r, d) / 2));
	TRY(lex_expect(l, '{'));
	TRY(lex_enter(l));
	TRY(read_region_ops(r, body, false));
	lex_leave(l);
	scope_close(r, mark);
	return ST_OK;
}

static bool is_commutative(op_kind k)
{
	return k == OP_ADD || k == OP_MULTIPLY || k == OP_MAXIMUM || k == OP_MINIMUM || k == OP_AND ||
		k == OP_OR || k == OP_XOR;
}

status form_reduce(reader *r, draft *d)
{
	lexer *l = &r->lex;
	TRY(reduce_inputs(r, d));
	op_kind applied = OP_UNKNOWN;
	if (lex_take_word(l, "applies")) {
		lex_skip(l);
		const char *at = l->p;
		str name = lex_word(l);
		applied = find_kind(r, name);
		if (!is_commutative(applied))
			return lex_error(l, at, ST_ERR_PARSE,
				"expected a commutative operation of two operands, found '" STR_FMT "'",
				STR_ARG(name));
	}
	TRY(lex_expect_word(l, "across"));
	TRY(lex_expect_word(l, "dimensions"));
	TRY(lex_expect(l, '='));
	attr_id dims;
	TRY(read_int_list(r, ELEM_I64, &dims));
	draft_attr(r, "dimensions", dims);
	TRY(read_optional_attrs(r));
	TRY(read_function_type(r, d));
	op_give_regions(r->m, d->op, 1);
	return applied != OP_UNKNOWN ? implied_body(r, d, applied) : reducer(r, d);
}

/* ---------------------------------------------------------------- scan */

static void segment_sizes(reader *r, const char *name, uint32_t first, uint32_t second)
{
	draft_attr(r, name, ints_attr(r, ELEM_I32, (int64_t[]){first, second}, 2));
}

/* `(%inputs) inits (%carries) dimension=0 attributes {..} { .. } : (..) -> ..`; the carries come
 * last among the results. */
status form_scan(reader *r, draft *d)
{
	lexer *l = &r->lex;
	TRY(push_call_operands(r));
	uint32_t inputs = draft_operands(r, d);
	TRY(lex_expect_word(l, "inits"));
	TRY(push_call_operands(r));
	uint32_t carries = draft_operands(r, d) - inputs;
	int64_t dim;
	TRY(lex_expect_word(l, "dimension"));
	TRY(lex_expect(l, '='));
	TRY(lex_int(l, &dim));
	draft_attr(r, "dimension",
		attr_new(r->m, &(attr){.kind = ATTR_INT, .type = type_bare(r->m, ELEM_I64), .i = dim}));
	if (lex_take_word(l, "attributes")) {
		TRY(lex_expect(l, '{'));
		TRY(read_attr_entries(r, "}"));
	}
	op_give_regions(r->m, d->op, 1);
	TRY(read_region(r, op_at(r->m, d->op)->regions, true));
	TRY(read_function_type(r, d));
	if (draft_results(r, d) < carries)
		return lex_error(l, d->at, ST_ERR_INVALID, "%u results for %u carried values",
			draft_results(r, d), carries);
	segment_sizes(r, "operandSegmentSizes", inputs, carries);
	segment_sizes(r, "resultSegmentSizes", draft_results(r, d) - carries, carries);
	return ST_OK;
}

/* ---------------------------------------------------------------- sdy */

static status shardings_field(reader *r, const char *word, bool optional)
{
	lexer *l = &r->lex;
	if (optional && !lex_at_word(l, word))
		return ST_OK;
	attr_id a;
	TRY(lex_expect_word(l, word));
	TRY(lex_expect(l, '='));
	TRY(read_sharding_list(r, &a));
	draft_attr(r, word, a);
	return ST_OK;
}

/* `(%arg: T, ..) { .. } {attrs} : (..) -> ..` */
static status computation_body(reader *r, draft *d)
{
	lexer *l = &r->lex;
	op_give_regions(r->m, d->op, 1);
	region_id body = op_at(r->m, d->op)->regions;
	uint32_t mark = scope_open(r);
	TRY(lex_expect(l, '('));
	if (!lex_take(l, ')')) {
		do
			TRY(read_block_arg(r, body));
		while (lex_take(l, ','));
		TRY(lex_expect(l, ')'));
	}
	TRY(lex_expect(l, '{'));
	TRY(lex_enter(l));
	TRY(read_region_ops(r, body, false));
	lex_leave(l);
	scope_close(r, mark);
	TRY(read_optional_attrs(r));
	return read_function_type(r, d);
}

status form_manual_computation(reader *r, draft *d)
{
	lexer *l = &r->lex;
	attr_id axes_attr;
	TRY(push_call_operands(r));
	TRY(shardings_field(r, "in_shardings", false));
	TRY(shardings_field(r, "out_shardings", false));
	TRY(lex_expect_word(l, "manual_axes"));
	TRY(lex_expect(l, '='));
	TRY(read_manual_axes(r, &axes_attr));
	draft_attr(r, "manual_axes", axes_attr);
	return computation_body(r, d);
}

status form_named_computation(reader *r, draft *d)
{
	lexer *l = &r->lex;
	attr name = {.kind = ATTR_STRING, .type = ID_NONE};
	TRY(lex_expect(l, '<'));
	TRY(lex_string(l, &name.text));
	TRY(lex_expect(l, '>'));
	draft_attr(r, "name", attr_new(r->m, &name));
	TRY(push_call_operands(r));
	TRY(shardings_field(r, "in_shardings", true));
	TRY(shardings_field(r, "out_shardings", true));
	return computation_body(r, d);
}
