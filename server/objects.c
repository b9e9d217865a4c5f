#include "server/server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

enum { CHUNK = 1 << 17, SWEEP_AGE_SECONDS = 3600 };

static void remove_tree(const char *path)
{
	DIR *dir = opendir(path);
	if (!dir) {
		unlink(path);
		return;
	}
	for (struct dirent *e; (e = readdir(dir));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		strbuf inner;
		strbuf_init(&inner);
		strbuf_printf(&inner, "%s/%s", path, e->d_name);
		remove_tree(inner.p);
		strbuf_release(&inner);
	}
	closedir(dir);
	rmdir(path);
}

status objects_open(objects *o, const char *dir, diag *d)
{
	static const char *const kinds[] = {"", "/objects", "/emitted", "/tmp", "/work"};
	char path[600];
	o->dir = dir;
	atomic_store(&o->next, 1);
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		snprintf(path, sizeof path, "%s%s", dir, kinds[i]);
		if (i >= 3)
			remove_tree(path); /* a daemon that died left these */
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

void objects_path(const objects *o, const char *kind, const char *id, char path[512])
{
	const char *hex = strncmp(id, "sha256:", 7) ? id : id + 7;
	snprintf(path, 512, "%s/%s/%.2s/%.62s.zst", o->dir, kind, hex, hex + 2);
}

static bool sync_path(const char *path, int flags)
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
	if (!sync_path(temp, O_RDONLY) || rename(temp, path) != 0 || !sync_path(dir, O_RDONLY | O_DIRECTORY))
		return false;
	if (!made)
		return true;
	*strrchr(dir, '/') = 0; /* the new folder's own entry */
	return sync_path(dir, O_RDONLY | O_DIRECTORY);
}

static bool compress_file(int from, int to)
{
	ZSTD_CStream *z = ZSTD_createCStream();
	char *in = xmalloc(CHUNK), *out = xmalloc(CHUNK);
	bool ok = z != NULL;
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

static void sweep_folder(const char *path, const char *prefix, bool (*known)(void *cls, const char *id), void *cls)
{
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		char file[1024], id[ID_BYTES];
		struct stat st;
		size_t n = strlen(e->d_name);
		if (n != 62 + 4)
			continue;
		snprintf(id, sizeof id, "sha256:%.2s%.62s", prefix, e->d_name);
		snprintf(file, sizeof file, "%s/%.66s", path, e->d_name);
		if (!known(cls, id) && stat(file, &st) == 0 && st.st_mtime < time(NULL) - SWEEP_AGE_SECONDS)
			unlink(file);
	}
	if (dir)
		closedir(dir);
}

void objects_sweep(objects *o, bool (*known)(void *cls, const char *id), void *cls)
{
	char path[512], inner[600];
	snprintf(path, sizeof path, "%s/objects", o->dir);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (e->d_name[0] == '.' || strlen(e->d_name) != 2)
			continue;
		snprintf(inner, sizeof inner, "%s/%.2s", path, e->d_name);
		sweep_folder(inner, e->d_name, known, cls);
	}
	if (dir)
		closedir(dir);
}

/* ---------------------------------------------------------------- streaming a stored text */

typedef struct decoder {
	int fd;
	ZSTD_DStream *z;
	ZSTD_inBuffer in;
	bool at_end;
	char chunk[CHUNK];
} decoder;

static ssize_t decoder_read(void *cls, uint64_t pos, char *buf, size_t max)
{
	decoder *t = cls;
	(void)pos;
	ZSTD_outBuffer out = {buf, max, 0};
	while (out.pos == 0) {
		if (t->in.pos == t->in.size && !t->at_end) {
			ssize_t n = read(t->fd, t->chunk, CHUNK);
			if (n < 0)
				return MHD_CONTENT_READER_END_WITH_ERROR;
			t->at_end = n == 0;
			t->in = (ZSTD_inBuffer){t->chunk, (size_t)n, 0};
		}
		size_t left = ZSTD_decompressStream(t->z, &out, &t->in);
		if (ZSTD_isError(left))
			return MHD_CONTENT_READER_END_WITH_ERROR;
		if (out.pos == 0 && t->at_end && t->in.pos == t->in.size)
			return MHD_CONTENT_READER_END_OF_STREAM;
	}
	return (ssize_t)out.pos;
}

static void decoder_free(void *cls)
{
	decoder *t = cls;
	close(t->fd);
	ZSTD_freeDStream(t->z);
	free(t);
}

struct MHD_Response *objects_response(const char *path, bool as_zstd)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0)
		return NULL;
	struct MHD_Response *response;
	if (as_zstd) {
		response = MHD_create_response_from_fd64((uint64_t)st.st_size, fd);
		MHD_add_response_header(response, "Content-Encoding", "zstd");
	} else {
		decoder *t = xcalloc(1, sizeof *t);
		t->fd = fd;
		t->z = ZSTD_createDStream();
		ZSTD_DCtx_setParameter(t->z, ZSTD_d_windowLogMax, 27);
		response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK, decoder_read, t, decoder_free);
	}
	MHD_add_response_header(response, "Vary", "Accept-Encoding");
	return response;
}
