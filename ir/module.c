#include "ir/ir.h"

#include <stdlib.h>

const op_info op_infos[OP_COUNT] = {
#define OP(id, text, form, in, out, regions, check, rule, cost, emit, flags) \
	[OP_##id] = {text, flags},
#include "ir/ops.def"
#undef OP
};

module *module_new(void)
{
	module *m = xcalloc(1, sizeof *m);
	arena_init(&m->mem);
	strbuf_init(&m->text);
	strtab_init(&m->strs);
	/* The name of op kind k has id k, so that names of known ops need no lookup. */
	for (uint32_t k = 1; k < OP_COUNT; k++)
		strtab_add(&m->strs, str_of(op_infos[k].text));
	assert(m->strs.strs.n == OP_COUNT);
	m->shardings = sharding_table_new();
	index_init(&m->type_index);
	index_init(&m->func_index);
	vec_push(&m->locs, (location){.raw = STR("unknown")});
	vec_push(&m->regions, (ir_region){.parent = ID_NONE, .first = ID_NONE, .last = ID_NONE});
	m->body = 0;
	m->module_attrs = ID_NONE;
	return m;
}

void module_free(module *m)
{
	if (!m)
		return;
	arena_release(&m->mem);
	if (!m->borrowed)
		strbuf_release(&m->text);
	strtab_release(&m->strs);
	sharding_table_unref(m->shardings);
	vec_release(&m->types);
	index_release(&m->type_index);
	vec_release(&m->attrs);
	vec_release(&m->op_attrs);
	vec_release(&m->ops);
	vec_release(&m->values);
	vec_release(&m->slots);
	vec_release(&m->regions);
	vec_release(&m->funcs);
	index_release(&m->func_index);
	vec_release(&m->locs);
	free(m);
}

module *module_clone(const module *m)
{
	module *c = xmalloc(sizeof *c);
	*c = *m;
	arena_init(&c->mem);
	c->borrowed = m;
	c->explanation = NULL;
	/* strings keep their bytes in the original's table */
	arena_init(&c->strs.mem);
	vec_copy(&c->strs.strs, &m->strs.strs);
	index_copy(&c->strs.index, &m->strs.index);
	sharding_table_ref(m->shardings);
	vec_copy(&c->types, &m->types);
	index_copy(&c->type_index, &m->type_index);
	vec_copy(&c->attrs, &m->attrs);
	vec_copy(&c->op_attrs, &m->op_attrs);
	vec_copy(&c->ops, &m->ops);
	vec_copy(&c->values, &m->values);
	vec_copy(&c->slots, &m->slots);
	vec_copy(&c->regions, &m->regions);
	vec_copy(&c->funcs, &m->funcs);
	index_copy(&c->func_index, &m->func_index);
	vec_copy(&c->locs, &m->locs);
	/* What passes change in a function must not reach the original. */
	for (uint32_t i = 0; i < c->funcs.n; i++) {
		func *f = &c->funcs.p[i];
		size_t args = f->n_args * sizeof *f->arg_attrs,
			   results = f->n_results * sizeof *f->result_attrs;
		f->arg_attrs = args ? memcpy(arena_alloc(&c->mem, args), f->arg_attrs, args) : NULL;
		f->result_attrs =
			results ? memcpy(arena_alloc(&c->mem, results), f->result_attrs, results) : NULL;
		f->result_shardings =
			results ? memcpy(arena_alloc(&c->mem, results), f->result_shardings, results) : NULL;
	}
	return c;
}

module *module_clone_apart(const module *m)
{
	module *c = module_clone(m);
	sharding_table_unref(c->shardings);
	c->shardings = sharding_table_clone(m->shardings);
	return c;
}

/* ---------------------------------------------------------------- functions */

func *func_add(module *m, op_id o, str name, const type_id *result_types, uint32_t n_results)
{
	const ir_region *body = op_region(m, o, 0);
	func f = {.op = o,
		.name = strtab_add(&m->strs, name),
		.n_args = body->n_args,
		.n_results = n_results};
	f.arg_attrs = arena_array(&m->mem, attr_id, f.n_args);
	f.result_attrs = arena_array(&m->mem, attr_id, n_results);
	f.result_shardings = arena_zarray(&m->mem, sharding_id, n_results);
	type_id *types = arena_array(&m->mem, type_id, n_results);
	for (uint32_t i = 0; i < f.n_args; i++)
		f.arg_attrs[i] = ID_NONE;
	for (uint32_t i = 0; i < n_results; i++) {
		f.result_attrs[i] = ID_NONE;
		types[i] = result_types[i];
	}
	f.result_types = types;
	op_get(m, o)->operands =
		m->funcs.n; /* a func.func has no operands: the field leads to its func */
	vec_push(&m->funcs, f);
	index_add(&m->func_index, hash_mix(f.name), m->funcs.n - 1);
	return &m->funcs.p[m->funcs.n - 1];
}

void func_rename(module *m, op_id o, str name)
{
	func *f = module_func(m, o);
	f->name = strtab_add(&m->strs, name);
	index_add(&m->func_index, hash_mix(f->name), op_at(m, o)->operands);
}

func *module_func(const module *m, op_id o)
{
	const ir_op *op = op_at(m, o);
	return op->kind == OP_FUNC && op->operands < m->funcs.n && m->funcs.p[op->operands].op == o
		? &m->funcs.p[op->operands]
		: NULL;
}

/* Functions whose op stands in no region yet count as those of the outermost module. */
static func *func_in(const module *m, region_id home, str name)
{
	str_id id = strtab_find(&m->strs, name);
	if (id == UINT32_MAX)
		return NULL;
	uint64_t h = hash_mix(id);
	uint32_t i;
	/* Entries of renamed and erased functions stay in the index and fail the comparison. */
	for (uint32_t it = index_first(&m->func_index, h); index_next(&m->func_index, h, &it, &i);) {
		const ir_op *op = op_at(m, m->funcs.p[i].op);
		if (m->funcs.p[i].name == id && !(op->flags & OPS_ERASED) &&
			(op->parent == home || (op->parent == ID_NONE && home == m->body)))
			return &m->funcs.p[i];
	}
	return NULL;
}

func *module_func_named(const module *m, str name) { return func_in(m, m->body, name); }

func *module_func_near(const module *m, op_id o, str name)
{
	region_id r = op_at(m, o)->parent;
	while (
		r != ID_NONE && r != m->body && op_at(m, m->regions.p[r].parent)->kind != OP_BUILTIN_MODULE)
		r = op_at(m, m->regions.p[r].parent)->parent;
	return func_in(m, r == ID_NONE ? m->body : r, name);
}

func *module_main(const module *m)
{
	func *only = NULL;
	uint32_t n = 0;
	for (uint32_t i = 0; i < m->funcs.n; i++)
		if (!(op_at(m, m->funcs.p[i].op)->flags & OPS_ERASED)) {
			only = &m->funcs.p[i];
			n++;
		}
	return n == 1 ? only : module_func_named(m, STR("main"));
}

/* ---------------------------------------------------------------- walking */

op_id region_terminator(const module *m, region_id r)
{
	op_id last = m->regions.p[r].last;
	return last != ID_NONE && op_infos[op_at(m, last)->kind].flags & OPF_TERMINATOR ? last
																					: ID_NONE;
}

/* First op in regions [from, end) that has one. */
static op_id first_in_regions(const module *m, region_id from, region_id end)
{
	for (region_id r = from; r < end; r++)
		if (m->regions.p[r].first != ID_NONE)
			return m->regions.p[r].first;
	return ID_NONE;
}

op_id op_walk_first(const module *m, op_id root)
{
	return root != ID_NONE ? root : m->regions.p[m->body].first;
}

op_id op_walk_out(const module *m, op_id root, op_id o)
{
	const ir_op *op = op_at(m, o);
	if (op->n_regions) {
		op_id inner = first_in_regions(m, op->regions, op->regions + op->n_regions);
		if (inner != ID_NONE)
			return inner;
	}
	while (o != root) {
		op = op_at(m, o);
		if (op->next != ID_NONE)
			return op->next;
		region_id r = op->parent;
		o = r == ID_NONE ? ID_NONE : m->regions.p[r].parent;
		if (o == ID_NONE)
			return ID_NONE;
		op_id later = first_in_regions(m, r + 1, op_at(m, o)->regions + op_at(m, o)->n_regions);
		if (later != ID_NONE)
			return later;
	}
	return ID_NONE;
}

bool value_has_uses(const module *m, value_id v) { return m->values.p[v].first_use != ID_NONE; }

bool value_one_use(const module *m, value_id v)
{
	slot_id s = m->values.p[v].first_use;
	return s != ID_NONE && m->slots.p[s].next == ID_NONE;
}

/* ---------------------------------------------------------------- messages and names */

status op_error(const module *m, op_id o, diag *d, status code, const char *fmt, ...)
{
	char msg[sizeof d->msg];
	va_list args;
	va_start(args, fmt);
	vsnprintf(msg, sizeof msg, fmt, args);
	va_end(args);
	uint32_t src = o == ID_NONE ? UINT32_MAX : op_at(m, o)->src;
	if (src == UINT32_MAX || !m->text.p)
		diag_set(d, code, "%s", msg);
	else
		diag_at(d, m->text.p, m->text.n, src, code, "%s", msg);
	if (d && m->file[0])
		diag_in_file(d, m->file);
	return code;
}

void loc_print(const module *m, loc_id l, strbuf *out)
{
	const location *at = &m->locs.p[l];
	if (at->file.n)
		strbuf_printf(out, STR_FMT ":%u:%u", STR_ARG(at->file), at->line, at->col);
	else
		strbuf_str(out, at->name);
}

void op_print_place(const module *m, op_id o, line_cursor *c, strbuf *out)
{
	size_t before = out->n;
	loc_print(m, op_at(m, o)->loc, out);
	if (out->n != before)
		return;
	if (op_at(m, o)->src < c->at || c->line == 0)
		*c = (line_cursor){0, 1};
	for (; c->at < op_at(m, o)->src && c->at < m->text.n; c->at++)
		c->line += m->text.p[c->at] == '\n';
	strbuf_printf(out, "%s:%u", m->file, c->line);
}

void module_arg_name(const module *m, uint32_t i, strbuf *out)
{
	const func *f = module_main(m);
	if (f && i < f->n_args) {
		const location *at = &m->locs.p[value_at(m, op_region(m, f->op, 0)->args + i)->loc];
		if (at->name.n && !at->file.n) {
			strbuf_str(out, at->name);
			return;
		}
	}
	strbuf_printf(out, "arg%u", i);
}
