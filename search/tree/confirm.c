/* The answer: the last candidate, as the module that it is written into is costed; or one that
 * turns out better then. */
#include "search/tree/runner.h"

/* Is a candidate what its plan promised? What is written for one device has work that plans do not
 * count, such as tables of positions: little, or it is not. */
static bool keeps_promise(const runner *r, score promised, score found)
{
	if (apply_is_exact(r->o.apply) && promised.fits == found.fits)
		promised.primary += promised.primary / PROMISE_PART;
	return !score_less(promised, found);
}

/* Where ops are listed that every device does whole. */
typedef struct whole_list {
	arena *mem;
	listed_ops *ops;
} whole_list;

/* Of a plan that is applied exactly; user: a whole_list. */
static void list_whole(void *user, const evaluation *ev)
{
	const whole_list *w = user;
	const program *p = ev->p;
	for (lop_id i = 0; i < ev->low->ops.n; i++) {
		const lop *o = &ev->low->ops.p[i];
		if (o->kind == LOP_COMPUTE && !o->erased && o->plan && o->plan->whole)
			listed_op_add(w->mem, ev->m, p->nodes.p[o->node].op,
				node_whole_bytes(p, &p->nodes.p[o->node]), w->ops);
	}
}

/* Costs a candidate as it is applied. */
static status cost_applied(runner *r, candidate *c, bool *allowed, diag *d)
{
	whole_list w = {&r->out->mem, &c->whole};
	return replay_seen(&r->pb, r->base, &c->s, &c->c, allowed, list_whole, &w, NULL, d);
}

/* Of a large program, whose every costing as it is applied takes a good part of a second, those
 * baselines keep what their plans cost that would have to gain more by being written than any does.
 */
static bool may_be_best(const runner *r, const candidate *c, const candidate *best)
{
	cost least = c->c;
	least.runtime_ns -= least.runtime_ns / WRITTEN_PART;
	least.peak_bytes -= least.peak_bytes / WRITTEN_PART;
	return r->pb.p->nodes.n <= LARGE_NODES ||
		score_less(score_final(&r->pb, &least), score_final(&r->pb, &best->c));
}

/* Baselines are costed as they would be applied, too, and none of them may be better than the
 * answer. Who is told to stop gets what their plans cost. */
static status confirm_baselines(runner *r, candidate **best, diag *d)
{
	for (uint32_t i = 0; i < r->baselines.n && !search_is_stopped(r->user); i++) {
		candidate *c = &r->baselines.p[i];
		bool allowed;
		if (!may_be_best(r, c, *best))
			continue;
		r->out->replays++;
		TRY(cost_applied(r, c, &allowed, d));
		r->out->baselines.p[i].cost = c->c;
		r->out->baselines.p[i].fits = c->c.peak_bytes <= r->pb.memory_limit;
		if (c->confirmed && allowed && !r->first_candidate &&
			score_less(score_final(&r->pb, &c->c), score_final(&r->pb, &(*best)->c)))
			*best = c;
	}
	return ST_OK;
}

/* Where the answer does not fit as it is written, the strategy with the least memory may. */
static status confirm_smallest(runner *r, candidate **best, diag *d)
{
	candidate *c = &r->smallest;
	bool allowed;
	if (!apply_is_exact(r->o.apply) || (*best)->c.peak_bytes <= r->pb.memory_limit)
		return ST_OK;
	if (c->pl && (*best)->pl && plan_same(c->pl, (*best)->pl)) { /* it was costed just now */
		r->out->smallest = (*best)->c;
		return ST_OK;
	}
	TRY(cost_applied(r, c, &allowed, d));
	r->out->smallest = c->c;
	if (allowed && !r->first_candidate &&
		score_less(score_final(&r->pb, &c->c), score_final(&r->pb, &(*best)->c)))
		*best = c;
	return ST_OK;
}

/* The last one of the curve is the answer, as it is costed. */
static void tell_cost_as_written(runner *r)
{
	const incumbent_mark *last = &r->out->incumbents.p[r->out->incumbents.n - 1];
	const cost *c = &r->out->cost;
	bool told = !apply_is_exact(r->o.apply) && r->answer != &r->simplest;
	if (told || (last->runtime_ns == c->runtime_ns && last->peak_bytes == c->peak_bytes))
		return;
	vec_push(&r->out->incumbents,
		(incumbent_mark){r->out->evaluations, runner_elapsed(r), c->runtime_ns, c->peak_bytes});
	runner_tell(r, true, r->answer == &r->simplest ? "simpler" : "as written");
}

/* "params['w'] is [{"data"}, {}]" */
static void tell_argument(const problem *pb, uint32_t arg, sharding_id id, strbuf *out)
{
	const sharding_table *t = pb->m->shardings;
	uint32_t rank = pval_type(pb->p, pb->p->args.p[arg])->rank;
	module_arg_name(pb->m, arg, out);
	strbuf_puts(out, " is [");
	for (uint32_t dim = 0; dim < rank; dim++) {
		strbuf_puts(out, dim ? ", " : "");
		axes_print(t, pb->mesh,
			id == SHARDING_NONE ? (axes){0} : sharding_dim(sharding_get(t, id), dim), out);
	}
	strbuf_putc(out, ']');
}

/* The first candidate may be all that there is, where what is pinned leads to other shardings than
 * the user's groups may have. */
static status check_groups(const runner *r, const strategy *s, diag *d)
{
	const problem *pb = &r->pb;
	for (uint32_t a = 0; a < pb->n_args; a++) {
		uint32_t first = pb->given[a] == ID_NONE ? a : pb->given_first[pb->given[a]];
		if (sharding_same_axes(pb->m->shardings, s->propagated[a], s->propagated[first]))
			continue;
		strbuf one = {0}, other = {0};
		tell_argument(pb, first, s->propagated[first], &one);
		tell_argument(pb, a, s->propagated[a], &other);
		diag_set(d, ST_ERR_INVALID,
			"group '%.100s': no plan was found that shards its arguments alike; in the best one "
			"%.140s, %.140s",
			pb->o->groups[pb->given[a]], one.p, other.p);
		strbuf_release(&one);
		strbuf_release(&other);
		return ST_ERR_INVALID;
	}
	return ST_OK;
}

/* The answer is the last candidate, as the module that it is written into is costed. The others are
 * there in case that is not what its plan promised. */
status runner_confirm(runner *r, diag *d)
{
	candidate *best = NULL;
	for (uint32_t i = r->candidates.n; i-- > r->first_candidate;) {
		candidate *c = &r->candidates.p[i];
		score promised = score_final(&r->pb, &c->c);
		bool allowed = true, first = i == r->first_candidate; /* there is always that one */
		if (!c->confirmed || apply_is_exact(r->o.apply)) {
			r->out->replays++;
			TRY(cost_applied(r, c, &allowed, d));
		}
		if ((allowed || (first && !best)) &&
			(!best || score_less(score_final(&r->pb, &c->c), score_final(&r->pb, &best->c))))
			best = c;
		if (best == c && keeps_promise(r, promised, score_final(&r->pb, &c->c)))
			break;
	}
	TRY(confirm_baselines(r, &best, d));
	TRY(confirm_smallest(r, &best, d));
	TRY(runner_confirm_front(r, &best, d));
	TRY(check_groups(r, &best->s, d));
	TRY(runner_choose_simpler(r, &best, d));
	r->answer = best;
	r->out->best = best->s;
	r->out->cost = best->c;
	r->out->fits = best->c.peak_bytes <= r->pb.memory_limit;
	tell_cost_as_written(r);
	r->out->incremental = best->incremental;
	best->s = (strategy){0};
	return ST_OK;
}
