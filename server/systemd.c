/* The protocol of a service manager: messages to NOTIFY_SOCKET (sd_notify(3)), sockets that it
 * opened (sd_listen_fds(3)). Both are a few lines each and stable by promise; so libsystemd is no
 * dependency. */
#include "server/access.h"
#include "server/observe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_SOCKET = 3 };

void systemd_notify(const char *what)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	if (!path || strlen(path) >= sizeof a.sun_path)
		return;
	memcpy(a.sun_path, path, strlen(path));
	socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (a.sun_path[0] == '@')
		a.sun_path[0] = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		if (sendto(fd, what, strlen(what), 0, (struct sockaddr *)&a, n) < 0)
			log_warn("event=notify_failed error=%s", log_quoted(strerror(errno)).text);
		close(fd);
	}
}

void systemd_reloading(void)
{
	char text[80];
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%lld",
		(long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	systemd_notify(text);
}

/* Meant for this process, and not for one that started it. */
static bool is_ours(const char *variable)
{
	const char *text = getenv(variable);
	int64_t pid;
	return text && str_to_i64(str_of(text), &pid) && pid == getpid();
}

int64_t systemd_watchdog_ns(void)
{
	const char *text = getenv("WATCHDOG_USEC");
	int64_t us;
	bool other = getenv("WATCHDOG_PID") && !is_ours("WATCHDOG_PID");
	return text && !other && str_to_i64(str_of(text), &us) && us > 0 && us < INT64_MAX / 1000
		? us * 1000 / 3
		: 0;
}

bool systemd_sockets(int *out_tcp, int *out_local, diag *d)
{
	const char *text = getenv("LISTEN_FDS");
	int64_t n;
	*out_tcp = *out_local = -1;
	if (!text || !is_ours("LISTEN_PID") || !str_to_i64(str_of(text), &n) || n < 1)
		return true;
	for (int fd = FIRST_SOCKET; fd < FIRST_SOCKET + n; fd++) {
		struct sockaddr_storage a;
		socklen_t size = sizeof a;
		int type = 0;
		socklen_t type_size = sizeof type;
		if (getsockname(fd, (struct sockaddr *)&a, &size) != 0 ||
			getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || type != SOCK_STREAM)
			return diag_set(d, ST_ERR_INVALID,
					   "descriptor %d of the service manager is no stream socket", fd),
				   false;
		int *slot = a.ss_family == AF_UNIX ? out_local : out_tcp;
		if (*slot >= 0)
			return diag_set(d, ST_ERR_INVALID,
					   "the service manager gave two sockets of a kind: one of TCP and one of Unix "
					   "are served"),
				   false;
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		*slot = fd;
	}
	return true;
}
