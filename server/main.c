/* shardwrightd: start everything in the order of the layers, wait for a signal, stop in the reverse
 * order. */
#include "server/server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STUCK_NS (60ll * 1000000000)
enum { DRAIN_MS = 3000, TOOL_QUEUE = 256, EXIT_USAGE = 64, EXIT_INTERNAL = 3 };

/* ---------------------------------------------------------------- start and stop */

static void make_version(server *srv)
{
	strbuf b;
	strbuf_init(&b);
	strbuf_putc(&b, '{');
	json_text(&b, "daemon", SERVER_VERSION);
	json_text(&b, "cost_model", srv->cost_model);
	json_text(&b, "sqlite", sqlite3_libversion());
	json_text(&b, "tool", srv->tool_version);
	strbuf_putc(&b, '}');
	srv->version_json = b.p;
}

static void wake_watchers(server *srv, const char *id) { watch_notify(srv->hub, id); }

/* The best answer to a question may be another one now. */
static void outdate_answers(server *srv) { response_cache_outdate(srv->responses); }

static status start(server *srv, diag *d)
{
	srv->search_changed = wake_watchers;
	srv->answer_found = outdate_answers;
	srv->tcp_fd = srv->local_fd = -1;
	memory_init(&srv->memory, srv->opt.memory);
	TRY(shares_parse(&srv->shares, srv->opt.shares, d));
	srv->rules = (fair_rules){&srv->shares, srv->opt.owner_workers};
	TRY(worker_find(srv, d));
	make_version(srv);
	page_prepare(srv);
	if (srv->opt.tokens[0] && !(srv->tokens = tokens_load(srv->opt.tokens, d)))
		return d->code;
	if (!(srv->store = store_open(srv->opt.store, &srv->metrics, d)))
		return d->code;
	srv->hits = hits_new(srv->store);
	srv->responses = response_cache_new(srv);
	srv->hub = watch_new();
	srv->tools = tasks_new((int)srv->opt.tool_threads, TOOL_QUEUE);
	srv->supervisor = srv->tools ? supervisor_new(srv) : NULL;
	srv->connections = srv->supervisor ? connections_new(srv) : NULL;
	if (!srv->connections)
		return diag_set(d, ST_ERR_INTERNAL, "cannot start threads");
	return http_start(srv, d);
}

static void release(server *srv)
{
	if (srv->hits)
		hits_flush(srv->hits, true);
	if (srv->store)
		store_close(srv->store);
	hits_free(srv->hits);
	response_cache_free(srv->responses);
	if (srv->tools)
		tasks_free(srv->tools);
	if (srv->connections)
		connections_free(srv->connections);
	if (srv->hub)
		watch_free(srv->hub);
	tokens_free(srv->tokens);
	vec_release(&srv->shares);
	page_release(srv);
	worker_release(srv);
	free(srv->version_json);
}

/* Whoever is parked gets an answer first: libmicrohttpd must not be stopped with parked requests.
 * Also ends a start that came half way. */
static void stop(server *srv)
{
	atomic_store(&srv->stopping, true);
	http_quiesce(srv);
	if (srv->hub)
		watch_stop(srv->hub);
	if (srv->tools)
		tasks_stop(srv->tools);
	if (srv->supervisor)
		supervisor_stop(srv->supervisor);
	for (int i = 0; atomic_load(&srv->requests_active) > 0 && i < DRAIN_MS / 10; i++)
		usleep(10000);
	http_stop(srv);
	if (srv->connections)
		connections_stop(srv->connections);
	release(srv);
}

static void say_address(const server *srv)
{
	if (srv->tcp) {
		const char *host = srv->activated ? "*:" : srv->opt.listen;
		printf("listening on %s://%.*s:%u\n", srv->opt.tls_cert[0] ? "https" : "http",
			(int)(strrchr(host, ':') - host), host, srv->port);
	}
	if (srv->local)
		printf("listening on unix:%s\n",
			srv->activated ? "(of the service manager)" : srv->opt.unix_socket);
	fflush(stdout);
	log_info("event=started port=%u store=%s worker=%s cost_model=%s devices=%u", srv->port,
		log_quoted(srv->opt.store).text, log_quoted(srv->worker).text,
		log_quoted(srv->cost_model).text, srv->device_count);
}

/* A disk that hangs holds the supervisor up too, and another start would not help: it gets long
 * enough for that to show. */
static bool is_turning(server *srv)
{
	int64_t now = clock_ns();
	bool ok = now - supervisor_turned_ns(srv->supervisor) < STUCK_NS &&
		now - connections_turned_ns(srv->connections) < STUCK_NS;
	if (!ok)
		log_warn("event=stuck");
	return ok;
}

static void reload(server *srv)
{
	diag d = {0};
	systemd_reloading();
	bool ok = !srv->tokens || tokens_reload(srv->tokens, &d) == ST_OK;
	ok = (!srv->opt.tls_cert[0] || tls_load(&srv->opt, &d) == ST_OK) && ok;
	if (!ok)
		log_warn("event=reload_failed error=%s", log_quoted(d.msg).text);
	else
		log_info("event=reloaded");
	systemd_notify("READY=1");
}

/* Waits for a signal; meanwhile systemd, if it wants to, hears every so often that the threads
 * which everything waits for still turn. */
static int wait_for_signal(server *srv, const sigset_t *signals)
{
	int64_t every_ns = systemd_watchdog_ns();
	struct timespec pause = {every_ns / 1000000000, every_ns % 1000000000};
	for (;;) {
		int which = every_ns ? sigtimedwait(signals, NULL, &pause) : sigwaitinfo(signals, NULL);
		if (which > 0)
			return which;
		if (every_ns && errno == EAGAIN && is_turning(srv))
			systemd_notify("WATCHDOG=1");
	}
}

static int serve_until_signal(server *srv)
{
	diag d = {0};
	sigset_t signals;
	int which;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit of file size is an error of one write, not the end */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(
		SIG_BLOCK, &signals, NULL); /* inherited by every thread: only sigwait takes them */
	if (start(srv, &d) != ST_OK) {
		fputs("shardwrightd: ", stderr);
		diag_print(&d, stderr);
		stop(srv);
		return status_exit_code(d.code);
	}
	say_address(srv);
	systemd_notify("READY=1");
	while ((which = wait_for_signal(srv, &signals)) == SIGHUP)
		reload(srv);
	systemd_notify("STOPPING=1");
	log_info("event=stopping signal=%d", which);
	stop(srv);
	log_info("event=stopped");
	return 0;
}

int main(int argc, char **argv)
{
	diag d = {0};
	server *srv = xcalloc(1, sizeof *srv);
	int code = 0;
	if (options_parse(&srv->opt, argc, argv, &d) != ST_OK) {
		fputs("shardwrightd: ", stderr);
		diag_print(&d, stderr);
		fputs("see shardwrightd --help\n", stderr);
		code = d.file[0] ? 1 : EXIT_USAGE;
	} else if (srv->opt.help) {
		options_help(stdout);
	} else if (srv->opt.version) {
		printf("shardwrightd %s\n", SERVER_VERSION);
	} else if (srv->opt.check) {
		code = store_check(srv->opt.store, stdout, &d) ? 0 : 1;
		if (d.code != ST_OK)
			diag_print(&d, stderr);
	} else if (srv->opt.new_token) {
		status s = tokens_add(srv->opt.tokens, srv->opt.new_token, &d);
		if (s != ST_OK)
			diag_print(&d, stderr);
		code = status_exit_code(s);
	} else {
		code = serve_until_signal(srv);
	}
	options_release(&srv->opt);
	free(srv);
	return code;
}
