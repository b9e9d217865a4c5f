/* Convolutions on shards. A device works out its part of the result from the range of the operand
 * that its windows read (emit_range). Where the kernel is cut in space, as that of a gradient by
 * the kernel is, a device has some of the taps of every window and reads what these need: its
 * result is a summand. */
#include "lower/emit.h"

static axes cut_at(const emitter *e, const node *n, const lop *o, uint32_t slot, uint32_t d)
{
	(void)n;
	return sharding_dim(sharding_get(e->m->shardings, o->plan->at[slot]), d);
}

/* ---------------------------------------------------------------- where windows lie */

bool emit_place_windows(emitter *e, const halo_window *w, int64_t places, axes cut, axes taps_cut,
	bool reversed, placed_windows *out)
{
	int64_t align = w->base / gcd_i64(w->stride, w->base), n = e->n_devices;
	int64_t own = emit_part(places, axes_product(cut)),
			taps = emit_part(w->size, axes_product(taps_cut));
	*out = (placed_windows){.start = arena_array(&e->mem, int64_t, n),
		.skip = arena_array(&e->mem, int64_t, n),
		.places = own};
	for (int64_t i = 0; i < n; i++) {
		out->skip[i] = emit_coordinate(e->mesh, i, cut) * own % align;
		out->places = MAX(out->places, own + out->skip[i]);
	}
	for (int64_t i = 0; i < n; i++) {
		int64_t place = emit_coordinate(e->mesh, i, cut) * own - out->skip[i],
				k = emit_coordinate(e->mesh, i, taps_cut);
		int64_t tap = reversed ? w->size - (k + 1) * taps : k * taps;
		halo_range r = halo_reads(w, place, out->places, tap, taps);
		int64_t low = (int64_t)(r.start * w->base -
			((wide)place * w->stride - w->low + (wide)tap * w->dilation));
		if (i && low != out->low)
			return false;
		out->start[i] = (int64_t)r.start;
		out->low = low;
		out->length = (int64_t)MAX(r.end - r.start, 1);
	}
	int64_t extent = (out->places - 1) * w->stride + (taps - 1) * w->dilation + 1;
	out->high = extent - out->low - ((out->length - 1) * w->base + 1);
	return true;
}

/* ---------------------------------------------------------------- may a convolution run on shards?
 */

bool emit_is_in_space(const emitter *e, const node *n, uint32_t slot, uint32_t d)
{
	halo_window w[MAX_RANK];
	uint32_t all = n->op_kind == OP_CONVOLUTION ? halo_windows(e->p, n, w) : 0;
	for (uint32_t i = 0; i < all; i++)
		if ((uint32_t)(slot == 0 ? w[i].in : slot == 1 ? w[i].kernel : w[i].out) == d)
			return true;
	return false;
}

static bool covers(axes a, axes b) /* a all of b */
{
	axes_buf rest;
	axes_difference(b, a, &rest);
	return !rest.n;
}

/* What the result is to be summed over behind the op, or is left as summands of. */
static axes summed_axes(const emitter *e, const node *n, const lop *o, axes_buf *out)
{
	axes left = sharding_unreduced(sharding_get(e->m->shardings, o->plan->at[n->n_operands]));
	out->n = 0;
	for (uint32_t i = 0; i < o->plan->reduce.n && out->n < MAX_TENSOR_AXES; i++)
		out->a[out->n++] = o->plan->reduce.a[i];
	for (uint32_t i = 0; i < left.n && out->n < MAX_TENSOR_AXES; i++)
		out->a[out->n++] = left.a[i];
	return axes_of(out);
}

/* The axes of the kernel's dim over which devices have summands; none: the dim is gathered where it
 * is cut. */
static axes contracted_taps(const emitter *e, const node *n, const lop *o, const halo_window *w)
{
	axes_buf sums;
	axes k = cut_at(e, n, o, 1, (uint32_t)w->kernel);
	return covers(summed_axes(e, n, o, &sums), k) ? k : (axes){NULL, 0};
}

static bool is_reversed(const emitter *e, const node *n, uint32_t window)
{
	uint32_t k;
	const int64_t *list = op_ints(e->m, n->op, "window_reversal", &k);
	return window < k && list[window];
}

/* Nothing cut says more than the op itself. */
static bool place_convolution(emitter *e, const node *n, const lop *o, const halo_window *w,
	uint32_t window, placed_windows *out)
{
	return emit_place_windows(e, w, emit_slot_type(e, n, 2)->dims[w->out],
		cut_at(e, n, o, 2, (uint32_t)w->out), contracted_taps(e, n, o, w),
		is_reversed(e, n, window), out);
}

/* Factors of dims in space are not looked at any more, but for the taps whose sums are summands. */
static void replace_factors(const emitter *e, const node *n, const lop *o, const rule *r,
	const halo_window *w, cut_factors *c)
{
	const int32_t dims[3] = {w->in, w->kernel, w->out};
	axes taps = contracted_taps(e, n, o, w);
	for (uint32_t slot = 0; slot < 3; slot++) {
		const struct rule_dim *dim = &r->dims[r->tensor_first[slot] + (uint32_t)dims[slot]];
		for (uint32_t k = 0; k < dim->n; k++) {
			uint32_t f = r->dim_factors[dim->first + k];
			uint64_t bit = (uint64_t)1 << f;
			c->cut &= ~bit;
			c->uneven &= ~bit;
			c->unlike &= ~bit;
			c->axes[f] = (axes){NULL, 0};
			if (slot == 1 && k == 0 && r->factor_types[f] == FACTOR_REDUCTION) {
				c->axes[f] = taps;
				taps.n = 0;
			}
		}
	}
	c->odd |= taps.n != 0;
}

/* Groups of features (or of the batch): whole groups on every device, or a device has parts of one
 * group alone. */
static bool groups_fit(const emitter *e, const node *n, const rule *r, const cut_factors *c,
	int64_t groups, const char *lhs_dim)
{
	if (groups == 1)
		return true;
	const int64_t dims[3] = {op_int(e->m, n->op, lhs_dim, 0),
		op_int(e->m, n->op, "dimension_numbers.kernel_output_feature_dimension", 0),
		op_int(e->m, n->op, "dimension_numbers.output_feature_dimension", 0)};
	const struct rule_dim *first = &r->dims[r->tensor_first[0] + dims[0]];
	uint32_t f = first->n ? r->dim_factors[first->first] : 0;
	int64_t parts = first->n ? axes_product(c->axes[f]) : 1;
	if (!first->n || r->factor_sizes[f] != groups || groups % parts)
		return false;
	for (uint32_t slot = 0; slot < 3 && groups != parts; slot++) {
		const struct rule_dim *dim = &r->dims[r->tensor_first[slot] + dims[slot]];
		for (uint32_t k = 0; k < dim->n; k++)
			if (r->dim_factors[dim->first + k] != f && c->cut >> r->dim_factors[dim->first + k] & 1)
				return false;
	}
	return true;
}

static bool is_modest(int64_t x) { return x > -(1ll << 31) && x < 1ll << 31; }

/* Sizes that later arithmetic does not overflow with, and elements at all. */
bool emit_is_modest(const emitter *e, const node *n, const halo_window *w, uint32_t windows)
{
	for (uint32_t i = 0; i < (uint32_t)n->n_operands + n->n_results; i++) {
		const ir_type *t = emit_slot_type(e, n, i);
		for (uint32_t d = 0; d < t->rank; d++)
			if (t->dims[d] < 1 || !is_modest(t->dims[d]))
				return false;
	}
	for (uint32_t i = 0; i < windows; i++)
		if (w[i].size < 1 || w[i].stride < 1 || w[i].base < 1 || w[i].dilation < 1 ||
			!is_modest(w[i].size) || !is_modest(w[i].stride) || !is_modest(w[i].low) ||
			!is_modest(w[i].base) || !is_modest(w[i].dilation))
			return false;
	return true;
}

bool emit_convolution_fits(emitter *e, const node *n, const lop *o, const rule *r, cut_factors *c)
{
	halo_window w[MAX_RANK];
	uint32_t windows = halo_windows(e->p, n, w);
	placed_windows placed;
	axes_buf has = {.n = 0}, sums;
	if (r->n_factors == 0 ||
		!emit_has_zero(e, value_at(e->p->m, op_operand(e->p->m, n->op, 0))->type) ||
		!emit_is_modest(e, n, w, windows))
		return false;
	for (uint32_t i = 0; i < windows; i++) {
		if (!place_convolution(e, n, o, &w[i], i, &placed))
			return false;
		replace_factors(e, n, o, r, &w[i], c);
	}
	for (uint32_t f = 0; f < r->n_factors; f++)
		for (uint32_t i = 0;
			 r->factor_types[f] == FACTOR_REDUCTION && i < c->axes[f].n && has.n < MAX_TENSOR_AXES;
			 i++)
			has.a[has.n++] = c->axes[f].a[i];
	return covers(axes_of(&has), o->plan->reduce) &&
		covers(summed_axes(e, n, o, &sums), axes_of(&has)) &&
		groups_fit(e, n, r, c, op_int(e->m, n->op, "feature_group_count", 1),
			"dimension_numbers.input_feature_dimension") &&
		groups_fit(e, n, r, c, op_int(e->m, n->op, "batch_group_count", 1),
			"dimension_numbers.input_batch_dimension");
}

/* ---------------------------------------------------------------- the convolution */

attr_id emit_padding(emitter *e, const int64_t *pairs, uint32_t windows)
{
	const int64_t dims[2] = {windows, 2};
	strbuf text;
	strbuf_init(&text);
	strbuf_putc(&text, '[');
	for (uint32_t i = 0; i < windows; i++)
		strbuf_printf(&text, "%s[%lld, %lld]", i ? ", " : "", (long long)pairs[2 * i],
			(long long)pairs[2 * i + 1]);
	strbuf_putc(&text, ']');
	type_id type = type_tensor(e->m, ELEM_I64, 2, dims);
	attr a = *attr_get(e->m, emit_dense(e, type, text.p, text.n));
	strbuf_release(&text);
	a.ints = attr_dense_ints(
		&e->m->mem, type_get(e->m, type), &a); /* the op's types are verified by it */
	return attr_new(e->m, &a);
}

/* All of the kernel, or those of its elements that there are. */
static value_id kernel_in_space(
	emitter *e, const node *n, const lop *o, const halo_window *w, value_id v)
{
	axes cut = cut_at(e, n, o, 1, (uint32_t)w->kernel), taps = contracted_taps(e, n, o, w);
	if (cut.n && !taps.n)
		return emit_gather(e, v, (uint32_t)w->kernel, cut, w->size);
	return w->size % axes_product(taps)
		? emit_masked(e, v, (uint32_t)w->kernel, taps, w->size, ID_NONE)
		: v;
}

static void set_groups(emitter *e, const node *n, op_id made, const rule *r, const cut_factors *c,
	const char *name, const char *lhs_dim)
{
	int64_t groups = op_int(e->m, n->op, name, 1);
	if (groups == 1)
		return;
	const struct rule_dim *first = &r->dims[r->tensor_first[0] + op_int(e->m, n->op, lhs_dim, 0)];
	op_attr_set(e->m, made, name,
		attr_int(e->m, groups / axes_product(c->axes[r->dim_factors[first->first]]), "i64"));
}

op_id emit_convolution(
	emitter *e, const node *n, const lop *o, const cut_factors *c, value_id *operands, type_id type)
{
	halo_window w[MAX_RANK];
	uint32_t windows = halo_windows(e->p, n, w), k;
	placed_windows *placed = arena_zarray(&e->mem, placed_windows, windows + 1);
	const int64_t *old = op_ints(e->m, n->op, "padding", &k);
	int64_t pairs[2 * MAX_RANK], own[MAX_RANK];
	value_id zero = emit_scalar_zero(e, operands[0]);
	for (uint32_t i = 0; i < windows; i++) {
		axes in = cut_at(e, n, o, 0, (uint32_t)w[i].in);
		int64_t size = emit_slot_type(e, n, 0)->dims[w[i].in];
		pairs[2 * i] = 2 * i < k ? old[2 * i] : 0;
		pairs[2 * i + 1] = 2 * i + 1 < k ? old[2 * i + 1] : 0;
		operands[1] = kernel_in_space(e, n, o, &w[i], operands[1]);
		if (!cut_at(e, n, o, 2, (uint32_t)w[i].out).n && !contracted_taps(e, n, o, &w[i]).n) {
			operands[0] = emit_gather(e, operands[0], (uint32_t)w[i].in, in, size);
			continue;
		}
		place_convolution(e, n, o, &w[i], i, &placed[i]);
		operands[0] = emit_range(
			e, operands[0], (uint32_t)w[i].in, in, size, placed[i].start, placed[i].length, zero);
		pairs[2 * i] = placed[i].low;
		pairs[2 * i + 1] = placed[i].high;
	}
	ir_type t = *type_get(e->m, type);
	int64_t dims[MAX_RANK];
	memcpy(dims, t.dims, t.rank * sizeof *dims);
	for (uint32_t i = 0; i < windows; i++) {
		own[i] = dims[w[i].out];
		if (placed[i].start)
			dims[w[i].out] = placed[i].places;
	}
	type = type_tensor(e->m, t.elem, t.rank, dims);
	op_id made = emit_copy_op(e, n, operands, &type);
	const rule *r = rule_get(e->p->rules, n->rule);
	if (windows)
		op_attr_set(e->m, made, "padding", emit_padding(e, pairs, windows));
	set_groups(
		e, n, made, r, c, "feature_group_count", "dimension_numbers.input_feature_dimension");
	set_groups(e, n, made, r, c, "batch_group_count", "dimension_numbers.input_batch_dimension");
	value_id v = op_result(e->m, made, 0);
	for (uint32_t i = 0; i < windows; i++)
		if (placed[i].start)
			v = emit_own_stretch(e, v, (uint32_t)w[i].out, placed[i].skip, own[i]);
	return value_def(e->m, v);
}
