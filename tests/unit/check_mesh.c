#include "ir/ir.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

static sharding_table *t;
static void setup(void) { t = sharding_table_new(); }
static void teardown(void) { sharding_table_unref(t); }

static void refuse_flag(const char *text, status code, uint32_t col, const char *words)
{
	diag d = {0};
	mesh_id m = 77;
	ck_assert_msg(mesh_parse_flag(t, text, &m, &d) == code, "%s: %s", text, d.msg);
	ck_assert_int_eq(d.code, code);
	ck_assert_msg(strstr(d.msg, words), "%s: '%s' does not say '%s'", text, d.msg, words);
	ck_assert_msg(d.line == 1 && d.col == col, "%s: at %u:%u", text, d.line, d.col);
	ck_assert_uint_eq(m, 77);
}

static void refuse_text(const char *text, status code, const char *words)
{
	diag d = {0};
	mesh_id m = 77;
	ck_assert_msg(mesh_parse(t, str_of(text), STR("m"), &m, &d) == code, "%s: %s", text, d.msg);
	ck_assert_msg(strstr(d.msg, words), "%s: '%s' does not say '%s'", text, d.msg, words);
	ck_assert_uint_eq(m, 77);
}

static mesh_id read(const char *text, const char *name)
{
	diag d = {0};
	mesh_id m = ID_NONE;
	ck_assert_msg(
		mesh_parse(t, str_of(text), str_of(name), &m, &d) == ST_OK, "%s: %s", text, d.msg);
	return m;
}

START_TEST(flags)
{
	mesh_id m;
	diag d = {0};
	ck_assert_int_eq(mesh_parse_flag(t, "data=2,model=4", &m, &d), ST_OK);
	const device_mesh *x = &t->meshes.p[m];
	ck_assert_uint_eq(x->n_axes, 2);
	ck_assert_int_eq(x->n_devices, 8);
	ck_assert_int_eq(x->axis_sizes[1], 4);
	ck_assert(str_is(strtab_get(&t->names, x->axis_names[0]), "data"));
	ck_assert(str_is(strtab_get(&t->names, x->name), "mesh"));
	ck_assert_uint_eq(mesh_find(t, STR("mesh")), m);
	ck_assert_uint_eq(mesh_axis_find(t, m, STR("model")), 1);
	ck_assert_uint_eq(mesh_axis_find(t, m, STR("mesh")), ID_NONE);
	ck_assert_uint_eq(mesh_axis_find(t, m, STR("never seen")), ID_NONE);
	ck_assert_uint_eq(mesh_full_axis(t, m, 1), axis_make(1, 1, 4));
	mesh_id again;
	ck_assert_int_eq(mesh_parse_flag(t, " data = 2 , model=4 ", &again, &d), ST_OK);
	ck_assert_uint_eq(m, again);
}
END_TEST

START_TEST(bad_flags)
{
	refuse_flag("", ST_ERR_PARSE, 1, "empty");
	refuse_flag("   ", ST_ERR_PARSE, 1, "empty");
	refuse_flag("data=", ST_ERR_PARSE, 6, "\"data\"");
	refuse_flag("data", ST_ERR_PARSE, 1, "axis=size");
	refuse_flag("=4", ST_ERR_PARSE, 1, "axis name");
	refuse_flag("data=2,", ST_ERR_PARSE, 8, "axis=size");
	refuse_flag("data=2,,model=2", ST_ERR_PARSE, 8, "axis=size");
	refuse_flag("data=-1", ST_ERR_PARSE, 6, "\"data\"");
	refuse_flag("data=0x2", ST_ERR_PARSE, 6, "\"data\"");
	refuse_flag("data=2,model=0", ST_ERR_INVALID, 8, "\"model\"");
	refuse_flag("data=2,data=4", ST_ERR_INVALID, 8, "duplicate axis name \"data\"");
	refuse_flag("data=16777217", ST_ERR_LIMIT, 1, "\"data\"");
	refuse_flag("data=4096,model=4096,stage=2", ST_ERR_LIMIT, 22, "\"stage\"");
	refuse_flag("data=9223372036854775807,b=9223372036854775807", ST_ERR_LIMIT, 1, "\"data\"");
	refuse_flag("data=99999999999999999999", ST_ERR_PARSE, 6, "\"data\"");
	refuse_flag("a\"b=2", ST_ERR_PARSE, 1, "axis name");
	strbuf many;
	strbuf_init(&many);
	for (int i = 0; i < 1000; i++)
		strbuf_printf(&many, "%sa%d=1", i ? "," : "", i);
	refuse_flag(many.p, ST_ERR_LIMIT, 10 * 5 + 22 * 6 + 1,
		"\"a32\""); /* behind 10 items "aN=1," and 22 "aNN=1," */
	strbuf_release(&many);
}
END_TEST

START_TEST(a_million_devices)
{
	mesh_id m;
	diag d = {0};
	ck_assert_int_eq(mesh_parse_flag(t, "a=1000,b=1000", &m, &d), ST_OK);
	ck_assert_int_eq(t->meshes.p[m].n_devices, 1000000);
	ck_assert_int_eq(mesh_parse_flag(t, "a=16777216", &m, &d), ST_OK);
}
END_TEST

START_TEST(text_and_back)
{
	static const char *const texts[] = {
		"<[]>",
		"<[\"a\"=2]>",
		"<[\"a\"=2, \"b\"=4]>",
		"<[], device_ids=[3]>",
		"<[\"a\"=2, \"b\"=2], device_ids=[0, 2, 1, 3]>",
		"<[\"x y\"=3, \"q\\22\"=1]>",
	};
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		strbuf b;
		strbuf_init(&b);
		mesh_print(t, read(texts[i], "m"), &b);
		ck_assert_str_eq(b.p, texts[i]);
		strbuf_release(&b);
	}
	ck_assert(t->meshes.p[read("<[], device_ids=[3]>", "m")].maximal);
	ck_assert(!t->meshes.p[read("<[]>", "m")].maximal);
	/* iota ids are as good as none */
	ck_assert_uint_eq(read("<[\"a\"=2, \"b\"=2], device_ids=[0, 1, 2, 3]>", "m"),
		read("< [ \"a\" = 2 ,\"b\"=2 ] >", "m"));
}
END_TEST

START_TEST(identity)
{
	mesh_id a = read("<[\"a\"=4]>", "m"), b = read("<[\"a\"=4]>", "n"),
			c = read("<[\"a\"=4], device_ids=[0, 2, 1, 3]>", "m");
	ck_assert_uint_eq(a, read("<[\"a\"=4]>", "m"));
	ck_assert_uint_ne(a, b);
	ck_assert(mesh_same_devices(t, a, b) && !mesh_same_devices(t, a, c));
	ck_assert(!mesh_same_devices(t, a, read("<[\"a\"=2]>", "m")) &&
		!mesh_same_devices(t, a, read("<[\"b\"=4]>", "m")));
	ck_assert_uint_eq(mesh_find(t, STR("n")), b);
	ck_assert_uint_eq(mesh_find(t, STR("absent")), ID_NONE);
	/* inline meshes have no name to be found by */
	read("<[\"a\"=2]>", "");
	ck_assert_uint_eq(mesh_find(t, STR("")), ID_NONE);
}
END_TEST

START_TEST(bad_text)
{
	refuse_text("", ST_ERR_PARSE, "'<'");
	refuse_text("<", ST_ERR_PARSE, "'['");
	refuse_text("<[\"a\"=2]", ST_ERR_PARSE, "'>'");
	refuse_text("<[\"a\"=2]> x", ST_ERR_PARSE, "end");
	refuse_text("<[\"a\"]>", ST_ERR_PARSE, "'='");
	refuse_text("<[a=2]>", ST_ERR_PARSE, "quotes");
	refuse_text("<[\"a=2]>", ST_ERR_PARSE, "closing quote");
	refuse_text("<[\"a\\", ST_ERR_PARSE, "closing quote");
	refuse_text("<[\"a\"=2, \"a\"=4]>", ST_ERR_INVALID, "duplicate axis name \"a\"");
	refuse_text("<[\"a\"=0]>", ST_ERR_INVALID, "\"a\"");
	refuse_text("<[\"a\"=2], device_ids=[0]>", ST_ERR_INVALID, "1 device ids for 2 devices");
	refuse_text("<[\"a\"=2], device_ids=[0, 0]>", ST_ERR_INVALID, "each once");
	refuse_text("<[\"a\"=2], device_ids=[0, 2]>", ST_ERR_INVALID, "each once");
	refuse_text("<[], device_ids=[0, 1]>", ST_ERR_INVALID, "without axes");
	refuse_text("<[\"a\"=2], devices=[0, 1]>", ST_ERR_PARSE, "device_ids");
	refuse_text("<[\"a\"=99999999]>", ST_ERR_LIMIT, "\"a\"");
}
END_TEST

START_TEST(references)
{
	sharding_table *same = sharding_table_ref(t);
	ck_assert_ptr_eq(same, t);
	mesh_id m = read("<[\"a\"=2]>", "m");
	sharding_table_unref(same);
	ck_assert_int_eq(t->meshes.p[m].n_devices, 2);
	sharding_table_unref(NULL);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("mesh");
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, flags);
	tcase_add_test(c, bad_flags);
	tcase_add_test(c, a_million_devices);
	tcase_add_test(c, text_and_back);
	tcase_add_test(c, identity);
	tcase_add_test(c, bad_text);
	tcase_add_test(c, references);
	return run_suite(c, "mesh");
}
