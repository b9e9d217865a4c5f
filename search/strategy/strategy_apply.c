/* The module that carries a strategy: annotated, or with the program of one device in it. */
#include "search/strategy/strategy.h"

#include <stdlib.h>

mesh_id module_own_mesh(const module *m, mesh_id wanted)
{
	sharding_table *t = m->shardings;
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = m->ops.p[o].next) {
		if (m->ops.p[o].kind != OP_SDY_MESH)
			continue;
		mesh_id own = mesh_declared(m, o);
		if (own == ID_NONE || !mesh_same_devices(t, own, wanted))
			continue;
		const device_mesh *a = &t->meshes.p[own], *b = &t->meshes.p[wanted];
		bool names = a->n_axes == b->n_axes;
		for (uint32_t i = 0; names && i < a->n_axes; i++)
			names = a->axis_names[i] == b->axis_names[i];
		if (names)
			return own;
	}
	return ID_NONE;
}

static void set_module_attr(module *m, const char *name, attr_id value)
{
	VEC(named_attr) list = {0};
	str_id id = strtab_add(&m->strs, str_of(name));
	if (m->module_attrs != ID_NONE) {
		const attr *old = attr_get(m, m->module_attrs);
		for (uint32_t i = 0; i < old->n; i++)
			if (old->children[i].name != id)
				vec_push(&list, old->children[i]);
	}
	vec_push(&list, (named_attr){id, value});
	named_attr *own = arena_array(&m->mem, named_attr, list.n);
	memcpy(own, list.p, list.n * sizeof *own);
	m->module_attrs =
		attr_new(m, &(attr){.kind = ATTR_DICT, .type = ID_NONE, .n = list.n, .children = own});
	vec_release(&list);
}

static bool declares(const module *m, mesh_id mesh)
{
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = m->ops.p[o].next)
		if (m->ops.p[o].kind == OP_SDY_MESH && mesh_declared(m, o) == mesh)
			return true;
	return false;
}

static bool mesh_used(const module *m, mesh_id mesh)
{
	for (value_id v = 0; v < m->values.n; v++) {
		sharding_id id = m->values.p[v].sharding;
		if (id != SHARDING_NONE && sharding_get(m->shardings, id)->mesh == mesh)
			return true;
	}
	return false;
}

static sharding_id on_mesh(sharding_table *t, sharding_id id, mesh_id mesh)
{
	if (id == SHARDING_NONE)
		return id;
	const device_mesh *at = &t->meshes.p[sharding_get(t, id)->mesh];
	if (at->n_axes || at->maximal)
		return id;
	sharding_edit e;
	sharding_to_edit(t, id, &e);
	e.mesh = mesh;
	return sharding_intern(t, &e);
}

void module_fill_empty_mesh(module *m, mesh_id mesh)
{
	for (value_id v = 0; v < m->values.n; v++)
		m->values.p[v].sharding = on_mesh(m->shardings, m->values.p[v].sharding, mesh);
	for (uint32_t f = 0; f < m->funcs.n; f++)
		for (uint32_t i = 0; i < m->funcs.p[f].n_results; i++)
			m->funcs.p[f].result_shardings[i] =
				on_mesh(m->shardings, m->funcs.p[f].result_shardings[i], mesh);
}

/* An emitted module has one mesh: the strategy's. Declarations that nothing uses give way to it.
 * Those of one device stay: a callback runs there. */
static status declare_mesh(module *m, mesh_id mesh, diag *d)
{
	module_fill_empty_mesh(m, mesh);
	op_id next;
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = next) {
		next = m->ops.p[o].next;
		if (m->ops.p[o].kind != OP_SDY_MESH)
			continue;
		mesh_id other = mesh_declared(m, o);
		if (other == mesh || (other != ID_NONE && m->shardings->meshes.p[other].maximal))
			continue;
		if (other != ID_NONE && mesh_used(m, other))
			return op_error(m, o, d, ST_ERR_INVALID,
				"the module has shardings on this mesh, the strategy is for another");
		op_erase(m, o);
	}
	if (declares(m, mesh))
		return ST_OK;
	mesh_declare(m, mesh);
	return ST_OK;
}

static bool same_cut(const sharding_table *t, sharding_id a, sharding_id b)
{
	if (a == SHARDING_NONE || b == SHARDING_NONE)
		return a == b;
	const sharding *x = sharding_get(t, a), *y = sharding_get(t, b);
	if (x->rank != y->rank)
		return false;
	for (uint32_t d = 0; d < x->rank; d++)
		if (!axes_equal(sharding_dim(x, d), sharding_dim(y, d)))
			return false;
	return true;
}

/* Whether a donated argument and its result have shards of one shape whatever propagation does with
 * what nobody decided. */
static bool surely_same_cut(const module *m, sharding_id a, sharding_id b, const ir_type *ty)
{
	if (a == SHARDING_NONE && b == SHARDING_NONE)
		return ty->rank == 0;
	return same_cut(m->shardings, a, b);
}

/* XLA refuses an alias between buffers of different shard shapes: such a donation is only an offer,
 * which it takes where they are equal. */
static void soften_donation(module *m, func *main, uint32_t arg)
{
	attr_id dict = main->arg_attrs[arg];
	attr_id target = dict == ID_NONE ? ID_NONE : attr_child(m, dict, "tf.aliasing_output");
	if (target == ID_NONE)
		return;
	int64_t r = attr_get(m, target)->i;
	value_id v = op_region(m, main->op, 0)->args + arg;
	if (r < 0 || r >= main->n_results ||
		surely_same_cut(m, m->values.p[v].sharding, main->result_shardings[r], value_type(m, v)))
		return;
	main->arg_attrs[arg] = attr_offer_donation(m, dict);
}

op_id op_by_index(const module *m, op_id function, uint32_t index)
{
	op_id o = op_walk_next(m, function, function);
	while (o != ID_NONE && index--)
		o = op_walk_next(m, function, o);
	return o;
}

static status add_constraints(module *m, const strategy *s, diag *d)
{
	/* Ops first, since indices count those of the input module. */
	op_id *at = xmalloc((s->n_constraints + 1) * sizeof *at);
	status st = ST_OK;
	for (uint32_t i = 0; i < s->n_constraints && st == ST_OK; i++) {
		func *f = module_func_named(m, s->constraints[i].function);
		at[i] = f ? op_by_index(m, f->op, s->constraints[i].op) : ID_NONE;
		if (at[i] == ID_NONE || s->constraints[i].result >= m->ops.p[at[i]].n_results)
			st = diag_set(
				d, ST_ERR_INVALID, "strategy: constraints[%u] names no value of this module", i);
	}
	for (uint32_t i = 0; i < s->n_constraints && st == ST_OK; i++) {
		value_id v = op_result(m, at[i], s->constraints[i].result);
		type_id ty = m->values.p[v].type;
		op_id c = op_new(m, OP_SDY_SHARDING_CONSTRAINT,
			strtab_add(&m->strs, STR("sdy.sharding_constraint")), &v, 1, &ty, 1, 0,
			m->ops.p[at[i]].loc);
		m->values.p[op_result(m, c, 0)].sharding = s->constraints[i].sharding;
		op_insert_after(m, c, at[i]);
		value_replace_uses(m, v, op_result(m, c, 0), c);
	}
	free(at);
	return st;
}

status strategy_apply(const module *m, const strategy *s, module **out, diag *d)
{
	*out = NULL;
	module *c = module_clone(m);
	func *main = module_main(c);
	status st = main && main->n_args == s->n_args && main->n_results == s->n_results
		? module_take_gspmd(c, s->mesh, d)
		: diag_set(d, ST_ERR_INVALID, "the strategy is for a main with %u arguments and %u results",
			  s->n_args, s->n_results);
	if (st == ST_OK)
		st = declare_mesh(c, s->mesh, d);
	if (st == ST_OK)
		st = add_constraints(c, s, d);
	if (st != ST_OK) {
		module_free(c);
		return st;
	}
	main = module_main(c);
	value_id args = op_region(c, main->op, 0)->args;
	for (uint32_t a = 0; a < s->n_args; a++)
		if (s->args[a] != SHARDING_NONE)
			c->values.p[args + a].sharding = s->args[a];
	for (uint32_t r = 0; r < s->n_results; r++)
		if (s->results[r] != SHARDING_NONE)
			main->result_shardings[r] = s->results[r];
	for (uint32_t a = 0; a < s->n_args; a++)
		soften_donation(c, main, a);
	set_module_attr(
		c, "mhlo.num_partitions", attr_int(c, c->shardings->meshes.p[s->mesh].n_devices, "i32"));
	set_module_attr(c, "mhlo.num_replicas", attr_int(c, 1, "i32"));
	*out = c;
	return ST_OK;
}

status strategy_write(const module *m, const strategy *s, const device *dev, strbuf *out, diag *d)
{
	module *annotated;
	evaluation ev;
	TRY(strategy_apply(m, s, &annotated, d));
	status st = ST_OK;
	device own;
	strategy_device(s, dev, &own);
	if (s->apply == APPLY_ANNOTATE) {
		module_print(annotated, &(print_options){.locations = true}, out);
	} else if ((st = simulate_module(annotated, &own, s->apply, s->has_links ? s->axis_links : NULL,
					NULL, &ev, d)) == ST_OK) { /* lowered, not costed */
		st = lower_emit_mlir(ev.low, EMIT_GLOBAL, out, d);
		evaluation_release(&ev);
	}
	module_free(annotated);
	return st;
}
