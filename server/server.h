/* server: shardwrightd, the daemon. It answers HTTP, keeps every request and every answer in
 * SQLite, and lets worker processes (the shardwright binary beside it) do all parsing and
 * searching: a crash, a memory limit or a cancel stays inside one worker.
 *
 *   HTTP threads (libmicrohttpd)     never block: they validate, read (own read-only connection), or park the request
 *   writer thread   (store_write.c)  the only writer of the database; group commit; answers leave after COMMIT
 *   supervisor      (supervisor.c)   claims queued searches, starts and watches their workers, keeps leases alive
 *   tool threads    (tasks.c)        short worker runs: fingerprint of an upload, simulate, opt, apply
 *   reaper          (connections.c)  ends connections past their absolute deadline, wakes long polls and event streams
 *
 * Each header is of one room and includes those that it stands on; server.h has them all, and the
 * daemon itself. A file includes what it needs of them:
 *
 *   common.h    sizes of names                     for all
 *   options.h   settings                           options.c
 *   observe.h   what the daemon tells of itself    log.c metrics.c
 *   memory.h    what bodies and answers may take   memory.c
 *   json.h      JSON in and out, refusals          json_gate.c json_write.c fields.c problem.c
 *   spec.h      what a search request asks         spec.c spec_mesh.c spec_schedule.c
 *   objects.h   files by sha256, streamed uploads  objects.c upload.c
 *   store.h     the database                       store.c store_write.c store_migrate.c store_check.c
 *   searches.h  what is in it                      store_search.c store_search_json.c store_search_end.c store_list.c
 *                                                  store_names.c store_modules.c store_queue.c store_retention.c
 *                                                  modules.c retain.c hits.c search_detail.c
 *   evidence.h  what compilers and machines said   store_verify.c store_measure.c store_starts.c
 *   workers.h   processes that work                process.c worker.c sandbox.c tasks.c supervisor.c supervisor_start.c
 *                                                  supervisor_end.c
 *   access.h    who may ask                        tokens.c gate.c tls.c origin.c systemd.c connections.c
 *   http.h      requests and answers               http.c head.c request.c reply.c listen.c body.c objects_response.c watch.c
 *                                                  response_cache.c routes.c, handle_*.c: one file per resource
 *   embed.h     files inside the binary            embed.c
 *
 * batch/ fills stores without HTTP: it links the store, the supervisor and what they need, none of
 * which calls libmicrohttpd.
 *
 * Lock order: watch bucket -> libmicrohttpd's own locks. Every other lock is a leaf. */
#ifndef SW_SERVER_H
#define SW_SERVER_H

#include "server/embed.h"
#include "server/evidence.h"
#include "server/http.h"
#include "server/workers.h"

#include <pthread.h>

struct server {
	options opt;
	memory memory;
	metrics metrics;
	store *store;
	watch_hub *hub;
	void *cls; /* of search_changed */
	void (*search_changed)(
		server *srv, const char *id); /* of the supervisor, after a commit; on any of its threads */
	task_pool *tools;
	supervisor *supervisor;
	connections *connections;
	tokens *tokens; /* NULL: everything is open */
	shares shares;
	fair_rules rules;
	char worker[512];
	bool confined;                     /* workers are */
	char *devices_json, *version_json; /* of the worker, read once at start */
	char tool_version[256];
	const char **device_names;
	uint32_t device_count;
	char cost_model[128];
	char page_policy[640]; /* Content-Security-Policy of the page */
	char page_tag[72];     /* its ETag */
	strbuf page_gzip;      /* it, compressed */
	response_cache *responses;
	void (*answer_found)(server *srv); /* of the supervisor: a search has succeeded; may be NULL */
	hits *hits;
	int64_t retain_ns; /* of the reaper: when retention is due again */
	atomic_bool retaining;
	struct MHD_Daemon *tcp, *local;
	struct MHD_Response *last_resort; /* what is said where there is no memory for another answer */
	int tcp_fd, local_fd;
	bool activated; /* the service manager's sockets */
	uint16_t port;
	_Atomic int64_t requests_active;
	atomic_bool stopping;
};

#endif
