#include "tests/unit/sim_fixture.h"

/* Traffic of the kernel that defines v; -1 when it runs inside another one. */
typedef struct run {
	simulator *s;
	cost c;
} run;

static run start(fix *f)
{
	run r = {.s = simulator_new(&f->p, f->m->shardings, &f->dev, &f->links, &f->dn)};
	simulate(r.s, &f->l, &r.c);
	return r;
}

static int64_t traffic(const run *r, const fix *f, lval_id v)
{
	uint32_t n;
	const op_event *e = &simulator_events(r->s, &n)[f->l.vals.p[v].def];
	return e->fused || e->end_ns == e->start_ns ? -1 : e->hbm_bytes;
}

static int64_t whole_traffic(const run *r)
{
	uint32_t n;
	int64_t sum = 0;
	const op_event *e = simulator_events(r->s, &n);
	for (uint32_t i = 0; i < n; i++)
		if (!e[i].fused && !e[i].stream)
			sum += e[i].hbm_bytes;
	return sum;
}

enum { B = 1024 * 1024 * 4, H = B / 2 /* in bfloat16 */ };

START_TEST(test_chain_is_one_kernel)
{
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024);
	lval_id a = fix_arg(&f, t), b = fix_arg(&f, t);
	lval_id x = fix_op(&f, OP_ADD, t, 2, a, b), y = fix_op(&f, OP_EXPONENTIAL, t, 1, x),
			z = fix_op(&f, OP_MULTIPLY, t, 2, y, a);
	fix_return(&f, 1, z);
	run r = start(&f);
	ck_assert_int_eq(traffic(&r, &f, x), -1);
	ck_assert_int_eq(traffic(&r, &f, y), -1);
	ck_assert_int_eq(traffic(&r, &f, z), 3 * B); /* a once, b, result */
	ck_assert_int_eq(r.c.temporary_bytes, 0);
	simulator_free(r.s);
	fix_release(&f);
}
END_TEST

/* Work is done again in each kernel that needs it; on CPU expensive work is written by the first,
 * and on GPU a tanh. */
START_TEST(test_copies_and_second_outputs)
{
	static const struct {
		op_kind kind;
		const char *device;
		bool written;
	} cases[] = {{OP_NEGATE, "h100", false}, {OP_EXPONENTIAL, "h100", false},
		{OP_TANH, "h100", true}, {OP_NEGATE, "cpu-host", false}, {OP_EXPONENTIAL, "cpu-host", true},
		{OP_TANH, "cpu-host", true}};
	for (size_t n = 0; n < COUNT_OF(cases); n++) {
		fix f;
		fix_init(&f, cases[n].device, "x=4");
		type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024), row = fix_type(&f, ELEM_F32, 1, 1024);
		lval_id a = fix_arg(&f, t);
		lval_id e = fix_op(&f, cases[n].kind, t, 1, a);
		lval_id sum = fix_op(&f, OP_REDUCE, row, 1, e);
		lval_id wide = fix_op(&f, OP_BROADCAST_IN_DIM, t, 1, sum),
				out = fix_op(&f, OP_DIVIDE, t, 2, e, wide);
		fix_return(&f, 1, out);
		run r = start(&f);
		ck_assert_int_eq(traffic(&r, &f, e), -1);
		ck_assert_int_eq(traffic(&r, &f, wide), -1);
		ck_assert_int_eq(traffic(&r, &f, sum), (cases[n].written ? 2 : 1) * B + 4096);
		ck_assert_int_eq(traffic(&r, &f, out), 2 * B + 4096);
		/* an elementwise copy is counted where it is computed: twice */
		double adds = r.c.flops_per_device;
		ck_assert_int_gt((int64_t)adds, 2 * 1024 * 1024);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* A chain of residual connections: each sum is written for the next one, not computed again from
 * the beginning. A sum that no sum reads is still computed where it is needed. */
START_TEST(test_sums_of_sums)
{
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024), row = fix_type(&f, ELEM_F32, 1, 1024);
	lval_id a = fix_arg(&f, t), b = fix_arg(&f, t), c = fix_arg(&f, t);
	lval_id x = fix_op(&f, OP_ADD, t, 2, a, b), x_row = fix_op(&f, OP_REDUCE, row, 1, x);
	lval_id y = fix_op(&f, OP_ADD, t, 2, x, c), y_row = fix_op(&f, OP_REDUCE, row, 1, y),
			y_max = fix_op(&f, OP_REDUCE, row, 1, y);
	fix_return(&f, 3, x_row, y_row, y_max);
	run r = start(&f);
	ck_assert_int_eq(traffic(&r, &f, x_row), 3 * B + 4096); /* reads a and b, writes x */
	ck_assert_int_eq(traffic(&r, &f, y), -1);
	ck_assert_int_eq(traffic(&r, &f, y_row), 2 * B + 4096);
	ck_assert_int_eq(traffic(&r, &f, y_max), 2 * B + 4096);
	simulator_free(r.s);
	fix_release(&f);
}
END_TEST

/* A softmax over scores: what is written and read of them and their numerators besides the
 * product's own operands. GPU: written, read for the maximum, read for exp and its sum, read for
 * the division (exp once more), written and read. CPU: exp is written beside its sum. TPU: one
 * kernel from the product to the numerators and their sum, which stay on the chip for the division
 * inside the next product. */
START_TEST(test_softmax_passes)
{
	static const struct {
		const char *device;
		int64_t passes;
	} rows[] = {{"h100", 6}, {"cpu-host", 7}, {"tpu-v5e", 0}};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		fix f;
		fix_init(&f, rows[i].device, "x=4");
		type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024), row = fix_type(&f, ELEM_F32, 1, 1024);
		lval_id q = fix_arg(&f, t), k = fix_arg(&f, t), scores = fix_dot(&f, q, k);
		lval_id max = fix_op(&f, OP_REDUCE, row, 1, scores),
				maxw = fix_op(&f, OP_BROADCAST_IN_DIM, t, 1, max);
		lval_id shifted = fix_op(&f, OP_SUBTRACT, t, 2, scores, maxw),
				e = fix_op(&f, OP_EXPONENTIAL, t, 1, shifted);
		lval_id sum = fix_op(&f, OP_REDUCE, row, 1, e),
				sumw = fix_op(&f, OP_BROADCAST_IN_DIM, t, 1, sum);
		lval_id p = fix_op(&f, OP_DIVIDE, t, 2, e, sumw), out = fix_dot(&f, p, k);
		fix_return(&f, 1, out);
		run r = start(&f);
		ck_assert_int_eq((whole_traffic(&r) - 4 * B) / B, rows[i].passes); /* less q, k, k, out */
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* TPU: numerators are made with their products where nothing stands between these and their
 * maximum, or products in bfloat16 were converted before that. Else a kernel of its own sums them
 * up. */
START_TEST(test_softmax_behind)
{
	enum { NOTHING, WORK, CONVERTED, CONVERTED_WORK, CASES };
	for (int k = 0; k < CASES; k++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4");
		bool narrow = k >= CONVERTED;
		type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024), row = fix_type(&f, ELEM_F32, 1, 1024),
				half = fix_type(&f, ELEM_BF16, 2, 1024, 1024);
		lval_id q = fix_arg(&f, narrow ? half : t), w = fix_arg(&f, narrow ? half : t);
		lval_id scores = fix_dot(&f, q, w), x = scores;
		x = narrow ? fix_op(&f, OP_CONVERT, t, 1, x) : x;
		x = k == WORK || k == CONVERTED_WORK ? fix_op(&f, OP_NEGATE, t, 1, x) : x;
		lval_id max = fix_op(&f, OP_REDUCE, row, 1, x),
				maxw = fix_op(&f, OP_BROADCAST_IN_DIM, t, 1, max);
		lval_id shifted = fix_op(&f, OP_SUBTRACT, t, 2, x, maxw),
				e = fix_op(&f, OP_EXPONENTIAL, t, 1, shifted);
		lval_id sum = fix_op(&f, OP_REDUCE, row, 1, e),
				sumw = fix_op(&f, OP_BROADCAST_IN_DIM, t, 1, sum);
		lval_id p = fix_op(&f, OP_DIVIDE, t, 2, e, sumw), out = fix_dot(&f, p, fix_arg(&f, t));
		fix_return(&f, 1, out);
		run r = start(&f);
		uint32_t n;
		const op_event *events = simulator_events(r.s, &n);
		int64_t made = events[f.l.vals.p[scores].def].start_ns,
				summed = events[f.l.vals.p[sum].def].start_ns;
		ck_assert_msg((made == summed) == (k != WORK), "case %d: %lld, %lld", k, (long long)made,
			(long long)summed);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* TPU: what ends a chain is made again in products, as the gradient of a softmax is, but written
 * for others. */
START_TEST(test_chains_into_products)
{
	for (int others = 0; others < 2; others++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4");
		type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024);
		lval_id a = fix_arg(&f, t), b = fix_arg(&f, t), c = fix_arg(&f, t);
		lval_id product = fix_op(&f, OP_MULTIPLY, t, 2, a, b),
				x = fix_op(&f, OP_SUBTRACT, t, 2, product, c);
		lval_id left = fix_dot(&f, x, fix_arg(&f, t));
		lval_id right = others ? fix_op(&f, OP_REVERSE, t, 1, x) : fix_dot(&f, fix_arg(&f, t), x);
		fix_return(&f, 2, left, right);
		run r = start(&f);
		ck_assert_msg((traffic(&r, &f, x) == -1) == !others, "%d", others);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* What two kernels read is made again in both, along however many ways they come to it. */
START_TEST(test_readers_are_kernels_not_ways)
{
	for (int steps = 1; steps <= 8; steps++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4");
		type_id t = fix_type(&f, ELEM_BF16, 2, 1024, 1024);
		lval_id a = fix_collective(&f, COLL_ALL_REDUCE, "x", fix_arg(&f, t), t),
				x = fix_op(&f, OP_NEGATE, t, 1, a), y = x;
		for (int i = 0; i < steps; i++)
			y = fix_op(&f, OP_ADD, t, 2, fix_op(&f, OP_MULTIPLY, t, 2, y, y), y);
		fix_return(&f, 2, fix_dot(&f, y, fix_arg(&f, t)), fix_dot(&f, fix_arg(&f, t), y));
		run r = start(&f);
		ck_assert_int_eq(traffic(&r, &f, x), -1);
		ck_assert_int_eq(traffic(&r, &f, y), -1);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* TPUs fuse elementwise work into matmuls on both sides, GPUs neither; transposes are free for
 * both. */
START_TEST(test_matmul_borders)
{
	for (int tpu = 0; tpu < 2; tpu++) {
		fix f;
		fix_init(&f, tpu ? "tpu-v5e" : "h100", "x=4");
		type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024);
		lval_id a = fix_arg(&f, t), b = fix_arg(&f, t), c = fix_arg(&f, t);
		lval_id before = fix_op(&f, OP_TANH, t, 1, a), turned = fix_op(&f, OP_TRANSPOSE, t, 1, b);
		lval_id d = fix_dot(&f, before, turned), after = fix_op(&f, OP_ADD, t, 2, d, c);
		fix_return(&f, 1, after);
		run r = start(&f);
		ck_assert_int_eq(traffic(&r, &f, turned), -1);
		ck_assert_int_eq(whole_traffic(&r), tpu ? 4 * B : 8 * B);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* What lies in front of which operand: work on both sides costs more than on one; what is made in
 * the program and fits on the chip is read again for nothing, an argument is not; work behind the
 * product is on no side. */
START_TEST(test_sides_of_a_matmul)
{
	enum { ONE, BOTH, BOTH_MADE, BOTH_SHARED, BEHIND, CASES };
	int64_t took[CASES];
	for (int c = 0; c < CASES; c++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4");
		f.dev.op_launch_ns = 0;
		f.dev.output_fusion = 0; /* the negation is not in the kernel of `other` */
		type_id t = fix_type(&f, ELEM_BF16, 2, 2048, 2048);
		lval_id a = fix_arg(&f, t), b = fix_arg(&f, t);
		if (c == BOTH_MADE) { /* written by kernels of their own */
			a = fix_collective(&f, COLL_ALL_REDUCE, "x", a, t);
			b = fix_collective(&f, COLL_ALL_REDUCE, "x", b, t);
		}
		lval_id l = fix_op(&f, OP_TANH, t, 1, a);
		lval_id r = c == ONE || c == BEHIND ? b : fix_op(&f, OP_NEGATE, t, 1, b);
		if (c == BOTH_SHARED) { /* computed again in another product, there on the left */
			lval_id other = fix_dot(&f, r, r);
			r = fix_op(&f, OP_NEGATE, t, 1, fix_op(&f, OP_ADD, t, 2, r, other));
		}
		lval_id d = fix_dot(&f, l, r),
				out = c == BEHIND ? fix_op(&f, OP_NEGATE, t, 1, fix_op(&f, OP_ADD, t, 2, d, d)) : d;
		fix_return(&f, 1, out);
		run done = start(&f);
		uint32_t n;
		const op_event *e = &simulator_events(done.s, &n)[f.l.vals.p[out].def];
		took[c] = e->end_ns - e->start_ns;
		simulator_free(done.s);
		fix_release(&f);
	}
	ck_assert_int_gt(took[BOTH], took[ONE]);
	ck_assert_int_lt(took[BOTH_MADE], took[BOTH]);
	ck_assert_int_le(took[BOTH_MADE],
		took[ONE]); /* not from memory at all; of one side, it is fetched meanwhile */
	ck_assert_int_gt(took[BOTH_SHARED], took[ONE]);
	ck_assert_int_eq(took[BEHIND], took[ONE]);
}
END_TEST

START_TEST(test_slices_and_updates)
{
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024), part = fix_type(&f, ELEM_F32, 2, 1, 1024),
			i32 = fix_type(&f, ELEM_I32, 0);
	lval_id a = fix_arg(&f, t), at = fix_arg(&f, i32);
	lval_id s = fix_op(&f, OP_DYNAMIC_SLICE, part, 3, a, at, at),
			n = fix_op(&f, OP_NEGATE, part, 1, s);
	lval_id big = fix_dot(&f, a, a), u = fix_op(&f, OP_DYNAMIC_UPDATE_SLICE, t, 4, big, n, at, at);
	lval_id out = fix_dot(&f, u, a);
	fix_return(&f, 1, out);
	run r = start(&f);
	ck_assert_int_eq(traffic(&r, &f, s), -1);
	ck_assert_int_eq(traffic(&r, &f, u),
		4096 + 4 + 4096); /* the slice of a, the index, the update; not the 4 MiB */
	ck_assert_int_eq(r.c.temporary_bytes, B); /* updated where it lies */
	simulator_free(r.s);
	fix_release(&f);
}
END_TEST

/* Reads parameters once and writes results once at least; at most every op reads its operands and
 * writes its results. */
START_TEST(test_bounds)
{
	for (uint64_t seed = 0; seed < 40; seed++)
		for (int tpu = 0; tpu < 2; tpu++) {
			fix f;
			fix_init(&f, tpu ? "tpu-v5e" : "h100", "x=4,y=2");
			fix_random(&f, seed, 60);
			run r = start(&f);
			int64_t upper = 0;
			for (uint32_t i = 0; i < f.l.ops.n; i++) {
				const lop *o = &f.l.ops.p[i];
				if (o->kind != LOP_COMPUTE &&
					!(o->kind == LOP_COLLECTIVE && o->coll == COLL_ALL_SLICE))
					continue;
				for (uint32_t k = 0; k < o->n_operands; k++)
					upper += f.l.vals.p[f.l.operands.p[o->operands + k]].bytes;
				for (uint32_t k = 0; k < o->n_results; k++)
					upper += f.l.vals.p[o->results + k].bytes;
			}
			ck_assert_int_le(whole_traffic(&r), upper);
			simulator_free(r.s);
			fix_release(&f);
		}
}
END_TEST

/* Every live op runs in exactly one place: a kernel's root, a member of one, or a collective;
 * kernels do not overlap. */
START_TEST(test_order)
{
	for (uint64_t seed = 100; seed < 130; seed++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4,y=2");
		fix_random(&f, seed, 80);
		run r = start(&f);
		uint32_t n;
		const op_event *e = simulator_events(r.s, &n);
		int64_t last = 0;
		for (uint32_t i = 0; i < n; i++) {
			const lop *o = &f.l.ops.p[i];
			if (o->kind == LOP_REGION || e[i].fused || e[i].stream || e[i].end_ns == e[i].start_ns)
				continue;
			ck_assert_int_ge(e[i].start_ns, last);
			last = e[i].end_ns;
		}
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* A product without a sum is computed where it is used; one of vectors takes in what is computed in
 * front of it. */
START_TEST(test_products_that_are_no_matmuls)
{
	static const char *const devices[] = {"h100", "tpu-v5e", "cpu-host"};
	for (size_t i = 0; i < COUNT_OF(devices); i++) {
		fix f;
		fix_init(&f, devices[i], "x=4");
		type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024),
				column = fix_type(&f, ELEM_F32, 2, 1024, 8),
				row = fix_type(&f, ELEM_F32, 2, 8, 1024);
		type_id one = fix_type(&f, ELEM_F32, 2, 1, 1 << 20),
				same = fix_type(&f, ELEM_F32, 2, 1 << 20, 1);
		lval_id a = fix_arg(&f, fix_type(&f, ELEM_F32, 2, 1024, 1)),
				b = fix_arg(&f, fix_type(&f, ELEM_F32, 2, 1, 1024)), c = fix_arg(&f, t);
		lval_id outer = fix_dot(&f, a, b), out = fix_op(&f, OP_ADD, t, 2, outer, c);
		lval_id x = fix_arg(&f, one), y = fix_arg(&f, same),
				shifted = fix_op(&f, OP_EXPONENTIAL, one, 1, x), sum = fix_dot(&f, shifted, y);
		lval_id p = fix_arg(&f, column), q = fix_arg(&f, row), matmul = fix_dot(&f, p, q),
				kept = fix_op(&f, OP_ADD, t, 2, matmul, c);
		fix_return(&f, 3, out, sum, kept);
		run r = start(&f);
		ck_assert_int_eq(traffic(&r, &f, outer), -1);
		ck_assert_int_le(traffic(&r, &f, out),
			2 * B + 2 * 1024 * 4 * 128); /* TPU: a column is stored in tiles */
		ck_assert_int_eq(traffic(&r, &f, shifted), -1);
		ck_assert_int_gt(traffic(&r, &f, sum), 2 * B);
		ck_assert_int_eq(traffic(&r, &f, matmul) == -1, f.dev.target == TARGET_TPU);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* A TPU counts on single numbers beside its kernels; elsewhere each is a kernel. */
START_TEST(test_single_numbers)
{
	for (int tpu = 0; tpu < 2; tpu++) {
		fix f;
		fix_init(&f, tpu ? "tpu-v5e" : "h100", "x=4");
		type_id number = fix_type(&f, ELEM_I32, 0), row = fix_type(&f, ELEM_F32, 1, 1024);
		lval_id i = fix_arg(&f, number), a = fix_arg(&f, row);
		lval_id next = fix_op(&f, OP_NEGATE, number, 1, i),
				sum = fix_op(&f, OP_REDUCE, fix_type(&f, ELEM_F32, 0), 1, a);
		fix_return(&f, 2, next, sum);
		run r = start(&f);
		uint32_t n;
		const op_event *e = simulator_events(r.s, &n);
		ck_assert_int_eq(e[f.l.vals.p[next].def].end_ns == e[f.l.vals.p[next].def].start_ns, tpu);
		ck_assert_int_gt(e[f.l.vals.p[sum].def].end_ns, e[f.l.vals.p[sum].def].start_ns);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* Fourier transforms are products of 128 points on TPU, sorts go through memory again and again on
 * GPU; on TPU values and made-up positions are turned to lie across rows, and back. */
START_TEST(test_transforms_and_sorts)
{
	int64_t ns[2][2];
	for (int tpu = 0; tpu < 2; tpu++)
		for (int sort = 0; sort < 2; sort++) {
			fix f;
			fix_init(&f, tpu ? "tpu-v5e" : "h100", "x=4");
			type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024);
			lval_id a = fix_arg(&f, t), out = fix_op(&f, sort ? OP_SORT : OP_NEGATE, t, 1, a);
			fix_return(&f, 1, out);
			run r = start(&f);
			ns[tpu][sort] = traffic(&r, &f, out);
			simulator_free(r.s);
			fix_release(&f);
		}
	ck_assert_int_eq(ns[1][1], ns[1][0] / 2 * (2 + 2 * 4 + 1));
	ck_assert_int_eq(ns[0][1], ns[0][0] / 2 * 9); /* four passes, and once to count */
	op_work w = {.dft_stages = 2, .dft_elements = 1 << 20};
	work_as_dft(&w);
	ck_assert_int_eq(w.blocks, 2);
	ck_assert_int_eq(w.matmul_flops, 2ll * 3 * 128 << 20);
}
END_TEST

/* A product's result is read from the chip as long as what is written since fits there; else it is
 * written to memory and read again, and so where the device has no such memory. A loop keeps what
 * it reads and carries on the chip, from one iteration to the next, as far as it fits. */
START_TEST(test_memory_on_the_chip)
{
	enum { NEAR, FAR, LOOP, HALF, FULL, NONE, CASES };
	for (int c = 0; c < CASES; c++) {
		fix f;
		fix_init(&f, c == NONE ? "h100" : "tpu-v5e", "x=4");
		bool in_loop = c == LOOP || c == HALF || c == FULL;
		if (c != NONE)
			f.dev.on_chip_bytes = (c == FAR || c == HALF ? 2 : c == FULL ? 1 : 4) * H;
		type_id t = fix_type(&f, ELEM_BF16, 2, 1024, 1024), flag = fix_type(&f, ELEM_I1, 0);
		lval_id a = fix_arg(&f, t), first = fix_dot(&f, a, a), next = first;
		for (int i = 0; i < 2; i++)
			next = fix_dot(&f, next, a);
		lop_id loop = in_loop ? fix_region(&f, OP_WHILE, 5, &next, 1) : ID_NONE;
		lval_id carried = in_loop ? fix_result(&f, loop) : next;
		if (in_loop) {
			lval_id cond = fix_op(&f, OP_CONSTANT, flag, 0);
			fix_else(&f, &cond, 1);
		}
		lval_id out = fix_dot(&f, carried, first);
		if (in_loop)
			fix_return(&f, 1, fix_result(&f, fix_end(&f, &out, 1)));
		else
			fix_return(&f, 1, out);
		run r = start(&f);
		bool stays = c == NEAR;
		int64_t of_last[CASES] = {H, 2 * H, 0, H, 3 * H, 3 * H}; /* HALF: has room for one of two */
		ck_assert_int_eq(traffic(&r, &f, first), stays ? H : 2 * H);
		ck_assert_int_eq(traffic(&r, &f, out), of_last[c]);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* Of two values the one that an inner loop reads is kept on the chip, for it is read more often. */
START_TEST(test_inner_loops_go_first)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	f.dev.on_chip_bytes = 3 * B / 2; /* for one value */
	type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024), flag = fix_type(&f, ELEM_I1, 0);
	lval_id a = fix_arg(&f, t), b = fix_arg(&f, t), x = fix_arg(&f, t);
	lop_id outer = fix_region(&f, OP_WHILE, 3, &x, 1);
	lval_id cond = fix_op(&f, OP_CONSTANT, flag, 0);
	fix_else(&f, &cond, 1);
	lval_id y = fix_dot(&f, fix_result(&f, outer), a);
	lop_id inner = fix_region(&f, OP_WHILE, 3, &y, 1);
	cond = fix_op(&f, OP_CONSTANT, flag, 0);
	fix_else(&f, &cond, 1);
	lval_id z = fix_dot(&f, fix_result(&f, inner), b);
	lval_id carried = fix_result(&f, fix_end(&f, &z, 1));
	fix_return(&f, 1, fix_result(&f, fix_end(&f, &carried, 1)));
	run r = start(&f);
	ck_assert_int_eq(
		traffic(&r, &f, z), 2 * B); /* what the inner loop carries is read and written */
	simulator_free(r.s);
	fix_release(&f);
}
END_TEST

/* A loop keeps what it reads most of, whatever comes first: of two weights the larger one, which
 * leaves no room for the other. */
START_TEST(test_loops_keep_what_they_read_most_of)
{
	for (int room = 0; room < 2; room++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4");
		f.dev.on_chip_bytes = room ? 8 * H : 5 * H / 2; /* kernels keep an eighth */
		f.dev.prefetch_bytes = 2 * H;
		type_id row = fix_type(&f, ELEM_BF16, 2, 256, 1024),
				wide = fix_type(&f, ELEM_BF16, 2, 256, 2048),
				t = fix_type(&f, ELEM_BF16, 2, 1024, 1024),
				up = fix_type(&f, ELEM_BF16, 2, 1024, 2048), flag = fix_type(&f, ELEM_I1, 0);
		lval_id small = fix_arg(&f, t), large = fix_arg(&f, up), x = fix_arg(&f, row);
		lop_id loop = fix_region(&f, OP_WHILE, 5, &x, 1);
		lval_id cond = fix_op(&f, OP_CONSTANT, flag, 0);
		fix_else(&f, &cond, 1);
		lval_id y = fix_dot(&f, fix_result(&f, loop), large), z = fix_op(&f, OP_TANH, wide, 1, y);
		lval_id part = fix_op(&f, OP_SLICE, row, 1, z), out = fix_dot(&f, part, small);
		fix_return(&f, 1, fix_result(&f, fix_end(&f, &out, 1)));
		run r = start(&f);
		uint32_t n;
		const op_event *e = simulator_events(r.s, &n), *by_small = &e[f.l.vals.p[out].def];
		ck_assert_int_lt(traffic(&r, &f, y), H);
		ck_assert((by_small->end_ns - by_small->start_ns > memory_time_ns(&f.dev, H)) == !room);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* One value may take nearly all of the chip, but not what kernels need for themselves. */
START_TEST(test_one_value_fills_the_chip)
{
	for (int fits = 0; fits < 2; fits++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4");
		f.dev.on_chip_bytes = H + H / 8 + fits * H / 16; /* of 8/7 on it fits */
		type_id t = fix_type(&f, ELEM_BF16, 2, 1024, 1024);
		lval_id a = fix_arg(&f, t), first = fix_dot(&f, a, a), out = fix_dot(&f, first, a);
		fix_return(&f, 1, out);
		run r = start(&f);
		ck_assert_int_eq(traffic(&r, &f, first), fits ? H : 2 * H);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

static int64_t time_of_kernel(const run *r, const fix *f, lval_id v)
{
	uint32_t n;
	const op_event *e = &simulator_events(r->s, &n)[f->l.vals.p[v].def];
	return e->end_ns - e->start_ns;
}

/* A kernel takes as long as its elements do, however few bytes they are. A sum of what another
 * kernel makes is made there where all else that it reads is there by then, and where another sum
 * reads the same. */
START_TEST(test_elements)
{
	int64_t ns[2][3];
	for (int bound = 0; bound < 2; bound++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4");
		f.dev.op_launch_ns = 0;
		f.dev.lone_elements_s = 0;
		f.dev.vector_elements_s = 0;
		f.dev.vector_bytes_s[0] = f.dev.vector_bytes_s[1] = bound ? 1ll << 30 : 0;
		type_id t = fix_type(&f, ELEM_I8, 2, 1024, 1024), row = fix_type(&f, ELEM_I8, 1, 1024);
		lval_id a = fix_arg(&f, t), b = fix_arg(&f, t), x = fix_op(&f, OP_ADD, t, 2, a, b);
		lval_id one = fix_op(&f, OP_REDUCE, row, 1, a), two = fix_op(&f, OP_REDUCE, row, 1, a);
		fix_return(&f, 3, x, one, two);
		run r = start(&f);
		ns[bound][0] = time_of_kernel(&r, &f, x);
		ns[bound][1] = time_of_kernel(&r, &f, one), ns[bound][2] = time_of_kernel(&r, &f, two);
		simulator_free(r.s);
		fix_release(&f);
	}
	/* two are read, and 2^20 results of fewer than 32 bits made, which are copied out later */
	ck_assert_int_gt(ns[1][0], 1000000000ll * 6 / 1024 - 2);
	ck_assert_int_lt(ns[0][0], ns[1][0] / 2);
	ck_assert_int_gt(ns[1][1], 1000000000ll * 5 / 1024 - 2);
	ck_assert_int_lt(ns[1][2], ns[1][1] / 100);
	ck_assert_int_gt(ns[0][2], ns[0][1] / 4); /* no part of another kernel */
}
END_TEST

/* What reads a value behind a reshape can still make it again. */
START_TEST(test_behind_a_reshape)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	f.dev.vector_bytes_s[0] = 0; /* both stay kernels of their own */
	type_id half = fix_type(&f, ELEM_BF16, 2, 1024, 1024),
			t = fix_type(&f, ELEM_F32, 2, 1024, 1024),
			split = fix_type(&f, ELEM_F32, 3, 1024, 16, 64);
	lval_id a = fix_arg(&f, half), wide = fix_op(&f, OP_CONVERT, t, 1, a);
	lval_id parts = fix_op(&f, OP_RESHAPE, split, 1, wide);
	lval_id x = fix_op(&f, OP_NEGATE, split, 1, parts), y = fix_op(&f, OP_ABS, split, 1, parts);
	fix_return(&f, 2, x, y);
	run r = start(&f);
	ck_assert_int_eq(traffic(&r, &f, wide), -1);
	ck_assert_int_eq(whole_traffic(&r), 2 * (B / 2) + 2 * B);
	simulator_free(r.s);
	fix_release(&f);
}
END_TEST

/* What is larger or smaller than what it is made of is no second result of the kernel that makes
 * that. */
START_TEST(test_second_results_are_alike)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	f.dev.op_launch_ns = 0;
	type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024), more = fix_type(&f, ELEM_F32, 2, 1024, 1032);
	lval_id a = fix_arg(&f, t), b = fix_arg(&f, t), x = fix_op(&f, OP_ADD, t, 2, a, b);
	lval_id padded = fix_op(&f, OP_PAD, more, 1, x), same = fix_op(&f, OP_ABS, t, 1, x);
	fix_return(&f, 3, x, padded, same);
	run r = start(&f);
	ck_assert_int_gt(time_of_kernel(&r, &f, padded), time_of_kernel(&r, &f, same) * 3 / 2);
	simulator_free(r.s);
	fix_release(&f);
}
END_TEST

/* A mask that is made from one value is made again where it is read on TPU, elsewhere its smaller
 * result is. */
START_TEST(test_masks)
{
	for (int tpu = 0; tpu < 2; tpu++) {
		fix f;
		fix_init(&f, tpu ? "tpu-v5e" : "h100", "x=4");
		f.dev.vector_bytes_s[0] = 0; /* both stay kernels of their own */
		type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024),
				flags = fix_type(&f, ELEM_I1, 2, 1024, 1024);
		lval_id a = fix_arg(&f, t), b = fix_arg(&f, t), c = fix_arg(&f, t);
		lval_id mask = fix_op(&f, OP_COMPARE, flags, 2, a, a);
		lval_id x = fix_op(&f, OP_SELECT, t, 3, mask, b, c),
				y = fix_op(&f, OP_SELECT, t, 3, mask, c, b);
		fix_return(&f, 2, x, y);
		run r = start(&f);
		ck_assert_int_eq(
			traffic(&r, &f, mask), -1); /* elsewhere written by the first that reads it */
		/* on a TPU it stays on the chip between the two */
		ck_assert_int_eq(whole_traffic(&r), tpu ? 7 * B : 7 * B + B / 2);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* A mask is kept in the place of what nothing else reads, on TPU: of random bits, not of what
 * passes an activation function. */
START_TEST(test_masks_of_bits)
{
	enum { M = 1024 * 1024, OF_A_SINE = 150 };
	for (int anyway = 0; anyway < 2; anyway++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4");
		type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024),
				flags = fix_type(&f, ELEM_I1, 2, 1024, 1024);
		lval_id a = fix_arg(&f, t), b = fix_arg(&f, t), c = fix_arg(&f, t);
		lval_id bits = fix_op(&f, OP_SINE, t, 1, a),
				mask = fix_op(&f, OP_COMPARE, flags, 2, bits, bits);
		lval_id x = fix_op(&f, OP_SELECT, t, 3, mask, b, c),
				s = fix_collective(&f, COLL_ALL_REDUCE, "x", x, t),
				y = fix_op(&f, OP_SELECT, t, 3, mask, s, b);
		fix_return(&f, 1, anyway ? fix_op(&f, OP_ADD, t, 2, y, a) : y);
		run r = start(&f);
		int64_t sines = (int64_t)r.c.flops_per_device / (OF_A_SINE * (int64_t)M);
		ck_assert_int_eq(sines, anyway ? 2 : 1);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* What contractions in default precision alone read is written in bfloat16 on TPU, also what is
 * summed over devices, and behind what only moves it. */
START_TEST(test_rounded_operands)
{
	enum { TWO_PRODUCTS, TRANSPOSED, REDUCED, ALSO_ADDED, WAYS };
	for (int way = 0; way < 2 * WAYS; way++) {
		bool tpu = way < WAYS;
		fix f;
		fix_init(&f, tpu ? "tpu-v5e" : "h100", "x=4");
		f.dev.on_chip_bytes = 0;
		type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024);
		lval_id a = fix_arg(&f, t), b = fix_arg(&f, t);
		lval_id h = fix_dot(&f, a, b), read = h;
		if (way % WAYS == TRANSPOSED)
			read = fix_op(&f, OP_TRANSPOSE, t, 1, h);
		if (way % WAYS == REDUCED)
			read = fix_collective(&f, COLL_ALL_REDUCE, "x", h, t);
		lval_id x = fix_dot(&f, read, b), y = fix_dot(&f, a, read);
		if (way % WAYS == ALSO_ADDED)
			x = fix_op(&f, OP_ADD, t, 2, x, h);
		fix_return(&f, 2, x, y);
		run r = start(&f);
		bool halved = tpu && way % WAYS != ALSO_ADDED;
		ck_assert_int_eq(traffic(&r, &f, y), halved ? 2 * B + B / 2 : 3 * B);
		ck_assert_int_eq(traffic(&r, &f, h), halved && way != REDUCED ? 2 * B + B / 2 : 3 * B);
		simulator_free(r.s);
		fix_release(&f);
	}
}
END_TEST

/* Work nobody uses is not done. */
START_TEST(test_dead_work)
{
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024);
	lval_id a = fix_arg(&f, t), dead = fix_dot(&f, a, a),
			sum = fix_collective(&f, COLL_ALL_REDUCE, "x", dead, t);
	fix_op(&f, OP_ADD, t, 2, sum, a);
	lval_id out = fix_op(&f, OP_NEGATE, t, 1, a);
	fix_return(&f, 1, out);
	cost c = fix_simulate(&f);
	ck_assert_int_eq(c.communication_ns, 0);
	ck_assert_int_eq(c.collectives[COLL_ALL_REDUCE].count, 0);
	ck_assert_int_eq((int64_t)c.flops_per_device, 1024 * 1024);
	fix_release(&f);
}
END_TEST

int main(void)
{
	const TTest *tests[] = {test_chain_is_one_kernel, test_copies_and_second_outputs,
		test_sums_of_sums, test_softmax_passes, test_softmax_behind, test_chains_into_products,
		test_readers_are_kernels_not_ways, test_matmul_borders, test_products_that_are_no_matmuls,
		test_single_numbers, test_transforms_and_sorts, test_sides_of_a_matmul,
		test_slices_and_updates, test_bounds, test_order, test_memory_on_the_chip,
		test_inner_loops_go_first, test_loops_keep_what_they_read_most_of,
		test_one_value_fills_the_chip, test_elements, test_behind_a_reshape,
		test_second_results_are_alike, test_masks, test_masks_of_bits, test_rounded_operands,
		test_dead_work};
	return run_tests(tests, COUNT_OF(tests), "fusion");
}
