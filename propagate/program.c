/* Compiles a module into the flat planning program: one pass over main in pre-order, with shared
 * pvals for all values that a data-flow edge stands for. */
#include "propagate/passes.h"
#include "propagate/program_internal.h"
#include "propagate/rules.h"

#include <stdlib.h>

typedef struct compiler {
	program *p;
	const module *m;
	const func *main;
	program_reading how;
	rule_memo memo;
	callers callers; /* made for the first edge across calls */
	diag *d;
} compiler;

/* ---------------------------------------------------------------- data-flow edges in the module */

op_id edge_of_owner(const module *m, value_id owner)
{
	if (!value_one_use(m, owner))
		return ID_NONE;
	op_id user = m->slots.p[value_at(m, owner)->first_use].owner;
	uint16_t kind = op_at(m, user)->kind;
	return kind == OP_SDY_DATA_FLOW_EDGE || kind == OP_SDY_FUNC_DATA_FLOW_EDGE ? user : ID_NONE;
}

static bool is_computation(const ir_op *o)
{
	return o->kind == OP_SDY_MANUAL_COMPUTATION || o->kind == OP_SDY_NAMED_COMPUTATION;
}

static void take_yielded(
	const module *m, const ir_op *o, uint32_t region, uint32_t i, take_value take, void *user)
{
	op_id end = region < o->n_regions ? region_terminator(m, o->regions + region) : ID_NONE;
	if (end != ID_NONE && i < op_at(m, end)->n_operands)
		take(user, op_operand(m, end, i));
}

void edge_sources(const module *m, value_id owner, take_value take, void *user)
{
	const ir_value *v = value_at(m, owner);
	op_id of = v->is_arg ? m->regions.p[v->def].parent : v->def;
	const ir_op *o = op_at(m, of);
	if (!v->is_arg && is_computation(o)) {
		take_yielded(m, o, 0, v->index, take, user);
		return;
	}
	if (o->kind != OP_CASE && v->index < o->n_operands)
		take(user, op_operand(m, of, v->index));
	if (o->kind == OP_WHILE)
		take_yielded(m, o, 1, v->index, take, user);
	if (o->kind == OP_CASE)
		for (uint32_t r = 0; r < o->n_regions; r++)
			take_yielded(m, o, r, v->index, take, user);
}

void edge_other_targets(const module *m, value_id owner, take_value take, void *user)
{
	const ir_value *v = value_at(m, owner);
	if (v->is_arg || op_at(m, v->def)->kind != OP_WHILE)
		return;
	const ir_op *o = op_at(m, v->def);
	for (uint32_t r = 0; r < o->n_regions; r++)
		if (v->index < m->regions.p[o->regions + r].n_args)
			take(user, m->regions.p[o->regions + r].args + v->index);
}

/* ---------------------------------------------------------------- values */

static pval_id pval_add(compiler *c, type_id type, value_id v)
{
	pval_id id = c->p->vals.n;
	vec_push(&c->p->vals,
		(pval){.type = type,
			.def = ID_NONE,
			.arg_index = -1,
			.result_index = -1,
			.value = v,
			.group = ID_NONE});
	if (v != ID_NONE)
		c->p->pval_of[v] = id;
	return id;
}

/* Values that Shardy cannot put a sharding on (arguments of loops' and branches' regions without
 * edges) get a pval that stays in the program: slots always hold one. */
static pval_id pval_for(compiler *c, value_id v)
{
	if (c->p->pval_of[v] == ID_NONE) {
		pval_id id = pval_add(c, value_at(c->m, v)->type, v);
		const ir_op *of = value_at(c->m, v)->is_arg
			? op_at(c->m, c->m->regions.p[value_at(c->m, v)->def].parent)
			: NULL;
		if (of && of->kind != OP_FUNC && !is_computation(of))
			c->p->vals.p[id].value = ID_NONE;
	}
	return c->p->pval_of[v];
}

typedef struct alias {
	compiler *c;
	pval_id to;
} alias;

static void alias_value(void *user, value_id v)
{
	alias *a = user;
	a->c->p->pval_of[v] = a->to;
}

/* One pval for an edge and all its targets, made when the first of them is seen. */
static void share_edge(compiler *c, value_id owner)
{
	op_id edge = edge_of_owner(c->m, owner);
	bool loop =
		!value_at(c->m, owner)->is_arg && op_at(c->m, value_at(c->m, owner)->def)->kind == OP_WHILE;
	if (edge == ID_NONE && !loop) /* the arguments of a loop have its results' shardings even so */
		return;
	alias a = {c,
		edge == ID_NONE ? pval_add(c, value_at(c->m, owner)->type, owner)
						: pval_for(c, op_result(c->m, edge, 0))};
	alias_value(&a, owner);
	edge_other_targets(c->m, owner, alias_value, &a);
}

static void share_edges(compiler *c, op_id o)
{
	const ir_op *op = op_at(c->m, o);
	if (!(op_infos[op->kind].flags & OPF_DATAFLOW) && op->kind != OP_CALL)
		return;
	for (uint32_t i = 0; i < op->n_results; i++)
		share_edge(c, op->results + i);
	if (is_computation(op))
		for (uint32_t i = 0; i < op_region(c->m, o, 0)->n_args; i++)
			share_edge(c, op_region(c->m, o, 0)->args + i);
}

/* ---------------------------------------------------------------- nodes */

static bool is_pass_through(const module *m, op_id o)
{
	switch (op_at(m, o)->kind) {
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_SDY_DATA_FLOW_EDGE:
	case OP_SDY_FUNC_DATA_FLOW_EDGE: return true;
	case OP_CUSTOM_CALL: {
		str target = op_text(m, o, "call_target_name");
		return str_is(target, "MoveToDevice") || str_is(target, "MoveToHost");
	}
	default: return op_elementwise(m, o);
	}
}

/* A broadcast that adds no element. */
static bool is_reshape_for_xla(const module *m, op_id o)
{
	return op_at(m, o)->kind == OP_BROADCAST_IN_DIM &&
		value_type(m, op_operand(m, o, 0))->elements == value_type(m, op_result(m, o, 0))->elements;
}

static uint8_t barrier_direction(const module *m, op_id o)
{
	str word = op_text(m, o, "allowed_direction");
	if (str_is(word, "FORWARD"))
		return DIR_FORWARD;
	if (str_is(word, "BACKWARD"))
		return DIR_BACKWARD;
	if (str_is(word, "NONE"))
		return DIR_NONE;
	return (uint8_t)(op_int(m, o, "allowed_direction", DIR_NONE) & DIR_BOTH);
}

static void slot_add(compiler *c, node_id n, pval_id v, value_id ir)
{
	vec_push(&c->p->slots, v);
	vec_push(&c->p->slot_node, n);
	vec_push(&c->p->slot_value, ir);
	if (pval_type(c->p, v)->rank)
		c->p->nodes.p[n].n_tensors_used++;
}

static node_id node_add(compiler *c, op_id o, node_kind kind, node_id parent, uint16_t region)
{
	node_id id = c->p->nodes.n;
	vec_push(&c->p->nodes,
		(node){.op = o,
			.op_kind = op_at(c->m, o)->kind,
			.kind = (uint8_t)kind,
			.fixed_direction = DIR_BOTH,
			.rule = RULE_NONE,
			.slots = c->p->slots.n,
			.parent = parent,
			.end = id + 1,
			.region = region,
			.trips = 1});
	return id;
}

typedef struct slot_taker {
	compiler *c;
	node_id node;
	uint16_t n;
} slot_taker;

static void take_slot(void *user, value_id v)
{
	slot_taker *t = user;
	slot_add(t->c, t->node, pval_for(t->c, v), v);
	t->n++;
}

/* Manual axes of the op around an edge as a mask, and what in_shardings or out_shardings says. */
static void add_manual_edge(compiler *c, node_id n, value_id owner)
{
	const module *m = c->m;
	const ir_value *v = value_at(m, owner);
	op_id o = v->is_arg ? m->regions.p[v->def].parent : v->def;
	if (op_at(m, o)->kind != OP_SDY_MANUAL_COMPUTATION)
		return;
	attr_id names = op_attr(m, o, "manual_axes"),
			list = op_attr(m, o, v->is_arg ? "in_shardings" : "out_shardings");
	if (names == ID_NONE || list == ID_NONE || v->index >= attr_get(m, list)->n ||
		attr_get(m, list)->kind != ATTR_SHARDINGS)
		return;
	manual_edge e = {
		.node = n, .is_argument = v->is_arg, .outer = attr_get(m, list)->shardings[v->index]};
	mesh_id mesh = sharding_get(m->shardings, e.outer)->mesh;
	for (uint32_t i = 0; i < attr_get(m, names)->n; i++) {
		uint32_t axis = mesh_axis_find(
			m->shardings, mesh, attr_get(m, attr_get(m, names)->children[i].value)->text);
		if (axis != ID_NONE)
			e.axes |= 1u << axis;
	}
	if (e.axes)
		vec_push(&c->p->manual_edges, e);
}

/* Sources of an edge across calls: what a called function returns, or what its calls pass. */
static void take_func_sources(compiler *c, value_id owner, slot_taker *t)
{
	const module *m = c->m;
	const ir_value *v = value_at(m, owner);
	if (!v->is_arg) {
		const func *f = call_target(m, v->def);
		op_id end = f ? region_terminator(m, op_at(m, f->op)->regions) : ID_NONE;
		if (end != ID_NONE && v->index < op_at(m, end)->n_operands)
			take_slot(t, op_operand(m, end, v->index));
		return;
	}
	if (!c->callers.m)
		callers_init(&c->callers, m);
	uint32_t n;
	const op_id *calls = callers_of(&c->callers, module_func(m, m->regions.p[v->def].parent), &n);
	for (uint32_t i = 0; i < n && t->n < UINT16_MAX; i++)
		take_slot(t, op_operand(m, calls[i], v->index));
}

static status compile_edge(compiler *c, op_id o, node_id n)
{
	value_id owner = op_operand(c->m, o, 0), result = op_result(c->m, o, 0);
	slot_taker t = {c, n, 0};
	if (op_at(c->m, o)->kind == OP_SDY_FUNC_DATA_FLOW_EDGE)
		take_func_sources(c, owner, &t);
	else
		edge_sources(c->m, owner, take_slot, &t);
	pval_id v = pval_for(c, result);
	slot_add(c, n, v, result);
	c->p->vals.p[v].def = n;
	node *nd = &c->p->nodes.p[n];
	nd->n_operands = t.n;
	nd->n_results = 1;
	nd->rule = rule_identity(c->p->rules, pval_type(c->p, v), t.n, 1);
	add_manual_edge(c, n, owner);
	return ST_OK;
}

static status check_types(compiler *c, op_id o)
{
	const ir_op *op = op_at(c->m, o);
	for (uint32_t i = 0; i < op->n_results; i++) {
		const ir_type *ty = value_type(c->m, op->results + i);
		if (ty->kind == TYPE_TUPLE)
			return op_error(c->m, o, c->d, ST_ERR_UNSUPPORTED, "tuples cannot be planned: " STR_FMT,
				STR_ARG(ty->text));
		if (ty->dynamic || (ty->kind == TYPE_OTHER && str_starts(ty->text, "tensor<")))
			return op_error(c->m, o, c->d, ST_ERR_UNSUPPORTED,
				"only ranked tensors with a static shape can be planned: " STR_FMT,
				STR_ARG(ty->text));
	}
	if (op->n_operands > UINT16_MAX || op->n_results > UINT16_MAX)
		return op_error(c->m, o, c->d, ST_ERR_LIMIT,
			"%u operands and %u results, at most %u of each can be planned", op->n_operands,
			op->n_results, UINT16_MAX);
	return ST_OK;
}

/* Regions whose values can carry shardings; bodies of reduce, sort and the like work on scalars. */
static bool has_body(const ir_op *o)
{
	return o->n_regions &&
		(op_infos[o->kind].flags & OPF_DATAFLOW || o->kind == OP_IF || o->kind == OP_UNKNOWN);
}

static status compile_region(compiler *c, region_id r, node_id parent, uint16_t index);

static void compile_results(compiler *c, node_id n)
{
	const module *m = c->m;
	op_id end = c->p->nodes.p[n].op;
	for (uint32_t i = 0; i < op_at(m, end)->n_operands && i < c->main->n_results; i++) {
		value_id returned = op_operand(m, end, i);
		node_id r = node_add(c, end, NODE_RESULT, ID_NONE, 0);
		pval_id from = pval_for(c, returned), to = pval_add(c, c->main->result_types[i], ID_NONE);
		c->p->vals.p[to].def = r;
		c->p->vals.p[to].result_index = (int32_t)i;
		slot_add(c, r, from, returned);
		slot_add(c, r, to, ID_NONE);
		c->p->nodes.p[r].n_operands = c->p->nodes.p[r].n_results = 1;
		c->p->nodes.p[r].rule = rule_identity(c->p->rules, pval_type(c->p, to), 1, 1);
		vec_push(&c->p->returned, from);
		vec_push(&c->p->results, to);
	}
}

/* Operands and results of any op that is not an edge, and what it is to the engine. */
static void compile_slots(compiler *c, op_id o, node_id n)
{
	const ir_op *op = op_at(c->m, o);
	program *p = c->p;
	for (uint32_t i = 0; i < op->n_operands; i++)
		slot_add(c, n, pval_for(c, op_operand(c->m, o, i)), op_operand(c->m, o, i));
	for (uint32_t i = 0; i < op->n_results; i++) {
		pval_id v = pval_for(c, op->results + i);
		if (p->vals.p[v].value == op->results + i) /* else an edge's */
			p->vals.p[v].def = n;
		slot_add(c, n, v, op->results + i);
	}
	p->nodes.p[n].n_operands = (uint16_t)op->n_operands;
	p->nodes.p[n].n_results = (uint16_t)op->n_results;
}

static void compile_rule(compiler *c, op_id o, node_id n)
{
	node *nd = &c->p->nodes.p[n];
	if (nd->op_kind == OP_SDY_PROPAGATION_BARRIER) {
		nd->kind = NODE_OP;
		nd->fixed_direction = barrier_direction(c->m, o);
		nd->rule = rule_identity(c->p->rules, value_type(c->m, op_result(c->m, o, 0)), 1, 1);
		return;
	}
	nd->kind = rule_memo_get(&c->memo, c->p->rules, c->m, o, c->how == READ_CONSERVATIVE,
				   &nd->rule) == RULE_FOUND
		? NODE_OP
		: NODE_OPAQUE;
}

/* One across calls that owns its operand: an argument of a function that is not main, or a result
 * of a call. */
static bool is_func_edge(const compiler *c, op_id o)
{
	if (op_at(c->m, o)->kind != OP_SDY_FUNC_DATA_FLOW_EDGE ||
		edge_of_owner(c->m, op_operand(c->m, o, 0)) != o)
		return false;
	const ir_value *v = value_at(c->m, op_operand(c->m, o, 0));
	if (!v->is_arg)
		return op_at(c->m, v->def)->kind == OP_CALL;
	op_id parent = c->m->regions.p[v->def].parent;
	return op_at(c->m, parent)->kind == OP_FUNC && (!c->main || parent != c->main->op);
}

static void set_trips(compiler *c, op_id o, node_id n)
{
	node *x = &c->p->nodes.p[n];
	int64_t given = c->m->trip_count, bound;
	x->trips_known = while_trips(c->m, o, &x->trips);
	if (x->trips_known)
		return;
	x->trips_bounded = while_bound(c->m, o, &bound);
	x->trips = given ? given : x->trips_bounded ? bound : 1;
}

static status compile_op(compiler *c, op_id o, node_id parent, uint16_t region)
{
	const ir_op *op = op_at(c->m, o);
	uint32_t flags = op_infos[op->kind].flags;
	TRY(check_types(c, o));
	share_edges(c, o);
	bool body = has_body(op);
	node_id n = node_add(c, o,
		flags & OPF_TERMINATOR ? NODE_TERMINATOR
			: body             ? NODE_REGION
							   : NODE_OPAQUE,
		parent, region);
	c->p->node_of[o] = n;
	c->p->nodes.p[n].pass_through_op =
		is_pass_through(c->m, o) || (c->how >= READ_AS_XLA && is_reshape_for_xla(c->m, o));
	c->p->nodes.p[n].elementwise = op_elementwise(c->m, o);
	c->p->nodes.p[n].forward_only_op =
		op->kind == OP_DYNAMIC_SLICE || op->kind == OP_DYNAMIC_UPDATE_SLICE;
	c->p->nodes.p[n].pure = op_pure(c->m, o);
	if (op->kind == OP_SDY_DATA_FLOW_EDGE || is_func_edge(c, o)) {
		c->p->nodes.p[n].kind = NODE_EDGE;
		return compile_edge(c, o, n);
	}
	compile_slots(c, o, n);
	if (c->p->nodes.p[n].kind == NODE_OPAQUE)
		compile_rule(c, o, n);
	if (op->kind == OP_WHILE) {
		set_trips(c, o, n);
	}
	if (body)
		for (uint32_t r = 0; r < op->n_regions; r++)
			TRY(compile_region(c, op->regions + r, n, (uint16_t)r));
	c->p->nodes.p[n].end = c->p->nodes.n;
	return ST_OK;
}

static status compile_region(compiler *c, region_id r, node_id parent, uint16_t index)
{
	for (op_id o = c->m->regions.p[r].first; o != ID_NONE; o = op_at(c->m, o)->next)
		TRY(compile_op(c, o, parent, index));
	return ST_OK;
}

static status compile_function(compiler *c, const func *f)
{
	if (!op_at(c->m, f->op)->n_regions || op_region(c->m, f->op, 0)->empty)
		return ST_OK;
	const ir_region *body = op_region(c->m, f->op, 0);
	for (uint32_t i = 0; i < body->n_args; i++) {
		const ir_type *ty = value_type(c->m, body->args + i);
		if (ty->dynamic || ty->kind == TYPE_TUPLE)
			return op_error(c->m, f->op, c->d, ST_ERR_UNSUPPORTED,
				"argument %u: only ranked tensors with a static shape can be planned: " STR_FMT, i,
				STR_ARG(ty->text));
		if (f != c->main)
			share_edge(c, body->args + i);
		pval_id v = pval_for(c, body->args + i);
		if (f == c->main) {
			c->p->vals.p[v].arg_index = (int32_t)i;
			vec_push(&c->p->args, v);
		}
	}
	node_id first = c->p->nodes.n;
	TRY(compile_region(c, op_at(c->m, f->op)->regions, ID_NONE, 0));
	op_id end = region_terminator(c->m, op_at(c->m, f->op)->regions);
	if (f == c->main && end != ID_NONE)
		compile_results(c, c->p->node_of[end]);
	if (f == c->main) {
		c->p->main_first = first;
		c->p->main_end = c->p->nodes.n;
	}
	return ST_OK;
}

/* ---------------------------------------------------------------- facts about the whole program */

static bool is_usable_mesh(const sharding_table *t, mesh_id id)
{
	return id != ID_NONE && id < t->meshes.n && !t->meshes.p[id].maximal && t->meshes.p[id].n_axes;
}

/* The mesh that shardings use, else the first one that the module defines. */
static mesh_id find_mesh(const module *m)
{
	for (uint32_t v = 0; v < m->values.n; v++) {
		sharding_id sh = m->values.p[v].sharding;
		if (sh != SHARDING_NONE &&
			is_usable_mesh(m->shardings, sharding_get(m->shardings, sh)->mesh))
			return sharding_get(m->shardings, sh)->mesh;
	}
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = op_at(m, o)->next) {
		mesh_id id = op_at(m, o)->kind == OP_SDY_MESH
			? mesh_find(m->shardings, op_text(m, o, "sym_name"))
			: ID_NONE;
		if (is_usable_mesh(m->shardings, id))
			return id;
	}
	return ID_NONE;
}

static uint32_t *count_uses(const module *m)
{
	uint32_t *n = xcalloc(m->values.n + 1, sizeof *n);
	for (value_id v = 0; v < m->values.n; v++)
		for (slot_id s = m->values.p[v].first_use; s != ID_NONE; s = m->slots.p[s].next)
			n[v]++;
	return n;
}

void node_drop_uses(const program *p, const node *n, uint32_t *uses)
{
	const module *m = p->m;
	bool nodes_inside = n->end > (node_id)(n - p->nodes.p) + 1; /* they drop their own */
	for (op_id o = n->op; o != ID_NONE; o = nodes_inside ? ID_NONE : op_walk_next(m, n->op, o))
		for (uint32_t i = 0; i < op_at(m, o)->n_operands; i++)
			uses[op_operand(m, o, i)]--;
}

static void mark_dead(program *p, node_id n, uint32_t *uses)
{
	for (node_id i = n; i < p->nodes.p[n].end; i++) {
		if (p->nodes.p[i].dead)
			continue;
		p->nodes.p[i].dead = true;
		p->n_dead++;
		node_drop_uses(p, &p->nodes.p[i], uses);
	}
}

/* What the driver will have erased when it is through; uses come after definitions, so one pass
 * from the end does. */
static void find_dead(program *p)
{
	uint32_t *uses = xmalloc((p->m->values.n + 1) * sizeof *uses);
	memcpy(uses, p->use_counts, p->m->values.n * sizeof *uses);
	for (node_id i = p->nodes.n; i-- > 0;) {
		node *n = &p->nodes.p[i];
		bool used = !n->pure || n->kind == NODE_RESULT;
		for (uint32_t r = 0; r < n->n_results && !used; r++)
			used = uses[op_result(p->m, n->op, r)];
		if (!used)
			mark_dead(p, i, uses);
	}
	for (node_id i = 0; i < p->nodes.n; i++) {
		node *n = &p->nodes.p[i];
		n->operands_single_use = true;
		if (n->kind == NODE_EDGE)
			continue; /* its one operand is the owner, which nothing else uses */
		for (uint32_t s = n->slots; s < n->slots + n->n_operands; s++)
			if (pval_type(p, p->slots.p[s])->rank && uses[p->slot_value.p[s]] != 1)
				n->operands_single_use = false;
	}
	free(uses);
}

/* Dense number of a group id, in order of appearance. */
static uint32_t group_number(index_map *seen, int64_t *const *ids, uint32_t n, int64_t id)
{
	uint64_t h = hash_mix((uint64_t)id);
	uint32_t g;
	for (uint32_t it = index_first(seen, h); index_next(seen, h, &it, &g);)
		if ((*ids)[g] == id)
			return g;
	index_add(seen, h, n);
	return n;
}

static void find_groups(program *p)
{
	VEC(int64_t) ids = {0};
	VEC(pval_id) members = {0};
	index_map seen;
	index_init(&seen);
	for (node_id i = 0; i < p->nodes.n; i++) {
		const node *n = &p->nodes.p[i];
		if (n->op_kind != OP_SDY_SHARDING_GROUP || n->kind == NODE_RESULT || !n->n_operands)
			continue;
		int64_t id = op_int(p->m, n->op, "group_id", 0);
		uint32_t g = group_number(&seen, &ids.p, ids.n, id);
		if (g == ids.n)
			vec_push(&ids, id);
		pval *v = &p->vals.p[p->slots.p[n->slots]];
		bool takes = v->value != op_operand(p->m, n->op, 0);
		v->group_takes = takes && (v->group == ID_NONE || v->group_takes);
		if (v->group != ID_NONE)
			continue;
		v->group = g;
		vec_push(&members, p->slots.p[n->slots]);
	}
	vec_reserve(&p->group_first, ids.n + 1);
	p->group_first.n = ids.n + 1;
	memset(p->group_first.p, 0, p->group_first.n * sizeof *p->group_first.p);
	for (uint32_t i = 0; i < members.n; i++)
		p->group_first.p[p->vals.p[members.p[i]].group + 1]++;
	for (uint32_t g = 0; g < ids.n; g++)
		p->group_first.p[g + 1] += p->group_first.p[g];
	vec_reserve(&p->group_members, members.n);
	p->group_members.n = members.n;
	uint32_t *fill = xmalloc((ids.n + 1) * sizeof *fill);
	memcpy(fill, p->group_first.p, (ids.n + 1) * sizeof *fill);
	for (uint32_t i = 0; i < members.n; i++)
		p->group_members.p[fill[p->vals.p[members.p[i]].group]++] = members.p[i];
	free(fill);
	index_release(&seen);
	vec_release(&ids);
	vec_release(&members);
}

static void fill_none(uint32_t *a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		a[i] = ID_NONE;
}

void program_simplify(program *p)
{
	for (node_id n = 0; n < p->nodes.n; n++) {
		node *nd = &p->nodes.p[n];
		if (nd->kind != NODE_OP || nd->op_kind != OP_DOT_GENERAL ||
			!contraction_is_swapped(p->m, nd->op))
			continue;
		p->rules->swapped = true;
		rule_of_op(p->rules, p->m, nd->op, false, &nd->rule);
		p->rules->swapped = false;
	}
}

status program_new(const module *m, rule_table *rules, program_reading how, program **out, diag *d)
{
	*out = NULL;
	program *p = xcalloc(1, sizeof *p);
	p->m = m;
	p->rules = rules;
	p->mesh = find_mesh(m);
	p->pval_of = xmalloc((m->values.n + 1) * sizeof *p->pval_of);
	p->node_of = xmalloc((m->ops.n + 1) * sizeof *p->node_of);
	fill_none(p->pval_of, m->values.n);
	fill_none(p->node_of, m->ops.n);
	compiler c = {.p = p, .m = m, .main = module_main(m), .how = how, .d = d};
	rule_memo_init(&c.memo);
	status st = ST_OK;
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE && st == ST_OK;
		 o = op_at(m, o)->next) {
		const func *f = op_at(m, o)->kind == OP_FUNC ? module_func(m, o) : NULL;
		st = f ? compile_function(&c, f) : ST_OK;
	}
	rule_memo_release(&c.memo);
	callers_release(&c.callers);
	if (st != ST_OK) {
		program_free(p);
		return st;
	}
	if (how == READ_SIMPLIFIED)
		program_simplify(p);
	p->use_counts = count_uses(m);
	find_dead(p);
	find_groups(p);
	program_link(p);
	*out = p;
	return ST_OK;
}

void program_free(program *p)
{
	if (!p)
		return;
	vec_release(&p->nodes);
	vec_release(&p->vals);
	vec_release(&p->slots);
	vec_release(&p->uses);
	vec_release(&p->notify);
	vec_release(&p->slot_node);
	vec_release(&p->args);
	vec_release(&p->results);
	vec_release(&p->returned);
	vec_release(&p->group_first);
	vec_release(&p->group_members);
	vec_release(&p->slot_value);
	vec_release(&p->manual_edges);
	free(p->pval_of);
	free(p->node_of);
	free(p->use_counts);
	free(p);
}
