/* Ops that are part of the one op that reads them (lower/nest.c). They are classified as if they
 * stood in front of it; what fusion decides for it holds for them: an elementwise op with one
 * elementwise reader is always in its reader's kernels, but for a few that are not made again where
 * their reader is. Those are found here, for the program to be lowered without. */
#include "simulator/state.h"

/* ---------------------------------------------------------------- which nodes, once */

/* Region arguments need not be sharded as their own value is (add_region_args). */
static bool reads_plainly(const program *p, const node *n)
{
	for (uint32_t i = 0; i < n->n_operands; i++) {
		node_id def = p->vals.p[node_slots(p, n)[i]].def;
		if (def != ID_NONE && p->nodes.p[def].kind != NODE_OP &&
			p->nodes.p[def].kind != NODE_OPAQUE)
			return false;
	}
	return true;
}

/* Of CLASS_ELEMENTWISE whatever the shardings are, and its operands are not treated each in its own
 * way. */
static bool is_elementwise(const program *p, const sharding_table *t, const node *n)
{
	enum { MOST_OPERANDS = 8 };
	if ((n->kind != NODE_OP && n->op_kind != OP_IOTA) || n->n_results != 1 ||
		n->n_operands > MOST_OPERANDS || !n->pure || n->dead || !reads_plainly(p, n) ||
		!(n->elementwise || n->op_kind == OP_BROADCAST_IN_DIM || n->op_kind == OP_TRANSPOSE ||
			n->op_kind == OP_IOTA))
		return false;
	sharding_id at[MOST_OPERANDS + 1];
	for (uint32_t i = 0; i <= n->n_operands; i++)
		at[i] = SHARDING_NONE;
	op_work w;
	op_work_of(p, t, n, at, &w);
	return w.fusible && !w.slice_bytes && !w.matmul_flops && !w.in_place;
}

static bool spreads_constant(const program *p, const node *n)
{
	node_id def = n->op_kind == OP_BROADCAST_IN_DIM ? p->vals.p[node_slots(p, n)[0]].def : ID_NONE;
	return def != ID_NONE && is_splat(p->m, &p->nodes.p[def]);
}

/* Broadcasts of scalars are made again where they are wanted otherwise. */
static bool spreads_scalar(const program *p, const node *n)
{
	return n->op_kind == OP_BROADCAST_IN_DIM && !pval_type(p, node_slots(p, n)[0])->rank;
}

bool spreads_number(const program *p, const node *n)
{
	return spreads_scalar(p, n) && !spreads_constant(p, n);
}

/* The elementwise op of the same region that alone reads what n makes; ID_NONE. */
static node_id reader_of(const program *p, const sharding_table *t, const node *n)
{
	const pval *v = &p->vals.p[node_slots(p, n)[n->n_operands]];
	if (v->n_uses != 1 || v->result_index >= 0)
		return ID_NONE;
	node_id reader = p->slot_node.p[p->uses.p[v->uses]];
	const node *r = &p->nodes.p[reader];
	return r->parent == n->parent && r->region == n->region && !spreads_scalar(p, r) &&
			is_elementwise(p, t, r)
		? reader
		: ID_NONE;
}

/* One number, or what is made of such. ways: of the nodes in front of n. */
static bool reads_constants(const program *p, const node *n, const uint8_t *ways)
{
	for (uint32_t i = 0; i < n->n_operands; i++) {
		node_id def = p->vals.p[node_slots(p, n)[i]].def;
		if (def == ID_NONE ||
			!(is_splat(p->m, &p->nodes.p[def]) || ways[def] == NEST_DROPPED ||
				ways[def] == NEST_ANYWHERE))
			return false;
	}
	return true;
}

/* Something else than constants. */
static bool reads_values(const program *p, const node *n)
{
	for (uint32_t i = 0; i < n->n_operands; i++) {
		node_id def = p->vals.p[node_slots(p, n)[i]].def;
		if (def == ID_NONE || !spreads_constant(p, &p->nodes.p[def]))
			return true;
	}
	return false;
}

void simulator_nesting(
	const program *p, const sharding_table *t, lower_target target, uint8_t *ways)
{
	memset(ways, NEST_NOT, p->nodes.n);
	if (target == TARGET_CPU) /* values that are not arguments are larger there */
		return;
	for (node_id id = p->main_first; id < p->main_end; id++) {
		const node *n = &p->nodes.p[id];
		if (n->dead) {
			id = n->end - 1;
			continue;
		}
		if (is_constant(n)) {
			ways[id] = NEST_CONSTANT;
			continue;
		}
		bool kept = target == TARGET_GPU && op_infos[n->op_kind].flags & OPF_KEPT;
		node_id reader = is_elementwise(p, t, n) && !kept ? reader_of(p, t, n) : ID_NONE;
		if (reader != ID_NONE)
			ways[id] = spreads_constant(p, n) && reads_values(p, &p->nodes.p[reader]) ? NEST_DROPPED
				: reads_constants(p, n, ways) ? NEST_ANYWHERE
											  : NEST_INSIDE;
	}
}

/* ---------------------------------------------------------------- in every program */

/* The facts of what is nested in a node that depend on no other op. */
static void learn(simulator *s, const lop *o)
{
	const program *p = s->p;
	const nest *n = o->nest;
	nest_last *last = &s->nest_last[o->node];
	if (last->room < n->n_ops) {
		last->first = s->nested.n;
		last->room = n->n_ops;
		vec_reserve(&s->nested, s->nested.n + n->n_ops);
		s->nested.n += n->n_ops;
	}
	last->flops = last->numbers = 0;
	for (uint32_t j = 0; j < n->n_ops; j++) {
		const nested_op *x = &n->ops[j];
		node_id id = nested_node(o, x);
		const node *nd = &p->nodes.p[id];
		uint32_t e = work_lookup(s, id, x->plan); /* may move the entries */
		const work_entry *w = &s->work.entries.p[e];
		last->flops = sat_add(last->flops, w->vector_flops);
		last->numbers += spreads_number(p, nd);
		s->nested.p[last->first + j] = (sim_nested){.expensive = w->expensive,
			.step = w->step,
			.spread = w->spread,
			.maps = w->maps,
			.quantises = w->quantises,
			.bytes = x->bytes};
		if (s->dev.tile_minor > 1 || s->dev.tile_second > 1)
			s->nested.p[last->first + j].bytes = stored_lookup(s, id,
				p->vals.p[node_slots(p, nd)[nd->n_operands]].type, x->plan->at[nd->n_operands]);
	}
	last->nest = n;
}

/* Sources of one of an op's nested ops, or of its own node; whether it reads more than it writes:
 * each source counts once, what was made from little not; and whether it reads something that is
 * made for it alone. operand: the next one, moves on. */
static sources read_all(const simulator *s, const lowered *l, uint32_t first, const uint8_t *reads,
	uint32_t n, const lval_id **operand, int64_t written, bool *more, bool *own)
{
	*own = false;
	sources from = {ID_NONE, false, TILE_NONE};
	uint32_t made_from[UINT8_MAX];
	int64_t read = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t id, k = 0;
		int64_t bytes;
		bool spread;
		uint8_t tile;
		if (reads[i] == NEST_OPERAND) {
			id = *(*operand)++;
			const sim_val *v = &s->vals[id];
			const sim_op *def = &s->ops[v->def];
			bytes = v->bytes, spread = def->spread, tile = def->tile;
			made_from[i] = def->origin == ID_NONE ? id : def->origin;
			*own |= made_for_one(s, l, id);
		} else {
			const sim_nested *x = &s->nested.p[first + reads[i]];
			id = NESTED_ID | (first + reads[i]);
			bytes = x->bytes, spread = x->spread || x->little, tile = x->tile;
			made_from[i] = x->origin;
			*own |= !spread;
		}
		add_source(&from, source_of(s, id), spread || is_little(bytes, written), tile);
		while (made_from[k] != made_from[i])
			k++;
		if (k == i && !spread)
			read = sat_add(read, bytes);
	}
	*more = read > written;
	return from;
}

sources nested_classify(simulator *s, const lowered *l, lop_id id, bool tiled)
{
	const lop *o = &l->ops.p[id];
	const nest *n = o->nest;
	if (s->nest_last[o->node].nest != n)
		learn(s, o);
	const lval_id *operand = l->operands.p + o->operands;
	uint32_t first = s->nest_last[o->node].first;
	for (uint32_t j = 0; j < n->n_ops; j++) {
		const nested_op *y = &n->ops[j];
		sim_nested *x = &s->nested.p[first + j];
		sources from = read_all(s, l, first, n->reads + y->first_read, y->n_reads, &operand,
			x->bytes, &x->reads_more, &x->reads_own);
		x->gathers = l->p->nodes.p[nested_node(o, y)].n_operands > 1 && x->reads_more;
		x->tile = tiled ? tile_behind(from.tile, x->step, x->expensive) : TILE_NONE;
		x->origin =
			from.several || from.one == ID_NONE ? NESTED_ID | (first + j) : source_of(s, from.one);
		if (x->quantises && !(x->origin & NESTED_ID))
			s->vals[x->origin].quantised = true;
		x->little =
			!from.several && from.one == ID_NONE && l->p->nodes.p[nested_node(o, y)].n_operands;
		if (x->tile == TILE_ENDS || (s->dev.target == TARGET_TPU && s->hoisted[nested_node(o, y)]))
			vec_push(&s->apart, nested_node(o, y));
	}
	sim_op *so = &s->ops[id];
	sources from = read_all(s, l, first, n->reads + n->first_read, n->n_reads, &operand,
		s->vals[o->results].bytes, &so->reads_more, &so->reads_own);
	so->gathers = l->p->nodes.p[o->node].n_operands > 1 && so->reads_more;
	return from;
}

bool nested_behind_product(simulator *s, const lowered *l, const lop *o)
{
	const nest *n = o->nest;
	const sim_op *so = &s->ops[s->vals[o->results].def];
	const sim_nested *nested = nested_of(s, o);
	const lval_id *operand = l->operands.p + o->operands;
	bool behind[MAX_NESTED + 1];
	for (uint32_t j = 0; j <= n->n_ops; j++) {
		const nested_op *x = j < n->n_ops ? &n->ops[j] : NULL;
		const uint8_t *reads = n->reads + (x ? x->first_read : n->first_read);
		bool some = false;
		for (uint32_t i = 0; i < (x ? x->n_reads : n->n_reads); i++)
			some |=
				reads[i] == NEST_OPERAND ? leaves_product(s, l, so, *operand++) : behind[reads[i]];
		behind[j] = some && (x ? nested[j].maps : work_at(s, so)->maps);
	}
	for (uint32_t j = 0; j < n->n_ops; j++) {
		uint8_t reader = n->ops[j].reader;
		if (behind[j] && !behind[reader == NEST_ROOT ? n->n_ops : reader])
			vec_push(&s->apart, nested_node(o, &n->ops[j]));
	}
	return behind[n->n_ops];
}

void nested_copied(simulator *s, const lop *o)
{
	const sim_nested *nested = nested_of(s, o);
	for (uint32_t j = 0; j < o->nest->n_ops; j++) {
		uint8_t reader = o->nest->ops[j].reader;
		bool gathers =
			reader == NEST_ROOT ? s->ops[s->vals[o->results].def].gathers : nested[reader].gathers;
		if (nested[j].reads_more &&
			(gathers || (may_end_chain(s, nested[j].bytes) && nested[j].reads_own)))
			vec_push(&s->apart, nested_node(o, &o->nest->ops[j]));
	}
}

static const ir_type *result_type(const lowered *l, node_id id)
{
	const node *n = &l->p->nodes.p[id];
	return pval_type(l->p, node_slots(l->p, n)[n->n_operands]);
}

static bool moves_dims(const lowered *l, node_id id)
{
	uint16_t kind = l->p->nodes.p[id].op_kind;
	return kind == OP_BROADCAST_IN_DIM || kind == OP_TRANSPOSE;
}

/* An order goes from a result to what it is made from, unless dims change on the way. */
void nested_orders(simulator *s, const lowered *l, const lop *o)
{
	const nest *n = o->nest;
	bool kept[MAX_NESTED + 1];
	for (uint32_t j = n->n_ops; j-- > 0;) {
		const nested_op *x = &n->ops[j];
		bool root = x->reader == NEST_ROOT;
		node_id id = nested_node(o, x);
		kept[j] = (root ? !moves_dims(l, o->node) : kept[x->reader]) && !moves_dims(l, id) &&
			dims_in_order(result_type(l, id),
				result_type(l, root ? o->node : nested_node(o, &n->ops[x->reader])));
	}
	kept[n->n_ops] = !moves_dims(l, o->node);
	const lval_id *operand = l->operands.p + o->operands;
	for (uint32_t j = 0; j <= n->n_ops; j++) {
		const nested_op *x = j < n->n_ops ? &n->ops[j] : NULL;
		const uint8_t *reads = n->reads + (x ? x->first_read : n->first_read);
		for (uint32_t i = 0; i < (x ? x->n_reads : n->n_reads); i++) {
			if (reads[i] != NEST_OPERAND)
				continue;
			lval_id v = *operand++;
			s->vals[v].reordered |= kept[j] &&
				dims_in_order(type_get(l->p->m, l->vals.p[v].type),
					result_type(l, x ? nested_node(o, x) : o->node));
		}
	}
}

bool nests_agree(const nest *a, const nest *b)
{
	if (!a || !b || a->n_ops != b->n_ops || a->n_reads != b->n_reads ||
		a->first_read != b->first_read ||
		memcmp(a->reads, b->reads, (size_t)a->first_read + a->n_reads))
		return false;
	for (uint32_t j = 0; j < a->n_ops; j++)
		if (a->ops[j].plan != b->ops[j].plan || a->ops[j].reader != b->ops[j].reader)
			return false;
	return true;
}

const node_id *simulator_apart(const simulator *s, uint32_t *n)
{
	*n = s->apart.n;
	return s->apart.p;
}
