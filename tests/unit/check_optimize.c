/* The optimized and compiled levels: each rewrite on the smallest program that has it, and where it
 * must not happen. */
#include "optimize_fixture.h"

typedef struct rewrite_case {
	const char *name, *text, *placed, *optimized;
} rewrite_case;

static const rewrite_case rewrite_cases[] = {
	{"sum before reduce",
		MAIN(T WHOLE) DOT("p", "a", "b") DOT("q", "a", "c") "  %s = stablehlo.add %p, %q : " T
															"\n  return %s : " T "\n}\n",
		"all_reduce=2", "all_reduce=1"},
	{"chains of sums",
		MAIN(T WHOLE) DOT("p", "a", "b") DOT("q", "a", "c") DOT(
			"r", "a", "b") "  %s = stablehlo.add %p, %q : " T
						   "\n  %t = stablehlo.subtract %s, %r : " T "\n  return %t : " T "\n}\n",
		"all_reduce=3", "all_reduce=1"},
	{"through linear ops",
		MAIN(T WHOLE) DOT("p", "a", "b")
			DOT("q", "a", "c") "  %n = stablehlo.negate %p : " T
							   "\n  %t = stablehlo.transpose %n, dims = [1, 0] : (" T ") -> " T
							   "\n  %u = stablehlo.multiply %q, %w : " T
							   "\n  %s = stablehlo.add %t, %u : " T "\n  return %s : " T "\n}\n",
		"all_reduce=2", "all_reduce=1"},
	{"not through what is not linear",
		MAIN(T WHOLE) DOT("p", "a", "b") DOT("q", "a", "c") "  %n = stablehlo.tanh %p : " T
															"\n  %s = stablehlo.add %n, %q : " T
															"\n  return %s : " T "\n}\n",
		"all_reduce=2", "all_reduce=2"},
	{"not when the parts are read elsewhere",
		MAIN(T WHOLE ", " T WHOLE) DOT("p", "a", "b") DOT("q", "a",
			"c") "  %s = stablehlo.add %p, %q : " T "\n  return %s, %p : " T ", " T "\n}\n",
		"all_reduce=2", "all_reduce=2"},
	{"not with a whole value",
		MAIN(T WHOLE) DOT("p", "a", "b") "  %s = stablehlo.add %p, %w : " T "\n  return %s : " T
										 "\n}\n",
		"all_reduce=1", "all_reduce=1"},
	{"a product of two sums is no sum",
		MAIN(T WHOLE) DOT("p", "a", "b") DOT("q", "a", "c") "  %s = stablehlo.multiply %p, %q : " T
															"\n  return %s : " T "\n}\n",
		"all_reduce=2", "all_reduce=2"},
	{"reduce_scatter", MAIN(T ROWS) DOT("p", "a", "b") "  return %p : " T "\n}\n",
		"all_reduce=1 all_slice=1", "reduce_scatter=1"},
	{"equal slices of one sum",
		MAIN(T ROWS ", " T ROWS) DOT("p", "a", "b") "  return %p, %p : " T ", " T "\n}\n",
		"all_reduce=1 all_slice=1", "reduce_scatter=1"},
	{"slices of parts of a sum",
		MAIN(T ROWS) DOT("p", "a", "b") DOT("q", "a", "c") "  %s = stablehlo.add %p, %q : " T
														   "\n  return %s : " T "\n}\n",
		NULL, "reduce_scatter=1"},
	{"a scalar is spread again instead of gathered",
		MAIN(T WHOLE) ZERO SPREAD("p", "z") "  return %p : " T "\n}\n", "all_gather=1", ""},
	{"not the whole value that is spread over rows",
		MAIN(T WHOLE) "  %v = stablehlo.slice %w [0:1, 0:16] : (" T
					  ") -> tensor<1x16xf32>\n  %r = stablehlo.reshape %v : (tensor<1x16xf32>) -> "
					  "tensor<16xf32>\n"
					  "  %p = stablehlo.broadcast_in_dim %r, dims = [1] " ON_ROWS
					  " : (tensor<16xf32>) -> " T "\n  return %p : " T "\n}\n",
		"all_gather=1", "all_gather=1"},
	{"the sum that is spread is still made",
		MAIN(T WHOLE) ZERO
		"  %r = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [0, 1] : "
		"(" T ", tensor<f32>) -> tensor<f32>\n" SPREAD("p", "r") "  return %p : " T "\n}\n",
		"all_reduce=1 all_gather=1", "all_reduce=1"},
};

START_TEST(rewrites)
{
	const rewrite_case *c = &rewrite_cases[_i];
	lowering x;
	lowering_read(&x, MESH, c->text);
	if (c->placed)
		check_counts(&x, LEVEL_PLACED, TARGET_TPU, c->placed);
	check_counts(&x, LEVEL_OPTIMIZED, TARGET_TPU, c->optimized);
	lowering_release(&x);
}
END_TEST

static const char two_readers[] =
	"func.func @main(%x: tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"d\"}]>},\n"
	"    %a: tensor<32x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"d\"}]>}, %b: "
	"tensor<32x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"d\"}]>})\n"
	"    -> (tensor<8x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"d\"}]>}, "
	"tensor<8x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"d\"}]>}) {\n"
	"%s"
	"  %%0 = stablehlo.dot_general %%%s, %%a, contracting_dims = [1] x [0] : (tensor<8x32xf32>, "
	"tensor<32x128xf32>) -> tensor<8x128xf32>\n"
	"  %%1 = stablehlo.dot_general %%%s, %%b, contracting_dims = [1] x [0] : (tensor<8x32xf32>, "
	"tensor<32x128xf32>) -> tensor<8x128xf32>\n"
	"  return %%0, %%1 : tensor<8x128xf32>, tensor<8x128xf32>\n"
	"}\n";

/* The two dots read `operand`; `before` makes it. */
static void read_two(lowering *x, const char *before, const char *operand)
{
	char *text = NULL;
	size_t n = strlen(two_readers) + strlen(before) + 2 * strlen(operand) + 1;
	const char *split = strstr(two_readers, "%s");
	text = malloc(n);
	int head = (int)(split - two_readers);
	snprintf(text, n, "%.*s%s", head, two_readers, before);
	size_t at = strlen(text);
	snprintf(text + at, n - at, split + 2, operand, operand);
	lowering_read(x, MESH, text);
	free(text);
}

START_TEST(gathers_are_shared_but_not_those_of_arguments)
{
	lowering x;
	read_two(&x, "  %t = stablehlo.tanh %x : tensor<8x32xf32>\n", "t");
	check_counts(&x, LEVEL_PLACED, TARGET_TPU, "all_gather=2");
	check_counts(&x, LEVEL_OPTIMIZED, TARGET_TPU, "all_gather=1");
	lowering_release(&x);
	read_two(&x, "", "x");
	check_counts(&x, LEVEL_PLACED, TARGET_TPU, "all_gather=2");
	check_counts(&x, LEVEL_OPTIMIZED, TARGET_TPU, "all_gather=2");
	lowering_release(&x);
}
END_TEST

START_TEST(a_reshard_that_is_undone_is_gone)
{
	static const char text[] = "func.func @main(%x: " T " " ROWS ") -> (" T " " ROWS ") {\n"
							   "  %0 = stablehlo.tanh %x : " T "\n"
							   "  %1 = sdy.sharding_constraint %0 <@mesh, [{}, {}]> : " T "\n"
							   "  %2 = sdy.sharding_constraint %1 <@mesh, [{\"d\"}, {}]> : " T "\n"
							   "  return %2 : " T "\n"
							   "}\n";
	lowering x;
	lowering_read(&x, MESH, text);
	check_counts(&x, LEVEL_OPTIMIZED, TARGET_TPU, "");
	lowering_release(&x);
}
END_TEST

START_TEST(chains_are_planned_from_end_to_end)
{
	static const char text[] = "func.func @main(%x: " T " " ROWS ") -> (" T " " COLUMNS ") {\n"
							   "  %0 = stablehlo.tanh %x : " T "\n"
							   "  %1 = sdy.sharding_constraint %0 <@mesh, [{}, {}]> : " T "\n"
							   "  %2 = sdy.sharding_constraint %1 <@mesh, [{}, {\"d\"}]> : " T "\n"
							   "  return %2 : " T "\n"
							   "}\n";
	lowering x;
	lowering_read(&x, MESH, text);
	check_counts(&x, LEVEL_PLACED, TARGET_TPU, "all_gather=1 all_slice=1");
	check_counts(&x, LEVEL_OPTIMIZED, TARGET_TPU, "all_to_all=1");
	lowering_release(&x);
}
END_TEST

START_TEST(dead_code_goes)
{
	static const char text[] = MAIN(T WHOLE) DOT("p", "a", "b") "  %q = stablehlo.add %p, %w : " T
																"\n  return %w : " T "\n}\n";
	lowering x;
	lowering_read(&x, MESH, text);
	check_counts(&x, LEVEL_OPTIMIZED, TARGET_TPU, "");
	for (lop_id i = 0; i < x.out->ops.n; i++)
		ck_assert_uint_ne(x.out->ops.p[i].kind, LOP_COMPUTE);
	lowering_release(&x);
}
END_TEST

START_TEST(a_maximum_is_not_summed)
{
	static const char text[] =
		"func.func @main(%x: " T " " ROWS ", %y: " T " " ROWS ") -> (tensor<16xf32>) {\n"
		"  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
		"  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [0] : "
		"(" T ", tensor<f32>) -> tensor<16xf32>\n"
		"  %1 = stablehlo.reduce(%y init: %i) applies stablehlo.maximum across dimensions = [0] : "
		"(" T ", tensor<f32>) -> tensor<16xf32>\n"
		"  %2 = stablehlo.add %0, %1 : tensor<16xf32>\n"
		"  return %2 : tensor<16xf32>\n"
		"}\n";
	lowering x;
	lowering_read(&x, MESH, text);
	check_counts(&x, LEVEL_OPTIMIZED, TARGET_TPU, "all_reduce=2");
	for (lop_id i = 0; i < x.out->ops.n; i++)
		if (x.out->ops.p[i].kind == LOP_COLLECTIVE)
			ck_assert_uint_eq(x.out->ops.p[i].reduction, 1);
	lowering_release(&x);
}
END_TEST

START_TEST(cpu_has_no_reduce_scatter)
{
	lowering x;
	lowering_read(&x, MESH, MAIN(T ROWS) DOT("p", "a", "b") "  return %p : " T "\n}\n");
	check_counts(&x, LEVEL_COMPILED, TARGET_CPU, "all_reduce=1 all_slice=1");
	check_counts(&x, LEVEL_COMPILED, TARGET_GPU, "reduce_scatter=1");
	lowering_release(&x);
}
END_TEST

START_TEST(the_narrow_type_is_gathered)
{
	static const char text[] =
		"func.func @main(%x: " T " " ROWS ") -> (tensor<16x16xbf16> " WHOLE ") {\n"
		"  %0 = stablehlo.tanh %x : " T "\n"
		"  %r = sdy.sharding_constraint %0 <@mesh, [{\"d\"}, {}]> : " T "\n"
		"  %1 = sdy.sharding_constraint %r <@mesh, [{}, {}]> : " T "\n"
		"  %2 = stablehlo.convert %1 : (" T ") -> tensor<16x16xbf16>\n"
		"  return %2 : tensor<16x16xbf16>\n"
		"}\n";
	lowering x;
	lowering_read(&x, MESH, text);
	lower_to(&x, LEVEL_COMPILED, TARGET_TPU);
	int64_t gathered = 0;
	for (lop_id i = 0; i < x.out->ops.n; i++)
		if (x.out->ops.p[i].kind == LOP_COLLECTIVE)
			gathered += x.out->ops.p[i].bytes;
	ck_assert_int_eq(gathered, 16 * 16 * 2);
	lowering_release(&x);
}
END_TEST

/* Collectives that move something, those of combined instructions one by one. */
static void check_single(lowering *x, lower_target target, const char *want)
{
	lower_to(x, LEVEL_COMPILED, target);
	char got[256] = "";
	size_t n = 0;
	for (int k = 0; k < COLL_ALL_SLICE; k++) {
		uint32_t found = 0;
		for (lop_id i = 0; i < x->out->ops.n; i++)
			found += x->out->ops.p[i].kind == LOP_COLLECTIVE && x->out->ops.p[i].coll == k;
		if (found)
			n += (size_t)snprintf(got + n, sizeof got - n, "%s%s=%u", n ? " " : "",
				collective_name((collective_kind)k), found);
	}
	ck_assert_str_eq(got, want);
}

#define SCATTERED(results) \
	"func.func @main(%a: " T " " ROWS ", %b: " T " " ROWS ", %c: " T " " ROWS \
	", %i: tensor<16x1xi32> " ROWS ", %w: " T " " WHOLE ") -> (" results ") {\n" ZERO \
	"  %y = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> " T "\n"
#define SCATTER(r, a) \
	"  %" r " = \"stablehlo.scatter\"(%y, %i, %" a \
	") <{indices_are_sorted = false, scatter_dimension_numbers = " \
	"#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], " \
	"scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, " \
	"unique_indices = false}> ({\n  ^bb0(%u: tensor<f32>, %v: tensor<f32>):\n    %s = " \
	"stablehlo.add %u, %v : tensor<f32>\n" \
	"    stablehlo.return %s : tensor<f32>\n  }) : (" T ", tensor<16x1xi32>, " T ") -> " T "\n"
/* What XLA does otherwise than Shardy places it and than the textbook. */
static const struct {
	const char *name, *text, *optimized, *compiled;
} compiled_cases[] = {
	{"a contraction is where its result is, however large the other operand",
		"func.func @main(%x: tensor<8x32xf32> " ROWS ", %w: tensor<32x32xf32> " COLUMNS
		") -> (tensor<8x32xf32> " ROWS ") {\n"
		"  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x32xf32>, "
		"tensor<32x32xf32>) -> tensor<8x32xf32>\n"
		"  return %p : tensor<8x32xf32>\n}\n",
		"all_gather=1 all_to_all=1", "all_gather=1"},
	{"differences are not taken before they are reduced",
		MAIN(T WHOLE) DOT("p", "a", "b") DOT("q", "a", "c") "  %s = stablehlo.subtract %p, %q : " T
															"\n  return %s : " T "\n}\n",
		"all_reduce=1", "all_reduce=2"},
	{"sums are not taken behind other ops",
		MAIN(T WHOLE) DOT("p", "a", "b") DOT("q", "a", "c") "  %n = stablehlo.negate %p : " T
															"\n  %s = stablehlo.add %n, %q : " T
															"\n  return %s : " T "\n}\n",
		"all_reduce=1", "all_reduce=2"},
	{"what a scatter adds to is moved to where it works",
		"func.func @main(%a: " T " " ROWS ", %i: tensor<16x1xi32> " ROWS ", %w: " T " " ROWS
		") -> (" T " " ROWS ") {\n" ZERO
		"  %y = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> " T
		"\n" SCATTER("p", "a") "  %s = stablehlo.add %w, %p : " T "\n  return %s : " T "\n}\n",
		"all_gather=2", "all_reduce=1 all_gather=1 collective_permute=2"},
	{"but not with another scatter",
		"func.func @main(%a: " T " " ROWS ", %b: " T " " ROWS ", %i: tensor<16x1xi32> " ROWS
		") -> (" T " " ROWS ") {\n" ZERO
		"  %y = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> " T "\n" SCATTER("p",
			"a") SCATTER("q", "b") "  %s = stablehlo.add %p, %q : " T "\n  return %s : " T "\n}\n",
		"all_gather=3", "all_reduce=2 collective_permute=2"},
	{"nor where the zeros are ones",
		"func.func @main(%a: " T " " ROWS ", %i: tensor<16x1xi32> " ROWS ", %w: " T " " ROWS
		") -> (" T " " ROWS ") {\n"
		"  %z = stablehlo.constant dense<1.000000e+00> : tensor<f32>\n"
		"  %y = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> " T
		"\n" SCATTER("p", "a") "  %s = stablehlo.add %w, %p : " T "\n  return %s : " T "\n}\n",
		"all_gather=2", "all_reduce=1 collective_permute=1"},
	{"what scatters add to each other is reduced once, the first of them onto what is whole",
		SCATTERED(T WHOLE) SCATTER("p", "a") SCATTER("q", "b") SCATTER(
			"r", "c") "  %s = stablehlo.add %w, %p : " T "\n  %t = stablehlo.add %q, %s : " T
					  "\n  %u = stablehlo.add %t, %r : " T "\n  return %u : " T "\n}\n",
		"all_reduce=3", "all_reduce=1"},
	{"but not those that something else reads",
		SCATTERED(T WHOLE ", " T WHOLE) SCATTER("p", "a") SCATTER(
			"q", "b") "  %s = stablehlo.add %w, %p : " T "\n  %t = stablehlo.add %q, %s : " T
					  "\n  return %s, %t : " T ", " T "\n}\n",
		"all_reduce=2", "all_reduce=2"},
	{"nor those of contractions",
		MAIN(T WHOLE) DOT("p", "a", "b") DOT("q", "a", "c") "  %s = stablehlo.add %w, %p : " T
															"\n  %t = stablehlo.add %q, %s : " T
															"\n  return %t : " T "\n}\n",
		"all_reduce=2", "all_reduce=2"},
	{"what a scatter wrote is not summed with a contraction",
		"func.func @main(%a: " T " " COLUMNS ", %b: " T " " ROWS ", %i: tensor<16x1xi32> " ROWS
		") -> (" T " " WHOLE ") {\n" DOT("p", "a", "b") ZERO
		"  %y = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> " T
		"\n" SCATTER("s", "b") "  %t = stablehlo.add %p, %s : " T "\n  return %t : " T "\n}\n",
		"all_reduce=1", "all_reduce=2"},
};

START_TEST(compiled)
{
	lowering x;
	lowering_read(&x, MESH, compiled_cases[_i].text);
	check_counts(&x, LEVEL_OPTIMIZED, TARGET_TPU, compiled_cases[_i].optimized);
	check_single(&x, TARGET_TPU, compiled_cases[_i].compiled);
	check_single(&x, TARGET_GPU, compiled_cases[_i].compiled);
	lowering_release(&x);
}
END_TEST

#define AT(dims) "{sdy.sharding = #sdy.sharding<@mesh, [" dims "]>}"
#define PRODUCT(a, b, result) \
	"func.func @main(%a: " T " " AT(a) ", %b: " T " " AT(b) ") -> (" T " " AT(result) ") {\n" DOT( \
		"p", "a", "b") "  return %p : " T "\n}\n"
/* Single contractions as libtpu compiles them on 8 devices. */
static const struct {
	const char *name, *text, *want;
} contraction_cases[] = {
	{"scattered along the axes by which the result is cut, then reduced over the others",
		PRODUCT("{}, {\"d\", \"m\"}", "{\"d\", \"m\"}, {}", "{\"d\"}, {}"),
		"all_reduce=1 reduce_scatter=1"},
	{"not scattered along two dims",
		PRODUCT("{}, {\"d\", \"m\"}", "{\"d\", \"m\"}, {}", "{\"d\"}, {\"m\"}"), "all_reduce=1"},
	{"scattered where the contracted dim's axis cuts the result, whatever the free dims want",
		PRODUCT("{\"m\"}, {\"d\"}", "{\"d\"}, {\"m\"}", "{\"d\"}, {\"m\"}"),
		"all_gather=1 reduce_scatter=1"},
	{"made where it is summed, and gathered behind the sum",
		PRODUCT("{\"m\"}, {\"d\"}", "{\"d\"}, {}", "{}, {}"), "all_reduce=1 all_gather=1"},
};

START_TEST(contractions_of_xla)
{
	lowering x;
	lowering_read(&x, MESH, contraction_cases[_i].text);
	check_single(&x, TARGET_TPU, contraction_cases[_i].want);
	lowering_release(&x);
}
END_TEST

#define TABLE "tensor<32x16xf32>"
#define ROWS_READ "tensor<64x16xf32>"
#define INDICES "tensor<64x1xi32>"
#define GATHER(table, indices, result) \
	"func.func @main(%a: " TABLE \
	" " AT(table) ", %i: " INDICES " " AT(indices) ") -> (" ROWS_READ " " AT( \
		result) ") {\n  %g = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = " \
				"#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], " \
				"start_index_map = [0], " \
				"index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (" TABLE ", " INDICES \
				") -> " ROWS_READ "\n  return %g : " ROWS_READ "\n}\n"
#define ADD_TO(table, indices, updates) \
	"func.func @main(%a: " TABLE \
	" " AT(table) ", %i: " INDICES \
				  " " AT(indices) ", %u: " ROWS_READ " " AT(updates) ") -> (" TABLE " " AT( \
					  table) ") {\n  %r = \"stablehlo.scatter\"(%a, %i, %u) " \
							 "<{scatter_dimension_numbers = " \
							 "#stablehlo.scatter<update_window_dims = [1], " \
							 "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], " \
							 "index_vector_dim = 1>}> ({\n" \
							 "  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n    %s = stablehlo.add " \
							 "%x, %y : tensor<f32>\n" \
							 "    stablehlo.return %s : tensor<f32>\n  }) : (" TABLE ", " INDICES \
							 ", " ROWS_READ ") -> " TABLE "\n  return %r : " TABLE "\n}\n"
#define D "{\"d\"}"
#define M "{\"m\"}"
#define BOTH "{\"d\", \"m\"}"
/* Single gathers and scatters as libtpu compiles them on 16 devices, what is read and written being
 * larger than the table. */
static const struct {
	const char *name, *text, *want;
} access_cases[] = {
	{"whole indices: the table stays, and what is read is scattered",
		GATHER(M ", " D, "{}, {}", M ", " D), "reduce_scatter=1"},
	{"or cut by free axes, and moved", GATHER(M ", {}", "{}, {}", M ", {}"),
		"all_reduce=1 collective_permute=1"},
	{"along the other dim, too", GATHER(M ", {}", "{}, {}", "{}, " M),
		"all_reduce=1 collective_permute=1"},
	{"indices cut by other axes: the same", GATHER(M ", {}", D ", {}", BOTH ", {}"),
		"reduce_scatter=1"},
	{"indexed dims whole: no other cut", GATHER("{}, " M, "{}, {}", M ", {}"), "all_to_all=1"},
	{"indices cut by the table's axes: the table goes to free ones",
		GATHER(M ", {}", M ", {}", M ", " D), "reduce_scatter=1 collective_permute=1"},
	{"whichever dim they cut", GATHER("{}, " M, M ", {}", M ", {}"),
		"all_gather=1 collective_permute=1"},
	{"with none free it is gathered", GATHER(BOTH ", {}", BOTH ", {}", BOTH ", {}"),
		"all_gather=1"},
	{"updates by whole indices are gathered", ADD_TO(M ", " D, "{}, {}", M ", " D), "all_gather=1"},
	{"and by indices that other axes cut", ADD_TO(M ", {}", D ", {}", D ", " M),
		"all_reduce=1 all_gather=1"},
	{"by indices cut by the table's axes they stay", ADD_TO("{}, " M, M ", {}", M ", {}"),
		"all_reduce=1 collective_permute=2"},
};

START_TEST(accesses_of_xla)
{
	lowering x;
	lowering_read(&x, "<[\"d\"=4, \"m\"=4]>", access_cases[_i].text);
	check_single(&x, TARGET_TPU, access_cases[_i].want);
	lowering_release(&x);
}
END_TEST

static int64_t moved_bytes(const char *text)
{
	lowering x;
	lowering_read(&x, MESH, text);
	lower_to(&x, LEVEL_COMPILED, TARGET_TPU);
	int64_t moved = 0;
	for (lop_id i = 0; i < x.out->ops.n; i++)
		if (x.out->ops.p[i].kind == LOP_COLLECTIVE && x.out->ops.p[i].coll != COLL_ALL_SLICE)
			moved += x.out->ops.p[i].bytes;
	lowering_release(&x);
	return moved;
}

#define IMAGES "tensor<16x4x4x8xf32>"
#define CONVOLUTION(place, pad, before, after) \
	"func.func @main(%x: " IMAGES \
	" " AT(before ", {}, {}, {}") ", %w: tensor<" place "x8x8xf32> " AT( \
		"{}, {}, {}, {}") ") -> (" IMAGES " " AT(after \
		", {}, {}, {}") ") {\n" \
						"  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, " \
						"i, o]->[b, 0, 1, f], " \
						"window = {pad = [[" pad "], [" pad \
						"]]} {batch_group_count = 1 : i64, feature_group_count = " \
						"1 : i64} : (" IMAGES ", tensor<" place "x8x8xf32>) -> " IMAGES "\n" \
						"  %c = sdy.sharding_constraint %y <@mesh, [" after \
						", {}, {}, {}]> : " IMAGES "\n" \
						"  return %c : " IMAGES "\n}\n"

#define GRADIENT(pad, place) \
	"func.func @main(%x: " IMAGES " " AT("{\"d\"}, {\"m\"}, {}, {}") ", %y: " IMAGES " " AT( \
		"{\"d\"}, {\"m\"}, {}, {}") ") -> (tensor<" place \
									"x8x8xf32> " AT( \
										"{}, {}, {}, {}") ") {\n" \
														  "  %g = stablehlo.convolution(%x, %y) " \
														  "dim_numbers = [f, 0, 1, b]x[i, 0, 1, " \
														  "o]->[0, 1, b, f], " \
														  "window = {pad = [[" pad "], [" pad \
														  "]]} {batch_group_count = 1 : i64, " \
														  "feature_group_count = " \
														  "1 : i64} : (" IMAGES ", " IMAGES \
														  ") -> tensor<" place "x8x8xf32>\n" \
														  "  return %g : tensor<" place \
														  "x8x8xf32>\n}\n"

/* Over images and over windows one after the other. */
START_TEST(sums_of_convolutions)
{
	lowering x;
	lowering_read(&x, MESH, GRADIENT("1, 1", "3x3"));
	check_single(&x, TARGET_TPU, "all_reduce=2 collective_permute=2");
	check_counts(&x, LEVEL_EXACT, TARGET_TPU, "all_reduce=1 collective_permute=2");
	lowering_release(&x);
}
END_TEST

/* All of the images, in bfloat16, where the result's parts are coarser or others; of windows of one
 * place and of finer parts what is missing. */
START_TEST(convolutions_of_xla)
{
	int64_t all = 16 * 4 * 4 * 8 * 2;
	const char *coarser = CONVOLUTION("3x3", "1, 1", "{\"d\", \"m\"}", "{\"d\"}");
	ck_assert_int_eq(moved_bytes(coarser), all);
	ck_assert_int_eq(moved_bytes(CONVOLUTION("3x3", "1, 1", "{\"m\"}", "{\"d\"}")), all);
	ck_assert_int_eq(moved_bytes(CONVOLUTION("3x3", "1, 1", "{\"d\"}", "{\"d\", \"m\"}")), 0);
	int64_t contraction = moved_bytes(CONVOLUTION("1x1", "0, 0", "{\"d\", \"m\"}", "{\"d\"}"));
	ck_assert_int_gt(contraction, 0);
	ck_assert_int_lt(contraction, all);
}
END_TEST

#define TOP_K(type) \
	"func.func @main(%x: tensor<16x64x" type "> " COLUMNS ") -> (tensor<16x4x" type "> " WHOLE \
	", tensor<16x4xi32> " WHOLE ") {\n" \
	"  %v, %i = \"chlo.top_k\"(%x) {k = 4 : i64} : (tensor<16x64x" type ">) -> (tensor<16x4x" type \
	">, tensor<16x4xi32>)\n  return %v, %i : tensor<16x4x" type ">, tensor<16x4xi32>\n}\n"

/* Keys go out in words, with their positions where there is room, and come back. */
START_TEST(keys_of_a_top_k)
{
	int64_t part = 16 * 16 * 4, positions = 16 * 4 * 4;
	ck_assert_int_eq(moved_bytes(TOP_K("bf16")), 2 * part + positions / 2 + positions);
	ck_assert_int_eq(moved_bytes(TOP_K("f32")), 3 * part + positions + positions);
	/* what a program of one device sends is what it says */
	ck_assert_int_eq(
		moved_bytes(
			"func.func @main(%x: tensor<16x64xbf16> " COLUMNS ") -> (tensor<16x4xi32> " ROWS ") {\n"
			"  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {\"d\"}]>] "
			"out_shardings=[<@mesh, [{\"d\"}, {}]>] manual_axes={\"d\", \"m\"} "
			"(%a: tensor<16x16xbf16>) {\n"
			"    %1 = \"stablehlo.all_to_all\"(%a) <{split_dimension = 0 : i64, "
			"concat_dimension = 1 : i64, split_count = 4 : i64, channel_handle = "
			"#stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, "
			"2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>}> : (tensor<16x16xbf16>) -> "
			"tensor<4x64xbf16>\n"
			"    %v, %i = \"chlo.top_k\"(%1) {k = 4 : i64} : (tensor<4x64xbf16>) -> "
			"(tensor<4x4xbf16>, tensor<4x4xi32>)\n"
			"    sdy.return %i : tensor<4x4xi32>\n  } : (tensor<16x64xbf16>) -> "
			"tensor<16x4xi32>\n  return %0 : tensor<16x4xi32>\n}\n"),
		16 * 16 * 2);
}
END_TEST

/* y = x w, n more ops, y w: both gather w. */
static void read_apart(lowering *x, uint32_t n)
{
	strbuf text;
	strbuf_init(&text);
	strbuf_puts(&text,
		"func.func @main(%x: " T " " ROWS ", %w: " T " " COLUMNS ") -> (" T " " ROWS
		") {\n" DOT("y0", "x", "w"));
	for (uint32_t i = 0; i < n; i++)
		strbuf_printf(&text, "  %%y%u = stablehlo.tanh %%y%u : " T "\n", i + 1, i);
	strbuf_printf(&text,
		"  %%q = stablehlo.dot_general %%y%u, %%w, contracting_dims = [1] x [0] : (" T ", " T
		") -> " T "\n  return %%q : " T "\n}\n",
		n);
	lowering_read(x, MESH, text.p);
	strbuf_release(&text);
}

START_TEST(near_gathers_are_shared)
{
	static const struct {
		uint32_t ops;
		const char *tpu;
	} cases[] = {{0, "all_gather=1"}, {60, "all_gather=1"}, {140, "all_gather=2"}};
	lowering x;
	for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
		read_apart(&x, cases[i].ops);
		check_counts(&x, LEVEL_OPTIMIZED, TARGET_TPU, "all_gather=2");
		check_single(&x, TARGET_TPU, cases[i].tpu);
		check_single(&x, TARGET_GPU, "all_gather=1");
		lowering_release(&x);
	}
}
END_TEST

/* In our own program the transpose of a partial sum is summed, not the sum transposed: of a
 * weight's gradient XLA makes one product then, in the weight's order of dims, and copies neither
 * weight nor state. Also where it is scattered. */
START_TEST(sums_are_transposed_before_they_are_reduced)
{
	static const char *const texts[] = {
		MAIN(T WHOLE) DOT("p", "a", "b") "  %t = stablehlo.transpose %p, dims = [1, 0] : (" T
										 ") -> " T "\n  return %t : " T "\n}\n",
		MAIN(T ROWS) DOT("p", "a", "b") "  %t = stablehlo.transpose %p, dims = [1, 0] : (" T
										") -> " T "\n  return %t : " T "\n}\n",
	};
	lowering x;
	for (uint32_t i = 0; i < COUNT_OF(texts); i++) {
		lowering_read(&x, MESH, texts[i]);
		lower_to(&x, LEVEL_EXACT, TARGET_TPU);
		uint32_t reduced = 0;
		for (lop_id o = 0; o < x.out->ops.n; o++) {
			const lop *c = &x.out->ops.p[o];
			if (c->kind != LOP_COLLECTIVE || c->coll == COLL_ALL_SLICE)
				continue;
			ck_assert_int_eq(c->coll, i ? COLL_REDUCE_SCATTER : COLL_ALL_REDUCE);
			const lop *from = &x.out->ops.p[x.out->vals.p[x.out->operands.p[c->operands]].def];
			ck_assert_int_eq(x.p->nodes.p[from->node].op_kind, OP_TRANSPOSE);
			reduced++;
		}
		ck_assert_int_eq(reduced, 1);
		lowering_release(&x);
	}
}
END_TEST

/* A mean of two sums over devices is one collective of what is divided: what XLA does in front of
 * it is one kernel then. The second sum comes back from dims of one element. A bias is not divided.
 */
START_TEST(sums_are_scaled_before_they_are_reduced)
{
#define SUMS(then) \
	MAIN(T WHOLE) \
	ZERO DOT("p", "a", "b") \
		DOT("q", "a", "c") "  %u = stablehlo.reshape %q : (" T ") -> tensor<1x16x16xf32>\n" \
						   "  %v = stablehlo.reduce(%u init: %z) applies stablehlo.add across " \
						   "dimensions = [0] : " \
						   "(tensor<1x16x16xf32>, tensor<f32>) -> " T "\n" \
						   "  %s = stablehlo.add %p, %v : " T \
						   "\n  %k = stablehlo.constant dense<4.0> : " T "\n" \
						   "  %m = stablehlo." then " : " T "\n  return %m : " T "\n}\n"
	static const struct {
		const char *text;
		op_kind last; /* in front of the collective */
	} of[] = {{SUMS("divide %s, %k"), OP_DIVIDE}, {SUMS("multiply %s, %k"), OP_MULTIPLY},
		{SUMS("divide %s, %w"), OP_ADD}, {SUMS("subtract %s, %k"), OP_ADD}};
	for (uint32_t i = 0; i < COUNT_OF(of); i++) {
		lowering x;
		lowering_read(&x, MESH, of[i].text);
		lower_to(&x, LEVEL_EXACT, TARGET_TPU);
		uint32_t reduced = 0;
		for (lop_id o = 0; o < x.out->ops.n; o++) {
			const lop *c = &x.out->ops.p[o];
			if (c->kind != LOP_COLLECTIVE)
				continue;
			reduced++;
			const lop *from = &x.out->ops.p[x.out->vals.p[x.out->operands.p[c->operands]].def];
			ck_assert_int_eq(x.p->nodes.p[from->node].op_kind, of[i].last);
		}
		ck_assert_int_eq(reduced, 1);
		lowering_release(&x);
	}
}
END_TEST

#define LOOP(before, after) \
	MAIN(T WHOLE) \
	"  %i0 = stablehlo.constant dense<0> : tensor<i32>\n  %i1 = stablehlo.constant dense<1> : " \
	"tensor<i32>\n  %i5 = stablehlo.constant dense<5> : " \
	"tensor<i32>\n  %s0 = stablehlo.constant dense<0.0> : " T "\n" \
	"  %r:2 = stablehlo.while(%i = %i0, %s = %s0) : tensor<i32>, " T "\n" \
	"   cond {\n    %t = stablehlo.compare LT, %i, %i5 : (tensor<i32>, tensor<i32>) -> " \
	"tensor<i1>\n    stablehlo.return %t : tensor<i1>\n   } do {\n" before DOT("p", "a", "b") \
		after "    %n = stablehlo.add %i, %i1 : tensor<i32>\n    stablehlo.return %n, %q : " \
			  "tensor<i32>, " T "\n   }\n" \
			  "  return %r#1 : " T "\n}\n"

START_TEST(what_loops_accumulate_is_reduced_behind_them)
{
	static const struct {
		const char *text;
		int64_t executions; /* of all all_reduces, but on CPU */
	} cases[] = {
		{LOOP("", "    %q = stablehlo.add %s, %p : " T "\n"), 1},
		{LOOP("",
			 "    %u = stablehlo.transpose %p, dims = [1, 0] : (" T ") -> " T
			 "\n    %q = stablehlo.add %u, %s : " T "\n"),
			1},
		{LOOP(DOT("o", "a", "c"),
			 "    %u = stablehlo.add %o, %p : " T "\n    %q = stablehlo.add %s, %u : " T "\n"),
			1},
		{LOOP("",
			 "    %u = stablehlo.multiply %p, %p : " T "\n    %q = stablehlo.add %s, %u : " T "\n"),
			5},
		{LOOP("",
			 "    %u = stablehlo.add %s, %p : " T "\n    %q = stablehlo.multiply %u, %s : " T "\n"),
			5},
	};
	lowering x;
	for (uint32_t i = 0; i < COUNT_OF(cases); i++)
		for (int target = TARGET_TPU; target <= TARGET_CPU; target++) {
			lowering_read(&x, MESH, cases[i].text);
			lower_to(&x, LEVEL_COMPILED, (lower_target)target);
			int64_t executions = 0;
			for (lop_id o = 0; o < x.out->ops.n; o++)
				executions += x.out->ops.p[o].kind == LOP_COLLECTIVE ? lop_executions(x.out, o) : 0;
			ck_assert_int_eq(executions,
				target != TARGET_CPU ? cases[i].executions
					: i == 2         ? 10
									 : 5);
			lowering_release(&x);
		}
}
END_TEST

/* In our own program also what is added in several steps, unless something else reads a step. */
START_TEST(what_loops_accumulate_in_steps_is_reduced_behind_them)
{
	static const struct {
		const char *text;
		int64_t executions;
	} cases[] = {
		{LOOP("", "    %q = stablehlo.add %s, %p : " T "\n"), 1},
		{LOOP(DOT("o", "a", "c") "    %u = stablehlo.add %s, %o : " T "\n",
			 "    %q = stablehlo.add %u, %p : " T "\n"),
			1},
		{LOOP(DOT("o", "a", "c") "    %u = stablehlo.add %o, %s : " T "\n",
			 "    %z = stablehlo.transpose %p, dims = [1, 0] : (" T ") -> " T
			 "\n    %q = stablehlo.add %z, %u : " T "\n"),
			1},
		{LOOP(DOT("o", "a", "c") "    %u = stablehlo.add %s, %o : " T "\n",
			 "    %z = stablehlo.multiply %u, %p : " T "\n    %q = stablehlo.add %u, %z : " T "\n"),
			10},
		{LOOP(DOT("o", "a", "c") "    %u = stablehlo.add %s, %s : " T "\n",
			 "    %z = stablehlo.add %o, %p : " T "\n    %q = stablehlo.add %u, %z : " T "\n"),
			5},
	};
	lowering x;
	for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
		lowering_read(&x, MESH, cases[i].text);
		lower_to(&x, LEVEL_EXACT, TARGET_TPU);
		int64_t executions = 0;
		for (lop_id o = 0; o < x.out->ops.n; o++)
			executions += x.out->ops.p[o].kind == LOP_COLLECTIVE ? lop_executions(x.out, o) : 0;
		ck_assert_msg(executions == cases[i].executions, "case %u: %lld", i, (long long)executions);
		lowering_release(&x);
	}
}
END_TEST

/* Groups of a program's own collectives and the axes they lie along; what lies along none is left
 * to others. */
START_TEST(own_collectives_are_counted)
{
	static const struct {
		const char *groups;
		int64_t size; /* 0: not taken */
	} cases[] = {{"[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>", 4},
		{"[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>", 2},
		{"[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>", 8},
		{"[[0, 2], [4, 6], [1, 3], [5, 7]]> : tensor<4x2xi64>", 0}};
	for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
		lowering x;
		strbuf text;
		strbuf_init(&text);
		strbuf_printf(&text,
			"func.func @main(%%x: " T " " ROWS ") -> tensor<4x16xf32> {\n"
			"  %%0 = sdy.manual_computation(%%x) in_shardings=[<@mesh, [{\"d\"}, {}]>] "
			"out_shardings=[<@mesh, [{}, {}]>] manual_axes={\"d\", \"m\"} "
			"(%%a: tensor<4x16xf32>) {\n"
			"    %%1 = \"stablehlo.all_reduce\"(%%a) <{channel_handle = "
			"#stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<%s, "
			"use_global_device_ids}> ({\n    ^bb0(%%u: tensor<f32>, %%v: tensor<f32>):\n      %%s "
			"= stablehlo.add %%u, %%v : tensor<f32>\n"
			"      stablehlo.return %%s : tensor<f32>\n    }) : (tensor<4x16xf32>) -> "
			"tensor<4x16xf32>\n"
			"    sdy.return %%1 : tensor<4x16xf32>\n  } : (" T
			") -> tensor<4x16xf32>\n  return %%0 : tensor<4x16xf32>\n}\n",
			cases[i].groups);
		lowering_read(&x, MESH, text.p);
		strbuf_release(&text);
		check_counts(&x, LEVEL_OPTIMIZED, TARGET_TPU, "");
		check_single(&x, TARGET_TPU, cases[i].size ? "all_reduce=1" : "");
		for (lop_id o = 0; o < x.out->ops.n; o++)
			if (x.out->ops.p[o].kind == LOP_COLLECTIVE) {
				ck_assert_int_eq(lop_group_size(&x.out->ops.p[o]), cases[i].size);
				ck_assert_int_eq(x.out->ops.p[o].bytes, 4 * 16 * 4);
			}
		lowering_release(&x);
	}
}
END_TEST

/* All devices of a square or of three dims: XLA for TPU reduces them whole, so our own program
 * does. Where memory counts it scatters axis by axis in a square. */
START_TEST(scatters_over_all_devices)
{
	static const struct {
		const char *mesh;
		uint32_t dims;
		int64_t slice_devices;
		const char *exact, *sparing;
	} cases[] = {
		{"<[\"d\"=4, \"m\"=4]>", 2, 0, "all_reduce=1 all_slice=1", "reduce_scatter=2"},
		{"<[\"d\"=4, \"m\"=2]>", 2, 0, "reduce_scatter=1", "reduce_scatter=1"},
		{"<[\"d\"=2, \"m\"=8, \"x\"=2]>", 2, 0, "reduce_scatter=1", "reduce_scatter=1"},
		{"<[\"d\"=2, \"m\"=8, \"x\"=2]>", 2, 16, "all_reduce=1 all_slice=1", "reduce_scatter=2"},
		{"<[\"d\"=4, \"m\"=2]>", 3, 0, "all_reduce=1 all_slice=1", "all_reduce=1 all_slice=1"},
	};
	static const char text[] =
		"func.func @main(%a: " T
		" {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"d\", \"m\"}]>}, %b: " T
		" {sdy.sharding = #sdy.sharding<@mesh, [{\"d\", \"m\"}, {}]>}) -> (" T
		" {sdy.sharding = #sdy.sharding<@mesh, [{\"d\", \"m\"}, {}]>}) {\n" DOT(
			"p", "a", "b") "  return %p : " T "\n}\n";
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		lowering x;
		lowering_read(&x, cases[i].mesh, text);
		lower_cache_device(x.cache, TARGET_TPU, cases[i].dims, cases[i].slice_devices);
		check_counts(&x, LEVEL_COMPILED, TARGET_TPU, "reduce_scatter=1");
		check_counts(&x, LEVEL_EXACT, TARGET_TPU, cases[i].exact);
		lower_cache_reshard_after_forward(x.cache, true);
		check_counts(&x, LEVEL_EXACT, TARGET_TPU, cases[i].sparing);
		check_counts(&x, LEVEL_COMPILED, TARGET_GPU, "reduce_scatter=1");
		lowering_release(&x);
	}
}
END_TEST

/* XLA for GPU and CPU transforms all of a value on every device, whatever dims are cut, and takes
 * the largest of all of it: on GPU where some devices have the same part. libtpu makes products and
 * sorts of both first. */
START_TEST(works_on_whole_values)
{
#define BATCHED(axes) " {sdy.sharding = #sdy.sharding<@mesh, [{" axes "}, {}]>}"
#define LARGEST(axes) \
	"func.func @main(%a: tensor<64x16xf32>" BATCHED(axes) ") -> (tensor<64x2xf32>" BATCHED( \
		axes) ", tensor<64x2xi32>" BATCHED(axes) ") {\n  %v, %i = chlo.top_k(%a, k = 2) : " \
												 "tensor<64x16xf32> -> (tensor<64x2xf32>, " \
												 "tensor<64x2xi32>)\n" \
												 "  return %v, %i : tensor<64x2xf32>, " \
												 "tensor<64x2xi32>\n}\n"
	static const char transform[] =
		"func.func @main(%a: tensor<16x16xcomplex<f32>> " ROWS
		") -> (tensor<16x16xcomplex<f32>> " ROWS ") {\n"
		"  %f = stablehlo.fft %a, type = FFT, length = [16] : (tensor<16x16xcomplex<f32>>) -> "
		"tensor<16x16xcomplex<f32>>\n  return %f : tensor<16x16xcomplex<f32>>\n}\n";
	static const char some[] = LARGEST("\"d\""), all[] = LARGEST("\"d\", \"m\"");
	static const struct {
		const char *text;
		lower_target target;
		const char *counts;
	} cases[] = {{transform, TARGET_TPU, ""}, {transform, TARGET_GPU, "all_gather=1 all_slice=1"},
		{transform, TARGET_CPU, "all_gather=1 all_slice=1"}, {some, TARGET_TPU, ""},
		{some, TARGET_GPU, "all_gather=1 all_slice=2"}, {all, TARGET_GPU, ""},
		{all, TARGET_CPU, "all_gather=1 all_slice=2"}};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		lowering x;
		lowering_read(&x, MESH, cases[i].text);
		lower_cache_device(x.cache, cases[i].target, 2, 0);
		check_counts(&x, LEVEL_COMPILED, cases[i].target, cases[i].counts);
		check_counts(&x, LEVEL_EXACT, cases[i].target, "");
		lowering_release(&x);
	}
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("optimize");
	tcase_add_test(t, works_on_whole_values);
	tcase_add_loop_test(t, rewrites, 0, (int)COUNT_OF(rewrite_cases));
	tcase_add_test(t, gathers_are_shared_but_not_those_of_arguments);
	tcase_add_test(t, a_reshard_that_is_undone_is_gone);
	tcase_add_test(t, chains_are_planned_from_end_to_end);
	tcase_add_test(t, dead_code_goes);
	tcase_add_test(t, a_maximum_is_not_summed);
	tcase_add_test(t, cpu_has_no_reduce_scatter);
	tcase_add_test(t, scatters_over_all_devices);
	tcase_add_test(t, the_narrow_type_is_gathered);
	tcase_add_loop_test(t, compiled, 0, (int)COUNT_OF(compiled_cases));
	tcase_add_loop_test(t, contractions_of_xla, 0, (int)COUNT_OF(contraction_cases));
	tcase_add_loop_test(t, accesses_of_xla, 0, (int)COUNT_OF(access_cases));
	tcase_add_test(t, convolutions_of_xla);
	tcase_add_test(t, sums_of_convolutions);
	tcase_add_test(t, keys_of_a_top_k);
	tcase_add_test(t, near_gathers_are_shared);
	tcase_add_test(t, own_collectives_are_counted);
	tcase_add_test(t, sums_are_transposed_before_they_are_reduced);
	tcase_add_test(t, sums_are_scaled_before_they_are_reduced);
	tcase_add_test(t, what_loops_accumulate_is_reduced_behind_them);
	tcase_add_test(t, what_loops_accumulate_in_steps_is_reduced_behind_them);
	return run_suite(t, "optimize");
}
