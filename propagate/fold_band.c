/* The band of a folding: `middle` and the layers within reach of it, which have to come out alike.
 */
#include "propagate/program_internal.h"

void fold_find_band(folding *f)
{
	uint32_t n = f->p->vals.n;
	f->band_of = xmalloc((n + 1) * sizeof *f->band_of);
	f->band_name = xmalloc((n + 1) * sizeof *f->band_name);
	for (pval_id v = 0; v < n; v++) {
		pval_id first = v;
		f->band_of[v] = f->band_name[v] = ID_NONE;
		if (!fold_in_band(f, f->val_layer[v]))
			continue;
		while (
			f->val_before[first] != ID_NONE && fold_in_band(f, f->val_layer[f->val_before[first]]))
			first = f->val_before[first];
		f->band_of[v] = (uint32_t)(f->val_layer[v] - f->middle + (int32_t)f->reach);
		f->band_name[v] = first;
	}
}

bool fold_is_even(const folding *f, const sharding_id *state, pval_id v)
{
	if (f->band_of[v] == ID_NONE)
		return true;
	pval_id next = f->val_layer[v] < f->middle + (int32_t)f->reach ? f->val_next[v] : ID_NONE;
	pval_id before = f->val_layer[v] > f->middle - (int32_t)f->reach ? f->val_before[v] : ID_NONE;
	return (next == ID_NONE || state[next] == state[v]) &&
		(before == ID_NONE || state[before] == state[v]);
}

/* What a value was before each change, and what it is now, is the way it went. Which op brought a
 * change there may differ: a wave comes from the first layers to those before the place where it
 * meets the one from the last. */
bool fold_is_sure(const folding *f, const propagation *s, uint32_t mark)
{
	uint64_t ways[2 * MAX_REACH + 1] = {0};
	for (const trail_change *c = propagation_trail(s) + mark,
							*end = propagation_trail(s) + propagation_mark(s);
		 c < end; c++)
		if (f->band_of[c->v] != ID_NONE)
			ways[f->band_of[c->v]] += hash_combine(f->band_name[c->v], c->old);
	for (uint32_t i = 1; i <= 2 * f->reach; i++)
		if (ways[i] != ways[0])
			return false;
	return true;
}
