/* Printer: value names, regions, attributes, the generic form, the module around them. */
#include "ir/print.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- attributes */

static bool bare_name(str s)
{
	if (!s.n ||
		!((s.p[0] >= 'a' && s.p[0] <= 'z') || (s.p[0] >= 'A' && s.p[0] <= 'Z') || s.p[0] == '_'))
		return false;
	for (size_t i = 1; i < s.n; i++) {
		char c = s.p[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
				c == '_' || c == '$' || c == '.'))
			return false;
	}
	return true;
}

static void put_name(strbuf *out, str s)
{
	if (bare_name(s)) {
		strbuf_str(out, s);
		return;
	}
	strbuf_putc(out, '"');
	strbuf_str(out, s);
	strbuf_putc(out, '"');
}

void put_symbol(strbuf *out, str name)
{
	strbuf_putc(out, '@');
	/* a nested symbol keeps its own spelling */
	for (size_t i = 0; i + 2 < name.n; i++)
		if (name.p[i] == ':' && name.p[i + 1] == ':' && name.p[i + 2] == '@') {
			strbuf_str(out, name);
			return;
		}
	put_name(out, name);
}

static void print_children(const module *m, const attr *a, strbuf *out)
{
	for (uint32_t i = 0; i < a->n; i++) {
		if (i)
			strbuf_puts(out, ", ");
		if (a->children[i].name) {
			put_name(out, strtab_get(&m->strs, a->children[i].name));
			if (attr_get(m, a->children[i].value)->kind == ATTR_UNIT)
				continue;
			strbuf_puts(out, " = ");
		}
		attr_print(m, a->children[i].value, out);
	}
}

static void print_ints(const attr *a, bool truth, strbuf *out)
{
	for (uint32_t i = 0; i < a->n; i++) {
		if (i)
			strbuf_puts(out, ", ");
		if (truth)
			strbuf_puts(out, a->ints[i] ? "true" : "false");
		else
			strbuf_i64(out, a->ints[i]);
	}
}

static void print_type_suffix(const module *m, const attr *a, strbuf *out)
{
	if (a->type == ID_NONE)
		return;
	strbuf_puts(out, " : ");
	type_print(m, a->type, out);
}

static void print_int_list(const module *m, const attr *a, strbuf *out)
{
	if (a->type == ID_NONE) {
		strbuf_putc(out, '[');
		print_ints(a, false, out);
		strbuf_putc(out, ']');
		return;
	}
	strbuf_puts(out, "array<");
	type_print(m, a->type, out);
	if (a->n)
		strbuf_puts(out, ": ");
	print_ints(a, type_get(m, a->type)->elem == ELEM_I1, out);
	strbuf_putc(out, '>');
}

static void print_struct(const module *m, const attr *a, strbuf *out)
{
	strbuf_putc(out, '#');
	strbuf_str(out, a->text);
	strbuf_putc(out, '<');
	if (a->word.n) {
		strbuf_str(out, a->word);
	} else {
		if (str_is(a->text, "stablehlo.conv"))
			strbuf_puts(out, "raw ");
		print_children(m, a, out);
	}
	strbuf_putc(out, '>');
}

static void print_shardings(const module *m, const attr *a, strbuf *out)
{
	for (uint32_t i = 0; i < a->n; i++) {
		if (i)
			strbuf_puts(out, ", ");
		sharding_print(m->shardings, a->shardings[i], out);
	}
}

void attr_print(const module *m, attr_id id, strbuf *out)
{
	const attr *a = attr_get(m, id);
	switch ((attr_kind)a->kind) {
	case ATTR_RAW:
	case ATTR_FLOAT:
		strbuf_str(out, a->text);
		print_type_suffix(m, a, out);
		break;
	case ATTR_UNIT: strbuf_puts(out, "unit"); break;
	case ATTR_BOOL: strbuf_puts(out, a->i ? "true" : "false"); break;
	case ATTR_INT:
		strbuf_i64(out, a->i);
		print_type_suffix(m, a, out);
		break;
	case ATTR_STRING:
		strbuf_putc(out, '"');
		strbuf_str(out, a->text);
		strbuf_putc(out, '"');
		print_type_suffix(m, a, out);
		break;
	case ATTR_SYMBOL: put_symbol(out, a->text); break;
	case ATTR_TYPE: type_print(m, a->type, out); break;
	case ATTR_ARRAY:
		if (a->text.n) { /* has a spelling of its own */
			strbuf_str(out, a->text);
			break;
		}
		strbuf_putc(out, '[');
		print_children(m, a, out);
		strbuf_putc(out, ']');
		break;
	case ATTR_DICT:
		strbuf_putc(out, '{');
		print_children(m, a, out);
		strbuf_putc(out, '}');
		break;
	case ATTR_INTS: print_int_list(m, a, out); break;
	case ATTR_DENSE:
		strbuf_puts(out, "dense<");
		strbuf_str(out, a->text);
		strbuf_putc(out, '>');
		print_type_suffix(m, a, out);
		break;
	case ATTR_STRUCT: print_struct(m, a, out); break;
	case ATTR_ENUM: strbuf_str(out, a->text); break;
	case ATTR_SHARDING:
		strbuf_puts(out, "#sdy.sharding");
		print_shardings(m, a, out);
		break;
	case ATTR_SHARDINGS:
		strbuf_puts(out, "#sdy.sharding_per_value<[");
		print_shardings(m, a, out);
		strbuf_puts(out, "]>");
		break;
	case ATTR_RULE:
		strbuf_puts(out, "#sdy.op_sharding_rule<");
		strbuf_str(out, a->text);
		strbuf_putc(out, '>');
		break;
	}
}

static void put_entry(printer *p, str_id name, bool *any)
{
	if (*any)
		strbuf_puts(p->out, ", ");
	*any = true;
	put_name(p->out, strtab_get(&p->m->strs, name));
}

void put_entries(printer *p, const named_attr *list, uint32_t n, bool *any)
{
	for (uint32_t i = 0; i < n; i++) {
		put_entry(p, list[i].name, any);
		if (attr_get(p->m, list[i].value)->kind == ATTR_UNIT)
			continue;
		strbuf_puts(p->out, " = ");
		attr_print(p->m, list[i].value, p->out);
	}
}

/* ---------------------------------------------------------------- value names */

/* LABEL_PACKED: one of several results of one name, %name#2. */
enum { LABEL_NAMED = 1u << 31, LABEL_PACKED = 1u << 30, LABEL_BITS = LABEL_NAMED | LABEL_PACKED };

static bool take_name(printer *p, str name, uint32_t *label)
{
	str_id id = strtab_add(&p->names, name);
	while (p->used.n <= id)
		vec_push(&p->used, 0);
	if (p->used.p[id])
		return false;
	p->used.p[id] = 1;
	vec_push(&p->log, (struct taken){id, 0});
	*label = LABEL_NAMED | id;
	return true;
}

/* name, or name_0, name_1 .. while that is taken. */
static void name_value(printer *p, value_id v, str name)
{
	uint32_t *label = &p->labels[v];
	if (take_name(p, name, label))
		return;
	strbuf b;
	strbuf_init(&b);
	/* where to go on is remembered under an id of its own, so that a thousand equal names stay
	 * cheap */
	strbuf_printf(&b, " " STR_FMT, STR_ARG(name));
	str_id counter = strtab_add(&p->names, (str){b.p, b.n});
	while (p->used.n <= counter)
		vec_push(&p->used, 0);
	vec_push(&p->log, (struct taken){counter, p->used.p[counter]});
	do {
		strbuf_clear(&b);
		strbuf_printf(&b, STR_FMT "_%u", STR_ARG(name), p->used.p[counter]++);
	} while (!take_name(p, (str){b.p, b.n}, label));
	strbuf_release(&b);
}

static void name_arg(printer *p, value_id v)
{
	const ir_value *at = value_at(p->m, v);
	char unnamed[16];
	snprintf(unnamed, sizeof unnamed, "arg%u", at->index);
	name_value(p, v, at->name ? strtab_get(&p->m->strs, at->name) : str_of(unnamed));
}

/* How many results, from the first on, share its name: %name:3. */
static uint32_t pack_size(const module *m, const ir_op *op)
{
	uint32_t n = op->n_results ? 1 : 0;
	while (
		n < op->n_results && value_at(m, op->results + n)->name == value_at(m, op->results)->name)
		n++;
	return n;
}

static void name_results(printer *p, const ir_op *op)
{
	uint32_t pack = pack_size(p->m, op);
	for (uint32_t i = 0; i < op->n_results; i++) {
		str_id name = value_at(p->m, op->results + i)->name;
		if (i && i < pack)
			p->labels[op->results + i] = p->labels[op->results];
		else if (name)
			name_value(p, op->results + i, strtab_get(&p->m->strs, name));
		else
			p->labels[op->results + i] = p->next_number++;
		if (!i && pack > 1)
			p->labels[op->results] |= LABEL_PACKED;
	}
}

/* Names of everything under a region; sibling regions use the same names again. */
static void name_region(printer *p, region_id r)
{
	const ir_region *region = &p->m->regions.p[r];
	uint32_t mark = p->log.n, number = p->next_number;
	for (uint32_t i = 0; i < region->n_args; i++)
		name_arg(p, region->args + i);
	for (op_id o = region->first; o != ID_NONE; o = op_at(p->m, o)->next) {
		const ir_op *op = op_at(p->m, o);
		name_results(p, op);
		for (uint32_t i = 0; i < op->n_regions; i++)
			name_region(p, op->regions + i);
	}
	while (p->log.n > mark) {
		struct taken last = vec_pop(&p->log);
		p->used.p[last.id] = last.before;
	}
	p->next_number = number;
}

static void put_label(printer *p, value_id v)
{
	uint32_t label = p->labels[v];
	strbuf_putc(p->out, '%');
	if (label & LABEL_NAMED)
		strbuf_str(p->out, strtab_get(&p->names, label & ~LABEL_BITS));
	else
		strbuf_i64(p->out, label & ~LABEL_BITS);
}

void put_value(printer *p, value_id v)
{
	put_label(p, v);
	if (p->labels[v] & LABEL_PACKED) {
		strbuf_putc(p->out, '#');
		strbuf_i64(p->out, value_at(p->m, v)->index);
	}
}

static void put_results(printer *p, const ir_op *op)
{
	uint32_t pack = pack_size(p->m, op);
	for (uint32_t i = 0; i < op->n_results; i += i ? 1 : pack) {
		if (i)
			strbuf_puts(p->out, ", ");
		put_label(p, op->results + i);
		if (!i && pack > 1)
			strbuf_printf(p->out, ":%u", pack);
	}
	if (op->n_results)
		strbuf_puts(p->out, " = ");
}

/* ---------------------------------------------------------------- pieces of ops */

void put_type(printer *p, type_id t) { strbuf_str(p->out, type_get(p->m, t)->text); }

void put_operands(printer *p, op_id o, uint32_t from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			strbuf_puts(p->out, ", ");
		put_value(p, op_operand(p->m, o, from + i));
	}
}

static void put_result_types(printer *p, const ir_op *op)
{
	bool bare = op->n_results == 1 && value_type(p->m, op->results)->kind != TYPE_FUNCTION;
	if (!bare)
		strbuf_putc(p->out, '(');
	for (uint32_t i = 0; i < op->n_results; i++) {
		if (i)
			strbuf_puts(p->out, ", ");
		put_type(p, value_at(p->m, op->results + i)->type);
	}
	if (!bare)
		strbuf_putc(p->out, ')');
}

void put_operand_types(printer *p, op_id o)
{
	for (uint32_t i = 0; i < op_at(p->m, o)->n_operands; i++) {
		if (i)
			strbuf_puts(p->out, ", ");
		put_type(p, value_at(p->m, op_operand(p->m, o, i))->type);
	}
}

void put_arrow(printer *p, op_id o)
{
	strbuf_puts(p->out, " -> ");
	put_result_types(p, op_at(p->m, o));
}

void put_function_type(printer *p, op_id o)
{
	strbuf_puts(p->out, " : (");
	put_operand_types(p, o);
	strbuf_putc(p->out, ')');
	put_arrow(p, o);
}

void put_ints(printer *p, const int64_t *v, uint32_t n)
{
	strbuf_putc(p->out, '[');
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			strbuf_puts(p->out, ", ");
		strbuf_i64(p->out, v[i]);
	}
	strbuf_putc(p->out, ']');
}

void put_loc(printer *p, loc_id l)
{
	if (!p->locations)
		return;
	strbuf_puts(p->out, " loc(");
	strbuf_str(p->out, p->m->locs.p[l].raw);
	strbuf_putc(p->out, ')');
}

/* A result without a sharding among others that have one is fully open. */
static void put_open_sharding(printer *p, mesh_id mesh, const ir_type *t)
{
	const device_mesh *at = &p->m->shardings->meshes.p[mesh];
	strbuf_putc(p->out, '<');
	if (at->name) {
		put_symbol(p->out, strtab_get(&p->m->shardings->names, at->name));
	} else {
		strbuf_puts(p->out, "mesh");
		mesh_print(p->m->shardings, mesh, p->out);
	}
	strbuf_puts(p->out, ", [");
	for (uint32_t i = 0; t->kind == TYPE_TENSOR && !at->maximal && i < t->rank; i++)
		strbuf_puts(p->out, i ? ", {?}" : "{?}");
	strbuf_puts(p->out, "]>");
}

static void put_result_shardings(printer *p, const ir_op *op, mesh_id mesh)
{
	strbuf_puts(p->out, "#sdy.sharding_per_value<[");
	for (uint32_t i = 0; i < op->n_results; i++) {
		if (i)
			strbuf_puts(p->out, ", ");
		sharding_id s = value_at(p->m, op->results + i)->sharding;
		if (s != SHARDING_NONE)
			sharding_print(p->m->shardings, s, p->out);
		else
			put_open_sharding(p, mesh, value_type(p->m, op->results + i));
	}
	strbuf_puts(p->out, "]>");
}

/* Ops that say the sharding of their result in their own words. */
static bool says_sharding(const ir_op *op)
{
	return op_infos[op->kind].flags & OPF_COLLECTIVE || op->kind == OP_SDY_SHARDING_CONSTRAINT ||
		op->kind == OP_SDY_RESHARD || op->kind == OP_SDY_DATA_FLOW_EDGE;
}

static bool skipped(const char *const *skip, str name)
{
	for (; skip && *skip; skip++)
		if (str_is(name, *skip))
			return true;
	return false;
}

static void open_dict(printer *p, bool *any)
{
	if (!*any)
		strbuf_puts(p->out, " {");
}

void put_attrs(printer *p, op_id o, const char *const *skip)
{
	const ir_op *op = op_at(p->m, o);
	bool any = false;
	for (uint32_t i = 0; i < op->n_attrs; i++) {
		const named_attr *a = &p->m->op_attrs.p[op->first_attr + i];
		if (skipped(skip, strtab_get(&p->m->strs, a->name)))
			continue;
		open_dict(p, &any);
		put_entries(p, a, 1, &any);
	}
	for (uint32_t i = 0; i < op->n_results && !says_sharding(op); i++) {
		sharding_id s = value_at(p->m, op->results + i)->sharding;
		if (s == SHARDING_NONE)
			continue;
		open_dict(p, &any);
		strbuf_puts(p->out, any ? ", sdy.sharding = " : "sdy.sharding = ");
		any = true;
		put_result_shardings(p, op, sharding_get(p->m->shardings, s)->mesh);
		break;
	}
	if (any)
		strbuf_putc(p->out, '}');
}

/* ---------------------------------------------------------------- regions, ops */

static void put_indent(printer *p, uint32_t indent)
{
	for (uint32_t i = 0; i < indent; i++)
		strbuf_puts(p->out, "  ");
}

void put_block_arg(printer *p, value_id v)
{
	put_value(p, v);
	strbuf_puts(p->out, ": ");
	put_type(p, value_at(p->m, v)->type);
	put_loc(p, value_at(p->m, v)->loc);
}

static void put_op(printer *p, op_id o, uint32_t indent)
{
	put_results(p, op_at(p->m, o));
	if (!put_pretty(p, o, indent))
		put_generic(p, o, indent);
	put_loc(p, op_at(p->m, o)->loc);
}

void put_region(printer *p, region_id r, uint32_t indent, bool header)
{
	const ir_region *region = &p->m->regions.p[r];
	strbuf_puts(p->out, "{\n");
	if (header && region->n_args) {
		put_indent(p, indent);
		strbuf_puts(p->out, "^bb0(");
		for (uint32_t i = 0; i < region->n_args; i++) {
			if (i)
				strbuf_puts(p->out, ", ");
			put_block_arg(p, region->args + i);
		}
		strbuf_puts(p->out, "):\n");
	}
	for (op_id o = region->first; o != ID_NONE; o = op_at(p->m, o)->next) {
		put_indent(p, indent + 1);
		put_op(p, o, indent + 1);
		strbuf_putc(p->out, '\n');
	}
	put_indent(p, indent);
	strbuf_putc(p->out, '}');
}

void put_generic(printer *p, op_id o, uint32_t indent)
{
	const ir_op *op = op_at(p->m, o);
	/* properties of an unknown op have a dict without a name; registered ops take theirs in either
	 * place */
	attr_id properties = op->kind == OP_UNKNOWN ? op_attr(p->m, o, "") : ID_NONE;
	strbuf_printf(p->out, "\"" STR_FMT "\"(", STR_ARG(strtab_get(&p->m->strs, op->name)));
	put_operands(p, o, 0, op->n_operands);
	strbuf_putc(p->out, ')');
	if (properties != ID_NONE) {
		strbuf_puts(p->out, " <");
		attr_print(p->m, properties, p->out);
		strbuf_putc(p->out, '>');
	}
	for (uint32_t i = 0; i < op->n_regions; i++) {
		strbuf_puts(p->out, i ? ", " : " (");
		put_region(p, op->regions + i, indent, true);
	}
	if (op->n_regions)
		strbuf_putc(p->out, ')');
	put_attrs(p, o, (const char *const[]){"", NULL});
	put_function_type(p, o);
}

/* ---------------------------------------------------------------- whole modules, single ops */

static void printer_init(printer *p, const module *m, strbuf *out, bool locations)
{
	*p = (printer){.m = m, .out = out, .locations = locations};
	p->labels = xcalloc(m->values.n, sizeof *p->labels);
	strtab_init(&p->names);
}

static void printer_release(printer *p)
{
	free(p->labels);
	strtab_release(&p->names);
	vec_release(&p->used);
	vec_release(&p->log);
}

void module_print(const module *m, const print_options *options, strbuf *out)
{
	printer p;
	printer_init(&p, m, out, options && options->locations);
	name_region(&p, m->body);
	/* before the module: locations of arguments may only name aliases that are defined already */
	if (p.locations || m->keep_aliases)
		strbuf_str(out, m->aliases);
	strbuf_puts(out, "module ");
	if (m->name) {
		put_symbol(out, strtab_get(&m->strs, m->name));
		strbuf_putc(out, ' ');
	}
	if (m->module_attrs != ID_NONE) {
		strbuf_puts(out, "attributes ");
		attr_print(m, m->module_attrs, out);
		strbuf_putc(out, ' ');
	}
	put_region(&p, m->body, 0, false);
	put_loc(&p, m->loc);
	strbuf_putc(out, '\n');
	if (m->resources.n) {
		strbuf_putc(out, '\n');
		strbuf_str(out, m->resources);
		strbuf_putc(out, '\n');
	}
	printer_release(&p);
}

void op_print(const module *m, op_id o, strbuf *out)
{
	printer p;
	printer_init(&p, m, out, false);
	/* names depend on what comes before: those of the whole function */
	op_id top = o;
	while (op_at(m, top)->parent != ID_NONE && op_parent(m, top) != ID_NONE)
		top = op_parent(m, top);
	name_results(&p, op_at(m, top));
	for (uint32_t i = 0; i < op_at(m, top)->n_regions; i++)
		name_region(&p, op_at(m, top)->regions + i);
	put_op(&p, o, 0);
	printer_release(&p);
}
