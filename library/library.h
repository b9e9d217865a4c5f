/* library: what only libshardwright.a has, the public functions (api.c) and what lets a call of
 * them end where memory runs out.
 *
 * A call allocates in a heap. Where it ends well, the heap goes to the object that it returns, and
 * is released with that; otherwise it is released at once. So no function below has to undo
 * anything when it gets no memory: memory_out (base/memory.c) goes back to the call's memory_guard.
 *
 * The folders below allocate with malloc and free, and JSON with cJSON. When the library is linked,
 * these names lead to the functions here: REDIRECTED in the Makefile. Programs of this tree, which
 * end where memory does, are linked without. */
#ifndef SW_LIBRARY_H
#define SW_LIBRARY_H

#include "base/base.h"

/* Thread-safe. NULL without memory. */
struct heap *heap_new(void);
/* Frees all that was allocated in it, whoever holds it, and releases what it holds. NULL is fine.
 */
void heap_release(struct heap *h);
/* The calling thread's heap (memory_heap) releases `thing` with itself, unless it is let go before.
 * Nothing without a heap. */
void heap_hold(void *thing, void (*release)(void *thing));
void heap_let_go(const void *thing);

#endif
