#include "tests/unit/module_fixture.h"

static const char two_adds[] = "    %x = stablehlo.add %a, %b : tensor<4xf32>\n"
							   "    %y = stablehlo.add %x, %a : tensor<4xf32>\n"
							   "    %z = stablehlo.multiply %x, %x : tensor<4xf32>\n"
							   "    return %y : tensor<4xf32>";
static const char two_args[] = "%a: tensor<4xf32>, %b: tensor<4xf32>";

static module *sample(void) { return read_body(two_args, "tensor<4xf32>", two_adds); }

/* Owners of the uses of v, newest first. */
static uint32_t users(const module *m, value_id v, op_id *out, uint32_t room)
{
	uint32_t n = 0;
	for (slot_id s = value_at(m, v)->first_use; s != ID_NONE && n < room; s = m->slots.p[s].next)
		out[n++] = m->slots.p[s].owner;
	return n;
}

START_TEST(newest_use_is_first)
{
	module *m = sample();
	op_id x = first_op(m, OP_ADD), y = nth_op(m, OP_ADD, 1), z = first_op(m, OP_MULTIPLY), u[8];
	ck_assert_uint_eq(users(m, op_result(m, x, 0), u, 8), 3);
	ck_assert_uint_eq(u[0], z);
	ck_assert_uint_eq(u[1], z);
	ck_assert_uint_eq(u[2], y);
	ck_assert(!value_one_use(m, op_result(m, x, 0)));
	ck_assert(value_one_use(m, op_result(m, y, 0)));
	ck_assert(!value_has_uses(m, op_result(m, z, 0)));
	module_free(m);
}
END_TEST

START_TEST(replacing_reverses_uses)
{
	module *m = sample();
	op_id x = first_op(m, OP_ADD), y = nth_op(m, OP_ADD, 1), z = first_op(m, OP_MULTIPLY), u[8];
	value_id a = op_region(m, first_op(m, OP_FUNC), 0)->args;
	value_replace_uses(m, op_result(m, x, 0), a, z);
	ck_assert_uint_eq(users(m, op_result(m, x, 0), u, 8), 2);
	ck_assert_uint_eq(users(m, a, u, 8), 3); /* y once moved, before it y and x */
	ck_assert_uint_eq(u[0], y);
	ck_assert_uint_eq(u[1], y);
	ck_assert_uint_eq(u[2], x);
	structure_ok(m);
	value_replace_uses(m, a, op_result(m, x, 0), x);
	ck_assert_uint_eq(users(m, op_result(m, x, 0), u, 8), 4);
	ck_assert_uint_eq(u[0], y);
	structure_ok(m);
	module_free(m);
}
END_TEST

START_TEST(operand_lists_grow_and_shrink)
{
	module *m = sample();
	op_id x = first_op(m, OP_ADD), y = nth_op(m, OP_ADD, 1), u[8];
	value_id a = op_operand(m, x, 0), b = op_operand(m, x, 1);
	value_id four[] = {b, a, a, b};
	op_set_operands(m, y, four, 4);
	ck_assert_uint_eq(op_at(m, y)->n_operands, 4);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_uint_eq(op_operand(m, y, i), four[i]);
	ck_assert_uint_eq(users(m, a, u, 8), 3);
	structure_ok(m);
	op_set_operands(m, y, four, 1);
	ck_assert_uint_eq(op_at(m, y)->n_operands, 1);
	ck_assert_uint_eq(users(m, a, u, 8), 1);
	structure_ok(m);
	op_set_operand(m, y, 0, a);
	ck_assert_uint_eq(users(m, a, u, 8), 2);
	ck_assert_uint_eq(u[0], y);
	module_free(m);
}
END_TEST

START_TEST(ops_are_placed_and_erased)
{
	module *m = sample();
	op_id x = first_op(m, OP_ADD), y = nth_op(m, OP_ADD, 1), z = first_op(m, OP_MULTIPLY);
	value_id in = op_result(m, x, 0);
	type_id t = value_at(m, in)->type;
	op_id before = op_new(m, OP_NEGATE, 0, &in, 1, &t, 1, 0, 0),
		  after = op_new(m, OP_ABS, 0, &in, 1, &t, 1, 0, 0);
	op_insert_before(m, before, y);
	op_insert_after(m, after, y);
	ck_assert_uint_eq(op_at(m, x)->next, before);
	ck_assert_uint_eq(op_at(m, before)->next, y);
	ck_assert_uint_eq(op_at(m, y)->next, after);
	ck_assert_uint_eq(op_at(m, after)->next, z);
	structure_ok(m);
	op_erase(m, after);
	op_erase(m, z);
	ck_assert_uint_eq(op_at(m, y)->next, region_terminator(m, op_at(m, y)->parent));
	structure_ok(m);
	op_unlink(m, before);
	op_append(m, before, op_at(m, x)->parent); /* behind the terminator: found by the check */
	diag d;
	diag_clear(&d);
	ck_assert_int_eq(module_verify(m, &d), ST_ERR_INTERNAL);
	module_free(m);
}
END_TEST

START_TEST(broken_order_is_found)
{
	module *m = sample();
	op_id x = first_op(m, OP_ADD), y = nth_op(m, OP_ADD, 1);
	op_unlink(m, x);
	op_insert_after(m, x, y);
	diag d;
	diag_clear(&d);
	ck_assert_int_eq(module_verify(m, &d), ST_ERR_INTERNAL);
	ck_assert_ptr_nonnull(strstr(d.msg, "not defined before"));
	module_free(m);
}
END_TEST

static const char loop[] =
	"    %z = stablehlo.constant dense<0> : tensor<i32>\n"
	"    %w:2 = stablehlo.while(%i = %z, %x = %a) : tensor<i32>, tensor<4xf32>\n"
	"    cond {\n"
	"      %t = stablehlo.compare LT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
	"      stablehlo.return %t : tensor<i1>\n"
	"    } do {\n"
	"      %s = stablehlo.add %x, %b : tensor<4xf32>\n"
	"      stablehlo.return %i, %s : tensor<i32>, tensor<4xf32>\n"
	"    }\n"
	"    return %w#1 : tensor<4xf32>";

START_TEST(clones_keep_structure)
{
	module *m = read_body(two_args, "tensor<4xf32>", loop);
	op_id w = first_op(m, OP_WHILE);
	value_id b = op_region(m, first_op(m, OP_FUNC), 0)->args + 1;
	op_id copy = op_clone(m, w, NULL, 0);
	op_insert_after(m, copy, w);
	structure_ok(m);
	ck_assert_uint_eq(op_at(m, copy)->n_regions, 2);
	ck_assert_uint_eq(op_region(m, copy, 1)->n_args, 2);
	op_id s = op_region(m, copy, 1)->first;
	ck_assert_int_eq(op_at(m, s)->kind, OP_ADD);
	ck_assert_uint_eq(
		op_operand(m, s, 0), op_region(m, copy, 1)->args + 1); /* inside: the copy's */
	ck_assert_uint_eq(op_operand(m, s, 1), b);                 /* outside: the same */
	ck_assert_uint_eq(op_operand(m, op_at(m, s)->next, 1), op_result(m, s, 0));
	op_erase(m, copy);
	structure_ok(m);
	module_free(m);
}
END_TEST

START_TEST(clones_follow_the_map)
{
	module *m = sample();
	op_id x = first_op(m, OP_ADD), y = nth_op(m, OP_ADD, 1);
	uint32_t n = m->values.n;
	value_id *map = malloc(n * sizeof *map);
	memset(map, 0xff, n * sizeof *map);
	map[op_operand(m, x, 0)] = op_operand(m, x, 1);
	op_id x2 = op_clone(m, x, map, n);
	ck_assert_uint_eq(op_operand(m, x2, 0), op_operand(m, x, 1));
	ck_assert_uint_eq(map[op_result(m, x, 0)], op_result(m, x2, 0));
	op_id y2 = op_clone(m, y, map, n);
	ck_assert_uint_eq(op_operand(m, y2, 0), op_result(m, x2, 0));
	free(map);
	module_free(m);
}
END_TEST

START_TEST(module_copies_are_apart)
{
	module *m = sample();
	strbuf before, after;
	strbuf_init(&before);
	strbuf_init(&after);
	module_print(m, NULL, &before);
	module *c = module_clone(m);
	op_id y = nth_op(c, OP_ADD, 1);
	value_replace_uses(c, op_result(c, y, 0), op_operand(c, y, 1), ID_NONE);
	op_erase(c, y);
	op_attr_set(c, first_op(c, OP_MULTIPLY), "foo.new", attr_int(c, 3, "i32"));
	module_main(c)->result_shardings[0] = 1;
	type_tensor(c, ELEM_F64, 1, (int64_t[]){77});
	structure_ok(c);
	module_print(m, NULL, &after);
	ck_assert_str_eq(before.p, after.p);
	ck_assert_uint_eq(module_main(m)->result_shardings[0], SHARDING_NONE);
	strbuf_clear(&after);
	module_main(c)->result_shardings[0] = 0;
	module_print(c, NULL, &after);
	ck_assert_str_ne(before.p, after.p);
	ck_assert_ptr_nonnull(strstr(after.p, "foo.new = 3 : i32"));
	module_free(c);
	module_free(m);
	strbuf_release(&before);
	strbuf_release(&after);
}
END_TEST

START_TEST(types_are_interned)
{
	module *m = module_new();
	int64_t dims[] = {8, DIM_DYNAMIC, 4};
	type_id a = type_tensor(m, ELEM_F32, 3, dims), b = type_tensor(m, ELEM_F32, 3, dims),
			c = type_tensor(m, ELEM_BF16, 3, dims);
	ck_assert_uint_eq(a, b);
	ck_assert_uint_ne(a, c);
	ck_assert(str_is(type_get(m, a)->text, "tensor<8x?x4xf32>"));
	ck_assert(type_get(m, a)->dynamic);
	ck_assert_int_eq(type_get(m, type_tensor(m, ELEM_I4, 1, dims + 2))->rank, 1);
	type_id scalar = type_tensor(m, ELEM_C64, 0, NULL);
	ck_assert(str_is(type_get(m, scalar)->text, "tensor<complex<f32>>"));
	ck_assert_int_eq(type_get(m, scalar)->elements, 1);
	type_id f = type_function(m, &a, 1, (type_id[]){a, scalar}, 2);
	ck_assert(str_is(
		type_get(m, f)->text, "(tensor<8x?x4xf32>) -> (tensor<8x?x4xf32>, tensor<complex<f32>>)"));
	ck_assert_uint_eq(type_bare(m, ELEM_I64), type_bare(m, ELEM_I64));
	ck_assert_int_eq(elem_find(STR("f8E4M3FN")), ELEM_F8E4M3FN);
	ck_assert_int_eq(elem_find(STR("f7")), ELEM_NONE);
	module_free(m);
}
END_TEST

START_TEST(attributes_are_set_and_found)
{
	module *m = sample();
	op_id x = first_op(m, OP_ADD), y = nth_op(m, OP_ADD, 1);
	ck_assert_uint_eq(op_attr(m, x, "k"), ID_NONE);
	op_attr_set(m, x, "k", attr_int(m, 5, "i64"));
	op_attr_set(m, y, "list", attr_ints(m, (int64_t[]){3, 1, 4}, 3));
	op_attr_set(m, x, "s", attr_string(m, STR("word")));
	op_attr_set(m, x, "u", attr_unit(m));
	op_attr_set(m, x, "k", attr_int(m, 6, "i64"));
	ck_assert_int_eq(op_int(m, x, "k", -1), 6);
	ck_assert_int_eq(op_int(m, x, "absent", -1), -1);
	ck_assert(str_is(op_text(m, x, "s"), "word"));
	uint32_t n;
	const int64_t *v = op_ints(m, y, "list", &n);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(v[2], 4);
	op_attr_remove(m, x, "k");
	ck_assert_uint_eq(op_attr(m, x, "k"), ID_NONE);
	ck_assert_uint_ne(op_attr(m, x, "s"), ID_NONE);
	ck_assert_uint_ne(op_attr(m, x, "u"), ID_NONE);
	ck_assert_uint_eq(op_at(m, x)->n_attrs, 2);
	module_free(m);
}
END_TEST

START_TEST(walk_is_pre_order)
{
	module *m = read_body(two_args, "tensor<4xf32>", loop);
	static const op_kind want[] = {OP_SDY_MESH, OP_FUNC, OP_CONSTANT, OP_WHILE, OP_COMPARE,
		OP_RETURN, OP_ADD, OP_RETURN, OP_FUNC_RETURN};
	uint32_t n = 0;
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o))
		ck_assert_int_eq(op_at(m, o)->kind, want[n++]);
	ck_assert_uint_eq(n, COUNT_OF(want));
	op_id w = first_op(m, OP_WHILE);
	n = 3;
	for (op_id o = op_walk_first(m, w); o != ID_NONE; o = op_walk_next(m, w, o))
		ck_assert_int_eq(op_at(m, o)->kind, want[n++]);
	ck_assert_uint_eq(n, 8);
	module_free(m);
}
END_TEST

START_TEST(functions_are_found)
{
	module *m = read_ok("func.func @main(%a: tensor<f32>) -> tensor<f32> {\n  %0 = call @g(%a) : "
						"(tensor<f32>) -> tensor<f32>\n"
						"  return %0 : tensor<f32>\n}\nfunc.func private @g(%a: tensor<f32>) -> "
						"tensor<f32> {\n  return %a : tensor<f32>\n}\n");
	ck_assert_uint_eq(m->funcs.n, 2);
	func *g = module_func_named(m, STR("g"));
	ck_assert_ptr_nonnull(g);
	ck_assert(g->is_private);
	ck_assert_ptr_eq(module_func(m, g->op), g);
	ck_assert_ptr_eq(module_main(m), module_func_named(m, STR("main")));
	op_id copy = op_clone(m, g->op, NULL, 0);
	func_rename(m, copy, STR("h"));
	op_append(m, copy, m->body);
	ck_assert_uint_eq(module_func_named(m, STR("h"))->op, copy);
	ck_assert_uint_ne(module_func_named(m, STR("g"))->op, copy);
	structure_ok(m);
	op_erase(m, copy);
	ck_assert_ptr_null(module_func_named(m, STR("h")));
	module_free(m);
}
END_TEST

START_TEST(integer_constants)
{
	module *m = read_body("%a: tensor<4xf32>", "tensor<4xf32>",
		"%0 = stablehlo.constant dense<-7> : tensor<i32>\n%1 = stablehlo.constant dense<5> : "
		"tensor<3xi64>\n"
		"%2 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>\n%3 = stablehlo.constant dense<1.0> "
		": tensor<f32>\n"
		"%4 = stablehlo.constant dense<true> : tensor<i1>\n%5 = sdy.constant dense<[9]> : "
		"tensor<1xi8>\nreturn %a : tensor<4xf32>");
	int64_t v;
	ck_assert(op_constant_int(m, nth_op(m, OP_CONSTANT, 0), &v) && v == -7);
	ck_assert(op_constant_int(m, nth_op(m, OP_CONSTANT, 1), &v) && v == 5);
	ck_assert(!op_constant_int(m, nth_op(m, OP_CONSTANT, 2), &v));
	ck_assert(!op_constant_int(m, nth_op(m, OP_CONSTANT, 3), &v));
	ck_assert(op_constant_int(m, nth_op(m, OP_CONSTANT, 4), &v) && v == 1);
	ck_assert(op_constant_int(m, first_op(m, OP_SDY_CONSTANT), &v) && v == 9);
	module_free(m);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, newest_use_is_first);
	tcase_add_test(t, replacing_reverses_uses);
	tcase_add_test(t, operand_lists_grow_and_shrink);
	tcase_add_test(t, ops_are_placed_and_erased);
	tcase_add_test(t, broken_order_is_found);
	tcase_add_test(t, clones_keep_structure);
	tcase_add_test(t, clones_follow_the_map);
	tcase_add_test(t, module_copies_are_apart);
	tcase_add_test(t, types_are_interned);
	tcase_add_test(t, attributes_are_set_and_found);
	tcase_add_test(t, walk_is_pre_order);
	tcase_add_test(t, functions_are_found);
	tcase_add_test(t, integer_constants);
}

int main(void) { return run_added(add_tests, "module"); }
