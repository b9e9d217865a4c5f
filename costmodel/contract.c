/* Work of contractions: dot_general and its relatives, convolutions, fused attention. */
#include "costmodel/work.h"

static bool listed(const int64_t *dims, uint32_t n, int64_t d)
{
	for (uint32_t i = 0; i < n; i++)
		if (dims[i] == d)
			return true;
	return false;
}

static int64_t product_of(const op_view *v, uint32_t slot, const int64_t *dims, uint32_t n)
{
	int64_t r = 1;
	for (uint32_t i = 0; i < n; i++)
		r = sat_mul(r, local_dim(v, slot, dims[i]));
	return r;
}

/* Product of the dims of a slot in neither list. */
static int64_t product_of_rest(
	const op_view *v, uint32_t slot, const int64_t *a, uint32_t na, const int64_t *b, uint32_t nb)
{
	const ir_type *ty = slot_type(v, slot);
	int64_t r = 1;
	for (int64_t d = 0; ty && d < ty->rank; d++)
		if (!listed(a, na, d) && !listed(b, nb, d))
			r = sat_mul(r, local_dim(v, slot, d));
	return r;
}

static void set_matmul(const op_view *v, op_work *w, int64_t batch, int64_t m, int64_t n, int64_t k)
{
	const ir_type *ty = slot_type(v, 0);
	w->batch = batch, w->m = m, w->n = n, w->k = k;
	w->elem = ty ? ty->elem : ELEM_F32;
	/* a complex multiply-add is four real ones */
	int64_t per = ty && (ty->elem == ELEM_C64 || ty->elem == ELEM_C128) ? 8 : 2;
	w->matmul_flops = sat_mul(sat_mul(sat_mul(batch, m), sat_mul(n, k)), per);
}

/* What compilers make of a product that sums nothing up, or of which no dim is free, whatever the
 * target: a multiplication of every pair, and a sum behind it. (XLA's algebraic simplifier does so
 * for TPU, GPU and CPU, libtpu 0.0.52 and jaxlib 0.10.2.) */
static void be_multiplication(op_work *w)
{
	if (w->k != 1 && (w->m != 1 || w->n != 1))
		return;
	int64_t pairs = sat_mul(sat_mul(w->batch, w->m), sat_mul(w->n, w->k));
	w->sums = w->k != 1;
	w->fusible = !w->sums;
	w->vector_flops = w->sums ? sat_mul(pairs, 2) : pairs;
	w->matmul_flops = 0;
}

void work_as_vectors(op_work *w, int64_t second, int64_t minor)
{
	if (w->matmul_flops <= 0 || w->blocks || (w->m > 1 && w->n > 1))
		return;
	const int64_t *last = w->last_two[w->m == 1]; /* of the other operand */
	int64_t pairs = sat_mul(sat_mul(w->batch, w->m), sat_mul(w->n, w->k));
	if (last[0] > 1 && last[0] < second && last[1] >= minor) {
		int64_t all = sat_mul(pairs / last[0], second);
		w->gap_bytes = sat_mul(all - pairs, elem_bits((enum elem)w->elem)) / 8;
		pairs = all;
	}
	w->sums = true;
	w->vector_flops = sat_mul(pairs, 2);
	w->matmul_flops = 0;
}

/* What dims of an operand are to a contraction. */
typedef enum dim_role { ROLE_BATCH, ROLE_CONTRACTED, ROLE_FREE, ROLE_COUNT } dim_role;

/* Does the operand lie as a library of matrix products wants it, as a tiled matrix unit does? Dims
 * of local size 1 lie anywhere. */
static void find_orders(const op_view *v, op_work *w, uint32_t slot, const int64_t *batch,
	uint32_t nb, const int64_t *contracted, uint32_t nc)
{
	const ir_type *ty = slot_type(v, slot);
	dim_role roles[MAX_RANK];
	uint32_t n = 0, all[ROLE_COUNT] = {0}, in_tile[ROLE_COUNT] = {0};
	int64_t last = -1;         /* batch dim, as a place in its list */
	int64_t sizes[2] = {1, 1}; /* of the last two */
	bool free_apart = false;
	for (int64_t d = 0; ty && d < ty->rank; d++) {
		if (local_dim(v, slot, d) == 1)
			continue;
		sizes[0] = sizes[1], sizes[1] = local_dim(v, slot, d);
		dim_role role = listed(batch, nb, d) ? ROLE_BATCH
			: listed(contracted, nc, d)      ? ROLE_CONTRACTED
											 : ROLE_FREE;
		bool goes_on = n && roles[n - 1] == role, ordered = !all[role] || goes_on;
		if (role == ROLE_BATCH) {
			int64_t place = 0;
			while (batch[place] != d)
				place++;
			ordered = place > last && (!n || goes_on);
			last = place;
		}
		w->unsorted |= (uint8_t)(!ordered << slot);
		free_apart |= role == ROLE_FREE && !ordered;
		all[role]++;
		roles[n++] = role;
	}
	for (uint32_t i = n < 2 ? 0 : n - 2; i < n; i++)
		in_tile[roles[i]]++;
	w->last_two[slot][0] = sizes[0], w->last_two[slot][1] = sizes[1];
	bool untiled = all[ROLE_CONTRACTED] && all[ROLE_FREE] &&
		(!in_tile[ROLE_CONTRACTED] || !in_tile[ROLE_FREE]);
	w->untiled |= (uint8_t)(untiled << slot);
	w->split_rows |= free_apart;
	w->one_batch |= free_apart && all[ROLE_BATCH] == 1;
}

static uint32_t mask_of(const int64_t *dims, uint32_t n)
{
	uint32_t mask = 0;
	for (uint32_t i = 0; i < n; i++)
		mask |= dims[i] >= 0 && dims[i] < MAX_RANK ? 1u << dims[i] : 0;
	return mask;
}

static uint32_t mask_of_one(int64_t dim) { return mask_of(&dim, 1); }

static void cost_dot_general(const op_view *v, op_work *w)
{
	const module *m = v->p->m;
	uint32_t nlb, nlc, nrb, nrc;
	const int64_t *lb = op_ints(m, v->n->op, "dot_dimension_numbers.lhs_batching_dimensions", &nlb);
	const int64_t *lc =
		op_ints(m, v->n->op, "dot_dimension_numbers.lhs_contracting_dimensions", &nlc);
	const int64_t *rb = op_ints(m, v->n->op, "dot_dimension_numbers.rhs_batching_dimensions", &nrb);
	const int64_t *rc =
		op_ints(m, v->n->op, "dot_dimension_numbers.rhs_contracting_dimensions", &nrc);
	w->dims = (contraction){.is_dot = true,
		.contracted = {mask_of(lc, nlc), mask_of(rc, nrc)},
		.batched = {mask_of(lb, nlb), mask_of(rb, nrb)}};
	set_matmul(v, w, product_of(v, 0, lb, nlb), product_of_rest(v, 0, lb, nlb, lc, nlc),
		product_of_rest(v, 1, rb, nrb, rc, nrc), product_of(v, 0, lc, nlc));
	find_orders(v, w, 0, lb, nlb, lc, nlc);
	find_orders(v, w, 1, rb, nrb, rc, nrc);
}

void cost_dot(const op_view *v, op_work *w)
{
	const ir_type *lhs = slot_type(v, 0), *rhs = slot_type(v, 1),
				  *out = slot_type(v, result_slot(v, 0));
	w->precision = (uint8_t)op_precision(v->p->m, v->n->op);
	if (v->n->op_kind == OP_DOT_GENERAL) {
		cost_dot_general(v, w);
		be_multiplication(w);
	} else if (v->n->op_kind == OP_DOT && lhs && rhs) { /* [m, k] or [k] by [k, n] or [k] */
		int64_t last = (int64_t)lhs->rank - 1, zero = 0;
		set_matmul(v, w, 1, product_of_rest(v, 0, &last, 1, NULL, 0),
			product_of_rest(v, 1, &zero, 1, NULL, 0), local_dim(v, 0, last));
		be_multiplication(w);
	} else if (lhs && out && out->rank) { /* ragged_dot, einsum: every element of the left side
		                                     meets the last result dim */
		int64_t n = MAX(local_dim(v, result_slot(v, 0), out->rank - 1), 1);
		int64_t rows = MAX(local_elements(v, result_slot(v, 0)) / n, 1);
		set_matmul(v, w, 1, rows, n, MAX(local_elements(v, 0) / rows, 1));
	}
}

/* Pairs (output place, kernel tap) of one spatial dim that meet a real input element, not padding
 * or a dilation hole. Exact for sizes met in practice; beyond MAX_PAIRS padding is ignored. */
enum { MAX_PAIRS = 1 << 16, LEAST_IMAGES = 8 };
/* The kernel's gradient of a depthwise convolution makes so many products in the time of one: 1.8
 * to 3.6 in libtpu 0.0.51's estimates of single kernels (tests/judged/kernels.py), about one in a
 * program, where other work is fused with it. */
enum { GRADIENT_TAPS = 2 };
int64_t convolution_taps(int64_t in, int64_t kernel, int64_t out, int64_t stride, int64_t pad_low,
	int64_t lhs_dilation, int64_t rhs_dilation)
{
	lhs_dilation = MAX(lhs_dilation, 1);
	if (sat_mul(kernel, out) > MAX_PAIRS)
		return MAX(sat_mul(kernel, out) / lhs_dilation, 1);
	int64_t hits = 0;
	for (int64_t o = 0; o < out; o++)
		for (int64_t k = 0; k < kernel; k++) {
			__int128 at = (__int128)o * stride + (__int128)k * rhs_dilation - pad_low;
			hits += at >= 0 && at % lhs_dilation == 0 && at / lhs_dilation < in;
		}
	return MAX(hits, 1);
}

/* Size of a dim before it is cut. */
static int64_t all_of(const op_view *v, uint32_t slot, int64_t dim)
{
	const ir_type *ty = slot_type(v, slot);
	return ty && dim >= 0 && dim < ty->rank ? MAX(ty->dims[dim], 1) : 1;
}

void cost_convolution(const op_view *v, op_work *w)
{
	const module *m = v->p->m;
	op_id o = v->n->op;
	uint32_t n_in, n_kernel, n_out, n_stride, n_pad, n_ld, n_rd;
	const int64_t *in = op_ints(m, o, "dimension_numbers.input_spatial_dimensions", &n_in);
	const int64_t *kernel = op_ints(m, o, "dimension_numbers.kernel_spatial_dimensions", &n_kernel);
	const int64_t *out = op_ints(m, o, "dimension_numbers.output_spatial_dimensions", &n_out);
	const int64_t *stride = op_ints(m, o, "window_strides", &n_stride);
	const int64_t *pad = op_ints(m, o, "padding", &n_pad); /* [spatial, 2], row by row */
	const int64_t *ld = op_ints(m, o, "lhs_dilation", &n_ld);
	const int64_t *rd = op_ints(m, o, "rhs_dilation", &n_rd);
	int64_t features =
		local_dim(v, 1, op_int(m, o, "dimension_numbers.kernel_output_feature_dimension", -1));
	int64_t depth =
		local_dim(v, 1, op_int(m, o, "dimension_numbers.kernel_input_feature_dimension", -1));
	int64_t groups = MAX(op_int(m, o, "feature_group_count", 1), 1),
			batch_groups = MAX(op_int(m, o, "batch_group_count", 1), 1);
	uint32_t n = MIN(n_in, MIN(n_kernel, n_out));
	int64_t pairs = 1, places = 1, taps = 1;
	int64_t kernel_reach = 1, result_reach = 1; /* places of the input */
	bool has_holes = false;
	for (uint32_t i = 0; i < n; i++) {
		int64_t lhs_dilation = i < n_ld ? ld[i] : 1, rhs_dilation = i < n_rd ? rd[i] : 1;
		int64_t size = local_dim(v, result_slot(v, 0), out[i]), window = local_dim(v, 1, kernel[i]);
		int64_t step = i < n_stride ? stride[i] : 1;
		places = sat_mul(places, size);
		taps = sat_mul(taps, window);
		kernel_reach = sat_mul(kernel_reach, sat_mul(window - 1, rhs_dilation) + 1);
		result_reach = sat_mul(result_reach, sat_mul(size - 1, step) + 1);
		has_holes = has_holes || lhs_dilation > 1;
		pairs = sat_mul(pairs,
			convolution_taps(local_dim(v, 0, in[i]), window, size, step,
				2 * i < n_pad ? pad[2 * i] : 0, lhs_dilation, rhs_dilation));
	}
	/* every output element sums over the taps that hit and the input features of its group */
	int64_t elements = local_elements(v, result_slot(v, 0)),
			rows = MAX(elements / MAX(features, 1), 1);
	int64_t images = local_dim(v, 0, op_int(m, o, "dimension_numbers.input_batch_dimension", -1));
	int64_t inputs = local_dim(v, 0, op_int(m, o, "dimension_numbers.input_feature_dimension", -1));
	/* Of the gradient of weights the images are features, and the weights places. A patch of 16
	 * leaves fewer places of an image of 224 than it has: how far both sides reach tells. */
	bool of_weights = kernel_reach >= result_reach;
	if (n && images < LEAST_IMAGES && taps > 1 && !of_weights)
		w->relaid_rows = local_elements(v, 0) / MAX(inputs, 1), w->relaid_features = inputs;
	if (n && batch_groups == 1 && !of_weights)
		w->images = images, w->features = features, w->has_holes = has_holes;
	if (of_weights && has_holes) {
		w->reversed_images = depth, w->reversed_features = features;
		w->reversed_rows = local_elements(v, 1) / MAX(sat_mul(depth, features), 1);
	}
	w->slides = taps > 1 && places > 1;
	w->precision = (uint8_t)op_precision(v->p->m, v->n->op);
	groups = MAX(groups, batch_groups);
	if (groups == 1)
		w->dims = (contraction){.is_convolution = true,
			.contracted = {
				mask_of_one(op_int(m, o, "dimension_numbers.input_feature_dimension", -1)),
				mask_of_one(op_int(m, o, "dimension_numbers.kernel_input_feature_dimension", -1))}};
	/* dims that are cut have fewer groups */
	int64_t all_features =
		all_of(v, 1, op_int(m, o, "dimension_numbers.kernel_output_feature_dimension", -1));
	bool each_alone = groups > 1 && groups == all_features;
	groups = MAX(groups / ceil_div(all_features, MAX(features, 1)), 1);
	set_matmul(v, w, MAX(groups, 1), rows, MAX(features / MAX(groups, 1), 1), sat_mul(taps, depth));
	w->matmul_flops = sat_mul(sat_mul(MAX(elements / MAX(places, 1), 1), pairs), sat_mul(2, depth));
	if (each_alone && (depth == 1 || batch_groups > 1)) {
		w->channels = features;
		w->channel_taps = w->matmul_flops / 2 / MAX(features, 1);
		if (batch_groups > 1) /* the gradient of the kernel */
			w->channel_taps = MAX(w->channel_taps / GRADIENT_TAPS, 1);
	}
	if (n && taps > 1 && groups == 1) {
		int64_t last = local_dim(v, 1, kernel[n - 1]);
		if (of_weights)
			w->m_part = rows / places;
		else
			w->k_part = depth, w->k_taps = last;
	}
	/* the compiler skips holes and padding, so the padded tile size follows the real count */
	int64_t dense = sat_mul(sat_mul(2, elements), w->k);
	if (w->matmul_flops < dense)
		w->k = MAX((int64_t)((__int128)w->k * w->matmul_flops / MAX(dense, 1)), 1);
}

/* Fused attention of q [.., t, heads, d] or [.., heads, t, d] with k alike: two contractions over
 * all pairs of places. The longer of the two middle dims is taken as places. */
void cost_attention(const op_view *v, op_work *w)
{
	const ir_type *q = slot_type(v, 0), *k = slot_type(v, 1);
	if (!q || !k || q->rank != 4 || k->rank != 4)
		return;
	int64_t keys = MAX(local_dim(v, 1, 1), local_dim(v, 1, 2)), d = local_dim(v, 0, 3);
	int64_t queries = MAX(local_dim(v, 0, 1), local_dim(v, 0, 2));
	set_matmul(
		v, w, MAX(local_elements(v, 0) / MAX(queries * d, 1), 1), queries, keys, sat_mul(d, 2));
}
