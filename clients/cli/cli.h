/* The command line tool: one cmd_VERB function per verb in cmd_VERB.c, dispatched from main.c's
 * table. argv[0] is the verb. Return value: the process's exit code (docs/command-line.md). */
#ifndef SW_CLI_H
#define SW_CLI_H

#include "clients/cli/color.h"
#include "search/search.h"

enum {
	EXIT_FITS = 0,
	EXIT_BAD_INPUT = 1,
	EXIT_NOTHING_FITS = 2,
	EXIT_INTERNAL = 3,
	EXIT_USAGE = 64,
	EXIT_INTERRUPTED = 130
};

int cmd_search(int argc, char **argv);
int cmd_apply(int argc, char **argv);
int cmd_evaluate(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_opt(int argc, char **argv);
int cmd_rules(int argc, char **argv);
int cmd_sbp(int argc, char **argv);
int cmd_lower(int argc, char **argv);
int cmd_simulate(int argc, char **argv);
int cmd_hlo(int argc, char **argv);
int cmd_layout(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_devices(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_fingerprint(int argc, char **argv);
int cmd_batch(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_store(int argc, char **argv);
int cmd_submit(int argc, char **argv);
int cmd_wait(int argc, char **argv);
int cmd_cancel(int argc, char **argv);
int cmd_strategies(int argc, char **argv);

/* ---------------------------------------------------------------- common.c */

/* Prints "shardwright VERB: message" and how to get help; returns EXIT_USAGE. */
int cli_usage(const char *verb, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* After getopt_long has refused argv[optind - 1] and said why: names the nearest option. Returns
 * EXIT_USAGE. */
struct option;
int cli_bad_option(const char *verb, const struct option *options, char *const *argv);
/* Prints the diagnostic; returns the exit code of its status. */
int cli_fail(const diag *d, status s);

/* What --mesh, --device, --device-file and --memory gave; owned by caller, released with
 * cli_target_release. */
typedef struct cli_target {
	mesh_id mesh; /* ID_NONE: not given */
	device dev;
	char *axis_links[MAX_MESH_AXES];
	bool has_links;
	int64_t memory_limit; /* 0: not given */
} cli_target;
/* mesh_text: NULL, "data=4,model=4" or the path of a JSON file. */
status cli_mesh(sharding_table *t, const char *mesh_text, cli_target *out, diag *d) MUST_USE;
/* Either may be NULL; default device tpu-v5e. */
status cli_device(const char *name, const char *file, cli_target *out, diag *d) MUST_USE;
void cli_target_release(cli_target *t);
/* Whole number option; false prints a usage error. */
bool cli_number(
	const char *verb, const char *option, const char *text, int64_t min, int64_t max, int64_t *out);
/* "8x16" into sizes; "scalar" or nothing: rank 0. shape has room for MAX_RANK. */
status cli_shape(const char *text, int64_t *shape, uint32_t *rank, diag *d) MUST_USE;
/* --trip-count, into module.trip_count. */
bool cli_trip_count(const char *verb, const char *text, int64_t *out);
bool cli_bytes(const char *verb, const char *option, const char *text, int64_t *out);

/* ---------------------------------------------------------------- progress.c */

typedef struct cli_progress {
	bool json, terminal; /* how it is told; neither: not at all */
	bool told_baselines;
	int64_t last_ns;
} cli_progress;
/* search_options.on_event; user: a cli_progress, zero but for how. */
void cli_show_progress(void *user, const search_event *e);

/* ---------------------------------------------------------------- advice.c */

/* Warns on standard error of a limit beyond what the device leaves to a program: part of its memory
 * is taken before any runs. 0: none. */
void cli_warn_of_limit(const device *dev, int64_t memory_limit);
/* Warns on standard error of mesh axes whose size divides no dimension of any data argument. */
void cli_warn_of_axes(const module *m, mesh_id mesh);

#endif
