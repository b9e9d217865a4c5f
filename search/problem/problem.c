/* The search problem: an imported copy of the module, its planning program, and what is known about
 * main's arguments. */
#include "search/problem/problem.h"

#include <stdlib.h>

static bool has_axes(const sharding_table *t, sharding_id id)
{
	if (id == SHARDING_NONE)
		return false;
	const sharding *s = sharding_get(t, id);
	for (uint32_t d = 0; d < s->rank; d++)
		if (s->dims[d].n || s->dims[d].closed)
			return true;
	return s->n_replicated || s->n_unreduced;
}

status problem_read(problem *pb, const module *annotated, const search_options *o, diag *d)
{
	*pb = (problem){.o = o, .mesh = o->mesh};
	rule_table_init(&pb->rules);
	pb->m = module_clone(annotated);
	TRY(passes_import(pb->m, o->device->target == TARGET_TPU, d));
	apply_way apply = o->apply_exact_if_possible ? APPLY_EXACT : o->apply;
	TRY(program_new(pb->m, &pb->rules, apply_reading(apply, o->device->target), &pb->p, d));
	TRY(donation_read(pb->m, &pb->dn, d));
	pb->n_args = pb->p->args.n;
	pb->n_results = pb->p->results.n;
	pb->p->mesh = pb->mesh;
	const device_mesh *mh = &pb->m->shardings->meshes.p[pb->mesh];
	pb->n_axes = mh->n_axes;
	mesh_links links;
	TRY(mesh_links_assign(o->device, pb->m->shardings, pb->mesh, o->axis_links, &links, d));
	pb->memory_limit = o->memory_limit ? o->memory_limit : o->device->usable_bytes;
	pb->roles = arena_zarray(&pb->mem, role, pb->n_args + 1);
	pb->result_of_arg = arena_array(&pb->mem, int32_t, pb->n_args + 1);
	pb->batch_dim = arena_array(&pb->mem, uint32_t, pb->n_args + 1);
	pb->param_of = arena_array(&pb->mem, uint32_t, pb->n_args + 1);
	pb->pinned = arena_zarray(&pb->mem, bool, pb->n_args + 1);
	pb->arg_bytes = arena_array(&pb->mem, int64_t, pb->n_args + 1);
	for (uint32_t a = 0; a < pb->n_args; a++) {
		pval_id v = pb->p->args.p[a];
		pb->arg_bytes[a] =
			sharding_local_bytes(pb->m->shardings, SHARDING_NONE, pval_type(pb->p, v));
		pb->pinned[a] =
			has_axes(pb->m->shardings, pb->m->values.p[pb->p->vals.p[v].value].sharding);
	}
	problem_find_roles(pb);
	TRY(problem_find_groups(pb, d));
	problem_find_sites(pb, annotated);
	/* Roles need the pairs; with open results nothing else does. */
	for (uint32_t a = 0; a < pb->n_args && o->open_results; a++)
		pb->result_of_arg[a] = -1;
	actions_make_roles(pb);
	return ST_OK;
}

bool problem_axis_cuts(const problem *pb, uint32_t axis)
{
	return axis_size(mesh_full_axis(pb->m->shardings, pb->mesh, axis)) > 1;
}

void problem_forget(problem *pb)
{
	folding_free(pb->fold);
	if (pb->p)
		program_free(pb->p);
	donation_release(&pb->dn);
	rule_table_release(&pb->rules);
	if (pb->m)
		module_free(pb->m);
	arena_release(&pb->mem);
}

bool problem_forbids_sharding(
	const problem *pb, const sharding_table *t, uint32_t arg, sharding_id id)
{
	if (!pb->forbidden || id == SHARDING_NONE)
		return false;
	const sharding *s = sharding_get(t, id);
	for (uint32_t d = 0; d < s->rank; d++) {
		axes l = sharding_dim(s, d);
		for (uint32_t i = 0; i < l.n; i++)
			if (problem_forbids(pb, arg, d, axis_index(l.a[i])))
				return true;
	}
	return false;
}
