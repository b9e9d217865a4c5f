/* What Shardy's verifier objects to beyond a single sharding (shardy.md 1.4): manual computations
 * and what stands in them, collectives against the shardings of their operands, edges, meshes. */
#include "ir/verify.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- words */

static void put_axis(const checker *c, mesh_id m, axis_ref a, strbuf *out)
{
	axis_print(c->m->shardings, m, a, out);
}

/* "before "axis" after" */
static status axis_fault(
	const checker *c, mesh_id m, const char *before, axis_ref a, const char *after)
{
	strbuf text;
	strbuf_init(&text);
	put_axis(c, m, a, &text);
	status st = fault(c, "%s %s%s", before, text.p, after);
	strbuf_release(&text);
	return st;
}

static status axes_fault(const checker *c, mesh_id m, axes wanted, uint32_t dim)
{
	strbuf text;
	strbuf_init(&text);
	strbuf_putc(&text, '{');
	for (uint32_t i = 0; i < wanted.n; i++) {
		if (i)
			strbuf_puts(&text, ", ");
		put_axis(c, m, wanted.a[i], &text);
	}
	status st = fault(
		c, "the result's sharding of dimension %u does not match the expected %s}", dim, text.p);
	strbuf_release(&text);
	return st;
}

/* ---------------------------------------------------------------- manual axes around an op */

static bool has_name(const module *m, attr_id list, str name)
{
	const attr *a = attr_get(m, list);
	for (uint32_t i = 0; i < a->n; i++)
		if (str_equal(attr_get(m, a->children[i].value)->text, name))
			return true;
	return false;
}

static bool is_manual_around(const checker *c, str axis)
{
	for (op_id o = op_parent(c->m, c->o); o != ID_NONE; o = op_parent(c->m, o)) {
		attr_id list = op_at(c->m, o)->kind == OP_SDY_MANUAL_COMPUTATION
			? op_attr(c->m, o, "manual_axes")
			: ID_NONE;
		if (list != ID_NONE && has_name(c->m, list, axis))
			return true;
	}
	return false;
}

status check_free_axes(const checker *c, sharding_id id)
{
	if (!c->in_manual || id == SHARDING_NONE)
		return ST_OK;
	const sharding *s = sharding_get(c->m->shardings, id);
	const device_mesh *mesh = &c->m->shardings->meshes.p[s->mesh];
	for (uint32_t i = 0; i < s->n_refs; i++) {
		str name = strtab_get(&c->m->shardings->names, mesh->axis_names[axis_index(s->refs[i])]);
		if (is_manual_around(c, name))
			return fault(c,
				"operates on axis \"" STR_FMT
				"\", which is already bound by a manual_computation around it",
				STR_ARG(name));
	}
	return ST_OK;
}

/* ---------------------------------------------------------------- lists of shardings */

/* A sharding of no value may only say where the op runs. */
static status check_of_nothing(const checker *c, const char *name, const attr *a)
{
	if (a->n == 0)
		return ST_OK;
	const sharding *s = sharding_get(c->m->shardings, a->shardings[0]);
	if (a->n == 1 && s->rank == 0 && s->n_refs == 0)
		return ST_OK;
	return fault(c, "%s has %u shardings for no values", name, a->n);
}

status check_no_result_sharding(const checker *c)
{
	attr_id id = op_attr(c->m, c->o, "sdy.sharding");
	if (id == ID_NONE)
		return ST_OK;
	if (attr_get(c->m, id)->kind != ATTR_SHARDINGS)
		return fault(c, "sdy.sharding of an operation is #sdy.sharding_per_value<[..]>");
	return check_of_nothing(c, "sdy.sharding", attr_get(c->m, id));
}

static const ir_type *shown_type(const checker *c, const ir_type *t)
{
	return t->kind == TYPE_TUPLE && t->n_parts == 1 ? type_get(c->m, t->parts[0]) : t;
}

status check_sharding_list(const checker *c, const char *name, uint32_t n, bool results)
{
	attr_id id = op_attr(c->m, c->o, name);
	if (id == ID_NONE)
		return ST_OK;
	const attr *a = attr_get(c->m, id);
	if (a->kind == ATTR_SHARDINGS && n == 0)
		return check_of_nothing(c, name, a);
	if (a->kind != ATTR_SHARDINGS || a->n != n)
		return fault(
			c, "%s has %u shardings, expected %u", name, a->kind == ATTR_SHARDINGS ? a->n : 0, n);
	sharding_edit *e = xmalloc(sizeof *e);
	status st = ST_OK;
	for (uint32_t i = 0; i < n && st == ST_OK; i++) {
		char msg[256];
		sharding_to_edit(c->m->shardings, a->shardings[i], e);
		if (!sharding_check(c->m->shardings, e,
				shown_type(c, results ? out_type(c, i) : in_type(c, i)), msg, sizeof msg))
			st = fault(c, "sharding %u of %s: %s", i, name, msg);
		else
			st = check_free_axes(c, a->shardings[i]);
	}
	free(e);
	return st;
}

/* ---------------------------------------------------------------- manual computations */

static bool is_manual(const checker *c, attr_id manual, const device_mesh *mesh, axis_ref a)
{
	return has_name(
		c->m, manual, strtab_get(&c->m->shardings->names, mesh->axis_names[axis_index(a)]));
}

/* Manual axes come before free ones in each dimension and divide it; the product goes to *parts. */
static status check_manual_dim(const checker *c, const char *what, attr_id manual,
	const sharding *s, uint32_t d, int64_t size, int64_t *parts)
{
	const device_mesh *mesh = &c->m->shardings->meshes.p[s->mesh];
	axes l = sharding_dim(s, d);
	*parts = 1;
	for (uint32_t i = 0; i < l.n; i++) {
		if (!is_manual(c, manual, mesh, l.a[i]))
			continue;
		if (i && !is_manual(c, manual, mesh, l.a[i - 1]))
			return axis_fault(c, s->mesh,
				"manual axes must come before free axes in a dimension, found manual axis", l.a[i],
				" after a free axis");
		*parts = sat_mul(*parts, axis_size(l.a[i]));
	}
	if (size != DIM_DYNAMIC && size % *parts)
		return fault(c,
			"dimension %u of a %s has size %lld, which the manual axes' size %lld does not divide",
			d, what, (long long)size, (long long)*parts);
	return ST_OK;
}

static status check_local(const checker *c, const char *what, uint32_t i, attr_id manual,
	sharding_id id, const ir_type *global, const ir_type *local)
{
	if (global->kind != TYPE_TENSOR)
		return ST_OK;
	const sharding *s = sharding_get(c->m->shardings, id);
	bool same =
		local->kind == TYPE_TENSOR && local->rank == global->rank && local->elem == global->elem;
	char wanted[MAX_RANK * 21 + 1] = "";
	size_t n = 0;
	for (uint32_t d = 0; d < global->rank && s->rank == global->rank; d++) {
		int64_t parts, size = global->dims[d];
		TRY(check_manual_dim(c, what, manual, s, d, size, &parts));
		same = same && local->dims[d] == (size == DIM_DYNAMIC ? size : size / parts);
		if (size == DIM_DYNAMIC)
			n += (size_t)snprintf(wanted + n, sizeof wanted - n, "?x");
		else
			n +=
				(size_t)snprintf(wanted + n, sizeof wanted - n, "%lldx", (long long)(size / parts));
	}
	if (same)
		return ST_OK;
	return fault(c,
		"%s %u is " STR_FMT " inside, expected tensor<%s%s> of " STR_FMT " by its sharding", what,
		i, STR_ARG(local->text), wanted, elem_text((elem)global->elem), STR_ARG(global->text));
}

/* The mesh of all shardings but those of empty meshes; ID_NONE when they differ. Kept in *mesh over
 * several lists. */
static bool common_mesh(const checker *c, attr_id list, mesh_id *mesh)
{
	const sharding_table *t = c->m->shardings;
	const attr *a = attr_get(c->m, list);
	for (uint32_t i = 0; i < a->n; i++) {
		mesh_id m = sharding_get(t, a->shardings[i])->mesh;
		if (*mesh == ID_NONE || t->meshes.p[*mesh].n_axes == 0)
			*mesh = m;
		else if (t->meshes.p[m].n_axes && !mesh_same_devices(t, *mesh, m))
			return false;
	}
	return true;
}

static status check_manual_axes(const checker *c, attr_id manual, attr_id in, attr_id out)
{
	const attr *list = attr_get(c->m, manual);
	for (uint32_t i = 0; i < list->n; i++) {
		const attr *name = attr_get(c->m, list->children[i].value);
		if (name->kind != ATTR_STRING)
			return fault(c, "manual_axes are no list of names");
		if (is_manual_around(c, name->text))
			return fault(c,
				"operates on axis \"" STR_FMT
				"\", which is already bound by a manual_computation around it",
				STR_ARG(name->text));
	}
	mesh_id mesh = ID_NONE;
	if ((!common_mesh(c, in, &mesh) || !common_mesh(c, out, &mesh)) && list->n)
		return fault(c,
			"all in_shardings and out_shardings must be bound to the same mesh, or to an empty "
			"one");
	for (uint32_t i = 0; i < list->n && mesh != ID_NONE; i++) {
		str name = attr_get(c->m, list->children[i].value)->text;
		if (mesh_axis_find(c->m->shardings, mesh, name) == ID_NONE)
			return fault(c, "unknown manual axis: \"" STR_FMT "\"", STR_ARG(name));
	}
	return ST_OK;
}

status check_manual_computation(const checker *c)
{
	const ir_op *op = op_at(c->m, c->o);
	const ir_region *body = op_region(c->m, c->o, 0);
	attr_id manual = op_attr(c->m, c->o, "manual_axes"), in = op_attr(c->m, c->o, "in_shardings"),
			out = op_attr(c->m, c->o, "out_shardings");
	if (manual == ID_NONE || attr_get(c->m, manual)->kind != ATTR_ARRAY)
		return fault(c, "manual_axes are missing");
	if (in == ID_NONE || out == ID_NONE)
		return fault(c, "in_shardings or out_shardings are missing");
	TRY(check_sharding_list(c, "in_shardings", op->n_operands, false));
	TRY(check_sharding_list(c, "out_shardings", op->n_results, true));
	TRY(check_manual_axes(c, manual, in, out));
	if (body->n_args != op->n_operands)
		return fault(c, "%u block arguments for %u operands", body->n_args, op->n_operands);
	for (uint32_t i = 0; i < body->n_args; i++)
		TRY(check_local(c, "operand", i, manual, attr_get(c->m, in)->shardings[i], in_type(c, i),
			value_type(c->m, body->args + i)));
	op_id last = region_terminator(c->m, op->regions);
	if (last == ID_NONE || op_at(c->m, last)->n_operands != op->n_results)
		return fault(c, "the body does not return %u values", op->n_results);
	for (uint32_t i = 0; i < op->n_results; i++)
		TRY(check_local(c, "result", i, manual, attr_get(c->m, out)->shardings[i], out_type(c, i),
			value_type(c->m, op_operand(c->m, last, i))));
	return ST_OK;
}

/* ---------------------------------------------------------------- collectives */

struct collective {
	sharding_id in, out; /* in: SHARDING_NONE when the operand has none */
	mesh_id mesh;
	uint32_t n;
	axes_list *lists;
};

/* The sharding of a value as Shardy's verifier sees it; false for arguments of regions, whose edges
 * decide. */
static bool sharding_of(const checker *c, value_id v, sharding_id *out)
{
	const ir_value *at = value_at(c->m, v);
	*out = at->sharding;
	op_id def = at->is_arg ? c->m->regions.p[at->def].parent : at->def;
	op_kind kind = def == ID_NONE ? OP_UNKNOWN : (op_kind)op_at(c->m, def)->kind;
	if (at->is_arg)
		return kind == OP_FUNC;
	if (kind == OP_SDY_MANUAL_COMPUTATION || kind == OP_SDY_NAMED_COMPUTATION) {
		attr_id list = op_attr(c->m, def, "out_shardings");
		*out = list == ID_NONE || attr_get(c->m, list)->kind != ATTR_SHARDINGS ||
				at->index >= attr_get(c->m, list)->n
			? SHARDING_NONE
			: attr_get(c->m, list)->shardings[at->index];
	}
	return true;
}

/* Axes of the lists: none twice, none that merges with the one before it. */
static status check_axes_lists(const checker *c, const struct collective *x)
{
	for (uint32_t i = 0; i < x->n; i++) {
		axes l = axes_of(&x->lists[i].axes);
		for (uint32_t k = 0; k < l.n; k++) {
			for (uint32_t p = 0; p <= i; p++)
				for (uint32_t q = 0; q < (p == i ? k : x->lists[p].axes.n); q++)
					if (x->lists[p].axes.a[q] == l.a[k])
						return axis_fault(c, x->mesh, "duplicate axis ref:", l.a[k], "");
			if (k && axis_can_merge(l.a[k - 1], l.a[k]))
				return axis_fault(c, x->mesh,
					"two consecutive sub-axes can be merged, the second is", l.a[k], "");
		}
	}
	return ST_OK;
}

static void dim_of(const checker *c, sharding_id id, uint32_t d, axes_buf *out)
{
	out->n = 0;
	if (id != SHARDING_NONE)
		axes_copy(out, sharding_dim(sharding_get(c->m->shardings, id), d));
}

/* Takes the axes off the end of a dimension. */
static status gather_axes(
	const checker *c, const struct collective *x, axes l, uint32_t d, axes_buf *dim)
{
	for (uint32_t i = l.n; i--;) {
		axis_ref back = dim->n ? dim->a[dim->n - 1] : 0;
		if (!dim->n || !axis_contains(back, l.a[i]) ||
			axis_next_pre(back) != axis_next_pre(l.a[i]) || axis_pre(l.a[i]) % axis_pre(back))
			return axis_fault(c, x->mesh, "can't apply axis", l.a[i],
				d ? " to the operand's sharding on that dimension"
				  : " to the operand's sharding on dimension 0");
		dim->n--;
		if (axis_pre(l.a[i]) > axis_pre(back))
			dim->a[dim->n++] =
				axis_make(axis_index(back), axis_pre(back), axis_pre(l.a[i]) / axis_pre(back));
	}
	return ST_OK;
}

static status slice_axes(const checker *c, axes l, axes_buf *dim)
{
	if (dim->n + l.n > MAX_TENSOR_AXES)
		return fault(c, "a dimension with more than the limit of %d axes", MAX_TENSOR_AXES);
	for (uint32_t i = 0; i < l.n; i++)
		axes_push_merge(dim, l.a[i]);
	return ST_OK;
}

static status check_dim_axes(
	const checker *c, const struct collective *x, uint32_t d, const axes_buf *wanted)
{
	if (axes_equal(axes_of(wanted), sharding_dim(sharding_get(c->m->shardings, x->out), d)))
		return ST_OK;
	return axes_fault(c, x->mesh, axes_of(wanted), d);
}

/* all_gather, all_slice, reduce_scatter, sharded_to_unreduced: one list per dimension. */
static status check_by_dim(const checker *c, const struct collective *x)
{
	op_kind kind = (op_kind)op_at(c->m, c->o)->kind;
	bool gathers = kind == OP_SDY_ALL_GATHER || kind == OP_SDY_SHARDED_TO_UNREDUCED;
	uint32_t rank = sharding_get(c->m->shardings, x->out)->rank;
	if (rank != x->n)
		return fault(c, "the result's sharding has rank %u, but there are axes for %u dimensions",
			rank, x->n);
	for (uint32_t d = 0; d < rank; d++) {
		axes_buf dim;
		dim_of(c, x->in, d, &dim);
		if (gathers)
			TRY(gather_axes(c, x, axes_of(&x->lists[d].axes), d, &dim));
		else
			TRY(slice_axes(c, axes_of(&x->lists[d].axes), &dim));
		TRY(check_dim_axes(c, x, d, &dim));
	}
	return ST_OK;
}

/* The result is unreduced over what the operand was, and over the axes of the op. */
static status check_unreduced(const checker *c, const struct collective *x)
{
	axes_buf wanted = {.n = 0};
	if (x->in != SHARDING_NONE)
		axes_copy(&wanted, sharding_unreduced(sharding_get(c->m->shardings, x->in)));
	for (uint32_t i = 0; i < x->n; i++) {
		axes l = axes_of(&x->lists[i].axes);
		if (wanted.n + l.n > MAX_TENSOR_AXES)
			return fault(c, "more than the limit of %d unreduced axes", MAX_TENSOR_AXES);
		for (uint32_t k = 0; k < l.n; k++)
			wanted.a[wanted.n++] = l.a[k];
	}
	axes_sort_merge(&wanted);
	if (axes_equal(axes_of(&wanted), sharding_unreduced(sharding_get(c->m->shardings, x->out))))
		return ST_OK;
	return fault(c, "the result's unreduced axes are not the operand's and those of the operation");
}

static bool overlaps_any(axes l, axis_ref a)
{
	for (uint32_t i = 0; i < l.n; i++)
		if (axis_overlaps(l.a[i], a))
			return true;
	return false;
}

static bool same_dim_axes(const checker *c, const struct collective *x)
{
	const sharding *out = sharding_get(c->m->shardings, x->out);
	for (uint32_t d = 0; d < out->rank; d++) {
		axes_buf dim;
		dim_of(c, x->in, d, &dim);
		if (!axes_equal(axes_of(&dim), sharding_dim(out, d)))
			return false;
	}
	return true;
}

static bool same_open_dims(const checker *c, const struct collective *x)
{
	const sharding *in = sharding_get(c->m->shardings, x->in),
				   *out = sharding_get(c->m->shardings, x->out);
	for (uint32_t d = 0; d < out->rank; d++)
		if (in->dims[d].closed != out->dims[d].closed ||
			in->dims[d].priority != out->dims[d].priority)
			return false;
	return true;
}

/* all_reduce and replicated_to_unreduced: one list, dimensions stay as they are. */
static status check_flat(const checker *c, const struct collective *x)
{
	const sharding_table *t = c->m->shardings;
	bool reduces = op_at(c->m, c->o)->kind == OP_SDY_ALL_REDUCE;
	axes l = axes_of(&x->lists[0].axes);
	if (!same_dim_axes(c, x) || (!reduces && !same_open_dims(c, x)))
		return fault(c, "the dimension shardings of the operand and the result differ");
	for (uint32_t i = 0; i < l.n; i++) {
		if (i && l.a[i - 1] > l.a[i])
			return fault(c, "the axes are not ordered w.r.t. mesh");
		const sharding *in = x->in != SHARDING_NONE ? sharding_get(t, x->in) : NULL;
		for (uint32_t d = 0; in && d < in->rank; d++)
			if (overlaps_any(sharding_dim(in, d), l.a[i]))
				return axis_fault(
					c, x->mesh, "axis", l.a[i], " overlaps with the operand's dimension shardings");
		if (in && reduces && overlaps_any(sharding_replicated(in), l.a[i]))
			return axis_fault(
				c, x->mesh, "axis", l.a[i], " overlaps with the operand's replicated axes");
		if (in && !reduces && overlaps_any(sharding_unreduced(in), l.a[i]))
			return axis_fault(
				c, x->mesh, "axis", l.a[i], " overlaps with the operand's unreduced axes");
		if (reduces && overlaps_any(sharding_unreduced(sharding_get(t, x->out)), l.a[i]))
			return axis_fault(
				c, x->mesh, "axis", l.a[i], " overlaps with the result's unreduced axes");
	}
	return ST_OK;
}

static status check_all_to_all_dims(
	const checker *c, const struct collective *x, uint32_t rank, bool *seen)
{
	for (uint32_t i = 0; i < x->n; i++) {
		int64_t ends[2] = {x->lists[i].from, x->lists[i].to};
		for (int k = 0; k < 2; k++) {
			if (ends[k] < 0 || ends[k] >= rank)
				return fault(c, "%s dimension %lld is out of range [0, %u)",
					k ? "target" : "source", (long long)ends[k], rank);
			if (seen[ends[k]])
				return fault(
					c, "overlapping source and target dimensions: %lld", (long long)ends[k]);
			seen[ends[k]] = true;
		}
		if (i && x->lists[i - 1].from >= ends[0])
			return fault(c, "source dimensions are not in ascending order: %lld after %lld",
				(long long)ends[0], (long long)x->lists[i - 1].from);
	}
	return ST_OK;
}

static status check_all_to_all_axes(const checker *c, const struct collective *x)
{
	uint32_t rank = sharding_get(c->m->shardings, x->out)->rank;
	bool seen[MAX_RANK] = {false};
	if (!x->n)
		return fault(c, "the list of parameters is empty");
	TRY(check_all_to_all_dims(c, x, rank, seen));
	for (uint32_t i = 0; i < x->n; i++) {
		axes_buf dim;
		uint32_t from = (uint32_t)x->lists[i].from, to = (uint32_t)x->lists[i].to;
		dim_of(c, x->in, from, &dim);
		TRY(gather_axes(c, x, axes_of(&x->lists[i].axes), from, &dim));
		TRY(check_dim_axes(c, x, from, &dim));
		dim_of(c, x->in, to, &dim);
		TRY(slice_axes(c, axes_of(&x->lists[i].axes), &dim));
		TRY(check_dim_axes(c, x, to, &dim));
	}
	for (uint32_t d = 0; d < rank; d++) {
		axes_buf dim;
		dim_of(c, x->in, d, &dim);
		if (!seen[d])
			TRY(check_dim_axes(c, x, d, &dim));
	}
	return ST_OK;
}

static status check_permute(const checker *c, const struct collective *x)
{
	const sharding_table *t = c->m->shardings;
	const sharding *in = sharding_get(t, x->in), *out = sharding_get(t, x->out);
	const device_mesh *a = &t->meshes.p[in->mesh], *b = &t->meshes.p[out->mesh];
	bool same_axes = a->n_axes == b->n_axes;
	for (uint32_t i = 0; same_axes && i < a->n_axes; i++)
		same_axes = a->axis_names[i] == b->axis_names[i] && a->axis_sizes[i] == b->axis_sizes[i];
	if (!same_axes)
		return fault(c, "the result's mesh has other axes than the operand's");
	if (in->mesh != out->mesh && mesh_same_devices(t, in->mesh, out->mesh))
		return fault(
			c, "the result's mesh has another name than the operand's, but the same devices");
	for (uint32_t d = 0; d < out->rank; d++)
		if (sharding_dim_parts(in, d) != sharding_dim_parts(out, d))
			return fault(c,
				"dimension %u of the result is cut into %lld parts, that of the operand into %lld",
				d, (long long)sharding_dim_parts(out, d), (long long)sharding_dim_parts(in, d));
	return ST_OK;
}

static bool needs_operand_sharding(op_kind k)
{
	return k != OP_SDY_ALL_SLICE && k != OP_SDY_ALL_REDUCE && k != OP_SDY_REDUCE_SCATTER;
}

static status check_with_axes(const checker *c, struct collective *x)
{
	op_kind kind = (op_kind)op_at(c->m, c->o)->kind;
	diag d;
	diag_clear(&d);
	str text = op_text(c->m, c->o, collective_axes_name(kind));
	if (axes_lists_parse(c->m->shardings, text, x->mesh, kind == OP_SDY_ALL_TO_ALL, x->lists, &x->n,
			&d) != ST_OK)
		return fault(c, "%s", d.msg);
	bool flat = kind == OP_SDY_ALL_REDUCE || kind == OP_SDY_REPLICATED_TO_UNREDUCED;
	if (flat != (text.n && text.p[0] == '{'))
		return fault(c,
			flat ? "expected one list of axes, {..}"
				 : "expected a list of axes per dimension, [{..}, ..]");
	TRY(check_axes_lists(c, x));
	if (flat)
		TRY(check_flat(c, x));
	else
		TRY(kind == OP_SDY_ALL_TO_ALL ? check_all_to_all_axes(c, x) : check_by_dim(c, x));
	return kind == OP_SDY_SHARDED_TO_UNREDUCED || kind == OP_SDY_REPLICATED_TO_UNREDUCED
		? check_unreduced(c, x)
		: ST_OK;
}

status check_collective(const checker *c)
{
	op_kind kind = (op_kind)op_at(c->m, c->o)->kind;
	struct collective x = {.out = value_at(c->m, op_result(c->m, c->o, 0))->sharding};
	TRY(check_one_type(c));
	if (x.out == SHARDING_NONE)
		return fault(c, "out_sharding is missing");
	if (!sharding_of(c, op_operand(c->m, c->o, 0), &x.in))
		return ST_OK;
	if (x.in == SHARDING_NONE && needs_operand_sharding(kind))
		return fault(c, "a collective on an operand without sharding");
	const sharding_table *t = c->m->shardings;
	x.mesh = sharding_get(t, x.out)->mesh;
	if (x.in != SHARDING_NONE && kind != OP_SDY_COLLECTIVE_PERMUTE &&
		!mesh_same_devices(t, x.mesh, sharding_get(t, x.in)->mesh))
		return fault(c, "the result's mesh does not match the operand's");
	if (x.in != SHARDING_NONE && sharding_get(t, x.in)->rank != sharding_get(t, x.out)->rank)
		return fault(c, "the result's sharding has rank %u, the operand's %u",
			sharding_get(t, x.out)->rank, sharding_get(t, x.in)->rank);
	if (kind == OP_SDY_COLLECTIVE_PERMUTE)
		return check_permute(c, &x);
	x.lists = xmalloc(MAX_RANK * sizeof *x.lists);
	status st = check_with_axes(c, &x);
	free(x.lists);
	return st;
}

/* ---------------------------------------------------------------- edges, meshes */

status check_edge(const checker *c)
{
	value_id v = op_operand(c->m, c->o, 0);
	TRY(check_one_type(c));
	if (in_type(c, 0)->kind != TYPE_TENSOR || in_type(c, 0)->dynamic)
		return fault(c, "expected a tensor with a static shape, found " STR_FMT,
			STR_ARG(in_type(c, 0)->text));
	if (!value_one_use(c->m, v))
		return fault(c, "its operand is used by other operations too");
	op_id def = value_def(c->m, v);
	str name = def == ID_NONE ? STR("") : strtab_get(&c->m->strs, op_at(c->m, def)->name);
	if (op_at(c->m, c->o)->kind == OP_SDY_DATA_FLOW_EDGE && str_starts(name, "sdy.") &&
		!(op_infos[op_at(c->m, def)->kind].flags & OPF_DATAFLOW))
		return fault(c, "its operand is the result of " STR_FMT, STR_ARG(name));
	if (op_at(c->m, c->o)->kind == OP_SDY_FUNC_DATA_FLOW_EDGE && def != ID_NONE &&
		op_at(c->m, def)->kind != OP_CALL)
		return fault(
			c, "its operand is the result of " STR_FMT ", expected that of a call", STR_ARG(name));
	return ST_OK;
}

status check_barrier(const checker *c)
{
	str word = op_text(c->m, c->o, "allowed_direction");
	if (str_is(word, "BOTH"))
		return fault(
			c, "allowed_direction BOTH blocks nothing, expected NONE, FORWARD or BACKWARD");
	if (!str_is(word, "NONE") && !str_is(word, "FORWARD") && !str_is(word, "BACKWARD"))
		return fault(c, "allowed_direction is '" STR_FMT "', expected NONE, FORWARD or BACKWARD",
			STR_ARG(word));
	return check_one_type(c);
}

status check_mesh(const checker *c)
{
	op_id parent = op_parent(c->m, c->o);
	return parent == ID_NONE || op_at(c->m, parent)->kind == OP_BUILTIN_MODULE
		? ST_OK
		: fault(c, "a mesh stands in a module, not inside another operation");
}
