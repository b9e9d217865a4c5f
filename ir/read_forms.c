/* Pretty forms, one small function each. The name of the op is already taken; locations follow. */
#include "ir/read.h"

/* ---------------------------------------------------------------- shared pieces */

/* `, word =` before a further part. */
static status expect_field(reader *r, const char *word)
{
	TRY(lex_expect(&r->lex, ','));
	TRY(lex_expect_word(&r->lex, word));
	return lex_expect(&r->lex, '=');
}

static bool take_field(reader *r, const char *word)
{
	lexer *l = &r->lex;
	lex_skip(l);
	const char *at = l->p;
	if (lex_take(l, ',') && lex_take_word(l, word) && lex_take(l, '='))
		return true;
	l->p = at;
	return false;
}

static void int_attr(reader *r, const char *name, int64_t v, elem e)
{
	draft_attr(
		r, name, attr_new(r->m, &(attr){.kind = ATTR_INT, .type = type_bare(r->m, e), .i = v}));
}

static status int_field(reader *r, const char *word, const char *name, elem e)
{
	int64_t v;
	TRY(expect_field(r, word));
	TRY(lex_int(&r->lex, &v));
	int_attr(r, name, v, e);
	return ST_OK;
}

static status ints_field(reader *r, const char *word, const char *name)
{
	attr_id a;
	TRY(expect_field(r, word));
	TRY(read_int_list(r, ELEM_I64, &a));
	draft_attr(r, name, a);
	return ST_OK;
}

/* One word as an enum value; where: what was expected. */
static status enum_word(reader *r, const char *name, const char *kind, const char *where)
{
	str word = lex_word(&r->lex);
	if (!word.n)
		return lex_expected(&r->lex, where);
	draft_attr(r, name, enum_attr(r, "stablehlo", kind, word));
	return ST_OK;
}

static status attrs_and_function_type(reader *r, draft *d)
{
	TRY(read_optional_attrs(r));
	return read_function_type(r, d);
}

static status attrs_and_same_types(reader *r, draft *d)
{
	TRY(read_optional_attrs(r));
	return read_same_types(r, d);
}

/* ---------------------------------------------------------------- elementwise and simple */

/* complex: parts have the real element type; tuple: parts in order; tokens: all of one type. */
static status check_implied_types(reader *r, draft *d, const ir_type *result)
{
	uint32_t n = draft_operands(r, d);
	if (d->kind == OP_TUPLE && (result->kind != TYPE_TUPLE || result->n_parts != n))
		return lex_error(
			&r->lex, d->at, ST_ERR_INVALID, "%u operands for " STR_FMT, n, STR_ARG(result->text));
	type_id real = ID_NONE;
	if (d->kind == OP_COMPLEX) {
		elem e = result->elem == ELEM_C64 ? ELEM_F32
			: result->elem == ELEM_C128   ? ELEM_F64
										  : ELEM_NONE;
		if (result->kind != TYPE_TENSOR || e == ELEM_NONE || result->bare)
			return lex_error(&r->lex, d->at, ST_ERR_INVALID,
				"expected a complex tensor, found " STR_FMT, STR_ARG(result->text));
		real = type_intern(r->m,
			&(ir_type){.kind = TYPE_TENSOR,
				.elem = (uint8_t)e,
				.rank = result->rank,
				.dims = result->dims,
				.encoding = result->encoding});
	}
	for (uint32_t i = 0; i < n; i++)
		TRY(check_operand(r, d, i, real != ID_NONE ? real : result->parts[i]));
	return ST_OK;
}

static status form_same(reader *r, draft *d)
{
	lexer *l = &r->lex;
	if (d->kind == OP_OPTIMIZATION_BARRIER) /* has its attributes before its operands */
		TRY(read_optional_attrs(r));
	if (lex_peek(l) == '(')
		TRY(push_call_operands(r));
	else
		TRY(push_operands(r));
	TRY(read_optional_attrs(r));
	if (d->kind == OP_OPTIMIZATION_BARRIER && draft_operands(r, d) == 0 && lex_peek(l) != ':')
		return ST_OK;
	if (d->kind != OP_COMPLEX && d->kind != OP_TUPLE)
		return read_same_types(r, d);
	const char *at = l->p;
	TRY(lex_expect(l, ':'));
	if (lex_peek(l) == '(') {
		l->p = at;
		return read_function_type(r, d);
	}
	type_id t;
	TRY(read_type(r, &t));
	vec_push(&r->types, t);
	return check_implied_types(r, d, type_get(r->m, t));
}

/* `%p, %a, %b : P, T` or one type for all. */
static status form_select(reader *r, draft *d)
{
	lexer *l = &r->lex;
	TRY(push_operands(r));
	TRY(read_optional_attrs(r));
	const char *at = l->p;
	TRY(lex_expect(l, ':'));
	if (lex_peek(l) == '(') {
		l->p = at;
		return read_function_type(r, d);
	}
	if (draft_operands(r, d) != 3)
		return lex_error(
			l, d->at, ST_ERR_INVALID, "select takes 3 operands, found %u", draft_operands(r, d));
	type_id pred, t;
	TRY(read_type(r, &pred));
	t = pred;
	if (lex_take(l, ','))
		TRY(read_type(r, &t));
	TRY(check_operand(r, d, 0, pred));
	TRY(check_operand(r, d, 1, t));
	TRY(check_operand(r, d, 2, t));
	vec_push(&r->types, t);
	return ST_OK;
}

static status form_compare(reader *r, draft *d)
{
	TRY(enum_word(r, "comparison_direction", "comparison_direction", "a comparison direction"));
	TRY(lex_expect(&r->lex, ','));
	TRY(push_operands(r));
	if (lex_take(&r->lex, ','))
		TRY(enum_word(r, "compare_type", "comparison_type", "a comparison type"));
	return attrs_and_same_types(r, d);
}

/* `%a, format = e5m10 : T` */
static status form_reduce_precision(reader *r, draft *d)
{
	lexer *l = &r->lex;
	TRY(push_operand(r));
	TRY(expect_field(r, "format"));
	str word = lex_word(l);
	const char *m = word.n ? memchr(word.p, 'm', word.n) : NULL;
	int64_t e, f;
	if (!m || word.p[0] != 'e' || !str_to_i64(lex_view(word.p + 1, m), &e) ||
		!str_to_i64(lex_view(m + 1, word.p + word.n), &f)) {
		l->p = word.p;
		return lex_expected(l, "a format such as e5m10");
	}
	int_attr(r, "exponent_bits", e, ELEM_I32);
	int_attr(r, "mantissa_bits", f, ELEM_I32);
	return attrs_and_same_types(r, d);
}

static status form_constant(reader *r, draft *d)
{
	attr_id value;
	TRY(read_optional_attrs(r));
	r->keep_dense_text = true;
	TRY(read_attr(r, &value));
	r->keep_dense_text = false;
	type_id t = attr_get(r->m, value)->type;
	if (t == ID_NONE ||
		(attr_get(r->m, value)->kind != ATTR_DENSE && attr_get(r->m, value)->kind != ATTR_RAW))
		return lex_error(
			&r->lex, d->at, ST_ERR_PARSE, "expected a constant, dense<..> : tensor<..>");
	draft_attr(r, "value", value);
	if (lex_take_text(&r->lex, "->")) /* quantised: the result's type differs from the literal's */
		TRY(read_type(r, &t));
	vec_push(&r->types, t);
	return ST_OK;
}

/* ---------------------------------------------------------------- shapes */

/* `%a, %b, dims = [0, 2] : (..) -> ..` */
static status form_dims(reader *r, draft *d)
{
	TRY(push_operands(r));
	TRY(ints_field(r, "dims",
		d->kind == OP_TRANSPOSE     ? "permutation"
			: d->kind == OP_REVERSE ? "dimensions"
									: "broadcast_dimensions"));
	return attrs_and_same_types(r, d);
}

/* `%a, %b, dim = 0 : (..) -> ..` */
static status form_concatenate(reader *r, draft *d)
{
	TRY(push_operands(r));
	TRY(int_field(r, "dim", d->kind == OP_DYNAMIC_IOTA ? "iota_dimension" : "dimension", ELEM_I64));
	return attrs_and_same_types(r, d);
}

static status form_iota(reader *r, draft *d)
{
	int64_t v;
	TRY(lex_expect_word(&r->lex, "dim"));
	TRY(lex_expect(&r->lex, '='));
	TRY(lex_int(&r->lex, &v));
	int_attr(r, "iota_dimension", v, ELEM_I64);
	return attrs_and_same_types(r, d);
}

static status form_pad(reader *r, draft *d)
{
	TRY(push_operands(r));
	TRY(ints_field(r, "low", "edge_padding_low"));
	TRY(ints_field(r, "high", "edge_padding_high"));
	TRY(ints_field(r, "interior", "interior_padding"));
	return attrs_and_function_type(r, d);
}

/* `%a [1:3, 0:8:2] : (T) -> U` */
static status form_slice(reader *r, draft *d)
{
	lexer *l = &r->lex;
	int64_t bounds[3][MAX_RANK]; /* start, limit, stride */
	uint32_t n = 0;
	TRY(push_operand(r));
	TRY(lex_expect(l, '['));
	if (!lex_take(l, ']')) {
		do {
			if (n == MAX_RANK)
				return lex_error(
					l, l->p, ST_ERR_LIMIT, "more than the limit of %d dimensions", MAX_RANK);
			bounds[2][n] = 1;
			TRY(lex_int(l, &bounds[0][n]));
			TRY(lex_expect(l, ':'));
			TRY(lex_int(l, &bounds[1][n]));
			if (lex_take(l, ':'))
				TRY(lex_int(l, &bounds[2][n]));
			n++;
		} while (lex_take(l, ','));
		TRY(lex_expect(l, ']'));
	}
	draft_attr(r, "start_indices", ints_attr(r, ELEM_I64, bounds[0], n));
	draft_attr(r, "limit_indices", ints_attr(r, ELEM_I64, bounds[1], n));
	draft_attr(r, "strides", ints_attr(r, ELEM_I64, bounds[2], n));
	return attrs_and_function_type(r, d);
}

static status form_dynamic_slice(reader *r, draft *d)
{
	TRY(push_operands(r));
	TRY(ints_field(r, "sizes", "slice_sizes"));
	return attrs_and_function_type(r, d);
}

/* `%a, sizes = [5] : (T) -> U` */
static status form_broadcast(reader *r, draft *d)
{
	TRY(push_operands(r));
	TRY(ints_field(r, "sizes", "broadcast_sizes"));
	return attrs_and_same_types(r, d);
}

/* ---------------------------------------------------------------- contractions */

static status optional_precision(reader *r)
{
	lexer *l = &r->lex;
	if (!take_field(r, "precision"))
		return ST_OK;
	uint32_t base = r->attrs.n;
	TRY(lex_expect(l, '['));
	do {
		str word = lex_word(l);
		if (!word.n)
			return lex_expected(l, "a precision");
		vec_push(&r->attrs, (named_attr){0, enum_attr(r, "stablehlo", "precision", word)});
	} while (lex_take(l, ','));
	TRY(lex_expect(l, ']'));
	draft_attr(r, "precision_config", array_attr(r, ATTR_ARRAY, STR(""), base));
	return ST_OK;
}

/* `, batching_dims = [0] x [0]`: two lists pushed under their names. */
static status dims_pair(reader *r, const char *left, const char *right)
{
	attr_id a;
	TRY(read_int_list(r, ELEM_NONE, &a));
	if (attr_get(r->m, a)->n)
		draft_attr(r, left, a);
	TRY(lex_expect(&r->lex, 'x'));
	TRY(read_int_list(r, ELEM_NONE, &a));
	if (attr_get(r->m, a)->n)
		draft_attr(r, right, a);
	return ST_OK;
}

static status form_dot_general(reader *r, draft *d)
{
	TRY(push_operands(r));
	uint32_t base = r->attrs.n;
	if (take_field(r, "batching_dims"))
		TRY(dims_pair(r, "lhs_batching_dimensions", "rhs_batching_dimensions"));
	if (take_field(r, "contracting_dims"))
		TRY(dims_pair(r, "lhs_contracting_dimensions", "rhs_contracting_dimensions"));
	draft_attr(r, "dot_dimension_numbers", array_attr(r, ATTR_STRUCT, STR("stablehlo.dot"), base));
	TRY(optional_precision(r));
	if (take_field(r, "algorithm")) {
		attr_id a;
		TRY(read_struct(r, "stablehlo.dot_algorithm", &a));
		draft_attr(r, "algorithm", a);
	}
	return attrs_and_function_type(r, d);
}

static status form_dot(reader *r, draft *d)
{
	TRY(push_operands(r));
	TRY(optional_precision(r));
	return attrs_and_function_type(r, d);
}

/* [[0, 1], [0, 1]] as the dense attribute it stands for. */
static status window_pad(reader *r)
{
	lexer *l = &r->lex;
	lex_skip(l);
	const char *start = l->p;
	str text;
	if (*start != '[')
		return lex_expected(l, "a list of pairs");
	int64_t n = 0;
	const char *s = start + 1;
	TRY(lex_balanced(l, &text));
	for (; s < l->p; s++)
		n += *s == '[';
	type_id t = type_tensor(r->m, ELEM_I64, 2, (int64_t[]){n, 2});
	attr_id a = dense_attr(r, text, t, false);
	if (!attr_get(r->m, a)->ints)
		return lex_error(l, start, ST_ERR_PARSE, "expected a list of pairs of numbers");
	draft_attr(r, "padding", a);
	return ST_OK;
}

static status window_field(reader *r)
{
	static const struct {
		const char *word, *name;
		elem e;
	} fields[] = {{"stride", "window_strides", ELEM_I64}, {"lhs_dilate", "lhs_dilation", ELEM_I64},
		{"rhs_dilate", "rhs_dilation", ELEM_I64}, {"reverse", "window_reversal", ELEM_I1}};
	lexer *l = &r->lex;
	if (lex_take_word(l, "pad")) {
		TRY(lex_expect(l, '='));
		return window_pad(r);
	}
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		if (lex_take_word(l, fields[i].word)) {
			attr_id a;
			TRY(lex_expect(l, '='));
			TRY(read_int_list(r, fields[i].e, &a));
			draft_attr(r, fields[i].name, a);
			return ST_OK;
		}
	return lex_expected(l, "stride, pad, lhs_dilate, rhs_dilate or reverse");
}

static status form_convolution(reader *r, draft *d)
{
	lexer *l = &r->lex;
	attr_id dims;
	TRY(push_call_operands(r));
	TRY(lex_expect_word(l, "dim_numbers"));
	TRY(lex_expect(l, '='));
	TRY(read_conv_dims(r, &dims));
	draft_attr(r, "dimension_numbers", dims);
	TRY(expect_field(r, "window"));
	TRY(lex_expect(l, '{'));
	if (!lex_take(l, '}')) {
		do
			TRY(window_field(r));
		while (lex_take(l, ','));
		TRY(lex_expect(l, '}'));
	}
	return attrs_and_function_type(r, d);
}

static status form_cholesky(reader *r, draft *d)
{
	TRY(push_operand(r));
	if (take_field(r, "lower")) {
		attr_id a;
		TRY(read_attr(r, &a));
		draft_attr(r, "lower", a);
	}
	return attrs_and_same_types(r, d);
}

static status form_fft(reader *r, draft *d)
{
	TRY(push_operand(r));
	TRY(expect_field(r, "type"));
	TRY(enum_word(r, "fft_type", "fft_type", "a kind of FFT"));
	TRY(ints_field(r, "length", "fft_length"));
	return attrs_and_same_types(r, d);
}

static status form_rng_bit_generator(reader *r, draft *d)
{
	TRY(push_operand(r));
	TRY(expect_field(r, "algorithm"));
	TRY(enum_word(r, "rng_algorithm", "rng_algorithm", "an algorithm"));
	return attrs_and_function_type(r, d);
}

static status form_rng(reader *r, draft *d)
{
	TRY(push_operands(r));
	TRY(expect_field(r, "distribution"));
	TRY(enum_word(r, "rng_distribution", "rng_distribution", "a distribution"));
	return attrs_and_function_type(r, d);
}

static status string_attr(reader *r, const char *name)
{
	attr a = {.kind = ATTR_STRING, .type = ID_NONE};
	TRY(lex_string(&r->lex, &a.text));
	draft_attr(r, name, attr_new(r->m, &a));
	return ST_OK;
}

static status form_einsum(reader *r, draft *d)
{
	TRY(push_operands(r));
	TRY(expect_field(r, "config"));
	TRY(string_attr(r, "einsum_config"));
	return attrs_and_function_type(r, d);
}

/* ---------------------------------------------------------------- calls, tuples */

static status form_composite(reader *r, draft *d)
{
	TRY(string_attr(r, "name"));
	TRY(push_operands(r));
	return attrs_and_function_type(r, d);
}

static status callee(reader *r, const char *name, attr_kind kind)
{
	attr a = {.kind = (uint8_t)kind, .type = ID_NONE};
	lex_skip(&r->lex);
	TRY(lex_symbol(&r->lex, &a.text));
	draft_attr(r, name, attr_new(r->m, &a));
	return push_call_operands(r);
}

static status form_custom_call(reader *r, draft *d)
{
	TRY(callee(r, "call_target_name", ATTR_STRING));
	return attrs_and_function_type(r, d);
}

static status form_call(reader *r, draft *d)
{
	TRY(callee(r, "callee", ATTR_SYMBOL));
	return attrs_and_function_type(r, d);
}

/* `@f : T` */
static status form_func_constant(reader *r, draft *d)
{
	(void)d;
	attr a = {.kind = ATTR_SYMBOL, .type = ID_NONE};
	type_id t;
	TRY(read_optional_attrs(r));
	lex_skip(&r->lex);
	TRY(lex_symbol(&r->lex, &a.text));
	draft_attr(r, "value", attr_new(r->m, &a));
	TRY(lex_expect(&r->lex, ':'));
	TRY(read_type(r, &t));
	vec_push(&r->types, t);
	return ST_OK;
}

/* `%f(%a) : (T) -> U`, the type of %f */
static status form_call_indirect(reader *r, draft *d)
{
	lexer *l = &r->lex;
	type_id t;
	TRY(push_operand(r));
	TRY(push_call_operands(r));
	TRY(read_optional_attrs(r));
	TRY(lex_expect(l, ':'));
	TRY(read_type(r, &t));
	TRY(check_operand(r, d, 0, t));
	uint32_t n = type_get(r->m, t)->n_parts, n_inputs = type_get(r->m, t)->n_inputs;
	if (type_get(r->m, t)->kind != TYPE_FUNCTION || n_inputs + 1 != draft_operands(r, d))
		return lex_error(l, d->at, ST_ERR_INVALID, "a call of " STR_FMT " with %u operands",
			STR_ARG(type_get(r->m, t)->text), draft_operands(r, d) - 1);
	for (uint32_t i = 0; i < n; i++) {
		type_id part = type_get(r->m, t)->parts[i];
		if (i < n_inputs)
			TRY(check_operand(r, d, i + 1, part));
		else
			vec_push(&r->types, part);
	}
	return ST_OK;
}

/* `%a, %b : T, U to V, W` */
static status form_cast(reader *r, draft *d)
{
	lexer *l = &r->lex;
	TRY(push_operands(r));
	uint32_t n = draft_operands(r, d);
	if (n)
		TRY(lex_expect(l, ':'));
	for (uint32_t i = 0; i < n; i++) {
		type_id t;
		if (i)
			TRY(lex_expect(l, ','));
		TRY(read_type(r, &t));
		TRY(check_operand(r, d, i, t));
	}
	TRY(lex_expect_word(l, "to"));
	do {
		type_id t;
		TRY(read_type(r, &t));
		vec_push(&r->types, t);
	} while (lex_take(l, ','));
	return read_optional_attrs(r);
}

/* `%t[1] : (tuple<..>) -> T` */
static status form_get_tuple_element(reader *r, draft *d)
{
	int64_t i;
	TRY(push_operand(r));
	TRY(lex_expect(&r->lex, '['));
	TRY(lex_int(&r->lex, &i));
	TRY(lex_expect(&r->lex, ']'));
	int_attr(r, "index", i, ELEM_I32);
	return attrs_and_function_type(r, d);
}

/* `(%a, k = 2) : T -> (T, U)` */
static status form_top_k(reader *r, draft *d)
{
	TRY(lex_expect(&r->lex, '('));
	TRY(push_operand(r));
	TRY(int_field(r, "k", "k", ELEM_I64));
	TRY(lex_expect(&r->lex, ')'));
	return attrs_and_same_types(r, d);
}

/* `%a, %b : T, U`; nothing at all when there are no operands. */
static status form_return(reader *r, draft *d)
{
	lexer *l = &r->lex;
	TRY(read_optional_attrs(r));
	TRY(push_operands(r));
	uint32_t n = draft_operands(r, d), i = 0;
	if (!n && lex_peek(l) != ':')
		return ST_OK;
	TRY(lex_expect(l, ':'));
	do {
		type_id t;
		TRY(read_type(r, &t));
		if (i < n)
			TRY(check_operand(r, d, i, t));
		i++;
	} while (lex_take(l, ','));
	return i == n ? ST_OK : lex_error(l, d->at, ST_ERR_INVALID, "%u types for %u values", i, n);
}

/* ---------------------------------------------------------------- sdy */

static attr_id one_sharding(reader *r, sharding_id s)
{
	sharding_id *copy = arena_array(&r->m->mem, sharding_id, 1);
	*copy = s;
	return attr_new(
		r->m, &(attr){.kind = ATTR_SHARDING, .type = ID_NONE, .n = 1, .shardings = copy});
}

static status sharding_field(reader *r, const char *name)
{
	sharding_id s;
	TRY(read_sharding(r, &s));
	draft_attr(r, name, one_sharding(r, s));
	return ST_OK;
}

/* `%a <@mesh, [..]> : T` */
static status form_sharded(reader *r, draft *d)
{
	TRY(push_operand(r));
	TRY(sharding_field(r, "sharding"));
	return attrs_and_same_types(r, d);
}

static status form_data_flow_edge(reader *r, draft *d)
{
	TRY(push_operand(r));
	if (d->kind == OP_SDY_DATA_FLOW_EDGE && lex_take_word(&r->lex, "sharding")) {
		TRY(lex_expect(&r->lex, '='));
		TRY(sharding_field(r, "sharding"));
	}
	return attrs_and_same_types(r, d);
}

static status form_sharding_group(reader *r, draft *d)
{
	int64_t id;
	TRY(push_operand(r));
	TRY(lex_expect_word(&r->lex, "group_id"));
	TRY(lex_expect(&r->lex, '='));
	TRY(lex_int(&r->lex, &id));
	int_attr(r, "group_id", id, ELEM_I64);
	TRY(attrs_and_same_types(r, d));
	r->types.n = d->types; /* it has no result */
	return ST_OK;
}

static status form_propagation_barrier(reader *r, draft *d)
{
	TRY(push_operand(r));
	TRY(lex_expect_word(&r->lex, "allowed_direction"));
	TRY(lex_expect(&r->lex, '='));
	str word = lex_word(&r->lex);
	if (!word.n)
		return lex_expected(&r->lex, "a direction");
	draft_attr(r, "allowed_direction", enum_attr(r, "sdy", "propagation_direction", word));
	return attrs_and_same_types(r, d);
}

/* `[{"a"}, {}] %a out_sharding=<@mesh, [..]> : T` */
static status form_collective(reader *r, draft *d)
{
	lexer *l = &r->lex;
	const char *axes_key = collective_axes_name(d->kind);
	if (axes_key) {
		str text;
		if (lex_peek(l) != '[' && *l->p != '{')
			return lex_expected(l, "a list of axes");
		TRY(lex_balanced(l, &text));
		draft_attr(r, axes_key, attr_collective_axes(r->m, d->kind, text));
	}
	TRY(push_operand(r));
	TRY(lex_expect_word(l, "out_sharding"));
	TRY(lex_expect(l, '='));
	TRY(sharding_field(r, "out_sharding"));
	return attrs_and_same_types(r, d);
}

/* ---------------------------------------------------------------- table */

#define form_generic NULL
const form_fn op_forms[OP_COUNT] = {
#define OP(id, text, form, in, out, regions, check, rule, cost, emit, flags) \
	[OP_##id] = form_##form,
#include "ir/ops.def"
#undef OP
};
