/* From one sharding of a tensor to another as a sequence of collectives.
 *
 * Shardy's machine (shardy.md 4.2), greedy and without search. The state is what is left to do: per
 * dim the axes that are there and should not be (in), the axes that should be there and are not
 * (out), both behind the common prefix, and the axes as they are (current). Up to two rounds of
 * all_slice, collective_permute, all_to_all and all_gather empty both; with powers of two one round
 * does. */
#include "lower/internal.h"

#include <stdlib.h>

struct place { /* where an axis is wanted */
	axis_ref axis;
	uint32_t dim, index;
};
struct machine {
	sharding_table *t;
	arena *mem;
	const int64_t *dims;
	uint32_t rank;
	mesh_id mesh, target_mesh; /* meshes of the current and of the wanted sharding: same axes, other
	                              device order */
	sharding_id at;            /* the current sharding, interned */
	axes_buf unreduced;
	axes_buf in[MAX_RANK], out[MAX_RANK], current[MAX_RANK];
	int64_t capacity[MAX_RANK];
	axes_buf in_set; /* the axes of all in lists */
	struct place wanted[MAX_TENSOR_AXES];
	uint32_t n_wanted;
	axes_buf cut;             /* axes that were split while they were distributed */
	axes_buf moved[MAX_RANK]; /* axes of the collective that is being built, by dim */
	VEC(collective_step) steps;
};

/* ---------------------------------------------------------------- lists */

static uint32_t list_find(const axes_buf *l, axis_ref a)
{
	uint32_t i = 0;
	while (i < l->n && l->a[i] != a)
		i++;
	return i;
}

static bool list_has(const axes_buf *l, axis_ref a) { return list_find(l, a) < l->n; }

static void list_insert(axes_buf *l, uint32_t at, axis_ref a)
{
	assert(l->n < MAX_TENSOR_AXES && at <= l->n);
	memmove(l->a + at + 1, l->a + at, (l->n - at) * sizeof *l->a);
	l->a[at] = a;
	l->n++;
}

static void list_erase(axes_buf *l, uint32_t at)
{
	l->n--;
	memmove(l->a + at, l->a + at + 1, (l->n - at) * sizeof *l->a);
}

static void list_push(axes_buf *l, axis_ref a) { list_insert(l, l->n, a); }

static void list_remove(axes_buf *l, axis_ref a)
{
	uint32_t i = list_find(l, a);
	if (i < l->n)
		list_erase(l, i);
}

static void list_sort(axes_buf *l)
{
	for (uint32_t i = 1; i < l->n; i++) {
		axis_ref x = l->a[i];
		uint32_t j = i;
		for (; j && l->a[j - 1] > x; j--)
			l->a[j] = l->a[j - 1];
		l->a[j] = x;
	}
}

static int64_t list_size(const axes_buf *l) { return axes_product(axes_of(l)); }

static bool divisible(int64_t a, int64_t b) { return a % b == 0 || b % a == 0; }

/* Splits the axes of a list where the axes of `others` (sorted) begin and end, so that overlapping
 * parts are equal. */
static void refine(axes_buf *l, const axes_buf *others)
{
	uint32_t i = 0;
	while (i < l->n) {
		axis_ref a = l->a[i];
		uint32_t o = 0;
		while (o < others->n && !axis_overlaps(others->a[o], a))
			o++;
		bool ended = false;
		while (o < others->n && axis_can_coexist(others->a[o], a) &&
			!axis_contains(others->a[o], a) && axis_overlaps(others->a[o], a)) {
			axis_ref part;
			list_erase(l, i);
			if (axis_prefix_without_overlap(a, others->a[o], &part))
				list_insert(l, i++, part);
			if (axis_overlap(a, others->a[o], &part))
				list_insert(l, i++, part);
			if (!axis_suffix_without_overlap(a, others->a[o], &part)) {
				ended = true;
				break;
			}
			list_insert(l, i, part);
			a = part;
			o++;
		}
		if (!ended)
			i++;
	}
}

static void refine_all(axes_buf *lists, uint32_t rank, const axes_buf *others)
{
	for (uint32_t d = 0; d < rank && others->n; d++)
		refine(&lists[d], others);
}

static void all_axes(const axes_buf *lists, uint32_t rank, axes_buf *out)
{
	out->n = 0;
	for (uint32_t d = 0; d < rank; d++)
		for (uint32_t i = 0; i < lists[d].n; i++)
			list_push(out, lists[d].a[i]);
}

/* Takes in-axes [from, n) off the end of the current axes of a dim, of which they may be parts. */
static void pop_current(axes_buf *current, const axes_buf *l, uint32_t from)
{
	for (uint32_t i = l->n; i-- > from && current->n;) {
		axis_ref prefix;
		if (axis_prefix_without_overlap(current->a[current->n - 1], l->a[i], &prefix))
			current->a[current->n - 1] = prefix;
		else
			current->n--;
	}
}

/* The part of an axis that fits a capacity, which is divided by it. *rest is 0 when all of it fits.
 */
static bool fit(axis_ref a, int64_t *capacity, axis_ref *within, axis_ref *rest)
{
	int64_t size = axis_size(a);
	*rest = 0;
	if (*capacity <= 1 || !divisible(size, *capacity))
		return false;
	if (*capacity >= size) {
		*capacity /= size;
		*within = a;
		return true;
	}
	*within = axis_make(axis_index(a), axis_pre(a), *capacity);
	*rest = axis_make(axis_index(a), axis_next_pre(*within), size / *capacity);
	*capacity = 1;
	return true;
}

/* ---------------------------------------------------------------- state */

static void find_wanted(struct machine *m)
{
	m->n_wanted = 0;
	for (uint32_t d = 0; d < m->rank; d++)
		for (uint32_t i = 0; i < m->out[d].n; i++) {
			uint32_t k = 0;
			while (k < m->n_wanted && m->wanted[k].axis != m->out[d].a[i])
				k++;
			if (k == m->n_wanted && k < MAX_TENSOR_AXES)
				m->wanted[m->n_wanted++] = (struct place){m->out[d].a[i], d, i};
		}
}

static const struct place *wanted_at(const struct machine *m, axis_ref a)
{
	for (uint32_t i = 0; i < m->n_wanted; i++)
		if (m->wanted[i].axis == a)
			return &m->wanted[i];
	return NULL;
}

static bool is_done(const struct machine *m)
{
	if (m->mesh != m->target_mesh)
		return false;
	for (uint32_t d = 0; d < m->rank; d++)
		if (m->in[d].n || m->out[d].n)
			return false;
	return true;
}

static void clear_moved(struct machine *m)
{
	for (uint32_t d = 0; d < m->rank; d++)
		m->moved[d].n = 0;
}

static axes keep_axes(struct machine *m, const axes_buf *l)
{
	axis_ref *a = arena_array(m->mem, axis_ref, l->n);
	if (l->n)
		memcpy(a, l->a, l->n * sizeof *a);
	return (axes){a, l->n};
}

/* Appends a step to the sharding that the current axes stand for. `moved` gives its axes by dim. */
static collective_step *add_step(struct machine *m, collective_kind kind)
{
	sharding_edit e;
	sharding_edit_init(&e, m->mesh, m->rank, true);
	for (uint32_t d = 0; d < m->rank; d++)
		axes_copy(&e.dims[d].axes, axes_of(&m->current[d]));
	axes_copy(&e.unreduced, axes_of(&m->unreduced));
	collective_step s = {.kind = (uint8_t)kind, .in = m->at, .out = sharding_intern(m->t, &e)};
	m->at = s.out;
	axes_buf all;
	all_axes(m->moved, m->rank, &all);
	axes_sort_merge(&all);
	s.axes = keep_axes(m, &all);
	if (kind == COLL_ALL_GATHER || kind == COLL_ALL_SLICE) {
		axes *by_dim = arena_array(m->mem, axes, m->rank);
		for (uint32_t d = 0; d < m->rank; d++)
			by_dim[d] = keep_axes(m, &m->moved[d]);
		s.dim_axes = by_dim;
	}
	vec_push(&m->steps, s);
	return &m->steps.p[m->steps.n - 1];
}

/* Gives dims with capacity axes from `available` (one list per dim, or the same for all when
 * shared). New axes go to the back of in, or to the front in their order. Returns whether any was
 * placed. */
static bool distribute(
	struct machine *m, axes_buf *available, bool shared, bool to_front, bool slicing)
{
	bool any = false;
	m->cut.n = 0;
	for (uint32_t d = 0; d < m->rank; d++) {
		axes_buf *from = shared ? available : &available[d];
		uint32_t at = to_front ? 0 : m->in[d].n, i = 0;
		while (i < from->n && m->capacity[d] > 1) {
			axis_ref within, rest;
			if (!fit(from->a[i], &m->capacity[d], &within, &rest)) {
				i++;
				continue;
			}
			any = true;
			list_erase(from, i);
			list_insert(&m->in[d], at++, within);
			list_push(&m->in_set, within);
			if (slicing) {
				axes_push_merge(&m->moved[d], within);
				axes_push_merge(&m->current[d], within);
			}
			if (rest) {
				list_push(&m->cut, within);
				list_insert(from, 0, rest);
				i++;
			}
		}
	}
	list_sort(&m->cut);
	refine_all(m->out, m->rank, &m->cut);
	return any;
}

/* ---------------------------------------------------------------- all_slice */

/* Out-axes of another dim that are better sliced at dim s, from where an all_to_all will carry them
 * together with the axes that are there already. Fills the range [*from, *to) of the target's out
 * list. */
static bool slice_for_all_to_all(
	struct machine *m, uint32_t s, uint32_t *target, uint32_t *from, uint32_t *to)
{
	const axes_buf *in = &m->in[s];
	if (!in->n || m->out[s].n)
		return false;
	const struct place *place = wanted_at(m, in->a[in->n - 1]);
	if (!place || m->in[place->dim].n)
		return false;
	const axes_buf *out = &m->out[place->dim];
	uint32_t start = list_find(out, in->a[in->n - 1]);
	start = start == out->n ? 0 : start + 1;
	if (start >= out->n || list_has(&m->in_set, out->a[start]))
		return false;

	int64_t common = 1, added = 1;
	uint32_t i = in->n, o = start;
	for (; i && o && in->a[i - 1] == out->a[o - 1]; i--, o--)
		common *= axis_size(in->a[i - 1]);
	for (; i; i--) {
		const struct place *other = wanted_at(m, in->a[i - 1]);
		if (other && other->dim == place->dim)
			return false; /* out of order: a permute will have to come anyway */
	}
	uint32_t end = start;
	for (; end < out->n && !list_has(&m->in_set, out->a[end]); end++)
		added *= axis_size(out->a[end]);
	if (m->dims[s] % (list_size(&m->current[s]) * added))
		return false;
	m->capacity[place->dim] /= common * added;
	*target = place->dim;
	*from = start;
	*to = end;
	return true;
}

/* Slices the out-axes of dim d that nobody uses, in place. What does not fit goes to `left`. */
static bool slice_in_place(struct machine *m, uint32_t d, axes_buf *left)
{
	axes_buf *out = &m->out[d];
	bool any = false;
	for (uint32_t i = 0; i < out->n;) {
		axis_ref a = out->a[i], within, rest;
		if (list_has(&m->in_set, a)) {
			i++;
			continue;
		}
		if (!fit(a, &m->capacity[d], &within, &rest)) {
			list_push(left, a);
			i++;
			continue;
		}
		any = true;
		axes_push_merge(&m->moved[d], within);
		axes_push_merge(&m->current[d], within);
		if (!m->in[d].n && i == 0) {
			list_erase(out, i);
		} else {
			list_push(&m->in_set, within);
			list_push(&m->in[d], within);
			out->a[i++] = within;
		}
		if (rest) {
			list_insert(out, i++, rest);
			list_push(left, rest);
		}
	}
	return any;
}

static void try_all_slice(struct machine *m)
{
	bool any = false;
	clear_moved(m);
	for (uint32_t d = 0; d < m->rank; d++) {
		int64_t in = list_size(&m->in[d]), out = list_size(&m->out[d]);
		m->capacity[d] = out / gcd_i64(in, out);
	}
	for (uint32_t s = 0; s < m->rank; s++) {
		uint32_t target, from, to;
		if (!slice_for_all_to_all(m, s, &target, &from, &to))
			continue;
		any = true;
		for (uint32_t i = from; i < to; i++) {
			axis_ref a = m->out[target].a[i];
			list_push(&m->in[s], a);
			list_push(&m->in_set, a);
			axes_push_merge(&m->moved[s], a);
			axes_push_merge(&m->current[s], a);
		}
	}
	axes_buf left;
	left.n = 0;
	for (uint32_t d = 0; d < m->rank; d++)
		any |= slice_in_place(m, d, &left);
	any |= distribute(m, &left, true, false, true);
	find_wanted(m);
	if (any)
		add_step(m, COLL_ALL_SLICE);
}

/* ---------------------------------------------------------------- collective_permute */

/* A dim whose axes are wanted elsewhere, but in another order or with gaps, or behind one that will
 * be gathered. *loose: the last axis that is not wanted anywhere. */
static bool is_out_of_order(const struct machine *m, uint32_t d, axis_ref *loose)
{
	bool seen[MAX_RANK] = {false}, last_known = false;
	uint32_t last_dim = 0, last_index = 0;
	for (uint32_t i = 0; i < m->in[d].n; i++) {
		const struct place *place = wanted_at(m, m->in[d].a[i]);
		if (place) {
			bool follows = last_known && last_dim == place->dim && place->index == last_index + 1;
			if ((place->dim == d || seen[place->dim]) && !follows)
				return true;
			seen[place->dim] = true;
			last_dim = place->dim;
			last_index = place->index;
		} else if (last_known && !m->out[d].n) {
			return true;
		} else {
			*loose = m->in[d].a[i];
		}
		last_known = place != NULL;
	}
	return false;
}

static bool should_permute(const struct machine *m)
{
	axis_ref to_drop = 0, to_add = 0;
	for (uint32_t d = 0; d < m->rank; d++) {
		if (m->in[d].n && m->out[d].n &&
			divisible(axis_size(m->in[d].a[0]), axis_size(m->out[d].a[0])))
			return true;
		for (uint32_t i = 0; i < m->out[d].n; i++)
			if (!list_has(&m->in_set, m->out[d].a[i]))
				to_add = m->out[d].a[i];
		if (is_out_of_order(m, d, &to_drop))
			return true;
	}
	return to_add && to_drop && divisible(axis_size(to_add), axis_size(to_drop));
}

/* Puts out-axes in their place as far as the dim's in-axes had room, and leaves in `spare` the
 * in-axes nobody wants, those beyond the room that was used first, so that they return to where
 * they were. */
static void permute_in_place(struct machine *m, uint32_t d, axes_buf *spare)
{
	axes_buf *in = &m->in[d], *out = &m->out[d];
	axis_ref within, rest;
	m->capacity[d] = list_size(in);
	int64_t used = m->capacity[d];
	pop_current(&m->current[d], in, 0);
	while (m->capacity[d] > 1 && out->n && fit(out->a[0], &m->capacity[d], &within, &rest)) {
		list_erase(out, 0);
		axes_push_merge(&m->current[d], within);
		if (rest)
			list_insert(out, 0, rest);
	}
	used /= m->capacity[d];
	for (uint32_t i = in->n; i--;)
		if (wanted_at(m, in->a[i]))
			list_erase(in, i);
	spare->n = 0;
	while (used > 1 && in->n && fit(in->a[0], &used, &within, &rest)) {
		list_erase(in, 0);
		list_push(spare, within);
		if (rest)
			list_insert(in, 0, rest);
	}
	for (uint32_t i = 0; i < in->n; i++)
		list_insert(spare, i, in->a[i]);
	in->n = 0;
}

static void permute(struct machine *m)
{
	axes_buf wanted, spare[MAX_RANK];
	wanted.n = 0;
	m->in_set.n = 0;
	for (uint32_t d = 0; d < m->rank; d++) {
		permute_in_place(m, d, &spare[d]);
		for (uint32_t i = 0; i < m->out[d].n; i++)
			list_push(&wanted, m->out[d].a[i]);
	}
	distribute(m, &wanted, true, false, false);
	distribute(m, spare, false, true, false);
	all_axes(spare, m->rank, &wanted);
	distribute(m, &wanted, true, true, false);
	find_wanted(m);
	for (uint32_t d = 0; d < m->rank; d++)
		for (uint32_t i = 0; i < m->in[d].n; i++)
			axes_push_merge(&m->current[d], m->in[d].a[i]);
}

/* Union of sets of axes. */
static void add_axes(axes_buf *set, const axes_buf *more)
{
	axes_buf rest;
	axes_difference(axes_of(more), axes_of(set), &rest);
	for (uint32_t i = 0; i < rest.n; i++)
		list_push(set, rest.a[i]);
}

static void try_collective_permute(struct machine *m)
{
	bool move = should_permute(m);
	if (!move && m->mesh == m->target_mesh)
		return;
	axes_buf before[MAX_RANK];
	for (uint32_t d = 0; d < m->rank; d++)
		axes_copy(&before[d], axes_of(&m->current[d]));
	if (move)
		permute(m);
	/* Every axis of a dim that changes takes part; all axes do when only the order of the devices
	 * changes. */
	clear_moved(m);
	axes_buf parts = {.n = 0};
	for (uint32_t d = 0; d < m->rank; d++) {
		if (m->mesh == m->target_mesh && axes_equal(axes_of(&before[d]), axes_of(&m->current[d])))
			continue;
		add_axes(&parts, &before[d]);
		add_axes(&parts, &m->current[d]);
	}
	if (m->rank)
		axes_copy(&m->moved[0], axes_of(&parts));
	m->mesh = m->target_mesh;
	add_step(m, COLL_COLLECTIVE_PERMUTE);
}

/* ---------------------------------------------------------------- all_to_all and all_gather */

static bool try_all_to_all(struct machine *m, uint32_t source, bool anywhere)
{
	axes_buf *in = &m->in[source];
	uint32_t first = in->n, target = source;
	for (; first; first--) {
		const struct place *place = wanted_at(m, in->a[first - 1]);
		if (!place || place->dim == source || (target != source && place->dim != target))
			break;
		target = place->dim;
	}
	if (target == source)
		return false;
	axes_buf *out = &m->out[target];
	uint32_t n = in->n - first;
	if (!anywhere && (out->n < n || memcmp(in->a + first, out->a, n * sizeof *in->a)))
		return false;

	clear_moved(m);
	pop_current(&m->current[source], in, first);
	for (uint32_t i = first; i < in->n; i++) {
		axis_ref a = in->a[i];
		axes_push_merge(&m->moved[target], a);
		axes_push_merge(&m->current[target], a);
		list_remove(&m->in_set, a);
		if (!m->in[target].n && out->n && out->a[0] == a) {
			list_erase(out, 0);
		} else {
			list_push(&m->in[target], a);
			list_push(&m->in_set, a);
		}
	}
	in->n = first;
	collective_step *s = add_step(m, COLL_ALL_TO_ALL);
	struct a2a_move *move = arena_array(m->mem, struct a2a_move, 1);
	*move = (struct a2a_move){keep_axes(m, &m->moved[target]), (uint16_t)source, (uint16_t)target};
	s->moves = move;
	s->n_moves = 1;
	return true;
}

static void try_all_gather(struct machine *m)
{
	bool any = false;
	clear_moved(m);
	for (uint32_t d = 0; d < m->rank; d++) {
		axes_buf *in = &m->in[d];
		if (!in->n || wanted_at(m, in->a[in->n - 1]))
			continue;
		/* Nothing that is wanted elsewhere stands before an axis to gather here: a permute has seen
		 * to that. */
		pop_current(&m->current[d], in, 0);
		for (uint32_t i = 0; i < in->n; i++) {
			axes_push_merge(&m->moved[d], in->a[i]);
			list_remove(&m->in_set, in->a[i]);
		}
		in->n = 0;
		any = true;
	}
	if (any)
		add_step(m, COLL_ALL_GATHER);
}

/* ---------------------------------------------------------------- the machine */

/* The lists are long and nearly all room: only what tells how much of them is used is cleared. */
static void make_empty(struct machine *m)
{
	for (uint32_t d = 0; d < MAX_RANK; d++) {
		m->in[d].n = m->out[d].n = m->current[d].n = m->moved[d].n = 0;
		m->capacity[d] = 0;
	}
	m->in_set.n = m->cut.n = m->n_wanted = 0;
	m->steps.p = NULL;
	m->steps.n = m->steps.cap = 0;
}

static void start(struct machine *m, const sharding *from, const sharding *to)
{
	axes_buf in_all, out_all;
	for (uint32_t d = 0; d < m->rank; d++) {
		axes_copy(&m->current[d], sharding_dim(from, d));
		axes_copy(&m->in[d], sharding_dim(from, d));
		axes_copy(&m->out[d], sharding_dim(to, d));
	}
	all_axes(m->in, m->rank, &in_all);
	all_axes(m->out, m->rank, &out_all);
	list_sort(&in_all);
	list_sort(&out_all);
	refine_all(m->in, m->rank, &out_all);
	refine_all(m->out, m->rank, &in_all);
	for (uint32_t d = 0; d < m->rank; d++)
		while (m->in[d].n && m->out[d].n && m->in[d].a[0] == m->out[d].a[0]) {
			list_erase(&m->in[d], 0);
			list_erase(&m->out[d], 0);
		}
	all_axes(m->in, m->rank, &m->in_set);
	find_wanted(m);
}

/* What two rounds leave, which takes axis sizes that are no powers of two: gather what is in the
 * way, slice the rest. */
static void finish_plainly(struct machine *m)
{
	bool any = false;
	clear_moved(m);
	for (uint32_t d = 0; d < m->rank; d++) {
		pop_current(&m->current[d], &m->in[d], 0);
		for (uint32_t i = 0; i < m->in[d].n; i++)
			axes_push_merge(&m->moved[d], m->in[d].a[i]);
		any |= m->in[d].n != 0;
		m->in[d].n = 0;
	}
	if (any)
		add_step(m, COLL_ALL_GATHER);
	any = false;
	clear_moved(m);
	for (uint32_t d = 0; d < m->rank; d++) {
		for (uint32_t i = 0; i < m->out[d].n; i++) {
			if (axis_size(m->out[d].a[i]) == 1)
				continue; /* nothing to slice, and Shardy leaves them out */
			axes_push_merge(&m->moved[d], m->out[d].a[i]);
			axes_push_merge(&m->current[d], m->out[d].a[i]);
			any = true;
		}
		m->out[d].n = 0;
	}
	if (any)
		add_step(m, COLL_ALL_SLICE);
}

bool sharding_is_replicated(const sharding_table *t, sharding_id id)
{
	if (id == SHARDING_NONE)
		return true;
	const sharding *s = sharding_get(t, id);
	for (uint32_t d = 0; d < s->rank; d++)
		if (s->dims[d].n)
			return false;
	return true;
}

void reshard_steps(sharding_table *t, sharding_id from, sharding_id to, const int64_t *dims,
	arena *mem, reshard_plan *out)
{
	*out = (reshard_plan){0};
	bool to_all = sharding_is_replicated(t, to);
	if (to_all && sharding_is_replicated(t, from))
		return;
	struct machine *m = xmalloc(sizeof *m);
	const sharding *a = sharding_get(t, from), *b = sharding_get(t, to);
	assert(a->rank == b->rank);
	m->t = t;
	m->mem = mem;
	m->dims = dims;
	m->rank = a->rank;
	m->mesh = a->mesh;
	m->target_mesh = to_all ? a->mesh : b->mesh;
	m->at = from;
	make_empty(m);
	axes_copy(&m->unreduced, sharding_unreduced(b));
	start(m, a, b);
	for (uint32_t round = 0; round < 2 && !is_done(m); round++) {
		try_all_slice(m);
		try_collective_permute(m);
		for (int anywhere = 0; anywhere < 2; anywhere++)
			for (uint32_t s = 0; s < m->rank; s++)
				while (try_all_to_all(m, s, anywhere))
					;
		try_all_gather(m);
	}
	if (!is_done(m))
		finish_plainly(m);
	collective_step *steps = arena_array(mem, collective_step, m->steps.n);
	if (m->steps.n)
		memcpy(steps, m->steps.p, m->steps.n * sizeof *steps);
	*out = (reshard_plan){m->steps.n, steps};
	vec_release(&m->steps);
	free(m);
}
