/* Locations and aliases. Aliases of locations are mostly defined after their uses, so a use makes
 * an entry that the definition fills, and names and files are worked out once at the end. */
#include "ir/read.h"

static uint64_t alias_hash(str name) { return hash_bytes(name.p, name.n, 0xa11a5); }

/* Attribute and type aliases have even entries in the index, location aliases odd ones. */
static struct alias *find_in(reader *r, str name, bool loc)
{
	uint64_t h = alias_hash(name);
	uint32_t e;
	for (uint32_t it = index_first(&r->alias_index, h); index_next(&r->alias_index, h, &it, &e);) {
		struct alias *a = loc ? &r->loc_aliases.p[e >> 1] : &r->attr_aliases.p[e >> 1];
		if ((e & 1) == loc && str_equal(a->name, name))
			return a;
	}
	return NULL;
}

struct alias *find_alias(reader *r, str name)
{
	return r->attr_aliases.n ? find_in(r, name, false) : NULL;
}

bool is_loc_alias(reader *r, str name)
{
	const struct alias *a = find_in(r, name, true);
	return a && a->id != ID_NONE;
}

void add_alias(reader *r, const struct alias *a)
{
	index_add(&r->alias_index, alias_hash(a->name), r->attr_aliases.n << 1);
	vec_push(&r->attr_aliases, *a);
}

static loc_id new_loc(reader *r, str raw)
{
	vec_push(&r->m->locs, (location){.raw = raw});
	vec_push(&r->loc_aliases, (struct alias){.id = ID_NONE});
	return r->m->locs.n - 1;
}

static loc_id loc_of_alias(reader *r, str name, const char *use)
{
	struct alias *a = find_in(r, name, true);
	if (a)
		return (loc_id)(a - r->loc_aliases.p);
	loc_id id = new_loc(r, name);
	r->loc_aliases.p[id] = (struct alias){.name = name, .use = use, .id = ID_NONE};
	index_add(&r->alias_index, alias_hash(name), id << 1 | 1);
	return id;
}

/* The ( of loc( stands at the scanner. */
static status loc_inside(lexer *l, str *out)
{
	if (lex_peek(l) != '(')
		return lex_expected(l, "'(' after loc");
	TRY(lex_balanced(l, out));
	*out = (str){out->p + 1, out->n - 2};
	return ST_OK;
}

status read_loc(reader *r, loc_id *out)
{
	lexer *l = &r->lex;
	*out = 0;
	lex_skip(l);
	if (l->p[0] != 'l' || !lex_take_word(l, "loc"))
		return ST_OK;
	if (l->p[0] == '(' && l->p[1] == '#') {
		l->p++;
		const char *at = l->p++;
		lex_suffix(l);
		str name = lex_view(at, l->p);
		if (*l->p == ')') {
			l->p++;
			*out = loc_of_alias(r, name, at);
			return ST_OK;
		}
		l->p = at - 1;
	}
	str raw;
	TRY(loc_inside(l, &raw));
	if (!str_is(raw, "unknown"))
		*out = new_loc(r, raw);
	return ST_OK;
}

status read_loc_alias(reader *r, str name, const char *line)
{
	lexer *l = &r->lex;
	TRY(lex_expect_word(l, "loc"));
	str body;
	TRY(loc_inside(l, &body));
	loc_id id = loc_of_alias(r, name, NULL);
	struct alias *a = &r->loc_aliases.p[id];
	if (a->id != ID_NONE)
		return lex_error(l, line, ST_ERR_PARSE, "redefinition of '" STR_FMT "'", STR_ARG(name));
	a->id = id;
	a->body = body;
	strbuf_add(&r->aliases, line, (size_t)(l->p - line));
	strbuf_putc(&r->aliases, '\n');
	return ST_OK;
}

/* ---------------------------------------------------------------- resolving */

enum { MAX_LOC_CHAIN = 32 };

static status resolve_text(reader *r, lexer *l, location *out, uint32_t depth);

static status resolve_loc(reader *r, loc_id id, uint32_t depth)
{
	struct alias *a = &r->loc_aliases.p[id];
	if (a->resolved)
		return ST_OK;
	a->resolved = true;
	lexer l = r->lex;
	l.p = a->name.n ? a->body.p : r->m->locs.p[id].raw.p;
	return resolve_text(r, &l, &r->m->locs.p[id], depth);
}

/* What an alias inside another location says is merged in: names and files found first win. */
static status resolve_alias(reader *r, lexer *l, location *out, uint32_t depth)
{
	const char *at = l->p++;
	lex_suffix(l);
	str name = lex_view(at, l->p);
	const struct alias *a = find_in(r, name, true);
	if (!a || a->id == ID_NONE)
		return lex_error(&r->lex, at, ST_ERR_PARSE, "location alias '" STR_FMT "' is never defined",
			STR_ARG(name));
	TRY(resolve_loc(r, a->id, depth + 1));
	const location *known = &r->m->locs.p[a->id];
	if (!out->name.n)
		out->name = known->name;
	if (!out->file.n) {
		out->file = known->file;
		out->line = known->line;
		out->col = known->col;
	}
	return ST_OK;
}

static status resolve_string(reader *r, lexer *l, location *out, uint32_t depth)
{
	str s;
	TRY(lex_string(l, &s));
	if (lex_take(l, '(')) {
		if (!out->name.n)
			out->name = s;
		return resolve_text(r, l, out, depth + 1);
	}
	if (!lex_take(l, ':')) {
		if (!out->name.n)
			out->name = s;
		return ST_OK;
	}
	int64_t line = 0, col = 0;
	TRY(lex_int(l, &line));
	TRY(lex_expect(l, ':'));
	TRY(lex_int(l, &col));
	if (!out->file.n) {
		out->file = s;
		out->line = (uint32_t)line;
		out->col = (uint32_t)col;
	}
	return ST_OK;
}

/* One location at the scanner; of fused and call sites only the innermost, first part is looked at.
 */
static status resolve_text(reader *r, lexer *l, location *out, uint32_t depth)
{
	if (depth > MAX_LOC_CHAIN)
		return ST_OK;
	char c = lex_peek(l);
	if (c == '#')
		return resolve_alias(r, l, out, depth);
	if (c == '"')
		return resolve_string(r, l, out, depth);
	if (lex_take_word(l, "callsite")) {
		TRY(lex_expect(l, '('));
		return resolve_text(r, l, out, depth + 1);
	}
	if (lex_take_word(l, "fused")) {
		str data;
		if (lex_peek(l) == '<')
			TRY(lex_balanced(l, &data));
		TRY(lex_expect(l, '['));
		return lex_peek(l) == ']' ? ST_OK : resolve_text(r, l, out, depth + 1);
	}
	if (lex_take_word(l, "loc")) {
		TRY(lex_expect(l, '('));
		return resolve_text(r, l, out, depth + 1);
	}
	if (lex_take_word(l, "unknown"))
		return ST_OK;
	lexer at = r->lex;
	at.p = l->p;
	return lex_expected(&at, "a location");
}

status resolve_locs(reader *r)
{
	for (loc_id id = 1; id < r->m->locs.n; id++) {
		const struct alias *a = &r->loc_aliases.p[id];
		if (a->name.n && a->id == ID_NONE)
			return lex_error(&r->lex, a->use, ST_ERR_PARSE,
				"location alias '" STR_FMT "' is never defined", STR_ARG(a->name));
		TRY(resolve_loc(r, id, 0));
	}
	return ST_OK;
}
