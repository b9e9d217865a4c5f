/* What decisions came to, by what they depend on: the same decision is taken again and again in
 * states that differ elsewhere, and writing down what it changed is cheaper than propagating it
 * anew. The effects of an action are the leaves of its tree of reads, many of them the same one. */
#include "search/evaluate/state.h"

#include <stdlib.h>

typedef struct entry {
	action a;
	read_node *root;
} entry;

struct decision_memo {
	VEC(entry) entries;
	VEC(const effect *) effects;
	index_map by_action, by_content;
	VEC(uint32_t) values; /* packed, of what is being added */
	read_tree tree;
	size_t limit;
};

decision_memo *decision_memo_new(uint32_t n_values, uint32_t n_args, size_t limit)
{
	decision_memo *m = xcalloc(1, sizeof *m);
	m->limit = limit;
	read_tree_init(&m->tree, n_values, n_args);
	index_init(&m->by_action);
	index_init(&m->by_content);
	return m;
}

void decision_memo_clear(decision_memo *m)
{
	m->entries.n = m->effects.n = 0;
	index_clear(&m->by_action);
	index_clear(&m->by_content);
	read_tree_clear(&m->tree);
}

void decision_memo_free(decision_memo *m)
{
	if (!m)
		return;
	vec_release(&m->entries);
	vec_release(&m->effects);
	vec_release(&m->values);
	index_release(&m->by_action);
	index_release(&m->by_content);
	read_tree_release(&m->tree);
	free(m);
}

static uint64_t action_hash(const action *a)
{
	return hash_combine((uint64_t)a->axis << 8 | (uint64_t)action_holds(a) << 4 | a->kind,
		hash_bytes(a->targets, a->n_targets * sizeof *a->targets, a->n_targets));
}

static entry *find_entry(const decision_memo *m, const action *a, uint64_t h)
{
	uint32_t id;
	for (uint32_t it = index_first(&m->by_action, h); index_next(&m->by_action, h, &it, &id);)
		if (action_same(&m->entries.p[id].a, a))
			return &m->entries.p[id];
	return NULL;
}

const effect *decision_memo_find(
	const decision_memo *m, const action *a, const sharding_id *values, const uint32_t *kept)
{
	const entry *e = find_entry(m, a, action_hash(a));
	return e ? read_tree_find(&m->tree, e->root, values, kept) : NULL;
}

static bool same_list(const void *a, uint32_t n, const void *b, uint32_t m, size_t size)
{
	return n == m && (!n || !memcmp(a, b, n * size));
}

static bool same_effect(const effect *a, const effect *b)
{
	return a->done == b->done && a->uneven == b->uneven && a->stable == b->stable &&
		a->hash == b->hash &&
		same_list(a->values, a->n_values, b->values, b->n_values, sizeof *a->values) &&
		same_list(a->args, a->n_args, b->args, b->n_args, sizeof *a->args) &&
		same_list(a->applied, a->n_applied, b->applied, b->n_applied, sizeof *a->applied) &&
		same_list(a->dims, a->n_dims, b->dims, b->n_dims, sizeof *a->dims);
}

static const effect *keep_effect(decision_memo *m, const effect *from)
{
	uint64_t h = hash_combine(from->hash,
		hash_bytes(from->values, from->n_values * sizeof *from->values, from->n_applied));
	uint32_t id;
	for (uint32_t it = index_first(&m->by_content, h); index_next(&m->by_content, h, &it, &id);)
		if (same_effect(m->effects.p[id], from))
			return m->effects.p[id];
	effect *o = read_tree_keep(&m->tree, from, 1, sizeof *from);
	o->values = read_tree_keep(&m->tree, from->values, from->n_values, sizeof *o->values);
	o->args = read_tree_keep(&m->tree, from->args, from->n_args, sizeof *o->args);
	o->applied = read_tree_keep(&m->tree, from->applied, from->n_applied, sizeof *o->applied);
	o->dims = read_tree_keep(&m->tree, from->dims, from->n_dims, sizeof *o->dims);
	index_add(&m->by_content, h, m->effects.n);
	vec_push(&m->effects, o);
	return o;
}

static entry *make_entry(decision_memo *m, const action *a)
{
	uint64_t h = action_hash(a);
	entry *e = find_entry(m, a, h);
	if (e)
		return e;
	index_add(&m->by_action, h, m->entries.n);
	vec_push(&m->entries, (entry){.a = *a});
	m->tree.bytes += 2 * sizeof *e;
	return &m->entries.p[m->entries.n - 1];
}

void decision_memo_add(decision_memo *m, const action *a, const value_is *reads, uint32_t n_reads,
	const value_is *values, uint32_t n_values, const effect *of)
{
	effect o = *of;
	vec_reserve(&m->values, n_values);
	if (!read_tree_pack(&m->tree, values, n_values, m->values.p))
		return;
	o.bits = m->tree.bits;
	o.values = m->values.p;
	o.n_values = n_values;
	if (m->tree.bytes > m->limit)
		decision_memo_clear(m);
	read_tree_add(&m->tree, &make_entry(m, a)->root, reads, n_reads, keep_effect(m, &o));
}
