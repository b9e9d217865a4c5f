#include "ir/ir.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

static sharding_table *t;
static mesh_id m;
static void setup(void)
{
	diag d = {0};
	t = sharding_table_new();
	ck_assert_int_eq(
		mesh_parse(t, STR("<[\"a\"=2, \"b\"=4, \"c\"=12]>"), STR("mesh"), &m, &d), ST_OK);
	mesh_id other;
	ck_assert_int_eq(mesh_parse(t, STR("<[], device_ids=[3]>"), STR("maximal"), &other, &d), ST_OK);
}
static void teardown(void) { sharding_table_unref(t); }

static status parse(const char *text, sharding_edit *e, diag *d)
{
	*d = (diag){0};
	return sharding_parse(t, str_of(text), e, d);
}

static void accept(const char *text, sharding_edit *e)
{
	diag d;
	ck_assert_msg(parse(text, e, &d) == ST_OK, "%s: %u:%u %s", text, d.line, d.col, d.msg);
}

static void refuse(const char *text, status code, uint32_t col, const char *words)
{
	diag d;
	sharding_edit e;
	ck_assert_msg(parse(text, &e, &d) == code, "%s: %s", text, d.msg);
	ck_assert_msg(strstr(d.msg, words), "%s: '%s' does not say '%s'", text, d.msg, words);
	ck_assert_msg(d.line == 1 && d.col == col, "%s: at %u:%u: %s", text, d.line, d.col, d.msg);
}

static ir_type tensor(elem e, uint32_t rank, const int64_t *dims)
{
	ir_type ty = {.kind = TYPE_TENSOR,
		.elem = (uint8_t)e,
		.rank = (uint8_t)rank,
		.dims = dims,
		.elements = 1};
	for (uint32_t i = 0; i < rank; i++)
		ty.elements = sat_mul(ty.elements, dims[i]);
	return ty;
}

START_TEST(text_and_back)
{
	static const char *const texts[] = {
		"<@mesh, []>",
		"<@mesh, [{}]>",
		"<@mesh, [{?}]>",
		"<@mesh, [{\"a\"}, {\"b\", \"c\"}, {}]>",
		"<@mesh, [{\"a\", ?}p1, {}]>",
		"<@mesh, [{\"a\"}p0, {?}p12]>",
		"<@mesh, [{\"c\":(2)3}, {\"c\":(1)2}]>",
		"<@mesh, [{\"c\":(6)2, \"c\":(1)2}]>",
		"<@mesh, [{}], replicated={\"a\", \"c\":(1)2, \"c\":(6)2}>",
		"<@mesh, [{\"a\"}], replicated={\"b\"}, unreduced={\"c\"}>",
		"<@maximal, []>",
		"<mesh<[\"x\"=2, \"y\"=2], device_ids=[0, 2, 1, 3]>, [{\"x\"}, {\"y\"}]>",
		"<mesh<[]>, [{}, {?}]>",
	};
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		sharding_edit e, back;
		strbuf b;
		strbuf_init(&b);
		accept(texts[i], &e);
		sharding_id id = sharding_intern(t, &e);
		ck_assert_uint_ne(id, SHARDING_NONE);
		sharding_print(t, id, &b);
		ck_assert_str_eq(b.p, texts[i]);
		sharding_to_edit(t, id, &back);
		ck_assert_uint_eq(sharding_intern(t, &back), id);
		strbuf_release(&b);
	}
}
END_TEST

START_TEST(other_spellings)
{
	static const char *const pairs[][2] = {
		{"< @mesh , [ { \"a\" , ? } , {} ] >", "<@mesh, [{\"a\", ?}, {}]>"},
		{"<@\"mesh\", [{}]>", "<@mesh, [{}]>"},
		{"<@mesh, [{}], unreduced={\"c\"}, replicated={\"a\"}>",
			"<@mesh, [{}], replicated={\"a\"}, unreduced={\"c\"}>"},
		{"<@mesh, [{\"a\"} p1]>", "<@mesh, [{\"a\"}p1]>"},
		{"<mesh<[\"a\"=2, \"b\"=4], device_ids=[0,1,2,3,4,5,6,7]>, [{\"a\"}]>",
			"<mesh<[\"a\"=2, \"b\"=4]>, [{\"a\"}]>"},
	};
	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		sharding_edit x, y;
		accept(pairs[i][0], &x);
		accept(pairs[i][1], &y);
		ck_assert_uint_eq(sharding_intern(t, &x), sharding_intern(t, &y));
	}
}
END_TEST

START_TEST(different_shardings_have_different_ids)
{
	static const char *const texts[] = {
		"<@mesh, []>",
		"<@mesh, [{}]>",
		"<@mesh, [{?}]>",
		"<@mesh, [{?}p0]>",
		"<@mesh, [{?}p1]>",
		"<@mesh, [{}, {}]>",
		"<@mesh, [{\"a\"}, {}]>",
		"<@mesh, [{}, {\"a\"}]>",
		"<@mesh, [{\"a\", \"b\"}, {}]>",
		"<@mesh, [{\"b\", \"a\"}, {}]>",
		"<@mesh, [{\"a\"}, {\"b\"}]>",
		"<@mesh, [{}], replicated={\"a\"}>",
		"<@mesh, [{}], unreduced={\"a\"}>",
		"<mesh<[\"a\"=2, \"b\"=4, \"c\"=12]>, [{}]>",
	};
	sharding_id ids[COUNT_OF(texts)];
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		sharding_edit e;
		accept(texts[i], &e);
		ids[i] = sharding_intern(t, &e);
		for (size_t k = 0; k < i; k++)
			ck_assert_msg(ids[k] != ids[i], "%s and %s", texts[k], texts[i]);
	}
	/* many more, found again after growth */
	sharding_edit e;
	sharding_edit_init(&e, m, 1, false);
	for (int16_t p = 0; p < 3000; p++) {
		e.dims[0].priority = p;
		sharding_id id = sharding_intern(t, &e);
		ck_assert_uint_eq(sharding_intern(t, &e), id);
	}
	e.dims[0].priority = -1;
	ck_assert_uint_eq(sharding_intern(t, &e), ids[2]);
}
END_TEST

START_TEST(bad_text)
{
	refuse("", ST_ERR_PARSE, 1, "'<'");
	refuse("<", ST_ERR_PARSE, 2, "expected a mesh");
	refuse("<mesh, []>", ST_ERR_PARSE, 6, "'<'");
	refuse("<@nope, []>", ST_ERR_INVALID, 2, "unknown mesh: @nope");
	refuse("<@mesh>", ST_ERR_PARSE, 7, "','");
	refuse("<@mesh, [>", ST_ERR_PARSE, 10, "'{'");
	refuse("<@mesh, [{]>", ST_ERR_PARSE, 11, "axis name in quotes");
	refuse("<@mesh, [{, ?}]>", ST_ERR_PARSE, 11, "axis name in quotes");
	refuse("<@mesh, [{\"a\" \"b\"}]>", ST_ERR_PARSE, 15, "'}'");
	refuse("<@mesh, [{?, \"a\"}]>", ST_ERR_PARSE, 12, "'}'");
	refuse("<@mesh, [{\"zz\"}]>", ST_ERR_INVALID, 11, "unknown axis name: \"zz\"");
	refuse("<@mesh, [{\"a\"}p]>", ST_ERR_PARSE, 15, "priority");
	refuse("<@mesh, [{\"a\"}p01]>", ST_ERR_PARSE, 15, "leading zeros");
	refuse("<@mesh, [{\"a\"}p99999]>", ST_ERR_LIMIT, 15, "99999");
	refuse("<@mesh, [{}], replicated={?}>", ST_ERR_PARSE, 27, "axis name in quotes");
	refuse("<@mesh, [{}], replicated={\"a\"}, replicated={\"b\"}>", ST_ERR_PARSE, 33, "once each");
	refuse("<@mesh, [{}], replicated={}>", ST_ERR_PARSE, 27, "axis name in quotes");
	refuse("<@mesh, [{}], unreduced=max{\"a\"}>", ST_ERR_PARSE, 25, "'{'");
	refuse("<@mesh, [{}], unreduced{\"a\"}>", ST_ERR_PARSE, 24, "'='");
	refuse("<@mesh, [{}]> ]", ST_ERR_PARSE, 15, "end");
	refuse("<@mesh, [{\"c\":2}]>", ST_ERR_PARSE, 15, "'('");
	refuse("<@mesh, [{\"c\":(0)2}]>", ST_ERR_INVALID, 11, "pre-size");
	refuse("<@mesh, [{\"c\":(2)1}]>", ST_ERR_INVALID, 11, "greater than 1");
	refuse("<@mesh, [{\"c\":(2)4}]>", ST_ERR_INVALID, 11, "doesn't divide");
	refuse("<@mesh, [{\"c\":(9223372036854775807)9}]>", ST_ERR_INVALID, 11, "doesn't divide");
	refuse("<@mesh, [{\"c\":(1)12}]>", ST_ERR_INVALID, 11, "equal to the full axis");
	strbuf b;
	strbuf_init(&b);
	strbuf_puts(&b, "<@mesh, [{}");
	for (int i = 0; i < MAX_RANK; i++)
		strbuf_puts(&b, ", {}");
	strbuf_puts(&b, "]>");
	refuse(b.p, ST_ERR_LIMIT, 9 + 2 + 4 * (MAX_RANK - 1) + 2, "24");
	strbuf_release(&b);
}
END_TEST

/* Rules of the whole sharding, with the place of the reference at fault. */
START_TEST(rules)
{
	refuse("<@mesh, [{\"a\"}, {\"a\"}]>", ST_ERR_INVALID, 18, "duplicate axis ref: \"a\"");
	refuse(
		"<@mesh, [{\"a\"}], replicated={\"a\"}>", ST_ERR_INVALID, 30, "duplicate axis ref: \"a\"");
	refuse("<@mesh, [{\"b\"}], unreduced={\"b\"}, replicated={\"a\"}>", ST_ERR_INVALID, 29,
		"duplicate axis ref: \"b\"");
	refuse("<@mesh, [{\"c\"}, {\"c\":(1)2}]>", ST_ERR_INVALID, 18, "both sub-axis and full-axis");
	refuse("<@mesh, [{\"c\":(1)4}, {\"c\":(2)6}]>", ST_ERR_INVALID, 23,
		"overlapping sub-axes: \"c\":(1)4, \"c\":(2)6");
	refuse("<@mesh, [{\"c\":(1)2, \"c\":(2)2}]>", ST_ERR_INVALID, 21, "can be merged");
	refuse("<@mesh, [{\"c\":(1)2}, {\"c\":(3)2}]>", ST_ERR_INVALID, 23, "cannot both divide");
	refuse("<@mesh, [{}], replicated={\"b\", \"a\"}>", ST_ERR_INVALID, 32,
		"replicated axes are not ordered");
	refuse("<@mesh, [{}], unreduced={\"c\":(2)2, \"c\":(1)2}>", ST_ERR_INVALID, 36,
		"unreduced axes are not ordered");
	refuse("<@mesh, [{}p1]>", ST_ERR_INVALID, 1, "dim 0 is empty and closed but has a priority");
	refuse("<@maximal, [{}]>", ST_ERR_INVALID, 1, "maximal");
	sharding_edit e;
	accept("<@mesh, [{\"c\":(1)2}, {\"c\":(2)2}]>", &e); /* adjacent parts in different dims */
	accept("<@mesh, [{\"c\":(2)2, \"c\":(1)2}]>", &e);   /* and in the order that does not merge */
}
END_TEST

static bool check(const char *text, const ir_type *ty, char *msg)
{
	sharding_edit e;
	accept(text, &e);
	return sharding_check(t, &e, ty, msg, 256);
}

START_TEST(rules_with_types)
{
	char msg[256];
	ir_type vector = tensor(ELEM_F32, 1, (int64_t[]){7}),
			none = tensor(ELEM_F32, 1, (int64_t[]){0});
	ir_type token = {.kind = TYPE_TOKEN}, tuple = {.kind = TYPE_TUPLE, .n_parts = 2};
	ir_type unranked = {.kind = TYPE_OTHER, .text = STR("tensor<*xf32>")};
	ck_assert(check("<@mesh, [{\"b\"}]>", &vector, msg)); /* 7 is not divisible by 4, and legal */
	ck_assert(check("<@mesh, [{\"b\"}]>", &none, msg));
	ck_assert(!check("<@mesh, [{}, {}]>", &vector, msg));
	ck_assert_str_eq(msg, "sharding doesn't match tensor rank: 2 != 1");
	ck_assert(check("<@maximal, []>", &vector, msg));
	ck_assert(check("<@mesh, []>", &token, msg));
	ck_assert(!check("<@mesh, [], replicated={\"a\"}>", &token, msg));
	ck_assert(!check("<@mesh, []>", &tuple, msg));
	ck_assert(!check("<@mesh, []>", &unranked, msg));
	ck_assert_ptr_nonnull(strstr(msg, "ranked"));
	sharding_edit e;
	sharding_edit_init(&e, m, 1, false);
	e.dims[0].axes = (axes_buf){{axis_make(9, 1, 2)}, 1};
	ck_assert(!sharding_check(t, &e, &vector, msg, sizeof msg));
	ck_assert_ptr_nonnull(strstr(msg, "unknown axis"));
	e.dims[0].axes = (axes_buf){{axis_make(2, 2, 5)}, 1};
	ck_assert(!sharding_check(t, &e, &vector, msg, sizeof msg));
	ck_assert_ptr_nonnull(strstr(msg, "doesn't divide"));
	sharding_edit_init(&e, ID_NONE, 1, false);
	ck_assert(!sharding_check(t, &e, &vector, msg, sizeof msg));
	ck_assert_ptr_nonnull(strstr(msg, "needs a mesh"));
}
END_TEST

START_TEST(local_sizes)
{
	sharding_edit e;
	accept("<@mesh, [{\"b\", \"a\"}, {\"c\":(2)3}, {}]>", &e);
	sharding_id id = sharding_intern(t, &e);
	const sharding *s = sharding_get(t, id);
	ck_assert_int_eq(sharding_dim_parts(s, 0), 8);
	ck_assert_int_eq(sharding_dim_parts(s, 1), 3);
	ck_assert_int_eq(sharding_dim_parts(s, 2), 1);
	ir_type a = tensor(ELEM_F32, 3, (int64_t[]){16, 9, 5}),
			b = tensor(ELEM_BF16, 3, (int64_t[]){17, 10, 5});
	ir_type c = tensor(ELEM_F32, 3, (int64_t[]){0, 10, 5}),
			pred = tensor(ELEM_I1, 3, (int64_t[]){16, 9, 5});
	ir_type packed = tensor(ELEM_I4, 3, (int64_t[]){8, 3, 5}),
			huge = tensor(ELEM_F64, 3, (int64_t[]){INT64_MAX, INT64_MAX, 8});
	ir_type scalar = tensor(ELEM_F32, 0, NULL), token = {.kind = TYPE_TOKEN};
	ck_assert_int_eq(sharding_local_elements(t, id, &a), 2 * 3 * 5);
	ck_assert_int_eq(sharding_local_bytes(t, id, &a), 2 * 3 * 5 * 4);
	ck_assert_int_eq(sharding_local_bytes(t, SHARDING_NONE, &a), 16 * 9 * 5 * 4);
	ck_assert_int_eq(sharding_local_bytes(t, id, &b), 3 * 4 * 5 * 2);
	ck_assert_int_eq(sharding_local_bytes(t, id, &c), 0);
	ck_assert_int_eq(sharding_local_bytes(t, id, &pred), 2 * 3 * 5);
	ck_assert_int_eq(sharding_local_bytes(t, id, &packed), 3); /* 5 of 4 bits */
	ck_assert_int_eq(sharding_local_bytes(t, id, &huge), INT64_MAX);
	ck_assert_int_eq(sharding_local_bytes(t, SHARDING_NONE, &scalar), 4);
	ck_assert_int_eq(sharding_local_bytes(t, SHARDING_NONE, &token), 0);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("sharding");
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, text_and_back);
	tcase_add_test(c, other_spellings);
	tcase_add_test(c, different_shardings_have_different_ids);
	tcase_add_test(c, bad_text);
	tcase_add_test(c, rules);
	tcase_add_test(c, rules_with_types);
	tcase_add_test(c, local_sizes);
	return run_suite(c, "sharding");
}
