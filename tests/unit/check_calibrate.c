/* Calibration: known links are found again, measured ones are met, outliers and nonsense do no
 * harm. */
#include <check.h>
#include <stdlib.h>

#include "costmodel/costmodel.h"
#include "tests/unit/run_suite.h"

static device get(const char *name)
{
	device dev;
	ck_assert_int_eq(device_find(name, &dev, NULL), ST_OK);
	return dev;
}

static int64_t time_of(const device *dev, const measurement *m)
{
	sharding_table *t = sharding_table_new();
	str_id name = strtab_add(&t->names, STR("x"));
	mesh_id mesh = mesh_intern(t,
		&(device_mesh){
			.n_axes = 1, .axis_names = &name, .axis_sizes = &m->group, .n_devices = m->group});
	const char *link = dev->links[m->link].name;
	mesh_links links;
	axes_buf a = {.n = 1};
	uint8_t ignored;
	a.a[0] = mesh_full_axis(t, mesh, 0);
	ck_assert_int_eq(mesh_links_assign(dev, t, mesh, &link, &links, NULL), ST_OK);
	int64_t ns =
		collective_time_ns(dev, &links, (collective_kind)m->kind, axes_of(&a), m->bytes, &ignored);
	sharding_table_unref(t);
	return ns;
}

/* What the device would take, for sizes from 256 KiB to 1 GiB. */
static void measure(
	const device *dev, uint32_t link, collective_kind kind, int64_t group, measurements *out)
{
	for (int64_t bytes = 1 << 18; bytes <= 1 << 30; bytes = bytes * 3 / 2) {
		measurement m = {.kind = (uint8_t)kind, .link = link, .group = group, .bytes = bytes};
		m.time_ns = time_of(dev, &m);
		vec_push(out, m);
	}
}

static calibration fit(const device *base, measurements *rows, device *out)
{
	calibration c;
	diag d = {0};
	ck_assert_msg(calibrate(base, rows, out, &c, &d) == ST_OK, "%s", d.msg);
	return c;
}

static int64_t off_by(int64_t a, int64_t b) { return a > b ? a - b : b - a; }

START_TEST(a_known_link_is_found_again)
{
	static const collective_kind kinds[] = {
		COLL_ALL_REDUCE, COLL_ALL_GATHER, COLL_REDUCE_SCATTER, COLL_ALL_TO_ALL};
	static const char *const names[] = {"h100", "mi300x", "tpu-v5e"};
	for (size_t k = 0; k < COUNT_OF(kinds); k++)
		for (size_t i = 0; i < COUNT_OF(names); i++) {
			device base = get(names[i]), real = base, fitted;
			link_class *l = &real.links[0];
			l->launch_ns = 30000, l->latency_ns = 700, l->efficiency_ppm = 610000,
			l->half_bytes = 1 << 20, l->n_groups = 0;
			measurements rows = {0};
			measure(&real, 0, kinds[k], 4, &rows);
			measure(&real, 0, kinds[k], 8, &rows);
			calibration c = fit(&base, &rows, &fitted);
			ck_assert_uint_eq(c.n, 2);
			for (uint32_t g = 0; g < c.n; g++)
				ck_assert_msg(c.rows[g].after < 0.02 && c.rows[g].after <= c.rows[g].before,
					"%s %s, group %lld: %.4f, before %.4f", names[i], collective_name(kinds[k]),
					(long long)c.rows[g].group, c.rows[g].after, c.rows[g].before);
			/* half_bytes looks like a fixed time of its own; what it and the launch add up to is
			 * found */
			ck_assert_int_gt(fitted.links[0].launch_ns, 15000);
			ck_assert_int_le(
				off_by(fitted.links[0].bandwidth_bytes_s, base.links[0].bandwidth_bytes_s),
				base.links[0].bandwidth_bytes_s / 1000);
			vec_release(&rows);
		}
}
END_TEST

START_TEST(launch_and_latency_come_apart)
{
	device base = get("h100"), real = base, fitted;
	real.links[0].launch_ns = 40000, real.links[0].latency_ns = 2500,
	real.links[0].efficiency_ppm = 800000, real.links[0].half_bytes = 0;
	real.links[0].n_groups = 0;
	measurements rows = {0};
	for (int64_t group = 2; group <= 8; group *= 2)
		measure(&real, 0, COLL_ALL_GATHER, group, &rows);
	fit(&base, &rows, &fitted);
	ck_assert_int_le(off_by(fitted.links[0].launch_ns, 40000), 400);
	ck_assert_int_le(off_by(fitted.links[0].latency_ns, 2500), 100);
	ck_assert_int_le(off_by(fitted.links[0].efficiency_ppm, 800000), 4000);
	vec_release(&rows);
}
END_TEST

START_TEST(a_faster_link_raises_the_bandwidth)
{
	device base = get("h100"), real = base, fitted;
	real.links[1].bandwidth_bytes_s *= 3;
	measurements rows = {0};
	measure(&real, 1, COLL_ALL_REDUCE, 4, &rows);
	calibration c = fit(&base, &rows, &fitted);
	ck_assert_int_gt(fitted.links[1].bandwidth_bytes_s, 2 * base.links[1].bandwidth_bytes_s);
	ck_assert_msg(c.rows[0].after < 0.02, "%f", c.rows[0].after);
	ck_assert_mem_eq(
		&fitted.links[0], &base.links[0], sizeof base.links[0]); /* the other link is as it was */
	vec_release(&rows);
}
END_TEST

START_TEST(outliers_weigh_little)
{
	device base = get("a100"), real = base, fitted;
	measurements rows = {0};
	measure(&real, 0, COLL_ALL_REDUCE, 8, &rows);
	measure(&real, 0, COLL_ALL_REDUCE, 8, &rows);
	measure(&real, 0, COLL_ALL_REDUCE, 8, &rows);
	uint32_t n = rows.n;
	measurement *clean = xmalloc(n * sizeof *clean);
	memcpy(clean, rows.p, n * sizeof *clean);
	for (uint32_t i = 5; i < n; i += 11)
		rows.p[i].time_ns *= 8;
	fit(&base, &rows, &fitted);
	double sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		double off = (double)time_of(&fitted, &clean[i]) / (double)clean[i].time_ns - 1;
		sum += (off < 0 ? -off : off) / n;
	}
	ck_assert_msg(sum < 0.05, "%f", sum);
	free(clean);
	vec_release(&rows);
}
END_TEST

static measurements read_table(const char *text, const device *dev, const table_defaults *defaults)
{
	measurements rows = {0};
	diag d = {0};
	if (measurements_read(text, strlen(text), dev, defaults, &rows, &d) != ST_OK)
		ck_abort_msg("%u:%u: %s", d.line, d.col, d.msg);
	return rows;
}

START_TEST(measured_tables_are_met)
{
	device base = get("tpu-v5e"), a100 = get("a100"), fitted;
	strbuf text = {0}, profile[2] = {{0}, {0}};
	diag d = {0};
	ck_assert_int_eq(file_read("tests/unit/data/allreduce_a100.csv", 1 << 20, &text, &d), ST_OK);
	/* a switch that knows nothing yet: the profile's link without its measured points */
	base = a100;
	base.links[0].n_groups = 0;
	base.links[0].launch_ns = base.links[0].latency_ns = 1000;
	for (int run = 0; run < 2; run++) {
		measurements rows = read_table(text.p, &base, &(table_defaults){.kind = COLL_ALL_REDUCE});
		ck_assert_uint_eq(rows.n, 72);
		if (run) /* the order of the rows does not matter */
			for (uint32_t i = 0; i < rows.n / 2; i++) {
				measurement m = rows.p[i];
				rows.p[i] = rows.p[rows.n - 1 - i];
				rows.p[rows.n - 1 - i] = m;
			}
		calibration c = fit(&base, &rows, &fitted);
		ck_assert_uint_eq(c.n, 3);
		for (uint32_t i = 0; i < c.n; i++) {
			ck_assert_uint_eq(c.rows[i].rows, 24);
			ck_assert_msg(c.rows[i].large <= 0.03 && c.rows[i].after <= 0.05,
				"group %lld: %.4f, %.4f", (long long)c.rows[i].group, c.rows[i].large,
				c.rows[i].after);
		}
		status st = calibration_profile(
			device_json_at(0), &fitted, &(calibration){0}, "x", "s", &profile[run], &d);
		ck_assert_msg(st == ST_OK, "%s", d.msg);
		const char *json = NULL;
		for (uint32_t i = 0; i < device_count(); i++)
			if (!strcmp(device_name_at(i), a100.name))
				json = device_json_at(i);
		ck_assert_msg(
			calibration_profile(json, &fitted, &c, "mine", "here", &profile[run], &d) == ST_OK,
			"%s", d.msg);
		device again;
		ck_assert_int_eq(device_parse(profile[run].p, profile[run].n, &again, &d), ST_OK);
		ck_assert_str_eq(again.name, "mine");
		ck_assert_mem_eq(
			again.links[0].groups, fitted.links[0].groups, sizeof fitted.links[0].groups);
		ck_assert_int_eq(again.links[0].launch_ns, fitted.links[0].launch_ns);
		vec_release(&rows);
	}
	ck_assert_str_eq(profile[0].p, profile[1].p);
	for (int run = 0; run < 2; run++)
		strbuf_release(&profile[run]);
	strbuf_release(&text);
}
END_TEST

START_TEST(both_forms_of_tables)
{
	device dev = get("a100");
	measurements rows = read_table("size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/"
								   "s)\r\n1048576,262144,float,44210,23.72,45100,23.25\r\n",
		&dev, &(table_defaults){.kind = COLL_ALL_REDUCE, .group = 2});
	ck_assert_uint_eq(rows.n, 2); /* out of place and in place */
	ck_assert_int_eq(rows.p[1].time_ns, 45100);
	ck_assert_int_eq(rows.p[1].bytes, 1048576);
	ck_assert_int_eq(rows.p[1].group, 2);
	vec_release(&rows);
	rows = read_table("# a comment\n\n time_us , bytes,group,link,collective\n12.5,4096, "
					  "16,nic,all_gather\n\n# end",
		&dev, &(table_defaults){0});
	ck_assert_uint_eq(rows.n, 1);
	ck_assert_int_eq(rows.p[0].time_ns, 12500);
	ck_assert_uint_eq(rows.p[0].link, 1);
	ck_assert_uint_eq(rows.p[0].kind, COLL_ALL_GATHER);
	vec_release(&rows);
}
END_TEST

START_TEST(nonsense_has_a_place)
{
	static const struct {
		const char *text;
		uint32_t line, col;
		const char *part;
	} rows[] = {
		{"", 1, 1, "header line"},
		{"# only\n", 2, 1, "header line"},
		{"bytes,speed\n1,2\n", 1, 7, "unknown column 'speed'"},
		{"group,time_ns\n2,3\n", 1, 1, "no column bytes"},
		{"group,bytes\n2,3\n", 1, 1, "no column of times"},
		{"group,bytes,time_ns,time_us\n2,3,4,5\n", 1, 1, "two units"},
		{"bytes,time_ns\n1,2\n", 1, 1, "--group"},
		{"group,bytes,time_ns\n", 2, 1, "no rows"},
		{"group,bytes,time_ns\n2,3\n", 2, 1, "2 cells, the header 3"},
		{"group,bytes,time_ns\n2,3,4,5\n", 2, 1, "more cells"},
		{"group,bytes,time_ns\n2,3,4\n2,x,4\n", 3, 3, "bytes: expected a whole number"},
		{"group,bytes,time_ns\n2,0,4\n", 2, 3, "bytes: expected a whole number of 1"},
		{"group,bytes,time_ns\n1,3,4\n", 2, 1, "group: expected a whole number of 2"},
		{"group,bytes,time_ns\n2,3,0\n", 2, 5, "time: expected a positive number"},
		{"group,bytes,time_ns\n2,3,-4\n", 2, 5, "time: expected a positive number"},
		{"group,bytes,time_ns\n2,3,1e9\n", 2, 5, "time: expected a positive number"},
		{"group,bytes,time_ns\n2,3,nan\n", 2, 5, "time: expected a positive number"},
		{"group,bytes,time_ns\n2,3,99999999999999999999\n", 2, 5,
			"time: expected a positive number"},
		{"group,bytes,time_ns\n2,3,\n", 2, 5, "time: expected a positive number"},
		{"group,bytes,time_ns\n9,3,4\n", 2, 1, "on link nvlink, which spans 8"},
		{"collective,group,bytes,time_ns\nall_slice,2,3,4\n", 2, 1, "unknown collective"},
		{"link,group,bytes,time_ns\nici,2,3,4\n", 2, 1, "no link class 'ici'"},
	};
	device dev = get("a100");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		measurements out = {0};
		diag d = {0};
		status st = measurements_read(rows[i].text, strlen(rows[i].text), &dev,
			&(table_defaults){.kind = COLL_ALL_REDUCE}, &out, &d);
		ck_assert_msg(st != ST_OK, "accepted: %s", rows[i].text);
		ck_assert_msg(
			strstr(d.msg, rows[i].part) != NULL, "message '%s' has no '%s'", d.msg, rows[i].part);
		ck_assert_msg(d.line == rows[i].line && d.col == rows[i].col,
			"'%s' at %u:%u, expected %u:%u", d.msg, d.line, d.col, rows[i].line, rows[i].col);
		vec_release(&out);
	}
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("calibrate");
	tcase_add_test(t, a_known_link_is_found_again);
	tcase_add_test(t, launch_and_latency_come_apart);
	tcase_add_test(t, a_faster_link_raises_the_bandwidth);
	tcase_add_test(t, outliers_weigh_little);
	tcase_add_test(t, measured_tables_are_met);
	tcase_add_test(t, both_forms_of_tables);
	tcase_add_test(t, nonsense_has_a_place);
	return run_suite(t, "calibrate");
}
