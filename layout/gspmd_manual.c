/* A shard_map as it is lowered for GSPMD: a call whose operands come from @SPMDFullToShardShape,
 * and whose results go to @SPMDShardToFullShape. Beside each of these is a @Sharding with the
 * sharding of the whole value on one side, and the axes that are manual on the other. It becomes a
 * manual computation around the call. */
#include "layout/gspmd.h"

#include <stdlib.h>

#define UNREACHED (UINT32_MAX - 1) /* a mesh has fewer devices than so many axes make */

/* The op of that target which defines v, ID_NONE when another does. */
static op_id made_by(const module *m, value_id v, const char *target)
{
	op_id o = value_def(m, v);
	return o != ID_NONE && op_is_gspmd(m, o, target) && op_at(m, o)->n_operands == 1 &&
			op_at(m, o)->n_results == 1
		? o
		: ID_NONE;
}

/* The op of that target which alone reads v. */
static op_id read_by(const module *m, value_id v, const char *target)
{
	if (!value_one_use(m, v))
		return ID_NONE;
	op_id o = m->slots.p[value_at(m, v)->first_use].owner;
	return op_is_gspmd(m, o, target) && op_at(m, o)->n_operands == 1 && op_at(m, o)->n_results == 1
		? o
		: ID_NONE;
}

/* Where a result of the call becomes whole again: the @SPMDShardToFullShape behind its @Sharding.
 */
static op_id made_whole(const module *m, value_id v)
{
	op_id o = read_by(m, v, "Sharding");
	return o == ID_NONE ? o : read_by(m, op_result(m, o, 0), "SPMDShardToFullShape");
}

/* An op at the call's edge that names the axes its body is manual over; ID_NONE: no shard_map. */
static op_id edge_of(const module *m, op_id call)
{
	const ir_op *at = op_at(m, call);
	if (at->kind != OP_CALL || at->flags & OPS_ERASED)
		return ID_NONE;
	for (uint32_t i = 0; i < at->n_operands; i++) {
		op_id o = made_by(m, op_operand(m, call, i), "SPMDFullToShardShape");
		if (o != ID_NONE)
			return o;
	}
	for (uint32_t i = 0; i < at->n_results; i++)
		if (made_whole(m, op_result(m, call, i)) != ID_NONE)
			return read_by(m, op_result(m, call, i), "Sharding");
	return ID_NONE;
}

static func *callee_of(const module *m, op_id call)
{
	return op_at(m, call)->kind == OP_CALL ? module_func_named(m, op_text(m, call, "callee"))
										   : NULL;
}

/* ---------------------------------------------------------------- what is manual around a function
 */

typedef struct finder {
	gspmd_contexts *c;
	module *m;
	mesh_id mesh;
	VEC(uint32_t) queue; /* functions whose context has changed */
} finder;

/* A function is queued twice at most: when it is reached, and when its calls turn out to differ. */
static void reach(finder *x, uint32_t f, uint32_t around)
{
	uint32_t *have = &x->c->manual[f];
	uint32_t now = *have == UNREACHED || *have == around ? around : GSPMD_MIXED;
	if (*have == now)
		return;
	*have = now;
	vec_push(&x->queue, f);
}

static status follow_calls(finder *x, uint32_t f, diag *d)
{
	module *m = x->m;
	op_id root = m->funcs.p[f].op;
	for (op_id o = root; o != ID_NONE; o = op_walk_next(m, root, o)) {
		func *callee = callee_of(m, o);
		op_id edge = callee ? edge_of(m, o) : ID_NONE;
		uint32_t around = x->c->manual[f];
		sharding_edit e;
		if (edge != ID_NONE)
			TRY(gspmd_read_op(
				m, x->mesh, edge, value_at(m, op_result(m, edge, 0))->type, &around, &e, d));
		if (callee)
			reach(x, (uint32_t)(callee - m->funcs.p), around);
	}
	return ST_OK;
}

status gspmd_contexts_find(gspmd_contexts *c, module *m, mesh_id mesh, diag *d)
{
	finder x = {.c = c, .m = m, .mesh = mesh};
	c->manual = xmalloc((m->funcs.n + 1) * sizeof *c->manual);
	for (uint32_t f = 0; f < m->funcs.n; f++)
		c->manual[f] = UNREACHED;
	for (uint32_t f = 0; f < m->funcs.n; f++)
		if (!m->funcs.p[f].is_private)
			reach(&x, f, 0);
	status st = ST_OK;
	while (x.queue.n && st == ST_OK)
		st = follow_calls(&x, vec_pop(&x.queue), d);
	for (uint32_t f = 0; f < m->funcs.n; f++)
		if (c->manual[f] == UNREACHED)
			c->manual[f] = 0;
	vec_release(&x.queue);
	if (st != ST_OK)
		gspmd_contexts_release(c);
	return st;
}

void gspmd_contexts_release(gspmd_contexts *c)
{
	free(c->manual);
	c->manual = NULL;
}

uint32_t gspmd_around(const gspmd_contexts *c, const module *m, op_id o)
{
	while (o != ID_NONE && op_at(m, o)->kind != OP_FUNC)
		o = op_parent(m, o);
	const func *f = o == ID_NONE ? NULL : module_func(m, o);
	return f ? c->manual[f - m->funcs.p] : 0;
}

/* ---------------------------------------------------------------- one shard_map */

typedef struct shard_map {
	op_id call;
	uint32_t manual; /* its axes, by bit */
	uint32_t n_in, n_out;
	op_id *to_shard, *to_full; /* by operand; by kept result */
	value_id *operands, *kept; /* whole operands; results of the call that somebody reads */
	type_id *types;            /* of whole results */
	sharding_id *in, *out;
} shard_map;

static status refuse(const module *m, op_id o, const char *what, diag *d)
{
	return op_error(m, o, d, ST_ERR_UNSUPPORTED,
		"a shard_map that was lowered for GSPMD: %s: lower with Shardy "
		"(jax.config.update('jax_use_shardy_partitioner', True))",
		what);
}

/* The sharding that an op says of a whole value at the edge. */
static status whole_sharding(
	module *m, mesh_id mesh, op_id o, type_id type, sharding_id *out, diag *d)
{
	sharding_edit e;
	uint32_t manual;
	TRY(gspmd_read_op(m, mesh, o, type, &manual, &e, d));
	TRY(gspmd_is_within(m, o, manual, 0, d));
	*out = sharding_intern(m->shardings, &e);
	return ST_OK;
}

/* The axes that an op at the edge is manual over. */
static status own_axes(shard_map *s, module *m, mesh_id mesh, op_id o, diag *d)
{
	sharding_edit e;
	uint32_t manual;
	TRY(gspmd_read_op(m, mesh, o, value_at(m, op_result(m, o, 0))->type, &manual, &e, d));
	if (s->manual && manual != s->manual)
		return refuse(m, o, "its edges are manual over other axes", d);
	s->manual = manual;
	return ST_OK;
}

static status read_operands(shard_map *s, module *m, mesh_id mesh, diag *d)
{
	for (uint32_t i = 0; i < s->n_in; i++) {
		op_id shard = made_by(m, op_operand(m, s->call, i), "SPMDFullToShardShape");
		op_id whole = shard == ID_NONE ? shard : made_by(m, op_operand(m, shard, 0), "Sharding");
		if (whole == ID_NONE)
			return refuse(
				m, s->call, "an operand does not come from @Sharding and @SPMDFullToShardShape", d);
		TRY(own_axes(s, m, mesh, shard, d));
		s->to_shard[i] = shard;
		s->operands[i] = op_operand(m, whole, 0);
		TRY(whole_sharding(m, mesh, whole, value_at(m, s->operands[i])->type, &s->in[i], d));
	}
	return ST_OK;
}

static status read_results(shard_map *s, module *m, mesh_id mesh, diag *d)
{
	for (uint32_t i = 0; i < op_at(m, s->call)->n_results; i++) {
		value_id v = op_result(m, s->call, i);
		if (!value_has_uses(m, v))
			continue;
		op_id full = made_whole(m, v);
		if (full == ID_NONE)
			return refuse(
				m, s->call, "a result does not go to @Sharding and @SPMDShardToFullShape", d);
		TRY(own_axes(s, m, mesh, value_def(m, op_operand(m, full, 0)), d));
		uint32_t k = s->n_out++;
		s->kept[k] = v;
		s->to_full[k] = full;
		s->types[k] = value_at(m, op_result(m, full, 0))->type;
		TRY(whole_sharding(m, mesh, full, s->types[k], &s->out[k], d));
	}
	return ST_OK;
}

/* What the edges were, where nothing else reads it. */
static void erase_edges(const shard_map *s, module *m, op_id manual)
{
	for (uint32_t i = 0; i < s->n_in; i++) {
		op_id shard = s->to_shard[i];
		if (op_at(m, shard)->flags & OPS_ERASED || value_has_uses(m, op_result(m, shard, 0)))
			continue;
		op_id whole = value_def(m, op_operand(m, shard, 0));
		op_erase(m, shard);
		if (!value_has_uses(m, op_result(m, whole, 0)))
			op_erase(m, whole);
	}
	for (uint32_t k = 0; k < s->n_out; k++) {
		op_id inside = value_def(m, op_operand(m, s->to_full[k], 0));
		value_replace_uses(m, op_result(m, s->to_full[k], 0), op_result(m, manual, k), ID_NONE);
		op_erase(m, s->to_full[k]);
		op_erase(m, inside);
	}
}

/* The call moves into the body of a manual computation in its place. */
static void wrap(const shard_map *s, module *m, mesh_id mesh)
{
	loc_id loc = op_at(m, s->call)->loc;
	op_id manual =
		op_new(m, OP_SDY_MANUAL_COMPUTATION, 0, s->operands, s->n_in, s->types, s->n_out, 1, loc);
	op_get(m, manual)->src = op_at(m, s->call)->src; /* where errors point */
	region_id body = op_at(m, manual)->regions;
	for (uint32_t i = 0; i < s->n_in; i++) {
		value_id inside = op_operand(m, s->call, i);
		region_add_arg(m, body, value_at(m, inside)->type, loc);
	}
	op_insert_before(m, manual, s->call);
	op_unlink(m, s->call);
	for (uint32_t i = 0; i < s->n_in; i++)
		op_set_operand(m, s->call, i, m->regions.p[body].args + i);
	op_append(m, s->call, body);
	erase_edges(s, m, manual);
	op_append(m, op_new(m, OP_SDY_RETURN, 0, s->kept, s->n_out, NULL, 0, 0, loc), body);
	op_attr_set(m, manual, "in_shardings", attr_shardings(m, s->in, s->n_in));
	op_attr_set(m, manual, "out_shardings", attr_shardings(m, s->out, s->n_out));
	op_attr_set(m, manual, "manual_axes", attr_axis_names(m, mesh, s->manual));
}

static status take_shard_map(module *m, mesh_id mesh, op_id call, diag *d)
{
	arena mem = {0};
	uint32_t n_in = op_at(m, call)->n_operands, n_out = op_at(m, call)->n_results;
	shard_map s = {.call = call,
		.n_in = n_in,
		.to_shard = arena_array(&mem, op_id, n_in),
		.to_full = arena_array(&mem, op_id, n_out),
		.operands = arena_array(&mem, value_id, n_in),
		.kept = arena_array(&mem, value_id, n_out),
		.types = arena_array(&mem, type_id, n_out),
		.in = arena_array(&mem, sharding_id, n_in),
		.out = arena_array(&mem, sharding_id, n_out)};
	status st = read_operands(&s, m, mesh, d);
	if (st == ST_OK)
		st = read_results(&s, m, mesh, d);
	if (st == ST_OK)
		wrap(&s, m, mesh);
	arena_release(&mem);
	return st;
}

status gspmd_take_shard_maps(const gspmd_contexts *c, module *m, mesh_id mesh, diag *d)
{
	uint32_t n = m->ops.n;
	bool any = false;
	for (op_id o = 0; o < n; o++) {
		if (edge_of(m, o) == ID_NONE || !callee_of(m, o))
			continue;
		/* XLA's partitioner aborts at a manual computation in a function that is called */
		if (gspmd_around(c, m, o))
			return refuse(m, o, "it stands in another one", d);
		TRY(take_shard_map(m, mesh, o, d));
		any = true;
	}
	for (op_id o = 0; o < n; o++)
		if (op_is_gspmd(m, o, "SPMDFullToShardShape") || op_is_gspmd(m, o, "SPMDShardToFullShape"))
			return refuse(m, o, "its body is no function that is called", d);
	return any ? module_verify_types(m, d) : ST_OK;
}
