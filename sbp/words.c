#include "sbp/sbp.h"

bool nd_sbp_equal(const nd_sbp *a, const nd_sbp *b)
{
	for (uint32_t k = 0; k < MAX_HIERARCHY; k++)
		if (!sbp_equal(a->at[k], b->at[k]))
			return false;
	return true;
}

void sbp_word_print(sbp s, strbuf *out)
{
	if (s.kind == SBP_SPLIT)
		strbuf_printf(out, "S(%u)", s.dim);
	else
		strbuf_putc(out, s.kind == SBP_BROADCAST ? 'B' : 'P');
}

void nd_sbp_print(const nd_sbp *s, uint32_t n, strbuf *out)
{
	if (n == 1) {
		sbp_word_print(s->at[0], out);
		return;
	}
	for (uint32_t k = 0; k < n; k++) {
		strbuf_puts(out, k ? ", " : "(");
		sbp_word_print(s->at[k], out);
	}
	strbuf_putc(out, ')');
}

status sbp_placement_of(const sharding_table *t, mesh_id id, sbp_placement *out, diag *d)
{
	const device_mesh *m = &t->meshes.p[id];
	*out = (sbp_placement){.mesh = id, .n = m->n_axes};
	if (m->n_axes == 0)
		return diag_set(d, ST_ERR_UNSUPPORTED, "a placement needs a mesh with axes");
	if (m->n_axes > MAX_HIERARCHY)
		return diag_set(d, ST_ERR_LIMIT, "a hierarchy of %u dimensions, at most %d are supported",
			m->n_axes, MAX_HIERARCHY);
	for (uint32_t k = 0; k < m->n_axes; k++)
		out->sizes[k] = m->axis_sizes[k];
	return ST_OK;
}

status nd_sbp_of_sharding(
	const sharding_table *t, sharding_id id, const sbp_placement *p, nd_sbp *out, diag *d)
{
	*out = (nd_sbp){0};
	if (id == SHARDING_NONE)
		return ST_OK;
	const sharding *s = sharding_get(t, id);
	for (uint32_t dim = 0; dim <= s->rank; dim++) {
		axes list = dim < s->rank ? sharding_dim(s, dim) : sharding_unreduced(s);
		uint32_t last = 0;
		for (uint32_t i = 0; i < list.n; i++) {
			uint32_t axis = axis_index(list.a[i]);
			if (axis_size(list.a[i]) != p->sizes[axis])
				return diag_set(d, ST_ERR_UNSUPPORTED, "no SBP: a part of an axis is used");
			if (i && axis < last)
				return diag_set(d, ST_ERR_UNSUPPORTED,
					"no SBP: dimension %u is cut against the order of the mesh", dim);
			last = axis;
			out->at[axis] = dim < s->rank ? sbp_split(dim) : (sbp){SBP_PARTIAL, 0};
		}
	}
	return ST_OK;
}

sharding_id sharding_of_nd_sbp(
	sharding_table *t, const nd_sbp *s, const sbp_placement *p, uint32_t rank)
{
	sharding_edit e;
	sharding_edit_init(&e, p->mesh, rank, true);
	for (uint32_t k = 0; k < p->n; k++) {
		axis_ref a = mesh_full_axis(t, p->mesh, k);
		if (s->at[k].kind == SBP_SPLIT)
			axes_push_merge(&e.dims[s->at[k].dim].axes, a);
		else if (s->at[k].kind == SBP_PARTIAL)
			axes_push_merge(&e.unreduced, a);
	}
	return sharding_intern(t, &e);
}
