/* What is known of states that agree in what was read: a tree that asks for one value after the
 * other. Reads that no leaf tells apart stand in one node. Mostly the same value is asked for next
 * wherever all answers so far are the same; where it is not, both ways are gone. */
#include "propagate/propagate.h"

typedef struct read_node {
	uint32_t answer; /* packed; behind the root: what the node before is left by */
	uint32_t n;
	const uint32_t *reads; /* packed */
	const void *leaf;      /* NULL: it goes on */
	struct read_node *first, *next;
} read_node;

void read_tree_init(read_tree *t, uint32_t n_values, uint32_t n_more)
{
	*t = (read_tree){.n_values = n_values};
	while ((uint64_t)1 << t->bits < (uint64_t)n_values + n_more)
		t->bits++;
}

void read_tree_clear(read_tree *t)
{
	arena_release(&t->mem);
	t->bytes = 0;
}

void read_tree_release(read_tree *t)
{
	read_tree_clear(t);
	vec_release(&t->packed);
}

void *read_tree_keep(read_tree *t, const void *from, uint32_t n, size_t size)
{
	if (!n)
		return NULL;
	t->bytes += n * size;
	return memcpy(arena_alloc(&t->mem, n * size), from, n * size);
}

bool read_tree_pack(const read_tree *t, const value_is *from, uint32_t n, uint32_t *to)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t word = (uint64_t)from[i].is << t->bits | from[i].v;
		if (word > UINT32_MAX)
			return false;
		to[i] = (uint32_t)word;
	}
	return true;
}

static inline bool agrees(
	const read_tree *t, uint32_t packed, const sharding_id *values, const uint32_t *more)
{
	value_is r = read_unpack(t->bits, packed);
	return (r.v < t->n_values ? values[r.v] : more[r.v - t->n_values]) == r.is;
}

const void *read_tree_find(
	const read_tree *t, const read_node *x, const sharding_id *values, const uint32_t *more)
{
	for (; x;) {
		for (uint32_t i = 0; i < x->n; i++)
			if (!agrees(t, x->reads[i], values, more))
				return NULL;
		if (x->leaf)
			return x->leaf;
		const read_node *way = NULL;
		for (const read_node *c = x->first; c; c = c->next) {
			if (!agrees(t, c->answer, values, more))
				continue;
			const void *leaf = way ? read_tree_find(t, way, values, more) : NULL;
			if (leaf)
				return leaf;
			way = c;
		}
		x = way;
	}
	return NULL;
}

/* Its first n reads; the one behind them becomes the answer by which the rest is reached. */
static void split(read_tree *t, read_node *x, uint32_t n)
{
	read_node tail = *x;
	tail.answer = x->reads[n];
	tail.reads += n + 1;
	tail.n -= n + 1;
	tail.next = NULL;
	x->n = n;
	x->leaf = NULL;
	x->first = read_tree_keep(t, &tail, 1, sizeof tail);
}

bool read_tree_add(
	read_tree *t, read_node **at, const value_is *reads, uint32_t n, const void *leaf)
{
	vec_reserve(&t->packed, n);
	if (!read_tree_pack(t, reads, n, t->packed.p))
		return false;
	read_node new = {.leaf = leaf};
	const uint32_t *r = t->packed.p, *end = r + n;
	while (*at) {
		read_node *x = *at;
		uint32_t k = 0;
		while (k < x->n && r < end && x->reads[k] == *r)
			k++, r++;
		if (r == end || (x->leaf && k == x->n))
			return false;
		if (k < x->n)
			split(t, x, k);
		new.answer = *r++;
		for (at = &x->first; *at && (*at)->answer != new.answer;)
			at = &(*at)->next;
	}
	new.n = (uint32_t)(end - r);
	new.reads = read_tree_keep(t, r, new.n, sizeof *r);
	*at = read_tree_keep(t, &new, 1, sizeof new);
	return true;
}
