#include "batch/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_TASKS = 5 }; /* a job that so many tasks have lost is the reason */

typedef struct lease {
	uint32_t job, number;
} lease;

struct queue {
	char dir[512], task[128],
		own[700]; /* own: a file of this task, for links and for the time of the file system */
	int64_t lease_ns, beat_ns; /* beat_ns: when to move leases on, by our clock */
	VEC(lease) leases;
};

static void lease_path(const queue *q, uint32_t job, uint32_t number, char path[700])
{
	snprintf(path, 700, "%s/lease.%u.%u", q->dir, job, number);
}

static void done_path(const queue *q, uint32_t job, char path[700])
{
	snprintf(path, 700, "%s/done.%u", q->dir, job);
}

/* A file with who we are; true when it is on disk. */
static bool write_own(const queue *q, const char *how)
{
	char text[256];
	int n = snprintf(text, sizeof text, "%s %s\n", q->task, how);
	int fd = open(q->own, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return false;
	bool ok = write(fd, text, (size_t)n) == n && fsync(fd) == 0;
	return close(fd) == 0 && ok;
}

/* link() is atomic where O_EXCL is not; over NFS its answer may be lost, the count of links is not.
 */
static bool link_once(const char *from, const char *to)
{
	struct stat st;
	return link(from, to) == 0 || (stat(from, &st) == 0 && st.st_nlink == 2);
}

static bool make_file(const queue *q, const char *path, const char *how)
{
	bool ok = write_own(q, how) && link_once(q->own, path);
	int error = errno;
	unlink(q->own);
	errno = error;
	return ok;
}

static int64_t changed_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* What the file system's clock says; -1: it cannot be asked. */
static int64_t now_ns(const queue *q)
{
	struct stat st;
	bool ok = write_own(q, "asks for the time") && stat(q->own, &st) == 0;
	int error = errno;
	unlink(q->own);
	errno = error;
	return ok ? changed_ns(&st) : -1;
}

/* The first task writes which jobs the numbers are of, the others compare. */
static status check_jobs(const queue *q, const char *jobs, diag *d)
{
	char path[700], text[256] = "";
	snprintf(path, sizeof path, "%s/jobs", q->dir);
	if (access(path, F_OK) != 0 && !make_file(q, path, jobs) && errno != EEXIST)
		return diag_set(
			d, ST_ERR_IO, "cannot write to the queue '%.300s': %s", q->dir, strerror(errno));
	FILE *f = fopen(path, "re");
	bool read = f && fgets(text, sizeof text, f);
	if (f)
		fclose(f);
	char *name = strchr(text, ' ');
	text[strcspn(text, "\n")] = 0;
	if (!read || !name || strcmp(name + 1, jobs))
		return diag_set(
			d, ST_ERR_INVALID, "the queue '%.300s' is of other jobs: take another folder", q->dir);
	return ST_OK;
}

queue *queue_open(
	const char *dir, const char *task, const char *jobs, int64_t lease_seconds, diag *d)
{
	if ((mkdir(dir, 0777) != 0 && errno != EEXIST) || access(dir, W_OK) != 0) {
		diag_set(d, ST_ERR_IO, "cannot use the queue '%.300s': %s", dir, strerror(errno));
		return NULL;
	}
	queue *q = xcalloc(1, sizeof *q);
	snprintf(q->dir, sizeof q->dir, "%.500s", dir);
	snprintf(q->task, sizeof q->task, "%.100s", task);
	snprintf(q->own, sizeof q->own, "%s/task.%s.%d", q->dir, q->task, (int)getpid());
	q->lease_ns = lease_seconds * 1000000000;
	if (check_jobs(q, jobs, d) == ST_OK)
		return q;
	queue_close(q);
	return NULL;
}

void queue_close(queue *q)
{
	for (uint32_t i = 0; i < q->leases.n; i++) {
		char path[700];
		lease_path(q, q->leases.p[i].job, q->leases.p[i].number, path);
		utimensat(AT_FDCWD, path, (struct timespec[2]){{0, 0}, {0, 0}}, 0);
	}
	unlink(q->own);
	vec_release(&q->leases);
	free(q);
}

static queue_claim unwritable(const queue *q, diag *d)
{
	diag_set(d, ST_ERR_IO, "cannot write to the queue '%.300s': %s", q->dir, strerror(errno));
	return QUEUE_BROKEN;
}

queue_claim queue_take(queue *q, uint32_t job, diag *d)
{
	char path[700];
	struct stat st;
	for (uint32_t i = 0; i < q->leases.n; i++)
		if (q->leases.p[i].job == job)
			return QUEUE_OURS;
	done_path(q, job, path);
	if (access(path, F_OK) == 0)
		return QUEUE_DONE;
	uint32_t number = 0, lost = 0;
	int64_t changed = 0; /* 0: it was given back */
	for (lease_path(q, job, 0, path); stat(path, &st) == 0; lease_path(q, job, ++number, path)) {
		changed = changed_ns(&st);
		lost += changed != 0;
	}
	if (changed) {
		int64_t now = now_ns(q);
		if (now < 0)
			return unwritable(q, d);
		if (now - changed < q->lease_ns)
			return QUEUE_HELD;
	}
	if (lost >= MOST_TASKS)
		return QUEUE_GIVEN_UP;
	if (make_file(q, path, "takes it")) {
		vec_push(&q->leases, (lease){job, number});
		return QUEUE_OURS;
	}
	return errno == EEXIST ? QUEUE_HELD : unwritable(q, d);
}

void queue_beat(queue *q)
{
	int64_t now = clock_ns();
	if (now < q->beat_ns)
		return;
	q->beat_ns = now + q->lease_ns / 6;
	for (uint32_t i = 0; i < q->leases.n; i++) {
		char path[700];
		lease_path(q, q->leases.p[i].job, q->leases.p[i].number, path);
		utimensat(AT_FDCWD, path, NULL, 0); /* one that fails is one that others take over */
	}
}

bool queue_done(queue *q, uint32_t job, const char *how)
{
	char path[700];
	done_path(q, job, path);
	if (!make_file(q, path, how) && errno != EEXIST)
		return false;
	for (uint32_t i = 0; i < q->leases.n; i++)
		if (q->leases.p[i].job == job) {
			q->leases.p[i] = vec_pop(&q->leases);
			break;
		}
	return true;
}
