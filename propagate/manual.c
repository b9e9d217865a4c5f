/* Edges of a manual_computation: the axes it is manual over are in the shardings outside and not in
 * those inside. */
#include "propagate/engine.h"

static bool is_manual(const manual_edge *e, axis_ref a) { return e->axes >> axis_index(a) & 1; }

static void keep_axes(axes_buf *l, const manual_edge *e, bool manual)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->n; i++)
		if (is_manual(e, l->a[i]) == manual)
			l->a[n++] = l->a[i];
	l->n = n;
}

static sharding_id manual_erase(sharding_table *t, const manual_edge *e, sharding_id outer)
{
	if (outer == SHARDING_NONE)
		return outer;
	sharding_edit edit;
	sharding_to_edit(t, outer, &edit);
	for (uint32_t d = 0; d < edit.rank; d++)
		keep_axes(&edit.dims[d].axes, e, false);
	keep_axes(&edit.replicated, e, false);
	keep_axes(&edit.unreduced, e, false);
	return sharding_intern(t, &edit);
}

/* Manual axes as in the op's own entry, then the free ones of inner; replicated and unreduced axes
 * are the entry's. */
static sharding_id manual_add(sharding_table *t, const manual_edge *e, sharding_id inner)
{
	if (inner == SHARDING_NONE || sharding_get(t, inner)->rank != sharding_get(t, e->outer)->rank)
		return inner;
	sharding_edit edit;
	const sharding *in = sharding_get(t, inner);
	sharding_to_edit(t, e->outer, &edit);
	edit.mesh = in->mesh;
	for (uint32_t d = 0; d < edit.rank; d++) {
		keep_axes(&edit.dims[d].axes, e, true);
		axes free_axes = sharding_dim(in, d);
		for (uint32_t i = 0; i < free_axes.n && edit.dims[d].axes.n < MAX_TENSOR_AXES; i++)
			edit.dims[d].axes.a[edit.dims[d].axes.n++] = free_axes.a[i];
		edit.dims[d].closed = in->dims[d].closed;
		edit.dims[d].priority = in->dims[d].priority;
	}
	return sharding_intern(t, &edit);
}

const manual_edge *manual_edge_of(const program *p, node_id n)
{
	uint32_t low = 0, high = p->manual_edges.n;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		if (p->manual_edges.p[mid].node == n)
			return &p->manual_edges.p[mid];
		if (p->manual_edges.p[mid].node < n)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

sharding_id manual_enter(sharding_table *t, const manual_edge *e, sharding_id sh)
{
	return e->is_argument ? manual_add(t, e, sh) : manual_erase(t, e, sh);
}

sharding_id manual_leave(sharding_table *t, const manual_edge *e, sharding_id sh)
{
	return e->is_argument ? manual_erase(t, e, sh) : manual_add(t, e, sh);
}
