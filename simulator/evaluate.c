/* The replay: what XLA will make of an annotated module, from its text's shardings to run time and
 * memory. */
#include "simulator/simulator.h"

#include <stdlib.h>

static const char *const apply_names[] = {
#define X(id, name, level) [APPLY_##id] = name,
	APPLY_TABLE(X)
#undef X
};
static const lower_level apply_levels[] = {
#define X(id, name, level) [APPLY_##id] = level,
	APPLY_TABLE(X)
#undef X
};

const char *apply_name(apply_way a) { return apply_names[a]; }
lower_level apply_level(apply_way a) { return apply_levels[a]; }

bool apply_find(const char *name, apply_way *out)
{
	for (apply_way a = 0; a < APPLY_COUNT; a++)
		if (!strcmp(name, apply_names[a])) {
			*out = a;
			return true;
		}
	return false;
}

static void release(evaluation *e)
{
	if (e->sim)
		simulator_free(e->sim);
	if (e->low)
		lowered_free(e->low);
	if (e->cache)
		lower_cache_free(e->cache);
	if (e->prop)
		propagation_free(e->prop);
	folding_free(e->fold);
	if (e->p)
		program_free(e->p);
	donation_release(&e->dn);
	rule_table_release(&e->rules);
	if (e->m)
		module_free(e->m);
	if (e->written)
		module_free(e->written);
	free(e->shardings);
}

void evaluation_release(evaluation *e)
{
	release(e);
	*e = (evaluation){0};
}

/* A program without a mesh is one device's. */
static mesh_id one_device_mesh(sharding_table *t)
{
	str_id axis = strtab_add(&t->names, STR("one"));
	int64_t size = 1;
	return mesh_intern(t,
		&(device_mesh){.name = strtab_add(&t->names, STR("mesh")),
			.n_axes = 1,
			.axis_names = &axis,
			.axis_sizes = &size,
			.n_devices = 1});
}

/* Layers are asked for where the chip keeps what is written: which pass an op belongs to. */
static void cost_lowered(evaluation *e, const device *dev, cost *out)
{
	e->sim = simulator_new(e->p, e->m->shardings, dev, &e->links, &e->dn);
	e->fold = dev->on_chip_bytes ? folding_new(e->p, true) : NULL;
	if (e->fold)
		simulator_unfolded(e->sim, e->fold);
	simulate(e->sim, e->low, out);
}

static status run(evaluation *e, const module *annotated, const device *dev, apply_way apply,
	const char *const *axis_links, cost *out, diag *d)
{
	e->m = module_clone(annotated);
	TRY(module_refuse_gspmd(e->m, d));
	TRY(passes_import(e->m, dev->target == TARGET_TPU, d));
	TRY(program_new(e->m, &e->rules, apply_reading(apply, dev->target), &e->p, d));
	TRY(donation_read(e->m, &e->dn, d));
	sharding_table *t = e->m->shardings;
	mesh_id mesh = e->p->mesh != ID_NONE ? e->p->mesh : one_device_mesh(t);
	e->p->mesh = mesh;
	TRY(mesh_links_assign(dev, t, mesh, axis_links, &e->links, d));
	propagate_options po = {
		.strategy = STRATEGY_AGGRESSIVE, .op_priority = true, .user_priority = true};
	e->prop = propagation_new(e->p, t, &po);
	propagation_reset(e->prop);
	propagation_run(e->prop);
	e->shardings = xmalloc((e->p->vals.n + 1) * sizeof *e->shardings);
	memcpy(e->shardings, propagation_shardings(e->prop), e->p->vals.n * sizeof *e->shardings);
	program_trim_io(e->p, t, e->shardings);
	e->cache = lower_cache_new(e->p, t);
	lower_cache_device(
		e->cache, dev->target, device_torus_dims(dev), mesh_links_slice_devices(&e->links));
	lower_cache_reshard_after_forward(e->cache, apply == APPLY_EXACT_RESHARDED);
	e->low = lowered_new(e->p, t);
	lower_program(e->cache, e->shardings, apply_level(apply), dev->target, e->low);
	if (out)
		cost_lowered(e, dev, out);
	return ST_OK;
}

status simulate_module(const module *annotated, const device *dev, apply_way apply,
	const char *const *axis_links, cost *out, evaluation *keep, diag *d)
{
	/* built in place: the program points at the rule table beside it */
	evaluation local, *e = keep ? keep : &local;
	*e = (evaluation){0};
	rule_table_init(&e->rules);
	status s = run(e, annotated, dev, apply, axis_links, out, d);
	if (s != ST_OK || !keep)
		release(e);
	return s;
}

status simulate_written(evaluation *plan, const device *dev, const char *const *axis_links,
	cost *out, evaluation *keep, diag *d)
{
	module *written;
	strbuf text = {0};
	int64_t trip_count = plan->m->trip_count;
	status s = lower_emit_mlir(plan->low, EMIT_GLOBAL, &text, d);
	evaluation_release(plan);
	if (s == ST_OK)
		s = module_read(text.p, text.n, "<one device>", NULL, &written, d);
	strbuf_release(&text);
	if (s != ST_OK)
		return s;
	written->trip_count = trip_count;
	s = simulate_module(written, dev, APPLY_ANNOTATE, axis_links, out, keep, d);
	if (s == ST_OK && keep)
		keep->written = written;
	else
		module_free(written);
	return s;
}

status simulate_applied(const module *annotated, const device *dev, apply_way apply,
	const char *const *axis_links, cost *out, evaluation *keep, diag *d)
{
	if (apply == APPLY_ANNOTATE)
		return simulate_module(annotated, dev, apply, axis_links, out, keep, d);
	evaluation plan;
	TRY(simulate_module(annotated, dev, apply, axis_links, NULL, &plan, d));
	return simulate_written(&plan, dev, axis_links, out, keep, d);
}
