#include "tests/unit/sim_fixture.h"

/* Work of an op with given attributes already on it. */
static op_work work_of(
	fix *f, op_kind kind, op_id o, const type_id *types, uint32_t n_operands, uint32_t n_results)
{
	op_work w;
	sharding_id at[8] = {0};
	node_id id = fix_node(f, kind, o, NODE_OP, types, n_operands, n_results);
	op_work_of(&f->p, f->m->shardings, &f->p.nodes.p[id], at, &w);
	return w;
}

static attr_id ints(fix *f, uint32_t n, ...)
{
	int64_t v[8];
	va_list args;
	va_start(args, n);
	for (uint32_t i = 0; i < n; i++)
		v[i] = va_arg(args, int);
	va_end(args);
	return attr_ints(f->m, v, n);
}

static named_attr named(fix *f, const char *name, attr_id a)
{
	return (named_attr){strtab_add(&f->m->strs, str_of(name)), a};
}

static attr_id structure(fix *f, const char *text, const named_attr *children, uint32_t n)
{
	named_attr *copy = arena_array(&f->m->mem, named_attr, n);
	memcpy(copy, children, n * sizeof *children);
	return attr_new(f->m,
		&(attr){
			.kind = ATTR_STRUCT, .type = ID_NONE, .text = str_of(text), .n = n, .children = copy});
}

START_TEST(test_every_kind_is_known)
{
	for (uint32_t k = 0; k < OP_COUNT; k++)
		ck_assert_msg(op_cost_known((op_kind)k), "no cost for %s", op_infos[k].text);
	ck_assert(!op_cost_known(OP_COUNT));
}
END_TEST

/* Every op, on operands of any shape and without the attributes it should have: no crash, no
 * negative work. */
START_TEST(test_every_kind_survives_anything)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	type_id shapes[] = {fix_type(&f, ELEM_F32, 2, 8, 16), fix_type(&f, ELEM_F32, 0),
		fix_type(&f, ELEM_I1, 3, 0, 4, 2), fix_type(&f, ELEM_C64, 4, 2, 3, 4, 5)};
	for (uint32_t k = 0; k < OP_COUNT; k++)
		for (uint32_t operands = 0; operands < 4; operands++)
			for (uint32_t results = 0; results < 3; results++)
				for (uint32_t first = 0; first < COUNT_OF(shapes); first++) {
					type_id types[8];
					for (uint32_t i = 0; i < operands + results; i++)
						types[i] = shapes[(first + i) % COUNT_OF(shapes)];
					op_work w = work_of(
						&f, (op_kind)k, fix_op_id(&f, (op_kind)k), types, operands, results);
					ck_assert_msg(w.matmul_flops >= 0 && w.vector_flops >= 0 && w.read_bytes >= 0 &&
							w.write_bytes >= 0 && w.flops >= 0,
						"%s", op_infos[k].text);
				}
	fix_release(&f);
}
END_TEST

START_TEST(test_elementwise_and_shapes)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	type_id t = fix_type(&f, ELEM_F32, 2, 128, 256), small = fix_type(&f, ELEM_F32, 2, 128, 16),
			i32 = fix_type(&f, ELEM_I32, 0);
	type_id add[] = {t, t, t};
	op_work w = work_of(&f, OP_ADD, fix_op_id(&f, OP_ADD), add, 2, 1);
	ck_assert_int_eq(w.vector_flops, 128 * 256);
	ck_assert_int_eq(w.read_bytes, 2 * 128 * 256 * 4);
	ck_assert_int_eq(w.write_bytes, 128 * 256 * 4);
	ck_assert(w.fusible && !w.expensive && !w.free);
	w = work_of(&f, OP_EXPONENTIAL, fix_op_id(&f, OP_EXPONENTIAL), add, 1, 1);
	ck_assert(w.fusible && w.expensive);
	ck_assert_int_gt(w.vector_flops, 128 * 256);
	w = work_of(&f, OP_RESHAPE, fix_op_id(&f, OP_RESHAPE), add, 1, 1);
	ck_assert(w.free);
	ck_assert_int_eq(w.read_bytes + w.write_bytes, 0);
	/* a slice reads its result's size, an update touches the update only */
	type_id slice[] = {t, small};
	w = work_of(&f, OP_SLICE, fix_op_id(&f, OP_SLICE), slice, 1, 1);
	ck_assert_int_eq(w.slice_bytes, 128 * 16 * 4);
	ck_assert_int_eq(w.read_bytes, 128 * 16 * 4);
	type_id update[] = {t, small, i32, i32, t};
	w = work_of(&f, OP_DYNAMIC_UPDATE_SLICE, fix_op_id(&f, OP_DYNAMIC_UPDATE_SLICE), update, 4, 1);
	ck_assert(w.in_place);
	ck_assert_int_eq(w.read_bytes + w.write_bytes, 2 * 128 * 16 * 4);
	fix_release(&f);
}
END_TEST

START_TEST(test_dots)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	type_id plain[] = {fix_type(&f, ELEM_BF16, 2, 64, 4096), fix_type(&f, ELEM_BF16, 2, 4096, 8192),
		fix_type(&f, ELEM_BF16, 2, 64, 8192)};
	op_work w = work_of(&f, OP_DOT, fix_op_id(&f, OP_DOT), plain, 2, 1);
	ck_assert_int_eq(w.matmul_flops, 2ll * 64 * 4096 * 8192);
	ck_assert_int_eq(w.m, 64);
	ck_assert_int_eq(w.n, 8192);
	ck_assert_int_eq(w.k, 4096);
	ck_assert_uint_eq(w.elem, ELEM_BF16);
	ck_assert_int_eq(
		w.read_bytes + w.write_bytes, 2 * (64 * 4096 + 4096 * 8192 + 64 * 8192)); /* 69e6 B */
	/* attention scores: [b, t, h, d] x [b, s, h, d] -> [b, h, t, s] */
	op_id o = fix_op_id(&f, OP_DOT_GENERAL);
	named_attr dims[] = {named(&f, "lhs_batching_dimensions", ints(&f, 2, 0, 2)),
		named(&f, "rhs_batching_dimensions", ints(&f, 2, 0, 2)),
		named(&f, "lhs_contracting_dimensions", ints(&f, 1, 3)),
		named(&f, "rhs_contracting_dimensions", ints(&f, 1, 3))};
	op_attr_set(f.m, o, "dot_dimension_numbers", structure(&f, "stablehlo.dot", dims, 4));
	type_id scores[] = {fix_type(&f, ELEM_F32, 4, 2, 128, 8, 64),
		fix_type(&f, ELEM_F32, 4, 2, 256, 8, 64), fix_type(&f, ELEM_F32, 4, 2, 8, 128, 256)};
	w = work_of(&f, OP_DOT_GENERAL, o, scores, 2, 1);
	ck_assert_int_eq(w.batch, 16);
	ck_assert_int_eq(w.m, 128);
	ck_assert_int_eq(w.n, 256);
	ck_assert_int_eq(w.k, 64);
	ck_assert_int_eq(w.matmul_flops, 2ll * 16 * 128 * 256 * 64);
	fix_release(&f);
}
END_TEST

/* Products that sum nothing up are multiplications, products of vectors a multiplication and a sum.
 */
START_TEST(test_products_that_are_no_matmuls)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	/* [b, i] by [b, j]: the dot_general of an einsum of several operands */
	op_id outer = fix_op_id(&f, OP_DOT_GENERAL);
	named_attr batch[] = {named(&f, "lhs_batching_dimensions", ints(&f, 1, 0)),
		named(&f, "rhs_batching_dimensions", ints(&f, 1, 0))};
	op_attr_set(f.m, outer, "dot_dimension_numbers", structure(&f, "stablehlo.dot", batch, 2));
	type_id types[] = {fix_type(&f, ELEM_F32, 2, 32, 64), fix_type(&f, ELEM_F32, 2, 32, 16),
		fix_type(&f, ELEM_F32, 3, 32, 64, 16)};
	op_work w = work_of(&f, OP_DOT_GENERAL, outer, types, 2, 1);
	ck_assert(w.fusible && !w.sums);
	ck_assert_int_eq(w.matmul_flops, 0);
	ck_assert_int_eq(w.vector_flops, 32 * 64 * 16);
	/* the same with a contracted dim of one element */
	type_id column[] = {fix_type(&f, ELEM_F32, 2, 64, 1), fix_type(&f, ELEM_F32, 2, 1, 16),
		fix_type(&f, ELEM_F32, 2, 64, 16)};
	w = work_of(&f, OP_DOT, fix_op_id(&f, OP_DOT), column, 2, 1);
	ck_assert(w.fusible);
	ck_assert_int_eq(w.vector_flops, 64 * 16);
	/* [b, k] by [b, k] */
	op_id inner = fix_op_id(&f, OP_DOT_GENERAL);
	named_attr dims[] = {batch[0], batch[1],
		named(&f, "lhs_contracting_dimensions", ints(&f, 1, 1)),
		named(&f, "rhs_contracting_dimensions", ints(&f, 1, 1))};
	op_attr_set(f.m, inner, "dot_dimension_numbers", structure(&f, "stablehlo.dot", dims, 4));
	type_id rows[] = {types[0], types[0], fix_type(&f, ELEM_F32, 1, 32)};
	w = work_of(&f, OP_DOT_GENERAL, inner, rows, 2, 1);
	ck_assert(w.sums && !w.fusible);
	ck_assert_int_eq(w.matmul_flops, 0);
	ck_assert_int_eq(w.vector_flops, 2 * 32 * 64);
	/* a matrix and a vector are a product on the matmul unit */
	type_id vector[] = {fix_type(&f, ELEM_F32, 2, 64, 32), fix_type(&f, ELEM_F32, 1, 32),
		fix_type(&f, ELEM_F32, 1, 64)};
	w = work_of(&f, OP_DOT, fix_op_id(&f, OP_DOT), vector, 2, 1);
	ck_assert_int_eq(w.matmul_flops, 2 * 64 * 32);
	fix_release(&f);
}
END_TEST

/* Operations as LAPACK counts them, whether an op or a call does it; what is above one block is
 * matrix products. */
START_TEST(test_factorizations)
{
	static const struct {
		const char *call; /* NULL: the op */
		int64_t thirds;   /* of n^3 */
	} rows[] = {{NULL, 1}, {"lapack_spotrf_ffi", 1}, {"cusolver_potrf_ffi", 1},
		{"cusolver_getrf_ffi", 2}, {"Qr", 4}, {"lapack_sorgqr_ffi", 4}, {"cusolver_syevd_ffi", 18}};
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	enum { N = 2048 };
	type_id square = fix_type(&f, ELEM_F32, 2, N, N), types[] = {square, square};
	device dev;
	diag d;
	ck_assert_int_eq(device_find("tpu-v5e", &dev, &d), ST_OK);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		op_kind kind = rows[i].call ? OP_CUSTOM_CALL : OP_CHOLESKY;
		op_id o = fix_op_id(&f, kind);
		if (rows[i].call)
			op_attr_set(f.m, o, "call_target_name", attr_string(f.m, str_of(rows[i].call)));
		op_work w = work_of(&f, kind, o, types, 1, 1);
		ck_assert_int_eq(w.blocks, 16);
		double want = (double)rows[i].thirds * N * N * N / 3;
		ck_assert(w.flops > .99 * want && w.flops < 1.01 * want);
		ck_assert_int_gt(w.matmul_flops * w.blocks, w.vector_flops);
		ck_assert_int_eq(w.again_bytes > 0, rows[i].thirds == 18);
	}
	/* no cheaper than a product of that size: a sixth of its operations, at six times the passes */
	type_id large = fix_type(&f, ELEM_F32, 2, 8192, 8192), product[] = {large, large, large};
	op_work cholesky = work_of(&f, OP_CHOLESKY, fix_op_id(&f, OP_CHOLESKY), product, 1, 1),
			dot = work_of(&f, OP_DOT, fix_op_id(&f, OP_DOT), product, 2, 1);
	ck_assert_int_gt(work_time_ns(&dev, &cholesky, 0), work_time_ns(&dev, &dot, 0));
	type_id solve[] = {square, square, square};
	op_work w = work_of(&f, OP_TRIANGULAR_SOLVE, fix_op_id(&f, OP_TRIANGULAR_SOLVE), solve, 2, 1);
	ck_assert(w.flops >= 1. * N * N * N && w.flops < 1.02 * N * N * N);
	/* small ones are one panel each, all at once */
	type_id many = fix_type(&f, ELEM_F32, 3, 64, 6, 6), batch[] = {many, many};
	w = work_of(&f, OP_CHOLESKY, fix_op_id(&f, OP_CHOLESKY), batch, 1, 1);
	ck_assert_int_eq(w.vector_flops, 64 * 6 * 6 * 6 / 3);
	ck_assert_int_eq(w.matmul_flops + w.launches, 0);
	fix_release(&f);
}
END_TEST

/* Work falls with the shards: batch over x = 4 leaves a quarter of the rows. */
START_TEST(test_shards)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	type_id types[] = {fix_type(&f, ELEM_F32, 2, 64, 32), fix_type(&f, ELEM_F32, 2, 32, 16),
		fix_type(&f, ELEM_F32, 2, 64, 16)};
	sharding_edit e;
	sharding_edit_init(&e, f.mesh, 2, true);
	e.dims[0].axes.a[e.dims[0].axes.n++] = mesh_full_axis(f.m->shardings, f.mesh, 0);
	sharding_id rows = sharding_intern(f.m->shardings, &e), at[] = {rows, SHARDING_NONE, rows};
	node_id id = fix_node(&f, OP_DOT, fix_op_id(&f, OP_DOT), NODE_OP, types, 2, 1);
	op_work w;
	op_work_of(&f.p, f.m->shardings, &f.p.nodes.p[id], at, &w);
	ck_assert_int_eq(w.matmul_flops, 2 * 16 * 32 * 16);
	ck_assert_int_eq(w.read_bytes, 4 * (16 * 32 + 32 * 16));
	ck_assert_int_eq(w.write_bytes, 4 * 16 * 16);
	fix_release(&f);
}
END_TEST

static op_id convolution(fix *f, attr_id padding, attr_id lhs_dilation)
{
	op_id o = fix_op_id(f, OP_CONVOLUTION);
	named_attr dims[] = {named(f, "input_batch_dimension", attr_int(f->m, 0, "i64")),
		named(f, "input_feature_dimension", attr_int(f->m, 3, "i64")),
		named(f, "input_spatial_dimensions", ints(f, 2, 1, 2)),
		named(f, "kernel_spatial_dimensions", ints(f, 2, 0, 1)),
		named(f, "kernel_input_feature_dimension", attr_int(f->m, 2, "i64")),
		named(f, "kernel_output_feature_dimension", attr_int(f->m, 3, "i64")),
		named(f, "output_spatial_dimensions", ints(f, 2, 1, 2))};
	op_attr_set(f->m, o, "dimension_numbers", structure(f, "stablehlo.conv", dims, COUNT_OF(dims)));
	op_attr_set(f->m, o, "padding", padding);
	op_attr_set(f->m, o, "lhs_dilation", lhs_dilation);
	return o;
}

START_TEST(test_convolutions)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	/* 3 x 3 without padding: every tap hits */
	type_id valid[] = {fix_type(&f, ELEM_F32, 4, 2, 10, 10, 16),
		fix_type(&f, ELEM_F32, 4, 3, 3, 16, 32), fix_type(&f, ELEM_F32, 4, 2, 8, 8, 32)};
	op_work w = work_of(&f, OP_CONVOLUTION,
		convolution(&f, ints(&f, 4, 0, 0, 0, 0), ints(&f, 2, 1, 1)), valid, 2, 1);
	ck_assert_int_eq(w.matmul_flops, 2ll * 2 * 8 * 8 * 32 * 9 * 16);
	/* the same size by padding: taps that fall outside do not count (of 8 places 8 + 7 + 7 = 22
	 * pairs per dim) */
	type_id same[] = {fix_type(&f, ELEM_F32, 4, 2, 8, 8, 16),
		fix_type(&f, ELEM_F32, 4, 3, 3, 16, 32), fix_type(&f, ELEM_F32, 4, 2, 8, 8, 32)};
	w = work_of(&f, OP_CONVOLUTION, convolution(&f, ints(&f, 4, 1, 1, 1, 1), ints(&f, 2, 1, 1)),
		same, 2, 1);
	ck_assert_int_eq(w.matmul_flops, 2ll * 2 * 32 * 22 * 22 * 16);
	/* holes of a dilated input: a batch dim ridden as a window costs no more than the product it is
	 */
	type_id holes[] = {fix_type(&f, ELEM_F32, 4, 2, 8, 8, 16),
		fix_type(&f, ELEM_F32, 4, 2, 2, 16, 32), fix_type(&f, ELEM_F32, 4, 2, 14, 14, 32)};
	w = work_of(&f, OP_CONVOLUTION, convolution(&f, ints(&f, 4, 0, 0, 0, 0), ints(&f, 2, 2, 2)),
		holes, 2, 1);
	ck_assert_int_eq(w.matmul_flops, 2ll * 2 * 32 * 14 * 14 * 16);
	fix_release(&f);
}
END_TEST

/* [C of published rows] GPT-3 style layer: 24 B s h^2 + 4 B s^2 h of forward flops. */
START_TEST(test_transformer_layer_flops)
{
	fix f;
	fix_init(&f, "a100", "x=4");
	int64_t b = 4, s = 2048, h = 1024, total = 0;
	int64_t shapes[][3] = {{b * s, h, 3 * h}, {b * s, h, h}, {b * s, h, 4 * h}, {b * s, 4 * h, h}};
	for (size_t i = 0; i < COUNT_OF(shapes); i++) {
		int64_t a[] = {shapes[i][0], shapes[i][1]}, w[] = {shapes[i][1], shapes[i][2]},
				r[] = {shapes[i][0], shapes[i][2]};
		type_id types[] = {type_tensor(f.m, ELEM_BF16, 2, a), type_tensor(f.m, ELEM_BF16, 2, w),
			type_tensor(f.m, ELEM_BF16, 2, r)};
		total += work_of(&f, OP_DOT, fix_op_id(&f, OP_DOT), types, 2, 1).matmul_flops;
	}
	ck_assert_int_eq(total, 24 * b * s * h * h);
	/* the fused attention kernel: both products over all pairs of places */
	op_id o = fix_op_id(&f, OP_CUSTOM_CALL);
	op_attr_set(f.m, o, "call_target_name", attr_string(f.m, STR("__cudnn$fmhaSoftmax")));
	int64_t q[] = {b, 16, s, h / 16};
	type_id qt = type_tensor(f.m, ELEM_BF16, 4, q), types[] = {qt, qt, qt, qt};
	ck_assert_int_eq(work_of(&f, OP_CUSTOM_CALL, o, types, 3, 1).matmul_flops, 4 * b * s * s * h);
	fix_release(&f);
}
END_TEST

int main(void)
{
	const TTest *tests[] = {test_every_kind_is_known, test_every_kind_survives_anything,
		test_elementwise_and_shapes, test_dots, test_products_that_are_no_matmuls,
		test_factorizations, test_shards, test_convolutions, test_transformer_layer_flops};
	return run_tests(tests, COUNT_OF(tests), "opcost");
}
