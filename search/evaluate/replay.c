/* A replay is one fresh run of the whole pipeline on the annotated module: what XLA will do with
 * the answer. */
#include "search/evaluate/evaluate.h"

#include <stdlib.h>

sharding_id sharding_pin(
	sharding_table *t, mesh_id mesh, sharding_id id, uint32_t rank, int16_t priority)
{
	sharding_edit e;
	if (id == SHARDING_NONE)
		sharding_edit_init(&e, mesh, rank, true);
	else
		sharding_to_edit(t, id, &e);
	for (uint32_t i = 0; i < e.rank; i++) {
		e.dims[i].closed = true;
		e.dims[i].priority = e.dims[i].axes.n ? priority : -1;
	}
	e.replicated.n = e.unreduced.n = 0;
	return sharding_intern(t, &e);
}

static axes axes_of_dim(const sharding_table *t, sharding_id id, uint32_t d)
{
	return id == SHARDING_NONE ? (axes){0} : sharding_dim(sharding_get(t, id), d);
}

bool sharding_same_axes(const sharding_table *t, sharding_id a, sharding_id b)
{
	if (a == b)
		return true;
	uint32_t rank = sharding_get(t, a != SHARDING_NONE ? a : b)->rank;
	for (uint32_t d = 0; d < rank; d++)
		if (!axes_equal(axes_of_dim(t, a, d), axes_of_dim(t, b, d)))
			return false;
	return true;
}

uint32_t unlike_arguments(const problem *pb, const sharding_table *t, const program *p,
	const uint32_t *arg_of, const sharding_id *shardings)
{
	uint32_t n = 0;
	for (uint32_t a = 0; pb->o->n_groups && a < pb->n_args; a++) {
		uint32_t first = pb->given[a] == ID_NONE ? a : pb->given_first[pb->given[a]];
		uint32_t own = arg_of ? arg_of[a] : a, other = arg_of ? arg_of[first] : first;
		if (own != other && own != ID_NONE && other != ID_NONE)
			n += !sharding_same_axes(t, shardings[p->args.p[own]], shardings[p->args.p[other]]);
	}
	return n;
}

/* The latest priority of the strategy: a pinned result only records what the decisions led to, so
 * it comes with the last. */
static int16_t last_priority(const sharding_table *t, const strategy *s)
{
	int16_t last = 0;
	for (uint32_t a = 0; a < s->n_args; a++) {
		const sharding *sh = s->args[a] == SHARDING_NONE ? NULL : sharding_get(t, s->args[a]);
		for (uint32_t d = 0; sh && d < sh->rank; d++)
			last = MAX(last, sh->dims[d].priority);
	}
	return last ? last : -1;
}

/* Results of undecided donated arguments are pinned where they came out differently. True: there
 * are none. */
static bool results_agree(const problem *pb, strategy *s, const evaluation *ev, int16_t late)
{
	sharding_table *t = pb->m->shardings;
	bool agree = true;
	for (uint32_t a = 0; a < pb->n_args && !pb->o->open_results; a++) {
		int32_t r = pb->result_of_arg[a];
		if (r < 0)
			continue;
		pval_id av = ev->p->args.p[a], rv = ev->p->results.p[r];
		if (!sharding_same_axes(t, ev->shardings[av], ev->shardings[rv])) {
			s->results[r] =
				sharding_pin(t, pb->mesh, ev->shardings[av], pval_type(ev->p, av)->rank, late);
			agree = false;
		}
	}
	return agree;
}

/* replay_strategy, of which the last evaluation is kept. *settled: it is that of s as it is now.
 * out may be NULL, as for simulate_module. */
static status replay_kept(const problem *pb, const module *original, strategy *s, cost *out,
	bool *allowed, evaluation *ev, bool *settled, diag *d)
{
	sharding_table *t = pb->m->shardings;
	int16_t late = last_priority(t, s);
	for (int round = 0;; round++) {
		module *annotated = NULL;
		TRY(strategy_apply(original, s, &annotated, d));
		status st =
			simulate_module(annotated, pb->o->device, s->apply, pb->o->axis_links, out, ev, d);
		if (st != ST_OK) {
			module_free(annotated);
			return st;
		}
		ev->written = annotated;
		*allowed = true;
		for (uint32_t a = 0; a < pb->n_args; a++) {
			s->propagated[a] = ev->shardings[ev->p->args.p[a]];
			*allowed &= !problem_forbids_sharding(pb, t, a, s->propagated[a]);
		}
		*allowed &= !unlike_arguments(pb, t, ev->p, NULL, ev->shardings);
		*settled = results_agree(pb, s, ev, late);
		if (*settled || round == REPLAY_ROUNDS)
			return ST_OK;
		evaluation_release(ev);
	}
}

status replay_strategy(
	const problem *pb, const module *original, strategy *s, cost *out, bool *allowed, diag *d)
{
	evaluation ev;
	bool settled;
	TRY(replay_kept(pb, original, s, out, allowed, &ev, &settled, d));
	evaluation_release(&ev);
	return ST_OK;
}

status replay_seen(const problem *pb, const module *original, strategy *s, cost *out, bool *allowed,
	see_plan *see, void *user, evaluation *keep, diag *d)
{
	bool settled, exact = apply_is_exact(s->apply);
	evaluation local, *ev = keep && !exact ? keep : &local; /* built in place */
	cost *planned = exact ? NULL : out;                     /* of what is written, that is costed */
	TRY(replay_kept(pb, original, s, planned, allowed, ev, &settled, d));
	if (!settled && (exact || keep)) { /* results were pinned once more */
		module *annotated;
		evaluation_release(ev);
		TRY(strategy_apply(original, s, &annotated, d));
		status st =
			simulate_module(annotated, pb->o->device, s->apply, pb->o->axis_links, planned, ev, d);
		if (st != ST_OK) {
			module_free(annotated);
			return st;
		}
		ev->written = annotated;
	}
	if (exact) {
		if (see)
			see(user, ev);
		return simulate_written(ev, pb->o->device, pb->o->axis_links, out, keep, d);
	}
	if (!keep)
		evaluation_release(ev);
	return ST_OK;
}

status replay_applied(const problem *pb, const module *original, strategy *s, cost *out,
	bool *allowed, evaluation *keep, diag *d)
{
	return replay_seen(pb, original, s, out, allowed, NULL, NULL, keep, d);
}
