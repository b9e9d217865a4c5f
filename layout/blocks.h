/* Private to blocks.c, matrix.c and picture.c: the blocks that a tensor is cut into, arranged for a
 * picture.
 */
#ifndef SW_LAYOUT_BLOCKS_H
#define SW_LAYOUT_BLOCKS_H

#include "layout/pieces.h"

enum { MAX_BLOCKS = 4096, MAX_RUNS = 4 };

/* Devices in ascending order, as runs of neighbours and, should that not be enough, as an
 * arithmetic sequence. */
typedef struct device_runs {
	int64_t n, first, second, last; /* of all */
	bool even;                      /* equal steps so far */
	struct {
		int64_t begin, end; /* both included */
	} run[MAX_RUNS];
	int64_t n_runs;
} device_runs;
void device_runs_add(device_runs *r, int64_t device);
/* "0-3, 8", "0, 4, .., 60", "0-1, 4-5, 9, .. (40 devices)". Nothing for no devices. */
void device_runs_print(const device_runs *r, strbuf *out);

/* A grid of rows x columns blocks, once per panel. */
typedef struct blocks {
	const layout_steps *s;
	uint32_t done;                /* steps */
	uint32_t row_dim, column_dim; /* == rank: none */
	int64_t rows, columns, panels;
	int64_t parts[MAX_RANK]; /* of every dim, after these steps */
	device_runs *held;       /* by panel, row, column */
	device_runs empty;       /* devices that hold nothing */
} blocks;
/* ST_ERR_LIMIT beyond MAX_BLOCKS blocks. */
status blocks_collect(const layout_steps *s, uint32_t done, blocks *out, diag *d) MUST_USE;
void blocks_release(blocks *b);
static inline const device_runs *block_at(
	const blocks *b, int64_t panel, int64_t row, int64_t column)
{
	return &b->held[(panel * b->rows + row) * b->columns + column];
}
/* Row-major number of the slice over the cuts of all dims. */
int64_t block_slice(const blocks *b, int64_t panel, int64_t row, int64_t column);
/* "0:4". */
void block_range_print(const blocks *b, uint32_t dim, int64_t index, strbuf *out);
/* "dim 2 (c) 0:4, dim 3 (d) 4:8": what the blocks of a panel have in common; nothing for the only
 * one. */
void panel_title_print(const blocks *b, int64_t panel, strbuf *out);
/* "dim 0 (data, model)": with the axes that cut it. */
void dim_title_print(const blocks *b, uint32_t dim, strbuf *out);
/* "8 x 16, mesh data=2, model=4, 8 devices" */
void picture_title_print(const layout *l, strbuf *out);

/* ---------------------------------------------------------------- matrix.c */

/* "device matrix 2 x 2 x 2" */
void matrix_title_print(const layout *l, strbuf *out);
/* The devices by their coordinates, in characters, with its title; and in a picture, without. */
void matrix_text(const layout *l, strbuf *out);
void matrix_measure(const layout *l, int64_t *width, int64_t *height);
void matrix_draw(const layout *l, int64_t left, int64_t top, strbuf *out);

/* ---------------------------------------------------------------- picture.c */

enum { PICTURE_LINE = 18 };
int64_t picture_text_width(const char *text);
/* anchor: start, middle or end */
void picture_text(int64_t x, int64_t y, const char *anchor, const char *text, strbuf *out);

#endif
