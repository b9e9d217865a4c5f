/* Rules of elementwise ops and of ops that move data without computing: broadcast, reshape, slice,
 * concatenate, .. */
#include "propagate/rules.h"

static void add_shape(rule_builder *b, uint32_t tensor, factor_type kind)
{
	for (uint32_t d = 0; d < tensor_rank(b, tensor); d++)
		factor_pointwise(b, d, tensor_dim(b, tensor, d), kind);
}

rule_status rule_pointwise(rule_builder *b)
{
	if (!b->n_results || b->types[first_result(b)]->kind != TYPE_TENSOR)
		return RULE_UNSUPPORTED;
	add_shape(b, first_result(b), FACTOR_PASS_THROUGH);
	return rule_build(b);
}

rule_status rule_select(rule_builder *b) { return rule_pointwise(b); }

rule_status rule_bitcast_convert(rule_builder *b)
{
	if (!rule_needs(b, 1, 1))
		return RULE_UNSUPPORTED;
	uint32_t in = tensor_rank(b, 0), out = tensor_rank(b, 1), common = MIN(in, out);
	for (uint32_t d = 0; d < common; d++)
		factor_unary(b, d, d, tensor_dim(b, 0, d), FACTOR_PASS_THROUGH);
	if (in < out)
		factor_unary(b, DIM_NONE, out - 1, tensor_dim(b, 1, out - 1), FACTOR_NEED_REPLICATION);
	else if (in > out)
		factor_unary(b, in - 1, DIM_NONE, tensor_dim(b, 0, in - 1), FACTOR_NEED_REPLICATION);
	return rule_build(b);
}

rule_status rule_broadcast_in_dim(rule_builder *b)
{
	uint32_t n;
	const int64_t *to = rule_ints(b, "broadcast_dimensions", &n);
	if (!rule_needs(b, 1, 1) || n != tensor_rank(b, 0))
		return RULE_UNSUPPORTED;
	for (uint32_t out = 0; out < tensor_rank(b, 1); out++) {
		int64_t in = DIM_NONE, size = tensor_dim(b, 1, out);
		for (uint32_t d = 0; d < n; d++)
			if (to[d] == out)
				in = d;
		if (in != DIM_NONE && tensor_dim(b, 0, in) == 1 && size != 1) {
			factor_unary(b, in, DIM_NONE, 1, FACTOR_PASS_THROUGH);
			in = DIM_NONE;
		}
		factor_unary(b, in, out, size, FACTOR_PASS_THROUGH);
	}
	return rule_build(b);
}

/* The value a slice reads, or the value itself. */
static value_id slice_source(const module *m, value_id v, bool *sliced)
{
	op_id def = value_def(m, v);
	*sliced = def != ID_NONE && op_at(m, def)->kind == OP_SLICE;
	return *sliced ? op_operand(m, def, 0) : v;
}

/* Concatenating pieces of one tensor, or slices only, moves data like a rotation does. */
static bool concatenates_slices(const rule_builder *b)
{
	bool all_slices = true, any_slice = false, one_source = true;
	value_id source = ID_NONE;
	for (uint32_t i = 0; i < b->n_operands; i++) {
		bool sliced;
		value_id from = slice_source(b->m, op_operand(b->m, b->op, i), &sliced);
		all_slices &= sliced;
		any_slice |= sliced;
		one_source &= source == ID_NONE || source == from;
		source = from;
	}
	return all_slices || (one_source && any_slice);
}

rule_status rule_concatenate(rule_builder *b)
{
	if (!rule_needs(b, 1, 1))
		return RULE_UNSUPPORTED;
	int64_t dim = op_int(b->m, b->op, "dimension", -1);
	uint32_t out = first_result(b);
	factor_type kind = concatenates_slices(b) ? FACTOR_PERMUTATION : FACTOR_NEED_REPLICATION;
	for (uint32_t d = 0; d < tensor_rank(b, out); d++)
		if (d != dim || !b->conservative)
			factor_pointwise(b, d, tensor_dim(b, out, d), d == dim ? kind : FACTOR_PASS_THROUGH);
	return rule_build(b);
}

/* pad and slice: a dim that changes size keeps its sharding by moving data. */
static rule_status resized(rule_builder *b)
{
	if (!rule_needs(b, 1, 1) || tensor_rank(b, 0) != tensor_rank(b, first_result(b)))
		return RULE_UNSUPPORTED;
	for (uint32_t d = 0; d < tensor_rank(b, 0); d++) {
		int64_t in = tensor_dim(b, 0, d);
		bool same = in == tensor_dim(b, first_result(b), d);
		uint32_t f = factor_pointwise(b, d, in, same ? FACTOR_PASS_THROUGH : FACTOR_PERMUTATION);
		if (!same && b->conservative)
			factor_block(b, f);
	}
	return rule_build(b);
}

rule_status rule_pad(rule_builder *b) { return resized(b); }
rule_status rule_slice(rule_builder *b) { return resized(b); }

rule_status rule_reverse(rule_builder *b)
{
	uint32_t n;
	const int64_t *reversed = rule_ints(b, "dimensions", &n);
	if (!rule_needs(b, 1, 1))
		return RULE_UNSUPPORTED;
	for (uint32_t d = 0; d < tensor_rank(b, 1); d++)
		factor_pointwise(b, d, tensor_dim(b, 1, d),
			ints_contain(reversed, n, d) ? FACTOR_PERMUTATION : FACTOR_PASS_THROUGH);
	return rule_build(b);
}

rule_status rule_transpose(rule_builder *b)
{
	uint32_t n;
	const int64_t *from = rule_ints(b, "permutation", &n);
	if (!rule_needs(b, 1, 1) || n != tensor_rank(b, 1))
		return RULE_UNSUPPORTED;
	for (uint32_t d = 0; d < n; d++)
		factor_unary(b, from[d], d, tensor_dim(b, 1, d), FACTOR_PASS_THROUGH);
	return rule_build(b);
}

rule_status rule_dynamic_slice(rule_builder *b)
{
	uint32_t out = first_result(b);
	if (!rule_needs(b, 1, 1) || tensor_rank(b, 0) != tensor_rank(b, out))
		return RULE_UNSUPPORTED;
	for (uint32_t d = 0; d < tensor_rank(b, 0); d++) {
		bool same = tensor_dim(b, 0, d) == tensor_dim(b, out, d);
		uint32_t f = factor_unary(
			b, d, d, tensor_dim(b, 0, d), same ? FACTOR_PASS_THROUGH : FACTOR_NEED_REPLICATION);
		if (!same)
			factor_block(b, f);
	}
	return rule_build(b);
}

static bool starts_are_constant(const rule_builder *b)
{
	for (uint32_t i = 2; i < b->n_operands; i++) {
		op_id def = value_def(b->m, op_operand(b->m, b->op, i));
		if (def == ID_NONE ||
			(op_at(b->m, def)->kind != OP_CONSTANT && op_at(b->m, def)->kind != OP_SDY_CONSTANT))
			return false;
	}
	return true;
}

rule_status rule_dynamic_update_slice(rule_builder *b)
{
	if (!rule_needs(b, 2, 1) || tensor_rank(b, 0) != tensor_rank(b, 1))
		return RULE_UNSUPPORTED;
	factor_type update = starts_are_constant(b) ? FACTOR_PASS_THROUGH : FACTOR_NEED_REPLICATION;
	for (uint32_t d = 0; d < tensor_rank(b, 0); d++) {
		uint32_t f = factor_unary(b, d, d, tensor_dim(b, 0, d), FACTOR_PASS_THROUGH);
		if (tensor_dim(b, 0, d) != tensor_dim(b, 1, d))
			f = factor_add(b, tensor_dim(b, 1, d), update);
		factor_map(b, f, 1, d);
	}
	return rule_build(b);
}

/* One side of a reshape: a cursor over its dims with the products of the dim sizes and of the
 * factors so far. */
typedef struct reshape_side {
	uint32_t dim, rank;
	int64_t dims, factors;
} reshape_side;

/* Factor for the side that lags behind: one that makes both sides meet again when there is one,
 * else the largest that keeps what the sides have in common for the next step. */
static int64_t lagging_factor(int64_t next, int64_t common, int64_t smaller, int64_t larger)
{
	if (larger % smaller == 0 && next % (larger / smaller) == 0)
		return larger / smaller;
	return next > common ? next / common : next;
}

rule_status rule_reshape(rule_builder *b)
{
	int64_t elements = b->n_operands ? b->types[0]->elements : 0;
	if (!rule_needs(b, 1, 1) || !elements || elements == INT64_MAX ||
		elements != b->types[1]->elements)
		return RULE_UNSUPPORTED;
	reshape_side in = {0, tensor_rank(b, 0), 1, 1}, out = {0, tensor_rank(b, 1), 1, 1};
	while ((in.dim < in.rank || out.dim < out.rank) && !b->broken) {
		if (in.dim < in.rank && tensor_dim(b, 0, in.dim) == 1) {
			factor_unary(b, in.dim++, DIM_NONE, 1, FACTOR_PASS_THROUGH);
			continue;
		}
		if (out.dim < out.rank && tensor_dim(b, 1, out.dim) == 1) {
			factor_unary(b, DIM_NONE, out.dim++, 1, FACTOR_PASS_THROUGH);
			continue;
		}
		if (in.dim < in.rank && in.dims == in.factors)
			in.dims *= tensor_dim(b, 0, in.dim);
		if (out.dim < out.rank && out.dims == out.factors)
			out.dims *= tensor_dim(b, 1, out.dim);
		int64_t next_in = in.dims / in.factors, next_out = out.dims / out.factors,
				common = gcd_i64(next_in, next_out);
		if (in.factors == out.factors && common > 1) {
			factor_unary(b, in.dim, out.dim, common, FACTOR_PASS_THROUGH);
			in.factors *= common;
			out.factors *= common;
		} else if (in.factors == out.factors) {
			factor_unary(b, in.dim, DIM_NONE, next_in, FACTOR_PASS_THROUGH);
			factor_unary(b, DIM_NONE, out.dim, next_out, FACTOR_PASS_THROUGH);
			in.factors *= next_in;
			out.factors *= next_out;
		} else if (in.factors < out.factors) {
			int64_t f = lagging_factor(next_in, common, in.factors, out.factors);
			factor_unary(b, in.dim, DIM_NONE, f, FACTOR_PASS_THROUGH);
			in.factors *= f;
		} else {
			int64_t f = lagging_factor(next_out, common, out.factors, in.factors);
			factor_unary(b, DIM_NONE, out.dim, f, FACTOR_PASS_THROUGH);
			out.factors *= f;
		}
		in.dim += in.dim < in.rank && in.dims == in.factors;
		out.dim += out.dim < out.rank && out.dims == out.factors;
	}
	return rule_build(b);
}
