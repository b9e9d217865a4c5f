#include "layout/layout.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- text and JSON */

static void add_tuple(const int64_t *v, uint32_t n, strbuf *out)
{
	strbuf_putc(out, '(');
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			strbuf_putc(out, ',');
		strbuf_i64(out, v[i]);
	}
	strbuf_putc(out, ')');
}

static void pad_from(strbuf *out, size_t start, size_t width)
{
	do
		strbuf_putc(out, ' ');
	while (out->n - start < width);
}

/* Widths of the columns behind the device: enough for the largest entry. */
static size_t tuple_width(const int64_t *largest, uint32_t n)
{
	strbuf b;
	strbuf_init(&b);
	add_tuple(largest, n, &b);
	size_t width = b.n;
	strbuf_release(&b);
	return width + 2;
}

void layout_table(const layout *l, int64_t first, int64_t n, strbuf *out)
{
	size_t coordinates = MAX(tuple_width(l->axis_sizes, l->n_axes), strlen("position") + 2);
	size_t shards = MAX(tuple_width(l->parts, l->rank), strlen("shard") + 2);
	if (first == 0) {
		size_t start = out->n;
		strbuf_puts(out, "device");
		pad_from(out, start, 10);
		strbuf_puts(out, "position");
		pad_from(out, start, 10 + coordinates);
		strbuf_puts(out, "shard");
		pad_from(out, start, 10 + coordinates + shards);
		strbuf_puts(out, "ranges\n");
	}
	for (int64_t i = first; i < first + n && i < l->n_devices; i++) {
		int64_t position = layout_position_of(l, i), numbers[MAX(MAX_RANK, MAX_MESH_AXES)];
		index_range ranges[MAX_RANK];
		size_t start = out->n;
		strbuf_i64(out, layout_device_at(l, position));
		pad_from(out, start, 10);
		layout_coordinates(l, position, numbers);
		add_tuple(numbers, l->n_axes, out);
		pad_from(out, start, 10 + coordinates);
		layout_indices(l, position, numbers);
		add_tuple(numbers, l->rank, out);
		pad_from(out, start, 10 + coordinates + shards);
		layout_ranges(l, position, ranges);
		strbuf_putc(out, '[');
		for (uint32_t d = 0; d < l->rank; d++)
			strbuf_printf(out, "%s%lld:%lld", d ? ", " : "", (long long)ranges[d].begin, (long long)ranges[d].end);
		strbuf_puts(out, "]\n");
	}
}

void layout_json(const layout *l, int64_t first, int64_t n, strbuf *out)
{
	for (int64_t i = first; i < first + n && i < l->n_devices; i++) {
		int64_t position = layout_position_of(l, i);
		index_range ranges[MAX_RANK];
		layout_ranges(l, position, ranges);
		strbuf_puts(out, i ? ",\n{\"device\":" : "\n{\"device\":");
		strbuf_i64(out, layout_device_at(l, position));
		strbuf_puts(out, ",\"ranges\":[");
		for (uint32_t d = 0; d < l->rank; d++) {
			strbuf_puts(out, d ? ",[" : "[");
			strbuf_i64(out, ranges[d].begin);
			strbuf_putc(out, ',');
			strbuf_i64(out, ranges[d].end);
			strbuf_putc(out, ']');
		}
		strbuf_puts(out, "]}");
	}
}

/* ---------------------------------------------------------------- the picture */

enum { MAX_BLOCKS = 4096, SHOWN_DEVICES = 6, CELL_W = 120, CELL_H = 64, MARGIN = 72 };

struct block {
	int64_t n_devices;
	int64_t shown[SHOWN_DEVICES];
};

struct picture {
	uint32_t row_dim, column_dim; /* == rank: none */
	int64_t rows, columns;
};

static int64_t cuts(const layout *l, uint32_t dim) { return dim < l->rank ? l->parts[dim] : 1; }

/* The first two cut dims, filled up with uncut ones from the left, in the order of the tensor. */
static struct picture choose_dims(const layout *l)
{
	uint32_t chosen[2], n = 0;
	for (int cut = 1; cut >= 0; cut--)
		for (uint32_t d = 0; d < l->rank && n < 2; d++)
			if ((l->parts[d] > 1) == cut)
				chosen[n++] = d;
	struct picture p = {l->rank, l->rank, 1, 1};
	if (n == 1)
		p.column_dim = chosen[0];
	if (n == 2) {
		p.row_dim = MIN(chosen[0], chosen[1]);
		p.column_dim = MAX(chosen[0], chosen[1]);
	}
	p.rows = cuts(l, p.row_dim);
	p.columns = cuts(l, p.column_dim);
	return p;
}

static struct block *collect_blocks(const layout *l, const struct picture *p)
{
	struct block *blocks = xcalloc((size_t)(p->rows * p->columns), sizeof *blocks);
	for (int64_t i = 0; i < l->n_devices; i++) {
		int64_t position = layout_position_of(l, i), index[MAX_RANK + 1];
		layout_indices(l, position, index);
		index[l->rank] = 0;
		struct block *b = &blocks[index[p->row_dim] * p->columns + index[p->column_dim]];
		if (b->n_devices < SHOWN_DEVICES)
			b->shown[b->n_devices] = layout_device_at(l, position);
		b->n_devices++;
	}
	return blocks;
}

static void add_range(const layout *l, uint32_t dim, int64_t index, strbuf *out)
{
	if (dim == l->rank)
		return;
	int64_t begin = MIN(sat_mul(index, l->shard[dim]), l->shape[dim]), end = MIN(sat_add(begin, l->shard[dim]), l->shape[dim]);
	strbuf_printf(out, "%lld:%lld", (long long)begin, (long long)end);
}

static void add_text(strbuf *out, int64_t x, int64_t y, const char *more)
{
	strbuf_printf(out, "<text x=\"%lld\" y=\"%lld\"%s>", (long long)x, (long long)y, more);
}

static void draw_block(const struct block *b, int64_t row, int64_t column, strbuf *out)
{
	int64_t x = MARGIN + column * CELL_W, y = MARGIN + row * CELL_H;
	/* neighbours differ: hue walks along rows and columns by steps that share no period */
	strbuf_printf(out, "<rect x=\"%lld\" y=\"%lld\" width=\"%d\" height=\"%d\" fill=\"hsl(%lld,55%%,86%%)\" stroke=\"#444\"/>\n", (long long)x,
	              (long long)y, CELL_W, CELL_H, (long long)((row * 83 + column * 47) % 360));
	add_text(out, x + CELL_W / 2, y + CELL_H / 2 + 4, " text-anchor=\"middle\"");
	for (int64_t i = 0; i < b->n_devices && i < SHOWN_DEVICES; i++)
		strbuf_printf(out, "%s%lld", i ? " " : "", (long long)b->shown[i]);
	if (b->n_devices > SHOWN_DEVICES)
		strbuf_printf(out, " +%lld", (long long)(b->n_devices - SHOWN_DEVICES));
	strbuf_puts(out, "</text>\n");
}

/* "8 x 16 over 8 devices", and which dims the picture leaves out. */
static void draw_caption(const layout *l, const struct picture *p, strbuf *out)
{
	add_text(out, MARGIN, 20, "");
	strbuf_puts(out, "shape ");
	for (uint32_t d = 0; d < l->rank; d++)
		strbuf_printf(out, "%s%lld", d ? " x " : "", (long long)l->shape[d]);
	if (l->rank == 0)
		strbuf_puts(out, "scalar");
	strbuf_printf(out, ", %lld device%s", (long long)l->n_devices, l->n_devices == 1 ? "" : "s");
	for (uint32_t d = 0; d < l->rank; d++)
		if (d != p->row_dim && d != p->column_dim && l->parts[d] > 1)
			strbuf_printf(out, "; dim %u, cut in %lld, is not shown", d, (long long)l->parts[d]);
	strbuf_puts(out, "</text>\n");
	add_text(out, MARGIN, 40, "");
	if (p->row_dim < l->rank)
		strbuf_printf(out, "dim %u downwards, ", p->row_dim);
	if (p->column_dim < l->rank)
		strbuf_printf(out, "dim %u to the right, ", p->column_dim);
	strbuf_puts(out, "numbers in a block: the devices that hold it</text>\n");
}

status layout_svg(const layout *l, strbuf *out, diag *d)
{
	struct picture p = choose_dims(l);
	if (p.rows > MAX_BLOCKS || p.columns > MAX_BLOCKS || p.rows * p.columns > MAX_BLOCKS)
		return diag_set(d, ST_ERR_LIMIT, "the picture would have %lld x %lld blocks, at most %d are drawn", (long long)p.rows,
		                (long long)p.columns, MAX_BLOCKS);
	struct block *blocks = collect_blocks(l, &p);
	int64_t width = MAX(2 * MARGIN + p.columns * CELL_W, 520), height = MARGIN + p.rows * CELL_H + 16;
	strbuf_printf(out,
	              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%lld\" height=\"%lld\" viewBox=\"0 0 %lld %lld\" "
	              "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
	              (long long)width, (long long)height, (long long)width, (long long)height);
	draw_caption(l, &p, out);
	for (int64_t c = 0; c < p.columns && p.column_dim < l->rank; c++) {
		add_text(out, MARGIN + c * CELL_W + CELL_W / 2, MARGIN - 8, " text-anchor=\"middle\"");
		add_range(l, p.column_dim, c, out);
		strbuf_puts(out, "</text>\n");
	}
	for (int64_t r = 0; r < p.rows; r++) {
		if (p.row_dim < l->rank) {
			add_text(out, MARGIN - 8, MARGIN + r * CELL_H + CELL_H / 2 + 4, " text-anchor=\"end\"");
			add_range(l, p.row_dim, r, out);
			strbuf_puts(out, "</text>\n");
		}
		for (int64_t c = 0; c < p.columns; c++)
			draw_block(&blocks[r * p.columns + c], r, c, out);
	}
	strbuf_puts(out, "</svg>\n");
	free(blocks);
	return ST_OK;
}
