#include "ir/read.h"

/* Where a spelled type ends decides how cheaply it is found again: the text from the first letter
 * to the closing bracket is looked up as it is, and only text that was never seen is parsed. */

static status tensor_text(reader *r, str *out)
{
	lexer *l = &r->lex;
	const char *start = l->p, *s = start + sizeof("tensor<") - 1;
	while (lex_is(*s, LEX_SUFFIX) || *s == '?')
		s++;
	if (*s == '>') {
		l->p = s + 1;
		*out = lex_view(start, l->p);
		return ST_OK;
	}
	l->p = start + sizeof("tensor") - 1;
	status st = lex_balanced(l, out);
	*out = lex_view(start, l->p);
	return st;
}

static bool has_space(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (lex_is(s.p[i], LEX_SPACE))
			return true;
	return false;
}

static type_id other_type(reader *r, str text)
{
	return type_intern(r->m, &(ir_type){.kind = TYPE_OTHER, .text = text});
}

/* One dim and its x; false when an element type starts here instead. */
static status read_dim(lexer *l, int64_t *out, bool *found)
{
	lex_skip(l);
	*found = lex_is(*l->p, LEX_DIGIT) || *l->p == '?';
	if (!*found)
		return ST_OK;
	const char *at = l->p;
	if (*l->p == '?') {
		l->p++;
		*out = DIM_DYNAMIC;
	} else {
		TRY(lex_int(l, out));
	}
	lex_skip(l);
	if (*l->p != 'x')
		return lex_error(
			l, at, ST_ERR_PARSE, "expected 'x' after a dimension, found '%c'", *l->p ? *l->p : ' ');
	l->p++;
	return ST_OK;
}

/* i7, si32, ui3: a width that the table does not have; f80, f128. */
static bool is_other_number(str word)
{
	size_t at = word.p[0] == 'i'                           ? 1
		: str_starts(word, "si") || str_starts(word, "ui") ? 2
														   : word.n;
	if (at >= word.n)
		return str_is(word, "f80") || str_is(word, "f128");
	for (; at < word.n; at++)
		if (!lex_is(word.p[at], LEX_DIGIT))
			return false;
	return true;
}

/* Element type; text_only tells of one that is legal but unknown to the table. */
static status read_element(reader *r, elem *out, bool *text_only)
{
	lexer *l = &r->lex;
	lex_skip(l);
	const char *at = l->p;
	*text_only = false;
	if (*l->p == '!') {
		l->p++;
		str name = lex_suffix(l);
		str args;
		if (*l->p == '<')
			TRY(lex_balanced(l, &args));
		const struct alias *a = find_alias(r, lex_view(at, l->p));
		if (a && type_get(r->m, a->id)->bare) {
			*out = (elem)type_get(r->m, a->id)->elem;
			return ST_OK;
		}
		*out = ELEM_QUANT;
		*text_only = !str_starts(name, "quant.");
		return ST_OK;
	}
	str word = lex_word(l);
	if (!word.n)
		return lex_expected(l, "an element type");
	if (*l->p == '<') {
		str args;
		TRY(lex_balanced(l, &args));
		*out = str_is(args, "<f32>") ? ELEM_C64 : str_is(args, "<f64>") ? ELEM_C128 : ELEM_NONE;
		*text_only = *out == ELEM_NONE || !str_is(word, "complex");
		return ST_OK;
	}
	*out = elem_find(word);
	*text_only = *out == ELEM_NONE && is_other_number(word);
	if (*out == ELEM_NONE && !*text_only)
		return lex_error(l, at, ST_ERR_PARSE, "unknown element type '" STR_FMT "'", STR_ARG(word));
	return ST_OK;
}

enum { MAX_ELEMENTS_LOG = 56 };

/* tensor<..> whose text is known to be balanced; the scanner stands at its start and ends behind
 * it. */
static status parse_tensor(reader *r, str text, type_id *out)
{
	lexer *l = &r->lex;
	l->p = text.p + sizeof("tensor<") - 1;
	if (lex_peek(l) == '*') {
		l->p = text.p + text.n;
		*out = other_type(r, text);
		return ST_OK;
	}
	int64_t dims[MAX_RANK], total = 1;
	ir_type t = {.kind = TYPE_TENSOR, .dims = dims};
	for (bool found;;) {
		const char *at = l->p;
		int64_t dim;
		TRY(read_dim(l, &dim, &found));
		if (!found)
			break;
		if (t.rank == MAX_RANK)
			return lex_error(l, at, ST_ERR_LIMIT,
				"the tensor has more than the limit of %d dimensions", MAX_RANK);
		if (dim > 0 && (!mul_i64(total, dim, &total) || total > 1ll << MAX_ELEMENTS_LOG))
			return lex_error(l, at, ST_ERR_LIMIT,
				"the tensor has more than the limit of 2^%d elements", MAX_ELEMENTS_LOG);
		dims[t.rank++] = dim;
	}
	elem e;
	bool text_only;
	TRY(read_element(r, &e, &text_only));
	t.elem = (uint8_t)e;
	if (lex_take(l, ',')) {
		lex_skip(l);
		const char *end = text.p + text.n - 1;
		t.encoding = lex_view(l->p, end);
		l->p = end;
	}
	TRY(lex_expect(l, '>'));
	if (l->p != text.p + text.n)
		return lex_error(l, l->p, ST_ERR_PARSE, "expected the end of the type");
	if (text_only) {
		*out = other_type(r, text);
		return ST_OK;
	}
	if (e == ELEM_QUANT || (t.encoding.n && !has_space(lex_view(text.p, t.encoding.p - 2))))
		t.text = text;
	*out = type_intern(r->m, &t);
	return ST_OK;
}

/* Comma separated types up to the closing bracket, pushed on r->types. */
static status push_types(reader *r, char close)
{
	lexer *l = &r->lex;
	if (lex_take(l, close))
		return ST_OK;
	do {
		type_id t;
		TRY(read_type(r, &t));
		vec_push(&r->types, t);
	} while (lex_take(l, ','));
	return lex_expect(l, close);
}

static status read_tuple(reader *r, type_id *out)
{
	uint32_t base = r->types.n;
	TRY(lex_expect(&r->lex, '<'));
	TRY(push_types(r, '>'));
	*out = type_intern(r->m,
		&(ir_type){.kind = TYPE_TUPLE, .n_parts = r->types.n - base, .parts = r->types.p + base});
	r->types.n = base;
	return ST_OK;
}

static status read_function(reader *r, type_id *out)
{
	lexer *l = &r->lex;
	uint32_t base = r->types.n;
	TRY(lex_expect(l, '('));
	TRY(push_types(r, ')'));
	uint32_t n_inputs = r->types.n - base;
	TRY(lex_expect_text(l, "->"));
	TRY(read_result_types(r));
	*out = type_function(r->m, r->types.p + base, n_inputs, r->types.p + base + n_inputs,
		r->types.n - base - n_inputs);
	r->types.n = base;
	return ST_OK;
}

static status read_dialect_type(reader *r, type_id *out)
{
	lexer *l = &r->lex;
	const char *start = l->p++;
	if (!lex_suffix(l).n)
		return lex_expected(l, "a type name after '!'");
	str args;
	if (*l->p == '<')
		TRY(lex_balanced(l, &args));
	str text = lex_view(start, l->p);
	const struct alias *a = find_alias(r, text);
	if (a)
		*out = a->id;
	else if (str_is(text, "!stablehlo.token"))
		*out = type_intern(r->m, &(ir_type){.kind = TYPE_TOKEN, .text = text});
	else if (!memchr(text.p, '.', text.n) && !memchr(text.p, '<', text.n))
		return lex_error(
			l, start, ST_ERR_PARSE, "undefined type alias '" STR_FMT "'", STR_ARG(text));
	else if (str_starts(text, "!quant."))
		*out = type_intern(
			r->m, &(ir_type){.kind = TYPE_TENSOR, .elem = ELEM_QUANT, .bare = true, .text = text});
	else
		*out = other_type(r, text);
	return ST_OK;
}

/* i32, index, complex<f32>, vector<..>: one word, perhaps with arguments. */
static status read_word_type(reader *r, type_id *out)
{
	lexer *l = &r->lex;
	const char *start = l->p;
	str word = lex_word(l), args;
	if (str_is(word, "tuple"))
		return read_tuple(r, out);
	if (*l->p == '<')
		TRY(lex_balanced(l, &args));
	str text = lex_view(start, l->p);
	elem e = elem_find(text);
	if (e != ELEM_NONE)
		*out = type_bare(r->m, e);
	else
		*out = other_type(r, text);
	return ST_OK;
}

bool at_type(reader *r)
{
	lexer *l = &r->lex;
	char c = lex_peek(l);
	if (c == '!' || c == '(')
		return true;
	if (!lex_is(c, LEX_LETTER))
		return false;
	const char *start = l->p;
	str word = lex_word(l);
	l->p = start;
	static const char *const words[] = {
		"tensor", "tuple", "complex", "vector", "memref", "none", "index"};
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (str_is(word, words[i]))
			return true;
	if (elem_find(word) != ELEM_NONE)
		return true;
	return is_other_number(word);
}

status read_type(reader *r, type_id *out)
{
	lexer *l = &r->lex;
	lex_skip(l);
	if (strncmp(l->p, "tensor<", 7) == 0) {
		str text;
		TRY(tensor_text(r, &text));
		*out = type_find(r->m, text);
		return *out != ID_NONE ? ST_OK : parse_tensor(r, text, out);
	}
	if (!at_type(r))
		return lex_expected(l, "a type");
	TRY(lex_enter(l));
	status s = *l->p == '(' ? read_function(r, out)
		: *l->p == '!'      ? read_dialect_type(r, out)
							: read_word_type(r, out);
	lex_leave(l);
	return s;
}
