/* Shapes of ops that move windows: reduce_window, select_and_scatter, convolution. */
#include "ir/verify.h"

enum { MAX_STEP = 1 << 30 }; /* of strides, dilations, paddings: keeps products inside 64 bits */

static int64_t dilated(int64_t size, int64_t step)
{
	return size <= 0 || size == DIM_DYNAMIC ? size : sat_add(sat_mul(size - 1, step), 1);
}

struct windows {
	ints size, stride, base, dilation,
		padding; /* padding: low and high by dim; empty lists mean 1, 1, 1 and 0 */
};

static status check_steps(const checker *c, const char *name, ints l, uint32_t n, int64_t min)
{
	if (!l.n)
		return ST_OK;
	TRY(check_length(c, name, l, n));
	for (uint32_t i = 0; i < l.n; i++)
		if (l.v[i] < min || l.v[i] > MAX_STEP)
			return fault(c, "%s has %lld, expected %lld to %d", name, (long long)l.v[i],
				(long long)min, MAX_STEP);
	return ST_OK;
}

static int64_t nth(ints l, uint32_t i, int64_t absent) { return l.n ? l.v[i] : absent; }

/* Windows that fit into dim i of the given size. */
static int64_t count_windows(const struct windows *w, uint32_t i, int64_t size)
{
	if (size == DIM_DYNAMIC)
		return DIM_DYNAMIC;
	int64_t low = w->padding.n ? w->padding.v[2 * i] : 0,
			high = w->padding.n ? w->padding.v[2 * i + 1] : 0;
	int64_t room = sat_add(dilated(size, nth(w->base, i, 1)), low + high) -
		dilated(w->size.v[i], nth(w->dilation, i, 1));
	return room < 0 ? 0 : room / nth(w->stride, i, 1) + 1;
}

static status check_steps_of(const checker *c, const struct windows *w, uint32_t n,
	const char *base_name, const char *dilation_name)
{
	TRY(check_steps(c, "window_strides", w->stride, n, 1));
	TRY(check_steps(c, base_name, w->base, n, 1));
	TRY(check_steps(c, dilation_name, w->dilation, n, 1));
	return check_steps(c, "padding", w->padding, 2 * n, -MAX_STEP);
}

static status check_window_results(const checker *c, const struct windows *w, const char *what,
	const ir_type *in, const ir_type *out)
{
	TRY(check_rank(c, what, out, in->rank));
	for (uint32_t d = 0; d < in->rank; d++)
		TRY(check_dim_size(c, what, d, out->dims[d], count_windows(w, d, in->dims[d])));
	return ST_OK;
}

status check_reduce_window(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	uint32_t n = op->n_results, rank = in_type(c, 0)->rank;
	struct windows w = {get_ints(c, "window_dimensions"), get_ints(c, "window_strides"),
		get_ints(c, "base_dilations"), get_ints(c, "window_dilations"), get_ints(c, "padding")};
	if (op->n_operands != 2 * n || op_region(c->m, c->o, 0)->n_args != 2 * n)
		return fault(c, "%u operands and %u block arguments for %u results", op->n_operands,
			op_region(c->m, c->o, 0)->n_args, n);
	TRY(check_length(c, "window_dimensions", w.size, rank));
	TRY(check_steps(c, "window_dimensions", w.size, rank, 1));
	TRY(check_steps_of(c, &w, rank, "base_dilations", "window_dilations"));
	for (uint32_t i = 0; i < n; i++) {
		TRY(check_same_dims(c, in_type(c, i), "an input", in_type(c, 0), "the first input"));
		TRY(check_scalar(c, n + i));
		TRY(check_window_results(c, &w, "a result", in_type(c, i), out_type(c, i)));
	}
	return ST_OK;
}

status check_select_and_scatter(const checker *c)
{
	const ir_type *in = in_type(c, 0);
	struct windows w = {.size = get_ints(c, "window_dimensions"),
		.stride = get_ints(c, "window_strides"),
		.padding = get_ints(c, "padding")};
	TRY(check_same_dims(c, in, "the operand", out_type(c, 0), "the result"));
	TRY(check_scalar(c, 2));
	if (!w.size.n) /* windows of one element */
		return check_same_dims(c, in, "the operand", in_type(c, 1), "the source");
	TRY(check_length(c, "window_dimensions", w.size, in->rank));
	TRY(check_steps(c, "window_dimensions", w.size, in->rank, 1));
	TRY(check_steps_of(c, &w, in->rank, "base_dilations", "window_dilations"));
	return check_window_results(c, &w, "the source", in, in_type(c, 1));
}

/* ---------------------------------------------------------------- convolution */

struct conv_side {
	int64_t batch, feature; /* of the kernel: input feature, output feature */
	ints spatial;
};

static status conv_side(const checker *c, const char *side, const char *first, const char *second,
	uint32_t rank, struct conv_side *out)
{
	char path[96];
	int64_t dims[MAX_RANK + 2];
	snprintf(path, sizeof path, "dimension_numbers.%s_%s_dimension", side, first);
	out->batch = op_int(c->m, c->o, path, -1);
	snprintf(path, sizeof path, "dimension_numbers.%s_%s_dimension", side, second);
	out->feature = op_int(c->m, c->o, path, -1);
	snprintf(path, sizeof path, "dimension_numbers.%s_spatial_dimensions", side);
	out->spatial = get_ints(c, path);
	if (out->spatial.n + 2 != rank)
		return fault(c, "%s has %u spatial dimensions for rank %u", side, out->spatial.n, rank);
	dims[0] = out->batch;
	dims[1] = out->feature;
	for (uint32_t i = 0; i < out->spatial.n; i++)
		dims[2 + i] = out->spatial.v[i];
	return check_dim_list(c, side, (ints){dims, rank}, rank);
}

status check_convolution(const checker *c)
{
	const ir_type *in = in_type(c, 0), *kernel = in_type(c, 1), *out = out_type(c, 0);
	struct conv_side i, k, o;
	TRY(conv_side(c, "input", "batch", "feature", in->rank, &i));
	TRY(conv_side(c, "kernel", "input_feature", "output_feature", kernel->rank, &k));
	TRY(conv_side(c, "output", "batch", "feature", out->rank, &o));
	uint32_t n = i.spatial.n;
	if (k.spatial.n != n || o.spatial.n != n)
		return fault(c, "%u, %u and %u spatial dimensions", n, k.spatial.n, o.spatial.n);
	int64_t groups = op_int(c->m, c->o, "feature_group_count", 1),
			batches = op_int(c->m, c->o, "batch_group_count", 1);
	if (groups < 1 || batches < 1 || (groups > 1 && batches > 1))
		return fault(c, "feature_group_count is %lld, batch_group_count %lld", (long long)groups,
			(long long)batches);
	struct windows w = {.stride = get_ints(c, "window_strides"),
		.base = get_ints(c, "lhs_dilation"),
		.dilation = get_ints(c, "rhs_dilation"),
		.padding = get_ints(c, "padding")};
	TRY(check_steps_of(c, &w, n, "lhs_dilation", "rhs_dilation"));
	ints reversal = get_ints(c, "window_reversal");
	if (reversal.n)
		TRY(check_length(c, "window_reversal", reversal, n));
	int64_t sizes[MAX_RANK];
	for (uint32_t d = 0; d < n; d++)
		sizes[d] = kernel->dims[k.spatial.v[d]];
	w.size = (ints){sizes, n};
	for (uint32_t d = 0; d < n; d++)
		if (sizes[d] != DIM_DYNAMIC)
			TRY(check_dim_size(c, "the result", (uint32_t)o.spatial.v[d], out->dims[o.spatial.v[d]],
				count_windows(&w, d, in->dims[i.spatial.v[d]])));
	int64_t features = in->dims[i.feature], batch = in->dims[i.batch];
	if (features != DIM_DYNAMIC && !same_size(kernel->dims[k.batch], features / groups))
		return fault(c, "the kernel takes %lld input features, the input has %lld in %lld groups",
			(long long)kernel->dims[k.batch], (long long)features, (long long)groups);
	if (batch != DIM_DYNAMIC)
		TRY(check_dim_size(
			c, "the result", (uint32_t)o.batch, out->dims[o.batch], batch / batches));
	return check_dim_size(
		c, "the result", (uint32_t)o.feature, out->dims[o.feature], kernel->dims[k.feature]);
}
