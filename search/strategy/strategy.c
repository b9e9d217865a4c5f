/* Strategies: their life, and the compiler options that they assume. */
#include "search/strategy/strategy.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

void strategy_init(strategy *s, mesh_id mesh, uint32_t n_args, uint32_t n_results)
{
	*s = (strategy){.mesh = mesh, .n_args = n_args, .n_results = n_results};
	s->args = arena_zarray(&s->mem, sharding_id, n_args + 1);
	s->results = arena_zarray(&s->mem, sharding_id, n_results + 1);
	s->propagated = arena_zarray(&s->mem, sharding_id, n_args + 1);
}

void strategy_release(strategy *s)
{
	arena_release(&s->mem);
	*s = (strategy){0};
}

void strategy_copy(strategy *to, const strategy *from)
{
	strategy_init(to, from->mesh, from->n_args, from->n_results);
	to->apply = from->apply;
	to->trip_count = from->trip_count;
	to->simpler = from->simpler;
	to->n_compiler_options = from->n_compiler_options;
	to->compiler_options =
		arena_array(&to->mem, strategy_compiler_option, from->n_compiler_options);
	for (uint32_t i = 0; i < from->n_compiler_options; i++)
		to->compiler_options[i] =
			(strategy_compiler_option){copy_str(&to->mem, from->compiler_options[i].name),
				copy_str(&to->mem, from->compiler_options[i].value)};
	to->has_links = from->has_links;
	for (uint32_t i = 0; i < MAX_MESH_AXES; i++)
		to->axis_links[i] = from->axis_links[i]
			? arena_strdup(&to->mem, from->axis_links[i], strlen(from->axis_links[i]))
			: NULL;
	memcpy(to->args, from->args, from->n_args * sizeof *to->args);
	memcpy(to->results, from->results, from->n_results * sizeof *to->results);
	memcpy(to->propagated, from->propagated, from->n_args * sizeof *to->propagated);
	to->n_constraints = from->n_constraints;
	to->constraints = arena_array(&to->mem, strategy_constraint, from->n_constraints);
	for (uint32_t i = 0; i < from->n_constraints; i++) {
		to->constraints[i] = from->constraints[i];
		to->constraints[i].function = copy_str(&to->mem, from->constraints[i].function);
		to->constraints[i].location = copy_str(&to->mem, from->constraints[i].location);
	}
	to->n_actions = from->n_actions;
	to->actions = arena_array(&to->mem, strategy_action, from->n_actions);
	for (uint32_t i = 0; i < from->n_actions; i++) {
		strategy_action *a = &to->actions[i];
		*a = from->actions[i];
		a->tactic = copy_str(&to->mem, a->tactic);
		uint32_t *members = arena_array(&to->mem, uint32_t, a->n_members);
		memcpy(members, a->members, a->n_members * sizeof *members);
		a->members = members;
		uint32_t *sites = arena_array(&to->mem, uint32_t, a->n_sites);
		if (a->n_sites)
			memcpy(sites, a->sites, a->n_sites * sizeof *sites);
		a->sites = sites;
	}
}

void strategy_choose_options(strategy *s, const device *dev, uint32_t chosen)
{
	s->n_compiler_options = 0;
	s->compiler_options = arena_array(&s->mem, strategy_compiler_option, MAX_COMPILER_OPTIONS);
	for (uint32_t i = 0; i < dev->n_compiler_options; i++)
		if (chosen >> i & 1)
			s->compiler_options[s->n_compiler_options++] =
				(strategy_compiler_option){copy_str(&s->mem, str_of(dev->compiler_options[i].name)),
					copy_str(&s->mem, str_of(dev->compiler_options[i].value))};
}

const strategy_compiler_option *strategy_device(const strategy *s, const device *dev, device *out)
{
	uint32_t chosen = 0;
	const strategy_compiler_option *unknown = NULL;
	for (uint32_t i = 0; i < s->n_compiler_options; i++) {
		const strategy_compiler_option *option = &s->compiler_options[i];
		uint32_t k = device_option(dev, option->name, option->value);
		if (k != UINT32_MAX)
			chosen |= 1u << k;
		else if (!unknown)
			unknown = option;
	}
	device_with_options(dev, chosen, out);
	return unknown;
}
