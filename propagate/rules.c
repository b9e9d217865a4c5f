/* The rule of an op: building, and dispatch by ops.def. */
#include "propagate/passes.h"
#include "propagate/rules.h"

#include <stdlib.h>

uint32_t factor_add(rule_builder *b, int64_t size, factor_type kind)
{
	if (b->n_factors == MAX_FACTORS) {
		b->broken = true;
		return 0;
	}
	b->sizes[b->n_factors] = size;
	b->kinds[b->n_factors] = (uint8_t)kind;
	return b->n_factors++;
}

void factor_map(rule_builder *b, uint32_t factor, uint32_t tensor, int64_t dim)
{
	if (dim == DIM_NONE || b->broken)
		return;
	if (tensor >= b->n_tensors || dim < 0 || dim >= tensor_rank(b, tensor)) {
		b->broken = true;
		return;
	}
	uint32_t d = b->first_dim[tensor] + (uint32_t)dim;
	if (b->sizes[factor] == 1 && b->factors_of[d])
		return;
	b->factors_of[d]++;
	vec_push(&b->uses, (factor_use){d, (uint16_t)factor});
}

void factor_map_all(rule_builder *b, uint32_t factor, uint32_t from, uint32_t to, int64_t dim)
{
	for (uint32_t t = from; t < to; t++)
		if (tensor_rank(b, t))
			factor_map(b, factor, t, dim);
}

uint32_t factor_unary(
	rule_builder *b, int64_t operand_dim, int64_t result_dim, int64_t size, factor_type kind)
{
	uint32_t f = factor_add(b, size, kind);
	factor_map(b, f, 0, operand_dim);
	factor_map(b, f, first_result(b), result_dim);
	return f;
}

uint32_t factor_pointwise(rule_builder *b, int64_t dim, int64_t size, factor_type kind)
{
	uint32_t f = factor_add(b, size, kind);
	factor_map_all(b, f, 0, b->n_tensors, dim);
	return f;
}

void factor_block(rule_builder *b, uint32_t factor) { b->blocked |= 1ull << factor; }

int64_t tensor_dim(rule_builder *b, uint32_t tensor, int64_t dim)
{
	if (tensor >= b->n_tensors || dim < 0 || dim >= tensor_rank(b, tensor)) {
		b->broken = true;
		return 1;
	}
	return b->types[tensor]->dims[dim];
}

const int64_t *rule_ints(rule_builder *b, const char *path, uint32_t *n)
{
	return op_ints(b->m, b->op, path, n);
}

bool rule_needs(rule_builder *b, uint32_t operands, uint32_t results)
{
	if (b->n_operands < operands || b->n_results < results)
		b->broken = true;
	return !b->broken;
}

/* Uses arrive in factor order; a counting pass groups them by dim and keeps that order inside a
 * dim. */
rule_status rule_build(rule_builder *b)
{
	uint32_t n_dims = b->first_dim[b->n_tensors];
	for (uint32_t d = 0; d < n_dims; d++) {
		if (b->factors_of[d])
			continue;
		uint32_t f = factor_add(b, 1, FACTOR_PASS_THROUGH);
		b->factors_of[d] = 1;
		vec_push(&b->uses, (factor_use){d, (uint16_t)f});
	}
	if (b->broken || b->uses.n > UINT16_MAX)
		return RULE_UNSUPPORTED;
	struct rule_dim *dims = arena_array(&b->table->scratch, struct rule_dim, n_dims);
	uint16_t *factors = arena_array(&b->table->scratch, uint16_t, b->uses.n);
	for (uint32_t d = 0, at = 0; d < n_dims; at += b->factors_of[d++])
		dims[d] = (struct rule_dim){(uint16_t)at, 0};
	for (uint32_t i = 0; i < b->uses.n; i++) {
		struct rule_dim *dim = &dims[b->uses.p[i].dim];
		factors[dim->first + dim->n++] = b->uses.p[i].factor;
	}
	rule r = {.n_factors = (uint16_t)b->n_factors,
		.n_operands = (uint16_t)b->n_operands,
		.n_results = (uint16_t)b->n_results,
		.custom = b->custom,
		.swapped = b->swapped,
		.factor_sizes = b->sizes,
		.factor_types = b->kinds,
		.blocked = b->blocked,
		.tensor_first = b->first_dim,
		.dims = dims,
		.dim_factors = factors};
	b->built = rule_intern(b->table, &r);
	return RULE_FOUND;
}

rule_status rule_none(rule_builder *b)
{
	(void)b;
	return RULE_BY_DESIGN;
}

rule_status rule_unknown(rule_builder *b)
{
	(void)b;
	return RULE_UNSUPPORTED;
}

static rule_status (*const rule_of_kind[OP_COUNT])(rule_builder *) = {
#define OP(id, text, form, in, out, regions, check, rule, cost, emit, flags) \
	[OP_##id] = rule_##rule,
#include "ir/ops.def"
#undef OP
};

static const ir_type *tensor_type(const module *m, const ir_op *o, uint32_t tensor)
{
	value_id v = tensor < o->n_operands ? m->slots.p[o->operands + tensor].value
										: o->results + (tensor - o->n_operands);
	return value_type(m, v);
}

/* A rule given as an attribute holds for an op with the same tensors. */
static bool rule_fits(const rule *r, const module *m, const ir_op *o)
{
	if (r->n_operands != o->n_operands || r->n_results != o->n_results)
		return false;
	for (uint32_t t = 0; t < o->n_operands + o->n_results; t++) {
		const ir_type *ty = tensor_type(m, o, t);
		if (r->tensor_first[t + 1] - r->tensor_first[t] != (ty->kind == TYPE_TENSOR ? ty->rank : 0))
			return false;
	}
	return true;
}

static bool builder_init(rule_builder *b, rule_table *t, const module *m, op_id o, bool any_size)
{
	const ir_op *op = op_at(m, o);
	if (op->n_operands > UINT16_MAX || op->n_results > UINT16_MAX)
		return false;
	*b = (rule_builder){.table = t,
		.m = m,
		.op = o,
		.n_operands = op->n_operands,
		.n_results = op->n_results,
		.n_tensors = op->n_operands + op->n_results};
	b->types = arena_array(&t->scratch, const ir_type *, b->n_tensors);
	b->first_dim = arena_array(&t->scratch, uint32_t, b->n_tensors + 1);
	b->first_dim[0] = 0;
	for (uint32_t i = 0; i < b->n_tensors; i++) {
		b->types[i] = tensor_type(m, op, i);
		if ((b->types[i]->dynamic && !any_size) || b->types[i]->kind == TYPE_TUPLE ||
			b->types[i]->kind == TYPE_OTHER)
			return false;
		b->first_dim[i + 1] = b->first_dim[i] + tensor_rank(b, i);
	}
	b->factors_of = arena_zarray(&t->scratch, uint16_t, b->first_dim[b->n_tensors]);
	return true;
}

static rule_status make_rule(rule_table *t, const module *m, op_id o, bool conservative,
	rule_status (*make)(rule_builder *), rule_id *out)
{
	*out = RULE_NONE;
	arena_mark mark = arena_save(&t->scratch);
	rule_builder b;
	rule_status st = RULE_UNSUPPORTED;
	if (builder_init(&b, t, m, o, t->any_size && make == rule_pointwise)) {
		b.conservative = conservative;
		st = make(&b);
		*out = b.built;
		vec_release(&b.uses);
	}
	arena_rewind(&t->scratch, mark);
	return st;
}

rule_status rule_of_op(rule_table *t, const module *m, op_id o, bool conservative, rule_id *out)
{
	*out = RULE_NONE;
	attr_id given = op_attr(m, o, "sdy.sharding_rule");
	if (given != ID_NONE && attr_get(m, given)->kind == ATTR_RULE) {
		if (rule_parse(t, attr_get(m, given)->text, false, out, NULL) != ST_OK ||
			!rule_fits(rule_get(t, *out), m, op_at(m, o)))
			return *out = RULE_NONE, RULE_UNSUPPORTED;
		return RULE_FOUND;
	}
	rule_status (*make)(rule_builder *) = rule_of_kind[op_at(m, o)->kind];
	if (make == rule_none)
		return RULE_BY_DESIGN;
	if (make == rule_unknown)
		return RULE_UNSUPPORTED;
	return make_rule(t, m, o, conservative, make, out);
}

/* ---------------------------------------------------------------- the memo */

enum { MEMO_HEADER = 3, MEMO_TENSORS = 8, MEMO_KEY = 2 + 2 * MEMO_TENSORS };

void rule_memo_init(rule_memo *x)
{
	*x = (rule_memo){0};
	index_init(&x->index);
}

void rule_memo_release(rule_memo *x)
{
	vec_release(&x->words);
	index_release(&x->index);
}

/* Which rules are kept, and the one list of dims that some of them depend on besides types. */
static const struct memo_row {
	rule_status (*make)(rule_builder *);
	const char *dims;
} memo_rows[] = {
	{rule_pointwise, NULL},
	{rule_reshape, NULL},
	{rule_select, NULL},
	{rule_broadcast_in_dim, "broadcast_dimensions"},
	{rule_transpose, "permutation"},
};

static uint32_t add_dims(const module *m, op_id o, const char *name, uint32_t *key)
{
	uint32_t n;
	const int64_t *dims = op_ints(m, o, name, &n);
	for (uint32_t i = 0; i < n && n <= MEMO_TENSORS; i++)
		key[i] = (uint32_t)dims[i];
	return n;
}

/* What tells two such ops apart, as words; 0 when the op is none of them. */
static uint32_t memo_key(const module *m, op_id o, uint32_t key[MEMO_KEY])
{
	const ir_op *op = op_at(m, o);
	uint32_t row = 0, n = op->n_operands + op->n_results, n_dims = 0;
	while (row < COUNT_OF(memo_rows) && memo_rows[row].make != rule_of_kind[op->kind])
		row++;
	if (row == COUNT_OF(memo_rows) || n > MEMO_TENSORS ||
		op_attr(m, o, "sdy.sharding_rule") != ID_NONE)
		return 0;
	key[0] = row;
	key[1] = op->n_operands;
	for (uint32_t i = 0; i < op->n_operands; i++)
		key[2 + i] = value_at(m, op_operand(m, o, i))->type;
	for (uint32_t i = 0; i < op->n_results; i++)
		key[2 + op->n_operands + i] = value_at(m, op->results + i)->type;
	if (memo_rows[row].dims)
		n_dims = add_dims(m, o, memo_rows[row].dims, key + 2 + n);
	return n_dims <= MEMO_TENSORS ? 2 + n + n_dims : 0;
}

rule_status rule_memo_get(
	rule_memo *x, rule_table *t, const module *m, op_id o, bool conservative, rule_id *out)
{
	uint32_t key[MEMO_KEY], n = memo_key(m, o, key), at;
	if (!n)
		return rule_of_op(t, m, o, conservative, out);
	uint64_t h = hash_bytes(key, n * sizeof *key, n);
	for (uint32_t it = index_first(&x->index, h); index_next(&x->index, h, &it, &at);) {
		const uint32_t *w = x->words.p + at;
		if (w[0] != n || memcmp(w + MEMO_HEADER, key, n * sizeof *key))
			continue;
		*out = w[2];
		return (rule_status)w[1];
	}
	rule_status st = rule_of_op(t, m, o, conservative, out);
	at = x->words.n;
	vec_reserve(&x->words, at + MEMO_HEADER + n);
	x->words.n += MEMO_HEADER + n;
	memcpy(x->words.p + at, (uint32_t[MEMO_HEADER]){n, st, *out}, MEMO_HEADER * sizeof *key);
	memcpy(x->words.p + at + MEMO_HEADER, key, n * sizeof *key);
	index_add(&x->index, h, at);
	return st;
}

rule_status rule_of_expansion(rule_table *t, const module *m, op_id o, rule_id *out)
{
	*out = RULE_NONE;
	if (op_at(m, o)->kind == OP_CHLO_TOP_K)
		return make_rule(t, m, o, false, rule_top_k, out);
	bool pointwise = op_elementwise(m, o) || op_at(m, o)->kind == OP_CHLO_NEXT_AFTER;
	return pointwise ? make_rule(t, m, o, false, rule_pointwise, out) : RULE_UNSUPPORTED;
}
