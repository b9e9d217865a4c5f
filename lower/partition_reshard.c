/* The way that XLA's partitioner takes between two shardings of a value. It looks at how many parts
 * each dim has. Dims that lose parts to as many others in all_to_alls go there directly, with a
 * permute where devices differ; else dims are gathered until what is left goes so, or is a slice of
 * what every device has then. Facts: what libtpu makes of random pairs
 * (tests/oracle/fidelity/partitioned.py). */
#include "lower/internal.h"

typedef struct counts {
	uint32_t rank;
	int64_t from[MAX_RANK], to[MAX_RANK];
} counts;

static int64_t product(const int64_t *n, uint32_t rank)
{
	int64_t all = 1;
	for (uint32_t d = 0; d < rank; d++)
		all *= n[d];
	return all;
}

/* Dims that lose parts, each with the one that gets as many; false: some are left over. */
static bool pair_dims(const counts *c, uint32_t *partner)
{
	bool taken[MAX_RANK] = {false};
	for (uint32_t d = 0; d < c->rank; d++) {
		partner[d] = UINT32_MAX;
		for (uint32_t g = 0; c->from[d] > c->to[d] && g < c->rank; g++)
			if (c->to[g] > c->from[g] && !taken[g] && c->from[d] % c->to[d] == 0 &&
				c->to[g] % c->from[g] == 0 && c->from[d] / c->to[d] == c->to[g] / c->from[g]) {
				partner[d] = g;
				taken[g] = true;
				break;
			}
		if (c->from[d] > c->to[d] && partner[d] == UINT32_MAX)
			return false;
	}
	for (uint32_t g = 0; g < c->rank; g++)
		if (c->to[g] > c->from[g] && !taken[g])
			return false;
	return true;
}

/* Moves the last axes of a list, of so many parts, behind another's; an axis is cut in two. */
static bool move_last(axes_buf *from, axes_buf *onto, int64_t want)
{
	uint32_t keep = from->n;
	int64_t parts = 1;
	while (keep && parts < want)
		parts *= axis_size(from->a[--keep]);
	if (parts % want || onto->n + from->n - keep > MAX_TENSOR_AXES)
		return false;
	int64_t stays = parts / want; /* of the first one that moves */
	axis_ref first = from->a[keep];
	if (axis_size(first) % stays)
		return false;
	uint32_t n = from->n;
	for (uint32_t i = keep; i < n; i++)
		onto->a[onto->n++] = i > keep || stays == 1
			? from->a[i]
			: axis_make(axis_index(first), axis_pre(first) * stays, axis_size(first) / stays);
	from->n = keep;
	if (stays > 1)
		from->a[from->n++] = axis_make(axis_index(first), axis_pre(first), stays);
	return true;
}

/* The target before its all_to_alls: what a dim gets from another is behind that one's own axes. */
static bool before_moves(const sharding_edit *to, const counts *c, sharding_edit *out)
{
	uint32_t partner[MAX_RANK];
	if (!pair_dims(c, partner))
		return false;
	*out = *to;
	for (uint32_t d = 0; d < c->rank; d++) {
		if (partner[d] == UINT32_MAX)
			continue;
		axes_buf *from = &out->dims[partner[d]].axes, *onto = &out->dims[d].axes;
		if (!move_last(from, onto, c->from[d] / c->to[d]))
			return false;
	}
	return true;
}

/* Each dim's parts are some other dim's later, and no two can change by themselves: the first move,
 * to a dim that is whole. */
static bool first_of_ring(sharding_edit *e, const counts *c)
{
	for (uint32_t g = 0; g < c->rank; g++)
		for (uint32_t d = 0; c->from[g] == 1 && c->to[g] > 1 && d < c->rank; d++)
			if (c->from[d] == c->to[g] && c->from[d] != c->to[d]) {
				e->dims[g].axes = e->dims[d].axes;
				e->dims[d].axes.n = 0;
				return true;
			}
	return false;
}

static bool same_sizes(const counts *c)
{
	bool taken[MAX_RANK] = {false};
	for (uint32_t d = 0; d < c->rank; d++) {
		uint32_t k = 0;
		while (k < c->rank && (taken[k] || c->to[k] != c->from[d]))
			k++;
		if (k == c->rank)
			return false;
		taken[k] = true;
	}
	return true;
}

static bool starts_with(const axes_buf *l, const axes_buf *first)
{
	bool does = first->n <= l->n;
	for (uint32_t i = 0; does && i < first->n; i++)
		does = first->a[i] == l->a[i];
	return does;
}

static void gather_dim(const sharding_edit *to, sharding_edit *e, counts *c, uint32_t d, bool all)
{
	axes_buf *l = &e->dims[d].axes;
	const axes_buf *want = &to->dims[d].axes;
	l->n = !all && starts_with(l, want) ? want->n : 0;
	c->from[d] = axes_product(axes_of(l));
}

/* The one dim, behind whose gathering all that is left are all_to_alls. */
static bool gather_one(const sharding_edit *to, sharding_edit *e, const counts *c)
{
	for (uint32_t pass = 0; pass < 2; pass++) /* one that loses parts first */
		for (uint32_t d = 0; d < c->rank; d++) {
			if (c->from[d] == 1 || (c->from[d] > c->to[d]) == (pass == 1))
				continue;
			counts left = *c;
			sharding_edit one = *e;
			uint32_t partner[MAX_RANK];
			gather_dim(to, &one, &left, d, pass == 1);
			if (product(left.from, c->rank) == product(c->to, c->rank) &&
				pair_dims(&left, partner)) {
				*e = one;
				return true;
			}
		}
	return false;
}

sharding_id partition_halfway(sharding_table *t, sharding_id from, sharding_id to)
{
	sharding_edit a, b;
	sharding_to_edit(t, from, &a);
	sharding_to_edit(t, to, &b);
	counts c = {.rank = a.rank};
	bool loses = false, gets = false, gets_more = false;
	for (uint32_t d = 0; d < c.rank; d++) {
		c.from[d] = axes_product(axes_of(&a.dims[d].axes));
		c.to[d] = axes_product(axes_of(&b.dims[d].axes));
		loses |= c.from[d] > c.to[d];
		gets |= c.to[d] > c.from[d];
		gets_more |= c.to[d] > c.from[d] && c.from[d] > 1;
	}
	if (!loses || !gets || a.mesh != b.mesh)
		return SHARDING_NONE;
	const device_mesh *m = &t->meshes.p[a.mesh];
	int64_t parts_from = product(c.from, c.rank), parts_to = product(c.to, c.rank);
	sharding_edit half = a;
	if (parts_from == parts_to && before_moves(&b, &c, &half)) {
		sharding_id id = sharding_intern(t, &half);
		return id == from ? SHARDING_NONE : id;
	}
	if (parts_from == parts_to && same_sizes(&c)) {
		half = a;
		if (first_of_ring(&half, &c))
			return sharding_intern(t, &half);
	}
	if (parts_from < parts_to && parts_to == product(m->axis_sizes, m->n_axes) && !gets_more)
		return SHARDING_NONE;
	half = a;
	if (parts_from <= parts_to || !gather_one(&b, &half, &c))
		for (uint32_t d = 0; d < c.rank; d++)
			if (c.from[d] > c.to[d] ||
				(c.from[d] < c.to[d] && !starts_with(&b.dims[d].axes, &a.dims[d].axes)))
				gather_dim(&b, &half, &c, d, false);
	return sharding_intern(t, &half);
}
