/* Time and memory against the number of ops, as JSON: a program of repeated layers with data
 *parallelism on it, generated. Times are CPU times of the one thread. Driven by bench.py.
 *	bench_scale OPS */
#include "search/tree/runner.h"

#include <malloc.h>
#include <time.h>

enum { OPS_PER_LAYER = 20 };

static int64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();
	return (int64_t)(m.uordblks + m.hblkhd);
}

static void must(status s, const diag *d)
{
	if (s != ST_OK) {
		diag_print(d, stderr);
		exit(1);
	}
}

/* x + gelu-like(norm(x) @ w1 + b) @ w2, one layer after the other on the same weights. */
static void layer(uint32_t i, strbuf *t)
{
	static const char *const lines[OPS_PER_LAYER] = {
		"%%%u_a = stablehlo.multiply %%%u_x, %%%u_x : tensor<64x256xf32>\n",
		"%%%u_s = stablehlo.reduce(%%%u_a init: %%zero) applies stablehlo.add across dimensions = "
		"[1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>\n",
		"%%%u_e = stablehlo.broadcast_in_dim %%eps, dims = [] : (tensor<f32>) -> tensor<64xf32>\n",
		"%%%u_t = stablehlo.add %%%u_s, %%%u_e : tensor<64xf32>\n",
		"%%%u_r = stablehlo.rsqrt %%%u_t : tensor<64xf32>\n",
		"%%%u_rb = stablehlo.broadcast_in_dim %%%u_r, dims = [0] : (tensor<64xf32>) -> "
		"tensor<64x256xf32>\n",
		"%%%u_n = stablehlo.multiply %%%u_x, %%%u_rb : tensor<64x256xf32>\n",
		"%%%u_h = stablehlo.dot_general %%%u_n, %%w1, contracting_dims = [1] x [0] : "
		"(tensor<64x256xf32>, tensor<256x512xf32>) -> tensor<64x512xf32>\n",
		"%%%u_bb = stablehlo.broadcast_in_dim %%b, dims = [1] : (tensor<512xf32>) -> "
		"tensor<64x512xf32>\n",
		"%%%u_hb = stablehlo.add %%%u_h, %%%u_bb : tensor<64x512xf32>\n",
		"%%%u_l = stablehlo.logistic %%%u_hb : tensor<64x512xf32>\n",
		"%%%u_g = stablehlo.multiply %%%u_hb, %%%u_l : tensor<64x512xf32>\n",
		"%%%u_tr = stablehlo.transpose %%%u_g, dims = [1, 0] : (tensor<64x512xf32>) -> "
		"tensor<512x64xf32>\n",
		"%%%u_o = stablehlo.dot_general %%%u_tr, %%w2, contracting_dims = [0] x [0] : "
		"(tensor<512x64xf32>, tensor<512x256xf32>) -> tensor<64x256xf32>\n",
		"%%%u_c = stablehlo.convert %%%u_o : (tensor<64x256xf32>) -> tensor<64x256xbf16>\n",
		"%%%u_d = stablehlo.convert %%%u_c : (tensor<64x256xbf16>) -> tensor<64x256xf32>\n",
		"%%%u_rs = stablehlo.reshape %%%u_d : (tensor<64x256xf32>) -> tensor<64x16x16xf32>\n",
		"%%%u_ab = stablehlo.tanh %%%u_rs : tensor<64x16x16xf32>\n",
		"%%%u_rt = stablehlo.reshape %%%u_ab : (tensor<64x16x16xf32>) -> tensor<64x256xf32>\n",
		"%%%u_y = stablehlo.add %%%u_x, %%%u_rt : tensor<64x256xf32>\n",
	};
	for (uint32_t k = 0; k < OPS_PER_LAYER; k++) {
		size_t from = t->n;
		strbuf_printf(t, lines[k], i, i, i);
		if (k + 1 == OPS_PER_LAYER) { /* what this layer gives is what the next one takes */
			t->n = from;
			strbuf_printf(
				t, "%%%u_x = stablehlo.add %%%u_x, %%%u_rt : tensor<64x256xf32>\n", i + 1, i, i);
		}
	}
}

static void program_text(uint32_t n_ops, strbuf *t)
{
	strbuf_puts(t,
		"module @layers {\nsdy.mesh @mesh = <[\"data\"=4, \"model\"=4]>\n"
		"func.func @main(%x: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, "
		"{}]>}, %w1: tensor<256x512xf32>, %b: tensor<512xf32>, "
		"%w2: tensor<512x256xf32>) -> tensor<64x256xf32> {\n"
		"%zero = stablehlo.constant dense<0.0> : tensor<f32>\n%eps = stablehlo.constant "
		"dense<1.0e-6> : tensor<f32>\n"
		"%0_x = stablehlo.negate %x : tensor<64x256xf32>\n");
	uint32_t n = MAX(n_ops / OPS_PER_LAYER, 1u);
	for (uint32_t i = 0; i < n; i++)
		layer(i, t);
	strbuf_printf(t, "return %%%u_x : tensor<64x256xf32>\n}\n}\n", n);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

/* Median time of a decision and its cost, over random decisions; tables warmed up by the same ones
 * before. */
static void evaluate(const module *m, bool unfolded, const char *name)
{
	enum { STATES = 31, FEW_STATES = 7, MANY_NODES = 500000 };
	diag d = {0};
	device dev;
	mesh_id mesh;
	problem pb;
	cost c;
	action_list actions = {0};
	int64_t t[STATES];
	module *own = module_clone(m);
	must(device_find("tpu-v5e", &dev, &d), &d);
	must(mesh_parse_flag(own->shardings, "data=4,model=4", &mesh, &d), &d);
	search_options o = {
		.mesh = mesh, .device = &dev, .seed = 1, .threads = 1, .unfolded = unfolded};
	must(problem_init(&pb, own, &o, &d), &d);
	if (unfolded || pb.fold) {
		actions_make(&pb, UINT32_MAX, NULL, &actions);
		evaluator *ev = evaluator_new(&pb);
		int states = pb.p->nodes.n > MANY_NODES ? FEW_STATES : STATES;
		for (int pass = 0; pass < 2; pass++) {
			rng r;
			rng_seed(&r, 1, 0);
			evaluator_undo(ev, 0);
			for (int k = 0; k < states;) {
				if (evaluator_depth(ev) > 2)
					evaluator_undo(ev, rng_below(&r, 2));
				int64_t start = cpu_ns();
				if (!evaluator_decide(ev, &actions.p[rng_below(&r, actions.n)])) {
					evaluator_undo(ev, 0);
					continue;
				}
				evaluator_cost(ev, &c);
				t[k++] = cpu_ns() - start;
			}
		}
		qsort(t, (size_t)states, sizeof *t, by_value);
		printf(",\"%s\":%lld", name, (long long)t[states / 2]);
		evaluator_free(ev);
	}
	vec_release(&actions);
	problem_release(&pb);
	module_free(own);
}

int main(int argc, char **argv)
{
	diag d = {0};
	strbuf text = {0};
	module *m = NULL;
	program *p = NULL;
	rule_table rules;
	int64_t n;
	if (argc != 2 || !str_to_i64(str_of(argv[1]), &n) || n < 1 || n > 4000000)
		return 64;
	lower_register_passes();
	program_text((uint32_t)n, &text);
	int64_t before = heap_bytes(), start = cpu_ns();
	must(module_read(text.p, text.n, "layers.mlir", NULL, &m, &d), &d);
	printf("{\"ops\":%u,\"text_bytes\":%zu,\"parse_ns\":%lld", m->ops.n, text.n,
		(long long)(cpu_ns() - start));
	int64_t with_module = heap_bytes();
	must(module_verify_types(m, &d), &d);
	rule_table_init(&rules);
	start = cpu_ns();
	must(program_new(m, &rules, READ_AS_XLA, &p, &d), &d);
	propagate_options o = {.op_priority = true, .user_priority = true};
	propagation *s = propagation_new(p, m->shardings, &o);
	propagation_run(s);
	printf(",\"propagate_ns\":%lld,\"module_bytes\":%lld,\"propagation_bytes\":%lld",
		(long long)(cpu_ns() - start), (long long)(with_module - before),
		(long long)(heap_bytes() - with_module));
	propagation_free(s);
	program_free(p);
	rule_table_release(&rules);
	start = cpu_ns();
	must(passes_run(m, "sdy-propagation-pipeline", &d), &d);
	printf(",\"pipeline_ns\":%lld", (long long)(cpu_ns() - start));
	module_free(m);
	/* the search starts without shardings */
	for (char *at = text.p, *from; (from = strstr(at, " {sdy.sharding")); at = from)
		memset(from, ' ', (size_t)(strstr(from, ">}") + 2 - from));
	must(module_read(text.p, text.n, "layers.mlir", NULL, &m, &d), &d);
	evaluate(m, true, "unfolded_ns");
	evaluate(m, false, "folded_ns");
	puts("}");
	module_free(m);
	strbuf_release(&text);
	return 0;
}
