/* What is wrong with a line of JOBS, and where. */
#include "batch/batch.h"

#include <stdio.h>

void batch_fault(batch *b, uint32_t line, uint32_t col, const char *fmt, ...)
{
	diag d = {.code = ST_ERR_INVALID, .line = line, .col = col};
	va_list args;
	va_start(args, fmt);
	vsnprintf(d.msg, sizeof d.msg, fmt, args);
	va_end(args);
	for (char *c = d.msg; *c; c++) /* it quotes the file */
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	diag_in_file(&d, b->path);
	vec_push(&b->faults, d);
}

/* Column of the value of a key of the outermost object; 1 when it has no such key. */
static uint32_t column_of_key(const char *p, size_t n, const char *key)
{
	int depth = 0;
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '{' || p[i] == '[')
			depth++;
		else if (p[i] == '}' || p[i] == ']')
			depth--;
		if (p[i] != '"')
			continue;
		size_t from = i + 1;
		for (i = from; i < n && p[i] != '"'; i++)
			i += p[i] == '\\';
		if (depth != 1 || i >= n || !str_is((str){p + from, i - from}, key))
			continue;
		size_t at = i + 1;
		while (at < n && strchr(" \t", p[at]))
			at++;
		if (at >= n || p[at] != ':')
			continue;
		for (at++; at < n && strchr(" \t", p[at]);)
			at++;
		return (uint32_t)at + 1;
	}
	return 1;
}

void batch_fault_at(batch *b, const batch_place *at, const char *field, const char *detail)
{
	char key[64];
	snprintf(key, sizeof key, "%.*s", (int)MIN(strcspn(field, "/"), sizeof key - 1), field);
	uint32_t line = at->line, col = 1;
	if (at->cells) {
		for (uint32_t i = 0; i < at->cells->n; i++)
			if (!strcmp(at->cells->names[i], key) && at->cells->cols[i])
				line = at->cells->lines[i], col = at->cells->cols[i];
	} else {
		col = column_of_key(at->text, at->n, key);
	}
	batch_fault(b, line, col, "%s%s%s", field, field[0] ? ": " : "", detail);
}
