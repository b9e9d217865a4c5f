/* Taking a module in: a worker checks the text, its file is published, its row committed. */
#include "server/server.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { CHECK_MS = 300000, CHECK_OUTPUT = 1 << 20 };

typedef struct insert_op {
	write_op op;
	const module_row *row;
	int64_t stored_bytes;
	module_about *about;
} insert_op;

static status insert_run(db *c, write_op *op)
{
	const insert_op *a = (const insert_op *)op;
	if (a->about)
		TRY(module_about_check(c, a->about));
	if (a->about && a->about->reused)
		return ST_OK;
	TRY(module_insert(c, a->row, a->stored_bytes));
	return a->about ? module_about_run(c, &a->about->op) : ST_OK;
}

static bool copy_text(const cJSON *o, const char *name, char *to, size_t n)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
	if (cJSON_IsString(item))
		snprintf(to, n, "%s", item->valuestring);
	return cJSON_IsString(item);
}

static bool read_fingerprint(const strbuf *out, module_row *m)
{
	diag d = {0};
	cJSON *root = json_parse(out->p, out->n, CHECK_OUTPUT, &d);
	if (!root)
		return false;
	const cJSON *ops = cJSON_GetObjectItemCaseSensitive(root, "ops"),
				*arguments = cJSON_GetObjectItemCaseSensitive(root, "arguments");
	bool ok = copy_text(root, "fingerprint", m->fingerprint, sizeof m->fingerprint) &&
		copy_text(root, "shardings", m->shardings, sizeof m->shardings) && cJSON_IsNumber(ops) &&
		cJSON_IsNumber(arguments);
	copy_text(root, "name", m->name, sizeof m->name);
	copy_text(root, "structure", m->structure, sizeof m->structure);
	if (ok) {
		m->ops = (int64_t)ops->valuedouble;
		m->arguments = (int64_t)arguments->valuedouble;
	}
	cJSON_Delete(root);
	return ok;
}

bool module_check(
	server *srv, const char *path, const atomic_bool *stop, module_row *row, problem *why)
{
	run_result run;
	child_limits limits = tool_limits(srv);
	char *argv[] = {srv->worker, "fingerprint", (char *)path, "--json", NULL};
	metric_add(srv, tool_runs, 1);
	child_run(srv->worker, argv, &limits, CHECK_MS, CHECK_OUTPUT, stop, &run);
	if (!run_was_fair(&run, &srv->opt, why))
		metric_add(srv, workers_out_of_memory, run.out_of_memory);
	else if (run.exit_code == 1)
		worker_error(run.err.p, why);
	else if (run.exit_code == 3)
		problem_set(why, PROBLEM_INTERNAL, "the module could not be checked: %.400s", run.err.p);
	else if (run.exit_code != 0)
		problem_set(why, PROBLEM_UNPROCESSABLE,
			"the module could not be checked: the worker ended with %d (crash, or out of memory)",
			run.exit_code);
	else if (!read_fingerprint(&run.out, row))
		problem_set(why, PROBLEM_INTERNAL, "the worker's answer is not understood");
	run_result_release(&run);
	return !why->kind;
}

status module_add(server *srv, const upload *up, module_about *about, const atomic_bool *stop,
	module_row *row, problem *why)
{
	struct stat st = {0};
	memset(row, 0, sizeof *row);
	snprintf(row->id, sizeof row->id, "%s", upload_id(up));
	row->text_bytes = upload_text_bytes(up);
	if (!module_check(srv, upload_temp(up), stop, row, why))
		return ST_ERR_INVALID;
	stat(upload_temp(up), &st);
	if (!objects_publish(store_objects(srv->store), upload_temp(up), "objects", row->id)) {
		problem_set(
			why, PROBLEM_STORAGE, "the module cannot be written: the disk is full or broken");
		return ST_ERR_INVALID;
	}
	insert_op a = {
		.op = {.run = insert_run}, .row = row, .stored_bytes = st.st_size, .about = about};
	TRY(store_write(srv->store, &a.op));
	if (store_lost(srv->store))
		store_look_for_lost(srv->store); /* this may have been one of them */
	metric_add(srv, modules_added, 1);
	return ST_OK;
}
