/* What all parts of a run ask of it: how long it has taken, whether it is to stop; and whom it
 * tells. */
#include "search/tree/runner.h"

int64_t runner_elapsed(const runner *r) { return clock_ns() - r->start_ns; }

bool runner_stops(void *arg)
{
	const runner *r = arg;
	return search_is_stopped(r->user) || (r->deadline_ns && runner_elapsed(r) > r->deadline_ns);
}

void runner_tell(runner *r, bool incumbent, const char *tactic_name)
{
	if (!r->user->on_event)
		return;
	search_event e = {.incumbent = incumbent,
		.evaluation = r->out->evaluations,
		.elapsed_ns = runner_elapsed(r),
		.tactic = tactic_name,
		.cost = r->out->cost,
		.fits = r->out->fits,
		.baselines = r->out->baselines.p,
		.n_baselines = r->out->baselines.n,
		.nodes = r->nodes,
		.n_nodes = r->n_nodes};
	r->user->on_event(r->user->user, &e);
	r->n_nodes = 0;
}
