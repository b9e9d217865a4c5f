/* What the passes share; private to propagate/. */
#ifndef SW_PASSES_H
#define SW_PASSES_H

#include "propagate/propagate.h"

/* Ops that passes copy before they refuse to go on: calls of calls and constants of constants can
 * double at every step. */
enum { MAX_PASS_OPS = 1 << 24 };

typedef VEC(op_id) op_list;
/* All ops under root (itself included; ID_NONE: the module), before or after the ops they contain.
 */
void ops_pre_order(const module *m, op_id root, op_list *out);
void ops_post_order(const module *m, op_id root, op_list *out);
static inline bool op_erased(const module *m, op_id o) { return op_at(m, o)->flags & OPS_ERASED; }

/* Without side effects, whatever it contains. */
bool op_pure(const module *m, op_id o);
bool op_dead(const module *m, op_id o);
bool op_elementwise(const module *m, op_id o);
static inline bool value_is_tensor(const module *m, value_id v)
{
	return value_type(m, v)->kind == TYPE_TENSOR && !value_type(m, v)->dynamic;
}
/* All attributes of one op to another but one (NULL: all). */
void op_copy_attrs(module *m, op_id from, op_id to, const char *except);

/* Calls f for every sharding of the module and stores what it returns: values, function results,
 * and lists on ops. */
typedef sharding_id (*sharding_fn)(module *m, sharding_id id, void *context);
void shardings_transform(module *m, sharding_fn f, void *context);
/* Sharding i of a list attribute of an op; SHARDING_NONE when the op has none. */
sharding_id op_sharding_at(const module *m, op_id o, const char *name, uint32_t i);
void op_set_shardings(module *m, op_id o, const char *name, const sharding_id *ids, uint32_t n);
sharding_id sharding_open(module *m, mesh_id mesh, uint32_t rank);

/* What propagation does first: members of a sharding group get one sharding, or constraints when
 * they disagree. */
void sharding_groups_sync(module *m);

/* Collectives that do nothing go, two that are one become one. */
void collectives_fold(module *m, op_id root);

/* Of equal ops without effects in one block the first stays, with OPS_MERGED. */
void ops_merge_equal(module *m);

bool option_bool(const pass_option *options, uint32_t n, const char *name, bool absent);
str option_text(const pass_option *options, uint32_t n, const char *name, const char *absent);

/* Data flow edges for the arguments and results of one op that flows data (while, case,
 * computations, barriers). */
void op_add_edges(module *m, op_id o);
bool op_has_edges(const module *m, op_id o);
/* Copies the shardings of an op's edges into the op; the edges stay. */
void op_sink_edges(module *m, op_id o);
/* Argument i of a manual or named computation: its in_sharding as the body sees it, without manual
 * axes, and back. */
sharding_id computation_argument_inside(module *m, op_id o, uint32_t i);
sharding_id computation_argument_outside(module *m, op_id o, uint32_t i, sharding_id inside);
/* What Shardy's getSharding says of a value, computations' lists included. */
sharding_id value_sharding(module *m, value_id v);
void value_set_sharding(module *m, value_id v, sharding_id id);
/* Is it the result of an edge, or a value that an edge stands for? */
bool value_is_on_edge(const module *m, value_id v);
/* Computations without edges keep their shardings in lists: lends them to the values, and takes
 * them back. */
void computations_lend_shardings(module *m);
void computations_take_shardings(module *m);
/* Stores the rule of an op as its attribute unless it has one. */
void op_store_rule(module *m, op_id o, bool conservative);
/* The same with rule_of_expansion. */
void op_store_expansion_rule(module *m, op_id o);

/* Free symbols as MLIR's symbol table makes them: the name, else name_K with a counter that never
 * goes back. */
typedef struct symbol_namer {
	index_map taken;
	uint32_t counter;
} symbol_namer;

/* Gives calls functions of their own. */
typedef struct func_cloner {
	module *m;
	symbol_namer names;
	bool *seen; /* per func: some call owns it */
	uint32_t n_seen, depth;
	diag *d;
} func_cloner;
void func_cloner_init(func_cloner *c, module *m, diag *d);
void func_cloner_release(func_cloner *c);
/* The call calls a copy of its function, which calls copies of what it calls; they are at the end
 * of the module. */
status func_clone_for_call(func_cloner *c, op_id call);
/* The name a function had before it was copied. */
str func_original_name(const module *m, op_id o);

/* All functions, each after those it calls (as far as calls form no cycle). */
void funcs_callees_first(const module *m, op_list *out);

/* Name of the function a call calls; the function or NULL. */
func *call_target(const module *m, op_id call);

/* clang-format off */
#define PASS_LIST(X) \
	X(inline) X(symbol_dce) X(canonicalize) X(collective_canonicalize) X(constant_or_scalar_splitter) \
	X(constant_or_scalar_merger) X(add_data_flow_edges) X(sink_data_flow_edges) X(manual_axes_cleanup) \
	X(apply_sharding_constraints) X(sharding_group_import) X(remove_sharding_groups) \
	X(sharding_constraint_to_reshard) X(lift_inlined_meshes) X(inline_meshes) X(remove_size_one_axes) \
	X(update_non_divisible) X(remove_sub_axes) X(close_shardings) X(drop_sharding_rules) X(drop_sharding_and_mesh) \
	X(populate_rules) X(propagate_from_func_to_call) X(flatten_call_graph) X(import_func_calls) \
	X(pre_order_funcs) X(export_named_computations) X(propagate_to_func_results) X(unflatten_call_graph) \
	X(insert_func_call_reshards) X(basic_propagate) X(aggressive_propagate) X(op_priority_propagate) \
	X(user_priority_propagate) X(minimal_reshards) X(add_func_data_flow_edges) X(sink_func_data_flow_edges)
/* clang-format on */
#define X(word) \
	status pass_##word(module *m, const pass_option *options, uint32_t n_options, diag *d);
PASS_LIST(X)
#undef X

#endif
