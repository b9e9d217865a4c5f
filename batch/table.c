/* CSV (RFC 4180) or TSV with a header row: each row becomes the object that a line of JSON would
 * have held.
 *
 *   module,mesh,device,pins
 *   step.mlir,"data=4,model=4",tpu-v5e,"batch*:[[""data""],[]]"
 *
 * Where the header has a tab, tabs separate. A cell that starts with { or [" is JSON; an empty one
 * is not given. */
#include "batch/batch.h"
#include "server/server.h"
#include "search/options.h"

#include <stdlib.h>

enum { MOST_COLUMNS = 32, CELL_BYTES = 1 << 20 };

typedef struct table {
	const char *p;
	size_t n, at;
	char separator;
	uint32_t line; /* of at, from 1 */
	size_t line_start;
	batch *b;
} table;

typedef enum cell_end { CELL_MORE, CELL_LAST, CELL_BROKEN } cell_end;

/* Reads one cell into out. A quote that is not closed takes the rest of the file: the caller stops.
 */
static cell_end read_cell(table *t, strbuf *out)
{
	strbuf_clear(out);
	strbuf_add(out, "", 0);
	if (t->at < t->n && t->p[t->at] == '"') {
		for (t->at++;; t->at++) {
			if (t->at >= t->n)
				return CELL_BROKEN;
			if (t->p[t->at] == '"' && (t->at + 1 >= t->n || t->p[t->at + 1] != '"'))
				break;
			t->at += t->p[t->at] == '"';
			if (t->p[t->at] == '\n') {
				t->line++;
				t->line_start = t->at + 1;
			}
			strbuf_putc(out, t->p[t->at]);
		}
		t->at++;
	}
	while (t->at < t->n && t->p[t->at] != t->separator && t->p[t->at] != '\n') {
		if (t->p[t->at] != '\r' || (t->at + 1 < t->n && t->p[t->at + 1] != '\n'))
			strbuf_putc(out, t->p[t->at]);
		t->at++;
	}
	bool more = t->at < t->n && t->p[t->at] == t->separator;
	if (!more) {
		t->line++;
		t->line_start = t->at + 1;
	}
	t->at++;
	return more ? CELL_MORE : CELL_LAST;
}

/* What the cell of a column means, NULL: a text that is none of it. */
static cJSON *value_of(const char *name, const char *text, char why[128])
{
	diag d = {0};
	if (text[0] == '{' || (text[0] == '[' && text[1 + strspn(text + 1, " ")] == '"')) {
		cJSON *o = json_parse(text, strlen(text), CELL_BYTES, &d);
		snprintf(why, 128, "%.120s", d.msg);
		return o;
	}
	const search_option *o = search_option_field(name);
	if (o ? o->kind == OPTION_KIND_NUMBER || o->kind == OPTION_KIND_SECONDS
		  : !strcmp(name, "priority") || !strcmp(name, "seeds")) {
		char *end;
		double v = strtod(text, &end);
		snprintf(why, 128, "expected a number");
		return *end || end == text || !__builtin_isfinite(v) ? NULL : cJSON_CreateNumber(v);
	}
	if ((o && o->kind == OPTION_KIND_SWITCH) || !strcmp(name, "warm_start")) {
		snprintf(why, 128, "expected true or false");
		return !strcmp(text, "true") ? cJSON_CreateTrue()
			: !strcmp(text, "false") ? cJSON_CreateFalse()
									 : NULL;
	}
	if (o && o->kind == OPTION_KIND_LIST) {
		cJSON *list = cJSON_CreateArray();
		cJSON_AddItemToArray(list, cJSON_CreateString(text));
		return list;
	}
	return cJSON_CreateString(text);
}

static status read_header(table *t, char *names[MOST_COLUMNS], uint32_t *out_n, diag *d)
{
	strbuf cell = {0};
	cell_end end = CELL_MORE;
	status st = ST_OK;
	while (end == CELL_MORE && st == ST_OK) {
		uint32_t col = (uint32_t)(t->at - t->line_start) + 1;
		end = read_cell(t, &cell);
		if (*out_n == MOST_COLUMNS)
			st = diag_set(d, ST_ERR_LIMIT, "a table has at most %d columns", MOST_COLUMNS);
		else if (end == CELL_BROKEN)
			st = diag_set(d, ST_ERR_PARSE, "a quote is not closed");
		else if (!batch_is_field(cell.p))
			st = diag_set(d, ST_ERR_INVALID, "unknown column '%.60s', expected some of:%s", cell.p,
				batch_fields());
		for (uint32_t i = 0; i < *out_n && st == ST_OK; i++)
			if (!strcmp(names[i], cell.p))
				st = diag_set(d, ST_ERR_INVALID, "the column '%s' occurs twice", cell.p);
		if (st == ST_OK)
			names[(*out_n)++] = arena_strdup(&t->b->mem, cell.p, cell.n);
		else
			d->line = 1, d->col = col;
	}
	strbuf_release(&cell);
	return st;
}

/* One row; false: the rest of the file cannot be read. */
static bool read_cells(table *t, char *const *names, uint32_t n_names, batch_row row, void *cls)
{
	uint32_t cols[MOST_COLUMNS] = {0}, lines[MOST_COLUMNS] = {0}, n = 0, first = t->line;
	cJSON *o = cJSON_CreateObject();
	strbuf cell = {0};
	cell_end end = CELL_MORE;
	bool ok = true, blank = true;
	while (end == CELL_MORE) {
		uint32_t line = t->line, col = (uint32_t)(t->at - t->line_start) + 1;
		char why[128] = "";
		end = read_cell(t, &cell);
		if (end == CELL_BROKEN) {
			batch_fault(t->b, line, col, "a quote is not closed");
			ok = false;
			break;
		}
		blank = blank && !cell.n; /* spreadsheets end with rows of empty cells */
		if (n < n_names && cell.n && ok) {
			cols[n] = col, lines[n] = line;
			cJSON *value = memchr(cell.p, 0, cell.n) ? NULL : value_of(names[n], cell.p, why);
			if (value)
				cJSON_AddItemToObject(o, names[n], value);
			else
				batch_fault(
					t->b, line, col, "%s: %s", names[n], why[0] ? why : "a text cannot hold a NUL");
			ok = value != NULL;
		}
		n++;
	}
	if (ok && !blank && n != n_names)
		batch_fault(t->b, first, 1, "%u cells, the header has %u", n, n_names);
	else if (ok && !blank)
		row(cls, o, first, &(batch_cells){(const char *const *)names, cols, lines, n_names});
	cJSON_Delete(o);
	strbuf_release(&cell);
	return end != CELL_BROKEN;
}

status batch_read_table(const char *p, size_t n, batch *b, batch_row row, void *cls, diag *d)
{
	const char *end = memchr(p, '\n', n);
	size_t header = end ? (size_t)(end - p) : n;
	table t = {
		.p = p, .n = n, .separator = memchr(p, '\t', header) ? '\t' : ',', .line = 1, .b = b};
	char *names[MOST_COLUMNS];
	uint32_t n_names = 0;
	TRY(read_header(&t, names, &n_names, d));
	while (t.at < t.n)
		if (!read_cells(&t, names, n_names, row, cls))
			break;
	return ST_OK;
}
