#include "layout/blocks.h"

#include <stdlib.h>

void device_runs_add(device_runs *r, int64_t device)
{
	if (r->n == 0)
		r->first = device;
	if (r->n == 1)
		r->second = device;
	if (r->n >= 2)
		r->even = (r->n == 2 || r->even) && device - r->last == r->second - r->first;
	if (r->n && r->n_runs <= MAX_RUNS && device == r->last + 1)
		r->run[r->n_runs - 1].end = device;
	else if (r->n && device == r->last + 1)
		; /* the last run is not kept */
	else {
		if (r->n_runs < MAX_RUNS) {
			r->run[r->n_runs].begin = device;
			r->run[r->n_runs].end = device;
		}
		r->n_runs++;
	}
	r->last = device;
	r->n++;
}

void device_runs_print(const device_runs *r, strbuf *out)
{
	if (r->n_runs > MAX_RUNS && r->even) {
		strbuf_printf(out, "%lld, %lld, .., %lld", (long long)r->first, (long long)r->second,
			(long long)r->last);
		return;
	}
	int64_t shown = r->n_runs > MAX_RUNS ? MAX_RUNS - 1 : r->n_runs;
	for (int64_t i = 0; i < shown; i++) {
		strbuf_printf(out, "%s%lld", i ? ", " : "", (long long)r->run[i].begin);
		if (r->run[i].end > r->run[i].begin)
			strbuf_printf(out, "%s%lld", r->run[i].end == r->run[i].begin + 1 ? ", " : "-",
				(long long)r->run[i].end);
	}
	if (shown < r->n_runs)
		strbuf_printf(out, ", .. (%lld devices)", (long long)r->n);
}

/* The first two dims that are cut in the end, filled up with uncut ones from the left, in the order
 * of the tensor. */
static void choose_dims(blocks *b)
{
	const layout *l = b->s->l;
	uint32_t chosen[2], n = 0;
	for (int cut = 1; cut >= 0; cut--)
		for (uint32_t d = 0; d < l->rank && n < 2; d++)
			if ((l->parts[d] > 1) == cut)
				chosen[n++] = d;
	b->row_dim = b->column_dim = l->rank;
	if (n == 1)
		b->column_dim = chosen[0];
	if (n == 2) {
		b->row_dim = MIN(chosen[0], chosen[1]);
		b->column_dim = MAX(chosen[0], chosen[1]);
	}
}

static bool in_panel(const blocks *b, uint32_t d) { return d != b->row_dim && d != b->column_dim; }

/* Index of a dim in a panel. */
static int64_t panel_index(const blocks *b, int64_t panel, uint32_t dim)
{
	for (uint32_t d = b->s->l->rank; d-- > dim + 1;)
		if (in_panel(b, d))
			panel /= b->parts[d];
	return panel % b->parts[dim];
}

static void collect(blocks *b)
{
	const layout *l = b->s->l;
	for (int64_t i = 0; i < l->n_devices; i++) {
		int64_t position = layout_position_of(l, i),
				rest = layout_slice_after(b->s, b->done, position), index[MAX_RANK + 1] = {0},
				panel = 0;
		if (!layout_held_after(b->s, b->done, position)) {
			device_runs_add(&b->empty, layout_device_at(l, position));
			continue;
		}
		for (uint32_t d = l->rank; d-- > 0;) {
			index[d] = rest % b->parts[d];
			rest /= b->parts[d];
		}
		for (uint32_t d = 0; d < l->rank; d++)
			if (in_panel(b, d))
				panel = panel * b->parts[d] + index[d];
		int64_t row = b->row_dim < l->rank ? index[b->row_dim] : 0,
				column = b->column_dim < l->rank ? index[b->column_dim] : 0;
		device_runs_add(
			&b->held[(panel * b->rows + row) * b->columns + column], layout_device_at(l, position));
	}
}

status blocks_collect(const layout_steps *s, uint32_t done, blocks *out, diag *d)
{
	const layout *l = s->l;
	int64_t all = 1;
	*out = (blocks){.s = s, .done = done, .rows = 1, .columns = 1, .panels = 1};
	choose_dims(out);
	for (uint32_t dim = 0; dim < l->rank; dim++) {
		out->parts[dim] = 1;
		for (uint32_t i = 0; i < done; i++)
			if (s->at[i].dim == dim)
				out->parts[dim] *= s->at[i].size;
		all = sat_mul(all, out->parts[dim]);
		if (in_panel(out, dim))
			out->panels = sat_mul(out->panels, out->parts[dim]);
	}
	if (all > MAX_BLOCKS)
		return diag_set(d, ST_ERR_LIMIT, "the picture would have %lld blocks, at most %d are drawn",
			(long long)all, MAX_BLOCKS);
	out->rows = out->row_dim < l->rank ? out->parts[out->row_dim] : 1;
	out->columns = out->column_dim < l->rank ? out->parts[out->column_dim] : 1;
	out->held = xcalloc((size_t)(out->panels * out->rows * out->columns), sizeof *out->held);
	collect(out);
	return ST_OK;
}

void blocks_release(blocks *b)
{
	free(b->held);
	b->held = NULL;
}

int64_t block_slice(const blocks *b, int64_t panel, int64_t row, int64_t column)
{
	int64_t number = 0;
	for (uint32_t d = 0; d < b->s->l->rank; d++)
		number = number * b->parts[d] +
			(d == b->row_dim             ? row
					: d == b->column_dim ? column
										 : panel_index(b, panel, d));
	return number;
}

void block_range_print(const blocks *b, uint32_t dim, int64_t index, strbuf *out)
{
	if (dim == b->s->l->rank)
		return;
	index_range r = range_of_part(b->s->l, dim, index, b->parts[dim]);
	strbuf_printf(out, "%lld:%lld", (long long)r.begin, (long long)r.end);
}

void dim_title_print(const blocks *b, uint32_t dim, strbuf *out)
{
	const layout *l = b->s->l;
	strbuf_printf(out, "dim %u", dim);
	for (uint32_t i = 0, n = 0; i < b->done; i++)
		if (b->s->at[i].dim == dim) {
			strbuf_puts(out, n++ ? ", " : " (");
			axis_name_print(l, b->s->at[i].axis, out);
		}
	if (b->parts[dim] > 1)
		strbuf_putc(out, ')');
}

void panel_title_print(const blocks *b, int64_t panel, strbuf *out)
{
	bool any = false;
	for (uint32_t d = 0; d < b->s->l->rank; d++)
		if (in_panel(b, d) && b->parts[d] > 1) {
			strbuf_puts(out, any ? ", " : "");
			dim_title_print(b, d, out);
			strbuf_putc(out, ' ');
			block_range_print(b, d, panel_index(b, panel, d), out);
			any = true;
		}
}

void picture_title_print(const layout *l, strbuf *out)
{
	const device_mesh *m = &l->table->meshes.p[l->mesh];
	if (l->rank == 0)
		strbuf_puts(out, "scalar");
	for (uint32_t d = 0; d < l->rank; d++)
		strbuf_printf(out, "%s%lld", d ? " x " : "", (long long)l->shape[d]);
	strbuf_puts(out, ", mesh");
	for (uint32_t i = 0; i < l->n_axes; i++) {
		strbuf_puts(out, i ? ", " : " ");
		strbuf_str(out, strtab_get(&l->table->names, m->axis_names[i]));
		strbuf_printf(out, "=%lld", (long long)l->axis_sizes[i]);
	}
	strbuf_printf(out, ", %lld device%s", (long long)l->n_devices, l->n_devices == 1 ? "" : "s");
}
