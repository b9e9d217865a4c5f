/* An automatic tactic, or a polish: the tree, until its budget is used up or nothing is expected of
 * it any more. */
#include "search/tree/runner.h"
#include "search/tree/tree.h"
#include "search/tree/warm.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

enum { FIRST_WARM = 2 /* number of a leaf */ };
enum { MAX_INSTANCES = TACTICS * MAX_COMPOSED_AXES + 16 };

typedef struct mcts {
	runner *r;
	const tactic *tc;
	scope of;
	tactic_space *tactics;
	local_search *ls;
	tree *t;
	tactic_priors *priors; /* NULL: nothing is known */
	plan kept;             /* what the schedule decided before, which stays */
	plan *instances;
	uint64_t budget, used, best_at;
	uint64_t to_find, planted_at; /* evaluations left for finding tactics; when the likely ones were
	                                 found */
	int64_t best;
	bool open_ended;
} mcts;

static void add_instance(mcts *s, const plan *of)
{
	plan *to = &s->instances[s->ls->draws.n_instances];
	if (!of->n || s->ls->draws.n_instances == MAX_INSTANCES)
		return;
	*to = *of;
	for (uint32_t i = 0; i < to->n; i++)
		to->decisions[i] = action_on_axis(&s->of, &of->decisions[i], 0);
	s->ls->draws.n_instances++;
}

static void add_leaf(mcts *s, const plan *pl, uint32_t number)
{
	completion c = {.pl = *pl, .path = {MAX_AXIS_SETS + 1, number}, .depth = 2};
	tree_add(s->t, &c);
}

/* What moves may do with an axis: instances of tactics, and what baselines do. */
static void list_instances(mcts *s)
{
	static const role_action whole[][2] = {{ROLE_ACTION_DATA_PARALLEL, ROLE_ACTION_COUNT},
		{ROLE_ACTION_DATA_PARALLEL, ROLE_ACTION_ZERO2},
		{ROLE_ACTION_DATA_PARALLEL, ROLE_ACTION_ZERO3}};
	free(s->instances);
	s->instances = xcalloc(MAX_INSTANCES, sizeof *s->instances);
	s->ls->draws.n_instances = 0;
	s->ls->draws.instances = s->instances;
	for (uint32_t i = 0; i < COUNT_OF(whole); i++) {
		plan *pl = xcalloc(1, sizeof *pl);
		for (uint32_t k = 0; k < 2 && whole[i][k] < ROLE_ACTION_COUNT; k++)
			append_role(&s->of, pl, whole[i][k], 0);
		add_instance(s, pl);
		free(pl);
	}
	for (uint32_t i = 0; i < s->tactics->n_axes && s->tactics->n_sets; i++)
		for (tactic_id t = CUTS_BATCH + 1; t < TACTICS; t++)
			add_instance(s, &s->tactics->sets[i].instance[t]);
}

static void add_composites(mcts *s, bool composes, uint64_t used_before)
{
	completion_list list = {0};
	uint64_t used = s->tactics->used - used_before;
	s->used += used;
	s->r->out->evaluations += used;
	if (composes)
		completions_list(s->tactics, MOST_LEAVES, &list);
	for (uint32_t i = 0; i < list.n; i++) {
		plan_keep(&s->kept, &list.p[i].pl);
		tree_add(s->t, &list.p[i]);
	}
	vec_release(&list);
	list_instances(s);
}

/* Leaves: the plan that there is, what is kept alone, and composites around it. */
static void plant(mcts *s)
{
	uint64_t find = (s->budget - s->used) * FIND_PART / FIND_OF;
	s->tactics->priors = s->priors;
	s->tactics->spare = find / SPARE_OF_FIND;
	bool composes = !(s->r->user->without & WITHOUT_TACTICS) && tactics_find(s->tactics, find);
	s->to_find = find - MIN(find, s->tactics->used);
	add_leaf(s, &s->kept, 0);
	if (s->tc->kind == TACTIC_POLISH)
		add_leaf(s, &s->r->plan, 1);
	add_composites(s, composes, 0);
}

/* Those that are not likely by the priors come later. */
static void plant_rest(mcts *s)
{
	uint64_t before = s->tactics->used;
	tactics_find_rest(s->tactics, MIN(s->to_find, s->budget - s->used));
	add_composites(s, true, before);
}

/* The plans of one document, costed: the first leaves of the tree, and the best of them a candidate
 * for the answer. */
static status begin_with(mcts *s, const search_start *from, plan *plans, diag *d)
{
	runner *r = s->r;
	cost costs[MOST_WARM_PLANS];
	cJSON *document = cJSON_ParseWithLengthOpts(from->json, from->n, NULL, false);
	started about = {
		.name = {arena_strdup(&r->out->mem, from->name, strlen(from->name)), strlen(from->name)}};
	uint32_t n = warm_plans(&r->pb, &s->of, s->tc->allowed, &r->mem, document, plans),
			 best = ID_NONE;
	cJSON_Delete(document);
	for (uint32_t i = 0; i < n; i++)
		plan_keep(&s->kept, &plans[i]);
	uint64_t used = pool_cost(r->pool, plans, n, s->budget - s->used, costs);
	s->used += used;
	r->out->evaluations += used;
	for (uint32_t i = 0; i < n; i++)
		if (is_costed(&costs[i]) &&
			(best == ID_NONE ||
				score_less(score_of(&r->goal, &costs[i]), score_of(&r->goal, &costs[best]))))
			best = i;
	if (best != ID_NONE) {
		about.plans = n;
		about.cost = costs[best];
		about.fits = costs[best].peak_bytes <= r->pb.memory_limit;
		add_leaf(s, &plans[best], FIRST_WARM + r->out->starts.n);
	}
	vec_push(&r->out->starts, about);
	return best == ID_NONE ? ST_OK : runner_try(r, &plans[best], "store", d);
}

/* What was found for programs of the same structure comes first. */
static status begin_warm(mcts *s, diag *d)
{
	runner *r = s->r;
	status st = ST_OK;
	if (r->out->starts.n || s->tc->kind != TACTIC_AUTO)
		return ST_OK;
	plan *plans = xmalloc(MOST_WARM_PLANS * sizeof *plans);
	for (uint32_t i = 0;
		 i < MIN(r->user->n_starts, (uint32_t)MOST_STARTS) && st == ST_OK && s->used < s->budget;
		 i++)
		st = begin_with(s, &r->user->starts[i], plans, d);
	free(plans);
	return st;
}

/* As long as nothing fits, memory counts with the time; and again when it is found that something
 * does. */
static void aim(mcts *s)
{
	goal *g = &s->r->goal;
	bool nothing = !s->r->best_score.fits && s->used >= s->budget / FIT_PART;
	if (nothing == g->nothing_fits)
		return;
	g->nothing_fits = nothing;
	tree_rescore(s->t);
	s->best = INT64_MAX; /* energies of another scale */
}

/* Where nothing fits, all of the budget goes into finding something that does. */
static bool is_done(const mcts *s)
{
	return s->open_ended && s->r->best_score.fits &&
		s->used - s->best_at > MAX(s->best_at, (uint64_t)LEAST_IDLE);
}

/* What is clearly better is replayed at once, so that an interrupt finds it and who looks on sees
 * it. */
static status note(mcts *s, uint32_t leaf, diag *d)
{
	runner *r = s->r;
	const tree_leaf *l = tree_leaf_at(s->t, leaf);
	int64_t e = plan_energy(&r->goal, &l->c);
	if (e >= s->best)
		return ST_OK;
	if (e < s->best - s->best / WORTH_PART) {
		s->best_at = s->used;
		s->best = e;
	}
	r->others[r->n_others++ % COUNT_OF(r->others)] = *tree_plan(s->t, leaf);
	s->ls->draws.others = r->others;
	s->ls->draws.n_others = MIN(r->n_others, (uint32_t)COUNT_OF(r->others));
	plan *pl = xmalloc(sizeof *pl);
	*pl = *tree_plan(s->t, leaf);
	status st = runner_try(r, pl, s->tc->title, d);
	free(pl);
	return st;
}

/* Its plan now, and as it was before its local search, where they cost about as much as the best.
 */
static void note_near(mcts *s, uint32_t leaf, int64_t most)
{
	const tree_leaf *l = tree_leaf_at(s->t, leaf);
	if (l->c.runtime_ns <= most)
		runner_near(s->r, tree_plan(s->t, leaf), &l->c);
	if (l->search && l->first.runtime_ns <= most)
		runner_near(s->r, tree_first_plan(s->t, leaf), &l->first);
}

/* The plan that later tactics go on from, and the best ones as candidates for the answer. */
static status hand_on(mcts *s, diag *d)
{
	int64_t most = 0;
	runner *r = s->r;
	plan *pl = xmalloc(sizeof *pl);
	status st = ST_OK;
	uint32_t leaf = ID_NONE;
	r->others_found.n = 0;
	runner_forget_near(r);
	for (int i = 0;
		 i < MOST_REMEMBERED && st == ST_OK && (leaf = tree_next_best(s->t, leaf)) != ID_NONE;
		 i++) {
		*pl = *tree_plan(s->t, leaf);
		if (!i) {
			r->plan = *pl;
			most = sat_add(tree_leaf_at(s->t, leaf)->c.runtime_ns,
				tree_leaf_at(s->t, leaf)->c.runtime_ns / NEAR_PART);
		}
		note_near(s, leaf, most);
		if (i < BEST_TRIED && (!i || !search_is_stopped(r->user)))
			st = runner_try(r, pl, s->tc->title, d);
		runner_remember(r, pl);
	}
	free(pl);
	return st;
}

/* The tree goes into the next event. at_once: whenever the last one was. */
static void show(mcts *s, bool at_once)
{
	runner *r = s->r;
	int64_t now = clock_ns();
	if (!r->user->tree_interval_ns ||
		(!at_once && r->nodes_ns && now - r->nodes_ns < r->user->tree_interval_ns))
		return;
	if (!r->nodes)
		r->nodes = xcalloc(MOST_SHOWN, sizeof *r->nodes);
	r->n_nodes = tree_list(s->t, s->tactics, MOST_SHOWN, r->nodes);
	r->nodes_ns = now;
}

static status grow(mcts *s, diag *d)
{
	runner *r = s->r;
	s->best_at = s->planted_at = s->used;
	while (s->used < s->budget && !runner_stops(r) && !is_done(s)) {
		uint64_t used;
		uint32_t changed;
		aim(s);
		if (s->tactics->some_left && s->used - s->planted_at > LIKELY_ALONE)
			plant_rest(s);
		if (!tree_visit(s->t, s->budget - s->used, &used, &changed)) {
			if (!s->tactics->some_left)
				break;
			plant_rest(s);
			continue;
		}
		s->used += used;
		r->out->evaluations += used;
		if (changed != ID_NONE)
			TRY(note(s, changed, d));
		show(s, false);
		runner_tell(r, false, s->tc->title);
	}
	show(s, true);
	runner_tell(r, false, s->tc->title);
	return ST_OK;
}

/* What earlier tactics decided stays; of a polish, what the user did. */
static void keep_before(mcts *s)
{
	bool polish = s->tc->kind == TACTIC_POLISH;
	plan *pl = &s->r->plan;
	for (uint32_t i = 0; i < pl->n; i++) {
		action *a = &pl->decisions[i];
		if (a->fixed != FIXED_BY_USER)
			a->fixed = polish ? NOT_FIXED : FIXED_BY_SEARCH;
		if (a->fixed)
			plan_insert(&s->kept, s->kept.n, a, pl->tactics[i]);
	}
}

status runner_search(runner *r, const tactic *tc, uint64_t budget, diag *d)
{
	mcts s = {.r = r,
		.tc = tc,
		.budget = budget,
		.best = INT64_MAX,
		.open_ended = !r->user->evaluations && !r->user->time_limit_ns && !tc->evaluations};
	if (r->user->tactic_statistics) {
		s.priors = tactic_priors_read(r->user->tactic_statistics, d);
		if (!s.priors)
			return d->code;
		r->out->prior_plans = tactic_priors_plans(s.priors);
	}
	keep_before(&s);
	scope_init(&s.of, &r->pb, tc->kind == TACTIC_POLISH ? UINT32_MAX : tc->axis_mask,
		tc->kind == TACTIC_POLISH ? NULL : tc->allowed);
	r->goal = goal_of_answer(&r->pb);
	r->goal.objective = tc->objective;
	s.ls = xmalloc(sizeof *s.ls);
	local_search_init(s.ls, &r->pb, &r->goal, r->pool, &s.of, &r->mem,
		MAX(budget / PATIENCE_PART, (uint64_t)LEAST_PATIENCE));
	s.ls->n_manual = plan_manual(&s.kept, FIXED_BY_SEARCH);
	s.tactics = xcalloc(1, sizeof *s.tactics);
	*s.tactics = (tactic_space){.pb = &r->pb, .goal = &r->goal, .pool = r->pool, .of = &s.of};
	s.t = tree_new(&r->pb, s.ls, r->o.seed);
	tree_set_priors(s.t, s.tactics, s.priors);
	status st = begin_warm(&s, d);
	if (st == ST_OK) {
		runner_tell(
			r, false, tc->title); /* baselines are known, and finding instances takes a while */
		plant(&s);
		st = grow(&s, d);
	}
	r->out->nodes += tree_size(s.t);
	r->out->lists_cut += s.ls->lists_cut;
	if (st == ST_OK)
		st = hand_on(&s, d);
	tree_free(s.t);
	tactic_priors_free(s.priors);
	local_search_release(s.ls);
	free(s.ls);
	free(s.tactics);
	free(s.instances);
	scope_release(&s.of);
	r->goal = goal_of_answer(&r->pb);
	return st;
}
