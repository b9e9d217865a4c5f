#include "layout/pieces.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

static const char *const names[NOTATION_COUNT] = {
#define X(id, name, text) [NOTATION_##id] = name,
	NOTATION_TABLE(X)
#undef X
};
static const char *const summaries[NOTATION_COUNT] = {
#define X(id, name, text) [NOTATION_##id] = text,
	NOTATION_TABLE(X)
#undef X
};

/* JSON and sdy take more than a scanner and stand below. */
static const struct {
	status (*parse)(sharding_table *t, scan *s, tensor_spec *out);
	status (*print)(const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d);
	cut_rule cut;
} foreign[NOTATION_COUNT] = {
	[NOTATION_GSPMD] = {gspmd_parse, gspmd_print, CUT_ROUND_UP},
	[NOTATION_JAX] = {jax_parse, jax_print, CUT_ROUND_UP},
	[NOTATION_MINDSPORE] = {mindspore_parse, mindspore_print, CUT_EXACT},
	[NOTATION_SBP] = {sbp_parse, sbp_print, CUT_BALANCED},
	[NOTATION_DTENSOR] = {dtensor_parse, dtensor_print, CUT_TORCH},
};

static const char *const reductions[REDUCTION_COUNT] = {
#define X(id, name) [REDUCTION_##id] = name,
	REDUCTION_TABLE(X)
#undef X
};

const char *notation_name(notation n) { return names[n]; }
const char *notation_summary(notation n) { return summaries[n]; }
cut_rule notation_cut(notation n) { return foreign[n].cut; }
const char *reduction_name(reduction r) { return reductions[r]; }

bool reduction_find(str name, reduction *out)
{
	for (int i = 0; i < REDUCTION_COUNT; i++)
		if (str_is(name, reductions[i])) {
			*out = (reduction)i;
			return true;
		}
	return false;
}

bool notation_find(const char *name, notation *out)
{
	for (int i = 0; i < NOTATION_COUNT; i++)
		if (strcmp(name, names[i]) == 0) {
			*out = (notation)i;
			return true;
		}
	return false;
}

status refuse_beyond(
	const sharding_table *t, const tensor_spec *spec, const char *name, vocabulary v, diag *d)
{
	const sharding_edit *e = &spec->e;
	const device_mesh *m = &t->meshes.p[e->mesh];
	bool open = false;
	if (spec->manual.n && !v.manual)
		return diag_set(d, ST_ERR_UNSUPPORTED,
			"cannot be expressed in %s: axes are manual, shards along them are the program's own",
			name);
	if (spec->reduction != REDUCTION_SUM && !v.reductions)
		return diag_set(d, ST_ERR_UNSUPPORTED,
			"cannot be expressed in %s: partial results are combined by %s, not by sum", name,
			reduction_name(spec->reduction));
	if (m->maximal && !v.maximal)
		return diag_set(d, ST_ERR_UNSUPPORTED,
			"cannot be expressed in %s: the sharding names a single device", name);
	for (uint32_t i = 0; i < e->rank; i++) {
		open = open || !e->dims[i].closed;
		if (!e->dims[i].closed && !v.open)
			return diag_set(
				d, ST_ERR_UNSUPPORTED, "cannot be expressed in %s: dimension %u is open", name, i);
		if (e->dims[i].priority > 0 && !v.priorities)
			return diag_set(d, ST_ERR_UNSUPPORTED,
				"cannot be expressed in %s: dimension %u has priority %d", name, i,
				e->dims[i].priority);
		for (uint32_t k = 0; k < e->dims[i].axes.n && !v.sub_axes; k++) {
			axis_ref a = e->dims[i].axes.a[k];
			if (axis_size(a) == m->axis_sizes[axis_index(a)])
				continue;
			strbuf text;
			strbuf_init(&text);
			axis_print(t, e->mesh, a, &text);
			status s = diag_set(d, ST_ERR_UNSUPPORTED,
				"cannot be expressed in %s: it has no sub-axes like %s", name, text.p);
			strbuf_release(&text);
			return s;
		}
	}
	if (e->unreduced.n && !v.unreduced)
		return diag_set(d, ST_ERR_UNSUPPORTED,
			"cannot be expressed in %s: the tensor is unreduced (a partial sum)", name);
	for (uint32_t k = 0; k < e->unreduced.n && !v.sub_axes; k++)
		if (axis_size(e->unreduced.a[k]) != m->axis_sizes[axis_index(e->unreduced.a[k])])
			return diag_set(d, ST_ERR_UNSUPPORTED,
				"cannot be expressed in %s: the tensor is unreduced along a part of an axis", name);
	if (e->replicated.n && open && !v.priorities)
		return diag_set(d, ST_ERR_UNSUPPORTED,
			"cannot be expressed in %s: axes kept replicated beside open dimensions", name);
	return ST_OK;
}

/* ---------------------------------------------------------------- sdy */

static bool skip(str *s, const char *prefix)
{
	while (s->n && strchr(" \t\r\n", s->p[0]) && s->p[0])
		*s = (str){s->p + 1, s->n - 1};
	if (!str_starts(*s, prefix))
		return false;
	*s = (str){s->p + strlen(prefix), s->n - strlen(prefix)};
	return true;
}

/* `sdy.sharding = #sdy.sharding<..>` or less of it, down to the dimension shardings alone,
 * `[{"data"}, {}]`. */
static status sdy_parse(sharding_table *t, str text, sharding_edit *e, diag *d)
{
	str rest = text;
	mesh_id want = e->mesh;
	uint32_t rank = e->rank;
	diag inner = {0};
	size_t before = 0; /* characters put in front of rest */
	strbuf whole;
	strbuf_init(&whole);
	if (skip(&rest, "sdy.sharding"))
		skip(&rest, "=");
	skip(&rest, "#sdy.sharding");
	skip(&rest, "");
	if (rest.n && rest.p[0] == '[') {
		strbuf_puts(&whole, "<mesh");
		mesh_print(t, want, &whole);
		strbuf_puts(&whole, ", ");
		before = whole.n;
		strbuf_str(&whole, rest);
		strbuf_putc(&whole, '>');
	} else {
		strbuf_str(&whole, rest);
	}
	status s = sharding_parse(t, (str){whole.p ? whole.p : "", whole.n}, e, &inner);
	if (s != ST_OK) {
		size_t at = inner.line == 1 && inner.col - 1 >= before ? inner.col - 1 - before : 0;
		s = diag_at(d, text.p, text.n, (size_t)(rest.p - text.p) + at, s, "%s", inner.msg);
	} else if (!mesh_same_devices(t, e->mesh, want)) {
		s = diag_at(d, text.p, text.n, 0, ST_ERR_INVALID,
			"the sharding is over another mesh than the one given");
	} else if (e->rank != rank) {
		s = diag_at(d, text.p, text.n, 0, ST_ERR_INVALID,
			"the sharding has %u dimensions, the tensor has %u", e->rank, rank);
	}
	e->mesh = want;
	strbuf_release(&whole);
	return s;
}

/* ---------------------------------------------------------------- JSON */

static status spec_key(
	sharding_table *t, cJSON *json, const char *key, mesh_id m, tensor_spec *out, diag *d)
{
	cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(json, key);
	status s = ST_OK;
	if (!item)
		return ST_OK;
	if (!strcmp(key, "reduction")) {
		if (!cJSON_IsString(item) || !reduction_find(str_of(item->valuestring), &out->reduction))
			s = diag_set(
				d, ST_ERR_INVALID, "\"reduction\" is not one of sum, avg, product, min, max");
	} else {
		/* the axes of a list read as those of a dimension */
		cJSON *list = cJSON_CreateArray();
		sharding_edit *e = xmalloc(sizeof *e);
		cJSON_AddItemToArray(list, item);
		item = NULL;
		s = sharding_from_json(t, m, list, 1, e, d);
		if (s == ST_OK)
			axes_copy(&out->manual, axes_of(&e->dims[0].axes));
		free(e);
		cJSON_Delete(list);
	}
	cJSON_Delete(item);
	return s;
}

static bool overlaps(const axes_buf *a, const axes_buf *b)
{
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t k = 0; k < b->n; k++)
			if (axis_overlaps(a->a[i], b->a[k]))
				return true;
	return false;
}

/* The sharding of strategies and flags, in which "reduction" and "manual" may stand beside
 * "unreduced". */
static status spec_from_json(
	sharding_table *t, mesh_id m, uint32_t rank, str text, tensor_spec *out, diag *d)
{
	cJSON *json;
	TRY(json_text_parse(text, &json, d));
	status s = ST_OK;
	if (cJSON_IsObject(json))
		s = spec_key(t, json, "reduction", m, out, d);
	if (cJSON_IsObject(json) && s == ST_OK)
		s = spec_key(t, json, "manual", m, out, d);
	if (s == ST_OK)
		s = sharding_from_json(t, m, json, rank, &out->e, d);
	for (uint32_t i = 0; s == ST_OK && i <= out->e.rank; i++)
		if (overlaps(&out->manual, i < out->e.rank ? &out->e.dims[i].axes : &out->e.unreduced))
			s = diag_set(d, ST_ERR_INVALID, "an axis is manual and cuts the tensor");
	if (s == ST_OK && out->reduction != REDUCTION_SUM && !out->e.unreduced.n)
		s = diag_set(d, ST_ERR_INVALID, "a \"reduction\" without \"unreduced\" axes");
	cJSON_Delete(json);
	return s;
}

static void spec_to_json(const sharding_table *t, const tensor_spec *s, strbuf *out)
{
	cJSON *json = sharding_to_json(t, &s->e);
	if (s->reduction != REDUCTION_SUM)
		cJSON_AddStringToObject(json, "reduction", reduction_name(s->reduction));
	if (s->manual.n) {
		sharding_edit *e = xmalloc(sizeof *e);
		sharding_edit_init(e, s->e.mesh, 1, true);
		axes_copy(&e->dims[0].axes, axes_of(&s->manual));
		cJSON *list = sharding_to_json(t, e);
		if (cJSON_IsArray(json)) { /* only the object form has room for more */
			cJSON *dims = json;
			json = cJSON_CreateObject();
			cJSON_AddItemToObject(json, "dims", dims);
		}
		cJSON_AddItemToObject(json, "manual", cJSON_DetachItemFromArray(list, 0));
		cJSON_Delete(list);
		free(e);
	}
	char *text = cJSON_PrintUnformatted(json);
	strbuf_puts(out, text);
	cJSON_free(text);
	cJSON_Delete(json);
}

/* ---------------------------------------------------------------- dispatch */

status notation_parse(
	sharding_table *t, notation n, mesh_id m, uint32_t rank, str text, tensor_spec *out, diag *d)
{
	char msg[256];
	scan s = {text, 0, d};
	if (rank > MAX_RANK)
		return diag_set(d, ST_ERR_LIMIT, "rank %u is above %d", rank, MAX_RANK);
	out->reduction = REDUCTION_SUM;
	out->manual.n = 0;
	out->own_devices = false;
	if (n == NOTATION_JSON)
		return spec_from_json(t, m, rank, text, out, d);
	sharding_edit_init(&out->e, m, rank, true);
	if (n == NOTATION_SDY)
		return sdy_parse(t, text, &out->e, d);
	TRY(foreign[n].parse(t, &s, out));
	TRY(scan_end(&s));
	if (!sharding_check(t, &out->e, NULL, msg, sizeof msg))
		return diag_at(d, text.p, text.n, 0, ST_ERR_INVALID, "%s", msg);
	return ST_OK;
}

/* A sharding over a mesh of one device can only be read with that mesh in it. */
static status sdy_print(sharding_table *t, const tensor_spec *s, strbuf *out, diag *d)
{
	const device_mesh *m = &t->meshes.p[s->e.mesh];
	TRY(refuse_beyond(t, s, "sdy",
		(vocabulary){
			.open = true, .unreduced = true, .sub_axes = true, .maximal = true, .priorities = true},
		d));
	strbuf_puts(out, "#sdy.sharding");
	if (m->maximal) {
		strbuf_puts(out, "<mesh");
		mesh_print(t, s->e.mesh, out);
		strbuf_puts(out, ", []>");
	} else {
		sharding_print(t, sharding_intern(t, &s->e), out);
	}
	return ST_OK;
}

status notation_print(sharding_table *t, notation n, const tensor_spec *s, strbuf *out, diag *d)
{
	if (n == NOTATION_SDY)
		return sdy_print(t, s, out, d);
	if (n != NOTATION_JSON)
		return foreign[n].print(t, s, out, d);
	if (t->meshes.p[s->e.mesh].maximal)
		return diag_set(d, ST_ERR_UNSUPPORTED,
			"cannot be expressed in json: the sharding names a single device");
	spec_to_json(t, s, out);
	return ST_OK;
}
