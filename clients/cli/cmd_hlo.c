/* hlo: reads, verifies and prints compiled HLO text. */
#include "clients/cli/hlo.h"

#include <getopt.h>

static const char help[] =
	"shardwright hlo FILE.hlo [--sugar | --generic]\n\n"
	"Reads HLO text as compiled.as_text() prints it (plain, gzip or zstd), verifies it and prints "
	"it again.\n\n"
	"  --sugar    asynchronous ops as slice-start and slice-done, wherever that loses nothing\n"
	"  --generic  as async-start of a computation that holds the slice, and async-done\n";

int cmd_hlo(int argc, char **argv)
{
	static const struct option options[] = {
		{"sugar", 0, 0, 's'}, {"generic", 0, 0, 'g'}, {"help", 0, 0, 'h'}, {0}};
	bool sugar = false, generic = false;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
		switch (c) {
		case 's': sugar = true; break;
		case 'g': generic = true; break;
		case 'h': return fputs(help, stdout), 0;
		default: return cli_bad_option("hlo", options, argv);
		}
	if (optind + 1 != argc)
		return cli_usage("hlo", "expected one FILE");
	if (sugar && generic)
		return cli_usage("hlo", "--sugar and --generic exclude each other");
	diag d = {0};
	strbuf text = {0}, out = {0};
	hlo_module *m = NULL;
	status s = cli_read_hlo(argv[optind], &text, &m, &d);
	if (s == ST_OK && !m)
		s = diag_set(
			&d, ST_ERR_INVALID, "%s holds no HLO text: it begins with HloModule", argv[optind]);
	if (s == ST_OK) {
		hlo_print(m, sugar ? HLO_SUGAR : generic ? HLO_GENERIC : HLO_AS_READ, &out);
		s = file_write("-", out.p, out.n, &d);
	}
	hlo_free(m);
	strbuf_release(&text);
	strbuf_release(&out);
	return s == ST_OK ? 0 : cli_fail(&d, s);
}
