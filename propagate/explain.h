/* Inside of explanations; private to propagate/. */
#ifndef SW_EXPLAIN_H
#define SW_EXPLAIN_H

#include "propagate/engine.h"

typedef struct source_func { /* a function of the module as it was read */
	uint32_t src;
	str name;
} source_func;

struct explanation {
	arena mem; /* all texts and lists below */
	const char *const *selectors;
	uint32_t n_selectors, limit;
	const bool *annotated; /* by value of the module as it was read: it had a sharding */
	uint32_t n_annotated;
	source_func *funcs; /* in the order of the source */
	uint32_t n_funcs, main;
	VEC(explained_run) runs;
};

/* One run while it is told. */
typedef struct teller {
	explanation *e;
	const program *p;
	const module *m;
	sharding_table *t;
	const propagate_options *options;
	const change_log *log;
	const sharding_id *after;
	origin_table origins;
	loss_list losses;
	strbuf text;
} teller;

/* ---------------------------------------------------------------- explain_names.c */

/* The name of an IR value in the source (`%3`, `%5#1`), empty when a pass made it up. */
void source_name(const module *m, value_id v, strbuf *out);
/* `%3`, `%arg0 (params['w'])`, `result 2 (result[0]['w'])`, `%3 of @f`; for what passes made, the
 * op and where it is. */
void pval_name(const teller *t, pval_id v, strbuf *out);
/* The op that a node stands for, to its reader: an edge is that of the loop (or other op) around
 * it. */
op_id node_reader_op(const program *p, node_id n);
void op_place(const module *m, op_id o, strbuf *out); /* location, or `line N` of the source */
/* Marks what the selectors mean. */
void select_pvals(const teller *t, bool *wanted);
/* False when a selector matches no value of the module. */
bool selector_possible(const module *m, const char *selector);

/* ---------------------------------------------------------------- explain_text.c */

str keep_text(teller *t); /* what is in t->text, which is empty then */
/* under_head: the first hop of the value whose op the head line names. */
void tell_hop(teller *t, uint32_t origin, bool under_head, explained_hop *out);
void tell_loss(teller *t, pval_id v, const axis_loss *l, explained_loss *out);

#endif
