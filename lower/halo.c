/* Borders. Where an op looks at windows and the dim that they move along is cut, a device needs
 * what its neighbours hold next to its own part. XLA's partitioner fetches that with one permute
 * per side, dim after dim, each of what the ones before have left: the part of a neighbour in later
 * dims is already cut to what the window reads. A border that is wider than a part comes from
 * several neighbours.
 *
 * Device j of n needs elements [start(j), end(j)) of a dim of which it holds [j p, (j + 1) p).
 * Borders are as wide as the widest that any device needs, and what is kept of the dim as long as
 * the longest of these ranges. */
#include "lower/internal.h"

typedef halo_window window;

typedef struct span {
	int64_t left, right, length;
} span;

static int64_t nth(const int64_t *list, uint32_t n, uint32_t i, int64_t absent)
{
	return i < n ? list[i] : absent;
}

static uint32_t convolution_windows(const module *m, op_id o, window *out)
{
	uint32_t n_in, n_kernel, n_out, n_stride, n_pad, n_ld, n_rd;
	const int64_t *in = op_ints(m, o, "dimension_numbers.input_spatial_dimensions", &n_in);
	const int64_t *kernel = op_ints(m, o, "dimension_numbers.kernel_spatial_dimensions", &n_kernel);
	const int64_t *to = op_ints(m, o, "dimension_numbers.output_spatial_dimensions", &n_out);
	const int64_t *stride = op_ints(m, o, "window_strides", &n_stride),
				  *pad = op_ints(m, o, "padding", &n_pad);
	const int64_t *ld = op_ints(m, o, "lhs_dilation", &n_ld),
				  *rd = op_ints(m, o, "rhs_dilation", &n_rd);
	uint32_t n = MIN(MIN(n_in, MIN(n_kernel, n_out)), MAX_RANK);
	const ir_type *taps = value_type(m, op_operand(m, o, 1));
	for (uint32_t i = 0; i < n; i++)
		out[i] = (window){.in = (int32_t)in[i],
			.kernel = (int32_t)kernel[i],
			.out = (int32_t)to[i],
			.size = taps->dims[kernel[i]],
			.stride = nth(stride, n_stride, i, 1),
			.low = nth(pad, n_pad, 2 * i, 0),
			.base = nth(ld, n_ld, i, 1),
			.dilation = nth(rd, n_rd, i, 1)};
	return n;
}

/* Dims of the operand and of the result are the same. */
static uint32_t window_lists(const module *m, op_id o, uint32_t rank, window *out)
{
	uint32_t n_size, n_stride, n_pad, n_ld, n_rd, n_start, n_low, n_inner, n_step;
	const int64_t *size = op_ints(m, o, "window_dimensions", &n_size),
				  *stride = op_ints(m, o, "window_strides", &n_stride);
	const int64_t *pad = op_ints(m, o, "padding", &n_pad),
				  *ld = op_ints(m, o, "base_dilations", &n_ld);
	const int64_t *rd = op_ints(m, o, "window_dilations", &n_rd),
				  *start = op_ints(m, o, "start_indices", &n_start);
	const int64_t *step = op_ints(m, o, "strides", &n_step),
				  *low = op_ints(m, o, "edge_padding_low", &n_low);
	const int64_t *inner = op_ints(m, o, "interior_padding", &n_inner);
	for (uint32_t d = 0; d < rank; d++)
		out[d] = (window){.in = (int32_t)d,
			.kernel = -1,
			.out = (int32_t)d,
			.size = nth(size, n_size, d, 1),
			.stride = nth(stride, n_stride, d, nth(step, n_step, d, 1)),
			.low = nth(pad, n_pad, 2 * d, nth(low, n_low, d, -nth(start, n_start, d, 0))),
			.base = nth(ld, n_ld, d, 1 + nth(inner, n_inner, d, 0)),
			.dilation = nth(rd, n_rd, d, 1)};
	return rank;
}

uint32_t halo_windows(const program *p, const node *n, window *out)
{
	switch (n->op_kind) {
	case OP_CONVOLUTION:
		return n->n_operands == 2 && n->n_results == 1 ? convolution_windows(p->m, n->op, out) : 0;
	case OP_REDUCE_WINDOW:
	case OP_SELECT_AND_SCATTER:
	case OP_SLICE:
	case OP_PAD:
		return n->n_results
			? window_lists(p->m, n->op, pval_type(p, node_slots(p, n)[0])->rank, out)
			: 0;
	default: return 0;
	}
}

/* Those that look at more than the element in the same place. out: MAX_RANK. */
static uint32_t windows_of(const program *p, const node *n, window *out)
{
	uint32_t all = halo_windows(p, n, out), kept = 0;
	const ir_type *in = all ? pval_type(p, node_slots(p, n)[0]) : NULL,
				  *to = all ? pval_type(p, node_slots(p, n)[n->n_operands]) : NULL;
	for (uint32_t i = 0; i < all; i++) {
		const window w = out[i];
		if (w.size != 1 || w.stride != 1 || w.low || w.base != 1 ||
			in->dims[w.in] != to->dims[w.out])
			out[kept++] = w;
	}
	return kept;
}

uint64_t halo_hash(const program *p, const node *n)
{
	window w[MAX_RANK];
	uint64_t h = 0;
	for (uint32_t i = 0, all = windows_of(p, n, w); i < all; i++) {
		h = hash_combine(hash_combine(h, (uint64_t)w[i].in << 32 | (uint32_t)w[i].out),
			(uint64_t)w[i].kernel << 32 | (uint32_t)w[i].low);
		h = hash_combine(hash_combine(h, (uint64_t)w[i].size), (uint64_t)w[i].stride);
		h = hash_combine(hash_combine(h, (uint64_t)w[i].base), (uint64_t)w[i].dilation);
	}
	return h;
}

bool halo_alike(const program *p, const node *a, const node *b)
{
	window v[MAX_RANK], w[MAX_RANK];
	uint32_t n = windows_of(p, a, v);
	bool same = a->op_kind == b->op_kind || (!n && !windows_of(p, b, w));
	if (!n || !same)
		return same;
	same = windows_of(p, b, w) == n;
	for (uint32_t i = 0; same && i < n; i++)
		same = v[i].in == w[i].in && v[i].out == w[i].out && v[i].kernel == w[i].kernel &&
			v[i].low == w[i].low && v[i].size == w[i].size && v[i].stride == w[i].stride &&
			v[i].base == w[i].base && v[i].dilation == w[i].dilation;
	return same;
}

/* ---------------------------------------------------------------- how wide */

static wide floor_div(wide a, wide b) { return a / b - (a % b != 0 && a < 0); }
static wide round_up_div(wide a, wide b) { return -floor_div(-a, b); }

halo_range halo_reads(const window *w, wide place, int64_t places, wide tap, int64_t taps)
{
	wide first = place * w->stride - w->low + tap * w->dilation;
	wide last = first + (wide)(places - 1) * w->stride + (wide)(taps - 1) * w->dilation;
	return (halo_range){round_up_div(first, w->base), floor_div(last, w->base) + 1};
}

halo_range halo_readers(const window *w, wide first, wide end)
{
	return (halo_range){round_up_div(first + w->low - (w->size - 1), w->stride),
		floor_div(end - 1 + w->low, w->stride) + 1};
}

/* Widens s by device j of n, which holds `part` elements and needs [start, end). */
static void reach(span *s, int64_t j, int64_t n, int64_t part, wide start, wide end)
{
	wide most = (wide)(n - 1) * part, left = (wide)j * part - start,
		 right = end - (wide)(j + 1) * part;
	if (j > 0 && left > s->left)
		s->left = (int64_t)MIN(left, most);
	if (j < n - 1 && right > s->right)
		s->right = (int64_t)MIN(right, most);
	if (end - start > s->length)
		s->length = (int64_t)MIN(end - start, (wide)n * part);
}

/* out: elements of the result's dim; kernel: the windows' places are cut, not the result. */
static span window_span(const window *w, int64_t n, int64_t in, int64_t out, bool kernel)
{
	span s = {0, 0, 1};
	int64_t part = ceil_div(in, n), places = kernel ? out : ceil_div(out, n),
			taps = kernel ? ceil_div(w->size, n) : w->size;
	for (int64_t j = 0; j < n; j++) {
		halo_range r =
			halo_reads(w, kernel ? 0 : (wide)j * places, places, kernel ? (wide)j * taps : 0, taps);
		reach(&s, j, n, part, r.start, r.end);
	}
	return s;
}

/* Of a select_and_scatter: the windows that reach into a device's part, in places of the source;
 * and all that they cover. */
static void scatter_spans(
	const window *w, int64_t n, int64_t in, int64_t places, span *source, span *operand)
{
	*source = *operand = (span){0, 0, 1};
	int64_t part = ceil_div(in, n), own = ceil_div(places, n);
	for (int64_t j = 0; j < n; j++) {
		halo_range r = halo_readers(w, (wide)part * j, (wide)part * (j + 1));
		wide first = MAX(r.start, 0);
		reach(source, j, n, own, first, r.end);
		reach(operand, j, n, part, first * w->stride - w->low,
			(r.end - 1) * w->stride - w->low + w->size);
	}
}

/* ---------------------------------------------------------------- the plan */

enum { MAX_HALO_STEPS = 64 };

typedef struct planner {
	lower_cache *c;
	const sharding_id *at;
	const node *n;
	halo_step steps[MAX_HALO_STEPS];
	uint32_t n_steps;
	uint32_t last; /* step of the operand at hand */
} planner;

static axes axes_of_dim(const planner *x, uint32_t slot, uint32_t d)
{
	return sharding_dim(sharding_get(x->c->t, x->at[slot]), d);
}
static const ir_type *type_of_slot(const planner *x, uint32_t slot)
{
	return pval_type(x->c->p, node_slots(x->c->p, x->n)[slot]);
}

typedef struct exchange { /* one operand on the way */
	uint32_t slot, stage;
	int64_t local[MAX_RANK];
} exchange;

static void exchange_start(const planner *x, uint32_t slot, exchange *e)
{
	const ir_type *ty = type_of_slot(x, slot);
	e->slot = slot;
	e->stage = 0;
	for (uint32_t d = 0; d < ty->rank; d++)
		e->local[d] = ceil_div(ty->dims[d], MAX(axes_product(axes_of_dim(x, slot, d)), 1));
}

static int64_t exchange_bytes(const planner *x, const exchange *e, uint32_t dim, int64_t size)
{
	const ir_type *ty = type_of_slot(x, e->slot);
	int64_t bits = elem_bits(ty->elem);
	for (uint32_t d = 0; d < ty->rank; d++)
		bits = sat_mul(bits, d == dim ? size : e->local[d]);
	return bits / 8 + (bits % 8 != 0);
}

/* Both sides of one dim, from the nearest neighbours first, no more than what is needed of the dim
 * in all. masked: what lies outside of the whole is set to zero. */
static void exchange_dim(planner *x, exchange *e, uint32_t d, span s, bool masked)
{
	int64_t part = e->local[d];
	axes over = axes_of_dim(x, e->slot, d);
	if (!s.left && !s.right) {
		e->local[d] = MIN(part, s.length);
		return;
	}
	for (uint32_t side = 0; side < 2; side++)
		for (int64_t rest = side ? s.right : s.left, hop = 0;
			 rest > 0 && x->n_steps < MAX_HALO_STEPS; rest -= part, hop++) {
			collective_step *step = arena_array(&x->c->mem, collective_step, 1);
			sharding_id at = x->at[e->slot];
			*step = (collective_step){
				.kind = COLL_COLLECTIVE_PERMUTE, .in = at, .out = at, .axes = over};
			/* the first dim is fetched alike whatever becomes of it */
			uint64_t what = (uint64_t)hop << 32 | d << 8 | side << 1 | (e->stage && masked);
			x->steps[x->n_steps++] = (halo_step){.operand = e->slot,
				.what = what,
				.step = step,
				.bytes = exchange_bytes(x, e, d, MIN(MIN(rest, part), s.length))};
			x->steps[x->n_steps - 1].after = x->steps[x->n_steps - 1].bytes;
		}
	e->local[d] = MIN(s.length, sat_add(part, sat_add(s.left, s.right)));
	e->stage++;
	x->last = x->n_steps - 1;
}

/* The last step puts the operand and its borders together. */
static void exchange_end(planner *x, const exchange *e)
{
	if (e->stage)
		x->steps[x->last].after = exchange_bytes(x, e, 0, e->local[0]);
}

/* Ways that a dim of two slots is cut, 1 where they are cut otherwise. */
static int64_t parts_of_both(const planner *x, uint32_t a, int32_t dim_a, uint32_t b, int32_t dim_b)
{
	axes l = axes_of_dim(x, a, (uint32_t)dim_a);
	return axes_equal(l, axes_of_dim(x, b, (uint32_t)dim_b)) ? MAX(axes_product(l), 1) : 1;
}

static void plan_windows(planner *x, const window *w, uint32_t n, uint32_t slot)
{
	exchange e;
	exchange_start(x, slot, &e);
	uint32_t result = x->n->n_operands;
	for (uint32_t i = 0; i < n; i++) {
		int64_t in = type_of_slot(x, slot)->dims[w[i].in],
				out = type_of_slot(x, result)->dims[w[i].out];
		int64_t parts = parts_of_both(x, slot, w[i].in, result, w[i].out);
		bool kernel = parts == 1 && w[i].kernel >= 0 &&
			(parts = parts_of_both(x, slot, w[i].in, 1, w[i].kernel)) > 1;
		if (parts > 1)
			exchange_dim(
				x, &e, (uint32_t)w[i].in, window_span(&w[i], parts, in, out, kernel), !kernel);
	}
	exchange_end(x, &e);
}

static void plan_scatter(planner *x, const window *w, uint32_t n)
{
	enum { OPERAND, SOURCE };
	exchange e[2];
	for (uint32_t slot = OPERAND; slot <= SOURCE; slot++) {
		exchange_start(x, slot, &e[slot]);
		for (uint32_t i = 0; i < n; i++) {
			int64_t parts = parts_of_both(x, OPERAND, w[i].in, SOURCE, w[i].in);
			span s[2];
			if (parts > 1) {
				scatter_spans(&w[i], parts, type_of_slot(x, OPERAND)->dims[w[i].in],
					type_of_slot(x, SOURCE)->dims[w[i].in], &s[SOURCE], &s[OPERAND]);
				exchange_dim(x, &e[slot], (uint32_t)w[i].in, s[slot], true);
			}
		}
		exchange_end(x, &e[slot]);
	}
}

const halo_plan *halo_of(lower_cache *c, const node *n, const sharding_id *at)
{
	window w[MAX_RANK];
	uint32_t windows = windows_of(c->p, n, w);
	if (!windows)
		return NULL;
	planner x = {.c = c, .at = at, .n = n};
	if (n->op_kind == OP_SELECT_AND_SCATTER)
		plan_scatter(&x, w, windows);
	else
		for (uint32_t slot = 0; slot < (n->op_kind == OP_REDUCE_WINDOW ? n->n_operands / 2u : 1);
			 slot++)
			plan_windows(&x, w, windows, slot);
	if (!x.n_steps)
		return NULL;
	halo_plan *h = arena_array(&c->mem, halo_plan, 1);
	halo_step *steps = arena_array(&c->mem, halo_step, x.n_steps);
	memcpy(steps, x.steps, x.n_steps * sizeof *steps);
	*h = (halo_plan){steps, x.n_steps};
	return h;
}
