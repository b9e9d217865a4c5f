#include "layout/pieces.h"

static uint32_t collect(const sharding_edit *e, axis_ref *out)
{
	uint32_t n = 0;
	for (uint32_t d = 0; d < e->rank; d++)
		for (uint32_t i = 0; i < e->dims[d].axes.n; i++)
			out[n++] = e->dims[d].axes.a[i];
	for (uint32_t i = 0; i < e->unreduced.n; i++)
		out[n++] = e->unreduced.a[i];
	return n;
}

static void sort_refs(axis_ref *a, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		axis_ref x = a[i];
		uint32_t j = i;
		for (; j && a[j - 1] > x; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

static void add_piece(mesh_pieces *p, axis_ref a, bool used)
{
	p->a[p->n] = a;
	p->used[p->n++] = used;
}

void pieces_of(const sharding_table *t, const sharding_edit *e, mesh_pieces *out)
{
	const device_mesh *m = &t->meshes.p[e->mesh];
	axis_ref refs[(MAX_RANK + 1) * MAX_TENSOR_AXES];
	uint32_t n = collect(e, refs), next = 0;
	sort_refs(refs, n);
	out->n = 0;
	for (uint32_t axis = 0; axis < m->n_axes; axis++) {
		int64_t pre = 1;
		for (; next < n && axis_index(refs[next]) == axis; next++) {
			if (axis_pre(refs[next]) > pre)
				add_piece(out, axis_make(axis, pre, axis_pre(refs[next]) / pre), false);
			add_piece(out, refs[next], true);
			pre = axis_next_pre(refs[next]);
		}
		if (pre < m->axis_sizes[axis] || out->n == 0 || axis_index(out->a[out->n - 1]) != axis)
			add_piece(out, axis_make(axis, pre, m->axis_sizes[axis] / pre), false);
	}
}

uint32_t piece_find(const mesh_pieces *p, axis_ref a)
{
	uint32_t i = 0;
	while (p->a[i] != a)
		i++;
	return i;
}

/* ---------------------------------------------------------------- solving */

struct digit {
	axis_ref ref;
	int64_t weight;
};

/* The digits of one axis that the shard index depends on, minor first, read off the index along the
 * axis from position 0: a run of positions on which it stays 0 is a digit it does not depend on, a
 * run on which it grows in equal steps is one it does. false: the runs do not divide the axis.
 * Guesses only; pieces_solve verifies them all. */
static bool axis_digits(uint32_t axis, int64_t size, int64_t stride, uint32_t dim,
	shard_index_fn *fn, const void *ctx, struct digit *out, uint32_t *n, uint32_t room)
{
	for (int64_t post = 1; post < size;) {
		int64_t step = fn(ctx, post * stride, dim), run = 1;
		while (post * run < size && fn(ctx, post * run * stride, dim) == run * step)
			run++;
		if (size % (post * run))
			return false;
		if (step) {
			if (*n == room || step < 0)
				return false;
			out[(*n)++] = (struct digit){axis_make(axis, size / (post * run), run), step};
		}
		post *= run;
	}
	return true;
}

/* Orders digits by weight and checks that they are the digits of a mixed-radix number below parts.
 */
static bool assemble(struct digit *digits, uint32_t n, int64_t parts, axes_buf *out)
{
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t j = i; j && digits[j - 1].weight < digits[j].weight; j--) {
			struct digit x = digits[j];
			digits[j] = digits[j - 1];
			digits[j - 1] = x;
		}
	int64_t weight = parts;
	out->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (weight % axis_size(digits[i].ref))
			return false;
		weight /= axis_size(digits[i].ref);
		if (digits[i].weight != weight)
			return false;
		axes_push_merge(out, digits[i].ref);
	}
	return weight == 1;
}

static bool reproduces(
	const device_mesh *m, uint32_t dim, shard_index_fn *fn, const void *ctx, const axes_buf *list)
{
	int64_t divisor[MAX_TENSOR_AXES];
	for (uint32_t i = 0; i < list->n; i++) {
		uint32_t axis = axis_index(list->a[i]);
		divisor[i] = m->axis_sizes[axis] / axis_next_pre(list->a[i]);
		for (uint32_t k = axis + 1; k < m->n_axes; k++)
			divisor[i] *= m->axis_sizes[k];
	}
	for (int64_t p = 0; p < m->n_devices; p++) {
		int64_t index = 0;
		for (uint32_t i = 0; i < list->n; i++)
			index = index * axis_size(list->a[i]) + p / divisor[i] % axis_size(list->a[i]);
		if (index != fn(ctx, p, dim))
			return false;
	}
	return true;
}

static bool solve_dim(const device_mesh *m, uint32_t dim, int64_t parts, shard_index_fn *fn,
	const void *ctx, axes_buf *out)
{
	struct digit digits[MAX_TENSOR_AXES];
	uint32_t n = 0;
	int64_t stride = 1;
	out->n = 0;
	if (parts == 1)
		return true;
	for (uint32_t axis = m->n_axes; axis-- > 0;) {
		if (!axis_digits(
				axis, m->axis_sizes[axis], stride, dim, fn, ctx, digits, &n, COUNT_OF(digits)))
			return false;
		stride *= m->axis_sizes[axis];
	}
	return assemble(digits, n, parts, out) && reproduces(m, dim, fn, ctx, out);
}

status pieces_solve(const sharding_table *t, mesh_id m, uint32_t n_dims, const int64_t *parts,
	shard_index_fn *fn, const void *ctx, axes_buf *out, diag *d)
{
	for (uint32_t dim = 0; dim < n_dims; dim++)
		if (!solve_dim(&t->meshes.p[m], dim, parts[dim], fn, ctx, &out[dim]))
			return diag_set(d, ST_ERR_UNSUPPORTED,
				"no axes or sub-axes of the mesh give its devices the shards of dimension %u", dim);
	return ST_OK;
}
