/* Private to search/evaluate: a path of decisions on one program, and what decisions came to. */
#ifndef SW_SEARCH_STATE_H
#define SW_SEARCH_STATE_H

#include "search/evaluate/evaluate.h"

/* decision_memo.c: what decisions came to, by what they depend on. */
typedef struct effect_arg { /* of an argument that is decided now */
	uint32_t arg, kept;
} effect_arg;
typedef struct effect { /* all but the flags: of a decision that was taken, what it changed */
	bool done, uneven, stable;
	uint8_t bits;
	uint32_t n_values, n_args, n_applied, n_dims;
	uint64_t hash;          /* the bits of the state's that changed */
	const uint32_t *values; /* packed: effect_value */
	const effect_arg *args;
	const action_target *applied;
	const uint32_t *dims;
} effect;
static inline value_is effect_value(const effect *e, uint32_t i)
{
	return read_unpack(e->bits, e->values[i]);
}
typedef struct decision_memo decision_memo;
decision_memo *decision_memo_new(uint32_t n_values, uint32_t n_args, size_t limit);
void decision_memo_free(decision_memo *m);
void decision_memo_clear(decision_memo *m);
/* In the state with these shardings by value and axes kept free by argument; NULL: not known. Valid
 * until something is added. */
const effect *decision_memo_find(
	const decision_memo *m, const action *a, const sharding_id *values, const uint32_t *kept);
/* Copies all but the action's targets, which must outlive the memo; values: o's. reads: all that it
 * depends on, values or, numbered behind them, arguments with the axes they are kept free of; as
 * read_tree_add has them. Starts over when it is full. */
void decision_memo_add(decision_memo *m, const action *a, const value_is *reads, uint32_t n_reads,
	const value_is *values, uint32_t n_values, const effect *o);

/* state.c: the path on one program. fold: NULL for the problem's own; otherwise arguments are the
 * folded program's. Its memos take STATE_PARTS times memo_bytes at most. */
enum {
	STEP_PARTS = 1,
	SETTLE_PARTS = 3,
	MEMO_PARTS = 9,
	STATE_PARTS = STEP_PARTS + SETTLE_PARTS + MEMO_PARTS
};
typedef struct search_state search_state;
search_state *state_new(
	const problem *pb, const folding *fold, sharding_table *t, size_t memo_bytes);
void state_free(search_state *w);
void state_restart(
	search_state *w, bool no_memo); /* without decisions; computes where it starts from again */
uint32_t state_depth(const search_state *w);
uint64_t state_hash(const search_state *w);
/* The same of any n values of the search_state's sharding table. */
uint64_t state_hash_of(search_state *w, const sharding_id *state, uint32_t n);
const sharding_id *state_shardings(search_state *w); /* by pval */
bool state_can(const search_state *w, const action *a);
bool state_decide(search_state *w, const action *a);
/* The last decision failed because layers that must be alike came out differently, or became so in
 * different steps: then it may depend on how many there are. */
bool state_was_uneven(const search_state *w);
void state_undo(search_state *w, uint32_t depth);
bool state_decided(const search_state *w, uint32_t arg);
bool state_pinned(const search_state *w, uint32_t arg);
uint32_t state_kept(
	const search_state *w, uint32_t arg); /* axes that decisions keep it free of, a bit each */
/* Step at which the dim first, or last, got axes; 0: it has none, or got them at the first step. */
typedef enum priority_of { FIRST_AXES, LAST_AXES } priority_of;
uint8_t state_priority(const search_state *w, pval_id v, uint32_t dim, priority_of when);
bool state_priorities_differ(const search_state *w); /* of any dim, the one from the other */
/* Targets that the decision at this depth really changed. */
uint32_t state_applied(const search_state *w, uint32_t at, const action_target **out);
/* Equal shardings of all values, equal facts about all arguments; `whole` walks the problem's own
 * program. */
bool state_is_same(search_state *w, search_state *whole);

#endif
