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
	status (*parse)(sharding_table *t, scan *s, sharding_edit *e);
	status (*print)(const sharding_table *t, const sharding_edit *e, strbuf *out, diag *d);
} foreign[NOTATION_COUNT] = {
	[NOTATION_GSPMD] = {gspmd_parse, gspmd_print},
	[NOTATION_JAX] = {jax_parse, jax_print},
	[NOTATION_MINDSPORE] = {mindspore_parse, mindspore_print},
	[NOTATION_SBP] = {sbp_parse, sbp_print},
	[NOTATION_DTENSOR] = {dtensor_parse, dtensor_print},
};

const char *notation_name(notation n) { return names[n]; }
const char *notation_summary(notation n) { return summaries[n]; }

bool notation_find(const char *name, notation *out)
{
	for (int i = 0; i < NOTATION_COUNT; i++)
		if (strcmp(name, names[i]) == 0) {
			*out = (notation)i;
			return true;
		}
	return false;
}

status refuse_beyond(const sharding_table *t, const sharding_edit *e, const char *name, vocabulary v, diag *d)
{
	const mesh *m = &t->meshes.p[e->mesh];
	bool open = false;
	if (m->maximal)
		return diag_set(d, ST_ERR_UNSUPPORTED, "cannot be expressed in %s: the sharding names a single device", name);
	for (uint32_t i = 0; i < e->rank; i++) {
		open = open || !e->dims[i].closed;
		if (!e->dims[i].closed && !v.open)
			return diag_set(d, ST_ERR_UNSUPPORTED, "cannot be expressed in %s: dimension %u is open", name, i);
		if (e->dims[i].priority > 0)
			return diag_set(d, ST_ERR_UNSUPPORTED, "cannot be expressed in %s: dimension %u has priority %d", name, i, e->dims[i].priority);
		for (uint32_t k = 0; k < e->dims[i].axes.n && !v.sub_axes; k++) {
			axis_ref a = e->dims[i].axes.a[k];
			if (axis_size(a) == m->axis_sizes[axis_index(a)])
				continue;
			strbuf text;
			strbuf_init(&text);
			axis_print(t, e->mesh, a, &text);
			status s = diag_set(d, ST_ERR_UNSUPPORTED, "cannot be expressed in %s: it has no sub-axes like %s", name, text.p);
			strbuf_release(&text);
			return s;
		}
	}
	if (e->unreduced.n && !v.unreduced)
		return diag_set(d, ST_ERR_UNSUPPORTED, "cannot be expressed in %s: the tensor is unreduced (a partial sum)", name);
	for (uint32_t k = 0; k < e->unreduced.n && !v.sub_axes; k++)
		if (axis_size(e->unreduced.a[k]) != m->axis_sizes[axis_index(e->unreduced.a[k])])
			return diag_set(d, ST_ERR_UNSUPPORTED, "cannot be expressed in %s: the tensor is unreduced along a part of an axis", name);
	if (e->replicated.n && open)
		return diag_set(d, ST_ERR_UNSUPPORTED, "cannot be expressed in %s: axes kept replicated beside open dimensions", name);
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

/* `sdy.sharding = #sdy.sharding<..>` or less of it, down to the dimension shardings alone, `[{"data"}, {}]`. */
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
		s = diag_at(d, text.p, text.n, 0, ST_ERR_INVALID, "the sharding is over another mesh than the one given");
	} else if (e->rank != rank) {
		s = diag_at(d, text.p, text.n, 0, ST_ERR_INVALID, "the sharding has %u dimensions, the tensor has %u", e->rank, rank);
	}
	e->mesh = want;
	strbuf_release(&whole);
	return s;
}

/* ---------------------------------------------------------------- dispatch */

status notation_parse(sharding_table *t, notation n, mesh_id m, uint32_t rank, str text, sharding_edit *out, diag *d)
{
	char msg[256];
	scan s = {text, 0, d};
	if (rank > MAX_RANK)
		return diag_set(d, ST_ERR_LIMIT, "rank %u is above %d", rank, MAX_RANK);
	if (n == NOTATION_JSON)
		return sharding_from_json_text(t, m, text, rank, out, d);
	sharding_edit_init(out, m, rank, true);
	if (n == NOTATION_SDY)
		return sdy_parse(t, text, out, d);
	TRY(foreign[n].parse(t, &s, out));
	TRY(scan_end(&s));
	if (!sharding_check(t, out, NULL, msg, sizeof msg))
		return diag_at(d, text.p, text.n, 0, ST_ERR_INVALID, "%s", msg);
	return ST_OK;
}

status notation_print(sharding_table *t, notation n, const sharding_edit *e, strbuf *out, diag *d)
{
	if (n == NOTATION_SDY) {
		strbuf_puts(out, "#sdy.sharding");
		sharding_print(t, sharding_intern(t, e), out);
		return ST_OK;
	}
	if (n == NOTATION_JSON) {
		cJSON *json = sharding_to_json(t, e);
		char *text = cJSON_PrintUnformatted(json);
		strbuf_puts(out, text);
		cJSON_free(text);
		cJSON_Delete(json);
		return ST_OK;
	}
	return foreign[n].print(t, e, out, d);
}
