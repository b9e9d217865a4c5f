/* What decisions came to, by what they depend on: the same decision is taken again and again in states that differ elsewhere, and
 * writing down what it changed is cheaper than propagating it anew.
 *
 * What is read next depends on what was read before, so the effects of an action are the leaves of a tree that asks for one
 * thing after the other. Reads that no effect tells apart stand in one stretch. Many leaves have the same effect. */
#include "search/internal.h"

#include <stdlib.h>

typedef struct stretch {
	uint32_t now;          /* of what the stretch before asks for: this one's answer */
	uint32_t n;
	const uint32_t *reads; /* packed */
	const effect *end;     /* NULL: it goes on */
	uint32_t asks;         /* .. by the answer to this, */
	struct stretch *first; /* each of which has its own stretch */
	struct stretch *next;  /* another answer to the same */
} stretch;

typedef struct entry {
	action a;
	stretch *root;
} entry;

struct effect_memo {
	VEC(entry) entries;
	VEC(const effect *) effects;
	index_map by_action, by_content;
	VEC(uint32_t) reads, values; /* packed, of what is being added */
	arena mem;
	size_t bytes, limit;
	uint32_t n_values;
	uint8_t bits; /* of a packed word say what, the others what it is */
};

effect_memo *effects_new(uint32_t n_values, uint32_t n_args, size_t limit)
{
	effect_memo *m = xcalloc(1, sizeof *m);
	m->n_values = n_values;
	m->limit = limit;
	while ((uint64_t)1 << m->bits < (uint64_t)n_values + n_args)
		m->bits++;
	index_init(&m->by_action);
	index_init(&m->by_content);
	return m;
}

void effects_clear(effect_memo *m)
{
	m->entries.n = m->effects.n = 0;
	index_clear(&m->by_action);
	index_clear(&m->by_content);
	arena_release(&m->mem);
	m->bytes = 0;
}

void effects_free(effect_memo *m)
{
	if (!m)
		return;
	vec_release(&m->entries);
	vec_release(&m->effects);
	vec_release(&m->reads);
	vec_release(&m->values);
	index_release(&m->by_action);
	index_release(&m->by_content);
	arena_release(&m->mem);
	free(m);
}

/* ---------------------------------------------------------------- finding */

static uint64_t action_hash(const action *a)
{
	return hash_combine((uint64_t)a->axis << 8 | a->kind, hash_bytes(a->targets, a->n_targets * sizeof *a->targets, a->n_targets));
}

static bool same_action(const action *a, const action *b)
{
	return a->axis == b->axis && a->kind == b->kind && a->n_targets == b->n_targets &&
	       (a->targets == b->targets || !memcmp(a->targets, b->targets, a->n_targets * sizeof *a->targets));
}

static entry *find_entry(const effect_memo *m, const action *a, uint64_t h)
{
	uint32_t id;
	for (uint32_t it = index_first(&m->by_action, h); index_next(&m->by_action, h, &it, &id);)
		if (same_action(&m->entries.p[id].a, a))
			return &m->entries.p[id];
	return NULL;
}

static inline uint32_t what_of(const effect_memo *m, uint32_t packed) { return packed & (((uint64_t)1 << m->bits) - 1); }
static inline uint32_t now_of(const effect_memo *m, uint32_t packed) { return (uint32_t)((uint64_t)packed >> m->bits); }

const effect *effects_find(const effect_memo *m, const action *a, const sharding_id *values, const uint32_t *kept)
{
#define NOW(what) ((what) < m->n_values ? values[what] : kept[(what) - m->n_values])
	const entry *e = find_entry(m, a, action_hash(a));
	for (const stretch *x = e ? e->root : NULL; x;) {
		for (uint32_t i = 0; i < x->n; i++) {
			uint32_t what = what_of(m, x->reads[i]);
			if (NOW(what) != now_of(m, x->reads[i]))
				return NULL;
		}
		if (x->end)
			return x->end;
		uint32_t now = NOW(x->asks);
		for (x = x->first; x && x->now != now;)
			x = x->next;
	}
	return NULL;
#undef NOW
}

/* ---------------------------------------------------------------- adding */

static bool pack(const effect_memo *m, const value_is *from, uint32_t n, uint32_t *to)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t word = (uint64_t)from[i].is << m->bits | from[i].v;
		if (word > UINT32_MAX)
			return false;
		to[i] = (uint32_t)word;
	}
	return true;
}

static void *keep(effect_memo *m, const void *from, uint32_t n, size_t size)
{
	if (!n)
		return NULL;
	m->bytes += n * size;
	return memcpy(arena_alloc(&m->mem, n * size), from, n * size);
}

static bool same_list(const void *a, uint32_t n, const void *b, uint32_t m, size_t size) { return n == m && (!n || !memcmp(a, b, n * size)); }

static bool same_effect(const effect *a, const effect *b)
{
	return a->done == b->done && a->uneven == b->uneven && a->stable == b->stable && a->hash == b->hash &&
	       same_list(a->values, a->n_values, b->values, b->n_values, sizeof *a->values) && same_list(a->args, a->n_args, b->args, b->n_args, sizeof *a->args) &&
	       same_list(a->applied, a->n_applied, b->applied, b->n_applied, sizeof *a->applied) &&
	       same_list(a->dims, a->n_dims, b->dims, b->n_dims, sizeof *a->dims);
}

static const effect *keep_effect(effect_memo *m, const effect *from)
{
	uint64_t h = hash_combine(from->hash, hash_bytes(from->values, from->n_values * sizeof *from->values, from->n_applied));
	uint32_t id;
	for (uint32_t it = index_first(&m->by_content, h); index_next(&m->by_content, h, &it, &id);)
		if (same_effect(m->effects.p[id], from))
			return m->effects.p[id];
	effect *o = keep(m, from, 1, sizeof *from);
	o->values = keep(m, from->values, from->n_values, sizeof *o->values);
	o->args = keep(m, from->args, from->n_args, sizeof *o->args);
	o->applied = keep(m, from->applied, from->n_applied, sizeof *o->applied);
	o->dims = keep(m, from->dims, from->n_dims, sizeof *o->dims);
	index_add(&m->by_content, h, m->effects.n);
	vec_push(&m->effects, o);
	return o;
}

/* Its first n reads; the one behind them becomes the question, and what followed the only answer to it. */
static void split(effect_memo *m, stretch *x, uint32_t n)
{
	stretch tail = *x;
	tail.now = now_of(m, x->reads[n]);
	tail.reads += n + 1;
	tail.n -= n + 1;
	tail.next = NULL;
	x->asks = what_of(m, x->reads[n]);
	x->n = n;
	x->end = NULL;
	x->first = keep(m, &tail, 1, sizeof tail);
}

static entry *make_entry(effect_memo *m, const action *a)
{
	uint64_t h = action_hash(a);
	entry *e = find_entry(m, a, h);
	if (e)
		return e;
	index_add(&m->by_action, h, m->entries.n);
	vec_push(&m->entries, (entry){.a = *a});
	m->bytes += 2 * sizeof *e;
	return &m->entries.p[m->entries.n - 1];
}

/* The place for one more leaf, and how many of the reads lead there; NULL: there is one. */
static stretch **find_place(effect_memo *m, stretch **at, const uint32_t *reads, uint32_t n, uint32_t *used)
{
	uint32_t i = 0;
	while (*at) {
		stretch *x = *at;
		uint32_t k = 0;
		while (k < x->n && i < n && x->reads[k] == reads[i])
			k++, i++;
		if (i == n || (x->end && k == x->n))
			return NULL;
		if (k < x->n)
			split(m, x, k);
		assert(x->asks == what_of(m, reads[i]));
		uint32_t now = now_of(m, reads[i++]);
		for (at = &x->first; *at && (*at)->now != now;)
			at = &(*at)->next;
	}
	*used = i;
	return at;
}

void effects_add(effect_memo *m, const action *a, const value_is *reads, uint32_t n_reads, const value_is *values, uint32_t n_values, const effect *of)
{
	effect o = *of;
	vec_reserve(&m->reads, n_reads);
	vec_reserve(&m->values, n_values);
	if (!pack(m, reads, n_reads, m->reads.p) || !pack(m, values, n_values, m->values.p))
		return;
	o.bits = m->bits;
	o.values = m->values.p;
	o.n_values = n_values;
	if (m->bytes > m->limit)
		effects_clear(m);
	uint32_t used;
	stretch **at = find_place(m, &make_entry(m, a)->root, m->reads.p, n_reads, &used);
	if (!at)
		return;
	stretch leaf = {.now = used ? now_of(m, m->reads.p[used - 1]) : 0, .n = n_reads - used, .end = keep_effect(m, &o)};
	leaf.reads = keep(m, m->reads.p + used, leaf.n, sizeof *leaf.reads);
	*at = keep(m, &leaf, 1, sizeof leaf);
}
