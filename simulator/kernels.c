/* What the kernels do: traffic, time, and which collectives they wait for. None of it depends on
 * when they run. */
#include "simulator/kernel.h"

/* The kernel or collective that makes a value: what a reader has to wait for. ID_NONE: always
 * there. */
static lop_id maker_of(const simulator *s, lval_id v)
{
	const sim_op *def = &s->ops[s->vals[v].def];
	return def->mode == MODE_NONE ? ID_NONE : def->root;
}

/* Kernels run one after the other, so among each other they never wait. */
static inline void wait_for(simulator *s, kernel *k, lval_id v)
{
	lop_id def = s->vals[v].def;
	const sim_op *from = &s->ops[def];
	if (from->mode == MODE_NONE)
		return;
	if (from->class == CLASS_COLLECTIVE && from->mode == MODE_ROOT)
		vec_push(&s->reads, def);
	if (k->early_ns >= 0 && from->root >= s->border) {
		const run *r = &s->runs.p[s->ops[from->root].run];
		k->early_ns = from->class == CLASS_COLLECTIVE ? -1
			: r->early_ns < 0                         ? -1
													  : MAX(k->early_ns, r->early_ns);
	}
}

/* Work on what lies as windows of several dims do takes whole tiles. */
int64_t in_whole_tiles(const sim_op *o, int64_t n)
{
	return o->windows_work ? (int64_t)((__int128)n * o->windows_work / 1024) : n;
}

/* Does the value lie so, in tiles of fewer rows? */
static bool lies_in_parts(const simulator *s, lval_id v)
{
	const sim_op *def = &s->ops[s->vals[v].def];
	return def->windows_work > def->windows_stored && def->class != CLASS_REDUCE;
}

/* Returns the elements of so many bytes of a value. */
static int64_t add_elements(
	const simulator *s, const lowered *l, kernel *k, lval_id v, int64_t bytes)
{
	const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
	if (!s->dev.vector_bytes_s[0] || ty->kind != TYPE_TENSOR)
		return 0;
	int64_t elements = bytes * 8 / stored_bits(s, l, v);
	const sim_op *def = &s->ops[s->vals[v].def];
	bool copied =
		s->ops[k->root].class == CLASS_OTHER; /* windows as they lie, whatever tiles have */
	if (lies_in_parts(s, v) && !copied)
		elements = sat_mul(in_whole_tiles(def, elements), 1024) / MAX(def->windows_stored, 1);
	k->largest = MAX(k->largest, elements);
	return elements;
}

/* n values, of which v stands for all. */
static void note_read(kernel *k, int64_t n, lval_id v, int64_t elements, int64_t bytes, bool near)
{
	k->passed = sat_add(k->passed, sat_mul(n, elements));
	if (near)
		k->around.near_bytes = sat_add(k->around.near_bytes, sat_mul(n, bytes));
	for (; n > 0 && k->n_reads <= MOST_READS; n--, k->n_reads++)
		if (k->n_reads < MOST_READS) {
			k->read[k->n_reads].val = v, k->read[k->n_reads].near = near;
			k->read[k->n_reads].elements = elements, k->read[k->n_reads].bytes = bytes;
		}
}

/* Where a value is there: at the kernel that makes it. */
static lop_id made_at(const simulator *s, lval_id v)
{
	lop_id maker = maker_of(s, v);
	return maker == ID_NONE ? 0 : maker;
}

/* Where it could be there, for compilers put kernels in an order of their own: what is made of
 * nothing that is made in this region can be made first, as masks are. */
static lop_id could_be_at(const simulator *s, lval_id v)
{
	lop_id maker = made_at(s, v);
	const sim_op *from = &s->ops[maker];
	bool early = maker && from->mode == MODE_ROOT && maker >= s->border &&
		s->runs.p[from->run].kind == RUN_KERNEL && s->runs.p[from->run].early_ns >= 0;
	return early ? s->border : maker;
}

/* NULL: there is none in the kernel. */
static const lop *convolution_of(const simulator *s, const lowered *l, const sim_op *root)
{
	for (lop_id m = root->has_matmul ? root->first_member : ID_NONE; m != ID_NONE;
		 m = s->ops[m].next)
		if (s->ops[m].class == CLASS_MATMUL && !work_at(s, &s->ops[m])->products)
			return &l->ops.p[m];
	return NULL;
}

/* Elements of a value that has one for every place of the images that a convolution reads or makes;
 * 0 of others. */
static int64_t rows_of_images(const lowered *l, const lop *convolution, lval_id v)
{
	int64_t n = elements_of(l, v), made = elements_of(l, convolution->results);
	bool is = n == made / last_dim(l, convolution->results);
	for (uint32_t i = 0; i < convolution->n_operands; i++) {
		lval_id operand = operand_at(l, convolution, i);
		is |= n == elements_of(l, operand) / last_dim(l, operand);
	}
	return is ? n : 0;
}

/* Sums over the features of what product makes, the kernel that this one shares: one number for
 * every place of images; 0 of others. */
static int64_t summed_rows(
	const simulator *s, const lowered *l, const kernel *k, const sim_op *product)
{
	const lop *beside = product ? convolution_of(s, l, product) : NULL;
	return beside && s->ops[k->root].class == CLASS_REDUCE
		? rows_of_images(l, beside, l->ops.p[k->root].results)
		: 0;
}

/* The one of the kernel's reads that has most elements; of equal ones the one that is made last,
 * whatever the order in which they are read. */
static uint32_t largest_read(const kernel *k)
{
	uint32_t most = 0;
	for (uint32_t i = 1; i < k->n_reads; i++)
		if (k->read[i].elements > k->read[most].elements ||
			(k->read[i].elements == k->read[most].elements && k->read[i].val > k->read[most].val))
			most = i;
	return most;
}

/* Rows of a product's result of which something with eight bits is made. That is made in the
 * product's kernel, which leaves the rows' maximum to a kernel of its own; the sum of columns it
 * makes, too (libtpu 0.0.51: `eight` in tests/judged/kernels.py). */
static bool sums_quantised(const simulator *s, const sim_op *sum, lval_id v)
{
	uint32_t source = source_of(s, v);
	return sum->class == CLASS_REDUCE && sum->work != UINT32_MAX && work_at(s, sum)->sums_lanes &&
		(s->vals[v].quantised || (!(source & NESTED_ID) && s->vals[source].quantised));
}

/* Is op `id` made of what the kernel of `from` makes, so that no compiler could run it first? True
 * also where the steps that are left do not tell. */
static bool is_made_of(
	const simulator *s, const lowered *l, lop_id id, lop_id from, uint32_t *steps)
{
	if (id <= from)
		return s->ops[id].root == from && s->ops[id].mode != MODE_NONE;
	const lop *o = &l->ops.p[id];
	for (uint32_t i = 0; i < o->n_operands; i++) {
		lop_id def = s->vals[operand_at(l, o, i)].def;
		if (!*steps || (--*steps, is_made_of(s, l, def, from, steps)))
			return true;
	}
	return false;
}

/* Could all that a kernel reads but one value be there when the kernel of `root` runs? */
static bool rest_could_be_at(
	const simulator *s, const lowered *l, const kernel *k, uint32_t but, lop_id root)
{
	enum { MOST_STEPS = 32 };
	uint32_t steps = MOST_STEPS;
	for (uint32_t i = 0; i < k->n_reads; i++) {
		lop_id there = i == but ? 0 : could_be_at(s, k->read[i].val);
		if (there >= root &&
			(s->ops[there].segment != s->ops[root].segment ||
				is_made_of(s, l, there, root, &steps)))
			return false;
	}
	return true;
}

/* A compiler with kernels of several results sums a value up where it is made, or where another sum
 * reads it, when all else that the sum reads is there by then. The value, which is the largest that
 * is read, is not read again then. *product: it is made by a kernel with a contraction. */
static bool joins_other(simulator *s, const lowered *l, const kernel *k, const sim_op **product)
{
	*product = NULL;
	if (!s->dev.vector_bytes_s[0] ||
		(s->ops[k->root].class != CLASS_REDUCE && s->ops[k->root].class != CLASS_ELEMENTWISE) ||
		k->around.matmul_ns || !k->n_reads || k->n_reads > MOST_READS)
		return false;
	uint32_t most = largest_read(k);
	if (s->ops[k->root].class == CLASS_ELEMENTWISE &&
		(k->written != k->read[most].elements ||
			elements_of(l, k->read[most].val) != elements_of(l, l->ops.p[k->root].results)))
		return false;
	lop_id there = 0;
	for (uint32_t i = 0; i < k->n_reads; i++)
		there = i == most ? there : MAX(there, could_be_at(s, k->read[i].val));
	sim_val *v = &s->vals[k->read[most].val];
	const sim_op *maker = v->argument ? NULL : &s->ops[made_at(s, k->read[most].val)];
	if (maker && maker->mode == MODE_ROOT && maker->segment == s->ops[k->root].segment &&
		rest_could_be_at(s, l, k, most, maker->root) && !maker->apart &&
		(maker->has_matmul ? !sums_quantised(s, &s->ops[k->root], k->read[most].val)
						   : maker->class == CLASS_ELEMENTWISE || maker->class == CLASS_REDUCE)) {
		*product = maker->has_matmul ? maker : NULL;
		return true;
	}
	if (v->summed_at != ID_NONE && s->ops[v->summed_at].segment == s->ops[k->root].segment &&
		MAX(there, made_at(s, k->read[most].val)) < v->summed_at)
		return true;
	v->summed_at = k->root;
	return false;
}

void kernel_add_bytes(kernel *k, int64_t n, int64_t bytes)
{
	k->around.bytes = sat_add(k->around.bytes, sat_mul(n, bytes));
}

static void add_written(kernel *k, int64_t n, int64_t bytes)
{
	kernel_add_bytes(k, n, bytes);
	k->around.written = sat_add(k->around.written, sat_mul(n, bytes));
}

/* side: bit k: read in front of operand k of the contraction; of both, it is counted with the
 * first. */
static void add_read(kernel *k, int64_t n, int64_t bytes, uint8_t side)
{
	kernel_add_bytes(k, n, bytes);
	if (side) {
		int64_t *front = &k->around.front_bytes[!(side & 1)];
		*front = sat_add(*front, sat_mul(n, bytes));
	}
}

static void read_value(
	simulator *s, const lowered *l, kernel *k, lval_id v, int64_t part, int64_t n, uint8_t side)
{
	sim_val *val = &s->vals[v];
	bool there = v == s->prefetched.val || reaches(s, l, val, k->at);
	wait_for(s, k, v);
	part = val->rounded ? part / 2 : part;
	if (part) {
		k->operands = sat_add(k->operands, sat_mul(part, 8) > stored_bits(s, l, v) ? n : 0);
		note_read(
			k, n, v, add_elements(s, l, k, v, MIN(part, val->bytes)), MIN(part, val->bytes), there);
		if (!there)
			add_read(k, n, MIN(part, val->bytes), side);
		return;
	}
	if (val->stamp == k->root)
		return;
	val->stamp = k->root;
	bool splat = val->constant && s->ops[val->def].work != UINT32_MAX &&
		work_at(s, &s->ops[val->def])->splat;
	bool on_chip = !val->argument &&
		val->bytes <= half_of_chip(s, k->root); /* as in tile_of: reading it again costs nothing */
	if (splat)
		return;
	int64_t read = val->part ? val->part : val->bytes;
	k->operands = sat_add(k->operands, elements_of(l, v) > 1 ? n : 0);
	note_read(k, n, v, add_elements(s, l, k, v, read), read, there);
	if (k->convolution)
		k->rows = sat_add(k->rows, sat_mul(n, rows_of_images(l, k->convolution, v)));
	if (!there && !val->in_argument && val->bytes <= s->dev.prefetch_bytes) {
		int64_t *ahead = val->argument ? &k->arguments : &k->far;
		*ahead = sat_add(*ahead, sat_mul(n, val->bytes));
	}
	if (!there)
		add_read(k, n, read, on_chip ? 0 : side);
}

/* Nobody reads the target afterwards, and its buffer is the op's to write: one of the program's
 * own, one that is returned, or one that was donated to what is returned. */
static bool updates_in_place(
	const simulator *s, const lowered *l, lval_id target, lop_id root, lval_id result)
{
	const sim_val *v = &s->vals[target];
	if (v->last_use != root || v->constant)
		return false;
	int32_t arg = argument_number(s, l, target);
	return !v->argument || v->output ||
		(arg >= 0 && is_donated(s, (uint32_t)arg) && s->vals[result].output &&
			s->vals[result].bytes == v->bytes);
}

/* What a scatter works on, where that cannot be what it is given: a copy, or a constant that is
 * written first. What fits on the chip is written there. */
static void begin_update(const simulator *s, const lowered *l, kernel *k, lop_id id, int64_t n)
{
	lval_id target = base_of(s, operand_at(l, &l->ops.p[id], 0));
	const sim_val *v = &s->vals[target];
	const sim_op *def = &s->ops[v->def];
	if (updates_in_place(s, l, target, k->root, l->ops.p[id].results)) {
		s->vals[l->ops.p[id].results].in_argument = v->argument || v->in_argument;
		return;
	}
	if (s->dev.target != TARGET_TPU || !v->constant || def->work == UINT32_MAX ||
		!work_at(s, def)->splat) {
		kernel_add_bytes(k, n, 2 * v->bytes);
		return;
	}
	const struct op_rows *table = &work_at(s, &s->ops[id])->rows[0];
	const ir_type *ty = type_get(l->p->m, l->vals.p[target].type);
	int bits = elem_bits((enum elem)ty->elem);
	int64_t bytes = MAX(v->bytes, padded_rows_bytes(&s->dev, table));
	bool windows = s->ops[id].windows_work;
	if (windows)
		bytes = sat_mul(v->bytes, s->ops[id].windows_work) / 1024;
	if (windows || bytes > most_on_chip(s, id))
		k->apart_ns = sat_add(k->apart_ns, sat_mul(n, fill_time_ns(&s->dev, bytes, bits)));
}

/* Time to hand on what a matmul makes, or what is made of it element by element. */
static void add_products(
	const simulator *s, const lowered *l, kernel *k, int64_t n, lval_id v, bool on_chip)
{
	int bits = stored_bits(s, l, v);
	int64_t elements = sat_mul(s->vals[v].bytes, 8) / bits;
	if (!k->products || elements < k->products)
		return;
	k->around.results_ns = MAX(k->around.results_ns,
		sat_mul(n, matmul_results_ns(&s->dev, k->stored_products, bits <= 16, on_chip)));
	k->tail_ns = MAX(k->tail_ns, matmul_tail_ns(&s->dev, k->stored_products, bits <= 16, on_chip));
	k->near = on_chip;
}

/* What operand i of a product is, or is made from in the same kernel. */
static lval_id operand_source(const simulator *s, const lowered *l, const lop *o, uint32_t i)
{
	lval_id v = base_of(s, operand_at(l, o, i));
	const sim_op *def = &s->ops[s->vals[v].def];
	bool inside = def->mode == MODE_FUSED || def->mode == MODE_COPIED;
	return inside && def->n_leaves ? def->leaves[0] : v;
}

/* Of operands that both come from memory a product sums blocks, part by part of a contraction that
 * is long. Nothing else runs while it hands on its results and takes in the smaller operand. */
static void note_split(
	const simulator *s, const lowered *l, kernel *k, const lop *o, const work_entry *w, int64_t n)
{
	if (!w->products || !s->dev.whole_summands || w->k <= s->dev.whole_summands ||
		o->n_operands != 2)
		return;
	int64_t least = INT64_MAX, small = INT64_MAX;
	for (uint32_t i = 0; i < 2; i++) {
		lval_id v = operand_source(s, l, o, i);
		const sim_val *val = &s->vals[v];
		bool fetched =
			!s->dev.prefetch_bytes && val->argument && val->bytes <= half_of_chip(s, k->root);
		if (fetched || v == s->prefetched.val || reaches(s, l, val, k->at))
			return;
		small = MIN(small, val->bytes);
		if (val->argument && val->bytes <= s->dev.prefetch_bytes)
			least = MIN(least, val->bytes);
	}
	k->split = true;
	k->split_ns = sat_mul(n, matmul_intake_ns(&s->dev, small));
	k->split_fetch = least;
}

/* One op of a folded program may stand for many in the same kernel: a sum over all layers. */
static void add_member(simulator *s, const lowered *l, kernel *k, lop_id id)
{
	const lop *o = &l->ops.p[id];
	const sim_op *so = &s->ops[id];
	const lval_id *operands = l->operands.p + o->operands;
	const work_entry *w = so->work == UINT32_MAX ? NULL : work_at(s, so);
	lop_id root = k->root;
	int64_t n = times(s, id, root);
	k->members++;
	bool matmul = so->class == CLASS_MATMUL;
	if (w) {
		k->around.matmul_ns = sat_add(k->around.matmul_ns, sat_mul(n, w->matmul_ns));
		if (matmul) {
			k->around.m = w->m, k->around.n = w->n;
			k->products = MAX(k->products, w->results);
			if (so->window) {
				kernel_add_pieces(s, l, k, o, w);
				kernel_read_pieces(s, l, k, o);
			}
			k->stored_products = MAX(k->stored_products, w->stored_results);
			kernel_add_scattered_features(s, l, k, o, w, n);
			k->convolves |= w->slides;
			note_split(s, l, k, o, w, n);
			if (w->unfilled && o->n_operands == 2)
				kernel_arrange_for_batch(s, l, k, o, w, n);
			else
				kernel_arrange_again(s, l, k, o, w, n);
		}
		k->vector_flops = sat_add(k->vector_flops, sat_mul(n, in_whole_tiles(so, w->vector_flops)));
		k->flops = sat_add(k->flops, sat_mul(n, w->flops));
		k->launches = sat_add(k->launches, sat_mul(n, w->launches));
		k->operands = sat_add(k->operands, spreads_number(l->p, &l->p->nodes.p[o->node]) ? n : 0);
		k->apart_ns = sat_add(k->apart_ns, sat_mul(n, w->windows_ns));
		if (w->loop_ns && !(w->loop_goes && l->level == LEVEL_EXACT))
			k->apart_ns = sat_add(k->apart_ns, sat_mul(n, w->loop_ns));
		k->apart_ns = sat_add(k->apart_ns, sat_mul(n, w->reversed_ns));
		kernel_add_bytes(k, n, w->again_bytes);
		k->around.near_bytes = sat_add(k->around.near_bytes, sat_mul(n, w->gap_bytes));
		if (w->rows[0].row || w->rows[1].row)
			kernel_add_rows(s, l, k, w, id, n);
		if (w->concatenates)
			kernel_add_parts(s, k, o, n);
	}
	kernel_turn_results(s, l, k, id, n);
	if (so->elements_passed)
		k->apart_ns =
			sat_add(k->apart_ns, sat_mul(n, elements_time_ns(&s->dev, so->elements_passed, false)));
	if (so->windows_end && so->mode != MODE_COPIED)
		kernel_leave_windows(s, l, k, id, n);
	if (o->nest) {
		int64_t flops = sat_mul(n, s->nest_last[o->node].flops);
		k->vector_flops = sat_add(k->vector_flops, in_whole_tiles(so, flops));
		k->flops = sat_add(k->flops, flops);
		k->operands = sat_add(k->operands, sat_mul(n, s->nest_last[o->node].numbers));
	}
	if (w && w->in_place && o->n_operands) {
		if (id >= s->vals[base_of(s, operands[0])].kept_until)
			add_written(k, n, w->write_bytes);
		begin_update(s, l, k, id, n);
		if (so->class == CLASS_OTHER) { /* scatter: reads places and indices, not the whole */
			kernel_add_bytes(k, n, w->read_bytes);
			for (uint32_t i = 0; i < o->n_operands; i++) {
				wait_for(s, k, base_of(s, operands[i]));
				kernel_turn_operand(s, l, k, id, i, base_of(s, operands[i]), n);
			}
			return;
		}
	}
	uint8_t side = so->mode == MODE_COPIED ? so->side_now : so->side;
	for (uint32_t i = 0; i < o->n_operands; i++) {
		lval_id v = base_of(s, operands[i]);
		if (s->vals[v].made_again && s->ops[s->vals[v].def].root != root &&
			could_make(s, l, id, i, operands[i]))
			v = base_of(s, operand_at(l, &l->ops.p[s->vals[v].def], 0));
		lop_id def = s->vals[v].def;
		sim_op *from = &s->ops[def];
		if (matmul)
			side = (uint8_t)(1u << (i > 0));
		if (from->mode == MODE_COPIED || (from->mode == MODE_FUSED && from->root == root)) {
			k->worked |= matmul ? side : 0;
			if (from->mode == MODE_COPIED && from->stamp != root) {
				from->stamp = root;
				from->side_now = side;
				vec_push(&s->stack, def);
			}
			continue;
		}
		if (i == 0 && so->class == CLASS_UPDATE) {
			wait_for(s, k, v);
			continue;
		}
		bool slice = i == 0 &&
			((w && w->slice_bytes) ||
				(o->kind == LOP_COLLECTIVE && so->class == CLASS_ELEMENTWISE));
		int64_t part = !slice ? 0 : w ? w->slice_bytes : s->vals[o->results].bytes;
		kernel_arrange_gathered(s, l, k, def);
		kernel_arrange_borders(s, l, k, def, matmul);
		kernel_turn_operand(s, l, k, id, i, v, n);
		/* a part is read by each of the n, a whole value once for those that share it */
		read_value(s, l, k, v, part, n > 1 && !part && !folder_repeats(s, def) ? 1 : n, side);
	}
	if (so->mode == MODE_COPIED || (w && w->in_place))
		return;
	if (w && w->windows) /* libtpu 0.0.51: what it makes passes through the vector unit */
		k->largest = k->around.near_bytes = 0;
	for (lval_id v = o->results, end = v + o->n_results; v < end; v++) {
		if (!s->vals[v].materialised)
			continue;
		int64_t elements = add_elements(s, l, k, v, s->vals[v].bytes);
		k->written = id == root ? elements : k->written;
		if (stored_bits(s, l, v) >= 32 && !lies_in_parts(s, v))
			k->full = MAX(k->full, elements);
		bool near = stays(s, l, &s->vals[v]);
		add_products(s, l, k, n, v, near);
		k->n_large += elements > 0 && elements >= k->products;
		if (near)
			continue;
		add_written(k, n, s->vals[v].bytes);
		if (s->vals[v].output && s->vals[v].bytes <= s->dev.prefetch_bytes)
			k->results = sat_add(k->results, sat_mul(n, s->vals[v].bytes));
	}
}

static run *add_run(simulator *s, run_kind kind, lop_id op)
{
	s->ops[op].run = s->runs.n;
	vec_push(&s->runs,
		(run){.kind = (uint8_t)kind, .op = op, .moment = ID_NONE, .first_read = s->reads.n});
	return &s->runs.p[s->runs.n - 1];
}

static void end_run(simulator *s)
{
	s->runs.p[s->runs.n - 1].n_reads = s->reads.n - s->runs.p[s->runs.n - 1].first_read;
}

/* The first kernel that reads what this one makes sums it up, which is then done here, too. */
static bool is_summed_up(const simulator *s, const lop *o)
{
	const sim_val *v = &s->vals[o->results];
	lop_id reader = MIN(v->external_min, MIN(v->copied_min, v->group_min));
	return reader != ID_NONE && s->ops[reader].class == CLASS_REDUCE;
}

/* Compilers for TPU schedule the inside of a fusion well, but not one op alone; a product with a
 * vector is two, a multiplication and a sum. Copies in another order of dims mostly disappear: the
 * layout of what makes the value is chosen so. */
static bool is_lone(const simulator *s, const lowered *l, const kernel *k)
{
	const sim_op *so = &s->ops[k->root];
	const lop *o = &l->ops.p[k->root];
	if (!s->dev.lone_elements_s || k->members != 1 || o->nest || o->kind != LOP_COMPUTE ||
		so->work == UINT32_MAX || (so->class != CLASS_ELEMENTWISE && so->class != CLASS_REDUCE))
		return false;
	const work_entry *w = work_at(s, so);
	return !w->transpose && !w->spread && !w->slice_bytes && !w->takes_no_work && !w->products &&
		!is_summed_up(s, o);
}

/* What a dynamic_update_slice writes. */
static lval_id updated_part(const lowered *l, lop_id update)
{
	return operand_at(l, &l->ops.p[update], 1);
}

/* Could what the kernel makes, of as many elements as a part, be written there as that part? What a
 * product leaves, or what an elementwise kernel ends in; what it makes on the way is made again. */
static bool could_write_part(
	const simulator *s, const lowered *l, const sim_op *made, lval_id v, int64_t part)
{
	return made->mode == MODE_ROOT && elements_of(l, v) == part &&
		(made->class == CLASS_MATMUL ||
			(made->class == CLASS_ELEMENTWISE &&
				(made->has_matmul || s->vals[v].def == made->root)));
}

/* Compilers for TPU write a part of a larger value where the part is made, in the same kernel, or
 * where what it is made of is: that is not read again. Returns the bytes that are left to move; -1
 * where it is not so. */
static int64_t bytes_where_made(const simulator *s, const lowered *l, const kernel *k)
{
	if (s->ops[k->root].class != CLASS_UPDATE || k->around.matmul_ns || s->dev.target != TARGET_TPU)
		return -1;
	int64_t there = 0, part = elements_of(l, updated_part(l, k->root));
	bool is_there = false;
	for (uint32_t i = 0; i < MIN(k->n_reads, MOST_READS); i++) {
		const sim_op *made = &s->ops[made_at(s, k->read[i].val)];
		if (made->segment != s->ops[k->root].segment ||
			!could_write_part(s, l, made, k->read[i].val, part))
			continue;
		is_there = true;
		there = sat_add(there, k->read[i].near ? 0 : k->read[i].bytes);
	}
	return is_there ? MAX(k->around.bytes - there, 0) : -1;
}

/* Updates of larger values by equal parts, as a loop stacks up what it made, are one kernel where
 * all that they read is there by the first of them. */
static bool joins_update(simulator *s, const lowered *l, const kernel *k)
{
	const sim_op *so = &s->ops[k->root];
	if (so->class != CLASS_UPDATE || s->dev.target != TARGET_TPU || k->n_reads > MOST_READS)
		return false;
	lop_id there = 0, first = s->updates;
	for (uint32_t i = 0; i < k->n_reads; i++)
		there = MAX(there, could_be_at(s, k->read[i].val));
	if (first != ID_NONE && s->ops[first].segment == so->segment && there < first &&
		elements_of(l, updated_part(l, first)) == elements_of(l, updated_part(l, k->root)))
		return true;
	s->updates = k->root;
	return false;
}

/* A TPU works on single numbers beside its kernels, on a core of their own. */
static bool is_scalar_work(const simulator *s, const lowered *l, const kernel *k)
{
	enum { MOST_FLOPS = 16 /* of one op on one number */ };
	const lop *o = &l->ops.p[k->root];
	return s->dev.target == TARGET_TPU && s->ops[k->root].class == CLASS_ELEMENTWISE &&
		o->n_results == 1 && type_get(l->p->m, l->vals.p[o->results].type)->elements == 1 &&
		!k->around.matmul_ns && k->vector_flops <= (int64_t)k->members * MOST_FLOPS;
}

/* Beside what it computes and moves. */
static int64_t launches_ns(const simulator *s, const kernel *k, bool joins)
{
	int64_t own = k->near && s->dev.near_launch_ns ? s->dev.near_launch_ns : s->dev.op_launch_ns;
	return sat_add(sat_add(k->apart_ns, k->tail_ns),
		sat_add(joins ? 0 : own, sat_mul(s->dev.op_launch_ns, k->launches)));
}

/* What a kernel gains when what it reads of memory is on the chip by then, and its results are
 * copied out of it afterwards: as much as half of the chip holds, and what loops keep there leaves.
 * Copies go at the full rate of the memory. Where the kernel works block by block the compiler
 * reads arguments as it goes. A stream gains by its results alone where the chip is read no faster
 * than the memory. */
static void measure_fetch(const simulator *s, run *r, const kernel *k, bool joins)
{
	int64_t room = MIN(s->dev.prefetch_bytes, MAX(most_on_chip(s, k->root) - s->kept_now, 0)),
			ahead = k->around.by_blocks || k->around.again ? k->far : sat_add(k->arguments, k->far),
			fetched = MIN(ahead, room), copied = k->results > room - fetched ? 0 : k->results;
	if (k->around.streams)
		copied = MIN(k->results, room), fetched = MIN(ahead, room - copied);
	contraction_kernel near = k->around;
	near.bytes = MAX(near.bytes - fetched - copied, 0);
	near.written = MAX(near.written - copied, 0);
	near.near_bytes = sat_add(near.near_bytes, fetched);
	if (k->split && fetched >= k->split_fetch)
		near.matmul_ns = k->unsplit_ns;
	r->near_ns = sat_add(contraction_kernel_ns(&s->dev, &near), launches_ns(s, k, joins));
	bool gains = (fetched || copied) && r->near_ns < r->ns;
	r->fetch_ns = gains ? copy_time_ns(&s->dev, fetched) : 0;
	r->copy_ns = gains ? copy_time_ns(&s->dev, copied) : 0;
	r->direct_ns = gains ? memory_time_ns(&s->dev, near.bytes)
						 : MIN(memory_time_ns(&s->dev, k->around.bytes), r->ns);
}

/* Values that pass through the vector unit, of a device whose profile says how fast. */
static bool is_stream(const simulator *s, const kernel *k)
{
	const sim_op *so = &s->ops[k->root];
	return s->dev.vector_bytes_s[0] && !k->around.matmul_ns &&
		(so->class == CLASS_ELEMENTWISE || so->class == CLASS_REDUCE || so->class == CLASS_UPDATE ||
			(so->class == CLASS_OTHER && so->work != UINT32_MAX && work_at(s, so)->streams));
}

/* What is left of a kernel that shares its largest operand with the one that makes it, or with
 * another one that reads it. Beside a product what is on the chip is read for nothing. */
static void leave_shared(const simulator *s, const lowered *l, kernel *k, const sim_op *product)
{
	uint32_t most = largest_read(k);
	int64_t *shared = k->read[most].near ? &k->around.near_bytes : &k->around.bytes,
			bytes = k->read[most].bytes;
	*shared = MAX(*shared - bytes, 0);
	int64_t *ahead = s->vals[k->read[most].val].argument ? &k->arguments : &k->far;
	if (!k->read[most].near)
		*ahead = MAX(*ahead - bytes, 0);
	if (product) {
		k->around.streams = false;
		k->around.near_bytes = k->around.vector_ns = 0;
	}
	if (product && convolution_of(s, l, product))
		k->around.bytes = 0;
}

/* What a sum over a product's results writes besides, as logits in float32 for a loss, goes to
 * memory while the product computes, but for a fifth. libtpu 0.0.51 on v5e, losses over 32,768
 * and 50,304 words (`losses` in tests/judged/kernels.py). */
static void write_beside(const simulator *s, const kernel *k, run *product, run *r)
{
	int64_t ns = MIN(product->spare_ns, MIN(memory_time_ns(&s->dev, k->around.bytes), r->ns));
	product->spare_ns -= ns;
	r->ns -= ns * 4 / 5;
}

/* What is done once in front of a loop: the share of one of its turns. */
static void take_once(run *r, int64_t turns)
{
	turns = MAX(turns, 1);
	r->ns /= turns, r->bytes /= turns, r->flops /= turns;
}

static void measure_kernel(simulator *s, const lowered *l, lop_id root)
{
	kernel k = {.root = root,
		.at = s->ops[root].latest,
		.convolution = convolution_of(s, l, &s->ops[root])};
	run *r = add_run(s, RUN_KERNEL, root);
	for (lop_id m = s->ops[root].first_member; m != ID_NONE; m = s->ops[m].next)
		add_member(s, l, &k, m);
	while (s->stack.n)
		add_member(s, l, &k, vec_pop(&s->stack));
	end_run(s);
	k.around.vector_ns = vector_time_ns(&s->dev, k.vector_flops);
	k.unsplit_ns = k.around.matmul_ns;
	if (k.split)
		k.around.matmul_ns = sat_add(sat_add(k.unsplit_ns, k.split_ns), k.around.results_ns);
	if (k.convolves)
		k.around.vector_ns =
			MAX(k.around.vector_ns, convolution_elements_ns(&s->dev, sat_add(k.passed, k.written)));
	const sim_op *product;
	bool joins = joins_other(s, l, &k, &product);
	k.around.streams = is_stream(s, &k);
	if (joins) {
		leave_shared(s, l, &k, product);
	} else if (!k.around.matmul_ns && k.n_reads) {
		bool lone = is_lone(s, l, &k);
		k.around.streams &= !lone;
		if (k.around.streams)
			k.around.elements_ns = sat_add(stream_elements_ns(&s->dev, k.largest),
				many_operands_ns(&s->dev, k.operands, k.largest));
		else
			k.around.vector_ns =
				MAX(k.around.vector_ns, elements_time_ns(&s->dev, k.largest, lone));
		k.around.narrowed = k.vector_flops > 0 && 2 * k.full < k.largest ? k.largest : 0;
	}
	k.rows = sat_add(k.rows, summed_rows(s, l, &k, product));
	k.around.vector_ns = sat_add(k.around.vector_ns, image_rows_ns(&s->dev, k.rows));
	int64_t filled = kernel_filled_elements(s, l, &k);
	if (filled) {
		int bits = stored_bits(s, l, l->ops.p[root].results);
		k.around.vector_ns = fill_time_ns(&s->dev, sat_mul(filled, bits) / 8, bits);
		k.around.streams = false;
	}
	k.around.fused = k.around.matmul_ns && k.members > 1;
	k.around.several = k.n_large > 1;
	k.around.by_blocks = k.worked == 3 && !k.convolution;
	if ((k.worked == 1 || k.worked == 2) &&
		k.around.front_bytes[k.worked == 1] > half_of_chip(s, root))
		k.around.again = k.worked;
	int64_t written = bytes_where_made(s, l, &k);
	joins |= written < 0 && joins_update(s, l, &k);
	if (written >= 0)
		r->ns = copy_time_ns(&s->dev, written);
	else if (!is_scalar_work(s, l, &k))
		r->ns = sat_add(contraction_kernel_ns(&s->dev, &k.around), launches_ns(s, &k, joins));
	if (k.around.matmul_ns)
		r->spare_ns = MAX(r->ns - memory_time_ns(&s->dev, k.around.bytes), 0);
	if (joins && product && s->ops[root].class == CLASS_REDUCE && !convolution_of(s, l, product))
		write_beside(s, &k, &s->runs.p[product->run], r);
	r->early_ns = k.early_ns < 0 || k.around.matmul_ns ? -1 : sat_add(k.early_ns, r->ns);
	r->bytes = k.around.bytes;
	r->flops = k.flops;
	if (s->ops[root].hoisted)
		take_once(r, l->ops.p[s->ops[root].region].trips);
	else if (s->dev.on_chip_bytes)
		measure_fetch(s, r, &k, joins);
}

/* A reduce_scatter that the compiler makes an all_reduce of: all of it is in memory until its part
 * is read. */
bool is_reduced_whole(const simulator *s, const lop *o)
{
	return o->kept_all_reduce ||
		(o->coll == COLL_REDUCE_SCATTER && s->dev.target == TARGET_TPU &&
			tpu_reduces_whole(mesh_links_slice_devices(&s->links), lop_group_size(o),
				device_torus_dims(&s->dev)));
}

static void measure_collective(simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id];
	run *r = add_run(s, RUN_COLLECTIVE, id);
	bool pieces = s->ops[id].pieces, whole = !pieces && is_reduced_whole(s, o);
	r->as = (uint8_t)(pieces ? COLL_COLLECTIVE_PERMUTE /* from neighbour to neighbour */
			: whole          ? COLL_ALL_REDUCE
							 : (collective_kind)o->coll);
	r->ns = collective_lookup(s, o, (collective_kind)r->as, 0, &r->link);
	r->follows_ns = collective_lookup(s, o, (collective_kind)r->as, o->ahead, &r->link);
	if (pieces) { /* with the pieces at both ends of the loop, as long as one link takes for all:
		             XLA's schedules of annotated plans on v5e 4x4 and v5p 2x2x2 */
		int64_t n = s->ops[id].pieces;
		r->ns = n * r->ns / (n + 2);
	}
	if (whole) {
		sim_val *v = &s->vals[o->results];
		v->part = v->bytes;
		v->bytes = MAX(v->bytes, o->bytes);
	}
	r->coll = o->coll;
	r->pieces = s->ops[id].pieces;
	r->leads = o->combined || r->pieces;
	r->bytes = o->bytes;
	for (uint32_t i = 0; i < o->n_operands; i++) {
		lop_id maker = maker_of(s, base_of(s, operand_at(l, o, i)));
		if (maker != ID_NONE)
			vec_push(&s->reads, maker);
	}
	end_run(s);
}

/* Runs that somebody waits for get a moment, in program order. */
static void number_moments(simulator *s)
{
	for (uint32_t i = 0; i < s->reads.n; i++)
		s->runs.p[s->ops[s->reads.p[i]].run].moment = 0;
	s->moments.n = 0;
	for (uint32_t i = 0; i < s->runs.n; i++) {
		run *r = &s->runs.p[i];
		if (r->kind == RUN_COLLECTIVE)
			r->moment = 0; /* the queues ask when it was first used */
		if (r->moment == ID_NONE)
			continue;
		r->moment = s->moments.n;
		vec_push(&s->moments,
			(moment){.first_use_ns = -1,
				.run = i,
				.collective = r->kind == RUN_COLLECTIVE,
				.pieces = r->coll == COLL_ALL_GATHER ? r->pieces : 0});
	}
	for (uint32_t i = 0; i < s->reads.n; i++)
		s->reads.p[i] = s->runs.p[s->ops[s->reads.p[i]].run].moment;
}

static void measure_border(simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id];
	kernel k = {.early_ns = -1};
	run *r = add_run(s,
		o->kind == LOP_REGION            ? RUN_REGION
			: o->kind == LOP_REGION_ELSE ? RUN_ELSE
										 : RUN_END,
		id);
	if (form_of(l, o) == FORM_LOOP && r->kind != RUN_ELSE)
		r->ns = border_copies_ns(s, l, o, r->kind == RUN_REGION ? o : &l->ops.p[s->ops[id].begin]);
	if (form_of(l, o) == FORM_LOOP && r->kind == RUN_END)
		r->follows_ns = border_traded_ns(s, l, o, &l->ops.p[s->ops[id].begin]);
	if (r->kind == RUN_REGION)
		r->ns = sat_add(r->ns, enter_loop(s, id));
	else if (r->kind == RUN_END)
		leave_loop(s, id);
	for (uint32_t i = 0; i < o->n_operands && o->kind == LOP_REGION; i++)
		wait_for(s, &k, base_of(s, operand_at(l, o, i)));
	end_run(s);
	s->border = id;
}

void measure_kernels(simulator *s, const lowered *l)
{
	place_on_chip(s, l);
	s->runs.n = s->reads.n = s->border = 0;
	s->updates = ID_NONE;
	for (uint32_t n = s->writers.n; n-- > 0;) {
		lop_id i = s->writers.p[n];
		if (s->ops[i].mode == MODE_FUSED)
			continue;
		if (s->ops[i].mode != MODE_ROOT)
			measure_border(s, l, i);
		else if (s->ops[i].class == CLASS_COLLECTIVE)
			measure_collective(s, l, i);
		else
			measure_kernel(s, l, i);
	}
	number_moments(s);
}
