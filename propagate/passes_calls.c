/* Functions and calls: one function per call and calls as named computations before propagation,
 * the way back after it. */
#include "propagate/passes.h"

#include <stdlib.h>

static const char original_name[] = "sdy.original_func_name";

static void collect_calls(const module *m, op_id root, op_list *out)
{
	for (op_id o = op_walk_first(m, root); o != ID_NONE; o = op_walk_next(m, root, o))
		if (call_target(m, o))
			vec_push(out, o);
}

static str name_of(const module *m, const func *f) { return strtab_get(&m->strs, f->name); }

str func_original_name(const module *m, op_id o)
{
	str s = op_text(m, o, original_name);
	return s.n ? s : name_of(m, module_func(m, o));
}

static void set_callee(module *m, op_id call, str name)
{
	attr a = *attr_get(m, op_attr(m, call, "callee"));
	a.text = (str){arena_strdup(&m->mem, name.p, name.n), name.n};
	op_attr_set(m, call, "callee", attr_new(m, &a));
}

static void namer_init(symbol_namer *n, const module *m)
{
	*n = (symbol_namer){0};
	index_init(&n->taken);
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = op_at(m, o)->next) {
		const func *f = module_func(m, o);
		str name = f ? name_of(m, f) : op_text(m, o, "sym_name");
		if (name.n)
			index_add(&n->taken, strtab_find(&m->strs, name), strtab_find(&m->strs, name));
	}
}

static str free_name(symbol_namer *n, module *m, str wanted)
{
	strbuf b;
	strbuf_init(&b);
	strbuf_str(&b, wanted);
	for (;;) {
		str_id id = strtab_add(&m->strs, (str){b.p, b.n}), other;
		uint32_t it = index_first(&n->taken, id);
		bool taken = false;
		while (!taken && index_next(&n->taken, id, &it, &other))
			taken = other == id;
		if (!taken) {
			index_add(&n->taken, id, id);
			strbuf_release(&b);
			return strtab_get(&m->strs, id);
		}
		strbuf_clear(&b);
		strbuf_printf(&b, STR_FMT "_%u", STR_ARG(wanted), n->counter++);
	}
}

static void place_callees(const module *m, op_id o, bool *placed, op_list *out, uint32_t depth)
{
	op_list calls = {0};
	placed[o] = true;
	collect_calls(m, o, &calls);
	for (uint32_t i = 0; i < calls.n && depth < MAX_NESTING; i++)
		if (!placed[call_target(m, calls.p[i])->op])
			place_callees(m, call_target(m, calls.p[i])->op, placed, out, depth + 1);
	vec_release(&calls);
	vec_push(out, o);
}

void funcs_callees_first(const module *m, op_list *out)
{
	bool *placed = xcalloc(m->ops.n + 1, sizeof *placed);
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = op_at(m, o)->next)
		if (op_at(m, o)->kind == OP_FUNC && !placed[o])
			place_callees(m, o, placed, out, 0);
	free(placed);
}

/* Mesh on which values without a sharding are open beside these: the first one that is no single
 * device, ID_NONE if none. */
static mesh_id mesh_of_many(const module *m, const sharding_id *ids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (ids[i] != SHARDING_NONE &&
			!m->shardings->meshes.p[sharding_get(m->shardings, ids[i])->mesh].maximal)
			return sharding_get(m->shardings, ids[i])->mesh;
	return ID_NONE;
}

/* ---------------------------------------------------------------- func to call */

static void set_call_shardings(module *m, op_id call, const func *f)
{
	mesh_id mesh = mesh_of_many(m, f->result_shardings, f->n_results);
	for (uint32_t i = 0; i < f->n_results && mesh != ID_NONE; i++) {
		sharding_id s = f->result_shardings[i];
		uint32_t rank = type_get(m, f->result_types[i])->rank;
		value_get(m, op_result(m, call, i))->sharding =
			s != SHARDING_NONE ? s : sharding_open(m, mesh, rank);
	}
}

static bool has_result_shardings(const module *m, op_id o)
{
	for (uint32_t i = 0; i < op_at(m, o)->n_results; i++)
		if (value_at(m, op_result(m, o, i))->sharding != SHARDING_NONE)
			return true;
	return false;
}

status pass_propagate_from_func_to_call(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	op_list calls = {0};
	collect_calls(m, ID_NONE, &calls);
	for (uint32_t i = 0; i < calls.n; i++)
		if (!has_result_shardings(m, calls.p[i]))
			set_call_shardings(m, calls.p[i], call_target(m, calls.p[i]));
	vec_release(&calls);
	return ST_OK;
}

/* ---------------------------------------------------------------- flatten */

void func_cloner_init(func_cloner *c, module *m, diag *d)
{
	*c = (func_cloner){.m = m, .d = d};
	namer_init(&c->names, m);
}

void func_cloner_release(func_cloner *c)
{
	free(c->seen);
	index_release(&c->names.taken);
}

static bool *seen_func(func_cloner *c, const func *callee)
{
	uint32_t i = (uint32_t)(callee - c->m->funcs.p);
	if (i >= c->n_seen) {
		uint32_t n = 2 * i + 16;
		c->seen = xrealloc(c->seen, n * sizeof *c->seen);
		memset(c->seen + c->n_seen, 0, (n - c->n_seen) * sizeof *c->seen);
		c->n_seen = n;
	}
	return &c->seen[i];
}

status func_clone_for_call(func_cloner *c, op_id call)
{
	module *m = c->m;
	op_id source = call_target(m, call)->op;
	if (c->depth == MAX_NESTING)
		return op_error(m, source, c->d, ST_ERR_LIMIT,
			"calls nested more than %d deep, or recursive", MAX_NESTING);
	if (m->ops.n > MAX_PASS_OPS)
		return op_error(m, source, c->d, ST_ERR_LIMIT, "a function per call makes more than %d ops",
			MAX_PASS_OPS);
	str original = func_original_name(m, source);
	op_id copy = op_clone(m, source, NULL, 0);
	op_list calls = {0};
	status st = ST_OK;
	collect_calls(m, copy, &calls);
	c->depth++;
	for (uint32_t i = 0; i < calls.n && st == ST_OK; i++)
		st = func_clone_for_call(c, calls.p[i]);
	c->depth--;
	vec_release(&calls);
	if (st != ST_OK)
		return st;
	op_append(m, copy, m->body);
	func_rename(m, copy, free_name(&c->names, m, name_of(m, module_func(m, source))));
	op_attr_set(m, copy, original_name, attr_string(m, original));
	*seen_func(c, module_func(m, copy)) = true;
	set_callee(m, call, name_of(m, module_func(m, copy)));
	return ST_OK;
}

enum { UNSEEN, OPEN, DONE };

/* Is every chain of calls from this function finite, and short enough? */
static status check_calls(func_cloner *f, op_id o, uint8_t *state)
{
	op_list calls = {0};
	status st = ST_OK;
	if (f->depth++ == MAX_NESTING)
		st = op_error(f->m, o, f->d, ST_ERR_LIMIT, "calls nested more than %d deep, or recursive",
			MAX_NESTING);
	state[o] = OPEN;
	collect_calls(f->m, o, &calls);
	for (uint32_t i = 0; i < calls.n && st == ST_OK; i++) {
		const func *callee = call_target(f->m, calls.p[i]);
		if (state[callee->op] == OPEN)
			st = op_error(f->m, calls.p[i], f->d, ST_ERR_UNSUPPORTED, "recursive call of @" STR_FMT,
				STR_ARG(name_of(f->m, callee)));
		else if (state[callee->op] == UNSEEN)
			st = check_calls(f, callee->op, state);
	}
	state[o] = DONE;
	f->depth--;
	vec_release(&calls);
	return st;
}

/* The first call of a function, called functions' calls first, keeps it; every other one gets a
 * copy. */
static status flatten(func_cloner *f, op_id o)
{
	op_list calls = {0};
	status st = ST_OK;
	collect_calls(f->m, o, &calls);
	for (uint32_t i = 0; i < calls.n && st == ST_OK; i++) {
		bool *seen = seen_func(f, call_target(f->m, calls.p[i]));
		if (*seen)
			st = func_clone_for_call(f, calls.p[i]);
		*seen_func(f, call_target(f->m, calls.p[i])) = true;
	}
	vec_release(&calls);
	return st;
}

status pass_flatten_call_graph(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options;
	func_cloner f;
	status st = ST_OK;
	op_list funcs = {0};
	func_cloner_init(&f, m, d);
	uint8_t *state = xcalloc(m->ops.n + 1, sizeof *state);
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE && st == ST_OK; o = op_at(m, o)->next)
		if (op_at(m, o)->kind == OP_FUNC && state[o] == UNSEEN)
			st = check_calls(&f, o, state);
	free(state);
	if (st == ST_OK)
		funcs_callees_first(m, &funcs);
	for (uint32_t i = 0; i < funcs.n && st == ST_OK; i++)
		st = flatten(&f, funcs.p[i]);
	func_cloner_release(&f);
	vec_release(&funcs);
	return st;
}

/* ---------------------------------------------------------------- import */

/* Trades the only regions of two ops, with everything in them. */
static void swap_regions(module *m, op_id a, op_id b)
{
	region_id r = op_at(m, a)->regions;
	op_get(m, a)->regions = op_at(m, b)->regions;
	op_get(m, b)->regions = r;
	m->regions.p[op_at(m, a)->regions].parent = a;
	m->regions.p[op_at(m, b)->regions].parent = b;
}

static void replace_terminator(module *m, region_id r, op_kind kind)
{
	op_id old = region_terminator(m, r);
	if (old == ID_NONE)
		return;
	uint32_t n = op_at(m, old)->n_operands;
	value_id *operands = xmalloc((n + 1) * sizeof *operands);
	for (uint32_t i = 0; i < n; i++)
		operands[i] = op_operand(m, old, i);
	op_id new = op_new(m, kind, 0, operands, n, NULL, 0, 0, op_at(m, old)->loc);
	op_insert_before(m, new, old);
	op_erase(m, old);
	free(operands);
}

/* List of shardings with missing ones open; false when there are none at all. */
static bool complete_shardings(module *m, sharding_id *ids, const type_id *types, uint32_t n)
{
	mesh_id mesh = mesh_of_many(m, ids, n);
	for (uint32_t i = 0; i < n && mesh != ID_NONE; i++)
		if (ids[i] == SHARDING_NONE)
			ids[i] = sharding_open(m, mesh, type_get(m, types[i])->rank);
	return mesh != ID_NONE;
}

static void import_call(module *m, op_id call)
{
	func *f = call_target(m, call);
	op_id callee = f->op;
	uint32_t n_args = op_at(m, call)->n_operands, n_results = op_at(m, call)->n_results,
			 n = MAX(n_args, n_results) + 1;
	value_id *operands = xmalloc(n * sizeof *operands);
	type_id *types = xmalloc(n * sizeof *types);
	sharding_id *ids = xmalloc(n * sizeof *ids);
	for (uint32_t i = 0; i < n_args; i++)
		operands[i] = op_operand(m, call, i);
	for (uint32_t i = 0; i < n_results; i++)
		types[i] = value_at(m, op_result(m, call, i))->type;
	op_id named = op_new(
		m, OP_SDY_NAMED_COMPUTATION, 0, operands, n_args, types, n_results, 1, op_at(m, call)->loc);
	op_copy_attrs(m, call, named, "callee");
	op_attr_set(m, named, "name", attr_string(m, func_original_name(m, callee)));
	for (uint32_t i = 0; i < n_results; i++)
		ids[i] = value_at(m, op_result(m, call, i))->sharding;
	if (has_result_shardings(m, call)) /* of one result means of all */
		op_set_shardings(m, named, "out_shardings", ids, n_results);
	value_id args = op_region(m, callee, 0)->args;
	for (uint32_t i = 0; i < n_args; i++) {
		ids[i] = value_at(m, args + i)->sharding;
		types[i] = value_at(m, args + i)->type;
		value_get(m, args + i)->sharding = SHARDING_NONE;
	}
	if (complete_shardings(m, ids, types, n_args))
		op_set_shardings(m, named, "in_shardings", ids, n_args);
	swap_regions(m, named, callee);
	replace_terminator(m, op_at(m, named)->regions, OP_SDY_RETURN);
	op_insert_before(m, named, call);
	for (uint32_t i = 0; i < n_results; i++)
		value_replace_uses(m, op_result(m, call, i), op_result(m, named, i), ID_NONE);
	op_erase(m, call);
	op_erase(m, callee);
	free(operands);
	free(types);
	free(ids);
}

status pass_import_func_calls(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	bool edges = option_bool(options, n_options, "add-data-flow-edges-on-named-computations", true);
	op_list calls = {0};
	TRY(pass_flatten_call_graph(m, NULL, 0, d));
	collect_calls(m, ID_NONE, &calls);
	for (uint32_t i = 0; i < calls.n; i++)
		import_call(m, calls.p[i]);
	/* those that were there before get edges too, unless they have them */
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE && edges;
		 o = op_walk_next(m, ID_NONE, o))
		if (op_at(m, o)->kind == OP_SDY_NAMED_COMPUTATION && !op_has_edges(m, o))
			op_add_edges(m, o);
	vec_release(&calls);
	return ST_OK;
}

/* ---------------------------------------------------------------- pre-order-funcs */

status pass_pre_order_funcs(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	op_list funcs = {0};
	funcs_callees_first(m, &funcs);
	while (funcs.n) {
		op_id o = vec_pop(&funcs);
		if (region_terminator(m, op_at(m, o)->regions) == ID_NONE)
			continue; /* declarations stay where they are */
		op_unlink(m, o);
		op_append(m, o, m->body);
	}
	vec_release(&funcs);
	return ST_OK;
}

/* ---------------------------------------------------------------- export */

static void export_one(module *m, op_id named, symbol_namer *names)
{
	uint32_t n_args = op_at(m, named)->n_operands, n_results = op_at(m, named)->n_results,
			 n = MAX(n_args, n_results) + 1;
	value_id *operands = xmalloc(n * sizeof *operands);
	type_id *types = xmalloc(n * sizeof *types);
	for (uint32_t i = 0; i < n_args; i++)
		operands[i] = op_operand(m, named, i);
	for (uint32_t i = 0; i < n_results; i++)
		types[i] = value_at(m, op_result(m, named, i))->type;
	str original = op_text(m, named, "name");
	str name = free_name(names, m, original.n ? original : STR("computation"));
	op_id o = op_new(m, OP_FUNC, 0, NULL, 0, NULL, 0, 1, op_at(m, named)->loc);
	swap_regions(m, o, named);
	replace_terminator(m, op_at(m, o)->regions, OP_FUNC_RETURN);
	func_add(m, o, name, types, n_results)->is_private = true;
	op_attr_set(m, o, original_name, attr_string(m, original));
	op_append(m, o, m->body);
	for (uint32_t i = 0; i < n_args; i++)
		value_get(m, op_region(m, o, 0)->args + i)->sharding =
			op_sharding_at(m, named, "in_shardings", i);

	op_id call = op_new(m, OP_CALL, 0, operands, n_args, types, n_results, 0, op_at(m, named)->loc);
	for (uint32_t i = 0; i < n_results; i++)
		value_get(m, op_result(m, call, i))->sharding =
			op_sharding_at(m, named, "out_shardings", i);
	op_copy_attrs(m, named, call, NULL);
	op_attr_remove(m, call, "name");
	op_attr_remove(m, call, "in_shardings");
	op_attr_remove(m, call, "out_shardings");
	op_attr_set(m, call, "callee",
		attr_new(m, &(attr){.kind = ATTR_SYMBOL, .type = ID_NONE, .text = name}));
	op_insert_before(m, call, named);
	for (uint32_t i = 0; i < n_results; i++)
		value_replace_uses(m, op_result(m, named, i), op_result(m, call, i), ID_NONE);
	op_erase(m, named);
	free(operands);
	free(types);
}

/* The edges of named computations go with them: their shardings are the computation's. */
static void sink_named(module *m, op_id named)
{
	uint32_t n_args = op_region(m, named, 0)->n_args, n_results = op_at(m, named)->n_results;
	for (uint32_t i = 0; i < n_args + n_results; i++) {
		value_id v =
			i < n_args ? op_region(m, named, 0)->args + i : op_result(m, named, i - n_args);
		slot_id u = value_at(m, v)->first_use;
		if (u == ID_NONE || op_at(m, m->slots.p[u].owner)->kind != OP_SDY_DATA_FLOW_EDGE)
			continue;
		op_id edge = m->slots.p[u].owner;
		value_replace_uses(m, op_result(m, edge, 0), v, ID_NONE);
		op_erase(m, edge);
	}
}

status pass_export_named_computations(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	symbol_namer names;
	op_list ops = {0};
	namer_init(&names, m);
	ops_post_order(m, ID_NONE, &ops);
	for (uint32_t i = 0; i < ops.n; i++)
		if (op_at(m, ops.p[i])->kind == OP_SDY_NAMED_COMPUTATION) {
			op_sink_edges(m, ops.p[i]);
			sink_named(m, ops.p[i]);
			export_one(m, ops.p[i], &names);
		}
	vec_release(&ops);
	index_release(&names.taken);
	return ST_OK;
}

status pass_propagate_to_func_results(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	func *main_func = module_main(m);
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = op_at(m, o)->next) {
		func *f = module_func(m, o);
		op_id end = f && f != main_func ? region_terminator(m, op_at(m, o)->regions) : ID_NONE;
		if (end == ID_NONE || op_at(m, end)->kind != OP_FUNC_RETURN)
			continue;
		for (uint32_t i = 0; i < f->n_results; i++)
			f->result_shardings[i] = value_sharding(m, op_operand(m, end, i));
	}
	return ST_OK;
}

/* ---------------------------------------------------------------- unflatten */

static bool same_interface(const module *m, op_id a, op_id b, bool ignore_shardings)
{
	if (!str_equal(func_original_name(m, a), func_original_name(m, b)))
		return false;
	const func *f = module_func(m, a), *g = module_func(m, b);
	if (f->n_args != g->n_args || f->n_results != g->n_results)
		return false;
	for (uint32_t i = 0; i < f->n_args && !ignore_shardings; i++)
		if (value_at(m, op_region(m, a, 0)->args + i)->sharding !=
			value_at(m, op_region(m, b, 0)->args + i)->sharding)
			return false;
	for (uint32_t i = 0; i < f->n_results && !ignore_shardings; i++)
		if (f->result_shardings[i] != g->result_shardings[i])
			return false;
	return true;
}

static void insert_reshard(module *m, value_id input, sharding_id to, op_id after, value_id *out)
{
	type_id type = value_at(m, input)->type;
	op_id o = op_new(m, OP_SDY_RESHARD, 0, &input, 1, &type, 1, 0, value_at(m, input)->loc);
	value_get(m, op_result(m, o, 0))->sharding = to;
	op_insert_after(m, o, after);
	*out = op_result(m, o, 0);
}

/* On a single device, or without a sharding at all: no axes of any dim. */
static bool no_axes(const module *m, sharding_id id)
{
	const sharding *s = id == SHARDING_NONE ? NULL : sharding_get(m->shardings, id);
	for (uint32_t d = 0; s && d < s->rank; d++)
		if (sharding_dim(s, d).n)
			return false;
	return true;
}

/* Equal axes of dims, whatever is open; where there are none, whatever the meshes. Shardy looks no
 * further at calls: unreduced axes bring no reshard there. */
static bool same_layout(const module *m, sharding_id a, sharding_id b)
{
	if (a == b || (no_axes(m, a) && no_axes(m, b)))
		return true;
	if (a == SHARDING_NONE || b == SHARDING_NONE)
		return false;
	const sharding *x = sharding_get(m->shardings, a), *y = sharding_get(m->shardings, b);
	if (x->rank != y->rank ||
		x->mesh != y->mesh) /* the same mesh under another name is another one here */
		return false;
	for (uint32_t d = 0; d < x->rank; d++)
		if (!axes_equal(sharding_dim(x, d), sharding_dim(y, d)))
			return false;
	return true;
}

status pass_unflatten_call_graph(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)d;
	bool fully = option_bool(options, n_options, "dedup-functions-fully", false);
	op_list ops = {0}, calls = {0};
	index_map first;
	index_init(&first);
	ops_post_order(m, ID_NONE, &ops);
	for (uint32_t i = 0; i < ops.n; i++)
		if (call_target(m, ops.p[i]))
			vec_push(&calls, ops.p[i]);
	for (uint32_t i = 0; i < calls.n; i++) {
		op_id callee = call_target(m, calls.p[i])->op, other = ID_NONE;
		str original = func_original_name(m, callee);
		uint64_t h = hash_bytes(original.p, original.n, 0);
		uint32_t it = index_first(&first, h);
		bool found = false;
		while (!found && index_next(&first, h, &it, &other))
			found = same_interface(m, callee, other, fully);
		if (!found)
			index_add(&first, h, other = callee);
		if (other != callee)
			set_callee(m, calls.p[i], name_of(m, module_func(m, other)));
	}
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = op_at(m, o)->next)
		if (op_at(m, o)->kind == OP_FUNC)
			op_attr_remove(m, o, original_name);
	index_release(&first);
	vec_release(&ops);
	vec_release(&calls);
	return ST_OK;
}

static sharding_id replicated_on(module *m, mesh_id mesh, value_id v, bool closed)
{
	sharding_edit e;
	const ir_type *t = value_type(m, v);
	sharding_edit_init(&e, mesh,
		t->kind == TYPE_TENSOR && !m->shardings->meshes.p[mesh].maximal ? t->rank : 0, closed);
	return sharding_intern(m->shardings, &e);
}

/* The results of a call get the shardings of the function's results, and a reshard to what they
 * had. A missing sharding reads as replicated; written out it is open beside the function's others,
 * and closed when the function has none. */
static void match_results(module *m, op_id call, const func *f)
{
	mesh_id mesh = mesh_of_many(m, f->result_shardings, f->n_results);
	for (uint32_t k = 0; k < op_at(m, call)->n_results; k++) {
		value_id v = op_result(m, call, k), to;
		sharding_id has = f->result_shardings[k], wanted = value_at(m, v)->sharding;
		if (mesh != ID_NONE)
			value_get(m, v)->sharding =
				has != SHARDING_NONE ? has : replicated_on(m, mesh, v, false);
		else if (wanted != SHARDING_NONE)
			value_get(m, v)->sharding =
				replicated_on(m, sharding_get(m->shardings, wanted)->mesh, v, true);
		else
			continue;
		if (same_layout(m, has, wanted))
			continue;
		if (wanted == SHARDING_NONE)
			wanted = replicated_on(
				m, sharding_get(m->shardings, value_at(m, v)->sharding)->mesh, v, true);
		insert_reshard(m, v, wanted, call, &to);
		value_replace_uses(m, v, to, value_def(m, to));
	}
}

status pass_insert_func_call_reshards(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	op_list calls = {0};
	collect_calls(m, ID_NONE, &calls);
	for (uint32_t i = 0; i < calls.n; i++)
		match_results(m, calls.p[i], call_target(m, calls.p[i]));
	vec_release(&calls);
	return ST_OK;
}
