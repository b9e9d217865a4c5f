/* What every part of the daemon has: names of things have these sizes, and two types are known by
 * name alone. */
#ifndef SW_SERVER_COMMON_H
#define SW_SERVER_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "base/base.h"

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

#endif
