#include "clients/cli/cli.h"
#include "layout/layout.h"
#include "search/search.h"

#include <getopt.h>
#include <stdlib.h>

static const char help_head[] =
	"shardwright convert --mesh data=2,model=4 --rank 2 --from NAME --to NAME TEXT\n"
	"shardwright convert --mesh data=2,model=4 --shape 8x16 --from NAME --to NAME TEXT\n"
	"shardwright convert --strategy S.json --to NAME\n"
	"shardwright convert --strategy S.json --outline\n\n"
	"Writes a sharding in another notation: every device keeps its slice. What a notation has no "
	"words for is an error\n"
	"that says so.\n\n"
	"  --rank 2         dimensions of the tensor; sizes are taken to divide. 2,1,0: of the "
	"elements of a GSPMD tuple\n"
	"  --shape 8x16     sizes of the tensor instead. Systems cut what does not divide in different "
	"ways: a device whose\n"
	"                   slice would be another one is an error\n"
	"  --strategy F     a strategy document: its mesh and the shardings of its arguments, ready to "
	"paste into a program\n"
	"  --outline        the document with arguments that are alike in rows, as JSON: short where "
	"there are very many\n\n"
	"Notations:\n";

static int print_help(void)
{
	fputs(help_head, stdout);
	for (int n = 0; n < NOTATION_COUNT; n++)
		printf("  %-10s %s\n", notation_name((notation)n), notation_summary((notation)n));
	return 0;
}

enum { MAX_TUPLE = 256, MAX_STRATEGY_BYTES = 256 << 20 };

struct request {
	const char *mesh, *shape, *from_name, *to_name, *text, *strategy;
	bool outline;
	notation from, to;
	uint32_t ranks[MAX_TUPLE], n_ranks;
};

/* Both notations give every device the same slice of the shape. */
static status same_slices(
	const struct request *r, sharding_table *t, const tensor_spec *s, const char *printed, diag *d)
{
	int64_t shape[MAX_RANK];
	uint32_t rank;
	layout a = {0}, b = {0};
	tensor_spec *back = xmalloc(sizeof *back);
	TRY(cli_shape(r->shape, shape, &rank, d));
	bool alone = t->meshes.p[s->e.mesh].maximal;
	status st = alone ? ST_OK : notation_parse(t, r->to, s->e.mesh, rank, str_of(printed), back, d);
	if (st == ST_OK && !alone)
		st = layout_init_cut(&a, t, s, shape, rank, notation_cut(r->from), d);
	if (st == ST_OK && !alone)
		st = layout_init_cut(&b, t, back, shape, rank, notation_cut(r->to), d);
	for (int64_t p = 0; st == ST_OK && p < a.n_devices; p++) {
		index_range x[MAX_RANK], y[MAX_RANK];
		layout_ranges(&a, p, x);
		layout_ranges(&b, p, y);
		for (uint32_t i = 0; i < rank && st == ST_OK; i++)
			if (x[i].end - x[i].begin != y[i].end - y[i].begin ||
				(x[i].begin != y[i].begin && x[i].begin < x[i].end))
				st = diag_set(d, ST_ERR_UNSUPPORTED,
					"cannot be expressed in %s: dimension %u does not divide, device %lld has "
					"%lld:%lld in %s and would have "
					"%lld:%lld in %s",
					r->to_name, i, (long long)layout_device_at(&a, p), (long long)x[i].begin,
					(long long)x[i].end, r->from_name, (long long)y[i].begin, (long long)y[i].end,
					r->to_name);
	}
	layout_release(&a);
	layout_release(&b);
	free(back);
	return st;
}

static status convert(
	const struct request *r, sharding_table *t, tensor_spec *specs, strbuf *out, diag *d)
{
	mesh_spec mesh;
	uint32_t n;
	bool tuple;
	TRY(mesh_from_text(t, r->mesh, &mesh, d));
	TRY(notation_parse_tuple(t, r->from, mesh.mesh, r->ranks, r->n_ranks, str_of(r->text), specs,
		MAX_TUPLE, &n, &tuple, d));
	if (tuple)
		return notation_print_tuple(t, r->to, specs, n, out, d);
	TRY(notation_print(t, r->to, specs, out, d));
	return r->shape ? same_slices(r, t, specs, out->p, d) : ST_OK;
}

static status answer(const struct request *r, sharding_table *t, strbuf *out, diag *d)
{
	status s;
	if (r->strategy) {
		strbuf text;
		strbuf_init(&text);
		s = file_read(r->strategy, MAX_STRATEGY_BYTES, &text, d);
		if (s == ST_OK)
			s = r->outline ? strategy_outline((str){text.p, text.n}, out, d)
						   : strategy_text_of(r->to, text.p, text.n, out, d);
		strbuf_release(&text);
		return s;
	}
	tensor_spec *specs = xcalloc(MAX_TUPLE, sizeof *specs);
	s = convert(r, t, specs, out, d);
	free(specs);
	return s;
}

/* 2, or 2,1,0 */
static bool parse_ranks(const char *text, struct request *r)
{
	str s = str_of(text);
	for (size_t at = 0;; r->n_ranks++) {
		const char *comma = memchr(s.p + at, ',', s.n - at);
		size_t end = comma ? (size_t)(comma - s.p) : s.n;
		int64_t rank;
		char one[24];
		snprintf(
			one, sizeof one, STR_FMT, STR_ARG(((str){s.p + at, MIN(end - at, sizeof one - 1)})));
		if (r->n_ranks == MAX_TUPLE || !cli_number("convert", "--rank", one, 0, MAX_RANK, &rank))
			return false;
		r->ranks[r->n_ranks] = (uint32_t)rank;
		if (!comma)
			break;
		at = end + 1;
	}
	r->n_ranks++;
	return true;
}

static int check_request(struct request *r, int argc, char **argv, const char *rank_text)
{
	bool whole = r->strategy != NULL;
	if (whole ? optind != argc || !r->to_name == !r->outline || r->mesh || rank_text || r->shape ||
				r->from_name
			  : optind + 1 != argc || !r->mesh || !rank_text == !r->shape || !r->from_name ||
				!r->to_name || r->outline)
		return cli_usage("convert",
			"expected --mesh, --rank or --shape, --from, --to and the text of a sharding; or "
			"--strategy and --to or --outline");
	r->text = argv[optind];
	if (!whole && !notation_find(r->from_name, &r->from))
		return cli_usage("convert", "unknown notation '%s'", r->from_name);
	if (!r->outline && !notation_find(r->to_name, &r->to))
		return cli_usage("convert", "unknown notation '%s'", r->to_name);
	return rank_text && !parse_ranks(rank_text, r) ? EXIT_USAGE : 0;
}

int cmd_convert(int argc, char **argv)
{
	static const struct option options[] = {
		{"mesh", 1, 0, 'm'},
		{"rank", 1, 0, 'r'},
		{"shape", 1, 0, 's'},
		{"from", 1, 0, 'f'},
		{"to", 1, 0, 't'},
		{"strategy", 1, 0, 'S'},
		{"outline", 0, 0, 'o'},
		{"help", 0, 0, 'h'},
		{0},
	};
	struct request r = {0};
	const char *rank_text = NULL;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
		switch (c) {
		case 'm': r.mesh = optarg; break;
		case 'r': rank_text = optarg; break;
		case 's': r.shape = optarg; break;
		case 'f': r.from_name = optarg; break;
		case 't': r.to_name = optarg; break;
		case 'o': r.outline = true; break;
		case 'S': r.strategy = optarg; break;
		case 'h': return print_help();
		default: return cli_bad_option("convert", options, argv);
		}
	int code = check_request(&r, argc, argv, rank_text);
	if (code)
		return code;
	diag d = {0};
	strbuf out;
	strbuf_init(&out);
	sharding_table *t = sharding_table_new();
	status s = ST_OK;
	if (r.shape) {
		int64_t shape[MAX_RANK];
		s = cli_shape(r.shape, shape, &r.ranks[0], &d);
		r.n_ranks = 1;
	}
	if (s == ST_OK)
		s = answer(&r, t, &out, &d);
	if (s == ST_OK)
		fputs(out.p, stdout);
	if (s == ST_OK && (!r.strategy || r.outline))
		putchar('\n');
	strbuf_release(&out);
	sharding_table_unref(t);
	return s == ST_OK ? 0 : cli_fail(&d, s);
}
