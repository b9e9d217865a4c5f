/* Copies that compilers put in front of kernels and behind them, because an op wants the dims of
 * what it reads or makes in another order than what stands beside it; and the pieces of windowed
 * einsums. */
#include "simulator/kernel.h"

/* Time to bring a value into the order in which windows lie, or back. work: its elements in whole
 * tiles. libtpu 0.0.51 on v5e, 65,536 windows of 2 to 16 rows of 8 to 128 numbers (`windows` in
 * tests/judged/kernels.py): tiles pass through the vector unit, in main memory as if they were
 * full, and what is in them is reordered. */
static int64_t windows_copy_ns(
	const simulator *s, lop_id id, int64_t elements, int64_t work, int64_t stored, int bits)
{
	if (stored <= most_on_chip(s, id))
		return elements_time_ns(&s->dev, sat_mul(stored, 8) / MAX(bits, 1), false);
	int64_t t = elements_time_ns(&s->dev, work, false), rate = s->dev.reorder_elements_s;
	return rate ? sat_add(t, (int64_t)((__int128)elements * 1000000000 / rate)) : t;
}

/* What lies as windows do is copied for those that want it otherwise. */
void kernel_leave_windows(const simulator *s, const lowered *l, kernel *k, lop_id id, int64_t n)
{
	if (s->ops[id].windows_stored <= 1024)
		return;
	lval_id v = l->ops.p[id].results;
	int bits = stored_bits(s, l, v);
	int64_t elements = sat_mul(l->vals.p[v].bytes, 8) / bits,
			work = (int64_t)((__int128)elements * s->ops[id].windows_work / 1024);
	k->apart_ns = sat_add(
		k->apart_ns, sat_mul(n, windows_copy_ns(s, id, elements, work, s->vals[v].bytes, bits)));
}

/* Where several products read a concatenation libtpu 0.0.51 has a kernel for each of its parts, and
 * each goes through all of the result (`pieces` in tests/judged/kernels.py). The first is the
 * kernel itself; on the chip they are not counted. */
void kernel_add_parts(const simulator *s, kernel *k, const lop *o, int64_t n)
{
	const sim_val *v = &s->vals[o->results];
	if (s->dev.target != TARGET_TPU || !v->materialised || !v->into_products || o->n_operands < 2 ||
		v->bytes <= half_of_chip(s, k->root))
		return;
	k->apart_ns = sat_add(k->apart_ns,
		sat_mul(sat_mul(n, o->n_operands - 1), memory_time_ns(&s->dev, sat_mul(2, v->bytes))));
}

/* Time to copy what a gather or a scatter of windows reads, unless it lies so already; zeros are
 * written so. */
static int64_t bring_windows_ns(
	const simulator *s, const lowered *l, lop_id id, lval_id v, const struct op_rows *r)
{
	const sim_op *def = &s->ops[s->vals[v].def];
	int64_t work = padded_rows_elements(&s->dev, r);
	bool lies = def->windows_work && def->class != CLASS_REDUCE;
	bool fills =
		def->class == CLASS_ELEMENTWISE && def->work != UINT32_MAX && work_at(s, def)->fills;
	if (lies || fills || work == r->elements || !padded_rows_bytes(&s->dev, r))
		return 0; /* rows that fill the lanes lie so as arguments do */
	return windows_copy_ns(
		s, id, r->elements, work, padded_rows_bytes(&s->dev, r), stored_bits(s, l, v));
}

/* Time to copy a table of eight bits, which lies with other dims in its tiles where windows have
 * fewer rows than a word, into tiles of such rows and back. libtpu 0.0.51: 465 and 246 us of 32 x
 * 2048 x 2 x 128 on v5e, 175 and 60 on v5p, 252 and 196 on v6e (`caches` in
 * tests/judged/kernels.py). */
static int64_t packed_copies_ns(const simulator *s, const struct op_rows *r)
{
	int64_t elements = sat_add(padded_rows_bytes(&s->dev, r), r->elements), /* a byte each */
		rate = s->dev.reorder_elements_s, ns = elements_time_ns(&s->dev, elements, false);
	return rate ? sat_add(ns, (int64_t)((__int128)elements * 1000000000 / rate)) : ns;
}

/* Time to bring rows that do not fill the lanes onto the chip in the order that a scatter wants,
 * and back, of an argument that lies otherwise. libtpu 0.0.51: 18 us each way of 65,536 rows of 2
 * and 8 numbers on v5e, 43 of 64; 30 and 8, 41 and 17 on v5p; 16 and 30 on v6e (`caches` there). */
static int64_t narrow_copies_ns(const simulator *s, const struct op_rows *r)
{
	int64_t bits = MAX(elem_bits((enum elem)r->elem), 8), bytes = sat_mul(r->elements, bits) / 8,
			there = sat_mul(padded_rows_bytes(&s->dev, r), 8) / bits;
	return sat_add(transposed_time_ns(&s->dev, bytes, (int)bits, 2),
		matmul_results_ns(&s->dev, sat_mul(2, there), false, true));
}

/* Rows that gathers and scatters want in another order than all else. On the chip copies are soon
 * made, of what is read as long as there is room for more than that; not so those of an argument
 * that is written into. */
void kernel_add_rows(
	const simulator *s, const lowered *l, kernel *k, const work_entry *w, lop_id id, int64_t n)
{
	const lop *o = &l->ops.p[id];
	const struct op_rows *read = w->in_place ? &w->rows[1] : &w->rows[0],
						 *made = w->in_place ? &w->rows[0] : &w->rows[1];
	int64_t most = w->in_place ? most_on_chip(s, id) : s->dev.on_chip_bytes / 8, ns = 0;
	if (w->in_place && made->rows && made->row % s->dev.tile_minor == 0) {
		ns = packed_copies_ns(s, made);
	} else if (w->windows_work && (read->rows || made->rows)) {
		ns =
			bring_windows_ns(s, l, id, operand_at(l, o, w->in_place ? o->n_operands - 1 : 0), read);
		if (w->in_place)
			ns = sat_add(ns, bring_windows_ns(s, l, id, operand_at(l, o, 0), made));
	} else {
		const sim_op *def = &s->ops[s->vals[operand_at(l, o, o->n_operands - 1)].def];
		bool lies = w->in_place && def->windows_work && def->class != CLASS_REDUCE;
		if (!lies && read->row && padded_rows_bytes(&s->dev, read) > s->dev.on_chip_bytes / 8)
			ns = padded_rows_ns(&s->dev, read);
		if (!s->ops[id].windows_work && made->row && padded_rows_bytes(&s->dev, made) > most)
			ns = sat_add(ns, padded_rows_ns(&s->dev, made));
		else if (w->in_place && made->row && s->vals[base_of(s, operand_at(l, o, 0))].argument)
			ns = sat_add(ns, narrow_copies_ns(s, made));
	}
	k->apart_ns = sat_add(k->apart_ns, sat_mul(n, ns));
}

bool fills_lanes(const simulator *s, const lowered *l, lval_id v)
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
void kernel_arrange_for_batch(
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
		int64_t ns = reorder_time_ns(&s->dev, sat_mul(elements, bits / 8), bits);
		k->apart_ns = sat_add(k->apart_ns, sat_mul(n, ns));
		if (i == 2)
			s->vals[v[i]].copy_ns = ns;
	}
}

/* What such a product made, transposed or not; NULL: something else. */
static sim_val *arranged_result(const simulator *s, const lowered *l, lval_id v)
{
	const sim_op *def = &s->ops[s->vals[v].def];
	if (def->work != UINT32_MAX && work_at(s, def)->transpose)
		v = base_of(s, operand_at(l, &l->ops.p[s->vals[v].def], 0));
	return s->vals[v].copy_ns ? &s->vals[v] : NULL;
}

/* Its copy has the dims in the rows of tiles that one product contracts. A product that contracts
 * others, as the gradient of weights beside that of what they were multiplied with, reads a second
 * copy: libtpu 0.0.51, attention over 49 places (`places` in tests/judged/kernels.py). */
void kernel_arrange_again(
	simulator *s, const lowered *l, kernel *k, const lop *o, const work_entry *w, int64_t n)
{
	for (uint32_t i = 0; i < 2 && i < o->n_operands && w->products; i++) {
		lval_id v = base_of(s, operand_at(l, o, i));
		sim_val *read = &s->vals[v], *made = arranged_result(s, l, v);
		if (!made)
			continue;
		uint32_t dims = w->dims.contracted[i];
		if (!read->read_as)
			read->read_as = dims;
		else if (read->read_as != dims && !read->read_again) {
			read->read_again = true;
			k->apart_ns = sat_add(k->apart_ns, sat_mul(n, made->copy_ns));
		}
	}
}

int64_t last_dim(const lowered *l, lval_id v)
{
	const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
	if (ty->rank < 3)
		return INT64_MAX;
	const sharding *sh = sharding_get(l->shardings, l->vals.p[v].sharding);
	return MAX(ceil_div(ty->dims[ty->rank - 1], sharding_dim_parts(sh, ty->rank - 1)), 1);
}

/* Which operand of a product has the minor dim of what it makes, as whoever takes that, behind its
 * collective, wants it: the second one, or the first one where it is transposed. */
static uint32_t minor_operand(const simulator *s, const lowered *l, const lop *o)
{
	enum { NEAR = 8 /* ops behind it */ };
	lval_id v = o->results;
	uint32_t minor = 1;
	for (lop_id i = (lop_id)(o - l->ops.p) + 1, end = i + NEAR; i < l->ops.n && i < end; i++) {
		const lop *r = &l->ops.p[i];
		bool turns = s->ops[i].work != UINT32_MAX && work_at(s, &s->ops[i])->transpose;
		if (!r->n_operands || operand_at(l, r, 0) != v)
			continue;
		if (r->kind != LOP_COLLECTIVE && !turns)
			break;
		minor ^= turns;
		v = r->results;
	}
	return minor;
}

/* Is it the operand that is cut of which the contracted dim comes into the lanes? It is where it
 * has the rows of the result, or where its pieces would share lanes otherwise; with libtpu 0.0.51
 * for v6e, whose unit multiplies 256 columns, it always is (`scattered` in
 * tests/judged/partitioned.py). */
static bool copies_cut(const simulator *s, const lowered *l, const lop *o, uint32_t cut)
{
	const sim_op *so = &s->ops[o - l->ops.p];
	return s->dev.tile_n > s->dev.tile_minor || minor_operand(s, l, o) != cut ||
		last_dim(l, operand_at(l, o, cut)) / so->pieces % s->dev.tile_minor;
}

/* What each iteration of a windowed einsum needs all of is read again by each, unless it is on the
 * chip. Where the sum is scattered, one operand is first copied with the contracted dim in its
 * lanes, from the chip or to it unless it is larger. */
void kernel_read_pieces(simulator *s, const lowered *l, kernel *k, const lop *o)
{
	const sim_op *so = &s->ops[o - l->ops.p];
	if (so->whole == WINDOW_NO_OPERAND)
		return;
	lval_id whole = base_of(s, operand_at(l, o, so->whole)),
			cut = base_of(s, operand_at(l, o, !so->whole));
	if (whole != s->prefetched.val && !reaches(s, l, &s->vals[whole], k->at))
		kernel_add_bytes(k, so->pieces / 2 - 1, s->vals[whole].bytes);
	if (so->window != WINDOW_SCATTER)
		return;
	lval_id copied = copies_cut(s, l, o, !so->whole) ? cut : whole;
	int sides = s->vals[copied].bytes > most_on_chip(s, k->root) ? 2 : 1; /* in main memory */
	k->apart_ns = sat_add(k->apart_ns,
		transposed_time_ns(&s->dev, s->vals[copied].bytes, stored_bits(s, l, copied), sides));
}

/* The loop of a windowed einsum multiplies two pieces at a time. Where an operand is gathered it
 * begins with a result of zeros, into which it writes each piece; where the sum is scattered it
 * adds each piece to one that travels. libtpu 0.0.51 on v5e (docs/judged.md). */
void kernel_add_pieces(
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

/* A gather of the partitioner along several dims: its parts are brought into order once. */
void kernel_arrange_gathered(simulator *s, const lowered *l, kernel *k, lop_id id)
{
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
	k->apart_ns = sat_add(k->apart_ns, parts_time_ns(&s->dev, sat_mul(o->bytes, 8) / bits));
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
void kernel_add_scattered_features(
	const simulator *s, const lowered *l, kernel *k, const lop *o, const work_entry *w, int64_t n)
{
	enum { SLOWER = 10 };
	if (w->few_features && s->dev.target == TARGET_TPU && o->n_operands == 2 &&
		is_kernel_moved(s, l, o))
		k->apart_ns = sat_add(k->apart_ns, sat_mul(n, sat_mul(SLOWER, w->matmul_ns)));
}

/* What reads beyond its part is counted as reading a copy with the borders in place. libtpu 0.0.51
 * pads them in the kernel of the convolution (`borders` in tests/judged/partitioned.py); without
 * the copy pictures come nearer, and sounds do not. Windows of reductions take them up themselves.
 */
void kernel_arrange_borders(simulator *s, const lowered *l, kernel *k, lop_id id, bool matmul)
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
