/* Replica groups on the links of a device. A program knows no mesh axes, only groups of devices.
 * What its groups have in common gives the axes back: a group is written as strides and sizes
 * (0,2,4,6 of 8: four devices two apart), the borders of all of them cut the devices 0 .. n-1 into
 * a mesh, and each group is a list of axes of that mesh, which mesh_links_assign lays onto the
 * links as it does the mesh of a module. Half an axis looks like an axis: where a torus has fewer
 * dims than there would be axes, the borders go that the fewest bytes need; and those that only
 * pairs of neighbours have. */
#include "hlo/state.h"

#include <stdlib.h>

enum { MAX_CUTS = 256 };

static int by_id(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return x < y ? -1 : x > y;
}

static void add_digit(hlo_group_axes *g, int64_t stride, int64_t size)
{
	if (size > 1 && g->n_digits < COUNT_OF(g->digits)) {
		g->digits[g->n_digits].stride = stride;
		g->digits[g->n_digits++].size = size;
	}
}

/* Sorted ids as strides and sizes. What is not regular becomes the stretch from the smallest gap to
 * the largest id. */
static void find_digits(hlo_group_axes *g, const int32_t *ids, uint32_t n)
{
	uint32_t done = 1; /* members that the digits so far explain */
	while (done < n) {
		int64_t stride = ids[done] - (int64_t)ids[0];
		uint32_t size = 1;
		for (; (size + 1) * (uint64_t)done <= n; size++) {
			bool same = true;
			for (uint32_t k = 0; k < done && same; k++)
				same = ids[size * done + k] - (int64_t)ids[k] == size * stride;
			if (!same)
				break;
		}
		if (size == 1 || stride <= 0 || n % (done * size))
			break;
		add_digit(g, stride, size);
		done *= size;
	}
	if (done == n)
		return;
	int64_t gap = INT64_MAX;
	for (uint32_t k = 1; k < n; k++)
		gap = MIN(gap, MAX(ids[k] - (int64_t)ids[k - 1], 1));
	g->n_digits = 0;
	add_digit(g, gap, ceil_div(ids[n - 1] - (int64_t)ids[0] + 1, gap));
}

/* Devices that pairs connect, as one group: the largest. parent: union-find by device. */
static int32_t find_root(int32_t *parent, int32_t v)
{
	while (parent[v] != v)
		v = parent[v] = parent[parent[v]];
	return v;
}

static void largest_chain(hlo_members *pairs, int64_t devices)
{
	int32_t *parent = xmalloc((size_t)devices * sizeof *parent),
			*count = xcalloc((size_t)devices, sizeof *count), best = 0;
	for (int64_t i = 0; i < devices; i++)
		parent[i] = (int32_t)i;
	for (uint32_t k = 0; k + 1 < pairs->ids.n; k += 2)
		parent[find_root(parent, pairs->ids.p[k])] = find_root(parent, pairs->ids.p[k + 1]);
	for (int64_t i = 0; i < devices; i++)
		count[find_root(parent, (int32_t)i)]++;
	for (int64_t i = 0; i < devices; i++)
		best = count[i] > count[best] ? (int32_t)i : best;
	pairs->ids.n = 0;
	for (int64_t i = 0; i < devices; i++)
		if (find_root(parent, (int32_t)i) == best)
			vec_push(&pairs->ids, (int32_t)i);
	pairs->starts.n = 0;
	vec_push(&pairs->starts, 0);
	vec_push(&pairs->starts, pairs->ids.n);
	free(parent);
	free(count);
}

static bool same_key(const hlo_group_axes *a, const hlo_group_axes *b)
{
	return a->key_groups == b->key_groups && a->pairs == b->pairs && a->channel == b->channel &&
		a->global == b->global && a->op == b->op;
}

static hlo_group_axes key_of(const hlo_module *m, hlo_id i)
{
	const hlo_attr *groups = hlo_attr_find(m, i, HLO_ATTR_REPLICA_GROUPS),
				   *pairs = hlo_attr_find(m, i, HLO_ATTR_PAIRS);
	hlo_group_axes g = {.key_groups = ID_NONE,
		.pairs = pairs != NULL,
		.channel = hlo_int(m, i, HLO_ATTR_CHANNEL_ID, 0) > 0,
		.global = hlo_int(m, i, HLO_ATTR_GLOBAL_IDS, 0) != 0,
		.op = m->instrs.p[i].op};
	if (pairs)
		g.key_groups = pairs->numbers;
	else if (groups)
		g.key_groups = groups->numbers;
	return g;
}

static void note_group(hlo_simulation *s, hlo_id i)
{
	const hlo_module *m = s->m;
	hlo_group_axes g = key_of(m, i);
	int64_t bytes = g.pairs
		? 0
		: hlo_shape_of(m, i)->plain_bytes; /* neighbours exchange over one link wherever they are */
	for (uint32_t k = 0; k < s->groups.n; k++)
		if (same_key(&s->groups.p[k], &g)) {
			s->groups.p[k].bytes = sat_add(s->groups.p[k].bytes, bytes);
			return;
		}
	g.bytes = bytes;
	hlo_members members;
	hlo_group_members(m, i, &members);
	if (g.pairs)
		largest_chain(&members, m->n_partitions * m->n_replicas);
	uint32_t best = 0;
	for (uint32_t k = 1; k + 1 < members.starts.n; k++)
		if (members.starts.p[k + 1] - members.starts.p[k] >
			members.starts.p[best + 1] - members.starts.p[best])
			best = k;
	if (members.starts.n > 1) {
		int32_t *ids = members.ids.p + members.starts.p[best];
		uint32_t n = members.starts.p[best + 1] - members.starts.p[best];
		if (n > 1) {
			qsort(ids, n, sizeof *ids, by_id);
			find_digits(&g, ids, n);
		}
	}
	hlo_members_release(&members);
	vec_push(&s->groups, g);
}

typedef struct cut {
	int64_t at, bytes; /* bytes: of the groups that begin or end there */
} cut;

static int by_place(const void *a, const void *b)
{
	int64_t x = ((const cut *)a)->at, y = ((const cut *)b)->at;
	return x < y ? -1 : x > y;
}

static void add_cut(cut *cuts, uint32_t *n, int64_t at, int64_t bytes)
{
	for (uint32_t i = 0; i < *n; i++)
		if (cuts[i].at == at) {
			cuts[i].bytes = sat_add(cuts[i].bytes, bytes);
			return;
		}
	if (*n < MAX_CUTS)
		cuts[(*n)++] = (cut){at, bytes};
}

/* Removes the border that the fewest bytes need while there are too many, and every one that only
 * pairs have where groups have others. */
static uint32_t drop_cuts(cut *cuts, uint32_t n, uint32_t most, bool groups)
{
	while (n) {
		uint32_t least = 0;
		for (uint32_t i = 0; i < n; i++) {
			least = cuts[i].bytes < cuts[least].bytes ? i : least;
			groups |= cuts[i].bytes > 0;
		}
		if (n <= most && !(groups && !cuts[least].bytes))
			break;
		memmove(&cuts[least], &cuts[least + 1], (n - least - 1) * sizeof *cuts);
		n--;
	}
	return n;
}

/* Borders that divide each other, from 1 to all devices; one that fits none is left out. */
static uint32_t find_cuts(const hlo_simulation *s, int64_t devices, int64_t *cuts)
{
	cut all[MAX_CUTS];
	uint32_t n = 0, kept = 0;
	bool torus = s->dev.n_links &&
		(s->dev.links[0].kind == LINK_RING || s->dev.links[0].kind == LINK_LINE),
		 whole = false;
	if (devices <= 1)
		return 0;
	for (uint32_t k = 0; k < s->groups.n; k++)
		for (uint32_t i = 0; i < s->groups.p[k].n_digits; i++) {
			int64_t stride = s->groups.p[k].digits[i].stride, size = s->groups.p[k].digits[i].size;
			whole |= s->groups.p[k].bytes && size == devices;
			add_cut(all, &n, stride, s->groups.p[k].bytes);
			add_cut(all, &n, sat_mul(stride, size), s->groups.p[k].bytes);
		}
	qsort(all, n, sizeof *all, by_place);
	for (uint32_t i = 0; i < n; i++) {
		int64_t below = kept ? all[kept - 1].at : 1;
		if (all[i].at > below && all[i].at < devices && all[i].at % below == 0 &&
			devices % all[i].at == 0)
			all[kept++] = all[i];
	}
	if (torus)
		kept = drop_cuts(all, kept, MAX(s->dev.links[0].n_dims, 1) - 1, whole);
	kept = MIN(kept, MAX_MESH_AXES - 1);
	cuts[0] = 1;
	for (uint32_t i = 0; i < kept; i++)
		cuts[1 + i] = all[i].at;
	cuts[1 + kept] = devices;
	return kept + 1;
}

/* Axis i of n covers the positions from cut n-1-i to the next one: the last axis is the innermost.
 */
static void find_axes(hlo_group_axes *g, const int64_t *cuts, uint32_t n)
{
	for (uint32_t d = 0; d < g->n_digits; d++) {
		int64_t low = g->digits[d].stride, high = sat_mul(low, g->digits[d].size);
		for (uint32_t c = 0; c < n; c++) {
			int64_t size = cuts[c + 1] / cuts[c], from = MAX(low, cuts[c]),
					to = MIN(high, cuts[c + 1]);
			if (to <= from || g->axes.n == MAX_TENSOR_AXES)
				continue;
			/* a part that does not divide the axis counts as all of it */
			bool divides = from % cuts[c] == 0 && to % from == 0 && cuts[c + 1] % to == 0;
			g->axes.a[g->axes.n++] = divides ? axis_make(n - 1 - c, cuts[c + 1] / to, to / from)
											 : axis_make(n - 1 - c, 1, size);
		}
	}
}

status hlo_links_assign(hlo_simulation *s, diag *d)
{
	const hlo_module *m = s->m;
	int64_t devices = m->n_partitions * m->n_replicas, cuts[MAX_MESH_AXES + 1],
			sizes[MAX_MESH_AXES];
	str_id names[MAX_MESH_AXES];
	enum {
		MAX_GROUPS = 4096
	}; /* spellings of one program; further ones are taken as groups of all devices */
	for (hlo_id i = 0; i < m->instrs.n && s->groups.n < MAX_GROUPS; i++) {
		uint32_t flags = hlo_op_flags((hlo_op)m->instrs.p[i].op);
		if (flags & HLOF_COLLECTIVE && !(flags & HLOF_DONE))
			note_group(s, i);
	}
	uint32_t n = find_cuts(s, devices, cuts);
	s->table = sharding_table_new();
	if (!n)
		return ST_OK;
	for (uint32_t a = 0; a < n; a++) {
		char name[32];
		int len = snprintf(name, sizeof name, "devices_%u", a);
		names[a] = strtab_add(&s->table->names, (str){name, (size_t)len});
		sizes[a] = cuts[n - a] / cuts[n - 1 - a];
	}
	for (uint32_t k = 0; k < s->groups.n; k++)
		find_axes(&s->groups.p[k], cuts, n);
	s->mesh = mesh_intern(s->table,
		&(device_mesh){
			.n_axes = n, .axis_names = names, .axis_sizes = sizes, .n_devices = devices});
	return mesh_links_assign(&s->dev, s->table, s->mesh, NULL, &s->links, d);
}

static axes axes_of_comm(const hlo_simulation *s, const hlo_comm *c, axes_buf *all)
{
	hlo_group_axes key = key_of(s->m, c->instr);
	for (uint32_t k = 0; k < s->groups.n; k++)
		if (same_key(&s->groups.p[k], &key))
			return axes_of(&s->groups.p[k].axes);
	for (uint32_t a = 0; a < s->links.n_axes; a++)
		all->a[all->n++] = mesh_full_axis(s->table, s->mesh, a);
	return axes_of(all);
}

/* Where kernels take the compiler's cycles, links take what is published: both are what schedules
 * are judged by. */
int64_t hlo_comm_time_ns(
	hlo_simulation *s, const hlo_comm *c, int64_t bytes, uint8_t *link, hlo_source *from)
{
	axes_buf all = {0};
	axes a = axes_of_comm(s, c, &all);
	int64_t noted = hlo_estimated_ns(s->m, c->instr),
			t = s->estimated
		? published_time_ns(&s->dev, &s->links, (collective_kind)c->kind, a, bytes, link)
		: -1;
	*from = noted >= 0 ? HLO_FROM_COMPILER : t >= 0 ? HLO_FROM_PUBLISHED : HLO_FROM_PROFILE;
	if (t < 0)
		t = collective_time_ns(&s->dev, &s->links, (collective_kind)c->kind, a, bytes, link);
	return noted >= 0 ? noted : t;
}
