/* The front of time over memory, against all pairs. */
#include "search/evaluate/evaluate.h"
#include "tests/unit/run_suite.h"

#include <stdlib.h>

static bool beats(const cost *a, const cost *b)
{
	return a->peak_bytes <= b->peak_bytes && a->runtime_ns <= b->runtime_ns;
}

/* Is the point there, with its own plan? */
static bool is_there(const frontier *f, const cost *c)
{
	for (uint32_t i = 0; i < f->points.n; i++)
		if (f->points.p[i].c.peak_bytes == c->peak_bytes &&
			f->points.p[i].c.runtime_ns == c->runtime_ns)
			return f->points.p[i].pl.n == (uint32_t)c->compute_ns;
	return false;
}

/* Few points among many: no point that is beaten, and every one that is not. */
START_TEST(what_nothing_beats)
{
	enum { N = 300, ROUNDS = 40 };
	plan *pl = xcalloc(1, sizeof *pl);
	cost *all = xcalloc(N, sizeof *all);
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		frontier f = {0};
		rng r;
		rng_seed(&r, seed, 0);
		for (uint32_t i = 0; i < N; i++) {
			all[i] = (cost){.peak_bytes = 1 + (int64_t)rng_below(&r, 40),
				.runtime_ns = 1 + (int64_t)rng_below(&r, 40),
				.compute_ns = 1 + i};
			pl->n = 1 + i; /* only a number here */
			bool beaten = false;
			for (uint32_t k = 0; k < i && !beaten; k++)
				beaten = beats(&all[k], &all[i]);
			ck_assert(frontier_add(&f, pl, &all[i]) == !beaten);
		}
		for (uint32_t i = 0; i < N; i++) {
			bool beaten = false;
			for (uint32_t k = 0; k < N && !beaten; k++)
				beaten = k != i && beats(&all[k], &all[i]) && (k < i || !beats(&all[i], &all[k]));
			ck_assert(beaten || is_there(&f, &all[i]));
		}
		for (uint32_t i = 1; i < f.points.n; i++) {
			ck_assert_int_gt(f.points.p[i].c.peak_bytes, f.points.p[i - 1].c.peak_bytes);
			ck_assert_int_lt(f.points.p[i].c.runtime_ns, f.points.p[i - 1].c.runtime_ns);
		}
		frontier_release(&f);
	}
	free(all);
	free(pl);
}
END_TEST

/* A knee says more than points in a row; the ends stay. */
START_TEST(thinned)
{
	static const int64_t points[][2] = {
		{100, 1000}, {101, 999}, {110, 500}, {200, 490}, {400, 480}, {1600, 100}};
	plan *pl = xcalloc(1, sizeof *pl);
	frontier f = {0};
	for (uint32_t i = 0; i < COUNT_OF(points); i++) {
		cost c = {.peak_bytes = points[i][0], .runtime_ns = points[i][1]};
		ck_assert(frontier_add(&f, pl, &c));
	}
	cost nothing = {.peak_bytes = NOT_COSTED, .runtime_ns = NOT_COSTED};
	ck_assert(!frontier_add(&f, pl, &nothing));
	frontier_thin(&f, 3);
	ck_assert_uint_eq(f.points.n, 3);
	ck_assert_int_eq(f.points.p[0].c.peak_bytes, 100);
	ck_assert_int_eq(f.points.p[1].c.peak_bytes, 110);
	ck_assert_int_eq(f.points.p[2].c.peak_bytes, 1600);
	frontier_thin(&f, 0);
	ck_assert_uint_eq(f.points.n, 2);
	frontier_release(&f);
	/* more than are kept: the ends are there whatever is left out between them */
	for (int64_t i = 0; i < 1000; i++) {
		cost c = {.peak_bytes = 1000 + i, .runtime_ns = 2000 - i};
		ck_assert(frontier_add(&f, pl, &c));
	}
	ck_assert_uint_lt(f.points.n, 100);
	ck_assert_int_eq(f.points.p[0].c.peak_bytes, 1000);
	ck_assert_int_eq(f.points.p[f.points.n - 1].c.runtime_ns, 1001);
	frontier_release(&f);
	free(pl);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("frontier");
	tcase_add_test(t, what_nothing_beats);
	tcase_add_test(t, thinned);
	return run_suite(t, "frontier");
}
