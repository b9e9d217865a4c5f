/* Reshards: the steps lead from one sharding to the other, and executing them on arrays leaves
 * every device with its slice. Brute force: each device's shard is the list of the global elements
 * it holds. */
#include "lower/internal.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

enum { MAX_TEST_RANK = 3, MAX_TEST_DEVICES = 64, MAX_SHARD = 4096 };

static sharding_table *table;
static mesh_id mesh_of(const char *text)
{
	mesh_id m;
	diag d = {0};
	ck_assert_int_eq(mesh_parse(table, str_of(text), STR("mesh"), &m, &d), ST_OK);
	return m;
}

static sharding_id sharding_from(const char *text)
{
	sharding_edit e;
	diag d = {0};
	ck_assert_int_eq(sharding_parse(table, str_of(text), &e, &d), ST_OK);
	return sharding_intern(table, &e);
}

/* ---------------------------------------------------------------- devices and shards */

static int64_t coordinate(const device_mesh *m, int64_t device, axis_ref a)
{
	for (uint32_t k = m->n_axes; k-- > axis_index(a) + 1;)
		device /= m->axis_sizes[k];
	int64_t full = m->axis_sizes[axis_index(a)], at = device % full;
	return at / (full / axis_next_pre(a)) % axis_size(a);
}

static int64_t list_coordinate(const device_mesh *m, int64_t device, axes l)
{
	int64_t at = 0;
	for (uint32_t i = 0; i < l.n; i++)
		at = at * axis_size(l.a[i]) + coordinate(m, device, l.a[i]);
	return at;
}

typedef struct shard {
	int64_t dims[MAX_TEST_RANK];
	int32_t ids[MAX_SHARD]; /* row-major */
} shard;

static int64_t shard_size(const shard *s, uint32_t rank)
{
	int64_t n = 1;
	for (uint32_t d = 0; d < rank; d++)
		n *= s->dims[d];
	return n;
}

static void expected(sharding_id id, const int64_t *dims, int64_t device, shard *out)
{
	const sharding *s = sharding_get(table, id);
	const device_mesh *m = &table->meshes.p[s->mesh];
	int64_t first[MAX_TEST_RANK];
	for (uint32_t d = 0; d < s->rank; d++) {
		out->dims[d] = dims[d] / sharding_dim_parts(s, d);
		first[d] = list_coordinate(m, device, sharding_dim(s, d)) * out->dims[d];
	}
	int64_t n = shard_size(out, s->rank);
	ck_assert_int_le(n, MAX_SHARD);
	for (int64_t i = 0; i < n; i++) {
		int64_t rest = i, id_at = 0, scale = 1;
		for (uint32_t d = s->rank; d-- > 0;) {
			id_at += (first[d] + rest % out->dims[d]) * scale;
			rest /= out->dims[d];
			scale *= dims[d];
		}
		out->ids[i] = (int32_t)id_at;
	}
}

/* Part `at` of n of a shard along dim d, placed as part `to` of m of another. */
static void copy_part(const shard *from, uint32_t rank, uint32_t d, int64_t at, int64_t n,
	shard *out, uint32_t to_dim, int64_t to)
{
	int64_t part[MAX_TEST_RANK], total = 1;
	for (uint32_t k = 0; k < rank; k++) {
		part[k] = from->dims[k] / (k == d ? n : 1);
		total *= part[k];
	}
	for (int64_t i = 0; i < total; i++) {
		int64_t rest = i, a = 0, b = 0, sa = 1, sb = 1;
		for (uint32_t k = rank; k-- > 0;) {
			int64_t x = rest % part[k];
			rest /= part[k];
			a += (x + (k == d ? at * part[k] : 0)) * sa;
			b += (x + (k == to_dim ? to * part[k] : 0)) * sb;
			sa *= from->dims[k];
			sb *= out->dims[k];
		}
		out->ids[b] = from->ids[a];
	}
}

/* The device that differs from `device` along the axes only, and there has coordinate `at`. */
static int64_t peer(const device_mesh *m, int64_t device, axes l, int64_t at)
{
	for (int64_t other = 0; other < m->n_devices; other++) {
		bool same = list_coordinate(m, other, l) == at;
		for (uint32_t k = 0; k < m->n_axes && same; k++) {
			axes_buf full = {.n = 1}, rest;
			full.a[0] = axis_make(k, 1, m->axis_sizes[k]);
			axes_difference(axes_of(&full), l, &rest);
			for (uint32_t i = 0; i < rest.n; i++)
				same &= coordinate(m, other, rest.a[i]) == coordinate(m, device, rest.a[i]);
		}
		if (same)
			return other;
	}
	ck_abort_msg("no such device");
	return 0;
}

static shard before[MAX_TEST_DEVICES], after[MAX_TEST_DEVICES], between[MAX_TEST_DEVICES];

static void run_gather(const device_mesh *m, uint32_t rank, uint32_t d, axes l)
{
	int64_t n = axes_product(l);
	for (int64_t device = 0; device < m->n_devices; device++) {
		shard *out = &after[device];
		memcpy(out->dims, before[device].dims, sizeof out->dims);
		out->dims[d] *= n;
		for (int64_t k = 0; k < n; k++)
			copy_part(&before[peer(m, device, l, k)], rank, d, 0, 1, out, d, k);
	}
	memcpy(before, after, sizeof before);
}

static void run_slice(const device_mesh *m, uint32_t rank, uint32_t d, axes l)
{
	int64_t n = axes_product(l);
	for (int64_t device = 0; device < m->n_devices; device++) {
		memcpy(after[device].dims, before[device].dims, sizeof after[device].dims);
		after[device].dims[d] /= n;
		copy_part(&before[device], rank, d, list_coordinate(m, device, l), n, &after[device], d, 0);
	}
	memcpy(before, after, sizeof before);
}

/* Cut along target, sent to the peers, joined along source. */
static void run_all_to_all(const device_mesh *m, uint32_t rank, const struct a2a_move *move)
{
	int64_t n = axes_product(move->axes);
	for (int64_t device = 0; device < m->n_devices; device++) {
		shard *out = &after[device];
		memcpy(out->dims, before[device].dims, sizeof out->dims);
		out->dims[move->source] *= n;
		out->dims[move->target] /= n;
		int64_t mine = list_coordinate(m, device, move->axes);
		for (int64_t k = 0; k < n; k++)
			copy_part(&before[peer(m, device, move->axes, k)], rank, move->target, mine, n, out,
				move->source, k);
	}
	memcpy(before, after, sizeof before);
}

/* Every device's new shard must be some device's old one, along the axes that take part only. */
static void run_permute(
	const device_mesh *m, uint32_t rank, const collective_step *s, const int64_t *dims)
{
	int64_t n = axes_product(s->axes);
	for (int64_t device = 0; device < m->n_devices; device++) {
		expected(s->out, dims, device, &between[device]);
		bool found = false;
		for (int64_t k = 0; k < n && !found; k++) {
			const shard *x = &before[peer(m, device, s->axes, k)];
			found = !memcmp(x->dims, between[device].dims, rank * sizeof *x->dims) &&
				!memcmp(x->ids, between[device].ids, (size_t)shard_size(x, rank) * sizeof *x->ids);
		}
		ck_assert_msg(found, "nobody has what device %d needs", (int)device);
	}
	memcpy(before, between, sizeof before);
}

static void run_step(const device_mesh *m, const collective_step *s, const int64_t *dims)
{
	uint32_t rank = sharding_get(table, s->out)->rank;
	for (uint32_t d = 0; d < rank; d++) {
		if (s->kind == COLL_ALL_GATHER && s->dim_axes[d].n)
			run_gather(m, rank, d, s->dim_axes[d]);
		if (s->kind == COLL_ALL_SLICE && s->dim_axes[d].n)
			run_slice(m, rank, d, s->dim_axes[d]);
	}
	if (s->kind == COLL_ALL_TO_ALL)
		for (uint32_t i = 0; i < s->n_moves; i++)
			run_all_to_all(m, rank, &s->moves[i]);
	if (s->kind == COLL_COLLECTIVE_PERMUTE)
		run_permute(m, rank, s, dims);
}

static void check_shards(sharding_id id, const int64_t *dims, const char *what)
{
	const sharding *s = sharding_get(table, id);
	static shard want;
	for (int64_t device = 0; device < table->meshes.p[s->mesh].n_devices; device++) {
		expected(id, dims, device, &want);
		for (uint32_t d = 0; d < s->rank; d++)
			ck_assert_int_eq(want.dims[d], before[device].dims[d]);
		ck_assert_msg(!memcmp(want.ids, before[device].ids,
						  (size_t)shard_size(&want, s->rank) * sizeof *want.ids),
			"%s: device %d", what, (int)device);
	}
}

static bool same_dims(sharding_id a, sharding_id b)
{
	const sharding *x = sharding_get(table, a), *y = sharding_get(table, b);
	for (uint32_t d = 0; d < x->rank; d++)
		if (!axes_equal(sharding_dim(x, d), sharding_dim(y, d)))
			return false;
	return true;
}

static void check_reshard(sharding_id from, sharding_id to, const int64_t *dims)
{
	arena mem;
	arena_init(&mem);
	reshard_plan plan;
	reshard_steps(table, from, to, dims, &mem, &plan);
	const device_mesh *m = &table->meshes.p[sharding_get(table, from)->mesh];
	for (int64_t device = 0; device < m->n_devices; device++)
		expected(from, dims, device, &before[device]);
	sharding_id at = from;
	for (uint32_t i = 0; i < plan.n; i++) {
		ck_assert_uint_eq(plan.steps[i].in, at);
		run_step(m, &plan.steps[i], dims);
		at = plan.steps[i].out;
		check_shards(at, dims, collective_name((collective_kind)plan.steps[i].kind));
	}
	ck_assert(same_dims(at, to));
	ck_assert_msg(plan.n || same_dims(from, to), "no step, but the shardings differ");
	ck_assert_msg(!plan.n || !same_dims(from, to), "steps between equal shardings");
	arena_release(&mem);
}

/* ---------------------------------------------------------------- random shardings */

static sharding_id random_sharding(rng *r, mesh_id id, uint32_t rank)
{
	const device_mesh *m = &table->meshes.p[id];
	axis_ref parts[32];
	uint32_t n = 0;
	for (uint32_t k = 0; k < m->n_axes; k++) {
		int64_t pre = 1, size = m->axis_sizes[k];
		while (pre < size) {
			int64_t left = size / pre, part = left;
			if (rng_below(r, 3) == 0)
				for (part = 2; left % part; part++)
					;
			parts[n++] = axis_make(k, pre, part);
			pre *= part;
		}
	}
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = rng_below(r, i);
		axis_ref x = parts[j];
		parts[j] = parts[i - 1];
		parts[i - 1] = x;
	}
	sharding_edit e;
	sharding_edit_init(&e, id, rank, true);
	for (uint32_t i = 0; i < n; i++)
		if (rng_below(r, 4))
			axes_push_merge(&e.dims[rng_below(r, rank)].axes, parts[i]);
	return sharding_intern(table, &e);
}

static const char *const meshes[] = {"<[\"x\"=2, \"y\"=2, \"z\"=2]>", "<[\"x\"=4, \"y\"=2]>",
	"<[\"x\"=8]>", "<[\"x\"=2, \"y\"=4, \"z\"=2]>", "<[\"x\"=2, \"y\"=3]>", "<[\"x\"=4, \"y\"=4]>",
	"<[\"x\"=6, \"y\"=2]>"};

START_TEST(random_reshards_end_where_they_should)
{
	mesh_id mesh = mesh_of(meshes[_i]);
	int64_t n = table->meshes.p[mesh].n_devices;
	rng r;
	rng_seed(&r, 7, (uint64_t)_i);
	for (int k = 0; k < 150; k++) {
		uint32_t rank = 1 + rng_below(&r, n <= 12 ? 3 : 2);
		const int64_t dims[MAX_TEST_RANK] = {n, n, n};
		check_reshard(random_sharding(&r, mesh, rank), random_sharding(&r, mesh, rank), dims);
	}
}
END_TEST

/* ---------------------------------------------------------------- known sequences */

static void check_kinds(const char *from, const char *to, const char *want)
{
	const int64_t dims[MAX_TEST_RANK] = {64, 64, 64};
	mesh_of("<[\"x\"=2, \"y\"=2, \"z\"=4]>");
	arena mem;
	arena_init(&mem);
	reshard_plan plan;
	reshard_steps(table, sharding_from(from), sharding_from(to), dims, &mem, &plan);
	strbuf got;
	strbuf_init(&got);
	for (uint32_t i = 0; i < plan.n; i++)
		strbuf_printf(&got, "%s%s/%lld", i ? " " : "",
			collective_name((collective_kind)plan.steps[i].kind),
			(long long)axes_product(plan.steps[i].axes));
	ck_assert_str_eq(got.p ? got.p : "", want);
	strbuf_release(&got);
	arena_release(&mem);
}

START_TEST(one_collective_does_when_one_can)
{
	check_kinds("<@mesh, [{\"x\"}, {}]>", "<@mesh, [{\"x\"}, {}]>", "");
	check_kinds("<@mesh, [{\"x\", \"z\"}, {}]>", "<@mesh, [{\"x\"}, {}]>", "all_gather/4");
	check_kinds("<@mesh, [{\"x\"}, {}]>", "<@mesh, [{\"x\", \"z\"}, {\"y\"}]>", "all_slice/8");
	check_kinds("<@mesh, [{\"x\"}, {}]>", "<@mesh, [{}, {\"x\"}]>", "all_to_all/2");
	check_kinds("<@mesh, [{\"x\"}, {}]>", "<@mesh, [{\"y\"}, {}]>", "collective_permute/4");
	check_kinds("<@mesh, [{\"x\", \"z\"}, {\"y\"}]>", "<@mesh, [{}, {}]>", "all_gather/16");
}
END_TEST

START_TEST(slicing_comes_first_and_gathering_last)
{
	/* An all_to_all of the small shard, then a gather: never a gather first. */
	check_kinds(
		"<@mesh, [{\"z\", \"x\"}, {}]>", "<@mesh, [{}, {\"x\"}]>", "all_to_all/2 all_gather/4");
	check_kinds("<@mesh, [{\"x\"}, {}, {}]>", "<@mesh, [{}, {\"x\", \"y\"}, {}]>",
		"all_slice/2 all_to_all/4");
}
END_TEST

START_TEST(device_orders_take_a_permute)
{
	mesh_id iota = mesh_of("<[\"x\"=4]>"), other;
	diag d = {0};
	ck_assert_int_eq(
		mesh_parse(table, STR("<[\"x\"=4], device_ids=[3, 2, 1, 0]>"), STR("other"), &other, &d),
		ST_OK);
	sharding_edit e;
	sharding_edit_init(&e, iota, 1, true);
	e.dims[0].axes.a[e.dims[0].axes.n++] = axis_make(0, 1, 4);
	sharding_id from = sharding_intern(table, &e);
	e.mesh = other;
	sharding_id to = sharding_intern(table, &e);
	arena mem;
	arena_init(&mem);
	reshard_plan plan;
	reshard_steps(table, from, to, (const int64_t[]){8}, &mem, &plan);
	ck_assert_uint_eq(plan.n, 1);
	ck_assert_uint_eq(plan.steps[0].kind, COLL_COLLECTIVE_PERMUTE);
	ck_assert_uint_eq(plan.steps[0].out, to);
	ck_assert_int_eq(axes_product(plan.steps[0].axes), 4);
	arena_release(&mem);
}
END_TEST

static void setup(void) { table = sharding_table_new(); }
static void teardown(void) { sharding_table_unref(table); }

int main(void)
{
	TCase *t = tcase_create("reshard");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, random_reshards_end_where_they_should, 0, (int)COUNT_OF(meshes));
	tcase_add_test(t, one_collective_does_when_one_can);
	tcase_add_test(t, slicing_comes_first_and_gathering_last);
	tcase_add_test(t, device_orders_take_a_permute);
	return run_suite(t, "reshard");
}
