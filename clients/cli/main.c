/* shardwright: verbs and their help. */
#include "clients/cli/cli.h"
#include "sbp/sbp.h"

#include <signal.h>

typedef struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verb;

static int cmd_help(int argc, char **argv);
static int cmd_version(int argc, char **argv);

static const verb verbs[] = {
	{"search", cmd_search, "find a sharding strategy for a module on a mesh"},
	{"apply", cmd_apply, "annotate a module with a strategy"},
	{"evaluate", cmd_evaluate, "cost of a strategy on a module"},
	{"explain", cmd_explain, "what each decision of a strategy brings"},
	{"opt", cmd_opt, "run Shardy passes on a module"},
	{"rules", cmd_rules, "sharding rule of every op"},
	{"sbp", cmd_sbp, "split, broadcast or partial sum for every op, as OneFlow infers them"},
	{"lower", cmd_lower, "collectives of an annotated module"},
	{"simulate", cmd_simulate, "run time and memory of an annotated module"},
	{"hlo", cmd_hlo, "compiled HLO text, read, verified and printed again"},
	{"layout", cmd_layout, "which slice of a tensor each device holds"},
	{"convert", cmd_convert, "one sharding notation into another"},
	{"devices", cmd_devices, "device profiles"},
	{"calibrate", cmd_calibrate, "a device profile fitted to measurements"},
	{"fingerprint", cmd_fingerprint, "identity of a module"},
	{"batch", cmd_batch, "many searches from a file of jobs"},
	{"store", cmd_store, "what a store has found, as table, CSV or JSON"},
	{"record", cmd_record, "a measured step into a store"},
	{"submit", cmd_submit, "search through a daemon"},
	{"wait", cmd_wait, "wait for a daemon's search"},
	{"cancel", cmd_cancel, "cancel a daemon's search"},
	{"strategies", cmd_strategies, "what a daemon remembers"},
	{"version", cmd_version, "version of the tool and its cost model"},
	{"help", cmd_help, "this text"},
};

static int cmd_version(int argc, char **argv)
{
	(void)argc, (void)argv;
	printf("shardwright %s (cost model %s, propagation as jaxlib 0.10.2)\n", SHARDWRIGHT_VERSION,
		COST_MODEL_VERSION);
	return 0;
}

static int cmd_help(int argc, char **argv)
{
	if (argc > 1) {
		for (size_t i = 0; i < COUNT_OF(verbs); i++)
			if (!strcmp(argv[1], verbs[i].name) && verbs[i].run != cmd_help &&
				verbs[i].run != cmd_version) {
				char *args[] = {argv[1], "--help", NULL};
				return verbs[i].run(2, args);
			}
	}
	puts("shardwright finds how to shard a JAX program over a device mesh.\n\n"
		 "  shardwright search step.mlir --mesh data=4,model=4 --device tpu-v5e --memory 16GiB\n\n"
		 "step.mlir is what jax.jit(step).lower(..).as_text(debug_info=True) prints (plain, gzip "
		 "or zstd; - reads standard input).\n");
	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		printf("  %-12s %s\n", verbs[i].name, verbs[i].help);
	puts("\n`shardwright VERB --help` explains one. Exit codes: 0 found and fits, 2 nothing fits "
		 "the memory, 1 bad input,\n"
		 "64 usage, 3 internal error, 130 interrupted with a result written.");
	return 0;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	lower_register_passes();
	sbp_register_passes();
	if (argc < 2) {
		cmd_help(1, argv);
		return EXIT_USAGE;
	}
	const char *name = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ? "help"
		: !strcmp(argv[1], "--version")                                     ? "version"
																			: argv[1];
	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		if (!strcmp(name, verbs[i].name)) {
			int code = verbs[i].run(argc - 1, argv + 1);
			/* A full disk or a closed pipe must not look like success. */
			if (fflush(stdout) != 0 && code == 0) {
				fputs("shardwright: cannot write standard output\n", stderr);
				return EXIT_INTERNAL;
			}
			return code;
		}
	char hint[160];
	nearest near = {.wanted = str_of(argv[1])};
	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		nearest_consider(&near, str_of(verbs[i].name));
	fprintf(stderr, "shardwright: unknown verb '%s'%s `shardwright help` lists them\n", argv[1],
		near.found ? nearest_hint(&near, hint) : ";");
	return EXIT_USAGE;
}
