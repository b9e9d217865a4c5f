/* Ops that read other places of a dim than they write, on shards: windows, pads, slices, reversals,
 * joins, slices and updates from a place that is known at run time only, iota. Dims correspond one
 * to one; each is brought to what a device's part of the result needs, one after the other, by
 * emit_range where the places are known. */
#include "lower/emit.h"

typedef struct mover {
	emitter *e;
	const node *n;
	const lop *o;
	uint32_t rank; /* of the first result, and of all operands that are no scalars */
	value_id *in;
	halo_window w[MAX_RANK];
	placed_windows at[MAX_RANK]; /* start NULL: what attributes say of the dim holds */
} mover;

static axes cut_of(const mover *x, uint32_t slot, uint32_t d)
{
	return sharding_dim(sharding_get(x->e->m->shardings, x->o->plan->at[slot]), d);
}
static axes result_cut(const mover *x, uint32_t d) { return cut_of(x, x->n->n_operands, d); }
static int64_t size_of(const mover *x, uint32_t slot, uint32_t d)
{
	return emit_slot_type(x->e, x->n, slot)->dims[d];
}

/* Elements of the result that a device has. */
static int64_t own_part(const mover *x, uint32_t d)
{
	return emit_part(size_of(x, x->n->n_operands, d), axes_product(result_cut(x, d)));
}

static type_id own_type(const mover *x, uint32_t r)
{
	const lval *v = &x->e->l->vals.p[x->o->results + r];
	return emit_local_type(x->e, v->type, v->sharding);
}

/* first + step times the device's coordinate along the result's dim. */
static int64_t *by_part(const mover *x, uint32_t d, int64_t first, int64_t step)
{
	int64_t *out = arena_array(&x->e->mem, int64_t, x->e->n_devices);
	for (int64_t i = 0; i < x->e->n_devices; i++)
		out[i] = first + step * emit_coordinate(x->e->mesh, i, result_cut(x, d));
	return out;
}

/* An operand whose dim is the result's: cut as that is. */
static value_id bring(const mover *x, uint32_t slot, uint32_t d, value_id v)
{
	axes in = cut_of(x, slot, d), out = result_cut(x, d);
	int64_t size = size_of(x, slot, d), own = own_part(x, d);
	if (axes_equal(in, out))
		return v;
	return out.n ? emit_range(x->e, v, d, in, size, by_part(x, d, 0, own), own, ID_NONE)
				 : emit_gather(x->e, v, d, in, size);
}

static void give(const mover *x, uint32_t r, value_id v)
{
	x->e->value[x->o->results + r] = v;
	x->e->summed[x->o->results + r] = false;
}

/* The op itself on what was brought, once attributes fit; results of one type each. */
static op_id copy_of(const mover *x, const type_id *types)
{
	return emit_copy_op(x->e, x->n, x->in, types);
}

/* ---------------------------------------------------------------- windows at places that are known
 */

static bool looks_at_same_place(const halo_window *w)
{
	return w->size == 1 && w->stride == 1 && !w->low && w->base == 1;
}

/* What the windows of the device's places read. */
static value_id bring_windows(mover *x, uint32_t slot, value_id v, value_id fill)
{
	for (uint32_t d = 0; d < x->rank; d++) {
		axes in = cut_of(x, slot, d), out = result_cut(x, d);
		int64_t size = size_of(x, slot, d), places = size_of(x, x->n->n_operands, d);
		if (looks_at_same_place(&x->w[d]) && size == places && axes_equal(in, out))
			continue;
		if (!out.n) {
			v = emit_gather(x->e, v, d, in, size);
			continue;
		}
		emit_place_windows(x->e, &x->w[d], places, out, (axes){NULL, 0}, false, &x->at[d]);
		v = emit_range(x->e, v, d, in, size, x->at[d].start, x->at[d].length, fill);
	}
	return v;
}

/* Results with the places in front of the device's own ones, and without. */
static type_id placed_type(const mover *x, uint32_t r)
{
	ir_type t = *type_get(x->e->m, own_type(x, r));
	int64_t dims[MAX_RANK];
	for (uint32_t d = 0; d < t.rank; d++)
		dims[d] = x->at[d].start ? x->at[d].places : t.dims[d];
	return type_tensor(x->e->m, t.elem, t.rank, dims);
}

static value_id own_places(const mover *x, value_id v)
{
	for (uint32_t d = 0; d < x->rank; d++)
		if (x->at[d].start)
			v = emit_own_stretch(x->e, v, d, x->at[d].skip, own_part(x, d));
	return v;
}

static bool move_slice(mover *x)
{
	uint32_t k;
	int64_t list[3][MAX_RANK]; /* start, limit, stride */
	x->in[0] = bring_windows(x, 0, x->in[0], ID_NONE);
	const int64_t *start = op_ints(x->e->m, x->n->op, "start_indices", &k),
				  *limit = op_ints(x->e->m, x->n->op, "limit_indices", &k);
	bool all = true;
	for (uint32_t d = 0; d < x->rank; d++) {
		int64_t size = value_type(x->e->m, x->in[0])->dims[d];
		list[0][d] = x->at[d].start ? 0 : start[d];
		list[1][d] = x->at[d].start ? (x->at[d].places - 1) * x->w[d].stride + 1
									: MIN(limit[d], size); /* all of a part */
		list[2][d] = x->w[d].stride;
		all &= !list[0][d] && list[1][d] == size && list[2][d] == 1;
	}
	if (!all) {
		type_id type = own_type(x, 0);
		op_id made = copy_of(x, &type);
		op_attr_set(x->e->m, made, "start_indices", attr_ints(x->e->m, list[0], x->rank));
		op_attr_set(x->e->m, made, "limit_indices", attr_ints(x->e->m, list[1], x->rank));
		x->in[0] = op_result(x->e->m, made, 0);
	}
	give(x, 0, x->in[0]);
	return true;
}

static bool move_pad(mover *x)
{
	uint32_t k;
	int64_t list[2][MAX_RANK];
	x->in[0] = bring_windows(x, 0, x->in[0], x->in[1]);
	const int64_t *low = op_ints(x->e->m, x->n->op, "edge_padding_low", &k),
				  *high = op_ints(x->e->m, x->n->op, "edge_padding_high", &k);
	bool all = true;
	for (uint32_t d = 0; d < x->rank; d++) {
		list[0][d] = x->at[d].start ? x->at[d].low : low[d];
		list[1][d] = x->at[d].start ? x->at[d].high : high[d];
		all &= !list[0][d] && !list[1][d] && x->w[d].base == 1;
	}
	if (!all) {
		type_id type = placed_type(x, 0);
		op_id made = copy_of(x, &type);
		op_attr_set(x->e->m, made, "edge_padding_low", attr_ints(x->e->m, list[0], x->rank));
		op_attr_set(x->e->m, made, "edge_padding_high", attr_ints(x->e->m, list[1], x->rank));
		x->in[0] = op_result(x->e->m, made, 0);
	}
	give(x, 0, own_places(x, x->in[0]));
	return true;
}

/* What a window reads outside of the operand does not change its result, however often: compilers
 * leave it out or not. */
static bool start_counts_once(const mover *x)
{
	uint32_t k, n = x->n->n_results;
	const int64_t *pad = op_ints(x->e->m, x->n->op, "padding", &k);
	op_kind body = emit_body_op(x->e->m, op_region(x->e->m, x->n->op, 0));
	if (emit_is_idempotent(body) || (body == OP_ADD && emit_is_zero(x->e, x->in[n])) ||
		(body == OP_MULTIPLY && emit_is_number(x->e, x->in[n], 1)))
		return true;
	for (uint32_t d = 0; d < x->rank; d++)
		if (result_cut(x, d).n && 2 * d + 1 < k && (pad[2 * d] > 0 || pad[2 * d + 1] > 0))
			return false;
	return true;
}

static bool move_reduce_window(mover *x)
{
	uint32_t n = x->n->n_results, k;
	int64_t pairs[2 * MAX_RANK];
	type_id *types = arena_array(&x->e->mem, type_id, n);
	if (x->n->n_operands != 2 * n || !start_counts_once(x))
		return false;
	for (uint32_t i = 0; i < n; i++)
		x->in[i] = bring_windows(x, i, x->in[i], x->in[n + i]);
	const int64_t *old = op_ints(x->e->m, x->n->op, "padding", &k);
	for (uint32_t d = 0; d < x->rank; d++) {
		pairs[2 * d] = x->at[d].start ? x->at[d].low : 2 * d < k ? old[2 * d] : 0;
		pairs[2 * d + 1] = x->at[d].start ? x->at[d].high : 2 * d + 1 < k ? old[2 * d + 1] : 0;
	}
	for (uint32_t i = 0; i < n; i++)
		types[i] = placed_type(x, i);
	op_id made = copy_of(x, types);
	op_attr_set(x->e->m, made, "padding", emit_padding(x->e, pairs, x->rank));
	for (uint32_t i = 0; i < n; i++)
		give(x, i, own_places(x, op_result(x->e->m, made, i)));
	return true;
}

/* ---------------------------------------------------------------- select_and_scatter */

/* The lowest or highest value of an element type; NULL: none is known. */
static const char *extreme_text(elem k, bool low)
{
	switch (k) {
	case ELEM_BF16: return low ? "0xFF80" : "0x7F80";
	case ELEM_F16: return low ? "0xFC00" : "0x7C00";
	case ELEM_F32: return low ? "0xFF800000" : "0x7F800000";
	case ELEM_F64: return low ? "0xFFF0000000000000" : "0x7FF0000000000000";
	case ELEM_I8: return low ? "-128" : "127";
	case ELEM_I16: return low ? "-32768" : "32767";
	case ELEM_I32: return low ? "-2147483648" : "2147483647";
	case ELEM_I64: return low ? "-9223372036854775808" : "9223372036854775807";
	default: return NULL;
	}
}

/* What a selection by comparison takes last; ID_NONE: not known. */
static value_id never_selected(const mover *x)
{
	module *m = x->e->m;
	const ir_region *body = op_region(m, x->n->op, 0);
	op_id end = body->empty ? ID_NONE : body->last,
		  def = end == ID_NONE || !op_at(m, end)->n_operands ? ID_NONE
															 : value_def(m, op_operand(m, end, 0));
	if (def == ID_NONE || op_at(m, def)->kind != OP_COMPARE || body->n_args != 2)
		return ID_NONE;
	str way = op_text(m, def, "comparison_direction");
	bool first = op_operand(m, def, 0) == body->args && op_operand(m, def, 1) == body->args + 1;
	bool swapped = op_operand(m, def, 1) == body->args && op_operand(m, def, 0) == body->args + 1;
	bool greater = str_is(way, "GE") || str_is(way, "GT"),
		 less = str_is(way, "LE") || str_is(way, "LT");
	const char *text = extreme_text((elem)emit_slot_type(x->e, x->n, 0)->elem, greater == first);
	if ((!first && !swapped) || (!greater && !less) || !text)
		return ID_NONE;
	return emit_constant(x->e, type_tensor(m, emit_slot_type(x->e, x->n, 0)->elem, 0, NULL), text);
}

/* Windows that reach into a device's part, from one that begins in front of it. */
static void place_readers(mover *x, uint32_t d, int64_t *first, int64_t *windows)
{
	const halo_window *w = &x->w[d];
	placed_windows *at = &x->at[d];
	int64_t own = own_part(x, d), n = x->e->n_devices;
	at->start = arena_array(&x->e->mem, int64_t, n);
	at->skip = arena_array(&x->e->mem, int64_t, n);
	at->length = 1;
	*windows = 1;
	for (int64_t i = 0; i < n; i++) {
		int64_t from = emit_coordinate(x->e->mesh, i, result_cut(x, d)) * own;
		halo_range r = halo_readers(w, from, from + own),
				   before = halo_readers(w, from - w->size + 1, from + 1);
		first[i] = (int64_t)MIN(
			r.start, before.end - 1); /* the last one that begins at `from` or in front of it */
		at->start[i] = first[i] * w->stride - w->low;
		at->skip[i] = from - at->start[i];
		*windows = MAX(*windows, (int64_t)(r.end - first[i]));
		*windows = MAX(*windows, ceil_div(MAX(at->skip[i] + own - w->size, 0), w->stride) + 1);
	}
	at->places = at->length = (*windows - 1) * w->stride + w->size;
}

static bool move_select_and_scatter(mover *x)
{
	module *m = x->e->m;
	uint32_t k;
	const int64_t *old = op_ints(m, x->n->op, "padding", &k);
	int64_t pairs[2 * MAX_RANK], windows,
		*first = arena_array(&x->e->mem, int64_t, x->e->n_devices);
	bool padded = false;
	for (uint32_t d = 0; d < x->rank; d++) {
		pairs[2 * d] = 2 * d < k ? old[2 * d] : 0;
		pairs[2 * d + 1] = 2 * d + 1 < k ? old[2 * d + 1] : 0;
		padded |= result_cut(x, d).n && (pairs[2 * d] || pairs[2 * d + 1]);
	}
	op_kind sum = emit_body_op(m, op_region(m, x->n->op, 1));
	value_id last = padded ? never_selected(x) : ID_NONE;
	if ((padded && last == ID_NONE) || (sum != OP_ADD && !emit_is_idempotent(sum)))
		return false;
	value_id nothing =
		sum == OP_ADD ? emit_scalar_zero(x->e, x->in[1]) : x->in[2]; /* of windows that are none */
	for (uint32_t d = 0; d < x->rank; d++) {
		axes out = result_cut(x, d);
		bool same = looks_at_same_place(&x->w[d]) && size_of(x, 0, d) == size_of(x, 1, d);
		if (same || !out.n) {
			x->in[0] = bring(x, 0, d, x->in[0]);
			x->in[1] = same ? bring(x, 1, d, x->in[1])
							: emit_gather(x->e, x->in[1], d, cut_of(x, 1, d), size_of(x, 1, d));
			continue;
		}
		place_readers(x, d, first, &windows);
		x->in[0] = emit_range(x->e, x->in[0], d, cut_of(x, 0, d), size_of(x, 0, d), x->at[d].start,
			x->at[d].length, last);
		x->in[1] = emit_range(
			x->e, x->in[1], d, cut_of(x, 1, d), size_of(x, 1, d), first, windows, nothing);
		pairs[2 * d] = pairs[2 * d + 1] = 0;
	}
	type_id type = placed_type(x, 0);
	op_id made = copy_of(x, &type);
	op_attr_set(m, made, "padding", emit_padding(x->e, pairs, x->rank));
	give(x, 0, own_places(x, op_result(m, made, 0)));
	return true;
}

/* ---------------------------------------------------------------- other places that are known */

static bool contains(const int64_t *list, uint32_t n, int64_t v)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == v)
			return true;
	return false;
}

static bool move_reverse(mover *x)
{
	uint32_t k;
	const int64_t *dims = op_ints(x->e->m, x->n->op, "dimensions", &k);
	type_id type = own_type(x, 0);
	for (uint32_t d = 0; d < x->rank; d++) {
		int64_t size = size_of(x, 0, d), own = own_part(x, d);
		if (contains(dims, k, d) && result_cut(x, d).n)
			x->in[0] = emit_range(x->e, x->in[0], d, cut_of(x, 0, d), size,
				by_part(x, d, size - own, -own), own, ID_NONE);
		else
			x->in[0] = bring(x, 0, d, x->in[0]);
	}
	give(x, 0, op_result(x->e->m, copy_of(x, &type), 0));
	return true;
}

/* Every operand as if it had the device's places; of these each has some. */
static bool move_concatenate(mover *x)
{
	uint32_t joined = (uint32_t)op_int(x->e->m, x->n->op, "dimension", 0);
	type_id type = own_type(x, 0);
	for (uint32_t i = 0; i < x->n->n_operands; i++)
		for (uint32_t d = 0; d < x->rank; d++)
			if (d != joined)
				x->in[i] = bring(x, i, d, x->in[i]);
	if (!result_cut(x, joined).n) {
		for (uint32_t i = 0; i < x->n->n_operands; i++)
			x->in[i] =
				emit_gather(x->e, x->in[i], joined, cut_of(x, i, joined), size_of(x, i, joined));
		give(x, 0, op_result(x->e->m, copy_of(x, &type), 0));
		return true;
	}
	int64_t own = own_part(x, joined), from = 0;
	value_id positions = emit_positions(x->e, own, emit_offset(x->e, result_cut(x, joined), own)),
			 v = ID_NONE;
	for (uint32_t i = 0; i < x->n->n_operands; i++) {
		int64_t size = size_of(x, i, joined);
		value_id mine = emit_range(x->e, x->in[i], joined, cut_of(x, i, joined), size,
			by_part(x, joined, -from, own), own, ID_NONE);
		v = i ? emit_choice(x->e, positions, from, INT64_MAX, joined, mine, v) : mine;
		from += size;
	}
	give(x, 0, v);
	return true;
}

static value_id converted(emitter *e, value_id v, elem to)
{
	const ir_type t = *value_type(e->m, v);
	return t.elem == to
		? v
		: op_result(
			  e->m, emit_op(e, OP_CONVERT, &v, 1, type_tensor(e->m, to, t.rank, t.dims), 0), 0);
}

/* Counted in integers: the rounded sum is not the sum of rounded numbers. */
static bool move_iota(mover *x)
{
	uint32_t d = (uint32_t)op_int(x->e->m, x->n->op, "iota_dimension", 0);
	type_id type = own_type(x, 0);
	const ir_type t = *type_get(x->e->m, type);
	const int64_t dim = d;
	if (t.elem == ELEM_QUANT || d >= t.rank)
		return false;
	if (!result_cut(x, d).n) {
		give(x, 0, op_result(x->e->m, copy_of(x, &type), 0));
		return true;
	}
	value_id positions =
		emit_positions(x->e, t.dims[d], emit_offset(x->e, result_cut(x, d), t.dims[d]));
	give(x, 0, emit_broadcast(x->e, converted(x->e, positions, (elem)t.elem), &dim, 1, &t));
	return true;
}

/* ---------------------------------------------------------------- places that are known at run
 * time */

static value_id binary(emitter *e, op_kind kind, value_id a, value_id b)
{
	const value_id pair[2] = {a, b};
	return op_result(e->m, emit_op(e, kind, pair, 2, value_at(e->m, a)->type, 0), 0);
}

/* An index where the op takes it to be: at most `last`, at least 0; as i64. */
static value_id clamped(emitter *e, value_id index, int64_t last)
{
	type_id i64 = type_tensor(e->m, ELEM_I64, 0, NULL);
	if (value_type(e->m, index)->elem == ELEM_UI64)
		index = binary(e, OP_MINIMUM, index, emit_number(e, value_at(e->m, index)->type, last));
	index = converted(e, index, ELEM_I64);
	return binary(e, OP_MAXIMUM, binary(e, OP_MINIMUM, index, emit_number(e, i64, last)),
		emit_number(e, i64, 0));
}

/* Where a device's part begins, as i64. */
static value_id part_begin(emitter *e, axes cut, int64_t part)
{
	return converted(e, emit_offset(e, cut, part), ELEM_I64);
}

/* `size` elements of a cut dim from the index on: whoever has one of them gives it, the others
 * zero. */
static value_id slice_of_owners(
	emitter *e, value_id v, uint32_t d, axes cut, int64_t whole, value_id index, int64_t size)
{
	int64_t part = value_type(e->m, v)->dims[d];
	if (whole % axes_product(cut))
		v = emit_masked(e, v, d, cut, whole, ID_NONE);
	value_id from = binary(e, OP_ADD, binary(e, OP_SUBTRACT, index, part_begin(e, cut, part)),
		emit_number(e, value_at(e->m, index)->type, size));
	v = emit_dynamic_stretch(e, emit_padded(e, v, d, size, size, ID_NONE), d, from, size);
	return emit_sum(e, v, cut, value_type(e->m, v)->elem == ELEM_I1 ? OP_OR : OP_ADD);
}

/* A dim of a dynamic_slice, in full: the device's part of what is sliced. */
static value_id slice_dim(const mover *x, uint32_t d, value_id v)
{
	emitter *e = x->e;
	axes in = cut_of(x, 0, d), out = result_cut(x, d);
	int64_t whole = size_of(x, 0, d), size = size_of(x, 1 + x->rank, d),
			part = emit_part(whole, axes_product(in)), own = own_part(x, d);
	value_id index = clamped(e, x->in[1 + d], whole - size);
	if (in.n && 2 * size < whole - part) {
		v = slice_of_owners(e, v, d, in, whole, index, size);
		return out.n ? emit_slice(e, v, d, out, own) : v;
	}
	v = emit_gather(e, v, d, in, whole);
	if (out.n) {
		v = emit_resized(e, v, d, MAX(whole, whole - size + own * axes_product(out)));
		index = binary(e, OP_ADD, index, part_begin(e, out, own));
	}
	return emit_dynamic_stretch(e, v, d, index, own);
}

static bool move_dynamic_slice(mover *x)
{
	emitter *e = x->e;
	type_id type = own_type(x, 0);
	const ir_type t = *type_get(e->m, type);
	bool all = true;
	if (x->n->n_operands != 1 + x->rank)
		return false;
	for (uint32_t d = 0; d < x->rank; d++) {
		if (size_of(x, 0, d) == t.dims[d] && !cut_of(x, 0, d).n)
			continue;
		if (size_of(x, 0, d) == size_of(x, x->n->n_operands, d))
			x->in[0] = bring(x, 0, d, x->in[0]);
		else if (cut_of(x, 0, d).n || result_cut(x, d).n)
			x->in[0] = slice_dim(x, d, x->in[0]);
		else
			all = false;
	}
	if (!all) { /* a part in full begins at 0 wherever indices point */
		op_id made = copy_of(x, &type);
		op_attr_set(e->m, made, "slice_sizes", attr_ints(e->m, t.dims, t.rank));
		x->in[0] = op_result(e->m, made, 0);
	}
	give(x, 0, x->in[0]);
	return true;
}

/* Of an update that a device has some of, or nothing: so many elements of its part from `at` on are
 * written, those that are the update's with what it has for them. */
typedef struct landing {
	value_id update, positions; /* by element written: its place in the update */
	value_id at;
} landing;

static landing land(const mover *x, uint32_t d, value_id update, int64_t size, int64_t own)
{
	emitter *e = x->e;
	type_id i64 = type_tensor(e->m, ELEM_I64, 0, NULL);
	int64_t written = MIN(size, own);
	value_id from = binary(e, OP_SUBTRACT, clamped(e, x->in[2 + d], size_of(x, 0, d) - size),
		part_begin(e, result_cut(x, d), own));
	value_id at = binary(e, OP_MAXIMUM,
		binary(e, OP_MINIMUM, from, emit_number(e, i64, own - written)), emit_number(e, i64, 0));
	value_id shift = binary(e, OP_SUBTRACT, at, from);
	value_id in_padded = binary(e, OP_ADD, shift, emit_number(e, i64, written));
	update = emit_dynamic_stretch(
		e, emit_padded(e, update, d, written, written, ID_NONE), d, in_padded, written);
	return (landing){update, emit_positions(e, written, shift), at};
}

static bool move_dynamic_update_slice(mover *x)
{
	emitter *e = x->e;
	type_id type = own_type(x, 0);
	value_id positions[MAX_RANK], old;
	bool partly = false;
	if (x->n->n_operands != 2 + x->rank)
		return false;
	for (uint32_t d = 0; d < x->rank; d++) {
		int64_t size = size_of(x, 1, d), own = own_part(x, d), whole = size_of(x, 0, d);
		positions[d] = ID_NONE;
		x->in[0] = bring(x, 0, d, x->in[0]);
		if (size == whole) {
			x->in[1] = bring(x, 1, d, x->in[1]);
			x->in[2 + d] = emit_number(e, type_tensor(e->m, ELEM_I64, 0, NULL), 0);
			continue;
		}
		x->in[1] = emit_gather(e, x->in[1], d, cut_of(x, 1, d), size);
		if (!result_cut(x, d).n) {
			x->in[2 + d] = clamped(e, x->in[2 + d], whole - size);
			continue;
		}
		landing l = land(x, d, x->in[1], size, own);
		x->in[1] = l.update;
		positions[d] = l.positions;
		x->in[2 + d] = l.at;
		partly = true;
	}
	if (partly) {
		const ir_type t = *value_type(e->m, x->in[1]);
		value_id operands[MAX_RANK + 1] = {x->in[0]};
		for (uint32_t d = 0; d < x->rank; d++)
			operands[1 + d] = x->in[2 + d];
		op_id read =
			emit_op(e, OP_DYNAMIC_SLICE, operands, x->rank + 1, value_at(e->m, x->in[1])->type, 0);
		op_attr_set(e->m, read, "slice_sizes", attr_ints(e->m, t.dims, t.rank));
		old = op_result(e->m, read, 0);
		for (uint32_t d = 0; d < x->rank; d++)
			if (positions[d] != ID_NONE)
				x->in[1] = emit_choice(e, positions[d], 0, size_of(x, 1, d), d, x->in[1], old);
	}
	give(x, 0, op_result(e->m, copy_of(x, &type), 0));
	return true;
}

/* ---------------------------------------------------------------- which */

/* Summands of a value are not moved: filling adds to every one of them. */
static bool any_summands(const mover *x)
{
	for (uint32_t i = 0; i < (uint32_t)x->n->n_operands + x->n->n_results; i++)
		if (sharding_get(x->e->m->shardings, x->o->plan->at[i])->n_unreduced)
			return true;
	return false;
}

static bool can_move(mover *x)
{
	const ir_type *t = emit_slot_type(x->e, x->n, x->n->n_operands);
	uint32_t windows = halo_windows(x->e->p, x->n, x->w);
	x->rank = t->rank;
	for (uint32_t i = 0; i < (uint32_t)x->n->n_operands + x->n->n_results; i++) {
		const ir_type *s = emit_slot_type(x->e, x->n, i);
		const sharding *cut = sharding_get(x->e->m->shardings, x->o->plan->at[i]);
		if (s->kind != TYPE_TENSOR || (s->rank && s->rank != x->rank) || cut->rank != s->rank ||
			!emit_has_zero(x->e, x->e->p->vals.p[x->e->p->slots.p[x->n->slots + i]].type))
			return false;
	}
	return x->rank && !any_summands(x) && emit_is_modest(x->e, x->n, x->w, windows);
}

static bool (*const ways[OP_COUNT])(mover *) = {
	[OP_SLICE] = move_slice,
	[OP_PAD] = move_pad,
	[OP_REDUCE_WINDOW] = move_reduce_window,
	[OP_SELECT_AND_SCATTER] = move_select_and_scatter,
	[OP_REVERSE] = move_reverse,
	[OP_CONCATENATE] = move_concatenate,
	[OP_IOTA] = move_iota,
	[OP_DYNAMIC_SLICE] = move_dynamic_slice,
	[OP_DYNAMIC_UPDATE_SLICE] = move_dynamic_update_slice,
};

bool emit_may_move(emitter *e, const node *n, const lop *o)
{
	mover x = {.e = e, .n = n, .o = o};
	return n->kind == NODE_OP && ways[n->op_kind] && can_move(&x);
}

bool emit_moved(emitter *e, const node *n, const lop *o)
{
	mover x = {.e = e, .n = n, .o = o};
	if (n->kind != NODE_OP || !ways[n->op_kind] || !can_move(&x))
		return false;
	x.in = arena_array(&e->mem, value_id, n->n_operands);
	for (uint32_t i = 0; i < n->n_operands; i++)
		x.in[i] = e->value[e->l->operands.p[o->operands + i]];
	return ways[n->op_kind](&x);
}
