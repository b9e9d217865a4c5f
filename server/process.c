/* Worker processes. A child is started by fork and exec: the daemon never opens an OpenMP region,
 * so a fork is safe, and between the two only async-signal-safe calls are made. */
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What a worker gets of the environment: how to find its libraries, how to speak and how to run
 * threads. Not what the daemon was told in confidence, such as tokens or the folder of its
 * credentials. */
static bool is_for_workers(const char *entry)
{
	static const char *const names[] = {"PATH=", "LD_LIBRARY_PATH=", "LANG=", "LC_", "TZ=", "OMP_",
		"GOMP_", "ASAN_OPTIONS=", "UBSAN_OPTIONS=", "LSAN_OPTIONS=", "TSAN_OPTIONS="};
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (!strncmp(entry, names[i], strlen(names[i])))
			return strncmp(entry, "OMP_NUM_THREADS=", 16) != 0;
	return false;
}

/* threads: OMP_NUM_THREADS=.., or empty. */
static char **clean_environment(char *threads)
{
	size_t n = 0, k = 0;
	while (environ[n])
		n++;
	char **out = xmalloc((n + 2) * sizeof *out);
	for (size_t i = 0; i < n; i++)
		if (is_for_workers(environ[i]))
			out[k++] = environ[i];
	if (threads[0])
		out[k++] = threads;
	out[k] = NULL;
	return out;
}

static void child_main(const char *binary, char *const argv[], char *const env[],
	const child_limits *limits, const int fds[3], int rules, pid_t parent)
{
	sigset_t none;
	sigemptyset(&none);
	/* The daemon's death must not leave workers behind, whatever killed it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(EXIT_NOT_STARTED);
	setpgid(0, 0); /* an interrupt typed at the daemon's terminal is the daemon's to pass on */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (limits->memory_bytes > 0) {
		struct rlimit space = {(rlim_t)limits->memory_bytes, (rlim_t)limits->memory_bytes};
		setrlimit(RLIMIT_AS, &space);
	}
	struct rlimit core = {0, 0};
	setrlimit(RLIMIT_CORE, &core);
	if (limits->nice)
		setpriority(PRIO_PROCESS, 0, limits->nice);
	if (limits->dir && chdir(limits->dir) != 0)
		_exit(EXIT_NOT_STARTED);
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			_exit(EXIT_NOT_STARTED);
	if (limits->confined && !sandbox_enter(rules))
		_exit(EXIT_NOT_STARTED);
	syscall(SYS_close_range, 3u, ~0u, 0u);
	execve(binary, argv, env);
	_exit(EXIT_NOT_STARTED);
}

static bool open_pipes(int pipes[2][2], int *null)
{
	*null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pipes[0][0] = pipes[0][1] = pipes[1][0] = pipes[1][1] = -1;
	return *null >= 0 && pipe2(pipes[0], O_CLOEXEC) == 0 && pipe2(pipes[1], O_CLOEXEC) == 0;
}

int64_t kernel_memory_kills(void)
{
	char line[128];
	int64_t n = 0;
	FILE *f = fopen("/proc/vmstat", "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "oom_kill %" SCNd64, &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

bool died_of_memory(int exit_code, const char *err, int64_t kills)
{
	if (exit_code == 128 + SIGKILL)
		return kernel_memory_kills() > kills;
	if (exit_code == 1)
		return err && strstr(err, "libgomp: Out of memory");
	return (exit_code == 128 + SIGABRT || exit_code == 3) && err && strstr(err, "out of memory");
}

bool had_no_start(int exit_code, const char *err)
{
	if (exit_code == EXIT_NOT_STARTED || !err)
		return exit_code == EXIT_NOT_STARTED;
	return exit_code == 1 ? strstr(err, "libgomp: Thread creation failed") != NULL
						  : exit_code == 3 && strstr(err, strerror(ENFILE));
}

bool child_start(const char *binary, char *const argv[], const child_limits *limits, child *out)
{
	int pipes[2][2], null, rules = -1;
	char threads[40] = "";
	if (limits->threads)
		snprintf(threads, sizeof threads, "OMP_NUM_THREADS=%d", limits->threads);
	char **env = clean_environment(threads);
	pid_t parent = getpid();
	out->pid = -1;
	bool ready = open_pipes(pipes, &null);
	if (ready && limits->confined)
		ready = sandbox_rules(binary, limits->store, limits->writes, &rules);
	if (ready) {
		/* The parent's handlers must not run in the child before exec. */
		sigset_t all, before;
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		out->pid = fork();
		if (out->pid == 0)
			child_main(
				binary, argv, env, limits, (int[]){null, pipes[0][1], pipes[1][1]}, rules, parent);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	int error = errno;
	free(env);
	if (null >= 0)
		close(null);
	if (rules >= 0)
		close(rules);
	for (int i = 0; i < 2; i++) {
		if (pipes[i][1] >= 0)
			close(pipes[i][1]);
		if (out->pid < 0 && pipes[i][0] >= 0)
			close(pipes[i][0]);
	}
	errno = error;
	if (out->pid < 0)
		return false;
	out->out = pipes[0][0];
	out->err = pipes[1][0];
	fcntl(out->out, F_SETFL, O_NONBLOCK);
	fcntl(out->err, F_SETFL, O_NONBLOCK);
	return true;
}

int64_t child_cpu_ticks(pid_t pid)
{
	char path[64], text[1024];
	unsigned long long user = 0, system = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(text, sizeof text, f);
	if (f)
		fclose(f);
	const char *end = ok ? strrchr(text, ')') : NULL; /* the name may hold anything */
	if (!end ||
		sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) !=
			2)
		return -1;
	return (int64_t)(user + system);
}

child_limits tool_limits(const server *srv)
{
	return (child_limits){.memory_bytes = srv->opt.worker_memory,
		.nice = (int)srv->opt.worker_nice,
		.threads = 1,
		.confined = srv->confined,
		.store = srv->store ? store_objects(srv->store)->dir : NULL};
}

bool read_available(int fd, strbuf *b, size_t limit, bool *eof)
{
	char chunk[65536];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0) {
			*eof = true;
			return true;
		}
		if (b->n + (size_t)n > limit)
			return false;
		strbuf_add(b, chunk, (size_t)n);
	}
}

static int exit_code_of(int wait_status)
{
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/* Reads both pipes until they end or a limit is met; false when the child has to be killed. */
static bool drain(
	const child *c, int64_t deadline_ns, size_t out_limit, const atomic_bool *stop, run_result *r)
{
	bool ended[2] = {false, false};
	int fds[2] = {c->out, c->err};
	strbuf *to[2] = {&r->out, &r->err};
	while (!ended[0] || !ended[1]) {
		int64_t left_ms = (deadline_ns - clock_ns()) / 1000000;
		r->stopped = stop && atomic_load(stop);
		r->timed_out = left_ms <= 0;
		if (r->stopped || r->timed_out)
			return false;
		struct pollfd p[2] = {
			{ended[0] ? -1 : fds[0], POLLIN, 0}, {ended[1] ? -1 : fds[1], POLLIN, 0}};
		if (poll(p, 2, (int)MIN(left_ms, 200)) < 0 && errno != EINTR)
			return false;
		for (int i = 0; i < 2; i++)
			if (p[i].revents &&
				!read_available(fds[i], to[i], i ? 1 << 20 : out_limit, &ended[i])) {
				r->too_large = true;
				return false;
			}
	}
	return true;
}

void child_run(const char *binary, char *const argv[], const child_limits *limits, int64_t limit_ms,
	size_t out_limit, const atomic_bool *stop, run_result *r)
{
	memset(r, 0, sizeof *r);
	child c;
	int64_t kills = kernel_memory_kills();
	if (!child_start(binary, argv, limits, &c)) {
		r->start_error = errno;
		log_warn("event=tool_not_started error=%s", log_quoted(strerror(r->start_error)).text);
		r->not_started = true;
		return;
	}
	if (!drain(&c, clock_ns() + limit_ms * 1000000, out_limit, stop, r))
		kill(c.pid, SIGKILL);
	close(c.out);
	close(c.err);
	int status_word = 0;
	/* Both pipes closed and still alive: it has nothing more to tell. */
	for (int i = 0; waitpid(c.pid, &status_word, WNOHANG) == 0; i++) {
		if (i == 200)
			kill(c.pid, SIGKILL);
		usleep(i < 10 ? 200 : 10000);
	}
	r->exit_code = exit_code_of(status_word);
	strbuf_add(&r->out, "", 0);
	strbuf_add(&r->err, "", 0);
	r->not_started = had_no_start(r->exit_code, r->err.p);
	bool ended_by_us = r->stopped || r->timed_out || r->too_large;
	r->out_of_memory = !ended_by_us && died_of_memory(r->exit_code, r->err.p, kills);
}

bool run_was_fair(const run_result *r, const options *o, problem *why)
{
	if (r->stopped)
		return problem_set(why, PROBLEM_UNAVAILABLE, "the daemon is stopping");
	if (r->not_started)
		return problem_set(
			why, PROBLEM_UNAVAILABLE, "the daemon could not start a worker: try again");
	if (r->timed_out)
		return problem_set(why, PROBLEM_UNPROCESSABLE, "it took longer than allowed");
	if (r->too_large)
		return problem_set(why, PROBLEM_UNPROCESSABLE, "the answer is larger than allowed");
	if (r->out_of_memory)
		return problem_set(why, PROBLEM_UNPROCESSABLE,
			"the worker ran out of memory; its limit is %lld MiB (--worker-memory)",
			(long long)o->worker_memory >> 20);
	return true;
}

void run_result_release(run_result *r)
{
	strbuf_release(&r->out);
	strbuf_release(&r->err);
}

/* "<number>:" that ends before `end`; returns the start of the digits or NULL. */
static const char *number_before(const char *start, const char *end, uint32_t *out)
{
	const char *p = end;
	while (p > start && p[-1] >= '0' && p[-1] <= '9')
		p--;
	int64_t v;
	if (!str_to_i64((str){p, (size_t)(end - p)}, &v) || v > UINT32_MAX || p == start ||
		p[-1] != ':')
		return NULL;
	*out = (uint32_t)v;
	return p;
}

void worker_error(const char *text, problem *out)
{
	const char *mark = strstr(text, "error: ");
	if (!mark) {
		problem_set(out, PROBLEM_INTERNAL, "the worker ended without a reason: %.400s", text);
		return;
	}
	const char *line = mark;
	while (line > text && line[-1] != '\n')
		line--;
	const char *message = mark + 7, *end = strchrnul(message, '\n');
	problem_set(out, PROBLEM_BAD_MODULE, "%.*s", (int)(end - message), message);
	/* "...:line:col: " stands before the mark, when there is a position. */
	const char *p = mark;
	if (p - line >= 2 && p[-1] == ' ' && p[-2] == ':') {
		uint32_t col, row;
		const char *at = number_before(line, p - 2, &col);
		if (at && (at = number_before(line, at - 1, &row))) {
			out->line = row;
			out->col = col;
			const char *next = *end ? end + 1 : end, *stop = strchrnul(next, '\n');
			snprintf(out->excerpt, sizeof out->excerpt, "%.*s", (int)MIN(stop - next, 159), next);
		}
	}
}
