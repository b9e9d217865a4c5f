#include "clients/cli/cli.h"

#include <getopt.h>

static const char help[] =
	"shardwright apply MODULE --strategy S.json -o OUT.mlir [--apply exact|annotate] "
	"[--device-file F.json]\n\n"
	"Writes MODULE as it carries the strategy; XLA compiles the result as it is.\n\n"
	"  annotate   one mesh, partition counts, shardings with priorities, constraints: XLA "
	"partitions\n"
	"  exact      the program of one device inside one manual computation: arguments and results "
	"are whole arrays with their\n"
	"             shardings, and nothing is left to partition\n\n"
	"  -s, --strategy S.json   a document that search wrote, or one written by hand "
	"(docs/strategy-document.md)\n"
	"  -o, --output OUT.mlir   where to write; - is standard output\n"
	"      --apply WAY         exact or annotate; default: what the document says, annotate where "
	"it says nothing\n"
	"      --device-file F     profile that the strategy was found for, where it is none of ours\n";

int cmd_apply(int argc, char **argv)
{
	static const struct option options[] = {{"strategy", 1, 0, 's'}, {"output", 1, 0, 'o'},
		{"apply", 1, 0, 'a'}, {"device-file", 1, 0, 'f'}, {"help", 0, 0, 'h'}, {0}};
	const char *strategy_file = NULL, *output = NULL, *device_file = NULL;
	apply_way way = APPLY_COUNT;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "s:o:h", options, NULL)) != -1;) {
		if (c == 's')
			strategy_file = optarg;
		else if (c == 'o')
			output = optarg;
		else if (c == 'f')
			device_file = optarg;
		else if (c == 'a' && !apply_find(optarg, &way))
			return cli_usage("apply", "--apply: expected exact or annotate, found '%s'", optarg);
		else if (c == 'a')
			continue;
		else if (c == 'h')
			return fputs(help, stdout), 0;
		else
			return cli_bad_option("apply", options, argv);
	}
	if (optind + 1 != argc || !strategy_file || !output)
		return cli_usage("apply", "expected MODULE, --strategy S.json and -o OUT.mlir");
	diag d = {0};
	module *m = NULL;
	cli_target target = {0};
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
		s.apply = way != APPLY_COUNT ? apply_as(s.apply, way) : s.apply;
	if (st == ST_OK && s.apply != APPLY_ANNOTATE) /* compilers differ in what they get */
		st = cli_device(
			device_file || !device_name[0] ? NULL : device_name, device_file, &target, &d);
	if (st == ST_OK)
		st = strategy_write(m, &s, &target.dev, &out, &d);
	if (st == ST_OK)
		st = file_write(output, out.p, out.n, &d);
	if (st == ST_OK && s.n_compiler_options) {
		fputs("to be compiled with compiler_options={", stderr);
		for (uint32_t i = 0; i < s.n_compiler_options; i++)
			fprintf(stderr, "%s\"" STR_FMT "\": \"" STR_FMT "\"", i ? ", " : "",
				STR_ARG(s.compiler_options[i].name), STR_ARG(s.compiler_options[i].value));
		fputs("}\n", stderr);
	}
	int code = st == ST_OK ? 0 : cli_fail(&d, st);
	cli_target_release(&target);
	strategy_release(&s);
	if (m)
		module_free(m);
	strbuf_release(&text);
	strbuf_release(&out);
	return code;
}
