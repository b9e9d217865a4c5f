/* Axis sets: each axis that cuts anything, of three or more every two together, and all of them. */
#include "search/tree/tactics.h"

static int64_t size_of(const tactic_space *ts, uint32_t axis)
{
	return axis_size(mesh_full_axis(ts->pb->m->shardings, ts->pb->mesh, ts->axes[axis]));
}

/* Both are of as many axes, of the same sizes in their order. */
static bool is_like(const tactic_space *ts, const axis_set *a, const axis_set *b)
{
	uint32_t i = 0, j = 0;
	if (a->size != b->size || (a->size == TWO_AXES && a != b))
		return false;
	for (;; i++, j++) {
		while (i < ts->n_axes && !(a->mask >> i & 1))
			i++;
		while (j < ts->n_axes && !(b->mask >> j & 1))
			j++;
		if (i == ts->n_axes || j == ts->n_axes)
			return i == j;
		if (size_of(ts, i) != size_of(ts, j))
			return false;
	}
}

static void add_axis_set(tactic_space *ts, uint32_t size, uint32_t mask)
{
	axis_set *set = &ts->sets[ts->n_sets];
	*set = (axis_set){.size = size, .mask = mask};
	while (!is_like(ts, set, &ts->sets[set->like]))
		set->like++;
	ts->n_sets++;
}

bool axis_sets_find(tactic_space *ts)
{
	for (uint32_t a = 0; a < ts->pb->n_axes; a++) {
		if (!problem_axis_cuts(ts->pb, a) || !(ts->of->axis_mask >> a & 1))
			continue;
		if (ts->n_axes == MAX_COMPOSED_AXES)
			return false;
		ts->axes[ts->n_axes++] = a;
	}
	uint32_t n = ts->n_axes;
	for (uint32_t i = 0; i < n; i++)
		add_axis_set(ts, ONE_AXIS, 1u << i);
	for (uint32_t i = 0; i < n && n > 2; i++)
		for (uint32_t j = i + 1; j < n; j++)
			add_axis_set(ts, TWO_AXES, 1u << i | 1u << j);
	if (n > 1)
		add_axis_set(ts, ALL_AXES, (1u << n) - 1);
	return n > 0;
}
