/* Programs for the tests of the engine: from text, and random ones. */
#ifndef PROGRAM_FIXTURE_H
#define PROGRAM_FIXTURE_H

#include <check.h>
#include <stdlib.h>

#include "propagate/propagate.h"
#include "tests/unit/run_suite.h"

typedef struct planned {
	module *m;
	rule_table rules;
	program *p;
} planned;

static inline void planned_read_as(planned *x, const char *text, program_reading how)
{
	diag d = {0};
	ck_assert_msg(module_read(text, strlen(text), "test.mlir", NULL, &x->m, &d) == ST_OK,
		"%u:%u: %s\n%s", d.line, d.col, d.msg, text);
	rule_table_init(&x->rules);
	ck_assert_msg(program_new(x->m, &x->rules, how, &x->p, &d) == ST_OK, "%s", d.msg);
}

static inline void planned_read(planned *x, const char *text)
{
	planned_read_as(x, text, READ_AS_WRITTEN);
}

static inline void planned_release(planned *x)
{
	program_free(x->p);
	rule_table_release(&x->rules);
	module_free(x->m);
}

/* `[{"a"}, {?}]` on the program's mesh. */
static inline sharding_id planned_sharding(planned *x, const char *text)
{
	diag d = {0};
	sharding_edit e;
	char full[256];
	snprintf(full, sizeof full, "<@mesh, %s>", text);
	ck_assert_msg(
		sharding_parse(x->m->shardings, str_of(full), &e, &d) == ST_OK, "%s: %s", text, d.msg);
	return sharding_intern(x->m->shardings, &e);
}

static inline uint64_t state_hash(const planned *x, propagation *s)
{
	return hash_bytes(propagation_shardings(s), x->p->vals.n * sizeof(sharding_id), 1);
}

/* Square matrices through random ops with values used many times, some of them never. */
static inline void random_text(rng *r, uint32_t n_ops, strbuf *out)
{
	strbuf_puts(
		out, "module {\n  sdy.mesh @mesh = <[\"a\"=2, \"b\"=4, \"c\"=2]>\n  func.func @main(");
	for (uint32_t i = 0; i < 4; i++)
		strbuf_printf(out, "%s%%v%u: tensor<8x8xf32>", i ? ", " : "", i);
	strbuf_puts(out, ") -> (tensor<8x8xf32>, tensor<8x8xf32>) {\n");
	uint32_t n = 4;
	for (uint32_t i = 0; i < n_ops; i++, n++) {
		uint32_t a = rng_below(r, 2) ? n - 1 - rng_below(r, 4) : rng_below(r, n),
				 b = rng_below(r, n);
		switch (rng_below(r, 6)) {
		case 0:
			strbuf_printf(out, "    %%v%u = stablehlo.tanh %%v%u : tensor<8x8xf32>\n", n, a);
			break;
		case 1:
		case 2:
			strbuf_printf(
				out, "    %%v%u = stablehlo.add %%v%u, %%v%u : tensor<8x8xf32>\n", n, a, b);
			break;
		case 3:
			strbuf_printf(out,
				"    %%v%u = stablehlo.transpose %%v%u, dims = [1, 0] : (tensor<8x8xf32>) -> "
				"tensor<8x8xf32>\n",
				n, a);
			break;
		case 4:
			strbuf_printf(out,
				"    %%r%u = stablehlo.reshape %%v%u : (tensor<8x8xf32>) -> tensor<4x16xf32>\n", n,
				a);
			strbuf_printf(out,
				"    %%v%u = stablehlo.reshape %%r%u : (tensor<4x16xf32>) -> tensor<8x8xf32>\n", n,
				n);
			break;
		default:
			strbuf_printf(out,
				"    %%v%u = stablehlo.dot_general %%v%u, %%v%u, contracting_dims = [%u] x [%u] : "
				"(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\n",
				n, a, b, rng_below(r, 2), rng_below(r, 2));
		}
	}
	strbuf_printf(
		out, "    return %%v%u, %%v%u : tensor<8x8xf32>, tensor<8x8xf32>\n  }\n}\n", n - 1, n - 2);
}

static const char *const random_shardings[] = {
	"[{\"a\"}, {}]",
	"[{}, {\"a\"}]",
	"[{\"b\", ?}, {?}]",
	"[{?}, {\"b\":(1)2, ?}]",
	"[{\"a\", \"c\", ?}, {\"b\", ?}]",
	"[{?}, {\"c\"}]",
	"[{?}, {?}], replicated={\"a\"}",
	"[{\"b\":(2)2, ?}, {\"a\", ?}]",
};

/* Sets a few random values. */
static inline void random_sets(planned *x, propagation *s, rng *r, uint32_t n)
{
	while (n--) {
		const char *text = random_shardings[rng_below(r, COUNT_OF(random_shardings))];
		pval_id v;
		do
			v = rng_below(r, 3) ? x->p->args.p[rng_below(r, x->p->args.n)]
								: rng_below(r, x->p->vals.n);
		while (pval_type(x->p, v)->rank != 2);
		propagation_set(s, v, planned_sharding(x, text));
	}
}

#endif
