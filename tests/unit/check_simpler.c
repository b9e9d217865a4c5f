/* Among plans that cost the same within the uncertainty the simplest is the answer; not beyond it,
 * not without the memory, and not against what the user decided. */
#include "tests/unit/search_fixture.h"
#include "tests/unit/run_suite.h"

/* On 2x4 the cheapest plan of the fixture cuts over both axes; over one a step takes 7% longer,
 * with one decision less and 1.7 times the memory. */
enum { LARGE = 300000 };

typedef struct asked {
	int64_t uncertainty_ppm, memory;
	objective objective;
	const char *schedule;
	uint32_t threads;
} asked;

static void answer(fixture *f, asked a, search_result *r)
{
	diag d = {0};
	setup(f, mlp, "data=2,model=4");
	f->o.apply_exact_if_possible = true;
	f->o.evaluations = 600;
	f->o.uncertainty_ppm = a.uncertainty_ppm;
	f->o.memory_limit = a.memory;
	f->o.objective = a.objective;
	f->o.schedule_json = a.schedule;
	f->o.threads = a.threads ? a.threads : 1;
	ck_assert_msg(search_run(f->m, &f->o, r, &d) == ST_OK, "%s", d.msg);
}

/* What became of the question: the cost, and what is simpler about it. */
static simpler_than cost_of(asked a, cost *c)
{
	fixture f;
	search_result r;
	answer(&f, a, &r);
	simpler_than s = r.best.simpler;
	*c = r.cost;
	ck_assert(r.fits);
	search_result_release(&r);
	teardown(&f);
	return s;
}

/* What a plan may take that does without so much: it has as many collectives. */
static int64_t most_runtime(const cost *cheapest, const simpler_than *s, int64_t ppm)
{
	ck_assert_int_eq(s->own.collectives, s->cheapest.collectives);
	return cheapest->runtime_ns +
		cheapest->runtime_ns * ppm * (s->cheapest.decisions - s->own.decisions) /
		s->cheapest.decisions / 1000000;
}

START_TEST(the_simpler_plan_is_answered)
{
	cost cheapest, simple;
	simpler_than none = cost_of((asked){0}, &cheapest),
				 s = cost_of((asked){.uncertainty_ppm = LARGE}, &simple);
	ck_assert(!none.any && s.any);
	ck_assert_int_eq(s.runtime_ns, cheapest.runtime_ns);
	ck_assert_int_eq(s.peak_bytes, cheapest.peak_bytes);
	ck_assert_int_eq(s.uncertainty_ppm, LARGE);
	ck_assert_uint_lt(s.own.decisions, s.cheapest.decisions);
	ck_assert_int_le(s.own.collectives, s.cheapest.collectives);
	ck_assert_int_gt(simple.runtime_ns, cheapest.runtime_ns);
	ck_assert_int_le(simple.runtime_ns, most_runtime(&cheapest, &s, LARGE));
}
END_TEST

/* To the millionth. */
START_TEST(a_difference_above_it_decides)
{
	cost cheapest, simple, c;
	cost_of((asked){0}, &cheapest);
	simpler_than s = cost_of((asked){.uncertainty_ppm = LARGE}, &simple);
	int64_t ppm = 0;
	while (most_runtime(&cheapest, &s, ppm) < simple.runtime_ns)
		ppm++;
	ck_assert(cost_of((asked){.uncertainty_ppm = ppm}, &c).any);
	ck_assert_int_eq(c.runtime_ns, simple.runtime_ns);
	ppm--;
	ck_assert(!cost_of((asked){.uncertainty_ppm = ppm}, &c).any);
	ck_assert_int_eq(c.runtime_ns, cheapest.runtime_ns);
}
END_TEST

/* Memory has the same margin. */
START_TEST(it_has_to_fit)
{
	cost cheapest, simple, c;
	cost_of((asked){0}, &cheapest);
	cost_of((asked){.uncertainty_ppm = LARGE}, &simple);
	ck_assert_int_gt(simple.peak_bytes, cheapest.peak_bytes);
	int64_t least = simple.peak_bytes + simple.peak_bytes * LARGE / 1000000;
	ck_assert(cost_of((asked){.uncertainty_ppm = LARGE, .memory = least}, &c).any);
	ck_assert_int_eq(c.peak_bytes, simple.peak_bytes);
	int64_t too_small[] = {least - 1, simple.peak_bytes, simple.peak_bytes - 1};
	for (size_t i = 0; i < COUNT_OF(too_small); i++) {
		cost_of((asked){.uncertainty_ppm = LARGE, .memory = too_small[i]}, &c);
		ck_assert_int_lt(c.peak_bytes, simple.peak_bytes);
	}
}
END_TEST

START_TEST(memory_as_the_objective)
{
	cost least, c;
	cost_of((asked){.objective = OBJECTIVE_MEMORY}, &least);
	ck_assert(!cost_of((asked){.objective = OBJECTIVE_MEMORY, .uncertainty_ppm = LARGE}, &c).any);
	ck_assert(!memcmp(&least, &c, sizeof c));
}
END_TEST

START_TEST(what_the_user_decided_stays)
{
	static const char *const both =
		"{\"tactics\":[{\"manual\":{\"arguments\":\"params['w1']\",\"dimension\":1,\"axis\":"
		"\"data\"}},{\"manual\":{\"arguments\":\"params['w1']\",\"dimension\":1,\"axis\":\"model\"}"
		"},{\"auto\":{\"axes\":[\"data\",\"model\"]}}]}";
	fixture f;
	search_result r;
	answer(&f, (asked){.uncertainty_ppm = LARGE, .schedule = both}, &r);
	const sharding *w1 = sharding_get(f.m->shardings, r.best.args[0]);
	ck_assert_uint_eq(sharding_dim(w1, 1).n, 2);
	search_result_release(&r);
	teardown(&f);
}
END_TEST

START_TEST(threads_do_not_matter)
{
	strbuf texts[2] = {0};
	for (uint32_t i = 0; i < 2; i++) {
		fixture f;
		search_result r;
		diag d = {0};
		answer(&f, (asked){.uncertainty_ppm = LARGE, .threads = i + 1}, &r);
		r.elapsed_ns = 0;
		for (uint32_t k = 0; k < r.incumbents.n; k++)
			r.incumbents.p[k].elapsed_ns = 0;
		ck_assert_int_eq(document_write(f.m, &f.o, &r, &texts[i], &d), ST_OK);
		search_result_release(&r);
		teardown(&f);
	}
	ck_assert_str_eq(texts[0].p, texts[1].p);
	strbuf_release(&texts[0]);
	strbuf_release(&texts[1]);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("simpler");
	tcase_add_test(t, the_simpler_plan_is_answered);
	tcase_add_test(t, a_difference_above_it_decides);
	tcase_add_test(t, it_has_to_fit);
	tcase_add_test(t, memory_as_the_objective);
	tcase_add_test(t, what_the_user_decided_stays);
	tcase_add_test(t, threads_do_not_matter);
	return run_suite(t, "simpler");
}
