#include "server/json.h"

#include <time.h>

void json_string(strbuf *b, const char *s)
{
	const char *end = s + strlen(s), *from = s;
	strbuf_putc(b, '"');
	while (s < end) {
		unsigned char c = (unsigned char)*s;
		size_t len = utf8_len((const unsigned char *)s, (size_t)(end - s));
		if (len && c >= 0x20 && c != '"' && c != '\\') {
			s += len;
			continue;
		}
		strbuf_add(b, from, (size_t)(s - from));
		from = ++s;
		if (!len)
			strbuf_putc(b, '?');
		else if (c == '"' || c == '\\')
			strbuf_add(b, (char[]){'\\', (char)c}, 2);
		else if (c == '\n')
			strbuf_puts(b, "\\n");
		else
			strbuf_printf(b, "\\u%04x", c);
	}
	strbuf_add(b, from, (size_t)(s - from));
	strbuf_putc(b, '"');
}

void json_key(strbuf *b, const char *key)
{
	if (b->n && b->p[b->n - 1] != '{')
		strbuf_putc(b, ',');
	json_string(b, key);
	strbuf_putc(b, ':');
}

void json_text(strbuf *b, const char *key, const char *value)
{
	json_key(b, key);
	if (value)
		json_string(b, value);
	else
		strbuf_puts(b, "null");
}

void json_int(strbuf *b, const char *key, int64_t value)
{
	json_key(b, key);
	strbuf_i64(b, value);
}

void json_bool(strbuf *b, const char *key, bool value)
{
	json_key(b, key);
	strbuf_puts(b, value ? "true" : "false");
}

void json_time(strbuf *b, const char *key, int64_t us)
{
	if (!us) {
		json_raw(b, key, "null");
		return;
	}
	time_t seconds = (time_t)(us / 1000000);
	struct tm tm;
	gmtime_r(&seconds, &tm);
	char text[32], whole[40];
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(whole, sizeof whole, "%s.%03dZ", text, (int)(us / 1000 % 1000));
	json_text(b, key, whole);
}

bool time_parse(const char *text, int64_t *out_us)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t fraction = 0, unit = 1000000;
	if (rest && *rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
			fraction += (*rest - '0') * unit / 10;
	if (!rest || strcmp(rest, "Z") || strlen(text) < 20 || tm.tm_sec > 59)
		return false;
	int64_t seconds = timegm(&tm);
	*out_us = seconds * 1000000 + fraction;
	return seconds > 0;
}

void json_raw(strbuf *b, const char *key, const char *json)
{
	json_key(b, key);
	strbuf_puts(b, json);
}

int64_t wall_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
