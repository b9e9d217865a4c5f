#include "layout/placement.h"

#include <stdlib.h>

/* As a program with `import oneflow as flow` says it. */
static const struct words flow_words = {
	"sbp",
	{"flow.sbp.split"},
	{NULL},
	{NULL},
	"flow.sbp.broadcast",
	"flow.sbp.partial_sum",
	"flow.sbp.partial_%s()",
	{NULL},
	"flow.placement(type=\"cuda\", ranks=",
	{NULL},
	false,
};

int64_t split_factor(const int64_t *axis_sizes, axes list, uint32_t axis)
{
	int64_t cut = 1, factor = 1;
	bool begun = false;
	for (uint32_t i = 0; i < list.n; i++) {
		axis_ref a = list.a[i];
		if (axis_index(a) == axis) {
			if (axis_pre(a) != cut)
				return 0;
			cut *= axis_size(a);
			begun = true;
		} else if (axis_index(a) > axis && !begun) {
			factor *= axis_size(a);
		} else if (axis_index(a) > axis && cut < axis_sizes[axis]) {
			return 0;
		}
	}
	return cut == axis_sizes[axis] ? factor : 0;
}

/* The dimension that an axis cuts, ID_NONE: none. */
static uint32_t dim_of(const sharding_edit *e, uint32_t axis)
{
	for (uint32_t d = 0; d < e->rank; d++)
		for (uint32_t i = 0; i < e->dims[d].axes.n; i++)
			if (axis_index(e->dims[d].axes.a[i]) == axis)
				return d;
	return ID_NONE;
}

static bool is_partial(const sharding_edit *e, axis_ref a)
{
	for (uint32_t i = 0; i < e->unreduced.n; i++)
		if (axis_contains(e->unreduced.a[i], a))
			return true;
	return false;
}

/* Every axis of the mesh does one thing, and no axis cuts a dimension against the order of the mesh
 * or the words say so. */
static bool fits_mesh(const struct words *w, const device_mesh *m, const sharding_edit *e)
{
	for (uint32_t i = 0; i < e->unreduced.n; i++)
		if (axis_size(e->unreduced.a[i]) != m->axis_sizes[axis_index(e->unreduced.a[i])])
			return false;
	for (uint32_t axis = 0; axis < m->n_axes; axis++) {
		uint32_t dim = dim_of(e, axis);
		if (dim == ID_NONE || m->axis_sizes[axis] == 1)
			continue;
		int64_t factor = split_factor(m->axis_sizes, axes_of(&e->dims[dim].axes), axis);
		if (factor == 0 || (factor > 1 && !w->strided))
			return false;
	}
	return true;
}

static void print_word(
	const struct words *w, uint32_t dim, int64_t factor, bool partial, reduction r, strbuf *out)
{
	if (partial && r == REDUCTION_SUM)
		strbuf_puts(out, w->partial_format);
	else if (partial)
		strbuf_printf(out, w->other_partial, reduction_name(r));
	else if (dim == ID_NONE)
		strbuf_puts(out, w->broadcast_text);
	else if (factor > 1)
		strbuf_printf(out, "_StridedShard(%u, split_factor=%lld)", dim, (long long)factor);
	else
		strbuf_printf(out, "%s(%u)", w->split[0], dim);
}

static void print_over_mesh(
	const struct words *w, const sharding_table *t, const tensor_spec *s, strbuf *out)
{
	const device_mesh *m = &t->meshes.p[s->e.mesh];
	strbuf_putc(out, '[');
	for (uint32_t i = 0; i < m->n_axes; i++) {
		uint32_t dim = dim_of(&s->e, i);
		int64_t factor = dim == ID_NONE || m->axis_sizes[i] == 1
			? 1
			: split_factor(m->axis_sizes, axes_of(&s->e.dims[dim].axes), i);
		if (i)
			strbuf_puts(out, ", ");
		print_word(
			w, dim, factor, is_partial(&s->e, mesh_full_axis(t, s->e.mesh, i)), s->reduction, out);
	}
	strbuf_putc(out, ']');
}

enum { MAX_PIECES = COUNT_OF(((mesh_pieces *)0)->a) };

/* The pieces in an order in which what cuts a dimension first comes first, otherwise in that of the
 * mesh. Sizes of 1 are left out. Returns how many there are. */
static uint32_t cutting_order(const mesh_pieces *p, const sharding_edit *e, uint32_t *order)
{
	uint32_t before[MAX_PIECES],
		n = 0; /* the piece that has to come before; ID_NONE: none, or it has */
	bool done[MAX_PIECES];
	for (uint32_t i = 0; i < p->n; i++) {
		before[i] = ID_NONE;
		done[i] = axis_size(p->a[i]) == 1;
	}
	for (uint32_t d = 0; d < e->rank; d++)
		for (uint32_t i = 0, last = ID_NONE; i < e->dims[d].axes.n; i++) {
			uint32_t piece = piece_find(p, e->dims[d].axes.a[i]);
			if (done[piece])
				continue;
			before[piece] = last;
			last = piece;
		}
	for (uint32_t i = 0; i < p->n;) {
		if (done[i] || (before[i] != ID_NONE && !done[before[i]])) {
			i++;
			continue;
		}
		done[i] = true;
		order[n++] = i;
		i = 0;
	}
	return n;
}

static void print_over_pieces(
	const struct words *w, const sharding_table *t, const tensor_spec *s, strbuf *out)
{
	const device_mesh *m = &t->meshes.p[s->e.mesh];
	mesh_pieces p;
	uint32_t order[MAX_PIECES];
	int64_t sizes[MAX_PIECES], strides[MAX_PIECES], stride = 1;
	pieces_of(t, &s->e, &p);
	uint32_t n = cutting_order(&p, &s->e, order);
	for (uint32_t i = p.n; i-- > 0;) {
		strides[i] = stride;
		stride *= axis_size(p.a[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		sizes[i] = axis_size(p.a[order[i]]);
	int64_t *ids = xmalloc((size_t)m->n_devices * sizeof *ids);
	for (int64_t place = 0; place < m->n_devices; place++) {
		int64_t position = 0, rest = place;
		for (uint32_t i = n; i-- > 0;) {
			position += rest % sizes[i] * strides[order[i]];
			rest /= sizes[i];
		}
		ids[place] = m->n_device_ids ? m->device_ids[position] : position;
	}
	strbuf_puts(out, w->devices_text);
	devices_print(sizes, n, ids, out);
	strbuf_puts(out, "), [");
	free(ids);
	for (uint32_t i = 0; i < n; i++) {
		axis_ref a = p.a[order[i]];
		uint32_t dim = ID_NONE;
		for (uint32_t d = 0; d < s->e.rank; d++)
			for (uint32_t k = 0; k < s->e.dims[d].axes.n; k++)
				if (s->e.dims[d].axes.a[k] == a)
					dim = d;
		if (i)
			strbuf_puts(out, ", ");
		print_word(w, dim, 1, is_partial(&s->e, a), s->reduction, out);
	}
	strbuf_putc(out, ']');
}

static status print_placements(
	const struct words *w, const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d)
{
	const device_mesh *m = &t->meshes.p[s->e.mesh];
	TRY(refuse_beyond(t, s, w->name,
		(vocabulary){.unreduced = true, .sub_axes = true, .reductions = true, .maximal = true}, d));
	if (m->maximal)
		strbuf_printf(out, "%s[%lld]), [%s]", w->devices_text, (long long)m->device_ids[0],
			w->broadcast_text);
	else if (fits_mesh(w, m, &s->e))
		print_over_mesh(w, t, s, out);
	else
		print_over_pieces(w, t, s, out);
	return ST_OK;
}

status sbp_print(const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d)
{
	return print_placements(&sbp_words, t, s, out, d);
}
status flow_print(const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d)
{
	return print_placements(&flow_words, t, s, out, d);
}
status dtensor_print(const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d)
{
	return print_placements(&dtensor_words, t, s, out, d);
}
