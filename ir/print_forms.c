/* Pretty forms as far as they help a reader: simple ops, dot_general, reduce with a one-op body,
 * while, sdy and func. Each function checks that the op has what its form needs before it writes;
 * otherwise the generic form is printed. */
#include "ir/print.h"

typedef bool (*put_fn)(printer *p, op_id o, uint32_t indent);

/* ---------------------------------------------------------------- shared pieces */

static void put_op_name(printer *p, op_id o)
{
	strbuf_puts(p->out, op_infos[op_at(p->m, o)->kind].text);
	if (op_at(p->m, o)->n_operands)
		strbuf_putc(p->out, ' ');
}

static attr_id attr_of_kind(const module *m, op_id o, const char *name, attr_kind kind)
{
	attr_id a = op_attr(m, o, name);
	return a != ID_NONE && attr_get(m, a)->kind == kind ? a : ID_NONE;
}

/* An i64, whose type a pretty form leaves out. */
static attr_id plain_int(const module *m, op_id o, const char *name)
{
	attr_id a = attr_of_kind(m, o, name, ATTR_INT);
	bool fine = a != ID_NONE &&
		(attr_get(m, a)->type == ID_NONE || type_get(m, attr_get(m, a)->type)->elem == ELEM_I64);
	return fine ? a : ID_NONE;
}

/* All operands and the only result have one type. */
static bool same_types(const module *m, op_id o)
{
	const ir_op *op = op_at(m, o);
	if (op->n_results != 1)
		return false;
	for (uint32_t i = 0; i < op->n_operands; i++)
		if (value_at(m, op_operand(m, o, i))->type != value_at(m, op->results)->type)
			return false;
	return true;
}

static void put_result_type(printer *p, op_id o)
{
	strbuf_puts(p->out, " : ");
	put_type(p, value_at(p->m, op_result(p->m, o, 0))->type);
}

static void put_same_or_function_type(printer *p, op_id o)
{
	if (same_types(p->m, o))
		put_result_type(p, o);
	else
		put_function_type(p, o);
}

static void put_named_ints(printer *p, op_id o, const char *field, const char *name)
{
	uint32_t n;
	const int64_t *v = op_ints(p->m, o, name, &n);
	strbuf_puts(p->out, field);
	put_ints(p, v, n);
}

static void put_sharding(printer *p, sharding_id s) { sharding_print(p->m->shardings, s, p->out); }

/* ---------------------------------------------------------------- simple ops */

static bool put_same(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	const ir_op *op = op_at(p->m, o);
	bool chlo = op->kind == OP_CHLO_NEXT_AFTER ||
		(str_starts(strtab_get(&p->m->strs, op->name), "chlo.") &&
			op_infos[op->kind].flags & OPF_ELEMENTWISE);
	bool one_type = op->kind == OP_COMPLEX || op->kind == OP_TUPLE || op->kind == OP_AFTER_ALL ||
		!op->n_operands;
	if (op->kind == OP_OPTIMIZATION_BARRIER ? !op->n_operands : op->n_results != 1)
		return false;
	bool attrs_first = op->kind == OP_OPTIMIZATION_BARRIER;
	put_op_name(p, o);
	if (attrs_first) { /* `barrier {..} %a`: put_attrs brings the space before, or nothing */
		p->out->n -= p->out->n && p->out->p[p->out->n - 1] == ' ';
		put_attrs(p, o, NULL);
		strbuf_putc(p->out, ' ');
	}
	put_operands(p, o, 0, op->n_operands);
	if (!attrs_first)
		put_attrs(p, o, NULL);
	if (chlo || op->kind == OP_OPTIMIZATION_BARRIER) {
		strbuf_puts(p->out, " : ");
		put_operand_types(p, o);
		if (chlo)
			put_arrow(p, o);
	} else if (one_type || (op_infos[op->kind].flags & OPF_ELEMENTWISE && same_types(p->m, o))) {
		put_result_type(p, o);
	} else {
		put_function_type(p, o);
	}
	return true;
}

static bool put_select(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	const ir_op *op = op_at(p->m, o);
	if (op->n_operands != 3 || op->n_results != 1)
		return false;
	type_id t = value_at(p->m, op->results)->type;
	if (value_at(p->m, op_operand(p->m, o, 1))->type != t ||
		value_at(p->m, op_operand(p->m, o, 2))->type != t)
		return false;
	put_op_name(p, o);
	put_operands(p, o, 0, 3);
	put_attrs(p, o, NULL);
	strbuf_puts(p->out, " : ");
	put_type(p, value_at(p->m, op_operand(p->m, o, 0))->type);
	strbuf_puts(p->out, ", ");
	put_type(p, t);
	return true;
}

static bool put_compare(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	static const char *const said[] = {"comparison_direction", "compare_type", NULL};
	attr_id direction = attr_of_kind(p->m, o, said[0], ATTR_ENUM), kind = op_attr(p->m, o, said[1]);
	if (direction == ID_NONE || (kind != ID_NONE && attr_get(p->m, kind)->kind != ATTR_ENUM))
		return false;
	put_op_name(p, o);
	strbuf_str(p->out, attr_get(p->m, direction)->word);
	strbuf_puts(p->out, ", ");
	put_operands(p, o, 0, op_at(p->m, o)->n_operands);
	if (kind != ID_NONE) {
		strbuf_puts(p->out, ", ");
		strbuf_str(p->out, attr_get(p->m, kind)->word);
	}
	put_attrs(p, o, said);
	put_function_type(p, o);
	return true;
}

static bool put_constant(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	static const char *const said[] = {"value", NULL};
	attr_id a = op_attr(p->m, o, "value");
	if (a == ID_NONE || attr_get(p->m, a)->type != value_at(p->m, op_result(p->m, o, 0))->type)
		return false;
	put_op_name(p, o);
	put_attrs(p, o, said);
	strbuf_putc(p->out, ' ');
	attr_print(p->m, a, p->out);
	return true;
}

static bool put_dims(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	const ir_op *op = op_at(p->m, o);
	const char *name = op->kind == OP_TRANSPOSE ? "permutation"
		: op->kind == OP_REVERSE                ? "dimensions"
												: "broadcast_dimensions";
	if (attr_of_kind(p->m, o, name, ATTR_INTS) == ID_NONE ||
		(op->kind == OP_DYNAMIC_BROADCAST_IN_DIM && op->n_attrs != 1))
		return false;
	put_op_name(p, o);
	put_operands(p, o, 0, op->n_operands);
	put_named_ints(p, o, ", dims = ", name);
	put_attrs(p, o, (const char *const[]){name, NULL});
	if (op->kind == OP_REVERSE)
		put_same_or_function_type(p, o);
	else
		put_function_type(p, o);
	return true;
}

static bool put_concatenate(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	const char *name = op_at(p->m, o)->kind == OP_DYNAMIC_IOTA ? "iota_dimension" : "dimension";
	attr_id a = plain_int(p->m, o, name);
	if (a == ID_NONE)
		return false;
	put_op_name(p, o);
	put_operands(p, o, 0, op_at(p->m, o)->n_operands);
	strbuf_printf(p->out, ", dim = %lld", (long long)attr_get(p->m, a)->i);
	put_attrs(p, o, (const char *const[]){name, NULL});
	put_function_type(p, o);
	return true;
}

static bool put_iota(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	attr_id a = plain_int(p->m, o, "iota_dimension");
	if (a == ID_NONE)
		return false;
	strbuf_printf(p->out, "stablehlo.iota dim = %lld", (long long)attr_get(p->m, a)->i);
	put_attrs(p, o, (const char *const[]){"iota_dimension", NULL});
	put_result_type(p, o);
	return true;
}

static bool put_pad(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	static const char *const said[] = {
		"edge_padding_low", "edge_padding_high", "interior_padding", NULL};
	static const char *const fields[] = {", low = ", ", high = ", ", interior = "};
	for (int i = 0; i < 3; i++)
		if (attr_of_kind(p->m, o, said[i], ATTR_INTS) == ID_NONE)
			return false;
	put_op_name(p, o);
	put_operands(p, o, 0, op_at(p->m, o)->n_operands);
	for (int i = 0; i < 3; i++)
		put_named_ints(p, o, fields[i], said[i]);
	put_attrs(p, o, said);
	put_function_type(p, o);
	return true;
}

static bool put_slice(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	static const char *const said[] = {"start_indices", "limit_indices", "strides", NULL};
	const int64_t *v[3];
	uint32_t n[3];
	for (int i = 0; i < 3; i++)
		v[i] = op_ints(p->m, o, said[i], &n[i]);
	if (n[0] != n[1] || n[0] != n[2])
		return false;
	put_op_name(p, o);
	put_operands(p, o, 0, op_at(p->m, o)->n_operands);
	strbuf_puts(p->out, " [");
	for (uint32_t d = 0; d < n[0]; d++) {
		strbuf_printf(p->out, "%s%lld:%lld", d ? ", " : "", (long long)v[0][d], (long long)v[1][d]);
		if (v[2][d] != 1)
			strbuf_printf(p->out, ":%lld", (long long)v[2][d]);
	}
	strbuf_putc(p->out, ']');
	put_attrs(p, o, said);
	put_function_type(p, o);
	return true;
}

static bool put_dynamic_slice(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	if (attr_of_kind(p->m, o, "slice_sizes", ATTR_INTS) == ID_NONE)
		return false;
	put_op_name(p, o);
	put_operands(p, o, 0, op_at(p->m, o)->n_operands);
	put_named_ints(p, o, ", sizes = ", "slice_sizes");
	put_attrs(p, o, (const char *const[]){"slice_sizes", NULL});
	put_function_type(p, o);
	return true;
}

/* ---------------------------------------------------------------- contractions */

static bool plain_precisions(const module *m, attr_id a)
{
	if (a == ID_NONE)
		return true;
	const attr *list = attr_get(m, a);
	bool fine = list->kind == ATTR_ARRAY && list->n > 0;
	for (uint32_t i = 0; fine && i < list->n; i++)
		fine = attr_get(m, list->children[i].value)->kind == ATTR_ENUM;
	return fine;
}

static void put_precisions(printer *p, attr_id a)
{
	if (a == ID_NONE)
		return;
	const attr *list = attr_get(p->m, a);
	for (uint32_t i = 0; i < list->n; i++) {
		strbuf_puts(p->out, i ? ", " : ", precision = [");
		strbuf_str(p->out, attr_get(p->m, list->children[i].value)->word);
	}
	strbuf_putc(p->out, ']');
}

static bool put_dot_general(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	static const char *const said[] = {"dot_dimension_numbers", "precision_config", NULL};
	attr_id precision_attr = op_attr(p->m, o, said[1]);
	if (attr_of_kind(p->m, o, said[0], ATTR_STRUCT) == ID_NONE ||
		!plain_precisions(p->m, precision_attr) || op_attr(p->m, o, "algorithm") != ID_NONE)
		return false;
	put_op_name(p, o);
	put_operands(p, o, 0, op_at(p->m, o)->n_operands);
	uint32_t n_left, n_right;
	op_ints(p->m, o, "dot_dimension_numbers.lhs_batching_dimensions", &n_left);
	op_ints(p->m, o, "dot_dimension_numbers.rhs_batching_dimensions", &n_right);
	if (n_left || n_right) {
		put_named_ints(p, o, ", batching_dims = ", "dot_dimension_numbers.lhs_batching_dimensions");
		put_named_ints(p, o, " x ", "dot_dimension_numbers.rhs_batching_dimensions");
	}
	put_named_ints(
		p, o, ", contracting_dims = ", "dot_dimension_numbers.lhs_contracting_dimensions");
	put_named_ints(p, o, " x ", "dot_dimension_numbers.rhs_contracting_dimensions");
	put_precisions(p, precision_attr);
	put_attrs(p, o, said);
	put_function_type(p, o);
	return true;
}

/* The op that `applies` names: the body is that op on the two arguments and a return of its result,
 * all of one type. */
static op_id applied_op(const module *m, op_id o)
{
	const ir_region *body = op_region(m, o, 0);
	if (op_at(m, o)->n_operands != 2 || op_at(m, o)->n_results != 1 || body->n_args != 2 ||
		body->first == ID_NONE)
		return ID_NONE;
	const ir_op *inner = op_at(m, body->first);
	if (inner->next != body->last || body->first == body->last ||
		op_at(m, body->last)->kind != OP_RETURN)
		return ID_NONE;
	bool simple = inner->n_operands == 2 && inner->n_results == 1 && !inner->n_attrs &&
		!inner->n_regions && inner->kind != OP_UNKNOWN &&
		op_infos[inner->kind].flags & OPF_ELEMENTWISE && !op_at(m, body->last)->n_attrs &&
		op_at(m, body->last)->n_operands == 1;
	type_id t = value_at(m, op_operand(m, o, 1))->type;
	const ir_type *init = type_get(m, t), *result = value_type(m, op_result(m, o, 0));
	if (!simple || init->rank || init->elem != result->elem ||
		value_at(m, inner->results)->type != t || inner->loc != op_at(m, o)->loc ||
		op_at(m, body->last)->loc != op_at(m, o)->loc)
		return ID_NONE;
	for (uint32_t i = 0; i < 2; i++)
		if (op_operand(m, body->first, i) != body->args + i ||
			value_at(m, body->args + i)->type != t)
			return ID_NONE;
	if (op_operand(m, body->last, 0) != inner->results ||
		value_at(m, inner->results)->sharding != SHARDING_NONE)
		return ID_NONE;
	return body->first;
}

static bool put_reduce(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	op_id inner = applied_op(p->m, o);
	if (inner == ID_NONE || attr_of_kind(p->m, o, "dimensions", ATTR_INTS) == ID_NONE)
		return false;
	strbuf_puts(p->out, "stablehlo.reduce(");
	put_value(p, op_operand(p->m, o, 0));
	strbuf_puts(p->out, " init: ");
	put_value(p, op_operand(p->m, o, 1));
	strbuf_printf(p->out, ") applies %s", op_infos[op_at(p->m, inner)->kind].text);
	put_named_ints(p, o, " across dimensions = ", "dimensions");
	put_attrs(p, o, (const char *const[]){"dimensions", NULL});
	put_function_type(p, o);
	return true;
}

/* ---------------------------------------------------------------- control flow, functions */

static bool put_while(printer *p, op_id o, uint32_t indent)
{
	const ir_op *op = op_at(p->m, o);
	if (op->n_regions != 2)
		return false;
	const ir_region *cond = op_region(p->m, o, 0), *body = op_region(p->m, o, 1);
	if (cond->n_args != op->n_operands || body->n_args != op->n_operands ||
		op->n_results != op->n_operands)
		return false;
	/* One list names the arguments of both regions: they get the same labels, and locations only
	 * the generic form has. */
	for (uint32_t i = 0; i < op->n_operands; i++) {
		if (p->labels[cond->args + i] != p->labels[body->args + i] ||
			value_at(p->m, cond->args + i)->loc || value_at(p->m, body->args + i)->loc)
			return false;
		type_id t = value_at(p->m, op_operand(p->m, o, i))->type;
		if (value_at(p->m, op->results + i)->type != t ||
			value_at(p->m, cond->args + i)->type != t || value_at(p->m, body->args + i)->type != t)
			return false;
	}
	strbuf_puts(p->out, "stablehlo.while(");
	for (uint32_t i = 0; i < op->n_operands; i++) {
		if (i)
			strbuf_puts(p->out, ", ");
		put_value(p, cond->args + i);
		strbuf_puts(p->out, " = ");
		put_value(p, op_operand(p->m, o, i));
	}
	strbuf_puts(p->out, op->n_operands ? ") : " : ")");
	put_operand_types(p, o);
	size_t before = p->out->n;
	put_attrs(p, o, NULL);
	if (p->out->n > before) { /* the dict follows a word here */
		strbuf dict;
		strbuf_init(&dict);
		strbuf_add(&dict, p->out->p + before, p->out->n - before);
		p->out->n = before;
		strbuf_puts(p->out, " attributes");
		strbuf_add(p->out, dict.p, dict.n);
		strbuf_release(&dict);
	}
	strbuf_puts(p->out, " cond ");
	put_region(p, op->regions, indent, false);
	strbuf_puts(p->out, " do ");
	put_region(p, op->regions + 1, indent, false);
	return true;
}

static bool put_return(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	const ir_op *op = op_at(p->m, o);
	strbuf_puts(p->out, op->kind == OP_FUNC_RETURN ? "return" : op_infos[op->kind].text);
	put_attrs(p, o, NULL);
	if (op->n_operands) {
		strbuf_putc(p->out, ' ');
		put_operands(p, o, 0, op->n_operands);
		strbuf_puts(p->out, " : ");
		put_operand_types(p, o);
	}
	return true;
}

static bool put_call(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	attr_id callee = attr_of_kind(p->m, o, "callee", ATTR_SYMBOL);
	if (callee == ID_NONE)
		return false;
	/* func is the default dialect only directly inside a function */
	strbuf_puts(p->out, op_at(p->m, op_parent(p->m, o))->kind == OP_FUNC ? "call " : "func.call ");
	put_symbol(p->out, attr_get(p->m, callee)->text);
	strbuf_putc(p->out, '(');
	put_operands(p, o, 0, op_at(p->m, o)->n_operands);
	strbuf_putc(p->out, ')');
	put_attrs(p, o, (const char *const[]){"callee", NULL});
	put_function_type(p, o);
	return true;
}

static void put_value_attrs(printer *p, attr_id dict, sharding_id s)
{
	if (dict == ID_NONE && s == SHARDING_NONE)
		return;
	bool any = false;
	strbuf_puts(p->out, " {");
	if (s != SHARDING_NONE) {
		strbuf_puts(p->out, "sdy.sharding = #sdy.sharding");
		put_sharding(p, s);
		any = true;
	}
	if (dict != ID_NONE)
		put_entries(p, attr_get(p->m, dict)->children, attr_get(p->m, dict)->n, &any);
	strbuf_putc(p->out, '}');
}

static void put_signature(printer *p, const func *f)
{
	const ir_region *body = op_region(p->m, f->op, 0);
	strbuf_putc(p->out, '(');
	for (uint32_t i = 0; i < f->n_args; i++) {
		value_id v = body->args + i;
		if (i)
			strbuf_puts(p->out, ", ");
		if (!body->empty) {
			put_value(p, v);
			strbuf_puts(p->out, ": ");
		}
		put_type(p, value_at(p->m, v)->type);
		put_value_attrs(p, f->arg_attrs[i], value_at(p->m, v)->sharding);
		if (!body->empty)
			put_loc(p, value_at(p->m, v)->loc);
	}
	strbuf_putc(p->out, ')');
	if (!f->n_results)
		return;
	strbuf_puts(p->out, " -> (");
	for (uint32_t i = 0; i < f->n_results; i++) {
		if (i)
			strbuf_puts(p->out, ", ");
		put_type(p, f->result_types[i]);
		put_value_attrs(p, f->result_attrs[i], f->result_shardings[i]);
	}
	strbuf_putc(p->out, ')');
}

static bool put_func(printer *p, op_id o, uint32_t indent)
{
	const func *f = module_func(p->m, o);
	if (!f)
		return false;
	const ir_op *op = op_at(p->m, o);
	str visibility = f->is_private ? STR("private") : op_text(p->m, o, "sym_visibility");
	strbuf_puts(p->out, "func.func ");
	if (visibility.n) {
		strbuf_str(p->out, visibility);
		strbuf_putc(p->out, ' ');
	}
	put_symbol(p->out, strtab_get(&p->m->strs, f->name));
	put_signature(p, f);
	uint32_t said = op_attr(p->m, o, "sym_visibility") != ID_NONE;
	if (op->n_attrs > said) {
		strbuf_puts(p->out, " attributes");
		put_attrs(p, o, (const char *const[]){"sym_visibility", NULL});
	}
	if (!op_region(p->m, o, 0)->empty) {
		strbuf_putc(p->out, ' ');
		put_region(p, op->regions, indent, false);
	}
	return true;
}

static bool put_module(printer *p, op_id o, uint32_t indent)
{
	static const char *const said[] = {"sym_name", NULL};
	const ir_op *op = op_at(p->m, o);
	attr_id name = attr_of_kind(p->m, o, said[0], ATTR_STRING);
	strbuf_puts(p->out, "module");
	if (name != ID_NONE) {
		strbuf_putc(p->out, ' ');
		put_symbol(p->out, attr_get(p->m, name)->text);
	}
	if (op->n_attrs > (name != ID_NONE)) {
		strbuf_puts(p->out, " attributes");
		put_attrs(p, o, said);
	}
	strbuf_putc(p->out, ' ');
	put_region(p, op->regions, indent, false);
	return true;
}

/* ---------------------------------------------------------------- sdy */

static bool put_mesh(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	str name = op_text(p->m, o, "sym_name");
	attr_id mesh = attr_of_kind(p->m, o, "mesh", ATTR_RAW);
	if (!name.n || mesh == ID_NONE)
		return false;
	str text = attr_get(p->m, mesh)->text;
	strbuf_puts(p->out, "sdy.mesh ");
	put_symbol(p->out, name);
	strbuf_puts(p->out, " = ");
	strbuf_str(p->out, (str){text.p + sizeof "#sdy.mesh" - 1, text.n - (sizeof "#sdy.mesh" - 1)});
	put_attrs(p, o, (const char *const[]){"sym_name", "mesh", NULL});
	return true;
}

static bool put_sharded(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	sharding_id s = value_at(p->m, op_result(p->m, o, 0))->sharding;
	if (s == SHARDING_NONE)
		return false;
	put_op_name(p, o);
	put_value(p, op_operand(p->m, o, 0));
	strbuf_putc(p->out, ' ');
	put_sharding(p, s);
	put_attrs(p, o, NULL);
	put_result_type(p, o);
	return true;
}

static bool put_data_flow_edge(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	sharding_id s = value_at(p->m, op_result(p->m, o, 0))->sharding;
	put_op_name(p, o);
	put_value(p, op_operand(p->m, o, 0));
	if (s != SHARDING_NONE && op_at(p->m, o)->kind == OP_SDY_DATA_FLOW_EDGE) {
		strbuf_puts(p->out, " sharding=");
		put_sharding(p, s);
	}
	put_attrs(p, o, NULL);
	put_result_type(p, o);
	return true;
}

static bool put_sharding_group(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	attr_id id = plain_int(p->m, o, "group_id");
	if (id == ID_NONE)
		return false;
	put_op_name(p, o);
	put_value(p, op_operand(p->m, o, 0));
	strbuf_printf(p->out, " group_id=%lld", (long long)attr_get(p->m, id)->i);
	put_attrs(p, o, (const char *const[]){"group_id", NULL});
	strbuf_puts(p->out, " : ");
	put_operand_types(p, o);
	return true;
}

static bool put_propagation_barrier(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	put_op_name(p, o);
	put_value(p, op_operand(p->m, o, 0));
	strbuf_puts(p->out, " allowed_direction=");
	strbuf_str(p->out, op_text(p->m, o, "allowed_direction"));
	put_attrs(p, o, (const char *const[]){"allowed_direction", NULL});
	put_result_type(p, o);
	return true;
}

static void put_shardings_field(printer *p, op_id o, const char *name)
{
	attr_id a = attr_of_kind(p->m, o, name, ATTR_SHARDINGS);
	if (a == ID_NONE)
		return;
	strbuf_printf(p->out, " %s=[", name);
	for (uint32_t i = 0; i < attr_get(p->m, a)->n; i++) {
		if (i)
			strbuf_puts(p->out, ", ");
		put_sharding(p, attr_get(p->m, a)->shardings[i]);
	}
	strbuf_putc(p->out, ']');
}

static void put_computation(printer *p, op_id o, uint32_t indent, const char *const *said)
{
	const ir_region *body = op_region(p->m, o, 0);
	strbuf_puts(p->out, " (");
	for (uint32_t i = 0; i < body->n_args; i++) {
		if (i)
			strbuf_puts(p->out, ", ");
		put_block_arg(p, body->args + i);
	}
	strbuf_puts(p->out, ") ");
	put_region(p, op_at(p->m, o)->regions, indent, false);
	put_attrs(p, o, said);
	put_function_type(p, o);
}

static bool put_manual_computation(printer *p, op_id o, uint32_t indent)
{
	static const char *const said[] = {"in_shardings", "out_shardings", "manual_axes", NULL};
	attr_id axes_attr = attr_of_kind(p->m, o, "manual_axes", ATTR_ARRAY);
	if (axes_attr == ID_NONE || op_at(p->m, o)->n_regions != 1)
		return false;
	strbuf_puts(p->out, "sdy.manual_computation(");
	put_operands(p, o, 0, op_at(p->m, o)->n_operands);
	strbuf_putc(p->out, ')');
	put_shardings_field(p, o, said[0]);
	put_shardings_field(p, o, said[1]);
	strbuf_puts(p->out, " manual_axes={");
	for (uint32_t i = 0; i < attr_get(p->m, axes_attr)->n; i++) {
		if (i)
			strbuf_puts(p->out, ", ");
		attr_print(p->m, attr_get(p->m, axes_attr)->children[i].value, p->out);
	}
	strbuf_putc(p->out, '}');
	put_computation(p, o, indent, said);
	return true;
}

static bool put_named_computation(printer *p, op_id o, uint32_t indent)
{
	static const char *const said[] = {"name", "in_shardings", "out_shardings", NULL};
	attr_id name = attr_of_kind(p->m, o, "name", ATTR_STRING);
	if (name == ID_NONE || op_at(p->m, o)->n_regions != 1)
		return false;
	strbuf_puts(p->out, "sdy.named_computation<");
	attr_print(p->m, name, p->out);
	strbuf_puts(p->out, ">(");
	put_operands(p, o, 0, op_at(p->m, o)->n_operands);
	strbuf_putc(p->out, ')');
	put_shardings_field(p, o, said[1]);
	put_shardings_field(p, o, said[2]);
	put_computation(p, o, indent, said);
	return true;
}

static bool put_collective(printer *p, op_id o, uint32_t indent)
{
	(void)indent;
	sharding_id s = value_at(p->m, op_result(p->m, o, 0))->sharding;
	const char *axes_key = collective_axes_name((op_kind)op_at(p->m, o)->kind);
	attr_id list = axes_key ? attr_of_kind(p->m, o, axes_key, ATTR_ENUM) : ID_NONE;
	if (s == SHARDING_NONE || (axes_key && list == ID_NONE))
		return false;
	put_op_name(p, o);
	if (axes_key) {
		strbuf_str(p->out, attr_get(p->m, list)->word);
		strbuf_putc(p->out, ' ');
	}
	put_value(p, op_operand(p->m, o, 0));
	strbuf_puts(p->out, " out_sharding=");
	put_sharding(p, s);
	put_attrs(p, o, (const char *const[]){axes_key, NULL});
	put_result_type(p, o);
	return true;
}

/* ---------------------------------------------------------------- table */

#define put_generic NULL
#define put_broadcast NULL
#define put_scan NULL
#define put_call_indirect NULL
#define put_func_constant NULL
#define put_cast NULL
#define put_reduce_precision NULL
#define put_dot NULL
#define put_convolution NULL
#define put_cholesky NULL
#define put_fft NULL
#define put_rng_bit_generator NULL
#define put_rng NULL
#define put_einsum NULL
#define put_composite NULL
#define put_custom_call NULL
#define put_get_tuple_element NULL
#define put_top_k NULL
static const put_fn put_forms[OP_COUNT] = {
#define OP(id, text, form, in, out, regions, check, rule, cost, emit, flags) [OP_##id] = put_##form,
#include "ir/ops.def"
#undef OP
};

bool put_pretty(printer *p, op_id o, uint32_t indent)
{
	put_fn put = put_forms[op_at(p->m, o)->kind];
	return put && put(p, o, indent);
}
