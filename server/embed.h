/* Files inside the binary, each with a NUL behind it. */
#ifndef SW_SERVER_EMBED_H
#define SW_SERVER_EMBED_H

#include <stddef.h>

typedef struct embedded {
	const char *p;
	size_t n;
} embedded;
embedded embedded_schema(void), embedded_schema_2(void), embedded_schema_3(void),
	embedded_schema_4(void), embedded_schema_5(void), embedded_schema_6(void),
	embedded_schema_7(void), embedded_schema_8(void), embedded_schema_9(void),
	embedded_openapi(void), embedded_page(void), embedded_page_worker(void);

#endif
