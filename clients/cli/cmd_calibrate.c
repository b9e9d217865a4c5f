/* calibrate: a device profile fitted to measured collectives and kernels. */
#include "clients/cli/calibrate.h"
#include "clients/cli/cli.h"

#include <getopt.h>

static const char help[] =
	"shardwright calibrate TABLE.csv.. -o DEVICE.json [--device NAME | --device-file F] [--group "
	"N[,N]..] [--collective KIND]\n"
	"                      [--link NAME] [--name NAME]\n"
	"shardwright calibrate --store DIR -o DEVICE.json [--device NAME] [--name NAME]\n\n"
	"Fits launch, latency, bandwidth and efficiency of the profile's links to tables of measured "
	"collectives and writes the\n"
	"profile that results. A table is CSV with a header line: columns collective, link, group, "
	"bytes and time_ns or time_us;\n"
	"or the size(B),count,type,time(ns),.. tables of NCCL's tests, which need --group.\n\n"
	"A table with the columns kernel (matmul, elementwise), type, flops, bytes and a time is of "
	"kernels: the launch and the\n"
	"efficiencies by size of a GPU's or CPU's profile are fitted to it. `python -m "
	"shardwright.calibration` measures tables of\n"
	"both kinds on the devices that jax finds, and calls this.\n\n"
	"With --store it fits factors on the rates of compute, memory and links to the steps that the "
	"store knows: measured ones\n"
	"(shardwright record), and those that verifiers compiled. Measured ones decide where there are "
	"5 of 2 programs; else\n"
	"compiled ones, of which there must be as many. It says how far the profile was off before, is "
	"after, and is for each\n"
	"program when it is fitted to all others.\n\n"
	"  -o DEVICE.json     where to write it (- for standard output)\n"
	"  --device NAME      profile to start from (default: tpu-v5e; a100-80g for tables of NCCL's "
	"tests)\n"
	"  --group N[,N]..    devices that took part, for tables without that column: one for all "
	"tables, or one for each\n"
	"  --collective KIND  for tables without that column (default all_reduce)\n"
	"  --link NAME        for tables without that column (default: the innermost link)\n"
	"  --name NAME        name of the profile (default: that of the base with -calibrated)\n";

enum { MAX_TABLES = 64 };
typedef struct arguments {
	const char *out, *store, *device, *device_file, *collective, *link, *name, *tables[MAX_TABLES];
	int64_t groups[MAX_TABLES];
	uint32_t n_tables, n_groups;
} arguments;

static bool parse_groups(arguments *a, const char *text)
{
	for (const char *p = text;; p++) {
		size_t n = strcspn(p, ",");
		if (a->n_groups == MAX_TABLES || !str_to_i64((str){p, n}, &a->groups[a->n_groups]) ||
			a->groups[a->n_groups] < 2) {
			cli_usage(
				"calibrate", "--group: expected whole numbers of 2 or more, found '%s'", text);
			return false;
		}
		a->n_groups++;
		p += n;
		if (!*p)
			return true;
	}
}

static int parse(arguments *a, int argc, char **argv)
{
	static const struct option options[] = {{"device", 1, 0, 'd'}, {"device-file", 1, 0, 'f'},
		{"group", 1, 0, 'g'}, {"collective", 1, 0, 'c'}, {"link", 1, 0, 'l'}, {"name", 1, 0, 'n'},
		{"help", 0, 0, 'h'}, {"store", 1, 0, 's'}, {0}};
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "o:", options, NULL)) != -1;) {
		switch (c) {
		case 'o': a->out = optarg; break;
		case 'd': a->device = optarg; break;
		case 'f': a->device_file = optarg; break;
		case 'c': a->collective = optarg; break;
		case 'l': a->link = optarg; break;
		case 'n': a->name = optarg; break;
		case 's': a->store = optarg; break;
		case 'h': fputs(help, stdout); return 0;
		case 'g':
			if (!parse_groups(a, optarg))
				return EXIT_USAGE;
			break;
		default: return cli_bad_option("calibrate", options, argv);
		}
	}
	if (a->store && (optind < argc || a->device_file || a->n_groups || a->collective || a->link))
		return cli_usage("calibrate", "--store takes no tables, and nothing that is about tables");
	if (a->store)
		return a->out ? -1 : cli_usage("calibrate", "expected -o DEVICE.json");
	if (optind == argc || argc - optind > MAX_TABLES)
		return cli_usage("calibrate", "expected 1 to %d tables", MAX_TABLES);
	if (!a->out)
		return cli_usage("calibrate", "expected -o DEVICE.json");
	while (optind < argc)
		a->tables[a->n_tables++] = argv[optind++];
	if (a->n_groups > 1 && a->n_groups != a->n_tables)
		return cli_usage(
			"calibrate", "--group gives %u sizes for %u tables", a->n_groups, a->n_tables);
	return -1;
}

enum { MAX_TABLE_BYTES = 1 << 28, MAX_PROFILE_BYTES = 1 << 20 };

static status read_base(const arguments *a, const strbuf *first, device *dev, strbuf *json, diag *d)
{
	if (a->device && a->device_file)
		return diag_set(d, ST_ERR_INVALID, "--device and --device-file exclude each other");
	if (a->device_file) {
		TRY(file_read(a->device_file, MAX_PROFILE_BYTES, json, d));
		status st = device_parse(json->p, json->n, dev, d);
		if (st != ST_OK)
			diag_in_file(d, a->device_file);
		return st;
	}
	const char *name = a->device                          ? a->device
		: first->n > 7 && !memcmp(first->p, "size(B)", 7) ? "a100-80g"
														  : "tpu-v5e";
	TRY(device_find(name, dev, d));
	for (uint32_t i = 0; i < device_count(); i++)
		if (!strcmp(device_name_at(i), dev->name))
			strbuf_puts(json, device_json_at(i));
	return ST_OK;
}

static status read_defaults(const arguments *a, const device *dev, table_defaults *out, diag *d)
{
	*out = (table_defaults){.kind = COLL_ALL_REDUCE};
	if (a->collective) {
		int k = 0;
		while (k < COLL_COUNT &&
			(k == COLL_ALL_SLICE || strcmp(collective_name((collective_kind)k), a->collective)))
			k++;
		if (k == COLL_COUNT)
			return diag_set(d, ST_ERR_INVALID,
				"--collective: expected all_reduce, all_gather, reduce_scatter, all_to_all or "
				"collective_permute, found '%s'",
				a->collective);
		out->kind = (uint8_t)k;
	}
	while (a->link && strcmp(dev->links[out->link].name, a->link))
		if (++out->link == dev->n_links)
			return diag_set(d, ST_ERR_NOT_FOUND, "--link: device %s has no link class '%s'",
				dev->name, a->link);
	return ST_OK;
}

static status read_tables(const arguments *a, const strbuf *texts, const device *dev,
	measurements *rows, kernel_measurements *kernels, diag *d)
{
	table_defaults defaults;
	TRY(read_defaults(a, dev, &defaults, d));
	for (uint32_t i = 0; i < a->n_tables; i++) {
		defaults.group = !a->n_groups ? 0 : a->groups[a->n_groups == 1 ? 0 : i];
		status st = measurements_read(texts[i].p, texts[i].n, dev, &defaults, rows, kernels, d);
		if (st != ST_OK)
			diag_in_file(d, a->tables[i]);
		TRY(st);
	}
	return ST_OK;
}

static void print_errors(FILE *out, const calibration_row *r)
{
	fprintf(out, "%6u  %9.2f%% %9.2f%% %9.2f%%", r->rows, 100 * r->before, 100 * r->after,
		100 * r->worst);
	if (r->large_rows)
		fprintf(out, " %13.2f%%\n", 100 * r->large);
	else
		fprintf(out, " %14s\n", "-");
}

static void print_report(FILE *out, const device *fitted, const calibration *c)
{
	static const char errors[] = "%6s  %10s %10s %10s %14s\n";
	bool kernels = false;
	if (c->n) {
		fprintf(out, "%-10s %6s ", "LINK", "GROUP");
		fprintf(out, errors, "ROWS", "BEFORE", "AFTER", "WORST", "FROM 16 MiB");
	}
	for (uint32_t i = 0; i < c->n; i++) {
		const calibration_row *r = &c->rows[i];
		fprintf(out, "%-10s %6lld ", fitted->links[r->link].name, (long long)r->group);
		print_errors(out, r);
	}
	for (uint32_t k = 0; k < KERNEL_KINDS; k++) {
		if (!c->kernels[k].rows)
			continue;
		if (!kernels) {
			fprintf(out, "%-17s ", "KERNEL");
			fprintf(out, errors, "ROWS", "BEFORE", "AFTER", "WORST", "FROM 16 MiB");
		}
		kernels = true;
		fprintf(out, "%-17s ", kernel_kind_name((kernel_kind)k));
		print_errors(out, &c->kernels[k]);
	}
	if (kernels)
		fprintf(out, "kernels: launch %lld ns\n", (long long)fitted->op_launch_ns);
	for (uint32_t i = 0; i < c->n; i++) {
		const link_class *l = &fitted->links[c->rows[i].link];
		if (!i || c->rows[i - 1].link != c->rows[i].link)
			fprintf(out, "%s: launch %lld ns, latency %lld ns, %.1f GB/s, %.1f%% of it reached\n",
				l->name, (long long)l->launch_ns, (long long)l->latency_ns,
				(double)l->bandwidth_bytes_s / 1e9, (double)l->efficiency_ppm / 1e4);
	}
}

static status write_profile(const arguments *a, const char *base_json, const device *base,
	const device *fitted, const calibration *c, uint32_t rows, diag *d)
{
	strbuf source = {0}, name = {0}, text = {0};
	strbuf_printf(&source, "calibrated to %u measurements from", rows);
	for (uint32_t i = 0; i < a->n_tables && i < 4; i++) {
		const char *slash = strrchr(a->tables[i], '/');
		strbuf_printf(&source, "%s %s", i ? "," : "", slash ? slash + 1 : a->tables[i]);
	}
	strbuf_puts(&source, a->n_tables > 4 ? ", .." : "");
	if (a->name)
		strbuf_puts(&name, a->name);
	else
		strbuf_printf(&name, "%.36s-calibrated", base->name);
	status st = calibration_profile(base_json, fitted, c, name.p, source.p, &text, d);
	if (st == ST_OK)
		st = file_write(a->out, text.p, text.n, d);
	strbuf_release(&source);
	strbuf_release(&name);
	strbuf_release(&text);
	return st;
}

/* From measured and compiled steps. */
static int run_store(const arguments *a)
{
	diag d = {0};
	device base;
	strbuf json = {0}, none = {0}, name = {0}, profile = {0};
	status st = read_base(a, &none, &base, &json, &d);
	strbuf_printf(&name, a->name ? "%s" : "%.36s-calibrated", a->name ? a->name : base.name);
	if (st == ST_OK)
		st = calibrate_steps(
			a->store, json.p, &base, name.p, strcmp(a->out, "-") ? stdout : stderr, &profile, &d);
	if (st == ST_OK)
		st = file_write(a->out, profile.p, profile.n, &d);
	strbuf_release(&json);
	strbuf_release(&name);
	strbuf_release(&profile);
	return st == ST_OK ? 0 : cli_fail(&d, st);
}

int cmd_calibrate(int argc, char **argv)
{
	arguments a = {0};
	int code = parse(&a, argc, argv);
	if (code >= 0)
		return code;
	if (a.store)
		return run_store(&a);
	diag d = {0};
	strbuf *texts = xcalloc(a.n_tables, sizeof *texts), json = {0};
	measurements rows = {0};
	kernel_measurements kernels = {0};
	device base, fitted;
	calibration c = {0};
	status st = ST_OK;
	for (uint32_t i = 0; i < a.n_tables && st == ST_OK; i++)
		st = file_read(a.tables[i], MAX_TABLE_BYTES, &texts[i], &d);
	if (st == ST_OK)
		st = read_base(&a, &texts[0], &base, &json, &d);
	if (st == ST_OK)
		st = read_tables(&a, texts, &base, &rows, &kernels, &d);
	if (st == ST_OK && (rows.n || !kernels.n))
		st = calibrate(&base, &rows, &fitted, &c, &d);
	else if (st == ST_OK)
		fitted = base;
	if (st == ST_OK)
		st = calibrate_kernels(&base, &kernels, &fitted, &c, &d);
	if (st == ST_OK)
		st = write_profile(&a, json.p, &base, &fitted, &c, rows.n + kernels.n, &d);
	if (st == ST_OK)
		print_report(strcmp(a.out, "-") ? stdout : stderr, &fitted, &c);
	for (uint32_t i = 0; i < a.n_tables; i++)
		strbuf_release(&texts[i]);
	free(texts);
	strbuf_release(&json);
	vec_release(&rows);
	vec_release(&kernels);
	return st == ST_OK ? 0 : cli_fail(&d, st);
}
