#include "server/json.h"

#include <errno.h>

static const struct {
	int http;
	const char *name, *title;
} rows[] = {[PROBLEM_NONE] = {200, "none", "No problem"},
#define X(id, name, http, title) [PROBLEM_##id] = {http, name, title},
	PROBLEM_TABLE(X)
#undef X
};

/* Details quote what clients sent; JSON and logs want text without control characters and
 * well-formed at its cut. */
static void set_detail(problem *p, const char *fmt, va_list args)
{
	int n = vsnprintf(p->detail, sizeof p->detail, fmt, args);
	for (char *c = p->detail; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	if (n >= (int)sizeof p->detail) {
		size_t end = sizeof p->detail - 1;
		while (end && ((unsigned char)p->detail[end - 1] & 0x80))
			end--;
		p->detail[end] = 0;
	}
}

bool problem_set(problem *p, problem_kind kind, const char *fmt, ...)
{
	if (p->kind)
		return false;
	p->kind = kind;
	va_list args;
	va_start(args, fmt);
	set_detail(p, fmt, args);
	va_end(args);
	return false;
}

bool problem_at(problem *p, const char *pointer, const char *fmt, ...)
{
	if (p->kind)
		return false;
	p->kind = PROBLEM_BAD_FIELD;
	snprintf(p->pointer, sizeof p->pointer, "%s", pointer);
	va_list args;
	va_start(args, fmt);
	set_detail(p, fmt, args);
	va_end(args);
	return false;
}

bool problem_from_diag(problem *p, problem_kind kind, const diag *d)
{
	problem_set(p, d->code == ST_ERR_LIMIT ? PROBLEM_TOO_LARGE : kind, "%s", d->msg);
	p->line = d->line;
	p->col = d->col;
	snprintf(p->excerpt, sizeof p->excerpt, "%s", d->excerpt);
	return false;
}

bool problem_errno(problem *p, const char *what)
{
	int e = errno;
	bool shortage = e == EMFILE || e == ENFILE || e == ENOMEM || e == EAGAIN;
	return problem_set(
		p, shortage ? PROBLEM_UNAVAILABLE : PROBLEM_STORAGE, "%s: %s", what, strerror(e));
}

int problem_status(problem_kind kind) { return rows[kind].http; }

void problem_json(const problem *p, strbuf *out)
{
	strbuf_putc(out, '{');
	strbuf_printf(out, "\"type\":\"urn:shardwright:problem:%s\"", rows[p->kind].name);
	json_text(out, "title", rows[p->kind].title);
	json_int(out, "status", rows[p->kind].http);
	json_text(out, "detail", p->detail);
	if (p->line) {
		json_int(out, "line", p->line);
		json_int(out, "column", p->col);
		if (p->excerpt[0])
			json_text(out, "excerpt", p->excerpt);
	}
	if (p->pointer[0]) {
		json_key(out, "errors");
		strbuf_puts(out, "[{");
		json_text(out, "pointer", p->pointer);
		json_text(out, "detail", p->detail);
		strbuf_puts(out, "}]");
	}
	strbuf_putc(out, '}');
}
