/* Preloaded into a daemon: makes calls fail while a file of that name lies in the folder FAULTS names.
 *   fork    EAGAIN, as at the limit of processes
 *   pread   EIO, for files whose name ends in shardwright.db or shardwright.db-wal
 *   open    EMFILE, for the database
 * Workers do not have it: their environment is clean, and fork comes before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wanted(const char *fault)
{
	char path[512];
	const char *folder = getenv("FAULTS");
	snprintf(path, sizeof path, "%s/%s", folder ? folder : "/nonexistent", fault);
	return access(path, F_OK) == 0;
}

static int is_database(int fd)
{
	char link[64], name[512];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, sizeof name - 1);
	name[n > 0 ? n : 0] = 0;
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
