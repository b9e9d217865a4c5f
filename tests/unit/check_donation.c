#include "tests/unit/sim_fixture.h"

static status read_donation(const char *text, donation *out, diag *d)
{
	module *m;
	diag_clear(d);
	ck_assert_msg(module_read(text, strlen(text), "t.mlir", NULL, &m, d) == ST_OK, "%s", d->msg);
	status s = donation_read(m, out, d);
	module_free(m);
	return s;
}

START_TEST(test_attributes)
{
	static const char text[] = "func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = "
							   "1 : i32}, %arg1: tensor<4xf32> {jax.buffer_donor = true},\n"
							   "    %arg2: tensor<4xf32>, %arg3: tensor<8xf32> {jax.buffer_donor = "
							   "false}) -> (tensor<4xf32>, tensor<4xf32>) {\n"
							   "  %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>\n"
							   "  return %0, %arg2 : tensor<4xf32>, tensor<4xf32>\n"
							   "}\n";
	donation dn;
	diag d = {0};
	ck_assert_msg(read_donation(text, &dn, &d) == ST_OK, "%s", d.msg);
	ck_assert_uint_eq(dn.n_args, 4);
	ck_assert_int_eq(dn.result_of_arg[0], 1);
	ck_assert_int_eq(dn.result_of_arg[1], -2);
	ck_assert_int_eq(dn.result_of_arg[2], -1);
	ck_assert_int_eq(dn.result_of_arg[3], -1);
	donation_release(&dn);
}
END_TEST

START_TEST(test_errors)
{
	static const char *const texts[] = {
		"func.func @main(%a: tensor<4xf32> {tf.aliasing_output = 1 : i32}) -> tensor<4xf32> {\n  "
		"return %a : tensor<4xf32>\n}\n",
		"func.func @main(%a: tensor<4xf32> {tf.aliasing_output = -1 : i32}) -> tensor<4xf32> {\n  "
		"return %a : tensor<4xf32>\n}\n",
		("func.func @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<4xf32> "
		 "{tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {\n"
		 "  return %a : tensor<4xf32>\n}\n"),
		("func.func @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<8xf32>) -> "
		 "tensor<8xf32> {\n  return %b : tensor<8xf32>\n}\n"),
	};
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		donation dn;
		diag d = {0};
		ck_assert_int_eq(read_donation(texts[i], &dn, &d), ST_ERR_INVALID);
		ck_assert_uint_eq(d.line, 1);
		ck_assert_ptr_null(dn.result_of_arg);
	}
}
END_TEST

/* Of the same size and another type: a buffer without a fixed result. */
START_TEST(test_other_type)
{
	static const char text[] = "func.func @main(%a: tensor<4x2xf32> {tf.aliasing_output = 0 : "
							   "i32}, %b: tensor<8xf32>) -> tensor<8xf32> {\n"
							   "  return %b : tensor<8xf32>\n}\n";
	donation dn;
	diag d = {0};
	ck_assert_msg(read_donation(text, &dn, &d) == ST_OK, "%s", d.msg);
	ck_assert_int_eq(dn.result_of_arg[0], -2);
	donation_release(&dn);
}
END_TEST

/* Buffers that the compiler pairs: as many of a size as there are on both sides. */
START_TEST(test_sizes)
{
	fix f;
	fix_init(&f, "h100", "x=4");
	type_id a = fix_type(&f, ELEM_F32, 1, 256), b = fix_type(&f, ELEM_F32, 1, 512),
			c = fix_type(&f, ELEM_BF16, 1, 512);
	lval_id v[6] = {fix_arg(&f, a), fix_arg(&f, a), fix_arg(&f, a), fix_arg(&f, b), fix_arg(&f, c),
		fix_arg(&f, b)};
	lval_id r0 = fix_op(&f, OP_NEGATE, a, 1, v[0]), r1 = fix_op(&f, OP_NEGATE, a, 1, v[1]),
			r2 = fix_op(&f, OP_NEGATE, b, 1, v[3]);
	fix_return(&f, 3, r0, r1, r2);
	for (uint32_t i = 0; i < 5; i++)
		fix_donate(&f, i, -2);
	/* 1024 B: three f32 vectors and a bf16 one give, two results take; 2048 B: one and one */
	ck_assert_int_eq(fix_simulate(&f).alias_bytes, 2 * 1024 + 2048);
	/* a result that the module pairs is not there for others */
	fix_donate(&f, 0, 1);
	for (uint32_t i = 2; i < 5; i++)
		fix_donate(&f, i, -1);
	ck_assert_int_eq(fix_simulate(&f).alias_bytes, 2 * 1024);
	fix_release(&f);
}
END_TEST

int main(void)
{
	const TTest *tests[] = {test_attributes, test_errors, test_other_type, test_sizes};
	return run_tests(tests, COUNT_OF(tests), "donation");
}
