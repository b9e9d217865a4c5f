/* Sizes that do not divide, as PyTorch and OneFlow cut them. Sources:
 * torch/distributed/tensor/placement_types.py (2.15), _split_tensor of Shard and _StridedShard;
 * oneflow/core/job/parallel_distribution_util.cpp, GetTensorSliceView4ParallelRank. */
#include "layout/pieces.h"

#include <stdlib.h>

enum { MAX_STRIDED_PIECES = 1 << 27 /* some seconds */ };
typedef VEC(index_range) range_list;

static void add_range(range_list *l, index_range r)
{
	if (r.begin == r.end)
		return;
	if (l->n && l->p[l->n - 1].end == r.begin)
		l->p[l->n - 1].end = r.end;
	else
		vec_push(l, r);
}

/* What [begin, end) of the elements in `from`, counted one after another, are; appended. */
static void take(const range_list *from, int64_t begin, int64_t end, range_list *out)
{
	int64_t before = 0;
	for (uint32_t i = 0; i < from->n && before < end; i++) {
		int64_t size = from->p[i].end - from->p[i].begin, lo = MAX(begin - before, 0),
				hi = MIN(end - before, size);
		if (lo < hi)
			add_range(out, (index_range){from->p[i].begin + lo, from->p[i].begin + hi});
		before += size;
	}
}

static int64_t count(const range_list *l)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < l->n; i++)
		n += l->p[i].end - l->p[i].begin;
	return n;
}

/* One axis of `parts` devices cuts each of `factor` pieces as torch.chunk does; device `index`
 * keeps its part of all. */
static void cut_pieces(
	const range_list *from, int64_t factor, int64_t parts, int64_t index, range_list *out)
{
	int64_t total = count(from), piece = ceil_div(total, factor);
	for (int64_t begin = 0; begin < total; begin += piece) {
		int64_t size = MIN(piece, total - begin), part = ceil_div(size, parts),
				lo = MIN(sat_mul(part, index), size);
		take(from, begin + lo, begin + MIN(sat_add(lo, part), size), out);
	}
}

static axes dim_axes(const layout *l, uint32_t dim, axis_ref *room)
{
	uint32_t n = 0;
	for (uint32_t i = l->first_digit[dim]; i < l->first_digit[dim + 1]; i++)
		room[n++] = l->digits.p[i].ref;
	return (axes){room, n};
}

static void torch_ranges(const layout *l, uint32_t dim, int64_t position, range_list *out)
{
	range_list before = {0}, after = {0};
	axis_ref refs[MAX_TENSOR_AXES];
	axes list = dim_axes(l, dim, refs);
	int64_t coordinates[MAX_MESH_AXES];
	layout_coordinates(l, position, coordinates);
	add_range(&before, (index_range){0, l->shape[dim]});
	for (uint32_t axis = 0; axis < l->n_axes; axis++) {
		bool cuts = false;
		for (uint32_t i = 0; i < list.n; i++)
			cuts = cuts || axis_index(list.a[i]) == axis;
		if (!cuts || l->axis_sizes[axis] == 1)
			continue;
		after.n = 0;
		cut_pieces(&before, split_factor(l->axis_sizes, list, axis), l->axis_sizes[axis],
			coordinates[axis], &after);
		range_list swap = before;
		before = after;
		after = swap;
	}
	vec_release(&after);
	*out = before;
}

/* What does not divide leaves devices with one range each, or is refused. */
static status check_torch(const layout *l, uint32_t dim, bool own_devices, diag *d)
{
	axis_ref refs[MAX_TENSOR_AXES];
	axes list = dim_axes(l, dim, refs);
	bool strided = false;
	int64_t pieces = l->n_devices;
	if (own_devices)
		return diag_set(d, ST_ERR_UNSUPPORTED,
			"dimension %u of size %lld does not divide by %lld: give the devices of the text as "
			"the mesh, PyTorch cuts along its axes",
			dim, (long long)l->shape[dim], (long long)l->parts[dim]);
	for (uint32_t axis = 0; axis < l->n_axes; axis++)
		for (uint32_t i = 0; i < list.n; i++) {
			if (axis_index(list.a[i]) != axis || l->axis_sizes[axis] == 1)
				continue;
			int64_t factor = split_factor(l->axis_sizes, list, axis);
			strided = strided || factor > 1;
			pieces = sat_mul(pieces, factor);
			if (factor == 0)
				return diag_set(d, ST_ERR_UNSUPPORTED,
					"dimension %u of size %lld does not divide by %lld: PyTorch has no placements "
					"for parts of axes",
					dim, (long long)l->shape[dim], (long long)l->parts[dim]);
		}
	if (strided && pieces > MAX_STRIDED_PIECES)
		return diag_set(d, ST_ERR_LIMIT,
			"dimension %u of size %lld does not divide by %lld: %lld pieces of strided shards, at "
			"most %d are followed",
			dim, (long long)l->shape[dim], (long long)l->parts[dim], (long long)pieces,
			MAX_STRIDED_PIECES);
	for (int64_t p = 0; strided && p < l->n_devices; p++) {
		range_list ranges;
		torch_ranges(l, dim, p, &ranges);
		uint32_t n = ranges.n;
		vec_release(&ranges);
		if (n > 1)
			return diag_set(d, ST_ERR_UNSUPPORTED,
				"dimension %u of size %lld does not divide by %lld: PyTorch gives device %lld %u "
				"separate ranges of it",
				dim, (long long)l->shape[dim], (long long)l->parts[dim],
				(long long)layout_device_at(l, p), n);
	}
	return ST_OK;
}

status cut_check(const layout *l, uint32_t dim, cut_rule cut, bool own_devices, diag *d)
{
	if (cut == CUT_TORCH)
		return check_torch(l, dim, own_devices, d);
	if (cut == CUT_EXACT)
		return diag_set(d, ST_ERR_UNSUPPORTED,
			"dimension %u of size %lld does not divide by %lld: MindSpore cuts only what divides",
			dim, (long long)l->shape[dim], (long long)l->parts[dim]);
	if (cut == CUT_BALANCED && (l->n_axes != 1 || own_devices))
		return diag_set(d, ST_ERR_UNSUPPORTED,
			"dimension %u of size %lld does not divide by %lld: OneFlow cuts such sizes only over "
			"devices in one row",
			dim, (long long)l->shape[dim], (long long)l->parts[dim]);
	if (cut == CUT_BALANCED && l->shape[dim] < l->parts[dim])
		return diag_set(d, ST_ERR_UNSUPPORTED,
			"dimension %u of size %lld leaves some of %lld devices nothing, which OneFlow refuses",
			dim, (long long)l->shape[dim], (long long)l->parts[dim]);
	return ST_OK;
}

index_range cut_range(const layout *l, uint32_t dim, int64_t position, int64_t index)
{
	int64_t size = l->shape[dim], parts = l->parts[dim];
	if (l->cut[dim] == CUT_TORCH) {
		range_list ranges;
		torch_ranges(l, dim, position, &ranges);
		index_range r = ranges.n ? ranges.p[0] : (index_range){size, size};
		vec_release(&ranges);
		return r;
	}
	if (l->cut[dim] == CUT_BALANCED) {
		int64_t begin = index * (size / parts) + MIN(index, size % parts);
		return (index_range){begin, begin + size / parts + (index < size % parts)};
	}
	int64_t begin = MIN(sat_mul(index, l->shard[dim]), size);
	return (index_range){begin, MIN(sat_add(begin, l->shard[dim]), size)};
}
