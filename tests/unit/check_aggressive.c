/* The aggressive strategy on single ops: where basic gives up, the larger source wins. */
#include "tests/unit/factor_fixture.h"

#define DOT "<([i, k], [k, j])->([i, j]) {i=16, j=64, k=16} reduction={k}>"
#define ADD "<([i, j], [i, j])->([i, j]) {i=16, j=16}>"

static const step_case cases[] = {
	/* no conflict: as basic */
	{.rule = DOT,
		.in = {"[{\"a\"}, {}]", "-", "-"},
		.out = {"[{\"a\"}, {}]", "-", "[{\"a\", ?}, {?}]"}},
	/* "a" for i and j of the result: the rhs is larger (16x64), its factor comes first */
	{.rule = DOT,
		.in = {"[{\"a\"}, {}]", "[{}, {\"a\"}]", "-"},
		.out = {"[{\"a\"}, {}]", "[{}, {\"a\"}]", "[{?}, {\"a\", ?}]"}},
	/* equal sizes: the first tensor comes first */
	{.rule = "<([i, k], [k, j])->([i, j]) {i=16, j=16, k=16} reduction={k}>",
		.in = {"[{\"a\"}, {}]", "[{}, {\"a\"}]", "-"},
		.out = {"[{\"a\"}, {}]", "[{}, {\"a\"}]", "[{\"a\", ?}, {?}]"}},
	/* a closed tensor stops only itself; an elementwise op does not move axes sideways that its
       result refuses */
	{.rule = ADD,
		.in = {"[{\"a\"}, {}]", "[{}, {}]", "-"},
		.out = {"[{\"a\"}, {}]", "[{}, {}]", "[{\"a\", ?}, {?}]"}},
	{.rule = ADD,
		.in = {"[{\"a\", ?}, {?}]", "[{?}, {?}]", "[{}, {}]"},
		.out = {"[{\"a\", ?}, {?}]", "[{\"a\", ?}, {?}]", "[{}, {}]"}},
	{.rule = ADD,
		.elementwise = true,
		.in = {"[{\"a\", ?}, {?}]", "[{?}, {?}]", "[{}, {}]"},
		.out = {"[{\"a\", ?}, {?}]", "[{?}, {?}]", "[{}, {}]"}},
	/* elementwise: of factors with equal sources the one with more parts first */
	{.rule = "<([i, j], [i, j])->([i, j]) {i=16, j=16}>",
		.elementwise = true,
		.in = {"[{\"a\", ?}, {?}]", "[{?}, {\"a\", \"b\", ?}]", "-"},
		.out = {"[{\"a\", ?}, {?}]", "[{?}, {\"a\", \"b\", ?}]", "[{?}, {\"a\", \"b\", ?}]"}},
	{.rule = "<([i, j], [i, j])->([i, j]) {i=16, j=16}>",
		.in = {"[{\"a\", ?}, {?}]", "[{?}, {\"a\", \"b\", ?}]", "-"},
		.out = {"[{\"a\", ?}, {?}]", "[{?}, {\"a\", \"b\", ?}]", "[{\"a\", ?}, {?}]"}},
	/* the axis of a factor that is not in the tensor is no obstacle there, unlike in basic */
	{.rule = "<([i, k], [k, j])->([i, j]) {i=16, j=64, k=16} reduction={k}>",
		.in = {"[{\"a\"}, {\"b\"}]", "-", "[{?}, {\"b\"}]"},
		.out = {"[{\"a\"}, {\"b\"}]", "[{?}, {\"b\", ?}]", "[{\"a\", ?}, {\"b\"}]"}},
	/* one direction says where axes come from: other operands still get them */
	{.rule = ADD,
		.dir = DIR_FORWARD,
		.in = {"[{\"a\"}, {}]", "-", "[{?}, {\"b\", ?}]"},
		.out = {"[{\"a\"}, {}]", "[{\"a\", ?}, {?}]", "[{\"a\", ?}, {\"b\", ?}]"}},
	{.rule = ADD,
		.dir = DIR_BACKWARD,
		.in = {"[{\"a\"}, {?}]", "-", "[{?}, {\"b\", ?}]"},
		.out = {"[{\"a\"}, {\"b\", ?}]", "[{?}, {\"b\", ?}]", "[{?}, {\"b\", ?}]"}},
	{.rule = "<([ij])->([i, j]) {i=2, j=8}>",
		.conservative = true,
		.in = {"[{\"h\"}]", "-"},
		.out = {"[{\"h\"}]", "-"}},
	/* what does not divide the factor ends in front of it */
	{.rule = "<([i, j])->([ij]) {i=6, j=8}>",
		.in = {"[{\"h\"}, {}]", "-"},
		.out = {"[{\"h\"}, {}]", "[{\"h\":(1)2, ?}]"}},
};

START_TEST(steps)
{
	bench b;
	bench_init(&b, "a=2,b=2,h=4");
	step_case c = cases[_i];
	c.strategy = STRATEGY_AGGRESSIVE;
	c.dir = c.dir ? c.dir : DIR_BOTH;
	bench_step(&b, &c);
	bench_release(&b);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("aggressive");
	tcase_add_loop_test(tc, steps, 0, COUNT_OF(cases));
	return run_suite(tc, "aggressive");
}
