/* A stored text as an HTTP answer, decoded while it is sent. */
#include "server/http.h"
#include "server/objects_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DECODER_BYTES = 1 << 20 }; /* of one answer that is unpacked while it is sent */

static void decoder_free(void *cls)
{
	decoder *t = cls;
	close(t->fd);
	ZSTD_freeDStream(t->z);
	memory_give(t->memory, DECODER_BYTES);
	free(t);
}

static struct MHD_Response *unpacked(int fd, memory *m)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	if (!z || !memory_take(m, DECODER_BYTES)) {
		ZSTD_freeDStream(z);
		return NULL;
	}
	decoder *t = xcalloc(1, sizeof *t);
	*t = (decoder){.memory = m, .fd = fd, .z = z};
	ZSTD_DCtx_setParameter(t->z, ZSTD_d_windowLogMax, 27);
	struct MHD_Response *response =
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK, decoder_read, t, decoder_free);
	if (!response) {
		t->fd = -1; /* the caller's again */
		decoder_free(t);
	}
	return response;
}

struct MHD_Response *objects_response(const char *path, bool as_zstd, memory *m, problem *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0) {
		problem_set(why, errno == ENOENT ? PROBLEM_INTERNAL : PROBLEM_UNAVAILABLE,
			"the text cannot be read from the store: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	struct MHD_Response *response =
		as_zstd ? MHD_create_response_from_fd64((uint64_t)st.st_size, fd) : unpacked(fd, m);
	if (!response) {
		close(fd);
		memory_refused(why);
		return NULL;
	}
	if ((!as_zstd || MHD_add_response_header(response, "Content-Encoding", "zstd") == MHD_YES) &&
		MHD_add_response_header(response, "Vary", "Accept-Encoding") == MHD_YES)
		return response;
	MHD_destroy_response(response); /* which closes the descriptor */
	memory_refused(why);
	return NULL;
}
