/* The basic strategy: an axis is propagated along a factor only when no tensor of the op has a
 * conflict with it. What it shares with the aggressive one (compatible axes, what a factor can
 * take) is here too. */
#include "propagate/factors.h"

bool is_sub_axis(const factor_grid *g, axis_ref a)
{
	return axis_pre(a) != 1 ||
		axis_size(a) != g->shardings->meshes.p[g->mesh].axis_sizes[axis_index(a)];
}

/* A list under construction while tensors are folded into it; grow tells whether it may still
 * become longer. */
typedef struct fold {
	axis_ref *a;
	uint32_t n;
	bool grow;
} fold;

/* Cuts the list behind its i-th axis (which becomes a) and ends its growth. */
static void fold_stop(fold *l, uint32_t i, axis_ref a)
{
	l->a[i] = a;
	l->n = i + 1;
	l->grow = false;
}

static void fold_tensor(fold *l, axes next)
{
	uint32_t i = 0;
	for (; i < l->n && i < next.n; i++) {
		axis_ref old = l->a[i], new = next.a[i];
		if (old == new)
			continue;
		if (axis_is_prefix(new, old)) {
			if (i + 1 < next.n)
				return fold_stop(l, i, new); /* it goes on with something else */
		} else if (axis_is_prefix(old, new)) {
			if (!l->grow || i + 1 < l->n)
				return fold_stop(l, i, old);
			l->a[i] = new;
		} else {
			l->n = i;
			l->grow = false;
			return;
		}
	}
	for (; l->grow && i < next.n; i++)
		l->a[l->n++] = next.a[i]; /* i was l->n: the list ended first */
}

static void fold_tensors(const factor_grid *g, uint32_t factor, uint32_t from, uint32_t to, fold *l)
{
	for (uint32_t t = from; t < to; t++)
		if (grid_cell(g, t, factor)->present)
			fold_tensor(l, grid_cell(g, t, factor)->axes);
}

axes compatible_major_axes(const factor_grid *g, uint32_t factor)
{
	direction dir = factor_direction(g->dirs, factor);
	if (dir == DIR_NONE)
		return (axes){NULL, 0};
	uint32_t longest = 0, n_operands = g->rule->n_operands;
	for (uint32_t t = 0; t < g->n_tensors; t++)
		longest = MAX(longest, grid_cell(g, t, factor)->axes.n);
	if (!longest)
		return (axes){NULL, 0};
	fold l = {.a = arena_array(g->mem, axis_ref, longest), .grow = true};
	/* In one direction only the tensors it comes from may add axes; the others still show
	 * conflicts. */
	if (dir == DIR_BACKWARD) {
		fold_tensors(g, factor, n_operands, g->n_tensors, &l);
		l.grow = false;
		fold_tensors(g, factor, 0, n_operands, &l);
	} else {
		fold_tensors(g, factor, 0, n_operands, &l);
		l.grow = l.grow && dir == DIR_BOTH;
		fold_tensors(g, factor, n_operands, g->n_tensors, &l);
	}
	return (axes){l.a, l.n};
}

static bool prefix_beside(axis_ref *a, axes others)
{
	for (uint32_t i = 0; i < others.n; i++)
		if (!axis_prefix_without_overlap(*a, others.a[i], a))
			return false;
	return true;
}

bool prefix_across_factors(
	const factor_grid *g, uint32_t tensor, uint32_t factor, axis_ref a, axis_ref *out)
{
	const factor_cell *cells = grid_cell(g, tensor, 0);
	for (uint32_t f = 0; f < g->rule->n_factors; f++)
		if (f != factor && cells[f].present &&
			(!prefix_beside(&a, cells[f].overflow) || !prefix_beside(&a, cells[f].axes)))
			return false;
	*out = a;
	return true;
}

bool prefix_within_factor(
	const factor_grid *g, uint32_t tensor, uint32_t factor, axis_ref a, int64_t prev, axis_ref *out)
{
	const factor_cell *c = grid_cell(g, tensor, factor);
	if (!prefix_beside(&a, g->replicated[tensor]) || !prefix_beside(&a, g->unreduced[tensor]))
		return false;
	*out = a;
	for (uint32_t i = 0; i < c->axes.n; i++)
		if (axis_contains(c->axes.a[i], a))
			return true;
	if (!c->closed && !c->overflow.n) {
		int64_t size = g->rule->factor_sizes[factor];
		if (c->minor_most)
			return true;
		if (prev && size % prev == 0) {
			int64_t part = gcd_i64(size / prev, axis_size(a));
			if (part == axis_size(a))
				return true;
			if (part > 1) {
				*out = axis_make(axis_index(a), axis_pre(a), part);
				return true;
			}
		}
	}
	if (!c->axes.n || !axis_is_prefix(c->axes.a[c->axes.n - 1], a))
		return false;
	*out = c->axes.a[c->axes.n - 1];
	return true;
}

bool grid_expand(factor_grid *g, uint32_t tensor, uint32_t factor, axes list)
{
	factor_cell *c = grid_cell(g, tensor, factor);
	if (!c->present || axes_prefix(c->axes, list) != PREFIX_STRICT)
		return false;
	c->axes = list;
	g->changed[tensor] = true;
	return true;
}

/* What every tensor of the op agrees to, of one axis. */
static bool prefix_for_all(
	const factor_grid *g, uint32_t factor, axis_ref a, int64_t prev, axis_ref *out)
{
	for (uint32_t t = 0; t < g->n_tensors; t++) {
		if (!prefix_across_factors(g, t, factor, a, &a))
			return false;
		if (grid_cell(g, t, factor)->present && !prefix_within_factor(g, t, factor, a, prev, &a))
			return false;
	}
	*out = a;
	return true;
}

/* The list up to its first axis with a conflict; of that one, the part without. */
static axes cut_conflicts(const factor_grid *g, uint32_t factor, axes list)
{
	axis_ref *a = (axis_ref *)list.a; /* compatible_major_axes made it */
	int64_t prev = 1;
	for (uint32_t i = 0; i < list.n; i++) {
		axis_ref kept;
		if (!prefix_for_all(g, factor, a[i], prev, &kept) ||
			(g->conservative && is_sub_axis(g, kept)))
			return (axes){a, i};
		if (kept != a[i]) {
			a[i] = kept;
			return (axes){a, i + 1};
		}
		prev = sat_mul(prev, axis_size(kept));
	}
	return list;
}

void propagate_basic(factor_grid *g)
{
	for (uint32_t f = 0; f < g->rule->n_factors; f++) {
		axes list = compatible_major_axes(g, f);
		if (!list.n)
			continue;
		list = cut_conflicts(g, f, list);
		for (uint32_t t = 0; t < g->n_tensors; t++)
			grid_expand(g, t, f, list);
	}
}
