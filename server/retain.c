/* Retention in the daemon: every hour, one small write after the other until nothing is due, then
 * the files. */
#include "server/server.h"

#include <stdlib.h>

#define DAY_US (86400ll * 1000000)
#define EVERY_NS (3600ll * 1000000000)

typedef struct retain_task {
	retention op; /* first: what the writer sees */
	task sweep;
	server *srv;
} retain_task;

static void sweep_run(task *base, bool stopping)
{
	retain_task *t = (retain_task *)((char *)base - offsetof(retain_task, sweep));
	db *c = stopping ? NULL : store_reader(t->srv->store);
	if (c)
		store_sweep(store_objects(t->srv->store), c);
	atomic_store(&t->srv->retaining, false);
	free(t);
}

/* Writer thread, after COMMIT. */
static void retained(write_op *op)
{
	retain_task *t = (retain_task *)op;
	server *srv = t->srv;
	response_cache_outdate(srv->responses);
	if (op->result == ST_OK && t->op.more && !atomic_load(&srv->stopping)) {
		store_submit(srv->store, &t->op.op);
		return;
	}
	if (t->op.strategies || t->op.searches || t->op.modules)
		log_audit("event=retention strategies=%lld searches=%lld modules=%lld result=%s",
			(long long)t->op.strategies, (long long)t->op.searches, (long long)t->op.modules,
			op->result == ST_OK ? "done" : "failed");
	if (!tasks_submit(srv->tools, &t->sweep)) {
		atomic_store(&srv->retaining, false);
		free(t);
	}
}

void retain_if_due(server *srv)
{
	int64_t now = clock_ns();
	if ((!srv->opt.keep_days && !srv->opt.keep_size) || now < srv->retain_ns ||
		atomic_exchange(&srv->retaining, true))
		return;
	srv->retain_ns = now + EVERY_NS;
	retain_task *t = xcalloc(1, sizeof *t);
	t->srv = srv;
	t->op.op.run = retention_run;
	t->op.op.done = retained;
	t->op.before_us = srv->opt.keep_days ? wall_us() - srv->opt.keep_days * DAY_US : 0;
	t->op.most_bytes = srv->opt.keep_size;
	t->sweep.run = sweep_run;
	store_submit(srv->store, &t->op.op);
}
