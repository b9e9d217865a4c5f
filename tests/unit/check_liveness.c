#include "tests/unit/sim_fixture.h"

enum { B = 1024 * 1024 * 4 };

static type_id square(fix *f) { return fix_type(f, ELEM_F32, 2, 1024, 1024); }

START_TEST(test_chain)
{
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id t = square(&f);
	lval_id a = fix_arg(&f, t), x = fix_dot(&f, a, a), y = fix_dot(&f, x, a), z = fix_dot(&f, y, a),
			out = fix_dot(&f, z, a);
	fix_return(&f, 1, out);
	cost c = fix_simulate(&f);
	ck_assert_int_eq(c.argument_bytes, B);
	ck_assert_int_eq(c.output_bytes, B);
	ck_assert_int_eq(c.alias_bytes, 0);
	ck_assert_int_eq(c.temporary_bytes, 2 * B); /* x and y, y and z; the result is output */
	ck_assert_int_eq(c.peak_bytes, 4 * B);
	fix_release(&f);
}
END_TEST

/* Values kept for the backward pass add up. */
START_TEST(test_saved_activations)
{
	enum { LAYERS = 10 };
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id t = square(&f);
	lval_id a = fix_arg(&f, t), h[LAYERS + 1], g;
	h[0] = a;
	for (int i = 0; i < LAYERS; i++)
		h[i + 1] = fix_dot(&f, h[i], a);
	g = h[LAYERS];
	for (int i = LAYERS; i-- > 0;)
		g = fix_dot(&f, g, h[i]);
	fix_return(&f, 1, g);
	cost c = fix_simulate(&f);
	ck_assert_int_eq(
		c.temporary_bytes, (LAYERS + 1) * (int64_t)B); /* h[1..10] and the first gradient */
	fix_release(&f);
}
END_TEST

/* A TPU keeps there what is read before as much as the chip holds was written, but for operands and
 * results of collectives. */
START_TEST(test_memory_on_the_chip)
{
	enum { H = B / 2, MOST = 128 << 20 /* v5e */ };
	for (int extra = 0; extra < 2; extra++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4");
		type_id t = fix_type(&f, ELEM_BF16, 2, 1024, 1024);
		lval_id a = fix_arg(&f, t), x = fix_dot(&f, a, a),
				sum = fix_collective(&f, COLL_ALL_REDUCE, "x", x, t), kept[MOST / H + 1];
		uint32_t n = extra ? MOST / H + 1 : MOST / H / 2 - 2;
		for (uint32_t i = 0; i < n; i++)
			kept[i] = fix_dot(&f, i ? kept[i - 1] : sum, a);
		lval_id g = kept[n - 1];
		for (uint32_t i = n; i-- > 0;)
			g = fix_dot(&f, g, kept[i]);
		g = fix_dot(&f, g, sum);
		fix_return(&f, 1, g);
		cost c = fix_simulate(&f);
		/* sum; and what was kept so early that half a chip more is kept behind it, and as many
		 * gradients are made */
		int64_t far = extra ? n - MOST / H / 2 : 0;
		ck_assert_int_eq(c.temporary_bytes, (1 + far) * H);
		fix_release(&f);
	}
}
END_TEST

/* Elementwise kernels and sums over devices write over an operand that dies. */
START_TEST(test_reuse)
{
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id t = square(&f), half = fix_type(&f, ELEM_BF16, 2, 1024, 1024);
	lval_id a = fix_arg(&f, t), x = fix_dot(&f, a, a),
			sum = fix_collective(&f, COLL_ALL_REDUCE, "x", x, t),
			y = fix_op(&f, OP_TANH, t, 1, sum);
	lval_id z = fix_collective(&f, COLL_ALL_REDUCE, "x", y, t), out = fix_dot(&f, z, a);
	fix_return(&f, 1, out);
	ck_assert_int_eq(fix_simulate(&f).temporary_bytes, B);
	fix_release(&f);

	/* not when it is needed later, and not when sizes differ */
	fix_init(&f, "h100", "x=4");
	t = square(&f), half = fix_type(&f, ELEM_BF16, 2, 1024, 1024);
	a = fix_arg(&f, t), x = fix_dot(&f, a, a);
	lval_id h = fix_op(&f, OP_CONVERT, half, 1, x),
			s = fix_collective(&f, COLL_ALL_GATHER, "x", h, half);
	out = fix_dot(&f, s, s);
	fix_return(&f, 1, out);
	ck_assert_int_eq(fix_simulate(&f).temporary_bytes, B + B / 2); /* x beside its conversion */
	fix_release(&f);
}
END_TEST

/* On TPU a kernel's results are beside what it reads of as many bytes; sums over devices still take
 * its place. Sums over devices are in main memory. */
START_TEST(test_no_reuse_on_tpu)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	type_id t = square(&f);
	lval_id a = fix_arg(&f, t), x = fix_dot(&f, a, a),
			sum = fix_collective(&f, COLL_ALL_REDUCE, "x", x, t),
			y = fix_op(&f, OP_TANH, t, 1, sum), z = fix_collective(&f, COLL_ALL_REDUCE, "x", y, t);
	fix_return(&f, 1, fix_dot(&f, z, a));
	ck_assert_int_eq(fix_simulate(&f).temporary_bytes, 2 * B); /* sum and y */
	fix_release(&f);
}
END_TEST

START_TEST(test_donation)
{
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id t = square(&f), small = fix_type(&f, ELEM_F32, 1, 1024);
	lval_id w = fix_arg(&f, t), m = fix_arg(&f, t), g = fix_arg(&f, t), b = fix_arg(&f, small);
	lval_id m2 = fix_op(&f, OP_ADD, t, 2, m, g), w2 = fix_op(&f, OP_SUBTRACT, t, 2, w, m2),
			loss = fix_op(&f, OP_NEGATE, small, 1, b);
	fix_return(&f, 3, w2, m2, loss);
	cost plain = fix_simulate(&f);
	ck_assert_int_eq(plain.alias_bytes, 0);
	ck_assert_int_eq(plain.argument_bytes, 3 * B + 4096);
	ck_assert_int_eq(plain.output_bytes, 2 * B + 4096);
	/* paired by the module */
	fix_donate(&f, 0, 0);
	fix_donate(&f, 1, 1);
	cost donated = fix_simulate(&f);
	ck_assert_int_eq(donated.alias_bytes, 2 * B);
	ck_assert_int_eq(plain.peak_bytes - donated.peak_bytes, donated.alias_bytes);
	ck_assert_int_eq(plain.temporary_bytes, donated.temporary_bytes);
	/* left to the compiler: sizes are matched, what has no partner is not aliased */
	fix_donate(&f, 0, -2);
	fix_donate(&f, 1, -2);
	fix_donate(&f, 2, -2);
	ck_assert_int_eq(fix_simulate(&f).alias_bytes, 2 * B);
	/* a pair of different sizes holds nothing */
	fix_donate(&f, 0, 2);
	fix_donate(&f, 1, -1);
	fix_donate(&f, 2, -1);
	ck_assert_int_eq(fix_simulate(&f).alias_bytes, 0);
	fix_release(&f);
}
END_TEST

static cost loop_cost(int64_t trips, bool read_late)
{
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id t = square(&f), flag = fix_type(&f, ELEM_I1, 0);
	lval_id a = fix_arg(&f, t), w = fix_arg(&f, t), start = fix_dot(&f, a, w), init[] = {start, w};
	lop_id loop = fix_region(&f, OP_WHILE, trips, init, 2);
	lval_id h = fix_result(&f, loop), wi = h + 1, cond = fix_op(&f, OP_CONSTANT, flag, 0);
	fix_else(&f, &cond, 1);
	lval_id x = fix_dot(&f, h, wi), y = fix_dot(&f, x, wi), z = fix_dot(&f, y, read_late ? h : wi),
			yields[] = {read_late ? y : z, wi};
	if (read_late) /* the old value is read after the new one exists */
		fix_collective(&f, COLL_ALL_REDUCE, "x", z, t);
	lop_id end = fix_end(&f, yields, 2);
	fix_return(&f, 1, fix_dot(&f, fix_result(&f, end), w));
	cost c = fix_simulate(&f);
	fix_release(&f);
	return c;
}

/* The carried value has one buffer, the body's peak counts once however often it runs, what is
 * passed through unchanged stays where it is. */
START_TEST(test_loops)
{
	cost once = loop_cost(1, false), often = loop_cost(1000, false);
	ck_assert_int_eq(once.temporary_bytes, often.temporary_bytes);
	ck_assert_int_eq(once.temporary_bytes, 3 * B); /* carried, x, y */
}
END_TEST

/* Activations of a scan are stacked in place. */
START_TEST(test_stacked_updates)
{
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id t = square(&f), stack = fix_type(&f, ELEM_F32, 3, 16, 1024, 1024),
			one = fix_type(&f, ELEM_F32, 3, 1, 1024, 1024);
	type_id flag = fix_type(&f, ELEM_I1, 0), i32 = fix_type(&f, ELEM_I32, 0);
	lval_id a = fix_arg(&f, t), zero = fix_arg(&f, i32),
			scalar = fix_op(&f, OP_NEGATE, i32, 1, zero);
	lval_id empty = fix_op(&f, OP_BROADCAST_IN_DIM, stack, 1, scalar), start = fix_dot(&f, a, a),
			init[] = {start, empty};
	lop_id loop = fix_region(&f, OP_WHILE, 16, init, 2);
	lval_id h = fix_result(&f, loop), s = h + 1, cond = fix_op(&f, OP_CONSTANT, flag, 0);
	fix_else(&f, &cond, 1);
	lval_id part = fix_op(&f, OP_RESHAPE, one, 1, h),
			s2 = fix_op(&f, OP_DYNAMIC_UPDATE_SLICE, stack, 3, s, part, zero);
	lval_id h2 = fix_dot(&f, h, a), yields[] = {h2, s2};
	lop_id end = fix_end(&f, yields, 2);
	lval_id row = fix_type(&f, ELEM_F32, 1, 1024),
			r = fix_op(&f, OP_REDUCE, row, 1, fix_result(&f, end) + 1);
	fix_return(&f, 1, r);
	cost c = fix_simulate(&f);
	ck_assert_int_ge(c.temporary_bytes, 17ll * B);
	ck_assert_int_le(c.temporary_bytes, 19ll * B); /* the stack once, h and what comes after it */
	fix_release(&f);
}
END_TEST

/* What is live at the peak is what the peak is made of. */
START_TEST(test_peak_list)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		fix f;
		fix_init(&f, seed % 2 ? "h100" : "tpu-v5e", "x=4,y=2");
		fix_random(&f, seed, 60);
		simulator *s = simulator_new(&f.p, f.m->shardings, &f.dev, &f.links, &f.dn);
		cost c;
		uint32_t n;
		simulate(s, &f.l, &c);
		const live_at_peak *live = simulator_peak(s, &f.l, &n);
		int64_t sum = 0;
		for (uint32_t i = 0; i < n; i++) {
			sum += live[i].bytes;
			if (i)
				ck_assert_int_le(live[i].bytes, live[i - 1].bytes);
		}
		ck_assert_int_eq(sum, c.temporary_bytes);
		ck_assert_int_eq(
			c.peak_bytes, c.argument_bytes + c.output_bytes - c.alias_bytes + c.temporary_bytes);
		/* never more than everything at once */
		int64_t all = 0;
		for (uint32_t v = 0; v < f.l.vals.n; v++)
			all += MAX(f.l.vals.p[v].bytes, 1024);
		ck_assert_int_le(c.temporary_bytes, all);
		simulator_free(s);
		fix_release(&f);
	}
}
END_TEST

/* Ops that fall out (erased) change nothing, and numbering of values does not matter. */
START_TEST(test_renumbering)
{
	cost c[2];
	for (int gaps = 0; gaps < 2; gaps++) {
		fix f;
		fix_init(&f, "h100", "x=4");
		type_id t = square(&f);
		lval_id a = fix_arg(&f, t), h = a;
		for (int i = 0; i < 8; i++) {
			if (gaps) {
				fix_op(&f, OP_ADD, t, 2, h, a);
				f.l.ops.p[f.l.ops.n - 1].erased = true;
			}
			h = fix_op(&f, OP_TANH, t, 1, fix_dot(&f, h, a));
		}
		fix_return(&f, 1, h);
		c[gaps] = fix_simulate(&f);
		fix_release(&f);
	}
	ck_assert_mem_eq(&c[0], &c[1], sizeof c[0]);
}
END_TEST

/* XLA for GPU pads what products of 16 bits read and make to multiples of eight, but not of vectors
 * and of 32 bits. */
START_TEST(test_padded_products)
{
	static const struct {
		const char *device;
		elem e;
		int64_t rows, temporary;
	} cases[] = {{"h100", ELEM_BF16, 49, 2 * 56 * 1024}, {"h100", ELEM_F32, 49, 4 * 49 * 1024},
		{"h100", ELEM_BF16, 56, 2 * 56 * 1024}, {"h100", ELEM_BF16, 1, 2 * 1024},
		{"cpu-host", ELEM_F32, 49, 4 * 49 * 1024}};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		fix f;
		fix_init(&f, cases[i].device, "x=4");
		type_id left = fix_type(&f, cases[i].e, 2, cases[i].rows, 1024),
				right = fix_type(&f, cases[i].e, 2, 1024, 1024);
		lval_id a = fix_arg(&f, left), b = fix_arg(&f, right), p = fix_dot(&f, a, b);
		fix_return(&f, 1, fix_dot(&f, p, b));
		ck_assert_int_eq(fix_simulate(&f).temporary_bytes, cases[i].temporary);
		fix_release(&f);
	}
}
END_TEST

/* A longer live range never lowers the peak. */
START_TEST(test_longer_ranges)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		fix f, g;
		fix_init(&f, "h100", "x=4,y=2");
		fix_random(&f, seed, 50);
		fix_init(&g, "h100", "x=4,y=2");
		fix_random(&g, seed, 50);
		/* one matmul's result is read once more, at the end of main */
		for (uint32_t i = 0; i < g.l.ops.n; i++) {
			const lop *o = &g.l.ops.p[i];
			if (o->kind != LOP_COMPUTE || g.p.nodes.p[o->node].op_kind != OP_DOT ||
				o->region != ID_NONE || !g.l.vals.p[o->results].n_uses)
				continue;
			lop ret = g.l.ops.p[g.l.ops.n - 1];
			g.l.ops.n--;
			lval_id v = o->results,
					extra = fix_op(&g, OP_REDUCE, fix_type(&g, ELEM_F32, 1, 512), 1, v);
			(void)extra;
			vec_push(&g.l.ops, ret);
			break;
		}
		ck_assert_int_ge(fix_simulate(&g).temporary_bytes, fix_simulate(&f).temporary_bytes);
		fix_release(&f);
		fix_release(&g);
	}
}
END_TEST

/* ZeRO: bytes per device of Adam training with fp16 weights and gradients and 12 B of state per
 * parameter. */
START_TEST(test_zero_grid)
{
	static const struct {
		double params, n, os, os_g, os_g_p;
	} rows[] = {
		{7.5e9, 64, 31.4, 16.6, 1.88}, {128e9, 64, 536, 284, 32}, {1e12, 1024, 4011, 2013, 15.6}};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		/* 1e6 parameters stand for the model: bytes are proportional */
		fix f;
		fix_init(&f, "a100", "x=64");
		int n = (int)rows[i].n;
		type_id half = fix_type(&f, ELEM_F16, 1, 1024000),
				full = fix_type(&f, ELEM_F32, 1, 1024000);
		type_id half_n = fix_type(&f, ELEM_F16, 1, 1024000 / n),
				full_n = fix_type(&f, ELEM_F32, 1, 1024000 / n);
		(void)full;
		double want[] = {rows[i].os, rows[i].os_g, rows[i].os_g_p};
		for (int stage = 1; stage <= 3; stage++) {
			f.l.ops.n = f.l.vals.n = f.l.operands.n = f.l.results.n = f.p.args.n = 0;
			lval_id p = fix_arg(&f, stage >= 3 ? half_n : half),
					g = fix_arg(&f, stage >= 2 ? half_n : half);
			for (int k = 0; k < 3; k++)
				fix_arg(&f, full_n);
			fix_return(&f, 0);
			(void)p, (void)g;
			double gb = (double)fix_simulate(&f).argument_bytes / 1024000 * rows[i].params / 1e9;
			ck_assert_msg(gb > want[stage - 1] * 0.99 && gb < want[stage - 1] * 1.01,
				"stage %d: %.2f, expected %.2f", stage, gb, want[stage - 1]);
		}
		fix_release(&f);
	}
}
END_TEST

/* Temporaries of a program that sums 40 MiB up and then updates an argument of 16 MiB in sixteen
 * parts, cut along a dim, which it gathers; to: what the argument is donated to, -1: to nothing. */
static int64_t updated(uint32_t dim, int32_t to)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=16");
	type_id whole = fix_type(&f, ELEM_F32, 2, 4096, 1024),
			part = dim ? fix_type(&f, ELEM_F32, 2, 4096, 64) : fix_type(&f, ELEM_F32, 2, 256, 1024),
			large = fix_type(&f, ELEM_F32, 2, 10240, 1024);
	fix_arg(&f, whole);
	lval_id x = fix_arg(&f, large), p = fix_arg(&f, part),
			sum = fix_collective(&f, COLL_ALL_REDUCE, "x", fix_op(&f, OP_TANH, large, 1, x), large),
			end = fix_op(&f, OP_REDUCE, fix_type(&f, ELEM_F32, 1, 1024), 1, sum),
			updated = fix_gather(&f, "x", fix_op(&f, OP_TANH, part, 1, p), whole, dim);
	f.dn.n_args = f.p.args.n;
	f.dn.result_of_arg = xmalloc(f.dn.n_args * sizeof *f.dn.result_of_arg);
	for (uint32_t i = 0; i < f.dn.n_args; i++)
		f.dn.result_of_arg[i] = i ? -1 : to;
	fix_return(&f, 2, updated, end);
	int64_t bytes = fix_simulate(&f).temporary_bytes;
	fix_release(&f);
	return bytes;
}

/* Where what is gathered lies as the argument does, the argument is copied when the program starts.
 */
START_TEST(test_gathered_updates)
{
	ck_assert_int_eq(updated(0, -1), 40 << 20);
	ck_assert_int_eq(updated(1, 0), 40 << 20);
	ck_assert_int_eq(updated(0, 0), 56 << 20);
	ck_assert_int_eq(updated(0, -2), 56 << 20);
}
END_TEST

int main(void)
{
	const TTest *tests[] = {test_gathered_updates, test_chain, test_saved_activations,
		test_memory_on_the_chip, test_reuse, test_no_reuse_on_tpu, test_donation, test_loops,
		test_stacked_updates, test_peak_list, test_renumbering, test_padded_products,
		test_longer_ranges, test_zero_grid};
	return run_tests(tests, COUNT_OF(tests), "liveness");
}
