/* What is told of a path: its targets, the shardings it came to, the strategy. */
#include "search/evaluate/evaluator.h"

uint32_t evaluator_targets(evaluator *ev, uint32_t at, const action_target **out)
{
	const action_target *applied;
	uint32_t n = state_applied(present(ev), at, &applied);
	*out = applied;
	if (!is_folded(ev))
		return n;
	bool inner = ev->path[at].kind == ACTION_CONSTRAIN;
	mark_targets(ev, inner, applied, n);
	ev->expanded.n = 0;
	for (uint32_t i = 0; i < ev->path[at].n_targets; i++) {
		uint32_t target = ev->path[at].targets[i].arg, k = target_index(ev, inner, target);
		if (k != ID_NONE)
			vec_push(&ev->expanded, (action_target){target, applied[k].dim});
	}
	*out = ev->expanded.p;
	return ev->expanded.n;
}

/* What the answer says of an argument or a constrained value: closed, with the priorities of the
 * decisions that gave it its axes; in any table that has the evaluator's meshes under the same ids.
 * v: of the program that the path is on. */
sharding_id export_sharding(evaluator *ev, pval_id v, sharding_table *into)
{
	sharding_id id = state_shardings(present(ev))[v];
	if (id == SHARDING_NONE)
		return SHARDING_NONE;
	sharding_edit e;
	sharding_to_edit(ev->t, id, &e);
	for (uint32_t d = 0; d < e.rank; d++) {
		uint8_t p = state_priority(present(ev), v, d, ev->priority);
		e.dims[d].closed = true;
		e.dims[d].priority = e.dims[d].axes.n && p ? (int16_t)p : -1;
	}
	return sharding_intern(into, &e);
}

sharding_id export_held(evaluator *ev, pval_id v, sharding_table *into)
{
	sharding_edit e;
	sharding_id id = state_shardings(present(ev))[v];
	if (id == SHARDING_NONE)
		return sharding_pin(into, ev->pb->mesh, id,
			pval_type(ev->fold && is_folded(ev) ? ev->fold->p : ev->pb->p, v)->rank, -1);
	sharding_to_edit(ev->t, id, &e);
	return sharding_pin(into, ev->pb->mesh, sharding_intern(into, &e), e.rank, -1);
}

static uint32_t present_arg(const evaluator *ev, uint32_t arg)
{
	return is_folded(ev) ? ev->fold->arg_of[arg] : arg;
}

/* own: of the program that the path is on. */
sharding_id export_argument(evaluator *ev, uint32_t own, sharding_table *into)
{
	const program *p = is_folded(ev) ? ev->fold->p : ev->pb->p;
	return export_sharding(ev, p->args.p[own], into);
}

sharding_id evaluator_arg(evaluator *ev, uint32_t arg)
{
	return export_argument(ev, present_arg(ev, arg), ev->pb->m->shardings);
}

sharding_id evaluator_value(evaluator *ev, pval_id v)
{
	pval_id own = present_value(ev, v);
	return own == ID_NONE ? SHARDING_NONE : export_sharding(ev, own, ev->pb->m->shardings);
}

/* The constrained values, each once, in the order of the decisions. */
void list_sites(evaluator *ev)
{
	ev->sites.n = 0;
	for (uint32_t i = 0; i < ev->depth; i++) {
		const action_target *targets;
		uint32_t n = ev->path[i].kind == ACTION_CONSTRAIN ? evaluator_targets(ev, i, &targets) : 0;
		for (uint32_t k = 0; k < n; k++) {
			bool known = false;
			for (uint32_t s = 0; s < ev->sites.n && !known; s++)
				known = ev->sites.p[s] == targets[k].arg;
			if (!known)
				vec_push(&ev->sites, targets[k].arg);
		}
	}
}

const uint32_t *evaluator_sites(evaluator *ev, uint32_t at, arena *mem, uint32_t *n)
{
	const action_target *targets;
	list_sites(ev);
	uint32_t count = evaluator_targets(ev, at, &targets),
			 *list = arena_array(mem, uint32_t, count + 1);
	*n = 0;
	for (uint32_t k = 0; k < count; k++)
		for (uint32_t s = 0; s < ev->sites.n; s++)
			if (ev->sites.p[s] == targets[k].arg)
				list[(*n)++] = s;
	return list;
}

void list_held(evaluator *ev)
{
	uint32_t sites = ev->sites.n;
	for (pval_id v = 0; v < ev->pb->p->vals.n && ev->held.n; v++) {
		bool held = false, known = false;
		for (uint32_t i = 0; i < ev->held.n && !held; i++)
			held = ev->held.p[i] == present_value(ev, v);
		for (uint32_t i = 0; i < sites && held && !known; i++)
			known = ev->sites.p[i] == v;
		if (held && !known && problem_is_site(ev->pb, v))
			vec_push(&ev->sites, v);
	}
}

static void export_constraints(evaluator *ev, strategy *out)
{
	const problem *pb = ev->pb;
	list_sites(ev);
	uint32_t decided = ev->sites.n;
	list_held(ev);
	out->constraints = arena_zarray(&out->mem, strategy_constraint, ev->sites.n + 1);
	for (uint32_t i = 0; i < ev->sites.n; i++) {
		pval_id v = ev->sites.p[i];
		sharding_table *t = pb->m->shardings;
		value_id value = pb->p->vals.p[v].value;
		op_id o = value_def(pb->m, value);
		strbuf where = {0};
		loc_print(pb->m, op_at(pb->m, o)->loc, &where);
		out->constraints[out->n_constraints++] = (strategy_constraint){.function = STR("main"),
			.location = {arena_strdup(&out->mem, where.p ? where.p : "", where.n), where.n},
			.op = pb->site_op[o],
			.result = value - op_at(pb->m, o)->results,
			.sharding = i < decided ? export_sharding(ev, present_value(ev, v), t)
									: export_held(ev, present_value(ev, v), t)};
		strbuf_release(&where);
	}
}

void evaluator_strategy(evaluator *ev, const plan *pl, strategy *out)
{
	const problem *pb = ev->pb;
	assert(pl->n == ev->depth);
	strategy_init(out, pb->mesh, pb->n_args, pb->n_results);
	cost c = {0};
	if (pb->o->apply == APPLY_EXACT)
		evaluator_cost(ev, &c);
	out->apply = c.reshards_after_forward ? APPLY_EXACT_RESHARDED : pb->o->apply;
	for (uint32_t a = 0; a < pb->n_args; a++) {
		if (pb->pinned[a]) {
			out->args[a] = pb->m->values.p[pb->p->vals.p[pb->p->args.p[a]].value].sharding;
		} else if (state_decided(present(ev), present_arg(ev, a))) {
			out->args[a] = evaluator_arg(ev, a);
		}
		if (out->args[a] != SHARDING_NONE && pb->result_of_arg[a] >= 0)
			out->results[pb->result_of_arg[a]] = out->args[a];
	}
	export_constraints(ev, out);
}
