/* The text of pass pipelines. */
#include "tests/unit/module_fixture.h"

#include "propagate/propagate.h"

static module *small(void)
{
	return read_body("%a: tensor<8xf32>", "tensor<8xf32>",
		"%0 = stablehlo.abs %a : tensor<8xf32>\n func.return %0 : tensor<8xf32>");
}

static void runs(const char *pipeline)
{
	module *m = small();
	diag d;
	diag_clear(&d);
	ck_assert_msg(passes_run(m, pipeline, &d) == ST_OK, "%s: %s", pipeline, d.msg);
	module_free(m);
}

static void fails(const char *pipeline, uint32_t col, const char *part)
{
	module *m = small();
	diag d;
	diag_clear(&d);
	ck_assert_msg(passes_run(m, pipeline, &d) == ST_ERR_PARSE, "%s", pipeline);
	ck_assert_msg(d.col == col && strstr(d.msg, part), "%s: '%s' at %u", pipeline, d.msg, d.col);
	module_free(m);
}

START_TEST(legal_pipelines_run)
{
	runs("");
	runs("inline");
	runs(" inline , symbol-dce ");
	runs("builtin.module(inline,func.func(sdy-populate-op-sharding-rules{conservative-propagation="
		 "true}),any(canonicalize))");
	runs("func.func()");
	runs("sdy-basic-propagate{keep-sharding-rules conservative-propagation=0}");
	runs("inline{default-pipeline=canonicalize op-pipelines={func.func(cse, x)}}");
	runs("sdy-propagation-pipeline");
}
END_TEST

START_TEST(errors_have_positions)
{
	fails("inline,", 8, "expected a pass");
	fails("inline,nope", 8, "'nope' is not a pass");
	fails("nope(inline)", 1, "expected builtin.module, func.func or any");
	fails("func.func(inline", 10, "unclosed (");
	fails("inline)", 7, "expected , or the end");
	fails("symbol-dce{x=1}", 12, "no option 'x'");
	fails("inline{max-iterations=1", 7, "unclosed options");
	fails("inline{=1}", 8, "name of an option");
	fails("inline{max-iterations={}", 7, "unclosed options");
	fails("inline{max-iterations={", 23, "unclosed option value");
}
END_TEST

START_TEST(nesting_is_bounded)
{
	strbuf deep;
	strbuf_init(&deep);
	for (int i = 0; i < 100; i++)
		strbuf_puts(&deep, "builtin.module(");
	fails(deep.p, 961, "nested more than 64 deep");
	strbuf_release(&deep);
}
END_TEST

START_TEST(a_bad_strategy_is_an_error)
{
	module *m = small();
	diag d;
	diag_clear(&d);
	ck_assert_int_eq(
		passes_run(m, "sdy-aggressive-propagate{propagation-strategy=wild}", &d), ST_ERR_INVALID);
	ck_assert_msg(strstr(d.msg, "not 'wild'") != NULL, "%s", d.msg);
	module_free(m);
}
END_TEST

static status touch(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)options, (void)n_options, (void)d;
	m->file[0] = '!';
	return ST_OK;
}

START_TEST(registered_passes_are_found)
{
	static const pass_info mine = {"test-touch", touch, "a b", "for the test"};
	uint32_t before = pass_count();
	pass_register(&mine, 1);
	pass_register(&mine, 1);
	ck_assert_uint_eq(pass_count(), before + 1);
	ck_assert_ptr_nonnull(pass_find(STR("test-touch")));
	module *m = small();
	ck_assert_int_eq(passes_run(m, "test-touch{b=2}", NULL), ST_OK);
	ck_assert_int_eq(m->file[0], '!');
	module_free(m);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, legal_pipelines_run);
	tcase_add_test(t, errors_have_positions);
	tcase_add_test(t, nesting_is_bounded);
	tcase_add_test(t, a_bad_strategy_is_an_error);
	tcase_add_test(t, registered_passes_are_found);
}

int main(void) { return run_added(add_tests, "pipeline"); }
