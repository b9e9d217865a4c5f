/* What is on the chip of a device that has memory there (TPU): values on their way from one kernel
 * to the next, an argument that is fetched before the program starts, and what a loop keeps there.
 */
#include <stdlib.h>

#include "simulator/state.h"

static int32_t pass_of(const simulator *s, const lowered *l, lop_id o)
{
	return l->ops.p[o].node == ID_NONE ? 0 : s->passes[l->ops.p[o].node];
}

/* Bytes of the chip that the argument fetched before the program takes at op `at`. */
static int64_t prefetched_at(const simulator *s, lop_id at)
{
	return at <= s->prefetched.until ? s->prefetched.bytes : 0;
}

/* Does what is written after op `def` and before op `at` fit on the chip? What the forward pass
 * leaves for the backward pass counts as far away in all layers: else the last layers would differ
 * from the others, and no program could be folded. */
static bool fits_between(const simulator *s, const lowered *l, lop_id def, lop_id at)
{
	if (s->all_near)
		return true;
	if (s->passes && pass_of(s, l, def) != pass_of(s, l, at))
		return false;
	return (s->folder ? folder_written_between(s, def, at)
					  : s->ops[at].written - s->ops[def].written) <=
		s->dev.on_chip_bytes - prefetched_at(s, def) - s->kept_now;
}

/* What one value may take of the chip: kernels keep an eighth of it for themselves (libtpu 0.0.51
 * on v5e: 16 of 128 MiB by default; values of 96 and 112 MiB are kept there). */
int64_t most_on_chip(const simulator *s, lop_id at)
{
	return s->dev.on_chip_bytes / 8 * 7 - prefetched_at(s, at);
}

int64_t half_of_chip(const simulator *s, lop_id at)
{
	return MIN((s->dev.on_chip_bytes - prefetched_at(s, at)) / 2, most_on_chip(s, at));
}

/* A kernel of one elementwise op or sum. */
static bool is_alone(const simulator *s, const lowered *l, lop_id root)
{
	const sim_op *so = &s->ops[root];
	return (so->class == CLASS_ELEMENTWISE || so->class == CLASS_REDUCE) &&
		l->ops.p[root].kind == LOP_COMPUTE && !l->ops.p[root].nest && so->first_member == root &&
		so->next == ID_NONE;
}

bool reaches(const simulator *s, const lowered *l, const sim_val *v, lop_id at)
{
	if (at < v->kept_until)
		return true;
	const sim_op *def = &s->ops[v->def];
	if (!s->dev.on_chip_bytes || v->bytes > most_on_chip(s, v->def) || v->argument ||
		v->in_argument || v->constant || v->carried || def->end != ID_NONE || def->begin != ID_NONE)
		return false;
	if (v->kept_late && s->ops[at].waits)
		return false;
	if (s->dev.products_off_chip && def->root != ID_NONE &&
		(s->ops[def->root].has_matmul || is_alone(s, l, def->root)))
		return false;
	return def->segment == s->ops[at].segment && fits_between(s, l, v->def, at);
}

bool stays(const simulator *s, const lowered *l, const sim_val *v)
{
	return !v->output && v->last_use != ID_NONE && reaches(s, l, v, v->last_use);
}

static int64_t written_by(const simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id];
	int64_t bytes = 0;
	for (const sim_val *v = &s->vals[o->results], *end = v + o->n_results; v < end; v++)
		if (v->materialised && !v->argument && !v->constant)
			bytes = sat_add(bytes, v->bytes);
	return bytes;
}

/* Bytes that kernels and collectives write, in program order. */
static void count_written(simulator *s, const lowered *l)
{
	int64_t sum = 0;
	for (uint32_t n = s->writers.n; n-- > 0;) {
		lop_id id = s->writers.p[n];
		int64_t bytes = written_by(s, l, id);
		s->ops[id].written = s->folder ? folder_add_written(s, id, bytes) : sum;
		sum = sat_add(sum, bytes);
	}
	s->written = s->folder ? folder_end_written(s) : sum;
}

/* XLA for TPU fetches one argument before the program starts: the largest that fits, of those that
 * a product reads as they are, and that neither a result takes the place of nor a loop or a
 * collective reads. libtpu 0.0.51 fetches bfloat16 weights of 24 MiB and more so, and none that are
 * rounded first (v5e, v6e; tests/judged/kernels.py). Smaller ones take little room. */
enum { LEAST_PREFETCHED_BYTES = 24 << 20 };

static bool may_be_prefetched(const simulator *s, const lowered *l, lval_id id)
{
	const sim_val *v = &s->vals[id];
	int32_t arg = argument_number(s, l, id);
	return arg >= 0 && v->last_use != ID_NONE && !v->output && !v->off_chip &&
		!is_donated(s, (uint32_t)arg) && v->bytes >= LEAST_PREFETCHED_BYTES &&
		v->bytes <= s->dev.on_chip_bytes / 8 * 7;
}

/* Of arguments of equal size XLA takes the one whose readers make most elements, of these the one
 * whose last reader comes first (its MemorySpaceAssignment's order of cross-program prefetches). */
static bool is_fetched_before(const simulator *s, const lowered *l, lval_id a, lval_id b)
{
	const sim_val *x = &s->vals[a], *y = &s->vals[b];
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes;
	int64_t of_a = s->arg_reads.p[argument_number(s, l, a)],
			of_b = s->arg_reads.p[argument_number(s, l, b)];
	return of_a != of_b ? of_a > of_b : x->last_use < y->last_use;
}

/* Elements of the products that read each argument, one at least. False: none that may be fetched
 * is read. */
static bool count_arg_reads(simulator *s, const lowered *l)
{
	bool some = false;
	vec_reserve(&s->arg_reads, s->args.n);
	for (uint32_t i = 0; i < s->args.n; i++)
		s->arg_reads.p[i] = 0;
	for (lop_id i = 0; i < l->ops.n; i++)
		for (uint32_t k = 0; s->ops[i].class == CLASS_MATMUL && k < l->ops.p[i].n_operands; k++) {
			lval_id v = base_of(s, operand_at(l, &l->ops.p[i], k));
			if (!may_be_prefetched(s, l, v))
				continue;
			int64_t *sum = &s->arg_reads.p[argument_number(s, l, v)];
			int64_t made = MAX(elements_of(l, l->ops.p[i].results), 1);
			*sum = sat_add(*sum, sat_mul(made, s->folder ? folder_weight(s, i) : 1));
			some = true;
		}
	return some;
}

/* It stays until it was read last; to the end, where that is late in the program: it would have to
 * be fetched again for the next run. XLA's limit is a share of the time, ours one of the bytes that
 * are written. */
enum { HELD_AFTER_PERCENT = 60 };

static void find_prefetched(simulator *s, const lowered *l)
{
	if (!s->dev.cross_program_prefetches || !count_arg_reads(s, l))
		return;
	lval_id best = ID_NONE;
	for (uint32_t i = 0; i < s->args.n; i++) {
		lval_id v = s->args.p[i];
		if (s->arg_reads.p[i] && (best == ID_NONE || is_fetched_before(s, l, v, best)))
			best = v;
	}
	lop_id last = s->vals[best].last_use;
	int64_t until = sat_add(
		s->folder ? folder_written_before(s, last) : s->ops[last].written, written_by(s, l, last));
	s->prefetched.val = best;
	s->prefetched.bytes = s->vals[best].bytes;
	s->prefetched.until =
		sat_mul(until, 100) >= sat_mul(s->written, HELD_AFTER_PERCENT) ? l->ops.n : last;
}

/* A loop keeps on the chip what its body reads and writes most of, of what was there before and of
 * what it carries, as long as that fits. libtpu 0.0.51 does so with the weights and the sums of an
 * LSTM, 112 of 128 MiB on v5e, and with the largest weight of a decoder and three of its caches.
 * When it weighs what a value is worth there, XLA takes every loop for five iterations
 * (xla_tpu_memory_space_assignment_while_execution_count). */
enum { SUPPOSED_TRIPS = 5 };

/* bytes: that the reader reads or writes of the value, all of it once; runs: of the reader in an
 * iteration of the loop. */
static void add_access(
	simulator *s, lop_id reader, lop_id begin, lval_id v, int64_t bytes, int64_t runs)
{
	sim_val *val = &s->vals[v];
	if (val->def > begin || val->constant || reader < val->kept_until || !val->bytes)
		return;
	if (bytes >= val->bytes && val->stamp == reader)
		return;
	val->stamp = reader;
	if (!val->candidate) {
		vec_push(&s->candidates, (keep_candidate){.val = v, .yielded = ID_NONE});
		val->candidate = s->candidates.n;
	}
	keep_candidate *c = &s->candidates.p[val->candidate - 1];
	c->accessed = sat_add(c->accessed, sat_mul(runs, MIN(bytes, val->bytes)));
}

static void add_accesses(simulator *s, const lowered *l, lop_id id, lop_id begin, int64_t runs)
{
	const lop *o = &l->ops.p[id];
	const sim_op *so = &s->ops[id];
	if (o->kind != LOP_COMPUTE || so->mode == MODE_NONE)
		return;
	const work_entry *w = so->work == UINT32_MAX ? NULL : work_at(s, so);
	lop_id reader = so->mode == MODE_COPIED || so->root == ID_NONE ? id : so->root;
	for (uint32_t i = 0; i < o->n_operands; i++) {
		lval_id v = base_of(s, operand_at(l, o, i));
		int64_t bytes = s->vals[v].bytes;
		if (i == 0 && w && w->in_place)
			bytes = w->write_bytes;
		else if (i == 0 && w && w->slice_bytes)
			bytes = w->slice_bytes;
		add_access(s, reader, begin, v, bytes, runs);
	}
}

/* All that the loop's body reads of what was there before, and of what it carries. */
static void find_candidates(simulator *s, const lowered *l, lop_id begin, lop_id end)
{
	int64_t runs = 1, around[MAX_NESTING + 2];
	uint32_t depth = 0;
	s->candidates.n = 0;
	for (lop_id i = begin + 1; i < end; i++) {
		const lop *o = &l->ops.p[i];
		if (o->kind == LOP_REGION && form_of(l, o) != FORM_INLINE) {
			around[depth++] = runs;
			runs = form_of(l, o) == FORM_LOOP ? sat_mul(runs, SUPPOSED_TRIPS) : runs;
		} else if (o->kind == LOP_REGION_END && form_of(l, o) != FORM_INLINE) {
			runs = around[--depth];
		} else {
			add_accesses(s, l, i, begin, runs);
		}
	}
}

/* Adds what the body writes into the buffers that it carries. */
static void add_yields(simulator *s, const lowered *l, lop_id begin, lop_id end)
{
	const lop *open = &l->ops.p[begin], *close = &l->ops.p[end];
	for (uint32_t i = 0; i < close->n_operands && i < open->n_results; i++) {
		lval_id arg = open->results + i, yielded = base_of(s, operand_at(l, close, i));
		if (base_of(s, arg) != arg || yielded == arg || !s->vals[arg].candidate)
			continue;
		keep_candidate *c = &s->candidates.p[s->vals[arg].candidate - 1];
		const sim_op *def = &s->ops[s->vals[yielded].def];
		bool product = def->root != ID_NONE && s->ops[def->root].has_matmul;
		c->refused = s->dev.products_off_chip && product;
		if (!s->vals[yielded].carried)
			continue;
		c->yielded = yielded;
		bool in_place = def->work != UINT32_MAX && work_at(s, def)->in_place;
		c->accessed = sat_add(c->accessed, in_place ? 0 : s->vals[yielded].bytes);
	}
}

/* The value that a candidate has when the loop starts. */
static const sim_val *started_with(const simulator *s, const lowered *l, lop_id begin, lval_id v)
{
	const lop *open = &l->ops.p[begin];
	bool carried = v >= open->results && v - open->results < open->n_operands;
	return &s->vals[carried ? base_of(s, operand_at(l, open, v - open->results)) : v];
}

static int by_access(const void *a, const void *b)
{
	const keep_candidate *x = a, *y = b;
	return x->accessed != y->accessed ? (x->accessed > y->accessed ? -1 : 1)
		: x->val < y->val             ? -1
									  : x->val > y->val;
}

static void keep_in_loop(simulator *s, const lowered *l, lop_id begin, lop_id end)
{
	int64_t room = most_on_chip(s, begin);
	for (uint32_t i = 0; i < s->kept.n; i++)
		room -= s->kept.p[i].end > end ? s->kept.p[i].bytes : 0;
	find_candidates(s, l, begin, end);
	add_yields(s, l, begin, end);
	for (uint32_t i = 0; i < s->candidates.n; i++) {
		keep_candidate *c = &s->candidates.p[i];
		c->bytes = s->vals[c->val].bytes;
		s->vals[c->val].candidate = 0;
		s->vals[c->val].stamp = ID_NONE;
	}
	if (s->candidates.n)
		qsort(s->candidates.p, s->candidates.n, sizeof *s->candidates.p, by_access);
	for (uint32_t i = 0; i < s->candidates.n; i++) {
		const keep_candidate *c = &s->candidates.p[i];
		const sim_val *from = started_with(s, l, begin, c->val);
		int64_t copied = from->constant || reaches(s, l, from, begin) ? 0 : c->bytes;
		if (c->refused || c->bytes > room || sat_mul(SUPPOSED_TRIPS, c->accessed) <= copied)
			continue;
		room -= c->bytes;
		vec_push(&s->kept, (kept_value){c->val, begin, end, c->bytes, copied});
		s->vals[c->val].kept_until = end + 1;
		if (c->yielded != ID_NONE)
			vec_push(&s->kept, (kept_value){c->yielded, begin, end, 0, 0});
	}
}

/* Of all loops, outer ones first. */
static void find_kept(simulator *s, const lowered *l)
{
	for (uint32_t n = s->regions ? s->writers.n : 0; n-- > 0;) {
		lop_id i = s->writers.p[n];
		if (l->ops.p[i].kind == LOP_REGION && form_of(l, &l->ops.p[i]) == FORM_LOOP)
			keep_in_loop(s, l, i, s->ops[i].end);
	}
	for (uint32_t i = 0; i < s->kept.n; i++)
		s->vals[s->kept.p[i].val].kept_until = 0;
}

void place_on_chip(simulator *s, const lowered *l)
{
	s->kept.n = s->next_kept = 0, s->kept_now = 0;
	s->prefetched.val = ID_NONE, s->prefetched.bytes = 0, s->prefetched.until = 0;
	if (!s->dev.on_chip_bytes)
		return;
	count_written(s, l);
	find_prefetched(s, l);
	s->all_near = s->written <= s->dev.on_chip_bytes - s->prefetched.bytes;
	find_kept(s, l);
}

int64_t enter_loop(simulator *s, lop_id begin)
{
	int64_t copied = 0;
	for (; s->next_kept < s->kept.n && s->kept.p[s->next_kept].begin == begin; s->next_kept++) {
		const kept_value *k = &s->kept.p[s->next_kept];
		s->vals[k->val].kept_until = k->end + 1;
		s->kept_now += k->bytes;
		copied += k->copied;
	}
	return copied ? copy_time_ns(&s->dev, copied) : 0;
}

void leave_loop(simulator *s, lop_id end)
{
	for (uint32_t i = 0; i < s->next_kept; i++)
		s->kept_now -= s->kept.p[i].end == end ? s->kept.p[i].bytes : 0;
}
