/* Numbers, dense and array literals: large ones are measured, not read. */
#include "ir/read.h"

/* ---------------------------------------------------------------- numbers */

/* `: type` after a literal. */
status optional_type(reader *r, type_id *out)
{
	*out = ID_NONE;
	return lex_take(&r->lex, ':') ? read_type(r, out) : ST_OK;
}

static const char *number_end(const char *s, bool *is_float)
{
	s += *s == '-';
	*is_float = false;
	if (s[0] == '0' && s[1] == 'x') {
		for (s += 2; lex_is(*s, LEX_DIGIT) || (*s >= 'a' && *s <= 'f') || (*s >= 'A' && *s <= 'F');)
			s++;
		return s;
	}
	while (lex_is(*s, LEX_DIGIT))
		s++;
	if (*s == '.') {
		*is_float = true;
		for (s++; lex_is(*s, LEX_DIGIT);)
			s++;
	}
	if ((*s == 'e' || *s == 'E') && (lex_is(s[1], LEX_DIGIT) || ((s[1] == '-' || s[1] == '+') && lex_is(s[2], LEX_DIGIT)))) {
		*is_float = true;
		for (s += 2; lex_is(*s, LEX_DIGIT);)
			s++;
	}
	return s;
}

status read_number(reader *r, attr_id *out)
{
	lexer *l = &r->lex;
	const char *start = l->p;
	bool is_float;
	const char *end = number_end(start, &is_float);
	if (!lex_is(end[-1], LEX_WORD) && end[-1] != '.')
		return lex_expected(l, "a number");
	bool hex = start[0] == '0' && start[1] == 'x';
	attr a = {.text = lex_view(start, end)};
	int64_t v = 0;
	bool fits = true;
	for (const char *s = start + (*start == '-'); s < end && fits && !is_float; s++)
		fits = lex_is(*s, LEX_DIGIT) && mul_i64(v, 10, &v) && add_i64(v, *start == '-' ? '0' - *s : *s - '0', &v);
	l->p = end;
	TRY(optional_type(r, &a.type));
	elem e = a.type == ID_NONE ? ELEM_I64 : (elem)type_get(r->m, a.type)->elem;
	if (is_float || (hex && !elem_is_int(e) && e != ELEM_INDEX)) {
		a.kind = ATTR_FLOAT;
	} else if (fits) {
		a = (attr){.kind = ATTR_INT, .type = a.type, .i = v};
	} else {
		a.kind = ATTR_RAW; /* hexadecimal or beyond 64 bits: only printed back */
	}
	*out = attr_new(r->m, &a);
	return ST_OK;
}

/* ---------------------------------------------------------------- dense */

struct literal { /* shape of a list literal, to be compared with its type without reading the elements */
	int64_t scalars, lists;
	uint32_t depth;
};

/* From [ to its partner: counts scalars (complex ones are in parentheses) and lists. */
static status scan_list(lexer *l, struct literal *out)
{
	const char *open = l->p, *s = open;
	uint32_t depth = 0;
	bool pending = false; /* a scalar since the last comma or bracket */
	*out = (struct literal){0};
	for (;; s++) {
		switch (*s) {
		case '[':
			if (++depth > MAX_RANK) {
				l->p = s;
				return lex_error(l, s, ST_ERR_LIMIT, "lists nested deeper than the limit of %d", MAX_RANK);
			}
			out->depth = MAX(out->depth, depth);
			out->lists++;
			pending = false;
			break;
		case ']':
		case ',':
			out->scalars += pending;
			pending = false;
			if (*s == ']' && --depth == 0) {
				l->p = s + 1;
				return ST_OK;
			}
			break;
		case '(':
			while (*s != ')' && *s != 0 && *s != '>')
				s++;
			if (*s != ')')
				return lex_error(l, open, ST_ERR_PARSE, "a complex number in this literal has no ')'");
			pending = true;
			break;
		case ' ':
		case '\n':
		case '\t':
		case '\r':
			break;
		case '>':
		case '{':
		case '}':
		case 0:
			return lex_error(l, open, ST_ERR_PARSE, "the '[' that opens here is never closed");
		default:
			pending = true;
		}
	}
}

static status check_list(reader *r, const char *at, const struct literal *n, const type *t)
{
	int64_t lists = 0, product = 1;
	for (uint32_t i = 0; i < t->rank; i++) {
		lists = sat_add(lists, product);
		product = sat_mul(product, t->dims[i]);
	}
	if (n->depth == t->rank && n->scalars == t->elements && n->lists == lists)
		return ST_OK;
	return lex_error(&r->lex, at, ST_ERR_INVALID, "the literal has %lld elements in %u nested lists, expected those of " STR_FMT,
	                 (long long)n->scalars, n->depth, STR_ARG(t->text));
}

/* "0x..": one element or all of them. */
static status check_hex(reader *r, const char *at, str hex, const type *t, bool *splat)
{
	if (t->elem == ELEM_NONE || t->elem == ELEM_QUANT)
		return ST_OK;
	int64_t bits = elem_bits((elem)t->elem), bytes = bits == 1 ? (t->elements + 7) / 8 : sat_mul(t->elements, (bits + 7) / 8);
	if (hex.n < 2 || hex.p[0] != '0' || hex.p[1] != 'x')
		return lex_error(&r->lex, at, ST_ERR_PARSE, "expected a literal that starts with \"0x");
	int64_t given = (int64_t)(hex.n - 2) / 2;
	*splat = t->elements != 1 && given == (bits + 7) / 8 && given != bytes;
	if (given != bytes && !*splat)
		return lex_error(&r->lex, at, ST_ERR_INVALID, "the literal has %lld bytes, expected %lld of " STR_FMT, (long long)given,
		                 (long long)bytes, STR_ARG(t->text));
	return ST_OK;
}

status read_dense(reader *r, attr_id *out)
{
	lexer *l = &r->lex;
	TRY(lex_expect(l, '<'));
	lex_skip(l);
	const char *start = l->p;
	struct literal list = {0};
	str hex = {NULL, 0};
	if (*start == '[') {
		TRY(scan_list(l, &list));
	} else if (*start == '"') {
		TRY(lex_string(l, &hex));
	} else {
		while (lex_is(*l->p, LEX_SUFFIX) || *l->p == '(' || *l->p == ')' || *l->p == ',' || *l->p == ' ' || *l->p == '+')
			l->p++;
	}
	const char *end = l->p;
	TRY(lex_expect(l, '>'));
	if (lex_peek(l) != ':')
		return lex_expected(l, "':' and the type of the literal");
	type_id id;
	TRY(optional_type(r, &id));
	const type *t = type_get(r->m, id);
	bool splat = *start != '[' && *start != '"' && end > start;
	if (t->kind != TYPE_TENSOR && t->kind != TYPE_OTHER)
		return lex_error(l, start, ST_ERR_INVALID, "a literal of type " STR_FMT ", expected a tensor type", STR_ARG(t->text));
	if (t->kind == TYPE_TENSOR && t->dynamic)
		return lex_error(l, start, ST_ERR_INVALID, "a literal of type " STR_FMT ", expected a static shape", STR_ARG(t->text));
	if (t->kind == TYPE_TENSOR && *start == '[')
		TRY(check_list(r, start, &list, t));
	if (t->kind == TYPE_TENSOR && hex.p)
		TRY(check_hex(r, start, hex, t, &splat));
	if (t->kind == TYPE_TENSOR && end == start && t->elements != 0)
		return lex_error(l, start, ST_ERR_INVALID, "an empty literal for " STR_FMT, STR_ARG(t->text));
	*out = dense_attr(r, lex_view(start, end), id, splat);
	return ST_OK;
}

status read_dense_resource(reader *r, const char *start, attr_id *out)
{
	str args;
	if (lex_peek(&r->lex) != '<')
		return lex_expected(&r->lex, "'<'");
	TRY(lex_balanced(&r->lex, &args));
	attr a = {.kind = ATTR_RAW, .text = lex_view(start, r->lex.p)};
	TRY(optional_type(r, &a.type));
	*out = attr_new(r->m, &a);
	return ST_OK;
}

/* Integers and truth values, comma separated, up to the closing bracket (taken), pushed on r->numbers. */
static status push_numbers(reader *r, char close)
{
	lexer *l = &r->lex;
	if (lex_take(l, close))
		return ST_OK;
	uint32_t base = r->numbers.n;
	do {
		int64_t i = 0;
		if (lex_take_word(l, "true"))
			i = 1;
		else if (!lex_take_word(l, "false"))
			TRY(lex_int(l, &i));
		if (r->numbers.n - base == MAX_OPERANDS)
			return lex_error(l, l->p, ST_ERR_LIMIT, "the list is longer than the limit of %d", MAX_OPERANDS);
		vec_push(&r->numbers, i);
	} while (lex_take(l, ','));
	return lex_expect(l, close);
}

static attr_id pop_numbers(reader *r, elem e, uint32_t base)
{
	attr_id a = ints_attr(r, e, r->numbers.p + base, r->numbers.n - base);
	r->numbers.n = base;
	return a;
}

status read_int_list(reader *r, elem e, attr_id *out)
{
	uint32_t base = r->numbers.n;
	TRY(lex_expect(&r->lex, '['));
	TRY(push_numbers(r, ']'));
	*out = pop_numbers(r, e, base);
	return ST_OK;
}

/* array<i64: 1, 2>; of floats only the text is kept. */
status read_array_literal(reader *r, const char *start, attr_id *out)
{
	lexer *l = &r->lex;
	TRY(lex_expect(l, '<'));
	type_id type;
	TRY(read_type(r, &type));
	elem e = (elem)type_get(r->m, type)->elem;
	if (!elem_is_int(e)) {
		while (*l->p != '>' && l->p < l->end)
			l->p++;
		TRY(lex_expect(l, '>'));
		*out = raw_attr(r, start, l->p);
		return ST_OK;
	}
	uint32_t base = r->numbers.n;
	if (lex_take(l, ':'))
		TRY(push_numbers(r, '>'));
	else
		TRY(lex_expect(l, '>'));
	*out = pop_numbers(r, e, base);
	return ST_OK;
}
