/* Layout(device_matrix, alias_name)(tensor_map), with the numbers of the ranks when they are not
 * 0..n-1. The device matrix need not be the mesh: axes are found from the shards that the ranks
 * hold. The last alias may be interleaved_parallel: no devices, but the parts in which one device
 * works its slice off. */
#include "layout/pieces.h"

#include <stdlib.h>

enum { MAX_MATRIX = 64 };

struct matrix {
	int64_t sizes[MAX_MATRIX], strides[MAX_MATRIX];
	uint32_t n;
	str aliases[MAX_MATRIX];
	uint32_t n_aliases;
	bool taken[MAX_MATRIX];
	bool interleaved; /* the last dimension is no devices */
	size_t at;        /* of the device matrix */
	int64_t *ranks;   /* rank list by place in the matrix, NULL: 0..n-1 */
	int64_t n_ranks;
	uint32_t map[MAX_RANK][MAX_MATRIX], n_map[MAX_RANK], rank;
	int64_t *place_of; /* by mesh position */
};

/* Opens a tuple or list; returns the bracket that closes it. */
static status open_list(scan *s, const char *what, char *close)
{
	if (scan_take(s, '(')) {
		*close = ')';
		return ST_OK;
	}
	*close = ']';
	return scan_expect(s, '[', what);
}

/* Behind an element: true when the list goes on. A comma may stand before the bracket that closes.
 */
static status next_element(scan *s, char close, bool *more)
{
	bool comma = scan_take(s, ',');
	*more = !scan_take(s, close);
	if (*more && !comma)
		return scan_expect(s, close, "after the element");
	return ST_OK;
}

static status skip_keyword(scan *s, const char *word)
{
	return scan_word_is(s, word) ? scan_expect(s, '=', "after the keyword") : ST_OK;
}

static status parse_matrix(scan *s, struct matrix *m)
{
	char close;
	bool more;
	TRY(skip_keyword(s, "device_matrix"));
	scan_peek(s);
	m->at = s->at;
	TRY(open_list(s, "before the device matrix", &close));
	do {
		if (m->n == MAX_MATRIX)
			return scan_fail(
				s, s->at, ST_ERR_LIMIT, "more than %d dimensions in the device matrix", MAX_MATRIX);
		TRY(scan_int(s, "a size of the device matrix", &m->sizes[m->n++]));
		TRY(next_element(s, close, &more));
	} while (more);
	return ST_OK;
}

/* The dimensions that are devices, and their strides. */
static status check_matrix(scan *s, struct matrix *m, int64_t n_devices)
{
	int64_t product = 1, stride = 1;
	for (uint32_t i = 0; i < m->n - m->interleaved; i++)
		product = sat_mul(product, m->sizes[i]);
	if (product != n_devices)
		return scan_fail(s, m->at, ST_ERR_INVALID,
			"the device matrix has %lld devices, the mesh has %lld", (long long)product,
			(long long)n_devices);
	for (uint32_t i = m->n - m->interleaved; i-- > 0;) {
		m->strides[i] = stride;
		stride *= m->sizes[i];
	}
	return ST_OK;
}

static status parse_aliases(scan *s, struct matrix *m)
{
	char close;
	bool more;
	TRY(skip_keyword(s, "alias_name"));
	scan_peek(s);
	size_t at = s->at;
	TRY(open_list(s, "before the alias names", &close));
	do {
		scan_peek(s);
		size_t start = s->at;
		str name;
		TRY(scan_string(s, "an alias name", &name));
		for (uint32_t i = 0; i < m->n_aliases; i++)
			if (str_equal(name, m->aliases[i]))
				return scan_fail(s, start, ST_ERR_INVALID, "duplicate alias name \"" STR_FMT "\"",
					STR_ARG(name));
		if (str_is(name, "None"))
			return scan_fail(
				s, start, ST_ERR_INVALID, "\"None\" is no alias name: it means not cut");
		if (m->interleaved)
			return scan_fail(s, start, ST_ERR_INVALID,
				"\"interleaved_parallel\" stands before this, it can only be the last alias name");
		m->interleaved = str_is(name, "interleaved_parallel");
		if (m->n_aliases == m->n)
			return scan_fail(s, start, ST_ERR_INVALID,
				"more alias names than dimensions of the device matrix (%u)", m->n);
		m->aliases[m->n_aliases++] = name;
		TRY(next_element(s, close, &more));
	} while (more);
	if (m->n_aliases != m->n)
		return scan_fail(s, at, ST_ERR_INVALID,
			"%u alias names for %u dimensions of the device matrix", m->n_aliases, m->n);
	return ST_OK;
}

static status parse_ranks(scan *s, struct matrix *m, int64_t n_devices)
{
	char close;
	bool more;
	TRY(skip_keyword(s, "rank_list"));
	size_t start = s->at;
	TRY(open_list(s, "before the rank list", &close));
	uint8_t *seen = xcalloc((size_t)n_devices, 1);
	m->ranks = xmalloc((size_t)n_devices * sizeof *m->ranks);
	status r;
	do {
		int64_t rank = 0;
		size_t at = s->at;
		r = scan_int(s, "a rank", &rank);
		if (r == ST_OK && (rank >= n_devices || seen[rank]))
			r = scan_fail(s, at, ST_ERR_INVALID, "rank %lld is %s", (long long)rank,
				rank >= n_devices ? "not in the mesh" : "listed twice");
		if (r == ST_OK) {
			seen[rank] = 1;
			m->ranks[m->n_ranks++] = rank;
			r = next_element(s, close, &more);
		}
	} while (r == ST_OK && more);
	free(seen);
	if (r == ST_OK && m->n_ranks != n_devices)
		r = scan_fail(s, start, ST_ERR_INVALID, "%lld ranks are listed, the mesh has %lld",
			(long long)m->n_ranks, (long long)n_devices);
	return r;
}

static status parse_alias(scan *s, struct matrix *m, bool may_be_none, bool *interleaved)
{
	str name;
	scan_peek(s);
	size_t at = s->at;
	TRY(scan_string(s, "an alias name or \"None\"", &name));
	if (str_is(name, "None") && may_be_none)
		return ST_OK;
	for (uint32_t i = 0; i < m->n; i++) {
		if (!str_equal(name, m->aliases[i]))
			continue;
		if (m->taken[i])
			return scan_fail(s, at, ST_ERR_INVALID, "alias \"" STR_FMT "\" cuts the tensor twice",
				STR_ARG(name));
		m->taken[i] = true;
		if (m->interleaved &&
			i + 1 == m->n) { /* parts of one device's slice, if nothing cuts further */
			*interleaved = true;
			return ST_OK;
		}
		if (*interleaved)
			return scan_fail(s, at, ST_ERR_UNSUPPORTED,
				"alias \"" STR_FMT "\" behind interleaved_parallel gives devices separate slices",
				STR_ARG(name));
		m->map[m->rank][m->n_map[m->rank]++] = i;
		return ST_OK;
	}
	return scan_fail(s, at, ST_ERR_INVALID, "unknown alias name: \"" STR_FMT "\"", STR_ARG(name));
}

/* One dimension: "alias", "None" or a tuple of aliases, major first */
static status parse_entry(scan *s, struct matrix *m)
{
	char c = scan_peek(s), close;
	bool more, interleaved = false;
	if (c == '"' || c == '\'')
		return parse_alias(s, m, true, &interleaved);
	if (scan_word_is(s, "None"))
		return ST_OK;
	TRY(open_list(s, "before a tuple of alias names", &close));
	do {
		TRY(parse_alias(s, m, false, &interleaved));
		TRY(next_element(s, close, &more));
	} while (more);
	return ST_OK;
}

static status parse_map(scan *s, struct matrix *m, uint32_t rank)
{
	char close;
	TRY(skip_keyword(s, "tensor_map"));
	size_t at = s->at;
	TRY(open_list(s, "before the tensor map", &close));
	for (bool more = !scan_take(s, close); more;) {
		if (m->rank == rank)
			return scan_fail(s, s->at, ST_ERR_INVALID,
				"the tensor map has more entries than the tensor has dimensions (%u)", rank);
		TRY(parse_entry(s, m));
		m->rank++;
		TRY(next_element(s, close, &more));
	}
	if (m->rank != rank)
		return scan_fail(s, at, ST_ERR_INVALID,
			"the tensor map has %u entries, the tensor has %u dimensions", m->rank, rank);
	return ST_OK;
}

/* Layout((2, 4), ("a", "b"))("a", "None"), or the three by name: device_matrix=.., alias_name=..,
 * tensor_map=.. */
static status parse_all(scan *s, struct matrix *m, int64_t n_devices, uint32_t rank)
{
	scan_peek(s);
	size_t start = s->at;
	bool call = str_is(scan_last_word(s), "Layout");
	if (call)
		TRY(scan_expect(s, '(', "after Layout"));
	else
		s->at = start;
	TRY(parse_matrix(s, m));
	TRY(scan_expect(s, ',', "after the device matrix"));
	TRY(parse_aliases(s, m));
	TRY(check_matrix(s, m, n_devices));
	if (call) {
		if (scan_take(s, ','))
			TRY(parse_ranks(s, m, n_devices));
		TRY(scan_expect(s, ')', "after the layout"));
		return parse_map(s, m, rank);
	}
	TRY(scan_expect(s, ',', "after the alias names"));
	scan_peek(s);
	if (str_starts((str){s->text.p + s->at, s->text.n - s->at}, "rank_list")) {
		TRY(parse_ranks(s, m, n_devices));
		TRY(scan_expect(s, ',', "after the rank list"));
	}
	return parse_map(s, m, rank);
}

static int64_t shard_index(const void *ctx, int64_t position, uint32_t dim)
{
	const struct matrix *m = ctx;
	int64_t index = 0;
	for (uint32_t i = 0; i < m->n_map[dim]; i++) {
		uint32_t k = m->map[dim][i];
		index = index * m->sizes[k] + m->place_of[position] / m->strides[k] % m->sizes[k];
	}
	return index;
}

static status solve(
	const sharding_table *t, scan *s, size_t start, struct matrix *m, sharding_edit *e)
{
	const device_mesh *mesh = &t->meshes.p[e->mesh];
	axes_buf *lists = xmalloc(MAX(e->rank, 1) * sizeof *lists);
	int64_t parts[MAX_RANK];
	diag inner = {0};
	for (uint32_t d = 0; d < e->rank; d++) {
		parts[d] = 1;
		for (uint32_t i = 0; i < m->n_map[d]; i++)
			parts[d] *= m->sizes[m->map[d][i]];
	}
	m->place_of = places_of(mesh, m->ranks);
	status r = pieces_solve(t, e->mesh, e->rank, parts, shard_index, m, lists, &inner);
	if (r != ST_OK)
		r = scan_fail(s, start, r, "cannot be expressed over this mesh: %s", inner.msg);
	for (uint32_t d = 0; d < e->rank && r == ST_OK; d++)
		axes_copy(&e->dims[d].axes, axes_of(&lists[d]));
	free(m->place_of);
	free(lists);
	return r;
}

status mindspore_parse(sharding_table *t, scan *s, tensor_spec *out)
{
	sharding_edit *e = &out->e;
	const device_mesh *mesh = &t->meshes.p[e->mesh];
	struct matrix m = {0};
	size_t start = s->at;
	if (mesh->maximal)
		return scan_fail(s, start, ST_ERR_UNSUPPORTED, "the mesh is a single device");
	status r = parse_all(s, &m, mesh->n_devices, e->rank);
	if (r == ST_OK)
		r = solve(t, s, start, &m, e);
	free(m.ranks);
	return r;
}

/* The number of devices that a matrix stands for, which parse_all then holds it to. */
static status count_devices(scan *s, struct matrix *m, int64_t *out)
{
	scan_peek(s);
	size_t start = s->at;
	if (str_is(scan_last_word(s), "Layout"))
		TRY(scan_expect(s, '(', "after Layout"));
	else
		s->at = start;
	TRY(parse_matrix(s, m));
	TRY(scan_expect(s, ',', "after the device matrix"));
	TRY(parse_aliases(s, m));
	*out = 1;
	for (uint32_t i = 0; i < m->n - m->interleaved; i++)
		*out = sat_mul(*out, m->sizes[i]);
	return ST_OK;
}

status mindspore_mesh(sharding_table *t, str text, mesh_id *out, diag *d)
{
	scan s = {text, 0, d};
	struct matrix m = {0};
	str_id names[MAX_MATRIX];
	char msg[256];
	int64_t n;
	TRY(count_devices(&s, &m, &n));
	size_t at = m.at;
	device_mesh found = {.name = strtab_add(&t->names, STR("mesh")),
		.n_axes = m.n - m.interleaved,
		.axis_names = names,
		.axis_sizes = m.sizes};
	for (uint32_t i = 0; i < found.n_axes; i++)
		names[i] = strtab_add(&t->names, m.aliases[i]);
	if (mesh_check(t, &found, NULL, msg, sizeof msg) != ST_OK)
		return scan_fail(&s, at, ST_ERR_INVALID, "%s", msg);
	status r = ST_OK;
	if (scan_take(&s, ',')) { /* the rank list, or the tensor map */
		scan_peek(&s);
		bool map = str_starts((str){text.p + s.at, text.n - s.at}, "tensor_map");
		r = map ? ST_OK : parse_ranks(&s, &m, n);
		found.device_ids = m.ranks;
		found.n_device_ids = m.ranks ? (uint32_t)n : 0;
	}
	if (r == ST_OK)
		*out = mesh_intern(t, &found);
	free(m.ranks);
	return r;
}

/* ---------------------------------------------------------------- printing */

static bool name_taken(const sharding_table *t, const device_mesh *m, str name)
{
	for (uint32_t i = 0; i < m->n_axes; i++)
		if (str_equal(strtab_get(&t->names, m->axis_names[i]), name))
			return true;
	return false;
}

/* Full axes keep their name, parts of axis a are a_1, a_2, .. with as many underscores as make them
 * new. */
static void alias(
	const sharding_table *t, const device_mesh *m, const mesh_pieces *p, uint32_t i, strbuf *out)
{
	uint32_t axis = axis_index(p->a[i]), part = 1;
	str name = strtab_get(&t->names, m->axis_names[axis]);
	strbuf_clear(out);
	strbuf_str(out, name);
	if (axis_size(p->a[i]) == m->axis_sizes[axis])
		return;
	for (uint32_t k = i; k && axis_index(p->a[k - 1]) == axis; k--)
		part++;
	do {
		strbuf_putc(out, '_');
		size_t n = out->n;
		strbuf_i64(out, part);
		if (!name_taken(t, m, (str){out->p, out->n}))
			return;
		out->n = n;
	} while (true);
}

static void print_alias(
	const sharding_table *t, const device_mesh *m, const mesh_pieces *p, uint32_t i, strbuf *out)
{
	strbuf name;
	strbuf_init(&name);
	alias(t, m, p, i, &name);
	strbuf_printf(out, "\"%s\"", name.p);
	strbuf_release(&name);
}

static status refuse_names(const sharding_table *t, const device_mesh *m, diag *d)
{
	for (uint32_t i = 0; i < m->n_axes; i++) {
		str name = strtab_get(&t->names, m->axis_names[i]);
		if (str_is(name, "None") || str_is(name, "interleaved_parallel"))
			return diag_set(d, ST_ERR_UNSUPPORTED,
				"cannot be expressed in mindspore: an axis is called \"" STR_FMT "\"",
				STR_ARG(name));
	}
	return ST_OK;
}

static void print_map(
	const sharding_table *t, const sharding_edit *e, const mesh_pieces *p, strbuf *out)
{
	const device_mesh *m = &t->meshes.p[e->mesh];
	strbuf_putc(out, '(');
	for (uint32_t d = 0; d < e->rank; d++) {
		const axes_buf *l = &e->dims[d].axes;
		if (d)
			strbuf_puts(out, ", ");
		if (l->n == 0)
			strbuf_puts(out, "\"None\"");
		if (l->n > 1)
			strbuf_putc(out, '(');
		for (uint32_t i = 0; i < l->n; i++) {
			if (i)
				strbuf_puts(out, ", ");
			print_alias(t, m, p, piece_find(p, l->a[i]), out);
		}
		if (l->n > 1)
			strbuf_putc(out, ')');
	}
	strbuf_putc(out, ')');
}

status mindspore_print(const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d)
{
	const sharding_edit *e = &s->e;
	const device_mesh *m = &t->meshes.p[e->mesh];
	mesh_pieces p;
	TRY(refuse_beyond(t, s, "mindspore", (vocabulary){.sub_axes = true}, d));
	TRY(refuse_names(t, m, d));
	pieces_of(t, e, &p);
	strbuf_puts(out, "Layout((");
	for (uint32_t i = 0; i < p.n; i++)
		strbuf_printf(out, "%s%lld", i ? ", " : "", (long long)axis_size(p.a[i]));
	strbuf_puts(out, p.n == 1 ? ",), (" : "), (");
	for (uint32_t i = 0; i < p.n; i++) {
		if (i)
			strbuf_puts(out, ", ");
		print_alias(t, m, &p, i, out);
	}
	strbuf_puts(out, p.n == 1 ? ",)" : ")");
	for (uint32_t i = 0; i < m->n_device_ids; i++)
		strbuf_printf(out, "%s%lld", i ? ", " : ", rank_list=[", (long long)m->device_ids[i]);
	strbuf_puts(out, m->n_device_ids ? "])" : ")");
	print_map(t, e, &p, out);
	return ST_OK;
}
