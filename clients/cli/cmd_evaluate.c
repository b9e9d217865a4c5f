/* evaluate and explain: both read a module and a strategy document. */
#include "clients/cli/cli.h"

#include <cjson/cJSON.h>
#include <getopt.h>

static const char help_evaluate[] =
	"shardwright evaluate MODULE --strategy S.json [--device NAME | --device-file F] [--memory "
	"16GiB] [--trip-count N] [--json]\n\n"
	"Replays a strategy, ours or hand-written, and prints what it costs. A hand-written document "
	"needs a mesh and\n"
	"arguments: "
	"{\"mesh\":{\"axes\":[{\"name\":\"data\",\"size\":4}]},\"arguments\":[{\"name\":\"batch*\","
	"\"sharding\":[[\"data\"],[]]}]}\n"
	"Device and memory limit are the document's where it names them, else tpu-v5e and what that "
	"device leaves to a program.\n"
	"--trip-count N: iterations of every loop whose number of them the program does not say; else "
	"the document's, else the\n"
	"bound of its counter, else 1.\n"
	"--json prints the cost object. Exit code 2 when it does not fit the memory.\n";
static const char help_explain[] =
	"shardwright explain MODULE --strategy S.json [--device NAME | --device-file F] [--memory "
	"16GiB] [--alternatives N] [--trip-count N] [--json]\n\n"
	"Which source lines the collectives come from, what each decision of a strategy brings (time, "
	"memory, collectives: the\n"
	"change if it were not there), and what else could be decided for the same arguments: another "
	"dimension, another axis,\n"
	"keeping them whole. Everything else stays as it is.\n\n"
	"  --alternatives N   replays spent on these per decision (default 8, 0: none)\n"
	"  --json             one document instead of tables\n\n"
	"Device, limit and trip count as in evaluate.\n";

typedef struct inputs {
	const char *verb;
	const char *module_file, *strategy_file, *device, *device_file;
	int64_t memory, alternatives, trip_count;
	bool json;
	module *m;
	strategy s;
	cli_target target;
	int64_t limit;
} inputs;

/* -1: go on; otherwise the exit code. */
static int parse(inputs *in, int argc, char **argv, const char *help, bool explain)
{
	const struct option options[] = {{"strategy", 1, 0, 's'}, {"device", 1, 0, 'd'},
		{"device-file", 1, 0, 'f'}, {"memory", 1, 0, 'm'}, {"json", 0, 0, 'j'},
		{"trip-count", 1, 0, 't'}, {"help", 0, 0, 'h'},
		{explain ? "alternatives" : NULL, 1, 0, 'a'}, {0}};
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 's': in->strategy_file = optarg; break;
		case 'd': in->device = optarg; break;
		case 'f': in->device_file = optarg; break;
		case 'h': fputs(help, stdout); return 0;
		case 'm':
			if (!cli_bytes(in->verb, "--memory", optarg, &in->memory))
				return EXIT_USAGE;
			break;
		case 'j': in->json = true; break;
		case 't':
			if (!cli_trip_count(in->verb, optarg, &in->trip_count))
				return EXIT_USAGE;
			break;
		case 'a':
			if (!cli_number(in->verb, "--alternatives", optarg, 0, 1000, &in->alternatives))
				return EXIT_USAGE;
			break;
		default: return cli_bad_option(in->verb, options, argv);
		}
	}
	if (optind + 1 != argc || !in->strategy_file)
		return cli_usage(in->verb, "expected MODULE and --strategy S.json");
	in->module_file = argv[optind];
	return -1;
}

static status load(inputs *in, diag *d)
{
	strbuf text = {0};
	char device_name[64];
	TRY(module_read_file(in->module_file, NULL, &in->m, d));
	status st = module_verify_types(in->m, d);
	if (st != ST_OK)
		diag_in_file(d, in->module_file);
	if (st == ST_OK)
		st = file_read(in->strategy_file, MAX_TEXT_BYTES, &text, d);
	if (st == ST_OK) {
		st = strategy_read(in->m, text.p, text.n, &in->s, device_name, &in->limit, d);
		if (st != ST_OK)
			diag_in_file(d, in->strategy_file);
	}
	strbuf_release(&text);
	in->m->trip_count = in->trip_count ? in->trip_count : in->s.trip_count;
	if (st == ST_OK)
		st = cli_device(in->device ? in->device
				: in->device_file  ? NULL
				: device_name[0]   ? device_name
								   : NULL,
			in->device_file, &in->target, d);
	device own;
	const strategy_compiler_option *unknown =
		st == ST_OK ? strategy_device(&in->s, &in->target.dev, &own) : NULL;
	if (st == ST_OK)
		in->target.dev = own;
	if (unknown)
		fprintf(stderr,
			"shardwright %s: costs do not know the compiler option " STR_FMT "=" STR_FMT
			": the profile of %s lacks it\n",
			in->verb, STR_ARG(unknown->name), STR_ARG(unknown->value), in->target.dev.name);
	/* The limit given, else the document's when it is for this device, else the profile's. */
	if (st == ST_OK && in->memory)
		in->limit = in->memory;
	else if (st == ST_OK && (!in->limit || strcmp(in->target.dev.name, device_name)))
		in->limit = in->target.dev.usable_bytes;
	return st;
}

static void release(inputs *in)
{
	strategy_release(&in->s);
	if (in->m)
		module_free(in->m);
	cli_target_release(&in->target);
}

int cmd_evaluate(int argc, char **argv)
{
	inputs in = {.verb = "evaluate"};
	diag d = {0};
	cost c;
	module *annotated = NULL;
	evaluation ev = {0};
	int code = parse(&in, argc, argv, help_evaluate, false);
	if (code >= 0)
		return code;
	status st = load(&in, &d);
	if (st == ST_OK)
		st = strategy_apply(in.m, &in.s, &annotated, &d);
	if (st == ST_OK)
		st = simulate_applied(annotated, &in.target.dev, in.s.apply,
			in.s.has_links ? in.s.axis_links : NULL, &c, &ev, &d);
	if (st != ST_OK) {
		code = cli_fail(&d, st);
	} else {
		code = c.peak_bytes <= in.limit ? EXIT_FITS : EXIT_NOTHING_FITS;
		cJSON *j = cost_to_json(&c);
		add_uncounted_loops(j, ev.p);
		if (in.json) {
			char *text = cJSON_PrintUnformatted(j);
			puts(text);
			cJSON_free(text);
		} else {
			strbuf out = {0};
			report_cost(&c, in.limit, &out);
			report_uncounted_loops(j, &out);
			fwrite(out.p, 1, out.n, stdout);
			strbuf_release(&out);
		}
		cJSON_Delete(j);
		evaluation_release(&ev);
	}
	if (annotated)
		module_free(annotated);
	release(&in);
	return code;
}

int cmd_explain(int argc, char **argv)
{
	inputs in = {.verb = "explain", .alternatives = 8};
	diag d = {0};
	strbuf out = {0};
	cJSON *explanation_json = NULL;
	int code = parse(&in, argc, argv, help_explain, true);
	if (code >= 0)
		return code;
	status st = load(&in, &d);
	if (st == ST_OK)
		st = explain_strategy(in.m, &in.s, &in.target.dev, in.limit, (uint32_t)in.alternatives,
			&explanation_json, &d);
	code = st == ST_OK ? 0 : cli_fail(&d, st);
	if (st == ST_OK && in.json) {
		char *text = cJSON_PrintUnformatted(explanation_json);
		puts(text);
		cJSON_free(text);
	} else if (st == ST_OK) {
		report_explanation(explanation_json, &out);
		fwrite(out.p, 1, out.n, stdout);
	}
	cJSON_Delete(explanation_json);
	strbuf_release(&out);
	release(&in);
	return code;
}
