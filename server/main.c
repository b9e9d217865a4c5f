/* shardwrightd: start everything in the order of the layers, wait for a signal, stop in the reverse order. */
#include "server/server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ASK_MS = 30000, DRAIN_MS = 3000, TOOL_QUEUE = 256, EXIT_USAGE = 64, EXIT_INTERNAL = 3 };

/* ---------------------------------------------------------------- the worker program */

static status find_worker(server *srv, diag *d)
{
	ssize_t n;
	if (srv->opt.worker_binary[0]) {
		char *full = realpath(srv->opt.worker_binary, NULL);
		snprintf(srv->worker, sizeof srv->worker, "%s", full ? full : srv->opt.worker_binary);
		free(full);
	} else if ((n = readlink("/proc/self/exe", srv->worker, sizeof srv->worker - 1)) > 0) {
		srv->worker[n] = 0;
		char *slash = strrchr(srv->worker, '/');
		snprintf(slash, sizeof srv->worker - (size_t)(slash - srv->worker), "/shardwright");
	}
	if (access(srv->worker, X_OK) != 0)
		return diag_set(d, ST_ERR_NOT_FOUND, "the worker program '%.300s' cannot be run: %s; see --worker-binary", srv->worker, strerror(errno));
	return ST_OK;
}

/* Where the worker's libraries lie in places that the sandbox does not know, workers run without it rather than not at all. */
static void find_confinement(server *srv)
{
	char *argv[] = {srv->worker, "version", NULL};
	srv->confined = sandbox_possible();
	for (int i = 0; srv->confined && i < 2; i++) {
		child_limits limits = {.confined = i == 0};
		run_result run;
		child_run(srv->worker, argv, &limits, ASK_MS, 4096, NULL, &run);
		bool works = !run.not_started && run.exit_code == 0;
		run_result_release(&run);
		if (i == 0 && works)
			return;
		if (i == 1 && works) {
			srv->confined = false;
			log_warn("event=no_sandbox worker=\"%s\"", srv->worker);
		}
	}
}

/* The names of the device profiles, and the whole answer for GET /v1/devices. */
static status read_devices(server *srv, diag *d)
{
	char *argv[] = {srv->worker, "devices", "--json", NULL};
	child_limits limits = {.confined = srv->confined};
	run_result run;
	child_run(srv->worker, argv, &limits, ASK_MS, 16 << 20, NULL, &run);
	cJSON *root = run.exit_code == 0 ? json_parse(run.out.p, run.out.n, 16 << 20, NULL) : NULL;
	srv->devices_json = root ? strdup(run.out.p) : NULL;
	run_result_release(&run);
	if (!root)
		return diag_set(d, ST_ERR_INTERNAL, "'%.300s devices --json' failed: is it the shardwright program?", srv->worker);
	const cJSON *list = cJSON_IsArray(root) ? root : cJSON_GetObjectItemCaseSensitive(root, "devices");
	srv->device_names = xcalloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *srv->device_names);
	for (const cJSON *item = list ? list->child : NULL; item; item = item->next) {
		const cJSON *name = cJSON_IsString(item) ? item : cJSON_GetObjectItemCaseSensitive(item, "name");
		if (cJSON_IsString(name))
			srv->device_names[srv->device_count++] = arena_strdup(&srv->opt.mem, name->valuestring, strlen(name->valuestring));
	}
	cJSON_Delete(root);
	return ST_OK;
}

/* The tool answers in one line: shardwright VERSION (cost model VERSION, ..). */
static status read_version(server *srv, diag *d)
{
	static const char mark[] = "cost model ";
	char *argv[] = {srv->worker, "version", NULL};
	child_limits limits = {.confined = srv->confined};
	run_result run;
	child_run(srv->worker, argv, &limits, ASK_MS, 4096, NULL, &run);
	char *line = run.out.p, *model = line ? strstr(line, mark) : NULL;
	if (run.exit_code != 0 || !model) {
		run_result_release(&run);
		return diag_set(d, ST_ERR_INTERNAL, "'%.300s version' does not name its cost model", srv->worker);
	}
	line[strcspn(line, "\r\n")] = 0;
	model += strlen(mark);
	snprintf(srv->cost_model, sizeof srv->cost_model, "%.*s", (int)strcspn(model, ",)"), model);
	strbuf b;
	strbuf_init(&b);
	strbuf_putc(&b, '{');
	json_text(&b, "daemon", SERVER_VERSION);
	json_text(&b, "cost_model", srv->cost_model);
	json_text(&b, "sqlite", sqlite3_libversion());
	json_text(&b, "tool", line);
	strbuf_putc(&b, '}');
	srv->version_json = b.p;
	run_result_release(&run);
	return ST_OK;
}

/* ---------------------------------------------------------------- start and stop */

/* Tells systemd, when it started us, how we are. */
static void notify(const char *what)
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
			log_warn("event=notify_failed error=\"%s\"", strerror(errno));
		close(fd);
	}
}

static status start(server *srv, diag *d)
{
	srv->tcp_fd = srv->local_fd = -1;
	memory_init(&srv->memory, srv->opt.memory);
	TRY(find_worker(srv, d));
	if (!srv->opt.worker_memory && sandbox_possible())
		srv->opt.worker_memory = worker_memory_share(srv);
	find_confinement(srv);
	TRY(read_devices(srv, d));
	TRY(read_version(srv, d));
	page_prepare(srv);
	if (srv->opt.tokens[0] && !(srv->tokens = tokens_load(srv->opt.tokens, d)))
		return d->code;
	if (!(srv->store = store_open(srv->opt.store, &srv->metrics, d)))
		return d->code;
	strategies_cache_init(srv);
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
	if (srv->store)
		store_close(srv->store);
	if (srv->cache)
		strategies_cache_release(srv);
	if (srv->tools)
		tasks_free(srv->tools);
	if (srv->connections)
		connections_free(srv->connections);
	if (srv->hub)
		watch_free(srv->hub);
	tokens_free(srv->tokens);
	page_release(srv);
	free(srv->devices_json);
	free(srv->version_json);
	free(srv->device_names);
}

/* Whoever is parked gets an answer first: libmicrohttpd must not be stopped with parked requests. Also ends a start that
 * came half way. */
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
		int n = (int)(strrchr(srv->opt.listen, ':') - srv->opt.listen);
		printf("listening on %s://%.*s:%u\n", srv->opt.tls_cert[0] ? "https" : "http", n, srv->opt.listen, srv->port);
	}
	if (srv->local)
		printf("listening on unix:%s\n", srv->opt.unix_socket);
	fflush(stdout);
	log_info("event=started port=%u store=\"%s\" worker=\"%s\" cost_model=\"%s\" devices=%u", srv->port, srv->opt.store, srv->worker,
		srv->cost_model, srv->device_count);
}

static void reload(server *srv)
{
	diag d = {0};
	bool ok = !srv->tokens || tokens_reload(srv->tokens, &d) == ST_OK;
	ok = (!srv->opt.tls_cert[0] || tls_load(&srv->opt, &d) == ST_OK) && ok;
	if (!ok)
		log_warn("event=reload_failed error=\"%s\"", d.msg);
	else
		log_info("event=reloaded");
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
	pthread_sigmask(SIG_BLOCK, &signals, NULL); /* inherited by every thread: only sigwait takes them */
	if (start(srv, &d) != ST_OK) {
		fputs("shardwrightd: ", stderr);
		diag_print(&d, stderr);
		stop(srv);
		return status_exit_code(d.code);
	}
	say_address(srv);
	notify("READY=1");
	while (sigwait(&signals, &which) != 0 || which == SIGHUP)
		if (which == SIGHUP)
			reload(srv);
	notify("STOPPING=1");
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
