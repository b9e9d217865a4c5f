/* The program of one device as a module: local types, StableHLO collectives. Alone, device k of the
 * mesh (by device id) runs it as replica k with its shards as arguments and results; emit_global.c
 * puts it into a manual computation. */
#include "lower/emit.h"

#include <stdlib.h>

enum { MAX_EMITTED_DEVICES = 4096 }; /* tables and groups name every device */

/* Arguments are cut evenly: shardings of main lose what does not divide. */
static void emit_argument(emitter *e, const lop *o, uint32_t index)
{
	const lval *v = &e->l->vals.p[o->results];
	value_id old = op_region(e->p->m, e->old_main, 0)->args + index;
	e->value[o->results] = region_add_arg(
		e->m, e->body, emit_local_type(e, v->type, v->sharding), value_at(e->p->m, old)->loc);
}

static lop_id region_end(const lowered *l, lop_id region)
{
	lop_id i = region + 1;
	while (!(l->ops.p[i].kind == LOP_REGION_END && l->ops.p[i].node == l->ops.p[region].node &&
		l->ops.p[i].region == l->ops.p[region].region))
		i++;
	return i;
}

static bool is_computation(uint16_t kind)
{
	return kind == OP_SDY_MANUAL_COMPUTATION || kind == OP_SDY_NAMED_COMPUTATION;
}
static bool is_emitted_region(uint16_t kind)
{
	return kind == OP_WHILE || kind == OP_CASE || kind == OP_IF || is_computation(kind);
}

/* The axes of an outer dim that a manual computation takes, so that its body sees `inside` elements
 * of `outside`. */
static axes manual_prefix(const sharding *outer, uint32_t d, int64_t outside, int64_t inside)
{
	axes all = sharding_dim(outer, d), some = {all.a, 0};
	while (some.n < all.n && inside * axes_product(some) < outside)
		some.n++;
	return some;
}

/* A value across the edge of a computation. A manual one has cut dims by its own axes first and
 * what is left by others: where that gives uneven parts they are not those of one cut by all axes,
 * and the value goes through whole ones. */
static value_id cross_edge(emitter *e, value_id v, lval_id from, lval_id to, bool inwards)
{
	const lval *a = &e->l->vals.p[from], *b = &e->l->vals.p[to], *outer = inwards ? a : b,
			   *inner = inwards ? b : a;
	const sharding *s = sharding_get(e->m->shardings, outer->sharding);
	if (emit_is_even(e, outer->type, outer->sharding))
		return v;
	v = emit_whole(e, v, a->type, a->sharding);
	for (uint32_t d = 0; d < s->rank; d++) {
		int64_t outside = type_get(e->m, outer->type)->dims[d],
				inside = type_get(e->m, inner->type)->dims[d];
		if (outside != inside)
			v = (inwards ? emit_slice : emit_gather)(
				e, v, d, manual_prefix(s, d, outside, inside), inwards ? inside : outside);
	}
	return emit_shard(e, v, b->sharding);
}

static status emit_open(emitter *e, lop_id id)
{
	const lowered *l = e->l;
	const lop *o = &l->ops.p[id], *end = &l->ops.p[region_end(l, id)];
	const node *n = &e->p->nodes.p[o->node];
	if (is_computation(n->op_kind)) { /* its body is code of the caller */
		for (uint32_t i = 0; i < o->n_results && i < o->n_operands; i++) {
			lval_id v = l->operands.p[o->operands + i];
			e->value[o->results + i] = cross_edge(e, e->value[v], v, o->results + i, true);
		}
		return ST_OK;
	}
	if (!is_emitted_region(n->op_kind))
		return op_error(e->p->m, n->op, e->d, ST_ERR_UNSUPPORTED,
			"the regions of this op have no program of one device; expected while, case or if");
	value_id *operands = arena_array(&e->mem, value_id, o->n_operands);
	type_id *types = arena_array(&e->mem, type_id, end->n_results);
	for (uint32_t i = 0; i < o->n_operands; i++)
		operands[i] = e->value[l->operands.p[o->operands + i]];
	for (uint32_t i = 0; i < end->n_results; i++) {
		const lval *v = &l->vals.p[end->results + i];
		types[i] = emit_local_type(e, v->type, v->sharding);
	}
	uint32_t n_regions = op_at(e->p->m, n->op)->n_regions;
	op_id made = op_new(e->m, (op_kind)n->op_kind, 0, operands, o->n_operands, types,
		end->n_results, n_regions, e->loc);
	op_append(e->m, made, e->at);
	for (uint32_t r = 0; r < n_regions && n->op_kind == OP_WHILE; r++)
		for (uint32_t i = 0; i < o->n_results; i++) {
			value_id arg = region_add_arg(e->m, op_at(e->m, made)->regions + r, types[i], e->loc);
			if (r == 0)
				e->value[o->results + i] = arg;
		}
	for (uint32_t i = 0; i < end->n_results; i++)
		e->value[end->results + i] = op_result(e->m, made, i);
	e->at = op_at(e->m, made)->regions;
	return ST_OK;
}

static void emit_yield(emitter *e, const lop *o)
{
	value_id *yields = arena_array(&e->mem, value_id, o->n_operands);
	for (uint32_t i = 0; i < o->n_operands; i++)
		yields[i] = e->value[e->l->operands.p[o->operands + i]];
	op_append(e->m, op_new(e->m, OP_RETURN, 0, yields, o->n_operands, NULL, 0, 0, e->loc), e->at);
}

static void emit_else(emitter *e, const lop *o)
{
	const lop *region = &e->l->ops.p[o->region];
	emit_yield(e, o);
	e->at++;
	if (e->p->nodes.p[region->node].op_kind ==
		OP_WHILE) /* the body's arguments take over from cond's */
		for (uint32_t i = 0; i < region->n_results; i++)
			e->value[region->results + i] = e->m->regions.p[e->at].args + i;
}

static void emit_end(emitter *e, const lop *o)
{
	if (is_computation(e->p->nodes.p[o->node].op_kind)) {
		for (uint32_t i = 0; i < o->n_results && i < o->n_operands; i++) {
			lval_id v = e->l->operands.p[o->operands + i];
			e->value[o->results + i] = cross_edge(e, e->value[v], v, o->results + i, false);
		}
		return;
	}
	emit_yield(e, o);
	e->at = op_at(e->m, e->m->regions.p[e->at].parent)->parent;
}

/* An all_reduce of partial sums that a sharding tells of, or of what the op before it gave on every
 * device. */
static status emit_all_reduce(emitter *e, const lop *o)
{
	lval_id v = e->l->operands.p[o->operands];
	const sharding *s = sharding_get(e->m->shardings, e->l->vals.p[v].sharding);
	axes_buf others;
	axes_difference(o->step->axes, sharding_unreduced(s), &others);
	if (!others.n) {
		e->value[o->results] = emit_sum(e, e->value[v], o->step->axes, OP_ADD);
		return ST_OK;
	}
	op_id op = e->p->nodes.p[o->node].op;
	op_kind reduction = emit_reduction(e->p->m, op);
	if (reduction == OP_UNKNOWN && !e->summed[v])
		return op_error(e->p->m, op, e->d, ST_ERR_UNSUPPORTED,
			"partial results of this op cannot be combined by one op");
	e->value[o->results] =
		e->summed[v] ? e->value[v] : emit_sum(e, e->value[v], o->step->axes, reduction);
	return ST_OK;
}

static status check_padding(emitter *e, const lop *o)
{
	for (uint32_t i = 0; i < o->n_results; i++) {
		const lval *v = &e->l->vals.p[o->results + i];
		bool filled = !emit_is_even(e, v->type, v->sharding) ||
			sharding_get(e->m->shardings, v->sharding)->n_unreduced;
		if (filled && !emit_has_zero(e, v->type))
			return op_error(e->p->m,
				o->node == ID_NONE ? module_main(e->p->m)->op : e->p->nodes.p[o->node].op, e->d,
				ST_ERR_UNSUPPORTED,
				"a value of type " STR_FMT
				" is cut unevenly or unreduced: expected a type that has a zero",
				STR_ARG(type_get(e->m, v->type)->text));
	}
	return ST_OK;
}

static status emit_lop(emitter *e, lop_id id)
{
	const lop *o = &e->l->ops.p[id];
	TRY(check_padding(e, o));
	e->loc = o->node == ID_NONE ? 0 : op_at(e->p->m, e->p->nodes.p[o->node].op)->loc;
	switch ((lop_kind)o->kind) {
	case LOP_ARGUMENT: emit_argument(e, o, id); return ST_OK;
	case LOP_COMPUTE:
		TRY(emit_compute(e, o));
		if (e->l->reshards_after_forward)
			emit_note_reader(e, o);
		return ST_OK;
	case LOP_COLLECTIVE: {
		if (o->halo) { /* whoever reads the borders fetches them */
			e->value[o->results] = e->value[e->l->operands.p[o->operands]];
			return ST_OK;
		}
		if (o->given)
			return emit_compute(e, o);
		if (o->coll == COLL_ALL_REDUCE)
			return emit_all_reduce(e, o);
		lval_id v = e->l->operands.p[o->operands];
		value_id from = e->l->reshards_after_forward && o->coll == COLL_ALL_GATHER
			? emit_again(e, o, e->value[v])
			: e->value[v];
		e->value[o->results] = (e->summed[v] ? emit_own_part : emit_collective)(
			e, o->step, from, e->l->vals.p[v].type);
		return ST_OK;
	}
	case LOP_REGION: return emit_open(e, id);
	case LOP_REGION_ELSE: emit_else(e, o); return ST_OK;
	case LOP_REGION_END: emit_end(e, o); return ST_OK;
	case LOP_RETURN: break;
	}
	return ST_OK;
}

/* Of main, or of the manual computation that the body belongs to. */
static void emit_return(emitter *e, op_id main)
{
	const lop *o = &e->l->ops.p[e->l->ops.n - 1];
	value_id *values = arena_array(&e->mem, value_id, o->n_operands);
	type_id *types = arena_array(&e->mem, type_id, o->n_operands);
	for (uint32_t i = 0; i < o->n_operands; i++) {
		values[i] = e->value[e->l->operands.p[o->operands + i]];
		types[i] = value_at(e->m, values[i])->type;
	}
	op_kind kind = e->form == EMIT_GLOBAL ? OP_SDY_RETURN : OP_FUNC_RETURN;
	op_append(e->m, op_new(e->m, kind, 0, values, o->n_operands, NULL, 0, 0, 0), e->body);
	if (e->form == EMIT_DEVICE)
		func_add(e->m, main, STR("main"), types, o->n_operands);
}

/* Bodies of reductions and functions of composites are copied as they are, constraints included. */
static void forget_shardings(module *m)
{
	for (value_id v = 0; v < m->values.n; v++)
		m->values.p[v].sharding = SHARDING_NONE;
	for (op_id o = op_walk_first(m, ID_NONE), next; o != ID_NONE; o = next) {
		next = op_walk_next(m, ID_NONE, o);
		if (!is_reshard_op(op_at(m, o)->kind))
			continue;
		value_replace_uses(m, op_result(m, o, 0), op_operand(m, o, 0), ID_NONE);
		op_erase(m, o);
	}
}

/* Everything but the new function goes, and functions that it names (of a composite op, on whole
 * values); the module says how many devices it is for. */
static status finish_module(emitter *e)
{
	module *m = e->m;
	op_erase(m, e->old_main);
	for (op_id o = m->regions.p[m->body].first, next; o != ID_NONE; o = next) {
		next = op_at(m, o)->next;
		if (op_at(m, o)->kind != OP_FUNC)
			op_erase(m, o);
	}
	forget_shardings(m);
	if (e->form == EMIT_GLOBAL)
		emit_global_shardings(e);
	named_attr *list = arena_array(&m->mem, named_attr, 2);
	bool replicas = e->form == EMIT_DEVICE;
	list[0] = (named_attr){strtab_add(&m->strs, STR("mhlo.num_partitions")),
		attr_int(m, replicas ? 1 : e->n_devices, "i32")};
	list[1] = (named_attr){strtab_add(&m->strs, STR("mhlo.num_replicas")),
		attr_int(m, replicas ? e->n_devices : 1, "i32")};
	attr dict = {.kind = ATTR_DICT, .type = ID_NONE, .n = 2, .children = list};
	m->module_attrs = attr_new(m, &dict);
	return passes_run(m, "symbol-dce", e->d);
}

/* Partial results that nothing but a reduction reads are its to sum. */
static void find_reduced(emitter *e)
{
	for (lop_id i = 0; i < e->l->ops.n; i++) {
		const lop *o = &e->l->ops.p[i];
		if (o->kind == LOP_COLLECTIVE && !o->given &&
			(o->coll == COLL_ALL_REDUCE || o->coll == COLL_REDUCE_SCATTER))
			e->reduced[e->l->operands.p[o->operands]] = true;
	}
}

static status emit_module(emitter *e)
{
	module *m = e->m;
	op_id main = op_new(m, OP_FUNC, 0, NULL, 0, NULL, 0, 1, op_at(m, e->old_main)->loc);
	func_rename(m, e->old_main, STR("main.whole"));
	e->body = e->at = op_at(m, main)->regions;
	find_reduced(e);
	if (e->l->reshards_after_forward)
		emit_find_last_uses(e);
	if (e->form == EMIT_GLOBAL)
		TRY(emit_global_open(e, main));
	for (lop_id i = 0; i < e->l->ops.n; i++)
		TRY(emit_lop(e, i));
	emit_return(e, main);
	if (e->form == EMIT_GLOBAL)
		emit_global_close(e, main);
	op_append(m, main, m->body);
	return finish_module(e);
}

static status check_devices(int64_t n, diag *d)
{
	return n <= MAX_EMITTED_DEVICES
		? ST_OK
		: diag_set(d, ST_ERR_LIMIT, "a program of one device names all devices: %lld, at most %d",
			  (long long)n, MAX_EMITTED_DEVICES);
}

status lower_check_emits(const program *p, const sharding_table *t, mesh_id mesh, diag *d)
{
	emitter e = {.p = p, .d = d};
	const func *main = module_main(p->m);
	TRY(check_devices(t->meshes.p[mesh].n_devices, d));
	if (MAX(main->n_args, main->n_results) > UINT16_MAX) /* as program_new */
		return op_error(p->m, main->op, d, ST_ERR_LIMIT,
			"%u arguments and %u results, at most %u of each can be those of a manual computation",
			main->n_args, main->n_results, UINT16_MAX);
	for (node_id id = p->main_first; id < p->main_end; id++) {
		const node *n = &p->nodes.p[id];
		if (n->kind == NODE_OP || n->kind == NODE_OPAQUE)
			TRY(emit_check_supported(&e, n));
		else if (n->kind == NODE_REGION && op_at(p->m, n->op)->n_regions &&
			!is_emitted_region(n->op_kind))
			return op_error(p->m, n->op, d, ST_ERR_UNSUPPORTED,
				"the regions of this op have no program of one device; expected while, case or if");
	}
	return ST_OK;
}

status lower_emit_mlir(const lowered *l, emit_form form, strbuf *out, diag *d)
{
	const program *p = l->p;
	if (l->level == LEVEL_COMPILED)
		return diag_set(d, ST_ERR_INVALID,
			"one device's program is written from the placed or the optimized level");
	if (!module_main(p->m))
		return diag_set(d, ST_ERR_INVALID, "expected a function main");
	const device_mesh *mesh = p->mesh == ID_NONE ? NULL : &l->shardings->meshes.p[p->mesh];
	if (form == EMIT_GLOBAL && !mesh)
		return diag_set(d, ST_ERR_INVALID,
			"a manual computation needs a mesh: expected shardings in the module");
	emitter e = {.l = l,
		.p = p,
		.form = form,
		.mesh = mesh,
		.n_devices = mesh ? mesh->n_devices : 1,
		.device = ID_NONE,
		.prologue = ID_NONE,
		.d = d};
	TRY(check_devices(e.n_devices, d));
	arena_init(&e.mem);
	index_init(&e.gathers);
	e.m = module_clone(p->m);
	e.old_main = module_main(e.m)->op;
	e.projected = arena_array(&e.mem, tensor_factors, 1);
	e.value = arena_zarray(&e.mem, value_id, l->vals.n + 1);
	e.summed = arena_zarray(&e.mem, bool, l->vals.n + 1);
	e.reduced = arena_zarray(&e.mem, bool, l->vals.n + 1);
	status st = emit_module(&e);
	if (st == ST_OK)
		module_print(e.m, &(print_options){.locations = form == EMIT_GLOBAL}, out);
	vec_release(&e.tables);
	index_release(&e.gathers);
	module_free(e.m);
	arena_release(&e.mem);
	return st;
}
