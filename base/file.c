#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { CHUNK = 1 << 18, MAX_WINDOW_LOG = 27 };

static status too_large(diag *d, size_t limit)
{
	return diag_set(d, ST_ERR_LIMIT, "the text is larger than the limit of %zu bytes", limit);
}

/* One output chunk; false once the limit is passed. */
static bool take(strbuf *out, const char *p, size_t n, size_t limit)
{
	if (n > limit - MIN(out->n, limit))
		return false;
	strbuf_add(out, p, n);
	return true;
}

static void end_gzip(void *z) { inflateEnd(z); }
static void end_zstd(void *z) { ZSTD_freeDStream(z); }
static void end_file(void *fd) { close(*(int *)fd); }

static status decode_gzip(const char *p, size_t n, size_t limit, strbuf *out, diag *d)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)p, .avail_in = 0};
	if (inflateInit2(&z, 15 + 16) != Z_OK)
		memory_out();
	unwind u;
	unwind_push(&u, end_gzip, &z);
	char *chunk = xmalloc(CHUNK);
	size_t left = n;
	int rc = Z_OK;
	status s = ST_OK;
	while (s == ST_OK && rc != Z_STREAM_END) {
		if (!z.avail_in && left) {
			z.avail_in = (uInt)MIN(left, (size_t)1 << 30);
			left -= z.avail_in;
		}
		z.next_out = (Bytef *)chunk;
		z.avail_out = CHUNK;
		rc = inflate(&z, Z_NO_FLUSH);
		size_t made = CHUNK - z.avail_out;
		if (rc == Z_MEM_ERROR)
			memory_out();
		if (rc != Z_OK && rc != Z_STREAM_END)
			s = diag_set(d, ST_ERR_PARSE, "damaged or truncated gzip data");
		else if (!take(out, chunk, made, limit))
			s = too_large(d, limit);
	}
	free(chunk);
	unwind_pop(&u);
	inflateEnd(&z);
	return s;
}

static status decode_zstd(const char *p, size_t n, size_t limit, strbuf *out, diag *d)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	if (!z)
		memory_out();
	unwind u;
	unwind_push(&u, end_zstd, z);
	ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, MAX_WINDOW_LOG);
	char *chunk = xmalloc(CHUNK);
	ZSTD_inBuffer in = {p, n, 0};
	status s = ST_OK;
	size_t more = 1;
	while (s == ST_OK) {
		ZSTD_outBuffer o = {chunk, CHUNK, 0};
		more = ZSTD_decompressStream(z, &o, &in);
		if (ZSTD_getErrorCode(more) == ZSTD_error_memory_allocation)
			memory_out();
		if (ZSTD_isError(more))
			s = diag_set(d, ST_ERR_PARSE, "damaged zstd data: %s", ZSTD_getErrorName(more));
		else if (!take(out, chunk, o.pos, limit))
			s = too_large(d, limit);
		else if (in.pos == in.size && o.pos < CHUNK)
			break;
	}
	if (s == ST_OK && more != 0)
		s = diag_set(d, ST_ERR_PARSE, "truncated zstd data");
	free(chunk);
	unwind_pop(&u);
	ZSTD_freeDStream(z);
	return s;
}

status bytes_decode(const char *p, size_t n, size_t limit, strbuf *out, diag *d)
{
	strbuf_clear(out);
	status s = ST_OK;
	if (n >= 2 && !memcmp(p, "\x1f\x8b", 2))
		s = decode_gzip(p, n, limit, out, d);
	else if (n >= 4 && !memcmp(p, "\x28\xb5\x2f\xfd", 4))
		s = decode_zstd(p, n, limit, out, d);
	else if (!take(out, p, n, limit))
		s = too_large(d, limit);
	if (s != ST_OK)
		strbuf_release(out);
	return s;
}

/* Whether an open failed for what the path is. Where descriptors or memory are short, or the disk
 * fails, nothing is known of that. */
static bool is_of_the_path(int error)
{
	return error != EMFILE && error != ENFILE && error != ENOMEM && error != EIO && error != EAGAIN;
}

status file_read(const char *path, size_t limit, strbuf *out, diag *d)
{
	strbuf_clear(out);
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0)
		return diag_set(d, is_of_the_path(errno) ? ST_ERR_NOT_FOUND : ST_ERR_IO,
			"cannot open '%s': %s", path, strerror(errno));
	status s = ST_OK;
	unwind u;
	if (fd != STDIN_FILENO)
		unwind_push(&u, end_file, &fd);
	strbuf raw;
	strbuf_init(&raw);
	if (S_ISDIR(st.st_mode))
		s = diag_set(d, ST_ERR_NOT_FOUND, "'%s' is a directory, expected a file", path);
	char *chunk = xmalloc(CHUNK);
	while (s == ST_OK) {
		ssize_t n = read(fd, chunk, CHUNK);
		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			s = diag_set(d, ST_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
		else if (!take(&raw, chunk, (size_t)n, limit))
			s = too_large(d, limit);
	}
	free(chunk);
	if (fd != STDIN_FILENO) {
		unwind_pop(&u);
		close(fd);
	}
	if (s == ST_OK && raw.n >= 4 &&
		(!memcmp(raw.p, "\x1f\x8b", 2) || !memcmp(raw.p, "\x28\xb5\x2f\xfd", 4))) {
		s = bytes_decode(raw.p, raw.n, limit, out, d);
		strbuf_release(&raw);
	} else if (s == ST_OK) {
		strbuf_release(out);
		strbuf_add(&raw, "", 0);
		*out = raw;
	} else {
		strbuf_release(&raw);
	}
	if (s != ST_OK && d)
		diag_in_file(d, path);
	return s;
}

static status write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return ST_ERR_IO;
		p += w;
		n -= (size_t)w;
	}
	return ST_OK;
}

status file_write(const char *path, const char *p, size_t n, diag *d)
{
	if (!strcmp(path, "-"))
		return write_all(STDOUT_FILENO, p, n) == ST_OK
			? ST_OK
			: diag_set(d, ST_ERR_IO, "cannot write to standard output: %s", strerror(errno));
	struct stat st;
	bool special =
		stat(path, &st) == 0 && !S_ISREG(st.st_mode); /* a device or a pipe is written in place */
	strbuf temp;
	strbuf_init(&temp);
	strbuf_printf(&temp, "%s.tmp.%ld", path, (long)getpid());
	const char *target = special ? path : temp.p;
	int fd = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	status s = ST_OK;
	if (fd < 0)
		s = diag_set(d, ST_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
	else if (write_all(fd, p, n) != ST_OK)
		s = diag_set(d, ST_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
	if (fd >= 0 && close(fd) != 0 && s == ST_OK)
		s = diag_set(d, ST_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
	if (s == ST_OK && !special && rename(target, path) != 0)
		s = diag_set(d, ST_ERR_IO, "cannot rename onto '%s': %s", path, strerror(errno));
	if (s != ST_OK && !special && fd >= 0)
		unlink(target);
	strbuf_release(&temp);
	return s;
}

void sha256(const void *p, size_t n, unsigned char out[SHA256_BYTES])
{
	ERR_set_mark(); /* nothing of ours stays in the program's queue of errors */
	bool ok = SHA256(p, n, out) != NULL;
	ERR_pop_to_mark();
	if (!ok)
		memory_out();
}

void sha256_name(const void *p, size_t n, char out[72])
{
	unsigned char digest[SHA256_BYTES];
	sha256(p, n, digest);
	memcpy(out, "sha256:", 7);
	for (int i = 0; i < SHA256_BYTES; i++)
		snprintf(out + 7 + 2 * i, 3, "%02x", digest[i]);
}
