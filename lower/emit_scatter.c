/* Scatters in the form that XLA has code for: every dim that indices point into is one element of a
 * window, which the update does not have. libtpu makes any other form a loop over the windows, some
 * 5 us each: vmap of weight[token] becomes one (x[i] with two components of indices, the second
 * over a whole dim). */
#include "lower/emit.h"

/* Components and window dims that can go? */
static bool find_form(const emitter *e, const node *n, const value_id *operands, scatter_form *f)
{
	elem of = (elem)value_type(e->m, operands[n->n_results])->elem;
	return scatter_form_of(e->m, n->op, value_type(e->m, operands[0])->dims,
			   value_type(e->m, operands[n->n_results + 1])->dims, f) == SCATTER_MADE_OF_ELEMENTS &&
		(!f->gone || of == ELEM_I32 || of == ELEM_I64);
}

/* Components that stay, outside of the operand where one that goes is not 0. */
static value_id kept_indices(emitter *e, const scatter_form *f, value_id indices)
{
	uint32_t d = (uint32_t)f->vector, first = f->first_kept;
	if (!f->gone)
		return indices;
	value_id v = emit_stretch(e, indices, d, first, first + f->kept);
	const ir_type t = *value_type(e->m, v);
	int64_t dims[MAX_RANK];
	uint32_t rank = 0;
	value_id outside = emit_number(e, type_tensor(e->m, t.elem, 0, NULL), -1);
	for (uint32_t i = 0; i < t.rank; i++)
		if (i != d)
			dims[rank++] = i;
	for (uint32_t i = 0; i < f->n_map; i++) {
		if (!(f->gone >> i & 1))
			continue;
		value_id part = emit_stretch(e, indices, d, i, i + 1);
		value_id one = emit_compare(e, "EQ", part, emit_number(e, value_at(e->m, part)->type, 0));
		ir_type flat = *value_type(e->m, one), whole = t;
		int64_t sizes[MAX_RANK];
		for (uint32_t k = 0; k < rank; k++)
			sizes[k] = flat.dims[dims[k]];
		one = op_result(
			e->m, emit_op(e, OP_RESHAPE, &one, 1, type_tensor(e->m, ELEM_I1, rank, sizes), 0), 0);
		whole.elem = ELEM_I1;
		v = emit_select(e, emit_broadcast(e, one, dims, rank, &whole), v, outside);
	}
	return v;
}

static value_id without_dims(emitter *e, value_id v, uint64_t dims)
{
	const ir_type t = *value_type(e->m, v);
	int64_t sizes[MAX_RANK];
	uint32_t rank = 0;
	for (uint32_t d = 0; d < t.rank; d++)
		if (!(dims >> d & 1))
			sizes[rank++] = t.dims[d];
	return op_result(
		e->m, emit_op(e, OP_RESHAPE, &v, 1, type_tensor(e->m, t.elem, rank, sizes), 0), 0);
}

static named_attr list_attr(emitter *e, const char *name, const int64_t *list, uint32_t n)
{
	int64_t *copy = arena_array(&e->m->mem, int64_t, n);
	memcpy(copy, list, n * sizeof *copy);
	return (named_attr){strtab_add(&e->m->strs, str_of(name)),
		attr_new(e->m, &(attr){.kind = ATTR_INTS, .type = ID_NONE, .n = n, .ints = copy})};
}

static void set_form(emitter *e, op_id o, const scatter_form *f, uint32_t operand_rank)
{
	static const char *const changed[] = {
		"update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims"};
	int64_t window[MAX_RANK], inserted[MAX_RANK];
	uint32_t n_window = 0, n_inserted = 0, n = 0;
	for (uint32_t k = 0; k < f->n_window; k++) {
		int64_t w = f->window[k];
		if (!(f->without >> w & 1))
			window[n_window++] = w - __builtin_popcountll(f->without & ((1ull << w) - 1));
	}
	for (uint32_t d = 0; d < operand_rank; d++)
		if (f->now_inserted >> d & 1)
			inserted[n_inserted++] = d;
		else
			for (uint32_t k = 0; k < f->n_inserted; k++)
				if (f->inserted[k] == d)
					inserted[n_inserted++] = d;
	const attr old = *attr_get(e->m, op_attr(e->m, o, "scatter_dimension_numbers"));
	named_attr *children = arena_array(&e->m->mem, named_attr, old.n + COUNT_OF(changed));
	if (n_window)
		children[n++] = list_attr(e, changed[0], window, n_window);
	children[n++] = list_attr(e, changed[1], inserted, n_inserted);
	for (uint32_t i = 0; i < old.n; i++) {
		str name = strtab_get(&e->m->strs, old.children[i].name);
		bool again = false;
		for (uint32_t k = 0; k < COUNT_OF(changed); k++)
			again |= str_is(name, changed[k]);
		if (!again)
			children[n++] = old.children[i];
	}
	children[n++] = list_attr(e, changed[2], f->map + f->first_kept, f->kept);
	attr now = old;
	now.n = n;
	now.children = children;
	op_attr_set(e->m, o, "scatter_dimension_numbers", attr_new(e->m, &now));
	if (f->gone) /* what is outside now may stand anywhere */
		op_attr_set(e->m, o, "indices_are_sorted",
			attr_new(e->m, &(attr){.kind = ATTR_BOOL, .type = ID_NONE}));
}

op_id emit_plain_scatter(emitter *e, const node *n, value_id *operands, const type_id *types)
{
	scatter_form f;
	if (!find_form(e, n, operands, &f))
		return emit_copy_op(e, n, operands, types);
	uint32_t n_inputs = n->n_results;
	operands[n_inputs] = kept_indices(e, &f, operands[n_inputs]);
	for (uint32_t i = n_inputs + 1; f.without && i < n->n_operands; i++)
		operands[i] = without_dims(e, operands[i], f.without);
	uint32_t rank = value_type(e->m, operands[0])->rank;
	op_id o = emit_copy_op(e, n, operands, types);
	set_form(e, o, &f, rank);
	return o;
}
