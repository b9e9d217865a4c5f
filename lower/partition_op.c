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

/* Mesh axes that nothing uses yet, as far as there is room; of one that is too large the major
 * part.
 */
static axes free_axes(const grid *g, axes used, int64_t room)
{
	const device_mesh *m = &g->t->meshes.p[g->op->mesh];
	axis_ref *out = arena_array(g->mem, axis_ref, m->n_axes);
	uint32_t n = 0;
	for (uint32_t i = 0; i < m->n_axes; i++) {
		axis_ref a = axis_make(i, 1, m->axis_sizes[i]);
		if (overlaps_any(used, a) || axis_size(a) == 1 || room == 1)
			continue;
		if (axis_size(a) > room && axis_size(a) % room == 0)
			a = axis_make(i, 1, room);
		if (room % axis_size(a))
			continue;
		room /= axis_size(a);
		out[n++] = a;
	}
	return (axes){out, n};
}

enum { TABLE, INDICES, DATA, N_ACCESS }; /* tensors of a gather or a scatter by index */

static void push_tensor(const grid *g, uint32_t i, axes_buf *out)
{
	for (uint32_t f = 0; f < g->rule->n_factors; f++)
		if (at_cell(g, i, f)->present)
			push_all(out, at_cell(g, i, f)->axes);
}

/* Are table and indices cut by the same axes? */
static bool cuts_both(const grid *g)
{
	axes_buf table = {.n = 0}, indices = {.n = 0};
	push_tensor(g, TABLE, &table);
	push_tensor(g, INDICES, &indices);
	for (uint32_t i = 0; i < indices.n; i++)
		if (overlaps_any(axes_of(&table), indices.a[i]))
			return true;
	return false;
}

/* The axes by which indexed dims of the table are cut. */
static void indexed_axes(const grid *g, axes_buf *out)
{
	for (uint32_t f = 0; f < g->rule->n_factors; f++)
		if (at_cell(g, TABLE, f)->present && !at_cell(g, DATA, f)->present)
			push_all(out, at_cell(g, TABLE, f)->axes);
}

/* Is moving the table dearer than moving what is read or written, and the indices? By the bytes of
 * the whole. Where the table's indexed dims are cut by axes of the indices, shared, and by others
 * as well, it stays in more parts, and more often: the factors are those by which XLA's partitioner
 * turns in single ops on meshes of 2 x 2 to 8 x 4 devices, to 1% (docs/lowering-and-cost.md). */
static bool table_stays(const grid *g)
{
	const int64_t *sizes = g->op->sizes;
	axes_buf table = {.n = 0}, indices = {.n = 0};
	indexed_axes(g, &table);
	push_tensor(g, INDICES, &indices);
	int64_t shared = 1, others = 1;
	for (uint32_t i = 0; i < table.n; i++)
		*(overlaps_any(axes_of(&indices), table.a[i]) ? &shared : &others) *= axis_size(table.a[i]);
	__int128 at = sizes[TABLE], moved = (__int128)sizes[DATA] + sizes[INDICES];
	if (shared == 1 || others == 1)
		return at > moved;
	__int128 all = (__int128)shared * others;
	if (g->op->op_kind == OP_GATHER) /* d/(d-1) (1 - 1/dm), or 1 + 1/m - 1/dm */
		return at * shared * (all - 1) > moved * (shared - 1) * all ||
			at * (all + shared - 1) > moved * all;
	/* (1 + 1/m) / (1 + 1/d), or 1 and a device's indices */
	return at * (others + 1) * shared > (__int128)sizes[DATA] * (shared + 1) * others ||
		at + sizes[INDICES] / shared >= sizes[DATA];
}

/* Do other factors have some of the axes? */
static bool taken_by_others(const grid *g, uint32_t f, axes a)
{
	for (uint32_t other = 0; other < g->rule->n_factors; other++)
		for (uint32_t i = 0; other != f && i < a.n; i++)
			if (overlaps_any(g->common[other], a.a[i]))
				return true;
	return false;
}

/* Gives a tensor's axes to the factors that have none so far; where others have them, axes that are
 * free, or with `whole` what is left of them. Returns whether there was such a factor. */
static bool give_axes(grid *g, uint32_t tensor, axes_buf *used, bool whole)
{
	bool clash = false;
	for (uint32_t f = 0; f < g->rule->n_factors; f++) {
		const cell *c = at_cell(g, tensor, f);
		bool taken = c->present && taken_by_others(g, f, c->axes);
		clash |= taken;
		if (!c->present || taken || g->common[f].n)
			continue;
		g->common[f] = c->axes;
		push_all(used, c->axes);
	}
	for (uint32_t f = 0; clash && f < g->rule->n_factors; f++) {
		const cell *c = at_cell(g, tensor, f);
		if (!c->present || g->common[f].n)
			continue;
		g->common[f] = whole ? left_of(g->mem, c->axes, axes_of(used))
							 : free_axes(g, axes_of(used), axes_product(c->axes));
		push_all(used, g->common[f]);
	}
	return clash;
}

/* A gather or a scatter by index whose tensors are cut by the same axes in different places. What
 * comes first keeps them: the table, unless the indices are cut by axes of its own and what is read
 * or written is larger; then that, and of a gather's the indices alone. The others go to axes that
 * are free. A gather is not cut anew along the indices where the table's indexed dims are whole.
 * (libtpu 0.0.51, v5e, single ops.) */
static bool choose_access(grid *g)
{
	const rule *r = g->rule;
	if (r->n_results != 1 || g->n_tensors < N_ACCESS)
		return false;
	bool both = cuts_both(g), gather = g->op->op_kind == OP_GATHER, first = !both || table_stays(g);
	const uint32_t table_first[] = {TABLE, INDICES, DATA}, table_last[] = {DATA, INDICES, TABLE},
				   by_indices[] = {INDICES, TABLE, DATA};
	const uint32_t *order = first ? table_first : gather ? by_indices : table_last;
	for (uint32_t f = 0; f < r->n_factors; f++)
		g->common[f].n = 0;
	axes_buf used = {.n = 0}, indexed = {.n = 0};
	bool clash = false;
	indexed_axes(g, &indexed);
	for (uint32_t i = 0; i < N_ACCESS; i++)
		clash |= give_axes(g, order[i], &used, order[i] == DATA && gather && !both && !indexed.n);
	return clash;
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

/* A convolution of one channel each, whose kernel lies in more parts along the channels than its
 * input: it works where the kernel's parts are, small as that is, and the input goes there, whole
 * where one of its other dims has an axis of theirs. False: of other convolutions. (libtpu 0.0.51,
 * v5e, single ops.) */
static bool choose_channels(grid *g)
{
	uint32_t n = g->rule->n_factors, f = 0;
	while (f < n &&
		!(at_cell(g, 0, f)->present && at_cell(g, 1, f)->present && at_cell(g, 2, f)->present))
		f++;
	if (!g->op->depthwise || f == n)
		return false;
	axes channels = at_cell(g, 1, f)->axes;
	if (axes_product(channels) <= axes_product(at_cell(g, 0, f)->axes))
		return false;
	g->common[f] = channels;
	bool clash = false;
	for (uint32_t other = 0; other < n; other++)
		for (uint32_t i = 0; other != f && i < channels.n; i++)
			clash |= at_cell(g, 0, other)->present &&
				overlaps_any(at_cell(g, 0, other)->axes, channels.a[i]);
	for (uint32_t other = 0; !clash && other < n; other++)
		if (other != f && at_cell(g, 0, other)->present)
			g->common[other] = at_cell(g, 0, other)->axes;
	return true;
}

bool choose_as_partitioner(grid *g)
{
	const rule *r = g->rule;
	bool reduces = false;
	if (g->op->whole)
		return true;
	switch (g->op->op_kind) {
	case OP_GATHER:
	case OP_SCATTER: return choose_access(g);
	case OP_CONVOLUTION:
		if (g->n_tensors != 3)
			return false;
		if (choose_channels(g))
			return true;
		if (cuts_windows(g))
			return false;
		if (!convolves_whole(g))
			choose_dot(g);
		return true;
	case OP_SORT:
	case OP_REDUCE_WINDOW:
	case OP_CUSTOM_CALL: return false;
	case OP_SELECT_AND_SCATTER: return choose_windows(g);
	case OP_DYNAMIC_SLICE: /* of the whole of each dim that is sliced, where the result is */
		follow_tensor(g, r->n_operands);
		return true;
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
