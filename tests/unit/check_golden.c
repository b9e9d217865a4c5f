/* Small modules through passes: what jaxlib's Shardy makes of them is kept in tests/golden/passes,
 * one difference that random programs once found in each file:
 *
 *   // passes: PIPELINE
 *   module before
 *   // -----
 *   module after */
#include "tests/unit/module_fixture.h"

#include "lower/lower.h"
#include "propagate/propagate.h"

#include <dirent.h>

static const char folder[] = "tests/golden/passes";

/* With numbers for names: what values are called is no part of an answer. */
static char *printed(const char *text)
{
	module *m = read_ok(text);
	strbuf b;
	for (value_id v = 0; v < m->values.n; v++)
		value_get(m, v)->name = 0;
	strbuf_init(&b);
	module_print(m, &(print_options){0}, &b);
	module_free(m);
	return b.p;
}

static void replay(const char *name)
{
	char path[512];
	strbuf file;
	diag d;
	diag_clear(&d);
	snprintf(path, sizeof path, "%s/%s", folder, name);
	strbuf_init(&file);
	ck_assert_msg(file_read(path, 1 << 20, &file, &d) == ST_OK, "%s", d.msg);
	static const char head[] = "// passes: ", line[] = "\n// -----\n";
	char *text = file.p, *end = strchr(file.p, '\n'), *after = strstr(text, line);
	ck_assert_msg(!strncmp(text, head, strlen(head)) && end && after,
		"%s: expected '%s' and a '// -----' line", name, head);
	*end = *after = 0;
	module *m = read_ok(end + 1);
	strbuf b;
	strbuf_init(&b);
	ck_assert_msg(passes_run(m, text + strlen(head), &d) == ST_OK, "%s: %s", name, d.msg);
	module_print(m, &(print_options){0}, &b);
	char *ours = printed(b.p), *theirs = printed(after + strlen(line));
	ck_assert_msg(
		!strcmp(ours, theirs), "%s\n---- ours\n%s\n---- expected\n%s", name, ours, theirs);
	strbuf_release(&b);
	module_free(m);
	free(ours);
	free(theirs);
	strbuf_release(&file);
}

START_TEST(passes_give_what_jaxlib_gave)
{
	DIR *d = opendir(folder);
	uint32_t n = 0;
	ck_assert_ptr_nonnull(d);
	lower_register_passes();
	for (struct dirent *e; (e = readdir(d));)
		if (strstr(e->d_name, ".mlir")) {
			replay(e->d_name);
			n++;
		}
	closedir(d);
	ck_assert_uint_ge(n, 26);
}
END_TEST

static void add_tests(TCase *t) { tcase_add_test(t, passes_give_what_jaxlib_gave); }

int main(void) { return run_added(add_tests, "golden"); }
