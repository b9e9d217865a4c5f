/* The supervisor thread: claims queued searches, starts a worker for each, reads what the workers
 * tell, ends them.
 *
 *   free slot + queued row -> claim (committed) -> work/ID-ATTEMPT/ -> worker
 *   worker: events on standard error, one strategy document on standard output, exit code
 *   end     exit 0, 2 with a document        succeeded (2: nothing fits, the document says so)
 *           exit 130 after our SIGTERM       canceled, or succeeded but partial when the time limit was the reason
 *           exit 1, 64                       failed, with the worker's message
 *           out of memory                    failed, 422: another attempt would end the same
 *           anything else                    crashed: back to the queue until search_attempts is reached
 *   A start that fails for want of descriptors, processes or memory is no attempt: the claim is
 * taken back, and the next start
 *   waits a while.
 *
 * A result that cannot be committed (full disk) is kept and offered again. */
#include "server/supervisor_private.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_MS = 500, EVENT_INTERVAL_MS = 500 };
enum { STDERR_TAIL = 16 << 10 };
enum { MOST_LINE = 32 << 10 }; /* of an event: a search tree has up to 64 nodes */

/* ---------------------------------------------------------------- events */

static void event_done(write_op *op)
{
	search_event *e = (search_event *)op;
	server *srv = e->cls;
	if (op->result == ST_OK)
		srv->search_changed(srv, e->id);
	free(e->detail);
	free(e);
}

void slot_flush_event(supervisor *v, slot *s)
{
	if (!s->waiting.kind)
		return;
	search_event *e = xmalloc(sizeof *e);
	*e = s->waiting;
	e->op.run = search_event_run;
	e->op.done = event_done;
	e->cls = v->srv;
	memcpy(e->id, s->id, sizeof e->id);
	e->attempt = s->attempt;
	s->waiting.kind = NULL;
	s->waiting.detail = NULL;
	s->last_event_ns = clock_ns();
	store_submit(v->srv->store, &e->op);
}

static int64_t number_of(const cJSON *o, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
	return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 9007199254740992.0
		? (int64_t)item->valuedouble
		: 0;
}

static void take_event(slot *s, const cJSON *o)
{
	const cJSON *kind = cJSON_GetObjectItemCaseSensitive(o, "event"),
				*seconds = cJSON_GetObjectItemCaseSensitive(o, "seconds");
	bool incumbent = cJSON_IsString(kind) && !strcmp(kind->valuestring, "incumbent");
	if (!incumbent && !(cJSON_IsString(kind) && !strcmp(kind->valuestring, "progress")))
		return;
	search_event *e = &s->waiting;
	/* A progress line never pushes out an incumbent that still waits; it only brings its counters
	 * up to date. */
	if (incumbent || !e->kind)
		e->kind = incumbent ? "incumbent" : "progress";
	char *detail = search_detail(o);
	if (detail) {
		free(e->detail);
		e->detail = detail;
	}
	e->evaluation = number_of(o, "evaluation");
	bool plausible =
		cJSON_IsNumber(seconds) && seconds->valuedouble >= 0 && seconds->valuedouble < 1e9;
	e->milliseconds = plausible ? (int64_t)(seconds->valuedouble * 1000) : 0;
	if (incumbent) {
		e->runtime_ns = number_of(o, "runtime_ns");
		e->peak_bytes = number_of(o, "peak_bytes");
		e->fits = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "fits"));
	}
}

static void keep_tail(slot *s, const char *line, size_t n)
{
	if (s->tail.n + n + 1 > STDERR_TAIL)
		return; /* the first message is the one that explains */
	strbuf_add(&s->tail, line, n);
	strbuf_putc(&s->tail, '\n');
}

static void take_lines(slot *s)
{
	size_t at = 0;
	for (char *end; s->err.n > at && (end = memchr(s->err.p + at, '\n', s->err.n - at));
		 at = (size_t)(end - s->err.p) + 1) {
		const char *line = s->err.p + at;
		size_t n = (size_t)(end - line);
		cJSON *o = n && line[0] == '{' ? json_parse(line, n, MOST_LINE, NULL) : NULL;
		if (cJSON_IsObject(o))
			take_event(s, o);
		else
			keep_tail(s, line, n);
		cJSON_Delete(o);
	}
	memmove(s->err.p ? s->err.p : "", s->err.p ? s->err.p + at : "", s->err.n - at);
	s->err.n -= at;
}

/* ---------------------------------------------------------------- the loop */

static void read_worker(const server *srv, slot *s)
{
	if (!s->out_ended &&
		!read_available(s->worker.out, &s->out, (size_t)answer_limit(srv), &s->out_ended))
		s->flooded = true;
	if (!s->err_ended && !read_available(s->worker.err, &s->err, 1 << 20, &s->err_ended))
		s->flooded = true;
	if (s->err.n)
		s->alive_ns = clock_ns();
	take_lines(s);
	if (s->err_ended && s->err.n) {
		keep_tail(s, s->err.p, s->err.n);
		s->err.n = 0;
	}
	if (s->flooded) {
		slot_end_worker(s, SIGKILL);
		s->out_ended = s->err_ended = true;
	}
}

static void take_cancels(supervisor *v)
{
	pthread_mutex_lock(&v->mutex);
	for (uint32_t k = 0; k < v->cancels.n; k++)
		for (uint32_t i = 0; i < v->slot_count; i++)
			if (v->slots[i].state == SLOT_RUNNING && !strcmp(v->slots[i].id, v->cancels.p[k].id)) {
				v->slots[i].canceled = true;
				slot_ask_to_end(&v->slots[i]);
			}
	v->cancels.n = 0;
	pthread_mutex_unlock(&v->mutex);
}

static void beat(supervisor *v)
{
	server *srv = v->srv;
	search_beat b = {.op = {.run = search_beat_run}, .lease_us = srv->opt.lease * 1000000};
	b.ids = xcalloc(v->slot_count, sizeof *b.ids);
	for (uint32_t i = 0; i < v->slot_count; i++)
		if (v->slots[i].state != SLOT_FREE)
			memcpy(b.ids[b.count++], v->slots[i].id, SEARCH_ID_BYTES);
	if (store_write(srv->store, &b.op) != ST_OK && b.count)
		log_warn("event=heartbeat_failed");
	free(b.ids);
	v->next_beat_ns = clock_ns() + MAX(srv->opt.lease * 1000000000 / 6, 200000000);
}

static bool any_running(const supervisor *v)
{
	for (uint32_t i = 0; i < v->slot_count; i++)
		if (v->slots[i].state != SLOT_FREE)
			return true;
	return false;
}

/* Waits for output of a worker, a kick, or the next thing that is due. */
static void wait_for_work(supervisor *v, struct pollfd *p)
{
	bool hurry = false;
	p[0] = (struct pollfd){v->wake_fd, POLLIN, 0};
	for (uint32_t i = 0; i < v->slot_count; i++) {
		slot *s = &v->slots[i];
		bool running = s->state == SLOT_RUNNING;
		p[1 + 2 * i] = (struct pollfd){running && !s->out_ended ? s->worker.out : -1, POLLIN, 0};
		p[2 + 2 * i] = (struct pollfd){running && !s->err_ended ? s->worker.err : -1, POLLIN, 0};
		hurry = hurry || (running && s->out_ended && s->err_ended);
	}
	poll(p, 1 + 2 * v->slot_count, hurry ? 2 : any_running(v) ? TICK_MS / 2 : TICK_MS);
	uint64_t count;
	if ((p[0].revents & POLLIN) && read(v->wake_fd, &count, sizeof count) > 0)
		v->queue_empty = false;
}

static void turn(supervisor *v, struct pollfd *p)
{
	wait_for_work(v, p);
	take_cancels(v);
	int64_t now = clock_ns();
	atomic_store_explicit(&v->turned_ns, now, memory_order_relaxed);
	for (uint32_t i = 0; i < v->slot_count; i++) {
		slot *s = &v->slots[i];
		if (s->state == SLOT_RUNNING) {
			read_worker(v->srv, s);
			slot_check_time(s, now);
			slot_check_heartbeat(v, s, now);
			if (now - s->last_event_ns >= EVENT_INTERVAL_MS * 1000000ll)
				slot_flush_event(v, s);
			slot_reap(v, s);
		}
		slot_commit(v, s);
	}
	if (now >= v->next_beat_ns)
		beat(v);
	if (now >= v->next_look_ns) { /* crashed searches whose pause is over, expired leases */
		v->next_look_ns = now + LOOK_MS * 1000000ll;
		v->queue_empty = false;
	}
	supervisor_claim(v);
	take_cancels(v); /* one may have been canceled between its claim and its start */
}

/* Their work is lost but for what the store knows; the searches go back to the queue. */
static void release_all(supervisor *v)
{
	for (uint32_t i = 0; i < v->slot_count; i++) {
		slot *s = &v->slots[i];
		if (s->state == SLOT_RUNNING) {
			slot_end_worker(s, SIGKILL);
			waitpid(s->worker.pid, NULL, 0);
			close(s->worker.out);
			close(s->worker.err);
			metric_add(v->srv, workers_running, -1);
			slot_begin_finish(s, OUTCOME_RELEASED);
		}
		s->retry_ns = 0;
		slot_commit(v, s);
		strbuf_release(&s->out);
		strbuf_release(&s->err);
		strbuf_release(&s->tail);
		free(s->waiting.detail);
		s->waiting.detail = NULL;
	}
}

static void *supervisor_main(void *cls)
{
	supervisor *v = cls;
	struct pollfd *p = xcalloc(1 + 2 * v->slot_count, sizeof *p);
	while (!atomic_load(&v->stop))
		turn(v, p);
	release_all(v);
	free(p);
	return NULL;
}

supervisor *supervisor_new(server *srv)
{
	supervisor *v = xcalloc(1, sizeof *v + (size_t)srv->opt.workers * sizeof v->slots[0]);
	v->srv = srv;
	v->turned_ns = clock_ns();
	v->slot_count = (uint32_t)srv->opt.workers;
	v->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&v->mutex, NULL);
	if (v->wake_fd >= 0 && pthread_create(&v->thread, NULL, supervisor_main, v) == 0)
		return v;
	free(v);
	return NULL;
}

int64_t supervisor_turned_ns(supervisor *v)
{
	return atomic_load_explicit(&v->turned_ns, memory_order_relaxed);
}

void supervisor_kick(supervisor *v)
{
	uint64_t one = 1;
	if (write(v->wake_fd, &one, sizeof one) < 0)
		return; /* the counter is full: it is awake already */
}

void supervisor_cancel(supervisor *v, const char *id)
{
	pthread_mutex_lock(&v->mutex);
	vec_reserve(&v->cancels, v->cancels.n + 1);
	snprintf(v->cancels.p[v->cancels.n++].id, SEARCH_ID_BYTES, "%s", id);
	pthread_mutex_unlock(&v->mutex);
	supervisor_kick(v);
}

void supervisor_stop(supervisor *v)
{
	atomic_store(&v->stop, true);
	supervisor_kick(v);
	pthread_join(v->thread, NULL);
	close(v->wake_fd);
	vec_release(&v->cancels);
	pthread_mutex_destroy(&v->mutex);
	free(v);
}
