/* One evaluator walks one path of decisions: decide -> settle -> lower -> simulate, and back. It owns its sharding table
 * and every memo table, so evaluators on different threads share only the immutable problem.
 *
 * Where layers repeat, the path is walked on the folded program. A decision that treats the layers in its middle
 * differently, or comes to different things in them, unfolds: from there on the path is walked on the whole program. */
#include "search/internal.h"

#include <stdlib.h>

enum { FOLDED, WHOLE, WAYS };

/* What costs one program. */
typedef struct coster {
	lower_cache *lower;
	lowered *low;
	simulator *sim;
	sharding_id *costed; /* by pval: what is lowered, with results as the next step needs them */
	sharding_id *last;   /* the same of the previous time, */
	bool known, alike;   /* if there was one, and what came of it; folded: the layers that should be alike were */
	cost cost;
} coster;

/* An action of the whole program on the folded one. */
typedef struct folded_action {
	const action_target *key, *targets;
	uint32_t n_key, n_targets;
	bool inner; /* targets are values, not arguments */
	bool even; /* what stands for several layers does so for this action too */
} folded_action;

struct evaluator {
	const problem *pb;
	const folding *fold; /* NULL: nothing is folded */
	sharding_table *t;
	mesh_links links;
	walker *on[WAYS];    /* made when they are first needed */
	coster cost[WAYS];
	uint32_t depth, uneven_from; /* decisions from here on need the whole program; ID_NONE: none does */
	action path[MAX_PLAN];       /* so that a plan that shares its beginning starts from there */
	bool broken;
	evaluator_stats stats;
	propagation *fresh[WAYS]; /* for replays */
	VEC(sharding_id) pins;    /* by result */

	/* folding */
	arena mem;
	int32_t *result_of_arg; /* of the folded program, as in the problem */
	donation dn;
	uint32_t *class_size; /* by the first of the values in the band that are counterparts */
	uint32_t *seen, *seen_dim;       /* by class: targets counted, their dim */
	uint32_t *target_of;             /* by pval of the folded program */
	index_map by_targets;
	VEC(folded_action) actions;
	VEC(action_target) expanded;
	VEC(pval_id) sites; /* constrained values */
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
		int32_t ra = pb->result_of_arg[a], ro = pb->result_of_arg[o], da = pb->dn.result_of_arg[a], d = pb->dn.result_of_arg[o];
		agree = pb->pinned[a] == pb->pinned[o] && (ra < 0) == (ro < 0) && (ra < 0 || f->result_of[ra] == f->result_of[ro]) &&
			(da < 0 ? da == d : d >= 0 && f->result_of[da] == f->result_of[d]);
		size_t row = (size_t)MAX_RANK * pb->n_axes;
		if (pb->forbidden && agree)
			agree = !memcmp(pb->forbidden + a * row, pb->forbidden + o * row, row * sizeof *pb->forbidden);
	}
	free(origin);
	return agree;
}

static bool starts_without_shardings(const problem *pb)
{
	const func *main = module_main(pb->m);
	for (pval_id v = 0; v < pb->p->vals.n; v++)
		if (pb->p->vals.p[v].value != ID_NONE && value_at(pb->m, pb->p->vals.p[v].value)->sharding != SHARDING_NONE)
			return false;
	for (uint32_t i = 0; i < main->n_results; i++)
		if (main->result_shardings[i] != SHARDING_NONE)
			return false;
	return true;
}

/* A part of the memory that memo tables may take: there are four propagations, and two of everything else. */
static size_t memo_share(const problem *pb)
{
	int64_t all = pb->o->cache_bytes ? pb->o->cache_bytes : SEARCH_DEFAULT_CACHE_BYTES;
	return (size_t)(all / LOGICAL_TREES / 8);
}

static propagation *propagation_on(evaluator *ev, const program *p)
{
	propagate_options po = {.strategy = STRATEGY_AGGRESSIVE, .op_priority = true, .user_priority = true};
	propagation *s = propagation_new(p, ev->t, &po);
	propagation_limit(s, memo_share(ev->pb));
	return s;
}

static walker *walker_on(evaluator *ev, int way)
{
	if (!ev->on[way])
		ev->on[way] = walker_new(ev->pb, way == FOLDED ? ev->fold : NULL, ev->t, memo_share(ev->pb));
	return ev->on[way];
}

/* Shardings that the module comes with must be alike too. */
static bool start_is_even(evaluator *ev)
{
	if (starts_without_shardings(ev->pb))
		return true;
	walker *w = walker_on(ev, FOLDED);
	for (pval_id v = 0; v < ev->fold->p->vals.n; v++)
		if (!fold_is_even(ev->fold, walker_state(w), v))
			return false;
	return walker_same_state(w, walker_on(ev, WHOLE));
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

/* What stands for a target of the whole program: an argument, or for a constraint a value; ID_NONE: it is dead. */
static uint32_t fold_target(const evaluator *ev, bool inner, uint32_t target) { return inner ? ev->fold->val_of[target] : ev->fold->arg_of[target]; }
static pval_id fold_value(const evaluator *ev, bool inner, uint32_t folded) { return inner ? folded : ev->fold->p->args.p[folded]; }

static void clear_targets(evaluator *ev) { memset(ev->target_of, 0xff, ev->fold->p->vals.n * sizeof *ev->target_of); }

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

/* ---------------------------------------------------------------- life */

evaluator *evaluator_new(const problem *pb)
{
	evaluator *ev = xcalloc(1, sizeof *ev);
	ev->pb = pb;
	ev->t = table_copy(pb->m->shardings);
	ev->uneven_from = ID_NONE;
	index_init(&ev->by_targets);
	diag d = {0};
	if (mesh_links_assign(pb->o->device, ev->t, pb->mesh, pb->o->axis_links, &ev->links, &d) != ST_OK)
		assert(!"problem_init checked the links");
	ev->fold = pb->fold && args_agree(pb, pb->fold) ? pb->fold : NULL;
	if (ev->fold && !start_is_even(ev)) {
		walker_free(ev->on[FOLDED]);
		ev->on[FOLDED] = NULL;
		ev->fold = NULL;
	}
	if (ev->fold)
		fold_facts(ev);
	walker_on(ev, ev->fold ? FOLDED : WHOLE);
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
	free(c->last);
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

/* ---------------------------------------------------------------- actions on the folded program */

static const folded_action *fold_action(evaluator *ev, const action *a)
{
	bool inner = a->kind == ACTION_CONSTRAIN;
	uint64_t h = hash_bytes(a->targets, a->n_targets * sizeof *a->targets, a->n_targets + inner);
	uint32_t id;
	for (uint32_t it = index_first(&ev->by_targets, h); index_next(&ev->by_targets, h, &it, &id);) {
		const folded_action *f = &ev->actions.p[id];
		if (f->inner == inner && f->n_key == a->n_targets && !memcmp(f->key, a->targets, a->n_targets * sizeof *a->targets))
			return f;
	}
	action_target *key = arena_array(&ev->mem, action_target, a->n_targets), *to = arena_array(&ev->mem, action_target, a->n_targets);
	if (a->n_targets)
		memcpy(key, a->targets, a->n_targets * sizeof *key);
	folded_action f = {.key = key, .targets = to, .n_key = a->n_targets, .inner = inner, .even = true};
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

static action with_targets(const action *a, const folded_action *f)
{
	action folded = *a;
	folded.targets = f->targets;
	folded.n_targets = f->n_targets;
	return folded;
}

/* ---------------------------------------------------------------- the path */

static bool is_folded(const evaluator *ev) { return ev->fold && ev->uneven_from == ID_NONE; }
static walker *present(const evaluator *ev) { return ev->on[is_folded(ev) ? FOLDED : WHOLE]; }

uint32_t evaluator_depth(const evaluator *ev) { return ev->depth; }
uint64_t evaluator_hash(const evaluator *ev) { return walker_hash(present(ev)); }

/* The folded program cannot take the next decision: the whole one walks the same path. */
static void unfold(evaluator *ev)
{
	ev->uneven_from = ev->depth;
	ev->stats.unfolded++;
	walker *w = walker_on(ev, WHOLE);
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
	/* Arguments that are counterparts have equal shardings, so each target can be asked for on its own. */
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
	walker *w = walker_on(ev, WHOLE);
	walker_undo(w, 0);
	for (uint32_t i = 0; i < ev->depth; i++)
		ev->broken |= !walker_decide(w, &ev->path[i]);
	ev->broken |= !walker_same_state(ev->on[FOLDED], w);
}

/* Which of the folded program's targets stands for one of the whole program's; ID_NONE. */
static void mark_targets(evaluator *ev, bool inner, const action_target *list, uint32_t n)
{
	clear_targets(ev);
	for (uint32_t i = 0; i < n; i++)
		ev->target_of[fold_value(ev, inner, list[i].arg)] = i;
}
static uint32_t target_index(const evaluator *ev, bool inner, uint32_t target)
{
	uint32_t folded = fold_target(ev, inner, target);
	return folded == ID_NONE ? ID_NONE : ev->target_of[fold_value(ev, inner, folded)];
}

/* Where layers that must be alike come out differently, or come to the same in different ways, the whole program decides. */
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

static bool same_action(const action *a, const action *b)
{
	return a->axis == b->axis && a->kind == b->kind && a->n_targets == b->n_targets &&
	       (a->targets == b->targets || !memcmp(a->targets, b->targets, a->n_targets * sizeof *a->targets));
}

void evaluator_run(evaluator *ev, plan *pl, cost *out)
{
	uint32_t kept = 0;
	while (kept < pl->n && kept < ev->depth && same_action(&ev->path[kept], &pl->decisions[kept]))
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

static coster *coster_on(evaluator *ev, int way)
{
	coster *c = &ev->cost[way];
	const problem *pb = ev->pb;
	const program *p = way == FOLDED ? ev->fold->p : pb->p;
	if (c->lower)
		return c;
	c->lower = lower_cache_new(p, ev->t);
	c->low = lowered_new(p, ev->t);
	c->sim = simulator_new(p, ev->t, pb->o->device, &ev->links, way == FOLDED ? &ev->dn : &pb->dn);
	c->costed = xcalloc(p->vals.n + 1, sizeof *c->costed);
	c->last = xcalloc(p->vals.n + 1, sizeof *c->last);
	lower_cache_limit(c->lower, memo_share(pb));
	simulator_limit(c->sim, memo_share(pb));
	if (way == FOLDED) {
		node_id *firsts = xmalloc((ev->fold->blocks.n + 1) * sizeof *firsts);
		for (uint32_t b = 0; b < ev->fold->blocks.n; b++)
			firsts[b] = ev->fold->blocks.p[b].first;
		lower_cache_mark(c->lower, firsts, ev->fold->blocks.n);
		free(firsts);
		simulator_fold(c->sim, ev->fold);
	}
	return c;
}

/* The shardings that are lowered: inputs cut to what divides, and in the steady state a paired result leaves the step as
 * its argument entered it. */
static void find_costed(evaluator *ev, coster *c, const program *p, const int32_t *result_of_arg)
{
	program_trim_io(p, ev->t, c->costed);
	for (uint32_t a = 0; a < p->args.n; a++)
		if (result_of_arg[a] >= 0)
			c->costed[p->results.p[result_of_arg[a]]] = c->costed[p->args.p[a]];
}

/* The cost of what c->costed says; a search often asks twice in a row: decisions can differ in what no value sees, and a
 * replay mostly comes to what was costed before. False when layers of the folded program come out differently. */
static bool find_cost(evaluator *ev, coster *c, int way, cost *out)
{
	size_t bytes = (way == FOLDED ? ev->fold->p : ev->pb->p)->vals.n * sizeof *c->costed;
	if (!c->known || memcmp(c->last, c->costed, bytes)) {
		memcpy(c->last, c->costed, bytes);
		lower_program(c->lower, c->costed, LEVEL_COMPILED, ev->pb->o->device->target, c->low);
		c->known = c->alike = true;
		if (way == FOLDED)
			c->alike = simulate_folded(c->sim, c->low, &c->cost);
		else
			simulate(c->sim, c->low, &c->cost);
	}
	if (c->alike)
		*out = c->cost;
	return c->alike;
}

static void cost_whole(evaluator *ev, cost *out)
{
	coster *c = coster_on(ev, WHOLE);
	const program *p = ev->pb->p;
	const sharding_id *state = walker_state(present(ev));
	if (is_folded(ev))
		for (pval_id v = 0; v < p->vals.n; v++)
			c->costed[v] = ev->fold->val_of[v] == ID_NONE ? SHARDING_NONE : state[ev->fold->val_of[v]];
	else
		memcpy(c->costed, state, p->vals.n * sizeof *c->costed);
	find_costed(ev, c, p, ev->pb->result_of_arg);
	find_cost(ev, c, WHOLE, out);
}

/* From the folded program alone; false when its layers come out differently. */
static bool cost_folded(evaluator *ev, cost *out)
{
	coster *c = coster_on(ev, FOLDED);
	const program *p = ev->fold->p;
	memcpy(c->costed, walker_state(ev->on[FOLDED]), p->vals.n * sizeof *c->costed);
	find_costed(ev, c, p, ev->result_of_arg);
	return find_cost(ev, c, FOLDED, out);
}

void evaluator_cost(evaluator *ev, cost *out)
{
	bool folded = is_folded(ev) && cost_folded(ev, out);
	ev->stats.folded += folded;
	ev->stats.whole += !folded;
	if (!folded) {
		cost_whole(ev, out);
	} else if (ev->pb->o->check) {
		cost whole;
		cost_whole(ev, &whole);
		ev->broken |= memcmp(&whole, out, sizeof whole) != 0;
	}
}

/* ---------------------------------------------------------------- answers */

uint32_t evaluator_targets(evaluator *ev, uint32_t at, const action_target **out)
{
	const action_target *applied;
	uint32_t n = walker_applied(present(ev), at, &applied);
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

/* What the answer says of an argument or a constrained value: closed, with the priorities of the decisions that gave it its
 * axes; in any table that has the evaluator's meshes under the same ids. v: of the program that the path is on. */
static sharding_id export_sharding(evaluator *ev, pval_id v, sharding_table *into)
{
	sharding_id id = walker_state(present(ev))[v];
	if (id == SHARDING_NONE)
		return SHARDING_NONE;
	sharding_edit e;
	sharding_to_edit(ev->t, id, &e);
	for (uint32_t d = 0; d < e.rank; d++) {
		uint8_t p = walker_priority(present(ev), v, d);
		e.dims[d].closed = true;
		e.dims[d].priority = e.dims[d].axes.n && p ? (int16_t)p : -1;
	}
	return sharding_intern(into, &e);
}

static uint32_t present_arg(const evaluator *ev, uint32_t arg) { return is_folded(ev) ? ev->fold->arg_of[arg] : arg; }
static pval_id present_value(const evaluator *ev, pval_id v) { return is_folded(ev) ? ev->fold->val_of[v] : v; }

/* own: of the program that the path is on. */
static sharding_id export_argument(evaluator *ev, uint32_t own, sharding_table *into)
{
	const program *p = is_folded(ev) ? ev->fold->p : ev->pb->p;
	return export_sharding(ev, p->args.p[own], into);
}

sharding_id evaluator_arg(evaluator *ev, uint32_t arg) { return export_argument(ev, present_arg(ev, arg), ev->pb->m->shardings); }

/* The constrained values, each once, in the order of the decisions. */
static void list_sites(evaluator *ev)
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
	uint32_t count = evaluator_targets(ev, at, &targets), *list = arena_array(mem, uint32_t, count + 1);
	*n = 0;
	for (uint32_t k = 0; k < count; k++)
		for (uint32_t s = 0; s < ev->sites.n; s++)
			if (ev->sites.p[s] == targets[k].arg)
				list[(*n)++] = s;
	return list;
}

static void export_constraints(evaluator *ev, strategy *out)
{
	const problem *pb = ev->pb;
	list_sites(ev);
	out->constraints = arena_zarray(&out->mem, strategy_constraint, ev->sites.n + 1);
	for (uint32_t i = 0; i < ev->sites.n; i++) {
		pval_id v = ev->sites.p[i];
		value_id value = pb->p->vals.p[v].value;
		op_id o = value_def(pb->m, value);
		strbuf where = {0};
		loc_print(pb->m, op_at(pb->m, o)->loc, &where);
		out->constraints[out->n_constraints++] = (strategy_constraint){
			.function = STR("main"), .location = {arena_strdup(&out->mem, where.p ? where.p : "", where.n), where.n}, .op = pb->site_op[o],
			.result = value - op_at(pb->m, o)->results, .sharding = export_sharding(ev, present_value(ev, v), pb->m->shardings)};
		strbuf_release(&where);
	}
}

void evaluator_strategy(evaluator *ev, const plan *pl, strategy *out)
{
	const problem *pb = ev->pb;
	assert(pl->n == ev->depth);
	strategy_init(out, pb->mesh, pb->n_args, pb->n_results);
	for (uint32_t a = 0; a < pb->n_args; a++) {
		if (pb->pinned[a]) {
			out->args[a] = pb->m->values.p[pb->p->vals.p[pb->p->args.p[a]].value].sharding;
		} else if (walker_decided(present(ev), present_arg(ev, a))) {
			out->args[a] = evaluator_arg(ev, a);
		}
		if (out->args[a] != SHARDING_NONE && pb->result_of_arg[a] >= 0)
			out->results[pb->result_of_arg[a]] = out->args[a];
	}
	export_constraints(ev, out);
}

/* ---------------------------------------------------------------- replays */

/* A program to replay on; arguments and results are its own. */
typedef struct stage {
	const program *p;
	propagation *prop;
	const int32_t *result_of_arg;
	bool folded;
} stage;

static stage stage_on(evaluator *ev, int way)
{
	stage st = {.folded = way == FOLDED, .p = ev->pb->p, .result_of_arg = ev->pb->result_of_arg};
	if (way == FOLDED) {
		st.p = ev->fold->p;
		st.result_of_arg = ev->result_of_arg;
	}
	if (!ev->fresh[way])
		ev->fresh[way] = propagation_on(ev, st.p);
	st.prop = ev->fresh[way];
	return st;
}

static void annotate_sites(evaluator *ev, const stage *st)
{
	if (!st->folded) {
		list_sites(ev);
		for (uint32_t i = 0; i < ev->sites.n; i++)
			propagation_set(st->prop, ev->sites.p[i], export_sharding(ev, present_value(ev, ev->sites.p[i]), ev->t));
		return;
	}
	for (uint32_t i = 0; i < ev->depth; i++) {
		const action_target *targets;
		uint32_t n = ev->path[i].kind == ACTION_CONSTRAIN ? walker_applied(present(ev), i, &targets) : 0;
		for (uint32_t k = 0; k < n; k++)
			propagation_set(st->prop, targets[k].arg, export_sharding(ev, targets[k].arg, ev->t));
	}
}

/* The strategy's shardings, as strategy_apply would write them into the module. */
static int16_t annotate(evaluator *ev, const stage *st)
{
	int16_t last = -1;
	propagation_reset(st->prop);
	for (uint32_t a = 0; a < st->p->args.n; a++) {
		uint32_t own = st->folded || !is_folded(ev) ? a : ev->fold->arg_of[a];
		pval_id v = st->p->args.p[a];
		sharding_id id = propagation_shardings(st->prop)[v];
		bool decided = walker_decided(present(ev), own);
		if (decided && !walker_pinned(present(ev), own))
			propagation_set(st->prop, v, id = export_argument(ev, own, ev->t));
		if (id == SHARDING_NONE || !decided)
			continue;
		for (uint32_t d = 0; d < sharding_get(ev->t, id)->rank; d++)
			last = MAX(last, sharding_get(ev->t, id)->dims[d].priority);
		if (st->result_of_arg[a] >= 0)
			propagation_set(st->prop, st->p->results.p[st->result_of_arg[a]], id);
	}
	annotate_sites(ev, st);
	return last > 0 ? last : -1;
}

/* One fresh propagation, with results pinned to what their argument got until that holds. */
static void run_stage(evaluator *ev, const stage *st)
{
	sharding_id *at = propagation_shardings(st->prop);
	vec_reserve(&ev->pins, st->p->results.n);
	if (st->p->results.n)
		memset(ev->pins.p, 0, st->p->results.n * sizeof *ev->pins.p);
	for (int round = 0;; round++) {
		int16_t late = annotate(ev, st);
		for (uint32_t r = 0; r < st->p->results.n; r++)
			if (ev->pins.p[r] != SHARDING_NONE)
				propagation_set(st->prop, st->p->results.p[r], ev->pins.p[r]);
		propagation_run(st->prop);
		bool settled = true;
		for (uint32_t a = 0; a < st->p->args.n; a++) {
			int32_t r = st->result_of_arg[a];
			if (r < 0)
				continue;
			pval_id av = st->p->args.p[a], rv = st->p->results.p[r];
			if (!sharding_same_axes(ev->t, at[av], at[rv])) {
				ev->pins.p[r] = sharding_pin(ev->t, ev->pb->mesh, at[av], pval_type(st->p, av)->rank, late);
				settled = false;
			}
		}
		if (settled || round == REPLAY_ROUNDS)
			return;
	}
}

static bool stage_is_sure(const evaluator *ev, const stage *st)
{
	for (pval_id v = 0; v < st->p->vals.n; v++)
		if (!fold_is_even(ev->fold, propagation_shardings(st->prop), v))
			return false;
	return fold_is_sure(ev->fold, st->prop, 0);
}

static bool stage_is_allowed(const evaluator *ev, const stage *st)
{
	for (uint32_t a = 0; ev->pb->forbidden && a < ev->pb->n_args; a++) {
		uint32_t own = st->folded ? ev->fold->arg_of[a] : a;
		if (own != ID_NONE && problem_forbids_sharding(ev->pb, ev->t, a, propagation_shardings(st->prop)[st->p->args.p[own]]))
			return false;
	}
	return true;
}

static void trim_stage(evaluator *ev, const stage *st, coster *c)
{
	memcpy(c->costed, propagation_shardings(st->prop), st->p->vals.n * sizeof *c->costed);
	program_trim_io(st->p, ev->t, c->costed);
}

static bool replay_folded(evaluator *ev, cost *out, bool *allowed)
{
	stage st = stage_on(ev, FOLDED);
	run_stage(ev, &st);
	if (!stage_is_sure(ev, &st))
		return false;
	coster *c = coster_on(ev, FOLDED);
	trim_stage(ev, &st, c);
	*allowed = stage_is_allowed(ev, &st);
	return find_cost(ev, c, FOLDED, out);
}

static void replay_whole(evaluator *ev, cost *out, bool *allowed)
{
	stage st = stage_on(ev, WHOLE);
	run_stage(ev, &st);
	coster *c = coster_on(ev, WHOLE);
	trim_stage(ev, &st, c);
	*allowed = stage_is_allowed(ev, &st);
	find_cost(ev, c, WHOLE, out);
}

void evaluator_replay(evaluator *ev, cost *out, bool *allowed)
{
	bool folded = is_folded(ev) && replay_folded(ev, out, allowed);
	if (!folded) {
		replay_whole(ev, out, allowed);
	} else if (ev->pb->o->check) {
		cost whole;
		replay_whole(ev, &whole, allowed);
		ev->broken |= memcmp(&whole, out, sizeof whole) != 0;
	}
}

/* ---------------------------------------------------------------- checks */

bool evaluator_broken(const evaluator *ev) { return ev->broken; }

bool evaluator_self_check(evaluator *ev, const plan *pl)
{
	walker *fresh = walker_new(ev->pb, NULL, ev->t, memo_share(ev->pb));
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

evaluator_stats evaluator_statistics(const evaluator *ev) { return ev->stats; }
