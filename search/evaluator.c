/* One evaluator walks one path of decisions: decide -> settle -> lower -> simulate, and back. It owns its sharding table
 * and every memo table, so evaluators on different threads share only the immutable problem. */
#include "search/internal.h"

#include <stdlib.h>

enum { PRIORITY_UNSET = 255 };

typedef struct step {
	uint32_t mark;            /* trail length before */
	uint32_t applied, dims;   /* lengths of the logs before */
	uint64_t hash;
} step;
typedef struct arg_change { /* undo log of one argument */
	uint32_t arg;
	uint32_t kept;
	bool decided;
} arg_change;

struct evaluator {
	const problem *pb;
	sharding_table *t;
	propagation *prop;
	lower_cache *lower;
	lowered *low;
	simulator *sim;
	mesh_links links;
	uint32_t depth;
	step steps[MAX_PLAN];
	action decided_by[MAX_PLAN]; /* the path, so that a plan that shares its beginning starts from there */
	uint64_t hash;
	uint64_t *val_hash; /* by pval */
	VEC(uint64_t) sharding_hashes; /* by sharding id, 0: not computed */
	bool *decided;
	uint32_t *kept; /* by argument: axes it was told to stay free of */
	uint8_t *priority; /* [arg][MAX_RANK]: step at which the dim first got axes */
	VEC(action_target) applied;
	VEC(arg_change) changes;
	VEC(uint32_t) change_first; /* changes before step i */
	VEC(uint32_t) dim_log;      /* indices into priority that were set */
	sharding_id *costed;        /* by pval: what is lowered, with results as the next step needs them */
	propagation *fresh;         /* for replays */
};

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

/* Which axes cut which dim; open or closed, priorities and ids do not count. */
static uint64_t content_hash(evaluator *ev, sharding_id id)
{
	if (id == SHARDING_NONE)
		return 0;
	while (ev->sharding_hashes.n <= id)
		vec_push(&ev->sharding_hashes, 0);
	if (ev->sharding_hashes.p[id])
		return ev->sharding_hashes.p[id];
	const sharding *s = sharding_get(ev->t, id);
	uint64_t h = 0;
	for (uint32_t d = 0; d < s->rank; d++) {
		axes a = sharding_dim(s, d);
		for (uint32_t i = 0; i < a.n; i++)
			h = hash_combine(h + d + 1, a.a[i]);
	}
	axes u = sharding_unreduced(s);
	for (uint32_t i = 0; i < u.n; i++)
		h = hash_combine(h + 1000, u.a[i]);
	ev->sharding_hashes.p[id] = h;
	return h;
}

static void rehash(evaluator *ev, pval_id v)
{
	uint64_t content = content_hash(ev, propagation_shardings(ev->prop)[v]);
	uint64_t h = content ? hash_combine(v + 1, content) : 0;
	ev->hash ^= ev->val_hash[v] ^ h;
	ev->val_hash[v] = h;
}

evaluator *evaluator_new(const problem *pb)
{
	evaluator *ev = xcalloc(1, sizeof *ev);
	ev->pb = pb;
	ev->t = table_copy(pb->m->shardings);
	propagate_options po = {.strategy = STRATEGY_AGGRESSIVE, .op_priority = true, .user_priority = true};
	ev->prop = propagation_new(pb->p, ev->t, &po);
	ev->fresh = propagation_new(pb->p, ev->t, &po);
	ev->lower = lower_cache_new(pb->p, ev->t);
	ev->low = lowered_new(pb->p, ev->t);
	diag d = {0};
	if (mesh_links_assign(pb->o->device, ev->t, pb->mesh, pb->o->axis_links, &ev->links, &d) != ST_OK)
		assert(!"problem_init checked the links");
	ev->sim = simulator_new(pb->p, ev->t, pb->o->device, &ev->links, &pb->dn);
	ev->val_hash = xcalloc(pb->p->vals.n, sizeof *ev->val_hash);
	ev->decided = xcalloc(pb->n_args, sizeof *ev->decided);
	ev->kept = xcalloc(pb->n_args, sizeof *ev->kept);
	ev->priority = xmalloc((size_t)pb->n_args * MAX_RANK + 1);
	memset(ev->priority, PRIORITY_UNSET, (size_t)pb->n_args * MAX_RANK);
	ev->costed = xcalloc(pb->p->vals.n + 1, sizeof *ev->costed);
	propagation_reset(ev->prop);
	propagation_run(ev->prop);
	for (pval_id v = 0; v < pb->p->vals.n; v++)
		rehash(ev, v);
	for (uint32_t a = 0; a < pb->n_args; a++)
		ev->decided[a] = pb->pinned[a];
	return ev;
}

void evaluator_free(evaluator *ev)
{
	if (!ev)
		return;
	simulator_free(ev->sim);
	lowered_free(ev->low);
	lower_cache_free(ev->lower);
	propagation_free(ev->prop);
	propagation_free(ev->fresh);
	sharding_table_unref(ev->t);
	free(ev->val_hash);
	free(ev->decided);
	free(ev->kept);
	free(ev->priority);
	free(ev->costed);
	vec_release(&ev->sharding_hashes);
	vec_release(&ev->applied);
	vec_release(&ev->changes);
	vec_release(&ev->change_first);
	vec_release(&ev->dim_log);
	free(ev);
}

uint32_t evaluator_depth(const evaluator *ev) { return ev->depth; }
uint64_t evaluator_hash(const evaluator *ev) { return ev->hash; }

static bool uses_axis(axes l, uint32_t axis)
{
	for (uint32_t i = 0; i < l.n; i++)
		if (axis_index(l.a[i]) == axis)
			return true;
	return false;
}

/* The dim that can take the axis: the wanted one, or the largest shard for DIM_LARGEST; ID_NONE when none can. */
static uint32_t dim_for(const evaluator *ev, const action_target *target, uint32_t axis)
{
	const problem *pb = ev->pb;
	pval_id v = pb->p->args.p[target->arg];
	const type *ty = pval_type(pb->p, v);
	sharding_id id = propagation_shardings(ev->prop)[v];
	const sharding *s = id == SHARDING_NONE ? NULL : sharding_get(ev->t, id);
	if (pb->pinned[target->arg] || ev->kept[target->arg] >> axis & 1)
		return ID_NONE;
	if (s) {
		for (uint32_t d = 0; d < s->rank; d++)
			if (uses_axis(sharding_dim(s, d), axis))
				return ID_NONE;
		if (uses_axis(sharding_replicated(s), axis) || uses_axis(sharding_unreduced(s), axis))
			return ID_NONE;
	}
	int64_t size = axis_size(mesh_full_axis(ev->t, pb->mesh, axis)), best = 0;
	uint32_t chosen = ID_NONE;
	for (uint32_t d = 0; d < ty->rank; d++) {
		if (target->dim != DIM_LARGEST && d != target->dim)
			continue;
		int64_t parts = s ? sharding_dim_parts(s, d) : 1;
		if (ty->dims[d] <= 0 || ty->dims[d] % (parts * size) != 0 || problem_forbids(pb, target->arg, d, axis))
			continue;
		if (ty->dims[d] / parts > best) {
			best = ty->dims[d] / parts;
			chosen = d;
		}
	}
	return chosen;
}

bool problem_forbids_sharding(const problem *pb, const sharding_table *t, uint32_t arg, sharding_id id)
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

bool evaluator_can(const evaluator *ev, const action *a)
{
	if (ev->depth == MAX_PLAN)
		return false;
	for (uint32_t i = 0; i < a->n_targets; i++) {
		if (a->targets[i].dim == DIM_KEEP) {
			if (a->kind == ACTION_REPLICATE && !ev->pb->pinned[a->targets[i].arg] && !(ev->kept[a->targets[i].arg] >> a->axis & 1))
				return true;
		} else if (dim_for(ev, &a->targets[i], a->axis) != ID_NONE) {
			return true;
		}
	}
	return false;
}

static void log_arg(evaluator *ev, uint32_t arg) { vec_push(&ev->changes, (arg_change){arg, ev->kept[arg], ev->decided[arg]}); }

/* Closes the argument, adding the axis to a dim unless d is ID_NONE. */
static void set_argument(evaluator *ev, uint32_t arg, uint32_t d, uint32_t axis)
{
	pval_id v = ev->pb->p->args.p[arg];
	sharding_id id = propagation_shardings(ev->prop)[v];
	sharding_edit e;
	if (id == SHARDING_NONE)
		sharding_edit_init(&e, ev->pb->mesh, pval_type(ev->pb->p, v)->rank, true);
	else
		sharding_to_edit(ev->t, id, &e);
	for (uint32_t i = 0; i < e.rank; i++) {
		e.dims[i].closed = true;
		e.dims[i].priority = -1;
	}
	if (d != ID_NONE)
		axes_push_merge(&e.dims[d].axes, mesh_full_axis(ev->t, ev->pb->mesh, axis));
	propagation_set(ev->prop, v, sharding_intern(ev->t, &e));
}

/* Remembers at which step each argument dim first got axes: that is its user priority in the answer. */
static void note_priorities(evaluator *ev, uint32_t from_mark)
{
	uint32_t end = propagation_mark(ev->prop);
	for (uint32_t i = from_mark; i < end; i++) {
		pval_id v = propagation_trail_at(ev->prop, i);
		int32_t arg = ev->pb->p->vals.p[v].arg_index;
		sharding_id id = propagation_shardings(ev->prop)[v];
		if (arg < 0 || id == SHARDING_NONE)
			continue;
		const sharding *s = sharding_get(ev->t, id);
		for (uint32_t d = 0; d < s->rank; d++) {
			uint32_t at = (uint32_t)arg * MAX_RANK + d;
			if (s->dims[d].n && ev->priority[at] == PRIORITY_UNSET) {
				ev->priority[at] = (uint8_t)ev->depth;
				vec_push(&ev->dim_log, at);
			}
		}
	}
}

bool evaluator_decide(evaluator *ev, const action *a)
{
	if (ev->depth == MAX_PLAN)
		return false;
	step *s = &ev->steps[ev->depth];
	*s = (step){.mark = propagation_mark(ev->prop), .applied = ev->applied.n, .dims = ev->dim_log.n, .hash = ev->hash};
	uint32_t changes = ev->changes.n;
	bool useful = false;
	for (uint32_t i = 0; i < a->n_targets; i++) {
		action_target target = a->targets[i];
		uint32_t arg = target.arg;
		if (target.dim == DIM_KEEP) {
			if (ev->pb->pinned[arg] || ev->kept[arg] >> a->axis & 1)
				continue;
			log_arg(ev, arg);
			ev->hash ^= ev->kept[arg] ? hash_combine(~(uint64_t)arg, ev->kept[arg]) : 0;
			ev->kept[arg] |= 1u << a->axis;
			ev->hash ^= hash_combine(~(uint64_t)arg, ev->kept[arg]);
			set_argument(ev, arg, ID_NONE, a->axis);
			useful |= a->kind == ACTION_REPLICATE;
		} else {
			target.dim = dim_for(ev, &target, a->axis);
			if (target.dim == ID_NONE)
				continue;
			log_arg(ev, arg);
			set_argument(ev, arg, target.dim, a->axis);
			useful = true;
		}
		ev->decided[arg] = true;
		vec_push(&ev->applied, target);
	}
	vec_push(&ev->change_first, changes);
	ev->depth++;
	if (!useful) {
		evaluator_undo(ev, ev->depth - 1);
		return false;
	}
	propagation_settle(ev->prop);
	ev->depth--;
	note_priorities(ev, s->mark);
	ev->decided_by[ev->depth++] = *a;
	uint32_t end = propagation_mark(ev->prop);
	bool allowed = true;
	for (uint32_t i = s->mark; i < end; i++) {
		pval_id v = propagation_trail_at(ev->prop, i);
		rehash(ev, v);
		allowed &= ev->pb->p->vals.p[v].arg_index < 0 || !problem_forbids_sharding(ev->pb, ev->t, (uint32_t)ev->pb->p->vals.p[v].arg_index, propagation_shardings(ev->prop)[v]);
	}
	/* Propagation carried a forbidden axis somewhere: the decision that did it is not on the worklist. */
	if (!allowed)
		evaluator_undo(ev, ev->depth - 1);
	return allowed;
}

void evaluator_undo(evaluator *ev, uint32_t depth)
{
	if (depth >= ev->depth)
		return;
	const step *s = &ev->steps[depth];
	/* Values on the trail go back; their hashes are recomputed from what they go back to. */
	uint32_t end = propagation_mark(ev->prop), n = end - s->mark;
	pval_id *changed = xmalloc(n * sizeof *changed);
	for (uint32_t i = 0; i < n; i++)
		changed[i] = propagation_trail_at(ev->prop, s->mark + i);
	propagation_undo(ev->prop, s->mark);
	for (uint32_t i = 0; i < n; i++)
		rehash(ev, changed[i]);
	free(changed);
	ev->hash = s->hash;
	uint32_t first = ev->change_first.p[depth];
	while (ev->changes.n > first) {
		arg_change c = vec_pop(&ev->changes);
		ev->kept[c.arg] = c.kept;
		ev->decided[c.arg] = c.decided;
	}
	while (ev->dim_log.n > s->dims)
		ev->priority[vec_pop(&ev->dim_log)] = PRIORITY_UNSET;
	ev->applied.n = s->applied;
	ev->change_first.n = depth;
	ev->depth = depth;
}

void evaluator_cost(evaluator *ev, cost *out)
{
	const problem *pb = ev->pb;
	memcpy(ev->costed, propagation_shardings(ev->prop), pb->p->vals.n * sizeof *ev->costed);
	program_trim_io(pb->p, ev->t, ev->costed);
	/* Steady state: a paired result leaves the step as its argument entered it. */
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (pb->result_of_arg[a] >= 0)
			ev->costed[pb->p->results.p[pb->result_of_arg[a]]] = ev->costed[pb->p->args.p[a]];
	lower_program(ev->lower, ev->costed, LEVEL_COMPILED, pb->o->device->target, ev->low);
	simulate(ev->sim, ev->low, out);
}

static bool same_action(const action *a, const action *b)
{
	return a->axis == b->axis && a->kind == b->kind && a->n_targets == b->n_targets &&
	       (a->targets == b->targets || !memcmp(a->targets, b->targets, a->n_targets * sizeof *a->targets));
}

void evaluator_run(evaluator *ev, plan *pl, cost *out)
{
	uint32_t kept = 0;
	while (kept < pl->n && kept < ev->depth && same_action(&ev->decided_by[kept], &pl->decisions[kept]))
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

uint32_t evaluator_targets(const evaluator *ev, uint32_t at, const action_target **out)
{
	uint32_t first = ev->steps[at].applied, end = at + 1 < ev->depth ? ev->steps[at + 1].applied : ev->applied.n;
	*out = ev->applied.p + first;
	return end - first;
}

/* What the answer says of an argument, in any table that has the evaluator's meshes under the same ids. */
static sharding_id export_sharding(const evaluator *ev, sharding_id id, uint32_t arg, sharding_table *into)
{
	if (id == SHARDING_NONE)
		return SHARDING_NONE;
	sharding_edit e;
	sharding_to_edit(ev->t, id, &e);
	for (uint32_t d = 0; d < e.rank; d++) {
		uint8_t p = ev->priority[arg * MAX_RANK + d];
		e.dims[d].priority = e.dims[d].axes.n && p != PRIORITY_UNSET && p > 0 ? (int16_t)p : -1;
	}
	return sharding_intern(into, &e);
}

sharding_id evaluator_arg(evaluator *ev, uint32_t arg)
{
	return export_sharding(ev, propagation_shardings(ev->prop)[ev->pb->p->args.p[arg]], arg, ev->pb->m->shardings);
}

void evaluator_strategy(evaluator *ev, const plan *pl, strategy *out)
{
	const problem *pb = ev->pb;
	assert(pl->n == ev->depth);
	strategy_init(out, pb->mesh, pb->n_args, pb->n_results);
	for (uint32_t a = 0; a < pb->n_args; a++) {
		if (pb->pinned[a]) {
			out->args[a] = pb->m->values.p[pb->p->vals.p[pb->p->args.p[a]].value].sharding;
		} else if (ev->decided[a]) {
			out->args[a] = evaluator_arg(ev, a);
		}
		if (out->args[a] != SHARDING_NONE && pb->result_of_arg[a] >= 0)
			out->results[pb->result_of_arg[a]] = out->args[a];
	}
}

/* The strategy's shardings, as strategy_apply would write them into the module. */
static int16_t annotate(evaluator *ev)
{
	const problem *pb = ev->pb;
	int16_t last = -1;
	propagation_reset(ev->fresh);
	for (uint32_t a = 0; a < pb->n_args; a++) {
		pval_id v = pb->p->args.p[a];
		sharding_id id = propagation_shardings(ev->fresh)[v];
		if (ev->decided[a] && !pb->pinned[a])
			propagation_set(ev->fresh, v, id = export_sharding(ev, propagation_shardings(ev->prop)[v], a, ev->t));
		if (id == SHARDING_NONE || !ev->decided[a])
			continue;
		for (uint32_t d = 0; d < sharding_get(ev->t, id)->rank; d++)
			last = MAX(last, sharding_get(ev->t, id)->dims[d].priority);
		if (pb->result_of_arg[a] >= 0)
			propagation_set(ev->fresh, pb->p->results.p[pb->result_of_arg[a]], id);
	}
	return last > 0 ? last : -1;
}

void evaluator_replay(evaluator *ev, cost *out)
{
	const problem *pb = ev->pb;
	sharding_id *at = propagation_shardings(ev->fresh), *pins = xcalloc(pb->n_results + 1, sizeof *pins);
	for (int round = 0;; round++) {
		int16_t late = annotate(ev);
		for (uint32_t r = 0; r < pb->n_results; r++)
			if (pins[r] != SHARDING_NONE)
				propagation_set(ev->fresh, pb->p->results.p[r], pins[r]);
		propagation_run(ev->fresh);
		bool settled = true;
		for (uint32_t a = 0; a < pb->n_args; a++) {
			int32_t r = pb->result_of_arg[a];
			if (r < 0)
				continue;
			pval_id av = pb->p->args.p[a], rv = pb->p->results.p[r];
			if (!sharding_same_axes(ev->t, at[av], at[rv])) {
				pins[r] = sharding_pin(ev->t, pb->mesh, at[av], pval_type(pb->p, av)->rank, late);
				settled = false;
			}
		}
		if (settled || round == REPLAY_ROUNDS)
			break;
	}
	free(pins);
	memcpy(ev->costed, at, pb->p->vals.n * sizeof *ev->costed);
	program_trim_io(pb->p, ev->t, ev->costed);
	lower_program(ev->lower, ev->costed, LEVEL_COMPILED, pb->o->device->target, ev->low);
	simulate(ev->sim, ev->low, out);
}

bool evaluator_self_check(evaluator *ev, const plan *pl)
{
	evaluator *fresh = evaluator_new(ev->pb);
	propagation_set_no_memo(fresh->prop, true);
	propagation_reset(fresh->prop);
	propagation_run(fresh->prop);
	bool same = true;
	for (uint32_t i = 0; i < pl->n && same; i++)
		same = evaluator_decide(fresh, &pl->decisions[i]);
	for (pval_id v = 0; v < ev->pb->p->vals.n && same; v++)
		same = content_hash(ev, propagation_shardings(ev->prop)[v]) == content_hash(fresh, propagation_shardings(fresh->prop)[v]);
	evaluator_free(fresh);
	return same;
}

static score score_by(const problem *pb, const cost *c, objective goal)
{
	bool fits = c->peak_bytes <= pb->memory_limit;
	if (goal == OBJECTIVE_MEMORY)
		return (score){fits, c->peak_bytes, c->runtime_ns};
	/* Nothing fits: nearest to fitting first. */
	return fits ? (score){true, c->runtime_ns, c->peak_bytes} : (score){false, c->peak_bytes, c->runtime_ns};
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
