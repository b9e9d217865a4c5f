/* The best plans of a search that do something else than the answer with the big tensors, or need
 * other collectives: for a compiler to judge, and for people who know more. */
#include "search/tree/runner.h"

#include <stdlib.h>

static sharding_id argument_sharding(const strategy *s, uint32_t arg)
{
	return s->args[arg] == SHARDING_NONE ? s->propagated[arg] : s->args[arg];
}

typedef struct difference {
	uint32_t n, first; /* arguments; the largest of them */
	int64_t bytes, of, moved, moved_by_other;
} difference;

static int64_t bytes_moved(const cost *c)
{
	int64_t n = 0;
	for (int k = 0; k < COLL_COUNT; k++)
		n = sat_add(n, c->collectives[k].bytes);
	return n;
}

static difference compare(
	const runner *r, const strategy *a, const cost *ca, const strategy *b, const cost *cb)
{
	difference d = {.first = ID_NONE, .moved = bytes_moved(ca), .moved_by_other = bytes_moved(cb)};
	const problem *pb = &r->pb;
	for (uint32_t i = 0; i < pb->n_args; i++) {
		d.of = sat_add(d.of, pb->arg_bytes[i]);
		if (sharding_same_axes(pb->m->shardings, argument_sharding(a, i), argument_sharding(b, i)))
			continue;
		d.n++;
		d.bytes = sat_add(d.bytes, pb->arg_bytes[i]);
		if (d.first == ID_NONE || pb->arg_bytes[i] > pb->arg_bytes[d.first])
			d.first = i;
	}
	return d;
}

/* What costs the same is the same, on an axis like it. */
static bool is_other(const difference *d, const cost *a, const cost *b)
{
	if (a->runtime_ns == b->runtime_ns && a->peak_bytes == b->peak_bytes)
		return false;
	int64_t more = MAX(d->moved, d->moved_by_other), less = MIN(d->moved, d->moved_by_other);
	return d->bytes > d->of / BYTES_ONE_IN || more - less > more / MOVED_ONE_IN;
}

static void describe(runner *r, const difference *d, plan_alternative *a)
{
	strbuf text = {0};
	if (d->n) {
		strbuf_printf(&text, "%u argument%s (%d%% of bytes) cut otherwise, ", d->n,
			d->n == 1 ? "" : "s", (int)((__int128)d->bytes * 100 / MAX(d->of, 1)));
		module_arg_name(r->base, d->first, &text);
		strbuf_puts(&text, " the largest; ");
	}
	strbuf_puts(&text, "moves ");
	strbuf_bytes(&text, d->moved);
	strbuf_puts(&text, ", the answer ");
	strbuf_bytes(&text, d->moved_by_other);
	a->difference = (str){arena_strdup(&r->out->mem, text.p, text.n), text.n};
	strbuf_release(&text);
}

void runner_remember(runner *r, const plan *pl)
{
	if (r->user->alternatives)
		vec_push(&r->others_found, *pl);
}

/* Adds the plan unless it may not be applied, or does what the answer or another one does. */
static status consider(runner *r, plan *pl, diag *d)
{
	search_result *out = r->out;
	plan_alternative a = {0};
	bool allowed, other;
	evaluator_run(r->ev[0], pl, NULL);
	if (plan_manual(pl, FIXED_BY_USER) < r->n_manual)
		return ST_OK;
	out->replays++;
	evaluator_replay(r->ev[0], &r->goal, &a.cost, &allowed);
	evaluator_strategy(r->ev[0], pl, &a.s);
	status st = replay_applied(&r->pb, r->base, &a.s, &a.cost, &allowed, NULL, d);
	a.fits = a.cost.peak_bytes <= r->pb.memory_limit;
	difference from_answer = compare(r, &a.s, &a.cost, &out->best, &out->cost);
	other = is_other(&from_answer, &a.cost, &out->cost);
	for (uint32_t i = 0; i < out->alternatives.n && other; i++) {
		difference from =
			compare(r, &a.s, &a.cost, &out->alternatives.p[i].s, &out->alternatives.p[i].cost);
		other = is_other(&from, &a.cost, &out->alternatives.p[i].cost);
	}
	if (st != ST_OK || !allowed || !other) {
		strategy_release(&a.s);
		return st;
	}
	describe(r, &from_answer, &a);
	vec_push(&out->alternatives, a);
	return ST_OK;
}

static bool is_beaten(const cost *a, const cost *by)
{
	return by->peak_bytes <= a->peak_bytes && by->runtime_ns <= a->runtime_ns &&
		(by->peak_bytes < a->peak_bytes || by->runtime_ns < a->runtime_ns);
}

/* Where nothing fits, what takes less memory or less time than the answer comes first. */
static status consider_front(runner *r, uint32_t most, diag *d)
{
	for (uint32_t i = 0; i < r->on_front.n && r->out->alternatives.n < most; i++) {
		const candidate *c = &r->on_front.p[i];
		bool beaten = is_beaten(&c->c, &r->out->cost);
		for (uint32_t k = 0; k < r->on_front.n && !beaten; k++)
			beaten = is_beaten(&c->c, &r->on_front.p[k].c);
		if (!beaten)
			TRY(consider(r, c->pl, d));
	}
	return ST_OK;
}

status runner_alternatives(runner *r, diag *d)
{
	uint32_t most = r->user->alternatives;
	TRY(consider_front(r, most, d));
	for (uint32_t i = 0; i < MIN(r->others_found.n, TRIED_FOR_EACH * most) &&
		 r->out->alternatives.n < most && !search_is_stopped(r->user);
		 i++)
		TRY(consider(r, &r->others_found.p[i], d));
	return ST_OK;
}
