/* Speeds of the library's stages on one module, as JSON; medians of several runs. Reading and the
 *pipeline in CPU time of their one thread, so that what else runs on the machine matters little.
 *Driven by bench.py. bench_core MODULE MESH */
#include "search/evaluate/state.h"
#include "search/tree/runner.h"

#include <sys/resource.h>
#include <time.h>

enum { RUNS = 7 };

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}
static int64_t median(int64_t *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, by_value);
	return v[n / 2];
}

static int64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void must(status s, const diag *d)
{
	if (s != ST_OK) {
		diag_print(d, stderr);
		exit(1);
	}
}

/* Time of this thread alone: what the machine does besides does not count. */
static int64_t thread_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Random decisions from the start, one costed state each: what a search step pays. */
static double evaluations_per_second(
	evaluator *ev, const action_list *actions, int64_t budget_ns, bool cost_each)
{
	rng r;
	cost c;
	rng_seed(&r, 1, 0);
	uint64_t n = 0;
	evaluator_undo(ev, 0);
	int64_t start = thread_ns(), now = start;
	while (now - start < budget_ns) {
		if (evaluator_depth(ev) > 4)
			evaluator_undo(ev, rng_below(&r, 4));
		if (actions->n && evaluator_decide(ev, &actions->p[rng_below(&r, actions->n)])) {
			if (cost_each)
				evaluator_cost(ev, &c);
			n++;
		} else {
			evaluator_undo(ev, 0);
		}
		now = thread_ns();
	}
	return (double)n * 1e9 / (double)(now - start);
}

/* What lowering and simulating take of that, on the whole program. */
static void bench_costs(const problem *pb, const action_list *actions, int64_t budget_ns)
{
	rng r;
	cost c;
	rng_seed(&r, 1, 0);
	sharding_table *t = pb->m->shardings;
	mesh_links links;
	diag d = {0};
	must(mesh_links_assign(pb->o->device, t, pb->mesh, NULL, &links, &d), &d);
	search_state *w = state_new(pb, NULL, t, SEARCH_DEFAULT_CACHE_BYTES / STATE_PARTS);
	lower_cache *facts = lower_cache_new(pb->p, t);
	lowered *low = lowered_new(pb->p, t);
	simulator *sim = simulator_new(pb->p, t, pb->o->device, &links, &pb->dn);
	sharding_id *at = xmalloc((pb->p->vals.n + 1) * sizeof *at);
	int64_t lowering = 0, simulating = 0, n = 0;
	for (bool warm = false; !warm || lowering + simulating < budget_ns;) {
		if (!warm && n == 200) {
			warm = true;
			lowering = simulating = n = 0;
		}
		if (state_depth(w) > 4)
			state_undo(w, rng_below(&r, 4));
		if (!state_decide(w, &actions->p[rng_below(&r, actions->n)])) {
			state_undo(w, 0);
			continue;
		}
		memcpy(at, state_shardings(w), pb->p->vals.n * sizeof *at);
		program_trim_io(pb->p, t, at);
		int64_t start = thread_ns();
		lower_program(facts, at, LEVEL_COMPILED, pb->o->device->target, low);
		int64_t lowered_at = thread_ns();
		simulate(sim, low, &c);
		simulating += thread_ns() - lowered_at;
		lowering += lowered_at - start;
		n++;
	}
	printf(",\"lowerings_per_second\":%.0f,\"simulations_per_second\":%.0f",
		(double)n * 1e9 / (double)lowering, (double)n * 1e9 / (double)simulating);
	free(at);
	simulator_free(sim);
	lowered_free(low);
	lower_cache_free(facts);
	state_free(w);
}

/* Decisions alone and with a cost each, tables warmed up before. */
static void bench_evaluator(const module *m, search_options *o, bool unfolded)
{
	problem pb;
	diag d = {0};
	action_list actions = {0};
	o->unfolded = unfolded;
	int64_t start = thread_ns();
	must(problem_init(&pb, m, o, &d), &d);
	int64_t ready = thread_ns();
	const char *name = unfolded ? "unfolded" : "folded";
	cost_memo_free(pb.costs); /* every cost is computed */
	pb.costs = NULL;
	evaluator *ev = evaluator_new(&pb);
	if (unfolded || pb.fold) {
		actions_make(&pb, UINT32_MAX, NULL, &actions);
		printf(",\"%s\":{\"problem_ns\":%lld,\"nodes\":%u,\"groups\":%u,\"actions\":%u", name,
			(long long)(ready - start), unfolded ? pb.p->nodes.n : pb.fold->p->nodes.n, pb.n_groups,
			actions.n);
		evaluations_per_second(ev, &actions, 500000000, true);
		printf(",\"decisions_per_second\":%.0f",
			evaluations_per_second(ev, &actions, 500000000, false));
		printf(",\"evaluations_per_second\":%.0f",
			evaluations_per_second(ev, &actions, 1500000000, true));
		if (unfolded)
			bench_costs(&pb, &actions, 1000000000);
		evaluator_stats st = evaluator_statistics(ev);
		printf(",\"folded_share\":%.3f}", (double)st.folded / (double)MAX(st.folded + st.whole, 1));
	}
	evaluator_free(ev);
	vec_release(&actions);
	problem_release(&pb);
}

int main(int argc, char **argv)
{
	diag d = {0};
	strbuf text = {0};
	module *m = NULL;
	device dev;
	mesh_id mesh;
	int64_t t[RUNS];
	if (argc != 3)
		return 64;
	lower_register_passes();
	must(file_read(argv[1], MAX_TEXT_BYTES, &text, &d), &d);
	printf("{\"bytes\":%zu", text.n);
	for (int i = 0; i < RUNS; i++) {
		int64_t start = cpu_ns();
		must(module_read(text.p, text.n, argv[1], NULL, &m, &d), &d);
		t[i] = cpu_ns() - start;
		if (i + 1 < RUNS)
			module_free(m);
	}
	printf(",\"ops\":%u,\"parse_ns\":%lld", m->ops.n, (long long)median(t, RUNS));
	must(module_verify_types(m, &d), &d);
	for (int i = 0; i < RUNS; i++) {
		module *c = module_clone(m);
		int64_t start = cpu_ns();
		must(passes_run(c, "sdy-propagation-pipeline", &d), &d);
		t[i] = cpu_ns() - start;
		module_free(c);
	}
	printf(",\"pipeline_ns\":%lld", (long long)median(t, RUNS));
	must(device_find("tpu-v5e", &dev, &d), &d);
	must(mesh_parse_flag(m->shardings, argv[2], &mesh, &d), &d);
	search_options o = {.mesh = mesh, .device = &dev, .seed = 1, .threads = 1};
	bench_evaluator(m, &o, false);
	bench_evaluator(m, &o, true);
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	printf(",\"max_rss_bytes\":%lld}\n", (long long)use.ru_maxrss * 1024);
	module_free(m);
	strbuf_release(&text);
	return 0;
}
