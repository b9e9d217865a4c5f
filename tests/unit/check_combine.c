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
	lowering_release(&x);
	lowering_read(&x, MESH,
		TERMS("  %w = stablehlo.broadcast_in_dim %pm, dims = [] : (tensor<f32>) -> " T
			  "\n  %c = stablehlo.multiply %w, %b : " T "\n",
			"c"));
	check_counts(&x, LEVEL_COMPILED, TARGET_TPU, "all_reduce=2");
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
	lower_cache_torus(x.cache, 2, 0);
	check_counts(&x, LEVEL_EXACT, TARGET_TPU, "all_reduce=1 all_slice=2");
	lowering_release(&x);
	lowering_read(&x, "<[\"d\"=4, \"m\"=4]>", PARTS(READ DOT("q", "a", "t")));
	lower_cache_torus(x.cache, 2, 0);
	check_counts(&x, LEVEL_EXACT, TARGET_TPU, "all_reduce=2 all_slice=2");
	lowering_release(&x);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("combine");
	tcase_add_test(t, independent_collectives_are_combined);
	tcase_add_test(t, sums_of_all_reduces_wait);
	tcase_add_test(t, sums_join_across_own_parts);
	return run_suite(t, "combine");
}
