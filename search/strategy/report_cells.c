/* Cells of tables: names and their patterns, shardings, widths in characters. */
#include "search/strategy/read_json.h"
#include "search/strategy/strategy.h"

/* [data+model, -] from the JSON notation. */
void report_sharding(const cJSON *sh, strbuf *out)
{
	const cJSON *dims = cJSON_IsObject(sh) ? cJSON_GetObjectItemCaseSensitive(sh, "dims") : sh;
	if (!cJSON_IsArray(dims)) {
		strbuf_puts(out, "(propagated)");
		return;
	}
	strbuf_putc(out, '[');
	for (const cJSON *d = dims->child; d; d = d->next) {
		strbuf_puts(out, d != dims->child ? ", " : "");
		if (!d->child)
			strbuf_putc(out, '-');
		for (const cJSON *axis = d->child; axis; axis = axis->next)
			strbuf_printf(out, "%s%s", axis != d->child ? "+" : "",
				cJSON_IsString(axis) ? axis->valuestring : "?");
	}
	strbuf_putc(out, ']');
}

/* ---------------------------------------------------------------- names */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(unsigned char)c >= 0x80;
}

/* Numbers that count parts of a path: [0], ['0'], .0, layer_0, mlp_1/linear; not those of words, as
 * in ln1. Where the one that begins at `at` ends; 0: there is none. */
static size_t path_number(str name, size_t at)
{
	size_t end = at;
	if (at && (is_digit(name.p[at - 1]) || !strchr("[]'\"./_", name.p[at - 1])))
		return 0;
	while (end < name.n && is_digit(name.p[end]))
		end++;
	bool ends = end == name.n || strchr("]'\"./_", name.p[end]) || (at && name.p[at - 1] == '[');
	return end > at && ends ? end : 0;
}

void report_name_pattern(str name, strbuf *out)
{
	strbuf_clear(out);
	for (size_t i = 0, end; i < name.n; i = end) {
		end = path_number(name, i);
		strbuf_putc(out, end ? '*' : name.p[i]);
		end = end ? end : i + 1;
	}
}

void report_common_name(str a, str b, strbuf *out)
{
	size_t i = 0, k = 0;
	strbuf_clear(out);
	while (i < a.n && k < b.n) {
		size_t x = path_number(a, i), y = path_number(b, k);
		if (a.p[i] == '*' || (x && y && (x - i != y - k || memcmp(a.p + i, b.p + k, x - i))))
			strbuf_putc(out, '*');
		else
			strbuf_str(out, (str){a.p + i, x ? x - i : 1});
		i = x ? x : i + 1;
		k = y ? y : k + 1;
	}
}

void report_name_of_all(const str *names, uint32_t n, strbuf *out)
{
	str a = names[0], last = names[n - 1];
	size_t head = a.n, tail = a.n;
	for (uint32_t i = 1; i < n; i++) {
		str b = names[i];
		size_t k = 0;
		while (k < MIN(head, b.n) && a.p[k] == b.p[k])
			k++;
		head = k;
		for (k = 0; k < MIN(tail, b.n) && a.p[a.n - 1 - k] == b.p[b.n - 1 - k];)
			k++;
		tail = k;
	}
	while (head && is_word(a.p[head - 1]))
		head--;
	while (tail && is_word(a.p[a.n - tail]))
		tail--;
	for (uint32_t i = 0; i < n; i++)
		tail = MIN(tail, names[i].n - MIN(head, names[i].n));
	strbuf_clear(out);
	strbuf_str(out, head || tail ? (str){a.p, head} : a);
	strbuf_puts(out, head || tail ? "*" : "..");
	strbuf_str(out, head || tail ? (str){a.p + a.n - tail, tail} : last);
}

/* ---------------------------------------------------------------- widths */

static bool begins_character(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

size_t report_width(str text)
{
	size_t n = 0;
	for (size_t i = 0; i < text.n; i++)
		n += begins_character(text.p[i]);
	return n;
}

/* Where the character of that number begins. */
static size_t character_at(str text, size_t number)
{
	size_t i = 0;
	for (size_t n = 0; i < text.n; i++)
		if (begins_character(text.p[i]) && n++ == number)
			break;
	return i;
}

void report_shortened(str text, size_t most, strbuf *out)
{
	size_t width = report_width(text);
	if (width <= most) {
		strbuf_str(out, text);
		return;
	}
	size_t kept = most > 2 ? most - 2 : 0, from = character_at(text, width - (kept - kept / 2));
	strbuf_str(out, (str){text.p, character_at(text, kept / 2)});
	strbuf_puts(out, "..");
	strbuf_str(out, (str){text.p + from, text.n - from});
}

void report_cell(str text, size_t width, strbuf *out)
{
	size_t has = MIN(report_width(text), width);
	report_shortened(text, width, out);
	strbuf_printf(out, "%*s", (int)(width - has), "");
}

void report_change_ns(strbuf *out, int64_t ns)
{
	strbuf_putc(out, ns < 0 ? '-' : '+');
	strbuf_duration(out, ns < 0 ? -ns : ns);
}

void report_change_bytes(strbuf *out, int64_t bytes)
{
	strbuf_putc(out, bytes < 0 ? '-' : '+');
	strbuf_bytes(out, bytes < 0 ? -bytes : bytes);
}

void report_title(strbuf *out, const char *title) { strbuf_printf(out, "\n%s\n", title); }
