/* What a search may begin with: strategies of modules of the same structure. */
#include "server/evidence.h"

enum { MOST_LOOKED_AT = 64 }; /* documents: those of earlier versions tell no decisions */

static bool tells_decisions(const strbuf *document)
{
	return memmem(document->p, document->n, "\"decisions\":[", 13) != NULL;
}

bool starts_structure(db *c, const char *module, char out[ID_BYTES])
{
	sqlite3_stmt *s = db_statement(c, SQL_MODULE_STRUCTURE);
	if (!s)
		return false;
	bind_text(s, 1, module);
	found f = db_step(c, s);
	snprintf(out, ID_BYTES, "%s", f == FOUND ? column_text(s, 0) : "");
	sqlite3_reset(s);
	return f != FOUND_FAILED;
}

static bool read_document(db *c, const char *id, strbuf *out)
{
	document_ref d;
	strbuf_clear(out);
	if (document_find(c, id, &d, out) != FOUND)
		return false;
	if (d.bytes <= DOCUMENT_WHOLE)
		return true;
	char *text = xmalloc((size_t)d.bytes);
	bool ok = document_read(c, &d, 0, text, d.bytes);
	if (ok)
		strbuf_add(out, text, (size_t)d.bytes);
	free(text);
	return ok;
}

bool starts_find(db *c, const start_query *q, starts *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_STARTS);
	char ids[MOST_LOOKED_AT][ID_BYTES];
	uint32_t n = 0;
	found f = FOUND_FAILED;
	out->n = 0;
	if (!q->structure[0])
		return true;
	if (!s)
		return false;
	bind_text(s, 1, q->structure);
	bind_text(s, 2, q->device);
	bind_text(s, 3, q->mesh);
	bind_text(s, 4, q->module);
	while (n < MOST_LOOKED_AT && (f = db_step(c, s)) == FOUND)
		snprintf(ids[n++], ID_BYTES, "%s", column_text(s, 0));
	sqlite3_reset(s);
	for (uint32_t i = 0; i < n && out->n < MOST_STORE_STARTS && f != FOUND_FAILED; i++) {
		start_found *x = &out->list[out->n];
		if (!read_document(c, ids[i], &x->document))
			f = FOUND_FAILED;
		else if (tells_decisions(&x->document))
			memcpy(out->list[out->n++].id, ids[i], ID_BYTES);
	}
	return f != FOUND_FAILED;
}

bool starts_statistics(db *c, const start_query *q, uint32_t n_axes, strbuf *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_STARTS_STATISTICS);
	strbuf_clear(out);
	if (!s)
		return false;
	bind_text(s, 1, q->structure);
	bind_text(s, 2, q->device);
	bind_text(s, 3, q->mesh);
	sqlite3_bind_int64(s, 4, n_axes);
	found f = db_step(c, s);
	if (f == FOUND)
		strbuf_puts(out, column_text(s, 0));
	sqlite3_reset(s);
	return f == FOUND;
}

void starts_release(starts *s)
{
	for (size_t i = 0; i < COUNT_OF(s->list); i++)
		strbuf_release(&s->list[i].document);
	s->n = 0;
}
