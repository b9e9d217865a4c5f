/* sdy's collectives as StableHLO's: device groups from mesh axes, offsets from tables indexed by
 * the device number. */
#include "lower/emit.h"

/* ---------------------------------------------------------------- devices */

/* Distance in the logical device number between neighbours along a (part of an) axis. */
static int64_t stride_of(const device_mesh *m, axis_ref a)
{
	int64_t stride = m->axis_sizes[axis_index(a)] / axis_next_pre(a);
	for (uint32_t k = axis_index(a) + 1; k < m->n_axes; k++)
		stride *= m->axis_sizes[k];
	return stride;
}

int64_t emit_coordinate(const device_mesh *m, int64_t logical, axes l)
{
	int64_t at = 0;
	for (uint32_t i = 0; i < l.n; i++)
		at = at * axis_size(l.a[i]) + logical / stride_of(m, l.a[i]) % axis_size(l.a[i]);
	return at;
}

int64_t emit_peer(const device_mesh *m, int64_t logical, axes l, int64_t at)
{
	for (uint32_t i = l.n; i-- > 0;) {
		int64_t stride = stride_of(m, l.a[i]), size = axis_size(l.a[i]);
		logical += (at % size - logical / stride % size) * stride;
		at /= size;
	}
	return logical;
}

static int64_t device_number(const device_mesh *m, int64_t logical)
{
	return m->n_device_ids ? m->device_ids[logical] : logical;
}

/* ---------------------------------------------------------------- building */

op_id emit_op(emitter *e, op_kind kind, const value_id *operands, uint32_t n, type_id result,
	uint32_t n_regions)
{
	op_id o =
		op_new(e->m, kind, 0, operands, n, &result, result == ID_NONE ? 0 : 1, n_regions, e->loc);
	op_append(e->m, o, e->at);
	return o;
}

attr_id emit_dense(emitter *e, type_id type, const char *text, size_t n)
{
	attr a = {.kind = ATTR_DENSE,
		.type = type,
		.text = {arena_strdup(&e->m->mem, text, n), n},
		.splat = n && *text != '['};
	return attr_new(e->m, &a);
}

value_id emit_constant(emitter *e, type_id type, const char *text)
{
	op_id o = emit_op(e, OP_CONSTANT, NULL, 0, type, 0);
	op_attr_set(e->m, o, "value", emit_dense(e, type, text, strlen(text)));
	return op_result(e->m, o, 0);
}

/* At the beginning of the body, behind what was put there before. */
static void add_to_prologue(emitter *e, op_id o)
{
	if (e->prologue != ID_NONE)
		op_insert_after(e->m, o, e->prologue);
	else if (e->m->regions.p[e->body].first != ID_NONE)
		op_insert_before(e->m, o, e->m->regions.p[e->body].first);
	else
		op_append(e->m, o, e->body);
	e->prologue = o;
}

value_id emit_device_id(emitter *e)
{
	if (e->device != ID_NONE)
		return e->device;
	type_id type = type_tensor(e->m, ELEM_UI32, 0, NULL);
	op_id o = op_new(
		e->m, e->form == EMIT_GLOBAL ? OP_PARTITION_ID : OP_REPLICA_ID, 0, NULL, 0, &type, 1, 0, 0);
	add_to_prologue(e, o);
	return e->device = op_result(e->m, o, 0);
}

static value_id look_up(emitter *e, const int64_t *by_logical)
{
	strbuf text;
	strbuf_init(&text);
	int64_t *by_number = arena_array(&e->mem, int64_t, e->n_devices);
	for (int64_t i = 0; i < e->n_devices; i++)
		by_number[device_number(e->mesh, i)] = by_logical[i];
	strbuf_putc(&text, '[');
	for (int64_t i = 0; i < e->n_devices; i++) {
		strbuf_puts(&text, i ? ", " : "");
		strbuf_i64(&text, by_number[i]);
	}
	strbuf_putc(&text, ']');
	const int64_t one = 1;
	type_id list = type_tensor(e->m, ELEM_I32, 1, &e->n_devices),
			single = type_tensor(e->m, ELEM_I32, 1, &one),
			scalar = type_tensor(e->m, ELEM_I32, 0, NULL);
	value_id operands[2] = {ID_NONE, emit_device_id(e)};
	op_id table = op_new(e->m, OP_CONSTANT, 0, NULL, 0, &list, 1, 0, 0);
	op_attr_set(e->m, table, "value", emit_dense(e, list, text.p, text.n));
	strbuf_release(&text);
	add_to_prologue(e, table);
	operands[0] = op_result(e->m, table, 0);
	op_id pick = op_new(e->m, OP_DYNAMIC_SLICE, 0, operands, 2, &single, 1, 0, 0);
	op_attr_set(e->m, pick, "slice_sizes", attr_ints(e->m, &one, 1));
	add_to_prologue(e, pick);
	value_id picked = op_result(e->m, pick, 0);
	op_id number = op_new(e->m, OP_RESHAPE, 0, &picked, 1, &scalar, 1, 0, 0);
	add_to_prologue(e, number);
	return op_result(e->m, number, 0);
}

value_id emit_by_device(emitter *e, const int64_t *by_logical)
{
	size_t bytes = (size_t)e->n_devices * sizeof *by_logical;
	for (uint32_t i = 0; i < e->tables.n; i++)
		if (!memcmp(e->tables.p[i].by_logical, by_logical, bytes))
			return e->tables.p[i].value;
	int64_t *own = arena_array(&e->mem, int64_t, e->n_devices);
	memcpy(own, by_logical, bytes);
	value_id v = look_up(e, own);
	vec_push(&e->tables, (emit_table){own, v});
	return v;
}

value_id emit_offset(emitter *e, axes l, int64_t scale)
{
	int64_t *by_logical = arena_array(&e->mem, int64_t, e->n_devices);
	for (int64_t i = 0; i < e->n_devices; i++)
		by_logical[i] = emit_coordinate(e->mesh, i, l) * scale;
	return emit_by_device(e, by_logical);
}

static attr_id groups_attr(emitter *e, axes l)
{
	int64_t size = axes_product(l), dims[2] = {e->n_devices / size, size};
	strbuf text;
	strbuf_init(&text);
	strbuf_putc(&text, '[');
	bool first = true;
	for (int64_t i = 0; i < e->n_devices; i++) {
		if (emit_coordinate(e->mesh, i, l))
			continue;
		strbuf_puts(&text, first ? "[" : ", [");
		first = false;
		for (int64_t k = 0; k < size; k++) {
			strbuf_puts(&text, k ? ", " : "");
			strbuf_i64(&text, device_number(e->mesh, emit_peer(e->mesh, i, l, k)));
		}
		strbuf_putc(&text, ']');
	}
	strbuf_putc(&text, ']');
	attr_id a = emit_dense(e, type_tensor(e->m, ELEM_I64, 2, dims), text.p, text.n);
	strbuf_release(&text);
	return a;
}

/* Devices are partitions of one replica in a manual computation, and a channel tells so. */
static void set_channel(emitter *e, op_id o)
{
	if (e->form != EMIT_GLOBAL)
		return;
	const attr channel = {.kind = ATTR_RAW,
		.type = ID_NONE,
		.text = STR("#stablehlo.channel_handle<handle = 1, type = 1>")};
	op_attr_set(e->m, o, "channel_handle", attr_new(e->m, &channel));
	op_kind k = (op_kind)op_at(e->m, o)->kind;
	if (k == OP_HLO_ALL_GATHER || k == OP_HLO_ALL_REDUCE || k == OP_HLO_REDUCE_SCATTER)
		op_attr_set(e->m, o, "use_global_device_ids", attr_unit(e->m));
}

static void set_groups(emitter *e, op_id o, axes l)
{
	op_attr_set(e->m, o, "replica_groups", groups_attr(e, l));
	set_channel(e, o);
}

/* ---------------------------------------------------------------- one kind each */

value_id emit_gather(emitter *e, value_id v, uint32_t d, axes l, int64_t size)
{
	int64_t local = value_type(e->m, v)->dims[d], n = axes_product(l);
	if (n == 1 || !local) /* a collective may not be along a dim without elements */
		return emit_resized(e, v, d, size);
	op_id o = emit_op(e, OP_HLO_ALL_GATHER, &v, 1, emit_resized_type(e, v, d, local * n), 0);
	op_attr_set(e->m, o, "all_gather_dim", attr_int(e->m, d, "i64"));
	set_groups(e, o, l);
	return emit_resized(e, op_result(e->m, o, 0), d, size);
}

value_id emit_slice(emitter *e, value_id v, uint32_t d, axes l, int64_t size)
{
	v = emit_resized(e, v, d, size * axes_product(l));
	type_id type = emit_resized_type(e, v, d, size);
	uint32_t rank = type_get(e->m, type)->rank;
	int64_t sizes[MAX_RANK];
	memcpy(sizes, type_get(e->m, type)->dims, rank * sizeof *sizes);
	value_id operands[MAX_RANK + 1] = {v},
								 zero = emit_constant(e, type_tensor(e->m, ELEM_I32, 0, NULL), "0");
	for (uint32_t k = 0; k < rank; k++)
		operands[k + 1] = k == d ? emit_offset(e, l, size) : zero;
	op_id o = emit_op(e, OP_DYNAMIC_SLICE, operands, rank + 1, type, 0);
	op_attr_set(e->m, o, "slice_sizes", attr_ints(e->m, sizes, rank));
	return op_result(e->m, o, 0);
}

/* target, source: local sizes of the two dims behind it. */
static value_id emit_all_to_all(
	emitter *e, value_id v, const struct a2a_move *move, int64_t target, int64_t source)
{
	int64_t n = axes_product(move->axes);
	v = emit_resized(e, v, move->target, target * n);
	const ir_type *t = value_type(e->m, v);
	int64_t dims[MAX_RANK];
	memcpy(dims, t->dims, t->rank * sizeof *dims);
	dims[move->target] = target;
	dims[move->source] *= n;
	op_id o = emit_op(e, OP_HLO_ALL_TO_ALL, &v, 1, type_tensor(e->m, t->elem, t->rank, dims), 0);
	op_attr_set(e->m, o, "split_dimension", attr_int(e->m, move->target, "i64"));
	op_attr_set(e->m, o, "concat_dimension", attr_int(e->m, move->source, "i64"));
	op_attr_set(e->m, o, "split_count", attr_int(e->m, n, "i64"));
	set_groups(e, o, move->axes);
	return emit_resized(e, op_result(e->m, o, 0), move->source, source);
}

value_id emit_sent(emitter *e, value_id v, const int64_t *source)
{
	int64_t dims[2] = {0, 2};
	strbuf text;
	strbuf_init(&text);
	strbuf_putc(&text, '[');
	for (int64_t i = 0; i < e->n_devices; i++)
		if (source[i] >= 0)
			strbuf_printf(&text, "%s[%lld, %lld]", dims[0]++ ? ", " : "",
				(long long)device_number(e->mesh, source[i]), (long long)device_number(e->mesh, i));
	strbuf_putc(&text, ']');
	op_id o = emit_op(e, OP_HLO_COLLECTIVE_PERMUTE, &v, 1, value_at(e->m, v)->type, 0);
	op_attr_set(e->m, o, "source_target_pairs",
		emit_dense(e, type_tensor(e->m, ELEM_I64, 2, dims), text.p, text.n));
	strbuf_release(&text);
	set_channel(e, o);
	return op_result(e->m, o, 0);
}

/* Number of the shard a device holds. */
static int64_t shard_number(const device_mesh *m, const sharding *s, int64_t logical)
{
	int64_t n = 0;
	for (uint32_t d = 0; d < s->rank; d++)
		n = n * sharding_dim_parts(s, d) + emit_coordinate(m, logical, sharding_dim(s, d));
	return n;
}

/* Every shard has equally many holders before and after: the k-th holder before sends to the k-th
 * after. */
static value_id emit_permute(emitter *e, value_id v, const collective_step *s)
{
	const sharding_table *t = e->m->shardings;
	const sharding *in = sharding_get(t, s->in), *out = sharding_get(t, s->out);
	int64_t n = e->n_devices, shards = 1;
	for (uint32_t d = 0; d < in->rank; d++)
		shards *= sharding_dim_parts(in, d);
	int64_t *holder = arena_array(&e->mem, int64_t, n),
			*next = arena_zarray(&e->mem, int64_t, shards),
			*taken = arena_zarray(&e->mem, int64_t, shards);
	int64_t copies = n / shards;
	for (int64_t i = 0; i < n; i++) {
		int64_t k = shard_number(e->mesh, in, i);
		holder[k * copies + next[k]++] = i;
	}
	int64_t *source = arena_array(&e->mem, int64_t, n);
	for (int64_t i = 0; i < n; i++) {
		int64_t k = shard_number(e->mesh, out, i);
		source[i] = holder[k * copies + taken[k]++];
	}
	return emit_sent(e, v, source);
}

void emit_body(emitter *e, op_id o, elem k, op_kind reduction)
{
	type_id scalar = type_tensor(e->m, k, 0, NULL);
	region_id here = e->at;
	e->at = op_at(e->m, o)->regions;
	value_id pair[2];
	for (int i = 0; i < 2; i++)
		pair[i] = region_add_arg(e->m, e->at, scalar, e->loc);
	value_id sum = op_result(e->m, emit_op(e, reduction, pair, 2, scalar, 0), 0);
	emit_op(e, OP_RETURN, &sum, 1, ID_NONE, 0);
	e->at = here;
}

value_id emit_sum(emitter *e, value_id v, axes l, op_kind reduction)
{
	op_id o = emit_op(e, OP_HLO_ALL_REDUCE, &v, 1, value_at(e->m, v)->type, 1);
	set_groups(e, o, l);
	emit_body(e, o, (elem)value_type(e->m, v)->elem, reduction);
	return op_result(e->m, o, 0);
}

static elem real_of(elem k)
{
	return k == ELEM_C64 ? ELEM_F32 : k == ELEM_C128 ? ELEM_F64 : ELEM_NONE;
}

/* XLA for TPU has no reduce_scatter of complex numbers: their parts are scattered each on its own.
 */
static value_id scatter_complex(emitter *e, value_id v, uint32_t d, axes l, int64_t size)
{
	const ir_type t = *value_type(e->m, v);
	type_id real = type_tensor(e->m, real_of((elem)t.elem), t.rank, t.dims);
	const op_kind part[2] = {OP_REAL, OP_IMAG};
	value_id parts[2];
	for (int i = 0; i < 2; i++)
		parts[i] =
			emit_scatter(e, op_result(e->m, emit_op(e, part[i], &v, 1, real, 0), 0), d, l, size);
	const ir_type own = *value_type(e->m, parts[0]);
	return op_result(e->m,
		emit_op(e, OP_COMPLEX, parts, 2, type_tensor(e->m, t.elem, own.rank, own.dims), 0), 0);
}

static int64_t product_of(const int64_t *dims, uint32_t from, uint32_t to)
{
	int64_t n = 1;
	for (; from < to; from++)
		n *= dims[from];
	return n;
}

/* XLA for TPU scatters along the outermost dim in memory or one of the two innermost; along one in
 * between it makes an all_reduce. Which is where is its choice, so values of four dims and more
 * become ones of three, with the scattered dim among the outer two. */
static value_id scatter_in_three(emitter *e, value_id v, uint32_t d, axes l, int64_t size)
{
	const ir_type t = *value_type(e->m, v);
	uint32_t last = t.rank - 1, cut = d ? d : 1; /* where the first of the three dims ends */
	int64_t whole[3] = {product_of(t.dims, 0, cut), product_of(t.dims, cut, last), t.dims[last]},
			part[MAX_RANK];
	memcpy(part, t.dims, t.rank * sizeof *part);
	part[d] = size;
	v = op_result(e->m, emit_op(e, OP_RESHAPE, &v, 1, type_tensor(e->m, t.elem, 3, whole), 0), 0);
	v = emit_scatter(e, v, d > 0, l, whole[d > 0] / axes_product(l));
	return op_result(
		e->m, emit_op(e, OP_RESHAPE, &v, 1, type_tensor(e->m, t.elem, t.rank, part), 0), 0);
}

value_id emit_scatter(emitter *e, value_id v, uint32_t d, axes l, int64_t size)
{
	if (real_of((elem)value_type(e->m, v)->elem) != ELEM_NONE)
		return scatter_complex(e, v, d, l, size);
	v = emit_resized(e, v, d, size * axes_product(l));
	if (value_type(e->m, v)->rank > 3 && d + 1 < value_type(e->m, v)->rank)
		return scatter_in_three(e, v, d, l, size);
	op_id o = emit_op(e, OP_HLO_REDUCE_SCATTER, &v, 1, emit_resized_type(e, v, d, size), 1);
	op_attr_set(e->m, o, "scatter_dimension", attr_int(e->m, d, "i64"));
	set_groups(e, o, l);
	emit_body(e, o, (elem)value_type(e->m, v)->elem, OP_ADD);
	return op_result(e->m, o, 0);
}

/* ---------------------------------------------------------------- steps of a reshard */

static bool has_elements(const ir_type *t)
{
	for (uint32_t d = 0; d < t->rank; d++)
		if (!t->dims[d])
			return false;
	return true;
}

/* Every device's part after the step is made of whole parts before it, or the other way round.
 * Several moves are taken one after the other, which is right only for dims of their own. */
static bool step_nests(const emitter *e, const collective_step *s, const ir_type *t)
{
	const sharding *in = sharding_get(e->m->shardings, s->in),
				   *out = sharding_get(e->m->shardings, s->out);
	uint32_t moved = 0;
	for (uint32_t d = 0; d < t->rank; d++) {
		int64_t from = sharding_dim_parts(in, d), to = sharding_dim_parts(out, d);
		if (!emit_cuts_nest(t->dims[d], from, to) ||
			(s->kind == COLL_COLLECTIVE_PERMUTE && from != to))
			return false;
		moved += from != to;
	}
	return has_elements(t) && (s->kind != COLL_ALL_TO_ALL || moved == 2 * s->n_moves);
}

/* Dim by dim, gathered, cut or scattered. */
static value_id by_dim(emitter *e, collective_kind kind, const collective_step *s, value_id v,
	const int64_t *sizes, uint32_t rank)
{
	for (uint32_t d = 0; d < rank; d++)
		if (s->dim_axes[d].n)
			v = (kind == COLL_ALL_GATHER     ? emit_gather
					: kind == COLL_ALL_SLICE ? emit_slice
											 : emit_scatter)(e, v, d, s->dim_axes[d], sizes[d]);
	return v;
}

static value_id emit_step(
	emitter *e, collective_kind kind, const collective_step *s, value_id v, type_id whole)
{
	const sharding *out = sharding_get(e->m->shardings, s->out);
	const ir_type t = *type_get(e->m, whole);
	if (!step_nests(e, s, &t)) {
		if (kind == COLL_REDUCE_SCATTER)
			v = emit_sum(e, v, s->axes, OP_ADD);
		return emit_shard(e, emit_whole(e, v, whole, s->in), s->out);
	}
	if (kind == COLL_COLLECTIVE_PERMUTE)
		return emit_permute(e, v, s);
	int64_t sizes[MAX_RANK];
	for (uint32_t d = 0; d < t.rank; d++)
		sizes[d] = emit_part(t.dims[d], sharding_dim_parts(out, d));
	if (kind != COLL_ALL_TO_ALL)
		return by_dim(e, kind, s, v, sizes, t.rank);
	for (uint32_t i = 0; i < s->n_moves; i++)
		v = emit_all_to_all(
			e, v, &s->moves[i], sizes[s->moves[i].target], sizes[s->moves[i].source]);
	return v;
}

value_id emit_collective(emitter *e, const collective_step *s, value_id v, type_id whole)
{
	return emit_step(e, (collective_kind)s->kind, s, v, whole);
}

value_id emit_own_part(emitter *e, const collective_step *s, value_id v, type_id whole)
{
	return emit_step(
		e, s->kind == COLL_REDUCE_SCATTER ? COLL_ALL_SLICE : (collective_kind)s->kind, s, v, whole);
}
