/* Collective times against published formulas, measured tables and their own invariants. */
#include <check.h>
#include <stdlib.h>

#include "costmodel/costmodel.h"
#include "tests/unit/run_suite.h"

static sharding_table *t;
static void setup(void) { t = sharding_table_new(); }
static void teardown(void) { sharding_table_unref(t); }

static device get(const char *name)
{
	device dev;
	ck_assert_int_eq(device_find(name, &dev, NULL), ST_OK);
	return dev;
}

/* Assigns "x=4,y=8" and times a collective over all named axes ("xy": x and y). */
static mesh_id make_mesh(const char *text)
{
	mesh_id m;
	diag d = {0};
	ck_assert_msg(mesh_parse_flag(t, text, &m, &d) == ST_OK, "%s: %s", text, d.msg);
	return m;
}

static int64_t time_links(const device *dev, const char *text, const char *names,
	collective_kind kind, int64_t bytes, uint8_t *link, mesh_links *links)
{
	mesh_id m = make_mesh(text);
	axes_buf a = {.n = 0};
	uint8_t ignored;
	diag d = {0};
	ck_assert_msg(mesh_links_assign(dev, t, m, NULL, links, &d) == ST_OK, "%s", d.msg);
	for (const char *c = names; *c; c++) {
		uint32_t axis = mesh_axis_find(t, m, (str){c, 1});
		ck_assert_uint_ne(axis, ID_NONE);
		a.a[a.n++] = mesh_full_axis(t, m, axis);
	}
	return collective_time_ns(dev, links, kind, axes_of(&a), bytes, link ? link : &ignored);
}

static int64_t time_of(
	const device *dev, const char *text, const char *names, collective_kind kind, int64_t bytes)
{
	mesh_links links;
	return time_links(dev, text, names, kind, bytes, NULL, &links);
}

/* Without fixed costs and at full bandwidth. */
static device ideal(const char *name)
{
	device dev = get(name);
	for (uint32_t i = 0; i < dev.n_links; i++) {
		dev.links[i].launch_ns = dev.links[i].latency_ns = dev.links[i].half_bytes = 0;
		dev.links[i].efficiency_ppm = 1000000;
		dev.links[i].n_groups = 0;
	}
	return dev;
}

#define ck_near(got, want, percent) \
	do { \
		double got_ = (double)(got), want_ = (double)(want); \
		ck_assert_msg( \
			got_ >= want_ * (1 - (percent) / 100.0) && got_ <= want_ * (1 + (percent) / 100.0), \
			"%s is %.1f, expected %.1f within %g%%", #got, got_, want_, (double)(percent)); \
	} while (0)

/* Measured NCCL all-reduce of one A100 server, us (VIA-Research/vTrain, in place). */
START_TEST(test_a100_table)
{
	static const struct {
		int n, mib;
		double us;
	} rows[] = {
		{2, 1, 45.1},
		{2, 4, 60.3},
		{2, 16, 129.4},
		{2, 32, 229.0},
		{2, 48, 313.7},
		{2, 64, 404.0},
		{2, 96, 573.6},
		{2, 128, 765.7},
		{2, 192, 1103.4},
		{2, 256, 1454.4},
		{2, 384, 2140.1},
		{2, 512, 2833.4},
		{2, 768, 4146.5},
		{2, 1024, 5453.4},
		{4, 1, 52.7},
		{4, 4, 75.8},
		{4, 16, 177.8},
		{4, 32, 281.7},
		{4, 48, 394.9},
		{4, 64, 540.6},
		{4, 96, 760.9},
		{4, 128, 1000.7},
		{4, 192, 1444.7},
		{4, 256, 1927.7},
		{4, 384, 2821.5},
		{4, 512, 3720.5},
		{4, 768, 5492.4},
		{4, 1024, 7275.5},
		{8, 1, 92.2},
		{8, 4, 94.0},
		{8, 16, 231.0},
		{8, 32, 355.7},
		{8, 48, 437.9},
		{8, 64, 579.6},
		{8, 96, 825.8},
		{8, 128, 1166.0},
		{8, 192, 1608.4},
		{8, 256, 2158.0},
		{8, 384, 3147.3},
		{8, 512, 4187.6},
		{8, 768, 6182.4},
		{8, 1024, 8196.4},
	};
	device dev = get("a100");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[16];
		snprintf(text, sizeof text, "x=%d", rows[i].n);
		ck_near((double)time_of(&dev, text, "x", COLL_ALL_REDUCE, (int64_t)rows[i].mib << 20) / 1e3,
			rows[i].us, rows[i].mib >= 16 ? 5 : 25);
	}
}
END_TEST

START_TEST(test_ring_formulas)
{
	device dev = ideal("a100");
	int64_t s = 1 << 28, w = dev.links[0].bandwidth_bytes_s;
	for (int n = 2; n <= 8; n *= 2) {
		char text[16];
		snprintf(text, sizeof text, "x=%d", n);
		double gather = (double)s * (n - 1) / n / (double)w * 1e9;
		ck_near((double)time_of(&dev, text, "x", COLL_ALL_GATHER, s), gather, 0.01);
		ck_near((double)time_of(&dev, text, "x", COLL_REDUCE_SCATTER, s), gather, 0.01);
		ck_near((double)time_of(&dev, text, "x", COLL_ALL_TO_ALL, s), gather, 0.01);
		ck_near((double)time_of(&dev, text, "x", COLL_ALL_REDUCE, s), 2 * gather, 0.01);
		ck_near((double)time_of(&dev, text, "x", COLL_COLLECTIVE_PERMUTE, s),
			(double)s / (double)w * 1e9, 0.01);
	}
	/* latency: steps of a ring, or of a tree when that is shorter */
	dev.links[0].latency_ns = 1000;
	dev.links[0].launch_ns = 5000;
	ck_assert_int_eq(time_of(&dev, "x=8", "x", COLL_ALL_GATHER, 8), 5000 + 7000 + 1);
	ck_assert_int_eq(time_of(&dev, "x=8", "x", COLL_ALL_REDUCE, 8), 5000 + 6000 + 1);
}
END_TEST

/* scaling-book: H100 nodes of 8 at 450 GB/s each, leaf switches with 400 GB/s per node for 32
 * nodes: the gather of a large buffer runs at min(514, 413) GB/s. */
START_TEST(test_two_levels)
{
	device dev = ideal("h100");
	int64_t s = 1ll << 36;
	uint8_t link;
	mesh_links links;
	int64_t ns = time_links(&dev, "y=32,x=8", "xy", COLL_ALL_GATHER, s, &link, &links);
	ck_near((double)s / (double)ns, 413, 0.5);
	ck_assert_uint_eq(link, 1);
	/* the same as one axis that spans both levels, in either order of names */
	ck_assert_int_eq(time_of(&dev, "x=256", "x", COLL_ALL_GATHER, s), ns);
	ck_assert_int_eq(time_of(&dev, "y=32,x=8", "yx", COLL_ALL_GATHER, s), ns);
	/* inside the node 8/7 of 450 */
	ck_near((double)s / (double)time_of(&dev, "x=8", "x", COLL_ALL_GATHER, s), 514, 0.5);
	/* over nodes only: one NIC per device */
	ck_near((double)s / (double)time_of(&dev, "y=32,x=8", "y", COLL_ALL_GATHER, s), 50.0 * 32 / 31,
		0.5);
	/* cross-node all-to-all: B (M - 1) / (M^2 W_node), B the global buffer */
	ck_near((double)time_of(&dev, "y=4,x=8", "xy", COLL_ALL_TO_ALL, s),
		(double)s * 32 * 3 / 16 / 400, 0.5);
}
END_TEST

/* Rings through 16 devices of two nodes carry 15/16 of the buffer out of a node, where 1/2 would
 * do; one device per node is the same either way. */
START_TEST(test_one_ring)
{
	device dev = ideal("a100");
	int64_t s = 1ll << 33,
			w = dev.links[1].bandwidth_bytes_s = 10000000000; /* the network is what limits */
	ck_assert_int_eq(dev.links[1].one_ring, 1);
	device levels = dev;
	levels.links[1].one_ring = 0;
	for (int kind = 0; kind < 3; kind++) {
		static const collective_kind kinds[] = {
			COLL_ALL_GATHER, COLL_REDUCE_SCATTER, COLL_ALL_REDUCE};
		double once = (double)s / 8 / (double)w * 1e9 * (kinds[kind] == COLL_ALL_REDUCE ? 2 : 1);
		ck_near((double)time_of(&dev, "y=2,x=8", "xy", kinds[kind], s), once * 15 / 16, 0.01);
		ck_near((double)time_of(&levels, "y=2,x=8", "xy", kinds[kind], s), once / 2, 0.01);
		ck_near((double)time_of(&dev, "y=2,x=8", "y", kinds[kind], s), once * 8 / 2, 0.01);
	}
	ck_assert_int_eq(time_of(&dev, "y=2,x=8", "xy", COLL_ALL_TO_ALL, s),
		time_of(&levels, "y=2,x=8", "xy", COLL_ALL_TO_ALL, s));
}
END_TEST

/* scaling-book, torus: v5p link 90 GB/s one way as the book counts. */
START_TEST(test_torus_formulas)
{
	device dev = ideal("tpu-v5p");
	int64_t w = dev.links[0].bandwidth_bytes_s, s = 1 << 26;
	/* axes of 4 wrap on v5p: both directions of one dim; 4 x 4 x 4 places each axis on its own dim
	 */
	double one = (double)s * 3 / 4 / (2.0 * (double)w) * 1e9;
	ck_near((double)time_of(&dev, "z=4,y=4,x=4", "x", COLL_ALL_GATHER, s), one, 0.01);
	ck_near((double)time_of(&dev, "z=4,y=4,x=4", "y", COLL_ALL_REDUCE, s), 2 * one, 0.01);
	/* two axes at once: twice the bandwidth */
	ck_near((double)time_of(&dev, "z=4,y=4,x=4", "xy", COLL_ALL_GATHER, s),
		(double)s * 15 / 16 / (4.0 * (double)w) * 1e9, 0.01);
	/* all-to-all: n/4 of the local buffer over both directions of a ring */
	ck_near((double)time_of(&dev, "z=4,y=4,x=4", "x", COLL_ALL_TO_ALL, s),
		(double)s / (2.0 * (double)w) * 1e9, 0.01);
	/* v5e wraps 16 only: an axis of 4 is a line, one direction */
	device e = ideal("tpu-v5e");
	w = e.links[0].bandwidth_bytes_s;
	ck_near(
		time_of(&e, "y=4,x=4", "x", COLL_ALL_GATHER, s), (double)s * 3 / 4 / (double)w * 1e9, 0.01);
	ck_near((double)time_of(&e, "y=16,x=16", "x", COLL_ALL_GATHER, s),
		(double)s * 15 / 16 / (2.0 * (double)w) * 1e9, 0.01);
	ck_near(
		(double)time_of(&e, "y=4,x=4", "x", COLL_ALL_TO_ALL, s), (double)s / (double)w * 1e9, 0.01);
	/* latency: half way round a ring, all along a line */
	e.links[0].latency_ns = 1000;
	ck_assert_int_eq(time_of(&e, "y=16,x=16", "x", COLL_ALL_GATHER, 16), 8000 + 1);
	ck_assert_int_eq(time_of(&e, "y=4,x=4", "x", COLL_ALL_GATHER, 16), 3000 + 1);
}
END_TEST

/* Measured on v5e 8 x 4 (scaling-book): gather of 34 MB over the axis of 4 takes 680 us, of
 * 64*256*2 B shards about 8. */
/* Worked problems of the scaling book on a 4 x 4 x 4 slice of v4, 45 GB/s one way per link,
 * bf16[1024, 4096] with its dims over X and Y. The book leaves (n - 1) / n out: 23 us, 46 us, 186
 * us. */
START_TEST(test_book_problems)
{
	device dev = ideal("tpu-v4");
	dev.links[0].bandwidth_bytes_s = 45000000000;
	int64_t whole = 1024 * 4096 * 2;
	const char *mesh = "z=4,y=4,x=4";
	ck_near((double)time_of(&dev, mesh, "x", COLL_ALL_GATHER, whole / 4) / 1e3, 23.3 * 3 / 4, 0.1);
	ck_near((double)time_of(&dev, mesh, "xy", COLL_ALL_GATHER, whole) / 1e3, 46.6 * 15 / 16, 0.1);
	ck_near((double)time_of(&dev, mesh, "z", COLL_ALL_REDUCE, whole) / 1e3, 186.4 * 3 / 4, 0.1);
	/* 256 bytes: two hops of 1 us to the far side of a ring of 4 */
	dev.links[0].latency_ns = 1000;
	ck_assert_int_eq(time_of(&dev, mesh, "x", COLL_ALL_GATHER, 256), 2000 + 3);
}
END_TEST

START_TEST(test_v5e_anchors)
{
	device dev = get("tpu-v5e");
	ck_near((double)time_of(&dev, "y=8,x=4", "x", COLL_ALL_GATHER, 34000000) / 1e3, 680, 5);
	ck_near((double)time_of(&dev, "y=8,x=4", "x", COLL_ALL_GATHER, 4 * 64 * 256 * 2) / 1e3, 8, 40);
}
END_TEST

/* Eight chips of a host in the order of JAX: the last four are a square, what is in front of them
 * goes from one square to the other over the two links in between. */
START_TEST(test_eight_in_ring)
{
	device dev = ideal("tpu-v6e"), line = dev;
	line.links[0].eight_in_ring = 0;
	ck_assert_int_eq(dev.links[0].eight_in_ring, 1);
	enum { BYTES = 64 << 20 };
	int64_t square = time_of(&dev, "d=2,m=4", "m", COLL_ALL_REDUCE, BYTES),
			row = time_of(&line, "d=2,m=4", "m", COLL_ALL_REDUCE, BYTES);
	ck_near((double)row / (double)square, 2, 1);
	ck_near((double)time_of(&dev, "d=2,m=4", "d", COLL_ALL_REDUCE, BYTES) /
			(double)time_of(&line, "d=2,m=4", "d", COLL_ALL_REDUCE, BYTES),
		2, 1);
	ck_assert_int_eq(time_of(&dev, "d=4,m=2", "m", COLL_ALL_REDUCE, BYTES),
		time_of(&line, "d=4,m=2", "m", COLL_ALL_REDUCE, BYTES));
	ck_assert_int_eq(time_of(&dev, "x=8", "x", COLL_ALL_REDUCE, BYTES),
		time_of(&line, "x=8", "x", COLL_ALL_REDUCE, BYTES));
	ck_assert_int_eq(time_of(&dev, "d=4,m=4", "m", COLL_ALL_REDUCE, BYTES),
		time_of(&line, "d=4,m=4", "m", COLL_ALL_REDUCE, BYTES));
}
END_TEST

START_TEST(test_placement)
{
	device dev = get("tpu-v5e");
	mesh_links l;
	diag d = {0};
	/* two axes: a dim each */
	ck_assert_int_eq(mesh_links_assign(&dev, t, make_mesh("data=4,model=4"), NULL, &l, &d), ST_OK);
	ck_assert_uint_eq(l.axis[0].n, 1);
	ck_assert_uint_eq(l.axis[1].n, 1);
	ck_assert_uint_ne(l.axis[0].part[0].dim, l.axis[1].part[0].dim);
	/* one axis of 16 chips: the slice is 4 x 4 */
	ck_assert_int_eq(mesh_links_assign(&dev, t, make_mesh("x=16"), NULL, &l, &d), ST_OK);
	ck_assert_uint_eq(l.axis[0].n, 2);
	ck_assert_int_eq(l.axis[0].part[0].size, 4);
	ck_assert_int_eq(l.axis[0].part[1].size, 4);
	/* three axes on two dims: one lies behind another */
	ck_assert_int_eq(mesh_links_assign(&dev, t, make_mesh("a=2,b=4,c=4"), NULL, &l, &d), ST_OK);
	ck_assert_int_eq(l.axis[0].part[0].stride, 4);
	/* more chips than the pod: the outer axis goes over the data centre network */
	ck_assert_int_eq(
		mesh_links_assign(&dev, t, make_mesh("pod=4,data=16,model=16"), NULL, &l, &d), ST_OK);
	ck_assert_uint_eq(l.axis[0].part[0].link, 1);
	ck_assert_int_eq(l.axis[0].part[0].size, 4);
	ck_assert(l.axis[1].part[0].wrapped && l.axis[2].part[0].wrapped);
	/* an axis that spans levels */
	device gpu = get("a100");
	ck_assert_int_eq(mesh_links_assign(&gpu, t, make_mesh("x=12"), NULL, &l, &d), ST_OK);
	ck_assert_uint_eq(l.axis[0].n, 2);
	ck_assert_int_eq(l.axis[0].part[0].size * l.axis[0].part[1].size, 12);
	/* pinned by name */
	const char *pins[] = {NULL, "dcn"};
	ck_assert_int_eq(mesh_links_assign(&dev, t, make_mesh("data=4,model=4"), pins, &l, &d), ST_OK);
	ck_assert_uint_eq(l.axis[1].part[0].link, 1);
	ck_assert_uint_eq(l.axis[0].part[0].link, 0);
	const char *wrong[] = {"nvlink", NULL};
	ck_assert_int_eq(
		mesh_links_assign(&dev, t, make_mesh("data=4,model=4"), wrong, &l, &d), ST_ERR_NOT_FOUND);
	ck_assert_str_eq(
		d.msg, "axis \"data\": device tpu-v5e has no link class 'nvlink'; it has ici, dcn");
	const char *small[] = {"ici", NULL};
	diag_clear(&d);
	ck_assert_int_eq(
		mesh_links_assign(&dev, t, make_mesh("data=1024,model=4"), small, &l, &d), ST_ERR_INVALID);
	/* every mesh is covered exactly, whatever the sizes */
	static const char *const odd[] = {"a=3,b=5,c=7", "a=1,b=1", "a=17",
		"a=2,b=2,c=2,d=2,e=2,f=2,g=2", "a=6,b=10", "a=97,b=2", "a=1048576"};
	for (size_t i = 0; i < COUNT_OF(odd); i++)
		for (uint32_t k = 0; k < device_count(); k++) {
			device any = get(device_name_at(k));
			mesh_id m = make_mesh(odd[i]);
			ck_assert_int_eq(mesh_links_assign(&any, t, m, NULL, &l, NULL), ST_OK);
			for (uint32_t a = 0; a < l.n_axes; a++) {
				int64_t product = 1;
				for (uint32_t p = 0; p < l.axis[a].n; p++)
					product *= l.axis[a].part[p].size;
				ck_assert_int_eq(product, t->meshes.p[m].axis_sizes[a]);
			}
		}
}
END_TEST

START_TEST(test_sub_axes)
{
	device dev = ideal("a100");
	mesh_links links;
	uint8_t link;
	mesh_id m = make_mesh("x=32");
	ck_assert_int_eq(mesh_links_assign(&dev, t, m, NULL, &links, NULL), ST_OK);
	int64_t s = 1 << 28;
	/* the minor 8 lie in a node, the major 4 across nodes */
	axis_ref minor = axis_make(0, 4, 8), major = axis_make(0, 1, 4);
	axis_ref both[] = {major, minor};
	int64_t inside = collective_time_ns(&dev, &links, COLL_ALL_GATHER, (axes){&minor, 1}, s, &link);
	ck_assert_uint_eq(link, 0);
	ck_near(inside, (double)s * 7 / 8 / 300, 0.01);
	int64_t across = collective_time_ns(&dev, &links, COLL_ALL_GATHER, (axes){&major, 1}, s, &link);
	ck_assert_uint_eq(link, 1);
	ck_near(across, (double)s * 3 / 4 / 25, 0.01);
	ck_assert_int_eq(collective_time_ns(&dev, &links, COLL_ALL_GATHER, (axes){both, 2}, s, &link),
		time_of(&dev, "x=32", "x", COLL_ALL_GATHER, s));
	/* a middle part */
	axis_ref middle = axis_make(0, 2, 4);
	int64_t mixed = collective_time_ns(&dev, &links, COLL_ALL_GATHER, (axes){&middle, 1}, s, &link);
	ck_assert_int_gt(mixed, inside / 2);
	ck_assert_int_lt(mixed, across);
}
END_TEST

START_TEST(test_mesh_links_per_peer)
{
	device dev = ideal("mi300x");
	int64_t s = 1 << 28;
	/* two devices share one link, eight use all seven */
	ck_near((double)time_of(&dev, "x=2", "x", COLL_ALL_GATHER, s), (double)s / 2 / 64, 0.01);
	ck_near((double)time_of(&dev, "x=8", "x", COLL_ALL_GATHER, s), (double)s / 8 / 64, 0.01);
	ck_near((double)time_of(&dev, "x=8", "x", COLL_ALL_REDUCE, s), (double)s / 4 / 64, 0.01);
}
END_TEST

/* More bytes never faster; more bandwidth or efficiency never slower; nothing for groups of one and
 * for slices. */
START_TEST(test_monotone)
{
	static const char *const meshes[] = {"x=2,y=4", "x=16,y=2", "x=8,y=8", "x=4,y=16"};
	for (uint32_t i = 0; i < device_count(); i++) {
		device dev = get(device_name_at(i)), fast = dev, efficient = dev;
		for (uint32_t k = 0; k < dev.n_links; k++) {
			fast.links[k].bandwidth_bytes_s = dev.links[k].bandwidth_bytes_s * 3 / 2;
			efficient.links[k].efficiency_ppm = MIN(1000000, dev.links[k].efficiency_ppm + 50000);
		}
		for (size_t m = 0; m < COUNT_OF(meshes); m++)
			for (int kind = 0; kind < COLL_COUNT; kind++)
				for (int names = 0; names < 3; names++) {
					static const char *const sets[] = {"x", "y", "xy"};
					int64_t last = 0;
					for (int64_t b = 1; b < 1ll << 41; b = b * 5 / 2 + 1) {
						int64_t now =
							time_of(&dev, meshes[m], sets[names], (collective_kind)kind, b);
						ck_assert_int_ge(now, last);
						ck_assert_int_le(
							time_of(&fast, meshes[m], sets[names], (collective_kind)kind, b), now);
						ck_assert_int_le(
							time_of(&efficient, meshes[m], sets[names], (collective_kind)kind, b),
							now);
						last = now;
					}
				}
		ck_assert_int_eq(time_of(&dev, "x=1,y=4", "x", COLL_ALL_REDUCE, 1 << 20), 0);
		ck_assert_int_eq(time_of(&dev, "x=2,y=4", "xy", COLL_ALL_SLICE, 1 << 20), 0);
		ck_assert_int_eq(time_of(&dev, "x=2,y=4", "", COLL_ALL_REDUCE, 1 << 20), 0);
		ck_assert_int_gt(time_of(&dev, "x=2,y=4", "xy", COLL_ALL_REDUCE, INT64_MAX), 0);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("all");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a100_table);
	tcase_add_test(tc, test_ring_formulas);
	tcase_add_test(tc, test_two_levels);
	tcase_add_test(tc, test_one_ring);
	tcase_add_test(tc, test_eight_in_ring);
	tcase_add_test(tc, test_torus_formulas);
	tcase_add_test(tc, test_book_problems);
	tcase_add_test(tc, test_v5e_anchors);
	tcase_add_test(tc, test_placement);
	tcase_add_test(tc, test_sub_axes);
	tcase_add_test(tc, test_mesh_links_per_peer);
	tcase_add_test(tc, test_monotone);
	return run_suite(tc, "collective");
}
