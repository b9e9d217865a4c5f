#include "clients/cli/cli.h"
#include "layout/layout.h"

#include <getopt.h>
#include <stdlib.h>

static const char help_head[] =
	"shardwright layout --mesh data=2,model=4 --shape 8x16 --sharding TEXT [--notation NAME] [--json | --svg OUT]\n\n"
	"Prints the slice of a tensor that each device holds: half-open index ranges, cut at the tensor's end.\n\n"
	"  --mesh      axes with sizes, major first, or a JSON file {\"axes\":[{\"name\":..,\"size\":..},..],\"device_order\":[..]}\n"
	"  --shape     sizes of the dimensions; scalar for a tensor without any\n"
	"  --sharding  a list of axes per dimension, '[[\"data\"],[\"model:(1)2\"]]', or text in the notation given\n"
	"  --json      {\"devices\":[{\"device\":0,\"ranges\":[[0,4],[0,4]]},..]}\n"
	"  --svg OUT   a picture of the blocks of the first two dimensions that are cut\n"
	"  --notation  ";

static int print_help(void)
{
	fputs(help_head, stdout);
	for (int n = 0; n < NOTATION_COUNT; n++)
		printf("%s%-10s %s\n", n ? "              " : "", notation_name((notation)n), notation_summary((notation)n));
	return 0;
}

/* Rows are made and written in parts, so that large meshes need no memory. */
static status write_rows(const layout *l, bool json)
{
	enum { PART = 4096 };
	strbuf b;
	strbuf_init(&b);
	bool ok = !json || fputs("{\"devices\":[", stdout) >= 0;
	for (int64_t first = 0; first < l->n_devices && ok; first += PART) {
		strbuf_clear(&b);
		if (json)
			layout_json(l, first, PART, &b);
		else
			layout_table(l, first, PART, &b);
		ok = fwrite(b.p, 1, b.n, stdout) == b.n;
	}
	strbuf_release(&b);
	ok = ok && (!json || puts("\n]}") >= 0);
	return ok ? ST_OK : ST_ERR_IO;
}

static status write_svg(const layout *l, const char *path, diag *d)
{
	strbuf b;
	strbuf_init(&b);
	status s = layout_svg(l, &b, d);
	if (s == ST_OK)
		s = file_write(path, b.p, b.n, d);
	strbuf_release(&b);
	return s;
}

struct request {
	const char *mesh, *shape, *sharding, *svg;
	notation notation;
	bool json;
};

static status answer(const struct request *r, sharding_table *t, diag *d)
{
	mesh_spec mesh;
	int64_t shape[MAX_RANK];
	uint32_t rank;
	layout l;
	tensor_spec *spec;
	TRY(mesh_from_text(t, r->mesh, &mesh, d));
	TRY(cli_shape(r->shape, shape, &rank, d));
	spec = xmalloc(sizeof *spec);
	status s = notation_parse(t, r->notation, mesh.mesh, rank, str_of(r->sharding), spec, d);
	if (s == ST_OK)
		s = layout_init_cut(&l, t, spec, shape, rank, notation_cut(r->notation), d);
	free(spec);
	TRY(s);
	s = r->svg ? write_svg(&l, r->svg, d) : write_rows(&l, r->json);
	if (s == ST_ERR_IO)
		diag_set(d, s, "cannot write standard output");
	layout_release(&l);
	return s;
}

int cmd_layout(int argc, char **argv)
{
	static const struct option options[] = {
		{"mesh", 1, 0, 'm'}, {"shape", 1, 0, 's'}, {"sharding", 1, 0, 'S'}, {"notation", 1, 0, 'n'},
		{"json", 0, 0, 'j'}, {"svg", 1, 0, 'v'},   {"help", 0, 0, 'h'},     {0},
	};
	struct request r = {.notation = NOTATION_JSON};
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
		switch (c) {
		case 'm': r.mesh = optarg; break;
		case 's': r.shape = optarg; break;
		case 'S': r.sharding = optarg; break;
		case 'v': r.svg = optarg; break;
		case 'j': r.json = true; break;
		case 'h': return print_help();
		case 'n':
			if (notation_find(optarg, &r.notation))
				break;
			return cli_usage("layout", "unknown notation '%s'", optarg);
		default: return cli_bad_option("layout", options, argv);
		}
	if (optind != argc || !r.mesh || !r.shape || !r.sharding)
		return cli_usage("layout", "expected --mesh, --shape and --sharding");
	if (r.json && r.svg)
		return cli_usage("layout", "--json and --svg exclude each other");
	diag d = {0};
	sharding_table *t = sharding_table_new();
	status s = answer(&r, t, &d);
	sharding_table_unref(t);
	return s == ST_OK ? 0 : cli_fail(&d, s);
}
