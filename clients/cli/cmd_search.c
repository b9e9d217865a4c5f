#include "clients/cli/cli.h"
#include "clients/cli/search_options.h"
#include "clients/cli/starts.h"

#include <cjson/cJSON.h>
#include <getopt.h>
#include <signal.h>
#include <unistd.h>

static const char help[] = "shardwright search MODULE --mesh data=4,model=4 [options]\n\n"
						   "Finds how to shard MODULE (StableHLO text; plain, gzip or zstd; - "
						   "reads standard input) over a device mesh.\n\n";
static const char more_help[] =
	"  --cache-memory 1GiB         what memo tables may take, all threads together (default 1GiB); "
	"never changes the answer\n"
	"  --start STRATEGY.json       begin with what that document decides, for a program of the "
	"same structure (other sizes, layers,\n"
	"                              mesh); up to four\n"
	"  --store DIR                 begin with what that store has for programs of the same "
	"structure; it may be open elsewhere\n"
	"  --no-warm-start             not so\n"
	"  --tactic-statistics F.json  the tree's priors: what axes cut in other plans, "
	"[[[\"batch\"],[\"weights\",\"zero2\"]],..]\n"
	"  --baseline STRATEGY.json    another strategy to compare with and never be worse than\n"
	"  --json                      print the strategy document instead of tables\n"
	"  --notation NAME             print the shardings of the arguments ready to paste instead of "
	"tables: jax, dtensor,\n"
	"                              mindspore, sbp, sdy, gspmd or json, as `shardwright convert "
	"--strategy` does\n"
	"  --emit-mlir OUT.mlir        the module that carries the plan, which XLA compiles as it is\n"
	"  --emit-strategy OUT.json    the strategy document\n"
	"  --baseline-mlir NAME OUT    the module of a baseline, as --emit-mlir: replicated, "
	"data_parallel, zero2, zero3 or a file given\n"
	"                              with --baseline; may be repeated\n"
	"  --trace OUT.json            timeline of one step for Perfetto\n"
	"  --progress-json             incumbents and progress on standard error, one JSON object per "
	"line; about once a second\n"
	"                              with the baselines and the nodes of the search tree that most "
	"was spent on\n"
	"  --check                     compare the answer's incremental state with a re-execution (for "
	"tests)\n"
	"  --options                   constants of the search, with bounds and where each was "
	"chosen\n\n"
	"Exit codes: 0 found and fits, 2 nothing fits (the best effort is still written), 1 bad input, "
	"64 usage, 3 internal\n"
	"error, 130 interrupted (the best so far is written).\n";

static atomic_int stop_flag;
static void on_signal(int signo)
{
	(void)signo;
	if (stop_flag)
		_exit(EXIT_INTERRUPTED); /* the second one means it */
	stop_flag = 1;
}

typedef struct search_args {
	const char *mesh, *device, *device_file, *schedule, *store, *statistics, *emit_mlir,
		*emit_strategy, *trace;
	int64_t trip_count; /* 0: not given */
	bool json, progress_json, in_notation, cold, uniform;
	notation notation; /* with in_notation */
	search_options o;
	VEC(search_pin) pins;
	VEC(search_forbid) forbids;
	VEC(const char *) groups;
	VEC(search_baseline) baselines;
	VEC(const char *) start_files;
	cli_starts starts;
	VEC(search_kept) kept; /* --baseline-mlir: names */
	VEC(const char *) kept_paths;
	VEC(strbuf) texts;  /* of baseline files */
	VEC(char *) copies; /* of split flags */
} search_args;

/* GLOB:SHARDING is cut at the first colon that is followed by a bracket or brace: argument names
 * may hold colons. */
static bool parse_pin(search_args *a, const char *text)
{
	for (const char *c = strchr(text, ':'); c; c = strchr(c + 1, ':'))
		if (c[1] == '[' || c[1] == '{') {
			char *copy = xmalloc(strlen(text) + 1);
			strcpy(copy, text);
			copy[c - text] = 0;
			vec_push(&a->copies, copy);
			vec_push(&a->pins, (search_pin){copy, copy + (c - text) + 1});
			return true;
		}
	return false;
}

static bool parse_forbid(search_args *a, const char *text)
{
	char *copy = xmalloc(strlen(text) + 1);
	strcpy(copy, text);
	vec_push(&a->copies, copy);
	char *axis = strrchr(copy, ':');
	if (!axis)
		return false;
	*axis++ = 0;
	char *dim = strrchr(copy, ':');
	int64_t n;
	if (!dim || !str_to_i64(str_of(dim + 1), &n) || n >= MAX_RANK)
		return false;
	*dim = 0;
	vec_push(&a->forbids, (search_forbid){copy, axis, (uint32_t)n});
	return true;
}

/* Those of search/options.def are OPT_SEARCH + search_option_id. */
enum {
	OPT_SEARCH = 256,
	OPT_CACHE_MEMORY = OPT_SEARCH + SEARCH_OPTION_COUNT,
	OPT_NOTATION,
	OPT_BASELINE,
	OPT_START,
	OPT_STORE,
	OPT_COLD,
	OPT_TACTIC_STATISTICS,
	OPT_JSON,
	OPT_EMIT_MLIR,
	OPT_BASELINE_MLIR,
	OPT_EMIT_STRATEGY,
	OPT_TRACE,
	OPT_PROGRESS_JSON,
	OPT_CHECK,
	OPT_OPTIONS,
	OPT_HELP
};
#define OPT(id) (OPT_SEARCH + SEARCH_OPTION_##id)

static const struct option options[] = {
#define OPTION(id, flag, field, kind, asked, argument, least, most, help) \
	{flag, OPTION_KIND_##kind != OPTION_KIND_SWITCH, 0, OPT(id)},
#include "search/options.def"
	{"cache-memory", 1, 0, OPT_CACHE_MEMORY}, {"notation", 1, 0, OPT_NOTATION},
	{"baseline", 1, 0, OPT_BASELINE}, {"start", 1, 0, OPT_START}, {"store", 1, 0, OPT_STORE},
	{"no-warm-start", 0, 0, OPT_COLD}, {"tactic-statistics", 1, 0, OPT_TACTIC_STATISTICS},
	{"json", 0, 0, OPT_JSON}, {"emit-mlir", 1, 0, OPT_EMIT_MLIR},
	{"baseline-mlir", 1, 0, OPT_BASELINE_MLIR}, {"emit-strategy", 1, 0, OPT_EMIT_STRATEGY},
	{"trace", 1, 0, OPT_TRACE}, {"progress-json", 0, 0, OPT_PROGRESS_JSON},
	{"check", 0, 0, OPT_CHECK}, {"options", 0, 0, OPT_OPTIONS}, {"help", 0, 0, OPT_HELP}, {0}};

static bool number_of(search_option_id id, const char *text, int64_t *out)
{
	const search_option *o = &search_option_table[id];
	char flag[32];
	snprintf(flag, sizeof flag, "--%s", o->flag);
	return cli_number("search", flag, text, o->least, o->most, out);
}

/* -1: go on; otherwise the exit code. */
static int take_number(search_args *a, int c, char **argv)
{
	int64_t n;
	switch (c) {
	case OPT(ALTERNATIVES):
		if (!number_of(SEARCH_OPTION_ALTERNATIVES, optarg, &n))
			return EXIT_USAGE;
		a->o.alternatives = (uint32_t)n;
		break;
	case OPT(TRIP_COUNT):
		if (!number_of(SEARCH_OPTION_TRIP_COUNT, optarg, &a->trip_count))
			return EXIT_USAGE;
		break;
	case OPT(UNCERTAINTY):
		if (!number_of(SEARCH_OPTION_UNCERTAINTY, optarg, &a->o.uncertainty_ppm))
			return EXIT_USAGE;
		break;
	case OPT(EVALUATIONS):
		if (!number_of(SEARCH_OPTION_EVALUATIONS, optarg, &n))
			return EXIT_USAGE;
		a->o.evaluations = (uint64_t)n;
		break;
	case OPT(SEED):
		if (!number_of(SEARCH_OPTION_SEED, optarg, &n))
			return EXIT_USAGE;
		a->o.seed = (uint64_t)n;
		break;
	case OPT(THREADS):
		if (!number_of(SEARCH_OPTION_THREADS, optarg, &n))
			return EXIT_USAGE;
		a->o.threads = (uint32_t)n;
		break;
	default: return cli_bad_option("search", options, argv);
	}
	return -1;
}

/* An option that requests have, too (search/options.def). -1, or the exit code. */
static int take_search_option(search_args *a, int c, char **argv)
{
	switch (c) {
	case OPT(MESH): a->mesh = optarg; break;
	case OPT(DEVICE): a->device = optarg; break;
	case OPT(DEVICE_FILE): a->device_file = optarg; break;
	case OPT(SCHEDULE): a->schedule = optarg; break;
	case OPT(OPEN_RESULTS): a->o.open_results = true; break;
	case OPT(APPLY):
		a->o.apply_exact_if_possible = !strcmp(optarg, "auto");
		if (!a->o.apply_exact_if_possible && !apply_find(optarg, &a->o.apply))
			return cli_usage(
				"search", "--apply: expected auto, exact or annotate, found '%s'", optarg);
		break;
	case OPT(COMPILER_OPTIONS):
		if (strcmp(optarg, "default") && strcmp(optarg, "best"))
			return cli_usage(
				"search", "--compiler-options: expected default or best, found '%s'", optarg);
		a->o.best_compiler_options = optarg[0] == 'b';
		break;
	case OPT(PRIORS):
		if (strcmp(optarg, "store") && strcmp(optarg, "uniform"))
			return cli_usage("search", "--priors: expected store or uniform, found '%s'", optarg);
		a->uniform = optarg[0] == 'u';
		break;
	case OPT(MEMORY):
		if (!cli_bytes("search", "--memory", optarg, &a->o.memory_limit))
			return EXIT_USAGE;
		break;
	case OPT(OBJECTIVE):
		if (strcmp(optarg, "runtime") && strcmp(optarg, "memory"))
			return cli_usage(
				"search", "--objective: expected runtime or memory, found '%s'", optarg);
		a->o.objective = optarg[0] == 'm' ? OBJECTIVE_MEMORY : OBJECTIVE_RUNTIME;
		break;
	case OPT(SECONDS): {
		char *end;
		double s = strtod(optarg, &end);
		if (*end || !(s > 0 && s < 1e6))
			return cli_usage("search", "--seconds: expected a positive number, found '%s'", optarg);
		a->o.time_limit_ns = (int64_t)(s * 1e9);
		break;
	}
	case OPT(PIN):
		if (!parse_pin(a, optarg))
			return cli_usage("search",
				"--pin: expected GLOB:SHARDING such as 'params*:[[],[\"model\"]]', found '%s'",
				optarg);
		break;
	case OPT(FORBID):
		if (!parse_forbid(a, optarg))
			return cli_usage("search",
				"--forbid: expected GLOB:DIM:AXIS such as 'batch*:1:model', found '%s'", optarg);
		break;
	case OPT(GROUP):
		if (!*optarg)
			return cli_usage(
				"search", "--group: expected a glob over argument names such as 'params*w_up'");
		vec_push(&a->groups, optarg);
		break;
	default: return take_number(a, c, argv);
	}
	return -1;
}

/* An option of the command. -1, or the exit code. */
static int take_option(search_args *a, int c, int argc, char **argv)
{
	switch (c) {
	case OPT_JSON: a->json = true; break;
	case OPT_EMIT_MLIR: a->emit_mlir = optarg; break;
	case OPT_EMIT_STRATEGY: a->emit_strategy = optarg; break;
	case OPT_TRACE: a->trace = optarg; break;
	case OPT_PROGRESS_JSON: a->progress_json = true; break;
	case OPT_CHECK: a->o.check = true; break;
	case OPT_OPTIONS: cli_print_search_constants(); return 0;
	case OPT_HELP:
		fputs(help, stdout);
		cli_print_search_options();
		fputs(more_help, stdout);
		return 0;
	case OPT_CACHE_MEMORY:
		if (!cli_bytes("search", "--cache-memory", optarg, &a->o.cache_bytes))
			return EXIT_USAGE;
		break;
	case OPT_NOTATION:
		a->in_notation = true;
		if (notation_find(optarg, &a->notation))
			break;
		return cli_usage("search",
			"--notation: unknown notation '%s'; shardwright convert --help lists them", optarg);
	case OPT_BASELINE: vec_push(&a->baselines, (search_baseline){.name = optarg}); break;
	case OPT_START: vec_push(&a->start_files, optarg); break;
	case OPT_STORE: a->store = optarg; break;
	case OPT_COLD: a->cold = true; break;
	case OPT_TACTIC_STATISTICS: a->statistics = optarg; break;
	case OPT_BASELINE_MLIR:
		if (optind >= argc)
			return cli_usage("search",
				"--baseline-mlir: expected the NAME of a baseline and a path, found only '%s'",
				optarg);
		vec_push(&a->kept, (search_kept){.name = optarg});
		vec_push(&a->kept_paths, argv[optind++]);
		break;
	default: return take_search_option(a, c, argv);
	}
	return -1;
}

static int parse_arguments(search_args *a, int argc, char **argv)
{
	a->o.seed = SEARCH_DEFAULT_SEED;
	a->o.apply_exact_if_possible = true;
	a->o.uncertainty_ppm = UNCERTAINTY_OF_WAY;
	a->uniform = !SEARCH_DEFAULT_STORE_PRIORS;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		int code = take_option(a, c, argc, argv);
		if (code != -1)
			return code;
	}
	if (optind + 1 != argc)
		return cli_usage("search",
			optind == argc ? "expected a MODULE" : "expected one MODULE, found also '%s'",
			argv[optind + (optind + 1 < argc)]);
	if (a->json && a->in_notation)
		return cli_usage("search", "--json and --notation exclude each other");
	if (!a->mesh)
		return cli_usage("search", "expected --mesh, for example --mesh data=4,model=4");
	return -1;
}

/* What is named, and then what the store has. */
static status read_starts(
	search_args *a, const module *m, const char *path, const cli_target *target, diag *d)
{
	for (uint32_t i = 0; i < a->start_files.n; i++)
		TRY(cli_start_file(&a->starts, a->start_files.p[i], d));
	if (a->store && !a->cold)
		TRY(cli_start_store(&a->starts, a->store, m, path, a->mesh, target->dev.name, d));
	if (a->store && !a->cold && !a->uniform && !a->statistics)
		TRY(cli_start_statistics(
			&a->starts, a->store, m, target->mesh, a->mesh, target->dev.name, d));
	if (a->statistics)
		TRY(file_read(a->statistics, 1 << 24, &a->starts.statistics, d));
	a->o.tactic_statistics = a->starts.statistics.p;
	a->o.starts = a->starts.list.p;
	a->o.n_starts = a->starts.list.n;
	return ST_OK;
}

static status read_baselines(search_args *a, diag *d)
{
	for (uint32_t i = 0; i < a->baselines.n; i++) {
		strbuf text = {0};
		TRY(file_read(a->baselines.p[i].name, MAX_TEXT_BYTES, &text, d));
		vec_push(&a->texts, text);
		a->baselines.p[i].json = text.p;
		a->baselines.p[i].n = text.n;
	}
	return ST_OK;
}

/* Everything that the answer is written to. */
static status write_answer(const search_args *a, module *m, const search_result *r, diag *d)
{
	strbuf document = {0};
	status st = document_write(m, &a->o, r, &document, d);
	if (st == ST_OK && a->emit_strategy)
		st = file_write(a->emit_strategy, document.p, document.n, d);
	module *annotated = NULL;
	if (st == ST_OK && a->emit_mlir) {
		strbuf text = {0};
		st = strategy_write(m, &r->best, a->o.device, &text, d);
		if (st == ST_OK)
			st = file_write(a->emit_mlir, text.p, text.n, d);
		strbuf_release(&text);
	}
	for (uint32_t i = 0; i < a->kept.n && st == ST_OK; i++) {
		strbuf text = {0};
		st = strategy_write(m, &a->kept.p[i].s, a->o.device, &text, d);
		if (st == ST_OK)
			st = file_write(a->kept_paths.p[i], text.p, text.n, d);
		strbuf_release(&text);
	}
	if (st == ST_OK && a->trace)
		st = strategy_apply(m, &r->best, &annotated, d);
	if (st == ST_OK && a->trace) {
		evaluation ev;
		cost c;
		device own;
		strategy_device(&r->best, a->o.device, &own);
		st = simulate_applied(annotated, &own, r->best.apply, a->o.axis_links, &c, &ev, d);
		if (st == ST_OK) {
			strbuf text = {0};
			simulator_trace(ev.sim, ev.low, &text);
			st = file_write(a->trace, text.p, text.n, d);
			strbuf_release(&text);
			evaluation_release(&ev);
		}
	}
	if (annotated)
		module_free(annotated);
	if (st == ST_OK && a->json)
		fwrite(document.p, 1, document.n, stdout);
	if (st == ST_OK && a->in_notation) {
		strbuf text = {0};
		st = strategy_text_of(a->notation, document.p, document.n, &text, d);
		fwrite(text.p, 1, text.n, stdout);
		strbuf_release(&text);
	}
	if (st == ST_OK && !a->json && !a->in_notation) {
		strbuf table = {0};
		cJSON *root = cJSON_ParseWithLength(document.p, document.n);
		report_document(root, cli_color(STDOUT_FILENO), cli_columns(STDOUT_FILENO), &table);
		fwrite(table.p, 1, table.n, stdout);
		cJSON_Delete(root);
		strbuf_release(&table);
	}
	strbuf_release(&document);
	return st;
}

/* The module and all that stands beside it. */
static status read_inputs(
	search_args *a, const char *path, module **m, cli_target *target, strbuf *schedule, diag *d)
{
	TRY(module_read_file(path, NULL, m, d));
	status st = module_verify_types(*m, d);
	if (st != ST_OK) {
		diag_in_file(d, path);
		return st;
	}
	(*m)->trip_count = a->trip_count;
	TRY(cli_mesh((*m)->shardings, a->mesh, target, d));
	TRY(cli_device(a->device, a->device_file, target, d));
	if (a->schedule) {
		TRY(file_read(a->schedule, 1 << 20, schedule, d));
		a->o.schedule_json = schedule->p;
	}
	TRY(read_baselines(a, d));
	return read_starts(a, *m, path, target, d);
}

static status run(
	search_args *a, module *m, const cli_target *target, search_result *result, diag *d)
{
	cli_progress shown = {
		.json = a->progress_json, .terminal = !a->progress_json && isatty(STDERR_FILENO)};
	a->o.mesh = target->mesh;
	a->o.device = &target->dev;
	a->o.axis_links = target->has_links ? (const char *const *)target->axis_links : NULL;
	a->o.pins = a->pins.p;
	a->o.n_pins = a->pins.n;
	a->o.forbids = a->forbids.p;
	a->o.n_forbids = a->forbids.n;
	a->o.groups = a->groups.p;
	a->o.n_groups = a->groups.n;
	a->o.baselines = a->baselines.p;
	a->o.n_baselines = a->baselines.n;
	a->o.kept = a->kept.p;
	a->o.n_kept = a->kept.n;
	a->o.stop = &stop_flag;
	a->o.on_event = cli_show_progress;
	a->o.user = &shown;
	a->o.tree_interval_ns = a->progress_json ? 1000000000 : 0;
	if (!a->progress_json) {
		cli_warn_of_limit(&target->dev, a->o.memory_limit);
		if (!stop_flag) /* reading roles takes as long as a plan */
			cli_warn_of_axes(m, target->mesh);
	}
	status st = search_run(m, &a->o, result, d);
	if (shown.terminal)
		fputs("\r\033[K", stderr);
	return st == ST_OK ? write_answer(a, m, result, d) : st;
}

static void release(search_args *a)
{
	for (uint32_t i = 0; i < a->texts.n; i++)
		strbuf_release(&a->texts.p[i]);
	for (uint32_t i = 0; i < a->copies.n; i++)
		free(a->copies.p[i]);
	for (uint32_t i = 0; i < a->kept.n; i++)
		strategy_release(&a->kept.p[i].s);
	vec_release(&a->start_files);
	cli_starts_release(&a->starts);
	vec_release(&a->kept);
	vec_release(&a->kept_paths);
	vec_release(&a->texts);
	vec_release(&a->copies);
	vec_release(&a->pins);
	vec_release(&a->forbids);
	vec_release(&a->groups);
	vec_release(&a->baselines);
}

int cmd_search(int argc, char **argv)
{
	search_args a = {0};
	diag d = {0};
	cli_target target = {0};
	strbuf schedule = {0};
	module *m = NULL;
	search_result result = {0};
	int code = parse_arguments(&a, argc, argv);
	if (code < 0) {
		struct sigaction act = {.sa_handler = on_signal};
		sigaction(SIGINT, &act, NULL);
		sigaction(SIGTERM, &act, NULL);
		status st = read_inputs(&a, argv[optind], &m, &target, &schedule, &d);
		if (st == ST_OK)
			st = run(&a, m, &target, &result, &d);
		code = st != ST_OK ? cli_fail(&d, st)
			: stop_flag    ? EXIT_INTERRUPTED
			: result.fits  ? EXIT_FITS
						   : EXIT_NOTHING_FITS;
	}
	search_result_release(&result);
	if (m)
		module_free(m);
	cli_target_release(&target);
	strbuf_release(&schedule);
	release(&a);
	return code;
}
