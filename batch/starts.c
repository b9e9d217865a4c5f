/* What a search on the command line may begin with, from a store; beside a daemon too. */
#include "batch/batch.h"
#include "server/server.h"

status store_starts(const char *dir, const char *structure, const char *module, const char *mesh,
	const char *device, batch_start *out, uint32_t *out_n, diag *d)
{
	strbuf canonical = {0};
	problem why = {0};
	starts near = {0};
	*out_n = 0;
	log_to(-1); /* what goes wrong is told by d */
	store *st = store_peek(dir, d);
	if (!st)
		return d->code;
	bool is_text = mesh_text_check(mesh, &canonical, &why); /* else a file: no mesh is preferred */
	start_query q = {.structure = structure,
		.module = module,
		.mesh = is_text ? canonical.p : "",
		.device = device};
	db *c = store_reader(st);
	status s = c && starts_find(c, &q, &near)
		? ST_OK
		: diag_set(d, ST_ERR_IO, "the store '%.300s' cannot be read", dir);
	for (uint32_t i = 0; i < near.n && s == ST_OK; i++) {
		memcpy(out[i].id, near.list[i].id, sizeof out[i].id);
		out[i].document = near.list[i].document;
		near.list[i].document = (strbuf){0};
		++*out_n;
	}
	starts_release(&near);
	store_close(st);
	strbuf_release(&canonical);
	return s;
}
