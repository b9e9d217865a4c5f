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
 *   options.c  settings        json_gate.c   what JSON is let in      json_write.c  JSON out        problem.c  log.c  metrics.c
 *   spec.c     search request  upload.c      streamed decoding        objects.c     files by sha256 (objects_response.c: as an answer)
 *   store.c    open            store_search.c  life of a search       store_list.c  rows as JSON   modules.c  taking one in
 *   response_cache.c  ready answers   systemd.c  the service manager   retain.c  deletes what is old
 *   fields.c   typed fields    body.c     a request's JSON        store_verify.c, store_measure.c  what compilers and machines said
 *   store_starts.c   what searches begin with
 *   store_migrate.c  versions  store_queue.c   who is next            store_names.c labels, tags   hits.c     use of answers
 *   process.c  child processes http.c        requests and answers     routes.c      the table of routes
 *   handle_*.c one file per resource                                  watch.c       who waits for which search
 *   memory.c   what bodies and answers may take   gate.c   malformed requests   origin.c  hosts, pages, peers
 *   sandbox.c  what workers may do   worker.c  the worker program   tls.c  certificates
 *
 * batch/ fills stores without HTTP: it links the store, the supervisor and what they need, none of
 * which calls libmicrohttpd.
 *
 * Lock order: watch bucket -> libmicrohttpd's own locks. Every other lock is a leaf. */
#ifndef SW_SERVER_H
#define SW_SERVER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "base/base.h"

#include <cjson/cJSON.h>
#include <microhttpd.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/types.h>

#define SERVER_VERSION "0.1.0"

enum {
	ID_BYTES = 72,            /* "sha256:" and 64 hex digits, terminated */
	SEARCH_ID_BYTES = 35,     /* "s-" and 32 hex digits, terminated */
	MAX_JSON_BYTES = 1 << 20, /* a search request */
	MAX_TOOL_BYTES = 8 << 20, /* decoded body of /v1/simulate, /v1/opt and a verification */
	MAX_DOCUMENT_BYTES = 64 << 20,
};

typedef struct server server;
typedef struct request request;

/* ---------------------------------------------------------------- options.c */

/* One row per setting: it is a flag (--worker-memory), a key of the configuration file
 * ("worker_memory"), a field and a line of --help. INT and SIZE rows: field, default, least, most.
 */
#define OPTION_TABLE(TEXT, INT, SIZE, FLAG) \
	TEXT(listen, "127.0.0.1:7070", "HOST:PORT", \
		"address to serve on; port 0 takes a free one; empty for none") \
	TEXT(unix_socket, "", "PATH", \
		"also serve on this Unix socket (mode 0600): the same user needs no token") \
	TEXT(unix_group, "", "GROUP", \
		"members of this group are trusted on the Unix socket too (mode 0660)") \
	TEXT(host, "", "NAMES", \
		"names that clients may know this daemon by, separated by commas; * for any") \
	TEXT(store, "shardwright-store", "DIR", "where everything is kept; one daemon per store") \
	TEXT(tokens, "", "FILE", \
		"access tokens, one a line: NAME SCOPES SHA256 [EXPIRES]; needed to serve beyond " \
		"loopback") \
	TEXT(tls_cert, "", "FILE", \
		"serve HTTPS with this certificate (PEM, with its chain); read again by SIGHUP") \
	TEXT(tls_key, "", "FILE", "its key (PEM)") \
	TEXT( \
		worker_binary, "", "PATH", "the shardwright program; default: the one beside this daemon") \
	INT(workers, 1, 1, 256, "searches that run at the same time") \
	INT(worker_threads, 0, 0, 1024, "threads of one search; 0 lets it use every core") \
	SIZE(worker_memory, 0, 0, (1ll << 50), \
		"address space of one worker; 0: a share of three quarters of the memory") \
	INT(worker_silence, 60, 1, 86400, \
		"a worker that neither computes nor speaks for so many seconds is killed") \
	SIZE(worker_cache, 0, 0, (1ll << 50), \
		"what the memo tables of one search may take; 0: the search's default") \
	INT(worker_nice, 5, 0, 19, "niceness of workers, so that answers stay quick beside a search") \
	SIZE(memory, 0, 0, (1ll << 50), \
		"what bodies and answers may take together; 0: a quarter of what there is, at most 2 GiB") \
	INT(search_seconds, 3600, 1, 604800, \
		"a search is ended after this time and keeps its best so far") \
	TEXT(shares, "", "OWNER=N,..", "weights of owners in the fair queue; 1 for those not named") \
	INT(owner_workers, 0, 0, 256, \
		"searches of one owner that run at the same time; 0: as many as there are workers") \
	INT(owner_queue, 0, 0, 10000000, \
		"searches of one owner that may wait; 0: as many as --queue; beyond it 429") \
	INT(search_attempts, 3, 1, 100, "a search whose worker crashed this often has failed") \
	INT(queue, 10000, 1, 10000000, "searches that may wait; beyond it requests get 429") \
	INT(tool_threads, 2, 1, 64, "module checks, simulate and opt runs at the same time") \
	INT(tool_seconds, 20, 1, 3600, "time limit of one simulate or opt run") \
	INT(http_threads, 0, 0, 64, "threads that serve HTTP; 0: as many as cores, 2 to 4") \
	INT(connections, 4096, 8, 1000000, \
		"open connections; fewer where descriptors or memory do not suffice") \
	INT(address_connections, 0, 0, 1000000, \
		"open connections per client address; 0: half of all on loopback, else 64") \
	INT(streams, 1000, 1, 100000, "event streams at the same time; beyond it 429") \
	INT(idle_timeout, 30, 1, 3600, "seconds a silent connection is kept") \
	INT(header_timeout, 10, 1, 3600, "seconds a client has to send a request's head") \
	INT(body_timeout, 300, 1, 86400, "seconds a client has to send a request's body") \
	INT(stream_heartbeat, 15, 1, 3600, "seconds between comments on a silent event stream") \
	INT(lease, 30, 2, 3600, \
		"seconds until a running search without heartbeat goes back to the queue") \
	INT(keep_days, 0, 0, 100000, \
		"what nobody has asked for during so many days is deleted; 0: nothing is") \
	SIZE(keep_size, 0, 0, (1ll << 50), \
		"above this size of the store the answers used longest ago are deleted; 0: no limit") \
	SIZE(upload_limit, 256ll << 20, 1024, (1ll << 40), "bytes of a module as sent") \
	SIZE(module_limit, 1ll << 30, 1024, (1ll << 40), "bytes of a module when decoded") \
	INT(warm_start, 1, 0, 1, \
		"1: searches begin with what the store has for programs of the same structure") \
	FLAG(insecure, "serve beyond loopback without tokens") \
	FLAG(log_requests, "log every request")

typedef struct options {
#define TEXT(field, dflt, arg, help) const char *field;
#define INT(field, dflt, least, most, help) int64_t field;
#define SIZE(field, dflt, least, most, help) int64_t field;
#define FLAG(field, help) bool field;
	OPTION_TABLE(TEXT, INT, SIZE, FLAG)
#undef TEXT
#undef INT
#undef SIZE
#undef FLAG
	const char *new_token; /* --new-token NAME:SCOPES: add one and leave */
	bool help, version, check;
	arena mem;
} options;

/* Reads the command line; --config FILE is read where it stands, so later flags win. Texts live as
 * long as o. */
status options_parse(options *o, int argc, char **argv, diag *d) MUST_USE;
void options_release(options *o);
void options_help(FILE *out);

/* ---------------------------------------------------------------- log.c, metrics.c */

/* One line of logfmt on standard error, or where log_to says: time, level, then the text.
 * Thread-safe. */
void log_line(const char *level, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A value for a line, in quotes: what comes from elsewhere cannot look like another field. Cut
 * where it is long; NULL: "". */
typedef struct log_value {
	char text[256];
} log_value;
log_value log_quoted(const char *text);
/* Before the first thread; -1: nowhere. */
void log_to(int fd);
/* Who did what, for those who have to know later: text without spaces, the rest as logfmt. */
#define log_audit(...) log_line("audit", __VA_ARGS__)
#define log_info(...) log_line("info", __VA_ARGS__)
#define log_warn(...) log_line("warn", __VA_ARGS__)

/* clang-format off */
#define METRIC_TABLE(X) \
	X(requests, "counter", "requests answered") \
	X(responses_4xx, "counter", "answers that blame the request (with 501 and the 504 of only-if-cached)") \
	X(responses_5xx, "counter", "answers that blame the daemon") \
	X(rejected_heads, "counter", "requests refused for an ambiguous or malformed head") \
	X(tokens_refused, "counter", "requests with a token that is unknown or has expired") \
	X(connections_open, "gauge", "open connections") \
	X(connections_reaped, "counter", "connections ended by an absolute deadline") \
	X(upload_bytes, "counter", "bytes of module uploads as sent") \
	X(modules_added, "counter", "modules stored") \
	X(searches_created, "counter", "searches put in the queue") \
	X(searches_deduplicated, "counter", "requests that joined a search in flight") \
	X(cache_hits, "counter", "search requests answered from the store") \
	X(cache_misses, "counter", "search requests that were not") \
	X(workers_running, "gauge", "search workers alive") \
	X(workers_started, "counter", "search workers started") \
	X(workers_crashed, "counter", "search workers that ended without a usable answer") \
	X(workers_out_of_memory, "counter", "workers that needed more memory than they may have") \
	X(workers_not_started, "counter", "starts that failed because the daemon was short of something") \
	X(searches_succeeded, "counter", "searches that ended with a strategy") \
	X(searches_failed, "counter", "searches that failed") \
	X(searches_canceled, "counter", "searches that were canceled") \
	X(tool_runs, "counter", "fingerprint, simulate, opt and apply runs") \
	X(streams_open, "gauge", "event streams") \
	X(store_commits, "counter", "transactions committed") \
	X(store_writes, "counter", "writes inside them") \
	X(store_errors, "counter", "transactions that failed") \
	X(store_commit_nanoseconds, "counter", "time spent in transactions")
/* clang-format on */

/* Times by upper bounds, which metrics.c has; thread-safe. */
enum { TIME_BUCKETS = 16, MOST_ROUTES = 64 };
typedef struct histogram {
	_Atomic int64_t buckets[TIME_BUCKETS], sum_ns, count;
} histogram;
void histogram_add(histogram *h, int64_t ns);
/* HELP and TYPE of a family, then its members; label: `route="..."`, or "". */
void histogram_head(const char *name, const char *help, strbuf *out);
void histogram_print(const histogram *h, const char *name, const char *label, strbuf *out);

typedef struct metrics {
	histogram request_seconds[MOST_ROUTES]; /* by route_index: until the answer is ready; without
	                                           long polls and event streams */
	histogram queue_seconds, search_seconds, commit_seconds;
#define X(name, kind, help) _Atomic int64_t name;
	METRIC_TABLE(X)
#undef X
} metrics;
#define metric_add(srv, name, n) \
	atomic_fetch_add_explicit(&(srv)->metrics.name, (n), memory_order_relaxed)
/* Prometheus text format 0.0.4, without the gauges that need the store. */
void metrics_print(const metrics *m, strbuf *out);

/* ---------------------------------------------------------------- memory.c */

struct problem;
enum { MEMORY_SMALL = 64 << 10 };
typedef struct memory { /* thread-safe */
	int64_t limit;
	_Atomic int64_t used, refused;
} memory;
/* Before the first thread. limit 0: from what the process may use. Also sets the sizes of stacks
 * and heaps. */
void memory_init(memory *m, int64_t limit);
/* False: spent, nothing was taken. What was taken is given back by whoever took it. */
bool memory_take(memory *m, int64_t bytes);
/* For what is there already, and for refusals themselves. */
void memory_take_anyway(memory *m, int64_t bytes);
void memory_give(memory *m, int64_t bytes);
/* Tries to build the reserve up again after it was used. */
void memory_recover(void);
/* Fills why with the refusal; false. */
bool memory_refused(struct problem *why);
/* Address space of one worker when nothing else is said: a share of the memory, and no less than
 * its threads and tables need. */
int64_t worker_memory_share(const struct server *srv);
/* Bytes that one worker may answer. */
int64_t answer_limit(const struct server *srv);
/* Bytes that this machine, or the control group of this process, has; and that this process may
 * map. */
int64_t memory_of_machine(void), memory_of_process(void);

/* ---------------------------------------------------------------- json_gate.c */

/* Accepts exactly RFC 8259 texts that stay inside the limits: bytes, nesting of 64, 200,000 values,
 * 256 keys per object, well-formed UTF-8, finite numbers, no duplicate keys, no U+0000. cJSON alone
 * accepts far more (service.md 7.1). The diag carries line and column. */
status json_gate(const char *p, size_t n, size_t limit, diag *d) MUST_USE;
/* The gate, then cJSON; owned by caller (cJSON_Delete), NULL with d filled on failure. */
cJSON *json_parse(const char *p, size_t n, size_t limit, diag *d) MUST_USE;

/* Length of the well-formed UTF-8 sequence that p[0..n) starts with, 0 when there is none; n > 0.
 */
size_t utf8_len(const unsigned char *p, size_t n);

/* ---------------------------------------------------------------- json_write.c */

/* Quoted and escaped; bytes that are not UTF-8 become '?'. */
void json_string(strbuf *b, const char *s);
/* `"key":` with a comma before it unless an object has just been opened. */
void json_key(strbuf *b, const char *key);
void json_text(strbuf *b, const char *key, const char *value); /* NULL value: null */
void json_int(strbuf *b, const char *key, int64_t value);
void json_bool(strbuf *b, const char *key, bool value);
/* Microseconds since 1970 as "2026-01-31T12:00:00.000Z"; 0: null. */
void json_time(strbuf *b, const char *key, int64_t us);
void json_raw(strbuf *b, const char *key, const char *json);
int64_t wall_us(void);
/* A time as json_time writes it, with or without the fraction; microseconds since 1970. False: it
 * is none. */
bool time_parse(const char *text, int64_t *out_us);

/* ---------------------------------------------------------------- fields.c: typed fields of a JSON
 * object
 *
 * They leave *out as it is where an optional field is missing or null. False with why filled, at
 * base/name. Texts belong to the object. */

#define MOST_NUMBER ((double)((int64_t)1 << 53))
typedef enum field_need { FIELD_OPTIONAL, FIELD_REQUIRED } field_need;
struct problem;
const cJSON *json_field(const cJSON *o, const char *name);
bool field_number(const cJSON *o, const char *base, const char *name, field_need need, double least,
	double most, double *out, struct problem *why);
/* A whole number from 0 to 2^53. */
bool field_count(const cJSON *o, const char *base, const char *name, field_need need, int64_t *out,
	struct problem *why);
/* 1 to `most` bytes. */
bool field_text(const cJSON *o, const char *base, const char *name, field_need need, size_t most,
	const char **out, struct problem *why);
/* Missing: false. */
bool field_bool(const cJSON *o, const char *base, const char *name, bool *out, struct problem *why);

/* ---------------------------------------------------------------- problem.c: RFC 9457 bodies */

/* kind (last part of the type URI), HTTP status, title */
/* clang-format off */
#define PROBLEM_TABLE(X) \
	X(BAD_REQUEST, "bad-request", 400, "The request is malformed") \
	X(BAD_JSON, "bad-json", 400, "The body is not acceptable JSON") \
	X(BAD_FIELD, "bad-field", 400, "A field of the request is wrong") \
	X(BAD_MODULE, "bad-module", 400, "The module is not valid") \
	X(UNAUTHORIZED, "unauthorized", 401, "An access token is needed") \
	X(FORBIDDEN, "forbidden", 403, "This is not allowed") \
	X(NOT_FOUND, "not-found", 404, "There is no such thing") \
	X(METHOD, "method-not-allowed", 405, "The method is not allowed here") \
	X(CONFLICT, "conflict", 409, "The state of the resource does not allow this") \
	X(TOO_LARGE, "too-large", 413, "The body is larger than the limit") \
	X(MEDIA_TYPE, "media-type", 415, "The body has an unsupported type or encoding") \
	X(MISDIRECTED, "misdirected", 421, "The request is meant for another server") \
	X(UNPROCESSABLE, "unprocessable", 422, "The request is understood but cannot be carried out") \
	X(TOO_MANY, "too-many", 429, "Too much is waiting already") \
	X(INTERNAL, "internal", 500, "The daemon failed") \
	X(UNSUPPORTED_CODING, "transfer-coding", 501, "The transfer coding is not implemented") \
	X(UNAVAILABLE, "unavailable", 503, "The daemon cannot take this now") \
	X(NOT_CACHED, "not-cached", 504, "The answer is not in the store and the request forbids to compute it") \
	X(STORAGE, "storage", 507, "The store cannot be written")
/* clang-format on */

typedef enum problem_kind {
	PROBLEM_NONE,
#define X(id, name, http, title) PROBLEM_##id,
	PROBLEM_TABLE(X)
#undef X
} problem_kind;

typedef struct problem {
	problem_kind kind;
	char detail[768];
	char pointer[256]; /* JSON pointer of the field at fault, or "" */
	uint32_t line, col;
	char excerpt[160];
	int retry_after; /* seconds, 0: no such header */
} problem;

/* Fill and return false: `return problem_set(p, PROBLEM_BAD_FIELD, "..")`. The first problem wins.
 */
bool problem_set(problem *p, problem_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same for one field. */
bool problem_at(problem *p, const char *pointer, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool problem_from_diag(problem *p, problem_kind kind, const diag *d);
/* By errno: 503 when the daemon itself is short of descriptors, processes or memory, else 507. */
bool problem_errno(problem *p, const char *what);
int problem_status(problem_kind kind);
void problem_json(const problem *p, strbuf *out);

/* ---------------------------------------------------------------- spec.c: what a search request
 * asks */

typedef struct text_list {
	const char **v;
	uint32_t n;
} text_list;

typedef struct search_spec {
	char module[ID_BYTES];
	const char *mesh_text; /* "data=4,model=4" */
	const char
		*mesh_json;     /* canonical {"axes":[..]}, when links or an order are given; else NULL */
	const char *device; /* name of a profile, or "custom" */
	const char *device_json;
	int64_t memory_bytes;  /* 0: the profile's */
	const char *objective; /* "runtime" | "memory" */
	const char *apply;     /* "exact" | "annotate"; NULL: auto */
	bool best_compiler_options;
	bool store_priors; /* the tree's priors are what won in the store; no part of the question */
	const char *schedule_json; /* or NULL */
#define LIST(id, flag, field, argument, help) text_list field;
#include "search/options.def"
	const char *budget;    /* "default", "evaluations", "seconds" */
	int64_t budget_amount; /* evaluations, or milliseconds */
	int64_t seed;          /* -1: none given */
	int64_t threads;       /* 0: the daemon's */
	bool open_results;
	bool cold;        /* begins with nothing from the store; no part of the question */
	int64_t priority; /* among the owner's searches, higher first */
	const char **tags;
	uint32_t tag_count;
	int64_t alternatives;    /* plans besides the answer */
	int64_t trip_count;      /* of loops that do not say theirs; 0: none given */
	int64_t uncertainty_ppm; /* of costs; -1: the search's default */
	int64_t verify;          /* programs that a verifier is to compile; 0: none */
	const char *json;        /* the request, canonical, as stored and as read back by spec_parse */
	arena mem;
} search_spec;

/* Checks a request body against every rule that needs no module: fields, types, ranges, mesh,
 * globs. devices: names the worker knows (NULL: not checked). */
bool spec_parse(search_spec *s, const char *p, size_t n, const char *const *devices,
	uint32_t device_count, problem *why);
void spec_release(search_spec *s);
/* The cache key: hex sha256 over module fingerprint, its shardings, mesh, device, memory,
 * objective, schedule, pins, groups and the cost-model version. Globs match argument names, which a
 * fingerprint does not cover, so the module's id joins in when the request has any. The budget is
 * not in it: an answer serves every request with the same kind of budget and no larger. */
void spec_key(const search_spec *s, const char *fingerprint, const char *shardings,
	const char *cost_model, char out[ID_BYTES]);
/* Whether o is an object with no other fields; base: its JSON pointer. known: names separated by
 * spaces, with a space at both ends. */
bool check_fields(const cJSON *o, const char *base, const char *known, problem *why);
/* "data=4,model=4" in canonical form; false when it is not a mesh. */
bool mesh_text_check(const char *text, strbuf *canonical, problem *why);

/* ---------------------------------------------------------------- process.c */

typedef struct child_limits {
	int64_t memory_bytes; /* RLIMIT_AS, 0: none */
	int nice;
	int threads;       /* OMP_NUM_THREADS, 0: as inherited */
	const char *dir;   /* working directory, NULL: as inherited */
	bool confined;     /* sandbox.c */
	const char *store; /* the store it may read modules of, NULL: none */
	bool writes;       /* it also writes a file to the store's tmp/ */
} child_limits;

/* For a short worker of one thread. */
child_limits tool_limits(const struct server *srv);

typedef struct child {
	pid_t pid;
	int out, err; /* non-blocking read ends */
} child;

/* CPU time that a process has taken, in ticks; -1: there is none. */
int64_t child_cpu_ticks(pid_t pid);
/* Starts binary with argv, in an environment of what it needs. The child dies with the calling
 * thread (PR_SET_PDEATHSIG), holds no descriptor of ours but its three standard ones, and reads
 * nothing. Call only from threads that outlive the child. */
bool child_start(const char *binary, char *const argv[], const child_limits *limits, child *out);

typedef struct run_result {
	int exit_code; /* 128 + signal when killed */
	bool timed_out, too_large, stopped;
	bool not_started; /* for want of descriptors, processes or memory, or because the program could
	                     not be run */
	int start_error;  /* errno, where there was no process */
	bool out_of_memory; /* of its own limit, or ended by the kernel for the machine's sake */
	strbuf out, err;
} run_result;
/* Runs to the end with a time limit; output beyond out_limit ends it. stop (may be NULL): polled,
 * ends it. */
void child_run(const char *binary, char *const argv[], const child_limits *limits, int64_t limit_ms,
	size_t out_limit, const atomic_bool *stop, run_result *r);
void run_result_release(run_result *r);
/* Fills why for a run that ended in none of the ways its caller knows: stopped, short of something,
 * out of memory or time. False when it has. */
bool run_was_fair(const run_result *r, const options *o, problem *why);
enum { EXIT_NOT_STARTED = 127 }; /* of a child that could not execute its program */
/* Whether a child with this end and these last words ran out of memory; kills:
 * kernel_memory_kills() when it was started. */
bool died_of_memory(int exit_code, const char *err, int64_t kills);
int64_t kernel_memory_kills(void);
/* Finds "file:line:col: error: msg" in a worker's error text; the file name (a path of ours) is
 * left out. */
void worker_error(const char *text, problem *out);
bool read_available(int fd, strbuf *b, size_t limit, bool *eof);

/* ---------------------------------------------------------------- worker.c: the worker program */

/* Fills worker, worker_memory (unless set), confined, devices_json, device_names, tool_version and
 * cost_model of srv from its options:
 * --worker-binary, or the shardwright beside this program. */
status worker_find(struct server *srv, diag *d) MUST_USE;
void worker_release(struct server *srv);

/* ---------------------------------------------------------------- sandbox.c: what a worker may do
 */

/* Rules about files for a child; *out -1 where the kernel has none. False: they could not be made
 * now (errno). */
bool sandbox_rules(const char *binary, const char *store, bool writes, int *out);
/* In the child, before exec. Only async-signal-safe calls. */
bool sandbox_enter(int rules);
/* False in a build for a sanitizer. */
bool sandbox_possible(void);

/* ---------------------------------------------------------------- objects.c: files by content */

/* What `convert --strategy` writes the shardings of a strategy in, and the folders as-NAME for what
 * it wrote. */
#define STRATEGY_NOTATIONS(X) X(jax) X(dtensor) X(mindspore) X(sbp) X(sdy) X(gspmd)

/* Layout of a store: shardwright.db, lock, objects/ab/cdef...zst (module texts), the same in
 * emitted/, exact/, annotate/ (modules with a strategy applied), explanation/, outline/, timeline/
 * and arguments/ (handle_derived.c), tmp/, work/. */
typedef struct objects {
	const char *dir;
	_Atomic uint64_t next;
} objects;
status objects_open(objects *o, const char *dir, diag *d) MUST_USE;
bool write_all(int fd, const char *p, size_t n);
bool file_sync(const char *path, int flags); /* flags: as open takes them */
/* A new file in tmp/; name has room for 512. -1 on failure. */
int objects_temp(objects *o, char name[512]);
void objects_path(const objects *o, const char *kind, const char *id, char path[512]);
/* fsync, rename to its place, fsync of the folder. */
bool objects_publish(objects *o, const char *temp, const char *kind, const char *id);
/* Compresses a plain file into place as object `id` of `kind`. */
bool objects_store_file(objects *o, const char *plain, const char *kind, const char *id);
/* Removes files of `kind` that nobody knows and that are older than an hour (an upload that died
 * before its commit). */
void objects_sweep(
	objects *o, const char *kind, bool (*known)(void *cls, const char *id), void *cls);
/* A response that streams the decoded text of a .zst file, or the file as it is when the client
 * takes zstd. NULL with why filled: INTERNAL when the file is not there, UNAVAILABLE when it could
 * not be read now. */
struct MHD_Response *objects_response(
	const char *path, bool as_zstd, memory *m, struct problem *why);
/* Not there, as against: could not be looked up. */
bool objects_lost(const objects *o, const char *kind, const char *id);
/* Whether the stored text has the sha256 that its name says. TEXT_UNREAD, with errno: a shortage or
 * a failed read, which tells nothing about the text. */
typedef enum text_state { TEXT_INTACT, TEXT_LOST, TEXT_DAMAGED, TEXT_UNREAD } text_state;
text_state objects_state(const objects *o, const char *kind, const char *id);
text_state file_state(const char *path, const char *id);

/* ---------------------------------------------------------------- upload.c */

typedef struct upload upload;
typedef enum upload_coding { CODING_ANY, CODING_GZIP, CODING_ZSTD } upload_coding;
/* Decodes as it arrives, counts, hashes; keeps the text in memory (o NULL) or, compressed, in a
 * temporary file of o. What it holds is taken from m. NULL with why filled on failure. */
upload *upload_new(objects *o, memory *m, upload_coding coding, int64_t wire_limit,
	int64_t decoded_limit, problem *why);
void upload_free(upload *u); /* removes the temporary file unless it was taken */
bool upload_feed(upload *u, const char *p, size_t n, problem *why);
/* Also lets the coders go: an upload may wait long to be checked. */
bool upload_end(upload *u, problem *why);
const char *upload_id(const upload *u); /* after upload_end */
int64_t upload_text_bytes(const upload *u);
int64_t upload_wire_bytes(const upload *u);
const char *upload_temp(const upload *u);
/* Why the temporary file could not be written, or NULL: a text that the store has already needs
 * none. */
const problem *upload_unwritten(const upload *u);
strbuf *upload_text(upload *u);

/* ---------------------------------------------------------------- store.c, store_write.c */

/* Statements by name: prepared once per connection. */
#define STATEMENT(id, sql) SQL_##id,
typedef enum statement_id {
#include "server/statements.def"
	SQL_COUNT
} statement_id;
#undef STATEMENT

typedef struct db { /* one connection and its statements; one thread at a time */
	sqlite3 *handle;
	sqlite3_stmt *statements[SQL_COUNT];
} db;
/* flags: SQLITE_OPEN_*; vfs: NULL for SQLite's own. False: c->handle says why, and is to be closed
 * all the same. */
bool db_open(db *c, const char *path, int flags, const char *vfs, const char *pragmas);
/* Whether a check finds `good`, and what it found or failed with. SQLite takes JSON that it has no
 * memory to read for damaged: a bad verdict is one that is given twice. */
typedef enum verdict { VERDICT_GOOD, VERDICT_BAD, VERDICT_NONE } verdict;
verdict db_verdict(db *c, const char *sql, const char *good, char said[200]);
/* Whether this result code says that the file is damaged, as against: cannot be read now. */
bool db_damaged(int rc);
void db_close(db *c);
/* Brings a database to this program's version; an older one is copied first (beside `path`). */
status store_migrate(db *c, const char *path, diag *d) MUST_USE;
/* Reset and without bindings; NULL on failure (logged). */
sqlite3_stmt *db_statement(db *c, statement_id id);
/* A value that cannot be bound makes the next step of this thread fail. bind_bytes: not copied. */
void bind_text(sqlite3_stmt *s, int at, const char *text);
void bind_bytes(sqlite3_stmt *s, int at, const char *p, size_t n);
void bind_value(sqlite3_stmt *s, int at, const sqlite3_value *value);
const char *column_text(sqlite3_stmt *s, int at); /* "" for NULL */

/* A read has three ends, and only SQLite's "no row" says that there is no such thing. */
typedef enum found { FOUND_FAILED = -1, FOUND_NONE, FOUND } found;
/* sqlite3_step of a statement (NULL: failed) whose values were bound by the functions above. */
int statement_step(sqlite3_stmt *s);
/* Steps s (NULL: failed) to its next row; a failure is logged. */
found db_step(db *c, sqlite3_stmt *s);

typedef struct write_op write_op;
struct write_op {
	/* Inside a transaction, on the writer thread. A status other than ST_OK undoes this op alone.
	 */
	status (*run)(db *c, write_op *op);
	/* After COMMIT, or after failure; on the writer thread; may free op. NULL for store_write. */
	void (*done)(write_op *op);
	status result;
	write_op *next;
};

typedef struct store store;
/* Creates or migrates the database, takes the lock of the folder, recovers searches that a killed
 * daemon left running. */
store *store_open(const char *dir, metrics *m, diag *d) MUST_USE;
/* alone: keeps SQLite's index in this process and the file locked, so that the store may lie on a
 * network file system; no other program can read it meanwhile. */
store *store_open_by(const char *dir, bool alone, metrics *m, diag *d) MUST_USE;
int store_version(void); /* of this program's stores */
/* Opens a store of this program's version for reading alone: without its lock, beside a daemon,
 * changing nothing. NULL with d filled; ST_ERR_NOT_FOUND when there is none. For store_reader,
 * store_objects and store_close only. */
store *store_peek(const char *dir, diag *d) MUST_USE;
/* All of a database into a new file, as it is at one moment; others may write meanwhile. On disk
 * when true. c is for nothing but reading afterwards, if it was so before, yet no longer guarded
 * against writes. */
bool database_copy(db *c, const char *to);
void store_close(store *s); /* after the last submit */
/* Thread-safe. Ops run in order. */
void store_submit(store *s, write_op *op);
status store_write(store *s, write_op *op); /* waits for the commit */
/* This thread's read-only connection, closed when the thread ends; NULL on failure. */
db *store_reader(store *s);
/* False while the last write failed (full or broken disk, or another program holds the lock of the
 * database), and from a start in such a state on: reads go on. */
bool store_writable(store *s);
/* Module texts that rows name and that are not in objects/. store_look_for_lost counts them anew.
 */
int64_t store_lost(store *s);
void store_look_for_lost(store *s);
/* --check: reads everything there is and tells on out what is wrong; false when something is, with
 * d where it could not be found out. Changes nothing, and may run beside a daemon. */
bool store_check(const char *dir, FILE *out, diag *d);
objects *store_objects(store *s);

/* ---------------------------------------------------------------- store_search.c: the life of a
 * search
 *
 *   queued -> running -> succeeded | failed | canceled
 *      ^---------'   worker crash, daemon restart, expired lease
 *
 * attempt counts starts and fences results: a result is taken once, WHERE id = ? AND attempt = ?
 * AND state = 'running'. failures counts crashes only; a restart of the daemon costs nothing, and
 * neither does a start that failed for want of descriptors, processes or memory: that claim is
 * taken back. */

typedef struct module_row {
	char id[ID_BYTES], fingerprint[ID_BYTES], shardings[ID_BYTES],
		structure[ID_BYTES]; /* structure: "": not known */
	char name[256];
	int64_t ops, arguments, text_bytes, uploaded_us;
} module_row;
found module_find(db *c, const char *id, module_row *out);
/* With its labels; false: they could not be read. */
bool module_json(db *c, const module_row *m, strbuf *out);
status module_insert(db *c, const module_row *m, int64_t stored_bytes);

/* modules.c: lets a worker read the module in `path`: fills all of row but id and text_bytes. stop
 * (may be NULL): polled, ends it. False with why filled. */
bool module_check(
	struct server *srv, const char *path, const atomic_bool *stop, module_row *row, problem *why);
enum {
	DOCUMENT_WHOLE = 256 << 10
}; /* up to here a document is handled in one piece, beyond it in pieces of this size */
typedef struct document_ref { /* a strategy document in the database; number 0: none */
	int64_t number, bytes;
	char id[ID_BYTES];
} document_ref;
/* A document of at most DOCUMENT_WHOLE bytes is appended to whole; a larger one is for
 * document_read. */
found document_find(db *c, const char *id, document_ref *out, strbuf *whole);
/* Bytes [at, at + n) of it; false on failure. */
bool document_read(db *c, const document_ref *d, int64_t at, void *to, int64_t n);

/* ---------------------------------------------------------------- store_names.c */

enum {
	GIVEN_NAME_BYTES = 100,
	MOST_NAMES = 16
}; /* of one label or tag; labels or tags of one request */
/* A label or tag. False with why filled (at pointer). */
bool name_check(const char *text, const char *pointer, problem *why);
/* Labels of a module as a JSON array. */
found labels_json(db *c, const char *module, strbuf *out);
/* Changes nothing when the module has it already, has as many as it may, or is not there. */
bool label_add(db *c, const char *module, const char *label, const char *owner);

typedef struct labels_change {
	write_op op;
	char module[ID_BYTES], owner[64];
	bool any; /* also labels of other owners */
	const char *const *add, *const *remove;
	uint32_t add_count, remove_count;
	bool forbidden; /* out: one of them is somebody else's; nothing was changed */
} labels_change;
status labels_change_run(db *c, write_op *op);

bool tags_add(db *c, const char *search, const search_spec *spec, bool *out_changed);

typedef struct repeat_key { /* of a request that may be sent twice; key "": it is none */
	char owner[64], key[256], digest[ID_BYTES];
} repeat_key;
/* What a request with this key led to, for a day; *out_same: it was this request. */
found repeat_find(db *c, const repeat_key *r, char *resource, size_t resource_size, bool *out_same);
bool repeat_keep(db *c, const repeat_key *r, const char *resource);

typedef struct module_about { /* what an upload says beside the text */
	write_op op;
	char module[ID_BYTES], owner[64];
	const char *label; /* or NULL */
	bool seen;         /* it was there: its last upload is now */
	repeat_key repeat;
	bool reused; /* out: the key was another request's; nothing was changed */
} module_about;
/* Only looks for the key. */
status module_about_check(db *c, module_about *a);
status module_about_run(db *c, write_op *op);
/* modules.c. Checks the text of an upload that has ended, publishes its file and commits its row,
 * with what the request says of it in the same transaction (about may be NULL). ST_ERR_INVALID with
 * why filled when the text is refused or the file cannot be written, another status when the row
 * cannot. Acknowledged once ST_OK. */
status module_add(struct server *srv, const upload *up, module_about *about,
	const atomic_bool *stop, module_row *row, problem *why) MUST_USE;

/* ---------------------------------------------------------------- store_queue.c */

typedef struct share {
	char owner[64];
	int64_t weight;
} share;
typedef VEC(share) shares;
/* "training=3,research=1"; an owner that is not in it has weight 1. */
status shares_parse(shares *out, const char *text, diag *d) MUST_USE;
typedef struct fair_rules { /* immutable while the supervisor runs */
	const shares *shares;
	int64_t most_running; /* searches of one owner at a time, 0: any number */
} fair_rules;
/* The place of a search among those of its owner and priority. */
int64_t search_rank_us(const search_spec *s, int64_t now_us);

typedef struct search_create {
	write_op op;
	const search_spec *spec;
	char key[ID_BYTES];
	char fingerprint[ID_BYTES];
	char owner[64];
	bool fresh;    /* neither a stored answer nor a search in flight will do */
	bool own_seed; /* only those of this seed will, see search_cached */
	int64_t queue_limit,
		owner_limit; /* searches that may wait, in all and of one owner; 0: any number */
	int max_failures;
	repeat_key repeat;
	/* out */
	char id[SEARCH_ID_BYTES];
	bool existing, cached, queue_full, owner_full;
	bool repeated, reused; /* its key is known: for this request, for another one */
	strbuf json;
	document_ref document;
	bool changed; /* names that answers show */
} search_create;
status search_create_run(db *c, write_op *op);

/* The search that answered this key with at least this budget; "" in id when there is none.
 * own_seed: with this budget and this seed, and begun with nothing, so that it says what that seed
 * finds. */
found search_cached(
	db *c, const char *key, const search_spec *p, bool own_seed, char id[SEARCH_ID_BYTES]);
/* The resource as JSON, with its verification. rev and final (may be NULL) tell its version and
 * whether it has ended. */
found search_json(db *c, const char *id, strbuf *out, int64_t *rev, bool *final);
/* The same with the strategy document of a search that has one, which *document names. One of more
 * than DOCUMENT_WHOLE bytes is not copied: out then ends behind the key "document"; document and
 * closing brace are the caller's. */
found search_json_full(db *c, const char *id, strbuf *out, document_ref *document);

typedef struct search_claim {
	write_op op;
	int64_t lease_us;
	const fair_rules *rules; /* NULL: equal shares */
	bool found;
	char id[SEARCH_ID_BYTES];
	int64_t attempt;
	strbuf request;
	char module[ID_BYTES];
	int64_t waited_us; /* since it was asked for */
} search_claim;
status search_claim_run(db *c, write_op *op);

typedef struct search_event {
	write_op op;
	char id[SEARCH_ID_BYTES];
	int64_t attempt;
	const char *kind; /* "progress" or "incumbent" */
	int64_t evaluation, milliseconds;
	int64_t runtime_ns, peak_bytes; /* of an incumbent */
	bool fits;
	char *detail; /* of search_detail, for a progress event of its own; whoever frees the event
	                 frees it; NULL: none */
	void *cls;
} search_event;
status search_event_run(db *c, write_op *op);
/* What an event of a worker says of baselines and search tree, as fields of an object; the caller's
 * to free. NULL: nothing, or nothing that can be trusted. */
char *search_detail(const cJSON *event);

typedef enum search_outcome {
	OUTCOME_SUCCEEDED,
	OUTCOME_CANCELED,
	OUTCOME_FAILED,
	OUTCOME_CRASHED,
	OUTCOME_RELEASED,
	OUTCOME_NOT_STARTED
} search_outcome;
typedef struct search_finish {
	write_op op;
	char id[SEARCH_ID_BYTES];
	int64_t attempt;
	search_outcome outcome;
	bool partial;
	const char *document; /* or NULL */
	size_t document_bytes;
	problem error; /* of FAILED and CRASHED */
	/* out */
	bool accepted, requeued;
	char strategy[ID_BYTES];
} search_finish;
status search_finish_run(db *c, write_op *op);

typedef struct search_cancel {
	write_op op;
	char id[SEARCH_ID_BYTES];
	bool any; /* also one that belongs to another owner */
	char owner[64];
	/* out */
	bool found, forbidden, was_running, changed;
	strbuf json;
} search_cancel;
status search_cancel_run(db *c, write_op *op);

typedef struct search_beat { /* extends leases of the live ones, requeues what expired */
	write_op op;
	int64_t lease_us;
	uint32_t count;
	char (*ids)[SEARCH_ID_BYTES];
} search_beat;
status search_beat_run(db *c, write_op *op);
/* At open: what a dead daemon left running goes back to the queue. */
status search_recover(db *c, int64_t *out_count);

/* ---------------------------------------------------------------- store_verify.c: what compilers
 * say of a search's plans
 *
 *   queued -> running -> done | failed
 *      ^---------'   the lease ran out: the verifier died
 *
 * A job is of a search, and is taken once that has succeeded. A result is taken once, WHERE attempt
 * = ? AND state = 'running'. */

enum {
	MOST_ALTERNATIVES = 16 /* as of `search --alternatives` */,
	MOST_PLANS = 64,
	MOST_VERIFICATIONS = 256
};
/* Asks for `plans` programs of a search; no less than what was asked before. Writer thread. */
bool verification_ask(db *c, const char *search, int64_t plans);
/* Whether that many were asked for already, and have not failed. */
found verification_asked(db *c, const char *search, int64_t plans);
/* The job of a search with its rows, or else with the chosen one. */
found verification_json(db *c, const char *search, bool with_rows, strbuf *out);
/* Whether nothing is to be waited for: it has ended, or there is none. FOUND, or FOUND_FAILED. */
found verification_over(db *c, const char *search, bool *over);
/* {"verifications": [..]} of all searches that planned or chose a strategy. */
bool verifications_of_strategy(db *c, const char *strategy, strbuf *out);

typedef struct verification_claim {
	write_op op;
	const char *verifier; /* or NULL */
	const char *devices;  /* JSON array of profile names; NULL: any */
	int64_t lease_us;
	/* out */
	bool found;
	char search[SEARCH_ID_BYTES];
	int64_t attempt;
	strbuf json;
} verification_claim;
status verification_claim_run(db *c, write_op *op);

typedef struct verification_beat {
	write_op op;
	char search[SEARCH_ID_BYTES];
	int64_t attempt, lease_us;
	bool held; /* out */
} verification_beat;
status verification_beat_run(db *c, write_op *op);

typedef struct verification_row { /* -1: not known */
	const char *plan, *apply, *source, *compiler, *version, *options, *reason;
	int64_t runtime_ns, peak_bytes, predicted_runtime_ns, predicted_peak_bytes;
	double seconds;
	bool fits, chosen;
} verification_row;

typedef struct verification_result {
	write_op op;
	char search[SEARCH_ID_BYTES];
	int64_t attempt;
	const verification_row *rows;
	uint32_t row_count;
	const char *document; /* of the chosen row, where it is not the planned strategy; else NULL */
	const char *error;    /* no rows could be made, because of this; else NULL */
	/* out */
	bool found, held,
		repeated;            /* held: taken now; repeated: the same attempt has answered before */
	bool refused;            /* the document is not of this program and mesh */
	char strategy[ID_BYTES]; /* the answer of the search from now on; "": as before */
} verification_result;
status verification_result_run(db *c, write_op *op);

/* ---------------------------------------------------------------- store_measure.c: what strategies
 * took on real machines */

enum { MOST_MEASUREMENTS = 1000 }; /* of one strategy */
typedef struct measured_step {     /* texts NULL, numbers -1: not told */
	int64_t step_ns, peak_bytes, steps, measured_us;
	const char *device; /* NULL: that of the strategy */
	const char *hardware, *jax, *jaxlib, *compiler, *source;
	char *options; /* JSON */
} measured_step;
/* The body of a POST; texts live as long as o, the rest until measurement_release. False with why
 * filled. */
bool measurement_parse(measured_step *m, const cJSON *o, problem *why);
void measurement_release(measured_step *m);

typedef struct measurement_add {
	write_op op;
	measured_step what;
	char strategy[ID_BYTES], owner[64];
	repeat_key repeat;
	/* out */
	char id[SEARCH_ID_BYTES]; /* "m-" and 32 hex digits */
	bool found, full;         /* the strategy is there; it has as many as it may */
	bool repeated, reused;    /* its key is known: for this request, for another one */
	strbuf json;              /* the measurement */
} measurement_add;
status measurement_add_run(db *c, write_op *op);
/* {"measurements": n, "step_ns", "peak_bytes"} as answers compare them, or null with FOUND_NONE. */
found measured_json(db *c, const char *strategy, strbuf *out);
/* {"measurements": [..], "measured": as measured_json}, the oldest first. */
bool measurements_of_strategy(db *c, const char *strategy, strbuf *out);

/* ---------------------------------------------------------------- store_starts.c: what a search
 * may begin with */

enum { MOST_STORE_STARTS = 4 };
typedef struct start_found {
	char id[ID_BYTES]; /* of a strategy */
	strbuf document;
} start_found;
typedef struct starts { /* starts_release, also after a failure */
	uint32_t n;
	start_found list[MOST_STORE_STARTS];
} starts;
typedef struct start_query {
	const char *structure, *module, *mesh, *device; /* structure "": unknown, which finds nothing;
	                                                   module: id, where the store has it */
} start_query;
/* The structure of a module of the store, "" where it is not known. False: it could not be read. */
bool starts_structure(db *c, const char *module, char out[ID_BYTES]);
/* Strategies of modules of the structure, the likeliest to be of use first. False: they could not
 * be read. */
bool starts_find(db *c, const start_query *q, starts *out);
/* Statistics of tactics (search_options.tactic_statistics): what axes cut in the best strategies of
 * modules of the structure on meshes of so many axes, of all modules where there are none. False:
 * they could not be read. */
bool starts_statistics(db *c, const start_query *q, uint32_t n_axes, strbuf *out);
void starts_release(starts *s);

/* ---------------------------------------------------------------- store_list.c */

typedef struct list_filter {
	const char *module, *mesh, *device, *state, *label, *tag, *owner,
		*verification;         /* NULL: any; verification "any": where one was asked for */
	int64_t page_size, before; /* before: position from a page token, INT64_MAX: from the start */
	char before_id[ID_BYTES];  /* of modules, which have a time and an id as position */
} list_filter;
enum { LIST_BYTES = 1 << 20 };
/* A page ends early where it has LIST_BYTES. False: a read failed. */
bool list_searches(db *c, const list_filter *f, strbuf *out);
bool list_strategies(db *c, const list_filter *f, strbuf *out);
bool list_modules(db *c, const list_filter *f, strbuf *out);
/* What a strategy was found for: the module's id, the profile's name, and the profile itself where
 * the request described one, else NULL (JSON, owned by the caller). */
found strategy_origin(db *c, const char *id, char module[ID_BYTES], char device[256],
	char **profile, int64_t *trip_count);
/* Events after `after` as an event stream; sets *last and, when the final one of the search itself
 * is among them, *final. Those of its verification may come behind it. False: a read failed. */
bool events_stream(db *c, const char *id, int64_t after, strbuf *out, int64_t *last, bool *final);

/* ---------------------------------------------------------------- store_retention.c */

typedef struct retention {
	write_op op;
	int64_t before_us;  /* what was last used before then goes; 0: nothing by age */
	int64_t most_bytes; /* of the store; 0: nothing by size */
	int64_t strategies, searches, modules; /* out: what went; adds up over runs */
	bool more;                             /* out: run it again */
} retention;
status retention_run(db *c, write_op *op);
/* What the rows and the texts of modules take, -1 when it cannot be read. */
int64_t store_bytes(db *c);
/* Removes files of the store that no row names any more. */
void store_sweep(objects *o, db *c);
/* retain.c: in the daemon, every hour, as --keep-days and --keep-size say. Called often, from one
 * thread. */
void retain_if_due(struct server *srv);

/* ---------------------------------------------------------------- hits.c */

typedef struct hits hits; /* thread-safe */
hits *hits_new(store *s);
void hits_free(hits *h);
void hits_add(hits *h, const char *strategy);
/* Writes down what has come together, when it is time or `now`. */
void hits_flush(hits *h, bool now);

/* ---------------------------------------------------------------- response_cache.c */

typedef struct response_cache response_cache; /* thread-safe */
response_cache *response_cache_new(struct server *srv);
void response_cache_free(response_cache *c);
/* Read it before the store is read. */
uint64_t response_cache_generation(response_cache *c);
/* Something that answers show has changed. */
void response_cache_outdate(response_cache *c);
/* Answers r; false: nothing is kept for these bytes. */
bool response_cache_queue(response_cache *c, request *r, const char *key, size_t n);
/* Keeps a response of `bytes` bytes, and takes it over; false: there is no room for it. strategy:
 * what it is a use of, or "". */
bool response_cache_put(response_cache *c, const char *key, size_t n, uint64_t generation,
	const char *strategy, struct MHD_Response *response, int64_t bytes);

/* ---------------------------------------------------------------- watch.c */

typedef struct watch_hub watch_hub;
typedef struct watcher {
	struct watcher *next, **link;
	struct MHD_Connection *conn; /* parked while linked */
	int64_t deadline_ns;
	char id[SEARCH_ID_BYTES];
} watcher;
watch_hub *watch_new(void);
void watch_free(watch_hub *h);
/* Read before the state is read; a change in between makes watch_park refuse. */
uint64_t watch_generation(watch_hub *h, const char *id);
/* Suspends conn until watch_notify(id), the deadline or watch_stop; false (not suspended) when
 * something happened since `generation` or the hub has stopped. Call from a handler or content
 * reader of conn only. */
bool watch_park(watch_hub *h, watcher *w, const char *id, uint64_t generation,
	struct MHD_Connection *conn, int64_t deadline_ns);
void watch_notify(watch_hub *h, const char *id);
void watch_expire(watch_hub *h, int64_t now_ns); /* the reaper calls it */
void watch_stop(watch_hub *h);
bool watch_stopped(watch_hub *h);

/* ---------------------------------------------------------------- tasks.c */

typedef struct task {
	void (*run)(struct task *t, bool stopping);
	struct task *next;
} task;
typedef struct task_pool task_pool;
task_pool *tasks_new(int threads, uint32_t queue_limit);
/* False when the queue is full or stopping: the task was not taken. */
bool tasks_submit(task_pool *p, task *t);
const atomic_bool *tasks_stop_flag(const task_pool *p);
void tasks_stop(
	task_pool *p); /* ends running children, runs what waits with stopping = true, joins */
void tasks_free(task_pool *p);

/* ---------------------------------------------------------------- supervisor.c */

typedef struct supervisor supervisor;
supervisor *supervisor_new(server *srv);
void supervisor_kick(supervisor *v); /* something was queued or canceled */
void supervisor_cancel(supervisor *v, const char *id);
int64_t supervisor_turned_ns(supervisor *v); /* when it last looked around */
void supervisor_stop(supervisor *v); /* kills workers, their searches go back to the queue */

/* ---------------------------------------------------------------- tokens.c */

enum { SCOPE_READ = 1, SCOPE_SUBMIT = 2, SCOPE_ADMIN = 4 };
typedef struct tokens tokens;
tokens *tokens_load(const char *path, diag *d) MUST_USE;
/* Reads the file again; on failure the old ones stay. Logs which came and went. Thread-safe beside
 * tokens_check. */
status tokens_reload(tokens *t, diag *d);
void tokens_free(tokens *t);
/* Scopes of the bearer token in an Authorization header, 0 when unknown or expired; constant time
 * per entry. The scope of admin has the others in it. */
int tokens_check(tokens *t, const char *authorization, char owner[64]);
/* Appends one to the file and prints its secret on standard output. spec: "NAME:read,submit" or
 * "NAME:read,submit:2030-12-31". */
status tokens_add(const char *path, const char *spec, diag *d) MUST_USE;

/* ---------------------------------------------------------------- gate.c: what may look like a
 * request at all */

typedef struct gate gate; /* of one connection; one thread at a time */
gate *gate_new(void);
void gate_free(gate *g);
/* n bytes from the client lie in buf, of cap; returns how many bytes of buf are for the HTTP
 * library. */
size_t gate_pass(gate *g, char *buf, size_t n, size_t cap);
/* Why request `number` of the connection, counted from 1, is refused; NULL when it is not. */
const char *gate_refusal(const gate *g, uint64_t number);
/* False when the HTTP library would not go through it. */
bool gate_init(size_t descriptors);
/* tls: what passes is what gnutls_record_recv decrypts. */
void gate_put(int fd, gate *g, bool tls);
gate *gate_of(int fd), *gate_of_tls(int fd);
bool gate_stopped(const gate *g), gate_ended(const gate *g);

/* ---------------------------------------------------------------- tls.c */

/* Reads --tls-cert and --tls-key; also again, while the daemon runs: on failure the old ones stay.
 */
status tls_load(const options *o, diag *d) MUST_USE;
void *tls_callback(void); /* for MHD_OPTION_HTTPS_CERT_CALLBACK */

/* ---------------------------------------------------------------- origin.c: who speaks to whom */

/* Host and Origin of a request, and who is at the other end. A web page of another origin may make
 * a browser send requests here, and a name that its owner points at this machine makes them look
 * like those of the page's own server. Fills r->why. */
bool check_host(request *r, const char *host);
bool check_origin(request *r, const char *method);
/* The client of a Unix socket by its credentials: false unless it runs as this daemon's user, as
 * root, or in --unix-group, and speaks for itself: a proxy's connection carries everybody's
 * requests. Sets r->owner. */
bool peer_is_trusted(request *r);
bool peer_is_local(request *r); /* over the Unix socket */
/* "192.0.2.1", "unix", for a line of the log: with the field forwarded="..." where a proxy names
 * its client. */
enum { PEER_BYTES = 360 };
void peer_text(request *r, char text[PEER_BYTES]);
bool group_find(const char *name, gid_t *out);

/* ---------------------------------------------------------------- systemd.c */

/* Nothing where no service manager asked to be told. */
void systemd_notify(const char *what);
void systemd_reloading(void);
int64_t systemd_watchdog_ns(void); /* how often it wants to hear WATCHDOG=1, 0: never */
/* Listening sockets that it passed, -1: none; they stay open when this process ends. */
bool systemd_sockets(int *out_tcp, int *out_local, diag *d);

/* ---------------------------------------------------------------- connections.c */

typedef struct connections connections;
connections *connections_new(server *srv);
/* MHD_NotifyConnectionCallback; cls is the connections. */
void connections_notify(void *cls, struct MHD_Connection *conn, void **context,
	enum MHD_ConnectionNotificationCode code);
/* HEAD, BODY, SEND and IDLE have deadlines; WORK (being computed, parked, an event stream) has
 * none. */
typedef enum connection_phase {
	PHASE_HEAD,
	PHASE_BODY,
	PHASE_WORK,
	PHASE_SEND,
	PHASE_IDLE
} connection_phase;
void connections_phase(connections *c, struct MHD_Connection *conn, connection_phase phase);
/* Counts a request of conn from 1 on; *out its gate, NULL: it has none. */
uint64_t connections_request(struct MHD_Connection *conn, gate **out);
int64_t connections_turned_ns(connections *c); /* when the reaper last looked around */
void connections_stop(connections *c);         /* joins the reaper */
void connections_free(connections *c);

/* ---------------------------------------------------------------- http.c */

typedef enum body_kind { BODY_NONE, BODY_JSON, BODY_MODULE, BODY_TEXT, BODY_LARGE_JSON } body_kind;
typedef struct route {
	const char *method, *pattern; /* "{id}" stands for one path segment */
	void (*handle)(request *r);
	body_kind body;
	int scope;         /* 0: open to all */
	const char *query; /* known parameters, comma-separated, "" for none */
} route;

struct request {
	server *srv;
	struct MHD_Connection *conn;
	const route *route;
	char id[256]; /* the {id} of the path */
	char owner[64];
	bool admin; /* may act on what belongs to others */
	int64_t started_ns;
	gate *gate;
	uint64_t number; /* of the connection's requests, from 1 */
	problem why;     /* set before or while the body arrives: the answer once it is complete */
	char allow[64];  /* of a 405 */
	strbuf body;     /* BODY_JSON, BODY_NONE */
	upload *up;      /* BODY_MODULE, BODY_TEXT, BODY_LARGE_JSON */
	struct MHD_Response *reply;
	unsigned reply_code;
	bool ambiguous; /* where the request ends is not certain: the connection has to end with it */
	bool handled, parked, stream; /* parked: this call suspended the connection; HTTP thread only */
	bool answered;                /* queued already; sent tells whether that worked */
	enum MHD_Result sent;
	int64_t discarded;
	int64_t held;              /* bytes taken from the memory budget, given back with the request */
	void (*again)(request *r); /* continues a parked request that has no reply yet */
	void *state;               /* of the handler; freed by free_state */
	void (*free_state)(void *state);
	watcher watch;
	int64_t wait_until_ns;
};

/* Start and stop serving. daemon handles are in srv. */
status http_start(server *srv, diag *d) MUST_USE;
void http_quiesce(server *srv);
void http_stop(server *srv);

/* Parks the request: call before handing it to another thread, which ends with request_resume. */
void request_park(request *r);
/* Waits for a change of search `id` until deadline_ns, then calls again; false: something changed,
 * look again now. */
bool request_watch(request *r, const char *id, uint64_t generation, int64_t deadline_ns,
	void (*again)(request *r));
void request_resume(request *r);
const char *request_header(request *r, const char *name);
const char *request_query(request *r, const char *name);
/* A text as JSON, by json_parse; the tree is counted into the memory budget and owned by the
 * caller. NULL with why filled. (body.c) */
cJSON *request_json(request *r, const strbuf *text, size_t limit, problem *why);
/* Takes bytes from the memory budget until the request ends; false with why filled when it is
 * spent. */
bool request_hold(request *r, int64_t bytes, problem *why);
/* Frees the body of a request whose handler needs it no more. */
void request_let_go(request *r);
/* True when it was found. Else the answer is prepared: 404 with the text, or 503 because the store
 * could not be read. */
bool reply_unless_found(request *r, found f, const char *fmt, ...) PRINTF_LIKE(3, 4);
void reply_read_failure(request *r);
/* A large answer that lies in a file: fd becomes the response's. */
void reply_file(request *r, unsigned code, const char *type, int fd, int64_t bytes);
/* JSON around a document that is read while it is sent: head, the document, tail. head is emptied.
 */
void reply_document_json(
	request *r, unsigned code, strbuf *head, const document_ref *d, const char *tail);
/* Idempotency-Key of the request into out, "" without one; false with why filled when it is
 * malformed. digest is the caller's. */
bool request_repeat_key(request *r, repeat_key *out, problem *why);
/* page_size and page_token as they stand; false: the answer is prepared. */
bool request_page_size(request *r, int64_t *out);
/* Prepare the answer; sent when the handler returns or, for a parked request, when it is resumed. b
 * is emptied. */
void reply_buffer(request *r, unsigned code, const char *type, strbuf *b);
void reply_json(request *r, unsigned code, strbuf *b);
/* response NULL: there was no memory for it; 503. */
void reply_response(request *r, unsigned code, struct MHD_Response *response);
/* Takes the text over; headers: pairs of name and value, {NULL, NULL} at the end. NULL: no memory.
 */
struct MHD_Response *response_of_text(strbuf *b, const char *const (*headers)[2]);
/* Answers at once with a response that others hold too; from a handler only, in place of a reply.
 */
void request_answer(request *r, unsigned code, struct MHD_Response *response);
void reply_problem(request *r, const problem *p);
void reply_failure(request *r, problem_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* False (and a 404 is prepared) when the {id} of the path cannot be a search's; else it is copied.
 */
bool request_search_id(request *r, char id[SEARCH_ID_BYTES]);
void reply_header(request *r, const char *name, const char *value);
/* What is answered never changes: whoever asked may keep it, but only gives it to requests with the
 * token that it was given to. */
#define UNCHANGING "private, max-age=31536000, immutable"
void reply_unchanging(request *r);
/* The writer failed: 507 when the disk is the reason, else 500. */
void reply_store_failure(request *r, status s);

/* ---------------------------------------------------------------- routes.c, handle_*.c */

/* The route, or NULL; *allow then lists the methods of the path ("" when the path is unknown). id
 * receives {id}. */
const route *route_find(const char *method, const char *path, char id[256], char allow[64]);

uint32_t route_index(const route *r);
const route *route_at(uint32_t i); /* NULL behind the last */

void handle_module_post(request *r);
void handle_module_get(request *r);
void handle_module_list(request *r);
void handle_module_labels(request *r);
void handle_search_post(request *r);
void handle_search_get(request *r);
void handle_search_list(request *r);
void handle_search_cancel(request *r);
void handle_search_events(request *r);
void handle_strategy_list(request *r);
void handle_strategy_get(request *r);
void handle_simulate(request *r);
void handle_opt(request *r);
void handle_devices(request *r);
void handle_version(request *r);
void handle_healthz(request *r);
void handle_readyz(request *r);
void handle_metrics(request *r);
void handle_openapi(request *r);
void handle_page(request *r);
void handle_page_worker(request *r);
void handle_strategy_explanation(request *r);
void handle_strategy_outline(request *r);
void handle_strategy_timeline(request *r);
void handle_strategy_shardings(request *r);
void handle_module_arguments(request *r);
void handle_layout(request *r);
void handle_verification_claim(request *r);
void handle_verification_heartbeat(request *r);
void handle_verification_result(request *r);
void handle_search_verifications(request *r);
void handle_strategy_verifications(request *r);
void handle_measurement_post(request *r);
void handle_measurement_list(request *r);
/* Answers with the module that strategy `id` is applied to. */
void reply_applied(request *r, const char *id);
/* The page's headers and its compressed form, from what is embedded; call once before serving. */
void page_prepare(server *srv);
void page_release(server *srv);

/* ---------------------------------------------------------------- embed.c: files inside the
 * binary, terminated */

typedef struct embedded {
	const char *p;
	size_t n;
} embedded;
embedded embedded_schema(void), embedded_schema_2(void), embedded_schema_3(void),
	embedded_schema_4(void), embedded_schema_5(void), embedded_schema_6(void),
	embedded_schema_7(void), embedded_schema_8(void), embedded_schema_9(void),
	embedded_openapi(void), embedded_page(void), embedded_page_worker(void);

/* ---------------------------------------------------------------- server */

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
