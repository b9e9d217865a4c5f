/* One daemon over HTTP or a Unix socket, as the verbs that talk to one use it. */
#ifndef SW_DAEMON_H
#define SW_DAEMON_H

#include "base/base.h"

#include <cjson/cJSON.h>
#include <curl/curl.h>

typedef struct client {
	CURL *curl;
	const char *server; /* as given, for messages */
	char base[512], socket[256];
	/* Times, by clock_ns; the defaults of client_open are those of a program that has nobody
	 * waiting for it. */
	int64_t connect_ms;
	int64_t deadline_ns; /* of everything; INT64_MAX: none */
	int64_t retry_ns; /* how long a daemon that does not answer is asked again; < 0: not before it
	                     has answered once, then RESTART_SECONDS */
	bool answered;    /* it has, once */
} client;
enum { RESTART_SECONDS = 30, CONNECT_MS = 10000 };

typedef struct answer {
	long code;   /* 0: no answer, error says why */
	strbuf body; /* released by the caller */
	char tag[64], error[300];
	int retry_after;
	bool timed_out; /* the deadline came before the answer */
} answer;

/* server: NULL for SHARDWRIGHT_SERVER, and 127.0.0.1:7070 without it. */
bool client_open(client *c, const char *server);
void client_close(client *c);
/* headers: a NULL-terminated list of lines, or NULL. Waits and tries again when the daemon says
 * that it is busy; and, within the times of c, when it does not answer: only for requests that may
 * be sent twice, which those of this program are. */
void client_call(client *c, const char *method, const char *path, const char *body, size_t n,
	const char *const *headers, answer *a);
/* The deadline is over. */
bool client_is_late(const client *c);
/* Uploads a module file as it is, or compressed; label: a name for it, or NULL. True: a 200 or 201,
 * its id. False: d holds a file that cannot be read, else a the refusal. */
bool client_upload(client *c, const char *path, const char *label, char id[80], answer *a, diag *d);

const char *client_text(const cJSON *o, const char *name); /* NULL when it is no text */
double client_number(const cJSON *o, const char *name);    /* 0 when it is no number */
/* "file:line:col: error: field: why", one line, and the excerpt where there is one. file may be
 * NULL. */
void client_problem(const cJSON *problem, const char *file, strbuf *out);
/* The same for an answer that is none of what was expected. */
void client_refusal(const client *c, const answer *a, const char *file, strbuf *out);
/* Whether the state of a search is its last. */
bool client_is_final(const char *state);

#endif
