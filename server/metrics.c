#include "server/server.h"

void metrics_print(const metrics *m, strbuf *out)
{
#define X(name, kind, help)                                                                                        \
	strbuf_puts(out, "# HELP shardwright_" #name " " help "\n# TYPE shardwright_" #name " " kind "\nshardwright_" #name " "); \
	strbuf_i64(out, atomic_load_explicit(&m->name, memory_order_relaxed));                                             \
	strbuf_putc(out, '\n');
	METRIC_TABLE(X)
#undef X
}
