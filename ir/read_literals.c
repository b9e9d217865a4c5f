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
	if ((*s == 'e' || *s == 'E') &&
		(lex_is(s[1], LEX_DIGIT) || ((s[1] == '-' || s[1] == '+') && lex_is(s[2], LEX_DIGIT)))) {
		*is_float = true;
		for (s += 2; lex_is(*s, LEX_DIGIT);)
			s++;
	}
	return s;
}

/* Numbers of types that are not in the table are printed back as they are. */
static status check_number(reader *r, str text, type_id type)
{
	const ir_type *t = type == ID_NONE ? NULL : type_get(r->m, type);
	if (t && (t->kind != TYPE_TENSOR || !t->bare)) {
		bool other = t->kind == TYPE_OTHER && !str_starts(t->text, "tensor<") &&
			!str_starts(t->text, "vector<");
		return other ? ST_OK
					 : lex_error(&r->lex, text.p, ST_ERR_INVALID,
						   "a number cannot have type " STR_FMT, STR_ARG(t->text));
	}
	elem e = t ? (elem)t->elem : memchr(text.p, '.', text.n) ? ELEM_F64 : ELEM_I64;
	const char *wanted = scalar_fault(text, e);
	if (!wanted)
		return ST_OK;
	return lex_error(&r->lex, text.p, ST_ERR_INVALID, "expected %s as %s, found '" STR_FMT "'",
		wanted, elem_text(e), STR_ARG(text));
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
		fits = lex_is(*s, LEX_DIGIT) && mul_i64(v, 10, &v) &&
			add_i64(v, *start == '-' ? '0' - *s : *s - '0', &v);
	l->p = end;
	TRY(optional_type(r, &a.type));
	elem e = a.type == ID_NONE ? ELEM_I64 : (elem)type_get(r->m, a.type)->elem;
	/* an i64 that fits is the usual case */
	if (e != ELEM_I64 || !fits)
		TRY(check_number(r, a.text, a.type));
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

struct literal { /* shape of a list literal, to be compared with its type without reading the
	                elements */
	int64_t scalars, lists;
	int64_t points, hexes; /* decimal points and 0x: a float has one of the two */
	uint8_t has;           /* classes of bytes in scalars */
	uint32_t depth;
};

/* Bytes that only some scalars have: minus, letters of true and false, pairs, strings, the point, x
 * of 0x. */
enum { HAS_MINUS = 1, HAS_WORD = 2, HAS_PAIR = 4, HAS_STRING = 8, HAS_POINT = 16, HAS_HEX = 32 };
static const uint8_t scalar_class[256] = {
	['-'] = HAS_MINUS,
	['t'] = HAS_WORD,
	['s'] = HAS_WORD,
	['('] = HAS_PAIR,
	['"'] = HAS_STRING,
	['.'] = HAS_POINT,
	['x'] = HAS_HEX,
};

static inline void count_byte(struct literal *out, char c)
{
	uint8_t class = scalar_class[(unsigned char)c];
	out->has |= class;
	out->points += class == HAS_POINT;
	out->hexes += class == HAS_HEX;
}

/* (1.0, 2.0) with the parenthesis at s; NULL when it has no end. */
static const char *scan_pair(struct literal *out, const char *s)
{
	uint32_t commas = 0;
	for (; *s != ')'; s++) {
		if (*s == 0 || *s == '>' || *s == '[' || *s == ']')
			return NULL;
		commas += *s == ',';
		count_byte(out, *s);
	}
	return commas == 1 ? s : NULL;
}

static status no_element(lexer *l, const char *at)
{
	return lex_error(l, at, ST_ERR_PARSE, "expected an element, found '%c'", *at);
}

/* From [ to its partner: counts scalars (complex ones are in parentheses) and lists. */
static status scan_list(lexer *l, struct literal *out)
{
	const char *open = l->p, *s = open;
	uint32_t depth = 0;
	enum { EMPTY, AFTER_COMMA, IN_SCALAR, AFTER_ELEMENT } state = EMPTY;
	*out = (struct literal){0};
	for (;; s++) {
		switch (*s) {
		case '[':
			if (++depth > MAX_RANK) {
				l->p = s;
				return lex_error(
					l, s, ST_ERR_LIMIT, "lists nested deeper than the limit of %d", MAX_RANK);
			}
			if (state >= IN_SCALAR)
				return lex_error(l, s, ST_ERR_PARSE, "expected ',' or ']', found '['");
			out->depth = MAX(out->depth, depth);
			out->lists++;
			state = EMPTY;
			break;
		case ',':
			if (state < IN_SCALAR)
				return no_element(l, s);
			state = AFTER_COMMA;
			break;
		case ']':
			if (state == AFTER_COMMA)
				return no_element(l, s);
			if (--depth == 0) {
				l->p = s + 1;
				return ST_OK;
			}
			state = AFTER_ELEMENT;
			break;
		case '(': {
			const char *end = state >= IN_SCALAR ? NULL : scan_pair(out, s);
			if (!end)
				return lex_error(l, s, ST_ERR_PARSE, "expected a complex number, (1.0, 2.0)");
			s = end;
			out->scalars++;
			state = AFTER_ELEMENT;
			break;
		}
		case '"': {
			str text;
			l->p = s;
			TRY(lex_string(l, &text));
			s = l->p - 1;
			out->has |= HAS_STRING;
			out->scalars++;
			state = AFTER_ELEMENT;
			break;
		}
		case ' ':
		case '\n':
		case '\t':
		case '\r':
			if (state == IN_SCALAR)
				state = AFTER_ELEMENT;
			break;
		case '/':
			if (s[1] != '/')
				return no_element(l, s);
			l->p = s;
			lex_comment(l);
			s = l->p - 1;
			break;
		case '>':
		case '{':
		case '}':
		case 0: return lex_error(l, open, ST_ERR_PARSE, "the '[' that opens here is never closed");
		default:
			if (state == AFTER_ELEMENT)
				return lex_error(l, s, ST_ERR_PARSE, "expected ',' or ']', found '%c'", *s);
			out->scalars += state != IN_SCALAR;
			state = IN_SCALAR;
			count_byte(out, *s);
		}
	}
}

/* Elements of a list are not read one by one: what they are made of says whether they can be of the
 * type. */
static status check_kind(reader *r, const char *at, const struct literal *n, elem e)
{
	bool is_complex = e == ELEM_C64 || e == ELEM_C128, is_int = elem_is_int(e) || e == ELEM_INDEX,
		 fine;
	if (e == ELEM_NONE || e == ELEM_QUANT)
		return ST_OK;
	if (is_int)
		fine = !(n->has & (HAS_PAIR | HAS_STRING | HAS_POINT)) &&
			(e == ELEM_I1 || !(n->has & HAS_WORD)) &&
			(e < ELEM_UI2 || e > ELEM_UI64 || !(n->has & HAS_MINUS));
	else
		fine = !(n->has & (HAS_WORD | HAS_STRING)) &&
			n->points + n->hexes == (is_complex ? 2 : 1) * n->scalars &&
			(is_complex || !(n->has & HAS_PAIR));
	return fine ? ST_OK
				: lex_error(&r->lex, at, ST_ERR_INVALID, "the literal has elements that are no %s",
					  elem_text(e));
}

static status check_list(reader *r, const char *at, const struct literal *n, const ir_type *t)
{
	int64_t lists = 0, product = 1;
	for (uint32_t i = 0; i < t->rank; i++) {
		lists = sat_add(lists, product);
		product = sat_mul(product, t->dims[i]);
	}
	if (n->depth == t->rank && n->scalars == t->elements && n->lists == lists)
		return ST_OK;
	return lex_error(&r->lex, at, ST_ERR_INVALID,
		"the literal has %lld elements in %u nested lists, expected those of " STR_FMT,
		(long long)n->scalars, n->depth, STR_ARG(t->text));
}

/* "0x..": one element or all of them. */
static status check_hex(reader *r, const char *at, str hex, const ir_type *t, bool *splat)
{
	if (t->elem == ELEM_NONE || t->elem == ELEM_QUANT)
		return ST_OK;
	int64_t bits = elem_bits((elem)t->elem), bytes = sat_mul(t->elements, (bits + 7) / 8);
	if (hex.n < 2 || hex.p[0] != '0' || hex.p[1] != 'x')
		return lex_error(&r->lex, at, ST_ERR_PARSE, "expected a literal that starts with \"0x");
	for (size_t i = 2; i < hex.n; i++)
		if (!lex_is(hex.p[i], LEX_HEX))
			return lex_error(&r->lex, hex.p + i, ST_ERR_PARSE,
				"expected a hexadecimal digit, found '%c'", hex.p[i]);
	int64_t given = (int64_t)(hex.n - 2) / 2;
	*splat = t->elements != 1 && given == (bits + 7) / 8 && given != bytes;
	if ((given != bytes && !*splat) || hex.n % 2)
		return lex_error(&r->lex, at, ST_ERR_INVALID,
			"the literal has %lld bytes, expected %lld of " STR_FMT, (long long)given,
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
		while (lex_is(*l->p, LEX_SUFFIX) || *l->p == '(' || *l->p == ')' || *l->p == ',' ||
			*l->p == ' ' || *l->p == '+')
			l->p++;
	}
	const char *end = l->p;
	TRY(lex_expect(l, '>'));
	if (lex_peek(l) != ':')
		return lex_expected(l, "':' and the type of the literal");
	type_id id;
	TRY(optional_type(r, &id));
	const ir_type *t = type_get(r->m, id);
	bool splat = *start != '[' && *start != '"' && end > start;
	if (t->kind != TYPE_TENSOR && t->kind != TYPE_OTHER)
		return lex_error(l, start, ST_ERR_INVALID,
			"a literal of type " STR_FMT ", expected a tensor type", STR_ARG(t->text));
	if (t->kind == TYPE_TENSOR && t->dynamic)
		return lex_error(l, start, ST_ERR_INVALID,
			"a literal of type " STR_FMT ", expected a static shape", STR_ARG(t->text));
	if (t->kind == TYPE_TENSOR && *start == '[') {
		TRY(check_list(r, start, &list, t));
		TRY(check_kind(r, start, &list, (elem)t->elem));
	}
	const char *wanted =
		t->kind == TYPE_TENSOR && splat ? scalar_fault(lex_view(start, end), (elem)t->elem) : NULL;
	if (wanted)
		return lex_error(l, start, ST_ERR_INVALID, "expected %s as element of " STR_FMT, wanted,
			STR_ARG(t->text));
	if (t->kind == TYPE_TENSOR && hex.p)
		TRY(check_hex(r, start, hex, t, &splat));
	if (t->kind == TYPE_TENSOR && end == start && t->elements != 0)
		return lex_error(
			l, start, ST_ERR_INVALID, "an empty literal for " STR_FMT, STR_ARG(t->text));
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

static status push_number(reader *r)
{
	lexer *l = &r->lex;
	int64_t i = 0;
	if (lex_peek(l) == '0' && l->p[1] == 'x') {
		const char *start = l->p;
		while (lex_is(*l->p, LEX_SUFFIX))
			l->p++;
		if (!hex_value(lex_view(start, l->p), &i))
			return lex_error(
				l, start, ST_ERR_PARSE, "expected a hexadecimal number of at most 64 bits");
	} else if (lex_is(*l->p, LEX_LETTER) && lex_take_word(l, "true")) {
		i = 1;
	} else if (!lex_is(*l->p, LEX_LETTER) || !lex_take_word(l, "false")) {
		TRY(lex_int(l, &i));
	}
	vec_push(&r->numbers, i);
	return ST_OK;
}

/* Integers and truth values, comma separated, up to the closing bracket (taken), pushed on
 * r->numbers. */
static status push_numbers(reader *r, char close)
{
	lexer *l = &r->lex;
	if (lex_take(l, close))
		return ST_OK;
	uint32_t base = r->numbers.n;
	do {
		if (r->numbers.n - base == MAX_OPERANDS)
			return lex_error(
				l, l->p, ST_ERR_LIMIT, "the list is longer than the limit of %d", MAX_OPERANDS);
		TRY(push_number(r));
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

/* The elements of array<T: ..> one by one; the scanner stands behind the colon and ends before >.
 */
static status check_array(reader *r, elem e)
{
	lexer *l = &r->lex;
	for (;;) {
		lex_skip(l);
		const char *start = l->p;
		while (lex_is(*l->p, LEX_SUFFIX) || *l->p == '+')
			l->p++;
		str text = lex_view(start, l->p);
		bool word = str_is(text, "true") || str_is(text, "false");
		const char *wanted = e == ELEM_I1 ? (word ? NULL : "true or false") : scalar_fault(text, e);
		if (wanted)
			return lex_error(l, start, ST_ERR_INVALID, "expected %s as %s", wanted, elem_text(e));
		if (!lex_take(l, ','))
			return lex_peek(l) == '>' ? ST_OK : lex_expected(l, "',' or '>'");
	}
}

/* array<i64: 1, 2>; of floats only the text is kept. */
status read_array_literal(reader *r, const char *start, attr_id *out)
{
	lexer *l = &r->lex;
	TRY(lex_expect(l, '<'));
	lex_skip(l);
	const char *type_at = l->p;
	type_id type;
	TRY(read_type(r, &type));
	const ir_type *t = type_get(r->m, type);
	elem e = (elem)t->elem;
	bool whole_bytes = e == ELEM_I1 || elem_bits(e) % 8 == 0,
		 plain = e != ELEM_INDEX && e != ELEM_QUANT && e != ELEM_C64 && e != ELEM_C128;
	if (t->kind != TYPE_TENSOR || !t->bare || !whole_bytes || !plain) {
		if (t->kind != TYPE_OTHER)
			return lex_error(l, type_at, ST_ERR_INVALID,
				"an array of " STR_FMT ", expected integers or floats of whole bytes",
				STR_ARG(t->text));
		while (*l->p != '>' && l->p < l->end)
			l->p++;
		TRY(lex_expect(l, '>'));
		*out = raw_attr(r, start, l->p);
		return ST_OK;
	}
	bool is_int = elem_is_int(e), any = lex_take(l, ':');
	const char *body = l->p;
	if (any && e != ELEM_I64) /* of i64 every number that can be read fits */
		TRY(check_array(r, e));
	if (!is_int) {
		TRY(lex_expect(l, '>'));
		*out = raw_attr(r, start, l->p);
		return ST_OK;
	}
	uint32_t base = r->numbers.n;
	l->p = body;
	if (any)
		TRY(push_numbers(r, '>'));
	else
		TRY(lex_expect(l, '>'));
	*out = pop_numbers(r, e, base);
	return ST_OK;
}
