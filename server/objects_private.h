/* Reading a stored text in pieces, for objects.c and objects_response.c. */
#ifndef SW_OBJECTS_PRIVATE_H
#define SW_OBJECTS_PRIVATE_H

#include "server/server.h"

#include <zstd.h>

enum { CHUNK = 1 << 16 };

typedef struct decoder {
	memory *memory;
	int fd;
	ZSTD_DStream *z;
	ZSTD_inBuffer in;
	bool at_end, whole; /* whole: what came was complete frames */
	int error;          /* errno of a failure that says nothing about the text */
	char chunk[CHUNK];
} decoder;

/* The next decoded bytes; MHD_CONTENT_READER_END_OF_STREAM or _END_WITH_ERROR. cls: a decoder; pos
 * is not looked at. */
ssize_t decoder_read(void *cls, uint64_t pos, char *buf, size_t max);

#endif
