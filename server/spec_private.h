/* What the files of a search request share. */
#ifndef SW_SERVER_SPEC_PRIVATE_H
#define SW_SERVER_SPEC_PRIVATE_H

#include "server/spec.h"

enum {
	AXIS_LIMIT = 32, /* as the reader of modules has it */
	NAME_LIMIT = 64,
	DEVICE_LIMIT = 1 << 24,
	TEXT_LIMIT = 4096,
	LIST_LIMIT = 1000,
};
#define INTEGER_LIMIT ((int64_t)1 << 53)

typedef struct axes {
	uint32_t n;
	str names[AXIS_LIMIT];
	int64_t devices;
} axes;

/* Pointers come from literals and indices only, or from keys of the request, which are cut. */
typedef struct pointer {
	char text[256];
} pointer;

static inline const char *keep(search_spec *s, const char *text)
{
	return arena_strdup(&s->mem, text, strlen(text));
}
static inline const cJSON *field(const cJSON *o, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(o, name);
}

extern const char *const spec_objectives[]; /* NULL ends them */

/* spec.c. The pointer of a field or an element of what is at base. */
pointer pointer_below(const char *base, const char *key);
pointer pointer_at(const char *base, int i);
bool check_integer(
	const cJSON *item, const char *base, int64_t least, int64_t most, int64_t *out, problem *why);
/* Texts become arguments of a worker process: bounded, and without control characters. */
bool check_text(const cJSON *item, const char *base, size_t limit, problem *why);
/* One of the words, which NULL ends. */
bool check_word(const cJSON *item, const char *base, const char *const *words, problem *why);

/* spec_mesh.c */
bool spec_read_mesh(search_spec *s, const cJSON *root, axes *a, problem *why);
/* spec_schedule.c */
bool spec_read_schedule(search_spec *s, const cJSON *root, const axes *a, problem *why);

#endif
