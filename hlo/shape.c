/* Shapes of HLO text: `bf16[32,4096]{1,0:T(8,128)(2,1)S(1)}`, tuples, token[], opaque[]. Equal text
 * is read once. */
#include "hlo/read.h"

enum { MAX_TILES = 8 };

typedef struct layout {
	uint32_t n_order, n_tiles;
	int64_t order[MAX_RANK]; /* minor to major */
	struct {
		uint32_t n;
		int64_t dims[MAX_RANK];
	} tiles[MAX_TILES];
	int64_t space, bits;
} layout;

static const struct {
	const char *text;
	uint8_t elem;
} elems[] = {
	{"pred", ELEM_I1},
	{"s2", ELEM_I2},
	{"s4", ELEM_I4},
	{"s8", ELEM_I8},
	{"s16", ELEM_I16},
	{"s32", ELEM_I32},
	{"s64", ELEM_I64},
	{"u2", ELEM_UI2},
	{"u4", ELEM_UI4},
	{"u8", ELEM_UI8},
	{"u16", ELEM_UI16},
	{"u32", ELEM_UI32},
	{"u64", ELEM_UI64},
	{"f16", ELEM_F16},
	{"bf16", ELEM_BF16},
	{"f32", ELEM_F32},
	{"f64", ELEM_F64},
	{"c64", ELEM_C64},
	{"c128", ELEM_C128},
	{"s1", ELEM_I1},
	{"u1", ELEM_I1},
	{"f4e2m1fn", ELEM_F4E2M1FN},
	{"f8e3m4", ELEM_F8E3M4},
	{"f8e4m3", ELEM_F8E4M3},
	{"f8e4m3fn", ELEM_F8E4M3FN},
	{"f8e4m3fnuz", ELEM_F8E4M3FNUZ},
	{"f8e4m3b11fnuz", ELEM_F8E4M3B11FNUZ},
	{"f8e5m2", ELEM_F8E5M2},
	{"f8e5m2fnuz", ELEM_F8E5M2FNUZ},
	{"f8e8m0fnu", ELEM_F8E8M0FNU},
	{"f6e2m3fn", ELEM_F6E2M3FN},
	{"f6e3m2fn", ELEM_F6E3M2FN},
};

static bool elem_of(str word, uint8_t *out)
{
	for (size_t i = 0; i < COUNT_OF(elems); i++)
		if (str_is(word, elems[i].text)) {
			*out = elems[i].elem;
			return true;
		}
	return false;
}

bool hlo_at_shape(const hlo_reader *r)
{
	const char *p = r->lex.p;
	if (*p == '(')
		return true;
	while (lex_is(*p, LEX_SUFFIX))
		p++;
	return p > r->lex.p && *p == '[';
}

/* The text from here is a shape as far as brackets go; NULL when it is none. */
static const char *span_end(const char *p)
{
	uint32_t depth = 0;
	for (;; p++) {
		if (depth || *p == '(') {
			while (*p != '(' && *p != ')' && *p != '\0' && *p != '\n')
				p++;
			if (*p == '\0' || *p == '\n')
				return NULL;
			depth += *p == '(' ? 1 : -1;
			if (depth)
				continue;
			return p + 1;
		}
		while (lex_is(*p, LEX_WORD))
			p++;
		if (*p != '[')
			return NULL;
		while (*p != ']' && *p != '\0' && *p != '\n')
			p++;
		if (*p++ != ']')
			return NULL;
		if (*p != '{')
			return p;
		while (*p != '}' && *p != '\0' && *p != '\n')
			p++;
		return *p == '}' ? p + 1 : NULL;
	}
}

static status read_tiles(hlo_reader *r, layout *l)
{
	while (*r->lex.p == '(') {
		if (l->n_tiles == MAX_TILES)
			return hlo_error(
				r, r->lex.p, ST_ERR_LIMIT, "more than %d tiles in a layout", MAX_TILES);
		uint32_t n = 0;
		r->lex.p++;
		do {
			if (n == MAX_RANK)
				return hlo_error(
					r, r->lex.p, ST_ERR_LIMIT, "a tile has more than %d dims", MAX_RANK);
			int64_t *dim = &l->tiles[l->n_tiles].dims[n++];
			if (*r->lex.p == '*') { /* joined with the next more minor dim */
				r->lex.p++;
				*dim = 1;
				continue;
			}
			const char *at = r->lex.p;
			TRY(hlo_number(r, dim));
			if (*dim <= 0)
				return hlo_error(r, at, ST_ERR_INVALID, "a tile dim is %lld, expected 1 or more",
					(long long)*dim);
		} while (hlo_take(r, ','));
		TRY(hlo_expect(r, ')'));
		l->tiles[l->n_tiles++].n = n;
	}
	return ST_OK;
}

/* What stands behind the colon: T tiles, S memory space, E bits of an element; others are read
 * over. */
static status read_layout_part(hlo_reader *r, layout *l)
{
	char c = *r->lex.p;
	bool plain = r->lex.p[1] == '(';
	if (c == 'T' && plain) {
		r->lex.p++;
		return read_tiles(r, l);
	}
	if ((c == 'S' || c == 'E') && plain) {
		r->lex.p += 2;
		const char *at = r->lex.p;
		int64_t v;
		TRY(hlo_number(r, &v));
		if (v < 0 || v > 255)
			return hlo_error(
				r, at, ST_ERR_INVALID, "%c(%lld) in a layout, expected 0 to 255", c, (long long)v);
		*(c == 'S' ? &l->space : &l->bits) = v;
		return hlo_expect(r, ')');
	}
	const char *at = r->lex.p;
	while (lex_is(*r->lex.p, LEX_LETTER) || *r->lex.p == '#' || *r->lex.p == '*')
		r->lex.p++;
	if (r->lex.p == at || *r->lex.p != '(')
		return hlo_expected(r, "a part of a layout such as T(8,128) or S(1)");
	str skipped;
	return hlo_balanced(r, &skipped);
}

static status read_layout(hlo_reader *r, uint32_t rank, layout *l)
{
	const char *open = r->lex.p++;
	while (lex_is(*r->lex.p, LEX_DIGIT)) {
		if (l->n_order == MAX_RANK)
			return hlo_error(r, r->lex.p, ST_ERR_LIMIT, "a layout has more than %d dims", MAX_RANK);
		TRY(hlo_number(r, &l->order[l->n_order++]));
		hlo_take(r, ',');
	}
	bool seen[MAX_RANK] = {false};
	bool wrong = l->n_order != rank;
	for (uint32_t i = 0; i < l->n_order && !wrong; i++) {
		wrong = l->order[i] < 0 || l->order[i] >= rank || seen[l->order[i]];
		if (!wrong)
			seen[l->order[i]] = true;
	}
	if (wrong)
		return hlo_error(
			r, open, ST_ERR_INVALID, "the layout does not order the %u dims of its shape", rank);
	if (hlo_take(r, ':'))
		while (*r->lex.p != '}')
			TRY(read_layout_part(r, l));
	return hlo_expect(r, '}');
}

static uint8_t minor_of(const int64_t *dims, uint32_t rank, const layout *l)
{
	for (uint32_t i = 0; i < rank; i++) {
		int64_t d = l->n_order ? l->order[i] : (int64_t)(rank - 1 - i);
		if (dims[d] > 1)
			return (uint8_t)d;
	}
	return 0;
}

/* Elements with the padding of the tiles: each tile cuts the most minor dims of what the ones
 * before left. */
static int64_t padded_elements(const int64_t *dims, uint32_t rank, const layout *l)
{
	int64_t at[MAX_RANK * 4];
	uint32_t n = 0;
	for (uint32_t i = rank; i-- > 0;)
		at[n++] = dims[l->n_order ? l->order[i] : rank - 1 - i];
	for (uint32_t t = 0; t < l->n_tiles; t++) {
		uint32_t k = l->tiles[t].n;
		if (n + 2 * k > COUNT_OF(at))
			break;
		while (n < k) {
			memmove(at + 1, at, n * sizeof *at);
			at[0] = 1;
			n++;
		}
		for (uint32_t i = 0; i < k; i++) {
			int64_t tile = l->tiles[t].dims[i], *dim = &at[n - k + i];
			at[n + i] = tile;
			*dim = *dim / tile + (*dim % tile != 0);
		}
		n += k;
	}
	int64_t all = 1;
	for (uint32_t i = 0; i < n; i++)
		all = sat_mul(all, at[i]);
	return all;
}

static int64_t bytes_of(int64_t elements, int64_t bits)
{
	return bits % 8 ? sat_add(sat_mul(elements, bits), 7) / 8 : sat_mul(elements, bits / 8);
}

static hlo_shape_id add_shape(hlo_module *m, hlo_shape s)
{
	hlo_shape_id id = m->shapes.n;
	if (s.kind != HLO_TUPLE) {
		s.leaves = m->parts.n;
		s.n_leaves = 1;
		vec_push(&m->parts, id);
	}
	vec_push(&m->shapes, s);
	return id;
}

static status read_array(hlo_reader *r, hlo_shape_id *out)
{
	hlo_module *m = r->m;
	const char *at = r->lex.p;
	str word = lex_word(&r->lex);
	hlo_shape s = {.kind = HLO_ARRAY, .elements = 1};
	if (!word.n)
		return hlo_expected(r, "a shape");
	bool token = str_is(word, "token"), opaque = str_is(word, "opaque");
	if (!token && !opaque && !elem_of(word, &s.elem))
		return hlo_error(r, at, ST_ERR_PARSE, "unknown element type '" STR_FMT "'", STR_ARG(word));
	TRY(hlo_expect(r, '['));
	int64_t dims[MAX_RANK];
	while (*r->lex.p != ']') {
		if (s.rank == MAX_RANK)
			return hlo_error(r, r->lex.p, ST_ERR_LIMIT, "more than %d dims", MAX_RANK);
		if (r->lex.p[0] == '<' && r->lex.p[1] == '=')
			r->lex.p += 2;
		const char *dim = r->lex.p;
		if (*dim == '?') {
			r->lex.p++;
			dims[s.rank] = 0;
		} else {
			TRY(hlo_number(r, &dims[s.rank]));
			if (dims[s.rank] < 0)
				return hlo_error(r, dim, ST_ERR_INVALID, "a dim is negative");
		}
		s.elements = sat_mul(s.elements, dims[s.rank++]);
		if (!hlo_take(r, ','))
			break;
	}
	TRY(hlo_expect(r, ']'));
	layout l = {0};
	if (*r->lex.p == '{')
		TRY(read_layout(r, s.rank, &l));
	if (token || opaque) {
		s.kind = token ? HLO_TOKEN : HLO_OPAQUE;
		s.elements = 0;
	} else {
		int64_t bits = l.bits ? l.bits : MAX(elem_bits((elem)s.elem), 8);
		s.plain_bytes = bytes_of(s.elements, bits);
		s.bytes = l.n_tiles ? bytes_of(padded_elements(dims, s.rank, &l), bits) : s.plain_bytes;
	}
	s.space = (uint8_t)l.space;
	s.minor = minor_of(dims, s.rank, &l);
	s.dims = m->numbers.n;
	for (uint32_t i = 0; i < s.rank; i++)
		vec_push(&m->numbers, dims[i]);
	*out = add_shape(m, s);
	return ST_OK;
}

hlo_shape_id hlo_make_tuple(hlo_module *m, const uint32_t *children, uint32_t n)
{
	hlo_shape s = {.kind = HLO_TUPLE, .children = m->parts.n, .n_children = n};
	for (uint32_t i = 0; i < n; i++)
		vec_push(&m->parts, children[i]);
	s.leaves = m->parts.n;
	for (uint32_t i = 0; i < n; i++) {
		hlo_shape child = m->shapes.p[m->parts.p[s.children + i]];
		for (uint32_t k = 0; k < child.n_leaves; k++) {
			hlo_shape_id leaf = m->parts.p[child.leaves + k];
			vec_push(&m->parts, leaf);
		}
		s.n_leaves += child.n_leaves;
		s.bytes = sat_add(s.bytes, child.bytes);
		s.plain_bytes = sat_add(s.plain_bytes, child.plain_bytes);
	}
	return add_shape(m, s);
}

static status read_tuple(hlo_reader *r, hlo_shape_id *out)
{
	uint32_t base = r->stack.n;
	TRY(lex_enter(&r->lex));
	r->lex.p++;
	hlo_skip(r);
	while (*r->lex.p != ')') {
		hlo_shape_id child;
		TRY(hlo_read_shape(r, &child));
		vec_push(&r->stack, child);
		if (!hlo_take(r, ','))
			break;
		hlo_skip(r);
	}
	TRY(hlo_expect(r, ')'));
	lex_leave(&r->lex);
	*out = hlo_make_tuple(r->m, r->stack.p + base, r->stack.n - base);
	r->stack.n = base;
	return ST_OK;
}

status hlo_read_shape(hlo_reader *r, hlo_shape_id *out)
{
	hlo_skip(r);
	const char *from = r->lex.p, *to = span_end(from);
	uint64_t hash = 0;
	str text = {from, to ? (size_t)(to - from) : 0};
	if (to) {
		hash = hash_bytes(from, text.n, 0);
		uint32_t id;
		for (uint32_t it = index_first(&r->shapes, hash); index_next(&r->shapes, hash, &it, &id);)
			if (str_equal(r->shape_texts.p[id].text, text)) {
				r->lex.p = to;
				*out = r->shape_texts.p[id].shape;
				return ST_OK;
			}
	}
	TRY(*from == '(' ? read_tuple(r, out) : read_array(r, out));
	if (r->lex.p == to) {
		index_add(&r->shapes, hash, r->shape_texts.n);
		vec_push(&r->shape_texts, (struct hlo_known){text, *out});
	}
	return ST_OK;
}

uint32_t hlo_child_leaf(const hlo_module *m, const hlo_shape *s, uint32_t k)
{
	uint32_t leaf = 0;
	for (uint32_t i = 0; i < k && i < s->n_children; i++)
		leaf += m->shapes.p[m->parts.p[s->children + i]].n_leaves;
	return leaf;
}

bool hlo_shapes_compatible(const hlo_module *m, hlo_shape_id a, hlo_shape_id b)
{
	if (a == b)
		return true;
	const hlo_shape *x = &m->shapes.p[a], *y = &m->shapes.p[b];
	if (x->kind != y->kind || x->elem != y->elem || x->rank != y->rank ||
		x->n_children != y->n_children || x->n_leaves != y->n_leaves)
		return false;
	if (x->rank &&
		memcmp(m->numbers.p + x->dims, m->numbers.p + y->dims, x->rank * sizeof *m->numbers.p))
		return false;
	for (uint32_t i = 0; i < x->n_children; i++)
		if (!hlo_shapes_compatible(m, m->parts.p[x->children + i], m->parts.p[y->children + i]))
			return false;
	return true;
}
