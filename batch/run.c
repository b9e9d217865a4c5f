#include "batch/batch.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	LOOK_MS = 200,
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
	uint32_t next;       /* in order: the next to ask for */
	VEC(uint32_t) asked; /* jobs under way */
	batch_outcome out;
	uint32_t ended, searched;
	int64_t start_ns, searched_ns; /* searched_ns: what the workers took together */
	int64_t later_ns;    /* since when the store cannot be written, 0: it can */
	char later[512];
} run;

static const batch_job *sort_jobs; /* of the one call of qsort at a time */

static int compare_priority(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t p = sort_jobs[x].priority, q = sort_jobs[y].priority;
	return p != q ? (p < q ? 1 : -1) : x < y ? -1 : x > y;
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
	else if (r->searched && r->e->workers) {
		/* What is left may be stored or the same as others: an upper estimate. */
		int64_t each = r->searched_ns / r->searched;
		int64_t s = (int64_t)((double)each * left / MIN(r->e->workers, left ? left : 1) / 1e9);
		if (s >= 3600)
			strbuf_printf(&line, ", about %lld h %02lld min left", (long long)(s / 3600), (long long)(s / 60 % 60));
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
	r->out.fits_not += succeeded && !x->fits;
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

/* False: nothing can be asked now, or ever. */
static bool ask_next(run *r, diag *d)
{
	uint32_t i = r->order[r->next];
	batch_job *j = &r->b->jobs.p[i];
	diag why = {0};
	if (j->same_as != i) { /* told when the other one ends */
		r->next++;
		return true;
	}
	batch_result x = {0};
	batch_asked asked = r->e->ask(r->e, j, &x, &why);
	if (asked == BATCH_ASK_BROKEN) {
		if (d)
			*d = why;
		r->out.broken = true;
		return false;
	}
	if (asked == BATCH_ASK_LATER) {
		if (!r->later_ns)
			fprintf(stderr, "%swarning: %s; trying again for %d s\n", r->o->terminal ? "\r\033[K" : "", why.msg, LATER_SECONDS);
		r->later_ns = r->later_ns ? r->later_ns : clock_ns();
		snprintf(r->later, sizeof r->later, "%s", why.msg);
		return false;
	}
	r->later_ns = 0;
	r->next++;
	j->result = x;
	if (asked == BATCH_ASK_STARTED) {
		j->result.state = BATCH_RUNNING;
		vec_push(&r->asked, i);
	} else {
		end_job(r, i);
	}
	return true;
}

/* False: the store or the daemon cannot be read. */
static bool look_at_all(run *r, diag *d)
{
	for (uint32_t k = 0; k < r->asked.n;) {
		uint32_t i = r->asked.p[k];
		diag why = {0};
		if (r->e->look(r->e, &r->b->jobs.p[i].result, &why)) {
			r->asked.p[k] = vec_pop(&r->asked);
			end_job(r, i);
			continue;
		}
		if (why.code != ST_OK) {
			if (d)
				*d = why;
			return false;
		}
		k++;
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

static void run_all(run *r, diag *d)
{
	while (r->next < r->b->jobs.n || r->asked.n) {
		while (r->next < r->b->jobs.n && r->asked.n < r->e->most_at_once && !atomic_load(r->o->stop) && ask_next(r, d))
			show_progress(r);
		r->out.broken = r->out.broken || !look_at_all(r, d);
		r->out.stopped = atomic_load(r->o->stop) != 0;
		if (r->out.stopped || r->out.broken || gave_up(r, d))
			return;
		show_progress(r);
		if (r->asked.n || r->later_ns)
			r->e->wait(r->e, LOOK_MS);
	}
}

batch_outcome batch_run(batch *b, batch_engine *e, const batch_run_options *o, diag *d)
{
	run r = {.b = b, .e = e, .o = o, .start_ns = clock_ns()};
	r.order = xcalloc(b->jobs.n ? b->jobs.n : 1, sizeof *r.order);
	for (uint32_t i = 0; i < b->jobs.n; i++)
		r.order[i] = i;
	sort_jobs = b->jobs.p;
	qsort(r.order, b->jobs.n, sizeof *r.order, compare_priority);
	run_all(&r, d);
	hide_progress(&r);
	r.out.waiting = b->jobs.n - r.out.succeeded - r.out.failed;
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
		return r->succeeded ? BATCH_EXIT_PARTIAL : EXIT_NONE;
	return r->fits_not ? EXIT_FITS_NOT : 0;
}
