/* One evaluator walks one path of decisions: decide -> settle -> lower -> simulate, and back. It
 * owns its sharding table and every memo table, so evaluators on different threads share only the
 * immutable problem.
 *
 * Where layers repeat, the path is walked on the folded program. A decision that treats the layers
 * in its middle differently, or comes to different things in them, unfolds: from there on the path
 * is walked on the whole program. */
#include "search/evaluate/evaluator.h"

#include <stdlib.h>

/* Ids of the copy equal those of the original. */
static sharding_table *table_copy(const sharding_table *from)
{
	sharding_table *to = sharding_table_new();
	for (uint32_t i = 0; i < from->names.strs.n; i++)
		strtab_add(&to->names, from->names.strs.p[i]);
	for (uint32_t i = 0; i < from->meshes.n; i++) {
		mesh_id id = mesh_intern(to, &from->meshes.p[i]);
		assert(id == i);
		(void)id;
	}
	sharding_edit *e = xmalloc(sizeof *e);
	for (uint32_t i = 1; i < from->shardings.n; i++) {
		sharding_to_edit(from, i, e);
		sharding_id id = sharding_intern(to, e);
		assert(id == i);
		(void)id;
	}
	free(e);
	return to;
}

/* ---------------------------------------------------------------- life */

evaluator *evaluator_new(const problem *pb)
{
	evaluator *ev = xcalloc(1, sizeof *ev);
	ev->pb = pb;
	ev->t = table_copy(pb->m->shardings);
	ev->uneven_from = ID_NONE;
	index_init(&ev->by_targets);
	diag d = {0};
	if (mesh_links_assign(pb->o->device, ev->t, pb->mesh, pb->o->axis_links, &ev->links, &d) !=
		ST_OK)
		assert(false && "problem_init checked the links");
	fold_begin(ev);
	evaluator_state(ev, ev->fold ? FOLDED : WHOLE);
	return ev;
}

void evaluator_free(evaluator *ev)
{
	if (!ev)
		return;
	for (int way = 0; way < WAYS; way++) {
		state_free(ev->on[way]);
		coster_release(&ev->cost[way]);
	}
	sharding_table_unref(ev->t);
	index_release(&ev->by_targets);
	for (int way = 0; way < WAYS; way++)
		propagation_free(ev->fresh[way]);
	vec_release(&ev->pins);
	vec_release(&ev->actions);
	vec_release(&ev->expanded);
	vec_release(&ev->sites);
	vec_release(&ev->held);
	vec_release(&ev->last.held);
	arena_release(&ev->mem);
	free(ev);
}

/* ---------------------------------------------------------------- the path */

uint32_t evaluator_depth(const evaluator *ev) { return ev->depth; }
uint64_t evaluator_hash(const evaluator *ev) { return state_hash(present(ev)); }

/* The folded program cannot take the next decision: the whole one walks the same path. */
static void unfold(evaluator *ev)
{
	ev->uneven_from = ev->depth;
	ev->stats.unfolded++;
	search_state *w = evaluator_state(ev, WHOLE);
	state_undo(w, 0);
	for (uint32_t i = 0; i < ev->depth; i++)
		ev->broken |= !state_decide(w, &ev->path[i]);
}

bool evaluator_can(evaluator *ev, const action *a)
{
	if (!is_folded(ev))
		return state_can(present(ev), a);
	const folded_action *f = fold_action(ev, a);
	if (f->even) {
		action folded = with_targets(a, f);
		return state_can(ev->on[FOLDED], &folded);
	}
	/* Arguments that are counterparts have equal shardings, so each target can be asked for on its
	 * own. */
	for (uint32_t i = 0; i < a->n_targets; i++) {
		action one = *a;
		action_target target = {fold_target(ev, f->inner, a->targets[i].arg), a->targets[i].dim};
		if (target.arg == ID_NONE)
			continue;
		one.targets = &target;
		one.n_targets = 1;
		if (state_can(ev->on[FOLDED], &one))
			return true;
	}
	return false;
}

/* With `check`: the whole program walks the same path and must come to the same shardings. */
static void check_state(evaluator *ev)
{
	search_state *w = evaluator_state(ev, WHOLE);
	state_undo(w, 0);
	for (uint32_t i = 0; i < ev->depth; i++)
		ev->broken |= !state_decide(w, &ev->path[i]);
	ev->broken |= !state_is_same(ev->on[FOLDED], w);
}

/* Where layers that must be alike come out differently, or come to the same in different ways, the
 * whole program decides. */
static bool decide_folded(evaluator *ev, const action *a)
{
	search_state *w = ev->on[FOLDED];
	const folded_action *f = fold_action(ev, a);
	bool even = f->even, done = false;
	if (even) {
		action folded = with_targets(a, f);
		done = state_decide(w, &folded);
		even = !state_was_uneven(w);
	}
	if (!even) {
		state_undo(w, ev->depth);
		unfold(ev);
	}
	return done;
}

bool evaluator_decide(evaluator *ev, const action *a)
{
	if (ev->depth == MAX_PLAN)
		return false;
	ev->priority = FIRST_AXES;
	ev->held.n = 0;
	bool done = is_folded(ev) && decide_folded(ev, a);
	if (!is_folded(ev))
		done = state_decide(ev->on[WHOLE], a);
	if (done)
		ev->path[ev->depth++] = *a;
	else if (ev->uneven_from == ev->depth)
		ev->uneven_from = ID_NONE;
	if (done && ev->pb->o->check && is_folded(ev))
		check_state(ev);
	return done;
}

void evaluator_undo(evaluator *ev, uint32_t depth)
{
	if (depth >= ev->depth)
		return;
	ev->priority = FIRST_AXES;
	ev->held.n = 0;
	if (ev->uneven_from != ID_NONE && depth <= ev->uneven_from)
		ev->uneven_from = ID_NONE;
	ev->depth = depth;
	if (ev->uneven_from != ID_NONE)
		state_undo(ev->on[WHOLE], depth);
	else if (ev->fold)
		state_undo(ev->on[FOLDED], depth);
	else
		state_undo(ev->on[WHOLE], depth);
}

void evaluator_run(evaluator *ev, plan *pl, cost *out)
{
	uint32_t kept = 0;
	while (kept < pl->n && kept < ev->depth && action_same(&ev->path[kept], &pl->decisions[kept]))
		kept++;
	evaluator_undo(ev, kept);
	for (uint32_t i = kept; i < pl->n; i++)
		if (evaluator_decide(ev, &pl->decisions[i])) {
			pl->decisions[kept] = pl->decisions[i];
			pl->tactics[kept++] = pl->tactics[i];
		}
	pl->n = kept;
	if (out)
		evaluator_cost(ev, out);
}

/* ---------------------------------------------------------------- checks */

bool evaluator_broken(const evaluator *ev) { return ev->broken; }

bool evaluator_self_check(evaluator *ev, const plan *pl)
{
	search_state *fresh = state_new(ev->pb, NULL, ev->t, memo_part(ev->pb));
	state_restart(fresh, true);
	bool same = !ev->broken;
	for (uint32_t i = 0; i < pl->n && same; i++)
		same = state_decide(fresh, &pl->decisions[i]);
	same = same && state_is_same(present(ev), fresh);
	state_free(fresh);
	return same;
}

evaluator_stats evaluator_statistics(const evaluator *ev) { return ev->stats; }
