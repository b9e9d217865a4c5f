/* OneFlow's SBP and PyTorch's DTensor placements: one word per mesh axis that says what that axis does to the tensor.
 * Where several axes cut one dimension the leftmost is the major one, so other orders have no words. */
#include "layout/pieces.h"

struct words {
	const char *name;                       /* of the notation */
	const char *split[3], *broadcast[3], *partial[3]; /* accepted; the first is printed */
	const char *broadcast_text, *partial_text;
};

static const struct words sbp_words = {
	"sbp", {"S", "split"}, {"B", "broadcast"}, {"P", "partial_sum"}, "B", "P",
};
static const struct words dtensor_words = {
	"dtensor", {"Shard", "S"}, {"Replicate", "R"}, {"Partial", "P"}, "Replicate()", "Partial(sum)",
};

static bool is_one_of(str s, const char *const *words)
{
	for (size_t i = 0; i < 3 && words[i]; i++)
		if (str_is(s, words[i]))
			return true;
	return false;
}

/* (0) or (dim=0), also counted from the end with a minus sign */
static status parse_split(scan *s, axis_ref axis, sharding_edit *e)
{
	int64_t dim;
	TRY(scan_expect(s, '(', "before the dimension"));
	scan_peek(s);
	size_t at = s->at;
	if (scan_word_is(s, "dim"))
		TRY(scan_expect(s, '=', "after dim"));
	bool negative = scan_take(s, '-');
	TRY(scan_int(s, "a dimension", &dim));
	if (negative ? dim < 1 || dim > e->rank : dim >= e->rank)
		return scan_fail(s, at, ST_ERR_INVALID, "dimension %s%lld of a tensor with %u dimensions", negative ? "-" : "", (long long)dim, e->rank);
	dim = negative ? e->rank - dim : dim;
	axes_buf *l = &e->dims[dim].axes;
	l->a[l->n++] = axis; /* at most one entry per mesh axis */
	return scan_expect(s, ')', "after the dimension");
}

/* Empty brackets, or with the reduction: (), (sum), ("sum"), (reduce_op=sum) */
static status parse_partial(scan *s)
{
	if (!scan_take(s, '(') || scan_take(s, ')'))
		return ST_OK;
	if (scan_word_is(s, "reduce_op"))
		TRY(scan_expect(s, '=', "after reduce_op"));
	char c = scan_peek(s);
	size_t at = s->at;
	str op;
	if (c == '"' || c == '\'')
		TRY(scan_string(s, "a reduction", &op));
	else
		op = scan_word(s);
	if (!str_is(op, "sum"))
		return scan_fail(s, at, ST_ERR_UNSUPPORTED, "partial results other than sums cannot be expressed");
	return scan_expect(s, ')', "after the reduction");
}

static status parse_word(const struct words *w, scan *s, axis_ref axis, sharding_edit *e)
{
	scan_peek(s);
	size_t at = s->at;
	str word = scan_last_word(s);
	if (is_one_of(word, w->split))
		return parse_split(s, axis, e);
	if (is_one_of(word, w->partial)) {
		e->unreduced.a[e->unreduced.n++] = axis;
		return parse_partial(s);
	}
	if (is_one_of(word, w->broadcast))
		return scan_take(s, '(') ? scan_expect(s, ')', "after the bracket") : ST_OK;
	if (str_is(word, "_StridedShard"))
		return scan_fail(s, at, ST_ERR_UNSUPPORTED, "strided shards are not supported");
	return scan_fail(s, at, ST_ERR_PARSE, "expected %s(dim), %s or %s", w->split[0], w->broadcast[0], w->partial[0]);
}

static status parse_words(const struct words *w, sharding_table *t, scan *s, sharding_edit *e)
{
	const mesh *m = &t->meshes.p[e->mesh];
	char close = scan_take(s, '[') ? ']' : scan_take(s, '(') ? ')' : 0;
	uint32_t n = 0;
	size_t at = s->at;
	if (m->maximal)
		return scan_fail(s, at, ST_ERR_UNSUPPORTED, "the mesh is a single device");
	while (close ? !scan_take(s, close) : scan_peek(s) != 0) {
		if (n == m->n_axes)
			return scan_fail(s, s->at, ST_ERR_INVALID, "more words than the mesh has axes (%u)", m->n_axes);
		TRY(parse_word(w, s, mesh_full_axis(t, e->mesh, n), e));
		n++;
		if (!scan_take(s, ',') && scan_peek(s) != close)
			return scan_expect(s, close ? close : ',', "after a word");
	}
	if (n != m->n_axes)
		return scan_fail(s, at, ST_ERR_INVALID, "%u words for a mesh of %u axes, expected one for each", n, m->n_axes);
	return ST_OK;
}

static status print_words(const struct words *w, const sharding_table *t, const sharding_edit *e, strbuf *out, diag *d)
{
	const mesh *m = &t->meshes.p[e->mesh];
	uint32_t dim_of[MAX_MESH_AXES];
	bool partial[MAX_MESH_AXES] = {false};
	TRY(refuse_beyond(t, e, w->name, (vocabulary){.unreduced = true}, d));
	for (uint32_t i = 0; i < m->n_axes; i++)
		dim_of[i] = ID_NONE;
	for (uint32_t i = 0; i < e->rank; i++) {
		uint32_t before = ID_NONE;
		for (uint32_t k = 0; k < e->dims[i].axes.n; k++) {
			uint32_t axis = axis_index(e->dims[i].axes.a[k]);
			dim_of[axis] = i;
			if (m->axis_sizes[axis] == 1)
				continue; /* stands anywhere */
			if (before != ID_NONE && axis < before)
				return diag_set(d, ST_ERR_UNSUPPORTED,
				                "cannot be expressed in %s: dimension %u is cut by \"" STR_FMT "\" before \"" STR_FMT "\", against the order of the mesh",
				                w->name, i, STR_ARG(strtab_get(&t->names, m->axis_names[before])),
				                STR_ARG(strtab_get(&t->names, m->axis_names[axis])));
			before = axis;
		}
	}
	for (uint32_t i = 0; i < e->unreduced.n; i++)
		partial[axis_index(e->unreduced.a[i])] = true;
	strbuf_putc(out, '[');
	for (uint32_t i = 0; i < m->n_axes; i++) {
		if (i)
			strbuf_puts(out, ", ");
		if (partial[i])
			strbuf_puts(out, w->partial_text);
		else if (dim_of[i] != ID_NONE)
			strbuf_printf(out, "%s(%u)", w->split[0], dim_of[i]);
		else
			strbuf_puts(out, w->broadcast_text);
	}
	strbuf_putc(out, ']');
	return ST_OK;
}

status sbp_parse(sharding_table *t, scan *s, sharding_edit *e) { return parse_words(&sbp_words, t, s, e); }
status sbp_print(const sharding_table *t, const sharding_edit *e, strbuf *out, diag *d) { return print_words(&sbp_words, t, e, out, d); }
status dtensor_parse(sharding_table *t, scan *s, sharding_edit *e) { return parse_words(&dtensor_words, t, s, e); }
status dtensor_print(const sharding_table *t, const sharding_edit *e, strbuf *out, diag *d) { return print_words(&dtensor_words, t, e, out, d); }
