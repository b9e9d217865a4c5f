/* all_reduce and the slice behind it as a reduce_scatter, worked out once per pair. */
#include "lower/optimize.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- reduce_scatter */

/* Takes from the front of a dim's sliced axes those that are reduced, as a whole or in part. */
static void split_dim(axes sliced, axes reduced, axes_buf *taken, axes_buf *rest)
{
	uint32_t i = 0;
	for (; i < sliced.n; i++) {
		axis_ref a = sliced.a[i], part = 0;
		for (uint32_t k = 0; k < reduced.n && !part; k++)
			if (axis_contains(reduced.a[k], a))
				part = a;
			else if (axis_is_prefix(reduced.a[k], a))
				part = reduced.a[k];
		if (!part)
			break;
		axes_push_merge(taken, part);
		if (part == a)
			continue;
		axis_ref left;
		if (axis_suffix_without_overlap(a, part, &left))
			axes_push_merge(rest, left);
		i++;
		break;
	}
	for (; i < sliced.n; i++)
		axes_push_merge(rest, sliced.a[i]);
}

static axes keep_list(arena *mem, const axes_buf *l)
{
	axis_ref *a = arena_array(mem, axis_ref, l->n);
	if (l->n)
		memcpy(a, l->a, l->n * sizeof *a);
	return (axes){a, l->n};
}

static collective_step by_dim_step(
	lower_cache *c, collective_kind kind, sharding_id from, const axes_buf *moved, uint32_t rank)
{
	sharding_edit e;
	sharding_to_edit(c->t, from, &e);
	axes *dims = arena_array(&c->mem, axes, rank);
	axes_buf all = {.n = 0};
	for (uint32_t d = 0; d < rank; d++) {
		dims[d] = keep_list(&c->mem, &moved[d]);
		for (uint32_t i = 0; i < moved[d].n; i++) {
			axes_push_merge(&e.dims[d].axes, moved[d].a[i]);
			all.a[all.n++] = moved[d].a[i];
		}
	}
	axes_sort_merge(&all);
	return (collective_step){.kind = (uint8_t)kind,
		.in = from,
		.out = sharding_intern(c->t, &e),
		.axes = keep_list(&c->mem, &all),
		.dim_axes = dims};
}

static void fill_scatter(lower_cache *c, scatter_entry *e, const collective_step *slice)
{
	uint32_t rank = sharding_get(c->t, e->from)->rank;
	axes_buf taken[MAX_RANK], rest[MAX_RANK];
	int64_t size = 1;
	bool any_rest = false;
	for (uint32_t d = 0; d < rank; d++) {
		taken[d].n = rest[d].n = 0;
		split_dim(slice->dim_axes[d], e->reduced, &taken[d], &rest[d]);
		size *= axes_product(axes_of(&taken[d]));
		e->n_dims += taken[d].n != 0;
		any_rest |= rest[d].n != 0;
	}
	e->possible = size > 1;
	if (!e->possible)
		return;
	axes_buf all = {.n = 0}, left;
	for (uint32_t d = 0; d < rank; d++)
		for (uint32_t i = 0; i < taken[d].n; i++)
			all.a[all.n++] = taken[d].a[i];
	axes_difference(e->reduced, axes_of(&all), &left);
	axes_sort_merge(&left);
	e->left = keep_list(&c->mem, &left);
	e->scatter = by_dim_step(c, COLL_REDUCE_SCATTER, e->from, taken, rank);
	e->scatter_bytes = type_bytes(c, e->scatter.out, e->type);
	e->has_rest = any_rest;
	if (any_rest) {
		e->rest = by_dim_step(c, COLL_ALL_SLICE, e->scatter.out, rest, rank);
		e->rest_bytes = type_bytes(c, e->rest.out, e->type);
	}
}

const scatter_entry *pass_find_scatter(
	pass *p, axes reduced, const collective_step *slice, type_id type)
{
	struct optimizer *o = p->o;
	uint64_t h = hash_combine(hash_bytes(reduced.a, reduced.n * sizeof *reduced.a, type),
		(uint64_t)slice->in << 32 | slice->out);
	uint32_t id;
	for (uint32_t it = index_first(&o->scatter_index, h);
		 index_next(&o->scatter_index, h, &it, &id);) {
		const scatter_entry *e = o->scatters.p[id];
		if (e->from == slice->in && e->to == slice->out && e->type == type &&
			axes_equal(e->reduced, reduced))
			return e->possible ? e : NULL;
	}
	scatter_entry *e = xcalloc(1, sizeof *e);
	*e = (scatter_entry){.reduced = reduced, .from = slice->in, .to = slice->out, .type = type};
	fill_scatter(p->c, e, slice);
	index_add(&o->scatter_index, h, o->scatters.n);
	vec_push(&o->scatters, e);
	return e->possible ? e : NULL;
}
