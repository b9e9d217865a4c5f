#include "base/base.h"

#include <setjmp.h>
#include <stdlib.h>

/* One memory_guard of a thread. What is to be undone stands in the frames of the functions that it
 * called. */
typedef struct guard {
	jmp_buf back;
	struct guard *outer;
	struct heap *heap;
	unwind *unwinds;
} guard;

static _Thread_local guard *innermost;

bool (*memory_hook)(void);

void memory_out(void)
{
	guard *g = innermost;
	if (!g) {
		fputs("shardwright: out of memory\n", stderr);
		abort();
	}
	for (unwind *u = g->unwinds; u; u = u->next)
		u->undo(u->what);
	longjmp(g->back, 1);
}

bool memory_guard(struct heap *heap, void (*body)(void *user), void *user)
{
	guard g = {.outer = innermost, .heap = heap};
	bool whole = false;
	innermost = &g;
	if (setjmp(g.back) == 0) {
		body(user);
		whole = true;
	}
	innermost = innermost->outer;
	return whole;
}

struct heap *memory_heap(void) { return innermost ? innermost->heap : NULL; }

void unwind_push(unwind *u, void (*undo)(void *what), void *what)
{
	*u = (unwind){.undo = undo, .what = what};
	if (innermost) {
		u->next = innermost->unwinds;
		innermost->unwinds = u;
	}
}

void unwind_pop(const unwind *u)
{
	if (innermost) {
		assert(innermost->unwinds == u);
		innermost->unwinds = u->next;
	}
}

static bool try_again(void)
{
	if (!memory_hook || !memory_hook())
		memory_out();
	return true;
}

#define UNTIL_IT_SUCCEEDS(call) \
	void *got; \
	while (!(got = (call)) && try_again()) \
		; \
	return got

void *xmalloc(size_t n) { UNTIL_IT_SUCCEEDS(malloc(n ? n : 1)); }

char *xstrdup(const char *s)
{
	size_t n = strlen(s) + 1;
	return memcpy(xmalloc(n), s, n);
}
void *xcalloc(size_t n, size_t size) { UNTIL_IT_SUCCEEDS(calloc(n ? n : 1, size ? size : 1)); }
void *xrealloc(void *p, size_t n) { UNTIL_IT_SUCCEEDS(realloc(p, n ? n : 1)); }
void *xmalloc_lines(size_t n)
{
	enum { LINE = 64 };
	UNTIL_IT_SUCCEEDS(n <= SIZE_MAX - LINE ? aligned_alloc(LINE, (n / LINE + 1) * LINE) : NULL);
}
