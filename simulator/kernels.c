/* What the kernels do: traffic, time, and which collectives they wait for. None of it depends on
 * when they run. */
#include "simulator/state.h"

enum { MOST_READS = 8 };

/* What one kernel does, summed over its members. */
typedef struct kernel {
	contraction_kernel around; /* kernels without a contraction: all 0 but bytes */
	int64_t vector_flops, flops;
	int64_t arguments; /* bytes: of arguments that it reads whole from memory, those that may be
	                      fetched ahead */
	int64_t far;       /* bytes: of other values that it so reads */
	int64_t results;   /* bytes: of what it writes to memory, that may be copied out later */
	int64_t largest;   /* elements: of the largest tensor that is read or written */
	int64_t full;      /* elements: of the largest result of 32 bits */
	int64_t written;   /* elements: of what the root makes */
	int64_t launches;  /* beside its own */
	/* results of the largest matmul, and with padding to the tiles */
	int64_t products, stored_products;
	uint32_t n_large;  /* results of as many elements */
	int64_t rows_ns;   /* to bring in the operands of products, where that is not hidden */
	int64_t stored_ns; /* to write a value as large as that */
	int64_t tail_ns;   /* of it, when all is computed */
	bool near;         /* results of a matmul stay on the chip */
	int64_t apart_ns;  /* of copies in front of it and behind it, by kernels of their own */
	uint32_t members;
	uint32_t n_reads; /* whole or in parts, constants apart; those behind MOST_READS are not kept */
	struct {
		lval_id val;
		bool near; /* from the chip */
		int64_t elements, bytes;
	} read[MOST_READS];
	uint8_t worked;   /* bit k: something in front of operand k of the contraction */
	int64_t early_ns; /* when all it reads could be there, as run.early_ns: what was made in front
	                     of the last border is */
	lop_id root;
} kernel;

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
static int64_t in_whole_tiles(const sim_op *o, int64_t n)
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
	if (lies_in_parts(s, v))
		elements = sat_mul(in_whole_tiles(def, elements), 1024) / MAX(def->windows_stored, 1);
	k->largest = MAX(k->largest, elements);
	return elements;
}

/* n values, of which v stands for all. */
static void note_read(kernel *k, int64_t n, lval_id v, int64_t elements, int64_t bytes, bool near)
{
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

static bool has_convolution(const simulator *s, const sim_op *root)
{
	for (lop_id m = root->has_matmul ? root->first_member : ID_NONE; m != ID_NONE;
		 m = s->ops[m].next)
		if (s->ops[m].class == CLASS_MATMUL && !work_at(s, &s->ops[m])->products)
			return true;
	return false;
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

/* A compiler with kernels of several results sums a value up where it is made, or where another sum
 * reads it, when all else that the sum reads is there by then. The value, which is the largest that
 * is read, is not read again then. *product: it is made by a kernel with a contraction. */
static bool joins_other(simulator *s, const kernel *k, const sim_op **product)
{
	*product = NULL;
	if (!s->dev.vector_bytes_s[0] ||
		(s->ops[k->root].class != CLASS_REDUCE && s->ops[k->root].class != CLASS_ELEMENTWISE) ||
		k->around.matmul_ns || !k->n_reads || k->n_reads > MOST_READS)
		return false;
	uint32_t most = largest_read(k);
	if (s->ops[k->root].class == CLASS_ELEMENTWISE && k->written != k->read[most].elements)
		return false;
	lop_id there = 0;
	for (uint32_t i = 0; i < k->n_reads; i++)
		there = i == most ? there : MAX(there, could_be_at(s, k->read[i].val));
	sim_val *v = &s->vals[k->read[most].val];
	const sim_op *maker = v->argument ? NULL : &s->ops[made_at(s, k->read[most].val)];
	if (maker && maker->mode == MODE_ROOT && maker->segment == s->ops[k->root].segment &&
		there < maker->root &&
		(maker->has_matmul || maker->class == CLASS_ELEMENTWISE || maker->class == CLASS_REDUCE)) {
		*product = maker->has_matmul ? maker : NULL;
		return true;
	}
	if (v->summed_at != ID_NONE && s->ops[v->summed_at].segment == s->ops[k->root].segment &&
		MAX(there, made_at(s, k->read[most].val)) < v->summed_at)
		return true;
	v->summed_at = k->root;
	return false;
}

static void add_bytes(kernel *k, int64_t n, int64_t bytes)
{
	k->around.bytes = sat_add(k->around.bytes, sat_mul(n, bytes));
}

/* side: bit k: read in front of operand k of the contraction; of both, it is counted with the
 * first. */
static void add_read(kernel *k, int64_t n, int64_t bytes, uint8_t side)
{
	add_bytes(k, n, bytes);
	if (side) {
		int64_t *front = &k->around.front_bytes[!(side & 1)];
		*front = sat_add(*front, sat_mul(n, bytes));
	}
}

static void read_value(
	simulator *s, const lowered *l, kernel *k, lval_id v, int64_t part, int64_t n, uint8_t side)
{
	sim_val *val = &s->vals[v];
	bool there = v == s->prefetched.val || reaches(s, l, val, k->root);
	wait_for(s, k, v);
	part = val->rounded ? part / 2 : part;
	if (part) {
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
	note_read(k, n, v, add_elements(s, l, k, v, val->bytes), val->bytes, there);
	if (!there && val->bytes <= s->dev.prefetch_bytes) {
		int64_t *ahead = val->argument ? &k->arguments : &k->far;
		*ahead = sat_add(*ahead, sat_mul(n, val->bytes));
	}
	if (!there)
		add_read(k, n, val->bytes, on_chip ? 0 : side);
}

/* An update that cannot be done where its operand lies copies it first. */
static bool updates_in_place(const simulator *s, lval_id target, lop_id root)
{
	const sim_val *v = &s->vals[target];
	return v->last_use == root && !v->constant && (!v->argument || v->output);
}

/* What a scatter works on, where that cannot be what it is given: a copy, or a constant that is
 * written first. What fits on the chip is written there. */
static void begin_update(const simulator *s, const lowered *l, kernel *k, lop_id id, int64_t n)
{
	lval_id target = base_of(s, operand_at(l, &l->ops.p[id], 0));
	const sim_val *v = &s->vals[target];
	const sim_op *def = &s->ops[v->def];
	if (updates_in_place(s, target, k->root))
		return;
	if (s->dev.target != TARGET_TPU || !v->constant || def->work == UINT32_MAX ||
		!work_at(s, def)->splat) {
		add_bytes(k, n, 2 * v->bytes);
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

/* Time to bring a value into the order in which windows lie, or back: its elements pass through the
 * vector unit, and what does not fit on the chip is written. */
static int64_t windows_copy_ns(const simulator *s, lop_id id, int64_t elements, int64_t stored)
{
	int64_t t = elements_time_ns(&s->dev, elements, false);
	return stored > most_on_chip(s, id) ? sat_add(t, memory_time_ns(&s->dev, stored)) : t;
}

/* What lies as windows do is copied for those that want it otherwise. */
static void leave_windows(const simulator *s, const lowered *l, kernel *k, lop_id id, int64_t n)
{
	lval_id v = l->ops.p[id].results;
	k->apart_ns = sat_add(k->apart_ns,
		sat_mul(n,
			windows_copy_ns(
				s, id, sat_mul(l->vals.p[v].bytes, 8) / stored_bits(s, l, v), s->vals[v].bytes)));
}

/* Rows that gathers and scatters want in another order than all else. On the chip copies are soon
 * made: of what is read as long as there is room for more than that. */
static void add_rows(
	const simulator *s, const lowered *l, kernel *k, const work_entry *w, lop_id id, int64_t n)
{
	const struct op_rows *read = w->in_place ? &w->rows[1] : &w->rows[0],
						 *made = w->in_place ? &w->rows[0] : &w->rows[1];
	int64_t most = w->in_place ? most_on_chip(s, id) : s->dev.on_chip_bytes / 8, ns = 0;
	if (w->windows_work) {
		const lop *o = &l->ops.p[id];
		lop_id def = s->vals[operand_at(l, o, w->in_place ? o->n_operands - 1 : 0)].def;
		if (!s->ops[def].windows_work || s->ops[def].class == CLASS_REDUCE)
			ns = windows_copy_ns(s, id, read->elements, padded_rows_bytes(&s->dev, read));
	} else {
		if (read->row && padded_rows_bytes(&s->dev, read) > s->dev.on_chip_bytes / 8)
			ns = padded_rows_ns(&s->dev, read);
		if (made->row && padded_rows_bytes(&s->dev, made) > most)
			ns = sat_add(ns, padded_rows_ns(&s->dev, made));
	}
	k->apart_ns = sat_add(k->apart_ns, sat_mul(n, ns));
}

/* Time to hand on what a matmul makes, or what is made of it element by element. */
static void add_products(
	const simulator *s, const lowered *l, kernel *k, int64_t n, lval_id v, bool on_chip)
{
	int bits = stored_bits(s, l, v);
	int64_t elements = sat_mul(s->vals[v].bytes, 8) / bits;
	if (!k->products || elements < k->products)
		return;
	k->stored_ns = MAX(k->stored_ns,
		sat_add(k->rows_ns,
			sat_mul(n, matmul_results_ns(&s->dev, k->stored_products, bits <= 16, on_chip))));
	k->tail_ns = MAX(k->tail_ns, matmul_tail_ns(&s->dev, k->stored_products, bits <= 16, on_chip));
	k->near = on_chip;
}

/* Time to bring in the larger operand of a product, or what that is made from, where it is too
 * large to be on the chip by then. */
static void add_rows_of_product(
	const simulator *s, const lowered *l, kernel *k, const lop *o, const work_entry *w, int64_t n)
{
	if (!w->products || w->m <= 0 || w->n <= 0 || o->n_operands != 2)
		return;
	lval_id v = base_of(s, operand_at(l, o, w->m < w->n));
	const sim_op *def = &s->ops[s->vals[v].def];
	bool inside = def->mode == MODE_FUSED || def->mode == MODE_COPIED;
	if (inside && def->n_leaves)
		v = def->leaves[0];
	if (s->vals[v].bytes > half_of_chip(s, k->root) && !reaches(s, l, &s->vals[v], k->root))
		k->rows_ns = sat_add(k->rows_ns,
			sat_mul(n, matmul_rows_ns(&s->dev, w->results / (w->m * w->n), w->m, w->n, w->k)));
}

/* Does some dim of the value fill whole lanes? */
static bool fills_lanes(const simulator *s, const lowered *l, lval_id v)
{
	const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
	const sharding *sh = sharding_get(l->shardings, l->vals.p[v].sharding);
	for (uint32_t d = 0; ty->kind == TYPE_TENSOR && d < ty->rank; d++)
		if (ceil_div(ty->dims[d], sharding_dim_parts(sh, d)) % s->dev.tile_minor == 0)
			return true;
	return false;
}

/* A value whose rows and columns do not fill the lanes has its batch there outside of products, if
 * that does. For products of a batch it is copied, padded, once; scores, which only such products
 * and what is between them see, are not. libtpu 0.0.51, attention over 49 to 577 places with depths
 * of 32 and 64 (tests/judged/kernels.py). */
static void arrange_for_batch(
	simulator *s, const lowered *l, kernel *k, const lop *o, const work_entry *w, int64_t n)
{
	bool unsorted[2];
	lval_id v[3] = {ID_NONE, ID_NONE, o->results};
	for (uint32_t i = 0; i < 2 && i < o->n_operands; i++) {
		v[i] = operand_at(l, o, i);
		const sim_op *def = &s->ops[s->vals[v[i]].def];
		unsorted[i] =
			w->unsorted >> i & 1 || (def->work != UINT32_MAX && work_at(s, def)->transpose);
		v[i] = base_of(s, v[i]);
	}
	int64_t batch = w->results / (w->m * w->n), columns[] = {w->k, w->k, w->n},
			rows[] = {w->m, w->n, w->m};
	for (uint32_t i = 0; i < 3; i++) {
		bool wanted = i < 2 ? unsorted[i] : unsorted[0] != unsorted[1];
		if (!wanted || !(w->unfilled >> i & 1) || v[i] == ID_NONE || s->vals[v[i]].arranged ||
			!fills_lanes(s, l, v[i]))
			continue;
		s->vals[v[i]].arranged = true;
		int bits = stored_bits(s, l, v[i]);
		int64_t elements = matrix_elements(&s->dev, batch, rows[i], columns[i]);
		k->apart_ns = sat_add(
			k->apart_ns, sat_mul(n, reorder_time_ns(&s->dev, sat_mul(elements, bits / 8), bits)));
	}
}

/* Local size of the last of three dims or more; INT64_MAX of fewer. */
static int64_t last_dim(const lowered *l, lval_id v)
{
	const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
	if (ty->rank < 3)
		return INT64_MAX;
	const sharding *sh = sharding_get(l->shardings, l->vals.p[v].sharding);
	return MAX(ceil_div(ty->dims[ty->rank - 1], sharding_dim_parts(sh, ty->rank - 1)), 1);
}

/* What each iteration of a windowed einsum needs all of is read again by each, unless it is on the
 * chip; what is cut into pieces that are scattered is first brought into an order in which they do
 * not share lanes. */
static void read_pieces(simulator *s, const lowered *l, kernel *k, const lop *o)
{
	const sim_op *so = &s->ops[o - l->ops.p];
	if (so->whole == WINDOW_NO_OPERAND)
		return;
	lval_id whole = base_of(s, operand_at(l, o, so->whole)),
			cut = base_of(s, operand_at(l, o, !so->whole));
	if (whole != s->prefetched.val && !reaches(s, l, &s->vals[whole], k->root))
		add_bytes(k, so->pieces / 2 - 1, s->vals[whole].bytes);
	int bits = stored_bits(s, l, cut);
	if (so->window == WINDOW_SCATTER)
		k->apart_ns = sat_add(k->apart_ns, reorder_time_ns(&s->dev, s->vals[cut].bytes, bits));
}

/* The loop of a windowed einsum multiplies two pieces at a time. Where an operand is gathered it
 * begins with a result of zeros, into which it writes each piece; where the sum is scattered it
 * adds each piece to one that travels. libtpu 0.0.51 on v5e (docs/judged.md). */
static void add_pieces(
	const simulator *s, const lowered *l, kernel *k, const lop *o, const work_entry *w)
{
	const sim_op *so = &s->ops[o - l->ops.p];
	const sim_val *v = &s->vals[o->results];
	int bits = stored_bits(s, l, o->results);
	int64_t elements = sat_mul(v->bytes, 8) / bits, ns = elements_time_ns(&s->dev, elements, false),
			product = matmul_pieces_ns(&s->dev, w->matmul_ns, w->flops, so->pieces),
			lanes = last_dim(l, o->results);
	if (lanes < s->dev.tile_minor) /* pieces of several dims are not made matrices */
		product = sat_mul(product, s->dev.tile_minor) / lanes;
	if (so->window == WINDOW_SCATTER) {
		ns = sat_add(ns, sat_mul(2 * so->pieces, s->dev.op_launch_ns));
	} else {
		/* pieces of few features of a convolution do not fill the lanes: each write passes over
		 * all of the result, and products were seen to take 2 to 8 times as long */
		enum { FEW = 4, SLOWER = 4 };
		if (!w->products && so->whole == 0 && FEW * w->n / so->pieces < s->dev.tile_minor)
			ns = sat_mul(ns, so->pieces / 2), product = sat_mul(product, SLOWER);
		ns = sat_add(ns, fill_time_ns(&s->dev, v->bytes, bits));
	}
	k->apart_ns = sat_add(k->apart_ns, sat_add(ns, product - w->matmul_ns));
}

/* XLA's partitioner gathers along two dims at once into a new leading one, and brings the parts
 * into their order in two copies with half-filled tiles: 44 ps an element in bfloat16, 31 in
 * float32, 31 of 100 million elements (libtpu 0.0.51 for v5e: gathers of 1 to 100 million elements
 * over 16 devices), where a pass over all elements takes 14.7. */
static void arrange_gathered(simulator *s, const lowered *l, kernel *k, lop_id id)
{
	enum { HALF_PASSES = 7 };
	const lop *o = &l->ops.p[id];
	if (s->ops[id].arranged || o->kind != LOP_COLLECTIVE || o->coll != COLL_ALL_GATHER ||
		o->given || l->level == LEVEL_EXACT || s->dev.target != TARGET_TPU)
		return;
	s->ops[id].arranged = true;
	const ir_type *ty = type_get(l->p->m, l->vals.p[o->results].type);
	uint32_t dims = 0;
	for (uint32_t d = 0; d < ty->rank; d++)
		dims += o->step->dim_axes[d].n > 0;
	if (dims < 2)
		return;
	int bits = MAX(elem_bits((enum elem)ty->elem), 8);
	k->apart_ns = sat_add(k->apart_ns,
		elements_time_ns(&s->dev, sat_mul(o->bytes, 8) / bits, false) * HALF_PASSES / 2);
}

/* A collective that a program of one device says. */
static bool is_own_collective(const simulator *s, const lowered *l, lop_id id)
{
	return s->ops[id].class == CLASS_COLLECTIVE &&
		(l->level == LEVEL_EXACT || lop_is_own(l, &l->ops.p[id]));
}

/* Does such a collective make the kernel of a convolution, or take its gradient? */
static bool is_kernel_moved(const simulator *s, const lowered *l, const lop *o)
{
	lop_id def = s->vals[base_of(s, operand_at(l, o, 1))].def,
		   reader = s->vals[o->results].external_min;
	if (is_own_collective(s, l, def) && !l->ops.p[def].halo)
		return true;
	return reader != ID_NONE && l->vals.p[o->results].n_uses == 1 &&
		is_own_collective(s, l, reader) && l->ops.p[reader].coll == COLL_REDUCE_SCATTER;
}

/* The features of an image's first kernel share a tile with its taps, but not where a collective of
 * an exact program says how the kernel lies: libtpu 0.0.51 on v5e then takes 3,634 instead of 176
 * us for 3 features and 3 x 3 x 3 taps, 2,154 and 1,091 instead of 94 and 36 for 7 x 7 taps and
 * their gradient. */
static void add_scattered_features(
	const simulator *s, const lowered *l, kernel *k, const lop *o, const work_entry *w, int64_t n)
{
	enum { SLOWER = 10 };
	if (w->few_features && s->dev.target == TARGET_TPU && o->n_operands == 2 &&
		is_kernel_moved(s, l, o))
		k->apart_ns = sat_add(k->apart_ns, sat_mul(n, sat_mul(SLOWER, w->matmul_ns)));
}

/* What reads beyond its part reads a copy with the borders in place (libtpu 0.0.51: a kernel of its
 * own in front of convolutions); windows of reductions take them up themselves. */
static void arrange_borders(simulator *s, const lowered *l, kernel *k, lop_id id, bool matmul)
{
	const lop *o = &l->ops.p[id];
	if (!matmul || o->kind != LOP_COLLECTIVE || !o->halo || s->ops[id].arranged ||
		s->dev.target != TARGET_TPU || l->level == LEVEL_EXACT)
		return;
	s->ops[id].arranged = true;
	int64_t bytes = o->bytes;
	for (const lop *b = o; b->n_operands > 1; bytes = sat_add(bytes, b->bytes))
		b = &l->ops.p[l->vals.p[operand_at(l, b, 1)].def];
	lval_id v = base_of(s, operand_at(l, o, 0));
	const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
	int64_t elements =
		sat_mul(sat_add(s->vals[v].bytes, bytes), 8) / MAX(elem_bits((enum elem)ty->elem), 8);
	k->apart_ns = sat_add(
		k->apart_ns, sat_add(s->dev.op_launch_ns, elements_time_ns(&s->dev, elements, false)));
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
				add_pieces(s, l, k, o, w);
				read_pieces(s, l, k, o);
			}
			k->stored_products = MAX(k->stored_products, w->stored_results);
			add_scattered_features(s, l, k, o, w, n);
			add_rows_of_product(s, l, k, o, w, n);
			if (w->unfilled && o->n_operands == 2)
				arrange_for_batch(s, l, k, o, w, n);
		}
		k->vector_flops = sat_add(k->vector_flops, sat_mul(n, in_whole_tiles(so, w->vector_flops)));
		k->flops = sat_add(k->flops, sat_mul(n, w->flops));
		k->launches = sat_add(k->launches, sat_mul(n, w->launches));
		if (w->loop_ns && !(w->loop_goes && l->level == LEVEL_EXACT))
			k->apart_ns = sat_add(k->apart_ns, sat_mul(n, w->loop_ns));
		add_bytes(k, n, w->again_bytes);
		if (w->rows[0].row || w->rows[1].row)
			add_rows(s, l, k, w, id, n);
	}
	if (so->windows_end && so->mode != MODE_COPIED)
		leave_windows(s, l, k, id, n);
	if (o->nest) {
		int64_t flops = sat_mul(n, s->nest_last[o->node].flops);
		k->vector_flops = sat_add(k->vector_flops, in_whole_tiles(so, flops));
		k->flops = sat_add(k->flops, flops);
	}
	if (w && w->in_place && o->n_operands) {
		if (id >= s->vals[base_of(s, operands[0])].kept_until)
			add_bytes(k, n, w->write_bytes);
		begin_update(s, l, k, id, n);
		if (so->class == CLASS_OTHER) { /* scatter: reads places and indices, not the whole */
			add_bytes(k, n, w->read_bytes);
			for (uint32_t i = 0; i < o->n_operands; i++)
				wait_for(s, k, base_of(s, operands[i]));
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
		arrange_gathered(s, l, k, def);
		arrange_borders(s, l, k, def, matmul);
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
		add_bytes(k, n, s->vals[v].bytes);
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

/* Compilers for TPU schedule the inside of a fusion well, but not one op alone. Copies in another
 * order of dims mostly disappear: the layout of what makes the value is chosen so. */
static bool is_lone(const simulator *s, const lowered *l, const kernel *k)
{
	const sim_op *so = &s->ops[k->root];
	const lop *o = &l->ops.p[k->root];
	if (!s->dev.lone_elements_s || k->members != 1 || o->nest || o->kind != LOP_COMPUTE ||
		so->work == UINT32_MAX || (so->class != CLASS_ELEMENTWISE && so->class != CLASS_REDUCE))
		return false;
	const work_entry *w = work_at(s, so);
	return !w->transpose && !w->spread && !w->slice_bytes && !w->takes_no_work &&
		!is_summed_up(s, o);
}

/* Compilers for TPU write a part of a larger value where the part is made, in the same kernel, or
 * where what it is made of is. */
static bool is_written_where_made(const simulator *s, const kernel *k)
{
	if (s->ops[k->root].class != CLASS_UPDATE || k->around.matmul_ns || s->dev.target != TARGET_TPU)
		return false;
	for (uint32_t i = 0; i < MIN(k->n_reads, MOST_READS); i++) {
		const sim_op *made = &s->ops[made_at(s, k->read[i].val)];
		if (made->mode == MODE_ROOT && made->segment == s->ops[k->root].segment &&
			(made->class == CLASS_MATMUL || made->class == CLASS_ELEMENTWISE))
			return true;
	}
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
	near.near_bytes = sat_add(near.near_bytes, fetched);
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

/* Elements of a value that a kernel fills with one number. A scatter of single rows does that
 * itself, where it adds to them; what a loop writes all of is not filled before. */
static int64_t filled_elements(const simulator *s, const lowered *l, const kernel *k)
{
	const sim_op *so = &s->ops[k->root];
	const lop *o = &l->ops.p[k->root];
	if (s->dev.target != TARGET_TPU || k->members != 1 || k->n_reads > 1 ||
		(k->n_reads && !is_little(k->read[0].elements, k->written)) || o->n_results != 1 ||
		so->work == UINT32_MAX || so->class != CLASS_ELEMENTWISE || !work_at(s, so)->fills)
		return 0;
	const sim_val *v = &s->vals[o->results];
	lop_id reader = MIN(v->external_min, MIN(v->copied_min, v->group_min));
	if (reader == ID_NONE)
		return k->written;
	if (l->ops.p[reader].kind == LOP_REGION)
		return 0;
	if (s->ops[reader].class != CLASS_OTHER)
		return k->written;
	return s->ops[reader].windows_work ? in_whole_tiles(&s->ops[reader], k->written) : 0;
}

/* What is left of a kernel that shares its largest operand with the one that makes it, or with
 * another one that reads it. Beside a product what is on the chip is read for nothing. */
static void leave_shared(const simulator *s, kernel *k, const sim_op *product)
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
	if (product && has_convolution(s, product))
		k->around.bytes = 0;
}

static void measure_kernel(simulator *s, const lowered *l, lop_id root)
{
	kernel k = {.root = root};
	run *r = add_run(s, RUN_KERNEL, root);
	for (lop_id m = s->ops[root].first_member; m != ID_NONE; m = s->ops[m].next)
		add_member(s, l, &k, m);
	while (s->stack.n)
		add_member(s, l, &k, vec_pop(&s->stack));
	end_run(s);
	k.around.vector_ns = vector_time_ns(&s->dev, k.vector_flops);
	k.around.matmul_ns = MAX(k.around.matmul_ns, k.stored_ns);
	const sim_op *product;
	bool joins = joins_other(s, &k, &product);
	k.around.streams = is_stream(s, &k);
	if (joins) {
		leave_shared(s, &k, product);
	} else if (!k.around.matmul_ns && k.n_reads) {
		bool lone = is_lone(s, l, &k);
		k.around.streams &= !lone;
		if (!k.around.streams)
			k.around.vector_ns =
				MAX(k.around.vector_ns, elements_time_ns(&s->dev, k.largest, lone));
		k.around.narrowed = k.vector_flops > 0 && 2 * k.full < k.largest ? k.largest : 0;
	}
	int64_t filled = filled_elements(s, l, &k);
	if (filled) {
		int bits = stored_bits(s, l, l->ops.p[root].results);
		k.around.vector_ns = fill_time_ns(&s->dev, sat_mul(filled, bits) / 8, bits);
		k.around.streams = false;
	}
	k.around.fused = k.around.matmul_ns && k.members > 1;
	k.around.several = k.n_large > 1;
	k.around.by_blocks = k.worked == 3 && !has_convolution(s, &s->ops[root]);
	if ((k.worked == 1 || k.worked == 2) &&
		k.around.front_bytes[k.worked == 1] > half_of_chip(s, root))
		k.around.again = k.worked;
	if (is_written_where_made(s, &k))
		r->ns = copy_time_ns(&s->dev, k.around.bytes);
	else if (!is_scalar_work(s, l, &k))
		r->ns = sat_add(contraction_kernel_ns(&s->dev, &k.around), launches_ns(s, &k, joins));
	r->early_ns = k.early_ns < 0 || k.around.matmul_ns ? -1 : sat_add(k.early_ns, r->ns);
	r->bytes = k.around.bytes;
	r->flops = k.flops;
	if (s->dev.on_chip_bytes)
		measure_fetch(s, r, &k, joins);
}

/* A reduce_scatter that the compiler makes an all_reduce of: all of it is in memory until its part
 * is read. */
static bool is_reduced_whole(const simulator *s, const lop *o)
{
	return o->coll == COLL_REDUCE_SCATTER && s->dev.target == TARGET_TPU &&
		tpu_reduces_whole(
			mesh_links_slice_devices(&s->links), lop_group_size(o), device_torus_dims(&s->dev));
}

static void measure_collective(simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id];
	run *r = add_run(s, RUN_COLLECTIVE, id);
	bool pieces = s->ops[id].pieces, whole = !pieces && is_reduced_whole(s, o);
	r->ns = collective_lookup(s, o,
		pieces      ? COLL_COLLECTIVE_PERMUTE /* from neighbour to neighbour */
			: whole ? COLL_ALL_REDUCE
					: (collective_kind)o->coll,
		&r->follows_ns, &r->link);
	if (pieces) { /* with the pieces at both ends of the loop, as long as one link takes for all:
		             XLA's schedules of annotated plans on v5e 4x4 and v5p 2x2x2 */
		int64_t n = s->ops[id].pieces;
		r->ns = n * r->ns / (n + 2), r->follows_ns = n * r->follows_ns / (n + 2);
	}
	if (whole)
		s->vals[o->results].bytes = MAX(s->vals[o->results].bytes, o->bytes);
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

/* What a loop runs on copies of is copied in front of it and, where the loop's result has a buffer
 * of its own, behind it. */
static int64_t copies_ns(const simulator *s, const lowered *l, const lop *o, const lop *open)
{
	int64_t ns = 0;
	for (uint32_t i = 0; i < o->n_results && i < open->n_results && i < open->n_operands; i++) {
		if (!loop_copies(s, l, open, i) || s->vals[o->results + i].base != o->results + i)
			continue;
		const ir_type *ty = type_get(l->p->m, l->vals.p[open->results + i].type);
		ns = sat_add(ns,
			reorder_time_ns(
				&s->dev, s->vals[open->results + i].bytes, elem_bits((enum elem)ty->elem)));
	}
	return ns;
}

/* From which place of a loop what it yields at place i comes as it is: i itself for all else. */
static uint32_t carried_from(const lowered *l, const lop *end, const lop *open, uint32_t i)
{
	lval_id v = operand_at(l, end, i);
	return v >= open->results && v < open->results + open->n_results ? v - open->results : i;
}

/* Is place i the first of a ring of places that trade what they hold? */
static bool leads_ring(const lowered *l, const lop *end, const lop *open, uint32_t i, uint32_t n)
{
	uint32_t at = carried_from(l, end, open, i);
	for (uint32_t steps = 1; at > i && at < n && steps < n; steps++)
		at = carried_from(l, end, open, at);
	return at == i;
}

/* What a loop carries to another place is copied there in every turn, on TPU; of values that trade
 * places one is put aside first (the key schedule of random bits, rolled: three copies for two). */
static int64_t traded_ns(const simulator *s, const lowered *l, const lop *end, const lop *open)
{
	int64_t ns = 0;
	uint32_t n = s->dev.target == TARGET_TPU ? MIN(end->n_operands, open->n_results) : 0;
	for (uint32_t i = 0; i < n; i++) {
		lval_id v = open->results + i;
		const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
		if (carried_from(l, end, open, i) == i || ty->kind != TYPE_TENSOR || ty->elements <= 1)
			continue;
		int64_t copies = leads_ring(l, end, open, i, n) ? 2 : 1,
				bytes = sat_mul(2, s->vals[v].bytes);
		ns = sat_add(
			ns, sat_mul(copies, sat_add(s->dev.op_launch_ns, memory_time_ns(&s->dev, bytes))));
	}
	return ns;
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
		r->ns = copies_ns(s, l, o, r->kind == RUN_REGION ? o : &l->ops.p[s->ops[id].begin]);
	if (form_of(l, o) == FORM_LOOP && r->kind == RUN_END)
		r->follows_ns = traded_ns(s, l, o, &l->ops.p[s->ops[id].begin]);
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
