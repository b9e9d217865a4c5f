/* What decisions came to, by the decisions before them: a search comes back to the same beginnings again and again, and
 * writing down what a decision changed is cheaper than propagating it anew. */
#include "search/internal.h"

#include <stdlib.h>

typedef struct path_node {
	uint32_t parent;
	action a;
	path_outcome *outcome; /* NULL: not known */
} path_node;

struct path_memo {
	VEC(path_node) nodes; /* 0: the start */
	index_map index;
	arena mem;
	size_t bytes, limit;
};

static void open_start(path_memo *m)
{
	vec_push(&m->nodes, (path_node){.parent = ID_NONE});
	index_init(&m->index);
}

path_memo *path_memo_new(size_t limit)
{
	path_memo *m = xcalloc(1, sizeof *m);
	m->limit = limit;
	open_start(m);
	return m;
}

void path_memo_free(path_memo *m)
{
	if (!m)
		return;
	vec_release(&m->nodes);
	index_release(&m->index);
	arena_release(&m->mem);
	free(m);
}

static bool same_action(const action *a, const action *b)
{
	return a->axis == b->axis && a->kind == b->kind && a->n_targets == b->n_targets &&
	       (a->targets == b->targets || !memcmp(a->targets, b->targets, a->n_targets * sizeof *a->targets));
}

uint32_t path_next(path_memo *m, uint32_t from, const action *a)
{
	uint64_t h = hash_combine((uint64_t)from << 32 | a->axis << 8 | a->kind, hash_bytes(a->targets, a->n_targets * sizeof *a->targets, a->n_targets));
	uint32_t id;
	for (uint32_t it = index_first(&m->index, h); index_next(&m->index, h, &it, &id);)
		if (m->nodes.p[id].parent == from && same_action(&m->nodes.p[id].a, a))
			return id;
	index_add(&m->index, h, m->nodes.n);
	vec_push(&m->nodes, (path_node){.parent = from, .a = *a});
	m->bytes += 2 * sizeof(path_node);
	return m->nodes.n - 1;
}

const path_outcome *path_known(const path_memo *m, uint32_t at) { return m->nodes.p[at].outcome; }

static void *keep(path_memo *m, const void *from, uint32_t n, size_t size)
{
	if (!n)
		return NULL;
	m->bytes += n * size;
	return memcpy(arena_alloc(&m->mem, n * size), from, n * size);
}

void path_learn(path_memo *m, uint32_t at, const path_outcome *from)
{
	path_outcome *o = arena_array(&m->mem, path_outcome, 1);
	*o = *from;
	o->values = keep(m, from->values, from->n_values, sizeof *o->values);
	o->args = keep(m, from->args, from->n_args, sizeof *o->args);
	o->applied = keep(m, from->applied, from->n_applied, sizeof *o->applied);
	o->dims = keep(m, from->dims, from->n_dims, sizeof *o->dims);
	m->bytes += sizeof *o;
	m->nodes.p[at].outcome = o;
}

bool path_is_full(const path_memo *m) { return m->bytes > m->limit; }

void path_forget(path_memo *m, uint32_t *path, uint32_t n)
{
	action kept[MAX_PLAN];
	for (uint32_t i = 0; i < n; i++)
		kept[i] = m->nodes.p[path[i]].a;
	m->nodes.n = 0;
	index_release(&m->index);
	arena_release(&m->mem);
	m->bytes = 0;
	open_start(m);
	for (uint32_t i = 0; i < n; i++)
		path[i] = path_next(m, i ? path[i - 1] : PATH_START, &kept[i]);
}
