#include "layout/pieces.h"

#include <stdlib.h>

/* Strides of the mesh axes in the row-major position. */
static void mesh_strides(const device_mesh *m, int64_t *strides)
{
	int64_t stride = 1;
	for (uint32_t i = m->n_axes; i-- > 0;) {
		strides[i] = stride;
		stride *= m->axis_sizes[i];
	}
}

static void add_dim(layout *l, const device_mesh *m, const int64_t *strides, axes list)
{
	int64_t weight = axes_product(list);
	for (uint32_t i = 0; i < list.n; i++) {
		uint32_t axis = axis_index(list.a[i]);
		int64_t post = m->axis_sizes[axis] / axis_next_pre(list.a[i]);
		weight /= axis_size(list.a[i]);
		vec_push(&l->digits,
			(layout_digit){strides[axis] * post, axis_size(list.a[i]), weight, list.a[i]});
	}
}

static void invert_ids(layout *l)
{
	l->position_ids = xmalloc((size_t)l->n_devices * sizeof *l->position_ids);
	for (int64_t p = 0; p < l->n_devices; p++)
		l->position_ids[l->device_ids[p]] = p;
}

status layout_init(layout *l, const sharding_table *t, const sharding_edit *e, const int64_t *shape,
	uint32_t rank, diag *d)
{
	char msg[256];
	*l = (layout){.rank = rank, .table = t, .mesh = e->mesh, .n_devices = 1};
	if (!sharding_check(t, e, NULL, msg, sizeof msg))
		return diag_set(d, ST_ERR_INVALID, "%s", msg);
	const device_mesh *m = &t->meshes.p[e->mesh];
	if (!m->maximal && e->rank != rank)
		return diag_set(
			d, ST_ERR_INVALID, "the sharding has %u dimensions, the tensor has %u", e->rank, rank);
	for (uint32_t i = 0; i < rank; i++)
		if (shape[i] < 0)
			return diag_set(
				d, ST_ERR_INVALID, "dimension %u has size %lld", i, (long long)shape[i]);

	int64_t strides[MAX_MESH_AXES];
	mesh_strides(m, strides);
	l->n_devices = m->n_devices;
	l->n_axes = m->n_axes;
	for (uint32_t i = 0; i < m->n_axes; i++)
		l->axis_sizes[i] = m->axis_sizes[i];
	for (uint32_t i = 0; i < rank; i++) {
		axes list = m->maximal ? (axes){NULL, 0} : axes_of(&e->dims[i].axes);
		l->shape[i] = shape[i];
		l->parts[i] = axes_product(list);
		l->shard[i] = shape[i] / l->parts[i] + (shape[i] % l->parts[i] != 0);
		l->first_digit[i] = l->digits.n;
		add_dim(l, m, strides, list);
	}
	l->first_digit[rank] = l->digits.n;
	if (m->n_device_ids) {
		l->device_ids = m->device_ids;
		if (!m->maximal)
			invert_ids(l);
	}
	return ST_OK;
}

status layout_init_cut(layout *l, const sharding_table *t, const tensor_spec *s,
	const int64_t *shape, uint32_t rank, cut_rule cut, diag *d)
{
	TRY(layout_init(l, t, &s->e, shape, rank, d));
	status r = ST_OK;
	for (uint32_t i = 0; i < rank && r == ST_OK; i++) {
		if (l->shape[i] % l->parts[i] == 0)
			continue;
		r = cut_check(l, i, cut, s->own_devices, d);
		l->cut[i] = cut;
	}
	if (r != ST_OK)
		layout_release(l);
	return r;
}

void layout_release(layout *l)
{
	vec_release(&l->digits);
	free(l->position_ids);
	l->position_ids = NULL;
}

int64_t layout_device_at(const layout *l, int64_t position)
{
	return l->device_ids ? l->device_ids[position] : position;
}
int64_t layout_position_of(const layout *l, int64_t i)
{
	return l->position_ids ? l->position_ids[i] : i;
}

void layout_indices(const layout *l, int64_t position, int64_t *out)
{
	for (uint32_t d = 0; d < l->rank; d++) {
		out[d] = 0;
		for (uint32_t i = l->first_digit[d]; i < l->first_digit[d + 1]; i++)
			out[d] +=
				position / l->digits.p[i].divisor % l->digits.p[i].size * l->digits.p[i].weight;
	}
}

void layout_ranges(const layout *l, int64_t position, index_range *out)
{
	int64_t index[MAX_RANK];
	layout_indices(l, position, index);
	for (uint32_t d = 0; d < l->rank; d++)
		out[d] = cut_range(l, d, position, index[d]);
}

int64_t layout_slice_number(const layout *l, int64_t position)
{
	int64_t index[MAX_RANK], number = 0;
	layout_indices(l, position, index);
	for (uint32_t d = 0; d < l->rank; d++)
		number = number * l->parts[d] + index[d];
	return number;
}

void layout_coordinates(const layout *l, int64_t position, int64_t *out)
{
	for (uint32_t i = l->n_axes; i-- > 0;) {
		out[i] = position % l->axis_sizes[i];
		position /= l->axis_sizes[i];
	}
}
