/* How workers end: what their exit codes mean, results that are committed, time limits, workers
 * that freeze. */
#include "server/supervisor_private.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRACE_MS = 5000, RETRY_MS = 5000 };

void slot_end_worker(slot *s, int signal_number)
{
	/* Its group first: the worker leads one of its own, unless it has not come that far yet. */
	if (s->state == SLOT_RUNNING && kill(-s->worker.pid, signal_number) != 0)
		kill(s->worker.pid, signal_number);
}

void slot_ask_to_end(slot *s)
{
	if (s->state != SLOT_RUNNING || s->kill_ns)
		return;
	s->kill_ns = clock_ns() + GRACE_MS * 1000000ll;
	slot_end_worker(s, SIGTERM);
}

static void trim(strbuf *b)
{
	while (b->n && strchr(" \t\r\n", b->p[b->n - 1]))
		b->p[--b->n] = 0;
}

static void judge(server *srv, slot *s, int wait_status)
{
	int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
	trim(&s->out);
	bool document = s->out.n > 0 && !s->flooded;
	slot_begin_finish(s, OUTCOME_CRASHED);
	search_finish *f = &s->finish;
	strbuf_add(&s->tail, "", 0);
	s->out_of_memory =
		!s->flooded && !s->kill_ns && !s->frozen && died_of_memory(code, s->tail.p, s->kills);
	if (had_no_start(code, s->tail.p)) {
		f->outcome = OUTCOME_NOT_STARTED;
	} else if (code == 1 && objects_lost(store_objects(srv->store), "objects", s->module)) {
		f->outcome = OUTCOME_FAILED;
		store_look_for_lost(srv->store);
		problem_set(&f->error, PROBLEM_INTERNAL,
			"the text of the module is lost: upload it again and ask again");
	} else if (code == 64 || (code == 1 && strstr(s->tail.p, "error: "))) {
		f->outcome = OUTCOME_FAILED;
		worker_error(s->tail.p, &f->error);
	} else if (s->out_of_memory) {
		f->outcome = OUTCOME_FAILED;
		problem_set(&f->error, PROBLEM_UNPROCESSABLE,
			"the worker ran out of memory; its limit is %lld MiB (--worker-memory)",
			(long long)srv->opt.worker_memory >> 20);
	} else if (s->frozen) {
		problem_set(&f->error, PROBLEM_INTERNAL, "the worker neither computed nor spoke for %lld s",
			(long long)srv->opt.worker_silence);
	} else if (document && (code == 0 || code == 2)) {
		f->outcome = OUTCOME_SUCCEEDED;
		f->partial = s->overtime;
	} else if (s->canceled) {
		f->outcome = OUTCOME_CANCELED;
		f->partial = true;
		document = document && code == 130;
	} else if (s->overtime && document && code == 130) {
		f->outcome = OUTCOME_SUCCEEDED;
		f->partial = true;
	} else if (s->overtime) {
		f->outcome = OUTCOME_FAILED;
		problem_set(&f->error, PROBLEM_UNPROCESSABLE, "no answer within the limit of %lld s",
			(long long)srv->opt.search_seconds);
	} else if (s->flooded) {
		f->outcome = OUTCOME_FAILED;
		problem_set(&f->error, PROBLEM_UNPROCESSABLE,
			"the worker's output passed the limit of %lld MiB", (long long)answer_limit(srv) >> 20);
	} else {
		problem_set(&f->error, PROBLEM_INTERNAL, "the worker ended with %s %d%s%.400s",
			WIFSIGNALED(wait_status) ? "signal" : "code",
			WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : code, s->tail.n ? ": " : "",
			s->tail.p);
	}
	if (f->outcome != OUTCOME_FAILED && f->outcome != OUTCOME_CRASHED && document) {
		f->document = s->out.p;
		f->document_bytes = s->out.n;
	}
}

static void count_end(server *srv, const slot *s)
{
	const search_finish *f = &s->finish;
	if (!f->accepted)
		log_warn("event=late_result search=%s attempt=%lld", s->id, (long long)s->attempt);
	else if (f->requeued || f->outcome == OUTCOME_CRASHED)
		metric_add(srv, workers_crashed, f->outcome == OUTCOME_CRASHED);
	if (f->accepted && !f->requeued) {
		switch (f->outcome) {
		case OUTCOME_SUCCEEDED: metric_add(srv, searches_succeeded, 1); break;
		case OUTCOME_CANCELED:
		case OUTCOME_RELEASED:
		case OUTCOME_NOT_STARTED: metric_add(srv, searches_canceled, 1); break;
		case OUTCOME_FAILED:
		case OUTCOME_CRASHED: metric_add(srv, searches_failed, 1); break;
		}
	}
	metric_add(srv, workers_out_of_memory, f->accepted && s->out_of_memory);
	log_info("event=search_ended search=%s attempt=%lld outcome=%d requeued=%d", s->id,
		(long long)s->attempt, f->outcome, f->requeued);
}

/* Offers a result to the store; when that fails the slot keeps it. */
void slot_commit(supervisor *v, slot *s)
{
	int64_t now = clock_ns();
	if (s->state != SLOT_DONE || now < s->retry_ns)
		return;
	if (store_write(v->srv->store, &s->finish.op) != ST_OK) {
		s->retry_ns = now + RETRY_MS * 1000000ll;
		return;
	}
	count_end(v->srv, s);
	if (s->finish.outcome == OUTCOME_SUCCEEDED && v->srv->answer_found)
		v->srv->answer_found(v->srv);
	v->srv->search_changed(v->srv, s->id);
	slot_remove_work(v, s);
	strbuf_release(&s->out);
	strbuf_release(&s->err);
	strbuf_release(&s->tail);
	free(s->waiting.detail);
	s->waiting.detail = NULL;
	s->state = SLOT_FREE;
	v->queue_empty = false;
}

/* The worker's pipes have ended: it is gone, or about to go. */
void slot_reap(supervisor *v, slot *s)
{
	int wait_status;
	if (s->state != SLOT_RUNNING || !s->out_ended || !s->err_ended)
		return;
	if (!s->ended_ns)
		s->ended_ns = clock_ns();
	if (waitpid(s->worker.pid, &wait_status, WNOHANG) == 0) {
		if (clock_ns() - s->ended_ns > GRACE_MS * 1000000ll)
			slot_end_worker(s, SIGKILL);
		return;
	}
	close(s->worker.out);
	close(s->worker.err);
	metric_add(v->srv, workers_running, -1);
	slot_flush_event(v, s);
	histogram_add(&v->srv->metrics.search_seconds, clock_ns() - s->started_ns);
	judge(v->srv, s, wait_status);
	if (s->finish.outcome == OUTCOME_NOT_STARTED)
		supervisor_pause_starts(v);
	else
		v->start_pause_ns = 0;
}

/* A worker's heartbeat is that it speaks or takes CPU time: one that is stopped, or waits for
 * itself, does neither. */
void slot_check_heartbeat(supervisor *v, slot *s, int64_t now)
{
	if (s->state != SLOT_RUNNING || now < s->look_ns || s->frozen)
		return;
	int64_t ticks = child_cpu_ticks(s->worker.pid);
	s->look_ns = now + LOOK_MS * 1000000ll;
	if (ticks != s->cpu_ticks)
		s->alive_ns = now;
	s->cpu_ticks = ticks;
	if (now - s->alive_ns < v->srv->opt.worker_silence * 1000000000)
		return;
	log_warn("event=worker_frozen search=%s pid=%d", s->id, (int)s->worker.pid);
	s->frozen = true;
	slot_end_worker(s, SIGKILL);
	s->out_ended = s->err_ended = true;
}

/* A worker that has been killed may have left a process that holds its pipes: the exit of the
 * worker itself counts. */
void slot_check_time(slot *s, int64_t now)
{
	if (s->state != SLOT_RUNNING)
		return;
	if (now >= s->deadline_ns && !s->kill_ns) {
		s->overtime = true;
		slot_ask_to_end(s);
	}
	if (s->kill_ns && now >= s->kill_ns) {
		slot_end_worker(s, SIGKILL);
		s->out_ended = s->err_ended = true;
	}
}
