/* Work of one op from the sizes of its shards: flops, bytes, and how it takes part in fusions. One
 * function per word of the cost column of ir/ops.def. No machine numbers but one: a transcendental
 * function counts TRANSCENDENTAL_FLOPS vector operations, and what its compiler takes on a TPU. */
#include "costmodel/work.h"

enum {
	TRANSCENDENTAL_FLOPS = 8,
	/* vector operations that libtpu 0.0.51 takes for one on v5e and v6e, in chains of 16 and 48 on
	 * 2048 x 2048 floats (tests/judged/kernels.py, function); two where it takes fewer */
	TPU_QUICK_FLOPS = 2,
	TPU_LOGARITHM_FLOPS = 4,
	TPU_LOGISTIC_FLOPS = 7,
	TPU_PERIODIC_FLOPS = 150,
	TPU_ERROR_FUNCTION_FLOPS = 21,
	RNG_FLOPS = 60 /* of one 32-bit word: 20 rounds of add, rotate, xor */
};

int64_t local_dim(const op_view *v, uint32_t slot, int64_t dim)
{
	const ir_type *ty = slot_type(v, slot);
	if (!ty || dim < 0 || dim >= ty->rank)
		return 1;
	const sharding *s = v->at[slot] == SHARDING_NONE ? NULL : sharding_get(v->t, v->at[slot]);
	return s && dim < s->rank ? ceil_div(ty->dims[dim], sharding_dim_parts(s, (uint32_t)dim))
							  : ty->dims[dim];
}

int64_t local_elements(const op_view *v, uint32_t slot)
{
	const ir_type *ty = slot_type(v, slot);
	return ty ? sharding_local_elements(v->t, v->at[slot], ty) : 0;
}

int64_t local_bytes(const op_view *v, uint32_t slot)
{
	const ir_type *ty = slot_type(v, slot);
	return ty ? sharding_local_bytes(v->t, v->at[slot], ty) : 0;
}

static int64_t result_elements(const op_view *v)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < v->n->n_results; i++)
		n = MAX(n, local_elements(v, result_slot(v, i)));
	return n;
}

static int64_t operand_elements(const op_view *v)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < v->n->n_operands; i++)
		n = sat_add(n, local_elements(v, i));
	return n;
}

/* ceil(log2(n)), at least 1 */
static int64_t log2_steps(int64_t n)
{
	int64_t k = 1;
	while (k < 62 && (int64_t)1 << k < n)
		k++;
	return k;
}

static void cost_flop1(const op_view *v, op_work *w)
{
	w->vector_flops = result_elements(v);
	w->fusible = true;
}

static void cost_transcendental(const op_view *v, op_work *w)
{
	w->vector_flops = sat_mul(result_elements(v), TRANSCENDENTAL_FLOPS);
	w->fusible = true;
	/* compilers divide again rather than keep a quotient: a softmax is saved as its numerator */
	w->expensive = v->n->op_kind != OP_DIVIDE;
}

#define FUNCTION(name, ops) \
	static void cost_##name(const op_view *v, op_work *w) \
	{ \
		cost_transcendental(v, w); \
		w->tpu_flops = sat_mul(result_elements(v), (ops)); \
	}
FUNCTION(quick, TPU_QUICK_FLOPS)
FUNCTION(logarithm, TPU_LOGARITHM_FLOPS)
FUNCTION(logistic, TPU_LOGISTIC_FLOPS)
FUNCTION(periodic, TPU_PERIODIC_FLOPS)
FUNCTION(error_function, TPU_ERROR_FUNCTION_FLOPS)
#undef FUNCTION

static void cost_zero(const op_view *v, op_work *w)
{
	/* a broadcast is written only when its consumer cannot compute it */
	if (v->n->op_kind == OP_BROADCAST_IN_DIM || v->n->op_kind == OP_IOTA)
		w->fusible = true;
	else
		w->free = true;
}

static bool some_above(const op_view *v, const char *attribute, int64_t least)
{
	uint32_t n;
	const int64_t *x = op_ints(v->p->m, v->n->op, attribute, &n);
	for (uint32_t i = 0; i < n; i++)
		if (x[i] > least)
			return true;
	return false;
}

static void cost_copy(const op_view *v, op_work *w)
{
	w->fusible = w->moves = true;
	w->skips = (v->n->op_kind == OP_SLICE && some_above(v, "strides", 1)) ||
		(v->n->op_kind == OP_PAD && some_above(v, "interior_padding", 0));
	if (v->n->op_kind == OP_SLICE || v->n->op_kind == OP_DYNAMIC_SLICE)
		w->slice_bytes = MAX(local_bytes(v, result_slot(v, 0)), 1);
}

static void cost_update(const op_view *v, op_work *w)
{
	w->in_place = true;
	w->write_bytes = local_bytes(v, 1);
	w->read_bytes = w->write_bytes;
}

/* Is the dim among those that an attribute lists? */
static bool lists(const op_view *v, const char *attribute, int64_t dim)
{
	uint32_t n;
	const int64_t *dims = op_ints(v->p->m, v->n->op, attribute, &n);
	for (uint32_t i = 0; i < n; i++)
		if (dims[i] == dim)
			return true;
	return false;
}

/* at: slots of the table and of what is looked up or put into it. dropped, batching: attributes
 * with dims of the table that an index points into. Where it points into the last one, the table
 * lies as it is: libtpu 0.0.51 for v6e, four numbers at a time of logits 2048 x 4 x 16384. */
static void note_rows(
	const op_view *v, op_work *w, const uint32_t at[2], const char *dropped, const char *batching)
{
	const ir_type *table = slot_type(v, at[0]);
	int64_t last = 0, most = 1, next = 1;
	if (table && table->rank && lists(v, dropped, table->rank - 1))
		return;
	for (uint32_t d = table ? table->rank : 0; d-- > 0;) {
		if (lists(v, dropped, d) || lists(v, batching, d))
			continue;
		int64_t dim = local_dim(v, at[0], d);
		last = last ? last : dim;
		next = MAX(next, MIN(most, dim));
		most = MAX(most, dim);
	}
	for (uint32_t i = 0; i < 2 && last; i++) {
		const ir_type *ty = slot_type(v, at[i]);
		w->rows[i] = (struct op_rows){.elements = local_elements(v, at[i]),
			.row = next > 1 ? most : last,
			.rows = next > 1 ? next : 0,
			.elem = ty ? ty->elem : table->elem};
	}
}

static void note_window(const op_view *v, struct op_window *x)
{
	const ir_type *table = slot_type(v, 0), *ty = slot_type(v, result_slot(v, 0));
	uint32_t n, found = 0;
	const int64_t *sizes = op_ints(v->p->m, v->n->op, "slice_sizes", &n);
	*x = (struct op_window){.table = local_elements(v, 0),
		.made = local_elements(v, result_slot(v, 0)),
		.size = 1,
		.last_two = {1, 1},
		.elem = ty ? ty->elem : ELEM_F32};
	for (uint32_t d = table ? MIN(table->rank, n) : 0; d-- > 0;) {
		int64_t size = MIN(local_dim(v, 0, d), sizes[d]);
		x->size = sat_mul(x->size, size);
		if (size > 1 && found < 2)
			x->last_two[1 - found++] = size;
	}
}

static void cost_gather(const op_view *v, op_work *w)
{
	note_window(v, &w->window);
	note_rows(v, w, (uint32_t[]){0, result_slot(v, 0)}, "dimension_numbers.collapsed_slice_dims",
		"dimension_numbers.operand_batching_dims");
	w->slice_bytes = MAX(local_bytes(v, result_slot(v, 0)), 1);
	w->vector_flops = result_elements(v);
}

/* Every dim but one of the operand is a batch dim, and each row gets one update: the gradient of
 * take_along_axis. */
static bool one_place_per_row(const op_view *v)
{
	const ir_type *in = slot_type(v, 0), *updates = slot_type(v, 2);
	uint32_t n_batch, n_map;
	op_ints(v->p->m, v->n->op, "scatter_dimension_numbers.input_batching_dims", &n_batch);
	const int64_t *map = op_ints(
		v->p->m, v->n->op, "scatter_dimension_numbers.scatter_dims_to_operand_dims", &n_map);
	return v->n->n_results == 1 && in && updates && in->rank == n_batch + 1 && n_map == 1 &&
		map[0] >= 0 && map[0] < (int64_t)in->rank &&
		updates->elements * in->dims[map[0]] == in->elements;
}

/* libtpu 0.0.51 makes a loop over the windows of a scatter, unless they are single elements of what
 * indices point into: what is written is cut out, added to and put back, where each index is in
 * bounds. (v5e, v5p, v6e: tests/judged/kernels.py) */
static void note_loop(const op_view *v, op_work *w)
{
	enum {
		KERNELS = 3 /* of a turn with one index; one more where several are looked at together */
	};
	uint32_t n = v->n->n_results;
	const ir_type *in = slot_type(v, 0), *indices = slot_type(v, n), *update = slot_type(v, n + 1);
	scatter_form f;
	if (!in || !indices || !update)
		return;
	scatter_kind kind = scatter_form_of(v->p->m, v->n->op, in->dims, update->dims, &f);
	int64_t turns = local_elements(v, n) / MAX(f.n_map, 1);
	if (kind == SCATTER_OF_ELEMENTS || turns < 2)
		return;
	w->loop_kernels = sat_mul(turns, KERNELS + (f.n_map + f.n_batching > 1));
	w->loop_goes = kind == SCATTER_MADE_OF_ELEMENTS;
}

/* Operands: inputs, indices, updates, n inputs for n results. Updated places are read and written.
 */
static void cost_scatter(const op_view *v, op_work *w)
{
	uint32_t n = v->n->n_results;
	int64_t bytes = 0;
	w->in_place = true;
	note_rows(v, w, (uint32_t[]){0, n + 1}, "scatter_dimension_numbers.inserted_window_dims",
		"scatter_dimension_numbers.input_batching_dims");
	for (uint32_t i = n + 1; i < v->n->n_operands; i++) {
		bytes = sat_add(bytes, local_bytes(v, i));
		w->vector_flops = sat_add(w->vector_flops, local_elements(v, i));
	}
	w->write_bytes = bytes;
	w->read_bytes = sat_add(sat_mul(bytes, 2), local_bytes(v, n));
	note_loop(v, w);
	if (one_place_per_row(v))
		w->select_flops = sat_mul(2, result_elements(v));
}

static void cost_reduce(const op_view *v, op_work *w)
{
	w->vector_flops = operand_elements(v);
	w->sum_elements = local_elements(v, 0) / MAX(result_elements(v), 1);
}

static void cost_window(const op_view *v, op_work *w)
{
	uint32_t n;
	const int64_t *window = op_ints(v->p->m, v->n->op, "window_dimensions", &n);
	int64_t taps = 1;
	for (uint32_t i = 0; i < n; i++)
		taps = sat_mul(taps, MAX(window[i], 1));
	int64_t places =
		v->n->op_kind == OP_SELECT_AND_SCATTER ? local_elements(v, 1) : result_elements(v);
	w->vector_flops = sat_mul(places, taps);
	w->window_elements = taps;
}

/* k of a top_k. */
static int64_t found_in_row(const op_view *v)
{
	const ir_type *ty = slot_type(v, v->n->n_operands);
	return ty && ty->rank ? ty->dims[ty->rank - 1] : 1;
}

/* A sorting network of log(log + 1) / 2 stages along the sorted dim. */
static void cost_sort(const op_view *v, op_work *w)
{
	const ir_type *ty = slot_type(v, 0);
	int64_t dim = op_int(v->p->m, v->n->op, "dimension", ty ? (int64_t)ty->rank - 1 : 0);
	int64_t steps = log2_steps(local_dim(v, 0, dim < 0 && ty ? dim + ty->rank : dim));
	w->elem = ty ? ty->elem : ELEM_F32;
	w->vector_flops = sat_mul(operand_elements(v), steps * (steps + 1) / 2);
	bool rows = ty && ty->rank > 1 && (dim < 0 || dim + 1 == ty->rank);
	w->sorted_row = rows ? local_dim(v, 0, ty->rank - 1) : 0;
	w->sorted_elements = rows ? local_elements(v, 0) : 0;
	w->sorted_arrays = v->n->op_kind == OP_SORT ? v->n->n_operands : 0;
	if (v->n->op_kind == OP_CHLO_TOP_K)
		w->selected_flops = sat_mul(operand_elements(v), 1 + log2_steps(found_in_row(v)));
}

static void cost_solve(const op_view *v, op_work *w)
{
	if (v->n->op_kind == OP_CHOLESKY)
		cost_cholesky(v, w);
	else
		cost_triangular_solve(v, w);
}

static void cost_fft(const op_view *v, op_work *w)
{
	uint32_t n;
	const int64_t *length = op_ints(v->p->m, v->n->op, "fft_length", &n);
	int64_t points = 1;
	for (uint32_t i = 0; i < n; i++) {
		points = sat_mul(points, MAX(length[i], 1));
		w->dft_stages += dft_stages(length[i]);
	}
	w->elem = ELEM_F32;
	w->dft_elements = MAX(local_elements(v, 0), result_elements(v));
	w->vector_flops = sat_mul(w->dft_elements, 5 * log2_steps(points));
}

static void cost_rng(const op_view *v, op_work *w)
{
	w->vector_flops = sat_mul(ceil_div(w->write_bytes, 4), RNG_FLOPS);
	(void)v;
}

/* Markers of a partitioner do nothing; fused attention has a formula; anything else is taken as one
 * pass. */
static void cost_custom(const op_view *v, op_work *w)
{
	static const char *const markers[] = {"Sharding", "SPMDFullToShardShape",
		"SPMDShardToFullShape", "annotate_device_placement", "xla.sdy.*", "LayoutConstraint",
		"MoveToHost", "MoveToDevice"};
	str target =
		v->n->op_kind == OP_CUSTOM_CALL ? op_text(v->p->m, v->n->op, "call_target_name") : STR("");
	for (uint32_t i = 0; i < COUNT_OF(markers); i++)
		if (target.n && glob_match(markers[i], target)) {
			w->free = true;
			return;
		}
	if (cost_linalg_call(v, target, w))
		return;
	w->vector_flops = result_elements(v);
	if (glob_match("*fmha*", target) || glob_match("*flash*attention*", target))
		cost_attention(v, w);
}

static void cost_collective(const op_view *v, op_work *w)
{
	/* its time is the collective's; on the compute stream it is nothing */
	w->read_bytes = w->write_bytes = 0;
	(void)v;
}

static void cost_region(const op_view *v, op_work *w)
{
	w->free = true;
	(void)v;
}

typedef void (*cost_fn)(const op_view *v, op_work *w);
static const cost_fn cost_of[OP_COUNT] = {
#define OP(id, text, form, in, out, regions, check, rule, cost, emit, flags) \
	[OP_##id] = cost_##cost,
#include "ir/ops.def"
#undef OP
};

bool op_cost_known(op_kind k) { return k < OP_COUNT && cost_of[k]; }

void op_work_of(
	const program *p, const sharding_table *t, const node *n, const sharding_id *at, op_work *out)
{
	*out = (op_work){0};
	if (n->kind != NODE_OP && n->kind != NODE_OPAQUE) {
		out->free = true;
		return;
	}
	op_view v = {p, t, n, at};
	for (uint32_t i = 0; i < n->n_operands; i++)
		out->read_bytes = sat_add(out->read_bytes, local_bytes(&v, i));
	for (uint32_t i = 0; i < n->n_results; i++)
		out->write_bytes = sat_add(out->write_bytes, local_bytes(&v, result_slot(&v, i)));
	cost_of[n->op_kind](&v, out);
	if (out->free)
		out->read_bytes = out->write_bytes = 0;
	if (out->slice_bytes && n->n_operands) {
		int64_t whole = local_bytes(&v, 0);
		out->slice_bytes = MIN(out->slice_bytes, MAX(whole, 1));
		out->read_bytes = out->read_bytes - whole + out->slice_bytes;
	}
	out->flops =
		(double)out->matmul_flops * (double)MAX(out->blocks, 1) + (double)out->vector_flops;
}
