/* Reads a device profile: JSON, every number either plain or {"value": N, "source": "where it is
 * from"}. Strict: an unknown, missing or repeated key, a wrong type, a number that is no integer in
 * range are errors that name the path, as "links[0].bandwidth_bytes_s: expected a positive
 * integer". docs/device-profiles.md describes the fields. */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "costmodel/costmodel.h"

enum { MAX_PROFILE_BYTES = 1 << 20 };
#define MAX_EXACT 9007199254740992.0 /* 2^53 */

typedef struct reader {
	diag *d;
	char path[160]; /* of what is read now */
} reader;

static status bad(reader *r, const char *expected)
{
	return diag_set(r->d, ST_ERR_INVALID, "%s%s%s", r->path, r->path[0] ? ": " : "", expected);
}

/* Extend the path; the length before is what leave takes back. */
static size_t enter_key(reader *r, const char *key)
{
	size_t n = strlen(r->path);
	snprintf(r->path + n, sizeof r->path - n, "%s%.60s", n ? "." : "", key);
	return n;
}
static size_t enter_item(reader *r, int i)
{
	size_t n = strlen(r->path);
	snprintf(r->path + n, sizeof r->path - n, "[%d]", i);
	return n;
}
static void leave(reader *r, size_t mark) { r->path[mark] = 0; }

/* Every key known and there once. */
static status check_keys(reader *r, const cJSON *o, const char *const *known, size_t n_known)
{
	if (!cJSON_IsObject(o))
		return bad(r, "expected an object");
	for (const cJSON *c = o->child; c; c = c->next) {
		size_t i = 0, mark = enter_key(r, c->string);
		while (i < n_known && strcmp(known[i], c->string))
			i++;
		if (i == n_known)
			return bad(r, "unknown key");
		for (const cJSON *e = c->next; e; e = e->next)
			if (!strcmp(e->string, c->string))
				return bad(r, "key given twice");
		leave(r, mark);
	}
	return ST_OK;
}

static const cJSON *child(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

/* Looks through {"value": .., "source": ".."}. */
static status unwrap(reader *r, const cJSON *in, const cJSON **out)
{
	static const char *const keys[] = {"value", "source"};
	*out = in;
	if (!cJSON_IsObject(in))
		return ST_OK;
	TRY(check_keys(r, in, keys, COUNT_OF(keys)));
	*out = child(in, "value");
	if (!*out)
		return bad(r, "expected a \"value\"");
	const cJSON *source = child(in, "source");
	return source && !cJSON_IsString(source) ? bad(r, "\"source\" is not a string") : ST_OK;
}

static status read_integer(reader *r, const cJSON *in, int64_t min, int64_t max, int64_t *out)
{
	double x = cJSON_IsNumber(in) ? in->valuedouble : -1;
	if (cJSON_IsNumber(in) && x >= (double)min && x <= (double)max && x <= MAX_EXACT &&
		x == (double)(int64_t)x) {
		*out = (int64_t)x;
		return ST_OK;
	}
	if (max < INT64_MAX) {
		char text[96];
		snprintf(text, sizeof text, "expected an integer from %lld to %lld", (long long)min,
			(long long)max);
		return bad(r, text);
	}
	return bad(r, min > 0 ? "expected a positive integer" : "expected an integer, 0 or more");
}

typedef struct field {
	const char *key;
	size_t offset; /* of an int64_t */
	int64_t min, max;
	bool optional;
} field;

static status read_field(reader *r, const cJSON *o, const field *f, void *base)
{
	size_t mark = enter_key(r, f->key);
	const cJSON *in = child(o, f->key);
	if (in) {
		TRY(unwrap(r, in, &in));
		TRY(read_integer(r, in, f->min, f->max, (int64_t *)((char *)base + f->offset)));
	} else if (!f->optional) {
		return bad(r,
			f->min > 0 ? "missing, expected a positive integer" : "missing, expected an integer");
	}
	leave(r, mark);
	return ST_OK;
}

/* A list of exactly n integers >= 1 (or between least and most of them). */
static status read_integers(reader *r, const cJSON *o, const char *key, uint32_t least,
	uint32_t most, bool optional, int64_t *out, uint32_t *n)
{
	const cJSON *in = child(o, key);
	size_t mark = enter_key(r, key);
	if (!in) {
		if (!optional)
			return bad(r, "missing, expected a list of integers");
		leave(r, mark);
		return ST_OK;
	}
	TRY(unwrap(r, in, &in));
	int count = cJSON_IsArray(in) ? cJSON_GetArraySize(in) : -1;
	if (count < (int)least || count > (int)most) {
		char text[96];
		snprintf(text, sizeof text,
			least == most ? "expected a list of %u integers"
						  : "expected a list of %u to %u integers",
			least, most);
		return bad(r, text);
	}
	int i = 0;
	for (const cJSON *c = in->child; c; c = c->next, i++) {
		size_t item = enter_item(r, i);
		TRY(read_integer(r, c, 1, INT64_MAX, &out[i]));
		leave(r, item);
	}
	*n = (uint32_t)count;
	leave(r, mark);
	return ST_OK;
}

/* [[x, ppm], ..], x ascending. The time x / efficiency must not fall as x grows. On a log2 scale
 * (in_log) an octave that begins at 2^k with efficiency e and gains s satisfies that when s <= e;
 * where time is linear between the points, when the efficiency grows no faster than x. */
static status read_points(
	reader *r, const cJSON *in, bool in_log, int64_t *x, int64_t *ppm, uint32_t *n)
{
	int count = cJSON_IsArray(in) ? cJSON_GetArraySize(in) : 0;
	if (count < 1 || count > MAX_CURVE)
		return bad(r, "expected a list of 1 to 12 points [size, ppm]");
	int i = 0;
	for (const cJSON *c = in->child; c; c = c->next, i++) {
		size_t mark = enter_item(r, i);
		if (!cJSON_IsArray(c) || cJSON_GetArraySize(c) != 2)
			return bad(r, "expected a point [size, ppm]");
		TRY(read_integer(r, c->child, 1, INT64_MAX, &x[i]));
		TRY(read_integer(r, c->child->next, 1, 1000000, &ppm[i]));
		if (i && x[i] <= x[i - 1])
			return bad(r, "expected a size above the one before");
		bool falls = i && (__int128)ppm[i] * x[i - 1] > (__int128)ppm[i - 1] * x[i];
		if (i && in_log && ppm[i] > ppm[i - 1]) {
			int64_t from = log2_fixed(x[i - 1]), rise = ppm[i] - ppm[i - 1];
			falls = (__int128)rise * (LOG2_ONE + from % LOG2_ONE) >
				(__int128)ppm[i - 1] * (log2_fixed(x[i]) - from);
		}
		if (falls)
			return bad(r, "larger sizes would take less time than the point before");
		leave(r, mark);
	}
	*n = (uint32_t)count;
	return ST_OK;
}

static status read_curve(reader *r, const cJSON *o, const char *key, curve *out)
{
	size_t mark = enter_key(r, key);
	const cJSON *in = child(o, key);
	if (!in)
		return bad(r, "missing, expected a list of points [size, ppm]");
	TRY(unwrap(r, in, &in));
	TRY(read_points(r, in, true, out->x, out->ppm, &out->n));
	leave(r, mark);
	return ST_OK;
}

static status read_text(reader *r, const cJSON *o, const char *key, char *out, size_t size)
{
	size_t mark = enter_key(r, key);
	const cJSON *in = child(o, key);
	if (!cJSON_IsString(in) || !in->valuestring[0] || strlen(in->valuestring) >= size) {
		char text[64];
		snprintf(text, sizeof text, "expected text of 1 to %zu bytes", size - 1);
		return bad(r, text);
	}
	memcpy(out, in->valuestring, strlen(in->valuestring) + 1);
	leave(r, mark);
	return ST_OK;
}

static const char *const target_names[] = {
	[TARGET_TPU] = "tpu", [TARGET_GPU] = "gpu", [TARGET_CPU] = "cpu"};
static const char *const kind_names[] = {[LINK_RING] = "ring",
	[LINK_LINE] = "line",
	[LINK_SWITCH] = "switch",
	[LINK_MESH] = "mesh",
	[LINK_NETWORK] = "network"};
const char *link_kind_name(link_kind k) { return kind_names[k]; }

static status read_word(
	reader *r, const cJSON *o, const char *key, const char *const *words, uint32_t n, uint8_t *out)
{
	size_t mark = enter_key(r, key);
	const cJSON *in = child(o, key);
	for (uint32_t i = 0; cJSON_IsString(in) && i < n; i++)
		if (!strcmp(in->valuestring, words[i])) {
			*out = (uint8_t)i;
			leave(r, mark);
			return ST_OK;
		}
	char text[96] = "expected one of";
	for (uint32_t i = 0; i < n; i++) {
		size_t at = strlen(text);
		snprintf(text + at, sizeof text - at, "%s %s", i ? "," : "", words[i]);
	}
	return bad(r, text);
}

static status read_peaks(reader *r, const cJSON *o, device *out)
{
	const cJSON *peaks = child(o, "peak_flops");
	size_t mark = enter_key(r, "peak_flops");
	if (!cJSON_IsObject(peaks) || !peaks->child)
		return bad(r, "expected an object of rates by element type");
	for (const cJSON *c = peaks->child; c; c = c->next) {
		size_t item = enter_key(r, c->string);
		uint32_t e = 0;
		while (e < ELEM_COUNT && strcmp(elem_text((elem)e), c->string))
			e++;
		if (e == ELEM_COUNT || e == ELEM_NONE)
			return bad(r, "unknown element type");
		if (out->peak_flops[e])
			return bad(r, "key given twice");
		const cJSON *in;
		TRY(unwrap(r, c, &in));
		TRY(read_integer(r, in, 1, INT64_MAX, &out->peak_flops[e]));
		leave(r, item);
	}
	leave(r, mark);
	return ST_OK;
}

static status read_groups(reader *r, const cJSON *o, link_class *out)
{
	static const char *const keys[] = {"group", "points", "source"};
	const cJSON *groups = child(o, "group_efficiency");
	if (!groups)
		return ST_OK;
	size_t mark = enter_key(r, "group_efficiency");
	if (!cJSON_IsArray(groups) || cJSON_GetArraySize(groups) < 1 ||
		cJSON_GetArraySize(groups) > MAX_GROUP_CURVES)
		return bad(r, "expected a list of 1 to 4 measured groups");
	for (const cJSON *c = groups->child; c; c = c->next) {
		group_curve *g = &out->groups[out->n_groups];
		size_t item = enter_item(r, (int)out->n_groups);
		TRY(check_keys(r, c, keys, COUNT_OF(keys)));
		static const field size = {"group", offsetof(group_curve, group), 2, MAX_DEVICES, false};
		TRY(read_field(r, c, &size, g));
		if (out->n_groups && g->group <= g[-1].group)
			return bad(r, "expected a group size above the one before");
		size_t points = enter_key(r, "points");
		TRY(read_points(r, child(c, "points"), false, g->bytes, g->ppm, &g->n));
		leave(r, points);
		out->n_groups++;
		leave(r, item);
	}
	leave(r, mark);
	return ST_OK;
}

static status read_link(reader *r, const cJSON *o, link_class *out)
{
	static const char *const keys[] = {"name", "kind", "size", "shape", "bandwidth_bytes_s",
		"latency_ns", "launch_ns", "efficiency_ppm", "half_bytes", "wrap_size", "one_ring",
		"eight_in_ring", "group_efficiency"};
	static const field fields[] = {
		{"bandwidth_bytes_s", offsetof(link_class, bandwidth_bytes_s), 1, INT64_MAX, false},
		{"latency_ns", offsetof(link_class, latency_ns), 0, 1000000000, false},
		{"launch_ns", offsetof(link_class, launch_ns), 0, 1000000000, false},
		{"efficiency_ppm", offsetof(link_class, efficiency_ppm), 1, 1000000, false},
		{"half_bytes", offsetof(link_class, half_bytes), 0, 1ll << 40, true},
		{"wrap_size", offsetof(link_class, wrap_size), 0, MAX_DEVICES, true},
		{"one_ring", offsetof(link_class, one_ring), 0, 1, true},
		{"eight_in_ring", offsetof(link_class, eight_in_ring), 0, 1, true},
		{"size", offsetof(link_class, size), 0, MAX_DEVICES, true},
	};
	TRY(check_keys(r, o, keys, COUNT_OF(keys)));
	TRY(read_text(r, o, "name", out->name, sizeof out->name));
	TRY(read_word(r, o, "kind", kind_names, COUNT_OF(kind_names), &out->kind));
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		TRY(read_field(r, o, &fields[i], out));
	bool torus = out->kind == LINK_RING || out->kind == LINK_LINE;
	if (torus) {
		if (child(o, "size") || child(o, "one_ring"))
			return bad(r, "a ring or line has a \"shape\", not a \"size\" or \"one_ring\"");
		TRY(read_integers(r, o, "shape", 1, MAX_TORUS_DIMS, false, out->shape, &out->n_dims));
		out->size = 1;
		for (uint32_t i = 0; i < out->n_dims; i++)
			out->size = sat_mul(out->size, out->shape[i]);
		if (out->size > MAX_DEVICES)
			return bad(r, "the shape has too many devices");
		if (out->eight_in_ring && (out->n_dims != 2 || out->shape[0] < 2 || out->shape[1] < 4))
			return bad(r, "\"eight_in_ring\" belongs to two dims with room for 2 x 4 devices");
	} else {
		if (child(o, "shape") || child(o, "wrap_size") || child(o, "eight_in_ring"))
			return bad(
				r, "\"shape\", \"wrap_size\" and \"eight_in_ring\" belong to rings and lines");
		if (!child(o, "size"))
			return bad(r, "expected a \"size\" (0: no bound)");
		out->n_dims = 1;
		out->shape[0] = out->size;
	}
	return read_groups(r, o, out);
}

static status read_links(reader *r, const cJSON *o, device *out)
{
	const cJSON *links = child(o, "links");
	size_t mark = enter_key(r, "links");
	if (!cJSON_IsArray(links) || cJSON_GetArraySize(links) < 1 ||
		cJSON_GetArraySize(links) > MAX_LINK_CLASSES)
		return bad(r, "expected a list of 1 to 6 link classes, innermost first");
	for (const cJSON *c = links->child; c; c = c->next) {
		size_t item = enter_item(r, (int)out->n_links);
		link_class *l = &out->links[out->n_links];
		TRY(read_link(r, c, l));
		for (uint32_t i = 0; i < out->n_links; i++)
			if (!strcmp(out->links[i].name, l->name))
				return bad(r, "two link classes have one name");
		if (out->n_links && !l[-1].size)
			return bad(r, "the link class before has no bound, so nothing lies outside it");
		out->n_links++;
		leave(r, item);
	}
	leave(r, mark);
	return ST_OK;
}

static status read_collectives(reader *r, const cJSON *list, uint32_t *out)
{
	if (!cJSON_IsArray(list))
		return bad(r, "expected a list of collectives");
	int i = 0;
	for (const cJSON *c = list->child; c; c = c->next) {
		size_t item = enter_item(r, i++);
		uint32_t k = 0;
		while (k < COLL_COUNT &&
			(!cJSON_IsString(c) || strcmp(collective_name((collective_kind)k), c->valuestring)))
			k++;
		if (k == COLL_COUNT)
			return bad(r, "expected a collective, as \"all_gather\"");
		*out |= 1u << k;
		leave(r, item);
	}
	return ST_OK;
}

/* Which collectives run beside work; without the key none on a host and all elsewhere. */
static status read_asynchronous(reader *r, const cJSON *o, device *out)
{
	const cJSON *in = child(o, "asynchronous");
	size_t mark = enter_key(r, "asynchronous");
	out->asynchronous = in || out->target == TARGET_CPU ? 0 : UINT32_MAX;
	if (in) {
		TRY(unwrap(r, in, &in));
		TRY(read_collectives(r, in, &out->asynchronous));
	}
	leave(r, mark);
	return ST_OK;
}

static status read_compiler_option(reader *r, const cJSON *o, compiler_option *out)
{
	static const char *const keys[] = {
		"name", "value", "asynchronous", "windowed_einsums", "cross_program_prefetches"};
	TRY(check_keys(r, o, keys, COUNT_OF(keys)));
	TRY(read_text(r, o, "name", out->name, sizeof out->name));
	TRY(read_text(r, o, "value", out->value, sizeof out->value));
	const cJSON *list = child(o, "asynchronous"), *windowed = child(o, "windowed_einsums"),
				*prefetches = child(o, "cross_program_prefetches");
	size_t mark = enter_key(r, "asynchronous");
	if (list)
		TRY(read_collectives(r, list, &out->asynchronous));
	leave(r, mark);
	mark = enter_key(r, "windowed_einsums");
	if (windowed && !cJSON_IsFalse(windowed))
		return bad(r, "expected false, for an option that ends them");
	out->no_windowed = windowed != NULL;
	leave(r, mark);
	mark = enter_key(r, "cross_program_prefetches");
	if (prefetches && !(cJSON_IsNumber(prefetches) && prefetches->valuedouble == 0))
		return bad(r, "expected 0, for an option that ends them");
	out->no_prefetch = prefetches != NULL;
	leave(r, mark);
	return out->asynchronous || out->no_windowed || out->no_prefetch
		? ST_OK
		: bad(r,
			  "expected what it changes: asynchronous, windowed_einsums or "
			  "cross_program_prefetches");
}

static status read_compiler_options(reader *r, const cJSON *o, device *out)
{
	const cJSON *list = child(o, "compiler_options");
	if (!list)
		return ST_OK;
	size_t mark = enter_key(r, "compiler_options");
	TRY(unwrap(r, list, &list));
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > MAX_COMPILER_OPTIONS)
		return bad(r, "expected a list of at most 8 options");
	for (const cJSON *c = list->child; c; c = c->next) {
		size_t item = enter_item(r, (int)out->n_compiler_options);
		compiler_option *option = &out->compiler_options[out->n_compiler_options];
		TRY(read_compiler_option(r, c, option));
		for (uint32_t i = 0; i < out->n_compiler_options; i++)
			if (!strcmp(out->compiler_options[i].name, option->name))
				return bad(r, "option given twice");
		out->n_compiler_options++;
		leave(r, item);
	}
	leave(r, mark);
	return ST_OK;
}

void device_with_options(const device *dev, uint32_t chosen, device *out)
{
	*out = *dev;
	for (uint32_t i = 0; i < dev->n_compiler_options; i++) {
		const compiler_option *option = &dev->compiler_options[i];
		if (!(chosen >> i & 1))
			continue;
		out->asynchronous |= option->asynchronous;
		out->windowed_bytes_s = option->no_windowed ? 0 : out->windowed_bytes_s;
		out->cross_program_prefetches = option->no_prefetch ? 0 : out->cross_program_prefetches;
	}
}

uint32_t device_option(const device *dev, str name, str value)
{
	for (uint32_t i = 0; i < dev->n_compiler_options; i++)
		if (str_is(name, dev->compiler_options[i].name) &&
			str_is(value, dev->compiler_options[i].value))
			return i;
	return UINT32_MAX;
}

static status read_device(reader *r, const cJSON *o, device *out)
{
	static const char *const keys[] = {"format", "name", "title", "target", "peak_flops",
		"vector_flops", "memory_bytes", "usable_bytes", "on_chip_bytes", "prefetch_bytes",
		"products_off_chip", "output_fusion", "whole_summands", "holes_images",
		"cross_program_prefetches", "memory_bytes_s", "op_launch_ns", "near_launch_ns",
		"matmul_tile", "matmul_passes", "matmul_results_s", "matmul_results_on_chip_s",
		"vector_bytes_s", "stream_elements_s", "vector_elements_s", "lone_elements_s",
		"many_operands_elements_s", "channel_taps_s", "image_rows_s", "matmul_operand_s",
		"matmul_intake_bytes_s", "cycles_s", "reorder_elements_s", "transposed_elements_s",
		"strided_rate_ppm", "gather_window_bytes", "memory_tile", "matmul_efficiency",
		"convolution_efficiency", "memory_efficiency", "asynchronous", "windowed_bytes_s",
		"compiler_options", "overlap_steal_ppm", "links"};
	static const field fields[] = {
		{"vector_flops", offsetof(device, vector_flops), 1, INT64_MAX, false},
		{"memory_bytes", offsetof(device, memory_bytes), 1, INT64_MAX, false},
		{"usable_bytes", offsetof(device, usable_bytes), 1, INT64_MAX, true},
		{"on_chip_bytes", offsetof(device, on_chip_bytes), 1, INT64_MAX, true},
		{"prefetch_bytes", offsetof(device, prefetch_bytes), 1, INT64_MAX, true},
		{"products_off_chip", offsetof(device, products_off_chip), 0, 1, true},
		{"output_fusion", offsetof(device, output_fusion), 0, 1, true},
		{"whole_summands", offsetof(device, whole_summands), 1, INT64_MAX, true},
		{"holes_images", offsetof(device, holes_images), 1, INT64_MAX, true},
		{"cross_program_prefetches", offsetof(device, cross_program_prefetches), 0, 1, true},
		{"memory_bytes_s", offsetof(device, memory_bytes_s), 1, INT64_MAX, false},
		{"op_launch_ns", offsetof(device, op_launch_ns), 0, 1000000000, false},
		{"near_launch_ns", offsetof(device, near_launch_ns), 0, 1000000000, true},
		{"cycles_s", offsetof(device, cycles_s), 1, INT64_MAX, true},
		{"channel_taps_s", offsetof(device, channel_taps_s), 1, INT64_MAX, true},
		{"image_rows_s", offsetof(device, image_rows_s), 1, INT64_MAX, true},
		{"matmul_intake_bytes_s", offsetof(device, matmul_intake_bytes_s), 1, INT64_MAX, true},
		{"stream_elements_s", offsetof(device, stream_elements_s), 1, INT64_MAX, true},
		{"vector_elements_s", offsetof(device, vector_elements_s), 1, INT64_MAX, true},
		{"lone_elements_s", offsetof(device, lone_elements_s), 1, INT64_MAX, true},
		{"many_operands_elements_s", offsetof(device, many_operands_elements_s), 1, INT64_MAX,
			true},
		{"reorder_elements_s", offsetof(device, reorder_elements_s), 1, INT64_MAX, true},
		{"transposed_elements_s", offsetof(device, transposed_elements_s), 1, INT64_MAX, true},
		{"gather_window_bytes", offsetof(device, gather_window_bytes), 1, INT64_MAX, true},
		{"strided_rate_ppm", offsetof(device, strided_rate_ppm), 1, 1000000, true},
		{"windowed_bytes_s", offsetof(device, windowed_bytes_s), 1, INT64_MAX, true},
		{"overlap_steal_ppm", offsetof(device, overlap_steal_ppm), 0, 1000000, true},
	};
	static const char *const formats[] = {"shardwright.device/1"};
	uint8_t word;
	TRY(check_keys(r, o, keys, COUNT_OF(keys)));
	TRY(read_word(r, o, "format", formats, 1, &word));
	TRY(read_text(r, o, "name", out->name, sizeof out->name));
	TRY(read_text(r, o, "title", out->title, sizeof out->title));
	TRY(read_word(r, o, "target", target_names, COUNT_OF(target_names), &word));
	out->target = (lower_target)word;
	TRY(read_peaks(r, o, out));
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		TRY(read_field(r, o, &fields[i], out));
	enum { USUAL_STRIDED_PPM = 800000 };
	if (!out->strided_rate_ppm)
		out->strided_rate_ppm = USUAL_STRIDED_PPM;
	if (!out->usable_bytes)
		out->usable_bytes = out->memory_bytes;
	if (out->usable_bytes > out->memory_bytes)
		return bad(r, "usable_bytes: expected no more than memory_bytes");
	int64_t tile[3] = {1, 1, 1}, stored[2] = {1, 1};
	uint32_t n;
	TRY(read_integers(r, o, "matmul_tile", 3, 3, true, tile, &n));
	TRY(read_integers(r, o, "memory_tile", 2, 2, true, stored, &n));
	out->tile_m = tile[0], out->tile_n = tile[1], out->tile_k = tile[2];
	out->tile_second = stored[0], out->tile_minor = stored[1];
	for (uint32_t i = 0; i < PRECISION_COUNT; i++)
		out->matmul_passes[i] = 1;
	TRY(read_integers(
		r, o, "matmul_passes", PRECISION_COUNT, PRECISION_COUNT, true, out->matmul_passes, &n));
	TRY(read_integers(r, o, "matmul_results_s", 2, 2, true, out->matmul_results_s, &n));
	TRY(read_integers(
		r, o, "matmul_results_on_chip_s", 2, 2, true, out->matmul_results_on_chip_s, &n));
	if (!out->matmul_results_on_chip_s[0])
		memcpy(out->matmul_results_on_chip_s, out->matmul_results_s, sizeof out->matmul_results_s);
	TRY(read_integers(r, o, "vector_bytes_s", 2, 2, true, out->vector_bytes_s, &n));
	TRY(read_integers(r, o, "matmul_operand_s", 2, 2, true, out->matmul_operand_s, &n));
	for (uint32_t i = 0; i < 3; i++)
		if (tile[i] > 65536 || (i < 2 && stored[i] > 65536) || out->matmul_passes[i] > 1000)
			return bad(r, "matmul_tile, memory_tile and matmul_passes: expected small integers");
	TRY(read_curve(r, o, "matmul_efficiency", &out->matmul_efficiency));
	if (child(o, "convolution_efficiency"))
		TRY(read_curve(r, o, "convolution_efficiency", &out->convolution_efficiency));
	TRY(read_curve(r, o, "memory_efficiency", &out->memory_efficiency));
	TRY(read_asynchronous(r, o, out));
	TRY(read_compiler_options(r, o, out));
	return read_links(r, o, out);
}

status device_parse(const char *json, size_t n, device *out, diag *d)
{
	*out = (device){0};
	if (n > MAX_PROFILE_BYTES)
		return diag_set(
			d, ST_ERR_LIMIT, "device profile of %zu bytes, more than %d", n, MAX_PROFILE_BYTES);
	const char *end = json;
	cJSON *o = cJSON_ParseWithLengthOpts(json, n, &end, false);
	if (!o)
		return diag_at(d, json, n, MIN((size_t)(end - json), n), ST_ERR_PARSE,
			"device profile: expected valid JSON");
	while (end < json + n && strchr(" \t\r\n", *end) && *end)
		end++;
	status s = ST_OK;
	if (end != json + n)
		s = diag_at(d, json, n, (size_t)(end - json), ST_ERR_PARSE,
			"device profile: text after the object");
	reader r = {.d = d};
	if (s == ST_OK)
		s = read_device(&r, o, out);
	cJSON_Delete(o);
	sha256_name(json, n, out->version);
	return s;
}

status device_read_file(const char *path, device *out, diag *d)
{
	strbuf text;
	strbuf_init(&text);
	status s = file_read(path, MAX_PROFILE_BYTES, &text, d);
	if (s == ST_OK)
		s = device_parse(text.p, text.n, out, d);
	strbuf_release(&text);
	if (s != ST_OK)
		diag_in_file(d, path);
	return s;
}
