/* One node of the per-device program. An op runs on shards when each of its sharded dims means the
 * same in all tensors (pass-through factors) or is contracted; otherwise its operands are gathered,
 * it runs whole, and each device keeps its part: correct for every op, at the price of more
 * communication than the placed level counts. */
#include "lower/emit.h"

op_kind emit_body_op(const module *m, const ir_region *body)
{
	op_id end = body->empty ? ID_NONE : body->last;
	if (end == ID_NONE || body->n_args != 2 || op_at(m, end)->n_operands != 1)
		return OP_UNKNOWN;
	op_id def = value_def(m, op_operand(m, end, 0));
	if (def == ID_NONE || op_at(m, def)->n_operands != 2)
		return OP_UNKNOWN;
	value_id a = op_operand(m, def, 0), b = op_operand(m, def, 1), old = body->args,
			 new = body->args + 1;
	return (a == old && b == new) || (a == new &&b == old) ? (op_kind)op_at(m, def)->kind
														   : OP_UNKNOWN;
}

op_kind emit_reduction(const module *m, op_id o)
{
	const ir_op *op = op_at(m, o);
	return (op->kind == OP_REDUCE || op->kind == OP_SCATTER) && op->n_regions
		? emit_body_op(m, op_region(m, o, 0))
		: OP_ADD;
}

/* ---------------------------------------------------------------- may it run on shards? */

static uint32_t n_slots(const node *n) { return (uint32_t)n->n_operands + n->n_results; }

static bool any_sharded(const emitter *e, const node *n, const lop *o)
{
	for (uint32_t i = 0; i < n_slots(n); i++)
		if (!sharding_is_replicated(e->m->shardings, o->plan->at[i]))
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

/* The dim of a tensor is one factor, in full. */
static bool is_one_factor(const rule *r, uint32_t tensor, uint32_t d, const ir_type *t)
{
	const struct rule_dim *dim = &r->dims[r->tensor_first[tensor] + d];
	return dim->n == 1 && r->factor_sizes[r->dim_factors[dim->first]] == t->dims[d];
}

const ir_type *emit_slot_type(const emitter *e, const node *n, uint32_t slot)
{
	return pval_type(e->p, e->p->slots.p[n->slots + slot]);
}

static void mark_dims(
	const emitter *e, const node *n, const lop *o, const rule *r, uint32_t slot, cut_factors *c)
{
	const ir_type *t = emit_slot_type(e, n, slot);
	const sharding *s = sharding_get(e->m->shardings, o->plan->at[slot]);
	for (uint32_t d = 0; s->rank == t->rank && d < t->rank; d++) {
		const struct rule_dim *dim = &r->dims[r->tensor_first[slot] + d];
		if (emit_is_in_space(e, n, slot, d))
			continue;
		c->odd |= !dim->n && s->dims[d].n;
		bool uneven = t->dims[d] % sharding_dim_parts(s, d) != 0,
			 simple = is_one_factor(r, slot, d, t);
		for (uint32_t k = 0; k < dim->n; k++) {
			uint64_t bit = (uint64_t)1 << r->dim_factors[dim->first + k];
			c->uneven |= uneven ? bit : 0;
			c->unlike |= uneven && !simple ? bit : 0;
		}
	}
}

static cut_factors *find_cut_factors(emitter *e, const node *n, const lop *o, const rule *r)
{
	cut_factors *c = arena_zarray(&e->mem, cut_factors, 1);
	tensor_factors *tf = e->projected;
	uint64_t seen = 0;
	for (uint32_t i = 0; i < n_slots(n); i++) {
		project_to_factors(r, i, e->m->shardings, o->plan->at[i], e->p->mesh, true, tf);
		for (uint32_t f = 0; f < r->n_factors; f++) {
			const factor_sharding *x = &tf->factor[f];
			uint64_t bit = (uint64_t)1 << f;
			if (!x->present)
				continue;
			if (!(seen & bit)) {
				axis_ref *list = arena_array(&e->mem, axis_ref, x->axes.n);
				memcpy(list, x->axes.a, x->axes.n * sizeof *list);
				c->axes[f] = (axes){list, x->axes.n};
			}
			seen |= bit;
			c->cut |= x->axes.n || x->overflow.n ? bit : 0;
			c->unlike |= x->overflow.n || !axes_equal(c->axes[f], axes_of(&x->axes)) ? bit : 0;
		}
		mark_dims(e, n, o, r, i, c);
	}
	return c;
}

/* What the devices start with (the start values of a reduction, what a scatter adds to) may count
 * more than once. */
bool emit_is_idempotent(op_kind k)
{
	return k == OP_MAXIMUM || k == OP_MINIMUM || k == OP_AND || k == OP_OR;
}

bool emit_is_number(const emitter *e, value_id v, double number)
{
	op_id def = value_def(e->m, v);
	if (def == ID_NONE ||
		(op_at(e->m, def)->kind != OP_CONSTANT && op_at(e->m, def)->kind != OP_SDY_CONSTANT))
		return false;
	attr_id a = op_attr(e->m, def, "value");
	str text = a == ID_NONE ? STR("") : attr_get(e->m, a)->text;
	char digits[32], *end;
	if (!text.n || text.n >= sizeof digits)
		return false;
	memcpy(digits, text.p, text.n);
	digits[text.n] = 0;
	return strtod(digits, &end) == number && end == digits + text.n && !strpbrk(digits, "xX");
}

bool emit_is_zero(const emitter *e, value_id v) { return emit_is_number(e, v, 0); }

/* The input features of a convolution are contracted like any dim; its windows read what other
 * devices have. */
static bool is_kernel_input(const emitter *e, const node *n, const rule *r, uint32_t f)
{
	int64_t d = op_int(e->m, n->op, "dimension_numbers.kernel_input_feature_dimension", -1);
	if (d < 0)
		return false;
	const struct rule_dim *dim = &r->dims[r->tensor_first[1] + d];
	return dim->n == 1 && r->dim_factors[dim->first] == f;
}

/* XLA for CPU and GPU has sums, products, maxima and minima over devices, and of bits alone their
 * and and or. */
static bool is_over_devices(op_kind k, elem of)
{
	return of == ELEM_I1 ? k == OP_AND || k == OP_OR
						 : k == OP_ADD || k == OP_MAXIMUM || k == OP_MINIMUM;
}

static bool contracts_on_shards(
	const emitter *e, const node *n, const rule *r, uint32_t f, bool uneven)
{
	op_kind reduction = emit_reduction(e->m, n->op);
	type_id type = e->p->vals.p[e->p->slots.p[n->slots]].type;
	bool starts = is_over_devices(reduction, (elem)type_get(e->m, type)->elem) &&
		(emit_is_idempotent(reduction) || emit_has_zero(e, type));
	switch (n->op_kind) {
	case OP_DOT_GENERAL:
	case OP_DOT: return true;
	case OP_CONVOLUTION: return is_kernel_input(e, n, r, f);
	case OP_GATHER:
		return emit_indexes(e, n, r, f) &&
			emit_has_zero(e, e->p->vals.p[e->p->slots.p[n->slots]].type);
	case OP_SCATTER: /* padding of indices would be scattered too */ return !uneven && starts;
	case OP_REDUCE: return starts;
	default: return false;
	}
}

static bool pads_only_whole_dims(const emitter *e, const node *n, const lop *o)
{
	uint32_t k;
	const int64_t *low = op_ints(e->m, n->op, "edge_padding_low", &k),
				  *high = op_ints(e->m, n->op, "edge_padding_high", &k),
				  *inner = op_ints(e->m, n->op, "interior_padding", &k);
	const sharding *s = sharding_get(e->m->shardings, o->plan->at[0]);
	for (uint32_t d = 0; d < s->rank && low && high && inner && d < k; d++)
		if (s->dims[d].n && (low[d] || high[d] || inner[d]))
			return false;
	return low && high && inner;
}

/* One row per word of the emit column of ops.def: the way, and why it is refused. */
/* clang-format off */
#define EMIT_WORDS(X) \
	X(shards, EMIT_SHARDS, NULL) X(whole, EMIT_WHOLE, NULL) X(manual, EMIT_MANUAL, NULL) \
	X(inlined, EMIT_INLINED, NULL) \
	X(by_reference, EMIT_REFUSED, "calls by reference are not inlined") \
	X(asynchronous, EMIT_REFUSED, "an asynchronous collective is already placed") \
	X(replica, EMIT_REFUSED, "the module has no replicas of its own") \
	X(tuple, EMIT_REFUSED, "tuples are not planned") \
	X(host, EMIT_REFUSED, "every device would talk to the host") \
	X(placed, EMIT_REFUSED, "the collective is already placed")
/* clang-format on */
enum {
#define X(word, way, why) WORD_##word,
	EMIT_WORDS(X)
#undef X
};
static const struct {
	emit_way way;
	const char *refusal;
} emit_words[] = {
#define X(word, way, why) [WORD_##word] = {way, why},
	EMIT_WORDS(X)
#undef X
};
static const uint8_t word_of[OP_COUNT] = {
#define OP(id, text, form, in, out, regions, check, rule, cost, emit, flags) \
	[OP_##id] = WORD_##emit,
#include "ir/ops.def"
#undef OP
};

const char *emit_refusal(op_kind k) { return emit_words[word_of[k]].refusal; }
emit_way emit_way_of(op_kind k) { return emit_words[word_of[k]].way; }

/* What operands are cut along, all results are, and the other way round; only a broadcast makes
 * something new. */
static bool passes_through(const node *n, const rule *r, uint32_t f)
{
	bool taken = n->op_kind == OP_BROADCAST_IN_DIM;
	for (uint32_t i = 0; i < n->n_operands; i++)
		taken |= tensor_has(r, i, f);
	for (uint32_t i = n->n_operands; i < n_slots(n); i++)
		if (!tensor_has(r, i, f))
			return false;
	return taken;
}

/* What an op of a kind that can run on shards asks of its attributes. */
static bool attributes_allow_shards(
	const emitter *e, const node *n, const lop *o, const rule *r, uint64_t cut)
{
	switch (n->op_kind) {
	case OP_PAD: return pads_only_whole_dims(e, n, o);
	case OP_CHLO_TOP_K: /* all of a dim's elements: the rule lets that dim through, the op does not
	                     */
		return !sharding_get(e->m->shardings, o->plan->at[0])
					->dims[emit_slot_type(e, n, 0)->rank - 1]
					.n;
	case OP_DYNAMIC_UPDATE_SLICE:
	case OP_SCATTER: /* positions are of the whole operand: what is cut must be cut in the update
	                    too, or indexed */
		for (uint32_t f = 0; f < r->n_factors; f++)
			if (cut >> f & 1 &&
				!tensor_has(r, n->op_kind == OP_SCATTER ? n->n_operands - 1u : 1, f) &&
				!emit_indexes(e, n, r, f))
				return false;
		return true;
	default: return true;
	}
}

/* Padding of operands gives nothing but padding of results, or is masked where it is contracted. */
static bool factors_allow_shards(emitter *e, const node *n, const rule *r, const cut_factors *c)
{
	for (uint32_t f = 0; f < r->n_factors; f++) {
		uint64_t bit = (uint64_t)1 << f;
		if (!(c->cut & bit))
			continue;
		bool passes = r->factor_types[f] == FACTOR_PASS_THROUGH && passes_through(n, r, f),
			 contracts = r->factor_types[f] == FACTOR_REDUCTION &&
			contracts_on_shards(e, n, r, f, c->uneven & bit);
		if ((c->unlike & bit) || (!passes && !contracts))
			return false;
	}
	return !c->odd;
}

static bool can_run_on_shards(op_kind k)
{
	return emit_way_of(k) == EMIT_SHARDS || emit_way_of(k) == EMIT_MANUAL;
}

/* cut: the factors of an op that has a rule and runs on shards of its tensors; else NULL. */
static bool runs_on_shards(emitter *e, const node *n, const lop *o, const cut_factors **cut)
{
	*cut = NULL;
	if (!any_sharded(e, n, o) || n->op_kind == OP_OPTIMIZATION_BARRIER ||
		emit_takes_candidates(e, n, o))
		return true;
	if (n->op_kind == OP_CONSTANT || n->op_kind == OP_SDY_CONSTANT) {
		attr_id a = op_attr(e->m, n->op, "value");
		return a != ID_NONE && attr_get(e->m, a)->kind == ATTR_DENSE && attr_get(e->m, a)->splat;
	}
	if (n->kind != NODE_OP || n->rule == RULE_NONE || !can_run_on_shards((op_kind)n->op_kind))
		return false;
	const rule *r = rule_get(e->p->rules, n->rule);
	cut_factors *c = find_cut_factors(e, n, o, r);
	if (n->op_kind == OP_CONVOLUTION && !emit_convolution_fits(e, n, o, r, c))
		return false;
	if (!factors_allow_shards(e, n, r, c) || !attributes_allow_shards(e, n, o, r, c->cut))
		return false;
	*cut = c;
	return true;
}

/* Nothing is written here: the module is only read. */
bool emit_runs_on_parts(const program *p, sharding_table *t, node_id id, const node_plan *plan)
{
	module view = *p->m;
	view.shardings = t;
	const device_mesh *mesh = p->mesh == ID_NONE ? NULL : &t->meshes.p[p->mesh];
	tensor_factors room;
	emitter e = {.p = p,
		.m = &view,
		.mesh = mesh,
		.n_devices = mesh ? mesh->n_devices : 1,
		.projected = &room};
	arena_init(&e.mem);
	const lop o = {.kind = LOP_COMPUTE, .node = id, .plan = plan};
	const node *n = &p->nodes.p[id];
	const cut_factors *cut;
	bool runs = runs_on_shards(&e, n, &o, &cut) || emit_may_move(&e, n, &o);
	arena_release(&e.mem);
	return runs;
}

bool emit_alike(const program *p, const node *a, const node *b)
{
	if (a->elementwise && b->elementwise)
		return true;
	const ir_op *x = op_at(p->m, a->op), *y = op_at(p->m, b->op);
	if (a->op_kind != b->op_kind || x->n_regions != y->n_regions ||
		!attrs_equal(p->m, a->op, b->op))
		return false;
	for (uint32_t r = 0; r < x->n_regions; r++)
		if (emit_body_op(p->m, op_region(p->m, a->op, r)) !=
			emit_body_op(p->m, op_region(p->m, b->op, r)))
			return false;
	return true;
}

/* ---------------------------------------------------------------- operands */

static bool is_indexed(const emitter *e, const node *n, const cut_factors *c)
{
	const rule *r = rule_get(e->p->rules, n->rule);
	for (uint32_t f = 0; f < r->n_factors; f++)
		if (c->cut >> f & 1 && emit_indexes(e, n, r, f))
			return true;
	return false;
}

/* Where a contracted dim has padding, what does not count: zeros, or the start value of a maximum
 * and the like. */
static value_id masked_operand(
	emitter *e, const node *n, uint32_t slot, value_id v, value_id fill, const cut_factors *c)
{
	const rule *r = rule_get(e->p->rules, n->rule);
	const ir_type *t = emit_slot_type(e, n, slot);
	for (uint32_t d = 0; d < t->rank; d++) {
		const struct rule_dim *dim = &r->dims[r->tensor_first[slot] + d];
		uint32_t f = dim->n ? r->dim_factors[dim->first] : 0;
		if (dim->n && c->uneven >> f & 1 && r->factor_types[f] == FACTOR_REDUCTION)
			v = emit_masked(e, v, d, c->axes[f], t->dims[d], fill);
	}
	return v;
}

static void contracted_axes(const rule *r, const cut_factors *c, axes_buf *out)
{
	for (uint32_t f = 0; f < r->n_factors; f++)
		for (uint32_t i = 0; r->factor_types[f] == FACTOR_REDUCTION && i < c->axes[f].n; i++)
			out->a[out->n++] = c->axes[f].a[i];
}

/* Of what the partial results of a sum start with, all but one device's would count too often. A
 * scatter starts from its operand. A compiler may take the start value of a reduction as often as
 * it likes, zero times too: what comes back is to be added to the reduction of a device, which
 * itself starts from zero; ID_NONE: nothing. */
static value_id start_once(emitter *e, const node *n, value_id *operands, const cut_factors *c)
{
	axes_buf l = {.n = 0};
	contracted_axes(rule_get(e->p->rules, n->rule), c, &l);
	if (!l.n || (n->op_kind != OP_REDUCE && n->op_kind != OP_SCATTER) ||
		emit_reduction(e->m, n->op) != OP_ADD)
		return ID_NONE;
	uint32_t at = n->op_kind == OP_REDUCE ? 1 : 0; /* a reduction by one op has one operand */
	if (emit_is_zero(e, op_operand(e->m, n->op, at)))
		return ID_NONE;
	value_id start = emit_summand(e, operands[at], axes_of(&l));
	operands[at] = at ? emit_scalar_zero(e, start) : start;
	return at ? start : ID_NONE;
}

static value_id added_to_all(emitter *e, value_id v, value_id scalar)
{
	const ir_type t = *value_type(e->m, v);
	const value_id pair[2] = {v, emit_broadcast(e, scalar, NULL, 0, &t)};
	return op_result(e->m, emit_op(e, OP_ADD, pair, 2, value_at(e->m, v)->type, 0), 0);
}

/* Unreduced axes of a result that neither its operands nor a contraction bring: there every device
 * has the sum. */
static void missing_axes(
	emitter *e, const node *n, const lop *o, uint32_t result, const cut_factors *c, axes_buf *out)
{
	axes_buf have = {.n = 0};
	if (c)
		contracted_axes(rule_get(e->p->rules, n->rule), c, &have);
	for (uint32_t i = 0; i < n->n_operands; i++) {
		axes l = sharding_unreduced(sharding_get(e->m->shardings, o->plan->at[i]));
		for (uint32_t k = 0; k < l.n; k++)
			have.a[have.n++] = l.a[k];
	}
	axes_difference(sharding_unreduced(sharding_get(e->m->shardings, result)), axes_of(&have), out);
}

/* ---------------------------------------------------------------- copies of ops */

/* An attribute with one entry per dim of the operand: what is the whole of a sharded dim becomes
 * the local size. */
static void localize_sizes(emitter *e, op_id o, const char *name, const ir_type *whole,
	value_id operand, const sharding *s)
{
	uint32_t n;
	const int64_t *old = op_ints(e->m, o, name, &n);
	if (!old || n != s->rank)
		return;
	int64_t sizes[MAX_RANK];
	for (uint32_t d = 0; d < n; d++)
		sizes[d] =
			s->dims[d].n && old[d] == whole->dims[d] ? value_type(e->m, operand)->dims[d] : old[d];
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

/* Constants that the body of a comparator or a reduction has are outside of it by now; its copy
 * gets its own. Values below `first` are from outside of the copy. */
static void give_constants(emitter *e, op_id copy, value_id first)
{
	module *m = e->m;
	for (op_id o = op_walk_next(m, copy, copy); o != ID_NONE; o = op_walk_next(m, copy, o))
		for (uint32_t i = 0; i < op_at(m, o)->n_operands; i++) {
			value_id v = op_operand(m, o, i);
			if (v >= first)
				continue;
			op_id own = op_clone(m, value_def(m, v), NULL, 0);
			if (op_at(m, own)->kind == OP_SDY_CONSTANT) {
				op_get(m, own)->kind = OP_CONSTANT;
				op_get(m, own)->name = OP_CONSTANT;
			}
			op_insert_before(m, own, o);
			op_set_operand(m, o, i, op_result(m, own, 0));
		}
}

/* A value from outside that a region of the op reads and that is no constant; ID_NONE: none. */
static value_id read_by_regions(const module *m, op_id o)
{
	for (op_id at = op_walk_next(m, o, o); at != ID_NONE; at = op_walk_next(m, o, at))
		for (uint32_t i = 0; i < op_at(m, at)->n_operands; i++) {
			value_id v = op_operand(m, at, i);
			op_id def = value_def(m, v),
				  around = def != ID_NONE ? def : m->regions.p[value_at(m, v)->def].parent;
			while (around != ID_NONE && around != o)
				around = op_parent(m, around);
			if (around == ID_NONE &&
				(def == ID_NONE || op_at(m, def)->n_operands || op_at(m, def)->n_regions ||
					op_at(m, def)->n_results != 1))
				return v;
		}
	return ID_NONE;
}

op_id emit_copy_op(emitter *e, const node *n, const value_id *operands, const type_id *types)
{
	if (n->op_kind == OP_SDY_CONSTANT || n->op_kind == OP_CONSTANT)
		return copy_constant(e, n->op, types[0]);
	value_id first = e->m->values.n;
	op_id o = op_clone(e->m, n->op, NULL, 0);
	op_append(e->m, o, e->at);
	if (op_at(e->m, o)->n_regions)
		give_constants(e, o, first);
	for (uint32_t i = 0; i < n->n_operands; i++)
		op_set_operand(e->m, o, i, operands[i]);
	for (uint32_t r = 0; r < n->n_results; r++) {
		ir_value *v = value_get(e->m, op_result(e->m, o, r));
		v->type = types[r];
		v->sharding = SHARDING_NONE;
		v->name = 0;
	}
	op_attr_remove(e->m, o, "sdy.sharding_rule");
	if (e->form == EMIT_DEVICE) { /* devices are replicas here, with the numbers that they have as
		                             partitions */
		op_attr_remove(e->m, o, "channel_handle");
		op_attr_remove(e->m, o, "use_global_device_ids");
	}
	return o;
}

static bool in_manual_computation(const emitter *e, const node *n)
{
	for (node_id p = n->parent; p != ID_NONE; p = e->p->nodes.p[p].parent)
		if (e->p->nodes.p[p].op_kind == OP_SDY_MANUAL_COMPUTATION)
			return true;
	return false;
}

status emit_check_supported(emitter *e, const node *n)
{
	op_kind k = (op_kind)n->op_kind;
	emit_way way = emit_way_of(k);
	if (way == EMIT_MANUAL && !in_manual_computation(e, n))
		return op_error(e->p->m, n->op, e->d, ST_ERR_UNSUPPORTED,
			"%s names devices: expected it in a manual computation", op_infos[k].text);
	attr_id effect = k == OP_CUSTOM_CALL && !in_manual_computation(e, n)
		? op_attr(e->p->m, n->op, "has_side_effect")
		: ID_NONE;
	if (effect != ID_NONE && attr_get(e->p->m, effect)->i)
		return op_error(e->p->m, n->op, e->d, ST_ERR_UNSUPPORTED,
			"a call with a side effect, such as jax.debug.print, would be made on every device");
	if (way == EMIT_INLINED)
		return op_error(e->p->m, n->op, e->d, ST_ERR_UNSUPPORTED,
			"calls must be inlined before one device's program is written");
	if (way == EMIT_REFUSED)
		return op_error(e->p->m, n->op, e->d, ST_ERR_UNSUPPORTED,
			"%s has no counterpart in the program of one device: %s", op_infos[k].text,
			emit_refusal(k));
	if ((n->kind == NODE_OP || n->kind == NODE_OPAQUE) && op_at(e->p->m, n->op)->n_regions &&
		read_by_regions(e->p->m, n->op) != ID_NONE)
		return op_error(e->p->m, n->op, e->d, ST_ERR_UNSUPPORTED,
			"the body of %s reads a value from outside: expected its own arguments and constants",
			op_infos[k].text);
	return ST_OK;
}

/* What the results of an op on parts still need; ID_NONE: nothing. */
typedef struct afterwards {
	value_id inside; /* of a gather: where its indices are the device's own */
	value_id start;  /* of a sum: a scalar to add */
} afterwards;

static afterwards take_operands(
	emitter *e, const node *n, const lop *o, bool shards, const cut_factors *c, value_id *out)
{
	for (uint32_t i = 0; i < n->n_operands; i++) {
		lval_id v = e->l->operands.p[o->operands + i];
		const lval *x = &e->l->vals.p[v];
		out[i] = shards ? e->value[v] : emit_whole(e, e->value[v], x->type, x->sharding);
	}
	uint32_t n_inputs = n->op_kind == OP_REDUCE ? n->n_operands / 2u : n->n_operands;
	bool starts = n->op_kind == OP_REDUCE && emit_is_idempotent(emit_reduction(e->m, n->op));
	for (uint32_t i = 0; c && c->uneven && n->op_kind != OP_GATHER && i < n_inputs; i++)
		out[i] = masked_operand(e, n, i, out[i], starts ? out[n_inputs + i] : ID_NONE, c);
	afterwards then = {ID_NONE, c ? start_once(e, n, out, c) : ID_NONE};
	if (c && is_indexed(e, n, c)) {
		uint32_t at = n->op_kind == OP_GATHER ? 1 : n->n_results;
		out[at] = emit_local_indices(e, n, o, out[at], &then.inside);
	}
	return then;
}

/* On whole operands every device has all of the sum already, where the plan has partial results. */
static value_id take_whole(emitter *e, const lop *o, lval_id v)
{
	value_id part = emit_shard(e, e->value[v], e->l->vals.p[v].sharding);
	bool partial = o->plan && o->plan->reduce.n;
	e->summed[v] = partial && e->reduced[v];
	return partial && !e->reduced[v] ? emit_summand(e, part, o->plan->reduce) : part;
}

static void take_results(emitter *e, const node *n, const lop *o, bool shards, const cut_factors *c,
	const afterwards *then, op_id made)
{
	for (uint32_t r = 0; r < n->n_results; r++) {
		lval_id v = o->results + r;
		sharding_id sh = e->l->vals.p[v].sharding;
		axes_buf missing = {.n = 0};
		e->value[v] = op_result(e->m, made, r);
		if (then->inside != ID_NONE)
			e->value[v] = emit_gathered_inside(e, n, e->value[v], then->inside);
		if (then->start != ID_NONE)
			e->value[v] = added_to_all(e, e->value[v], then->start);
		if (!shards)
			e->value[v] = take_whole(e, o, v);
		else if (sharding_get(e->m->shardings, sh)->n_unreduced)
			missing_axes(e, n, o, sh, c, &missing);
		if (missing.n)
			e->value[v] = emit_summand(e, e->value[v], axes_of(&missing));
	}
}

status emit_compute(emitter *e, const lop *o)
{
	const node *n = &e->p->nodes.p[o->node];
	const cut_factors *cut;
	TRY(emit_check_supported(e, n));
	if (n->op_kind == OP_PARTITION_ID) {
		e->value[o->results] = emit_device_id(e);
		return ST_OK;
	}
	if (emit_takes_candidates(e, n, o)) {
		emit_top_k(e, n, o);
		return ST_OK;
	}
	bool shards = runs_on_shards(e, n, o, &cut);
	if (!shards && emit_moved(e, n, o))
		return ST_OK;
	value_id *operands = arena_array(&e->mem, value_id, n->n_operands);
	type_id *types = arena_array(&e->mem, type_id, n->n_results);
	afterwards then = take_operands(e, n, o, shards, cut, operands);
	for (uint32_t r = 0; r < n->n_results; r++) {
		const lval *v = &e->l->vals.p[o->results + r];
		types[r] = shards ? emit_local_type(e, v->type, v->sharding) : v->type;
	}
	bool convolved = cut && n->op_kind == OP_CONVOLUTION;
	op_id copy = convolved         ? emit_convolution(e, n, o, cut, operands, types[0])
		: n->op_kind == OP_SCATTER ? emit_plain_scatter(e, n, operands, types)
								   : emit_copy_op(e, n, operands, types);
	if (shards &&
		(n->op_kind == OP_SLICE || n->op_kind == OP_DYNAMIC_SLICE || n->op_kind == OP_GATHER))
		localize_sizes(e, copy, n->op_kind == OP_SLICE ? "limit_indices" : "slice_sizes",
			value_type(e->p->m, op_operand(e->p->m, n->op, 0)), operands[0],
			sharding_get(e->m->shardings, o->plan->at[0]));
	take_results(e, n, o, shards, cut, &then, copy);
	return ST_OK;
}
