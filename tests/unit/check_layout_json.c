#include "layout/layout.h"
#include "tests/unit/run_suite.h"

#include <cjson/cJSON.h>
#include <check.h>
#include <stdlib.h>

static sharding_table *t;
static mesh_id m;
static void setup(void)
{
	diag d = {0};
	t = sharding_table_new();
	ck_assert_int_eq(mesh_parse_flag(t, "data=2,model=8,stage=3", &m, &d), ST_OK);
}
static void teardown(void) { sharding_table_unref(t); }

static void same(const char *json, const char *sdy, const char *back)
{
	sharding_edit e;
	diag d = {0};
	strbuf b;
	strbuf_init(&b);
	ck_assert_msg(sharding_from_json_text(t, m, str_of(json), ID_NONE, &e, &d) == ST_OK, "%s: %s",
		json, d.msg);
	sharding_print(t, sharding_intern(t, &e), &b);
	ck_assert_str_eq(b.p, sdy);
	cJSON *out = sharding_to_json(t, &e);
	char *text = cJSON_PrintUnformatted(out);
	ck_assert_str_eq(text, back);
	cJSON_free(text);
	cJSON_Delete(out);
	strbuf_release(&b);
}

static void refuse(const char *json, status code, const char *words)
{
	sharding_edit e;
	diag d = {0};
	ck_assert_msg(sharding_from_json_text(t, m, str_of(json), ID_NONE, &e, &d) == code, "%s: %s",
		json, d.msg);
	ck_assert_msg(strstr(d.msg, words), "%s: '%s' does not say '%s'", json, d.msg, words);
}

START_TEST(shardings)
{
	same("[]", "<@mesh, []>", "[]");
	same(" [[\"data\"], [\"model\",\"stage\"], []] ",
		"<@mesh, [{\"data\"}, {\"model\", \"stage\"}, {}]>",
		"[[\"data\"],[\"model\",\"stage\"],[]]");
	same("[[\"model:(2)4\"],[\"model:(1)2\"]]", "<@mesh, [{\"model\":(2)4}, {\"model\":(1)2}]>",
		"[[\"model:(2)4\"],[\"model:(1)2\"]]");
	same("[[\"model:(1)8\"]]", "<@mesh, [{\"model\"}]>", "[[\"model\"]]");
	same("{\"dims\":[[\"data\"],[]]}", "<@mesh, [{\"data\"}, {}]>", "[[\"data\"],[]]");
	same("{\"dims\":[[\"data\"],[]],\"open\":[false,true],\"priority\":[0,1],\"replicated\":["
		 "\"stage\"],\"unreduced\":[]}",
		"<@mesh, [{\"data\"}, {?}p1], replicated={\"stage\"}>",
		"{\"dims\":[[\"data\"],[]],\"open\":[false,true],\"priority\":[0,1],\"replicated\":["
		"\"stage\"],\"unreduced\":[]}");
	/* sorted; the priority of a dimension that is closed and empty is dropped */
	same("{\"dims\":[[]],\"priority\":[3],\"replicated\":[\"stage\",\"model\"],\"unreduced\":["
		 "\"data\"]}",
		"<@mesh, [{}], replicated={\"model\", \"stage\"}, unreduced={\"data\"}>",
		"{\"dims\":[[]],\"open\":[false],\"priority\":[0],\"replicated\":[\"model\",\"stage\"],"
		"\"unreduced\":[\"data\"]}");
}
END_TEST

START_TEST(bad_shardings)
{
	refuse("", ST_ERR_PARSE, "JSON");
	refuse("[[\"data\"]", ST_ERR_PARSE, "JSON");
	refuse("[[\"data\"]] x", ST_ERR_PARSE, "end");
	refuse("null", ST_ERR_INVALID, "list");
	refuse("[\"data\"]", ST_ERR_INVALID, "dims[0]");
	refuse("[[1]]", ST_ERR_INVALID, "dims[0]");
	refuse("[[\"nope\"]]", ST_ERR_INVALID, "unknown axis name: \"nope\"");
	refuse("[[\"nope:(1)2\"]]", ST_ERR_INVALID, "unknown axis name: \"nope\"");
	refuse("[[\"model:(2\"]]", ST_ERR_PARSE, "sub-axis");
	refuse("[[\"model:(2)\"]]", ST_ERR_PARSE, "sub-axis");
	refuse("[[\"model:(3)2\"]]", ST_ERR_INVALID, "divide");
	refuse("[[\"model:(9223372036854775807)2\"]]", ST_ERR_INVALID, "divide");
	refuse("[[\"data\"],[\"data\"]]", ST_ERR_INVALID, "duplicate axis ref");
	refuse("{\"open\":[]}", ST_ERR_INVALID, "dims");
	refuse("{\"dims\":[[]],\"opne\":[true]}", ST_ERR_INVALID, "\"opne\"");
	refuse("{\"dims\":[[]],\"open\":[]}", ST_ERR_INVALID, "\"open\"");
	refuse("{\"dims\":[[]],\"open\":[1]}", ST_ERR_INVALID, "open[0]");
	refuse("{\"dims\":[[]],\"priority\":[-1]}", ST_ERR_INVALID, "priority[0]");
	refuse("{\"dims\":[[]],\"priority\":[1.5]}", ST_ERR_INVALID, "priority[0]");
	refuse("{\"dims\":[[]],\"priority\":[1e300]}", ST_ERR_INVALID, "priority[0]");
	refuse("{\"dims\":[[]],\"replicated\":\"data\"}", ST_ERR_INVALID, "replicated");
	refuse("[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]",
		ST_ERR_LIMIT, "24");
	sharding_edit e;
	diag d = {0};
	ck_assert_int_eq(sharding_from_json_text(t, m, STR("[[],[]]"), 3, &e, &d), ST_ERR_INVALID);
	ck_assert_str_eq(d.msg, "the sharding has 2 dimensions, the tensor has 3");
	/* as many axes as one wants, refused before they fill anything */
	strbuf b;
	strbuf_init(&b);
	strbuf_puts(&b, "[[\"data\"");
	for (int i = 0; i < 10000; i++)
		strbuf_puts(&b, ",\"data\"");
	strbuf_puts(&b, "]]");
	refuse(b.p, ST_ERR_LIMIT, "64");
	/* deep nesting */
	strbuf_clear(&b);
	for (int i = 0; i < 100000; i++)
		strbuf_putc(&b, '[');
	refuse(b.p, ST_ERR_PARSE, "JSON");
	strbuf_release(&b);
}
END_TEST

START_TEST(meshes)
{
	static const char text[] = "{\"axes\":[{\"name\":\"x\",\"size\":2,\"link\":\"ici\"},{\"name\":"
							   "\"y\",\"size\":2}],\"device_order\":[0,2,1,3]}";
	mesh_spec s;
	diag d = {0};
	ck_assert_msg(mesh_from_text(t, text, &s, &d) == ST_OK, "%s", d.msg);
	const device_mesh *x = &t->meshes.p[s.mesh];
	ck_assert_uint_eq(x->n_axes, 2);
	ck_assert_int_eq(x->device_ids[1], 2);
	ck_assert(str_is(strtab_get(&t->names, s.links[0]), "ici"));
	ck_assert_uint_eq(s.links[1], 0);
	cJSON *out = mesh_to_json(t, &s);
	char *back = cJSON_PrintUnformatted(out);
	ck_assert_str_eq(back, text);
	cJSON_free(back);
	cJSON_Delete(out);

	ck_assert_int_eq(mesh_from_text(t, "data=2,model=8,stage=3", &s, &d), ST_OK);
	ck_assert_uint_eq(s.mesh, m);
	ck_assert_uint_eq(s.links[0] | s.links[1] | s.links[2], 0);
}
END_TEST

static void refuse_mesh(const char *text, status code, const char *words)
{
	mesh_spec s;
	diag d = {0};
	ck_assert_msg(mesh_from_text(t, text, &s, &d) == code, "%s: %s", text, d.msg);
	ck_assert_msg(strstr(d.msg, words), "%s: '%s' does not say '%s'", text, d.msg, words);
}

START_TEST(bad_meshes)
{
	refuse_mesh("", ST_ERR_PARSE, "empty");
	refuse_mesh("data=", ST_ERR_PARSE, "\"data\"");
	refuse_mesh("nowhere", ST_ERR_NOT_FOUND, "nowhere");
	refuse_mesh("nowhere/a=2.json", ST_ERR_NOT_FOUND, "nowhere");
	refuse_mesh("{", ST_ERR_PARSE, "JSON");
	refuse_mesh("{}", ST_ERR_INVALID, "axes");
	refuse_mesh("{\"axes\":[]}", ST_ERR_INVALID, "axis");
	refuse_mesh("{\"axes\":[3]}", ST_ERR_INVALID, "axes[0]");
	refuse_mesh("{\"axes\":[{\"size\":3}]}", ST_ERR_INVALID, "axes[0]");
	refuse_mesh("{\"axes\":[{\"name\":\"a\"}]}", ST_ERR_INVALID, "\"a\"");
	refuse_mesh("{\"axes\":[{\"name\":\"a\",\"size\":0}]}", ST_ERR_INVALID, "\"a\"");
	refuse_mesh("{\"axes\":[{\"name\":\"a\",\"size\":1.5}]}", ST_ERR_INVALID, "\"a\"");
	refuse_mesh("{\"axes\":[{\"name\":\"a\",\"size\":1e30}]}", ST_ERR_INVALID, "\"a\"");
	refuse_mesh("{\"axes\":[{\"name\":\"a\",\"size\":99999999}]}", ST_ERR_LIMIT, "\"a\"");
	refuse_mesh("{\"axes\":[{\"name\":\"a\\\"\",\"size\":2}]}", ST_ERR_INVALID, "quote");
	refuse_mesh("{\"axes\":[{\"name\":\"a\",\"size\":2,\"link\":4}]}", ST_ERR_INVALID, "link");
	refuse_mesh("{\"axes\":[{\"name\":\"a\",\"size\":2},{\"name\":\"a\",\"size\":2}]}",
		ST_ERR_INVALID, "duplicate axis name \"a\"");
	refuse_mesh("{\"axes\":[{\"name\":\"a\",\"size\":2}],\"device_order\":[0]}", ST_ERR_INVALID,
		"1 device ids");
	refuse_mesh("{\"axes\":[{\"name\":\"a\",\"size\":2}],\"device_order\":[0,0]}", ST_ERR_INVALID,
		"each once");
	refuse_mesh("{\"axes\":[{\"name\":\"a\",\"size\":2}],\"device_order\":[0,\"1\"]}",
		ST_ERR_INVALID, "device_order[1]");
	refuse_mesh("{\"axes\":[{\"name\":\"a\",\"size\":2}],\"device_order\":7}", ST_ERR_INVALID,
		"device_order");
	strbuf b;
	strbuf_init(&b);
	strbuf_puts(&b, "{\"axes\":[");
	for (int i = 0; i < 100; i++)
		strbuf_printf(&b, "%s{\"name\":\"a%d\",\"size\":1}", i ? "," : "", i);
	strbuf_puts(&b, "]}");
	refuse_mesh(b.p, ST_ERR_LIMIT, "\"a32\"");
	strbuf_release(&b);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("layout_json");
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, shardings);
	tcase_add_test(c, bad_shardings);
	tcase_add_test(c, meshes);
	tcase_add_test(c, bad_meshes);
	return run_suite(c, "layout_json");
}
