/* Simulation of HLO text: work and traffic of instructions, and what kernels take. */
#include "tests/unit/hlo_fixture.h"

START_TEST(flops_of_contractions)
{
	/* the same product of 64 x 32 by 32 x 16 eight times over, as a batched dot, as a TPU
	 * convolution whose batch rides as a window, and as a library call */
	static const char *const lines[] = {
		"  %a = f32[8,64,32] parameter(0)\n  %b = f32[8,32,16] parameter(1)\n"
		"  ROOT %c = f32[8,64,16] dot(%a, %b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
		"lhs_contracting_dims={2}, rhs_contracting_dims={1}\n",
		"  %a = f32[8,64,32] parameter(0)\n  %b = f32[8,32,16] parameter(1)\n"
		"  ROOT %c = f32[8,64,16] convolution(%a, %b), window={size=8 stride=7 lhs_dilate=8}, "
		"dim_labels=0bf_0io->0bf\n",
		"  %a = f32[8,64,32] parameter(0)\n  %b = f32[8,32,16] parameter(1)\n"
		"  %t = (f32[8,64,16], s8[1024]) custom-call(%a, %b), "
		"custom_call_target=\"__cublas$gemm\", backend_config={\"dot_dimension_numbers\":"
		"{\"lhs_contracting_dimensions\":[\"2\"],\"rhs_contracting_dimensions\":[\"1\"],\"lhs_"
		"batch_dimensions\":[\"0\"],\"rhs_batch_dimensions\":[\"0\"]}}\n"
		"  ROOT %c = f32[8,64,16] get-tuple-element(%t), index=0\n",
	};
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		cost c = cost_of("h100", "", lines[i]);
		ck_assert_msg(
			c.flops_per_device == 2. * 8 * 64 * 32 * 16, "%zu: %f", i, c.flops_per_device);
	}
	cost c = cost_of("h100", "",
		"  %a = f32[2,8,8,3] parameter(0)\n  %k = f32[3,3,3,4] parameter(1)\n"
		"  ROOT %c = f32[2,8,8,4] convolution(%a, %k), window={size=3x3 pad=1_1x1_1}, "
		"dim_labels=b01f_01io->b01f\n");
	ck_assert(c.flops_per_device ==
		2. * 2 * 4 * 3 * (3 * 8 - 2) * (3 * 8 - 2)); /* taps outside do not count */
}
END_TEST

/* Library calls: those of a convolution and of its two gradients have one window and one set of
 * labels; operands and result change places. */
START_TEST(library_calls)
{
#define CONVOLUTION(result, a, b, target) \
	"  %a = f32" a " parameter(0)\n  %b = f32" b " parameter(1)\n  ROOT %c = (f32" result \
	", u8[40000]) custom-call(%a, %b), window={size=3x3 pad=1_1x1_1}, " \
	"dim_labels=b01f_o01i->b01f, custom_call_target=\"__cudnn$" target "\"\n"
#define IMAGES "[2,8,8,3]"
#define KERNEL "[4,3,3,3]"
#define RESULTS "[2,8,8,4]"
	static const char *const lines[] = {
		CONVOLUTION(RESULTS, IMAGES, KERNEL, "convForward"),
		CONVOLUTION(KERNEL, IMAGES, RESULTS, "convBackwardFilter"),
		CONVOLUTION(IMAGES, RESULTS, KERNEL, "convBackwardInput"),
	};
	static const int64_t written[] = {4 * 2 * 8 * 8 * 4, 4 * 4 * 3 * 3 * 3, 4 * 2 * 8 * 8 * 3};
	int64_t arrays = written[0] + written[1] + written[2];
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		result r = run_on("h100", entry("", lines[i]));
		ck_assert_msg(r.c.flops_per_device == 2. * 2 * 4 * 3 * (3 * 8 - 2) * (3 * 8 - 2), "%zu: %f",
			i, r.c.flops_per_device);
		ck_assert_int_eq(event_of(&r, "c")->hbm_bytes, arrays); /* without the scratch */
		ck_assert_int_eq(r.c.runtime_ns, 100 + arrays);
		done(&r);
	}
	/* a solve of triangular systems names no dims, and is no product */
	result r = run_on("h100",
		entry("",
			"  %a = f32[2,8,8] parameter(0)\n  %b = f32[2,8,4] parameter(1)\n  ROOT %c = "
			"(f32[2,8,4], s8[40000]) custom-call(%a, %b), "
			"custom_call_target=\"__cublas$triangularSolve\", backend_config={\"lower\":true}\n"));
	ck_assert(r.c.flops_per_device == 2. * 8 * 4 * 8);
	ck_assert_int_eq(event_of(&r, "c")->hbm_bytes, 4 * (2 * 8 * 8 + 2 * (2 * 8 * 4)));
	done(&r);
}
END_TEST

START_TEST(traffic_of_fusions)
{
	static const char comps[] =
		"%slices (p: f32[1000,16], q: f32[16]) -> f32[16] {\n  %p = f32[1000,16] parameter(0)\n  "
		"%q = f32[16] parameter(1)\n"
		"  %s = f32[1,16] slice(%p), slice={[3:4], [0:16]}\n  %b = f32[16] bitcast(%s)\n  ROOT %r "
		"= f32[16] add(%b, %q)\n}\n"
		"%updates (p: f32[1000,16], q: f32[16], i: s32[]) -> f32[1000,16] {\n  %p = f32[1000,16] "
		"parameter(0)\n  %q = f32[16] parameter(1)\n"
		"  %i = s32[] parameter(2)\n  %z = s32[] constant(0)\n  %b = f32[1,16] bitcast(%q)\n"
		"  ROOT %r = f32[1000,16] dynamic-update-slice(%p, %b, %i, %z)\n}\n"
		"%both (q: f32[16], v: f32[16]) -> (f32[16], f32[16]) {\n  %q = f32[16] parameter(0)\n  %v "
		"= f32[16] parameter(1)\n"
		"  %n = f32[16] negate(%q)\n  %e = f32[16] add(%n, %v)\n  ROOT %r = (f32[16], f32[16]) "
		"tuple(%n, %e)\n}\n";
	result r = run_on("tpu-v5e",
		entry(comps,
			"  %p = f32[1000,16] parameter(0)\n  %q = f32[16] parameter(1)\n  %i = s32[] "
			"parameter(2)\n"
			"  %s = f32[16] fusion(%p, %q), kind=kLoop, calls=%slices\n"
			"  %v = f32[16]{0:S(1)} negate(%s)\n"
			"  %t = (f32[16], f32[16]{0:S(1)}) fusion(%s, %v), kind=kLoop, calls=%both\n"
			"  %g = f32[16] get-tuple-element(%t), index=0\n"
			"  ROOT %u = f32[1000,16] fusion(%p, %g, %i), kind=kLoop, calls=%updates\n"));
	ck_assert_int_eq(event_of(&r, "s")->hbm_bytes, 64 + 64 + 64); /* the slice, q, the result */
	ck_assert_int_eq(event_of(&r, "v")->hbm_bytes, 64); /* written to memory on the chip */
	ck_assert_int_eq(event_of(&r, "t")->hbm_bytes, 64 + 64);
	ck_assert_int_eq(event_of(&r, "u")->hbm_bytes, 64 + 4 + 64);
	done(&r);
}
END_TEST

/* ---------------------------------------------------------------- times */

/* XLA for GPU writes times, of kernels and of collectives, where it is asked for them. */
START_TEST(times_of_the_compiler_are_taken)
{
#define COST(us) \
	"backend_config={\"fusion_backend_config\":{\"kind\":\"__triton\"},\"reification_cost\":[{" \
	"\"end_to_end_cycles\":1,\"exec_time_us\":" us ",\"compute_time_us\":9,\"name\":\"a\"}]}"
	result r = run_on("h100",
		entry(ADD,
			"  %p = f32[500] parameter(0)\n  %a = f32[500] negate(%p), " COST(
				"12.5") "\n"
						"  %b = f32[500] negate(%a), backend_config={\"reification_cost\":[]}\n"
						"  ROOT %c = f32[500] all-reduce(%b), channel_id=1, " GROUPS8
						", to_apply=%add, " COST("3") "\n"));
	ck_assert(hlo_has_estimates(r.s));
	ck_assert_int_eq(r.c.runtime_ns, 12500 + 4100 + 3000);
	ck_assert_int_eq(hlo_share_of(r.s, HLO_KERNELS, HLO_FROM_COMPILER).ns, 12500);
	ck_assert_int_eq(hlo_share_of(r.s, HLO_KERNELS, HLO_FROM_MODEL).ns, 4100);
	ck_assert_int_eq(hlo_share_of(r.s, HLO_COLLECTIVES, HLO_FROM_COMPILER).ns, 3000);
	done(&r);
	/* of a kernel in Triton that of the model which was made for them, wherever it stands; of
	 * products of bytes none */
#define MODELS(first, second) \
	"backend_config={\"reification_cost\":[{\"exec_time_us\":900,\"name\":\"" first \
	"\"},{\"exec_time_us\":7.5,\"name\":\"" second "\"}]}"
	ck_assert_int_eq(cost_of("h100", "",
						 "  %p = f32[500] parameter(0)\n  ROOT %a = f32[500] negate(%p), " MODELS(
							 "", "indexing-cost-model") "\n")
						 .runtime_ns,
		7500);
	ck_assert_int_eq(cost_of("h100", "",
						 "  %p = f32[500] parameter(0)\n  ROOT %a = f32[500] negate(%p), " MODELS(
							 "", "sol") "\n")
						 .runtime_ns,
		900000);
#define PRODUCT(type) \
	"  %p = " type "[8,8] parameter(0)\n  ROOT %a = (f32[8,8], s8[9]) custom-call(%p, %p), " \
	"custom_call_target=\"__cublas$lt$matmul\", " MODELS("sol", "") "\n"
	ck_assert_int_eq(cost_of("h100", "", PRODUCT("bf16")).runtime_ns, 900000);
	ck_assert_int_lt(cost_of("h100", "", PRODUCT("f8e4m3fn")).runtime_ns, 1000);
	static const char *const wrong[] = {
		"-1", "1e99", "x", "\"", "1e", "0000000000000000000000000000000000000000000000000000001"};
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		char lines[512];
		snprintf(lines, sizeof lines,
			"  %%p = f32[500] parameter(0)\n  ROOT %%a = f32[500] negate(%%p), "
			"metadata={op_name=\"x\"}, backend_config=\"{\\\"exec_time_us\\\":%s}\"\n",
			strcmp(wrong[i], "\"") ? wrong[i] : "\\\"");
		ck_assert_int_eq(cost_of("h100", "", lines).runtime_ns, 4100);
	}
}
END_TEST

/* Where others have cycles, a kernel without them takes its traffic, and what the model says is
 * told beside. */
START_TEST(kernels_without_an_estimate_take_their_traffic)
{
	result r = run_on("tpu-v5e",
		entry("",
			"  %p = f32[250] parameter(0)\n  %a = f32[250] negate(%p), "
			"backend_config={\"estimated_cycles\":\"15000\"}\n"
			"  ROOT %b = f32[250]{0:S(1)} negate(%a)\n"));
	ck_assert_int_eq(r.c.runtime_ns, 10000 + 1000);
	ck_assert_int_eq(hlo_share_of(r.s, HLO_KERNELS, HLO_FROM_COMPILER).count, 1);
	ck_assert_int_eq(hlo_share_of(r.s, HLO_KERNELS, HLO_FROM_TRAFFIC).ns, 1000);
	ck_assert_int_eq(hlo_unestimated_ns(r.s), 100 + 1000); /* with the launch */
	ck_assert_int_eq(event_of(&r, "a")->source, HLO_FROM_COMPILER);
	ck_assert_int_eq(event_of(&r, "b")->source, HLO_FROM_TRAFFIC);
	done(&r);
}
END_TEST

/* Without the compiler's estimates kernels of a TPU are priced as those of a search: by the rates
 * of its profile, and by where the text says that values lie. 1 ns a byte of memory, 0.5 a byte on
 * the chip, 10 an element that is transposed. */
static int64_t tpu_kernel_ns(const char *comps, const char *lines)
{
	device dev = plain("tpu-v5e");
	dev.vector_bytes_s[0] = 1000000000, dev.vector_bytes_s[1] = 2000000000;
	dev.transposed_elements_s = 100000000;
	dev.matmul_results_s[0] = dev.matmul_results_s[1] = 1000000000;
	dev.lone_elements_s = dev.near_launch_ns = 0;
	result r = run_with(&dev, entry(comps, lines));
	done(&r);
	return r.c.runtime_ns - 100;
}
#define SUM_OF_TWO(type) \
	"%sum (x: " type ", y: " type ") -> " type " {\n  %x = " type " parameter(0)\n  %y = " type \
	" parameter(1)\n  ROOT %z = " type " add(%x, %y)\n}\n"

START_TEST(kernels_of_a_tpu_are_priced_by_its_profile)
{
	/* float32 from memory to memory; read on the chip; kept there; 16 bits cost a pass of 4 bytes
	 */
	static const struct {
		const char *type, *first, *second, *made;
		int64_t ns;
	} streams[] = {
		{"f32[128,128]", "", "", "", 3 * 65536},
		{"f32[128,128]", "", "S(1)", "", 2 * 65536 + 65536 / 2},
		{"f32[128,128]", "", "", "S(1)", 2 * 65536},
		{"bf16[128,128]", "", "", "", 3 * 32768 + 65536},
		{"bf16[128,128]", "S(1)", "S(1)", "S(1)", 32768 + 65536},
	};
	for (size_t i = 0; i < COUNT_OF(streams); i++) {
		char lines[512];
		snprintf(lines, sizeof lines,
			"  %%a = %s{1,0:%s} parameter(0)\n  %%b = %s{1,0:%s} parameter(1)\n"
			"  ROOT %%c = %s{1,0:%s} fusion(%%a, %%b), kind=kLoop, calls=%%sum\n",
			streams[i].type, streams[i].first, streams[i].type, streams[i].second, streams[i].type,
			streams[i].made);
		int64_t ns = tpu_kernel_ns(strstr(streams[i].type, "bf16") ? SUM_OF_TWO("bf16[128,128]")
																   : SUM_OF_TWO("f32[128,128]"),
			lines);
		ck_assert_msg(ns == streams[i].ns, "%zu: %lld", i, (long long)ns);
	}
}
END_TEST

START_TEST(copies_of_a_tpu_are_priced_by_their_layouts)
{
	static const struct {
		const char *from, *to;
		int64_t ns;
	} copies[] = {
		{"f32[128,128]{1,0}", "f32[128,128]{0,1}", 2 * 163840},
		{"f32[128,128]{1,0}", "f32[128,128]{0,1:S(1)}", 163840},
		{"f32[128,128]{1,0:S(1)}", "f32[128,128]{0,1:S(1)}", 0},
		{"f32[8,16,128]{2,1,0}", "f32[8,16,128]{2,0,1}", 2 * 65536},   /* the minor dim stays */
		{"f32[128,128,1]{2,1,0}", "f32[128,128,1]{1,0,2}", 2 * 65536}, /* one of size 1 is none */
	};
	for (size_t i = 0; i < COUNT_OF(copies); i++) {
		char lines[256];
		snprintf(lines, sizeof lines, "  %%a = %s parameter(0)\n  ROOT %%b = %s copy(%%a)\n",
			copies[i].from, copies[i].to);
		int64_t ns = tpu_kernel_ns("", lines);
		ck_assert_msg(ns == copies[i].ns, "%zu: %lld", i, (long long)ns);
	}
}
END_TEST

/* Whatever is costed as a kernel has a result that may be no array. */
START_TEST(kernels_without_an_array)
{
	ck_assert_int_eq(tpu_kernel_ns("",
						 "  %a = f32[8] parameter(0)\n  ROOT %b = () custom-call(%a), "
						 "custom_call_target=\"f\"\n"),
		32 + 32); /* read, and no result of 32 bits */
	ck_assert_int_eq(
		tpu_kernel_ns("", "  %a = token[] parameter(0)\n  ROOT %b = token[] copy(%a)\n"), 0);
	ck_assert_int_eq(tpu_kernel_ns("",
						 "  %a = (f32[8], f32[8]) parameter(0)\n  ROOT %b = (f32[8], f32[8]) "
						 "copy(%a)\n"),
		128); /* read and written */
}
END_TEST

/* A product of few summands waits for its results; what a fusion inside hands on is read. */
START_TEST(products_of_a_tpu_wait_for_results_and_operands)
{
	const char *comps =
		"%as_it_is (x: f32[512,8]) -> f32[512,8] {\n  %x = f32[512,8] parameter(0)\n"
		"  ROOT %y = f32[512,8] bitcast(%x)\n}\n"
		"%product (a: f32[512,8], b: f32[8,512]) -> f32[512,512] {\n"
		"  %a = f32[512,8] parameter(0)\n  %b = f32[8,512] parameter(1)\n"
		"  %c = f32[512,8] fusion(%a), kind=kLoop, calls=%as_it_is\n"
		"  ROOT %d = f32[512,512] convolution(%c, %b), dim_labels=bf_io->bf\n}\n";
	const char *lines = "  %a = f32[512,8] parameter(0)\n  %b = f32[8,512] parameter(1)\n"
						"  ROOT %c = f32[512,512]{1,0:S(%d)} fusion(%a, %b), kind=kOutput, "
						"calls=%product\n";
	char text[512];
	/* to memory: 1 MiB and the operands; 262144 results a ns take as long, and the last block's
	 * are behind that */
	snprintf(text, sizeof text, "%.*s0%s", (int)(strstr(lines, "%d") - lines), lines,
		strstr(lines, "%d") + 2);
	ck_assert_int_eq(tpu_kernel_ns(comps, text), 1048576 + 2 * 16384 + 262144);
	snprintf(text, sizeof text, "%.*s1%s", (int)(strstr(lines, "%d") - lines), lines,
		strstr(lines, "%d") + 2);
	int64_t near = tpu_kernel_ns(comps, text);
	ck_assert_int_lt(near, 262144);
	ck_assert_int_ge(near, 2 * 16384); /* the operands */
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, flops_of_contractions);
	tcase_add_test(t, library_calls);
	tcase_add_test(t, traffic_of_fusions);
	tcase_add_test(t, times_of_the_compiler_are_taken);
	tcase_add_test(t, kernels_without_an_estimate_take_their_traffic);
	tcase_add_test(t, kernels_of_a_tpu_are_priced_by_its_profile);
	tcase_add_test(t, copies_of_a_tpu_are_priced_by_their_layouts);
	tcase_add_test(t, kernels_without_an_array);
	tcase_add_test(t, products_of_a_tpu_wait_for_results_and_operands);
}

int main(void) { return run_added(add_tests, "hlo_kernels"); }
