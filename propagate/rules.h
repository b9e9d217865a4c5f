/* Building one sharding rule; private to propagate/. Factors are numbered in the order they are
 * added; build gives every dim left without a factor one of size 1, operands first. A dim out of
 * range or too many factors make the whole rule unsupported, so that the rule of an op reads
 * straight through without checks. */
#ifndef SW_RULES_H
#define SW_RULES_H

#include "propagate/propagate.h"

#define DIM_NONE INT64_MIN

typedef struct factor_use {
	uint32_t dim; /* index over the dims of all tensors */
	uint16_t factor;
} factor_use;

typedef struct rule_builder {
	rule_table *table;
	const module *m;
	op_id op;
	bool conservative, broken, custom, swapped;
	uint32_t n_operands, n_results, n_tensors, n_factors;
	const ir_type **types; /* per tensor; tokens and other types without dims count as rank 0 */
	uint32_t *first_dim;   /* n_tensors + 1 */
	uint16_t *factors_of;  /* per dim: how many factors it has */
	VEC(factor_use) uses;
	int64_t sizes[MAX_FACTORS];
	uint8_t kinds[MAX_FACTORS];
	uint64_t blocked;
	rule_id built;
} rule_builder;

/* A new factor; its index. */
uint32_t factor_add(rule_builder *b, int64_t size, factor_type kind);
/* Maps a factor to a dim; DIM_NONE maps nothing. Size-1 factors do not join a dim that already has
 * one. */
void factor_map(rule_builder *b, uint32_t factor, uint32_t tensor, int64_t dim);
/* Maps it to the same dim of tensors [from, to), scalars skipped. */
void factor_map_all(rule_builder *b, uint32_t factor, uint32_t from, uint32_t to, int64_t dim);
/* factor_add with dim of operand 0 and result 0: the shape of most one-operand rules. */
uint32_t factor_unary(
	rule_builder *b, int64_t operand_dim, int64_t result_dim, int64_t size, factor_type kind);
/* The same dim of every tensor. */
uint32_t factor_pointwise(rule_builder *b, int64_t dim, int64_t size, factor_type kind);
void factor_block(rule_builder *b, uint32_t factor);
rule_status rule_build(rule_builder *b);

static inline uint32_t tensor_rank(const rule_builder *b, uint32_t tensor)
{
	return b->types[tensor]->kind == TYPE_TENSOR ? b->types[tensor]->rank : 0;
}
/* Size of a dim; breaks the rule (and says 1) when there is no such dim. */
int64_t tensor_dim(rule_builder *b, uint32_t tensor, int64_t dim);
static inline uint32_t first_result(const rule_builder *b) { return b->n_operands; }
/* The same with the list read from the op; a missing list is an error of the rule. */
const int64_t *rule_ints(rule_builder *b, const char *path, uint32_t *n);
/* At least that many operands and results; breaks the rule otherwise. */
bool rule_needs(rule_builder *b, uint32_t operands, uint32_t results);

rule_id rule_intern(rule_table *t, const rule *r);

/* Rules that depend on little more than the types of an op's operands and results (elementwise ops,
 * reshapes, broadcasts: most ops of a program), each made once. One memo serves one module, one
 * table and one setting of conservative. */
typedef struct rule_memo {
	VEC(uint32_t) words; /* entries: words of the key, status, rule, key */
	index_map index;
} rule_memo;
void rule_memo_init(rule_memo *x);
void rule_memo_release(rule_memo *x);
/* rule_of_op through it. */
rule_status rule_memo_get(
	rule_memo *x, rule_table *t, const module *m, op_id o, bool conservative, rule_id *out);

/* One function per word of the rule column in ops.def. */
/* clang-format off */
#define RULE_WORDS(X) \
	X(none) X(unknown) X(pointwise) X(select) X(bitcast_convert) X(broadcast_in_dim) X(concatenate) X(pad) \
	X(reshape) X(reverse) X(slice) X(transpose) X(dynamic_slice) X(dynamic_update_slice) X(gather) X(scatter) \
	X(dot_general) X(dot) X(convolution) X(reduce) X(reduce_window) X(select_and_scatter) X(sort) X(cholesky) \
	X(triangular_solve) X(fft) X(batch_norm_inference) X(rng_bit_generator) X(custom_call) X(all_gather) \
	X(reduce_scatter) X(all_to_all)
/* clang-format on */
#define X(word) rule_status rule_##word(rule_builder *b);
RULE_WORDS(X)
#undef X
rule_status rule_top_k(rule_builder *b);

#endif
