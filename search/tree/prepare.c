/* What a search works on: the module with its mesh and what the user fixed or forbade, the problem,
 * the tactics of the schedule. */
#include "search/tree/runner.h"

#include <stdlib.h>

/* One device, where a callback runs, is no part of how the others are cut. */
static bool is_on_other(const module *m, sharding_id id, mesh_id mesh)
{
	mesh_id at = id == SHARDING_NONE ? mesh : sharding_get(m->shardings, id)->mesh;
	return at != mesh && !m->shardings->meshes.p[at].maximal;
}

/* Which value it is: "argument params['w']", "the result of stablehlo.tanh at ..". */
static void tell_value(const module *m, value_id v, strbuf *out)
{
	const func *main = module_main(m);
	op_id def = value_def(m, v);
	value_id args = op_region(m, main->op, 0)->args;
	if (def != ID_NONE) {
		str name = strtab_get(&m->strs, m->ops.p[def].name);
		strbuf_printf(out, "the result of " STR_FMT, STR_ARG(name));
		if (m->ops.p[def].loc) {
			strbuf_puts(out, " at ");
			loc_print(m, m->ops.p[def].loc, out);
		}
	} else if (v >= args && v - args < main->n_args) {
		strbuf_puts(out, "argument ");
		module_arg_name(m, v - args, out);
	} else {
		strbuf_puts(out, "a value of an inner function");
	}
}

static bool any_listed_on_other(const module *m, op_id o, const char *name, mesh_id mesh)
{
	attr_id a = op_attr(m, o, name);
	if (a == ID_NONE || attr_get(m, a)->kind != ATTR_SHARDINGS)
		return true;
	for (uint32_t i = 0; i < attr_get(m, a)->n; i++)
		if (is_on_other(m, attr_get(m, a)->shardings[i], mesh))
			return true;
	return false;
}

/* Inner computations by hand are on a mesh too. True, and in words what it is, when there is
 * something. */
static bool any_on_other(const module *m, mesh_id mesh, strbuf *what)
{
	for (op_id o = 0; o < m->ops.n; o++)
		if (m->ops.p[o].kind == OP_SDY_MANUAL_COMPUTATION && !(m->ops.p[o].flags & OPS_ERASED) &&
			(any_listed_on_other(m, o, "in_shardings", mesh) ||
				any_listed_on_other(m, o, "out_shardings", mesh))) {
			strbuf_puts(what, "a shard_map (sdy.manual_computation)");
			return true;
		}
	for (value_id v = 0; v < m->values.n; v++)
		if (is_on_other(m, m->values.p[v].sharding, mesh)) {
			tell_value(m, v, what);
			strbuf_puts(what, " is on ");
			mesh_print(
				m->shardings, sharding_get(m->shardings, m->values.p[v].sharding)->mesh, what);
			return true;
		}
	for (uint32_t f = 0; f < m->funcs.n; f++)
		for (uint32_t i = 0; i < m->funcs.p[f].n_results; i++)
			if (is_on_other(m, m->funcs.p[f].result_shardings[i], mesh)) {
				strbuf_printf(what, "result %u is on ", i);
				mesh_print(m->shardings,
					sharding_get(m->shardings, m->funcs.p[f].result_shardings[i])->mesh, what);
				return true;
			}
	return false;
}

/* The module's own mesh when it has one with the same axes; a different one with shardings on it is
 * an error. */
static status settle_mesh(runner *r, diag *d)
{
	mesh_id own = module_own_mesh(r->base, r->o.mesh);
	module_fill_empty_mesh(r->base, own == ID_NONE ? r->o.mesh : own);
	TRY(module_take_gspmd(r->base, own == ID_NONE ? r->o.mesh : own, d));
	strbuf what;
	strbuf_init(&what);
	status s = ST_OK;
	if (own == ID_NONE && any_on_other(r->base, r->o.mesh, &what))
		s = diag_set(d, ST_ERR_INVALID,
			"the module already has shardings on another mesh than the one given with --mesh: %s; "
			"plan on that mesh, or lower without it",
			what.p);
	strbuf_release(&what);
	TRY(s);
	if (own != ID_NONE)
		r->o.mesh = own;
	return ST_OK;
}

static status apply_pins(runner *r, diag *d)
{
	module *m = r->base;
	func *main = module_main(m);
	const ir_region *body = op_region(m, main->op, 0);
	const search_pin **by =
		xcalloc(main->n_args + 1, sizeof *by); /* the pin that an argument has */
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
			s = sharding_from_json_text(m->shardings, r->o.mesh, str_of(r->o.pins[p].sharding),
				value_type(m, v)->rank, &e, &own);
			if (s != ST_OK)
				diag_set(d, s, "pin '%s' on argument %s: %s", r->o.pins[p].glob, name.p, own.msg);
			else if (!sharding_check(m->shardings, &e, value_type(m, v), why, sizeof why))
				s = diag_set(d, ST_ERR_INVALID, "pin '%s' does not fit argument %s: %s",
					r->o.pins[p].glob, name.p, why);
			if (s != ST_OK)
				break;
			sharding_id id = sharding_intern(m->shardings, &e), old = m->values.p[v].sharding;
			if (old != SHARDING_NONE && old != id)
				s = by[a]
					? diag_set(d, ST_ERR_INVALID,
						  "pins '%s:%s' and '%s:%s' contradict each other on argument %s",
						  by[a]->glob, by[a]->sharding, r->o.pins[p].glob, r->o.pins[p].sharding,
						  name.p)
					: diag_set(d, ST_ERR_INVALID,
						  "pin '%s:%s' contradicts the sharding that the module gives argument %s",
						  r->o.pins[p].glob, r->o.pins[p].sharding, name.p);
			m->values.p[v].sharding = id;
			by[a] = &r->o.pins[p];
		}
		if (s == ST_OK && !hit)
			s = names_no_argument(m, main->n_args, "pin", r->o.pins[p].glob, d);
	}
	strbuf_release(&name);
	free(by);
	return s;
}

static status no_axis(const problem *pb, const search_forbid *fb, diag *d)
{
	const device_mesh *m = &pb->m->shardings->meshes.p[pb->mesh];
	char hint[160];
	nearest near = {.wanted = str_of(fb->axis)};
	for (uint32_t i = 0; i < m->n_axes; i++)
		nearest_consider(&near, strtab_get(&pb->m->shardings->names, m->axis_names[i]));
	return diag_set(d, ST_ERR_INVALID, "forbid '%s': the mesh has no axis '%s'%s", fb->glob,
		fb->axis, nearest_hint(&near, hint));
}

/* To all of the argument's group: of what shards alike, what one must not have no other one can. */
static void forbid(problem *pb, uint32_t arg, uint32_t dim, uint32_t axis)
{
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (a == arg || (pb->given[arg] != ID_NONE && pb->given[a] == pb->given[arg]))
			pb->forbidden[((size_t)a * MAX_RANK + dim) * pb->n_axes + axis] = true;
}

static status apply_forbids(runner *r, diag *d)
{
	problem *pb = &r->pb;
	if (!r->o.n_forbids)
		return ST_OK;
	pb->forbidden = arena_zarray(&pb->mem, bool, (size_t)pb->n_args *MAX_RANK * pb->n_axes + 1);
	strbuf name;
	strbuf_init(&name);
	status s = ST_OK;
	for (uint32_t f = 0; f < r->o.n_forbids && s == ST_OK; f++) {
		const search_forbid *fb = &r->o.forbids[f];
		uint32_t axis = mesh_axis_find(pb->m->shardings, pb->mesh, str_of(fb->axis));
		bool hit = false, has_dim = false;
		if (axis == ID_NONE)
			s = no_axis(pb, fb, d);
		for (uint32_t a = 0; a < pb->n_args && s == ST_OK; a++) {
			strbuf_clear(&name);
			module_arg_name(pb->m, a, &name);
			if (glob_match(fb->glob, (str){name.p, name.n}) && fb->dimension < MAX_RANK) {
				forbid(pb, a, fb->dimension, axis);
				hit = true;
				has_dim |= fb->dimension < pval_type(pb->p, pb->p->args.p[a])->rank;
			}
		}
		if (hit && !has_dim)
			s = diag_set(d, ST_ERR_INVALID,
				"forbid '%s': none of these arguments has a dimension %u", fb->glob, fb->dimension);
		if (s == ST_OK && !hit)
			s = names_no_argument(pb->m, pb->n_args, "forbid", fb->glob, d);
	}
	strbuf_release(&name);
	return s;
}

/* How the plan is applied, before anything is costed. */
static status settle_apply(runner *r, diag *d)
{
	diag why = {0};
	if (r->o.apply != APPLY_EXACT && !r->o.apply_exact_if_possible)
		return ST_OK;
	status s = lower_check_emits(r->pb.p, r->pb.m->shardings, r->pb.mesh, &why);
	if (s != ST_OK && !r->o.apply_exact_if_possible) {
		*d = why;
		return s;
	}
	r->o.apply = s == ST_OK ? APPLY_EXACT : APPLY_ANNOTATE;
	if (apply_reading(r->o.apply, r->o.device->target) == READ_SIMPLIFIED) {
		program_simplify(r->pb.p); /* it was read to be applied exactly */
		if (r->pb.fold)
			program_simplify(r->pb.fold->p);
	}
	snprintf(r->out->not_exact, sizeof r->out->not_exact, "%.*s", (int)sizeof r->out->not_exact - 1,
		s == ST_OK ? "" : why.msg);
	return ST_OK;
}

static void settle_uncertainty(runner *r)
{
	if (r->o.uncertainty_ppm == UNCERTAINTY_OF_WAY)
		r->o.uncertainty_ppm =
			r->o.apply == APPLY_EXACT ? UNCERTAINTY_EXACT_PPM : UNCERTAINTY_ANNOTATED_PPM;
	r->out->uncertainty_ppm = r->o.uncertainty_ppm;
}

status runner_prepare(runner *r, diag *d)
{
	TRY(settle_mesh(r, d));
	TRY(apply_pins(r, d));
	TRY(schedule_groups(r->user, &r->mem, &r->groups, d));
	r->o.groups = r->groups.p;
	r->o.n_groups = r->groups.n;
	runner_try_options(r);
	TRY(problem_init(&r->pb, r->base, &r->o, d));
	r->goal = goal_of_answer(&r->pb);
	TRY(settle_apply(r, d));
	settle_uncertainty(r);
	TRY(apply_forbids(r, d));
	return schedule_read(&r->pb, r->user->schedule_json, &r->tactics, d);
}
