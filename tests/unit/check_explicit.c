/* Common axes of one op. The expected shardings of the first table are what jaxlib's
 * sdy-insert-explicit-reshards (full version) gives for the same op; tests/oracle/test_lower.py
 * compares many more. */
#include "lower/internal.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

enum { MAX_TEST_TENSORS = 5 };

typedef struct op_case {
	const char *mesh, *rule;
	uint16_t kind;
	int64_t sizes[MAX_TEST_TENSORS];
	const char *in[MAX_TEST_TENSORS], *at[MAX_TEST_TENSORS]; /* at: NULL = unchanged */
	const char *reduce;
} op_case;

static const op_case op_cases[] = {
	/* what is compatible stays; contracted axes are summed */
	{"<[\"x\"=2, \"y\"=4]>", "<([i, k], [k, j])->([i, j]) {i=8, j=32, k=16} reduction={k}>",
		OP_DOT_GENERAL, {128, 512, 256}, {"[{}, {\"x\"}]", "[{\"x\"}, {\"y\"}]", "[{}, {\"y\"}]"},
		{NULL}, "\"x\""},
	/* a dot whose result wants the contracted axis: the operands win */
	{"<[\"x\"=2]>", "<([i, k], [k, j])->([i, j]) {i=8, j=8, k=64} reduction={k}>", OP_DOT_GENERAL,
		{512, 512, 64}, {"[{}, {\"x\"}]", "[{\"x\"}, {}]", "[{\"x\"}, {}]"},
		{NULL, NULL, "[{}, {}]"}, "\"x\""},
	/* two tensors: the larger decides */
	{"<[\"x\"=2, \"y\"=2]>", "<([i, j])->([j, i]) {i=8, j=16}>", OP_TRANSPOSE, {128, 128},
		{"[{\"x\"}, {}]", "[{\"y\"}, {\"x\"}]"}, {"[{\"x\"}, {\"y\"}]", NULL}, ""},
	/* a part of an axis counts for the whole: j takes z before i takes anything */
	{"<[\"z\"=4, \"x\"=8]>", "<([i, j], [i, j], [i, j])->([i, j]) {i=6, j=5}>", OP_SELECT,
		{30, 30, 30, 30},
		{"[{}, {}]", "[{\"x\"}, {\"z\"}]", "[{}, {\"z\":(1)2, \"x\":(1)2}]", "[{\"z\"}, {\"x\"}]"},
		{"[{\"x\"}, {\"z\"}]", NULL, "[{\"x\"}, {\"z\"}]", "[{\"x\"}, {\"z\"}]"}, ""},
	/* axes of dims that must be whole move to the batch */
	{"<[\"z\"=2, \"x\"=4, \"y\"=4]>",
		"<([i, j, k])->([i, j, k]) {i=64, j=8, k=8} need_replication={j, k}>", OP_CHOLESKY,
		{4096, 4096}, {"[{}, {}, {}]", "[{}, {\"z\"}, {\"x\"}]"},
		{"[{\"z\", \"x\"}, {}, {}]", "[{\"z\", \"x\"}, {}, {}]"}, ""},
	/* a reshape whose axes do not divide deals them out again */
	{"<[\"y\"=4, \"z\"=3]>", "<([i, j])->([ij]) {i=3, j=8}>", OP_RESHAPE, {24, 24},
		{"[{\"z\", \"y\"}, {}]", "[{\"y\", \"z\"}]"}, {"[{\"z\"}, {\"y\"}]", "[{\"z\", \"y\"}]"},
		""},
	{"<[\"x\"=4, \"y\"=4, \"z\"=2]>", "<([i, j, k])->([ijk]) {i=6, j=4, k=16}>", OP_RESHAPE,
		{384, 384}, {"[{}, {\"y\", \"x\"}, {\"z\"}]", "[{\"y\":(2)2, \"x\"}]"},
		{"[{\"y\":(1)2}, {}, {}]", "[{\"y\":(1)2}]"}, ""},
};

#define EMBED \
	"<([k, j], [i, l])->([i, j]) {i=64, j=8, k=32, l=1} reduction={k} need_replication={l}>"
#define SPREAD \
	"<([k, j], [i, l], [i, j])->([k, j]) {i=64, j=8, k=32, l=1} reduction={i} " \
	"need_replication={l}>"
/* As XLA's partitioner chooses: what it does for TPU and GPU, found in compiled programs. */
static const op_case partitioner_cases[] = {
	/* an elementwise op is where its result is, also where that is nowhere */
	{"<[\"x\"=2]>", "<([i, j])->([i, j]) {i=8, j=16}>", OP_TANH, {128, 128},
		{"[{\"x\"}, {}]", "[{}, {}]"}, {"[{}, {}]", NULL}, ""},
	/* a reduction is where its operand is */
	{"<[\"x\"=2, \"y\"=2]>", "<([i, j], [])->([i]) {i=8, j=16} reduction={j}>", OP_REDUCE,
		{128, 1, 8}, {"[{\"x\"}, {\"y\"}]", "[]", "[{\"y\"}]"}, {NULL, NULL, "[{\"x\"}]"}, "\"y\""},
	/* a dot where its result is: weights are gathered, whatever their size */
	{"<[\"x\"=4]>", "<([i, k], [k, j])->([i, j]) {i=8, j=64, k=64} reduction={k}>", OP_DOT_GENERAL,
		{512, 4096, 512}, {"[{\"x\"}, {}]", "[{\"x\"}, {}]", "[{\"x\"}, {}]"},
		{NULL, "[{}, {}]", NULL}, ""},
	/* unless both operands have the axis along what is contracted */
	{"<[\"x\"=4]>", "<([i, k], [k, j])->([i, j]) {i=8, j=64, k=64} reduction={k}>", OP_DOT_GENERAL,
		{512, 4096, 512}, {"[{}, {\"x\"}]", "[{\"x\"}, {}]", "[{\"x\"}, {}]"},
		{NULL, NULL, "[{}, {}]"}, "\"x\""},
	/* an operand that alone is cut there is gathered if it is smaller than the result, the other
       one is cut if not */
	{"<[\"x\"=4]>", "<([i, k], [k, j])->([i, j]) {i=8, j=64, k=4} reduction={k}>", OP_DOT_GENERAL,
		{32, 256, 512}, {"[{}, {\"x\"}]", "[{}, {}]", "[{}, {}]"}, {"[{}, {}]", NULL, NULL}, ""},
	{"<[\"x\"=4]>", "<([i, k], [k, j])->([i, j]) {i=8, j=8, k=64} reduction={k}>", OP_DOT_GENERAL,
		{512, 512, 64}, {"[{}, {\"x\"}]", "[{}, {}]", "[{}, {}]"}, {NULL, "[{\"x\"}, {}]", NULL},
		"\"x\""},
	/* a batch that both operands have stays until the result is there */
	{"<[\"x\"=4]>", "<([i, j, l], [i, l, k])->([i, j, k]) {i=4, j=8, k=8, l=4} reduction={l}>",
		OP_DOT_GENERAL, {128, 128, 256}, {"[{\"x\"}, {}, {}]", "[{\"x\"}, {}, {}]", "[{}, {}, {}]"},
		{NULL, NULL, "[{\"x\"}, {}, {}]"}, ""},
	/* table and indices on one axis: the smaller side takes a free one, as much of it as there is
     */
	{"<[\"x\"=4, \"y\"=2]>", EMBED, OP_GATHER, {256, 64, 512},
		{"[{\"x\"}, {}]", "[{\"x\"}, {}]", "[{\"x\"}, {}]"}, {"[{\"y\"}, {}]", NULL, NULL},
		"\"y\""},
	{"<[\"x\"=4, \"y\"=2]>", EMBED, OP_GATHER, {1024, 64, 512},
		{"[{\"x\"}, {}]", "[{\"x\"}, {}]", "[{\"x\"}, {}]"},
		{NULL, "[{\"y\"}, {}]", "[{\"y\"}, {}]"}, "\"x\""},
	{"<[\"x\"=4, \"y\"=2]>", SPREAD, OP_SCATTER, {1024, 64, 512, 1024},
		{"[{\"x\"}, {}]", "[{\"x\"}, {}]", "[{\"x\"}, {}]", "[{\"x\"}, {}]"},
		{NULL, "[{\"y\"}, {}]", "[{\"y\"}, {}]", NULL}, "\"y\""},
};

typedef struct fixture {
	sharding_table *t;
	rule_table rules;
	arena mem;
	explicit_op op;
	sharding_id in[MAX_TEST_TENSORS];
	uint32_t n;
} fixture;

static sharding_id read_sharding(sharding_table *t, const char *text)
{
	sharding_edit e;
	diag d = {0};
	char full[256];
	snprintf(full, sizeof full, "<@mesh, %s>", text);
	ck_assert_msg(sharding_parse(t, str_of(full), &e, &d) == ST_OK, "%s: %s", full, d.msg);
	return sharding_intern(t, &e);
}

static void setup_case(fixture *x, const op_case *c, bool partitioner)
{
	diag d = {0};
	mesh_id m;
	rule_id r;
	*x = (fixture){.t = sharding_table_new()};
	arena_init(&x->mem);
	rule_table_init(&x->rules);
	ck_assert_int_eq(mesh_parse(x->t, str_of(c->mesh), STR("mesh"), &m, &d), ST_OK);
	ck_assert_msg(
		rule_parse(&x->rules, str_of(c->rule), false, &r, &d) == ST_OK, "%s: %s", c->rule, d.msg);
	const rule *got = rule_get(&x->rules, r);
	x->n = (uint32_t)got->n_operands + got->n_results;
	for (uint32_t i = 0; i < x->n; i++)
		x->in[i] = read_sharding(x->t, c->in[i]);
	x->op = (explicit_op){.rule = got,
		.op_kind = c->kind,
		.sizes = c->sizes,
		.in = x->in,
		.mesh = m,
		.partitioner = partitioner};
}

static void release_case(fixture *x)
{
	arena_release(&x->mem);
	rule_table_release(&x->rules);
	sharding_table_unref(x->t);
}

static void check_case(const op_case *c, bool partitioner)
{
	fixture x;
	setup_case(&x, c, partitioner);
	sharding_id at[MAX_TEST_TENSORS];
	axes_buf reduce;
	explicit_shardings(x.t, &x.op, &x.mem, at, &reduce);
	strbuf got, want;
	strbuf_init(&got);
	strbuf_init(&want);
	for (uint32_t i = 0; i < x.n; i++) {
		strbuf_clear(&got);
		strbuf_clear(&want);
		sharding_print(x.t, at[i], &got);
		sharding_print(x.t, c->at[i] ? read_sharding(x.t, c->at[i]) : x.in[i], &want);
		ck_assert_msg(!strcmp(got.p, want.p), "tensor %u: %s instead of %s", i, got.p, want.p);
		if (!c->at[i])
			ck_assert_uint_eq(at[i], x.in[i]);
	}
	strbuf_clear(&got);
	for (uint32_t i = 0; i < reduce.n; i++) {
		strbuf_puts(&got, i ? ", " : "");
		axis_print(x.t, x.op.mesh, reduce.a[i], &got);
	}
	ck_assert_str_eq(got.p ? got.p : "", c->reduce);
	strbuf_release(&got);
	strbuf_release(&want);
	release_case(&x);
}

START_TEST(common_axes_are_shardys) { check_case(&op_cases[_i], false); }
END_TEST

START_TEST(partitioner_goes_op_by_op) { check_case(&partitioner_cases[_i], true); }
END_TEST

START_TEST(the_choice_is_stable)
{
	/* What was chosen is compatible: choosing again changes nothing. */
	fixture x;
	setup_case(&x, &op_cases[_i], false);
	sharding_id at[MAX_TEST_TENSORS], again[MAX_TEST_TENSORS];
	axes_buf reduce, reduce_again;
	explicit_shardings(x.t, &x.op, &x.mem, at, &reduce);
	explicit_op chosen = x.op;
	chosen.in = at;
	explicit_shardings(x.t, &chosen, &x.mem, again, &reduce_again);
	for (uint32_t i = 0; i < x.n; i++)
		ck_assert_uint_eq(at[i], again[i]);
	ck_assert(axes_equal(axes_of(&reduce), axes_of(&reduce_again)));
	release_case(&x);
}
END_TEST

START_TEST(a_dot_gives_its_result_the_operands_axes)
{
	static const char text[] = "<([i, k], [k, j])->([i, j]) {i=4, j=8, k=32} reduction={k}>";
	const op_case wins = {"<[\"x\"=2, \"y\"=2]>", text, OP_DOT_GENERAL, {128, 256, 32},
		{"[{}, {\"x\"}]", "[{\"x\"}, {\"y\"}]", "[{}, {\"x\"}]"}, {NULL}, ""};
	const op_case larger = {"<[\"x\"=2, \"y\"=2]>", text, OP_DOT_GENERAL, {128, 256, 4096},
		{"[{}, {\"x\"}]", "[{\"x\"}, {\"y\"}]", "[{}, {\"x\"}]"}, {NULL}, ""};
	const op_case empty = {"<[\"x\"=2, \"y\"=2]>", text, OP_DOT_GENERAL, {128, 256, 32},
		{"[{}, {\"x\"}]", "[{\"x\"}, {}]", "[{}, {\"x\"}]"}, {NULL}, ""};
	fixture x;
	setup_case(&x, &wins, false);
	ck_assert_uint_eq(explicit_dot_result(x.t, &x.op, &x.mem), read_sharding(x.t, "[{}, {\"y\"}]"));
	release_case(&x);
	setup_case(&x, &larger, false);
	ck_assert_uint_eq(explicit_dot_result(x.t, &x.op, &x.mem), x.in[2]);
	release_case(&x);
	setup_case(&x, &empty, false); /* a plain reduce_scatter */
	ck_assert_uint_eq(explicit_dot_result(x.t, &x.op, &x.mem), x.in[2]);
	release_case(&x);
}
END_TEST

START_TEST(differences_of_axis_sets)
{
	axis_ref x = axis_make(0, 1, 8), y = axis_make(1, 1, 2), x_mid = axis_make(0, 2, 2);
	axis_ref a[2] = {x, y};
	axes_buf out;
	axes_difference((axes){a, 2}, (axes){&x_mid, 1}, &out);
	axes_sort_merge(&out);
	ck_assert_uint_eq(out.n, 3);
	ck_assert_uint_eq(out.a[0], axis_make(0, 1, 2));
	ck_assert_uint_eq(out.a[1], axis_make(0, 4, 2));
	ck_assert_uint_eq(out.a[2], y);
	axes_difference((axes){a, 2}, (axes){a, 2}, &out);
	ck_assert_uint_eq(out.n, 0);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("explicit");
	tcase_add_loop_test(t, common_axes_are_shardys, 0, (int)COUNT_OF(op_cases));
	tcase_add_loop_test(t, partitioner_goes_op_by_op, 0, (int)COUNT_OF(partitioner_cases));
	tcase_add_loop_test(t, the_choice_is_stable, 0, (int)COUNT_OF(op_cases));
	tcase_add_test(t, a_dot_gives_its_result_the_operands_axes);
	tcase_add_test(t, differences_of_axis_sets);
	return run_suite(t, "explicit");
}
