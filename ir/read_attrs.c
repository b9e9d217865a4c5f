#include "ir/read.h"

/* ---------------------------------------------------------------- making attributes */

attr_id ints_attr(reader *r, elem e, const int64_t *v, uint32_t n)
{
	int64_t *copy = arena_array(&r->m->mem, int64_t, n);
	if (n)
		memcpy(copy, v, n * sizeof *v);
	return attr_new(r->m,
		&(attr){.kind = ATTR_INTS,
			.type = e == ELEM_NONE ? ID_NONE : type_bare(r->m, e),
			.n = n,
			.ints = copy});
}

attr_id dense_attr(reader *r, str text, type_id type, bool splat)
{
	attr a = {.kind = ATTR_DENSE, .type = type, .text = text, .splat = splat};
	if (!r->keep_dense_text)
		a.ints = attr_dense_ints(&r->m->mem, type_get(r->m, type), &a);
	return attr_new(r->m, &a);
}

attr_id enum_attr(reader *r, const char *ns, const char *kind, str word)
{
	char text[256];
	int n = snprintf(text, sizeof text, "#%s<%s " STR_FMT ">", ns, kind, STR_ARG(word));
	str whole = {text, (size_t)MIN(n, (int)sizeof text - 1)};
	uint64_t h = hash_bytes(whole.p, whole.n, 0);
	uint32_t e;
	for (uint32_t it = index_first(&r->enum_index, h); index_next(&r->enum_index, h, &it, &e);)
		if (str_equal(attr_get(r->m, r->enum_attrs.p[e])->text, whole))
			return r->enum_attrs.p[e];
	whole.p = arena_strdup(&r->m->mem, whole.p, whole.n);
	attr_id a = attr_new(r->m,
		&(attr){.kind = ATTR_ENUM,
			.type = ID_NONE,
			.text = whole,
			.word = {whole.p + whole.n - 1 - word.n, word.n}});
	index_add(&r->enum_index, h, r->enum_attrs.n);
	vec_push(&r->enum_attrs, a);
	return a;
}

attr_id array_attr(reader *r, attr_kind kind, str text, uint32_t base)
{
	module *m = r->m;
	uint32_t n = r->attrs.n - base;
	named_attr *children = arena_array(&m->mem, named_attr, n);
	if (n)
		memcpy(children, r->attrs.p + base, n * sizeof *children);
	r->attrs.n = base;
	attr a = {.kind = (uint8_t)kind, .type = ID_NONE, .text = text, .n = n, .children = children};
	bool ints = kind == ATTR_ARRAY;
	for (uint32_t i = 0; i < n && ints; i++)
		ints = attr_get(m, children[i].value)->kind == ATTR_INT;
	if (ints) {
		int64_t *v = arena_array(&m->mem, int64_t, n);
		for (uint32_t i = 0; i < n; i++)
			v[i] = attr_get(m, children[i].value)->i;
		a.ints = v;
	}
	return attr_new(m, &a);
}

attr_id raw_attr(reader *r, const char *from, const char *to)
{
	return attr_new(r->m, &(attr){.kind = ATTR_RAW, .type = ID_NONE, .text = lex_view(from, to)});
}

/* ---------------------------------------------------------------- shardings */

/* Moves an error of sharding_parse, which counts from the start of its own text, to its place in
 * the module. */
static status sharding_error(reader *r, str text, status s, const diag *inner)
{
	size_t at = 0;
	for (uint32_t line = 1; line < inner->line && at < text.n; at++)
		line += text.p[at] == '\n';
	at += inner->col ? inner->col - 1 : 0;
	return lex_error(&r->lex, text.p + MIN(at, text.n), s, "%s", inner->msg);
}

status read_sharding(reader *r, sharding_id *out)
{
	lexer *l = &r->lex;
	if (lex_peek(l) != '<')
		return lex_expected(l, "a sharding, <@mesh, [..]>");
	str text;
	TRY(lex_balanced(l, &text));
	uint64_t h = hash_bytes(text.p, text.n, 0);
	uint32_t e;
	for (uint32_t it = index_first(&r->sharding_index, h);
		 index_next(&r->sharding_index, h, &it, &e);)
		if (str_equal(r->sharding_texts.p[e], text)) {
			*out = r->sharding_ids.p[e];
			return ST_OK;
		}
	sharding_edit edit;
	diag inner;
	diag_clear(&inner);
	status s = sharding_parse(r->m->shardings, text, &edit, &inner);
	if (s != ST_OK)
		return sharding_error(r, text, s, &inner);
	*out = sharding_intern(r->m->shardings, &edit);
	index_add(&r->sharding_index, h, r->sharding_texts.n);
	vec_push(&r->sharding_texts, text);
	vec_push(&r->sharding_ids, *out);
	return ST_OK;
}

static attr_id shardings_attr(reader *r, attr_kind kind, const sharding_id *ids, uint32_t n)
{
	sharding_id *copy = arena_array(&r->m->mem, sharding_id, n);
	if (n)
		memcpy(copy, ids, n * sizeof *ids);
	return attr_new(
		r->m, &(attr){.kind = (uint8_t)kind, .type = ID_NONE, .n = n, .shardings = copy});
}

status read_sharding_list(reader *r, attr_id *out)
{
	lexer *l = &r->lex;
	TRY(lex_expect(l, '['));
	uint32_t base = r->numbers.n;
	if (!lex_take(l, ']')) {
		do {
			sharding_id s;
			TRY(read_sharding(r, &s));
			vec_push(&r->numbers, s);
		} while (lex_take(l, ','));
		TRY(lex_expect(l, ']'));
	}
	uint32_t n = r->numbers.n - base;
	*out = shardings_attr(r, ATTR_SHARDINGS, NULL, 0);
	sharding_id *ids = arena_array(&r->m->mem, sharding_id, n);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = (sharding_id)r->numbers.p[base + i];
	r->m->attrs.p[*out].shardings = ids;
	r->m->attrs.p[*out].n = n;
	r->numbers.n = base;
	return ST_OK;
}

/* ---------------------------------------------------------------- #namespace.. */

/* [b, 0, 1, f]: batch and feature positions (their letters differ between tensors) and the spatial
 * dims in order. */
static status read_conv_side(reader *r, const char *side, char batch, char feature,
	const char *batch_name, const char *feature_name)
{
	lexer *l = &r->lex;
	lex_skip(l);
	const char *at = l->p;
	TRY(lex_expect(l, '['));
	int64_t spatial[MAX_RANK], letters[2] = {-1, -1};
	bool seen[MAX_RANK] = {false};
	uint32_t n = 0, n_spatial = 0;
	do {
		lex_skip(l);
		if (n == MAX_RANK)
			return lex_error(
				l, l->p, ST_ERR_LIMIT, "more than the limit of %d dimensions", MAX_RANK);
		if (lex_is(*l->p, LEX_DIGIT)) {
			int64_t d;
			TRY(lex_int(l, &d));
			if (d >= MAX_RANK || seen[d])
				return lex_error(l, at, ST_ERR_PARSE,
					"spatial dimension %lld is out of range or given twice", (long long)d);
			seen[d] = true;
			spatial[d] = n;
			n_spatial++;
		} else if ((*l->p == batch && letters[0] < 0) || (*l->p == feature && letters[1] < 0)) {
			letters[*l->p != batch] = n;
			l->p++;
		} else if (*l->p == '?') {
			l->p++;
		} else {
			return lex_expected(l, "a dimension letter or number, each once");
		}
		n++;
	} while (lex_take(l, ','));
	TRY(lex_expect(l, ']'));
	for (uint32_t d = 0; d < n_spatial; d++)
		if (!seen[d])
			return lex_error(l, at, ST_ERR_PARSE, "spatial dimension %u is missing", d);
	if (letters[0] < 0 || letters[1] < 0)
		return lex_error(
			l, at, ST_ERR_PARSE, "dimensions '%c' and '%c' are needed", batch, feature);
	char name[64];
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "%s_%s_dimension", side, i ? feature_name : batch_name);
		draft_attr(
			r, name, attr_new(r->m, &(attr){.kind = ATTR_INT, .type = ID_NONE, .i = letters[i]}));
	}
	snprintf(name, sizeof name, "%s_spatial_dimensions", side);
	draft_attr(r, name, ints_attr(r, ELEM_NONE, spatial, n_spatial));
	return ST_OK;
}

status read_conv_dims(reader *r, attr_id *out)
{
	lexer *l = &r->lex;
	uint32_t base = r->attrs.n;
	lex_skip(l);
	const char *start = l->p;
	TRY(read_conv_side(r, "input", 'b', 'f', "batch", "feature"));
	TRY(lex_expect(l, 'x'));
	TRY(read_conv_side(r, "kernel", 'i', 'o', "input_feature", "output_feature"));
	TRY(lex_expect_text(l, "->"));
	TRY(read_conv_side(r, "output", 'b', 'f', "batch", "feature"));
	str text = lex_view(start, l->p);
	*out = array_attr(r, ATTR_STRUCT, STR("stablehlo.conv"), base);
	r->m->attrs.p[*out].word = text;
	return ST_OK;
}

status read_struct(reader *r, const char *name, attr_id *out)
{
	lexer *l = &r->lex;
	uint32_t base = r->attrs.n;
	TRY(lex_expect(l, '<'));
	TRY(lex_enter(l));
	if (!lex_take(l, '>')) {
		do {
			str key = lex_word(l);
			if (!key.n)
				return lex_expected(l, "a field name");
			TRY(lex_expect(l, '='));
			attr_id value;
			lex_skip(l);
			if (*l->p == '[')
				TRY(read_int_list(r, ELEM_NONE, &value));
			else
				TRY(read_attr(r, &value));
			vec_push(&r->attrs, (named_attr){strtab_add(&r->m->strs, key), value});
		} while (lex_take(l, ','));
		TRY(lex_expect(l, '>'));
	}
	lex_leave(l);
	str text = strtab_get(&r->m->strs, strtab_add(&r->m->strs, str_of(name)));
	*out = array_attr(r, ATTR_STRUCT, text, base);
	return ST_OK;
}

/* Names of axes in {"a", "b"}. */
status read_manual_axes(reader *r, attr_id *out)
{
	lexer *l = &r->lex;
	uint32_t base = r->attrs.n;
	TRY(lex_expect(l, '{'));
	if (!lex_take(l, '}')) {
		do {
			attr a = {.kind = ATTR_STRING, .type = ID_NONE};
			TRY(lex_string(l, &a.text));
			vec_push(&r->attrs, (named_attr){0, attr_new(r->m, &a)});
		} while (lex_take(l, ','));
		TRY(lex_expect(l, '}'));
	}
	*out = array_attr(r, ATTR_ARRAY, STR(""), base);
	return ST_OK;
}

static status read_sdy_attr(reader *r, str name, const char *start, attr_id *out)
{
	lexer *l = &r->lex;
	if (str_is(name, "sdy.sharding")) {
		sharding_id s;
		TRY(read_sharding(r, &s));
		*out = shardings_attr(r, ATTR_SHARDING, &s, 1);
		return ST_OK;
	}
	if (str_is(name, "sdy.sharding_per_value")) {
		TRY(lex_expect(l, '<'));
		TRY(read_sharding_list(r, out));
		return lex_expect(l, '>');
	}
	str args;
	TRY(lex_balanced(l, &args));
	*out = raw_attr(r, start, l->p);
	if (str_is(name, "sdy.op_sharding_rule")) {
		r->m->attrs.p[*out].kind = ATTR_RULE;
		r->m->attrs.p[*out].text = (str){args.p + 1, args.n - 2};
	}
	return ST_OK;
}

/* #ns<word rest>: an enum value, or an sdy attribute in its short spelling. */
static status read_short_attr(reader *r, str name, const char *start, attr_id *out)
{
	lexer *l = &r->lex;
	const char *open = l->p;
	str whole;
	TRY(lex_balanced(l, &whole));
	const char *end = l->p;
	l->p = open + 1;
	str mnemonic = lex_word(l);
	lex_skip(l);
	if (str_is(name, "sdy") && str_is(mnemonic, "manual_axes")) {
		TRY(read_manual_axes(r, out));
		TRY(lex_expect(l, '>'));
		r->m->attrs.p[*out].text = lex_view(start, l->p);
		return ST_OK;
	}
	const char *word = l->p, *stop = end - 1;
	while (stop > word && lex_is(stop[-1], LEX_SPACE))
		stop--;
	/* a word, or the lists of axes of a collective */
	bool value = mnemonic.n && word < stop &&
		(str_is(name, "sdy") ? *word == '[' || *word == '{' : word > mnemonic.p + mnemonic.n);
	for (const char *p = word; value && p < stop && !str_is(name, "sdy"); p++)
		value = lex_is(*p, LEX_WORD);
	l->p = end;
	attr a = {.kind = value ? ATTR_ENUM : ATTR_RAW,
		.type = ID_NONE,
		.text = lex_view(start, end),
		.word = lex_view(word, stop)};
	*out = attr_new(r->m, &a);
	return ST_OK;
}

static const char *const struct_names[] = {
	"stablehlo.dot",
	"stablehlo.gather",
	"stablehlo.scatter",
	"stablehlo.conv",
	"stablehlo.channel_handle",
	"stablehlo.dot_algorithm",
	"stablehlo.output_operand_alias",
	"chlo.ragged_dot",
};

static status read_hash_attr(reader *r, attr_id *out)
{
	lexer *l = &r->lex;
	const char *start = l->p++;
	str name = lex_suffix(l);
	if (!name.n)
		return lex_expected(l, "an attribute name after '#'");
	if (*l->p != '<') {
		const struct alias *a = find_alias(r, lex_view(start, l->p));
		if (a)
			*out = a->id;
		else if (is_loc_alias(r, lex_view(start, l->p))) {
			r->m->keep_aliases = true;
			*out = raw_attr(r, start, l->p);
		} else if (memchr(name.p, '.', name.n))
			*out = raw_attr(r, start, l->p);
		else
			return lex_error(
				l, start, ST_ERR_PARSE, "undefined attribute alias '#" STR_FMT "'", STR_ARG(name));
		return ST_OK;
	}
	if (str_starts(name, "sdy."))
		return read_sdy_attr(r, name, start, out);
	if (str_is(name, "stablehlo.conv") && strncmp(l->p, "<[", 2) == 0) {
		l->p++;
		TRY(read_conv_dims(r, out));
		return lex_expect(l, '>');
	}
	if (!memchr(name.p, '.', name.n))
		return read_short_attr(r, name, start, out);
	for (size_t i = 0; i < COUNT_OF(struct_names); i++)
		if (str_is(name, struct_names[i]) && strncmp(l->p, "<raw", 4) != 0)
			return read_struct(r, struct_names[i], out);
	str args;
	TRY(lex_balanced(l, &args));
	*out = raw_attr(r, start, l->p);
	return ST_OK;
}

/* ---------------------------------------------------------------- any attribute */

status read_attr_entries(reader *r, const char *close)
{
	lexer *l = &r->lex;
	if (lex_take_text(l, close))
		return ST_OK;
	do {
		str key;
		lex_skip(l);
		const char *at = l->p;
		if (*at == '"')
			TRY(lex_string(l, &key));
		else
			key = lex_word(l);
		if (!key.n)
			return lex_expected(l, "an attribute name");
		attr_id value;
		if (lex_take(l, '='))
			TRY(read_attr(r, &value));
		else
			value = attr_unit(r->m);
		attr_kind kind = (attr_kind)attr_get(r->m, value)->kind;
		if (kind != ATTR_SHARDING && kind != ATTR_SHARDINGS && str_is(key, "sdy.sharding"))
			return lex_error(l, at, ST_ERR_PARSE,
				"expected #sdy.sharding<..> or #sdy.sharding_per_value<[..]> as sdy.sharding");
		vec_push(&r->attrs, (named_attr){strtab_add(&r->m->strs, key), value});
	} while (lex_take(l, ','));
	return lex_expect_text(l, close);
}

static status read_children(reader *r, attr_id *out)
{
	lexer *l = &r->lex;
	uint32_t base = r->attrs.n;
	if (lex_take(l, '{')) {
		TRY(read_attr_entries(r, "}"));
		*out = array_attr(r, ATTR_DICT, STR(""), base);
		return ST_OK;
	}
	TRY(lex_expect(l, '['));
	if (!lex_take(l, ']')) {
		do {
			attr_id child;
			TRY(read_attr(r, &child));
			vec_push(&r->attrs, (named_attr){0, child});
		} while (lex_take(l, ','));
		TRY(lex_expect(l, ']'));
	}
	*out = array_attr(r, ATTR_ARRAY, STR(""), base);
	return ST_OK;
}

static status read_symbol_attr(reader *r, attr_id *out)
{
	lexer *l = &r->lex;
	attr a = {.kind = ATTR_SYMBOL, .type = ID_NONE};
	lex_skip(l);
	const char *start = l->p + 1;
	TRY(lex_symbol(l, &a.text));
	while (l->p[0] == ':' && l->p[1] == ':') {
		str inner;
		l->p += 2;
		TRY(lex_symbol(l, &inner));
		a.text = lex_view(start, l->p);
	}
	*out = attr_new(r->m, &a);
	return ST_OK;
}

static status read_type_attr(reader *r, attr_id *out)
{
	attr a = {.kind = ATTR_TYPE};
	TRY(read_type(r, &a.type));
	*out = attr_new(r->m, &a);
	return ST_OK;
}

/* affine_set<(d0) : (d0 >= 0)>: a > before = closes nothing. */
static status read_affine_set(reader *r, const char *start, attr_id *out)
{
	lexer *l = &r->lex;
	const char *open = l->p++;
	while (l->p < l->end && (*l->p != '>' || l->p[1] == '=' || l->p[-1] == '-'))
		l->p++;
	if (l->p >= l->end)
		return lex_error(l, open, ST_ERR_PARSE, "the '<' that opens here is never closed");
	l->p++;
	*out = raw_attr(r, start, l->p);
	return ST_OK;
}

static status read_word_attr(reader *r, attr_id *out)
{
	lexer *l = &r->lex;
	const char *start = l->p;
	str word = lex_word(l);
	if (str_is(word, "true") || str_is(word, "false"))
		*out = attr_new(r->m, &(attr){.kind = ATTR_BOOL, .type = ID_NONE, .i = word.n == 4});
	else if (str_is(word, "unit"))
		*out = attr_unit(r->m);
	else if (str_is(word, "dense"))
		return read_dense(r, out);
	else if (str_is(word, "dense_resource"))
		return read_dense_resource(r, start, out);
	else if (str_is(word, "array"))
		return read_array_literal(r, start, out);
	else if (str_is(word, "affine_set") && *l->p == '<')
		return read_affine_set(r, start, out);
	else if (*l->p == '<' || *l->p == '(' ||
		*l->p == '[') { /* affine_map<..>, loc(..), distinct[0]<..>, and the like */
		while (*l->p == '<' || *l->p == '(' || *l->p == '[') {
			str args;
			TRY(lex_balanced(l, &args));
		}
		*out = raw_attr(r, start, l->p);
		if (str_is(word, "sparse")) {
			type_id t;
			TRY(optional_type(r, &t));
			r->m->attrs.p[*out].type = t;
		}
	} else {
		l->p = start;
		return lex_expected(l, "an attribute");
	}
	return ST_OK;
}

static status read_string_attr(reader *r, attr_id *out)
{
	attr a = {.kind = ATTR_STRING};
	TRY(lex_string(&r->lex, &a.text));
	TRY(optional_type(r, &a.type));
	*out = attr_new(r->m, &a);
	return ST_OK;
}

static bool at_number(const char *p)
{
	return lex_is(*p, LEX_DIGIT) || (*p == '-' && lex_is(p[1], LEX_DIGIT));
}

status read_attr(reader *r, attr_id *out)
{
	lexer *l = &r->lex;
	char c = lex_peek(l);
	if (at_number(l->p))
		return read_number(r, out);
	if (c == '"')
		return read_string_attr(r, out);
	if (c == '@')
		return read_symbol_attr(r, out);
	if (c == '#')
		return read_hash_attr(r, out);
	if (c == '[' || c == '{') {
		TRY(lex_enter(l));
		TRY(read_children(r, out));
		lex_leave(l);
		return ST_OK;
	}
	return at_type(r) ? read_type_attr(r, out) : read_word_attr(r, out);
}
