#include "layout/layout.h"

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

static size_t slice_width(const layout *l)
{
	int64_t n = 1;
	size_t digits = 1;
	for (uint32_t d = 0; d < l->rank; d++)
		n *= l->parts[d];
	for (; n > 9; n /= 10)
		digits++;
	return MAX(digits, strlen("slice")) + 2;
}

void layout_table(const layout *l, int64_t first, int64_t n, strbuf *out)
{
	size_t coordinates = MAX(tuple_width(l->axis_sizes, l->n_axes), strlen("position") + 2);
	size_t shards = MAX(tuple_width(l->parts, l->rank), strlen("shard") + 2),
		   slices = slice_width(l);
	if (first == 0) {
		size_t start = out->n;
		strbuf_puts(out, "device");
		pad_from(out, start, 10);
		strbuf_puts(out, "position");
		pad_from(out, start, 10 + coordinates);
		strbuf_puts(out, "shard");
		pad_from(out, start, 10 + coordinates + shards);
		strbuf_puts(out, "slice");
		pad_from(out, start, 10 + coordinates + shards + slices);
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
		strbuf_i64(out, layout_slice_number(l, position));
		pad_from(out, start, 10 + coordinates + shards + slices);
		layout_ranges(l, position, ranges);
		strbuf_putc(out, '[');
		for (uint32_t d = 0; d < l->rank; d++)
			strbuf_printf(out, "%s%lld:%lld", d ? ", " : "", (long long)ranges[d].begin,
				(long long)ranges[d].end);
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
		strbuf_puts(out, ",\"slice\":");
		strbuf_i64(out, layout_slice_number(l, position));
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
