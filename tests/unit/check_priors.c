/* Priors of the tree: what statistics of other plans say of paths, and that the tree goes by it. */
#include "search/tree/tree.h"
#include "tests/unit/problem_fixture.h"
#include "tests/unit/run_suite.h"

#include <math.h>
#include <stdlib.h>

/* Three plans with the batch over one axis, and weights before the batch over the other one; one
 * with the batch over both and parameters cut over one (ZeRO-3); one that cuts nothing. */
static const char statistics[] =
	"[[[\"batch\"],[\"weights\",\"batch\"]],[[\"batch\",\"weights\"],[\"batch\",\"zero2\"]],"
	"[[\"weights\",\"batch\"],[\"batch\"]],[[\"batch\",\"zero2\",\"zero3\"],[\"batch\"]],[[],[]]]";

typedef struct searching {
	fixture f;
	evaluator *ev[MOST_EVALUATORS];
	worker_pool *pool;
	scope of;
	arena mem;
	goal goal;
	local_search *ls;
	tactic_space *ts;
	tactic_priors *priors;
} searching;

static bool never(void *unused)
{
	(void)unused;
	return false;
}

static tactic_priors *read_statistics(const char *json)
{
	diag d = {0};
	tactic_priors *p = tactic_priors_read(json, &d);
	ck_assert_msg(p != NULL, "%s", d.msg);
	return p;
}

static void begin(searching *s)
{
	*s = (searching){.priors = read_statistics(statistics)};
	setup_corpus(&s->f, "mlp", "tpu-v5e", "data=4,model=4", false);
	s->goal = goal_of_answer(&s->f.pb);
	for (int i = 0; i < MOST_EVALUATORS; i++)
		s->ev[i] = evaluator_new(&s->f.pb);
	scope_init(&s->of, &s->f.pb, UINT32_MAX, NULL);
	s->pool = pool_new(s->ev, 1, never, NULL);
	s->ls = xmalloc(sizeof *s->ls);
	local_search_init(s->ls, &s->f.pb, &s->goal, s->pool, &s->of, &s->mem, 150);
	s->ts = xcalloc(1, sizeof *s->ts);
	*s->ts = (tactic_space){.pb = &s->f.pb, .goal = &s->goal, .pool = s->pool, .of = &s->of};
}

static void end(searching *s)
{
	tactic_priors_free(s->priors);
	free(s->ts);
	local_search_release(s->ls);
	free(s->ls);
	scope_release(&s->of);
	arena_release(&s->mem);
	pool_free(s->pool);
	for (int i = 0; i < MOST_EVALUATORS; i++)
		evaluator_free(s->ev[i]);
	teardown(&s->f);
}

/* How many plans do what the path says, by its prior; that of the path that says nothing but that
 * each axis is on its own counts all of them. */
static long plans_of(const searching *s, uint32_t depth, const uint32_t *path)
{
	static const uint32_t apart[] = {0};
	double all = tactic_prior(s->priors, s->ts, apart, 1) - 1;
	ck_assert(all > 0);
	double own = tactic_prior(s->priors, s->ts, path, depth) - 1;
	return lround(own / all * tactic_priors_plans(s->priors));
}
#define PLANS(s, depth, ...) plans_of(s, depth, (const uint32_t[]){__VA_ARGS__})

enum {
	FIRST = 1 << MAX_COMPOSED_AXES /* ZeRO-3 over the first axis */,
	SECOND = 2 << MAX_COMPOSED_AXES
};

START_TEST(plans_are_counted)
{
	searching s;
	begin(&s);
	ck_assert(tactics_find(s.ts, 600));
	ck_assert_uint_eq(tactic_priors_plans(s.priors), 4); /* what cuts nothing says nothing */
	ck_assert_int_eq(PLANS(&s, 2, 0, CUTS_WEIGHTS), 0);
	ck_assert_int_eq(PLANS(&s, 2, 0, CUTS_BATCH), 4);
	ck_assert_int_eq(PLANS(&s, 2, 0, CUTS_WEIGHTS_BEFORE_BATCH), 3);
	/* Axes have no names. */
	ck_assert_int_eq(PLANS(&s, 3, 0, CUTS_BATCH, CUTS_WEIGHTS_BEFORE_BATCH), 3);
	ck_assert_int_eq(PLANS(&s, 3, 0, CUTS_WEIGHTS_BEFORE_BATCH, CUTS_BATCH), 3);
	ck_assert_int_eq(PLANS(&s, 3, 0, CUTS_BATCH, CUTS_BATCH), 1);
	/* No plan has it over both axes, as splits and joined axes do. */
	ck_assert_int_eq(PLANS(&s, 3, 0, CUTS_WEIGHTS_BEFORE_BATCH, CUTS_WEIGHTS_BEFORE_BATCH), 0);
	ck_assert_int_eq(PLANS(&s, 1, MAX_AXIS_SETS), 0);
	ck_assert_int_eq(PLANS(&s, 1, 2), 0);
	/* State is cut where parameters are, and over the axis that the tactic is on. */
	ck_assert_int_eq(PLANS(&s, 4, 0, CUTS_BATCH, CUTS_BATCH, FIRST), 1);
	ck_assert_int_eq(PLANS(&s, 4, 0, CUTS_BATCH, CUTS_BATCH, SECOND), 1);
	ck_assert_int_eq(PLANS(&s, 4, 0, CUTS_BATCH, CUTS_BATCH, FIRST | SECOND), 0);
	ck_assert_int_eq(PLANS(&s, 4, 0, CUTS_BATCH, CUTS_WEIGHTS_BEFORE_BATCH, 1), 1);
	ck_assert_int_eq(PLANS(&s, 4, 0, CUTS_BATCH, CUTS_WEIGHTS_BEFORE_BATCH, 2), 0);
	/* What there was before says nothing of tactics. */
	ck_assert_int_eq(PLANS(&s, 2, MAX_AXIS_SETS + 1, 0), 0);
	end(&s);
}
END_TEST

/* Plans on meshes of more axes will do, those of fewer cannot be laid onto the mesh. */
START_TEST(other_numbers_of_axes)
{
	searching s;
	begin(&s);
	ck_assert(tactics_find(s.ts, 600));
	tactic_priors_free(s.priors);
	s.priors = read_statistics(
		"[[[\"batch\"]],[[\"batch\"],[\"data\"],[\"weights\"]],[[\"data\"],[\"data\"]]]");
	/* Of three plans the first one counts nowhere: two are all that there can be. */
	static const uint32_t weights[] = {0, CUTS_BATCH, CUTS_WEIGHTS},
						  data[] = {0, CUTS_DATA, CUTS_BATCH}, both[] = {0, CUTS_DATA, CUTS_DATA},
						  batch[] = {0, CUTS_BATCH, CUTS_BATCH};
	double one = tactic_prior(s.priors, s.ts, weights, 3);
	ck_assert(one > 1);
	ck_assert(tactic_prior(s.priors, s.ts, data, 3) == one);
	ck_assert(tactic_prior(s.priors, s.ts, both, 3) == one);
	ck_assert(tactic_prior(s.priors, s.ts, batch, 3) == 1);
	ck_assert(tactic_prior(s.priors, s.ts, data, 2) > one);
	ck_assert(tactic_prior(NULL, s.ts, weights, 3) == 1);
	end(&s);
}
END_TEST

static bool is_found(const searching *s, tactic_id t) { return s->ts->sets[0].instance[t].n > 0; }

/* Tactics that none of the plans has come later; in the end all are found that are found without
 * priors. */
START_TEST(likely_tactics_are_found_first)
{
	searching all, s;
	begin(&all);
	ck_assert(tactics_find(all.ts, 4000));
	ck_assert(is_found(&all, CUTS_WEIGHTS) && is_found(&all, CUTS_WEIGHTS_BEFORE_BATCH) &&
		is_found(&all, CUTS_DATA_AFTER_ZERO) && all.ts->n_splits && !all.ts->some_left);
	begin(&s);
	s.ts->priors = s.priors;
	ck_assert(tactics_find(s.ts, 4000));
	ck_assert(is_found(&s, CUTS_WEIGHTS_BEFORE_BATCH));
	ck_assert(!is_found(&s, CUTS_WEIGHTS) && !is_found(&s, CUTS_DATA_AFTER_ZERO));
	ck_assert(!s.ts->n_splits && s.ts->some_left);
	ck_assert_uint_lt(s.ts->used * 3, all.ts->used);
	tactics_find_rest(s.ts, 4000);
	ck_assert(!s.ts->some_left);
	ck_assert_uint_eq(s.ts->n_splits, all.ts->n_splits);
	for (uint32_t i = 0; i < all.ts->n_sets; i++)
		for (tactic_id t = CUTS_WEIGHTS; t < TACTICS; t++)
			ck_assert(plan_same(&all.ts->sets[i].instance[t], &s.ts->sets[i].instance[t]));
	end(&s);
	/* Where nothing is known, all are likely. */
	begin(&s);
	tactic_priors_free(s.priors);
	s.priors = read_statistics("[[[],[]]]");
	s.ts->priors = s.priors;
	ck_assert(tactics_find(s.ts, 4000));
	ck_assert(!s.ts->some_left && s.ts->used == all.ts->used);
	end(&s);
	end(&all);
}
END_TEST

START_TEST(what_is_no_statistics)
{
	static const char *const texts[] = {"", "{}", "3", "[3]", "[[3]]", "[[[3]]]", "[[[\"cut\"]]]",
		"[[[\"batch\"]],[[\"Batch\"]]]", "[[\"batch\"]]"};
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		diag d = {0};
		ck_assert_msg(tactic_priors_read(texts[i], &d) == NULL, "%s", texts[i]);
		ck_assert_int_eq(d.code, ST_ERR_INVALID);
		ck_assert_msg(strstr(d.msg, "tactic statistics: expected") != NULL, "%s", d.msg);
	}
}
END_TEST

/* Nothing is costed yet: the first plan that is costed is one of those that won elsewhere. */
START_TEST(the_tree_goes_by_priors)
{
	static const struct {
		const char *statistics;
		uint32_t tactics[2];
	} cases[] = {{"[[[\"batch\"],[\"data\"]]]", {CUTS_BATCH, CUTS_DATA}},
		{"[[[\"weights\"],[\"weights\",\"batch\",\"zero3\"]]]",
			{CUTS_WEIGHTS, CUTS_WEIGHTS_BEFORE_BATCH}}};
	searching s;
	begin(&s);
	completion_list list = {0};
	ck_assert(tactics_find(s.ts, 600));
	completions_list(s.ts, MOST_LEAVES, &list);
	for (uint32_t k = 0; k < COUNT_OF(cases); k++) {
		tactic_priors_free(s.priors);
		s.priors = read_statistics(cases[k].statistics);
		tree *t = tree_new(&s.f.pb, s.ls, 1);
		tree_set_priors(t, s.ts, s.priors);
		for (uint32_t i = 0; i < list.n; i++)
			tree_add(t, &list.p[i]);
		uint64_t used;
		uint32_t changed, n = 0, other = 0;
		ck_assert(tree_visit(t, 2, &used, &changed));
		for (uint32_t i = 0; i < list.n; i++) {
			const completion *c = &list.p[i];
			bool first = c->path[1] == cases[k].tactics[0] && c->path[2] == cases[k].tactics[1],
				 second = c->path[1] == cases[k].tactics[1] && c->path[2] == cases[k].tactics[0];
			if (tree_leaf_at(t, i)->costed)
				first || second ? n++ : other++;
		}
		ck_assert_uint_eq(n, 2);
		ck_assert_uint_eq(other, 0);
		tree_free(t);
	}
	vec_release(&list);
	end(&s);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("priors");
	tcase_add_test(t, plans_are_counted);
	tcase_add_test(t, other_numbers_of_axes);
	tcase_add_test(t, likely_tactics_are_found_first);
	tcase_add_test(t, what_is_no_statistics);
	tcase_add_test(t, the_tree_goes_by_priors);
	return run_suite(t, "priors");
}
