/* Gathers from and scatters to dims that are cut: a device takes the positions that are its own, as
 * XLA's partitioner does. The others of a gather give zeros, so that the sum over the devices is
 * the result; a scatter drops what is out of bounds. */
#include "lower/emit.h"

/* Where an op says what its indices mean. */
typedef struct index_names {
	const char *map, *vector, *one; /* operand dim by component; the indices' dim of components;
	                                   dims that windows leave out */
} index_names;
static const index_names gather_names = {
	"dimension_numbers.start_index_map", "dimension_numbers.index_vector_dim", NULL};
static const index_names scatter_names = {"scatter_dimension_numbers.scatter_dims_to_operand_dims",
	"scatter_dimension_numbers.index_vector_dim", "scatter_dimension_numbers.inserted_window_dims"};

static const index_names *names_of(uint16_t kind)
{
	return kind == OP_GATHER ? &gather_names : &scatter_names;
}

/* The dim of the first operand that is this factor, -1: none. */
static int64_t operand_dim(const rule *r, uint32_t f)
{
	for (uint32_t d = r->tensor_first[0]; d < r->tensor_first[1]; d++)
		if (r->dims[d].n == 1 && r->dim_factors[r->dims[d].first] == f)
			return d - r->tensor_first[0];
	return -1;
}

bool emit_indexes(const emitter *e, const node *n, const rule *r, uint32_t f)
{
	uint32_t n_map, k;
	int64_t d = operand_dim(r, f);
	if ((n->op_kind != OP_GATHER && n->op_kind != OP_SCATTER) || d < 0 ||
		(n->op_kind == OP_GATHER && r->factor_types[f] != FACTOR_REDUCTION))
		return false; /* windows of a whole dim begin at its first element wherever indices point */
	const index_names *names = names_of(n->op_kind);
	const int64_t *map = op_ints(e->m, n->op, names->map, &n_map);
	if (!ints_contain(map, n_map, d))
		return false;
	const int64_t *list = op_ints(e->m, n->op, names->one ? names->one : "slice_sizes", &k);
	return names->one ? ints_contain(list, k, d) : d < k && list[d] == 1;
}

/* How an indexed dim is cut; not at all when the dim is none. */
static axes cut_of(const emitter *e, const node *n, const lop *o, int64_t d)
{
	const rule *r = rule_get(e->p->rules, n->rule);
	const struct rule_dim *dim = &r->dims[r->tensor_first[0] + d];
	if (dim->n != 1 || !emit_indexes(e, n, r, r->dim_factors[dim->first]))
		return (axes){NULL, 0};
	return sharding_dim(sharding_get(e->m->shardings, o->plan->at[0]), (uint32_t)d);
}

static value_id converted(emitter *e, value_id v, elem to)
{
	const ir_type t = *value_type(e->m, v);
	return t.elem == to
		? v
		: op_result(
			  e->m, emit_op(e, OP_CONVERT, &v, 1, type_tensor(e->m, to, t.rank, t.dims), 0), 0);
}

static value_id binary(emitter *e, op_kind kind, value_id a, value_id b)
{
	const value_id pair[2] = {a, b};
	return op_result(e->m, emit_op(e, kind, pair, 2, value_at(e->m, a)->type, 0), 0);
}

/* A number per component, by operand dim, in the shape of the indices. */
typedef struct components {
	const int64_t *map;
	uint32_t n;
	int64_t vector; /* the indices' dim of components; their rank when there is one component and no
	                   such dim */
} components;

static value_id spread_components(emitter *e, const components *c, value_id list, const ir_type *to)
{
	int64_t rank = to->rank;
	if (c->vector >= rank)
		list = op_result(
			e->m, emit_op(e, OP_RESHAPE, &list, 1, type_tensor(e->m, ELEM_I64, 0, NULL), 0), 0);
	return emit_broadcast(e, list, &c->vector, c->vector < rank, to);
}

static value_id component_constant(
	emitter *e, const components *c, const int64_t *by_component, const ir_type *to)
{
	const int64_t n = c->n;
	strbuf text;
	strbuf_init(&text);
	for (uint32_t i = 0; i < c->n; i++)
		strbuf_printf(&text, "%s%lld", i ? ", " : "[", (long long)by_component[i]);
	strbuf_putc(&text, ']');
	value_id list = emit_constant(e, type_tensor(e->m, ELEM_I64, 1, &n), text.p);
	strbuf_release(&text);
	return spread_components(e, c, list, to);
}

/* Where a device's part begins. */
static value_id component_offset(emitter *e, const node *n, const lop *o, const components *c,
	const int64_t *local, const ir_type *to)
{
	const int64_t one = 1, count = c->n;
	value_id *parts = arena_array(&e->mem, value_id, c->n);
	for (uint32_t i = 0; i < c->n; i++) {
		value_id x = converted(e, emit_offset(e, cut_of(e, n, o, c->map[i]), local[i]), ELEM_I64);
		parts[i] = op_result(
			e->m, emit_op(e, OP_RESHAPE, &x, 1, type_tensor(e->m, ELEM_I64, 1, &one), 0), 0);
	}
	op_id joined =
		emit_op(e, OP_CONCATENATE, parts, c->n, type_tensor(e->m, ELEM_I64, 1, &count), 0);
	op_attr_set(e->m, joined, "dimension", attr_int(e->m, 0, "i64"));
	return spread_components(e, c, op_result(e->m, joined, 0), to);
}

/* True where all components are. */
static value_id all_components(emitter *e, const components *c, value_id v)
{
	const ir_type t = *value_type(e->m, v);
	int64_t dims[MAX_RANK];
	uint32_t rank = 0;
	if (c->vector >= t.rank)
		return v;
	for (uint32_t d = 0; d < t.rank; d++)
		if (d != c->vector)
			dims[rank++] = t.dims[d];
	const value_id operands[2] = {v, emit_constant(e, type_tensor(e->m, ELEM_I1, 0, NULL), "true")};
	op_id o = emit_op(e, OP_REDUCE, operands, 2, type_tensor(e->m, ELEM_I1, rank, dims), 1);
	op_attr_set(e->m, o, "dimensions", attr_ints(e->m, &c->vector, 1));
	emit_body(e, o, ELEM_I1, OP_AND);
	return op_result(e->m, o, 0);
}

value_id emit_local_indices(
	emitter *e, const node *n, const lop *o, value_id indices, value_id *inside)
{
	const index_names *names = names_of(n->op_kind);
	const ir_type whole = *type_get(e->p->m, e->p->vals.p[e->p->slots.p[n->slots]].type);
	components c = {.vector = op_int(e->m, n->op, names->vector, 0)};
	c.map = op_ints(e->m, n->op, names->map, &c.n);
	int64_t *local = arena_array(&e->mem, int64_t, c.n), *last = arena_array(&e->mem, int64_t, c.n);
	uint32_t k;
	const int64_t *sizes = op_ints(e->m, n->op, "slice_sizes", &k);
	for (uint32_t i = 0; i < c.n; i++) {
		local[i] = emit_part(whole.dims[c.map[i]], axes_product(cut_of(e, n, o, c.map[i])));
		last[i] = whole.dims[c.map[i]] - (sizes ? sizes[c.map[i]] : 1);
	}
	value_id v = converted(e, indices, ELEM_I64);
	const ir_type t = *value_type(e->m, v);
	value_id zero = component_constant(e, &c, arena_zarray(&e->mem, int64_t, c.n), &t);
	if (n->op_kind == OP_GATHER) /* takes the nearest element of the whole when there is none */
		v = binary(
			e, OP_MINIMUM, binary(e, OP_MAXIMUM, v, zero), component_constant(e, &c, last, &t));
	v = binary(e, OP_SUBTRACT, v, component_offset(e, n, o, &c, local, &t));
	if (n->op_kind == OP_GATHER)
		*inside = all_components(e, &c,
			binary(e, OP_AND, emit_compare(e, "GE", v, zero),
				emit_compare(e, "LT", v, component_constant(e, &c, local, &t))));
	return v;
}

value_id emit_gathered_inside(emitter *e, const node *n, value_id v, value_id inside)
{
	uint32_t n_offsets, n_batch = 0;
	const int64_t *offsets = op_ints(e->m, n->op, "dimension_numbers.offset_dims", &n_offsets);
	const ir_type t = *value_type(e->m, v);
	int64_t batch[MAX_RANK];
	for (uint32_t d = 0; d < t.rank; d++)
		if (!ints_contain(offsets, n_offsets, d))
			batch[n_batch++] = d;
	return emit_select(e, emit_broadcast(e, inside, batch, n_batch, &t), v, emit_scalar_zero(e, v));
}
