/* Modules that were lowered for GSPMD, over a given mesh: their shardings as Shardy's, which act as
 * pins and constraints. mhlo.sharding of arguments and results becomes theirs; a custom call
 * @Sharding becomes a sharding_constraint in its place, so that ops keep their numbers. Dimensions
 * that its backend_config leaves unspecified are open. */
#include "layout/layout.h"

/* What the sharding is of, for messages. */
typedef struct place {
	op_id op;
	const char *what; /* "argument", "result"; NULL: the op */
	uint32_t index;
} place;

static status refuse(const module *m, const place *at, str text, const char *why, diag *d)
{
	char whose[64] = "the constraint";
	if (at->what)
		snprintf(whose, sizeof whose, "%s %u", at->what, at->index);
	return op_error(m, at->op, d, ST_ERR_UNSUPPORTED,
		"%s has a sharding for GSPMD that does not fit the mesh, %.*s: %s", whose,
		(int)MIN(text.n, (size_t)120), text.p, why);
}

static status read_sharding(
	module *m, mesh_id mesh, const place *at, str text, type_id type, sharding_edit *out, diag *d)
{
	tensor_spec spec;
	diag own = {0};
	char why[256];
	const ir_type *ty = type_get(m, type);
	if (notation_parse(m->shardings, NOTATION_GSPMD, mesh, ty->rank, text, &spec, &own) != ST_OK)
		return refuse(m, at, text, own.msg, d);
	if (spec.manual.n)
		return refuse(m, at, text, "it is manual, part of a shard_map: lower with Shardy", d);
	if (spec.e.mesh != mesh)
		return refuse(m, at, text, "it is on one device", d);
	if (!sharding_check(m->shardings, &spec.e, ty, why, sizeof why))
		return refuse(m, at, text, why, d);
	*out = spec.e;
	return ST_OK;
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
static status take_attr(module *m, mesh_id mesh, const place *at, attr_id *dict, type_id type,
	sharding_id *have, diag *d)
{
	attr_id a = *dict == ID_NONE ? ID_NONE : attr_child(m, *dict, "mhlo.sharding");
	if (a == ID_NONE)
		return ST_OK;
	str text = attr_get(m, a)->kind == ATTR_STRING ? attr_get(m, a)->text : STR("?");
	if (*have != SHARDING_NONE)
		return refuse(m, at, text, "it has one for Shardy, too", d);
	sharding_edit e;
	TRY(read_sharding(m, mesh, at, text, type, &e, d));
	*have = sharding_intern(m->shardings, &e);
	*dict = without(m, *dict, "mhlo.sharding");
	return ST_OK;
}

static status take_function(module *m, mesh_id mesh, uint32_t f, diag *d)
{
	func *fn = &m->funcs.p[f];
	if (!op_at(m, fn->op)->n_regions || op_region(m, fn->op, 0)->empty)
		return ST_OK;
	value_id args = op_region(m, fn->op, 0)->args;
	for (uint32_t i = 0; i < fn->n_args; i++)
		TRY(take_attr(m, mesh, &(place){fn->op, "argument", i}, &fn->arg_attrs[i],
			m->values.p[args + i].type, &m->values.p[args + i].sharding, d));
	op_id end = region_terminator(m, op_at(m, fn->op)->regions);
	for (uint32_t i = 0; i < fn->n_results && end != ID_NONE && i < op_at(m, end)->n_operands; i++)
		TRY(take_attr(m, mesh, &(place){fn->op, "result", i}, &fn->result_attrs[i],
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

static status take_constraint(module *m, mesh_id mesh, op_id o, diag *d)
{
	if (op_at(m, o)->n_operands != 1 || op_at(m, o)->n_results != 1)
		return op_error(m, o, d, ST_ERR_UNSUPPORTED,
			"a constraint for GSPMD (custom_call @Sharding): expected one operand and one result");
	attr_id a = op_attr(m, o, "mhlo.sharding");
	str text =
		a != ID_NONE && attr_get(m, a)->kind == ATTR_STRING ? attr_get(m, a)->text : STR("?");
	value_id from = op_operand(m, o, 0), to = op_result(m, o, 0);
	type_id type = m->values.p[to].type;
	sharding_edit e;
	TRY(read_sharding(m, mesh, &(place){.op = o}, text, type, &e, d));
	str config = op_text(m, o, "backend_config");
	if (config.n && !open_dims(config, &e))
		return op_error(m, o, d, ST_ERR_UNSUPPORTED,
			"a constraint for GSPMD: backend_config \"%.*s\": expected unspecified_dims=[..] with "
			"dimensions below %u",
			(int)MIN(config.n, (size_t)80), config.p, e.rank);
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
	for (uint32_t f = 0; f < m->funcs.n; f++)
		TRY(take_function(m, mesh, f, d));
	uint32_t n = m->ops.n;
	for (op_id o = 0; o < n; o++)
		if (op_is_gspmd(m, o, "Sharding"))
			TRY(take_constraint(m, mesh, o, d));
	return module_refuse_gspmd(m, d);
}
