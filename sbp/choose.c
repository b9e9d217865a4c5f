/* Which signature an op takes. Source of the values: seeds.md 4.6 (CalcOrderValue4SbpSig,
 * ComputeIbnCopyCost4SbpSig). */
#include "sbp/sbp.h"

enum { MATCHING_INPUT = -10, SOURCE_SPLIT = -1 };

bool sbp_fits_shape(const sbp_candidates *c, const uint16_t *chosen, uint32_t slot, uint32_t i,
	const sbp_placement *p)
{
	if (c->factor[i] == UINT16_MAX)
		return true;
	int64_t parts = p->sizes[slot];
	for (uint32_t k = 0; k < slot; k++)
		if (c->factor[chosen[k]] == c->factor[i])
			parts = sat_mul(parts, p->sizes[k]);
	return p->n == 1 && !c->even[i] ? c->sizes[i] >= parts : c->sizes[i] % parts == 0;
}

bool sbp_fits_constraint(
	const sbp_candidates *c, uint32_t i, uint32_t slot, const sbp_constraint *k)
{
	for (uint32_t r = 0; r < c->n_results; r++)
		if (k->given && k->given[r] &&
			!sbp_equal(candidate_words(c, i)[c->n_operands + r], k->of[r].at[slot]))
			return false;
	return true;
}

static bool is_constrained(const sbp_candidates *c, const sbp_constraint *k)
{
	for (uint32_t r = 0; r < c->n_results; r++)
		if (k->given && k->given[r])
			return true;
	return false;
}

int64_t sbp_order_value(
	const sbp_candidates *c, uint32_t i, const sbp_hint *hints, uint32_t slot, bool constrained)
{
	const sbp *words = candidate_words(c, i);
	int64_t value = 0;
	bool any = false;
	if (constrained)
		return 0;
	for (uint32_t k = 0; k < c->n_operands; k++) {
		any = any || !hints[k].free;
		if (!hints[k].free && sbp_equal(hints[k].sbp.at[slot], words[k]))
			value += MATCHING_INPUT;
	}
	for (uint32_t k = 0; k < c->n_results && !any; k++)
		if (sbp_equal(words[c->n_operands + k], sbp_split(0)))
			value += SOURCE_SPLIT;
	return value;
}

/* Bytes of one operand that a group along a dimension of the hierarchy holds together: the earlier
 * dimensions have cut it. */
static int64_t group_bytes(const sbp_hint *h, uint32_t slot, const sbp_placement *p)
{
	int64_t bytes = h->bytes;
	for (uint32_t k = 0; k < slot; k++)
		if (h->sbp.at[k].kind == SBP_SPLIT)
			bytes = ceil_div(bytes, p->sizes[k]);
	return bytes;
}

int64_t sbp_copy_cost(const sbp_candidates *c, uint32_t i, const sbp_hint *hints, uint32_t slot,
	const sbp_placement *p)
{
	const sbp *words = candidate_words(c, i);
	int64_t cost = 0;
	for (uint32_t k = 0; k < c->n_operands; k++) {
		sbp has = hints[k].sbp.at[slot];
		if (hints[k].free ? words[k].kind != SBP_PARTIAL : sbp_equal(has, words[k]))
			continue;
		if (words[k].kind == SBP_PARTIAL)
			cost = sat_add(cost, INT64_MAX);
		else if (has.kind == SBP_BROADCAST)
			cost = sat_add(cost, INT32_MAX);
		else
			cost = sat_add(cost, group_bytes(&hints[k], slot, p));
	}
	return cost;
}

/* The N-D values of a choice. */
static void values_of(const sbp_candidates *c, const sbp_hint *hints, const sbp_placement *p,
	bool constrained, const uint16_t *chosen, int64_t *order, int64_t *cost)
{
	*order = *cost = 0;
	for (uint32_t slot = 0; slot < p->n; slot++)
		*cost = sat_add(*cost, sbp_copy_cost(c, chosen[slot], hints, slot, p));
	for (uint32_t k = 0; k < c->n_operands && !constrained; k++) {
		bool same = !hints[k].free;
		for (uint32_t slot = 0; slot < p->n && same; slot++)
			same = sbp_equal(hints[k].sbp.at[slot], candidate_words(c, chosen[slot])[k]);
		*order += same ? MATCHING_INPUT : 0;
	}
}

/* All dimensions of the hierarchy together. */
static bool all_fit(const sbp_candidates *c, const uint16_t *chosen, const sbp_placement *p)
{
	for (uint32_t slot = 0; slot < p->n; slot++)
		if (!sbp_fits_shape(c, chosen, slot, chosen[slot], p))
			return false;
	return true;
}

static bool choose_one(const sbp_candidates *c, const sbp_hint *hints, const sbp_placement *p,
	const sbp_constraint *k, bool constrained, uint32_t slot, uint16_t *chosen)
{
	int64_t best_order = INT64_MAX, best_cost = INT64_MAX;
	bool found = false;
	for (uint32_t i = 0; i < c->n; i++) {
		if (!sbp_fits_shape(c, chosen, slot, i, p) || !sbp_fits_constraint(c, i, slot, k))
			continue;
		int64_t order = sbp_order_value(c, i, hints, slot, constrained),
				cost = sbp_copy_cost(c, i, hints, slot, p);
		if (found && (order > best_order || (order == best_order && cost >= best_cost)))
			continue;
		found = true;
		best_order = order;
		best_cost = cost;
		chosen[slot] = (uint16_t)i;
	}
	return found;
}

bool sbp_choose(const sbp_candidates *c, const sbp_hint *hints, const sbp_placement *p,
	const sbp_constraint *k, sbp_choice *out)
{
	bool constrained = is_constrained(c, k), better = p->n > 1;
	*out = (sbp_choice){0};
	for (uint32_t slot = 0; slot < p->n; slot++)
		if (!choose_one(c, hints, p, k, constrained, slot, out->signature))
			return false;
	memcpy(out->first, out->signature, sizeof out->first);
	values_of(c, hints, p, constrained, out->signature, &out->order, &out->cost);
	while (better) {
		better = false;
		for (uint32_t slot = 0; slot < p->n; slot++)
			for (uint32_t i = 0; i < c->n; i++) {
				uint16_t kept = out->signature[slot];
				int64_t order, cost;
				out->signature[slot] = (uint16_t)i;
				values_of(c, hints, p, constrained, out->signature, &order, &cost);
				if (i != kept && (cost < out->cost || (cost == out->cost && order < out->order)) &&
					sbp_fits_constraint(c, i, slot, k) && all_fit(c, out->signature, p)) {
					out->order = order;
					out->cost = cost;
					out->refinements++;
					better = true;
				} else {
					out->signature[slot] = kept;
				}
			}
	}
	return true;
}
