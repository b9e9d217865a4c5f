#include "base/base.h"

/* OpenMP where it is compiled in; plain threads otherwise, which is also the build that the thread sanitizer
 * understands (it cannot see the barriers inside an OpenMP runtime). */
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
	int n;
	void (*body)(void *user, int i);
	void *user;
} loop;

static void *work(void *arg)
{
	loop *l = arg;
	for (int i; (i = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed)) < l->n;)
		l->body(l->user, i);
	return NULL;
}

void parallel_for(int n, int threads, void (*body)(void *user, int i), void *user)
{
	enum { MAX_HELPERS = 64 };
	loop l = {.n = n, .body = body, .user = user};
	pthread_t helper[MAX_HELPERS];
	int helpers = 0;
	while (helpers < threads - 1 && helpers < n - 1 && helpers < MAX_HELPERS && pthread_create(&helper[helpers], NULL, work, &l) == 0)
		helpers++;
	work(&l);
	for (int i = 0; i < helpers; i++)
		pthread_join(helper[i], NULL);
}
#endif
