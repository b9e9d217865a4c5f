/* Attributes of HLO instructions: the ones in the table are decoded into integers or computations
 * while they are read, so that a fault is reported where it stands; the others are read over as
 * balanced text. */
#include "hlo/read.h"

typedef enum value_kind {
	KIND_INTS,
	KIND_INT,
	KIND_FLAG,
	KIND_COMP,
	KIND_COMPS,
	KIND_SLICES,
	KIND_PAIRS,
	KIND_GROUPS,
	KIND_WINDOW,
	KIND_LABELS,
	KIND_RAW,
} value_kind;
static const struct {
	const char *text;
	uint8_t n, kind;
} known[] = {
#define X(id, text, kind) {text, sizeof(text) - 1, KIND_##kind},
	HLO_ATTRS(X)
#undef X
};

static uint32_t find_key(str key)
{
	for (uint32_t i = 0; i < COUNT_OF(known); i++)
		if (known[i].n == key.n && !memcmp(known[i].text, key.p, key.n))
			return i;
	return HLO_ATTR_OTHER;
}

/* Any value: balanced brackets, strings and words, up to the comma that ends it. */
static status skip_value(hlo_reader *r)
{
	for (;;) {
		str text;
		char c = *r->lex.p;
		if (c == '{' || c == '[' || c == '(') {
			TRY(hlo_balanced(r, &text));
		} else if (c == '"') {
			TRY(hlo_string(r, &text));
		} else if (c == ',' || c == '\n' || c == '}' || c == ')' || c == ']' ||
			r->lex.p >= r->lex.end) {
			return ST_OK;
		} else if (c == ' ') { /* mesh[..] {..} */
			const char *p = r->lex.p;
			hlo_skip(r);
			if (*r->lex.p != '{') {
				r->lex.p = p;
				return ST_OK;
			}
		} else {
			r->lex.p++;
		}
	}
}

/* [start:limit] or [start:limit:stride], in braces */
static status read_slices(hlo_reader *r, hlo_attr *a)
{
	hlo_module *m = r->m;
	TRY(hlo_expect(r, '{'));
	while (!hlo_take(r, '}')) {
		int64_t v[3] = {0, 0, 1};
		hlo_skip(r);
		const char *at = r->lex.p;
		TRY(hlo_expect(r, '['));
		TRY(hlo_number(r, &v[0]));
		TRY(hlo_expect(r, ':'));
		TRY(hlo_number(r, &v[1]));
		if (hlo_take(r, ':'))
			TRY(hlo_number(r, &v[2]));
		TRY(hlo_expect(r, ']'));
		if (v[0] < 0 || v[1] < v[0] || v[2] < 1)
			return hlo_error(r, at, ST_ERR_INVALID, "a slice from %lld to %lld by %lld",
				(long long)v[0], (long long)v[1], (long long)v[2]);
		for (uint32_t i = 0; i < 3; i++)
			vec_push(&m->numbers, v[i]);
		a->count += 3;
		hlo_take(r, ',');
	}
	return ST_OK;
}

static status read_pairs(hlo_reader *r, hlo_attr *a)
{
	TRY(hlo_expect(r, '{'));
	while (!hlo_take(r, '}')) {
		uint32_t first, n;
		hlo_skip(r);
		const char *at = r->lex.p;
		TRY(hlo_int_list(r, '{', '}', &first, &n));
		if (n != 2)
			return hlo_error(
				r, at, ST_ERR_INVALID, "expected a pair {source,target}, found %u numbers", n);
		for (uint32_t i = 0; i < 2; i++)
			if (r->m->numbers.p[first + i] < 0 || r->m->numbers.p[first + i] >= HLO_MAX_DEVICES)
				return hlo_error(r, at, ST_ERR_INVALID, "id %lld in a pair",
					(long long)r->m->numbers.p[first + i]);
		a->count += 2;
		hlo_take(r, ',');
	}
	return ST_OK;
}

/* {size=3x3 stride=2x2 pad=0_0x1_1 lhs_dilate=2x2 rhs_dilate=1x1 rhs_reversal=0x1}: seven numbers
 * per dim, in that order with pad as two. */
enum { WINDOW_FIELDS = 7 };
static status read_window(hlo_reader *r, hlo_attr *a)
{
	static const struct {
		const char *text;
		uint32_t field;
	} fields[] = {{"size", 0}, {"stride", 1}, {"pad", 2}, {"lhs_dilate", 4}, {"rhs_dilate", 5},
		{"rhs_reversal", 6}};
	int64_t v[MAX_RANK][WINDOW_FIELDS];
	uint32_t rank = 0;
	for (uint32_t d = 0; d < MAX_RANK; d++)
		memcpy(v[d], ((int64_t[]){1, 1, 0, 0, 1, 1, 0}), sizeof v[d]);
	TRY(hlo_expect(r, '{'));
	while (!hlo_take(r, '}')) {
		hlo_skip(r);
		const char *at = r->lex.p;
		str key = lex_word(&r->lex);
		uint32_t f = 0, d = 0;
		while (f < COUNT_OF(fields) && !str_is(key, fields[f].text))
			f++;
		if (f == COUNT_OF(fields)) {
			r->lex.p = at;
			return hlo_expected(r, "size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal");
		}
		TRY(hlo_expect(r, '='));
		do {
			if (d == MAX_RANK)
				return hlo_error(r, r->lex.p, ST_ERR_LIMIT, "more than %d window dims", MAX_RANK);
			TRY(hlo_number(r, &v[d][fields[f].field]));
			if (fields[f].field == 2) {
				TRY(hlo_expect(r, '_'));
				TRY(hlo_number(r, &v[d][3]));
			}
			d++;
		} while (*r->lex.p == 'x' && r->lex.p++);
		rank = MAX(rank, d);
	}
	for (uint32_t d = 0; d < rank; d++)
		for (uint32_t f = 0; f < WINDOW_FIELDS; f++)
			vec_push(&r->m->numbers, v[d][f]);
	a->count = rank * WINDOW_FIELDS;
	return ST_OK;
}

/* b01f_01io->b01f: for input, kernel and output: batch (kernel: input feature), feature (kernel:
 * output feature), then the spatial dims in order; three lists of equal length. */
static status read_labels(hlo_reader *r, hlo_attr *a)
{
	const char *from = r->lex.p;
	int64_t at[3][MAX_RANK];
	uint32_t n[3];
	for (uint32_t side = 0; side < 3; side++) {
		for (uint32_t i = 0; i < MAX_RANK; i++)
			at[side][i] = -1;
		uint32_t d = 0;
		const char *major = side == 1 ? "io" : "bf";
		for (; lex_is(*r->lex.p, LEX_LETTER | LEX_DIGIT) && *r->lex.p != '_'; r->lex.p++, d++) {
			char c = *r->lex.p;
			uint32_t place = c == major[0] ? 0
				: c == major[1]            ? 1
				: lex_is(c, LEX_DIGIT)     ? (uint32_t)(c - '0') + 2
										   : MAX_RANK;
			if (place >= MAX_RANK || at[side][place] >= 0)
				return hlo_error(r, r->lex.p, ST_ERR_PARSE,
					"dim_labels: expected '%c', '%c' or a digit, each once, found '%c'", major[0],
					major[1], c);
			at[side][place] = d;
		}
		n[side] = d;
		const char *next = side == 0 ? "_" : side == 1 ? "->" : "";
		if (strncmp(r->lex.p, next, strlen(next)))
			return hlo_expected(
				r, side ? "'->' and the output's labels" : "'_' and the kernel's labels");
		r->lex.p += strlen(next);
	}
	bool wrong = n[0] != n[1] || n[0] != n[2] || n[0] < 2;
	for (uint32_t side = 0; side < 3; side++)
		for (uint32_t i = 0; i < n[0] && !wrong; i++)
			wrong = at[side][i] < 0;
	if (wrong)
		return hlo_error(r, from, ST_ERR_INVALID,
			"dim_labels: input, kernel and output do not have the same dims");
	for (uint32_t side = 0; side < 3; side++)
		for (uint32_t i = 0; i < n[0]; i++)
			vec_push(&r->m->numbers, at[side][i]);
	a->count = 3 * n[0];
	return ST_OK;
}

static status read_comp(hlo_reader *r, hlo_instr *in)
{
	str name;
	TRY(hlo_read_name(r, "the name of a computation", &name));
	vec_push(&r->wanted, (struct hlo_wanted){r->m->called.n, name});
	vec_push(&r->m->called, ID_NONE);
	in->n_called++;
	return ST_OK;
}

static status read_comps(hlo_reader *r, hlo_instr *in)
{
	TRY(hlo_expect(r, '{'));
	while (!hlo_take(r, '}')) {
		TRY(read_comp(r, in));
		hlo_take(r, ',');
	}
	return ST_OK;
}

static status read_flag(hlo_reader *r, hlo_attr *a)
{
	str word = lex_word(&r->lex);
	if (!str_is(word, "true") && !str_is(word, "false"))
		return hlo_error(r, word.p, ST_ERR_PARSE, "expected true or false");
	vec_push(&r->m->numbers, str_is(word, "true"));
	a->count = 1;
	return ST_OK;
}

static status read_value(hlo_reader *r, hlo_instr *in, hlo_attr *a, value_kind kind)
{
	int64_t v;
	a->numbers = r->m->numbers.n;
	switch (kind) {
	case KIND_INTS: return hlo_int_list(r, '{', '}', &a->numbers, &a->count);
	case KIND_INT:
		TRY(hlo_number(r, &v));
		vec_push(&r->m->numbers, v);
		a->count = 1;
		return ST_OK;
	case KIND_FLAG: return read_flag(r, a);
	case KIND_COMP:
	case KIND_COMPS:
		a->numbers = r->m->called.n;
		TRY(*r->lex.p == '{' ? read_comps(r, in) : read_comp(r, in));
		a->count = r->m->called.n - a->numbers;
		return ST_OK;
	case KIND_SLICES: return read_slices(r, a);
	case KIND_PAIRS: return read_pairs(r, a);
	case KIND_GROUPS: a->count = 1; return hlo_read_groups(r, &a->numbers);
	case KIND_WINDOW: return read_window(r, a);
	case KIND_LABELS: return read_labels(r, a);
	case KIND_RAW: break;
	}
	return skip_value(r);
}

status hlo_read_attrs(hlo_reader *r, hlo_id i)
{
	hlo_module *m = r->m;
	hlo_instr *in = &m->instrs.p[i];
	in->attrs = m->attrs.n;
	in->called = m->called.n;
	while (hlo_take(r, ',')) {
		hlo_skip(r);
		const char *at = r->lex.p;
		str key = lex_suffix(&r->lex);
		if (!key.n)
			return hlo_expected(r, "the name of an attribute");
		TRY(hlo_expect(r, '='));
		hlo_skip(r);
		hlo_attr a = {.id = (uint8_t)find_key(key), .at = hlo_at(r, r->lex.p)};
		if (in->op == HLO_SCATTER && a.id == HLO_ATTR_SCATTER_COMP)
			a.id = HLO_ATTR_OTHER;
		for (uint32_t k = 0; a.id != HLO_ATTR_OTHER && k < in->n_attrs; k++)
			if (m->attrs.p[in->attrs + k].id == a.id)
				return hlo_error(
					r, at, ST_ERR_PARSE, "attribute " STR_FMT " is given twice", STR_ARG(key));
		TRY(read_value(
			r, in, &a, a.id == HLO_ATTR_OTHER ? KIND_RAW : (value_kind)known[a.id].kind));
		a.n = hlo_at(r, r->lex.p) - a.at;
		if (!a.n)
			return hlo_expected(r, "a value");
		vec_push(&m->attrs, a);
		in->n_attrs++;
	}
	return ST_OK;
}

const hlo_attr *hlo_attr_find(const hlo_module *m, hlo_id i, hlo_attr_id id)
{
	const hlo_instr *in = &m->instrs.p[i];
	for (uint32_t k = 0; k < in->n_attrs; k++)
		if (m->attrs.p[in->attrs + k].id == id)
			return &m->attrs.p[in->attrs + k];
	return NULL;
}

hlo_comp_id hlo_called(const hlo_module *m, hlo_id i, hlo_attr_id id)
{
	const hlo_attr *a = hlo_attr_find(m, i, id);
	return a && a->count ? m->called.p[a->numbers] : ID_NONE;
}

const int64_t *hlo_ints(const hlo_module *m, hlo_id i, hlo_attr_id id, uint32_t *n)
{
	const hlo_attr *a = hlo_attr_find(m, i, id);
	*n = a ? a->count : 0;
	return a ? m->numbers.p + a->numbers : NULL;
}

int64_t hlo_int(const hlo_module *m, hlo_id i, hlo_attr_id id, int64_t otherwise)
{
	uint32_t n;
	const int64_t *v = hlo_ints(m, i, id, &n);
	return n ? v[0] : otherwise;
}

str hlo_word(const hlo_module *m, hlo_id i, hlo_attr_id id)
{
	const hlo_attr *a = hlo_attr_find(m, i, id);
	if (!a)
		return (str){"", 0};
	str text = hlo_text(m, a->at, a->n);
	return text.n >= 2 && text.p[0] == '"' ? (str){text.p + 1, text.n - 2} : text;
}
