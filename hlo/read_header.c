/* Reads what HLO text has before its computations: the header, and tables of source positions. */
#include "hlo/read.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- tables of source positions */

/* `7 "file.py"` or `7 {file_name_id=1 line=3 ..}` */
static status read_row(hlo_reader *r, str section)
{
	int64_t id, file = 0, line = 0, place = 0, parent = 0;
	const char *at = r->lex.p;
	str text = {0};
	TRY(hlo_number(r, &id));
	if (id < 1 || id > (int64_t)(r->lex.end - r->lex.text))
		return hlo_error(r, at, ST_ERR_INVALID, "row number %lld", (long long)id);
	hlo_skip(r);
	if (*r->lex.p == '"') {
		TRY(hlo_string(r, &text));
	} else {
		TRY(hlo_expect(r, '{'));
		while (!hlo_take(r, '}')) {
			int64_t v;
			str key = (hlo_skip(r), lex_word(&r->lex));
			if (!key.n)
				return hlo_expected(r, "a field");
			TRY(hlo_expect(r, '='));
			TRY(hlo_number(r, &v));
			if (str_is(key, "file_name_id"))
				file = v;
			else if (str_is(key, "line"))
				line = v;
			else if (str_is(key, "file_location_id"))
				place = v;
			else if (str_is(key, "parent_frame_id"))
				parent = v;
		}
	}
	/* rows come in order from 1: a gap would be a table larger than the text */
	if (str_is(section, "FileNames") && id == MAX(r->files.n, 1)) {
		if (!r->files.n)
			vec_push(&r->files, (struct hlo_file_row){0});
		vec_push(&r->files, (struct hlo_file_row){hlo_at(r, text.p), (uint32_t)text.n, 0});
	} else if (str_is(section, "FileLocations") && id == MAX(r->places.n, 1)) {
		if (!r->places.n)
			vec_push(&r->places, (struct hlo_file_row){0});
		bool there = file > 0 && file < r->files.n;
		vec_push(&r->places,
			there ? (struct hlo_file_row){r->files.p[file].file, r->files.p[file].n, line}
				  : (struct hlo_file_row){0});
	} else if (str_is(section, "StackFrames") && id == MAX(r->m->frames.n, 1)) {
		if (!r->m->frames.n)
			vec_push(&r->m->frames, (hlo_frame){0});
		struct hlo_file_row where =
			place > 0 && place < r->places.n ? r->places.p[place] : (struct hlo_file_row){0};
		vec_push(
			&r->m->frames, (hlo_frame){where.file, where.n, (uint32_t)MAX(parent, 0), where.line});
	}
	return ST_OK;
}

status hlo_read_tables(hlo_reader *r)
{
	static const char *const names[] = {
		"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
	for (;;) {
		hlo_skip(r);
		size_t i = 0;
		while (i < COUNT_OF(names) && !lex_at_word(&r->lex, names[i]))
			i++;
		if (i == COUNT_OF(names))
			return ST_OK;
		str section = lex_word(&r->lex);
		for (hlo_skip(r); lex_is(*r->lex.p, LEX_DIGIT); hlo_skip(r))
			TRY(read_row(r, section));
	}
}

/* ---------------------------------------------------------------- header */

/* {0, 1} as an index into a nested tuple; leaves are counted later, when shapes are known */
static status read_index(hlo_reader *r, uint32_t *first, uint32_t *n)
{
	return hlo_int_list(r, '{', '}', first, n);
}

/* { {0}: (0, {}, may-alias), .. } */
static status read_aliases(hlo_reader *r)
{
	hlo_module *m = r->m;
	TRY(hlo_expect(r, '{'));
	while (!hlo_take(r, '}')) {
		hlo_alias a = {.at = hlo_at(r, r->lex.p)};
		uint32_t out, n_out, in, n_in;
		int64_t param;
		hlo_skip(r);
		const char *at = r->lex.p;
		TRY(read_index(r, &out, &n_out));
		TRY(hlo_expect(r, ':'));
		TRY(hlo_expect(r, '('));
		TRY(hlo_number(r, &param));
		TRY(hlo_expect(r, ','));
		TRY(read_index(r, &in, &n_in));
		if (hlo_take(r, ',')) {
			hlo_skip(r);
			str how = lex_suffix(&r->lex);
			if (!str_is(how, "may-alias") && !str_is(how, "must-alias"))
				return hlo_error(r, how.p, ST_ERR_PARSE, "expected may-alias or must-alias");
		}
		TRY(hlo_expect(r, ')'));
		if (param < 0 || param >= MAX_OPERANDS || n_out > 255 || n_in > 255)
			return hlo_error(r, at, ST_ERR_INVALID, "an alias of parameter %lld", (long long)param);
		/* until the shapes are known: places of the indices in module.numbers */
		a.output_leaf = out << 8 | n_out;
		a.param_leaf = in << 8 | n_in;
		if (out >= 1u << 23)
			return hlo_error(r, at, ST_ERR_LIMIT, "too many aliases");
		a.param = (uint32_t)param;
		a.at = hlo_at(r, at);
		vec_push(&m->aliases, a);
		hlo_take(r, ',');
	}
	return ST_OK;
}

static status read_count(hlo_reader *r, int64_t *out)
{
	hlo_skip(r);
	const char *at = r->lex.p;
	TRY(hlo_number(r, out));
	r->counted = true;
	if (*out < 1 || *out > HLO_MAX_DEVICES)
		return hlo_error(r, at, ST_ERR_LIMIT, "%lld replicas or partitions, expected 1 to %d",
			(long long)*out, HLO_MAX_DEVICES);
	return ST_OK;
}

status hlo_read_header(hlo_reader *r)
{
	hlo_module *m = r->m;
	str name;
	hlo_skip(r);
	if (!lex_at_word(&r->lex, "HloModule"))
		return hlo_expected(r, "HloModule");
	r->lex.p += 9;
	TRY(hlo_read_name(r, "the name of the module", &name));
	m->name = hlo_at(r, name.p);
	m->name_n = (uint32_t)name.n;
	m->n_partitions = m->n_replicas = 1;
	while (hlo_take(r, ',')) {
		hlo_skip(r);
		str key = lex_suffix(&r->lex), value = {0};
		if (!key.n)
			return hlo_expected(r, "an attribute of the module");
		TRY(hlo_expect(r, '='));
		hlo_skip(r);
		if (str_is(key, "input_output_alias")) {
			TRY(read_aliases(r));
		} else if (str_is(key, "num_partitions")) {
			TRY(read_count(r, &m->n_partitions));
		} else if (str_is(key, "replica_count")) {
			TRY(read_count(r, &m->n_replicas));
		} else if (str_is(key, "is_scheduled")) {
			m->scheduled = str_is(lex_word(&r->lex), "true");
		} else if (*r->lex.p == '{') {
			TRY(hlo_balanced(r, &value));
		} else if (*r->lex.p == '"') {
			TRY(hlo_string(r, &value));
		} else {
			while (*r->lex.p != ',' && *r->lex.p != '\n' && r->lex.p < r->lex.end)
				r->lex.p++;
		}
	}
	if (m->n_partitions * m->n_replicas > HLO_MAX_DEVICES)
		return hlo_error(r, r->lex.text + m->name, ST_ERR_LIMIT, "%lld devices, more than %d",
			(long long)(m->n_partitions * m->n_replicas), HLO_MAX_DEVICES);
	return ST_OK;
}

/* Leaf that an index such as {1,0} names in a shape; false when it names none. */
static bool leaf_at(const hlo_module *m, hlo_shape_id shape, uint32_t packed, uint32_t *leaf)
{
	const hlo_shape *s = &m->shapes.p[shape];
	*leaf = 0;
	for (uint32_t i = 0; i < (packed & 255); i++) {
		int64_t k = m->numbers.p[(packed >> 8) + i];
		if (s->kind != HLO_TUPLE || k < 0 || k >= s->n_children)
			return false;
		*leaf += hlo_child_leaf(m, s, (uint32_t)k);
		s = &m->shapes.p[m->parts.p[s->children + (uint32_t)k]];
	}
	return s->kind != HLO_TUPLE;
}

status hlo_resolve_aliases(hlo_reader *r)
{
	hlo_module *m = r->m;
	if (!m->aliases.n)
		return ST_OK;
	const hlo_comp *e = &m->comps.p[m->entry];
	hlo_id *params = xmalloc((e->n_params + 1) * sizeof *params);
	memset(params, 0xff, (e->n_params + 1) * sizeof *params);
	for (hlo_id i = e->first; i < e->first + e->n; i++)
		if (m->instrs.p[i].op == HLO_PARAMETER && m->instrs.p[i].number < e->n_params)
			params[m->instrs.p[i].number] = i;
	status st = ST_OK;
	for (uint32_t k = 0; k < m->aliases.n && st == ST_OK; k++) {
		hlo_alias *a = &m->aliases.p[k];
		uint32_t out, in;
		bool ok = a->param < e->n_params && params[a->param] != ID_NONE &&
			leaf_at(m, m->instrs.p[e->root].shape, a->output_leaf, &out) &&
			leaf_at(m, m->instrs.p[params[a->param]].shape, a->param_leaf, &in);
		if (!ok)
			st = hlo_error(r, r->lex.text + a->at, ST_ERR_INVALID,
				"the alias names no array of the result or of parameter %u", a->param);
		else
			a->output_leaf = out, a->param_leaf = in;
	}
	free(params);
	return st;
}
