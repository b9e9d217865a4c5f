/* The module that a search works on: its mesh, and what the user fixed or forbade. */
#include "search/runner.h"

#include <stdlib.h>

/* One device, where a callback runs, is no part of how the others are cut. */
static bool is_on_other(const module *m, sharding_id id, mesh_id mesh)
{
	mesh_id at = id == SHARDING_NONE ? mesh : sharding_get(m->shardings, id)->mesh;
	return at != mesh && !m->shardings->meshes.p[at].maximal;
}

/* Inner computations by hand are on a mesh too. */
static bool any_on_other(const module *m, mesh_id mesh)
{
	for (op_id o = 0; o < m->ops.n; o++)
		if (m->ops.p[o].kind == OP_SDY_MANUAL_COMPUTATION && !(m->ops.p[o].flags & OPS_ERASED))
			return true;
	for (value_id v = 0; v < m->values.n; v++)
		if (is_on_other(m, m->values.p[v].sharding, mesh))
			return true;
	for (uint32_t f = 0; f < m->funcs.n; f++)
		for (uint32_t i = 0; i < m->funcs.p[f].n_results; i++)
			if (is_on_other(m, m->funcs.p[f].result_shardings[i], mesh))
				return true;
	return false;
}

/* The module's own mesh when it has one with the same axes; a different one with shardings on it is an error. */
status runner_settle_mesh(runner *r, diag *d)
{
	mesh_id own = module_own_mesh(r->base, r->o.mesh);
	module_fill_empty_mesh(r->base, own == ID_NONE ? r->o.mesh : own);
	if (own == ID_NONE && any_on_other(r->base, r->o.mesh))
		return diag_set(d, ST_ERR_INVALID, "the module already has shardings on another mesh than the one given with --mesh");
	if (own != ID_NONE)
		r->o.mesh = own;
	return ST_OK;
}

status runner_apply_pins(runner *r, diag *d)
{
	module *m = r->base;
	func *main = module_main(m);
	const region *body = op_region(m, main->op, 0);
	const search_pin **by = xcalloc(main->n_args + 1, sizeof *by); /* the pin that an argument has */
	strbuf name;
	strbuf_init(&name);
	status s = ST_OK;
	for (uint32_t p = 0; p < r->o.n_pins && s == ST_OK; p++) {
		bool hit = false;
		for (uint32_t a = 0; a < main->n_args && s == ST_OK; a++) {
			strbuf_clear(&name);
			module_arg_name(m, a, &name);
			if (!glob_match(r->o.pins[p].glob, (str){name.p, name.n}))
				continue;
			hit = true;
			sharding_edit e;
			value_id v = body->args + a;
			char why[256];
			diag own = {0};
			s = sharding_from_json_text(m->shardings, r->o.mesh, str_of(r->o.pins[p].sharding), value_type(m, v)->rank, &e, &own);
			if (s != ST_OK)
				diag_set(d, s, "pin '%s' on argument %s: %s", r->o.pins[p].glob, name.p, own.msg);
			else if (!sharding_check(m->shardings, &e, value_type(m, v), why, sizeof why))
				s = diag_set(d, ST_ERR_INVALID, "pin '%s' does not fit argument %s: %s", r->o.pins[p].glob, name.p, why);
			if (s != ST_OK)
				break;
			sharding_id id = sharding_intern(m->shardings, &e), old = m->values.p[v].sharding;
			if (old != SHARDING_NONE && old != id)
				s = by[a] ? diag_set(d, ST_ERR_INVALID, "pins '%s:%s' and '%s:%s' contradict each other on argument %s", by[a]->glob, by[a]->sharding,
						     r->o.pins[p].glob, r->o.pins[p].sharding, name.p)
					  : diag_set(d, ST_ERR_INVALID, "pin '%s:%s' contradicts the sharding that the module gives argument %s", r->o.pins[p].glob,
						     r->o.pins[p].sharding, name.p);
			m->values.p[v].sharding = id;
			by[a] = &r->o.pins[p];
		}
		if (s == ST_OK && !hit)
			s = diag_set(d, ST_ERR_INVALID, "pin '%s' names no argument", r->o.pins[p].glob);
	}
	strbuf_release(&name);
	free(by);
	return s;
}

status runner_apply_forbids(runner *r, diag *d)
{
	problem *pb = &r->pb;
	if (!r->o.n_forbids)
		return ST_OK;
	pb->forbidden = arena_zarray(&pb->mem, bool, (size_t)pb->n_args * MAX_RANK * pb->n_axes + 1);
	strbuf name;
	strbuf_init(&name);
	status s = ST_OK;
	for (uint32_t f = 0; f < r->o.n_forbids && s == ST_OK; f++) {
		const search_forbid *fb = &r->o.forbids[f];
		uint32_t axis = mesh_axis_find(pb->m->shardings, pb->mesh, str_of(fb->axis));
		bool hit = false;
		if (axis == ID_NONE)
			s = diag_set(d, ST_ERR_INVALID, "forbid '%s': the mesh has no axis '%s'", fb->glob, fb->axis);
		for (uint32_t a = 0; a < pb->n_args && s == ST_OK; a++) {
			strbuf_clear(&name);
			module_arg_name(pb->m, a, &name);
			if (glob_match(fb->glob, (str){name.p, name.n}) && fb->dimension < MAX_RANK) {
				pb->forbidden[((size_t)a * MAX_RANK + fb->dimension) * pb->n_axes + axis] = true;
				hit = true;
			}
		}
		if (s == ST_OK && !hit)
			s = diag_set(d, ST_ERR_INVALID, "forbid '%s' names no argument", fb->glob);
	}
	strbuf_release(&name);
	return s;
}
