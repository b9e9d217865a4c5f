/* A conversion is right when every device has the same slice before and after. */
#include "layout/layout.h"
#include "tests/golden/layout_frameworks.h"
#include "tests/golden/layout_jax.h"
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

static void parse(notation n, mesh_id m, uint32_t rank, const char *text, tensor_spec *e)
{
	diag d = {0};
	ck_assert_msg(notation_parse(t, n, m, rank, str_of(text), e, &d) == ST_OK, "%s: %u:%u %s", text,
		d.line, d.col, d.msg);
}

static void print(notation n, const tensor_spec *e, const char *want)
{
	strbuf b;
	diag d = {0};
	strbuf_init(&b);
	ck_assert_msg(notation_print(t, n, e, &b, &d) == ST_OK, "%s: %s", want, d.msg);
	ck_assert_str_eq(b.p, want);
	strbuf_release(&b);
}

/* "begin:end,begin:end;.." in the order of devices */
static void ranges(const tensor_spec *e, const int64_t *shape, uint32_t rank, strbuf *out)
{
	layout l;
	diag d = {0};
	ck_assert_msg(layout_init(&l, t, &e->e, shape, rank, &d) == ST_OK, "%s", d.msg);
	strbuf_clear(out);
	strbuf_add(out, "", 0);
	for (int64_t i = 0; i < l.n_devices; i++) {
		index_range r[MAX_RANK];
		layout_ranges(&l, layout_position_of(&l, i), r);
		if (i)
			strbuf_putc(out, ';');
		for (uint32_t k = 0; k < rank; k++)
			strbuf_printf(
				out, "%s%lld:%lld", k ? "," : "", (long long)r[k].begin, (long long)r[k].end);
	}
	layout_release(&l);
}

static uint32_t shape_of(const char *text, int64_t *shape)
{
	uint32_t rank = 0;
	for (char *p = (char *)text; *p; p += *p == 'x')
		shape[rank++] = strtoll(p, &p, 10);
	return rank;
}

START_TEST(as_jax_does)
{
	strbuf got;
	strbuf_init(&got);
	for (size_t i = 0; i < COUNT_OF(layout_jax); i++) {
		tensor_spec e = {0}, back;
		int64_t shape[MAX_RANK];
		uint32_t rank = shape_of(layout_jax[i].shape, shape);
		mesh_id m = mesh_of(layout_jax[i].mesh);
		parse(NOTATION_JSON, m, rank, layout_jax[i].json, &e);
		ranges(&e, shape, rank, &got);
		ck_assert_str_eq(got.p, layout_jax[i].ranges);
		print(NOTATION_GSPMD, &e, layout_jax[i].gspmd);
		print(NOTATION_JAX, &e, layout_jax[i].spec);
		parse(NOTATION_GSPMD, m, rank, layout_jax[i].gspmd, &back);
		ranges(&back, shape, rank, &got);
		ck_assert_str_eq(got.p, layout_jax[i].ranges);
		print(NOTATION_GSPMD, &back, layout_jax[i].gspmd);
		parse(NOTATION_JAX, m, rank, layout_jax[i].spec, &back);
		ck_assert_uint_eq(sharding_intern(t, &back.e), sharding_intern(t, &e.e));
	}
	strbuf_release(&got);
}
END_TEST

/* What PyTorch and MindSpore themselves give every device, sizes that do not divide among them.
 * "-": nothing. */
START_TEST(as_frameworks_do)
{
	strbuf got;
	strbuf_init(&got);
	uint32_t uneven = 0;
	for (size_t i = 0; i < COUNT_OF(layout_frameworks); i++) {
		tensor_spec e;
		layout l;
		diag d = {0};
		int64_t shape[MAX_RANK];
		notation n;
		uint32_t rank = shape_of(layout_frameworks[i].shape, shape);
		ck_assert(notation_find(layout_frameworks[i].notation, &n));
		parse(n, mesh_of(layout_frameworks[i].mesh), rank, layout_frameworks[i].text, &e);
		ck_assert_msg(layout_init_cut(&l, t, &e, shape, rank, notation_cut(n), &d) == ST_OK,
			"%s: %s", layout_frameworks[i].text, d.msg);
		strbuf_clear(&got);
		for (int64_t k = 0; k < l.n_devices; k++) {
			index_range r[MAX_RANK];
			layout_ranges(&l, layout_position_of(&l, k), r);
			strbuf_puts(&got, k ? ";" : "");
			for (uint32_t j = 0; j < rank; j++)
				if (r[j].begin == r[j].end)
					strbuf_puts(&got, j ? ",-" : "-");
				else
					strbuf_printf(&got, "%s%lld:%lld", j ? "," : "", (long long)r[j].begin,
						(long long)r[j].end);
		}
		for (uint32_t j = 0; j < rank; j++)
			uneven += l.shape[j] % l.parts[j] != 0;
		ck_assert_msg(strcmp(got.p, layout_frameworks[i].ranges) == 0, "%s:\n%s\n%s",
			layout_frameworks[i].text, got.p, layout_frameworks[i].ranges);
		layout_release(&l);
	}
	ck_assert_uint_gt(uneven, 10);
	strbuf_release(&got);
}
END_TEST

/* Sizes that a system does not cut are refused, with the reason. */
START_TEST(sizes_that_do_not_divide)
{
	static const struct {
		notation n;
		const char *mesh, *text;
		int64_t size;
		const char *words; /* NULL: "0:2" and so on are checked by as_frameworks_do */
	} lines[] = {
		{NOTATION_MINDSPORE, "a=4", "Layout((4,), ('a',))('a')", 10,
			"MindSpore cuts only what divides"},
		{NOTATION_SBP, "a=2,b=2", "[S(0), S(0)]", 10, "only over devices in one row"},
		{NOTATION_SBP, "a=4", "[S(0)]", 3, "leaves some of 4 devices nothing"},
		{NOTATION_SBP, "a=4", "[S(0)]", 10, NULL},
		{NOTATION_DTENSOR, "a=2,b=4", "[_StridedShard(0, split_factor=2), Shard(0)]", 9,
			"device 1 2 separate ranges"},
		{NOTATION_DTENSOR, "a=2,b=2", "[_StridedShard(0, split_factor=2), Shard(0)]", 8, NULL},
		{NOTATION_DTENSOR, "a=4", "DeviceMesh('cuda', [[0, 1], [2, 3]]), [Shard(0), Shard(0)]", 10,
			"give the devices of the text as the mesh"},
	};
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		tensor_spec e;
		layout l;
		diag d = {0};
		parse(lines[i].n, mesh_of(lines[i].mesh), 1, lines[i].text, &e);
		status s = layout_init_cut(&l, t, &e, &lines[i].size, 1, notation_cut(lines[i].n), &d);
		ck_assert_msg((s == ST_OK) == !lines[i].words, "%s: %s", lines[i].text, d.msg);
		ck_assert_msg(
			!lines[i].words || strstr(d.msg, lines[i].words), "%s: %s", lines[i].text, d.msg);
		if (s == ST_OK)
			layout_release(&l);
	}
	/* OneFlow's first 10 % 4 shards get one more */
	tensor_spec e;
	layout l;
	index_range r[1];
	static const int64_t ends[] = {3, 6, 8, 10};
	int64_t ten = 10;
	diag d = {0};
	parse(NOTATION_SBP, mesh_of("a=4"), 1, "[S(0)]", &e);
	ck_assert_int_eq(layout_init_cut(&l, t, &e, &ten, 1, notation_cut(NOTATION_SBP), &d), ST_OK);
	for (int64_t p = 0; p < 4; p++) {
		layout_ranges(&l, p, r);
		ck_assert(r->begin == (p ? ends[p - 1] : 0) && r->end == ends[p]);
	}
	layout_release(&l);
}
END_TEST

START_TEST(tuples)
{
	static const struct {
		const char *text, *ranks;
		notation to;
		const char *want;
	} lines[] = {
		{"{{replicated}, {devices=[2,4]<=[8]}}", "1,2", NOTATION_GSPMD,
			"{{replicated}, {devices=[2,4]<=[8]}}"},
		{"{{replicated}, {devices=[2,4]<=[8]}}", "1,2", NOTATION_JAX,
			"(PartitionSpec(None), PartitionSpec('a', 'b'))"},
		{"{{devices=[8]<=[8]}}", "1", NOTATION_JAX, "(PartitionSpec(('a', 'b')),)"},
		{"{{maximal device=3}, {unknown}}", "2", NOTATION_SDY,
			"#sdy.sharding_per_value<[<mesh<[], device_ids=[3]>, []>, <@mesh, [{?}, {?}]>]>"},
		{"{{devices=[8]<=[2,4]T(1,0)}, {replicated}}", "1", NOTATION_SBP,
			"((placement(type=\"cuda\", ranks=[[0, 4], [1, 5], [2, 6], [3, 7]]), [S(0), S(0)]), "
			"[B, B])"},
		{"{}", "1", NOTATION_GSPMD, "{}"},
		{"{{replicated}, {devices=[3]<=[8]}}", "1", NOTATION_JAX,
			"1:26 the tile sizes stand for 3 devices"},
		{"{{replicated}, {replicated}", "1", NOTATION_JAX, "1:28 expected '}'"},
		{"{{replicated}, x}", "1", NOTATION_JAX, "1:16 expected '{'"},
		{"{{replicated}}", "1,2", NOTATION_JAX, "1:1 1 elements for 2 ranks"},
		{"{{replicated}, {replicated}, {replicated}}", "1,2", NOTATION_JAX,
			"1:30 more elements than ranks (2)"},
		{"{replicated}", "1,2", NOTATION_JAX, "1:1 one sharding for 2 ranks"},
	};
	mesh_id m = mesh_of("a=2,b=4");
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		tensor_spec specs[4];
		uint32_t ranks[2], n = 0, count;
		bool tuple;
		diag d = {0};
		for (const char *p = lines[i].ranks; *p; p++)
			if (*p != ',')
				ranks[n++] = (uint32_t)(*p - '0');
		strbuf b;
		strbuf_init(&b);
		status s = notation_parse_tuple(t, NOTATION_GSPMD, m, ranks, n, str_of(lines[i].text),
			specs, COUNT_OF(specs), &count, &tuple, &d);
		if (s == ST_OK)
			ck_assert_int_eq(notation_print_tuple(t, lines[i].to, specs, count, &b, &d), ST_OK);
		else
			strbuf_printf(&b, "%u:%u %s", d.line, d.col, d.msg);
		ck_assert_msg(strncmp(b.p, lines[i].want, strlen(lines[i].want)) == 0 &&
				(s != ST_OK || b.n == strlen(lines[i].want)),
			"%s: %s", lines[i].text, b.p);
		strbuf_release(&b);
	}
}
END_TEST

/* ---------------------------------------------------------------- random shardings */

static rng random_state;
static uint32_t below(uint32_t n) { return rng_below(&random_state, n); }

static mesh_id random_mesh(void)
{
	static const int64_t sizes[] = {1, 2, 2, 3, 4, 4, 6, 8, 12};
	str_id names[3];
	int64_t size[3], ids[12 * 12 * 12];
	device_mesh m = {.name = strtab_add(&t->names, STR("mesh")),
		.n_axes = 1 + below(3),
		.axis_names = names,
		.axis_sizes = size};
	uint32_t n = 1;
	for (uint32_t i = 0; i < m.n_axes; i++) {
		names[i] = strtab_add(&t->names, (str){&"xyz"[i], 1});
		size[i] = sizes[below(COUNT_OF(sizes))];
		n *= (uint32_t)size[i];
	}
	if (below(3) == 0) {
		m.device_ids = ids;
		m.n_device_ids = n;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t k = below(i + 1);
			ids[i] = ids[k];
			ids[k] = i;
		}
	}
	return mesh_intern(t, &m);
}

/* Every axis, whole or cut in two or three, goes to a dim, to the unreduced axes or nowhere. */
static void random_sharding(mesh_id id, uint32_t rank, sharding_edit *e)
{
	const device_mesh *m = &t->meshes.p[id];
	axis_ref parts[9];
	uint32_t n = 0;
	for (uint32_t i = 0; i < m->n_axes; i++) {
		int64_t pre = 1, left = m->axis_sizes[i];
		bool cut = below(3) == 0;
		while (cut && left > 1 && n < 8) {
			int64_t size = 2 + below((uint32_t)left - 1);
			if (left % size)
				continue;
			parts[n++] = axis_make(i, pre, size);
			pre *= size;
			left /= size;
		}
		if (!cut || pre == 1)
			parts[n++] = mesh_full_axis(t, id, i);
	}
	sharding_edit_init(e, id, rank, true);
	for (uint32_t left = n; left; left--) {
		uint32_t k = below(left), where = below(rank + 2);
		axis_ref a = parts[k];
		parts[k] = parts[left - 1];
		if (where < rank)
			axes_push_merge(&e->dims[where].axes, a);
		else if (where == rank && below(3) == 0)
			e->unreduced.a[e->unreduced.n++] = a;
	}
	axes_sort_merge(&e->unreduced);
}

START_TEST(every_device_keeps_its_slice)
{
	uint32_t said[NOTATION_COUNT] = {0};
	strbuf before, after, text;
	strbuf_init(&before);
	strbuf_init(&after);
	strbuf_init(&text);
	rng_seed(&random_state, 7, 0);
	for (uint32_t round = 0; round < 1500; round++) {
		/* one mesh per table, so that @mesh means it */
		sharding_table_unref(t);
		t = sharding_table_new();
		uint32_t rank = 1 + below(3);
		mesh_id m = random_mesh();
		tensor_spec e = {0}, back;
		char msg[256];
		int64_t shape[3];
		random_sharding(m, rank, &e.e);
		ck_assert_msg(sharding_check(t, &e.e, NULL, msg, sizeof msg), "%s", msg);
		for (uint32_t k = 0; k < rank; k++)
			shape[k] = axes_product(axes_of(&e.e.dims[k].axes)) * (1 + below(2));
		ranges(&e, shape, rank, &before);
		for (int n = 0; n < NOTATION_COUNT; n++) {
			diag d = {0};
			strbuf_clear(&text);
			status s = notation_print(t, (notation)n, &e, &text, &d);
			if (s != ST_OK) {
				ck_assert_int_eq(s, ST_ERR_UNSUPPORTED);
				ck_assert_msg(strstr(d.msg, "cannot be expressed in "), "%s", d.msg);
				continue;
			}
			said[n]++;
			s = notation_parse(t, (notation)n, m, rank, (str){text.p, text.n}, &back, &d);
			ck_assert_msg(s == ST_OK, "%s %s: %s", notation_name((notation)n), text.p, d.msg);
			ranges(&back, shape, rank, &after);
			ck_assert_msg(strcmp(before.p, after.p) == 0, "%s %s:\n%s\n%s",
				notation_name((notation)n), text.p, before.p, after.p);
			ck_assert_int_eq(
				axes_product(axes_of(&back.e.unreduced)), axes_product(axes_of(&e.e.unreduced)));
		}
	}
	ck_assert_uint_eq(said[NOTATION_SDY], 1500);
	ck_assert_uint_eq(said[NOTATION_JSON], 1500);
	ck_assert_uint_eq(said[NOTATION_GSPMD], 1500);
	ck_assert_uint_eq(said[NOTATION_SBP], 1500);
	ck_assert_uint_eq(said[NOTATION_DTENSOR], 1500);
	for (int n = 0; n < NOTATION_COUNT; n++)
		ck_assert_msg(
			said[n] > 300 && ((n != NOTATION_JAX && n != NOTATION_MINDSPORE) || said[n] < 1500),
			"%s: %u", notation_name((notation)n), said[n]);
	strbuf_release(&before);
	strbuf_release(&after);
	strbuf_release(&text);
}
END_TEST

/* Digit by digit: GSPMD texts whose tiles are no axes of the mesh are refused, never misread. Small
 * meshes, all orders of devices that swap two. */
START_TEST(orders_that_no_axes_give)
{
	mesh_id m = mesh_of("a=2,b=3");
	uint32_t read = 0, refused = 0;
	for (uint32_t x = 0; x < 6; x++)
		for (uint32_t y = x; y < 6; y++) {
			uint32_t order[6] = {0, 1, 2, 3, 4, 5};
			order[x] = y;
			order[y] = x;
			strbuf b;
			strbuf_init(&b);
			strbuf_puts(&b, "{devices=[6]");
			for (uint32_t i = 0; i < 6; i++)
				strbuf_printf(&b, "%s%u", i ? "," : "", order[i]);
			strbuf_puts(&b, "}");
			tensor_spec e;
			diag d = {0};
			status s = notation_parse(t, NOTATION_GSPMD, m, 1, (str){b.p, b.n}, &e, &d);
			ck_assert(s == (x == y ? ST_OK : ST_ERR_UNSUPPORTED));
			read += s == ST_OK;
			refused += s != ST_OK;
			strbuf_release(&b);
		}
	ck_assert(read == 6 && refused == 15);
}
END_TEST

/* ---------------------------------------------------------------- one by one */

struct line {
	notation n;
	const char *mesh;
	uint32_t rank;
	const char *text, *json;
};

START_TEST(spellings)
{
	static const struct line lines[] = {
		{NOTATION_SDY, "a=2,b=4", 2, "[{\"a\"}, {\"b\"}]", "[[\"a\"],[\"b\"]]"},
		{NOTATION_SDY, "a=2,b=4", 2, "<@mesh, [{\"a\"}, {}]>", "[[\"a\"],[]]"},
		{NOTATION_SDY, "a=2,b=4", 2, "sdy.sharding = #sdy.sharding<@mesh, [{\"a\"}, {\"b\":(2)2}]>",
			"[[\"a\"],[\"b:(2)2\"]]"},
		{NOTATION_SDY, "a=2,b=4", 1, "<mesh<[\"a\"=2, \"b\"=4]>, [{\"a\"}]>", "[[\"a\"]]"},
		{NOTATION_GSPMD, "a=2,b=4", 2, "{devices=[2,4]<=[8]}", "[[\"a\"],[\"b\"]]"},
		{NOTATION_GSPMD, "a=2,b=4", 2, "{devices=[4,2]<=[2,4]T(1,0)}", "[[\"b\"],[\"a\"]]"},
		{NOTATION_GSPMD, "a=2,b=4", 2, "{devices=[2,1,4]<=[2,4]T(1,0) last_tile_dim_replicate}",
			"[[\"b:(1)2\"],[]]"},
		{NOTATION_GSPMD, "a=2,b=4", 2, "{replicated}", "[[],[]]"},
		{NOTATION_GSPMD, "a=2,b=4", 1, "{devices=[8]0,1,2,3,4,5,6,7}", "[[\"a\",\"b\"]]"},
		{NOTATION_GSPMD, "a=2,b=4", 1, "{devices=[8]0,4,1,5,2,6,3,7}", "[[\"b\",\"a\"]]"},
		{NOTATION_GSPMD, "a=2,b=4", 1, "{devices=[2,4]0,3,1,2,7,4,6,5 last_tile_dim_replicate}",
			"[[\"a\"]]"},
		{NOTATION_GSPMD, "a=2,b=4", 1, "{devices=[2,4]<=[8] last_tile_dims={unreduced}}",
			"{\"dims\":[[\"a\"]],\"open\":[false],\"priority\":[0],\"replicated\":[],\"unreduced\":"
			"[\"b\"]}"},
		{NOTATION_GSPMD, "a=2,b=4", 0, "{unreduced}",
			"{\"dims\":[],\"open\":[],\"priority\":[],\"replicated\":[],\"unreduced\":[\"a\",\"b\"]"
			"}"},
		{NOTATION_GSPMD, "a=1", 1, "{maximal device=0}", "[[]]"},
		{NOTATION_GSPMD, "<[\"a\"=2, \"b\"=2], device_ids=[0, 2, 1, 3]>", 2, "{devices=[2,2]<=[4]}",
			"[[\"a\"],[\"b\"]]"},
		{NOTATION_JAX, "a=2,b=4", 2, "P('a')", "[[\"a\"],[]]"},
		{NOTATION_JAX, "a=2,b=4", 2, "jax.sharding.PartitionSpec(None, (\"a\", 'b'),)",
			"[[],[\"a\",\"b\"]]"},
		{NOTATION_JAX, "a=2,b=4", 2, "P((), ['a'])", "[[],[\"a\"]]"},
		{NOTATION_JAX, "a=2,b=4", 1, "P()", "[[]]"},
		{NOTATION_JAX, "a=2,b=4", 2, "P(P.UNCONSTRAINED, 'a')",
			"{\"dims\":[[],[\"a\"]],\"open\":[true,false],\"priority\":[0,0],\"replicated\":[],"
			"\"unreduced\":[]}"},
		{NOTATION_MINDSPORE, "a=2,b=4", 2, "Layout((2, 4), ('a', 'b'))('b', 'None')",
			"[[\"b\"],[]]"},
		{NOTATION_MINDSPORE, "a=2,b=4", 2, "Layout((2, 2, 2), ('x', 'y', 'z'))(('z', 'y'), None)",
			"[[\"b:(2)2\",\"b:(1)2\"],[]]"},
		{NOTATION_MINDSPORE, "a=2,b=4", 1,
			"device_matrix=(8,), alias_name=('x',), tensor_map=('x',)", "[[\"a\",\"b\"]]"},
		{NOTATION_MINDSPORE, "a=2,b=2", 1,
			"Layout((2, 2), ('x', 'y'), rank_list=[0, 2, 1, 3])('x')", "[[\"b\"]]"},
		{NOTATION_SBP, "a=2,b=4", 2, "[S(0), B]", "[[\"a\"],[]]"},
		{NOTATION_SBP, "a=2,b=4", 2, "(S(1), S(1))", "[[],[\"a\",\"b\"]]"},
		{NOTATION_SBP, "a=2", 2, "flow.sbp.split(-1)", "[[],[\"a\"]]"},
		{NOTATION_SBP, "a=2", 1, "P",
			"{\"dims\":[[]],\"open\":[false],\"priority\":[0],\"replicated\":[],\"unreduced\":["
			"\"a\"]}"},
		{NOTATION_DTENSOR, "a=2,b=4", 2, "[Shard(0), Replicate()]", "[[\"a\"],[]]"},
		{NOTATION_DTENSOR, "a=2,b=4", 2, "(Shard(dim=1), R)", "[[],[\"a\"]]"},
		{NOTATION_DTENSOR, "a=2,b=4", 1, "[Partial(), torch.distributed.tensor.Shard(-1)]",
			"{\"dims\":[[\"b\"]],\"open\":[false],\"priority\":[0],\"replicated\":[],\"unreduced\":"
			"[\"a\"]}"},
		{NOTATION_SBP, "a=2,b=4", 1,
			"flow.placement(type=\"cuda\", ranks=[[0, 4], [1, 5], [2, 6], [3, 7]]), "
			"sbp=[flow.sbp.split(0), flow.sbp.split(0)]",
			"[[\"b\",\"a\"]]"},
		{NOTATION_SBP, "a=2,b=4", 1,
			"placement=oneflow.placement(\"cpu\", [[0, 1, 2, 3], [4, 5, 6, 7]]), [B, P]",
			"{\"dims\":[[]],\"open\":[false],\"priority\":[0],\"replicated\":[],\"unreduced\":["
			"\"b\"]}"},
		{NOTATION_SBP, "a=2,b=4", 2,
			"{\"sbp_parallel\":[{\"split_parallel\":{\"axis\":\"1\"}},{\"broadcast_parallel\":{}}]"
			"}",
			"[[],[\"a\"]]"},
		{NOTATION_SBP, "a=2", 1, "[{\"partial_sum_parallel\":{}}]",
			"{\"dims\":[[]],\"open\":[false],\"priority\":[0],\"replicated\":[],\"unreduced\":["
			"\"a\"]}"},
		{NOTATION_SBP, "a=2", 1, "[flow.sbp.partial_max()]",
			"{\"dims\":[[]],\"open\":[false],\"priority\":[0],\"replicated\":[],\"unreduced\":["
			"\"a\"],\"reduction\":\"max\"}"},
		{NOTATION_DTENSOR, "a=2,b=4", 1, "[_StridedShard(dim=0, sf=4), Shard(dim=0)]",
			"[[\"b\",\"a\"]]"},
		{NOTATION_DTENSOR, "a=2,b=4", 1, "[_StridedShard(0, split_factor=2), Shard(0)]",
			"[[\"b:(1)2\",\"a\",\"b:(2)2\"]]"},
		{NOTATION_DTENSOR, "a=2,b=4", 1,
			"DeviceMesh(\"cuda\", [[0, 2, 4, 6], [1, 3, 5, 7]], mesh_dim_names=(\"x\", \"y\")), "
			"[Shard(0), Replicate()]",
			"[[\"b:(2)2\"]]"},
		{NOTATION_DTENSOR, "a=2", 1, "[Partial(\"avg\")]",
			"{\"dims\":[[]],\"open\":[false],\"priority\":[0],\"replicated\":[],\"unreduced\":["
			"\"a\"],\"reduction\":\"avg\"}"},
		{NOTATION_GSPMD, "a=2,b=4", 2, "{manual}", "{\"dims\":[[],[]],\"manual\":[\"a\",\"b\"]}"},
		{NOTATION_GSPMD, "a=2,b=4", 2, "{devices=[2,1,4]<=[8] last_tile_dims={manual}}",
			"{\"dims\":[[\"a\"],[]],\"manual\":[\"b\"]}"},
		{NOTATION_GSPMD, "a=2,b=4", 1, "{unknown}",
			"{\"dims\":[[]],\"open\":[true],\"priority\":[0],\"replicated\":[],\"unreduced\":[]}"},
		{NOTATION_MINDSPORE, "a=2,b=4", 2,
			"Layout((2, 4, 2), ('a', 'b', 'interleaved_parallel'))(('a', 'interleaved_parallel'), "
			"'b')",
			"[[\"a\"],[\"b\"]]"},
		{NOTATION_DTENSOR, "a=2", 1, "[Partial(reduce_op='sum')]",
			"{\"dims\":[[]],\"open\":[false],\"priority\":[0],\"replicated\":[],\"unreduced\":["
			"\"a\"]}"},
	};
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		tensor_spec e;
		parse(lines[i].n, mesh_of(lines[i].mesh), lines[i].rank, lines[i].text, &e);
		print(NOTATION_JSON, &e, lines[i].json);
	}
}
END_TEST

START_TEST(printed)
{
	static const struct line lines[] = {
		{NOTATION_SDY, "a=2,b=4", 2, "#sdy.sharding<@mesh, [{\"a\"}, {\"b\":(1)2}]>",
			"[[\"a\"],[\"b:(1)2\"]]"},
		{NOTATION_GSPMD, "a=2,b=4", 2, "{devices=[2,2,2]<=[8] last_tile_dim_replicate}",
			"[[\"a\"],[\"b:(1)2\"]]"},
		{NOTATION_GSPMD, "a=2,b=4", 2, "{devices=[2,1,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}",
			"[[\"b:(1)2\"],[]]"},
		{NOTATION_GSPMD, "<[\"a\"=2, \"b\"=2], device_ids=[0, 2, 1, 3]>", 2, "{devices=[2,2]<=[4]}",
			"[[\"a\"],[\"b\"]]"},
		{NOTATION_GSPMD, "a=1,b=1", 1, "{replicated}", "[[\"a\",\"b\"]]"},
		{NOTATION_GSPMD, "a=2,b=4", 2, "{devices=[2,1,4]<=[8] last_tile_dims={manual}}",
			"{\"dims\":[[\"a\"],[]],\"manual\":[\"b\"]}"},
		{NOTATION_GSPMD, "a=2,b=4", 1, "{manual}", "{\"dims\":[[]],\"manual\":[\"a\",\"b\"]}"},
		{NOTATION_GSPMD, "a=2,b=2,c=2", 1,
			"{devices=[1,2,2,2]<=[2,4]T(1,0) last_tile_dims={unreduced, manual, replicated}}",
			"{\"dims\":[[]],\"unreduced\":[\"b\"],\"manual\":[\"c\"]}"},
		{NOTATION_GSPMD, "a=2", 2, "{unknown}", "{\"dims\":[[],[]],\"open\":[true,true]}"},
		{NOTATION_GSPMD, "<[\"a\"=2, \"b\"=4], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]>", 2,
			"{devices=[4,2]<=[2,4]T(1,0)}", "[[\"b\"],[\"a\"]]"},
		{NOTATION_SBP, "a=2,b=4", 1,
			"placement(type=\"cuda\", ranks=[[0, 4], [1, 5], [2, 6], [3, 7]]), [S(0), S(0)]",
			"[[\"b\",\"a\"]]"},
		{NOTATION_SBP, "a=2", 1, "[P(max)]",
			"{\"dims\":[[]],\"unreduced\":[\"a\"],\"reduction\":\"max\"}"},
		{NOTATION_DTENSOR, "a=2,b=4", 1, "[_StridedShard(0, split_factor=4), Shard(0)]",
			"[[\"b\",\"a\"]]"},
		{NOTATION_DTENSOR, "a=2,b=4", 1, "[_StridedShard(0, split_factor=2), Shard(0)]",
			"[[\"b:(1)2\",\"a\",\"b:(2)2\"]]"},
		{NOTATION_DTENSOR, "a=2,b=4", 1,
			"DeviceMesh(\"cuda\", [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]), [Replicate(), "
			"Replicate(), Shard(0)]",
			"[[\"b:(2)2\"]]"},
		{NOTATION_JAX, "data=2,model=2,stage=2", 3,
			"PartitionSpec('data', None, ('model', 'stage'))",
			"[[\"data\"],[],[\"model\",\"stage\"]]"},
		{NOTATION_JAX, "a=2", 1, "PartitionSpec(PartitionSpec.UNCONSTRAINED)",
			"{\"dims\":[[]],\"open\":[true]}"},
		{NOTATION_MINDSPORE, "a=2,b=4", 2, "Layout((2, 4), (\"a\", \"b\"))(\"b\", \"None\")",
			"[[\"b\"],[]]"},
		{NOTATION_MINDSPORE, "a=2,b=8", 2,
			"Layout((2, 2, 2, 2), (\"a\", \"b_1\", \"b_2\", \"b_3\"))((\"b_2\", \"a\"), \"None\")",
			"[[\"b:(2)2\",\"a\"],[]]"},
		{NOTATION_MINDSPORE, "a=4,a_1=2", 1,
			"Layout((2, 2, 2), (\"a__1\", \"a_2\", \"a_1\"))(\"a__1\")", "[[\"a:(1)2\"]]"},
		{NOTATION_MINDSPORE, "a=4", 0, "Layout((4,), (\"a\",))()", "[]"},
		{NOTATION_SBP, "a=2,b=4", 2, "[S(0), B]", "[[\"a\"],[]]"},
		{NOTATION_SBP, "a=2,b=4", 1, "[S(0), P]", "{\"dims\":[[\"a\"]],\"unreduced\":[\"b\"]}"},
		{NOTATION_SBP, "a=2,b=1", 1, "[S(0), S(0)]", "[[\"b\",\"a\"]]"},
		{NOTATION_DTENSOR, "a=2,b=4", 1, "[Shard(0), Partial(\"sum\")]",
			"{\"dims\":[[\"a\"]],\"unreduced\":[\"b\"]}"},
		{NOTATION_DTENSOR, "a=2,b=4", 1, "[Replicate(), Replicate()]",
			"{\"dims\":[[]],\"replicated\":[\"b\"]}"},
	};
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		tensor_spec e;
		parse(NOTATION_JSON, mesh_of(lines[i].mesh), lines[i].rank, lines[i].json, &e);
		print(lines[i].n, &e, lines[i].text);
	}
	tensor_spec e = {0};
	sharding_edit_init(&e.e, mesh_of("<[], device_ids=[3]>"), 0, true);
	print(NOTATION_GSPMD, &e, "{maximal device=3}");
	parse(NOTATION_GSPMD, e.e.mesh, 0, "{maximal device=3}", &e);
	print(NOTATION_SDY, &e, "#sdy.sharding<mesh<[], device_ids=[3]>, []>");
	print(NOTATION_SBP, &e, "placement(type=\"cuda\", ranks=[3]), [B]");
	print(NOTATION_DTENSOR, &e, "DeviceMesh(\"cuda\", [3]), [Replicate()]");
	/* a mesh of eight, one of which holds all */
	parse(NOTATION_GSPMD, mesh_of("a=2,b=4"), 2, "{maximal device=5}", &e);
	print(NOTATION_SBP, &e, "placement(type=\"cuda\", ranks=[5]), [B]");
	parse(NOTATION_SBP, mesh_of("a=2,b=4"), 2, "placement(\"cpu\", [5]), sbp=[B]", &e);
	print(NOTATION_GSPMD, &e, "{maximal device=5}");
}
END_TEST

START_TEST(no_words_for_it)
{
	static const struct {
		notation n;
		const char *json, *words;
	} lines[] = {
		{NOTATION_GSPMD, "{\"dims\":[[\"a\"]],\"open\":[true]}", "dimension 0 is open"},
		{NOTATION_GSPMD, "{\"dims\":[[\"a\"]],\"priority\":[2]}", "dimension 0 has priority 2"},
		{NOTATION_JAX, "[[\"b:(1)2\"]]", "no sub-axes like \"b\":(1)2"},
		{NOTATION_JAX, "{\"dims\":[[\"a\"]],\"open\":[true]}",
			"dimension 0 has axes and is open to more"},
		{NOTATION_JAX, "{\"dims\":[[]],\"open\":[true],\"replicated\":[\"a\"]}",
			"replicated beside open"},
		{NOTATION_MINDSPORE, "{\"dims\":[[]],\"unreduced\":[\"a\"]}", "unreduced"},
		{NOTATION_SDY, "{\"dims\":[[]],\"unreduced\":[\"a\"],\"reduction\":\"max\"}",
			"combined by max"},
		{NOTATION_GSPMD, "{\"dims\":[[]],\"unreduced\":[\"a\"],\"reduction\":\"min\"}",
			"combined by min"},
		{NOTATION_JAX, "{\"dims\":[[\"a\"]],\"manual\":[\"b\"]}", "axes are manual"},
		{NOTATION_SBP, "{\"dims\":[[]],\"open\":[true]}", "dimension 0 is open"},
		{NOTATION_DTENSOR, "{\"dims\":[[]],\"manual\":[\"b\"]}", "axes are manual"},
	};
	mesh_id m = mesh_of("a=2,b=4");
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		tensor_spec e;
		strbuf b;
		diag d = {0};
		strbuf_init(&b);
		parse(NOTATION_JSON, m, 1, lines[i].json, &e);
		ck_assert_int_eq(notation_print(t, lines[i].n, &e, &b, &d), ST_ERR_UNSUPPORTED);
		ck_assert_msg(
			strstr(d.msg, lines[i].words) && strstr(d.msg, notation_name(lines[i].n)), "%s", d.msg);
		strbuf_release(&b);
	}
}
END_TEST

START_TEST(bad_text)
{
	static const struct {
		notation n;
		const char *text;
		status code;
		uint32_t col;
		const char *words;
	} lines[] = {
		{NOTATION_SDY, "", ST_ERR_PARSE, 1, "'<'"},
		{NOTATION_SDY, "[{\"a\"}, {\"z\"}]", ST_ERR_INVALID, 10, "unknown axis name: \"z\""},
		{NOTATION_SDY, "#sdy.sharding<@mesh, [{\"a\"}, {\"z\"}]>", ST_ERR_INVALID, 31,
			"unknown axis name: \"z\""},
		{NOTATION_SDY, "[{}]", ST_ERR_INVALID, 1, "1 dimensions, the tensor has 2"},
		{NOTATION_SDY, "<mesh<[\"q\"=2]>, [{}, {}]>", ST_ERR_INVALID, 1, "another mesh"},
		{NOTATION_GSPMD, "", ST_ERR_PARSE, 1, "'{'"},
		{NOTATION_GSPMD, "{", ST_ERR_PARSE, 2, "devices"},
		{NOTATION_GSPMD, "{{replicated}}", ST_ERR_UNSUPPORTED, 2, "tuple"},
		{NOTATION_GSPMD, "{replicated} x", ST_ERR_PARSE, 14, "end"},
		{NOTATION_GSPMD, "{devices=[2,2]<=[4]}", ST_ERR_INVALID, 11, "4 devices, the mesh has 8"},
		{NOTATION_GSPMD, "{devices=[0,8]<=[8]}", ST_ERR_INVALID, 11, "is 0"},
		{NOTATION_GSPMD, "{devices=[2,4]<=[4]}", ST_ERR_INVALID, 18, "4 devices, the mesh has 8"},
		{NOTATION_GSPMD, "{devices=[2,4]<=[2,4]T(0,0)}", ST_ERR_INVALID, 24, "order"},
		{NOTATION_GSPMD, "{devices=[2,4]<=[2,4]T(0,2)}", ST_ERR_INVALID, 24, "order"},
		{NOTATION_GSPMD, "{devices=[2,4]0,1,2}", ST_ERR_INVALID, 15, "3 devices"},
		{NOTATION_GSPMD, "{devices=[2,4]0,1,2,3,3,4,5,6}", ST_ERR_INVALID, 23,
			"device 3 is listed twice"},
		{NOTATION_GSPMD, "{devices=[2,4]0,1,2,3,8,4,5,6}", ST_ERR_INVALID, 23,
			"device 8 is not in the mesh"},
		{NOTATION_GSPMD, "{devices=[2,4]1,0,2,3,4,5,6,7}", ST_ERR_UNSUPPORTED, 9, "dimension 1"},
		{NOTATION_GSPMD, "{devices=[8]<=[8]}", ST_ERR_INVALID, 11,
			"1 dimensions, the tensor has 2"},
		{NOTATION_GSPMD, "{devices=[2,1,4]<=[8] last_tile_dims={maximal}}", ST_ERR_PARSE, 39,
			"manual"},
		{NOTATION_GSPMD, "{devices=[8]<=[8] last_tile_dims={replicated, replicated}}",
			ST_ERR_INVALID, 47, "more last_tile_dims"},
		{NOTATION_GSPMD, "{maximal device=8}", ST_ERR_INVALID, 17, "device 8 is not in the mesh"},
		{NOTATION_GSPMD, "{devices=[99999999999999999999,2]<=[8]}", ST_ERR_PARSE, 11,
			"whole number"},
		{NOTATION_GSPMD, "{devices=[4294967296,4294967296,4294967296]<=[8]}", ST_ERR_INVALID, 11,
			"the mesh has 8"},
		{NOTATION_JAX, "Q('a')", ST_ERR_PARSE, 1, "PartitionSpec"},
		{NOTATION_JAX, "P('z')", ST_ERR_INVALID, 3, "unknown axis name: \"z\""},
		{NOTATION_JAX, "P('a', 'a')", ST_ERR_INVALID, 1, "duplicate axis ref: \"a\""},
		{NOTATION_JAX, "P(None, None, 'a')", ST_ERR_INVALID, 15, "more entries"},
		{NOTATION_JAX, "P('a", ST_ERR_PARSE, 3, "closing quote"},
		{NOTATION_JAX, "P('a'", ST_ERR_PARSE, 6, "')'"},
		{NOTATION_JAX, "P(3)", ST_ERR_PARSE, 3, "None"},
		{NOTATION_JAX, "P(reduced={'a'})", ST_ERR_UNSUPPORTED, 3, "expected"},
		{NOTATION_MINDSPORE, "Layout((2, 2), ('a', 'b'))('a', 'b')", ST_ERR_INVALID, 8,
			"4 devices, the mesh has 8"},
		{NOTATION_MINDSPORE, "Layout((2, 4), ('a',))('a', 'b')", ST_ERR_INVALID, 16,
			"1 alias names for 2"},
		{NOTATION_MINDSPORE, "Layout((2, 4), ('a', 'a'))('a', 'b')", ST_ERR_INVALID, 22,
			"duplicate"},
		{NOTATION_MINDSPORE, "Layout((2, 4), ('a', 'b'))('a', 'a')", ST_ERR_INVALID, 33, "twice"},
		{NOTATION_MINDSPORE, "Layout((2, 4), ('a', 'b'))('a', 'c')", ST_ERR_INVALID, 33,
			"unknown alias"},
		{NOTATION_MINDSPORE, "Layout((2, 4), ('a', 'b'))('a')", ST_ERR_INVALID, 27, "1 entries"},
		{NOTATION_MINDSPORE, "Layout((4, 2), ('a', 'b'), rank_list=[0,1,2,3,4,5,7,6])('a', 'b')",
			ST_ERR_UNSUPPORTED, 1, "dimension 1"},
		{NOTATION_SBP, "[S(0)]", ST_ERR_INVALID, 2, "1 words for a mesh of 2"},
		{NOTATION_SBP, "[S(0), B, B]", ST_ERR_INVALID, 11, "more words"},
		{NOTATION_SBP, "[S(2), B]", ST_ERR_INVALID, 4, "dimension 2"},
		{NOTATION_SBP, "[S(-3), B]", ST_ERR_INVALID, 4, "dimension -3"},
		{NOTATION_SBP, "[X, B]", ST_ERR_PARSE, 2, "S(dim), B or P"},
		{NOTATION_SBP, "[B, B", ST_ERR_PARSE, 6, "']'"},
		{NOTATION_SBP, "", ST_ERR_INVALID, 1, "0 words"},
		{NOTATION_SBP, "[S(0), P(norm)]", ST_ERR_PARSE, 10, "expected a reduction"},
		{NOTATION_SBP, "[P(min), P(max)]", ST_ERR_UNSUPPORTED, 10,
			"partial by max beside partial by min"},
		{NOTATION_SBP, "placement(type=\"cuda\", ranks=[[0, 1], [2]]), [B, B]", ST_ERR_INVALID, 39,
			"1 elements beside one of 2"},
		{NOTATION_SBP, "placement(type=\"cuda\", ranks=[0, 1, 2]), [B]", ST_ERR_INVALID, 30,
			"3 devices are listed, the mesh has 8"},
		{NOTATION_SBP, "placement(\"cuda\", [0,1,2,3,4,5,6,6]), [B]", ST_ERR_INVALID, 19,
			"device 6 is listed twice"},
		{NOTATION_SBP, "placement(\"cuda\", [0,1,2,3,4,5,6,8]), [B]", ST_ERR_INVALID, 19,
			"device 8 is not in the mesh"},
		{NOTATION_SBP, "placement(\"cuda\", [[0],1]), [B]", ST_ERR_PARSE, 24, "expected a list"},
		{NOTATION_SBP, "placement(\"cuda\", [0,[1]]), [B]", ST_ERR_PARSE, 22,
			"expected a device number"},
		{NOTATION_SBP, "placement(\"cuda\", []), [B]", ST_ERR_INVALID, 19, "empty list"},
		{NOTATION_SBP, "placement(\"cuda\", [[0,1,2,3],[4,5,6,7]]), [S(0)]", ST_ERR_INVALID, 44,
			"1 words for a mesh of 2"},
		{NOTATION_SBP, "[{\"split_parallel\":{\"axis\":\"2\"}}, B]", ST_ERR_INVALID, 28,
			"dimension 2"},
		{NOTATION_SBP, "[{\"cut\":{}}, B]", ST_ERR_PARSE, 3, "split_parallel"},
		{NOTATION_DTENSOR, "[Partial(norm), Replicate()]", ST_ERR_PARSE, 10,
			"expected a reduction"},
		{NOTATION_DTENSOR, "[_StridedShard(dim=0, sf=2), Replicate()]", ST_ERR_UNSUPPORTED, 2,
			"separate slices"},
		{NOTATION_DTENSOR, "[_StridedShard(0, split_factor=3), Shard(0)]", ST_ERR_UNSUPPORTED, 2,
			"separate slices"},
		{NOTATION_DTENSOR, "[_StridedShard(0, split_factor=0), Shard(0)]", ST_ERR_INVALID, 32,
			"is 0"},
		{NOTATION_DTENSOR, "[_StridedShard(0), Shard(0)]", ST_ERR_PARSE, 17, "split factor"},
		{NOTATION_MINDSPORE, "Layout((8, 2), ('interleaved_parallel', 'a'))('a', 'None')",
			ST_ERR_INVALID, 41, "last alias"},
		{NOTATION_MINDSPORE,
			"Layout((8, 2), ('a', 'interleaved_parallel'))(('interleaved_parallel', 'a'), 'None')",
			ST_ERR_UNSUPPORTED, 72, "separate slices"},
	};
	mesh_id m = mesh_of("a=2,b=4");
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		tensor_spec e;
		diag d = {0};
		status s = notation_parse(t, lines[i].n, m, 2, str_of(lines[i].text), &e, &d);
		ck_assert_msg(s == lines[i].code, "%s: %s %s", lines[i].text, status_name(s), d.msg);
		ck_assert_msg(strstr(d.msg, lines[i].words), "%s: '%s' does not say '%s'", lines[i].text,
			d.msg, lines[i].words);
		ck_assert_msg(d.line == 1 && d.col == lines[i].col, "%s: at %u:%u: %s", lines[i].text,
			d.line, d.col, d.msg);
	}
}
END_TEST

/* Every prefix of good texts and every good text with one byte changed is read or refused, nothing
 * else. */
START_TEST(damaged_text)
{
	static const struct line lines[] = {
		{NOTATION_JSON, "a=2,b=4", 2,
			"{\"dims\":[[\"a\"],[\"b:(2)2\"]],\"open\":[true,false],\"priority\":[1,0]}", NULL},
		{NOTATION_SDY, "a=2,b=4", 2,
			"#sdy.sharding<@mesh, [{\"a\", ?}p1, {\"b\":(1)2}], replicated={\"b\":(2)2}>", NULL},
		{NOTATION_GSPMD, "a=2,b=4", 2, "{devices=[2,1,4]<=[2,4]T(1,0) last_tile_dims={unreduced}}",
			NULL},
		{NOTATION_GSPMD, "a=2,b=4", 2, "{devices=[2,4]0,1,2,3,4,5,6,7}", NULL},
		{NOTATION_JAX, "a=2,b=4", 2, "PartitionSpec('a', ('b',), unreduced={})", NULL},
		{NOTATION_MINDSPORE, "a=2,b=4", 2,
			"Layout((2, 4), ('a', 'b'), rank_list=[0,1,2,3,4,5,6,7])(('a', 'b'), 'None')", NULL},
		{NOTATION_SBP, "a=2,b=4", 2, "[S(0), P]", NULL},
		{NOTATION_SBP, "a=2,b=4", 2,
			"placement(type=\"cuda\", ranks=[[0, 4], [1, 5], [2, 6], [3, 7]]), sbp=[S(0), "
			"{\"split_parallel\":{\"axis\":\"0\"}}]",
			NULL},
		{NOTATION_DTENSOR, "a=2,b=4", 2, "[Shard(dim=0), Partial(reduce_op='sum')]", NULL},
		{NOTATION_DTENSOR, "a=2,b=4", 2,
			"DeviceMesh(\"cuda\", [[0, 1, 2, 3], [4, 5, 6, 7]]), [_StridedShard(0, sf=2), "
			"Shard(0)]",
			NULL},
	};
	static const char bytes[] = "\"'()[]{}<>=,:-?pT09 \\a\x01\x80";
	uint32_t tried = 0;
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		mesh_id m = mesh_of(lines[i].mesh);
		size_t n = strlen(lines[i].text);
		char *text = malloc(n); /* exactly as long as the view */
		tensor_spec e;
		for (size_t at = 0; at < n; at++) {
			memcpy(text, lines[i].text, n);
			ck_assert_int_ne(notation_parse(t, lines[i].n, m, 2, (str){text, at}, &e, NULL), ST_OK);
			for (size_t b = 0; b < sizeof bytes; b++) {
				text[at] = bytes[b];
				diag d = {0};
				status s = notation_parse(t, lines[i].n, m, 2, (str){text, n}, &e, &d);
				ck_assert((s == ST_OK) == (d.code == ST_OK));
				tried++;
			}
		}
		free(text);
	}
	ck_assert_uint_gt(tried, 5000);
}
END_TEST

START_TEST(names)
{
	for (int i = 0; i < NOTATION_COUNT; i++) {
		notation n;
		ck_assert(notation_find(notation_name((notation)i), &n) && n == (notation)i);
		ck_assert_uint_gt(strlen(notation_summary((notation)i)), 10);
	}
	notation n;
	ck_assert(!notation_find("torch", &n));
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("notation");
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, as_jax_does);
	tcase_add_test(c, as_frameworks_do);
	tcase_add_test(c, sizes_that_do_not_divide);
	tcase_add_test(c, tuples);
	tcase_add_test(c, every_device_keeps_its_slice);
	tcase_add_test(c, orders_that_no_axes_give);
	tcase_add_test(c, spellings);
	tcase_add_test(c, printed);
	tcase_add_test(c, no_words_for_it);
	tcase_add_test(c, bad_text);
	tcase_add_test(c, damaged_text);
	tcase_add_test(c, names);
	return run_suite(c, "notation");
}
