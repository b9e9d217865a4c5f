/* Which options of the device's compiler a plan is compiled with. */
#include "search/tree/runner.h"

/* Those that only let more run at once. */
static uint32_t plain_options(const device *dev)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < dev->n_compiler_options; i++)
		found |= (uint32_t)!dev->compiler_options[i].no_windowed << i;
	return found;
}

void runner_try_options(runner *r)
{
	if (!r->user->best_compiler_options)
		return;
	device_with_options(r->user->device, plain_options(r->user->device), &r->dev);
	r->o.device = &r->dev;
}

/* Those that can change anything for the answer. */
static uint32_t options_of_answer(const runner *r)
{
	const device *dev = r->user->device;
	uint32_t found = 0;
	for (uint32_t i = 0; i < dev->n_compiler_options; i++) {
		const compiler_option *option = &dev->compiler_options[i];
		bool changes = (option->no_windowed && !apply_is_exact(r->out->best.apply)) ||
			(option->no_prefetch &&
				(r->user->best_compiler_options || r->out->cost.prefetched_bytes));
		for (uint32_t k = 0; k < COLL_COUNT; k++)
			changes |= option->asynchronous >> k & 1 && r->out->cost.collectives[k].count;
		found |= (uint32_t)changes << i;
	}
	return found;
}

static bool gains(int64_t with, int64_t without, int64_t least_ppm)
{
	return (__int128)(without - with) * 1000000 > (__int128)without * least_ppm;
}

/* The cost of the answer's program with these options. */
static status cost_with(
	const runner *r, const module *annotated, uint32_t chosen, cost *out, diag *d)
{
	device dev;
	device_with_options(r->user->device, chosen, &dev);
	return simulate_applied(annotated, &dev, r->out->best.apply, r->o.axis_links, out, NULL, d);
}

/* Takes what brings something, one by one, and leaves out what brings nothing by then. */
static status take_and_leave(
	const runner *r, const module *annotated, uint32_t offered, uint32_t *chosen, cost *c, diag *d)
{
	for (int leaves = 0; leaves < 2; leaves++)
		for (uint32_t i = 0; i < r->user->device->n_compiler_options; i++) {
			uint32_t other = *chosen ^ 1u << i;
			cost changed;
			if (!(offered >> i & 1) || (*chosen >> i & 1) != (uint32_t)leaves)
				continue;
			TRY(cost_with(r, annotated, other, &changed, d));
			if (c->peak_bytes <= r->pb.memory_limit && changed.peak_bytes > r->pb.memory_limit)
				continue; /* no option is worth the memory that is not there */
			if (leaves ? gains(c->runtime_ns, changed.runtime_ns, OPTION_PART_PPM)
					   : !gains(changed.runtime_ns, c->runtime_ns, OPTION_PART_PPM))
				continue;
			*chosen = other;
			*c = changed;
		}
	return ST_OK;
}

static status choose(runner *r, const module *annotated, diag *d)
{
	search_result *out = r->out;
	uint32_t offered = options_of_answer(r), plain = plain_options(r->user->device), chosen;
	bool best = r->user->best_compiler_options;
	cost c = out->cost;
	chosen = best ? plain & offered : 0;
	TRY(take_and_leave(r, annotated, offered, &chosen, &c, d));
	if (!best) {
		bool worth = gains(c.runtime_ns, out->cost.runtime_ns, OPTION_GAIN_PPM);
		out->better_options = worth ? chosen : 0;
		out->better_runtime_ns = worth ? c.runtime_ns : 0;
		return ST_OK;
	}
	out->compiler_options = chosen;
	strategy_choose_options(&out->best, r->user->device, chosen);
	out->cost = c;
	out->fits = c.peak_bytes <= r->pb.memory_limit;
	return ST_OK;
}

status runner_settle_options(runner *r, diag *d)
{
	if (r->user->best_compiler_options)
		for (uint32_t i = 0; i < r->out->alternatives.n; i++) /* as they were found */
			r->out->alternatives.p[i].compiler_options = plain_options(r->user->device);
	bool stopped = search_is_stopped(r->user) && !r->user->best_compiler_options;
	if (stopped || !options_of_answer(r))
		return ST_OK;
	module *annotated;
	TRY(strategy_apply(r->base, &r->out->best, &annotated, d));
	status st = choose(r, annotated, d);
	module_free(annotated);
	return st;
}
