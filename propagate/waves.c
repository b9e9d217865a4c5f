/* Settles in parts. What is set spreads in waves; two of them that no node sees both of do not know
 * of each other: each is what it would be alone. Most that a search sets at once, such as the state
 * of every parameter, comes to many small waves that it has seen before, so waves are remembered by
 * what they depend on (reads.c) and written again.
 *
 * A wave: values that were set together, its seeds, and what the settle wrote because of them, in
 * order. What it depends on includes which of the values it read were set too. Sharding groups,
 * whose members see each other without a node, are left to the engine. */
#include "propagate/engine.h"

#include <stdlib.h>

struct wave {
	uint32_t n_seeds, n_written;
	const value_is *seeds;
	const uint32_t *written; /* packed */
};

void waves_release(waves *w)
{
	vec_release(&w->entries);
	vec_release(&w->seeds);
	vec_release(&w->found);
	vec_release(&w->parts);
	vec_release(&w->next_seed);
	vec_release(&w->next_written);
	vec_release(&w->reads);
	vec_release(&w->written);
	vec_release(&w->of_part);
	vec_release(&w->packed);
	index_release(&w->by_seed);
	read_tree_release(&w->tree);
	free(w->vals);
	free(w->nodes);
}

static bool can_begin(propagation *s)
{
	waves *w = &s->waves;
	if (s->transfer.no_memo || s->log || !s->settles.n || !s->settles.p[s->settles.n - 1].stable ||
		s->p->group_first.n > 1)
		return false;
	if (!w->vals || w->stamp >= UINT32_MAX - s->p->vals.n - 2) {
		size_t limit = w->limit;
		waves_release(w);
		*w = (waves){.limit = limit,
			.vals = xcalloc(s->p->vals.n + 1, sizeof *w->vals),
			.nodes = xcalloc(s->p->nodes.n + 1, sizeof *w->nodes)};
		index_init(&w->by_seed);
		read_tree_init(&w->tree, s->p->vals.n, 0);
		w->set = w->tree.bits < 32 ? 1u << (31 - w->tree.bits) : 0;
	}
	w->stamp++;
	return w->set != 0;
}

/* ---------------------------------------------------------------- known ones */

static void list_seeds(propagation *s, uint32_t from)
{
	waves *w = &s->waves;
	w->seeds.n = 0;
	for (uint32_t i = from; i < s->trail.n; i++) {
		pval_id v = s->trail.p[i].v;
		if (w->vals[v].seed == w->stamp)
			continue;
		w->vals[v].seed = w->stamp;
		w->vals[v].taken = false;
		vec_push(&w->seeds, (value_is){v, s->shardings[v]});
	}
}

static wave_entry *find_entry(waves *w, value_is seed, uint64_t h)
{
	uint32_t id;
	for (uint32_t it = index_first(&w->by_seed, h); index_next(&w->by_seed, h, &it, &id);)
		if (w->entries.p[id].seed.v == seed.v && w->entries.p[id].seed.is == seed.is)
			return &w->entries.p[id];
	return NULL;
}

static uint64_t seed_hash(value_is seed) { return hash_combine((uint64_t)seed.v << 32, seed.is); }

/* All of its seeds are set now, and no other wave's. */
static bool fits(const propagation *s, const wave *x)
{
	const waves *w = &s->waves;
	for (uint32_t i = 0; i < x->n_seeds; i++) {
		const wave_value *v = &w->vals[x->seeds[i].v];
		if (v->seed != w->stamp || v->taken ||
			s->shardings[x->seeds[i].v] != (x->seeds[i].is | w->set))
			return false;
	}
	return true;
}

/* Into w->found; seeds that are in none of them stay in w->seeds. */
static void find_known(propagation *s)
{
	waves *w = &s->waves;
	w->found.n = 0;
	for (uint32_t i = 0; i < w->seeds.n; i++)
		s->shardings[w->seeds.p[i].v] |= w->set;
	for (uint32_t i = 0; i < w->seeds.n; i++) {
		value_is seed = w->seeds.p[i];
		const wave_entry *e = w->vals[seed.v].taken ? NULL : find_entry(w, seed, seed_hash(seed));
		const wave *x = e ? read_tree_find(&w->tree, e->root, s->shardings, NULL) : NULL;
		if (!x || !fits(s, x))
			continue;
		for (uint32_t k = 0; k < x->n_seeds; k++)
			w->vals[x->seeds[k].v].taken = true;
		vec_push(&w->found, x);
	}
	for (uint32_t i = 0; i < w->seeds.n; i++)
		s->shardings[w->seeds.p[i].v] = w->seeds.p[i].is;
}

/* Nodes that see the value belong to this wave, if they do not to another one. */
static bool take_nodes(propagation *s, pval_id v, uint32_t owner)
{
	waves *w = &s->waves;
	const audience *by = &s->audiences[v];
	const node_id *list = s->p->notify.p + by->first;
	for (uint32_t i = 0; i < by->n_touch; i++) {
		wave_node *n = &w->nodes[list[i]];
		if (n->stamp == w->stamp && n->owner != owner)
			return false;
		n->stamp = w->stamp;
		n->owner = owner;
	}
	return true;
}

/* As in reads.c: what is looked at soon, of a list of values in no order of memory. */
static inline void fetch_value(const propagation *s, pval_id v)
{
	__builtin_prefetch(&s->audiences[v]);
	__builtin_prefetch(&s->waves.vals[v]);
}
static inline void fetch_nodes(const propagation *s, pval_id v)
{
	const audience *by = &s->audiences[v];
	const node_id *list = s->p->notify.p + by->first;
	for (uint32_t i = 0; i < MIN(by->n_touch, 2u); i++)
		__builtin_prefetch(&s->waves.nodes[list[i]]);
}
enum { FETCH_VALUE = 12, FETCH_NODES = 5 };

static bool known_are_apart(propagation *s)
{
	waves *w = &s->waves;
	bool apart = true;
	for (uint32_t i = 0; i < w->found.n && apart; i++) {
		const wave *x = w->found.p[i];
		uint32_t owner = s->p->vals.n + i;
		for (uint32_t k = 0; k < x->n_seeds && apart; k++)
			apart = take_nodes(s, x->seeds[k].v, owner);
		for (uint32_t k = 0; k < x->n_written && apart; k++) {
			if (k + FETCH_VALUE < x->n_written) {
				fetch_value(s, read_unpack(w->tree.bits, x->written[k + FETCH_VALUE]).v);
				fetch_nodes(s, read_unpack(w->tree.bits, x->written[k + FETCH_NODES]).v);
			}
			apart = take_nodes(s, read_unpack(w->tree.bits, x->written[k]).v, owner);
		}
	}
	return apart;
}

static void write_known(propagation *s)
{
	waves *w = &s->waves;
	s->transfer.stats.waves += w->found.n;
	for (uint32_t i = 0; i < w->found.n; i++) {
		const wave *x = w->found.p[i];
		vec_reserve(&s->trail, s->trail.n + x->n_written);
		for (uint32_t k = 0; k < x->n_written; k++) {
			value_is now = read_unpack(w->tree.bits, x->written[k]);
			s->trail.p[s->trail.n++] = (trail_change){now.v, s->shardings[now.v]};
			s->shardings[now.v] = now.is;
		}
		s->stale |= x->n_written > 0;
	}
	uint32_t left = 0;
	for (uint32_t i = 0; i < w->seeds.n; i++)
		if (!w->vals[w->seeds.p[i].v].taken)
			w->seeds.p[left++] = w->seeds.p[i];
	w->seeds.n = left;
}

/* ---------------------------------------------------------------- new ones */

static uint32_t root_of(const waves *w, uint32_t v)
{
	while (w->vals[v].parent != v)
		v = w->vals[v].parent = w->vals[w->vals[v].parent].parent;
	return v;
}

/* The value changed: it joins all that its nodes see changed. False when a node belongs to a known
 * wave. */
static bool join(propagation *s, pval_id v)
{
	waves *w = &s->waves;
	wave_value *x = &w->vals[v];
	if (x->joined == w->stamp)
		return true;
	x->joined = w->stamp;
	x->parent = v;
	const audience *by = &s->audiences[v];
	const node_id *list = s->p->notify.p + by->first;
	for (uint32_t i = 0; i < by->n_touch; i++) {
		wave_node *n = &w->nodes[list[i]];
		if (n->stamp != w->stamp) {
			n->stamp = w->stamp;
			n->owner = v;
		} else if (n->owner >= s->p->vals.n) {
			return false;
		} else {
			w->vals[root_of(w, n->owner)].parent = root_of(w, v);
		}
	}
	return true;
}

/* What the settle wrote from base on, and the seeds left, joined into waves. */
static bool join_changes(propagation *s, uint32_t base)
{
	waves *w = &s->waves;
	for (uint32_t i = 0; i < w->seeds.n; i++)
		if (!join(s, w->seeds.p[i].v))
			return false;
	for (uint32_t i = base; i < s->trail.n; i++) {
		if (i + FETCH_VALUE < s->trail.n) {
			fetch_value(s, s->trail.p[i + FETCH_VALUE].v);
			fetch_nodes(s, s->trail.p[i + FETCH_NODES].v);
		}
		if (!join(s, s->trail.p[i].v))
			return false;
	}
	return true;
}

/* What every change came to, and every changed value's sharding before the first one of them. */
static void list_written(propagation *s, uint32_t base)
{
	waves *w = &s->waves;
	uint32_t n = s->trail.n - base;
	vec_reserve(&w->written, n);
	w->written.n = n;
	for (uint32_t i = n; i-- > 0;) {
		const trail_change *c = &s->trail.p[base + i];
		wave_value *x = &w->vals[c->v];
		w->written.p[i] = (value_is){c->v, x->written == w->stamp ? x->before : s->shardings[c->v]};
		x->written = w->stamp;
		x->before = c->old;
	}
}

/* Places in a list that belong to one wave, in order, as a chain. */
static void extend(wave_chain *c, uint32_t *next, uint32_t i)
{
	*(c->first == ID_NONE ? &c->first : &next[c->last]) = i;
	c->last = i;
	next[i] = ID_NONE;
}

/* Which seeds and which changes are of one wave. False when a change is of none: then it has
 * another cause than the seeds. */
static bool list_parts(propagation *s)
{
	waves *w = &s->waves;
	const wave_chain none = {ID_NONE, ID_NONE};
	w->parts.n = 0;
	vec_reserve(&w->next_seed, w->seeds.n);
	vec_reserve(&w->next_written, w->written.n);
	for (uint32_t i = 0; i < w->seeds.n; i++) {
		wave_value *root = &w->vals[root_of(w, w->seeds.p[i].v)];
		if (root->rooted != w->stamp) {
			root->rooted = w->stamp;
			root->part = w->parts.n;
			vec_push(&w->parts, (wave_part){none, none});
		}
		extend(&w->parts.p[root->part].seeds, w->next_seed.p, i);
	}
	for (uint32_t i = 0; i < w->written.n; i++) {
		const wave_value *root = &w->vals[root_of(w, w->written.p[i].v)];
		if (root->rooted != w->stamp)
			return false;
		extend(&w->parts.p[root->part].written, w->next_written.p, i);
	}
	return true;
}

static void list_read(propagation *s, pval_id v)
{
	waves *w = &s->waves;
	wave_value *x = &w->vals[v];
	if (x->read == w->part_stamp)
		return;
	x->read = w->part_stamp;
	sharding_id is = x->written == w->stamp ? x->before : s->shardings[v];
	vec_push(&w->reads, (value_is){v, is | (x->seed == w->stamp ? w->set : 0)});
}

/* The value and all that its nodes see. */
static void follow(propagation *s, pval_id v)
{
	waves *w = &s->waves;
	const program *p = s->p;
	const audience *by = &s->audiences[v];
	if (w->vals[v].followed == w->stamp)
		return;
	w->vals[v].followed = w->stamp;
	list_read(s, v);
	for (uint32_t i = 0; i < by->n_touch; i++) {
		node_id n = p->notify.p[by->first + i];
		const plan *pl = &s->plans[n];
		if (w->nodes[n].listed == w->stamp || s->erased[n])
			continue;
		w->nodes[n].listed = w->stamp;
		for (uint32_t k = 0; k < pl->n_slots; k++)
			list_read(s, p->slots.p[pl->slots + k]);
	}
}

static read_node **root_for(waves *w, value_is seed)
{
	uint64_t h = seed_hash(seed);
	wave_entry *e = find_entry(w, seed, h);
	if (!e) {
		index_add(&w->by_seed, h, w->entries.n);
		vec_push(&w->entries, (wave_entry){.seed = seed});
		w->tree.bytes += 2 * sizeof *e;
		e = &w->entries.p[w->entries.n - 1];
	}
	return &e->root;
}

static void learn_part(propagation *s, const wave_part *x)
{
	waves *w = &s->waves;
	read_tree *t = &w->tree;
	wave new = {0};
	w->reads.n = w->of_part.n = 0;
	w->part_stamp++;
	for (uint32_t i = x->seeds.first; i != ID_NONE; i = w->next_seed.p[i]) {
		vec_push(&w->of_part, w->seeds.p[i]);
		follow(s, w->seeds.p[i].v);
	}
	new.n_seeds = w->of_part.n;
	for (uint32_t i = x->written.first; i != ID_NONE; i = w->next_written.p[i]) {
		vec_push(&w->of_part, w->written.p[i]);
		follow(s, w->written.p[i].v);
	}
	new.n_written = w->of_part.n - new.n_seeds;
	vec_reserve(&w->packed, new.n_written);
	if (!read_tree_pack(t, w->of_part.p + new.n_seeds, new.n_written, w->packed.p))
		return;
	new.seeds = read_tree_keep(t, w->of_part.p, new.n_seeds, sizeof *new.seeds);
	new.written = read_tree_keep(t, w->packed.p, new.n_written, sizeof *new.written);
	read_tree_add(t, root_for(w, w->of_part.p[0]), w->reads.p, w->reads.n,
		read_tree_keep(t, &new, 1, sizeof new));
}

static void learn(propagation *s, uint32_t base)
{
	waves *w = &s->waves;
	if (s->t->shardings.n >= w->set)
		return;
	if (w->tree.bytes > w->limit) {
		w->entries.n = 0;
		index_clear(&w->by_seed);
		read_tree_clear(&w->tree);
	}
	list_written(s, base);
	if (!list_parts(s) ||
		(w->parts.n == 1 && !w->found.n)) /* such a settle as a whole is what others remember */
		return;
	for (uint32_t i = 0; i < w->parts.n; i++)
		learn_part(s, &w->parts.p[i]);
}

/* The engine settles the seeds that are left. False when it comes to nodes of known waves. */
static bool settle_left(propagation *s)
{
	waves *w = &s->waves;
	uint32_t base = s->trail.n;
	bool stable = true;
	if (w->seeds.n) {
		engine_begin(s);
		for (uint32_t i = 0; i < w->seeds.n; i++)
			engine_start(s, w->seeds.p[i].v);
		run_op_priority(s, false);
		stable = engine_has_exchanged(s);
		if (!join_changes(s, base))
			return false;
		if (stable)
			learn(s, base);
	}
	engine_mark_settled(s, stable);
	return true;
}

bool waves_settle(propagation *s, uint32_t from)
{
	waves *w = &s->waves;
	if (!can_begin(s))
		return false;
	uint32_t start = s->trail.n;
	list_seeds(s, from);
	find_known(s);
	if (known_are_apart(s)) {
		write_known(s);
		if (settle_left(s))
			return true;
		propagation_undo(s, start);
	}
	w->stamp++;
	list_seeds(s, from);
	return settle_left(s);
}
