/* Symbols: func.func in both forms, modules inside the module, sdy.mesh. */
#define _GNU_SOURCE
#include "ir/read.h"

/* ---------------------------------------------------------------- func.func */

/* {..} after an argument or result type: sdy.sharding apart, the rest as a dict or ID_NONE. */
static status read_value_attrs(reader *r, attr_id *dict, attr_id *sharding_attr)
{
	draft marks = {.attrs = r->attrs.n};
	*dict = *sharding_attr = ID_NONE;
	if (!lex_take(&r->lex, '{'))
		return ST_OK;
	TRY(read_attr_entries(r, "}"));
	*sharding_attr = take_attr(r, &marks, "sdy.sharding");
	if (r->attrs.n > marks.attrs)
		*dict = array_attr(r, ATTR_DICT, STR(""), marks.attrs);
	return ST_OK;
}

/* What is known of the signature beside the block arguments. Attributes are kept on r->attrs (as
 * values of pairs) while types are on r->types, because func_add wants all of them at once. */
struct signature {
	region_id body;
	uint32_t args, results; /* bases in r->attrs: two entries each, dict and sharding */
};

static void push_value_attrs(reader *r, attr_id dict, attr_id sharding_attr)
{
	vec_push(&r->attrs, (named_attr){0, dict});
	vec_push(&r->attrs, (named_attr){0, sharding_attr});
}

static status read_arg(reader *r, struct signature *s)
{
	lexer *l = &r->lex;
	str name = {NULL, 0};
	const char *at = NULL;
	if (lex_peek(l) == '%') {
		TRY(read_value_name(r, &name, &at));
		TRY(lex_expect(l, ':'));
	}
	const char *type_at = l->p;
	type_id t;
	attr_id dict, sharding_attr;
	loc_id loc;
	TRY(read_type(r, &t));
	TRY(read_value_attrs(r, &dict, &sharding_attr));
	TRY(read_loc(r, &loc));
	if (r->m->regions.p[s->body].n_args == MAX_OPERANDS)
		return lex_error(
			l, type_at, ST_ERR_LIMIT, "more arguments than the limit of %d", MAX_OPERANDS);
	value_id v = region_add_arg(r->m, s->body, t, loc);
	if (name.n) {
		value_get(r->m, v)->name = value_name_id(r, name);
		TRY(bind_values(r, at, name, v, 1));
	}
	if (sharding_attr != ID_NONE)
		TRY(set_sharding(r, v, sharding_attr, type_at));
	push_value_attrs(r, dict, ID_NONE);
	return ST_OK;
}

/* Without parentheses around it a result has no attributes: a brace then opens the body. */
static status read_result(reader *r, bool bare)
{
	type_id t;
	attr_id dict = ID_NONE, sharding_attr = ID_NONE;
	TRY(read_type(r, &t));
	if (!bare)
		TRY(read_value_attrs(r, &dict, &sharding_attr));
	vec_push(&r->types, t);
	push_value_attrs(r, dict, sharding_attr);
	return ST_OK;
}

static status read_signature(reader *r, struct signature *s)
{
	lexer *l = &r->lex;
	s->args = r->attrs.n;
	TRY(lex_expect(l, '('));
	if (!lex_take(l, ')')) {
		do
			TRY(read_arg(r, s));
		while (lex_take(l, ','));
		TRY(lex_expect(l, ')'));
	}
	s->results = r->attrs.n;
	if (!lex_take_text(l, "->"))
		return ST_OK;
	if (!lex_take(l, '('))
		return read_result(r, true);
	if (lex_take(l, ')'))
		return ST_OK;
	do
		TRY(read_result(r, false));
	while (lex_take(l, ','));
	return lex_expect(l, ')');
}

/* Registers the function once its signature stands on the stacks; pops them. */
static status add_func(reader *r, draft *d, const struct signature *s, str name, bool is_private)
{
	func *f = func_add(r->m, d->op, name, r->types.p + d->types, r->types.n - d->types);
	r->types.n = d->types;
	f->is_private = is_private;
	for (uint32_t i = 0; i < f->n_args; i++)
		f->arg_attrs[i] = r->attrs.p[s->args + 2 * i].value;
	for (uint32_t i = 0; i < f->n_results; i++) {
		f->result_attrs[i] = r->attrs.p[s->results + 2 * i].value;
		attr_id sharding_attr = r->attrs.p[s->results + 2 * i + 1].value;
		if (sharding_attr == ID_NONE)
			continue;
		/* checked as if it were that of a value of the type */
		value_id scratch = r->m->values.n;
		vec_push(&r->m->values, (ir_value){.type = f->result_types[i]});
		status st = set_sharding(r, scratch, sharding_attr, d->at);
		f->result_shardings[i] = value_at(r->m, scratch)->sharding;
		r->m->values.n--;
		TRY(st);
	}
	r->attrs.n = s->args;
	return ST_OK;
}

static status read_func_body(reader *r, region_id body)
{
	lexer *l = &r->lex;
	if (lex_peek(l) != '{') {
		r->m->regions.p[body].empty = true;
		return ST_OK;
	}
	l->p++;
	TRY(lex_enter(l));
	TRY(read_region_ops(r, body, false));
	lex_leave(l);
	return ST_OK;
}

status form_func(reader *r, draft *d)
{
	lexer *l = &r->lex;
	bool is_public = lex_take_word(l, "public"),
		 is_private = !is_public && lex_take_word(l, "private");
	bool is_nested = !is_public && !is_private && lex_take_word(l, "nested");
	lex_skip(l);
	const char *at = l->p;
	str name;
	TRY(lex_symbol(l, &name));
	TRY(define_symbol(r, at, name));
	op_give_regions(r->m, d->op, 1);
	struct signature s = {.body = op_at(r->m, d->op)->regions};
	/* values outside are not visible inside */
	uint32_t mark = scope_open(r), visible = r->visible;
	r->visible = mark;
	TRY(read_signature(r, &s));
	TRY(add_func(r, d, &s, name, is_private));
	if (is_public || is_nested)
		draft_attr(
			r, "sym_visibility", attr_string(r->m, is_public ? STR("public") : STR("nested")));
	if (lex_take_word(l, "attributes")) {
		TRY(lex_expect(l, '{'));
		TRY(read_attr_entries(r, "}"));
	}
	TRY(read_func_body(r, s.body));
	scope_close(r, mark);
	r->visible = visible;
	return ST_OK;
}

/* Pushes the entries of arg_attrs or res_attrs; n: how many values there are. Shardings of
 * arguments go to the values. */
static status push_attr_list(reader *r, draft *d, attr_id list, uint32_t n, region_id args)
{
	if (list != ID_NONE &&
		(attr_get(r->m, list)->kind != ATTR_ARRAY || attr_get(r->m, list)->n != n))
		return lex_error(&r->lex, d->at, ST_ERR_PARSE, "expected a list of %u attribute dicts", n);
	for (uint32_t i = 0; i < n; i++) {
		attr_id dict = list == ID_NONE ? ID_NONE : attr_get(r->m, list)->children[i].value,
				sharding_attr = attr_child(r->m, dict, "sdy.sharding");
		const attr *a = dict == ID_NONE ? NULL : attr_get(r->m, dict);
		uint32_t base = r->attrs.n;
		for (uint32_t k = 0; a && a->kind == ATTR_DICT && k < a->n; k++)
			if (a->children[k].value != sharding_attr)
				vec_push(&r->attrs, a->children[k]);
		dict = r->attrs.n > base ? array_attr(r, ATTR_DICT, STR(""), base) : ID_NONE;
		if (sharding_attr != ID_NONE && args != ID_NONE)
			TRY(set_sharding(r, r->m->regions.p[args].args + i, sharding_attr, d->at));
		push_value_attrs(r, dict, sharding_attr);
	}
	return ST_OK;
}

status finish_generic_func(reader *r, draft *d)
{
	module *m = r->m;
	attr_id name = take_attr(r, d, "sym_name"), type = take_attr(r, d, "function_type"),
			visibility = take_attr(r, d, "sym_visibility");
	attr_id arg_attrs = take_attr(r, d, "arg_attrs"), res_attrs = take_attr(r, d, "res_attrs");
	const ir_type *t = type == ID_NONE || attr_get(m, type)->kind != ATTR_TYPE
		? NULL
		: type_get(m, attr_get(m, type)->type);
	if (name == ID_NONE || attr_get(m, name)->kind != ATTR_STRING || !t || t->kind != TYPE_FUNCTION)
		return lex_error(&r->lex, d->at, ST_ERR_PARSE,
			"expected sym_name and function_type among the attributes of func.func");
	if (op_at(m, d->op)->n_regions != 1)
		return lex_error(
			&r->lex, d->at, ST_ERR_PARSE, "%u regions, expected one", op_at(m, d->op)->n_regions);
	region_id body = op_at(m, d->op)->regions;
	if (m->regions.p[body].empty) /* a declaration: its arguments exist only in the type */
		for (uint32_t i = 0; i < t->n_inputs; i++) {
			region_add_arg(m, body, t->parts[i], 0);
			m->regions.p[body].empty = true;
		}
	if (m->regions.p[body].n_args != t->n_inputs)
		return lex_error(&r->lex, d->at, ST_ERR_INVALID, "%u arguments, the type has %u",
			m->regions.p[body].n_args, t->n_inputs);
	for (uint32_t i = 0; i < t->n_inputs; i++)
		if (value_at(m, m->regions.p[body].args + i)->type != t->parts[i])
			return lex_error(&r->lex, d->at, ST_ERR_INVALID,
				"argument %u has type " STR_FMT ", the function's type says " STR_FMT, i,
				STR_ARG(value_type(m, m->regions.p[body].args + i)->text),
				STR_ARG(type_get(m, t->parts[i])->text));
	TRY(define_symbol(r, d->at, attr_get(m, name)->text));
	for (uint32_t i = t->n_inputs; i < t->n_parts; i++)
		vec_push(&r->types, t->parts[i]);
	struct signature s = {.body = body, .args = r->attrs.n};
	TRY(push_attr_list(r, d, arg_attrs, t->n_inputs, body));
	s.results = r->attrs.n;
	TRY(push_attr_list(r, d, res_attrs, t->n_parts - t->n_inputs, ID_NONE));
	bool is_private = visibility != ID_NONE && str_is(attr_get(m, visibility)->text, "private");
	TRY(add_func(r, d, &s, attr_get(m, name)->text, is_private));
	if (visibility != ID_NONE && !is_private)
		draft_attr(r, "sym_visibility", visibility);
	return ST_OK;
}

/* ---------------------------------------------------------------- modules inside the module */

struct outside module_enter(reader *r)
{
	struct outside saved = {r->visible, r->symbols};
	r->visible = r->bindings.n;
	index_init(&r->symbols);
	return saved;
}

void module_leave(reader *r, struct outside *saved)
{
	index_release(&r->symbols);
	r->symbols = saved->symbols;
	r->visible = saved->visible;
}

/* `module @name attributes {..} { .. }` */
status form_module(reader *r, draft *d)
{
	lexer *l = &r->lex;
	if (lex_peek(l) == '@') {
		attr name = {.kind = ATTR_STRING, .type = ID_NONE};
		const char *at = l->p;
		TRY(lex_symbol(l, &name.text));
		TRY(define_symbol(r, at, name.text));
		draft_attr(r, "sym_name", attr_new(r->m, &name));
	}
	if (lex_take_word(l, "attributes")) {
		TRY(lex_expect(l, '{'));
		TRY(read_attr_entries(r, "}"));
	}
	op_give_regions(r->m, d->op, 1);
	struct outside saved = module_enter(r);
	status st = read_region(r, op_at(r->m, d->op)->regions, true);
	module_leave(r, &saved);
	return st;
}

status finish_generic_module(reader *r, draft *d)
{
	if (op_at(r->m, d->op)->n_regions != 1)
		return lex_error(&r->lex, d->at, ST_ERR_PARSE, "%u regions, expected one",
			op_at(r->m, d->op)->n_regions);
	for (uint32_t i = d->attrs; i < r->attrs.n; i++) {
		const attr *a = attr_get(r->m, r->attrs.p[i].value);
		if (str_is(strtab_get(&r->m->strs, r->attrs.p[i].name), "sym_name") &&
			a->kind == ATTR_STRING)
			return define_symbol(r, d->at, a->text);
	}
	return ST_OK;
}

/* ---------------------------------------------------------------- sdy.mesh */

static status add_mesh(reader *r, draft *d, str name, str text)
{
	diag inner;
	diag_clear(&inner);
	mesh_id id;
	status s = mesh_parse(r->m->shardings, text, name, &id, &inner);
	if (s != ST_OK)
		return lex_error(&r->lex,
			text.p + (inner.line == 1 && inner.col ? MIN(inner.col - 1, text.n) : 0), s, "%s",
			inner.msg);
	TRY(define_symbol(r, d->at, name));
	if (mesh_find(r->m->shardings, name) !=
		id) /* names of meshes are looked up without regard to modules */
		return lex_error(&r->lex, d->at, ST_ERR_UNSUPPORTED,
			"the mesh '@" STR_FMT "' has other axes in another module of this text", STR_ARG(name));
	char *whole = arena_alloc(&r->m->mem, text.n + sizeof "#sdy.mesh");
	memcpy(whole, "#sdy.mesh", 9);
	memcpy(whole + 9, text.p, text.n);
	draft_attr(
		r, "sym_name", attr_new(r->m, &(attr){.kind = ATTR_STRING, .type = ID_NONE, .text = name}));
	draft_attr(r, "mesh",
		attr_new(r->m, &(attr){.kind = ATTR_RAW, .type = ID_NONE, .text = {whole, text.n + 9}}));
	return ST_OK;
}

status form_mesh(reader *r, draft *d)
{
	lexer *l = &r->lex;
	str name, text;
	TRY(lex_symbol(l, &name));
	TRY(lex_expect(l, '='));
	if (lex_peek(l) != '<')
		return lex_expected(l, "a mesh, <[\"axis\"=size]>");
	TRY(lex_balanced(l, &text));
	TRY(add_mesh(r, d, name, text));
	return read_optional_attrs(r);
}

status finish_generic_mesh(reader *r, draft *d)
{
	attr_id name = take_attr(r, d, "sym_name"), mesh = take_attr(r, d, "mesh");
	if (name == ID_NONE || mesh == ID_NONE || attr_get(r->m, name)->kind != ATTR_STRING ||
		!str_starts(attr_get(r->m, mesh)->text, "#sdy.mesh<"))
		return lex_error(&r->lex, d->at, ST_ERR_PARSE,
			"expected sym_name and mesh = #sdy.mesh<..> as attributes of sdy.mesh");
	str text = attr_get(r->m, mesh)->text;
	return add_mesh(r, d, attr_get(r->m, name)->text, (str){text.p + 9, text.n - 9});
}

/* Nothing but blanks between the start of a line or a brace and p. */
static bool starts_statement(const lexer *l, const char *p)
{
	while (p > l->text && (p[-1] == ' ' || p[-1] == '\t'))
		p--;
	return p == l->text || p[-1] == '\n' || p[-1] == '{' || p[-1] == '}';
}

void find_meshes(reader *r)
{
	static const char word[] = "sdy.mesh @";
	lexer l = r->lex;
	l.d = NULL; /* errors are reported when the op itself is read */
	for (const char *hit; (hit = memmem(l.p, (size_t)(l.end - l.p), word, sizeof word - 1));) {
		l.p = hit + sizeof word - 2;
		if (!starts_statement(&l, hit))
			continue;
		lexer at = l;
		str name, text;
		mesh_id id;
		if (lex_symbol(&at, &name) == ST_OK && lex_take(&at, '=') && lex_peek(&at) == '<' &&
			lex_balanced(&at, &text) == ST_OK &&
			mesh_parse(r->m->shardings, text, name, &id, NULL) == ST_OK)
			l.p = at.p;
	}
}
