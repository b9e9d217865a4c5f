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

/* A part of the memory that memo tables may take. There are two walkers, two costers with two parts
 * each, and two propagations for replays. */
static size_t memo_part(const problem *pb)
{
	int64_t all = pb->o->cache_bytes ? pb->o->cache_bytes : SEARCH_DEFAULT_CACHE_BYTES;
	return (size_t)(all / MOST_EVALUATORS / (2 * WALKER_PARTS + 2 * 2 + 2));
}

propagation *evaluator_propagation(evaluator *ev, const program *p)
{
	propagate_options po = {
		.strategy = STRATEGY_AGGRESSIVE, .op_priority = true, .user_priority = true};
	propagation *s = propagation_new(p, ev->t, &po);
	propagation_limit(s, memo_part(ev->pb), 0);
	return s;
}

walker *evaluator_walker(evaluator *ev, int way)
{
	if (!ev->on[way])
		ev->on[way] = walker_new(ev->pb, way == FOLDED ? ev->fold : NULL, ev->t, memo_part(ev->pb));
	return ev->on[way];
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
	evaluator_walker(ev, ev->fold ? FOLDED : WHOLE);
	return ev;
}

static void coster_release(coster *c)
{
	if (!c->lower)
		return;
	simulator_free(c->sim);
	lowered_free(c->low);
	lower_cache_free(c->lower);
	free(c->costed);
	vec_release(&c->matmuls);
}

void evaluator_free(evaluator *ev)
{
	if (!ev)
		return;
	for (int way = 0; way < WAYS; way++) {
		walker_free(ev->on[way]);
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
	arena_release(&ev->mem);
	free(ev);
}

/* ---------------------------------------------------------------- the path */

uint32_t evaluator_depth(const evaluator *ev) { return ev->depth; }
uint64_t evaluator_hash(const evaluator *ev) { return walker_hash(present(ev)); }

/* The folded program cannot take the next decision: the whole one walks the same path. */
static void unfold(evaluator *ev)
{
	ev->uneven_from = ev->depth;
	ev->stats.unfolded++;
	walker *w = evaluator_walker(ev, WHOLE);
	walker_undo(w, 0);
	for (uint32_t i = 0; i < ev->depth; i++)
		ev->broken |= !walker_decide(w, &ev->path[i]);
}

bool evaluator_can(evaluator *ev, const action *a)
{
	if (!is_folded(ev))
		return walker_can(present(ev), a);
	const folded_action *f = fold_action(ev, a);
	if (f->even) {
		action folded = with_targets(a, f);
		return walker_can(ev->on[FOLDED], &folded);
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
		if (walker_can(ev->on[FOLDED], &one))
			return true;
	}
	return false;
}

/* With `check`: the whole program walks the same path and must come to the same shardings. */
static void check_state(evaluator *ev)
{
	walker *w = evaluator_walker(ev, WHOLE);
	walker_undo(w, 0);
	for (uint32_t i = 0; i < ev->depth; i++)
		ev->broken |= !walker_decide(w, &ev->path[i]);
	ev->broken |= !walker_same_state(ev->on[FOLDED], w);
}

/* Where layers that must be alike come out differently, or come to the same in different ways, the
 * whole program decides. */
static bool decide_folded(evaluator *ev, const action *a)
{
	walker *w = ev->on[FOLDED];
	const folded_action *f = fold_action(ev, a);
	bool even = f->even, done = false;
	if (even) {
		action folded = with_targets(a, f);
		done = walker_decide(w, &folded);
		even = !walker_was_uneven(w);
	}
	if (!even) {
		walker_undo(w, ev->depth);
		unfold(ev);
	}
	return done;
}

bool evaluator_decide(evaluator *ev, const action *a)
{
	if (ev->depth == MAX_PLAN)
		return false;
	ev->priority = FIRST_AXES;
	bool done = is_folded(ev) && decide_folded(ev, a);
	if (!is_folded(ev))
		done = walker_decide(ev->on[WHOLE], a);
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
	if (ev->uneven_from != ID_NONE && depth <= ev->uneven_from)
		ev->uneven_from = ID_NONE;
	ev->depth = depth;
	if (ev->uneven_from != ID_NONE)
		walker_undo(ev->on[WHOLE], depth);
	else if (ev->fold)
		walker_undo(ev->on[FOLDED], depth);
	else
		walker_undo(ev->on[WHOLE], depth);
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

/* ---------------------------------------------------------------- cost */

coster *evaluator_coster(evaluator *ev, int way)
{
	coster *c = &ev->cost[way];
	const problem *pb = ev->pb;
	const program *p = way == FOLDED ? ev->fold->p : pb->p;
	if (c->lower)
		return c;
	c->lower = lower_cache_new(p, ev->t);
	lower_cache_torus(c->lower, device_torus_dims(pb->o->device));
	c->low = lowered_new(p, ev->t);
	c->sim = simulator_new(p, ev->t, pb->o->device, &ev->links, way == FOLDED ? &ev->dn : &pb->dn);
	c->costed = xcalloc(p->vals.n + 1, sizeof *c->costed);
	lower_cache_limit(c->lower, memo_part(pb));
	simulator_limit(c->sim, memo_part(pb));
	if (way == FOLDED) {
		node_id *firsts = xmalloc((ev->fold->blocks.n + 1) * sizeof *firsts);
		for (uint32_t b = 0; b < ev->fold->blocks.n; b++)
			firsts[b] = ev->fold->blocks.p[b].first;
		lower_cache_mark(c->lower, firsts, ev->fold->blocks.n);
		free(firsts);
		simulator_fold(c->sim, ev->fold);
	} else if (ev->fold) {
		simulator_unfolded(c->sim, ev->fold);
	}
	uint8_t *ways = xmalloc(p->nodes.n + 1);
	simulator_nesting(p, ev->t, pb->o->device->target, ways);
	lower_cache_nest(c->lower, ways);
	free(ways);
	return c;
}

/* The shardings that are lowered: inputs cut to what divides, and in the steady state a paired
 * result leaves the step as its argument entered it. */
static void find_costed(evaluator *ev, coster *c, const program *p, const int32_t *result_of_arg)
{
	program_trim_io(p, ev->t, c->costed);
	for (uint32_t a = 0; a < p->args.n; a++)
		if (result_of_arg[a] >= 0)
			c->costed[p->results.p[result_of_arg[a]]] = c->costed[p->args.p[a]];
}

/* False when layers of the folded program come out differently. */
static bool cost_with(evaluator *ev, coster *c, int way, bool reshards)
{
	bool alike = true;
	uint32_t n_apart;
	const node_id *apart = NULL;
	lower_cache_reshard_after_forward(c->lower, reshards);
	do {
		if (apart)
			lower_cache_unnest(c->lower, apart, n_apart);
		lower_program(
			c->lower, c->costed, apply_level(ev->pb->o->apply), ev->pb->o->device->target, c->low);
		if (way == FOLDED)
			alike = simulate_folded(c->sim, c->low, &c->cost);
		else
			simulate(c->sim, c->low, &c->cost);
		apart = simulator_apart(c->sim, &n_apart);
		ev->stats.apart += n_apart > 0;
	} while (n_apart);
	return alike;
}

/* Gathered parameters are held from the forward to the backward pass where there is memory for
 * that, else gathered again. */
static bool cost_anew(evaluator *ev, coster *c, int way)
{
	const search_options *o = ev->pb->o;
	if (!cost_with(ev, c, way, o->apply == APPLY_EXACT_RESHARDED))
		return false;
	cost held = c->cost;
	if (o->apply != APPLY_EXACT ||
		(o->objective != OBJECTIVE_MEMORY && held.peak_bytes <= ev->pb->memory_limit))
		return true;
	if (!cost_with(ev, c, way, true))
		return false;
	if (!score_less(score_final(ev->pb, &c->cost), score_final(ev->pb, &held)))
		c->cost = held;
	return true;
}

/* What is lowered depends on the axes that cut what: different states can come to the same, and a
 * replay mostly comes to what was costed before. False when layers of the folded program come out
 * differently. */
bool coster_find(evaluator *ev, coster *c, int way, cost *out)
{
	cost_memo *costs = ev->pb->o->check ? NULL : ev->pb->costs;
	uint32_t n = (way == FOLDED ? ev->fold->p : ev->pb->p)->vals.n;
	uint64_t h = costs ? hash_combine(walker_hash_of(present(ev), c->costed, n), (uint64_t)way) : 0;
	c->known = costs && cost_memo_find(costs, h, out);
	if (c->known)
		return true;
	if (!cost_anew(ev, c, way))
		return false;
	*out = c->cost;
	if (costs)
		cost_memo_add(costs, h, out);
	return true;
}

void coster_load(evaluator *ev, coster *c, int way)
{
	const program *p = way == FOLDED ? ev->fold->p : ev->pb->p;
	const sharding_id *state = walker_state(present(ev));
	if (way == WHOLE && is_folded(ev))
		for (pval_id v = 0; v < p->vals.n; v++)
			c->costed[v] =
				ev->fold->val_of[v] == ID_NONE ? SHARDING_NONE : state[ev->fold->val_of[v]];
	else
		memcpy(c->costed, state, p->vals.n * sizeof *c->costed);
	find_costed(ev, c, p, way == FOLDED ? ev->result_of_arg : ev->pb->result_of_arg);
}

static void cost_whole(evaluator *ev, cost *out)
{
	coster *c = evaluator_coster(ev, WHOLE);
	coster_load(ev, c, WHOLE);
	coster_find(ev, c, WHOLE, out);
}

/* From the folded program alone; false when its layers come out differently. */
static bool cost_folded(evaluator *ev, cost *out)
{
	coster *c = evaluator_coster(ev, FOLDED);
	coster_load(ev, c, FOLDED);
	return coster_find(ev, c, FOLDED, out);
}

void evaluator_cost(evaluator *ev, cost *out)
{
	cost_memo *costs = ev->pb->o->check ? NULL : ev->pb->costs;
	uint64_t state = evaluator_hash(ev);
	if (costs && cost_memo_find(costs, state, out)) {
		ev->stats.known++;
		return;
	}
	bool folded = is_folded(ev) && cost_folded(ev, out);
	if (!folded)
		cost_whole(ev, out);
	if (ev->cost[folded ? FOLDED : WHOLE].known)
		ev->stats.known++;
	else
		folded ? ev->stats.folded++ : ev->stats.whole++;
	if (folded && ev->pb->o->check) {
		cost whole;
		cost_whole(ev, &whole);
		ev->broken |= memcmp(&whole, out, sizeof whole) != 0;
	}
	if (costs)
		cost_memo_add(costs, state, out);
}

void evaluator_rate(evaluator *ev, cost *out)
{
	evaluator_cost(ev, out);
	bool folded = is_folded(ev);
	uint32_t unlike = unlike_arguments(ev->pb, ev->t, folded ? ev->fold->p : ev->pb->p,
		folded ? ev->fold->arg_of : NULL, walker_state(present(ev)));
	if (unlike)
		out->runtime_ns = sat_mul(out->runtime_ns, 2 + (int64_t)unlike);
}

/* ---------------------------------------------------------------- checks */

bool evaluator_broken(const evaluator *ev) { return ev->broken; }

bool evaluator_self_check(evaluator *ev, const plan *pl)
{
	walker *fresh = walker_new(ev->pb, NULL, ev->t, memo_part(ev->pb));
	walker_restart(fresh, true);
	bool same = !ev->broken;
	for (uint32_t i = 0; i < pl->n && same; i++)
		same = walker_decide(fresh, &pl->decisions[i]);
	same = same && walker_same_state(present(ev), fresh);
	walker_free(fresh);
	return same;
}

static score score_by(const problem *pb, const cost *c, objective goal)
{
	bool fits = c->peak_bytes <= pb->memory_limit;
	if (goal == OBJECTIVE_MEMORY)
		return (score){fits, c->peak_bytes, c->runtime_ns};
	return fits ? (score){true, c->runtime_ns, c->peak_bytes}
				: (score){false, cost_too_large(c), c->peak_bytes};
}

score score_of(const problem *pb, const cost *c) { return score_by(pb, c, pb->objective); }
score score_final(const problem *pb, const cost *c) { return score_by(pb, c, pb->o->objective); }

bool score_less(score a, score b)
{
	if (a.fits != b.fits)
		return a.fits;
	if (a.primary != b.primary)
		return a.primary < b.primary;
	return a.secondary < b.secondary;
}

evaluator_stats evaluator_statistics(const evaluator *ev) { return ev->stats; }
