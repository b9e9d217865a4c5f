/* Absolute deadlines. libmicrohttpd's own timeout only ends silent connections; a client that sends
 * a byte now and then would stay for ever. The reaper shuts such sockets down, and libmicrohttpd
 * then closes them as it does after any hang-up. A hang-up right behind the last bytes of an
 * unfinished request stays unseen too (edge-triggered epoll reports both at once): the reaper looks
 * for it. It also wakes long polls and event streams whose time has come. */
#include "server/server.h"

#include <stdlib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TICK_US = 100000, HANGUP_TICKS = 5 };

typedef struct peer {
	struct peer *next, **link;
	int fd;
	bool reaped, receiving; /* receiving: a request is on its way in */
	bool hung_up;           /* seen at the last look */
	int64_t deadline_ns;
	gate *gate;
	uint64_t requests; /* begun; of the connection's own thread */
} peer;

struct connections {
	server *srv;
	pthread_mutex_t mutex; /* of the list and its peers; a leaf */
	peer *first;
	pthread_t thread;
	atomic_bool stop;
	_Atomic int64_t turned_ns;
};

static void reap(connections *c, int64_t now)
{
	pthread_mutex_lock(&c->mutex);
	for (peer *p = c->first; p; p = p->next)
		if (p->deadline_ns <= now && !p->reaped) {
			p->reaped = true;
			shutdown(p->fd, SHUT_RDWR);
			metric_add(c->srv, connections_reaped, 1);
		}
	pthread_mutex_unlock(&c->mutex);
}

/* What had arrived before the hang-up is worked off between two looks, so one that is still there
 * at the second look means a request that will never be complete. */
static void find_hangups(connections *c)
{
	pthread_mutex_lock(&c->mutex);
	for (peer *p = c->first; p; p = p->next) {
		struct pollfd look = {p->fd, POLLRDHUP, 0};
		if (!p->receiving || p->reaped || poll(&look, 1, 0) <= 0)
			continue;
		if (p->hung_up)
			shutdown(p->fd, SHUT_RDWR);
		p->reaped = p->hung_up;
		p->hung_up = true;
	}
	pthread_mutex_unlock(&c->mutex);
}

static void *reaper_main(void *cls)
{
	connections *c = cls;
	for (unsigned tick = 0; !atomic_load(&c->stop); tick++) {
		int64_t now = clock_ns();
		atomic_store_explicit(&c->turned_ns, now, memory_order_relaxed);
		reap(c, now);
		if (tick % HANGUP_TICKS == 0)
			find_hangups(c);
		watch_expire(c->srv->hub, now);
		memory_recover();
		hits_flush(c->srv->hits, false);
		retain_if_due(c->srv);
		usleep(TICK_US);
	}
	return NULL;
}

connections *connections_new(server *srv)
{
	connections *c = xcalloc(1, sizeof *c);
	c->srv = srv;
	c->turned_ns = clock_ns();
	pthread_mutex_init(&c->mutex, NULL);
	if (pthread_create(&c->thread, NULL, reaper_main, c) == 0)
		return c;
	connections_free(c);
	return NULL;
}

int64_t connections_turned_ns(connections *c)
{
	return atomic_load_explicit(&c->turned_ns, memory_order_relaxed);
}

void connections_stop(connections *c)
{
	atomic_store(&c->stop, true);
	pthread_join(c->thread, NULL);
}

void connections_free(connections *c)
{
	pthread_mutex_destroy(&c->mutex);
	free(c);
}

static int64_t deadline_of(const options *o, connection_phase phase)
{
	int64_t seconds = 0;
	switch (phase) {
	case PHASE_HEAD: seconds = o->header_timeout; break;
	case PHASE_BODY:
	case PHASE_SEND: seconds = o->body_timeout; break;
	case PHASE_IDLE: seconds = o->idle_timeout + o->header_timeout; break;
	case PHASE_WORK: return INT64_MAX;
	}
	return clock_ns() + seconds * 1000000000;
}

static bool is_encrypted(const server *srv, struct MHD_Connection *conn)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	return srv->opt.tls_cert[0] && info && info->client_addr &&
		info->client_addr->sa_family != AF_UNIX;
}

void connections_notify(void *cls, struct MHD_Connection *conn, void **context,
	enum MHD_ConnectionNotificationCode code)
{
	connections *c = cls;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		peer *p = xcalloc(1, sizeof *p);
		p->fd = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		p->deadline_ns = deadline_of(&c->srv->opt, PHASE_HEAD);
		p->receiving = true;
		p->gate = gate_new();
		gate_put(p->fd, p->gate, is_encrypted(c->srv, conn));
		pthread_mutex_lock(&c->mutex);
		p->next = c->first;
		p->link = &c->first;
		if (c->first)
			c->first->link = &p->next;
		c->first = p;
		pthread_mutex_unlock(&c->mutex);
		*context = p;
		metric_add(c->srv, connections_open, 1);
	} else if (*context) {
		peer *p = *context;
		/* Under the mutex: the descriptor is closed after this call, and then belongs to somebody
		 * else. */
		pthread_mutex_lock(&c->mutex);
		*p->link = p->next;
		if (p->next)
			p->next->link = p->link;
		pthread_mutex_unlock(&c->mutex);
		gate_put(p->fd, NULL, false);
		gate_free(p->gate);
		free(p);
		*context = NULL;
		metric_add(c->srv, connections_open, -1);
	}
}

void connections_phase(connections *c, struct MHD_Connection *conn, connection_phase phase)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	peer *p = info ? info->socket_context : NULL;
	if (!p)
		return;
	int64_t deadline = deadline_of(&c->srv->opt, phase);
	pthread_mutex_lock(&c->mutex);
	p->deadline_ns = deadline;
	p->receiving = phase == PHASE_HEAD || phase == PHASE_BODY || phase == PHASE_IDLE;
	p->hung_up = false;
	pthread_mutex_unlock(&c->mutex);
}

uint64_t connections_request(struct MHD_Connection *conn, gate **out)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	peer *p = info ? info->socket_context : NULL;
	*out = p && gate_of(p->fd) == p->gate ? p->gate : NULL;
	return p ? ++p->requests : 0;
}
