/* The reader: life of its state, value names in scopes, the top level of a module.
 *
 *   read.c          this                          read_types.c     types, found again by their text
 *   read_ops.c      ops: generic form, regions    read_attrs.c     attributes; read_literals.c numbers and dense,
 *                                                                  read_scalars.c what one element may be
 *   read_forms.c    pretty forms, table           read_func.c      func.func, sdy.mesh
 *   read_forms_region.c  pretty forms with regions                 read_locs.c      locations and aliases */
#define _GNU_SOURCE
#include "ir/read.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- names of ops and symbols */

static uint32_t kind_slot(str name)
{
	return (uint32_t)hash_bytes(name.p, name.n, 0) & (COUNT_OF(((reader *)0)->kinds) - 1);
}

static void fill_kinds(reader *r)
{
	for (uint32_t k = 1; k < OP_COUNT; k++) {
		uint32_t i = kind_slot(str_of(op_infos[k].text));
		while (r->kinds[i])
			i = (i + 1) & (COUNT_OF(r->kinds) - 1);
		r->kinds[i] = (uint16_t)k;
	}
}

/* The func dialect is the default inside functions, builtin the one that needs no name. */
static op_kind find_short(str name)
{
	static const struct {
		const char *word;
		op_kind kind;
	} words[] = {{"return", OP_FUNC_RETURN}, {"call", OP_CALL}, {"call_indirect", OP_CALL_INDIRECT},
		{"constant", OP_FUNC_CONSTANT}, {"module", OP_BUILTIN_MODULE}};
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (str_is(name, words[i].word))
			return words[i].kind;
	return OP_UNKNOWN;
}

op_kind find_kind(const reader *r, str name)
{
	op_kind kind =
		name.p[0] == 's' ? OP_UNKNOWN : find_short(name); /* stablehlo and sdy: nearly all */
	if (kind != OP_UNKNOWN)
		return kind;
	for (uint32_t i = kind_slot(name); r->kinds[i]; i = (i + 1) & (COUNT_OF(r->kinds) - 1))
		if (str_equal(
				strtab_get(&r->m->strs, r->kinds[i]), name)) /* ids of op names are their kinds */
			return (op_kind)r->kinds[i];
	return OP_UNKNOWN;
}

status define_symbol(reader *r, const char *at, str name)
{
	str_id id = strtab_add(&r->m->strs, name);
	uint32_t e;
	for (uint32_t it = index_first(&r->symbols, hash_mix(id));
		 index_next(&r->symbols, hash_mix(id), &it, &e);)
		if (e == id)
			return lex_error(&r->lex, at, ST_ERR_INVALID, "redefinition of symbol '@" STR_FMT "'",
				STR_ARG(name));
	index_add(&r->symbols, hash_mix(id), id);
	return ST_OK;
}

/* ---------------------------------------------------------------- value names */

str_id value_name_id(reader *r, str name)
{
	return lex_is(name.p[0], LEX_DIGIT) ? 0 : strtab_add(&r->m->strs, name);
}

static void grow_slots(reader *r)
{
	r->n_slots = r->n_slots ? r->n_slots * 2 : 1024;
	free(r->slots);
	r->slots = xcalloc(r->n_slots, sizeof *r->slots);
	for (uint32_t b = 0; b < r->bindings.n; b++) {
		uint32_t i = (uint32_t)r->bindings.p[b].hash & (r->n_slots - 1);
		while (r->slots[i])
			i = (i + 1) & (r->n_slots - 1);
		r->slots[i] = b + 1;
	}
}

static const struct binding *find_binding(const reader *r, str name, uint64_t h)
{
	if (!r->n_slots)
		return NULL;
	for (uint32_t i = (uint32_t)h & (r->n_slots - 1); r->slots[i]; i = (i + 1) & (r->n_slots - 1)) {
		const struct binding *b = &r->bindings.p[r->slots[i] - 1];
		if (b->hash == h && r->slots[i] > r->visible && str_equal(b->name, name))
			return b;
	}
	return NULL;
}

status bind_values(reader *r, const char *at, str name, value_id first, uint32_t n)
{
	uint64_t h = hash_bytes(name.p, name.n, 0);
	if (find_binding(r, name, h))
		return lex_error(&r->lex, at, ST_ERR_INVALID, "redefinition of SSA value '%%" STR_FMT "'",
			STR_ARG(name));
	if ((r->bindings.n + 1) * 2 > r->n_slots)
		grow_slots(r);
	uint32_t i = (uint32_t)h & (r->n_slots - 1);
	while (r->slots[i])
		i = (i + 1) & (r->n_slots - 1);
	vec_push(&r->bindings, (struct binding){name, h, first, n});
	r->slots[i] = r->bindings.n;
	return ST_OK;
}

uint32_t scope_open(const reader *r) { return r->bindings.n; }

/* Bindings go in reverse order, so each is the last of its probe chain and its slot can simply be
 * freed. */
void scope_close(reader *r, uint32_t mark)
{
	while (r->bindings.n > mark) {
		uint32_t i = (uint32_t)r->bindings.p[r->bindings.n - 1].hash & (r->n_slots - 1);
		while (r->slots[i] != r->bindings.n)
			i = (i + 1) & (r->n_slots - 1);
		r->slots[i] = 0;
		r->bindings.n--;
	}
}

status push_operand(reader *r)
{
	lexer *l = &r->lex;
	str name;
	const char *at;
	TRY(read_value_name(r, &name, &at));
	int64_t index = 0;
	if (*l->p == '#') {
		l->p++;
		TRY(lex_int(l, &index));
	}
	const struct binding *b = find_binding(r, name, hash_bytes(name.p, name.n, 0));
	if (!b)
		return lex_error(l, at, ST_ERR_INVALID, "use of undeclared SSA value name '%%" STR_FMT "'",
			STR_ARG(name));
	if (index < 0 || index >= b->n)
		return lex_error(l, at, ST_ERR_INVALID,
			"'%%" STR_FMT "' has %u results, there is no result number %lld", STR_ARG(name), b->n,
			(long long)index);
	if (r->operands.n > MAX_OPERANDS)
		return lex_error(l, at, ST_ERR_LIMIT, "more operands than the limit of %d", MAX_OPERANDS);
	vec_push(&r->operands, (struct operand){b->first + (uint32_t)index, at});
	return ST_OK;
}

/* ---------------------------------------------------------------- top level */

static status read_alias(reader *r)
{
	lexer *l = &r->lex;
	const char *start = l->p++;
	if (!lex_suffix(l).n)
		return lex_expected(l, "the name of an alias");
	str name = lex_view(start, l->p);
	TRY(lex_expect(l, '='));
	if (*start == '#' && lex_at_word(l, "loc"))
		return read_loc_alias(r, name, start);
	if (memchr(name.p, '.', name.n))
		return lex_error(l, start, ST_ERR_PARSE,
			"expected the name of an alias without '.', found '" STR_FMT "'", STR_ARG(name));
	if (find_alias(r, name))
		return lex_error(l, start, ST_ERR_INVALID, "redefinition of '" STR_FMT "'", STR_ARG(name));
	struct alias a = {.name = name};
	if (*start == '#')
		TRY(read_attr(r, &a.id));
	else
		TRY(read_type(r, &a.id));
	add_alias(r, &a);
	return ST_OK;
}

static status read_resources(reader *r)
{
	lexer *l = &r->lex;
	const char *end = memmem(l->p, (size_t)(l->end - l->p), "#-}", 3);
	if (!end)
		return lex_error(l, l->p, ST_ERR_PARSE, "the resources that start here have no end, #-}");
	if (r->m->resources.n)
		return lex_error(l, l->p, ST_ERR_PARSE, "a second block of resources");
	r->m->resources = lex_view(l->p, end + 3);
	l->p = end + 3;
	return ST_OK;
}

/* Attributes of the module op above base become module_attrs. */
static void take_module_attrs(reader *r, uint32_t base)
{
	for (uint32_t i = base; i < r->attrs.n;) {
		if (!str_is(strtab_get(&r->m->strs, r->attrs.p[i].name), "sym_name")) {
			i++;
			continue;
		}
		r->m->name = strtab_add(&r->m->strs, attr_get(r->m, r->attrs.p[i].value)->text);
		memmove(r->attrs.p + i, r->attrs.p + i + 1, (r->attrs.n - i - 1) * sizeof *r->attrs.p);
		r->attrs.n--;
	}
	if (r->attrs.n > base)
		r->m->module_attrs = array_attr(r, ATTR_DICT, STR(""), base);
}

static status read_module_body(reader *r)
{
	TRY(lex_expect(&r->lex, '{'));
	TRY(lex_enter(&r->lex));
	TRY(read_region_ops(r, r->m->body, true));
	lex_leave(&r->lex);
	return ST_OK;
}

/* After the word module. */
static status read_module(reader *r)
{
	lexer *l = &r->lex;
	uint32_t base = r->attrs.n;
	if (lex_peek(l) == '@') {
		str name;
		TRY(lex_symbol(l, &name));
		r->m->name = strtab_add(&r->m->strs, name);
	}
	if (lex_take_word(l, "attributes")) {
		TRY(lex_expect(l, '{'));
		TRY(read_attr_entries(r, "}"));
		take_module_attrs(r, base);
	}
	TRY(read_module_body(r));
	return read_loc(r, &r->m->loc);
}

/* After "builtin.module" in quotes. */
static status read_generic_module(reader *r)
{
	lexer *l = &r->lex;
	uint32_t base = r->attrs.n;
	TRY(lex_expect_text(l, "("));
	TRY(lex_expect_text(l, ")"));
	if (lex_take_text(l, "<{"))
		TRY(read_attr_entries(r, "}>"));
	TRY(lex_expect(l, '('));
	TRY(read_module_body(r));
	TRY(lex_expect(l, ')'));
	if (lex_take(l, '{'))
		TRY(read_attr_entries(r, "}"));
	take_module_attrs(r, base);
	TRY(lex_expect(l, ':'));
	TRY(lex_expect_text(l, "("));
	TRY(lex_expect_text(l, ")"));
	TRY(lex_expect_text(l, "->"));
	TRY(lex_expect_text(l, "("));
	TRY(lex_expect_text(l, ")"));
	return read_loc(r, &r->m->loc);
}

static status read_top(reader *r)
{
	lexer *l = &r->lex;
	bool module_seen = false;
	for (;;) {
		lex_skip(l);
		const char *at = l->p;
		if (at >= l->end)
			return ST_OK;
		bool plain = lex_take_word(l, "module") || lex_take_word(l, "builtin.module");
		if (plain || lex_take_text(l, "\"builtin.module\"")) {
			if (module_seen || r->m->ops.n)
				return lex_error(l, at, ST_ERR_PARSE,
					"expected the end of the text after the module, found another module");
			module_seen = true;
			TRY(plain ? read_module(r) : read_generic_module(r));
		} else if (*at == '#' || *at == '!') {
			TRY(read_alias(r));
		} else if (strncmp(at, "{-#", 3) == 0) {
			TRY(read_resources(r));
		} else if (module_seen) {
			return lex_expected(l, "the end of the text after the module");
		} else {
			TRY(read_op(r, r->m->body));
		}
	}
}

static status check_calls(reader *r)
{
	module *m = r->m;
	for (op_id o = 0; o < m->ops.n; o++) {
		if (op_at(m, o)->kind != OP_CALL)
			continue;
		str callee = op_text(m, o, "callee");
		if (!module_func_near(m, o, callee))
			return lex_error(&r->lex, r->lex.text + op_at(m, o)->src, ST_ERR_INVALID,
				"call of the undefined function '@" STR_FMT "'", STR_ARG(callee));
	}
	return ST_OK;
}

static void reader_release(reader *r)
{
	vec_release(&r->operands);
	vec_release(&r->inits);
	vec_release(&r->attrs);
	vec_release(&r->types);
	vec_release(&r->numbers);
	vec_release(&r->names);
	vec_release(&r->bindings);
	free(r->slots);
	vec_release(&r->attr_aliases);
	vec_release(&r->loc_aliases);
	index_release(&r->alias_index);
	strbuf_release(&r->aliases);
	vec_release(&r->sharding_texts);
	vec_release(&r->sharding_ids);
	index_release(&r->sharding_index);
	vec_release(&r->enum_attrs);
	index_release(&r->enum_index);
	index_release(&r->symbols);
}

static status read_all(reader *r)
{
	find_meshes(r);
	TRY(read_top(r));
	TRY(check_calls(r));
	TRY(resolve_locs(r));
	module *m = r->m;
	m->aliases = (str){arena_strdup(&m->mem, r->aliases.p, r->aliases.n), r->aliases.n};
	return ST_OK;
}

status module_read(const char *text, size_t n, const char *file, const read_options *options,
	module **out, diag *given)
{
	*out = NULL;
	diag unused;
	diag_clear(&unused);
	diag *d = given ? given : &unused;
	size_t limit = options && options->max_bytes ? MIN(options->max_bytes, (size_t)MAX_TEXT_BYTES)
												 : (size_t)MAX_TEXT_BYTES;
	if (n > limit)
		return diag_set(
			d, ST_ERR_LIMIT, "the text has %zu bytes, more than the limit of %zu", n, limit);
	module *m = module_new();
	snprintf(m->file, sizeof m->file, "%s", file ? file : "");
	strbuf_add(&m->text, text, n);
	reader r = {.lex = {m->text.p, m->text.p, m->text.p + n, d, 0}, .m = m};
	/* Never null, so that offsets into empty lists are pointers too. */
	vec_reserve(&r.types, 16);
	vec_reserve(&r.numbers, 16);
	fill_kinds(&r);
	vec_push(&r.loc_aliases, (struct alias){.id = ID_NONE});
	vec_reserve(&m->ops, (uint32_t)(n / 128));
	vec_reserve(&m->values, (uint32_t)(n / 128));
	vec_reserve(&m->slots, (uint32_t)(n / 64));
	status s = read_all(&r);
	reader_release(&r);
	if (s == ST_OK) {
		*out = m;
		return ST_OK;
	}
	if (m->file[0])
		diag_in_file(d, m->file);
	module_free(m);
	return s;
}

status module_read_file(const char *path, const read_options *options, module **out, diag *d)
{
	*out = NULL;
	strbuf text;
	strbuf_init(&text);
	size_t limit = options && options->max_bytes ? MIN(options->max_bytes, (size_t)MAX_TEXT_BYTES)
												 : (size_t)MAX_TEXT_BYTES;
	TRY(file_read(path, limit, &text, d));
	const char *name = strcmp(path, "-") ? path : "<stdin>";
	status s = module_refuse_foreign(text.p, text.n, d);
	if (s != ST_OK)
		diag_in_file(d, name);
	else
		s = module_read(text.p, text.n, name, options, out, d);
	strbuf_release(&text);
	return s;
}
