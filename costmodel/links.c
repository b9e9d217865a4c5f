/* Mesh axes onto the link classes of a profile. Axes fill the levels from the innermost one: a
 * level takes of each axis, last mesh axis first, the largest part that divides it and still fits;
 * what is left goes outwards. On a torus the parts are then laid onto its dims: one dim each, the
 * largest one cut in two while dims are left over (a slice of 16 chips is 4 x 4), several on one
 * dim when they run out. */
#include "costmodel/costmodel.h"

/* A part of an axis on the torus, not yet placed. */
typedef struct piece {
	uint32_t axis;
	int64_t size;
} piece;
enum { MAX_PIECES = MAX_MESH_AXES + 4 * MAX_TORUS_DIMS };

static int64_t largest_divisor(int64_t n, int64_t limit)
{
	int64_t best = 1;
	for (int64_t i = 1; i * i <= n; i++) {
		if (n % i)
			continue;
		if (i <= limit)
			best = MAX(best, i);
		if (n / i <= limit)
			best = MAX(best, n / i);
	}
	return best;
}

static void add_part(mesh_links *out, uint32_t axis, struct axis_part part)
{
	struct axis_links *a = &out->axis[axis];
	if (a->n < MAX_AXIS_PARTS)
		a->part[a->n++] = part;
	else /* pieces beyond the table run over the same level: keep the product right */
		a->part[a->n - 1].size *= part.size;
}

/* Cuts the largest piece that can be cut, near its square root. */
static bool cut_largest(piece *pieces, uint32_t *n, int64_t above)
{
	uint32_t best = UINT32_MAX;
	int64_t half = 1;
	for (uint32_t i = 0; i < *n; i++) {
		if (pieces[i].size <= above || (best != UINT32_MAX && pieces[i].size <= pieces[best].size))
			continue;
		int64_t root = 1;
		while ((root + 1) * (root + 1) <= pieces[i].size)
			root++;
		int64_t divisor = largest_divisor(pieces[i].size, root);
		if (divisor > 1)
			best = i, half = divisor;
	}
	if (best == UINT32_MAX || *n == MAX_PIECES)
		return false;
	memmove(&pieces[best + 1], &pieces[best], (*n - best) * sizeof *pieces);
	pieces[best].size /= half; /* the minor part is the larger one */
	pieces[best + 1].size = half;
	++*n;
	return true;
}

/* Puts a piece on the dim that is emptiest and has room; false when none has. */
static bool place(const link_class *l, uint8_t link, piece p, int64_t *used, mesh_links *out)
{
	uint32_t best = UINT32_MAX;
	for (uint32_t d = 0; d < l->n_dims; d++)
		if (sat_mul(used[d], p.size) <= l->shape[d] &&
			(best == UINT32_MAX || used[d] < used[best] ||
				(used[d] == used[best] && l->shape[d] < l->shape[best])))
			best = d;
	if (best == UINT32_MAX)
		return false;
	add_part(out, p.axis,
		(struct axis_part){
			.link = link, .dim = (uint8_t)best, .size = p.size, .stride = used[best]});
	used[best] *= p.size;
	return true;
}

static void set_wraps(const link_class *l, uint8_t link, const int64_t *used, mesh_links *out)
{
	for (uint32_t a = 0; a < out->n_axes; a++)
		for (uint32_t i = 0; i < out->axis[a].n; i++) {
			struct axis_part *p = &out->axis[a].part[i];
			if (p->link != link || l->kind != LINK_RING)
				continue;
			int64_t length = used[p->dim];
			bool ring = !l->wrap_size || (length >= l->wrap_size && length % l->wrap_size == 0);
			p->wrapped = ring && length > 2 && p->stride * p->size == length;
		}
}

/* jax.make_mesh has the eight chips of a host, 2 x 4, in the order of a ring (mesh_utils of jax
 * 0.10.2, v5e and v6e): 0 1 2 3 lie in a square, 7 6 5 4 in the other one. So the last four are
 * 2 x 2, and what is in front of them goes from square to square, all eight over two links. */
static void fill_ring_of_eight(uint8_t link, const int64_t *take, mesh_links *out)
{
	static const struct axis_part halves[] = {
		{.dim = 0, .size = 2, .stride = 1},
		{.dim = 1, .size = 2, .stride = 1},
		{.dim = 1, .size = 2, .stride = 2},
	};
	uint32_t n = 0;
	for (uint32_t a = out->n_axes; a-- > 0;)
		for (int64_t left = take[a]; left > 1; left /= 2) {
			struct axis_part part = halves[n++];
			part.link = link;
			add_part(out, a, part);
		}
}

/* Lays take[axis] of each axis onto the torus; what does not fit is taken back. */
static void fill_torus(const link_class *l, uint8_t link, int64_t *take, mesh_links *out)
{
	piece pieces[MAX_PIECES];
	uint32_t n = 0;
	int64_t used[MAX_TORUS_DIMS] = {1, 1, 1}, longest = 1;
	for (uint32_t d = 0; d < l->n_dims; d++)
		longest = MAX(longest, l->shape[d]);
	for (uint32_t a = out->n_axes; a-- > 0;)
		if (take[a] > 1)
			pieces[n++] = (piece){a, take[a]};
	while (cut_largest(pieces, &n, longest))
		;
	while (n < l->n_dims && cut_largest(pieces, &n, 1))
		;
	/* largest first: small pieces fit into what is left */
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t j = i; j > 0 && pieces[j].size > pieces[j - 1].size; j--) {
			piece t = pieces[j];
			pieces[j] = pieces[j - 1];
			pieces[j - 1] = t;
		}
	for (uint32_t i = 0; i < n; i++) {
		piece p = pieces[i];
		if (place(l, link, p, used, out))
			continue;
		/* by prime factors, as far as they fit */
		for (int64_t f = 2; p.size > 1;) {
			if (p.size % f) {
				f = f * f > p.size ? p.size : f + 1;
				continue;
			}
			if (!place(l, link, (piece){p.axis, f}, used, out))
				take[p.axis] /= f;
			p.size /= f;
		}
	}
	set_wraps(l, link, used, out);
}

static uint32_t link_named(const device *dev, const char *name)
{
	for (uint32_t i = 0; i < dev->n_links; i++)
		if (!strcmp(dev->links[i].name, name))
			return i;
	return UINT32_MAX;
}

static status unknown_link(const device *dev, str axis, const char *name, diag *d)
{
	char known[MAX_LINK_CLASSES * 36] = "";
	for (uint32_t i = 0; i < dev->n_links; i++) {
		size_t n = strlen(known);
		snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", dev->links[i].name);
	}
	return diag_set(d, ST_ERR_NOT_FOUND,
		"axis \"" STR_FMT "\": device %s has no link class '%.32s'; it has %s", STR_ARG(axis),
		dev->name, name, known);
}

status mesh_links_assign(const device *dev, const sharding_table *t, mesh_id m,
	const char *const *names, mesh_links *out, diag *d)
{
	memset(out, 0, sizeof *out);
	if (m == ID_NONE)
		return ST_OK;
	const device_mesh *mesh = &t->meshes.p[m];
	uint32_t pinned[MAX_MESH_AXES];
	int64_t left[MAX_MESH_AXES];
	out->n_axes = mesh->n_axes;
	for (uint32_t a = 0; a < mesh->n_axes; a++) {
		left[a] = mesh->axis_sizes[a];
		pinned[a] = UINT32_MAX;
		if (!names || !names[a])
			continue;
		pinned[a] = link_named(dev, names[a]);
		if (pinned[a] == UINT32_MAX)
			return unknown_link(dev, strtab_get(&t->names, mesh->axis_names[a]), names[a], d);
	}
	for (uint32_t i = 0; i < dev->n_links; i++) {
		const link_class *l = &dev->links[i];
		int64_t used = 1, take[MAX_MESH_AXES];
		for (uint32_t a = mesh->n_axes; a-- > 0;) {
			/* a pinned axis may use its own level only, and comes to it in mesh order like the
			 * others */
			bool here = pinned[a] == UINT32_MAX || pinned[a] == i;
			take[a] = !here ? 1 : l->size ? largest_divisor(left[a], l->size / used) : left[a];
			used *= take[a];
		}
		if (l->eight_in_ring && used == 8)
			fill_ring_of_eight((uint8_t)i, take, out);
		else if (l->kind == LINK_RING || l->kind == LINK_LINE)
			fill_torus(l, (uint8_t)i, take, out);
		int64_t stride = 1;
		for (uint32_t a = mesh->n_axes; a-- > 0;) {
			if (take[a] > 1 && l->kind != LINK_RING && l->kind != LINK_LINE)
				add_part(out, a,
					(struct axis_part){.link = (uint8_t)i, .size = take[a], .stride = stride});
			stride *= take[a];
			left[a] /= take[a];
		}
	}
	for (uint32_t a = 0; a < mesh->n_axes; a++)
		if (left[a] > 1)
			return diag_set(d, ST_ERR_INVALID,
				"axis \"" STR_FMT "\" of size %lld does not fit %s of device %s",
				STR_ARG(strtab_get(&t->names, mesh->axis_names[a])), (long long)mesh->axis_sizes[a],
				pinned[a] == UINT32_MAX ? "the links" : dev->links[pinned[a]].name, dev->name);
	return ST_OK;
}

int64_t mesh_links_slice_devices(const mesh_links *links)
{
	int64_t devices = 1;
	for (uint32_t a = 0; a < links->n_axes; a++)
		for (uint32_t i = 0; i < links->axis[a].n; i++)
			if (links->axis[a].part[i].link == 0)
				devices = sat_mul(devices, links->axis[a].part[i].size);
	return devices;
}

uint32_t device_torus_dims(const device *dev)
{
	return dev->n_links && dev->links[0].kind == LINK_RING ? dev->links[0].n_dims : 2;
}
