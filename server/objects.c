#include "server/objects.h"
#include "server/objects_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
	SWEEP_AGE_SECONDS = 3600,
	WINDOW_LOG = 19, /* of what is packed here: whoever reads it holds a window of this size */
};

/* What lies in a folder goes; the folder itself stays, since a full disk may not give it back. */
static void empty_folder(const char *path)
{
	DIR *dir = opendir(path);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		strbuf inner;
		strbuf_init(&inner);
		strbuf_printf(&inner, "%s/%s", path, e->d_name);
		if (unlink(inner.p) != 0) {
			empty_folder(inner.p);
			rmdir(inner.p);
		}
		strbuf_release(&inner);
	}
	closedir(dir);
}

status objects_open(objects *o, const char *dir, diag *d)
{
	enum {
		KEPT_FROM = 3
	}; /* a daemon that died left something in those before, but for the first */
	static const char *const kinds[] = {"", "/tmp", "/work", "/objects", "/emitted", "/exact",
		"/annotate", "/explanation", "/outline", "/timeline", "/arguments",
#define X(name) "/as-" #name,
		STRATEGY_NOTATIONS(X)
#undef X
	};
	char path[600];
	o->dir = dir;
	atomic_store(&o->next, 1);
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		snprintf(path, sizeof path, "%s%s", dir, kinds[i]);
		if (i > 0 && i < KEPT_FROM)
			empty_folder(path);
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			return diag_set(d, ST_ERR_IO, "cannot make the folder '%s': %s", path, strerror(errno));
	}
	return ST_OK;
}

int objects_temp(objects *o, char name[512])
{
	snprintf(name, 512, "%s/tmp/%llu", o->dir, (unsigned long long)atomic_fetch_add(&o->next, 1));
	return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

bool write_all(int fd, const char *p, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t w = write(fd, p + at, n - at);
		if (w < 0 && errno != EINTR)
			return false;
		at += w > 0 ? (size_t)w : 0;
	}
	return true;
}

void objects_path(const objects *o, const char *kind, const char *id, char path[512])
{
	const char *hex = strncmp(id, "sha256:", 7) ? id : id + 7;
	snprintf(path, 512, "%s/%s/%.2s/%.62s.zst", o->dir, kind, hex, hex + 2);
}

bool objects_lost(const objects *o, const char *kind, const char *id)
{
	char path[512];
	objects_path(o, kind, id, path);
	return access(path, F_OK) != 0 && errno == ENOENT;
}

bool file_sync(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool ok = fsync(fd) == 0;
	close(fd);
	return ok;
}

bool objects_publish(objects *o, const char *temp, const char *kind, const char *id)
{
	char path[512], dir[512];
	objects_path(o, kind, id, path);
	snprintf(dir, sizeof dir, "%s", path);
	*strrchr(dir, '/') = 0;
	bool made = mkdir(dir, 0700) == 0;
	if (!file_sync(temp, O_RDONLY) || rename(temp, path) != 0 ||
		!file_sync(dir, O_RDONLY | O_DIRECTORY))
		return false;
	if (!made)
		return true;
	*strrchr(dir, '/') = 0; /* the new folder's own entry */
	return file_sync(dir, O_RDONLY | O_DIRECTORY);
}

static bool compress_file(int from, int to)
{
	ZSTD_CStream *z = ZSTD_createCStream();
	char *in = xmalloc(CHUNK), *out = xmalloc(CHUNK);
	bool ok = z && !ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, WINDOW_LOG));
	for (bool last = false; ok && !last;) {
		ssize_t n = read(from, in, CHUNK);
		ok = n >= 0;
		last = n == 0;
		ZSTD_inBuffer src = {in, ok ? (size_t)n : 0, 0};
		for (bool more = ok; more;) {
			ZSTD_outBuffer dst = {out, CHUNK, 0};
			size_t left = ZSTD_compressStream2(z, &dst, &src, last ? ZSTD_e_end : ZSTD_e_continue);
			ok = !ZSTD_isError(left) && write(to, out, dst.pos) == (ssize_t)dst.pos;
			more = ok && (last ? left != 0 : src.pos < src.size);
		}
	}
	free(in);
	free(out);
	ZSTD_freeCStream(z);
	return ok;
}

bool objects_store_file(objects *o, const char *plain, const char *kind, const char *id)
{
	char temp[512];
	int from = open(plain, O_RDONLY | O_CLOEXEC), to = from < 0 ? -1 : objects_temp(o, temp);
	bool ok = from >= 0 && to >= 0 && compress_file(from, to);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	ok = ok && objects_publish(o, temp, kind, id);
	if (!ok && to >= 0)
		unlink(temp);
	return ok;
}

/* Taken aside first and looked at again: an upload may have put a new file in its place meanwhile,
 * which then goes back. */
static void sweep_file(objects *o, const char *file, const char *id,
	bool (*known)(void *cls, const char *id), void *cls)
{
	char aside[512];
	struct stat st;
	if (stat(file, &st) != 0 || st.st_mtime >= time(NULL) - SWEEP_AGE_SECONDS || known(cls, id))
		return;
	snprintf(aside, sizeof aside, "%s/tmp/sweep-%llu", o->dir,
		(unsigned long long)atomic_fetch_add(&o->next, 1));
	if (rename(file, aside) != 0)
		return;
	if (stat(aside, &st) == 0 && st.st_mtime < time(NULL) - SWEEP_AGE_SECONDS && !known(cls, id))
		unlink(aside);
	else if (rename(aside, file) != 0)
		log_warn("event=sweep_failed error=%s", log_quoted(strerror(errno)).text);
}

static void sweep_folder(objects *o, const char *path, const char *prefix,
	bool (*known)(void *cls, const char *id), void *cls)
{
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		char file[1024], id[ID_BYTES];
		if (strlen(e->d_name) != 62 + 4)
			continue;
		snprintf(id, sizeof id, "sha256:%.2s%.62s", prefix, e->d_name);
		snprintf(file, sizeof file, "%s/%.66s", path, e->d_name);
		sweep_file(o, file, id, known, cls);
	}
	if (dir)
		closedir(dir);
}

void objects_sweep(
	objects *o, const char *kind, bool (*known)(void *cls, const char *id), void *cls)
{
	char path[512], inner[600];
	snprintf(path, sizeof path, "%.400s/%s", o->dir, kind);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (e->d_name[0] == '.' || strlen(e->d_name) != 2)
			continue;
		snprintf(inner, sizeof inner, "%s/%.2s", path, e->d_name);
		sweep_folder(o, inner, e->d_name, known, cls);
	}
	if (dir)
		closedir(dir);
}

/* ---------------------------------------------------------------- reading a stored text */

ssize_t decoder_read(void *cls, uint64_t pos, char *buf, size_t max)
{
	decoder *t = cls;
	(void)pos;
	ZSTD_outBuffer out = {buf, max, 0};
	while (out.pos == 0) {
		if (t->in.pos == t->in.size && !t->at_end) {
			ssize_t n = read(t->fd, t->chunk, CHUNK);
			if (n < 0) {
				t->error = errno;
				return MHD_CONTENT_READER_END_WITH_ERROR;
			}
			t->at_end = n == 0;
			t->in = (ZSTD_inBuffer){t->chunk, (size_t)n, 0};
		}
		size_t left = ZSTD_decompressStream(t->z, &out, &t->in);
		if (ZSTD_isError(left)) {
			t->error = ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation ? ENOMEM : 0;
			return MHD_CONTENT_READER_END_WITH_ERROR;
		}
		/* A call that had nothing left to do asks for the next frame: what the one before wanted is
		 * what counts. */
		bool idle = t->at_end && t->in.pos == t->in.size && out.pos == 0;
		if (idle)
			return t->whole ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
		t->whole = left == 0;
	}
	return (ssize_t)out.pos;
}

text_state objects_state(const objects *o, const char *kind, const char *id)
{
	char path[512];
	objects_path(o, kind, id, path);
	return file_state(path, id);
}

/* The hash of what t decodes, in hex; false with t->error where it is known why. */
static bool hash_decoded(decoder *t, EVP_MD_CTX *hash, char hex[65])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	char *text = xmalloc(CHUNK);
	ssize_t n;
	bool ok = EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1;
	while ((n = decoder_read(t, 0, text, CHUNK)) > 0)
		ok = ok && EVP_DigestUpdate(hash, text, (size_t)n) == 1;
	free(text);
	ok = ok && EVP_DigestFinal_ex(hash, digest, NULL) == 1;
	if (!ok && !t->error)
		t->error = ENOMEM;
	if (!ok || n != MHD_CONTENT_READER_END_OF_STREAM)
		return false;
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	return true;
}

text_state file_state(const char *path, const char *id)
{
	char hex[65] = "";
	decoder *t = xcalloc(1, sizeof *t);
	t->fd = open(path, O_RDONLY | O_CLOEXEC);
	t->error = t->fd < 0 ? errno : 0;
	t->z = ZSTD_createDStream();
	EVP_MD_CTX *hash = EVP_MD_CTX_new();
	if (!t->error && (!t->z || !hash))
		t->error = ENOMEM;
	bool whole = !t->error && hash_decoded(t, hash, hex);
	int error = t->error;
	if (t->fd >= 0)
		close(t->fd);
	ZSTD_freeDStream(t->z);
	EVP_MD_CTX_free(hash);
	free(t);
	errno = error;
	if (error)
		return error == ENOENT ? TEXT_LOST : TEXT_UNREAD;
	return whole && !strcmp(hex, strncmp(id, "sha256:", 7) ? id : id + 7) ? TEXT_INTACT
																		  : TEXT_DAMAGED;
}
