#include "base/base.h"

#include <stdlib.h>

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed)
{
	const unsigned char *s = p;
	uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15ull);
	for (; n >= 8; s += 8, n -= 8) {
		uint64_t w;
		memcpy(&w, s, 8);
		h = (h ^ hash_mix(w)) * 0x9fb21c651e98df25ull;
	}
	/* the last bytes as one number, least significant first */
	uint64_t w = 0;
	uint32_t four;
	uint16_t two;
	unsigned bits = 0;
	if (n & 4) {
		memcpy(&four, s, 4);
		w = four;
		s += 4;
		bits = 32;
	}
	if (n & 2) {
		memcpy(&two, s, 2);
		w |= (uint64_t)two << bits;
		s += 2;
		bits += 16;
	}
	if (n & 1)
		w |= (uint64_t)*s << bits;
	return hash_mix(h ^ hash_mix(w + n));
}

void index_init(index_map *ix) { *ix = (index_map){0}; }

void index_release(index_map *ix)
{
	free(ix->hash);
	index_init(ix);
}

void index_clear(index_map *ix)
{
	ix->n = 0;
	if (ix->cap)
		memset(ix->hash, 0, ix->cap * sizeof *ix->hash);
}

void index_copy(index_map *to, const index_map *from)
{
	*to = *from;
	if (!from->cap)
		return;
	size_t bytes = from->cap * (sizeof *to->hash + sizeof *to->id);
	to->hash = memcpy(xmalloc(bytes), from->hash, bytes);
	to->id = (uint32_t *)(to->hash + to->cap);
}

static void place(index_map *ix, uint64_t h, uint32_t id)
{
	uint32_t i = (uint32_t)h & (ix->cap - 1);
	while (ix->hash[i])
		i = (i + 1) & (ix->cap - 1);
	ix->hash[i] = h;
	ix->id[i] = id;
}

void index_add(index_map *ix, uint64_t h, uint32_t id)
{
	if ((ix->n + 1) * 2 > ix->cap) {
		/* one block for both, before anything is changed: where memory is out, threads that share
		 * the index go on with it as it was */
		uint32_t cap = ix->cap ? ix->cap * 2 : 64;
		index_map old = *ix,
				  larger = {.hash = xcalloc(cap, sizeof *ix->hash + sizeof *ix->id),
					  .cap = cap,
					  .n = old.n};
		larger.id = (uint32_t *)(larger.hash + cap);
		for (uint32_t i = 0; i < old.cap; i++)
			if (old.hash[i])
				place(&larger, old.hash[i], old.id[i]);
		*ix = larger;
		free(old.hash);
	}
	place(ix, index_slot_hash(h), id);
	ix->n++;
}

void strtab_init(strtab *t)
{
	*t = (strtab){0};
	strtab_add(t, STR(""));
}

void strtab_release(strtab *t)
{
	arena_release(&t->mem);
	vec_release(&t->strs);
	index_release(&t->index);
}

str_id strtab_find(const strtab *t, str s)
{
	uint64_t h = hash_bytes(s.p, s.n, 0);
	uint32_t id;
	for (uint32_t it = index_first(&t->index, h); index_next(&t->index, h, &it, &id);)
		if (str_equal(t->strs.p[id], s))
			return id;
	return UINT32_MAX;
}

str_id strtab_add(strtab *t, str s)
{
	str_id id = strtab_find(t, s);
	if (id != UINT32_MAX)
		return id;
	id = t->strs.n;
	vec_push(&t->strs, (str){arena_strdup(&t->mem, s.p, s.n), s.n});
	index_add(&t->index, hash_bytes(s.p, s.n, 0), id);
	return id;
}
