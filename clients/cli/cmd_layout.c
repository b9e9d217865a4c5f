#include "clients/cli/cli.h"
#include "layout/layout.h"

#include <getopt.h>
#include <stdlib.h>

static const char help_head[] =
	"shardwright layout --mesh data=2,model=4 --shape 8x16 --sharding TEXT [--notation NAME] "
	"[--steps] [--json | --svg OUT]\n\n"
	"Prints the slice of a tensor that each device holds: half-open index ranges, cut at the "
	"tensor's end, and the slice's\n"
	"number in row-major order.\n\n"
	"  --mesh      axes with sizes, major first, or a JSON file "
	"{\"axes\":[{\"name\":..,\"size\":..},..],\"device_order\":[..]}. A\n"
	"              MindSpore Layout(..) needs none: its device matrix is the mesh\n"
	"  --shape     sizes of the dimensions; scalar for a tensor without any\n"
	"  --sharding  a list of axes per dimension, '[[\"data\"],[\"model:(1)2\"]]', or text in the "
	"notation given\n"
	"  --steps     how the devices come to hold them: the device matrix; the tensor on device 0, "
	"cut axis by axis, then\n"
	"              copied along the others\n"
	"  --json      {\"devices\":[{\"device\":0,\"slice\":0,\"ranges\":[[0,4],[0,4]]},..]}, with "
	"--steps\n"
	"              {\"device_matrix\":[..],\"alias_name\":[..],\"steps\":[..],\"devices\":[..]}\n"
	"  --svg OUT   a picture of the blocks and the devices that hold them; with --steps one for "
	"every step\n"
	"  --notation  ";

static int print_help(void)
{
	fputs(help_head, stdout);
	for (int n = 0; n < NOTATION_COUNT; n++)
		printf("%s%-10s %s\n", n ? "              " : "", notation_name((notation)n),
			notation_summary((notation)n));
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

struct request {
	const char *mesh, *shape, *sharding, *svg;
	notation notation;
	bool json, steps;
};

static status write_answer(
	const struct request *r, const layout *l, const sharding_edit *e, diag *d)
{
	layout_steps steps;
	strbuf b;
	status s;
	if (!r->svg && !r->steps) {
		s = write_rows(l, r->json);
		return s == ST_ERR_IO ? diag_set(d, s, "cannot write standard output") : s;
	}
	strbuf_init(&b);
	if (r->steps)
		layout_steps_of(l, e, &steps);
	if (r->svg)
		s = r->steps ? layout_steps_svg(&steps, &b, d) : layout_svg(l, &b, d);
	else
		s = r->json ? layout_steps_json(&steps, &b, d) : layout_steps_text(&steps, &b, d);
	if (s == ST_OK)
		s = file_write(r->svg ? r->svg : "-", b.p, b.n, d);
	strbuf_release(&b);
	return s;
}

static status answer(const struct request *r, sharding_table *t, diag *d)
{
	mesh_spec mesh;
	int64_t shape[MAX_RANK];
	uint32_t rank;
	layout l;
	tensor_spec *spec;
	if (r->mesh)
		TRY(mesh_from_text(t, r->mesh, &mesh, d));
	else
		TRY(mindspore_mesh(t, str_of(r->sharding), &mesh.mesh, d));
	TRY(cli_shape(r->shape, shape, &rank, d));
	spec = xmalloc(sizeof *spec);
	status s = notation_parse(t, r->notation, mesh.mesh, rank, str_of(r->sharding), spec, d);
	if (s == ST_OK)
		s = layout_init_cut(&l, t, spec, shape, rank, notation_cut(r->notation), d);
	if (s == ST_OK) {
		s = write_answer(r, &l, &spec->e, d);
		layout_release(&l);
	}
	free(spec);
	return s;
}

int cmd_layout(int argc, char **argv)
{
	static const struct option options[] = {
		{"mesh", 1, 0, 'm'},
		{"shape", 1, 0, 's'},
		{"sharding", 1, 0, 'S'},
		{"notation", 1, 0, 'n'},
		{"json", 0, 0, 'j'},
		{"svg", 1, 0, 'v'},
		{"steps", 0, 0, 't'},
		{"help", 0, 0, 'h'},
		{0},
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
		case 't': r.steps = true; break;
		case 'h': return print_help();
		case 'n':
			if (notation_find(optarg, &r.notation))
				break;
			return cli_usage("layout", "unknown notation '%s'", optarg);
		default: return cli_bad_option("layout", options, argv);
		}
	if (optind != argc || !r.shape || !r.sharding || (!r.mesh && r.notation != NOTATION_MINDSPORE))
		return cli_usage("layout", "expected --mesh, --shape and --sharding");
	if (r.json && r.svg)
		return cli_usage("layout", "--json and --svg exclude each other");
	diag d = {0};
	sharding_table *t = sharding_table_new();
	status s = answer(&r, t, &d);
	sharding_table_unref(t);
	return s == ST_OK ? 0 : cli_fail(&d, s);
}
