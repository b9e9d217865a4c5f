/* What strategies took on real machines, and how it is told. */
#include "server/evidence.h"
#include "server/store_private.h"

enum { MOST_WORD = 200, MOST_OPTIONS = 8192 };
#define CLOCKS_APART_US \
	(86400ll * 1000000) /* a machine's clock may be ahead of this one's by so much */

/* ---------------------------------------------------------------- from JSON */

static bool read_time(const cJSON *o, int64_t *out, problem *why)
{
	const char *text = NULL;
	*out = wall_us();
	if (!field_text(o, "", "measured", FIELD_OPTIONAL, 64, &text, why) || !text)
		return why->kind == PROBLEM_NONE;
	int64_t now = *out;
	if (!time_parse(text, out))
		return problem_at(why, "/measured", "expected a time such as 2026-01-31T12:00:00Z");
	return *out <= now + CLOCKS_APART_US ||
		problem_at(why, "/measured", "expected a time that is over");
}

static bool read_options(measured_step *m, const cJSON *o, problem *why)
{
	const cJSON *options_json = json_field(o, "options");
	if (options_json && !cJSON_IsNull(options_json) && !cJSON_IsObject(options_json))
		return problem_at(why, "/options", "expected an object");
	m->options =
		options_json && cJSON_IsObject(options_json) ? cJSON_PrintUnformatted(options_json) : NULL;
	return !m->options || strlen(m->options) <= MOST_OPTIONS ||
		problem_at(why, "/options", "expected at most %d bytes", MOST_OPTIONS);
}

bool measurement_parse(measured_step *m, const cJSON *o, problem *why)
{
	static const char known[] =
		" step_ns peak_bytes steps device hardware jax jaxlib compiler options source measured ";
	struct {
		const char *name, **to;
	} words[] = {{"device", &m->device}, {"hardware", &m->hardware}, {"jax", &m->jax},
		{"jaxlib", &m->jaxlib}, {"compiler", &m->compiler}, {"source", &m->source}};
	m->peak_bytes = m->steps = -1;
	if (!check_fields(o, "", known, why) ||
		!field_count(o, "", "step_ns", FIELD_REQUIRED, &m->step_ns, why) ||
		!field_count(o, "", "peak_bytes", FIELD_OPTIONAL, &m->peak_bytes, why) ||
		!field_count(o, "", "steps", FIELD_OPTIONAL, &m->steps, why))
		return false;
	if (!m->step_ns || !m->peak_bytes || !m->steps)
		return problem_at(why,
			!m->step_ns          ? "/step_ns"
				: !m->peak_bytes ? "/peak_bytes"
								 : "/steps",
			"expected a number of 1 or more");
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (!field_text(o, "", words[i].name, FIELD_OPTIONAL, MOST_WORD, words[i].to, why))
			return false;
	return read_options(m, o, why) && read_time(o, &m->measured_us, why);
}

void measurement_release(measured_step *m)
{
	cJSON_free(m->options);
	m->options = NULL;
}

/* ---------------------------------------------------------------- taking one */

static void bind_count(sqlite3_stmt *s, int at, int64_t value)
{
	if (value >= 0)
		sqlite3_bind_int64(s, at, value);
	else
		sqlite3_bind_null(s, at);
}

/* FOUND: it is there, with room for another one unless *out_full. */
static found look_for_room(db *c, const char *strategy, bool *out_full)
{
	sqlite3_stmt *s = db_statement(c, SQL_MEASUREMENT_COUNT);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, strategy);
	found f = db_step(c, s);
	*out_full = f == FOUND && sqlite3_column_int64(s, 0) >= MOST_MEASUREMENTS;
	sqlite3_reset(s);
	return f;
}

static bool insert(db *c, const measurement_add *a, int64_t now)
{
	const measured_step *m = &a->what;
	const char *texts[] = {m->hardware, m->jax, m->jaxlib, m->compiler,
		m->options ? m->options : "{}", m->source, a->owner};
	sqlite3_stmt *s = db_statement(c, SQL_MEASUREMENT_INSERT);
	if (!s)
		return false;
	bind_text(s, 1, a->id);
	bind_text(s, 2, a->strategy);
	bind_text(s, 3, m->device);
	sqlite3_bind_int64(s, 4, m->step_ns);
	bind_count(s, 5, m->peak_bytes);
	bind_count(s, 6, m->steps);
	for (int i = 0; i < (int)COUNT_OF(texts); i++)
		bind_text(s, 7 + i, texts[i]);
	sqlite3_bind_int64(s, 14, m->measured_us);
	sqlite3_bind_int64(s, 15, now);
	return statement_finish(s);
}

/* Who measures a strategy uses it; and answers that show its search have changed. */
static bool note_use(db *c, const char *strategy, int64_t now)
{
	sqlite3_stmt *s = db_statement(c, SQL_MEASUREMENT_USE);
	if (!s)
		return false;
	bind_text(s, 1, strategy);
	sqlite3_bind_int64(s, 2, now);
	if (!statement_finish(s) || !(s = db_statement(c, SQL_MEASUREMENT_REVISED)))
		return false;
	bind_text(s, 1, strategy);
	return statement_finish(s);
}

static found measurement_json(db *c, const char *id, strbuf *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_MEASUREMENT_GET);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, id);
	found f = db_step(c, s);
	if (f == FOUND)
		strbuf_puts(out, column_text(s, 0));
	sqlite3_reset(s);
	return f;
}

status measurement_add_run(db *c, write_op *op)
{
	measurement_add *a = (measurement_add *)op;
	bool same = true;
	int64_t now = wall_us();
	strbuf_clear(&a->json);
	a->repeated = a->reused = a->full = false;
	found f =
		a->repeat.key[0] ? repeat_find(c, &a->repeat, a->id, sizeof a->id, &same) : FOUND_NONE;
	if (f == FOUND_FAILED)
		return ST_ERR_IO;
	a->reused = f == FOUND && !same;
	if (f == FOUND && same && (f = measurement_json(c, a->id, &a->json)) == FOUND)
		a->repeated =
			true; /* FOUND_NONE: it went with its strategy, which the next question tells */
	if (f == FOUND_FAILED)
		return ST_ERR_IO;
	a->found = a->repeated;
	if (a->reused || a->repeated)
		return ST_OK;
	f = look_for_room(c, a->strategy, &a->full);
	a->found = f == FOUND;
	if (f == FOUND_FAILED || !a->found || a->full)
		return f == FOUND_FAILED ? ST_ERR_IO : ST_OK;
	id_random('m', a->id);
	bool ok = insert(c, a, now) && note_use(c, a->strategy, now) &&
		(!a->repeat.key[0] || repeat_keep(c, &a->repeat, a->id)) &&
		measurement_json(c, a->id, &a->json) == FOUND;
	return ok ? ST_OK : ST_ERR_IO;
}

/* ---------------------------------------------------------------- what is known */

found measured_json(db *c, const char *strategy, strbuf *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_MEASURED_FIGURE);
	if (!s)
		return FOUND_FAILED;
	bind_text(s, 1, strategy);
	found f = db_step(c, s);
	if (f != FOUND_FAILED)
		strbuf_puts(out, f == FOUND ? column_text(s, 0) : "null");
	sqlite3_reset(s);
	return f;
}

bool measurements_of_strategy(db *c, const char *strategy, strbuf *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_MEASUREMENT_LIST);
	int64_t n = 0;
	found f;
	if (!s)
		return false;
	bind_text(s, 1, strategy);
	strbuf_puts(out, "{\"measurements\":[");
	while ((f = db_step(c, s)) == FOUND) {
		strbuf_puts(out, n++ ? "," : "");
		strbuf_puts(out, column_text(s, 0));
	}
	sqlite3_reset(s);
	strbuf_puts(out, "],\"measured\":");
	bool ok = f == FOUND_NONE && measured_json(c, strategy, out) != FOUND_FAILED;
	strbuf_putc(out, '}');
	return ok;
}
