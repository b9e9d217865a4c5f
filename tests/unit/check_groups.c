/* Groups of the user: what matches one glob is one group, is decided as one, and ends alike. */
#include "search/tree/runner.h"
#include "tests/unit/run_suite.h"

/* Weights of three shapes, so that dims that all can take are common divisors; without groups they
 * come out differently. */
static const char *const text =
	"module @m {\n"
	"  func.func public @main(%arg0: tensor<512x1024xf32> loc(\"params['up']\"), %arg1: "
	"tensor<512x1024xf32> loc(\"params['gate']\"), "
	"%arg2: tensor<1024x510xf32> loc(\"params['down']\"), %arg3: tensor<256x512xf32> "
	"loc(\"batch['in']\"), %arg4: tensor<510xf32> loc(\"params['b']\")) "
	"-> tensor<256x510xf32> {\n"
	"    %0 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [1] x [0] : "
	"(tensor<256x512xf32>, tensor<512x1024xf32>) -> tensor<256x1024xf32>\n"
	"    %1 = stablehlo.dot_general %arg3, %arg1, contracting_dims = [1] x [0] : "
	"(tensor<256x512xf32>, tensor<512x1024xf32>) -> tensor<256x1024xf32>\n"
	"    %2 = stablehlo.multiply %0, %1 : tensor<256x1024xf32>\n"
	"    %3 = stablehlo.dot_general %2, %arg2, contracting_dims = [1] x [0] : "
	"(tensor<256x1024xf32>, tensor<1024x510xf32>) -> tensor<256x510xf32>\n"
	"    %4 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<510xf32>) -> "
	"tensor<256x510xf32>\n"
	"    %5 = stablehlo.add %3, %4 : tensor<256x510xf32>\n"
	"    return %5 : tensor<256x510xf32>\n"
	"  }\n"
	"}\n";
static const char *const weights[] = {"params['?*?']"}; /* all but the bias */
enum { UP, GATE, DOWN, X, B };

typedef struct grouped {
	module *m;
	device dev;
	search_options o;
	problem pb;
	diag d;
} grouped;

static status begin(grouped *g, const char *mesh, const char *const *groups, uint32_t n)
{
	*g = (grouped){0};
	ck_assert_int_eq(module_read(text, strlen(text), "test", NULL, &g->m, &g->d), ST_OK);
	ck_assert_int_eq(device_find("tpu-v5e", &g->dev, &g->d), ST_OK);
	g->o = (search_options){.device = &g->dev,
		.seed = 1,
		.threads = 2,
		.evaluations = 300,
		.groups = groups,
		.n_groups = n,
		.check = true};
	ck_assert_int_eq(mesh_parse_flag(g->m->shardings, mesh, &g->o.mesh, &g->d), ST_OK);
	return problem_init(&g->pb, g->m, &g->o, &g->d);
}

static void end(grouped *g)
{
	problem_release(&g->pb);
	module_free(g->m);
}

static uint32_t count_actions(
	const grouped *g, const action_list *l, uint32_t dim, uint32_t targets)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->n; i++)
		n += l->p[i].kind == ACTION_PARTITION && !l->p[i].on_role &&
			l->p[i].group == g->pb.group_of[UP] && l->p[i].dim == dim &&
			l->p[i].n_targets == targets;
	return n;
}

START_TEST(one_group_one_set_of_actions)
{
	grouped g;
	ck_assert_msg(begin(&g, "x=4", weights, 1) == ST_OK, "%s", g.d.msg);
	ck_assert_uint_eq(g.pb.group_of[UP], g.pb.group_of[GATE]);
	ck_assert_uint_eq(g.pb.group_of[UP], g.pb.group_of[DOWN]);
	ck_assert_uint_ne(g.pb.group_of[UP], g.pb.group_of[B]);
	ck_assert_uint_eq(g.pb.n_groups, 3);
	action_list made = {0}, finer = {0};
	actions_make(&g.pb, UINT32_MAX, NULL, &made);
	/* 4 divides 512 and 1024, but not 510: dim 0 alone, of all three at once, and never of one */
	ck_assert_uint_eq(count_actions(&g, &made, 0, 3), 1);
	ck_assert_uint_eq(count_actions(&g, &made, 1, 3), 0);
	actions_split(&g.pb, UINT32_MAX, &finer);
	ck_assert_uint_eq(count_actions(&g, &finer, 0, 1), 0);
	vec_release(&made);
	vec_release(&finer);
	end(&g);
}
END_TEST

START_TEST(parts_of_groups_are_left_out)
{
	grouped g;
	ck_assert_int_eq(begin(&g, "x=4", weights, 1), ST_OK);
	action_target part[] = {{UP, 0}, {B, 0}, {GATE, 0}},
				  all[] = {{DOWN, 0}, {B, 0}, {UP, 0}, {GATE, 0}};
	ck_assert_uint_eq(problem_keep_whole_groups(&g.pb, part, 3), 1);
	ck_assert_uint_eq(part[0].arg, B);
	ck_assert_uint_eq(problem_keep_whole_groups(&g.pb, all, 4), 4);
	bool allowed[5] = {[UP] = true, [B] = true};
	ck_assert_int_eq(problem_takes_whole_groups(&g.pb, allowed, &g.d), ST_ERR_INVALID);
	ck_assert_msg(
		strstr(g.d.msg, "takes params['up'] and leaves out params['down']") != NULL, "%s", g.d.msg);
	allowed[GATE] = allowed[DOWN] = true;
	ck_assert_int_eq(problem_takes_whole_groups(&g.pb, allowed, NULL), ST_OK);
	end(&g);
}
END_TEST

static bool alike(const search_result *r, uint32_t a, uint32_t b, const sharding_table *t)
{
	return sharding_same_axes(t, r->best.propagated[a], r->best.propagated[b]);
}

/* A pin brings an axis to two of the members and not to the third. */
START_TEST(answers_are_alike_whatever_propagation_brings)
{
	static const search_pin pin = {"batch*", "[[],[\"x\"]]"};
	for (int given = 0; given < 2; given++) {
		grouped g;
		search_result r;
		diag d = {0};
		ck_assert_int_eq(begin(&g, "x=4,y=2", weights, (uint32_t)given), ST_OK);
		g.o.pins = &pin;
		g.o.n_pins = 1;
		ck_assert_msg(search_run(g.m, &g.o, &r, &d) == ST_OK, "%s", d.msg);
		bool same = alike(&r, UP, GATE, g.m->shardings) && alike(&r, UP, DOWN, g.m->shardings);
		ck_assert_int_eq(same, given);
		ck_assert_uint_eq(r.n_given, (uint32_t)given);
		if (given) {
			ck_assert_uint_eq(r.given[0].n, 3);
			const sharding *s = sharding_get(g.m->shardings, r.best.propagated[DOWN]);
			ck_assert_int_eq(sharding_dim_parts(s, 0) % 4, 0);
		}
		search_result_release(&r);
		end(&g);
	}
}
END_TEST

/* The schedule's globs count, too, each once; where nothing alike is found that is told. */
START_TEST(groups_of_schedules)
{
	grouped g;
	search_result r;
	diag d = {0};
	ck_assert_int_eq(begin(&g, "x=4", weights, 1), ST_OK);
	g.o.schedule_json = "{\"groups\":[\"params['?*?']\",\"batch*\"],\"tactics\":[{\"auto\":{}}]}";
	ck_assert_msg(search_run(g.m, &g.o, &r, &d) == ST_OK, "%s", d.msg);
	ck_assert_uint_eq(r.n_given, 2);
	ck_assert(str_is(r.given[1].glob, "batch*") && r.given[1].n == 1 && r.given[1].members[0] == X);
	search_result_release(&r);
	g.o.schedule_json =
		"{\"tactics\":[{\"manual\":{\"arguments\":\"batch*\",\"dimension\":1,\"axis\":\"x\"}}]}";
	ck_assert_int_eq(search_run(g.m, &g.o, &r, &d), ST_ERR_INVALID);
	ck_assert_msg(strstr(d.msg,
					  "no plan was found that shards its arguments alike; in the best one "
					  "params['up'] is [{\"x\"}, {}], params['down'] is [{}, {}]") != NULL,
		"%s", d.msg);
	end(&g);
}
END_TEST

START_TEST(what_is_no_group)
{
	static const struct {
		const char *globs[2], *said;
	} cases[] = {
		{{"parms['up']"}, "group 'parms['up']' names no argument; did you mean 'params['up']'?"},
		{{"params*"},
			"group 'params*': arguments that shard alike: params['up'] has rank 2, params['b'] has "
			"rank 1"},
		{{"*n']"}, "params['down'] is parameter, batch['in'] is data"},
		{{"params['up']", "params['*p']"},
			"groups 'params['up']' and 'params['*p']' both have argument params['up']"},
		{{"params['[ug]*']"}, "names no argument"}, /* brackets are no classes */
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		grouped g;
		status s = begin(&g, "x=4", cases[i].globs, cases[i].globs[1] ? 2 : 1);
		ck_assert_int_eq(s, ST_ERR_INVALID);
		ck_assert_msg(strstr(g.d.msg, cases[i].said) != NULL, "%s", g.d.msg);
		end(&g);
	}
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("groups");
	tcase_add_test(t, one_group_one_set_of_actions);
	tcase_add_test(t, parts_of_groups_are_left_out);
	tcase_add_test(t, answers_are_alike_whatever_propagation_brings);
	tcase_add_test(t, groups_of_schedules);
	tcase_add_test(t, what_is_no_group);
	return run_suite(t, "groups");
}
