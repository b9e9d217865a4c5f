/* One pass over the text, before cJSON sees it. Happy path: value after value, nothing kept but the
 * keys of the objects that are open. Every refusal names the position. */
#include "server/json.h"

#include <stdlib.h>

enum { DEPTH_LIMIT = 64, VALUE_LIMIT = 200000, KEY_LIMIT = 256, NUMBER_LIMIT = 64 };

typedef struct gate {
	const char *text;
	size_t n, at;
	uint32_t values;
	strbuf keys; /* decoded keys of open objects, one after the other */
	VEC(uint32_t) key_starts;
	diag *d;
} gate;

static status refuse(gate *g, const char *what)
{
	return diag_at(g->d, g->text, g->n, g->at, ST_ERR_PARSE, "%s", what);
}

static void skip_space(gate *g)
{
	while (g->at < g->n &&
		(g->text[g->at] == ' ' || g->text[g->at] == '\t' || g->text[g->at] == '\n' ||
			g->text[g->at] == '\r'))
		g->at++;
}

static int peek(const gate *g) { return g->at < g->n ? (unsigned char)g->text[g->at] : -1; }
static bool is_digit(int c) { return c >= '0' && c <= '9'; }

static int hex_value(int c)
{
	return is_digit(c)         ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
							   : -1;
}

size_t utf8_len(const unsigned char *p, size_t n)
{
	unsigned char c = p[0];
	size_t len = c < 0x80       ? 1
		: c >= 0xc2 && c < 0xe0 ? 2
		: c >= 0xe0 && c < 0xf0 ? 3
		: c >= 0xf0 && c < 0xf5 ? 4
								: 0;
	if (len == 0 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] >= 0xa0) || (c == 0xf0 && p[1] < 0x90) ||
		(c == 0xf4 && p[1] >= 0x90))
		return 0;
	return len;
}

static void put_utf8(strbuf *b, uint32_t c)
{
	if (c < 0x80) {
		strbuf_putc(b, (char)c);
	} else if (c < 0x800) {
		strbuf_putc(b, (char)(0xc0 | c >> 6));
		strbuf_putc(b, (char)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		strbuf_putc(b, (char)(0xe0 | c >> 12));
		strbuf_putc(b, (char)(0x80 | (c >> 6 & 63)));
		strbuf_putc(b, (char)(0x80 | (c & 63)));
	} else {
		strbuf_putc(b, (char)(0xf0 | c >> 18));
		strbuf_putc(b, (char)(0x80 | (c >> 12 & 63)));
		strbuf_putc(b, (char)(0x80 | (c >> 6 & 63)));
		strbuf_putc(b, (char)(0x80 | (c & 63)));
	}
}

static status read_hex4(gate *g, uint32_t *out)
{
	*out = 0;
	for (int i = 0; i < 4; i++, g->at++) {
		int v = hex_value(peek(g));
		if (v < 0)
			return refuse(g, "\\u wants four hexadecimal digits");
		*out = *out << 4 | (uint32_t)v;
	}
	return ST_OK;
}

static status read_unicode(gate *g, strbuf *key)
{
	uint32_t c, low;
	TRY(read_hex4(g, &c));
	if (c == 0)
		return refuse(g, "the character U+0000 is not accepted");
	if (c >= 0xdc00 && c < 0xe000)
		return refuse(g, "second half of a surrogate pair without the first");
	if (c >= 0xd800 && c < 0xdc00) {
		if (g->n - g->at < 2 || memcmp(g->text + g->at, "\\u", 2))
			return refuse(g, "first half of a surrogate pair without the second");
		g->at += 2;
		TRY(read_hex4(g, &low));
		if (low < 0xdc00 || low >= 0xe000)
			return refuse(g, "first half of a surrogate pair without the second");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	if (key)
		put_utf8(key, c);
	return ST_OK;
}

static status read_escape(gate *g, strbuf *key)
{
	static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	g->at++;
	int c = peek(g);
	if (c == 'u') {
		g->at++;
		return read_unicode(g, key);
	}
	const char *name = c > 0 ? strchr(names, c) : NULL;
	if (!name)
		return refuse(g, "unknown escape, expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
	if (key)
		strbuf_putc(key, meanings[name - names]);
	g->at++;
	return ST_OK;
}

/* key: receives the decoded text, or NULL. */
static status read_string(gate *g, strbuf *key)
{
	for (g->at++;;) {
		int c = peek(g);
		if (c < 0)
			return refuse(g, "the text ends inside a string");
		if (c == '"')
			break;
		if (c < 0x20)
			return refuse(g, "control character in a string, expected an escape");
		if (c == '\\') {
			TRY(read_escape(g, key));
			continue;
		}
		size_t len = utf8_len((const unsigned char *)g->text + g->at, g->n - g->at);
		if (!len)
			return refuse(g, "not UTF-8");
		if (key)
			strbuf_add(key, g->text + g->at, len);
		g->at += len;
	}
	g->at++;
	return ST_OK;
}

static status read_number(gate *g)
{
	size_t start = g->at;
	if (peek(g) == '-')
		g->at++;
	if (!is_digit(peek(g)))
		return refuse(g, "expected a digit");
	if (peek(g) == '0' && g->at + 1 < g->n && is_digit((unsigned char)g->text[g->at + 1]))
		return refuse(g, "a number does not start with 0");
	while (is_digit(peek(g)))
		g->at++;
	if (peek(g) == '.') {
		g->at++;
		if (!is_digit(peek(g)))
			return refuse(g, "expected a digit after the point");
		while (is_digit(peek(g)))
			g->at++;
	}
	if (peek(g) == 'e' || peek(g) == 'E') {
		g->at++;
		if (peek(g) == '+' || peek(g) == '-')
			g->at++;
		if (!is_digit(peek(g)))
			return refuse(g, "expected a digit in the exponent");
		while (is_digit(peek(g)))
			g->at++;
	}
	size_t n = g->at - start;
	char digits[NUMBER_LIMIT + 1];
	if (n > NUMBER_LIMIT)
		return refuse(g, "a number has at most 64 characters");
	memcpy(digits, g->text + start, n);
	digits[n] = 0;
	if (!__builtin_isfinite(strtod(digits, NULL)))
		return refuse(g, "the number is too large");
	return ST_OK;
}

static status read_word(gate *g, const char *word)
{
	size_t n = strlen(word);
	if (g->n - g->at < n || memcmp(g->text + g->at, word, n))
		return refuse(g, "expected a value");
	g->at += n;
	return ST_OK;
}

static status read_value(gate *g, int depth);

/* The key just read is the last of key_starts; its rivals start at index `first`. */
static status check_key(gate *g, uint32_t first)
{
	uint32_t last = g->key_starts.n - 1;
	if (last - first >= KEY_LIMIT)
		return refuse(g, "an object has at most 256 keys");
	const char *key = g->keys.p + g->key_starts.p[last];
	for (uint32_t i = first; i < last; i++)
		if (!strcmp(g->keys.p + g->key_starts.p[i], key))
			return refuse(g, "the key occurs twice in this object");
	return ST_OK;
}

static status read_object(gate *g, int depth)
{
	uint32_t first = g->key_starts.n;
	size_t keys = g->keys.n;
	g->at++;
	skip_space(g);
	if (peek(g) == '}') {
		g->at++;
		return ST_OK;
	}
	for (;;) {
		skip_space(g);
		if (peek(g) != '"')
			return refuse(g, "expected a key in double quotes");
		vec_push(&g->key_starts, (uint32_t)g->keys.n);
		TRY(read_string(g, &g->keys));
		strbuf_add(&g->keys, "", 1);
		TRY(check_key(g, first));
		skip_space(g);
		if (peek(g) != ':')
			return refuse(g, "expected ':'");
		g->at++;
		TRY(read_value(g, depth));
		skip_space(g);
		if (peek(g) == '}')
			break;
		if (peek(g) != ',')
			return refuse(g, "expected ',' or '}'");
		g->at++;
	}
	g->at++;
	g->key_starts.n = first;
	g->keys.n = keys;
	return ST_OK;
}

static status read_array(gate *g, int depth)
{
	g->at++;
	skip_space(g);
	if (peek(g) == ']') {
		g->at++;
		return ST_OK;
	}
	for (;;) {
		TRY(read_value(g, depth));
		skip_space(g);
		if (peek(g) == ']')
			break;
		if (peek(g) != ',')
			return refuse(g, "expected ',' or ']'");
		g->at++;
	}
	g->at++;
	return ST_OK;
}

static status read_value(gate *g, int depth)
{
	skip_space(g);
	if (depth >= DEPTH_LIMIT)
		return refuse(g, "nested deeper than 64 levels");
	if (++g->values > VALUE_LIMIT)
		return refuse(g, "more than 200000 values");
	int c = peek(g);
	switch (c) {
	case '{': return read_object(g, depth + 1);
	case '[': return read_array(g, depth + 1);
	case '"': return read_string(g, NULL);
	case 't': return read_word(g, "true");
	case 'f': return read_word(g, "false");
	case 'n': return read_word(g, "null");
	default:
		return c == '-' || is_digit(c)
			? read_number(g)
			: refuse(g, c < 0 ? "the text ends where a value is expected" : "expected a value");
	}
}

status json_gate(const char *p, size_t n, size_t limit, diag *d)
{
	if (n > limit)
		return diag_set(d, ST_ERR_LIMIT, "the JSON text has %zu bytes, the limit is %zu", n, limit);
	gate g = {.text = p, .n = n, .d = d};
	status s = read_value(&g, 0);
	if (s == ST_OK) {
		skip_space(&g);
		if (g.at < n)
			s = refuse(&g, "expected the end of the text");
	}
	strbuf_release(&g.keys);
	vec_release(&g.key_starts);
	return s;
}

cJSON *json_parse(const char *p, size_t n, size_t limit, diag *d)
{
	if (json_gate(p, n, limit, d) != ST_OK)
		return NULL;
	char *text = xmalloc(n + 1); /* cJSON checks the end only in a terminated text */
	memcpy(text, p, n);
	text[n] = 0;
	cJSON *root = cJSON_ParseWithLengthOpts(text, n + 1, NULL, 1);
	free(text);
	if (!root)
		diag_set(d, ST_ERR_MEMORY, "the JSON text could not be read");
	return root;
}
