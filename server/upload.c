/* A body on its way in: bytes -> (gunzip | unzstd) -> count and hash -> memory, or zstd ->
 * temporary file. Refused while it arrives: too many bytes, too many decoded bytes, a bomb (more
 * than 200 times its size once a mebibyte is out), damage. Refused at the end: nothing, truncation.
 */
#include "server/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
	CHUNK = 1 << 16,
	BOMB_RATIO = 200,
	BOMB_FROM = 1 << 20,
	STORE_LEVEL = 1,
	ZSTD_WINDOW_LOG = 23, /* what RFC 9659 lets a content coding ask of its reader */
	GZIP_BYTES = 48 << 10,
};

struct upload {
	upload_coding coding;
	bool stored, decided, gzip_open, finished;
	char head[4];
	size_t head_n;
	int64_t wire, decoded, wire_limit, decoded_limit;
	z_stream gzip;
	ZSTD_DStream *unzstd;
	size_t unzstd_left;
	memory *memory;
	int64_t held;
	EVP_MD_CTX *hash;
	char id[ID_BYTES];
	ZSTD_CStream *pack;
	problem unwritten; /* why the temporary file is not whole; the text is hashed to its end all the
	                      same */
	int fd;
	char temp[512];
	strbuf text;
	char chunk[CHUNK], packed[CHUNK];
};

/* Makes sure that `more` bytes beside the struct and the coders are taken from the budget. The
 * coders tell their size only once they have allocated: one step of one HTTP thread may pass the
 * budget by a window before it is seen. */
static bool hold(upload *u, size_t more, problem *why)
{
	int64_t total = (int64_t)(sizeof *u + more + ZSTD_sizeof_CStream(u->pack) +
						ZSTD_sizeof_DStream(u->unzstd)) +
		u->gzip_open * GZIP_BYTES;
	if (total <= u->held)
		return true;
	if (!memory_take(u->memory, total - u->held))
		return memory_refused(why);
	u->held = total;
	return true;
}

static bool open_pack(upload *u, objects *o, problem *why)
{
	if ((u->fd = objects_temp(o, u->temp)) < 0) {
		problem_errno(&u->unwritten, "cannot make a temporary file");
		return true;
	}
	u->pack = ZSTD_createCStream();
	if (!u->pack)
		return memory_refused(why);
	ZSTD_CCtx_setParameter(u->pack, ZSTD_c_compressionLevel, STORE_LEVEL);
	ZSTD_CCtx_setParameter(u->pack, ZSTD_c_checksumFlag, 1);
	return true;
}

upload *upload_new(objects *o, memory *m, upload_coding coding, int64_t wire_limit,
	int64_t decoded_limit, problem *why)
{
	if (!memory_take(m, sizeof(upload))) {
		memory_refused(why);
		return NULL;
	}
	upload *u = xcalloc(1, sizeof *u);
	u->memory = m;
	u->held = sizeof *u;
	u->stored = o != NULL;
	u->coding = coding;
	u->wire_limit = wire_limit;
	u->decoded_limit = decoded_limit;
	u->fd = -1;
	u->hash = EVP_MD_CTX_new();
	bool ok =
		u->hash && EVP_DigestInit_ex(u->hash, EVP_sha256(), NULL) == 1 ? true : memory_refused(why);
	if (ok && (!o || open_pack(u, o, why)))
		return u;
	upload_free(u);
	return NULL;
}

static void free_coders(upload *u)
{
	if (u->gzip_open)
		inflateEnd(&u->gzip);
	u->gzip_open = false;
	ZSTD_freeDStream(u->unzstd);
	ZSTD_freeCStream(u->pack);
	u->unzstd = NULL;
	u->pack = NULL;
}

void upload_free(upload *u)
{
	if (!u)
		return;
	free_coders(u);
	EVP_MD_CTX_free(u->hash);
	if (u->fd >= 0) {
		close(u->fd);
		unlink(u->temp); /* after a publish the name is gone already */
	}
	strbuf_release(&u->text);
	memory_give(u->memory, u->held);
	free(u);
}

static bool pack_out(upload *u, const char *p, size_t n, bool last, problem *why)
{
	ZSTD_inBuffer in = {p, n, 0};
	for (bool more = true; more;) {
		ZSTD_outBuffer out = {u->packed, CHUNK, 0};
		size_t left = ZSTD_compressStream2(u->pack, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation
				? memory_refused(why)
				: problem_set(why, PROBLEM_INTERNAL, "cannot compress the module");
		if (!write_all(u->fd, u->packed, out.pos)) {
			problem_errno(&u->unwritten, "cannot write the module");
			return true;
		}
		more = last ? left != 0 : in.pos < in.size;
	}
	return hold(u, 0, why);
}

static bool take(upload *u, const char *p, size_t n, problem *why)
{
	u->decoded += (int64_t)n;
	if (u->decoded > u->decoded_limit)
		return problem_set(why, PROBLEM_TOO_LARGE,
			"the module has more than the limit of %lld bytes", (long long)u->decoded_limit);
	if (u->decoded > BOMB_FROM && u->decoded / BOMB_RATIO > u->wire)
		return problem_set(
			why, PROBLEM_TOO_LARGE, "the body grows more than %d times when decoded", BOMB_RATIO);
	EVP_DigestUpdate(u->hash, p, n);
	if (u->stored)
		return u->unwritten.kind || pack_out(u, p, n, false, why);
	if (!hold(u, 2 * (u->text.n + n), why)) /* it doubles as it grows */
		return false;
	strbuf_add(&u->text, p, n);
	return true;
}

static bool feed_gzip(upload *u, const char *p, size_t n, problem *why)
{
	u->gzip.next_in = (Bytef *)(uintptr_t)p;
	u->gzip.avail_in = (uInt)n;
	do {
		u->gzip.next_out = (Bytef *)u->chunk;
		u->gzip.avail_out = CHUNK;
		if (u->finished)
			return problem_set(why, PROBLEM_BAD_REQUEST, "bytes follow the end of the gzip data");
		int rc = inflate(&u->gzip, Z_NO_FLUSH);
		if (rc == Z_BUF_ERROR)
			return true;
		if (rc == Z_MEM_ERROR)
			return memory_refused(why);
		if (rc != Z_OK && rc != Z_STREAM_END)
			return problem_set(why, PROBLEM_BAD_REQUEST, "damaged gzip data");
		u->finished = rc == Z_STREAM_END;
		if (!take(u, u->chunk, CHUNK - u->gzip.avail_out, why))
			return false;
	} while (u->gzip.avail_in || (!u->gzip.avail_out && !u->finished));
	return true;
}

static bool refuse_zstd(size_t code, problem *why)
{
	if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
		return memory_refused(why);
	if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
		return problem_set(why, PROBLEM_TOO_LARGE,
			"the zstd data needs a window of more than %d MiB (RFC 9659): compress without --long "
			"or --ultra",
			1 << (ZSTD_WINDOW_LOG - 20));
	return problem_set(why, PROBLEM_BAD_REQUEST, "damaged zstd data: %s", ZSTD_getErrorName(code));
}

static bool feed_zstd(upload *u, const char *p, size_t n, problem *why)
{
	ZSTD_inBuffer in = {p, n, 0};
	ZSTD_outBuffer out;
	do {
		out = (ZSTD_outBuffer){u->chunk, CHUNK, 0};
		u->unzstd_left = ZSTD_decompressStream(u->unzstd, &out, &in);
		if (ZSTD_isError(u->unzstd_left))
			return refuse_zstd(u->unzstd_left, why);
		if (!hold(u, 2 * u->text.n, why))
			return false;
		if (!take(u, u->chunk, out.pos, why))
			return false;
	} while (in.pos < in.size || out.pos == CHUNK);
	u->finished = u->unzstd_left == 0;
	return true;
}

/* The first four bytes tell what the body is; a Content-Encoding has to agree with them. */
static bool decide(upload *u, problem *why)
{
	bool gzip = u->head_n >= 2 && !memcmp(u->head, "\x1f\x8b", 2),
		 zstd = u->head_n == 4 && !memcmp(u->head, "\x28\xb5\x2f\xfd", 4);
	u->decided = true;
	if (u->coding == CODING_GZIP && !gzip)
		return problem_set(why, PROBLEM_BAD_REQUEST, "Content-Encoding says gzip, the body is not");
	if (u->coding == CODING_ZSTD && !zstd)
		return problem_set(why, PROBLEM_BAD_REQUEST, "Content-Encoding says zstd, the body is not");
	u->coding = gzip ? CODING_GZIP : zstd ? CODING_ZSTD : CODING_ANY;
	if (gzip) {
		u->gzip_open = inflateInit2(&u->gzip, 15 + 16) == Z_OK;
		if (!u->gzip_open)
			return memory_refused(why);
	} else if (zstd) {
		u->unzstd = ZSTD_createDStream();
		if (!u->unzstd)
			return memory_refused(why);
		ZSTD_DCtx_setParameter(u->unzstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	}
	return hold(u, 0, why);
}

static bool feed_decided(upload *u, const char *p, size_t n, problem *why)
{
	if (n == 0)
		return true;
	return u->coding == CODING_GZIP ? feed_gzip(u, p, n, why)
		: u->coding == CODING_ZSTD  ? feed_zstd(u, p, n, why)
									: take(u, p, n, why);
}

bool upload_feed(upload *u, const char *p, size_t n, problem *why)
{
	u->wire += (int64_t)n;
	if (u->wire > u->wire_limit)
		return problem_set(why, PROBLEM_TOO_LARGE, "the body has more than the limit of %lld bytes",
			(long long)u->wire_limit);
	while (!u->decided && n) {
		u->head[u->head_n++] = *p++;
		n--;
		if (u->head_n == 4 && (!decide(u, why) || !feed_decided(u, u->head, 4, why)))
			return false;
	}
	return !u->decided || feed_decided(u, p, n, why);
}

bool upload_end(upload *u, problem *why)
{
	if (!u->decided && (!decide(u, why) || !feed_decided(u, u->head, u->head_n, why)))
		return false;
	if (u->coding != CODING_ANY && !u->finished)
		return problem_set(why, PROBLEM_BAD_REQUEST, "truncated %s data",
			u->coding == CODING_GZIP ? "gzip" : "zstd");
	if (u->decoded == 0)
		return problem_set(why, PROBLEM_BAD_MODULE, "the body is empty, expected a module");
	if (u->stored && !u->unwritten.kind && !pack_out(u, NULL, 0, true, why))
		return false;
	free_coders(u);
	int64_t rest = (int64_t)(sizeof *u + u->text.cap);
	memory_give(u->memory, u->held - rest);
	u->held = rest;
	unsigned char digest[EVP_MAX_MD_SIZE];
	EVP_DigestFinal_ex(u->hash, digest, NULL);
	memcpy(u->id, "sha256:", 7);
	for (int i = 0; i < 32; i++)
		snprintf(u->id + 7 + 2 * i, 3, "%02x", digest[i]);
	return true;
}

const char *upload_id(const upload *u) { return u->id; }
int64_t upload_text_bytes(const upload *u) { return u->decoded; }
int64_t upload_wire_bytes(const upload *u) { return u->wire; }
const char *upload_temp(const upload *u) { return u->temp; }
const problem *upload_unwritten(const upload *u)
{
	return u->unwritten.kind ? &u->unwritten : NULL;
}
strbuf *upload_text(upload *u) { return &u->text; }
