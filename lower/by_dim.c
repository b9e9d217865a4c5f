/* A step of a reshard along several dims as steps along one dim each. That is how our program of
 * one device is written: one collective over all axes would leave parts in an order that has to be
 * sorted out in memory, which XLA's schedules take longer for. And a reduce_scatter over all
 * devices axis by axis, which XLA would keep whole. */
#include "lower/internal.h"

bool tpu_reduces_whole(int64_t devices, int64_t group, uint32_t torus_dims)
{
	int64_t side = 4;
	if (group != devices)
		return false;
	if (torus_dims > 2)
		return devices >= 8;
	while (side * side < devices)
		side *= 2;
	return side * side == devices;
}

bool cache_reduces_whole(const lower_cache *c, axes over)
{
	if (c->mesh == ID_NONE)
		return false;
	int64_t devices = c->slice_devices ? c->slice_devices : c->t->meshes.p[c->mesh].n_devices;
	return tpu_reduces_whole(devices, axes_product(over), c->torus_dims);
}

/* Dims that the step moves along; of an all_to_all: pairs of them. */
static uint32_t count_parts(const collective_step *s, uint32_t rank, bool by_axis)
{
	if (s->kind == COLL_ALL_TO_ALL)
		return s->n_moves;
	if (s->kind != COLL_ALL_GATHER && s->kind != COLL_REDUCE_SCATTER)
		return 1;
	uint32_t n = 0;
	for (uint32_t d = 0; d < rank; d++)
		n += by_axis ? s->dim_axes[d].n : s->dim_axes[d].n > 0;
	return n;
}

static axes sorted(lower_cache *c, axes l)
{
	axes_buf b;
	axes_copy(&b, l);
	axes_sort_merge(&b);
	axis_ref *a = arena_array(&c->mem, axis_ref, b.n);
	memcpy(a, b.a, b.n * sizeof *a);
	return (axes){a, b.n};
}

/* The dims are now as `to` has them. */
static sharding_id with_dims(
	lower_cache *c, sharding_id at, sharding_id to, uint32_t d, uint32_t other)
{
	sharding_edit e, then;
	sharding_to_edit(c->t, at, &e);
	sharding_to_edit(c->t, to, &then);
	e.dims[d] = then.dims[d];
	e.dims[other] = then.dims[other];
	return sharding_intern(c->t, &e);
}

static collective_step along(lower_cache *c, const collective_step *s, sharding_id in,
	sharding_id out, uint32_t d, axes l, uint32_t rank)
{
	axes *dims = arena_zarray(&c->mem, axes, rank);
	dims[d] = l;
	return (collective_step){
		.kind = s->kind, .in = in, .out = out, .axes = sorted(c, l), .dim_axes = dims};
}

/* A scatter cuts a dim further by each axis in turn. */
static sharding_id cut_further(lower_cache *c, sharding_id at, uint32_t d, axis_ref axis)
{
	sharding_edit e;
	sharding_to_edit(c->t, at, &e);
	axes_push_merge(&e.dims[d].axes, axis);
	return sharding_intern(c->t, &e);
}

static collective_step move_of(
	lower_cache *c, const collective_step *s, sharding_id in, const struct a2a_move *m)
{
	return (collective_step){.kind = s->kind,
		.in = in,
		.out = with_dims(c, in, s->out, m->source, m->target),
		.axes = sorted(c, m->axes),
		.moves = m,
		.n_moves = 1};
}

static split_entry *make_split(
	lower_cache *c, const collective_step *s, type_id type, bool by_axis, uint32_t n, uint32_t rank)
{
	split_entry *e = arena_array(&c->mem, split_entry, 1);
	collective_step *steps = arena_array(&c->mem, collective_step, n);
	int64_t *bytes = arena_array(&c->mem, int64_t, n);
	sharding_id at = s->in;
	uint32_t k = 0;
	struct a2a_move *moves = arena_array(&c->mem, struct a2a_move, s->n_moves);
	for (uint32_t i = 0; i < s->n_moves; i++) {
		moves[i] = s->moves[i];
		steps[k++] = move_of(c, s, at, &moves[i]);
		at = steps[k - 1].out;
	}
	for (uint32_t d = 0; d < rank && k < n; d++) {
		axes l = s->dim_axes[d];
		for (uint32_t i = 0; by_axis && i < l.n; i++) {
			steps[k++] =
				along(c, s, at, cut_further(c, at, d, l.a[i]), d, (axes){l.a + i, 1}, rank);
			at = steps[k - 1].out;
		}
		if (!by_axis && l.n) {
			steps[k++] = along(c, s, at, with_dims(c, at, s->out, d, d), d, l, rank);
			at = steps[k - 1].out;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		bytes[i] = type_bytes(c, steps[i].out, type);
	*e = (split_entry){.kind = s->kind,
		.in = s->in,
		.out = s->out,
		.type = type,
		.n = n,
		.steps = steps,
		.bytes = bytes};
	return e;
}

const split_entry *cache_split(lower_cache *c, const collective_step *s, type_id type, bool by_axis)
{
	uint32_t rank = type_get(c->p->m, type)->rank, n = count_parts(s, rank, by_axis), id;
	if (n < 2)
		return NULL;
	uint64_t h = hash_combine(hash_combine((uint64_t)s->in << 32 | s->out, type), s->kind);
	for (uint32_t it = index_first(&c->split_index, h); index_next(&c->split_index, h, &it, &id);) {
		const split_entry *e = c->splits.p[id];
		if (e->kind == s->kind && e->in == s->in && e->out == s->out && e->type == type &&
			e->n == n)
			return e;
	}
	split_entry *e = make_split(c, s, type, by_axis, n, rank);
	index_add(&c->split_index, h, c->splits.n);
	vec_push(&c->splits, e);
	return e;
}
