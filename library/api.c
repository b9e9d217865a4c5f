/* include/shardwright.h on top of the folders' own interfaces. What is returned lives in the heap
 * of the call that made it. */
#include "include/shardwright.h"

#include "library/library.h"
#include "search/search.h"

struct sw_module {
	struct heap *heap;
	module *m;
};
struct sw_plan {
	struct heap *heap;
	search_result r;
	strbuf json, mlir;
};

static void report(sw_error *err, const diag *d, status s)
{
	if (!err)
		return;
	err->code = s == ST_ERR_MEMORY ? SW_ERROR_MEMORY
		: status_exit_code(s) == 1 ? SW_ERROR_INPUT
								   : SW_ERROR_INTERNAL;
	err->line = d->line;
	err->col = d->col;
	snprintf(err->message, sizeof err->message, "%s", d->msg[0] ? d->msg : status_name(s));
}

/* What a call does in its heap, and how that ended. */
typedef struct call {
	status (*run)(void *user, diag *d);
	void *user;
	status s;
	diag d;
} call;

static void run_call(void *user)
{
	call *c = user;
	c->s = c->run(c->user, &c->d);
}

/* The heap with what run made. NULL: err is filled, nothing is left. */
static struct heap *in_a_heap(status (*run)(void *user, diag *d), void *user, sw_error *err)
{
	call c = {.run = run, .user = user};
	struct heap *heap = heap_new();
	if (!heap || !memory_guard(heap, run_call, &c)) {
		c.d = (diag){0};
		c.s = diag_set(&c.d, ST_ERR_MEMORY, "out of memory");
	}
	if (c.s == ST_OK)
		return heap;
	heap_release(heap);
	report(err, &c.d, c.s);
	return NULL;
}

const char *sw_version(void) { return SHARDWRIGHT_VERSION; }
sw_options sw_default_options(void)
{
	return (sw_options){
		.device = "tpu-v5e", .seed = SEARCH_DEFAULT_SEED, .uncertainty_ppm = UNCERTAINTY_OF_WAY};
}

/* ---------------------------------------------------------------- modules */

typedef struct reading {
	const char *path; /* or */
	const char *text, *name;
	size_t length;
	sw_module *out;
} reading;

static status read_module(void *user, diag *d)
{
	reading *r = user;
	r->out = xcalloc(1, sizeof *r->out);
	TRY(r->path ? module_read_file(r->path, NULL, &r->out->m, d)
				: module_read(r->text, r->length, r->name, NULL, &r->out->m, d));
	return module_verify_types(r->out->m, d);
}

static sw_module *module_of(reading r, sw_error *err)
{
	struct heap *heap = in_a_heap(read_module, &r, err);
	if (!heap)
		return NULL;
	r.out->heap = heap;
	return r.out;
}

sw_module *sw_module_read(const char *path, sw_error *err)
{
	return module_of((reading){.path = path}, err);
}

sw_module *sw_module_parse(const char *text, uint64_t length, const char *name, sw_error *err)
{
	return module_of(
		(reading){.text = text, .length = length, .name = name ? name : "module"}, err);
}

void sw_module_free(sw_module *m)
{
	if (m)
		heap_release(m->heap);
}

/* ---------------------------------------------------------------- plans */

typedef struct searching {
	const sw_module *m;
	const sw_options *o;
	sw_plan *out;
} searching;

/* What the caller wrote, as the search takes it. */
static void take_wishes(const sw_options *o, search_options *so)
{
	search_pin *pins = xcalloc(o->n_pins, sizeof *pins);
	search_forbid *forbids = xcalloc(o->n_forbids, sizeof *forbids);
	search_baseline *baselines = xcalloc(o->n_baselines, sizeof *baselines);
	for (uint32_t i = 0; i < o->n_pins; i++)
		pins[i] = (search_pin){.glob = o->pins[i].arguments, .sharding = o->pins[i].sharding};
	for (uint32_t i = 0; i < o->n_forbids; i++)
		forbids[i] = (search_forbid){.glob = o->forbids[i].arguments,
			.axis = o->forbids[i].axis,
			.dimension = o->forbids[i].dimension};
	for (uint32_t i = 0; i < o->n_baselines; i++)
		baselines[i] = (search_baseline){.name = o->baselines[i].name,
			.json = o->baselines[i].json,
			.n = o->baselines[i].length};
	so->pins = pins; /* freed with the heap of the call */
	so->n_pins = o->n_pins;
	so->forbids = forbids;
	so->n_forbids = o->n_forbids;
	so->groups = o->groups;
	so->n_groups = o->n_groups;
	so->baselines = baselines;
	so->n_baselines = o->n_baselines;
	so->open_results = o->open_results;
	so->cache_bytes = o->cache_bytes;
}

/* On a copy of the module, so that what the search interns is the call's. */
static status search_module(void *user, diag *d)
{
	searching *x = user;
	const sw_options *o = x->o;
	sw_plan *p = x->out = xcalloc(1, sizeof *p);
	module *m = module_clone_apart(x->m->m);
	device *dev = xcalloc(1, sizeof *dev);
	mesh_spec spec = {0};
	const char *links[MAX_MESH_AXES] = {0};
	bool has_links = false;
	if (!o->mesh)
		return diag_set(d, ST_ERR_INVALID, "expected a mesh such as data=4,model=4");
	TRY(mesh_from_text(m->shardings, o->mesh, &spec, d));
	TRY(o->device_json ? device_parse(o->device_json, strlen(o->device_json), dev, d)
					   : device_find(o->device ? o->device : "tpu-v5e", dev, d));
	for (uint32_t i = 0; i < m->shardings->meshes.p[spec.mesh].n_axes; i++)
		if (spec.links[i]) {
			links[i] = strtab_get(&m->shardings->names, spec.links[i]).p;
			has_links = true;
		}
	search_options so = {
		.mesh = spec.mesh,
		.device = dev,
		.axis_links = has_links ? links : NULL,
		.memory_limit = o->memory_bytes,
		.objective = o->minimize_memory ? OBJECTIVE_MEMORY : OBJECTIVE_RUNTIME,
		.schedule_json = o->schedule_json,
		.evaluations = o->evaluations,
		.time_limit_ns = (int64_t)(o->seconds * 1e9),
		.seed = o->seed,
		.threads = o->threads,
		.stop = o->stop,
		.apply_exact_if_possible = !o->apply || !strcmp(o->apply, "auto"),
		.best_compiler_options = o->best_compiler_options != 0,
		.uncertainty_ppm = o->uncertainty_ppm,
	};
	take_wishes(o, &so);
	if (o->trip_count < 0 || o->trip_count > MOST_TRIPS)
		return diag_set(d, ST_ERR_INVALID,
			"trip_count: expected 1 to %d, or 0 for what the program says, found %lld", MOST_TRIPS,
			(long long)o->trip_count);
	int64_t most = search_option_table[SEARCH_OPTION_UNCERTAINTY].most;
	if (o->uncertainty_ppm < UNCERTAINTY_OF_WAY || o->uncertainty_ppm > most)
		return diag_set(d, ST_ERR_INVALID, "uncertainty_ppm: expected 0 to %lld, or -1, found %lld",
			(long long)most, (long long)o->uncertainty_ppm);
	m->trip_count = o->trip_count;
	if (!so.apply_exact_if_possible && !apply_find(o->apply, &so.apply))
		return diag_set(
			d, ST_ERR_INVALID, "apply: expected auto, exact or annotate, found '%.40s'", o->apply);
	TRY(search_run(m, &so, &p->r, d));
	TRY(document_write(m, &so, &p->r, &p->json, d));
	return strategy_write(m, &p->r.best, dev, &p->mlir, d);
}

sw_plan *sw_search(sw_module *m, const sw_options *o, sw_error *err)
{
	searching x = {.m = m, .o = o};
	struct heap *heap = in_a_heap(search_module, &x, err);
	if (!heap)
		return NULL;
	x.out->heap = heap;
	return x.out;
}

void sw_plan_free(sw_plan *p)
{
	if (p)
		heap_release(p->heap);
}

int sw_plan_fits(const sw_plan *p) { return p->r.fits; }
int64_t sw_plan_runtime_ns(const sw_plan *p) { return p->r.cost.runtime_ns; }
int64_t sw_plan_peak_bytes(const sw_plan *p) { return p->r.cost.peak_bytes; }
const char *sw_plan_json(const sw_plan *p) { return p->json.p; }
const char *sw_plan_mlir(const sw_plan *p) { return p->mlir.p; }
