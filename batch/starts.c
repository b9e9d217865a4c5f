/* What a search on the command line may begin with, from a store; beside a daemon too. */
#include "batch/batch.h"
#include "server/server.h"

/* A store to read from, and the mesh as it writes them; "": a file, no mesh is preferred. */
typedef struct opened {
	store *st;
	db *c;
	strbuf mesh;
} opened;

static status open_to_read(const char *dir, const char *mesh, opened *o, diag *d)
{
	problem why = {0};
	log_to(-1); /* what goes wrong is told by d */
	*o = (opened){.st = store_peek(dir, d)};
	if (!o->st)
		return d->code;
	if (!mesh_text_check(mesh, &o->mesh, &why)) {
		strbuf_clear(&o->mesh);
		strbuf_puts(&o->mesh, "");
	}
	o->c = store_reader(o->st);
	return ST_OK;
}

static void end_reading(opened *o)
{
	store_close(o->st);
	strbuf_release(&o->mesh);
}

static status unreadable(const char *dir, diag *d)
{
	return diag_set(d, ST_ERR_IO, "the store '%.300s' cannot be read", dir);
}

status store_starts(const char *dir, const char *structure, const char *module, const char *mesh,
	const char *device, batch_start *out, uint32_t *out_n, diag *d)
{
	starts near = {0};
	opened o;
	*out_n = 0;
	TRY(open_to_read(dir, mesh, &o, d));
	start_query q = {.structure = structure, .module = module, .mesh = o.mesh.p, .device = device};
	status s = o.c && starts_find(o.c, &q, &near) ? ST_OK : unreadable(dir, d);
	for (uint32_t i = 0; i < near.n && s == ST_OK; i++) {
		memcpy(out[i].id, near.list[i].id, sizeof out[i].id);
		out[i].document = near.list[i].document;
		near.list[i].document = (strbuf){0};
		++*out_n;
	}
	starts_release(&near);
	end_reading(&o);
	return s;
}

status store_tactic_statistics(const char *dir, const char *structure, uint32_t n_axes,
	const char *mesh, const char *device, strbuf *out, diag *d)
{
	opened o;
	TRY(open_to_read(dir, mesh, &o, d));
	start_query q = {.structure = structure, .module = "", .mesh = o.mesh.p, .device = device};
	status s = o.c && starts_statistics(o.c, &q, n_axes, out) ? ST_OK : unreadable(dir, d);
	end_reading(&o);
	return s;
}
