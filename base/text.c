#include "base/base.h"

#include <stdlib.h>

str str_of(const char *s) { return (str){s, strlen(s)}; }

bool glob_match(const char *pattern, str text)
{
	/* Greedy match with one remembered star: linear in practice, quadratic at worst, no recursion.
	 */
	const char *star = NULL;
	size_t i = 0, mark = 0;
	while (i < text.n) {
		if (*pattern == '*') {
			star = ++pattern;
			mark = i;
		} else if (*pattern && (*pattern == '?' || *pattern == text.p[i])) {
			pattern++;
			i++;
		} else if (star) {
			pattern = star;
			i = ++mark;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool str_to_i64(str s, int64_t *out)
{
	int64_t v = 0;
	if (s.n == 0)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9' || !mul_i64(v, 10, &v) || !add_i64(v, s.p[i] - '0', &v))
			return false;
	}
	*out = v;
	return true;
}

bool size_parse(str s, int64_t *out_bytes)
{
	static const struct {
		const char *suffix;
		int64_t factor;
	} units[] = {
		{"TiB", 1ll << 40},
		{"GiB", 1ll << 30},
		{"MiB", 1 << 20},
		{"KiB", 1 << 10},
		{"TB", 1000000000000ll},
		{"GB", 1000000000ll},
		{"MB", 1000000},
		{"KB", 1000},
		{"kB", 1000},
		{"B", 1},
		{"", 1},
	};
	size_t digits = 0;
	while (digits < s.n && ((s.p[digits] >= '0' && s.p[digits] <= '9') || s.p[digits] == '.'))
		digits++;
	size_t blank = digits && digits + 1 < s.n && s.p[digits] == ' '; /* one, as in "16 GiB" */
	str unit = {s.p + digits + blank, s.n - digits - blank}, number = {s.p, digits};
	for (size_t u = 0; u < COUNT_OF(units); u++) {
		if (!str_is(unit, units[u].suffix))
			continue;
		const char *dot = memchr(number.p, '.', number.n);
		int64_t whole, bytes;
		str head = {number.p, dot ? (size_t)(dot - number.p) : number.n};
		if (!str_to_i64(head, &whole) || !mul_i64(whole, units[u].factor, &bytes))
			return false;
		if (dot) {
			str tail = {dot + 1, number.n - head.n - 1};
			int64_t fraction, scale = 1;
			if (tail.n > 6 || !str_to_i64(tail, &fraction))
				return false;
			for (size_t i = 0; i < tail.n; i++)
				scale *= 10;
			bytes += (int64_t)((__int128)fraction * units[u].factor / scale);
		}
		if (bytes > 1ll << 53)
			return false;
		*out_bytes = bytes;
		return true;
	}
	return false;
}

void strbuf_init(strbuf *b) { *b = (strbuf){0}; }
void strbuf_release(strbuf *b)
{
	free(b->p);
	strbuf_init(b);
}
void strbuf_clear(strbuf *b)
{
	b->n = 0;
	if (b->p)
		b->p[0] = 0;
}

static void reserve(strbuf *b, size_t more)
{
	if (b->cap - b->n > more)
		return;
	size_t cap = b->cap ? b->cap : 64;
	while (cap - b->n <= more)
		cap *= 2;
	b->p = xrealloc(b->p, cap);
	b->cap = cap;
}

void strbuf_add(strbuf *b, const char *p, size_t n)
{
	reserve(b, n);
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = 0;
}
void strbuf_str(strbuf *b, str s) { strbuf_add(b, s.p, s.n); }
void strbuf_puts(strbuf *b, const char *s) { strbuf_add(b, s, strlen(s)); }
void strbuf_putc(strbuf *b, char c)
{
	reserve(b, 1);
	b->p[b->n++] = c;
	b->p[b->n] = 0;
}

void strbuf_i64(strbuf *b, int64_t v)
{
	char digits[24];
	size_t i = sizeof digits;
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	do
		digits[--i] = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		digits[--i] = '-';
	strbuf_add(b, digits + i, sizeof digits - i);
}

void strbuf_printf(strbuf *b, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, fmt, args);
	assert(n >= 0);
	reserve(b, (size_t)n + 1);
	vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
	b->n += (size_t)n;
	va_end(again);
	va_end(args);
}

void strbuf_bytes(strbuf *b, int64_t bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	double v = (double)bytes;
	size_t u = 0;
	while (v >= 1024 && u + 1 < COUNT_OF(unit)) {
		v /= 1024;
		u++;
	}
	strbuf_printf(b, v >= 100 || u == 0 ? "%.0f %s" : v >= 10 ? "%.1f %s" : "%.2f %s", v, unit[u]);
}

void strbuf_duration(strbuf *b, int64_t ns)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	double v = (double)ns;
	size_t u = 0;
	while (v >= 1000 && u + 1 < COUNT_OF(unit)) {
		v /= 1000;
		u++;
	}
	strbuf_printf(b, v >= 100 || u == 0 ? "%.0f %s" : v >= 10 ? "%.1f %s" : "%.2f %s", v, unit[u]);
}
