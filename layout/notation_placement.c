/* OneFlow's SBP and PyTorch's DTensor placements: one word per axis that says what that axis does
 * to the tensor. The axes are those of the mesh, or of a device array in the text: OneFlow's
 * placement(type, ranks=[..]), PyTorch's DeviceMesh(type, [..]).
 *
 * Where several axes cut one dimension the leftmost is the major one. PyTorch says another order
 * with _StridedShard; OneFlow with the axes of its placement in another order. Parts of axes take a
 * device array in both. */
#include "layout/placement.h"

#include <stdlib.h>

const struct words sbp_words = {
	"sbp",
	{"S", "split"},
	{"B", "broadcast"},
	{"P", "partial_sum", "partial_min", "partial_max"},
	"B",
	"P",
	"P(%s)",
	{"placement"},
	"placement(type=\"cuda\", ranks=",
	{"placement", "sbp"},
	false,
};
const struct words dtensor_words = {
	"dtensor",
	{"Shard", "S"},
	{"Replicate", "R"},
	{"Partial", "P"},
	"Replicate()",
	"Partial(\"sum\")",
	"Partial(\"%s\")",
	{"DeviceMesh"},
	"DeviceMesh(\"cuda\", ",
	{"device_mesh", "mesh", "placements"},
	true,
};

static bool is_one_of(str s, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n && words[i]; i++)
		if (str_is(s, words[i]))
			return true;
	return false;
}

/* What one axis does. */
struct word {
	enum { BROADCAST, SPLIT, PARTIAL } kind;
	uint32_t dim;
	int64_t factor; /* of a strided split, else 1 */
	reduction reduction;
	size_t at;
};

/* What the words are about: the axes of the mesh, or of a device array. */
struct hierarchy {
	uint32_t n;
	int64_t sizes[MAX_MESH_AXES];
	int64_t *place_of; /* by mesh position; NULL: the mesh itself */
	int64_t only;      /* the one device of an array, -1: not one */
};

/* ---------------------------------------------------------------- words */

/* (0) or (dim=0), also counted from the end with a minus sign; strided: (0, split_factor=2), also
 * sf= */
static status parse_split(scan *s, uint32_t rank, bool strided, struct word *out)
{
	int64_t dim;
	TRY(scan_expect(s, '(', "before the dimension"));
	scan_peek(s);
	size_t at = s->at;
	if (scan_word_is(s, "dim"))
		TRY(scan_expect(s, '=', "after dim"));
	bool negative = scan_take(s, '-');
	TRY(scan_int(s, "a dimension", &dim));
	if (negative ? dim < 1 || dim > rank : dim >= rank)
		return scan_fail(s, at, ST_ERR_INVALID, "dimension %s%lld of a tensor with %u dimensions",
			negative ? "-" : "", (long long)dim, rank);
	out->kind = SPLIT;
	out->dim = (uint32_t)(negative ? rank - dim : dim);
	if (strided) {
		TRY(scan_expect(s, ',', "before the split factor"));
		if (scan_word_is(s, "split_factor") || scan_word_is(s, "sf"))
			TRY(scan_expect(s, '=', "after split_factor"));
		scan_peek(s);
		at = s->at;
		TRY(scan_int(s, "a split factor", &out->factor));
		if (out->factor < 1)
			return scan_fail(s, at, ST_ERR_INVALID, "the split factor is 0");
	}
	return scan_expect(s, ')', "after the dimension");
}

/* Empty brackets, or with the reduction: (), (sum), ("sum"), (reduce_op=sum) */
static status parse_partial(scan *s, str word, struct word *out)
{
	out->kind = PARTIAL;
	if (word.n > 8 && str_starts(word, "partial_"))
		(void)reduction_find((str){word.p + 8, word.n - 8}, &out->reduction);
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
	if (!reduction_find(op, &out->reduction))
		return scan_fail(
			s, at, ST_ERR_PARSE, "expected a reduction: sum, avg, product, min or max");
	return scan_expect(s, ')', "after the reduction");
}

/* {"split_parallel":{"axis":"0"}}, as the JSON of sbp_signature has it */
static status parse_json_word(scan *s, uint32_t rank, struct word *out)
{
	str key, axis;
	TRY(scan_expect(s, '{', "before the SBP"));
	scan_peek(s);
	size_t at = s->at;
	TRY(scan_string(s, "split_parallel, broadcast_parallel or partial_sum_parallel", &key));
	TRY(scan_expect(s, ':', "after the key"));
	TRY(scan_expect(s, '{', "after the colon"));
	if (str_is(key, "split_parallel")) {
		TRY(scan_string(s, "\"axis\"", &axis));
		TRY(scan_expect(s, ':', "after \"axis\""));
		at = s->at;
		bool quoted = scan_peek(s) == '"';
		int64_t dim = -1;
		if (quoted) {
			TRY(scan_string(s, "a dimension", &axis));
			if (!str_to_i64(axis, &dim))
				return scan_fail(s, at, ST_ERR_PARSE, "expected a dimension, a whole number");
		} else {
			TRY(scan_int(s, "a dimension", &dim));
		}
		if (dim < 0 || dim >= rank)
			return scan_fail(s, at, ST_ERR_INVALID, "dimension %lld of a tensor with %u dimensions",
				(long long)dim, rank);
		out->kind = SPLIT;
		out->dim = (uint32_t)dim;
	} else if (str_is(key, "partial_sum_parallel")) {
		out->kind = PARTIAL;
	} else if (!str_is(key, "broadcast_parallel")) {
		return scan_fail(s, at, ST_ERR_PARSE,
			"expected split_parallel, broadcast_parallel or partial_sum_parallel");
	}
	TRY(scan_expect(s, '}', "after the axis"));
	return scan_expect(s, '}', "after the SBP");
}

static status parse_word(const struct words *w, scan *s, uint32_t rank, struct word *out)
{
	char c = scan_peek(s);
	*out = (struct word){.factor = 1, .at = s->at};
	if (c == '{' && !w->strided)
		return parse_json_word(s, rank, out);
	str word = scan_last_word(s);
	if (is_one_of(word, w->split, COUNT_OF(w->split)))
		return parse_split(s, rank, false, out);
	if (w->strided && (str_is(word, "_StridedShard") || str_is(word, "_S")))
		return parse_split(s, rank, true, out);
	if (is_one_of(word, w->partial, COUNT_OF(w->partial)))
		return parse_partial(s, word, out);
	if (is_one_of(word, w->broadcast, COUNT_OF(w->broadcast)))
		return scan_take(s, '(') ? scan_expect(s, ')', "after the bracket") : ST_OK;
	return scan_fail(s, out->at, ST_ERR_PARSE, "expected %s(dim), %s or %s", w->split[0],
		w->broadcast[0], w->partial[0]);
}

/* "sbp=", "placements=": taken when it is there */
static void skip_keyword(const struct words *w, scan *s)
{
	scan_peek(s);
	size_t start = s->at;
	if (!is_one_of(scan_word(s), w->keywords, COUNT_OF(w->keywords)) || !scan_take(s, '='))
		s->at = start;
}

static status parse_words(
	const struct words *w, scan *s, uint32_t rank, uint32_t n_axes, struct word *out)
{
	skip_keyword(w, s);
	bool wrapped = !w->strided && scan_peek(s) == '{' &&
		str_starts((str){s->text.p + s->at, s->text.n - s->at}, "{\"sbp_parallel\"");
	if (wrapped) {
		s->at += strlen("{\"sbp_parallel\"");
		TRY(scan_expect(s, ':', "after \"sbp_parallel\""));
	}
	char close = scan_take(s, '[') ? ']' : scan_take(s, '(') ? ')' : 0;
	uint32_t n = 0;
	size_t at = s->at;
	while (close ? !scan_take(s, close) : scan_peek(s) != 0) {
		if (n == n_axes)
			return scan_fail(
				s, s->at, ST_ERR_INVALID, "more words than the mesh has axes (%u)", n_axes);
		TRY(parse_word(w, s, rank, &out[n++]));
		if (!scan_take(s, ',') && scan_peek(s) != close)
			return scan_expect(s, close ? close : ',', "after a word");
	}
	if (n != n_axes)
		return scan_fail(s, at, ST_ERR_INVALID,
			"%u words for a mesh of %u axes, expected one for each", n, n_axes);
	return wrapped ? scan_expect(s, '}', "after the list") : ST_OK;
}

/* ---------------------------------------------------------------- device arrays */

/* placement(type="cuda", ranks=[[0, 1], [2, 3]]), and the comma behind it. Nothing when the text
 * begins with something else. */
static status parse_devices(
	const struct words *w, scan *s, int64_t n_devices, device_array *out, bool *found)
{
	str type, name;
	scan_peek(s);
	size_t start = s->at;
	skip_keyword(w, s);
	*found = is_one_of(scan_last_word(s), w->devices, COUNT_OF(w->devices));
	if (!*found) {
		s->at = start;
		return ST_OK;
	}
	TRY(scan_expect(s, '(', "before the type of the devices"));
	if (scan_word_is(s, "type") || scan_word_is(s, "device_type"))
		TRY(scan_expect(s, '=', "after type"));
	TRY(scan_string(s, "the type of the devices", &type));
	TRY(scan_expect(s, ',', "after the type"));
	if (scan_word_is(s, "ranks") || scan_word_is(s, "mesh"))
		TRY(scan_expect(s, '=', "after the keyword"));
	TRY(devices_parse(s, n_devices, out));
	if (scan_take(s, ',') &&
		scan_word_is(s, "mesh_dim_names")) { /* names say nothing about slices */
		TRY(scan_expect(s, '=', "after mesh_dim_names"));
		char close = scan_take(s, '[') ? ']' : ')';
		if (close == ')')
			TRY(scan_expect(s, '(', "before the names"));
		do
			TRY(scan_string(s, "a name", &name));
		while (scan_take(s, ',') && scan_peek(s) != close);
		TRY(scan_expect(s, close, "after the names"));
	}
	TRY(scan_expect(s, ')', "after the devices"));
	return scan_expect(s, ',', "between the devices and the words");
}

static status find_hierarchy(
	const struct words *w, const device_mesh *m, scan *s, struct hierarchy *h)
{
	device_array a = {0};
	bool found;
	*h = (struct hierarchy){.n = m->n_axes, .only = -1};
	status r = parse_devices(w, s, m->n_devices, &a, &found);
	const int64_t *sizes = found ? a.sizes : m->axis_sizes;
	if (r == ST_OK && found) {
		h->n = a.n;
		if (a.n_ids == 1 && m->n_devices > 1)
			h->only = a.ids[0];
		else
			h->place_of = places_of(m, a.ids);
	}
	for (uint32_t i = 0; i < h->n && r == ST_OK; i++)
		h->sizes[i] = sizes[i];
	free(a.ids);
	return r;
}

/* ---------------------------------------------------------------- what the words mean */

/* Puts an axis behind what cuts the dimension into `factor` pieces already; an axis in the way is
 * cut in two. */
static bool insert_axis(axes_buf *l, int64_t factor, axis_ref a)
{
	int64_t before = 1;
	uint32_t i = 0;
	for (; i < l->n && before < factor; i++) {
		int64_t pre = axis_pre(l->a[i]), size = axis_size(l->a[i]), major = factor / before;
		if (factor % before)
			return false;
		if (size > major) {
			if (size % major)
				return false;
			memmove(&l->a[i + 1], &l->a[i], (l->n - i) * sizeof *l->a);
			l->n++;
			l->a[i] = axis_make(axis_index(l->a[i]), pre, major);
			l->a[i + 1] = axis_make(axis_index(l->a[i + 1]), pre * major, size / major);
			size = major;
		}
		before *= size;
	}
	if (before != factor)
		return false;
	memmove(&l->a[i + 1], &l->a[i], (l->n - i) * sizeof *l->a);
	l->a[i] = a;
	l->n++;
	return true;
}

/* Axis lists per dimension in terms of the hierarchy: the last axis first, as a strided split
 * counts what later ones cut. */
static status lists_of(
	scan *s, const struct hierarchy *h, const struct word *words, axes_buf *lists)
{
	for (uint32_t k = h->n; k-- > 0;) {
		if (words[k].kind != SPLIT)
			continue;
		axes_buf *l = &lists[words[k].dim];
		/* every axis adds itself and at most one cut of another */
		if (l->n + 2 > MAX_TENSOR_AXES ||
			!insert_axis(l, h->sizes[k] == 1 ? 1 : words[k].factor, axis_make(k, 1, h->sizes[k])))
			return scan_fail(s, words[k].at, ST_ERR_UNSUPPORTED,
				"a split factor of %lld leaves devices with separate slices: later axes do not cut "
				"dimension %u so",
				(long long)words[k].factor, words[k].dim);
	}
	return ST_OK;
}

struct digits {
	const struct hierarchy *h;
	const axes_buf *lists;
	int64_t strides[MAX_MESH_AXES];
};

static int64_t shard_index(const void *ctx, int64_t position, uint32_t dim)
{
	const struct digits *g = ctx;
	int64_t index = 0, place = g->h->place_of[position];
	for (uint32_t i = 0; i < g->lists[dim].n; i++) {
		axis_ref a = g->lists[dim].a[i];
		uint32_t k = axis_index(a);
		index = index * axis_size(a) +
			place / g->strides[k] % g->h->sizes[k] / (g->h->sizes[k] / axis_next_pre(a)) %
				axis_size(a);
	}
	return index;
}

/* From the axes of a device array to those of the mesh. The lists beyond the tensor's dimensions
 * are unreduced. */
static status solve(const sharding_table *t, scan *s, const struct hierarchy *h,
	const axes_buf *lists, uint32_t n_lists, sharding_edit *e)
{
	struct digits g = {.h = h, .lists = lists};
	axes_buf *found = xmalloc(MAX(n_lists, 1) * sizeof *found);
	int64_t parts[MAX_RANK + MAX_MESH_AXES], stride = 1;
	diag inner = {0};
	for (uint32_t i = h->n; i-- > 0;) {
		g.strides[i] = stride;
		stride *= h->sizes[i];
	}
	for (uint32_t i = 0; i < n_lists; i++)
		parts[i] = axes_product(axes_of(&lists[i]));
	status r = pieces_solve(t, e->mesh, n_lists, parts, shard_index, &g, found, &inner);
	if (r != ST_OK)
		r = scan_fail(s, 0, r, "cannot be expressed over this mesh: %s", inner.msg);
	for (uint32_t i = 0; i < n_lists && r == ST_OK; i++)
		if (i < e->rank)
			axes_copy(&e->dims[i].axes, axes_of(&found[i]));
		else
			for (uint32_t k = 0; k < found[i].n; k++)
				e->unreduced.a[e->unreduced.n++] = found[i].a[k];
	axes_sort_merge(&e->unreduced);
	free(found);
	return r;
}

static status resolve(const sharding_table *t, scan *s, const struct hierarchy *h,
	const struct word *words, tensor_spec *out)
{
	sharding_edit *e = &out->e;
	uint32_t n_lists = e->rank;
	bool partial = false;
	axes_buf *lists = xcalloc(e->rank + h->n + 1, sizeof *lists);
	status r = lists_of(s, h, words, lists);
	for (uint32_t k = 0; k < h->n && r == ST_OK; k++) {
		if (words[k].kind != PARTIAL)
			continue;
		if (partial && words[k].reduction != out->reduction)
			r = scan_fail(s, words[k].at, ST_ERR_UNSUPPORTED, "partial by %s beside partial by %s",
				reduction_name(words[k].reduction), reduction_name(out->reduction));
		partial = true;
		out->reduction = words[k].reduction;
		axes_push_merge(&lists[n_lists++], axis_make(k, 1, h->sizes[k]));
	}
	if (r == ST_OK && h->place_of)
		r = solve(t, s, h, lists, n_lists, e);
	else
		for (uint32_t i = 0; i < n_lists && r == ST_OK; i++)
			for (uint32_t k = 0; k < lists[i].n; k++)
				axes_push_merge(i < e->rank ? &e->dims[i].axes : &e->unreduced, lists[i].a[k]);
	free(lists);
	return r;
}

static status parse_placements(const struct words *w, sharding_table *t, scan *s, tensor_spec *out)
{
	const device_mesh *m = &t->meshes.p[out->e.mesh];
	struct hierarchy h;
	struct word words[MAX_MESH_AXES];
	scan_peek(s);
	if (m->maximal)
		return scan_fail(s, s->at, ST_ERR_UNSUPPORTED, "the mesh is a single device");
	TRY(find_hierarchy(w, m, s, &h));
	status r = parse_words(w, s, out->e.rank, h.n, words);
	if (r == ST_OK && h.only >= 0) {
		sharding_edit_init(&out->e, maximal_mesh(t, h.only), 0, true);
	} else if (r == ST_OK) {
		out->own_devices = h.place_of != NULL;
		r = resolve(t, s, &h, words, out);
	}
	free(h.place_of);
	return r;
}

status sbp_parse(sharding_table *t, scan *s, tensor_spec *out)
{
	return parse_placements(&sbp_words, t, s, out);
}
status dtensor_parse(sharding_table *t, scan *s, tensor_spec *out)
{
	return parse_placements(&dtensor_words, t, s, out);
}
