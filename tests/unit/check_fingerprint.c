#include "tests/unit/module_fixture.h"

static void prints(const char *text, char out[2][72])
{
	module *m = read_ok(text);
	module_fingerprint(m, out[0]);
	module_sharding_fingerprint(m, out[1]);
	module_free(m);
}

static const char base[] =
	"module @a {\n  func.func @main(%x: tensor<4x8xf32> {tf.aliasing_output = 0 : i32}, %y: "
	"tensor<8x4xf32>) -> tensor<4x4xf32> {\n"
	"    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xf32>, "
	"tensor<8x4xf32>) -> tensor<4x4xf32>\n"
	"    %1 = stablehlo.constant {b.x = 1 : i32, a.y} dense<1.000000e+00> : tensor<4x4xf32>\n"
	"    %2 = stablehlo.subtract %0, %1 : tensor<4x4xf32>\n"
	"    %3 = call @f(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>\n    return %3 : "
	"tensor<4x4xf32>\n  }\n"
	"  func.func private @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {\n    return %x : "
	"tensor<4x4xf32>\n  }\n}\n";

/* base with one piece replaced wherever it stands. */
static char *with(const char *from, const char *to)
{
	strbuf b;
	strbuf_init(&b);
	const char *p = base;
	for (const char *hit; (hit = strstr(p, from)); p = hit + strlen(from)) {
		strbuf_add(&b, p, (size_t)(hit - p));
		strbuf_puts(&b, to);
	}
	ck_assert_msg(p != base, "'%s' is not in the text", from);
	strbuf_puts(&b, p);
	return b.p;
}

static void same(const char *text, bool program, bool shardings)
{
	char a[2][72], b[2][72];
	prints(base, a);
	prints(text, b);
	ck_assert_msg((strcmp(a[0], b[0]) == 0) == program, "program: %s", text);
	ck_assert_msg((strcmp(a[1], b[1]) == 0) == shardings, "shardings: %s", text);
}

static void replaced(const char *from, const char *to, bool program, bool shardings)
{
	char *text = with(from, to);
	same(text, program, shardings);
	free(text);
}

START_TEST(spelling_does_not_count)
{
	replaced("%0", "%renamed", true, true);
	replaced("%x", "%arg0", true, true);
	replaced("@f", "@_where_12", true, true);
	replaced("module @a", "module @jit_other", true, true);
	replaced("    %", "\t%", true, true);
	replaced(
		"-> tensor<4x4xf32> {\n    %0", "-> tensor<4x4xf32>\n// comment\n{\n    %0", true, true);
	replaced("{b.x = 1 : i32, a.y}", "{a.y, b.x = 1 : i32}", true, true);
	replaced("dense<1.000000e+00>", "dense<1.0>", true, true);
	replaced("    return %3 : tensor<4x4xf32>", "    return %3 : tensor<4x4xf32> loc(\"f.py\":1:2)",
		true, true);
	replaced("%y: tensor<8x4xf32>", "%y: tensor<8x4xf32> loc(\"params['w']\")", true, true);
	replaced("stablehlo.subtract %0, %1 : tensor<4x4xf32>",
		"\"stablehlo.subtract\"(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
		true, true);
	replaced("stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] :",
		"\"stablehlo.dot_general\"(%x, %y) <{dot_dimension_numbers = "
		"#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> :",
		true, true);
}
END_TEST

START_TEST(meaning_counts)
{
	replaced("subtract %0, %1", "subtract %1, %0", false, true);
	replaced("subtract %0, %1", "add %0, %1", false, true);
	replaced("tf.aliasing_output = 0", "tf.aliasing_output = 1", false, true);
	replaced("b.x = 1", "b.x = 2", false, true);
	replaced("1.000000e+00", "2.000000e+00", false, true);
	replaced("8xf32", "16xf32", false, true);
	replaced("tensor<4x4xf32>", "tensor<4x4xf64>", false, true);
	replaced("call @f(%2)", "call @f(%1)", false, true);
	replaced("return %x", "return {k} %x", false, true);
}
END_TEST

START_TEST(shardings_are_apart)
{
	static const char mesh[] = "module @a {\n  sdy.mesh @mesh = <[\"a\"=2]>";
	char *meshed = with("module @a {", mesh);
	char a[2][72], b[2][72];
	prints(base, a);
	prints(meshed, b);
	ck_assert_str_ne(a[1], b[1]);
	free(meshed);
	replaced("module @a {", "module @a attributes {mhlo.num_partitions = 4 : i32} {", true, false);
	replaced("%y: tensor<8x4xf32>",
		"%y: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<mesh<[\"a\"=2]>, [{\"a\"}, {}]>}", true,
		false);
	replaced("%y: tensor<8x4xf32>", "%y: tensor<8x4xf32> {mhlo.sharding = \"{replicated}\"}", true,
		false);
	replaced("subtract %0, %1 :",
		"subtract %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<mesh<[\"a\"=2]>, [{}, {}]>]>} :",
		true, false);
}
END_TEST

START_TEST(mesh_ops_leave_the_program_alone)
{
	char *meshed = with("module @a {", "module @a {\n  sdy.mesh @mesh = <[\"a\"=2]>");
	same(meshed, true, false);
	free(meshed);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, spelling_does_not_count);
	tcase_add_test(t, meaning_counts);
	tcase_add_test(t, shardings_are_apart);
	tcase_add_test(t, mesh_ops_leave_the_program_alone);
}

int main(void) { return run_added(add_tests, "fingerprint"); }
