#include "layout/layout.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

static sharding_table *t;
static void setup(void) { t = sharding_table_new(); }
static void teardown(void) { sharding_table_unref(t); }

static mesh_id mesh_of(const char *text)
{
	mesh_id m = ID_NONE;
	diag d = {0};
	ck_assert_msg((text[0] == '<' ? mesh_parse(t, str_of(text), STR("mesh"), &m, &d)
								  : mesh_parse_flag(t, text, &m, &d)) == ST_OK,
		"%s: %s", text, d.msg);
	return m;
}

static void make(layout *l, const char *mesh, const char *json, const int64_t *shape, uint32_t rank)
{
	sharding_edit e;
	diag d = {0};
	ck_assert_msg(sharding_from_json_text(t, mesh_of(mesh), str_of(json), rank, &e, &d) == ST_OK,
		"%s: %s", json, d.msg);
	ck_assert_msg(layout_init(l, t, &e, shape, rank, &d) == ST_OK, "%s", d.msg);
}

/* "number begin:end,begin:end;" per device, in the order of devices */
static void expect(
	const char *mesh, const char *json, const int64_t *shape, uint32_t rank, const char *want)
{
	layout l;
	strbuf got;
	strbuf_init(&got);
	make(&l, mesh, json, shape, rank);
	for (int64_t i = 0; i < l.n_devices; i++) {
		index_range r[MAX_RANK];
		layout_ranges(&l, layout_position_of(&l, i), r);
		strbuf_printf(&got, "%lld", (long long)layout_slice_number(&l, layout_position_of(&l, i)));
		for (uint32_t d = 0; d < rank; d++)
			strbuf_printf(
				&got, "%c%lld:%lld", d ? ',' : ' ', (long long)r[d].begin, (long long)r[d].end);
		strbuf_putc(&got, ';');
	}
	ck_assert_str_eq(got.p, want);
	strbuf_release(&got);
	layout_release(&l);
}

#define SHAPE(...) (const int64_t[]){__VA_ARGS__}, COUNT_OF(((const int64_t[]){__VA_ARGS__}))

/* The visual examples of MindSpore's layouts, each rank's slice number in Z order and ranges. */
START_TEST(mindspore_examples)
{
	expect("axis_0=2,axis_1=4", "[[\"axis_0\"],[\"axis_1\"]]", SHAPE(2, 4),
		"0 0:1,0:1;1 0:1,1:2;2 0:1,2:3;3 0:1,3:4;4 1:2,0:1;5 1:2,1:2;6 1:2,2:3;7 1:2,3:4;");
	expect("axis_0=2,axis_1=2,axis_2=2", "[[\"axis_2\"],[\"axis_0\"]]", SHAPE(4, 4),
		"0 0:2,0:2;2 2:4,0:2;0 0:2,0:2;2 2:4,0:2;1 0:2,2:4;3 2:4,2:4;1 0:2,2:4;3 2:4,2:4;");
	expect("axis_0=2,axis_1=4", "[[\"axis_1\"],[\"axis_0\"]]", SHAPE(4, 4),
		"0 0:1,0:2;2 1:2,0:2;4 2:3,0:2;6 3:4,0:2;1 0:1,2:4;3 1:2,2:4;5 2:3,2:4;7 3:4,2:4;");
	expect("axis_0=4,axis_1=2", "[[\"axis_1\"],[]]", SHAPE(4, 4),
		"0 0:2,0:4;1 2:4,0:4;0 0:2,0:4;1 2:4,0:4;0 0:2,0:4;1 2:4,0:4;0 0:2,0:4;1 2:4,0:4;");
	expect("axis_0=2,axis_1=1,axis_2=4", "[[\"axis_0\"],[\"axis_2\"]]", SHAPE(4, 4),
		"0 0:2,0:1;1 0:2,1:2;2 0:2,2:3;3 0:2,3:4;4 2:4,0:1;5 2:4,1:2;6 2:4,2:3;7 2:4,3:4;");
	expect("axis_0=2,axis_1=2,axis_2=2", "[[],[\"axis_1\"]]", SHAPE(4, 4),
		"0 0:4,0:2;0 0:4,0:2;1 0:4,2:4;1 0:4,2:4;0 0:4,0:2;0 0:4,0:2;1 0:4,2:4;1 0:4,2:4;");
	expect("axis_0=2,axis_1=2,axis_2=2", "[[\"axis_1\"],[\"axis_0\"],[\"axis_2\"]]", SHAPE(2, 2, 4),
		"0 0:1,0:1,0:2;1 0:1,0:1,2:4;4 1:2,0:1,0:2;5 1:2,0:1,2:4;2 0:1,1:2,0:2;3 0:1,1:2,2:4;6 "
		"1:2,1:2,0:2;7 1:2,1:2,2:4;");
	expect("axis_0=2,axis_1=2,axis_2=2", "[[\"axis_1\"],[\"axis_2\"],[\"axis_0\"]]", SHAPE(2, 2, 4),
		"0 0:1,0:1,0:2;2 0:1,1:2,0:2;4 1:2,0:1,0:2;6 1:2,1:2,0:2;1 0:1,0:1,2:4;3 0:1,1:2,2:4;5 "
		"1:2,0:1,2:4;7 1:2,1:2,2:4;");
	expect("axis_0=2,axis_1=2,axis_2=2", "[[],[\"axis_0\"],[]]", SHAPE(2, 2, 4),
		"0 0:2,0:1,0:4;0 0:2,0:1,0:4;0 0:2,0:1,0:4;0 0:2,0:1,0:4;1 0:2,1:2,0:4;1 0:2,1:2,0:4;1 "
		"0:2,1:2,0:4;1 0:2,1:2,0:4;");
	expect("axis_0=2,axis_1=2,axis_2=2,axis_3=2", "[[],[\"axis_2\"],[\"axis_1\"],[]]",
		SHAPE(2, 2, 2, 2),
		"0 0:2,0:1,0:1,0:2;0 0:2,0:1,0:1,0:2;2 0:2,1:2,0:1,0:2;2 0:2,1:2,0:1,0:2;"
		"1 0:2,0:1,1:2,0:2;1 0:2,0:1,1:2,0:2;3 0:2,1:2,1:2,0:2;3 0:2,1:2,1:2,0:2;"
		"0 0:2,0:1,0:1,0:2;0 0:2,0:1,0:1,0:2;2 0:2,1:2,0:1,0:2;2 0:2,1:2,0:1,0:2;"
		"1 0:2,0:1,1:2,0:2;1 0:2,0:1,1:2,0:2;3 0:2,1:2,1:2,0:2;3 0:2,1:2,1:2,0:2;");
}
END_TEST

START_TEST(sizes_that_do_not_divide)
{
	expect("a=4", "[[\"a\"]]", SHAPE(7), "0 0:2;1 2:4;2 4:6;3 6:7;");
	expect(
		"a=4", "[[\"a\"]]", SHAPE(5), "0 0:2;1 2:4;2 4:5;3 5:5;"); /* the last holds padding only */
	expect("a=4", "[[\"a\"]]", SHAPE(1), "0 0:1;1 1:1;2 1:1;3 1:1;");
	expect("a=4", "[[\"a\"]]", SHAPE(0), "0 0:0;1 0:0;2 0:0;3 0:0;");
	expect("a=4", "[[\"a\"]]", SHAPE(INT64_MAX),
		"0 0:2305843009213693952;1 2305843009213693952:4611686018427387904;2 "
		"4611686018427387904:6917529027641081856;"
		"3 6917529027641081856:9223372036854775807;");
	expect("a=2,b=2", "[[\"b\",\"a\"]]", SHAPE(10), "0 0:3;2 6:9;1 3:6;3 9:10;");
}
END_TEST

START_TEST(sub_axes)
{
	/* 8 = 2 x 2 x 2: the middle digit of the device number */
	expect("a=8", "[[\"a:(2)2\"]]", SHAPE(4), "0 0:2;0 0:2;1 2:4;1 2:4;0 0:2;0 0:2;1 2:4;1 2:4;");
	/* 6 = 2 x 3: minor part first */
	expect("a=6", "[[\"a:(2)3\",\"a:(1)2\"]]", SHAPE(6), "0 0:1;2 2:3;4 4:5;1 1:2;3 3:4;5 5:6;");
	expect("a=6", "[[\"a:(1)2\"],[\"a:(2)3\"]]", SHAPE(2, 3),
		"0 0:1,0:1;1 0:1,1:2;2 0:1,2:3;3 1:2,0:1;4 1:2,1:2;5 1:2,2:3;");
}
END_TEST

START_TEST(device_order)
{
	layout l;
	expect("<[\"a\"=2, \"b\"=2], device_ids=[0, 2, 3, 1]>", "[[\"a\",\"b\"]]", SHAPE(4),
		"0 0:1;3 3:4;1 1:2;2 2:3;");
	make(&l, "<[\"a\"=2, \"b\"=2], device_ids=[0, 2, 3, 1]>", "[[\"a\",\"b\"]]", SHAPE(4));
	for (int64_t p = 0; p < 4; p++)
		ck_assert_int_eq(layout_position_of(&l, layout_device_at(&l, p)), p);
	ck_assert_int_eq(layout_device_at(&l, 2), 3);
	layout_release(&l);
}
END_TEST

START_TEST(a_single_device_and_scalars)
{
	sharding_edit e;
	layout l;
	diag d = {0};
	index_range r[1];
	sharding_edit_init(&e, mesh_of("<[], device_ids=[3]>"), 0, true);
	ck_assert_int_eq(layout_init(&l, t, &e, SHAPE(9), &d), ST_OK);
	ck_assert_int_eq(l.n_devices, 1);
	ck_assert_int_eq(layout_device_at(&l, layout_position_of(&l, 0)), 3);
	layout_ranges(&l, 0, r);
	ck_assert(r[0].begin == 0 && r[0].end == 9);
	layout_release(&l);
	expect("a=2", "[]", NULL, 0, "0;0;");
}
END_TEST

START_TEST(every_device_of_a_large_mesh)
{
	layout l;
	make(&l, "a=1000,b=1000", "[[\"b\"],[\"a:(10)100\"]]", SHAPE(1000, 100));
	ck_assert_int_eq(l.n_devices, 1000000);
	int64_t elements = 0;
	for (int64_t p = 0; p < l.n_devices; p++) {
		index_range r[2];
		layout_ranges(&l, p, r);
		elements += (r[0].end - r[0].begin) * (r[1].end - r[1].begin);
	}
	ck_assert_int_eq(elements, 1000000); /* one element each, 10 copies of 100000 */
	index_range r[2];
	layout_ranges(&l, 543 * 1000 + 21, r);
	ck_assert(r[0].begin == 21 && r[0].end == 22 && r[1].begin == 43 && r[1].end == 44);
	layout_release(&l);
}
END_TEST

START_TEST(refusals)
{
	sharding_edit e;
	layout l;
	diag d = {0};
	mesh_id m = mesh_of("a=2");
	sharding_edit_init(&e, m, 2, true);
	ck_assert_int_eq(layout_init(&l, t, &e, SHAPE(4), &d), ST_ERR_INVALID);
	ck_assert_str_eq(d.msg, "the sharding has 2 dimensions, the tensor has 1");
	diag_clear(&d);
	ck_assert_int_eq(layout_init(&l, t, &e, SHAPE(4, -1), &d), ST_ERR_INVALID);
	diag_clear(&d);
	e.dims[0].axes = e.dims[1].axes = (axes_buf){{axis_make(0, 1, 2)}, 1};
	ck_assert_int_eq(layout_init(&l, t, &e, SHAPE(4, 4), &d), ST_ERR_INVALID);
	ck_assert_ptr_nonnull(strstr(d.msg, "duplicate axis ref"));
}
END_TEST

START_TEST(tables_and_json)
{
	layout l;
	strbuf b;
	strbuf_init(&b);
	make(&l, "data=2,model=2", "[[\"data\"],[\"model\"]]", SHAPE(8, 16));
	layout_json(&l, 0, 2, &b);
	layout_json(&l, 2, 100, &b);
	ck_assert_str_eq(b.p,
		"\n{\"device\":0,\"slice\":0,\"ranges\":[[0,4],[0,8]]},\n{\"device\":1,\"slice\":1,"
		"\"ranges\":[[0,4],[8,16]]},"
		"\n{\"device\":2,\"slice\":2,\"ranges\":[[4,8],[0,8]]},\n{\"device\":3,\"slice\":3,"
		"\"ranges\":[[4,8],[8,16]]}");
	strbuf_clear(&b);
	layout_table(&l, 0, 1, &b);
	layout_table(&l, 3, 1, &b);
	ck_assert_str_eq(b.p,
		"device    position  shard  slice  ranges\n"
		"0         (0,0)     (0,0)  0      [0:4, 0:8]\n"
		"3         (1,1)     (1,1)  3      [4:8, 8:16]\n");
	layout_release(&l);
	strbuf_release(&b);
}
END_TEST

static uint32_t count(const char *text, const char *word)
{
	uint32_t n = 0;
	for (const char *p = text; (p = strstr(p, word)); p++)
		n++;
	return n;
}

/* No two slices have one colour. */
START_TEST(colours)
{
	layout l;
	strbuf b;
	diag d = {0};
	strbuf_init(&b);
	make(&l, "a=64,b=64", "[[\"a\"],[\"b\"]]", SHAPE(64, 64));
	ck_assert_int_eq(layout_svg(&l, &b, &d), ST_OK);
	static uint8_t seen[1 << 21];
	uint32_t n = 0;
	for (const char *p = b.p; (p = strstr(p, "fill=\"#")); p += 7, n++) {
		unsigned long colour = strtoul(p + 7, NULL, 16);
		ck_assert_msg(!(seen[colour >> 3] >> (colour & 7) & 1), "%06lx comes twice", colour);
		seen[colour >> 3] |= (uint8_t)(1 << (colour & 7));
	}
	ck_assert_uint_eq(n, 4096);
	layout_release(&l);
	strbuf_release(&b);
}
END_TEST

static void picture(const char *mesh, const char *json, const int64_t *shape, uint32_t rank,
	uint32_t blocks, const char *words)
{
	layout l;
	strbuf b;
	diag d = {0};
	strbuf_init(&b);
	make(&l, mesh, json, shape, rank);
	ck_assert_int_eq(layout_svg(&l, &b, &d), ST_OK);
	ck_assert_uint_eq(count(b.p, "<rect"), blocks + 1);
	ck_assert_msg(strstr(b.p, words), "%s\nhas no '%s'", b.p, words);
	layout_release(&l);
	strbuf_release(&b);
}

START_TEST(pictures)
{
	picture("a=2,b=4", "[[\"a\"],[\"b\"]]", SHAPE(8, 16), 8, ">4:8<");
	picture("a=2,b=4", "[[],[\"b\"]]", SHAPE(8, 16), 4, ">devices 2, 6<");
	picture("a=16", "[[]]", SHAPE(8), 1, ">devices 0-15<");
	picture("a=2", "[]", NULL, 0, 1, "scalar");
	picture("a=2,b=2,c=2", "[[\"a\"],[],[\"b\"],[\"c\"]]", SHAPE(2, 3, 4, 4), 8, ">dim 3 (c) 2:4<");
	picture("data=2,model=4", "[[\"data\"],[\"model\"]]", SHAPE(8, 16), 8,
		">dim 0 (data) downwards, dim 1 (model) to the right<");
	picture("a=8,b=16", "[[\"b\"],[]]", SHAPE(16, 16), 16, ">devices 3, 19, .., 115<");
	picture("<[\"a\"=2, \"b\"=9], device_ids=[0, 2, 4, 7, 9, 11, 14, 15, 17, 1, 3, 5, 6, 8, 10, "
			"12, 13, 16]>",
		"[[\"a\"]]", SHAPE(4), 2, ".. (9 devices)<");
	layout l;
	strbuf b;
	diag d = {0};
	strbuf_init(&b);
	make(&l, "a=1000,b=1000", "[[\"a\"],[\"b\"]]", SHAPE(1000, 1000));
	ck_assert_int_eq(layout_svg(&l, &b, &d), ST_ERR_LIMIT);
	layout_release(&l);
	strbuf_release(&b);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("slices");
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, mindspore_examples);
	tcase_add_test(c, sizes_that_do_not_divide);
	tcase_add_test(c, sub_axes);
	tcase_add_test(c, device_order);
	tcase_add_test(c, a_single_device_and_scalars);
	tcase_add_test(c, every_device_of_a_large_mesh);
	tcase_add_test(c, refusals);
	tcase_add_test(c, tables_and_json);
	tcase_add_test(c, pictures);
	tcase_add_test(c, colours);
	return run_suite(c, "slices");
}
