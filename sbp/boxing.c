/* From one N-D SBP to another. Where several dimensions of the hierarchy cut one dim of a tensor
 * the earlier ones are major, so a change along one of them needs the later ones out of the way
 * first. */
#include "sbp/sbp.h"

static const char *const names[BOXING_KIND_COUNT] = {
	[BOXING_ALL_REDUCE] = "all_reduce",
	[BOXING_REDUCE_SCATTER] = "reduce_scatter",
	[BOXING_ALL_GATHER] = "all_gather",
	[BOXING_ALL_TO_ALL] = "all_to_all",
	[BOXING_SLICE] = "slice",
	[BOXING_PAD] = "pad",
	[BOXING_ZERO] = "zero",
};
const char *boxing_name(boxing_kind k) { return names[k]; }

struct plan {
	const sbp_placement *p;
	int64_t bytes;
	nd_sbp now;
	boxing_step *steps;
	uint32_t n;
};

static int64_t local_bytes(const struct plan *x)
{
	int64_t bytes = x->bytes;
	for (uint32_t k = 0; k < x->p->n; k++)
		if (x->now.at[k].kind == SBP_SPLIT)
			bytes = ceil_div(bytes, x->p->sizes[k]);
	return bytes;
}

static boxing_kind kind_of(sbp from, sbp to)
{
	if (to.kind == SBP_PARTIAL)
		return from.kind == SBP_SPLIT ? BOXING_PAD : BOXING_ZERO;
	if (from.kind == SBP_PARTIAL)
		return to.kind == SBP_SPLIT ? BOXING_REDUCE_SCATTER : BOXING_ALL_REDUCE;
	if (from.kind == SBP_BROADCAST)
		return BOXING_SLICE;
	return to.kind == SBP_SPLIT ? BOXING_ALL_TO_ALL : BOXING_ALL_GATHER;
}

/* One change; neighbouring dimensions that gather the same dim or sum do it in one collective. */
static void change(struct plan *x, uint32_t k, sbp to)
{
	sbp from = x->now.at[k];
	if (sbp_equal(from, to))
		return;
	int64_t before = local_bytes(x);
	boxing_step step = {
		.kind = kind_of(from, to), .first = k, .last = k, .from = from.dim, .to = to.dim};
	x->now.at[k] = to;
	if (boxing_moves(step.kind))
		step.bytes = MAX(before, local_bytes(x));
	boxing_step *last = x->n ? &x->steps[x->n - 1] : NULL;
	if (last && last->kind == step.kind && last->from == step.from &&
		(step.kind == BOXING_ALL_GATHER || step.kind == BOXING_ALL_REDUCE) &&
		(last->first == k + 1 || last->last + 1 == k)) {
		last->first = MIN(last->first, k);
		last->last = MAX(last->last, k);
		last->bytes = MAX(last->bytes, step.bytes);
		return;
	}
	x->steps[x->n++] = step;
}

static bool cuts(sbp s, uint32_t dim) { return s.kind == SBP_SPLIT && s.dim == dim; }

/* Does an earlier dimension of the hierarchy still have to change and cut the dim before or after
 * that? */
static bool disturbed(const struct plan *x, const nd_sbp *to, uint32_t k, uint32_t dim)
{
	for (uint32_t i = 0; i < k; i++)
		if (!sbp_equal(x->now.at[i], to->at[i]) &&
			(cuts(x->now.at[i], dim) || cuts(to->at[i], dim)))
			return true;
	return false;
}

static bool cut_behind(const struct plan *x, uint32_t k, uint32_t dim)
{
	for (uint32_t i = k + 1; i < x->p->n; i++)
		if (cuts(x->now.at[i], dim))
			return true;
	return false;
}

uint32_t sbp_boxing(const nd_sbp *from, const nd_sbp *to, const sbp_placement *p, int64_t bytes,
	boxing_step out[MAX_BOXING])
{
	struct plan x = {.p = p, .bytes = bytes, .now = *from, .steps = out};
	/* last to first: what cuts a dim and goes, or is in the way of an earlier one */
	for (uint32_t k = p->n; k-- > 0;) {
		sbp now = x.now.at[k], then = to->at[k];
		if (now.kind != SBP_SPLIT)
			continue;
		bool in_the_way = disturbed(&x, to, k, now.dim);
		if (sbp_equal(now, then) && !in_the_way)
			continue;
		bool direct = !sbp_equal(now, then) && then.kind == SBP_SPLIT &&
			!cut_behind(&x, k, then.dim) && !disturbed(&x, to, k, then.dim);
		change(&x, k, direct || (then.kind == SBP_PARTIAL) ? then : (sbp){0});
	}
	/* sums first, as parts of them are smaller */
	for (uint32_t k = 0; k < p->n; k++)
		if (x.now.at[k].kind == SBP_PARTIAL && to->at[k].kind == SBP_SPLIT &&
			!disturbed(&x, to, k, to->at[k].dim))
			change(&x, k, to->at[k]);
	for (uint32_t k = 0; k < p->n; k++)
		if (x.now.at[k].kind == SBP_PARTIAL && to->at[k].kind == SBP_BROADCAST)
			change(&x, k, to->at[k]);
	for (uint32_t k = 0; k < p->n; k++)
		change(&x, k, to->at[k]);
	return x.n;
}
