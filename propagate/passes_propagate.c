/* The propagation passes: the engine on the planning program of the module, its shardings copied
 * back. */
#include "propagate/engine.h"
#include "propagate/passes.h"

#include <stdlib.h>

static status read_strategy(str text, strategy_kind *out, diag *d)
{
	static const char *const names[] = {"basic", "aggressive", "basic-then-aggressive"};
	static const strategy_kind kinds[] = {
		STRATEGY_BASIC, STRATEGY_AGGRESSIVE, STRATEGY_BASIC_THEN_AGGRESSIVE};
	for (uint32_t i = 0; i < COUNT_OF(names); i++)
		if (str_is(text, names[i])) {
			*out = kinds[i];
			return ST_OK;
		}
	return diag_set(d, ST_ERR_INVALID,
		"propagation-strategy is basic, aggressive or basic-then-aggressive, not '" STR_FMT "'",
		STR_ARG(text));
}

static sharding_id without_priorities(module *m, sharding_id id)
{
	sharding_edit e;
	if (id == SHARDING_NONE)
		return id;
	sharding_to_edit(m->shardings, id, &e);
	for (uint32_t d = 0; d < e.rank; d++)
		e.dims[d].priority = -1;
	return sharding_intern(m->shardings, &e);
}

static void drop_list_priorities(module *m, op_id o, const char *list)
{
	attr_id a = op_attr(m, o, list);
	uint32_t n = a == ID_NONE ? 0 : attr_get(m, a)->n;
	sharding_id *ids = xmalloc((n + 1) * sizeof *ids);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = without_priorities(m, op_sharding_at(m, o, list, i));
	if (n)
		op_set_shardings(m, o, list, ids, n);
	free(ids);
}

/* What no program holds loses its priorities too: results of other functions, lists of computations
 * without edges, and what edges across calls stand for. */
static void drop_other_priorities(module *m)
{
	for (uint32_t f = 0; f < m->funcs.n; f++)
		for (uint32_t i = 0; i < m->funcs.p[f].n_results; i++)
			m->funcs.p[f].result_shardings[i] =
				without_priorities(m, m->funcs.p[f].result_shardings[i]);
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		uint16_t kind = op_at(m, o)->kind;
		if (kind == OP_SDY_FUNC_DATA_FLOW_EDGE) {
			ir_value *owner = value_get(m, op_operand(m, o, 0));
			owner->sharding = without_priorities(m, owner->sharding);
		}
		if ((kind != OP_SDY_MANUAL_COMPUTATION && kind != OP_SDY_NAMED_COMPUTATION) ||
			op_has_edges(m, o))
			continue;
		drop_list_priorities(m, o, "in_shardings");
		drop_list_priorities(m, o, "out_shardings");
	}
}

static status propagate(module *m, const char *pass, propagate_options o,
	const pass_option *options, uint32_t n_options, diag *d)
{
	rule_table rules;
	program *p = NULL;
	o.conservative = option_bool(options, n_options, "conservative-propagation", false);
	bool keep_rules = option_bool(options, n_options, "keep-sharding-rules", false);
	sharding_groups_sync(m);
	if (keep_rules)
		TRY(pass_populate_rules(m, options, n_options, d));
	computations_lend_shardings(m);
	rule_table_init(&rules);
	status st = program_new(m, &rules, o.conservative ? READ_CONSERVATIVE : READ_AS_WRITTEN, &p, d);
	if (st == ST_OK) {
		propagation *s = propagation_new(p, m->shardings, &o);
		if (m->explanation)
			explain_run(m->explanation, pass, p, s, &o);
		else
			propagation_run(s);
		program_store(p, s, m);
		propagation_free(s);
		program_free(p);
	}
	rule_table_release(&rules);
	computations_take_shardings(m);
	if (o.user_priority)
		drop_other_priorities(m);
	return st == ST_OK && !keep_rules ? pass_drop_sharding_rules(m, NULL, 0, d) : st;
}

status pass_basic_propagate(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	return propagate(m, "sdy-basic-propagate", (propagate_options){.strategy = STRATEGY_BASIC},
		options, n_options, d);
}

static status with_strategy(module *m, const char *pass, propagate_options o,
	const pass_option *options, uint32_t n_options, diag *d)
{
	TRY(read_strategy(
		option_text(options, n_options, "propagation-strategy", "aggressive"), &o.strategy, d));
	return propagate(m, pass, o, options, n_options, d);
}

status pass_aggressive_propagate(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	return with_strategy(
		m, "sdy-aggressive-propagate", (propagate_options){0}, options, n_options, d);
}

status pass_op_priority_propagate(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	bool rounds = option_bool(options, n_options, "run-op-priority-propagation", true);
	return with_strategy(m, "sdy-op-priority-propagate", (propagate_options){.op_priority = rounds},
		options, n_options, d);
}

status pass_user_priority_propagate(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	bool rounds = option_bool(options, n_options, "run-op-priority-propagation", true);
	return with_strategy(m, "sdy-user-priority-propagate",
		(propagate_options){.op_priority = rounds, .user_priority = true}, options, n_options, d);
}
