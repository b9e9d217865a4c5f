/* Which collectives become one instruction. */
#include "optimize_fixture.h"

START_TEST(independent_collectives_are_combined)
{
	static const char independent[] = MAIN(T WHOLE ", " T WHOLE) DOT("p", "a", "b")
		DOT("q", "a", "c") "  return %p, %q : " T ", " T "\n}\n";
	static const char dependent[] = MAIN(T WHOLE)
		DOT("p", "a", "b") "  %t = sdy.sharding_constraint %p <@mesh, [{}, {\"d\"}]> : " T
						   "\n" DOT("q", "t", "c") "  return %q : " T "\n}\n";
	lowering x;
	lowering_read(&x, MESH, independent);
	check_counts(&x, LEVEL_OPTIMIZED, TARGET_GPU, "all_reduce=2");
	check_counts(&x, LEVEL_COMPILED, TARGET_GPU, "all_reduce=1");
	lowering_release(&x);
	lowering_read(&x, MESH, dependent);
	check_counts(&x, LEVEL_COMPILED, TARGET_CPU, "all_reduce=2 all_slice=1");
	lowering_release(&x);
	/* work on numbers waits: the terms of a loss are one collective, but not what the second is
	 * made of */
#define TERM(r, of) \
	"  %" r " = stablehlo.reduce(%" of " init: %z) applies stablehlo.add across dimensions = " \
	"[0, 1] : (" T ", tensor<f32>) -> tensor<f32>\n" \
	"  %" r "m = stablehlo.divide %" r ", %n : tensor<f32>\n"
#define TERMS(between, second) \
	"func.func @main(%a: " T " " COLUMNS ", %b: " T " " COLUMNS ") -> tensor<f32> {\n" ZERO \
	"  %n = stablehlo.constant dense<4.0> : tensor<f32>\n" TERM("p", "a") \
		between TERM("q", second) "  %s = stablehlo.multiply %pm, %qm : tensor<f32>\n" \
								  "  return %s : tensor<f32>\n}\n"
	lowering_read(&x, MESH, TERMS("", "b"));
	check_counts(&x, LEVEL_COMPILED, TARGET_TPU, "all_reduce=1");
	check_counts(&x, LEVEL_COMPILED, TARGET_GPU, "all_reduce=1");
	lowering_release(&x);
	lowering_read(&x, MESH,
		TERMS("  %w = stablehlo.broadcast_in_dim %pm, dims = [] : (tensor<f32>) -> " T
			  "\n  %c = stablehlo.multiply %w, %b : " T "\n",
			"c"));
	check_counts(&x, LEVEL_COMPILED, TARGET_TPU, "all_reduce=2");
	check_counts(&x, LEVEL_COMPILED, TARGET_GPU, "all_reduce=2");
	lowering_release(&x);
}
END_TEST

/* Adding up what was reduced waits for who reads it, as gradients of a weight that is read three
 * times, but not what else is made of the sum. */
START_TEST(sums_of_all_reduces_wait)
{
	lowering x;
#define TURNED(r, of) "  %" r " = stablehlo.transpose %" of ", dims = [1, 0] : (" T ") -> " T "\n"
#define SUM(r, a, b) "  %" r " = stablehlo.add %" a ", %" b " : " T "\n"
#define GRADIENTS(between, first) \
	MAIN(T WHOLE) \
	DOT("p", "a", "b") \
	TURNED("pt", "p") \
	DOT("q", "a", "c") \
	SUM("s", "pt", "q") \
	between DOT("r", "a", "b") TURNED("rt", "r") SUM("u", first, "rt") "  return %u : " T "\n}\n"
	lowering_read(&x, MESH, GRADIENTS("", "s"));
	check_counts(&x, LEVEL_COMPILED, TARGET_TPU, "all_reduce=1");
	lowering_release(&x);
	lowering_read(&x, MESH, GRADIENTS("  %t = stablehlo.tanh %s : " T "\n", "t"));
	check_counts(&x, LEVEL_COMPILED, TARGET_TPU, "all_reduce=2");
	lowering_release(&x);
}
END_TEST

/* Two sums that do not wait for each other join, though something reads the first one in between.
 * On TPU one that nobody reads before the last sum stays apart. */
START_TEST(sums_join_across_their_readers)
{
#define READER(r, of) "  %" r " = stablehlo.tanh %" of " : " T "\n"
	lowering x;
	lowering_read(&x, MESH,
		MAIN(T WHOLE) DOT("p", "a", "b") READER("t", "p") DOT("q", "a", "c") READER("u", "q")
			SUM("s", "t", "u") DOT("r", "a", "b") SUM("v", "s", "r") "  return %v : " T "\n}\n");
	check_counts(&x, LEVEL_COMPILED, TARGET_TPU, "all_reduce=2");
	check_counts(&x, LEVEL_COMPILED, TARGET_GPU, "all_reduce=1");
	lowering_release(&x);
}
END_TEST

/* The slice of a device's own part of a sum waits for who reads it: two sums over all devices of a
 * square are one instruction, unless the second is made of the first one's part. */
START_TEST(sums_join_across_own_parts)
{
#define OVER_ALL(dims) "{sdy.sharding = #sdy.sharding<@mesh, [" dims "]>}"
#define ALL_ROWS OVER_ALL("{\"d\", \"m\"}, {}")
#define PART "  %s = sdy.sharding_constraint %p <@mesh, [{\"d\", \"m\"}, {}]> : " T "\n"
#define READ "  %t = stablehlo.tanh %s : " T "\n"
#define PARTS(rest) \
	"func.func @main(%a: " T \
	" " OVER_ALL("{}, {\"d\", \"m\"}") ", %b: " T " " ALL_ROWS ", %c: " T " " ALL_ROWS ") -> (" T \
									   " " ALL_ROWS ", " T " " ALL_ROWS ") {\n" DOT("p", "a", "b") \
										   PART rest "  return %t, %q : " T ", " T "\n}\n"
	lowering x;
	lowering_read(&x, "<[\"d\"=4, \"m\"=4]>", PARTS(DOT("q", "a", "c") READ));
	lower_cache_device(x.cache, TARGET_TPU, 2, 0);
	check_counts(&x, LEVEL_EXACT, TARGET_TPU, "all_reduce=1 all_slice=2");
	lowering_release(&x);
	lowering_read(&x, "<[\"d\"=4, \"m\"=4]>", PARTS(READ DOT("q", "a", "t")));
	lower_cache_device(x.cache, TARGET_TPU, 2, 0);
	check_counts(&x, LEVEL_EXACT, TARGET_TPU, "all_reduce=2 all_slice=2");
	lowering_release(&x);
}
END_TEST

/* XLA for GPU combines what does not need the results of one another, wherever it stands: gathers
 * of any type, and what is made of arguments alone as if it stood in front. */
#define GATHER(r, of, type) \
	"  %" r " = sdy.sharding_constraint %" of " <@mesh, [{}, {}]> : " type "\n"
#define TANH(r, of) "  %" r " = stablehlo.tanh %" of " : " T "\n"
#define HALF "tensor<16x16xbf16>"
#define BOTH(lines) MAIN(T WHOLE ", " T WHOLE) lines "  return %s, %u : " T ", " T "\n}\n"
START_TEST(gathers_on_gpu_join_from_the_start_on)
{
	static const struct {
		const char *text, *counts;
	} cases[] = {
		{BOTH(TANH("f", "b") GATHER("p", "f", T) TANH("s", "p") TANH("g", "c") GATHER("q", "g", T)
				 TANH("u", "q")),
			"all_gather=1"},
		{BOTH("  %f = stablehlo.convert %b : (" T ") -> " HALF
			  "\n" GATHER("x", "f", HALF) "  %p = stablehlo.convert %x : (" HALF ") -> " T
										  "\n" TANH("s", "p") GATHER("q", "c", T) TANH("u", "q")),
			"all_gather=1"},
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		lowering x;
		lowering_read(&x, MESH, cases[i].text);
		check_counts(&x, LEVEL_COMPILED, TARGET_GPU, cases[i].counts);
		lowering_release(&x);
	}
}
END_TEST

/* Of scatters results count, of all else the larger side; one that is too large joins nothing, and
 * ends nothing. */
START_TEST(sizes_that_join_on_gpu)
{
#define LARGE(rows) "tensor<" rows "x1024xf32>"
#define SUM_OF(r, rows, of, on) \
	"  %" r " = stablehlo.dot_general %" of ", %b, contracting_dims = [1] x [0] : (" LARGE( \
		rows) ", " LARGE("1024") ") -> " LARGE(rows) "\n" \
													 "  %" r "t = sdy.sharding_constraint %" r \
													 " <@mesh, [{" on \
													 "}, {}]> : " LARGE(rows) "\n"
#define SUMS(rows, other, on) \
	"func.func @main(%a: " LARGE(rows) " " COLUMNS ", %o: " LARGE( \
		other) " " COLUMNS \
			   ", %b: " LARGE("1024") " " ROWS ") -> (" LARGE(rows) ", " LARGE(other) ", " LARGE( \
				   rows) ") {\n" SUM_OF("p", rows, "a", on) SUM_OF("q", other, "o", on) \
				   SUM_OF("r", rows, "a", on) "  return %pt, %qt, %rt : " LARGE(rows) ", " LARGE( \
					   other) ", " LARGE(rows) "\n}\n"
	lowering x;
	/* 4 MiB a thousand rows */
	lowering_read(&x, MESH, SUMS("2048", "3072", ""));
	check_counts(&x, LEVEL_COMPILED, TARGET_GPU, "all_reduce=1"); /* 28 MiB */
	lowering_release(&x);
	lowering_read(&x, MESH, SUMS("3072", "3072", ""));
	check_counts(&x, LEVEL_COMPILED, TARGET_GPU, "all_reduce=2"); /* 24 and 12 */
	lowering_release(&x);
	lowering_read(&x, MESH, SUMS("3072", "8192", "")); /* 12 and 12, and one of 32 */
	check_counts(&x, LEVEL_COMPILED, TARGET_GPU, "all_reduce=2");
	lowering_release(&x);
	lowering_read(&x, MESH, SUMS("8192", "8192", "\"d\"")); /* 8 each for a device */
	check_counts(&x, LEVEL_COMPILED, TARGET_GPU, "reduce_scatter=1");
	lowering_release(&x);
	lowering_read(&x, MESH, SUMS("12288", "8192", "\"d\"")); /* 12, 8, 12 */
	check_counts(&x, LEVEL_COMPILED, TARGET_GPU, "reduce_scatter=2");
	lowering_release(&x);
}
END_TEST

/* A sum of which each device keeps a part is an all_reduce in annotated programs on TPU, where it
 * is over all devices of a square, or of a value of one dim: it joins the others. */
START_TEST(sums_kept_whole_join)
{
#define OF_ROWS(r, of, dims, on) \
	"  %" r " = stablehlo.reduce(%" of \
	" init: %z) applies stablehlo.add across dimensions = [0] : (" \
	"tensor<16x" dims "xf32>, tensor<f32>) -> tensor<" dims "xf32>\n" \
	"  %" r "s = sdy.sharding_constraint %" r " <@mesh, [" on "]> : tensor<" dims "xf32>\n"
#define PART_AND_WHOLE(rows, rest, dims, part, whole) \
	"func.func @main(%a: tensor<16x" dims \
	"xf32> " OVER_ALL(rows rest) ", %b: tensor<16x" dims "xf32> " OVER_ALL( \
		rows rest) ") -> (tensor<" dims "xf32>, tensor<" dims \
				   "xf32>) {\n" ZERO OF_ROWS("p", "a", dims, part) \
					   OF_ROWS("q", "b", dims, whole) "  return %ps, %qs : tensor<" dims \
													  "xf32>, tensor<" dims "xf32>\n}\n"
	static const struct {
		const char *text, *counts;
	} cases[] = {
		{PART_AND_WHOLE("{\"d\"}", ", {}", "64", "{\"d\"}", "{}"), "reduce_scatter=1"},
		{PART_AND_WHOLE("{\"d\"}", ", {}, {}", "64x64", "{\"d\"}, {}", "{}, {}"),
			"all_reduce=1 reduce_scatter=1"},
		{PART_AND_WHOLE("{\"d\", \"m\"}", ", {}, {}", "64x64", "{\"d\", \"m\"}, {}", "{}, {}"),
			"reduce_scatter=1"},
		{PARTS(DOT("q", "a", "c") READ), "reduce_scatter=1"},
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		lowering x;
		lowering_read(&x, "<[\"d\"=4, \"m\"=4]>", cases[i].text);
		lower_cache_device(x.cache, TARGET_TPU, 2, 0);
		check_counts(&x, LEVEL_COMPILED, TARGET_TPU, cases[i].counts);
		lowering_release(&x);
	}
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("combine");
	tcase_add_test(t, gathers_on_gpu_join_from_the_start_on);
	tcase_add_test(t, sizes_that_join_on_gpu);
	tcase_add_test(t, independent_collectives_are_combined);
	tcase_add_test(t, sums_of_all_reduces_wait);
	tcase_add_test(t, sums_join_across_their_readers);
	tcase_add_test(t, sums_join_across_own_parts);
	tcase_add_test(t, sums_kept_whole_join);
	return run_suite(t, "combine");
}
