/* Ways to search with the same evaluator, actions and budget, as JSON lines: one per method and
 *seed, with the curve of best-so-far costs. Every improvement is replayed, and replayed costs are
 *what counts; replays are not part of the budget, as in the search. Driven by methods.py.
 *
 *	bench_search_methods MODULE MESH DEVICE METHOD EVALUATIONS FIRST_SEED SEEDS
 *
 *	search      the whole search                                search-tree, search-walks, ..  the search without that part
 *	random      random decision lists
 *	greedy      steepest descent by adding decisions, from random starts once it is stuck
 *	annealing   simulated annealing over decision lists         exhaustive  all states, breadth first, until the budget ends */
#include "search/tree/runner.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_DECISIONS = 8 };

typedef struct point {
	uint64_t evaluation;
	cost c;
} point;
typedef struct contest {
	module *m;
	search_options o;
	problem pb;
	evaluator *ev;
	action_list actions;
	rng random;
	uint64_t budget, used, full;
	index_map seen;
	VEC(cost) costs; /* of the states in seen */
	plan now;
	score best_score; /* by the evaluator */
	cost best;        /* replayed */
	bool any;
	VEC(point) curve;
	bool complete; /* every state was seen */
} contest;

static void must(status s, const diag *d)
{
	if (s != ST_OK) {
		diag_print(d, stderr);
		exit(1);
	}
}

/* Replays the evaluator's state, which pl led to, and keeps it when it is the best. */
static void improve(contest *k, const plan *pl)
{
	diag d = {0};
	strategy s;
	cost c;
	bool allowed;
	evaluator_strategy(k->ev, pl, &s);
	must(replay_strategy(&k->pb, k->m, &s, &c, &allowed, &d), &d);
	strategy_release(&s);
	if (!k->any || score_less(score_final(&k->pb, &c), score_final(&k->pb, &k->best))) {
		k->any = true;
		k->best = c;
		vec_push(&k->curve, (point){k->used, c});
	}
}

/* Costs the evaluator's state; true when it is a new one. A state met before counts as an
 * evaluation too. */
static bool judge(contest *k, cost *c)
{
	uint64_t hash = evaluator_hash(k->ev);
	uint32_t it = index_first(&k->seen, hash), id;
	k->used++;
	if (index_next(&k->seen, hash, &it, &id)) {
		*c = k->costs.p[id];
		return false;
	}
	evaluator_cost(k->ev, c);
	k->full++;
	index_add(&k->seen, hash, k->costs.n);
	vec_push(&k->costs, *c);
	score s = score_final(&k->pb, c);
	if (!k->any || score_less(s, k->best_score)) {
		k->best_score = s;
		improve(k, &k->now);
	}
	return true;
}

static bool decide(contest *k, const action *a)
{
	if (k->now.n == MAX_PLAN || !evaluator_decide(k->ev, a))
		return false;
	k->now.decisions[k->now.n] = *a;
	k->now.tactics[k->now.n++] = "bench";
	return true;
}

static void start_over(contest *k)
{
	evaluator_undo(k->ev, 0);
	k->now.n = 0;
}

static bool decide_any(contest *k)
{
	enum { ATTEMPTS = 16 };
	for (int i = 0; i < ATTEMPTS; i++)
		if (decide(k, &k->actions.p[rng_below(&k->random, k->actions.n)]))
			return true;
	return false;
}

/* ---------------------------------------------------------------- methods */

static void run_random(contest *k)
{
	cost c;
	while (k->used < k->budget) {
		start_over(k);
		uint32_t length = 1 + rng_below(&k->random, MOST_DECISIONS);
		for (uint32_t i = 0; i < length && k->used < k->budget && decide_any(k); i++)
			judge(k, &c);
	}
}

static void run_greedy(contest *k)
{
	cost c;
	start_over(k);
	judge(k, &c);
	for (;;) {
		score here = score_final(&k->pb, &c), best = here;
		uint32_t chosen = ID_NONE;
		for (uint32_t a = 0; a < k->actions.n && k->used < k->budget; a++) {
			uint32_t depth = k->now.n;
			if (!decide(k, &k->actions.p[a]))
				continue;
			judge(k, &c);
			if (score_less(score_final(&k->pb, &c), best)) {
				best = score_final(&k->pb, &c);
				chosen = a;
			}
			evaluator_undo(k->ev, depth);
			k->now.n = depth;
		}
		if (k->used >= k->budget)
			return;
		if (chosen != ID_NONE) {
			decide(k, &k->actions.p[chosen]);
		} else {
			start_over(k);
			uint32_t length = 1 + rng_below(&k->random, 3);
			for (uint32_t i = 0; i < length; i++)
				decide_any(k);
		}
		judge(k, &c);
	}
}

/* Energy: the logarithm of what is minimised, with a step and a slope for memory over the limit. */
static double energy(const contest *k, const cost *c)
{
	double over = c->peak_bytes > k->pb.memory_limit
		? 2 + 4 * log((double)c->peak_bytes / (double)k->pb.memory_limit)
		: 0;
	return log((double)MAX(c->runtime_ns, 1)) + over;
}

/* Drops, replaces, adds or exchanges decisions of the plan. */
static void disturb(contest *k, plan *pl)
{
	uint32_t what = rng_below(&k->random, 4), at = pl->n ? rng_below(&k->random, pl->n) : 0;
	const action *a = &k->actions.p[rng_below(&k->random, k->actions.n)];
	if ((what == 0 || pl->n == 0) && pl->n < MAX_PLAN) {
		pl->decisions[pl->n] = *a;
		pl->tactics[pl->n++] = "bench";
	} else if (what == 1) {
		pl->decisions[at] = *a;
	} else if (what == 2) {
		pl->n--;
		memmove(&pl->decisions[at], &pl->decisions[at + 1], (pl->n - at) * sizeof *pl->decisions);
	} else if (pl->n) {
		uint32_t other = rng_below(&k->random, pl->n);
		action swap = pl->decisions[at];
		pl->decisions[at] = pl->decisions[other];
		pl->decisions[other] = swap;
	}
}

static void run_annealing(contest *k)
{
	const double hot = 0.3, cold = 0.001;
	cost c;
	plan *here = xcalloc(1, sizeof *here);
	start_over(k);
	judge(k, &c);
	double level = energy(k, &c);
	while (k->used < k->budget) {
		double heat = hot * pow(cold / hot, (double)k->used / (double)k->budget);
		k->now = *here;
		disturb(k, &k->now);
		evaluator_run(k->ev, &k->now, NULL);
		judge(k, &c);
		double next = energy(k, &c);
		if (next <= level ||
			(double)rng_below(&k->random, 1 << 30) / (1 << 30) < exp((level - next) / heat)) {
			*here = k->now;
			level = next;
		}
	}
	free(here);
}

/* Breadth first over states, each by the first list of actions that led to it. */
static void run_exhaustive(contest *k)
{
	typedef struct path {
		uint16_t n, actions[MAX_PLAN];
	} path;
	cost c;
	VEC(path) queue = {0};
	start_over(k);
	judge(k, &c);
	vec_push(&queue, (path){0});
	uint32_t head = 0;
	for (; head < queue.n && k->used < k->budget; head++) {
		path p = queue.p[head];
		start_over(k);
		for (uint32_t i = 0; i < p.n; i++)
			decide(k, &k->actions.p[p.actions[i]]);
		for (uint32_t a = 0; a < k->actions.n && k->used < k->budget && p.n < MAX_PLAN; a++) {
			if (!decide(k, &k->actions.p[a]))
				continue;
			if (judge(k, &c)) {
				path longer = p;
				longer.actions[longer.n++] = (uint16_t)a;
				vec_push(&queue, longer);
			}
			evaluator_undo(k->ev, p.n);
			k->now.n = p.n;
		}
	}
	k->complete = head == queue.n;
	vec_release(&queue);
}

/* ---------------------------------------------------------------- the whole search */

static void on_event(void *user, const search_event *e)
{
	contest *k = user;
	if (e->incumbent) {
		vec_push(&k->curve, (point){e->evaluation, e->cost});
	}
}

static const struct {
	const char *name;
	uint32_t without;
	bool unfolded;
} parts[] = {
	{"search", 0, false},
	{"search-groups", WITHOUT_GROUPS, false},
	{"search-tree", WITHOUT_TREE, false},
	{"search-tactics", WITHOUT_TACTICS, false},
	{"search-descents", WITHOUT_DESCENTS, false},
	{"search-walks", WITHOUT_WALKS, false},
	{"search-local-search", WITHOUT_LOCAL_SEARCH, false},
	{"search-folding", 0, true},
};

static void print_curve(const contest *k)
{
	printf(",\"curve\":[");
	for (uint32_t i = 0; i < k->curve.n; i++)
		printf("%s[%llu,%lld,%s]", i ? "," : "", (unsigned long long)k->curve.p[i].evaluation,
			(long long)k->curve.p[i].c.runtime_ns,
			k->curve.p[i].c.peak_bytes <= k->pb.memory_limit ? "true" : "false");
	printf("]}\n");
	fflush(stdout);
}

static void print_head(const char *method, uint64_t seed, const cost *c, bool fits,
	uint64_t evaluations, uint64_t full, int64_t ns)
{
	printf("{\"method\":\"%s\",\"seed\":%llu,\"runtime_ns\":%lld,\"peak_bytes\":%lld,\"fits\":%s,"
		   "\"evaluations\":%llu,\"full\":%llu,\"seconds\":%.3f",
		method, (unsigned long long)seed, (long long)c->runtime_ns, (long long)c->peak_bytes,
		fits ? "true" : "false", (unsigned long long)evaluations, (unsigned long long)full,
		(double)ns / 1e9);
}

static bool run_search(contest *k, const char *method, uint64_t seed)
{
	for (uint32_t i = 0; i < COUNT_OF(parts); i++) {
		if (strcmp(parts[i].name, method))
			continue;
		diag d = {0};
		search_result r;
		search_options o = k->o;
		o.seed = seed;
		o.evaluations = k->budget;
		o.without = parts[i].without;
		o.unfolded = parts[i].unfolded;
		o.on_event = on_event;
		o.user = k;
		int64_t start = clock_ns();
		must(search_run(k->m, &o, &r, &d), &d);
		print_head(method, seed, &r.cost, r.fits, r.evaluations, r.evaluations, clock_ns() - start);
		print_curve(k);
		search_result_release(&r);
		return true;
	}
	return false;
}

/* ---------------------------------------------------------------- main */

static void run_method(contest *k, const char *method, uint64_t seed)
{
	diag d = {0};
	must(problem_init(&k->pb, k->m, &k->o, &d), &d);
	if (run_search(k, method, seed))
		return;
	int64_t start = clock_ns();
	k->ev = evaluator_new(&k->pb);
	actions_make(&k->pb, UINT32_MAX, NULL, &k->actions);
	rng_seed(&k->random, seed, 3);
	if (!strcmp(method, "random"))
		run_random(k);
	else if (!strcmp(method, "greedy"))
		run_greedy(k);
	else if (!strcmp(method, "annealing"))
		run_annealing(k);
	else if (!strcmp(method, "exhaustive"))
		run_exhaustive(k);
	else {
		fprintf(stderr, "unknown method %s\n", method);
		exit(64);
	}
	int64_t ns = clock_ns() - start;
	print_head(
		method, seed, &k->best, k->best.peak_bytes <= k->pb.memory_limit, k->used, k->full, ns);
	if (!strcmp(method, "exhaustive"))
		printf(",\"complete\":%s", k->complete ? "true" : "false");
	print_curve(k);
}

int main(int argc, char **argv)
{
	diag d = {0};
	strbuf text = {0};
	module *m = NULL;
	device dev;
	mesh_id mesh;
	if (argc != 8) {
		fprintf(stderr,
			"usage: bench_search_methods MODULE MESH DEVICE METHOD EVALUATIONS FIRST_SEED SEEDS\n");
		return 64;
	}
	lower_register_passes();
	must(file_read(argv[1], MAX_TEXT_BYTES, &text, &d), &d);
	must(module_read(text.p, text.n, argv[1], NULL, &m, &d), &d);
	must(module_verify_types(m, &d), &d);
	must(device_find(argv[3], &dev, &d), &d);
	must(mesh_parse_flag(m->shardings, argv[2], &mesh, &d), &d);
	uint64_t first = strtoull(argv[6], NULL, 10), seeds = strtoull(argv[7], NULL, 10);
	for (uint64_t seed = first; seed < first + seeds; seed++) {
		contest *k = xcalloc(1, sizeof *k);
		k->m = m;
		k->o = (search_options){.mesh = mesh, .device = &dev, .threads = 1};
		k->budget = strtoull(argv[5], NULL, 10);
		run_method(k, argv[4], seed);
		evaluator_free(k->ev);
		vec_release(&k->actions);
		vec_release(&k->costs);
		vec_release(&k->curve);
		index_release(&k->seen);
		problem_release(&k->pb);
		free(k);
	}
	module_free(m);
	strbuf_release(&text);
	return 0;
}
