/* Who may ask: tokens, malformed requests, certificates, names and origins, the service manager,
 * connections. */
#ifndef SW_SERVER_ACCESS_H
#define SW_SERVER_ACCESS_H

#include "server/options.h"
#include <microhttpd.h>

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

#endif
