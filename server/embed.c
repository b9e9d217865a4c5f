/* Files that travel inside the binary. The paths are those of the repository: compile from its
 * root. */
#include "server/embed.h"

#define EMBED(name, path) \
	__asm__(".section .rodata\n" \
			".global embed_" #name "_start\nembed_" #name "_start:\n.incbin \"" path "\"\n" \
			".global embed_" #name "_end\nembed_" #name "_end:\n.byte 0\n.previous\n"); \
	extern const char embed_##name##_start[], embed_##name##_end[]; \
	embedded embedded_##name(void) \
	{ \
		return (embedded){ \
			embed_##name##_start, (size_t)(embed_##name##_end - embed_##name##_start)}; \
	}

EMBED(schema, "server/schema.sql")
EMBED(schema_2, "server/schema_2.sql")
EMBED(schema_3, "server/schema_3.sql")
EMBED(schema_4, "server/schema_4.sql")
EMBED(schema_5, "server/schema_5.sql")
EMBED(schema_6, "server/schema_6.sql")
EMBED(schema_7, "server/schema_7.sql")
EMBED(schema_8, "server/schema_8.sql")
EMBED(schema_9, "server/schema_9.sql")
EMBED(openapi, "docs/openapi.json")
EMBED(page, "web/built/index.html")
EMBED(page_worker, "web/built/worker.js")
