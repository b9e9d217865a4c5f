/* Run time. One in-order compute stream, one queue per link class, on GPU one for all. A kernel
 * starts when the stream is free and what it reads is there. A collective of a kind that the
 * device's compiler makes asynchronous starts when its operands are there and its queue is free,
 * wherever it stands in the program, but at most so many collectives ahead of what the stream has
 * consumed (prefetch_depth); its first user waits for it. The stream waits for collectives of other
 * kinds where they stand. Kernels that only prepare what was there from the start (the conversion
 * of a weight that is gathered next) hold up no collective: they count where they stand, but what
 * they make is there as early as it could be. Collectives inside of a contraction's loop
 * (costmodel/windowed.c) run beside it.
 *
 * A region drains the queues at both ends, is run once and counts `trips` times, so its collectives
 * overlap only with its own work. Of the branches of a case the slowest counts.
 *
 * While a collective is hidden behind work it takes overlap_steal of the processor: a stretch
 * between two drains is longer by that part of its hidden communication. So always
 *   max(compute, communication of any queue) <= run time <= compute + communication. */

#include "simulator/state.h"

/* XLA for GPU issues all collectives to one stream (AsyncStreamKind::kCollective). */
static queue *queue_of(simulator *s, const run *r)
{
	return &s->queues[s->dev.target == TARGET_GPU ? 0 : r->link];
}

/* XLA for TPU has one gather in flight, carried by the products between its start and its end; the
 * next one starts behind that. */
static uint32_t prefetch_depth(const simulator *s)
{
	return s->dev.target == TARGET_TPU ? 1 : PREFETCH_DEPTH;
}

/* First use of a collective's result: the prefetch window moves on. */
static int64_t consume(simulator *s, uint32_t id)
{
	moment *m = &s->moments.p[id];
	if (m->collective && m->first_use_ns < 0)
		m->first_use_ns = s->now;
	return m->ready_ns;
}

static void stall_until(simulator *s, int64_t t, uint32_t cause)
{
	if (t <= s->now)
		return;
	int64_t stall = t - s->now, all = sat_mul(stall, s->multiplier);
	s->now = t;
	s->stretch_stall = sat_add(s->stretch_stall, stall);
	s->sum.exposed = sat_add(s->sum.exposed, all);
	if (cause != ID_NONE)
		s->runs.p[cause].exposed_ns = sat_add(s->runs.p[cause].exposed_ns, all);
}

/* A gather that its one reader takes up travels while the kernel runs, which then ends no sooner
 * than it. The pieces at both ends of the loop have nothing to hide behind. */
static void run_loop(simulator *s, run *r, const moment *m)
{
	run *gather = &s->runs.p[m->run];
	queue *q = queue_of(s, gather);
	gather->start_ns = MAX(r->start_ns, q->free_ns);
	gather->end_ns = q->free_ns = sat_add(gather->start_ns, gather->ns);
	q->last = m->run;
	int64_t end = sat_add(MAX(r->end_ns, gather->end_ns), 2 * gather->ns / m->pieces);
	stall_until(s, MIN(end, sat_add(sat_add(gather->start_ns, r->ns), gather->ns)), m->run);
	r->end_ns = s->now;
}

/* TPU compilers fetch what a kernel reads of arguments while others run, as far ahead as there is
 * room for it on the chip, and copy results out behind it; what waits for collectives leaves the
 * way to memory free. Where that comes too late the kernel does it itself. */
static int64_t kernel_end(simulator *s, const run *r)
{
	int64_t start = s->now, end = sat_add(start, r->ns);
	if (!r->fetch_ns && !r->copy_ns) {
		memory_busy(s, start, r->direct_ns, r->direct_ns);
		return end;
	}
	int64_t there = sat_add(MAX(s->memory_free_ns, start - s->lead_ns), r->fetch_ns);
	int64_t ahead = MAX(sat_add(start, r->near_ns), sat_add(MAX(there, start), r->direct_ns));
	int64_t all = r->fetch_ns + r->direct_ns;
	if (ahead < end) {
		all += r->copy_ns;
		s->copied_ns = sat_add(MAX(s->copied_ns, ahead), r->copy_ns);
	}
	memory_busy(s, start, all, all);
	return MIN(ahead, end);
}

static void run_kernel(simulator *s, run *r, uint32_t to, const uint32_t *reads, uint32_t n)
{
	int64_t ready = 0;
	uint32_t cause = ID_NONE;
	for (uint32_t i = 0; i < n; i++) {
		int64_t t = consume(s, reads[i]);
		if (t > ready) {
			ready = t;
			cause = s->moments.p[reads[i]].run;
		}
	}
	stall_until(s, ready, cause);
	r->start_ns = s->now;
	r->end_ns = s->now = kernel_end(s, r);
	int64_t took = r->end_ns - r->start_ns;
	for (uint32_t i = 0; i < n; i++)
		if (s->moments.p[reads[i]].pieces)
			run_loop(s, r, &s->moments.p[reads[i]]);
	s->sum.compute = sat_add(s->sum.compute, sat_mul(took, s->multiplier));
	s->sum.flops = sat_add(s->sum.flops, sat_mul(r->flops, s->multiplier));
	const sim_op *so = &s->ops[r->op];
	if (so->waits && so->window == WINDOW_SCATTER &&
		so->pieces == mesh_links_slice_devices(&s->links))
		s->waiting_ns = sat_add(s->waiting_ns, took);
	if (to == ID_NONE)
		return;
	s->moments.p[to].start_ns = r->start_ns;
	s->moments.p[to].early = r->early_ns >= 0;
	s->moments.p[to].ready_ns =
		r->early_ns < 0 ? s->now : MIN(s->now, s->stretch_start + r->early_ns);
}

static void count_collective(simulator *s, const run *r, int64_t t)
{
	s->stretch_comm = sat_add(s->stretch_comm, t);
	s->sum.communication = sat_add(s->sum.communication, sat_mul(t, s->multiplier));
	if (r->leads) {
		s->sum.count[r->coll]++;
		s->sum.dynamic_count[r->coll] = sat_add(s->sum.dynamic_count[r->coll], s->multiplier);
	}
	s->sum.bytes[r->coll] = sat_add(s->sum.bytes[r->coll], sat_mul(r->bytes, s->multiplier));
}

/* The latest collective waited for what it moves. One that stands behind it and was ready before,
 * as a weight beside activations, goes first where at least half of it fits into that time: XLA's
 * scheduler has products of the layer in front carry it. */
static bool goes_first(simulator *s, queue *q, run *r, moment *m, int64_t ready, int64_t t)
{
	moment *latest = &s->moments.p[q->recent[(q->n - 1) % PREFETCH_DEPTH]];
	run *before = &s->runs.p[latest->run];
	int64_t begin = MAX(ready, q->idle_ns);
	if (latest->first_use_ns >= 0 || before->start_ns - begin < MAX(t / 2, 1))
		return false;
	r->start_ns = begin;
	r->end_ns = m->ready_ns = sat_add(begin, t);
	int64_t later = MAX(r->end_ns - before->start_ns, 0);
	before->start_ns = sat_add(before->start_ns, later);
	before->end_ns = latest->ready_ns = q->free_ns = sat_add(before->end_ns, later);
	q->idle_ns = INT64_MAX;
	return true;
}

/* The same where work waited for collectives of other kinds since: it runs in front of them, and
 * what does not fit there follows them. */
static bool fills_gap(queue *q, run *r, moment *m, uint32_t to, int64_t ready, int64_t t)
{
	int64_t begin = MAX(ready, q->gap_end_ns - q->gap_ns), room = q->gap_end_ns - begin;
	if (room < MAX(t / 2, 1))
		return false;
	r->start_ns = begin;
	m->ready_ns = sat_add(begin, t);
	if (room < t)
		m->ready_ns = q->free_ns = sat_add(q->free_ns, t - room);
	r->end_ns = m->ready_ns;
	q->flight = to;
	q->gap_ns = 0;
	return true;
}

/* Time in which the link was free before a collective that work waits for. */
static void note_gap(simulator *s, queue *q, int64_t begin)
{
	if (q->flight != ID_NONE && s->moments.p[q->flight].first_use_ns < 0)
		return;
	int64_t since =
		q->flight == ID_NONE ? q->free_ns : MAX(q->free_ns, s->moments.p[q->flight].first_use_ns);
	if (begin - since > q->gap_ns) {
		q->gap_ns = begin - since;
		q->gap_end_ns = begin;
	}
}

static void run_collective(simulator *s, run *r, uint32_t to, const uint32_t *reads, uint32_t n)
{
	int64_t t = r->leads ? r->ns : r->follows_ns, ready = 0, loop = INT64_MAX;
	bool early = true;
	queue *q = queue_of(s, r);
	moment *m = &s->moments.p[to];
	for (uint32_t i = 0; i < n; i++) {
		ready = MAX(ready, consume(s, reads[i]));
		loop = MIN(loop, s->moments.p[reads[i]].start_ns);
		early &= s->moments.p[reads[i]].early;
	}
	count_collective(s, r, t);
	m->ready_ns = ready;
	if (m->pieces) /* run_loop */
		return;
	bool waits = !(s->dev.asynchronous >> r->coll & 1);
	bool beside = !waits && !r->pieces;
	early &= beside && s->dev.target == TARGET_TPU && q->n;
	if (early && (goes_first(s, q, r, m, ready, t) || fills_gap(q, r, m, to, ready, t)))
		return;
	uint32_t depth = prefetch_depth(s);
	int64_t idle = q->free_ns;
	if (q->n >= depth)
		idle = MAX(idle, s->moments.p[q->recent[(q->n - depth) % PREFETCH_DEPTH]].first_use_ns);
	q->idle_ns = beside ? idle : INT64_MAX;
	int64_t begin = MAX(MAX(ready, idle), waits ? s->now : 0);
	if (beside)
		q->flight = to, q->gap_ns = 0;
	else
		note_gap(s, q, begin);
	if (beside && r->coll == COLL_ALL_GATHER)
		s->longest_gather_ns = q->free_ns > s->now ? MAX(s->longest_gather_ns, t) : t;
	r->start_ns = begin;
	r->end_ns = sat_add(begin, t);
	if (r->pieces) { /* a sum is scattered while it is made */
		r->start_ns = MAX(loop, q->free_ns);
		r->end_ns =
			MIN(r->end_ns, sat_add(MAX(s->now, sat_add(r->start_ns, t)), 2 * t / r->pieces));
	}
	q->recent[q->n++ % PREFETCH_DEPTH] = to;
	q->free_ns = m->ready_ns = r->end_ns;
	q->last = m->run;
	if (waits)
		stall_until(s, r->end_ns, q->last);
}

/* Waits for everything in flight and pays for what was hidden. */
void timeline_drain(simulator *s)
{
	for (uint32_t i = 0; i < s->dev.n_links; i++)
		stall_until(s, s->queues[i].free_ns, s->queues[i].last);
	s->waited_ns = MAX(MAX(s->memory_free_ns, s->copied_ns) - s->now, 0);
	s->now = sat_add(s->now, s->waited_ns);
	s->sum.compute = sat_add(s->sum.compute, sat_mul(s->waited_ns, s->multiplier));
	int64_t hidden = MAX(s->stretch_comm - s->stretch_stall, 0);
	s->now = sat_add(s->now, (int64_t)((__int128)hidden * s->dev.overlap_steal_ppm / 1000000));
	for (uint32_t i = 0; i < s->dev.n_links; i++) /* nothing of the next stretch starts before it */
		s->queues[i] = (queue){.free_ns = s->now, .last = ID_NONE, .flight = ID_NONE};
	s->stretch_comm = s->stretch_stall = 0;
	s->stretch_start = s->now;
	s->memory_free_ns = s->copied_ns = s->now;
}

/* Gathers of what was updated, which nothing but the end waits for, go beside the gradients that
 * XLA for TPU runs behind all else (gradients.c), each beside those of other arguments: all but one
 * of them. All other work is done sooner by that. */
void timeline_end(simulator *s)
{
	int64_t end = s->now;
	for (uint32_t i = 0; i < s->dev.n_links; i++)
		end = MAX(end, s->queues[i].free_ns);
	int64_t most = MIN(end - s->now - s->longest_gather_ns, end - s->sum.communication);
	int64_t beside = MIN(MAX(most, 0), s->waiting_ns);
	for (uint32_t i = s->runs.n; beside && i-- > 0;) {
		run *r = &s->runs.p[i];
		if (r->kind == RUN_COLLECTIVE && r->end_ns > s->now)
			r->start_ns -= beside, r->end_ns -= beside;
	}
	for (uint32_t i = 0; i < s->dev.n_links; i++)
		s->queues[i].free_ns -= beside;
	timeline_drain(s);
}

static void run_copies(simulator *s, int64_t ns)
{
	s->now = sat_add(s->now, ns);
	s->sum.compute = sat_add(s->sum.compute, sat_mul(ns, s->multiplier));
}

static void open_region(simulator *s, const lowered *l, run *r, const uint32_t *reads, uint32_t n)
{
	const lop *o = &l->ops.p[r->op];
	for (uint32_t i = 0; i < n; i++)
		consume(s, reads[i]);
	timeline_drain(s);
	r->start_ns = s->now;
	run_copies(s, r->ns);
	s->frames[s->n_frames++] = (frame){.run = s->ops[r->op].run,
		.branches = form_of(l, o) == FORM_BRANCHES,
		.trips = MAX(o->trips, 0),
		.opened = s->now,
		.start = s->now,
		.multiplier = s->multiplier,
		.before = s->sum};
	s->multiplier = sat_mul(s->multiplier, MAX(o->trips, 0));
}

/* The end of one region of the op: of a loop its time is added, of a case the longest branch is
 * kept. */
static void close_branch(simulator *s, frame *f)
{
	timeline_drain(s);
	int64_t t = s->now - f->start;
	if (!f->branches) {
		f->sum = sat_add(f->sum, t);
	} else {
		/* every branch is in the program, whether it runs or not */
		int64_t count[COLL_COUNT];
		memcpy(count, s->sum.count, sizeof count);
		if (!f->any || t > f->longest) {
			f->longest = t;
			f->best = s->sum;
		}
		s->sum = f->before;
		memcpy(s->sum.count, count, sizeof count);
	}
	f->any = true;
	f->start = s->now;
}

static void close_region(simulator *s, const run *end)
{
	frame *f = &s->frames[--s->n_frames];
	run *r = &s->runs.p[f->run];
	run_copies(s, end->follows_ns);
	close_branch(s, f);
	if (f->branches) {
		int64_t count[COLL_COUNT];
		memcpy(count, s->sum.count, sizeof count);
		s->sum = f->best;
		memcpy(s->sum.count, count, sizeof count);
	}
	s->now = sat_add(f->opened, sat_mul(f->branches ? f->longest : f->sum, f->trips));
	s->multiplier = f->multiplier;
	run_copies(s, end->ns);
	r->end_ns = s->stretch_start = s->memory_free_ns = s->copied_ns = s->now;
	for (uint32_t i = 0; i < s->dev.n_links; i++)
		s->queues[i].free_ns = s->now;
}

void timeline_begin(simulator *s)
{
	s->now = s->stretch_comm = s->stretch_stall = s->stretch_start = s->memory_free_ns =
		s->copied_ns = s->waiting_ns = s->longest_gather_ns = 0;
	s->lead_ns = copy_time_ns(&s->dev, s->dev.prefetch_bytes);
	s->multiplier = 1;
	s->n_frames = 0;
	s->sum = (totals){0};
	for (uint32_t i = 0; i < MAX_LINK_CLASSES; i++)
		s->queues[i] = (queue){.last = ID_NONE, .flight = ID_NONE};
}

void timeline_run(
	simulator *s, const lowered *l, run *r, uint32_t to, const uint32_t *reads, uint32_t n)
{
	switch ((run_kind)r->kind) {
	case RUN_KERNEL: run_kernel(s, r, to, reads, n); break;
	case RUN_COLLECTIVE: run_collective(s, r, to, reads, n); break;
	case RUN_REGION: open_region(s, l, r, reads, n); break;
	case RUN_ELSE: close_branch(s, &s->frames[s->n_frames - 1]); break;
	case RUN_END: close_region(s, r); break;
	}
}

void run_timeline(simulator *s, const lowered *l)
{
	timeline_begin(s);
	for (uint32_t i = 0; i < s->runs.n; i++) {
		run *r = &s->runs.p[i];
		timeline_run(s, l, r, r->moment, s->reads.p + r->first_read, r->n_reads);
	}
	timeline_end(s);
}
