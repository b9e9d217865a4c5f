/* The table of tactics, and how instances of them stand in plans. */
#include "search/tree/tactics.h"

const tactic_row tactic_rows[TACTICS] = {
	[CUTS_BATCH] = {.sets = ONE_AXIS, .usual = true, .words = "batch"},
#define TACTIC(name, ...) [CUTS_##name] = {__VA_ARGS__},
#include "search/tree/tactics.def"
#undef TACTIC
};

uint32_t tactic_cuts(tactic_id t)
{
	if (t == CUTS_BATCH)
		return AXIS_BATCH;
	uint32_t own = tactic_rows[t].cuts == WEIGHTS ? AXIS_WEIGHTS : AXIS_DATA,
			 before = tactic_rows[t].after == CUTS_BATCH ? 0 : tactic_cuts(tactic_rows[t].after);
	return own | before | (cuts_batch(t) ? AXIS_BATCH : 0);
}

void append_role(const scope *of, plan *pl, role_action which, uint32_t axis)
{
	plan_insert(pl, pl->n, scope_role(of, which, axis), role_action_names[which]);
}

void insert_on_axes(
	const tactic_space *ts, const axis_set *set, plan *pl, uint32_t at, const action *a)
{
	for (uint32_t i = 0; i < ts->n_axes; i++)
		if (set->mask >> i & 1) {
			action own = *a;
			own.axis = ts->axes[i];
			plan_insert(pl, at++, &own, "tactic");
		}
}

static void append_batch(const tactic_space *ts, const axis_set *set, plan *pl)
{
	for (uint32_t i = 0; i < ts->n_axes; i++)
		if (set->mask >> i & 1)
			append_role(ts->of, pl, ROLE_ACTION_DATA_PARALLEL, ts->axes[i]);
}

uint32_t begin_split(const tactic_space *ts, const split *sp, plan *pl)
{
	pl->n = 0;
	for (uint32_t r = 0; r < sp->given->n; r++)
		insert_on_axes(ts, sp->first, pl, pl->n, &sp->given->decisions[r]);
	uint32_t at[SPLIT_PLACES];
	at[SPLIT_BEFORE] = pl->n;
	append_batch(ts, sp->place == SPLIT_BEHIND ? sp->first : sp->second, pl);
	at[SPLIT_BETWEEN] = pl->n;
	append_batch(ts, sp->place == SPLIT_BEHIND ? sp->second : sp->first, pl);
	at[SPLIT_BEHIND] = pl->n;
	return at[sp->place];
}
