#include <check.h>
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "costmodel/costmodel.h"
#include "tests/unit/run_suite.h"

START_TEST(test_every_profile_parses)
{
	for (uint32_t i = 0; i < device_count(); i++) {
		device dev;
		diag d = {0};
		ck_assert_msg(
			device_find(device_name_at(i), &dev, &d) == ST_OK, "%s: %s", device_name_at(i), d.msg);
		ck_assert_str_eq(dev.name, device_name_at(i));
		ck_assert_int_gt(dev.usable_bytes, 0);
		ck_assert_int_le(dev.usable_bytes, dev.memory_bytes);
		ck_assert_int_gt(dev.peak_flops[ELEM_F32], 0);
		ck_assert_int_eq(strncmp(dev.version, "sha256:", 7), 0);
		/* the outermost level takes any mesh */
		ck_assert_int_eq(dev.links[dev.n_links - 1].size, 0);
	}
}
END_TEST

/* Every number of a built-in profile says where it is from. */
static void sourced(const cJSON *o, const char *profile)
{
	if (cJSON_IsObject(o) &&
		(cJSON_GetObjectItem(o, "value") || cJSON_GetObjectItem(o, "points"))) {
		const cJSON *s = cJSON_GetObjectItem(o, "source");
		ck_assert_msg(cJSON_IsString(s) && strlen(s->valuestring) > 2, "%s: %s has no source",
			profile, o->string ? o->string : "item");
		return;
	}
	ck_assert_msg(
		!cJSON_IsNumber(o), "%s: %s has no source", profile, o->string ? o->string : "item");
	for (const cJSON *c = o->child; c; c = c->next)
		sourced(c, profile);
}

START_TEST(test_every_number_has_a_source)
{
	for (uint32_t i = 0; i < device_count(); i++) {
		cJSON *o = cJSON_Parse(device_json_at(i));
		ck_assert_ptr_nonnull(o);
		sourced(o, device_name_at(i));
		cJSON_Delete(o);
	}
}
END_TEST

/* What the vendors' sheets say, in their units: dense rates (half of what a sheet says "with
 * sparsity"), memory in GB/s, links as the total over all links of a chip, both ways. */
START_TEST(test_sheets)
{
	static const struct {
		const char *name;
		int64_t bf16_tflops, eight_bit_tops, memory_gb_s, links, both_ways_gb_s;
		double memory_gb;
	} sheets[] = {
		{"tpu-v4", 275, 275, 1200, 6, 600, 34.36},
		{"tpu-v5e", 197, 393, 819, 4, 400, 17.18},
		{"tpu-v5p", 459, 918, 2765, 6, 1200, 102.0},
		{"tpu-v6e", 918, 1836, 1638, 4, 800, 34.36},
		{"a100-80g", 312, 624, 2039, 1, 600, 85.9},
		{"h100", 989, 1978, 3352, 1, 900, 85.9},
		{"h200", 989, 1978, 4800, 1, 900, 141},
		{"b200", 2250, 4500, 7672, 1, 1800, 180},
		{"mi300x", 1307, 2614, 5300, 7, 896, 192},
	};
	for (size_t i = 0; i < COUNT_OF(sheets); i++) {
		device dev;
		ck_assert_int_eq(device_find(sheets[i].name, &dev, NULL), ST_OK);
		ck_assert_msg(dev.peak_flops[ELEM_BF16] / 1000000000000 == sheets[i].bf16_tflops &&
				dev.peak_flops[ELEM_I8] / 1000000000000 == sheets[i].eight_bit_tops &&
				dev.memory_bytes_s / 1000000000 == sheets[i].memory_gb_s &&
				2 * sheets[i].links * dev.links[0].bandwidth_bytes_s / 1000000000 ==
					sheets[i].both_ways_gb_s,
			"%s", sheets[i].name);
		ck_assert_double_eq_tol((double)dev.memory_bytes / 1e9, sheets[i].memory_gb, 0.05);
	}
	device host;
	ck_assert_int_eq(device_find("cpu-host", &host, NULL), ST_OK);
	ck_assert_uint_eq(device_count(), COUNT_OF(sheets) + 1);
}
END_TEST

START_TEST(test_names)
{
	device a, b;
	diag d = {0};
	ck_assert_int_eq(device_find("a100", &a, &d), ST_OK);
	ck_assert_int_eq(device_find("a100-80g", &b, &d), ST_OK);
	ck_assert_str_eq(a.version, b.version);
	ck_assert_int_eq(device_find("tpu-v99", &a, &d), ST_ERR_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(d.msg, "tpu-v5e"));
	ck_assert_int_eq(device_find("tpu-v5e", &a, NULL), ST_OK);
	ck_assert_int_eq(a.target, TARGET_TPU);
	ck_assert_int_eq(a.tile_k, 128);
	ck_assert_int_eq(a.links[0].size, 256);
}
END_TEST

/* The v5e profile with one piece of text replaced. */
static status parse_changed(const char *from, const char *to, diag *d)
{
	device dev;
	strbuf text = {0};
	const char *json = NULL;
	for (uint32_t i = 0; i < device_count(); i++)
		if (!strcmp(device_name_at(i), "tpu-v5e"))
			json = device_json_at(i);
	const char *at = strstr(json, from);
	ck_assert_msg(at != NULL, "no %s in the profile", from);
	strbuf_add(&text, json, (size_t)(at - json));
	strbuf_puts(&text, to);
	strbuf_puts(&text, at + strlen(from));
	diag_clear(d);
	status s = device_parse(text.p, text.n, &dev, d);
	strbuf_release(&text);
	return s;
}

START_TEST(test_errors_name_the_path)
{
	static const struct {
		const char *from, *to, *message;
	} cases[] = {
		{"\"bandwidth_bytes_s\": {\"value\": 50000000000", "\"bandwidth_bytes_s\": {\"value\": -1",
			"links[0].bandwidth_bytes_s: expected a positive integer"},
		{"\"bandwidth_bytes_s\": {\"value\": 50000000000", "\"bandwidth_bytes_s\": {\"value\": 1.5",
			"links[0].bandwidth_bytes_s: expected a positive integer"},
		{"\"bandwidth_bytes_s\": {\"value\": 50000000000",
			"\"bandwidth_bytes_s\": {\"value\": \"50\"",
			"links[0].bandwidth_bytes_s: expected a positive integer"},
		{"\"bandwidth_bytes_s\": {\"value\": 50000000000",
			"\"bandwidth_bytes_s\": {\"value\": 1e300",
			"links[0].bandwidth_bytes_s: expected a positive integer"},
		{"\"latency_ns\"", "\"latency\"", "links[0].latency: unknown key"},
		{"\"kind\": \"ring\"", "\"kind\": \"circle\"",
			"links[0].kind: expected one of ring, line, switch, mesh, network"},
		{"\"kind\": \"ring\"", "\"kind\": \"switch\"",
			"links[0]: \"shape\", \"wrap_size\" and \"eight_in_ring\" belong to rings and lines"},
		{"\"wrap_size\"", "\"one_ring\": 1, \"wrap_size\"",
			"links[0]: a ring or line has a \"shape\", not a \"size\" or \"one_ring\""},
		{"\"shape\": {\"value\": [16, 16]", "\"shape\": {\"value\": [16, 2]",
			"links[0]: \"eight_in_ring\" belongs to two dims with room for 2 x 4 devices"},
		{"\"shape\": {\"value\": [16, 16]", "\"shape\": {\"value\": [16, 0]",
			"links[0].shape[1]: expected a positive integer"},
		{"\"bf16\":", "\"bf17\":", "peak_flops.bf17: unknown element type"},
		{"\"target\": \"tpu\"", "\"target\": \"npu\"", "target: expected one of tpu, gpu, cpu"},
		{"[10000000, 150000]", "[10000000, 2000000]",
			"convolution_efficiency[1]: expected an integer from 1 to 1000000"},
		{"[10000000, 150000]", "[1000, 150000]",
			"convolution_efficiency[1]: expected a size above the one before"},
		{"[10000000, 150000]", "[1000001, 150000]",
			"convolution_efficiency[1]: larger sizes would take less time than the point before"},
		{"\"usable_bytes\": {\"value\": 1", "\"usable_bytes\": {\"value\": 9",
			"usable_bytes: expected no more than memory_bytes"},
		{"\"op_launch_ns\"", "\"title\": \"again\", \"op_launch_ns\"", "title: key given twice"},
		{"shardwright.device/1", "shardwright.device/9",
			"format: expected one of shardwright.device/1"},
		{"[\"all_gather\", \"coll", "[\"all_gathers\", \"coll",
			"asynchronous[0]: expected a collective, as \"all_gather\""},
		{"{\"value\": [\"all_gather\", \"collective_permute\"]", "{\"value\": \"all_gather\"",
			"asynchronous: expected a list of collectives"},
		{"\"windowed_bytes_s\": {\"value\": 9", "\"windowed_bytes_s\": {\"value\": -9",
			"windowed_bytes_s: expected a positive integer"},
		{"\"name\": \"dcn\"", "\"name\": \"ici\"", "links[1]: two link classes have one name"},
	};
	diag d = {0};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		ck_assert_int_eq(parse_changed(cases[i].from, cases[i].to, &d), ST_ERR_INVALID);
		ck_assert_str_eq(d.msg, cases[i].message);
	}
	ck_assert_int_eq(
		parse_changed("\"name\": \"tpu-v5e\"", "\"name\" \"tpu-v5e\"", &d), ST_ERR_PARSE);
	ck_assert_uint_eq(d.line, 3);
	ck_assert_int_eq(
		parse_changed(" \"vector_flops\": {\"value\": 6000000000000, ", " \"vector_flops\": {", &d),
		ST_ERR_INVALID);
	ck_assert_str_eq(d.msg, "vector_flops: expected a \"value\"");
}
END_TEST

START_TEST(test_plain_numbers_and_garbage)
{
	diag d = {0};
	device dev;
	ck_assert_int_eq(
		parse_changed("\"op_launch_ns\": {\"value\": 1220, \"source\": \"libtpu 0.0.51 "
					  "cycle estimates: fusions of little work, 1.22 us on v5e, v5p "
					  "and v6e\"}",
			"\"op_launch_ns\": 700", &d),
		ST_OK);
	static const char *const bad[] = {"", "[]", "{}", "null", "{\"format\":1}", "[[[[[[",
		"{\"a\":{\"a\":{}}}", "{} x", "\"\\u0000\""};
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		diag_clear(&d);
		ck_assert_int_ne(device_parse(bad[i], strlen(bad[i]), &dev, &d), ST_OK);
		ck_assert_msg(d.msg[0], "no message for %s", bad[i]);
	}
	diag_clear(&d);
	ck_assert_int_eq(device_read_file("no/such/device.json", &dev, &d), ST_ERR_NOT_FOUND);
}
END_TEST

/* Cutting a profile short anywhere is an error, never a crash. */
START_TEST(test_truncations)
{
	const char *json = device_json_at(0);
	size_t n = strlen(json);
	while (n && json[n - 1] != '}')
		n--;
	for (size_t i = 0; i < n; i += 13) {
		device dev;
		ck_assert_int_ne(device_parse(json, i, &dev, NULL), ST_OK);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("all");
	tcase_add_test(tc, test_every_profile_parses);
	tcase_add_test(tc, test_every_number_has_a_source);
	tcase_add_test(tc, test_sheets);
	tcase_add_test(tc, test_names);
	tcase_add_test(tc, test_errors_name_the_path);
	tcase_add_test(tc, test_plain_numbers_and_garbage);
	tcase_add_test(tc, test_truncations);
	return run_suite(tc, "device");
}
