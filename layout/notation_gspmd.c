/* HloSharding text. The devices of the mesh, in the order of tiles, are written either as a list or as "iota": the
 * numbers 0..n-1 reshaped, transposed and flattened. Tile dims beyond the tensor's rank are groups of devices that hold
 * the same tile (replicated) or a part of its sum (unreduced). */
#include "layout/pieces.h"

#include <stdlib.h>

enum { MAX_TILE_DIMS = MAX_RANK + 4, MAX_IOTA_DIMS = 64 };

/* ---------------------------------------------------------------- printing */

static void print_list(const int64_t *v, uint32_t n, strbuf *out)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			strbuf_putc(out, ',');
		strbuf_i64(out, v[i]);
	}
}

/* Reshape dims and the transposition, without dims of size 1 and with neighbours joined that stay neighbours. */
static void print_iota(const mesh_pieces *p, const uint32_t *order, strbuf *out)
{
	uint32_t place[COUNT_OF(p->a)], run_of[COUNT_OF(p->a)], n = 0, n_runs = 0;
	int64_t sizes[COUNT_OF(p->a)];
	for (uint32_t i = 0; i < p->n; i++)
		if (axis_size(p->a[order[i]]) > 1)
			place[order[i]] = n++;
	uint32_t last = ID_NONE;
	for (uint32_t i = 0; i < p->n; i++) {
		if (axis_size(p->a[i]) == 1)
			continue;
		if (last != ID_NONE && place[i] == place[last] + 1)
			sizes[n_runs - 1] *= axis_size(p->a[i]);
		else
			sizes[n_runs++] = axis_size(p->a[i]);
		run_of[i] = n_runs - 1;
		last = i;
	}
	strbuf_puts(out, "<=[");
	print_list(sizes, n_runs, out);
	strbuf_putc(out, ']');
	if (n_runs < 2)
		return;
	uint32_t previous = ID_NONE;
	for (uint32_t i = 0; i < p->n; i++) {
		if (axis_size(p->a[order[i]]) == 1 || run_of[order[i]] == previous)
			continue;
		strbuf_puts(out, previous == ID_NONE ? "T(" : ",");
		previous = run_of[order[i]];
		strbuf_i64(out, previous);
	}
	strbuf_putc(out, ')');
}

static void print_devices(const mesh *m, const mesh_pieces *p, const uint32_t *order, strbuf *out)
{
	int64_t strides[COUNT_OF(p->a)], stride = 1;
	for (uint32_t i = p->n; i-- > 0;) {
		strides[i] = stride;
		stride *= axis_size(p->a[i]);
	}
	for (int64_t q = 0; q < m->n_devices; q++) {
		int64_t position = 0, rest = q;
		for (uint32_t i = p->n; i-- > 0;) {
			int64_t size = axis_size(p->a[order[i]]);
			position += rest % size * strides[order[i]];
			rest /= size;
		}
		if (q)
			strbuf_putc(out, ',');
		strbuf_i64(out, m->device_ids[position]);
	}
}

/* The pieces in the order of tiles: those of the dims, those unreduced, the rest in mesh order. */
static void tile_order(const mesh_pieces *p, const sharding_edit *e, uint32_t *order)
{
	uint32_t n = 0;
	for (uint32_t d = 0; d < e->rank; d++)
		for (uint32_t i = 0; i < e->dims[d].axes.n; i++)
			order[n++] = piece_find(p, e->dims[d].axes.a[i]);
	for (uint32_t i = 0; i < e->unreduced.n; i++)
		order[n++] = piece_find(p, e->unreduced.a[i]);
	for (uint32_t i = 0; i < p->n; i++)
		if (!p->used[i])
			order[n++] = i;
}

status gspmd_print(const sharding_table *t, const sharding_edit *e, strbuf *out, diag *d)
{
	const mesh *m = &t->meshes.p[e->mesh];
	if (m->maximal) {
		strbuf_printf(out, "{maximal device=%lld}", (long long)m->device_ids[0]);
		return ST_OK;
	}
	TRY(refuse_beyond(t, e, "gspmd", (vocabulary){.unreduced = true, .sub_axes = true}, d));
	int64_t tiles[MAX_RANK + 2], cut = 1, partial = axes_product(axes_of(&e->unreduced));
	uint32_t n = 0;
	for (; n < e->rank; n++) {
		tiles[n] = axes_product(axes_of(&e->dims[n].axes));
		cut *= tiles[n];
	}
	if (cut == 1 && partial == 1) {
		strbuf_puts(out, "{replicated}");
		return ST_OK;
	}
	if (partial == m->n_devices) {
		strbuf_puts(out, "{unreduced}");
		return ST_OK;
	}
	int64_t replicas = m->n_devices / cut / partial;
	if (partial > 1)
		tiles[n++] = partial;
	if (replicas > 1)
		tiles[n++] = replicas;

	mesh_pieces p;
	uint32_t order[COUNT_OF(p.a)];
	pieces_of(t, e, &p);
	tile_order(&p, e, order);
	strbuf_puts(out, "{devices=[");
	print_list(tiles, n, out);
	strbuf_putc(out, ']');
	if (m->n_device_ids)
		print_devices(m, &p, order, out);
	else
		print_iota(&p, order, out);
	if (partial > 1)
		strbuf_puts(out, replicas > 1 ? " last_tile_dims={unreduced, replicated}" : " last_tile_dims={unreduced}");
	else if (replicas > 1)
		strbuf_puts(out, " last_tile_dim_replicate");
	strbuf_putc(out, '}');
	return ST_OK;
}

/* ---------------------------------------------------------------- parsing */

struct tiling {
	int64_t sizes[MAX_TILE_DIMS], strides[MAX_TILE_DIMS];
	uint32_t n, n_groups; /* n_groups of the n are last_tile_dims */
	bool unreduced[MAX_TILE_DIMS];
	uint32_t *tile_of;    /* by mesh position */
};

static status parse_ints(scan *s, char close, const char *what, int64_t *out, uint32_t room, uint32_t *n)
{
	*n = 0;
	do {
		if (*n == room)
			return scan_fail(s, s->at, ST_ERR_LIMIT, "more than %u entries in a list of %s", room, what);
		TRY(scan_int(s, what, &out[(*n)++]));
	} while (scan_take(s, ','));
	return close ? scan_expect(s, close, "after the list") : ST_OK;
}

static status product_is(scan *s, size_t at, const int64_t *v, uint32_t n, int64_t want, const char *what)
{
	int64_t product = 1;
	for (uint32_t i = 0; i < n; i++) {
		if (v[i] < 1)
			return scan_fail(s, at, ST_ERR_INVALID, "a size of %s is 0", what);
		product = sat_mul(product, v[i]);
	}
	if (product != want)
		return scan_fail(s, at, ST_ERR_INVALID, "%s stand for %lld devices, the mesh has %lld", what, (long long)product, (long long)want);
	return ST_OK;
}

/* <=[2,4]T(1,0): devices[q] for every tile q */
static status parse_iota(scan *s, uint32_t *devices, int64_t n_devices)
{
	int64_t dims[MAX_IOTA_DIMS], perm[MAX_IOTA_DIMS], strides[MAX_IOTA_DIMS], stride = 1;
	uint32_t n, n_perm, seen = 0;
	TRY(scan_expect(s, '=', "in '<='"));
	TRY(scan_expect(s, '[', "before the reshape sizes"));
	size_t at = s->at;
	TRY(parse_ints(s, ']', "reshape sizes", dims, MAX_IOTA_DIMS, &n));
	TRY(product_is(s, at, dims, n, n_devices, "the reshape sizes"));
	for (uint32_t i = 0; i < n; i++)
		perm[i] = i;
	if (scan_take(s, 'T')) {
		TRY(scan_expect(s, '(', "after T"));
		at = s->at;
		TRY(parse_ints(s, ')', "transposed dims", perm, MAX_IOTA_DIMS, &n_perm));
		bool taken[MAX_IOTA_DIMS] = {false};
		for (uint32_t i = 0; i < n_perm && perm[i] < n; i++) {
			seen += !taken[perm[i]];
			taken[perm[i]] = true;
		}
		if (n_perm != n || seen != n)
			return scan_fail(s, at, ST_ERR_INVALID, "T(..) is not an order of the %u reshape dims", n);
	}
	for (uint32_t i = n; i-- > 0;) {
		strides[i] = stride;
		stride *= dims[i];
	}
	for (int64_t q = 0; q < n_devices; q++) {
		int64_t device = 0, rest = q;
		for (uint32_t i = n; i-- > 0;) {
			device += rest % dims[perm[i]] * strides[perm[i]];
			rest /= dims[perm[i]];
		}
		devices[q] = (uint32_t)device;
	}
	return ST_OK;
}

static status parse_device_list(scan *s, uint32_t *devices, int64_t n_devices)
{
	uint8_t *seen = xcalloc((size_t)n_devices, 1);
	size_t start = s->at;
	int64_t n = 0;
	status r = ST_OK;
	do {
		int64_t device;
		size_t at = s->at;
		r = scan_int(s, "a device number", &device);
		if (r == ST_OK && (device >= n_devices || seen[device]))
			r = scan_fail(s, at, ST_ERR_INVALID, "device %lld is %s", (long long)device,
			              device >= n_devices ? "not in the mesh" : "listed twice");
		if (r == ST_OK) {
			seen[device] = 1;
			devices[n++] = (uint32_t)device;
		}
	} while (r == ST_OK && scan_take(s, ','));
	free(seen);
	if (r == ST_OK && n != n_devices)
		r = scan_fail(s, start, ST_ERR_INVALID, "%lld devices are listed, the mesh has %lld", (long long)n, (long long)n_devices);
	return r;
}

/* last_tile_dim_replicate or last_tile_dims={replicated, unreduced} */
static status parse_groups(scan *s, struct tiling *t)
{
	if (scan_word_is(s, "last_tile_dim_replicate")) {
		t->n_groups = 1;
		t->unreduced[t->n - 1] = false;
		return ST_OK;
	}
	if (!scan_word_is(s, "last_tile_dims"))
		return ST_OK;
	bool unreduced[MAX_TILE_DIMS];
	TRY(scan_expect(s, '=', "after last_tile_dims"));
	TRY(scan_expect(s, '{', "after last_tile_dims="));
	do {
		scan_peek(s);
		size_t at = s->at;
		str word = scan_word(s);
		if (str_is(word, "manual") || str_is(word, "maximal"))
			return scan_fail(s, at, ST_ERR_UNSUPPORTED, STR_FMT " subgroups cannot be expressed as a sharding over the mesh", STR_ARG(word));
		if (!str_is(word, "replicated") && !str_is(word, "unreduced"))
			return scan_fail(s, at, ST_ERR_PARSE, "expected replicated or unreduced");
		if (t->n_groups == t->n)
			return scan_fail(s, at, ST_ERR_INVALID, "more last_tile_dims than tile dims");
		unreduced[t->n_groups++] = str_is(word, "unreduced");
	} while (scan_take(s, ','));
	for (uint32_t i = 0; i < t->n_groups; i++)
		t->unreduced[t->n - t->n_groups + i] = unreduced[i];
	return scan_expect(s, '}', "after last_tile_dims");
}

static int64_t tile_index(const void *ctx, int64_t position, uint32_t dim)
{
	const struct tiling *t = ctx;
	return t->tile_of[position] / t->strides[dim] % t->sizes[dim];
}

static status solve_tiles(const sharding_table *t, scan *s, size_t start, struct tiling *tiles, const uint32_t *devices, sharding_edit *e)
{
	const mesh *m = &t->meshes.p[e->mesh];
	axes_buf *lists = xmalloc(tiles->n * sizeof *lists);
	uint32_t *tile_of_device = xmalloc((size_t)m->n_devices * sizeof *tile_of_device);
	diag inner = {0};
	int64_t parts[MAX_TILE_DIMS], stride = 1;
	for (uint32_t i = tiles->n; i-- > 0;) {
		tiles->strides[i] = stride;
		stride *= tiles->sizes[i];
		/* nothing depends on the order of devices in a replicated group */
		parts[i] = i >= e->rank && !tiles->unreduced[i] ? 1 : tiles->sizes[i];
	}
	for (int64_t q = 0; q < m->n_devices; q++)
		tile_of_device[devices[q]] = (uint32_t)q;
	tiles->tile_of = xmalloc((size_t)m->n_devices * sizeof *tiles->tile_of);
	for (int64_t p = 0; p < m->n_devices; p++)
		tiles->tile_of[p] = tile_of_device[m->n_device_ids ? m->device_ids[p] : p];

	status r = pieces_solve(t, e->mesh, tiles->n, parts, tile_index, tiles, lists, &inner);
	if (r != ST_OK)
		r = scan_fail(s, start, r, "cannot be expressed over this mesh: %s", inner.msg);
	for (uint32_t i = 0; i < tiles->n && r == ST_OK; i++) {
		if (i < e->rank)
			axes_copy(&e->dims[i].axes, axes_of(&lists[i]));
		else
			for (uint32_t k = 0; k < lists[i].n; k++)
				e->unreduced.a[e->unreduced.n++] = lists[i].a[k];
	}
	axes_sort_merge(&e->unreduced);
	free(tiles->tile_of);
	free(tile_of_device);
	free(lists);
	return r;
}

/* devices=[..] and what follows */
static status parse_tiles(const sharding_table *t, scan *s, sharding_edit *e)
{
	struct tiling tiles = {0};
	int64_t n_devices = t->meshes.p[e->mesh].n_devices;
	size_t start = s->at;
	TRY(scan_expect(s, '=', "after devices"));
	TRY(scan_expect(s, '[', "before the tile sizes"));
	size_t at = s->at;
	TRY(parse_ints(s, ']', "tile sizes", tiles.sizes, MAX_TILE_DIMS, &tiles.n));
	TRY(product_is(s, at, tiles.sizes, tiles.n, n_devices, "the tile sizes"));
	uint32_t *devices = xmalloc((size_t)n_devices * sizeof *devices);
	status r = scan_take(s, '<') ? parse_iota(s, devices, n_devices) : parse_device_list(s, devices, n_devices);
	if (r == ST_OK)
		r = parse_groups(s, &tiles);
	if (r == ST_OK && tiles.n - tiles.n_groups != e->rank)
		r = scan_fail(s, at, ST_ERR_INVALID, "the sharding has %u dimensions, the tensor has %u", tiles.n - tiles.n_groups, e->rank);
	if (r == ST_OK)
		r = solve_tiles(t, s, start, &tiles, devices, e);
	free(devices);
	return r;
}

static status parse_maximal(const sharding_table *t, scan *s, size_t start, sharding_edit *e)
{
	const mesh *m = &t->meshes.p[e->mesh];
	int64_t device;
	if (!scan_word_is(s, "device"))
		return scan_fail(s, s->at, ST_ERR_PARSE, "expected device= after maximal");
	TRY(scan_expect(s, '=', "after device"));
	TRY(scan_int(s, "a device number", &device));
	if (m->n_devices == 1 && device == (m->n_device_ids ? m->device_ids[0] : 0)) {
		if (m->maximal)
			e->rank = 0;
		return ST_OK;
	}
	return scan_fail(s, start, ST_ERR_UNSUPPORTED, "cannot be expressed over this mesh: device %lld alone holds the tensor", (long long)device);
}

status gspmd_parse(sharding_table *t, scan *s, sharding_edit *e)
{
	const mesh *m = &t->meshes.p[e->mesh];
	TRY(scan_expect(s, '{', "before the sharding"));
	if (scan_peek(s) == '{')
		return scan_fail(s, s->at, ST_ERR_UNSUPPORTED, "this is a tuple of shardings, expected one");
	size_t start = s->at;
	str word = scan_word(s);
	if (str_is(word, "maximal"))
		TRY(parse_maximal(t, s, start, e));
	else if (m->maximal)
		return scan_fail(s, start, ST_ERR_INVALID, "expected maximal, as the mesh is a single device");
	else if (str_is(word, "devices"))
		TRY(parse_tiles(t, s, e));
	else if (str_is(word, "unreduced"))
		for (uint32_t i = 0; i < m->n_axes; i++)
			e->unreduced.a[e->unreduced.n++] = mesh_full_axis(t, e->mesh, i);
	else if (str_is(word, "manual") || str_is(word, "unknown"))
		return scan_fail(s, start, ST_ERR_UNSUPPORTED, "{" STR_FMT "} says nothing about slices", STR_ARG(word));
	else if (!str_is(word, "replicated"))
		return scan_fail(s, start, ST_ERR_PARSE, "expected devices=[..], replicated or maximal device=N");
	return scan_expect(s, '}', "after the sharding");
}
