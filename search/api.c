/* include/shardwright.h on top of the folders' own interfaces. */
#include "include/shardwright.h"

#include "search/search.h"

struct sw_module {
	module *m;
};
struct sw_plan {
	search_result r;
	strbuf json, mlir;
	arena mem;
};

static void report(sw_error *err, const diag *d, status s)
{
	if (!err)
		return;
	err->code = status_exit_code(s);
	err->line = d->line;
	err->col = d->col;
	snprintf(err->message, sizeof err->message, "%s", d->msg[0] ? d->msg : status_name(s));
}

const char *sw_version(void) { return SHARDWRIGHT_VERSION; }
sw_options sw_default_options(void) { return (sw_options){.device = "tpu-v5e", .seed = SEARCH_DEFAULT_SEED}; }

static sw_module *finish(status s, module *m, diag *d, sw_error *err)
{
	if (s == ST_OK)
		s = module_verify_types(m, d);
	if (s == ST_OK) {
		sw_module *out = xmalloc(sizeof *out);
		out->m = m;
		return out;
	}
	report(err, d, s);
	if (m)
		module_free(m);
	return NULL;
}

sw_module *sw_module_read(const char *path, sw_error *err)
{
	diag d = {0};
	module *m = NULL;
	status s = module_read_file(path, NULL, &m, &d);
	return finish(s, m, &d, err);
}

sw_module *sw_module_parse(const char *text, uint64_t length, const char *name, sw_error *err)
{
	diag d = {0};
	module *m = NULL;
	status s = module_read(text, length, name ? name : "module", NULL, &m, &d);
	return finish(s, m, &d, err);
}

void sw_module_free(sw_module *m)
{
	if (m)
		module_free(m->m);
	free(m);
}

/* What the caller wrote, as the search takes it; the arrays are the plan's. */
static void take_wishes(sw_plan *p, const sw_options *o, search_options *so)
{
	search_pin *pins = arena_array(&p->mem, search_pin, o->n_pins + 1);
	search_forbid *forbids = arena_array(&p->mem, search_forbid, o->n_forbids + 1);
	search_baseline *baselines = arena_array(&p->mem, search_baseline, o->n_baselines + 1);
	for (uint32_t i = 0; i < o->n_pins; i++)
		pins[i] = (search_pin){.glob = o->pins[i].arguments, .sharding = o->pins[i].sharding};
	for (uint32_t i = 0; i < o->n_forbids; i++)
		forbids[i] = (search_forbid){.glob = o->forbids[i].arguments, .axis = o->forbids[i].axis, .dimension = o->forbids[i].dimension};
	for (uint32_t i = 0; i < o->n_baselines; i++)
		baselines[i] = (search_baseline){.name = o->baselines[i].name, .json = o->baselines[i].json, .n = o->baselines[i].length};
	so->pins = pins;
	so->n_pins = o->n_pins;
	so->forbids = forbids;
	so->n_forbids = o->n_forbids;
	so->baselines = baselines;
	so->n_baselines = o->n_baselines;
	so->open_results = o->open_results;
	so->cache_bytes = o->cache_bytes;
}

sw_plan *sw_search(sw_module *m, const sw_options *o, sw_error *err)
{
	diag d = {0};
	device *dev = xcalloc(1, sizeof *dev);
	mesh_spec spec = {0};
	sw_plan *p = xcalloc(1, sizeof *p);
	const char *links[MAX_MESH_AXES] = {0};
	status s = o->mesh ? mesh_from_text(m->m->shardings, o->mesh, &spec, &d) : diag_set(&d, ST_ERR_INVALID, "expected a mesh such as data=4,model=4");
	if (s == ST_OK)
		s = o->device_json ? device_parse(o->device_json, strlen(o->device_json), dev, &d) : device_find(o->device ? o->device : "tpu-v5e", dev, &d);
	bool has_links = false;
	for (uint32_t i = 0; s == ST_OK && i < m->m->shardings->meshes.p[spec.mesh].n_axes; i++)
		if (spec.links[i]) {
			links[i] = strtab_get(&m->m->shardings->names, spec.links[i]).p;
			has_links = true;
		}
	search_options so = {
		.mesh = spec.mesh, .device = dev, .axis_links = has_links ? links : NULL, .memory_limit = o->memory_bytes,
		.objective = o->minimize_memory ? OBJECTIVE_MEMORY : OBJECTIVE_RUNTIME, .schedule_json = o->schedule_json,
		.evaluations = o->evaluations, .time_limit_ns = (int64_t)(o->seconds * 1e9), .seed = o->seed, .threads = o->threads, .stop = o->stop,
	};
	take_wishes(p, o, &so);
	so.apply_exact_if_possible = !o->apply || !strcmp(o->apply, "auto");
	if (s == ST_OK && !so.apply_exact_if_possible && !apply_find(o->apply, &so.apply))
		s = diag_set(&d, ST_ERR_INVALID, "apply: expected auto, exact or annotate, found '%.40s'", o->apply);
	if (s == ST_OK && (o->trip_count < 0 || o->trip_count > MOST_TRIPS))
		s = diag_set(&d, ST_ERR_INVALID, "trip_count: expected 1 to %d, or 0 for loops that count once, found %lld", MOST_TRIPS, (long long)o->trip_count);
	m->m->trip_count = o->trip_count;
	if (s == ST_OK)
		s = search_run(m->m, &so, &p->r, &d);
	if (s == ST_OK)
		s = document_write(m->m, &so, &p->r, &p->json, &d);
	if (s == ST_OK)
		s = strategy_write(m->m, &p->r.best, dev, &p->mlir, &d);
	free(dev);
	if (s == ST_OK)
		return p;
	report(err, &d, s);
	sw_plan_free(p);
	return NULL;
}

void sw_plan_free(sw_plan *p)
{
	if (!p)
		return;
	search_result_release(&p->r);
	strbuf_release(&p->json);
	strbuf_release(&p->mlir);
	arena_release(&p->mem);
	free(p);
}

int sw_plan_fits(const sw_plan *p) { return p->r.fits; }
int64_t sw_plan_runtime_ns(const sw_plan *p) { return p->r.cost.runtime_ns; }
int64_t sw_plan_peak_bytes(const sw_plan *p) { return p->r.cost.peak_bytes; }
const char *sw_plan_json(const sw_plan *p) { return p->json.p; }
const char *sw_plan_mlir(const sw_plan *p) { return p->mlir.p; }
