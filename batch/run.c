#include "batch/batch.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	LOOK_MS = 200,
	AGAIN_MS = 1000,    /* between looks at what others hold */
	LATER_SECONDS = 30, /* how long a store that cannot be written is tried again */
	EXIT_FITS_NOT = 2,
	EXIT_NONE = 1,
	EXIT_STOPPED = 130,
};

typedef struct run {
	batch *b;
	batch_engine *e;
	const batch_run_options *o;
	uint32_t *order;     /* jobs by priority */
	uint32_t next, end;  /* in order: the next to ask for, and behind the last one */
	uint32_t held;       /* at the front of order: jobs that other tasks of the queue have */
	int64_t again_ns;    /* when to look at those again */
	VEC(uint32_t) asked; /* jobs under way */
	batch_outcome out;
	uint32_t ended, searched;
	int64_t start_ns, searched_ns; /* searched_ns: what the workers took together */
	int64_t later_ns;              /* since when something cannot be written, 0: all can */
	bool late;                     /* in this turn of the loop */
	char later[512];
} run;

typedef struct turn {
	int64_t priority;
	uint32_t job;
} turn;

static int by_priority(const void *a, const void *b)
{
	const turn *x = a, *y = b;
	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

/* Owned by caller. */
static uint32_t *order_of(const batch *b)
{
	turn *turns = xcalloc(MAX(b->jobs.n, 1), sizeof *turns);
	uint32_t *order = xcalloc(MAX(b->jobs.n, 1), sizeof *order);
	for (uint32_t i = 0; i < b->jobs.n; i++)
		turns[i] = (turn){b->jobs.p[i].priority, i};
	qsort(turns, b->jobs.n, sizeof *turns, by_priority);
	for (uint32_t i = 0; i < b->jobs.n; i++)
		order[i] = turns[i].job;
	free(turns);
	return order;
}

/* ---------------------------------------------------------------- progress */

static void show_progress(const run *r)
{
	if (!r->o->terminal)
		return;
	strbuf line = {0};
	uint32_t left = r->b->jobs.n - r->ended;
	strbuf_printf(&line, "%u of %u jobs", r->ended, r->b->jobs.n);
	if (r->out.failed)
		strbuf_printf(&line, ", %u failed", r->out.failed);
	if (r->later_ns)
		strbuf_printf(&line, ", waiting: %.60s", r->later);
	else if (r->searched && left) {
		/* What is left may be known or the same as others: an upper estimate. */
		int64_t each =
			r->e->workers ? r->searched_ns / MIN(r->e->workers, left) : clock_ns() - r->start_ns;
		int64_t s = (int64_t)((double)each / r->searched * left / 1e9);
		if (s >= 3600)
			strbuf_printf(&line, ", about %lld h %02lld min left", (long long)(s / 3600),
				(long long)(s / 60 % 60));
		else if (s >= 60)
			strbuf_printf(&line, ", about %lld min left", (long long)((s + 30) / 60));
		else
			strbuf_printf(&line, ", about %lld s left", (long long)s);
	}
	fprintf(stderr, "\r\033[K%s", line.p);
	fflush(stderr);
	strbuf_release(&line);
}

static void hide_progress(const run *r)
{
	if (r->o->terminal)
		fputs("\r\033[K", stderr);
}

/* ---------------------------------------------------------------- jobs */

static void count(run *r, const batch_result *x, bool same)
{
	bool succeeded = x->state == BATCH_SUCCEEDED;
	r->out.succeeded += succeeded;
	r->out.failed += x->state == BATCH_FAILED;
	r->out.same += succeeded && same;
	r->out.stored += succeeded && !same && x->stored;
}

static void tell(run *r, const batch_job *j)
{
	hide_progress(r);
	batch_print_line(r->b, j, ++r->ended, r->o->dry_run, r->o->json ? stderr : stdout);
	fflush(r->o->json ? stderr : stdout);
}

static void end_job(run *r, uint32_t i)
{
	batch_job *j = &r->b->jobs.p[i];
	count(r, &j->result, false);
	if (j->result.state == BATCH_SUCCEEDED && !j->result.stored) {
		r->searched++;
		r->searched_ns += j->result.search_ns;
	}
	tell(r, j);
	for (uint32_t k = j->next_same; k; k = r->b->jobs.p[k].next_same) {
		batch_job *same = &r->b->jobs.p[k];
		same->result = j->result;
		count(r, &same->result, true);
		tell(r, same);
	}
}

static void be_late(run *r, const char *why)
{
	if (!r->later_ns)
		fprintf(stderr, "%swarning: %s; trying again for %d s\n", r->o->terminal ? "\r\033[K" : "",
			why, LATER_SECONDS);
	r->later_ns = r->later_ns ? r->later_ns : clock_ns();
	r->late = true;
	snprintf(r->later, sizeof r->later, "%s", why);
}

/* The job has an end that is on disk. False: not yet, others have to be told first. */
static bool end_or_wait(run *r, uint32_t i)
{
	bool failed = r->b->jobs.p[i].result.state == BATCH_FAILED;
	if (r->o->queue && !queue_done(r->o->queue, i, failed ? "failed" : "succeeded")) {
		be_late(r, "the queue cannot be written");
		return false;
	}
	end_job(r, i);
	return true;
}

typedef enum next_step { STEP_ASK, STEP_SKIP, STEP_LATER } next_step;

/* Takes job i from the queue that several tasks share. */
static next_step take(run *r, uint32_t i)
{
	diag why = {0};
	batch_result *x = &r->b->jobs.p[i].result;
	switch (queue_take(r->o->queue, i, &why)) {
	case QUEUE_OURS: return STEP_ASK;
	case QUEUE_HELD: r->order[r->held++] = i; return STEP_SKIP;
	case QUEUE_DONE:
		for (uint32_t k = i, more = 1; more; k = r->b->jobs.p[k].next_same, more = k) {
			r->b->jobs.p[k].result.state = BATCH_ELSEWHERE;
			r->out.elsewhere++;
			r->ended++;
		}
		return STEP_SKIP;
	case QUEUE_GIVEN_UP:
		x->state = BATCH_FAILED;
		snprintf(x->error, sizeof x->error, "every task that took it was lost");
		return end_or_wait(r, i) ? STEP_SKIP : STEP_LATER;
	case QUEUE_BROKEN: break;
	}
	be_late(r, why.msg);
	return STEP_LATER;
}

/* False: nothing can be asked now, or ever. */
static bool ask_next(run *r, diag *d)
{
	uint32_t i = r->order[r->next];
	batch_job *j = &r->b->jobs.p[i];
	diag why = {0};
	next_step step = j->same_as != i ? STEP_SKIP
		: r->o->queue                ? take(r, i)
									 : STEP_ASK; /* the same: told when the other one ends */
	r->next += step == STEP_SKIP;
	if (step != STEP_ASK)
		return step == STEP_SKIP;
	batch_result x = {0};
	batch_asked asked = r->e->ask(r->e, j, &x, &why);
	j->result = x;
	if (asked == BATCH_ASK_STARTED) {
		j->result.state = BATCH_RUNNING;
		vec_push(&r->asked, i);
	} else if (asked == BATCH_ASK_BROKEN) {
		if (d)
			*d = why;
		r->out.broken = true;
	} else if (asked == BATCH_ASK_LATER) {
		be_late(r, why.msg);
	}
	if (asked == BATCH_ASK_BROKEN || asked == BATCH_ASK_LATER ||
		(asked == BATCH_ASK_ENDED && !end_or_wait(r, i))) {
		j->result.state = BATCH_WAITING;
		return false;
	}
	r->next++;
	return true;
}

/* False: the store or the daemon cannot be read. */
static bool look_at_all(run *r, diag *d)
{
	for (uint32_t k = 0; k < r->asked.n;) {
		uint32_t i = r->asked.p[k];
		diag why = {0};
		if (!r->e->look(r->e, &r->b->jobs.p[i].result, &why)) {
			if (why.code != ST_OK) {
				if (d)
					*d = why;
				return false;
			}
			k++;
		} else if (end_or_wait(r, i)) {
			r->asked.p[k] = vec_pop(&r->asked);
		} else {
			k++;
		}
	}
	return true;
}

static bool gave_up(run *r, diag *d)
{
	if (!r->later_ns || clock_ns() - r->later_ns < LATER_SECONDS * 1000000000ll)
		return false;
	diag_set(d, ST_ERR_IO, "%s", r->later);
	return r->out.broken = true;
}

/* Other tasks may have ended what they held, or been lost with it. */
static void look_again(run *r)
{
	if (r->next < r->end || !r->held || clock_ns() < r->again_ns)
		return;
	r->again_ns = clock_ns() + AGAIN_MS * 1000000ll;
	r->end = r->held;
	r->next = r->held = 0;
}

static void run_all(run *r, diag *d)
{
	r->end = r->b->jobs.n;
	while (r->next < r->end || r->asked.n || r->held) {
		r->late = false;
		look_again(r);
		while (r->next < r->end && r->asked.n < r->e->most_at_once && !atomic_load(r->o->stop) &&
			ask_next(r, d))
			show_progress(r);
		if (r->o->queue)
			queue_beat(r->o->queue);
		r->out.broken = r->out.broken || !look_at_all(r, d);
		const char *trouble = r->e->trouble ? r->e->trouble(r->e) : NULL;
		if (trouble)
			be_late(r, trouble);
		r->later_ns = r->late ? r->later_ns : 0;
		r->out.stopped = atomic_load(r->o->stop) != 0;
		if (r->out.stopped || r->out.broken || gave_up(r, d))
			return;
		show_progress(r);
		if (r->asked.n || r->later_ns || r->held)
			r->e->wait(r->e, LOOK_MS);
	}
}

batch_outcome batch_run(batch *b, batch_engine *e, const batch_run_options *o, diag *d)
{
	run r = {.b = b, .e = e, .o = o, .start_ns = clock_ns()};
	r.order = order_of(b);
	run_all(&r, d);
	hide_progress(&r);
	r.out.waiting = b->jobs.n - r.out.succeeded - r.out.failed - r.out.elsewhere;
	r.out.fits_not = batch_count_unfit(b);
	r.out.elapsed_ns = clock_ns() - r.start_ns;
	free(r.order);
	vec_release(&r.asked);
	return r.out;
}

int batch_exit_code(const batch *b, const batch_outcome *r)
{
	uint32_t without = r->failed + r->waiting + b->faults.n;
	if (r->stopped)
		return EXIT_STOPPED;
	if (without)
		return r->succeeded || r->elsewhere ? BATCH_EXIT_PARTIAL : EXIT_NONE;
	return r->fits_not ? EXIT_FITS_NOT : 0;
}
