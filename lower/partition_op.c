/* Where XLA's partitioner computes an op: grid.h, choose_as_partitioner. */
#include "lower/grid.h"

/* The part of a list that does not overlap the others. */
static axes left_of(arena *mem, axes l, axes others)
{
	truncate_by(mem, &l, others);
	return l;
}

static void push_all(axes_buf *to, axes l)
{
	for (uint32_t i = 0; i < l.n && to->n < MAX_TENSOR_AXES; i++)
		to->a[to->n++] = l.a[i];
}

/* Computed where one tensor is: its factors have its axes, other factors what is left of theirs. */
static void follow_tensor(grid *g, uint32_t first)
{
	axes_buf taken;
	taken.n = 0;
	for (uint32_t f = 0; f < g->rule->n_factors; f++)
		if (at_cell(g, first, f)->present) {
			g->common[f] = at_cell(g, first, f)->axes;
			push_all(&taken, g->common[f]);
		}
	for (uint32_t f = 0; f < g->rule->n_factors; f++) {
		for (uint32_t i = g->n_tensors;
			 !at_cell(g, first, f)->present && i-- > 0 && !g->common[f].n;)
			if (at_cell(g, i, f)->present)
				g->common[f] = left_of(g->mem, at_cell(g, i, f)->axes, axes_of(&taken));
		if (!at_cell(g, first, f)->present)
			push_all(&taken, g->common[f]);
	}
}

static axes axes_of_mesh(const grid *g)
{
	const device_mesh *m = &g->t->meshes.p[g->op->mesh];
	axis_ref *all = arena_array(g->mem, axis_ref, m->n_axes);
	for (uint32_t i = 0; i < m->n_axes; i++)
		all[i] = axis_make(i, 1, m->axis_sizes[i]);
	return (axes){all, m->n_axes};
}

/* A contraction: see partition_dot. */
static void choose_dot(grid *g)
{
	uint32_t n = g->rule->n_factors;
	axes *at = arena_zarray(g->mem, axes, 3 * (size_t)n);
	uint8_t *class = arena_array(g->mem, uint8_t, n);
	for (uint32_t f = 0; f < n; f++) {
		bool left = at_cell(g, 0, f)->present, right = at_cell(g, 1, f)->present;
		class[f] = !(left && right) ? (left ? 2 : 3) : is_type(g, f, FACTOR_REDUCTION);
		for (uint32_t side = 0; side < 3; side++)
			if (at_cell(g, side, f)->present)
				at[side * n + f] = at_cell(g, side, f)->axes;
	}
	axes *after = arena_array(g->mem, axes, n);
	if (partition_dot(at, class, n, g->op->sizes, axes_of_mesh(g), g->mem, g->common, after))
		g->after = after;
}

/* Mesh axes that nothing uses yet, as far as there is room. */
static axes free_axes(const grid *g, axes used, int64_t room)
{
	const device_mesh *m = &g->t->meshes.p[g->op->mesh];
	axis_ref *out = arena_array(g->mem, axis_ref, m->n_axes);
	uint32_t n = 0;
	for (uint32_t i = 0; i < m->n_axes; i++) {
		axis_ref a = axis_make(i, 1, m->axis_sizes[i]);
		if (overlaps_any(used, a) || axis_size(a) == 1 || room % axis_size(a))
			continue;
		room /= axis_size(a);
		out[n++] = a;
	}
	return (axes){out, n};
}

/* A gather or a scatter by index whose table is cut along the dim that is indexed by the axes that
 * cut the indices too: the smaller of the table and of what is read or written goes to axes that
 * are free. Tensors: table, indices, data. */
static bool choose_access(grid *g)
{
	enum { TABLE, INDICES, DATA };
	const rule *r = g->rule;
	if (r->n_results != 1 || g->n_tensors < 3)
		return false;
	uint32_t stays = g->op->sizes[TABLE] > g->op->sizes[DATA] ? TABLE : DATA,
			 goes = stays == TABLE ? DATA : TABLE;
	axes_buf used;
	used.n = 0;
	for (uint32_t f = 0; f < r->n_factors; f++)
		if (at_cell(g, stays, f)->present)
			push_all(&used, at_cell(g, stays, f)->axes);
	bool clash = false;
	for (uint32_t f = 0; f < r->n_factors; f++)
		for (uint32_t i = 0; !at_cell(g, stays, f)->present && i < at_cell(g, goes, f)->axes.n; i++)
			clash |= overlaps_any(axes_of(&used), at_cell(g, goes, f)->axes.a[i]);
	if (!clash)
		return false;
	for (uint32_t f = 0; f < r->n_factors; f++) {
		g->common[f] = at_cell(g, at_cell(g, stays, f)->present ? stays : goes, f)->axes;
		if (at_cell(g, stays, f)->present)
			continue;
		axes left = left_of(g->mem, g->common[f], axes_of(&used));
		g->common[f] = left.n < g->common[f].n
			? free_axes(g, axes_of(&used), axes_product(g->common[f]))
			: left;
		push_all(&used, g->common[f]);
	}
	return true;
}

/* A select_and_scatter works where its result is, its source cut alike. Tensors: operand, source,
 * start value, result. */
static bool choose_windows(grid *g)
{
	const rule *r = g->rule;
	if (r->n_operands != 3 || r->n_results != 1 || rank_of(r, 1) != rank_of(r, 3))
		return false;
	follow_tensor(g, 3);
	for (uint32_t d = 0; d < rank_of(r, 1); d++) {
		const struct rule_dim *from = &r->dims[r->tensor_first[3] + d],
							  *to = &r->dims[r->tensor_first[1] + d];
		if (from->n == 1 && to->n == 1)
			g->common[r->dim_factors[to->first]] = g->common[r->dim_factors[from->first]];
	}
	return true;
}

static bool is_cut(const grid *g, uint32_t f)
{
	for (uint32_t i = 0; i < g->n_tensors; i++)
		if (at_cell(g, i, f)->axes.n)
			return true;
	return false;
}

/* A convolution no tensor of which is cut along its windows or their taps is to the partitioner
 * what a contraction is. */
static bool cuts_windows(const grid *g)
{
	for (uint32_t i = 0; i < g->n_tensors; i++) {
		const sharding *s = g->op->in[i] == SHARDING_NONE ? NULL : sharding_get(g->t, g->op->in[i]);
		for (uint32_t d = 0; s && d < s->rank; d++)
			if (g->op->windowed[i] >> d & 1 && sharding_dim(s, d).n)
				return true;
	}
	return false;
}

/* Does a convolution run on the whole of its operands? XLA's partitioner can only cut further what
 * the input's own parts are: a result in other parts, or in coarser ones, is a slice of all of it
 * (libtpu 0.0.51; windows of one place are contractions, and a kernel that is cut was not tried).
 */
static bool convolves_whole(const grid *g)
{
	bool other = false;
	for (uint32_t f = 0; f < g->rule->n_factors; f++) {
		const cell *in = at_cell(g, 0, f), *kernel = at_cell(g, 1, f), *out = at_cell(g, 2, f);
		if (kernel->present && kernel->axes.n)
			return false;
		other |= in->present && out->present && in->axes.n &&
			(out->axes.n < in->axes.n || !axes_equal((axes){out->axes.a, in->axes.n}, in->axes));
	}
	return g->op->wide && other;
}

bool choose_as_partitioner(grid *g)
{
	const rule *r = g->rule;
	bool reduces = false;
	switch (g->op->op_kind) {
	case OP_GATHER:
	case OP_SCATTER: return choose_access(g);
	case OP_CONVOLUTION:
		if (g->n_tensors != 3 || cuts_windows(g))
			return false;
		if (!convolves_whole(g))
			choose_dot(g);
		return true;
	case OP_SORT:
	case OP_REDUCE_WINDOW:
	case OP_CUSTOM_CALL: return false;
	case OP_SELECT_AND_SCATTER: return choose_windows(g);
	default: break;
	}
	for (uint32_t f = 0; f < r->n_factors; f++) {
		if ((is_type(g, f, FACTOR_NEED_REPLICATION) || is_type(g, f, FACTOR_PERMUTATION)) &&
			is_cut(g, f))
			return false;
		reduces |= is_type(g, f, FACTOR_REDUCTION);
	}
	if ((g->op->op_kind == OP_DOT_GENERAL || g->op->op_kind == OP_DOT) && r->n_operands == 2 &&
		r->n_results == 1)
		choose_dot(g);
	else if (r->n_results)
		follow_tensor(g, reduces ? 0 : r->n_operands);
	else
		return false;
	return true;
}
