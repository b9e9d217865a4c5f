/* How plans are compared by their costs. */
#include "search/evaluate/evaluate.h"

/* 2 to the power of x / LOG2_ONE, the inverse of log2_fixed. */
static int64_t exp2_fixed(int64_t x)
{
	enum { MOST = 61 };
	if (x >= (int64_t)MOST * LOG2_ONE)
		return (int64_t)1 << MOST;
	int64_t whole = (int64_t)1 << x / LOG2_ONE;
	return whole + (int64_t)((__int128)whole * (x % LOG2_ONE) / LOG2_ONE);
}

/* Memory counts MEMORY_WEIGHT times as much as time: a hundredth of it is worth a tenth of the
 * time. So what comes nearer to the limit is better, but not whatever it takes. Dear: more than any
 * time of a step in ns. */
int64_t cost_too_large(const cost *c)
{
	enum { DEAR = 14 };
	return exp2_fixed(log2_fixed(MAX(c->peak_bytes, 1)) +
		log2_fixed(MAX(c->runtime_ns, 1)) / MEMORY_WEIGHT + (int64_t)DEAR * LOG2_ONE);
}

goal goal_of_answer(const problem *pb)
{
	return (goal){.objective = pb->o->objective, .memory_limit = pb->memory_limit};
}

int64_t plan_energy(const goal *g, const cost *c)
{
	if (!is_costed(c))
		return INT64_MAX;
	int64_t base = g->objective == OBJECTIVE_MEMORY ? c->peak_bytes : c->runtime_ns;
	if (c->peak_bytes <= g->memory_limit)
		return base;
	if (g->nothing_fits)
		return cost_too_large(c);
	double over = (double)c->peak_bytes / (double)MAX(g->memory_limit, 1);
	return (int64_t)MIN(
		(double)base * (OVER_STEP / 1000.0 + OVER_SLOPE / 1000.0 * (over - 1)), 4e18);
}

score score_of(const goal *g, const cost *c)
{
	bool fits = c->peak_bytes <= g->memory_limit;
	if (g->objective == OBJECTIVE_MEMORY)
		return (score){fits, c->peak_bytes, c->runtime_ns};
	return fits ? (score){true, c->runtime_ns, c->peak_bytes}
				: (score){false, cost_too_large(c), c->peak_bytes};
}

score score_final(const problem *pb, const cost *c)
{
	goal g = goal_of_answer(pb);
	return score_of(&g, c);
}

bool score_less(score a, score b)
{
	if (a.fits != b.fits)
		return a.fits;
	if (a.primary != b.primary)
		return a.primary < b.primary;
	return a.secondary < b.secondary;
}
