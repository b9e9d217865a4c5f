/* Elements of a dim that other devices hold. Every device needs a range of as many elements, from a
 * place that a table by device tells. The parts that ranges reach into are sent, one permute for
 * each that is so far away and no more of it than some device needs, and stand one behind the other
 * in a buffer, of which a device takes its range. Where that would move as much as gathering the
 * dim does, the dim is gathered. */
#include "lower/emit.h"

enum { MAX_PIECES = 8 /* permutes; beyond them a gather has less to wait for */ };

/* So much of one part. */
typedef struct piece {
	int64_t from, to;
	int64_t *source; /* by device: whose it needs; -1: nobody's */
	bool any, own;   /* some device needs it; all that do have it themselves */
} piece;

/* A buffer of pieces of consecutive parts. */
typedef struct buffer {
	int64_t *anchor; /* by device: the part that the first piece is of */
	int64_t part, length, moved;
	uint32_t n;
	piece pieces[MAX_PIECES];
} buffer;

typedef struct wanted {
	axes cut;
	int64_t size, parts, part, length;
	const int64_t *start; /* by device */
} wanted;

static int64_t floored(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); }

/* What a device needs of all that there is; false: nothing. */
static bool needs(const wanted *w, int64_t device, int64_t *from, int64_t *to)
{
	*from = MAX(w->start[device], 0);
	*to = MIN(w->start[device] + w->length, w->size);
	return *from < *to;
}

/* ---------------------------------------------------------------- which pieces */

static bool no_device_sends_twice(emitter *e, const piece *p)
{
	bool *sends = arena_zarray(&e->mem, bool, e->n_devices);
	for (int64_t i = 0; i < e->n_devices; i++) {
		if (p->source[i] < 0)
			continue;
		if (sends[p->source[i]])
			return false;
		sends[p->source[i]] = true;
	}
	return true;
}

static bool find_sources(emitter *e, const wanted *w, const buffer *b, uint32_t k, piece *p)
{
	*p = (piece){.from = 0,
		.to = w->part,
		.source = arena_array(&e->mem, int64_t, e->n_devices),
		.own = true};
	for (int64_t i = 0; i < e->n_devices; i++) {
		int64_t from, to, at = b->anchor[i] + k;
		bool need = needs(w, i, &from, &to) && from / w->part <= at && at <= (to - 1) / w->part;
		p->source[i] = need ? emit_peer(e->mesh, i, w->cut, at) : -1;
		p->any |= need;
		p->own &= !need || p->source[i] == i;
	}
	return p->own || no_device_sends_twice(e, p);
}

/* The first piece begins and the last one ends where the first device needs it to. */
static void trim_ends(const emitter *e, const wanted *w, buffer *b)
{
	int64_t first = w->part - 1, last = 1;
	for (int64_t i = 0; i < e->n_devices; i++) {
		int64_t from, to;
		if (!needs(w, i, &from, &to))
			continue;
		first = MIN(first, from - b->anchor[i] * w->part);
		last = MAX(last, to - (b->anchor[i] + b->n - 1) * w->part);
	}
	b->pieces[0].from = MAX(first, 0);
	b->pieces[b->n - 1].to = MIN(last, w->part);
}

/* With anchors set. */
static bool find_pieces(emitter *e, const wanted *w, buffer *b)
{
	int64_t n = 1;
	for (int64_t i = 0, from, to; i < e->n_devices; i++)
		if (needs(w, i, &from, &to))
			n = MAX(n, (to - 1) / w->part - b->anchor[i] + 1);
	if (n > MAX_PIECES)
		return false;
	b->part = w->part;
	b->n = (uint32_t)n;
	for (uint32_t k = 0; k < b->n; k++)
		if (!find_sources(e, w, b, k, &b->pieces[k]))
			return false;
	trim_ends(e, w, b);
	b->length = b->moved = 0;
	for (uint32_t k = 0; k < b->n; k++) {
		int64_t size = b->pieces[k].to - b->pieces[k].from;
		b->length += size;
		b->moved += b->pieces[k].any && !b->pieces[k].own ? size : 0;
	}
	return true;
}

/* Pieces of parts that are equally far from every device's own one. */
static bool by_distance(emitter *e, const wanted *w, buffer *b)
{
	int64_t far = INT64_MIN;
	for (int64_t i = 0, from, to; i < e->n_devices; i++)
		if (needs(w, i, &from, &to))
			far = MAX(far, emit_coordinate(e->mesh, i, w->cut) - from / w->part);
	b->anchor = arena_array(&e->mem, int64_t, e->n_devices);
	for (int64_t i = 0; i < e->n_devices; i++)
		b->anchor[i] = emit_coordinate(e->mesh, i, w->cut) - far;
	return far != INT64_MIN && find_pieces(e, w, b);
}

/* Pieces of the first part that a device needs and of those behind it: where parts change their
 * order. */
static bool by_place(emitter *e, const wanted *w, buffer *b)
{
	b->anchor = arena_array(&e->mem, int64_t, e->n_devices);
	for (int64_t i = 0, from, to; i < e->n_devices; i++)
		b->anchor[i] = needs(w, i, &from, &to) ? from / w->part : floored(w->start[i], w->part);
	return find_pieces(e, w, b);
}

/* NULL: the dim is to be gathered. */
static const buffer *choose_buffer(emitter *e, const wanted *w)
{
	buffer *a = arena_zarray(&e->mem, buffer, 1), *b = arena_zarray(&e->mem, buffer, 1);
	int64_t most = (w->parts - 1) * w->part;
	bool near = by_distance(e, w, a), places = by_place(e, w, b);
	const buffer *best = near && (!places || a->moved <= b->moved) ? a : places ? b : NULL;
	return best && best->moved < most && best->length <= w->parts * w->part ? best : NULL;
}

/* ---------------------------------------------------------------- writing them */

value_id emit_stretch(emitter *e, value_id v, uint32_t d, int64_t from, int64_t to)
{
	const ir_type t = *value_type(e->m, v);
	if (!from && to == t.dims[d])
		return v;
	int64_t starts[MAX_RANK] = {0}, limits[MAX_RANK], ones[MAX_RANK];
	for (uint32_t k = 0; k < t.rank; k++) {
		limits[k] = t.dims[k];
		ones[k] = 1;
	}
	starts[d] = from;
	limits[d] = to;
	op_id o = emit_op(e, OP_SLICE, &v, 1, emit_resized_type(e, v, d, to - from), 0);
	op_attr_set(e->m, o, "start_indices", attr_ints(e->m, starts, t.rank));
	op_attr_set(e->m, o, "limit_indices", attr_ints(e->m, limits, t.rank));
	op_attr_set(e->m, o, "strides", attr_ints(e->m, ones, t.rank));
	return op_result(e->m, o, 0);
}

value_id emit_padded(emitter *e, value_id v, uint32_t d, int64_t low, int64_t high, value_id fill)
{
	const ir_type t = *value_type(e->m, v);
	if (!low && !high)
		return v;
	int64_t lows[MAX_RANK] = {0}, highs[MAX_RANK] = {0}, zeros[MAX_RANK] = {0};
	lows[d] = low;
	highs[d] = high;
	const value_id operands[2] = {v, fill == ID_NONE ? emit_scalar_zero(e, v) : fill};
	op_id o =
		emit_op(e, OP_PAD, operands, 2, emit_resized_type(e, v, d, t.dims[d] + low + high), 0);
	op_attr_set(e->m, o, "edge_padding_low", attr_ints(e->m, lows, t.rank));
	op_attr_set(e->m, o, "edge_padding_high", attr_ints(e->m, highs, t.rank));
	op_attr_set(e->m, o, "interior_padding", attr_ints(e->m, zeros, t.rank));
	return op_result(e->m, o, 0);
}

value_id emit_joined(emitter *e, const value_id *list, uint32_t n, uint32_t d)
{
	int64_t size = 0;
	for (uint32_t i = 0; i < n; i++)
		size += value_type(e->m, list[i])->dims[d];
	if (n == 1)
		return list[0];
	op_id o = emit_op(e, OP_CONCATENATE, list, n, emit_resized_type(e, list[0], d, size), 0);
	op_attr_set(e->m, o, "dimension", attr_int(e->m, d, "i64"));
	return op_result(e->m, o, 0);
}

value_id emit_dynamic_stretch(emitter *e, value_id v, uint32_t d, value_id from, int64_t size)
{
	const ir_type t = *value_type(e->m, v);
	type_id index = value_at(e->m, from)->type;
	int64_t sizes[MAX_RANK];
	memcpy(sizes, t.dims, t.rank * sizeof *sizes);
	sizes[d] = size;
	value_id operands[MAX_RANK + 1] = {v},
								 zero = t.rank > 1 ? emit_constant(e, index, "0") : ID_NONE;
	for (uint32_t k = 0; k < t.rank; k++)
		operands[k + 1] = k == d ? from : zero;
	op_id o =
		emit_op(e, OP_DYNAMIC_SLICE, operands, t.rank + 1, emit_resized_type(e, v, d, size), 0);
	op_attr_set(e->m, o, "slice_sizes", attr_ints(e->m, sizes, t.rank));
	return op_result(e->m, o, 0);
}

value_id emit_own_stretch(emitter *e, value_id v, uint32_t d, const int64_t *from, int64_t size)
{
	for (int64_t i = 1; i < e->n_devices; i++)
		if (from[i] != from[0])
			return emit_dynamic_stretch(e, v, d, emit_by_device(e, from), size);
	return emit_stretch(e, v, d, from[0], from[0] + size);
}

static value_id write_buffer(emitter *e, value_id v, uint32_t d, const buffer *b)
{
	value_id *list = arena_array(&e->mem, value_id, b->n);
	for (uint32_t k = 0; k < b->n; k++) {
		const piece *p = &b->pieces[k];
		list[k] = emit_stretch(e, v, d, p->from, p->to);
		if (p->any && !p->own)
			list[k] = emit_sent(e, list[k], p->source);
	}
	return emit_joined(e, list, b->n, d);
}

/* ---------------------------------------------------------------- what lies outside */

value_id emit_positions(emitter *e, int64_t n, value_id first)
{
	const ir_type t = *value_type(e->m, first);
	type_id list = type_tensor(e->m, t.elem, 1, &n);
	op_id iota = emit_op(e, OP_IOTA, NULL, 0, list, 0);
	op_attr_set(e->m, iota, "iota_dimension", attr_int(e->m, 0, "i64"));
	const ir_type to = *type_get(e->m, list);
	const value_id sum[2] = {op_result(e->m, iota, 0), emit_broadcast(e, first, NULL, 0, &to)};
	return op_result(e->m, emit_op(e, OP_ADD, sum, 2, list, 0), 0);
}

value_id emit_number(emitter *e, type_id type, int64_t x)
{
	char text[24];
	snprintf(text, sizeof text, "%lld", (long long)x);
	return emit_constant(e, type, text);
}

/* Of a list of positions: true from `from` on (INT64_MIN: everywhere) and below `to` (INT64_MAX:
 * everywhere). */
static value_id between(emitter *e, value_id positions, int64_t from, int64_t to)
{
	type_id type = value_at(e->m, positions)->type;
	value_id low =
		from == INT64_MIN ? ID_NONE : emit_compare(e, "GE", positions, emit_number(e, type, from));
	value_id high =
		to == INT64_MAX ? ID_NONE : emit_compare(e, "LT", positions, emit_number(e, type, to));
	if (low == ID_NONE || high == ID_NONE)
		return low == ID_NONE ? high : low;
	const value_id pair[2] = {low, high};
	return op_result(e->m, emit_op(e, OP_AND, pair, 2, value_at(e->m, low)->type, 0), 0);
}

value_id emit_choice(emitter *e, value_id positions, int64_t from, int64_t to, uint32_t d,
	value_id v, value_id otherwise)
{
	const ir_type t = *value_type(e->m, v);
	const int64_t dim = d;
	value_id where = emit_broadcast(e, between(e, positions, from, to), &dim, 1, &t);
	if (!value_type(e->m, otherwise)->rank && t.rank)
		otherwise = emit_broadcast(e, otherwise, NULL, 0, &t);
	const value_id operands[3] = {where, v, otherwise};
	return op_result(e->m, emit_op(e, OP_SELECT, operands, 3, value_at(e->m, v)->type, 0), 0);
}

/* A place of a device's buffer for which nobody sent anything: zeros. */
static bool is_blank(const buffer *b, int64_t device, int64_t position)
{
	int64_t k = floored(position, b->part) - b->anchor[device];
	return k >= 0 && k < b->n && b->pieces[k].any && !b->pieces[k].own &&
		b->pieces[k].source[device] < 0;
}

/* Of the places [from, to), which lie outside of the whole: does one have something else than it
 * should in its buffer, which begins at `base`? What lies outside of the buffer too is filled as it
 * should be. */
static bool any_wrong(const wanted *w, const buffer *b, int64_t device, int64_t base, int64_t from,
	int64_t to, bool zero)
{
	if (!b)
		return false;
	from = MAX(from, base);
	to = MIN(to, base + b->length);
	for (int64_t at = from; at < to; at = (floored(at, w->part) + 1) * w->part)
		if (!zero || !is_blank(b, device, at))
			return true;
	return false;
}

static value_id fill_outside(emitter *e, const wanted *w, const buffer *b, const int64_t *base,
	value_id v, uint32_t d, value_id fill)
{
	bool zero = emit_is_zero(e, fill), low = false, high = false;
	for (int64_t i = 0; i < e->n_devices; i++) {
		int64_t end = w->start[i] + w->length, from, to;
		if (b && !needs(w, i, &from, &to)) { /* whatever it has */
			low |= w->start[i] < 0;
			high |= w->start[i] >= 0;
			continue;
		}
		low |= any_wrong(w, b, i, base[i], w->start[i], MIN(end, 0), zero);
		high |= any_wrong(w, b, i, base[i], MAX(w->start[i], w->size), end, zero);
	}
	if (!low && !high)
		return v;
	value_id positions = emit_positions(e, w->length, emit_by_device(e, w->start));
	return emit_choice(e, positions, low ? 0 : INT64_MIN, high ? w->size : INT64_MAX, d, v, fill);
}

/* The range of a device in a buffer that begins at `base`. */
static value_id take_range(emitter *e, const wanted *w, const buffer *b, const int64_t *base,
	value_id v, uint32_t d, value_id fill)
{
	int64_t length = value_type(e->m, v)->dims[d], low = 0, high = 0,
			*from = arena_array(&e->mem, int64_t, e->n_devices), x, y;
	for (int64_t i = 0; i < e->n_devices; i++) {
		from[i] = b && !needs(w, i, &x, &y) ? 0 : w->start[i] - base[i];
		low = MAX(low, -from[i]);
		high = MAX(high, from[i] + w->length - length);
	}
	for (int64_t i = 0; i < e->n_devices; i++)
		from[i] += low;
	return emit_own_stretch(e, emit_padded(e, v, d, low, high, fill), d, from, w->length);
}

value_id emit_range(emitter *e, value_id v, uint32_t d, axes cut, int64_t size,
	const int64_t *start, int64_t length, value_id fill)
{
	wanted w = {.cut = cut, .size = size, .parts = axes_product(cut), .length = length};
	w.part = emit_part(size, w.parts);
	int64_t *own = arena_array(&e->mem, int64_t, e->n_devices),
			*base = arena_zarray(&e->mem, int64_t, e->n_devices);
	for (int64_t i = 0, from, to; i < e->n_devices; i++) {
		own[i] = start[i];
		w.start = own;
		if (!needs(&w, i, &from, &to)) /* the nearest that lies outside */
			own[i] = MAX(MIN(own[i], size), -length);
	}
	const buffer *b = w.parts > 1 ? choose_buffer(e, &w) : NULL;
	if (b)
		for (int64_t i = 0; i < e->n_devices; i++)
			base[i] = b->anchor[i] * w.part + b->pieces[0].from;
	v = b ? write_buffer(e, v, d, b) : emit_gather(e, v, d, cut, size);
	v = take_range(e, &w, b, base, v, d, fill);
	return fill == ID_NONE ? v : fill_outside(e, &w, b, base, v, d, fill);
}
