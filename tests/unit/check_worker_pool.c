/* Evaluators side by side: what is costed and what counts as an evaluation is the same for any
 * number of them. */
#include "tests/unit/problem_fixture.h"
#include "tests/unit/run_suite.h"

#include <stdlib.h>

enum { PLANS = 120, JOBS = 12, JOB_PLANS = 20 };

typedef struct side {
	evaluator *ev[MOST_EVALUATORS];
	worker_pool *pool;
} side;

static bool never(void *unused)
{
	(void)unused;
	return false;
}
static bool always(void *unused)
{
	(void)unused;
	return true;
}

static side open_side(const fixture *f, int threads, bool (*stop)(void *))
{
	side s;
	for (int i = 0; i < MOST_EVALUATORS; i++)
		s.ev[i] = evaluator_new(&f->pb);
	s.pool = pool_new(s.ev, threads, stop, NULL);
	return s;
}

static void close_side(side *s)
{
	pool_free(s->pool);
	for (int i = 0; i < MOST_EVALUATORS; i++)
		evaluator_free(s->ev[i]);
}

/* Of one to three decisions, some of them more than once. */
static void list_plans(const fixture *f, plan *out, uint32_t n, uint64_t seed)
{
	rng r;
	rng_seed(&r, seed, 0);
	for (uint32_t i = 0; i < n; i++) {
		out[i].n = 0;
		for (uint32_t k = 0; k < 1 + i % 3; k++)
			plan_insert(&out[i], k, &f->actions.p[rng_below(&r, MIN(f->actions.n, 8u))], "test");
	}
}

/* States among the first n plans, and what they cost, one after the other. */
static uint32_t cost_alone(
	const fixture *f, plan *plans, uint32_t n, cost *costs, uint32_t *first_states)
{
	evaluator *ev = evaluator_new(&f->pb);
	uint64_t seen[PLANS];
	uint32_t distinct = 0;
	for (uint32_t i = 0; i < n; i++) {
		evaluator_run(ev, &plans[i], &costs[i]);
		uint32_t k = 0;
		while (k < distinct && seen[k] != evaluator_hash(ev))
			k++;
		if (k == distinct)
			seen[distinct++] = evaluator_hash(ev);
		first_states[i] = distinct;
	}
	evaluator_free(ev);
	return distinct;
}

START_TEST(plans_count_once)
{
	fixture f;
	plan *plans = xcalloc(PLANS, sizeof *plans), *own = xcalloc(PLANS, sizeof *own);
	cost *alone = xcalloc(PLANS, sizeof *alone), *costs = xcalloc(PLANS, sizeof *costs);
	uint32_t states[PLANS];
	setup_corpus(&f, "mlp", "tpu-v5e", "data=4,model=4", false);
	list_plans(&f, plans, PLANS, 1);
	memcpy(own, plans, PLANS * sizeof *own);
	uint32_t distinct = cost_alone(&f, own, PLANS, alone, states);
	ck_assert_uint_gt(distinct, 10);
	ck_assert_uint_lt(distinct, PLANS);
	for (int threads = 1; threads <= MOST_EVALUATORS; threads++)
		for (uint64_t budget = 0; budget <= distinct + 1; budget += 1 + budget / 4) {
			side s = open_side(&f, threads, never);
			memcpy(own, plans, PLANS * sizeof *own);
			ck_assert_uint_eq(
				pool_cost(s.pool, own, PLANS, budget, costs), MIN(budget, (uint64_t)distinct));
			bool over = false;
			for (uint32_t i = 0; i < PLANS; i++) { /* up to where the budget ends */
				ck_assert(!over || !is_costed(&costs[i]));
				over |= !is_costed(&costs[i]);
				ck_assert(over ? states[i] >= budget : states[i] <= budget);
				if (is_costed(&costs[i]))
					ck_assert_mem_eq(&costs[i], &alone[i], sizeof(cost));
			}
			if (budget >= distinct) {
				ck_assert(!over);
				ck_assert_uint_eq(pool_cost(s.pool, own, PLANS, distinct, costs), 0);
				ck_assert_mem_eq(costs, alone, PLANS * sizeof *costs);
			}
			close_side(&s);
		}
	free(plans);
	free(own);
	free(alone);
	free(costs);
	teardown(&f);
}
END_TEST

START_TEST(stops)
{
	fixture f;
	plan *plans = xcalloc(PLANS, sizeof *plans);
	cost *costs = xcalloc(PLANS, sizeof *costs);
	setup_corpus(&f, "mlp", "tpu-v5e", "data=4,model=4", false);
	list_plans(&f, plans, PLANS, 2);
	side s = open_side(&f, 2, always);
	ck_assert(pool_stops(s.pool));
	ck_assert_uint_eq(pool_cost(s.pool, plans, PLANS, 1000, costs), 0);
	for (uint32_t i = 0; i < PLANS; i++)
		ck_assert(!is_costed(&costs[i]));
	close_side(&s);
	free(plans);
	free(costs);
	teardown(&f);
}
END_TEST

typedef struct walk {
	const fixture *f;
	int64_t least[JOBS];
	uint64_t used[JOBS], distinct[JOBS]; /* evaluations; states that it came to */
} walk;

static void walk_some(void *user, uint32_t i, job *s)
{
	walk *w = user;
	plan *plans = xcalloc(JOB_PLANS, sizeof *plans);
	cost c;
	uint64_t seen[JOB_PLANS];
	w->distinct[i] = 0;
	list_plans(w->f, plans, JOB_PLANS, i / 2); /* two do the same */
	w->least[i] = INT64_MAX;
	for (uint32_t k = 0; k < JOB_PLANS; k++) {
		evaluator_run(s->ev, &plans[k], NULL);
		job_cost(s, &c);
		uint32_t at = 0;
		while (at < w->distinct[i] && seen[at] != evaluator_hash(s->ev))
			at++;
		if (at == w->distinct[i])
			seen[w->distinct[i]++] = evaluator_hash(s->ev);
		w->least[i] = MIN(w->least[i], c.runtime_ns);
	}
	w->used[i] = job_used(s);
	free(plans);
}

START_TEST(jobs_count_once)
{
	fixture f;
	walk first = {0};
	uint64_t used = 0;
	setup_corpus(&f, "mlp", "tpu-v5e", "data=4,model=4", false);
	for (int threads = 1; threads <= MOST_EVALUATORS; threads++) {
		side s = open_side(&f, threads, never);
		walk w = {.f = &f};
		uint64_t n = pool_do(s.pool, JOBS, walk_some, &w), sum = 0;
		for (uint32_t i = 0; i < JOBS; i++)
			sum += w.used[i];
		ck_assert_mem_eq(w.used, w.distinct, sizeof w.used);
		ck_assert_uint_gt(n, JOB_PLANS / 2);
		ck_assert_uint_le(2 * n, sum);
		if (threads == 1) {
			first = w;
			used = n;
		}
		ck_assert_uint_eq(n, used);
		ck_assert_mem_eq(first.used, w.used, sizeof w.used);
		ck_assert_mem_eq(first.least, w.least, sizeof w.least);
		ck_assert_uint_eq(pool_do(s.pool, JOBS, walk_some, &w), 0); /* all of it is known */
		for (uint32_t i = 0; i < JOBS; i++)
			ck_assert_uint_eq(w.used[i], 0);
		ck_assert_mem_eq(first.least, w.least, sizeof w.least);
		close_side(&s);
	}
	teardown(&f);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("worker_pool");
	tcase_add_test(t, plans_count_once);
	tcase_add_test(t, stops);
	tcase_add_test(t, jobs_count_once);
	return run_suite(t, "worker_pool");
}
