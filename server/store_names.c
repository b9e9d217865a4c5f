/* Names that people give: labels of modules, tags of searches; and the keys of requests that may be
 * sent twice. */
#include "server/searches.h"
#include "server/store_private.h"

enum { MOST_LABELS = 64, MOST_TAGS = 64 };
#define REMEMBERED_US \
	(7ll * 86400 * 1000000) /* promised is a day: a clock that jumps by one forgets nothing */

bool name_check(const char *text, const char *pointer, problem *why)
{
	size_t n = strlen(text);
	bool ok = n >= 1 && n <= GIVEN_NAME_BYTES && text[0] != ' ' && text[n - 1] != ' ';
	for (size_t i = 0, k; i < n && ok; i += k) {
		k = utf8_len((const unsigned char *)text + i, n - i);
		ok = k > 0 && (unsigned char)text[i] >= 0x20 && text[i] != 0x7f;
	}
	return ok ||
		problem_at(why, pointer,
			"expected a name of 1 to %d bytes of UTF-8, without control characters and spaces at "
			"its ends",
			GIVEN_NAME_BYTES);
}

/* ---------------------------------------------------------------- labels */

found labels_json(db *c, const char *module, strbuf *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_LABELS_OF);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, module);
	found f = db_step(c, s);
	if (f == FOUND)
		strbuf_puts(out, column_text(s, 0));
	sqlite3_reset(s);
	return f;
}

bool label_add(db *c, const char *module, const char *label, const char *owner)
{
	sqlite3_stmt *s = db_statement(c, SQL_LABEL_INSERT);
	if (!s)
		return false;
	bind_text(s, 1, module);
	bind_text(s, 2, label);
	bind_text(s, 3, owner);
	sqlite3_bind_int64(s, 4, wall_us());
	sqlite3_bind_int(s, 5, MOST_LABELS);
	return statement_finish(s);
}

static status remove_label(db *c, labels_change *a, const char *label)
{
	sqlite3_stmt *s = db_statement(c, SQL_LABEL_OWNER);
	if (!s)
		return ST_ERR_IO;
	bind_text(s, 1, a->module);
	bind_text(s, 2, label);
	found f = db_step(c, s);
	a->forbidden = a->forbidden || (f == FOUND && !a->any && strcmp(column_text(s, 0), a->owner));
	sqlite3_reset(s);
	if (f != FOUND || a->forbidden)
		return f == FOUND_FAILED ? ST_ERR_IO : ST_OK;
	if ((s = db_statement(c, SQL_LABEL_DELETE))) {
		bind_text(s, 1, a->module);
		bind_text(s, 2, label);
	}
	return statement_finish(s) ? ST_OK : ST_ERR_IO;
}

status labels_change_run(db *c, write_op *op)
{
	labels_change *a = (labels_change *)op;
	a->forbidden = false;
	for (uint32_t i = 0; i < a->remove_count; i++)
		TRY(remove_label(c, a, a->remove[i]));
	if (a->forbidden)
		return ST_ERR_INVALID; /* none of them, then */
	for (uint32_t i = 0; i < a->add_count; i++)
		if (!label_add(c, a->module, a->add[i], a->owner))
			return ST_ERR_IO;
	return ST_OK;
}

/* ---------------------------------------------------------------- tags */

bool tags_add(db *c, const char *search, const search_spec *spec, bool *out_changed)
{
	*out_changed = false;
	for (uint32_t i = 0; i < spec->tag_count; i++) {
		sqlite3_stmt *s = db_statement(c, SQL_TAG_INSERT);
		if (!s)
			return false;
		bind_text(s, 1, search);
		bind_text(s, 2, spec->tags[i]);
		sqlite3_bind_int(s, 3, MOST_TAGS);
		if (!statement_finish(s))
			return false;
		*out_changed = *out_changed || sqlite3_changes(c->handle) > 0;
	}
	return true;
}

/* ---------------------------------------------------------------- requests that may be sent twice
 */

found repeat_find(db *c, const repeat_key *r, char *resource, size_t resource_size, bool *out_same)
{
	sqlite3_stmt *s = db_statement(c, SQL_REPEAT_FIND);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, r->owner);
	bind_text(s, 2, r->key);
	sqlite3_bind_int64(s, 3, wall_us() - REMEMBERED_US);
	found f = db_step(c, s);
	if (f == FOUND) {
		*out_same = !strcmp(column_text(s, 0), r->digest);
		snprintf(resource, resource_size, "%s", column_text(s, 1));
	}
	sqlite3_reset(s);
	return f;
}

bool repeat_keep(db *c, const repeat_key *r, const char *resource)
{
	int64_t now = wall_us();
	sqlite3_stmt *s = db_statement(c, SQL_REPEAT_FORGET);
	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, now - REMEMBERED_US);
	if (!statement_finish(s) || !(s = db_statement(c, SQL_REPEAT_INSERT)))
		return false;
	bind_text(s, 1, r->owner);
	bind_text(s, 2, r->key);
	bind_text(s, 3, r->digest);
	bind_text(s, 4, resource);
	sqlite3_bind_int64(s, 5, now);
	return statement_finish(s);
}

/* ---------------------------------------------------------------- what an upload says */

status module_about_check(db *c, module_about *a)
{
	char resource[ID_BYTES];
	bool same = true;
	a->reused = false;
	if (a->repeat.key[0] &&
		repeat_find(c, &a->repeat, resource, sizeof resource, &same) == FOUND_FAILED)
		return ST_ERR_IO;
	a->reused = !same;
	return ST_OK;
}

static bool module_seen(db *c, const char *id)
{
	sqlite3_stmt *s = db_statement(c, SQL_MODULE_SEEN);
	if (!s)
		return false;
	bind_text(s, 1, id);
	sqlite3_bind_int64(s, 2, wall_us());
	return statement_finish(s);
}

status module_about_run(db *c, write_op *op)
{
	module_about *a = (module_about *)op;
	TRY(module_about_check(c, a));
	if (a->reused)
		return ST_OK;
	bool ok = (!a->seen || module_seen(c, a->module)) &&
		(!a->label || label_add(c, a->module, a->label, a->owner)) &&
		(!a->repeat.key[0] || repeat_keep(c, &a->repeat, a->module));
	return ok ? ST_OK : ST_ERR_IO;
}
