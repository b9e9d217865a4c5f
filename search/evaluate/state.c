/* One path of decisions on one program: decide -> settle, and back. The program is the problem's,
 * or the folded one, of which every argument and value stands for those of several layers. */
#include "search/evaluate/state_private.h"

#include <stdlib.h>

/* Which axes cut which dim; priorities and ids do not count, and open or closed only where a part
 * of an axis cuts: of what is open, arguments and results of main lose such parts
 * (program_trim_io). */
uint64_t find_hash(search_state *w, sharding_id id)
{
	while (w->sharding_hashes.n <= id)
		vec_push(&w->sharding_hashes, 0);
	const sharding *s = sharding_get(w->t, id);
	uint64_t h = 0;
	for (uint32_t d = 0; d < s->rank; d++) {
		axes a = sharding_dim(s, d);
		bool parts = false;
		for (uint32_t i = 0; i < a.n; i++) {
			h = hash_combine(h + d + 1, a.a[i]);
			parts |= a.a[i] != mesh_full_axis(w->t, s->mesh, axis_index(a.a[i]));
		}
		if (parts && s->dims[d].closed)
			h = hash_combine(h, MAX_RANK + d + 1);
	}
	axes u = sharding_unreduced(s), r = sharding_replicated(s);
	for (uint32_t i = 0; i < u.n; i++)
		h = hash_combine(h + 1000, u.a[i]);
	for (uint32_t i = 0; i < r.n; i++)
		h = hash_combine(h + 2000, r.a[i]);
	w->sharding_hashes.p[id] = h;
	return h;
}

/* ---------------------------------------------------------------- life */

static void note_site(search_state *w, pval_id v)
{
	v = w->fold ? w->fold->val_of[v] : v;
	if (v != ID_NONE && w->noted[v] == ID_NONE)
		w->noted[v] = w->n_noted++;
}

/* Arguments come first, under their own index. */
static void number_noted(search_state *w)
{
	const problem *pb = w->pb;
	w->noted = xmalloc((w->p->vals.n + 1) * sizeof *w->noted);
	w->n_noted = w->n_args;
	for (pval_id v = 0; v < w->p->vals.n; v++)
		w->noted[v] =
			w->p->vals.p[v].arg_index >= 0 ? (uint32_t)w->p->vals.p[v].arg_index : ID_NONE;
	for (uint32_t k = 0; k < pb->n_activation_classes; k++)
		for (uint32_t i = 0; i < pb->activation_classes[k].n; i++)
			note_site(w, pb->activation_classes[k].targets[i].arg);
	for (uint32_t i = 0; i < pb->n_given_sites; i++)
		note_site(w, pb->given_sites[i]);
}

search_state *state_new(
	const problem *pb, const folding *fold, sharding_table *t, size_t memo_bytes)
{
	search_state *w = xcalloc(1, sizeof *w);
	w->pb = pb;
	w->fold = fold;
	w->p = fold ? fold->p : pb->p;
	w->t = t;
	w->n_args = w->p->args.n;
	propagate_options po = {
		.strategy = STRATEGY_AGGRESSIVE, .op_priority = true, .user_priority = true};
	w->prop = propagation_new(w->p, t, &po);
	propagation_limit(w->prop, STEP_PARTS * memo_bytes, SETTLE_PARTS * memo_bytes);
	w->memo = decision_memo_new(w->p->vals.n, w->n_args, MEMO_PARTS * memo_bytes);
	w->stamps = xcalloc(w->p->vals.n + 1, sizeof *w->stamps);
	w->decided = xcalloc(w->n_args + 1, sizeof *w->decided);
	w->pinned = xcalloc(w->n_args + 1, sizeof *w->pinned);
	w->kept = xcalloc(w->n_args + 1, sizeof *w->kept);
	w->origin = xmalloc((w->n_args + 1) * sizeof *w->origin);
	number_noted(w);
	w->steps_of = xmalloc(((size_t)w->n_noted * MAX_RANK + 1) * sizeof *w->steps_of);
	memset(w->steps_of, PRIORITY_UNSET, (size_t)w->n_noted * MAX_RANK * sizeof *w->steps_of);
	w->sets = xcalloc(SET_SLOTS, sizeof *w->sets);
	for (uint32_t a = pb->n_args; a-- > 0;)
		w->origin[fold ? fold->arg_of[a] : a] = a;
	for (uint32_t a = 0; a < w->n_args; a++)
		w->decided[a] = w->pinned[a] = pb->pinned[w->origin[a]];
	state_restart(w, false);
	return w;
}

void state_restart(search_state *w, bool no_memo)
{
	assert(!w->depth);
	w->no_memo = no_memo;
	decision_memo_clear(w->memo);
	propagation_set_no_memo(w->prop, no_memo);
	propagation_reset(w->prop);
	propagation_run(w->prop);
	w->hash = state_hash_of(w, propagation_shardings(w->prop), w->p->vals.n);
}

void state_free(search_state *w)
{
	if (!w)
		return;
	propagation_free(w->prop);
	decision_memo_free(w->memo);
	free(w->stamps);
	vec_release(&w->values);
	vec_release(&w->args);
	free(w->decided);
	free(w->pinned);
	free(w->kept);
	free(w->origin);
	free(w->noted);
	free(w->steps_of);
	free(w->sets);
	vec_release(&w->sharding_hashes);
	vec_release(&w->applied);
	vec_release(&w->changes);
	vec_release(&w->dim_log);
	vec_release(&w->dims);
	vec_release(&w->asked);
	vec_release(&w->reads);
	free(w);
}

uint64_t state_hash_of(search_state *w, const sharding_id *state, uint32_t n)
{
	uint64_t h = 0;
	for (pval_id v = 0; v < n; v++)
		h ^= value_hash(w, v, state[v]);
	return h;
}

uint32_t state_depth(const search_state *w) { return w->depth; }
uint64_t state_hash(const search_state *w) { return w->hash; }
const sharding_id *state_shardings(search_state *w) { return propagation_shardings(w->prop); }
bool state_decided(const search_state *w, uint32_t arg) { return w->decided[arg]; }
bool state_pinned(const search_state *w, uint32_t arg) { return w->pinned[arg]; }
uint32_t state_kept(const search_state *w, uint32_t arg) { return w->kept[arg]; }
bool state_was_uneven(const search_state *w) { return w->uneven; }

uint8_t state_priority(const search_state *w, pval_id v, uint32_t dim, priority_of when)
{
	const dim_steps *s = &w->steps_of[(size_t)w->noted[v] * MAX_RANK + dim];
	uint8_t p = when == FIRST_AXES ? s->first : s->last;
	return p == PRIORITY_UNSET ? 0 : p;
}

bool state_priorities_differ(const search_state *w)
{
	for (size_t i = 0; i < (size_t)w->n_noted * MAX_RANK; i++)
		if (w->steps_of[i].first != w->steps_of[i].last)
			return true;
	return false;
}

uint32_t state_applied(const search_state *w, uint32_t at, const action_target **out)
{
	uint32_t first = w->steps[at].applied,
			 end = at + 1 < w->depth ? w->steps[at + 1].applied : w->applied.n;
	*out = w->applied.p + first;
	return end - first;
}

bool state_is_same(search_state *w, search_state *whole)
{
	const sharding_id *a = propagation_shardings(w->prop), *b = propagation_shardings(whole->prop);
	bool same = w->t == whole->t;
	for (pval_id v = 0; v < whole->p->vals.n && same; v++) {
		pval_id u = w->fold ? w->fold->val_of[v] : v;
		same = u == ID_NONE || content_hash(w, a[u]) == content_hash(w, b[v]);
	}
	for (uint32_t i = 0; i < whole->n_args && same; i++) {
		uint32_t arg = w->fold ? w->fold->arg_of[i] : i;
		same = w->decided[arg] == whole->decided[i] && w->kept[arg] == whole->kept[i] &&
			!memcmp(w->steps_of + (size_t)arg * MAX_RANK, whole->steps_of + (size_t)i * MAX_RANK,
				MAX_RANK * sizeof *w->steps_of);
	}
	return same;
}
