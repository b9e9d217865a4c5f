/* What the tests of the reader, printer and checks share. */
#ifndef SW_TESTS_MODULE_FIXTURE_H
#define SW_TESTS_MODULE_FIXTURE_H

#include "ir/ir.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

static inline module *read_ok(const char *text)
{
	module *m;
	diag d;
	diag_clear(&d);
	if (module_read(text, strlen(text), "test.mlir", NULL, &m, &d) != ST_OK)
		ck_abort_msg("%u:%u: %s", d.line, d.col, d.msg);
	return m;
}

/* One function around some lines: `args` -> `results` { lines }. */
static inline module *read_body(const char *args, const char *results, const char *lines)
{
	strbuf b;
	strbuf_init(&b);
	strbuf_printf(&b,
		"module {\n  sdy.mesh @mesh = <[\"a\"=2, \"b\"=4]>\n  func.func @main(%s) -> (%s) {\n%s\n  "
		"}\n}\n",
		args, results, lines);
	module *m = read_ok(b.p);
	strbuf_release(&b);
	return m;
}

/* The text is refused with this code, at this place, with this in the message. */
static inline void read_fails(
	const char *text, status code, uint32_t line, uint32_t col, const char *part)
{
	module *m;
	diag d;
	diag_clear(&d);
	status s = module_read(text, strlen(text), "test.mlir", NULL, &m, &d);
	ck_assert_msg(s == code, "%s: status %s (%s)", text, status_name(s), d.msg);
	ck_assert_ptr_null(m);
	ck_assert_msg(strstr(d.msg, part) != NULL, "message '%s' has no '%s'", d.msg, part);
	ck_assert_msg(d.line == line && d.col == col, "'%s' at %u:%u, expected %u:%u", d.msg, d.line,
		d.col, line, col);
}

static inline op_id nth_op(const module *m, op_kind kind, uint32_t n)
{
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o))
		if (op_at(m, o)->kind == kind && n-- == 0)
			return o;
	ck_abort_msg("no such op");
	return ID_NONE;
}

static inline op_id first_op(const module *m, op_kind kind) { return nth_op(m, kind, 0); }

static inline void structure_ok(const module *m)
{
	diag d;
	diag_clear(&d);
	ck_assert_msg(module_verify(m, &d) == ST_OK, "%s", d.msg);
}

static inline int run_added(void (*add)(TCase *), const char *name)
{
	TCase *t = tcase_create(name);
	add(t);
	return run_suite(t, name);
}

#endif
