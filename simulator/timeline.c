/* Run time. One in-order compute stream, one queue per link class. A kernel starts when the stream is free and what it
 * reads is there; a collective starts when its operands are there and its queue is free, wherever it stands in the
 * program, but at most PREFETCH_DEPTH collectives ahead of what the stream has consumed; its first user waits for it.
 * Collectives of host targets are synchronous.
 *
 * A region drains the queues at both ends, is run once and counts `trips` times, so its collectives overlap only with
 * its own work. Of the branches of a case the slowest counts.
 *
 * While a collective is hidden behind work it takes overlap_steal of the processor: a stretch between two drains is
 * longer by that part of its hidden communication. So always
 *   max(compute, communication of any queue) <= run time <= compute + communication. */
#include "simulator/state.h"

/* What one kernel does, summed over its members. */
typedef struct kernel {
	int64_t matmul_ns, vector_flops, bytes, ready_ns;
	double flops;
	lop_id waits_for; /* the collective that is ready last */
} kernel;

static void wait_for(simulator *s, kernel *k, lval_id v)
{
	if (s->vals[v].ready_ns <= k->ready_ns)
		return;
	k->ready_ns = s->vals[v].ready_ns;
	k->waits_for = s->vals[v].def;
}

/* First use of a collective's result: the prefetch window moves on. */
static void consume(simulator *s, lval_id v)
{
	lop_id def = s->vals[v].def;
	if (s->ops[def].class == CLASS_COLLECTIVE && s->first_use_ns[def] < 0)
		s->first_use_ns[def] = s->now;
}

static void read_value(simulator *s, kernel *k, lop_id root, lval_id v, int64_t part)
{
	sim_val *val = &s->vals[v];
	wait_for(s, k, v);
	consume(s, v);
	if (part) {
		k->bytes = sat_add(k->bytes, MIN(part, val->bytes));
		return;
	}
	if (val->stamp == root)
		return;
	val->stamp = root;
	bool splat = val->constant && s->ops[s->vals[v].def].work != UINT32_MAX && work_at(s, &s->ops[s->vals[v].def])->splat;
	k->bytes = sat_add(k->bytes, splat ? 0 : val->bytes);
}

/* An update that cannot be done where its operand lies copies it first. */
static bool updates_in_place(const simulator *s, lval_id target, lop_id root)
{
	const sim_val *v = &s->vals[target];
	return v->last_use == root && !v->constant && (!v->argument || v->output);
}

static void add_member(simulator *s, const lowered *l, kernel *k, lop_id root, lop_id id)
{
	const lop *o = &l->ops.p[id];
	const sim_op *so = &s->ops[id];
	const work_entry *w = so->work == UINT32_MAX ? NULL : work_at(s, so);
	if (w) {
		k->matmul_ns = sat_add(k->matmul_ns, w->matmul_ns);
		k->vector_flops = sat_add(k->vector_flops, w->vector_flops);
		k->flops += w->flops;
	}
	if (w && w->in_place && o->n_operands) {
		k->bytes = sat_add(k->bytes, w->write_bytes);
		lval_id target = base_of(s, operand_at(l, o, 0));
		if (!updates_in_place(s, target, root))
			k->bytes = sat_add(k->bytes, 2 * s->vals[target].bytes);
		if (so->class == CLASS_OTHER) { /* scatter: reads places and indices, not the whole */
			k->bytes = sat_add(k->bytes, w->read_bytes);
			for (uint32_t i = 0; i < o->n_operands; i++) {
				wait_for(s, k, base_of(s, operand_at(l, o, i)));
				consume(s, base_of(s, operand_at(l, o, i)));
			}
			return;
		}
	}
	for (uint32_t i = 0; i < o->n_operands; i++) {
		lval_id v = base_of(s, operand_at(l, o, i));
		lop_id def = s->vals[v].def;
		sim_op *from = &s->ops[def];
		if (from->mode == MODE_COPIED) {
			if (from->stamp != root) {
				from->stamp = root;
				vec_push(&s->stack, def);
			}
			continue;
		}
		if (from->mode == MODE_FUSED && from->root == root)
			continue;
		if (i == 0 && so->class == CLASS_UPDATE) {
			wait_for(s, k, v);
			consume(s, v);
			continue;
		}
		bool slice = i == 0 && ((w && w->slice_bytes) || (o->kind == LOP_COLLECTIVE && so->class == CLASS_ELEMENTWISE));
		int64_t part = !slice ? 0 : w ? w->slice_bytes : s->vals[o->results].bytes;
		read_value(s, k, root, v, part);
	}
	if (w && w->in_place)
		return;
	for (uint32_t i = 0; i < o->n_results; i++) {
		const sim_val *v = &s->vals[o->results + i];
		if (v->materialised && so->mode != MODE_COPIED)
			k->bytes = sat_add(k->bytes, v->bytes);
	}
}

static void stall_until(simulator *s, int64_t t, lop_id cause)
{
	if (t <= s->now)
		return;
	int64_t stall = t - s->now, all = sat_mul(stall, s->multiplier);
	s->now = t;
	s->stretch_stall = sat_add(s->stretch_stall, stall);
	s->sum.exposed = sat_add(s->sum.exposed, all);
	if (cause != ID_NONE)
		s->events[cause].exposed_ns = sat_add(s->events[cause].exposed_ns, all);
}

static void run_kernel(simulator *s, const lowered *l, lop_id root)
{
	kernel k = {.waits_for = ID_NONE};
	for (lop_id m = s->ops[root].first_member; m != ID_NONE; m = s->ops[m].next)
		add_member(s, l, &k, root, m);
	while (s->stack.n)
		add_member(s, l, &k, root, vec_pop(&s->stack));
	stall_until(s, k.ready_ns, k.waits_for);
	int64_t t = MAX(MAX(k.matmul_ns, vector_time_ns(&s->dev, k.vector_flops)), memory_time_ns(&s->dev, k.bytes));
	t = sat_add(t, s->dev.op_launch_ns);
	op_event *e = &s->events[root];
	*e = (op_event){.op = root, .start_ns = s->now, .end_ns = sat_add(s->now, t), .hbm_bytes = k.bytes};
	s->now = e->end_ns;
	s->sum.compute = sat_add(s->sum.compute, sat_mul(t, s->multiplier));
	s->sum.flops += k.flops * (double)s->multiplier;
	for (lop_id m = s->ops[root].first_member; m != ID_NONE; m = s->ops[m].next) {
		for (uint32_t i = 0; i < l->ops.p[m].n_results; i++)
			s->vals[l->ops.p[m].results + i].ready_ns = s->now;
		if (m != root)
			s->events[m] = (op_event){.op = m, .start_ns = e->start_ns, .end_ns = e->end_ns, .fused = true};
	}
}

static void run_collective(simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id];
	uint8_t link = 0;
	int64_t t = collective_lookup(s, o, &link), begin = 0;
	queue *q = &s->queues[link];
	lop_id cause = ID_NONE;
	for (uint32_t i = 0; i < o->n_operands; i++) {
		lval_id v = base_of(s, operand_at(l, o, i));
		begin = MAX(begin, s->vals[v].ready_ns);
		consume(s, v);
	}
	begin = MAX(begin, q->free_ns);
	if (q->n >= PREFETCH_DEPTH)
		begin = MAX(begin, s->first_use_ns[q->recent[q->n % PREFETCH_DEPTH]]);
	bool waits = s->dev.target == TARGET_CPU;
	if (waits)
		begin = MAX(begin, s->now);
	int64_t end = sat_add(begin, t);
	s->events[id] = (op_event){.op = id, .start_ns = begin, .end_ns = end, .stream = (uint8_t)(1 + link)};
	q->recent[q->n++ % PREFETCH_DEPTH] = id;
	q->free_ns = end;
	q->last = id;
	for (uint32_t i = 0; i < o->n_results; i++)
		s->vals[o->results + i].ready_ns = end;
	s->stretch_comm = sat_add(s->stretch_comm, t);
	s->sum.communication = sat_add(s->sum.communication, sat_mul(t, s->multiplier));
	if (o->combined)
		s->sum.dynamic_count[o->coll] = sat_add(s->sum.dynamic_count[o->coll], s->multiplier);
	s->sum.bytes[o->coll] = sat_add(s->sum.bytes[o->coll], sat_mul(o->bytes, s->multiplier));
	if (waits) {
		cause = id;
		stall_until(s, end, cause);
	}
}

/* Waits for everything in flight and pays for what was hidden. */
static void drain(simulator *s)
{
	for (uint32_t i = 0; i < s->dev.n_links; i++)
		stall_until(s, s->queues[i].free_ns, s->queues[i].last);
	int64_t hidden = MAX(s->stretch_comm - s->stretch_stall, 0);
	s->now = sat_add(s->now, (int64_t)((__int128)hidden * s->dev.overlap_steal_ppm / 1000000));
	for (uint32_t i = 0; i < s->dev.n_links; i++) /* nothing of the next stretch starts before it */
		s->queues[i] = (queue){.free_ns = s->now, .last = ID_NONE};
	s->stretch_comm = s->stretch_stall = 0;
}

static void open_region(simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id];
	for (uint32_t i = 0; i < o->n_operands; i++)
		consume(s, base_of(s, operand_at(l, o, i)));
	drain(s);
	s->frames[s->n_frames++] = (frame){
		.op = id, .branches = form_of(l, o) == FORM_BRANCHES, .start = s->now, .multiplier = s->multiplier, .before = s->sum};
	s->multiplier = sat_mul(s->multiplier, MAX(o->trips, 0));
	s->events[id] = (op_event){.op = id, .start_ns = s->now, .end_ns = s->now};
}

/* The end of one region of the op: of a loop its time is added, of a case the longest branch is kept. */
static void close_branch(simulator *s, frame *f)
{
	drain(s);
	int64_t t = s->now - f->start;
	if (!f->branches) {
		f->sum = sat_add(f->sum, t);
	} else {
		if (!f->any || t > f->longest) {
			f->longest = t;
			f->best = s->sum;
		}
		s->sum = f->before;
	}
	f->any = true;
	f->start = s->now;
}

static void close_region(simulator *s, const lowered *l, lop_id id)
{
	frame *f = &s->frames[--s->n_frames];
	int64_t entered = s->events[f->op].start_ns;
	close_branch(s, f);
	if (f->branches)
		s->sum = f->best;
	int64_t trips = MAX(l->ops.p[f->op].trips, 0);
	s->now = sat_add(entered, sat_mul(f->branches ? f->longest : f->sum, trips));
	s->multiplier = f->multiplier;
	s->events[f->op].end_ns = s->now;
	for (uint32_t i = 0; i < s->dev.n_links; i++)
		s->queues[i].free_ns = s->now;
	for (uint32_t i = 0; i < l->ops.p[id].n_results; i++)
		s->vals[l->ops.p[id].results + i].ready_ns = 0;
}

void run_timeline(simulator *s, const lowered *l)
{
	s->now = s->stretch_comm = s->stretch_stall = 0;
	s->multiplier = 1;
	s->n_frames = 0;
	s->sum = (totals){0};
	for (uint32_t i = 0; i < MAX_LINK_CLASSES; i++)
		s->queues[i] = (queue){.last = ID_NONE};
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		bool border = o->kind == LOP_REGION || o->kind == LOP_REGION_ELSE || o->kind == LOP_REGION_END;
		if (o->erased || (border && form_of(l, o) == FORM_INLINE))
			continue;
		if (o->kind == LOP_REGION)
			open_region(s, l, i);
		else if (o->kind == LOP_REGION_ELSE)
			close_branch(s, &s->frames[s->n_frames - 1]);
		else if (o->kind == LOP_REGION_END)
			close_region(s, l, i);
		else if (s->ops[i].mode == MODE_ROOT && s->ops[i].class == CLASS_COLLECTIVE)
			run_collective(s, l, i);
		else if (s->ops[i].mode == MODE_ROOT)
			run_kernel(s, l, i);
	}
	drain(s);
}
