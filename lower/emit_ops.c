/* One node of the per-device program. An op runs on shards when each of its sharded dims means the same in all tensors
 * (pass-through factors) or is contracted; otherwise its operands are gathered, it runs whole, and each device keeps its
 * part: correct for every op, at the price of more communication than the placed level counts. */
#include "lower/emit.h"

op_kind emit_reduction(const module *m, op_id o)
{
	const op *op = op_at(m, o);
	if ((op->kind != OP_REDUCE && op->kind != OP_SCATTER) || !op->n_regions)
		return OP_ADD;
	op_kind found = OP_UNKNOWN;
	for (op_id b = op_region(m, o, 0)->first; b != ID_NONE; b = op_at(m, b)->next) {
		op_kind kind = (op_kind)op_at(m, b)->kind;
		if (op_infos[kind].flags & OPF_TERMINATOR)
			continue;
		if (found != OP_UNKNOWN)
			return OP_UNKNOWN;
		found = kind;
	}
	return found;
}

/* ---------------------------------------------------------------- may it run on shards? */

static bool is_sharded(const emitter *e, const lop *o, uint32_t slot)
{
	return !sharding_is_replicated(e->m->shardings, o->plan->at[slot]);
}

static bool any_sharded(const emitter *e, const lop *o, uint32_t n_slots)
{
	for (uint32_t i = 0; i < n_slots; i++)
		if (is_sharded(e, o, i))
			return true;
	return false;
}

static bool tensor_has(const rule *r, uint32_t tensor, uint32_t f)
{
	for (uint32_t d = r->tensor_first[tensor]; d < r->tensor_first[tensor + 1]; d++)
		for (uint32_t k = 0; k < r->dims[d].n; k++)
			if (r->dim_factors[r->dims[d].first + k] == f)
				return true;
	return false;
}

/* Factors that some tensor is cut along, as a mask. */
static uint64_t sharded_factors(emitter *e, const node *n, const lop *o, const rule *r)
{
	uint64_t mask = 0;
	tensor_factors *tf = arena_array(&e->mem, tensor_factors, 1);
	for (uint32_t i = 0; i < (uint32_t)n->n_operands + n->n_results; i++) {
		project_to_factors(r, i, e->m->shardings, o->plan->at[i], e->p->mesh, true, tf);
		for (uint32_t f = 0; f < r->n_factors; f++)
			if (tf->factor[f].present && (tf->factor[f].axes.n || tf->factor[f].overflow.n))
				mask |= (uint64_t)1 << f;
	}
	return mask;
}

/* A start value that does not count when every device starts with it: zero in a sum, anything where doubling is idle. */
static bool is_neutral(const emitter *e, value_id v, op_kind reduction)
{
	if (reduction == OP_MAXIMUM || reduction == OP_MINIMUM || reduction == OP_AND || reduction == OP_OR)
		return true;
	op_id def = value_def(e->m, v);
	if (reduction != OP_ADD || def == ID_NONE || (op_at(e->m, def)->kind != OP_CONSTANT && op_at(e->m, def)->kind != OP_SDY_CONSTANT))
		return false;
	attr_id a = op_attr(e->m, def, "value");
	return a != ID_NONE && (str_is(attr_get(e->m, a)->text, "0") || str_is(attr_get(e->m, a)->text, "0.000000e+00"));
}

static bool contracts_on_shards(const emitter *e, const node *n)
{
	if (n->op_kind == OP_DOT_GENERAL || n->op_kind == OP_DOT || n->op_kind == OP_CONVOLUTION)
		return true;
	if (n->op_kind != OP_REDUCE)
		return false;
	op_kind reduction = emit_reduction(e->m, n->op);
	for (uint32_t i = n->n_operands / 2; i < n->n_operands; i++)
		if (!is_neutral(e, op_operand(e->m, n->op, i), reduction))
			return false;
	return true;
}

static bool pads_only_whole_dims(const emitter *e, const node *n, const lop *o)
{
	uint32_t k;
	const int64_t *low = op_ints(e->m, n->op, "edge_padding_low", &k), *high = op_ints(e->m, n->op, "edge_padding_high", &k),
		      *inner = op_ints(e->m, n->op, "interior_padding", &k);
	const sharding *s = sharding_get(e->m->shardings, o->plan->at[0]);
	for (uint32_t d = 0; d < s->rank && low && high && inner && d < k; d++)
		if (s->dims[d].n && (low[d] || high[d] || inner[d]))
			return false;
	return low && high && inner;
}

emit_way emit_way_of(op_kind k)
{
	switch (k) {
	case OP_HLO_ALL_GATHER:
	case OP_HLO_ALL_REDUCE:
	case OP_HLO_REDUCE_SCATTER:
	case OP_HLO_ALL_TO_ALL:
	case OP_HLO_COLLECTIVE_PERMUTE:
	case OP_HLO_COLLECTIVE_BROADCAST:
	case OP_CROSS_REPLICA_SUM:
	case OP_PARTITION_ID:
	case OP_REPLICA_ID:
	case OP_CALL:
	case OP_CALL_INDIRECT:
	case OP_FUNC_CONSTANT:
	case OP_ASYNC_START:
	case OP_ASYNC_DONE:
	case OP_IF:
	case OP_TUPLE:
	case OP_GET_TUPLE_ELEMENT:
	case OP_INFEED: /* every device would take its own */
	case OP_OUTFEED:
	case OP_SEND:
	case OP_RECV:
		return EMIT_REFUSED;
	case OP_TRANSPOSE:
	case OP_BROADCAST_IN_DIM:
	case OP_RESHAPE:
	case OP_DOT:
	case OP_DOT_GENERAL:
	case OP_REDUCE:
	case OP_CONCATENATE:
	case OP_SLICE:
	case OP_REVERSE:
	case OP_SORT:
	case OP_DYNAMIC_SLICE:
	case OP_GATHER:
	case OP_CHOLESKY:
	case OP_TRIANGULAR_SOLVE:
	case OP_REDUCE_WINDOW:
	case OP_CHLO_NEXT_AFTER:
	case OP_CONVOLUTION:
	case OP_PAD:
	case OP_DYNAMIC_UPDATE_SLICE:
	case OP_SCATTER:
	case OP_CONSTANT:
	case OP_SDY_CONSTANT:
	case OP_WHILE:
	case OP_CASE:
	case OP_OPTIMIZATION_BARRIER:
	case OP_SDY_MANUAL_COMPUTATION:
	case OP_SDY_NAMED_COMPUTATION:
		return EMIT_SHARDS;
	default:
		if (op_infos[k].flags & OPF_COLLECTIVE)
			return EMIT_REFUSED;
		return op_infos[k].flags & (OPF_ELEMENTWISE | OPF_TERMINATOR | OPF_SYMBOL) ? EMIT_SHARDS : EMIT_WHOLE;
	}
}

/* What an op of a kind that can run on shards asks of its attributes. */
static bool attributes_allow_shards(const emitter *e, const node *n, const lop *o, const rule *r, uint64_t sharded)
{
	switch (n->op_kind) {
	case OP_CONVOLUTION:
		return op_int(e->m, n->op, "feature_group_count", 1) == 1 && op_int(e->m, n->op, "batch_group_count", 1) == 1;
	case OP_PAD:
		return pads_only_whole_dims(e, n, o);
	case OP_DYNAMIC_UPDATE_SLICE:
	case OP_SCATTER: /* positions are of the whole operand: what is cut must be cut in the update too */
		for (uint32_t f = 0; f < r->n_factors; f++)
			if (sharded >> f & 1 && !tensor_has(r, n->op_kind == OP_SCATTER ? n->n_operands - 1u : 1, f))
				return false;
		return true;
	default:
		return true;
	}
}

static bool runs_on_shards(emitter *e, const node *n, const lop *o)
{
	uint32_t n_slots = (uint32_t)n->n_operands + n->n_results;
	if (!any_sharded(e, o, n_slots))
		return true;
	if (n->op_kind == OP_OPTIMIZATION_BARRIER)
		return true;
	if (n->op_kind == OP_CONSTANT || n->op_kind == OP_SDY_CONSTANT) {
		attr_id a = op_attr(e->m, n->op, "value");
		return a != ID_NONE && attr_get(e->m, a)->kind == ATTR_DENSE && attr_get(e->m, a)->splat;
	}
	if (n->kind != NODE_OP || n->rule == RULE_NONE)
		return false;
	const rule *r = rule_get(e->p->rules, n->rule);
	uint64_t sharded = sharded_factors(e, n, o, r);
	for (uint32_t f = 0; f < r->n_factors; f++) {
		if (!(sharded >> f & 1) || r->factor_types[f] == FACTOR_PASS_THROUGH)
			continue;
		if (r->factor_types[f] != FACTOR_REDUCTION || !contracts_on_shards(e, n))
			return false;
	}
	return emit_way_of((op_kind)n->op_kind) == EMIT_SHARDS && attributes_allow_shards(e, n, o, r, sharded);
}

/* ---------------------------------------------------------------- copies of ops */

/* An attribute with one entry per dim of the operand: what is the whole of a sharded dim becomes the local size. */
static void localize_sizes(emitter *e, op_id o, const char *name, const type *whole, value_id operand, const sharding *s)
{
	uint32_t n;
	const int64_t *old = op_ints(e->m, o, name, &n);
	if (!old || n != s->rank)
		return;
	int64_t sizes[MAX_RANK];
	for (uint32_t d = 0; d < n; d++)
		sizes[d] = s->dims[d].n && old[d] == whole->dims[d] ? value_type(e->m, operand)->dims[d] : old[d];
	op_attr_set(e->m, o, name, attr_ints(e->m, sizes, n));
}

static op_id copy_constant(emitter *e, op_id from, type_id type)
{
	op_id o = emit_op(e, OP_CONSTANT, NULL, 0, type, 0);
	attr a = *attr_get(e->m, op_attr(e->m, from, "value"));
	a.type = type;
	op_attr_set(e->m, o, "value", attr_new(e->m, &a));
	return o;
}

/* The op on other operands with other result types. */
static op_id copy_op(emitter *e, const node *n, const value_id *operands, const type_id *types)
{
	if (n->op_kind == OP_SDY_CONSTANT || n->op_kind == OP_CONSTANT)
		return copy_constant(e, n->op, types[0]);
	op_id o = op_clone(e->m, n->op, NULL, 0);
	op_append(e->m, o, e->at);
	for (uint32_t i = 0; i < n->n_operands; i++)
		op_set_operand(e->m, o, i, operands[i]);
	for (uint32_t r = 0; r < n->n_results; r++) {
		value *v = value_get(e->m, op_result(e->m, o, r));
		v->type = types[r];
		v->sharding = SHARDING_NONE;
		v->name = 0;
	}
	op_attr_remove(e->m, o, "sdy.sharding_rule");
	return o;
}

static status check_supported(emitter *e, const node *n)
{
	if (emit_way_of((op_kind)n->op_kind) != EMIT_REFUSED)
		return ST_OK;
	if (n->op_kind == OP_CALL)
		return op_error(e->p->m, n->op, e->d, ST_ERR_UNSUPPORTED, "calls must be inlined before one device's program is written");
	return op_error(e->p->m, n->op, e->d, ST_ERR_UNSUPPORTED, "%s inside the module has no counterpart in the program of one device",
			op_infos[n->op_kind].text);
}

status emit_compute(emitter *e, const lop *o)
{
	const node *n = &e->p->nodes.p[o->node];
	TRY(check_supported(e, n));
	bool shards = runs_on_shards(e, n, o);
	value_id *operands = arena_array(&e->mem, value_id, n->n_operands);
	type_id *types = arena_array(&e->mem, type_id, n->n_results);
	for (uint32_t i = 0; i < n->n_operands; i++) {
		lval_id v = e->l->operands.p[o->operands + i];
		operands[i] = shards ? e->value[v] : emit_whole(e, e->value[v], e->l->vals.p[v].sharding);
	}
	for (uint32_t r = 0; r < n->n_results; r++) {
		const lval *v = &e->l->vals.p[o->results + r];
		types[r] = emit_local_type(e, v->type, v->sharding);
		if (types[r] == ID_NONE)
			return op_error(e->p->m, n->op, e->d, ST_ERR_UNSUPPORTED,
					"a result is not cut evenly by its sharding: expected sizes that the axes divide");
		if (!shards)
			types[r] = v->type;
	}
	op_id copy = copy_op(e, n, operands, types);
	if (shards && (n->op_kind == OP_SLICE || n->op_kind == OP_DYNAMIC_SLICE || n->op_kind == OP_GATHER))
		localize_sizes(e, copy, n->op_kind == OP_SLICE ? "limit_indices" : "slice_sizes", value_type(e->p->m, op_operand(e->p->m, n->op, 0)),
			       operands[0], sharding_get(e->m->shardings, o->plan->at[0]));
	for (uint32_t r = 0; r < n->n_results; r++) {
		lval_id v = o->results + r;
		e->value[v] = op_result(e->m, copy, r);
		if (!shards)
			e->value[v] = emit_shard(e, e->value[v], e->l->vals.p[v].sharding);
		e->summed[v] = !shards;
	}
	return ST_OK;
}
