/* Runs a schedule: prepares the module (mesh, pins), replays the baselines, then lets each tactic refine the plans at
 * hand. Automatic tactics grow a fixed number of logical trees, whoever works them off; results are merged in tree order
 * at fixed evaluation counts, so that neither threads nor timing change the answer. Every candidate for the answer is
 * replayed first. */
#include "search/internal.h"

#include <stdlib.h>


enum { MAX_BASES = 3, ROUND_EVALUATIONS = 32, REPLAYS_PER_TACTIC = 3, MAX_TRIED = 256,
       POLISH_SHARE = 4 /* of the budget, an automatic tactic having 1 */ };

/* A strategy that was the best so far when it was found. */
typedef struct candidate {
	strategy s;
	cost c, incremental;     /* replayed; the evaluator's view */
	plan *pl;                /* NULL: a user's baseline */
	bool confirmed;          /* by a replay of its module */
} candidate;

typedef struct runner {
	search_options o; /* with the module's own mesh */
	const search_options *user;
	module *base;     /* the input with mesh and pins: what strategies are applied to */
	problem pb;
	evaluator *ev[LOGICAL_TREES];
	arena chain_mem[LOGICAL_TREES]; /* what polished plans point into */
	tactic_list tactics;
	plan bases[MAX_BASES];
	uint32_t n_bases;
	composition *composed; /* NULL: none */
	action_list composed_of;
	uint32_t polished; /* how often */
	VEC(candidate) candidates;  /* each better than the one before */
	uint32_t first_candidate;   /* earlier ones lack what the schedule wants */
	candidate *answer;
	score best_score;
	search_result *out;
	int64_t start_ns, deadline_ns; /* of the present tactic when the budget is time; 0: none */
	uint64_t tried[MAX_TRIED]; /* hashes of replayed states */
	uint32_t n_tried;
	int threads;
} runner;

static int64_t elapsed(const runner *r) { return clock_ns() - r->start_ns; }

static bool should_stop(void *arg)
{
	const runner *r = arg;
	return (r->user->stop && *r->user->stop) || (r->deadline_ns && elapsed(r) > r->deadline_ns);
}

static void tell(runner *r, bool incumbent, const char *tactic)
{
	if (!r->user->on_event)
		return;
	search_event e = {.incumbent = incumbent, .evaluation = r->out->evaluations, .elapsed_ns = elapsed(r), .tactic = tactic, .cost = r->out->cost, .fits = r->out->fits};
	r->user->on_event(r->user->user, &e);
}

/* ---------------------------------------------------------------- preparing the module */

/* Inner computations by hand are on a mesh too. */
static bool any_sharding(const module *m)
{
	for (op_id o = 0; o < m->ops.n; o++)
		if (m->ops.p[o].kind == OP_SDY_MANUAL_COMPUTATION && !(m->ops.p[o].flags & OPS_ERASED))
			return true;
	for (value_id v = 0; v < m->values.n; v++)
		if (m->values.p[v].sharding != SHARDING_NONE)
			return true;
	for (uint32_t f = 0; f < m->funcs.n; f++)
		for (uint32_t i = 0; i < m->funcs.p[f].n_results; i++)
			if (m->funcs.p[f].result_shardings[i] != SHARDING_NONE)
				return true;
	return false;
}

/* The module's own mesh when it has one with the same axes; a different one with shardings on it is an error. */
static status settle_mesh(runner *r, diag *d)
{
	mesh_id own = module_own_mesh(r->base, r->o.mesh);
	if (own == ID_NONE && any_sharding(r->base))
		return diag_set(d, ST_ERR_INVALID, "the module already has shardings on another mesh than the one given with --mesh");
	if (own != ID_NONE)
		r->o.mesh = own;
	return ST_OK;
}

static status apply_pins(runner *r, diag *d)
{
	module *m = r->base;
	func *main = module_main(m);
	const region *body = op_region(m, main->op, 0);
	const search_pin **by = xcalloc(main->n_args + 1, sizeof *by); /* the pin that an argument has */
	strbuf name;
	strbuf_init(&name);
	status s = ST_OK;
	for (uint32_t p = 0; p < r->o.n_pins && s == ST_OK; p++) {
		bool hit = false;
		for (uint32_t a = 0; a < main->n_args && s == ST_OK; a++) {
			strbuf_clear(&name);
			module_arg_name(m, a, &name);
			if (!glob_match(r->o.pins[p].glob, (str){name.p, name.n}))
				continue;
			hit = true;
			sharding_edit e;
			value_id v = body->args + a;
			char why[256];
			diag own = {0};
			s = sharding_from_json_text(m->shardings, r->o.mesh, str_of(r->o.pins[p].sharding), value_type(m, v)->rank, &e, &own);
			if (s != ST_OK)
				diag_set(d, s, "pin '%s' on argument %s: %s", r->o.pins[p].glob, name.p, own.msg);
			else if (!sharding_check(m->shardings, &e, value_type(m, v), why, sizeof why))
				s = diag_set(d, ST_ERR_INVALID, "pin '%s' does not fit argument %s: %s", r->o.pins[p].glob, name.p, why);
			if (s != ST_OK)
				break;
			sharding_id id = sharding_intern(m->shardings, &e), old = m->values.p[v].sharding;
			if (old != SHARDING_NONE && old != id)
				s = by[a] ? diag_set(d, ST_ERR_INVALID, "pins '%s:%s' and '%s:%s' contradict each other on argument %s", by[a]->glob, by[a]->sharding,
						     r->o.pins[p].glob, r->o.pins[p].sharding, name.p)
					  : diag_set(d, ST_ERR_INVALID, "pin '%s:%s' contradicts the sharding that the module gives argument %s", r->o.pins[p].glob,
						     r->o.pins[p].sharding, name.p);
			m->values.p[v].sharding = id;
			by[a] = &r->o.pins[p];
		}
		if (s == ST_OK && !hit)
			s = diag_set(d, ST_ERR_INVALID, "pin '%s' names no argument", r->o.pins[p].glob);
	}
	strbuf_release(&name);
	free(by);
	return s;
}

static status apply_forbids(runner *r, diag *d)
{
	problem *pb = &r->pb;
	if (!r->o.n_forbids)
		return ST_OK;
	pb->forbidden = arena_zarray(&pb->mem, bool, (size_t)pb->n_args * MAX_RANK * pb->n_axes + 1);
	strbuf name;
	strbuf_init(&name);
	status s = ST_OK;
	for (uint32_t f = 0; f < r->o.n_forbids && s == ST_OK; f++) {
		const search_forbid *fb = &r->o.forbids[f];
		uint32_t axis = mesh_axis_find(pb->m->shardings, pb->mesh, str_of(fb->axis));
		bool hit = false;
		if (axis == ID_NONE)
			s = diag_set(d, ST_ERR_INVALID, "forbid '%s': the mesh has no axis '%s'", fb->glob, fb->axis);
		for (uint32_t a = 0; a < pb->n_args && s == ST_OK; a++) {
			strbuf_clear(&name);
			module_arg_name(pb->m, a, &name);
			if (glob_match(fb->glob, (str){name.p, name.n}) && fb->dimension < MAX_RANK) {
				pb->forbidden[((size_t)a * MAX_RANK + fb->dimension) * pb->n_axes + axis] = true;
				hit = true;
			}
		}
		if (s == ST_OK && !hit)
			s = diag_set(d, ST_ERR_INVALID, "forbid '%s' names no argument", fb->glob);
	}
	strbuf_release(&name);
	return s;
}

/* ---------------------------------------------------------------- incumbents */

static const candidate *best_candidate(const runner *r) { return r->candidates.n > r->first_candidate ? &r->candidates.p[r->candidates.n - 1] : NULL; }

static void take_candidate(runner *r, const candidate *c, const char *tactic)
{
	vec_push(&r->candidates, *c);
	r->best_score = score_final(&r->pb, &c->c);
	r->out->cost = c->c;
	r->out->fits = c->c.peak_bytes <= r->pb.memory_limit;
	vec_push(&r->out->incumbents, (incumbent_mark){r->out->evaluations, elapsed(r), c->c.runtime_ns, c->c.peak_bytes});
	tell(r, true, tactic);
}

static void release_candidate(candidate *c)
{
	strategy_release(&c->s);
	free(c->pl);
}

static plan *copy_plan(const plan *pl)
{
	plan *to = xmalloc(sizeof *to);
	*to = *pl;
	return to;
}

/* The replay of the plan that is on the first evaluator. With `check` also that of its module, which must cost the same; with
 * open results it need not, for a module whose donated results come out differently frees other buffers. */
static status replay_plan(runner *r, const plan *pl, cost *out, bool *allowed, diag *d)
{
	r->out->replays++;
	evaluator_replay(r->ev[0], out, allowed);
	if (!r->o.check || r->o.open_results)
		return ST_OK;
	strategy s;
	cost whole;
	bool same;
	evaluator_strategy(r->ev[0], pl, &s);
	status st = replay_strategy(&r->pb, r->base, &s, &whole, &same, d);
	strategy_release(&s);
	if (st == ST_OK && (same != *allowed || memcmp(&whole, out, sizeof whole)))
		st = diag_set(d, ST_ERR_INTERNAL, "a replay on the compiled program differs from one of the module");
	return st;
}

/* Replays a plan; it becomes the answer when it beats the present one. */
static status try_plan(runner *r, plan *pl, const char *tactic, diag *d)
{
	candidate c = {0};
	evaluator_run(r->ev[0], pl, &c.incremental);
	uint64_t h = evaluator_hash(r->ev[0]);
	for (uint32_t i = 0; i < r->n_tried; i++)
		if (r->tried[i] == h)
			return ST_OK;
	if (r->n_tried < MAX_TRIED)
		r->tried[r->n_tried++] = h;
	bool allowed;
	TRY(replay_plan(r, pl, &c.c, &allowed, d));
	if (allowed && score_less(score_final(&r->pb, &c.c), r->best_score)) {
		evaluator_strategy(r->ev[0], pl, &c.s);
		c.pl = copy_plan(pl);
		take_candidate(r, &c, tactic);
	}
	return ST_OK;
}

/* The answer is the last candidate, as the module that it is written into is costed. The others are there in case that is not
 * what its plan promised. */
static status confirm(runner *r, diag *d)
{
	candidate *best = NULL;
	for (uint32_t i = r->candidates.n; i-- > r->first_candidate;) {
		candidate *c = &r->candidates.p[i];
		score promised = score_final(&r->pb, &c->c);
		bool allowed = true, first = i == r->first_candidate; /* there is always that one */
		if (!c->confirmed) {
			r->out->replays++;
			TRY(replay_strategy(&r->pb, r->base, &c->s, &c->c, &allowed, d));
		}
		if ((allowed || (first && !best)) && (!best || score_less(score_final(&r->pb, &c->c), score_final(&r->pb, &best->c))))
			best = c;
		if (best == c && !score_less(promised, score_final(&r->pb, &c->c)))
			break;
	}
	r->answer = best;
	r->out->best = best->s;
	r->out->cost = best->c;
	r->out->fits = best->c.peak_bytes <= r->pb.memory_limit;
	r->out->incremental = best->incremental;
	best->s = (strategy){0};
	return ST_OK;
}

/* ---------------------------------------------------------------- baselines */

static sharding_id pinned_sharding(const runner *r, uint32_t arg)
{
	return r->pb.m->values.p[r->pb.p->vals.p[r->pb.p->args.p[arg]].value].sharding;
}

/* Takes c->s and c->pl. */
static void add_baseline(runner *r, const char *name, candidate *c, bool allowed)
{
	baseline_result b = {.name = {arena_strdup(&r->out->mem, name, strlen(name)), strlen(name)}, .cost = c->c, .fits = c->c.peak_bytes <= r->pb.memory_limit};
	bool first = r->out->baselines.n == 0;
	/* A user's baseline may say what a pin says otherwise: it is shown, but cannot be the answer. */
	for (uint32_t a = 0; a < r->pb.n_args; a++)
		allowed &= !r->pb.pinned[a] || c->s.args[a] == SHARDING_NONE || c->s.args[a] == pinned_sharding(r, a);
	vec_push(&r->out->baselines, b);
	if (first || (allowed && score_less(score_final(&r->pb, &c->c), r->best_score)))
		take_candidate(r, c, name);
	else
		release_candidate(c);
}

static status run_baselines(runner *r, diag *d)
{
	static const char *const names[] = {"replicated", "data_parallel", "data_parallel_first_axis", "zero2", "zero3"};
	plan *pl = xmalloc(sizeof *pl);
	status s = ST_OK;
	bool allowed;
	for (uint32_t i = 0; i < COUNT_OF(names) && s == ST_OK; i++) {
		candidate c = {0};
		if (i == 2 && r->pb.n_axes < 2)
			continue; /* the same as data_parallel */
		baseline_plan(&r->pb, names[i], pl);
		evaluator_run(r->ev[0], pl, &c.incremental);
		r->out->evaluations++;
		s = replay_plan(r, pl, &c.c, &allowed, d);
		if (s != ST_OK)
			break;
		evaluator_strategy(r->ev[0], pl, &c.s);
		c.pl = copy_plan(pl);
		add_baseline(r, names[i], &c, allowed);
	}
	free(pl);
	for (uint32_t i = 0; i < r->o.n_baselines && s == ST_OK; i++) {
		candidate c = {.confirmed = true};
		char device[64];
		int64_t limit;
		diag own = {0};
		s = strategy_read(r->base, r->o.baselines[i].json, r->o.baselines[i].n, &c.s, device, &limit, &own);
		if (s != ST_OK)
			return diag_set(d, s, "baseline %s: %s", r->o.baselines[i].name, own.msg);
		r->out->replays++;
		s = replay_strategy(&r->pb, r->base, &c.s, &c.c, &allowed, d);
		if (s == ST_OK)
			add_baseline(r, r->o.baselines[i].name, &c, allowed);
		else
			release_candidate(&c);
	}
	return s;
}

/* ---------------------------------------------------------------- tactics */

static int by_score(const void *a, const void *b)
{
	const tree_best *x = *(tree_best *const *)a, *y = *(tree_best *const *)b;
	if (score_less(x->s, y->s))
		return -1;
	if (score_less(y->s, x->s))
		return 1;
	return x->hash < y->hash ? -1 : x->hash > y->hash; /* equal scores: any fixed order */
}

/* The trees of one automatic tactic, worked off by whatever threads there are. */
typedef struct grove {
	runner *r;
	const tactic *tc;
	const action_list *actions;
	tree *trees[LOGICAL_TREES];
	uint64_t part, done[LOGICAL_TREES];
} grove;

static void plant(void *user, int i)
{
	grove *g = user;
	runner *r = g->r;
	g->trees[i] = tree_new(r->ev[i], &r->pb, &r->bases[(uint32_t)i % r->n_bases], g->actions, g->tc->title, r->o.seed, (uint32_t)i);
}

static void grow(void *user, int i)
{
	grove *g = user;
	g->done[i] = tree_grow(g->trees[i], g->part, should_stop, g->r);
}

static void open_evaluator(void *user, int i)
{
	runner *r = user;
	r->ev[i] = evaluator_new(&r->pb);
}

static status run_auto(runner *r, const tactic *tc, uint64_t budget, diag *d)
{
	action_list actions = {0};
	actions_make(&r->pb, tc->axis_mask, tc->allowed, &actions);
	if (!actions.n || !budget) {
		vec_release(&actions);
		return ST_OK;
	}
	grove g = {.r = r, .tc = tc, .actions = &actions};
	r->pb.objective = tc->objective;
	parallel_for(LOGICAL_TREES, r->threads, plant, &g);
	tree **trees = g.trees;
	uint64_t used = 0;
	while (used < budget && !should_stop(r)) {
		g.part = MIN((uint64_t)ROUND_EVALUATIONS, (budget - used + LOGICAL_TREES - 1) / LOGICAL_TREES);
		parallel_for(LOGICAL_TREES, r->threads, grow, &g);
		uint64_t sum = 0;
		for (int i = 0; i < LOGICAL_TREES; i++)
			sum += g.done[i];
		used += sum;
		r->out->evaluations += sum;
		tell(r, false, tc->title);
		if (!sum)
			break;
	}
	VEC(const tree_best *) all = {0};
	for (int i = 0; i < LOGICAL_TREES; i++) {
		const tree_best *list;
		uint32_t n = tree_results(trees[i], &list);
		tree_stats st = tree_statistics(trees[i]);
		r->out->nodes += st.nodes;
		r->out->full_evaluations += st.full;
		r->out->table_hits += st.hits;
		for (uint32_t k = 0; k < n; k++)
			vec_push(&all, &list[k]);
	}
	qsort(all.p, all.n, sizeof *all.p, by_score);
	status s = ST_OK;
	uint32_t bases = 0, replays = 0;
	plan *pl = xmalloc(sizeof *pl), *kept = xcalloc(MAX_BASES, sizeof *kept);
	for (uint32_t i = 0; i < all.n && s == ST_OK; i++) {
		if (i && all.p[i]->hash == all.p[i - 1]->hash)
			continue;
		*pl = all.p[i]->pl;
		if (bases < MAX_BASES - 1)
			kept[bases++] = *pl;
		if (replays++ < REPLAYS_PER_TACTIC)
			s = try_plan(r, pl, tc->title, d);
	}
	/* When memory rules, the fastest state that does not fit yet may fit once a later axis shards it too. */
	const tree_best *fastest = NULL;
	for (uint32_t i = 0; i < all.n; i++)
		if (!fastest || all.p[i]->c.runtime_ns < fastest->c.runtime_ns)
			fastest = all.p[i];
	if (fastest && bases && fastest->hash != all.p[0]->hash)
		kept[bases++] = fastest->pl;
	if (bases) {
		memcpy(r->bases, kept, bases * sizeof *kept);
		r->n_bases = bases;
	}
	free(pl);
	free(kept);
	for (int i = 0; i < LOGICAL_TREES; i++)
		tree_free(trees[i]);
	r->pb.objective = r->o.objective;
	vec_release(&all);
	vec_release(&actions);
	return s;
}

/* Adds one fixed decision to every plan at hand. */
static status run_fixed(runner *r, const tactic *tc, diag *d)
{
	action a = tc->kind == TACTIC_MANUAL ? action_manual(&r->pb, tc->args, tc->n_args, tc->dimension, tc->axis)
					     : action_role(&r->pb, tc->role, tc->axis, tc->allowed);
	a.fixed = true;
	/* What came before does not have this decision: the schedule's word counts more than a better answer without it. */
	r->best_score = (score){false, INT64_MAX, INT64_MAX};
	r->n_tried = 0;
	r->first_candidate = r->candidates.n;
	for (uint32_t i = 0; i < r->n_bases; i++) {
		plan *pl = &r->bases[i];
		evaluator_run(r->ev[0], pl, NULL);
		if (tc->kind == TACTIC_MANUAL && !evaluator_can(r->ev[0], &a))
			return diag_set(d, ST_ERR_INVALID, "schedule: a manual tactic cannot shard dimension %u of its arguments: the axis is in use there, pinned, or does not divide it",
					tc->dimension);
		if (pl->n < MAX_PLAN && evaluator_can(r->ev[0], &a)) {
			pl->decisions[pl->n] = a;
			pl->tactics[pl->n++] = tc->title;
		}
		r->out->evaluations++;
		TRY(try_plan(r, pl, tc->title, d));
	}
	return ST_OK;
}

typedef struct workshop {
	runner *r;
	polisher *chains[LOGICAL_TREES];
	uint64_t part, used[LOGICAL_TREES];
	uint32_t heat;
	const plan *starts[LOGICAL_TREES];
	const action_list *actions;
	const plan *recipes;
	uint32_t n_recipes;
} workshop;

static void open_chain(void *user, int i)
{
	workshop *w = user;
	uint64_t chain = (uint64_t)i + LOGICAL_TREES * w->r->polished;
	w->chains[i] = polisher_new(w->r->ev[i], &w->r->pb, w->starts[i], w->actions, w->recipes, w->n_recipes, w->r->o.seed + 1000 * chain, &w->r->chain_mem[i]);
}

static void walk_chain(void *user, int i)
{
	workshop *w = user;
	w->used[i] = polisher_walk(w->chains[i], w->part, w->heat, should_stop, w->r);
}

static void add_plan(plan *list, uint32_t *n, uint32_t limit, const plan *pl)
{
	for (uint32_t i = 0; i < *n; i++)
		if (plan_same(&list[i], pl))
			return;
	if (*n < limit)
		list[(*n)++] = *pl;
}

/* How each plan at hand uses each axis, on axis 0: what the polish may do with any axis. */
static void add_recipes(const runner *r, plan *list, uint32_t *n, uint32_t limit, const plan *from)
{
	plan *own = xmalloc(sizeof *own);
	for (uint32_t axis = 0; axis < r->pb.n_axes; axis++) {
		own->n = 0;
		for (uint32_t i = 0; i < from->n; i++)
			if (from->decisions[i].axis == axis) {
				action a = from->decisions[i];
				a = a.on_role ? *action_of_role(&r->pb, a.role, 0) : a;
				a.axis = 0;
				a.fixed = false;
				own->decisions[own->n] = a;
				own->tactics[own->n++] = from->tactics[i];
			}
		if (own->n)
			add_plan(list, n, limit, own);
	}
	free(own);
}

enum { POLISH_ROUNDS = 12, WORTH_SIMPLIFYING = 10 * MAX_PLAN, FIRST_HEAT = 80000, MAX_RECIPES = 32, MAX_STARTS = 2 + MAX_BASES + 3 + COMPOSE_KEEP,
       COMPOSED_STARTS = 3, REFINE_SHARE = 3 /* fifths of what composite plans leave */ };

typedef struct refined_plan {
	plan *pl;
	int64_t energy;
	uint32_t number;
	bool refined;
	refine_depth depth;
} refined_plan;

static int chain_by_score(const void *a, const void *b)
{
	const polish_best *x = *(const polish_best *const *)a, *y = *(const polish_best *const *)b;
	return score_less(x->s, y->s) ? -1 : score_less(y->s, x->s) ? 1 : x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Takes decisions away that bring nothing: the answer is for people too. */
static status simplify(runner *r, diag *d)
{
	plan *pl = xmalloc(sizeof *pl), *trial = xmalloc(sizeof *trial);
	cost c;
	*pl = *best_candidate(r)->pl;
	bool allowed;
	evaluator_run(r->ev[0], pl, NULL);
	evaluator_replay(r->ev[0], &c, &allowed);
	score best = score_final(&r->pb, &c);
	uint32_t before = pl->n;
	for (uint32_t i = pl->n; i-- > 0 && !should_stop(r);) {
		if (i >= pl->n || pl->decisions[i].fixed)
			continue;
		*trial = *pl;
		plan_drop(trial, i);
		evaluator_run(r->ev[0], trial, NULL);
		evaluator_replay(r->ev[0], &c, &allowed);
		r->out->evaluations++;
		score s = score_final(&r->pb, &c);
		if (allowed && s.fits == best.fits && s.primary <= best.primary) {
			best = s;
			*pl = *trial;
		}
	}
	status st = ST_OK;
	if (pl->n < before) {
		/* As good is enough here. */
		r->best_score.secondary = INT64_MAX;
		r->n_tried = 0;
		st = try_plan(r, pl, "polish", d);
	}
	free(pl);
	free(trial);
	return st;
}

static status run_polish(runner *r, uint64_t budget, diag *d)
{
	static const char *const starts_of[] = {"data_parallel", "zero2", "zero3"};
	if (!budget)
		return ST_OK;
	action_list actions = {0};
	actions_make(&r->pb, UINT32_MAX, NULL, &actions);
	actions_split(&r->pb, UINT32_MAX, &actions);
	plan *starts = xcalloc(MAX_STARTS, sizeof *starts), *recipes = xcalloc(MAX_RECIPES, sizeof *recipes), *baseline = xmalloc(sizeof *baseline);
	uint32_t n = 0, n_recipes = 0;
	const candidate *best = best_candidate(r);
	if (best && best->pl)
		add_plan(starts, &n, MAX_STARTS, best->pl);
	for (uint32_t i = 0; r->composed && i < MIN(r->composed->n_large, 1u); i++)
		add_plan(starts, &n, MAX_STARTS, &r->composed->large[i]);
	for (uint32_t i = 0; i < r->n_bases; i++)
		if (r->bases[i].n || !r->composed)
			add_plan(starts, &n, MAX_STARTS, &r->bases[i]);
	for (uint32_t i = 0; r->composed && i < MIN(r->composed->n, (uint32_t)COMPOSED_STARTS); i++)
		add_plan(starts, &n, MAX_STARTS, &r->composed->plans[i]);
	for (uint32_t i = 0; i < n; i++)
		add_recipes(r, recipes, &n_recipes, MAX_RECIPES, &starts[i]);
	for (uint32_t i = 0; r->composed && i < r->composed->n_recipes; i++)
		add_recipes(r, recipes, &n_recipes, MAX_RECIPES, &r->composed->recipes[i]);
	for (uint32_t i = 0; i < COUNT_OF(starts_of); i++) {
		baseline_plan(&r->pb, starts_of[i], baseline);
		add_recipes(r, recipes, &n_recipes, MAX_RECIPES, baseline);
		if (!r->user->schedule_json)
			add_plan(starts, &n, MAX_STARTS, baseline);
	}
	free(baseline);
	workshop w = {.r = r, .actions = &actions, .recipes = recipes, .n_recipes = n_recipes};
	for (uint32_t i = 0; i < LOGICAL_TREES; i++)
		w.starts[i] = &starts[i % n];
	parallel_for(LOGICAL_TREES, r->threads, open_chain, &w);
	r->polished++;
	const polish_best *order[LOGICAL_TREES];
	uint64_t used = 0;
	int64_t end = r->deadline_ns;
	status s = ST_OK;
	plan *met = xcalloc(LOGICAL_TREES, sizeof *met);
	for (uint32_t round = 0; round < POLISH_ROUNDS && !should_stop(r) && s == ST_OK; round++) {
		uint32_t left = POLISH_ROUNDS - round;
		for (int i = 0; i < LOGICAL_TREES; i++) {
			met[i] = polisher_best(w.chains[i])->pl;
			polisher_meet(w.chains[i], met, LOGICAL_TREES);
		}
		w.part = (budget - MIN(used, budget)) / left / LOGICAL_TREES + 1;
		if (end) /* the chains cool down in time, too */
			r->deadline_ns = elapsed(r) + MAX(end - elapsed(r), 0) / left;
		w.heat = FIRST_HEAT / (POLISH_ROUNDS * POLISH_ROUNDS) * (left - 1) * (left - 1);
		parallel_for(LOGICAL_TREES, r->threads, walk_chain, &w);
		r->deadline_ns = end;
		for (int i = 0; i < LOGICAL_TREES; i++) {
			order[i] = polisher_best(w.chains[i]);
			used += w.used[i];
			r->out->evaluations += w.used[i];
		}
		qsort(order, LOGICAL_TREES, sizeof *order, chain_by_score);
		tell(r, false, "polish");
		/* What is clearly better is replayed at once, so that an interrupt finds it. */
		if (score_less(order[0]->s, r->best_score) && (order[0]->s.fits != r->best_score.fits || order[0]->s.primary < r->best_score.primary / 100 * 99)) {
			plan *pl = xmalloc(sizeof *pl);
			*pl = order[0]->pl;
			s = try_plan(r, pl, "polish", d);
			free(pl);
		}
		/* Towards the end the chains gather at the best plans. */
		if (round * 2 >= POLISH_ROUNDS)
			for (int i = 0; i < LOGICAL_TREES; i++)
				if (polisher_best(w.chains[i]) == order[LOGICAL_TREES - 1])
					polisher_go_to(w.chains[i], &order[0]->pl);
	}
	for (uint32_t i = 0; i < LOGICAL_TREES && s == ST_OK; i++) {
		plan *pl = xmalloc(sizeof *pl);
		*pl = polisher_best(w.chains[i])->pl;
		s = try_plan(r, pl, "polish", d);
		free(pl);
	}
	for (int i = 0; i < LOGICAL_TREES; i++)
		polisher_free(w.chains[i]);
	free(met);
	free(starts);
	free(recipes);
	vec_release(&actions);
	return s;
}

static int by_energy(const void *a, const void *b)
{
	const refined_plan *x = a, *y = b;
	return x->energy != y->energy ? (x->energy < y->energy ? -1 : 1) : x->number < y->number ? -1 : x->number > y->number;
}

/* The first composite plans a little and the best of them as far as it goes; then the others, and the best that are left. */
static status refine_composed(runner *r, uint64_t budget, diag *d)
{
	static const struct { uint32_t n; refine_depth depth; uint64_t each; } stages[] = {
		{6, REFINE_ALIKE, 40}, {1, REFINE_GROUPS, UINT32_MAX}, {UINT32_MAX, REFINE_ALIKE, 40}, {6, REFINE_GROUPS, UINT32_MAX}};
	composition *cm = r->composed;
	uint32_t n = cm->n_large + cm->n;
	refined_plan *list = xcalloc(n + 1, sizeof *list);
	refiner *rf = refiner_new(&r->pb, r->ev, r->threads, &r->chain_mem[0], &r->composed_of, should_stop, r);
	int64_t best = INT64_MAX;
	status s = ST_OK;
	for (uint32_t i = 0; i < n; i++)
		list[i] = (refined_plan){.energy = INT64_MAX, .number = i, .pl = i < cm->n_large ? &cm->large[i] : &cm->plans[i - cm->n_large]};
	for (uint32_t k = 0; k < COUNT_OF(stages); k++) {
		for (uint32_t i = 0; i < MIN(n, stages[k].n) && budget && s == ST_OK; i++) {
			if (list[i].refined && list[i].depth >= stages[k].depth)
				continue;
			uint64_t used = refiner_improve(rf, list[i].pl, stages[k].depth, MIN(budget, stages[k].each), &list[i].energy);
			list[i].refined = true;
			list[i].depth = stages[k].depth;
			budget -= MIN(used, budget);
			r->out->evaluations += used;
			best = MIN(best, list[i].energy);
			if (list[i].energy == best)
				s = try_plan(r, list[i].pl, "compose", d);
		}
		qsort(list, n, sizeof *list, by_energy);
		uint32_t kept = 0;
		for (uint32_t i = 0; i < n; i++) /* equal times: the same plan; none: another one's way */
			if (!list[i].refined || (list[i].energy < INT64_MAX && (!kept || list[i].energy != list[kept - 1].energy)))
				list[kept++] = list[i];
		n = kept;
	}
	plan *sorted = xmalloc((n + 1) * sizeof *sorted);
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = *list[i].pl;
	cm->n_large = 0;
	cm->n = MIN(n, (uint32_t)COMPOSE_KEEP);
	memcpy(cm->plans, sorted, cm->n * sizeof *sorted);
	free(sorted);
	refiner_free(rf);
	free(list);
	return s;
}

/* The default schedule begins with what people would write, and what is near it. */
static status run_compose(runner *r, uint64_t total, uint64_t budget, diag *d)
{
	r->composed = xcalloc(1, sizeof *r->composed);
	actions_make(&r->pb, UINT32_MAX, NULL, &r->composed_of);
	r->out->evaluations += compose(&r->pb, r->ev, r->threads, &r->composed_of, budget, should_stop, r, r->composed);
	tell(r, false, "compose");
	for (uint32_t i = 0; i < MIN(r->composed->n, (uint32_t)COMPOSED_STARTS); i++)
		TRY(try_plan(r, &r->composed->plans[i], "compose", d));
	if (r->user->without & WITHOUT_REFINE)
		return ST_OK;
	return refine_composed(r, (total - MIN(total, r->out->evaluations)) / 5 * REFINE_SHARE, d);
}

static status run_last_polish(runner *r, uint64_t budget, diag *d)
{
	TRY(run_polish(r, budget, d));
	const candidate *best = best_candidate(r);
	return best && best->pl && budget > WORTH_SIMPLIFYING && !should_stop(r) ? simplify(r, d) : ST_OK;
}

static status run_schedule(runner *r, diag *d)
{
	enum { COMPOSE_SHARE = 2 /* at most this part of the budget */, EARLY_SHARE = 12, EARLY_MOST = 400 };
	const search_options *o = r->user;
	uint64_t total = o->evaluations ? o->evaluations : o->time_limit_ns ? UINT64_MAX / 4 : SEARCH_DEFAULT_EVALUATIONS, fixed = 0;
	uint32_t shares = 0;
	/* Composites rarely need their part of a budget in time, and bring most of what there is to gain. */
	r->deadline_ns = o->time_limit_ns ? elapsed(r) + MAX(o->time_limit_ns - elapsed(r), 0) / COMPOSE_SHARE : 0;
	if (!o->schedule_json && !(o->without & WITHOUT_COMPOSITES)) {
		TRY(run_compose(r, total, total / COMPOSE_SHARE, d));
		if (!(o->without & WITHOUT_POLISH))
			TRY(run_polish(r, MIN(total / EARLY_SHARE, (uint64_t)EARLY_MOST), d));
	}
	for (uint32_t i = 0; i < r->tactics.n; i++) {
		const tactic *tc = &r->tactics.p[i];
		fixed += tc->evaluations;
		shares += tc->evaluations ? 0 : tc->kind == TACTIC_AUTO ? 1 : tc->kind == TACTIC_POLISH ? POLISH_SHARE : 0;
	}
	uint64_t left = total > fixed + r->out->evaluations ? total - fixed - r->out->evaluations : 0, share = shares ? left / shares : 0;
	r->n_bases = 1;
	r->bases[0].n = 0;
	for (uint32_t i = 0; i < r->tactics.n; i++) {
		const tactic *tc = &r->tactics.p[i];
		/* Time left is shared evenly between the tactics left; what one does not use goes to the next. */
		int64_t now = elapsed(r);
		r->deadline_ns = !o->time_limit_ns ? 0 : now < o->time_limit_ns ? now + (o->time_limit_ns - now) / (r->tactics.n - i) : now;
		if (tc->kind == TACTIC_MANUAL || tc->kind == TACTIC_NAMED)
			TRY(run_fixed(r, tc, d));
		else if (!should_stop(r) && tc->kind == TACTIC_AUTO)
			TRY(run_auto(r, tc, tc->evaluations ? tc->evaluations : share, d));
		else if (!should_stop(r))
			TRY(run_last_polish(r, tc->evaluations ? tc->evaluations : share * POLISH_SHARE, d));
	}
	return ST_OK;
}

/* ---------------------------------------------------------------- the answer */

static void fill_actions(runner *r)
{
	strategy *s = &r->out->best;
	const plan *pl = r->answer->pl;
	if (!pl)
		return;
	evaluator *ev = r->ev[0];
	cost before, after;
	VEC(strategy_action) list = {0};
	evaluator_undo(ev, 0);
	evaluator_cost(ev, &before);
	uint32_t steps = 0;
	for (uint32_t i = 0; i < pl->n; i++) {
		const action *a = &pl->decisions[i];
		const action_target *targets;
		if (!evaluator_decide(ev, a))
			continue;
		evaluator_cost(ev, &after);
		uint32_t n = evaluator_targets(ev, steps++, &targets);
		if (a->kind == ACTION_CONSTRAIN) {
			str by = str_of(pl->tactics[i]);
			vec_push(&list, (strategy_action){.tactic = {arena_strdup(&s->mem, by.p, by.n), by.n}, .kind = ACTION_CONSTRAIN, .dimension = a->dim, .axis = a->axis, .step = steps - 1,
							  .sites = evaluator_sites(ev, steps - 1, &s->mem, &n), .n_sites = n,
							  .delta_runtime_ns = after.runtime_ns - before.runtime_ns, .delta_peak_bytes = after.peak_bytes - before.peak_bytes});
			before = after;
			continue;
		}
		/* An action on a whole role chose its dimensions one by one: one entry per dimension; the first carries the delta. */
		bool delta_given = false;
		for (uint32_t dim = 0; dim <= DIM_KEEP; dim++) {
			uint32_t *members = arena_array(&s->mem, uint32_t, n), k = 0;
			for (uint32_t t = 0; t < n; t++)
				if (targets[t].dim == dim)
					members[k++] = targets[t].arg;
			if (!k)
				continue;
			str tactic = str_of(a->on_role ? role_action_names[a->role] : pl->tactics[i]);
			vec_push(&list, (strategy_action){
				.tactic = {arena_strdup(&s->mem, tactic.p, tactic.n), tactic.n}, .kind = dim == DIM_KEEP ? ACTION_REPLICATE : ACTION_PARTITION,
				.members = members, .n_members = k, .dimension = dim == DIM_KEEP ? 0 : dim, .axis = a->axis, .step = steps - 1,
				.delta_runtime_ns = delta_given ? 0 : after.runtime_ns - before.runtime_ns,
				.delta_peak_bytes = delta_given ? 0 : after.peak_bytes - before.peak_bytes});
			delta_given = true;
		}
		before = after;
	}
	s->n_actions = list.n;
	s->actions = arena_array(&s->mem, strategy_action, list.n);
	if (list.n)
		memcpy(s->actions, list.p, list.n * sizeof *list.p);
	vec_release(&list);
}

static void fill_unsupported(runner *r)
{
	const problem *pb = &r->pb;
	for (node_id i = 0; i < pb->p->nodes.n; i++) {
		const node *n = &pb->p->nodes.p[i];
		rule_id rule;
		if (n->kind != NODE_OPAQUE || rule_of_op(&r->pb.rules, pb->m, n->op, false, &rule) != RULE_UNSUPPORTED)
			continue;
		strbuf where;
		strbuf_init(&where);
		loc_print(pb->m, pb->m->ops.p[n->op].loc, &where);
		str name = strtab_get(&pb->m->strs, pb->m->ops.p[n->op].name);
		int64_t bytes = 0;
		for (uint32_t k = 0; k < (uint32_t)n->n_operands + n->n_results; k++)
			bytes = sat_add(bytes, sharding_local_bytes(pb->m->shardings, SHARDING_NONE, pval_type(pb->p, node_slots(pb->p, n)[k])));
		bool known = false;
		for (uint32_t u = 0; u < r->out->unsupported.n && !known; u++) {
			unsupported_op *have = &r->out->unsupported.p[u];
			if (str_equal(have->op, name) && str_equal(have->location, (str){where.p, where.n})) {
				have->count++;
				have->bytes = sat_add(have->bytes, bytes);
				known = true;
			}
		}
		if (!known)
			vec_push(&r->out->unsupported, (unsupported_op){.op = {arena_strdup(&r->out->mem, name.p, name.n), name.n},
									.location = {arena_strdup(&r->out->mem, where.p ? where.p : "", where.n), where.n},
									.count = 1,
									.bytes = bytes});
		strbuf_release(&where);
	}
}

static void fill_facts(runner *r)
{
	search_result *out = r->out;
	const problem *pb = &r->pb;
	out->memory_limit = pb->memory_limit;
	out->pairing = pb->pairing;
	out->groups = pb->n_groups;
	out->roles = arena_array(&out->mem, role, pb->n_args + 1);
	memcpy(out->roles, pb->roles, pb->n_args * sizeof *out->roles);
	if (r->answer->pl && out->cost.runtime_ns > 0)
		out->replay_gap_ppm = (int64_t)((__int128)(out->incremental.runtime_ns - out->cost.runtime_ns) * 1000000 / out->cost.runtime_ns);
	cost least;
	evaluator_undo(r->ev[0], 0);
	evaluator_bound(r->ev[0], UINT32_MAX, &least);
	out->least_runtime_ns = least.runtime_ns;
	out->least_peak_bytes = least.peak_bytes;
	out->interrupted = r->user->stop && *r->user->stop;
	out->elapsed_ns = elapsed(r);
}

status search_run(module *m, const search_options *o, search_result *out, diag *d)
{
	runner *r = xcalloc(1, sizeof *r);
	*out = (search_result){0};
	r->o = *o;
	r->user = o;
	r->out = out;
	r->start_ns = clock_ns();
	r->base = module_clone(m);
	r->threads = (int)MIN(o->threads ? o->threads : (uint32_t)parallel_cores(), (uint32_t)LOGICAL_TREES);
	status s = ST_OK;
	if (!module_main(m))
		s = diag_set(d, ST_ERR_INVALID, "the module has no function 'main'");
	if (s == ST_OK)
		s = settle_mesh(r, d);
	if (s == ST_OK)
		s = apply_pins(r, d);
	if (s == ST_OK)
		s = problem_init(&r->pb, r->base, &r->o, d);
	if (s == ST_OK)
		s = apply_forbids(r, d);
	if (s == ST_OK)
		s = schedule_read(&r->pb, o->schedule_json, &r->tactics, d);
	if (s == ST_OK) {
		parallel_for(LOGICAL_TREES, r->threads, open_evaluator, r);
		s = run_baselines(r, d);
	}
	if (s == ST_OK)
		s = run_schedule(r, d);
	if (s == ST_OK) {
		for (int i = 0; i < LOGICAL_TREES && s == ST_OK; i++)
			if (evaluator_broken(r->ev[i]))
				s = diag_set(d, ST_ERR_INTERNAL, "an evaluation of the folded program differs from one of the whole program");
		if (s == ST_OK)
			s = confirm(r, d);
	}
	if (s == ST_OK) {
		if (o->check && r->answer->pl) {
			evaluator_run(r->ev[0], r->answer->pl, NULL);
			if (!evaluator_self_check(r->ev[0], r->answer->pl))
				s = diag_set(d, ST_ERR_INTERNAL, "the incremental state differs from its unmemoised re-execution");
		}
		fill_actions(r);
		fill_unsupported(r);
		fill_facts(r);
	}
	for (int i = 0; i < LOGICAL_TREES; i++) {
		evaluator_free(r->ev[i]);
		arena_release(&r->chain_mem[i]);
	}
	for (uint32_t i = 0; i < r->candidates.n; i++)
		release_candidate(&r->candidates.p[i]);
	vec_release(&r->candidates);
	free(r->composed);
	vec_release(&r->composed_of);
	vec_release(&r->tactics);
	problem_release(&r->pb);
	module_free(r->base);
	free(r);
	if (s != ST_OK)
		search_result_release(out);
	return s;
}

void search_result_release(search_result *r)
{
	strategy_release(&r->best);
	vec_release(&r->baselines);
	vec_release(&r->incumbents);
	vec_release(&r->unsupported);
	arena_release(&r->mem);
	*r = (search_result){0};
}
