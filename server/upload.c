/* A body on its way in: bytes -> (gunzip | unzstd) -> count and hash -> memory, or zstd -> temporary file.
 * Refused while it arrives: too many bytes, too many decoded bytes, a bomb (more than 200 times its size once a
 * mebibyte is out), damage. Refused at the end: nothing, truncation. */
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { CHUNK = 1 << 16, BOMB_RATIO = 200, BOMB_FROM = 1 << 20, STORE_LEVEL = 1 };

struct upload {
	upload_coding coding;
	bool decided, gzip_open, finished, taken;
	char head[4];
	size_t head_n;
	int64_t wire, decoded, wire_limit, decoded_limit;
	z_stream gzip;
	ZSTD_DStream *unzstd;
	size_t unzstd_left;
	EVP_MD_CTX *hash;
	char id[ID_BYTES];
	ZSTD_CStream *pack;
	int fd;
	char temp[512];
	strbuf text;
	char chunk[CHUNK], packed[CHUNK];
};

upload *upload_new(objects *o, upload_coding coding, int64_t wire_limit, int64_t decoded_limit)
{
	upload *u = xcalloc(1, sizeof *u);
	u->coding = coding;
	u->wire_limit = wire_limit;
	u->decoded_limit = decoded_limit;
	u->fd = -1;
	u->hash = EVP_MD_CTX_new();
	EVP_DigestInit_ex(u->hash, EVP_sha256(), NULL);
	if (o) {
		u->fd = objects_temp(o, u->temp);
		u->pack = ZSTD_createCStream();
		ZSTD_CCtx_setParameter(u->pack, ZSTD_c_compressionLevel, STORE_LEVEL);
		ZSTD_CCtx_setParameter(u->pack, ZSTD_c_checksumFlag, 1);
		if (u->fd < 0) {
			upload_free(u);
			return NULL;
		}
	}
	return u;
}

void upload_free(upload *u)
{
	if (!u)
		return;
	if (u->gzip_open)
		inflateEnd(&u->gzip);
	ZSTD_freeDStream(u->unzstd);
	ZSTD_freeCStream(u->pack);
	EVP_MD_CTX_free(u->hash);
	if (u->fd >= 0) {
		close(u->fd);
		unlink(u->temp); /* after a publish the name is gone already */
	}
	strbuf_release(&u->text);
	free(u);
}

static bool pack_out(upload *u, const char *p, size_t n, bool last, problem *why)
{
	ZSTD_inBuffer in = {p, n, 0};
	for (bool more = true; more;) {
		ZSTD_outBuffer out = {u->packed, CHUNK, 0};
		size_t left = ZSTD_compressStream2(u->pack, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return problem_set(why, PROBLEM_INTERNAL, "cannot compress the module");
		for (size_t at = 0; at < out.pos;) {
			ssize_t w = write(u->fd, u->packed + at, out.pos - at);
			if (w < 0 && errno != EINTR)
				return problem_set(why, PROBLEM_STORAGE, "cannot write the module: %s", strerror(errno));
			at += w > 0 ? (size_t)w : 0;
		}
		more = last ? left != 0 : in.pos < in.size;
	}
	return true;
}

static bool take(upload *u, const char *p, size_t n, problem *why)
{
	u->decoded += (int64_t)n;
	if (u->decoded > u->decoded_limit)
		return problem_set(why, PROBLEM_TOO_LARGE, "the module has more than the limit of %lld bytes", (long long)u->decoded_limit);
	if (u->decoded > BOMB_FROM && u->decoded / BOMB_RATIO > u->wire)
		return problem_set(why, PROBLEM_TOO_LARGE, "the body grows more than %d times when decoded", BOMB_RATIO);
	EVP_DigestUpdate(u->hash, p, n);
	if (u->pack)
		return pack_out(u, p, n, false, why);
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
		if (rc != Z_OK && rc != Z_STREAM_END)
			return problem_set(why, PROBLEM_BAD_REQUEST, "damaged gzip data");
		u->finished = rc == Z_STREAM_END;
		if (!take(u, u->chunk, CHUNK - u->gzip.avail_out, why))
			return false;
	} while (u->gzip.avail_in || (!u->gzip.avail_out && !u->finished));
	return true;
}

static bool feed_zstd(upload *u, const char *p, size_t n, problem *why)
{
	ZSTD_inBuffer in = {p, n, 0};
	ZSTD_outBuffer out;
	do {
		out = (ZSTD_outBuffer){u->chunk, CHUNK, 0};
		u->unzstd_left = ZSTD_decompressStream(u->unzstd, &out, &in);
		if (ZSTD_isError(u->unzstd_left))
			return problem_set(why, PROBLEM_BAD_REQUEST, "damaged zstd data: %s", ZSTD_getErrorName(u->unzstd_left));
		if (!take(u, u->chunk, out.pos, why))
			return false;
	} while (in.pos < in.size || out.pos == CHUNK);
	u->finished = u->unzstd_left == 0;
	return true;
}

/* The first four bytes tell what the body is; a Content-Encoding has to agree with them. */
static bool decide(upload *u, problem *why)
{
	bool gzip = u->head_n >= 2 && !memcmp(u->head, "\x1f\x8b", 2), zstd = u->head_n == 4 && !memcmp(u->head, "\x28\xb5\x2f\xfd", 4);
	u->decided = true;
	if (u->coding == CODING_GZIP && !gzip)
		return problem_set(why, PROBLEM_BAD_REQUEST, "Content-Encoding says gzip, the body is not");
	if (u->coding == CODING_ZSTD && !zstd)
		return problem_set(why, PROBLEM_BAD_REQUEST, "Content-Encoding says zstd, the body is not");
	u->coding = gzip ? CODING_GZIP : zstd ? CODING_ZSTD : CODING_ANY;
	if (gzip) {
		u->gzip_open = inflateInit2(&u->gzip, 15 + 16) == Z_OK;
		if (!u->gzip_open)
			return problem_set(why, PROBLEM_UNAVAILABLE, "out of memory");
	} else if (zstd) {
		u->unzstd = ZSTD_createDStream();
		ZSTD_DCtx_setParameter(u->unzstd, ZSTD_d_windowLogMax, 27);
	}
	return true;
}

static bool feed_decided(upload *u, const char *p, size_t n, problem *why)
{
	if (n == 0)
		return true;
	return u->coding == CODING_GZIP ? feed_gzip(u, p, n, why) : u->coding == CODING_ZSTD ? feed_zstd(u, p, n, why) : take(u, p, n, why);
}

bool upload_feed(upload *u, const char *p, size_t n, problem *why)
{
	u->wire += (int64_t)n;
	if (u->wire > u->wire_limit)
		return problem_set(why, PROBLEM_TOO_LARGE, "the body has more than the limit of %lld bytes", (long long)u->wire_limit);
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
		return problem_set(why, PROBLEM_BAD_REQUEST, "truncated %s data", u->coding == CODING_GZIP ? "gzip" : "zstd");
	if (u->decoded == 0)
		return problem_set(why, PROBLEM_BAD_MODULE, "the body is empty, expected a module");
	if (u->pack && !pack_out(u, NULL, 0, true, why))
		return false;
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
strbuf *upload_text(upload *u) { return &u->text; }
