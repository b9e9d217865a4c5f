/* Per-device programs built by hand for the tests of costmodel and simulator: a module that holds
 * types and attributes, a planning program with one node per op, and the lowered program itself.
 * Everything is replicated; collectives name mesh axes. */
#ifndef SIM_FIXTURE_H
#define SIM_FIXTURE_H

#include <check.h>
#include <stdlib.h>

#include "simulator/simulator.h"
#include "tests/unit/run_suite.h"

typedef struct fix {
	module *m;
	program p;
	lowered l;
	arena mem;
	mesh_id mesh;
	device dev;
	mesh_links links;
	donation dn;
	lop_id open[MAX_NESTING];
	uint32_t depth;
} fix;

static inline void fix_init(fix *f, const char *device_name, const char *mesh_text)
{
	*f = (fix){0};
	f->m = module_new();
	if (!f->m->shardings)
		f->m->shardings = sharding_table_new();
	arena_init(&f->mem);
	ck_assert_int_eq(mesh_parse_flag(f->m->shardings, mesh_text, &f->mesh, NULL), ST_OK);
	ck_assert_int_eq(device_find(device_name, &f->dev, NULL), ST_OK);
	ck_assert_int_eq(
		mesh_links_assign(&f->dev, f->m->shardings, f->mesh, NULL, &f->links, NULL), ST_OK);
	f->p.m = f->m;
	f->p.mesh = f->mesh;
	f->l.p = &f->p;
	f->l.shardings = f->m->shardings;
}

static inline void fix_release(fix *f)
{
	vec_release(&f->p.nodes);
	vec_release(&f->p.vals);
	vec_release(&f->p.slots);
	vec_release(&f->p.args);
	vec_release(&f->l.ops);
	vec_release(&f->l.vals);
	vec_release(&f->l.operands);
	vec_release(&f->l.results);
	free(f->dn.result_of_arg);
	arena_release(&f->mem);
	module_free(f->m);
}

static inline type_id fix_type(fix *f, elem e, uint32_t rank, ...)
{
	int64_t dims[MAX_RANK];
	va_list args;
	va_start(args, rank);
	for (uint32_t i = 0; i < rank; i++)
		dims[i] = va_arg(args, int);
	va_end(args);
	return type_tensor(f->m, e, rank, dims);
}

static inline pval_id fix_pval(fix *f, type_id ty, int32_t arg)
{
	vec_push(&f->p.vals,
		(pval){.type = ty,
			.def = ID_NONE,
			.arg_index = arg,
			.result_index = -1,
			.value = ID_NONE,
			.group = ID_NONE});
	return f->p.vals.n - 1;
}

/* Appends a lop with operands; results get values of the given types (and pvals of the same). */
static inline lop_id fix_lop(fix *f, lop o, const lval_id *operands, uint32_t n_operands,
	const type_id *types, uint32_t n_results)
{
	lop_id id = f->l.ops.n;
	o.operands = f->l.operands.n;
	o.n_operands = n_operands;
	for (uint32_t i = 0; i < n_operands; i++) {
		vec_push(&f->l.operands, operands[i]);
		f->l.vals.p[operands[i]].n_uses++;
	}
	o.results = f->l.vals.n;
	o.n_results = (uint16_t)n_results;
	o.region = f->depth ? f->open[f->depth - 1] : ID_NONE;
	for (uint32_t i = 0; i < n_results; i++) {
		const ir_type *ty = type_get(f->m, types[i]);
		pval_id origin = fix_pval(f, types[i], -1);
		vec_push(&f->l.vals,
			(lval){.origin = origin,
				.def = id,
				.type = types[i],
				.bytes = sharding_local_bytes(f->m->shardings, SHARDING_NONE, ty)});
	}
	vec_push(&f->l.ops, o);
	return id;
}

static inline lval_id fix_result(const fix *f, lop_id o) { return f->l.ops.p[o].results; }

static inline lval_id fix_arg(fix *f, type_id ty)
{
	lop_id o = fix_lop(f, (lop){.kind = LOP_ARGUMENT, .node = ID_NONE}, NULL, 0, &ty, 1);
	pval_id v = f->l.vals.p[fix_result(f, o)].origin;
	f->p.vals.p[v].arg_index = (int32_t)f->p.args.n;
	vec_push(&f->p.args, v);
	return fix_result(f, o);
}

/* A node over new slots of the given types. */
static inline node_id fix_node(fix *f, op_kind kind, op_id op, node_kind nk, const type_id *types,
	uint32_t n_operands, uint32_t n_results)
{
	node n = {.op = op,
		.op_kind = (uint16_t)kind,
		.kind = (uint8_t)nk,
		.slots = f->p.slots.n,
		.n_operands = (uint16_t)n_operands,
		.n_results = (uint16_t)n_results,
		.parent = ID_NONE,
		.trips = 1,
		.pure = (op_infos[kind].flags & OPF_PURE) != 0};
	for (uint32_t i = 0; i < n_operands + n_results; i++) {
		pval_id v = fix_pval(f, types[i], -1);
		vec_push(&f->p.slots, v);
	}
	vec_push(&f->p.nodes, n);
	return f->p.nodes.n - 1;
}

static inline op_id fix_op_id(fix *f, op_kind kind)
{
	return op_new(
		f->m, kind, strtab_add(&f->m->strs, str_of(op_infos[kind].text)), NULL, 0, NULL, 0, 0, 0);
}

/* A compute op on lvals with one result. attributes: on the returned op of the node. */
static inline lval_id fix_op(fix *f, op_kind kind, type_id result, uint32_t n, ...)
{
	lval_id operands[16];
	type_id types[17];
	va_list args;
	va_start(args, n);
	for (uint32_t i = 0; i < n; i++) {
		operands[i] = va_arg(args, lval_id);
		types[i] = f->l.vals.p[operands[i]].type;
	}
	va_end(args);
	types[n] = result;
	node_id id = fix_node(f, kind, fix_op_id(f, kind), NODE_OP, types, n, 1);
	node_plan *plan = arena_zalloc(&f->mem, sizeof *plan);
	plan->at = arena_zalloc(&f->mem, sizeof(sharding_id) * (n + 1));
	lop_id o = fix_lop(f, (lop){.kind = LOP_COMPUTE, .node = id, .combined = 1, .plan = plan},
		operands, n, &result, 1);
	return fix_result(f, o);
}

/* [m, k] x [k, n] */
static inline lval_id fix_dot(fix *f, lval_id a, lval_id b)
{
	const ir_type *x = type_get(f->m, f->l.vals.p[a].type),
				  *y = type_get(f->m, f->l.vals.p[b].type);
	int64_t dims[] = {x->dims[0], y->dims[1]};
	return fix_op(f, OP_DOT, type_tensor(f->m, x->elem, 2, dims), 2, a, b);
}

/* Over full mesh axes given by name letters. */
static inline lval_id fix_collective(
	fix *f, collective_kind kind, const char *names, lval_id v, type_id result)
{
	sharding_table *t = f->m->shardings;
	uint32_t n = (uint32_t)strlen(names);
	axis_ref *a = arena_array(&f->mem, axis_ref, n);
	for (uint32_t i = 0; i < n; i++)
		a[i] = mesh_full_axis(t, f->mesh, mesh_axis_find(t, f->mesh, (str){names + i, 1}));
	collective_step *step = arena_zalloc(&f->mem, sizeof *step);
	step->kind = (uint8_t)kind;
	step->axes = (axes){a, n};
	step->dim_axes = arena_zalloc(&f->mem, sizeof *step->dim_axes * MAX_RANK);
	const ir_type *in = type_get(f->m, f->l.vals.p[v].type), *out = type_get(f->m, result);
	sharding_edit whole = {.mesh = f->mesh, .rank = in->rank};
	step->in = step->out = sharding_intern(t, &whole);
	int64_t bytes = MAX(
		sharding_local_bytes(t, SHARDING_NONE, in), sharding_local_bytes(t, SHARDING_NONE, out));
	lop_id o = fix_lop(f,
		(lop){.kind = LOP_COLLECTIVE,
			.coll = (uint8_t)kind,
			.node = ID_NONE,
			.combined = 1,
			.step = step,
			.bytes = bytes},
		&v, 1, &result, 1);
	return fix_result(f, o);
}

/* An all_gather along one dim of what is cut there over all axes called `names`. */
static inline lval_id fix_gather(fix *f, const char *names, lval_id v, type_id result, uint32_t dim)
{
	lval_id gathered = fix_collective(f, COLL_ALL_GATHER, names, v, result);
	sharding_table *t = f->m->shardings;
	collective_step *step = (collective_step *)f->l.ops.p[f->l.vals.p[gathered].def].step;
	((axes *)step->dim_axes)[dim] = step->axes;
	sharding_edit cut = {.mesh = f->mesh, .rank = type_get(f->m, result)->rank};
	for (uint32_t i = 0; i < step->axes.n; i++)
		cut.dims[dim].axes.a[cut.dims[dim].axes.n++] = step->axes.a[i];
	step->in = sharding_intern(t, &cut);
	return gathered;
}

/* A while of `trips` iterations carrying n values, or a case (branches). Arguments of a while's
 * body are its results. */
static inline lop_id fix_region(
	fix *f, op_kind kind, int64_t trips, const lval_id *init, uint32_t n)
{
	type_id types[16];
	for (uint32_t i = 0; i < n; i++)
		types[i] = f->l.vals.p[init[i]].type;
	node_id id = fix_node(f, kind, fix_op_id(f, kind), NODE_REGION, types, 0, 0);
	lop_id o = fix_lop(f, (lop){.kind = LOP_REGION, .node = id, .trips = trips, .combined = 1},
		init, n, types, kind == OP_WHILE ? n : 0);
	f->open[f->depth++] = o;
	return o;
}

static inline void fix_else(fix *f, const lval_id *yields, uint32_t n)
{
	fix_lop(f, (lop){.kind = LOP_REGION_ELSE, .node = f->l.ops.p[f->open[f->depth - 1]].node},
		yields, n, NULL, 0);
}

static inline lop_id fix_end(fix *f, const lval_id *yields, uint32_t n)
{
	type_id types[16];
	for (uint32_t i = 0; i < n; i++)
		types[i] = f->l.vals.p[yields[i]].type;
	node_id at = f->l.ops.p[f->open[f->depth - 1]].node;
	f->depth--;
	return fix_lop(f, (lop){.kind = LOP_REGION_END, .node = at}, yields, n, types, n);
}

static inline void fix_return(fix *f, uint32_t n, ...)
{
	lval_id operands[16];
	va_list args;
	va_start(args, n);
	for (uint32_t i = 0; i < n; i++) {
		operands[i] = va_arg(args, lval_id);
		vec_push(&f->l.results, operands[i]);
	}
	va_end(args);
	fix_lop(f, (lop){.kind = LOP_RETURN, .node = ID_NONE}, operands, n, NULL, 0);
}

static inline cost fix_simulate(fix *f)
{
	cost c;
	simulator *s = simulator_new(&f->p, f->m->shardings, &f->dev, &f->links, &f->dn);
	simulate(s, &f->l, &c);
	simulator_free(s);
	return c;
}

static inline void fix_donate(fix *f, uint32_t arg, int32_t result)
{
	if (!f->dn.result_of_arg) {
		f->dn.n_args = f->p.args.n;
		f->dn.result_of_arg = xmalloc(sizeof(int32_t) * f->p.args.n);
		for (uint32_t i = 0; i < f->p.args.n; i++)
			f->dn.result_of_arg[i] = -1;
	}
	f->dn.result_of_arg[arg] = result;
}

/* A random program on an "x=4,y=2" mesh: elementwise ops, reductions, matmuls, collectives and
 * (nested) loops over values of one square type; about n ops. */
static inline lval_id fix_pick(rng *r, const lval_id *pool, uint32_t n)
{
	return pool[n - 1 - rng_below(r, MIN(n, 12))];
}

static inline void fix_random_ops(
	fix *f, rng *r, lval_id *pool, uint32_t *n, uint32_t count, type_id square, type_id row)
{
	static const op_kind unary[] = {
		OP_NEGATE, OP_EXPONENTIAL, OP_TANH, OP_CONVERT, OP_RESHAPE, OP_TRANSPOSE};
	static const op_kind binary[] = {OP_ADD, OP_MULTIPLY, OP_DIVIDE, OP_MAXIMUM};
	static const char *const axes_names[] = {"x", "y", "xy"};
	for (uint32_t i = 0; i < count; i++) {
		lval_id a = fix_pick(r, pool, *n), b = fix_pick(r, pool, *n), out;
		uint32_t choice = rng_below(r, 20);
		if (choice < 7) {
			out = fix_op(f, binary[rng_below(r, COUNT_OF(binary))], square, 2, a, b);
		} else if (choice < 12) {
			out = fix_op(f, unary[rng_below(r, COUNT_OF(unary))], square, 1, a);
		} else if (choice < 14) {
			out = fix_dot(f, a, b);
		} else if (choice < 16) {
			lval_id sum = fix_op(f, OP_REDUCE, row, 1, a);
			out = fix_op(f, OP_BROADCAST_IN_DIM, square, 1, sum);
		} else if (choice < 19 || f->depth >= 2 || *n < 2) {
			static const collective_kind kinds[] = {COLL_ALL_REDUCE, COLL_ALL_GATHER,
				COLL_REDUCE_SCATTER, COLL_ALL_TO_ALL, COLL_ALL_SLICE};
			out = fix_collective(
				f, kinds[rng_below(r, COUNT_OF(kinds))], axes_names[rng_below(r, 3)], a, square);
		} else {
			lval_id init[] = {a, b}, carried[64], yields[2];
			uint32_t inner = 2;
			lop_id loop = fix_region(f, OP_WHILE, 1 + rng_below(r, 6), init, 2);
			carried[0] = f->l.ops.p[loop].results;
			carried[1] = carried[0] + 1;
			lval_id cond = fix_op(f, OP_NEGATE, row, 0);
			fix_else(f, &cond, 1);
			fix_random_ops(f, r, carried, &inner, 1 + rng_below(r, 8), square, row);
			yields[0] = carried[inner - 1];
			yields[1] = rng_below(r, 2) ? carried[1] : fix_pick(r, carried, inner);
			out = fix_result(f, fix_end(f, yields, 2));
		}
		pool[(*n)++] = out;
	}
}

static inline void fix_random(fix *f, uint64_t seed, uint32_t count)
{
	rng r;
	lval_id *pool = xmalloc(sizeof *pool * (count + 8));
	uint32_t n = 0;
	type_id square = fix_type(f, ELEM_F32, 2, 512, 512), row = fix_type(f, ELEM_F32, 1, 512);
	rng_seed(&r, seed, 1);
	for (int i = 0; i < 3; i++)
		pool[n++] = fix_arg(f, square);
	fix_random_ops(f, &r, pool, &n, count, square, row);
	fix_return(f, 2, pool[n - 1], pool[n - 2]);
	free(pool);
}

static inline int run_tests(const TTest *const *tests, size_t n, const char *name)
{
	TCase *tc = tcase_create("all");
	for (size_t i = 0; i < n; i++)
		tcase_add_test(tc, tests[i]);
	return run_suite(tc, name);
}

#endif
