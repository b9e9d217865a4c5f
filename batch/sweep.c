/* All mesh shapes of a number of devices. Two shapes that lay axes of the same sizes onto the same
 * links in the same way differ by names alone, which no cost depends on: one of them is enough. */
#include "batch/batch.h"
#include "costmodel/costmodel.h"

#include <stdlib.h>

enum { MOST_AXES = 3 };
static const char *const axis_names[MOST_AXES] = {"x", "y", "z"};

typedef struct sweep {
	device dev;
	sharding_table *t;
	batch_shapes *out;
	VEC(char *) seen; /* signatures */
	diag refused;     /* of the last shape that the links do not carry */
} sweep;

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Each axis by its size and the links it runs over, in sorted order. Which dim of a torus it is on
 * costs nothing: how far its devices stand apart there does. On a switch all are as near. */
static char *signature(const sweep *s, const mesh_links *links, const int64_t *sizes, uint32_t n)
{
	char *texts[MOST_AXES];
	strbuf all = {0};
	for (uint32_t a = 0; a < n; a++) {
		strbuf b = {0};
		strbuf_printf(&b, "%lld:", (long long)sizes[a]);
		for (uint32_t i = 0; i < links->axis[a].n; i++) {
			const struct axis_part *p = &links->axis[a].part[i];
			uint8_t kind = s->dev.links[p->link].kind;
			int64_t apart = kind == LINK_RING || kind == LINK_LINE ? p->stride : 0;
			strbuf_printf(
				&b, "%u/%d/%lld/%lld ", p->link, p->wrapped, (long long)p->size, (long long)apart);
		}
		texts[a] = b.p;
	}
	qsort(texts, n, sizeof *texts, compare_texts);
	for (uint32_t a = 0; a < n; a++) {
		strbuf_printf(&all, "%s;", texts[a]);
		free(texts[a]);
	}
	return all.p;
}

static void try_shape(sweep *s, const int64_t *sizes, uint32_t n)
{
	str_id names[MOST_AXES];
	mesh_links links;
	diag d = {0};
	for (uint32_t a = 0; a < n; a++)
		names[a] = strtab_add(&s->t->names, str_of(axis_names[a]));
	mesh_id m =
		mesh_intern(s->t, &(device_mesh){.n_axes = n, .axis_names = names, .axis_sizes = sizes});
	if (mesh_links_assign(&s->dev, s->t, m, NULL, &links, &d) != ST_OK) {
		s->refused = d;
		return;
	}
	char *text = signature(s, &links, sizes, n);
	for (uint32_t i = 0; i < s->seen.n; i++)
		if (!strcmp(s->seen.p[i], text)) {
			free(text);
			return;
		}
	vec_push(&s->seen, text);
	batch_shape shape;
	int at = 0;
	for (uint32_t a = 0; a < n; a++)
		at += snprintf(shape.mesh + at, sizeof shape.mesh - (size_t)at, "%s%s=%lld", a ? "," : "",
			axis_names[a], (long long)sizes[a]);
	vec_push(s->out, shape);
}

/* All ordered factorisations into up to MOST_AXES factors of at least 2, fewer axes first. */
static void factor(sweep *s, int64_t left, int64_t *sizes, uint32_t n, uint32_t wanted)
{
	if (n + 1 == wanted) {
		sizes[n] = left;
		try_shape(s, sizes, wanted);
		return;
	}
	for (int64_t f = left / 2; f >= 2; f--)
		if (left % f == 0) {
			sizes[n] = f;
			factor(s, left / f, sizes, n + 1, wanted);
		}
}

status batch_sweep(const char *name, const char *device_json, int64_t n, batch_shapes *out, diag *d)
{
	sweep s = {.out = out};
	int64_t sizes[MOST_AXES];
	if (device_json)
		TRY(device_parse(device_json, strlen(device_json), &s.dev, d));
	else
		TRY(device_find(strcmp(name, "default") ? name : "tpu-v5e", &s.dev, d));
	s.t = sharding_table_new();
	for (uint32_t wanted = 1; wanted <= MOST_AXES; wanted++)
		factor(&s, n, sizes, 0, wanted);
	sharding_table_unref(s.t);
	for (uint32_t i = 0; i < s.seen.n; i++)
		free(s.seen.p[i]);
	vec_release(&s.seen);
	if (!out->n)
		return diag_set(d, ST_ERR_INVALID, "no mesh of %lld devices fits its links: %.300s",
			(long long)n, s.refused.msg);
	return ST_OK;
}
