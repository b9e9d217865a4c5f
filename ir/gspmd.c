/* Shardings for GSPMD, XLA's older partitioner: mhlo.sharding attributes, and custom calls that
 * stand for constraints and for the edges of a shard_map. No rule knows them. layout/gspmd_module.c
 * writes those that a mesh can express as Shardy's. */
#include "ir/ir.h"

static const char advice[] =
	"lower with Shardy (jax.config.update('jax_use_shardy_partitioner', True))";

bool op_is_gspmd(const module *m, op_id o, const char *target)
{
	return op_at(m, o)->kind == OP_CUSTOM_CALL && !(op_at(m, o)->flags & OPS_ERASED) &&
		str_is(op_text(m, o, "call_target_name"), target);
}

status module_refuse_gspmd(const module *m, diag *d)
{
	for (uint32_t f = 0; f < m->funcs.n; f++) {
		const func *fn = &m->funcs.p[f];
		for (uint32_t i = 0;
			 i < fn->n_args + fn->n_results && !(op_at(m, fn->op)->flags & OPS_ERASED); i++) {
			bool result = i >= fn->n_args;
			attr_id dict = result ? fn->result_attrs[i - fn->n_args] : fn->arg_attrs[i];
			if (dict != ID_NONE && attr_child(m, dict, "mhlo.sharding") != ID_NONE)
				return op_error(m, fn->op, d, ST_ERR_UNSUPPORTED,
					"%s %u has a sharding for GSPMD (mhlo.sharding), which without a mesh says "
					"nothing: %s",
					result ? "result" : "argument", result ? i - fn->n_args : i, advice);
		}
	}
	for (op_id o = 0; o < m->ops.n; o++) {
		if (op_is_gspmd(m, o, "SPMDFullToShardShape") || op_is_gspmd(m, o, "SPMDShardToFullShape"))
			return op_error(m, o, d, ST_ERR_UNSUPPORTED,
				"a shard_map that was lowered for GSPMD (custom_call @SPMDFullToShardShape): %s",
				advice);
		if (op_is_gspmd(m, o, "Sharding"))
			return op_error(m, o, d, ST_ERR_UNSUPPORTED,
				"a constraint for GSPMD (custom_call @Sharding), which without a mesh says "
				"nothing: %s",
				advice);
		if (!(op_at(m, o)->flags & OPS_ERASED) && op_attr(m, o, "mhlo.sharding") != ID_NONE)
			return op_error(m, o, d, ST_ERR_UNSUPPORTED,
				"a sharding for GSPMD (mhlo.sharding) on an op: %s", advice);
	}
	return ST_OK;
}
