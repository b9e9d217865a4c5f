/* Preloaded into a daemon: makes calls fail while a file of that name lies in the folder FAULTS
 * names.
 *   fork    EAGAIN, as at the limit of processes
 *   pread   EIO, for files whose name ends in shardwright.db or shardwright.db-wal
 *   open    EMFILE, for the database
 *   write   ENOSPC, for the database
 *   sync    EIO
 *   clock   holds seconds by which the time of day is wrong
 *   path    EMFILE, where a path is opened for a rule of the sandbox that has in it what this holds
 *   rule    ENOMEM, for the rule of such a path (Landlock)
 *   realpath  ENOMEM
 *   epoll   a pause before the main thread takes a descriptor out of an epoll set
 * Workers do not have it: their environment is clean, and fork comes before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int wanted(const char *fault)
{
	char path[512];
	const char *folder = getenv("FAULTS");
	snprintf(path, sizeof path, "%s/%s", folder ? folder : "/nonexistent", fault);
	return access(path, F_OK) == 0;
}

static void name_of(int fd, char name[512])
{
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, 511);
	name[n > 0 ? n : 0] = 0;
}

/* Whether the fault is wanted of this path: what its file holds is a part of it. */
static int wanted_of(const char *fault, const char *path)
{
	char file[512], part[256] = "";
	snprintf(file, sizeof file, "%s/%s", getenv("FAULTS"), fault);
	int fd = wanted(fault) ? (int)syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, part, sizeof part - 1);
	close(fd);
	return n >= 0 && strstr(path, part) != NULL;
}

static int is_database(int fd)
{
	char name[512];
	name_of(fd, name);
	return strstr(name, "shardwright.db") && !strstr(name, "-shm");
}

pid_t fork(void)
{
	pid_t (*real)(void);
	*(void **)&real = dlsym(RTLD_NEXT, "fork");
	if (!wanted("fork"))
		return real();
	errno = EAGAIN;
	return -1;
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
	ssize_t (*real)(int, void *, size_t, off64_t);
	*(void **)&real = dlsym(RTLD_NEXT, "pread64");
	if (!wanted("pread") || !is_database(fd))
		return real(fd, to, n, at);
	errno = EIO;
	return -1;
}

ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at)
{
	ssize_t (*real)(int, const void *, size_t, off64_t);
	*(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
	if (!wanted("write") || !is_database(fd))
		return real(fd, from, n, at);
	errno = ENOSPC;
	return -1;
}

static int sync_by(const char *name, int fd)
{
	int (*real)(int);
	*(void **)&real = dlsym(RTLD_NEXT, name);
	if (!wanted("sync"))
		return real(fd);
	errno = EIO;
	return -1;
}

int fsync(int fd) { return sync_by("fsync", fd); }
int fdatasync(int fd) { return sync_by("fdatasync", fd); }

int clock_gettime(clockid_t which, struct timespec *out)
{
	char path[512], text[32] = "";
	const char *folder = getenv("FAULTS");
	int rc = (int)syscall(SYS_clock_gettime, which, out);
	if (rc != 0 || which != CLOCK_REALTIME || !folder)
		return rc;
	snprintf(path, sizeof path, "%s/clock", folder);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, text, sizeof text - 1) > 0)
			out->tv_sec += atol(text);
		close(fd);
	}
	return rc;
}

int open64(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...);
	va_list args;
	va_start(args, flags);
	int mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	*(void **)&real = dlsym(RTLD_NEXT, "open64");
	if (strstr(path, "shardwright.db") && wanted("open")) {
		errno = EMFILE;
		return -1;
	}
	return real(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...);
	va_list args;
	va_start(args, flags);
	int mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	*(void **)&real = dlsym(RTLD_NEXT, "open");
	if (flags & O_PATH && wanted_of("path", path)) {
		errno = EMFILE;
		return -1;
	}
	return real(path, flags, mode);
}

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list args;
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_landlock_add_rule) {
		char name[512];
		name_of(((const struct landlock_path_beneath_attr *)a[2])->parent_fd, name);
		if (wanted_of("rule", name)) {
			errno = ENOMEM;
			return -1;
		}
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

char *realpath(const char *path, char *out)
{
	char *(*real)(const char *, char *);
	*(void **)&real = dlsym(RTLD_NEXT, "realpath");
	if (!wanted("realpath"))
		return real(path, out);
	errno = ENOMEM;
	return NULL;
}

int epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
	if (op == EPOLL_CTL_DEL && getpid() == gettid() && wanted("epoll"))
		usleep(2000);
	return (int)syscall(SYS_epoll_ctl, set, op, fd, event);
}
