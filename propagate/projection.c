/* Between the sharding of a tensor (axes by dim) and factor shardings (axes by factor). */
#include "propagate/factors.h"

static uint32_t tensor_rank(const rule *r, uint32_t tensor)
{
	return r->tensor_first[tensor + 1] - r->tensor_first[tensor];
}
static const struct rule_dim *tensor_dim(const rule *r, uint32_t tensor, uint32_t d)
{
	return &r->dims[r->tensor_first[tensor] + d];
}

void grid_init(factor_grid *g, const rule *r, const sharding_table *t, mesh_id mesh, arena *mem)
{
	uint32_t n = (uint32_t)r->n_operands + r->n_results;
	*g = (factor_grid){.rule = r, .shardings = t, .mesh = mesh, .n_tensors = n, .mem = mem};
	g->cells = arena_zarray(mem, factor_cell, (size_t)n * r->n_factors);
	g->replicated = arena_zarray(mem, axes, n);
	g->unreduced = arena_zarray(mem, axes, n);
	g->changed = arena_zarray(mem, bool, n);
}

/* The axes of one dim that no factor has taken yet. head is what is left of the first of them. */
typedef struct axis_reader {
	axes list;
	uint32_t at;
	axis_ref head;
} axis_reader;

static bool reader_done(const axis_reader *r) { return r->at >= r->list.n; }

static void reader_next(axis_reader *r)
{
	r->at++;
	if (!reader_done(r))
		r->head = r->list.a[r->at];
}

static axes take_rest(axis_reader *r, arena *mem)
{
	if (reader_done(r))
		return (axes){NULL, 0};
	if (r->head == r->list.a[r->at]) { /* nothing was cut off the head: a view will do */
		axes rest = {r->list.a + r->at, r->list.n - r->at};
		r->at = r->list.n;
		return rest;
	}
	axis_ref *copy = arena_array(mem, axis_ref, r->list.n - r->at);
	uint32_t n = 0;
	for (; !reader_done(r); reader_next(r))
		copy[n++] = r->head;
	return (axes){copy, n};
}

/* Fills a factor that is not the minor-most of its dim: axes as long as they divide what is left of
 * its size. Returns false when axes that have no common divisor with it stop everything behind
 * (overflow). */
static bool fill_major_factor(axis_reader *r, int64_t size, factor_cell *c, arena *mem)
{
	axis_ref *taken = arena_array(mem, axis_ref, r->list.n - r->at + 1);
	uint32_t n = 0;
	while (!reader_done(r)) {
		int64_t axis = axis_size(r->head), part = gcd_i64(size, axis);
		if (axis != 1 && part <= 1)
			break;
		if (part < axis) {
			taken[n++] = axis_make(axis_index(r->head), axis_pre(r->head), part);
			r->head = axis_make(axis_index(r->head), axis_pre(r->head) * part, axis / part);
		} else {
			taken[n++] = r->head;
			reader_next(r);
		}
		size /= part;
	}
	c->axes = (axes){taken, n};
	if (size <= 1 || reader_done(r))
		return true;
	c->overflow = take_rest(r, mem);
	return false;
}

static void project_dim(
	factor_grid *g, uint32_t tensor, const struct rule_dim *dim, axes list, bool closed)
{
	axis_reader r = {.list = list};
	if (list.n)
		r.head = list.a[0];
	bool overflow = false;
	for (uint32_t k = 0; k < dim->n; k++) {
		uint32_t f = g->rule->dim_factors[dim->first + k];
		factor_cell *c = grid_cell(g, tensor, f);
		*c = (factor_cell){
			.present = true, .closed = closed || overflow, .minor_most = k + 1 == dim->n};
		if (overflow)
			return;
		if (c->minor_most)
			c->axes = take_rest(&r, g->mem);
		else
			overflow = !fill_major_factor(&r, g->rule->factor_sizes[f], c, g->mem);
	}
}

void grid_project(factor_grid *g, uint32_t tensor, sharding_id sh, bool missing_closed)
{
	uint32_t rank = tensor_rank(g->rule, tensor);
	const sharding *s = sharding_get(g->shardings, sh);
	if (sh == SHARDING_NONE || s->rank != rank)
		s = NULL;
	for (uint32_t d = 0; d < rank; d++)
		project_dim(g, tensor, tensor_dim(g->rule, tensor, d),
			s ? sharding_dim(s, d) : (axes){NULL, 0}, s ? s->dims[d].closed : missing_closed);
	if (s) {
		g->replicated[tensor] = sharding_replicated(s);
		g->unreduced[tensor] = sharding_unreduced(s);
	}
}

/* Appends the axes of a factor; two parts of one axis join only where two factors meet. Returns
 * their product. */
static int64_t append_axes(axes_buf *out, axes list)
{
	for (uint32_t i = 0; i < list.n; i++) {
		if (i == 0) {
			axes_push_merge(out, list.a[i]);
		} else {
			assert(out->n < MAX_TENSOR_AXES);
			out->a[out->n++] = list.a[i];
		}
	}
	return axes_product(list);
}

void grid_sharding(const factor_grid *g, uint32_t tensor, sharding_edit *out)
{
	uint32_t rank = tensor_rank(g->rule, tensor);
	sharding_edit_init(out, g->mesh, rank, false);
	for (uint32_t d = 0; d < rank; d++) {
		const struct rule_dim *dim = tensor_dim(g->rule, tensor, d);
		for (uint32_t k = 0; k < dim->n; k++) {
			uint32_t f = g->rule->dim_factors[dim->first + k];
			const factor_cell *c = grid_cell(g, tensor, f);
			out->dims[d].closed |= c->closed;
			int64_t parts = append_axes(&out->dims[d].axes, c->axes);
			if (c->overflow.n) {
				append_axes(&out->dims[d].axes, c->overflow);
				break;
			}
			if (parts < g->rule->factor_sizes[f])
				break; /* the factors behind would need a strided view */
		}
	}
	axes_copy(&out->replicated, g->replicated[tensor]);
	axes_copy(&out->unreduced, g->unreduced[tensor]);
}

void project_to_factors(const rule *r, uint32_t tensor, const sharding_table *t, sharding_id sh,
	mesh_id mesh, bool missing_closed, tensor_factors *out)
{
	arena mem;
	arena_init(&mem);
	factor_grid g;
	grid_init(&g, r, t, mesh, &mem);
	grid_project(&g, tensor, sh, missing_closed);
	for (uint32_t f = 0; f < MAX_FACTORS; f++)
		out->factor[f].present = false;
	for (uint32_t f = 0; f < r->n_factors; f++) {
		const factor_cell *c = grid_cell(&g, tensor, f);
		factor_sharding *to = &out->factor[f];
		to->present = c->present;
		to->closed = c->closed;
		to->minor_most = c->minor_most;
		axes_copy(&to->axes, c->axes);
		axes_copy(&to->overflow, c->overflow);
	}
	axes_copy(&out->replicated, g.replicated[tensor]);
	axes_copy(&out->unreduced, g.unreduced[tensor]);
	arena_release(&mem);
}

sharding_id project_to_sharding(const rule *r, uint32_t tensor, sharding_table *t, mesh_id mesh,
	const tensor_factors *f, sharding_id old)
{
	arena mem;
	arena_init(&mem);
	factor_grid g;
	grid_init(&g, r, t, mesh, &mem);
	for (uint32_t i = 0; i < r->n_factors; i++) {
		const factor_sharding *from = &f->factor[i];
		*grid_cell(&g, tensor, i) = (factor_cell){.axes = axes_of(&from->axes),
			.overflow = axes_of(&from->overflow),
			.present = from->present,
			.closed = from->closed,
			.minor_most = from->minor_most};
		if (!from->present) {
			grid_cell(&g, tensor, i)->axes.n = 0;
			grid_cell(&g, tensor, i)->overflow.n = 0;
		}
	}
	g.replicated[tensor] = axes_of(&f->replicated);
	g.unreduced[tensor] = axes_of(&f->unreduced);
	sharding_edit e;
	grid_sharding(&g, tensor, &e);
	arena_release(&mem);
	if (old == SHARDING_NONE) {
		uint32_t used = e.replicated.n + e.unreduced.n;
		for (uint32_t d = 0; d < e.rank; d++)
			used += e.dims[d].axes.n + e.dims[d].closed;
		if (!used)
			return SHARDING_NONE;
	}
	return sharding_intern(t, &e);
}
