/* Private to the checks: verify.c (structure), verify_types.c (arity, signatures, simple ops, the
 * walk), verify_shapes.c and verify_windows.c (ops whose attributes address dimensions),
 * verify_sdy.c (shardings of ops), verify_rule.c (sharding rules in the text). */
#ifndef SW_IR_VERIFY_H
#define SW_IR_VERIFY_H

#include "ir/ir.h"

typedef struct checker {
	const module *m;
	op_id o;
	diag *d;
	bool has_rules; /* some attribute has the name of a sharding rule */
	bool in_manual; /* a manual computation came before: what stands in one may not use its axes */
} checker;

typedef struct ints {
	const int64_t *v;
	uint32_t n;
} ints;

/* ST_ERR_INVALID at the op, "<name>: <message>". */
status fault(const checker *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static inline const ir_type *in_type(const checker *c, uint32_t i)
{
	return value_type(c->m, op_operand(c->m, c->o, i));
}
static inline const ir_type *out_type(const checker *c, uint32_t i)
{
	return value_type(c->m, op_result(c->m, c->o, i));
}
static inline bool same_size(int64_t a, int64_t b)
{
	return a == b || a == DIM_DYNAMIC || b == DIM_DYNAMIC;
}
bool same_dims(const ir_type *a, const ir_type *b);
status check_same_dims(const checker *c, const ir_type *a, const char *a_name, const ir_type *b,
	const char *b_name) MUST_USE;
/* Attribute as integers, empty when absent. */
ints get_ints(const checker *c, const char *path);
/* Each in [0, bound), none twice. */
status check_dim_list(const checker *c, const char *name, ints list, uint32_t bound) MUST_USE;
status check_length(const checker *c, const char *name, ints list, uint32_t n) MUST_USE;
/* A single dimension attribute in [0, rank). */
status check_dim(const checker *c, const char *name, uint32_t rank, uint32_t *out) MUST_USE;
status check_dim_size(
	const checker *c, const char *what, uint32_t d, int64_t found, int64_t wanted) MUST_USE;
status check_rank(const checker *c, const char *what, const ir_type *t, uint32_t rank) MUST_USE;
status check_scalar(const checker *c, uint32_t i) MUST_USE; /* operand i */
static inline bool in_list(ints l, int64_t v)
{
	for (uint32_t i = 0; i < l.n; i++)
		if (l.v[i] == v)
			return true;
	return false;
}

typedef status (*check_fn)(const checker *c);
/* One function per word of the check column in ops.def; true: it addresses dimensions, so every
 * operand and result must be a ranked tensor before it is called. */
/* clang-format off */
#define CHECK_WORDS(X) \
	X(pointwise, true) X(select, true) X(bitcast_convert, true) X(broadcast_in_dim, true) \
	X(constant, true) X(iota, true) X(pad, true) X(reshape, true) X(reverse, true) X(slice, true) \
	X(transpose, true) X(gather, true) X(dot_general, true) X(dot, true) X(convolution, true) \
	X(cholesky, true) X(triangular_solve, true) X(fft, true) X(batch_norm, true) \
	X(rng_bit_generator, true) X(pairs, true) X(top_k, true) X(concatenate, true) \
	X(dynamic_slice, true) X(dynamic_update_slice, true) X(scatter, true) X(reduce, true) \
	X(reduce_window, true) X(select_and_scatter, true) X(sort, true) X(all_gather, true) \
	X(reduce_scatter, true) X(all_to_all, true) \
	X(while, false) X(branches, false) X(call, false) X(func, false) X(get_tuple_element, false) \
	X(tuple, false) X(one_type, false) X(manual_computation, false) X(named_computation, false) \
	X(collective, false) X(edge, false) X(barrier, false) X(mesh, false)
/* clang-format on */
#define X(word, ranked) status check_##word(const checker *c);
CHECK_WORDS(X)
#undef X
enum {
#define X(word, ranked) RANKED_##word = ranked,
	CHECK_WORDS(X)
#undef X
		RANKED_none = false
};

status check_sharding_list(const checker *c, const char *name, uint32_t n, bool results) MUST_USE;
status check_no_result_sharding(
	const checker *c) MUST_USE; /* sdy.sharding of an op without results */
status check_free_axes(
	const checker *c, sharding_id id) MUST_USE; /* none is manual around the op */
status check_rule(const checker *c) MUST_USE;   /* sdy.sharding_rule, if it has one */

#endif
