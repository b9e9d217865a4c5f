#include "layout/pieces.h"

status scan_fail(scan *s, size_t at, status code, const char *fmt, ...)
{
	char msg[384];
	va_list args;
	va_start(args, fmt);
	vsnprintf(msg, sizeof msg, fmt, args);
	va_end(args);
	return diag_at(s->d, s->text.p, s->text.n, at, code, "%s", msg);
}

char scan_peek(scan *s)
{
	while (s->at < s->text.n && strchr(" \t\r\n", s->text.p[s->at]) && s->text.p[s->at])
		s->at++;
	return s->at < s->text.n ? s->text.p[s->at] : 0;
}

bool scan_take(scan *s, char c)
{
	if (scan_peek(s) != c)
		return false;
	s->at++;
	return true;
}

status scan_expect(scan *s, char c, const char *where)
{
	if (scan_take(s, c))
		return ST_OK;
	if (s->at >= s->text.n)
		return scan_fail(s, s->at, ST_ERR_PARSE, "expected '%c' %s, found the end", c, where);
	return scan_fail(
		s, s->at, ST_ERR_PARSE, "expected '%c' %s, found '%c'", c, where, s->text.p[s->at]);
}

static bool in_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
		c == '.';
}

str scan_word(scan *s)
{
	scan_peek(s);
	size_t from = s->at;
	while (s->at < s->text.n && in_word(s->text.p[s->at]))
		s->at++;
	return (str){s->text.p + from, s->at - from};
}

str scan_last_word(scan *s)
{
	str word = scan_word(s);
	for (size_t i = word.n; i-- > 0;)
		if (word.p[i] == '.')
			return (str){word.p + i + 1, word.n - i - 1};
	return word;
}

bool scan_word_is(scan *s, const char *word)
{
	scan_peek(s);
	size_t start = s->at;
	if (str_is(scan_word(s), word))
		return true;
	s->at = start;
	return false;
}

status scan_int(scan *s, const char *what, int64_t *out)
{
	scan_peek(s);
	size_t from = s->at;
	while (s->at < s->text.n && s->text.p[s->at] >= '0' && s->text.p[s->at] <= '9')
		s->at++;
	if (!str_to_i64((str){s->text.p + from, s->at - from}, out))
		return scan_fail(s, from, ST_ERR_PARSE, "expected %s, a whole number", what);
	return ST_OK;
}

status scan_string(scan *s, const char *what, str *out)
{
	char quote = scan_peek(s);
	size_t start = s->at;
	if (quote != '"' && quote != '\'')
		return scan_fail(s, start, ST_ERR_PARSE, "expected %s in quotes", what);
	const char *end = memchr(s->text.p + start + 1, quote, s->text.n - start - 1);
	if (!end)
		return scan_fail(s, start, ST_ERR_PARSE, "%s has no closing quote", what);
	*out = (str){s->text.p + start + 1, (size_t)(end - s->text.p) - start - 1};
	s->at = (size_t)(end - s->text.p) + 1;
	return ST_OK;
}

status scan_end(scan *s)
{
	if (scan_peek(s) || s->at < s->text.n)
		return scan_fail(s, s->at, ST_ERR_PARSE, "expected the end, found '%c'", s->text.p[s->at]);
	return ST_OK;
}
