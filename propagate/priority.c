/* The order in which things propagate: rounds by kind of op, and around them rounds by the user's
 * priorities. */
#include "propagate/engine.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- op priority */

/* A round allows what the rounds before it did, and more:
 *   0  pass-through ops whose operands have no other use    1  pass-through ops
 *   2  pass-through factors of every op                     3  all factors
 *   4  broadcasts forward too (before, only backward; those that XLA takes for reshapes are
 * pass-through ops) */
step_mode round_directions(const rule_table *rules, const node *n, uint32_t round)
{
	direction pass = DIR_NONE, other = DIR_NONE;
	if (n->kind == NODE_RESULT || n->op_kind == OP_SDY_PROPAGATION_BARRIER) {
		pass = other = n->kind == NODE_RESULT ? DIR_BOTH : (direction)n->fixed_direction;
		return mode_directions(pass, other);
	}
	if (n->pass_through_op)
		pass = other = DIR_BOTH;
	else if (n->forward_only_op)
		pass = other = DIR_FORWARD;
	direction any = n->op_kind == OP_BROADCAST_IN_DIM && !n->pass_through_op && round < 4
		? DIR_BACKWARD
		: DIR_BOTH;
	if (round >= 2)
		pass |= any;
	if (round >= 3)
		other |= any;
	/* Where the rule has no other factors the two are one mode: fewer steps to take and to
	 * remember. */
	const rule *r = rule_get(rules, n->rule);
	bool uniform = true;
	for (uint32_t f = 0; f < r->n_factors; f++)
		uniform &= r->factor_types[f] == FACTOR_PASS_THROUGH || r->blocked >> f & 1;
	return mode_directions(pass, uniform ? pass : other);
}

static void run_round(propagation *s, uint32_t round, bool everything)
{
	if (s->options.strategy != STRATEGY_AGGRESSIVE)
		engine_walk(s, true, round, everything);
	if (s->options.strategy != STRATEGY_BASIC)
		engine_walk(s, false, round, everything);
}

void run_op_priority(propagation *s, bool everything)
{
	s->exchanged = UINT64_MAX;
	for (uint32_t round = s->options.op_priority ? 0 : ROUND_ANY; round < ROUNDS; round++)
		run_round(s, round, everything);
}

/* ---------------------------------------------------------------- user priority */

typedef struct prioritised {
	pval_id v;
	sharding_id original;
} prioritised;

typedef struct user_rounds {
	VEC(prioritised) values; /* that have a dim with a priority above 0, in program order */
	VEC(int16_t) priorities; /* found, ascending, without 0 */
} user_rounds;

static void note_priority(user_rounds *u, int16_t priority)
{
	uint32_t i = 0;
	while (i < u->priorities.n && u->priorities.p[i] < priority)
		i++;
	if (i < u->priorities.n && u->priorities.p[i] == priority)
		return;
	vec_push(&u->priorities, priority);
	for (uint32_t k = u->priorities.n - 1; k > i; k--)
		u->priorities.p[k] = u->priorities.p[k - 1];
	u->priorities.p[i] = priority;
}

static void insert_sorted(axes_buf *l, axis_ref a)
{
	if (l->n >= MAX_TENSOR_AXES)
		return;
	uint32_t i = l->n++;
	for (; i && l->a[i - 1] > a; i--)
		l->a[i] = l->a[i - 1];
	l->a[i] = a;
}

/* For the first round: what comes later is empty and closed, and its axes are replicated, so that
 * nothing takes them. */
static sharding_id hold_back(propagation *s, pval_id v, user_rounds *u)
{
	sharding_id original = s->shardings[v];
	sharding_edit e;
	sharding_to_edit(s->t, original, &e);
	bool later = false;
	for (uint32_t d = 0; d < e.rank; d++) {
		int16_t priority = e.dims[d].priority;
		e.dims[d].priority = -1;
		if (priority <= 0)
			continue;
		later = true;
		note_priority(u, priority);
		for (uint32_t i = 0; i < e.dims[d].axes.n; i++)
			insert_sorted(&e.replicated, e.dims[d].axes.a[i]);
		e.dims[d].axes.n = 0;
		e.dims[d].closed = true;
	}
	if (later)
		vec_push(&u->values, (prioritised){v, original});
	return sharding_intern(s->t, &e);
}

static bool has_priorities(const sharding *sh)
{
	for (uint32_t d = 0; d < sh->rank; d++)
		if (sh->dims[d].priority >= 0)
			return true;
	return false;
}

static void remove_axis(axes_buf *l, axis_ref a)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->n; i++)
		if (l->a[i] != a)
			l->a[n++] = l->a[i];
	l->n = n;
}

/* The dims of this priority come back as the user wrote them. */
static void restore(propagation *s, const prioritised *x, int16_t priority)
{
	sharding_edit e;
	const sharding *original = sharding_get(s->t, x->original);
	sharding_to_edit(s->t, s->shardings[x->v], &e);
	bool any = false;
	for (uint32_t d = 0; d < original->rank; d++) {
		if (original->dims[d].priority != priority)
			continue;
		any = true;
		axes_copy(&e.dims[d].axes, sharding_dim(original, d));
		e.dims[d].closed = original->dims[d].closed;
		e.dims[d].priority = -1;
		for (uint32_t i = 0; i < e.dims[d].axes.n; i++)
			remove_axis(&e.replicated, e.dims[d].axes.a[i]);
	}
	if (any)
		propagation_set(s, x->v, sharding_intern(s->t, &e));
}

static void run_user_priority(propagation *s)
{
	user_rounds u = {0};
	uint32_t from = s->trail.n;
	for (pval_id v = 0; v < s->p->vals.n; v++)
		if (s->shardings[v] != SHARDING_NONE && has_priorities(sharding_get(s->t, s->shardings[v])))
			propagation_set(s, v, hold_back(s, v, &u));
	if (s->log)
		log_round(s, from, CAUSE_HOLD_BACK, 0);
	run_op_priority(s, true);
	for (uint32_t i = 0; i < u.priorities.n; i++) {
		from = s->trail.n;
		for (uint32_t k = 0; k < u.values.n; k++)
			restore(s, &u.values.p[k], u.priorities.p[i]);
		if (s->log)
			log_round(s, from, CAUSE_RESTORE, u.priorities.p[i]);
		run_op_priority(s, true);
	}
	vec_release(&u.values);
	vec_release(&u.priorities);
}

/* ---------------------------------------------------------------- the two ways to propagate */

void propagation_run(propagation *s)
{
	engine_forget_clean(s);
	if (s->options.user_priority)
		run_user_priority(s);
	else
		run_op_priority(s, true);
	engine_mark_settled(s, engine_has_exchanged(s));
}

void propagation_settle(propagation *s)
{
	uint32_t from = engine_settled(s);
	engine_erase_dead(s);
	if (from == s->trail.n || waves_settle(s, from))
		return;
	engine_begin(s);
	for (uint32_t i = from, n = s->trail.n; i < n; i++)
		engine_start(s, s->trail.p[i].v);
	run_op_priority(s, false);
	engine_mark_settled(s, engine_has_exchanged(s));
}
