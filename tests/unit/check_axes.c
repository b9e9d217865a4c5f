/* The algebra on axis references against a model: an axis is written as a chain of prime digits, a
 * reference is the set of digits it covers, and every helper becomes an operation on such sets. */
#include "ir/ir.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

enum { MAX_DIGITS = 8, MAX_REFS_OF_AXIS = 128 };

/* Divisors d[0] = 1 | d[1] | .. | d[n] = size, each the one before times a prime. */
struct chain {
	int64_t d[MAX_DIGITS];
	uint32_t n;
};

static bool is_prime(int64_t v)
{
	for (int64_t p = 2; p * p <= v; p++)
		if (v % p == 0)
			return false;
	return v > 1;
}

typedef void chain_fn(const struct chain *c, void *arg);

static void each_chain(int64_t size, struct chain *c, chain_fn *fn, void *arg)
{
	if (c->d[c->n] == size) {
		fn(c, arg);
		return;
	}
	for (int64_t p = 2; p <= size; p++)
		if (is_prime(p) && size % (c->d[c->n] * p) == 0) {
			c->d[c->n + 1] = c->d[c->n] * p;
			c->n++;
			each_chain(size, c, fn, arg);
			c->n--;
		}
}

static int place(const struct chain *c, int64_t divisor)
{
	for (uint32_t i = 0; i <= c->n; i++)
		if (c->d[i] == divisor)
			return (int)i;
	return -1;
}

/* Digits of a reference as bits, major digit lowest; false when an end of it is not in the chain.
 */
static bool digits_of(const struct chain *c, axis_ref a, uint32_t *out)
{
	int from = place(c, axis_pre(a)), to = place(c, axis_next_pre(a));
	if (from < 0 || to < 0)
		return false;
	*out = (1u << to) - (1u << from);
	return true;
}

/* The reference that covers a run of digits; false for none or for digits with a gap. */
static bool ref_of(const struct chain *c, uint32_t axis, uint32_t digits, axis_ref *out)
{
	if (!digits)
		return false;
	uint32_t from = (uint32_t)__builtin_ctz(digits), to = 32 - (uint32_t)__builtin_clz(digits);
	if (digits != (1u << to) - (1u << from))
		return false;
	*out = axis_make(axis, c->d[from], c->d[to] / c->d[from]);
	return true;
}

static uint32_t all_refs(int64_t size, axis_ref *out)
{
	uint32_t n = 0;
	for (int64_t pre = 1; pre <= size; pre++)
		for (int64_t s = 2; pre * s <= size; s++)
			if (size % (pre * s) == 0)
				out[n++] = axis_make(3, pre, s);
	return n;
}

struct pair {
	axis_ref a, b;
	uint32_t common_chains;
};

static void same(bool got, axis_ref got_ref, bool want, axis_ref want_ref)
{
	ck_assert_int_eq(got, want);
	if (want)
		ck_assert_uint_eq(got_ref, want_ref);
}

static void compare_pair(const struct chain *c, void *arg)
{
	struct pair *p = arg;
	uint32_t a, b;
	if (!digits_of(c, p->a, &a) || !digits_of(c, p->b, &b))
		return;
	p->common_chains++;
	axis_ref got = 0, want = 0;
	bool ok, model;
	uint32_t low_b = (uint32_t)__builtin_ctz(b), high_b = 32 - (uint32_t)__builtin_clz(b);

	ck_assert_int_eq(axis_overlaps(p->a, p->b), (a & b) != 0);
	ck_assert_int_eq(axis_contains(p->a, p->b), (a & b) == b);
	ck_assert_int_eq(axis_is_prefix(p->a, p->b), (a & b) == a && (a & -a) == (b & -b));
	ok = axis_overlap(p->a, p->b, &got);
	model = ref_of(c, 3, a & b, &want);
	same(ok, got, model, want);
	ok = axis_common_prefix(p->a, p->b, &got);
	model = (a & -a) == (b & -b) && ref_of(c, 3, a & b, &want);
	same(ok, got, model, want);
	ok = axis_prefix_without_overlap(p->a, p->b, &got);
	model = ref_of(c, 3, a & b ? a & ((1u << low_b) - 1) : a, &want);
	same(ok, got, model, want);
	ok = axis_suffix_without_overlap(p->a, p->b, &got);
	model = ref_of(c, 3, a & b ? a & ~((1u << high_b) - 1) : a, &want);
	same(ok, got, model, want);
	ok = axis_can_merge(p->a, p->b);
	model = !(a & b) && (a + (a & -a)) == (b & -b) && ref_of(c, 3, a | b, &want);
	ck_assert_int_eq(ok, model);
	if (ok)
		ck_assert_uint_eq(axis_merge(p->a, p->b), want);
}

START_TEST(pairs_of_one_axis)
{
	static const int64_t sizes[] = {2, 3, 4, 6, 8, 12, 16, 24, 30, 36, 60, 72, 128};
	uint32_t together = 0, apart = 0;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		axis_ref refs[MAX_REFS_OF_AXIS];
		uint32_t n = all_refs(sizes[i], refs);
		ck_assert_uint_le(n, MAX_REFS_OF_AXIS);
		for (uint32_t x = 0; x < n; x++)
			for (uint32_t y = 0; y < n; y++) {
				struct pair p = {refs[x], refs[y], 0};
				struct chain c = {{1}, 0};
				axis_ref ignored;
				each_chain(sizes[i], &c, compare_pair, &p);
				ck_assert_int_eq(axis_can_coexist(p.a, p.b), p.common_chains != 0);
				if (p.common_chains) {
					together++;
					continue;
				}
				apart++;
				ck_assert(!axis_overlap(p.a, p.b, &ignored));
				ck_assert(!axis_common_prefix(p.a, p.b, &ignored));
				ck_assert(!axis_prefix_without_overlap(p.a, p.b, &ignored));
				ck_assert(!axis_suffix_without_overlap(p.a, p.b, &ignored));
			}
	}
	ck_assert_uint_gt(together, 1000);
	ck_assert_uint_gt(apart, 100);
}
END_TEST

START_TEST(different_axes_and_size_one)
{
	axis_ref a = axis_make(0, 1, 4), b = axis_make(1, 1, 4), one = axis_make(2, 1, 1), out;
	ck_assert(!axis_overlaps(a, b) && axis_can_coexist(a, b) && !axis_contains(a, b) &&
		!axis_is_prefix(a, b));
	ck_assert(
		!axis_can_merge(a, b) && !axis_overlap(a, b, &out) && !axis_common_prefix(a, b, &out));
	ck_assert(axis_prefix_without_overlap(a, b, &out) && out == a);
	ck_assert(axis_suffix_without_overlap(a, b, &out) && out == a);
	ck_assert(axis_overlaps(one, one) && !axis_can_merge(one, one) && !axis_overlaps(one, a));
	ck_assert(!axis_prefix_without_overlap(one, one, &out));
}
END_TEST

/* ---- lists over a mesh x=8, y=4 (binary digits: x0 x1 x2 y0 y1) */

static uint32_t expand(axes l, uint32_t *out)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < l.n; i++)
		for (int64_t v = axis_pre(l.a[i]); v < axis_next_pre(l.a[i]); v *= 2)
			out[n++] = axis_index(l.a[i]) << 8 | (uint32_t)v;
	return n;
}

/* All lists of up to three references without overlap and with nothing left to merge. */
static uint32_t all_lists(axes_buf *out, uint32_t room)
{
	axis_ref refs[16];
	uint32_t n_refs = 0, n = 0, first = 0;
	for (uint32_t axis = 0; axis < 2; axis++)
		for (int64_t pre = 1, size = axis ? 4 : 8; pre < size; pre *= 2)
			for (int64_t s = 2; pre * s <= size; s *= 2)
				refs[n_refs++] = axis_make(axis, pre, s);
	out[n++].n = 0;
	for (uint32_t length = 1; length <= 3; length++) {
		uint32_t last = n;
		for (uint32_t base = first; base < last; base++)
			for (uint32_t r = 0; r < n_refs; r++) {
				bool ok = true;
				for (uint32_t i = 0; i < out[base].n; i++)
					ok = ok && !axis_overlaps(out[base].a[i], refs[r]);
				if (!ok || (out[base].n && axis_can_merge(out[base].a[out[base].n - 1], refs[r])))
					continue;
				ck_assert_uint_lt(n, room);
				axes_copy(&out[n], axes_of(&out[base]));
				axes_push_merge(&out[n], refs[r]);
				n++;
			}
		first = last;
	}
	return n;
}

START_TEST(prefixes_of_lists)
{
	enum { ROOM = 1024 };
	axes_buf *lists = xmalloc(ROOM * sizeof *lists);
	uint32_t n = all_lists(lists, ROOM), counts[3] = {0};
	for (uint32_t x = 0; x < n; x++)
		for (uint32_t y = 0; y < n; y++) {
			uint32_t a[8], b[8], na = expand(axes_of(&lists[x]), a),
								 nb = expand(axes_of(&lists[y]), b);
			bool prefix = na <= nb && memcmp(a, b, na * sizeof *a) == 0;
			prefix_status want = !prefix ? PREFIX_NOT : na == nb ? PREFIX_EQUAL : PREFIX_STRICT;
			ck_assert_int_eq(axes_prefix(axes_of(&lists[x]), axes_of(&lists[y])), want);
			ck_assert_int_eq(
				axes_equal(axes_of(&lists[x]), axes_of(&lists[y])), want == PREFIX_EQUAL);
			counts[want]++;
		}
	ck_assert_uint_eq(counts[PREFIX_EQUAL], n);
	ck_assert_uint_gt(counts[PREFIX_STRICT], n);
	ck_assert_uint_gt(counts[PREFIX_NOT], n);
	free(lists);
}
END_TEST

static int by_digit(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

START_TEST(sorting_and_merging_keeps_digits)
{
	enum { ROOM = 1024 };
	axes_buf *lists = xmalloc(ROOM * sizeof *lists);
	uint32_t n = all_lists(lists, ROOM), merged = 0;
	for (uint32_t x = 0; x < n; x++) {
		axes_buf sorted;
		uint32_t a[8], b[8];
		axes_copy(&sorted, axes_of(&lists[x]));
		axes_sort_merge(&sorted);
		uint32_t na = expand(axes_of(&lists[x]), a), nb = expand(axes_of(&sorted), b);
		qsort(a, na, sizeof *a, by_digit);
		ck_assert_uint_eq(na, nb);
		ck_assert(memcmp(a, b, na * sizeof *a) == 0);
		for (uint32_t i = 1; i < sorted.n; i++)
			ck_assert(
				sorted.a[i - 1] < sorted.a[i] && !axis_can_merge(sorted.a[i - 1], sorted.a[i]));
		ck_assert_int_eq(axes_product(axes_of(&sorted)), axes_product(axes_of(&lists[x])));
		merged += sorted.n < lists[x].n;
	}
	ck_assert_uint_gt(merged, 0);
	free(lists);
}
END_TEST

START_TEST(products)
{
	axes_buf l = {
		{axis_make(0, 1, 1 << 24), axis_make(1, 1, 1 << 24), axis_make(2, 1, 1 << 24)}, 3};
	ck_assert_int_eq(axes_product(axes_of(&l)), INT64_MAX);
	l.n = 1;
	ck_assert_int_eq(axes_product(axes_of(&l)), 1 << 24);
	l.n = 0;
	ck_assert_int_eq(axes_product(axes_of(&l)), 1);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("algebra");
	tcase_add_test(c, pairs_of_one_axis);
	tcase_add_test(c, different_axes_and_size_one);
	tcase_add_test(c, prefixes_of_lists);
	tcase_add_test(c, sorting_and_merging_keeps_digits);
	tcase_add_test(c, products);
	return run_suite(c, "axes");
}
