/* Rules of gather and scatter, and of the collectives written by hand inside shard_map. */
#include "propagate/rules.h"

/* gather: input = operand 0, slices = the result. scatter: inputs = first n operands and all
 * results, slices = the updates. */
typedef struct gather_shape {
	bool scatter;
	uint32_t n_inputs, indices, slices; /* tensor indices */
	int64_t index_vector_dim;
	const int64_t *offsets, *collapsed, *batch, *indices_batch;
	uint32_t n_offsets, n_collapsed, n_batch, n_indices_batch;
	factor_type batch_kind; /* of dims that only indices and slices share */
} gather_shape;

static uint32_t add(rule_builder *b, const gather_shape *g, int64_t input, int64_t indices,
	int64_t slices, int64_t size, factor_type kind)
{
	uint32_t f = factor_add(b, size, kind);
	for (uint32_t i = 0; i < g->n_inputs; i++)
		factor_map(b, f, i, input);
	factor_map(b, f, g->indices, indices);
	for (uint32_t i = 0; i < g->n_inputs; i++)
		factor_map(b, f, g->slices + i, slices);
	for (uint32_t i = 0; g->scatter && i < g->n_inputs; i++)
		factor_map(b, f, first_result(b) + i, input);
	return f;
}

static void offset_dim(rule_builder *b, const gather_shape *g, int64_t input, int64_t slices)
{
	int64_t in_size = tensor_dim(b, 0, input), size = tensor_dim(b, g->slices, slices);
	if (in_size == size) {
		add(b, g, input, DIM_NONE, slices, in_size, FACTOR_PASS_THROUGH);
	} else if (g->scatter) {
		add(b, g, input, DIM_NONE, DIM_NONE, in_size, FACTOR_NEED_REPLICATION);
		add(b, g, DIM_NONE, DIM_NONE, slices, size, FACTOR_NEED_REPLICATION);
	} else if (size == 1) {
		add(b, g, input, DIM_NONE, DIM_NONE, in_size, FACTOR_REDUCTION);
		add(b, g, DIM_NONE, DIM_NONE, slices, size, FACTOR_NEED_REPLICATION);
	} else {
		factor_block(b, add(b, g, input, DIM_NONE, slices, in_size, FACTOR_NEED_REPLICATION));
	}
}

static void batch_dim(rule_builder *b, const gather_shape *g, int64_t indices, int64_t slices)
{
	for (uint32_t i = 0; i < g->n_indices_batch && i < g->n_batch; i++) {
		if (g->indices_batch[i] == indices) {
			add(b, g, g->batch[i], indices, slices, tensor_dim(b, g->slices, slices),
				FACTOR_PASS_THROUGH);
			return;
		}
	}
	add(b, g, DIM_NONE, indices, slices, tensor_dim(b, g->slices, slices), g->batch_kind);
}

static rule_status gather_like(rule_builder *b, const gather_shape *g)
{
	int64_t input = 0, indices = 0;
	for (uint32_t d = 0; d < tensor_rank(b, g->slices) && !b->broken; d++) {
		if (ints_contain(g->offsets, g->n_offsets, d)) {
			while (ints_contain(g->collapsed, g->n_collapsed, input) ||
				ints_contain(g->batch, g->n_batch, input))
				input++;
			offset_dim(b, g, input++, d);
		} else {
			indices += indices == g->index_vector_dim;
			batch_dim(b, g, indices++, d);
		}
	}
	for (uint32_t i = 0; i < g->n_collapsed; i++) {
		int64_t size = tensor_dim(b, 0, g->collapsed[i]);
		factor_type kind = g->scatter ? FACTOR_PASS_THROUGH
			: size == 1               ? FACTOR_NEED_REPLICATION
									  : FACTOR_REDUCTION;
		add(b, g, g->collapsed[i], DIM_NONE, DIM_NONE, size, kind);
	}
	if (g->index_vector_dim < tensor_rank(b, g->indices))
		add(b, g, DIM_NONE, g->index_vector_dim, DIM_NONE,
			tensor_dim(b, g->indices, g->index_vector_dim), FACTOR_NEED_REPLICATION);
	return rule_build(b);
}

rule_status rule_gather(rule_builder *b)
{
	if (!rule_needs(b, 2, 1))
		return RULE_UNSUPPORTED;
	gather_shape g = {.n_inputs = 1, .indices = 1, .slices = 2, .batch_kind = FACTOR_PASS_THROUGH};
	g.offsets = rule_ints(b, "dimension_numbers.offset_dims", &g.n_offsets);
	g.collapsed = rule_ints(b, "dimension_numbers.collapsed_slice_dims", &g.n_collapsed);
	g.batch = rule_ints(b, "dimension_numbers.operand_batching_dims", &g.n_batch);
	g.indices_batch =
		rule_ints(b, "dimension_numbers.start_indices_batching_dims", &g.n_indices_batch);
	g.index_vector_dim = op_int(b->m, b->op, "dimension_numbers.index_vector_dim", 0);
	return gather_like(b, &g);
}

static bool reduces(uint16_t kind, elem e)
{
	switch (kind) {
	case OP_ADD:
	case OP_MULTIPLY:
	case OP_MAXIMUM:
	case OP_MINIMUM: return true;
	case OP_AND:
	case OP_OR: return e == ELEM_I1;
	default: return false;
	}
}

/* Does the update body compute one known reduction of (old, new) for every result? Then partial
 * updates can be summed. */
static bool body_reduces(const rule_builder *b, uint32_t n)
{
	const module *m = b->m;
	if (!op_at(m, b->op)->n_regions)
		return false;
	const ir_region *body = op_region(m, b->op, 0);
	op_id end = body->empty ? ID_NONE : body->last;
	if (end == ID_NONE || op_at(m, end)->n_operands != n || body->n_args != 2 * n)
		return false;
	uint16_t kind = OP_COUNT;
	for (uint32_t i = 0; i < n; i++) {
		op_id def = value_def(m, op_operand(m, end, i));
		if (def == ID_NONE || op_at(m, def)->n_operands != 2)
			return false;
		const ir_op *o = op_at(m, def);
		value_id old = body->args + i, new = body->args + n + i, lhs = op_operand(m, def, 0),
				 rhs = op_operand(m, def, 1);
		if (!((lhs == old && rhs == new) || (lhs == new &&rhs == old)))
			return false;
		if (!reduces(o->kind, value_type(m, o->results)->elem) ||
			(kind != OP_COUNT && kind != o->kind))
			return false;
		kind = o->kind;
	}
	return true;
}

rule_status rule_scatter(rule_builder *b)
{
	uint32_t n = b->n_results;
	if (!rule_needs(b, 3, 1) || b->n_operands != 2 * n + 1)
		return RULE_UNSUPPORTED;
	gather_shape g = {.scatter = true,
		.n_inputs = n,
		.indices = n,
		.slices = n + 1,
		.batch_kind = body_reduces(b, n) ? FACTOR_REDUCTION : FACTOR_NEED_REPLICATION};
	g.offsets = rule_ints(b, "scatter_dimension_numbers.update_window_dims", &g.n_offsets);
	g.collapsed = rule_ints(b, "scatter_dimension_numbers.inserted_window_dims", &g.n_collapsed);
	g.batch = rule_ints(b, "scatter_dimension_numbers.input_batching_dims", &g.n_batch);
	g.indices_batch =
		rule_ints(b, "scatter_dimension_numbers.scatter_indices_batching_dims", &g.n_indices_batch);
	g.index_vector_dim = op_int(b->m, b->op, "scatter_dimension_numbers.index_vector_dim", 0);
	return gather_like(b, &g);
}

/* One dim changes size: its two sides get a factor each that has to be replicated. */
static rule_status resize_dim(rule_builder *b, int64_t dim)
{
	if (!rule_needs(b, 1, 1) || b->types[first_result(b)]->kind != TYPE_TENSOR)
		return RULE_UNSUPPORTED;
	uint32_t out = first_result(b);
	for (uint32_t d = 0; d < tensor_rank(b, out); d++)
		if (d != dim)
			factor_pointwise(b, d, tensor_dim(b, out, d), FACTOR_PASS_THROUGH);
	factor_map_all(
		b, factor_add(b, tensor_dim(b, 0, dim), FACTOR_NEED_REPLICATION), 0, b->n_operands, dim);
	factor_map_all(
		b, factor_add(b, tensor_dim(b, out, dim), FACTOR_NEED_REPLICATION), out, b->n_tensors, dim);
	return rule_build(b);
}

rule_status rule_all_gather(rule_builder *b)
{
	return resize_dim(b, op_int(b->m, b->op, "all_gather_dim", -1));
}
rule_status rule_reduce_scatter(rule_builder *b)
{
	return resize_dim(b, op_int(b->m, b->op, "scatter_dimension", -1));
}

rule_status rule_all_to_all(rule_builder *b)
{
	int64_t split = op_int(b->m, b->op, "split_dimension", -1),
			concat = op_int(b->m, b->op, "concat_dimension", -1);
	if (!rule_needs(b, 1, 1) || b->types[first_result(b)]->kind != TYPE_TENSOR)
		return RULE_UNSUPPORTED;
	uint32_t out = first_result(b);
	for (uint32_t d = 0; d < tensor_rank(b, out); d++)
		if (d != split && d != concat)
			factor_pointwise(b, d, tensor_dim(b, out, d), FACTOR_PASS_THROUGH);
	const int64_t dims[2] = {split, concat};
	for (uint32_t i = 0; i < (split == concat ? 1 : 2); i++) {
		factor_map_all(b, factor_add(b, tensor_dim(b, 0, dims[i]), FACTOR_NEED_REPLICATION), 0,
			b->n_operands, dims[i]);
		factor_map_all(b, factor_add(b, tensor_dim(b, out, dims[i]), FACTOR_NEED_REPLICATION), out,
			b->n_tensors, dims[i]);
	}
	return rule_build(b);
}
