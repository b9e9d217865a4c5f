#include "propagate/propagate.h"

/* The part of a dim's axes that divides its size: whole axes while they do, then a sub-axis of the
 * common divisor. */
static bool trim_dim(const ir_type *ty, uint32_t d, axes_buf *l)
{
	int64_t left = ty->dims[d];
	if (left % axes_product(axes_of(l)) == 0)
		return false;
	axes_buf kept = {.n = 0};
	for (uint32_t i = 0; i < l->n && left > 0; i++) {
		int64_t size = axis_size(l->a[i]), g = gcd_i64(left, size);
		if (g == size && g > 1) { /* an axis of size 1 ends the list too */
			axes_push_merge(&kept, l->a[i]);
			left /= size;
			continue;
		}
		if (g > 1)
			axes_push_merge(&kept, axis_make(axis_index(l->a[i]), axis_pre(l->a[i]), g));
		break;
	}
	axes_copy(l, axes_of(&kept));
	return true;
}

sharding_id sharding_divisible_part(sharding_table *t, sharding_id id, const ir_type *ty)
{
	if (id == SHARDING_NONE || ty->kind != TYPE_TENSOR || ty->dynamic)
		return id;
	const sharding *s = sharding_get(t, id);
	bool divides = true;
	for (uint32_t d = 0; d < s->rank; d++)
		divides &= s->dims[d].n == 0 || ty->dims[d] % sharding_dim_parts(s, d) == 0;
	if (divides)
		return id;
	sharding_edit e;
	sharding_to_edit(t, id, &e);
	for (uint32_t d = 0; d < e.rank; d++)
		if (trim_dim(ty, d, &e.dims[d].axes))
			e.dims[d].priority = -1;
	return sharding_intern(t, &e);
}

void program_trim_io(const program *p, sharding_table *t, sharding_id *shardings)
{
	for (uint32_t i = 0; i < p->args.n; i++)
		shardings[p->args.p[i]] =
			sharding_divisible_part(t, shardings[p->args.p[i]], pval_type(p, p->args.p[i]));
	for (uint32_t i = 0; i < p->results.n; i++)
		shardings[p->results.p[i]] =
			sharding_divisible_part(t, shardings[p->results.p[i]], pval_type(p, p->results.p[i]));
}
