/* malloc and what belongs to it, as the library is linked with: each block is in the ring of the
 * heap that its thread allocates in. */
#include "library/library.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct block {
	_Alignas(16) struct block *prev;
	struct block *next;
	struct heap *heap; /* NULL: of none, in no ring */
	void *start;       /* what malloc gave */
} block;

typedef struct held {
	void *thing;
	void (*release)(void *thing);
} held;

struct heap {
	pthread_mutex_t lock; /* of all below; a leaf */
	block ring;
	held *held;
	size_t n_held, cap_held;
};

void *heap_malloc(size_t n);
void *heap_calloc(size_t n, size_t size);
void *heap_realloc(void *p, size_t n);
void *heap_aligned_alloc(size_t align, size_t n);
void heap_free(void *p);

struct heap *heap_new(void)
{
	struct heap *h = calloc(1, sizeof *h);
	if (!h)
		return NULL;
	pthread_mutex_init(&h->lock, NULL);
	h->ring.prev = h->ring.next = &h->ring;
	return h;
}

void heap_release(struct heap *h)
{
	if (!h)
		return;
	/* The latest first: a part of a tree was made after what it hangs from. */
	while (h->n_held) {
		held last = h->held[--h->n_held];
		last.release(last.thing);
	}
	free(h->held);
	for (block *b = h->ring.next, *next; b != &h->ring; b = next) {
		next = b->next;
		free(b->start);
	}
	pthread_mutex_destroy(&h->lock);
	free(h);
}

void heap_hold(void *thing, void (*release)(void *thing))
{
	struct heap *h = memory_heap();
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	if (h->n_held == h->cap_held) {
		size_t cap = h->cap_held ? 2 * h->cap_held : 64;
		held *grown = realloc(h->held, cap * sizeof *grown);
		if (!grown) {
			pthread_mutex_unlock(&h->lock);
			release(thing);
			memory_out();
		}
		h->held = grown;
		h->cap_held = cap;
	}
	h->held[h->n_held++] = (held){thing, release};
	pthread_mutex_unlock(&h->lock);
}

void heap_let_go(const void *thing)
{
	struct heap *h = memory_heap();
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	for (size_t i = h->n_held; i-- > 0;) /* mostly the last one */
		if (h->held[i].thing == thing) {
			memmove(h->held + i, h->held + i + 1, (--h->n_held - i) * sizeof *h->held);
			break;
		}
	pthread_mutex_unlock(&h->lock);
}

/* ---------------------------------------------------------------- blocks */

static block *block_of(void *p) { return (block *)p - 1; }

static void link_block(block *b)
{
	struct heap *h = b->heap;
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	b->prev = &h->ring;
	b->next = h->ring.next;
	b->prev->next = b->next->prev = b;
	pthread_mutex_unlock(&h->lock);
}

static void unlink_block(block *b)
{
	if (!b->heap)
		return;
	pthread_mutex_lock(&b->heap->lock);
	b->prev->next = b->next;
	b->next->prev = b->prev;
	pthread_mutex_unlock(&b->heap->lock);
}

/* The block of what malloc gave, which has room for it and for the alignment. */
static void *start_block(void *start, size_t align)
{
	if (!start)
		return NULL;
	uintptr_t p = ((uintptr_t)start + sizeof(block) + align - 1) & ~(uintptr_t)(align - 1);
	block *b = block_of((void *)p);
	b->heap = memory_heap();
	b->start = start;
	link_block(b);
	return b + 1;
}

void *heap_aligned_alloc(size_t align, size_t n)
{
	size_t more = sizeof(block) + align;
	return n <= SIZE_MAX - more ? start_block(malloc(n + more), align) : NULL;
}

void *heap_malloc(size_t n)
{
	return n <= SIZE_MAX - sizeof(block) ? start_block(malloc(n + sizeof(block)), _Alignof(block))
										 : NULL;
}

void *heap_calloc(size_t n, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - sizeof(block))
		return NULL;
	return start_block(calloc(1, bytes + sizeof(block)), _Alignof(block));
}

void *heap_realloc(void *p, size_t n)
{
	if (!p)
		return heap_malloc(n);
	block *b = block_of(p);
	assert(b->start == b); /* nobody reallocates what is aligned by more */
	if (n > SIZE_MAX - sizeof(block))
		return NULL;
	unlink_block(b);
	block *moved = realloc(b, n + sizeof(block));
	if (moved) {
		moved->start = moved;
		b = moved;
	}
	link_block(b);
	return moved ? moved + 1 : NULL;
}

void heap_free(void *p)
{
	if (!p)
		return;
	unlink_block(block_of(p));
	free(block_of(p)->start);
}
