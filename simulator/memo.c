/* Pure facts kept between simulate calls, in bounded tables: the work of a node with given shardings, the time of a
 * collective, the stored bytes of a type with a sharding. Keys are compared by content, so a table's answer never
 * depends on what else it holds. */
#include <stdlib.h>

#include "simulator/state.h"

enum { WORK_ENTRIES = 1 << 20 };

void memo_init(simulator *s)
{
	s->work.first = xmalloc(sizeof *s->work.first * MAX(s->p->nodes.n, 1));
	memset(s->work.first, 0xff, sizeof *s->work.first * MAX(s->p->nodes.n, 1));
	s->work.most = MAX((uint32_t)WORK_ENTRIES, 4 * s->p->nodes.n);
	s->collectives = xcalloc(COLLECTIVE_SLOTS, sizeof *s->collectives);
	s->stored = xmalloc(STORED_SLOTS * sizeof *s->stored);
	for (uint32_t i = 0; i < STORED_SLOTS; i++)
		s->stored[i].bytes = -1;
}

void memo_release(simulator *s)
{
	free(s->work.first);
	vec_release(&s->work.entries);
	vec_release(&s->work.at);
	free(s->collectives);
	free(s->stored);
}

/* The table may be emptied once in the middle of a program, which then looks up everything again. */
void simulator_limit(simulator *s, size_t bytes)
{
	size_t entry = sizeof(work_entry) + 4 * sizeof(sharding_id);
	s->work.most = (uint32_t)MAX(MIN(bytes / entry, (size_t)WORK_ENTRIES), (size_t)2 * s->p->nodes.n + 1);
}

static uint8_t class_of(const node *n, const op_work *w)
{
	if (w->free)
		return n->n_results && n->n_operands == n->n_results ? CLASS_ALIAS : CLASS_NOTHING;
	switch (n->op_kind) {
	case OP_REDUCE:
		return CLASS_REDUCE;
	case OP_DYNAMIC_UPDATE_SLICE:
		return CLASS_UPDATE;
	default:
		break;
	}
	if (w->fusible)
		return CLASS_ELEMENTWISE;
	return w->matmul_flops > 0 ? CLASS_MATMUL : CLASS_OTHER;
}

static bool is_splat(const module *m, const node *n)
{
	attr_id a = n->op_kind == OP_CONSTANT || n->op_kind == OP_SDY_CONSTANT ? op_attr(m, n->op, "value") : ID_NONE;
	return a != ID_NONE && attr_get(m, a)->splat;
}

static uint32_t work_add(simulator *s, const node *n, node_id id, const sharding_id *at, uint32_t slots)
{
	op_work w;
	work_memo *m = &s->work;
	if (m->entries.n >= m->most) { /* bounded: start over, entries in use are looked up again by the caller */
		memset(m->first, 0xff, sizeof *m->first * s->p->nodes.n);
		m->entries.n = m->at.n = 0;
	}
	op_work_of(s->p, s->t, n, at, &w);
	if (s->dev.target == TARGET_TPU && w.select_flops > 0) /* what its compiler makes of such a scatter */
		w.fusible = true, w.in_place = false, w.vector_flops = w.select_flops;
	uint8_t reorders = s->dev.target == TARGET_TPU ? w.untiled : s->dev.target == TARGET_GPU ? w.unsorted : 0;
	work_entry e = {.next = m->first[id],
	                .at_first = m->at.n,
	                .class = class_of(n, &w),
	                .expensive = w.expensive,
	                .in_place = w.in_place,
	                .transpose = n->op_kind == OP_TRANSPOSE,
	                .splat = is_splat(s->p->m, n),
	                .spread = n->op_kind == OP_BROADCAST_IN_DIM || n->op_kind == OP_IOTA || class_of(n, &w) == CLASS_NOTHING,
	                .matmul_ns = matmul_time_ns(&s->dev, &w),
	                .vector_flops = w.vector_flops,
	                .side_bytes = sat_mul(sat_mul(w.n, w.k), (elem_bits((elem)w.elem) + 7) / 8),
	                .reorders = reorders,
	                .slice_bytes = w.slice_bytes,
	                .read_bytes = w.read_bytes,
	                .write_bytes = w.write_bytes,
	                .flops = sat_add(w.matmul_flops, w.vector_flops)};
	for (uint32_t i = 0; i < slots; i++)
		vec_push(&m->at, at[i]);
	vec_push(&m->entries, e);
	return m->first[id] = m->entries.n - 1;
}

uint32_t work_lookup(simulator *s, const node *n, node_id id, const sharding_id *at)
{
	uint32_t slots = (uint32_t)n->n_operands + n->n_results;
	for (uint32_t e = s->work.first[id], before = UINT32_MAX; e != UINT32_MAX; before = e, e = s->work.entries.p[e].next) {
		const sharding_id *have = s->work.at.p + s->work.entries.p[e].at_first;
		uint32_t i = 0;
		while (i < slots && have[i] == at[i])
			i++;
		if (i < slots)
			continue;
		/* To the front: a search asks for the same few shardings of a node again and again, among many it once tried. */
		if (before != UINT32_MAX) {
			s->work.entries.p[before].next = s->work.entries.p[e].next;
			s->work.entries.p[e].next = s->work.first[id];
			s->work.first[id] = e;
		}
		return e;
	}
	return work_add(s, n, id, at, slots);
}

int64_t collective_lookup(simulator *s, const lop *o, int64_t *follows_ns, uint8_t *link)
{
	axes a = o->step->axes;
	/* A member of a combined instruction pays for its bytes; its first member pays launch and latency for all. */
	if (a.n > MEMO_AXES) {
		int64_t whole = collective_time_ns(&s->dev, &s->links, o->coll, a, o->bytes, link);
		uint8_t smallest_link;
		*follows_ns = MAX(whole - collective_time_ns(&s->dev, &s->links, o->coll, a, 1, &smallest_link), 0);
		return whole;
	}
	uint64_t h = hash_combine((uint64_t)o->bytes, (uint64_t)o->coll << 8 | a.n);
	for (uint32_t i = 0; i < a.n; i++)
		h = hash_combine(h, a.a[i]);
	collective_slot *c = &s->collectives[h & (COLLECTIVE_SLOTS - 1)];
	bool same = c->bytes == o->bytes && c->kind == o->coll && c->n == a.n;
	for (uint32_t i = 0; same && i < a.n; i++)
		same = c->axes[i] == a.a[i];
	if (!same || !c->bytes) {
		c->bytes = o->bytes, c->kind = o->coll, c->n = (uint8_t)a.n;
		for (uint32_t i = 0; i < a.n; i++)
			c->axes[i] = a.a[i];
		c->fixed_ns = collective_time_ns(&s->dev, &s->links, o->coll, a, 1, &c->link);
		c->ns = collective_time_ns(&s->dev, &s->links, o->coll, a, o->bytes, &c->link);
	}
	*link = c->link;
	*follows_ns = MAX(c->ns - c->fixed_ns, 0);
	return c->ns;
}

int64_t stored_find(simulator *s, stored_slot *c, type_id type, sharding_id sharding)
{
	*c = (stored_slot){type, sharding, device_stored_bytes(&s->dev, s->t, sharding, type_get(s->p->m, type))};
	return c->bytes;
}
