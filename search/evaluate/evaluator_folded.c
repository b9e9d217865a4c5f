/* Actions of the whole program on the folded one: arguments and values stand for those of several
 * layers. */
#include "search/evaluate/evaluator.h"

/* ---------------------------------------------------------------- what is folded */

/* The problem's facts about arguments hold for the argument that stands for them. */
static bool args_agree(const problem *pb, const folding *f)
{
	uint32_t *origin = xmalloc((f->p->args.n + 1) * sizeof *origin);
	for (uint32_t a = pb->n_args; a-- > 0;)
		origin[f->arg_of[a]] = a;
	bool agree = true;
	for (uint32_t a = 0; a < pb->n_args && agree; a++) {
		uint32_t o = origin[f->arg_of[a]];
		int32_t ra = pb->result_of_arg[a], ro = pb->result_of_arg[o], da = pb->dn.result_of_arg[a],
				d = pb->dn.result_of_arg[o];
		agree = pb->pinned[a] == pb->pinned[o] && (ra < 0) == (ro < 0) &&
			(ra < 0 || f->result_of[ra] == f->result_of[ro]) &&
			(da < 0 ? da == d : d >= 0 && f->result_of[da] == f->result_of[d]);
		agree = agree && pb->given[a] == pb->given[o];
		size_t row = (size_t)MAX_RANK * pb->n_axes;
		if (pb->forbidden && agree)
			agree = !memcmp(
				pb->forbidden + a * row, pb->forbidden + o * row, row * sizeof *pb->forbidden);
	}
	free(origin);
	return agree;
}

static bool starts_without_shardings(const problem *pb)
{
	const func *main = module_main(pb->m);
	for (pval_id v = 0; v < pb->p->vals.n; v++)
		if (pb->p->vals.p[v].value != ID_NONE &&
			value_at(pb->m, pb->p->vals.p[v].value)->sharding != SHARDING_NONE)
			return false;
	for (uint32_t i = 0; i < main->n_results; i++)
		if (main->result_shardings[i] != SHARDING_NONE)
			return false;
	return true;
}

/* Shardings that the module comes with must be alike too. */
static bool start_is_even(evaluator *ev)
{
	if (starts_without_shardings(ev->pb))
		return true;
	search_state *w = evaluator_state(ev, FOLDED);
	for (pval_id v = 0; v < ev->fold->p->vals.n; v++)
		if (!fold_is_even(ev->fold, ev->t, state_shardings(w), v))
			return false;
	return state_is_same(w, evaluator_state(ev, WHOLE));
}

static void find_classes(evaluator *ev)
{
	const folding *f = ev->fold;
	uint32_t n = f->p->vals.n;
	ev->class_size = arena_zarray(&ev->mem, uint32_t, n + 1);
	ev->seen = arena_zarray(&ev->mem, uint32_t, n + 1);
	ev->seen_dim = arena_array(&ev->mem, uint32_t, n + 1);
	ev->target_of = arena_array(&ev->mem, uint32_t, n + 1);
	for (pval_id v = 0; v < f->full->vals.n; v++)
		if (f->val_of[v] != ID_NONE && f->band_name[f->val_of[v]] != ID_NONE)
			ev->class_size[f->band_name[f->val_of[v]]]++;
}

static void fold_facts(evaluator *ev)
{
	const folding *f = ev->fold;
	const problem *pb = ev->pb;
	uint32_t n = f->p->args.n;
	ev->result_of_arg = arena_array(&ev->mem, int32_t, n + 1);
	ev->dn = (donation){n, arena_array(&ev->mem, int32_t, n + 1)};
	for (uint32_t a = 0; a < pb->n_args; a++) {
		int32_t r = pb->result_of_arg[a], d = pb->dn.result_of_arg[a];
		ev->result_of_arg[f->arg_of[a]] = r < 0 ? r : (int32_t)f->result_of[r];
		ev->dn.result_of_arg[f->arg_of[a]] = d < 0 ? d : (int32_t)f->result_of[d];
	}
	find_classes(ev);
}

void fold_begin(evaluator *ev)
{
	ev->fold = ev->pb->fold && args_agree(ev->pb, ev->pb->fold) ? ev->pb->fold : NULL;
	if (ev->fold && !start_is_even(ev)) {
		state_free(ev->on[FOLDED]);
		ev->on[FOLDED] = NULL;
		ev->fold = NULL;
	}
	if (ev->fold)
		fold_facts(ev);
}

/* ---------------------------------------------------------------- actions on the folded program */

static void clear_targets(evaluator *ev)
{
	memset(ev->target_of, 0xff, ev->fold->p->vals.n * sizeof *ev->target_of);
}

const folded_action *fold_action(evaluator *ev, const action *a)
{
	bool inner = a->kind == ACTION_CONSTRAIN;
	uint64_t h = hash_bytes(a->targets, a->n_targets * sizeof *a->targets, a->n_targets + inner);
	uint32_t id;
	for (uint32_t it = index_first(&ev->by_targets, h); index_next(&ev->by_targets, h, &it, &id);) {
		const folded_action *f = &ev->actions.p[id];
		if (f->inner == inner && f->n_key == a->n_targets &&
			!memcmp(f->key, a->targets, a->n_targets * sizeof *a->targets))
			return f;
	}
	action_target *key = arena_array(&ev->mem, action_target, a->n_targets),
				  *to = arena_array(&ev->mem, action_target, a->n_targets);
	if (a->n_targets)
		memcpy(key, a->targets, a->n_targets * sizeof *key);
	folded_action f = {
		.key = key, .targets = to, .n_key = a->n_targets, .inner = inner, .even = true};
	clear_targets(ev);
	for (uint32_t i = 0; i < a->n_targets; i++) {
		action_target target = {fold_target(ev, inner, a->targets[i].arg), a->targets[i].dim};
		if (target.arg == ID_NONE)
			continue;
		pval_id v = fold_value(ev, inner, target.arg);
		uint32_t class = ev->fold->band_name[v];
		if (class != ID_NONE) {
			f.even &= !ev->seen[class] || ev->seen_dim[class] == target.dim;
			ev->seen_dim[class] = target.dim;
			ev->seen[class]++;
		}
		if (ev->target_of[v] == ID_NONE) {
			ev->target_of[v] = f.n_targets;
			to[f.n_targets++] = target;
		} else if (class == ID_NONE) {
			f.even = false; /* twice the same argument */
		}
	}
	for (uint32_t i = 0; i < f.n_targets; i++) {
		uint32_t class = ev->fold->band_name[fold_value(ev, inner, to[i].arg)];
		if (class == ID_NONE || !ev->seen[class])
			continue;
		f.even &= ev->seen[class] == ev->class_size[class];
		ev->seen[class] = 0;
	}
	index_add(&ev->by_targets, h, ev->actions.n);
	vec_push(&ev->actions, f);
	return &ev->actions.p[ev->actions.n - 1];
}

action with_targets(const action *a, const folded_action *f)
{
	action folded = *a;
	folded.targets = f->targets;
	folded.n_targets = f->n_targets;
	return folded;
}

void mark_targets(evaluator *ev, bool inner, const action_target *list, uint32_t n)
{
	clear_targets(ev);
	for (uint32_t i = 0; i < n; i++)
		ev->target_of[fold_value(ev, inner, list[i].arg)] = i;
}
uint32_t target_index(const evaluator *ev, bool inner, uint32_t target)
{
	uint32_t folded = fold_target(ev, inner, target);
	return folded == ID_NONE ? ID_NONE : ev->target_of[fold_value(ev, inner, folded)];
}
