/* Reader of HLO text: computations, the module. Operands are resolved as they are read, for the
 * text is in order of definition; called computations at the end.
 *	read_text.c     names, numbers, strings, lists
 *	read_header.c   the header, tables of source positions
 *	read_instr.c    instructions; shape.c, attrs.c and groups.c read their parts */
#define _GNU_SOURCE /* memmem */
#include "hlo/read.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- computations */

/* (name: shape, name: shape) -> shape; the instructions say the same, so this is only looked at for
 * its form */
static status read_signature(hlo_reader *r)
{
	hlo_shape_id shape;
	if (!hlo_take(r, '('))
		return ST_OK;
	while (!hlo_take(r, ')')) {
		str name;
		TRY(hlo_read_name(r, "the name of a parameter", &name));
		TRY(hlo_expect(r, ':'));
		TRY(hlo_read_shape(r, &shape));
		hlo_take(r, ',');
	}
	hlo_skip(r);
	if (strncmp(r->lex.p, "->", 2))
		return hlo_expected(r, "'->' and the shape of the result");
	r->lex.p += 2;
	return hlo_read_shape(r, &shape);
}

static status add_comp(hlo_reader *r, str name, const char *at, bool entry, hlo_comp_id *out)
{
	hlo_module *m = r->m;
	uint64_t hash = hash_bytes(name.p, name.n, 0);
	uint32_t other;
	for (uint32_t it = index_first(&r->comp_names, hash);
		 index_next(&r->comp_names, hash, &it, &other);)
		if (str_equal(hlo_text(m, m->comps.p[other].name, m->comps.p[other].name_n), name))
			return hlo_error(
				r, at, ST_ERR_INVALID, "a second computation '" STR_FMT "'", STR_ARG(name));
	if (entry && m->entry != ID_NONE)
		return hlo_error(r, at, ST_ERR_INVALID, "a second ENTRY computation");
	*out = m->comps.n;
	index_add(&r->comp_names, hash, *out);
	vec_push(&m->comps,
		(hlo_comp){.name = hlo_at(r, name.p),
			.name_n = (uint32_t)name.n,
			.first = m->instrs.n,
			.root = ID_NONE,
			.entry = entry});
	if (entry)
		m->entry = *out;
	return ST_OK;
}

static status read_comp(hlo_reader *r)
{
	hlo_module *m = r->m;
	hlo_skip(r);
	bool entry = lex_at_word(&r->lex, "ENTRY");
	if (entry)
		r->lex.p += 5;
	hlo_skip(r);
	const char *at = r->lex.p;
	str name;
	hlo_comp_id id = ID_NONE;
	TRY(hlo_read_name(r, "a computation", &name));
	TRY(add_comp(r, name, at, entry, &id));
	TRY(read_signature(r));
	TRY(hlo_expect(r, '{'));
	r->stamp++;
	r->used = 0;
	for (;;) {
		hlo_skip(r);
		if (*r->lex.p == '}')
			break;
		TRY(hlo_read_instr(r, id));
	}
	r->lex.p++;
	hlo_comp *c = &m->comps.p[id];
	if (!c->n)
		return hlo_error(
			r, at, ST_ERR_INVALID, "the computation '" STR_FMT "' is empty", STR_ARG(name));
	if (c->root == ID_NONE)
		c->root = c->first + c->n - 1;
	while (*r->lex.p == ',') { /* execution_thread="..." */
		str key, value;
		r->lex.p++;
		hlo_skip(r);
		key = lex_word(&r->lex);
		TRY(hlo_expect(r, '='));
		if (!key.n || *r->lex.p != '"')
			return hlo_expected(r, "an attribute of the computation");
		TRY(hlo_string(r, &value));
	}
	return hlo_make_sugar(r);
}

static status resolve(hlo_reader *r)
{
	hlo_module *m = r->m;
	for (uint32_t k = 0; k < r->wanted.n; k++) {
		str name = r->wanted.p[k].name;
		uint64_t hash = hash_bytes(name.p, name.n, 0);
		uint32_t id, found = ID_NONE;
		for (uint32_t it = index_first(&r->comp_names, hash);
			 index_next(&r->comp_names, hash, &it, &id);)
			if (str_equal(hlo_text(m, m->comps.p[id].name, m->comps.p[id].name_n), name))
				found = id;
		if (found == ID_NONE)
			return hlo_error(
				r, name.p, ST_ERR_INVALID, "no computation '" STR_FMT "'", STR_ARG(name));
		m->called.p[r->wanted.p[k].called] = found;
	}
	return ST_OK;
}

/* ---------------------------------------------------------------- all */

/* Users of every instruction: counted, then filled; each user once per value, in schedule order. */
static void find_users(hlo_module *m)
{
	uint32_t n = m->instrs.n, total = 0;
	hlo_id *last = xmalloc((n + 1) * sizeof *last);
	for (int pass = 0; pass < 2; pass++) {
		memset(last, 0xff, n * sizeof *last);
		for (hlo_id i = 0; i < n; i++)
			for (uint32_t k = 0; k < m->instrs.p[i].n_operands; k++) {
				hlo_instr *of = &m->instrs.p[m->operands.p[m->instrs.p[i].operands + k]];
				hlo_id id = (hlo_id)(of - m->instrs.p);
				if (last[id] == i)
					continue;
				last[id] = i;
				if (pass)
					m->users.p[of->users + of->n_users] = i;
				of->n_users++;
			}
		for (hlo_id i = 0; i < n && !pass; i++) {
			m->instrs.p[i].users = total;
			total += m->instrs.p[i].n_users;
			m->instrs.p[i].n_users = 0;
		}
		if (!pass) {
			vec_reserve(&m->users, total + 1);
			m->users.n = total;
		}
	}
	free(last);
}

static status read_module(hlo_reader *r)
{
	hlo_module *m = r->m;
	TRY(hlo_read_header(r));
	TRY(hlo_read_tables(r));
	for (hlo_skip(r); r->lex.p < r->lex.end; hlo_skip(r))
		TRY(read_comp(r));
	if (m->entry == ID_NONE)
		return hlo_error(r, r->lex.end, ST_ERR_PARSE,
			"expected an ENTRY computation, found the end of the text");
	TRY(resolve(r));
	TRY(hlo_resolve_aliases(r));
	find_users(m);
	return hlo_verify(m, r->counted, r->lex.d);
}

bool hlo_is_text(const char *p, size_t n)
{
	static const char word[] = "HloModule";
	size_t i = 0;
	for (;;) {
		while (i < n && lex_is(p[i], LEX_SPACE))
			i++;
		if (i + 1 >= n || p[i] != '/' || p[i + 1] != '*')
			break;
		const char *end = memmem(p + i + 2, n - i - 2, "*/", 2);
		if (!end)
			return false;
		i = (size_t)(end - p) + 2;
	}
	return n - i >= sizeof word - 1 && !memcmp(p + i, word, sizeof word - 1);
}

status hlo_read(const char *p, size_t n, const char *file, hlo_module **out, diag *d)
{
	diag local = {0};
	d = d ? d : &local;
	*out = NULL;
	if (n > MAX_TEXT_BYTES)
		return diag_set(d, ST_ERR_LIMIT, "the text of %zu bytes is larger than the limit of %d", n,
			MAX_TEXT_BYTES);
	hlo_module *m = xcalloc(1, sizeof *m);
	strbuf_init(&m->text);
	strbuf_add(&m->text, p, n);
	snprintf(m->file, sizeof m->file, "%s", file);
	m->entry = ID_NONE;
	hlo_reader r = {
		.m = m, .lex = {.text = m->text.p, .p = m->text.p, .end = m->text.p + n, .d = d}};
	index_init(&r.shapes);
	index_init(&r.comp_names);
	status st = read_module(&r);
	index_release(&r.shapes);
	index_release(&r.comp_names);
	vec_release(&r.shape_texts);
	vec_release(&r.group_texts);
	vec_release(&r.stack);
	vec_release(&r.wanted);
	vec_release(&r.sugar);
	vec_release(&r.files);
	vec_release(&r.places);
	free(r.slots);
	if (st != ST_OK) {
		diag_in_file(d, file);
		hlo_free(m);
		return st;
	}
	*out = m;
	return ST_OK;
}

void hlo_free(hlo_module *m)
{
	if (!m)
		return;
	strbuf_release(&m->text);
	vec_release(&m->comps);
	vec_release(&m->instrs);
	vec_release(&m->operands);
	vec_release(&m->users);
	vec_release(&m->params);
	vec_release(&m->called);
	vec_release(&m->attrs);
	vec_release(&m->shapes);
	vec_release(&m->parts);
	vec_release(&m->numbers);
	vec_release(&m->groups);
	vec_release(&m->starts);
	vec_release(&m->ids);
	vec_release(&m->aliases);
	vec_release(&m->frames);
	free(m);
}
