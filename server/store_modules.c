/* Rows of modules. */
#include "server/searches.h"
#include "server/store_private.h"

found module_find(db *c, const char *id, module_row *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_MODULE_FIND);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, id);
	found f = db_step(c, s);
	if (f == FOUND) {
		copy(out->id, sizeof out->id, column_text(s, 0));
		copy(out->fingerprint, sizeof out->fingerprint, column_text(s, 1));
		copy(out->shardings, sizeof out->shardings, column_text(s, 2));
		copy(out->name, sizeof out->name, column_text(s, 3));
		out->ops = sqlite3_column_int64(s, 4);
		out->arguments = sqlite3_column_int64(s, 5);
		out->text_bytes = sqlite3_column_int64(s, 6);
		copy(out->structure, sizeof out->structure, column_text(s, 7));
		out->uploaded_us = sqlite3_column_int64(s, 8);
	}
	sqlite3_reset(s);
	return f;
}

bool module_json(db *c, const module_row *m, strbuf *out)
{
	strbuf_putc(out, '{');
	json_text(out, "id", m->id);
	json_text(out, "fingerprint", m->fingerprint);
	json_text(out, "shardings", m->shardings);
	json_text(out, "structure", m->structure[0] ? m->structure : NULL);
	json_text(out, "name", m->name);
	json_int(out, "ops", m->ops);
	json_int(out, "arguments", m->arguments);
	json_int(out, "bytes", m->text_bytes);
	json_key(out, "labels");
	bool ok = labels_json(c, m->id, out) == FOUND;
	strbuf_putc(out, '}');
	return ok;
}

status module_insert(db *c, const module_row *m, int64_t stored_bytes)
{
	sqlite3_stmt *s = db_statement(c, SQL_MODULE_INSERT);
	if (!s)
		return ST_ERR_IO;
	bind_text(s, 1, m->id);
	bind_text(s, 2, m->fingerprint);
	bind_text(s, 3, m->shardings);
	bind_text(s, 4, m->name);
	sqlite3_bind_int64(s, 5, m->ops);
	sqlite3_bind_int64(s, 6, m->arguments);
	sqlite3_bind_int64(s, 7, m->text_bytes);
	sqlite3_bind_int64(s, 8, stored_bytes);
	sqlite3_bind_int64(s, 9, wall_us());
	bind_text(s, 10, m->structure[0] ? m->structure : NULL);
	return statement_finish(s) ? ST_OK : ST_ERR_IO;
}
