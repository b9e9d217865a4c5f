/* What the windows of a scatter are along the dims that indices point into. */
#include "ir/ir.h"

#include <stdio.h>

/* The update's dim of a window along dim d of the operand; -1: none. */
static int64_t window_dim(const scatter_form *f, int64_t d)
{
	uint32_t k = 0;
	for (int64_t i = 0; i < d; i++)
		k += !ints_contain(f->inserted, f->n_inserted, i) &&
			!ints_contain(f->batching, f->n_batching, i);
	return ints_contain(f->batching, f->n_batching, d) || k >= f->n_window ? -1 : f->window[k];
}

static const int64_t *list_of(const module *m, op_id o, const char *name, uint32_t *count)
{
	char path[64];
	snprintf(path, sizeof path, "scatter_dimension_numbers.%s", name);
	return op_ints(m, o, path, count);
}

/* Component i stays, of a dim that is inserted, perhaps from now on. */
static bool keep(scatter_form *f, uint32_t i)
{
	if (f->kept && f->first_kept + f->kept != i)
		return false;
	f->first_kept = MIN(f->first_kept, i);
	f->kept++;
	return true;
}

scatter_kind scatter_form_of(
	const module *m, op_id o, const int64_t *operand, const int64_t *update, scatter_form *f)
{
	*f = (scatter_form){0};
	f->window = list_of(m, o, "update_window_dims", &f->n_window);
	f->inserted = list_of(m, o, "inserted_window_dims", &f->n_inserted);
	f->batching = list_of(m, o, "input_batching_dims", &f->n_batching);
	f->map = list_of(m, o, "scatter_dims_to_operand_dims", &f->n_map);
	f->vector = op_int(m, o, "scatter_dimension_numbers.index_vector_dim", 0);
	f->first_kept = f->n_map;
	for (uint32_t i = 0; i < f->n_map; i++) {
		int64_t d = f->map[i], w;
		if (!ints_contain(f->inserted, f->n_inserted, d)) {
			if ((w = window_dim(f, d)) < 0)
				return SCATTER_OF_WINDOWS;
			if (update[w] == operand[d]) {
				f->gone |= 1ull << i;
				continue;
			}
			if (update[w] != 1)
				return SCATTER_OF_WINDOWS;
			f->now_inserted |= 1ull << d;
			f->without |= 1ull << w;
		}
		if (!keep(f, i))
			return SCATTER_OF_WINDOWS;
	}
	if (!f->gone && !f->now_inserted)
		return SCATTER_OF_ELEMENTS;
	return f->kept ? SCATTER_MADE_OF_ELEMENTS : SCATTER_OF_WINDOWS;
}
