/* Files of a store, and bodies on their way into it. */
#ifndef SW_SERVER_OBJECTS_H
#define SW_SERVER_OBJECTS_H

#include "server/json.h"
#include "server/memory.h"

/* ---------------------------------------------------------------- objects.c: files by content */

/* What `convert --strategy` writes the shardings of a strategy in, and the folders as-NAME for what
 * it wrote. */
#define STRATEGY_NOTATIONS(X) X(jax) X(dtensor) X(mindspore) X(sbp) X(sdy) X(gspmd)

/* Layout of a store: shardwright.db, lock, objects/ab/cdef...zst (module texts), the same in
 * emitted/, exact/, annotate/ (modules with a strategy applied), explanation/, outline/, timeline/
 * and arguments/ (handle_derived.c), tmp/, work/. */
typedef struct objects {
	const char *dir;
	_Atomic uint64_t next;
} objects;
status objects_open(objects *o, const char *dir, diag *d) MUST_USE;
bool write_all(int fd, const char *p, size_t n);
bool file_sync(const char *path, int flags); /* flags: as open takes them */
/* A new file in tmp/; name has room for 512. -1 on failure. */
int objects_temp(objects *o, char name[512]);
void objects_path(const objects *o, const char *kind, const char *id, char path[512]);
/* fsync, rename to its place, fsync of the folder. */
bool objects_publish(objects *o, const char *temp, const char *kind, const char *id);
/* Compresses a plain file into place as object `id` of `kind`. */
bool objects_store_file(objects *o, const char *plain, const char *kind, const char *id);
/* Removes files of `kind` that nobody knows and that are older than an hour (an upload that died
 * before its commit). */
void objects_sweep(
	objects *o, const char *kind, bool (*known)(void *cls, const char *id), void *cls);
/* Not there, as against: could not be looked up. */
bool objects_lost(const objects *o, const char *kind, const char *id);
/* Whether the stored text has the sha256 that its name says. TEXT_UNREAD, with errno: a shortage or
 * a failed read, which tells nothing about the text. */
typedef enum text_state { TEXT_INTACT, TEXT_LOST, TEXT_DAMAGED, TEXT_UNREAD } text_state;
text_state objects_state(const objects *o, const char *kind, const char *id);
text_state file_state(const char *path, const char *id);

/* ---------------------------------------------------------------- upload.c */

typedef struct upload upload;
typedef enum upload_coding { CODING_ANY, CODING_GZIP, CODING_ZSTD } upload_coding;
/* Decodes as it arrives, counts, hashes; keeps the text in memory (o NULL) or, compressed, in a
 * temporary file of o. What it holds is taken from m. NULL with why filled on failure. */
upload *upload_new(objects *o, memory *m, upload_coding coding, int64_t wire_limit,
	int64_t decoded_limit, problem *why);
void upload_free(upload *u); /* removes the temporary file unless it was taken */
bool upload_feed(upload *u, const char *p, size_t n, problem *why);
/* Also lets the coders go: an upload may wait long to be checked. */
bool upload_end(upload *u, problem *why);
const char *upload_id(const upload *u); /* after upload_end */
int64_t upload_text_bytes(const upload *u);
int64_t upload_wire_bytes(const upload *u);
const char *upload_temp(const upload *u);
/* Why the temporary file could not be written, or NULL: a text that the store has already needs
 * none. */
const problem *upload_unwritten(const upload *u);
strbuf *upload_text(upload *u);

#endif
