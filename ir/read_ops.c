/* Ops: results, generic form, regions; what the pretty forms share. */
#include "ir/read.h"

/* ---------------------------------------------------------------- operands and types */

status read_value_name(reader *r, str *out, const char **at)
{
	lexer *l = &r->lex;
	if (lex_peek(l) != '%')
		return lex_expected(l, "a value, %name");
	*at = l->p++;
	*out = lex_suffix(l);
	return out->n ? ST_OK : lex_expected(l, "a name after '%'");
}

status push_operands(reader *r)
{
	lexer *l = &r->lex;
	if (lex_peek(l) != '%')
		return ST_OK;
	for (;;) {
		TRY(push_operand(r));
		lex_skip(l);
		const char *comma = l->p;
		if (!lex_take(l, ','))
			return ST_OK;
		if (lex_peek(l) != '%') { /* `%a, dim = 0`: it belongs to what follows */
			l->p = comma;
			return ST_OK;
		}
	}
}

status push_call_operands(reader *r)
{
	TRY(lex_expect(&r->lex, '('));
	TRY(push_operands(r));
	return lex_expect(&r->lex, ')');
}

status check_operand(reader *r, const draft *d, uint32_t i, type_id given)
{
	const struct operand *o = &r->operands.p[d->operands + i];
	type_id has = value_at(r->m, o->value)->type;
	if (has == given)
		return ST_OK;
	lexer at = r->lex;
	at.p = o->at + 1;
	str name = lex_suffix(&at);
	return lex_error(&r->lex, o->at, ST_ERR_INVALID,
		"'%%" STR_FMT "' has type " STR_FMT ", but is used as " STR_FMT, STR_ARG(name),
		STR_ARG(type_get(r->m, has)->text), STR_ARG(type_get(r->m, given)->text));
}

static status check_count(reader *r, const draft *d, const char *at, uint32_t n_types)
{
	if (draft_operands(r, d) == n_types)
		return ST_OK;
	return lex_error(&r->lex, at, ST_ERR_INVALID, "%u operand types for %u operands", n_types,
		draft_operands(r, d));
}

status read_result_types(reader *r)
{
	lexer *l = &r->lex;
	type_id t;
	if (lex_peek(l) != '(') {
		TRY(read_type(r, &t));
		vec_push(&r->types, t);
		return ST_OK;
	}
	l->p++;
	if (lex_take(l, ')'))
		return ST_OK;
	do {
		TRY(read_type(r, &t));
		vec_push(&r->types, t);
	} while (lex_take(l, ','));
	return lex_expect(l, ')');
}

/* (T, T) -> T after the colon. */
static status function_type(reader *r, draft *d)
{
	lexer *l = &r->lex;
	lex_skip(l);
	const char *at = l->p;
	uint32_t n = 0;
	TRY(lex_expect(l, '('));
	if (!lex_take(l, ')')) {
		do {
			type_id t;
			TRY(read_type(r, &t));
			if (n < draft_operands(r, d))
				TRY(check_operand(r, d, n, t));
			n++;
		} while (lex_take(l, ','));
		TRY(lex_expect(l, ')'));
	}
	TRY(check_count(r, d, at, n));
	TRY(lex_expect_text(l, "->"));
	return read_result_types(r);
}

status read_function_type(reader *r, draft *d)
{
	TRY(lex_expect(&r->lex, ':'));
	return function_type(r, d);
}

status read_same_types(reader *r, draft *d)
{
	lexer *l = &r->lex;
	TRY(lex_expect(l, ':'));
	if (lex_peek(l) == '(')
		return function_type(r, d);
	const char *at = l->p;
	uint32_t base = r->types.n, n = draft_operands(r, d);
	do {
		type_id t;
		TRY(read_type(r, &t));
		vec_push(&r->types, t);
	} while (lex_take(l, ','));
	uint32_t given = r->types.n - base;
	bool arrow = lex_take_text(l, "->");
	if (given == 1 && !arrow) { /* one type for all operands and the result */
		for (uint32_t i = 0; i < n; i++)
			TRY(check_operand(r, d, i, r->types.p[base]));
		return ST_OK;
	}
	TRY(check_count(r, d, at, given));
	for (uint32_t i = 0; i < n; i++)
		TRY(check_operand(r, d, i, r->types.p[base + i]));
	if (!arrow) /* one by one, results as operands */
		return ST_OK;
	r->types.n = base;
	return read_result_types(r);
}

/* ---------------------------------------------------------------- attributes */

void draft_attr(reader *r, const char *name, attr_id value)
{
	vec_push(&r->attrs, (named_attr){strtab_add(&r->m->strs, str_of(name)), value});
}

status read_optional_attrs(reader *r)
{
	return lex_take(&r->lex, '{') ? read_attr_entries(r, "}") : ST_OK;
}

attr_id take_attr(reader *r, const draft *d, const char *name)
{
	for (uint32_t i = d->attrs; i < r->attrs.n; i++)
		if (str_is(strtab_get(&r->m->strs, r->attrs.p[i].name), name)) {
			attr_id a = r->attrs.p[i].value;
			memmove(r->attrs.p + i, r->attrs.p + i + 1, (r->attrs.n - i - 1) * sizeof *r->attrs.p);
			r->attrs.n--;
			return a;
		}
	return ID_NONE;
}

static status check_rank(reader *r, sharding_id id, const ir_type *t, const char *at)
{
	const sharding *s = sharding_get(r->m->shardings, id);
	if (t->kind == TYPE_TUPLE && t->n_parts == 1)
		t = type_get(r->m, t->parts[0]);
	if (id == SHARDING_NONE || (t->kind == TYPE_TENSOR && s->rank == t->rank && s->rank > 0))
		return ST_OK;
	sharding_edit e;
	char msg[256];
	sharding_to_edit(r->m->shardings, id, &e);
	if (sharding_check(r->m->shardings, &e, t, msg, sizeof msg))
		return ST_OK;
	return lex_error(&r->lex, at, ST_ERR_INVALID, "%s", msg);
}

status set_sharding(reader *r, value_id v, attr_id sharding_attr, const char *at)
{
	const attr *a = attr_get(r->m, sharding_attr);
	if (a->kind != ATTR_SHARDING)
		return lex_error(&r->lex, at, ST_ERR_PARSE, "expected one sharding, #sdy.sharding<..>");
	TRY(check_rank(r, a->shardings[0], value_type(r->m, v), at));
	value_get(r->m, v)->sharding = a->shardings[0];
	return ST_OK;
}

/* Which attribute of an sdy op is the sharding of its result. */
static const char *own_sharding(op_kind k)
{
	if (op_infos[k].flags & OPF_COLLECTIVE)
		return "out_sharding";
	if (k == OP_SDY_SHARDING_CONSTRAINT || k == OP_SDY_RESHARD || k == OP_SDY_DATA_FLOW_EDGE)
		return "sharding";
	return NULL;
}

/* Only an edge may go without. */
static status missing_sharding(reader *r, const draft *d)
{
	const char *own = own_sharding(d->kind);
	if (!own || d->kind == OP_SDY_DATA_FLOW_EDGE)
		return ST_OK;
	return lex_error(&r->lex, d->at, ST_ERR_PARSE, "the attribute '%s' is missing", own);
}

/* Moves shardings from the attributes to the results. */
static status place_shardings(reader *r, draft *d)
{
	const ir_op *op = op_at(r->m, d->op);
	if (!op->n_results || (r->attrs.n == d->attrs && !own_sharding(d->kind)))
		return ST_OK;
	const char *own = own_sharding(d->kind);
	attr_id a = own ? take_attr(r, d, own) : ID_NONE;
	if (a != ID_NONE)
		return op->n_results == 1
			? set_sharding(r, op->results, a, d->at)
			: lex_error(&r->lex, d->at, ST_ERR_PARSE, "one sharding for %u results", op->n_results);
	a = take_attr(r, d, "sdy.sharding");
	if (a == ID_NONE)
		return missing_sharding(r, d);
	const attr *list = attr_get(r->m, a);
	if (list->kind != ATTR_SHARDINGS)
		return lex_error(&r->lex, d->at, ST_ERR_PARSE,
			"expected #sdy.sharding_per_value<[..]> as sdy.sharding of an operation");
	if (list->n != op->n_results)
		return lex_error(
			&r->lex, d->at, ST_ERR_INVALID, "%u shardings for %u results", list->n, op->n_results);
	for (uint32_t i = 0; i < op->n_results; i++) {
		TRY(check_rank(r, list->shardings[i], value_type(r->m, op->results + i), d->at));
		value_get(r->m, op->results + i)->sharding = list->shardings[i];
	}
	return ST_OK;
}

enum { CHECKED_NAMES = 64 };

static status store_attrs(reader *r, const draft *d)
{
	uint32_t n = r->attrs.n - d->attrs;
	const named_attr *list = r->attrs.p + d->attrs;
	for (uint32_t i = 1; i < MIN(n, CHECKED_NAMES); i++)
		for (uint32_t k = 0; k < i; k++)
			if (list[i].name == list[k].name)
				return lex_error(&r->lex, d->at, ST_ERR_PARSE,
					"attribute '" STR_FMT "' is given twice",
					STR_ARG(strtab_get(&r->m->strs, list[i].name)));
	ir_op *op = op_get(r->m, d->op);
	op->first_attr = r->m->op_attrs.n;
	op->n_attrs = n;
	vec_reserve(&r->m->op_attrs, op->first_attr + n);
	if (n)
		memcpy(r->m->op_attrs.p + op->first_attr, list, n * sizeof *list);
	r->m->op_attrs.n += n;
	r->attrs.n = d->attrs;
	return ST_OK;
}

/* ---------------------------------------------------------------- regions */

status read_block_arg(reader *r, region_id region)
{
	str name;
	const char *at;
	type_id t;
	loc_id loc;
	TRY(read_value_name(r, &name, &at));
	TRY(lex_expect(&r->lex, ':'));
	TRY(read_type(r, &t));
	TRY(read_loc(r, &loc));
	value_id v = region_add_arg(r->m, region, t, loc);
	value_get(r->m, v)->name = value_name_id(r, name);
	return bind_values(r, at, name, v, 1);
}

static status read_block_header(reader *r, region_id region)
{
	lexer *l = &r->lex;
	l->p++;
	if (!lex_suffix(l).n)
		return lex_expected(l, "a block name after '^'");
	if (lex_take(l, '(') && !lex_take(l, ')')) {
		do
			TRY(read_block_arg(r, region));
		while (lex_take(l, ','));
		TRY(lex_expect(l, ')'));
	}
	return lex_expect(l, ':');
}

/* What a region of the op must end with; OP_UNKNOWN: anything, OP_COUNT: no terminator. */
static op_kind wanted_terminator(const module *m, op_id parent)
{
	if (parent == ID_NONE)
		return OP_COUNT;
	op_kind k = (op_kind)op_at(m, parent)->kind;
	return k == OP_UNKNOWN                                                ? OP_UNKNOWN
		: k == OP_BUILTIN_MODULE                                          ? OP_COUNT
		: k == OP_FUNC                                                    ? OP_FUNC_RETURN
		: k == OP_SDY_MANUAL_COMPUTATION || k == OP_SDY_NAMED_COMPUTATION ? OP_SDY_RETURN
																		  : OP_RETURN;
}

static status check_last(reader *r, region_id region, op_kind wanted)
{
	op_id last = r->m->regions.p[region].last;
	if (wanted == OP_UNKNOWN || wanted == OP_COUNT ||
		(last != ID_NONE && op_at(r->m, last)->kind == wanted))
		return ST_OK;
	return lex_error(&r->lex, r->lex.p - 1, ST_ERR_PARSE,
		"expected %s before the end of the region", op_infos[wanted].text);
}

status read_region_ops(reader *r, region_id region, bool header)
{
	lexer *l = &r->lex;
	op_kind wanted = wanted_terminator(r->m, r->m->regions.p[region].parent);
	r->m->regions.p[region].empty = false;
	if (header && lex_peek(l) == '^')
		TRY(read_block_header(r, region));
	while (!lex_take(l, '}')) {
		if (*l->p == '^')
			return lex_error(l, l->p, ST_ERR_UNSUPPORTED,
				"a second block: control flow between blocks is not supported");
		const char *at = l->p;
		TRY(read_op(r, region));
		op_kind kind = (op_kind)op_at(r->m, r->m->regions.p[region].last)->kind;
		if (op_infos[kind].flags & OPF_TERMINATOR && lex_peek(l) != '}' && l->p >= l->end)
			return lex_expected(l, "'}'");
		if (op_infos[kind].flags & OPF_TERMINATOR && (wanted == OP_COUNT || *l->p != '}'))
			return lex_error(l, at, ST_ERR_PARSE, "%s is not the last operation of a region",
				op_infos[kind].text);
	}
	return check_last(r, region, wanted);
}

status read_region(reader *r, region_id region, bool header)
{
	TRY(lex_expect(&r->lex, '{'));
	TRY(lex_enter(&r->lex));
	uint32_t mark = scope_open(r);
	TRY(read_region_ops(r, region, header));
	scope_close(r, mark);
	lex_leave(&r->lex);
	return ST_OK;
}

/* Regions of an op are contiguous. Their number is known only at the end, so room is made for the
 * usual number, and an op with more moves all of them behind the last. */
static void add_region(reader *r, op_id o, uint32_t have)
{
	module *m = r->m;
	ir_op *op = op_get(m, o);
	if (have < op->n_regions)
		return;
	region_id old = op->regions;
	op_give_regions(m, o, op->n_regions + MAX(op->n_regions, 1));
	for (uint32_t i = 0; i < have; i++) {
		region_id to = op_get(m, o)->regions + i;
		m->regions.p[to] = m->regions.p[old + i];
		for (op_id at = m->regions.p[to].first; at != ID_NONE; at = op_at(m, at)->next)
			op_get(m, at)->parent = to;
		for (uint32_t k = 0; k < m->regions.p[to].n_args; k++)
			value_get(m, m->regions.p[to].args + k)->def = to;
		m->regions.p[old + i] =
			(ir_region){.parent = ID_NONE, .first = ID_NONE, .last = ID_NONE, .empty = true};
	}
}

static status read_generic_regions(reader *r, draft *d)
{
	lexer *l = &r->lex;
	if (!lex_take(l, '('))
		return ST_OK;
	bool two = d->kind == OP_WHILE || d->kind == OP_IF || d->kind == OP_SELECT_AND_SCATTER;
	op_give_regions(r->m, d->op, two ? 2 : 1);
	uint32_t n = 0, visible = r->visible;
	bool is_module = d->kind == OP_BUILTIN_MODULE;
	if (d->kind == OP_FUNC)
		r->visible = r->bindings.n;
	do {
		add_region(r, d->op, n);
		region_id region = op_at(r->m, d->op)->regions + n;
		lex_skip(l);
		const char *open = l->p;
		bool declaration = d->kind == OP_FUNC && *open == '{' && (l->p++, lex_take(l, '}'));
		if (!declaration) {
			l->p = open;
			struct outside saved;
			if (is_module)
				saved = module_enter(r);
			status st = read_region(r, region, true);
			if (is_module)
				module_leave(r, &saved);
			TRY(st);
		}
		n++;
	} while (lex_take(l, ','));
	r->visible = visible;
	op_get(r->m, d->op)->n_regions = n;
	return lex_expect(l, ')');
}

/* ---------------------------------------------------------------- one op */

static status read_result_names(reader *r)
{
	lexer *l = &r->lex;
	if (lex_peek(l) != '%')
		return ST_OK;
	do {
		struct result_name name = {.n = 1};
		TRY(read_value_name(r, &name.name, &name.at));
		if (lex_take(l, ':')) {
			int64_t n;
			TRY(lex_int(l, &n));
			if (n < 1 || n > MAX_OPERANDS)
				return lex_error(l, name.at, ST_ERR_LIMIT, "%lld results, expected 1 to %d",
					(long long)n, MAX_OPERANDS);
			name.n = (uint32_t)n;
		}
		vec_push(&r->names, name);
	} while (lex_take(l, ','));
	return lex_expect(l, '=');
}

static status bind_results(reader *r, draft *d)
{
	const ir_op *op = op_at(r->m, d->op);
	uint64_t named = 0;
	for (uint32_t i = d->names; i < r->names.n; i++)
		named += r->names.p[i].n;
	if (r->names.n > d->names && named != op->n_results)
		return lex_error(&r->lex, r->names.p[d->names].at, ST_ERR_INVALID,
			"%llu names for %u results", (unsigned long long)named, op->n_results);
	value_id v = op->results;
	for (uint32_t i = d->names; i < r->names.n; i++) {
		const struct result_name *name = &r->names.p[i];
		str_id id = value_name_id(r, name->name);
		for (uint32_t k = 0; k < name->n; k++)
			value_get(r->m, v + k)->name = id;
		TRY(bind_values(r, name->at, name->name, v, name->n));
		v += name->n;
	}
	r->names.n = d->names;
	return ST_OK;
}

/* Spellings that differ between the generic and the pretty form. */
static status normalize_generic(reader *r, draft *d)
{
	if (d->kind == OP_FUNC)
		return finish_generic_func(r, d);
	if (d->kind == OP_SDY_MESH)
		return finish_generic_mesh(r, d);
	if (d->kind == OP_BUILTIN_MODULE)
		return finish_generic_module(r, d);
	const char *axes_key = collective_axes_name(d->kind);
	if (axes_key) {
		attr_id a = take_attr(r, d, axes_key);
		if (a == ID_NONE || attr_get(r->m, a)->kind != ATTR_ENUM)
			return lex_error(&r->lex, d->at, ST_ERR_PARSE,
				"expected the attribute '%s', a list of axes", axes_key);
		draft_attr(r, axes_key, a);
	}
	if (d->kind != OP_SDY_PROPAGATION_BARRIER)
		return ST_OK;
	static const char *const directions[] = {"NONE", "FORWARD", "BACKWARD", "BOTH"};
	attr_id a = take_attr(r, d, "allowed_direction");
	if (a == ID_NONE || attr_get(r->m, a)->kind != ATTR_INT || attr_get(r->m, a)->i < 0 ||
		attr_get(r->m, a)->i > 3)
		return lex_error(
			&r->lex, d->at, ST_ERR_PARSE, "expected allowed_direction from 0 to 3 as i32");
	str word = str_of(directions[attr_get(r->m, a)->i]);
	draft_attr(r, "allowed_direction", enum_attr(r, "sdy", "propagation_direction", word));
	return ST_OK;
}

static status read_generic(reader *r, draft *d)
{
	lexer *l = &r->lex;
	TRY(push_call_operands(r));
	if (lex_peek(l) == '[')
		return lex_error(l, l->p, ST_ERR_UNSUPPORTED,
			"successor blocks: control flow between blocks is not supported");
	r->keep_dense_text = is_constant(d->kind);
	if (lex_take_text(l, "<{")) {
		TRY(read_attr_entries(r, "}>"));
		if (d->kind ==
			OP_UNKNOWN) { /* nothing else tells its properties from its other attributes */
			attr_id properties = array_attr(r, ATTR_DICT, STR(""), d->attrs);
			vec_push(&r->attrs, (named_attr){0, properties});
		}
	}
	TRY(read_generic_regions(r, d));
	r->keep_dense_text = is_constant(d->kind);
	TRY(read_optional_attrs(r));
	r->keep_dense_text = false;
	TRY(read_function_type(r, d));
	return normalize_generic(r, d);
}

static status read_op_text(reader *r, draft *d)
{
	lexer *l = &r->lex;
	lex_skip(l);
	const char *at = d->at = l->p;
	str name;
	bool generic = *at == '"';
	if (generic)
		TRY(lex_string(l, &name));
	else
		name = lex_word(l);
	if (!name.n)
		return lex_expected(l, "an operation");
	for (size_t i = 0; i < name.n; i++)
		if (!lex_is(name.p[i], LEX_SUFFIX))
			return lex_error(l, at, ST_ERR_PARSE, "expected the name of an operation in quotes");
	d->kind = find_kind(r, name);
	if (!generic && d->kind == OP_UNKNOWN && str_starts(name, "cf."))
		return lex_error(l, at, ST_ERR_UNSUPPORTED,
			"'" STR_FMT "': control flow between blocks is not supported", STR_ARG(name));
	if (!generic && d->kind == OP_UNKNOWN)
		return lex_error(l, at, ST_ERR_PARSE,
			"unknown operation '" STR_FMT
			"'; others than the known ones are read in generic form only",
			STR_ARG(name));
	if (!generic && !op_forms[d->kind])
		return lex_error(l, at, ST_ERR_PARSE,
			"expected '" STR_FMT "' in its generic form, with quotes", STR_ARG(name));
	d->op = op_create(r->m, d->kind, d->kind == OP_UNKNOWN ? strtab_add(&r->m->strs, name) : 0, 0,
		(uint32_t)(at - l->text));
	return generic ? read_generic(r, d) : op_forms[d->kind](r, d);
}

static void give_operands(reader *r, const draft *d)
{
	module *m = r->m;
	uint32_t n = draft_operands(r, d);
	value_id few[16], *values = n <= COUNT_OF(few) ? few : arena_array(&m->mem, value_id, n);
	for (uint32_t i = 0; i < n; i++)
		values[i] = r->operands.p[d->operands + i].value;
	if (d->kind != OP_FUNC) /* whose operands field leads to its func */
		op_give_operands(m, d->op, values, n);
	r->operands.n = d->operands;
}

/* Ops that a pretty form implies have no text of their own: they are where the op is. */
static void spread_loc(module *m, op_id o)
{
	for (uint32_t i = 0; i < op_at(m, o)->n_regions; i++)
		for (op_id at = op_region(m, o, i)->first; at != ID_NONE; at = op_at(m, at)->next)
			if (op_at(m, at)->src == op_at(m, o)->src)
				op_get(m, at)->loc = op_at(m, o)->loc;
}

status read_op(reader *r, region_id into)
{
	draft d = {
		.operands = r->operands.n, .attrs = r->attrs.n, .types = r->types.n, .names = r->names.n};
	TRY(read_result_names(r));
	TRY(read_op_text(r, &d));
	module *m = r->m;
	if (draft_results(r, &d) > MAX_OPERANDS)
		return lex_error(
			&r->lex, d.at, ST_ERR_LIMIT, "more results than the limit of %d", MAX_OPERANDS);
	loc_id loc;
	TRY(read_loc(r, &loc));
	op_get(m, d.op)->loc = loc;
	if (d.kind == OP_REDUCE && loc)
		spread_loc(m, d.op);
	give_operands(r, &d);
	op_give_results(m, d.op, r->types.p + d.types, draft_results(r, &d));
	r->types.n = d.types;
	TRY(place_shardings(r, &d));
	TRY(store_attrs(r, &d));
	TRY(bind_results(r, &d));
	op_append(m, d.op, into);
	return ST_OK;
}
