/* Sockets, and libmicrohttpd on them: how many connections there may be, start and stop. */
#include "server/server.h"
#include "server/http_private.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	BACKLOG = 511,
	CONNECTION_MEMORY = 32 << 10,
	CONNECTION_BYTES = 40 << 10,
	MOST_DESCRIPTORS = 4 << 20
};

static bool is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 &&
		IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static status check_reach(server *srv, const struct sockaddr *a, diag *d)
{
	if (!is_loopback(a) && !srv->tokens && !srv->opt.insecure)
		return diag_set(d, ST_ERR_INVALID,
			"'%s' is reachable by others: give --tokens FILE, or --insecure to let everybody in",
			srv->activated ? "the service manager's socket" : srv->opt.listen);
	if (!srv->opt.address_connections && !is_loopback(a))
		srv->opt.address_connections = 64;
	return ST_OK;
}

static uint16_t port_of(const struct sockaddr_storage *a)
{
	return ntohs(a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
										  : ((const struct sockaddr_in *)a)->sin_port);
}

/* One that the service manager opened. */
static status take_tcp(server *srv, diag *d)
{
	struct sockaddr_storage bound;
	socklen_t n = sizeof bound;
	if (getsockname(srv->tcp_fd, (struct sockaddr *)&bound, &n) != 0)
		return diag_set(d, ST_ERR_IO, "the service manager's socket: %s", strerror(errno));
	srv->port = port_of(&bound);
	return check_reach(srv, (struct sockaddr *)&bound, d);
}

static status bind_address(server *srv, const struct addrinfo *a, diag *d)
{
	int on = 1;
	TRY(check_reach(srv, a->ai_addr, d));
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return diag_set(d, ST_ERR_IO, "cannot make a socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	struct sockaddr_storage bound;
	socklen_t n = sizeof bound;
	if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0 ||
		getsockname(fd, (struct sockaddr *)&bound, &n) != 0) {
		diag_set(d, ST_ERR_IO, "cannot listen on '%s': %s", srv->opt.listen, strerror(errno));
		close(fd);
		return ST_ERR_IO;
	}
	srv->tcp_fd = fd;
	srv->port = port_of(&bound);
	return ST_OK;
}

static status open_tcp(server *srv, diag *d)
{
	char host[256];
	const char *address = srv->opt.listen, *colon = strrchr(address, ':');
	if (!colon || (size_t)(colon - address) >= sizeof host)
		return diag_set(d, ST_ERR_INVALID, "--listen is '%s', expected HOST:PORT", address);
	bool brackets = address[0] == '[' && colon > address && colon[-1] == ']';
	snprintf(host, sizeof host, "%.*s", (int)(colon - address) - 2 * brackets, address + brackets);
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
					*list = NULL;
	int rc = getaddrinfo(host[0] ? host : NULL, colon + 1, &hints, &list);
	if (rc != 0)
		return diag_set(d, ST_ERR_INVALID, "--listen is '%s': %s", address, gai_strerror(rc));
	status s = bind_address(srv, list, d);
	freeaddrinfo(list);
	return s;
}

static status open_local(server *srv, diag *d)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const char *path = srv->opt.unix_socket;
	if (strlen(path) >= sizeof a.sun_path)
		return diag_set(
			d, ST_ERR_INVALID, "--unix: the path is longer than %zu bytes", sizeof a.sun_path - 1);
	memcpy(a.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0) {
		close(fd);
		return diag_set(d, ST_ERR_INVALID, "somebody serves on '%s' already", path);
	}
	if (errno == ECONNREFUSED)
		unlink(path); /* left by a daemon that was killed */
	gid_t group = 0;
	if (srv->opt.unix_group[0] && !group_find(srv->opt.unix_group, &group)) {
		if (fd >= 0)
			close(fd);
		return diag_set(
			d, ST_ERR_INVALID, "--unix-group is '%s', which is no group", srv->opt.unix_group);
	}
	mode_t before = umask(0177);
	bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
	umask(before);
	if (ok && srv->opt.unix_group[0])
		ok = chown(path, (uid_t)-1, group) == 0 && chmod(path, 0660) == 0;
	ok = ok && listen(fd, BACKLOG) == 0;
	if (!ok) {
		diag_set(d, ST_ERR_IO, "cannot listen on '%s': %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return ST_ERR_IO;
	}
	srv->local_fd = fd;
	return ST_OK;
}

static void mhd_log(void *cls, const char *fmt, va_list args)
{
	char text[400];
	(void)cls;
	vsnprintf(text, sizeof text, fmt, args);
	log_warn("event=http text=%s", log_quoted(text).text);
}

/* Percent-decoding, but a %00 stays as it is: decoded it would cut the text short. */
static size_t unescape(void *cls, struct MHD_Connection *conn, char *text)
{
	(void)cls;
	(void)conn;
	return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

static int64_t http_threads(const options *o)
{
	return o->http_threads ? o->http_threads : MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 2), 4);
}

static struct MHD_Daemon *start_daemon(
	server *srv, int fd, int64_t most, int64_t per_address, bool tls)
{
	const options *o = &srv->opt;
	int64_t threads = http_threads(o);
	struct MHD_OptionItem items[] = {
		{MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)mhd_log, NULL},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)http_completed, srv},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)connections_notify, srv->connections},
		{MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape, NULL},
		{MHD_OPTION_LISTEN_SOCKET, fd, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, (intptr_t)most, NULL},
		{MHD_OPTION_PER_IP_CONNECTION_LIMIT, (intptr_t)per_address, NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)o->idle_timeout, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL},
		{MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
		{threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)threads, NULL},
		{MHD_OPTION_END, 0, NULL},
	};
	struct MHD_OptionItem secure[] = {
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_callback()},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
		{MHD_OPTION_END, 0, NULL},
	};
	return MHD_start_daemon((tls ? MHD_USE_TLS : 0) | MHD_USE_EPOLL_INTERNAL_THREAD |
			MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
		0, NULL, NULL, http_serve, srv, MHD_OPTION_ARRAY, items, MHD_OPTION_ARRAY,
		tls ? secure : &secure[COUNT_OF(secure) - 1], MHD_OPTION_END);
}

/* A connection holds its own descriptor, and at most one of a file: an upload's or an answer's.
 * What the daemon needs to read, write and start workers is kept aside, so that connections end
 * before it does. */
static int64_t most_by_descriptors(const options *o)
{
	struct rlimit files;
	int64_t reserve = 64 + 8 * (o->workers + o->tool_threads) + 4 * http_threads(o);
	rlim_t want = (rlim_t)(2 * o->connections + reserve);
	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return o->connections;
	if (files.rlim_cur < want) {
		files.rlim_cur = MIN(want, files.rlim_max);
		setrlimit(RLIMIT_NOFILE, &files);
		getrlimit(RLIMIT_NOFILE, &files);
	}
	return files.rlim_cur == RLIM_INFINITY ? o->connections
										   : ((int64_t)files.rlim_cur - reserve) / 2;
}

static void fit_connections(options *o)
{
	int64_t files = most_by_descriptors(o), by_memory = memory_of_process() / 4 / CONNECTION_BYTES,
			most = MAX(MIN(files, by_memory), 8);
	if (o->connections <= most)
		return;
	log_warn("event=fewer_connections wanted=%lld taken=%lld by=%s", (long long)o->connections,
		(long long)most, files < by_memory ? "descriptors" : "memory");
	o->connections = most;
}

status http_start(server *srv, diag *d)
{
	if (!reply_last_resort(srv))
		return diag_set(d, ST_ERR_INTERNAL, "there is no memory to start with");
	if (!systemd_sockets(&srv->tcp_fd, &srv->local_fd, d))
		return d->code;
	srv->activated = srv->tcp_fd >= 0 || srv->local_fd >= 0;
	bool tcp = srv->activated ? srv->tcp_fd >= 0 : srv->opt.listen[0],
		 unix_socket = srv->activated ? srv->local_fd >= 0 : srv->opt.unix_socket[0];
	if (!tcp && !unix_socket)
		return diag_set(d, ST_ERR_INVALID, "nothing to serve on: give --listen or --unix");
	struct rlimit files;
	if (!srv->opt.tls_cert[0] != !srv->opt.tls_key[0])
		return diag_set(d, ST_ERR_INVALID, "--tls-cert and --tls-key go together");
	if (srv->opt.tls_cert[0])
		TRY(tls_load(&srv->opt, d));
	fit_connections(&srv->opt);
	if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
		!gate_init(MIN((size_t)files.rlim_cur, (size_t)MOST_DESCRIPTORS)))
		return diag_set(
			d, ST_ERR_INTERNAL, "the HTTP library does not read through the request gate");
	/* Those that come over the Unix socket have connections of their own: the network cannot take
	 * them. */
	int64_t local = !unix_socket ? 0
		: !tcp                   ? srv->opt.connections
								 : MAX(srv->opt.connections / 4, 4);
	int64_t remote = srv->opt.connections - local;
	if (tcp) {
		TRY(srv->activated ? take_tcp(srv, d) : open_tcp(srv, d));
		int64_t each =
			srv->opt.address_connections ? srv->opt.address_connections : MAX(remote / 2, 1);
		srv->tcp = start_daemon(srv, srv->tcp_fd, remote, each, srv->opt.tls_cert[0] != 0);
		if (!srv->tcp)
			return diag_set(d, ST_ERR_INTERNAL, "cannot start the HTTP server");
	}
	if (unix_socket) {
		if (!srv->activated)
			TRY(open_local(srv, d));
		srv->local = start_daemon(srv, srv->local_fd, local, 0, false);
		if (!srv->local)
			return diag_set(d, ST_ERR_INTERNAL, "cannot start the HTTP server");
	}
	return ST_OK;
}

typedef int (*epoll_ctl_function)(int, int, int, struct epoll_event *);

/* libmicrohttpd takes the listening socket out of a thread's epoll set both in MHD_quiesce_daemon
 * and in that thread once it sees the flag, and 0.9.75 ends the process when the second of them
 * finds it gone. It calls epoll_ctl() through the dynamic linker, and so finds this one: what is
 * not there is removed. */
int epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
	static _Atomic(epoll_ctl_function) next; /* its only writers write the same */
	epoll_ctl_function call = atomic_load_explicit(&next, memory_order_relaxed);
	if (!call) {
		*(void **)&call = dlsym(RTLD_NEXT, "epoll_ctl");
		atomic_store_explicit(&next, call, memory_order_relaxed);
	}
	int failed = call(set, op, fd, event);
	return failed && op == EPOLL_CTL_DEL && errno == ENOENT ? 0 : failed;
}

void http_quiesce(server *srv)
{
	if (srv->tcp)
		MHD_quiesce_daemon(srv->tcp);
	if (srv->local)
		MHD_quiesce_daemon(srv->local);
	if (srv->activated)
		return; /* who comes now waits in its queue for the next start */
	/* New clients are refused. Closed only behind MHD_stop_daemon: its thread may be about to take
	 * the socket out of its epoll set, and ends the process when that is no socket any more. */
	if (srv->tcp_fd >= 0)
		shutdown(srv->tcp_fd, SHUT_RDWR);
	if (srv->local_fd >= 0) {
		shutdown(srv->local_fd, SHUT_RDWR);
		unlink(srv->opt.unix_socket);
	}
}

void http_stop(server *srv)
{
	if (srv->tcp)
		MHD_stop_daemon(srv->tcp);
	if (srv->local)
		MHD_stop_daemon(srv->local);
	if (srv->last_resort)
		MHD_destroy_response(srv->last_resort);
	if (srv->tcp_fd >= 0)
		close(srv->tcp_fd);
	if (srv->local_fd >= 0)
		close(srv->local_fd);
}
