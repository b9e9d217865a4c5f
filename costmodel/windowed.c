/* Windowed einsums (collective matmuls): XLA for TPU makes a contraction and the gather of one of
 * its operands, or the scatter of its sum, one loop in which pieces travel while others are
 * multiplied. When it does so was found by compiling single products with libtpu 0.0.52 for v4,
 * v5e, v5p and v6e and changing their sizes, shardings and users one by one; the conditions have
 * the form of those in XLA's public partitioner (spmd/dot_handler.cc), the rate is the device's.
 * Convolutions are windowed over all devices alone (libtpu 0.0.51, gradients of 3 x 3 kernels over
 * four and all of eight and sixteen). */
#include "costmodel/costmodel.h"

enum { LEAST_PIECES = 3, MOST_PIECES = 32, SQUARE = 4 };

static uint32_t bits_set(uint32_t mask)
{
	uint32_t n = 0;
	for (; mask; mask &= mask - 1)
		n++;
	return n;
}

/* Ways the dims in a mask are cut. */
static int64_t parts_of(const sharding *s, uint32_t mask)
{
	int64_t n = 1;
	for (uint32_t d = 0; d < s->rank; d++)
		if (mask >> d & 1)
			n = sat_mul(n, sharding_dim_parts(s, d));
	return n;
}

/* Are they cut by these axes and no others? */
static bool cut_by(const sharding *s, uint32_t mask, axes a)
{
	for (uint32_t d = 0; d < s->rank; d++) {
		axes have = sharding_dim(s, d);
		for (uint32_t i = 0; mask >> d & 1 && i < have.n; i++) {
			bool known = false;
			for (uint32_t k = 0; k < a.n; k++)
				known |= axis_contains(have.a[i], a.a[k]);
			if (!known)
				return false;
		}
	}
	return parts_of(s, mask) == axes_product(a);
}

/* The dim that a gather or scatter changes; rank when it is not one alone. */
static uint32_t changed_dim(const collective_step *step, uint32_t rank)
{
	uint32_t dim = rank;
	for (uint32_t d = 0; d < rank; d++) {
		if (!step->dim_axes[d].n)
			continue;
		if (dim != rank)
			return rank;
		dim = d;
	}
	return dim;
}

/* A group of four on two dims of a torus gains nothing from a ring. */
static bool is_square(const device *dev, const mesh_links *links, axes a, int64_t pieces)
{
	uint32_t dims = 0;
	for (uint32_t i = 0; i < a.n; i++) {
		const struct axis_links *x = &links->axis[axis_index(a.a[i])];
		for (uint32_t k = 0; k < x->n; k++)
			dims += x->part[k].size > 1;
	}
	return pieces == SQUARE && dims > 1 &&
		!(dev->links[0].eight_in_ring && mesh_links_slice_devices(links) == 8);
}

/* Longer than what the pieces at both ends of the loop take. */
static bool pays(const device *dev, const contraction *c, int64_t pieces, int64_t bytes)
{
	int64_t wire = (int64_t)((__int128)bytes * 1000000000 / dev->windowed_bytes_s);
	return MIN(wire, c->peak_ns) > 2 * wire / pieces;
}

/* The operand that has not the scattered dim of the result: batch dims stand first in it, free ones
 * of the left operand next. */
static uint32_t other_side(const contraction *c, const sharding *left, uint32_t dim)
{
	uint32_t batch = bits_set(c->batched[0]),
			 free = left->rank - batch - bits_set(c->contracted[0]);
	return dim < batch ? WINDOW_NO_OPERAND : dim < batch + free ? 1 : 0;
}

bool windowed_einsum(const device *dev, const mesh_links *links, const lowered *l, lop_id dot,
	lop_id collective, const contraction *c, uint32_t *whole)
{
	const lop *o = &l->ops.p[dot], *g = &l->ops.p[collective];
	if (!dev->windowed_bytes_s || !(c->is_dot || c->is_convolution) || g->kind != LOP_COLLECTIVE ||
		g->given || g->region != o->region || !o->plan)
		return false;
	axes a = g->step->axes;
	int64_t pieces = axes_product(a);
	if (pieces < LEAST_PIECES || pieces > MOST_PIECES || is_square(dev, links, a, pieces) ||
		(c->is_convolution && pieces < mesh_links_slice_devices(links)) ||
		!pays(dev, c, pieces, g->bytes))
		return false;
	const sharding *side[2] = {
		sharding_get(l->shardings, o->plan->at[0]), sharding_get(l->shardings, o->plan->at[1])};
	if (g->coll == COLL_REDUCE_SCATTER) {
		const sharding *sum = sharding_get(l->shardings, o->plan->at[2]);
		uint32_t dim = changed_dim(g->step, sum->rank);
		*whole = other_side(c, side[0], dim);
		return dim < sum->rank && l->vals.p[o->results].n_uses == 1 &&
			l->operands.p[g->operands] == o->results && cut_by(side[0], c->contracted[0], a) &&
			sharding_dim_parts(sum, dim) == 1;
	}
	if (g->coll != COLL_ALL_GATHER || (l->vals.p[g->results].n_uses != 1 && !c->is_convolution))
		return false;
	uint32_t k = l->operands.p[o->operands] == g->results ? 0 : 1;
	uint32_t dim = changed_dim(g->step, side[k]->rank);
	if (l->operands.p[o->operands + k] != g->results || dim == side[k]->rank)
		return false;
	uint32_t bit = 1u << dim, free = ~(c->contracted[k] | c->batched[k]),
			 other = ~(c->contracted[1 - k] | c->batched[1 - k]);
	uint32_t kind = bit & c->contracted[k] ? c->contracted[k]
		: bit & c->batched[k]              ? c->batched[k]
										   : free;
	*whole = kind == free ? 1 - k : WINDOW_NO_OPERAND;
	return parts_of(side[k], kind) == 1 && parts_of(side[k], c->contracted[k]) == 1 &&
		cut_by(side[1 - k], other, a);
}
