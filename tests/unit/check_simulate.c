/* The whole of a simulate call: cost JSON, trace, memo tables, speed and allocation; and the path
 * from annotated text. */
#include <time.h>
#include <cjson/cJSON.h>
#include <malloc.h>

#include "tests/unit/sim_fixture.h"

START_TEST(test_json)
{
	cost c = {.runtime_ns = 5, .peak_bytes = INT64_MAX, .flops_per_device = 1.5e15};
	c.collectives[COLL_ALL_GATHER] = (collective_cost){1, 2, 3};
	cJSON *j = cost_to_json(&c);
	static const char *const keys[] = {"runtime_ns", "compute_ns", "communication_ns",
		"exposed_communication_ns", "peak_bytes", "argument_bytes", "output_bytes", "alias_bytes",
		"temporary_bytes", "flops_per_device"};
	for (size_t i = 0; i < COUNT_OF(keys); i++)
		ck_assert_msg(cJSON_IsNumber(cJSON_GetObjectItem(j, keys[i])), "%s", keys[i]);
	ck_assert(cJSON_GetObjectItem(j, "peak_bytes")->valuedouble <= 9007199254740992.0);
	cJSON *all = cJSON_GetObjectItem(j, "collectives");
	ck_assert_int_eq(cJSON_GetArraySize(all), COLL_COUNT - 1);
	ck_assert_ptr_null(cJSON_GetObjectItem(all, "all_slice"));
	cJSON *gather = cJSON_GetObjectItem(all, "all_gather");
	ck_assert_int_eq(cJSON_GetObjectItem(gather, "count")->valueint, 1);
	ck_assert_int_eq(cJSON_GetObjectItem(gather, "dynamic_count")->valueint, 2);
	ck_assert_int_eq(cJSON_GetObjectItem(gather, "bytes")->valueint, 3);
	char *text = cJSON_PrintUnformatted(j);
	ck_assert_ptr_nonnull(strstr(text, "\"runtime_ns\":5,"));
	cJSON_free(text);
	cJSON_Delete(j);
}
END_TEST

START_TEST(test_trace)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4,y=2");
	fix_random(&f, 7, 80);
	simulator *s = simulator_new(&f.p, f.m->shardings, &f.dev, &f.links, NULL);
	cost c;
	simulate(s, &f.l, &c);
	strbuf text;
	strbuf_init(&text);
	simulator_trace(s, &f.l, &text);
	cJSON *j = cJSON_ParseWithLength(text.p, text.n);
	ck_assert_ptr_nonnull(j);
	const cJSON *events = cJSON_GetObjectItem(j, "traceEvents");
	int kernels = 0, counters = 0, collectives = 0, peaks = 0;
	double most = 0;
	double end = 0;
	for (const cJSON *e = events->child; e; e = e->next) {
		const char *ph = cJSON_GetObjectItem(e, "ph")->valuestring;
		const cJSON *args = cJSON_GetObjectItem(e, "args");
		if (!strcmp(ph, "C")) {
			double bytes = cJSON_GetObjectItem(args, "bytes")->valuedouble;
			counters++;
			most = bytes > most ? bytes : most;
		}
		if (!strcmp(ph, "i")) { /* what is live at the peak is what takes the memory of the peak */
			double bytes = cJSON_GetObjectItem(args, "bytes")->valuedouble, sum = 0;
			peaks++;
			for (const cJSON *live = cJSON_GetObjectItem(args, "live")->child; live;
				 live = live->next)
				sum += cJSON_GetObjectItem(live, "bytes")->valuedouble;
			ck_assert(sum == bytes && bytes == (double)c.temporary_bytes &&
				bytes <= most); /* the counter knows of no on-chip memory */
			ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(args, "live")),
				cJSON_GetObjectItem(args, "values")->valueint);
		}
		if (strcmp(ph, "X"))
			continue;
		double ts = cJSON_GetObjectItem(e, "ts")->valuedouble,
			   dur = cJSON_GetObjectItem(e, "dur")->valuedouble;
		ck_assert(dur >= 0 && ts >= 0);
		end = ts + dur > end ? ts + dur : end;
		int tid = cJSON_GetObjectItem(e, "tid")->valueint;
		kernels += tid == 0;
		collectives += tid > 0;
	}
	ck_assert_int_gt(kernels, 0);
	ck_assert_int_gt(counters, 0);
	ck_assert_int_eq(peaks, 1);
	ck_assert_int_gt(collectives, 0);
	ck_assert(end <= (double)c.runtime_ns / 1000 + 0.001);
	cJSON_Delete(j);
	strbuf_release(&text);
	simulator_free(s);
	fix_release(&f);
}
END_TEST

/* Nothing is allocated by a call whose program and facts were seen before. */
START_TEST(test_no_allocation)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4,y=2");
	fix_random(&f, 3, 400);
	simulator *s = simulator_new(&f.p, f.m->shardings, &f.dev, &f.links, NULL);
	cost c;
	simulate(s, &f.l, &c);
	struct mallinfo2 before = mallinfo2();
	for (int i = 0; i < 20; i++)
		simulate(s, &f.l, &c);
	struct mallinfo2 after = mallinfo2();
	ck_assert_uint_eq(before.uordblks, after.uordblks);
	ck_assert_uint_eq(before.arena + before.hblkhd, after.arena + after.hblkhd);
	simulator_free(s);
	fix_release(&f);
}
END_TEST

static int64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Time grows with the number of ops, not faster. */
static int64_t time_of(uint32_t n)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4,y=2");
	fix_random(&f, 11, n);
	simulator *s = simulator_new(&f.p, f.m->shardings, &f.dev, &f.links, NULL);
	cost c;
	int64_t best = INT64_MAX;
	for (int i = 0; i < 10; i++) {
		int64_t t = cpu_ns();
		simulate(s, &f.l, &c);
		best = MIN(best, cpu_ns() - t);
	}
	int64_t per_op = best * 1000 / f.l.ops.n;
	simulator_free(s);
	fix_release(&f);
	return per_op; /* ps */
}

START_TEST(test_speed)
{
	int64_t small = time_of(1000), large = time_of(16000);
	ck_assert_int_lt(large, 8 * small);
}
END_TEST

START_TEST(test_empty)
{
	fix f;
	fix_init(&f, "tpu-v5e", "x=4");
	cost c = fix_simulate(&f);
	ck_assert_int_eq(c.runtime_ns, 0);
	fix_return(&f, 0);
	c = fix_simulate(&f);
	ck_assert_int_eq(c.runtime_ns + c.peak_bytes, 0);
	fix_release(&f);
}
END_TEST

static const char step[] =
	"module @step {\n"
	"sdy.mesh @mesh = <[\"data\"=4, \"model\"=2]>\n"
	"func.func public @main(%x: tensor<64x512xf32> {sdy.sharding = #sdy.sharding<@mesh, "
	"[{\"data\"}, {}]>},\n"
	"    %w: tensor<512x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"model\"}, {}]>, "
	"jax.buffer_donor = true}) -> (tensor<64x256xf32>) {\n"
	"  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x512xf32>, "
	"tensor<512x256xf32>) -> tensor<64x256xf32>\n"
	"  return %0 : tensor<64x256xf32>\n"
	"}\n}\n";

START_TEST(test_annotated_text)
{
	module *m;
	device dev;
	diag d = {0};
	ck_assert_msg(
		module_read(step, sizeof step - 1, "step.mlir", NULL, &m, &d) == ST_OK, "%s", d.msg);
	ck_assert_int_eq(device_find("tpu-v5e", &dev, &d), ST_OK);
	cost c, again;
	evaluation ev;
	ck_assert_msg(
		simulate_module(m, &dev, APPLY_ANNOTATE, NULL, &c, &ev, &d) == ST_OK, "%s", d.msg);
	/* x by data: 16 x 512; w by model: 256 x 256; result 16 x 256 */
	ck_assert_int_eq(c.argument_bytes, 4 * (16 * 512 + 256 * 256));
	ck_assert_int_eq(c.output_bytes, 4 * 16 * 256);
	ck_assert_int_eq((int64_t)c.flops_per_device, 2 * 16 * 256 * 256);
	ck_assert_int_eq(c.collectives[COLL_ALL_REDUCE].count, 1);
	ck_assert_int_eq(c.collectives[COLL_ALL_REDUCE].bytes, 4 * 16 * 256);
	ck_assert_uint_eq(ev.low->results.n, 1);
	evaluation_release(&ev);
	ck_assert_int_eq(simulate_module(m, &dev, APPLY_ANNOTATE, NULL, &again, NULL, &d), ST_OK);
	ck_assert_mem_eq(&c, &again, sizeof c);
	const char *links[] = {"dcn", NULL};
	ck_assert_int_eq(simulate_module(m, &dev, APPLY_ANNOTATE, links, &again, NULL, &d), ST_OK);
	const char *wrong[] = {"nvlink", NULL};
	ck_assert_int_eq(
		simulate_module(m, &dev, APPLY_ANNOTATE, wrong, &again, NULL, &d), ST_ERR_NOT_FOUND);
	module_free(m);
}
END_TEST

int main(void)
{
	const TTest *tests[] = {
		test_json, test_trace, test_no_allocation, test_speed, test_empty, test_annotated_text};
	return run_tests(tests, COUNT_OF(tests), "simulate");
}
