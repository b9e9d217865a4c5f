/* Preloaded into a daemon or a tool: makes calls of malloc and its like, of SQLite, or of zstd
 * fail; of SQLite also those that make the text of a statement, alone. Those of malloc are told
 * apart by where they come from, their stack; the others are counted. The first call that is number
 * `at`, or that comes from the stack `at`, fails, and so do the `burst` - 1 calls of its kind after
 * it. All of this lies in the file that NTH names, which the test maps, too; addresses have to be
 * the same in every run (setarch -R). The first failure tells on stderr where it was. Workers do
 * not have it: their environment is clean. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* The functions below stand for those of libraries whose headers would declare them otherwise. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { MEMORY, SQLITE, ZSTD, MPRINTF };
enum { SQLITE_NOMEM = 7, SQLITE_IOERR = 10, SQLITE_CANTOPEN = 14 };
enum { ZSTD_NOMEM = -64 }; /* as a size_t, what ZSTD_isError() takes for one */
enum { FRAMES = 6, OWN_FRAMES = 3, STACKS = 1 << 15 };

typedef struct shared {
	_Atomic int64_t kind, at, burst, failed, calls, census;
	_Atomic int64_t skip; /* so many calls cannot be it: their stacks are not looked at */
	_Atomic uint64_t stacks[STACKS]; /* census: a set of those seen, by their own value */
	_Atomic int64_t first[STACKS];   /* and the number of the first call from each */
} shared;

static shared *plan;
static _Thread_local int inside; /* SQLite's own calls, and those of the trace, do not count */

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("NTH");
	void *trace[4];
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	backtrace(trace, 4); /* the first call loads a library */
	void *p =
		fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	plan = p == MAP_FAILED ? NULL : p;
}

static void tell(void)
{
	void *trace[24];
	backtrace_symbols_fd(trace, backtrace(trace, 24), 2);
}

/* Never 0, and positive as an int64_t. */
static uint64_t stack_now(void)
{
	void *trace[OWN_FRAMES + FRAMES];
	uint64_t h = 14695981039346656037u;
	for (int i = OWN_FRAMES, n = backtrace(trace, OWN_FRAMES + FRAMES); i < n; i++)
		h = (h ^ (uintptr_t)trace[i]) * 1099511628211u;
	return h >> 1 | 1;
}

static void note(uint64_t stack, int64_t call)
{
	for (uint64_t i = stack >> 20, tries = 0; tries < STACKS; i++, tries++) {
		uint64_t there = 0;
		bool is_new = atomic_compare_exchange_strong(&plan->stacks[i % STACKS], &there, stack);
		if (is_new)
			atomic_store(&plan->first[i % STACKS], call);
		if (is_new || there == stack)
			return;
	}
}

static int is_it(int kind)
{
	int64_t n = atomic_fetch_add(&plan->calls, 1);
	if (kind != MEMORY)
		return n == atomic_load(&plan->at);
	if (n < atomic_load(&plan->skip))
		return 0;
	uint64_t stack = stack_now();
	if (atomic_load(&plan->census))
		note(stack, n);
	return (int64_t)stack == atomic_load(&plan->at);
}

static int fails(int kind)
{
	if (!plan || inside || atomic_load(&plan->kind) != kind)
		return 0;
	int64_t failed = atomic_load(&plan->failed), burst = atomic_load(&plan->burst);
	if (failed)
		return failed < burst && atomic_fetch_add(&plan->failed, 1) < burst;
	inside = 1;
	int hit = is_it(kind) && atomic_fetch_add(&plan->failed, 1) < burst;
	if (hit)
		tell();
	inside = 0;
	return hit;
}

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static void *refused(void)
{
	errno = ENOMEM;
	return NULL;
}

void *malloc(size_t n) { return fails(MEMORY) ? refused() : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails(MEMORY) ? refused() : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return fails(MEMORY) ? refused() : __libc_realloc(p, n); }

/* A daemon that waits for others to give memory back need not: nobody does, while all of them
 * fail. With 200 failures its 20 ms each would be 4 s of every turn. */
int usleep(useconds_t us)
{
	bool failing = plan && atomic_load(&plan->kind) == MEMORY && atomic_load(&plan->failed) > 0 &&
		atomic_load(&plan->failed) < atomic_load(&plan->burst);
	struct timespec pause = {us / 1000000, us % 1000000 * 1000};
	return failing ? 0 : nanosleep(&pause, NULL);
}

/* As SQLite's own, but for the pointers: sqlite3.h is not needed. */
#define REAL(name) \
	static __typeof__(&name) real; \
	if (!real) \
	*(void **)&real = dlsym(RTLD_NEXT, #name)

/* What SQLite calls of itself meanwhile does not count: its own functions fail in other ways. */
#define ALONE(result, call) \
	int outer = inside; \
	inside = outer || (plan && atomic_load(&plan->kind) == SQLITE); \
	result = call; \
	inside = outer

int sqlite3_step(void *s)
{
	REAL(sqlite3_step);
	if (fails(SQLITE))
		return SQLITE_IOERR;
	int rc;
	ALONE(rc, real(s));
	return rc;
}

int sqlite3_exec(
	void *db, const char *sql, int (*row)(void *, int, char **, char **), void *user, char **error)
{
	REAL(sqlite3_exec);
	if (fails(SQLITE))
		return SQLITE_IOERR;
	int rc;
	ALONE(rc, real(db, sql, row, user, error));
	return rc;
}

int sqlite3_prepare_v2(void *db, const char *sql, int n, void **out, const char **tail)
{
	REAL(sqlite3_prepare_v2);
	int rc = SQLITE_NOMEM;
	*out = NULL;
	if (!fails(SQLITE)) {
		ALONE(rc, real(db, sql, n, out, tail));
	}
	return rc;
}

int sqlite3_prepare_v3(
	void *db, const char *sql, int n, unsigned flags, void **out, const char **tail)
{
	REAL(sqlite3_prepare_v3);
	int rc = SQLITE_NOMEM;
	*out = NULL;
	if (!fails(SQLITE)) {
		ALONE(rc, real(db, sql, n, flags, out, tail));
	}
	return rc;
}

int sqlite3_bind_text(void *s, int at, const char *text, int n, void (*destroy)(void *))
{
	REAL(sqlite3_bind_text);
	return fails(SQLITE) ? SQLITE_NOMEM : real(s, at, text, n, destroy);
}

int sqlite3_blob_open(void *db, const char *schema, const char *table, const char *column,
	int64_t row, int flags, void **out)
{
	REAL(sqlite3_blob_open);
	if (!fails(SQLITE))
		return real(db, schema, table, column, row, flags, out);
	*out = NULL;
	return SQLITE_IOERR;
}

int sqlite3_blob_read(void *blob, void *to, int n, int at)
{
	REAL(sqlite3_blob_read);
	return fails(SQLITE) ? SQLITE_IOERR : real(blob, to, n, at);
}

int sqlite3_open_v2(const char *path, void **out, int flags, const char *vfs)
{
	REAL(sqlite3_open_v2);
	if (!fails(SQLITE))
		return real(path, out, flags, vfs);
	*out = NULL;
	return SQLITE_CANTOPEN;
}

/* What it makes are statements: NULL, for want of memory, would be one that does nothing. */
char *sqlite3_mprintf(const char *format, ...)
{
	static char *(*real)(const char *, va_list);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "sqlite3_vmprintf");
	if (fails(MPRINTF))
		return NULL;
	va_list args;
	va_start(args, format);
	char *text = real(format, args);
	va_end(args);
	return text;
}

void *ZSTD_createDStream(void)
{
	REAL(ZSTD_createDStream);
	return fails(ZSTD) ? NULL : real();
}

void *ZSTD_createCStream(void)
{
	REAL(ZSTD_createCStream);
	return fails(ZSTD) ? NULL : real();
}

size_t ZSTD_decompressStream(void *z, void *out, void *in)
{
	REAL(ZSTD_decompressStream);
	return fails(ZSTD) ? (size_t)ZSTD_NOMEM : real(z, out, in);
}

size_t ZSTD_compressStream2(void *z, void *out, void *in, int end)
{
	REAL(ZSTD_compressStream2);
	return fails(ZSTD) ? (size_t)ZSTD_NOMEM : real(z, out, in, end);
}
