/* Preloaded into a daemon: taking a descriptor out of an epoll set takes long, longest for threads.
 * Holds the windows open that are there between libmicrohttpd's thread and the one that stops it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
	int (*real)(int, int, int, struct epoll_event *);
	*(void **)&real = dlsym(RTLD_NEXT, "epoll_ctl");
	if (op == EPOLL_CTL_DEL)
		usleep(syscall(SYS_gettid) == getpid() ? 20000 : 60000);
	return real(set, op, fd, event);
}
