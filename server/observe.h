/* What the daemon tells of itself: log and metrics. */
#ifndef SW_SERVER_OBSERVE_H
#define SW_SERVER_OBSERVE_H

#include "server/common.h"

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

#endif
