/* One path of decisions on one program: decide -> settle, and back. The program is the problem's,
 * or the folded one, of which every argument and value stands for those of several layers. */
#include "search/evaluate/walker.h"

#include <stdlib.h>

enum { PRIORITY_UNSET = 255, SET_SLOTS = 1 << 10 };

typedef struct step {
	uint32_t mark;                   /* trail length before */
	uint32_t applied, changes, dims; /* lengths of the logs before */
	uint64_t hash;
} step;
typedef struct arg_change { /* undo log of one argument */
	uint32_t arg;
	uint32_t kept;
	bool decided;
} arg_change;
typedef struct set_slot { /* a sharding with one more axis, every dim closed */
	sharding_id from, to;
	type_id type;
	uint32_t dim, axis;
	bool used;
} set_slot;

/* At which step the dim of a value first got axes, and at which it last got any; PRIORITY_UNSET: it
 * has none. */
typedef struct dim_steps {
	uint8_t first, last;
} dim_steps;
typedef struct dim_change {
	uint32_t at; /* in steps_of */
	dim_steps was;
} dim_change;

struct walker {
	const problem *pb;
	const folding *fold; /* NULL: the whole program */
	const program *p;
	sharding_table *t;
	propagation *prop;
	uint32_t n_args, depth;
	step steps[MAX_PLAN];
	effect_memo *effects;
	bool no_memo;
	uint32_t *stamps, stamp; /* by pval: the decision that last changed it */
	VEC(value_is) values;    /* what the last decision changed, and to what */
	VEC(effect_arg) args;    /* .. and all else that is remembered of it */
	VEC(uint32_t) dims;
	VEC(pval_id) asked;
	VEC(value_is) reads;
	uint64_t hash;
	VEC(uint64_t) sharding_hashes; /* by sharding id, 0: not computed */
	bool *decided, *pinned;
	uint32_t *kept;   /* by argument: axes it was told to stay free of */
	uint32_t *origin; /* by argument: one of the problem's that it stands for */
	uint32_t *noted; /* by pval: row in steps_of of arguments and of values that may be constrained;
	                    ID_NONE */
	uint32_t n_noted;
	dim_steps *steps_of; /* [noted][MAX_RANK] */
	VEC(action_target) applied;
	VEC(arg_change) changes;
	VEC(dim_change) dim_log;
	set_slot *sets;
	bool uneven; /* the last decision failed because the layers that must be alike are not, or came
	                to be so in different ways */
};

/* Which axes cut which dim; priorities and ids do not count, and open or closed only where a part
 * of an axis cuts: of what is open, arguments and results of main lose such parts
 * (program_trim_io). */
static uint64_t find_hash(walker *w, sharding_id id)
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

static inline uint64_t content_hash(walker *w, sharding_id id)
{
	if (id == SHARDING_NONE)
		return 0;
	uint64_t known = id < w->sharding_hashes.n ? w->sharding_hashes.p[id] : 0;
	return known ? known : find_hash(w, id);
}

/* A value's part in the hash of the state. */
static inline uint64_t value_hash(walker *w, pval_id v, sharding_id id)
{
	uint64_t content = content_hash(w, id);
	return content ? hash_combine(v + 1, content) : 0;
}

/* ---------------------------------------------------------------- life */

static void note_site(walker *w, pval_id v)
{
	v = w->fold ? w->fold->val_of[v] : v;
	if (v != ID_NONE && w->noted[v] == ID_NONE)
		w->noted[v] = w->n_noted++;
}

/* Arguments come first, under their own index. */
static void number_noted(walker *w)
{
	const problem *pb = w->pb;
	w->noted = xmalloc((w->p->vals.n + 1) * sizeof *w->noted);
	w->n_noted = w->n_args;
	for (pval_id v = 0; v < w->p->vals.n; v++)
		w->noted[v] =
			w->p->vals.p[v].arg_index >= 0 ? (uint32_t)w->p->vals.p[v].arg_index : ID_NONE;
	for (uint32_t k = 0; k < pb->n_site_classes; k++)
		for (uint32_t i = 0; i < pb->site_classes[k].n; i++)
			note_site(w, pb->site_classes[k].targets[i].arg);
	for (uint32_t i = 0; i < pb->n_given_sites; i++)
		note_site(w, pb->given_sites[i]);
}

walker *walker_new(const problem *pb, const folding *fold, sharding_table *t, size_t memo_bytes)
{
	walker *w = xcalloc(1, sizeof *w);
	w->pb = pb;
	w->fold = fold;
	w->p = fold ? fold->p : pb->p;
	w->t = t;
	w->n_args = w->p->args.n;
	propagate_options po = {
		.strategy = STRATEGY_AGGRESSIVE, .op_priority = true, .user_priority = true};
	w->prop = propagation_new(w->p, t, &po);
	propagation_limit(w->prop, STEP_PARTS * memo_bytes, SETTLE_PARTS * memo_bytes);
	w->effects = effects_new(w->p->vals.n, w->n_args, EFFECT_PARTS * memo_bytes);
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
	walker_restart(w, false);
	return w;
}

void walker_restart(walker *w, bool no_memo)
{
	assert(!w->depth);
	w->no_memo = no_memo;
	effects_clear(w->effects);
	propagation_set_no_memo(w->prop, no_memo);
	propagation_reset(w->prop);
	propagation_run(w->prop);
	w->hash = walker_hash_of(w, propagation_shardings(w->prop), w->p->vals.n);
}

void walker_free(walker *w)
{
	if (!w)
		return;
	propagation_free(w->prop);
	effects_free(w->effects);
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

uint64_t walker_hash_of(walker *w, const sharding_id *state, uint32_t n)
{
	uint64_t h = 0;
	for (pval_id v = 0; v < n; v++)
		h ^= value_hash(w, v, state[v]);
	return h;
}

uint32_t walker_depth(const walker *w) { return w->depth; }
uint64_t walker_hash(const walker *w) { return w->hash; }
const sharding_id *walker_state(walker *w) { return propagation_shardings(w->prop); }
bool walker_decided(const walker *w, uint32_t arg) { return w->decided[arg]; }
bool walker_pinned(const walker *w, uint32_t arg) { return w->pinned[arg]; }
uint32_t walker_kept(const walker *w, uint32_t arg) { return w->kept[arg]; }
bool walker_was_uneven(const walker *w) { return w->uneven; }

uint8_t walker_priority(const walker *w, pval_id v, uint32_t dim, priority_of when)
{
	const dim_steps *s = &w->steps_of[(size_t)w->noted[v] * MAX_RANK + dim];
	uint8_t p = when == FIRST_AXES ? s->first : s->last;
	return p == PRIORITY_UNSET ? 0 : p;
}

bool walker_priorities_differ(const walker *w)
{
	for (size_t i = 0; i < (size_t)w->n_noted * MAX_RANK; i++)
		if (w->steps_of[i].first != w->steps_of[i].last)
			return true;
	return false;
}

uint32_t walker_applied(const walker *w, uint32_t at, const action_target **out)
{
	uint32_t first = w->steps[at].applied,
			 end = at + 1 < w->depth ? w->steps[at + 1].applied : w->applied.n;
	*out = w->applied.p + first;
	return end - first;
}

/* ---------------------------------------------------------------- what can be decided */

static bool uses_axis(axes l, uint32_t axis)
{
	for (uint32_t i = 0; i < l.n; i++)
		if (axis_index(l.a[i]) == axis)
			return true;
	return false;
}

static bool holds_axis(const walker *w, sharding_id id, uint32_t axis)
{
	if (id == SHARDING_NONE)
		return false;
	const sharding *s = sharding_get(w->t, id);
	for (uint32_t d = 0; d < s->rank; d++)
		if (uses_axis(sharding_dim(s, d), axis))
			return true;
	return uses_axis(sharding_replicated(s), axis) || uses_axis(sharding_unreduced(s), axis);
}

/* The open dim that the whole axis cuts, as propagation alone leaves it; ID_NONE when there is
 * none. */
static uint32_t propagated_dim(const walker *w, const sharding *s, uint32_t axis)
{
	for (uint32_t d = 0; d < s->rank; d++) {
		axes l = sharding_dim(s, d);
		for (uint32_t i = 0; i < l.n && !s->dims[d].closed; i++)
			if (l.a[i] == mesh_full_axis(w->t, w->pb->mesh, axis))
				return d;
	}
	return ID_NONE;
}

/* An inner value takes the axis on the target's dim when no dim of it has the axis yet, and it
 * divides; it is kept off an axis that it does not have. Where the user constrains, propagation
 * gives way: the axis is held where it is, or leaves the dim that it came to. */
static bool can_constrain(const walker *w, const action *a, const action_target *target)
{
	sharding_id id = propagation_shardings(w->prop)[target->arg];
	const sharding *s = id == SHARDING_NONE ? NULL : sharding_get(w->t, id);
	const ir_type *ty = pval_type(w->p, target->arg);
	bool taken = holds_axis(w, id, a->axis);
	if (w->noted[target->arg] == ID_NONE || (target->dim != DIM_KEEP && target->dim >= ty->rank))
		return false;
	if (taken && action_holds(a)) {
		if (target->dim != DIM_KEEP && uses_axis(sharding_dim(s, target->dim), a->axis))
			return true;
		taken = propagated_dim(w, s, a->axis) == ID_NONE;
	}
	int64_t size = axis_size(mesh_full_axis(w->t, w->pb->mesh, a->axis)),
			parts = s && target->dim != DIM_KEEP ? sharding_dim_parts(s, target->dim) : 1;
	return !taken && (target->dim == DIM_KEEP || ty->dims[target->dim] % (parts * size) == 0);
}

/* The dim that can take the axis: the wanted one, or the largest shard for DIM_LARGEST; ID_NONE
 * when none can. */
static uint32_t dim_for(const walker *w, const action_target *target, uint32_t axis)
{
	pval_id v = w->p->args.p[target->arg];
	const ir_type *ty = pval_type(w->p, v);
	sharding_id id = propagation_shardings(w->prop)[v];
	const sharding *s = id == SHARDING_NONE ? NULL : sharding_get(w->t, id);
	if (w->pinned[target->arg] || w->kept[target->arg] >> axis & 1)
		return ID_NONE;
	if (holds_axis(w, id, axis))
		return ID_NONE;
	int64_t size = axis_size(mesh_full_axis(w->t, w->pb->mesh, axis)), best = 0;
	uint32_t chosen = ID_NONE;
	const int64_t *dims = problem_dims(w->pb, w->origin[target->arg]);
	for (uint32_t d = 0; d < ty->rank; d++) {
		if (target->dim != DIM_LARGEST && d != target->dim)
			continue;
		int64_t parts = s ? sharding_dim_parts(s, d) : 1;
		if (dims[d] <= 0 || dims[d] % (parts * size) != 0 ||
			problem_forbids(w->pb, w->origin[target->arg], d, axis))
			continue;
		if (dims[d] / parts > best) {
			best = dims[d] / parts;
			chosen = d;
		}
	}
	return chosen;
}

bool problem_forbids_sharding(
	const problem *pb, const sharding_table *t, uint32_t arg, sharding_id id)
{
	if (!pb->forbidden || id == SHARDING_NONE)
		return false;
	const sharding *s = sharding_get(t, id);
	for (uint32_t d = 0; d < s->rank; d++) {
		axes l = sharding_dim(s, d);
		for (uint32_t i = 0; i < l.n; i++)
			if (problem_forbids(pb, arg, d, axis_index(l.a[i])))
				return true;
	}
	return false;
}

bool walker_can(const walker *w, const action *a)
{
	if (w->depth == MAX_PLAN)
		return false;
	for (uint32_t i = 0; i < a->n_targets; i++) {
		uint32_t arg = a->targets[i].arg;
		if (a->kind == ACTION_CONSTRAIN) {
			if (can_constrain(w, a, &a->targets[i]))
				return true;
		} else if (a->targets[i].dim == DIM_KEEP) {
			if (a->kind == ACTION_REPLICATE && !w->pinned[arg] && !(w->kept[arg] >> a->axis & 1))
				return true;
		} else if (dim_for(w, &a->targets[i], a->axis) != ID_NONE) {
			return true;
		}
	}
	return false;
}

/* ---------------------------------------------------------------- deciding */

static void log_arg(walker *w, uint32_t arg)
{
	vec_push(&w->changes, (arg_change){arg, w->kept[arg], w->decided[arg]});
}

/* Closed, with the axis added to a dim unless d is ID_NONE. */
static sharding_id make_set(walker *w, sharding_id id, type_id type, uint32_t d, uint32_t axis)
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

static void set_argument(walker *w, uint32_t arg, uint32_t d, uint32_t axis)
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
	walker *w, sharding_id id, type_id type, uint32_t dim, uint32_t axis)
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

static void set_dim(walker *w, uint32_t at, uint32_t since)
{
	dim_steps *s = &w->steps_of[at];
	vec_push(&w->dim_log, (dim_change){at, *s});
	if (s->first == PRIORITY_UNSET)
		s->first = (uint8_t)since;
	s->last = (uint8_t)since;
}

static bool changed_dim(const walker *w, sharding_id old, const sharding *now, uint32_t d)
{
	const sharding *was = old == SHARDING_NONE ? NULL : sharding_get(w->t, old);
	axes b = sharding_dim(now, d);
	axes a = was ? sharding_dim(was, d) : (axes){0};
	return a.n != b.n || (a.n && memcmp(a.a, b.a, a.n * sizeof *a.a));
}

/* Remembers at which steps each dim of an argument, or of a value that may be constrained, got
 * axes: one of them is its user priority in the answer. */
static void note_priorities(walker *w, uint32_t from_mark, uint32_t since)
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

static bool apply_target(walker *w, const action *a, action_target target)
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

static step *open_step(walker *w)
{
	w->steps[w->depth] = (step){.mark = propagation_mark(w->prop),
		.applied = w->applied.n,
		.changes = w->changes.n,
		.dims = w->dim_log.n,
		.hash = w->hash};
	return &w->steps[w->depth++];
}

/* The decision is known: what it changed is written. */
static bool retrace(walker *w, const effect *o)
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
static void list_asked(walker *w, const action *a)
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
static void learn(walker *w, const action *a, const step *s, bool done)
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
	effects_add(w->effects, a, w->reads.p, w->reads.n, w->values.p, done ? w->values.n : 0, &o);
}

/* Propagates the targets of the step. False when it comes to what must not be. */
static bool settle(walker *w, const step *s)
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

static bool decide_anew(walker *w, const action *a)
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
		walker_undo(w, w->depth - 1);
	return done;
}

bool walker_decide(walker *w, const action *a)
{
	w->uneven = false;
	if (w->depth == MAX_PLAN)
		return false;
	const effect *known = propagation_is_stable(w->prop) && !w->no_memo
		? effects_find(w->effects, a, propagation_shardings(w->prop), w->kept)
		: NULL;
	return known ? retrace(w, known) : decide_anew(w, a);
}

void walker_undo(walker *w, uint32_t depth)
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

bool walker_same_state(walker *w, walker *whole)
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
