/* HloSharding text. Devices are positions in the mesh, as JAX writes them whatever devices it has
 * put there. In the order of tiles they are written either as a list or as "iota": the numbers
 * 0..n-1 reshaped, transposed and flattened. Tile dims beyond the tensor's rank are groups of
 * devices that hold the same tile (replicated), a part of its sum (unreduced), or that the program
 * itself tells apart (manual). {unknown} leaves every dim to the compiler: all are open. */
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

/* Reshape dims and the transposition, without dims of size 1 and with neighbours joined that stay
 * neighbours. */
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

/* A tile dim for groups of devices behind those of the tensor. */
struct groups {
	const char *words[3];
	uint32_t n;
};

static void add_group(struct groups *g, int64_t *tiles, uint32_t *n, int64_t size, const char *word)
{
	if (size == 1)
		return;
	tiles[(*n)++] = size;
	g->words[g->n++] = word;
}

static void print_groups(const struct groups *g, strbuf *out)
{
	if (g->n == 1 && !strcmp(g->words[0], "replicated")) {
		strbuf_puts(out, " last_tile_dim_replicate");
		return;
	}
	for (uint32_t i = 0; i < g->n; i++)
		strbuf_printf(out, "%s%s", i ? ", " : " last_tile_dims={", g->words[i]);
	if (g->n)
		strbuf_putc(out, '}');
}

static bool is_unknown(const sharding_edit *e)
{
	for (uint32_t i = 0; i < e->rank; i++)
		if (e->dims[i].closed || e->dims[i].axes.n || e->dims[i].priority > 0)
			return false;
	return e->rank && !e->unreduced.n && !e->replicated.n;
}

static void print_tiles(const sharding_table *t, const tensor_spec *s, struct groups *groups,
	int64_t *tiles, uint32_t n, strbuf *out)
{
	mesh_pieces p;
	uint32_t order[COUNT_OF(p.a)];
	/* manual groups stand where unreduced ones do */
	sharding_edit *all = xmalloc(sizeof *all);
	*all = s->e;
	for (uint32_t i = 0; i < s->manual.n; i++)
		all->unreduced.a[all->unreduced.n++] = s->manual.a[i];
	pieces_of(t, all, &p);
	tile_order(&p, all, order);
	free(all);
	strbuf_puts(out, "{devices=[");
	print_list(tiles, n, out);
	strbuf_putc(out, ']');
	print_iota(&p, order, out);
	print_groups(groups, out);
	strbuf_putc(out, '}');
}

status gspmd_print(const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d)
{
	const sharding_edit *e = &s->e;
	const device_mesh *m = &t->meshes.p[e->mesh];
	if (m->maximal) {
		strbuf_printf(out, "{maximal device=%lld}", (long long)m->device_ids[0]);
		return ST_OK;
	}
	if (is_unknown(e) && !s->manual.n) {
		strbuf_puts(out, "{unknown}");
		return ST_OK;
	}
	TRY(refuse_beyond(
		t, s, "gspmd", (vocabulary){.unreduced = true, .sub_axes = true, .manual = true}, d));
	int64_t tiles[MAX_RANK + 3], cut = 1, partial = axes_product(axes_of(&e->unreduced)),
								 manual = axes_product(axes_of(&s->manual));
	uint32_t n = 0;
	for (; n < e->rank; n++) {
		tiles[n] = axes_product(axes_of(&e->dims[n].axes));
		cut *= tiles[n];
	}
	struct groups groups = {.n = 0};
	add_group(&groups, tiles, &n, partial, "unreduced");
	add_group(&groups, tiles, &n, manual, "manual");
	add_group(&groups, tiles, &n, m->n_devices / cut / partial / manual, "replicated");
	if (cut == 1 && partial == 1 && manual == 1)
		strbuf_puts(out, "{replicated}");
	else if (cut == 1 && groups.n == 1)
		strbuf_printf(out, "{%s}", groups.words[0]);
	else
		print_tiles(t, s, &groups, tiles, n, out);
	return ST_OK;
}

/* ---------------------------------------------------------------- parsing */

struct tiling {
	int64_t sizes[MAX_TILE_DIMS], strides[MAX_TILE_DIMS];
	uint32_t n, n_groups; /* n_groups of the n are last_tile_dims */
	enum { REPLICATED, UNREDUCED, MANUAL } group[MAX_TILE_DIMS];
	uint32_t *tile_of; /* by mesh position */
};

static status parse_ints(
	scan *s, char close, const char *what, int64_t *out, uint32_t room, uint32_t *n)
{
	*n = 0;
	do {
		if (*n == room)
			return scan_fail(
				s, s->at, ST_ERR_LIMIT, "more than %u entries in a list of %s", room, what);
		TRY(scan_int(s, what, &out[(*n)++]));
	} while (scan_take(s, ','));
	return close ? scan_expect(s, close, "after the list") : ST_OK;
}

static status product_is(
	scan *s, size_t at, const int64_t *v, uint32_t n, int64_t want, const char *what)
{
	int64_t product = 1;
	for (uint32_t i = 0; i < n; i++) {
		if (v[i] < 1)
			return scan_fail(s, at, ST_ERR_INVALID, "a size of %s is 0", what);
		product = sat_mul(product, v[i]);
	}
	if (product != want)
		return scan_fail(s, at, ST_ERR_INVALID, "%s stand for %lld devices, the mesh has %lld",
			what, (long long)product, (long long)want);
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
			return scan_fail(
				s, at, ST_ERR_INVALID, "T(..) is not an order of the %u reshape dims", n);
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
		r = scan_fail(s, start, ST_ERR_INVALID, "%lld devices are listed, the mesh has %lld",
			(long long)n, (long long)n_devices);
	return r;
}

/* last_tile_dim_replicate or last_tile_dims={replicated, unreduced} */
static status parse_groups(scan *s, struct tiling *t)
{
	if (scan_word_is(s, "last_tile_dim_replicate")) {
		t->n_groups = 1;
		return ST_OK;
	}
	if (!scan_word_is(s, "last_tile_dims"))
		return ST_OK;
	uint32_t groups[MAX_TILE_DIMS];
	TRY(scan_expect(s, '=', "after last_tile_dims"));
	TRY(scan_expect(s, '{', "after last_tile_dims="));
	do {
		scan_peek(s);
		size_t at = s->at;
		str word = scan_word(s);
		if (t->n_groups == t->n)
			return scan_fail(s, at, ST_ERR_INVALID, "more last_tile_dims than tile dims");
		if (str_is(word, "replicated"))
			groups[t->n_groups++] = REPLICATED;
		else if (str_is(word, "unreduced"))
			groups[t->n_groups++] = UNREDUCED;
		else if (str_is(word, "manual"))
			groups[t->n_groups++] = MANUAL;
		else
			return scan_fail(s, at, ST_ERR_PARSE, "expected replicated, unreduced or manual");
	} while (scan_take(s, ','));
	for (uint32_t i = 0; i < t->n_groups; i++)
		t->group[t->n - t->n_groups + i] = groups[i];
	return scan_expect(s, '}', "after last_tile_dims");
}

static int64_t tile_index(const void *ctx, int64_t position, uint32_t dim)
{
	const struct tiling *t = ctx;
	return t->tile_of[position] / t->strides[dim] % t->sizes[dim];
}

static void append(axes_buf *to, const axes_buf *from)
{
	for (uint32_t k = 0; k < from->n; k++)
		to->a[to->n++] = from->a[k];
}

static status solve_tiles(const sharding_table *t, scan *s, size_t start, struct tiling *tiles,
	const uint32_t *devices, tensor_spec *out)
{
	sharding_edit *e = &out->e;
	const device_mesh *m = &t->meshes.p[e->mesh];
	axes_buf *lists = xmalloc(tiles->n * sizeof *lists);
	diag inner = {0};
	int64_t parts[MAX_TILE_DIMS], stride = 1;
	for (uint32_t i = tiles->n; i-- > 0;) {
		tiles->strides[i] = stride;
		stride *= tiles->sizes[i];
		/* nothing depends on the order of devices in a replicated group */
		parts[i] = i >= e->rank && tiles->group[i] == REPLICATED ? 1 : tiles->sizes[i];
	}
	tiles->tile_of = xmalloc((size_t)m->n_devices * sizeof *tiles->tile_of);
	for (int64_t q = 0; q < m->n_devices; q++)
		tiles->tile_of[devices[q]] = (uint32_t)q;

	status r = pieces_solve(t, e->mesh, tiles->n, parts, tile_index, tiles, lists, &inner);
	if (r != ST_OK)
		r = scan_fail(s, start, r, "cannot be expressed over this mesh: %s", inner.msg);
	for (uint32_t i = 0; i < tiles->n && r == ST_OK; i++) {
		if (i < e->rank)
			axes_copy(&e->dims[i].axes, axes_of(&lists[i]));
		else
			append(tiles->group[i] == MANUAL ? &out->manual : &e->unreduced, &lists[i]);
	}
	axes_sort_merge(&e->unreduced);
	axes_sort_merge(&out->manual);
	free(tiles->tile_of);
	free(lists);
	return r;
}

/* devices=[..] and what follows */
static status parse_tiles(const sharding_table *t, scan *s, tensor_spec *out)
{
	struct tiling tiles = {0};
	const uint32_t rank = out->e.rank;
	int64_t n_devices = t->meshes.p[out->e.mesh].n_devices;
	size_t start = s->at;
	TRY(scan_expect(s, '=', "after devices"));
	TRY(scan_expect(s, '[', "before the tile sizes"));
	size_t at = s->at;
	TRY(parse_ints(s, ']', "tile sizes", tiles.sizes, MAX_TILE_DIMS, &tiles.n));
	TRY(product_is(s, at, tiles.sizes, tiles.n, n_devices, "the tile sizes"));
	uint32_t *devices = xmalloc((size_t)n_devices * sizeof *devices);
	status r = scan_take(s, '<') ? parse_iota(s, devices, n_devices)
								 : parse_device_list(s, devices, n_devices);
	if (r == ST_OK)
		r = parse_groups(s, &tiles);
	if (r == ST_OK && tiles.n - tiles.n_groups != rank)
		r = scan_fail(s, at, ST_ERR_INVALID, "the sharding has %u dimensions, the tensor has %u",
			tiles.n - tiles.n_groups, rank);
	if (r == ST_OK)
		r = solve_tiles(t, s, start, &tiles, devices, out);
	free(devices);
	return r;
}

/* One device holds all. Over a mesh of one device that says nothing; over another the sharding is
 * over a mesh of its own. */
static status parse_maximal(sharding_table *t, scan *s, sharding_edit *e)
{
	const device_mesh *m = &t->meshes.p[e->mesh];
	int64_t device;
	if (!scan_word_is(s, "device"))
		return scan_fail(s, s->at, ST_ERR_PARSE, "expected device= after maximal");
	TRY(scan_expect(s, '=', "after device"));
	scan_peek(s);
	size_t at = s->at;
	TRY(scan_int(s, "a device number", &device));
	if (m->maximal ? device != m->device_ids[0] : device >= m->n_devices)
		return scan_fail(
			s, at, ST_ERR_INVALID, "device %lld is not in the mesh", (long long)device);
	if (m->maximal)
		e->rank = 0;
	else if (m->n_devices > 1)
		sharding_edit_init(e, maximal_mesh(t, device), 0, true);
	return ST_OK;
}

static void all_axes(const sharding_table *t, mesh_id m, axes_buf *out)
{
	for (uint32_t i = 0; i < t->meshes.p[m].n_axes; i++)
		out->a[out->n++] = mesh_full_axis(t, m, i);
}

status gspmd_parse(sharding_table *t, scan *s, tensor_spec *out)
{
	sharding_edit *e = &out->e;
	TRY(scan_expect(s, '{', "before the sharding"));
	if (scan_peek(s) == '{')
		return scan_fail(
			s, s->at, ST_ERR_UNSUPPORTED, "this is a tuple of shardings, expected one");
	size_t start = s->at;
	str word = scan_word(s);
	if (str_is(word, "maximal"))
		TRY(parse_maximal(t, s, e));
	else if (t->meshes.p[e->mesh].maximal)
		return scan_fail(
			s, start, ST_ERR_INVALID, "expected maximal, as the mesh is a single device");
	else if (str_is(word, "devices"))
		TRY(parse_tiles(t, s, out));
	else if (str_is(word, "unreduced"))
		all_axes(t, e->mesh, &e->unreduced);
	else if (str_is(word, "manual"))
		all_axes(t, e->mesh, &out->manual);
	else if (str_is(word, "unknown"))
		sharding_edit_init(e, e->mesh, e->rank, false);
	else if (!str_is(word, "replicated"))
		return scan_fail(s, start, ST_ERR_PARSE,
			"expected devices=[..], replicated, maximal device=N, unreduced, manual or unknown");
	return scan_expect(s, '}', "after the sharding");
}
