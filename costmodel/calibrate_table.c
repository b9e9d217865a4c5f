/* Tables of measurements, comma-separated with a header line: a user's own, of collectives with the
 * columns collective, link, group, bytes, and time_ns or time_us, or of kernels with kernel, type,
 * flops, bytes and a time; or what NCCL's tests print as CSV, size(B), count, type, time(ns),
 * busbw(GB/s) and the last two again for operation in place. # begins a comment line. */
#include "costmodel/calibrate.h"

enum { MAX_COLUMNS = 16, MAX_MEASUREMENTS = 1 << 20 };
typedef enum column {
	COLUMN_IGNORED,
	COLUMN_COLLECTIVE,
	COLUMN_LINK,
	COLUMN_GROUP,
	COLUMN_KERNEL,
	COLUMN_TYPE,
	COLUMN_FLOPS,
	COLUMN_BYTES,
	COLUMN_TIME_NS,
	COLUMN_TIME_US
} column;

typedef struct table_reader {
	const char *text, *p, *end;
	diag *d;
	const device *dev;
	const table_defaults *defaults;
	column columns[MAX_COLUMNS];
	uint32_t n_columns;
	bool has[COLUMN_TIME_US + 1];
} table_reader;

static status fault(table_reader *r, const char *at, status code, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
static status fault(table_reader *r, const char *at, status code, const char *fmt, ...)
{
	char msg[256];
	va_list args;
	va_start(args, fmt);
	vsnprintf(msg, sizeof msg, fmt, args);
	va_end(args);
	return diag_at(
		r->d, r->text, (size_t)(r->end - r->text), (size_t)(at - r->text), code, "%s", msg);
}

/* Up to the next comma or the end of the line, without blanks around it. */
static str cell(table_reader *r, bool *last)
{
	const char *from = r->p;
	while (r->p < r->end && *r->p != ',' && *r->p != '\n')
		r->p++;
	const char *to = r->p;
	*last = r->p >= r->end || *r->p == '\n';
	r->p += r->p < r->end;
	while (from < to && (*from == ' ' || *from == '\t'))
		from++;
	while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
		to--;
	return (str){from, (size_t)(to - from)};
}

static bool skip_empty(table_reader *r)
{
	for (;;) {
		const char *p = r->p;
		while (p < r->end && (*p == ' ' || *p == '\t' || *p == '\r'))
			p++;
		if (p >= r->end)
			return false;
		if (*p != '\n' && *p != '#')
			return true;
		while (p < r->end && *p != '\n')
			p++;
		r->p = p + (p < r->end);
		if (r->p >= r->end)
			return false;
	}
}

static status read_header(table_reader *r)
{
	static const struct {
		const char *text;
		column column;
	} known[] = {{"collective", COLUMN_COLLECTIVE}, {"link", COLUMN_LINK}, {"group", COLUMN_GROUP},
		{"bytes", COLUMN_BYTES}, {"time_ns", COLUMN_TIME_NS}, {"time_us", COLUMN_TIME_US},
		{"kernel", COLUMN_KERNEL}, {"flops", COLUMN_FLOPS}, {"size(B)", COLUMN_BYTES},
		{"time(ns)", COLUMN_TIME_NS}, {"time(us)", COLUMN_TIME_US}, {"count", COLUMN_IGNORED},
		{"type", COLUMN_TYPE}, {"busbw(GB/s)", COLUMN_IGNORED}, {"algbw(GB/s)", COLUMN_IGNORED}};
	bool last = false;
	if (r->end - r->p >= 3 && !memcmp(r->p, "\xef\xbb\xbf", 3))
		r->p += 3;
	if (!skip_empty(r))
		return fault(r, r->end, ST_ERR_PARSE, "expected a header line, found the end of the table");
	while (!last) {
		str name = cell(r, &last);
		size_t k = 0;
		while (k < COUNT_OF(known) && !str_is(name, known[k].text))
			k++;
		if (k == COUNT_OF(known))
			return fault(r, name.p, ST_ERR_PARSE,
				"unknown column '" STR_FMT "', expected collective, link, group, kernel, type, "
				"flops, bytes, time_ns or time_us",
				(int)MIN(name.n, 40), name.p);
		if (r->n_columns == MAX_COLUMNS)
			return fault(r, name.p, ST_ERR_LIMIT, "more than %d columns", MAX_COLUMNS);
		r->has[known[k].column] = true;
		r->columns[r->n_columns++] = known[k].column;
	}
	if (r->has[COLUMN_KERNEL] &&
		(r->has[COLUMN_COLLECTIVE] || r->has[COLUMN_LINK] || r->has[COLUMN_GROUP]))
		return fault(r, r->text, ST_ERR_PARSE,
			"the table has columns of kernels and of collectives: expected a table of each");
	if (r->has[COLUMN_FLOPS] && !r->has[COLUMN_KERNEL])
		return fault(r, r->text, ST_ERR_PARSE, "the table has a column flops and no column kernel");
	if (!r->has[COLUMN_BYTES])
		return fault(r, r->text, ST_ERR_PARSE, "the table has no column bytes or size(B)");
	if (r->has[COLUMN_TIME_NS] == r->has[COLUMN_TIME_US])
		return fault(r, r->text, ST_ERR_PARSE,
			"the table has no column of times, or times in two units: expected time_ns or time_us");
	if (!r->has[COLUMN_KERNEL] && !r->has[COLUMN_GROUP] && !r->defaults->group)
		return fault(r, r->text, ST_ERR_PARSE,
			"the table has no column group: say how many devices took part (--group)");
	return ST_OK;
}

/* Decimal with an optional fraction, in thousandths. */
static status read_thousandths(table_reader *r, str s, const char *what, int64_t *out)
{
	int64_t whole = 0, part = 0, digits = 0;
	size_t i = 0;
	while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9' && whole < (int64_t)1 << 50)
		whole = 10 * whole + s.p[i++] - '0';
	bool any = i > 0;
	if (i < s.n && s.p[i] == '.')
		for (i++; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++, digits++)
			if (digits < 3)
				part = 10 * part + s.p[i] - '0';
	for (; digits < 3; digits++)
		part *= 10;
	if (!any || i < s.n || whole >= (int64_t)1 << 50 || (!whole && !part))
		return fault(r, s.p, ST_ERR_PARSE, "%s: expected a positive number, found '" STR_FMT "'",
			what, (int)MIN(s.n, 40), s.p);
	*out = whole * 1000 + part;
	return ST_OK;
}

static status read_whole(table_reader *r, str s, const char *what, int64_t least, int64_t *out)
{
	if (!str_to_i64(s, out) || *out < least || *out > (int64_t)1 << 50)
		return fault(r, s.p, ST_ERR_PARSE,
			"%s: expected a whole number of %lld or more, found '" STR_FMT "'", what,
			(long long)least, (int)MIN(s.n, 40), s.p);
	return ST_OK;
}

static status find_collective(table_reader *r, str s, uint8_t *out)
{
	for (int k = 0; k < COLL_COUNT; k++)
		if (k != COLL_ALL_SLICE && str_is(s, collective_name((collective_kind)k))) {
			*out = (uint8_t)k;
			return ST_OK;
		}
	return fault(r, s.p, ST_ERR_PARSE,
		"unknown collective '" STR_FMT
		"', expected all_reduce, all_gather, reduce_scatter, all_to_all or collective_permute",
		(int)MIN(s.n, 40), s.p);
}

static status find_link(table_reader *r, str s, uint32_t *out)
{
	for (uint32_t k = 0; k < r->dev->n_links; k++)
		if (str_is(s, r->dev->links[k].name)) {
			*out = k;
			return ST_OK;
		}
	return fault(r, s.p, ST_ERR_NOT_FOUND, "device %s has no link class '" STR_FMT "'",
		r->dev->name, (int)MIN(s.n, 40), s.p);
}

static status find_kernel(table_reader *r, str s, uint8_t *out)
{
	for (int k = 0; k < KERNEL_KINDS; k++)
		if (str_is(s, kernel_kind_name((kernel_kind)k))) {
			*out = (uint8_t)k;
			return ST_OK;
		}
	return fault(r, s.p, ST_ERR_PARSE,
		"unknown kernel '" STR_FMT "', expected matmul or elementwise", (int)MIN(s.n, 40), s.p);
}

static status find_type(table_reader *r, str s, uint8_t *out)
{
	*out = (uint8_t)elem_find(s);
	return *out != ELEM_NONE
		? ST_OK
		: fault(r, s.p, ST_ERR_PARSE,
			  "unknown element type '" STR_FMT "', expected one as bf16 or f32", (int)MIN(s.n, 40),
			  s.p);
}

/* A row's cells; what its columns do not say stays as it was. */
typedef struct table_row {
	measurement m;
	kernel_measurement kernel;
	int64_t times[MAX_COLUMNS];
	uint32_t n_times;
	const char *at, *group_at;
} table_row;

static status read_cell(table_reader *r, column c, str s, table_row *row)
{
	switch (c) {
	case COLUMN_COLLECTIVE: return find_collective(r, s, &row->m.kind);
	case COLUMN_LINK: return find_link(r, s, &row->m.link);
	case COLUMN_GROUP: row->group_at = s.p; return read_whole(r, s, "group", 2, &row->m.group);
	case COLUMN_KERNEL: return find_kernel(r, s, &row->kernel.kind);
	case COLUMN_TYPE: return r->has[COLUMN_KERNEL] ? find_type(r, s, &row->kernel.elem) : ST_OK;
	case COLUMN_FLOPS: return read_whole(r, s, "flops", 0, &row->kernel.flops);
	case COLUMN_BYTES: return read_whole(r, s, "bytes", 1, &row->m.bytes);
	case COLUMN_TIME_NS:
	case COLUMN_TIME_US:
		TRY(read_thousandths(r, s, "time", &row->times[row->n_times]));
		if (c == COLUMN_TIME_NS)
			row->times[row->n_times] = MAX(row->times[row->n_times] / 1000, 1);
		row->n_times++;
		return ST_OK;
	case COLUMN_IGNORED: break;
	}
	return ST_OK;
}

static status add_row(
	table_reader *r, table_row *row, measurements *out, kernel_measurements *kernels)
{
	const link_class *l = &r->dev->links[row->m.link];
	bool kernel = r->has[COLUMN_KERNEL];
	row->kernel.bytes = row->m.bytes;
	if (kernel && row->kernel.kind == KERNEL_MATMUL && !row->kernel.flops)
		return fault(r, row->at, ST_ERR_INVALID, "a matmul without flops");
	if (kernel && row->kernel.kind == KERNEL_ELEMENTWISE)
		row->kernel.flops = 0;
	if (!kernel && l->size && row->m.group > l->size)
		return fault(r, row->group_at, ST_ERR_INVALID,
			"a group of %lld devices on link %s, which spans %lld", (long long)row->m.group,
			l->name, (long long)l->size);
	for (uint32_t k = 0; k < row->n_times; k++) {
		if (out->n + kernels->n == MAX_MEASUREMENTS)
			return fault(r, row->at, ST_ERR_LIMIT, "more than %d measurements", MAX_MEASUREMENTS);
		row->m.time_ns = row->kernel.time_ns = row->times[k];
		if (kernel)
			vec_push(kernels, row->kernel);
		else
			vec_push(out, row->m);
	}
	return ST_OK;
}

static status read_row(table_reader *r, measurements *out, kernel_measurements *kernels)
{
	table_row row = {
		.m = {.kind = r->defaults->kind, .link = r->defaults->link, .group = r->defaults->group},
		.kernel = {.elem = ELEM_BF16},
		.at = r->p,
		.group_at = r->p};
	bool last = false;
	for (uint32_t c = 0; c < r->n_columns; c++) {
		if (last)
			return fault(
				r, row.at, ST_ERR_PARSE, "the row has %u cells, the header %u", c, r->n_columns);
		TRY(read_cell(r, r->columns[c], cell(r, &last), &row));
	}
	if (!last)
		return fault(r, row.at, ST_ERR_PARSE, "the row has more cells than the header");
	return add_row(r, &row, out, kernels);
}

status measurements_read(const char *text, size_t n, const device *dev,
	const table_defaults *defaults, measurements *out, kernel_measurements *kernels, diag *d)
{
	table_reader r = {
		.text = text, .p = text, .end = text + n, .d = d, .dev = dev, .defaults = defaults};
	uint32_t before = out->n + kernels->n;
	TRY(read_header(&r));
	while (skip_empty(&r))
		TRY(read_row(&r, out, kernels));
	return out->n + kernels->n > before
		? ST_OK
		: fault(&r, r.end, ST_ERR_PARSE, "the table has a header and no rows");
}
