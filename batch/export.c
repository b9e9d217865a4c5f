/* Views of a store as a table, CSV or JSON. The views are in the schema, for everybody who has
 * sqlite3: here is only their form. */
#include "batch/batch.h"
#include "server/server.h"

#include <stdlib.h>

enum { MOST_COLUMNS = 32 };

static const struct {
	const char *name, *view, *order, *help;
} views[] = {
	{"best", "best_per_mesh",
		"module, fingerprint, device, memory_limit_bytes, objective, devices, mesh",
		"the best strategy per module and mesh, beside the best baseline"},
	{"ranking", "mesh_ranking",
		"module, fingerprint, device, memory_limit_bytes, objective, devices, cost_model, place",
		"meshes of as many devices, best first"},
	{"history", "cost_model_history",
		"module, fingerprint, mesh, device, memory_limit_bytes, objective, step",
		"how answers changed from one cost model to the next"},
	{"verified", "predicted_and_verified",
		"module, fingerprint, device, mesh, search, chosen DESC, reason IS NOT NULL, runtime_ns",
		"what compilers said of programs, beside what was predicted"},
	{"measured", "measured", "module, fingerprint, device, mesh, strategy, measured, measurement",
		"what steps took on real devices, beside what was predicted and verified"},
	{"known", "best_known",
		"module, fingerprint, device, memory_limit_bytes, objective, devices, mesh",
		"the best strategy per module and mesh: measured before verified before predicted"},
};

const char *export_view_at(uint32_t i, const char **out_help)
{
	if (i >= COUNT_OF(views))
		return NULL;
	if (out_help)
		*out_help = views[i].help;
	return views[i].name;
}

/* What a column holds shows in its name. */
typedef enum column_kind {
	COLUMN_TEXT,
	COLUMN_TIME,
	COLUMN_BYTES,
	COLUMN_BOOL,
	COLUMN_ID
} column_kind;

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);
	return n >= k && !strcmp(s + n - k, end);
}

static column_kind kind_of(const char *name)
{
	if (!strcmp(name, "fingerprint") || !strcmp(name, "strategy") || !strcmp(name, "search") ||
		!strcmp(name, "measurement"))
		return COLUMN_ID;
	return ends_with(name, "_ns")   ? COLUMN_TIME
		: ends_with(name, "_bytes") ? COLUMN_BYTES
		: ends_with(name, "fits") || !strcmp(name, "chosen") || !strcmp(name, "partial")
		? COLUMN_BOOL
		: COLUMN_TEXT;
}

/* ---------------------------------------------------------------- CSV and JSON */

static void csv_cell(strbuf *out, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		strbuf_puts(out, text);
		return;
	}
	strbuf_putc(out, '"');
	for (; *text; text++)
		strbuf_puts(out, *text == '"' ? "\"\"" : (char[]){*text, 0});
	strbuf_putc(out, '"');
}

static void csv_row(sqlite3_stmt *s, bool header, strbuf *out)
{
	for (int i = 0; i < sqlite3_column_count(s); i++) {
		if (i)
			strbuf_putc(out, ',');
		csv_cell(out, header ? sqlite3_column_name(s, i) : column_text(s, i));
	}
	strbuf_puts(out, "\r\n");
}

static void json_row(sqlite3_stmt *s, strbuf *out)
{
	strbuf_putc(out, '{');
	for (int i = 0; i < sqlite3_column_count(s); i++) {
		const char *name = sqlite3_column_name(s, i);
		int type = sqlite3_column_type(s, i);
		if (type == SQLITE_NULL)
			json_raw(out, name, "null");
		else if (kind_of(name) == COLUMN_BOOL)
			json_bool(out, name, sqlite3_column_int(s, i));
		else if (type == SQLITE_TEXT)
			json_text(out, name, column_text(s, i));
		else
			json_raw(out, name, column_text(s, i));
	}
	strbuf_putc(out, '}');
}

/* ---------------------------------------------------------------- tables */

typedef struct table {
	int columns;
	VEC(char *) cells; /* row by row, the header first */
} table;

static void add_cell(table *t, sqlite3_stmt *s, int i, bool header)
{
	const char *name = sqlite3_column_name(s, i), *text = header ? name : column_text(s, i);
	strbuf b = {0};
	strbuf_add(&b, "", 0);
	column_kind kind = kind_of(name);
	bool null = !header && sqlite3_column_type(s, i) == SQLITE_NULL;
	if (null)
		strbuf_putc(&b, '-');
	else if (header && (kind == COLUMN_TIME || kind == COLUMN_BYTES))
		strbuf_printf(&b, "%.*s", (int)(strlen(text) - (kind == COLUMN_TIME ? 3 : 6)), text);
	else if (!header && kind == COLUMN_TIME)
		strbuf_duration(&b, sqlite3_column_int64(s, i));
	else if (!header && kind == COLUMN_BYTES)
		strbuf_bytes(&b, sqlite3_column_int64(s, i));
	else if (!header && kind == COLUMN_BOOL)
		strbuf_puts(&b, sqlite3_column_int(s, i) ? "yes" : "no");
	else if (!header && kind == COLUMN_ID)
		strbuf_printf(&b, "%.19s", text); /* enough to find it by */
	else
		strbuf_puts(&b, text);
	for (char *c = b.p; *c; c++) { /* names come from modules */
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
		if (header)
			*c = *c == '_' ? ' ' : (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
	}
	vec_push(&t->cells, b.p);
}

static void print_table(const table *t, FILE *out)
{
	size_t width[MOST_COLUMNS] = {0};
	uint32_t columns = (uint32_t)t->columns;
	for (uint32_t k = 0; k < t->cells.n; k++)
		width[k % columns] = MAX(width[k % columns], strlen(t->cells.p[k]));
	for (uint32_t k = 0; k < t->cells.n; k++) {
		bool last = k % columns + 1 == columns;
		fprintf(
			out, "%-*s%s", last ? 0 : (int)width[k % columns], t->cells.p[k], last ? "\n" : "  ");
	}
}

/* ---------------------------------------------------------------- rows */

static sqlite3_stmt *prepare(db *c, const export_options *o, diag *d)
{
	sqlite3_stmt *s = NULL;
	for (size_t i = 0; i < COUNT_OF(views); i++) {
		if (strcmp(views[i].name, o->view))
			continue;
		/* The store's views are its own, and this connection only reads. */
		char *sql = sqlite3_mprintf("SELECT v.* FROM %s v WHERE (?1 IS NULL OR v.module = ?1 OR "
									"v.fingerprint = ?1 OR v.fingerprint IN"
									" (SELECT fingerprint FROM modules WHERE id = ?1)) AND (?2 IS "
									"NULL OR v.mesh = ?2) AND (?3 IS NULL OR v.device = ?3)"
									" AND (?4 = 0 OR v.devices = ?4) ORDER BY %s",
			views[i].view, views[i].order);
		bool ok =
			sqlite3_exec(c->handle, "PRAGMA trusted_schema = ON", NULL, NULL, NULL) == SQLITE_OK &&
			sqlite3_prepare_v2(c->handle, sql, -1, &s, NULL) == SQLITE_OK;
		sqlite3_free(sql);
		if (!ok)
			diag_set(d, ST_ERR_IO, "the store cannot be read: %s", sqlite3_errmsg(c->handle));
		return s;
	}
	diag_set(d, ST_ERR_INVALID, "there is no view '%.60s'", o->view);
	return NULL;
}

static void put(strbuf *line, FILE *out)
{
	if (line->n)
		fwrite(line->p, 1, line->n, out);
	strbuf_clear(line);
}

static status print_rows(sqlite3_stmt *s, const export_options *o, FILE *out, diag *d)
{
	strbuf line = {0};
	table t = {.columns = sqlite3_column_count(s)};
	int rc, n = 0;
	if (o->form == EXPORT_JSON)
		fprintf(out, "{\"format\":\"shardwright.%s/1\",\"rows\":[", o->view);
	if (o->form == EXPORT_CSV)
		csv_row(s, true, &line);
	for (int i = 0; o->form == EXPORT_TABLE && i < t.columns; i++)
		add_cell(&t, s, i, true);
	for (; (rc = statement_step(s)) == SQLITE_ROW; n++) {
		if (o->form == EXPORT_CSV) {
			csv_row(s, false, &line);
		} else if (o->form == EXPORT_JSON) {
			strbuf_puts(&line, n ? ",\n" : "\n");
			json_row(s, &line);
		} else {
			for (int i = 0; i < t.columns; i++)
				add_cell(&t, s, i, false);
		}
		put(&line, out);
	}
	put(&line, out); /* the header of no rows */
	if (o->form == EXPORT_JSON)
		fputs("\n]}\n", out);
	if (o->form == EXPORT_TABLE)
		print_table(&t, out);
	for (uint32_t i = 0; i < t.cells.n; i++)
		free(t.cells.p[i]);
	vec_release(&t.cells);
	strbuf_release(&line);
	return rc == SQLITE_DONE ? ST_OK
							 : diag_set(d, ST_ERR_IO, "the store cannot be read: %s",
								   sqlite3_errmsg(sqlite3_db_handle(s)));
}

status export_print(const export_options *o, FILE *out, diag *d)
{
	strbuf mesh = {0};
	problem why = {0};
	log_to(-1); /* what goes wrong is told by d */
	if (o->mesh && !mesh_text_check(o->mesh, &mesh, &why)) {
		strbuf_release(&mesh);
		return diag_set(d, ST_ERR_INVALID, "the mesh '%.100s': %.300s", o->mesh, why.detail);
	}
	store *st = store_peek(o->store, d);
	db *c = st ? store_reader(st) : NULL;
	sqlite3_stmt *s = c ? prepare(c, o, d) : NULL;
	status result = s ? ST_OK : diag_set(d, ST_ERR_IO, "the store cannot be read");
	if (s) {
		bind_text(s, 1, o->module);
		bind_text(s, 2, o->mesh ? mesh.p : NULL);
		bind_text(s, 3, o->device);
		sqlite3_bind_int64(s, 4, o->devices);
		result = print_rows(s, o, out, d);
	} else if (d && d->code != ST_OK) {
		result = d->code;
	}
	sqlite3_finalize(s);
	if (st)
		store_close(st);
	strbuf_release(&mesh);
	return result;
}
