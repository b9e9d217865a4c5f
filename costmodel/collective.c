/* Time of a collective over mesh axes. Source of the formulas: the ring, torus and two-level models
 * of the scaling book (simulated algorithms: rings per torus dim running at once, rings or trees
 * over switches and networks, levels of a hierarchy pipelined). A collective takes one launch, the
 * latency of all levels, and the wire time of the slowest one.
 *
 * Buffers: `bytes` is the full buffer S of the group: the gathered result, the reduced operand, the
 * local buffer of all_to_all and collective_permute. A level with D members, below which G devices
 * of the group share the work, moves S (D - 1) / D / G per device: levels are reduced or gathered
 * one after the other. Rings through the whole group (one_ring) carry S (DG - 1) / DG / G instead,
 * nearly twice that for D = 2. */
#include "costmodel/costmodel.h"

/* Part of the group along one torus dim, or the group's size on a switch or network. */
typedef struct span {
	uint8_t link, dim;
	bool wrapped;
	int64_t n, stride;
} span;
enum { MAX_SPANS = 64 };
typedef struct group {
	uint32_t n;
	span span[MAX_SPANS];
} group;

/* Adds a span; neighbours along one dim (or on one switch) become one. */
static void add_span(group *g, span s)
{
	for (uint32_t i = 0; i < g->n; i++) {
		span *o = &g->span[i];
		if (o->link != s.link || o->dim != s.dim)
			continue;
		if (o->stride * o->n == s.stride) {
			o->n *= s.n;
			o->wrapped = s.wrapped;
			return;
		}
		if (s.stride * s.n == o->stride) {
			o->n *= s.n;
			o->stride = s.stride;
			return;
		}
	}
	if (g->n < MAX_SPANS)
		g->span[g->n++] = s;
}

/* The positions of a (sub-)axis cover strides [low, high) of its mesh axis; the parts it touches
 * are its spans. */
static void add_axis(group *g, const mesh_links *links, axis_ref a)
{
	const struct axis_links *al = &links->axis[axis_index(a)];
	int64_t total = 1, at = 1;
	for (uint32_t i = 0; i < al->n; i++)
		total *= al->part[i].size;
	int64_t low = MAX(total / MAX(axis_pre(a) * axis_size(a), 1), 1), high = low * axis_size(a);
	for (uint32_t i = 0; i < al->n; i++, at *= al->part[i - 1].size) {
		const struct axis_part *p = &al->part[i];
		int64_t from = MAX(low, at), to = MIN(high, at * p->size);
		if (to <= from)
			continue;
		/* a sub-axis that does not divide at the part's border is rounded up to what touches it */
		add_span(g,
			(span){.link = p->link,
				.dim = p->dim,
				.n = ceil_div(to, from),
				.stride = p->stride * (from / at),
				.wrapped = p->wrapped && to == at * p->size});
	}
}

static int64_t divide(__int128 a, __int128 b)
{
	__int128 q = (a + b - 1) / b;
	return q > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)q;
}

/* Bytes that would take as long at full bandwidth, by a measured group. */
static int64_t measured_bytes(const group_curve *c, int64_t bytes)
{
	uint32_t last = c->n - 1, i = 0;
	if (bytes <= c->bytes[0])
		return divide((__int128)bytes * 1000000, c->ppm[0]);
	if (bytes >= c->bytes[last])
		return divide((__int128)bytes * 1000000, c->ppm[last]);
	while (bytes > c->bytes[i + 1])
		i++;
	int64_t from = divide((__int128)c->bytes[i] * 1000000, c->ppm[i]),
			to = divide((__int128)c->bytes[i + 1] * 1000000, c->ppm[i + 1]);
	return from +
		divide((__int128)(to - from) * (bytes - c->bytes[i]), c->bytes[i + 1] - c->bytes[i]);
}

static int64_t effective_bytes(const link_class *l, int64_t members, int64_t bytes)
{
	if (!l->n_groups)
		return divide(((__int128)bytes + l->half_bytes) * 1000000, l->efficiency_ppm);
	uint32_t i = 0;
	while (i < l->n_groups && l->groups[i].group < members)
		i++;
	if (i == l->n_groups)
		return measured_bytes(&l->groups[i - 1], bytes);
	int64_t above = measured_bytes(&l->groups[i], bytes);
	if (!i || l->groups[i].group == members)
		return above;
	int64_t below = measured_bytes(&l->groups[i - 1], bytes),
			gap = l->groups[i].group - l->groups[i - 1].group;
	int64_t part = members - l->groups[i - 1].group;
	return divide((__int128)below * (gap - part) + (__int128)above * part, gap);
}

/* ns to move amount = bytes * num / den at rate bytes/s. */
static int64_t wire_ns(int64_t bytes, int64_t num, int64_t den, int64_t rate)
{
	__int128 moved = (__int128)bytes * num / den;
	return moved >> 90 ? INT64_MAX / 4 : divide(moved * 1000000000, rate);
}

typedef struct level {
	int64_t members, latency, wire;
} level;

static int64_t log2_ceil(int64_t n)
{
	int64_t k = 0;
	while (k < 62 && (int64_t)1 << k < n)
		k++;
	return k;
}

/* Rings along all dims at once. inner: devices of the group below this level; outer: above. */
static level torus_level(const link_class *l, const span *s, uint32_t n, collective_kind kind,
	int64_t bytes, int64_t inner, int64_t outer)
{
	level out = {.members = 1};
	int64_t rate = 0, hops = 0, worst = 0;
	for (uint32_t i = 0; i < n; i++) {
		out.members *= s[i].n;
		/* groups interleaved along one dim share its links */
		int64_t stride = MAX(s[i].stride, 1), both = s[i].wrapped ? 2 : 1;
		rate += MAX(both * l->bandwidth_bytes_s / stride, 1);
		hops += (s[i].wrapped ? s[i].n / 2 : s[i].n - 1) * stride;
	}
	/* what permutes is mostly borders and the pieces of loops, for the neighbour */
	out.latency = (kind == COLL_COLLECTIVE_PERMUTE ? 1 : hops) * l->latency_ns;
	if (kind == COLL_ALL_TO_ALL || kind == COLL_COLLECTIVE_PERMUTE) {
		int64_t local = effective_bytes(l, out.members, bytes / outer);
		for (uint32_t i = 0; kind == COLL_ALL_TO_ALL && i < n;
			 i++) /* what crosses the middle of each dim */
			worst = MAX(worst,
				wire_ns(local, s[i].n * s[i].n / 4 * MAX(s[i].stride, 1), s[i].n,
					(s[i].wrapped ? 2 : 1) * l->bandwidth_bytes_s));
		out.wire = kind == COLL_ALL_TO_ALL
			? worst
			: wire_ns(effective_bytes(l, out.members, bytes), 1, 1, l->bandwidth_bytes_s);
		return out;
	}
	int64_t share = effective_bytes(l, out.members, bytes / inner);
	out.wire = wire_ns(share, out.members - 1, out.members, rate);
	if (kind == COLL_ALL_REDUCE) {
		out.latency *= 2;
		out.wire *= 2;
	}
	return out;
}

static level switch_level(const link_class *l, int64_t members, collective_kind kind, int64_t bytes,
	int64_t inner, int64_t outer)
{
	level out = {.members = members};
	int64_t rate = l->bandwidth_bytes_s;
	if (l->kind == LINK_MESH) /* one link to every peer, all used at once */
		rate = sat_mul(rate, members - 1);
	if (kind == COLL_COLLECTIVE_PERMUTE) {
		out.latency = l->latency_ns;
		out.wire = wire_ns(effective_bytes(l, members, bytes), 1, 1, l->bandwidth_bytes_s);
		return out;
	}
	if (kind == COLL_ALL_TO_ALL) {
		/* inside a level only what stays below the next one */
		out.latency = l->latency_ns * (l->kind == LINK_NETWORK ? members - 1 : 1);
		out.wire = wire_ns(effective_bytes(l, members, bytes / outer), members - 1, members, rate);
		return out;
	}
	int64_t share = effective_bytes(l, members, bytes / inner),
			around = l->one_ring ? sat_mul(members, inner) : members;
	int64_t steps = l->kind == LINK_MESH ? 1 : members - 1;
	out.latency = sat_mul(steps, l->latency_ns);
	out.wire = wire_ns(share, around - 1, around, rate);
	if (kind != COLL_ALL_REDUCE)
		return out;
	out.latency *= 2;
	out.wire *= 2;
	/* a tree has fewer steps and moves twice the buffer at 0.92 of the bandwidth */
	int64_t tree_latency = 2 * log2_ceil(members) * l->latency_ns,
			tree_wire = wire_ns(share, 200, 92, l->bandwidth_bytes_s);
	if (l->kind != LINK_MESH && tree_latency + tree_wire < out.latency + out.wire) {
		out.latency = tree_latency;
		out.wire = tree_wire;
	}
	return out;
}

int64_t collective_time_ns(const device *dev, const mesh_links *links, collective_kind kind, axes a,
	int64_t bytes, uint8_t *link)
{
	group g = {0};
	for (uint32_t i = 0; i < a.n; i++)
		if (axis_index(a.a[i]) < links->n_axes)
			add_axis(&g, links, a.a[i]);
	*link = 0;
	if (kind == COLL_ALL_SLICE || bytes <= 0 || !g.n)
		return 0;
	bytes = MIN(bytes, (int64_t)1 << 53);
	int64_t all = 1;
	for (uint32_t i = 0; i < g.n; i++)
		all = sat_mul(all, g.span[i].n);
	int64_t launch = 0, latency = 0, wire = 0, inner = 1;
	for (uint8_t i = 0; i < dev->n_links; i++) {
		const link_class *l = &dev->links[i];
		span here[MAX_SPANS];
		uint32_t n = 0;
		int64_t members = 1;
		for (uint32_t j = 0; j < g.n; j++)
			if (g.span[j].link == i) {
				members = sat_mul(members, g.span[j].n);
				here[n++] = g.span[j];
			}
		if (members <= 1)
			continue;
		int64_t outer = MAX(all / inner / members, 1);
		level v = l->kind == LINK_RING || l->kind == LINK_LINE
			? torus_level(l, here, n, kind, bytes, inner, outer)
			: switch_level(l, members, kind, bytes, inner, outer);
		launch = MAX(launch, l->launch_ns);
		latency = sat_add(latency, v.latency);
		if (v.wire > wire || inner == 1) {
			wire = v.wire;
			*link = i;
		}
		inner = sat_mul(inner, members);
	}
	return sat_add(sat_add(launch, latency), wire);
}

/* ---------------------------------------------------------------- published figures */

/* Members along each torus dim; false: not all of them are on one torus. */
static bool on_one_torus(const device *dev, const group *g, int64_t members[MAX_TORUS_DIMS],
	bool ring[MAX_TORUS_DIMS], uint8_t *link)
{
	for (uint32_t d = 0; d < MAX_TORUS_DIMS; d++)
		members[d] = 1, ring[d] = false;
	for (uint32_t i = 0; i < g->n; i++) {
		const span *s = &g->span[i];
		if (s->link != g->span[0].link || dev->links[s->link].kind != LINK_RING)
			return false;
		members[s->dim] = sat_mul(members[s->dim], s->n);
		ring[s->dim] = s->wrapped && s->stride == 1;
	}
	*link = g->span[0].link;
	return true;
}

int64_t published_time_ns(const device *dev, const mesh_links *links, collective_kind kind, axes a,
	int64_t bytes, uint8_t *link)
{
	enum {
		REACHABLE_PERCENT = 90,
		HOP_NS = 1000
	}; /* jax-ml/scaling-book: 45 of v5e's 50 GB/s, and about 1 us a hop */
	group g = {0};
	int64_t members[MAX_TORUS_DIMS], rate = 0, hops = 0, all = 1;
	bool ring[MAX_TORUS_DIMS];
	for (uint32_t i = 0; i < a.n; i++)
		if (axis_index(a.a[i]) < links->n_axes)
			add_axis(&g, links, a.a[i]);
	*link = 0;
	if (kind == COLL_ALL_SLICE || bytes <= 0 || !g.n)
		return 0;
	if (!on_one_torus(dev, &g, members, ring, link))
		return -1;
	bytes = MIN(bytes, (int64_t)1 << 53);
	int64_t one = MAX(dev->links[*link].bandwidth_bytes_s / 100 * REACHABLE_PERCENT, 1);
	for (uint32_t d = 0; d < MAX_TORUS_DIMS; d++) {
		if (members[d] <= 1)
			continue;
		rate += (ring[d] ? 2 : 1) * one;
		hops += ring[d] ? members[d] / 2 : members[d] - 1;
		all = sat_mul(all, members[d]);
	}
	switch (kind) {
	case COLL_COLLECTIVE_PERMUTE: return wire_ns(bytes, 1, 1, one) + HOP_NS;
	case COLL_ALL_REDUCE: return wire_ns(bytes, 2, 1, rate) + 2 * hops * HOP_NS;
	case COLL_ALL_TO_ALL: return wire_ns(bytes, all, 4, rate) + hops * HOP_NS;
	default: return wire_ns(bytes, 1, 1, rate) + hops * HOP_NS;
	}
}
