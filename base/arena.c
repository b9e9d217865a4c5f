#include "base/base.h"

#include <stdlib.h>

struct arena_block {
	struct arena_block *prev;
	size_t used, cap;
	_Alignas(16) char data[];
};

enum { FIRST_BLOCK = 1 << 14, MAX_BLOCK = 1 << 24 };

void arena_init(arena *a) { *a = (arena){0}; }

void arena_release(arena *a)
{
	for (struct arena_block *b = a->head, *prev; b; b = prev) {
		prev = b->prev;
		free(b);
	}
	arena_init(a);
}

void *arena_alloc(arena *a, size_t n)
{
	n = (n + 15) & ~(size_t)15;
	struct arena_block *b = a->head;
	if (!b || b->cap - b->used < n) {
		size_t cap = b ? MIN(b->cap * 2, (size_t)MAX_BLOCK) : FIRST_BLOCK;
		cap = MAX(cap, n);
		struct arena_block *fresh = xmalloc(sizeof *fresh + cap);
		*fresh = (struct arena_block){.prev = b, .cap = cap};
		a->head = b = fresh;
	}
	void *p = b->data + b->used;
	b->used += n;
	a->used_bytes += n;
	return p;
}

void *arena_zalloc(arena *a, size_t n) { return memset(arena_alloc(a, n), 0, n); }

char *arena_strdup(arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);
	if (n)
		memcpy(p, s, n);
	p[n] = 0;
	return p;
}

arena_mark arena_save(arena *a) { return (arena_mark){a->head, a->head ? a->head->used : 0}; }

void arena_rewind(arena *a, arena_mark m)
{
	while (a->head != m.block) {
		struct arena_block *prev = a->head->prev;
		a->used_bytes -= a->head->used;
		free(a->head);
		a->head = prev;
	}
	if (a->head) {
		a->used_bytes -= a->head->used - m.used;
		a->head->used = m.used;
	}
}
