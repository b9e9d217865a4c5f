#include "base/base.h"

#include <stdlib.h>

static const struct {
	int exit, http;
	const char *name;
} rows[ST_COUNT] = {
#define X(id, exit, http, name) [ST_##id] = {exit, http, name},
	STATUS_TABLE(X)
#undef X
};

int status_exit_code(status s) { return rows[s].exit; }
int status_http(status s) { return rows[s].http; }
const char *status_name(status s) { return rows[s].name; }

static void fill(diag *d, status code, const char *fmt, va_list args)
{
	d->code = code;
	vsnprintf(d->msg, sizeof d->msg, fmt, args);
	/* messages quote user text: keep terminals safe */
	for (char *c = d->msg; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

status diag_set(diag *d, status code, const char *fmt, ...)
{
	if (!d || d->code != ST_OK)
		return code;
	va_list args;
	va_start(args, fmt);
	fill(d, code, fmt, args);
	va_end(args);
	return code;
}

status diag_at(diag *d, const char *text, size_t len, size_t at, status code, const char *fmt, ...)
{
	if (!d || d->code != ST_OK)
		return code;
	if (at > len)
		at = len;
	size_t start = 0;
	d->line = 1;
	for (const char *p = text; (p = memchr(p, '\n', (size_t)(text + at - p))); p++) {
		d->line++;
		start = (size_t)(p - text) + 1;
	}
	const char *eol = memchr(text + at, '\n', len - at);
	size_t end = eol ? (size_t)(eol - text) : len;
	d->col = (uint32_t)(at - start) + 1;
	/* Keep the column in view when the line is longer than the excerpt. */
	size_t room = sizeof d->excerpt - 1, from = start;
	if (at - start > room / 2 && end - start > room)
		from = at - room / 2;
	size_t n = MIN(end - from, room);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[from + i];
		d->excerpt[i] = c < 0x20 || c >= 0x7f ? ' ' : (char)c;
	}
	d->excerpt[n] = 0;
	d->caret = (uint32_t)(at - from) + 1;
	va_list args;
	va_start(args, fmt);
	fill(d, code, fmt, args);
	va_end(args);
	return code;
}

void diag_clear(diag *d) { memset(d, 0, sizeof *d); }

void diag_in_file(diag *d, const char *file)
{
	if (!d->file[0])
		snprintf(d->file, sizeof d->file, "%s", file);
}

void diag_print(const diag *d, FILE *out)
{
	if (d->file[0])
		fprintf(out, "%s:", d->file);
	if (d->line)
		fprintf(out, "%u:%u:", d->line, d->col);
	fprintf(out, "%serror: %s\n", d->file[0] || d->line ? " " : "", d->msg);
	if (d->excerpt[0])
		fprintf(out, "%s\n%*s^\n", d->excerpt, (int)d->caret - 1, "");
}
