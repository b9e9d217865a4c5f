/* What kind of program a module is, whatever its sizes, its element types and the number of its
 * layers.
 *
 * Version st1: the set of its different ops, each with its name, the ranks of what it reads and
 * makes, and the names of the ops that its operands come from. A set has what every further layer
 * repeats once only. Constants of one element, casts and calls are looked through or left out:
 * whether there are any depends on sizes and precision. */
#include "ir/ir.h"

#include <stdlib.h>

static bool is_cast(str name) { return str_is(name, "stablehlo.convert"); }
static bool is_left_out(str name)
{
	return is_cast(name) || str_is(name, "func.func") || str_is(name, "func.call") ||
		str_is(name, "call") || str_is(name, "stablehlo.constant") || str_is(name, "func.return") ||
		str_is(name, "return");
}

static str op_name_of(const module *m, op_id o) { return strtab_get(&m->strs, m->ops.p[o].name); }

static uint32_t rank_of(const module *m, value_id v)
{
	const ir_type *t = type_get(m, value_at(m, v)->type);
	return t->kind == TYPE_TENSOR ? t->rank : MAX_RANK + 1;
}

/* Where a value comes from, behind casts. */
static uint64_t source_of(const module *m, value_id v)
{
	const ir_value *at = value_at(m, v);
	while (!at->is_arg && is_cast(op_name_of(m, at->def)) && m->ops.p[at->def].n_operands == 1)
		at = value_at(m, op_operand(m, at->def, 0));
	str name = at->is_arg ? STR("argument") : op_name_of(m, at->def);
	return hash_bytes(name.p, name.n, 0);
}

static uint64_t hash_of(const module *m, op_id o)
{
	const ir_op *at = &m->ops.p[o];
	str name = op_name_of(m, o);
	uint64_t h = hash_bytes(name.p, name.n, 0);
	for (uint32_t i = 0; i < at->n_operands; i++) {
		value_id v = op_operand(m, o, i);
		h = hash_combine(hash_combine(h, rank_of(m, v)), source_of(m, v));
	}
	for (uint32_t i = 0; i < at->n_results; i++)
		h = hash_combine(h, 1000 + rank_of(m, op_result(m, o, i)));
	return h;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

void module_structure(const module *m, char out[72])
{
	VEC(uint64_t) all = {0};
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o))
		if (!is_left_out(op_name_of(m, o)))
			vec_push(&all, hash_of(m, o));
	if (all.n)
		qsort(all.p, all.n, sizeof *all.p, by_value);
	strbuf text = {0};
	strbuf_puts(&text, "st1");
	for (uint32_t i = 0; i < all.n; i++)
		if (!i || all.p[i] != all.p[i - 1])
			strbuf_printf(&text, " %016llx", (unsigned long long)all.p[i]);
	sha256_name(text.p, text.n, out);
	strbuf_release(&text);
	vec_release(&all);
}
