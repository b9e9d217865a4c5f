/* Modules that were lowered for GSPMD, over a given mesh: their shardings as Shardy's, which act as
 * pins and constraints. mhlo.sharding of arguments and results becomes theirs; a custom call
 * @Sharding becomes a sharding_constraint in its place, so that ops keep their numbers. Dimensions
 * that its backend_config leaves unspecified are open. Of a shard_map see gspmd_manual.c. */
#include "layout/gspmd.h"

static status refuse(const module *m, const gspmd_place *at, str text, const char *why, diag *d)
{
	char whose[64] = "the constraint";
	if (at->what)
		snprintf(whose, sizeof whose, "%s %u", at->what, at->index);
	return op_error(m, at->op, d, ST_ERR_UNSUPPORTED,
		"%s has a sharding for GSPMD that does not fit the mesh, %.*s: %s", whose,
		(int)MIN(text.n, (size_t)120), text.p, why);
}

/* Axes of the mesh as bits; those of size 1 say nothing. */
static bool axis_bits(const module *m, mesh_id mesh, const axes_buf *list, uint32_t *out)
{
	*out = 0;
	for (uint32_t i = 0; i < list->n; i++) {
		uint32_t axis = axis_index(list->a[i]);
		if (list->a[i] != mesh_full_axis(m->shardings, mesh, axis))
			return false;
		if (axis_size(list->a[i]) > 1)
			*out |= 1u << axis;
	}
	return true;
}

static status read_sharding(module *m, mesh_id mesh, const gspmd_place *at, str text, type_id type,
	uint32_t *manual, sharding_edit *out, diag *d)
{
	tensor_spec spec;
	diag own = {0};
	char why[256];
	const ir_type *ty = type_get(m, type);
	if (notation_parse(m->shardings, NOTATION_GSPMD, mesh, ty->rank, text, &spec, &own) != ST_OK)
		return refuse(m, at, text, own.msg, d);
	if (!axis_bits(m, mesh, &spec.manual, manual))
		return refuse(m, at, text,
			"it is manual along a part of an axis: give --mesh the axes of the shard_map", d);
	if (spec.e.mesh != mesh)
		return refuse(m, at, text, "it is on one device", d);
	if (!sharding_check(m->shardings, &spec.e, ty, why, sizeof why))
		return refuse(m, at, text, why, d);
	*out = spec.e;
	return ST_OK;
}

static status is_within(
	const module *m, const gspmd_place *at, str text, uint32_t manual, uint32_t around, diag *d)
{
	if (manual == around)
		return ST_OK;
	return refuse(m, at, text,
		around == GSPMD_MIXED
			? "its function is called inside and outside of a shard_map: lower with Shardy"
			: manual & ~around
			? "it is manual, part of a shard_map that has no call here: lower with Shardy"
			: "it is in a shard_map, and not manual over its axes: lower with Shardy",
		d);
}

static str text_of(const module *m, op_id o)
{
	attr_id a = op_attr(m, o, "mhlo.sharding");
	return a != ID_NONE && attr_get(m, a)->kind == ATTR_STRING ? attr_get(m, a)->text : STR("?");
}

status gspmd_is_within(const module *m, op_id o, uint32_t manual, uint32_t around, diag *d)
{
	return is_within(m, &(gspmd_place){.op = o}, text_of(m, o), manual, around, d);
}

static attr_id without(module *m, attr_id dict, const char *name)
{
	attr old = *attr_get(m, dict);
	str_id gone = strtab_add(&m->strs, str_of(name));
	named_attr *kept = arena_array(&m->mem, named_attr, old.n);
	uint32_t n = 0;
	for (uint32_t i = 0; i < old.n; i++)
		if (old.children[i].name != gone)
			kept[n++] = old.children[i];
	return attr_new(m, &(attr){.kind = ATTR_DICT, .type = ID_NONE, .n = n, .children = kept});
}

/* Of one argument or result. have: what the module says of it otherwise. */
static status take_attr(module *m, mesh_id mesh, const gspmd_place *at, uint32_t around,
	attr_id *dict, type_id type, sharding_id *have, diag *d)
{
	attr_id a = *dict == ID_NONE ? ID_NONE : attr_child(m, *dict, "mhlo.sharding");
	if (a == ID_NONE)
		return ST_OK;
	str text = attr_get(m, a)->kind == ATTR_STRING ? attr_get(m, a)->text : STR("?");
	if (*have != SHARDING_NONE)
		return refuse(m, at, text, "it has one for Shardy, too", d);
	sharding_edit e;
	uint32_t manual;
	TRY(read_sharding(m, mesh, at, text, type, &manual, &e, d));
	TRY(is_within(m, at, text, manual, around, d));
	*have = sharding_intern(m->shardings, &e);
	*dict = without(m, *dict, "mhlo.sharding");
	return ST_OK;
}

static status take_function(module *m, mesh_id mesh, uint32_t f, uint32_t around, diag *d)
{
	func *fn = &m->funcs.p[f];
	if (!op_at(m, fn->op)->n_regions || op_region(m, fn->op, 0)->empty)
		return ST_OK;
	value_id args = op_region(m, fn->op, 0)->args;
	for (uint32_t i = 0; i < fn->n_args; i++)
		TRY(take_attr(m, mesh, &(gspmd_place){fn->op, "argument", i}, around, &fn->arg_attrs[i],
			m->values.p[args + i].type, &m->values.p[args + i].sharding, d));
	op_id end = region_terminator(m, op_at(m, fn->op)->regions);
	for (uint32_t i = 0; i < fn->n_results && end != ID_NONE && i < op_at(m, end)->n_operands; i++)
		TRY(take_attr(m, mesh, &(gspmd_place){fn->op, "result", i}, around, &fn->result_attrs[i],
			m->values.p[op_operand(m, end, i)].type, &fn->result_shardings[i], d));
	return ST_OK;
}

/* backend_config = "unspecified_dims=[0,2]"; false: something else. */
static bool open_dims(str text, sharding_edit *e)
{
	str head = STR("unspecified_dims=[");
	if (text.n < head.n || memcmp(text.p, head.p, head.n))
		return false;
	for (size_t i = head.n; i < text.n;) {
		uint32_t dim = 0;
		size_t from = i;
		for (; i < text.n && text.p[i] >= '0' && text.p[i] <= '9' && dim < MAX_RANK; i++)
			dim = dim * 10 + (uint32_t)(text.p[i] - '0');
		if (i == from || i == text.n || dim >= e->rank)
			return false;
		e->dims[dim].closed = false;
		if (text.p[i++] != ',')
			return text.p[i - 1] == ']' && i == text.n;
	}
	return false;
}

status gspmd_read_op(
	module *m, mesh_id mesh, op_id o, type_id type, uint32_t *manual, sharding_edit *out, diag *d)
{
	TRY(read_sharding(m, mesh, &(gspmd_place){.op = o}, text_of(m, o), type, manual, out, d));
	str config = op_text(m, o, "backend_config");
	if (config.n && !open_dims(config, out))
		return op_error(m, o, d, ST_ERR_UNSUPPORTED,
			"a constraint for GSPMD: backend_config \"%.*s\": expected unspecified_dims=[..] with "
			"dimensions below %u",
			(int)MIN(config.n, (size_t)80), config.p, out->rank);
	return ST_OK;
}

static status take_constraint(module *m, mesh_id mesh, op_id o, uint32_t around, diag *d)
{
	if (op_at(m, o)->n_operands != 1 || op_at(m, o)->n_results != 1)
		return op_error(m, o, d, ST_ERR_UNSUPPORTED,
			"a constraint for GSPMD (custom_call @Sharding): expected one operand and one result");
	value_id from = op_operand(m, o, 0), to = op_result(m, o, 0);
	type_id type = m->values.p[to].type;
	sharding_edit e;
	uint32_t manual;
	TRY(gspmd_read_op(m, mesh, o, type, &manual, &e, d));
	TRY(gspmd_is_within(m, o, manual, around, d));
	op_id c =
		op_new(m, OP_SDY_SHARDING_CONSTRAINT, strtab_add(&m->strs, STR("sdy.sharding_constraint")),
			&from, 1, &type, 1, 0, op_at(m, o)->loc);
	m->values.p[op_result(m, c, 0)].sharding = sharding_intern(m->shardings, &e);
	op_insert_after(m, c, o);
	value_replace_uses(m, to, op_result(m, c, 0), c);
	op_erase(m, o);
	return ST_OK;
}

status module_take_gspmd(module *m, mesh_id mesh, diag *d)
{
	gspmd_contexts c;
	TRY(gspmd_contexts_find(&c, m, mesh, d));
	status st = gspmd_take_shard_maps(&c, m, mesh, d);
	for (uint32_t f = 0; f < m->funcs.n && st == ST_OK; f++)
		st = take_function(m, mesh, f, c.manual[f], d);
	uint32_t n = m->ops.n;
	for (op_id o = 0; o < n && st == ST_OK; o++)
		if (op_is_gspmd(m, o, "Sharding"))
			st = take_constraint(m, mesh, o, gspmd_around(&c, m, o), d);
	gspmd_contexts_release(&c);
	return st == ST_OK ? module_refuse_gspmd(m, d) : st;
}
