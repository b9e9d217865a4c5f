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
	kernel_measurements kernels = {0};
	diag d = {0};
	if (measurements_read(text, strlen(text), dev, defaults, &rows, &kernels, &d) != ST_OK)
		ck_abort_msg("%u:%u: %s", d.line, d.col, d.msg);
	ck_assert_uint_eq(kernels.n, 0);
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
		{"kernel,group,bytes,time_ns\nmatmul,2,3,4\n", 1, 1, "a table of each"},
		{"flops,group,bytes,time_ns\n1,2,3,4\n", 1, 1, "no column kernel"},
		{"kernel,bytes,time_ns\nsort,2,3\n", 2, 1, "expected matmul or elementwise"},
		{"kernel,type,bytes,time_ns\nmatmul,half,2,3\n", 2, 8, "unknown element type 'half'"},
		{"kernel,bytes,time_ns\nmatmul,2,3\n", 2, 1, "a matmul without flops"},
		{"kernel,flops,bytes,time_ns\nmatmul,-1,2,3\n", 2, 8, "flops: expected a whole number"},
	};
	device dev = get("a100");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		measurements out = {0};
		kernel_measurements kernels = {0};
		diag d = {0};
		status st = measurements_read(rows[i].text, strlen(rows[i].text), &dev,
			&(table_defaults){.kind = COLL_ALL_REDUCE}, &out, &kernels, &d);
		ck_assert_msg(st != ST_OK, "accepted: %s", rows[i].text);
		ck_assert_msg(
			strstr(d.msg, rows[i].part) != NULL, "message '%s' has no '%s'", d.msg, rows[i].part);
		ck_assert_msg(d.line == rows[i].line && d.col == rows[i].col,
			"'%s' at %u:%u, expected %u:%u", d.msg, d.line, d.col, rows[i].line, rows[i].col);
		vec_release(&out);
		vec_release(&kernels);
	}
}
END_TEST

/* ---------------------------------------------------------------- kernels */

/* What the device would take for products of n x n matrices, and for n * n numbers that are read
 * and written. */
static void measure_kernels(const device *dev, elem type, kernel_measurements *out)
{
	for (int64_t n = 32; n <= 16384; n = n * 5 / 4) {
		kernel_measurement m = {.kind = KERNEL_MATMUL,
			.elem = (uint8_t)type,
			.flops = 2 * n * n * n,
			.bytes = 3 * n * n * elem_bits(type) / 8};
		op_work w = {.matmul_flops = m.flops, .elem = m.elem};
		m.time_ns = dev->op_launch_ns + MAX(matmul_time_ns(dev, &w), memory_time_ns(dev, m.bytes));
		vec_push(out, m);
		m = (kernel_measurement){.kind = KERNEL_ELEMENTWISE, .bytes = 8 * n * n};
		m.time_ns = dev->op_launch_ns + memory_time_ns(dev, m.bytes);
		vec_push(out, m);
	}
}

static calibration fit_kernels(const device *base, kernel_measurements *rows, device *out)
{
	calibration c = {0};
	diag d = {0};
	*out = *base;
	ck_assert_msg(calibrate_kernels(base, rows, out, &c, &d) == ST_OK, "%s", d.msg);
	return c;
}

START_TEST(known_kernels_are_found_again)
{
	static const char *const names[] = {"h100", "a100", "mi300x", "cpu"};
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		device base = get(names[i]), real = base, fitted;
		real.op_launch_ns = 2500;
		real.matmul_efficiency =
			(curve){3, {100000000, 10000000000, 200000000000}, {150000, 500000, 730000}};
		real.memory_efficiency = (curve){2, {1 << 20, 100000000}, {500000, 850000}};
		kernel_measurements rows = {0};
		measure_kernels(&real, base.target == TARGET_CPU ? ELEM_F32 : ELEM_BF16, &rows);
		calibration c = fit_kernels(&base, &rows, &fitted);
		ck_assert_uint_eq(c.n, 0);
		for (int k = 0; k < KERNEL_KINDS; k++) {
			const calibration_row *r = &c.kernels[k];
			ck_assert_uint_eq(r->rows, rows.n / 2);
			ck_assert_msg(r->after < .02 && r->worst < .1 && r->before > .1,
				"%s %s: %.4f, worst %.4f, before %.4f", names[i], kernel_kind_name((kernel_kind)k),
				r->after, r->worst, r->before);
		}
		/* of matmuls that memory bounds nothing is learned: small ones on the CPU's profile */
		ck_assert_int_le(off_by(fitted.op_launch_ns, 2500), 500);
		ck_assert_int_le(off_by(curve_at(&fitted.matmul_efficiency, 1ll << 40), 730000), 20000);
		ck_assert_int_le(off_by(curve_at(&fitted.memory_efficiency, 1ll << 40), 850000), 10000);
		vec_release(&rows);
	}
}
END_TEST

START_TEST(caches_and_memory_bounds_are_no_rates)
{
	device base = get("h100"), fitted;
	int64_t second = 1000000000;
	kernel_measurements rows = {0};
	/* twice as fast as memory, as values in a cache are; a product with one column */
	kernel_measurement cached = {.kind = KERNEL_ELEMENTWISE, .bytes = 32 << 20},
					   column = {.kind = KERNEL_MATMUL,
						   .elem = ELEM_BF16,
						   .flops = 2ll << 30,
						   .bytes = 2ll << 30};
	cached.time_ns = base.op_launch_ns + cached.bytes * second / base.memory_bytes_s / 2;
	column.time_ns = base.op_launch_ns + column.bytes * second / base.memory_bytes_s;
	kernel_measurement large = {.kind = KERNEL_ELEMENTWISE, .bytes = 1 << 30};
	large.time_ns = base.op_launch_ns + large.bytes / 8 * second / base.memory_bytes_s * 10;
	vec_push(&rows, cached);
	vec_push(&rows, large);
	vec_push(&rows, column);
	calibration c = fit_kernels(&base, &rows, &fitted);
	ck_assert_uint_eq(c.kernels[KERNEL_ELEMENTWISE].rows, 2);
	ck_assert_int_eq(fitted.memory_bytes_s, base.memory_bytes_s);
	ck_assert_int_eq(curve_at(&fitted.memory_efficiency, cached.bytes), 1000000);
	ck_assert_mem_eq(
		&fitted.matmul_efficiency, &base.matmul_efficiency, sizeof base.matmul_efficiency);
	ck_assert_int_le(fitted.op_launch_ns, base.op_launch_ns);
	vec_release(&rows);
}
END_TEST

START_TEST(faster_kernels_raise_the_rates)
{
	device base = get("a100"), real = base, fitted;
	real.peak_flops[ELEM_BF16] *= 2;
	real.memory_bytes_s *= 2;
	kernel_measurements rows = {0};
	measure_kernels(&real, ELEM_BF16, &rows);
	calibration c = fit_kernels(&base, &rows, &fitted);
	ck_assert_int_gt(fitted.peak_flops[ELEM_BF16], base.peak_flops[ELEM_BF16] * 13 / 10);
	ck_assert_int_le(fitted.peak_flops[ELEM_BF16], real.peak_flops[ELEM_BF16]);
	ck_assert_int_eq(fitted.peak_flops[ELEM_F32], base.peak_flops[ELEM_F32]);
	ck_assert_int_gt(fitted.memory_bytes_s, base.memory_bytes_s * 13 / 10);
	ck_assert_int_le(fitted.memory_bytes_s, real.memory_bytes_s);
	for (int k = 0; k < KERNEL_KINDS; k++)
		ck_assert_msg(c.kernels[k].after < .03 && c.kernels[k].before > .3, "%s: %.4f, before %.4f",
			kernel_kind_name((kernel_kind)k), c.kernels[k].after, c.kernels[k].before);
	strbuf profile = {0};
	diag d = {0};
	device read;
	for (uint32_t i = 0; i < device_count(); i++)
		if (!strcmp(device_name_at(i), base.name))
			ck_assert_int_eq(
				calibration_profile(device_json_at(i), &fitted, &c, "mine", "here", &profile, &d),
				ST_OK);
	ck_assert_int_eq(device_parse(profile.p, profile.n, &read, &d), ST_OK);
	ck_assert_int_eq(read.peak_flops[ELEM_BF16], fitted.peak_flops[ELEM_BF16]);
	ck_assert_int_eq(read.memory_bytes_s, fitted.memory_bytes_s);
	ck_assert_int_eq(read.op_launch_ns, fitted.op_launch_ns);
	ck_assert_mem_eq(&read.matmul_efficiency, &fitted.matmul_efficiency, sizeof(curve));
	ck_assert_mem_eq(&read.memory_efficiency, &fitted.memory_efficiency, sizeof(curve));
	strbuf_release(&profile);
	vec_release(&rows);
}
END_TEST

START_TEST(any_kernels_give_a_profile)
{
	uint64_t state = 7;
	for (int round = 0; round < 500; round++) {
		device base = get(round % 2 ? "h200" : "cpu"), fitted;
		kernel_measurements rows = {0};
		for (int i = 0; i < 1 + round % 40; i++) {
			int64_t draw[4];
			for (int k = 0; k < 4; k++) {
				state = state * 6364136223846793005u + 1442695040888963407u;
				draw[k] = (int64_t)(state >> (24 + (state >> 59)));
			}
			vec_push(&rows,
				((kernel_measurement){.kind = (uint8_t)(draw[0] & 1),
					.elem = ELEM_F32,
					.flops = draw[0] & 1 ? 0 : 1 + draw[1],
					.bytes = 1 + draw[2],
					.time_ns = 1 + draw[3]}));
		}
		calibration c = fit_kernels(&base, &rows, &fitted);
		const char *json = NULL;
		strbuf profile = {0};
		diag d = {0};
		for (uint32_t i = 0; i < device_count(); i++)
			if (!strcmp(device_name_at(i), base.name))
				json = device_json_at(i);
		ck_assert_msg(calibration_profile(json, &fitted, &c, "mine", "here", &profile, &d) == ST_OK,
			"round %d: %s", round, d.msg);
		strbuf_release(&profile);
		vec_release(&rows);
	}
}
END_TEST

START_TEST(kernels_of_a_tpu_are_refused)
{
	device base = get("tpu-v5e"), fitted = base;
	kernel_measurements rows = {0};
	calibration c = {0};
	diag d = {0};
	ck_assert_int_eq(calibrate_kernels(&base, &rows, &fitted, &c, &d), ST_OK);
	vec_push(&rows, ((kernel_measurement){.kind = KERNEL_ELEMENTWISE, .bytes = 4, .time_ns = 4}));
	ck_assert_int_eq(calibrate_kernels(&base, &rows, &fitted, &c, &d), ST_ERR_INVALID);
	ck_assert_ptr_nonnull(strstr(d.msg, "--store"));
	vec_release(&rows);
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
	tcase_add_test(t, known_kernels_are_found_again);
	tcase_add_test(t, caches_and_memory_bounds_are_no_rates);
	tcase_add_test(t, faster_kernels_raise_the_rates);
	tcase_add_test(t, any_kernels_give_a_profile);
	tcase_add_test(t, kernels_of_a_tpu_are_refused);
	return run_suite(t, "calibrate");
}
