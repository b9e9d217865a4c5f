/* How the files of HTTP work together: http.c calls head.c for each head, then a handler, and
 * reply.c sends what that prepared. listen.c starts and ends it all. */
#ifndef SW_SERVER_HTTP_PRIVATE_H
#define SW_SERVER_HTTP_PRIVATE_H

#include "server/http.h"

enum { MAX_IGNORED_BYTES = 64 << 10 }; /* of a body that nobody asked for */

/* head.c. Whether the request may go on to its body; else why is filled, and ambiguous where the
 * connection has to end with it. Finds the route. */
bool head_check(request *r, const char *url, const char *method, const char *version);
/* What the gate has seen so far. Looked at again once the body is there: its chunks pass the gate
 * later than the head. */
bool head_passed(request *r);

/* reply.c. Makes the answer for when there is no memory for another; before the first thread. */
bool reply_last_resort(server *srv);
void reply_drop(request *r);
/* Sends what was prepared. */
enum MHD_Result reply_send(request *r);

/* http.c: callbacks of libmicrohttpd; cls is the server. */
enum MHD_Result http_serve(void *cls, struct MHD_Connection *conn, const char *url,
	const char *method, const char *version, const char *data, size_t *data_n, void **context);
void http_completed(
	void *cls, struct MHD_Connection *conn, void **context, enum MHD_RequestTerminationCode why);

#endif
