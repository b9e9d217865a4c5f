/* Processes that do the work: how they are started, confined and watched. */
#ifndef SW_SERVER_WORKERS_H
#define SW_SERVER_WORKERS_H

#include "server/json.h"
#include "server/options.h"

/* ---------------------------------------------------------------- process.c */

typedef struct child_limits {
	int64_t memory_bytes; /* RLIMIT_AS, 0: none */
	int nice;
	int threads;       /* OMP_NUM_THREADS, 0: as inherited */
	const char *dir;   /* working directory, NULL: as inherited */
	bool confined;     /* sandbox.c */
	const char *store; /* the store it may read modules of, NULL: none */
	bool writes;       /* it also writes a file to the store's tmp/ */
} child_limits;

/* For a short worker of one thread. */
child_limits tool_limits(const struct server *srv);

typedef struct child {
	pid_t pid;
	int out, err; /* non-blocking read ends */
} child;

/* CPU time that a process has taken, in ticks; -1: there is none. */
int64_t child_cpu_ticks(pid_t pid);
/* Starts binary with argv, in an environment of what it needs. The child dies with the calling
 * thread (PR_SET_PDEATHSIG), holds no descriptor of ours but its three standard ones, and reads
 * nothing. Call only from threads that outlive the child. */
bool child_start(const char *binary, char *const argv[], const child_limits *limits, child *out);

typedef struct run_result {
	int exit_code; /* 128 + signal when killed */
	bool timed_out, too_large, stopped;
	bool not_started; /* for want of descriptors, processes or memory, or because the program could
	                     not be run */
	int start_error;  /* errno, where there was no process */
	bool out_of_memory; /* of its own limit, or ended by the kernel for the machine's sake */
	strbuf out, err;
} run_result;
/* Runs to the end with a time limit; output beyond out_limit ends it. stop (may be NULL): polled,
 * ends it. */
void child_run(const char *binary, char *const argv[], const child_limits *limits, int64_t limit_ms,
	size_t out_limit, const atomic_bool *stop, run_result *r);
void run_result_release(run_result *r);
/* Fills why for a run that ended in none of the ways its caller knows: stopped, short of something,
 * out of memory or time. False when it has. */
bool run_was_fair(const run_result *r, const options *o, problem *why);
enum { EXIT_NOT_STARTED = 127 }; /* of a child that could not execute its program */
/* Whether a child with this end and these last words ran out of memory; kills:
 * kernel_memory_kills() when it was started. */
bool died_of_memory(int exit_code, const char *err, int64_t kills);
/* Whether it never began, for want of something that others may give back: not even its threads, or
 * a descriptor for its text. */
bool had_no_start(int exit_code, const char *err);
int64_t kernel_memory_kills(void);
/* Finds "file:line:col: error: msg" in a worker's error text; the file name (a path of ours) is
 * left out. A text without one is no verdict. */
void worker_error(const char *text, problem *out);
bool read_available(int fd, strbuf *b, size_t limit, bool *eof);

/* ---------------------------------------------------------------- worker.c: the worker program */

/* Fills worker, worker_memory (unless set), confined, devices_json, device_names, tool_version and
 * cost_model of srv from its options:
 * --worker-binary, or the shardwright beside this program. */
status worker_find(struct server *srv, diag *d) MUST_USE;
void worker_release(struct server *srv);

/* ---------------------------------------------------------------- sandbox.c: what a worker may do
 */

/* Rules about files for a child; *out -1 where the kernel has none. False: they could not be made
 * now (errno). */
bool sandbox_rules(const char *binary, const char *store, bool writes, int *out);
/* In the child, before exec. Only async-signal-safe calls. */
bool sandbox_enter(int rules);
/* False in a build for a sanitizer. */
bool sandbox_possible(void);

/* ---------------------------------------------------------------- tasks.c */

typedef struct task {
	void (*run)(struct task *t, bool stopping);
	struct task *next;
} task;
typedef struct task_pool task_pool;
task_pool *tasks_new(int threads, uint32_t queue_limit);
/* False when the queue is full or stopping: the task was not taken. */
bool tasks_submit(task_pool *p, task *t);
const atomic_bool *tasks_stop_flag(const task_pool *p);
void tasks_stop(
	task_pool *p); /* ends running children, runs what waits with stopping = true, joins */
void tasks_free(task_pool *p);

/* ---------------------------------------------------------------- supervisor.c */

typedef struct supervisor supervisor;
supervisor *supervisor_new(server *srv);
void supervisor_kick(supervisor *v); /* something was queued or canceled */
void supervisor_cancel(supervisor *v, const char *id);
int64_t supervisor_turned_ns(supervisor *v); /* when it last looked around */
void supervisor_stop(supervisor *v); /* kills workers, their searches go back to the queue */

#endif
