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

/* Do slices that are counterparts begin at different places? */
static bool begin_apart(const module *m, op_id a, op_id b)
{
	uint32_t n, k;
	const int64_t *x = op_ints(m, a, "start_indices", &n), *y = op_ints(m, b, "start_indices", &k);
	return n != k || (n && memcmp(x, y, n * sizeof *x));
}

void fold_find_slices(folding *f, const layering *ly)
{
	const program *p = f->full;
	f->cut_apart = xcalloc(f->p->vals.n + 1, sizeof *f->cut_apart);
	for (node_id n = 0; n < p->nodes.n; n++) {
		const node *x = &p->nodes.p[n];
		node_id next = ly->node_next[n];
		if (x->op_kind != OP_SLICE || x->dead || next == ID_NONE ||
			!begin_apart(p->m, x->op, p->nodes.p[next].op))
			continue;
		const pval_id *slots = node_slots(p, x);
		const ir_type *from = pval_type(p, slots[0]), *to = pval_type(p, slots[1]);
		for (uint32_t d = 0; d < from->rank; d++)
			for (int k = 0; k < 2 && from->dims[d] != to->dims[d]; k++)
				f->cut_apart[f->val_of[slots[k]]] |= 1u << d;
	}
}

static bool is_cut_apart(const folding *f, const sharding_table *t, sharding_id id, pval_id v)
{
	if (!f->cut_apart[v] || id == SHARDING_NONE)
		return false;
	const sharding *s = sharding_get(t, id);
	for (uint32_t d = 0; d < s->rank; d++)
		if (f->cut_apart[v] >> d & 1 && s->dims[d].n)
			return true;
	return false;
}

bool fold_is_even(const folding *f, const sharding_table *t, const sharding_id *state, pval_id v)
{
	if (is_cut_apart(f, t, state[v], v))
		return false;
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
