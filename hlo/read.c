/* Reader of HLO text: header, tables of source positions, computations, instructions. Operands are
 * resolved as they are read (the text is in order of definition); called computations at the end.
 * Sugar of asynchronous ops (slice-start for async-start of a computation that holds one slice)
 * becomes what it stands for. */
#define _GNU_SOURCE /* memmem */
#include "hlo/read.h"

#include <stdlib.h>

static const struct {
	const char *text;
	uint8_t n, flags;
} ops[HLO_OP_COUNT] = {
#define HLO(id, text, cost, flags) [HLO_##id] = {text, sizeof(text) - 1, flags},
#include "hlo/ops.def"
#undef HLO
	[HLO_UNKNOWN] = {"unknown", 7, 0},
};
const char *hlo_op_text(hlo_op op) { return ops[op].text; }
uint32_t hlo_op_flags(hlo_op op) { return ops[op].flags; }

/* ---------------------------------------------------------------- text */

void hlo_comment(hlo_reader *r)
{
	if (r->lex.p[1] != '*')
		return;
	const char *end = memmem(r->lex.p + 2, (size_t)(r->lex.end - r->lex.p - 2), "*/", 2);
	if (end)
		r->lex.p = end + 2;
}

status hlo_error(hlo_reader *r, const char *at, status code, const char *fmt, ...)
{
	char msg[sizeof r->lex.d->msg];
	va_list args;
	va_start(args, fmt);
	vsnprintf(msg, sizeof msg, fmt, args);
	va_end(args);
	return lex_error(&r->lex, at, code, "%s", msg);
}

status hlo_expected(hlo_reader *r, const char *what)
{
	hlo_skip(r);
	return lex_expected(&r->lex, what);
}

status hlo_expect(hlo_reader *r, char c)
{
	if (hlo_take(r, c))
		return ST_OK;
	char what[] = {'\'', c, '\'', 0};
	return hlo_expected(r, what);
}

status hlo_number(hlo_reader *r, int64_t *out)
{
	hlo_skip(r);
	return lex_int(&r->lex, out);
}

status hlo_read_name(hlo_reader *r, const char *what, str *out)
{
	hlo_take(r, '%');
	*out = lex_suffix(&r->lex);
	return out->n ? ST_OK : hlo_expected(r, what);
}

/* Bytes that matter inside brackets and strings. */
static const uint8_t stops[256] = {['('] = 1,
	[')'] = 1,
	['['] = 1,
	[']'] = 1,
	['{'] = 1,
	['}'] = 1,
	['"'] = 3,
	['\\'] = 2,
	['\n'] = 2,
	[0] = 3};

status hlo_string(hlo_reader *r, str *out)
{
	const char *open = r->lex.p, *s = open + 1;
	for (;;) {
		while (!(stops[(unsigned char)*s] & 2))
			s++;
		if (*s == '"')
			break;
		if (*s == '\n' || s >= r->lex.end)
			return hlo_error(
				r, open, ST_ERR_PARSE, "the string that starts here has no end on its line");
		s += *s == '\\' && s + 1 < r->lex.end ? 2 : 1;
	}
	*out = lex_view(open + 1, s);
	r->lex.p = s + 1;
	return ST_OK;
}

status hlo_balanced(hlo_reader *r, str *out)
{
	char want[MAX_NESTING];
	uint32_t n = 0;
	const char *open = r->lex.p, *p = open;
	do {
		while (!(stops[(unsigned char)*p] & 1))
			p++;
		switch (*p) {
		case '(':
		case '[':
		case '{':
			if (n >= MAX_NESTING)
				return hlo_error(
					r, p, ST_ERR_LIMIT, "nested deeper than the limit of %d levels", MAX_NESTING);
			want[n++] = *p == '(' ? ')' : *p == '[' ? ']' : '}';
			p++;
			break;
		case '"': {
			str s;
			r->lex.p = p;
			TRY(hlo_string(r, &s));
			p = r->lex.p;
			break;
		}
		case '\0':
			if (p >= r->lex.end)
				return hlo_error(
					r, open, ST_ERR_PARSE, "the '%c' that opens here is never closed", *open);
			p++;
			break;
		default:
			if (want[n - 1] != *p)
				return hlo_error(r, p, ST_ERR_PARSE, "expected '%c', found '%c'", want[n - 1], *p);
			n--;
			p++;
		}
	} while (n);
	r->lex.p = p;
	*out = lex_view(open, p);
	return ST_OK;
}

status hlo_int_list(hlo_reader *r, char open, char close, uint32_t *first, uint32_t *n)
{
	*first = r->m->numbers.n;
	TRY(hlo_expect(r, open));
	while (!hlo_take(r, close)) {
		int64_t v;
		if (r->m->numbers.n != *first)
			TRY(hlo_expect(r, ','));
		TRY(hlo_number(r, &v));
		vec_push(&r->m->numbers, v);
	}
	*n = r->m->numbers.n - *first;
	return ST_OK;
}

/* ---------------------------------------------------------------- names of the computation being
 * read */

enum { FIRST_SLOTS = 1 << 10 };

static void grow_slots(hlo_reader *r)
{
	struct hlo_slot *old = r->slots;
	uint32_t n = r->n_slots;
	r->n_slots = n ? 2 * n : FIRST_SLOTS;
	r->slots = xcalloc(r->n_slots, sizeof *r->slots);
	for (uint32_t i = 0; i < n; i++) {
		if (old[i].stamp != r->stamp)
			continue;
		uint32_t k = (uint32_t)old[i].hash & (r->n_slots - 1);
		while (r->slots[k].stamp == r->stamp)
			k = (k + 1) & (r->n_slots - 1);
		r->slots[k] = old[i];
	}
	free(old);
}

static hlo_id find_name(const hlo_reader *r, str name, uint64_t hash)
{
	if (!r->n_slots)
		return ID_NONE;
	for (uint32_t k = (uint32_t)hash & (r->n_slots - 1); r->slots[k].stamp == r->stamp;
		 k = (k + 1) & (r->n_slots - 1))
		if (r->slots[k].hash == hash && str_equal(hlo_name(r->m, r->slots[k].id), name))
			return r->slots[k].id;
	return ID_NONE;
}

static void add_name(hlo_reader *r, hlo_id id, uint64_t hash)
{
	if (2 * ++r->used >= r->n_slots)
		grow_slots(r);
	uint32_t k = (uint32_t)hash & (r->n_slots - 1);
	while (r->slots[k].stamp == r->stamp)
		k = (k + 1) & (r->n_slots - 1);
	r->slots[k] = (struct hlo_slot){.id = id, .stamp = r->stamp, .hash = hash};
}

/* ---------------------------------------------------------------- opcodes */

uint32_t hlo_find_op(str text)
{
	static _Thread_local uint16_t table[1024];
	static _Thread_local bool filled;
	if (!filled) {
		for (uint32_t i = 0; i < HLO_UNKNOWN; i++) {
			uint32_t k = (uint32_t)hash_bytes(ops[i].text, ops[i].n, 0) & 1023;
			while (table[k])
				k = (k + 1) & 1023;
			table[k] = (uint16_t)(i + 1);
		}
		filled = true;
	}
	for (uint32_t k = (uint32_t)hash_bytes(text.p, text.n, 0) & 1023; table[k]; k = (k + 1) & 1023)
		if (ops[table[k] - 1].n == text.n && !memcmp(ops[table[k] - 1].text, text.p, text.n))
			return table[k] - 1u;
	return HLO_UNKNOWN;
}

/* slice-start, slice-update, slice-done: the op in front of the suffix; HLO_UNKNOWN when it is
 * none. */
static uint32_t sugar_of(str text, uint32_t *half, uint32_t *base_n)
{
	static const struct {
		const char *suffix;
		uint32_t op;
	} halves[] = {
		{"-start", HLO_ASYNC_START}, {"-update", HLO_ASYNC_UPDATE}, {"-done", HLO_ASYNC_DONE}};
	for (size_t i = 0; i < COUNT_OF(halves); i++) {
		size_t n = strlen(halves[i].suffix);
		if (text.n <= n || memcmp(text.p + text.n - n, halves[i].suffix, n))
			continue;
		uint32_t base = hlo_find_op((str){text.p, text.n - n});
		if (base == HLO_UNKNOWN || base == HLO_PARAMETER ||
			ops[base].flags & (HLOF_START | HLOF_DONE))
			return HLO_UNKNOWN;
		*half = halves[i].op;
		*base_n = (uint32_t)(text.n - n);
		return base;
	}
	return HLO_UNKNOWN;
}

/* ---------------------------------------------------------------- instructions */

static status read_operands(hlo_reader *r, hlo_id i)
{
	hlo_instr *in = &r->m->instrs.p[i];
	in->operands = r->m->operands.n;
	while (!hlo_take(r, ')')) {
		hlo_shape_id printed = ID_NONE;
		if (in->n_operands)
			TRY(hlo_expect(r, ','));
		hlo_skip(r);
		if (*r->lex.p != '%' && hlo_at_shape(r)) {
			TRY(hlo_read_shape(r, &printed));
			hlo_skip(r);
		}
		const char *at = r->lex.p;
		str name;
		TRY(hlo_read_name(r, "the name of an operand", &name));
		hlo_id operand = find_name(r, name, hash_bytes(name.p, name.n, 0));
		if (operand == ID_NONE)
			return hlo_error(r, at, ST_ERR_INVALID,
				"no instruction '" STR_FMT "' above this one in its computation", STR_ARG(name));
		if (printed != ID_NONE &&
			!hlo_shapes_compatible(r->m, printed, r->m->instrs.p[operand].shape))
			return hlo_error(r, at, ST_ERR_INVALID,
				"the operand is printed with another shape than '" STR_FMT "' has", STR_ARG(name));
		if (in->n_operands == MAX_OPERANDS)
			return hlo_error(r, at, ST_ERR_LIMIT, "more than %d operands", MAX_OPERANDS);
		vec_push(&r->m->operands, operand);
		in->n_operands++;
	}
	return ST_OK;
}

/* What stands in parentheses after the opcode. */
static status read_arguments(hlo_reader *r, hlo_id i)
{
	hlo_instr *in = &r->m->instrs.p[i];
	const char *open = r->lex.p;
	if (in->op == HLO_CONSTANT) {
		str text;
		if (*open != '(')
			return hlo_expect(r, '(');
		TRY(hlo_balanced(r, &text));
		in->literal = hlo_at(r, text.p + 1);
		in->literal_n = (uint32_t)text.n - 2;
		return ST_OK;
	}
	TRY(hlo_expect(r, '('));
	if (in->op != HLO_PARAMETER)
		return read_operands(r, i);
	hlo_skip(r);
	const char *at = r->lex.p;
	TRY(hlo_number(r, &in->number));
	if (in->number < 0 || in->number >= MAX_OPERANDS)
		return hlo_error(r, at, ST_ERR_LIMIT, "parameter number %lld, expected 0 to %d",
			(long long)in->number, MAX_OPERANDS - 1);
	return hlo_expect(r, ')');
}

/* The start of sugar: its attributes and called computations belong to the op inside. */
static void note_sugar(hlo_reader *r, hlo_id i, uint32_t base, uint32_t base_n)
{
	hlo_module *m = r->m;
	hlo_instr *in = &m->instrs.p[i];
	struct hlo_sugar s = {.start = i,
		.comp = m->comps.n,
		.op = (uint16_t)base,
		.called = in->called,
		.n_called = in->n_called,
		.op_n = base_n};
	vec_push(&m->comps,
		(hlo_comp){.name = in->name, .name_n = in->name_n, .made = true, .root = ID_NONE});
	vec_push(&r->sugar, s);
	in->called = m->called.n;
	in->n_called = 1;
	vec_push(&m->called, s.comp);
}

static status read_instr(hlo_reader *r, hlo_comp_id comp)
{
	hlo_module *m = r->m;
	hlo_instr in = {.comp = comp};
	str name;
	bool root = lex_at_word(&r->lex, "ROOT");
	if (root)
		r->lex.p += 4;
	hlo_skip(r);
	const char *at = r->lex.p;
	TRY(hlo_read_name(r, "an instruction or '}'", &name));
	in.name = hlo_at(r, name.p);
	in.name_n = (uint32_t)name.n;
	uint64_t hash = hash_bytes(name.p, name.n, 0);
	if (find_name(r, name, hash) != ID_NONE)
		return hlo_error(r, at, ST_ERR_INVALID, "'" STR_FMT "' is defined twice in its computation",
			STR_ARG(name));
	TRY(hlo_expect(r, '='));
	TRY(hlo_read_shape(r, &in.shape));
	hlo_skip(r);
	const char *op_at = r->lex.p;
	str op = lex_suffix(&r->lex);
	if (!op.n)
		return hlo_expected(r, "an opcode");
	uint32_t kind = hlo_find_op(op), half = 0, base_n = 0,
			 base = kind == HLO_UNKNOWN ? sugar_of(op, &half, &base_n) : HLO_UNKNOWN;
	in.op = (uint16_t)(base == HLO_UNKNOWN ? kind : half);
	in.op_at = hlo_at(r, op_at);
	in.op_n = (uint32_t)op.n;
	hlo_id id = m->instrs.n;
	if (id == ID_NONE - 1)
		return hlo_error(r, at, ST_ERR_LIMIT, "too many instructions");
	vec_push(&m->instrs, in);
	TRY(read_arguments(r, id));
	TRY(hlo_read_attrs(r, id));
	if (in.op == HLO_GET_TUPLE_ELEMENT)
		m->instrs.p[id].number = hlo_int(m, id, HLO_ATTR_INDEX, -1);
	if (base != HLO_UNKNOWN && half == HLO_ASYNC_START)
		note_sugar(r, id, base, base_n);
	add_name(r, id, hash);
	hlo_comp *c = &m->comps.p[comp];
	c->n++;
	c->n_params += in.op == HLO_PARAMETER;
	if (root && c->root != ID_NONE)
		return hlo_error(r, at, ST_ERR_INVALID,
			"a second ROOT in its computation, after '" STR_FMT "'", STR_ARG(hlo_name(m, c->root)));
	if (root)
		c->root = id;
	return ST_OK;
}

/* Computations of the sugar seen in the computation just read: parameters like the operands, then
 * the op. */
static status make_sugar(hlo_reader *r)
{
	hlo_module *m = r->m;
	for (uint32_t k = 0; k < r->sugar.n; k++) {
		struct hlo_sugar s = r->sugar.p[k];
		hlo_instr start = m->instrs.p[s.start];
		const hlo_shape *tuple = &m->shapes.p[start.shape];
		if (tuple->kind != HLO_TUPLE || tuple->n_children < 2)
			return hlo_error(r, r->lex.text + start.op_at, ST_ERR_INVALID,
				"'" STR_FMT "' (" STR_FMT ") has no tuple of operands and result",
				STR_ARG(hlo_name(m, s.start)), STR_ARG(hlo_text(m, start.op_at, start.op_n)));
		hlo_comp *c = &m->comps.p[s.comp];
		c->first = m->instrs.n;
		c->n = start.n_operands + 1;
		c->n_params = start.n_operands;
		c->root = c->first + start.n_operands;
		for (uint32_t i = 0; i < start.n_operands; i++) {
			hlo_instr p = m->instrs.p[m->operands.p[start.operands + i]];
			vec_push(&m->instrs,
				(hlo_instr){.name = p.name,
					.name_n = p.name_n,
					.op_at = p.op_at,
					.op_n = p.op_n,
					.op = HLO_PARAMETER,
					.shape = p.shape,
					.comp = s.comp,
					.number = i});
		}
		uint32_t operands = m->operands.n;
		for (uint32_t i = 0; i < start.n_operands; i++)
			vec_push(&m->operands, m->comps.p[s.comp].first + i);
		vec_push(&m->instrs,
			(hlo_instr){.name = start.name,
				.name_n = start.name_n,
				.op_at = start.op_at,
				.op_n = s.op_n,
				.op = s.op,
				.shape = m->parts.p[tuple->children + 1],
				.comp = s.comp,
				.operands = operands,
				.n_operands = start.n_operands,
				.attrs = start.attrs,
				.n_attrs = start.n_attrs,
				.called = s.called,
				.n_called = s.n_called});
	}
	r->sugar.n = 0;
	return ST_OK;
}

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
		TRY(read_instr(r, id));
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
	return make_sugar(r);
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

static status read_tables(hlo_reader *r)
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

static status read_header(hlo_reader *r)
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

static status resolve_aliases(hlo_reader *r)
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
	TRY(read_header(r));
	TRY(read_tables(r));
	for (hlo_skip(r); r->lex.p < r->lex.end; hlo_skip(r))
		TRY(read_comp(r));
	if (m->entry == ID_NONE)
		return hlo_error(r, r->lex.end, ST_ERR_PARSE,
			"expected an ENTRY computation, found the end of the text");
	TRY(resolve(r));
	TRY(resolve_aliases(r));
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
