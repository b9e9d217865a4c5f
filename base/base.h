/* base: what every folder uses and nothing in it knows about tensors: status codes and diagnostics
 * with source positions, arenas, string views and builders, growable arrays, hash maps, integers
 * with overflow checks, files, clock.
 *
 *   status.c  codes and diagnostics      arena.c  arenas          text.c  string views, builders, globs, sizes
 *   table.c   hashing and hash maps      file.c   files, gzip and zstd    clock.c  monotonic time
 *   random.c  random numbers             parallel.c  parallel loops
 *   nearest.c  typos             memory.c  allocation
 *
 * Three kinds of failure are kept apart: input (a status and a diag), resource (a status), bug
 * (assert). Memory that runs out is told by no status: in the library it ends the call
 * (library/library.h), in programs the process. */
#ifndef SW_BASE_H
#define SW_BASE_H

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* ---------------------------------------------------------------- status.c */

/* One row per code: identifier, process exit code, HTTP status, wire name. */
/* clang-format off */
#define STATUS_TABLE(X) \
	X(OK, 0, 200, "ok") \
	X(ERR_PARSE, 1, 400, "parse")             /* text that does not follow the grammar */ \
	X(ERR_INVALID, 1, 400, "invalid")         /* well formed, but breaks a rule (types, shardings, mesh) */ \
	X(ERR_LIMIT, 1, 413, "limit")             /* a documented limit is passed */ \
	X(ERR_NOT_FOUND, 1, 404, "not_found")     /* a file, device, module that does not exist */ \
	X(ERR_UNSUPPORTED, 1, 422, "unsupported") /* legal, but this tool has no meaning for it */ \
	X(ERR_IO, 3, 500, "io") \
	X(ERR_MEMORY, 3, 503, "memory") \
	X(ERR_INTERRUPTED, 130, 503, "interrupted") \
	X(ERR_INTERNAL, 3, 500, "internal")
/* clang-format on */

typedef enum status {
#define X(id, exit, http, name) ST_##id,
	STATUS_TABLE(X)
#undef X
		ST_COUNT
} status;

int status_exit_code(status s);
int status_http(status s);
const char *status_name(status s);

/* One error message with its position. line and col are 1-based, 0 when there is none; excerpt is
 * the source line (cut around the column) for the caret display. */
typedef struct diag {
	status code;
	uint32_t line, col, caret; /* caret: 1-based column inside excerpt */
	char file[256];
	char msg[512];
	char excerpt[160];
} diag;

/* Fills d (may be NULL) and returns code. The first error wins: a diag that already holds an error
 * keeps it. */
status diag_set(diag *d, status code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same with a position: byte offset `at` in text[0..len). Computes line, column and excerpt. */
status diag_at(diag *d, const char *text, size_t len, size_t at, status code, const char *fmt, ...)
	PRINTF_LIKE(6, 7);
void diag_clear(diag *d);
/* Names the file of a diag that has none yet. */
void diag_in_file(diag *d, const char *file);
/* "file:line:col: error: msg", the source line and a caret. */
void diag_print(const diag *d, FILE *out);

#define TRY(expr) \
	do { \
		status try_status_ = (expr); \
		if (try_status_ != ST_OK) \
			return try_status_; \
	} while (0)

/* ---------------------------------------------------------------- memory.c */

/* Inputs are bounded by limits before they are allocated for; where memory runs out all the same,
 * the allocators below call memory_out. A program that keeps a reserve sets this hook before its
 * first thread: true means that memory was freed and it is worth another try. */
extern bool (*memory_hook)(void);
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n);
char *xstrdup(const char *s);
/* At the beginning of a cache line: what is looked up in no order, in parts of a line's size, then
 * takes one line each. */
void *xmalloc_lines(size_t n);
/* Ends the program with a message (abort), or what the thread's innermost memory_guard runs. */
_Noreturn void memory_out(void);
/* Runs body(user). False: memory ran out, and body ended where that was, as if by longjmp; what it
 * had allocated is the heap's, which the caller releases. Threads of parallel_for end their part
 * and the caller's thread then ends its own. */
struct heap; /* library/library.h */
bool memory_guard(struct heap *heap, void (*body)(void *user), void *user);
struct heap *memory_heap(void); /* of the thread's innermost guard; NULL: none */
/* What memory_out is to undo, a lock or a descriptor, while u is pushed. u stands in the caller's
 * frame; last pushed, first popped. */
typedef struct unwind {
	struct unwind *next;
	void (*undo)(void *what);
	void *what;
} unwind;
void unwind_push(unwind *u, void (*undo)(void *what), void *what);
void unwind_pop(const unwind *u);

/* ---------------------------------------------------------------- arena.c */

/* Bump allocator. Memory lives until arena_release or arena_reset; thread-compatible. */
typedef struct arena {
	struct arena_block *head;
	size_t used_bytes;
} arena;
typedef struct arena_mark {
	struct arena_block *block;
	size_t used;
} arena_mark;

void arena_init(arena *a);
void arena_release(arena *a);
/* 16-byte aligned, not cleared. n == 0 gives a valid pointer. */
void *arena_alloc(arena *a, size_t n);
void *arena_zalloc(arena *a, size_t n);
char *arena_strdup(arena *a, const char *s, size_t n);
#define arena_array(a, ir_type, n) ((ir_type *)arena_alloc((a), sizeof(ir_type) * (size_t)(n)))
#define arena_zarray(a, ir_type, n) ((ir_type *)arena_zalloc((a), sizeof(ir_type) * (size_t)(n)))
/* Everything allocated after the mark is freed by arena_rewind. */
arena_mark arena_save(arena *a);
void arena_rewind(arena *a, arena_mark m);

/* ---------------------------------------------------------------- text.c */

typedef struct str { /* a view: not owned, not terminated */
	const char *p;
	size_t n;
} str;
#define STR(literal) ((str){(literal), sizeof(literal) - 1})
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)(s).n, (s).p

str str_of(const char *s);
static inline bool str_equal(str a, str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
/* Inline, since b is nearly always a literal: its length costs nothing then. */
static inline bool str_is(str a, const char *b)
{
	size_t n = strlen(b);
	return a.n == n && (n == 0 || memcmp(a.p, b, n) == 0);
}
static inline bool str_starts(str a, const char *prefix)
{
	size_t n = strlen(prefix);
	return a.n >= n && (n == 0 || memcmp(a.p, prefix, n) == 0);
}
/* Glob in which only * and ? are special. */
bool glob_match(const char *pattern, str text);
/* Decimal without sign, the whole view; false on anything else or overflow. */
bool str_to_i64(str s, int64_t *out);
/* "16GiB", "300GB", "512MiB", plain bytes; false when malformed or above 2^53. */
bool size_parse(str s, int64_t *out_bytes);

/* ---------------------------------------------------------------- nearest.c: what was meant by a
 * word that nothing has */

typedef struct nearest {
	str wanted;
	char text[129]; /* of the nearest candidate so far, the first of equals */
	uint32_t distance;
	bool found; /* near enough to be meant: a third of the word at most differs, or the candidate
	               begins with it */
} nearest;
/* n starts as {.wanted = word}. */
void nearest_consider(nearest *n, str candidate);
/* "; did you mean 'X'?", or "" where nothing is near. Returns out. */
const char *nearest_hint(const nearest *n, char out[160]);

/* Growable text. buf.p is always terminated. */
typedef struct strbuf {
	char *p;
	size_t n, cap;
} strbuf;
void strbuf_init(strbuf *b);
void strbuf_release(strbuf *b);
void strbuf_clear(strbuf *b);
void strbuf_add(strbuf *b, const char *p, size_t n);
void strbuf_str(strbuf *b, str s);
void strbuf_puts(strbuf *b, const char *s);
void strbuf_putc(strbuf *b, char c);
void strbuf_i64(strbuf *b, int64_t v);
void strbuf_printf(strbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "1.5 GiB", "327 us": for people, never parsed. */
void strbuf_bytes(strbuf *b, int64_t bytes);
void strbuf_duration(strbuf *b, int64_t ns);

/* ---------------------------------------------------------------- growable arrays
 * T *p; uint32_t n, cap: VEC(T) name;  vec_push(&name, value); released with vec_release. */
#define VEC(T) \
	struct { \
		T *p; \
		uint32_t n, cap; \
	}
#define vec_reserve(v, want) \
	do { \
		if ((v)->cap < (want)) { \
			uint32_t cap_ = (v)->cap ? (v)->cap : 16; \
			while (cap_ < (want)) \
				cap_ *= 2; \
			(v)->p = xrealloc((v)->p, (size_t)cap_ * sizeof(*(v)->p)); \
			(v)->cap = cap_; \
		} \
	} while (0)
#define vec_push(v, ...) \
	do { \
		vec_reserve((v), (v)->n + 1); \
		(v)->p[(v)->n++] = (__VA_ARGS__); \
	} while (0)
/* to is not initialised. */
#define vec_copy(to, from) \
	do { \
		(to)->n = (to)->cap = (from)->n; \
		(to)->p = NULL; \
		if ((from)->n) { \
			(to)->p = xmalloc((from)->n * sizeof *(to)->p); \
			memcpy((to)->p, (from)->p, (from)->n * sizeof *(to)->p); \
		} \
	} while (0)
#define vec_pop(v) ((v)->p[--(v)->n])
#define vec_release(v) (free((v)->p), (v)->p = NULL, (v)->n = (v)->cap = 0)

/* ---------------------------------------------------------------- table.c */

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);
static inline uint64_t hash_mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ull;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}
static inline uint64_t hash_combine(uint64_t h, uint64_t v)
{
	return hash_mix(h ^ (v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2)));
}

/* Open-addressing index from 64-bit hashes to 32-bit ids; the owner compares keys, so it stores no
 * keys. Usage: for (it = index_first(ix, h); index_next(ix, h, &it, &id);) if (equal(id)) return
 * id;  index_add(ix, h, id). */
typedef struct index_map {
	uint64_t *hash; /* 0 = empty */
	uint32_t *id;
	uint32_t n, cap;
} index_map;
void index_init(index_map *ix);
void index_release(index_map *ix);
void index_clear(index_map *ix);
void index_copy(index_map *to, const index_map *from); /* to is not initialised */
/* Hash 0 marks an empty slot. */
static inline uint64_t index_slot_hash(uint64_t h) { return h ? h : 1; }
static inline uint32_t index_first(const index_map *ix, uint64_t h)
{
	return ix->cap ? (uint32_t)index_slot_hash(h) & (ix->cap - 1) : 0;
}
static inline bool index_next(const index_map *ix, uint64_t h, uint32_t *it, uint32_t *out_id)
{
	if (!ix->cap)
		return false;
	h = index_slot_hash(h);
	for (uint32_t i = *it;; i = (i + 1) & (ix->cap - 1)) {
		if (!ix->hash[i])
			return false;
		if (ix->hash[i] == h) {
			*out_id = ix->id[i];
			*it = (i + 1) & (ix->cap - 1);
			return true;
		}
	}
}
void index_add(index_map *ix, uint64_t h, uint32_t id);

/* Interned strings: equal text has equal id; id 0 is the empty string. Text lives as long as the
 * table. */
typedef uint32_t str_id;
typedef struct strtab {
	arena mem;
	VEC(str) strs;
	index_map index;
} strtab;
void strtab_init(strtab *t);
void strtab_release(strtab *t);
str_id strtab_add(strtab *t, str s);
/* UINT32_MAX when absent. */
str_id strtab_find(const strtab *t, str s);
static inline str strtab_get(const strtab *t, str_id id) { return t->strs.p[id]; }

/* ---------------------------------------------------------------- integers */
static inline bool mul_i64(int64_t a, int64_t b, int64_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}
static inline bool add_i64(int64_t a, int64_t b, int64_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}
static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t gcd_i64(int64_t a, int64_t b)
{
	while (b) {
		int64_t t = a % b;
		a = b;
		b = t;
	}
	return a;
}
/* Saturating at INT64_MAX: sums of times and bytes of absurd inputs stay ordered instead of
 * wrapping. */
static inline int64_t sat_add(int64_t a, int64_t b)
{
	int64_t r;
	return __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}
static inline int64_t sat_mul(int64_t a, int64_t b)
{
	int64_t r;
	return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

/* ---------------------------------------------------------------- random.c: xoshiro256**, seeded
 * by splitmix64 */
typedef struct rng {
	uint64_t s[4];
} rng;
void rng_seed(rng *r, uint64_t seed, uint64_t stream);
uint64_t rng_next(rng *r);
/* Uniform in [0, n), n > 0, without modulo bias worth noticing (multiply-shift). */
uint32_t rng_below(rng *r, uint32_t n);

/* ---------------------------------------------------------------- file.c */

/* Reads a whole file ("-" = standard input), gunzips or unzstds it when it starts with their magic.
 * limit: the most decoded bytes taken, beyond it ST_ERR_LIMIT. out->p is terminated; owned by
 * caller (strbuf_release). */
status file_read(const char *path, size_t limit, strbuf *out, diag *d) MUST_USE;
/* The same for bytes already in memory. */
status bytes_decode(const char *p, size_t n, size_t limit, strbuf *out, diag *d) MUST_USE;
/* Writes to a temporary name beside path, then renames: a failure leaves nothing behind. "-" =
 * standard output. */
status file_write(const char *path, const char *p, size_t n, diag *d) MUST_USE;
/* "sha256:<hex>" of the bytes; out has room for 72. */
enum { SHA256_BYTES = 32 };
void sha256(const void *p, size_t n, unsigned char out[SHA256_BYTES]);
void sha256_name(const void *p, size_t n, char out[72]);

/* ---------------------------------------------------------------- parallel.c */
int parallel_cores(void);
/* body(user, i) for i in [0, n) on up to `threads` threads; which thread takes which i is open.
 * Returns when all are done. Where memory ran out in one of them, the rest is not begun and the
 * caller's thread is out of memory, too. */
void parallel_for(int n, int threads, void (*body)(void *user, int i), void *user);

/* ---------------------------------------------------------------- clock.c */
int64_t clock_ns(void); /* monotonic */

#endif
