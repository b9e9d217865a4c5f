#include "base/base.h"

/* OpenMP where it is compiled in. Plain threads otherwise: the thread sanitizer understands them
 * (it cannot see the barriers inside an OpenMP runtime), and the library has no others, since an
 * OpenMP runtime ends the process where it gets no memory or no thread. */
#ifdef _OPENMP
#include <omp.h>

int parallel_cores(void) { return omp_get_num_procs(); }

void parallel_for(int n, int threads, void (*body)(void *user, int i), void *user)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
	for (int i = 0; i < n; i++)
		body(user, i);
}
#else
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

int parallel_cores(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (int)n : 1;
}

typedef struct loop {
	atomic_int next;
	atomic_bool failed;
	int n;
	void (*body)(void *user, int i);
	void *user;
	struct heap *heap; /* of the caller's thread: what the others allocate belongs there */
} loop;

static void work(void *arg)
{
	loop *l = arg;
	for (int i; (i = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed)) < l->n &&
		 !atomic_load_explicit(&l->failed, memory_order_relaxed);)
		l->body(l->user, i);
}

/* A thread cannot jump into another one: it says that it ended early, and the caller's ends once
 * all have. */
static void *work_guarded(void *arg)
{
	loop *l = arg;
	if (!memory_guard(l->heap, work, l))
		atomic_store_explicit(&l->failed, true, memory_order_relaxed);
	return NULL;
}

void parallel_for(int n, int threads, void (*body)(void *user, int i), void *user)
{
	enum { MAX_HELPERS = 64 };
	loop l = {.n = n, .body = body, .user = user, .heap = memory_heap()};
	pthread_t helper[MAX_HELPERS];
	int helpers = 0;
	while (helpers < threads - 1 && helpers < n - 1 && helpers < MAX_HELPERS &&
		pthread_create(&helper[helpers], NULL, work_guarded, &l) == 0)
		helpers++;
	work_guarded(&l);
	for (int i = 0; i < helpers; i++)
		pthread_join(helper[i], NULL);
	if (atomic_load_explicit(&l.failed, memory_order_relaxed))
		memory_out();
}
#endif
