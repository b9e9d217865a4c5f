#include "base/base.h"

/* OpenMP where it is compiled in. Plain threads otherwise: the thread sanitizer understands them
 * (it cannot see the barriers inside an OpenMP runtime), and the library has no others, since an
 * OpenMP runtime ends the process where it gets no memory or no thread. */
#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>

int parallel_cores(void) { return omp_get_num_procs(); }

static void *pass(void *gate)
{
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
	return NULL;
}

/* How many there can be side by side, the caller's among them. */
static int try_threads(int wanted)
{
	enum { MOST = 64 };
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	pthread_t others[MOST];
	int n = 0;
	pthread_mutex_lock(&gate);
	while (n < wanted - 1 && n < MOST && pthread_create(&others[n], NULL, pass, &gate) == 0)
		n++;
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < n; i++)
		pthread_join(others[i], NULL);
	return n + 1;
}

/* Where processes or memory are short, the work is done by fewer threads: no result depends on how
 * many there are. The runtime keeps its threads, so each number is tried once. */
static int threads_to_be_had(int wanted)
{
	static int tried = 1, had = 1; /* regions are opened by one thread */
	if (wanted > tried) {
		had = MAX(had, try_threads(wanted));
		tried = wanted;
	}
	return MIN(wanted, had);
}

void parallel_for(int n, int threads, void (*body)(void *user, int i), void *user)
{
	threads = threads_to_be_had(MAX(MIN(threads, n), 1));
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
