/* Runs pass pipelines on the modules of a pipe, one process for many: what the comparison with
 * jaxlib talks to.
 *
 *   request := bytes " " pipeline "\n" module       (bytes: length of the module's text)
 *   answer  := status " " bytes "\n" text           (status 0: the module after the passes; else the error) */
#include "lower/lower.h"
#include "propagate/propagate.h"

#include <stdio.h>
#include <stdlib.h>

static status answer(const char *text, size_t n, const char *pipeline, strbuf *out)
{
	module *m = NULL;
	diag d = {0};
	status st = module_read(text, n, "module", NULL, &m, &d);
	if (st == ST_OK)
		st = passes_run(m, pipeline, &d);
	if (st == ST_OK)
		module_print(m, &(print_options){0}, out);
	else
		strbuf_printf(out, "%u:%u: %s", d.line, d.col, d.msg);
	module_free(m);
	return st;
}

int main(void)
{
	char *line = NULL, *text = NULL;
	size_t room = 0;
	lower_register_passes();
	for (ssize_t got; (got = getline(&line, &room, stdin)) > 0;) {
		char *pipeline;
		size_t n = strtoul(line, &pipeline, 10);
		line[got - 1] = 0;
		text = realloc(text, n + 1);
		if (!text || fread(text, 1, n, stdin) != n)
			return 1;
		strbuf out = {0};
		status st = answer(text, n, pipeline + 1, &out);
		printf("%d %zu\n", (int)st, (size_t)out.n);
		fwrite(out.p, 1, out.n, stdout);
		fflush(stdout);
		strbuf_release(&out);
	}
	free(text);
	free(line);
	return 0;
}
