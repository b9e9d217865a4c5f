/* Decisions in a search state: applied, propagated to a fixpoint and remembered, or written where
 * what they change is known; and taken back. */
#include "search/evaluate/state_private.h"

static void log_arg(search_state *w, uint32_t arg)
{
	vec_push(&w->changes, (arg_change){arg, w->kept[arg], w->decided[arg]});
}

/* Closed, with the axis added to a dim unless d is ID_NONE. */
static sharding_id make_set(
	search_state *w, sharding_id id, type_id type, uint32_t d, uint32_t axis)
{
	sharding_edit e;
	if (id == SHARDING_NONE)
		sharding_edit_init(&e, w->pb->mesh, type_get(w->p->m, type)->rank, true);
	else
		sharding_to_edit(w->t, id, &e);
	for (uint32_t i = 0; i < e.rank; i++) {
		e.dims[i].closed = true;
		e.dims[i].priority = -1;
	}
	if (d != ID_NONE)
		axes_push_merge(&e.dims[d].axes, mesh_full_axis(w->t, w->pb->mesh, axis));
	return sharding_intern(w->t, &e);
}

static void set_argument(search_state *w, uint32_t arg, uint32_t d, uint32_t axis)
{
	pval_id v = w->p->args.p[arg];
	sharding_id id = propagation_shardings(w->prop)[v];
	type_id type = w->p->vals.p[v].type;
	uint64_t h = hash_combine((uint64_t)id << 32 | type, (uint64_t)d << 8 | axis);
	set_slot *s = &w->sets[h & (SET_SLOTS - 1)];
	if (!s->used || s->from != id || s->type != type || s->dim != d || s->axis != axis)
		*s = (set_slot){id, make_set(w, id, type, d, axis), type, d, axis, true};
	propagation_set(w->prop, v, s->to);
}

static void take_away(sharding_edit *e, uint32_t dim, axis_ref axis)
{
	axes_buf left = {0};
	for (uint32_t i = 0; i < e->dims[dim].axes.n; i++)
		if (e->dims[dim].axes.a[i] != axis)
			left.a[left.n++] = e->dims[dim].axes.a[i];
	e->dims[dim].axes = left;
}

/* A sharding with the axis added to a dim, which is closed, or to the replicated ones; the others
 * stay open to later decisions. */
static sharding_id make_constrained(
	search_state *w, sharding_id id, type_id type, uint32_t dim, uint32_t axis)
{
	sharding_edit e;
	axis_ref whole = mesh_full_axis(w->t, w->pb->mesh, axis);
	if (id == SHARDING_NONE)
		sharding_edit_init(&e, w->pb->mesh, type_get(w->p->m, type)->rank, false);
	else
		sharding_to_edit(w->t, id, &e);
	bool there = dim != DIM_KEEP && uses_axis((axes){e.dims[dim].axes.a, e.dims[dim].axes.n}, axis);
	uint32_t from =
		id == SHARDING_NONE || there ? ID_NONE : propagated_dim(w, sharding_get(w->t, id), axis);
	if (from != ID_NONE)
		take_away(&e, from, whole);
	if (dim == DIM_KEEP) {
		axes_push_merge(&e.replicated, whole);
		axes_sort_merge(&e.replicated);
	} else {
		if (!there)
			axes_push_merge(&e.dims[dim].axes, whole);
		e.dims[dim].closed = true;
	}
	return sharding_intern(w->t, &e);
}

static void set_dim(search_state *w, uint32_t at, uint32_t since)
{
	dim_steps *s = &w->steps_of[at];
	vec_push(&w->dim_log, (dim_change){at, *s});
	if (s->first == PRIORITY_UNSET)
		s->first = (uint8_t)since;
	s->last = (uint8_t)since;
}

static bool changed_dim(const search_state *w, sharding_id old, const sharding *now, uint32_t d)
{
	const sharding *was = old == SHARDING_NONE ? NULL : sharding_get(w->t, old);
	axes b = sharding_dim(now, d);
	axes a = was ? sharding_dim(was, d) : (axes){0};
	return a.n != b.n || (a.n && memcmp(a.a, b.a, a.n * sizeof *a.a));
}

/* Remembers at which steps each dim of an argument, or of a value that may be constrained, got
 * axes: one of them is its user priority in the answer. */
static void note_priorities(search_state *w, uint32_t from_mark, uint32_t since)
{
	const trail_change *trail = propagation_trail(w->prop);
	for (uint32_t i = from_mark, end = propagation_mark(w->prop); i < end; i++) {
		pval_id v = trail[i].v;
		uint32_t noted = w->noted[v];
		sharding_id id = propagation_shardings(w->prop)[v];
		if (noted == ID_NONE || id == SHARDING_NONE)
			continue;
		const sharding *s = sharding_get(w->t, id);
		for (uint32_t d = 0; d < s->rank; d++) {
			uint32_t at = noted * MAX_RANK + d;
			if (w->steps_of[at].last != since && changed_dim(w, trail[i].old, s, d))
				set_dim(w, at, since);
		}
	}
}

static bool apply_target(search_state *w, const action *a, action_target target)
{
	uint32_t arg = target.arg;
	if (a->kind == ACTION_CONSTRAIN) {
		if (!can_constrain(w, a, &target))
			return false;
		propagation_set(w->prop, arg,
			make_constrained(w, propagation_shardings(w->prop)[arg], w->p->vals.p[arg].type,
				target.dim, a->axis));
		vec_push(&w->applied, target);
		return true;
	}
	if (target.dim == DIM_KEEP) {
		if (w->pinned[arg] || w->kept[arg] >> a->axis & 1)
			return false;
		log_arg(w, arg);
		w->hash ^= w->kept[arg] ? hash_combine(~(uint64_t)arg, w->kept[arg]) : 0;
		w->kept[arg] |= 1u << a->axis;
		w->hash ^= hash_combine(~(uint64_t)arg, w->kept[arg]);
		set_argument(w, arg, ID_NONE, a->axis);
	} else {
		target.dim = dim_for(w, &target, a->axis);
		if (target.dim == ID_NONE)
			return false;
		log_arg(w, arg);
		set_argument(w, arg, target.dim, a->axis);
	}
	w->decided[arg] = true;
	vec_push(&w->applied, target);
	return target.dim != DIM_KEEP || a->kind == ACTION_REPLICATE;
}

static step *open_step(search_state *w)
{
	w->steps[w->depth] = (step){.mark = propagation_mark(w->prop),
		.applied = w->applied.n,
		.changes = w->changes.n,
		.dims = w->dim_log.n,
		.hash = w->hash};
	return &w->steps[w->depth++];
}

/* The decision is known: what it changed is written. */
static bool retrace(search_state *w, const effect *o)
{
	w->uneven = o->uneven;
	if (!o->done)
		return false;
	open_step(w);
	w->values.n = 0;
	vec_reserve(&w->values, o->n_values);
	for (uint32_t i = 0; i < o->n_values; i++)
		w->values.p[i] = effect_value(o, i);
	propagation_retrace(w->prop, w->values.p, o->n_values, o->stable);
	for (uint32_t i = 0; i < o->n_args; i++) {
		const effect_arg *a = &o->args[i];
		log_arg(w, a->arg);
		w->kept[a->arg] = a->kept;
		w->decided[a->arg] = true;
	}
	for (uint32_t i = 0; i < o->n_applied; i++)
		vec_push(&w->applied, o->applied[i]);
	for (uint32_t i = 0; i < o->n_dims; i++)
		set_dim(w, o->dims[i], w->depth - 1);
	w->hash ^= o->hash;
	return true;
}

/* The values that the decision is about, and what its arguments are kept free of. */
static void list_asked(search_state *w, const action *a)
{
	w->asked.n = w->reads.n = 0;
	for (uint32_t i = 0; i < a->n_targets; i++) {
		uint32_t arg = a->targets[i].arg;
		vec_push(&w->asked, a->kind == ACTION_CONSTRAIN ? arg : w->p->args.p[arg]);
		if (a->kind != ACTION_CONSTRAIN)
			vec_push(&w->reads, (value_is){w->p->vals.n + arg, w->kept[arg]});
	}
}

/* Remembers what the step that is open now changed, or that it was refused. */
static void learn(search_state *w, const action *a, const step *s, bool done)
{
	effect o = {.done = done, .uneven = w->uneven, .stable = propagation_is_stable(w->prop)};
	const value_is *from;
	uint32_t n = propagation_reads(w->prop, s->mark, w->asked.p, w->asked.n, &from);
	vec_reserve(&w->reads, w->reads.n + n);
	if (n)
		memcpy(w->reads.p + w->reads.n, from, n * sizeof *from);
	w->reads.n += n;
	w->args.n = w->dims.n = 0;
	for (uint32_t i = s->changes; i < w->changes.n && done; i++) {
		uint32_t arg = w->changes.p[i].arg;
		vec_push(&w->args, (effect_arg){arg, w->kept[arg]});
	}
	for (uint32_t i = s->dims; i < w->dim_log.n && done; i++)
		vec_push(&w->dims, w->dim_log.p[i].at);
	if (done) {
		o.n_args = w->args.n;
		o.args = w->args.p;
		o.n_applied = w->applied.n - s->applied;
		o.applied = w->applied.p + s->applied;
		o.n_dims = w->dims.n;
		o.dims = w->dims.p;
		o.hash = w->hash ^ s->hash;
	}
	decision_memo_add(w->memo, a, w->reads.p, w->reads.n, w->values.p, done ? w->values.n : 0, &o);
}

/* Propagates the targets of the step. False when it comes to what must not be. */
static bool settle(search_state *w, const step *s)
{
	propagation_settle(w->prop);
	note_priorities(w, s->mark, w->depth - 1);
	const sharding_id *state = propagation_shardings(w->prop);
	const trail_change *trail = propagation_trail(w->prop);
	bool allowed = true;
	w->uneven = w->fold && !fold_is_sure(w->fold, w->prop, s->mark);
	w->values.n = 0;
	w->stamp++;
	for (uint32_t i = s->mark, end = propagation_mark(w->prop); i < end; i++) {
		pval_id v = trail[i].v;
		if (w->stamps[v] == w->stamp)
			continue;
		w->stamps[v] = w->stamp;
		vec_push(&w->values, (value_is){v, state[v]});
		w->hash ^= value_hash(w, v, trail[i].old) ^ value_hash(w, v, state[v]);
		uint32_t arg = w->noted[v];
		if (w->fold)
			w->uneven |= !fold_is_even(w->fold, w->t, state, v);
		allowed &=
			arg >= w->n_args || !problem_forbids_sharding(w->pb, w->t, w->origin[arg], state[v]);
	}
	/* Propagation carried a forbidden axis somewhere: the decision that did it is not on the
	 * worklist. */
	return allowed && !w->uneven;
}

static bool decide_anew(search_state *w, const action *a)
{
	bool useful = false, learns = propagation_is_stable(w->prop) && !w->no_memo;
	if (learns)
		list_asked(w, a);
	step *s = open_step(w);
	for (uint32_t i = 0; i < a->n_targets; i++)
		useful |= apply_target(w, a, a->targets[i]);
	bool done = useful && settle(w, s);
	if (learns)
		learn(w, a, s, done);
	if (!done)
		state_undo(w, w->depth - 1);
	return done;
}

bool state_decide(search_state *w, const action *a)
{
	w->uneven = false;
	if (w->depth == MAX_PLAN)
		return false;
	const effect *known = propagation_is_stable(w->prop) && !w->no_memo
		? decision_memo_find(w->memo, a, propagation_shardings(w->prop), w->kept)
		: NULL;
	return known ? retrace(w, known) : decide_anew(w, a);
}

void state_undo(search_state *w, uint32_t depth)
{
	if (depth >= w->depth)
		return;
	const step *s = &w->steps[depth];
	propagation_undo(w->prop, s->mark);
	w->hash = s->hash;
	while (w->changes.n > s->changes) {
		arg_change c = vec_pop(&w->changes);
		w->kept[c.arg] = c.kept;
		w->decided[c.arg] = c.decided;
	}
	while (w->dim_log.n > s->dims) {
		dim_change c = vec_pop(&w->dim_log);
		w->steps_of[c.at] = c.was;
	}
	w->applied.n = s->applied;
	w->depth = depth;
}
