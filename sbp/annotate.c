/* What was inferred, as shardings and reshards in the module; the pass. */
#include "sbp/sbp.h"

#include <stdlib.h>

static sharding_id sharding_at(module *m, mesh_id mesh, const nd_sbp *s, const ir_type *ty)
{
	sbp_placement p;
	diag d = {0};
	if (ty->kind != TYPE_TENSOR || sbp_placement_of(m->shardings, mesh, &p, &d) != ST_OK)
		return SHARDING_NONE;
	return sharding_of_nd_sbp(m->shardings, s, &p, ty->rank);
}

static value_id insert(
	module *m, op_kind kind, const sbp_boxing_record *r, value_id v, const nd_sbp *to)
{
	type_id type = value_at(m, v)->type;
	op_id made = op_new(m, kind, 0, &v, 1, &type, 1, 0, op_at(m, r->op)->loc);
	value_get(m, op_result(m, made, 0))->sharding =
		sharding_at(m, r->placement, to, type_get(m, type));
	op_insert_before(m, made, r->op);
	return op_result(m, made, 0);
}

/* A reshard; summands are made of whole values by an op that does nothing else, as a reshard to
 * more unreduced axes would be lowered to one that leaves every device the whole. */
static value_id insert_boxing(module *m, const sbp_boxing_record *r)
{
	value_id v = r->value;
	nd_sbp between = r->to;
	bool sums = false;
	if (value_type(m, v)->kind != TYPE_TENSOR)
		return v;
	for (uint32_t k = 0; k < MAX_HIERARCHY; k++)
		if (r->to.at[k].kind == SBP_PARTIAL && r->from.at[k].kind != SBP_PARTIAL) {
			between.at[k] = (sbp){0};
			sums = true;
		}
	if (!nd_sbp_equal(&r->from, &between))
		v = insert(m, OP_SDY_RESHARD, r, v, &between);
	if (sums)
		v = insert(m, OP_OPTIMIZATION_BARRIER, r, v, &r->to);
	return v;
}

void sbp_annotate(module *m, const sbp_inference *x)
{
	func *f = module_main(m);
	for (uint32_t i = 0; i < x->values.n; i++) {
		const sbp_value_record *r = &x->values.p[i];
		value_get(m, r->value)->sharding =
			sharding_at(m, r->placement, &r->sbp, value_type(m, r->value));
	}
	for (uint32_t i = 0; i < x->results.n; i++) {
		const sbp_value_record *r = &x->results.p[i];
		f->result_shardings[r->value] =
			sharding_at(m, r->placement, &r->sbp, type_get(m, f->result_types[r->value]));
	}
	value_id *made = xmalloc(MAX(x->boxings.n, 1) * sizeof *made);
	for (uint32_t i = 0; i < x->boxings.n; i++) {
		const sbp_boxing_record *r = &x->boxings.p[i];
		made[i] = r->same == ID_NONE ? insert_boxing(m, r) : made[r->same];
		op_set_operand(m, r->op, r->operand, made[i]);
	}
	free(made);
}

static status run_pass(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	sbp_inference x;
	mesh_id mesh = ID_NONE;
	for (uint32_t i = 0; i < n_options; i++) {
		mesh = mesh_find(m->shardings, options[i].value);
		if (mesh == ID_NONE)
			return diag_set(d, ST_ERR_NOT_FOUND,
				"placement: the module has no mesh \"" STR_FMT "\"", STR_ARG(options[i].value));
	}
	status s = sbp_infer(m, mesh, &x, d);
	if (s == ST_OK)
		sbp_annotate(m, &x);
	sbp_inference_release(&x);
	return s;
}

void sbp_register_passes(void)
{
	static const pass_info passes[] = {
		{"sbp-infer", run_pass, "placement",
			"SBP signature inference from the shardings of the arguments: shardings on all "
			"results, reshards between them"},
	};
	pass_register(passes, COUNT_OF(passes));
}
