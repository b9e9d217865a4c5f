/* JSON in and out, and the answers that blame a request. */
#ifndef SW_SERVER_JSON_H
#define SW_SERVER_JSON_H

#include "server/common.h"
#include <cjson/cJSON.h>

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

#endif
