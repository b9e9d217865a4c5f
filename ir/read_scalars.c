/* What one element of a literal may be, by its element type: 1, -1, 0xFF, true, 1.5e3, (1.0, 2.0).
 */
#include "ir/read.h"

static bool is_unsigned(elem e) { return e >= ELEM_UI2 && e <= ELEM_UI64; }

static str without(str s, size_t n) { return (str){s.p + n, s.n - n}; }

static bool is_hex(str s) { return s.n > 2 && s.p[0] == '0' && s.p[1] == 'x'; }

/* Digits of a base as a number, saturating; false when there is none or another byte. */
static bool read_digits(str s, unsigned base, unsigned __int128 *out)
{
	*out = 0;
	for (size_t i = 0; i < s.n; i++) {
		if (!lex_is(s.p[i], base == 16 ? LEX_HEX : LEX_DIGIT))
			return false;
		unsigned digit = lex_is(s.p[i], LEX_DIGIT) ? (unsigned)(s.p[i] - '0')
												   : (unsigned)((s.p[i] | 32) - 'a' + 10);
		if (!(*out >> 100))
			*out = *out * base + digit;
	}
	return s.n > 0;
}

static const char *int_fault(str s, elem e)
{
	if (e == ELEM_I1 && (str_is(s, "true") || str_is(s, "false")))
		return NULL;
	bool negative = s.n && s.p[0] == '-';
	s = without(s, negative);
	unsigned __int128 v;
	if (is_hex(s) ? !read_digits(without(s, 2), 16, &v) : !read_digits(s, 10, &v))
		return "a whole number";
	if (negative && is_unsigned(e))
		return "a number that is not negative";
	int bits = elem_bits(e);
	unsigned __int128 limit =
		negative ? (unsigned __int128)1 << (bits - 1) : ((unsigned __int128)1 << bits) - 1;
	return v <= limit ? NULL : "a number that fits";
}

static size_t skip_digits(str s, size_t at)
{
	while (at < s.n && lex_is(s.p[at], LEX_DIGIT))
		at++;
	return at;
}

static const char *float_fault(str s, int bits)
{
	unsigned __int128 v;
	if (is_hex(s))
		return !read_digits(without(s, 2), 16, &v) ? "a number"
			: v >> bits                            ? "a bit pattern that fits"
												   : NULL;
	size_t first = s.n && s.p[0] == '-', at = skip_digits(s, first);
	if (at == first)
		return "a number";
	if (at == s.n || s.p[at] != '.')
		return "a number with a decimal point";
	at = skip_digits(s, at + 1);
	if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
		at++;
		at += at < s.n && (s.p[at] == '+' || s.p[at] == '-');
		size_t exponent = at;
		at = skip_digits(s, at);
		if (at == exponent)
			return "digits in the exponent";
	}
	return at == s.n ? NULL : "a number";
}

static str trim(str s)
{
	while (s.n && lex_is(s.p[0], LEX_SPACE))
		s = without(s, 1);
	while (s.n && lex_is(s.p[s.n - 1], LEX_SPACE))
		s.n--;
	return s;
}

static const char *complex_fault(str s, int bits)
{
	static const char pair[] = "a pair of numbers with a decimal point, (1.0, 2.0)";
	if (s.n < 2 || s.p[0] != '(' || s.p[s.n - 1] != ')')
		return pair;
	s = (str){s.p + 1, s.n - 2};
	const char *comma = memchr(s.p, ',', s.n);
	if (!comma || float_fault(trim(lex_view(s.p, comma)), bits) ||
		float_fault(trim(lex_view(comma + 1, s.p + s.n)), bits))
		return pair;
	return NULL;
}

const char *scalar_fault(str text, elem e)
{
	str s = trim(text);
	if (e == ELEM_NONE || e == ELEM_QUANT)
		return NULL;
	if (e == ELEM_C64 || e == ELEM_C128)
		return complex_fault(s, elem_bits(e) / 2);
	return elem_is_int(e) || e == ELEM_INDEX ? int_fault(s, e) : float_fault(s, elem_bits(e));
}

bool hex_value(str text, int64_t *out)
{
	unsigned __int128 v;
	if (!is_hex(text) || !read_digits(without(text, 2), 16, &v) || v >> 64)
		return false;
	*out = (int64_t)(uint64_t)v;
	return true;
}
