/* simulate: run time and memory of a module as it is annotated, or of compiled HLO text as it is
 * scheduled. */
#include "clients/cli/hlo.h"

#include <cjson/cJSON.h>
#include <getopt.h>
#include <stdlib.h>

static const char help[] =
	"shardwright simulate MODULE [--device NAME | --device-file F] [--memory 16GiB] [--apply "
	"exact|annotate] [--trip-count N] [--json [--ops]] [--trace OUT.json]\n\n"
	"Propagates the shardings in the module, lowers it to per-device code and simulates one step. "
	"The mesh is the\n"
	"module's own; without one it runs on one device. MODULE may also be scheduled HLO text, what\n"
	"compiled.as_text() prints on CPU, GPU or TPU: its kernels, its order and its collectives are "
	"then taken as they\n"
	"are, and take the compiler's own estimates where it wrote them; the table says where times "
	"are from.\n"
	"--apply exact costs the program of one device that `lower --global` writes, instead of what "
	"XLA's partitioner\n"
	"makes of the shardings. --trip-count N: iterations of every loop whose number of them the "
	"program does not say; they\n"
	"count to the bound of their counter otherwise, once where there is none, and the table says "
	"so. --ops adds\n"
	"what every kernel and collective does; --trace writes a timeline for Perfetto or "
	"chrome://tracing.\n";

typedef struct arguments {
	const char *file, *device, *device_file, *trace;
	int64_t memory, trip_count;
	apply_way apply;
	bool json, ops;
} arguments;

static int parse(arguments *a, int argc, char **argv)
{
	static const struct option options[] = {{"device", 1, 0, 'd'}, {"device-file", 1, 0, 'f'},
		{"memory", 1, 0, 'm'}, {"json", 0, 0, 'j'}, {"ops", 0, 0, 'o'}, {"trace", 1, 0, 't'},
		{"apply", 1, 0, 'a'}, {"trip-count", 1, 0, 'n'}, {"help", 0, 0, 'h'}, {0}};
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 'd': a->device = optarg; break;
		case 'f': a->device_file = optarg; break;
		case 'j': a->json = true; break;
		case 'o': a->ops = true; break;
		case 't': a->trace = optarg; break;
		case 'h': fputs(help, stdout); return 0;
		case 'n':
			if (!cli_trip_count("simulate", optarg, &a->trip_count))
				return EXIT_USAGE;
			break;
		case 'a':
			if (!apply_find(optarg, &a->apply))
				return cli_usage(
					"simulate", "--apply: expected exact or annotate, found '%s'", optarg);
			break;
		case 'm':
			if (!cli_bytes("simulate", "--memory", optarg, &a->memory))
				return EXIT_USAGE;
			break;
		default: return cli_bad_option("simulate", options, argv);
		}
	}
	if (optind + 1 != argc)
		return cli_usage("simulate", "expected one MODULE");
	if (a->ops && !a->json)
		return cli_usage("simulate", "--ops goes with --json");
	a->file = argv[optind];
	return -1;
}

static cJSON *op_json(const evaluation *ev, const device *dev, const op_event *e)
{
	const lop *o = &ev->low->ops.p[e->op];
	cJSON *j = cJSON_CreateObject();
	strbuf where = {0};
	bool collective = o->kind == LOP_COLLECTIVE && o->coll != COLL_ALL_SLICE;
	cJSON_AddNumberToObject(j, "op", e->op);
	if (o->kind == LOP_COLLECTIVE) {
		cJSON_AddStringToObject(j, "name", collective_name((collective_kind)o->coll));
	} else if (o->node != ID_NONE) {
		const module *m = ev->p->m;
		str name = strtab_get(&m->strs, op_at(m, ev->p->nodes.p[o->node].op)->name);
		strbuf_str(&where, name);
		cJSON_AddStringToObject(j, "name", where.p);
		strbuf_clear(&where);
	} else {
		cJSON_AddStringToObject(j, "name", "loop");
	}
	cJSON_AddStringToObject(j, "stream", e->stream ? dev->links[e->stream - 1].name : "compute");
	cJSON_AddBoolToObject(j, "fused", e->fused);
	cJSON_AddNumberToObject(j, "start_ns", (double)e->start_ns);
	cJSON_AddNumberToObject(j, "end_ns", (double)e->end_ns);
	cJSON_AddNumberToObject(j, "executions", (double)lop_executions(ev->low, e->op));
	if (collective) {
		cJSON_AddNumberToObject(j, "bytes", (double)o->bytes);
		cJSON_AddNumberToObject(j, "exposed_ns", (double)e->exposed_ns);
		if (e->windowed)
			cJSON_AddTrueToObject(j, "windowed_einsum");
	} else {
		cJSON_AddNumberToObject(j, "memory_traffic_bytes", (double)e->hbm_bytes);
	}
	if (o->node != ID_NONE) {
		loc_print(ev->p->m, op_at(ev->p->m, ev->p->nodes.p[o->node].op)->loc, &where);
		cJSON_AddStringToObject(j, "location", where.p ? where.p : "");
	}
	strbuf_release(&where);
	return j;
}

static void print_document(cJSON *j)
{
	char *text = cJSON_PrintUnformatted(j);
	puts(text);
	cJSON_free(text);
	cJSON_Delete(j);
}

static void print_json(const evaluation *ev, const device *dev, const cost *c, bool ops)
{
	cJSON *j = cost_to_json(c);
	add_uncounted_loops(j, ev->p);
	if (ops) {
		uint32_t n;
		const op_event *events = simulator_events(ev->sim, &n);
		cJSON *list = cJSON_AddArrayToObject(j, "ops");
		for (uint32_t i = 0; i < n; i++)
			if (events[i].end_ns > events[i].start_ns)
				cJSON_AddItemToArray(list, op_json(ev, dev, &events[i]));
	}
	print_document(j);
}

/* What holds memory at the peak, by name of the op that made it. */
static void print_peak(const evaluation *ev)
{
	enum { MAX_ROWS = 8 };
	uint32_t n;
	const live_at_peak *live = simulator_peak(ev->sim, ev->low, &n);
	printf("\nTEMPORARIES AT THE PEAK (%u values, largest first)\n", n);
	for (uint32_t i = 0; i < n && i < MAX_ROWS; i++) {
		const lowered *l = ev->low;
		const lop *o = &l->ops.p[l->vals.p[live[i].val].def];
		strbuf size = {0}, where = {0};
		str name = o->kind == LOP_COLLECTIVE ? str_of(collective_name((collective_kind)o->coll))
											 : STR("loop");
		strbuf_bytes(&size, live[i].bytes);
		if (o->node != ID_NONE) {
			const ir_op *source = op_at(l->p->m, l->p->nodes.p[o->node].op);
			if (o->kind != LOP_COLLECTIVE)
				name = strtab_get(&l->p->m->strs, source->name);
			loc_print(l->p->m, source->loc, &where);
		}
		printf("  %-12s %-34.*s %s\n", size.p, STR_ARG(name), where.p ? where.p : "");
		strbuf_release(&size);
		strbuf_release(&where);
	}
}

/* p: NULL for compiled programs. */
static void print_table(const cost *c, const program *p, int64_t limit)
{
	strbuf out = {0};
	cJSON *loops = cJSON_CreateObject();
	report_cost(c, limit, &out);
	if (p)
		add_uncounted_loops(loops, p);
	report_uncounted_loops(loops, &out);
	cJSON_Delete(loops);
	fwrite(out.p, 1, out.n, stdout);
	strbuf_release(&out);
}

static status write_trace(const evaluation *ev, const char *path, diag *d)
{
	strbuf text = {0};
	simulator_trace(ev->sim, ev->low, &text);
	status st = file_write(path, text.p, text.n, d);
	strbuf_release(&text);
	return st;
}

static status simulate_stablehlo(const arguments *a, const device *dev, const strbuf *text, diag *d)
{
	module *m = NULL;
	evaluation ev;
	cost c;
	status st =
		module_read(text->p, text->n, strcmp(a->file, "-") ? a->file : "<stdin>", NULL, &m, d);
	if (st == ST_OK)
		st = module_verify_types(m, d);
	if (st == ST_OK)
		m->trip_count = a->trip_count;
	if (st == ST_OK)
		st = simulate_applied(m, dev, a->apply, NULL, &c, &ev, d);
	if (st == ST_OK) {
		if (a->trace)
			st = write_trace(&ev, a->trace, d);
		if (st == ST_OK && a->json)
			print_json(&ev, dev, &c, a->ops);
		else if (st == ST_OK) {
			print_table(&c, ev.p, a->memory ? a->memory : dev->usable_bytes);
			print_peak(&ev);
		}
		evaluation_release(&ev);
	}
	if (m)
		module_free(m);
	return st;
}

static status simulate_hlo(const arguments *a, const device *dev, const hlo_module *m, diag *d)
{
	hlo_simulation *s;
	cost c;
	TRY(hlo_simulate(m, dev, &c, &s, d));
	status st = ST_OK;
	if (a->trace) {
		strbuf trace = {0};
		hlo_trace(s, &trace);
		st = file_write(a->trace, trace.p, trace.n, d);
		strbuf_release(&trace);
	}
	if (st == ST_OK && a->json) {
		cJSON *j = cost_to_json(&c);
		cJSON_AddStringToObject(j, "kernel_times", hlo_has_estimates(s) ? "compiler" : "model");
		cJSON_AddItemToObject(j, "sources", cli_hlo_sources(s));
		if (a->ops)
			cJSON_AddItemToObject(j, "ops", cli_hlo_ops(m, s));
		print_document(j);
	} else if (st == ST_OK) {
		print_table(&c, NULL, a->memory ? a->memory : dev->usable_bytes);
		cli_hlo_print_peak(m, s);
	}
	hlo_simulation_free(s);
	return st;
}

int cmd_simulate(int argc, char **argv)
{
	arguments a = {0};
	diag d = {0};
	int code = parse(&a, argc, argv);
	if (code >= 0)
		return code;
	device dev;
	hlo_module *compiled = NULL;
	strbuf text = {0};
	status st = a.device_file ? a.device
			? diag_set(&d, ST_ERR_INVALID, "--device and --device-file exclude each other")
			: device_read_file(a.device_file, &dev, &d)
							  : device_find(a.device ? a.device : "tpu-v5e", &dev, &d);
	if (st == ST_OK) {
		st = cli_read_hlo(a.file, &text, &compiled, &d);
		if (compiled)
			compiled->trip_count = a.trip_count;
		if (st == ST_OK)
			st = compiled ? simulate_hlo(&a, &dev, compiled, &d)
						  : simulate_stablehlo(&a, &dev, &text, &d);
		if (st != ST_OK)
			diag_in_file(&d, a.file);
	}
	hlo_free(compiled);
	strbuf_release(&text);
	return st == ST_OK ? 0 : cli_fail(&d, st);
}
