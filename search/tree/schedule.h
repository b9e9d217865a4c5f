/* Tactics of a schedule. */
#ifndef SW_SEARCH_SCHEDULE_H
#define SW_SEARCH_SCHEDULE_H

#include "search/evaluate/evaluate.h"

/* ---------------------------------------------------------------- schedule.c */

typedef enum tactic_kind { TACTIC_MANUAL, TACTIC_NAMED, TACTIC_AUTO, TACTIC_POLISH } tactic_kind;
typedef struct tactic {
	tactic_kind kind;
	char title[96];
	uint32_t axis_mask;       /* auto */
	uint32_t axis, dimension; /* manual, named */
	role_action role;         /* named */
	uint32_t *args, n_args; /* manual; auto: arguments it may touch (n_args = all when no filter) */
	bool *allowed;
	const action_target *values; /* manual, replicate: inner values with the dim to shard, or
	                                DIM_KEEP; NULL: it is about arguments */
	uint32_t n_values;
	objective objective;
	uint64_t evaluations;
} tactic;
typedef VEC(tactic) tactic_list;
/* Globs of o->groups and of the schedule's "groups", each once; the schedule's in mem. Read before
 * the problem is made of them. */
typedef VEC(const char *) group_list;
enum { MAX_GROUPS = 1000 };
status schedule_groups(const search_options *o, arena *mem, group_list *out, diag *d) MUST_USE;
/* JSON of docs/schedules.md, or the default when NULL: one automatic tactic over all axes. */
status schedule_read(problem *pb, const char *json, tactic_list *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- schedule_values.c */

/* Fills t->values: what spec ("values") names, or without it the streams of t->dimension of the
 * arguments of t ("class_of"). */
struct cJSON;
status schedule_values(
	problem *pb, const struct cJSON *spec, tactic *t, uint32_t i, diag *d) MUST_USE;

#endif
