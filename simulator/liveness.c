/* Peak memory of temporaries. Every buffer is live from the position of the kernel that writes it
 * to the one that reads it last; allocations and frees are entered at positions, and the largest
 * running sum is the peak. A kernel's results may take the place of an operand of the same size
 * that dies in it (so an elementwise op, an update in place and an all_reduce need no second
 * buffer; on TPU an elementwise op only beside a product): such an operand is freed before the
 * results are counted.
 *
 * Where the device has memory on the chip (TPU), what stays there between the kernel that writes it
 * and the last one that reads it (on_chip.c) is no temporary: those are in main memory.
 *
 * Not temporaries: arguments and results of main (counted whole in argument and output bytes),
 * constants, values that never leave a kernel, aliases. A loop's body is walked once, so its peak
 * counts once. */
#include <stdlib.h>

#include "simulator/state.h"

bool val_is_temporary(const sim_val *v, lval_id id)
{
	return v->base == id && v->materialised && !v->argument && !v->constant && !v->output &&
		!v->carried && v->bytes > 0;
}

static bool dies_at(const simulator *s, lval_id id, lop_id at)
{
	const sim_val *v = &s->vals[id];
	return val_is_temporary(v, id) && v->in_main && !v->taken && !v->kept_late && v->free == at &&
		v->alloc < at;
}

/* Collectives and loops hold what they make in main memory, and gradients that wait what they read.
 */
static bool in_main_memory(const simulator *s, const lowered *l, const sim_val *v)
{
	return v->off_chip || v->kept_late || !stays(s, l, v);
}

/* The first dying operand of that size, of this op's from .. end. */
static bool take_place(simulator *s, const lowered *l, const lop *o, uint32_t from, uint32_t end,
	lop_id at, int64_t bytes)
{
	for (uint32_t i = from; i < end; i++) {
		lval_id v = base_of(s, operand_at(l, o, i));
		if (s->vals[v].stored != bytes || !dies_at(s, v, at))
			continue;
		s->vals[v].taken = true;
		s->delta[at].before -= bytes; /* freed before the kernel instead of after it */
		s->delta[at].after += bytes;
		return true;
	}
	return false;
}

/* Does a kernel write over what it reads? In buffers of twelve programs by libtpu 0.0.51 none of 8
 * without a product did, and 24 of 35 with one. */
static bool takes_places(const simulator *s, lop_id id)
{
	const sim_op *so = &s->ops[id];
	return s->dev.target != TARGET_TPU ||
		(so->root != ID_NONE ? s->ops[so->root].has_matmul : so->has_matmul);
}

static bool may_reuse(const simulator *s, const lop *o, lop_id id)
{
	switch (s->ops[id].class) {
	case CLASS_ELEMENTWISE: return takes_places(s, id);
	case CLASS_UPDATE: return true;
	case CLASS_COLLECTIVE: return o->coll == COLL_ALL_REDUCE;
	case CLASS_OTHER: return s->ops[id].work != UINT32_MAX && work_at(s, &s->ops[id])->in_place;
	default: return o->kind == LOP_REGION;
	}
}

/* A result of a kernel that is kept in memory: an operand of any member may make room for it. */
static void place_result(simulator *s, const lowered *l, lop_id root, lop_id member, int64_t bytes)
{
	const lop *o = &l->ops.p[member];
	uint32_t own = o->nest ? o->nest->n_nested_operands : 0;
	if (!may_reuse(s, o, member) || take_place(s, l, o, own, o->n_operands, root, bytes))
		return;
	for (lop_id m = s->ops[root].first_member; m != ID_NONE; m = s->ops[m].next)
		if (s->ops[m].class == CLASS_ELEMENTWISE && takes_places(s, root) &&
			take_place(
				s, l, &l->ops.p[m], 0, m == member ? own : l->ops.p[m].n_operands, root, bytes))
			return;
}

/* Positions between which the temporaries among the results of op i are live; true when there is
 * one. Results of a case are written by its branches, so from its beginning; the arguments of a
 * loop are its carried buffers, whose end fusion has found. */
static bool set_ranges(simulator *s, const lowered *l, lop_id i)
{
	bool temporary = false;
	const lop *o = &l->ops.p[i];
	for (lval_id id = o->results, end = id + o->n_results; id < end; id++) {
		sim_val *v = &s->vals[id];
		if (!val_is_temporary(v, id))
			continue;
		const sim_op *so = &s->ops[i];
		bool carries = so->end != ID_NONE && form_of(l, o) == FORM_LOOP;
		v->alloc = so->begin != ID_NONE ? so->begin : so->root == ID_NONE ? i : so->root;
		if (!carries)
			v->free = v->last_use == ID_NONE ? v->alloc : MAX(v->last_use, v->alloc);
		v->kept_late &= v->free <= s->late.until;
		v->in_main = in_main_memory(s, l, v);
		if (!v->in_main)
			continue;
		temporary = true;
		s->delta[v->alloc].before += v->stored;
		if (v->kept_late) /* freed behind the last gradient, in all layers together */
			s->late.bytes =
				sat_add(s->late.bytes, sat_mul(v->stored, s->folder ? folder_weight(s, i) : 1));
		else
			s->delta[v->free].after -= v->stored * times(s, i, v->free);
	}
	return temporary;
}

/* What a loop hands on as it is, in front of the loop. */
static lval_id kept_from(const simulator *s, const lowered *l, lval_id v)
{
	for (lop_id begin = l->vals.p[v].def; s->ops[begin].end != ID_NONE; begin = l->vals.p[v].def) {
		const lop *open = &l->ops.p[begin], *close = &l->ops.p[s->ops[begin].end];
		uint32_t k = v - open->results;
		if (form_of(l, open) != FORM_LOOP || k >= open->n_operands || k >= close->n_operands ||
			base_of(s, operand_at(l, close, k)) != v)
			break;
		v = base_of(s, operand_at(l, open, k));
	}
	return v;
}

/* The argument of main that v is a part of, cut out in a loop; ID_NONE. */
static lval_id sliced_argument(const simulator *s, const lowered *l, lval_id v)
{
	const lop *o = &l->ops.p[l->vals.p[base_of(s, v)].def];
	if (o->kind != LOP_COMPUTE || o->nest || l->p->nodes.p[o->node].op_kind != OP_DYNAMIC_SLICE)
		return ID_NONE;
	lval_id from = kept_from(s, l, base_of(s, operand_at(l, o, 0)));
	return s->vals[from].argument ? from : ID_NONE;
}

static int bits_of(const lowered *l, lval_id v)
{
	const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
	return ty->kind == TYPE_TENSOR ? elem_bits((enum elem)ty->elem) : 0;
}

/* XLA for TPU rounds all layers of a weight in front of the loop that takes one of them at a time,
 * and keeps them until the last such loop has ended (libtpu 0.0.51: transformer_scan, where that is
 * 1.1 of 3.7 GiB). */
static void add_rounded(simulator *s, const lowered *l, lop_id id, lop_id begin, lop_id end)
{
	const lop *o = &l->ops.p[id];
	if (o->kind != LOP_COMPUTE || o->nest || o->n_operands != 1 ||
		l->p->nodes.p[o->node].op_kind != OP_CONVERT)
		return;
	int from_bits = bits_of(l, operand_at(l, o, 0)), bits = bits_of(l, o->results);
	lval_id from = bits < from_bits ? sliced_argument(s, l, operand_at(l, o, 0)) : ID_NONE;
	if (from == ID_NONE || bits < 8)
		return;
	for (uint32_t i = 0; i < s->held.n; i++)
		if (s->held.p[i].from == from) {
			s->held.p[i].end = end;
			return;
		}
	vec_push(&s->held,
		(held_value){from, o->results, begin, end, s->vals[from].bytes / from_bits * bits});
}

static void round_before_loops(simulator *s, const lowered *l)
{
	lop_id begin = ID_NONE, end = ID_NONE;
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		if (begin == ID_NONE && o->kind == LOP_REGION && form_of(l, o) == FORM_LOOP)
			begin = i, end = s->ops[i].end;
		else if (begin != ID_NONE && i == end)
			begin = ID_NONE;
		else if (begin != ID_NONE)
			add_rounded(s, l, i, begin, end);
	}
	for (uint32_t i = 0; i < s->held.n; i++) {
		const held_value *r = &s->held.p[i];
		s->delta[r->begin].before += r->bytes;
		s->delta[r->end].after -= r->bytes;
	}
}

/* What an op copies for itself is there while it runs, small copies on the chip. */
static void add_copies(simulator *s, lop_id root, int64_t bytes)
{
	if (bytes <= s->dev.on_chip_bytes / 2)
		return;
	s->delta[root].before += bytes;
	s->delta[root].after -= bytes;
}

void measure_liveness(simulator *s, const lowered *l)
{
	s->stores.n = 0;
	measure_stored(s, l);
	for (uint32_t n = s->writers.n; n-- > 0;) {
		lop_id i = s->writers.p[n];
		if (set_ranges(s, l, i))
			vec_push(&s->stores, i);
		if (s->dev.target == TARGET_TPU && s->ops[i].mode == MODE_ROOT)
			add_copies(s, i, padded_copies(s, &s->ops[i]));
	}
	s->held.n = 0;
	if (s->regions && s->dev.target == TARGET_TPU)
		round_before_loops(s, l);
	if (s->dev.target == TARGET_TPU)
		hold_gathered(s, l);
	/* results take the place of operands: what was freed after the kernel is freed before it */
	for (uint32_t n = 0; n < s->stores.n; n++) {
		lop_id i = s->stores.p[n];
		const lop *o = &l->ops.p[i];
		bool kernel = s->ops[i].mode == MODE_ROOT || s->ops[i].mode == MODE_FUSED;
		if (!kernel && o->kind != LOP_REGION)
			continue;
		lop_id at = kernel ? s->ops[i].root : i;
		for (uint32_t k = 0; k < o->n_results; k++) {
			const sim_val *v = &s->vals[o->results + k];
			if (!val_is_temporary(v, o->results + k) || !v->in_main)
				continue;
			if (kernel)
				place_result(s, l, at, i, v->stored);
			else
				take_place(s, l, o, 0, o->n_operands, at, v->stored);
		}
	}
}

void find_peak(simulator *s, const lowered *l)
{
	memory_level level = {0};
	s->peak_at = 0;
	for (lop_id i = 0; i < l->ops.n; i++) {
		int64_t peak = level.peak;
		level_step(&level, &s->delta[i]);
		if (i == s->late.until)
			level.live -= s->late.bytes;
		s->peak_at = level.peak > peak ? i : s->peak_at;
	}
	s->temporary = level.peak;
}

static int by_size(const void *a, const void *b)
{
	const live_at_peak *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->val < y->val ? -1 : x->val > y->val;
}

const live_at_peak *simulator_peak(simulator *s, const lowered *l, uint32_t *n)
{
	s->peak.n = 0;
	for (lval_id id = 0; id < l->vals.n; id++) {
		const sim_val *v = &s->vals[id];
		if (val_is_temporary(v, id) && v->in_main && v->alloc <= s->peak_at &&
			s->peak_at <= (v->kept_late ? s->late.until : v->free) &&
			!(v->taken && v->free == s->peak_at))
			vec_push(&s->peak, (live_at_peak){id, v->stored});
	}
	for (uint32_t i = 0; i < s->held.n; i++)
		if (s->held.p[i].begin <= s->peak_at && s->peak_at <= s->held.p[i].end)
			vec_push(&s->peak, (live_at_peak){s->held.p[i].by, s->held.p[i].bytes});
	qsort(s->peak.p, s->peak.n, sizeof *s->peak.p, by_size);
	*n = s->peak.n;
	return s->peak.p;
}
