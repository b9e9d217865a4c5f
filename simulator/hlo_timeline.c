/* Run time in the order of the schedule: one in-order compute stream, one queue per link class (on GPU one for all), one for
 * copies between memories, one for other asynchronous work. A start puts its work at the end of its queue and the stream
 * goes on; its done waits for the end. A collective without halves is waited for at once. A loop's body runs once and counts
 * as often as the loop runs; of a conditional's branches the longest counts. */
#include "simulator/hlo_state.h"

static uint32_t stream_copies(const hlo_simulation *s) { return s->dev.n_links; }
static uint32_t stream_other(const hlo_simulation *s) { return s->dev.n_links + 1; }

static void add_event(hlo_simulation *s, hlo_event e)
{
	enum { MAX_EVENTS = 1 << 24 };
	e.executions = s->multiplier;
	if (s->events.n < MAX_EVENTS)
		vec_push(&s->events, e);
}

/* On-chip memory is faster, but the vector unit loads and stores no faster from there: compilers estimate elementwise work
 * alike wherever it lies. */
static int64_t kernel_ns(const hlo_simulation *s, const hlo_work *w)
{
	int64_t t = MAX(MAX(w->matmul_ns, vector_time_ns(&s->dev, w->vector_flops)), memory_time_ns(&s->dev, w->moved));
	return s->estimated ? t : sat_add(t, s->dev.op_launch_ns); /* what has no estimate in such a text is no kernel */
}

/* The compiler's own estimate, where it has written one and the profile knows its clock. */
static int64_t estimate_ns(const hlo_simulation *s, hlo_id i)
{
	int64_t cycles = s->estimated ? hlo_estimated_cycles(s->m, i) : -1;
	return cycles < 0 ? -1 : (int64_t)MIN((__int128)cycles * 1000000000 / s->dev.cycles_s, INT64_MAX / 4);
}

static bool has_estimates(const hlo_simulation *s)
{
	for (hlo_id i = 0; s->dev.cycles_s && i < s->m->instrs.n; i++)
		if (hlo_estimated_cycles(s->m, i) > 0)
			return true;
	return false;
}

/* Estimates of kernels leave out what was fetched ahead, but memory is one: a program takes no less than all its traffic at the full
 * rate, and what it waits for communication besides. */
static int64_t full_rate_ns(const hlo_simulation *s, int64_t bytes) { return (int64_t)MIN((__int128)bytes * 1000000000 / s->dev.memory_bytes_s, INT64_MAX / 4); }
static void use_memory(hlo_simulation *s, int64_t ns) { s->sum.memory = sat_add(s->sum.memory, sat_mul(ns, s->multiplier)); }

static void run_kernel(hlo_simulation *s, hlo_id i)
{
	hlo_work w;
	hlo_work_of(s, i, &w);
	if (w.free)
		return;
	int64_t t = estimate_ns(s, i);
	t = t < 0 ? kernel_ns(s, &w) : t;
	use_memory(s, MIN(t, full_rate_ns(s, w.bytes)));
	add_event(s, (hlo_event){.instr = i, .start_ns = s->now, .end_ns = sat_add(s->now, t), .hbm_bytes = w.bytes, .coll = -1});
	s->now = sat_add(s->now, t);
	s->sum.compute = sat_add(s->sum.compute, sat_mul(t, s->multiplier));
	s->sum.flops += w.flops * (double)s->multiplier;
}

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

/* Only what is waited for collectives is exposed communication; copies between memories are waited for too. A queue runs its collectives
 * without gaps while something waits, so that it is never more than all communication. */
static void wait_until(hlo_simulation *s, int64_t t, uint32_t event, bool collective)
{
	if (t <= s->now)
		return;
	int64_t all = sat_mul(t - s->now, s->multiplier);
	s->now = t;
	if (collective)
		s->sum.exposed = sat_add(s->sum.exposed, all);
	if (event < s->events.n)
		s->events.p[event].exposed_ns = sat_add(s->events.p[event].exposed_ns, all);
}

static int64_t start_collective(hlo_simulation *s, hlo_id i, const hlo_comm *c)
{
	uint8_t link = 0;
	int64_t bytes = hlo_comm_bytes(s->m, c), t = hlo_comm_time_ns(s, c, bytes, &link);
	s->sum.communication = sat_add(s->sum.communication, sat_mul(t, s->multiplier));
	s->sum.dynamic_count[c->kind] = sat_add(s->sum.dynamic_count[c->kind], s->multiplier);
	s->sum.bytes[c->kind] = sat_add(s->sum.bytes[c->kind], sat_mul(bytes, s->multiplier));
	vec_push(&s->collectives, (hlo_collective){.instr = c->instr, .kind = c->kind, .bytes = bytes, .trip_count = s->multiplier,
	                                           .combined = MAX(s->m->instrs.p[c->instr].n_operands, 1)});
	return enqueue(s, link, t, (hlo_event){.instr = i, .bytes = bytes, .coll = (int8_t)c->kind});
}

static void run_comm(hlo_simulation *s, hlo_id i, const hlo_comm *c)
{
	int64_t channel = hlo_int(s->m, c->instr, HLO_ATTR_CHANNEL_ID, 0);
	bool fused = s->m->instrs.p[i].op == HLO_FUSION;
	if (c->role == ROLE_START || c->role == ROLE_SYNC) {
		int64_t end = start_collective(s, i, c);
		uint32_t event = s->events.n - 1;
		s->ready_ns[i] = end;
		s->event_of[i] = event;
		if (c->role == ROLE_SYNC)
			wait_until(s, end, event, true);
		else if (fused)
			vec_push(&s->open, (struct hlo_open){channel, end, event});
		if (fused && (c->role == ROLE_SYNC || estimate_ns(s, i) >= 0))
			run_kernel(s, i); /* what else is in it */
		return;
	}
	if (!fused) {
		hlo_id start = hlo_async_start(s->m, i);
		wait_until(s, s->ready_ns[start], s->event_of[start], true);
		return;
	}
	if (estimate_ns(s, i) >= 0)
		run_kernel(s, i);
	for (uint32_t k = s->open.n; k-- > 0;)
		if (s->open.p[k].channel == channel) {
			wait_until(s, s->open.p[k].ready_ns, s->open.p[k].event, true);
			s->open.p[k] = s->open.p[--s->open.n];
			return;
		}
}

/* Copies and slices between memories have a queue of their own; any other wrapped op runs beside the stream. */
static void start_other(hlo_simulation *s, hlo_id i)
{
	const hlo_module *m = s->m;
	hlo_id inner = m->instrs.p[i].op == HLO_ASYNC_START ? hlo_async_wrapped(m, i) : i;
	uint32_t op = m->instrs.p[inner].op;
	hlo_work w;
	hlo_work_of(s, inner, &w);
	bool copy = op == HLO_COPY_START || op == HLO_SLICE || op == HLO_DYNAMIC_SLICE || op == HLO_DYNAMIC_UPDATE_SLICE;
	if (op == HLO_COPY_START) { /* what it moves, once; its result holds source and target */
		const hlo_shape *src = hlo_shape_of(m, hlo_operand(m, i, 0)), *all = hlo_shape_of(m, i);
		int64_t reads = hlo_in_main_memory(&s->dev, src->space), writes = all->n_leaves && hlo_in_main_memory(&s->dev, hlo_leaf(m, all, 0)->space);
		w = (hlo_work){.bytes = sat_mul(src->bytes, reads + writes)};
	}
	int64_t t = !copy ? kernel_ns(s, &w) : s->estimated ? full_rate_ns(s, w.bytes) : memory_time_ns(&s->dev, w.bytes);
	use_memory(s, copy ? t : 0);
	s->ready_ns[i] = enqueue(s, copy ? stream_copies(s) : stream_other(s), t, (hlo_event){.instr = i, .hbm_bytes = w.bytes, .coll = -1});
	s->event_of[i] = s->events.n - 1;
	s->sum.flops += w.flops * (double)s->multiplier;
}

static void run_comp(hlo_simulation *s, hlo_comp_id id);

/* Runs the computation and takes the queues along: what it leaves in flight is as late after the last iteration. */
static void run_loop(hlo_simulation *s, hlo_id i)
{
	const hlo_module *m = s->m;
	int64_t trips = hlo_trip_count(m, i), outer = s->multiplier, from = s->now;
	if (trips < 0) {
		s->unknown_loops++;
		trips = MAX(m->trip_count, 1);
	}
	int64_t before[MAX_LINK_CLASSES + 2];
	for (uint32_t q = 0; q < COUNT_OF(before); q++)
		before[q] = s->queue[q].free_ns;
	s->multiplier = sat_mul(outer, trips);
	uint32_t event = s->events.n;
	add_event(s, (hlo_event){.instr = i, .start_ns = from, .end_ns = from, .coll = -1});
	run_comp(s, hlo_called(m, i, HLO_ATTR_CONDITION));
	run_comp(s, hlo_called(m, i, HLO_ATTR_BODY));
	int64_t rest = sat_mul(s->now - from, trips - 1);
	s->now = sat_add(s->now, rest);
	for (uint32_t q = 0; q < COUNT_OF(before); q++)
		if (s->queue[q].free_ns != before[q])
			s->queue[q].free_ns = sat_add(s->queue[q].free_ns, rest);
	s->multiplier = outer;
	if (event < s->events.n)
		s->events.p[event].end_ns = s->now;
}

static void run_branches(hlo_simulation *s, hlo_id i)
{
	const hlo_instr *in = &s->m->instrs.p[i];
	int64_t from = s->now, longest = from;
	struct hlo_totals before = s->sum, best = s->sum;
	hlo_queue queues[COUNT_OF(s->queue)], taken[COUNT_OF(s->queue)];
	memcpy(queues, s->queue, sizeof queues);
	memcpy(taken, s->queue, sizeof taken);
	for (uint32_t k = 0; k < in->n_called; k++) {
		s->now = from;
		s->sum = before;
		memcpy(s->queue, queues, sizeof queues);
		run_comp(s, s->m->called.p[in->called + k]);
		if (!k || s->now > longest) {
			longest = s->now;
			best = s->sum;
			memcpy(taken, s->queue, sizeof taken);
		}
	}
	s->now = longest;
	s->sum = best;
	memcpy(s->queue, taken, sizeof taken);
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
		run_comp(s, m->called.p[in->called]);
		return;
	}
	hlo_comm c = hlo_comm_of(s, i);
	if (c.role != ROLE_NONE && c.role != ROLE_PROGRESS)
		run_comm(s, i, &c);
	else if (in->op == HLO_ASYNC_START || in->op == HLO_COPY_START)
		start_other(s, i);
	else if (in->op == HLO_ASYNC_DONE || in->op == HLO_COPY_DONE)
		wait_until(s, s->ready_ns[hlo_async_start(m, i)], s->event_of[hlo_async_start(m, i)], false);
	else
		run_kernel(s, i);
}

static void run_comp(hlo_simulation *s, hlo_comp_id id)
{
	const hlo_comp *c = &s->m->comps.p[id];
	if (s->runs > HLO_MAX_RUNS)
		return;
	s->runs += c->n;
	for (hlo_id i = c->first; i < c->first + c->n; i++)
		run_instr(s, i);
}

void hlo_run_timeline(hlo_simulation *s)
{
	s->multiplier = 1;
	s->ready_ns = xcalloc(s->m->instrs.n + 1, sizeof *s->ready_ns);
	s->event_of = xmalloc((s->m->instrs.n + 1) * sizeof *s->event_of);
	memset(s->event_of, 0xff, (s->m->instrs.n + 1) * sizeof *s->event_of);
	s->estimated = has_estimates(s);
	run_comp(s, s->m->entry);
	if (s->estimated)
		s->now = MAX(s->now, sat_add(s->sum.memory, s->sum.exposed));
	for (uint32_t q = 0; q < COUNT_OF(s->queue); q++)
		s->now = MAX(s->now, s->queue[q].free_ns);
}
