#include "clients/cli/cli.h"

#include <getopt.h>

static const char help[] =
	"shardwright opt --passes 'P1,P2{option=value},func.func(P3)' [-o OUT] [--debug-info] MODULE\n"
	"shardwright opt --list\n\n"
	"Runs compiler passes on a StableHLO module and prints the module. Names and options are those of sdy_opt.\n\n"
	"  --passes TEXT   the pipeline\n"
	"  -o, --output F  write to a file instead of standard output\n"
	"  --debug-info    print locations\n"
	"  --list          name every pass and what it does\n";

static int list_passes(void)
{
	for (uint32_t i = 0; i < pass_count(); i++) {
		const pass_info *p = pass_at(i);
		printf("%-50s %s\n", p->name, p->help);
		if (*p->options)
			printf("%-50s   options: %s\n", "", p->options);
	}
	return 0;
}

static status run(const char *path, const char *passes, const char *out, bool locations, diag *d)
{
	module *m = NULL;
	strbuf text;
	strbuf_init(&text);
	status st = module_read_file(path, NULL, &m, d);
	if (st == ST_OK)
		st = passes_run(m, passes, d);
	if (st == ST_OK) {
		module_print(m, &(print_options){.locations = locations}, &text);
		st = file_write(out, text.p, text.n, d);
	}
	strbuf_release(&text);
	module_free(m);
	return st;
}

int cmd_opt(int argc, char **argv)
{
	enum { PASSES = 256, LIST, DEBUG_INFO };
	static const struct option options[] = {{"passes", 1, 0, PASSES}, {"output", 1, 0, 'o'}, {"list", 0, 0, LIST},
						{"debug-info", 0, 0, DEBUG_INFO}, {"help", 0, 0, 'h'}, {0}};
	const char *passes = NULL, *out = "-";
	bool list = false, locations = false;
	lower_register_passes();
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "o:h", options, NULL)) != -1;) {
		if (c == PASSES)
			passes = optarg;
		else if (c == 'o')
			out = optarg;
		else if (c == LIST)
			list = true;
		else if (c == DEBUG_INFO)
			locations = true;
		else if (c == 'h')
			return fputs(help, stdout), 0;
		else
			return cli_usage("opt", "see --help");
	}
	if (list)
		return list_passes();
	if (!passes)
		return cli_usage("opt", "expected --passes");
	if (optind + 1 != argc)
		return cli_usage("opt", "expected one MODULE");
	diag d = {0};
	status st = run(argv[optind], passes, out, locations, &d);
	return st == ST_OK ? 0 : cli_fail(&d, st);
}
