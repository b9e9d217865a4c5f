/* Work of one HLO instruction: flops, and what it moves through main memory. A fusion does the
 * flops of everything in it and moves what it reads of its operands (of an operand that is only
 * sliced, the slices) and what it writes (of an update in place, the update). */
#include "hlo/state.h"

enum { TRANSCENDENTAL_FLOPS = 8, RNG_FLOPS = 60, MAX_CHAIN = 64 };

bool hlo_in_main_memory(const device *dev, uint8_t space)
{
	return !space || (space == 1 && dev->target == TARGET_GPU);
}

static int64_t elements_of(const hlo_module *m, hlo_shape_id id)
{
	const hlo_shape *s = &m->shapes.p[id];
	int64_t n = 0;
	for (uint32_t k = 0; k < s->n_leaves; k++)
		n = MAX(n, hlo_leaf(m, s, k)->elements);
	return n;
}
static int64_t result_elements(const hlo_module *m, hlo_id i)
{
	return elements_of(m, m->instrs.p[i].shape);
}
static int64_t operand_elements(const hlo_module *m, hlo_id i)
{
	int64_t n = 0;
	for (uint32_t k = 0; k < m->instrs.p[i].n_operands; k++)
		n = sat_add(n, elements_of(m, m->instrs.p[hlo_operand(m, i, k)].shape));
	return n;
}
static const hlo_shape *operand_shape(const hlo_module *m, hlo_id i, uint32_t k)
{
	return hlo_shape_of(m, hlo_operand(m, i, k));
}

static int64_t log2_steps(int64_t n)
{
	int64_t k = 1;
	while (k < 62 && (int64_t)1 << k < n)
		k++;
	return k;
}

/* ---------------------------------------------------------------- flops, by the cost word of the
 * opcode */

static void add_vector(hlo_work *w, int64_t flops)
{
	w->vector_flops = sat_add(w->vector_flops, flops);
	w->flops += (double)flops;
}

static void add_matmul(const hlo_simulation *s, hlo_work *w, const op_work *o)
{
	w->matmul_ns = sat_add(w->matmul_ns, matmul_time_ns(&s->dev, o));
	w->flops += (double)o->matmul_flops;
	int64_t products = sat_mul(sat_mul(MAX(o->batch, 1), o->m), o->n);
	if (products < w->products)
		return;
	w->products = products;
	w->stored_products = matmul_stored_results(&s->dev, o);
}

static void cost_nothing(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	(void)s, (void)i, (void)w;
}
static void cost_flop1(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	add_vector(w, result_elements(s->m, i));
}
static void cost_flop8(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	add_vector(w, sat_mul(result_elements(s->m, i), 8));
}
static void cost_trans(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	add_vector(w, sat_mul(result_elements(s->m, i), TRANSCENDENTAL_FLOPS));
}
static void cost_move(const hlo_simulation *s, hlo_id i, hlo_work *w) { (void)s, (void)i, (void)w; }
static void cost_slice(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	(void)s, (void)i, (void)w;
}
static void cost_update(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	(void)s, (void)i, (void)w;
}
static void cost_collective(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	(void)s, (void)i, (void)w;
}
static void cost_reduce(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	add_vector(w, operand_elements(s->m, i));
}

static void cost_scatter(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	add_vector(w,
		elements_of(
			s->m, s->m->instrs.p[hlo_operand(s->m, i, s->m->instrs.p[i].n_operands - 1)].shape));
}

static void cost_window(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	uint32_t n;
	const int64_t *v = hlo_ints(s->m, i, HLO_ATTR_WINDOW, &n);
	const hlo_shape *in = operand_shape(s->m, i, 0);
	int64_t taps = 1;
	for (uint32_t k = 0; k < n / 7; k++) {
		/* a window that sees a whole dim from everywhere is one reduction of it */
		bool whole = k < in->rank && v[7 * k] >= 2 * hlo_dims(s->m, in)[k] - 1;
		taps = sat_mul(taps, whole ? 1 : MAX(v[7 * k], 1));
	}
	add_vector(w, sat_mul(result_elements(s->m, i), taps));
}

static void cost_sort(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	const hlo_shape *a =
		s->m->instrs.p[i].n_operands ? operand_shape(s->m, i, 0) : hlo_shape_of(s->m, i);
	int64_t dim = hlo_int(s->m, i, HLO_ATTR_DIMENSIONS, (int64_t)a->rank - 1);
	int64_t steps = log2_steps(dim >= 0 && dim < a->rank ? hlo_dims(s->m, a)[dim] : 1);
	add_vector(w, sat_mul(operand_elements(s->m, i), steps * (steps + 1) / 2));
}

static void cost_cholesky(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	const hlo_shape *a = hlo_shape_of(s->m, i);
	int64_t n = a->rank ? hlo_dims(s->m, a)[a->rank - 1] : 1;
	add_vector(w, sat_mul(a->elements, MAX(n / 3, 1)));
}

static void cost_solve(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	const hlo_shape *a =
		s->m->instrs.p[i].n_operands ? operand_shape(s->m, i, 0) : hlo_shape_of(s->m, i);
	int64_t n = a->rank ? hlo_dims(s->m, a)[a->rank - 1] : 1;
	const hlo_shape *out = hlo_shape_of(s->m, i);
	add_vector(w, sat_mul(out->n_leaves ? hlo_leaf(s->m, out, 0)->elements : 0, MAX(n, 1)));
}

static void cost_fft(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	uint32_t n;
	const int64_t *length = hlo_ints(s->m, i, HLO_ATTR_FFT_LENGTH, &n);
	int64_t points = 1;
	for (uint32_t k = 0; k < n; k++)
		points = sat_mul(points, MAX(length[k], 1));
	add_vector(w,
		sat_mul(MAX(operand_elements(s->m, i), result_elements(s->m, i)), 5 * log2_steps(points)));
}

static void cost_rng(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	add_vector(w, sat_mul(ceil_div(hlo_shape_of(s->m, i)->plain_bytes, 4), RNG_FLOPS));
}

static uint8_t precision_of(const hlo_module *m, hlo_id i)
{
	str text = hlo_word(m, i, HLO_ATTR_PRECISION);
	uint8_t best = PRECISION_DEFAULT;
	for (size_t k = 0; k + 4 <= text.n; k++)
		if (!memcmp(text.p + k, "high", 4))
			best = MAX(best,
				k + 7 <= text.n && !memcmp(text.p + k, "highest", 7) ? PRECISION_HIGHEST
																	 : PRECISION_HIGH);
	return best;
}

/* Product of the dims of a shape that are listed, or of those that are in neither list. */
static int64_t product(const hlo_module *m, const hlo_shape *s, const int64_t *a, uint32_t na,
	const int64_t *b, uint32_t nb, bool rest)
{
	int64_t r = 1;
	for (uint32_t d = 0; d < s->rank; d++) {
		bool in = false;
		for (uint32_t k = 0; k < na; k++)
			in |= a[k] == d;
		for (uint32_t k = 0; k < nb; k++)
			in |= b[k] == d;
		if (in != rest)
			r = sat_mul(r, hlo_dims(m, s)[d]);
	}
	return r;
}

static void set_matmul(
	op_work *o, uint8_t e, int64_t batch, int64_t rows, int64_t columns, int64_t depth)
{
	int64_t per = e == ELEM_C64 || e == ELEM_C128 ? 8 : 2;
	o->batch = batch, o->m = rows, o->n = columns, o->k = depth, o->elem = e;
	o->matmul_flops = sat_mul(sat_mul(sat_mul(batch, rows), sat_mul(columns, depth)), per);
}

static void dot_work(const hlo_simulation *s, hlo_id i, const int64_t *const lists[4],
	const uint32_t n[4], hlo_work *w)
{
	const hlo_module *m = s->m;
	const hlo_shape *lhs = operand_shape(m, i, 0), *rhs = operand_shape(m, i, 1);
	op_work o = {.precision = precision_of(m, i)};
	set_matmul(&o, lhs->elem, product(m, lhs, lists[0], n[0], NULL, 0, false),
		product(m, lhs, lists[0], n[0], lists[1], n[1], true),
		product(m, rhs, lists[2], n[2], lists[3], n[3], true),
		product(m, lhs, lists[1], n[1], NULL, 0, false));
	add_matmul(s, w, &o);
}

static void cost_dot(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	uint32_t n[4];
	const int64_t *const lists[4] = {hlo_ints(s->m, i, HLO_ATTR_LHS_BATCH, &n[0]),
		hlo_ints(s->m, i, HLO_ATTR_LHS_CONTRACT, &n[1]),
		hlo_ints(s->m, i, HLO_ATTR_RHS_BATCH, &n[2]),
		hlo_ints(s->m, i, HLO_ATTR_RHS_CONTRACT, &n[3])};
	dot_work(s, i, lists, n, w);
}

static void cost_ragged_dot(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	const hlo_shape *lhs = operand_shape(s->m, i, 0), *out = hlo_shape_of(s->m, i);
	int64_t columns = out->rank ? MAX(hlo_dims(s->m, out)[out->rank - 1], 1) : 1,
			rows = MAX(out->elements / columns, 1);
	op_work o = {0};
	set_matmul(&o, lhs->elem, 1, rows, columns, MAX(lhs->elements / rows, 1));
	add_matmul(s, w, &o);
}

/* Numbers of "key":["1","2"] in a backend_config. */
static uint32_t config_ints(str config, const char *key, int64_t *out, uint32_t room)
{
	size_t n = strlen(key);
	for (size_t at = 0; at + n < config.n; at++) {
		if (memcmp(config.p + at, key, n) || (config.p[at + n] != '"' && config.p[at + n] != '\\'))
			continue;
		size_t p = at + n;
		while (p < config.n && config.p[p] != '[' && config.p[p] != ',')
			p++;
		uint32_t count = 0;
		for (; p < config.n && config.p[p] != ']' && count < room; p++)
			if (config.p[p] >= '0' && config.p[p] <= '9') {
				int64_t v = 0;
				for (; p < config.n && config.p[p] >= '0' && config.p[p] <= '9' && v < 1 << 20; p++)
					v = 10 * v + config.p[p] - '0';
				out[count++] = v;
				p--;
			}
		return count;
	}
	return 0;
}

#define SOLVE_CALL "__cublas$triangularSolve"
/* Library calls that are matmuls name their dims in the backend_config. */
static bool is_matmul_call(const hlo_module *m, hlo_id i)
{
	str target = hlo_word(m, i, HLO_ATTR_TARGET);
	return m->instrs.p[i].op == HLO_CUSTOM_CALL && m->instrs.p[i].n_operands >= 2 &&
		!str_is(target, SOLVE_CALL) &&
		(glob_match("__cublas$*", target) || glob_match("*matmul*", target) ||
			glob_match("*gemm*", target));
}

static bool is_convolution_call(const hlo_module *m, hlo_id i)
{
	return m->instrs.p[i].n_operands >= 2 &&
		glob_match("__cudnn$conv*", hlo_word(m, i, HLO_ATTR_TARGET));
}

/* The second leaf of a library call's result, which nothing reads. */
static bool has_scratch(const hlo_module *m, hlo_id i)
{
	return hlo_shape_of(m, i)->n_leaves == 2 &&
		(is_matmul_call(m, i) || is_convolution_call(m, i) ||
			str_is(hlo_word(m, i, HLO_ATTR_TARGET), SOLVE_CALL));
}

static bool is_free_call(str target)
{
	static const char *const names[] = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape",
		"ConcatBitcast", "AsyncCollective*", "AllocateBuffer", "LayoutConstraint", "MoveToHost",
		"MoveToDevice", "AssumeGatherIndicesInBound", "annotate_device_placement", "xla.sdy.*",
		"*Bitcast*"};
	for (size_t k = 0; k < COUNT_OF(names); k++)
		if (glob_match(names[k], target))
			return true;
	return false;
}

static void cost_convolution(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	const hlo_module *m = s->m;
	uint32_t n_labels, n_window;
	const int64_t *labels = hlo_ints(m, i, HLO_ATTR_LABELS, &n_labels),
				  *window = hlo_ints(m, i, HLO_ATTR_WINDOW, &n_window);
	const hlo_shape *in = operand_shape(m, i, 0), *kernel = operand_shape(m, i, 1),
					*out = hlo_leaf(m, hlo_shape_of(m, i), 0), *made = out;
	/* calls for gradients have the labels and the window of the convolution that they are of */
	str target = hlo_word(m, i, HLO_ATTR_TARGET);
	bool of_kernel = str_is(target, "__cudnn$convBackwardFilter"),
		 of_input = str_is(target, "__cudnn$convBackwardInput");
	if (of_kernel)
		out = kernel, kernel = made;
	if (of_input)
		out = in, in = made;
	uint32_t rank = n_labels / 3;
	if (!rank || in->rank != rank || kernel->rank != rank || out->rank != rank)
		return;
	const int64_t *at_in = labels, *at_kernel = labels + rank, *at_out = labels + 2 * rank;
	const int64_t *di = hlo_dims(m, in), *dk = hlo_dims(m, kernel), *dy = hlo_dims(m, out);
	int64_t depth = dk[at_kernel[0]], features = dk[at_kernel[1]], pairs = 1, places = 1, taps = 1,
			batch = 1;
	for (uint32_t d = 0; d + 2 < rank; d++) {
		const int64_t *v =
			7 * d < n_window ? window + 7 * d : (const int64_t[]){1, 1, 0, 0, 1, 1, 0};
		int64_t size = dy[at_out[d + 2]], extent = dk[at_kernel[d + 2]];
		int64_t met = convolution_taps(di[at_in[d + 2]], extent, size, v[1], v[2], v[4], v[5]);
		if (met == extent && size == extent && v[4] > 1) { /* each meets one: products of a batch */
			batch = sat_mul(batch, extent);
			continue;
		}
		places = sat_mul(places, size);
		taps = sat_mul(taps, extent);
		pairs = sat_mul(pairs, met);
	}
	int64_t groups = MAX(
		MAX(hlo_int(m, i, HLO_ATTR_FEATURE_GROUPS, 1), hlo_int(m, i, HLO_ATTR_BATCH_GROUPS, 1)), 1);
	int64_t rows = MAX(out->elements / MAX(features, 1) / batch, 1);
	op_work o = {.precision = precision_of(m, i)};
	o.dims.is_convolution = taps > 1 && places > 1;
	set_matmul(&o, in->elem, sat_mul(groups, batch), rows, MAX(features / groups, 1),
		sat_mul(taps, depth));
	o.matmul_flops =
		sat_mul(sat_mul(MAX(out->elements / MAX(places, 1), 1), pairs), sat_mul(2, depth));
	/* holes and padding are skipped: batch dims ride as dilated windows, so the real count can be
	 * far smaller */
	int64_t dense = sat_mul(sat_mul(2, out->elements), o.k);
	if (o.matmul_flops < dense)
		o.k = MAX((int64_t)((__int128)o.k * o.matmul_flops / MAX(dense, 1)), 1);
	if (of_kernel || of_input) { /* places are summed up, or features */
		int64_t *other = of_kernel ? &o.m : &o.n, summed = *other;
		*other = o.k, o.k = summed;
	}
	add_matmul(s, w, &o);
}

static void cost_custom(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	const hlo_module *m = s->m;
	str target = hlo_word(m, i, HLO_ATTR_TARGET), config = hlo_word(m, i, HLO_ATTR_CONFIG);
	if (is_free_call(target))
		return;
	if (is_matmul_call(m, i)) {
		static const char *const keys[4] = {"lhs_batch_dimensions", "lhs_contracting_dimensions",
			"rhs_batch_dimensions", "rhs_contracting_dimensions"};
		int64_t v[4][MAX_RANK];
		const int64_t *const lists[4] = {v[0], v[1], v[2], v[3]};
		uint32_t n[4];
		for (int k = 0; k < 4; k++)
			n[k] = config_ints(config, keys[k], v[k], MAX_RANK);
		dot_work(s, i, lists, n, w);
		return;
	}
	if (is_convolution_call(m, i)) {
		cost_convolution(s, i, w);
		return;
	}
	if (str_is(target, SOLVE_CALL)) {
		cost_solve(s, i, w);
		return;
	}
	add_vector(w, result_elements(m, i));
}

static void cost_control(const hlo_simulation *s, hlo_id i, hlo_work *w)
{
	const hlo_instr *in = &s->m->instrs.p[i];
	if (in->op != HLO_FUSION && in->op != HLO_CALL)
		return;
	const hlo_work *inner = &s->inside[s->m->called.p[in->called]].work;
	w->matmul_ns = sat_add(w->matmul_ns, inner->matmul_ns);
	w->vector_flops = sat_add(w->vector_flops, inner->vector_flops);
	w->flops += inner->flops;
	if (inner->products > w->products)
		w->products = inner->products, w->stored_products = inner->stored_products;
}

typedef void (*cost_fn)(const hlo_simulation *s, hlo_id i, hlo_work *w);
static const cost_fn cost_of[HLO_OP_COUNT] = {
#define HLO(id, text, cost, flags) [HLO_##id] = cost_##cost,
#include "hlo/ops.def"
#undef HLO
	[HLO_UNKNOWN] = cost_flop1,
};

/* ---------------------------------------------------------------- insides of fusions */

static void look_inside(hlo_simulation *s, hlo_comp_id id)
{
	const hlo_module *m = s->m;
	const hlo_comp *c = &m->comps.p[id];
	struct hlo_inside in = {.collective = ID_NONE, .marker = 1};
	s->inside[id].marker = 1;
	for (hlo_id i = c->first; i < c->first + c->n; i++) {
		const hlo_instr *x = &m->instrs.p[i];
		for (uint32_t k = 0; k < x->n_called; k++)
			if (!s->inside[m->called.p[x->called + k]].marker)
				look_inside(s, m->called.p[x->called + k]);
		if (x->op == HLO_FUSION) {
			const struct hlo_inside *inner = &s->inside[m->called.p[x->called]];
			if (inner->collective != ID_NONE)
				in.collective = inner->collective;
			in.marker = MAX(in.marker, inner->marker);
		}
		if (hlo_op_flags((hlo_op)x->op) & HLOF_COLLECTIVE)
			in.collective = i;
		if (x->op == HLO_CUSTOM_CALL) {
			str target = hlo_word(m, i, HLO_ATTR_TARGET);
			in.marker = str_is(target, "AsyncCollectiveStart") ? 2
				: str_is(target, "AsyncCollectiveDone")        ? 3
															   : in.marker;
		}
		cost_of[x->op](s, i, &in.work);
	}
	s->inside[id] = in;
}

static int64_t channel_of(const hlo_module *m, hlo_id collective)
{
	return hlo_int(m, collective, HLO_ATTR_CHANNEL_ID, 0);
}

void hlo_look_inside(hlo_simulation *s)
{
	const hlo_module *m = s->m;
	s->inside = xcalloc(m->comps.n + 1, sizeof *s->inside);
	s->read_bytes = xmalloc((m->instrs.n + 1) * sizeof *s->read_bytes);
	s->write_bytes = xmalloc((m->instrs.n + 1) * sizeof *s->write_bytes);
	memset(s->read_bytes, 0xff, m->instrs.n * sizeof *s->read_bytes);
	memset(s->write_bytes, 0xff, m->instrs.n * sizeof *s->write_bytes);
	for (hlo_comp_id c = 0; c < m->comps.n; c++)
		if (!s->inside[c].marker)
			look_inside(s, c);
	for (hlo_comp_id c = 0; c < m->comps.n; c++)
		if (s->inside[c].marker == 2 && s->inside[c].collective != ID_NONE)
			vec_push(&s->async_channels, channel_of(m, s->inside[c].collective));
}

static bool opens_asynchronously(const hlo_simulation *s, int64_t channel)
{
	for (uint32_t k = 0; k < s->async_channels.n; k++)
		if (channel && s->async_channels.p[k] == channel)
			return true;
	return false;
}

/* ---------------------------------------------------------------- memory traffic */

static int64_t value_bytes(const hlo_module *m, hlo_id v) { return hlo_shape_of(m, v)->bytes; }

static int64_t read_by(hlo_simulation *s, hlo_id user, uint32_t k, hlo_id v, uint32_t depth);

/* What the computation of v reads of it. */
static int64_t read_of(hlo_simulation *s, hlo_id v, uint32_t depth)
{
	const hlo_module *m = s->m;
	const hlo_instr *in = &m->instrs.p[v];
	int64_t whole = value_bytes(m, v), sum = 0;
	if (depth > MAX_CHAIN)
		return whole;
	if (s->read_bytes[v] >= 0)
		return s->read_bytes[v];
	if (m->comps.p[in->comp].root == v) /* a fusion inside of another one hands it on */
		sum = whole;
	for (uint32_t u = 0; u < in->n_users && sum < whole; u++) {
		hlo_id user = m->users.p[in->users + u];
		for (uint32_t k = 0; k < m->instrs.p[user].n_operands; k++)
			if (hlo_operand(m, user, k) == v)
				sum = sat_add(sum, read_by(s, user, k, v, depth + 1));
	}
	return s->read_bytes[v] = MIN(sum, whole);
}

/* What `user` reads of its operand k. */
static int64_t read_by(hlo_simulation *s, hlo_id user, uint32_t k, hlo_id v, uint32_t depth)
{
	const hlo_module *m = s->m;
	const hlo_instr *in = &m->instrs.p[user];
	int64_t whole = value_bytes(m, v);
	switch (in->op) {
	case HLO_SLICE:
	case HLO_DYNAMIC_SLICE:
	case HLO_GATHER: return k ? whole : MIN(value_bytes(m, user), whole);
	case HLO_DYNAMIC_UPDATE_SLICE: return k ? whole : 0;
	case HLO_SCATTER: return k < in->n_operands / 2 ? 0 : whole; /* inputs, indices, updates */
	case HLO_BITCAST:
	case HLO_RESHAPE: return read_of(s, user, depth);
	case HLO_GET_TUPLE_ELEMENT: return read_of(s, user, depth);
	case HLO_TUPLE_OP:
	case HLO_OPT_BARRIER: return 0; /* passed on as it is */
	case HLO_FUSION: return read_of(s, hlo_param(m, m->called.p[in->called], k), depth);
	case HLO_CUSTOM_CALL: return is_free_call(hlo_word(m, user, HLO_ATTR_TARGET)) ? 0 : whole;
	default: return hlo_op_flags((hlo_op)in->op) & HLOF_COLLECTIVE ? 0 : whole;
	}
}

/* What is written of value v, which leaves its computation. */
static int64_t write_of(hlo_simulation *s, hlo_id v, uint32_t depth)
{
	const hlo_module *m = s->m;
	const hlo_instr *in = &m->instrs.p[v];
	int64_t whole = value_bytes(m, v), n = whole;
	if (depth > MAX_CHAIN)
		return whole;
	if (s->write_bytes[v] >= 0)
		return s->write_bytes[v];
	switch (in->op) {
	case HLO_PARAMETER: n = 0; break;
	case HLO_DYNAMIC_UPDATE_SLICE: n = value_bytes(m, hlo_operand(m, v, 1)); break;
	case HLO_SCATTER: n = sat_mul(value_bytes(m, hlo_operand(m, v, in->n_operands - 1)), 2); break;
	case HLO_BITCAST:
	case HLO_RESHAPE:
		n = in->n_operands ? write_of(s, hlo_operand(m, v, 0), depth + 1) : whole;
		break;
	case HLO_TUPLE_OP:
		n = 0;
		for (uint32_t k = 0; k < in->n_operands; k++)
			n = sat_add(n, write_of(s, hlo_operand(m, v, k), depth + 1));
		break;
	case HLO_FUSION: n = write_of(s, m->comps.p[m->called.p[in->called]].root, depth + 1); break;
	case HLO_CUSTOM_CALL:
		n = is_free_call(hlo_word(m, v, HLO_ATTR_TARGET)) ? 0
			: has_scratch(m, v) ? hlo_leaf(m, hlo_shape_of(m, v), 0)->bytes
								: whole;
		break;
	default: n = hlo_op_flags((hlo_op)in->op) & HLOF_COLLECTIVE ? 0 : whole; break;
	}
	return s->write_bytes[v] = MIN(n, whole);
}

/* Part of a value's bytes in main memory: leaves elsewhere do not count. */
static int64_t in_memory(const hlo_simulation *s, hlo_id v, int64_t bytes)
{
	const hlo_shape *shape = hlo_shape_of(s->m, v);
	int64_t here = 0;
	for (uint32_t k = 0; k < shape->n_leaves; k++)
		if (hlo_in_main_memory(&s->dev, hlo_leaf(s->m, shape, k)->space))
			here = sat_add(here, hlo_leaf(s->m, shape, k)->bytes);
	return MIN(here, bytes);
}

/* Of a fusion with several results each counts by where it goes. */
static int64_t written(hlo_simulation *s, hlo_id i)
{
	const hlo_module *m = s->m;
	const hlo_instr *in = &m->instrs.p[i];
	const hlo_shape *shape = hlo_shape_of(m, i);
	hlo_id root = in->op == HLO_FUSION ? m->comps.p[m->called.p[in->called]].root : i;
	if (in->op != HLO_FUSION || m->instrs.p[root].op != HLO_TUPLE_OP ||
		shape->n_children != m->instrs.p[root].n_operands)
		return in_memory(s, i, write_of(s, i, 0));
	int64_t sum = 0;
	for (uint32_t k = 0; k < shape->n_children; k++) {
		const hlo_shape *child = &m->shapes.p[m->parts.p[shape->children + k]];
		if (child->kind != HLO_ARRAY || hlo_in_main_memory(&s->dev, child->space))
			sum = sat_add(sum, write_of(s, hlo_operand(m, root, k), 0));
	}
	return sum;
}

int64_t hlo_write_bytes(hlo_simulation *s, hlo_id i, uint32_t k)
{
	const hlo_module *m = s->m;
	const hlo_instr *in = &m->instrs.p[i];
	hlo_id root = in->op == HLO_FUSION ? m->comps.p[m->called.p[in->called]].root : i;
	bool several = m->instrs.p[root].op == HLO_TUPLE_OP && k < m->instrs.p[root].n_operands;
	return write_of(s, several ? hlo_operand(m, root, k) : i, 0);
}

int64_t hlo_read_bytes(hlo_simulation *s, hlo_id i, uint32_t k)
{
	return read_by(s, i, k, hlo_operand(s->m, i, k), 0);
}

void hlo_work_of(hlo_simulation *s, hlo_id i, hlo_work *out)
{
	const hlo_module *m = s->m;
	const hlo_instr *in = &m->instrs.p[i];
	*out = (hlo_work){0};
	bool control = in->op == HLO_WHILE || in->op == HLO_CONDITIONAL;
	bool free_call = in->op == HLO_CUSTOM_CALL && is_free_call(hlo_word(m, i, HLO_ATTR_TARGET));
	if (cost_of[in->op] == cost_nothing || control || free_call) {
		out->free = true;
		return;
	}
	cost_of[in->op](s, i, out);
	for (uint32_t k = 0; k < in->n_operands; k++) {
		hlo_id v = hlo_operand(m, i, k);
		bool again = false;
		for (uint32_t j = 0; j < k && j < MAX_CHAIN; j++)
			again |= hlo_operand(m, i, j) == v;
		if (again)
			continue;
		int64_t read = read_by(s, i, k, v, 0);
		out->moved = sat_add(out->moved, read);
		out->bytes = sat_add(out->bytes, in_memory(s, v, read));
	}
	out->written = written(s, i);
	out->bytes = sat_add(out->bytes, out->written);
	out->moved = MAX(sat_add(out->moved, write_of(s, i, 0)), out->bytes);
}

/* ---------------------------------------------------------------- collectives */

static bool kind_of(const hlo_module *m, hlo_id i, uint8_t *kind)
{
	switch (m->instrs.p[i].op) {
	case HLO_ALL_REDUCE:
	case HLO_ALL_REDUCE_START: *kind = COLL_ALL_REDUCE; return true;
	case HLO_ALL_GATHER:
	case HLO_ALL_GATHER_START: *kind = COLL_ALL_GATHER; return true;
	case HLO_REDUCE_SCATTER: *kind = COLL_REDUCE_SCATTER; return true;
	case HLO_ALL_TO_ALL:
	case HLO_RAGGED_ALL_TO_ALL: *kind = COLL_ALL_TO_ALL; return true;
	case HLO_COLLECTIVE_PERMUTE:
	case HLO_COLLECTIVE_PERMUTE_START:
	case HLO_COLLECTIVE_BROADCAST: *kind = COLL_COLLECTIVE_PERMUTE; return true;
	default: return false;
	}
}

static hlo_comm fused_comm(const hlo_simulation *s, hlo_id i)
{
	const hlo_module *m = s->m;
	hlo_comp_id comp = m->called.p[m->instrs.p[i].called];
	const struct hlo_inside *in = &s->inside[comp];
	hlo_comm c = {.instr = in->collective};
	if (in->collective == ID_NONE || !kind_of(m, in->collective, &c.kind))
		return (hlo_comm){.role = ROLE_NONE, .instr = ID_NONE};
	bool async = opens_asynchronously(s, channel_of(m, in->collective));
	c.role = in->marker == 2 ? ROLE_START
		: in->marker == 3    ? ROLE_DONE
		: async              ? ROLE_PROGRESS
							 : ROLE_SYNC;
	/* the TPU compiler's reduce-scatter: a fusion of an all-reduce and the slice of its own part */
	str name = hlo_text(m, m->comps.p[comp].name, m->comps.p[comp].name_n);
	if (c.kind == COLL_ALL_REDUCE && glob_match("*all-reduce-scatter*", name))
		c.kind = COLL_REDUCE_SCATTER;
	return c;
}

hlo_comm hlo_comm_of(const hlo_simulation *s, hlo_id i)
{
	const hlo_module *m = s->m;
	const hlo_instr *in = &m->instrs.p[i];
	hlo_comm c = {.role = ROLE_NONE, .instr = i};
	if (in->op == HLO_FUSION)
		return fused_comm(s, i);
	if (in->op == HLO_ASYNC_START || in->op == HLO_ASYNC_DONE) {
		c.instr = hlo_async_wrapped(m, hlo_async_start(m, i));
		if (kind_of(m, c.instr, &c.kind))
			c.role = in->op == HLO_ASYNC_START ? ROLE_START : ROLE_DONE;
		return c;
	}
	if (hlo_op_flags((hlo_op)in->op) & HLOF_COLLECTIVE &&
		hlo_op_flags((hlo_op)in->op) & HLOF_DONE) {
		c.instr = hlo_operand(m, i, 0);
		c.role = ROLE_DONE;
		kind_of(m, c.instr, &c.kind);
	} else if (kind_of(m, i, &c.kind)) {
		c.role = hlo_op_flags((hlo_op)in->op) & HLOF_START ? ROLE_START : ROLE_SYNC;
	}
	return c;
}

int64_t hlo_comm_bytes(const hlo_module *m, const hlo_comm *c)
{
	const hlo_instr *in = &m->instrs.p[c->instr];
	int64_t sum = 0;
	if (c->kind == COLL_ALL_GATHER) {
		const hlo_shape *s = hlo_shape_of(m, c->instr);
		/* a start holds its operands and its results */
		return in->op == HLO_ALL_GATHER_START && s->n_children > 1
			? m->shapes.p[m->parts.p[s->children + 1]].plain_bytes
			: s->plain_bytes;
	}
	for (uint32_t k = 0; k < in->n_operands; k++)
		sum = sat_add(sum, operand_shape(m, c->instr, k)->plain_bytes);
	return sum;
}

/* ---------------------------------------------------------------- buffers */

hlo_id hlo_in_place_operand(const hlo_module *m, hlo_id i)
{
	const hlo_instr *in = &m->instrs.p[i];
	if ((in->op == HLO_DYNAMIC_UPDATE_SLICE || in->op == HLO_SCATTER) && in->n_operands)
		return hlo_operand(m, i, 0);
	return ID_NONE;
}

/* Every path from the value to the root is elementwise, so each element is read before it is
 * written. */
static bool elementwise_to_root(const hlo_module *m, hlo_id root, hlo_id v, uint32_t *budget)
{
	const hlo_instr *in = &m->instrs.p[v];
	for (uint32_t u = 0; u < in->n_users; u++) {
		if (!--*budget)
			return false;
		hlo_id user = m->users.p[in->users + u];
		uint32_t op = m->instrs.p[user].op, flags = hlo_op_flags((hlo_op)op);
		bool elementwise = flags & HLOF_SHARE && !(flags & HLOF_COLLECTIVE) && op != HLO_SORT &&
			hlo_shape_of(m, user)->elements == hlo_shape_of(m, v)->elements;
		if (op != HLO_TUPLE_OP && !elementwise)
			return false;
		if (user != root && !elementwise_to_root(m, root, user, budget))
			return false;
	}
	return true;
}

bool hlo_may_share(const hlo_module *m, hlo_id i, uint32_t k)
{
	const hlo_instr *in = &m->instrs.p[i];
	if (in->op != HLO_FUSION)
		return hlo_op_flags((hlo_op)in->op) & HLOF_SHARE;
	hlo_comp_id comp = m->called.p[in->called];
	uint32_t budget = 256;
	return elementwise_to_root(m, m->comps.p[comp].root, hlo_param(m, comp, k), &budget);
}
