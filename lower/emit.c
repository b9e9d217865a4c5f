/* The placed program of one device as a module: local types, StableHLO collectives over replicas. Device k of the mesh
 * (by device id) runs it as replica k with its shards as arguments and results. */
#include "lower/emit.h"

#include <stdlib.h>

enum { MAX_EMITTED_DEVICES = 4096 }; /* tables and groups name every device */

static status emit_argument(emitter *e, const lop *o, uint32_t index)
{
	const lval *v = &e->l->vals.p[o->results];
	type_id type = emit_local_type(e, v->type, v->sharding);
	const func *f = module_main(e->p->m);
	if (type == ID_NONE)
		return op_error(e->p->m, f->op, e->d, ST_ERR_UNSUPPORTED, "argument %u is not cut evenly by its sharding", index);
	value_id old = op_region(e->p->m, f->op, 0)->args + index;
	e->value[o->results] = region_add_arg(e->m, e->body, type, value_at(e->p->m, old)->loc);
	return ST_OK;
}

static lop_id region_end(const lowered *l, lop_id region)
{
	lop_id i = region + 1;
	while (!(l->ops.p[i].kind == LOP_REGION_END && l->ops.p[i].node == l->ops.p[region].node && l->ops.p[i].region == l->ops.p[region].region))
		i++;
	return i;
}

static bool is_computation(uint16_t kind) { return kind == OP_SDY_MANUAL_COMPUTATION || kind == OP_SDY_NAMED_COMPUTATION; }

static status emit_open(emitter *e, lop_id id)
{
	const lowered *l = e->l;
	const lop *o = &l->ops.p[id], *end = &l->ops.p[region_end(l, id)];
	const node *n = &e->p->nodes.p[o->node];
	if (is_computation(n->op_kind)) { /* its body is code of the caller */
		for (uint32_t i = 0; i < o->n_results && i < o->n_operands; i++)
			e->value[o->results + i] = e->value[l->operands.p[o->operands + i]];
		return ST_OK;
	}
	if (n->op_kind != OP_WHILE && n->op_kind != OP_CASE)
		return op_error(e->p->m, n->op, e->d, ST_ERR_UNSUPPORTED, "the regions of this op have no program of one device; expected while or case");
	value_id *operands = arena_array(&e->mem, value_id, o->n_operands);
	type_id *types = arena_array(&e->mem, type_id, end->n_results);
	for (uint32_t i = 0; i < o->n_operands; i++)
		operands[i] = e->value[l->operands.p[o->operands + i]];
	for (uint32_t i = 0; i < end->n_results; i++) {
		const lval *v = &l->vals.p[end->results + i];
		types[i] = emit_local_type(e, v->type, v->sharding);
		if (types[i] == ID_NONE)
			return op_error(e->p->m, n->op, e->d, ST_ERR_UNSUPPORTED, "result %u is not cut evenly by its sharding", i);
	}
	uint32_t n_regions = op_at(e->p->m, n->op)->n_regions;
	op_id made = op_new(e->m, (op_kind)n->op_kind, 0, operands, o->n_operands, types, end->n_results, n_regions, e->loc);
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
	if (e->p->nodes.p[region->node].op_kind == OP_WHILE) /* the body's arguments take over from cond's */
		for (uint32_t i = 0; i < region->n_results; i++)
			e->value[region->results + i] = e->m->regions.p[e->at].args + i;
}

static void emit_end(emitter *e, const lop *o)
{
	if (is_computation(e->p->nodes.p[o->node].op_kind)) {
		for (uint32_t i = 0; i < o->n_results && i < o->n_operands; i++)
			e->value[o->results + i] = e->value[e->l->operands.p[o->operands + i]];
		return;
	}
	emit_yield(e, o);
	e->at = op_at(e->m, e->m->regions.p[e->at].parent)->parent;
}

static status emit_lop(emitter *e, lop_id id)
{
	const lop *o = &e->l->ops.p[id];
	e->loc = o->node == ID_NONE ? 0 : op_at(e->p->m, e->p->nodes.p[o->node].op)->loc;
	switch ((lop_kind)o->kind) {
	case LOP_ARGUMENT:
		return emit_argument(e, o, id);
	case LOP_COMPUTE:
		return emit_compute(e, o);
	case LOP_COLLECTIVE: {
		lval_id v = e->l->operands.p[o->operands];
		op_id op = e->p->nodes.p[o->node].op;
		op_kind reduction = o->coll == COLL_ALL_REDUCE ? emit_reduction(e->p->m, op) : OP_ADD;
		if (reduction == OP_UNKNOWN && !e->summed[v])
			return op_error(e->p->m, op, e->d, ST_ERR_UNSUPPORTED, "partial results of this op cannot be combined by one op");
		bool done = o->coll == COLL_ALL_REDUCE && e->summed[v];
		e->value[o->results] = done ? e->value[v] : emit_collective(e, o->step, e->value[v], reduction);
		return ST_OK;
	}
	case LOP_REGION:
		return emit_open(e, id);
	case LOP_REGION_ELSE:
		emit_else(e, o);
		return ST_OK;
	case LOP_REGION_END:
		emit_end(e, o);
		return ST_OK;
	case LOP_RETURN:
		break;
	}
	return ST_OK;
}

static void emit_return(emitter *e, op_id main)
{
	const lop *o = &e->l->ops.p[e->l->ops.n - 1];
	value_id *values = arena_array(&e->mem, value_id, o->n_operands);
	type_id *types = arena_array(&e->mem, type_id, o->n_operands);
	for (uint32_t i = 0; i < o->n_operands; i++) {
		values[i] = e->value[e->l->operands.p[o->operands + i]];
		types[i] = value_at(e->m, values[i])->type;
	}
	op_append(e->m, op_new(e->m, OP_FUNC_RETURN, 0, values, o->n_operands, NULL, 0, 0, 0), e->body);
	func_add(e->m, main, STR("main"), types, o->n_operands);
}

/* Everything but the new function goes; the module says how many replicas it is for. */
static void finish_module(emitter *e, op_id main)
{
	module *m = e->m;
	for (op_id o = m->regions.p[m->body].first, next; o != ID_NONE; o = next) {
		next = op_at(m, o)->next;
		if (o != main)
			op_erase(m, o);
	}
	named_attr *list = arena_array(&m->mem, named_attr, 2);
	list[0] = (named_attr){strtab_add(&m->strs, STR("mhlo.num_partitions")), attr_int(m, 1, "i32")};
	list[1] = (named_attr){strtab_add(&m->strs, STR("mhlo.num_replicas")), attr_int(m, e->n_devices, "i32")};
	attr dict = {.kind = ATTR_DICT, .type = ID_NONE, .n = 2, .children = list};
	m->module_attrs = attr_new(m, &dict);
}

static status emit_module(emitter *e)
{
	module *m = e->m;
	op_id old = module_main(m)->op, main = op_new(m, OP_FUNC, 0, NULL, 0, NULL, 0, 1, op_at(m, old)->loc);
	func_rename(m, old, STR("main.whole"));
	e->body = e->at = op_at(m, main)->regions;
	for (lop_id i = 0; i < e->l->ops.n; i++)
		TRY(emit_lop(e, i));
	emit_return(e, main);
	op_append(m, main, m->body);
	finish_module(e, main);
	return ST_OK;
}

status lower_emit_mlir(const lowered *placed, strbuf *out, diag *d)
{
	const program *p = placed->p;
	if (placed->level != LEVEL_PLACED)
		return diag_set(d, ST_ERR_INVALID, "one device's program is written from the placed level");
	if (!module_main(p->m))
		return diag_set(d, ST_ERR_INVALID, "expected a function main");
	const mesh *mesh = p->mesh == ID_NONE ? NULL : &placed->shardings->meshes.p[p->mesh];
	emitter e = {.l = placed, .p = p, .mesh = mesh, .n_devices = mesh ? mesh->n_devices : 1, .device = ID_NONE, .d = d};
	if (e.n_devices > MAX_EMITTED_DEVICES)
		return diag_set(d, ST_ERR_LIMIT, "a program of one device names all devices: %lld, at most %d", (long long)e.n_devices, MAX_EMITTED_DEVICES);
	arena_init(&e.mem);
	e.m = module_clone(p->m);
	e.value = arena_zarray(&e.mem, value_id, placed->vals.n + 1);
	e.summed = arena_zarray(&e.mem, bool, placed->vals.n + 1);
	status st = emit_module(&e);
	if (st == ST_OK)
		module_print(e.m, &(print_options){.locations = false}, out);
	module_free(e.m);
	arena_release(&e.mem);
	return st;
}
