#include "ir/lex.h"

#define L (LEX_LETTER | LEX_WORD | LEX_SUFFIX)
#define D (LEX_DIGIT | LEX_WORD | LEX_SUFFIX | LEX_HEX)
#define H (L | LEX_HEX)
#define W (LEX_WORD | LEX_SUFFIX)
const uint8_t lex_class[256] = {
	['a' ... 'f'] = H,
	['g' ... 'z'] = L,
	['A' ... 'F'] = H,
	['G' ... 'Z'] = L,
	['_'] = L,
	['0' ... '9'] = D,
	['$'] = W,
	['.'] = W,
	['-'] = LEX_SUFFIX,
	[' '] = LEX_SPACE,
	['\t'] = LEX_SPACE,
	['\n'] = LEX_SPACE,
	['\r'] = LEX_SPACE,
};
#undef L
#undef D
#undef H
#undef W

void lex_comment(lexer *l)
{
	const char *eol = memchr(l->p, '\n', (size_t)(l->end - l->p));
	l->p = eol ? eol + 1 : l->end;
}

status lex_error(lexer *l, const char *at, status code, const char *fmt, ...)
{
	char msg[sizeof l->d->msg];
	va_list args;
	va_start(args, fmt);
	vsnprintf(msg, sizeof msg, fmt, args);
	va_end(args);
	return diag_at(
		l->d, l->text, (size_t)(l->end - l->text), (size_t)(at - l->text), code, "%s", msg);
}

status lex_expected(lexer *l, const char *what)
{
	lex_skip(l);
	if (l->p >= l->end)
		return lex_error(l, l->end, ST_ERR_PARSE, "expected %s, found the end of the text", what);
	const char *e = l->p;
	while (e < l->end && e - l->p < 40 && lex_is(*e, LEX_SUFFIX))
		e++;
	if (e == l->p)
		e++;
	return lex_error(l, l->p, ST_ERR_PARSE, "expected %s, found '" STR_FMT "'", what,
		STR_ARG(lex_view(l->p, e)));
}

bool lex_take_text(lexer *l, const char *text)
{
	lex_skip(l);
	size_t n = strlen(text);
	if (strncmp(l->p, text, n) != 0)
		return false;
	l->p += n;
	return true;
}

bool lex_at_word(lexer *l, const char *word)
{
	lex_skip(l);
	size_t n = strlen(word);
	return strncmp(l->p, word, n) == 0 && !lex_is(l->p[n], LEX_WORD);
}

bool lex_take_word(lexer *l, const char *word)
{
	if (!lex_at_word(l, word))
		return false;
	l->p += strlen(word);
	return true;
}

status lex_expect(lexer *l, char c)
{
	if (lex_take(l, c))
		return ST_OK;
	char what[] = {'\'', c, '\'', 0};
	return lex_expected(l, what);
}

status lex_expect_text(lexer *l, const char *text)
{
	if (lex_take_text(l, text))
		return ST_OK;
	char what[64];
	snprintf(what, sizeof what, "'%s'", text);
	return lex_expected(l, what);
}

status lex_expect_word(lexer *l, const char *word)
{
	if (lex_take_word(l, word))
		return ST_OK;
	char what[64];
	snprintf(what, sizeof what, "'%s'", word);
	return lex_expected(l, what);
}

str lex_word(lexer *l)
{
	lex_skip(l);
	const char *s = l->p;
	if (!lex_is(*s, LEX_LETTER))
		return lex_view(s, s);
	while (lex_is(*l->p, LEX_WORD))
		l->p++;
	return lex_view(s, l->p);
}

str lex_suffix(lexer *l)
{
	const char *s = l->p;
	while (lex_is(*l->p, LEX_SUFFIX))
		l->p++;
	return lex_view(s, l->p);
}

status lex_string(lexer *l, str *out)
{
	if (lex_peek(l) != '"')
		return lex_expected(l, "a string");
	const char *open = l->p, *s = open + 1;
	for (;;) {
		/* long literals are mostly plain bytes */
		while (*s != '"' && *s != '\\' && *s != '\n' && s < l->end)
			s++;
		if (*s == '\\' && s + 1 < l->end) {
			bool letter = s[1] == 'n' || s[1] == 't' || s[1] == '"' || s[1] == '\\';
			if (!letter && !(lex_is(s[1], LEX_HEX) && lex_is(s[2], LEX_HEX)))
				return lex_error(l, s, ST_ERR_PARSE,
					"expected \\n, \\t, \\\", \\\\ or two hexadecimal digits after the backslash");
			s += 2;
			continue;
		}
		break;
	}
	if (*s != '"' || s >= l->end)
		return lex_error(
			l, open, ST_ERR_PARSE, "the string that starts here has no end on its line");
	*out = lex_view(open + 1, s);
	l->p = s + 1;
	return ST_OK;
}

status lex_int(lexer *l, int64_t *out)
{
	lex_skip(l);
	const char *s = l->p;
	bool negative = *s == '-';
	s += negative;
	if (!lex_is(*s, LEX_DIGIT))
		return lex_expected(l, "a whole number");
	int64_t v = 0;
	for (; lex_is(*s, LEX_DIGIT); s++) {
		int digit = *s - '0';
		if (!mul_i64(v, 10, &v) || !add_i64(v, negative ? -digit : digit, &v))
			return lex_error(l, l->p, ST_ERR_LIMIT, "the number does not fit into 64 bits");
	}
	l->p = s;
	*out = v;
	return ST_OK;
}

status lex_symbol(lexer *l, str *out)
{
	TRY(lex_expect(l, '@'));
	if (*l->p == '"')
		return lex_string(l, out);
	*out = lex_suffix(l);
	return out->n ? ST_OK : lex_expected(l, "a symbol name after '@'");
}

status lex_enter(lexer *l)
{
	if (l->depth >= MAX_NESTING)
		return lex_error(
			l, l->p, ST_ERR_LIMIT, "nested deeper than the limit of %d levels", MAX_NESTING);
	l->depth++;
	return ST_OK;
}

status lex_balanced(lexer *l, str *out)
{
	char want[MAX_NESTING];
	uint32_t n = 0;
	const char *open = l->p;
	do {
		char c = *l->p;
		switch (c) {
		case '<':
		case '(':
		case '[':
		case '{':
			if (n + l->depth >= MAX_NESTING)
				return lex_error(l, l->p, ST_ERR_LIMIT, "nested deeper than the limit of %d levels",
					MAX_NESTING);
			want[n++] = c == '<' ? '>' : c == '(' ? ')' : c == '[' ? ']' : '}';
			l->p++;
			break;
		case '>':
			if (l->p > open && l->p[-1] == '-') {
				l->p++;
				break;
			}
			/* fall through */
		case ')':
		case ']':
		case '}':
			if (want[n - 1] != c)
				return lex_error(
					l, l->p, ST_ERR_PARSE, "expected '%c', found '%c'", want[n - 1], c);
			n--;
			l->p++;
			break;
		case '"': {
			str s;
			TRY(lex_string(l, &s));
			break;
		}
		default:
			if (l->p >= l->end)
				return lex_error(
					l, open, ST_ERR_PARSE, "the '%c' that opens here is never closed", *open);
			l->p++;
		}
	} while (n);
	*out = lex_view(open, l->p);
	return ST_OK;
}
