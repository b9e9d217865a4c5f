#include "clients/cli/cli.h"

#include <getopt.h>

static const char help[] =
	"shardwright apply MODULE --strategy S.json -o OUT.mlir\n\n"
	"Writes MODULE annotated with the strategy: one mesh, partition counts, shardings with priorities, constraints.\n"
	"XLA compiles the result as it is.\n\n"
	"  -s, --strategy S.json   a document that search wrote, or one written by hand (docs/strategy-document.md)\n"
	"  -o, --output OUT.mlir   where to write; - is standard output\n";

int cmd_apply(int argc, char **argv)
{
	static const struct option options[] = {{"strategy", 1, 0, 's'}, {"output", 1, 0, 'o'}, {"help", 0, 0, 'h'}, {0}};
	const char *strategy_file = NULL, *output = NULL;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "s:o:h", options, NULL)) != -1;) {
		if (c == 's')
			strategy_file = optarg;
		else if (c == 'o')
			output = optarg;
		else if (c == 'h')
			return fputs(help, stdout), 0;
		else
			return cli_usage("apply", "see --help");
	}
	if (optind + 1 != argc || !strategy_file || !output)
		return cli_usage("apply", "expected MODULE, --strategy S.json and -o OUT.mlir");
	diag d = {0};
	module *m = NULL, *annotated = NULL;
	strategy s = {0};
	strbuf text = {0}, out = {0};
	char device_name[64];
	int64_t limit;
	status st = module_read_file(argv[optind], NULL, &m, &d);
	if (st == ST_OK)
		st = file_read(strategy_file, MAX_TEXT_BYTES, &text, &d);
	if (st == ST_OK) {
		st = strategy_read(m, text.p, text.n, &s, device_name, &limit, &d);
		if (st != ST_OK)
			diag_in_file(&d, strategy_file);
	}
	if (st == ST_OK)
		st = strategy_apply(m, &s, &annotated, &d);
	if (st == ST_OK) {
		module_print(annotated, &(print_options){.locations = true}, &out);
		st = file_write(output, out.p, out.n, &d);
	}
	int code = st == ST_OK ? 0 : cli_fail(&d, st);
	if (annotated)
		module_free(annotated);
	strategy_release(&s);
	if (m)
		module_free(m);
	strbuf_release(&text);
	strbuf_release(&out);
	return code;
}
