#include "batch/batch.h"
#include "clients/cli/cli.h"
#include "clients/cli/store_care.h"

#include <getopt.h>
#include <unistd.h>

static const char help[] =
	"shardwright store VIEW --store DIR [--module NAME|FILE|ID] [--mesh TEXT] [--device NAME] "
	"[--devices N] [--csv | --json]\n\n"
	"shardwright store ACTION [FILE | DIR] --store DIR [--module NAME|FILE|ID] [--mesh TEXT] "
	"[--device NAME] [--label NAME] [--keep-days N] [--keep-size SIZE] [--json]\n\n"
	"Prints what a store has found, of a batch or a daemon; it may be open there. VIEW is one "
	"of\n\n";
static const char middle_help[] = "\nOr looks after the store as a whole. ACTION is one of\n\n";
static const char more_help[] =
	"\n"
	"  --store DIR             the store\n"
	"  --module NAME|FILE|ID   only this module: its name, its file, or an id or fingerprint of "
	"the store\n"
	"  --mesh TEXT             only this mesh, such as data=4,model=4\n"
	"  --device NAME           only this device profile\n"
	"  --devices N             only meshes of so many devices (views)\n"
	"  --label NAME            only modules with this label (export)\n"
	"  --keep-days N           what nobody asked for during N days is deleted (prune)\n"
	"  --keep-size SIZE        above it the answers used longest ago are deleted, none of the last "
	"hour (prune)\n"
	"  --csv                   a header and a line per row (RFC 4180), times in ns, sizes in "
	"bytes\n"
	"  --json                  {\"format\":\"shardwright.VIEW/1\",\"rows\":[..]}\n\n"
	"The views are those of the database too (docs/database.md): best_per_mesh, mesh_ranking, "
	"cost_model_history,\n"
	"predicted_and_verified, measured, best_known.\n";

static int print_help(void)
{
	const char *name, *what;
	fputs(help, stdout);
	for (uint32_t i = 0; (name = export_view_at(i, &what)); i++)
		printf("  %-10s %s\n", name, what);
	fputs(middle_help, stdout);
	care_help();
	fputs(more_help, stdout);
	return 0;
}

static bool view_is_known(const char *wanted)
{
	const char *name;
	for (uint32_t i = 0; (name = export_view_at(i, NULL)); i++)
		if (!strcmp(name, wanted))
			return true;
	return false;
}

/* A file stands for the module it holds: its id is the hash of its text. */
static status resolve_module(export_options *o, char id[72], diag *d)
{
	if (!o->module || access(o->module, F_OK) != 0)
		return ST_OK;
	strbuf text = {0};
	status st = file_read(o->module, (size_t)1 << 30, &text, d);
	if (st == ST_OK)
		sha256_name(text.p, text.n, id);
	strbuf_release(&text);
	o->module = id;
	return st;
}

int cmd_store(int argc, char **argv)
{
	enum {
		OPT_STORE = 256,
		OPT_MODULE,
		OPT_MESH,
		OPT_DEVICE,
		OPT_DEVICES,
		OPT_CSV,
		OPT_JSON,
		OPT_LABEL,
		OPT_KEEP_DAYS,
		OPT_KEEP_SIZE,
		OPT_HELP
	};
	static const struct option options[] = {{"store", 1, 0, OPT_STORE},
		{"module", 1, 0, OPT_MODULE}, {"mesh", 1, 0, OPT_MESH}, {"device", 1, 0, OPT_DEVICE},
		{"devices", 1, 0, OPT_DEVICES}, {"csv", 0, 0, OPT_CSV}, {"json", 0, 0, OPT_JSON},
		{"label", 1, 0, OPT_LABEL}, {"keep-days", 1, 0, OPT_KEEP_DAYS},
		{"keep-size", 1, 0, OPT_KEEP_SIZE}, {"help", 0, 0, OPT_HELP}, {0}};
	care_options care = {0};
	export_options o = {0};
	char id[72];
	device dev;
	diag d = {0};
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case OPT_STORE: o.store = optarg; break;
		case OPT_MODULE: o.module = optarg; break;
		case OPT_MESH: o.mesh = optarg; break;
		case OPT_DEVICE: o.device = optarg; break;
		case OPT_CSV: o.form = EXPORT_CSV; break;
		case OPT_JSON: o.form = EXPORT_JSON; break;
		case OPT_LABEL: care.label = optarg; break;
		case OPT_KEEP_DAYS:
			if (!cli_number("store", "--keep-days", optarg, 1, 100000, &care.keep_days))
				return EXIT_USAGE;
			break;
		case OPT_KEEP_SIZE:
			if (!size_parse(str_of(optarg), &care.keep_size) || care.keep_size < 1)
				return cli_usage(
					"store", "--keep-size is '%s', expected a size such as 10GiB", optarg);
			break;
		case OPT_HELP: return print_help();
		case OPT_DEVICES:
			if (!cli_number("store", "--devices", optarg, 1, 1 << 24, &o.devices))
				return EXIT_USAGE;
			break;
		default: return cli_bad_option("store", options, argv);
		}
	}
	bool acts = optind < argc && care_is_action(argv[optind]);
	if (!acts && (optind + 1 != argc || !view_is_known(argv[optind])))
		return cli_usage("store",
			optind == argc ? "expected a VIEW or an ACTION, such as best or check"
						   : "expected a view or an action, found '%s'",
			argv[optind + (optind + 1 < argc)]);
	if (!o.store)
		return cli_usage("store", "expected --store DIR");
	o.view = argv[optind];
	if (o.device && device_find(o.device, &dev, NULL) == ST_OK)
		o.device = dev.name; /* of the two that a profile may have */
	status st = resolve_module(&o, id, &d);
	if (st == ST_OK && acts) {
		care.store = o.store, care.module = o.module, care.mesh = o.mesh, care.device = o.device,
		care.json = o.form == EXPORT_JSON;
		care.operands = argv + optind + 1;
		care.n_operands = argc - optind - 1;
		return care_run(o.view, &care);
	}
	if (st == ST_OK)
		st = export_print(&o, stdout, &d);
	return st == ST_OK ? 0 : cli_fail(&d, st);
}
