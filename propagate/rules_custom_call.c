/* Rules of custom calls, by target. */
#include "propagate/rules.h"

/* Libraries' linear algebra: all dims but the last two are batch dims. */
static uint32_t batch_dims(rule_builder *b)
{
	uint32_t rank = tensor_rank(b, 0);
	if (rank < 2) {
		b->broken = true;
		return 0;
	}
	for (uint32_t d = 0; d + 2 < rank; d++)
		factor_pointwise(b, d, tensor_dim(b, 0, d), FACTOR_PASS_THROUGH);
	return rank - 2;
}

static rule_status eigh(rule_builder *b)
{
	if (!rule_needs(b, 1, 1))
		return RULE_UNSUPPORTED;
	uint32_t rows = batch_dims(b), columns = rows + 1;
	factor_unary(b, rows, rows, tensor_dim(b, 0, rows), FACTOR_PASS_THROUGH);
	uint32_t f = factor_unary(b, columns, columns, tensor_dim(b, 0, columns), FACTOR_PASS_THROUGH);
	if (b->n_tensors > 2)
		factor_map(b, f, 2, rows);
	return rule_build(b);
}

static rule_status qr(rule_builder *b)
{
	if (!rule_needs(b, 1, 2))
		return RULE_UNSUPPORTED;
	uint32_t rows = batch_dims(b), columns = rows + 1, last = tensor_rank(b, 2);
	factor_unary(b, rows, rows, tensor_dim(b, 0, rows), FACTOR_NEED_REPLICATION);
	factor_unary(b, columns, columns, tensor_dim(b, 0, columns), FACTOR_NEED_REPLICATION);
	factor_map(b, factor_add(b, tensor_dim(b, 2, (int64_t)last - 1), FACTOR_NEED_REPLICATION), 2,
		(int64_t)last - 1);
	return rule_build(b);
}

static rule_status householder_product(rule_builder *b)
{
	if (!rule_needs(b, 2, 1))
		return RULE_UNSUPPORTED;
	uint32_t rows = batch_dims(b), columns = rows + 1;
	factor_unary(b, rows, rows, tensor_dim(b, 0, rows), FACTOR_NEED_REPLICATION);
	factor_unary(b, columns, columns, tensor_dim(b, 0, columns), FACTOR_NEED_REPLICATION);
	factor_map(b, factor_add(b, tensor_dim(b, 1, rows), FACTOR_NEED_REPLICATION), 1, rows);
	return rule_build(b);
}

rule_status rule_top_k(rule_builder *b)
{
	if (!rule_needs(b, 1, 1) || tensor_rank(b, 0) != tensor_rank(b, first_result(b)))
		return RULE_UNSUPPORTED;
	for (uint32_t d = 0; d < tensor_rank(b, 0); d++) {
		bool same = tensor_dim(b, 0, d) == tensor_dim(b, first_result(b), d);
		uint32_t f = factor_pointwise(
			b, d, tensor_dim(b, 0, d), same ? FACTOR_PASS_THROUGH : FACTOR_NEED_REPLICATION);
		if (!same)
			factor_block(b, f);
	}
	return rule_build(b);
}

static rule_status approximate_top_k(rule_builder *b)
{
	if (!rule_needs(b, 1, 1) || tensor_rank(b, 0) != tensor_rank(b, first_result(b)))
		return RULE_UNSUPPORTED;
	uint32_t out = first_result(b);
	for (uint32_t d = 0; d < tensor_rank(b, 0); d++) {
		int64_t in_size = tensor_dim(b, 0, d), size = tensor_dim(b, out, d);
		if (in_size == size) {
			factor_pointwise(b, d, in_size, FACTOR_PASS_THROUGH);
			continue;
		}
		factor_map_all(
			b, factor_add(b, in_size, FACTOR_PASS_THROUGH), 0, MIN(2, first_result(b)), d);
		uint32_t f = factor_add(b, size, FACTOR_NEED_REPLICATION);
		factor_map_all(b, f, out, b->n_tensors, d);
		factor_block(b, f);
	}
	return rule_build(b);
}

/* The state of a random generator stays whole; other 64-bit values split as their halves do. */
static rule_status x64_combine(rule_builder *b)
{
	if (!rule_needs(b, 1, 1))
		return RULE_UNSUPPORTED;
	const module *m = b->m;
	bool state = false;
	for (slot_id s = value_at(m, op_result(m, b->op, 0))->first_use; s != ID_NONE;
		 s = m->slots.p[s].next)
		state |= op_at(m, m->slots.p[s].owner)->kind == OP_RNG_BIT_GENERATOR;
	if (!state)
		return rule_pointwise(b);
	factor_block(
		b, factor_pointwise(b, 0, tensor_dim(b, first_result(b), 0), FACTOR_NEED_REPLICATION));
	return rule_build(b);
}

static const struct {
	const char *target;
	rule_status (*rule)(rule_builder *);
} targets[] = {
	{"annotate_device_placement", rule_pointwise},
	{"ApproxTopK", approximate_top_k},
	{"Cholesky", rule_pointwise},
	{"CompactWyHelper", rule_pointwise},
	{"Eigh", eigh},
	{"InspectSharding", rule_pointwise},
	{"InvertDiagBlocksLowerTriangular", rule_pointwise},
	{"InvertDiagBlocksUpperTriangular", rule_pointwise},
	{"LayoutConstraint", rule_pointwise},
	{"mhlo.erf", rule_pointwise},
	{"mhlo.topk", rule_top_k},
	{"MoveToDevice", rule_pointwise},
	{"MoveToHost", rule_pointwise},
	{"PartialReduce", approximate_top_k},
	{"ProductOfElementaryHouseholderReflectors", householder_product},
	{"Qr", qr},
	{"QrDecompositionBlock", qr},
	{"X64Combine", x64_combine},
	{"X64SplitHigh", rule_pointwise},
	{"X64SplitLow", rule_pointwise},
	{"xla.megascale.provide_metadata", rule_pointwise},
	{"_SPMDInternalOp_MultiPad", rule_pointwise},
	{"_SPMDInternalOp_MultiRotate", rule_pointwise},
	{"_SPMDInternalOp_MultiSlice", rule_pointwise},
	{"_SPMDInternalOp_RotateRight", rule_pointwise},
	{"_SPMDInternalOp_Wrap", rule_pointwise},
};

rule_status rule_custom_call(rule_builder *b)
{
	str target = op_text(b->m, b->op, "call_target_name");
	for (size_t i = 0; i < COUNT_OF(targets); i++)
		if (str_is(target, targets[i].target))
			return targets[i].rule(b);
	return RULE_UNSUPPORTED;
}
