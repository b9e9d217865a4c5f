#include "batch/batch.h"
#include "clients/cli/batch_remote.h"
#include "clients/cli/cli.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const char help[] =
	"shardwright batch JOBS --store DIR [options]\n"
	"shardwright batch JOBS --server URL [options]\n"
	"shardwright batch JOBS --store DIR --slurm [options]\n"
	"shardwright batch --merge DIR.. --store DIR [--json]\n\n"
	"Searches for many modules, meshes and devices, one worker process per core, and keeps the "
	"answers in a store. A daemon\n"
	"started on the same store answers from them at once. What the store knows is not searched "
	"again: after an interrupt, a\n"
	"crash or kill -9 the same command goes on.\n\n"
	"JOBS holds a JSON object per line, or a table (CSV, or TSV) with a header row; - reads "
	"standard input:\n"
	"  "
	"{\"module\":\"step.mlir\",\"mesh\":\"data=4,model=4\",\"device\":\"tpu-v5e\",\"memory\":"
	"\"16GiB\",\"priority\":1}\n\n"
	"  module,mesh,device,memory\n"
	"  step.mlir,\"data=4,model=4\",tpu-v5e,16GiB\n\n"
	"Fields: module (a path, or an id of the store), mesh, device, memory, objective, schedule, "
	"pins, forbids, groups, evaluations or\n"
	"seconds, seed, threads, open_results, apply, compiler_options, uncertainty_ppm, trip_count, "
	"priors, warm_start, as a "
	"search request of "
	"the daemon has them, and priority: higher ones first;\n"
	"seeds: as --seeds.\n"
	"mesh, device and schedule may name a file that ends in .json.\n\n"
	"  --store DIR             where answers are kept, made when it is not there; no daemon may "
	"have it open\n"
	"  --server URL            sends the jobs to a daemon instead: http://HOST:PORT or unix:PATH\n"
	"  --sweep devices=N       searches each job on all mesh shapes of N devices and ranks them; "
	"jobs have no mesh then\n"
	"  --seeds N               searches each job with N seeds, from the job's own or 1 on, and "
	"tells their spread; at most 1000\n"
	"  --workers N             searches at the same time; default: one per core\n"
	"  --worker-threads N      threads of one search; default: cores / workers\n"
	"  --worker-memory SIZE    address space of one search; default: a share of three quarters of "
	"the memory\n"
	"  --worker-cache SIZE     what the memo tables of one search may take\n"
	"  --no-warm-start         searches begin with nothing that the store has for programs of the "
	"same structure\n"
	"  --search-seconds N      a search is ended after this time and keeps its best so far; "
	"default 3600\n"
	"  --search-attempts N     a search whose worker crashed this often has failed; default 3\n"
	"  --strict                searches nothing when a line is broken or the same as another\n"
	"  --dry-run               tells what would be searched and what is known, changes nothing\n"
	"  --json                  prints one document on standard output; lines go to standard error\n"
	"  --log FILE              appends what the workers' supervisor does\n"
	"  --queue DIR             shares the jobs with other batches, on other machines: each takes "
	"what none has taken\n"
	"  --lease SECONDS         a batch of a queue that is silent for so long has lost its jobs; "
	"default 60\n"
	"  --merge                 takes what the stores DIR.. have found into --store\n"
	"  --slurm                 submits an array job whose tasks share the jobs, and a job that "
	"merges their stores\n"
	"  --nodes N               tasks of the array job, a node each; default 1\n"
	"  --partition NAME        as sbatch has it\n"
	"  --time LIMIT            as sbatch has it, of a task\n"
	"  --sbatch OPTION         another option of sbatch, such as '-A x'; many times\n\n"
	"Exit codes: 0 all jobs answered and fit, 2 some do not fit the memory, 4 some have no answer, "
	"1 none has or JOBS or the\n"
	"store is wrong, 3 the store cannot be written or the daemon not be reached, 64 usage, 130 "
	"interrupted.\n";

typedef struct batch_args {
	const char *server, *store, *queue;
	int64_t sweep, seeds, lease;
	bool strict, dry_run, json, has_worker_flags, merge, slurm, has_slurm_flags;
	VEC(const char *) sbatch;
	slurm_options s;
	batch_local_options local;
	char tool[4096], lease_text[32]; /* what s and local point to */
} batch_args;

enum { DEFAULT_LEASE = 60 };

static atomic_int stop_flag;

static void on_signal(int number)
{
	(void)number;
	if (atomic_exchange(&stop_flag, 1))
		_exit(EXIT_INTERRUPTED); /* the workers end with us */
}

enum {
	OPT_STORE = 256,
	OPT_SERVER,
	OPT_SWEEP,
	OPT_SEEDS,
	OPT_SETTING,
	OPT_STRICT,
	OPT_DRY_RUN,
	OPT_JSON,
	OPT_LOG,
	OPT_QUEUE,
	OPT_LEASE,
	OPT_MERGE,
	OPT_SLURM,
	OPT_NODES,
	OPT_PARTITION,
	OPT_TIME,
	OPT_SBATCH,
	OPT_COLD,
	OPT_HELP
};

static const struct option options[] = {{"store", 1, 0, OPT_STORE}, {"server", 1, 0, OPT_SERVER},
	{"sweep", 1, 0, OPT_SWEEP}, {"seeds", 1, 0, OPT_SEEDS}, {"workers", 1, 0, OPT_SETTING},
	{"worker-threads", 1, 0, OPT_SETTING}, {"worker-memory", 1, 0, OPT_SETTING},
	{"worker-cache", 1, 0, OPT_SETTING}, {"search-seconds", 1, 0, OPT_SETTING},
	{"warm-start", 1, 0, OPT_SETTING}, {"no-warm-start", 0, 0, OPT_COLD},
	{"search-attempts", 1, 0, OPT_SETTING}, {"strict", 0, 0, OPT_STRICT},
	{"dry-run", 0, 0, OPT_DRY_RUN}, {"json", 0, 0, OPT_JSON}, {"log", 1, 0, OPT_LOG},
	{"queue", 1, 0, OPT_QUEUE}, {"lease", 1, 0, OPT_LEASE}, {"merge", 0, 0, OPT_MERGE},
	{"slurm", 0, 0, OPT_SLURM}, {"nodes", 1, 0, OPT_NODES}, {"partition", 1, 0, OPT_PARTITION},
	{"time", 1, 0, OPT_TIME}, {"sbatch", 1, 0, OPT_SBATCH}, {"help", 0, 0, OPT_HELP}, {0}};

/* A setting of the daemon goes to its own reader, which knows its range. */
static void add_setting(batch_args *a, const char *name, const char *value)
{
	static char flags[12][40]; /* more than there are settings */
	int n = 0;
	while (n < a->local.n_flags / 2 && strcmp(flags[n] + 2, name)) /* a later one wins */
		n++;
	snprintf(flags[n], sizeof flags[n], "--%s", name);
	a->local.flags[2 * n] = flags[n];
	a->local.flags[2 * n + 1] = value;
	a->local.n_flags = MAX(a->local.n_flags, 2 * (n + 1));
	a->has_worker_flags = true;
}

/* What does not go together. -1: all is well; otherwise the exit code. */
static int check_arguments(const batch_args *a, int argc, char **argv)
{
	if (a->merge && optind == argc)
		return cli_usage("batch", "--merge: expected the folders of stores");
	if (a->merge && (!a->store || a->slurm || a->queue || a->sweep || a->seeds || a->dry_run))
		return cli_usage("batch", "--merge takes DIR.. and --store DIR, and --json");
	if (!a->merge && optind + 1 != argc)
		return cli_usage("batch",
			optind == argc ? "expected a file of JOBS"
						   : "expected one file of JOBS, found also '%s'",
			argv[optind + (optind + 1 < argc)]);
	if (!a->store == !a->server)
		return cli_usage(
			"batch", "expected --store DIR or --server URL%s", a->store ? ", not both" : "");
	if (a->server && (a->has_worker_flags || a->local.log || a->slurm || a->queue))
		return cli_usage("batch",
			"workers are the daemon's with --server: --workers and the like belong to "
			"shardwrightd");
	if (a->has_slurm_flags && !a->slurm)
		return cli_usage("batch", "--nodes, --partition, --time and --sbatch belong to --slurm");
	if (a->slurm && (a->queue || a->json))
		return cli_usage("batch", "--slurm makes the queue itself, and prints no document");
	if (a->queue && a->dry_run)
		return cli_usage("batch", "--dry-run takes nothing from a --queue");
	if (a->lease && !a->queue && !a->slurm)
		return cli_usage("batch", "--lease belongs to --queue and --slurm");
	return -1;
}

/* -1: go on; otherwise the exit code. */
static int parse_arguments(batch_args *a, int argc, char **argv)
{
	int which;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "", options, &which)) != -1;) {
		switch (c) {
		case OPT_STORE: a->store = a->local.store = optarg; break;
		case OPT_SERVER: a->server = optarg; break;
		case OPT_SETTING: add_setting(a, options[which].name, optarg); break;
		case OPT_STRICT: a->strict = true; break;
		case OPT_DRY_RUN: a->dry_run = true; break;
		case OPT_JSON: a->json = true; break;
		case OPT_LOG: a->local.log = optarg; break;
		case OPT_QUEUE: a->queue = optarg; break;
		case OPT_MERGE: a->merge = true; break;
		case OPT_SLURM: a->slurm = true; break;
		case OPT_COLD:
			add_setting(a, "warm-start", "0");
			break; /* tasks of Slurm get settings with their values */
		case OPT_PARTITION:
			a->s.partition = optarg;
			a->has_slurm_flags = true;
			break;
		case OPT_TIME:
			a->s.time = optarg;
			a->has_slurm_flags = true;
			break;
		case OPT_SBATCH:
			vec_push(&a->sbatch, optarg);
			a->has_slurm_flags = true;
			break;
		case OPT_NODES:
			a->has_slurm_flags = true;
			if (!cli_number("batch", "--nodes", optarg, 1, 100000, &a->s.nodes))
				return EXIT_USAGE;
			break;
		case OPT_LEASE:
			if (!cli_number("batch", "--lease", optarg, 1, 86400, &a->lease))
				return EXIT_USAGE;
			break;
		case OPT_SEEDS:
			if (!cli_number("batch", "--seeds", optarg, 1, BATCH_MOST_SEEDS, &a->seeds))
				return EXIT_USAGE;
			break;
		case OPT_HELP: fputs(help, stdout); return 0;
		case OPT_SWEEP:
			if (strncmp(optarg, "devices=", 8) || !str_to_i64(str_of(optarg + 8), &a->sweep) ||
				a->sweep < 1 || a->sweep > 1 << 24)
				return cli_usage("batch", "--sweep: expected devices=N, N from 1 to %d, found '%s'",
					1 << 24, optarg);
			break;
		default: return cli_bad_option("batch", options, argv);
		}
	}
	return check_arguments(a, argc, argv);
}

/* Lines that are no jobs, and, where it matters, those that are the same as others. False: --strict
 * ends it. */
static bool tell_faults(const batch *b, bool strict)
{
	for (uint32_t i = 0; i < b->faults.n; i++)
		diag_print(&b->faults.p[i], stderr);
	for (uint32_t i = 0; i < b->jobs.n && b->duplicates; i++) {
		const batch_job *j = &b->jobs.p[i];
		if (j->same_as != i)
			fprintf(stderr, "%s:%u:1: %s: the same question as line %u%s\n", b->path, j->line,
				strict ? "error" : "warning", b->jobs.p[j->same_as].line,
				strict ? "" : ": one search answers both");
	}
	if (!strict || (!b->faults.n && !b->duplicates))
		return true;
	fputs("error: --strict: nothing was searched\n", stderr);
	return false;
}

static batch_engine *open_engine(const batch_args *a, diag *d)
{
	if (a->server)
		return batch_remote_open(a->server, a->dry_run, d);
	batch_engine *e = a->dry_run ? batch_peek_open(&a->local, d) : batch_local_open(&a->local, d);
	if (!e && strstr(d->msg, "in use by another")) {
		size_t n = strlen(d->msg);
		snprintf(d->msg + n, sizeof d->msg - n, "; --server URL sends the jobs to a daemon");
	}
	return e;
}

/* The host and the process: what a task is called among those of a queue. */
static queue *open_queue(const batch_args *a, const batch *b, diag *d)
{
	char host[64] = "", task[100], jobs[BATCH_ID_BYTES];
	batch_name(b, jobs);
	gethostname(host, sizeof host - 1);
	for (char *c = host; *c; c++)
		if (*c == '/' || (unsigned char)*c <= ' ')
			*c = '-';
	snprintf(task, sizeof task, "%s.%d", host, (int)getpid());
	return queue_open(a->queue, task, jobs, a->lease ? a->lease : DEFAULT_LEASE, d);
}

static void catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_signal};
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	signal(SIGXFSZ, SIG_IGN); /* a limit of file size is an error of one write, not the end */
}

static int run(const batch_args *a, batch *b)
{
	diag d = {0};
	queue *q = a->queue ? open_queue(a, b, &d) : NULL;
	batch_engine *e = a->queue && !q ? NULL : open_engine(a, &d);
	if (!e) {
		if (q)
			queue_close(q);
		return cli_fail(&d, d.code);
	}
	batch_run_options o = {.json = a->json,
		.dry_run = a->dry_run,
		.terminal = isatty(STDERR_FILENO),
		.stop = &stop_flag,
		.queue = q};
	batch_outcome r = batch_run(b, e, &o, &d);
	e->close(e);
	if (q)
		queue_close(q);
	batch_print_summary(b, &r, a->dry_run, a->json ? stderr : stdout);
	if (a->json)
		batch_print_json(b, &r, stdout);
	if (r.broken) {
		diag_print(&d, stderr);
		return EXIT_INTERNAL;
	}
	if (a->dry_run && !r.failed && !b->faults.n)
		return r.stopped ? EXIT_INTERRUPTED : 0;
	return batch_exit_code(b, &r);
}

/* Looks first at what the store knows; the rest goes to Slurm. */
static int run_slurm(batch_args *a, batch *b)
{
	ssize_t n = readlink("/proc/self/exe", a->tool, sizeof a->tool - 1);
	a->tool[n > 0 ? n : 0] = 0;
	if (a->lease) {
		snprintf(a->lease_text, sizeof a->lease_text, "%lld", (long long)a->lease);
		a->local.flags[a->local.n_flags++] = "--lease";
		a->local.flags[a->local.n_flags++] = a->lease_text;
	}
	a->s.tool = a->tool;
	a->s.store = a->store;
	a->s.nodes = a->s.nodes ? a->s.nodes : 1;
	a->s.sbatch = a->sbatch.p;
	a->s.n_sbatch = a->sbatch.n;
	a->s.flags = a->local.flags;
	a->s.n_flags = a->local.n_flags;
	diag d = {0};
	batch_local_options peek = {.store = a->store};
	batch_engine *e = batch_peek_open(&peek, &d);
	if (!e)
		return cli_fail(&d, d.code);
	batch_run_options o = {.dry_run = true, .stop = &stop_flag};
	batch_outcome r = batch_run(b, e, &o, &d);
	e->close(e);
	batch_print_summary(b, &r, true, stdout);
	fflush(stdout);
	if (r.broken || r.stopped)
		return r.broken ? cli_fail(&d, d.code) : EXIT_INTERRUPTED;
	status st = slurm_submit(b, &a->s, a->dry_run, stdout, &d);
	return st != ST_OK ? cli_fail(&d, st) : r.failed || b->faults.n ? BATCH_EXIT_PARTIAL : 0;
}

static int run_merge(const batch_args *a, const char *const *dirs, uint32_t n)
{
	diag d = {0};
	merge_counts c = {0};
	status st = merge_stores(a->store, dirs, n, &c, &d);
	if (a->json)
		printf(
			"{\"format\":\"shardwright.merge/"
			"1\",\"stores\":%lld,\"modules\":%lld,\"answers\":%lld,\"known\":%lld,\"failed\":%lld,"
			"\"verifications\":%lld,\"measurements\":%lld}\n",
			(long long)c.stores, (long long)c.modules, (long long)c.answers, (long long)c.known,
			(long long)c.failed, (long long)c.verifications, (long long)c.measurements);
	else
		printf("%lld stores: %lld answers and %lld modules taken, %lld answers known already, %lld "
			   "failed searches\n",
			(long long)c.stores, (long long)c.answers, (long long)c.modules, (long long)c.known,
			(long long)c.failed);
	if (!a->json && (c.verifications || c.measurements))
		printf("with them %lld verifications and %lld measurements\n", (long long)c.verifications,
			(long long)c.measurements);
	return st == ST_OK ? 0 : cli_fail(&d, st);
}

int cmd_batch(int argc, char **argv)
{
	batch_args a = {0};
	batch b = {0};
	diag d = {0};
	int code = parse_arguments(&a, argc, argv);
	if (code < 0 && a.merge)
		code = run_merge(&a, (const char *const *)argv + optind, (uint32_t)(argc - optind));
	if (code < 0) {
		catch_signals();
		status st =
			batch_read(argv[optind], &(batch_reading){.sweep = a.sweep, .seeds = a.seeds}, &b, &d);
		a.local.alone = a.queue != NULL;
		if (st != ST_OK)
			code = cli_fail(&d, st);
		else
			code = !tell_faults(&b, a.strict) ? EXIT_BAD_INPUT
				: a.slurm                     ? run_slurm(&a, &b)
											  : run(&a, &b);
	}
	batch_release(&b);
	vec_release(&a.sbatch);
	return code;
}
