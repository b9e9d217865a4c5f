/* include/shardwright.h as an embedding program uses it: what it asks for is kept, and its mistakes
 * are told. */
#include "include/shardwright.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <string.h>

static const char *const two_matmuls =
	"module @jit_f {\n"
	"  func.func public @main(%arg0: tensor<512x1024xf32> loc(\"params['w1']\"), %arg1: "
	"tensor<1024x512xf32> loc(\"params['w2']\"), "
	"%arg2: tensor<256x512xf32> loc(\"batch['x']\")) -> tensor<256x512xf32> {\n"
	"    %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0] : "
	"(tensor<256x512xf32>, tensor<512x1024xf32>) -> tensor<256x1024xf32>\n"
	"    %1 = stablehlo.tanh %0 : tensor<256x1024xf32>\n"
	"    %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0] : "
	"(tensor<256x1024xf32>, tensor<1024x512xf32>) -> tensor<256x512xf32>\n"
	"    return %2 : tensor<256x512xf32>\n"
	"  }\n"
	"}\n";

static sw_module *parsed(void)
{
	sw_error err = {0};
	sw_module *m = sw_module_parse(two_matmuls, strlen(two_matmuls), "two.mlir", &err);
	ck_assert_msg(m != NULL, "%s", err.message);
	return m;
}

static sw_options options(void)
{
	sw_options o = sw_default_options();
	o.mesh = "data=2,model=2";
	o.evaluations = 200;
	return o;
}

START_TEST(wishes_are_kept)
{
	sw_error err = {0};
	sw_module *m = parsed();
	sw_options o = options();
	sw_pin pin = {"params['w1']", "[[],[\"model\"]]"};
	sw_forbid forbid = {"batch*", "data", 0};
	o.pins = &pin;
	o.n_pins = 1;
	o.forbids = &forbid;
	o.n_forbids = 1;
	o.cache_bytes = 1 << 20;
	static const char *const groups[] = {"batch*"};
	o.groups = groups;
	o.n_groups = 1;
	sw_plan *p = sw_search(m, &o, &err);
	ck_assert_msg(p != NULL, "%s", err.message);
	/* of the three arguments the first is pinned, the last is kept off the axis on its first
	 * dimension */
	const char *main = strstr(sw_plan_mlir(p), "%arg0"), *batch = strstr(main, "%arg2");
	ck_assert(main && batch && strstr(main, "[{}, {\"model\"}]") &&
		strstr(main, "[{}, {\"model\"}]") < batch);
	ck_assert(strncmp(strchr(batch, '[') ? strchr(batch, '[') : "", "[{\"data\"", 9));
	ck_assert(
		strstr(sw_plan_json(p), "\"groups\":[{\"glob\":\"batch*\",\"members\":[2]}]") != NULL);
	sw_options again = options();
	sw_baseline mine = {"mine", sw_plan_json(p), strlen(sw_plan_json(p))};
	again.baselines = &mine;
	again.n_baselines = 1;
	again.evaluations = 1;
	sw_plan *q = sw_search(m, &again, &err);
	ck_assert_msg(q != NULL, "%s", err.message);
	ck_assert(
		sw_plan_runtime_ns(q) <= sw_plan_runtime_ns(p) && strstr(sw_plan_json(q), "\"mine\""));
	sw_plan_free(q);
	sw_plan_free(p);
	sw_module_free(m);
}
END_TEST

START_TEST(ways_to_apply)
{
	static const struct {
		const char *apply;
		int exact;
	} cases[] = {{NULL, 1}, {"auto", 1}, {"exact", 1}, {"annotate", 0}};
	sw_module *m = parsed();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		sw_error err = {0};
		sw_options o = options();
		o.apply = cases[i].apply;
		sw_plan *p = sw_search(m, &o, &err);
		ck_assert_msg(p != NULL, "%s", err.message);
		ck_assert_int_eq(strstr(sw_plan_mlir(p), "sdy.manual_computation") != NULL, cases[i].exact);
		ck_assert(strstr(
			sw_plan_json(p), cases[i].exact ? "\"apply\":\"exact\"" : "\"apply\":\"annotate\""));
		sw_plan_free(p);
	}
	sw_error err = {0};
	sw_options o = options();
	o.apply = "both";
	ck_assert(!sw_search(m, &o, &err) && err.code == 1 && strstr(err.message, "'both'"));
	sw_module_free(m);
}
END_TEST

START_TEST(mistakes_are_told)
{
	sw_error err = {0};
	sw_module *m = parsed();
	sw_options o = options();
	sw_pin pins[] = {{"params['w1']", "[[],[\"model\"]]"}, {"params*", "[[\"model\"],[]]"},
		{"nothing*", "[[],[]]"}};
	o.pins = pins;
	o.n_pins = 2;
	ck_assert(!sw_search(m, &o, &err) && err.code == 1 && strstr(err.message, "contradict"));
	o.pins = pins + 2;
	o.n_pins = 1;
	ck_assert(!sw_search(m, &o, &err) && strstr(err.message, "nothing*"));
	ck_assert(!sw_search(m, &o, NULL));
	o = options();
	sw_baseline broken = {"broken", "{", 1};
	o.baselines = &broken;
	o.n_baselines = 1;
	ck_assert(!sw_search(m, &o, &err) && err.code == 1 && strstr(err.message, "broken"));
	sw_forbid forbid = {"batch*", "pipeline", 0};
	o = options();
	o.forbids = &forbid;
	o.n_forbids = 1;
	ck_assert(!sw_search(m, &o, &err) && strstr(err.message, "pipeline"));
	ck_assert(!sw_module_parse("module {", 8, NULL, &err) && err.code == 1 && err.line == 1);
	sw_module_free(m);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("api");
	tcase_add_test(t, wishes_are_kept);
	tcase_add_test(t, ways_to_apply);
	tcase_add_test(t, mistakes_are_told);
	return run_suite(t, "api");
}
