/* Replica groups in all spellings: lists {{0,1},{2,3}}, {} for all, [2,4]<=[4,2]T(1,0) (ids in
 * row-major order of the dims, transposed, cut into rows), and a mesh with the axes to group over,
 * mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'b'}. Equal text is expanded once. */
#include "hlo/read.h"

enum { MAX_GROUP_DIMS = 32, MAX_KNOWN = 64 /* spellings remembered; a program has a few */ };

static status too_many(hlo_reader *r, const char *at)
{
	return hlo_error(
		r, at, ST_ERR_LIMIT, "replica groups with more than %d ids", HLO_MAX_GROUP_IDS);
}

static status read_dims(hlo_reader *r, int64_t *dims, uint32_t *n, int64_t *product)
{
	uint32_t first;
	hlo_skip(r);
	const char *at = r->lex.p;
	TRY(hlo_int_list(r, '[', ']', &first, n));
	r->m->numbers.n = first;
	*product = 1;
	if (!*n || *n > MAX_GROUP_DIMS)
		return hlo_error(r, at, ST_ERR_LIMIT, "expected 1 to %d dims", MAX_GROUP_DIMS);
	for (uint32_t i = 0; i < *n; i++) {
		dims[i] = r->m->numbers.p[first + i];
		if (dims[i] < 1)
			return hlo_error(
				r, at, ST_ERR_INVALID, "a dim is %lld, expected 1 or more", (long long)dims[i]);
		*product = sat_mul(*product, dims[i]);
	}
	return *product > HLO_MAX_GROUP_IDS ? too_many(r, at) : ST_OK;
}

/* T(1,0) after dims; identity when absent. */
static status read_transpose(hlo_reader *r, uint32_t n, uint32_t *perm)
{
	bool seen[MAX_GROUP_DIMS] = {false};
	for (uint32_t i = 0; i < n; i++)
		perm[i] = i;
	if (*r->lex.p != 'T')
		return ST_OK;
	const char *at = r->lex.p++;
	uint32_t first, count;
	TRY(hlo_int_list(r, '(', ')', &first, &count));
	r->m->numbers.n = first;
	for (uint32_t i = 0; i < count && count == n; i++) {
		int64_t v = r->m->numbers.p[first + i];
		if (v < 0 || v >= n || seen[v])
			return hlo_error(r, at, ST_ERR_INVALID, "T(..) is no permutation of %u dims", n);
		seen[v] = true;
		perm[i] = (uint32_t)v;
	}
	return count == n ? ST_OK
					  : hlo_error(r, at, ST_ERR_INVALID, "T(..) is no permutation of %u dims", n);
}

/* 0 .. product - 1 as an array of those dims, transposed, flattened, into module.ids. */
static status push_iota(
	hlo_reader *r, const char *at, const int64_t *dims, uint32_t n, const uint32_t *perm)
{
	int64_t stride[MAX_GROUP_DIMS], of[MAX_GROUP_DIMS], size[MAX_GROUP_DIMS],
		index[MAX_GROUP_DIMS] = {0}, product = 1;
	for (uint32_t i = n; i-- > 0;) {
		stride[i] = product;
		product *= dims[i];
	}
	for (uint32_t i = 0; i < n; i++) {
		of[i] = stride[perm[i]];
		size[i] = dims[perm[i]];
	}
	if (r->m->ids.n + product > HLO_MAX_GROUP_IDS)
		return too_many(r, at);
	vec_reserve(&r->m->ids, r->m->ids.n + (uint32_t)product);
	for (int64_t k = 0, id = 0; k < product; k++) {
		r->m->ids.p[r->m->ids.n++] = (int32_t)id;
		for (uint32_t i = n; i-- > 0;) {
			id += of[i];
			if (++index[i] < size[i])
				break;
			id -= of[i] * size[i];
			index[i] = 0;
		}
	}
	return ST_OK;
}

static void push_rows(hlo_module *m, hlo_groups *g, uint32_t first_id, int64_t rows, int64_t size)
{
	g->first = m->starts.n;
	g->n_groups = (uint32_t)rows;
	g->largest = (uint32_t)size;
	for (int64_t i = 0; i <= rows; i++)
		vec_push(&m->starts, first_id + (uint32_t)(i * size));
}

static status read_iota(hlo_reader *r, hlo_groups *g)
{
	int64_t shape[MAX_GROUP_DIMS], dims[MAX_GROUP_DIMS], product, ids;
	uint32_t n_shape, n, perm[MAX_GROUP_DIMS], first = r->m->ids.n;
	const char *at = r->lex.p;
	TRY(read_dims(r, shape, &n_shape, &product));
	if (strncmp(r->lex.p, "<=", 2))
		return hlo_expected(r, "'<=' and the dims of the ids");
	r->lex.p += 2;
	TRY(read_dims(r, dims, &n, &ids));
	TRY(read_transpose(r, n, perm));
	if (n_shape != 2 || product != ids)
		return hlo_error(r, at, ST_ERR_INVALID,
			"expected [groups,members] of the %lld ids behind <=", (long long)ids);
	TRY(push_iota(r, at, dims, n, perm));
	push_rows(r->m, g, first, shape[0], shape[1]);
	return ST_OK;
}

typedef struct axis_list {
	uint32_t n;
	str name[MAX_GROUP_DIMS];
	int64_t size[MAX_GROUP_DIMS];
	bool grouped[MAX_GROUP_DIMS];
} axis_list;

static status read_quoted(hlo_reader *r, str *out)
{
	hlo_skip(r);
	char quote = *r->lex.p;
	if (quote != '\'' && quote != '"')
		return hlo_expected(r, "the name of an axis in quotes");
	const char *from = ++r->lex.p;
	while (*r->lex.p != quote && *r->lex.p != '\n' && r->lex.p < r->lex.end)
		r->lex.p++;
	if (*r->lex.p != quote)
		return hlo_error(r, from - 1, ST_ERR_PARSE, "the name has no end");
	*out = lex_view(from, r->lex.p++);
	return ST_OK;
}

static status push_axis(hlo_reader *r, axis_list *l, uint32_t at, str name, int64_t size)
{
	if (l->n == MAX_GROUP_DIMS)
		return hlo_error(r, r->lex.p, ST_ERR_LIMIT, "more than %d axes", MAX_GROUP_DIMS);
	for (uint32_t i = l->n++; i > at; i--) {
		l->name[i] = l->name[i - 1];
		l->size[i] = l->size[i - 1];
		l->grouped[i] = l->grouped[i - 1];
	}
	l->name[at] = name;
	l->size[at] = size;
	l->grouped[at] = false;
	return ST_OK;
}

/* Cuts the axis so that the part with `before` positions above it and `size` of its own stands
 * alone; groups over it. 'a':(2)4 names a part that earlier cuts may have made smaller. */
static status group_over(
	hlo_reader *r, axis_list *l, const char *at, str name, int64_t before, int64_t size)
{
	int64_t above = 1;
	bool any = false;
	for (uint32_t i = 0; i < l->n; i++) {
		if (!str_equal(l->name[i], name))
			continue;
		any = true;
		int64_t low = above, high = above * l->size[i], from = MAX(low, before),
				to = size ? MIN(high, before * size) : high;
		above = high;
		if (from >= to)
			continue;
		if (from % low || to % from || high % to)
			return hlo_error(r, at, ST_ERR_INVALID, "the part (%lld)%lld does not divide the axis",
				(long long)before, (long long)size);
		uint32_t here = i;
		if (from > low) {
			TRY(push_axis(r, l, i, name, from / low));
			here = ++i;
		}
		if (high > to) {
			TRY(push_axis(r, l, here + 1, name, high / to));
			i++;
		}
		l->size[here] = to / from;
		l->grouped[here] = true;
	}
	return any
		? ST_OK
		: hlo_error(r, at, ST_ERR_INVALID, "the mesh has no axis '" STR_FMT "'", STR_ARG(name));
}

static status read_mesh_axes(hlo_reader *r, axis_list *l, int64_t *devices)
{
	*devices = 1;
	TRY(hlo_expect(r, '['));
	while (!hlo_take(r, ']')) {
		str name;
		int64_t size;
		const char *at = r->lex.p;
		TRY(read_quoted(r, &name));
		TRY(hlo_expect(r, '='));
		TRY(hlo_number(r, &size));
		if (size < 1)
			return hlo_error(r, at, ST_ERR_INVALID, "an axis of size %lld", (long long)size);
		*devices = sat_mul(*devices, size);
		if (*devices > HLO_MAX_GROUP_IDS)
			return too_many(r, at);
		TRY(push_axis(r, l, l->n, name, size));
		hlo_take(r, ',');
	}
	return ST_OK;
}

/* device_ids=([2,4]T(1,0)), or a list in parentheses, into module.ids */
static status read_device_ids(hlo_reader *r, int64_t devices)
{
	uint32_t before = r->m->ids.n;
	hlo_skip(r);
	const char *at = r->lex.p;
	TRY(hlo_expect(r, '('));
	hlo_skip(r);
	if (*r->lex.p == '[') {
		int64_t dims[MAX_GROUP_DIMS], ids;
		uint32_t n, perm[MAX_GROUP_DIMS];
		TRY(read_dims(r, dims, &n, &ids));
		TRY(read_transpose(r, n, perm));
		TRY(push_iota(r, at, dims, n, perm));
		TRY(hlo_expect(r, ')'));
	} else {
		uint32_t first, n;
		r->lex.p = at;
		TRY(hlo_int_list(r, '(', ')', &first, &n));
		r->m->numbers.n = first;
		if (r->m->ids.n + (uint64_t)n > HLO_MAX_GROUP_IDS)
			return too_many(r, at);
		for (uint32_t i = 0; i < n; i++) {
			int64_t id = r->m->numbers.p[first + i];
			if (id < 0 || id >= HLO_MAX_DEVICES)
				return hlo_error(r, at, ST_ERR_INVALID, "device id %lld", (long long)id);
			vec_push(&r->m->ids, (int32_t)id);
		}
	}
	if (r->m->ids.n - before != devices)
		return hlo_error(r, at, ST_ERR_INVALID, "%u device ids for a mesh of %lld",
			r->m->ids.n - before, (long long)devices);
	return ST_OK;
}

static status read_mesh(hlo_reader *r, hlo_groups *g)
{
	axis_list l = {0};
	int64_t devices, members = 1;
	const char *at = r->lex.p;
	r->lex.p += 4;
	TRY(read_mesh_axes(r, &l, &devices));
	uint32_t order = r->m->ids.n;
	bool listed = false;
	hlo_skip(r);
	if (*r->lex.p == ',') {
		r->lex.p++;
		hlo_skip(r);
		str key = lex_word(&r->lex);
		if (!str_is(key, "device_ids"))
			return hlo_error(
				r, key.p, ST_ERR_PARSE, "expected device_ids or the axes to group over");
		TRY(hlo_expect(r, '='));
		TRY(read_device_ids(r, devices));
		listed = true;
	}
	TRY(hlo_expect(r, '{'));
	while (!hlo_take(r, '}')) {
		str name;
		int64_t before = 1, size = 0;
		hlo_skip(r);
		const char *axis_at = r->lex.p;
		TRY(read_quoted(r, &name));
		if (hlo_take(r, ':')) {
			TRY(hlo_expect(r, '('));
			TRY(hlo_number(r, &before));
			TRY(hlo_expect(r, ')'));
			TRY(hlo_number(r, &size));
			if (before < 1 || size < 1 || sat_mul(before, size) > HLO_MAX_GROUP_IDS)
				return hlo_error(r, axis_at, ST_ERR_INVALID, "the part (%lld)%lld of an axis",
					(long long)before, (long long)size);
		}
		TRY(group_over(r, &l, axis_at, name, before, size));
		hlo_take(r, ',');
	}
	/* the axes that are not grouped over first, the others within a group */
	int64_t dims[MAX_GROUP_DIMS] = {1};
	uint32_t perm[MAX_GROUP_DIMS] = {0}, n = 0, first = r->m->ids.n;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < l.n; i++) {
			dims[i] = l.size[i];
			if (l.grouped[i] == pass)
				perm[n++] = i;
			if (pass && l.grouped[i])
				members *= l.size[i];
		}
	TRY(push_iota(r, at, dims, MAX(n, 1), perm));
	for (uint32_t i = first; listed && i < r->m->ids.n; i++)
		r->m->ids.p[i] = r->m->ids.p[order + (uint32_t)r->m->ids.p[i]];
	push_rows(r->m, g, first, devices / members, members);
	return ST_OK;
}

static status read_list(hlo_reader *r, hlo_groups *g)
{
	hlo_module *m = r->m;
	TRY(hlo_expect(r, '{'));
	g->first = m->starts.n;
	while (!hlo_take(r, '}')) {
		uint32_t first, n;
		hlo_skip(r);
		const char *at = r->lex.p;
		TRY(hlo_int_list(r, '{', '}', &first, &n));
		m->numbers.n = first;
		if (m->ids.n + (uint64_t)n > HLO_MAX_GROUP_IDS)
			return too_many(r, at);
		if (!g->n_groups)
			vec_push(&m->starts, m->ids.n);
		for (uint32_t i = 0; i < n; i++) {
			int64_t id = m->numbers.p[first + i];
			if (id < 0 || id >= HLO_MAX_DEVICES)
				return hlo_error(
					r, at, ST_ERR_INVALID, "id %lld in a replica group", (long long)id);
			vec_push(&m->ids, (int32_t)id);
		}
		vec_push(&m->starts, m->ids.n);
		g->n_groups++;
		g->largest = MAX(g->largest, n);
		hlo_take(r, ',');
	}
	return ST_OK;
}

status hlo_read_groups(hlo_reader *r, uint32_t *id)
{
	const char *from = r->lex.p;
	for (uint32_t k = 0; k < r->group_texts.n; k++) {
		str t = r->group_texts.p[k].text;
		if ((size_t)(r->lex.end - from) > t.n && !memcmp(from, t.p, t.n) &&
			(from[t.n] == ',' || from[t.n] == '\n')) {
			r->lex.p = from + t.n;
			*id = r->group_texts.p[k].shape;
			return ST_OK;
		}
	}
	hlo_groups g = {0};
	TRY(*from == '['                    ? read_iota(r, &g)
			: !strncmp(from, "mesh", 4) ? read_mesh(r, &g)
										: read_list(r, &g));
	*id = r->m->groups.n;
	g.max_id = -1;
	for (uint32_t k = g.n_groups ? r->m->starts.p[g.first] : 0;
		 k < (g.n_groups ? r->m->starts.p[g.first + g.n_groups] : 0); k++)
		g.max_id = MAX(g.max_id, r->m->ids.p[k]);
	vec_push(&r->m->groups, g);
	if (r->group_texts.n < MAX_KNOWN)
		vec_push(&r->group_texts, (struct hlo_known){lex_view(from, r->lex.p), *id});
	return ST_OK;
}

hlo_id_mode hlo_ids_of(const hlo_module *m, hlo_id i)
{
	bool channel = hlo_int(m, i, HLO_ATTR_CHANNEL_ID, 0) > 0;
	if (hlo_int(m, i, HLO_ATTR_GLOBAL_IDS, 0))
		return HLO_IDS_GLOBAL;
	if (!channel)
		return HLO_IDS_REPLICA;
	switch (m->instrs.p[i].op) {
	case HLO_ALL_TO_ALL:
	case HLO_RAGGED_ALL_TO_ALL:
	case HLO_COLLECTIVE_PERMUTE:
	case HLO_COLLECTIVE_PERMUTE_START:
	case HLO_COLLECTIVE_BROADCAST: return HLO_IDS_PARTITION;
	default: return HLO_IDS_REPLICA_ALL_PARTITIONS;
	}
}

static void push_group(
	const hlo_module *m, hlo_id_mode mode, const int32_t *ids, uint32_t n, hlo_members *out)
{
	int64_t parts = m->n_partitions,
			copies = mode == HLO_IDS_REPLICA ? parts
		: mode == HLO_IDS_PARTITION          ? m->n_replicas
											 : 1;
	for (int64_t c = 0; c < copies; c++) {
		for (uint32_t i = 0; i < n; i++) {
			int64_t id = ids[i];
			if (mode == HLO_IDS_REPLICA_ALL_PARTITIONS) {
				for (int64_t p = 0; p < parts; p++)
					vec_push(&out->ids, (int32_t)(id * parts + p));
				continue;
			}
			vec_push(&out->ids,
				(int32_t)(mode == HLO_IDS_REPLICA   ? id * parts + c
						: mode == HLO_IDS_PARTITION ? c * parts + id
													: id));
		}
		vec_push(&out->starts, out->ids.n);
	}
}

/* One group of all ids of the mode. */
static void push_all(const hlo_module *m, hlo_id_mode mode, hlo_members *out)
{
	int64_t n = mode == HLO_IDS_GLOBAL ? m->n_partitions * m->n_replicas
		: mode == HLO_IDS_PARTITION    ? m->n_partitions
									   : m->n_replicas;
	int32_t *ids = xmalloc((size_t)n * sizeof *ids);
	for (int64_t i = 0; i < n; i++)
		ids[i] = (int32_t)i;
	push_group(m, mode, ids, (uint32_t)n, out);
	free(ids);
}

void hlo_group_members(const hlo_module *m, hlo_id i, hlo_members *out)
{
	*out = (hlo_members){0};
	vec_push(&out->starts, 0);
	hlo_id_mode mode = hlo_ids_of(m, i);
	uint32_t n;
	const int64_t *pairs = hlo_ints(m, i, HLO_ATTR_PAIRS, &n);
	for (uint32_t k = 0; k + 1 < n; k += 2)
		push_group(m, mode, (int32_t[]){(int32_t)pairs[k], (int32_t)pairs[k + 1]}, 2, out);
	const hlo_attr *a = hlo_attr_find(m, i, HLO_ATTR_REPLICA_GROUPS);
	const hlo_groups *g = a ? &m->groups.p[a->numbers] : NULL;
	if (g && g->n_groups)
		for (uint32_t k = 0; k < g->n_groups; k++) {
			uint32_t from = m->starts.p[g->first + k];
			push_group(m, mode, m->ids.p + from, m->starts.p[g->first + k + 1] - from, out);
		}
	else if (!n)
		push_all(m, mode, out);
}

void hlo_members_release(hlo_members *g)
{
	vec_release(&g->starts);
	vec_release(&g->ids);
}
