#include "ir/ir.h"

/* A reference covers the interval [pre, next_pre) of its axis. Two intervals of one axis describe
 * digits of the same mixed-radix number only when their four ends divide one another in order;
 * Shardy calls that "can coexist". The ends of a full axis are 1 and the axis size, which every
 * other end divides, so full axes need no case of their own. */

static bool same_axis(axis_ref a, axis_ref b) { return axis_index(a) == axis_index(b); }

bool axis_overlaps(axis_ref a, axis_ref b)
{
	if (a == b)
		return true; /* also for an axis of size 1, whose interval is empty */
	return same_axis(a, b) &&
		MAX(axis_pre(a), axis_pre(b)) < MIN(axis_next_pre(a), axis_next_pre(b));
}

bool axis_can_coexist(axis_ref a, axis_ref b)
{
	if (!same_axis(a, b))
		return true;
	int64_t min_pre = MIN(axis_pre(a), axis_pre(b)), max_pre = MAX(axis_pre(a), axis_pre(b));
	int64_t min_next = MIN(axis_next_pre(a), axis_next_pre(b)),
			max_next = MAX(axis_next_pre(a), axis_next_pre(b));
	if (min_next > max_pre)
		return max_pre % min_pre == 0 && min_next % max_pre == 0 && max_next % min_next == 0;
	return max_pre % min_next == 0;
}

bool axis_contains(axis_ref a, axis_ref b)
{
	return same_axis(a, b) && axis_pre(a) <= axis_pre(b) && axis_next_pre(a) >= axis_next_pre(b);
}

bool axis_is_prefix(axis_ref a, axis_ref b)
{
	return axis_contains(b, a) && axis_pre(a) == axis_pre(b);
}

bool axis_can_merge(axis_ref a, axis_ref b)
{
	return same_axis(a, b) && axis_next_pre(a) == axis_pre(b) && axis_size(a) > 1 &&
		axis_size(b) > 1;
}

axis_ref axis_merge(axis_ref a, axis_ref b)
{
	assert(axis_can_merge(a, b));
	return axis_make(axis_index(a), axis_pre(a), axis_size(a) * axis_size(b));
}

bool axis_common_prefix(axis_ref a, axis_ref b, axis_ref *out)
{
	if (!same_axis(a, b) || !axis_can_coexist(a, b) || axis_pre(a) != axis_pre(b))
		return false;
	*out = axis_size(a) < axis_size(b) ? a : b;
	return true;
}

bool axis_prefix_without_overlap(axis_ref a, axis_ref b, axis_ref *out)
{
	if (!axis_can_coexist(a, b))
		return false;
	if (!axis_overlaps(a, b)) {
		*out = a;
		return true;
	}
	if (axis_pre(a) >= axis_pre(b))
		return false;
	*out = axis_make(axis_index(a), axis_pre(a), axis_pre(b) / axis_pre(a));
	return true;
}

bool axis_suffix_without_overlap(axis_ref a, axis_ref b, axis_ref *out)
{
	if (!axis_can_coexist(a, b))
		return false;
	if (!axis_overlaps(a, b)) {
		*out = a;
		return true;
	}
	if (axis_next_pre(a) <= axis_next_pre(b))
		return false;
	*out = axis_make(axis_index(a), axis_next_pre(b), axis_next_pre(a) / axis_next_pre(b));
	return true;
}

bool axis_overlap(axis_ref a, axis_ref b, axis_ref *out)
{
	if (!axis_overlaps(a, b) || !axis_can_coexist(a, b))
		return false;
	int64_t pre = MAX(axis_pre(a), axis_pre(b)), next = MIN(axis_next_pre(a), axis_next_pre(b));
	*out = axis_make(axis_index(a), pre, next / pre);
	return true;
}

int64_t axes_product(axes l)
{
	int64_t product = 1;
	for (uint32_t i = 0; i < l.n; i++)
		product = sat_mul(product, axis_size(l.a[i]));
	return product;
}

bool axes_equal(axes a, axes b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.a, b.a, a.n * sizeof *a.a) == 0);
}

prefix_status axes_prefix(axes a, axes b)
{
	if (a.n == 0)
		return b.n == 0 ? PREFIX_EQUAL : PREFIX_STRICT;
	if (a.n > b.n)
		return PREFIX_NOT;
	for (uint32_t i = 0; i + 1 < a.n; i++)
		if (a.a[i] != b.a[i])
			return PREFIX_NOT;
	if (a.n == b.n && a.a[a.n - 1] == b.a[a.n - 1])
		return PREFIX_EQUAL;
	return axis_is_prefix(a.a[a.n - 1], b.a[a.n - 1]) ? PREFIX_STRICT : PREFIX_NOT;
}

void axes_push_merge(axes_buf *b, axis_ref a)
{
	if (b->n && axis_can_merge(b->a[b->n - 1], a)) {
		b->a[b->n - 1] = axis_merge(b->a[b->n - 1], a);
		return;
	}
	assert(b->n < MAX_TENSOR_AXES);
	b->a[b->n++] = a;
}

void axes_sort_merge(axes_buf *b)
{
	/* Mesh order, then pre, then size is the order of the integers themselves. Lists are short:
	 * insertion sort. */
	for (uint32_t i = 1; i < b->n; i++) {
		axis_ref x = b->a[i];
		uint32_t j = i;
		for (; j && b->a[j - 1] > x; j--)
			b->a[j] = b->a[j - 1];
		b->a[j] = x;
	}
	uint32_t n = b->n;
	b->n = 0;
	for (uint32_t i = 0; i < n; i++)
		axes_push_merge(b, b->a[i]);
}

void axes_copy(axes_buf *to, axes from)
{
	assert(from.n <= MAX_TENSOR_AXES);
	to->n = from.n;
	if (from.n)
		memcpy(to->a, from.a, from.n * sizeof *from.a);
}
