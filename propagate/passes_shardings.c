/* Passes that rewrite shardings in place: meshes, closing, divisibility, and the rules stored on
 * ops. */
#include "propagate/passes.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- close, size-one axes */

static sharding_id close_one(module *m, sharding_id id, void *context)
{
	(void)context;
	sharding_edit e;
	sharding_to_edit(m->shardings, id, &e);
	for (uint32_t d = 0; d < e.rank; d++) {
		e.dims[d].closed = true;
		if (!e.dims[d].axes.n)
			e.dims[d].priority = -1;
	}
	e.replicated.n = 0; /* closed says it already */
	return sharding_intern(m->shardings, &e);
}

status pass_close_shardings(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	shardings_transform(m, close_one, NULL);
	return ST_OK;
}

static void drop_size_one(const sharding_table *t, mesh_id mesh, axes_buf *b)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < b->n; i++)
		if (t->meshes.p[mesh].axis_sizes[axis_index(b->a[i])] != 1)
			b->a[n++] = b->a[i];
	b->n = n;
}

static sharding_id remove_size_one(module *m, sharding_id id, void *context)
{
	(void)context;
	sharding_edit e;
	sharding_to_edit(m->shardings, id, &e);
	for (uint32_t d = 0; d < e.rank; d++) {
		drop_size_one(m->shardings, e.mesh, &e.dims[d].axes);
		if (!e.dims[d].axes.n && e.dims[d].closed)
			e.dims[d].priority = -1;
	}
	drop_size_one(m->shardings, e.mesh, &e.replicated);
	drop_size_one(m->shardings, e.mesh, &e.unreduced);
	return sharding_intern(m->shardings, &e);
}

status pass_remove_size_one_axes(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	shardings_transform(m, remove_size_one, NULL);
	return ST_OK;
}

/* ---------------------------------------------------------------- inputs and outputs */

static void divide_value(module *m, value_id v)
{
	value_get(m, v)->sharding =
		sharding_divisible_part(m->shardings, value_at(m, v)->sharding, value_type(m, v));
}

/* A computation's lists: its arguments are cut inside (manual axes apart), its results as a whole.
 */
static void divide_lists(module *m, op_id o)
{
	uint32_t n_args = op_region(m, o, 0)->n_args, n_results = op_at(m, o)->n_results;
	sharding_id *ids = xmalloc((MAX(n_args, n_results) + 1) * sizeof *ids);
	if (op_attr(m, o, "in_shardings") != ID_NONE) {
		for (uint32_t i = 0; i < n_args; i++) {
			const ir_type *ty = value_type(m, op_region(m, o, 0)->args + i);
			ids[i] = computation_argument_outside(m, o, i,
				sharding_divisible_part(m->shardings, computation_argument_inside(m, o, i), ty));
		}
		op_set_shardings(m, o, "in_shardings", ids, n_args);
	}
	if (op_attr(m, o, "out_shardings") != ID_NONE) {
		for (uint32_t i = 0; i < n_results; i++)
			ids[i] = sharding_divisible_part(m->shardings, op_sharding_at(m, o, "out_shardings", i),
				value_type(m, op_result(m, o, i)));
		op_set_shardings(m, o, "out_shardings", ids, n_results);
	}
	free(ids);
}

status pass_update_non_divisible(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		if (op_at(m, o)->kind == OP_FUNC) {
			func *f = module_func(m, o);
			for (uint32_t i = 0; i < f->n_args; i++)
				divide_value(m, op_region(m, o, 0)->args + i);
			for (uint32_t i = 0; i < f->n_results; i++)
				f->result_shardings[i] = sharding_divisible_part(
					m->shardings, f->result_shardings[i], type_get(m, f->result_types[i]));
		} else if (op_at(m, o)->kind == OP_CALL) {
			for (uint32_t i = 0; i < op_at(m, o)->n_results; i++)
				divide_value(m, op_result(m, o, i));
		} else if (op_at(m, o)->kind == OP_SDY_MANUAL_COMPUTATION) {
			divide_lists(m, o);
		}
	}
	return ST_OK;
}

static sharding_id without_sub_axes(module *m, sharding_id id)
{
	sharding_edit e;
	if (id == SHARDING_NONE)
		return id;
	sharding_to_edit(m->shardings, id, &e);
	for (uint32_t d = 0; d < e.rank; d++) {
		axes_buf *b = &e.dims[d].axes;
		for (uint32_t i = 0; i < b->n && !e.dims[d].closed; i++)
			if (axis_size(b->a[i]) !=
				m->shardings->meshes.p[e.mesh].axis_sizes[axis_index(b->a[i])])
				b->n = i;
	}
	return sharding_intern(m->shardings, &e);
}

status pass_remove_sub_axes(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	func *f = module_main(m);
	if (!f)
		return ST_OK;
	for (uint32_t i = 0; i < f->n_args; i++) {
		value_id v = op_region(m, f->op, 0)->args + i;
		value_get(m, v)->sharding = without_sub_axes(m, value_at(m, v)->sharding);
	}
	for (uint32_t i = 0; i < f->n_results; i++)
		f->result_shardings[i] = without_sub_axes(m, f->result_shardings[i]);
	return ST_OK;
}

/* ---------------------------------------------------------------- meshes */

typedef struct mesh_names {
	VEC(mesh_id) from, to;
} mesh_names;

static sharding_id on_mesh(module *m, sharding_id id, mesh_id mesh)
{
	sharding_edit e;
	sharding_to_edit(m->shardings, id, &e);
	if (e.mesh == mesh)
		return id;
	e.mesh = mesh;
	return sharding_intern(m->shardings, &e);
}

static mesh_id mesh_of_op(const module *m, op_id o)
{
	return mesh_find(m->shardings, op_text(m, o, "sym_name"));
}

static bool symbol_taken(const module *m, str name)
{
	if (module_func_named(m, name))
		return true;
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = op_at(m, o)->next)
		if (op_at(m, o)->kind == OP_SDY_MESH && str_equal(op_text(m, o, "sym_name"), name))
			return true;
	return false;
}

/* An op for an inlined mesh: after the other meshes, named like Shardy names it. */
static mesh_id lift_mesh(module *m, mesh_id id)
{
	device_mesh named = m->shardings->meshes.p[id];
	char name[64];
	if (named.maximal)
		snprintf(name, sizeof name, "maximal_mesh_%lld", (long long)named.device_ids[0]);
	else
		snprintf(name, sizeof name, "%s", named.n_axes ? "mesh" : "empty_mesh");
	size_t stem = strlen(name);
	for (uint32_t k = 0; symbol_taken(m, str_of(name)); k++)
		snprintf(name + stem, sizeof name - stem, "_%u", k);
	named.name = strtab_add(&m->shardings->names, str_of(name));
	mesh_id lifted = mesh_intern(m->shardings, &named);
	mesh_declare(m, lifted);
	return lifted;
}

static sharding_id rename_mesh(module *m, sharding_id id, void *context)
{
	mesh_names *names = context;
	mesh_id mesh = sharding_get(m->shardings, id)->mesh;
	for (uint32_t i = 0; i < names->from.n; i++)
		if (names->from.p[i] == mesh)
			return on_mesh(m, id, names->to.p[i]);
	if (m->shardings->meshes.p[mesh].name)
		return id;
	mesh_id to = ID_NONE;
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE && to == ID_NONE;
		 o = op_at(m, o)->next)
		if (op_at(m, o)->kind == OP_SDY_MESH && mesh_of_op(m, o) != ID_NONE &&
			mesh_same_devices(m->shardings, mesh_of_op(m, o), mesh))
			to = mesh_of_op(m, o);
	if (to == ID_NONE)
		to = lift_mesh(m, mesh);
	vec_push(&names->from, mesh);
	vec_push(&names->to, to);
	return on_mesh(m, id, to);
}

/* Shardy also writes every mesh in StableHLO's own words. */
static void describe_mesh(module *m, op_id o)
{
	const sharding_table *t = m->shardings;
	const device_mesh *mesh = &t->meshes.p[mesh_of_op(m, o)];
	strbuf b;
	strbuf_init(&b);
	strbuf_puts(&b, "{axes = [");
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		strbuf_printf(&b, "%s{name = \"" STR_FMT "\", size = %lld : i64}", i ? ", " : "",
			STR_ARG(strtab_get(&t->names, mesh->axis_names[i])), (long long)mesh->axis_sizes[i]);
	strbuf_putc(&b, ']');
	bool list = mesh->n_device_ids > 1;
	for (uint32_t i = 0; i < mesh->n_device_ids; i++)
		strbuf_printf(&b, "%s%lld",
			i          ? ", "
				: list ? ", device_ids = dense<["
					   : ", device_ids = dense<",
			(long long)mesh->device_ids[i]);
	if (mesh->n_device_ids)
		strbuf_printf(&b, "%s> : tensor<%uxi64>", list ? "]" : "", mesh->n_device_ids);
	strbuf_putc(&b, '}');
	str text = {arena_strdup(&m->mem, b.p, b.n), b.n};
	strbuf_release(&b);
	op_attr_set(m, o, "stablehlo.mesh",
		attr_new(m, &(attr){.kind = ATTR_RAW, .type = ID_NONE, .text = text}));
}

status pass_lift_inlined_meshes(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	mesh_names names = {0};
	for (op_id o = m->regions.p[m->body].first, next; o != ID_NONE; o = next) {
		next = op_at(m, o)->next;
		if (op_at(m, o)->kind != OP_SDY_MESH || mesh_of_op(m, o) == ID_NONE)
			continue;
		for (op_id k = m->regions.p[m->body].first; k != o; k = op_at(m, k)->next) {
			if (op_at(m, k)->kind == OP_SDY_MESH && mesh_of_op(m, k) != ID_NONE &&
				mesh_same_devices(m->shardings, mesh_of_op(m, k), mesh_of_op(m, o))) {
				vec_push(&names.from, mesh_of_op(m, o));
				vec_push(&names.to, mesh_of_op(m, k));
				op_erase(m, o);
				break;
			}
		}
	}
	shardings_transform(m, rename_mesh, &names);
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = op_at(m, o)->next)
		if (op_at(m, o)->kind == OP_SDY_MESH && mesh_of_op(m, o) != ID_NONE &&
			op_attr(m, o, "stablehlo.mesh") == ID_NONE)
			describe_mesh(m, o);
	vec_release(&names.from);
	vec_release(&names.to);
	return ST_OK;
}

static sharding_id inline_mesh(module *m, sharding_id id, void *context)
{
	(void)context;
	device_mesh plain = m->shardings->meshes.p[sharding_get(m->shardings, id)->mesh];
	plain.name = 0;
	return on_mesh(m, id, mesh_intern(m->shardings, &plain));
}

static void erase_meshes(module *m)
{
	for (op_id o = m->regions.p[m->body].first, next; o != ID_NONE; o = next) {
		next = op_at(m, o)->next;
		if (op_at(m, o)->kind == OP_SDY_MESH)
			op_erase(m, o);
	}
}

status pass_inline_meshes(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	shardings_transform(m, inline_mesh, NULL);
	erase_meshes(m);
	return ST_OK;
}

static sharding_id forget(module *m, sharding_id id, void *context)
{
	(void)m, (void)id, (void)context;
	return SHARDING_NONE;
}

/* Ops that are nothing without their sharding. */
static bool needs_sharding(const module *m, op_id o)
{
	switch (op_at(m, o)->kind) {
	case OP_SDY_SHARDING_CONSTRAINT:
	case OP_SDY_RESHARD:
	case OP_SDY_MANUAL_COMPUTATION:
	case OP_SDY_NAMED_COMPUTATION: return true;
	default: return op_infos[op_at(m, o)->kind].flags & OPF_COLLECTIVE;
	}
}

status pass_drop_sharding_and_mesh(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options;
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o))
		if (needs_sharding(m, o))
			return op_error(m, o, d, ST_ERR_UNSUPPORTED,
				"sdy-drop-sharding-and-mesh: " STR_FMT " needs its sharding",
				STR_ARG(strtab_get(&m->strs, op_at(m, o)->name)));
	shardings_transform(m, forget, NULL);
	erase_meshes(m);
	return ST_OK;
}

/* ---------------------------------------------------------------- rules on ops */

status pass_drop_sharding_rules(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		attr_id a = op_attr(m, o, "sdy.sharding_rule");
		if (a == ID_NONE || attr_get(m, a)->kind != ATTR_RULE)
			continue;
		str text = attr_get(m, a)->text;
		static const char custom[] = ", custom";
		size_t n = sizeof custom - 1;
		if (text.n < n || memcmp(text.p + text.n - n, custom, n))
			op_attr_remove(m, o, "sdy.sharding_rule");
	}
	return ST_OK;
}

static void store_rule(module *m, op_id o, const rule *r, strbuf *scratch)
{
	strbuf_clear(scratch);
	rule_print(r, scratch);
	str text = {arena_strdup(&m->mem, scratch->p + 1, scratch->n - 2), scratch->n - 2};
	op_attr_set(m, o, "sdy.sharding_rule",
		attr_new(m, &(attr){.kind = ATTR_RULE, .type = ID_NONE, .text = text}));
}

void op_store_rule(module *m, op_id o, bool conservative)
{
	rule_table rules;
	rule_id id;
	strbuf scratch;
	if (op_attr(m, o, "sdy.sharding_rule") != ID_NONE)
		return;
	rule_table_init(&rules);
	strbuf_init(&scratch);
	if (rule_of_op(&rules, m, o, conservative, &id) == RULE_FOUND)
		store_rule(m, o, rule_get(&rules, id), &scratch);
	strbuf_release(&scratch);
	rule_table_release(&rules);
}

void op_store_expansion_rule(module *m, op_id o)
{
	rule_table rules;
	strbuf scratch;
	rule_id id;
	rule_table_init(&rules);
	strbuf_init(&scratch);
	if (op_attr(m, o, "sdy.sharding_rule") == ID_NONE &&
		rule_of_expansion(&rules, m, o, &id) == RULE_FOUND)
		store_rule(m, o, rule_get(&rules, id), &scratch);
	strbuf_release(&scratch);
	rule_table_release(&rules);
}

status pass_populate_rules(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)d;
	bool conservative = option_bool(options, n_options, "conservative-propagation", false);
	rule_table rules;
	strbuf scratch;
	rule_table_init(&rules);
	strbuf_init(&scratch);
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		rule_id id;
		if (op_attr(m, o, "sdy.sharding_rule") == ID_NONE &&
			rule_of_op(&rules, m, o, conservative, &id) == RULE_FOUND)
			store_rule(m, o, rule_get(&rules, id), &scratch);
	}
	strbuf_release(&scratch);
	rule_table_release(&rules);
	return ST_OK;
}
