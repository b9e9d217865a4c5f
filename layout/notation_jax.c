#include "layout/pieces.h"

static status parse_axis(sharding_table *t, scan *s, mesh_id m, axes_buf *out)
{
	str name;
	scan_peek(s);
	size_t at = s->at;
	TRY(scan_string(s, "an axis name", &name));
	uint32_t axis = mesh_axis_find(t, m, name);
	if (axis == ID_NONE)
		return scan_fail(
			s, at, ST_ERR_INVALID, "unknown axis name: \"" STR_FMT "\"", STR_ARG(name));
	if (out->n == MAX_TENSOR_AXES)
		return scan_fail(s, at, ST_ERR_LIMIT, "more than %d axes", MAX_TENSOR_AXES);
	out->a[out->n++] = mesh_full_axis(t, m, axis);
	return ST_OK;
}

/* Axis names up to the closing bracket; a comma may stand before it. */
static status parse_axes(sharding_table *t, scan *s, mesh_id m, char close, axes_buf *out)
{
	while (!scan_take(s, close)) {
		TRY(parse_axis(t, s, m, out));
		if (!scan_take(s, ',') && scan_peek(s) != close)
			return scan_expect(s, close, "after the axis names");
	}
	return ST_OK;
}

static status parse_keyword(sharding_table *t, scan *s, str word, size_t at, sharding_edit *e)
{
	if (!str_is(word, "unreduced"))
		return scan_fail(s, at, str_is(word, "reduced") ? ST_ERR_UNSUPPORTED : ST_ERR_PARSE,
			"expected None, an axis name, a tuple of them, UNCONSTRAINED or unreduced={..}");
	TRY(scan_expect(s, '=', "after unreduced"));
	TRY(scan_expect(s, '{', "before the unreduced axes"));
	TRY(parse_axes(t, s, e->mesh, '}', &e->unreduced));
	axes_sort_merge(&e->unreduced);
	return ST_OK;
}

static status parse_dim(sharding_table *t, scan *s, uint32_t dim, sharding_edit *e, bool *keyword)
{
	char c = scan_peek(s);
	size_t at = s->at;
	axes_buf ignored = {.n = 0}, *list = dim < e->rank ? &e->dims[dim].axes : &ignored;
	if (c == '\'' || c == '"') {
		TRY(parse_axis(t, s, e->mesh, list));
	} else if (c == '(' || c == '[') {
		s->at++;
		TRY(parse_axes(t, s, e->mesh, c == '(' ? ')' : ']', list));
	} else {
		str word = scan_last_word(s);
		if (str_is(word, "UNCONSTRAINED") && dim < e->rank) {
			e->dims[dim].closed = false;
		} else if (!str_is(word, "None") && !str_is(word, "UNCONSTRAINED")) {
			*keyword = true;
			return parse_keyword(t, s, word, at, e);
		}
	}
	if (dim >= e->rank)
		return scan_fail(s, at, ST_ERR_INVALID,
			"the spec has more entries than the tensor has dimensions (%u)", e->rank);
	return ST_OK;
}

status jax_parse(sharding_table *t, scan *s, tensor_spec *out)
{
	sharding_edit *e = &out->e;
	scan_peek(s);
	size_t at = s->at;
	str word = scan_last_word(s);
	uint32_t dim = 0;
	bool keyword = false;
	if (!str_is(word, "PartitionSpec") && !str_is(word, "P"))
		return scan_fail(s, at, ST_ERR_PARSE, "expected PartitionSpec(..)");
	TRY(scan_expect(s, '(', "after PartitionSpec"));
	while (!scan_take(s, ')')) {
		scan_peek(s);
		if (keyword)
			return scan_fail(s, s->at, ST_ERR_PARSE, "nothing may follow unreduced={..}");
		TRY(parse_dim(t, s, dim++, e, &keyword));
		if (!scan_take(s, ',') && scan_peek(s) != ')')
			return scan_expect(s, ')', "after the entries");
	}
	return ST_OK;
}

static void print_name(const sharding_table *t, mesh_id m, axis_ref a, strbuf *out)
{
	str name = strtab_get(&t->names, t->meshes.p[m].axis_names[axis_index(a)]);
	char quote = name.n && memchr(name.p, '\'', name.n) ? '"' : '\'';
	strbuf_putc(out, quote);
	strbuf_str(out, name);
	strbuf_putc(out, quote);
}

static void print_names(const sharding_table *t, mesh_id m, const axes_buf *l, strbuf *out)
{
	for (uint32_t i = 0; i < l->n; i++) {
		if (i)
			strbuf_puts(out, ", ");
		print_name(t, m, l->a[i], out);
	}
}

status jax_print(const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d)
{
	const sharding_edit *e = &s->e;
	TRY(refuse_beyond(t, s, "jax", (vocabulary){.open = true, .unreduced = true}, d));
	for (uint32_t i = 0; i < e->rank; i++)
		if (!e->dims[i].closed && e->dims[i].axes.n)
			return diag_set(d, ST_ERR_UNSUPPORTED,
				"cannot be expressed in jax: dimension %u has axes and is open to more", i);
	strbuf_puts(out, "PartitionSpec(");
	for (uint32_t i = 0; i < e->rank; i++) {
		const axes_buf *l = &e->dims[i].axes;
		if (i)
			strbuf_puts(out, ", ");
		if (l->n == 0)
			strbuf_puts(out, e->dims[i].closed ? "None" : "PartitionSpec.UNCONSTRAINED");
		if (l->n > 1)
			strbuf_putc(out, '(');
		print_names(t, e->mesh, l, out);
		if (l->n > 1)
			strbuf_putc(out, ')');
	}
	if (e->unreduced.n) {
		strbuf_puts(out, e->rank ? ", unreduced={" : "unreduced={");
		print_names(t, e->mesh, &e->unreduced, out);
		strbuf_putc(out, '}');
	}
	strbuf_putc(out, ')');
	return ST_OK;
}
