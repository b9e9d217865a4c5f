/* Plans near another one: what each list has, and that a full one takes no more. */
#include "search/tree/moves.h"
#include "tests/unit/problem_fixture.h"
#include "tests/unit/run_suite.h"

#include <stdlib.h>

typedef struct plan_fixture {
	fixture f;
	arena mem;
	scope of;
	neighbourhood nb;
	plan *pl; /* x on 0, y on 1, the batch on 0, x on 1 */
	uint32_t x, y;
} plan_fixture;

/* The first action about a group, other than one of them, on the axis. */
static const action *action_of_group(const fixture *f, uint32_t axis, uint32_t other)
{
	for (uint32_t i = 0; i < f->actions.n; i++) {
		const action *a = &f->actions.p[i];
		if (a->group != ID_NONE && a->group != other && a->axis == axis &&
			a->kind == ACTION_PARTITION)
			return a;
	}
	ck_abort_msg("no action");
	return NULL;
}

static void begin(plan_fixture *n)
{
	*n = (plan_fixture){0};
	setup_corpus(&n->f, "mlp", "tpu-v5e", "data=4,model=4", false);
	scope_init(&n->of, &n->f.pb, UINT32_MAX, NULL);
	neighbourhood_init(&n->nb, &n->f.pb, &n->of, &n->mem);
	const action *x = action_of_group(&n->f, 0, ID_NONE), *y = action_of_group(&n->f, 1, x->group);
	action on_1 = action_on_axis(&n->of, x, 1);
	n->x = x->group;
	n->y = y->group;
	n->pl = xcalloc(1, sizeof *n->pl);
	plan_insert(n->pl, 0, x, "test");
	plan_insert(n->pl, 1, y, "test");
	plan_insert(n->pl, 2, action_of_role(&n->f.pb, ROLE_ACTION_DATA_PARALLEL, 0), "test");
	plan_insert(n->pl, 3, &on_1, "test");
}

static void end(plan_fixture *n)
{
	free(n->pl);
	neighbourhood_release(&n->nb);
	scope_release(&n->of);
	arena_release(&n->mem);
	teardown(&n->f);
}

/* The axes of a plan's decisions, as text. */
static const char *axes_text(const plan *pl, char *out)
{
	for (uint32_t i = 0; i < pl->n; i++)
		out[i] = (char)('0' + pl->decisions[i].axis);
	out[pl->n] = '\0';
	return out;
}

static void expect(plan_fixture *n, const char *const *expected, uint32_t count)
{
	char text[MAX_PLAN + 1];
	ck_assert_uint_eq(n->nb.n, count);
	for (uint32_t i = 0; i < count; i++) {
		ck_assert_str_eq(axes_text(&n->nb.variants[i], text), expected[i]);
		ck_assert_uint_eq(n->nb.thinned[i].at, ID_NONE);
	}
	n->nb.n = 0;
}

START_TEST(axes_change_places)
{
	plan_fixture n;
	begin(&n);
	list_exchanged(&n.nb, n.pl);
	expect(&n, (const char *const[]){"1010"}, 1);
	list_exchanged_for_groups(&n.nb, n.pl); /* x is listed once, the batch is no group */
	expect(&n, (const char *const[]){"1100", "0001"}, 2);
	n.pl->decisions[3].fixed = FIXED_BY_USER;
	list_exchanged_for_groups(&n.nb, n.pl);
	expect(&n, (const char *const[]){"1101", "0001"}, 2);
	n.pl->decisions[0].fixed = n.pl->decisions[1].fixed = FIXED_BY_USER;
	list_exchanged_for_groups(&n.nb, n.pl);
	expect(&n, NULL, 0);
	end(&n);
}
END_TEST

START_TEST(an_axis_does_nothing)
{
	plan_fixture n;
	begin(&n);
	list_idle(&n.nb, n.pl);
	expect(&n, (const char *const[]){"11", "00"}, 2);
	n.pl->decisions[1].fixed = FIXED_BY_USER;
	list_idle(&n.nb, n.pl);
	expect(&n, (const char *const[]){"11", "010"}, 2);
	end(&n);
}
END_TEST

START_TEST(a_decision_is_on_another_axis)
{
	plan_fixture n;
	begin(&n);
	list_elsewhere(&n.nb, n.pl); /* y and the batch; x is on both axes already. Behind each: state
	                                on the axis that it was on */
	ck_assert_uint_eq(n.nb.n, 4);
	for (uint32_t i = 1; i < n.nb.n; i += 2) {
		const plan *v = &n.nb.variants[i];
		ck_assert(
			v->decisions[v->n - 1].on_role && v->decisions[v->n - 1].role == ROLE_ACTION_ZERO2);
	}
	expect(&n, (const char *const[]){"0001", "00011", "0111", "01110"}, 4);
	n.pl->decisions[1].fixed = FIXED_BY_USER;
	list_elsewhere(&n.nb, n.pl);
	expect(&n, (const char *const[]){"0111", "01110"}, 2);
	end(&n);
}
END_TEST

START_TEST(an_axis_does_what_another_one_does)
{
	plan_fixture n;
	begin(&n);
	list_imitated(&n.nb, n.pl);
	ck_assert_uint_eq(n.nb.n, 2);
	for (uint32_t i = 0; i < 2; i++) { /* every decision has its twin */
		const plan *v = &n.nb.variants[i];
		ck_assert_uint_eq(v->n, 4);
		for (uint32_t k = 0; k < v->n; k += 2) {
			ck_assert_uint_ne(v->decisions[k].axis, v->decisions[k + 1].axis);
			ck_assert_uint_eq(v->decisions[k].group, v->decisions[k + 1].group);
		}
	}
	end(&n);
}
END_TEST

/* And says so, until the next one begins. */
START_TEST(a_full_list_takes_no_more)
{
	plan_fixture n;
	begin(&n);
	while (n.nb.n < MOST_VARIANTS)
		ck_assert(neighbourhood_add(&n.nb, n.pl) && !n.nb.cut);
	ck_assert(!neighbourhood_add(&n.nb, n.pl) && n.nb.cut);
	neighbourhood_clear(&n.nb);
	ck_assert(!n.nb.n && !n.nb.cut);
	while (neighbourhood_add(&n.nb, n.pl))
		;
	ck_assert_uint_eq(n.nb.n, MOST_VARIANTS);
	list_idle(&n.nb, n.pl);
	list_exchanged_for_groups(&n.nb, n.pl);
	list_changed_alike(&n.nb, n.pl);
	list_added(&n.nb, n.pl);
	list_spread(&n.nb, n.pl);
	list_elsewhere(&n.nb, n.pl);
	ck_assert_uint_eq(n.nb.n, MOST_VARIANTS);
	end(&n);
}
END_TEST

/* All axes alike come first, then each alone, then two at once. */
START_TEST(regroupings_on_all_axes_come_first)
{
	plan_fixture n;
	regrouping_list all = {0};
	begin(&n);
	regroupings_list(&n.nb, &all);
	uint32_t sort = 0, groups = 0;
	for (uint32_t i = 0; i < all.n; i++) {
		uint32_t now = all.p[i].crossed ? 2 : all.p[i].mask == 3 ? 0 : 1;
		ck_assert_uint_ge(now, sort);
		sort = now;
		groups += now == 0 && all.p[i].group != ID_NONE;
	}
	ck_assert_uint_eq(sort, 2);
	ck_assert_uint_eq(groups, n.f.pb.n_groups);
	ck_assert_uint_eq(all.n, 3 * (n.f.pb.n_groups + n.f.pb.n_activation_classes) + n.f.pb.n_groups);
	vec_release(&all);
	end(&n);
}
END_TEST

START_TEST(axes_of_one_device_have_no_neighbours)
{
	fixture f;
	arena mem = {0};
	scope of;
	neighbourhood nb;
	regrouping_list all = {0};
	plan *empty = xcalloc(1, sizeof *empty);
	setup_corpus(&f, "mlp", "tpu-v5e", "data=1,model=1", false);
	scope_init(&of, &f.pb, UINT32_MAX, NULL);
	neighbourhood_init(&nb, &f.pb, &of, &mem);
	regroupings_list(&nb, &all);
	list_idle(&nb, empty);
	list_exchanged(&nb, empty);
	list_exchanged_for_groups(&nb, empty);
	ck_assert_uint_eq(all.n, 0);
	ck_assert_uint_eq(nb.n, 0);
	vec_release(&all);
	neighbourhood_release(&nb);
	scope_release(&of);
	arena_release(&mem);
	free(empty);
	teardown(&f);
}
END_TEST

/* Does a decision say anything about parameters of the group or their state? */
static bool is_about(const problem *pb, const plan *pl, uint32_t group)
{
	for (uint32_t i = 0; i < pl->n; i++)
		for (uint32_t k = 0; k < pl->decisions[i].n_targets; k++) {
			uint32_t arg = pl->decisions[i].targets[k].arg,
					 param = pb->param_of[arg] == ID_NONE ? arg : pb->param_of[arg];
			if (pb->group_of[param] == group)
				return true;
		}
	return false;
}

START_TEST(a_parameter_is_left_out_with_its_state)
{
	plan_fixture n;
	regrouping_list all = {0};
	uint32_t ends[REGROUPINGS], found = 0;
	begin(&n);
	const problem *pb = &n.f.pb;
	n.pl->n = 0;
	for (uint32_t axis = 0; axis < 2; axis++)
		plan_insert(n.pl, axis, action_of_role(pb, ROLE_ACTION_ZERO2, axis), "test");
	regroupings_list(&n.nb, &all);
	for (uint32_t i = 0; i < pb->n_groups; i++) {
		uint32_t group = all.p[i].group, first = pb->group_members[pb->group_first[group]];
		if (pb->roles[first] != ROLE_PARAMETER)
			continue;
		ck_assert(is_about(pb, n.pl, group));
		regroupings_of(&n.nb, n.pl, &all, i, ends);
		uint32_t without = 0;
		for (uint32_t v = 0; v < ends[0]; v++)
			without += !is_about(pb, &n.nb.variants[v], group);
		ck_assert_uint_eq(without, 1);
		found++;
	}
	ck_assert_uint_gt(found, 0);
	vec_release(&all);
	end(&n);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("moves");
	tcase_add_test(t, axes_change_places);
	tcase_add_test(t, an_axis_does_nothing);
	tcase_add_test(t, a_decision_is_on_another_axis);
	tcase_add_test(t, an_axis_does_what_another_one_does);
	tcase_add_test(t, a_full_list_takes_no_more);
	tcase_add_test(t, regroupings_on_all_axes_come_first);
	tcase_add_test(t, axes_of_one_device_have_no_neighbours);
	tcase_add_test(t, a_parameter_is_left_out_with_its_state);
	return run_suite(t, "moves");
}
