/* The engine: exact undo, memo on equals memo off, full runs repeat, directions and groups. */
#include "tests/unit/program_fixture.h"

static const propagate_options op_priority = {.strategy = STRATEGY_AGGRESSIVE, .op_priority = true};

START_TEST(undo_is_exact)
{
	rng r;
	rng_seed(&r, 7, (uint64_t)_i);
	strbuf text;
	strbuf_init(&text);
	random_text(&r, 10 + rng_below(&r, 60), &text);
	planned x;
	planned_read(&x, text.p);
	propagation *s = propagation_new(x.p, x.m->shardings, &op_priority);
	propagation_run(s);
	struct {
		uint32_t mark;
		uint64_t hash;
	} stack[32];
	uint32_t depth = 0;
	for (uint32_t step = 0; step < 60; step++) {
		if (depth == COUNT_OF(stack) || (depth && rng_below(&r, 3) == 0)) {
			depth -= 1 + rng_below(&r, depth);
			propagation_undo(s, stack[depth].mark);
			ck_assert_uint_eq(propagation_mark(s), stack[depth].mark);
			ck_assert_uint_eq(state_hash(&x, s), stack[depth].hash);
			continue;
		}
		stack[depth].mark = propagation_mark(s);
		stack[depth++].hash = state_hash(&x, s);
		random_sets(&x, s, &r, 1 + rng_below(&r, 3));
		propagation_settle(s);
	}
	propagation_undo(s, 0);
	uint64_t undone = state_hash(&x, s);
	propagation_reset(s);
	ck_assert_uint_eq(state_hash(&x, s), undone);
	propagation_free(s);
	planned_release(&x);
	strbuf_release(&text);
}
END_TEST

/* Two engines on one sharding table get the same calls; only one remembers. */
START_TEST(memo_changes_nothing)
{
	rng r;
	rng_seed(&r, 11, (uint64_t)_i);
	strbuf text;
	strbuf_init(&text);
	random_text(&r, 10 + rng_below(&r, 60), &text);
	planned x;
	planned_read(&x, text.p);
	propagate_options o = op_priority, plain;
	o.strategy = (strategy_kind)(_i % 3);
	o.op_priority = _i % 2;
	plain = o;
	plain.no_memo = true;
	propagation *s[2] = {
		propagation_new(x.p, x.m->shardings, &o), propagation_new(x.p, x.m->shardings, &plain)};
	uint32_t marks[64], depth = 0;
	for (uint32_t step = 0; step < 64; step++) {
		rng copy = r;
		uint32_t what = rng_below(&r, 8);
		if (what == 0 && depth) {
			depth -= 1 + rng_below(&r, depth);
			for (uint32_t k = 0; k < 2; k++)
				propagation_undo(s[k], marks[depth]);
		} else {
			marks[depth++] = propagation_mark(s[0]);
			ck_assert_uint_eq(marks[depth - 1], propagation_mark(s[1]));
			uint32_t n = 1 + rng_below(&r, 3);
			copy = r;
			for (uint32_t k = 0; k < 2; k++) {
				r = copy;
				random_sets(&x, s[k], &r, n);
				if (what == 1)
					propagation_run(s[k]);
				else
					propagation_settle(s[k]);
			}
		}
		ck_assert_uint_eq(state_hash(&x, s[0]), state_hash(&x, s[1]));
	}
	ck_assert(propagation_stats(s[0]).memo_hits > 0 && propagation_stats(s[1]).memo_hits == 0);
	propagation_free(s[0]);
	propagation_free(s[1]);
	planned_release(&x);
	strbuf_release(&text);
}
END_TEST

typedef struct known_set { /* one value set, what that depended on, and what it came to */
	value_is set;
	uint32_t n_reads, n_written;
	value_is *reads, *written;
	bool stable;
} known_set;

static value_is *copy_list(const value_is *from, uint32_t n)
{
	return memcpy(malloc((n + 1) * sizeof *from), from, n * sizeof *from);
}

static known_set settle_and_learn(propagation *s, value_is set)
{
	uint32_t mark = propagation_mark(s), n = 0;
	const value_is *reads;
	known_set k = {.set = set};
	propagation_set(s, set.v, set.is);
	propagation_settle(s);
	k.n_reads = propagation_reads(s, mark, &set.v, 1, &reads);
	k.reads = copy_list(reads, k.n_reads);
	k.stable = propagation_is_stable(s);
	k.written = malloc((propagation_mark(s) - mark + 1) * sizeof *k.written);
	for (uint32_t i = mark; i < propagation_mark(s); i++) {
		pval_id v = propagation_trail(s)[i].v;
		k.written[n++] = (value_is){v, propagation_shardings(s)[v]};
	}
	k.n_written = n;
	return k;
}

static bool reads_agree(propagation *s, const known_set *k)
{
	for (uint32_t i = 0; i < k->n_reads; i++)
		if (propagation_shardings(s)[k->reads[i].v] != k->reads[i].is)
			return false;
	return true;
}

/* Where all that a settle depended on is the same again, writing what it came to is what a settle
 * does. */
START_TEST(what_settles_depend_on)
{
	enum { KNOWN = 600, STEPS = 600 };
	rng r;
	rng_seed(&r, 17, (uint64_t)_i);
	strbuf text;
	strbuf_init(&text);
	random_text(&r, 10 + rng_below(&r, 60), &text);
	planned x;
	planned_read(&x, text.p);
	propagate_options plain = op_priority;
	plain.no_memo = true;
	propagation *s[2] = {propagation_new(x.p, x.m->shardings, &op_priority),
		propagation_new(x.p, x.m->shardings, &plain)};
	known_set *known = malloc(KNOWN * sizeof *known);
	uint32_t n = 0, retraced = 0, marks[2][4], depth = 0;
	for (uint32_t k = 0; k < 2; k++)
		propagation_run(s[k]);
	for (uint32_t step = 0; step < STEPS; step++) {
		if (depth == COUNT_OF(marks[0]) || (depth && rng_below(&r, 4) == 0)) {
			depth = rng_below(&r, depth);
			for (uint32_t k = 0; k < 2; k++)
				propagation_undo(s[k], marks[k][depth]);
		}
		value_is set = {x.p->args.p[rng_below(&r, x.p->args.n)],
			planned_sharding(&x, random_shardings[rng_below(&r, 4)])};
		for (uint32_t k = 0; k < 2; k++)
			marks[k][depth] = propagation_mark(s[k]);
		depth++;
		const known_set *found = NULL;
		for (uint32_t i = 0; i < n && !found && propagation_is_stable(s[0]); i++)
			if (known[i].set.v == set.v && known[i].set.is == set.is &&
				reads_agree(s[0], &known[i]))
				found = &known[i];
		if (found) {
			propagation_retrace(s[0], found->written, found->n_written, found->stable);
			retraced++;
		} else if (propagation_is_stable(s[0]) && n < KNOWN) {
			known[n++] = settle_and_learn(s[0], set);
		} else {
			propagation_set(s[0], set.v, set.is);
			propagation_settle(s[0]);
		}
		propagation_set(s[1], set.v, set.is);
		propagation_settle(s[1]);
		ck_assert_uint_eq(state_hash(&x, s[0]), state_hash(&x, s[1]));
		ck_assert_uint_eq(propagation_is_stable(s[0]), propagation_is_stable(s[1]));
	}
	ck_assert_uint_gt(retraced, STEPS / 10);
	for (uint32_t i = 0; i < n; i++) {
		free(known[i].reads);
		free(known[i].written);
	}
	free(known);
	propagation_free(s[0]);
	propagation_free(s[1]);
	planned_release(&x);
	strbuf_release(&text);
}
END_TEST

/* Chains of ops on an argument each; every few of them meet at the end. */
static void chains_text(rng *r, uint32_t n_chains, strbuf *out)
{
	strbuf_puts(
		out, "module {\n  sdy.mesh @mesh = <[\"a\"=2, \"b\"=4, \"c\"=2]>\n  func.func @main(");
	for (uint32_t i = 0; i < n_chains; i++)
		strbuf_printf(out, "%s%%v%u: tensor<8x8xf32>", i ? ", " : "", i);
	strbuf_puts(out, ") -> (");
	for (uint32_t i = 0; i < n_chains; i++)
		strbuf_printf(out, "%stensor<8x8xf32>", i ? ", " : "");
	strbuf_puts(out, ") {\n");
	for (uint32_t i = 0; i < n_chains; i++) {
		strbuf_printf(out, "    %%a%u = stablehlo.tanh %%v%u : tensor<8x8xf32>\n", i, i);
		strbuf_printf(out,
			"    %%b%u = stablehlo.dot_general %%a%u, %%v%u, contracting_dims = [1] x [0] : "
			"(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\n",
			i, i, i);
		uint32_t other = i && rng_below(r, 3) == 0 ? rng_below(r, i) : i;
		strbuf_printf(out,
			"    %%d%u = stablehlo.dot_general %%b%u, %%b%u, contracting_dims = [1] x [1] : "
			"(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\n",
			i, i, other);
		strbuf_printf(out, "    %%c%u = stablehlo.%s %%d%u, %%%c%u : tensor<8x8xf32>\n", i,
			rng_below(r, 2) ? "add" : "multiply", i, "abd"[rng_below(r, 3)],
			i ? rng_below(r, i) : i);
	}
	strbuf_puts(out, "    return ");
	for (uint32_t i = 0; i < n_chains; i++)
		strbuf_printf(out, "%s%%c%u", i ? ", " : "", i);
	strbuf_puts(out, " : ");
	for (uint32_t i = 0; i < n_chains; i++)
		strbuf_printf(out, "%stensor<8x8xf32>", i ? ", " : "");
	strbuf_puts(out, "\n  }\n}\n");
}

/* Settles that write the waves they know come to what settles do that know nothing, also where
 * waves meet that were known apart, and where the memo is too small for them. */
START_TEST(known_waves)
{
	enum { CHAINS = 12, STEPS = 400, MOST = 6 };
	rng r;
	rng_seed(&r, 19, (uint64_t)_i);
	strbuf text;
	strbuf_init(&text);
	chains_text(&r, CHAINS, &text);
	planned x;
	planned_read(&x, text.p);
	propagate_options o = op_priority, plain;
	o.strategy = (strategy_kind)(_i % 2);
	plain = o;
	plain.no_memo = true;
	propagation *s[2] = {
		propagation_new(x.p, x.m->shardings, &o), propagation_new(x.p, x.m->shardings, &plain)};
	if (_i % 4 == 3)
		propagation_limit(s[0], 1 << 20, 1 << 12);
	uint32_t marks[MOST], depth = 0;
	for (uint32_t k = 0; k < 2; k++)
		propagation_run(s[k]);
	for (uint32_t step = 0; step < STEPS; step++) {
		if (depth == MOST || (depth && rng_below(&r, 3) == 0)) {
			depth = rng_below(&r, depth);
			for (uint32_t k = 0; k < 2; k++)
				propagation_undo(s[k], marks[depth]);
		}
		marks[depth++] = propagation_mark(s[0]);
		for (uint32_t i = 0, n = 1 + rng_below(&r, CHAINS); i < n; i++) {
			pval_id v =
				rng_below(&r, 4) ? x.p->args.p[rng_below(&r, CHAINS)] : rng_below(&r, x.p->vals.n);
			sharding_id sh = planned_sharding(&x, random_shardings[rng_below(&r, 3)]);
			for (uint32_t k = 0; k < 2; k++)
				propagation_set(s[k], v, sh);
		}
		for (uint32_t k = 0; k < 2; k++)
			propagation_settle(s[k]);
		ck_assert_uint_eq(state_hash(&x, s[0]), state_hash(&x, s[1]));
		ck_assert_uint_eq(propagation_mark(s[0]), propagation_mark(s[1]));
	}
	ck_assert_uint_gt(propagation_stats(s[0]).waves, STEPS / 8);
	ck_assert_uint_eq(propagation_stats(s[1]).waves, 0);
	for (uint32_t k = 0; k < 2; k++)
		propagation_free(s[k]);
	planned_release(&x);
	strbuf_release(&text);
}
END_TEST

/* Two known waves that end up at the same op: together they are not what they are alone. */
START_TEST(known_waves_that_meet)
{
	planned x;
	planned_read(&x,
		"module {\n"
		"sdy.mesh @mesh = <[\"a\"=2, \"b\"=2]>\n"
		"func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z: tensor<8x8xf32>) -> "
		"(tensor<8x8xf32>, tensor<8x8xf32>) {\n"
		"  %0 = stablehlo.tanh %x : tensor<8x8xf32>\n"
		"  %1 = sdy.propagation_barrier %0 allowed_direction=FORWARD : tensor<8x8xf32>\n"
		"  %2 = stablehlo.tanh %y : tensor<8x8xf32>\n"
		"  %3 = sdy.propagation_barrier %2 allowed_direction=FORWARD : tensor<8x8xf32>\n"
		"  %4 = stablehlo.add %1, %3 : tensor<8x8xf32>\n"
		"  %5 = stablehlo.tanh %z : tensor<8x8xf32>\n"
		"  return %4, %5 : tensor<8x8xf32>, tensor<8x8xf32>\n}\n}\n");
	static const char *const sets[] = {"[{\"a\"}, {}]", "[{\"b\"}, {}]", "[{}, {\"b\"}]"};
	propagate_options plain = op_priority;
	plain.no_memo = true;
	propagation *s[2] = {propagation_new(x.p, x.m->shardings, &op_priority),
		propagation_new(x.p, x.m->shardings, &plain)};
	for (uint32_t k = 0; k < 2; k++)
		propagation_run(s[k]);
	/* which arguments are set together; what is set alone is not learned */
	static const uint8_t together[] = {5, 6, 7, 5, 6, 7}, known[] = {0, 1, 0, 2, 2, 0};
	for (uint32_t i = 0; i < COUNT_OF(together); i++) {
		uint64_t waves = propagation_stats(s[0]).waves;
		for (uint32_t k = 0; k < 2; k++) {
			propagation_undo(s[k], 0);
			for (uint32_t a = 0; a < 3; a++)
				if (together[i] >> a & 1)
					propagation_set(s[k], x.p->args.p[a], planned_sharding(&x, sets[a]));
			propagation_settle(s[k]);
		}
		ck_assert_uint_eq(state_hash(&x, s[0]), state_hash(&x, s[1]));
		ck_assert_uint_eq(propagation_stats(s[0]).waves - waves, known[i]);
	}
	for (uint32_t k = 0; k < 2; k++)
		propagation_free(s[k]);
	planned_release(&x);
}
END_TEST

/* A second full run, and a settle without changes, find nothing to do. */
START_TEST(runs_repeat)
{
	rng r;
	rng_seed(&r, 13, (uint64_t)_i);
	strbuf text;
	strbuf_init(&text);
	random_text(&r, 10 + rng_below(&r, 60), &text);
	planned x;
	planned_read(&x, text.p);
	propagation *s = propagation_new(x.p, x.m->shardings, &op_priority);
	random_sets(&x, s, &r, 6);
	uint64_t first = 0;
	for (uint32_t k = 0; k < 2; k++) {
		propagation_run(s);
		uint32_t mark = propagation_mark(s);
		uint64_t h = state_hash(&x, s);
		propagation_run(s);
		ck_assert_uint_eq(state_hash(&x, s), h);
		propagation_settle(s);
		ck_assert_uint_eq(propagation_mark(s), mark);
		ck_assert(!k || first == h);
		first = h;
	}
	propagation_free(s);
	planned_release(&x);
	strbuf_release(&text);
}
END_TEST

static void expect(planned *x, propagation *s, pval_id v, const char *text)
{
	sharding_id got = propagation_shardings(s)[v],
				want = strcmp(text, "-") ? planned_sharding(x, text) : SHARDING_NONE;
	strbuf b;
	strbuf_init(&b);
	if (got)
		sharding_print(x->m->shardings, got, &b);
	ck_assert_msg(got == want, "value %u: %s, not %s", v, got ? b.p : "-", text);
	strbuf_release(&b);
}

START_TEST(megatron_block)
{
	planned x;
	planned_read(&x,
		"module {\n"
		"sdy.mesh @mesh = <[\"data\"=2, \"model\"=4]>\n"
		"func.func @main(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, "
		"{}]>}, %w1: tensor<64x256xf32>,\n"
		"                %w2: tensor<256x64xf32>) -> tensor<16x64xf32> {\n"
		"  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<16x64xf32>, "
		"tensor<64x256xf32>) -> tensor<16x256xf32>\n"
		"  %1 = stablehlo.tanh %0 : tensor<16x256xf32>\n"
		"  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<16x256xf32>, "
		"tensor<256x64xf32>) -> tensor<16x64xf32>\n"
		"  return %2 : tensor<16x64xf32>\n}\n}\n");
	propagation *s = propagation_new(x.p, x.m->shardings, &op_priority);
	propagation_run(s);
	expect(&x, s, x.p->args.p[1], "-");
	expect(&x, s, x.p->returned.p[0], "[{\"data\", ?}, {?}]");
	expect(&x, s, x.p->results.p[0], "[{\"data\", ?}, {?}]");
	uint32_t mark = propagation_mark(s);
	propagation_set(s, x.p->args.p[1], planned_sharding(&x, "[{}, {\"model\"}]"));
	propagation_settle(s);
	expect(&x, s, x.p->args.p[2], "[{\"model\", ?}, {?}]");
	expect(&x, s, x.p->returned.p[0], "[{\"data\", ?}, {?}]");
	propagation_undo(s, mark);
	expect(&x, s, x.p->args.p[2], "-");
	propagation_free(s);
	planned_release(&x);
}
END_TEST

START_TEST(groups_and_barriers)
{
	planned x;
	planned_read(&x,
		"module {\n"
		"sdy.mesh @mesh = <[\"a\"=2]>\n"
		"func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) "
		"{\n"
		"  sdy.sharding_group %x group_id=0 : tensor<8xf32>\n"
		"  %0 = stablehlo.tanh %x : tensor<8xf32>\n"
		"  %1 = stablehlo.tanh %y : tensor<8xf32>\n"
		"  sdy.sharding_group %1 group_id=0 : tensor<8xf32>\n"
		"  %2 = sdy.propagation_barrier %1 allowed_direction=BACKWARD : tensor<8xf32>\n"
		"  return %0, %2 : tensor<8xf32>, tensor<8xf32>\n}\n}\n");
	propagation *s = propagation_new(x.p, x.m->shardings, &op_priority);
	propagation_set(s, x.p->returned.p[0], planned_sharding(&x, "[{\"a\"}]"));
	propagation_settle(s);
	expect(&x, s, x.p->args.p[0], "[{\"a\", ?}]");
	expect(&x, s, x.p->args.p[1], "[{\"a\", ?}]"); /* through the group */
	expect(&x, s, x.p->returned.p[1], "-");        /* the barrier lets nothing forward */
	propagation_free(s);
	planned_release(&x);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("engine");
	tcase_add_loop_test(tc, undo_is_exact, 0, 12);
	tcase_add_loop_test(tc, memo_changes_nothing, 0, 18);
	tcase_add_loop_test(tc, what_settles_depend_on, 0, 12);
	tcase_add_loop_test(tc, known_waves, 0, 16);
	tcase_add_test(tc, known_waves_that_meet);
	tcase_add_loop_test(tc, runs_repeat, 0, 12);
	tcase_add_test(tc, megatron_block);
	tcase_add_test(tc, groups_and_barriers);
	return run_suite(tc, "engine");
}
