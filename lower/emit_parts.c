/* What one device holds of a value. Along a dim of `size` elements that is cut into n parts every
 * device has ceil(size / n) of them, device k those from k * ceil(size / n) on: the last ones may
 * be padding, whose contents nobody may look at. Partial sums (unreduced axes) of a whole value are
 * the value on the first device and zeros on the others. */
#include "lower/emit.h"

int64_t emit_part(int64_t size, int64_t parts) { return size / parts + (size % parts != 0); }

type_id emit_local_type(emitter *e, type_id type, sharding_id sh)
{
	const ir_type *t = type_get(e->m, type);
	const sharding *s = sharding_get(e->m->shardings, sh);
	if (t->kind != TYPE_TENSOR || s->rank != t->rank)
		return type;
	int64_t dims[MAX_RANK];
	for (uint32_t d = 0; d < t->rank; d++)
		dims[d] = emit_part(t->dims[d], sharding_dim_parts(s, d));
	return type_tensor(e->m, t->elem, t->rank, dims);
}

bool emit_is_even(const emitter *e, type_id type, sharding_id sh)
{
	const ir_type *t = type_get(e->m, type);
	const sharding *s = sharding_get(e->m->shardings, sh);
	for (uint32_t d = 0; t->kind == TYPE_TENSOR && s->rank == t->rank && d < t->rank; d++)
		if (t->dims[d] % sharding_dim_parts(s, d))
			return false;
	return true;
}

bool emit_cuts_nest(int64_t size, int64_t a, int64_t b)
{
	int64_t few = MIN(a, b), many = MAX(a, b);
	return few == 1 ||
		(many % few == 0 && emit_part(size, few) == many / few * emit_part(size, many));
}

/* ---------------------------------------------------------------- padding */

/* NULL: no zero of the element type can be written. */
static const char *zero_text(elem k)
{
	if (k == ELEM_QUANT || k == ELEM_F8E8M0FNU)
		return NULL;
	if (k == ELEM_I1)
		return "false";
	if (k == ELEM_C64 || k == ELEM_C128)
		return "(0.000000e+00,0.000000e+00)";
	return elem_is_int(k) ? "0" : "0.000000e+00";
}

bool emit_has_zero(const emitter *e, type_id type)
{
	return zero_text((elem)type_get(e->m, type)->elem) != NULL;
}

static value_id emit_zero(emitter *e, type_id type)
{
	return emit_constant(e, type, zero_text((elem)type_get(e->m, type)->elem));
}

value_id emit_scalar_zero(emitter *e, value_id like)
{
	return emit_zero(e, type_tensor(e->m, value_type(e->m, like)->elem, 0, NULL));
}

static value_id cut_end(emitter *e, value_id v, type_id type)
{
	uint32_t rank = type_get(e->m, type)->rank;
	int64_t zeros[MAX_RANK] = {0}, ones[MAX_RANK];
	for (uint32_t d = 0; d < rank; d++)
		ones[d] = 1;
	op_id o = emit_op(e, OP_SLICE, &v, 1, type, 0);
	op_attr_set(e->m, o, "start_indices", attr_ints(e->m, zeros, rank));
	op_attr_set(e->m, o, "limit_indices", attr_ints(e->m, type_get(e->m, type)->dims, rank));
	op_attr_set(e->m, o, "strides", attr_ints(e->m, ones, rank));
	return op_result(e->m, o, 0);
}

static value_id pad_end(emitter *e, value_id v, type_id type)
{
	uint32_t rank = type_get(e->m, type)->rank;
	int64_t zeros[MAX_RANK] = {0}, high[MAX_RANK];
	for (uint32_t d = 0; d < rank; d++)
		high[d] = type_get(e->m, type)->dims[d] - value_type(e->m, v)->dims[d];
	const value_id operands[2] = {v, emit_scalar_zero(e, v)};
	op_id o = emit_op(e, OP_PAD, operands, 2, type, 0);
	op_attr_set(e->m, o, "edge_padding_low", attr_ints(e->m, zeros, rank));
	op_attr_set(e->m, o, "edge_padding_high", attr_ints(e->m, high, rank));
	op_attr_set(e->m, o, "interior_padding", attr_ints(e->m, zeros, rank));
	return op_result(e->m, o, 0);
}

type_id emit_resized_type(emitter *e, value_id v, uint32_t d, int64_t size)
{
	const ir_type *t = value_type(e->m, v);
	int64_t dims[MAX_RANK];
	memcpy(dims, t->dims, t->rank * sizeof *dims);
	dims[d] = size;
	return type_tensor(e->m, t->elem, t->rank, dims);
}

value_id emit_resized(emitter *e, value_id v, uint32_t d, int64_t size)
{
	int64_t now = value_type(e->m, v)->dims[d];
	if (now == size)
		return v;
	type_id type = emit_resized_type(e, v, d, size);
	return now < size ? pad_end(e, v, type) : cut_end(e, v, type);
}

value_id emit_broadcast(emitter *e, value_id v, const int64_t *dims, uint32_t n, const ir_type *to)
{
	op_id o = emit_op(e, OP_BROADCAST_IN_DIM, &v, 1,
		type_tensor(e->m, value_type(e->m, v)->elem, to->rank, to->dims), 0);
	op_attr_set(e->m, o, "broadcast_dimensions", attr_ints(e->m, dims, n));
	return op_result(e->m, o, 0);
}

static value_id spread(emitter *e, value_id scalar, const ir_type *to)
{
	return emit_broadcast(e, scalar, NULL, 0, to);
}

static void set_word(emitter *e, op_id o, const char *name, const char *word)
{
	strbuf text;
	strbuf_init(&text);
	strbuf_printf(
		&text, "#stablehlo<%s %s>", !strcmp(name, "compare_type") ? "comparison_type" : name, word);
	const attr a = {.kind = ATTR_ENUM,
		.type = ID_NONE,
		.text = {arena_strdup(&e->m->mem, text.p, text.n), text.n},
		.word = {word, strlen(word)}};
	strbuf_release(&text);
	op_attr_set(e->m, o, name, attr_new(e->m, &a));
}

value_id emit_compare(emitter *e, const char *way, value_id a, value_id b)
{
	const ir_type t = *value_type(e->m, a);
	const value_id operands[2] = {a, b};
	op_id o = emit_op(e, OP_COMPARE, operands, 2, type_tensor(e->m, ELEM_I1, t.rank, t.dims), 0);
	set_word(e, o, "comparison_direction", way);
	return op_result(e->m, o, 0);
}

value_id emit_compare_totally(emitter *e, const char *way, value_id a, value_id b)
{
	value_id v = emit_compare(e, way, a, b);
	if (!elem_is_int((elem)value_type(e->m, a)->elem))
		set_word(e, value_def(e->m, v), "compare_type", "TOTALORDER");
	return v;
}

value_id emit_select(emitter *e, value_id where, value_id v, value_id otherwise)
{
	const ir_type t = *value_type(e->m, v);
	const value_id operands[3] = {where, v, spread(e, otherwise, &t)};
	return op_result(e->m, emit_op(e, OP_SELECT, operands, 3, value_at(e->m, v)->type, 0), 0);
}

static value_id emit_i32(emitter *e, int64_t x)
{
	char text[24];
	snprintf(text, sizeof text, "%lld", (long long)x);
	return emit_constant(e, type_tensor(e->m, ELEM_I32, 0, NULL), text);
}

value_id emit_masked(emitter *e, value_id v, uint32_t d, axes cut, int64_t size, value_id fill)
{
	const ir_type t = *value_type(e->m, v);
	op_id iota = emit_op(e, OP_IOTA, NULL, 0, type_tensor(e->m, ELEM_I32, t.rank, t.dims), 0);
	op_attr_set(e->m, iota, "iota_dimension", attr_int(e->m, d, "i64"));
	const value_id sum[2] = {
		op_result(e->m, iota, 0), spread(e, emit_offset(e, cut, t.dims[d]), &t)};
	value_id position =
		op_result(e->m, emit_op(e, OP_ADD, sum, 2, value_at(e->m, sum[0])->type, 0), 0);
	return emit_select(e, emit_compare(e, "LT", position, spread(e, emit_i32(e, size), &t)), v,
		fill == ID_NONE ? emit_scalar_zero(e, v) : fill);
}

value_id emit_summand(emitter *e, value_id v, axes l)
{
	const ir_type t = *value_type(e->m, v);
	if (is_made_zero(e->m, v))
		return v;
	return emit_select(e,
		emit_compare(e, "LT", spread(e, emit_offset(e, l, 1), &t), spread(e, emit_i32(e, 1), &t)),
		v, emit_scalar_zero(e, v));
}

/* ---------------------------------------------------------------- whole values and back */

value_id emit_whole(emitter *e, value_id v, type_id type, sharding_id sh)
{
	const sharding *s = sharding_get(e->m->shardings, sh);
	if (s->n_unreduced)
		v = emit_sum(e, v, sharding_unreduced(s), OP_ADD);
	for (uint32_t d = 0; d < s->rank; d++)
		if (s->dims[d].n)
			v = emit_gather(e, v, d, sharding_dim(s, d), type_get(e->m, type)->dims[d]);
	return v;
}

value_id emit_shard(emitter *e, value_id v, sharding_id sh)
{
	const sharding *s = sharding_get(e->m->shardings, sh);
	for (uint32_t d = 0; d < s->rank; d++)
		if (s->dims[d].n)
			v = emit_slice(e, v, d, sharding_dim(s, d),
				emit_part(value_type(e->m, v)->dims[d], sharding_dim_parts(s, d)));
	return s->n_unreduced ? emit_summand(e, v, sharding_unreduced(s)) : v;
}
