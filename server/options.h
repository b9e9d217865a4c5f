/* Settings. */
#ifndef SW_SERVER_OPTIONS_H
#define SW_SERVER_OPTIONS_H

#include "server/common.h"

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

#endif
