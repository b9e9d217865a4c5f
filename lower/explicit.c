/* The common axes of one op: insert-explicit-reshards, full version (shardy.md 4.1), or as XLA's
 * partitioner has them (partition_op.c). Pure functions of a rule, global sizes and shardings;
 * everything temporary lives in the scratch arena, which the caller rewinds. */
#include "lower/grid.h"

static axes keep(arena *mem, axes l)
{
	axis_ref *a = arena_array(mem, axis_ref, l.n);
	if (l.n)
		memcpy(a, l.a, l.n * sizeof *a);
	return (axes){a, l.n};
}

static void project(grid *g, uint32_t tensor, tensor_factors *tf)
{
	const rule *r = g->rule;
	project_to_factors(r, tensor, g->t, g->op->in[tensor], g->op->mesh, true, tf);
	for (uint32_t f = 0; f < r->n_factors; f++) {
		const factor_sharding *from = &tf->factor[f];
		*at_cell(g, tensor, f) = (cell){
			.present = from->present, .closed = from->closed, .minor_most = from->minor_most};
		if (from->present) {
			at_cell(g, tensor, f)->axes = keep(g->mem, axes_of(&from->axes));
			at_cell(g, tensor, f)->overflow = keep(g->mem, axes_of(&from->overflow));
		}
	}
}

static void grid_make(grid *g, const sharding_table *t, const explicit_op *op, arena *mem)
{
	const rule *r = op->rule;
	*g = (grid){.rule = r,
		.op = op,
		.t = t,
		.mem = mem,
		.n_tensors = (uint32_t)r->n_operands + r->n_results};
	g->cells = arena_zarray(mem, cell, (size_t)g->n_tensors * r->n_factors);
	g->common = arena_zarray(mem, axes, r->n_factors);
	tensor_factors *tf = arena_array(mem, tensor_factors, 1);
	for (uint32_t i = 0; i < g->n_tensors; i++)
		project(g, i, tf);
}

/* The sharding of a tensor whose factors have the common axes. */
static sharding_id build_sharding(const grid *g, sharding_table *t, uint32_t tensor)
{
	tensor_factors *tf = arena_array(g->mem, tensor_factors, 1);
	for (uint32_t f = 0; f < g->rule->n_factors; f++) {
		const cell *c = at_cell(g, tensor, f);
		factor_sharding *to = &tf->factor[f];
		*to = (factor_sharding){
			.present = c->present, .closed = c->closed, .minor_most = c->minor_most};
		axes_copy(&to->axes, c->axes);
		axes_copy(&to->overflow, c->overflow);
	}
	sharding_id old = g->op->in[tensor];
	tf->replicated.n = tf->unreduced.n = 0;
	if (old != SHARDING_NONE) {
		const sharding *s = sharding_get(t, old);
		axes_copy(&tf->replicated, sharding_replicated(s));
		axes_copy(&tf->unreduced, sharding_unreduced(s));
	}
	return project_to_sharding(g->rule, tensor, t, g->op->mesh, tf, old);
}

/* ---------------------------------------------------------------- axis lists */

/* The longest prefix of a list that does not overlap the others; true when something was cut. */
bool truncate_by(arena *mem, axes *l, axes others)
{
	for (uint32_t i = 0; i < l->n; i++) {
		axis_ref a = l->a[i];
		bool some = true;
		for (uint32_t k = 0; k < others.n && some; k++)
			some = axis_prefix_without_overlap(a, others.a[k], &a);
		if (some && a == l->a[i])
			continue;
		axes cut = keep(mem, (axes){l->a, i + 1});
		((axis_ref *)cut.a)[i] = a;
		cut.n = some ? i + 1 : i;
		*l = cut;
		return true;
	}
	return false;
}

static axes common_prefix(arena *mem, axes a, axes b)
{
	uint32_t i = 0;
	while (i < a.n && i < b.n && a.a[i] == b.a[i])
		i++;
	axis_ref part;
	if (i == a.n || i == b.n || !axis_common_prefix(a.a[i], b.a[i], &part))
		return (axes){a.a, i};
	axes out = keep(mem, (axes){a.a, i + 1});
	((axis_ref *)out.a)[i] = part;
	return out;
}

void axes_difference(axes a, axes b, axes_buf *out)
{
	out->n = 0;
	for (uint32_t i = 0; i < a.n; i++) {
		axis_ref rest[MAX_TENSOR_AXES];
		uint32_t n = 1;
		rest[0] = a.a[i];
		for (uint32_t k = 0; k < b.n; k++)
			for (uint32_t j = 0; j < n;) {
				axis_ref x = rest[j], part;
				if (!axis_overlaps(x, b.a[k])) {
					j++;
					continue;
				}
				rest[j] = rest[--n];
				if (axis_prefix_without_overlap(x, b.a[k], &part))
					rest[n++] = part;
				if (axis_suffix_without_overlap(x, b.a[k], &part))
					rest[n++] = part;
			}
		for (uint32_t j = 0; j < n && out->n < MAX_TENSOR_AXES; j++)
			out->a[out->n++] = rest[j];
	}
}

/* Order of axis references in ties: names, then parts before the whole axis, then from where and
 * how long. */
static int compare_refs(const grid *g, axis_ref a, axis_ref b)
{
	const device_mesh *m = &g->t->meshes.p[g->op->mesh];
	if (axis_index(a) != axis_index(b)) {
		str x = strtab_get(&g->t->names, m->axis_names[axis_index(a)]),
			y = strtab_get(&g->t->names, m->axis_names[axis_index(b)]);
		int c = memcmp(x.p, y.p, MIN(x.n, y.n));
		return c ? c : x.n < y.n ? -1 : 1;
	}
	int64_t full = m->axis_sizes[axis_index(a)];
	bool whole_a = axis_size(a) == full, whole_b = axis_size(b) == full;
	if (whole_a != whole_b)
		return whole_a ? 1 : -1;
	return a < b ? -1 : a > b;
}

static int compare_lists(const grid *g, axes a, axes b)
{
	if (a.n != b.n)
		return a.n < b.n ? -1 : 1;
	for (uint32_t i = 0; i < a.n; i++)
		if (a.a[i] != b.a[i])
			return compare_refs(g, a.a[i], b.a[i]);
	return 0;
}

/* ---------------------------------------------------------------- two tensors */

static int64_t sharding_size(const grid *g, uint32_t tensor)
{
	int64_t n = 1;
	for (uint32_t f = 0; f < g->rule->n_factors; f++)
		n = sat_mul(n,
			sat_mul(axes_product(at_cell(g, tensor, f)->axes),
				axes_product(at_cell(g, tensor, f)->overflow)));
	return n;
}

static bool has_sharded_permutation(const grid *g, uint32_t tensor)
{
	for (uint32_t f = 0; f < g->rule->n_factors; f++)
		if (is_type(g, f, FACTOR_PERMUTATION) && at_cell(g, tensor, f)->axes.n)
			return true;
	return false;
}

static bool is_preferred(const grid *g, uint32_t a, uint32_t b)
{
	bool perm_a = has_sharded_permutation(g, a), perm_b = has_sharded_permutation(g, b);
	if (perm_a != perm_b)
		return perm_b;
	if (g->op->sizes[a] != g->op->sizes[b])
		return g->op->sizes[a] > g->op->sizes[b];
	return sharding_size(g, a) >= sharding_size(g, b);
}

/* Exactly two tensors with dims, no factor that needs replication, one factor per dim. */
static bool is_unary(const grid *g, uint32_t pair[2])
{
	const rule *r = g->rule;
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->n_tensors; i++) {
		if (!rank_of(r, i))
			continue;
		if (n == 2)
			return false;
		pair[n++] = i;
	}
	if (n != 2)
		return false;
	for (uint32_t f = 0; f < r->n_factors; f++)
		if (is_type(g, f, FACTOR_NEED_REPLICATION))
			return false;
	for (uint32_t d = 0; d < r->tensor_first[g->n_tensors]; d++)
		if (r->dims[d].n > 1)
			return false;
	return true;
}

static void choose_unary(grid *g, const uint32_t pair[2])
{
	uint32_t first = pair[0], other = pair[1];
	if (!is_preferred(g, first, other)) {
		first = pair[1];
		other = pair[0];
	}
	axes_buf taken;
	taken.n = 0;
	for (uint32_t f = 0; f < g->rule->n_factors; f++) {
		const cell *c = at_cell(g, first, f);
		if (!c->present)
			continue;
		g->common[f] = c->axes;
		for (uint32_t i = 0; i < c->axes.n; i++)
			taken.a[taken.n++] = c->axes.a[i];
	}
	for (uint32_t f = 0; f < g->rule->n_factors; f++) {
		if (at_cell(g, first, f)->present || !at_cell(g, other, f)->present)
			continue;
		g->common[f] = at_cell(g, other, f)->axes;
		truncate_by(g->mem, &g->common[f], axes_of(&taken));
	}
}

/* ---------------------------------------------------------------- any number of tensors */

typedef struct candidate { /* giving factor the axes */
	uint32_t factor;
	axes axes;
	int64_t total; /* global elements of the tensors that have it */
	int64_t gain;  /* how much further the factor is cut */
} candidate;

typedef struct bag {
	VEC(candidate) list;
	uint64_t *waits_for; /* by factor: factors that stand before it in some dim and are not cut
	                        completely yet */
} bag;

static int64_t precedence(const grid *g, uint32_t f)
{
	switch ((factor_type)g->rule->factor_types[f]) {
	case FACTOR_PASS_THROUGH: return 3;
	case FACTOR_REDUCTION: return 2;
	case FACTOR_PERMUTATION: return 1;
	case FACTOR_NEED_REPLICATION: break;
	}
	return 0;
}

static bool is_better(const grid *g, const candidate *a, const candidate *b)
{
	if (a->total != b->total)
		return a->total > b->total;
	int64_t pa = precedence(g, a->factor), pb = precedence(g, b->factor);
	if (pa != pb)
		return pa > pb;
	if (a->gain != b->gain)
		return a->gain > b->gain;
	if (a->factor != b->factor)
		return a->factor > b->factor;
	return compare_lists(g, a->axes, b->axes) > 0;
}

/* A part of an axis is a prefix of the axis: tensors that have more than the candidate count for it
 * too. */
static int64_t total_size(const grid *g, uint32_t f, axes l)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < g->n_tensors; i++)
		if (axes_prefix(l, at_cell(g, i, f)->axes) != PREFIX_NOT)
			n = sat_add(n, g->op->sizes[i]);
	return n;
}

static void add_candidate(grid *g, bag *b, uint32_t f, axes l)
{
	for (uint32_t i = 0; i < b->list.n; i++)
		if (b->list.p[i].factor == f && axes_equal(b->list.p[i].axes, l))
			return;
	candidate c = {f, l, total_size(g, f, l), axes_product(l)};
	if (b->list.n == b->list.cap) { /* in the arena: the bag lives as long as the choice */
		uint32_t cap = MAX(16, b->list.cap * 2);
		candidate *p = arena_array(g->mem, candidate, cap);
		if (b->list.n)
			memcpy(p, b->list.p, b->list.n * sizeof *p);
		b->list.p = p;
		b->list.cap = cap;
	}
	b->list.p[b->list.n++] = c;
}

static void fill_bag(grid *g, bag *b)
{
	const rule *r = g->rule;
	*b = (bag){0};
	b->waits_for = arena_zarray(g->mem, uint64_t, r->n_factors);
	for (uint32_t d = 0; d < r->tensor_first[g->n_tensors]; d++)
		for (uint32_t k = 1; k < r->dims[d].n; k++)
			b->waits_for[r->dim_factors[r->dims[d].first + k]] |= (uint64_t)1
				<< r->dim_factors[r->dims[d].first + k - 1];
	for (uint32_t i = 0; i < g->n_tensors; i++)
		for (uint32_t f = 0; f < r->n_factors; f++)
			for (axes l = at_cell(g, i, f)->axes; l.n; l.n--)
				add_candidate(g, b, f, l);
}

static const candidate *best_of(const grid *g, const bag *b)
{
	const candidate *best = NULL;
	for (uint32_t i = 0; i < b->list.n; i++) {
		const candidate *c = &b->list.p[i];
		if (!b->waits_for[c->factor] && (!best || is_better(g, c, best)))
			best = c;
	}
	return best;
}

/* What the pick leaves of another candidate; false when nothing new. */
static bool adjust(grid *g, candidate *c, const candidate *pick)
{
	if (c->factor == pick->factor) {
		if (axes_prefix(pick->axes, c->axes) != PREFIX_STRICT)
			return false;
		c->gain = axes_product(c->axes) / axes_product(pick->axes);
		return true;
	}
	if (!truncate_by(g->mem, &c->axes, pick->axes)) {
		c->gain = axes_product(
			c->axes); /* of the whole list, also when the factor has some of it already */
		return true;
	}
	axes have = g->common[c->factor];
	if (axes_equal(c->axes, have))
		return false;
	c->gain = axes_product(c->axes) / axes_product(have);
	return true;
}

static void choose_by_weight(grid *g)
{
	bag b;
	fill_bag(g, &b);
	for (const candidate *best; (best = best_of(g, &b));) {
		candidate pick = *best;
		g->common[pick.factor] = pick.axes;
		if (axes_product(pick.axes) == g->rule->factor_sizes[pick.factor])
			for (uint32_t f = 0; f < g->rule->n_factors; f++)
				b.waits_for[f] &= ~((uint64_t)1 << pick.factor);
		uint32_t n = 0;
		for (uint32_t i = 0; i < b.list.n; i++) {
			candidate c = b.list.p[i];
			if (adjust(g, &c, &pick))
				b.list.p[n++] = c;
		}
		b.list.n = n;
	}
}

static bool in_all_tensors(const grid *g, uint32_t f)
{
	for (uint32_t i = 0; i < g->n_tensors; i++)
		if (rank_of(g->rule, i) && !at_cell(g, i, f)->present)
			return false;
	return true;
}

/* Axes that a factor that must be replicated would have got move to the batching factors that have
 * room. */
static void offer_to_batching(grid *g, axes offered)
{
	const rule *r = g->rule;
	for (uint32_t f = 0; f < r->n_factors && offered.n; f++) {
		int64_t size = r->factor_sizes[f], used = axes_product(g->common[f]);
		if (!is_type(g, f, FACTOR_PASS_THROUGH) || !in_all_tensors(g, f) || size == 0 ||
			size % used)
			continue;
		int64_t room = size / used;
		axes_buf list;
		axes_copy(&list, g->common[f]);
		while (offered.n && room % axis_size(offered.a[0]) == 0) {
			axes_push_merge(&list, offered.a[0]);
			room /= axis_size(offered.a[0]);
			offered.a++;
			offered.n--;
		}
		g->common[f] = keep(g->mem, axes_of(&list));
	}
}

static void choose_common(grid *g)
{
	uint32_t pair[2];
	if (is_unary(g, pair)) {
		choose_unary(g, pair);
		return;
	}
	choose_by_weight(g);
	for (uint32_t f = 0; f < g->rule->n_factors; f++) {
		if (!is_type(g, f, FACTOR_NEED_REPLICATION))
			continue;
		axes taken = g->common[f];
		g->common[f].n = 0;
		if (in_all_tensors(g, f))
			offer_to_batching(g, taken);
	}
}

/* ---------------------------------------------------------------- reshape with axes that do not
 * divide */

static bool has_overflow(const grid *g)
{
	for (uint32_t c = 0; c < g->n_tensors * g->rule->n_factors; c++)
		if (g->cells[c].overflow.n)
			return true;
	return false;
}

/* Deals axes out over the factors of a tensor: each goes to the first factor with a common divisor,
 * cut where needed. From the first one that nobody can take, all go to the last factor. */
static void deal(grid *g, uint32_t tensor, axes list)
{
	const rule *r = g->rule;
	uint32_t first = r->tensor_first[tensor], last = r->tensor_first[tensor + 1];
	axes_buf got[MAX_FACTORS];
	int64_t room[MAX_FACTORS];
	uint32_t order[MAX_FACTORS], n = 0;
	for (uint32_t d = first; d < last; d++)
		for (uint32_t k = 0; k < r->dims[d].n; k++) {
			uint32_t f = r->dim_factors[r->dims[d].first + k];
			if (!at_cell(g, tensor, f)->present) /* behind the overflow of a dim */
				continue;
			got[n].n = 0;
			room[n] = r->factor_sizes[f];
			order[n++] = f;
		}
	axes_buf left;
	left.n = 0;
	for (uint32_t i = 0; i < list.n; i++) {
		axis_ref rest = list.a[i];
		bool fits = left.n == 0;
		while (rest && fits) {
			fits = false;
			for (uint32_t k = 0; k < n && rest; k++) {
				int64_t size = axis_size(rest), part = gcd_i64(room[k], size);
				if (room[k] <= 1 || (part == 1 && size != 1))
					continue;
				fits = true;
				room[k] /= part;
				axes_push_merge(&got[k], axis_make(axis_index(rest), axis_pre(rest), part));
				rest = part == size
					? 0
					: axis_make(axis_index(rest), axis_pre(rest) * part, size / part);
			}
		}
		if (rest)
			axes_push_merge(&left, rest);
	}
	for (uint32_t k = 0; k < n; k++) {
		at_cell(g, tensor, order[k])->axes = keep(g->mem, axes_of(&got[k]));
		at_cell(g, tensor, order[k])->overflow =
			k + 1 == n ? keep(g->mem, axes_of(&left)) : (axes){NULL, 0};
	}
}

static bool same_axes(const sharding_table *t, sharding_id a, sharding_id b)
{
	if (a == SHARDING_NONE || b == SHARDING_NONE)
		return sharding_is_replicated(t, a) && sharding_is_replicated(t, b);
	const sharding *x = sharding_get(t, a), *y = sharding_get(t, b);
	bool same = x->rank == y->rank && axes_equal(sharding_unreduced(x), sharding_unreduced(y));
	for (uint32_t d = 0; same && d < x->rank; d++)
		same = axes_equal(sharding_dim(x, d), sharding_dim(y, d));
	return same;
}

/* The more sharded side's axes are dealt out on both sides; what both then have of a factor is what
 * they share. */
static void reshape_shardings(grid *g, sharding_table *t, sharding_id at[2])
{
	uint32_t from = sharding_size(g, 0) >= sharding_size(g, 1) ? 0 : 1;
	axes_buf all;
	all.n = 0;
	for (uint32_t f = 0; f < g->rule->n_factors; f++) {
		const cell *c = at_cell(g, from, f);
		for (uint32_t i = 0; i < c->axes.n; i++)
			all.a[all.n++] = c->axes.a[i];
		for (uint32_t i = 0; i < c->overflow.n; i++)
			all.a[all.n++] = c->overflow.a[i];
	}
	sharding_id built[2];
	for (uint32_t i = 0; i < 2; i++) {
		deal(g, i, axes_of(&all));
		built[i] = build_sharding(g, t, i);
	}
	explicit_op legal = *g->op;
	legal.in = built;
	grid h;
	grid_make(&h, g->t, &legal, g->mem);
	for (uint32_t f = 0; f < g->rule->n_factors; f++) {
		const cell *x = at_cell(&h, 0, f), *y = at_cell(&h, 1, f);
		g->common[f] = x->present && y->present ? common_prefix(g->mem, x->axes, y->axes)
			: x->present                        ? x->axes
												: y->axes;
		for (uint32_t i = 0; i < 2; i++) {
			at_cell(g, i, f)->axes = g->common[f];
			at_cell(g, i, f)->overflow.n = 0;
		}
	}
	for (uint32_t i = 0; i < 2; i++) {
		at[i] = build_sharding(g, t, i);
		if (same_axes(t, at[i], g->op->in[i]))
			at[i] = g->op->in[i];
	}
}

/* ---------------------------------------------------------------- the op */

/* Gives every tensor the common axes; true when a tensor's projection changes. */
static bool update_tensor(grid *g, uint32_t tensor)
{
	bool changed = false;
	for (uint32_t f = 0; f < g->rule->n_factors; f++) {
		cell *c = at_cell(g, tensor, f);
		if (!c->present)
			continue;
		changed |= !axes_equal(c->axes, g->common[f]) || c->overflow.n;
		c->axes = g->common[f];
		c->overflow.n = 0;
	}
	return changed;
}

/* What the result is gathered to. */
static sharding_id gathered(grid *g, sharding_table *t)
{
	uint32_t result = g->rule->n_operands;
	if (!g->after)
		return SHARDING_NONE;
	for (uint32_t f = 0; f < g->rule->n_factors; f++)
		if (at_cell(g, result, f)->present)
			at_cell(g, result, f)->axes = g->after[f];
	return build_sharding(g, t, result);
}

sharding_id explicit_shardings(
	sharding_table *t, const explicit_op *op, arena *scratch, sharding_id *at, axes_buf *reduce)
{
	grid g;
	grid_make(&g, t, op, scratch);
	reduce->n = 0;
	if (op->op_kind == OP_RESHAPE && has_overflow(&g)) {
		reshape_shardings(&g, t, at);
		return SHARDING_NONE;
	}
	if (!op->partitioner || !choose_as_partitioner(&g))
		choose_common(&g);
	for (uint32_t i = 0; i < g.n_tensors; i++) {
		bool changed = update_tensor(&g, i);
		at[i] = changed ? build_sharding(&g, t, i) : op->in[i];
		if (op->changed)
			op->changed[i] = changed;
	}
	sharding_id after = gathered(&g, t);

	axes_buf all;
	all.n = 0;
	for (uint32_t f = 0; f < op->rule->n_factors; f++)
		if (is_type(&g, f, FACTOR_REDUCTION))
			for (uint32_t i = 0; i < g.common[f].n; i++)
				all.a[all.n++] = g.common[f].a[i];
	if (!all.n || !op->rule->n_results)
		return after;
	sharding_id result = op->in[op->rule->n_operands];
	axes unreduced =
		result == SHARDING_NONE ? (axes){NULL, 0} : sharding_unreduced(sharding_get(t, result));
	axes_difference(axes_of(&all), unreduced, reduce);
	axes_sort_merge(reduce);
	return after;
}

/* The operands' axes along a factor; false when the two disagree, or an axis shards two free dims.
 */
static bool operand_axes(const grid *g, uint32_t f, axes_buf *free_axes, axes *out, int64_t *size)
{
	const cell *l = at_cell(g, 0, f), *r = at_cell(g, 1, f);
	if (l->present && r->present) {
		*out = l->axes;
		*size = MAX(g->op->sizes[0], g->op->sizes[1]);
		return axes_equal(l->axes, r->axes);
	}
	*out = l->present ? l->axes : r->axes;
	*size = g->op->sizes[l->present ? 0 : 1];
	for (uint32_t i = 0; i < out->n; i++) {
		if (overlaps_any(axes_of(free_axes), out->a[i]))
			return false;
		free_axes->a[free_axes->n++] = out->a[i];
	}
	return true;
}

sharding_id explicit_dot_result(sharding_table *t, const explicit_op *op, arena *scratch)
{
	const rule *r = op->rule;
	if (r->n_operands != 2 || r->n_results != 1 || op->in[2] == SHARDING_NONE)
		return op->in[2];
	grid g;
	grid_make(&g, t, op, scratch);
	axes_buf reduced, free_axes;
	reduced.n = free_axes.n = 0;
	uint32_t conflict = UINT32_MAX;
	axes wanted = {NULL, 0};
	for (uint32_t f = 0; f < r->n_factors; f++) {
		axes l;
		int64_t size;
		if (!operand_axes(&g, f, &free_axes, &l, &size))
			return op->in[2];
		if (is_type(&g, f, FACTOR_REDUCTION)) {
			for (uint32_t i = 0; i < l.n; i++)
				reduced.a[reduced.n++] = l.a[i];
			continue;
		}
		if (!at_cell(&g, 2, f)->present || axes_equal(at_cell(&g, 2, f)->axes, l))
			continue;
		if (!l.n || conflict != UINT32_MAX || op->sizes[2] > size)
			return op->in[2];
		conflict = f;
		wanted = l;
	}
	if (conflict == UINT32_MAX || !at_cell(&g, 2, conflict)->axes.n ||
		!axes_equal(at_cell(&g, 2, conflict)->axes, axes_of(&reduced)))
		return op->in[2];
	at_cell(&g, 2, conflict)->axes = wanted;
	return build_sharding(&g, t, 2);
}

void explicit_reduction_axes(
	sharding_table *t, const explicit_op *op, arena *scratch, axes_buf *out)
{
	grid g;
	grid_make(&g, t, op, scratch);
	out->n = 0;
	for (uint32_t f = 0; f < op->rule->n_factors; f++) {
		axes l = {NULL, 0};
		for (uint32_t i = op->rule->n_operands; is_type(&g, f, FACTOR_REDUCTION) && i-- > 0;)
			if (at_cell(&g, i, f)->present)
				l = at_cell(&g, i, f)->axes;
		for (uint32_t i = 0; i < l.n && out->n < MAX_TENSOR_AXES; i++)
			out->a[out->n++] = l.a[i];
	}
}
