#include "tests/unit/sim_fixture.h"

#define TFLOPS(x) ((int64_t)(x)*1000000000000)

START_TEST(test_log2_and_curves)
{
	ck_assert_int_eq(log2_fixed(1), 0);
	ck_assert_int_eq(log2_fixed(1024), 10 * LOG2_ONE);
	ck_assert_int_eq(log2_fixed(1ll << 62), 62ll * LOG2_ONE);
	for (int64_t x = 1, last = -1; x < 100000; x++) {
		ck_assert_int_ge(log2_fixed(x), last);
		last = log2_fixed(x);
	}
	curve c = {.n = 3, .x = {1024, 4096, 65536}, .ppm = {100000, 300000, 900000}};
	ck_assert_int_eq(curve_at(&c, 0), 100000);
	ck_assert_int_eq(curve_at(&c, 1024), 100000);
	ck_assert_int_eq(curve_at(&c, 2048), 200000);
	ck_assert_int_eq(curve_at(&c, 4096), 300000);
	ck_assert_int_eq(curve_at(&c, 16384), 600000);
	ck_assert_int_eq(curve_at(&c, INT64_MAX), 900000);
}
END_TEST

/* More work or traffic never takes less time, more efficiency never more, on any device. */
START_TEST(test_monotone)
{
	for (uint32_t i = 0; i < device_count(); i++) {
		device dev;
		ck_assert_int_eq(device_find(device_name_at(i), &dev, NULL), ST_OK);
		device better = dev;
		for (uint32_t k = 0; k < MAX_CURVE; k++) {
			better.memory_efficiency.ppm[k] = dev.memory_efficiency.ppm[k] * 11 / 10;
			better.matmul_efficiency.ppm[k] = dev.matmul_efficiency.ppm[k] + 1000;
		}
		int64_t memory = 0, vector = 0, matmul = 0;
		for (int64_t x = 1; x < 1ll << 52; x = x + x / 7 + 1) {
			op_work w = {.matmul_flops = x, .elem = ELEM_BF16};
			int64_t m = memory_time_ns(&dev, x), v = vector_time_ns(&dev, x),
					c = matmul_time_ns(&dev, &w);
			ck_assert_msg(
				m >= memory && v >= vector && c >= matmul, "%s at %lld", dev.name, (long long)x);
			ck_assert_msg(memory_time_ns(&better, x) <= m && matmul_time_ns(&better, &w) <= c,
				"%s at %lld", dev.name, (long long)x);
			memory = m, vector = v, matmul = c;
		}
		ck_assert_int_gt(memory_time_ns(&dev, INT64_MAX), 0);
		ck_assert_int_gt(vector_time_ns(&dev, INT64_MAX), 0);
	}
}
END_TEST

/* What the TPU compiler's estimate says of a 275 GFLOP bf16 matmul on v5e: 1.45 ms. */
START_TEST(test_v5e_matmul)
{
	device dev;
	ck_assert_int_eq(device_find("tpu-v5e", &dev, NULL), ST_OK);
	op_work w = {.m = 4096,
		.n = 4096,
		.k = 8192,
		.batch = 1,
		.matmul_flops = 2ll * 4096 * 4096 * 8192,
		.elem = ELEM_BF16};
	int64_t t = work_time_ns(&dev, &w, 0);
	ck_assert_int_gt(t, 1400000);
	ck_assert_int_lt(t, 1500000);
	/* f32 at default precision is one bf16 pass, highest is six */
	op_work f = w;
	f.elem = ELEM_F32;
	ck_assert_int_eq(work_time_ns(&dev, &f, 0), t);
	f.precision = PRECISION_HIGHEST;
	ck_assert_int_gt(work_time_ns(&dev, &f, 0), 5 * t);
	/* memory-bound when there is enough traffic */
	ck_assert_int_gt(work_time_ns(&dev, &w, 4ll << 30), 3 * t);
}
END_TEST

/* One of few summands waits for its results to be handed on, longer when they are rounded. */
START_TEST(test_results)
{
	device dev;
	ck_assert_int_eq(device_find("tpu-v5e", &dev, NULL), ST_OK);
	dev.matmul_results_s[0] = 1 << 30, dev.matmul_results_s[1] = 1 << 29;
	dev.matmul_results_on_chip_s[0] = 0, dev.matmul_results_on_chip_s[1] = 1 << 30;
	ck_assert_int_eq(matmul_results_ns(&dev, 1 << 25, false, false), 31250000);
	ck_assert_int_eq(matmul_results_ns(&dev, 1 << 25, true, false), 62500000);
	ck_assert_int_eq(matmul_results_ns(&dev, 1 << 25, false, true), 0);
	ck_assert_int_eq(matmul_results_ns(&dev, 1 << 25, true, true), 31250000);
	op_work small = {.m = 49, .n = 49, .batch = 10}, one_each = {.m = 49, .n = 1, .batch = 10};
	ck_assert_int_eq(matmul_stored_results(&dev, &small), 10 * 56 * 128);
	ck_assert_int_eq(matmul_stored_results(&dev, &one_each), 490);
}
END_TEST

/* A pass over all elements, of one op alone at a rate of its own. */
START_TEST(test_vector_elements)
{
	device dev = {.vector_elements_s = 1000000000};
	ck_assert_int_eq(elements_time_ns(&dev, 1000, false), 1000);
	ck_assert_int_eq(elements_time_ns(&dev, 1000, true), 1000); /* no rate of its own */
	dev.lone_elements_s = 200000000;
	ck_assert_int_eq(elements_time_ns(&dev, 1000, true), 5000);
	ck_assert_int_eq(elements_time_ns(&(device){0}, 1000, true), 0);
}
END_TEST

/* What passes through the vector unit adds up: its elements, what it reads from and writes to
 * memory, what it reads from the chip, and what is no result of 32 bits. Its work is done beside
 * that. */
START_TEST(test_streams)
{
	device dev = {.memory_bytes_s = 1000000000,
		.memory_efficiency = {.n = 1, .x = {1}, .ppm = {1000000}},
		.vector_bytes_s = {1000000000, 4000000000}};
	contraction_kernel k = {.streams = true, .vector_ns = 7, .bytes = 1000, .near_bytes = 2000};
	ck_assert_int_eq(contraction_kernel_ns(&dev, &k), 1000 + 500);
	k.elements_ns = 30;
	ck_assert_int_eq(contraction_kernel_ns(&dev, &k), 30 + 1000 + 500);
	k.narrowed = 100;
	ck_assert_int_eq(contraction_kernel_ns(&dev, &k), 30 + 1400 + 500);
	k.vector_ns = 2000;
	ck_assert_int_eq(contraction_kernel_ns(&dev, &k), 2000);
	dev.vector_bytes_s[0] = 0; /* a device without such a rate */
	k.vector_ns = 7;
	ck_assert_int_eq(contraction_kernel_ns(&dev, &k), 1000);
}
END_TEST

/* Copies with another minor dim: each side in main memory at a rate of elements. */
START_TEST(test_transposed)
{
	device dev = {.memory_bytes_s = 1000000000,
		.strided_rate_ppm = 500000,
		.transposed_elements_s = 100000000};
	ck_assert_int_eq(transposed_time_ns(&dev, 2000, 16, 2), 20000);
	ck_assert_int_eq(transposed_time_ns(&dev, 4000, 32, 1), 10000);
	ck_assert_int_eq(transposed_time_ns(&dev, 4000, 32, 0), 0);
	dev.transposed_elements_s = 0; /* as any copy into another order */
	ck_assert_int_eq(transposed_time_ns(&dev, 4000, 32, 0), reorder_time_ns(&dev, 4000, 32));
}
END_TEST

/* The last block of a product's results, where that is not hidden: no more than one. */
START_TEST(test_tails)
{
	device dev = {
		.matmul_results_s = {1000000000, 500000000}, .matmul_results_on_chip_s = {0, 2000000000}};
	ck_assert_int_eq(matmul_tail_ns(&dev, 1000, false, false), 1000);
	ck_assert_int_eq(matmul_tail_ns(&dev, 1000, true, false), 2000);
	ck_assert_int_eq(matmul_tail_ns(&dev, 1000, true, true), 500);
	ck_assert_int_eq(matmul_tail_ns(&dev, 1000, false, true), 0);
	ck_assert_int_eq(matmul_tail_ns(&dev, INT64_MAX, false, false),
		matmul_tail_ns(&dev, 10000000, false, false));
}
END_TEST

/* Both ways at the strided rate, and what is packed into words besides. */
START_TEST(test_reorders)
{
	device dev = {.memory_bytes_s = 1000000000, .strided_rate_ppm = 800000};
	ck_assert_int_eq(reorder_time_ns(&dev, 800, 16), 2000);
	dev.reorder_elements_s = 1000000000;
	ck_assert_int_eq(reorder_time_ns(&dev, 800, 32), 2000);
	ck_assert_int_eq(reorder_time_ns(&dev, 800, 16), 2400);
	ck_assert_int_eq(reorder_time_ns(&dev, 800, 8), 2800);
	/* libtpu 0.0.52 for v5e: 201.8 us for [8, 2048, 8, 128] in bf16, 207.8 in f32 */
	ck_assert_int_eq(device_find("tpu-v5e", &dev, NULL), ST_OK);
	ck_assert_int_le(llabs(reorder_time_ns(&dev, 33554432, 16) - 201800), 4000);
	ck_assert_int_le(llabs(reorder_time_ns(&dev, 67108864, 32) - 207800), 4000);
}
END_TEST

/* Alone or off a TPU the longer of both; with other work also a twentieth of the shorter; worked on
 * at both sides each block of 1024 reads its operands again. */
START_TEST(test_kernel_around_a_contraction)
{
	device tpu, gpu;
	ck_assert_int_eq(device_find("tpu-v5e", &tpu, NULL), ST_OK);
	ck_assert_int_eq(device_find("h100", &gpu, NULL), ST_OK);
	tpu.memory_bytes_s = gpu.memory_bytes_s = 1000000000; /* a byte per ns */
	tpu.memory_efficiency = gpu.memory_efficiency = (curve){.n = 1, .x = {1}, .ppm = {1000000}};
	contraction_kernel k = {.matmul_ns = 10000,
		.vector_ns = 500,
		.bytes = 4000,
		.front_bytes = {1000, 1500},
		.m = 3000,
		.n = 2048};
	ck_assert_int_eq(contraction_kernel_ns(&tpu, &k), 10000);
	k.fused = true;
	ck_assert_int_eq(contraction_kernel_ns(&gpu, &k), 10000);
	ck_assert_int_eq(contraction_kernel_ns(&tpu, &k), 10200);
	k.several = true; /* three tenths of the shorter */
	ck_assert_int_eq(contraction_kernel_ns(&tpu, &k), 11200);
	k.several = false;
	k.matmul_ns = 1000;
	ck_assert_int_eq(contraction_kernel_ns(&tpu, &k), 4050);
	k.vector_ns = 2000;
	ck_assert_int_eq(contraction_kernel_ns(&tpu, &k), 4100);
	k.again = 1; /* 2048 columns are two blocks: 1000 bytes are read twice while nothing runs */
	ck_assert_int_eq(contraction_kernel_ns(&tpu, &k), 4100 + 2 * 1000);
	k.again = 2;
	ck_assert_int_eq(contraction_kernel_ns(&tpu, &k), 4100 + 3 * 1500);
	ck_assert_int_eq(contraction_kernel_ns(&gpu, &k), 4000);
	k.again = 0;
	k.by_blocks = true; /* 3000 rows are three blocks, 2048 columns two: 4000 + 1000 + 2 * 1500
	                       bytes at 0.8 per ns */
	ck_assert_int_eq(contraction_kernel_ns(&tpu, &k), 1000 + 10000);
	ck_assert_int_eq(contraction_kernel_ns(&gpu, &k), 4000);
	k.matmul_ns = 100000;
	ck_assert_int_eq(contraction_kernel_ns(&tpu, &k), 100200);
}
END_TEST

/* Convolutions have an efficiency of their own where the profile gives them one. */
START_TEST(test_efficiency_of_convolutions)
{
	device dev;
	ck_assert_int_eq(device_find("tpu-v5e", &dev, NULL), ST_OK);
	op_work w = {.m = 4096,
		.n = 4096,
		.k = 4096,
		.batch = 1,
		.matmul_flops = 2ll * 4096 * 4096 * 4096,
		.elem = ELEM_BF16};
	dev.matmul_efficiency = (curve){.n = 1, .x = {1}, .ppm = {1000000}};
	dev.convolution_efficiency = (curve){0};
	int64_t product = matmul_time_ns(&dev, &w);
	w.dims.is_convolution = true;
	ck_assert_int_eq(matmul_time_ns(&dev, &w), product);
	dev.convolution_efficiency = (curve){.n = 1, .x = {1}, .ppm = {500000}};
	ck_assert_int_gt(matmul_time_ns(&dev, &w), product * 199 / 100);
	w.dims.is_convolution = false;
	ck_assert_int_eq(matmul_time_ns(&dev, &w), product);
}
END_TEST

/* Dims are padded to the systolic array; rows only to 8, on whichever side they fit better. */
START_TEST(test_padding)
{
	device dev;
	ck_assert_int_eq(device_find("tpu-v5e", &dev, NULL), ST_OK);
	dev.matmul_efficiency = (curve){.n = 1, .x = {1}, .ppm = {1000000}};
	op_work full = {.m = 4096,
		.n = 4096,
		.k = 4096,
		.batch = 1,
		.matmul_flops = 2ll * 4096 * 4096 * 4096,
		.elem = ELEM_BF16};
	op_work thin = {.m = 4096,
		.n = 4096,
		.k = 64,
		.batch = 1,
		.matmul_flops = 2ll * 4096 * 4096 * 64,
		.elem = ELEM_BF16};
	op_work row = {.m = 1,
		.n = 4096,
		.k = 4096,
		.batch = 1,
		.matmul_flops = 2ll * 4096 * 4096,
		.elem = ELEM_BF16};
	op_work column = {.m = 4096,
		.n = 1,
		.k = 4096,
		.batch = 1,
		.matmul_flops = 2ll * 4096 * 4096,
		.elem = ELEM_BF16};
	dev.matmul_operand_s[0] = 0;
	ck_assert_int_eq(matmul_time_ns(&dev, &full), ceil_div(2ll * 4096 * 4096 * 4096, 197000));
	ck_assert_int_eq(matmul_time_ns(&dev, &thin), ceil_div(2ll * 4096 * 4096 * 128, 197000));
	ck_assert_int_eq(matmul_time_ns(&dev, &row), ceil_div(2ll * 8 * 4096 * 4096, 197000));
	ck_assert_int_eq(matmul_time_ns(&dev, &column), matmul_time_ns(&dev, &row));
}
END_TEST

/* Of few rows the larger operand is taken in, of many the smaller one while the rows pass by. */
START_TEST(test_operand_of_few_rows)
{
	device dev;
	ck_assert_int_eq(device_find("tpu-v5e", &dev, NULL), ST_OK);
	dev.matmul_efficiency.n = 0;
	op_work few = {.m = 8,
		.n = 14336,
		.k = 4096,
		.batch = 1,
		.matmul_flops = 2ll * 8 * 14336 * 4096,
		.elem = ELEM_BF16};
	int64_t ns = ceil_div(14336ll * 4096 * 1000, dev.matmul_operand_s[0] / 1000000);
	ck_assert_int_eq(matmul_operand_ns(&dev, &few), ns);
	ck_assert_int_eq(matmul_time_ns(&dev, &few), ns);
	ck_assert_int_le(llabs(ns - 23100), 2500); /* libtpu 0.0.51: 23.1 us */
	op_work batch = few;
	batch.m = 4, batch.n = 128, batch.k = 2048, batch.batch = 64;
	batch.matmul_flops = 2ll * 64 * 4 * 128 * 2048;
	ck_assert_int_eq(matmul_operand_ns(&dev, &batch),
		ceil_div(64ll * 128 * 2048 * 1000, dev.matmul_operand_s[1] / 1000000));
	op_work many = few;
	many.m = 512, many.matmul_flops = 2ll * 512 * 14336 * 4096;
	ck_assert_int_eq(matmul_operand_ns(&dev, &many), 0);
	op_work none = few; /* of a vector: the vector unit's work */
	none.m = 1, none.matmul_flops = 0;
	ck_assert_int_eq(matmul_operand_ns(&dev, &none), 0);
	few.dims.is_convolution = true;
	ck_assert_int_eq(matmul_operand_ns(&dev, &few), 0);
}
END_TEST

/* What is gathered along two dims: libtpu 0.0.51 takes 30.6 ps (v5e) and 10.3 ps (v5p) for an
 * element of 8192 x 8192 bfloat16. */
START_TEST(test_parts)
{
	device dev;
	ck_assert_int_eq(device_find("tpu-v5e", &dev, NULL), ST_OK);
	ck_assert_int_le(llabs(parts_time_ns(&dev, 1000000) - 30600), 3100);
	ck_assert_int_eq(device_find("tpu-v5p", &dev, NULL), ST_OK);
	ck_assert_int_le(llabs(parts_time_ns(&dev, 1000000) - 10300), 1300);
}
END_TEST

/* What a contraction reads from memory is taken in while no results are handed on; both go on
 * beside multiplying. */
START_TEST(test_intake)
{
	device dev;
	ck_assert_int_eq(device_find("tpu-v5e", &dev, NULL), ST_OK);
	dev.memory_bytes_s = 1000000000; /* a byte per ns */
	dev.memory_efficiency = (curve){.n = 1, .x = {1}, .ppm = {1000000}};
	dev.matmul_intake_bytes_s = 500000000;
	ck_assert_int_eq(matmul_intake_ns(&dev, 3000), 6000);
	ck_assert_int_eq(matmul_intake_ns(&dev, -1), 0);
	contraction_kernel k = {.matmul_ns = 1000, .results_ns = 700, .bytes = 4000, .written = 1000};
	ck_assert_int_eq(contraction_kernel_ns(&dev, &k), 700 + 6000);
	k.matmul_ns = 7000;
	ck_assert_int_eq(contraction_kernel_ns(&dev, &k), 7000);
	k.matmul_ns = 1000, k.results_ns = 0; /* it makes nothing as large as its products */
	ck_assert_int_eq(contraction_kernel_ns(&dev, &k), 4000);
	k.results_ns = 700, dev.matmul_intake_bytes_s = 0;
	ck_assert_int_eq(contraction_kernel_ns(&dev, &k), 4000);
	/* of a batch of large matrices no operand is waited for */
	op_work w = {.m = 128,
		.n = 128,
		.k = 128,
		.batch = 1024,
		.matmul_flops = 2ll * 1024 * 128 * 128 * 128,
		.elem = ELEM_BF16};
	dev.matmul_operand_s[1] = 1000000000;
	ck_assert_int_eq(matmul_operand_ns(&dev, &w), 0);
	w.m = 64, w.matmul_flops /= 2;
	ck_assert_int_gt(matmul_operand_ns(&dev, &w), 0);
}
END_TEST

/* A tile of eight-bit rows has at least four of them: two are padded, four are not. */
START_TEST(test_rows_of_eight_bits)
{
	device dev;
	ck_assert_int_eq(device_find("tpu-v5e", &dev, NULL), ST_OK);
	struct op_rows r = {.elements = 32 * 2048 * 2 * 128, .row = 128, .rows = 2, .elem = ELEM_I8};
	ck_assert_int_eq(padded_rows_bytes(&dev, &r), 32ll * 2048 * 4 * 128);
	r.elem = ELEM_BF16;
	ck_assert_int_eq(padded_rows_bytes(&dev, &r), 0);
	r.elem = ELEM_I8, r.rows = 4, r.elements *= 2;
	ck_assert_int_eq(padded_rows_bytes(&dev, &r), 0);
}
END_TEST

/* An element type the device lacks runs at the rate of the next wider one. */
START_TEST(test_element_types)
{
	device dev;
	ck_assert_int_eq(device_find("a100", &dev, NULL), ST_OK);
	op_work w = {.matmul_flops = TFLOPS(10)};
	int64_t t[ELEM_COUNT];
	for (uint32_t e = ELEM_I1; e < ELEM_COUNT; e++) {
		w.elem = (uint8_t)e;
		t[e] = matmul_time_ns(&dev, &w);
		ck_assert_int_gt(t[e], 0);
	}
	ck_assert_int_eq(t[ELEM_F8E4M3FN], t[ELEM_BF16]); /* no float is multiplied as an integer */
	ck_assert_int_lt(t[ELEM_I4], t[ELEM_BF16]);
	ck_assert_int_eq(t[ELEM_BF16], t[ELEM_F16]);
	ck_assert_int_gt(t[ELEM_F32], t[ELEM_BF16]);
	ck_assert_int_gt(t[ELEM_F64], t[ELEM_F32]);
}
END_TEST

/* H100 vector add of 2^30 floats: 4.1 ms measured (simulated here with the profile's curve). */
START_TEST(test_h100_vector_add)
{
	device dev;
	ck_assert_int_eq(device_find("h100", &dev, NULL), ST_OK);
	op_work w = {.vector_flops = 1 << 30};
	int64_t t = work_time_ns(&dev, &w, 12ll << 30);
	ck_assert_int_gt(t, 3900000);
	ck_assert_int_lt(t, 4400000);
	/* 65,536 elements: about 1.5 us, nearly all of it fixed cost */
	w.vector_flops = 65536;
	t = work_time_ns(&dev, &w, 3 * 65536 * 4);
	ck_assert_int_gt(t, 1200);
	ck_assert_int_lt(t, 1900);
	op_work nothing = {.free = true};
	ck_assert_int_eq(work_time_ns(&dev, &nothing, 0), 0);
}
END_TEST

/* Tiled memory pads the two minor dims, in the cheapest order; linear memory pads nothing; a CPU
 * keeps 16-bit floats as float32. */
START_TEST(test_stored_bytes)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	const sharding_table *t = f.m->shardings;
	struct {
		type_id ty;
		int64_t want;
	} cases[] = {
		{fix_type(&f, ELEM_F32, 2, 1024, 1024), 4 << 20},
		{fix_type(&f, ELEM_F32, 2, 4096, 1), 4096 * 4},
		{fix_type(&f, ELEM_F32, 2, 100, 100), 104 * 128 * 4},
		{fix_type(&f, ELEM_BF16, 1, 5), 128 * 2},
		{fix_type(&f, ELEM_F32, 0), 128 * 4},
		{fix_type(&f, ELEM_F32, 1, 200), 256 * 4},
		{fix_type(&f, ELEM_F32, 1, 3072), 3072 * 4},
		{fix_type(&f, ELEM_F32, 1, 3000), 3072 * 4},
		{fix_type(&f, ELEM_F32, 4, 5, 5, 3, 64), 25 * 4 * 128 * 4},
		{fix_type(&f, ELEM_F32, 4, 7, 7, 3, 8), 21 * 8 * 128 * 4},
		{fix_type(&f, ELEM_F32, 2, 64, 16), 16 * 128 * 4},
		{fix_type(&f, ELEM_F32, 3, 16, 3, 128), 16 * 3 * 128 * 4},
		{fix_type(&f, ELEM_F32, 2, 1 << 20, 1 << 14), 64ll << 30},
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		ck_assert_int_eq(device_stored_bytes(&f.dev, t, SHARDING_NONE, type_get(f.m, cases[i].ty),
							 ALL_MINORS, NULL),
			cases[i].want);
	device gpu, cpu;
	ck_assert_int_eq(device_find("h100", &gpu, NULL), ST_OK);
	ck_assert_int_eq(device_find("cpu-host", &cpu, NULL), ST_OK);
	ck_assert_int_eq(
		device_stored_bytes(&gpu, t, SHARDING_NONE, type_get(f.m, cases[2].ty), ALL_MINORS, NULL),
		100 * 100 * 4);
	ck_assert_int_eq(
		device_stored_bytes(&gpu, t, SHARDING_NONE, type_get(f.m, cases[3].ty), ALL_MINORS, NULL),
		5 * 2);
	ck_assert_int_eq(
		device_stored_bytes(&cpu, t, SHARDING_NONE, type_get(f.m, cases[3].ty), ALL_MINORS, NULL),
		5 * 4);
	ck_assert_int_eq(
		device_stored_bytes(&cpu, t, SHARDING_NONE, type_get(f.m, cases[2].ty), ALL_MINORS, NULL),
		100 * 100 * 4);
	fix_release(&f);
}
END_TEST

int main(void)
{
	const TTest *tests[] = {test_log2_and_curves, test_monotone, test_v5e_matmul, test_results,
		test_vector_elements, test_streams, test_intake, test_parts, test_transposed, test_tails,
		test_reorders, test_kernel_around_a_contraction, test_efficiency_of_convolutions,
		test_padding, test_operand_of_few_rows, test_rows_of_eight_bits, test_element_types,
		test_h100_vector_add, test_stored_bytes};
	return run_tests(tests, COUNT_OF(tests), "roofline");
}
