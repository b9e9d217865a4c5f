/* A search problem of a text or of a program of the corpus, with its actions. */
#ifndef SW_PROBLEM_FIXTURE_H
#define SW_PROBLEM_FIXTURE_H

#include "search/tree/runner.h"

#include <check.h>

typedef struct fixture {
	strbuf text;
	module *m;
	device dev;
	search_options o;
	problem pb;
	action_list actions;
} fixture;

/* Of the text. check: every state and every cost is compared. */
static void fix_problem(fixture *f, const char *device_name, const char *mesh_text, bool check)
{
	diag d = {0};
	ck_assert_msg(module_read(f->text.p, f->text.n, "test", NULL, &f->m, &d) == ST_OK, "%s\n%s",
		d.msg, f->text.p);
	ck_assert_msg(device_find(device_name, &f->dev, &d) == ST_OK, "%s", d.msg);
	f->o = (search_options){.device = &f->dev, .seed = 1, .threads = 1, .check = check};
	ck_assert_msg(
		mesh_parse_flag(f->m->shardings, mesh_text, &f->o.mesh, &d) == ST_OK, "%s", d.msg);
	ck_assert_msg(problem_init(&f->pb, f->m, &f->o, &d) == ST_OK, "%s", d.msg);
	actions_make(&f->pb, UINT32_MAX, NULL, &f->actions);
}

__attribute__((unused)) static void setup_corpus(fixture *f, const char *program_text,
	const char *device_name, const char *mesh_text, bool check)
{
	diag d = {0};
	char path[128];
	*f = (fixture){0};
	snprintf(path, sizeof path, "tests/corpus/%s.mlir.zst", program_text);
	ck_assert_msg(file_read(path, MAX_TEXT_BYTES, &f->text, &d) == ST_OK, "%s", d.msg);
	fix_problem(f, device_name, mesh_text, check);
}

static void teardown(fixture *f)
{
	vec_release(&f->actions);
	problem_release(&f->pb);
	module_free(f->m);
	strbuf_release(&f->text);
}

#endif
