#include "layout/pieces.h"

#include <stdlib.h>

enum { FIRST_ROOM = 64 };

static status add_device(scan *s, int64_t limit, device_array *out)
{
	int64_t device;
	scan_peek(s);
	size_t at = s->at;
	TRY(scan_int(s, "a device number", &device));
	if (out->n_ids == limit)
		return scan_fail(
			s, at, ST_ERR_INVALID, "more devices than the mesh has (%lld)", (long long)limit);
	if (out->n_ids == 0)
		out->ids = xmalloc(FIRST_ROOM * sizeof *out->ids);
	else if (out->n_ids >= FIRST_ROOM && (out->n_ids & (out->n_ids - 1)) == 0)
		out->ids = xrealloc(out->ids, (size_t)out->n_ids * 2 * sizeof *out->ids);
	out->ids[out->n_ids++] = device;
	return ST_OK;
}

/* An element at a nesting level: a list or a device. Only the last level has devices. */
static status parse_element(scan *s, int64_t limit, uint32_t level, device_array *out)
{
	char c = scan_peek(s), close = c == '(' ? ')' : ']';
	size_t at = s->at;
	if (c != '[' && c != '(') {
		if (level == 0)
			return scan_fail(s, at, ST_ERR_PARSE, "expected a list of devices in brackets");
		if (out->n == 0)
			out->n = level;
		if (out->n != level)
			return scan_fail(s, at, ST_ERR_PARSE,
				"expected a list, as the elements before it are nested deeper");
		return add_device(s, limit, out);
	}
	if (level == MAX_ARRAY_DIMS)
		return scan_fail(s, at, ST_ERR_LIMIT, "more than %d levels of lists", MAX_ARRAY_DIMS);
	if (out->n && level >= out->n)
		return scan_fail(
			s, at, ST_ERR_PARSE, "expected a device number, as the elements before it");
	s->at++;
	int64_t size = 0;
	bool comma = true;
	while (!scan_take(s, close)) {
		if (!comma)
			return scan_expect(s, close, "after an element");
		TRY(parse_element(s, limit, level + 1, out));
		comma = scan_take(s, ',');
		size++;
	}
	if (size == 0)
		return scan_fail(s, at, ST_ERR_INVALID, "an empty list of devices");
	if (out->sizes[level] == 0)
		out->sizes[level] = size;
	if (out->sizes[level] != size)
		return scan_fail(s, at, ST_ERR_INVALID, "a list of %lld elements beside one of %lld",
			(long long)size, (long long)out->sizes[level]);
	return ST_OK;
}

status devices_parse(scan *s, int64_t limit, device_array *out)
{
	*out = (device_array){0};
	scan_peek(s);
	size_t at = s->at;
	TRY(parse_element(s, limit, 0, out));
	if (out->n_ids < limit && out->n_ids > 1)
		return scan_fail(s, at, ST_ERR_INVALID, "%lld devices are listed, the mesh has %lld",
			(long long)out->n_ids, (long long)limit);
	uint8_t *seen = xcalloc((size_t)limit, 1);
	status r = ST_OK;
	for (int64_t i = 0; i < out->n_ids && r == ST_OK; i++) {
		int64_t id = out->ids[i];
		if (id >= limit || seen[id])
			r = scan_fail(s, at, ST_ERR_INVALID, "device %lld is %s", (long long)id,
				id >= limit ? "not in the mesh" : "listed twice");
		else
			seen[id] = 1;
	}
	free(seen);
	return r;
}

void devices_print(const int64_t *sizes, uint32_t n, const int64_t *ids, strbuf *out)
{
	int64_t total = 1;
	for (uint32_t i = 0; i < n; i++)
		total *= sizes[i];
	for (int64_t place = 0; place < total; place++) {
		int64_t block = 1;
		uint32_t opened = 0, closed = 0;
		for (uint32_t i = n; i-- > 0;) {
			block *= sizes[i];
			opened += place % block == 0;
			closed += (place + 1) % block == 0;
		}
		for (uint32_t i = 0; i < opened; i++)
			strbuf_putc(out, '[');
		strbuf_i64(out, ids[place]);
		for (uint32_t i = 0; i < closed; i++)
			strbuf_putc(out, ']');
		if (place + 1 < total)
			strbuf_puts(out, ", ");
	}
}

int64_t *places_of(const device_mesh *m, const int64_t *ids)
{
	int64_t *place_of_device = xmalloc((size_t)m->n_devices * sizeof *place_of_device);
	int64_t *out = xmalloc((size_t)m->n_devices * sizeof *out);
	for (int64_t q = 0; q < m->n_devices; q++)
		place_of_device[ids ? ids[q] : q] = q;
	for (int64_t p = 0; p < m->n_devices; p++)
		out[p] = place_of_device[m->n_device_ids ? m->device_ids[p] : p];
	free(place_of_device);
	return out;
}

mesh_id maximal_mesh(sharding_table *t, int64_t device)
{
	device_mesh m = {
		.name = strtab_add(&t->names, STR("maximal")), .device_ids = &device, .n_device_ids = 1};
	return mesh_intern(t, &m);
}
