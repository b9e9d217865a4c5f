/* What Shardy's canonicalizer makes of collectives: those that do nothing go, two that are one
 * become one. */
#include "propagate/passes.h"

#include <stdlib.h>

typedef struct collective {
	axes_list lists[MAX_RANK];
	uint32_t n;
} collective;

/* The axes of a collective that has some; false for a collective_permute, which has none. */
static bool read_collective(module *m, op_id o, collective *out)
{
	op_kind kind = op_at(m, o)->kind;
	const char *name = collective_axes_name(kind);
	attr_id a = name ? op_attr(m, o, name) : ID_NONE;
	diag d = {0};
	mesh_id mesh = sharding_get(m->shardings, value_at(m, op_result(m, o, 0))->sharding)->mesh;
	return a != ID_NONE &&
		axes_lists_parse(m->shardings, attr_get(m, a)->word, mesh, kind == OP_SDY_ALL_TO_ALL,
			out->lists, &out->n, &d) == ST_OK;
}

static attr_id collective_attr(module *m, op_kind kind, mesh_id mesh, const collective *c)
{
	strbuf b;
	strbuf_init(&b);
	strbuf_putc(&b, '[');
	for (uint32_t i = 0; i < c->n; i++) {
		strbuf_puts(&b, i ? ", " : "");
		axes_print(m->shardings, mesh, axes_of(&c->lists[i].axes), &b);
		if (kind == OP_SDY_ALL_TO_ALL)
			strbuf_printf(
				&b, ": %lld->%lld", (long long)c->lists[i].from, (long long)c->lists[i].to);
	}
	strbuf_putc(&b, ']');
	attr_id a = attr_collective_axes(m, kind, (str){b.p, b.n});
	strbuf_release(&b);
	return a;
}

/* The op in front of o, of that kind, that only o reads unless shared says that others may; ID_NONE
 * if there is none. */
static op_id input_of_kind(const module *m, op_id o, op_kind kind, bool shared)
{
	op_id inner = value_def(m, op_operand(m, o, 0));
	if (inner == ID_NONE || op_at(m, inner)->kind != kind ||
		(!shared && !value_one_use(m, op_result(m, inner, 0))))
		return ID_NONE;
	return inner;
}

static op_id new_collective(
	module *m, op_kind kind, value_id input, sharding_id out, const collective *c, op_id before)
{
	type_id type = value_at(m, input)->type;
	op_id o = op_new(m, kind, 0, &input, 1, &type, 1, 0, op_at(m, before)->loc);
	value_get(m, op_result(m, o, 0))->sharding = out;
	op_attr_set(m, o, collective_axes_name(kind),
		collective_attr(m, kind, sharding_get(m->shardings, out)->mesh, c));
	op_insert_before(m, o, before);
	return o;
}

static void replace(module *m, op_id o, value_id with)
{
	value_replace_uses(m, op_result(m, o, 0), with, ID_NONE);
	op_erase(m, o);
}

static void sort_axes_by_order(axes_buf *b)
{
	for (uint32_t i = 1; i < b->n; i++) {
		axis_ref a = b->a[i];
		uint32_t k = i;
		for (; k > 0 && axis_index(b->a[k - 1]) > axis_index(a); k--)
			b->a[k] = b->a[k - 1];
		b->a[k] = a;
	}
}

/* Are the axes of all lists those of the one list, whatever the order? */
static bool same_axes(const collective *lists, const axes_list *one)
{
	axes_buf all = {.n = 0}, wanted = one->axes;
	for (uint32_t i = 0; i < lists->n; i++)
		for (uint32_t k = 0; k < lists->lists[i].axes.n && all.n < MAX_TENSOR_AXES; k++)
			all.a[all.n++] = lists->lists[i].axes.a[k];
	sort_axes_by_order(&all);
	sort_axes_by_order(&wanted);
	return axes_equal(axes_of(&all), axes_of(&wanted));
}

/* Does it leave its input as it is? What is open or said to be replicated does not count. */
static bool does_nothing(module *m, op_id o, collective *scratch)
{
	if (op_at(m, o)->kind != OP_SDY_COLLECTIVE_PERMUTE) {
		if (!read_collective(m, o, scratch))
			return false;
		for (uint32_t i = 0; i < scratch->n; i++)
			if (scratch->lists[i].axes.n)
				return false;
		return true;
	}
	sharding_id from = value_sharding(m, op_operand(m, o, 0)),
				to = value_at(m, op_result(m, o, 0))->sharding;
	if (from == SHARDING_NONE)
		return false;
	const sharding *a = sharding_get(m->shardings, from), *b = sharding_get(m->shardings, to);
	if (a->rank != b->rank || !mesh_same_devices(m->shardings, a->mesh, b->mesh))
		return false;
	for (uint32_t d = 0; d < a->rank; d++)
		if (!axes_equal(sharding_dim(a, d), sharding_dim(b, d)))
			return false;
	return true;
}

/* An all-reduce of what was made unreduced over the same axes is what was there before; an
 * all-gather of it where the axes sharded dims. */
static bool fold_all_reduce(module *m, op_id o, collective *c, collective *made)
{
	op_id inner = input_of_kind(m, o, OP_SDY_REPLICATED_TO_UNREDUCED, true);
	if (inner == ID_NONE)
		inner = input_of_kind(m, o, OP_SDY_SHARDED_TO_UNREDUCED, true);
	if (inner == ID_NONE || !read_collective(m, o, c) || !read_collective(m, inner, made) ||
		!c->n || !same_axes(made, &c->lists[0]))
		return false;
	value_id v = op_operand(m, inner, 0);
	if (op_at(m, inner)->kind == OP_SDY_SHARDED_TO_UNREDUCED)
		v = op_result(m,
			new_collective(
				m, OP_SDY_ALL_GATHER, v, value_at(m, op_result(m, o, 0))->sharding, made, o),
			0);
	replace(m, o, v);
	return true;
}

/* Slicing what was gathered over the same axes is what was there before. */
static bool fold_gathered(module *m, op_id o, collective *c, collective *gathered)
{
	op_id inner = input_of_kind(m, o, OP_SDY_ALL_GATHER, true);
	if (inner == ID_NONE || !read_collective(m, o, c) || !read_collective(m, inner, gathered) ||
		c->n != gathered->n)
		return false;
	for (uint32_t i = 0; i < c->n; i++)
		if (!axes_equal(axes_of(&c->lists[i].axes), axes_of(&gathered->lists[i].axes)))
			return false;
	replace(m, o, op_operand(m, inner, 0));
	return true;
}

static bool contains_axis(const axes_buf *b, axis_ref a)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->a[i] == a)
			return true;
	return false;
}

/* Splits the slices into those over the reduced axes, which must all be there and in front in their
 * dims, and the rest. */
static bool split_slices(const axes_buf *reduced, collective *scattered, collective *rest)
{
	uint32_t found = 0;
	rest->n = scattered->n;
	for (uint32_t d = 0; d < scattered->n; d++) {
		axes_buf *b = &scattered->lists[d].axes, *r = &rest->lists[d].axes;
		uint32_t n = 0;
		while (n < b->n && contains_axis(reduced, b->a[n]))
			n++;
		r->n = 0;
		for (uint32_t i = n; i < b->n; i++)
			r->a[r->n++] = b->a[i];
		b->n = n;
		found += n;
	}
	return found == reduced->n && found;
}

static sharding_id sharded_further(module *m, sharding_id from, const collective *c)
{
	sharding_edit e;
	sharding_to_edit(m->shardings, from, &e);
	for (uint32_t d = 0; d < e.rank && d < c->n; d++)
		for (uint32_t i = 0; i < c->lists[d].axes.n && e.dims[d].axes.n < MAX_TENSOR_AXES; i++)
			axes_push_merge(&e.dims[d].axes, c->lists[d].axes.a[i]);
	return sharding_intern(m->shardings, &e);
}

/* Slicing what was reduced over the same axes is a reduce-scatter, and a slice over what other axes
 * there are. */
static bool fold_reduced(module *m, op_id o, collective *scattered, collective *rest)
{
	op_id inner = input_of_kind(m, o, OP_SDY_ALL_REDUCE, false);
	if (inner == ID_NONE || !read_collective(m, o, scattered) || !read_collective(m, inner, rest) ||
		rest->n != 1)
		return false;
	axes_buf reduced = rest->lists[0].axes;
	if (!split_slices(&reduced, scattered, rest))
		return false;
	bool whole = true;
	for (uint32_t d = 0; d < rest->n; d++)
		whole = whole && !rest->lists[d].axes.n;
	sharding_id out = value_at(m, op_result(m, o, 0))->sharding;
	sharding_id between =
		whole ? out : sharded_further(m, value_at(m, op_result(m, inner, 0))->sharding, scattered);
	value_id v = op_result(m,
		new_collective(m, OP_SDY_REDUCE_SCATTER, op_operand(m, inner, 0), between, scattered, o),
		0);
	if (!whole)
		v = op_result(m, new_collective(m, OP_SDY_ALL_SLICE, v, out, rest, o), 0);
	replace(m, o, v);
	op_erase(m, inner);
	return true;
}

/* Two all-to-alls between different dims are one. */
static bool fold_all_to_alls(module *m, op_id o, collective *c, collective *first)
{
	op_id inner = input_of_kind(m, o, OP_SDY_ALL_TO_ALL, false);
	if (inner == ID_NONE || !read_collective(m, o, c) || !read_collective(m, inner, first) ||
		c->n + first->n > MAX_RANK)
		return false;
	uint64_t dims = 0;
	for (uint32_t i = 0; i < first->n; i++)
		dims |= 1ull << first->lists[i].from | 1ull << first->lists[i].to;
	for (uint32_t i = 0; i < c->n; i++)
		if (dims >> c->lists[i].from & 1 || dims >> c->lists[i].to & 1)
			return false;
	for (uint32_t i = 0; i < first->n; i++) {
		uint32_t k = c->n++;
		for (; k > 0 && c->lists[k - 1].from > first->lists[i].from; k--)
			c->lists[k] = c->lists[k - 1];
		c->lists[k] = first->lists[i];
	}
	replace(m, o,
		op_result(m,
			new_collective(m, OP_SDY_ALL_TO_ALL, op_operand(m, inner, 0),
				value_at(m, op_result(m, o, 0))->sharding, c, o),
			0));
	op_erase(m, inner);
	return true;
}

static void fold_collective(module *m, op_id o, collective *a, collective *b)
{
	op_kind kind = op_at(m, o)->kind;
	if (does_nothing(m, o, a))
		replace(m, o, op_operand(m, o, 0));
	else if (kind == OP_SDY_ALL_REDUCE)
		fold_all_reduce(m, o, a, b);
	else if (kind == OP_SDY_ALL_SLICE && !fold_gathered(m, o, a, b))
		fold_reduced(m, o, a, b);
	else if (kind == OP_SDY_ALL_TO_ALL)
		fold_all_to_alls(m, o, a, b);
}

void collectives_fold(module *m, op_id root)
{
	op_list ops = {0};
	collective *a = xmalloc(2 * sizeof *a);
	ops_pre_order(m, root, &ops);
	for (uint32_t i = 0; i < ops.n; i++)
		if (!op_erased(m, ops.p[i]) && op_infos[op_at(m, ops.p[i])->kind].flags & OPF_COLLECTIVE)
			fold_collective(m, ops.p[i], a, a + 1);
	free(a);
	vec_release(&ops);
}
