/* One op's step on the shardings of its tensors, and the memo of steps already taken. */
#include "propagate/engine.h"

#include <stdlib.h>

enum {
	FIRST_TABLE = 1 << 12,
	MAX_ENTRIES = 1 << 20,
	MAX_WORDS = 1 << 25,
	FIRST_SCRATCH = 1 << 14,
	HEADER = TRANSFER_HEADER
};

/* The mesh that all shardings are on. False when there is none to work with: no sharding, two
 * meshes, one device. */
static bool common_mesh(const sharding_table *t, const sharding_id *in, uint32_t n, mesh_id *out)
{
	*out = ID_NONE;
	for (uint32_t i = 0; i < n; i++) {
		if (in[i] == SHARDING_NONE)
			continue;
		mesh_id id = sharding_get(t, in[i])->mesh;
		if (id == *out)
			continue;
		const device_mesh *m = &t->meshes.p[id],
						  *other = *out == ID_NONE ? NULL : &t->meshes.p[*out];
		bool empty = !m->n_axes && !m->n_device_ids;
		if (!other || (!other->n_axes && !other->n_device_ids))
			*out = id; /* the empty mesh gives way to any */
		else if (!empty && !mesh_same_devices(t, id, *out))
			return false;
	}
	return *out != ID_NONE && !t->meshes.p[*out].maximal;
}

static factor_directions directions_of(const rule *r, step_mode mode)
{
	factor_directions d = {0, 0};
	for (uint32_t f = 0; f < r->n_factors; f++) {
		if (r->blocked >> f & 1)
			continue;
		direction dir = (direction)(r->factor_types[f] == FACTOR_PASS_THROUGH
				? mode & DIR_BOTH
				: mode >> MODE_OTHER_SHIFT & DIR_BOTH);
		d.forward |= (uint64_t)(dir & DIR_FORWARD ? 1 : 0) << f;
		d.backward |= (uint64_t)(dir & DIR_BACKWARD ? 1 : 0) << f;
	}
	return d;
}

static bool has_axes(const sharding_edit *e)
{
	for (uint32_t d = 0; d < e->rank; d++)
		if (e->dims[d].axes.n)
			return true;
	return false;
}

bool transfer_grid(const rule *r, const sharding_table *t, step_mode mode, const sharding_id *in,
	uint32_t n, arena *mem, factor_grid *g)
{
	mesh_id mesh;
	if (!common_mesh(t, in, n, &mesh))
		return false;
	grid_init(g, r, t, mesh, mem);
	g->dirs = directions_of(r, mode);
	g->conservative = mode & MODE_CONSERVATIVE;
	g->elementwise = mode & MODE_ELEMENTWISE;
	for (uint32_t i = 0; i < n; i++)
		grid_project(g, i, in[i], false);
	return true;
}

static void take_step(transfer *x, const rule *r, step_mode mode, const sharding_id *in, uint32_t n)
{
	x->fresh.n = 0;
	arena_mark mark = arena_save(&x->scratch);
	factor_grid g;
	if (!transfer_grid(r, x->shardings, mode, in, n, &x->scratch, &g))
		return;
	if (mode & MODE_BASIC)
		propagate_basic(&g);
	else
		propagate_aggressive(&g);
	sharding_edit e; /* lists in the grid stay where they are while new shardings are interned */
	for (uint32_t i = 0; i < n; i++) {
		if (!g.changed[i])
			continue;
		grid_sharding(&g, i, &e);
		if (in[i] == SHARDING_NONE && !has_axes(&e))
			continue;
		sharding_id sh = sharding_intern(x->shardings, &e);
		if (sh != in[i])
			vec_push(&x->fresh, (transfer_update){i, sh});
	}
	arena_rewind(&x->scratch, mark);
}

/* ---------------------------------------------------------------- the memo */

void transfer_init(transfer *x, const rule_table *rules, sharding_table *t)
{
	*x = (transfer){
		.rules = rules, .shardings = t, .max_entries = MAX_ENTRIES, .max_words = MAX_WORDS};
	arena_init(&x->scratch);
	arena_alloc(&x->scratch, FIRST_SCRATCH / 2); /* a block that rewinding keeps */
	arena_rewind(&x->scratch, (arena_mark){x->scratch.head, 0});
	x->cap = FIRST_TABLE;
	x->table = xcalloc(x->cap, sizeof *x->table);
}

void transfer_release(transfer *x)
{
	arena_release(&x->scratch);
	vec_release(&x->fresh);
	vec_release(&x->words);
	free(x->table);
}

static void place(transfer *x, transfer_place p)
{
	uint32_t i = p.hash & (x->cap - 1);
	while (x->table[i].at)
		i = (i + 1) & (x->cap - 1);
	x->table[i] = p;
}

static void grow_table(transfer *x)
{
	transfer_place *table = x->table;
	uint32_t cap = x->cap;
	x->cap *= 2;
	x->table = xcalloc(x->cap, sizeof *x->table);
	for (uint32_t i = 0; i < cap; i++)
		if (table[i].at)
			place(x, table[i]);
	free(table);
}

/* Keeps the step that was just taken. A full memo starts over. */
static void remember(
	transfer *x, uint32_t hash, rule_id r, step_mode mode, const sharding_id *in, uint32_t n)
{
	uint32_t size = HEADER + n + 2 * x->fresh.n;
	if (x->n_entries >= x->max_entries || x->words.n + size > x->max_words) {
		memset(x->table, 0, x->cap * sizeof *x->table);
		x->n_entries = x->words.n = 0;
	}
	if (x->n_entries * 2 >= x->cap)
		grow_table(x);
	if (size > x->max_words)
		return;
	uint32_t at = x->words.n;
	vec_reserve(&x->words, at + size);
	x->words.n = at + size;
	uint32_t *w = x->words.p + at;
	w[0] = r;
	w[1] = mode;
	w[2] = x->fresh.n;
	memcpy(w + HEADER, in, n * sizeof *in);
	if (x->fresh.n)
		memcpy(w + HEADER + n, x->fresh.p, x->fresh.n * sizeof *x->fresh.p);
	place(x, (transfer_place){at + 1, hash});
	x->n_entries++;
}

const transfer_update *transfer_anew(transfer *x, uint32_t hash, rule_id r, step_mode mode,
	const sharding_id *in, uint32_t n, uint32_t *n_updates)
{
	take_step(x, rule_get(x->rules, r), mode, in, n);
	if (!x->no_memo)
		remember(x, hash, r, mode, in, n);
	*n_updates = x->fresh.n;
	return x->fresh.p;
}

bool transfer_step(const program *p, sharding_table *t, const node *n, strategy_kind strategy,
	direction dir, bool pass_through_only, bool conservative, const sharding_id *in,
	sharding_id *out)
{
	uint32_t n_slots = (uint32_t)n->n_operands + n->n_results;
	if (n_slots)
		memcpy(out, in, n_slots * sizeof *in);
	if (n->rule == RULE_NONE)
		return false;
	transfer x = {.rules = p->rules, .shardings = t, .no_memo = true};
	step_mode mode = mode_directions(dir, pass_through_only ? DIR_NONE : dir) |
		(n->elementwise ? MODE_ELEMENTWISE : 0) | (conservative ? MODE_CONSERVATIVE : 0);
	bool changed = false;
	for (int basic = strategy != STRATEGY_AGGRESSIVE; basic >= (strategy == STRATEGY_BASIC);
		 basic--) {
		uint32_t n_updates;
		const transfer_update *u = transfer_updates(
			&x, n->rule, mode | (basic ? MODE_BASIC : 0), out, n_slots, &n_updates);
		for (uint32_t i = 0; i < n_updates; i++)
			out[u[i].slot] = u[i].sharding;
		changed |= n_updates > 0;
	}
	transfer_release(&x);
	return changed;
}
