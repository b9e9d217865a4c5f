/* The device matrix that step-by-step pictures begin with: which device stands at which
 * coordinates. One row for each place along all axes but the last, one column for each along the
 * last; where that has many, they are one column. */
#include "layout/blocks.h"

enum { MOST_COLUMNS = 16, CELL_HEIGHT = 26, BETWEEN = 10 };

typedef struct matrix {
	const layout *l;
	int64_t rows, columns, last; /* last: size of the last axis */
} matrix;

static matrix matrix_of(const layout *l)
{
	int64_t last = l->n_axes ? l->axis_sizes[l->n_axes - 1] : 1;
	return (matrix){l, l->n_devices / last, last <= MOST_COLUMNS ? last : 1, last};
}

static void put_axis(const layout *l, uint32_t axis, strbuf *out)
{
	const device_mesh *m = &l->table->meshes.p[l->mesh];
	strbuf_str(out, strtab_get(&l->table->names, m->axis_names[axis]));
}

/* "dp=0, sp=1"; nothing where there is one axis. */
static void put_row(const matrix *x, int64_t row, strbuf *out)
{
	int64_t at[MAX_MESH_AXES];
	if (x->l->n_axes < 2)
		return;
	layout_coordinates(x->l, row * x->last, at);
	for (uint32_t i = 0; i + 1 < x->l->n_axes; i++) {
		strbuf_puts(out, i ? ", " : "");
		put_axis(x->l, i, out);
		strbuf_printf(out, "=%lld", (long long)at[i]);
	}
}

/* "mp=1", or "mp=0..63" */
static void put_column(const matrix *x, int64_t column, strbuf *out)
{
	if (!x->l->n_axes)
		return;
	put_axis(x->l, x->l->n_axes - 1, out);
	if (x->columns == x->last)
		strbuf_printf(out, "=%lld", (long long)column);
	else
		strbuf_printf(out, "=0..%lld", (long long)x->last - 1);
}

static void put_cell(const matrix *x, int64_t row, int64_t column, strbuf *out)
{
	device_runs r = {0};
	for (int64_t i = 0; i < x->last / x->columns; i++)
		device_runs_add(&r, layout_device_at(x->l, row * x->last + column + i));
	device_runs_print(&r, out);
}

void matrix_title_print(const layout *l, strbuf *out)
{
	strbuf_puts(out, "device matrix");
	for (uint32_t i = 0; i < l->n_axes; i++)
		strbuf_printf(out, "%s%lld", i ? " x " : " ", (long long)l->axis_sizes[i]);
}

/* ---------------------------------------------------------------- what fits */

typedef int64_t measure_fn(const char *text);

static int64_t characters(const char *text) { return (int64_t)strlen(text); }

static void widest(const matrix *x, measure_fn *size, int64_t *label, int64_t *cell)
{
	strbuf t = {0};
	*label = *cell = 0;
	for (int64_t r = 0; r < x->rows; r++) {
		strbuf_clear(&t);
		put_row(x, r, &t);
		*label = MAX(*label, t.n ? size(t.p) : 0);
		for (int64_t c = 0; c < x->columns; c++) {
			strbuf_clear(&t);
			put_cell(x, r, c, &t);
			*cell = MAX(*cell, size(t.p));
		}
	}
	for (int64_t c = 0; c < x->columns; c++) {
		strbuf_clear(&t);
		put_column(x, c, &t);
		*cell = MAX(*cell, t.n ? size(t.p) : 0);
	}
	strbuf_release(&t);
}

/* ---------------------------------------------------------------- in characters */

static void pad(strbuf *out, size_t from, int64_t columns)
{
	while ((int64_t)(out->n - from) < columns)
		strbuf_putc(out, ' ');
}

void matrix_text(const layout *l, strbuf *out)
{
	matrix x = matrix_of(l);
	int64_t label, cell;
	widest(&x, characters, &label, &cell);
	matrix_title_print(l, out);
	strbuf_puts(out, "\n");
	for (int64_t r = l->n_axes ? -1 : 0; r < x.rows; r++) {
		size_t start = out->n;
		strbuf_puts(out, "  ");
		if (r >= 0)
			put_row(&x, r, out);
		pad(out, start, label + 3);
		for (int64_t c = 0; c < x.columns; c++) {
			size_t at = out->n;
			strbuf_puts(out, r < 0 ? "  " : "| ");
			if (r < 0)
				put_column(&x, c, out);
			else
				put_cell(&x, r, c, out);
			pad(out, at, r < 0 && c + 1 == x.columns ? 0 : cell + 3);
		}
		strbuf_puts(out, r < 0 ? "\n" : "|\n");
	}
}

/* ---------------------------------------------------------------- as a picture */

void matrix_measure(const layout *l, int64_t *width, int64_t *height)
{
	matrix x = matrix_of(l);
	int64_t label, cell;
	widest(&x, picture_text_width, &label, &cell);
	*width = label + BETWEEN + x.columns * (cell + 2 * BETWEEN);
	*height = PICTURE_LINE + x.rows * CELL_HEIGHT;
}

void matrix_draw(const layout *l, int64_t left, int64_t top, strbuf *out)
{
	matrix x = matrix_of(l);
	int64_t label, cell;
	strbuf t = {0};
	widest(&x, picture_text_width, &label, &cell);
	cell += 2 * BETWEEN;
	left += label + BETWEEN;
	for (int64_t c = 0; c < x.columns; c++) {
		strbuf_clear(&t);
		put_column(&x, c, &t);
		if (t.n)
			picture_text(left + c * cell + cell / 2, top + PICTURE_LINE - 5, "middle", t.p, out);
	}
	top += PICTURE_LINE;
	for (int64_t r = 0; r < x.rows; r++, top += CELL_HEIGHT) {
		strbuf_clear(&t);
		put_row(&x, r, &t);
		if (t.n)
			picture_text(left - BETWEEN / 2, top + CELL_HEIGHT / 2 + 4, "end", t.p, out);
		for (int64_t c = 0; c < x.columns; c++) {
			strbuf_clear(&t);
			put_cell(&x, r, c, &t);
			strbuf_printf(out,
				"<rect x=\"%lld\" y=\"%lld\" width=\"%lld\" height=\"%d\" stroke=\"#444\" "
				"fill=\"#f2f2f2\"/>\n",
				(long long)(left + c * cell), (long long)top, (long long)cell, CELL_HEIGHT);
			picture_text(left + c * cell + cell / 2, top + CELL_HEIGHT / 2 + 4, "middle", t.p, out);
		}
	}
	strbuf_release(&t);
}
