/* Private to explain*.c: what is known of a strategy whose decisions are explained.
 *	explain.c            decisions, what each brings, alternatives, the document
 *	explain_variants.c   the strategy with one decision less, or another one in its place */
#ifndef SW_SEARCH_EXPLAIN_H
#define SW_SEARCH_EXPLAIN_H

#include "search/evaluate/evaluate.h"
#include "search/strategy/strategy.h"

typedef struct decision {
	str tactic;
	action_kind kind;
	bool inner;           /* it is about inner values */
	uint32_t *members, n; /* arguments; of inner values indices of constraints */
	uint32_t dim, axis;   /* axis ID_NONE: kept whole over all axes */
	uint32_t step;        /* of the plan */
} decision;

/* Collectives of one kind from one line of the source. */
typedef struct source {
	uint8_t kind;
	str where, op;
	int64_t count, bytes, time_ns;
	bool windowed; /* one of them runs inside of a contraction's loop */
} source;
typedef VEC(source) source_list;

typedef struct explainer {
	problem pb;
	search_options o;
	const strategy *s;
	int64_t limit;
	uint32_t most; /* alternatives per decision */
	arena mem;
	cost cost;
	source_list sources;
	str *patterns; /* of argument names, by argument */
	VEC(decision) decisions;
	evaluator *ev; /* NULL: by shardings */
	pval_id *
		site; /* by constraint: the value it is on; ID_NONE: none that the search would constrain */
	plan base; /* its steps have the decisions' arguments as targets */
	diag *d;
} explainer;

/* ---------------------------------------------------------------- explain_variants.c */

/* Whether the document's actions, decided again, cost what the document costs: then x->ev is there,
 * and variants go by them. */
status explain_plan(explainer *x, module *m) MUST_USE;
/* The strategy without decision i (other: NULL), or with another one in its place. Returns how many
 * members that one changed. */
uint32_t explain_variant(explainer *x, uint32_t i, const decision *other, strategy *out);

#endif
