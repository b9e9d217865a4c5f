#include "clients/cli/cli.h"
#include "layout/layout.h"

#include <getopt.h>
#include <stdlib.h>

static const char help_head[] =
	"shardwright convert --mesh data=2,model=4 --rank 2 --from NAME --to NAME TEXT\n\n"
	"Writes a sharding in another notation: every device keeps its slice. What a notation has no words for is an error\n"
	"that says so. SBP and DTensor cut sizes that do not divide in their own way; for them sizes are taken to divide.\n\n"
	"Notations:\n";

static int print_help(void)
{
	fputs(help_head, stdout);
	for (int n = 0; n < NOTATION_COUNT; n++)
		printf("  %-10s %s\n", notation_name((notation)n), notation_summary((notation)n));
	return 0;
}

struct request {
	const char *mesh, *from_name, *to_name, *text;
	notation from, to;
	uint32_t rank;
};

static status answer(const struct request *r, sharding_table *t, strbuf *out, diag *d)
{
	mesh_spec mesh;
	sharding_edit e;
	TRY(mesh_from_text(t, r->mesh, &mesh, d));
	TRY(notation_parse(t, r->from, mesh.mesh, r->rank, str_of(r->text), &e, d));
	return notation_print(t, r->to, &e, out, d);
}

int cmd_convert(int argc, char **argv)
{
	static const struct option options[] = {
		{"mesh", 1, 0, 'm'}, {"rank", 1, 0, 'r'}, {"from", 1, 0, 'f'}, {"to", 1, 0, 't'}, {"help", 0, 0, 'h'}, {0},
	};
	struct request r = {0};
	const char *rank_text = NULL;
	int64_t rank;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
		switch (c) {
		case 'm': r.mesh = optarg; break;
		case 'r': rank_text = optarg; break;
		case 'f': r.from_name = optarg; break;
		case 't': r.to_name = optarg; break;
		case 'h': return print_help();
		default: return cli_bad_option("convert", options, argv);
		}
	if (optind + 1 != argc || !r.mesh || !rank_text || !r.from_name || !r.to_name)
		return cli_usage("convert", "expected --mesh, --rank, --from, --to and the text of a sharding");
	r.text = argv[optind];
	if (!notation_find(r.from_name, &r.from))
		return cli_usage("convert", "unknown notation '%s'", r.from_name);
	if (!notation_find(r.to_name, &r.to))
		return cli_usage("convert", "unknown notation '%s'", r.to_name);
	if (!cli_number("convert", "--rank", rank_text, 0, MAX_RANK, &rank))
		return EXIT_USAGE;
	r.rank = (uint32_t)rank;
	diag d = {0};
	strbuf out;
	strbuf_init(&out);
	sharding_table *t = sharding_table_new();
	status s = answer(&r, t, &out, &d);
	if (s == ST_OK)
		puts(out.p);
	strbuf_release(&out);
	sharding_table_unref(t);
	return s == ST_OK ? 0 : cli_fail(&d, s);
}
