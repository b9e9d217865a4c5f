/* batch: many searches from a file of jobs, into a store or through a daemon.
 *
 *   jobs.c    JOBS -> checked jobs                                  table.c  CSV and TSV rows as JSON
 *   fault.c   what is wrong with JOBS, and where
 *   sweep.c   all mesh shapes of a number of devices                run.c    asks for jobs by priority, waits, counts
 *   report.c  a line per job, the summary, JSON                     local.c  the engine over a store: the daemon's own code
 *   rank.c    the best of shapes and of seeds, and their spread
 *   export.c  views of a store as table, CSV and JSON                queue.c  jobs shared by several machines
 *   transfer.c  a store as one file, backups, retention by hand
 *   merge.c   several stores into one                               slurm.c  array jobs whose tasks share a queue
 *
 * An engine answers jobs: local.c's starts workers, another one may ask a daemon over HTTP. One
 * thread uses all of this. */
#ifndef SW_BATCH_H
#define SW_BATCH_H

#include "base/base.h"

#include <stdatomic.h>
#include <stdio.h>

enum { BATCH_ID_BYTES = 72, BATCH_ERROR_BYTES = 768 };
/* Of the process: some jobs have an answer and some have none; the others are those of every verb.
 */
enum { BATCH_EXIT_PARTIAL = 4 };

typedef enum batch_state {
	BATCH_WAITING,
	BATCH_RUNNING,
	BATCH_SUCCEEDED,
	BATCH_FAILED,
	BATCH_ELSEWHERE
} batch_state; /* ELSEWHERE: another task of the queue ended it */

/* What became of a job. Times ns, sizes bytes. */
typedef struct batch_result {
	batch_state state;
	bool stored;  /* the answer was there already */
	bool partial; /* ended by --search-seconds: no answer to the next batch */
	bool fits, has_baseline, baseline_fits;
	char search[BATCH_ID_BYTES], strategy[BATCH_ID_BYTES], name[128]; /* name: the module's own */
	int64_t runtime_ns, peak_bytes, evaluations, search_ns;
	char baseline[128]; /* the best one: what fits first, then by the objective */
	int64_t baseline_ns, baseline_peak_bytes;
	char error[BATCH_ERROR_BYTES]; /* of BATCH_FAILED */
} batch_result;

typedef struct batch_job {
	const char *module;  /* path, or the id of a module that the store has */
	const char *request; /* canonical JSON of the search request; its module is BATCH_NO_MODULE */
	const char *mesh, *device;
	int64_t memory_bytes; /* 0: the device's */
	int64_t priority, devices;
	int64_t seeds; /* 0: any seed's answer will do; else one of so many jobs that ask the same, each
	                  with the answer of its seed */
	int64_t seed;
	uint32_t first;     /* index of the first of those; its own without seeds */
	uint32_t line, col; /* in JOBS */
	uint32_t same_as;   /* index of an earlier job that asks the same, or its own */
	uint32_t next_same; /* of those that are the same as one: the next, 0 at the end */
	batch_result result;
} batch_job;

enum { BATCH_MOST_SEEDS = 1000 };
#define BATCH_NO_MODULE "sha256:0000000000000000000000000000000000000000000000000000000000000000"

typedef struct batch {
	const char *path;
	VEC(batch_job) jobs;
	VEC(diag) faults; /* lines that are no jobs */
	int64_t sweep;    /* devices of --sweep, 0: none */
	uint32_t duplicates;
	int module_width, mesh_width, seed_width; /* of tables; seed_width 0: no job has seeds */
	arena mem;
} batch;

typedef struct batch_reading {
	int64_t sweep; /* 0, or the number of devices whose mesh shapes each job is searched on */
	int64_t seeds; /* of jobs that do not say; 0: none */
} batch_reading;
/* Reads JSON lines or a table; "-": standard input. A line that is no job becomes one of
 * out->faults; fails where nothing can be read at all. Owned by caller (batch_release). */
status batch_read(const char *path, const batch_reading *how, batch *out, diag *d) MUST_USE;
/* The same of a text; path names it in messages. Changes no file. */
status batch_read_text(const char *path, const char *p, size_t n, const batch_reading *how,
	batch *out, diag *d) MUST_USE;
void batch_release(batch *b);
/* Equal for equal jobs in the same order. */
void batch_name(const batch *b, char out[BATCH_ID_BYTES]);

/* ---------------------------------------------------------------- engines */

typedef enum batch_asked {
	BATCH_ASK_STARTED, /* look tells when it has ended */
	BATCH_ASK_ENDED,   /* out is filled: an answer of the store, or a failure */
	BATCH_ASK_LATER,   /* the store cannot be written, or the daemon is busy; d says why */
	BATCH_ASK_BROKEN,  /* nothing can be asked any more; d says why */
} batch_asked;

typedef struct batch_engine batch_engine;
struct batch_engine {
	uint32_t most_at_once; /* jobs asked for and not ended */
	uint32_t workers;      /* that compute at the same time; 0: unknown */
	batch_asked (*ask)(batch_engine *e, const batch_job *job, batch_result *out, diag *d);
	/* True when it has ended: out is filled. out->search names it. False with d filled: it cannot
	 * be looked up. */
	bool (*look)(batch_engine *e, batch_result *out, diag *d);
	const char *(*trouble)(
		batch_engine *e); /* why no answer can be kept now, NULL: they can; may be NULL itself */
	void (*wait)(batch_engine *e, int ms); /* until something may have changed */
	void (*close)(batch_engine *e);
};

typedef struct batch_local_options {
	const char *store, *log; /* log: a file that gets the supervisor's log, or NULL */
	bool alone; /* the store may lie on a network file system: nobody else reads it meanwhile */
	const char *flags[32]; /* settings of the daemon: "--workers", "4", .. */
	int n_flags;
} batch_local_options;
/* Opens the store, as the daemon does, and starts a supervisor on it. NULL with d filled: in use,
 * newer, damaged. */
batch_engine *batch_local_open(const batch_local_options *o, diag *d) MUST_USE;
/* Reads a store without its lock and writes nothing: ask answers from the store, or ends as
 * BATCH_WAITING what would be searched. A store that is not there is an empty one. */
batch_engine *batch_peek_open(const batch_local_options *o, diag *d) MUST_USE;

/* ---------------------------------------------------------------- run and report */

typedef struct batch_run_options {
	bool json, terminal; /* terminal: standard error shows progress */
	bool dry_run;
	const atomic_int *stop; /* not 0: end */
	struct queue *queue;    /* NULL: all jobs are ours */
} batch_run_options;
typedef struct batch_outcome {
	uint32_t succeeded, failed, waiting, elsewhere; /* of all jobs */
	uint32_t fits_not;     /* with an answer that does not fit, and no other seed's that does */
	uint32_t stored, same; /* of those that succeeded: known before, and the same as another line */
	int64_t elapsed_ns;
	bool stopped, broken;
} batch_outcome;
/* Asks for every job, by priority, then as they stand; prints a line for each that ends. d is
 * filled when it ended as broken. */
batch_outcome batch_run(batch *b, batch_engine *e, const batch_run_options *o, diag *d);
/* The exit code: 0 all answered and fit, 2 some do not fit, BATCH_EXIT_PARTIAL some have no answer,
 * 1 none has, 130 stopped. */
int batch_exit_code(const batch *b, const batch_outcome *r);

void batch_print_line(const batch *b, const batch_job *j, uint32_t ended, bool dry_run, FILE *out);
void batch_print_summary(const batch *b, const batch_outcome *r, bool dry_run, FILE *out);
/* One document, shardwright.batch/1. */
void batch_print_json(const batch *b, const batch_outcome *r, FILE *out);

/* ---------------------------------------------------------------- rank.c
 *
 * order has room for all jobs. What has no answer comes last. */

/* The seeds of a job, best first; first: the first of them. Returns how many; 1 for a job without.
 */
uint32_t batch_rank_seeds(const batch *b, uint32_t first, uint32_t *order);
/* The shapes of a line of JOBS, best first, each as its best seed; first: the first job of the
 * line. */
uint32_t batch_rank_shapes(const batch *b, uint32_t first, uint32_t *order);
uint32_t batch_count_unfit(const batch *b);
void batch_print_shapes(const batch *b, FILE *out);
/* Of jobs with several seeds: the best, the median and the worst. */
void batch_print_seeds(const batch *b, FILE *out);
void batch_shapes_json(const batch *b, strbuf *out);
void batch_seeds_json(const batch *b, strbuf *out);

/* ---------------------------------------------------------------- queue.c: jobs shared by several
 * machines
 *
 * A folder that all of them see, on NFS too, with three kinds of files, each made by link() and so
 * by one task alone:
 *   lease.JOB.N   the N-th task that took the job; its time of change is moved on while that task works
 *   done.JOB      the job has ended: in whose store, and how
 *   jobs          which jobs the numbers are of
 * A lease whose time is not moved on is followed by lease.JOB.(N+1). A task that comes back after
 * that may end the job a second time; then `done` is there, and the merge takes one answer. Times
 * are those of the file system, not of the machines. */

typedef struct queue queue;
typedef enum queue_claim {
	QUEUE_OURS,
	QUEUE_DONE,
	QUEUE_HELD,
	QUEUE_GIVEN_UP,
	QUEUE_BROKEN
} queue_claim;
/* Makes the folder when it is not there. task: who we are, part of file names. jobs: batch_name of
 * the jobs; a queue of others is refused. lease_seconds: after which a silent task is given up. */
queue *queue_open(
	const char *dir, const char *task, const char *jobs, int64_t lease_seconds, diag *d) MUST_USE;
/* Gives back what is not done: others may take it at once. */
void queue_close(queue *q);
/* OURS also when we have it already. GIVEN_UP: as many tasks as may have lost it. BROKEN: the
 * folder cannot be used, d says why. */
queue_claim queue_take(queue *q, uint32_t job, diag *d);
/* Moves our leases on; call it often, it looks at the clock. */
void queue_beat(queue *q);
/* After the answer is committed. how: "succeeded" or "failed". False: it could not be written. */
bool queue_done(queue *q, uint32_t job, const char *how);

/* ---------------------------------------------------------------- merge.c */

typedef struct merge_counts {
	int64_t stores, modules, answers, better, known, failed, verifications,
		measurements; /* better: of the answers, those to questions that it had a worse one for;
	                     known: the store has one as good */
} merge_counts;
/* Takes what the stores in dirs have found into the store `into`, each in one transaction; may be
 * repeated. Ends at the first that cannot be taken; those before it are in. */
status merge_stores(
	const char *into, const char *const *dirs, uint32_t n, merge_counts *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- transfer.c */

/* All of a store, also of one in use, into a new folder that is a store. A text that the copy's
 * rows name and that is not there is told by *out_lost. */
status store_backup(const char *dir, const char *to, int64_t *out_lost, diag *d) MUST_USE;
/* Reads a whole store and tells on out what is lost or damaged: then an error status, d without a
 * code. */
status store_verify(const char *dir, FILE *out, diag *d) MUST_USE;
typedef struct transfer_filter {
	const char *module, *mesh, *device, *label; /* NULL: any; module: id, fingerprint or name */
} transfer_filter;
/* Answers of a store with their modules into one file; beside a daemon too. */
status store_export(const char *dir, const char *file, const transfer_filter *f, merge_counts *out,
	diag *d) MUST_USE;
/* Such a file into a store that nobody has open. Texts and documents have to be what their names
 * say. */
status store_import(const char *dir, const char *file, merge_counts *out, diag *d) MUST_USE;
typedef struct prune_counts {
	int64_t strategies, searches, modules, bytes_before, bytes_after;
} prune_counts;
/* Retention by hand, of a store that nobody has open; 0: not by this. */
status store_prune(
	const char *dir, int64_t keep_days, int64_t keep_bytes, prune_counts *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- record.c */

struct cJSON;
/* A measured step, as the body of POST /v1/strategies/ID/measurements has it, into a store that
 * nobody has open. The row as JSON is appended to out. ST_ERR_NOT_FOUND: there is no such store or
 * strategy. */
status store_record(
	const char *dir, const char *strategy, const struct cJSON *body, strbuf *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- known_steps.c */

typedef enum step_source {
	STEP_MEASURED, /* on the devices that the strategy was made for */
	STEP_COMPILED, /* costed from the schedule of a compiler for them */
	STEP_SOURCE_COUNT
} step_source;
typedef struct known_step { /* what a step takes with a strategy */
	char strategy[72], fingerprint[72], name[128], mesh[128], module_path[512];
	char plan[128]; /* of a verification: "alternative 1, exact"; else "" */
	step_source source;
	int64_t step_ns;
	strbuf document; /* applied, and with the compiler options, as the step was */
} known_step;
typedef struct known_steps_left { /* steps that are known, but of no use */
	uint32_t lost;                /* the module's text is */
	uint32_t undocumented;        /* a baseline's: what it decides is not kept */
	uint32_t other_model;         /* a schedule that another cost model costed */
} known_steps_left;
/* All of a source for a device profile, by program, mesh and plan. *out is the caller's
 * (known_steps_free). Beside a daemon too. */
status store_known_steps(const char *dir, const char *profile, step_source source, known_step **out,
	uint32_t *out_n, known_steps_left *left, diag *d) MUST_USE;
void known_steps_free(known_step *rows, uint32_t n);

/* ---------------------------------------------------------------- starts.c */

enum { MOST_BATCH_STARTS = 4 };
typedef struct batch_start {
	char id[72];
	strbuf document; /* the caller's to release */
} batch_start;
/* Strategies that a store has for programs of a structure (module_structure), the likeliest to be
 * of use first; at most MOST_BATCH_STARTS. module: id of the text, which may be unknown to the
 * store; mesh, device: what is searched for. Beside a daemon too. */
status store_starts(const char *dir, const char *structure, const char *module, const char *mesh,
	const char *device, batch_start *out, uint32_t *out_n, diag *d) MUST_USE;

/* What axes cut in plans that won (search_options.tactic_statistics): of programs of the structure
 * on meshes of so many axes, or of all where there are none. Beside a daemon too. */
status store_tactic_statistics(const char *dir, const char *structure, uint32_t n_axes,
	const char *mesh, const char *device, strbuf *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- slurm.c */

typedef struct slurm_options {
	const char *tool, *store, *partition, *time;
	int64_t nodes;             /* tasks of the array, a node each */
	const char *const *sbatch; /* further lines for sbatch */
	uint32_t n_sbatch;
	const char *const *flags; /* of batch, for the tasks */
	int n_flags;
} slurm_options;
/* Writes the jobs that wait, the scripts and a queue into STORE/slurm/RUN, and submits them;
 * dry_run: prints the scripts. */
status slurm_submit(
	const batch *b, const slurm_options *o, bool dry_run, FILE *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- export.c: what a store has */

typedef enum export_form { EXPORT_TABLE, EXPORT_CSV, EXPORT_JSON } export_form;
typedef struct export_options {
	const char *store, *view;           /* view: a name of export_view_at */
	const char *module, *mesh, *device; /* NULL: any. module: a name, an id or a fingerprint */
	int64_t devices;                    /* 0: any */
	export_form form;
} export_options;
/* Short name of the i-th view and what it shows; NULL behind the last one. */
const char *export_view_at(uint32_t i, const char **out_help);
/* Prints the rows of a view; reads alone, beside a daemon too. */
status export_print(const export_options *o, FILE *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- inside */

/* Table text -> one object per row. Calls row(cls, object, line, columns) with the column of each
 * cell; faults go to b. */
struct cJSON;
typedef struct batch_cells {
	const char *const *names;     /* of the header */
	const uint32_t *cols, *lines; /* 0: an empty cell */
	uint32_t n;
} batch_cells;
typedef void (*batch_row)(void *cls, struct cJSON *row, uint32_t line, const batch_cells *cells);
status batch_read_table(
	const char *p, size_t n, batch *b, batch_row row, void *cls, diag *d) MUST_USE;
bool batch_is_field(const char *name);
/* " module mesh .." */
const char *batch_fields(void);
/* Sets the widths: as wide as what is in the columns. */
void batch_measure(batch *b);
const char *batch_device_shown(const batch_job *j);
/* The name of the module's file, for a terminal. */
const char *batch_file_shown(const batch_job *j, char out[256]);
/* A text for a terminal: no control characters, of a long one the end. */
const char *batch_shown(const char *s, size_t room, char out[256]);
/* Step time, peak, whether it fits. */
void batch_add_cost(strbuf *line, const batch_result *r);
void batch_fault(batch *b, uint32_t line, uint32_t col, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* One line of JOBS: the text of an object, or the cells of a row. */
typedef struct batch_place {
	uint32_t line;
	const char *text;
	size_t n;
	const batch_cells *cells;
} batch_place;
/* The fault of a field, "mesh/axes/0": told with the place of its outermost part. */
void batch_fault_at(batch *b, const batch_place *at, const char *field, const char *detail);

typedef struct batch_shape {
	char mesh[64];
} batch_shape;
typedef VEC(batch_shape) batch_shapes;
/* Meshes of n devices with one to three axes x, y, z that the device's links can carry, one of each
 * that differ only by which axis is called how. device_json: a profile, or NULL for the built-in
 * one called `device` ("default": the tool's). */
status batch_sweep(
	const char *device, const char *device_json, int64_t n, batch_shapes *out, diag *d) MUST_USE;

#endif
