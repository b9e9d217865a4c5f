/* Loops, branches and the ops in them. */
#include "sbp/walk.h"

#include <stdlib.h>

enum { MAX_DRY_RUNS = 4 /* loops in loops that are inferred twice each */ };

static bool all_free(const struct walk *w, op_id o)
{
	for (uint32_t i = 0; i < op_at(w->m, o)->n_operands; i++)
		if (!w->of[op_operand(w->m, o, i)].free)
			return false;
	return true;
}

static void set_arguments(struct walk *w, op_id o, const struct state *carried)
{
	for (uint32_t i = 0; i < op_at(w->m, o)->n_regions; i++) {
		const ir_region *r = op_region(w->m, o, i);
		for (uint32_t k = 0; k < r->n_args; k++)
			w->of[r->args + k] = carried[k];
	}
}

/* What a loop carries that begins as a constant takes the SBP that one run of the body leaves it
 * with; what is known then of the run is forgotten. */
static status try_body(struct walk *w, op_id o, struct state *carried)
{
	sbp_inference *x = w->x;
	uint32_t ops = x->ops.n, boxings = x->boxings.n, steps = x->steps.n, values = x->values.n;
	set_arguments(w, o, carried);
	w->dry_runs++;
	TRY(walk_region(w, op_at(w->m, o)->regions + 1));
	w->dry_runs--;
	x->ops.n = ops;
	x->boxings.n = boxings;
	x->steps.n = steps;
	x->values.n = values;
	op_id end = region_terminator(w->m, op_at(w->m, o)->regions + 1);
	for (uint32_t i = 0; i < op_at(w->m, o)->n_operands; i++)
		if (carried[i].free && !w->of[op_operand(w->m, end, i)].free) {
			carried[i] = w->of[op_operand(w->m, end, i)];
			carried[i].sbp = walk_whole(&carried[i].sbp);
		}
	return ST_OK;
}

/* Does a region give one value per result? The reader leaves that to whoever runs the op. */
static bool gives(const module *m, op_id o, uint32_t i)
{
	op_id end =
		i < op_at(m, o)->n_regions ? region_terminator(m, op_at(m, o)->regions + i) : ID_NONE;
	return end != ID_NONE && op_at(m, end)->n_operands == op_at(m, o)->n_results;
}

/* A loop's values keep the SBP that they come in with. */
static status infer_while(struct walk *w, op_id o)
{
	uint32_t n = op_at(w->m, o)->n_operands;
	if (op_at(w->m, o)->n_regions != 2 || op_at(w->m, o)->n_results != n || !gives(w->m, o, 1))
		return op_error(
			w->m, o, w->d, ST_ERR_INVALID, "the loop's body does not give what it carries");
	for (uint32_t i = 0; i < 2; i++)
		if (op_region(w->m, o, i)->n_args != n)
			return op_error(w->m, o, w->d, ST_ERR_INVALID,
				"a region of the loop does not take what it carries");
	struct state *carried = xcalloc(MAX(n, 1), sizeof *carried);
	bool any_free = false;
	status s = ST_OK;
	for (uint32_t i = 0; i < n; i++) {
		carried[i] = w->of[op_operand(w->m, o, i)];
		carried[i].sbp = walk_whole(&carried[i].sbp);
		any_free = any_free || carried[i].free;
	}
	w->loops++;
	if (any_free && w->dry_runs < MAX_DRY_RUNS)
		s = try_body(w, o, carried);
	w->loops--;
	for (uint32_t i = 0; i < n && s == ST_OK; i++) {
		s = walk_box(w, o, i, &carried[i].sbp);
		if (carried[i].free)
			carried[i] = (struct state){.placement = w->x->placement.mesh};
	}
	w->loops++;
	if (s == ST_OK)
		set_arguments(w, o, carried);
	for (uint32_t i = 0; i < op_at(w->m, o)->n_regions && s == ST_OK; i++)
		s = walk_region(w, op_at(w->m, o)->regions + i);
	if (s == ST_OK) {
		op_id end = region_terminator(w->m, op_at(w->m, o)->regions + 1);
		for (uint32_t i = 0; i < n && s == ST_OK; i++)
			s = walk_box(w, end, i, &carried[i].sbp);
	}
	w->loops--;
	for (uint32_t i = 0; i < n && s == ST_OK; i++)
		walk_set(w, op_result(w->m, o, i), &carried[i]);
	free(carried);
	return s;
}

/* All branches give what the first one does. */
static status infer_branches(struct walk *w, op_id o)
{
	const ir_op *at = op_at(w->m, o);
	nd_sbp whole_index = {0};
	struct state *results = xcalloc(MAX(at->n_results, 1), sizeof *results);
	status s = at->n_operands ? walk_box(w, o, 0, &whole_index) : ST_OK;
	for (uint32_t i = 0; i < at->n_regions && s == ST_OK; i++) {
		if (!gives(w->m, o, i))
			s = op_error(
				w->m, o, w->d, ST_ERR_INVALID, "branch %u does not give the results of the op", i);
		if (s == ST_OK)
			s = walk_region(w, at->regions + i);
		if (s != ST_OK)
			break;
		op_id end = region_terminator(w->m, at->regions + i);
		for (uint32_t k = 0; k < at->n_results && s == ST_OK; k++) {
			const struct state *given = &w->of[op_operand(w->m, end, k)];
			if (i == 0)
				results[k] = given->free
					? (struct state){.placement = w->x->placement.mesh}
					: (struct state){walk_whole(&given->sbp), given->placement, false};
			s = walk_box(w, end, k, &results[k].sbp);
		}
	}
	for (uint32_t k = 0; k < at->n_results && s == ST_OK; k++)
		walk_set(w, op_result(w->m, o, k), &results[k]);
	free(results);
	return s;
}

static bool makes_constants(const module *m, op_id o)
{
	op_kind k = op_at(m, o)->kind;
	return k == OP_CONSTANT || k == OP_IOTA || k == OP_SDY_CONSTANT || k == OP_CHLO_CONSTANT;
}

static status infer_any(struct walk *w, op_id o)
{
	const ir_op *at = op_at(w->m, o);
	switch (at->kind) {
	case OP_WHILE: return infer_while(w, o);
	case OP_CASE:
	case OP_IF: return infer_branches(w, o);
	case OP_CALL:
		return op_error(w->m, o, w->d, ST_ERR_UNSUPPORTED,
			"calls are not inferred: expected an inlined module");
	case OP_SDY_MANUAL_COMPUTATION:
		return op_error(
			w->m, o, w->d, ST_ERR_UNSUPPORTED, "a manual computation has no SBP signature");
	case OP_OPTIMIZATION_BARRIER:
		for (uint32_t i = 0; i < at->n_results; i++)
			walk_set(w, op_result(w->m, o, i), &w->of[op_operand(w->m, o, i)]);
		return ST_OK;
	default: break;
	}
	bool constrained = false;
	for (uint32_t i = 0; i < at->n_results; i++)
		constrained =
			constrained || value_at(w->m, op_result(w->m, o, i))->sharding != SHARDING_NONE;
	if (!constrained &&
		(makes_constants(w->m, o) ||
			(at->n_operands && op_infos[at->kind].flags & OPF_PURE && all_free(w, o)))) {
		for (uint32_t i = 0; i < at->n_results; i++)
			w->of[op_result(w->m, o, i)] =
				(struct state){.placement = w->x->placement.mesh, .free = true};
		return ST_OK;
	}
	return walk_op(w, o);
}

status walk_region(struct walk *w, region_id r)
{
	for (op_id o = w->m->regions.p[r].first; o != ID_NONE; o = op_at(w->m, o)->next)
		if (!(op_infos[op_at(w->m, o)->kind].flags & (OPF_TERMINATOR | OPF_SYMBOL)))
			TRY(infer_any(w, o));
	return ST_OK;
}
