/* What was inferred, as shardings and reshards in the module; the pass. */
#include "sbp/sbp.h"

static sharding_id sharding_at(module *m, mesh_id mesh, const nd_sbp *s, const type *ty)
{
	sbp_placement p;
	diag d = {0};
	if (ty->kind != TYPE_TENSOR || sbp_placement_of(m->shardings, mesh, &p, &d) != ST_OK)
		return SHARDING_NONE;
	return sharding_of_nd_sbp(m->shardings, s, &p, ty->rank);
}

void sbp_annotate(module *m, const sbp_inference *x)
{
	func *f = module_main(m);
	for (uint32_t i = 0; i < x->values.n; i++) {
		const sbp_value_record *r = &x->values.p[i];
		value_get(m, r->value)->sharding = sharding_at(m, r->placement, &r->sbp, value_type(m, r->value));
	}
	for (uint32_t i = 0; i < x->results.n; i++) {
		const sbp_value_record *r = &x->results.p[i];
		f->result_shardings[r->value] = sharding_at(m, r->placement, &r->sbp, type_get(m, f->result_types[r->value]));
	}
	for (uint32_t i = 0; i < x->boxings.n; i++) {
		const sbp_boxing_record *r = &x->boxings.p[i];
		value_id v = op_operand(m, r->op, r->operand);
		type_id type = value_at(m, v)->type;
		if (type_get(m, type)->kind != TYPE_TENSOR)
			continue;
		sharding_id to = sharding_at(m, r->placement, &r->to, type_get(m, type));
		op_id made = op_new(m, OP_SDY_RESHARD, 0, &v, 1, &type, 1, 0, op_at(m, r->op)->loc);
		value_get(m, op_result(m, made, 0))->sharding = to;
		op_insert_before(m, made, r->op);
		op_set_operand(m, r->op, r->operand, op_result(m, made, 0));
	}
}

static status run_pass(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	sbp_inference x;
	mesh_id mesh = ID_NONE;
	for (uint32_t i = 0; i < n_options; i++) {
		mesh = mesh_find(m->shardings, options[i].value);
		if (mesh == ID_NONE)
			return diag_set(d, ST_ERR_NOT_FOUND, "placement: the module has no mesh \"" STR_FMT "\"", STR_ARG(options[i].value));
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
		{"sbp-infer", run_pass, "placement", "SBP signature inference from the shardings of the arguments: shardings on all results, reshards between them"},
	};
	pass_register(passes, COUNT_OF(passes));
}
