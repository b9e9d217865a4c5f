/* Where XLA's partitioner computes a contraction. It compares how many parts operands and result
 * have along batch, contracted and free dims, groups devices by what agrees, and starts again
 * inside of a group with what is left. Dims are factors of the op's rule here, device groups lists
 * of axes. Facts: openxla's dot_handler.cc, and what libtpu makes of random products
 * (tests/oracle/fidelity/partitioned.py). */
#include "lower/internal.h"

typedef enum dot_class { BATCH, CONTRACTED, LEFT, RIGHT } dot_class;
enum { SIDES = 3, RESULT = 2 };

typedef struct dot {
	uint32_t n_factors;
	const uint8_t *class;
	const int64_t *sizes; /* global elements, by side */
	arena *mem;
} dot;

/* What is left to decide in one group of devices. */
typedef struct state {
	axes *at;     /* side * n_factors + factor: cut by, inside of the group */
	axes *common; /* by factor: decided so far */
	axes *after; /* by factor: how the result is cut once its parts are gathered behind the product;
	                NULL: they are not */
	axes left;   /* of the mesh */
	int64_t done[SIDES]; /* parts by axes that are decided */
	int64_t devices;
} state;

static bool has(const dot *d, uint32_t side, uint32_t f)
{
	static const uint8_t sides[] = {[BATCH] = 7, [CONTRACTED] = 3, [LEFT] = 5, [RIGHT] = 6};
	return sides[d->class[f]] >> side & 1;
}

static axes *cut(const dot *d, const state *s, uint32_t side, uint32_t f)
{
	return &s->at[side * d->n_factors + f];
}

static state copy_of(const dot *d, const state *s)
{
	state c = *s;
	c.at = arena_array(d->mem, axes, SIDES * d->n_factors);
	c.common = arena_array(d->mem, axes, d->n_factors);
	memcpy(c.at, s->at, SIDES * d->n_factors * sizeof *c.at);
	memcpy(c.common, s->common, d->n_factors * sizeof *c.common);
	return c;
}

static int64_t parts(const dot *d, const state *s, uint32_t side, dot_class class)
{
	int64_t n = 1;
	for (uint32_t f = 0; f < d->n_factors; f++)
		n *= d->class[f] == class && has(d, side, f) ? axes_product(*cut(d, s, side, f)) : 1;
	return n;
}

static int64_t all_parts(const dot *d, const state *s, uint32_t side)
{
	int64_t n = 1;
	for (uint32_t f = 0; f < d->n_factors; f++)
		n *= has(d, side, f) ? axes_product(*cut(d, s, side, f)) : 1;
	return n;
}

/* Elements of a device's part. */
static int64_t local(const dot *d, const state *s, uint32_t side)
{
	return MAX(d->sizes[side] / (s->done[side] * all_parts(d, s, side)), 1);
}

static bool is_whole(const dot *d, const state *s, uint32_t side)
{
	return all_parts(d, s, side) == 1;
}

/* Cut, and several devices have the same part. */
static bool is_repeated(const dot *d, const state *s, uint32_t side)
{
	int64_t n = all_parts(d, s, side);
	return n > 1 && n < s->devices;
}

static bool equal_along(const dot *d, const state *s, uint32_t a, uint32_t b, dot_class class)
{
	for (uint32_t f = 0; f < d->n_factors; f++)
		if (d->class[f] == class && !axes_equal(*cut(d, s, a, f), *cut(d, s, b, f)))
			return false;
	return true;
}

static bool overlap(axes l, axis_ref a)
{
	for (uint32_t i = 0; i < l.n; i++)
		if (axis_overlaps(l.a[i], a))
			return true;
	return false;
}

/* The axes of a list that none of the others overlaps. */
static axes without(const dot *d, axes l, axes others)
{
	axis_ref *kept = arena_array(d->mem, axis_ref, MAX(l.n, 1));
	uint32_t n = 0;
	for (uint32_t i = 0; i < l.n; i++)
		if (!overlap(others, l.a[i]))
			kept[n++] = l.a[i];
	return n == l.n ? l : (axes){kept, n};
}

static axes joined(const dot *d, const state *s, uint32_t side, const bool *along)
{
	axis_ref *all = arena_array(d->mem, axis_ref, MAX_TENSOR_AXES);
	uint32_t n = 0;
	for (uint32_t f = 0; f < d->n_factors; f++)
		for (uint32_t i = 0; along[f] && has(d, side, f) && i < cut(d, s, side, f)->n; i++)
			if (n < MAX_TENSOR_AXES)
				all[n++] = cut(d, s, side, f)->a[i];
	return (axes){all, n};
}

/* The same axes in any order. */
static bool same_axes(axes a, axes b)
{
	if (axes_product(a) != axes_product(b))
		return false;
	for (uint32_t i = 0; i < a.n; i++) {
		bool found = false;
		for (uint32_t k = 0; k < b.n; k++)
			found |= a.a[i] == b.a[k];
		if (!found)
			return false;
	}
	return true;
}

/* Decides the factors along which a side is cut as it is; its axes are used up. */
static void decide(const dot *d, state *s, uint32_t side, const bool *along)
{
	axes used = joined(d, s, side, along);
	for (uint32_t f = 0; f < d->n_factors; f++) {
		for (uint32_t i = 0; along[f] && i < SIDES; i++)
			if (i != side)
				*cut(d, s, i, f) = (axes){NULL, 0};
		if (!along[f] || !has(d, side, f) || !cut(d, s, side, f)->n)
			continue;
		s->common[f] = *cut(d, s, side, f);
		for (uint32_t i = 0; i < SIDES; i++) {
			s->done[i] *= has(d, i, f) ? axes_product(s->common[f]) : 1;
			*cut(d, s, i, f) = (axes){NULL, 0};
		}
	}
	for (uint32_t i = 0; i < SIDES * d->n_factors; i++)
		s->at[i] = without(d, s->at[i], used);
	s->left = without(d, s->left, used);
	s->devices /= MAX(axes_product(used), 1);
}

static bool *class_of(const dot *d, dot_class class)
{
	bool *along = arena_array(d->mem, bool, d->n_factors);
	for (uint32_t f = 0; f < d->n_factors; f++)
		along[f] = d->class[f] == class;
	return along;
}

static bool decide_class(const dot *d, state *s, uint32_t side, dot_class class)
{
	decide(d, s, side, class_of(d, class));
	return true;
}

/* Operands or result are cut along one kind of dim alone, by all devices of the group. */
static bool find_whole_match(const dot *d, state *s, bool may_move)
{
	int64_t n = s->devices, p[SIDES][4];
	for (uint32_t side = 0; side < SIDES; side++) {
		if (is_repeated(d, s, side))
			return false;
		for (uint32_t class = 0; class < 4; class ++)
			p[side][class] = parts(d, s, side, class);
	}
	if (n == 1)
		return true;
	if (p[0][BATCH] == n && p[1][BATCH] == n && equal_along(d, s, 0, 1, BATCH))
		return decide_class(d, s, 0, BATCH);
	for (uint32_t side = 0; side < RESULT; side++)
		if (p[side][BATCH] == n && p[RESULT][BATCH] == n && equal_along(d, s, side, RESULT, BATCH))
			return decide_class(d, s, RESULT, BATCH);
	if (p[0][CONTRACTED] == n && p[1][CONTRACTED] == n) {
		if (!may_move && !is_whole(d, s, RESULT) && all_parts(d, s, RESULT) != n)
			return false;
		return decide_class(d, s, d->sizes[0] / s->done[0] < d->sizes[1] / s->done[1], CONTRACTED);
	}
	if (p[0][LEFT] == n && p[RESULT][LEFT] == n && equal_along(d, s, 0, RESULT, LEFT))
		return decide_class(d, s, RESULT, LEFT);
	if (p[1][RIGHT] == n && p[RESULT][RIGHT] == n && equal_along(d, s, 1, RESULT, RIGHT))
		return decide_class(d, s, RESULT, RIGHT);
	for (uint32_t i = 0; may_move && i < 3; i++) {
		dot_class class = (dot_class[]){BATCH, LEFT, RIGHT}[i];
		if (p[RESULT][class] == n)
			return decide_class(d, s, RESULT, class);
	}
	for (uint32_t side = 0; side < RESULT; side++) /* less to reduce than to gather */
		if (is_whole(d, s, RESULT) && p[!side][CONTRACTED] == n && is_whole(d, s, side) &&
			d->sizes[!side] / s->done[!side] > d->sizes[RESULT] / s->done[RESULT])
			return decide_class(d, s, !side, CONTRACTED);
	return false;
}

static void solve(const dot *d, state *s);

/* ---------------------------------------------------------------- grouping by what agrees */

static void uncut(const dot *d, state *s, uint32_t side, const bool *along)
{
	for (uint32_t f = 0; f < d->n_factors; f++)
		if (has(d, side, f) && (!along || along[f]))
			*cut(d, s, side, f) = (axes){NULL, 0};
}

/* An operand takes the result's batch axes: from devices that repeat it, or from its other dims. */
static bool take_batch(const dot *d, state *s, uint32_t side, bool as_it_is)
{
	if (is_whole(d, s, side))
		return true;
	if (equal_along(d, s, side, RESULT, BATCH))
		return true;
	if (as_it_is)
		return false;
	int64_t batch = parts(d, s, RESULT, BATCH),
			want = all_parts(d, s, side) / parts(d, s, side, BATCH) * batch;
	if (want <= s->devices)
		return want == s->devices || is_repeated(d, s, side);
	int64_t ratio = want / s->devices, contracted = parts(d, s, side, CONTRACTED),
			left = parts(d, s, side, side ? RIGHT : LEFT);
	if (want % s->devices)
		return false;
	if (ratio == left && (ratio != contracted || contracted == parts(d, s, !side, CONTRACTED)))
		uncut(d, s, side, class_of(d, side ? RIGHT : LEFT));
	else if (ratio == contracted)
		uncut(d, s, side, class_of(d, CONTRACTED));
	else
		return false;
	return true;
}

static bool group_batch(const dot *d, state *s, bool as_it_is)
{
	int64_t batch = parts(d, s, RESULT, BATCH);
	if (batch == 1 || (parts(d, s, 0, BATCH) != batch && parts(d, s, 1, BATCH) != batch))
		return false;
	bool alike = true;
	for (uint32_t f = 0; f < d->n_factors; f++)
		alike &= d->class[f] != BATCH ||
			axes_product(*cut(d, s, 0, f)) == axes_product(*cut(d, s, 1, f));
	if (alike && as_it_is)
		alike = equal_along(d, s, 0, 1, BATCH);
	if (alike)
		decide_class(d, s, local(d, s, 0) > local(d, s, 1) ? 0 : 1, BATCH);
	else if (take_batch(d, s, 0, as_it_is) && take_batch(d, s, 1, as_it_is))
		decide_class(d, s, RESULT, BATCH);
	else
		return false;
	solve(d, s);
	return true;
}

/* Dims of a side that are cut by just these axes, one or all of several; false: none. */
static bool dims_cut_by(const dot *d, const state *s, uint32_t side, axes by, bool *along)
{
	axes inside = {NULL, 0};
	for (uint32_t f = 0; f < d->n_factors; f++) {
		axes l = has(d, side, f) ? *cut(d, s, side, f) : (axes){NULL, 0};
		along[f] = l.n && !without(d, l, by).n;
	}
	inside = joined(d, s, side, along);
	return inside.n && same_axes(inside, by);
}

/* Dims of a side that are cut by these axes are cut by others, of as many devices, that repeat it.
 */
static void move_off(const dot *d, state *s, uint32_t side, axes by)
{
	bool *all = arena_array(d->mem, bool, d->n_factors);
	for (uint32_t f = 0; f < d->n_factors; f++)
		all[f] = true;
	axes spare = without(d, without(d, s->left, joined(d, s, side, all)), by);
	for (uint32_t f = 0; f < d->n_factors; f++) {
		axes *l = cut(d, s, side, f);
		if (!has(d, side, f) || without(d, *l, by).n == l->n)
			continue;
		axis_ref *moved = arena_array(d->mem, axis_ref, l->n);
		uint32_t n = 0;
		for (uint32_t i = 0; i < l->n; i++) {
			axis_ref a = l->a[i];
			for (uint32_t k = 0; overlap(by, l->a[i]) && k < spare.n; k++)
				if (axis_size(spare.a[k]) == axis_size(l->a[i])) {
					a = spare.a[k];
					spare = without(d, spare, (axes){&a, 1});
					break;
				}
			if (!overlap(by, a))
				moved[n++] = a;
		}
		*l = (axes){moved, n};
	}
}

/* An operand as the result and the other operand would have it, off these axes. */
static void follow(const dot *d, state *s, uint32_t side, axes by)
{
	bool *along = arena_array(d->mem, bool, d->n_factors);
	for (uint32_t f = 0; f < d->n_factors; f++) {
		along[f] = has(d, side, f) && has(d, RESULT, f);
		if (along[f])
			*cut(d, s, side, f) = without(d, *cut(d, s, RESULT, f), by);
	}
	axes used = joined(d, s, side, along);
	for (uint32_t f = 0; f < d->n_factors; f++)
		if (has(d, side, f) && !along[f])
			*cut(d, s, side, f) = without(d, without(d, *cut(d, s, !side, f), by), used);
}

/* What the other operand gives up, so that each group of devices has it whole. */
static void free_other(const dot *d, state *s, uint32_t other, axes by)
{
	if (is_whole(d, s, other))
		return;
	int64_t n = axes_product(by), free_parts = parts(d, s, other, other ? RIGHT : LEFT);
	bool *along = arena_array(d->mem, bool, d->n_factors);
	if (is_repeated(d, s, other) && (s->devices / all_parts(d, s, other)) % n == 0) {
		move_off(d, s, other, by);
		return;
	}
	if (dims_cut_by(d, s, other, by, along)) {
		uncut(d, s, other, along);
		return;
	}
	bool contracted = parts(d, s, other, CONTRACTED) == n &&
		free_parts == parts(d, s, RESULT, other ? RIGHT : LEFT),
		 free_dims =
			 free_parts == n && parts(d, s, !other, CONTRACTED) == parts(d, s, other, CONTRACTED);
	if (contracted && (!free_dims || local(d, s, other) <= local(d, s, RESULT)))
		uncut(d, s, other, class_of(d, CONTRACTED));
	else if (free_dims)
		uncut(d, s, other, class_of(d, other ? RIGHT : LEFT));
	else
		follow(d, s, other, by);
}

static bool group_free(const dot *d, state *s, bool as_it_is)
{
	int64_t l = parts(d, s, 0, LEFT), r = parts(d, s, 1, RIGHT), out_l = parts(d, s, RESULT, LEFT),
			out_r = parts(d, s, RESULT, RIGHT);
	bool left = l == out_l && l > 1, right = r == out_r && r > 1;
	bool *along;
	uint32_t side;
	if (left || right) {
		side = left && (!right || l * local(d, s, 1) < r * local(d, s, 0)) ? 0 : 1;
		along = class_of(d, side ? RIGHT : LEFT);
	} else {
		if (l > 1 && out_l > 1)
			side = 0;
		else if (r > 1 && out_r > 1)
			side = 1;
		else
			return false;
		along = class_of(d, side ? RIGHT : LEFT);
		bool some = false;
		for (uint32_t f = 0; f < d->n_factors; f++) {
			int64_t n = along[f] ? axes_product(*cut(d, s, side, f)) : 1;
			along[f] &= n > 1 && n == axes_product(*cut(d, s, RESULT, f));
			some |= along[f];
		}
		if (!some)
			return false;
	}
	for (uint32_t f = 0; f < d->n_factors; f++)
		if (as_it_is && along[f] && !axes_equal(*cut(d, s, side, f), *cut(d, s, RESULT, f)))
			return false;
	free_other(d, s, !side, joined(d, s, RESULT, along));
	decide(d, s, RESULT, along);
	solve(d, s);
	return true;
}

static bool starts_with(axes l, axes first)
{
	for (uint32_t i = 0; i < first.n; i++)
		if (i >= l.n || l.a[i] != first.a[i])
			return false;
	return true;
}

/* Where but one operand is cut besides what is summed up, and the result is cut finer than that,
 * the sum is made where the operand is. */
static void coarsen_result(const dot *d, state *s, const bool *summed, axes by)
{
	bool finer[2] = {true, true}, is_cut[2] = {false, false};
	int64_t n = axes_product(by), all = all_parts(d, s, RESULT);
	if (all == 1 || (all < s->devices && s->devices / all % n == 0))
		return;
	for (uint32_t f = 0; f < d->n_factors; f++)
		for (uint32_t side = 0; side < RESULT && !summed[f]; side++) {
			axes l = has(d, side, f) ? *cut(d, s, side, f) : (axes){NULL, 0};
			is_cut[side] |= l.n > 0;
			finer[side] &= !has(d, RESULT, f) || starts_with(*cut(d, s, RESULT, f), l);
		}
	if (is_cut[0] == is_cut[1] || !finer[is_cut[1]])
		return;
	for (uint32_t f = 0; f < d->n_factors; f++)
		if (has(d, RESULT, f))
			*cut(d, s, RESULT, f) =
				has(d, is_cut[1], f) ? *cut(d, s, is_cut[1], f) : (axes){NULL, 0};
}

/* The result in a group of devices that sums up over some contracted dims: which of its dims the
 * sum is scattered along. False: there is none, and each group makes all of it. */
static bool scatter_result(const dot *d, state *s, const bool *summed, axes by)
{
	int64_t n = axes_product(by);
	bool *along = arena_array(d->mem, bool, d->n_factors);
	coarsen_result(d, s, summed, by);
	if (is_repeated(d, s, RESULT) && (s->devices / all_parts(d, s, RESULT)) % n == 0) {
		move_off(d, s, RESULT, by);
		return true;
	}
	if (dims_cut_by(d, s, RESULT, by, along)) {
		uncut(d, s, RESULT, along);
		return true;
	}
	for (uint32_t i = 0; i < 3; i++) {
		dot_class class = (dot_class[]){LEFT, RIGHT, BATCH}[i];
		if (parts(d, s, RESULT, class) == n) {
			uncut(d, s, RESULT, class_of(d, class));
			return true;
		}
	}
	uncut(d, s, RESULT, NULL);
	return false;
}

static bool group_contracted(const dot *d, state *s, bool as_it_is)
{
	int64_t l = parts(d, s, 0, CONTRACTED), r = parts(d, s, 1, CONTRACTED);
	if (l == 1 || r == 1)
		return false;
	bool *along = class_of(d, CONTRACTED), some = l == r;
	for (uint32_t f = 0; l != r && f < d->n_factors; f++) {
		int64_t n = along[f] ? axes_product(*cut(d, s, 0, f)) : 1;
		along[f] &= n > 1 && n == axes_product(*cut(d, s, 1, f));
		some |= along[f];
	}
	if (!some)
		return false;
	for (uint32_t f = 0; f < d->n_factors; f++)
		if (as_it_is && along[f] && !axes_equal(*cut(d, s, 0, f), *cut(d, s, 1, f)))
			return false;
	uint32_t side = local(d, s, 0) > local(d, s, 1) ? 0 : 1;
	bool scattered = scatter_result(d, s, along, joined(d, s, side, along));
	decide(d, s, side, along);
	axes *before = arena_array(d->mem, axes, d->n_factors);
	memcpy(before, s->common, d->n_factors * sizeof *before);
	solve(d, s);
	for (uint32_t f = 0; !scattered && f < d->n_factors; f++)
		if (has(d, RESULT, f) && !axes_equal(before[f], s->common[f]))
			s->after = before;
	return true;
}

/* ---------------------------------------------------------------- all of it */

static bool group(const dot *d, state *s, bool as_it_is)
{
	static bool (*const by[])(const dot *, state *, bool) = {
		group_batch, group_free, group_contracted};
	for (uint32_t i = 0; i < COUNT_OF(by); i++) {
		state one = copy_of(d, s);
		if (by[i](d, &one, as_it_is)) {
			*s = one;
			return true;
		}
	}
	return false;
}

/* Decides the rest: where nothing agrees, operands go where the result is. */
static void solve(const dot *d, state *s)
{
	for (uint32_t as_it_is = 2; s->devices > 1 && as_it_is-- > 0;) {
		if (find_whole_match(d, s, false) || group(d, s, as_it_is))
			return;
		if (is_whole(d, s, 0) && is_whole(d, s, 1) && is_repeated(d, s, RESULT)) {
			s->devices = all_parts(d, s, RESULT);
			solve(d, s);
			return;
		}
		if (find_whole_match(d, s, true))
			return;
	}
	bool *along = arena_array(d->mem, bool, d->n_factors);
	for (uint32_t f = 0; f < d->n_factors; f++)
		along[f] = d->class[f] != CONTRACTED;
	decide(d, s, RESULT, along);
}

bool partition_dot(const axes *at, const uint8_t *class, uint32_t n_factors, const int64_t *sizes,
	axes mesh, arena *mem, axes *common, axes *after)
{
	const dot d = {.n_factors = n_factors, .class = class, .sizes = sizes, .mem = mem};
	state s = {.common = common, .left = mesh, .done = {1, 1, 1}, .devices = axes_product(mesh)};
	s.at = arena_array(mem, axes, SIDES * n_factors);
	memcpy(s.at, at, SIDES * n_factors * sizeof *at);
	solve(&d, &s);
	if (s.common != common)
		memcpy(common, s.common, n_factors * sizeof *common);
	if (s.after)
		memcpy(after, s.after, n_factors * sizeof *after);
	return s.after != NULL;
}
