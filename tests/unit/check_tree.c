/* The search tree: every leaf is costed once, budgets are kept, what costs the same is one leaf,
 * and it ends when nothing is left. */
#include "search/tree/tree.h"
#include "tests/unit/problem_fixture.h"
#include "tests/unit/run_suite.h"

#include <stdlib.h>

typedef struct growing {
	fixture f;
	evaluator *ev[MOST_EVALUATORS];
	worker_pool *pool;
	scope of;
	arena mem;
	goal goal;
	local_search *ls;
	tree *t;
} growing;

static bool never(void *unused)
{
	(void)unused;
	return false;
}

static void begin_on(growing *g, const char *name, uint32_t without)
{
	*g = (growing){0};
	setup_corpus(&g->f, name, "tpu-v5e", "data=4,model=4", false);
	g->f.o.without = without;
	g->goal = goal_of_answer(&g->f.pb);
	for (int i = 0; i < MOST_EVALUATORS; i++)
		g->ev[i] = evaluator_new(&g->f.pb);
	scope_init(&g->of, &g->f.pb, UINT32_MAX, NULL);
	g->pool = pool_new(g->ev, 1, never, NULL);
	g->ls = xmalloc(sizeof *g->ls);
	local_search_init(g->ls, &g->f.pb, &g->goal, g->pool, &g->of, &g->mem, 150);
	g->t = tree_new(&g->f.pb, g->ls, 1);
}

static void begin(growing *g, uint32_t without) { begin_on(g, "mlp", without); }

static void end(growing *g)
{
	tree_free(g->t);
	local_search_release(g->ls);
	free(g->ls);
	scope_release(&g->of);
	arena_release(&g->mem);
	pool_free(g->pool);
	for (int i = 0; i < MOST_EVALUATORS; i++)
		evaluator_free(g->ev[i]);
	teardown(&g->f);
}

/* A leaf with the role's action on the axes (bits), under a node of its number. */
static void add_leaf(growing *g, uint32_t number, role_action which, uint32_t mask)
{
	completion c = {.depth = 2, .path = {number / 2, number}};
	for (uint32_t axis = 0; axis < 2; axis++)
		if (mask >> axis & 1)
			append_role(&g->of, &c.pl, which, axis);
	tree_add(g->t, &c);
}

START_TEST(every_leaf_is_costed_once)
{
	growing g;
	begin(&g, WITHOUT_LOCAL_SEARCH);
	add_leaf(&g, 0, ROLE_ACTION_DATA_PARALLEL, 3);
	add_leaf(&g, 1, ROLE_ACTION_DATA_PARALLEL, 1);
	add_leaf(&g, 2, ROLE_ACTION_DATA_PARALLEL,
		2); /* costs what the one before does: the axes are alike */
	add_leaf(&g, 3, ROLE_ACTION_ZERO3, 3);
	add_leaf(&g, 3, ROLE_ACTION_ZERO2, 3); /* there is one of its path */
	ck_assert_uint_eq(tree_size(g.t), 1 + 2 + 4);
	uint64_t used, all = 0;
	uint32_t changed;
	while (tree_visit(g.t, 100, &used, &changed))
		all += used;
	ck_assert_uint_eq(all, 4);
	int64_t last = 0;
	uint32_t n = 0;
	for (uint32_t leaf = tree_next_best(g.t, ID_NONE); leaf != ID_NONE;
		 leaf = tree_next_best(g.t, leaf), n++) {
		const tree_leaf *l = tree_leaf_at(g.t, leaf);
		ck_assert(l->costed && l->search && l->search->done);
		ck_assert_int_ge(plan_energy(&g.goal, &l->c), last);
		last = plan_energy(&g.goal, &l->c);
	}
	ck_assert_uint_eq(n, 3);
	end(&g);
}
END_TEST

/* Whatever the budget of a visit, no more is used, and better plans are told. */
static void grow(uint32_t without, uint64_t budget)
{
	growing g;
	begin(&g, without);
	for (uint32_t i = 0; i < 6; i++)
		add_leaf(&g, i, i < 3 ? ROLE_ACTION_DATA_PARALLEL : ROLE_ACTION_ZERO3, 1 + i % 3);
	uint64_t used = 0;
	int64_t best = INT64_MAX;
	for (int visits = 0; visits < 2000 && used < budget; visits++) {
		uint64_t now;
		uint32_t changed;
		if (!tree_visit(g.t, budget - used, &now, &changed))
			break;
		ck_assert_uint_le(now, budget - used);
		used += now;
		if (changed != ID_NONE)
			best = MIN(best, plan_energy(&g.goal, &tree_leaf_at(g.t, changed)->c));
	}
	uint32_t leaf = tree_next_best(g.t, ID_NONE);
	if (budget > 100) {
		ck_assert_int_eq(plan_energy(&g.goal, &tree_leaf_at(g.t, leaf)->c), best);
		ck_assert_ptr_nonnull(tree_leaf_at(g.t, leaf)->search);
	}
	ck_assert_uint_le(used, budget);
	end(&g);
}

START_TEST(budgets_are_kept)
{
	for (uint64_t budget = 1; budget < 60; budget += 7)
		grow(0, budget);
	grow(0, 600);
	grow(WITHOUT_TREE, 600);
}
END_TEST

/* With equal budgets PUCT leaves bad leaves alone, which take their turn otherwise. */
START_TEST(effort_goes_where_it_pays)
{
	for (int in_turn = 0; in_turn < 2; in_turn++) {
		growing g;
		begin(&g, in_turn ? WITHOUT_TREE : 0);
		add_leaf(&g, 0, ROLE_ACTION_DATA_PARALLEL, 0); /* nothing is cut: by far the worst */
		add_leaf(&g, 2, ROLE_ACTION_DATA_PARALLEL, 3);
		add_leaf(&g, 4, ROLE_ACTION_ZERO3, 3);
		uint64_t used;
		uint32_t changed;
		for (int visits = 0; visits < 9; visits++)
			tree_visit(g.t, 1000, &used, &changed);
		uint32_t begun = 0;
		for (uint32_t leaf = 0; leaf < 3; leaf++)
			begun += tree_leaf_at(g.t, leaf)->search != NULL;
		ck_assert(in_turn ? begun == 3 : begun < 3 || tree_leaf_at(g.t, 0)->search->at == ALIKE);
		end(&g);
	}
}
END_TEST

/* Too few evaluations for all tactics: the first ones get enough of two thirds of them, and with
 * some to spare what all axes do as if they were one, which is last in the list. */
START_TEST(all_axes_come_with_the_first)
{
	enum { FIND = 60, USED = 40, SPARE = 24 /* 32 for each of two */ };
	growing g;
	begin_on(&g, "transformer_4", 0);
	tactic_space *ts = xcalloc(1, sizeof *ts);
	for (uint64_t spare = SPARE - 1; spare <= SPARE; spare++) {
		*ts = (tactic_space){
			.pb = &g.f.pb, .goal = &g.goal, .pool = g.pool, .of = &g.of, .spare = spare};
		ck_assert(tactics_find(ts, FIND));
		ck_assert_uint_le(ts->used, USED + spare);
		const axis_set *all = &ts->sets[ts->n_sets - 1];
		ck_assert_uint_eq(all->size, ALL_AXES);
		ck_assert_uint_eq(all->instance[CUTS_WEIGHTS_BEFORE_BATCH].n > 0, spare == SPARE);
		ck_assert(ts->sets[0].instance[CUTS_WEIGHTS].n);
		ck_assert(!ts->sets[0].instance[CUTS_WEIGHTS_ALONE].n);
	}
	free(ts);
	end(&g);
}
END_TEST

/* Composite plans as the search lists them, some of them costed; what is shown of the tree adds up,
 * and is in words. */
START_TEST(the_tree_can_be_looked_at)
{
	enum { SHOWN = 24 };
	growing g;
	completion_list list = {0};
	search_node nodes[SHOWN];
	begin(&g, 0);
	tactic_space *ts = xcalloc(1, sizeof *ts);
	*ts = (tactic_space){.pb = &g.f.pb, .goal = &g.goal, .pool = g.pool, .of = &g.of};
	ck_assert(tactics_find(ts, 400));
	/* data that all axes cut, each alone would rather have the batch: found for all of them */
	ck_assert_uint_eq(ts->sets[ts->n_sets - 1].size, ALL_AXES);
	ck_assert(ts->sets[ts->n_sets - 1].instance[CUTS_DATA_ALONE].n);
	ck_assert(!ts->sets[0].instance[CUTS_DATA_ALONE].n);
	completions_list(ts, MOST_LEAVES, &list);
	for (uint32_t i = 0; i < list.n; i++)
		tree_add(g.t, &list.p[i]);
	uint64_t used, all = 0;
	uint32_t changed, costed = 0;
	for (int visits = 0; visits < 12 && tree_visit(g.t, 1000, &used, &changed); visits++)
		all += used;
	for (uint32_t i = 0; i < list.n; i++)
		costed += tree_leaf_at(g.t, i)->costed;
	uint32_t n = tree_list(g.t, ts, SHOWN, nodes);
	ck_assert_uint_eq(n, SHOWN);
	ck_assert_uint_eq(nodes[0].parent, UINT32_MAX);
	ck_assert_uint_ge(
		nodes[0].evaluations, all); /* a plan whose state is known already counts, too */
	ck_assert_uint_le(nodes[0].evaluations, all + costed);
	ck_assert_uint_eq(nodes[0].plans, list.n);
	ck_assert_uint_eq(nodes[0].costed, costed);
	const cost *best = &tree_leaf_at(g.t, tree_next_best(g.t, ID_NONE))->c;
	ck_assert_int_eq(nodes[0].runtime_ns, best->runtime_ns);
	ck_assert_int_eq(nodes[0].peak_bytes, best->peak_bytes);
	uint64_t below[SHOWN] = {0};
	for (uint32_t i = 1; i < n; i++) {
		ck_assert_uint_lt(nodes[i].parent, i);
		ck_assert_uint_le(nodes[i].costed, nodes[i].plans);
		ck_assert_int_ge(nodes[i].runtime_ns, 1);
		below[nodes[i].parent] += nodes[i].evaluations;
		ck_assert_uint_le(below[nodes[i].parent], nodes[nodes[i].parent].evaluations);
		ck_assert_uint_gt(strlen(nodes[i].what), 3);
		for (uint32_t k = 1; k < i; k++) /* no two children of a node are called the same */
			ck_assert_msg(
				nodes[k].parent != nodes[i].parent || strcmp(nodes[k].what, nodes[i].what), "%s",
				nodes[i].what);
	}
	static const uint32_t zero[] = {0, CUTS_BATCH, CUTS_WEIGHTS, 3u << MAX_COMPOSED_AXES};
	char words[64];
	completion_words(ts, zero, 1, words, sizeof words);
	ck_assert_str_eq(words, "each axis on its own");
	completion_words(ts, zero, 3, words, sizeof words);
	ck_assert_str_eq(words, "model: weights");
	completion_words(ts, zero, 4, words, sizeof words);
	ck_assert_str_eq(words, "ZeRO-3 over data+model");
	vec_release(&list);
	free(ts);
	end(&g);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("tree");
	tcase_add_test(t, every_leaf_is_costed_once);
	tcase_add_test(t, budgets_are_kept);
	tcase_add_test(t, effort_goes_where_it_pays);
	tcase_add_test(t, all_axes_come_with_the_first);
	tcase_add_test(t, the_tree_can_be_looked_at);
	return run_suite(t, "tree");
}
