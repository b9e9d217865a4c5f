/* Rules of ops that combine elements along dims: products, convolutions, reductions, windows,
 * solvers. */
#include "propagate/rules.h"

bool contraction_is_swapped(const module *m, op_id o)
{
	uint32_t n_batch = 0, n_contract = 0, n = 0;
	if (op_at(m, o)->kind != OP_DOT_GENERAL)
		return false;
	op_ints(m, o, "dot_dimension_numbers.lhs_batching_dimensions", &n_batch);
	op_ints(m, o, "dot_dimension_numbers.lhs_contracting_dimensions", &n_contract);
	slot_id use = m->values.p[op_result(m, o, 0)].first_use;
	if (use == ID_NONE || m->slots.p[use].next != ID_NONE)
		return false;
	op_id user = m->slots.p[use].owner;
	const int64_t *from = op_ints(m, user, "permutation", &n);
	uint32_t shared = n_batch + n_contract, left = value_type(m, op_operand(m, o, 0))->rank;
	if (op_at(m, user)->kind != OP_TRANSPOSE || !from || left <= shared || n <= left - n_contract)
		return false;
	left -= shared; /* free dims of the first operand, then those of the second */
	for (uint32_t d = 0, right = n - n_batch - left; d < n; d++)
		if (from[d] != (d < n_batch ? d : d < n_batch + right ? d + left : d - right))
			return false;
	return true;
}

rule_status rule_dot_general(rule_builder *b)
{
	uint32_t n_batch, n_rhs_batch, n_contract, n_rhs_contract;
	const int64_t *lhs_batch =
		rule_ints(b, "dot_dimension_numbers.lhs_batching_dimensions", &n_batch);
	const int64_t *rhs_batch =
		rule_ints(b, "dot_dimension_numbers.rhs_batching_dimensions", &n_rhs_batch);
	const int64_t *lhs_contract =
		rule_ints(b, "dot_dimension_numbers.lhs_contracting_dimensions", &n_contract);
	const int64_t *rhs_contract =
		rule_ints(b, "dot_dimension_numbers.rhs_contracting_dimensions", &n_rhs_contract);
	if (!rule_needs(b, 2, 1) || n_batch != n_rhs_batch || n_contract != n_rhs_contract)
		return RULE_UNSUPPORTED;
	uint32_t out = 0, result = first_result(b);
	for (uint32_t i = 0; i < n_batch; i++) {
		uint32_t f = factor_unary(
			b, lhs_batch[i], out++, tensor_dim(b, 0, lhs_batch[i]), FACTOR_PASS_THROUGH);
		factor_map(b, f, 1, rhs_batch[i]);
	}
	uint32_t left = tensor_rank(b, 0) - n_batch - n_contract;
	b->swapped = b->table->swapped;
	for (uint32_t k = 0; k < 2; k++) {
		uint32_t side = b->swapped ? 1 - k : k;
		out = n_batch + (side ? left : 0);
		const int64_t *batch = side ? rhs_batch : lhs_batch,
					  *contract = side ? rhs_contract : lhs_contract;
		for (uint32_t d = 0; d < tensor_rank(b, side); d++) {
			if (ints_contain(batch, n_batch, d) || ints_contain(contract, n_contract, d))
				continue;
			uint32_t f = factor_add(b, tensor_dim(b, side, d), FACTOR_PASS_THROUGH);
			factor_map(b, f, side, d);
			factor_map(b, f, result, out++);
		}
	}
	for (uint32_t i = 0; i < n_contract; i++) {
		uint32_t f = factor_add(b, tensor_dim(b, 0, lhs_contract[i]), FACTOR_REDUCTION);
		factor_map(b, f, 0, lhs_contract[i]);
		factor_map(b, f, 1, rhs_contract[i]);
	}
	return rule_build(b);
}

rule_status rule_dot(rule_builder *b)
{
	if (!rule_needs(b, 2, 1))
		return RULE_UNSUPPORTED;
	bool lhs_matrix = tensor_rank(b, 0) == 2, rhs_matrix = tensor_rank(b, 1) == 2;
	if (lhs_matrix)
		factor_unary(b, 0, 0, tensor_dim(b, 0, 0), FACTOR_PASS_THROUGH);
	if (rhs_matrix) {
		uint32_t f = factor_add(b, tensor_dim(b, 1, 1), FACTOR_PASS_THROUGH);
		factor_map(b, f, 1, 1);
		factor_map(b, f, first_result(b), lhs_matrix);
	}
	uint32_t f = factor_add(b, tensor_dim(b, 1, 0), FACTOR_REDUCTION);
	factor_map(b, f, 0, lhs_matrix);
	factor_map(b, f, 1, 0);
	return rule_build(b);
}

/* A spatial dim is read by windows (result dim) and by taps (kernel dim): a factor for each, the
 * larger one major, as far as the input dim has room. */
static void convolution_spatial(rule_builder *b, int64_t lhs, int64_t rhs, int64_t out)
{
	int64_t windows = tensor_dim(b, 2, out), taps = tensor_dim(b, 1, rhs),
			left = tensor_dim(b, 0, lhs);
	bool windows_first = windows >= taps;
	for (uint32_t i = 0; i < 2; i++) {
		bool over_windows = (i == 0) == windows_first;
		int64_t size = MIN(left, over_windows ? windows : taps);
		if (size <= 1)
			continue;
		uint32_t f = factor_add(b, size, over_windows ? FACTOR_PERMUTATION : FACTOR_REDUCTION);
		factor_map(b, f, 0, lhs);
		if (over_windows)
			factor_map(b, f, 2, out);
		else
			factor_map(b, f, 1, rhs);
		left /= size;
	}
}

rule_status rule_convolution(rule_builder *b)
{
	uint32_t n_lhs, n_rhs, n_out;
	const int64_t *lhs = rule_ints(b, "dimension_numbers.input_spatial_dimensions", &n_lhs);
	const int64_t *rhs = rule_ints(b, "dimension_numbers.kernel_spatial_dimensions", &n_rhs);
	const int64_t *out = rule_ints(b, "dimension_numbers.output_spatial_dimensions", &n_out);
	const int64_t lhs_batch = op_int(b->m, b->op, "dimension_numbers.input_batch_dimension", -1);
	const int64_t lhs_feature =
		op_int(b->m, b->op, "dimension_numbers.input_feature_dimension", -1);
	const int64_t rhs_in =
		op_int(b->m, b->op, "dimension_numbers.kernel_input_feature_dimension", -1);
	const int64_t rhs_out =
		op_int(b->m, b->op, "dimension_numbers.kernel_output_feature_dimension", -1);
	const int64_t out_batch = op_int(b->m, b->op, "dimension_numbers.output_batch_dimension", -1);
	const int64_t out_feature =
		op_int(b->m, b->op, "dimension_numbers.output_feature_dimension", -1);
	const int64_t batch_groups = op_int(b->m, b->op, "batch_group_count", 1);
	const int64_t feature_groups = op_int(b->m, b->op, "feature_group_count", 1);
	if (!rule_needs(b, 2, 1) || n_lhs != n_rhs || n_lhs != n_out || batch_groups < 1 ||
		feature_groups < 1)
		return RULE_UNSUPPORTED;
	if (batch_groups > 1)
		factor_map(b, factor_unary(b, lhs_batch, out_feature, batch_groups, FACTOR_PASS_THROUGH), 1,
			rhs_out);
	factor_unary(b, lhs_batch, out_batch, tensor_dim(b, 2, out_batch), FACTOR_PASS_THROUGH);
	for (uint32_t i = 0; i < n_lhs && !b->conservative; i++)
		convolution_spatial(b, lhs[i], rhs[i], out[i]);
	if (feature_groups > 1)
		factor_map(b,
			factor_unary(b, lhs_feature, out_feature, feature_groups, FACTOR_PASS_THROUGH), 1,
			rhs_out);
	uint32_t f = factor_add(b, tensor_dim(b, 1, rhs_in), FACTOR_REDUCTION);
	factor_map(b, f, 0, lhs_feature);
	factor_map(b, f, 1, rhs_in);
	int64_t per_group = tensor_dim(b, 2, out_feature) / feature_groups / batch_groups;
	if (per_group > 1) {
		f = factor_add(b, per_group, FACTOR_PASS_THROUGH);
		factor_map(b, f, 1, rhs_out);
		factor_map(b, f, 2, out_feature);
	}
	return rule_build(b);
}

rule_status rule_reduce(rule_builder *b)
{
	uint32_t n, n_inputs = b->n_operands / 2, kept = 0;
	const int64_t *reduced = rule_ints(b, "dimensions", &n);
	if (!rule_needs(b, 2, 1) || b->n_operands % 2 || b->n_results != n_inputs)
		return RULE_UNSUPPORTED;
	for (uint32_t d = 0; d < tensor_rank(b, 0); d++) {
		bool gone = ints_contain(reduced, n, d);
		uint32_t f =
			factor_add(b, tensor_dim(b, 0, d), gone ? FACTOR_REDUCTION : FACTOR_PASS_THROUGH);
		factor_map_all(b, f, 0, n_inputs, d);
		if (!gone)
			factor_map_all(b, f, first_result(b), b->n_tensors, kept++);
	}
	return rule_build(b);
}

/* A window of one element that neither strides nor pads leaves its dim as it is. */
static bool window_passes(const rule_builder *b, uint32_t d)
{
	uint32_t n_size, n_stride, n_pad;
	const int64_t *size = op_ints(b->m, b->op, "window_dimensions", &n_size);
	const int64_t *stride = op_ints(b->m, b->op, "window_strides", &n_stride);
	const int64_t *pad = op_ints(b->m, b->op, "padding", &n_pad);
	return (d >= n_size || size[d] == 1) && (d >= n_stride || stride[d] == 1) &&
		(2 * d + 1 >= n_pad || (!pad[2 * d] && !pad[2 * d + 1]));
}

rule_status rule_reduce_window(rule_builder *b)
{
	if (!rule_needs(b, 2, 1))
		return RULE_UNSUPPORTED;
	uint32_t out = first_result(b);
	for (uint32_t d = 0; d < tensor_rank(b, out); d++) {
		bool passes = window_passes(b, d);
		uint32_t f = factor_pointwise(
			b, d, tensor_dim(b, out, d), passes ? FACTOR_PASS_THROUGH : FACTOR_PERMUTATION);
		if (!passes && b->conservative)
			factor_block(b, f);
	}
	return rule_build(b);
}

rule_status rule_select_and_scatter(rule_builder *b)
{
	if (!rule_needs(b, 2, 1))
		return RULE_UNSUPPORTED;
	for (uint32_t d = 0; d < tensor_rank(b, 0); d++) {
		if (window_passes(b, d)) {
			factor_pointwise(b, d, tensor_dim(b, 1, d), FACTOR_PASS_THROUGH);
			continue;
		}
		uint32_t source = factor_add(b, tensor_dim(b, 1, d), FACTOR_NEED_REPLICATION);
		factor_map(b, source, 1, d);
		uint32_t windows = factor_unary(b, d, d, tensor_dim(b, 0, d), FACTOR_PERMUTATION);
		if (b->conservative) {
			factor_block(b, source);
			factor_block(b, windows);
		}
	}
	return rule_build(b);
}

rule_status rule_sort(rule_builder *b)
{
	if (!rule_needs(b, 1, 1))
		return RULE_UNSUPPORTED;
	int64_t sorted = op_int(b->m, b->op, "dimension", -1);
	uint32_t rank = tensor_rank(b, 0);
	if (sorted < 0)
		sorted = (int64_t)rank - 1;
	bool alone = true;
	for (uint32_t d = 0; d < rank; d++)
		alone &= d == sorted || tensor_dim(b, 0, d) == 1;
	for (uint32_t d = 0; d < rank; d++) {
		uint32_t f = factor_pointwise(
			b, d, tensor_dim(b, 0, d), d == sorted ? FACTOR_NEED_REPLICATION : FACTOR_PASS_THROUGH);
		if (d == sorted && alone)
			factor_block(b, f);
	}
	return rule_build(b);
}

rule_status rule_cholesky(rule_builder *b)
{
	if (!rule_needs(b, 1, 1))
		return RULE_UNSUPPORTED;
	uint32_t rank = tensor_rank(b, 0);
	for (uint32_t d = 0; d < rank; d++)
		factor_pointwise(b, d, tensor_dim(b, 0, d),
			d + 2 < rank ? FACTOR_PASS_THROUGH : FACTOR_NEED_REPLICATION);
	return rule_build(b);
}

rule_status rule_triangular_solve(rule_builder *b)
{
	uint32_t rank = b->n_operands ? tensor_rank(b, 0) : 0;
	if (!rule_needs(b, 2, 1) || rank < 2)
		return RULE_UNSUPPORTED;
	for (uint32_t d = 0; d + 2 < rank; d++)
		factor_pointwise(b, d, tensor_dim(b, 0, d), FACTOR_PASS_THROUGH);
	uint32_t rows = rank - 2, columns = rank - 1;
	bool left = op_int(b->m, b->op, "left_side", 0) != 0;
	bool transposed = !str_is(op_text(b->m, b->op, "transpose_a"), "NO_TRANSPOSE");
	/* a's dim that meets b, and a's dim that meets the result */
	uint32_t a_b = left == transposed ? columns : rows, a_result = rows + columns - a_b;
	uint32_t shared = left ? rows : columns, other = left ? columns : rows;
	uint32_t f;
	if (!left) {
		f = factor_add(b, tensor_dim(b, 1, other), FACTOR_NEED_REPLICATION);
		factor_map(b, f, 1, other);
		factor_map(b, f, 2, other);
	}
	f = factor_add(b, tensor_dim(b, 0, a_b), FACTOR_NEED_REPLICATION);
	factor_map(b, f, 0, a_b);
	factor_map(b, f, 1, shared);
	if (left) {
		f = factor_add(b, tensor_dim(b, 1, other), FACTOR_NEED_REPLICATION);
		factor_map(b, f, 1, other);
		factor_map(b, f, 2, other);
	}
	f = factor_add(b, tensor_dim(b, 0, a_result), FACTOR_NEED_REPLICATION);
	factor_map(b, f, 0, a_result);
	factor_map(b, f, 2, shared);
	return rule_build(b);
}

rule_status rule_fft(rule_builder *b)
{
	uint32_t n;
	rule_ints(b, "fft_length", &n);
	uint32_t rank = b->n_operands ? tensor_rank(b, 0) : 0;
	if (!rule_needs(b, 1, 1) || n > rank || tensor_rank(b, 1) != rank)
		return RULE_UNSUPPORTED;
	for (uint32_t d = 0; d < rank; d++) {
		uint32_t f = factor_pointwise(b, d, tensor_dim(b, 0, d),
			d + n < rank ? FACTOR_PASS_THROUGH : FACTOR_NEED_REPLICATION);
		if (d + 1 == rank && tensor_dim(b, 0, d) != tensor_dim(b, 1, d))
			factor_block(b, f);
	}
	return rule_build(b);
}

rule_status rule_batch_norm_inference(rule_builder *b)
{
	int64_t feature = op_int(b->m, b->op, "feature_index", -1);
	if (!rule_needs(b, 1, 1))
		return RULE_UNSUPPORTED;
	for (uint32_t d = 0; d < tensor_rank(b, 0); d++) {
		uint32_t f = factor_unary(b, d, d, tensor_dim(b, 0, d), FACTOR_PASS_THROUGH);
		if (d == feature)
			factor_map_all(b, f, 1, b->n_operands, 0);
	}
	return rule_build(b);
}

rule_status rule_rng_bit_generator(rule_builder *b)
{
	if (!rule_needs(b, 1, 2))
		return RULE_UNSUPPORTED;
	for (uint32_t d = 0; d < tensor_rank(b, 0); d++)
		factor_block(b, factor_unary(b, d, d, tensor_dim(b, 0, d), FACTOR_NEED_REPLICATION));
	for (uint32_t d = 0; d < tensor_rank(b, 2); d++)
		factor_map(b, factor_add(b, tensor_dim(b, 2, d), FACTOR_PASS_THROUGH), 2, d);
	return rule_build(b);
}
