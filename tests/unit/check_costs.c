/* Costs by state: what one evaluator has costed, others need not, whatever decisions led them
 * there. */
#include "tests/unit/problem_fixture.h"
#include "tests/unit/run_suite.h"

START_TEST(a_full_memo_starts_over)
{
	cost_memo *m = cost_memo_new(10 * sizeof(cost));
	cost c = {0};
	uint32_t kept = 0;
	for (uint64_t state = 1; state <= 100; state++) {
		c.runtime_ns = (int64_t)state;
		cost_memo_add(m, state, &c);
		ck_assert(cost_memo_find(m, state, &c));
		ck_assert_int_eq(c.runtime_ns, (int64_t)state);
	}
	for (uint64_t state = 1; state <= 100; state++)
		kept += cost_memo_find(m, state, &c);
	ck_assert_uint_ge(kept, 1);
	ck_assert_uint_le(kept, 10);
	cost_memo_free(m);
}
END_TEST

START_TEST(evaluators_share)
{
	for (int way = 0; way < 2; way++) {
		fixture f;
		setup_corpus(&f, "mlp", "tpu-v5e", "data=4,model=4", way); /* a check computes everything */
		evaluator *first = evaluator_new(&f.pb), *second = evaluator_new(&f.pb);
		cost a, b;
		for (uint32_t i = 0; i < 2; i++) {
			ck_assert(evaluator_decide(first, action_of_role(&f.pb, ROLE_ACTION_DATA_PARALLEL, i)));
			ck_assert(
				evaluator_decide(second, action_of_role(&f.pb, ROLE_ACTION_DATA_PARALLEL, i)));
			if (i == 0)
				continue;
			evaluator_cost(first, &a);
			evaluator_cost(second, &b);
		}
		ck_assert_mem_eq(&a, &b, sizeof a);
		ck_assert_uint_eq(evaluator_statistics(first).whole, 1);
		ck_assert_uint_eq(evaluator_statistics(second).whole, way);
		ck_assert_uint_eq(evaluator_statistics(second).known, !way);
		evaluator_free(first);
		evaluator_free(second);
		teardown(&f);
	}
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("costs");
	tcase_add_test(t, a_full_memo_starts_over);
	tcase_add_test(t, evaluators_share);
	return run_suite(t, "costs");
}
