/* Data flow edges: one op per value that stands for several (loop arguments and results, arguments
 * of computations), added before propagation and folded back into the ops after it. */
#include "propagate/passes.h"

#include <stdlib.h>

static bool has_arg_edges(const module *m, op_id o)
{
	return op_at(m, o)->kind == OP_SDY_MANUAL_COMPUTATION ||
		op_at(m, o)->kind == OP_SDY_NAMED_COMPUTATION;
}

static bool has_edges(const module *m, op_id o)
{
	return op_infos[op_at(m, o)->kind].flags & OPF_DATAFLOW;
}

/* Mask of the manual axes of a manual computation, by axis index of the mesh. */
static uint64_t manual_axes(const module *m, op_id o, mesh_id mesh)
{
	attr_id names = op_attr(m, o, "manual_axes");
	uint64_t mask = 0;
	if (names == ID_NONE || op_at(m, o)->kind != OP_SDY_MANUAL_COMPUTATION)
		return 0;
	for (uint32_t i = 0; i < attr_get(m, names)->n; i++) {
		uint32_t axis = mesh_axis_find(
			m->shardings, mesh, attr_get(m, attr_get(m, names)->children[i].value)->text);
		if (axis != ID_NONE)
			mask |= 1ull << axis;
	}
	return mask;
}

static void keep_axes(axes_buf *b, uint64_t mask, bool inside)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < b->n; i++)
		if ((mask >> axis_index(b->a[i]) & 1) == inside)
			b->a[n++] = b->a[i];
	b->n = n;
}

static sharding_id filter_axes(module *m, sharding_id id, uint64_t mask, bool inside)
{
	sharding_edit e;
	sharding_to_edit(m->shardings, id, &e);
	for (uint32_t i = 0; i < e.rank; i++)
		keep_axes(&e.dims[i].axes, mask, inside);
	keep_axes(&e.replicated, mask, inside);
	keep_axes(&e.unreduced, mask, inside);
	return sharding_intern(m->shardings, &e);
}

sharding_id computation_argument_inside(module *m, op_id o, uint32_t i)
{
	sharding_id id = op_sharding_at(m, o, "in_shardings", i);
	uint64_t mask =
		id == SHARDING_NONE ? 0 : manual_axes(m, o, sharding_get(m->shardings, id)->mesh);
	return mask ? filter_axes(m, id, mask, false) : id;
}

/* The manual axes of the old sharding in front of what the body has. */
sharding_id computation_argument_outside(module *m, op_id o, uint32_t i, sharding_id inside)
{
	sharding_id old = op_sharding_at(m, o, "in_shardings", i);
	uint64_t mask =
		old == SHARDING_NONE ? 0 : manual_axes(m, o, sharding_get(m->shardings, old)->mesh);
	if (!mask || inside == SHARDING_NONE)
		return inside;
	sharding_edit in, e;
	sharding_to_edit(m->shardings, inside, &e);
	sharding_to_edit(m->shardings, filter_axes(m, old, mask, true), &in);
	for (uint32_t d = 0; d < e.rank && d < in.rank; d++) {
		for (uint32_t k = 0; k < e.dims[d].axes.n && in.dims[d].axes.n < MAX_TENSOR_AXES; k++)
			in.dims[d].axes.a[in.dims[d].axes.n++] = e.dims[d].axes.a[k];
		e.dims[d].axes = in.dims[d].axes;
	}
	for (uint32_t k = 0; k < in.replicated.n && e.replicated.n < MAX_TENSOR_AXES; k++)
		e.replicated.a[e.replicated.n++] = in.replicated.a[k];
	for (uint32_t k = 0; k < in.unreduced.n && e.unreduced.n < MAX_TENSOR_AXES; k++)
		e.unreduced.a[e.unreduced.n++] = in.unreduced.a[k];
	axes_sort_merge(&e.replicated);
	axes_sort_merge(&e.unreduced);
	return sharding_intern(m->shardings, &e);
}

/* The edge op that a value owns, if it owns one. */
static op_id edge_of(const module *m, value_id owner)
{
	for (slot_id u = value_at(m, owner)->first_use; u != ID_NONE; u = m->slots.p[u].next)
		if (op_at(m, m->slots.p[u].owner)->kind == OP_SDY_DATA_FLOW_EDGE)
			return m->slots.p[u].owner;
	return ID_NONE;
}

bool op_has_edges(const module *m, op_id o)
{
	for (uint32_t i = 0; i < op_at(m, o)->n_results; i++)
		if (edge_of(m, op_result(m, o, i)) != ID_NONE)
			return true;
	for (uint32_t i = 0; has_arg_edges(m, o) && i < op_region(m, o, 0)->n_args; i++)
		if (edge_of(m, op_region(m, o, 0)->args + i) != ID_NONE)
			return true;
	return false;
}

sharding_id value_sharding(module *m, value_id v)
{
	const ir_value *at = value_at(m, v);
	op_id o = at->is_arg ? m->regions.p[at->def].parent : at->def;
	if (o == ID_NONE || !has_edges(m, o))
		return at->sharding;
	/* an argument of a loop's region has the sharding of the loop's result, an owner that of its
	 * edge */
	if (at->is_arg && !has_arg_edges(m, o))
		return at->index < op_at(m, o)->n_results ? value_sharding(m, op_result(m, o, at->index))
												  : SHARDING_NONE;
	op_id edge = edge_of(m, v);
	if (edge != ID_NONE)
		return value_at(m, op_result(m, edge, 0))->sharding;
	if (!has_arg_edges(m, o))
		return at->sharding;
	return at->is_arg ? computation_argument_inside(m, o, at->index)
					  : op_sharding_at(m, o, "out_shardings", at->index);
}

bool value_is_on_edge(const module *m, value_id v)
{
	const ir_value *at = value_at(m, v);
	op_id o = at->is_arg ? m->regions.p[at->def].parent : at->def;
	if (o == ID_NONE || !at->is_arg)
		return o != ID_NONE && op_at(m, o)->kind == OP_SDY_DATA_FLOW_EDGE;
	if (!has_edges(m, o))
		return false;
	if (has_arg_edges(m, o))
		return edge_of(m, v) != ID_NONE;
	return at->index < op_at(m, o)->n_results && edge_of(m, op_result(m, o, at->index)) != ID_NONE;
}

static void set_listed_sharding(
	module *m, op_id o, const char *list, value_id first, uint32_t n, uint32_t at, sharding_id id)
{
	if (id == SHARDING_NONE)
		return;
	sharding_id *ids = xmalloc((n + 1) * sizeof *ids);
	for (uint32_t i = 0; i < n; i++) {
		ids[i] = i == at ? id : op_sharding_at(m, o, list, i);
		if (ids[i] == SHARDING_NONE)
			ids[i] = sharding_open(
				m, sharding_get(m->shardings, id)->mesh, value_type(m, first + i)->rank);
	}
	op_set_shardings(m, o, list, ids, n);
	free(ids);
}

/* The first sharding of a result writes down that the others have none: they are open from then on.
 */
static void set_plain_sharding(module *m, value_id v, sharding_id id)
{
	const ir_value *at = value_at(m, v);
	value_get(m, v)->sharding = id;
	for (uint32_t i = 0; !at->is_arg && id != SHARDING_NONE && i < op_at(m, at->def)->n_results;
		 i++) {
		ir_value *other = value_get(m, op_result(m, at->def, i));
		if (other->sharding == SHARDING_NONE)
			other->sharding = sharding_open(
				m, sharding_get(m->shardings, id)->mesh, type_get(m, other->type)->rank);
	}
}

void value_set_sharding(module *m, value_id v, sharding_id id)
{
	const ir_value *at = value_at(m, v);
	op_id o = at->is_arg ? m->regions.p[at->def].parent : at->def, edge;
	if (o == ID_NONE || !has_edges(m, o))
		set_plain_sharding(m, v, id);
	else if (at->is_arg && !has_arg_edges(m, o))
		value_set_sharding(m, op_result(m, o, at->index), id);
	else if ((edge = edge_of(m, v)) != ID_NONE)
		value_get(m, op_result(m, edge, 0))->sharding = id;
	else if (!has_arg_edges(m, o))
		set_plain_sharding(m, v, id);
	else if (at->is_arg)
		set_listed_sharding(m, o, "in_shardings", op_region(m, o, 0)->args,
			op_region(m, o, 0)->n_args, at->index,
			computation_argument_outside(m, o, at->index, id));
	else
		set_listed_sharding(
			m, o, "out_shardings", op_at(m, o)->results, op_at(m, o)->n_results, at->index, id);
}

/* f for every argument and result of the computations that has no edge. */
static void each_listed(module *m, void (*f)(module *, value_id))
{
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		if (!has_arg_edges(m, o) || !op_at(m, o)->n_regions)
			continue;
		for (uint32_t i = 0; i < op_region(m, o, 0)->n_args; i++)
			if (edge_of(m, op_region(m, o, 0)->args + i) == ID_NONE)
				f(m, op_region(m, o, 0)->args + i);
		for (uint32_t i = 0; i < op_at(m, o)->n_results; i++)
			if (edge_of(m, op_result(m, o, i)) == ID_NONE)
				f(m, op_result(m, o, i));
	}
}

static void lend(module *m, value_id v) { value_get(m, v)->sharding = value_sharding(m, v); }

static void take(module *m, value_id v)
{
	sharding_id now = value_at(m, v)->sharding;
	value_get(m, v)->sharding = SHARDING_NONE;
	if (now != value_sharding(m, v))
		value_set_sharding(m, v, now);
}

void computations_lend_shardings(module *m) { each_listed(m, lend); }
void computations_take_shardings(module *m) { each_listed(m, take); }

static void add_edge(module *m, op_id o, value_id owner, sharding_id sh, loc_id loc)
{
	type_id type = value_at(m, owner)->type;
	op_id edge = op_new(m, OP_SDY_DATA_FLOW_EDGE, 0, &owner, 1, &type, 1, 0, loc);
	value_get(m, op_result(m, edge, 0))->sharding = sh;
	if (!value_at(m, owner)->is_arg)
		op_insert_after(m, edge, o);
	else if (op_region(m, o, 0)->first != ID_NONE)
		op_insert_before(m, edge, op_region(m, o, 0)->first);
	else
		op_append(m, edge, op_at(m, o)->regions);
	value_replace_uses(m, owner, op_result(m, edge, 0), edge);
}

/* Last first, because each edge goes right after its owner: they end up in order. */
void op_add_edges(module *m, op_id o)
{
	if (has_arg_edges(m, o))
		for (uint32_t i = op_region(m, o, 0)->n_args; i-- > 0;) {
			value_id v = op_region(m, o, 0)->args + i;
			if (value_is_tensor(m, v))
				add_edge(m, o, v, value_sharding(m, v), value_at(m, v)->loc);
		}
	for (uint32_t i = op_at(m, o)->n_results; i-- > 0;)
		if (value_is_tensor(m, op_result(m, o, i)))
			add_edge(
				m, o, op_result(m, o, i), value_sharding(m, op_result(m, o, i)), op_at(m, o)->loc);
}

status pass_add_data_flow_edges(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	op_list ops = {0};
	ops_post_order(m, ID_NONE, &ops);
	for (uint32_t i = 0; i < ops.n; i++)
		if (has_edges(m, ops.p[i]))
			op_add_edges(m, ops.p[i]);
	vec_release(&ops);
	return ST_OK;
}

/* ---------------------------------------------------------------- sink */

/* Shardings of the edges of n owners; false when no edge has one. Missing ones become open on the
 * same mesh. */
static bool edge_shardings(module *m, value_id owners, uint32_t n, sharding_id *out)
{
	mesh_id mesh = ID_NONE;
	for (uint32_t i = 0; i < n; i++) {
		op_id edge = edge_of(m, owners + i);
		out[i] = edge == ID_NONE ? SHARDING_NONE : value_at(m, op_result(m, edge, 0))->sharding;
		if (out[i] != SHARDING_NONE && mesh == ID_NONE)
			mesh = sharding_get(m->shardings, out[i])->mesh;
	}
	if (mesh == ID_NONE)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (out[i] == SHARDING_NONE)
			out[i] = sharding_open(m, mesh,
				value_type(m, owners + i)->kind == TYPE_TENSOR ? value_type(m, owners + i)->rank
															   : 0);
	return true;
}

void op_sink_edges(module *m, op_id o)
{
	bool computation = has_arg_edges(m, o);
	uint32_t n_args = computation ? op_region(m, o, 0)->n_args : 0,
			 n_results = op_at(m, o)->n_results;
	sharding_id *ids = xmalloc((MAX(n_args, n_results) + 1) * sizeof *ids);
	if (computation && edge_shardings(m, op_region(m, o, 0)->args, n_args, ids)) {
		for (uint32_t i = 0; i < n_args; i++)
			ids[i] = computation_argument_outside(m, o, i, ids[i]);
		op_set_shardings(m, o, "in_shardings", ids, n_args);
	}
	if (edge_shardings(m, op_at(m, o)->results, n_results, ids)) {
		for (uint32_t i = 0; i < n_results && !computation; i++)
			value_get(m, op_result(m, o, i))->sharding = ids[i];
		if (computation)
			op_set_shardings(m, o, "out_shardings", ids, n_results);
	}
	free(ids);
}

status pass_sink_data_flow_edges(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	op_list ops = {0};
	ops_pre_order(m, ID_NONE, &ops);
	for (uint32_t i = 0; i < ops.n; i++) {
		op_id o = ops.p[i];
		if (op_at(m, o)->kind == OP_SDY_DATA_FLOW_EDGE) {
			value_replace_uses(m, op_result(m, o, 0), op_operand(m, o, 0), ID_NONE);
			op_erase(m, o);
		} else if (has_edges(m, o)) {
			op_sink_edges(m, o);
		}
	}
	vec_release(&ops);
	return ST_OK;
}

/* ---------------------------------------------------------------- manual-axes-cleanup */

static mesh_id common_mesh(const module *m, op_id o)
{
	static const char *const lists[] = {"in_shardings", "out_shardings"};
	mesh_id mesh = ID_NONE;
	for (uint32_t l = 0; l < 2; l++) {
		attr_id a = op_attr(m, o, lists[l]);
		for (uint32_t i = 0; a != ID_NONE && i < attr_get(m, a)->n; i++) {
			mesh_id found = sharding_get(m->shardings, attr_get(m, a)->shardings[i])->mesh;
			if (mesh == ID_NONE ||
				(!m->shardings->meshes.p[mesh].n_axes && m->shardings->meshes.p[found].n_axes))
				mesh = found;
		}
	}
	return mesh;
}

/* Manual axes that a sharding does not mention are replicated in it. */
static sharding_id mention_manual_axes(module *m, sharding_id id, uint64_t mask, mesh_id mesh)
{
	sharding_edit e;
	sharding_to_edit(m->shardings, id, &e);
	for (uint32_t d = 0; d <= e.rank + 1; d++) {
		const axes_buf *b = d < e.rank ? &e.dims[d].axes
			: d == e.rank              ? &e.replicated
									   : &e.unreduced;
		for (uint32_t i = 0; i < b->n; i++)
			mask &= ~(1ull << axis_index(b->a[i]));
	}
	if (!mask)
		return id;
	if (!m->shardings->meshes.p[e.mesh].n_axes)
		e.mesh = mesh;
	for (uint32_t axis = 0; axis < MAX_MESH_AXES && e.replicated.n < MAX_TENSOR_AXES; axis++)
		if (mask >> axis & 1)
			e.replicated.a[e.replicated.n++] = mesh_full_axis(m->shardings, mesh, axis);
	axes_sort_merge(&e.replicated);
	return sharding_intern(m->shardings, &e);
}

static void cleanup_list(module *m, op_id o, const char *name, uint64_t mask, mesh_id mesh)
{
	attr_id a = op_attr(m, o, name);
	if (a == ID_NONE || attr_get(m, a)->kind != ATTR_SHARDINGS)
		return;
	uint32_t n = attr_get(m, a)->n;
	sharding_id *ids = xmalloc((n + 1) * sizeof *ids);
	for (uint32_t i = 0; i < n; i++) {
		bool in = name[0] == 'i';
		value_id v = in ? (i < op_at(m, o)->n_operands ? op_operand(m, o, i) : ID_NONE)
						: (i < op_at(m, o)->n_results ? op_result(m, o, i) : ID_NONE);
		ids[i] = attr_get(m, a)->shardings[i];
		if (v != ID_NONE && value_type(m, v)->kind == TYPE_TENSOR)
			ids[i] = mention_manual_axes(m, ids[i], mask, mesh);
	}
	op_set_shardings(m, o, name, ids, n);
	free(ids);
}

/* The axes in mesh order, as an attribute of the same kind. */
static void sort_axes(module *m, op_id o, mesh_id mesh)
{
	attr_id old = op_attr(m, o, "manual_axes");
	attr a = *attr_get(m, old);
	named_attr *children = arena_array(&m->mem, named_attr, a.n);
	for (uint32_t i = 0; i < a.n; i++) {
		named_attr c = a.children[i];
		uint32_t key = mesh_axis_find(m->shardings, mesh, attr_get(m, c.value)->text), k = i;
		for (; k > 0 &&
			 mesh_axis_find(m->shardings, mesh, attr_get(m, children[k - 1].value)->text) > key;
			 k--)
			children[k] = children[k - 1];
		children[k] = c;
	}
	a.children = children;
	op_attr_set(m, o, "manual_axes", attr_new(m, &a));
}

status pass_manual_axes_cleanup(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		if (op_at(m, o)->kind != OP_SDY_MANUAL_COMPUTATION ||
			op_attr(m, o, "manual_axes") == ID_NONE)
			continue;
		mesh_id mesh = common_mesh(m, o);
		if (mesh == ID_NONE)
			continue;
		sort_axes(m, o, mesh);
		uint64_t mask = manual_axes(m, o, mesh);
		cleanup_list(m, o, "in_shardings", mask, mesh);
		cleanup_list(m, o, "out_shardings", mask, mesh);
	}
	return ST_OK;
}
