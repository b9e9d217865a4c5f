/* Shapes of ops whose attributes address single dimensions. */
#include "ir/verify.h"

status check_rank(const checker *c, const char *what, const ir_type *t, uint32_t rank)
{
	return t->rank == rank ? ST_OK
						   : fault(c, "%s has rank %u, expected %u (" STR_FMT ")", what, t->rank,
								 rank, STR_ARG(t->text));
}

status check_scalar(const checker *c, uint32_t i)
{
	const ir_type *t = in_type(c, i);
	return t->rank == 0
		? ST_OK
		: fault(c, "operand %u has type " STR_FMT ", expected a scalar", i, STR_ARG(t->text));
}

status check_bitcast_convert(const checker *c)
{
	const ir_type *a = in_type(c, 0), *b = out_type(c, 0), *low = a->rank < b->rank ? a : b,
				  *high = low == a ? b : a;
	if (high->rank - low->rank > 1)
		return fault(c, "ranks differ by more than one (" STR_FMT " vs " STR_FMT ")",
			STR_ARG(a->text), STR_ARG(b->text));
	for (uint32_t i = 0; i < low->rank; i++)
		TRY(check_dim_size(c, "the result", i, b->dims[i], a->dims[i]));
	return ST_OK;
}

status check_broadcast_in_dim(const checker *c)
{
	const ir_type *in = in_type(c, 0), *out = out_type(c, 0);
	ints dims = get_ints(c, "broadcast_dimensions");
	TRY(check_length(c, "broadcast_dimensions", dims, in->rank));
	TRY(check_dim_list(c, "broadcast_dimensions", dims, out->rank));
	for (uint32_t i = 0; i < dims.n; i++)
		if (in->dims[i] != 1 && !same_size(in->dims[i], out->dims[dims.v[i]]))
			return fault(c,
				"dimension %u of the operand is %lld, dimension %lld of the result %lld", i,
				(long long)in->dims[i], (long long)dims.v[i], (long long)out->dims[dims.v[i]]);
	return ST_OK;
}

status check_concatenate(const checker *c)
{
	const ir_type *out = out_type(c, 0);
	uint32_t dim;
	int64_t sum = 0;
	TRY(check_dim(c, "dimension", out->rank, &dim));
	for (uint32_t i = 0; i < op_at(c->m, c->o)->n_operands; i++) {
		const ir_type *t = in_type(c, i);
		TRY(check_rank(c, "an operand", t, out->rank));
		for (uint32_t d = 0; d < out->rank; d++)
			if (d != dim)
				TRY(check_dim_size(c, "an operand", d, t->dims[d], out->dims[d]));
		sum = t->dims[dim] == DIM_DYNAMIC || sum == DIM_DYNAMIC ? DIM_DYNAMIC
																: sat_add(sum, t->dims[dim]);
	}
	return check_dim_size(c, "the result", dim, out->dims[dim], sum);
}

status check_iota(const checker *c)
{
	uint32_t dim;
	return check_dim(c, "iota_dimension", out_type(c, 0)->rank, &dim);
}

status check_pad(const checker *c)
{
	const ir_type *in = in_type(c, 0), *out = out_type(c, 0);
	ints low = get_ints(c, "edge_padding_low"), high = get_ints(c, "edge_padding_high"),
		 inner = get_ints(c, "interior_padding");
	TRY(check_scalar(c, 1));
	TRY(check_rank(c, "the result", out, in->rank));
	TRY(check_length(c, "edge_padding_low", low, in->rank));
	TRY(check_length(c, "edge_padding_high", high, in->rank));
	TRY(check_length(c, "interior_padding", inner, in->rank));
	for (uint32_t d = 0; d < in->rank; d++) {
		if (inner.v[d] < 0)
			return fault(c, "interior_padding of dimension %u is %lld", d, (long long)inner.v[d]);
		if (in->dims[d] == DIM_DYNAMIC)
			continue;
		__int128 size = (__int128)low.v[d] + high.v[d] + in->dims[d] +
			(in->dims[d] > 0 ? (__int128)(in->dims[d] - 1) * inner.v[d] : 0);
		if (size < 0 || size > INT64_MAX)
			return fault(c, "dimension %u of the padded shape is out of range", d);
		TRY(check_dim_size(c, "the result", d, out->dims[d], (int64_t)size));
	}
	return ST_OK;
}

status check_reshape(const checker *c)
{
	const ir_type *in = in_type(c, 0), *out = out_type(c, 0);
	if (in->dynamic || out->dynamic || in->elements == out->elements)
		return ST_OK;
	return fault(c, "%lld elements become %lld (" STR_FMT " to " STR_FMT ")",
		(long long)in->elements, (long long)out->elements, STR_ARG(in->text), STR_ARG(out->text));
}

status check_reverse(const checker *c)
{
	TRY(check_same_dims(c, in_type(c, 0), "the operand", out_type(c, 0), "the result"));
	return check_dim_list(c, "dimensions", get_ints(c, "dimensions"), in_type(c, 0)->rank);
}

status check_slice(const checker *c)
{
	const ir_type *in = in_type(c, 0), *out = out_type(c, 0);
	ints start = get_ints(c, "start_indices"), limit = get_ints(c, "limit_indices"),
		 stride = get_ints(c, "strides");
	TRY(check_rank(c, "the result", out, in->rank));
	TRY(check_length(c, "start_indices", start, in->rank));
	TRY(check_length(c, "limit_indices", limit, in->rank));
	TRY(check_length(c, "strides", stride, in->rank));
	for (uint32_t d = 0; d < in->rank; d++) {
		bool inside = in->dims[d] == DIM_DYNAMIC || limit.v[d] <= in->dims[d];
		if (start.v[d] < 0 || limit.v[d] < start.v[d] || !inside || stride.v[d] < 1)
			return fault(c, "[%lld:%lld:%lld] is no range of dimension %u of " STR_FMT,
				(long long)start.v[d], (long long)limit.v[d], (long long)stride.v[d], d,
				STR_ARG(in->text));
		int64_t span = limit.v[d] - start.v[d];
		TRY(check_dim_size(
			c, "the result", d, out->dims[d], span / stride.v[d] + (span % stride.v[d] != 0)));
	}
	return ST_OK;
}

status check_transpose(const checker *c)
{
	const ir_type *in = in_type(c, 0), *out = out_type(c, 0);
	ints order = get_ints(c, "permutation");
	TRY(check_rank(c, "the result", out, in->rank));
	TRY(check_length(c, "permutation", order, in->rank));
	TRY(check_dim_list(c, "permutation", order, in->rank));
	for (uint32_t d = 0; d < in->rank; d++)
		TRY(check_dim_size(c, "the result", d, out->dims[d], in->dims[order.v[d]]));
	return ST_OK;
}

status check_dynamic_slice(const checker *c)
{
	const ir_type *in = in_type(c, 0), *out = out_type(c, 0);
	ints sizes = get_ints(c, "slice_sizes");
	if (op_at(c->m, c->o)->n_operands != 1u + in->rank)
		return fault(
			c, "%u start indices for rank %u", op_at(c->m, c->o)->n_operands - 1, in->rank);
	TRY(check_length(c, "slice_sizes", sizes, in->rank));
	TRY(check_rank(c, "the result", out, in->rank));
	for (uint32_t d = 0; d < in->rank; d++) {
		TRY(check_scalar(c, 1 + d));
		if (sizes.v[d] < 0 || (in->dims[d] != DIM_DYNAMIC && sizes.v[d] > in->dims[d]))
			return fault(c, "slice size %lld of dimension %u, which has %lld",
				(long long)sizes.v[d], d, (long long)in->dims[d]);
		TRY(check_dim_size(c, "the result", d, out->dims[d], sizes.v[d]));
	}
	return ST_OK;
}

status check_dynamic_update_slice(const checker *c)
{
	const ir_type *in = in_type(c, 0), *update = in_type(c, 1);
	if (op_at(c->m, c->o)->n_operands != 2u + in->rank)
		return fault(
			c, "%u start indices for rank %u", op_at(c->m, c->o)->n_operands - 2, in->rank);
	TRY(check_same_dims(c, in, "the operand", out_type(c, 0), "the result"));
	TRY(check_rank(c, "the update", update, in->rank));
	for (uint32_t d = 0; d < in->rank; d++) {
		TRY(check_scalar(c, 2 + d));
		if (update->dims[d] != DIM_DYNAMIC && in->dims[d] != DIM_DYNAMIC &&
			update->dims[d] > in->dims[d])
			return fault(c, "dimension %u of the update is %lld, larger than %lld", d,
				(long long)update->dims[d], (long long)in->dims[d]);
	}
	return ST_OK;
}

/* ---------------------------------------------------------------- gather and scatter */

/* The two ops mirror each other: `whole` is indexed, `part` has a window per index. */
struct indexing {
	const ir_type *whole, *indices, *part;
	const char *part_name;
	ints window_dims;       /* of part */
	ints dropped, batching; /* dims of whole that no window dim stands for */
	ints index_batching, index_map;
	int64_t vector_dim;
	const char *window_name, *dropped_name, *batching_name, *index_batching_name, *map_name;
};

static status check_index_dims(const checker *c, const struct indexing *x)
{
	if (x->vector_dim < 0 || x->vector_dim > x->indices->rank)
		return fault(c, "index_vector_dim is %lld, expected 0 to %u", (long long)x->vector_dim,
			x->indices->rank);
	TRY(check_dim_list(c, x->window_name, x->window_dims, x->part->rank));
	TRY(check_dim_list(c, x->dropped_name, x->dropped, x->whole->rank));
	TRY(check_dim_list(c, x->batching_name, x->batching, x->whole->rank));
	TRY(check_dim_list(c, x->index_batching_name, x->index_batching, x->indices->rank));
	TRY(check_dim_list(c, x->map_name, x->index_map, x->whole->rank));
	TRY(check_length(c, x->index_batching_name, x->index_batching, x->batching.n));
	for (uint32_t i = 0; i < x->batching.n; i++) {
		if (in_list(x->dropped, x->batching.v[i]) || in_list(x->index_map, x->batching.v[i]))
			return fault(c, "dimension %lld is in %s and in another list",
				(long long)x->batching.v[i], x->batching_name);
		if (x->index_batching.v[i] == x->vector_dim)
			return fault(c, "%s has the index vector dimension", x->index_batching_name);
		TRY(check_dim_size(c, "the indices", (uint32_t)x->index_batching.v[i],
			x->indices->dims[x->index_batching.v[i]], x->whole->dims[x->batching.v[i]]));
	}
	int64_t per_vector = x->vector_dim < x->indices->rank ? x->indices->dims[x->vector_dim] : 1;
	if (!same_size(per_vector, x->index_map.n))
		return fault(c, "%s has %u entries, an index vector has %lld", x->map_name, x->index_map.n,
			(long long)per_vector);
	return ST_OK;
}

/* Ranks, and the batch dims of part, which are those of the indices without the vector dim. sizes:
 * of the windows, by dim of whole; NULL when only bounded by whole. */
static status check_windows(const checker *c, const struct indexing *x, const int64_t *sizes)
{
	uint32_t n_batch = x->indices->rank - (x->vector_dim < x->indices->rank), batch = 0, dim = 0;
	TRY(check_length(
		c, x->window_name, x->window_dims, x->whole->rank - x->dropped.n - x->batching.n));
	TRY(check_rank(c, x->part_name, x->part, x->window_dims.n + n_batch));
	for (uint32_t d = 0; d < x->part->rank; d++) {
		if (!in_list(x->window_dims, d)) {
			batch += batch == x->vector_dim;
			TRY(check_dim_size(c, x->part_name, d, x->part->dims[d], x->indices->dims[batch++]));
			continue;
		}
		while (in_list(x->dropped, dim) || in_list(x->batching, dim))
			dim++;
		int64_t most = x->whole->dims[dim], size = x->part->dims[d];
		if (sizes)
			TRY(check_dim_size(c, x->part_name, d, size, sizes[dim]));
		else if (size != DIM_DYNAMIC && most != DIM_DYNAMIC && size > most)
			return fault(c, "dimension %u of %s is %lld, larger than %lld", d, x->part_name,
				(long long)size, (long long)most);
		dim++;
	}
	return ST_OK;
}

/* Window dims are listed in ascending order; dropped and batching dims together leave room for
 * them. */
static status check_room(const checker *c, const struct indexing *x)
{
	for (uint32_t i = 1; i < x->window_dims.n; i++)
		if (x->window_dims.v[i] <= x->window_dims.v[i - 1])
			return fault(c, "%s is not ascending", x->window_name);
	if (x->dropped.n + x->batching.n > x->whole->rank)
		return fault(c, "%s and %s have more dimensions than the operand", x->dropped_name,
			x->batching_name);
	return ST_OK;
}

status check_gather(const checker *c)
{
	struct indexing x = {
		.whole = in_type(c, 0),
		.indices = in_type(c, 1),
		.part = out_type(c, 0),
		.part_name = "the result",
		.window_dims = get_ints(c, "dimension_numbers.offset_dims"),
		.window_name = "offset_dims",
		.dropped = get_ints(c, "dimension_numbers.collapsed_slice_dims"),
		.dropped_name = "collapsed_slice_dims",
		.batching = get_ints(c, "dimension_numbers.operand_batching_dims"),
		.batching_name = "operand_batching_dims",
		.index_batching = get_ints(c, "dimension_numbers.start_indices_batching_dims"),
		.index_batching_name = "start_indices_batching_dims",
		.index_map = get_ints(c, "dimension_numbers.start_index_map"),
		.map_name = "start_index_map",
		.vector_dim = op_int(c->m, c->o, "dimension_numbers.index_vector_dim", 0),
	};
	ints sizes = get_ints(c, "slice_sizes");
	TRY(check_index_dims(c, &x));
	TRY(check_room(c, &x));
	TRY(check_length(c, "slice_sizes", sizes, x.whole->rank));
	for (uint32_t d = 0; d < x.whole->rank; d++) {
		bool single = in_list(x.dropped, d) || in_list(x.batching, d);
		if (sizes.v[d] < 0 || (x.whole->dims[d] != DIM_DYNAMIC && sizes.v[d] > x.whole->dims[d]) ||
			(single && sizes.v[d] > 1))
			return fault(c, "slice size %lld of dimension %u of " STR_FMT, (long long)sizes.v[d], d,
				STR_ARG(x.whole->text));
	}
	return check_windows(c, &x, sizes.v);
}

status check_scatter(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	if (op->n_operands != 2 * op->n_results + 1)
		return fault(c, "%u operands for %u results", op->n_operands, op->n_results);
	if (op_region(c->m, c->o, 0)->n_args != 2 * op->n_results)
		return fault(c, "the body has %u arguments, expected %u", op_region(c->m, c->o, 0)->n_args,
			2 * op->n_results);
	for (uint32_t i = 0; i < op->n_results; i++) {
		TRY(check_same_dims(c, in_type(c, i), "an input", out_type(c, i), "its result"));
		TRY(check_same_dims(c, in_type(c, i), "an input", in_type(c, 0), "the first input"));
		TRY(check_same_dims(c, in_type(c, op->n_results + 1 + i), "an update",
			in_type(c, op->n_results + 1), "the first update"));
	}
	struct indexing x = {
		.whole = in_type(c, 0),
		.indices = in_type(c, op->n_results),
		.part = in_type(c, op->n_results + 1),
		.part_name = "the update",
		.window_dims = get_ints(c, "scatter_dimension_numbers.update_window_dims"),
		.window_name = "update_window_dims",
		.dropped = get_ints(c, "scatter_dimension_numbers.inserted_window_dims"),
		.dropped_name = "inserted_window_dims",
		.batching = get_ints(c, "scatter_dimension_numbers.input_batching_dims"),
		.batching_name = "input_batching_dims",
		.index_batching = get_ints(c, "scatter_dimension_numbers.scatter_indices_batching_dims"),
		.index_batching_name = "scatter_indices_batching_dims",
		.index_map = get_ints(c, "scatter_dimension_numbers.scatter_dims_to_operand_dims"),
		.map_name = "scatter_dims_to_operand_dims",
		.vector_dim = op_int(c->m, c->o, "scatter_dimension_numbers.index_vector_dim", 0),
	};
	TRY(check_index_dims(c, &x));
	TRY(check_room(c, &x));
	return check_windows(c, &x, NULL);
}

/* ---------------------------------------------------------------- contractions */

static status check_pair(const checker *c, const char *what, ints left, ints right)
{
	const ir_type *l = in_type(c, 0), *r = in_type(c, 1);
	if (left.n != right.n)
		return fault(c, "%u %s dims on the left, %u on the right", left.n, what, right.n);
	TRY(check_dim_list(c, what, left, l->rank));
	TRY(check_dim_list(c, what, right, r->rank));
	for (uint32_t i = 0; i < left.n; i++)
		if (!same_size(l->dims[left.v[i]], r->dims[right.v[i]]))
			return fault(c, "%s dims differ (%lld vs %lld)", what, (long long)l->dims[left.v[i]],
				(long long)r->dims[right.v[i]]);
	return ST_OK;
}

status check_dot_general(const checker *c)
{
	const ir_type *in[2] = {in_type(c, 0), in_type(c, 1)}, *out = out_type(c, 0);
	ints batch[2] = {get_ints(c, "dot_dimension_numbers.lhs_batching_dimensions"),
		get_ints(c, "dot_dimension_numbers.rhs_batching_dimensions")};
	ints inner[2] = {get_ints(c, "dot_dimension_numbers.lhs_contracting_dimensions"),
		get_ints(c, "dot_dimension_numbers.rhs_contracting_dimensions")};
	TRY(check_pair(c, "batching", batch[0], batch[1]));
	TRY(check_pair(c, "contracting", inner[0], inner[1]));
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < batch[side].n; i++)
			if (in_list(inner[side], batch[side].v[i]))
				return fault(
					c, "dimension %lld is batching and contracting", (long long)batch[side].v[i]);
	TRY(check_rank(c, "the result", out, in[0]->rank + in[1]->rank - batch[0].n - 2 * inner[0].n));
	uint32_t at = 0;
	for (uint32_t i = 0; i < batch[0].n; i++, at++)
		TRY(check_dim_size(c, "the result", at, out->dims[at], in[0]->dims[batch[0].v[i]]));
	for (int side = 0; side < 2; side++)
		for (uint32_t d = 0; d < in[side]->rank; d++) {
			if (in_list(batch[side], d) || in_list(inner[side], d))
				continue;
			TRY(check_dim_size(c, "the result", at, out->dims[at], in[side]->dims[d]));
			at++;
		}
	return ST_OK;
}

status check_dot(const checker *c)
{
	const ir_type *l = in_type(c, 0), *r = in_type(c, 1), *out = out_type(c, 0);
	if (l->rank < 1 || l->rank > 2 || r->rank < 1 || r->rank > 2)
		return fault(c, "operands of rank %u and %u, expected 1 or 2", l->rank, r->rank);
	if (!same_size(l->dims[l->rank - 1], r->dims[0]))
		return fault(c, "contracting dims differ (%lld vs %lld)", (long long)l->dims[l->rank - 1],
			(long long)r->dims[0]);
	TRY(check_rank(c, "the result", out, l->rank + r->rank - 2));
	if (l->rank == 2)
		TRY(check_dim_size(c, "the result", 0, out->dims[0], l->dims[0]));
	return r->rank == 2
		? check_dim_size(c, "the result", out->rank - 1, out->dims[out->rank - 1], r->dims[1])
		: ST_OK;
}

status check_reduce(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	uint32_t n = op->n_results;
	const ir_type *in = in_type(c, 0);
	ints dims = get_ints(c, "dimensions");
	if (op->n_operands != 2 * n)
		return fault(c, "%u operands for %u results", op->n_operands, n);
	if (op_region(c->m, c->o, 0)->n_args != 2 * n)
		return fault(
			c, "the body has %u arguments, expected %u", op_region(c->m, c->o, 0)->n_args, 2 * n);
	TRY(check_dim_list(c, "dimensions", dims, in->rank));
	for (uint32_t i = 0; i < n; i++) {
		TRY(check_same_dims(c, in_type(c, i), "an input", in, "the first input"));
		TRY(check_scalar(c, n + i));
		TRY(check_rank(c, "a result", out_type(c, i), in->rank - dims.n));
		for (uint32_t d = 0, at = 0; d < in->rank; d++)
			if (!in_list(dims, d)) {
				TRY(check_dim_size(c, "a result", at, out_type(c, i)->dims[at], in->dims[d]));
				at++;
			}
	}
	return ST_OK;
}

status check_sort(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	const ir_type *in = in_type(c, 0);
	int64_t dim = op_int(c->m, c->o, "dimension", -1);
	if (op->n_operands != op->n_results)
		return fault(c, "%u results for %u operands", op->n_results, op->n_operands);
	if (op_region(c->m, c->o, 0)->n_args != 2 * op->n_operands)
		return fault(c, "the comparator has %u arguments, expected %u",
			op_region(c->m, c->o, 0)->n_args, 2 * op->n_operands);
	if (in->rank && (dim < -(int64_t)in->rank || dim >= in->rank))
		return fault(c, "dimension is %lld, the rank %u", (long long)dim, in->rank);
	for (uint32_t i = 0; i < op->n_operands; i++) {
		TRY(check_same_dims(c, in_type(c, i), "an operand", in, "the first operand"));
		TRY(check_same_dims(c, in_type(c, i), "an operand", out_type(c, i), "its result"));
	}
	return ST_OK;
}

/* ---------------------------------------------------------------- linear algebra */

static status check_square(const checker *c, const ir_type *t)
{
	if (t->rank >= 2 && same_size(t->dims[t->rank - 1], t->dims[t->rank - 2]))
		return ST_OK;
	return fault(c, "expected square matrices, found " STR_FMT, STR_ARG(t->text));
}

status check_cholesky(const checker *c)
{
	TRY(check_square(c, in_type(c, 0)));
	return check_same_dims(c, in_type(c, 0), "the operand", out_type(c, 0), "the result");
}

status check_triangular_solve(const checker *c)
{
	const ir_type *a = in_type(c, 0), *b = in_type(c, 1);
	attr_id left = op_attr(c->m, c->o, "left_side");
	bool left_side = left == ID_NONE || attr_get(c->m, left)->i;
	TRY(check_square(c, a));
	TRY(check_rank(c, "the right side", b, a->rank));
	TRY(check_same_dims(c, b, "the right side", out_type(c, 0), "the result"));
	for (uint32_t d = 0; d + 2 < a->rank; d++)
		TRY(check_dim_size(c, "the right side", d, b->dims[d], a->dims[d]));
	uint32_t d = left_side ? a->rank - 2 : a->rank - 1;
	return check_dim_size(c, "the right side", d, b->dims[d], a->dims[a->rank - 1]);
}

status check_fft(const checker *c)
{
	const ir_type *in = in_type(c, 0), *out = out_type(c, 0);
	ints length = get_ints(c, "fft_length");
	if (length.n < 1 || length.n > 3 || length.n > in->rank)
		return fault(
			c, "fft_length has %u entries for rank %u, expected 1 to 3", length.n, in->rank);
	TRY(check_rank(c, "the result", out, in->rank));
	for (uint32_t d = 0; d + 1 < in->rank; d++)
		TRY(check_dim_size(c, "the result", d, out->dims[d], in->dims[d]));
	return ST_OK;
}

status check_batch_norm(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	const ir_type *in = in_type(c, 0);
	uint32_t feature;
	TRY(check_dim(c, "feature_index", in->rank, &feature));
	for (uint32_t i = 1; i < op->n_operands + op->n_results; i++) {
		const ir_type *t = i < op->n_operands ? in_type(c, i) : out_type(c, i - op->n_operands);
		if (i == op->n_operands || (op->kind == OP_BATCH_NORM_GRAD && i == op->n_operands - 1)) {
			TRY(check_same_dims(c, t, "a tensor", in, "the operand"));
			continue;
		}
		TRY(check_rank(c, "a per-feature tensor", t, 1));
		TRY(check_dim_size(c, "a per-feature tensor", 0, t->dims[0], in->dims[feature]));
	}
	return ST_OK;
}

status check_rng_bit_generator(const checker *c)
{
	return check_same_dims(c, in_type(c, 0), "the state", out_type(c, 0), "the new state");
}

status check_top_k(const checker *c)
{
	const ir_type *in = in_type(c, 0);
	int64_t k = op_int(c->m, c->o, "k", -1);
	if (in->rank == 0 || k < 0 ||
		(in->dims[in->rank - 1] != DIM_DYNAMIC && k > in->dims[in->rank - 1]))
		return fault(c, "the %lld largest of " STR_FMT, (long long)k, STR_ARG(in->text));
	for (uint32_t i = 0; i < 2; i++) {
		TRY(check_rank(c, "a result", out_type(c, i), in->rank));
		for (uint32_t d = 0; d < in->rank; d++)
			TRY(check_dim_size(
				c, "a result", d, out_type(c, i)->dims[d], d + 1 == in->rank ? k : in->dims[d]));
	}
	return ST_OK;
}

/* ---------------------------------------------------------------- collectives */

/* Dim d of each operand and result but `free` agree. */
static status check_others(const checker *c, uint32_t free, uint32_t free2)
{
	const ir_op *op = op_at(c->m, c->o);
	if (op->n_operands != op->n_results)
		return fault(c, "%u results for %u operands", op->n_results, op->n_operands);
	for (uint32_t i = 0; i < op->n_operands; i++) {
		TRY(check_rank(c, "an operand", in_type(c, i), in_type(c, 0)->rank));
		TRY(check_rank(c, "a result", out_type(c, i), in_type(c, i)->rank));
		for (uint32_t d = 0; d < in_type(c, i)->rank; d++)
			if (d != free && d != free2)
				TRY(check_dim_size(
					c, "a result", d, out_type(c, i)->dims[d], in_type(c, i)->dims[d]));
	}
	return ST_OK;
}

status check_all_gather(const checker *c)
{
	uint32_t d;
	TRY(check_dim(c, "all_gather_dim", in_type(c, 0)->rank, &d));
	return check_others(c, d, d);
}

status check_reduce_scatter(const checker *c)
{
	uint32_t d;
	TRY(check_dim(c, "scatter_dimension", in_type(c, 0)->rank, &d));
	return check_others(c, d, d);
}

status check_all_to_all(const checker *c)
{
	uint32_t from, to;
	TRY(check_dim(c, "split_dimension", in_type(c, 0)->rank, &from));
	TRY(check_dim(c, "concat_dimension", in_type(c, 0)->rank, &to));
	return check_others(c, from, to);
}
