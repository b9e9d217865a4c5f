/* MindSpore's two methods on all examples of its document: the visual one, step by step, and the
 * list one's slice numbers. */
#include "layout/layout.h"
#include "tests/golden/layout_examples.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

static sharding_table *t;
static layout l;
static layout_steps s;
static tensor_spec spec;

static void make(const char *shape_text, const char *text)
{
	mesh_id mesh;
	diag d = {0};
	int64_t shape[MAX_RANK];
	uint32_t rank = 0;
	for (char *p = (char *)shape_text; *p; p += *p == 'x')
		shape[rank++] = strtoll(p, &p, 10);
	t = sharding_table_new();
	ck_assert_msg(mindspore_mesh(t, str_of(text), &mesh, &d) == ST_OK, "%s: %s", text, d.msg);
	ck_assert_msg(
		notation_parse(t, NOTATION_MINDSPORE, mesh, rank, str_of(text), &spec, &d) == ST_OK,
		"%s: %s", text, d.msg);
	ck_assert_msg(
		layout_init_cut(&l, t, &spec, shape, rank, notation_cut(NOTATION_MINDSPORE), &d) == ST_OK,
		"%s: %s", text, d.msg);
	layout_steps_of(&l, &spec.e, &s);
}

static void drop(void)
{
	layout_release(&l);
	sharding_table_unref(t);
}

static void add_tuple(const int64_t *v, uint32_t n, strbuf *out)
{
	strbuf_putc(out, '(');
	for (uint32_t i = 0; i < n; i++)
		strbuf_printf(out, "%s%lld", i ? "," : "", (long long)v[i]);
	strbuf_putc(out, ')');
}

/* Both methods: what the steps leave every rank is what the layout says, and what the document
 * says. */
START_TEST(examples)
{
	ck_assert_uint_eq(COUNT_OF(layout_examples), 10);
	for (size_t i = 0; i < COUNT_OF(layout_examples); i++) {
		strbuf got;
		strbuf_init(&got);
		make(layout_examples[i].shape, layout_examples[i].layout);
		for (int64_t p = 0; p < l.n_devices; p++) {
			int64_t v[MAX_RANK];
			index_range r[MAX_RANK], direct[MAX_RANK];
			ck_assert(layout_held_after(&s, s.n, p));
			ck_assert_int_eq(layout_slice_after(&s, s.n, p), layout_slice_number(&l, p));
			strbuf_printf(&got, "%lld ", (long long)layout_device_at(&l, p));
			layout_coordinates(&l, p, v);
			add_tuple(v, l.n_axes, &got);
			strbuf_putc(&got, ' ');
			layout_indices(&l, p, v);
			add_tuple(v, l.rank, &got);
			strbuf_printf(&got, " %lld [", (long long)layout_slice_number(&l, p));
			layout_ranges_after(&s, s.n, p, r);
			layout_ranges(&l, p, direct);
			for (uint32_t d = 0; d < l.rank; d++) {
				ck_assert(r[d].begin == direct[d].begin && r[d].end == direct[d].end);
				strbuf_printf(
					&got, "%s%lld:%lld", d ? "," : "", (long long)r[d].begin, (long long)r[d].end);
			}
			strbuf_puts(&got, "]\n");
		}
		ck_assert_msg(strcmp(got.p, layout_examples[i].rows) == 0, "%s:\n%s\n%s",
			layout_examples[i].name, got.p, layout_examples[i].rows);
		strbuf_release(&got);
		drop();
	}
}
END_TEST

/* The table of the examples (seeds.md 2.4): cuts from left to right, copies from right to left, and
 * who holds something in between. */
START_TEST(order)
{
	static const struct {
		const char *name, *steps, *held;
	} lines[] = {
		{"1.x", "axis_0 cuts dimension 0 into 2; axis_1 cuts dimension 1 into 4", NULL},
		{"2.x",
			"axis_2 cuts dimension 0 into 2; axis_0 cuts dimension 1 into 2; axis_1 copies 2 times",
			"0 1 4 5"},
		{"3.1", "axis_1 cuts dimension 0 into 4; axis_0 cuts dimension 1 into 2", NULL},
		{"3.2", "axis_1 cuts dimension 0 into 2; axis_0 copies 4 times", "0 1"},
		{"3.3", "axis_0 cuts dimension 0 into 2; axis_2 cuts dimension 1 into 4", NULL},
		{"3.4", "axis_1 cuts dimension 1 into 2; axis_2 copies 2 times; axis_0 copies 2 times",
			"0 2"},
		{"3.5 (text)",
			"axis_1 cuts dimension 0 into 2; axis_0 cuts dimension 1 into 2; axis_2 cuts dimension "
			"2 into 2",
			NULL},
		{"3.5 (table row)",
			"axis_1 cuts dimension 0 into 2; axis_2 cuts dimension 1 into 2; axis_0 cuts dimension "
			"2 into 2",
			NULL},
		{"3.6", "axis_0 cuts dimension 1 into 2; axis_2 copies 2 times; axis_1 copies 2 times",
			"0 4"},
		{"3.7",
			"axis_2 cuts dimension 1 into 2; axis_1 cuts dimension 2 into 2; axis_3 copies 2 "
			"times; axis_0 copies 2 times",
			"0 2 4 6"},
	};
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		strbuf got, held;
		uint32_t cuts = 0;
		strbuf_init(&got);
		strbuf_init(&held);
		make(layout_examples[i].shape, layout_examples[i].layout);
		ck_assert_str_eq(layout_examples[i].name, lines[i].name);
		for (uint32_t k = 1; k <= s.n; k++) {
			strbuf_puts(&got, k > 1 ? "; " : "");
			layout_step_text(&s, k, &got);
			cuts += s.at[k - 1].dim != ID_NONE;
		}
		ck_assert_str_eq(got.p, lines[i].steps);
		for (int64_t p = 0; p < l.n_devices; p++) {
			ck_assert_int_eq(layout_held_after(&s, 0, p), p == 0);
			if (layout_held_after(&s, cuts, p))
				strbuf_printf(&held, "%s%lld", held.n ? " " : "", (long long)p);
		}
		ck_assert_msg(lines[i].held ? strcmp(held.p, lines[i].held) == 0 : cuts == s.n, "%s: %s",
			lines[i].name, held.p);
		strbuf_release(&got);
		strbuf_release(&held);
		drop();
	}
}
END_TEST

/* One axis of a rank list in another order, axes that cut one dim together, and parts of axes. */
START_TEST(other_layouts)
{
	make("8", "Layout((2, 4), ('a', 'b'), rank_list=[7, 6, 5, 4, 3, 2, 1, 0])(('b', 'a'))");
	ck_assert_uint_eq(s.n, 2);
	ck_assert_int_eq(layout_device_at(&l, 0), 7);
	for (int64_t p = 0; p < 8; p++) {
		index_range r[1];
		layout_ranges_after(&s, 1, p, r);
		ck_assert_int_eq(r->end - r->begin, 2);
		layout_ranges_after(&s, 2, p, r);
		ck_assert_int_eq(r->begin, p % 4 * 2 + p / 4);
	}
	strbuf b;
	diag d = {0};
	strbuf_init(&b);
	ck_assert_int_eq(layout_steps_text(&s, &b, &d), ST_OK);
	ck_assert_ptr_nonnull(strstr(b.p, "step 0: the whole tensor is on device 7"));
	strbuf_release(&b);
	drop();
}
END_TEST

START_TEST(bad_meshes)
{
	static const struct {
		const char *text, *words;
		uint32_t col;
	} lines[] = {
		{"", "expected '['", 1},
		{"Layout((0, 2), ('a', 'b'))('a', 'b')", "expected at least 1", 8},
		{"Layout((2, 2), ('a'))('a', 'b')", "1 alias names for 2", 16},
		{"Layout((2, 2), ('a', 'b'), [0, 1, 2])('a', 'b')", "3 ranks are listed, the mesh has 4",
			28},
		{"Layout((4294967296, 4294967296), ('a', 'b'))('a', 'b')", "takes the mesh beyond", 8},
	};
	t = sharding_table_new();
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		mesh_id mesh;
		diag d = {0};
		ck_assert_int_ne(mindspore_mesh(t, str_of(lines[i].text), &mesh, &d), ST_OK);
		ck_assert_msg(strstr(d.msg, lines[i].words) && d.col == lines[i].col, "%s: %u %s",
			lines[i].text, d.col, d.msg);
	}
	sharding_table_unref(t);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("steps");
	tcase_add_test(c, examples);
	tcase_add_test(c, order);
	tcase_add_test(c, other_layouts);
	tcase_add_test(c, bad_meshes);
	return run_suite(c, "steps");
}
