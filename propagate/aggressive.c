/* The aggressive strategy: conflicts between factors are resolved, tensor by tensor, in favour of
 * the factor whose axes come from the larger tensor. */
#include "propagate/factors.h"

/* What decides the order in which factors get their axes. */
typedef struct factor_rank {
	axes candidate;
	int64_t
		source_size; /* elements of the largest tensor that has the candidate already; -1: none */
	int64_t parts;   /* product of the candidate's axis sizes */
	uint32_t source, factor;
} factor_rank;

static void find_sources(const factor_grid *g, factor_rank *ranks)
{
	uint32_t n = g->rule->n_factors;
	for (uint32_t i = 0; i < g->n_tensors; i++) {
		uint32_t t = g->rule->swapped && i < 2 ? 1 - i : i;
		const factor_cell *cells = grid_cell(g, t, 0);
		int64_t size = 1;
		for (uint32_t f = 0; f < n; f++)
			if (cells[f].present)
				size = sat_mul(size, g->rule->factor_sizes[f]);
		for (uint32_t f = 0; f < n; f++) {
			factor_rank *r = &ranks[f];
			if (cells[f].present && r->candidate.n && size > r->source_size &&
				axes_prefix(r->candidate, cells[f].axes) != PREFIX_NOT) {
				r->source_size = size;
				r->source = i;
			}
		}
	}
}

static bool ranks_before(const factor_rank *a, const factor_rank *b, bool elementwise)
{
	if (a->source_size != b->source_size)
		return a->source_size > b->source_size;
	if (elementwise && a->parts != b->parts)
		return a->parts > b->parts;
	if (a->source != b->source)
		return a->source < b->source;
	return a->factor < b->factor;
}

static void sort_ranks(factor_rank *ranks, uint32_t n, bool elementwise)
{
	for (uint32_t i = 1; i < n; i++) {
		factor_rank x = ranks[i];
		uint32_t j = i;
		for (; j && ranks_before(&x, &ranks[j - 1], elementwise); j--)
			ranks[j] = ranks[j - 1];
		ranks[j] = x;
	}
}

/* Copies the list into out, up to the first axis that the factor of this tensor cannot take. */
static uint32_t cut_within(
	const factor_grid *g, uint32_t tensor, uint32_t factor, axes list, axis_ref *out)
{
	int64_t prev = 1;
	for (uint32_t i = 0; i < list.n; i++) {
		axis_ref kept;
		if (!prefix_within_factor(g, tensor, factor, list.a[i], prev, &kept) ||
			(g->conservative && is_sub_axis(g, kept)))
			return i;
		out[i] = kept;
		if (kept != list.a[i])
			return i + 1;
		prev = sat_mul(prev, axis_size(kept));
	}
	return list.n;
}

/* The same for what the tensor's other factors hold by now, in place. */
static uint32_t cut_across(
	const factor_grid *g, uint32_t tensor, uint32_t factor, axis_ref *a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		axis_ref kept;
		if (!prefix_across_factors(g, tensor, factor, a[i], &kept) ||
			(g->conservative && is_sub_axis(g, kept)))
			return i;
		if (kept != a[i]) {
			a[i] = kept;
			return i + 1;
		}
	}
	return n;
}

static axes axes_for_tensor(factor_grid *g, uint32_t tensor, const factor_rank *r)
{
	axes none = {NULL, 0}, held = grid_cell(g, tensor, r->factor)->axes;
	/* Cutting only shortens: what already reaches as far as the candidate has nothing to gain. */
	if (held.n > r->candidate.n || axes_prefix(held, r->candidate) == PREFIX_EQUAL)
		return none;
	axis_ref *a = arena_array(g->mem, axis_ref, r->candidate.n);
	uint32_t n = cut_within(g, tensor, r->factor, r->candidate, a);
	if (axes_prefix(held, (axes){a, n}) != PREFIX_STRICT)
		return none;
	return (axes){a, cut_across(g, tensor, r->factor, a, n)};
}

/* Operands of elementwise ops get no axes that a result did not accept. */
static axes limit_to_results(const factor_grid *g, uint32_t factor, axes list)
{
	for (uint32_t t = g->rule->n_operands; t < g->n_tensors; t++) {
		const factor_cell *c = grid_cell(g, t, factor);
		if (c->present && axes_prefix(c->axes, list) == PREFIX_STRICT)
			list = c->axes;
	}
	return list;
}

static void propagate_to(factor_grid *g, uint32_t tensor, const factor_rank *r)
{
	if (!grid_cell(g, tensor, r->factor)->present)
		return;
	axes list = axes_for_tensor(g, tensor, r);
	if (list.n && g->elementwise && tensor < g->rule->n_operands)
		list = limit_to_results(g, r->factor, list);
	if (list.n)
		grid_expand(g, tensor, r->factor, list);
}

void propagate_aggressive(factor_grid *g)
{
	uint32_t n = g->rule->n_factors, n_live = 0;
	factor_rank *ranks = arena_array(g->mem, factor_rank, n);
	for (uint32_t f = 0; f < n; f++) {
		axes list = compatible_major_axes(g, f);
		ranks[f] = (factor_rank){
			.candidate = list, .source_size = -1, .parts = axes_product(list), .factor = f};
		n_live += list.n > 0;
	}
	if (!n_live)
		return;
	find_sources(g, ranks);
	sort_ranks(ranks, n, g->elementwise);
	for (uint32_t i = 0; i < n; i++) {
		if (!ranks[i].candidate.n)
			continue;
		for (uint32_t t = g->rule->n_operands; t < g->n_tensors; t++)
			propagate_to(g, t, &ranks[i]);
		for (uint32_t t = 0; t < g->rule->n_operands; t++)
			propagate_to(g, t, &ranks[i]);
	}
}
