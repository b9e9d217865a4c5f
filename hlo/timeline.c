/* Run time in the order of the schedule, by three kinds of streams: one in-order compute stream,
 * one queue per link class (on GPU one for all), one for copies between memories; and one for other
 * asynchronous work. A start puts its work at the end of its queue and the stream goes on; its done
 * waits for the end. A collective without halves is waited for at once.
 *
 * A computation is timed by itself, with queues that are empty: no asynchronous op begins in one
 * and ends in another. A loop's body counts as often as the loop runs; of a conditional's branches
 * the longest counts. */
#include "hlo/state.h"

static uint32_t stream_copies(const hlo_simulation *s) { return s->dev.n_links; }
static uint32_t stream_other(const hlo_simulation *s) { return s->dev.n_links + 1; }

static void add_event(hlo_simulation *s, hlo_event e)
{
	enum { MAX_EVENTS = 1 << 24 };
	e.executions = s->multiplier;
	if (s->events.n < MAX_EVENTS)
		vec_push(&s->events, e);
}

/* ---------------------------------------------------------------- totals */

static void add_share(hlo_simulation *s, hlo_part p, hlo_source from, int64_t ns)
{
	hlo_share *share = &s->sum.share[p][from];
	share->count = sat_add(share->count, 1);
	share->ns = sat_add(share->ns, ns);
}

static void add_totals(struct hlo_totals *to, const struct hlo_totals *t, int64_t times)
{
	to->compute = sat_add(to->compute, sat_mul(t->compute, times));
	to->communication = sat_add(to->communication, sat_mul(t->communication, times));
	to->exposed = sat_add(to->exposed, sat_mul(t->exposed, times));
	to->memory = sat_add(to->memory, sat_mul(t->memory, times));
	to->unestimated = sat_add(to->unestimated, sat_mul(t->unestimated, times));
	to->flops += t->flops * (double)times;
	for (uint32_t k = 0; k < COLL_COUNT; k++) {
		to->dynamic_count[k] = sat_add(to->dynamic_count[k], sat_mul(t->dynamic_count[k], times));
		to->bytes[k] = sat_add(to->bytes[k], sat_mul(t->bytes[k], times));
	}
	for (uint32_t p = 0; p < HLO_PART_COUNT; p++)
		for (uint32_t k = 0; k < HLO_SOURCE_COUNT; k++) {
			to->share[p][k].count =
				sat_add(to->share[p][k].count, sat_mul(t->share[p][k].count, times));
			to->share[p][k].ns = sat_add(to->share[p][k].ns, sat_mul(t->share[p][k].ns, times));
		}
}

/* ---------------------------------------------------------------- kernels */

/* The compiler's own estimate: cycles where the profile knows their clock, or a time; -1: it has
 * written none. */
static int64_t estimate_ns(const hlo_simulation *s, hlo_id i)
{
	int64_t cycles = s->estimated ? hlo_estimated_cycles(s->m, i) : -1;
	return cycles < 0
		? hlo_estimated_ns(s->m, i)
		: (int64_t)MIN((__int128)cycles * 1000000000 / s->dev.cycles_s, INT64_MAX / 4);
}

static void find_estimates(hlo_simulation *s)
{
	for (hlo_id i = 0; i < s->m->instrs.n && !(s->estimated && s->noted); i++) {
		bool cycles = s->dev.cycles_s && hlo_estimated_cycles(s->m, i) > 0;
		s->estimated |= cycles;
		s->noted |= cycles || hlo_estimated_ns(s->m, i) >= 0;
	}
}

/* Estimates of kernels leave out what was fetched ahead, but memory is one: a computation takes no
 * less than all its traffic at the full rate, and what it waits for communication besides. */
static int64_t full_rate_ns(const hlo_simulation *s, int64_t bytes)
{
	return (int64_t)MIN((__int128)bytes * 1000000000 / s->dev.memory_bytes_s, INT64_MAX / 4);
}

/* In a text with the compiler's cycles, kernels without them (gathers and scatters by index,
 * scalars) take the least that they can: a schedule of one clock's figures is not mixed with those
 * of another. What the cost model says of them is told beside. */
static int64_t kernel_time(hlo_simulation *s, hlo_id i, const hlo_work *w, hlo_source *from)
{
	int64_t t = estimate_ns(s, i);
	*from = t >= 0 ? HLO_FROM_COMPILER : s->estimated ? HLO_FROM_TRAFFIC : HLO_FROM_MODEL;
	if (t < 0 && s->estimated) {
		s->sum.unestimated = sat_add(s->sum.unestimated, hlo_kernel_ns(s, i, w));
		return full_rate_ns(s, w->bytes);
	}
	return t >= 0 ? t : hlo_kernel_ns(s, i, w);
}

static void run_kernel(hlo_simulation *s, hlo_id i)
{
	hlo_work w;
	hlo_source from;
	hlo_work_of(s, i, &w);
	if (w.free && estimate_ns(s, i) < 0)
		return;
	int64_t t = kernel_time(s, i, &w, &from);
	add_share(s, HLO_KERNELS, from, t);
	s->sum.memory = sat_add(s->sum.memory, MIN(t, full_rate_ns(s, w.bytes)));
	add_event(s,
		(hlo_event){.instr = i,
			.start_ns = s->now,
			.end_ns = sat_add(s->now, t),
			.hbm_bytes = w.bytes,
			.coll = -1,
			.source = (uint8_t)from});
	s->now = sat_add(s->now, t);
	s->sum.compute = sat_add(s->sum.compute, t);
	s->sum.flops += w.flops;
}

/* ---------------------------------------------------------------- collectives and copies */

/* Work at the end of a queue. All collectives of a GPU have the first one. */
static int64_t enqueue(hlo_simulation *s, uint32_t stream, int64_t t, hlo_event e)
{
	uint32_t q = s->dev.target == TARGET_GPU && stream < s->dev.n_links ? 0 : stream;
	e.start_ns = MAX(s->now, s->queue[q].free_ns);
	e.end_ns = sat_add(e.start_ns, t);
	e.stream = (uint8_t)(1 + stream);
	s->queue[q].free_ns = e.end_ns;
	add_event(s, e);
	return e.end_ns;
}

/* Only what is waited for collectives is exposed communication; copies between memories are waited
 * for too. A queue runs its collectives without gaps while something waits, so that it is never
 * more than all communication. */
static void wait_until(hlo_simulation *s, int64_t t, uint32_t event, bool collective)
{
	if (t <= s->now)
		return;
	int64_t waited = t - s->now;
	s->now = t;
	if (collective)
		s->sum.exposed = sat_add(s->sum.exposed, waited);
	if (event < s->events.n)
		s->events.p[event].exposed_ns =
			sat_add(s->events.p[event].exposed_ns, sat_mul(waited, s->multiplier));
}

static int64_t start_collective(hlo_simulation *s, hlo_id i, const hlo_comm *c)
{
	uint8_t link = 0;
	hlo_source from;
	int64_t bytes = hlo_comm_bytes(s->m, c), t = hlo_comm_time_ns(s, c, bytes, &link, &from);
	add_share(s, HLO_COLLECTIVES, from, t);
	s->sum.communication = sat_add(s->sum.communication, t);
	s->sum.dynamic_count[c->kind]++;
	s->sum.bytes[c->kind] = sat_add(s->sum.bytes[c->kind], bytes);
	vec_push(&s->collectives,
		(hlo_collective){.instr = c->instr,
			.kind = c->kind,
			.bytes = bytes,
			.trip_count = s->multiplier,
			.combined = MAX(s->m->instrs.p[c->instr].n_operands, 1)});
	return enqueue(s, link, t,
		(hlo_event){.instr = i, .bytes = bytes, .coll = (int8_t)c->kind, .source = (uint8_t)from});
}

static void finish_fused(hlo_simulation *s, hlo_id collective)
{
	int64_t channel = hlo_int(s->m, collective, HLO_ATTR_CHANNEL_ID, 0);
	for (uint32_t k = s->open.n; k-- > 0;)
		if (s->open.p[k].channel == channel) {
			wait_until(s, s->open.p[k].ready_ns, s->open.p[k].event, true);
			s->open.p[k] = s->open.p[--s->open.n];
			return;
		}
}

/* What else is in a fusion that carries a collective takes time of its own where the compiler says
 * so. */
static void run_comm(hlo_simulation *s, hlo_id i, const hlo_comm *c)
{
	bool fused = s->m->instrs.p[i].op == HLO_FUSION, kernel = fused && estimate_ns(s, i) >= 0;
	if (kernel && c->role != ROLE_START)
		run_kernel(s, i);
	if (c->role == ROLE_DONE && fused) {
		finish_fused(s, c->instr);
	} else if (c->role == ROLE_DONE) {
		hlo_id start = hlo_async_start(s->m, i);
		wait_until(s, s->ready_ns[start], s->event_of[start], true);
	} else {
		int64_t end = s->ready_ns[i] = start_collective(s, i, c);
		uint32_t event = s->event_of[i] = s->events.n - 1;
		if (c->role == ROLE_SYNC)
			wait_until(s, end, event, true);
		else if (fused)
			vec_push(&s->open,
				(struct hlo_open){hlo_int(s->m, c->instr, HLO_ATTR_CHANNEL_ID, 0), end, event});
	}
	if (kernel && c->role == ROLE_START)
		run_kernel(s, i);
}

/* What a copy moves, once; its result holds target and source. */
static int64_t copied_bytes(const hlo_simulation *s, hlo_id i)
{
	const hlo_module *m = s->m;
	const hlo_shape *src = hlo_shape_of(m, hlo_operand(m, i, 0)), *all = hlo_shape_of(m, i);
	int64_t reads = hlo_in_main_memory(&s->dev, src->space),
			writes = all->n_leaves && hlo_in_main_memory(&s->dev, hlo_leaf(m, all, 0)->space);
	return sat_mul(src->bytes, reads + writes);
}

/* Copies and slices between memories have a queue of their own; any other wrapped op runs beside
 * the stream. */
static void start_other(hlo_simulation *s, hlo_id i)
{
	const hlo_module *m = s->m;
	hlo_id inner = m->instrs.p[i].op == HLO_ASYNC_START ? hlo_async_wrapped(m, i) : i;
	uint32_t op = m->instrs.p[inner].op;
	bool copy = op == HLO_COPY_START || op == HLO_SLICE || op == HLO_DYNAMIC_SLICE ||
		op == HLO_DYNAMIC_UPDATE_SLICE;
	hlo_work w;
	hlo_work_of(s, inner, &w);
	if (op == HLO_COPY_START)
		w = (hlo_work){.bytes = copied_bytes(s, i)};
	hlo_source from = s->estimated ? HLO_FROM_PUBLISHED : HLO_FROM_PROFILE;
	int64_t t = !copy  ? kernel_time(s, i, &w, &from)
		: s->estimated ? full_rate_ns(s, w.bytes)
					   : memory_time_ns(&s->dev, w.bytes);
	add_share(s, copy ? HLO_COPIES : HLO_KERNELS, from, t);
	s->sum.memory = sat_add(s->sum.memory, copy ? t : 0);
	s->ready_ns[i] = enqueue(s, copy ? stream_copies(s) : stream_other(s), t,
		(hlo_event){.instr = i, .hbm_bytes = w.bytes, .coll = -1, .source = (uint8_t)from});
	s->event_of[i] = s->events.n - 1;
	s->sum.flops += w.flops;
}

/* ---------------------------------------------------------------- computations */

static struct hlo_totals run_comp(hlo_simulation *s, hlo_comp_id id);

/* What ran in a computation, so many times, from now on. */
static void take(hlo_simulation *s, const struct hlo_totals *t, int64_t times)
{
	add_totals(&s->sum, t, times);
	s->now = sat_add(s->now, sat_mul(t->step, times));
}

static int64_t trips_of(hlo_simulation *s, hlo_id i)
{
	int64_t trips = hlo_trip_count(s->m, i), bound;
	if (trips >= 0)
		return trips;
	bound = hlo_trip_bound(s->m, i);
	if (bound < 0) {
		s->unknown_loops++;
		return MAX(s->m->trip_count, 1);
	}
	s->bounded_loops++;
	return s->m->trip_count ? MIN(s->m->trip_count, bound) : bound;
}

static void run_loop(hlo_simulation *s, hlo_id i)
{
	int64_t trips = trips_of(s, i), outer = s->multiplier;
	uint32_t event = s->events.n;
	add_event(s, (hlo_event){.instr = i, .start_ns = s->now, .end_ns = s->now, .coll = -1});
	s->multiplier = sat_mul(outer, trips);
	struct hlo_totals test = run_comp(s, hlo_called(s->m, i, HLO_ATTR_CONDITION));
	s->now = sat_add(s->now, test.step);
	struct hlo_totals body = run_comp(s, hlo_called(s->m, i, HLO_ATTR_BODY));
	s->now -= test.step;
	s->multiplier = outer;
	take(s, &test, trips);
	take(s, &body, trips);
	if (event < s->events.n)
		s->events.p[event].end_ns = s->now;
}

static void run_branches(hlo_simulation *s, hlo_id i)
{
	const hlo_instr *in = &s->m->instrs.p[i];
	struct hlo_totals longest = {0};
	for (uint32_t k = 0; k < in->n_called; k++) {
		struct hlo_totals t = run_comp(s, s->m->called.p[in->called + k]);
		if (!k || t.step > longest.step)
			longest = t;
	}
	take(s, &longest, 1);
}

static bool calls_plainly(const hlo_module *m, hlo_id i)
{
	const hlo_instr *in = &m->instrs.p[i];
	return in->op == HLO_CALL && in->n_called == 1;
}

static void run_instr(hlo_simulation *s, hlo_id i)
{
	const hlo_module *m = s->m;
	const hlo_instr *in = &m->instrs.p[i];
	if (in->op == HLO_WHILE) {
		run_loop(s, i);
		return;
	}
	if (in->op == HLO_CONDITIONAL) {
		run_branches(s, i);
		return;
	}
	if (calls_plainly(m, i)) {
		struct hlo_totals t = run_comp(s, m->called.p[in->called]);
		take(s, &t, 1);
		return;
	}
	hlo_comm c = hlo_comm_of(s, i);
	if (c.role != ROLE_NONE && c.role != ROLE_PROGRESS)
		run_comm(s, i, &c);
	else if (in->op == HLO_COPY_START ||
		(in->op == HLO_ASYNC_START && !hlo_async_is_bound_later(m, i)))
		start_other(s, i);
	else if (hlo_async_binds(m, i))
		start_other(s, hlo_async_start(m, i));
	else if (in->op == HLO_ASYNC_DONE || in->op == HLO_COPY_DONE)
		wait_until(
			s, s->ready_ns[hlo_async_start(m, i)], s->event_of[hlo_async_start(m, i)], false);
	else
		run_kernel(s, i);
}

/* Totals of one execution. Time and queues of the caller are as they were: what it has in flight
 * goes on meanwhile. */
static struct hlo_totals run_comp(hlo_simulation *s, hlo_comp_id id)
{
	const hlo_comp *c = &s->m->comps.p[id];
	struct hlo_totals outer = s->sum, own;
	hlo_queue queues[COUNT_OF(s->queue)];
	int64_t from = s->now;
	memset(&s->sum, 0, sizeof s->sum);
	if (s->runs > HLO_MAX_RUNS)
		own = s->sum;
	else {
		s->runs += c->n;
		memcpy(queues, s->queue, sizeof queues);
		for (uint32_t q = 0; q < COUNT_OF(queues); q++)
			s->queue[q].free_ns = from;
		for (hlo_id i = c->first; i < c->first + c->n; i++)
			run_instr(s, i);
		own = s->sum;
		own.step = s->now - from;
		if (s->estimated)
			own.step = MAX(own.step, sat_add(own.memory, own.exposed));
		s->now = from;
		memcpy(s->queue, queues, sizeof queues);
	}
	s->sum = outer;
	return own;
}

void hlo_run_timeline(hlo_simulation *s)
{
	s->multiplier = 1;
	s->ready_ns = xcalloc(s->m->instrs.n + 1, sizeof *s->ready_ns);
	s->event_of = xmalloc((s->m->instrs.n + 1) * sizeof *s->event_of);
	memset(s->event_of, 0xff, (s->m->instrs.n + 1) * sizeof *s->event_of);
	find_estimates(s);
	s->sum = run_comp(s, s->m->entry);
}
