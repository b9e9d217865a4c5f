#include "ir/ir.h"
#include "ir/sharding_fault.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- interning */

enum { TAG_SHARDING = 0 }; /* lowest bit of an index entry; mesh.c has the other */

void sharding_edit_init(sharding_edit *e, mesh_id m, uint32_t rank, bool closed)
{
	assert(rank <= MAX_RANK);
	e->mesh = m;
	e->rank = rank;
	for (uint32_t d = 0; d < rank; d++) {
		e->dims[d].axes.n = 0;
		e->dims[d].closed = closed;
		e->dims[d].priority = -1;
	}
	e->replicated.n = e->unreduced.n = 0;
}

static uint64_t hash_list(uint64_t h, const axes_buf *l)
{
	h = hash_combine(h, l->n);
	for (uint32_t i = 0; i < l->n; i++)
		h = hash_combine(h, l->a[i]);
	return h;
}

static uint64_t edit_hash(const sharding_edit *e)
{
	uint64_t h = hash_combine(e->mesh, e->rank);
	for (uint32_t d = 0; d < e->rank; d++) {
		h = hash_combine(h, (uint64_t)(uint16_t)e->dims[d].priority << 1 | e->dims[d].closed);
		h = hash_list(h, &e->dims[d].axes);
	}
	return hash_list(hash_list(h, &e->replicated), &e->unreduced);
}

static bool edit_equals(const sharding_edit *e, const sharding *s)
{
	if (e->mesh != s->mesh || e->rank != s->rank)
		return false;
	for (uint32_t d = 0; d < e->rank; d++) {
		const dim_sharding *dim = &s->dims[d];
		if (e->dims[d].closed != dim->closed || e->dims[d].priority != dim->priority ||
			!axes_equal(axes_of(&e->dims[d].axes), sharding_dim(s, d)))
			return false;
	}
	return axes_equal(axes_of(&e->replicated), sharding_replicated(s)) &&
		axes_equal(axes_of(&e->unreduced), sharding_unreduced(s));
}

static uint16_t append(axis_ref *refs, uint16_t *n, const axes_buf *l)
{
	uint16_t first = *n;
	if (l->n)
		memcpy(refs + first, l->a, l->n * sizeof *refs);
	*n = (uint16_t)(first + l->n);
	return first;
}

sharding_id sharding_intern(sharding_table *t, const sharding_edit *e)
{
	uint64_t h = edit_hash(e);
	uint32_t entry;
	for (uint32_t it = index_first(&t->index, h); index_next(&t->index, h, &it, &entry);)
		if ((entry & 1) == TAG_SHARDING && edit_equals(e, &t->shardings.p[entry >> 1]))
			return entry >> 1;

	uint32_t n_refs = e->replicated.n + e->unreduced.n;
	for (uint32_t d = 0; d < e->rank; d++)
		n_refs += e->dims[d].axes.n;
	axis_ref *refs = arena_array(&t->mem, axis_ref, n_refs);
	dim_sharding *dims = arena_zarray(&t->mem, dim_sharding, e->rank);
	sharding s = {.mesh = e->mesh, .rank = (uint16_t)e->rank, .dims = dims, .refs = refs};
	for (uint32_t d = 0; d < e->rank; d++) {
		dims[d].first = append(refs, &s.n_refs, &e->dims[d].axes);
		dims[d].n = (uint16_t)e->dims[d].axes.n;
		dims[d].closed = e->dims[d].closed;
		dims[d].priority = e->dims[d].priority;
	}
	s.replicated_first = append(refs, &s.n_refs, &e->replicated);
	s.n_replicated = (uint16_t)e->replicated.n;
	s.unreduced_first = append(refs, &s.n_refs, &e->unreduced);
	s.n_unreduced = (uint16_t)e->unreduced.n;

	sharding_id id = t->shardings.n;
	vec_push(&t->shardings, s);
	index_add(&t->index, h, id << 1 | TAG_SHARDING);
	return id;
}

void sharding_to_edit(const sharding_table *t, sharding_id id, sharding_edit *out)
{
	const sharding *s = sharding_get(t, id);
	sharding_edit_init(out, s->mesh, s->rank, false);
	for (uint32_t d = 0; d < s->rank; d++) {
		axes_copy(&out->dims[d].axes, sharding_dim(s, d));
		out->dims[d].closed = s->dims[d].closed;
		out->dims[d].priority = s->dims[d].priority;
	}
	axes_copy(&out->replicated, sharding_replicated(s));
	axes_copy(&out->unreduced, sharding_unreduced(s));
}

/* ---------------------------------------------------------------- local sizes */

int64_t sharding_dim_parts(const sharding *s, uint32_t d)
{
	return axes_product(sharding_dim(s, d));
}

int64_t sharding_local_elements(const sharding_table *t, sharding_id id, const ir_type *ty)
{
	if (ty->kind != TYPE_TENSOR || ty->dynamic)
		return 0;
	const sharding *s = sharding_get(t, id);
	if (id == SHARDING_NONE || s->rank != ty->rank)
		return ty->elements;
	int64_t n = 1;
	for (uint32_t d = 0; d < ty->rank; d++) {
		int64_t parts = sharding_dim_parts(s, d), size = ty->dims[d];
		n = sat_mul(n, size / parts + (size % parts != 0));
	}
	return n;
}

int64_t sharding_local_bytes(const sharding_table *t, sharding_id id, const ir_type *ty)
{
	int64_t n = sharding_local_elements(t, id, ty);
	int bits = ty->elem == ELEM_I1 ? 8 : elem_bits(ty->elem);
	if (bits % 8 == 0)
		return sat_mul(n, bits / 8);
	return sat_add(sat_mul(n / 8, bits), (n % 8 * bits + 7) / 8);
}

/* ---------------------------------------------------------------- verification */

enum { MAX_REFS = (MAX_RANK + 2) * MAX_TENSOR_AXES };

/* Walks all references in the order of their lists and keeps those already seen. */
struct check {
	const sharding_table *t;
	const sharding_edit *e;
	char *msg;
	size_t msg_size;
	uint32_t n_seen;
	axis_ref seen[MAX_REFS];
};

static bool fail(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static bool fail(struct check *c, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(c->msg, c->msg_size, fmt, args);
	va_end(args);
	return false;
}

/* "why: a" or "why: a, b" */
static bool fail_axes(struct check *c, const char *why, axis_ref a, const axis_ref *b)
{
	strbuf text;
	strbuf_init(&text);
	axis_print(c->t, c->e->mesh, a, &text);
	if (b) {
		strbuf_puts(&text, ", ");
		axis_print(c->t, c->e->mesh, *b, &text);
	}
	fail(c, "%s: %s", why, text.p);
	strbuf_release(&text);
	return false;
}

static bool check_sub_axis(struct check *c, axis_ref a, int64_t axis_size_)
{
	if (axis_pre(a) == 1 && axis_size(a) == axis_size_)
		return true;
	if (axis_pre(a) < 1)
		return fail_axes(c, "sub-axis pre-size must be at least 1", a, NULL);
	if (axis_size(a) <= 1)
		return fail_axes(c, "sub-axis sizes must be greater than 1", a, NULL);
	if (axis_size_ % axis_next_pre(a)) {
		strbuf text;
		strbuf_init(&text);
		axis_print(c->t, c->e->mesh, a, &text);
		fail(c, "sub-axis next pre-size %lld doesn't divide the size of the full axis %lld: %s",
			(long long)axis_next_pre(a), (long long)axis_size_, text.p);
		strbuf_release(&text);
		return false;
	}
	return true;
}

static bool is_full(const device_mesh *m, axis_ref a)
{
	return axis_pre(a) == 1 && axis_size(a) == m->axis_sizes[axis_index(a)];
}

static bool check_ref(struct check *c, const device_mesh *m, axis_ref a)
{
	if (axis_index(a) >= m->n_axes)
		return fail(c, "unknown axis: the mesh has %u axes, the sharding uses axis number %u",
			m->n_axes, axis_index(a));
	if (!check_sub_axis(c, a, m->axis_sizes[axis_index(a)]))
		return false;
	for (uint32_t i = 0; i < c->n_seen; i++) {
		axis_ref b = c->seen[i];
		if (a == b)
			return fail_axes(c, "duplicate axis ref", a, NULL);
		if (axis_overlaps(a, b)) {
			const char *why = is_full(m, a) || is_full(m, b)
				? "both sub-axis and full-axis are used"
				: "overlapping sub-axes";
			return fail_axes(c, why, MIN(a, b), &(axis_ref){MAX(a, b)});
		}
		if (!axis_can_coexist(a, b))
			return fail_axes(c, "sub-axes that cannot both divide their axis", MIN(a, b),
				&(axis_ref){MAX(a, b)});
	}
	c->seen[c->n_seen++] = a;
	return true;
}

static bool check_list(struct check *c, const device_mesh *m, const axes_buf *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		if (!check_ref(c, m, l->a[i]))
			return false;
		if (i && axis_can_merge(l->a[i - 1], l->a[i])) {
			c->n_seen--; /* this one is at fault */
			return fail_axes(c, "two consecutive sub-axes can be merged", l->a[i - 1], &l->a[i]);
		}
	}
	return true;
}

static bool check_sorted(struct check *c, const device_mesh *m, const axes_buf *l, const char *what)
{
	for (uint32_t i = 1; i < l->n; i++)
		if (l->a[i - 1] > l->a[i]) {
			c->n_seen += i;
			return fail(c, "%s axes are not ordered w.r.t. mesh", what);
		}
	return check_list(c, m, l);
}

static bool has_no_axes(const sharding_edit *e)
{
	return e->rank == 0 && e->replicated.n == 0 && e->unreduced.n == 0;
}

/* What the type alone says; *done when there is nothing more to look at. */
static bool check_type(struct check *c, const ir_type *ty, bool *done)
{
	const sharding_edit *e = c->e;
	*done = false;
	if (!ty)
		return true;
	if (ty->kind == TYPE_TUPLE) {
		if (ty->n_parts != 1)
			return fail(c,
				"ops can only have a sharding for a tuple of size 1, this one has %u parts",
				ty->n_parts);
		return true;
	}
	if (ty->kind != TYPE_TENSOR) {
		*done = true;
		if (str_starts(ty->text, "tensor<*"))
			return fail(c, "only ranked tensors can have a sharding");
		if (!has_no_axes(e))
			return fail(c,
				"what is no tensor can only have a sharding with rank 0 and no replicated or "
				"unreduced axes");
		return true;
	}
	if (e->rank != ty->rank)
		return fail(c, "sharding doesn't match tensor rank: %u != %u", e->rank, ty->rank);
	return true;
}

static bool check_all(struct check *c, const ir_type *ty)
{
	const sharding_edit *e = c->e;
	if (e->mesh >= c->t->meshes.n)
		return fail(c, "a sharding needs a mesh");
	const device_mesh *m = &c->t->meshes.p[e->mesh];
	if (m->maximal) {
		if (!has_no_axes(e))
			return fail(c,
				"a maximal sharding can only have a sharding with rank 0 and no replicated or "
				"unreduced axes");
		return true;
	}
	bool done;
	if (!check_type(c, ty, &done))
		return false;
	if (done)
		return true;
	for (uint32_t d = 0; d < e->rank; d++) {
		if (e->dims[d].priority < -1)
			return fail(c, "dim %u has a negative priority", d);
		if (e->dims[d].priority >= 0 && e->dims[d].closed && e->dims[d].axes.n == 0)
			return fail(c, "dim %u is empty and closed but has a priority", d);
		if (!check_list(c, m, &e->dims[d].axes))
			return false;
	}
	return check_sorted(c, m, &e->replicated, "replicated") &&
		check_sorted(c, m, &e->unreduced, "unreduced");
}

bool sharding_fault(const sharding_table *t, const sharding_edit *e, const ir_type *ty, char *msg,
	size_t msg_size, uint32_t *ref)
{
	struct check c; /* set field by field: `seen` is large and need not be cleared */
	c.t = t;
	c.e = e;
	c.msg = msg;
	c.msg_size = msg_size;
	c.n_seen = 0;
	bool ok = check_all(&c, ty);
	*ref = c.n_seen;
	return !ok;
}

bool sharding_check(
	const sharding_table *t, const sharding_edit *e, const ir_type *ty, char *msg, size_t msg_size)
{
	uint32_t ref;
	return !sharding_fault(t, e, ty, msg, msg_size, &ref);
}
