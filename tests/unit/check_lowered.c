/* The placed per-device program: structure, where reshards stand, loops, inputs and outputs. */
#include "lower_fixture.h"

static const char megatron[] = "func.func @main(%x: tensor<64x32xf32>, %a: tensor<32x128xf32> "
							   "{sdy.sharding = #sdy.sharding<@mesh, [{}, {\"m\"}]>},\n"
							   "                %b: tensor<128x32xf32> {sdy.sharding = "
							   "#sdy.sharding<@mesh, [{\"m\"}, {}]>}) -> tensor<64x32xf32> {\n"
							   "  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] "
							   ": (tensor<64x32xf32>, tensor<32x128xf32>) -> tensor<64x128xf32>\n"
							   "  %1 = stablehlo.tanh %0 : tensor<64x128xf32>\n"
							   "  %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] "
							   ": (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>\n"
							   "  return %2 : tensor<64x32xf32>\n"
							   "}\n";

START_TEST(a_column_then_row_pair_needs_one_sum)
{
	lowering x;
	lowering_read(&x, "<[\"d\"=2, \"m\"=4]>", megatron);
	check_counts(&x, LEVEL_PLACED, TARGET_TPU, "all_reduce=1");
	const lop *sum = NULL;
	for (lop_id i = 0; i < x.out->ops.n; i++)
		if (x.out->ops.p[i].kind == LOP_COLLECTIVE)
			sum = &x.out->ops.p[i];
	ck_assert_int_eq(sum->bytes, 64 * 32 * 4);
	ck_assert_int_eq(lop_group_size(sum), 4);
	ck_assert_uint_eq(sum->reduction, 0);
	/* the hidden values are a quarter each */
	const lval *hidden = &x.out->vals.p[x.out->ops.p[4].results];
	ck_assert_int_eq(hidden->bytes, 64 * 128 * 4 / 4);
	lowering_release(&x);
}
END_TEST

START_TEST(lowering_again_gives_the_same_and_allocates_nothing)
{
	lowering x;
	lowering_read(&x, "<[\"d\"=2, \"m\"=4]>", megatron);
	for (int level = LEVEL_PLACED; level <= LEVEL_COMPILED; level++) {
		lower_to(&x, (lower_level)level, TARGET_GPU);
		uint32_t n_ops = x.out->ops.n, n_vals = x.out->vals.n;
		const lop *ops = x.out->ops.p;
		const lval *vals = x.out->vals.p;
		uint32_t n_shardings = x.m->shardings->shardings.n;
		lower_to(&x, (lower_level)level, TARGET_GPU);
		ck_assert_uint_eq(x.out->ops.n, n_ops);
		ck_assert_uint_eq(x.out->vals.n, n_vals);
		ck_assert_ptr_eq(x.out->ops.p, ops);
		ck_assert_ptr_eq(x.out->vals.p, vals);
		ck_assert_uint_eq(x.m->shardings->shardings.n, n_shardings);
	}
	lowering_release(&x);
}
END_TEST

START_TEST(each_use_has_its_own_reshard)
{
	/* %x is read whole by two dots: two gathers, as Shardy places them */
	static const char text[] =
		"func.func @main(%x: tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, "
		"{\"m\"}]>},\n"
		"    %a: tensor<32x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"m\"}]>}, %b: "
		"tensor<32x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"m\"}]>})\n"
		"    -> (tensor<8x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"m\"}]>}, "
		"tensor<8x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"m\"}]>}) {\n"
		"  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (tensor<8x32xf32>, "
		"tensor<32x128xf32>) -> tensor<8x128xf32>\n"
		"  %1 = stablehlo.dot_general %x, %b, contracting_dims = [1] x [0] : (tensor<8x32xf32>, "
		"tensor<32x128xf32>) -> tensor<8x128xf32>\n"
		"  return %0, %1 : tensor<8x128xf32>, tensor<8x128xf32>\n"
		"}\n";
	lowering x;
	lowering_read(&x, "<[\"m\"=4]>", text);
	check_counts(&x, LEVEL_PLACED, TARGET_TPU, "all_gather=2");
	lowering_release(&x);
}
END_TEST

static const char loop[] =
	"func.func @main(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"m\"}]>},\n"
	"                %w: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"m\"}, {}]>}) "
	"-> tensor<16x16xf32> {\n"
	"  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
	"  %one = stablehlo.constant dense<1> : tensor<i32>\n"
	"  %n = stablehlo.constant dense<10> : tensor<i32>\n"
	"  %0:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<16x16xf32>\n"
	"  cond {\n"
	"    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
	"    stablehlo.return %p : tensor<i1>\n"
	"  } do {\n"
	"    %d = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<16x16xf32>, "
	"tensor<16x16xf32>) -> tensor<16x16xf32>\n"
	"    %j = stablehlo.add %i, %one : tensor<i32>\n"
	"    stablehlo.return %j, %d : tensor<i32>, tensor<16x16xf32>\n"
	"  }\n"
	"  return %0#1 : tensor<16x16xf32>\n"
	"}\n";

START_TEST(loops_keep_their_regions_and_trip_counts)
{
	lowering x;
	lowering_read(&x, "<[\"m\"=4]>", loop);
	lower_to(&x, LEVEL_PLACED, TARGET_TPU);
	uint32_t regions = 0, elses = 0, inside = 0;
	for (lop_id i = 0; i < x.out->ops.n; i++) {
		const lop *o = &x.out->ops.p[i];
		if (o->kind == LOP_REGION) {
			regions++;
			ck_assert_int_eq(o->trips, 10);
			ck_assert_uint_ge(o->n_operands, 2);
			ck_assert_uint_eq(o->n_results, o->n_operands);
			for (uint32_t k = 0; k < o->n_operands; k++)
				ck_assert_uint_eq(x.out->vals.p[x.out->operands.p[o->operands + k]].sharding,
					x.out->vals.p[o->results + k].sharding);
		}
		if (o->kind == LOP_REGION_ELSE) {
			elses++;
			ck_assert_uint_eq(o->n_operands, 1); /* the test */
		}
		if (o->kind == LOP_REGION_END)
			for (uint32_t k = 0; k < o->n_operands; k++)
				ck_assert_uint_eq(x.out->vals.p[x.out->operands.p[o->operands + k]].sharding,
					x.out->vals.p[o->results + k].sharding);
		if (o->kind == LOP_COLLECTIVE && o->coll == COLL_ALL_REDUCE) {
			inside++;
			ck_assert_int_eq(lop_executions(x.out, i), 10);
		}
	}
	ck_assert_uint_eq(regions, 1);
	ck_assert_uint_eq(elses, 1);
	ck_assert_uint_eq(inside, 1);
	lowering_release(&x);
}
END_TEST

START_TEST(inputs_and_outputs_are_cut_evenly)
{
	/* 6 rows over 4 devices: only half of the axis divides, and a part of an axis is dropped from
	 * an open dim */
	static const char text[] = "func.func @main(%x: tensor<6x8xf32> {sdy.sharding = "
							   "#sdy.sharding<@mesh, [{\"m\", ?}, {?}]>}) -> tensor<6x8xf32> {\n"
							   "  %0 = stablehlo.tanh %x : tensor<6x8xf32>\n"
							   "  return %0 : tensor<6x8xf32>\n"
							   "}\n";
	lowering x;
	lowering_read(&x, "<[\"m\"=4]>", text);
	lower_to(&x, LEVEL_PLACED, TARGET_TPU);
	ck_assert_int_eq(x.out->vals.p[x.out->ops.p[0].results].bytes, 6 * 8 * 4);
	lowering_release(&x);
}
END_TEST

START_TEST(constraints_are_nothing_but_reshards)
{
	static const char text[] =
		"func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"m\"}, {}]>}) "
		"-> tensor<8x8xf32> {\n"
		"  %0 = sdy.sharding_constraint %x <@mesh, [{}, {\"m\"}]> : tensor<8x8xf32>\n"
		"  return %0 : tensor<8x8xf32>\n"
		"}\n";
	lowering x;
	lowering_read(&x, "<[\"m\"=4]>", text);
	check_counts(&x, LEVEL_PLACED, TARGET_TPU, "all_to_all=1");
	for (lop_id i = 0; i < x.out->ops.n; i++)
		ck_assert_uint_ne(x.out->ops.p[i].kind, LOP_COMPUTE);
	lowering_release(&x);
}
END_TEST

START_TEST(a_module_without_mesh_lowers_to_itself)
{
	lowering x;
	lowering_read(&x, "<[]>",
		"func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {\n  %0 = stablehlo.add %x, %x : "
		"tensor<8x8xf32>\n  return %0 : tensor<8x8xf32>\n}\n");
	check_counts(&x, LEVEL_PLACED, TARGET_CPU, "");
	check_counts(&x, LEVEL_COMPILED, TARGET_CPU, "");
	lowering_release(&x);
}
END_TEST

static void count_records(void *user, const collective_record *c)
{
	int *n = user;
	ck_assert_int_gt(c->bytes, 0);
	ck_assert_int_eq(c->trip_count, 10);
	(*n)++;
}

START_TEST(lists_name_every_collective)
{
	lowering x;
	lowering_read(&x, "<[\"m\"=4]>", loop);
	lower_to(&x, LEVEL_COMPILED, TARGET_TPU);
	int n = 0;
	lowered_collectives(x.out, count_records, &n);
	ck_assert_int_ge(n, 1);
	lowering_release(&x);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("lowered");
	tcase_add_test(t, a_column_then_row_pair_needs_one_sum);
	tcase_add_test(t, lowering_again_gives_the_same_and_allocates_nothing);
	tcase_add_test(t, each_use_has_its_own_reshard);
	tcase_add_test(t, loops_keep_their_regions_and_trip_counts);
	tcase_add_test(t, inputs_and_outputs_are_cut_evenly);
	tcase_add_test(t, constraints_are_nothing_but_reshards);
	tcase_add_test(t, a_module_without_mesh_lowers_to_itself);
	tcase_add_test(t, lists_name_every_collective);
	return run_suite(t, "lowered");
}
