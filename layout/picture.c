/* Pictures of blocks. A picture is measured before it is drawn, so that everything fits: texts are
 * in a fixed pitch, which makes their widths known. */
#include "layout/blocks.h"

#include <stdlib.h>

enum {
	PITCH_TENTHS = 74, /* tenths of a pixel per character at 12 pixels: DejaVu Sans Mono has 72 */
	LINE = PICTURE_LINE,
	CELL_H = 46,
	GAP = 24,
	MARGIN = 16,
	PAD = 10,
	ROW_WIDTH = 1400,
	WRAP = 100,
};

/* ---------------------------------------------------------------- text */

/* Characters in fixed pitch; East Asian ones take two. */
static int64_t text_columns(const char *p)
{
	int64_t n = 0;
	for (; *p; p++)
		if (((unsigned char)*p & 0xc0) != 0x80)
			n += (unsigned char)*p >= 0xe1 ? 2 : 1;
	return n;
}

int64_t picture_text_width(const char *p) { return (text_columns(p) * PITCH_TENTHS + 9) / 10; }

static void add_escaped(const char *p, strbuf *out)
{
	for (; *p; p++) {
		if (*p == '<')
			strbuf_puts(out, "&lt;");
		else if (*p == '>')
			strbuf_puts(out, "&gt;");
		else if (*p == '&')
			strbuf_puts(out, "&amp;");
		else
			strbuf_putc(out, (unsigned char)*p < 0x20 ? ' ' : *p);
	}
}

void picture_text(int64_t x, int64_t y, const char *anchor, const char *text, strbuf *out)
{
	strbuf_printf(
		out, "<text x=\"%lld\" y=\"%lld\" text-anchor=\"%s\">", (long long)x, (long long)y, anchor);
	add_escaped(text, out);
	strbuf_puts(out, "</text>\n");
}

/* Lines of at most WRAP characters, broken at spaces; a longer word stands alone. */
typedef struct lines {
	VEC(char *) p;
	int64_t width;
} lines;

static void lines_add(lines *l, const char *text)
{
	while (*text) {
		size_t n = strlen(text), end = n;
		if (n > WRAP) {
			end = WRAP;
			while (end && text[end] != ' ')
				end--;
			if (!end)
				for (end = WRAP; end < n && text[end] != ' ';)
					end++;
		}
		char *line = xmalloc(end + 1);
		memcpy(line, text, end);
		line[end] = 0;
		vec_push(&l->p, line);
		l->width = MAX(l->width, picture_text_width(line));
		text += end + (end < n);
	}
}

static void lines_release(lines *l)
{
	for (uint32_t i = 0; i < l->p.n; i++)
		free(l->p.p[i]);
	vec_release(&l->p);
}

/* ---------------------------------------------------------------- colours */

/* All different up to MAX_BLOCKS: 60 hues far from each other, then another lightness, then another
 * saturation. */
static void add_colour(int64_t slice, strbuf *out)
{
	double hue = (double)(slice * 37 % 60) / 10, light = 0.88 - 0.03 * (double)(slice / 60 % 12),
		   saturation = 0.75 - 0.1 * (double)(slice / 720 % 6);
	double chroma = (1 - (light > 0.5 ? 2 * light - 1 : 1 - 2 * light)) * saturation;
	int sector = (int)hue;
	double within = hue - sector, x = chroma * (sector % 2 ? 1 - within : within),
		   low = light - chroma / 2;
	const double r[6] = {chroma, x, 0, 0, x, chroma}, g[6] = {x, chroma, chroma, x, 0, 0},
				 b[6] = {0, 0, x, chroma, chroma, x};
	strbuf_printf(out, "#%02x%02x%02x", (unsigned)(255 * (r[sector] + low) + 0.5),
		(unsigned)(255 * (g[sector] + low) + 0.5), (unsigned)(255 * (b[sector] + low) + 0.5));
}

/* ---------------------------------------------------------------- one state */

struct scene {
	blocks b;
	int64_t cell_w, label_w, title_h; /* of a panel */
	int64_t panel_w, panel_h, per_row, width, height;
	int64_t matrix_h; /* of the device matrix above; 0: none */
	lines head, matrix_head;
};

static void slice_text(const blocks *b, int64_t panel, int64_t row, int64_t column, strbuf *out)
{
	strbuf_clear(out);
	strbuf_printf(out, "slice %lld", (long long)block_slice(b, panel, row, column));
}

static void devices_text(const device_runs *r, strbuf *out)
{
	strbuf_clear(out);
	strbuf_puts(out, r->n > 1 ? "devices " : "device ");
	device_runs_print(r, out);
}

static void measure_cells(struct scene *s)
{
	const blocks *b = &s->b;
	strbuf t;
	strbuf_init(&t);
	for (int64_t p = 0; p < b->panels; p++)
		for (int64_t r = 0; r < b->rows; r++)
			for (int64_t c = 0; c < b->columns; c++) {
				devices_text(block_at(b, p, r, c), &t);
				s->cell_w = MAX(s->cell_w, picture_text_width(t.p));
				slice_text(b, p, r, c, &t);
				s->cell_w = MAX(s->cell_w, picture_text_width(t.p));
			}
	for (int64_t c = 0; c < b->columns; c++) {
		strbuf_clear(&t);
		strbuf_puts(&t, "");
		block_range_print(b, b->column_dim, c, &t);
		s->cell_w = MAX(s->cell_w, t.n ? picture_text_width(t.p) : 0);
	}
	for (int64_t r = 0; r < b->rows; r++) {
		strbuf_clear(&t);
		block_range_print(b, b->row_dim, r, &t);
		s->label_w = MAX(s->label_w, t.n ? picture_text_width(t.p) : 0);
	}
	s->cell_w += 2 * PAD;
	strbuf_release(&t);
}

/* What is where: head lines, then the titles of a panel, the ranges of its columns, its blocks. */
static void measure(struct scene *s)
{
	const blocks *b = &s->b;
	strbuf t;
	strbuf_init(&t);
	if (b->row_dim < b->s->l->rank) {
		dim_title_print(b, b->row_dim, &t);
		strbuf_puts(&t, " downwards, ");
	}
	if (b->column_dim < b->s->l->rank) {
		dim_title_print(b, b->column_dim, &t);
		strbuf_puts(&t, " to the right");
	}
	if (t.n)
		lines_add(&s->head, t.p);
	if (b->empty.n) {
		strbuf_clear(&t);
		strbuf_puts(&t, "nothing yet on ");
		device_runs_print(&b->empty, &t);
		lines_add(&s->head, t.p);
	}
	measure_cells(s);
	s->panel_w = s->label_w + PAD + b->columns * s->cell_w;
	for (int64_t p = 0; p < b->panels; p++) {
		strbuf_clear(&t);
		panel_title_print(b, p, &t);
		s->title_h = MAX(s->title_h, t.n ? LINE : 0);
		s->panel_w = MAX(s->panel_w, t.n ? picture_text_width(t.p) : 0);
	}
	s->panel_h = s->title_h + LINE + b->rows * CELL_H;
	s->per_row = MAX(1, MIN(b->panels, ROW_WIDTH / (s->panel_w + GAP)));
	int64_t panel_rows = ceil_div(b->panels, s->per_row);
	s->width = MAX(s->width, MAX(s->head.width, s->per_row * (s->panel_w + GAP) - GAP));
	s->height = s->matrix_head.p.n * LINE + s->matrix_h + s->head.p.n * LINE +
		panel_rows * (s->panel_h + GAP);
	strbuf_release(&t);
}

static void draw_panel(const struct scene *s, int64_t panel, int64_t left, int64_t top, strbuf *out)
{
	const blocks *b = &s->b;
	int64_t x0 = left + s->label_w + PAD, y0 = top + s->title_h + LINE;
	strbuf t;
	strbuf_init(&t);
	panel_title_print(b, panel, &t);
	if (t.n)
		picture_text(left, top + LINE - 5, "start", t.p, out);
	for (int64_t c = 0; c < b->columns && b->column_dim < b->s->l->rank; c++) {
		strbuf_clear(&t);
		block_range_print(b, b->column_dim, c, &t);
		picture_text(x0 + c * s->cell_w + s->cell_w / 2, y0 - 5, "middle", t.p, out);
	}
	for (int64_t r = 0; r < b->rows; r++) {
		strbuf_clear(&t);
		block_range_print(b, b->row_dim, r, &t);
		if (t.n)
			picture_text(x0 - PAD / 2, y0 + r * CELL_H + CELL_H / 2 + 4, "end", t.p, out);
		for (int64_t c = 0; c < b->columns; c++) {
			int64_t x = x0 + c * s->cell_w, y = y0 + r * CELL_H;
			strbuf_printf(out,
				"<rect x=\"%lld\" y=\"%lld\" width=\"%lld\" height=\"%d\" stroke=\"#444\" fill=\"",
				(long long)x, (long long)y, (long long)s->cell_w, CELL_H);
			add_colour(block_slice(b, panel, r, c), out);
			strbuf_puts(out, "\"/>\n");
			devices_text(block_at(b, panel, r, c), &t);
			picture_text(x + s->cell_w / 2, y + CELL_H / 2 - 3, "middle", t.p, out);
			slice_text(b, panel, r, c, &t);
			picture_text(x + s->cell_w / 2, y + CELL_H / 2 + 14, "middle", t.p, out);
		}
	}
	strbuf_release(&t);
}

static int64_t draw_lines(const lines *l, int64_t top, strbuf *out)
{
	for (uint32_t i = 0; i < l->p.n; i++, top += LINE)
		picture_text(MARGIN, top + LINE - 5, "start", l->p.p[i], out);
	return top;
}

static void draw(const struct scene *s, int64_t top, strbuf *out)
{
	if (s->matrix_h) {
		top = draw_lines(&s->matrix_head, top, out);
		matrix_draw(s->b.s->l, MARGIN, top, out);
		top += s->matrix_h;
	}
	top = draw_lines(&s->head, top, out);
	for (int64_t p = 0; p < s->b.panels; p++)
		draw_panel(s, p, MARGIN + p % s->per_row * (s->panel_w + GAP),
			top + p / s->per_row * (s->panel_h + GAP), out);
}

static void scene_release(struct scene *s)
{
	blocks_release(&s->b);
	lines_release(&s->head);
	lines_release(&s->matrix_head);
}

/* Title and device matrix, before the first state. */
static void measure_matrix(struct scene *s, const layout *l)
{
	strbuf t = {0};
	matrix_title_print(l, &t);
	lines_add(&s->matrix_head, t.p);
	strbuf_release(&t);
	matrix_measure(l, &s->width, &s->matrix_h);
	s->matrix_h += GAP;
	s->width = MAX(s->width, s->matrix_head.width);
}

/* The states after steps from .. s->n, one below the other. */
static status draw_all(const layout_steps *s, uint32_t from, bool matrix, strbuf *out, diag *d)
{
	uint32_t n = s->n - from + 1, made = 0;
	struct scene *scenes = xcalloc(n, sizeof *scenes);
	status r = ST_OK;
	int64_t width = 0, height = MARGIN;
	for (; made < n && r == ST_OK; made++) {
		strbuf t;
		strbuf_init(&t);
		if (made == 0) {
			picture_title_print(s->l, &t);
			lines_add(matrix ? &scenes[0].matrix_head : &scenes[0].head, t.p);
		}
		if (made == 0 && matrix)
			measure_matrix(&scenes[0], s->l);
		if (from < s->n || from == 0) {
			strbuf_clear(&t);
			strbuf_printf(&t, "step %u: ", from + made);
			layout_step_text(s, from + made, &t);
			if (n > 1)
				lines_add(&scenes[made].head, t.p);
		}
		strbuf_release(&t);
		r = blocks_collect(s, from + made, &scenes[made].b, d);
		if (r != ST_OK)
			break;
		measure(&scenes[made]);
		width = MAX(width, scenes[made].width);
		height += scenes[made].height;
	}
	if (r == ST_OK) {
		int64_t w = width + 2 * MARGIN, top = MARGIN;
		strbuf_printf(out,
			"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%lld\" height=\"%lld\" viewBox=\"0 "
			"0 %lld %lld\" font-family=\"DejaVu Sans Mono, "
			"Menlo, Consolas, monospace\" font-size=\"12\">\n<rect width=\"100%%\" "
			"height=\"100%%\" fill=\"white\"/>\n",
			(long long)w, (long long)height, (long long)w, (long long)height);
		for (uint32_t i = 0; i < n; i++) {
			draw(&scenes[i], top, out);
			top += scenes[i].height;
		}
		strbuf_puts(out, "</svg>\n");
	}
	for (uint32_t i = 0; i < n; i++)
		scene_release(&scenes[i]);
	free(scenes);
	return r;
}

status layout_svg(const layout *l, strbuf *out, diag *d)
{
	layout_steps s;
	sharding_edit *e = xmalloc(sizeof *e);
	sharding_edit_init(e, l->mesh, l->rank, true);
	layout_steps_of(l, e, &s); /* only the cuts are asked for: they are in the layout */
	free(e);
	return draw_all(&s, s.n, false, out, d);
}

status layout_steps_svg(const layout_steps *s, strbuf *out, diag *d)
{
	if (s->l->n_devices > MAX_STEP_DEVICES)
		return diag_set(d, ST_ERR_LIMIT, "steps of %lld devices, at most %d are shown",
			(long long)s->l->n_devices, MAX_STEP_DEVICES);
	return draw_all(s, 0, true, out, d);
}

/* ---------------------------------------------------------------- in characters */

static void pad_to(strbuf *out, size_t start, int64_t columns)
{
	while ((int64_t)(out->n - start) < columns)
		strbuf_putc(out, ' ');
}

static void cell_text(const blocks *b, int64_t panel, int64_t row, int64_t column, strbuf *out)
{
	strbuf_printf(out, "#%lld on ", (long long)block_slice(b, panel, row, column));
	device_runs_print(block_at(b, panel, row, column), out);
}

static int64_t widest_cell(const blocks *b)
{
	strbuf t;
	int64_t widest = 0;
	strbuf_init(&t);
	for (int64_t p = 0; p < b->panels; p++)
		for (int64_t r = 0; r < b->rows; r++)
			for (int64_t c = 0; c < b->columns; c++) {
				strbuf_clear(&t);
				cell_text(b, p, r, c, &t);
				widest = MAX(widest, (int64_t)t.n);
			}
	strbuf_release(&t);
	return widest + 3;
}

static void text_panel(const blocks *b, int64_t panel, int64_t cell, strbuf *out)
{
	size_t before = out->n;
	strbuf_puts(out, "  ");
	panel_title_print(b, panel, out);
	if (out->n > before + 2)
		strbuf_putc(out, '\n');
	else
		out->n = before;
	size_t start = out->n;
	pad_to(out, start, 14);
	for (int64_t c = 0; c < b->columns && b->column_dim < b->s->l->rank; c++) {
		size_t at = out->n;
		block_range_print(b, b->column_dim, c, out);
		pad_to(out, at, c + 1 < b->columns ? cell : 0);
	}
	strbuf_putc(out, '\n');
	for (int64_t r = 0; r < b->rows; r++) {
		start = out->n;
		strbuf_puts(out, "  ");
		block_range_print(b, b->row_dim, r, out);
		pad_to(out, start, 12);
		for (int64_t c = 0; c < b->columns; c++) {
			size_t at = out->n;
			strbuf_puts(out, "| ");
			cell_text(b, panel, r, c, out);
			pad_to(out, at, cell);
		}
		strbuf_puts(out, "|\n");
	}
}

status layout_steps_text(const layout_steps *s, strbuf *out, diag *d)
{
	if (s->l->n_devices > MAX_STEP_DEVICES)
		return diag_set(d, ST_ERR_LIMIT, "steps of %lld devices, at most %d are shown",
			(long long)s->l->n_devices, MAX_STEP_DEVICES);
	picture_title_print(s->l, out);
	strbuf_puts(out, "\n\n");
	matrix_text(s->l, out);
	for (uint32_t step = 0; step <= s->n; step++) {
		blocks b;
		TRY(blocks_collect(s, step, &b, d));
		strbuf_printf(out, "\nstep %u: ", step);
		layout_step_text(s, step, out);
		strbuf_putc(out, '\n');
		int64_t cell = widest_cell(&b);
		for (int64_t p = 0; p < b.panels; p++)
			text_panel(&b, p, cell, out);
		if (b.empty.n) {
			strbuf_puts(out, "  nothing yet on ");
			device_runs_print(&b.empty, out);
			strbuf_putc(out, '\n');
		}
		blocks_release(&b);
	}
	return ST_OK;
}
