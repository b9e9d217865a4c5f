#include "ir/ir.h"

#include <stdlib.h>

attr_id attr_new(module *m, const attr *a)
{
	vec_push(&m->attrs, *a);
	return m->attrs.n - 1;
}

attr_id attr_int(module *m, int64_t v, const char *type_text)
{
	elem e = elem_find(str_of(type_text));
	return attr_new(m, &(attr){.kind = ATTR_INT, .i = v, .type = type_bare(m, e)});
}

attr_id attr_ints(module *m, const int64_t *v, uint32_t n)
{
	int64_t *copy = arena_array(&m->mem, int64_t, n);
	if (n)
		memcpy(copy, v, n * sizeof *v);
	return attr_new(
		m, &(attr){.kind = ATTR_INTS, .type = type_bare(m, ELEM_I64), .n = n, .ints = copy});
}

attr_id attr_string(module *m, str s)
{
	return attr_new(m,
		&(attr){
			.kind = ATTR_STRING, .type = ID_NONE, .text = {arena_strdup(&m->mem, s.p, s.n), s.n}});
}

attr_id attr_shardings(module *m, const sharding_id *ids, uint32_t n)
{
	sharding_id *copy = arena_array(&m->mem, sharding_id, n);
	if (n)
		memcpy(copy, ids, n * sizeof *ids);
	return attr_new(m, &(attr){.kind = ATTR_SHARDINGS, .type = ID_NONE, .n = n, .shardings = copy});
}

attr_id attr_axis_names(module *m, mesh_id mesh, uint32_t which)
{
	const device_mesh *of = &m->shardings->meshes.p[mesh];
	named_attr *names = arena_array(&m->mem, named_attr, of->n_axes);
	uint32_t n = 0;
	for (uint32_t i = 0; i < of->n_axes; i++)
		if (which >> i & 1)
			names[n++] = (named_attr){
				0, attr_string(m, strtab_get(&m->shardings->names, of->axis_names[i]))};
	return attr_new(m, &(attr){.kind = ATTR_ARRAY, .type = ID_NONE, .n = n, .children = names});
}

attr_id attr_unit(module *m) { return attr_new(m, &(attr){.kind = ATTR_UNIT, .type = ID_NONE}); }

static uint32_t find_named(const module *m, const named_attr *list, uint32_t n, str name)
{
	for (uint32_t i = 0; i < n; i++)
		if (str_equal(strtab_get(&m->strs, list[i].name), name))
			return i;
	return ID_NONE;
}

static attr_id op_attr_str(const module *m, op_id o, str name)
{
	const ir_op *op = op_at(m, o);
	if (!op->n_attrs)
		return ID_NONE;
	uint32_t i = find_named(m, m->op_attrs.p + op->first_attr, op->n_attrs, name);
	return i == ID_NONE ? ID_NONE : m->op_attrs.p[op->first_attr + i].value;
}

attr_id op_attr(const module *m, op_id o, const char *name)
{
	return op_attr_str(m, o, str_of(name));
}

void op_attr_set(module *m, op_id o, const char *name, attr_id value)
{
	ir_op *op = op_get(m, o);
	str key = str_of(name);
	uint32_t i =
		op->n_attrs ? find_named(m, m->op_attrs.p + op->first_attr, op->n_attrs, key) : ID_NONE;
	if (i != ID_NONE) {
		m->op_attrs.p[op->first_attr + i].value = value;
		return;
	}
	/* Ranges have no spare room: the list moves to the end, unless it is there already. */
	if (op->first_attr + op->n_attrs != m->op_attrs.n || op->n_attrs == 0) {
		uint32_t first = m->op_attrs.n;
		vec_reserve(&m->op_attrs, first + op->n_attrs + 1);
		if (op->n_attrs)
			memcpy(m->op_attrs.p + first, m->op_attrs.p + op->first_attr,
				op->n_attrs * sizeof *m->op_attrs.p);
		m->op_attrs.n += op->n_attrs;
		op->first_attr = first;
	}
	vec_push(&m->op_attrs, (named_attr){strtab_add(&m->strs, key), value});
	op->n_attrs++;
}

void op_attr_remove(module *m, op_id o, const char *name)
{
	ir_op *op = op_get(m, o);
	named_attr *list = m->op_attrs.p + op->first_attr;
	uint32_t i = op->n_attrs ? find_named(m, list, op->n_attrs, str_of(name)) : ID_NONE;
	if (i == ID_NONE)
		return;
	memmove(list + i, list + i + 1, (op->n_attrs - i - 1) * sizeof *list);
	op->n_attrs--;
}

static attr_id attr_child_str(const module *m, attr_id a, str name)
{
	const attr *at = attr_get(m, a);
	if ((at->kind != ATTR_DICT && at->kind != ATTR_STRUCT) || !at->n)
		return ID_NONE;
	uint32_t i = find_named(m, at->children, at->n, name);
	return i == ID_NONE ? ID_NONE : at->children[i].value;
}

attr_id attr_child(const module *m, attr_id a, const char *name)
{
	return a == ID_NONE ? ID_NONE : attr_child_str(m, a, str_of(name));
}

/* "a.b": attribute a of the op, child b. Names of discardable attributes have dots themselves, so
 * the whole path is tried as a name first. */
static attr_id op_attr_path(const module *m, op_id o, const char *path)
{
	str rest = str_of(path);
	attr_id a = op_attr_str(m, o, rest);
	const char *dot = a == ID_NONE ? memchr(rest.p, '.', rest.n) : NULL;
	if (!dot)
		return a;
	a = op_attr_str(m, o, (str){rest.p, (size_t)(dot - rest.p)});
	while (a != ID_NONE && dot) {
		rest = (str){dot + 1, rest.n - (size_t)(dot + 1 - rest.p)};
		dot = memchr(rest.p, '.', rest.n);
		a = attr_child_str(m, a, (str){rest.p, dot ? (size_t)(dot - rest.p) : rest.n});
	}
	return a;
}

const int64_t *attr_int_list(const module *m, attr_id a, uint32_t *n)
{
	*n = 0;
	if (a == ID_NONE)
		return NULL;
	const attr *at = attr_get(m, a);
	switch ((attr_kind)at->kind) {
	case ATTR_INT:
	case ATTR_BOOL: *n = 1; return &at->i;
	case ATTR_INTS: *n = at->n; return at->ints;
	case ATTR_ARRAY: *n = at->ints ? at->n : 0; return at->ints;
	case ATTR_DENSE:
		if (!at->ints)
			return NULL;
		*n = (uint32_t)type_get(m, at->type)->elements;
		return at->ints;
	default: return NULL;
	}
}

attr_id attr_offer_donation(module *m, attr_id dict)
{
	const attr *old = attr_get(m, dict);
	uint32_t n = old->n;
	named_attr *children = arena_array(&m->mem, named_attr, n);
	memcpy(children, old->children, n * sizeof *children);
	str_id alias = strtab_add(&m->strs, STR("tf.aliasing_output")),
		   donor = strtab_add(&m->strs, STR("jax.buffer_donor"));
	attr_id yes = attr_new(m, &(attr){.kind = ATTR_BOOL, .type = ID_NONE, .i = 1});
	for (uint32_t i = 0; i < n; i++)
		if (children[i].name == alias)
			children[i] = (named_attr){donor, yes};
	return attr_new(m, &(attr){.kind = ATTR_DICT, .type = ID_NONE, .n = n, .children = children});
}

const int64_t *op_ints(const module *m, op_id o, const char *path, uint32_t *n)
{
	return attr_int_list(m, op_attr_path(m, o, path), n);
}

int64_t op_int(const module *m, op_id o, const char *path, int64_t absent)
{
	uint32_t n;
	const int64_t *v = op_ints(m, o, path, &n);
	return n ? v[0] : absent;
}

str op_text(const module *m, op_id o, const char *path)
{
	attr_id a = op_attr_path(m, o, path);
	if (a == ID_NONE)
		return (str){"", 0};
	const attr *at = attr_get(m, a);
	return at->kind == ATTR_ENUM                             ? at->word
		: at->kind == ATTR_STRING || at->kind == ATTR_SYMBOL ? at->text
															 : (str){"", 0};
}

/* One integer or truth value; *p ends after it. */
static bool scan_int(const char **p, const char *end, int64_t *out)
{
	const char *s = *p;
	if (end - s >= 4 && !memcmp(s, "true", 4)) {
		*p = s + 4;
		*out = 1;
		return true;
	}
	if (end - s >= 5 && !memcmp(s, "false", 5)) {
		*p = s + 5;
		*out = 0;
		return true;
	}
	bool negative = s < end && *s == '-';
	s += negative;
	uint64_t v = 0;
	const char *first = s;
	while (s < end && *s >= '0' && *s <= '9')
		if (__builtin_mul_overflow(v, 10u, &v) ||
			__builtin_add_overflow(v, (uint64_t)(*s++ - '0'), &v))
			return false;
	if (s == first || (s < end && (*s == 'x' || *s == '.' || *s == 'e')))
		return false;
	if (!negative && v > INT64_MAX)
		v = INT64_MAX; /* ui64 beyond the range: only its being large matters */
	if (negative && v > (uint64_t)INT64_MAX + 1)
		return false;
	*out = negative ? (int64_t)(0 - v) : (int64_t)v;
	*p = s;
	return true;
}

/* Little-endian elements of a "0x.." literal. */
static bool hex_ints(str hex, int bits, int64_t n, int64_t *out)
{
	int bytes = bits / 8;
	if (bytes < 1 || bytes > 8 || hex.n < 2 || (hex.n - 2) % (2 * (size_t)bytes) ||
		(int64_t)((hex.n - 2) / (2 * (size_t)bytes)) != n)
		return false;
	const char *p = hex.p + 2;
	for (int64_t i = 0; i < n; i++) {
		uint64_t v = 0;
		for (int b = 0; b < bytes; b++, p += 2) {
			uint64_t byte = 0;
			for (int k = 0; k < 2; k++) {
				char c = p[k];
				int digit = c >= '0' && c <= '9' ? c - '0'
					: c >= 'a' && c <= 'f'       ? c - 'a' + 10
					: c >= 'A' && c <= 'F'       ? c - 'A' + 10
												 : -1;
				if (digit < 0)
					return false;
				byte = byte << 4 | (uint64_t)digit;
			}
			v |= byte << (8 * b);
		}
		int shift = 64 - bits;
		out[i] = (int64_t)(v << shift) >> shift;
	}
	return true;
}

const int64_t *attr_dense_ints(arena *mem, const ir_type *t, const attr *a)
{
	if (a->kind != ATTR_DENSE || t->kind != TYPE_TENSOR || t->dynamic || !elem_is_int(t->elem) ||
		t->elements > MAX_OPERANDS)
		return NULL;
	int64_t *out = arena_array(mem, int64_t, MAX(t->elements, 1));
	const char *p = a->text.p, *end = p + a->text.n;
	if (a->text.n > 2 && *p == '"')
		return hex_ints((str){p + 1, a->text.n - 2}, elem_bits(t->elem), t->elements, out) ? out
																						   : NULL;
	if (a->splat) {
		int64_t v;
		if (!scan_int(&p, end, &v))
			return NULL;
		for (int64_t i = 0; i < t->elements; i++)
			out[i] = v;
		return out;
	}
	int64_t n = 0;
	while (p < end) {
		if (*p == '[' || *p == ']' || *p == ',' || *p == ' ' || *p == '\n' || *p == '\t' ||
			*p == '\r')
			p++;
		else if (n == t->elements || !scan_int(&p, end, &out[n++]))
			return NULL;
	}
	return n == t->elements ? out : NULL;
}

bool op_constant_int(const module *m, op_id o, int64_t *out)
{
	const ir_op *op = op_at(m, o);
	if (op->kind != OP_CONSTANT && op->kind != OP_SDY_CONSTANT)
		return false;
	attr_id id = op_attr(m, o, "value");
	if (id == ID_NONE)
		return false;
	const attr *a = attr_get(m, id);
	if (a->kind != ATTR_DENSE || a->type == ID_NONE)
		return false;
	const ir_type *t = type_get(m, a->type);
	if (t->kind != TYPE_TENSOR || !elem_is_int(t->elem) || t->elements == 0)
		return false;
	const char *p = a->text.p, *end = p + a->text.n;
	if (a->splat)
		return scan_int(&p, end, out) && p == end;
	if (t->elements != 1)
		return false;
	while (p < end && (*p == '[' || *p == ' '))
		p++;
	return scan_int(&p, end, out);
}

static const struct {
	const char *name, *mnemonic;
} collective_axes[OP_COUNT] = {
	[OP_SDY_ALL_GATHER] = {"gathering_axes", "list_of_axis_ref_lists"},
	[OP_SDY_ALL_SLICE] = {"slicing_axes", "list_of_axis_ref_lists"},
	[OP_SDY_ALL_TO_ALL] = {"params", "all_to_all_param_list"},
	[OP_SDY_ALL_REDUCE] = {"reduction_axes", "axis_ref_list"},
	[OP_SDY_REDUCE_SCATTER] = {"reduce_scatter_axes", "list_of_axis_ref_lists"},
	[OP_SDY_SHARDED_TO_UNREDUCED] = {"axes", "list_of_axis_ref_lists"},
	[OP_SDY_REPLICATED_TO_UNREDUCED] = {"axes", "axis_ref_list"},
};

const char *collective_axes_name(op_kind k) { return collective_axes[k].name; }

attr_id attr_collective_axes(module *m, op_kind k, str names)
{
	strbuf text;
	strbuf_init(&text);
	strbuf_printf(&text, "#sdy<%s" STR_FMT ">", collective_axes[k].mnemonic, STR_ARG(names));
	char *whole = arena_strdup(&m->mem, text.p, text.n);
	attr_id a = attr_new(m,
		&(attr){.kind = ATTR_ENUM,
			.type = ID_NONE,
			.text = {whole, text.n},
			.word = {whole + text.n - 1 - names.n, names.n}});
	strbuf_release(&text);
	return a;
}

precision op_precision(const module *m, op_id o)
{
	attr_id a = op_attr(m, o, "precision_config");
	if (a == ID_NONE)
		return PRECISION_DEFAULT;
	const attr *list = attr_get(m, a);
	precision best = PRECISION_DEFAULT;
	for (uint32_t i = 0; list->kind == ATTR_ARRAY && i < list->n; i++) {
		str word = attr_get(m, list->children[i].value)->word;
		precision p = str_is(word, "HIGHEST") ? PRECISION_HIGHEST
			: str_is(word, "HIGH")            ? PRECISION_HIGH
											  : PRECISION_DEFAULT;
		best = MAX(best, p);
	}
	return best;
}

/* ---------------------------------------------------------------- equal attributes */

bool attr_equal(const module *m, attr_id ia, attr_id ib)
{
	if (ia == ib)
		return true;
	if (ia == ID_NONE || ib == ID_NONE)
		return false;
	const attr *a = attr_get(m, ia), *b = attr_get(m, ib);
	if (a->kind != b->kind || a->type != b->type || a->i != b->i || a->n != b->n ||
		a->splat != b->splat || !str_equal(a->text, b->text) || !str_equal(a->word, b->word))
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		if (a->children &&
			(a->children[i].name != b->children[i].name ||
				!attr_equal(m, a->children[i].value, b->children[i].value)))
			return false;
		if ((a->ints && a->ints[i] != b->ints[i]) ||
			(a->shardings && a->shardings[i] != b->shardings[i]))
			return false;
	}
	return true;
}

uint64_t attr_hash(const module *m, attr_id id)
{
	const attr *a = attr_get(m, id);
	uint64_t h = hash_bytes(
		a->text.p, a->text.n, hash_combine((uint64_t)a->kind << 32 | a->type, (uint64_t)a->i));
	for (uint32_t i = 0; i < a->n; i++) {
		if (a->children)
			h = hash_combine(h, attr_hash(m, a->children[i].value));
		if (a->ints)
			h = hash_combine(h, (uint64_t)a->ints[i]);
	}
	return h;
}

bool attrs_equal(const module *m, op_id oa, op_id ob)
{
	const ir_op *a = op_at(m, oa), *b = op_at(m, ob);
	if (a->n_attrs != b->n_attrs)
		return false;
	for (uint32_t i = 0; i < a->n_attrs; i++) {
		const named_attr *x = &m->op_attrs.p[a->first_attr + i];
		attr_id other = ID_NONE;
		for (uint32_t k = 0; k < b->n_attrs; k++)
			if (m->op_attrs.p[b->first_attr + k].name == x->name)
				other = m->op_attrs.p[b->first_attr + k].value;
		if (!attr_equal(m, x->value, other))
			return false;
	}
	return true;
}
