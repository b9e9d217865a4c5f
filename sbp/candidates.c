/* The signatures that an op has along one dimension of the hierarchy. Its sharding rule says which
 * dims go together; what goes through partial sums is a table here. */
#include "sbp/sbp.h"

/* Linear ops: by operand P or B, the last letter stands for all that follow; results are P. Ops
 * that a sum of inputs is the sum of outputs for, and those that are linear in one operand while
 * the others are whole. */
static const struct linear {
	op_kind kind;
	const char *patterns[2];
} linear_ops[] = {
	{OP_ADD, {"P"}},
	{OP_SUBTRACT, {"P"}},
	{OP_NEGATE, {"P"}},
	{OP_REAL, {"P"}},
	{OP_IMAG, {"P"}},
	{OP_CONVERT, {"P"}},
	{OP_BROADCAST_IN_DIM, {"P"}},
	{OP_RESHAPE, {"P"}},
	{OP_TRANSPOSE, {"P"}},
	{OP_SLICE, {"P"}},
	{OP_REVERSE, {"P"}},
	{OP_CONCATENATE, {"P"}},
	{OP_SDY_SHARDING_CONSTRAINT, {"P"}},
	{OP_SDY_RESHARD, {"P"}},
	{OP_MULTIPLY, {"PB", "BP"}},
	{OP_DOT_GENERAL, {"PB", "BP"}},
	{OP_DOT, {"PB", "BP"}},
	{OP_CONVOLUTION, {"PB", "BP"}},
	{OP_DIVIDE, {"PB"}},
	{OP_SELECT, {"BP"}},
	{OP_DYNAMIC_SLICE, {"PB"}},
	{OP_DYNAMIC_UPDATE_SLICE, {"PPB"}},
	{OP_GATHER, {"PB"}},
};

struct list {
	const module *m;
	op_id op;
	const rule *rule; /* NULL: none */
	uint32_t n_operands, n_tensors;
	VEC(sbp) words;
	VEC(uint16_t) factor;
	VEC(int64_t) sizes;
	VEC(bool) even;
};

static const ir_type *tensor_type(const struct list *l, uint32_t tensor)
{
	return value_type(l->m,
		tensor < l->n_operands ? op_operand(l->m, l->op, tensor)
							   : op_result(l->m, l->op, tensor - l->n_operands));
}

/* Adds words unless the list has them. */
static void add(struct list *l, const sbp *words, uint16_t factor, int64_t size, bool even)
{
	for (uint32_t i = 0; i < l->factor.n; i++) {
		bool same = true;
		for (uint32_t k = 0; k < l->n_tensors && same; k++)
			same = sbp_equal(l->words.p[i * l->n_tensors + k], words[k]);
		if (same)
			return;
	}
	for (uint32_t k = 0; k < l->n_tensors; k++)
		vec_push(&l->words, words[k]);
	vec_push(&l->factor, factor);
	vec_push(&l->sizes, size);
	vec_push(&l->even, even);
}

/* Does the op sum over its reduced factors? */
static bool sums(const module *m, op_id o)
{
	op_kind k = op_at(m, o)->kind;
	if (k == OP_DOT_GENERAL || k == OP_DOT || k == OP_CONVOLUTION)
		return true;
	if (k != OP_REDUCE || op_at(m, o)->n_results != 1 || op_at(m, o)->n_regions != 1)
		return false;
	const ir_region *r = op_region(m, o, 0);
	op_id first = r->first;
	if (first == ID_NONE || op_at(m, first)->kind != OP_ADD || r->n_args != 2 ||
		op_at(m, first)->next != r->last)
		return false;
	value_id a = op_operand(m, first, 0), b = op_operand(m, first, 1);
	return (a == r->args && b == r->args + 1) || (b == r->args && a == r->args + 1);
}

/* Where a factor is in a tensor: a dim that it is the major part of. False: it is a minor part of
 * one, which S cannot cut. */
static bool find_factor(const rule *r, uint32_t tensor, uint32_t factor, uint32_t *dim, bool *alone)
{
	*dim = ID_NONE;
	for (uint32_t d = r->tensor_first[tensor]; d < r->tensor_first[tensor + 1]; d++) {
		bool first = true;
		for (uint32_t i = 0; i < r->dims[d].n; i++) {
			uint32_t f = r->dim_factors[r->dims[d].first + i];
			if (f == factor) {
				if (!first)
					return false;
				*dim = d - r->tensor_first[tensor];
				*alone = r->dims[d].n == 1;
				return true;
			}
			first = first && r->factor_sizes[f] == 1;
		}
	}
	return true;
}

/* The signature that splits one factor. The initial values of a sum are added once per device: they
 * must be whole zeros or the like, which only the first of the summands may add, so they take
 * partial themselves. */
static void add_factor(struct list *l, uint32_t f, sbp *words)
{
	const rule *r = l->rule;
	factor_type kind = (factor_type)r->factor_types[f];
	bool reduced = kind == FACTOR_REDUCTION, in_operands = false, even = false;
	if (r->factor_sizes[f] == 1 || r->blocked >> f & 1 ||
		(kind != FACTOR_PASS_THROUGH && !reduced) || (reduced && !sums(l->m, l->op)))
		return;
	for (uint32_t k = 0; k < l->n_tensors; k++) {
		uint32_t dim;
		bool alone = true;
		if (!find_factor(r, k, f, &dim, &alone))
			return;
		even = even || !alone;
		words[k] = dim == ID_NONE ? (sbp){0} : sbp_split(dim);
		in_operands = in_operands || (dim != ID_NONE && k < l->n_operands);
		if (dim != ID_NONE || k < l->n_operands)
			continue;
		if (reduced)
			words[k] = (sbp){SBP_PARTIAL, 0};
		else if (in_operands)
			return;
	}
	if (reduced && op_at(l->m, l->op)->kind == OP_REDUCE)
		for (uint32_t k = l->n_operands / 2; k < l->n_operands; k++)
			words[k] = (sbp){SBP_PARTIAL, 0};
	add(l, words, (uint16_t)f, r->factor_sizes[f], even);
}

/* Sums of inputs through the op. */
static void add_partial(struct list *l, sbp *words)
{
	op_kind kind = op_at(l->m, l->op)->kind;
	const ir_type *result = l->n_tensors > l->n_operands ? tensor_type(l, l->n_operands) : NULL;
	for (size_t i = 0; i < COUNT_OF(linear_ops); i++)
		for (uint32_t p = 0; linear_ops[i].kind == kind && p < 2 && linear_ops[i].patterns[p];
			 p++) {
			const char *pattern = linear_ops[i].patterns[p];
			size_t n = strlen(pattern);
			/* rounding to whole numbers is not linear */
			if (kind == OP_CONVERT &&
				(result->kind != TYPE_TENSOR ||
					(elem_is_int(result->elem) && !elem_is_int(tensor_type(l, 0)->elem))))
				continue;
			if ((kind == OP_DIVIDE) && elem_is_int(result->elem))
				continue;
			for (uint32_t k = 0; k < l->n_tensors; k++) {
				bool partial = k >= l->n_operands || pattern[MIN(k, n - 1)] == 'P';
				words[k] = (sbp){partial ? SBP_PARTIAL : SBP_BROADCAST, 0};
			}
			add(l, words, UINT16_MAX, 1, false);
		}
	if (kind == OP_REDUCE && sums(l->m, l->op)) {
		for (uint32_t k = 0; k < l->n_tensors; k++)
			words[k] = (sbp){SBP_PARTIAL, 0};
		add(l, words, UINT16_MAX, 1, false);
	}
}

void sbp_candidates_of(rule_table *rules, const module *m, op_id o, arena *mem, sbp_candidates *out)
{
	struct list l = {.m = m,
		.op = o,
		.n_operands = op_at(m, o)->n_operands,
		.n_tensors = op_at(m, o)->n_operands + op_at(m, o)->n_results};
	sbp *words = arena_zarray(mem, sbp, MAX(l.n_tensors, 1));
	rule_id id = RULE_NONE;
	op_kind kind = op_at(m, o)->kind;
	if (kind == OP_SDY_RESHARD)
		id = rule_identity(rules, value_type(m, op_result(m, o, 0)), 1, 1);
	else if (rule_of_op(rules, m, o, false, &id) != RULE_FOUND)
		id = RULE_NONE;
	if (id != RULE_NONE)
		l.rule = rule_get(rules, id);
	if (l.rule && l.rule->n_operands == l.n_operands &&
		l.rule->n_operands + l.rule->n_results == l.n_tensors) {
		for (uint32_t f = 0; f < l.rule->n_factors; f++)
			add_factor(&l, f, words);
	}
	add_partial(&l, words);
	for (uint32_t k = 0; k < l.n_tensors; k++)
		words[k] = (sbp){0};
	add(&l, words, UINT16_MAX, 1, false);

	*out = (sbp_candidates){
		.n = l.factor.n, .n_operands = l.n_operands, .n_results = l.n_tensors - l.n_operands};
	sbp *w = arena_array(mem, sbp, MAX(l.words.n, 1));
	uint16_t *f = arena_array(mem, uint16_t, l.factor.n);
	int64_t *s = arena_array(mem, int64_t, l.factor.n);
	bool *e = arena_array(mem, bool, l.factor.n);
	if (l.words.n)
		memcpy(w, l.words.p, l.words.n * sizeof *w);
	memcpy(f, l.factor.p, l.factor.n * sizeof *f);
	memcpy(s, l.sizes.p, l.factor.n * sizeof *s);
	memcpy(e, l.even.p, l.factor.n * sizeof *e);
	out->words = w;
	out->factor = f;
	out->sizes = s;
	out->even = e;
	vec_release(&l.words);
	vec_release(&l.factor);
	vec_release(&l.sizes);
	vec_release(&l.even);
}
