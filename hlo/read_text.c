/* Texts of HLO: names, numbers, strings, lists, what stands in brackets. */
#define _GNU_SOURCE /* memmem */
#include "hlo/read.h"

void hlo_comment(hlo_reader *r)
{
	if (r->lex.p[1] != '*')
		return;
	const char *end = memmem(r->lex.p + 2, (size_t)(r->lex.end - r->lex.p - 2), "*/", 2);
	if (end)
		r->lex.p = end + 2;
}

status hlo_error(hlo_reader *r, const char *at, status code, const char *fmt, ...)
{
	char msg[sizeof r->lex.d->msg];
	va_list args;
	va_start(args, fmt);
	vsnprintf(msg, sizeof msg, fmt, args);
	va_end(args);
	return lex_error(&r->lex, at, code, "%s", msg);
}

status hlo_expected(hlo_reader *r, const char *what)
{
	hlo_skip(r);
	return lex_expected(&r->lex, what);
}

status hlo_expect(hlo_reader *r, char c)
{
	if (hlo_take(r, c))
		return ST_OK;
	char what[] = {'\'', c, '\'', 0};
	return hlo_expected(r, what);
}

status hlo_number(hlo_reader *r, int64_t *out)
{
	hlo_skip(r);
	return lex_int(&r->lex, out);
}

status hlo_read_name(hlo_reader *r, const char *what, str *out)
{
	hlo_take(r, '%');
	*out = lex_suffix(&r->lex);
	return out->n ? ST_OK : hlo_expected(r, what);
}

/* Bytes that matter inside brackets and strings. */
static const uint8_t stops[256] = {['('] = 1,
	[')'] = 1,
	['['] = 1,
	[']'] = 1,
	['{'] = 1,
	['}'] = 1,
	['"'] = 3,
	['\\'] = 2,
	['\n'] = 2,
	[0] = 3};

status hlo_string(hlo_reader *r, str *out)
{
	const char *open = r->lex.p, *s = open + 1;
	for (;;) {
		while (!(stops[(unsigned char)*s] & 2))
			s++;
		if (*s == '"')
			break;
		if (*s == '\n' || s >= r->lex.end)
			return hlo_error(
				r, open, ST_ERR_PARSE, "the string that starts here has no end on its line");
		s += *s == '\\' && s + 1 < r->lex.end ? 2 : 1;
	}
	*out = lex_view(open + 1, s);
	r->lex.p = s + 1;
	return ST_OK;
}

status hlo_balanced(hlo_reader *r, str *out)
{
	char want[MAX_NESTING];
	uint32_t n = 0;
	const char *open = r->lex.p, *p = open;
	do {
		while (!(stops[(unsigned char)*p] & 1))
			p++;
		switch (*p) {
		case '(':
		case '[':
		case '{':
			if (n >= MAX_NESTING)
				return hlo_error(
					r, p, ST_ERR_LIMIT, "nested deeper than the limit of %d levels", MAX_NESTING);
			want[n++] = *p == '(' ? ')' : *p == '[' ? ']' : '}';
			p++;
			break;
		case '"': {
			str s;
			r->lex.p = p;
			TRY(hlo_string(r, &s));
			p = r->lex.p;
			break;
		}
		case '\0':
			if (p >= r->lex.end)
				return hlo_error(
					r, open, ST_ERR_PARSE, "the '%c' that opens here is never closed", *open);
			p++;
			break;
		default:
			if (want[n - 1] != *p)
				return hlo_error(r, p, ST_ERR_PARSE, "expected '%c', found '%c'", want[n - 1], *p);
			n--;
			p++;
		}
	} while (n);
	r->lex.p = p;
	*out = lex_view(open, p);
	return ST_OK;
}

status hlo_int_list(hlo_reader *r, char open, char close, uint32_t *first, uint32_t *n)
{
	*first = r->m->numbers.n;
	TRY(hlo_expect(r, open));
	while (!hlo_take(r, close)) {
		int64_t v;
		if (r->m->numbers.n != *first)
			TRY(hlo_expect(r, ','));
		TRY(hlo_number(r, &v));
		vec_push(&r->m->numbers, v);
	}
	*n = r->m->numbers.n - *first;
	return ST_OK;
}
