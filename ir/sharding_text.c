#include "ir/ir.h"
#include "ir/sharding_fault.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- scanning */

struct scan {
	sharding_table *t;
	str text;
	size_t at;
	diag *d;
	uint32_t n_refs;                /* axis references read, in the order of the text */
	size_t ref_at[MAX_TENSOR_AXES]; /* and where each was */
};

static status scan_error(struct scan *s, size_t at, status code, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
static status scan_error(struct scan *s, size_t at, status code, const char *fmt, ...)
{
	char msg[384];
	va_list args;
	va_start(args, fmt);
	vsnprintf(msg, sizeof msg, fmt, args);
	va_end(args);
	return diag_at(s->d, s->text.p, s->text.n, at, code, "%s", msg);
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
		c == '$' || c == '.' || c == '-';
}

static char peek(struct scan *s)
{
	while (s->at < s->text.n && is_space(s->text.p[s->at]))
		s->at++;
	return s->at < s->text.n ? s->text.p[s->at] : 0;
}

static bool take(struct scan *s, char c)
{
	if (peek(s) != c)
		return false;
	s->at++;
	return true;
}

static status expect(struct scan *s, char c, const char *where)
{
	if (take(s, c))
		return ST_OK;
	if (s->at >= s->text.n)
		return scan_error(s, s->at, ST_ERR_PARSE, "expected '%c' %s, found the end", c, where);
	return scan_error(
		s, s->at, ST_ERR_PARSE, "expected '%c' %s, found '%c'", c, where, s->text.p[s->at]);
}

static str take_word(struct scan *s)
{
	peek(s);
	size_t from = s->at;
	while (s->at < s->text.n && is_word(s->text.p[s->at]))
		s->at++;
	return (str){s->text.p + from, s->at - from};
}

/* Text between quotes, escapes kept as they are. */
static status take_string(struct scan *s, const char *what, str *out)
{
	if (!take(s, '"'))
		return scan_error(s, s->at, ST_ERR_PARSE, "expected %s in quotes", what);
	size_t from = s->at;
	while (s->at < s->text.n && s->text.p[s->at] != '"')
		s->at += s->text.p[s->at] == '\\' ? 2 : 1;
	if (s->at >= s->text.n) {
		s->at = s->text.n;
		return scan_error(s, from - 1, ST_ERR_PARSE, "%s has no closing quote", what);
	}
	*out = (str){s->text.p + from, s->at - from};
	s->at++;
	return ST_OK;
}

static status take_int(struct scan *s, const char *what, int64_t *out)
{
	peek(s);
	size_t from = s->at;
	while (s->at < s->text.n && is_digit(s->text.p[s->at]))
		s->at++;
	if (!str_to_i64((str){s->text.p + from, s->at - from}, out))
		return scan_error(s, from, ST_ERR_PARSE, "expected %s, a whole number", what);
	return ST_OK;
}

static status expect_end(struct scan *s)
{
	if (peek(s) || s->at < s->text.n)
		return scan_error(s, s->at, ST_ERR_PARSE, "expected the end, found '%c'", s->text.p[s->at]);
	return ST_OK;
}

/* ---------------------------------------------------------------- meshes */

/* device_ids=[..] behind its comma */
static status scan_device_ids(struct scan *s, device_mesh *m, int64_t **ids)
{
	VEC(int64_t) list = {0};
	status r = ST_OK;
	if (!str_is(take_word(s), "device_ids"))
		return scan_error(s, s->at, ST_ERR_PARSE, "expected device_ids=[..]");
	TRY(expect(s, '=', "after device_ids"));
	TRY(expect(s, '[', "before the device ids"));
	do {
		int64_t id;
		r = take_int(s, "a device id", &id);
		if (r != ST_OK)
			break;
		if (list.n == MAX_DEVICES) {
			r = scan_error(s, s->at, ST_ERR_LIMIT, "more than %d device ids", MAX_DEVICES);
			break;
		}
		vec_push(&list, id);
	} while (take(s, ','));
	if (r == ST_OK)
		r = expect(s, ']', "after the device ids");
	*ids = list.p;
	m->device_ids = list.p;
	m->n_device_ids = list.n;
	return r;
}

static status scan_mesh_axes(
	struct scan *s, device_mesh *m, str_id *names, int64_t *sizes, size_t *offsets)
{
	TRY(expect(s, '<', "before the mesh"));
	TRY(expect(s, '[', "before the mesh axes"));
	if (take(s, ']'))
		return ST_OK;
	do {
		str name;
		peek(s);
		if (m->n_axes > MAX_MESH_AXES)
			break;
		offsets[m->n_axes] = s->at;
		TRY(take_string(s, "an axis name", &name));
		TRY(expect(s, '=', "after the axis name"));
		TRY(take_int(s, "the axis size", &sizes[m->n_axes]));
		names[m->n_axes++] = strtab_add(&s->t->names, name);
	} while (take(s, ','));
	if (m->n_axes > MAX_MESH_AXES)
		return ST_OK; /* mesh_check names the limit */
	return expect(s, ']', "after the mesh axes");
}

static status scan_mesh(struct scan *s, str name, mesh_id *out)
{
	str_id names[MAX_MESH_AXES + 1];
	int64_t sizes[MAX_MESH_AXES + 1], *ids = NULL;
	size_t offsets[MAX_MESH_AXES + 1], start = s->at;
	device_mesh m = {
		.name = strtab_add(&s->t->names, name), .axis_names = names, .axis_sizes = sizes};
	TRY(scan_mesh_axes(s, &m, names, sizes, offsets));
	status r = ST_OK;
	if (m.n_axes <= MAX_MESH_AXES && take(s, ','))
		r = scan_device_ids(s, &m, &ids);
	if (r == ST_OK) {
		char msg[256];
		uint32_t bad;
		status c = mesh_check(s->t, &m, &bad, msg, sizeof msg);
		if (c != ST_OK)
			r = scan_error(s, bad == ID_NONE ? start : offsets[bad], c, "%s", msg);
	}
	if (r == ST_OK)
		r = expect(s, '>', "after the mesh");
	if (r == ST_OK)
		*out = mesh_intern(s->t, &m);
	free(ids);
	return r;
}

status mesh_parse(sharding_table *t, str text, str name, mesh_id *out, diag *d)
{
	struct scan s = {.t = t, .text = text, .d = d};
	mesh_id m;
	TRY(scan_mesh(&s, name, &m));
	TRY(expect_end(&s));
	*out = m;
	return ST_OK;
}

/* ---------------------------------------------------------------- shardings */

/* (PRE)SIZE behind "axis": */
static status scan_sub_axis(
	struct scan *s, size_t start, uint32_t axis, int64_t full, axis_ref *out)
{
	int64_t pre, size, next;
	TRY(expect(s, '(', "before the sub-axis pre-size"));
	TRY(take_int(s, "the sub-axis pre-size", &pre));
	TRY(expect(s, ')', "after the sub-axis pre-size"));
	TRY(take_int(s, "the sub-axis size", &size));
	str text = {s->text.p + start, s->at - start};
	if (pre < 1)
		return scan_error(s, start, ST_ERR_INVALID,
			"sub-axis pre-size must be at least 1: " STR_FMT, STR_ARG(text));
	if (size <= 1)
		return scan_error(s, start, ST_ERR_INVALID,
			"sub-axis sizes must be greater than 1: " STR_FMT, STR_ARG(text));
	if (!mul_i64(pre, size, &next) || full % next)
		return scan_error(s, start, ST_ERR_INVALID,
			"sub-axis doesn't divide the size of the full axis %lld: " STR_FMT, (long long)full,
			STR_ARG(text));
	if (size == full)
		return scan_error(s, start, ST_ERR_INVALID,
			"sub-axis size is equal to the full axis size: " STR_FMT, STR_ARG(text));
	*out = axis_make(axis, pre, size);
	return ST_OK;
}

static status scan_axis(struct scan *s, mesh_id m, axes_buf *l)
{
	str name;
	peek(s);
	size_t start = s->at;
	TRY(take_string(s, "an axis name", &name));
	if (s->n_refs == MAX_TENSOR_AXES)
		return scan_error(s, start, ST_ERR_LIMIT,
			"axis \"" STR_FMT "\" is one too many: a sharding has at most %d axes", STR_ARG(name),
			MAX_TENSOR_AXES);
	uint32_t axis = mesh_axis_find(s->t, m, name);
	if (axis == ID_NONE)
		return scan_error(
			s, start, ST_ERR_INVALID, "unknown axis name: \"" STR_FMT "\"", STR_ARG(name));
	axis_ref ref = mesh_full_axis(s->t, m, axis);
	if (take(s, ':'))
		TRY(scan_sub_axis(s, start, axis, axis_size(ref), &ref));
	s->ref_at[s->n_refs++] = start;
	l->a[l->n++] = ref;
	return ST_OK;
}

/* { axis,* (, ?)? }; open is NULL where ? has no place, and there may not be nothing */
static status scan_axes(struct scan *s, mesh_id m, axes_buf *l, bool *open)
{
	TRY(expect(s, '{', "before the axes"));
	if (open && take(s, '}'))
		return ST_OK;
	do {
		if (open && take(s, '?')) {
			*open = true;
			break;
		}
		TRY(scan_axis(s, m, l));
	} while (take(s, ','));
	return expect(s, '}', "after the axes");
}

static status scan_priority(struct scan *s, int16_t *out)
{
	bool given = peek(s) == 'p';
	size_t start = s->at;
	if (!given)
		return ST_OK;
	s->at++;
	size_t digits = s->at;
	int64_t v;
	if (s->at >= s->text.n || !is_digit(s->text.p[s->at]))
		return scan_error(s, start, ST_ERR_PARSE, "expected a priority, a whole number behind 'p'");
	TRY(take_int(s, "a priority", &v));
	if (s->at - digits > 1 && s->text.p[digits] == '0')
		return scan_error(s, start, ST_ERR_PARSE, "a priority has no leading zeros");
	if (v > INT16_MAX)
		return scan_error(
			s, start, ST_ERR_LIMIT, "priority %lld is above %d", (long long)v, INT16_MAX);
	*out = (int16_t)v;
	return ST_OK;
}

static status scan_dims(struct scan *s, sharding_edit *e)
{
	TRY(expect(s, '[', "before the dimension shardings"));
	if (take(s, ']'))
		return ST_OK;
	do {
		if (e->rank == MAX_RANK)
			return scan_error(s, s->at, ST_ERR_LIMIT, "more than %d dimension shardings", MAX_RANK);
		uint32_t d = e->rank++;
		bool open = false;
		e->dims[d].axes.n = 0;
		e->dims[d].priority = -1;
		TRY(scan_axes(s, e->mesh, &e->dims[d].axes, &open));
		e->dims[d].closed = !open;
		TRY(scan_priority(s, &e->dims[d].priority));
	} while (take(s, ','));
	return expect(s, ']', "after the dimension shardings");
}

/* @mesh, @"mesh" or mesh<..> */
static status scan_mesh_reference(struct scan *s, mesh_id *out)
{
	if (take(s, '@')) {
		str name;
		size_t start = s->at - 1;
		if (s->at < s->text.n && s->text.p[s->at] == '"')
			TRY(take_string(s, "a mesh name", &name));
		else
			name = take_word(s);
		*out = mesh_find(s->t, name);
		if (*out == ID_NONE)
			return scan_error(s, start, ST_ERR_INVALID, "unknown mesh: @" STR_FMT, STR_ARG(name));
		return ST_OK;
	}
	peek(s);
	size_t start = s->at;
	if (!str_is(take_word(s), "mesh"))
		return scan_error(s, start, ST_ERR_PARSE, "expected a mesh: @name or mesh<[..]>");
	return scan_mesh(s, STR(""), out);
}

/* replicated={..} and unreduced={..}, in either order, once each. The order of references in the
 * text may thus differ from the order of lists, so *unreduced_first tells which came first. */
static status scan_extras(struct scan *s, sharding_edit *e, bool *unreduced_first)
{
	bool replicated = false, unreduced = false;
	while (take(s, ',')) {
		peek(s);
		size_t start = s->at;
		str word = take_word(s);
		if (str_is(word, "replicated") && !replicated) {
			replicated = true;
			TRY(expect(s, '=', "after replicated"));
			TRY(scan_axes(s, e->mesh, &e->replicated, NULL));
		} else if (str_is(word, "unreduced") && !unreduced) {
			unreduced = true;
			*unreduced_first = !replicated;
			TRY(expect(s, '=', "after unreduced"));
			TRY(scan_axes(s, e->mesh, &e->unreduced, NULL));
		} else {
			return scan_error(
				s, start, ST_ERR_PARSE, "expected replicated={..} or unreduced={..}, once each");
		}
	}
	return ST_OK;
}

/* Offset in the text of reference number `ref`, counted in the order of lists. */
static size_t ref_offset(
	const struct scan *s, const sharding_edit *e, uint32_t ref, bool unreduced_first)
{
	if (ref >= s->n_refs)
		return 0;
	uint32_t r = e->replicated.n, u = e->unreduced.n, in_dims = s->n_refs - r - u;
	if (unreduced_first && ref >= in_dims)
		ref = ref < in_dims + r ? ref + u : ref - r;
	return s->ref_at[ref];
}

status sharding_parse(sharding_table *t, str text, sharding_edit *out, diag *d)
{
	struct scan s = {.t = t, .text = text, .d = d};
	bool unreduced_first = false;
	sharding_edit_init(out, ID_NONE, 0, true);
	TRY(expect(&s, '<', "before the sharding"));
	TRY(scan_mesh_reference(&s, &out->mesh));
	TRY(expect(&s, ',', "after the mesh"));
	TRY(scan_dims(&s, out));
	TRY(scan_extras(&s, out, &unreduced_first));
	TRY(expect(&s, '>', "after the sharding"));
	TRY(expect_end(&s));
	char msg[256];
	uint32_t ref;
	if (sharding_fault(t, out, NULL, msg, sizeof msg, &ref))
		return scan_error(&s, ref_offset(&s, out, ref, unreduced_first), ST_ERR_INVALID, "%s", msg);
	return ST_OK;
}

/* ---------------------------------------------------------------- axes of collectives */

/* `: 0->1` behind the axes of an all_to_all */
static status scan_move(struct scan *s, axes_list *l)
{
	TRY(expect(s, ':', "after the axes"));
	TRY(take_int(s, "the source dimension", &l->from));
	TRY(expect(s, '-', "before the target dimension"));
	TRY(expect(s, '>', "before the target dimension"));
	return take_int(s, "the target dimension", &l->to);
}

status axes_lists_parse(
	sharding_table *t, str text, mesh_id m, bool moves, axes_list *out, uint32_t *n, diag *d)
{
	struct scan s = {.t = t, .text = text, .d = d};
	bool one = peek(&s) == '{', open = false;
	*n = 0;
	if (!one)
		TRY(expect(&s, '[', "before the axes"));
	if (one || !take(&s, ']')) {
		do {
			if (*n == MAX_RANK)
				return scan_error(&s, s.at, ST_ERR_LIMIT, "more than %d lists of axes", MAX_RANK);
			axes_list *l = &out[(*n)++];
			l->axes.n = 0;
			TRY(scan_axes(&s, m, &l->axes, moves ? NULL : &open));
			if (open)
				return scan_error(&s, s.at, ST_ERR_PARSE, "expected axes, found '?'");
			if (moves)
				TRY(scan_move(&s, l));
		} while (!one && take(&s, ','));
		if (!one)
			TRY(expect(&s, ']', "after the axes"));
	}
	return expect_end(&s);
}

/* ---------------------------------------------------------------- printing */

void axis_print(const sharding_table *t, mesh_id m, axis_ref a, strbuf *out)
{
	const device_mesh *mesh = &t->meshes.p[m];
	assert(axis_index(a) < mesh->n_axes);
	strbuf_putc(out, '"');
	strbuf_str(out, strtab_get(&t->names, mesh->axis_names[axis_index(a)]));
	strbuf_putc(out, '"');
	if (axis_pre(a) == 1 && axis_size(a) == mesh->axis_sizes[axis_index(a)])
		return;
	strbuf_puts(out, ":(");
	strbuf_i64(out, axis_pre(a));
	strbuf_putc(out, ')');
	strbuf_i64(out, axis_size(a));
}

void mesh_print(const sharding_table *t, mesh_id id, strbuf *out)
{
	const device_mesh *m = &t->meshes.p[id];
	strbuf_puts(out, "<[");
	for (uint32_t i = 0; i < m->n_axes; i++) {
		strbuf_puts(out, i ? ", \"" : "\"");
		strbuf_str(out, strtab_get(&t->names, m->axis_names[i]));
		strbuf_puts(out, "\"=");
		strbuf_i64(out, m->axis_sizes[i]);
	}
	strbuf_putc(out, ']');
	for (uint32_t i = 0; i < m->n_device_ids; i++) {
		strbuf_puts(out, i ? ", " : ", device_ids=[");
		strbuf_i64(out, m->device_ids[i]);
	}
	strbuf_puts(out, m->n_device_ids ? "]>" : ">");
}

static void print_axes(const sharding_table *t, mesh_id m, axes l, strbuf *out)
{
	for (uint32_t i = 0; i < l.n; i++) {
		if (i)
			strbuf_puts(out, ", ");
		axis_print(t, m, l.a[i], out);
	}
}

void axes_print(const sharding_table *t, mesh_id m, axes l, strbuf *out)
{
	strbuf_putc(out, '{');
	print_axes(t, m, l, out);
	strbuf_putc(out, '}');
}

static void print_extra(const sharding_table *t, mesh_id m, const char *word, axes l, strbuf *out)
{
	if (l.n == 0)
		return;
	strbuf_printf(out, ", %s=", word);
	axes_print(t, m, l, out);
}

/* Names outside MLIR's bare identifiers stand in quotes. */
static void print_symbol(str name, strbuf *out)
{
	bool bare =
		name.n && !is_digit(name.p[0]) && name.p[0] != '-' && name.p[0] != '.' && name.p[0] != '$';
	for (size_t i = 0; i < name.n; i++)
		bare = bare && is_word(name.p[i]) && name.p[i] != '-';
	strbuf_puts(out, bare ? "@" : "@\"");
	strbuf_str(out, name);
	if (!bare)
		strbuf_putc(out, '"');
}

void sharding_print(const sharding_table *t, sharding_id id, strbuf *out)
{
	const sharding *s = sharding_get(t, id);
	assert(id != SHARDING_NONE);
	strbuf_putc(out, '<');
	if (t->meshes.p[s->mesh].name) {
		print_symbol(strtab_get(&t->names, t->meshes.p[s->mesh].name), out);
	} else {
		strbuf_puts(out, "mesh");
		mesh_print(t, s->mesh, out);
	}
	strbuf_puts(out, ", [");
	for (uint32_t d = 0; d < s->rank; d++) {
		strbuf_puts(out, d ? ", {" : "{");
		print_axes(t, s->mesh, sharding_dim(s, d), out);
		if (!s->dims[d].closed)
			strbuf_puts(out, s->dims[d].n ? ", ?" : "?");
		strbuf_putc(out, '}');
		if (s->dims[d].priority >= 0)
			strbuf_printf(out, "p%d", s->dims[d].priority);
	}
	strbuf_putc(out, ']');
	print_extra(t, s->mesh, "replicated", sharding_replicated(s), out);
	print_extra(t, s->mesh, "unreduced", sharding_unreduced(s), out);
	strbuf_putc(out, '>');
}
