/* The basic strategy on single ops. */
#include "tests/unit/factor_fixture.h"

#define DOT "<([i, k], [k, j])->([i, j]) {i=16, j=16, k=16} reduction={k}>"
#define ADD "<([i, j], [i, j])->([i, j]) {i=16, j=16}>"

static const step_case cases[] = {
	/* Shardy's documented table: F0 = i, F1 = j, F2 = k; "f" and "g" disagree, "d" and "e" disagree
       behind "c" */
	{.rule = "<([i, j, k], [i, j, k])->([i, j]) {i=16, j=16, k=16}>",
		.in = {"[{\"a\", ?}, {?}, {\"f\", ?}]",
			"[{\"a\", \"b\", ?}, {\"c\", \"d\", ?}, {\"g\", ?}]", "[{?}, {\"c\", \"e\", ?}]"},
		.out = {"[{\"a\", \"b\", ?}, {\"c\", ?}, {\"f\", ?}]",
			"[{\"a\", \"b\", ?}, {\"c\", \"d\", ?}, {\"g\", ?}]",
			"[{\"a\", \"b\", ?}, {\"c\", \"e\", ?}]"}},
	{.rule = DOT,
		.in = {"[{\"a\"}, {}]", "-", "-"},
		.out = {"[{\"a\"}, {}]", "-", "[{\"a\", ?}, {?}]"}},
	{.rule = DOT,
		.in = {"-", "[{\"a\"}, {\"b\"}]", "-"},
		.out = {"[{?}, {\"a\", ?}]", "[{\"a\"}, {\"b\"}]", "[{?}, {\"b\", ?}]"}},
	/* "a" wants to cut i and j of the result: a conflict for all tensors */
	{.rule = DOT,
		.in = {"[{\"a\"}, {}]", "[{}, {\"a\"}]", "-"},
		.out = {"[{\"a\"}, {}]", "[{}, {\"a\"}]", "-"}},
	/* one closed tensor holds the whole factor back */
	{.rule = ADD,
		.in = {"[{\"a\"}, {}]", "[{}, {}]", "-"},
		.out = {"[{\"a\"}, {}]", "[{}, {}]", "-"}},
	/* replicated axes do too, and of a longer list the part before them goes through */
	{.rule = ADD,
		.in = {"[{\"a\", \"b\"}, {}]", "[{?}, {?}], replicated={\"b\"}", "-"},
		.out = {"[{\"a\", \"b\"}, {}]", "[{\"a\", ?}, {?}], replicated={\"b\"}",
			"[{\"a\", ?}, {?}]"}},
	{.rule = ADD,
		.in = {"[{\"h\"}, {}]", "[{?}, {\"h\":(2)2, ?}]", "-"},
		.out = {"[{\"h\"}, {}]", "[{\"h\":(1)2, ?}, {\"h\":(2)2, ?}]", "[{\"h\":(1)2, ?}, {?}]"}},
	/* sub-axis prefixes agree */
	{.rule = ADD,
		.in = {"[{\"h\":(1)2, ?}, {}]", "[{\"h\", ?}, {}]", "-"},
		.out = {"[{\"h\", ?}, {}]", "[{\"h\", ?}, {}]", "[{\"h\", ?}, {?}]"}},
	/* one direction */
	{.rule = ADD,
		.dir = DIR_FORWARD,
		.in = {"[{\"a\"}, {}]", "-", "[{?}, {\"b\", ?}]"},
		.out = {"[{\"a\"}, {}]", "[{\"a\", ?}, {?}]", "[{\"a\", ?}, {\"b\", ?}]"}},
	{.rule = ADD,
		.dir = DIR_BACKWARD,
		.in = {"[{\"a\"}, {?}]", "-", "[{?}, {\"b\", ?}]"},
		.out = {"[{\"a\"}, {\"b\", ?}]", "[{?}, {\"b\", ?}]", "[{?}, {\"b\", ?}]"}},
	/* only pass-through factors; blocked ones never */
	{.rule = DOT,
		.pass_through_only = true,
		.in = {"[{\"a\"}, {\"b\"}]", "-", "-"},
		.out = {"[{\"a\"}, {\"b\"}]", "-", "[{\"a\", ?}, {?}]"}},
	{.rule = "<([i])->([i]) {i=16} blocked_propagation={i}>",
		.in = {"[{\"a\"}]", "-"},
		.out = {"[{\"a\"}]", "-"}},
	/* reshape: the part of an axis that fits the major factor */
	{.rule = "<([ij])->([i, j]) {i=2, j=8}>",
		.in = {"[{\"h\"}]", "-"},
		.out = {"[{\"h\"}]", "[{\"h\":(1)2, ?}, {\"h\":(2)2, ?}]"}},
	{.rule = "<([ij])->([i, j]) {i=2, j=8}>",
		.conservative = true,
		.in = {"[{\"h\"}]", "-"},
		.out = {"[{\"h\"}]", "-"}},
	{.rule = "<([i, j])->([ij]) {i=2, j=8}>",
		.in = {"[{?}, {\"a\"}]", "-"},
		.out = {"[{?}, {\"a\"}]", "-"}},
	{.rule = "<([i, j])->([ij]) {i=2, j=8}>",
		.in = {"[{\"a\"}, {\"b\"}]", "-"},
		.out = {"[{\"a\"}, {\"b\"}]", "[{\"a\", \"b\", ?}]"}},
	{.rule = ADD, .in = {"-", "-", "-"}, .out = {"-", "-", "-"}},
};

START_TEST(steps)
{
	bench b;
	bench_init(&b, "a=2,b=2,c=2,d=2,e=2,f=2,g=2,h=4");
	step_case c = cases[_i];
	c.strategy = STRATEGY_BASIC;
	c.dir = c.dir ? c.dir : DIR_BOTH;
	bench_step(&b, &c);
	bench_release(&b);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("basic");
	tcase_add_loop_test(tc, steps, 0, COUNT_OF(cases));
	return run_suite(tc, "basic");
}
