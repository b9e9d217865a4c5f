/* A program that has functions of the names that the library uses inside, for itself: it links, and
 * nobody calls the other's. */
#include "shardwright.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int called;
#define OURS(name) \
	void *name(void); \
	void *name(void) \
	{ \
		called++; \
		return NULL; \
	}
OURS(xmalloc)
OURS(xcalloc)
OURS(xrealloc)
OURS(arena_alloc)
OURS(strbuf_add)
OURS(module_new)
OURS(hash_bytes)
OURS(heap_malloc)
OURS(heap_free)
OURS(json_CreateObject)
OURS(memory_out)
OURS(memory_hook)
OURS(parallel_for)
OURS(search_run)
OURS(status_name)

int main(void)
{
	static const char text[] =
		"func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>) -> tensor<64x64xf32> {\n"
		"  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x32xf32>, "
		"tensor<32x64xf32>) -> tensor<64x64xf32>\n"
		"  return %0 : tensor<64x64xf32>\n}\n";
	sw_error err = {0};
	sw_module *m = sw_module_parse(text, strlen(text), "names.mlir", &err);
	sw_options o = sw_default_options();
	o.mesh = "data=2,model=2";
	o.evaluations = 100;
	sw_plan *p = m ? sw_search(m, &o, &err) : NULL;
	int ok = p && sw_plan_runtime_ns(p) > 0 && !called;
	if (!p)
		fprintf(stderr, "names: %s\n", err.message);
	if (called)
		fprintf(stderr, "names: the library called functions of the program's\n");
	sw_plan_free(p);
	sw_module_free(m);
	/* the program's own are there all the same */
	ok = ok && xmalloc() == NULL && called == 1;
	printf("names: %s\n", ok ? "1 passed, 0 failed" : "0 passed, 1 failed");
	return !ok;
}
