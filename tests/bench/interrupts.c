/* Preloaded into a command: at random moments of its CPU time a copy of it gets SIGINT, and the
 * command goes on when the copy has ended. So one run tells what an interrupt takes at many
 * moments. Each line of INTERRUPTS_LOG: CPU microseconds of the command when the signal came, those
 * that the copy took from there to its end, and how it ended (exit code, or minus the signal). The
 * command must have one thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int out = -1;
static unsigned int state;
static long mean_us;

static long cpu_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

/* Any moment of the time to the next signal is as likely as another one. */
static void set_timer(void)
{
	long us = 1000 + (long)((unsigned int)rand_r(&state) % (unsigned int)(2 * mean_us));
	struct itimerval t = {.it_value = {us / 1000000, us % 1000000}};
	setitimer(ITIMER_PROF, &t, NULL);
}

static void on_timer(int signal_number)
{
	(void)signal_number;
	int kept = errno, status = 0;
	long at = cpu_us();
	pid_t copy = (pid_t)syscall(SYS_fork);
	if (copy == 0) {
		raise(SIGINT);
		errno = kept;
		return;
	}
	struct rusage used = {0};
	while (copy > 0 && wait4(copy, &status, 0, &used) < 0 && errno == EINTR)
		;
	long took = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L + used.ru_utime.tv_usec +
		used.ru_stime.tv_usec;
	char line[80];
	int n = snprintf(line, sizeof line, "%ld %ld %d\n", at, took,
		WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	if (copy > 0 && write(out, line, (size_t)n) != n)
		abort();
	errno = kept;
	set_timer();
}

__attribute__((constructor)) static void begin(void)
{
	const char *log = getenv("INTERRUPTS_LOG"), *mean = getenv("INTERRUPTS_US"),
			   *seed = getenv("INTERRUPTS_SEED");
	if (!log || !mean)
		return;
	unsetenv("LD_PRELOAD");
	out = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	mean_us = atol(mean);
	state = seed ? (unsigned int)atoi(seed) : 1;
	struct sigaction a = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	if (out < 0 || mean_us < 1000 || sigaction(SIGPROF, &a, NULL))
		abort();
	set_timer();
}
