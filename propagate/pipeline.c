/* The pass table, the text of pass pipelines, and running them.
 *
 *   pipeline := element ("," element)*          (or nothing)
 *   element  := anchor "(" pipeline ")" | pass ("{" option* "}")?
 *   anchor   := "builtin.module" | "func.func" | "any"
 *   option   := name ("=" value)?               separated by spaces; a value may hold braces and quotes
 *
 * Passes look at the whole module wherever they are nested: those of functions work on every
 * function anyway. */
#include "propagate/passes.h"

#include <stdlib.h>

enum { MAX_PASSES = 128, MAX_PASS_OPTIONS = 32, MAX_PIPELINE_STEPS = 4096 };

/* ---------------------------------------------------------------- pipelines made of other passes
 */

/* Placing reshards is lower's; it registers its pass. Without it the pipeline ends with the
 * shardings alone. */
status pass_minimal_reshards(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options;
	const pass_info *reshards = pass_find(STR("sdy-insert-explicit-reshards"));
	const pass_option minimal = {.name = STR("enable-full-version"), .value = STR("false")};
	return reshards ? reshards->run(m, &minimal, 1, d) : ST_OK;
}

typedef struct sub_pass {
	pass_fn run;
	pass_option option; /* one is enough for what the pipelines pin */
} sub_pass;

static status run_all(module *m, const sub_pass *passes, uint32_t n, const pass_option *options,
	uint32_t n_options, diag *d)
{
	for (uint32_t i = 0; i < n; i++) {
		pass_option all[MAX_PASS_OPTIONS + 1];
		if (n_options)
			memcpy(all, options, n_options * sizeof *all);
		uint32_t n_all = n_options;
		if (passes[i].option.name.n)
			all[n_all++] = passes[i].option;
		TRY(passes[i].run(m, all, n_all, d));
	}
	return ST_OK;
}

static bool keeps_functions(const pass_option *options, uint32_t n_options)
{
	return option_bool(options, n_options, "dedup-functions-fully", false);
}

static status run_import(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	static const sub_pass passes[] = {
		{.run = pass_symbol_dce},
		{.run = pass_lift_inlined_meshes},
		{.run = pass_remove_size_one_axes},
		{.run = pass_propagate_from_func_to_call},
		{.run = pass_constant_or_scalar_splitter},
		{.run = pass_symbol_dce},
		{.run = pass_manual_axes_cleanup},
		{.run = pass_add_data_flow_edges},
		/* what stands behind it here goes with functions that stay as they are */
		{.run = pass_apply_sharding_constraints},
		{.run = pass_sharding_group_import},
	};
	return run_all(m, passes, COUNT_OF(passes) - (keeps_functions(options, n_options) ? 0 : 2),
		options, n_options, d);
}

static status run_export(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	static const sub_pass passes[] = {
		{.run = pass_constant_or_scalar_merger},
		{.run = pass_sink_data_flow_edges},
		{.run = pass_remove_sharding_groups},
		{.run = pass_sharding_constraint_to_reshard},
		{.run = pass_update_non_divisible},
		{.run = pass_remove_sub_axes},
		{.run = pass_close_shardings},
		{.run = pass_minimal_reshards},
		{.run = pass_collective_canonicalize},
		{.run = pass_drop_sharding_rules},
	};
	return run_all(m, passes, COUNT_OF(passes), options, n_options, d);
}

/* Shardy keeps the rules that it propagated with until the end. The one that merged constants would
 * change is stored. */
static status keep_concatenate_rules(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)d;
	bool conservative = option_bool(options, n_options, "conservative-propagation", false);
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o))
		if (op_at(m, o)->kind == OP_CONCATENATE)
			op_store_rule(m, o, conservative);
	return ST_OK;
}

static status run_propagation(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	static const sub_pass before[] = {
		{.run = pass_flatten_call_graph},
		{.run = pass_symbol_dce},
		{.run = pass_import_func_calls},
		{.run = pass_symbol_dce},
		{.run = pass_apply_sharding_constraints},
		{.run = pass_sharding_group_import},
		{.run = pass_pre_order_funcs},
		{.run = pass_user_priority_propagate},
		{.run = keep_concatenate_rules},
		{.run = pass_export_named_computations},
		{.run = pass_propagate_to_func_results},
		{.run = pass_unflatten_call_graph},
		{.run = pass_symbol_dce},
		{.run = pass_insert_func_call_reshards},
	};
	static const sub_pass across_calls[] = {
		{.run = pass_add_func_data_flow_edges},
		{.run = pass_pre_order_funcs},
		{.run = pass_user_priority_propagate},
		{.run = keep_concatenate_rules},
		{.run = pass_propagate_to_func_results},
		{.run = pass_sink_func_data_flow_edges},
		{.run = pass_unflatten_call_graph,
			.option = {.name = STR("dedup-functions-fully"), .value = STR("false")}},
		{.run = pass_symbol_dce},
		{.run = pass_insert_func_call_reshards},
	};
	TRY(run_import(m, options, n_options, d));
	if (keeps_functions(options, n_options))
		TRY(run_all(m, across_calls, COUNT_OF(across_calls), options, n_options, d));
	else
		TRY(run_all(m, before, COUNT_OF(before), options, n_options, d));
	return run_export(m, options, n_options, d);
}

/* jaxlib's passes know no rule for chlo, but XLA has expanded these ops when it propagates. */
static void give_chlo_rules(module *m)
{
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o))
		if (str_starts(strtab_get(&m->strs, op_at(m, o)->name), "chlo."))
			op_store_expansion_rule(m, o);
}

status passes_import(module *m, bool merge_equal, diag *d)
{
	TRY(pass_inline(m, NULL, 0, d));
	if (merge_equal)
		ops_merge_equal(m);
	give_chlo_rules(m);
	TRY(pass_symbol_dce(m, NULL, 0, d));
	TRY(run_import(m, NULL, 0, d));
	TRY(pass_apply_sharding_constraints(m, NULL, 0, d));
	TRY(pass_sharding_group_import(m, NULL, 0, d));
	sharding_groups_sync(m);
	return module_verify(m, d);
}

/* ---------------------------------------------------------------- table */

#define PROPAGATION_OPTIONS \
	"keep-sharding-rules conservative-propagation propagation-strategy debug-sharding-origins " \
	"debug-propagation-edge-sharding module-dump-directory"

static pass_info table[MAX_PASSES] = {
	{"inline", pass_inline, "default-pipeline inlining-threshold max-iterations op-pipelines",
		"inline every call, then canonicalize"},
	{"symbol-dce", pass_symbol_dce, "", "remove private functions that nothing calls"},
	{"canonicalize", pass_canonicalize,
		"max-iterations region-simplify top-down enable-patterns disable-patterns "
		"cse-between-iterations max-num-rewrites test-convergence",
		"move and merge constants, fold reshards, remove dead ops"},
	{"sdy-propagation-pipeline", run_propagation, PROPAGATION_OPTIONS " dedup-functions-fully",
		"import, propagation by user and op priorities, export"},
	{"sdy-import-pipeline", run_import, "dedup-functions-fully", "what runs before propagation"},
	{"sdy-export-pipeline", run_export, "", "what runs after propagation"},
	{"sdy-lift-inlined-meshes", pass_lift_inlined_meshes, "",
		"give inlined meshes a symbol, merge equal meshes"},
	{"sdy-inline-meshes", pass_inline_meshes, "",
		"write meshes into shardings, drop their symbols"},
	{"sdy-remove-size-one-axes", pass_remove_size_one_axes, "",
		"drop axes of size 1 from shardings"},
	{"sdy-propagate-sharding-from-func-to-call", pass_propagate_from_func_to_call, "",
		"copy function result shardings to calls without any"},
	{"sdy-constant-or-scalar-splitter", pass_constant_or_scalar_splitter, "",
		"copy constants and scalar broadcasts per use"},
	{"sdy-constant-or-scalar-merger", pass_constant_or_scalar_merger, "",
		"merge equal constants and scalar broadcasts"},
	{"sdy-manual-axes-cleanup", pass_manual_axes_cleanup, "",
		"sort manual axes, replicate unused ones"},
	{"sdy-add-data-flow-edges", pass_add_data_flow_edges, "",
		"one edge op per loop value and computation argument"},
	{"sdy-sink-data-flow-edges", pass_sink_data_flow_edges,
		"sink-debug-sharding-origins sink-debug-propagation-edge-sharding",
		"fold edges back into their ops"},
	{"sdy-add-func-data-flow-edges", pass_add_func_data_flow_edges, "",
		"one edge op per function argument and call result"},
	{"sdy-sink-func-data-flow-edges", pass_sink_func_data_flow_edges, "",
		"fold these edges back into functions and calls"},
	{"sdy-flatten-call-graph", pass_flatten_call_graph, "", "one function per call"},
	{"sdy-import-func-calls", pass_import_func_calls, "add-data-flow-edges-on-named-computations",
		"turn calls into named computations"},
	{"sdy-apply-sharding-constraints", pass_apply_sharding_constraints,
		"debug-sharding-origins debug-propagation-edge-sharding",
		"copy closed constraints to their inputs"},
	{"sdy-sharding-group-import", pass_sharding_group_import, "",
		"unify, check and renumber sharding groups"},
	{"sdy-remove-sharding-groups", pass_remove_sharding_groups, "", "erase sharding group ops"},
	{"sdy-pre-order-funcs", pass_pre_order_funcs, "", "order functions by calls, callers first"},
	{"sdy-basic-propagate", pass_basic_propagate, PROPAGATION_OPTIONS,
		"propagate without resolving conflicts"},
	{"sdy-aggressive-propagate", pass_aggressive_propagate, PROPAGATION_OPTIONS,
		"propagate, resolving conflicts"},
	{"sdy-op-priority-propagate", pass_op_priority_propagate,
		PROPAGATION_OPTIONS " run-op-priority-propagation", "propagate in rounds by kind of op"},
	{"sdy-user-priority-propagate", pass_user_priority_propagate,
		PROPAGATION_OPTIONS " run-op-priority-propagation",
		"propagate in rounds by the priorities of dimension shardings"},
	{"sdy-export-named-computations", pass_export_named_computations, "",
		"turn named computations into calls"},
	{"sdy-propagate-to-func-results", pass_propagate_to_func_results, "",
		"copy returned values' shardings to function results"},
	{"sdy-unflatten-call-graph", pass_unflatten_call_graph, "dedup-functions-fully",
		"merge copies of a function with equal shardings"},
	{"sdy-insert-func-call-reshards", pass_insert_func_call_reshards, "",
		"reshard where calls and functions disagree"},
	{"sdy-sharding-constraint-to-reshard", pass_sharding_constraint_to_reshard, "",
		"turn constraints into reshards"},
	{"sdy-update-non-divisible-input-output-shardings", pass_update_non_divisible, "",
		"cut inputs and outputs evenly"},
	{"sdy-remove-sub-axes-in-input-output-shardings", pass_remove_sub_axes, "",
		"no sub-axes in open dims of main's inputs and outputs"},
	{"sdy-close-shardings", pass_close_shardings, "", "close every dimension sharding"},
	{"sdy-drop-sharding-rules", pass_drop_sharding_rules, "",
		"remove stored sharding rules that are not custom"},
	{"sdy-drop-sharding-and-mesh", pass_drop_sharding_and_mesh, "",
		"remove all shardings and meshes"},
	{"sdy-populate-op-sharding-rules", pass_populate_rules, "conservative-propagation",
		"store the sharding rule of every op"},
};
static uint32_t n_table = 0;

static uint32_t table_size(void)
{
	while (n_table < MAX_PASSES && table[n_table].name)
		n_table++;
	return n_table;
}

void pass_register(const pass_info *passes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (pass_find(str_of(passes[i].name)))
			continue;
		assert(table_size() < MAX_PASSES);
		table[table_size()] = passes[i];
	}
}

const pass_info *pass_find(str name)
{
	for (uint32_t i = 0; i < table_size(); i++)
		if (str_is(name, table[i].name))
			return &table[i];
	return NULL;
}

uint32_t pass_count(void) { return table_size(); }
const pass_info *pass_at(uint32_t i) { return &table[i]; }

/* ---------------------------------------------------------------- text */

typedef struct pipeline_step {
	const pass_info *pass;
	uint32_t first_option, n_options;
	size_t at;
} pipeline_step;

typedef struct pipeline_reader {
	str text;
	size_t at;
	diag *d;
	VEC(pipeline_step) steps;
	VEC(pass_option) options;
} pipeline_reader;

static void skip_space(pipeline_reader *r)
{
	while (r->at < r->text.n && strchr(" \t\r\n", r->text.p[r->at]))
		r->at++;
}

static char peek(pipeline_reader *r)
{
	skip_space(r);
	return r->at < r->text.n ? r->text.p[r->at] : 0;
}

static status pipeline_error(pipeline_reader *r, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4);
static status pipeline_error(pipeline_reader *r, size_t at, const char *fmt, ...)
{
	char msg[256];
	va_list args;
	va_start(args, fmt);
	vsnprintf(msg, sizeof msg, fmt, args);
	va_end(args);
	status st = diag_at(r->d, r->text.p, r->text.n, at, ST_ERR_PARSE, "%s", msg);
	diag_in_file(r->d, "pipeline");
	return st;
}

static str read_word(pipeline_reader *r, const char *stops)
{
	size_t from = r->at;
	while (r->at < r->text.n && !strchr(stops, r->text.p[r->at]))
		r->at++;
	return (str){r->text.p + from, r->at - from};
}

/* A value ends at a space or at the brace that closes the options; braces inside it are balanced.
 */
static status read_value(pipeline_reader *r, str *out)
{
	size_t from = r->at;
	uint32_t depth = 0;
	char quote = 0;
	for (; r->at < r->text.n; r->at++) {
		char c = r->text.p[r->at];
		if (quote) {
			quote = c == quote ? 0 : quote;
			continue;
		}
		if (c == '"' || c == '\'')
			quote = c;
		else if (c == '{')
			depth++;
		else if (!depth && (c == '}' || strchr(" \t\r\n", c)))
			break;
		else if (c == '}')
			depth--;
	}
	if (depth || quote)
		return pipeline_error(r, from, "unclosed option value");
	*out = (str){r->text.p + from, r->at - from};
	return ST_OK;
}

/* Is `name` one of the space-separated words? */
static bool takes_option(const char *words, str name)
{
	for (const char *p = words; *p;) {
		size_t n = strcspn(p, " ");
		if (n == name.n && !memcmp(p, name.p, n))
			return true;
		p += n + (p[n] == ' ');
	}
	return false;
}

static status read_options_of(pipeline_reader *r, pipeline_step *step)
{
	size_t open = r->at++;
	while (peek(r) != '}') {
		if (!peek(r))
			return pipeline_error(r, open, "unclosed options: expected }");
		size_t at = r->at;
		pass_option o = {.name = read_word(r, " \t\r\n=}")};
		if (!o.name.n)
			return pipeline_error(r, at, "expected the name of an option");
		if (!takes_option(step->pass->options, o.name))
			return pipeline_error(r, at, "%s has no option '" STR_FMT "'%s%s", step->pass->name,
				STR_ARG(o.name), *step->pass->options ? "; it takes " : "", step->pass->options);
		if (r->at < r->text.n && r->text.p[r->at] == '=') {
			r->at++;
			TRY(read_value(r, &o.value));
		}
		if (step->n_options == MAX_PASS_OPTIONS - 1)
			return pipeline_error(r, at, "more than %d options", MAX_PASS_OPTIONS - 1);
		vec_push(&r->options, o);
		step->n_options++;
	}
	r->at++;
	return ST_OK;
}

static bool is_anchor(str w)
{
	return str_is(w, "builtin.module") || str_is(w, "func.func") || str_is(w, "any");
}

static status read_pipeline(pipeline_reader *r, uint32_t depth, bool allow_empty);

static status read_element(pipeline_reader *r, uint32_t depth)
{
	skip_space(r);
	size_t at = r->at;
	str word = read_word(r, ",(){} \t\r\n");
	if (peek(r) == '(') {
		if (!is_anchor(word))
			return pipeline_error(r, at,
				"expected builtin.module, func.func or any before (, found '" STR_FMT "'",
				STR_ARG(word));
		if (depth == MAX_NESTING)
			return pipeline_error(r, at, "pipelines nested more than %d deep", MAX_NESTING);
		size_t open = r->at++;
		TRY(read_pipeline(r, depth + 1, true));
		if (peek(r) != ')')
			return pipeline_error(
				r, peek(r) ? r->at : open, peek(r) ? "expected , or )" : "unclosed (");
		r->at++;
		return ST_OK;
	}
	pipeline_step step = {.pass = pass_find(word), .first_option = r->options.n, .at = at};
	if (!word.n)
		return pipeline_error(r, at, "expected a pass");
	if (!step.pass)
		return pipeline_error(r, at,
			"'" STR_FMT "' is not a pass or a pipeline (opt --list names them)", STR_ARG(word));
	if (peek(r) == '{')
		TRY(read_options_of(r, &step));
	if (r->steps.n == MAX_PIPELINE_STEPS)
		return pipeline_error(r, at, "more than %d passes", MAX_PIPELINE_STEPS);
	vec_push(&r->steps, step);
	return ST_OK;
}

static status read_pipeline(pipeline_reader *r, uint32_t depth, bool allow_empty)
{
	if (allow_empty && (peek(r) == ')' || !peek(r)))
		return ST_OK;
	for (;;) {
		TRY(read_element(r, depth));
		if (peek(r) != ',')
			return ST_OK;
		r->at++;
	}
}

static status read_all(pipeline_reader *r)
{
	TRY(read_pipeline(r, 0, true));
	return peek(r) ? pipeline_error(r, r->at, "expected , or the end of the pipeline") : ST_OK;
}

status passes_run(module *m, const char *pipeline, diag *d)
{
	pipeline_reader r = {.text = str_of(pipeline), .d = d};
	status st = read_all(&r);
	if (st == ST_OK)
		st = r.steps.n ? module_verify_types(m, d) : module_verify_ops(m, d);
	if (st == ST_OK)
		st = module_verify(m, d);
	for (uint32_t i = 0; i < r.steps.n && st == ST_OK; i++) {
		const pipeline_step *s = &r.steps.p[i];
		st = s->pass->run(m, s->n_options ? r.options.p + s->first_option : NULL, s->n_options, d);
	}
	if (st == ST_OK)
		st = module_verify(m, d);
	vec_release(&r.steps);
	vec_release(&r.options);
	return st;
}
