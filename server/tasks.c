#include "server/workers.h"

#include <pthread.h>
#include <stdlib.h>

struct task_pool {
	pthread_mutex_t mutex; /* a leaf */
	pthread_cond_t wake;
	task *head, **tail;
	uint32_t waiting, limit;
	atomic_bool stop;
	int threads;
	pthread_t ids[];
};

static void *tasks_main(void *cls)
{
	task_pool *p = cls;
	pthread_mutex_lock(&p->mutex);
	for (;;) {
		while (!p->head && !atomic_load(&p->stop))
			pthread_cond_wait(&p->wake, &p->mutex);
		task *t = p->head;
		if (!t)
			break;
		p->head = t->next;
		if (!p->head)
			p->tail = &p->head;
		p->waiting--;
		pthread_mutex_unlock(&p->mutex);
		t->run(t, atomic_load(&p->stop));
		pthread_mutex_lock(&p->mutex);
	}
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

task_pool *tasks_new(int threads, uint32_t queue_limit)
{
	task_pool *p = xcalloc(1, sizeof *p + (size_t)threads * sizeof p->ids[0]);
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->wake, NULL);
	p->tail = &p->head;
	p->limit = queue_limit;
	while (p->threads < threads && pthread_create(&p->ids[p->threads], NULL, tasks_main, p) == 0)
		p->threads++;
	if (p->threads)
		return p;
	tasks_free(p);
	return NULL;
}

bool tasks_submit(task_pool *p, task *t)
{
	t->next = NULL;
	pthread_mutex_lock(&p->mutex);
	bool ok = p->waiting < p->limit && !atomic_load(&p->stop);
	if (ok) {
		*p->tail = t;
		p->tail = &t->next;
		p->waiting++;
		pthread_cond_signal(&p->wake);
	}
	pthread_mutex_unlock(&p->mutex);
	return ok;
}

const atomic_bool *tasks_stop_flag(const task_pool *p) { return &p->stop; }

void tasks_stop(task_pool *p)
{
	pthread_mutex_lock(&p->mutex);
	atomic_store(&p->stop, true);
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->mutex);
	for (int i = 0; i < p->threads; i++)
		pthread_join(p->ids[i], NULL);
	p->threads = 0;
}

void tasks_free(task_pool *p)
{
	pthread_mutex_destroy(&p->mutex);
	pthread_cond_destroy(&p->wake);
	free(p);
}
