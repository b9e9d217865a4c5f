#include "tests/unit/sim_fixture.h"

static int64_t queue_total(const cost *c) { return c->communication_ns; }

/* max(compute, communication) <= T <= compute + communication, exposed communication is part of
 * both. */
START_TEST(test_bounds)
{
	static const char *const devices[] = {"tpu-v5e", "h100", "cpu-host", "mi300x"};
	for (uint64_t seed = 0; seed < 60; seed++)
		for (size_t i = 0; i < COUNT_OF(devices); i++) {
			fix f;
			fix_init(&f, devices[i], "x=4,y=2");
			fix_random(&f, seed, 60);
			cost c = fix_simulate(&f);
			ck_assert_int_ge(c.runtime_ns, c.compute_ns);
			ck_assert_int_ge(
				c.runtime_ns, queue_total(&c)); /* x=4,y=2 lies within one link class */
			ck_assert_int_le(c.runtime_ns, c.compute_ns + c.communication_ns);
			ck_assert_int_ge(c.exposed_communication_ns, 0);
			ck_assert_int_le(c.exposed_communication_ns, c.communication_ns);
			ck_assert_int_ge(c.runtime_ns, c.compute_ns + c.exposed_communication_ns);
			if (!strcmp(devices[i], "cpu-host")) /* nothing overlaps there */
				ck_assert_int_eq(c.runtime_ns, c.compute_ns + c.communication_ns);
			fix_release(&f);
		}
}
END_TEST

static cost with_device(fix *f, device *dev)
{
	device keep = f->dev;
	f->dev = *dev;
	cost c = fix_simulate(f);
	f->dev = keep;
	return c;
}

/* More bandwidth, efficiency or flops never makes a program slower. */
START_TEST(test_faster_hardware)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		fix f;
		fix_init(&f, seed % 2 ? "h100" : "tpu-v5e", "x=4,y=2");
		fix_random(&f, seed, 60);
		cost base = fix_simulate(&f);
		device dev = f.dev;
		dev.links[0].bandwidth_bytes_s *= 2;
		ck_assert_int_le(with_device(&f, &dev).runtime_ns, base.runtime_ns);
		dev = f.dev;
		dev.memory_bytes_s *= 2;
		ck_assert_int_le(with_device(&f, &dev).compute_ns, base.compute_ns);
		dev = f.dev;
		dev.links[0].launch_ns = dev.links[0].latency_ns = 0;
		ck_assert_int_le(with_device(&f, &dev).runtime_ns, base.runtime_ns);
		dev = f.dev;
		for (uint32_t e = 0; e < ELEM_COUNT; e++)
			dev.peak_flops[e] *= 2;
		ck_assert_int_le(with_device(&f, &dev).compute_ns, base.compute_ns);
		fix_release(&f);
	}
}
END_TEST

/* A weight gather hides behind the matmul before its use; a sum between dependent matmuls cannot.
 */
START_TEST(test_overlap_and_dependence)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	type_id t = fix_type(&f, ELEM_BF16, 2, 8192, 8192);
	type_id shard = fix_type(&f, ELEM_BF16, 2, 2048, 8192);
	lval_id x = fix_arg(&f, t), w1 = fix_arg(&f, t), w2 = fix_arg(&f, shard);
	lval_id h = fix_dot(&f, x, w1);
	lval_id w2full = fix_collective(&f, COLL_ALL_GATHER, "x", w2, t);
	lval_id out = fix_dot(&f, h, w2full);
	fix_return(&f, 1, out);
	cost c = fix_simulate(&f);
	ck_assert_int_gt(c.communication_ns, 0);
	ck_assert_int_eq(c.exposed_communication_ns, 0);
	ck_assert_int_eq(c.runtime_ns, c.compute_ns);
	ck_assert_int_eq(c.collectives[COLL_ALL_GATHER].bytes, 8192ll * 8192 * 2);
	fix_release(&f);

	fix_init(&f, "tpu-v5e", "x=4");
	t = fix_type(&f, ELEM_BF16, 2, 8192, 8192);
	x = fix_arg(&f, t), w1 = fix_arg(&f, t);
	lval_id partial = fix_dot(&f, x, w1),
			sum = fix_collective(&f, COLL_ALL_REDUCE, "x", partial, t);
	out = fix_dot(&f, sum, w1);
	fix_return(&f, 1, out);
	c = fix_simulate(&f);
	ck_assert_int_eq(c.exposed_communication_ns, c.communication_ns);
	ck_assert_int_eq(c.runtime_ns, c.compute_ns + c.communication_ns);
	fix_release(&f);
}
END_TEST

/* Weights that are converted where they are used are gathered while the layers before them run:
 * only the first is waited for. */
START_TEST(test_prepared_early)
{
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id act = fix_type(&f, ELEM_BF16, 2, 32768, 4096),
			w = fix_type(&f, ELEM_BF16, 2, 4096, 4096),
			part = fix_type(&f, ELEM_BF16, 2, 1024, 4096),
			wide = fix_type(&f, ELEM_F32, 2, 1024, 4096);
	lval_id h = fix_arg(&f, act), ws[6];
	for (int i = 0; i < 6; i++)
		ws[i] = fix_arg(&f, wide);
	for (int i = 0; i < 6; i++)
		h = fix_dot(&f, h,
			fix_collective(&f, COLL_ALL_GATHER, "x", fix_op(&f, OP_CONVERT, part, 1, ws[i]), w));
	fix_return(&f, 1, h);
	cost c = fix_simulate(&f);
	ck_assert_int_gt(c.exposed_communication_ns, 0);
	ck_assert_int_le(c.exposed_communication_ns, c.communication_ns / 6);
	fix_release(&f);
}
END_TEST

/* A weight that is there from the start travels while the products in front run, also where it
 * stands behind activations that have to be gathered, or summed, first. Not where it is made as
 * late. */
START_TEST(test_early_goes_first)
{
	for (int sum = 0; sum < 2; sum++)
		for (int late = 0; late < 2; late++) {
			fix f;
			fix_init(&f, "tpu-v5e", "x=4");
			type_id whole = fix_type(&f, ELEM_BF16, 2, 8192, 8192),
					part = fix_type(&f, ELEM_BF16, 2, 2048, 8192);
			lval_id x = fix_arg(&f, whole), rows = fix_arg(&f, part), w = fix_arg(&f, part);
			lval_id y = fix_dot(&f, x, x), h = fix_dot(&f, rows, y);
			lval_id moved = fix_collective(
				&f, sum ? COLL_ALL_REDUCE : COLL_ALL_GATHER, "x", sum ? y : h, whole);
			lval_id gathered = fix_collective(&f, COLL_ALL_GATHER, "x", late ? h : w, whole);
			fix_return(&f, 2, fix_dot(&f, moved, gathered), h);
			cost c = fix_simulate(&f);
			if (late)
				ck_assert_int_eq(c.exposed_communication_ns, c.communication_ns);
			else
				ck_assert_int_lt(
					c.exposed_communication_ns, c.communication_ns * (sum ? 80 : 51) / 100);
			fix_release(&f);
		}
}
END_TEST

/* Work that does not need a collective runs beside it where the device's compiler makes its kind
 * asynchronous. */
START_TEST(test_kinds_that_overlap)
{
	static const collective_kind kinds[] = {
		COLL_ALL_GATHER, COLL_ALL_REDUCE, COLL_REDUCE_SCATTER, COLL_ALL_TO_ALL};
	static const char *const devices[] = {"tpu-v5e", "tpu-v5p", "h100"};
	for (size_t i = 0; i < COUNT_OF(devices); i++)
		for (size_t k = 0; k < COUNT_OF(kinds); k++) {
			fix f;
			fix_init(&f, devices[i], "x=4");
			type_id whole = fix_type(&f, ELEM_BF16, 2, 8192, 8192),
					part = fix_type(&f, ELEM_BF16, 2, 2048, 8192);
			bool gather = kinds[k] == COLL_ALL_GATHER, scatter = kinds[k] == COLL_REDUCE_SCATTER;
			lval_id x = fix_arg(&f, whole), y = fix_arg(&f, gather ? part : whole);
			lval_id moved = fix_collective(&f, kinds[k], "x", y, scatter ? part : whole),
					h = fix_dot(&f, x, x);
			fix_return(&f, 2, h, moved);
			cost c = fix_simulate(&f);
			if (i == 2 || (i == 0 && gather))
				ck_assert_int_lt(c.runtime_ns, c.compute_ns + c.communication_ns);
			else
				ck_assert_int_eq(c.runtime_ns, c.compute_ns + c.communication_ns);
			fix_release(&f);
		}
}
END_TEST

/* Members of one instruction take together what one collective of all their bytes takes, which is
 * less than the sum of theirs where small ones reach little of a link. */
START_TEST(test_members_of_one_instruction)
{
	static const char *const devices[] = {"tpu-v5e", "h100"};
	for (size_t i = 0; i < COUNT_OF(devices); i++) {
		int64_t took[4]; /* of one of 64 MiB; of 16 and 48 MiB apart, and together; of 16 MiB */
		for (int how = 0; how < 4; how++) {
			fix f;
			fix_init(&f, devices[i], "x=4");
			int64_t first_rows = how == 0 ? 4096 : how == 3 ? 1024 : 3072;
			type_id t = fix_type(&f, ELEM_F32, 2, first_rows, 4096),
					small = fix_type(&f, ELEM_F32, 2, 1024, 4096);
			lval_id first = fix_collective(&f, COLL_ALL_REDUCE, "x", fix_arg(&f, t), t);
			if (how == 1 || how == 2) {
				lval_id last = fix_collective(&f, COLL_ALL_REDUCE, "x", fix_arg(&f, small), small);
				if (how == 2) {
					f.l.ops.p[f.l.vals.p[last].def].combined = 0;
					f.l.ops.p[f.l.vals.p[last].def].ahead = 48 << 20;
				}
				fix_return(&f, 2, first, last);
			} else {
				fix_return(&f, 1, first);
			}
			took[how] = fix_simulate(&f).communication_ns;
			fix_release(&f);
		}
		ck_assert_int_le(llabs(took[2] - took[0]), 2);
		ck_assert_int_gt(took[1], took[2]);
		if (i) /* more than what a second start takes */
			ck_assert_int_gt(took[1] - took[2], took[3] / 10);
	}
}
END_TEST

/* On GPU collectives inside a node and between nodes wait for each other. */
START_TEST(test_one_stream_on_gpu)
{
	fix f;
	fix_init(&f, "h100", "x=4,y=8");
	type_id whole = fix_type(&f, ELEM_BF16, 2, 8192, 8192),
			quarter = fix_type(&f, ELEM_BF16, 2, 2048, 8192),
			eighth = fix_type(&f, ELEM_BF16, 2, 1024, 8192);
	lval_id between = fix_collective(&f, COLL_ALL_GATHER, "x", fix_arg(&f, quarter), whole);
	lval_id inside = fix_collective(&f, COLL_ALL_GATHER, "y", fix_arg(&f, eighth), whole);
	fix_return(&f, 2, between, inside);
	cost c = fix_simulate(&f);
	ck_assert_int_ge(c.runtime_ns, c.communication_ns);
	uint32_t n;
	simulator *s = simulator_new(&f.p, f.m->shardings, &f.dev, &f.links, &f.dn);
	simulate(s, &f.l, &c);
	const op_event *e = simulator_events(s, &n);
	lop_id a = f.l.vals.p[between].def, b = f.l.vals.p[inside].def;
	ck_assert_uint_ne(e[a].stream, e[b].stream);
	ck_assert(e[a].end_ns <= e[b].start_ns || e[b].end_ns <= e[a].start_ns);
	simulator_free(s);
	fix_release(&f);
}
END_TEST

/* While a collective is hidden on NVLink it takes 15% of the processor. */
START_TEST(test_overlap_tax)
{
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id t = fix_type(&f, ELEM_BF16, 2, 8192, 8192);
	lval_id x = fix_arg(&f, t), w = fix_arg(&f, t),
			g = fix_collective(&f, COLL_ALL_REDUCE, "x", w, t), h = fix_dot(&f, x, x);
	fix_return(&f, 2, h, g);
	cost c = fix_simulate(&f);
	if (c.communication_ns <= c.compute_ns)
		ck_assert_int_eq(c.runtime_ns, c.compute_ns + c.communication_ns * 15 / 100);
	else
		ck_assert_int_ge(c.runtime_ns, c.communication_ns);
	fix_release(&f);
}
END_TEST

/* A loop of n iterations costs n times its body, in time, flops and bytes, beside what it takes to
 * bring on the chip what it keeps there. */
START_TEST(test_loops_multiply)
{
	cost c[3];
	for (int i = 0; i < 3; i++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4");
		type_id t = fix_type(&f, ELEM_F32, 2, 1024, 1024), flag = fix_type(&f, ELEM_I1, 0);
		lval_id a = fix_arg(&f, t), w = fix_arg(&f, t), init[] = {a, w};
		lop_id loop = fix_region(&f, OP_WHILE, i == 1 ? 24 : i + 1, init, 2);
		lval_id h = fix_result(&f, loop), wi = h + 1, cond = fix_op(&f, OP_CONSTANT, flag, 0);
		fix_else(&f, &cond, 1);
		lval_id d = fix_dot(&f, h, wi), s = fix_collective(&f, COLL_ALL_REDUCE, "x", d, t),
				yields[] = {s, wi};
		lop_id end = fix_end(&f, yields, 2);
		fix_return(&f, 1, fix_result(&f, end));
		c[i] = fix_simulate(&f);
		fix_release(&f);
	}
	ck_assert_int_gt(c[2].compute_ns, c[0].compute_ns);
	ck_assert_int_eq(
		c[1].runtime_ns - c[0].runtime_ns, 23 * (c[2].runtime_ns - c[0].runtime_ns) / 2);
	ck_assert_int_eq(
		c[1].compute_ns - c[0].compute_ns, 23 * (c[2].compute_ns - c[0].compute_ns) / 2);
	ck_assert_int_eq(c[1].communication_ns, 24 * c[0].communication_ns);
	ck_assert_int_eq(c[1].exposed_communication_ns, 24 * c[0].exposed_communication_ns);
	ck_assert_int_eq(c[1].collectives[COLL_ALL_REDUCE].count, 1);
	ck_assert_int_eq(c[1].collectives[COLL_ALL_REDUCE].dynamic_count, 24);
	ck_assert_int_eq(
		c[1].collectives[COLL_ALL_REDUCE].bytes, 24 * c[0].collectives[COLL_ALL_REDUCE].bytes);
	ck_assert_int_eq((int64_t)c[1].flops_per_device, 24 * (int64_t)c[0].flops_per_device);
	ck_assert_int_eq(c[1].temporary_bytes, c[0].temporary_bytes);
}
END_TEST

/* What trades places in a loop is copied in every turn on TPU: three copies for two vectors, none
 * for single numbers. */
START_TEST(test_values_that_trade_places)
{
	enum { TURNS = 10 };
	for (int way = 0; way < 6; way++) {
		bool number = way & 1, h100 = way >= 4, trades = way & 2 || h100;
		fix f;
		fix_init(&f, h100 ? "h100" : "tpu-v5e", "x=4");
		type_id flag = fix_type(&f, ELEM_I1, 0),
				t = number ? fix_type(&f, ELEM_F32, 0) : fix_type(&f, ELEM_F32, 1, 8);
		lval_id init[] = {fix_arg(&f, t), fix_arg(&f, t)};
		lop_id loop = fix_region(&f, OP_WHILE, TURNS, init, 2);
		lval_id a = fix_result(&f, loop), cond = fix_op(&f, OP_CONSTANT, flag, 0);
		fix_else(&f, &cond, 1);
		lval_id yields[] = {a + trades, a + !trades};
		lop_id end = fix_end(&f, yields, 2);
		fix_return(&f, 1, fix_result(&f, end));
		cost c = fix_simulate(&f);
		int64_t copies = c.compute_ns / (TURNS * f.dev.op_launch_ns);
		ck_assert_int_eq(copies, trades && !number && !h100 ? 3 : 0);
		fix_release(&f);
	}
}
END_TEST

/* The same layers, written out one after the other and as a loop, take the same time when nothing
 * overlaps. */
START_TEST(test_loop_equals_unrolled)
{
	enum { LAYERS = 6 };
	cost c[2];
	for (int folded = 0; folded < 2; folded++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4");
		f.dev.on_chip_bytes = 0; /* what a loop carries is read from memory, what is handed on
		                            without a loop is not */
		type_id t = fix_type(&f, ELEM_BF16, 2, 1024, 1024), flag = fix_type(&f, ELEM_I1, 0);
		lval_id h = fix_arg(&f, t), w = fix_arg(&f, t);
		if (folded) {
			lval_id init[] = {h, w};
			lop_id loop = fix_region(&f, OP_WHILE, LAYERS, init, 2);
			h = fix_result(&f, loop);
			lval_id wi = h + 1, cond = fix_op(&f, OP_CONSTANT, flag, 0);
			fix_else(&f, &cond, 1);
			h = fix_collective(&f, COLL_ALL_REDUCE, "x", fix_dot(&f, h, wi), t);
			lval_id yields[] = {h, wi};
			h = fix_result(&f, fix_end(&f, yields, 2));
		} else {
			for (int i = 0; i < LAYERS; i++)
				h = fix_collective(&f, COLL_ALL_REDUCE, "x", fix_dot(&f, h, w), t);
		}
		fix_return(&f, 1, h);
		c[folded] = fix_simulate(&f);
		fix_release(&f);
	}
	ck_assert_int_eq(c[0].runtime_ns, c[1].runtime_ns);
	ck_assert_int_eq(c[0].communication_ns, c[1].communication_ns);
	ck_assert_int_eq((int64_t)c[0].flops_per_device, (int64_t)c[1].flops_per_device);
}
END_TEST

/* What comes behind a loop takes the same however often the loop ran: a gather there waits for the
 * kernel that prepares its operand. */
START_TEST(test_behind_a_loop)
{
	int64_t runtime[2][2];
	for (int many = 0; many < 2; many++)
		for (int behind = 0; behind < 2; behind++) {
			fix f;
			fix_init(&f, "h100", "x=4");
			type_id t = fix_type(&f, ELEM_BF16, 2, 4096, 4096),
					wide = fix_type(&f, ELEM_F32, 2, 1024, 4096),
					part = fix_type(&f, ELEM_BF16, 2, 1024, 4096), flag = fix_type(&f, ELEM_I1, 0);
			lval_id h = fix_arg(&f, t), w = fix_arg(&f, wide), init[] = {h};
			lop_id loop = fix_region(&f, OP_WHILE, many ? 9 : 1, init, 1);
			h = fix_result(&f, loop);
			lval_id cond = fix_op(&f, OP_CONSTANT, flag, 0);
			fix_else(&f, &cond, 1);
			lval_id yields[] = {fix_dot(&f, h, h)};
			h = fix_result(&f, fix_end(&f, yields, 1));
			if (behind)
				h = fix_dot(&f, h,
					fix_collective(
						&f, COLL_ALL_GATHER, "x", fix_op(&f, OP_CONVERT, part, 1, w), t));
			fix_return(&f, 1, h);
			runtime[many][behind] = fix_simulate(&f).runtime_ns;
			fix_release(&f);
		}
	ck_assert_int_gt(runtime[1][0], runtime[0][0]);
	ck_assert_int_eq(runtime[1][1] - runtime[1][0], runtime[0][1] - runtime[0][0]);
}
END_TEST

/* Of the branches of a case the longest counts, alone. */
START_TEST(test_case_takes_the_longest)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	type_id t = fix_type(&f, ELEM_F32, 2, 2048, 2048), i32 = fix_type(&f, ELEM_I32, 0);
	lval_id a = fix_arg(&f, t), which = fix_arg(&f, i32);
	fix_region(&f, OP_CASE, 1, &which, 1);
	lval_id small = fix_op(&f, OP_NEGATE, t, 1, a);
	fix_else(&f, &small, 1);
	lval_id big = fix_collective(&f, COLL_ALL_REDUCE, "x", fix_dot(&f, a, a), t);
	fix_else(&f, &big, 1);
	lval_id other = fix_op(&f, OP_ADD, t, 2, a, a);
	lop_id end = fix_end(&f, &other, 1);
	fix_return(&f, 1, fix_result(&f, end));
	cost c = fix_simulate(&f);
	ck_assert_int_eq((int64_t)c.flops_per_device, 2ll * 2048 * 2048 * 2048);
	ck_assert_int_eq(c.collectives[COLL_ALL_REDUCE].dynamic_count, 1);
	ck_assert_int_eq(c.runtime_ns, c.compute_ns + c.communication_ns);
	fix_release(&f);
}
END_TEST

/* Fully sharded layers on a 4-way axis. The gather of a layer's weights (D x F, bf16) hides behind
 * the matmul of the layer before when it is long enough: tokens per device above C / W of the
 * device. */
START_TEST(test_fsdp_threshold)
{
	fix f;
	fix_init(&f, "tpu-v5p", "x=16");
	device dev = f.dev;
	fix_release(&f);
	dev.matmul_efficiency = dev.memory_efficiency = (curve){.n = 1, .x = {1}, .ppm = {1000000}};
	dev.memory_bytes_s *= 1000;
	dev.op_launch_ns = 0;
	dev.asynchronous = UINT32_MAX;
	dev.windowed_bytes_s = 0;
	dev.links[0].launch_ns = dev.links[0].latency_ns = 0;
	dev.links[0].efficiency_ppm = 1000000;
	/* one torus dim of 16 with both directions, as the closed form counts */
	dev.links[0].n_dims = 1;
	int64_t rate = 2 * dev.links[0].bandwidth_bytes_s * 16 / 15;
	int64_t threshold = dev.peak_flops[ELEM_BF16] / rate;
	for (int above = 0; above < 2; above++) {
		int tokens = (int)(above ? threshold * 3 / 2 : threshold / 2) / 128 * 128;
		fix_init(&f, "tpu-v5p", "x=16");
		f.dev = dev;
		ck_assert_int_eq(
			mesh_links_assign(&f.dev, f.m->shardings, f.mesh, NULL, &f.links, NULL), ST_OK);
		type_id act = fix_type(&f, ELEM_BF16, 2, tokens, 4096),
				w = fix_type(&f, ELEM_BF16, 2, 4096, 4096),
				shard = fix_type(&f, ELEM_BF16, 2, 256, 4096);
		lval_id h = fix_arg(&f, act), ws[24];
		for (int i = 0; i < 24; i++)
			ws[i] = fix_arg(&f, shard);
		for (int i = 0; i < 24; i++)
			h = fix_dot(&f, h, fix_collective(&f, COLL_ALL_GATHER, "x", ws[i], w));
		ck_assert_uint_eq(f.l.vals.p[h].type, act);
		fix_return(&f, 1, h);
		cost c = fix_simulate(&f);
		int64_t longer = above ? c.compute_ns : c.communication_ns,
				first = (above ? c.communication_ns : c.compute_ns) / 24;
		ck_assert_int_ge(c.runtime_ns, longer);
		ck_assert_int_le(c.runtime_ns,
			(longer + first) * 102 / 100); /* the first gather or the last matmul stands alone */
		ck_assert(above ? c.compute_ns > c.communication_ns : c.compute_ns < c.communication_ns);
		fix_release(&f);
	}
}
END_TEST

/* TPU: what a kernel reads of arguments is fetched while the core waits for a collective, if there
 * is room for it; not what the first kernel reads, nor what was made in the program. */
START_TEST(test_arguments_fetched_ahead)
{
	enum { FIRST, BEHIND, LARGE, MADE, KERNELS };
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	f.dev.vector_bytes_s[0] = f.dev.vector_elements_s = 0; /* bound by memory */
	type_id t = fix_type(&f, ELEM_F32, 2, 4096, 2048),
			large = fix_type(&f, ELEM_F32, 2, 4096, 32768);
	lval_id out[KERNELS];
	out[FIRST] = fix_op(&f, OP_NEGATE, t, 1, fix_arg(&f, t));
	lval_id sum = fix_collective(&f, COLL_ALL_REDUCE, "x", fix_arg(&f, large), large);
	out[BEHIND] = fix_op(&f, OP_NEGATE, t, 1, fix_arg(&f, t));
	lval_id other = fix_collective(&f, COLL_ALL_REDUCE, "x", fix_arg(&f, large), large);
	out[LARGE] = fix_op(&f, OP_NEGATE, large, 1, fix_arg(&f, large));
	out[MADE] = fix_op(&f, OP_NEGATE, large, 1, sum);
	fix_return(&f, 5, out[FIRST], out[BEHIND], out[LARGE], out[MADE], other);
	cost c;
	uint32_t n;
	fix_simulate(&f);
	simulator *s = simulator_new(&f.p, f.m->shardings, &f.dev, &f.links, &f.dn);
	simulate(s, &f.l, &c);
	const op_event *e = simulator_events(s, &n);
	int64_t took[KERNELS];
	for (int k = 0; k < KERNELS; k++)
		took[k] = e[f.l.vals.p[out[k]].def].end_ns - e[f.l.vals.p[out[k]].def].start_ns;
	ck_assert_int_lt(took[BEHIND], took[FIRST]);
	ck_assert_int_eq(took[LARGE], took[MADE]); /* more than half of the chip's memory */
	ck_assert_int_le(c.runtime_ns, c.compute_ns + c.communication_ns);
	simulator_free(s);
	fix_release(&f);
}
END_TEST

/* TPU: results of the program that fit on the chip are copied out while later kernels run, and the
 * program ends behind the last of them. Values that others read are not results, and what has no
 * room is written by the kernel. */
START_TEST(test_results_copied_out)
{
	enum { ROOM, NO_ROOM, CASES };
	cost c[CASES];
	int64_t took[CASES], copy = 0;
	for (int k = 0; k < CASES; k++) {
		fix f;
		fix_init(&f, "tpu-v5e", "x=4");
		f.dev.vector_bytes_s[0] = f.dev.vector_elements_s = f.dev.lone_elements_s =
			0; /* bound by memory */
		f.dev.prefetch_bytes = k == ROOM ? 64 << 20 : 16 << 20;
		type_id t = fix_type(&f, ELEM_F32, 2, 4096, 2048);                         /* 32 MiB */
		lval_id sum = fix_collective(&f, COLL_ALL_REDUCE, "x", fix_arg(&f, t), t); /* on the chip */
		lval_id out = fix_op(&f, OP_NEGATE, t, 1, sum);
		fix_return(&f, 1, out);
		fix_simulate(&f);
		simulator *s = simulator_new(&f.p, f.m->shardings, &f.dev, &f.links, &f.dn);
		simulate(s, &f.l, &c[k]);
		uint32_t n;
		const op_event *e = &simulator_events(s, &n)[f.l.vals.p[out].def];
		took[k] = e->end_ns - e->start_ns;
		copy = copy_time_ns(&f.dev, 32 << 20);
		ck_assert_int_eq(c[k].runtime_ns, c[k].compute_ns + c[k].exposed_communication_ns);
		simulator_free(s);
		fix_release(&f);
	}
	ck_assert_int_lt(took[ROOM], took[NO_ROOM] / 2);
	ck_assert_int_ge(c[ROOM].compute_ns, copy);                  /* waited for at the end */
	ck_assert_int_lt(c[ROOM].compute_ns, c[NO_ROOM].compute_ns); /* at the memory's full rate */
}
END_TEST

/* Equal to the bit: the same call again, after other programs, in a fresh simulator. */
START_TEST(test_deterministic)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		fix f, g;
		fix_init(&f, "h100", "x=4,y=2");
		fix_random(&f, seed, 80);
		fix_init(&g, "h100", "x=4,y=2");
		fix_random(&g, seed, 80);
		cost a, b, c = fix_simulate(&g);
		simulator *s = simulator_new(&f.p, f.m->shardings, &f.dev, &f.links, &f.dn);
		simulate(s, &f.l, &a);
		simulate(s, &f.l, &b);
		ck_assert_mem_eq(&a, &b, sizeof a);
		ck_assert_mem_eq(&a, &c, sizeof a);
		simulator_free(s);
		fix_release(&f);
		fix_release(&g);
	}
}
END_TEST

int main(void)
{
	const TTest *tests[] = {test_bounds, test_faster_hardware, test_overlap_and_dependence,
		test_prepared_early, test_early_goes_first, test_kinds_that_overlap,
		test_members_of_one_instruction, test_one_stream_on_gpu, test_overlap_tax,
		test_loops_multiply, test_values_that_trade_places, test_loop_equals_unrolled,
		test_behind_a_loop, test_case_takes_the_longest, test_arguments_fetched_ahead,
		test_results_copied_out, test_fsdp_threshold, test_deterministic};
	return run_tests(tests, COUNT_OF(tests), "timeline");
}
