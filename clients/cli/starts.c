/* What a search begins with: documents that --start names, and what --store has. */
#include "clients/cli/starts.h"
#include "batch/batch.h"

#include <cjson/cJSON.h>

static void add(cli_starts *s, const char *id, strbuf *text)
{
	char *name = xmalloc(72);
	snprintf(name, 72, "%s", id);
	vec_push(&s->names, name);
	vec_push(&s->texts, *text);
	vec_push(&s->list, (search_start){.name = name, .json = text->p, .n = text->n});
	*text = (strbuf){0};
}

status cli_start_file(cli_starts *s, const char *path, diag *d)
{
	strbuf text = {0};
	char id[72];
	TRY(file_read(path, MAX_TEXT_BYTES, &text, d));
	cJSON *root = cJSON_ParseWithLength(text.p, text.n);
	const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format");
	bool known = cJSON_IsString(format) && !strcmp(format->valuestring, "shardwright.strategy/1");
	cJSON_Delete(root);
	sha256_name(text.p, text.n, id); /* its id, where it comes from a store */
	if (known)
		add(s, id, &text);
	strbuf_release(&text);
	return known ? ST_OK : diag_set(d, ST_ERR_INVALID, "'%.300s' is no strategy document", path);
}

status cli_start_store(cli_starts *s, const char *dir, const module *m, const char *text_path,
	const char *mesh, const char *device_name, diag *d)
{
	char structure[72], id[72] = "";
	batch_start found[MOST_BATCH_STARTS];
	uint32_t n;
	strbuf text = {0};
	module_structure(m, structure);
	if (strcmp(text_path, "-") && file_read(text_path, MAX_TEXT_BYTES, &text, NULL) == ST_OK)
		sha256_name(text.p, text.n, id);
	strbuf_release(&text);
	TRY(store_starts(dir, structure, id, mesh, device_name, found, &n, d));
	for (uint32_t i = 0; i < n; i++)
		add(s, found[i].id, &found[i].document);
	return ST_OK;
}

status cli_start_statistics(cli_starts *s, const char *dir, const module *m, mesh_id mesh,
	const char *mesh_text, const char *device_name, diag *d)
{
	char structure[72];
	module_structure(m, structure);
	return store_tactic_statistics(dir, structure, m->shardings->meshes.p[mesh].n_axes, mesh_text,
		device_name, &s->statistics, d);
}

void cli_starts_release(cli_starts *s)
{
	for (uint32_t i = 0; i < s->texts.n; i++)
		strbuf_release(&s->texts.p[i]);
	for (uint32_t i = 0; i < s->names.n; i++)
		free(s->names.p[i]);
	vec_release(&s->texts);
	strbuf_release(&s->statistics);
	vec_release(&s->names);
	vec_release(&s->list);
}
